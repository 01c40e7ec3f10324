"""Values of several systems on the same units: a wide table, a long one, counts of successes, an earlier report's JSON.

Wide: one row a unit and one column of numbers a system. Long: columns unit, system, value and perhaps metric. A value
that is missing is undefined (NaN) and never 0.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, codes, measurable
from evalkit.metrics.rankings import Pooled
from evalkit.reading import columns as roles_of
from evalkit.reading import sources
from evalkit.reading.sources import Part, Source

ROLES = ("unit", "system", "value", "metric", "successes", "trials")
COUNTED = 2**53 - 1  # the largest whole number that a double holds apart from the next one
UNITS = ("unit", "query", "query_id", "qid", "user", "user_id", "id", "fold")
VALUE = "value"  # what the numbers of a wide table are called where nobody says
ROW = "row"


@dataclass(frozen=True, eq=False)
class UnitValues:
    """One value a row for each (metric, system); `unit` is what each row is about, which may come several times.

    name: what the input calls the unit, "row" where it names none. texts: further columns that could name clusters.
    known: (metric, system) -> value, low, high, level, n of an earlier report, which holds differences only.
    """

    unit: np.ndarray
    name: str
    metrics: tuple[str, ...]
    systems: tuple[str, ...]
    values: Mapping[tuple[str, str], Floats | Pooled]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)
    known: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Trials:
    """Successes and trials of each system, which are independent groups."""

    systems: tuple[str, ...]
    successes: Ints
    trials: Ints
    columns: Mapping[str, str]
    sources: tuple[Source, ...]


def kind(parts: Sequence[Part], given: Mapping[str, str], systems: Sequence[str] = ()) -> str:
    """What the columns are: "report", "ranking", "trials", "long", "classification" or "wide"."""
    first = parts[0]
    names = set(first.columns)
    if first.kind == "trec":
        return "ranking"
    if first.kind == "json" and {"schema", "report", "versions"} <= names:
        return "report"
    if all(given.get(role, role) in names for role in ("successes", "trials")):
        return "trials"
    roles = roles_of.resolve(first.columns, ("system", "query", "item", "score", "rank", "label"), _of(given), "")
    if {"query", "item"} <= set(roles):
        return "ranking"
    if given.get("value", VALUE) in names and "system" in roles:
        return "long"
    return "classification" if {"label", "score"} <= set(roles) and not systems else "wide"


def _of(given: Mapping[str, str]) -> dict[str, str]:
    """The roles that the tables of predictions have, too."""
    return {role: name for role, name in given.items() if role not in ROLES[2:] and role != "unit"}


# Tables -----------------------------------------------------------------------------------------------------------


def read_wide(
    parts: Sequence[Part], *, unit: str | None = None, systems: Sequence[str] = (), metric: str = VALUE
) -> UnitValues:
    """One row a unit; every column of numbers, or those named by `systems`, is a system.

    The unit is the column named, else one with a usual name, else the first of text, else the row itself.
    Raises InputError where no column holds numbers, or a value is infinite.
    """
    names = _same_columns(parts)
    for name in (*systems, *([unit] if unit else [])):
        roles_of.require(names, name, parts[0].name, "systems or unit")
    tables = [sources.load(part, {f"text {name}": name for name in names}, {}) for part in parts]
    text = [name for name in names if not all(_is_number(table[f"text {name}"]) for table in tables)]
    unit = unit or next((name for name in UNITS if name in names and name not in systems), None)
    unit = unit or next((name for name in text if name not in systems), None)
    found = list(systems) or [name for name in names if name not in text and name != unit]
    if not found:
        raise InputError(f"{parts[0].name}: no column holds numbers, one for each system; it has {', '.join(names)}")
    doubles = [sources.load(part, {}, {f"number {name}": name for name in found}) for part in parts]
    rows = [len(table[f"number {found[0]}"]) for table in doubles]
    _some_rows(parts, rows)
    values = {(metric, name): _doubles(parts, doubles, name) for name in found}
    others = {name: _strings(parts, tables, name) for name in text if name not in found and name != unit}
    ids = (
        _strings(parts, tables, f"text {unit}", unit)
        if unit
        else np.arange(1, sum(rows) + 1).astype(str).astype(object)
    )
    return UnitValues(
        unit=ids,
        name=unit or ROW,
        metrics=(metric,),
        systems=tuple(found),
        values=values,
        columns=({"unit": unit} if unit else {}) | {"systems": ", ".join(found)},
        sources=_fingerprints(parts, rows),
        texts=others,
    )


def read_long(
    parts: Sequence[Part],
    given: Mapping[str, str],
    *,
    unit: str | None = None,
    systems: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> UnitValues:
    """One row a unit, system and, where that column is there, metric.

    Raises InputError where one (unit, system, metric) comes twice, or a system or metric that was asked for is absent.
    """
    columns = _long_columns(parts, given, unit)
    text = {role: columns[role] for role in columns if role != "value"}
    tables = [sources.load(part, text, {"number value": columns["value"]}) for part in parts]
    rows = [len(table["number value"]) for table in tables]
    _some_rows(parts, rows)
    ids, system = (_strings(parts, tables, role, columns[role]) for role in ("unit", "system"))
    metric = _strings(parts, tables, "metric", columns["metric"]) if "metric" in columns else np.full(len(ids), VALUE)
    value = _doubles(parts, tables, "value", columns["value"])
    numbers, names = zip(*(codes(column) for column in (ids, system, metric)), strict=True)
    shape = tuple(len(one) for one in names)
    cell: Ints = np.asarray(np.ravel_multi_index(numbers, shape), np.int64)
    _once(parts, rows, cell, (ids, system, metric))
    table = np.full(shape, np.nan)
    table.reshape(-1)[cell] = value
    has = {"systems": _wanted(names[1], systems, "systems"), "metrics": _wanted(names[2], metrics, "metrics")}
    place = {name: i for i, name in enumerate(names[1])}, {name: i for i, name in enumerate(names[2])}
    return UnitValues(
        unit=names[0],
        name=columns["unit"],
        metrics=has["metrics"],
        systems=has["systems"],
        values={(m, s): table[:, place[0][s], place[1][m]] for m in has["metrics"] for s in has["systems"]},
        columns=columns,
        sources=_fingerprints(parts, rows),
    )


def read_trials(parts: Sequence[Part], given: Mapping[str, str]) -> Trials:
    """Columns successes and trials; the first column of text names the system of each row.

    Raises InputError for counts that are not whole, for more successes than trials, and for no trial at all.
    """
    names = _same_columns(parts)
    columns = {role: given.get(role, role) for role in ("successes", "trials")}
    tables = [sources.load(part, {f"text {name}": name for name in names}, {}) for part in parts]
    text = [name for name in names if not all(_is_number(table[f"text {name}"]) for table in tables)]
    label = given.get("system") or next((name for name in text if name not in columns.values()), None)
    numbers = [sources.load(part, {}, {f"number {role}": name for role, name in columns.items()}) for part in parts]
    rows = [len(table["number trials"]) for table in numbers]
    _some_rows(parts, rows)
    successes, trials = (_doubles(parts, numbers, role, columns[role]) for role in ("successes", "trials"))
    for i, (s, n) in enumerate(zip(successes, trials, strict=True), start=1):
        if not (float(s).is_integer() and float(n).is_integer() and 1 <= n <= COUNTED and 0 <= s <= n):
            raise InputError(
                f"{parts[0].name}: successes must be whole, of at least 1 trial and at most all of them, "
                f"of fewer than 2⁵³ trials, got {s:g} of {n:g} (row {i})"
            )
    named = _strings(parts, tables, label) if label else [f"row {i}" for i in range(1, sum(rows) + 1)]
    systems = tuple(map(str, named)) if label or sum(rows) > 1 else ("the sample",)
    if len(set(systems)) < len(systems):
        twice = next(name for name in systems if systems.count(name) > 1)
        raise InputError(f"{parts[0].name}: {label} must name each row once, got {twice!r} again")
    shown = columns | ({"system": label} if label else {})
    return Trials(systems, successes.astype(np.int64), trials.astype(np.int64), shown, _fingerprints(parts, rows))


def read_report(parts: Sequence[Part]) -> UnitValues:
    """The differences of the headline pair, unit by unit, of a report that evalkit wrote."""
    part = parts[0]
    if len(parts) > 1:
        raise InputError(f"{part.name}: one report at a time, got {len(parts)} files")
    found = json.loads(part.path.read_text(encoding="utf-8"))
    kept = found.get("differences") or {}
    values = kept.get("values") or []
    ids: list[Any] = next((one for name, one in kept.items() if name != "values"), [])
    if not values or len(ids) != len(values) or not found.get("headline"):
        raise InputError(f"{part.name}: a report of {found['report']!r} without differences of each unit")
    row = found["headline"][0]
    pair, metric = (row["first"], row["second"]), found["primary"]
    estimates = {(one["metric"], one["system"]): one for one in found["estimates"]}
    sides = (np.array(values, float), np.zeros(len(values)))
    return UnitValues(
        unit=np.array(ids, dtype=object),
        name=row["unit"],
        metrics=(metric,),
        systems=pair,
        values={(metric, name): side for name, side in zip(pair, sides, strict=True)},
        columns={"differences": f"{pair[0]} − {pair[1]}"},
        sources=(sources.fingerprint(part, len(values)),),
        known={(metric, name): estimates[metric, name] for name in pair},
    )


# The parts of a table ---------------------------------------------------------------------------------------------


def _same_columns(parts: Sequence[Part]) -> tuple[str, ...]:
    for part in parts:
        if set(part.columns) != set(parts[0].columns):
            raise InputError(f"{part.name}: must have the columns of {parts[0].name}, {', '.join(parts[0].columns)}")
    return parts[0].columns


def _long_columns(parts: Sequence[Part], given: Mapping[str, str], unit: str | None) -> dict[str, str]:
    names, where = _same_columns(parts), parts[0].name
    asked = {role: name for role, name in given.items() if role in ROLES} | ({"unit": unit} if unit else {})
    columns = roles_of.resolve(names, ("unit", "system", "value", "metric"), asked, where)
    usual = next((name for name in UNITS if name in names and name not in columns.values()), None)
    columns.setdefault("unit", usual or next((n for n in names if n not in columns.values()), ""))
    if not columns["unit"]:
        raise roles_of.missing("unit", names, where)
    return columns


def _is_number(column: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.cast(column, pa.float64()).null_count < len(column) or not len(column)
    except pa.ArrowInvalid:
        return False


def _some_rows(parts: Sequence[Part], rows: Iterable[int]) -> None:
    for part, n in zip(parts, rows, strict=True):
        if n == 0:
            raise InputError(f"{part.name}: there are columns and no rows")


def _strings(parts: Sequence[Part], tables: Sequence[Mapping[str, Any]], name: str, shown: str = "") -> np.ndarray:
    """A column of text of all parts; of ids (`shown`) none may be empty."""
    found = []
    for part, table in zip(parts, tables, strict=True):
        column = table[name if shown else f"text {name}"]
        if shown and column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]) + 1
            raise InputError(f"{part.name}: {shown} must not be empty, got nothing (row {row})")
        found.append(np.array(["(none)" if one is None else one for one in column.to_pylist()], dtype=object))
    return np.concatenate(found)


def _doubles(parts: Sequence[Part], tables: Sequence[Mapping[str, Any]], name: str, shown: str = "") -> Floats:
    """A column of numbers of all parts, NaN where there is none; raises InputError where one is infinite."""
    found = []
    for part, table in zip(parts, tables, strict=True):
        column = np.asarray(table[f"number {name}"].to_numpy(zero_copy_only=False), float)
        wrong = np.flatnonzero(np.isinf(column))
        if wrong.size:
            raise InputError(
                f"{part.name}: {shown or name} must be finite or empty, got {column[wrong[0]]} (row {wrong[0] + 1})"
            )
        measurable(shown or name, column, lambda row, part=part: f"{part.name}, row {row + 1}")  # type: ignore[misc]
        found.append(column)
    return np.concatenate(found)


def _once(parts: Sequence[Part], rows: Sequence[int], cell: Ints, keys: tuple[np.ndarray, ...]) -> None:
    order = np.argsort(cell, kind="stable")
    twice = np.flatnonzero(cell[order][1:] == cell[order][:-1])
    if twice.size:
        row = int(order[twice[0] + 1])
        names = " of ".join(repr(str(key[row])) for key in keys)
        for part, n in zip(parts, rows, strict=True):
            if row < n:
                raise InputError(f"{part.name}, row {row + 1}: {names} must come once, got it again")
            row -= n


def _wanted(names: np.ndarray, asked: Sequence[str], parameter: str) -> tuple[str, ...]:
    there = [str(name) for name in names]
    return tuple(roles_of.require(there, name, "the input", parameter) for name in asked) or tuple(there)


def _fingerprints(parts: Sequence[Part], rows: Sequence[int]) -> tuple[Source, ...]:
    return tuple(sources.fingerprint(part, n) for part, n in zip(parts, rows, strict=True))

"""Values of several systems on the same units: a wide table, a long one, counts of successes, an earlier report's JSON.

Wide: one row a unit and one column of numbers a system. Long: columns unit, system, value and perhaps metric. A value
that is missing is undefined (NaN) and never 0.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalkit.arrays import InputError, Ints, codes
from evalkit.findings.finding import Finding
from evalkit.metrics.sums import Sums
from evalkit.reading.inputs import pairing, trec_eval, unit_columns
from evalkit.reading.inputs.unit_columns import Column
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import rules, table
from evalkit.reading.tables.json_lines import JsonLines
from evalkit.reading.tables.parts import Part, Source, at
from evalkit.reading.tables.rules import Field
from evalkit.reading.tables.table import Table

ROLES = ("unit", "system", "value", "metric", "successes", "trials")
COUNTED = 2**53 - 1  # the largest whole number that a double holds apart from the next one
VALUE = "value"  # what the numbers of a wide table are called where nobody says
ROW = "row"


@dataclass(frozen=True, eq=False)
class UnitValues:
    """One value a row for each (metric, system); `unit` is what each row is about, which may come several times.

    name: what the input calls the unit, "row" where it names none. texts: further columns that could name clusters.
    findings: what was decided or left out on the way.
    known: (metric, system) -> value, low, high, level, n of an earlier report, which holds differences only.
    """

    unit: np.ndarray
    name: str
    metrics: tuple[str, ...]
    systems: tuple[str, ...]
    values: Mapping[tuple[str, str], Sums]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)
    known: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, eq=False)
class Trials:
    """Successes and trials of each system, which are independent groups."""

    systems: tuple[str, ...]
    successes: Ints
    trials: Ints
    columns: Mapping[str, str]
    sources: tuple[Source, ...]


def kind(parts: Sequence[Part], given: Mapping[str, str], systems: Sequence[str] = ()) -> str:
    """What the columns are: "report", "trec_eval", "ranking", "trials", "long", "classification" or "wide".

    A table with a column of systems is long, unless `systems` names columns of it.
    """
    first = parts[0]
    names = set(first.columns)
    if trec_eval.is_output(first):
        return "trec_eval"
    if first.layout:
        return "ranking"
    if isinstance(first, JsonLines) and {"schema", "report", "versions"} <= names:
        return "report"
    if all(given.get(role, role) in names for role in ("successes", "trials")):
        return "trials"
    wanted = ("query", "item", "score", "rank", "label")
    roles = roles_of.resolve(first.columns, wanted, _of(given), "")
    if {"query", "item"} <= set(roles) and {"score", "rank"} & set(roles) and not given.get("value"):
        return "ranking"
    if systems and set(systems) <= names:
        return "wide"
    has_system = bool(given.get("system") or unit_columns.system(columns_of([first]), None, first.name))
    if has_system and given.get("value", VALUE) in names:
        return "long"
    if {"label", "score"} <= set(roles) and not systems:
        return "classification"
    return "long" if has_system or given.get("value") else "wide"


def _of(given: Mapping[str, str]) -> dict[str, str]:
    """The roles that the tables of predictions have, too."""
    return {role: name for role, name in given.items() if role not in ROLES[2:] and role != "unit"}


# Tables -----------------------------------------------------------------------------------------------------------


def read_trials(parts: Sequence[Part], given: Mapping[str, str]) -> Trials:
    """Columns successes and trials; the first column of text names the system of each row.

    Raises InputError for counts that are not whole, for more successes than trials, and for no trial at all.
    """
    columns = {role: given.get(role, role) for role in ("successes", "trials")}
    text = [column.name for column in columns_of(parts) if not column.clean]
    label = given.get("system") or next((name for name in text if name not in columns.values()), None)
    fields = {role: Field(name, rules.MEASURED) for role, name in columns.items()}
    fields |= {"system": Field(label)} if label else {}
    rows = Table([table.block(part, fields) for part in parts])
    successes, trials = rows.numbers("successes"), rows.numbers("trials")
    for i, (hits, of) in enumerate(zip(successes, trials, strict=True)):
        if not (float(hits).is_integer() and float(of).is_integer() and 1 <= of <= COUNTED and 0 <= hits <= of):
            part, row = rows.locate(i)
            raise InputError(
                f"{part.name}: successes and trials must be whole numbers with 0 ≤ successes ≤ trials and "
                f"1 ≤ trials < 2⁵³, got {hits:g} of {of:g} (row {row})"
            )
    named = rows.texts("system") if label else [f"row {i}" for i in range(1, len(rows) + 1)]
    systems = tuple(map(str, named)) if label or len(rows) > 1 else ("the sample",)
    if (again := pairing.repeated(codes(systems)[0], np.arange(len(systems)))) is not None:
        part, row = rows.locate(again)
        raise InputError(f"{part.name}: {label} must name each row once, got {systems[again]!r} again{at(row)}")
    shown = columns | ({"system": label} if label else {})
    return Trials(systems, successes.astype(np.int64), trials.astype(np.int64), shown, rows.sources)


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
        values={(metric, name): Sums(side) for name, side in zip(pair, sides, strict=True)},
        columns={"differences": f"{pair[0]} − {pair[1]}"},
        sources=(part.fingerprint(len(values)),),
        known={(metric, name): estimates[metric, name] for name in pair},
    )


# The parts of a table ---------------------------------------------------------------------------------------------


def columns_of(parts: Sequence[Part]) -> list[Column]:
    """Every column of all parts as text; raises InputError where a part has other columns than the first."""
    names = parts[0].columns
    for part in parts:
        if set(part.columns) != set(names):
            raise InputError(f"{part.name}: must have the columns of {parts[0].name}, {', '.join(names)}")
    tables = [part.load({f"text {name}": name for name in names}, {}) for part in parts]
    return [Column(name, tuple(table[f"text {name}"] for table in tables)) for name in names]


def fingerprints(parts: Sequence[Part], rows: Sequence[int]) -> tuple[Source, ...]:
    return tuple(part.fingerprint(n) for part, n in zip(parts, rows, strict=True))

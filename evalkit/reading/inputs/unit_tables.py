"""Values of several systems on the same units from tables: one column a system, or one row a unit and system.

Several rows of one unit and system are draws: their mean is the value, and each unit counts once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, codes
from evalkit.findings import inputs
from evalkit.findings.finding import Finding
from evalkit.metrics.sums import Sums
from evalkit.reading.inputs import trec_eval, unit_columns, unit_doubts, unit_values
from evalkit.reading.inputs.unit_columns import Column
from evalkit.reading.inputs.unit_values import ROW, VALUE, UnitValues
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import rules
from evalkit.reading.tables.parts import Part
from evalkit.reading.tables.rules import Field
from evalkit.reading.tables.table import located

NAMED = 8  # columns or measures that a note names


def read_wide(
    parts: Sequence[Part],
    given: Mapping[str, str],
    *,
    unit: str | None = None,
    systems: Sequence[str] = (),
    metric: str = VALUE,
) -> UnitValues:
    """One row a unit; every column of numbers, or those named by `systems`, is a system.

    Ids, repetitions, ranks and positions are systems only where `systems` names them. Rows with the same unit are
    draws, whose mean is its value. unit: the cluster; without another column that names them its rows are the units.
    Raises InputError where no column holds numbers, a cell of them is text, or a value is infinite.
    """
    columns, where = unit_values.columns_of(parts), parts[0].name
    rows = _rows(parts, columns)
    for name in (*systems, *([unit] if unit else [])):
        roles_of.require([column.name for column in columns], name, where, "systems or unit")
    cluster = [column for column in columns if column.name == unit]
    free = [column for column in columns if column.name not in {*systems, unit}]
    if not systems:
        unit_doubts.refuse_pairs(columns, where)
    named = [unit_columns.by_name(columns, given["unit"], where, "columns: unit")] if "unit" in given else []
    ids = named or unit_columns.question_of_rows(free)
    if cluster and not ids and any(column.draws for column in free):
        ids = cluster
    numbers = [column for column in free if column.kind == "numbers" and column not in ids]
    wanted = [column for name in dict.fromkeys(systems) for column in columns if column.name == name]
    wanted = wanted or [column for column in numbers if not column.no_value and not column.truth]
    if not wanted:
        has = ", ".join(column.name for column in columns)
        raise InputError(f"{where}: no column holds numbers, one for each system; it has {has}")
    values = np.column_stack([_numbers(parts, column, rows) for column in wanted])
    units = _units(parts, rows, ids, cluster)
    code, labels, clusters = units.coded()
    table, many = zip(*(unit_columns.means(code, column, len(labels)) for column in values.T), strict=True)
    others = [column for column in free if column not in ids and column not in wanted]
    called = _called(ids, cluster)
    if not named:
        unit_doubts.refuse_other_units(code, 1, others, called, where)
    left = [column.name for column in numbers if column in others]
    empty = [column.name for column in others if column.kind == "empty"]
    found = {(metric, column.name): one for column, one in zip(wanted, table, strict=True)}
    unit_doubts.refuse_summaries(list(labels), found, called, where)
    return UnitValues(
        unit=labels if clusters is None else clusters,
        name=_called([], cluster) if cluster else _called(ids, []),
        metrics=(metric,),
        systems=tuple(column.name for column in wanted),
        values={key: Sums(values) for key, values in found.items()},
        columns=_shown(ids, cluster) | {"systems": ", ".join(column.name for column in wanted)},
        sources=unit_values.fingerprints(parts, rows),
        texts=_texts(others, code, len(labels)),
        findings=_draws(many[0], called, len(wanted)) + _left_out(left, empty),
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

    Several rows of one unit, system and metric are draws, whose mean is the value. unit: the cluster, where another
    column names the units. Raises InputError if the columns do not show which holds the value, the unit or the system,
    ParameterError where a system or metric that was asked for is absent.
    """
    columns, where = unit_values.columns_of(parts), parts[0].name
    rows = _rows(parts, columns)
    system = unit_columns.system(columns, given.get("system"), where)
    if system is None:
        raise roles_of.unresolved(["system"], [column.name for column in columns], where)
    named = {role: unit_columns.by_name(columns, name, where, f"columns: {role}") for role, name in given.items()}
    cluster = [unit_columns.by_name(columns, unit, where, "unit")] if unit else []
    taken = [system, *named.values(), *cluster]
    metric = [named["metric"]] if "metric" in named else unit_columns.by_key(columns, unit_columns.METRICS)[:1]
    metric = [column for column in metric if column.kind == "text" or "metric" in named]
    free = [column for column in columns if column not in (*taken, *metric)]
    value, guessed = (
        unit_columns.value(free, given.get("value"), where) if "value" not in named else (named["value"], "")
    )
    free = [column for column in free if column is not value]
    ids = [named["unit"]] if "unit" in named else unit_columns.question(free, where)
    if not ids or (cluster and all(column.draws for column in ids) and ids[0].key not in unit_columns.UNITS):
        ids = cluster
    if not ids:
        raise roles_of.unresolved(["unit"], [column.name for column in columns], where)
    numbers = _numbers(parts, value, rows)
    units = _units(parts, rows, ids, cluster if cluster != ids else [])
    code, labels, clusters = units.coded()
    texts = [_strings(parts, rows, system)] + [_strings(parts, rows, column) for column in metric]
    if not metric:
        texts.append(np.full(len(numbers), VALUE, dtype=object))
    codes_of, names = zip(*(codes(column.astype(str)) for column in texts), strict=True)
    shape = (len(labels), *(len(one) for one in names))
    cell: Ints = np.asarray(np.ravel_multi_index((code, *codes_of), shape), np.int64)
    flat, many = unit_columns.means(cell, numbers, int(np.prod(shape)))
    table = flat.reshape(shape)
    if "unit" not in named:
        others = [column for column in free if column not in ids]
        unit_doubts.refuse_other_units(cell, int(np.prod(shape[1:])), others, _called(ids, cluster), where)
    has = {"systems": _wanted(names[0], systems, "systems"), "metrics": _wanted(names[1], metrics, "metrics")}
    place = {name: i for i, name in enumerate(names[0])}, {name: i for i, name in enumerate(names[1])}
    found = {(m, s): table[:, place[0][s], place[1][m]] for m in has["metrics"] for s in has["systems"]}
    unit_doubts.refuse_summaries(list(labels), found, _called(ids, cluster), where)
    left = [column.name for column in free if column.kind == "numbers" and column not in ids]
    own = _shown(ids, cluster if cluster != ids else [])
    return UnitValues(
        unit=labels if clusters is None else clusters,
        name=(cluster or ids[-1:])[0].name,
        metrics=has["metrics"],
        systems=has["systems"],
        values={key: Sums(values) for key, values in found.items()},
        columns=own
        | {"system": system.name, "value": value.name}
        | dict.fromkeys(["metric"][: len(metric)], metric[0].name if metric else ""),
        sources=unit_values.fingerprints(parts, rows),
        findings=_draws(many, _called(ids, []), 1) + _guessed(guessed) + _left_out(left, []),
    )


def read_trec_eval(parts: Sequence[Part], *, systems: Sequence[str] = (), metrics: Sequence[str] = ()) -> UnitValues:
    """One value a query of each run, one file a run; `all` is left out and counted.

    Without `metrics` it is average precision (map), or the first measure of the first file. Raises InputError where two
    files are of one run or a value comes twice.
    """
    runs = {}
    left = 0
    for part in parts:
        name, rows, summaries = trec_eval.lines(part)
        if name in runs:
            raise InputError(f"{part.name}: two files hold the run {name!r}; give each run its own runid or file name")
        runs[name], left = rows, left + summaries
    measures = list(dict.fromkeys(measure for rows in runs.values() for measure, _, _ in rows))
    usual = [measure for measure in measures if measure not in trec_eval.COUNTS]
    chosen = (
        _wanted(np.array(measures), metrics, "metrics")
        if metrics
        else tuple((["map"] if "map" in usual else usual)[:1])
    )
    names = _wanted(np.array(list(runs)), systems, "systems")
    queries = sorted({query for rows in runs.values() for _, query, _ in rows})
    others = [measure for measure in usual if measure not in chosen]
    text = f"Output of trec_eval: {left:,} summary {'line' if left == 1 else 'lines'} ('all') left out."
    findings = [inputs.SUMMARY_LINES.note(text, left), *_unused("Measures that were not compared", others)]
    return UnitValues(
        unit=np.array(queries, dtype=object),
        name="query",
        metrics=chosen,
        systems=names,
        values={(m, name): Sums(_measured(runs[name], m, queries, name)) for m in chosen for name in names},
        columns={"systems": "one file each"},
        sources=tuple(part.fingerprint(len(rows)) for part, rows in zip(parts, runs.values(), strict=True)),
        findings=tuple(findings),
    )


def _measured(rows: Sequence[tuple[str, str, float]], measure: str, queries: Sequence[str], name: str) -> Floats:
    """One measure of one run on these queries, NaN where it has none."""
    values: dict[str, float] = {}
    for own, query, number in rows:
        if own == measure and query in values:
            raise InputError(f"run {name!r}: {measure} of query {query!r} must come once, got it again")
        if own == measure:
            values[query] = number
    return np.array([values.get(query, np.nan) for query in queries])


@dataclass(frozen=True, eq=False)
class Units:
    """What each row is about: the text of the unit, and of its cluster where one was named."""

    unit: np.ndarray
    cluster: np.ndarray | None

    def coded(self) -> tuple[Ints, np.ndarray, np.ndarray | None]:
        """Each row's unit by number, the units' texts, and the units' clusters; a unit is one within its cluster."""
        if self.cluster is None:
            code, names = codes(self.unit.astype(str))
            return code, names.astype(object), None
        number, names = codes(self.unit.astype(str))
        group, groups = codes(self.cluster.astype(str))
        pair, code = np.unique(group * len(names) + number, return_inverse=True)
        return code.astype(np.int64), names[pair % len(names)].astype(object), groups[pair // len(names)].astype(object)


def _units(parts: Sequence[Part], rows: Sequence[int], ids: Sequence[Column], cluster: Sequence[Column]) -> Units:
    """The units by their ids, or the rows themselves, whose numbers are padded so that their text has their order."""
    n = sum(rows)
    texts = [_strings(parts, rows, column).astype(str) for column in ids]
    unit = reduce(lambda a, b: np.char.add(np.char.add(a, " "), b), texts) if texts else _numbered(n)
    own = [column for column in cluster if column not in ids]
    return Units(np.asarray(unit, object), _strings(parts, rows, own[0]) if own else None)


def _numbered(n: int) -> np.ndarray:
    return np.char.zfill(np.arange(1, n + 1).astype(str), len(str(n)))


def _shown(ids: Sequence[Column], cluster: Sequence[Column]) -> dict[str, str]:
    """The columns of unit and cluster as the page lists them."""
    own = {"unit": " and ".join(column.name for column in ids)} if ids else {}
    return own | ({"cluster" if ids and cluster != ids else "unit": cluster[0].name} if cluster else {})


def _called(ids: Sequence[Column], cluster: Sequence[Column]) -> str:
    return (ids or cluster)[-1].name if ids or cluster else ROW


def _draws(many: Ints, name: str, systems: int) -> tuple[Finding, ...]:
    """A finding on the rows that are draws of the same unit, if there are any."""
    most = int(many.max(initial=0))
    if most < 2:
        return ()
    each = f"{most:,}" if (many[many > 0] == most).all() else f"up to {most:,}"
    per = f"{name} and system" if systems == 1 else name
    rows = int(many.sum())
    text = f"{rows:,} rows are draws, {each} per {per}: the value of a unit is the mean of its draws, and each unit "
    return (inputs.DRAWS.warning(f"{text}counts once.", rows),)


def _guessed(sentence: str) -> tuple[Finding, ...]:
    return (inputs.GUESSED_VALUES.warning(sentence),) if sentence else ()


def _left_out(numbers: Sequence[str], empty: Sequence[str]) -> tuple[Finding, ...]:
    """Findings on numeric columns whose name is not that of a system, and on empty columns."""
    return _unused("Numeric columns that were not compared", numbers) + _unused("Columns without any value", empty)


def _unused(what: str, names: Sequence[str]) -> tuple[Finding, ...]:
    return (inputs.UNUSED_COLUMNS.warning(f"{what}: {roles_of.listed(names, NAMED)}.", len(names)),) if names else ()


def _texts(columns: Sequence[Column], code: Ints, units: int) -> dict[str, np.ndarray]:
    """Columns that could name clusters, one text a unit: of text or ids, the same on all rows of a unit."""
    texts = {}
    for column in columns:
        if column.kind == "text" or unit_columns.identifies(column.name):
            cells = np.array(["(none)" if cell is None else cell for cell in column.cells], dtype=object)
            text = np.empty(units, dtype=object)
            text[code] = cells
            if (text[code] == cells).all():
                texts[column.name] = text
    return texts


def _rows(parts: Sequence[Part], columns: Sequence[Column]) -> list[int]:
    rows = [len(array) for array in columns[0].arrays]
    for part, n in zip(parts, rows, strict=True):
        if not n:
            raise part.no_rows()
    return rows


def _numbers(parts: Sequence[Part], column: Column, rows: Sequence[int]) -> Floats:
    """The numbers of a column as its type holds them, or as its text says; raises InputError with the wrong cells."""
    if column.clean or column.kind == "empty":
        arrays = [part.load({}, {"number": column.name})["number"] for part in parts]
    else:
        values = unit_columns.doubles(column, lambda i: _locate(parts, rows, i))
        arrays = _split(values, rows)
    field = Field(column.name, rules.VALUES)
    return np.concatenate([field.checked(array, part) for part, array in zip(parts, arrays, strict=True)])


def _split(values: Floats, rows: Sequence[int]) -> list[Any]:
    import pyarrow as pa

    return [pa.array(some, from_pandas=True) for some in np.split(values, np.cumsum(rows)[:-1])]


def _locate(parts: Sequence[Part], rows: Sequence[int], row: int) -> tuple[Part, int]:
    return located(zip(parts, rows, strict=True), row)


def _strings(parts: Sequence[Part], rows: Sequence[int], column: Column) -> np.ndarray:
    """A column of ids, none of which may be empty."""
    empty = np.flatnonzero(np.array([cell is None for cell in column.cells]))
    if empty.size:
        part, row = _locate(parts, rows, int(empty[0]))
        raise rules.PRESENT.error(part, column.name, None, row)
    return column.cells


def _wanted(names: np.ndarray, asked: Sequence[str], parameter: str) -> tuple[str, ...]:
    there = [str(name) for name in names]
    return tuple(roles_of.require(there, name, "the input", parameter) for name in dict.fromkeys(asked)) or tuple(there)

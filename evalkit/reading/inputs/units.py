"""Values of several systems on the same units: a wide table, a long one, counts of successes, an earlier report's JSON.

Wide: one row a unit and one column of numbers a system. Long: columns unit, system, value and perhaps metric. Several
rows of one unit and system are draws: their mean is the value, and each unit counts once. A value that is missing is
undefined (NaN) and never 0. One number a unit, system and metric is kept, whatever the size of the table.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, codes
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.limits import USUAL, Reading
from evalkit.metrics.rows import Sums
from evalkit.reading.inputs import aligned, unit_roles
from evalkit.reading.inputs.unit_columns import Cells, Column
from evalkit.reading.inputs.unit_roles import CLUSTER, ID, Columns, Long, Units, Wide
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import rules
from evalkit.reading.tables import table as tables
from evalkit.reading.tables.parts import Part, Source, at
from evalkit.reading.tables.rules import Field
from evalkit.reading.tables.table import Table

NAMED = 8  # columns or measures that a note names
COUNTED = ("successes", "trials")
MOST = 2**53 - 1  # the largest whole number that a double holds apart from the next one
VALUE = "value"  # what the numbers of a wide table are called where nobody says
SYSTEM, METRIC = "system", "metric"


@dataclass(frozen=True, eq=False)
class UnitValues:
    """One value a unit for each (metric, system).

    id: what names each unit, texts of numpy or Arrow; None where they are numbered. name: what the input calls what
    varies, "row" where it names nothing. cluster: the number of each unit's cluster, and the clusters' names in order;
    None where each has one unit, which is then called as its cluster. texts: further columns that could name clusters.
    findings: what was decided or left out on the way.
    known: (metric, system) -> value, low, high, level, n of an earlier report, which holds differences only, and
    directions: which values of a metric are better by it, "high", "low" or "neither".
    """

    id: Any
    name: str
    metrics: tuple[str, ...]
    systems: tuple[str, ...]
    values: Mapping[tuple[str, str], Sums]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    cluster: tuple[Ints, Any] | None = None
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)
    known: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    directions: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.values.values())).numerator)

    @cached_property
    def ids(self) -> Any:
        """What names each unit; numbers are padded with zeros, so that their text has their order."""
        return numbered(np.arange(1, len(self) + 1), len(self)) if self.id is None else self.id

    @cached_property
    def of(self) -> np.ndarray | None:
        """The name of each unit's cluster."""
        return None if self.cluster is None else np.asarray(self.cluster[1], object)[self.cluster[0]]


def numbered(rows: Ints, most: int) -> Any:
    """The numbers of rows as texts of one length."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.utf8_lpad(pa.array(rows).cast(pa.string()), len(str(most)), "0")


def clustered(id: Any, of: Any) -> tuple[Any, tuple[Ints, Any] | None]:
    """The ids, and the clusters of these names; where each has one unit, that is called as its cluster."""
    code, names = tables.ordered(of)
    return (of, None) if len(names) == len(code) else (id, (code, names))


@dataclass(frozen=True, eq=False)
class Trials:
    """Successes and trials of each system, which are independent groups."""

    systems: tuple[str, ...]
    successes: Ints
    trials: Ints
    columns: Mapping[str, str]
    sources: tuple[Source, ...]


# Rows to units --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shaped:
    """Units of some blocks as Arrow tables of id, cluster and values v0, v1, .... rows: the fewest and the most of a
    unit, or of a unit, system and metric that has any, and all.
    """

    tables: tuple[Any, ...]
    rows: tuple[int, int, int]

    def __add__(self, other: "Shaped") -> "Shaped":
        (least, most, every), (low, high, more) = self.rows, other.rows
        return Shaped(self.tables + other.tables, (min(least, low), max(most, high), every + more))


@dataclass(frozen=True)
class Shape:
    """How the rows of a block, which has all rows of each of its units, are values of these; fit to be sent elsewhere.

    A wide table has the columns v0, v1, .... A long one has value, system and perhaps metric. drawn: whether several
    rows may be one unit. width: values of a unit.
    """

    width: int
    drawn: bool = True

    def __call__(self, block: Any, before: int = 0) -> Shaped:
        """The units in the order of their first rows; in clusters by cluster."""
        import pyarrow as pa

        keys = {name: block[name] for name in (ID, CLUSTER) if name in block.column_names}
        if not self.drawn:
            columns = {f"v{i}": block[f"v{i}"].to_numpy() + 0.0 for i in range(self.width)}
            return Shaped((pa.table(keys | columns),), (1, 1, len(block)))
        number = {name: tables.indexed(column) for name, column in keys.items()}
        unit, texts = number[ID]
        pair = np.arange(len(texts))
        if CLUSTER in number:
            pair, unit = np.unique(number[CLUSTER][0] * len(texts) + unit, return_inverse=True)
        names = {ID: texts.take(pa.array(pair % max(len(texts), 1)))}
        if CLUSTER in number:
            names[CLUSTER] = number[CLUSTER][1].take(pa.array(pair // max(len(texts), 1)))
        means, rows = self.means(block, unit, len(pair))
        some = rows[rows > 0]
        spread = int(some.min(initial=np.iinfo(np.int64).max)), int(rows.max(initial=0)), len(block)
        return Shaped((pa.table(names | {f"v{i}": column for i, column in enumerate(means)}),), spread)

    def means(self, block: Any, unit: Ints, units: int) -> tuple[Sequence[Floats], Ints]:
        """The mean of each column by unit, and the rows of each unit."""
        every = [cell_means(unit, block[f"v{i}"].to_numpy(), units) for i in range(self.width)]
        return [means for means, _ in every], every[0][1]


@dataclass(frozen=True)
class LongShape(Shape):
    """every: all systems and metrics. wanted: those that are compared, a metric after the other."""

    every: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    wanted: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def means(self, block: Any, unit: Ints, units: int) -> tuple[Sequence[Floats], Ints]:
        """The mean of each unit, system and metric, and the rows of each."""
        import pyarrow as pa
        import pyarrow.compute as pc

        systems, metrics = self.every
        places = [unit]
        for name, texts in ((SYSTEM, systems), (METRIC, metrics)):
            if name in block.column_names:
                column = block[name]
                places.append(pc.index_in(column, value_set=pa.array(texts, column.type)).to_numpy().astype(np.int64))
            else:
                places.append(np.zeros(len(unit), np.int64))
        shape = (units, len(systems), len(metrics))
        cell = np.asarray(np.ravel_multi_index(tuple(places), shape), np.int64)
        means, rows = cell_means(cell, block["value"].to_numpy(), int(np.prod(shape)))
        each = means.reshape(shape)
        of = [each[:, systems.index(s), metrics.index(m)] for m in self.wanted[1] for s in self.wanted[0]]
        return of, rows


def cell_means(cell: Ints, values: Floats, cells: int) -> tuple[Floats, Ints]:
    """The mean of the values of each cell that are not NaN, and how many rows each has; in no order of the rows.

    >>> cell_means(np.array([0, 2, 0]), np.array([1.0, 5.0, 2.0]), 3)
    (array([1.5, nan, 5. ]), array([2, 0, 1]))
    """
    rows = np.bincount(cell, minlength=cells).astype(np.int64)
    keep = np.flatnonzero(~np.isnan(values))
    order = keep[np.lexsort([values[keep], cell[keep]])]
    sums = np.bincount(cell[order], weights=values[order], minlength=cells)
    counts = np.bincount(cell[order], minlength=cells)
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums / counts, np.nan), rows


# Tables ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Made:
    """The units of a table: names, those of their clusters, columns of values. rows: as of `Shaped`."""

    id: Any
    cluster: Any
    columns: Sequence[Floats]
    rows: tuple[int, int, int]

    @classmethod
    def of(cls, shaped: Shaped, order: Sequence[str], width: int, most: int) -> "Made":
        """In the order of these columns where units are at most so many, else as they come; width: values of a unit."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = pa.concat_tables(shaped.tables)
        if CLUSTER in table.column_names and ID not in table.column_names:
            table = table.append_column(ID, numbered(np.arange(1, len(table) + 1), len(table)))
        if order and len(table) <= most:
            table = table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in order]))
        names = {name: tables.whole(table[name]) for name in (ID, CLUSTER) if name in table.column_names}
        columns = [table[f"v{i}"].to_numpy() for i in range(width)]
        return cls(names.get(ID), names.get(CLUSTER), columns, shaped.rows)

    def __len__(self) -> int:
        return len(self.columns[0])


def _made(
    cells: Cells, units: Units, numbers: Mapping[str, Column], shape: Shape, reading: Reading, **more: Sequence[Column]
) -> Made:
    """The units of a table; raises InputError where there are more values than are kept. more: texts beside units'."""
    texts = units.texts
    if cells.rows * shape.width > reading.kept:
        keys = [column for columns in texts.values() for column in columns]
        n = cells.distinct(keys) if shape.drawn else cells.rows
        if n * shape.width > reading.kept:
            raise too_many(cells.parts[0].name, n, shape.width, reading.kept)
    shaped = cells.engine.total(cells.query(texts | more, numbers, ID if shape.drawn else None), shape)
    order = [name for name in (CLUSTER, ID) if name in texts]
    return Made.of(shaped, order + [ID] * (order == [CLUSTER]), shape.width, reading.listed)


def too_many(where: str, units: int, each: int, most: int) -> InputError:
    """The error for more values than are kept."""
    return InputError(
        f"{where}: {units:,} units with {each} values each are more than the {most:,} values that are kept in memory; "
        "compare fewer systems or metrics, or take a random sample of the units"
    )


def read_wide(
    cells: Cells,
    chosen: Mapping[str, str],
    *,
    unit: str | None = None,
    systems: Sequence[str] = (),
    metric: str = VALUE,
    reading: Reading = USUAL.reading,
) -> UnitValues:
    """One row a unit; every column of numbers, or those named by `systems`, is a system.

    Ids, repetitions, ranks and positions are systems only where `systems` names them. Rows with the same unit are
    draws, whose mean is its value. unit: the cluster; without another column that names them its rows are the units.
    Raises InputError where no column holds numbers, a cell of them is text, or a value is infinite.
    """
    roles = Wide.of(Columns.of(cells), chosen, unit, systems)
    units, names = roles.units, tuple(column.name for column in roles.systems)
    keys = [column for columns in units.texts.values() for column in columns]
    cells.check(keys, roles.systems)
    alone = cells.distinct(keys) if units.ids else cells.rows
    if alone < cells.rows and "unit" not in chosen:
        unit_roles.refuse_other_units(roles.rest.every, keys, 1, units.name, alone)
    numbers = {f"v{i}": column for i, column in enumerate(roles.systems)}
    made = _made(cells, units, numbers, Shape(len(names), drawn=alone < cells.rows), reading)
    if "unit" not in chosen:
        unit_roles.refuse_files(cells.parts, made.rows[1], roles.rest.every, units.name)
    each = units.name if len(names) > 1 else f"{units.name} and system"
    empty = [column.name for column in roles.rest.every if column.kind == "empty"]
    unseen = [] if cells.engine.at_hand else _possible_clusters(roles.rest.every)
    findings = (
        *draws_of(made.rows, each),
        *left_out(roles.rest),
        *unused("Columns without any value", empty),
        *unused("Columns that may name clusters, not looked at in so long a table", [c.name for c in unseen]),
    )
    return _values(made, roles, ((metric,), names), units.printed | {"systems": ", ".join(names)}, findings)


def read_long(
    cells: Cells,
    chosen: Mapping[str, str],
    *,
    unit: str | None = None,
    systems: Sequence[str] = (),
    metrics: Sequence[str] = (),
    reading: Reading = USUAL.reading,
) -> UnitValues:
    """One row a unit, system and, where that column is there, metric.

    Several rows of one unit, system and metric are draws, whose mean is the value. unit: the cluster, where another
    column names the units. Raises InputError if the columns do not show which holds the value, the unit or the system,
    ParameterError where a system or metric that was asked for is absent.
    """
    roles = Long.of(Columns.of(cells), chosen, unit)
    units, named = roles.units, {SYSTEM: roles.system} | ({METRIC: roles.metric} if roles.metric else {})
    keys = [column for columns in units.texts.values() for column in columns]
    cells.check([*keys, *named.values()], [roles.value])
    every = cells.names(roles.system), cells.names(roles.metric) if roles.metric else (roles.value.name,)
    if "unit" not in chosen:
        cell = [*keys, *named.values()]
        unit_roles.refuse_other_units(roles.rest.every, cell, len(every[0]) * len(every[1]), units.name)
    if not systems:
        roles_of.refuse_names(every[0], f"{cells.parts[0].name}: {roles.system.name}", "systems")
    compared = wanted(every[0], systems, "systems"), wanted(every[1], metrics, "metrics")
    shape = LongShape(len(compared[0]) * len(compared[1]), every=every, wanted=compared)
    texts = {name: [column] for name, column in named.items()}
    made = _made(cells, units, {"value": roles.value}, shape, reading, **texts)
    findings = (
        *draws_of(made.rows, f"{units.name} and system"),
        *([kinds.GUESSED_VALUES.warning(guess=roles.guess)] if roles.guess else []),
        *left_out(roles.rest),
    )
    return _values(made, roles, (compared[1], compared[0]), roles.printed, findings)


def _values(
    made: Made,
    roles: Long | Wide,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    columns: Mapping[str, str],
    findings: tuple[Finding, ...],
) -> UnitValues:
    """The values of a table. names: of the metrics and of the systems."""
    units, cells = roles.units, roles.rest.cells
    if units.ids:
        unit_roles.refuse_summaries(made.id, made.columns, units.name, cells.parts[0].name)
    id, cluster = (made.id, None) if made.cluster is None else clustered(made.id, made.cluster)
    keys = [(metric, name) for metric in names[0] for name in names[1]]
    return UnitValues(
        id=id,
        cluster=cluster,
        name=units.varying,
        metrics=names[0],
        systems=names[1],
        values={key: Sums(column) for key, column in zip(keys, made.columns, strict=True)},
        columns=columns,
        sources=roles.rest.sources(),
        texts=_texts(cells, units, made, roles.rest.every) if isinstance(roles, Wide) else {},
        findings=findings,
    )


def _texts(cells: Cells, units: Units, made: Made, rest: Sequence[Column]) -> dict[str, np.ndarray]:
    """Columns that could name clusters, one text a unit: of text or ids, the same on all rows of a unit.

    None of a table that is not at hand.
    """
    possible = _possible_clusters(rest)
    if not possible or not cells.engine.at_hand:
        return {}
    others = {f"other{i}": [column] for i, column in enumerate(possible)}
    rows = cells.engine.table(cells.query(units.texts | others, {}, None))
    code, texts = _units_of_rows(rows, made), {}
    for i, column in enumerate(possible):
        own = rows[f"other{i}"].fill_null(aligned.NONE).to_numpy()
        text = np.empty(len(made), dtype=object)
        text[code] = own
        if (text[code] == own).all():
            texts[column.name] = text
    return texts


def _possible_clusters(rest: Sequence[Column]) -> list[Column]:
    return [column for column in rest if column.kind == "text" or column.identifies]


def _units_of_rows(rows: Any, made: Made) -> Ints:
    """The unit of each row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if made.id is None:
        return np.arange(len(made))
    names = {ID: made.id} | ({} if made.cluster is None else {CLUSTER: made.cluster})
    own = [rows[n] if n in rows.column_names else numbered(np.arange(1, len(rows) + 1), len(rows)) for n in names]
    sides = ([tables.whole(column) for column in side] for side in (own, names.values()))
    here, there = (pc.binary_join_element_wise(*side, pa.scalar("\0", pa.large_string())) for side in sides)
    return pc.index_in(here, value_set=there).to_numpy().astype(np.int64)


def draws_of(spread: tuple[int, int, int], each: str) -> tuple[Finding, ...]:
    """A finding on the rows that are draws of the same unit, if there are any.

    spread: the fewest and the most rows of a unit or cell that has any, and all rows.
    """
    least, most, total = spread
    if most < 2:
        return ()
    number = f"{most:,}" if least == most else f"up to {most:,}"
    return (kinds.DRAWS.warning(total, total=total, number=number, each=each),)


def left_out(rest: Columns) -> tuple[Finding, ...]:
    """A finding on the numeric columns whose name is not that of a system."""
    return unused("Numeric columns that were not compared", [column.name for column in rest.numbers])


def read_trials(parts: Sequence[Part], chosen: Mapping[str, str]) -> Trials:
    """Columns successes and trials; the first column of text names the system of each row.

    Raises InputError for counts that are not whole, for more successes than trials, and for no trial at all.
    """
    columns = {role: chosen.get(role, role) for role in COUNTED}
    text = [column.name for column in Columns.of(Cells.held(parts)).every if not column.clean]
    label = chosen.get("system") or next((name for name in text if name not in columns.values()), None)
    fields = {role: Field(name, rules.MEASURED) for role, name in columns.items()}
    fields |= {"system": Field(label)} if label else {}
    rows = Table([tables.block(part, fields) for part in parts])
    successes, trials = (rows.numbers(role) for role in COUNTED)
    _refuse_uncountable(rows, successes, trials)
    systems = _trial_names(rows, label)
    printed = columns | ({"system": label} if label else {})
    return Trials(systems, successes.astype(np.int64), trials.astype(np.int64), printed, rows.sources)


def _refuse_uncountable(rows: Table, successes: Floats, trials: Floats) -> None:
    """Raise InputError for counts that are not whole, more successes than trials, no trial, or too many to count."""
    whole = (successes == np.rint(successes)) & (trials == np.rint(trials))
    wrong = np.flatnonzero(~(whole & (successes >= 0) & (successes <= trials) & (trials >= 1) & (trials <= MOST)))
    if wrong.size:
        part, row = rows.locate(int(wrong[0]))
        raise InputError(
            f"{part.name}: successes and trials must be whole numbers with 0 ≤ successes ≤ trials and "
            f"1 ≤ trials < 2⁵³, got {successes[wrong[0]]:g} of {trials[wrong[0]]:g} (row {row})"
        )


def _trial_names(rows: Table, label: str | None) -> tuple[str, ...]:
    """The system of each row; raises InputError where a column names one twice."""
    if label is None:
        return tuple(f"row {i}" for i in range(1, len(rows) + 1)) if len(rows) > 1 else ("the sample",)
    systems = rows.texts("system")
    if (again := aligned.repeated(codes(systems)[0], np.arange(len(systems)))) is not None:
        part, row = rows.locate(again)
        raise InputError(f"{part.name}: {label} must name each row once, got {systems[again]!r} again{at(row)}")
    return tuple(map(str, systems))


def read_report(parts: Sequence[Part]) -> UnitValues:
    """The differences of the headline pair, unit by unit, of a report that evalkit wrote."""
    part = parts[0]
    if len(parts) > 1:
        raise InputError(f"{part.name}: one report at a time, got {len(parts)} files")
    report = json.loads(part.path.read_text(encoding="utf-8"))
    differences = report.get("differences") or {}
    values = differences.get("values") or []
    ids: list[Any] = next((column for name, column in differences.items() if name != "values"), [])
    if not values or len(ids) != len(values) or not report.get("headline"):
        raise InputError(f"{part.name}: a report of {report['report']!r} without differences of each unit")
    row = report["headline"][0]
    pair, metric = (row["first"], row["second"]), report["primary"]
    estimates = {(estimate["metric"], estimate["system"]): estimate for estimate in report["estimates"]}
    sides = (np.array(values, float), np.zeros(len(values)))
    return UnitValues(
        id=np.array(ids, dtype=object),
        name=row["unit"],
        metrics=(metric,),
        systems=pair,
        values={(metric, name): Sums(side) for name, side in zip(pair, sides, strict=True)},
        columns={"differences": f"{pair[0]} − {pair[1]}"},
        sources=(part.fingerprint(len(values)),),
        known={(metric, name): estimates[metric, name] for name in pair},
        directions={row["name"]: row["best"] for row in report.get("metrics", [])},
    )


# What readers of values share --------------------------------------------------------------------------------------


def wanted(names: Iterable[object], asked: Sequence[str], parameter: str) -> tuple[str, ...]:
    """The names asked for, or all; raises ParameterError for one that is not there."""
    there = list(map(str, names))
    return tuple(roles_of.require(there, name, "the input", parameter) for name in dict.fromkeys(asked)) or tuple(there)


def unused(what: str, names: Sequence[str]) -> tuple[Finding, ...]:
    """A finding on columns or measures that are not used, if there are any."""
    some = roles_of.listed(names, NAMED)
    return (kinds.UNUSED_COLUMNS.warning(len(names), "read", what=what, names=some),) if names else ()

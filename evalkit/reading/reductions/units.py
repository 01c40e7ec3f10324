"""Values per unit: one relation of unit, system, metric, value and cluster, whatever holds it.

A wide table has one row per unit and one column of numbers per system; a long one has columns unit,
system, value and perhaps metric. Several rows of the same unit and system are draws: their mean is
the value, and the unit counts once. A missing value is undefined (NaN), never 0. One number per
unit, system and metric is kept, whatever the size of the table.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalkit.arrays import Floats, Ints, ParameterError
from evalkit.catalogue.metric import MetricAtK
from evalkit.findings import kinds
from evalkit.limits import Reading
from evalkit.metrics.draws import Draws
from evalkit.metrics.rows import Sums
from evalkit.reading.inputs import aligned, lists, outcomes, unit_roles
from evalkit.reading.inputs.unit_columns import UnitColumn
from evalkit.reading.inputs.unit_roles import CLUSTER, ID, METRIC, SYSTEM, UnitRoles
from evalkit.reading.tables import columns as roles_of, logs, rules, table as tables
from evalkit.reading.tables.columns import refused
from evalkit.reading.tables.parts import Source

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

NAMED = 8  # columns or measures that a note names
VALUE = "value"  # what the numbers of a wide table are called where nobody says
Key = tuple[str, str]  # metric, system
Texts = Mapping[str, "pa.ChunkedArray"]


class Clusters(NamedTuple):
    """The number of each unit's cluster, and the clusters' names in order."""

    number: Ints
    names: "pa.Array"


@dataclass(frozen=True, eq=False)
class UnitValues:
    """One value per unit for each (metric, system).

    id: the name of each unit, as text of numpy or Arrow; None if units are numbered. name: the noun
    for what varies in the input, "row" if it names none. cluster: None if each has one unit, which
    then has the cluster's name. texts: further columns that may name clusters. findings: what was
    decided or left out. alone: rows whose id another system lacks. accounts: how each system's
    ranked rows were used. known: (metric, system) -> value, low, high, level, n of an earlier
    report, which has only differences, and directions: which of a metric's values are better in it,
    "high", "low" or "neither". draws: for each value of a table the draws that it is the mean of.
    source: the metric of these that others are computed from. tasks: the name of each unit's task,
    if there are several. by_task: True if tasks are the clusters. stated: the numbers of a log for
    a (system, task, metric). repeated: the (metric, system) whose values are of repeated draws of 0
    or 1. logged: True if they are from evaluation logs, whose systems may share no question.
    labels: system -> an oracle's labels of the units that a judge gave the values, NaN where none.
    """

    id: Any
    name: str
    values: Mapping[Key, Sums]
    columns: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[Source, ...] = ()
    cluster: Clusters | None = None
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)
    known: Mapping[Key, Mapping[str, Any]] = field(default_factory=dict)
    directions: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[kinds.Finding, ...] = ()
    alone: int = 0
    accounts: Mapping[str, lists.ListAccount] = field(default_factory=dict)
    draws: Mapping[Key, Draws] = field(default_factory=dict)
    source: str = ""
    tasks: np.ndarray | None = None
    by_task: bool = False
    stated: Mapping[tuple[str, str, str], logs.Stated] = field(default_factory=dict)
    repeated: Collection[Key] = ()
    logged: bool = False
    labels: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def of_frame(cls, frame: "pd.DataFrame", name: str) -> "UnitValues":
        """The values of a frame: a row per unit, a column per (metric, system)."""
        values = {key: Sums(frame[key].to_numpy(float)) for key in frame.columns}
        return cls(frame.index.to_numpy(object), name, values)

    @classmethod
    def of_table(cls, table: "pa.Table", keys: Iterable[Key], name: str) -> "UnitValues":
        """The values v0, v1, … of an Arrow table as `UnitPivot` makes it, for these metrics and
        systems.
        """
        draws = {key: _draws_of_column(table, number) for number, key in enumerate(keys)}
        units = cls(
            tables.one_array(table[ID]) if ID in table.column_names else None,
            name,
            {key: Sums(draw.mean) for key, draw in draws.items()},
            draws=draws,
            repeated={key for key, draw in draws.items() if draw.repeated},
        )
        if CLUSTER not in table.column_names:
            return units
        return units.in_clusters(tables.one_array(table[CLUSTER]))

    def in_clusters(self, names: Any) -> "UnitValues":
        """The units in clusters of these names; if each has one unit, the unit has the cluster's
        name.
        """
        clusters = Clusters(*tables.encode_sorted(names))
        if len(clusters.names) == len(self):
            return replace(self, id=names)
        return replace(self, cluster=clusters)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return tuple(dict.fromkeys(metric for metric, _ in self.values))

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(dict.fromkeys(system for _, system in self.values))

    @property
    def numbers(self) -> list[Floats]:
        """The values of each metric and system."""
        return [sums.numerator for sums in self.values.values()]

    def measured(self, metrics: Sequence[MetricAtK]) -> "UnitValues":
        """The values of metrics, some of which are computed from the draws.

        Raises ParameterError if the input has several metrics, or no unit has enough draws.
        """
        computed = [chosen for chosen in metrics if chosen.metric.structure == "draws"]
        self._refuse_few_draws(computed)
        source = self.metrics[0]
        values, repeated = {}, set()
        for chosen, system in product(metrics, self.systems):
            key = chosen.label, system
            if chosen in computed:
                values[key] = chosen.sums(self.draws[source, system])
            else:
                values[key] = self.values[key]
            if (source, system) in self.repeated:
                repeated.add(key)
        return replace(self, values=values, source=source, repeated=repeated)

    def _refuse_few_draws(self, computed: Sequence[MetricAtK]) -> None:
        if len(self.metrics) > 1:
            label = computed[0].label
            raise ParameterError(
                f"metrics: {label} needs one metric of 0 and 1, the input has "
                f"{', '.join(self.metrics)}; name it too: metrics='{self.metrics[0]},{label}'"
            )
        largest = int(max(draws.count.max(initial=0) for draws in self.draws.values()))
        for chosen in computed:
            if chosen.k > largest:
                draws = f"{chosen.k} draws per {self.name}, the input has at most {largest}"
                raise ParameterError(f"metrics: {chosen.label} needs {draws}")

    def noise(self, chosen: MetricAtK, system: str) -> Floats:
        """The variance of each value of a metric over its draws; NaN if unknown."""
        if (chosen.label, system) in self.draws:
            return self.draws[chosen.label, system].noise
        if (self.source, system) in self.draws:
            source = self.draws[self.source, system]
            return source.noise_of(lambda draws: chosen.sums(draws).numerator)
        return np.full(len(self), np.nan)

    def freedom(self, system: str) -> float:
        """The degrees of freedom of the variance of a system's draws."""
        counts = [draws.count for (_, name), draws in self.draws.items() if name == system]
        return float(max(np.maximum(count - 1, 0).sum() for count in counts))

    def __len__(self) -> int:
        return len(self.numbers[0])

    @cached_property
    def ids(self) -> Any:
        """The name of each unit. Numbers are padded with zeros, so that their text has their
        order.
        """
        return numbered(len(self)) if self.id is None else self.id

    @cached_property
    def cluster_names(self) -> np.ndarray | None:
        """The name of each unit's cluster."""
        if self.cluster is None:
            return None
        return np.asarray(self.cluster.names, object)[self.cluster.number]


def _draws_of_column(table: "pa.Table", number: int) -> Draws:
    """The draws of a value of each unit; a unit of a block that has none has one, if any."""
    mean = table[f"v{number}"].to_numpy()
    present = ~np.isnan(mean)
    if f"c{number}" not in table.column_names:
        # of tables without draws, which may be large, a byte
        count: Any = present.astype(np.int8)
        return Draws(count, mean, np.broadcast_to(np.nan, len(mean)))
    stated = table[f"c{number}"].to_numpy()
    count = np.where(np.isnan(stated), present, stated)
    return Draws(count, mean, table[f"d{number}"].to_numpy())


def numbered(count: int) -> "pa.Array":
    """The numbers from 1 as texts of equal length."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pa.array(np.arange(1, count + 1)).cast(pa.string())
    return pc.utf8_lpad(numbers, len(str(count)), "0")


# Rows to units ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowCounts:
    """The fewest and the most rows of a unit (or of a unit, system and metric that has any), all,
    and their empty values.
    """

    fewest: int
    largest: int
    total: int
    empty: int = 0

    @classmethod
    def of(cls, rows: Ints, empty: int) -> "RowCounts":
        """The counts of the rows of each value."""
        fewest = rows.min(initial=np.iinfo(np.int64).max, where=rows > 0)
        return cls(int(fewest), int(rows.max(initial=0)), int(rows.sum()), empty)

    def __add__(self, other: "RowCounts") -> "RowCounts":
        return RowCounts(
            min(self.fewest, other.fewest),
            max(self.largest, other.largest),
            self.total + other.total,
            self.empty + other.empty,
        )


@dataclass(frozen=True, eq=False)
class UnitBlocks:
    """Units of some blocks as Arrow tables of id, cluster, values v0, v1, … and texts t0, t1, ….

    If units have several draws, also their numbers c0, c1, … and variances d0, d1, ….
    """

    tables: tuple["pa.Table", ...]
    rows: RowCounts

    def __add__(self, other: "UnitBlocks") -> "UnitBlocks":
        return UnitBlocks(self.tables + other.tables, self.rows + other.rows)

    def concatenated(self, order: Sequence[str], limit: int) -> "pa.Table":
        """All units, in the order of these columns if there are at most `limit`, otherwise in any
        order.

        Units of a cluster without names of their own are numbered.
        """
        import pyarrow as pa

        table = pa.concat_tables(self.tables, promote_options="default")
        if CLUSTER in table.column_names and ID not in table.column_names:
            table = table.append_column(ID, numbered(len(table)))
        keys = [(name, "ascending") for name in order if name in table.column_names]
        return table.sort_by(keys) if keys and len(table) <= limit else table


@dataclass(frozen=True)
class UnitPivot:
    """How the rows of a block, which has all rows of each of its units, become values; picklable.

    values: the number of values in a row, v0, v1, …; texts: of further texts, t0, t1, …. names: for
    each column that names a row's value, all its texts. chosen: the numbers of the values that are
    kept, where these are counted through the texts of all columns. grouped: True if a unit may have
    several rows.
    """

    values: int
    texts: int = 0
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    chosen: Sequence[int] = (0,)
    grouped: bool = True

    @property
    def width(self) -> int:
        """The number of values per unit."""
        return self.values * len(self.chosen)

    def __call__(self, block: "pa.Table", before: int = 0) -> UnitBlocks:
        """One row per unit."""
        import pyarrow as pa

        keys = {name: block[name] for name in (CLUSTER, ID) if name in block.column_names}
        texts = {f"t{i}": block[f"t{i}"].fill_null(aligned.NONE) for i in range(self.texts)}
        if not self.grouped:
            values = {f"v{i}": column + 0.0 for i, column in enumerate(self._numbers(block))}
            return UnitBlocks((pa.table(keys | values | texts),), RowCounts(1, 1, len(block)))
        return self._grouped(block, keys, texts)

    def _grouped(self, block: "pa.Table", keys: Texts, texts: Texts) -> UnitBlocks:
        """The mean v0, v1, … of the draws of each unit, with number and variance if several are."""
        import pyarrow as pa

        units = unit_rows(list(keys.values()))
        cell = self._cell(block, units)
        rows = np.bincount(cell, minlength=len(units.first) * self._combinations)
        empty = sum(int(np.isnan(column).sum()) for column in self._numbers(block))
        counts = RowCounts.of(rows, empty)
        columns = {name: column.take(units.first) for name, column in keys.items()}
        for number, draws in enumerate(self._draws(block, cell, len(units.first))):
            columns[f"v{number}"] = draws.mean
            if counts.largest > 1:
                columns |= {f"c{number}": draws.count, f"d{number}": draws.variance}
        return UnitBlocks((pa.table(columns | units.same(texts)),), counts)

    @property
    def _combinations(self) -> int:
        """The number of texts that name a value, through all columns."""
        return int(np.prod([len(texts) for texts in self.names.values()]))

    def _numbers(self, block: "pa.Table") -> list[Floats]:
        return [block[f"v{i}"].to_numpy() for i in range(self.values)]

    def _cell(self, block: "pa.Table", units: "UnitRows") -> Ints:
        """The number of each row's value and unit: of the first value's units, of the second's …"""
        number = np.zeros(len(block), np.int64)
        for name, texts in self.names.items():
            number = number * len(texts) + tables.indices_among(block[name], texts)
        return number * len(units.first) + units.unit

    def _draws(self, block: "pa.Table", cell: Ints, units: int) -> Iterator[Draws]:
        """The draws of each value that is kept, for all units."""
        columns = [
            drawn_of(cell, column, units * self._combinations) for column in self._numbers(block)
        ]
        for number in self.chosen:
            cells = slice(number * units, (number + 1) * units)
            for draws in columns:
                yield Draws(draws.count[cells], draws.mean[cells], draws.variance[cells])


class UnitRows(NamedTuple):
    """The number of each row's unit, and the first row of each unit."""

    unit: Ints
    first: Ints

    def same(self, columns: Texts) -> dict[str, np.ndarray]:
        """The columns of texts that are the same on all rows of a unit, one text per unit."""
        texts = {name: column.to_numpy() for name, column in columns.items()}
        first = {name: text[self.first] for name, text in texts.items()}
        return {
            name: text for name, text in first.items() if (text[self.unit] == texts[name]).all()
        }


def unit_rows(keys: Sequence["pa.ChunkedArray"]) -> UnitRows:
    """The units, whose rows are equal in all these columns.

    >>> import pyarrow as pa
    >>> unit_rows([pa.chunked_array([["u", "u", "v"]]), pa.chunked_array([["1", "1", "1"]])])
    UnitRows(unit=array([0, 0, 1]), first=array([0, 2]))
    """
    import pyarrow as pa

    code = np.zeros(len(keys[0]), np.int64)
    for column in keys:
        number, texts = tables.encode(column)
        code = code * len(texts) + number
    units = pa.array(code).dictionary_encode()
    unit = units.indices.to_numpy().astype(np.int64)
    first = np.empty(len(units.dictionary), np.int64)
    first[unit[::-1]] = np.arange(len(code))[::-1]
    return UnitRows(unit, first)


def drawn_of(cell: Ints, values: Floats, cells: int) -> Draws:
    """The draws of each cell: its values that are not NaN. The order of the rows does not matter.

    >>> drawn_of(np.array([0, 2, 0]), np.array([1.0, 5.0, 2.0]), 3)
    Draws(count=array([2., 0., 1.]), mean=array([1.5, nan, 5. ]), variance=array([0.5, nan, nan]))
    """
    present = np.flatnonzero(~np.isnan(values))
    order = present[np.lexsort([values[present], cell[present]])]
    cell, values = cell[order], values[order]
    count = np.bincount(cell, minlength=cells).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count > 0, np.bincount(cell, values, cells) / count, np.nan)
        squares = np.bincount(cell, (values - mean[cell]) ** 2, cells)
        return Draws(count, mean, np.where(count > 1, squares / (count - 1), np.nan))


# Tables -------------------------------------------------------------------------------------------


def read_table(
    roles: UnitRoles,
    systems: Sequence[str],
    metrics: Sequence[str],
    reading: Reading,
    rule: rules.Rules = rules.VALUES,
) -> UnitValues:
    """The values of a wide table, one row per unit, or of a long one, one row per unit, system and
    perhaps metric.

    Rows with the same unit, system and metric are draws, whose mean is the value. Raises InputError
    if a cell of values is text or infinite, or if rows may belong to different units;
    ParameterError if a requested system or metric does not exist.
    """
    table = roles.table
    table.check(roles.cell, roles.values, rule)
    if not roles.stated:
        unit_roles.refuse_other_units(roles)
    keys = _keys(roles, metrics, systems)
    blocks = _blocks(roles, keys, reading.max_values)
    if not roles.stated and not roles.system:
        unit_roles.refuse_files(roles, blocks.rows.largest)
    units = blocks.concatenated((CLUSTER, ID), reading.max_listed)
    values = UnitValues.of_table(units, keys, roles.varying)
    for (metric, system), sums in values.values.items():
        outcomes.refuse_missing(sums.numerator, None, f"{metric} of {system}", table.name)
    if roles.ids:
        unit_roles.refuse_summaries(roles, tables.one_array(units[ID]), values.numbers)
    values = replace(
        values,
        columns=roles.printed,
        sources=table.sources(),
        texts=_group_texts(roles, units),
        findings=(*_findings(roles, blocks.rows), *_labels_beside_shares(values)),
    )
    return _by_task(values, roles)


def _labels_beside_shares(values: UnitValues) -> Iterator[kinds.Finding]:
    """A system whose values are 0 and 1, while those of all others are shares, as labels beside
    their predicted probabilities are.
    """
    for metric in values.metrics:
        systems = {
            name: sums.numerator for (of, name), sums in values.values.items() if of == metric
        }
        labels = [name for name, column in systems.items() if _is_flag(column)]
        shares = [name for name, column in systems.items() if _is_share(column)]
        if len(labels) == 1 and len(shares) == len(systems) - 1 > 0:
            others = roles_of.listed(shares)
            yield kinds.LABELS_BESIDE_SHARES.warning(1, label=labels[0], shares=others)


FEW_VALUES = 20  # such as partial credit in steps of 0.05


def _is_flag(column: Floats) -> bool:
    return {*np.unique(column[~np.isnan(column)]).tolist()} == {0.0, 1.0}


def _is_share(column: Floats) -> bool:
    known = column[~np.isnan(column)]
    inside = bool(len(known)) and known.min() >= 0 and known.max() <= 1
    return inside and len(np.unique(known)) > FEW_VALUES


def _keys(roles: UnitRoles, metrics: Sequence[str], systems: Sequence[str]) -> list[Key]:
    """The metrics and systems to compare; a wide table holds the metric that is asked for.

    Raises ParameterError for one that does not exist, and InputError for a system without a name.
    """
    if roles.system and not systems:
        where = f"{roles.table.name}: {roles.system.name}"
        roles_of.refuse_names(roles.systems, where, "systems")
    names = roles.metrics if roles.system else metrics or [VALUE]
    chosen = wanted(names, metrics, "metrics")
    return [*product(chosen, wanted(roles.systems, systems, "systems"))]


def _blocks(roles: UnitRoles, keys: Sequence[Key], limit: int) -> UnitBlocks:
    """The units of a table; raises InputError if there are more values than are kept."""
    table, groups = roles.table, roles.groups_read
    pivot = _pivot(roles, keys)
    if table.rows * pivot.width > limit:
        units = table.distinct(roles.keys) if pivot.grouped else table.rows
        refuse_too_many(table.name, units, pivot.width, limit)
    texts = roles.texts | {f"t{i}": [column] for i, column in enumerate(groups)}
    numbers = {f"v{i}": column for i, column in enumerate(roles.values)}
    query = table.query(texts, numbers, ID if pivot.grouped else None)
    blocks: UnitBlocks = table.engine.total(query, pivot)
    return blocks


def _pivot(roles: UnitRoles, keys: Sequence[Key]) -> UnitPivot:
    """How rows become the values of these metrics and systems."""
    texts = len(roles.groups_read)
    if roles.system is None:
        return UnitPivot(len(keys), texts, grouped=roles.cells < roles.table.rows)
    number = {key: i for i, key in enumerate(product(roles.metrics, roles.systems))}
    names = {SYSTEM: roles.systems}
    if roles.metric:
        names = {METRIC: roles.metrics, SYSTEM: roles.systems}
    return UnitPivot(1, texts, names, [number[key] for key in keys])


def _group_texts(roles: UnitRoles, units: "pa.Table") -> dict[str, np.ndarray]:
    """The text of each unit in the columns that have one text per unit."""
    columns = {f"t{i}": column.name for i, column in enumerate(roles.groups_read)}
    present = [name for name in columns if name in units.column_names]
    return {columns[name]: units[name].to_numpy() for name in present}


def refuse_too_many(where: str, units: int, width: int, limit: int) -> None:
    """Raise InputError for more values than are kept. width: values of a unit."""
    if units * width > limit:
        raise refused(where, "too_many", units=units, each=width, most=limit)


def _by_task(values: UnitValues, roles: UnitRoles) -> UnitValues:
    """The values with the tasks of the units: of a column of them, or the clusters."""
    if roles.cluster and "task" in roles.cluster.uses and values.cluster is not None:
        return replace(values, tasks=values.cluster_names, by_task=True)
    for column in roles.task:
        tasks = values.texts.get(column.name)
        if tasks is not None and len({*tasks}) > 1:
            return replace(values, tasks=tasks)
    return values


def _findings(roles: UnitRoles, rows: RowCounts) -> Iterator[kinds.Finding]:
    """What was decided or left out."""
    if rows.largest > 1:
        yield _draws_finding(roles, rows)
    if roles.guess:
        yield kinds.GUESSED_VALUES.warning(column=roles.guess)
    numbers, empty = roles.rest.of_kind("numbers"), roles.rest.of_kind("empty")
    if roles.system:
        numbers, empty = [column for column in numbers if not column.repeats], []
    unread = [column for column in roles.groups if column not in roles.groups_read]
    yield from unused("Numeric columns that were not compared", numbers)
    yield from unused("Columns without any value", empty)
    yield from unused("Columns that may name clusters, not looked at in so long a table", unread)


def _draws_finding(roles: UnitRoles, rows: RowCounts) -> kinds.Finding:
    """How many rows are draws of how many units; a warning if no column counts them."""
    even = rows.fewest == rows.largest and not rows.empty
    number = f"{rows.largest:,}" if even else f"up to {rows.largest:,}"
    omitted = f" Empty values among them: {rows.empty:,}; they are left out." if rows.empty else ""
    wide = roles.system is None and len(roles.values) > 1
    noun = roles.name if wide else f"{roles.name} and system"
    level = kinds.DRAWS.note if roles.rest.repeats else kinds.DRAWS.warning
    return level(rows.total, total=rows.total, number=number, each=noun, left=omitted)


# What readers of values share ---------------------------------------------------------------------


def wanted(names: Sequence[str], requested: Sequence[str], parameter: str) -> tuple[str, ...]:
    """The requested names, or all. Raises ParameterError for one that does not exist."""
    chosen = [roles_of.require(names, name, "the input", parameter) for name in requested]
    return tuple(dict.fromkeys(chosen or names))


def unused(what: str, columns: Sequence[UnitColumn | str]) -> Iterator[kinds.Finding]:
    """A finding on columns or measures that are not used, if there are any."""
    if columns:
        listed = roles_of.listed(map(str, columns), NAMED)
        yield kinds.UNUSED_COLUMNS.warning(len(columns), "read", what=what, names=listed)

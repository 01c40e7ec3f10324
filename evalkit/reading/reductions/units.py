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

from evalkit.arrays import Floats, Ints, ParameterError, Record
from evalkit.catalogue.metric import MetricAtK
from evalkit.findings import kinds
from evalkit.limits import ReadingLimits
from evalkit.metrics.draws import Draws
from evalkit.metrics.rows import Sums
from evalkit.reading.inputs import lists, outcomes, unit_roles
from evalkit.reading.inputs.unit_columns import UnitColumn
from evalkit.reading.inputs.unit_roles import CLUSTER, ID, METRIC, SYSTEM, UnitRoles
from evalkit.reading.tables import columns as column_roles, logs, rules, table as tables
from evalkit.reading.tables.columns import refused
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.table import EMPTY_ATTRIBUTE

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

NAMED = 8  # columns or measures that a note names
VALUE = "value"  # what the metric of a wide table is called if the user names none
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
    for what varies in the input, "row" if it names none. cluster: the clusters of units; None if
    each has one unit, which then has the cluster's name. texts: column that may name clusters ->
    one text per unit. findings: what was decided or left out. alone: the number of rows whose id
    another system lacks. list_accounts: system -> how its ranked rows were used.
    reported_estimates: (metric, system) -> value, low, high, level, n of an earlier report, of
    which only differences per unit are at hand. directions: metric -> which of its values are
    better, "high", "low" or "neither", if the input states it. draws: (metric, system) -> the draws
    that each value is the mean of. source: the metric of `draws` that others are computed from; ""
    if none is. tasks: the name of each unit's task; None unless there are several. by_task: True if
    tasks are the clusters. stated: (system, task, metric) -> the numbers of a log. repeated: the
    (metric, system) whose values are means of repeated draws of 0 or 1. logged: True if values are
    from evaluation logs, whose systems may share no question. labels: system -> an oracle's labels
    of the units that a judge gave the values, NaN where none.
    """

    id: "pa.Array"
    name: str
    values: Mapping[Key, Sums]
    columns: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[Source, ...] = ()
    cluster: Clusters | None = None
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)
    reported_estimates: Mapping[Key, Record] = field(default_factory=dict)
    directions: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[kinds.Finding, ...] = ()
    alone: int = 0
    list_accounts: Mapping[str, lists.ListAccount] = field(default_factory=dict)
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
        """The values v0, v1, … of an Arrow table as `UnitPivot` makes it.

        keys: the metric and system of each value. name: the noun for what varies.
        """
        draws = {key: _draws_of_column(table, number) for number, key in enumerate(keys)}
        id = tables.one_array(table[ID]) if ID in table.column_names else None
        units = cls(
            id,
            name,
            {key: Sums(of_key.mean) for key, of_key in draws.items()},
            draws=draws,
            repeated={key for key, of_key in draws.items() if of_key.repeated},
        )
        if CLUSTER not in table.column_names:
            return units
        return units.in_clusters(tables.one_array(table[CLUSTER]))

    def in_clusters(self, names: "pa.Array") -> "UnitValues":
        """The units in clusters; if each cluster has one unit, the unit gets the cluster's name.

        names: the name of each unit's cluster.
        """
        encoded = tables.encode_sorted(names)
        clusters = Clusters(encoded.code, encoded.texts)
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
        """The values of each metric and system, one per unit."""
        return [sums.numerator for sums in self.values.values()]

    def measured(self, metrics: Sequence[MetricAtK]) -> "UnitValues":
        """The values of metrics, some of which are computed from the draws.

        Raises ParameterError if the input has several metrics, or no unit has enough draws.
        """
        computed = [chosen for chosen in metrics if chosen.metric.structure == "draws"]
        self._refuse_few_draws(computed)
        source = self.metrics[0]
        values = {}
        repeated = set()
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
        """Raise ParameterError for metrics of draws if it is not clear of which metric, or if no
        unit has enough draws. computed: these metrics.
        """
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
        """The degrees of freedom of the variance of a system's draws; of several metrics the
        largest number.
        """
        counts = [draws.count for (_, name), draws in self.draws.items() if name == system]
        return float(max(np.maximum(count - 1, 0).sum() for count in counts))

    def __len__(self) -> int:
        """The number of units."""
        return len(self.numbers[0])

    @cached_property
    def ids(self) -> "pa.Array":
        """The name of each unit. Numbers are padded with zeros, so that their text has their
        order.
        """
        return numbered(len(self)) if self.id is None else self.id

    @cached_property
    def cluster_names(self) -> np.ndarray | None:
        """The name of each unit's cluster; None without clusters."""
        if self.cluster is None:
            return None
        return np.asarray(self.cluster.names, object)[self.cluster.number]


def _draws_of_column(table: "pa.Table", number: int) -> Draws:
    """The draws of one value of all units. A block in which no unit has several draws does not
    count them: each value that is not NaN is then one draw.
    """
    mean = table[f"v{number}"].to_numpy()
    present = ~np.isnan(mean)
    if f"c{number}" not in table.column_names:  # in no block
        count: Any = present.astype(np.int8)  # one byte, as such tables may be large
        return Draws(count, mean, np.broadcast_to(np.nan, len(mean)))
    counted = table[f"c{number}"].to_numpy()
    count = np.where(np.isnan(counted), present, counted)
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
    """How many rows units have, or in a long table the values of units.

    fewest, largest: of those that have any. total: of all. empty: the number of empty values.
    """

    fewest: int
    largest: int
    total: int
    empty: int = 0

    @classmethod
    def from_rows(cls, rows: Ints, empty: int) -> "RowCounts":
        """The counts of some rows. rows: the number of rows of each value."""
        fewest = rows.min(initial=np.iinfo(np.int64).max, where=rows > 0)
        return cls(int(fewest), int(rows.max(initial=0)), int(rows.sum()), empty)

    def __add__(self, other: "RowCounts") -> "RowCounts":
        """The counts of two blocks together."""
        return RowCounts(
            min(self.fewest, other.fewest),
            max(self.largest, other.largest),
            self.total + other.total,
            self.empty + other.empty,
        )


@dataclass(frozen=True, eq=False)
class UnitBlocks:
    """The units of some blocks, one Arrow table per block with a row per unit.

    Their columns are id, cluster, values v0, v1, … and texts t0, t1, …. If a unit of a block has
    several draws, there are also the numbers of draws c0, c1, … and their variances d0, d1, ….
    """

    tables: tuple["pa.Table", ...]
    rows: RowCounts

    def __add__(self, other: "UnitBlocks") -> "UnitBlocks":
        """The units of both."""
        return UnitBlocks(self.tables + other.tables, self.rows + other.rows)

    def concatenated(self, order: Sequence[str], limit: int) -> "pa.Table":
        """All units as one table, in the order of the columns `order` if there are at most `limit`
        units, otherwise in any order.

        Units that have a cluster and no id are numbered.
        """
        import pyarrow as pa

        table = pa.concat_tables(self.tables, promote_options="default")
        if CLUSTER in table.column_names and ID not in table.column_names:
            table = table.append_column(ID, numbered(len(table)))
        keys = [(name, "ascending") for name in order if name in table.column_names]
        if keys and len(table) <= limit:
            return table.sort_by(keys)
        return table


@dataclass(frozen=True)
class UnitPivot:
    """A function of a block, an Arrow table with all rows of its units, that makes one row per
    unit. It can be pickled.

    values: the number of values in a row, v0, v1, …. texts: the number of further texts, t0, t1, ….
    names: column that names what a row's value is, such as its system -> all its texts; empty for a
    wide table. chosen: the combinations of these texts that are read, by their numbers, in which
    the texts of the last column vary fastest. grouped: True if a unit may have several rows.
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
        """The units of a block. before: not used, as units have no numbers."""
        import pyarrow as pa

        keys = {name: block[name] for name in (CLUSTER, ID) if name in block.column_names}
        texts = {f"t{i}": block[f"t{i}"].fill_null(EMPTY_ATTRIBUTE) for i in range(self.texts)}
        if not self.grouped:
            # −0.0 becomes 0.0
            values = {f"v{i}": column + 0.0 for i, column in enumerate(self._numbers(block))}
            return UnitBlocks((pa.table(keys | values | texts),), RowCounts(1, 1, len(block)))
        return self._grouped(block, keys, texts)

    def _grouped(self, block: "pa.Table", keys: Texts, texts: Texts) -> UnitBlocks:
        """The mean v0, v1, … of the draws of each unit; if a unit of the block has several, also
        their number and variance.
        """
        import pyarrow as pa

        units = unit_rows(list(keys.values()))
        cell = self._cell(block, units)
        rows = np.bincount(cell, minlength=len(units.first) * self._combinations)
        empty = sum(int(np.isnan(column).sum()) for column in self._numbers(block))
        counts = RowCounts.from_rows(rows, empty)
        columns = {name: column.take(units.first) for name, column in keys.items()}
        for number, draws in enumerate(self._draws(block, cell, len(units.first))):
            columns[f"v{number}"] = draws.mean
            if counts.largest > 1:
                columns |= {f"c{number}": draws.count, f"d{number}": draws.variance}
        return UnitBlocks((pa.table(columns | units.constant_texts(texts)),), counts)

    @property
    def _combinations(self) -> int:
        """The number of combinations of the texts that name what a value is; 1 without such
        columns.
        """
        return int(np.prod([len(texts) for texts in self.names.values()]))

    def _numbers(self, block: "pa.Table") -> list[Floats]:
        """The values of all rows, v0, v1, …."""
        return [block[f"v{i}"].to_numpy() for i in range(self.values)]

    def _cell(self, block: "pa.Table", units: "UnitRows") -> Ints:
        """The cell of each row: number of its combination · number of units + its unit."""
        number = np.zeros(len(block), np.int64)
        for name, texts in self.names.items():
            number = number * len(texts) + tables.indices_among(block[name], texts)
        return number * len(units.first) + units.unit

    def _draws(self, block: "pa.Table", cell: Ints, units: int) -> Iterator[Draws]:
        """The draws of all units, for each combination that is read and each value of a row. cell:
        of each row. units: their number.
        """
        draws_of_cells = [
            drawn_of(cell, column, units * self._combinations) for column in self._numbers(block)
        ]
        for number in self.chosen:
            cells = slice(number * units, (number + 1) * units)
            for draws in draws_of_cells:
                yield Draws(draws.count[cells], draws.mean[cells], draws.variance[cells])


class UnitRows(NamedTuple):
    """The number of each row's unit, and the first row of each unit."""

    unit: Ints
    first: Ints

    def constant_texts(self, columns: Texts) -> dict[str, np.ndarray]:
        """Column -> one text per unit, of the columns whose text is the same on all rows of each
        unit.
        """
        texts_of_units = {}
        for name, column in columns.items():
            texts = column.to_numpy()
            first_texts = texts[self.first]
            if (first_texts[self.unit] == texts).all():
                texts_of_units[name] = first_texts
        return texts_of_units


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

    cell: of each row, from 0. cells: their number.

    >>> drawn_of(np.array([0, 2, 0]), np.array([1.0, 5.0, 2.0]), 3)
    Draws(count=array([2., 0., 1.]), mean=array([1.5, nan, 5. ]), variance=array([0.5, nan, nan]))
    """
    present = np.flatnonzero(~np.isnan(values))
    # sorted, so that sums do not depend on the order of the rows
    order = present[np.lexsort([values[present], cell[present]])]
    cell = cell[order]
    values = values[order]
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
    reading: ReadingLimits,
    rule: rules.Rules = rules.VALUES,
) -> UnitValues:
    """The values of a wide table, one row per unit, or of a long one, one row per unit, system and
    perhaps metric.

    Rows with the same unit, system and metric are draws, whose mean is the value. systems, metrics:
    the requested ones, empty for all. rule: for the values. Raises InputError if a cell of values
    is text or infinite, or if rows may belong to different units; ParameterError if a requested
    system or metric does not exist.
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
    values = UnitValues.of_table(units, keys, roles.varying_noun)
    for (metric, system), sums in values.values.items():
        outcomes.refuse_missing_markers(sums.numerator, None, f"{metric} of {system}", table.name)
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
        columns = {
            system: sums.numerator
            for (name, system), sums in values.values.items()
            if name == metric
        }
        labels = [system for system, column in columns.items() if _is_flag(column)]
        if len(labels) != 1:
            continue
        shares = [system for system, column in columns.items() if _is_share(column)]
        if len(shares) == len(columns) - 1 > 0:
            others = column_roles.listed(shares)
            yield kinds.LABELS_BESIDE_SHARES.warning(1, label=labels[0], shares=others)


FEW_VALUES = 20  # distinct values up to which shares may be partial credit, in steps of 0.05


def _is_flag(column: Floats) -> bool:
    """True for 0 and 1, of which both occur."""
    is_one = column == 1
    is_zero = column == 0
    is_known = ~np.isnan(column)
    has_both = bool(is_one.any() and is_zero.any())
    return has_both and bool((is_one | is_zero)[is_known].all())


def _is_share(column: Floats) -> bool:
    """True for many different numbers from 0 to 1."""
    known = column[~np.isnan(column)]
    is_inside = bool(len(known)) and known.min() >= 0 and known.max() <= 1
    return is_inside and len(np.unique(known)) > FEW_VALUES


def _keys(roles: UnitRoles, metrics: Sequence[str], systems: Sequence[str]) -> list[Key]:
    """The (metric, system) to compare. A wide table holds the only requested metric.

    Raises ParameterError for one that does not exist, and InputError for a system without a name.
    """
    if roles.system and not systems:
        where = f"{roles.table.name}: {roles.system.name}"
        column_roles.refuse_names(roles.systems, where, "systems")
    names = roles.metrics if roles.system else metrics or [VALUE]
    chosen = wanted(names, metrics, "metrics")
    return list(product(chosen, wanted(roles.systems, systems, "systems")))


def _blocks(roles: UnitRoles, keys: Sequence[Key], limit: int) -> UnitBlocks:
    """The units of a table. limit: the number of values that may be kept. Raises InputError for
    more.
    """
    table = roles.table
    pivot = _pivot(roles, keys)
    if table.rows * pivot.width > limit:  # else there are surely no more values
        units = table.distinct(roles.keys) if pivot.grouped else table.rows
        refuse_too_many(table.name, units, pivot.width, limit)
    texts = roles.texts | {f"t{i}": [column] for i, column in enumerate(roles.groups_read)}
    numbers = {f"v{i}": column for i, column in enumerate(roles.values)}
    grouped_by = ID if pivot.grouped else None
    query = table.query(texts, numbers, grouped_by)
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
    """Column -> the text of each unit, of the columns that have one text per unit."""
    columns = {f"t{i}": column.name for i, column in enumerate(roles.groups_read)}
    present = [name for name in columns if name in units.column_names]
    return {columns[name]: units[name].to_numpy() for name in present}


def refuse_too_many(where: str, units: int, width: int, limit: int) -> None:
    """Raise InputError for more values than are kept. width: values of a unit."""
    if units * width > limit:
        raise refused(where, "too_many", units=units, each=width, most=limit)


def _by_task(values: UnitValues, roles: UnitRoles) -> UnitValues:
    """The values with the tasks of the units, if there are several: the clusters, or those that a
    column names.
    """
    if roles.cluster and "task" in roles.cluster.suggested_uses and values.cluster is not None:
        return replace(values, tasks=values.cluster_names, by_task=True)
    for column in roles.task:
        tasks = values.texts.get(column.name)
        if tasks is not None and len(set(tasks)) > 1:
            return replace(values, tasks=tasks)
    return values


def _findings(roles: UnitRoles, rows: RowCounts) -> Iterator[kinds.Finding]:
    """What was decided or left out."""
    if rows.largest > 1:
        yield _draws_finding(roles, rows)
    if roles.guess:
        yield kinds.GUESSED_VALUES.warning(column=roles.guess)
    numbers = roles.free_columns.columns_of_kind("numbers")
    empty = roles.free_columns.columns_of_kind("empty")
    if roles.system:  # other columns of a long table are no systems
        numbers = [column for column in numbers if not column.repeats]
        empty = []
    unread = [column for column in roles.groups if column not in roles.groups_read]
    yield from unused("Numeric columns that were not compared", numbers)
    yield from unused("Columns without any value", empty)
    yield from unused("Columns that may name clusters, not looked at in so long a table", unread)


def _draws_finding(roles: UnitRoles, rows: RowCounts) -> kinds.Finding:
    """How many rows are draws of how many units; a warning if no column counts them."""
    have_equal_rows = rows.fewest == rows.largest and not rows.empty
    number = f"{rows.largest:,}" if have_equal_rows else f"up to {rows.largest:,}"
    omitted = ""
    if rows.empty:
        omitted = f" Empty values among them: {rows.empty:,}; they are left out."
    is_wide = roles.system is None and len(roles.values) > 1
    noun = roles.name if is_wide else f"{roles.name} and system"
    finding = kinds.DRAWS.note if roles.free_columns.repeats else kinds.DRAWS.warning
    return finding(rows.total, total=rows.total, number=number, each=noun, left=omitted)


# What readers of values share ---------------------------------------------------------------------


def wanted(names: Sequence[str], requested: Sequence[str], parameter: str) -> tuple[str, ...]:
    """The requested names, all if none is requested. parameter: the one that names them. Raises
    ParameterError for one that does not exist.
    """
    chosen = [
        column_roles.require_column(names, name, "the input", parameter) for name in requested
    ]
    return tuple(dict.fromkeys(chosen or names))


def unused(what: str, columns: Sequence[UnitColumn | str]) -> Iterator[kinds.Finding]:
    """A finding on columns or measures that are not used, if there are any. what: how the finding
    calls them.
    """
    if columns:
        listed = column_roles.listed(map(str, columns), NAMED)
        yield kinds.UNUSED_COLUMNS.warning(len(columns), "read", what=what, names=listed)

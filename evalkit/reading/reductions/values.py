"""Tables of values per unit that are reduced shard by shard: what an engine is asked before that, and every refusal.

A wide table whose units differ comes as it lies; every other one sorted by unit, so that a shard has whole units.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from evalkit.arrays import Floats
from evalkit.findings import inputs
from evalkit.findings.finding import Finding
from evalkit.metrics.sums import UnitShard
from evalkit.progress import progress
from evalkit.reading.engines.base import checked
from evalkit.reading.inputs import unit_columns, unit_tables, unit_values
from evalkit.reading.inputs.unit_roles import Columns, Long, Wide
from evalkit.reading.reductions.asked_columns import Asked, AskedColumn
from evalkit.reading.reductions.shards import codes_of, encoded, places_of
from evalkit.reading.tables import rules
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.rules import Field

Asking = Columns[AskedColumn]
ID = "id"


class Shape(Protocol):
    """How the rows of a shard are values of units; fit to be sent to other machines."""

    def __call__(self, table: Any) -> UnitShard:
        """The units of an Arrow table, which has all rows of each."""


@dataclass(frozen=True)
class WideRows:
    """Column v<i> for each system. drawn: whether several rows may be one unit."""

    systems: int
    drawn: bool

    def __call__(self, table: Any) -> UnitShard:
        """The units, in the order of their first rows."""
        numbers = [table[f"v{i}"].to_numpy() + 0.0 for i in range(self.systems)]
        if not self.drawn:
            return UnitShard(np.array(numbers), np.ones(len(table), np.int64))
        code, units = codes_of(table[ID])
        means = [unit_columns.means(code, column, units) for column in numbers]
        return UnitShard(np.array([mean for mean, _ in means]), means[0][1])


@dataclass(frozen=True)
class LongRows:
    """Columns system, value and perhaps metric. every: all names of both. wanted: those that are compared."""

    every: tuple[tuple[str, ...], tuple[str, ...]]
    wanted: tuple[tuple[str, ...], tuple[str, ...]]
    measured: bool

    def __call__(self, table: Any) -> UnitShard:
        """The units, in the order of their first rows."""
        code, units = codes_of(table[ID])
        systems, metrics = self.every
        system = places_of(table["system"], systems)
        metric = places_of(table["metric"], metrics) if self.measured else np.zeros(len(table), np.int64)
        shape = (units, len(systems), len(metrics))
        cell = np.asarray(np.ravel_multi_index((code, system, metric), shape), np.int64)
        means, rows = unit_columns.means(cell, table["value"].to_numpy(), int(np.prod(shape)))
        each = means.reshape(shape)
        kept = [each[:, systems.index(s), metrics.index(m)] for m in self.wanted[1] for s in self.wanted[0]]
        return UnitShard(np.array(kept), rows[rows > 0])


@dataclass(frozen=True, eq=False)
class OfShard:
    """What `function` makes of the units of a shard."""

    shape: Shape
    function: Callable[[UnitShard], Any]

    def __call__(self, table: Any) -> Any:
        """The result, an Arrow table."""
        return self.function(self.shape(table))


@dataclass(frozen=True, eq=False)
class LargeValues:
    """Values per unit in an engine; see `UnitValues`.

    query: the SQL of all rows. by: the column whose equal values are one unit, None where each row is one. ids: whether
    columns name the units. each: what may have draws. rest: findings beside those on draws.
    """

    asked: Asked
    counts: Sequence[int]
    query: str
    by: str | None
    shape: Shape
    name: str
    ids: bool
    each: str
    metrics: tuple[str, ...]
    systems: tuple[str, ...]
    columns: Mapping[str, str]
    rest: tuple[tuple[Finding, ...], tuple[Finding, ...]]
    known: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    spread: tuple[int, int, int] = (1, 1, 0)
    sources: tuple[Source, ...] = ()

    def read(self, spread: tuple[int, int, int]) -> "LargeValues":
        """The table after it was read. spread: of the rows of units; InputError where a file changed meanwhile."""
        parts = zip(self.asked.parts, self.counts, strict=True)
        return replace(self, spread=spread, sources=tuple(part.fingerprint(rows) for part, rows in parts))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was decided or left out on the way."""
        return (*unit_tables.draws_of(self.spread, self.each), *self.rest[0], *self.rest[1])

    def reduce(self, function: Callable[[UnitShard], Any], merge: Callable[[Any], Any]) -> Any:
        """All shards reduced, each to an Arrow table."""
        work, asked = OfShard(self.shape, function), self.asked
        return asked.engine.reduce(self.query, self.by, work, asked.name, merge, total=sum(self.counts), **asked.frames)

    def shards(self) -> Iterator[tuple[Any, UnitShard]]:
        """The ids of units, an Arrow array, and their values, read once more and one shard in memory at once."""
        with self.asked.engine.again() as engine, progress("units", total := sum(self.counts), "rows") as draw:
            done = 0
            for table in engine.stream(self.query, self.by, self.asked.name, **self.asked.frames):
                yield self._ids(table, done, len(str(total))), self.shape(table)
                done += len(table)
                draw(done)
            self.read(self.spread)

    def _ids(self, table: Any, before: int, digits: int) -> Any:
        import pyarrow as pa

        if self.by:
            return encoded(table[ID]).dictionary
        if self.ids:
            return table[ID].combine_chunks()
        return pa.array([f"{row:0{digits}}" for row in range(before + 1, before + len(table) + 1)], pa.string())

    def refuse_summaries(self, n: Sequence[int], total: Sequence[float], units: int) -> None:
        """Raises InputError for a unit called `all` or `mean` whose values are the means of the others.

        n, total: values of each column, and their sum.
        """
        if not self.ids or units < 3:
            return
        literal = self.asked.engine.dialect.literal
        named = ", ".join(map(literal, unit_columns.SUMMARIES))
        rows = self.asked.table(f"SELECT * FROM ({self.query}) AS q WHERE lower(trim({ID})) IN ({named})")
        for label in dict.fromkeys(rows[ID].to_pylist()):
            own = self._of_unit(rows, label)
            there = ~np.isnan(own)
            others, sums = np.array(n) - there, np.array(total) - np.where(there, own, 0.0)
            means = np.where(others > 0, sums / np.maximum(others, 1), np.nan)
            unit_columns.refuse_summary(label, own, means, self.name, self.asked.parts[0].name)

    def _of_unit(self, rows: Any, label: str) -> Floats:
        import pyarrow.compute as pc

        return self.shape(rows.filter(pc.equal(rows[ID], label))).values[:, 0]


# Reading --------------------------------------------------------------------------------------------------------------


def read_wide(
    columns: Asking, chosen: Mapping[str, str], *, unit: str | None, systems: Sequence[str], metric: str
) -> LargeValues | None:
    """A table that `unit_tables.read_wide` would read; raises what it raises. None if whole clusters are the units."""
    roles = Wide.of(columns, chosen, unit, systems)
    if roles.units.cluster:
        return None
    asked, ids = _asked(columns), roles.units.ids
    _check(asked, ids, roles.systems)
    number = asked.engine.dialect.quote
    cells = [f"{number(f'number {column.name}')} AS v{i}" for i, column in enumerate(roles.systems)]
    query = asked.rows([*_id(asked, ids), *cells])
    drawn = bool(ids) and _repeated(asked, query, ID)
    if drawn and "unit" not in chosen:
        refuse_other_units(asked, roles.rest, [_unit(asked, ids)], 1, roles.units.name)
    names = tuple(column.name for column in roles.systems)
    empty = [column.name for column in roles.rest.every if column.kind == "empty"]
    unused = unit_values.unused("Columns without any value", empty)
    return LargeValues(
        asked=asked,
        counts=columns.counts,
        query=query,
        by=ID if drawn else None,
        shape=WideRows(len(names), drawn),
        name=roles.units.varying,
        ids=bool(ids),
        each=roles.units.name if len(names) > 1 else f"{roles.units.name} and system",
        metrics=(metric,),
        systems=names,
        columns=roles.units.printed | {"systems": ", ".join(names)},
        rest=(unit_tables.left_out(roles.rest), unused),
    )


def read_long(
    columns: Asking, chosen: Mapping[str, str], *, unit: str | None, systems: Sequence[str], metrics: Sequence[str]
) -> LargeValues | None:
    """A table that `unit_tables.read_long` would read; raises what it raises. None if whole clusters are the units."""
    roles = Long.of(columns, chosen, unit)
    if roles.units.cluster:
        return None
    asked, ids = _asked(columns), roles.units.ids
    named = [roles.system, *([roles.metric] if roles.metric else [])]
    _check(asked, [*ids, *named], [roles.value])
    quote, roles_of = asked.engine.dialect.quote, ("system", "metric")
    cells = [f"{quote(f'text {column.name}')} AS {role}" for column, role in zip(named, roles_of, strict=False)]
    query = asked.rows([*_id(asked, ids), *cells, f"{quote(f'number {roles.value.name}')} AS value"])
    every = _names(asked, query, "system"), _names(asked, query, "metric") if roles.metric else (unit_values.VALUE,)
    wanted = unit_values.wanted(every[0], systems, "systems"), unit_values.wanted(every[1], metrics, "metrics")
    key = [_unit(asked, ids), *(quote(f"text {column.name}") for column in named)]
    if "unit" not in chosen and _repeated(asked, query, ", ".join([ID, *roles_of[: len(named)]])):
        refuse_other_units(asked, roles.rest, key, len(every[0]) * len(every[1]), roles.units.name)
    guess = (inputs.GUESSED_VALUES.warning(roles.guess),) if roles.guess else ()
    return LargeValues(
        asked=asked,
        counts=columns.counts,
        query=query,
        by=ID,
        shape=LongRows(every, wanted, bool(roles.metric)),
        name=roles.units.varying,
        ids=bool(ids),
        each=f"{roles.units.name} and system",
        metrics=wanted[1],
        systems=wanted[0],
        columns=roles.printed,
        rest=(guess, unit_tables.left_out(roles.rest)),
    )


def _asked(columns: Asking) -> Asked:
    return columns.every[0].asked


def _check(asked: Asked, texts: Sequence[AskedColumn], numbers: Sequence[AskedColumn]) -> None:
    """Raises InputError for the first value that breaks a rule of its column."""
    for column in texts:
        column.refuse_ids()
    for column in numbers:
        column.refuse_text()
    fields = {f"text {column.name}": Field(column.name) for column in texts}
    fields |= {f"number {column.name}": Field(column.name, rules.VALUES) for column in numbers}
    for selection in asked.selections:
        checked(asked.engine, selection, fields)


def _unit(asked: Asked, ids: Sequence[AskedColumn]) -> str:
    """The SQL of what tells units apart."""
    texts = [asked.engine.dialect.quote(f"text {column.name}") for column in ids]
    space = asked.engine.dialect.literal(" ")
    return texts[0] if len(texts) == 1 else f"concat({f', {space}, '.join(texts)})"


def _id(asked: Asked, ids: Sequence[AskedColumn]) -> list[str]:
    return [f"{_unit(asked, ids)} AS {ID}"] if ids else []


def _repeated(asked: Asked, query: str, key: str) -> bool:
    """Whether several rows have one key."""
    return bool(len(asked.table(f"SELECT {key} FROM ({query}) AS k GROUP BY {key} HAVING count(*) > 1 LIMIT 1")))


def _names(asked: Asked, query: str, column: str) -> tuple[str, ...]:
    """The distinct texts of a column, in order."""
    return tuple(sorted(asked.table(f"SELECT DISTINCT {column} AS value FROM ({query}) AS d")["value"].to_pylist()))


def refuse_other_units(asked: Asked, rest: Asking, key: Sequence[str], cells: int, unit: str) -> None:
    """As `unit_columns.refuse_other_units`, of rows of which several have one key: unit, system and metric."""
    if any(column.draws for column in rest.every):
        return
    none, rows = asked.engine.dialect.literal(""), sum(rest.counts)

    def groups(*texts: str) -> int:
        every = ", ".join(f"{text} AS g{i}" for i, text in enumerate(texts))
        distinct = f"SELECT DISTINCT * FROM ({asked.rows([every])}) AS r"
        return int(asked.table(f"SELECT count(*) AS n FROM ({distinct}) AS d")["n"][0].as_py())

    texts = {column.name: f"COALESCE({asked.engine.dialect.quote(f'text {column.name}')}, {none})"
             for column in rest.texts if not column.no_value}  # fmt: skip
    few = {name: text for name, text in texts.items() if 2 * groups(text) * cells <= rows}
    alone = groups(*key) if few else 0
    apart = {name: text for name, text in few.items() if groups(*key, text) > alone}
    if apart and groups(*key, *apart.values()) == rows:
        raise unit_columns.other_units(list(apart), unit, asked.parts[0].name)

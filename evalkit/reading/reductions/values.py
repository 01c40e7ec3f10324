"""Tables of values per unit that are reduced shard by shard: what an engine is asked before that, and every refusal.

A wide table whose units differ comes as it lies; every other one sorted by unit, or by the cluster of units, so that a
shard has whole ones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats
from evalkit.findings import inputs
from evalkit.findings.finding import Finding
from evalkit.metrics.sums import UnitShard
from evalkit.reading.engines.base import Engine, checked
from evalkit.reading.inputs import unit_columns, unit_tables, unit_values
from evalkit.reading.inputs.unit_roles import Columns, Long, Units, Wide
from evalkit.reading.reductions.asked_columns import Asked, AskedColumn
from evalkit.reading.reductions.rereading import reread
from evalkit.reading.reductions.shards import encoded
from evalkit.reading.reductions.unit_shapes import CLUSTER, ID, ClusteredUnits, LongRows, OfShard, Shape, WideRows
from evalkit.reading.reductions.unit_shards import NamedUnits
from evalkit.reading.tables import rules
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.rules import Field
from evalkit.statistics.unit_passes import Known

Asking = Columns[AskedColumn]


@dataclass(frozen=True, eq=False)
class LargeValues:
    """Values per unit in an engine; see `UnitValues`.

    query: the SQL of all rows. by: the column whose equal values stand in one shard, None where each row is a unit.
    ids: what columns that name the units call one, empty where there are none. clustered: whether a cluster has several
    units. each: what may have draws. rest: findings beside those on draws.
    """

    asked: Asked
    counts: Sequence[int]
    query: str
    by: str | None
    shape: Shape
    name: str
    ids: str
    clustered: bool
    each: str
    metrics: tuple[str, ...]
    systems: tuple[str, ...]
    columns: Mapping[str, str]
    rest: tuple[tuple[Finding, ...], tuple[Finding, ...]]
    known: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    spread: tuple[int, int, int] = (1, 1, 0)
    sources: tuple[Source, ...] = ()
    alone: int = 0

    def read(self, known: Known) -> "LargeValues":
        """The table after it was read; raises InputError where a file changed meanwhile."""
        return replace(self, spread=known.rows, sources=self._unchanged())

    def _unchanged(self) -> tuple[Source, ...]:
        """What was read; raises InputError where a file has changed since."""
        parts = zip(self.asked.parts, self.counts, strict=True)
        return tuple(part.fingerprint(rows) for part, rows in parts)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was decided or left out on the way."""
        return (*unit_tables.draws_of(self.spread, self.each), *self.rest[0], *self.rest[1])

    def reduce(self, function: Callable[[UnitShard], Any], merge: Callable[[Any], Any]) -> Any:
        """All shards reduced, each to an Arrow table."""
        work, asked = OfShard(self.shape, function), self.asked
        return asked.engine.reduce(self.query, self.by, work, asked.name, merge, total=sum(self.counts), **asked.frames)

    def shards(self) -> Iterator[NamedUnits]:
        """The units, read once more and one shard in memory at once."""
        by, asked, total = self.by if self.ids else None, self.asked, sum(self.counts)

        def stream(engine: Engine) -> Iterator[Any]:
            return engine.stream(self.query, by, asked.name, **asked.frames)

        def make(table: Any, before: int) -> tuple[NamedUnits, int]:
            return self._named(table, before, len(str(total))), len(table)

        return reread(asked.engine, stream, make, name=asked.name, rows=total, check=self._unchanged)

    def _named(self, table: Any, before: int, digits: int) -> NamedUnits:
        """The units of a table and their names: in clusters in the order of `coded`, else in that of their rows."""
        if self.ids and CLUSTER in table.column_names:
            values, (id, cluster) = self.shape(table), ClusteredUnits.of(table).names()
        else:
            cluster = table[CLUSTER].combine_chunks() if CLUSTER in table.column_names else None
            rows = table if cluster is None else table.drop([CLUSTER])
            values, id = self.shape(rows), self._ids(table, before, digits)
        return (
            NamedUnits(id, cluster, values) if self.clustered or cluster is None else NamedUnits(cluster, None, values)
        )

    def _ids(self, table: Any, before: int, digits: int) -> Any:
        import pyarrow as pa

        if self.by and self.ids:
            return encoded(table[ID]).dictionary
        if self.ids:
            return table[ID].combine_chunks()
        return pa.array([f"{row:0{digits}}" for row in range(before + 1, before + len(table) + 1)], pa.string())

    def refuse(self, known: Known) -> None:
        """Raises InputError for a unit called `all` or `mean` whose values are the means of the others."""
        if not self.ids or known.units < 3:
            return
        columns = range(len(self.metrics) * len(self.systems))
        n, total = [known.n(i) for i in columns], [known.total(i) for i in columns]
        literal = self.asked.engine.dialect.literal
        named = ", ".join(map(literal, unit_columns.SUMMARIES))
        rows = self.asked.table(f"SELECT * FROM ({self.query}) AS q WHERE lower(trim({ID})) IN ({named})")
        for label in dict.fromkeys(rows[ID].to_pylist()):
            for own in self._of_units(rows, label):
                there = ~np.isnan(own)
                others, sums = np.array(n) - there, np.array(total) - np.where(there, own, 0.0)
                means = np.where(others > 0, sums / np.maximum(others, 1), np.nan)
                unit_columns.refuse_summary(label, own, means, self.ids, self.asked.parts[0].name)

    def _of_units(self, rows: Any, label: str) -> Floats:
        """The values of the unit of that name, or of those of that name in several clusters, one below the other."""
        import pyarrow.compute as pc

        return self.shape(rows.filter(pc.equal(rows[ID], label))).values.T


# Reading --------------------------------------------------------------------------------------------------------------


def read_wide(
    columns: Asking, chosen: Mapping[str, str], *, unit: str | None, systems: Sequence[str], metric: str
) -> LargeValues:
    """A table that `unit_tables.read_wide` would read; raises what it raises."""
    roles = Wide.of(columns, chosen, unit, systems)
    asked, ids, groups = _asked(columns), roles.units.ids, _groups(roles.units)
    _check(asked, [*ids, *groups], roles.systems)
    number = asked.engine.dialect.quote
    cells = [f"{number(f'number {column.name}')} AS v{i}" for i, column in enumerate(roles.systems)]
    query, key = asked.rows([*_ids(asked, roles.units), *cells]), _key(roles.units)
    drawn = bool(ids) and _repeated(asked, query, key)
    if drawn and "unit" not in chosen:
        refuse_other_units(asked, roles.rest, _texts(asked, roles.units), 1, roles.units.name)
    names = tuple(column.name for column in roles.systems)
    empty = [column.name for column in roles.rest.every if column.kind == "empty"]
    unused = unit_values.unused("Columns without any value", empty)
    return LargeValues(
        asked=asked,
        counts=columns.counts,
        query=query,
        by=CLUSTER if groups else ID if drawn else None,
        shape=WideRows(len(names), drawn or bool(ids and groups)),
        name=roles.units.varying,
        ids=roles.units.name if ids else "",
        clustered=bool(groups) and _several(asked, query, key),
        each=roles.units.name if len(names) > 1 else f"{roles.units.name} and system",
        metrics=(metric,),
        systems=names,
        columns=roles.units.printed | {"systems": ", ".join(names)},
        rest=(unit_tables.left_out(roles.rest), unused),
    )


def read_long(
    columns: Asking, chosen: Mapping[str, str], *, unit: str | None, systems: Sequence[str], metrics: Sequence[str]
) -> LargeValues:
    """A table that `unit_tables.read_long` would read; raises what it raises."""
    roles = Long.of(columns, chosen, unit)
    asked, ids, groups = _asked(columns), roles.units.ids, _groups(roles.units)
    named = [roles.system, *([roles.metric] if roles.metric else [])]
    _check(asked, [*ids, *groups, *named], [roles.value])
    quote, roles_of = asked.engine.dialect.quote, ("system", "metric")
    cells = [f"{quote(f'text {column.name}')} AS {role}" for column, role in zip(named, roles_of, strict=False)]
    query = asked.rows([*_ids(asked, roles.units), *cells, f"{quote(f'number {roles.value.name}')} AS value"])
    every = _names(asked, query, "system"), _names(asked, query, "metric") if roles.metric else (roles.value.name,)
    wanted = unit_values.wanted(every[0], systems, "systems"), unit_values.wanted(every[1], metrics, "metrics")
    key = _key(roles.units)
    if "unit" not in chosen and _repeated(asked, query, ", ".join([key, *roles_of[: len(named)]])):
        cell = [*_texts(asked, roles.units), *(quote(f"text {column.name}") for column in named)]
        refuse_other_units(asked, roles.rest, cell, len(every[0]) * len(every[1]), roles.units.name)
    guess = (inputs.GUESSED_VALUES.warning(roles.guess),) if roles.guess else ()
    return LargeValues(
        asked=asked,
        counts=columns.counts,
        query=query,
        by=CLUSTER if groups else ID,
        shape=LongRows(every, wanted, bool(roles.metric)),
        name=roles.units.varying,
        ids=roles.units.name,
        clustered=bool(groups) and _several(asked, query, key),
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


def _groups(units: Units[AskedColumn]) -> list[AskedColumn]:
    """The column of clusters, where there is one."""
    return [units.cluster] if units.cluster else []


def _texts(asked: Asked, units: Units[AskedColumn]) -> list[str]:
    """The SQL of what tells units apart: the id, and the cluster."""
    sides = (units.ids, _groups(units))
    quoted = [[asked.engine.dialect.quote(f"text {column.name}") for column in side] for side in sides if side]
    space = asked.engine.dialect.literal(" ")
    return [texts[0] if len(texts) == 1 else f"concat({f', {space}, '.join(texts)})" for texts in quoted]


def _names_of(units: Units[AskedColumn]) -> list[str]:
    """What these are called in the query."""
    return [name for name, side in ((ID, units.ids), (CLUSTER, _groups(units))) if side]


def _key(units: Units[AskedColumn]) -> str:
    return ", ".join(_names_of(units))


def _ids(asked: Asked, units: Units[AskedColumn]) -> list[str]:
    return [f"{text} AS {name}" for text, name in zip(_texts(asked, units), _names_of(units), strict=True)]


def _several(asked: Asked, query: str, key: str) -> bool:
    """Whether a cluster has several units, each row one where nothing but the cluster is named."""
    units = query if key == CLUSTER else f"SELECT DISTINCT {key} FROM ({query}) AS d"
    return _repeated(asked, units, CLUSTER)


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
             for column in rest.every if column.groups}  # fmt: skip
    few = {name: text for name, text in texts.items() if 2 * groups(text) * cells <= rows}
    alone = groups(*key) if few else 0
    apart = {name: text for name, text in few.items() if groups(*key, text) > alone}
    if apart and groups(*key, *apart.values()) == rows:
        raise unit_columns.other_units(list(apart), unit, asked.parts[0].name)

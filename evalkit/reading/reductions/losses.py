"""Tables of labels and probabilities that are reduced shard by shard to a loss for each row, metric and system: what an
engine is asked before that, and every refusal.

A row is a unit; where a column names clusters of rows, all rows of a cluster stand in one shard, in the order of their
ids, in which memory adds them up.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evalkit.catalogue.metric import Chosen, Metric
from evalkit.findings.finding import Finding
from evalkit.metrics.rows import Rows, Shard
from evalkit.metrics.sums import UnitShard
from evalkit.reading.engines.base import Engine, checked_groups
from evalkit.reading.inputs import aligned, pairing
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.inputs.unit_roles import ROW
from evalkit.reading.reductions import shards, tabled
from evalkit.reading.reductions.rereading import Rereading
from evalkit.reading.reductions.shards import Plan
from evalkit.reading.reductions.tabled import Piece, Tabled
from evalkit.reading.reductions.unit_shards import NamedUnits
from evalkit.reading.tables import duck
from evalkit.reading.tables.parts import Part, Source, at
from evalkit.reading.tables.rules import split
from evalkit.statistics.unit_passes import Known


@dataclass(frozen=True)
class RowLosses:
    """The losses of the rows of a shard. metrics: means of one number a row."""

    metrics: tuple[Metric, ...]

    def __call__(self, shard: Shard) -> UnitShard:
        """One value a metric, system and row."""
        label = shard.label.astype(np.int64)
        systems = [Rows(label, score) for score in shard.score]
        values = [Chosen(metric).sums(rows).numerator for metric in self.metrics for rows in systems]
        rows = np.ones(len(label), np.int64)
        return UnitShard(np.array(values), rows, shard.unit, shard.twice, shard.differ)


@dataclass(frozen=True, eq=False)
class ReducedLosses:
    """What `function` makes of the losses of a shard. naming: the column of ids in whose order rows are added up."""

    plan: Plan
    losses: RowLosses
    function: Callable[[UnitShard], Any]
    naming: str | None

    def __call__(self, table: Any) -> Any:
        """The result, an Arrow table."""
        if self.naming:
            table = table.take(np.argsort(shards.ordered(table[self.naming])[0], kind="stable"))
        return self.function(self.losses(shards.shard(table, self.plan)))


@dataclass(frozen=True, eq=False)
class LargeLosses:
    """Losses of rows in an engine; see `unit_shards.InShards`.

    unit: the column that names what varies, None where it is the row. clustered: whether it has several rows.
    """

    table: Tabled
    losses: RowLosses
    unit: str | None
    clustered: bool
    alone: int = 0
    sources: tuple[Source, ...] = ()
    findings: tuple[Finding, ...] = ()
    known: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the input calls the unit."""
        return self.unit or ROW

    @property
    def metrics(self) -> tuple[str, ...]:
        """The labels of the metrics."""
        return tuple(metric.name for metric in self.losses.metrics)

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems in order."""
        return self.table.systems

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns as the page prints them."""
        return dict(self.table.columns) | ({"unit": self.unit} if self.unit else {})

    def reduce(self, function: Callable[[UnitShard], Any], merge: Callable[[Any], Any]) -> Any:
        """All shards reduced, each to an Arrow table; whole clusters where there are such, else whole ids."""
        t = self.table
        plan = t.plan if self.clustered else replace(t.plan, unit=False)
        naming = t.naming if self.clustered else None
        columns = dict.fromkeys([*plan.columns, *([naming] if naming else [])])
        query = f"SELECT {', '.join(columns)} FROM ({t.query}) AS w"
        by = "unit" if self.clustered else t.together(by_unit=False)
        then = plan.measured if self.clustered and not naming else []
        work = ReducedLosses(plan, self.losses, function, naming)
        return t.engine.reduce(query, by, work, t.name, merge, total=t.rows, then=then, **t.frames)

    def shards(self) -> Iterator[NamedUnits]:
        """The rows, read once more and one shard in memory at once."""
        for named in Rereading(self.table, self._paired(self.alone)).shards():
            values = self.losses(named.shard)
            if self.clustered:
                yield NamedUnits(named.id, named.unit, values)
            else:
                yield NamedUnits(named.id if self.unit is None else named.unit, None, values)

    def _paired(self, alone: int) -> int:
        """The rows that every system has."""
        return (self.table.rows - alone) // len(self.systems)

    def refuse(self, known: Known) -> None:
        """Raises InputError for ids that do not pair, and where two readings differ."""
        if any(known.facts):
            raise tabled.refuse(self.table)
        if not known.units:
            raise pairing.nothing_shared(self.systems)
        if not self.table.plan.paired and known.units != self.table.rows:
            raise tabled.changed(self.table.name)

    def read(self, known: Known) -> "LargeLosses":
        """The same with its sources, and the rows that were left out."""
        alone = self.table.rows - known.units * len(self.systems)
        return replace(self, alone=alone, sources=self.table.sources())


# Reading --------------------------------------------------------------------------------------------------------------


def read(
    engine: Engine, parts: Sequence[Part], layouts: Sequence[Layout], metrics: Sequence[Metric], unit: str | None
) -> LargeLosses:
    """The table checked as `aligned.read` checks it; raises what it raises."""
    pieces = tabled.pieces_of(engine, parts, layouts)
    rows = [_checked(engine, piece) for piece in pieces]
    layout, every = pieces[0].layout, sorted({row["system"] for part in rows for row in part})
    systems = tuple(every[i] for i in aligned.kept_systems(every, (), layout, pieces[0].part))
    cells = [f"{engine.dialect.quote('number label')} AS label", *tabled.scores(engine, layout)]
    counts = [sum(row["n"] for row in part) for part in rows]
    table = Tabled(
        engine=engine,
        pieces=pieces,
        query=tabled.union(engine, pieces, systems, cells, (), unit),
        plan=Plan(systems, len(systems) > 1, (), None, unit=unit is not None, truth="label"),
        counts=counts,
        rows=sum(counts),
        slices={},
    )
    if layout.id and not table.plan.paired:
        tabled.refuse_id_twice(table)
    if unit:
        _refuse_units(table, unit)
    return LargeLosses(table, RowLosses(tuple(metrics)), unit, bool(unit) and _several(table))


def _checked(engine: Engine, piece: Piece) -> list[dict[str, Any]]:
    """Rows by system; raises InputError for the first value that breaks a rule, or text that no page can repeat."""
    system, fields = tabled.system_of(engine, piece), piece.layout.fields
    texts = {role: f"{engine.dialect.bytes(role)} > {duck.LONGEST}" for role in split(fields)[0] if role != "id"}
    cells = [f"count(*) FILTER (WHERE {long}) AS long{i}" for i, long in enumerate(texts.values())]
    by = system if piece.layout.system else None
    rows = checked_groups(engine, piece.chosen, fields, [f"{system} AS system", *cells], by)
    for i, (role, long) in enumerate(texts.items()):
        if any(row[f"long{i}"] for row in rows):
            number, text = engine.first(piece.chosen, long, role)
            raise duck.too_long(f"{piece.part.name}: {fields[role].column}", text, at(number))
    return [row for row in rows if row["n"]]


# Units of rows --------------------------------------------------------------------------------------------------------


def _refuse_units(t: Tabled, unit: str) -> None:
    """Raises InputError for an id whose rows are of two units, which no shard has together, or that has no unit."""
    if t.plan.paired:
        _refuse_apart(t)
    none = t.engine.dialect.literal(aligned.NONE)
    if not t.pieces[0].layout.id:
        rows, where = t.ask("count(*) AS n", f"WHERE unit = {none}").to_pylist()[0]["n"], "true"
    else:
        of = _ask(t, "min(id) AS id, count(*) AS n", f"n = {len(t.systems)} AND low = {none}")
        rows, where = of["n"], f"id = {t.engine.dialect.literal(of['id'] or '')}"
    if rows:
        condition = f"{tabled.cell(t.engine, f'text attribute {unit}')} = {none} AND {where}"
        raise aligned.no_unit(tabled.where(t, condition, "1", 1, t.systems[0])[0][1], unit, rows)


def _refuse_apart(t: Tabled) -> None:
    """Raises InputError for ids that do not pair, or whose rows are of two units."""
    every, apart = f"n = {len(t.systems)}", "low <> high"
    counted = {"paired": every, "differ": f"{every} AND {apart}", "odd": f"n > {len(t.systems)} OR {apart}"}
    rows = _ask(t, ", ".join(f"count(*) FILTER (WHERE {of}) AS {name}" for name, of in counted.items()), "true")
    if rows["odd"] and (error := tabled.twice(t)):
        raise error
    if not rows["paired"]:
        raise pairing.nothing_shared(t.systems)
    if rows["differ"]:
        raise tabled.refuse(t)


def _ask(t: Tabled, cells: str, where: str) -> dict[str, Any]:
    """These cells of the ids of which a condition holds: their rows, n, and the ends of their units, low and high."""
    by_id = f"SELECT id, count(*) AS n, min(unit) AS low, max(unit) AS high FROM ({t.query}) AS r GROUP BY id"
    query = f"SELECT {cells} FROM ({by_id}) AS i WHERE {where}"
    return dict(t.engine.table(query, t.name, **t.frames).to_pylist()[0])


def _several(t: Tabled) -> bool:
    """Whether a unit has several rows that all systems have."""
    every = f"GROUP BY id HAVING count(*) = {len(t.systems)}" if t.plan.paired else ""
    rows = f"SELECT {'min(unit) AS unit' if every else 'unit'} FROM ({t.query}) AS r {every}"
    query = f"SELECT unit FROM ({rows}) AS u GROUP BY unit HAVING count(*) > 1 LIMIT 1"
    return bool(len(t.engine.table(query, t.name, **t.frames)))

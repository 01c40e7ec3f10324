"""Labels and probabilities as values per unit: a loss for each row, metric and system, of tables of any size.

A table at hand is aligned as other predictions are; an engine brings the rows of one id together, block by block.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.catalogue.metric import Chosen, Metric
from evalkit.limits import Reading
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums
from evalkit.reading.engines.base import Engine, checked_groups
from evalkit.reading.inputs import aligned, pairing, units
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.inputs.unit_cells import Asked, Cells
from evalkit.reading.inputs.unit_roles import CLUSTER, ID, ROW
from evalkit.reading.inputs.units import Made, Shaped, UnitValues
from evalkit.reading.reductions import shards, tabled
from evalkit.reading.reductions.shards import Plan
from evalkit.reading.reductions.tabled import Piece, Tabled
from evalkit.reading.tables import duck
from evalkit.reading.tables.parts import at
from evalkit.reading.tables.rules import Refused, split


def read(
    cells: Cells, layouts: Sequence[Layout], metrics: Sequence[Metric], unit: str | None, reading: Reading
) -> tuple[UnitValues, int]:
    """The losses of rows of systems that are joined on the id, and how many rows another system lacks."""
    if isinstance(cells, Asked):
        return _asked(cells, layouts, metrics, unit, reading)
    rows = aligned.read(cells.parts, layouts)
    label = rows.numbers["label"].astype(np.int64)
    each = {name: Rows(label, said["score"]) for name, said in rows.own.items()}
    values = {(m.name, name): Chosen(m).sums(of) for m in metrics for name, of in each.items()}
    of = aligned.attributes_of(rows, [unit], unit)[unit] if unit else None
    return _values(rows.id, of, values, unit, dict(rows.columns), rows.sources), rows.alone


def _values(id: Any, of: Any, values: dict[Any, Sums], unit: str | None, columns: Any, sources: Any) -> UnitValues:
    """of: the unit of each row, None where rows are the units."""
    id, cluster = (id, None) if of is None else units.clustered(id, of)
    return UnitValues(
        id=id,
        cluster=cluster,
        name=unit or ROW,
        metrics=tuple(dict.fromkeys(metric for metric, _ in values)),
        systems=tuple(dict.fromkeys(system for _, system in values)),
        values=values,
        columns=columns | ({"unit": unit} if unit else {}),
        sources=sources,
    )


# In an engine ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowLosses:
    """The losses of the rows of a block that every system has; `naming`: the column of their ids."""

    plan: Plan
    metrics: tuple[Metric, ...]
    naming: str | None

    def __call__(self, block: Any, before: int = 0) -> Shaped:
        """One value a metric, system and row; raises Refused where ids do not pair."""
        import pyarrow as pa

        shard = shards.shard(block, self.plan)
        if shard.twice or shard.differ:
            raise Refused("systems do not agree on an id")
        label = shard.label.astype(np.int64)
        systems = [Rows(label, score) for score in shard.score]
        values = [Chosen(metric).sums(rows).numerator for metric in self.metrics for rows in systems]
        names = {ID: self.naming, CLUSTER: "unit" if self.plan.unit else None}
        side = shards.shared(block, self.plan, [name for name in names.values() if name])
        columns = {name: side[of] for name, of in names.items() if of}
        table = pa.table(columns | {f"v{i}": column for i, column in enumerate(values)})
        return Shaped((table,), (1, 1, len(table)))


def _asked(
    cells: Asked, layouts: Sequence[Layout], metrics: Sequence[Metric], unit: str | None, reading: Reading
) -> tuple[UnitValues, int]:
    table = _table(cells, layouts, unit)
    systems, paired = table.systems, table.plan.paired
    n, width = table.rows // len(systems), len(metrics) * len(systems)
    if n * width > reading.kept:
        raise units.too_many(table.name, n, width, reading.kept)
    naming = "id" if table.pieces[0].layout.id else None
    columns = dict.fromkeys([*table.plan.columns, *([naming] if naming else [])])
    query = f"SELECT {', '.join(columns)} FROM ({table.query}) AS w"
    work = RowLosses(table.plan, tuple(metrics), naming)
    try:
        by = ID if paired else None
        shaped = table.engine.total(query, by, work, table.name, total=table.rows, **table.frames)
    except Refused:
        raise tabled.refuse(table) from None
    made = Made.of(shaped, [ID] if naming else [], width, reading.listed)
    if not len(made):
        raise pairing.nothing_shared(systems)
    if unit:
        _refuse_no_unit(table, made, unit)
    keys = [(metric.name, system) for metric in metrics for system in systems]
    values = {key: Sums(column) for key, column in zip(keys, made.columns, strict=True)}
    id = made.id if naming else np.arange(1, len(made) + 1).astype(str).astype(object)
    data = _values(id, made.cluster, values, unit, dict(table.columns), table.sources())
    return data, table.rows - len(made) * len(systems)


def _table(cells: Asked, layouts: Sequence[Layout], unit: str | None) -> Tabled:
    """The table checked as `aligned.read` checks it; raises what it raises."""
    engine = cells.engine
    pieces = tabled.pieces_of(engine, cells.parts, layouts)
    rows = [_checked(engine, piece) for piece in pieces]
    layout, every = pieces[0].layout, sorted({row["system"] for part in rows for row in part})
    systems = tuple(every[i] for i in aligned.kept_systems(every, (), layout, pieces[0].part))
    columns = [f"{engine.dialect.quote('number label')} AS label", *tabled.scores(engine, layout)]
    counts = [sum(row["n"] for row in part) for part in rows]
    table = Tabled(
        engine=engine,
        pieces=pieces,
        query=tabled.union(engine, pieces, systems, columns, (), unit),
        plan=Plan(systems, len(systems) > 1, (), None, unit=unit is not None, truth="label"),
        counts=counts,
        rows=sum(counts),
        slices={},
    )
    if layout.id and not table.plan.paired:
        tabled.refuse_id_twice(table)
    return table


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


def _refuse_no_unit(t: Tabled, made: Made, unit: str) -> None:
    """Raises InputError where a row that all systems have has no unit."""
    import pyarrow.compute as pc

    lacking = pc.equal(made.cluster, aligned.NONE)
    if rows := pc.sum(lacking).as_py():
        where = "true"
        if t.pieces[0].layout.id:
            where = f"id = {t.engine.dialect.literal(pc.min(made.id.filter(lacking)).as_py())}"
        condition = f"{tabled.cell(t.engine, f'text attribute {unit}')} = {t.engine.dialect.literal(aligned.NONE)}"
        place = tabled.where(t, f"{condition} AND {where}", "1", 1, t.systems[0])[0][1]
        raise aligned.no_unit(place, unit, rows)

"""Labels and probabilities as values per unit: a loss for each row, metric and system, of tables of any size.

A table at hand is aligned as other predictions are; an engine brings the rows of one id together, block by block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.catalogue.metric import Chosen, Metric
from evalkit.limits import Reading
from evalkit.metrics.block import Block
from evalkit.metrics.rows import Rows, Sums
from evalkit.reading.inputs import aligned, units
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.inputs.unit_columns import Cells
from evalkit.reading.inputs.unit_roles import CLUSTER, ID, ROW
from evalkit.reading.inputs.units import Made, Shaped, UnitValues
from evalkit.reading.reductions import blocks
from evalkit.reading.reductions.blocks import Blocks
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import rules
from evalkit.reading.tables.parts import Part
from evalkit.reading.tables.rules import Field, Role

LABEL = Role("label", rules.FLAGS)


def read(
    cells: Cells, named: Mapping[str, str], metrics: Sequence[Metric], unit: str | None, reading: Reading
) -> tuple[UnitValues, int]:
    """The losses of rows of systems that are joined on the id, and how many rows another system lacks."""
    layouts = aligned.layouts(cells.parts, lambda part: _layout(part, named, [unit] if unit else []))
    if not cells.engine.at_hand:
        return _asked(cells, layouts, metrics, unit, reading)
    rows = aligned.read(cells.parts, layouts, unit=unit)
    label = rows.numbers["label"].astype(np.int64)
    each = {name: Rows(label, said["score"]) for name, said in rows.own.items()}
    values = {(m.name, name): Chosen(m).sums(of) for m in metrics for name, of in each.items()}
    of = rows.text[f"attribute {unit}"] if unit else None
    return _values(rows.id, of, values, unit, dict(rows.columns), rows.sources), rows.alone


def _layout(part: Part, named: Mapping[str, str], attributes: Sequence[str]) -> Layout:
    """The columns of a part; the unit may be the id."""
    names = ("system", "id", "label", "score")
    beside = dict.fromkeys(attributes, aligned.ATTRIBUTE)
    columns = roles_of.match(part.columns, names, named, part.name, named=beside).resolved(names[2:])
    return Layout(
        aligned.attributes_by_role(attributes) | aligned.shared_of([LABEL], columns),
        {None: {"score": Field(columns["score"], rules.PROBABILITIES)}},
        id=columns.get("id"),
        system=columns.get("system"),
    )


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
    """The losses of the rows of a block that every system has."""

    metrics: tuple[Metric, ...]
    ids: bool

    def __call__(self, block: Block) -> Shaped:
        """One value a metric, system and row."""
        import pyarrow as pa

        label = block.truth.astype(np.int64)
        systems = [Rows(label, score) for score in block.said]
        values = [Chosen(metric).sums(rows).numerator for metric in self.metrics for rows in systems]
        names = {ID: block.texts if self.ids else None, CLUSTER: block.units}
        columns = {name: texts for name, texts in names.items() if texts is not None}
        return Shaped((pa.table(columns | {f"v{i}": column for i, column in enumerate(values)}),), (1, 1, len(block)))


def _asked(
    cells: Cells, layouts: Sequence[Layout], metrics: Sequence[Metric], unit: str | None, reading: Reading
) -> tuple[UnitValues, int]:
    t = blocks.laid(cells.engine, blocks.pieces_of(cells.engine, cells.parts, layouts), unit=unit)
    systems, ids = t.systems, t.schema.id is not None
    n, width = t.rows // len(systems), len(metrics) * len(systems)
    if n * width > reading.kept:
        raise units.too_many(t.name, n, width, reading.kept)
    made = Made.of(t.total(RowLosses(tuple(metrics), ids)), [ID] if ids else [], width, reading.listed)
    t.check(len(made), None if ids else 0)
    if unit:
        _refuse_no_unit(t, made, unit)
    keys = [(metric.name, system) for metric in metrics for system in systems]
    values = {key: Sums(column) for key, column in zip(keys, made.columns, strict=True)}
    id = made.id if ids else np.arange(1, len(made) + 1).astype(str).astype(object)
    return _values(id, made.cluster, values, unit, dict(t.columns), t.sources()), t.rows - len(made) * len(systems)


def _refuse_no_unit(t: Blocks, made: Made, unit: str) -> None:
    """Raises InputError where a row that all systems have has no unit."""
    import pyarrow.compute as pc

    lacking = pc.equal(made.cluster, aligned.NONE)
    if rows := pc.sum(lacking).as_py():
        where = "true"
        if t.schema.id:
            where = f"id = {t.engine.dialect.literal(pc.min(made.id.filter(lacking)).as_py())}"
        condition = f"{blocks.cell(t.engine, f'text attribute {unit}')} = {t.engine.dialect.literal(aligned.NONE)}"
        place = t.where(f"{condition} AND {where}", "1", 1, t.systems[0])[0][1]
        raise aligned.no_unit(place, unit, rows)

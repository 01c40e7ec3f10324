"""Labels and probabilities as values per unit: a loss for each row, metric and system, of tables of any size.

An engine brings the rows of one id together, block by block; a table at hand is one block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.catalogue.metric import Chosen, Metric
from evalkit.limits import Reading
from evalkit.metrics.block import Block
from evalkit.metrics.rows import Rows
from evalkit.reading.inputs import aligned, units
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.inputs.unit_columns import Cells
from evalkit.reading.inputs.unit_roles import CLUSTER, ID, ROW
from evalkit.reading.inputs.units import Shaped, UnitValues
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
    import pyarrow as pa

    layouts = aligned.layouts(cells.parts, lambda part: _layout(part, named, [unit] if unit else []))
    t = blocks.laid(cells.engine, blocks.pieces_of(cells.engine, cells.parts, layouts), unit=unit)
    systems, ids = t.systems, t.schema.id is not None
    n, width = t.rows // len(systems), len(metrics) * len(systems)
    if n * width > reading.kept:
        raise units.too_many(t.name, n, width, reading.kept)
    table = t.total(RowLosses(tuple(metrics), ids)).whole([ID], reading.listed)
    t.check(len(table), None if ids else 0)
    if unit:
        _refuse_no_unit(t, table, unit)
    if not ids:
        numbers = pa.array(np.arange(1, len(table) + 1)).cast(pa.string())
        table = pa.table(dict(zip(table.column_names, table.columns, strict=True)) | {ID: numbers})
    keys = [(metric.name, system) for metric in metrics for system in systems]
    columns = {**t.columns} | ({"unit": unit} if unit else {})
    values = UnitValues.of_table(table, keys, name=unit or ROW, columns=columns, sources=t.sources())
    return values, t.rows - len(table) * len(systems)


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


def _refuse_no_unit(t: Blocks, table: Any, unit: str) -> None:
    """Raises InputError where a row that all systems have has no unit."""
    import pyarrow.compute as pc

    lacking = pc.equal(table[CLUSTER], aligned.NONE)
    if rows := pc.sum(lacking).as_py():
        where = "true"
        if t.schema.id:
            where = f"id = {t.engine.dialect.literal(pc.min(table[ID].filter(lacking)).as_py())}"
        condition = f"{blocks.cell(t.engine, f'text attribute {unit}')} = {t.engine.dialect.literal(aligned.NONE)}"
        place = t.where(f"{condition} AND {where}", "1", 1, t.systems[0])[0][1]
        raise aligned.no_unit(place, unit, rows)

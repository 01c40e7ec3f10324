"""The units of studies whose rows were added up: the rows are read once more as the file is written, shard by shard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from evalkit.metrics import block as metrics
from evalkit.metrics.rows import Rows
from evalkit.reading.reductions.blocks import Blocks
from evalkit.studies import units
from evalkit.studies.row_study import RowStudy
from evalkit.studies.units import Block, Listed, Units

Said = Callable[[metrics.Block, int], Rows]  # what is, and what a system says of it


def units_of(
    study: RowStudy,
    table: Blocks,
    rows: int,
    thresholds: Mapping[str, float] | None = None,
    said: Said = metrics.Block.rows,
) -> Units:
    """The units of a study whose table was read by blocks, of which one is in memory at once. rows: that were read."""
    return Units(rows, _of_blocks(study, table, rows, thresholds or {}, said), study.settings.segments, study.names)


def _of_blocks(
    study: RowStudy, table: Blocks, rows: int, thresholds: Mapping[str, float], said: Said
) -> Iterator[Block]:
    for block in table.again(rows):
        starts = np.cumsum([1, *map(len, table.slices.values())]).tolist()
        columns = zip(table.slices.items(), block.slices, starts, strict=False)
        listed = Listed(
            block.texts, block.units, {name: (labels, code - start) for (name, labels), code, start in columns}
        )
        every = {name: replace(said(block, i), unit=None) for i, name in enumerate(table.systems)}
        of = {name: rows.at(thresholds[name]) if name in thresholds else rows for name, rows in every.items()}
        wanted = {name: of[name] for name in study.systems}
        yield from units.of_rows(wanted, study.settings.metrics, listed, study.names)

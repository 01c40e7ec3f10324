"""The units of studies whose rows were added up: the rows are read once more as the file is written, shard by shard."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from evalkit.metrics.rows import Rows
from evalkit.reading.reductions.rereading import Named, Rereading
from evalkit.studies import units
from evalkit.studies.row_study import RowStudy
from evalkit.studies.units import Block, Listed, Units


class Streamed(RowStudy):
    """A study that can read its rows again. rereading: their table."""

    rereading: Rereading

    @abstractmethod
    def rows_of(self, named: Named, system: int) -> Rows:
        """The rows of a shard as a system, by its number in the table, speaks of them."""

    def units_held(self) -> Units:
        """The units, of which one shard is in memory at once."""
        return Units(self.rereading.rows, self._blocks(), self.settings.segments, self.names)

    def _blocks(self) -> Iterator[Block]:
        place = {name: i for i, name in enumerate(self.rereading.table.systems)}
        for named in self.rereading.shards():
            rows = {name: self.rows_of(named, place[name]) for name in self.systems}
            listed = Listed(named.id, named.unit, named.slices)
            yield from units.of_rows(rows, self.settings.metrics, listed, self.names)

"""What multi-class and multi-label studies share where rows are not kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic

from evalkit.reading.reductions.rereading import Rereading
from evalkit.reading.tables.table import Slice, of_groups
from evalkit.statistics.each_sample import Counted, SummedEach
from evalkit.studies.account import Account
from evalkit.studies.one_by_one import EachStudy
from evalkit.studies.unit_stream import Streamed


@dataclass(frozen=True, eq=False, repr=False)
class EachSums(Streamed, EachStudy, Generic[Counted]):
    """A study of rows that were added up. groups: the labels of the slices of each column for segments."""

    counted: Account
    summed: SummedEach[Counted]
    groups: Mapping[str, Sequence[str]]
    rereading: Rereading

    @property
    def account(self) -> Account:
        """What was read."""
        return self.counted

    @property
    def sample(self) -> SummedEach[Counted]:
        """All systems on the same rows."""
        return self.summed

    @property
    def read(self) -> Counted:
        """What the first reading tells."""
        return self.summed.counted

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return self.read.first.scale is not None

    @cached_property
    def slices(self) -> list[Slice]:
        """The groups of rows that share a value of a segment column, by their numbers."""
        return [part for part in of_groups(self.groups) if part.member in self.read.numbers]

    def _place(self, name: str) -> int:
        return self.read.order.index(name)

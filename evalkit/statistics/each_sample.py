"""What multi-class and multi-label samples share where rows are not kept."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from evalkit.arrays import Floats
from evalkit.catalogue.metric import Chosen
from evalkit.statistics import gathered
from evalkit.statistics.gathered import Gathered
from evalkit.statistics.of_sums import Moments
from evalkit.statistics.statistic import Layout, Statistic


@dataclass(frozen=True, eq=False)
class EachCounted:
    """What the first reading tells. order: the systems."""

    order: tuple[str, ...]
    first: Any
    g: Gathered
    layout: Layout

    @cached_property
    def numbers(self) -> Sequence[int]:
        """Those of the groups, 0 for all rows."""
        return sorted(int(name) for name in self.g.sums if name.isdecimal())

    @property
    def systems(self) -> range:
        """Their numbers."""
        return range(len(self.order))

    def known(self, chosen: Chosen, group: int, system: int) -> Floats:
        """What the terms of a loss add up to."""
        return self.g.sums[f"{group} {system} {chosen.label}"]


Counted = TypeVar("Counted", bound=EachCounted)


@dataclass(frozen=True, eq=False)
class SummedEach(ABC, Generic[Counted]):
    """All systems on the same rows. second: the second reading, None where the first tells all; g: what it told."""

    counted: Counted
    second: Any
    g: Gathered

    @property
    def layout(self) -> Layout:
        """Whether rows count alike."""
        return self.counted.layout

    def measure(self, chosen: Chosen, system: str, member: Any) -> Statistic:
        """The metric of a system in a group; a slice is all rows."""
        group, i = 0 if isinstance(member, slice) else member, self.counted.order.index(system)
        return (self._loss if chosen.base.metric.kind.totalled else self._of_each)(chosen, group, i)

    @abstractmethod
    def _loss(self, chosen: Chosen, group: int, i: int) -> Statistic:
        """A metric that follows from sums over rows."""

    @abstractmethod
    def _of_each(self, chosen: Chosen, group: int, i: int) -> Statistic:
        """A metric that follows from cells, or from the scores of each class or label."""

    @cached_property
    def _kept(self) -> dict[str, Moments]:
        return {}

    def _moments(self, name: str, names: list[str]) -> Moments:
        """The sums of the second reading, added up over units once."""
        assert self.second is not None
        if name not in self._kept:
            self._kept[name] = gathered.moments(self.g.sums[name], names, apart=self.second.apart)
        return self._kept[name]

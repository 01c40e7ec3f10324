"""The mean of a system's values per unit, of which only sums are known, and its difference from another's."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalkit.arrays import ratio
from evalkit.statistics.cluster_passes import AddedClusters
from evalkit.statistics.independent import Arm
from evalkit.statistics.methods import Paired, growth
from evalkit.statistics.statistic import Layout, Statistic
from evalkit.statistics.unit_passes import Added, Differences


@dataclass(frozen=True, eq=False)
class OfValues(Statistic):
    """A metric, by its number, of a system, by its number."""

    added: Added
    metric: int
    system: int

    layout: ClassVar[Layout] = Layout.SUMMED

    @property
    def column(self) -> int:
        """The column of the values."""
        return self.metric * self.added.second.systems + self.system

    @property
    def value(self) -> float:
        """The mean."""
        return self.added.known.mean(self.column)

    @property
    def n(self) -> int:
        """Units with a value."""
        return self.added.known.n(self.column)

    @property
    def binary(self) -> bool:
        """Whether all are 0 or 1."""
        return self.added.known.binary(self.column)

    def hits(self) -> tuple[int, int]:
        """Ones and units, where each unit is 0 or 1."""
        return round(self.added.known.total(self.column)), self.n

    def meets(self, other: "OfValues") -> bool:
        """Whether any unit has both values."""
        return bool(self.differences(other).n)

    def error(self) -> float:
        """The standard error of the mean."""
        total, squares, _ = self.added.powers(self.column)
        return float(np.sqrt(ratio(max(squares - ratio(total**2, self.n), 0.0), self.n * (self.n - 1.0))))

    def skewness(self) -> float:
        """The skewness of the values, 0 where they do not vary."""
        total, squares, cubes = self.added.powers(self.column) / max(self.n, 1)
        spread = squares - total**2
        return float((cubes - 3 * total * squares + 2 * total**3) / spread**1.5) if spread > 1e-14 * squares else 0.0

    def differences(self, other: "OfValues") -> Differences:
        """This less the other, unit by unit."""
        return self.added.pair(self.metric, self.system, other.system)

    def paired(self, other: "OfValues") -> Paired:
        """The difference over the units that have both."""
        d = self.differences(other)
        error = float(ratio(d.deviation, np.sqrt(d.n)))
        return Paired(d.mean, error, d.n, d.n - 1, d.largest, "paired t", growth(d.plain, d.ties, d.n))


@dataclass(frozen=True, eq=False)
class OfClusters(OfValues):
    """The same of units in clusters, of which whole ones vary."""

    added: AddedClusters

    layout: ClassVar[Layout] = Layout.SUMMED_CLUSTERS

    @property
    def arm(self) -> Arm:
        """The mean with its variance over clusters."""
        return self.added.arm(self.column)

    def paired(self, other: OfValues) -> Paired:
        """The difference over the units that have both, by the jackknife of their clusters."""
        return self.added.paired(self.metric, self.system, other.system)


@dataclass(frozen=True, eq=False)
class OfFolds(OfValues):
    """The same of folds that share training rows."""

    layout: ClassVar[Layout] = Layout.SUMMED_FOLDS

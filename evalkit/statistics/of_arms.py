"""A mean, a share or a ratio of sums over the units of one arm, of which only sums are known."""

from dataclasses import dataclass
from typing import ClassVar

from evalkit.statistics.independent import Arm
from evalkit.statistics.statistic import Amounts, Layout, Statistic


@dataclass(frozen=True, eq=False)
class OfArm(Statistic):
    """arm: the value and its variance. total: the sum of the numerators. skew: of the units' values, and amounts: how
    they are spread; of a ratio those of the numerators. binary: whether all are 0 or 1.
    """

    arm: Arm
    total: float
    skew: float
    amounts: Amounts
    binary: bool

    layout: ClassVar[Layout] = Layout.SUMMED_ARMS

    @property
    def value(self) -> float:
        """The mean, or the ratio of sums."""
        return self.arm.value

    @property
    def n(self) -> int:
        """The units of the arm."""
        return self.arm.n

    def meets(self, other: "OfArm") -> bool:
        """Whether both arms have units."""
        return bool(self.n and other.n)

    def hits(self) -> tuple[int, int]:
        """Ones and units, where each unit is 0 or 1."""
        return int(self.total), self.n

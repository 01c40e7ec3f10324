"""The question of a test: whether two values differ at all, or only whether the first is above, or
below, the second.
"""

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, ParameterError
from evalkit.statistics.spread import Interval

# of one-sided limits, which are two-sided ones at 2 · level − 1: a comparison needs more than 0.5
LEAST_LEVEL = 0.75


class Tails(NamedTuple):
    """The probability, if there is no difference, of at most the observed one, and of at least the
    observed one. Both have the observed one itself, so that they may add up to more than 1.
    """

    lower: float
    upper: float

    @classmethod
    def from_two_sided_p(cls, p: float, value: float, overlap: float = 0.0) -> "Tails":
        """The tails of a null distribution that is symmetric around 0, from the two-sided p; both
        NaN if p is NaN.

        value: the observed difference. overlap: by how much the tails add up to more than 1, the
        probability of exactly this difference; 0 for a continuous distribution.

        >>> Tails.from_two_sided_p(0.25, -1.0, overlap=0.125)  # three of three fair coins
        Tails(lower=0.125, upper=1.0)
        """
        if np.isnan(p):
            return cls(np.nan, np.nan)
        if value == 0:
            half = (1 + overlap) / 2
            return cls(half, half)
        tail_away_from_0 = p / 2  # the upper tail if the observed difference is above 0
        tail_containing_0 = min(1 - tail_away_from_0 + overlap, 1.0)
        if value > 0:
            return cls(lower=tail_containing_0, upper=tail_away_from_0)
        return cls(lower=tail_away_from_0, upper=tail_containing_0)


class Alternative(StrEnum):
    """What counts against the hypothesis of no difference, first − second.

    A one-sided question has the p-value of one tail. Its interval has one limit, with 1 − level
    beyond it: that limit of the two-sided interval at 2 · level − 1.
    """

    TWO_SIDED = "two-sided"
    GREATER = "greater"
    LESS = "less"

    @property
    def one_sided(self) -> bool:
        """True if only one direction counts."""
        return self is not Alternative.TWO_SIDED

    @property
    def signs(self) -> tuple[int, ...]:
        """The signs of the differences that count."""
        return {"two-sided": (1, -1), "greater": (1,), "less": (-1,)}[self]

    @property
    def opposite(self) -> "Alternative":
        """The question of second − first, or of a quantity that falls where first − second rises.

        >>> Alternative.GREATER.opposite.value, Alternative.TWO_SIDED.opposite.value
        ('less', 'two-sided')
        """
        opposites = {Alternative.GREATER: Alternative.LESS, Alternative.LESS: Alternative.GREATER}
        return opposites.get(self, self)

    def counts(self, sign: float) -> bool:
        """True if a difference of this sign counts.

        >>> Alternative.GREATER.counts(-1), Alternative.TWO_SIDED.counts(-1)
        (False, True)
        """
        return sign in self.signs

    def evidence(self, differences: ArrayLike) -> Floats:
        """How far differences lie in a direction that counts: their size if both directions do,
        else the difference with the sign of the one that counts; same shape.

        >>> [Alternative(side).evidence(np.array([-2.0])).tolist() for side in Alternative]
        [[2.0], [-2.0], [2.0]]
        """
        values = np.asarray(differences, float)
        evidence: Floats = self.signs[0] * values if self.one_sided else np.abs(values)
        return evidence

    def two_sided_level(self, level: float) -> float:
        """The level of the two-sided interval that has the limits of this question at `level`.

        Raises ParameterError for a one-sided level of 0.75 or less.

        >>> Alternative.GREATER.two_sided_level(0.95), Alternative.TWO_SIDED.two_sided_level(0.95)
        (0.9, 0.95)
        """
        if not self.one_sided:
            return level
        if not LEAST_LEVEL < level < 1:
            raise ParameterError(
                f"alternative {self.value!r}: the level of tests and intervals must lie between "
                f"{LEAST_LEVEL} and 1, got {level:g}"
            )
        return round(2 * level - 1, 12)

    def p_value(self, two_sided: float, tails: Tails) -> float:
        """The p-value. two_sided: that of the two-sided question.

        >>> tails = Tails.from_two_sided_p(0.04, 1.5)
        >>> [Alternative(side).p_value(0.04, tails) for side in ("two-sided", "greater", "less")]
        [0.04, 0.02, 0.98]
        """
        return {"two-sided": two_sided, "greater": tails.upper, "less": tails.lower}[self]

    def limits(self, low: float, high: float) -> Interval:
        """The limits of the two-sided interval, without that on the side that does not count.

        >>> Alternative.GREATER.limits(0.1, 0.3), Alternative.LESS.limits(0.1, 0.3)
        (Interval(low=0.1, high=inf), Interval(low=-inf, high=0.3))
        """
        if not self.counts(1):  # only a first system below the second counts
            low = -np.inf
        if not self.counts(-1):
            high = np.inf
        return Interval(low, high)

    def half_width(self, value: float, low: float, high: float) -> float:
        """Half of the interval's width; of a one-sided one the distance of its limit."""
        if not self.one_sided:
            return (high - low) / 2
        return value - low if self.counts(1) else high - value

"""The results of inference: a number with its interval, and the difference of two systems with its test."""

import html
from dataclasses import dataclass

from evalkit import numbers


@dataclass(frozen=True)
class Estimate:
    """A value with its two-sided interval at `level` (a share), from n units, by a named method.

    >>> print(Estimate(0.94812, 0.9261, 0.9713, 0.95, 100, "t"))
    0.948 [0.926, 0.971]
    """

    value: float
    low: float
    high: float
    level: float
    n: int
    method: str

    def __str__(self) -> str:
        """The value and its interval, as a page shows them."""
        return numbers.estimate(self.value, self.low, self.high)

    def __repr__(self) -> str:
        """The value and its interval, the level, the method and n."""
        return f"Estimate({self}, {numbers.percent(self.level)} {self.method}, n = {self.n:,})"

    def _repr_html_(self) -> str:
        return html.escape(str(self))


@dataclass(frozen=True)
class Comparison:
    """A difference with its interval at level 1 − α, its p-value alone and within its family, and what was resampled.

    `equivalence` is the interval of the same difference at level 1 − 2α: inside a margin, it is the two one-sided
    tests (TOST) of equivalence at level α.
    """

    difference: Estimate
    p_value: float
    adjusted: float
    method: str
    unit: str
    equivalence: Estimate

    def __str__(self) -> str:
        """The difference and its interval, p and adjusted p, as a page shows them."""
        d, p = self.difference, f"p {numbers.p_value(self.p_value)}, adjusted {numbers.p_value(self.adjusted)}"
        return f"{numbers.estimate(d.value, d.low, d.high, numbers.signed)}, {p}"

    def __repr__(self) -> str:
        """The difference, p, the method, n and the unit."""
        return f"Comparison({self}; {self.method}, n = {self.difference.n:,}, unit {self.unit})"

    def _repr_html_(self) -> str:
        return html.escape(str(self))

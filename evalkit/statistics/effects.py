"""How large a difference is, beside whether there is one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import finite, ratio, same_length


@dataclass(frozen=True)
class Effect:
    """Sizes of the difference first − second on the same units.

    relative: mean difference / |mean of the second|; standardised: Cohen's d_z, mean / standard deviation of the
    differences; superiority: P(first > second) + ½ P(equal); wins, ties, losses of the first.
    """

    difference: float
    relative: float
    standardised: float
    superiority: float
    wins: int
    ties: int
    losses: int


def effect(first: ArrayLike, second: ArrayLike) -> Effect:
    """The sizes of the difference of two systems on the same units; NaN where a denominator is 0 or there is no unit.

    >>> e = effect([0.5, 0.7, 0.9], [0.4, 0.7, 0.7])
    >>> round(e.relative, 4), round(e.standardised, 4), round(e.superiority, 4), (e.wins, e.ties, e.losses)
    (0.1667, 1.0, 0.8333, (2, 1, 0))
    """
    a, b = finite("first", first), finite("second", second)
    n = same_length(first=a, second=b)
    d = a - b
    mean = float(ratio(d.sum(), n))
    spread = float(np.std(d, ddof=1)) if n > 1 else np.nan
    wins, losses = int(np.sum(d > 0)), int(np.sum(d < 0))
    ties = n - wins - losses
    relative = float(ratio(mean, abs(ratio(b.sum(), n))))
    return Effect(mean, relative, float(ratio(mean, spread)), float(ratio(wins + ties / 2, n)), wins, ties, losses)

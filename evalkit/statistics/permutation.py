"""The studentised permutation test of two means of other units each, which holds where skewed arms differ in size.

Under "the first mean is θ larger" the units of the first, less θ, and those of the second are dealt anew into arms of
the same sizes. Each deal has its own Welch t, so that the test is exact where the two distributions are the same, and
right for many units where only the means are. Of each deal four sums are kept, from which t follows for every θ: the
interval is the θ that are not rejected, and test and interval cannot disagree.
Janssen 1997, doi:10.1016/S0167-7152(97)00043-6; Chung and Romano 2013, doi:10.1214/13-AOS1090.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, finite
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.means import skewness
from evalkit.statistics.significance import Comparison, agree, compare, rejected

METHOD = "studentised permutation"
DEALT = 20_000  # deals up to which all are visited
DRAWS, FEWEST = 9_999, 1_999
WORK = 2**25  # units dealt in all: half a second
TIE = 1e-9  # t closer than this are equal
STEPS = 50  # halvings of the interval that holds a limit
SKEWED = 0.1  # skewness of the difference of the means from which Welch's tails are no longer 2.5% each


def difference_skewness(first: Floats, second: Floats) -> float:
    """The skewness of mean of the first − mean of the second, from that of the units; 0 where nothing varies.

    It decides how far the two tails of Welch's t are from each other: in arms of one size and shape it is 0.

    >>> round(difference_skewness(np.array([0.0, 0.0, 3.0]), np.array([0.0, 0.0, 3.0])), 6)
    0.0
    """
    arms = [(x.var(), skewness(x - x.mean()), x.size) for x in (first, second)]
    (a, skew_a, n), (b, skew_b, m) = arms
    variance = a / n + b / m
    cube = skew_a * a**1.5 / n**2 - skew_b * b**1.5 / m**2
    return float(cube / variance**1.5) if variance > 0 else 0.0


def fits(first: Floats, second: Floats) -> bool:
    """Whether Welch's t would not do, as the arms are skewed and unlike, and the deals can be paid: 16,000 units."""
    if min(first.size, second.size) < 2 or abs(difference_skewness(first, second)) <= SKEWED:
        return False
    times = np.unique(np.concatenate([first, second]), return_counts=True)[1]
    return int(times.sum() - times.max()) * FEWEST <= WORK


def studentised(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    unit: str = "user",
    dealt: int = DEALT,
) -> Comparison:
    """Mean of the first − mean of the second; p is twice the smaller tail. dealt: deals up to which all are visited.

    >>> c = studentised([1, 2, 9, 30], [0, 1, 1, 2], rng=np.random.default_rng(1))
    >>> round(c.p_value * 70), c.method
    (14, 'studentised permutation')
    """
    a, b = finite("first", first), finite("second", second)
    deals = _deals(a, b, rng, dealt)
    value = float(a.mean() - b.mean())
    p = min(1.0, 2 * min(deals.tails(0.0)))

    def interval(at: float) -> Estimate:
        low, high = (_limit(deals, value, side, 1 - at) for side in (0, 1))
        return Estimate(value, *agree(value, (low, high), p, at), at, a.size + b.size, METHOD)

    return compare(interval, p, level=level, unit=unit, method=METHOD)


@dataclass(frozen=True, eq=False)
class Deals:
    """The first arm of each deal, the data's own first: how many of it come from the first arm, and their sums.

    own, own_sum: how many of its units are of the first arm, and their sum. total, square: of all its units.
    whole: own_sum, total and square of all units. n, m: units of the arms.
    """

    own: Floats
    own_sum: Floats
    total: Floats
    square: Floats
    whole: tuple[float, float, float]
    n: int
    m: int

    def t(self, theta: float) -> Floats:
        """Welch's t of each deal, after theta is taken from the units of the first arm."""
        own_sum, total, square = self.whole
        first = self.total - theta * self.own
        squares = self.square - 2 * theta * self.own_sum + theta**2 * self.own
        rest = total - theta * self.n - first
        rest_squares = square - 2 * theta * own_sum + theta**2 * self.n - squares
        variance = _error(squares, first, self.n) + _error(rest_squares, rest, self.m)
        gap = first / self.n - rest / self.m
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(gap / np.sqrt(variance), nan=0.0, posinf=np.inf, neginf=-np.inf)

    def tails(self, theta: float) -> tuple[float, float]:
        """The shares of the deals whose t is at least, and at most, that of the data."""
        t = self.t(theta)
        edge = TIE * max(1.0, abs(t[0])) if np.isfinite(t[0]) else 0.0
        return float(np.mean(t >= t[0] - edge)), float(np.mean(t <= t[0] + edge))


def _error(squares: Floats, total: Floats, n: int) -> Floats:
    """The squared standard error of a mean; what rounding leaves of none is 0."""
    spread = squares - total**2 / n
    return np.where(spread > 1e-12 * squares, spread, 0.0) / (n * (n - 1.0))


def _deals(a: Floats, b: Floats, rng: np.random.Generator, dealt: int) -> Deals:
    """All deals where they are few, else random ones. Values are counted from the most frequent one."""
    pooled = np.concatenate([a, b])
    values, counts = np.unique(pooled, return_counts=True)
    usual = values[counts.argmax()]
    x, mine = pooled - usual, np.arange(pooled.size) < a.size
    draw = _every if comb(x.size, a.size) <= dealt else _drawn
    columns = draw(x, mine, a.size, rng)
    data = np.array([[a.size], [x[mine].sum()], [x[mine].sum()], [np.sum(x[mine] ** 2)]])
    whole = (float(x[mine].sum()), float(x.sum()), float(x @ x))
    own, own_sum, total, square = np.hstack([data, columns])
    return Deals(own, own_sum, total, square, whole, a.size, b.size)


def _sums(x: Floats, mine: np.ndarray) -> Floats:
    """What is summed over the units of a deal: one of the first arm, its value, every value, its square."""
    return np.column_stack([mine, x * mine, x, x * x])


def _every(x: Floats, mine: np.ndarray, n: int, rng: np.random.Generator) -> Floats:
    """Every deal but the data's own, which comes first in lexicographic order."""
    places = np.array(list(combinations(range(x.size), n)))[1:].reshape(-1, n)
    return _sums(x, mine)[places].sum(axis=1).T


def _drawn(x: Floats, mine: np.ndarray, n: int, rng: np.random.Generator) -> Floats:
    """Random deals. Of the units with the usual value only numbers are drawn: how many, and from which arm."""
    moving = np.flatnonzero(x)
    order = np.lexsort([mine[moving], x[moving]])  # the order of the units changes no deal
    sums, k = _sums(x, mine)[moving[order]], moving.size
    draws = int(np.clip(WORK // max(k, 1), FEWEST, DRAWS))
    taken = rng.hypergeometric(k, x.size - k, n, draws)
    parts = [_dealt(sums, taken[at : at + 500], rng) for at in range(0, draws, 500)]
    columns = np.vstack(parts).T
    usual_mine = int(np.sum(mine & (x == 0)))
    columns[0] += rng.hypergeometric(usual_mine, x.size - k - usual_mine, n - taken)
    return columns


def _dealt(sums: Floats, taken: np.ndarray, rng: np.random.Generator) -> Floats:
    """The sums of the first few units of random orders, so many of each: deals × sums."""
    k = len(sums)
    ranks = rng.permuted(np.tile(np.arange(k, dtype=np.int32), (len(taken), 1)), axis=1)
    return (ranks < taken[:, None]).astype(np.float64) @ sums


def _limit(deals: Deals, value: float, side: int, alpha: float) -> float:
    """The farthest difference on one side (0 below, 1 above) that is not rejected; infinite where none is rejected."""
    away = -1.0 if side == 0 else 1.0

    def holds(distance: float) -> bool:
        return not rejected(2 * deals.tails(value + away * distance)[side], 1 - alpha)

    far = _past(holds, float(np.abs(np.diff(deals.whole)).max() + abs(value)) / (deals.n * deals.m) or 1.0)
    if np.isinf(far):
        return away * np.inf
    near = 0.0
    for _ in range(STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if holds(middle) else (near, middle)
    return value + away * near


def _past(holds: Callable[[float], bool], step: float) -> float:
    """A distance that does not hold, found by doubling; infinite where there is none."""
    for _ in range(80):
        if not holds(step):
            return step
        step *= 2
    return float("inf")

"""The p-value of every mean and the interval of a mean, from one set of sign flips.

A test of "the mean is θ" flips the signs of d − θ·c, where d holds one difference a unit and c its number of rows
(1, or more where rows were added up to units). With T = Σ d, n = Σ c and the sums T_k, S_k of d and c under draw k,
the draw is at least as extreme as the data exactly when θ lies between (T − T_k) / (n − S_k) and
(T + T_k) / (n + S_k): the means of the flipped and of the unflipped units, which enclose the mean. So one set of
draws gives the p-value of every θ, and the interval is the θ with p ≥ α: test and interval cannot disagree.
Hartigan, JASA 1969, doi:10.1080/01621459.1969.10501057.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.statistics import signflip

SAMPLED = 2**11  # draws that tell about how far the extreme ones lie


@dataclass(frozen=True, eq=False)
class Ranges:
    """The lower and the upper ends of each draw's range of means under which it is at least as extreme as the data.

    Each holds the mean; their order says nothing. rounding: means closer than this are one mean. mean: from where the
    ends are counted.
    """

    low: Floats
    high: Floats
    rounding: float
    mean: float = 0.0

    @property
    def draws(self) -> int:
        """How many sign vectors there are, that of the data among them."""
        return self.low.size

    def share(self, null: float = 0.0) -> float:
        """The two-sided p-value of the mean `null`: the share of draws whose range holds it."""
        away = null - self.mean
        outside = self.low > away + self.rounding if away < 0 else self.high < away - self.rounding
        return (self.draws - int(np.count_nonzero(outside))) / self.draws

    def limits(self, *levels: float) -> dict[float, tuple[float, float]]:
        """For each level the smallest and the largest mean with a p-value of at least 1 − level.

        >>> Ranges(np.array([-np.inf, 1, 2, 3]), np.array([np.inf, 9, 8, 7]), 0.0).limits(0.5)
        {0.5: (1.0, 9.0)}
        """
        limits, low, high = {}, self.low, self.high
        for level in sorted(levels):  # what a level leaves out, the next leaves out as well
            left = max(int(np.ceil(round(self.draws * (1 - level), 9))), 1)
            low, high = _smallest(low, left), _largest(high, left)
            limits[level] = self._limit(low[-1]), self._limit(high[0])
        return limits

    def _limit(self, end: float) -> float:
        limit = self.mean + end
        return 0.0 if abs(limit) <= self.rounding else float(limit)


def _smallest(values: Floats, n: int) -> Floats:
    """The n smallest values, the largest of these last.

    A sample tells below which value a few more than n lie: they are picked first, and a part of them is then ordered.

    >>> _smallest(np.array([4.0, 1.0, 3.0, 2.0]), 3)[-1:]
    array([3.])
    """
    near = values
    if values.size > 4 * max(n, SAMPLED):
        near = values.compress(values < np.partition(values[:SAMPLED], place := _place(n, values.size))[place])
        near = near if near.size >= n else values
    return np.partition(near, n - 1)[:n]


def _largest(values: Floats, n: int) -> Floats:
    """The n largest values, the smallest of these first, as `_smallest` finds them.

    >>> _largest(np.array([4.0, 1.0, 3.0, 2.0]), 3)[:1]
    array([2.])
    """
    near = values
    if values.size > 4 * max(n, SAMPLED):
        place = SAMPLED - 1 - _place(n, values.size)
        near = values.compress(values > np.partition(values[:SAMPLED], place)[place])
        near = near if near.size >= n else values
    return np.partition(near, near.size - n)[near.size - n :]


def _place(n: int, size: int) -> int:
    """The rank in the sample that has n of all values below it, but for one sample in thousands."""
    share = n / size
    return min(int(SAMPLED * share + 4 * np.sqrt(SAMPLED * share * (1 - share))) + 1, SAMPLED - 1)


def ranges(total: Floats, count: Floats, *, rng: np.random.Generator, draws: int) -> Ranges:
    """The range of each sign vector; total: the difference of each unit, count: its rows.

    All sign vectors (up to their sign) for at most 20 units, otherwise at least `draws` random ones and the data's
    own, whose range is the whole line and which keeps p above 0.
    The order of the units changes nothing, and −total gives the mirrored ranges. What is flipped are the units less
    their mean: their flipped and their kept ones add up to opposite sums, so one sum of a draw has both ends.

    >>> r = ranges(np.array([1.0, 3.0]), np.ones(2), rng=np.random.default_rng(1), draws=0)
    >>> r.mean, r.low, r.high
    (2.0, array([-inf,  -1.]), array([inf,  1.]))
    """
    order = np.lexsort([count, -total if _backwards(total) else total])
    total, count = total[order], count[order]
    bits = b"" if total.size <= signflip.ENUMERATED else signflip.random_bits(total.size, rng, draws)
    sizes = signflip.remembered(_sizes, count.size)(count.tobytes(), bits)
    low, high = np.empty((2, sizes.draws))  # one block of memory, which the next call gets again
    mean, start = float(total.sum() / count.sum()), 0
    for drawn in signflip.sums(total - mean * count, bits):
        part = slice(start, start := start + drawn.size)
        flipped = drawn * sizes.flipped[part]
        kept = np.multiply(drawn, sizes.kept[part], out=drawn)
        np.minimum(flipped, kept, out=low[part])
        np.maximum(flipped, kept, out=high[part])
    low[sizes.everywhere], high[sizes.everywhere] = -np.inf, np.inf
    return Ranges(low, high, signflip.TIE * float(np.abs(total).sum() / count.sum()), mean)


def _backwards(total: Floats) -> bool:
    """Whether of `total` and −`total` the second is the one whose signs are drawn, so that both get the same draws."""
    ascending = np.sort(total)
    apart = np.flatnonzero(ascending + ascending[::-1])  # where the sorted values of the two differ
    return bool(apart.size) and bool(ascending[apart[-1]] + ascending[::-1][apart[-1]] < 0)


@dataclass(frozen=True, eq=False)
class _Sizes:
    """Of each draw −1 over the rows of the flipped and 1 over those of the kept units, 0 where there are none.

    everywhere: the draws that flip nothing or everything, which are as extreme as the data whatever the mean. Beside
    random draws the last of all is the data's own.
    """

    flipped: Floats
    kept: Floats
    everywhere: Ints
    draws: int


@lru_cache(signflip.REMEMBERED)
def _sizes(count: bytes, bits: bytes) -> _Sizes:
    """The sizes under these sign vectors; count: the rows of each unit. All pairs on the same units share them."""
    values = np.frombuffer(count)
    size, n = np.concatenate([drawn.copy() for drawn in signflip.sums(values, bits)]), values.sum()
    everywhere, draws = np.flatnonzero(np.abs(size) == n), size.size
    if bits:
        everywhere, draws = np.append(everywhere, draws), draws + 1
    return _Sizes(-_inverse(n - size), _inverse(n + size), everywhere, draws)


def _inverse(size: Floats) -> Floats:
    return np.divide(1.0, size, out=np.zeros(size.size), where=size != 0)

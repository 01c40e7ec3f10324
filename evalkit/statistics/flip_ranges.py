"""The p-value of every mean and the interval of a mean, from one set of sign flips.

A test of "the mean is θ" flips the signs of d − θ·c, where d holds one difference a unit and c its number of rows
(1, or more where rows were added up to units). With T = Σ d, n = Σ c and the sums T_k, S_k of d and c under draw k,
the draw is at least as extreme as the data exactly when θ lies between (T − T_k) / (n − S_k) and
(T + T_k) / (n + S_k): the means of the flipped and of the unflipped units, which enclose the mean. So one set of
draws gives the p-value of every θ, and the interval is the θ with p ≥ α: test and interval cannot disagree.
Hartigan, JASA 1969, doi:10.1080/01621459.1969.10501057.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.statistics import signflip

SAMPLE = 4_096  # draws that tell about how far the limits lie
STRIDE = 40_503  # odd, so that no sign vector comes twice


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
        return _limits(self, levels)


@dataclass(frozen=True, eq=False)
class Extremes:
    """Of all ranges, what the test of 0 and limits need: those ends that lie farthest from the mean.

    low, high: at least as many of them as the lowest level of a limit leaves out. outside: ranges without 0. draws: how
    many sign vectors there are, that of the data among them. rounding, mean: as of `Ranges`.
    """

    low: Floats
    high: Floats
    outside: int
    draws: int
    rounding: float
    mean: float

    def share(self) -> float:
        """The two-sided p-value of 0."""
        return (self.draws - self.outside) / self.draws

    def limits(self, *levels: float) -> dict[float, tuple[float, float]]:
        """As those of `Ranges`, at the level asked for or above."""
        return _limits(self, levels)


def _limits(drawn: Ranges | Extremes, levels: Iterable[float]) -> dict[float, tuple[float, float]]:
    limits, low, high = {}, drawn.low, drawn.high
    for level in sorted(levels):  # what a level leaves out, the next leaves out as well
        left = _left(drawn.draws, level)
        low, high = _smallest(low, left), _largest(high, left)
        limits[level] = _limit(drawn, low[-1]), _limit(drawn, high[0])
    return limits


def _left(draws: int, level: float) -> int:
    """How many of the farthest ends a limit at this level leaves out, itself counted."""
    return max(int(np.ceil(round(draws * (1 - level), 9))), 1)


def _limit(drawn: Ranges | Extremes, end: float) -> float:
    limit = drawn.mean + end
    return 0.0 if abs(limit) <= drawn.rounding else float(limit)


def _smallest(values: Floats, n: int) -> Floats:
    """The n smallest values, the largest of these last."""
    return np.partition(values, n - 1)[:n]


def _largest(values: Floats, n: int) -> Floats:
    """The n largest values, the smallest of these first."""
    return np.partition(values, values.size - n)[values.size - n :]


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
    flips = _Flips.of(total, count, rng, draws)
    return Ranges(*flips.every_end(), flips.rounding, flips.mean)


def extremes(total: Floats, count: Floats, *, rng: np.random.Generator, draws: int, level: float) -> Extremes:
    """What tests of 0 and limits at `level` or above need of the `ranges`, which are not all held at once.

    The first ones tell about how far the limits lie: of the next, those ends are kept that lie beyond.

    >>> e = extremes(np.array([1.0, 3.0]), np.ones(2), rng=np.random.default_rng(1), draws=0, level=0.5)
    >>> e.share(), e.limits(0.5)
    (0.5, {0.5: (-inf, inf)})
    """
    flips = _Flips.of(total, count, rng, draws)
    left, away = _left(flips.sizes.draws, level), -flips.mean
    share, outside, lows, highs = left / flips.sizes.draws, 0, list[Floats](), list[Floats]()
    bounds = _bounds(*flips.some_ends(), share) if not flips.bits else (np.inf, -np.inf)
    for low, high in flips.ends():
        beyond = low > away + flips.rounding if away < 0 else high < away - flips.rounding
        outside += int(np.count_nonzero(beyond))
        bounds = bounds if lows or not flips.bits else _bounds(low[:SAMPLE], high[:SAMPLE], share)
        kept = np.flatnonzero((low <= bounds[0]) | (high >= bounds[1]))  # mostly both hold or none
        lows.append(low.take(kept))
        highs.append(high.take(kept))
    low, high = np.concatenate(lows), np.concatenate(highs)
    enough = min(np.count_nonzero(low <= bounds[0]), np.count_nonzero(high >= bounds[1])) >= left
    if not enough:  # one in thousands
        low, high = flips.every_end()
    return Extremes(low, high, outside, flips.sizes.draws, flips.rounding, flips.mean)


def _bounds(low: Floats, high: Floats, share: float) -> tuple[float, float]:
    """Ends beyond which a few more than this share of all lie, from some of them."""
    place = min(int(low.size * share + 4 * np.sqrt(low.size * share * (1 - share))) + 1, low.size - 1)
    last = high.size - 1 - place
    return float(np.partition(low, place)[place]), float(np.partition(high, last)[last])


@dataclass(frozen=True, eq=False)
class _Flips:
    """The units less their mean, in an order of their own, and the signs that are drawn for them."""

    spread: Floats
    mean: float
    rounding: float
    bits: bytes
    sizes: "_Sizes"

    @classmethod
    def of(cls, total: Floats, count: Floats, rng: np.random.Generator, draws: int) -> "_Flips":
        """The flips of these units."""
        order = np.lexsort([count, -total if _backwards(total) else total])
        total, count = total[order], count[order]
        bits = b"" if total.size <= signflip.ENUMERATED else signflip.random_bits(total.size, rng, draws)
        sizes = signflip.remembered(_sizes, count.size)(count.tobytes(), bits)
        rows = float(count.sum())
        mean, rounding = float(total.sum()) / rows, signflip.TIE * float(np.abs(total).sum()) / rows
        return cls(total - mean * count, mean, rounding, bits, sizes)

    def every_end(self) -> tuple[Floats, Floats]:
        """The lower and the upper ends of all ranges."""
        low, high = zip(*((low.copy(), high.copy()) for low, high in self.ends()), strict=True)
        return np.concatenate(low), np.concatenate(high)

    def some_ends(self) -> tuple[Floats, Floats]:
        """The ends of some of all sign vectors, far apart from each other: neighbours have most signs in common."""
        every = signflip.enumerated(self.spread)
        some = np.arange(min(SAMPLE, every.size)) * STRIDE % every.size
        flipped, kept = every[some] * self.sizes.flipped[some], every[some] * self.sizes.kept[some]
        return np.minimum(flipped, kept), np.maximum(flipped, kept)

    def ends(self) -> Iterator[tuple[Floats, Floats]]:
        """The lower and the upper ends of some ranges at a time, from the mean; the data's own last.

        The memory of some is used again for the next.
        """
        start, memory = 0, np.empty((2, 0))
        for drawn in signflip.sums(self.spread, self.bits):
            part = slice(start, start := start + drawn.size)
            memory = memory if memory.shape[1] >= drawn.size else np.empty((2, drawn.size))
            flipped, low = memory[:, : drawn.size]
            np.multiply(drawn, self.sizes.flipped[part], out=flipped)
            kept = np.multiply(drawn, self.sizes.kept[part], out=drawn)
            np.minimum(flipped, kept, out=low)
            high = np.maximum(flipped, kept, out=flipped)
            yield self._unbounded(low, high, part)
        if self.bits:
            yield np.array([-np.inf]), np.array([np.inf])

    def _unbounded(self, low: Floats, high: Floats, part: slice) -> tuple[Floats, Floats]:
        """The ends where the draws that flip nothing or everything have the whole line."""
        if self.sizes.first < part.stop:
            first, last = np.searchsorted(self.sizes.everywhere, (part.start, part.stop))
            everywhere = self.sizes.everywhere[first:last] - part.start
            low[everywhere], high[everywhere] = -np.inf, np.inf
        return low, high


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

    @cached_property
    def first(self) -> int:
        """The first of the draws that flip nothing or everything; one always does."""
        return int(self.everywhere[0])


@lru_cache(signflip.REMEMBERED)
def _sizes(count: bytes, bits: bytes) -> _Sizes:
    """The sizes under these sign vectors; count: the rows of each unit. All pairs on the same units share them."""
    values = np.frombuffer(count)
    size, n = np.concatenate([drawn.copy() for drawn in signflip.sums(values, bits)]), values.sum()
    # Counts that are not whole, such as the actual values below a WAPE, add up to n but for rounding.
    everywhere, draws = np.flatnonzero(np.abs(size) >= n * (1 - signflip.TIE)), size.size
    if bits:
        everywhere, draws = np.append(everywhere, draws), draws + 1
    return _Sizes(-_inverse(n - size), _inverse(n + size), everywhere, draws)


def _inverse(size: Floats) -> Floats:
    return np.divide(1.0, size, out=np.zeros(size.size), where=size != 0)

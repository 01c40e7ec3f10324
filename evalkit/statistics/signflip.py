"""The null distribution of paired differences when the sign of each unit's difference is a fair coin.

A test of "the mean is θ" flips the signs of d − θ·c, where d holds one difference a unit and c its number of rows
(1, or more where rows were added up to units). With T = Σ d, n = Σ c and the sums T_k, S_k of d and c under draw k,
the draw is at least as extreme as the data exactly when θ lies between (T − T_k) / (n − S_k) and
(T + T_k) / (n + S_k): the means of the flipped and of the unflipped units, which enclose the mean. So one set of
draws gives the p-value of every θ, and the interval is the θ with p ≥ α: test and interval cannot disagree.
Hartigan, JASA 1969, doi:10.1080/01621459.1969.10501057.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from typing import Any, TypeVar

import numpy as np

from evalkit.arrays import Floats, Ints

ENUMERATED = 20  # units whose 2^n sign vectors are all visited
CACHED = 2**14  # draws that are worked on at once, so that they stay in the processor's cache
REMEMBERED = 4  # columns of sizes whose draws are kept: all pairs of systems on the same units share them
FEW = 2**16  # units up to which they are kept, some megabytes
HELD = 2**22  # drawn sums held at once when many columns share their signs
TOGETHER = 64  # points of the Walsh–Hadamard transform that one product takes
ALONE = 2**19  # multiplications up to which BLAS stays on one thread
TIE = 1e-12  # relative to Σ|d|: sums of floats closer than this are one sum
LATTICE = 2**25  # distinct magnitudes × points of the Fourier transform: a second of work
NOISE = 1e-12  # a transform in doubles cannot tell smaller probabilities from 0

Drawn = TypeVar("Drawn")


def replayed(kept: int) -> Callable[[Callable[..., Drawn]], Callable[..., Drawn]]:
    """Cache what a function draws from a random generator, by the generator's state and the sizes that were asked for.

    Where the result is known, the generator is advanced as if it had drawn. kept: number of results.

    >>> times = []
    >>> @replayed(2)
    ... def draw(rng, size):
    ...     times.append(size)
    ...     return rng.random(size).tolist()
    >>> first, second = np.random.default_rng(1), np.random.default_rng(1)
    >>> draw(first, 2) == draw(second, 2), times, first.random() == second.random()
    (True, [2], True)
    """

    def decorate(draw: Callable[..., Drawn]) -> Callable[..., Drawn]:
        @lru_cache(kept)
        def after(kind: type[np.random.BitGenerator], state: bytes, *sizes: int) -> tuple[Drawn, Mapping[str, Any]]:
            bits = kind()
            bits.state = pickle.loads(state)
            return draw(np.random.Generator(bits), *sizes), bits.state

        @wraps(draw)
        def drawn(rng: np.random.Generator, *sizes: int) -> Drawn:
            bits = rng.bit_generator
            numbers, bits.state = after(type(bits), pickle.dumps(bits.state), *sizes)
            return numbers

        return drawn

    return decorate


def enumerated(values: Floats) -> Floats:
    """Σ ± values for every choice of signs, the first one kept: 2^(n−1) sums, the plain sum first; (…, n) in.

    >>> enumerated(np.array([1.0, 3.0]))
    array([ 4., -2.])
    """
    sums = values[..., :1].copy()
    for i in range(1, values.shape[-1]):
        value = values[..., i, None]
        sums = np.concatenate([sums + value, sums - value], axis=-1)
    return sums


def joint_draws(columns: Floats, *, rng: np.random.Generator, draws: int) -> Floats:
    """Σ ± column under at least `draws` random sign vectors, shared by all columns: (n, m) in, (m, draws) out.

    Random signs times the rows of a Walsh–Hadamard matrix: each row of the product is uniform over sign vectors,
    and one fast transform gives the N = 2^⌈log₂ n⌉ sums of a block for N log₂ N additions. Draws of one block are
    uncorrelated, not independent. Koning, Hemerik, Biometrika 2024, doi:10.1093/biomet/asad050.
    """
    return summed(columns, signs(len(columns), rng, draws))


def signs(n: int, rng: np.random.Generator, draws: int) -> Floats:
    """Random signs of n units from which at least `draws` draws follow, a row a block."""
    return remembered(_signs, n)(random_bits(n, rng, draws), n)


def summed(columns: Floats, signs: Floats) -> Floats:
    """Σ ± column of each draw that follows from these signs, (n, m) in, (m, draws) out."""
    n, m = columns.shape
    points = np.zeros((m, 1, signs.shape[1]))
    points[:, 0, :n] = columns.T
    return walsh_hadamard(signs * points).reshape(m, signs.size)


def random_bits(n: int, rng: np.random.Generator, draws: int) -> bytes:
    """A random bit for each of n units in each block of draws, n bits to whole bytes."""
    return _bytes(rng, -(-draws // _points(n)), -(-n // 8))


@replayed(REMEMBERED)
def _bytes(rng: np.random.Generator, rows: int, columns: int) -> bytes:
    return rng.integers(0, 256, (rows, columns), dtype=np.uint8).tobytes()


@lru_cache(REMEMBERED)
def _signs(bits: bytes, n: int) -> Floats:
    """The random sign of each unit, a row a block; 0 from unit n on, up to a power of two."""
    rows = np.frombuffer(bits, np.uint8).reshape(-1, -(-n // 8))
    signs = np.zeros((len(rows), _points(n)))
    signs[:, :n] = 1.0 - 2.0 * np.unpackbits(rows, axis=1, count=n)
    return signs


def remembered(function: Any, units: int) -> Any:
    """A function whose results are kept, or of many units the same without keeping them."""
    return function if units <= FEW else function.__wrapped__


def _points(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def sums(values: Floats, bits: bytes) -> Iterator[Floats]:
    """Σ ± values of some draws at a time, which the next may overwrite; without bits for every choice of signs."""
    if not bits:
        every = enumerated(values)
        yield from (every[start : start + CACHED] for start in range(0, every.size, CACHED))
        return
    drawn = remembered(_signs, values.size)(bits, values.size)
    rows = max(1, CACHED // drawn.shape[1])
    blocks = (drawn[start : start + rows] for start in range(0, len(drawn), rows))
    if 1 < drawn.shape[1] <= TOGETHER:
        yield from _by_halves(blocks, values, drawn.shape[1] // 2)
        return
    points = np.zeros(drawn.shape[1])
    points[: values.size] = values
    yield from (walsh_hadamard(block * points).ravel() for block in blocks)


def _by_halves(blocks: Iterable[Floats], values: Floats, half: int) -> Iterator[Floats]:
    """The transform's last level by hand: the sums and the differences of two products, each of half the points.

    The memory of some draws is used again for the next.
    """
    matrix, n = _hadamard(half), values.size
    first, second = values[:half, None] * matrix, values[half:, None] * matrix[: n - half]
    memory = np.empty(0)
    for block in blocks:
        points = 2 * half * len(block)
        memory = memory if memory.size >= points else np.empty(points)
        drawn = memory[:points]
        kept, turned = drawn[: points // 2].reshape(-1, half), block[:, half:n] @ second
        np.matmul(block[:, :half], first, out=kept)
        np.subtract(kept, turned, out=drawn[points // 2 :].reshape(kept.shape))
        kept += turned
        yield drawn


def walsh_hadamard(values: Floats) -> Floats:
    """The Walsh–Hadamard transform along the last axis, a power of two long.

    Up to six of the butterfly's levels at once are one product with the Hadamard matrix of 64 points.

    >>> walsh_hadamard(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10., -2., -4.,  0.])
    """
    shape, half = values.shape, 1
    while half < shape[-1]:
        points = min(TOGETHER, shape[-1] // half)
        matrix = _hadamard(points)
        if half == 1:
            values = _rows_times(values.reshape(-1, points), matrix)
        else:
            values = np.matmul(matrix, values.reshape(-1, points, half))
        half *= points
    return values.reshape(shape)


@lru_cache
def _hadamard(points: int) -> Floats:
    """The Hadamard matrix in Sylvester's order: the sign of each entry by the bits that row and column share."""
    matrix = np.ones((1, 1))
    while len(matrix) < points:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def _rows_times(rows: Floats, matrix: Floats) -> Floats:
    """rows @ matrix in slices so small that BLAS wakes no other threads."""
    step = max(1, ALONE // matrix.size)
    out = np.empty_like(rows)
    for start in range(0, len(rows), step):
        np.matmul(rows[start : start + step], matrix, out=out[start : start + step])
    return out


def exact_p(differences: Floats) -> tuple[float, str] | None:
    """The exact two-sided p-value of a mean of 0 and how it was found; None where only draws are left.

    Differences of 0 change nothing. Differences of one size make it the binomial (sign, McNemar) test; at most
    20 others are enumerated; integer multiples of a common step (precision at k) take one Fourier transform.

    >>> exact_p(np.array([0.5, 0.5, 1.0, 1.5, 0.0]))
    (0.125, 'exact enumeration')
    """
    moved = differences[differences != 0]
    sizes = np.abs(moved)
    if moved.size == 0:
        return 1.0, "no difference"
    if sizes.max() - sizes.min() <= TIE * sizes.max():
        return fair_coin(int(np.sum(moved > 0)), moved.size), "exact binomial"
    if moved.size <= ENUMERATED:
        sums, tie = enumerated(moved), TIE * sizes.sum()
        return float(np.mean(np.abs(sums) >= abs(moved.sum()) - tie)), "exact enumeration"
    steps = lattice(moved)
    return None if steps is None else (lattice_p(steps), "exact by Fourier transform")


def fair_coin(heads: int, flips: int) -> float:
    """The exact two-sided p-value of a fair coin; never 0.

    >>> round(fair_coin(9, 10), 12)
    0.021484375
    """
    from scipy.special import bdtr

    tail = float(bdtr(min(heads, flips - heads), flips, 0.5))
    return min(1.0, max(2 * tail, float(np.finfo(float).tiny)))


def lattice(differences: Floats) -> Ints | None:
    """The differences as integer multiples of their common step; None where there is none, or too much work.

    >>> lattice(np.array([0.1, -0.2, 0.7 - 0.4]))
    array([ 1, -2,  3])
    """
    largest = float(np.abs(differences).max())
    sizes = np.unique(np.abs(differences / largest).round(12)) * largest
    whole = float(np.abs(differences).sum())
    if sizes.size > 64:
        return None
    step = largest
    for size in sizes.tolist():
        while size > 1e-6 * largest:  # Euclid; what is left of a multiple is rounding
            step, size = size, abs(step - size * round(step / size))
        if sizes.size * whole > 2 * LATTICE * step:  # steps only become smaller
            return None
    steps = np.round(differences / step)
    off = np.abs(differences - steps * step).max() > 1e-9 * largest
    work = sizes.size * np.abs(steps).sum()
    return None if off or work > LATTICE else steps.astype(np.int64)


def lattice_p(steps: Ints) -> float:
    """P(|Σ ± steps| ≥ |Σ steps|) for integer steps; never 0.

    The sum of the flipped steps has the characteristic function Π ((1 + e^{itm}) / 2)^c over the sizes m with c
    steps each; its inverse transform is the distribution. Doubles resolve probabilities down to about 1e-12.

    >>> round(lattice_p(np.array([1, 1, 2, 3])), 12)
    0.125
    """
    size, times = np.unique(np.abs(steps), return_counts=True)
    whole = int(size @ times)
    points = 1 << whole.bit_length()
    frequency = np.arange(points // 2 + 1)
    cosine = np.cos(np.pi * np.arange(2 * points) / points)
    spectrum = np.exp(-1j * np.pi * (frequency * whole % (2 * points)) / points)
    for m, c in zip(size, times, strict=True):
        spectrum *= cosine[frequency * m % (2 * points)] ** c
    extreme = int(whole - abs(steps.sum())) // 2
    tail = np.fft.irfft(spectrum, points)[: extreme + 1].sum()
    return 1.0 if 2 * extreme == whole else float(np.clip(2 * tail, NOISE, 1.0))


# The p-value of every mean and the interval of a mean, from one set of sign flips -------------------------------------


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
        bits = b"" if total.size <= ENUMERATED else random_bits(total.size, rng, draws)
        sizes = remembered(_sizes, count.size)(count.tobytes(), bits)
        rows = float(count.sum())
        mean, rounding = float(total.sum()) / rows, TIE * float(np.abs(total).sum()) / rows
        return cls(total - mean * count, mean, rounding, bits, sizes)

    def every_end(self) -> tuple[Floats, Floats]:
        """The lower and the upper ends of all ranges."""
        low, high = zip(*((low.copy(), high.copy()) for low, high in self.ends()), strict=True)
        return np.concatenate(low), np.concatenate(high)

    def some_ends(self) -> tuple[Floats, Floats]:
        """The ends of some of all sign vectors, far apart from each other: neighbours have most signs in common."""
        every = enumerated(self.spread)
        some = np.arange(min(SAMPLE, every.size)) * STRIDE % every.size
        flipped, kept = every[some] * self.sizes.flipped[some], every[some] * self.sizes.kept[some]
        return np.minimum(flipped, kept), np.maximum(flipped, kept)

    def ends(self) -> Iterator[tuple[Floats, Floats]]:
        """The lower and the upper ends of some ranges at a time, from the mean; the data's own last.

        The memory of some is used again for the next.
        """
        start, memory = 0, np.empty((2, 0))
        for drawn in sums(self.spread, self.bits):
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


@lru_cache(REMEMBERED)
def _sizes(count: bytes, bits: bytes) -> _Sizes:
    """The sizes under these sign vectors; count: the rows of each unit. All pairs on the same units share them."""
    values = np.frombuffer(count)
    size, n = np.concatenate([drawn.copy() for drawn in sums(values, bits)]), values.sum()
    # Counts that are not whole, such as the actual values below a WAPE, add up to n but for rounding.
    everywhere, draws = np.flatnonzero(np.abs(size) >= n * (1 - TIE)), size.size
    if bits:
        everywhere, draws = np.append(everywhere, draws), draws + 1
    return _Sizes(-_inverse(n - size), _inverse(n + size), everywhere, draws)


def _inverse(size: Floats) -> Floats:
    return np.divide(1.0, size, out=np.zeros(size.size), where=size != 0)

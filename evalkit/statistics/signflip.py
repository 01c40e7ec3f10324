"""Sign-flip tests: the distribution of the mean paired difference if the sign of each unit's
difference is random.

A test of "the mean is θ" flips the signs of d − θ·c, where d holds one difference per unit and c
its number of rows (more than 1 if rows were added up per unit). With T = Σ d, n = Σ c and the sums
T_k, S_k of d and c under draw k, the draw is at least as extreme as the data exactly when θ lies
between (T − T_k) / (n − S_k) and (T + T_k) / (n + S_k): the means of the flipped and of the
unflipped units, which enclose the mean. So one set of draws gives the p-value of every θ. The
interval is the set of θ with p ≥ α, so test and interval always agree. Hartigan, JASA 1969,
doi:10.1080/01621459.1969.10501057.

The mid-p counts draws exactly as extreme as the data half, except the data's own signs and their
mirror. Values of few steps have many such draws, so that the exact test is conservative; the mid-p
rejects about as often as it should, but nothing guarantees it. It is twice the one-sided mid-p, and
so 1 at the mean. For other means the draws seldom tie: the interval is that of the exact test,
without 0 if only the mid-p rejects it. Lancaster, JASA 1961, doi:10.1080/01621459.1961.10482105.
Below, `tied` is the weight of such draws: 1 or ½.
"""

import pickle
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, wraps
from math import fsum
from typing import Any, TypeVar

import numpy as np

from evalkit.arrays import Floats, Ints, product

ENUMERATED = 20  # units whose 2^n sign vectors are all visited
CACHED = 2**14  # draws that are worked on at once, so that they stay in the processor's cache
HALF = 0.5  # the weight of draws exactly as extreme as the data in the mid-p
REMEMBERED = (
    4  # columns of sizes whose draws are kept: all pairs of systems on the same units share them
)
FEW = 2**16  # units up to which they are kept, some megabytes
HELD = 2**22  # drawn sums held at once when many columns share their signs
TOGETHER = 64  # points of the Walsh–Hadamard transform that one product takes
TIE = 1e-12  # relative to Σ|d|: sums of floats closer than this are one sum
LATTICE = 2**25  # distinct magnitudes × points of the Fourier transform: a second of work
NOISE = 1e-12  # a transform in doubles cannot tell smaller probabilities from 0

Drawn = TypeVar("Drawn")


def replayed(kept: int) -> Callable[[Callable[..., Drawn]], Callable[..., Drawn]]:
    """Cache the results of a function that draws from a random generator, by its state and the
    sizes asked for.

    If the result is known, the generator is advanced as if it had drawn. kept: number of results.

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
        def after(
            kind: type[np.random.BitGenerator], state: bytes, *sizes: int
        ) -> tuple[Drawn, Mapping[str, Any]]:
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
    """Σ ± values for every choice of signs, the first sign fixed: 2^(n−1) sums, the plain sum
    first; (…, n) in.

    >>> enumerated(np.array([1.0, 3.0]))
    array([ 4., -2.])
    """
    sums = values[..., :1].copy()
    for i in range(1, values.shape[-1]):
        value = values[..., i, None]
        sums = np.concatenate([sums + value, sums - value], axis=-1)
    return sums


def joint_draws(columns: Floats, *, rng: np.random.Generator, draws: int) -> Floats:
    """Σ ± column under at least `draws` random sign vectors, shared by all columns: (n, m) in, (m,
    draws) out.

    Random signs times the rows of a Walsh–Hadamard matrix: each row of the product is uniform over
    sign vectors, and one fast transform gives the N = 2^⌈log₂ n⌉ sums of a block for N log₂ N
    additions. Draws of one block are uncorrelated, not independent. Koning, Hemerik, Biometrika
    2024, doi:10.1093/biomet/asad050.
    """
    return summed(columns, signs(len(columns), rng, draws))


def signs(n: int, rng: np.random.Generator, draws: int) -> Floats:
    """Random signs of n units from which at least `draws` draws follow, one row per block."""
    return remembered(_signs, n)(random_bits(n, rng, draws), n)


def summed(columns: Floats, signs: Floats) -> Floats:
    """Σ ± column of each draw that follows from these signs, (n, m) in, (m, draws) out."""
    n, m = columns.shape
    points = np.zeros((m, 1, signs.shape[1]))
    points[:, 0, :n] = columns.T
    return walsh_hadamard(signs * points).reshape(m, signs.size)


def random_bits(n: int, rng: np.random.Generator, draws: int) -> bytes:
    """A random bit for each of n units in each block of draws, packed into bytes, n padded to a
    multiple of 8.
    """
    return rng.integers(0, 256, (-(-draws // _points(n)), -(-n // 8)), dtype=np.uint8).tobytes()


@lru_cache(REMEMBERED)
def _signs(bits: bytes, n: int) -> Floats:
    """The random sign of each unit, one row per block; 0 from unit n on, up to a power of two."""
    rows = np.frombuffer(bits, np.uint8).reshape(-1, -(-n // 8))
    signs = np.zeros((len(rows), _points(n)))
    signs[:, :n] = 1.0 - 2.0 * np.unpackbits(rows, axis=1, count=n)
    return signs


def remembered(function: Any, units: int) -> Any:
    """A function with cached results, or for many units the function itself."""
    return function if units <= FEW else function.__wrapped__


def _points(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def sums(values: Floats, bits: bytes) -> Iterator[Floats]:
    """Σ ± values for a chunk of draws at a time; without bits, for every choice of signs."""
    if not bits:
        every = enumerated(values)
        yield from (every[start : start + CACHED] for start in range(0, every.size, CACHED))
        return
    drawn = remembered(_signs, values.size)(bits, values.size)
    rows = max(1, CACHED // drawn.shape[1])
    blocks = (drawn[start : start + rows] for start in range(0, len(drawn), rows))
    if 1 < drawn.shape[1] <= TOGETHER:
        yield from (_by_halves(block, values) for block in blocks)
        return
    points = np.zeros(drawn.shape[1])
    points[: values.size] = values
    yield from (walsh_hadamard(block * points).ravel() for block in blocks)


def _by_halves(signs: Floats, values: Floats) -> Floats:
    """The transform of signs times values: the last level by hand, of two products that have half
    of the points each.
    """
    half = signs.shape[1] // 2
    matrix = _hadamard(half)
    first = signs[:, :half] @ (values[:half, None] * matrix)
    second = signs[:, half : values.size] @ (values[half:, None] * matrix[: values.size - half])
    drawn = np.empty((len(signs), 2, half))
    np.add(first, second, out=drawn[:, 0])
    np.subtract(first, second, out=drawn[:, 1])
    return drawn.ravel()


def walsh_hadamard(values: Floats) -> Floats:
    """The Walsh–Hadamard transform along the last axis, whose length is a power of two.

    Up to six levels of the butterfly are computed together as one product with the Hadamard matrix
    of order 64.

    >>> walsh_hadamard(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10., -2., -4.,  0.])
    """
    shape, half = values.shape, 1
    while half < shape[-1]:
        points = min(TOGETHER, shape[-1] // half)
        matrix = _hadamard(points)
        if half == 1:
            values = product(values.reshape(-1, points), matrix)
        else:
            values = np.matmul(matrix, values.reshape(-1, points, half))
        half *= points
    return values.reshape(shape)


@lru_cache
def _hadamard(points: int) -> Floats:
    """The Hadamard matrix in Sylvester's order: the sign of each entry by the bits that row and
    column share.
    """
    matrix = np.ones((1, 1))
    while len(matrix) < points:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def exact_p(differences: Floats, tied: float = 1.0) -> tuple[float, str] | None:
    """The exact two-sided p-value of a mean of 0, and its method; None if it has to be drawn.

    Differences of 0 change nothing. If all have one size, it is the binomial (sign, McNemar) test;
    at most 20 others are enumerated; integer multiples of a common step (precision at k) take one
    Fourier transform.

    >>> exact_p(np.array([0.5, 0.5, 1.0, 1.5, 0.0]))
    (0.125, 'exact enumeration')
    """
    moved = differences[differences != 0]
    sizes = np.abs(moved)
    if moved.size == 0:
        return 1.0, "no difference"
    if sizes.max() - sizes.min() <= TIE * sizes.max():
        p = fair_coin(int(np.sum(moved > 0)), moved.size, tied)
        how = "exact binomial"
    elif moved.size <= ENUMERATED:
        beyond = np.abs(enumerated(moved)) - abs(moved.sum())
        tie = TIE * sizes.sum()
        p = float(tied * np.mean(beyond >= -tie) + (1 - tied) * np.mean(beyond > tie))
        how = "exact enumeration"
        p = 1.0 if abs(moved.sum()) <= tie else p
    elif (steps := lattice(moved)) is not None:
        p = lattice_p(steps, tied)
        how = "exact by Fourier transform"
    else:
        return None
    return min(
        1.0, p + (1 - tied) * 2.0 ** (1 - moved.size)
    ), how  # the data's own signs count in full


def fair_coin(heads: int, flips: int, tied: float = 1.0) -> float:
    """The exact two-sided p-value of a fair coin, by its number of heads; never 0.

    >>> round(fair_coin(9, 10), 12), round(fair_coin(9, 10, HALF), 12)
    (0.021484375, 0.01171875)
    """
    from scipy.special import bdtr

    fewer = min(heads, flips - heads)
    tail = float(bdtr(fewer, flips, 0.5))
    beyond = float(bdtr(fewer - 1, flips, 0.5)) if fewer else 0.0
    return min(1.0, max(2 * (tied * tail + (1 - tied) * beyond), float(np.finfo(float).tiny)))


def lattice(differences: Floats) -> Ints | None:
    """The differences as integer multiples of their common step; None if there is none, or if it
    takes too much work.

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
    return None if off or sizes.size * np.abs(steps).sum() > LATTICE else steps.astype(np.int64)


def lattice_p(steps: Ints, tied: float = 1.0) -> float:
    """P(|Σ ± steps| ≥ |Σ steps|) for integer steps; never 0.

    The sum of the flipped steps has the characteristic function Π ((1 + e^{itm}) / 2)^c over the
    sizes m with c steps each; its inverse transform is the distribution. Doubles resolve
    probabilities down to about 1e-12.

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
    tail = np.fft.irfft(spectrum, points)[: extreme + 1]
    if 2 * extreme == whole:
        return 1.0
    return float(np.clip(2 * (tail[:-1].sum() + tied * tail[-1]), NOISE, 1.0))


# The p-value of every mean and the interval of a mean, from one set of sign flips -----------------


@dataclass(frozen=True, eq=False)
class Ranges:
    """For each draw, the ends of the range of null means under which it is at least as extreme as
    the data.

    Each range contains the mean; the order of the draws is arbitrary. rounding: means closer than
    this are equal. mean: the origin of the ends.
    """

    low: Floats
    high: Floats
    rounding: float
    mean: float = 0.0

    @property
    def draws(self) -> int:
        """The number of sign vectors, including that of the data."""
        return self.low.size

    def share(self, null: float = 0.0, tied: float = 1.0) -> float:
        """The two-sided p-value of the mean `null`: the share of draws whose range contains it.

        tied: the weight of those whose range ends there.

        >>> Ranges(np.array([-np.inf, 1, 2, 3]), np.array([np.inf, 9, 8, 7]), 0.0, 4.0).share(
        ...     13.0, HALF
        ... )
        0.375
        """
        away = null - self.mean
        far = abs(away) - self.rounding
        beyond = self.low > -far if away < 0 else self.high < far
        inside = self.draws - int(np.count_nonzero(beyond))
        if tied == 1 or abs(away) <= self.rounding:
            return inside / self.draws
        end = self.low if away < 0 else self.high
        ending = np.count_nonzero(np.abs(end - away) <= self.rounding)
        return float(inside - (1 - tied) * ending) / self.draws

    def limits(self, *levels: float) -> dict[float, tuple[float, float]]:
        """For each level the smallest and the largest mean with a p-value of at least 1 − level.

        >>> Ranges(np.array([-np.inf, 1, 2, 3]), np.array([np.inf, 9, 8, 7]), 0.0).limits(0.5)
        {0.5: (1.0, 9.0)}
        """
        limits = {}
        low, high = self.low, self.high
        for level in sorted(levels):
            # Beyond a limit lie at most so many ends, and those beyond the limit of a higher level
            # are among them. The draws change their places, which mean nothing. One place at a
            # time: numpy finds several at once in slower code.
            beyond = max(int(np.ceil(round(self.draws * (1 - level), 9))), 1)
            low.partition(beyond - 1)
            high.partition(high.size - beyond)
            low = low[:beyond]
            high = high[high.size - beyond :]
            limits[level] = self._limit(low[-1]), self._limit(high[0])
        return limits

    def _limit(self, end: float) -> float:
        limit = float(self.mean + end)
        return 0.0 if abs(limit) <= self.rounding else limit


class Memory(threading.local):
    """Memory for the ends of ranges, which each comparison of a thread uses again.

    Memory that is new to the process costs several times the work on its numbers.
    """

    ends: Floats = np.empty((2, 0))

    def for_ends(self, draws: int) -> Floats:
        """Two rows of this length, whose numbers are those of an earlier comparison."""
        if self.ends.shape[1] < draws:
            self.ends = np.empty((2, draws))
        return self.ends[:, :draws]


def ranges(
    total: Floats,
    count: Floats,
    *,
    rng: np.random.Generator,
    draws: int,
    memory: Memory | None = None,
) -> Ranges:
    """The range of each sign vector; total: the difference of each unit, count: its rows.

    memory: where the ends stand, until it is given for other ranges; by default they stay.

    All sign vectors (up to sign) are used for at most 20 units, otherwise at least `draws` random
    ones, and the data's own, whose range is the whole line and which keeps p above 0.

    The order of the units changes nothing, and −total gives the mirrored ranges. The signs flipped
    are those of the units minus their mean: the flipped units and the others then have opposite
    sums, so that one sum per draw gives both ends.

    >>> r = ranges(np.array([1.0, 3.0]), np.ones(2), rng=np.random.default_rng(1), draws=0)
    >>> r.mean, r.low, r.high
    (2.0, array([-inf,  -1.]), array([inf,  1.]))
    """
    order, own_mirror = _drawn_order(total, count)
    total = total[order]
    count = count[order]
    bits = b"" if total.size <= ENUMERATED else random_bits(total.size, rng, draws)
    sizes = remembered(_sizes, count.size)(count.tobytes(), bits)
    rows = float(count.sum())
    mean = float(total.sum()) / rows
    rounding = TIE * float(np.abs(total).sum()) / rows
    every = sizes.kept.size + bool(bits)  # beside random draws the last of all is the data's own
    low, high = (memory or Memory()).for_ends(every)
    low[-1], high[-1] = -np.inf, np.inf
    start = 0
    for drawn in sums(total - mean * count, bits):
        here = slice(start, start + drawn.size)
        flipped = np.multiply(drawn, sizes.flipped[here], out=low[here])
        kept = np.multiply(drawn, sizes.kept[here], out=drawn)
        np.maximum(flipped, kept, out=high[here])
        np.minimum(flipped, kept, out=low[here])
        start = here.stop
    low[sizes.everywhere], high[sizes.everywhere] = -np.inf, np.inf
    if own_mirror and bits:
        half = slice(every // 2)
        low[half], high[half] = -high[half.stop : 2 * half.stop], -low[half.stop : 2 * half.stop]
    return Ranges(low, high, rounding, mean)


def _drawn_order(total: Floats, count: Floats) -> tuple[Ints, bool]:
    """The order in which units get their signs, one for `total` and −`total`; and whether both are
    the same units.

    >>> [
    ...     _drawn_order(np.array(total), np.ones(2))
    ...     for total in ([-1.0, 3.0], [1.0, -3.0], [1.0, -1.0])
    ... ]
    [(array([0, 1]), False), (array([0, 1]), False), (array([1, 0]), True)]
    """
    forth, back = (np.lexsort([count, side]) for side in (total, -total))
    for side, other in ((total[forth], -total[back]), (count[forth], count[back])):
        apart = np.flatnonzero(side != other)
        if apart.size:
            return (forth if side[apart[-1]] > other[apart[-1]] else back), False
    return forth, True


@dataclass(frozen=True, eq=False)
class _Sizes:
    """Of each draw −1 over the rows of the flipped and 1 over those of the kept units, 0 if there
    are none.

    everywhere: the draws that flip nothing or everything, which are as extreme as the data whatever
    the mean.
    """

    flipped: Floats
    kept: Floats
    everywhere: Ints


@lru_cache(REMEMBERED)
def _sizes(count: bytes, bits: bytes) -> _Sizes:
    """The sizes under these sign vectors; count: the rows of each unit. All pairs on the same units
    share them.
    """
    values = np.frombuffer(count)
    size = np.concatenate(list(sums(values, bits)))
    n = values.sum()
    # Counts that are not whole, such as the actual values below a WAPE, add up to n but for
    # rounding.
    return _Sizes(
        -_inverse(n - size), _inverse(n + size), np.flatnonzero(np.abs(size) >= n * (1 - TIE))
    )


def _inverse(size: Floats) -> Floats:
    return np.divide(1.0, size, out=np.zeros(size.size), where=size != 0)


# Small p-values: importance sampling where plain draws hardly reach -------------------------------

# Of 100,000 plain draws none gives a p below 1e-5, and over 5,000 comparisons Holm raises that
# above 0.05. Here the signs are drawn with the probabilities that make the observed sum the
# expected one (exponential tilting), and each draw is weighted by how much likelier it was made:
# the mean weight of the draws that are as extreme is an unbiased estimate of p, with about the same
# relative error however small p is. Siegmund, Annals of Statistics 1976,
# doi:10.1214/aos/1176343541; for saddle-point tails of this test see Robinson, JRSS B 1982,
# doi:10.1111/j.2517-6161.1982.tb01191.x.

DRAWS = 8_192
TAIL = f"importance sampling with {DRAWS:,} draws"
# plain draws as extreme as the data from which their share is precise: p with a tenth of error at
# most
RARE = 100
STEPS = 100  # of Newton's method, which is within rounding after some ten
STREAMS = 2  # draws that are kept for the next pair of systems, at most 16 MB each
LINES = 512  # draws that are worked on at once, so that they stay in the processor's cache
BLOCK = 32 * DRAWS  # numbers that are drawn at once
LARGEST = 256  # units whose signs are drawn; the sum of the smaller ones is normal


def p_value(
    total: Floats, drawn: Ranges, *, rng: np.random.Generator, tied: float = 1.0
) -> tuple[float, str]:
    """The two-sided p-value of a mean of 0, and its method, given the ranges that were drawn.

    It is exact if possible, else the share of the draws, else the tail probability by importance
    sampling, which counts every tie in full.

    >>> drawn = ranges(np.array([1.0, 3.0]), np.ones(2), rng=np.random.default_rng(1), draws=0)
    >>> p_value(np.array([1.0, 3.0]), drawn, rng=np.random.default_rng(1))
    (0.5, 'exact enumeration')
    """
    if total.size <= ENUMERATED and tied == 1:
        return drawn.share(), "exact enumeration"
    if exact := exact_p(total, tied):
        return exact
    p = drawn.share(tied=tied)
    if p * drawn.draws > RARE:
        return p, f"{drawn.draws - 1:,} Walsh–Hadamard draws"
    return tail_p(total, rng=rng), TAIL


def tail_p(differences: Floats, *, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """P(|Σ ± d| ≥ |Σ d|) for fair signs: unbiased, with a relative error of some percent; never 0.

    differences: one per unit, (n,). With a = |d| the sum is as extreme if the flipped a add up to
    at most half of Σ a − |Σ d|. Under the tilt θ unit i is flipped with probability
    1 / (1 + exp(2 θ a)). If all differences have one sign, only the two plain sign vectors are as
    extreme, and p is 2^(1 − n).

    >>> tail_p(np.full(30, 0.5), rng=np.random.default_rng(1)) == 2.0**-29
    True
    >>> d = np.repeat([1.0, -1.0], [36, 4])
    >>> f"{tail_p(d, rng=np.random.default_rng(1)):.1e}"  # the binomial test has 1.9e-07
    '1.9e-07'
    """
    size = np.sort(np.abs(differences[differences != 0]))[::-1]
    least = max(2.0 ** float(1 - size.size), float(np.finfo(float).tiny))
    whole = fsum(size)
    total = abs(fsum(differences))
    if total <= TIE * whole:
        return 1.0
    missing = (whole - total) / 2
    if missing + TIE * whole < size[-1]:
        return least
    theta = _tilt(size / size[0], total / size[0]) / size[0]
    log = _log_weights(size, missing + TIE * whole, theta, rng, draws)
    shift = log.max()
    constant = np.log1p(np.exp(-2 * theta * size)).sum() - size.size * np.log(2)
    log_p = (
        np.log(2) + shift + np.log(np.exp(log - shift).mean()) + constant
        if np.isfinite(shift)
        else -np.inf
    )
    return float(min(1.0, max(np.exp(log_p), least)))


def _tilt(size: Floats, total: float) -> float:
    """The θ with Σ a tanh(θ a) = total, by Newton's steps from below: the sum is concave in θ.

    >>> round(_tilt(np.array([1.0, 1.0]), 1.0), 9)  # the inverse hyperbolic tangent of 0.5
    0.549306144
    """
    theta = 0.0
    square = size**2
    for _ in range(STEPS):
        bent = np.tanh(theta * size)
        step = (total - float(size @ bent)) / float(square @ (1 - bent**2))
        theta += step
        if step <= 1e-15 * theta:
            break
    return theta


def _log_weights(
    size: Floats, missing: float, theta: float, rng: np.random.Generator, draws: int
) -> Floats:
    """log of exp(2 θ f) for each draw's flipped sum f, −∞ where f is above `missing`.

    Of the units beyond the largest, the flipped sum g is normal with its tilted mean and variance,
    and the expectation of exp(2 θ g) over g ≤ missing − f takes its place.
    """
    from scipy.special import log_ndtr

    odds = 1 / (1 + np.exp(np.minimum(2 * theta * size, 700.0)))
    drawn = slice(0, LARGEST)
    rest = slice(LARGEST, None)
    flipped = _flipped(_uniform(rng, draws * size[drawn].size), odds[drawn], size[drawn], draws)
    if size.size <= LARGEST:
        return np.where(flipped <= missing, 2 * theta * flipped, -np.inf)
    mean = odds[rest] @ size[rest]
    variance = (odds[rest] * (1 - odds[rest])) @ size[rest] ** 2
    below = (missing - flipped - mean - 2 * theta * variance) / np.sqrt(
        np.maximum(variance, np.finfo(float).tiny)
    )
    return 2 * theta * (flipped + mean + theta * variance) + log_ndtr(below)


def _flipped(uniform: Floats, odds: Floats, size: Floats, draws: int) -> Floats:
    """The sum of the units that each draw flips: those whose number is below their odds.

    >>> _flipped(np.array([0.1, 0.6, 0.9, 0.2]), np.array([0.5, 0.5]), np.array([1.0, 3.0]), 2)
    array([1., 3.])
    """
    lines = uniform.reshape(draws, -1)
    return np.concatenate(
        [(lines[at : at + LINES] < odds).astype(float) @ size for at in range(0, draws, LINES)]
    )


def _uniform(rng: np.random.Generator, size: int) -> Floats:
    """The next numbers of `rng`, in whole blocks, so that pairs which differ on more or fewer units
    share them too.
    """
    return _numbers(rng, -(-size // BLOCK) * BLOCK)[:size]


@replayed(STREAMS)
def _numbers(rng: np.random.Generator, size: int) -> Floats:
    return rng.random(size)

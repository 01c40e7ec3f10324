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
Below, `tie_weight` is the weight of such draws: 1 or ½.
"""

import pickle
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import NamedTuple, TypeVar

import numpy as np

from evalkit.arrays import Floats, Ints, exact_sum, product
from evalkit.statistics.spread import Interval

MAX_ENUMERATED_UNITS = 20  # most units of which all 2^n sign vectors are visited
SUMS_AT_ONCE = 2**14  # draws that are worked on at once, so that they stay in the processor's cache
HALF = 0.5  # the weight of draws exactly as extreme as the data in the mid-p
# columns of sizes whose draws are cached: all pairs of systems on the same units share them
CACHED_RESULTS = 4
MAX_CACHED_UNITS = 2**16  # most units whose draws are cached: some megabytes
MAX_SUMS_HELD = 2**22  # drawn sums held at once when many columns share their signs
MAX_MATRIX_ORDER = 64  # points of the Walsh–Hadamard transform that one product takes
SUM_TIE_TOLERANCE = 1e-12  # relative to Σ|d|: sums that differ by less differ by rounding only
# most work of `lattice_p`, distinct sizes × Σ |steps| (about the points of its transform): a second
MAX_LATTICE_WORK = 2**25
MOST_SIZES = 64  # most distinct magnitudes of differences on a lattice
SMALLEST_BY_TRANSFORM = 1e-12  # a transform in doubles cannot tell smaller probabilities from 0

Result = TypeVar("Result")


def replayed(draw: Callable[..., Result]) -> Callable[..., Result]:
    """A function `draw(rng, *sizes)` with its last `CACHED_STREAMS` results cached, by the state of
    the random generator and the sizes.

    Where a result is cached, the generator is set to the state that drawing would have left.

    >>> times = []
    >>> @replayed
    ... def draw(rng, size):
    ...     times.append(size)
    ...     return rng.random(size).tolist()
    >>> first, second = np.random.default_rng(1), np.random.default_rng(1)
    >>> draw(first, 2) == draw(second, 2), times, first.random() == second.random()
    (True, [2], True)
    """

    @lru_cache(CACHED_STREAMS)
    def draw_from(
        kind: type[np.random.BitGenerator], state: bytes, *sizes: int
    ) -> tuple[Result, Mapping[str, object]]:
        """The result from this pickled state of a generator, and its state afterwards."""
        bits = kind()
        bits.state = pickle.loads(state)
        result = draw(np.random.Generator(bits), *sizes)
        return result, bits.state

    @wraps(draw)
    def draw_or_replay(rng: np.random.Generator, *sizes: int) -> Result:
        """The result for this generator, which is left as if it had drawn."""
        bits = rng.bit_generator
        result, after = draw_from(type(bits), pickle.dumps(bits.state), *sizes)
        bits.state = after
        return result

    return draw_or_replay


def enumerated(values: Floats) -> Floats:
    """Σ ± values for every choice of signs, with + for the first value: shape (…, n) in, (…,
    2^(n−1)) out, the sum without a flipped sign first.

    >>> enumerated(np.array([1.0, 3.0]))
    array([ 4., -2.])
    """
    sums = values[..., :1].copy()
    for i in range(1, values.shape[-1]):
        value = values[..., i, None]  # with an axis, along which it is added to all sums so far
        sums = np.concatenate([sums + value, sums - value], axis=-1)  # twice as many
    return sums


def joint_draws(columns: Floats, *, rng: np.random.Generator, draws: int) -> Floats:
    """Σ ± column under at least `draws` random sign vectors, which all columns share: (units,
    columns) in, (columns, draws) out.

    One vector of random signs, times each row of a Walsh–Hadamard matrix, gives a block of N =
    2^⌈log₂ units⌉ sign vectors: each is uniform over all sign vectors, and a fast transform gives
    their N sums for N log₂ N additions. Draws of one block are uncorrelated, not independent.
    Koning, Hemerik, Biometrika 2024, doi:10.1093/biomet/asad050.
    """
    return signed_sums(columns, signs(len(columns), rng, draws))


def signs(n: int, rng: np.random.Generator, draws: int) -> Floats:
    """Random signs of n units, 1 or −1, one row per block of `joint_draws`; as many blocks as at
    least `draws` draws need. Rows are padded by 0 to a power of two.
    """
    return _signs(random_bits(n, rng, draws), n)


def signed_sums(columns: Floats, signs: Floats) -> Floats:
    """Σ ± column for each drawn sign vector: (units, columns) in, (columns, draws) out.

    signs: as from the function `signs`, shape (blocks, points), points being the first power of two
    that is not below the number of units. A row of signs, times each line of the Hadamard matrix of
    that order, gives the sign vectors of `points` draws: draws = blocks · points.
    """
    units, m = columns.shape
    blocks, points = signs.shape
    padded = np.zeros((m, 1, points))  # units beyond the last are 0, and add nothing
    padded[:, 0, :units] = columns.T
    signed = signs * padded  # (columns, blocks, points): every row of signs times every column
    return walsh_hadamard(signed).reshape(m, blocks * points)


def random_bits(n: int, rng: np.random.Generator, draws: int) -> bytes:
    """A random bit for each of n units in each block of draws, packed into bytes of eight bits; a
    block begins with a byte of its own, so that its last byte may have unused bits.
    """
    blocks = _ceil_divide(draws, _points(n))  # a block gives as many draws as it has points
    return rng.integers(0, 256, (blocks, _ceil_divide(n, 8)), dtype=np.uint8).tobytes()


def _ceil_divide(number: int, divisor: int) -> int:
    """number / divisor, rounded up."""
    return -(-number // divisor)


def _signs(bits: bytes, n: int) -> Floats:
    """The signs of n units, 1 for a bit of 0 and −1 for 1: shape (blocks, points), with points ≥ n
    a power of two; from unit n on they are 0.

    bits: as from `random_bits`. They are cached for all pairs of systems on the same units, unless
    there are so many units that this takes much memory.
    """
    if n <= MAX_CACHED_UNITS:
        return _cached_signs(bits, n)
    return _computed_signs(bits, n)


def _computed_signs(bits: bytes, n: int) -> Floats:
    """The signs as in `_signs`, not taken from the cache."""
    blocks = np.frombuffer(bits, np.uint8).reshape(-1, _ceil_divide(n, 8))  # a row per block
    signs = np.zeros((len(blocks), _points(n)))
    signs[:, :n] = 1.0 - 2.0 * np.unpackbits(blocks, axis=1, count=n)
    return signs


_cached_signs = lru_cache(CACHED_RESULTS)(_computed_signs)


def _points(n: int) -> int:
    """The length of the Walsh–Hadamard transform of n units: the next power of two."""
    return 1 << max(n - 1, 0).bit_length()


def sums(values: Floats, bits: bytes) -> Iterator[Floats]:
    """Yield Σ ± values of all draws, in chunks of shape (draws of the chunk,).

    values: one per unit. bits: as from `random_bits`; they give rows of signs. A row, times each
    line of the Hadamard matrix, is the sign vector of one draw. Empty bits stand for all sign
    vectors, one of each two opposite ones (`enumerated`).
    """
    if not bits:
        all_sums = enumerated(values)
        for start in range(0, all_sums.size, SUMS_AT_ONCE):
            yield all_sums[start : start + SUMS_AT_ONCE]
        return
    signs = _signs(bits, values.size)
    points = signs.shape[1]  # the draws that a row of signs gives
    padded = np.zeros(points)
    padded[: values.size] = values
    rows_at_once = max(1, SUMS_AT_ONCE // points)
    for start in range(0, len(signs), rows_at_once):
        block = signs[start : start + rows_at_once]
        if 1 < points <= MAX_MATRIX_ORDER:  # then two matrix products are faster than the transform
            yield _sums_by_halves(block, values)
        else:
            yield walsh_hadamard(block * padded).ravel()


def _sums_by_halves(signs: Floats, values: Floats) -> Floats:
    """Σ ± values of each draw, shape (draws,), by two matrix products.

    signs: shape (rows, 2 h). Each row, times each line of the Hadamard matrix of 2 h lines, is the
    sign vector of one draw: draws = rows · 2 h. That matrix is [[H, H], [H, −H]], with the Hadamard
    matrix H of h lines. So H multiplies the first h signed values, and the remaining ones, apart.
    The sums of both products are the first h draws of a row, their differences the other h.
    """
    n = values.size  # above h, at most 2 h
    half = signs.shape[1] // 2  # h
    matrix = _hadamard(half)
    by_first_half = signs[:, :half] @ (values[:half, None] * matrix)  # (rows, h)
    # n − h values remain: only so many lines of the matrix meet a value
    lines = matrix[: n - half]
    by_second_half = signs[:, half:n] @ (values[half:, None] * lines)
    draws = np.empty((len(signs), 2, half))
    np.add(by_first_half, by_second_half, out=draws[:, 0])
    np.subtract(by_first_half, by_second_half, out=draws[:, 1])
    return draws.ravel()


def walsh_hadamard(values: Floats) -> Floats:
    """The Walsh–Hadamard transform along the last axis, whose length is a power of two: the product
    with the Hadamard matrix of this length.

    The matrix is a Kronecker product of smaller Hadamard matrices. These, of 64 lines or fewer, are
    applied one after the other: a few matrix products are faster than many levels of additions.

    >>> walsh_hadamard(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10., -2., -4.,  0.])
    """
    shape = values.shape
    length = shape[-1]
    transformed = 1  # blocks of so many neighbouring values are transformed already
    while transformed < length:
        order = min(MAX_MATRIX_ORDER, length // transformed)  # so many blocks become one
        matrix = _hadamard(order)
        if transformed == 1:
            # blocks of one value: one product, faster than below. The matrix is symmetric, so that
            # it may stand on the right.
            values = product(values.reshape(-1, order), matrix)
        else:
            # (…, blocks, values of a block): the matrix adds and subtracts whole blocks
            values = np.matmul(matrix, values.reshape(-1, order, transformed))
        transformed *= order
    return values.reshape(shape)


@lru_cache
def _hadamard(points: int) -> Floats:
    """The Hadamard matrix of 1 and −1 in Sylvester's order, shape (points, points); points: a power
    of two.
    """
    matrix = np.ones((1, 1))
    while len(matrix) < points:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


class PValue(NamedTuple):
    """A two-sided p-value, and how it was computed.

    overlap: by how much the p-values of both one-sided tests add up to more than 1, as both count
    the observed sum; 0 if it is not known. One-sided p-values follow from it.
    """

    p: float
    method: str
    overlap: float = 0.0


def exact_p(differences: Floats, tie_weight: float = 1.0) -> PValue | None:
    """The exact two-sided p-value of a mean of 0; None if no exact way is fast enough, so that
    signs have to be drawn.

    Differences of 0 change nothing. If the other differences have one size, the test is the
    binomial (sign, McNemar) test. The sign vectors of at most 20 others are enumerated. Integer
    multiples of a common step, such as differences of precision at k, take one Fourier transform.
    tie_weight: of sign vectors exactly as extreme as the data, 1, or ½ for the mid-p.

    >>> exact_p(np.array([0.5, 0.5, 1.0, 1.5, 0.0]))
    PValue(p=0.125, method='exact enumeration', overlap=0.0625)
    """
    nonzero = differences[differences != 0]
    n = nonzero.size
    if n == 0:
        return PValue(1.0, "no difference", overlap=1.0)  # both one-sided p-values are 1
    sizes = np.abs(nonzero)
    if sizes.max() - sizes.min() <= SUM_TIE_TOLERANCE * sizes.max():
        positives = int(np.sum(nonzero > 0))
        p, tied = _binomial_p(positives, n, tie_weight)
        method = "exact binomial"
    elif n <= MAX_ENUMERATED_UNITS:
        p, tied = _enumerated_p(nonzero, tie_weight)
        method = "exact enumeration"
    else:
        steps = lattice(nonzero)
        if steps is None:
            return None
        p, tied = _lattice_p(steps, tie_weight)
        method = "exact by Fourier transform"
    # The data's own signs, one of 2ⁿ vectors, must count in full, as the data do among draws. So
    # far they count with the weight w of a tie. With the sum S and its observed value s:
    #   upper tail = P(S > s) + w P(S = s) + (1 − w) 2⁻ⁿ
    #   lower tail = P(S < s) + w P(S = s) + (1 − w) 2⁻ⁿ
    # Their sum is 1 + (2w − 1) P(S = s) + 2 (1 − w) 2⁻ⁿ. p is twice the smaller tail.
    rest_of_own_signs = (1 - tie_weight) * 2.0 ** (1 - n)  # 2 (1 − w) 2⁻ⁿ
    overlap = (2 * tie_weight - 1) * tied + rest_of_own_signs
    return PValue(min(1.0, p + rest_of_own_signs), method, overlap)


class TiedP(NamedTuple):
    """A two-sided p-value, and `tied`, the probability of exactly the observed sum (not of its
    negative). The data's own signs count as a tie here; `exact_p` adds the rest of their weight.
    """

    p: float
    tied: float


def _binomial_p(heads: int, flips: int, tie_weight: float) -> TiedP:
    """The p-value of the hypothesis that a coin is fair, as `fair_coin`, and the probability of
    exactly so many heads.
    """
    fewer = min(heads, flips - heads)  # so many heads are as probable as so many tails
    below = _probability_of_at_most(fewer - 1, flips)
    tied = _probability_of_at_most(fewer, flips) - below
    return TiedP(fair_coin(heads, flips, tie_weight), tied)


def _probability_of_at_most(heads: int, flips: int) -> float:
    """The probability of at most so many heads of a fair coin; 0 for −1."""
    from scipy.special import bdtr

    if heads < 0:  # bdtr is NaN there
        return 0.0
    return float(bdtr(heads, flips, 0.5))


def _enumerated_p(differences: Floats, tie_weight: float) -> TiedP:
    """P(|Σ ± d| ≥ |Σ d|) over all sign vectors of the differences d, where vectors with
    |Σ ± d| = |Σ d| count with `tie_weight`; and P(Σ ± d = Σ d).
    """
    rounding = SUM_TIE_TOLERANCE * np.abs(differences).sum()  # sums that differ by less are equal
    observed = abs(differences.sum())
    excess = np.abs(enumerated(differences)) - observed  # |Σ ± d| − |Σ d|
    is_equal = np.abs(excess) <= rounding
    equal_share = float(is_equal.mean())  # P(|Σ ± d| = |Σ d|)
    if observed <= rounding:
        # The observed sum S is 0. Each tail has P(S > 0) + tie_weight · P(S = 0), which is at least
        # ½ even for the mid-p. So p, twice the smaller tail, is 1.
        return TiedP(1.0, equal_share)
    at_least = np.mean(excess >= -rounding)
    greater = np.mean(excess > rounding)
    p = tie_weight * at_least + (1 - tie_weight) * greater
    return TiedP(float(p), equal_share / 2)  # half of these vectors have the sum Σ d, half −Σ d


def fair_coin(heads: int, flips: int, tie_weight: float = 1.0) -> float:
    """The exact two-sided p-value of the hypothesis that a coin is fair, from its number of heads
    in so many flips; never 0. tie_weight: the weight of exactly this number of heads, and of
    exactly as many tails: 1, or ½ for the mid-p.

    >>> round(fair_coin(9, 10), 12), round(fair_coin(9, 10, HALF), 12)
    (0.021484375, 0.01171875)
    """
    fewer = min(heads, flips - heads)
    at_most = _probability_of_at_most(fewer, flips)
    below = _probability_of_at_most(fewer - 1, flips)
    one_sided_p = tie_weight * at_most + (1 - tie_weight) * below
    smallest = float(np.finfo(float).tiny)  # of many flips p would become 0 by underflow
    return min(1.0, max(2 * one_sided_p, smallest))


def lattice(differences: Floats) -> Ints | None:
    """The differences as integer multiples of their common step, for `lattice_p`; None if they have
    no common step, or if `lattice_p` would take more work than `MAX_LATTICE_WORK`. At least one
    difference must not be 0.

    >>> lattice(np.array([0.1, -0.2, 0.7 - 0.4]))
    array([ 1, -2,  3])
    """
    magnitudes = np.abs(differences)
    largest = float(magnitudes.max())
    magnitude_sum = float(magnitudes.sum())
    # the different magnitudes; rounded, so that two which differ by rounding only are one
    relative_sizes = (magnitudes / largest).round(12)
    sizes = np.unique(relative_sizes) * largest
    if sizes.size > MOST_SIZES:
        return None
    step = largest  # the greatest common divisor of the sizes so far
    for size in sizes.tolist():
        step = _common_step(step, size, rounding=1e-6 * largest)
        # The work is a product per size and point of the transform, which has about Σ |steps|
        # points. Each further size may make the step smaller, and so the work larger: stop as soon
        # as it is too much. The step may have a rounding error here, so that only twice the bound
        # is surely too much; the exact work is compared below.
        work = sizes.size * (magnitude_sum / step)
        if work > 2 * MAX_LATTICE_WORK:
            return None
    steps = np.round(differences / step)  # whole numbers
    errors = differences - steps * step
    largest_error = np.abs(errors).max()
    work = sizes.size * np.abs(steps).sum()
    # an error above rounding: the differences are no multiples of the step
    if largest_error > 1e-9 * largest or work > MAX_LATTICE_WORK:
        return None
    return steps.astype(np.int64)


def _common_step(step: float, size: float, rounding: float) -> float:
    """The greatest common divisor of `step` and `size`, both above 0, by Euclid's algorithm; a
    remainder of at most `rounding` counts as 0.

    >>> round(_common_step(0.6, 0.4, 1e-6), 12)
    0.2
    """
    while size > rounding:
        multiple = size * round(step / size)  # the multiple of the size nearest to the step
        remainder = abs(step - multiple)
        step = size
        size = remainder
    return step


def lattice_p(steps: Ints, tie_weight: float = 1.0) -> float:
    """P(|Σ ± steps| ≥ |Σ steps|) for integer steps, one per unit; never 0.

    The sum of the sizes of the flipped steps has the characteristic function Π ((1 + e^{itm}) /
    2)^c over the sizes m with c steps each; its inverse Fourier transform is the distribution.
    Doubles resolve probabilities down to about 1e-12. tie_weight: of sums exactly as extreme as the
    observed one: 1, or ½ for the mid-p.

    >>> round(lattice_p(np.array([1, 1, 2, 3])), 12)
    0.125
    """
    return _lattice_p(steps, tie_weight).p


def _lattice_p(steps: Ints, tie_weight: float) -> TiedP:
    """The p-value of `lattice_p`, P(|Σ ± steps| ≥ |Σ steps|), and the probability of exactly the
    observed sum, P(Σ ± steps = Σ steps). Arguments as there.
    """
    sizes, counts = np.unique(np.abs(steps), return_counts=True)
    size_sum = int(sizes @ counts)
    points = 1 << size_sum.bit_length()  # of the transform: a power of two above the largest sum
    # probabilities are real, so that half of the frequencies determine them
    frequency = np.arange(points // 2 + 1)
    # The characteristic function Π ((1 + e^{itm}) / 2)^c with t = −2π · frequency / points. As
    # (1 + e^{itm}) / 2 = e^{itm/2} cos(tm / 2), it is e^{it · size_sum / 2} Π cos(tm / 2)^c. Both
    # factors repeat after 2 · points, so that cosines are read from a table.
    period = 2 * points
    angle = np.pi * np.arange(period) / points
    cosine = np.cos(angle)
    phase = np.pi * (frequency * size_sum % period) / points
    spectrum = np.exp(-1j * phase)
    for size, count in zip(sizes, counts, strict=True):
        cosine_of_size = cosine[frequency * size % period]
        spectrum *= cosine_of_size**count
    # If the flipped sizes add up to f, the sum is size_sum − 2 f: for f < most_flipped it is larger
    # than the observed size |Σ steps|, for f = most_flipped it is this size.
    observed = abs(int(steps.sum()))
    most_flipped = (size_sum - observed) // 2
    probability = np.fft.irfft(spectrum, points)[: most_flipped + 1]  # of f = 0, …, most_flipped
    tied = max(float(probability[-1]), 0.0)  # a rounding error may be negative
    if observed == 0:  # each tail is at least ½, also for the mid-p, see `_enumerated_p`
        return TiedP(1.0, tied)
    one_tail = probability[:-1].sum() + tie_weight * probability[-1]
    p = np.clip(2 * one_tail, SMALLEST_BY_TRANSFORM, 1.0)
    return TiedP(float(p), tied)


# The p-value of every mean and the interval of a mean, from one set of sign flips -----------------


@dataclass(frozen=True, eq=False)
class Ranges:
    """For each draw (a vector of signs, one per unit) the range of the null means under which the
    mean of the flipped data is at least as extreme as that of the data.

    low, high: the distances of the ends from the observed mean, at most and at least 0, shape
    (draws,), in any order. mean: the observed mean, which all ranges contain. rounding: means
    closer than this are equal.
    """

    low: Floats
    high: Floats
    rounding: float
    mean: float = 0.0

    @property
    def draws(self) -> int:
        """The number of sign vectors, including that of the data."""
        return self.low.size

    def share(self, null: float = 0.0, tie_weight: float = 1.0) -> float:
        """The two-sided p-value of the mean `null`: the share of draws whose range contains it.

        tie_weight: the weight of draws whose range ends at `null`, which are exactly as extreme as
        the data: 1, or ½ for the mid-p.

        >>> low, high = np.array([-np.inf, -3, -2, -1]), np.array([np.inf, 9, 8, 7])
        >>> Ranges(low, high, rounding=0.0, mean=4.0).share(
        ...     13.0
        ... )  # 9 above the mean: two contain it
        0.5
        >>> Ranges(low, high, rounding=0.0, mean=4.0).share(13.0, HALF)  # one ends there
        0.375
        """
        distance = null - self.mean  # as `low` and `high`, which count from the mean
        # a range that ends within rounding of the null contains it
        least_reach = abs(distance) - self.rounding
        # each range contains the mean, so that only the end on the side of `null` matters
        contains_null = self.low <= -least_reach if distance < 0 else self.high >= least_reach
        containing = int(np.count_nonzero(contains_null))
        # at the mean itself p is 1, also for the mid-p, whose two tails are each at least ½ there
        if tie_weight == 1 or abs(distance) <= self.rounding:
            return containing / self.draws
        ties = self._count_ends_at(distance)
        weighted_draws = containing - (1 - tie_weight) * ties
        return float(weighted_draws) / self.draws

    def _count_ends_at(self, distance: float) -> int:
        """The number of draws whose range ends at `distance` from the mean, negative if below."""
        ends = self.low if distance < 0 else self.high
        from_distance = np.abs(ends - distance)
        return int(np.count_nonzero(from_distance <= self.rounding))

    @property
    def tied(self) -> float:
        """The probability of exactly the observed sum if the mean is 0, by which both tails
        overlap. It is known only if the draws are all sign vectors, one of each two opposite ones.
        """
        distance = -self.mean  # from the mean to 0
        # The range of a draw ends at 0 if the draw is exactly as extreme as the data: its sum is
        # the observed one or its negative. The draw without flipped signs has the observed sum too.
        # It is added, as its range is the whole line, which ends nowhere.
        draws_of_equal_size = self._count_ends_at(distance) + 1
        share = draws_of_equal_size / self.draws
        if abs(distance) <= self.rounding:  # the observed sum is 0, its own negative
            return share
        return share / 2  # of all sign vectors half have the observed sum, half its negative

    def limits(self, *levels: float) -> dict[float, Interval]:
        """For each level the smallest and the largest mean with a p-value of at least 1 − level.

        The p-value of a mean is the share of the ranges that contain it. The ends of ranges are
        relative to `mean`, and each range contains it: below it only the low ends decide, above it
        only the high ends.

        >>> low, high = np.array([-np.inf, -3, -2, -1]), np.array([np.inf, 9, 8, 7])
        >>> Ranges(low, high, rounding=0.0, mean=4.0).limits(0.5)
        {0.5: Interval(low=1.0, high=13.0)}
        """
        limits = {}
        low = self.low
        high = self.high
        for level in sorted(levels):
            # A mean has a p-value of at least 1 − level if at least `place` ranges contain it. So
            # the lower limit is the low end at this place in rising order, the upper one the high
            # end at this place in falling order.
            least_containing = round(self.draws * (1 - level), 9)  # rounded: 1 − level is inexact
            place = max(int(np.ceil(least_containing)), 1)
            # `partition` puts this end where it would be in rising order, and the ends farther out
            # beyond it. It reorders the array itself, whose order has no meaning. It is given one
            # place at a time, which is faster in numpy than several.
            low.partition(place - 1)
            high.partition(high.size - place)
            # the limits of the higher levels lie farther out: the other ends are not needed
            low = low[:place]
            high = high[high.size - place :]
            limits[level] = Interval(self._limit(low[-1]), self._limit(high[0]))
        return limits

    def _limit(self, end: float) -> float:
        """The null mean at this end of a range; exactly 0 if it is 0 within rounding."""
        limit = float(self.mean + end)
        return 0.0 if abs(limit) <= self.rounding else limit


class Memory(threading.local):
    """Memory for the ends of `Ranges`, which a thread uses for one comparison after the other: new
    memory costs several times the work on its numbers.
    """

    ends: Floats = np.empty((2, 0))

    def for_ends(self, draws: int) -> Floats:
        """Two rows to be overwritten, shape (2, draws): their numbers are left from before."""
        if self.ends.shape[1] < draws:
            self.ends = np.empty((2, draws))
        return self.ends[:, :draws]


def null_mean_ranges(
    total: Floats,
    count: Floats,
    *,
    rng: np.random.Generator,
    draws: int,
    memory: Memory | None = None,
) -> Ranges:
    """For each sign vector the range of null means under which it is at least as extreme as the
    data: between the means of the flipped and of the unflipped units. Both ends are given as
    distances from the observed mean.

    total: the sum of the differences of each unit, shape (units,). count: the number of rows of
    each unit, (units,). draws: the least number of random sign vectors. memory: holds the ends
    until it is used for other ranges; by default each result has new memory.

    For at most 20 units all sign vectors are used, one of each two opposite ones. Otherwise there
    are random ones and, last, the one that flips nothing. Its range is the whole line, which keeps
    p above 0. The order of the units changes nothing, and −total gives the mirrored ranges.

    Signs are applied to total − mean · count, whose sum is 0. The sums of the flipped and of the
    unflipped units are then opposite, so that one sum per draw gives both ends.

    >>> r = null_mean_ranges(
    ...     np.array([1.0, 3.0]), np.ones(2), rng=np.random.default_rng(1), draws=0
    ... )
    >>> r.mean, r.low, r.high
    (2.0, array([-inf,  -1.]), array([inf,  1.]))
    """
    order = _drawn_order(total, count)  # one for `total` and −`total`: swapped systems mirror p
    total = total[order.units]
    count = count[order.units]
    is_random = total.size > MAX_ENUMERATED_UNITS
    bits = random_bits(total.size, rng, draws) if is_random else b""  # empty: all sign vectors
    factors = _mean_factors(count.tobytes(), bits)
    rows = float(count.sum())
    mean = float(total.sum()) / rows
    size_sum = float(np.abs(total).sum())
    rounding = SUM_TIE_TOLERANCE * size_sum / rows
    all_draws = factors.unflipped.size
    if is_random:  # one more draw, which flips nothing; among all sign vectors it is already
        all_draws += 1
    low, high = (memory or Memory()).for_ends(all_draws)
    if is_random:
        unflipped_draw = all_draws - 1  # the last place
        _set_whole_line(low, high, unflipped_draw)
    start = 0
    for drawn_sums in sums(total - mean * count, bits):
        stop = start + drawn_sums.size
        # The means of the flipped and of the unflipped units, less the mean of all. They are
        # written into `low` and `drawn_sums`, which are free: new memory costs time.
        flipped_mean = np.multiply(drawn_sums, factors.flipped[start:stop], out=low[start:stop])
        unflipped_mean = np.multiply(drawn_sums, factors.unflipped[start:stop], out=drawn_sums)
        np.maximum(flipped_mean, unflipped_mean, out=high[start:stop])
        np.minimum(flipped_mean, unflipped_mean, out=low[start:stop])
        start = stop
    # a draw that flips no unit or all units is as extreme as the data under every mean
    _set_whole_line(low, high, factors.all_or_none)
    if order.own_mirror and is_random:
        # −total is `total` in another order, and so has these ranges too. But swapped systems must
        # mirror p and limits: the ranges are made their own mirror image.
        _mirror_half(low, high)
    return Ranges(low, high, rounding, mean)


def _mirror_half(low: Floats, high: Floats) -> None:
    """Replace half of the ranges by the other half mirrored at 0, so that all of them together are
    their own mirror image. low, high: the ends of the ranges, (draws,), which are overwritten.
    """
    half = low.size // 2
    mirrored_low = -high[half : 2 * half]
    mirrored_high = -low[half : 2 * half]
    low[:half] = mirrored_low
    high[:half] = mirrored_high


def _set_whole_line(low: Floats, high: Floats, places: Ints | int) -> None:
    """Let the ranges of the draws at these places be the whole line."""
    low[places] = -np.inf
    high[places] = np.inf


class DrawnOrder(NamedTuple):
    """The order in which units get their signs. own_mirror: True if the negated differences, in
    some order, are the differences themselves.
    """

    units: Ints
    own_mirror: bool


def _drawn_order(total: Floats, count: Floats) -> DrawnOrder:
    """The order in which units get their signs: the same one for `total` and −`total`, so that
    swapping the systems gives the same p. total, count: as in `null_mean_ranges`. The result's
    `own_mirror` is True if −`total`, with its rows, is `total` in another order.

    >>> for total in ([-1.0, 3.0], [1.0, -3.0], [1.0, -1.0]):
    ...     order = _drawn_order(np.array(total), np.ones(2))
    ...     print(order.units, order.own_mirror)
    [0 1] False
    [0 1] False
    [1 0] True
    """
    rising = np.lexsort([count, total])
    # the order in which −total rises; from the reversed order, whose runs are sorted already
    reverse = rising[::-1]
    falling = reverse[np.lexsort([count[reverse], -total[reverse]])]
    # −total has the same two orders with exchanged names, so that the choice may depend only on
    # the numbers: first the sorted differences are compared, then the rows. At the last place where
    # the two orders differ, the one with the larger number is chosen.
    sorted_columns = ((total[rising], -total[falling]), (count[rising], count[falling]))
    for by_rising, by_falling in sorted_columns:
        differing = np.flatnonzero(by_rising != by_falling)
        if differing.size:
            last = differing[-1]
            units = rising if by_rising[last] > by_falling[last] else falling
            return DrawnOrder(units, own_mirror=False)
    return DrawnOrder(rising, own_mirror=True)


@dataclass(frozen=True, eq=False)
class MeanFactors:
    """What a drawn sum of `null_mean_ranges` is multiplied by to give the mean of the flipped or of
    the unflipped units, one factor per draw: −1 / (2 × the rows of the flipped units), 1 / (2 ×
    those of the unflipped ones); 0 if there are none.

    A drawn sum is the sum U of the unflipped units less the sum F of the flipped ones. As U + F is
    0, it is 2 U, and also −2 F: hence the factors, one of them negative.

    all_or_none: the places of the draws that flip no unit or all units. They are as extreme as the
    data whatever the mean.
    """

    flipped: Floats
    unflipped: Floats
    all_or_none: Ints


def _mean_factors(count_bytes: bytes, bits: bytes) -> MeanFactors:
    """The factors under the sign vectors of these bits, see `sums`. count_bytes: the number of rows
    of each unit, an array as bytes, because they are the key of a cache.

    They are cached for all pairs of systems on the same units, unless there are so many units that
    this takes much memory.
    """
    rows_of_unit = np.frombuffer(count_bytes)
    if rows_of_unit.size <= MAX_CACHED_UNITS:
        return _cached_mean_factors(count_bytes, bits)
    return _computed_mean_factors(count_bytes, bits)


def _computed_mean_factors(count_bytes: bytes, bits: bytes) -> MeanFactors:
    """The factors of the drawn sums, see `MeanFactors`, not taken from the cache. Arguments as for
    `_mean_factors`.
    """
    rows_of_unit = np.frombuffer(count_bytes)
    # of each draw: the rows of the unflipped units less the rows of the flipped ones
    signed_rows = np.concatenate(list(sums(rows_of_unit, bits)))
    n = rows_of_unit.sum()  # the rows of the unflipped and of the flipped units
    # within rounding: counts may be fractions, such as the actual values below a WAPE
    is_all_or_none = np.abs(signed_rows) >= n * (1 - SUM_TIE_TOLERANCE)
    # sum and difference of n and `signed_rows`
    twice_flipped_rows = n - signed_rows
    twice_unflipped_rows = n + signed_rows
    return MeanFactors(
        flipped=-_inverse(twice_flipped_rows),
        unflipped=_inverse(twice_unflipped_rows),
        all_or_none=np.flatnonzero(is_all_or_none),
    )


_cached_mean_factors = lru_cache(CACHED_RESULTS)(_computed_mean_factors)


def _inverse(size: Floats) -> Floats:
    """1 / size, 0 where the size is 0."""
    return np.divide(1.0, size, out=np.zeros(size.size), where=size != 0)


# Small p-values: importance sampling where plain draws hardly reach -------------------------------

# The least p of 100,000 fair draws is 1e-5, which Holm raises to 0.05 over 5,000 comparisons: for
# smaller ones the signs are drawn with the probabilities that make the observed sum the
# expected one (exponential tilting), and each draw is weighted by how much likelier it was made:
# the mean weight of the draws that are as extreme is an unbiased estimate of p, with about the same
# relative error however small p is. Siegmund, Annals of Statistics 1976,
# doi:10.1214/aos/1176343541; for saddle-point tails of this test see Robinson, JRSS B 1982,
# doi:10.1111/j.2517-6161.1982.tb01191.x.

DRAWS = 8_192
TAIL = f"importance sampling with {DRAWS:,} draws"
# draws as extreme as the data above which the error of their share is below a tenth
ENOUGH_EXTREME_DRAWS = 100
NEWTON_STEPS = 100  # Newton's method is within rounding after some ten
CACHED_STREAMS = 2  # results of `replayed` functions that are cached, at most 32 MB each
DRAWS_AT_ONCE = 512  # draws that are worked on at once, so that they stay in the processor's cache
NUMBERS_AT_ONCE = 32 * DRAWS  # numbers that are drawn at once
DRAWN_UNITS = 256  # units whose signs are drawn; the sum of the smaller ones is normal


def p_value(
    total: Floats, null_ranges: Ranges, *, rng: np.random.Generator, tie_weight: float = 1.0
) -> PValue:
    """The two-sided p-value of a mean of 0: exact if possible, else the share of the draws or, if
    this is small, the tail probability by importance sampling.

    total: the sum of the differences of each unit. null_ranges: the `null_mean_ranges` of these
    sums. rng: for importance sampling. tie_weight: of draws exactly as extreme as the data, 1, or ½
    for the mid-p; importance sampling counts them in full. The result's overlap is 0 for drawn
    p-values.

    >>> rng = np.random.default_rng(1)
    >>> null_ranges = null_mean_ranges(np.array([1.0, 3.0]), np.ones(2), rng=rng, draws=0)
    >>> p_value(np.array([1.0, 3.0]), null_ranges, rng=rng)
    PValue(p=0.5, method='exact enumeration', overlap=0.25)
    """
    if total.size <= MAX_ENUMERATED_UNITS and tie_weight == 1:
        # The ranges are those of all sign vectors. The mid-p, which counts ties half, cannot use
        # them: a vector that flips nothing but differences of 0 counts in full, like the data's own
        # signs, but in the ranges it looks like a tie.
        return PValue(null_ranges.share(), "exact enumeration", null_ranges.tied)
    exact = exact_p(total, tie_weight)
    if exact is not None:
        return exact
    p = null_ranges.share(tie_weight=tie_weight)
    extreme_draws = p * null_ranges.draws
    if extreme_draws > ENOUGH_EXTREME_DRAWS:
        drawn = null_ranges.draws - 1  # without the data's own signs
        return PValue(p, f"{drawn:,} Walsh–Hadamard draws")
    return PValue(tail_p(total, rng=rng), TAIL)


def tail_p(differences: Floats, *, rng: np.random.Generator, draws: int = DRAWS) -> float:
    """P(|Σ ± d| ≥ |Σ d|) for fair signs, estimated by importance sampling: unbiased, with a
    relative error of some percent; never 0.

    differences: one per unit, d, shape (n,). With a = |d|, the sum is at least as extreme if the
    flipped a add up to at most half of Σ a − |Σ d|. Under the tilt θ a unit is flipped with the
    probability 1 / (1 + exp(2 θ a)). If all differences have one sign, only the two vectors of
    equal signs are as extreme, and p is 2^(1 − n). draws: how many sign vectors are drawn.

    >>> tail_p(np.full(30, 0.5), rng=np.random.default_rng(1)) == 2.0**-29
    True
    >>> d = np.repeat([1.0, -1.0], [36, 4])
    >>> f"{tail_p(d, rng=np.random.default_rng(1)):.1e}"  # the binomial test has 1.9e-07
    '1.9e-07'
    """
    nonzero = np.abs(differences[differences != 0])
    size = np.sort(nonzero)[::-1]  # a, largest first
    # p is at least that of the two most extreme vectors, which give all differences one sign. With
    # many units this is 0 as a double, and the smallest double takes its place.
    p_of_equal_signs = 2.0 ** (1.0 - size.size)
    smallest_p = float(max(p_of_equal_signs, np.finfo(float).tiny))
    size_sum = exact_sum(size)
    observed = abs(exact_sum(differences))
    rounding = SUM_TIE_TOLERANCE * size_sum
    if observed <= rounding:  # every sum is at least as extreme as 0
        return 1.0
    # a draw is as extreme as the data if its flipped sizes add up to at most this, within rounding
    most_flipped = (size_sum - observed) / 2
    if most_flipped + rounding < size[-1]:  # not even the smallest unit may be flipped
        return smallest_p
    largest_size = size[0]
    # found for sizes divided by the largest, so that nothing overflows: this is θ · largest_size
    theta = _tilt(size / largest_size, observed / largest_size) / largest_size
    log_weight = _log_weights(size, most_flipped + rounding, theta, rng, draws)
    largest_weight = log_weight.max()
    if not np.isfinite(largest_weight):  # no draw is as extreme: p is known only to be small
        return smallest_p
    # The weight of a draw with the flipped sum f is its fair probability / its tilted probability:
    # exp(2 θ f) · Π (1 + exp(−2 θ a)) / 2. `log_weight` has the first factor only.
    odds_of_flip = np.exp(-2 * theta * size)
    log_constant = np.log1p(odds_of_flip).sum() - size.size * np.log(2)
    # weights relative to the largest, whose exponentials do not overflow
    relative_weight = np.exp(log_weight - largest_weight)
    log_mean = np.log(relative_weight.mean())
    log_p = np.log(2) + largest_weight + log_mean + log_constant  # of both tails, twice one
    p = np.exp(log_p)
    return float(min(1.0, max(p, smallest_p)))


def _tilt(size: Floats, total: float) -> float:
    """The tilt θ of the signs under which the expected sum is the observed one; by Newton's method.

    Under θ a unit of size a is flipped, to −a, with the probability 1 / (1 + exp(2 θ a)). Its
    expected value is then a tanh(θ a), and that of the sum Σ a tanh(θ a). size: a of each unit,
    (units,). total: the observed sum, above 0 and below Σ a.

    >>> round(_tilt(np.array([1.0, 1.0]), 1.0), 9)  # the inverse hyperbolic tangent of 0.5
    0.549306144
    """
    theta = 0.0
    square = size**2
    for _ in range(NEWTON_STEPS):
        tanh = np.tanh(theta * size)
        missing = total - float(size @ tanh)
        derivative = float(square @ (1 - tanh**2))  # of the expected sum by θ
        step = missing / derivative
        theta += step
        # The expected sum is concave in θ, so that all steps from 0 on are upwards. One that is not
        # is a rounding error: θ is found.
        if step <= 1e-15 * theta:
            break
    return theta


def _log_weights(
    size: Floats, most_flipped: float, theta: float, rng: np.random.Generator, draws: int
) -> Floats:
    """The logarithm of each draw's importance weight, shape (draws,), less a constant that `tail_p`
    adds: 2 θ · (the sum of the flipped sizes). It is −∞ if this sum is above `most_flipped`, so
    that the draw is not extreme.

    Signs are drawn only for the `DRAWN_UNITS` largest units, whose flipped sizes add up to f. Those
    of the smaller units add up to g, which is taken as normal, with its mean and variance under the
    tilt θ. In place of exp(2 θ (f + g)) the weight is then exp(2 θ f) times the expectation of
    exp(2 θ g) over all g with f + g ≤ most_flipped. size: of each unit, the largest first.
    """
    from scipy.special import log_ndtr

    log_odds_against_flip = np.minimum(2 * theta * size, 700.0)  # exp overflows above 709
    probability = 1 / (1 + np.exp(log_odds_against_flip))  # of each unit, of being flipped
    large_size = size[:DRAWN_UNITS]
    uniform = _uniform(rng, draws * large_size.size)
    flipped_sum = _flipped_sums(uniform, probability[:DRAWN_UNITS], large_size, draws)
    if size.size <= DRAWN_UNITS:
        return np.where(flipped_sum <= most_flipped, 2 * theta * flipped_sum, -np.inf)
    small_size = size[DRAWN_UNITS:]
    small_probability = probability[DRAWN_UNITS:]
    mean = small_probability @ small_size  # of g
    variance = (small_probability * (1 - small_probability)) @ small_size**2
    deviation = np.sqrt(np.maximum(variance, np.finfo(float).tiny))  # not 0: it divides
    # exp(2 θ g) · (normal density of g) = exp(2 θ mean + 2 θ² variance) · (normal density around
    # mean + 2 θ variance). The second factor, up to the largest g, has the normal probability of z.
    largest_g = most_flipped - flipped_sum
    z = (largest_g - mean - 2 * theta * variance) / deviation
    log_factor = 2 * theta * (flipped_sum + mean + theta * variance)
    log_weights: Floats = log_factor + log_ndtr(z)
    return log_weights


def _flipped_sums(uniform: Floats, probability: Floats, size: Floats, draws: int) -> Floats:
    """The sum of the sizes of the units that each draw flips, shape (draws,). A draw flips a unit
    if its uniform number is below the probability of the unit.

    uniform: numbers between 0 and 1, (draws · units,), draw by draw. probability, size: (units,).

    >>> uniform = np.array([0.1, 0.6, 0.9, 0.2])
    >>> _flipped_sums(uniform, np.array([0.5, 0.5]), np.array([1.0, 3.0]), 2)
    array([1., 3.])
    """
    by_draw = uniform.reshape(draws, -1)
    sums = []
    for start in range(0, draws, DRAWS_AT_ONCE):
        flipped = by_draw[start : start + DRAWS_AT_ONCE] < probability
        sums.append(flipped.astype(float) @ size)
    return np.concatenate(sums)


def _uniform(rng: np.random.Generator, size: int) -> Floats:
    """The next `size` uniform numbers of `rng`. They are drawn in whole blocks, so that pairs of
    systems which differ on more or on fewer units share the cached numbers.
    """
    blocks = _ceil_divide(size, NUMBERS_AT_ONCE)
    return _uniform_blocks(rng, blocks * NUMBERS_AT_ONCE)[:size]


@replayed
def _uniform_blocks(rng: np.random.Generator, size: int) -> Floats:
    """The next uniform numbers of `rng`, shape (size,)."""
    return rng.random(size)

"""Bootstrap: sums over resampled units, the quantities that a BCa interval needs, and resampled
tables of counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, Ints, ParameterError, codes, product, ratio
from evalkit.limits import USUAL_LIMITS
from evalkit.metrics import counts as tables, influence
from evalkit.metrics.counts import Counts, RechosenCounts
from evalkit.metrics.influence import CELLS as MOST_CELLS, cell_ends, cells, pool
from evalkit.metrics.rows import Rows
from evalkit.metrics.samples import part_sums
from evalkit.statistics.spread import Interval, LimitArrays, percentile_shares

# weights held at once (samples × rows): so many stay in the processor's cache
WEIGHTS_AT_ONCE = 2**18
POISSON_ROWS = 1_000  # rows from which weights begin as independent Poisson counts
CODES = 2**16  # numbers that 16 random bits can form
# BCa divides by 1 − a (z₀ + z): if that is not positive, the limit is the outermost replicate
SMALLEST_DIVISOR = 1e-12


def resampled_sums(columns: ArrayLike, *, rng: np.random.Generator, resamples: int) -> Floats:
    """Column sums of `resamples` bootstrap samples of the rows: (rows, columns) in, (resamples,
    columns) out.

    A sample is drawn as how often each row is in it, which is multinomial; if rows repeat, as hits
    and misses do, as how often each distinct row is. The sums are a matrix product with these
    weights, for a block of samples at a time. The order of the rows changes nothing.

    >>> resampled_sums([[1, 2], [1, 2]], rng=np.random.default_rng(1), resamples=2)
    array([[2., 4.],
           [2., 4.]])
    """
    return resampled_each([columns], rng=lambda: rng, resamples=resamples)[0]


# Counts of distinct rows are faster than weights of all rows if few rows are distinct. With some
# hundred distinct rows weights are faster, because tables share them, unless there are many rows.
FEW_DISTINCT = 16
MANY_ROWS = 20_000
MEAN_REPEATS = 8  # mean number of times that a row occurs above which rows count as repeated


def resampled_each(
    tables: Iterable[ArrayLike], *, rng: Callable[[], np.random.Generator], resamples: int
) -> list[Floats]:
    """The column sums of bootstrap samples of each table, as `resampled_sums` gives them from a
    new `rng()`: (resamples, columns) each.

    rng: returns a new generator in the same state at each call. Tables with the same number of rows
    share the weights of their samples, which are drawn once and not stored.

    >>> rng = lambda: np.random.default_rng(1)
    >>> first, second = resampled_each([[[1], [2]], [[5], [7]]], rng=rng, resamples=3)
    >>> bool((second == resampled_sums([[5], [7]], rng=rng(), resamples=3)).all())
    True
    """
    sums = dict[int, Floats]()  # by number of the table
    tables_by_length = dict[int, dict[int, Floats]]()  # by number of rows, then of the table
    for number, columns in enumerate(tables):
        rows = np.asarray(columns, float)
        distinct = _distinct(rows)
        if _counts_are_faster(len(distinct.rows), len(rows)):
            sums[number] = _sums_of_repeated(distinct.rows, distinct.counts, rng(), resamples)
        else:  # in sorted order, so that the order of the rows changes nothing
            sorted_rows = np.repeat(distinct.rows, distinct.counts, axis=0)
            tables_by_length.setdefault(len(rows), {})[number] = sorted_rows
    for tables_of_length in tables_by_length.values():
        sums |= _weighted_sums(tables_of_length, rng(), resamples)
    return [sums[number] for number in range(len(sums))]


def _counts_are_faster(distinct: int, rows: int) -> bool:
    """True if it is faster to draw how often each distinct row is in a sample than how often each
    row is, see `FEW_DISTINCT`. distinct, rows: their numbers in the table.
    """
    is_repeated = MEAN_REPEATS * distinct < rows
    return is_repeated and (distinct <= FEW_DISTINCT or rows > MANY_ROWS)


class DistinctRows(NamedTuple):
    """The distinct rows of a table, sorted, and how often each occurs."""

    rows: Floats
    counts: Ints


def _distinct(rows: Floats) -> DistinctRows:
    """The distinct rows of a table, shape (rows, columns)."""
    if rows.shape[1] != 1:
        return DistinctRows(*np.unique(rows, axis=0, return_counts=True))
    # one column is sorted as numbers, which is faster than as rows
    values, counts = np.unique(rows[:, 0], return_counts=True)
    return DistinctRows(values[:, None], counts)


def _sums_of_repeated(
    distinct: Floats, counts: Ints, rng: np.random.Generator, resamples: int
) -> Floats:
    """The column sums of each bootstrap sample: (resamples, columns).

    distinct: the distinct rows, (distinct rows, columns). counts: how often each is in the table.
    How often each is in a sample is multinomial, as the sample has as many rows as the table.
    """
    n = counts.sum()
    blocks = []
    for samples in _block_sizes(resamples, len(distinct)):  # few at a time, to save memory
        weights = rng.multinomial(n, counts / n, size=samples)
        blocks.append(weights @ distinct)
    return np.concatenate(blocks)


def _weighted_sums(
    tables: Mapping[int, Floats], rng: np.random.Generator, resamples: int
) -> dict[int, Floats]:
    """The column sums of each bootstrap sample, by the number of the table: (resamples, columns)
    each.

    tables: by number, (rows, columns) each. All have the same number of rows, and share the weights
    of their rows (how often each is in a sample), which are drawn for a block of samples at a time.
    """
    first_table = next(iter(tables.values()))
    n = len(first_table)  # rows of each table
    if n == 0:
        return {number: np.zeros((resamples, rows.shape[1])) for number, rows in tables.items()}
    largest_block = min(resamples, max(1, WEIGHTS_AT_ONCE // n))  # samples in a block
    memory = np.empty((largest_block, n))  # each block overwrites the weights of the one before
    blocks: dict[int, list[Floats]] = {number: [] for number in tables}
    for samples in _block_sizes(resamples, n):
        weights = _draw_weights(rng, out=memory[:samples])
        for number, rows in tables.items():
            blocks[number].append(product(weights, rows))
    return {number: np.concatenate(sums) for number, sums in blocks.items()}


NO_ERROR = 1e-9  # share of the data's error below which that of a sample is a rounding error
# means of several samples, (means, samples) -> the value of a function of the means for each sample
# and its derivatives, (samples,) and (means, samples)
FunctionOfMeans = Callable[[Floats], tuple[Floats, Floats]]


def t_limits(
    terms: Floats,
    f: FunctionOfMeans,
    high: float,
    *,
    rng: np.random.Generator,
    level: float,
    resamples: int,
) -> Interval:
    """The limits of a function of means by the bootstrap-t of Efron and Tibshirani, on the scale
    log(high − value); NaN if nothing varies. 1993, An Introduction to the Bootstrap, 12.5.

    terms: shape (1 + means, units): the weight of each unit (its number of rows), then its sums of
    the numbers whose means are taken. f: the function. high: its upper bound, which no limit on the
    log scale can pass. In each bootstrap sample of units t is the difference of log(high − value)
    from that of the data, divided by its standard error in the sample. The limits follow from the
    quantiles of t and the error of the data.

    >>> mean = lambda means: (means[0], np.ones_like(means))
    >>> terms = np.array([[1.0] * 6, [1.0, 2, 3, 4, 5, 6]])
    >>> rng = np.random.default_rng(1)
    >>> limits = t_limits(terms, mean, 10.0, rng=rng, level=0.95, resamples=2_000)
    >>> round(limits.low, 1), round(limits.high, 1)
    (1.1, 5.5)
    """
    n = terms.shape[1]
    times_drawn = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
    # how often each unit is in each sample, samples × units; the first sample is the data
    times = np.vstack([np.ones(n), times_drawn])
    with np.errstate(divide="ignore", invalid="ignore"):  # of samples in which nothing varies
        samples = _values_on_samples(terms, times, f)
        log_distance = np.log(high - samples.value)
        error = samples.error / (high - samples.value)  # of the logarithm, by the delta method
        observed = log_distance[0]  # of the data, the first sample
        observed_error = error[0]
        drawn_error = error[1:]
        t = (log_distance[1:] - observed) / drawn_error
    # an error that is only a rounding error would make t as large as it happens to be small
    has_error = drawn_error > NO_ERROR * observed_error
    t = t[np.isfinite(t) & has_error]
    if not t.size or not np.isfinite(observed):
        return Interval(np.nan, np.nan)
    quantiles = np.quantile(t, percentile_shares(level))
    # the lower quantile of t gives the largest distance to `high`, and so the lower limit
    log_distances = observed - quantiles * observed_error
    low_limit, high_limit = high - np.exp(log_distances)
    return Interval(float(low_limit), float(high_limit))


class SampleValues(NamedTuple):
    """The value of a statistic on each sample, and its standard error: (samples,) each."""

    value: Floats
    error: Floats


def _values_on_samples(terms: Floats, times: Floats, f: FunctionOfMeans) -> SampleValues:
    """The value of a function of means on each of some samples of units, with its standard error by
    the delta method.

    terms: of each unit its weight, then the sums of its numbers, (1 + means, units). times: how
    often each unit is in each sample, (samples, units). f: means -> the value and its derivatives
    by the means (`slopes`).
    """
    n = terms.shape[1]  # units in the data and, counted as often as drawn, in each sample
    unit_weight = terms[0]
    unit_sums = terms[1:]
    sums_of_samples = times @ terms.T  # samples × (1 + means)
    weight, *sums = sums_of_samples.T
    means = np.array(sums) / weight  # means × samples
    value, slopes = f(means)
    # The influence of a unit on the value in a sample is Σ slope · (the unit's sum − mean · the
    # unit's weight) / the sample's weight. Here without the divisor: samples × units.
    slope_of_weight = (slopes * means).sum(axis=0)
    undivided_influence = slopes.T @ unit_sums - np.outer(slope_of_weight, unit_weight)
    squares = (times * undivided_influence**2).sum(axis=1)
    variance = squares / weight**2 * n / (n - 1)  # n − 1 as in the variance of a sample
    return SampleValues(value, np.sqrt(variance))


class BcaTerms(NamedTuple):
    """The bias correction z₀ and the acceleration a of a BCa interval."""

    bias: float
    acceleration: float


def bca_shares(value: float, replicates: ArrayLike, effect: ArrayLike, *, z: ArrayLike) -> Floats:
    """The adjusted shares of a BCa interval: its limits are the quantiles of the replicates at
    these shares. Efron, JASA 1987, doi:10.1080/01621459.1987.10478410.

    value: the statistic. replicates: its values on bootstrap samples. effect: the influence of each
    unit on it. z: the normal quantile of each limit before adjustment, such as ±1.96. The adjusted
    share is Φ(z₀ + (z₀ + z) / (1 − a (z₀ + z))) with the bias correction z₀ and the acceleration a
    of `_bca_terms`.

    >>> bca_shares(2, [1, 2, 3], [-1, 0, 1], z=[-1.0, 0.0, 1.0]).round(4)
    array([0.1587, 0.5   , 0.8413])
    """
    from scipy.special import ndtr

    bias, acceleration = _bca_terms(value, replicates, effect)
    shifted = bias + np.asarray(z, float)
    divisor = np.maximum(1 - acceleration * shifted, SMALLEST_DIVISOR)
    shares: Floats = ndtr(bias + shifted / divisor)
    return shares


def bca_p_value(
    value: float, replicates: ArrayLike, effect: ArrayLike, *, null: float = 0.0
) -> float:
    """The two-sided p-value of `null` by inverting BCa: the smallest 1 − level whose interval
    excludes it.

    value: the statistic. replicates: its values on bootstrap samples, NaN where undefined. effect:
    the influence of each unit on it. The p-value is at least 1 / (resamples + 1), NaN if no
    replicate is defined.

    >>> bca_p_value(2, [1, 2, 3], [-1, 0, 1], null=2)
    1.0
    """
    from scipy.special import ndtr, ndtri

    values = defined(replicates)
    if values.size == 0 or np.isnan(value):
        return np.nan
    bias, acceleration = _bca_terms(value, values, effect)
    # Which z has its limit at `null`? Let s be the normal quantile of the share of replicates below
    # `null`, less z₀. By `bca_shares` s = (z₀ + z) / (1 − a (z₀ + z)), so that z₀ + z =
    # s / (1 + a s).
    s = ndtri(_midrank_share(null, values)) - bias
    divisor = max(1 + acceleration * s, SMALLEST_DIVISOR)
    z = s / divisor - bias
    p = 2 * float(ndtr(-abs(z)))
    smallest_p = 1 / (values.size + 1)  # as if the data were one more, most extreme resample
    return float(min(1.0, max(p, smallest_p)))


def defined(replicates: ArrayLike) -> Floats:
    """The replicates without those on which the statistic is undefined (NaN)."""
    values: Floats = np.asarray(replicates, float)
    return values[~np.isnan(values)]


def _bca_terms(value: float, replicates: ArrayLike, effect: ArrayLike) -> BcaTerms:
    """The bias correction and the acceleration of a BCa interval.

    value: the statistic. replicates: its values on bootstrap samples; NaN ones are left out.
    effect: the influence l of each unit on the statistic. The bias correction is the normal
    quantile of the share of replicates below the value, 0 without replicates. The acceleration is
    Σ l³ / (6 (Σ l²)^1.5), 0 if all l are 0.
    """
    from statistics import NormalDist

    values = defined(replicates)
    bias = 0.0
    if values.size:
        bias = NormalDist().inv_cdf(_midrank_share(value, values))
    influence = np.asarray(effect, float)  # of each unit
    squares = influence * influence  # a power of 3 would cost ten times as much
    cubes = np.dot(squares, influence)
    divisor = 6 * squares.sum() ** 1.5
    acceleration = ratio(cubes, divisor)
    # undefined, 0 / 0, if the influence of all units is 0
    return BcaTerms(bias, float(np.nan_to_num(acceleration)))


def _midrank_share(value: float, replicates: Floats) -> float:
    """The share of replicates below the value, where replicates equal to the value count half. The
    share is at least half a replicate away from 0 and 1, whose normal quantiles are infinite.
    """
    below = np.sum(replicates < value)
    ties = np.sum(replicates == value)
    midrank = np.clip(below + ties / 2, 0.5, replicates.size - 0.5)
    return float(midrank / replicates.size)


def _draw_weights(rng: np.random.Generator, out: Floats) -> Floats:
    """How often each of n rows is drawn in samples of n with replacement: (samples, n).

    out: an array of the shape of the result, which it is written to if n is at least POISSON_ROWS.

    The counts are multinomial, and so are independent Poisson counts, given their sum. With many
    rows Poisson counts are drawn, which is faster. Their rate is just below 1, so that their sum is
    nearly always a few draws short of n; the missing draws are made one by one. In one of 700
    samples the sum is above n; all draws of this sample are made one by one.
    """
    samples, n = out.shape
    if n < POISSON_ROWS:
        return _draw_weights_one_by_one(rng, n, samples)
    poisson = _poisson(n)  # a table of counts by code
    # a count needs a code of 16 random bits: a word of 64 bits holds four
    words_needed = samples * n // 4 + 1
    words = rng.integers(0, 2**64 - 1, size=words_needed, dtype=np.uint64, endpoint=True)
    code = words.view(np.uint16)[: samples * n].reshape(samples, n)
    # "clip" changes no code, as none is outside; the default mode would copy the result
    weights = poisson.count_by_code.take(code, out=out, mode="clip")
    flat_weights = weights.reshape(-1)  # a view: writing to it changes `weights`
    # codes that stand for no count by themselves: their counts are drawn
    undecided = np.flatnonzero(code.reshape(-1) >= poisson.decided)
    possible_counts = poisson.undecided_shares.size
    flat_weights[undecided] = rng.choice(
        possible_counts, size=undecided.size, p=poisson.undecided_shares
    )
    # the draws that each sample lacks go to random rows of it
    missing = n - weights.sum(axis=1).astype(np.int64)  # of each sample
    oversized_samples = np.flatnonzero(missing < 0)
    missing[oversized_samples] = 0
    # for each missing draw the place of its sample's first row in `flat_weights`
    first_row_of_sample = np.repeat(n * np.arange(samples), missing)
    random_row = rng.integers(0, n, missing.sum())  # of each missing draw, within its sample
    # not `+=`, which would count a row once that is drawn twice
    np.add.at(flat_weights, first_row_of_sample + random_row, 1.0)
    weights[oversized_samples] = _draw_weights_one_by_one(rng, n, oversized_samples.size)
    return weights


def _draw_weights_one_by_one(rng: np.random.Generator, n: int, samples: int) -> Floats:
    """The weights of `_draw_weights`, by drawing every row of every sample: (samples, n)."""
    # sample i counts its rows at n i, …, n i + n − 1, so that one `bincount` serves all samples
    first_row = n * np.arange(samples)[:, None]
    drawn_rows = rng.integers(0, n, size=(samples, n)) + first_row
    weights = np.bincount(drawn_rows.ravel(), minlength=samples * n)
    return weights.reshape(samples, n).astype(np.float64)


class PoissonCodes(NamedTuple):
    """A table that turns a code of 16 random bits into a count with a Poisson distribution.

    count_by_code: the count of each code below `decided`, (CODES,). undecided_shares: the
    probabilities of the counts 0, 1, …, from which the count of a code from `decided` on is drawn.
    """

    count_by_code: Floats
    decided: int
    undecided_shares: Floats


@cache
def _poisson(n: int) -> PoissonCodes:
    """The codes of Poisson counts of the rate 1 − 3/√n. The sum of n such counts has the mean
    n − 3√n and a standard deviation of about √n, so that it is hardly ever above n.

    n: the number of rows in a sample. All CODES codes are equally likely, so that a count of the
    probability p is due CODES · p codes. It gets the whole part of this number. The fractions that
    are left over, divided by their sum, are the distribution from which the count of each remaining
    code is drawn.
    """
    count = np.arange(25)  # a larger one has a probability below 1e-25
    rate = 1 - 3 / np.sqrt(n)
    factorial = np.cumprod(np.maximum(count, 1.0))
    probability = np.exp(-rate) * rate**count / factorial
    codes_due = CODES * probability  # of each count
    whole_codes = np.floor(codes_due).astype(np.int64)
    decided = int(whole_codes.sum())  # codes that stand for one count alone
    count_by_code = np.zeros(CODES)
    count_by_code[:decided] = np.repeat(count, whole_codes)
    remainder = codes_due - whole_codes
    return PoissonCodes(count_by_code, decided, undecided_shares=remainder / remainder.sum())


def _block_sizes(total: int, width: int) -> Iterator[int]:
    """Sizes of blocks of rows that add up to `total`; a block of rows of this width has at most
    `WEIGHTS_AT_ONCE` numbers, if it has more than one row.
    """
    size = max(1, WEIGHTS_AT_ONCE // width)
    for start in range(0, total, size):
        yield min(size, total - start)


# Of counts ----------------------------------------------------------------------------------------

# A bootstrap of rows changes a curve only through the counts of the cells of its table (class ×
# threshold). So a resample draws these counts, and no row is sorted again. Neighbouring thresholds
# share a cell where there are many.

CELLS_OF_RISE = 256  # enough for the largest distance of two rates


# Tables -------------------------------------------------------------------------------------------


def counts_of_resamples(
    c: Counts, *, rng: np.random.Generator, resamples: int = USUAL_LIMITS.resamples
) -> list[Counts]:
    """The tables of `resamples` bootstrap samples of the rows that `c` counts, without thresholds
    that no sampled row has.

    Raises ParameterError for weights that are not whole numbers: they do not say how many rows
    there are.
    """
    # of the positives at each threshold, then of the negatives
    cell_counts = np.concatenate([c.positive, c.negative])
    samples = _draw_cell_counts(cell_counts, rng, resamples)
    return [_table_without_empty_cells(c.threshold, sizes) for sizes in samples]


def largest_rise(
    c: Counts,
    positives: int,
    negatives: int,
    sign: float,
    *,
    rng: np.random.Generator,
    share: float,
    resamples: int,
) -> float:
    """The quantile, over resamples, of the largest rise: how far sign · (TPR − FPR) lies above its
    value in the whole table, at the threshold where it does most.

    This bounds by how much chance raises a Kolmogorov–Smirnov distance whose threshold is chosen.
    sign: 1, or −1 for FPR − TPR. positives, negatives: the numbers of rows of each resample, which
    may differ from the table's. share: of the quantile, such as 0.975.

    >>> from evalkit.metrics.counts import count
    >>> c = count(np.arange(200), np.arange(200) % 3 == 0)
    >>> rng = np.random.default_rng(1)
    >>> rise = largest_rise(c, 67, 133, sign=1.0, rng=rng, share=0.975, resamples=200)
    >>> 0.1 < rise < 0.3
    True
    """
    table = cell_ends(c, CELLS_OF_RISE)  # neighbouring thresholds are pooled, for speed
    rise = sign * _rate_errors(table.positive, positives, rng, resamples)
    rise = rise - sign * _rate_errors(table.negative, negatives, rng, resamples)
    largest_of_resample = rise.max(axis=1)
    return float(np.quantile(largest_of_resample, share))


def _rate_errors(
    weight: Ints | Floats, size: int, rng: np.random.Generator, resamples: int
) -> Floats:
    """The rate of one class (TPR of the positives, FPR of the negatives) in resamples, less the
    rate in the table: (resamples, thresholds).

    weight: the number of rows of the class with the score of each threshold, highest first. size:
    the number of rows of the class in a resample.
    """
    share_at_threshold = weight / weight.sum()
    resampled_rows = rng.multinomial(size, share_at_threshold, size=resamples)
    rates = np.cumsum(resampled_rows, axis=1) / size  # the share of rows at or above each threshold
    errors: Floats = rates - np.cumsum(share_at_threshold)
    return errors


# Curves -------------------------------------------------------------------------------------------


def band(
    tables: Sequence[Counts], curve: Callable[[Counts], Floats], *, level: float = 0.95
) -> LimitArrays:
    """The limits of a curve at each of its fixed abscissas, as percentiles of its heights over
    bootstrap samples; shape (abscissas,) each. NaN where the curve is undefined in every table.

    tables: of bootstrap samples, one each. curve: a table -> the heights at the abscissas, NaN
    where the curve is undefined.
    """
    heights = np.array([curve(table) for table in tables])  # tables × abscissas
    is_defined = ~np.isnan(heights).all(axis=0)  # of each abscissa; elsewhere nanquantile warns
    limits = np.full((2, heights.shape[1]), np.nan)
    shares = percentile_shares(level)
    limits[:, is_defined] = np.nanquantile(heights[:, is_defined], shares, axis=0)
    return LimitArrays(*limits)


def resampled_units(
    rows: Rows, *, rng: np.random.Generator, resamples: int = USUAL_LIMITS.resamples
) -> list[Counts]:
    """The tables of `resamples` bootstrap samples of whole units: the rows of a unit, weighted or
    not, are drawn together. Neighbouring thresholds are pooled, so that a table has at most about
    `MOST_CELLS` of them.
    """
    table = _pooled_rows(rows)
    cells_per_class = len(table.threshold)
    units = _numbered_units(rows)
    tables = []
    for _ in range(resamples):
        drawn_units = rng.integers(0, units.total, units.total)  # with replacement
        times_drawn = np.bincount(drawn_units, minlength=units.total)
        weights = rows.weights * times_drawn[units.of_row]
        # by cell: the positives at each threshold, then the negatives
        cell_weights = np.bincount(table.cell_of_row, weights, 2 * cells_per_class)
        tables.append(_table_without_empty_cells(table.threshold, cell_weights))
    return tables


class PooledRows(NamedTuple):
    """The rows of a table whose neighbouring thresholds are pooled, by cell.

    threshold: the pooled thresholds, highest first. cell_of_row: the number of each row's cell: for
    a positive the number of its threshold, for a negative this plus the number of thresholds.
    """

    threshold: Floats
    cell_of_row: Ints


def _pooled_rows(rows: Rows) -> PooledRows:
    """The cells of rows in a table of at most `MOST_CELLS` thresholds, see `cells`."""
    threshold = pool(rows.counts, cells(rows.counts, MOST_CELLS)).threshold
    # a row's cell is searched for among the ends of cells only: these stay in the processor's cache
    cell = influence.threshold_index(cell_ends(rows.counts, MOST_CELLS).threshold, rows.scores)
    is_negative = rows.actual == 0
    cell_of_row = cell + len(threshold) * is_negative
    return PooledRows(threshold, cell_of_row)


class NumberedUnits(NamedTuple):
    """The units of rows, numbered from 0: of each row the number of its unit, and how many units
    there are.
    """

    of_row: Ints
    total: int


def _numbered_units(rows: Rows) -> NumberedUnits:
    """The units of rows, numbered from 0; each row is a unit if rows are independent."""
    if rows.unit is None:
        return NumberedUnits(np.arange(len(rows)), len(rows))
    number, names = codes(rows.unit)
    return NumberedUnits(number, len(names))


# Draws --------------------------------------------------------------------------------------------


def _draw_cell_counts(size: Ints | Floats, rng: np.random.Generator, resamples: int) -> Ints:
    """The number of rows of each cell in bootstrap samples of all rows: (resamples, cells), whole
    numbers.

    size: the number of rows of each cell in the data. Raises ParameterError unless these are whole
    numbers, stored as such.
    """
    if resamples < 1:
        raise ParameterError(f"resamples must be at least 1, got {resamples}")
    if np.asarray(size).dtype.kind == "f":
        raise ParameterError(
            "a bootstrap of counts must have weights that are whole numbers, got fractions"
        )
    total = int(size.sum())
    if total == 0:
        return np.zeros((resamples, len(size)), dtype=np.int64)
    return rng.multinomial(total, size / total, size=resamples)


def _table_without_empty_cells(threshold: Floats, sizes: Ints | Floats) -> Counts:
    """The table of the sizes of cells, without thresholds that no row has.

    sizes: the number or weight of the positives at each threshold, then of the negatives, shape
    (2 · thresholds,).
    """
    by_class = sizes.reshape(2, -1)
    has_rows = by_class.sum(axis=0) > 0
    tp, fp = np.cumsum(by_class[:, has_rows], axis=1)
    return Counts.from_columns(threshold[has_rows], tp, fp)


# Samples on each of which the threshold is chosen again -------------------------------------------

# The threshold that a rule chooses varies so much from sample to sample that this adds more to the
# error of precision and recall than the rows do at a threshold that is fixed.

COARSE_CANDIDATES = 256  # most candidates that are spread over the whole table
FINER_CANDIDATES = 128  # candidates that are added at a time around the choices of the rule
PILOT_SAMPLES = 100  # pilot samples, which show where the rule chooses
ENOUGH_CANDIDATES = 16  # candidates over which pilots must spread so that no more are added
# most parts of the units: samples draw parts, of several units each if units are more
MAX_PARTS = 1_000
Choose = Callable[[Counts], float]


@dataclass(frozen=True)
class ThresholdChoice:
    """A rule by which the threshold is chosen again on each of some samples of whole units.

    choose: a table -> the threshold that the rule chooses, NaN if none satisfies it. samples: their
    number. new_rng: returns a new generator in the same state at each call, so that all systems are
    evaluated on the same samples.
    """

    choose: Choose
    samples: int
    new_rng: Callable[[], np.random.Generator]

    def candidates(self, c: Counts, *, units: int) -> Floats:
        """The candidates: the thresholds among which the rule chooses on a sample, highest first.

        They are the thresholds of the table after neighbours were pooled into at most
        `COARSE_CANDIDATES`. With many units all samples may choose the same few candidates.
        Thresholds of `c` around these few are then added, until the choices of pilot samples spread
        over enough candidates. units: the number of units whose rows `c` counts.

        >>> c = tables.count([0.9, 0.6, 0.4, 0.1], [1, 1, 0, 0])
        >>> choice = ThresholdChoice(lambda c: 0.6, 3, lambda: np.random.default_rng(1))
        >>> choice.candidates(c, units=4).tolist()
        [0.9, 0.6, 0.4, 0.1]
        """
        # pilots have a stream of their own, independent of the one from which the samples come
        rng = self.new_rng().spawn(1)[0]
        table = cell_ends(c, COARSE_CANDIDATES)
        while len(table.threshold) < len(c.threshold):
            finer = self._finer_thresholds(c, table, units, rng)  # empty if no more are needed
            thresholds = np.union1d(table.threshold, finer)[::-1]  # highest first
            if len(thresholds) == len(table.threshold):  # none is new
                break
            table = tables.at(c, thresholds)
        return table.threshold

    def _finer_thresholds(
        self, c: Counts, table: Counts, units: int, rng: np.random.Generator
    ) -> Floats:
        """`FINER_CANDIDATES` thresholds of `c`, some perhaps more than once, spread evenly over the
        range in which the rule chooses on pilot samples, with a margin on both sides. The array is
        empty if the choices spread over `ENOUGH_CANDIDATES` of the present candidates already, and
        if the rule chooses no threshold on any pilot.

        c: the counts at all thresholds. table: the counts at the present candidates. units: the
        number of units that the rows of `c` belong to. rng: draws the pilots.
        """
        # The expected rows of each cell of a pilot, first the positives, (2 · candidates,). A pilot
        # has about as many rows as there are units, since samples draw whole units.
        sizes = np.concatenate([table.positive, table.negative]) * ratio(units, c.total)
        # rounding of weights may leave a size below 0
        pilots = rng.poisson(np.maximum(sizes, 0.0), (PILOT_SAMPLES, len(sizes)))
        choices = [self.choose(_table_of(table.threshold, pilot)) for pilot in pilots]
        # the index in `table` of each chosen threshold; searchsorted needs ascending values
        chosen_indices = np.searchsorted(-table.threshold, -defined(choices))
        if not chosen_indices.size:
            return np.empty(0)
        distance = np.ptp(chosen_indices)  # of the highest from the lowest
        if distance >= ENOUGH_CANDIDATES:
            return np.empty(0)
        # wide, as on samples of clusters or weighted rows the choice may vary more than on pilots
        margin = 1 + 2 * distance
        last = len(table.threshold) - 1
        ends = np.array([chosen_indices.min() - margin, chosen_indices.max() + margin])
        highest_and_lowest = table.threshold[np.clip(ends, 0, last)]
        # from here on indices in `c`, which has more thresholds than `table`
        start, end = np.searchsorted(-c.threshold, -highest_and_lowest)
        indices = np.linspace(start, end, FINER_CANDIDATES).astype(np.int64)
        return c.threshold[indices]

    def from_rows(self, rows: Rows) -> RechosenCounts:
        """The counts of each sample of whole units at the threshold chosen on it, and those of all
        rows at the same threshold, as `from_parts`, for rows in memory.

        Units are put into at most `MAX_PARTS` parts at random, which are drawn as a whole: sums by
        part and candidate then take the place of the rows in every sample.
        """
        units = _numbered_units(rows)
        threshold = self.candidates(rows.counts, units=units.total)
        # by number, the highest candidate that the row's score reaches
        candidate_of_row = influence.threshold_index(threshold, rows.scores)
        parts = min(units.total, MAX_PARTS)
        rng = self.new_rng()
        part_of_unit = rng.permutation(units.total) % parts
        part_of_row = part_of_unit[units.of_row]
        shape = (parts, len(threshold))
        sums = part_sums(part_of_row, rows.actual == 1, candidate_of_row, rows.weights, shape)
        return self._sample_parts(threshold, sums, rng)

    def from_parts(self, threshold: Floats, sums: Floats) -> RechosenCounts:
        """The counts of each sample of whole units at the threshold chosen on it, and those of all
        units at the same threshold.

        threshold: the candidates. sums: the weight of each part of the units in each cell, that is
        of the positives and then of the negatives at each candidate, as from `part_sums`, shape
        (parts, 2 · candidates). How often a part is in a sample has a Poisson distribution with the
        mean 1. A part may be absent, so that rules that depend on single rows, such as a recall of
        1, vary.

        >>> from evalkit.metrics import counts, curves
        >>> threshold, sums = np.array([0.9, 0.6, 0.4, 0.1]), np.eye(8)[[0, 1, 6, 7]]
        >>> choice = ThresholdChoice(curves.best_f, 3, lambda: np.random.default_rng(1))
        >>> drawn = choice.from_parts(threshold, sums)
        >>> counts.precision(drawn.sample), counts.recall(drawn.sample)
        (array([1., 1., 1.]), array([1., 1., 1.]))
        """
        return self._sample_parts(threshold, sums, self.new_rng())

    def _sample_parts(
        self, threshold: Floats, sums: Floats, rng: np.random.Generator
    ) -> RechosenCounts:
        """The counts of `from_parts`, whose arguments it takes, on samples that `rng` draws."""
        times_of_part = rng.poisson(1.0, (self.samples, len(sums))).astype(np.float64)
        table_of_all = _table_of(threshold, sums.sum(axis=0))
        return self._at_choices(table_of_all, times_of_part @ sums)

    def from_table(self, c: Counts) -> RechosenCounts:
        """The counts of each sample at the threshold chosen on it, and those of all rows at the
        same threshold, as `from_parts`, for independent rows, of which only the table is needed.
        The number of sampled rows of a cell (class × candidate) has a Poisson distribution whose
        mean is the number of its rows in the data.
        """
        table = tables.at(c, self.candidates(c, units=int(c.total)))
        sizes = np.concatenate([table.positive, table.negative])
        samples = self.new_rng().poisson(sizes, (self.samples, len(sizes)))
        return self._at_choices(table, samples)

    def _at_choices(self, table: Counts, sizes: Ints | Floats) -> RechosenCounts:
        """The counts of each sample at the threshold chosen on it, and those of `table`, the table
        of all rows, at the same threshold: NaN for a sample on which the rule chooses none.

        sizes: the weights of each sample's cells, of the positives at each threshold and then of
        the negatives: (samples, 2 · thresholds).
        """
        samples = [_table_of(table.threshold, sample_sizes) for sample_sizes in sizes]
        thresholds = np.array([self.choose(sample) for sample in samples])
        by_sample = [
            _fields_at(sample, threshold)
            for sample, threshold in zip(samples, thresholds, strict=True)
        ]
        # one array per field of `Counts`, with a number per sample
        sample_counts = Counts(*np.array(by_sample).T)
        counts_of_all_rows = Counts(*_fields_at(table, thresholds))
        return RechosenCounts(sample_counts, counts_of_all_rows)


def _table_of(threshold: Floats, sizes: Ints | Floats) -> Counts:
    """The table of these weights: of the positives at each threshold, then of the negatives, shape
    (2 · thresholds,).
    """
    tp, fp = np.cumsum(sizes.reshape(2, -1), axis=1)
    return Counts.from_columns(threshold, tp, fp)


def _fields_at(c: Counts, threshold: float | Floats) -> Floats:
    """The five fields of `Counts`, in their order, at a threshold, or at each of several: shape
    (5,) or (5, thresholds). NaN at a threshold of NaN.
    """
    decisions = tables.at(c, threshold)
    fields = np.broadcast_arrays(
        decisions.threshold, decisions.tp, decisions.fp, c.positives, c.negatives
    )
    return np.where(np.isnan(threshold), np.nan, np.array(fields))

"""Bootstrap: sums over resampled units, the quantities that a BCa interval needs, and resampled
tables of counts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, Ints, ParameterError, codes, product, ratio
from evalkit.limits import USUAL
from evalkit.metrics import counts as tables, influence
from evalkit.metrics.counts import Counts, RechosenCounts
from evalkit.metrics.influence import CELLS as MOST_CELLS, cell_ends, cells, pool
from evalkit.metrics.rows import Rows
from evalkit.metrics.samples import part_sums
from evalkit.statistics.spread import Interval

BLOCK = 2**18  # resampled units held at once: the block of weights stays in the cache
MANY_DRAWS = 1_000  # rows from which Poisson counts are drawn first
CODES = 2**16  # of 16 random bits
# where the acceleration would turn an extreme quantile around, it goes to the end instead
SMALLEST_DIVISOR = 1e-12


def resampled_sums(columns: ArrayLike, *, rng: np.random.Generator, resamples: int) -> Floats:
    """Column sums of `resamples` bootstrap samples of the rows: (n, m) in, (resamples, m) out.

    If rows repeat (hit or miss), the distinct rows are drawn by multinomial counts, otherwise
    blocks of row weights are used, one matrix product per block; no index matrix is stored. The
    weights are exactly multinomial. The order of the rows changes nothing.

    >>> resampled_sums([[1, 2], [1, 2]], rng=np.random.default_rng(1), resamples=2)
    array([[2., 4.],
           [2., 4.]])
    """
    return resampled_each([columns], rng=lambda: rng, resamples=resamples)[0]


# How often each distinct row is drawn is quicker than a weight of every row where few differ. Of
# some hundred distinct rows weights are quicker, because many tables share them; but not of so many
# rows.
FEW_DISTINCT = 16
MANY_ROWS = 20_000
REPEATED = 8  # mean number of times that a row occurs from which rows count as repeated


def resampled_each(
    tables: Iterable[ArrayLike], *, rng: Callable[[], np.random.Generator], resamples: int
) -> list[Floats]:
    """The sums of each table as from `resampled_sums` with a new `rng()`, which gives the same
    numbers each time.

    Tables with the same number of rows share the weights of their samples, which are drawn once and
    not stored.

    >>> rng = lambda: np.random.default_rng(1)
    >>> first, second = resampled_each([[[1], [2]], [[5], [7]]], rng=rng, resamples=3)
    >>> bool((second == resampled_sums([[5], [7]], rng=rng(), resamples=3)).all())
    True
    """
    sums = dict[int, Floats]()
    tables_by_length = dict[int, dict[int, Floats]]()
    for number, columns in enumerate(tables):
        rows = np.asarray(columns, float)
        distinct, counts = _distinct(rows)
        is_repeated = REPEATED * len(distinct) < len(rows)
        counts_are_faster = len(distinct) <= FEW_DISTINCT or len(rows) > MANY_ROWS
        if is_repeated and counts_are_faster:
            sums[number] = _sums_of_repeated(distinct, counts, rng(), resamples)
        else:  # sorted: the order of the units changes no sample
            sorted_rows = np.repeat(distinct, counts, axis=0)
            tables_by_length.setdefault(len(rows), {})[number] = sorted_rows
    for same_length in tables_by_length.values():
        sums |= _weighted_sums(same_length, rng(), resamples)
    return [sums[number] for number in range(len(sums))]


class DistinctRows(NamedTuple):
    """The distinct rows of a table, sorted, and how often each occurs."""

    rows: Floats
    counts: Ints


def _distinct(rows: Floats) -> DistinctRows:
    """The distinct rows; one column is sorted as numbers, which is faster."""
    if rows.shape[1] != 1:
        return DistinctRows(*np.unique(rows, axis=0, return_counts=True))
    values, counts = np.unique(rows[:, 0], return_counts=True)
    return DistinctRows(values[:, None], counts)


def _sums_of_repeated(
    distinct: Floats, counts: Ints, rng: np.random.Generator, resamples: int
) -> Floats:
    """The column sums of each sample if rows repeat: (resamples, columns). How often each distinct
    row is drawn is multinomial.
    """
    n = counts.sum()
    blocks = []
    for samples in _block_sizes(resamples, len(distinct)):
        weights = rng.multinomial(n, counts / n, size=samples)
        blocks.append(weights @ distinct)
    return np.concatenate(blocks)


def _weighted_sums(
    tables: Mapping[int, Floats], rng: np.random.Generator, resamples: int
) -> dict[int, Floats]:
    """The column sums of each sample, by table: (resamples, columns) each.

    All tables have as many rows, and the same weights of the rows, which are drawn for a block of
    samples at a time.
    """
    n = len(next(iter(tables.values())))
    if n == 0:
        return {number: np.zeros((resamples, rows.shape[1])) for number, rows in tables.items()}
    memory = np.empty((min(resamples, max(1, BLOCK // n)), n))
    blocks: dict[int, list[Floats]] = {number: [] for number in tables}
    for samples in _block_sizes(resamples, n):
        weights = _draw_weights(rng, memory[:samples])
        for number, rows in tables.items():
            blocks[number].append(product(weights, rows))
    return {number: np.concatenate(sums) for number, sums in blocks.items()}


SAME = 1e-9  # of the error: below it the units of a sample are equal but for rounding
# means, one set in each column -> the values of a function of them, and its derivatives
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
    """Limits of a function of means by a bootstrap-t of units, on the logarithm of the distance to
    the upper bound `high`.

    terms: the number of rows of each unit, or their weight, then the sums of their numbers, one
    column per unit. NaN if nothing varies. Efron and Tibshirani 1993, An Introduction to the
    Bootstrap, 12.5.

    >>> mean = lambda means: (means[0], np.ones_like(means))
    >>> terms = np.array([[1.0] * 6, [1.0, 2, 3, 4, 5, 6]])
    >>> rng = np.random.default_rng(1)
    >>> limits = t_limits(terms, mean, 10.0, rng=rng, level=0.95, resamples=2_000)
    >>> round(limits.low, 1), round(limits.high, 1)
    (1.1, 5.5)
    """
    n = terms.shape[1]
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
    weights = np.vstack([np.ones(n), drawn])  # samples × units; the first sample is the data
    unit_size = terms[0]
    unit_sums = terms[1:]
    size, *sums = (weights @ terms.T).T  # of each sample
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.array(sums) / size  # numbers × samples
        value, slopes = f(means)
        # slopes · (sums of a unit − means · its size), samples × units, still to divide by the size
        influence = slopes.T @ unit_sums - np.outer((slopes * means).sum(axis=0), unit_size)
        variance = (weights * influence**2).sum(axis=1) / size**2 * n / (n - 1)
        log_distance = np.log(high - value)
        error = np.sqrt(variance) / (high - value)  # of the logarithm
        observed = log_distance[0]
        observed_error = error[0]
        drawn_error = error[1:]
        t = (log_distance[1:] - observed) / drawn_error
    t = t[np.isfinite(t) & (drawn_error > SAME * observed_error)]
    if not t.size or not np.isfinite(observed):
        return Interval(np.nan, np.nan)
    tails = np.quantile(t, [(1 - level) / 2, (1 + level) / 2])
    low_limit, high_limit = high - np.exp(observed - tails * observed_error)
    return Interval(float(low_limit), float(high_limit))


class BcaTerms(NamedTuple):
    """The bias z₀ and the acceleration a of a BCa interval."""

    bias: float
    acceleration: float


def bca_shares(value: float, replicates: ArrayLike, effect: ArrayLike, *, z: ArrayLike) -> Floats:
    """The shares of the replicates at which BCa reads its limits for the normal quantiles z.

    Φ(z₀ + (z₀ + z) / (1 − a (z₀ + z))): the bias z₀ is the normal quantile of the share of
    replicates below the value (half of the equal ones; never 0 or all of them), the acceleration a
    = Σ l³ / 6 (Σ l²)^1.5 of the influence values l = `effect`. Efron, JASA 1987,
    doi:10.1080/01621459.1987.10478410.

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
    """The smallest 1 − level at which the two-sided BCa interval excludes `null`.

    At least 1 / (resamples + 1). NaN if no replicate is defined.

    >>> bca_p_value(2, [1, 2, 3], [-1, 0, 1], null=2)
    1.0
    """
    from scipy.special import ndtr, ndtri

    values = defined(replicates)
    if values.size == 0 or np.isnan(value):
        return np.nan
    bias, acceleration = _bca_terms(value, values, effect)
    # The z for which BCa reads its limit at `null`. With s the normal quantile of the share of
    # replicates below it, less the bias: s = (z₀ + z) / (1 − a (z₀ + z)), so that z₀ + z is
    # s / (1 + a s).
    shifted = ndtri(_share_below(null, values)) - bias
    z = shifted / max(1 + acceleration * shifted, SMALLEST_DIVISOR) - bias
    tail = float(ndtr(-abs(z)))
    smallest_p = 1 / (values.size + 1)  # so many resamples tell no more
    return float(min(1.0, max(2 * tail, smallest_p)))


def defined(replicates: ArrayLike) -> Floats:
    """The replicates that are not NaN."""
    values: Floats = np.asarray(replicates, float)
    return values[~np.isnan(values)]


def _bca_terms(value: float, replicates: ArrayLike, effect: ArrayLike) -> BcaTerms:
    """The terms of BCa from the replicates and the influence values `effect`, as `bca_shares` gives
    them.
    """
    from statistics import NormalDist

    values = defined(replicates)
    influence = np.asarray(effect, float)
    bias = NormalDist().inv_cdf(_share_below(value, values)) if values.size else 0.0
    squared = influence * influence  # a power of 3 would cost ten times as much
    acceleration = ratio(np.dot(squared, influence), 6 * squared.sum() ** 1.5)
    return BcaTerms(bias, float(np.nan_to_num(acceleration)))


def _share_below(value: float, replicates: Floats) -> float:
    """The share of replicates below the value, half of the equal ones; at least half a replicate
    from 0 and 1.
    """
    below = np.sum(replicates < value) + np.sum(replicates == value) / 2
    return float(np.clip(below, 0.5, replicates.size - 0.5) / replicates.size)


def _draw_weights(rng: np.random.Generator, out: Floats) -> Floats:
    """How often each of n rows is drawn in samples of n with replacement: (samples, n), written to
    `out`, which has this shape.

    Independent Poisson counts, given their sum, are multinomial: of many rows they are drawn with a
    rate just below 1, and the few draws that are missing to n are added. The sums above n, one in
    700, are drawn anew.
    """
    samples, n = out.shape
    if n < MANY_DRAWS:
        return _draw_weights_one_by_one(rng, n, samples)
    poisson = _poisson(n)
    # 64 random bits give the codes of four counts
    number = samples * n // 4 + 1
    words = rng.integers(0, 2**64 - 1, size=number, dtype=np.uint64, endpoint=True)
    code = words.view(np.uint16)[: samples * n].reshape(samples, n)
    # no code is outside; the default mode would copy the result
    weights = poisson.count_by_code.take(code, out=out, mode="clip")
    flat = weights.reshape(-1)
    undecided = np.flatnonzero(code.reshape(-1) >= poisson.decided)
    counts = poisson.undecided_shares.size
    flat[undecided] = rng.choice(counts, size=undecided.size, p=poisson.undecided_shares)
    # of each sample: its counts must add up to n
    missing = n - weights.sum(axis=1).astype(np.int64)
    too_many = np.flatnonzero(missing < 0)
    missing[too_many] = 0
    starts = np.repeat(n * np.arange(samples), missing)
    np.add.at(flat, starts + rng.integers(0, n, missing.sum()), 1.0)
    weights[too_many] = _draw_weights_one_by_one(rng, n, too_many.size)
    return weights


def _draw_weights_one_by_one(rng: np.random.Generator, n: int, samples: int) -> Floats:
    """The weights of `_draw_weights`, by drawing every row of every sample: (samples, n)."""
    drawn = rng.integers(0, n, size=(samples, n)) + n * np.arange(samples)[:, None]
    return np.bincount(drawn.ravel(), minlength=samples * n).reshape(samples, n).astype(np.float64)


class PoissonCodes(NamedTuple):
    """A Poisson count for each code of 16 random bits.

    count_by_code: the count of each code below `decided`. undecided_shares: the probability of each
    count for the codes from `decided` on.
    """

    count_by_code: Floats
    decided: int
    undecided_shares: Floats


@cache
def _poisson(n: int) -> PoissonCodes:
    """Poisson counts of rate 1 − 3/√n.

    Each count has the whole number of codes in its share; what is left of the shares is the law of
    the other codes.
    """
    count = np.arange(25)  # a larger one has a probability below 1e-25
    rate = 1 - 3 / np.sqrt(n)  # three standard deviations of the sum below n
    share = CODES * np.exp(-rate) * rate**count / np.cumprod(np.maximum(count, 1.0))
    whole_codes = np.floor(share).astype(np.int64)
    decided = int(whole_codes.sum())
    count_by_code = np.zeros(CODES)
    count_by_code[:decided] = np.repeat(count, whole_codes)
    rest = share - whole_codes
    return PoissonCodes(count_by_code, decided, rest / rest.sum())


def _block_sizes(total: int, width: int) -> Iterator[int]:
    """Sizes that add up to `total`, each of at most BLOCK / width rows."""
    size = max(1, BLOCK // width)
    for start in range(0, total, size):
        yield min(size, total - start)


# Of counts ----------------------------------------------------------------------------------------

# A resample draws new counts for the cells of a table, and nothing is ever sorted again: a row
# bootstrap moves a curve only through them. Where a table has few thresholds, or few positives,
# some cells are enough for exactly the row bootstrap; elsewhere neighbouring thresholds share a
# cell.

FEW_CELLS = 256  # enough for the largest distance of two rates


# Tables -------------------------------------------------------------------------------------------


def resampled(
    c: Counts, *, rng: np.random.Generator, resamples: int = USUAL.resamples
) -> list[Counts]:
    """Tables of `resamples` bootstrap samples of the rows behind `c`, each of the same size,
    without empty cells.

    Raises ParameterError for weights that are not whole numbers: they do not say how many rows
    there are.
    """
    cell_counts = np.concatenate([c.positive, c.negative])
    samples = _draw_cell_counts(cell_counts, rng, resamples)
    return [_table_without_empty_cells(c.threshold, sizes) for sizes in samples]


def largest_rise(
    c: Counts,
    sizes: tuple[int, int],
    sign: float,
    *,
    rng: np.random.Generator,
    share: float,
    resamples: int,
) -> float:
    """The quantile at `share` of the largest excess, over all thresholds, of sign (TPR − FPR) in a
    resample.

    The excess is over the table's own TPR − FPR; it is what KS may gain by choosing its threshold.
    sizes: positives and negatives of each resample.

    >>> from evalkit.metrics.counts import count
    >>> c = count(np.arange(200), np.arange(200) % 3 == 0)
    >>> rise = largest_rise(
    ...     c, (67, 133), 1.0, rng=np.random.default_rng(1), share=0.975, resamples=200
    ... )
    >>> 0.1 < rise < 0.3
    True
    """
    table = cell_ends(c, FEW_CELLS)  # neighbouring thresholds are pooled, for speed

    def excess_rate(size: int, weight: Floats) -> Floats:
        """A resampled rate less the table's own, at each threshold: (resamples, thresholds)."""
        share_of_cell = weight / weight.sum()
        drawn = rng.multinomial(size, share_of_cell, size=resamples)
        rates = np.cumsum(drawn, axis=1) / size
        excess: Floats = rates - np.cumsum(share_of_cell)
        return excess

    positives, negatives = sizes
    rise = sign * excess_rate(positives, table.positive)
    rise = rise - sign * excess_rate(negatives, table.negative)
    largest_of_resample = rise.max(axis=1)
    return float(np.quantile(largest_of_resample, share))


# Curves -------------------------------------------------------------------------------------------


def band(
    tables: Sequence[Counts], curve: Callable[[Counts], Floats], *, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Lower and upper pointwise limits of a curve at fixed abscissas; NaN where it is undefined in
    every table.

    tables: from one bootstrap. curve: a table -> the heights at these abscissas.
    """
    heights = np.array([curve(table) for table in tables])
    is_defined = ~np.isnan(heights).all(axis=0)
    limits = np.full((2, heights.shape[1]), np.nan)
    tails = [(1 - level) / 2, (1 + level) / 2]
    limits[:, is_defined] = np.nanquantile(heights[:, is_defined], tails, axis=0)
    low, high = limits
    return low, high


def resampled_units(
    rows: Rows, *, rng: np.random.Generator, resamples: int = USUAL.resamples
) -> list[Counts]:
    """Tables of bootstrap samples of whole units: the rows of a unit, weighted or not, are drawn
    together.
    """
    cells = _unit_cells(rows)
    thresholds = len(cells.threshold)
    tables = []
    for _ in range(resamples):
        times = np.bincount(rng.integers(0, cells.units, cells.units), minlength=cells.units)
        weights = rows.weights * times[cells.unit]
        sizes = np.bincount(cells.cell, weights, 2 * thresholds)
        tables.append(_table_without_empty_cells(cells.threshold, sizes))
    return tables


class UnitCells(NamedTuple):
    """The cells of rows, by the score's threshold; cells of negatives come after those of
    positives.

    threshold: of the cells. cell, unit: the numbers of each row's cell and unit. units: their
    number.
    """

    threshold: Floats
    cell: Ints
    unit: Ints
    units: int


def _unit_cells(rows: Rows) -> UnitCells:
    """The cells of rows in a table of at most `MOST_CELLS` thresholds."""
    threshold = pool(rows.counts, cells(rows.counts, MOST_CELLS)).threshold
    # The cell of a row is found among the ends of cells: they stay in the cache.
    cell = influence.place(cell_ends(rows.counts, MOST_CELLS).threshold, rows.scores)
    numbered = _numbered_units(rows)
    negative_cell = len(threshold) * (rows.actual == 0)
    return UnitCells(threshold, cell + negative_cell, numbered.number, numbered.units)


class NumberedUnits(NamedTuple):
    """The number of each row's unit, and how many units there are."""

    number: Ints
    units: int


def _numbered_units(rows: Rows) -> NumberedUnits:
    """The units of rows; each row is one if they are independent."""
    if rows.unit is None:
        return NumberedUnits(np.arange(len(rows)), len(rows))
    number, names = codes(rows.unit)
    return NumberedUnits(number, len(names))


# Draws --------------------------------------------------------------------------------------------


def _draw_cell_counts(size: Ints | Floats, rng: np.random.Generator, resamples: int) -> Ints:
    """Counts of each cell in samples of all rows with replacement: (resamples, cells).

    size: the number of rows of each cell. Raises ParameterError unless these are whole numbers.
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
    """The table of these numbers of positives and then of negatives at each threshold, without
    empty cells.
    """
    by_class = sizes.reshape(2, -1)
    filled = by_class.sum(axis=0) > 0
    return Counts.of(threshold[filled], *np.cumsum(by_class[:, filled], axis=1))


# Samples on each of which the threshold is chosen again -------------------------------------------

# Where a rule would put the threshold is known so badly that this moves precision and recall by
# more than the rows do at a threshold that is given.

COARSE = 256  # thresholds of the whole table among which a sample chooses
FINER = 128  # further thresholds where the rule chooses
PILOTS = 100  # samples that show where the rule chooses
CONTESTED = 16  # thresholds at least between the highest and the lowest that these choose
PARTS = 1_000  # into which more units are put at random: a sample draws whole parts
Choose = Callable[[Counts], float]


@dataclass(frozen=True)
class ThresholdChoice:
    """A rule by which the threshold is chosen again on each of some samples of whole units.

    choose: a table -> its threshold. samples: how many. new_rng: returns a new generator of random
    numbers, the same ones at each call: so the samples of all systems are the same.
    """

    choose: Choose
    samples: int
    new_rng: Callable[[], np.random.Generator]

    def candidates(self, c: Counts, *, units: int) -> Floats:
        """The thresholds among which samples choose, highest first.

        Those of the cells of the table, and where samples of so many units choose more of them:
        with many units the choice moves by less than a cell.

        >>> c = tables.count([0.9, 0.6, 0.4, 0.1], [1, 1, 0, 0])
        >>> choice = ThresholdChoice(lambda c: 0.6, 3, lambda: np.random.default_rng(1))
        >>> choice.candidates(c, units=4).tolist()
        [0.9, 0.6, 0.4, 0.1]
        """
        rng = self.new_rng().spawn(1)[0]  # systems choose among unlike thresholds
        table = cell_ends(c, COARSE)
        while len(table.threshold) < len(c.threshold):
            finer = self._finer_thresholds(c, table, units, rng)
            thresholds = np.union1d(table.threshold, finer)[::-1]
            if len(thresholds) == len(table.threshold):
                break
            table = tables.at(c, thresholds)
        return table.threshold

    def _finer_thresholds(
        self, c: Counts, table: Counts, units: int, rng: np.random.Generator
    ) -> Floats:
        """Thresholds of `c` around those that pilot samples of so many units choose among the
        thresholds of `table`; none if these are far apart.
        """
        sizes = np.concatenate([table.positive, table.negative]) * ratio(units, c.total)
        # rounding of weights may leave a size below 0
        samples = rng.poisson(np.maximum(sizes, 0.0), (PILOTS, len(sizes)))
        choices = [self.choose(_table_of(table.threshold, sample)) for sample in samples]
        chosen = np.searchsorted(-table.threshold, -defined(choices))
        if not chosen.size or np.ptp(chosen) >= CONTESTED:
            return np.empty(0)
        margin = 1 + 2 * np.ptp(chosen)  # clusters and weights may move the choice further
        places = np.array([chosen.min() - margin, chosen.max() + margin])
        edges = table.threshold[np.clip(places, 0, len(table.threshold) - 1)]
        start, end = np.searchsorted(-c.threshold, -edges)  # thresholds fall
        return c.threshold[np.linspace(start, end, FINER).astype(np.int64)]

    def of_rows(self, rows: Rows) -> RechosenCounts:
        """The counts on samples of the units of rows in memory, as from `of_parts`."""
        numbered = _numbered_units(rows)
        threshold = self.candidates(rows.counts, units=numbered.units)
        cell = influence.place(threshold, rows.scores)
        parts = min(numbered.units, PARTS)
        rng = self.new_rng()
        part = rng.permutation(numbered.units) % parts
        shape = parts, len(threshold)
        sums = part_sums(part[numbered.number], rows.actual == 1, cell, rows.weights, shape)
        return self._sample_parts(threshold, sums, rng)

    def of_parts(self, threshold: Floats, sums: Floats) -> RechosenCounts:
        """The counts on samples of whole units, and those of the whole table, at the threshold that
        is chosen in each sample.

        threshold: the candidates. sums: the weight by part of the units and cell, as from
        `part_sums`. Each sample has each part a number of times that follows Poisson's law, also
        never: a rule such as a recall of 1 hangs on a single row.

        >>> from evalkit.metrics import counts, curves
        >>> threshold, sums = np.array([0.9, 0.6, 0.4, 0.1]), np.eye(8)[[0, 1, 6, 7]]
        >>> choice = ThresholdChoice(curves.best_f, 3, lambda: np.random.default_rng(1))
        >>> drawn = choice.of_parts(threshold, sums)
        >>> counts.precision(drawn.sample), counts.recall(drawn.sample)
        (array([1., 1., 1.]), array([1., 1., 1.]))
        """
        return self._sample_parts(threshold, sums, self.new_rng())

    def _sample_parts(
        self, threshold: Floats, sums: Floats, rng: np.random.Generator
    ) -> RechosenCounts:
        """`of_parts` with these random numbers."""
        times = rng.poisson(1.0, (self.samples, len(sums))).astype(np.float64)
        return self._at_choices(_table_of(threshold, sums.sum(axis=0)), times @ sums)

    def of_table(self, c: Counts) -> RechosenCounts:
        """The counts on samples of independent rows, as from `of_parts`, drawn from their table:
        how often the rows of a cell are drawn follows Poisson's law with their number as its mean.
        """
        cells = tables.at(c, self.candidates(c, units=int(c.total)))
        sizes = np.concatenate([cells.positive, cells.negative])
        samples = self.new_rng().poisson(sizes, (self.samples, len(sizes)))
        return self._at_choices(cells, samples)

    def _at_choices(self, table: Counts, sizes: Ints | Floats) -> RechosenCounts:
        """The counts of samples and of the whole table at each sample's threshold.

        sizes: the weights of each sample's cells, one row per sample.
        """
        samples = [_table_of(table.threshold, cells) for cells in sizes]
        chosen = np.array([self.choose(sample) for sample in samples])
        counts = [_at(sample, threshold) for sample, threshold in zip(samples, chosen, strict=True)]
        return RechosenCounts(Counts(*np.array(counts).T), Counts(*_at(table, chosen)))


def _table_of(threshold: Floats, sizes: Ints | Floats) -> Counts:
    """The table of these weights of positives, then of negatives, at each threshold."""
    return Counts.of(threshold, *np.cumsum(sizes.reshape(2, -1), axis=1))


def _at(c: Counts, threshold: float | Floats) -> Floats:
    """The fields of `Counts` at a threshold, or at each of several; NaN where the threshold is."""
    decisions = tables.at(c, threshold)
    fields = np.broadcast_arrays(
        decisions.threshold, decisions.tp, decisions.fp, c.positives, c.negatives
    )
    return np.where(np.isnan(threshold), np.nan, np.array(fields))

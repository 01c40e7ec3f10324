"""Consistency resampling: the calibration error that a perfectly calibrated model would show on the
same scores.

A calibration error is at least 0 and biased upward in every sample, and more so in bootstrap
samples, so percentile and BCa intervals do not cover it. Instead, labels are drawn with the scores
as their probabilities.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, Ints, codes, ratio
from evalkit.metrics.calibration import Means
from evalkit.metrics.counts import Counts
from evalkit.metrics.influence import CELLS, pool
from evalkit.metrics.rows import Rows
from evalkit.statistics.spread import LimitArrays, percentile_shares


@dataclass(frozen=True)
class PerfectCalibration:
    """What a calibration error such as ECE would be if the scores were calibrated. expected: its
    mean. p: the p-value of the test that they are.
    """

    expected: float
    p: float


ROUNDING = 1e-12  # values of a metric closer than this are equal
# for rows that are not independent, whose labels cannot be drawn one by one, and without rows
UNKNOWN = PerfectCalibration(float("nan"), float("nan"))


def metric_if_calibrated(
    c: Counts, metric: Callable[[Counts], float], *, rng: np.random.Generator, draws: int
) -> PerfectCalibration:
    """What a metric, such as ECE, would be if the scores were calibrated: its mean over draws of
    labels with the scores as probabilities, and as p the share of draws with at least the data's
    value.

    metric: a function of counts, larger for worse calibration. Rows must be unweighted. With more
    than 1,024 distinct scores, neighbours are pooled by rank, in the data and in the draws. NaN
    without rows. Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118.

    >>> from evalkit.metrics.calibration import bins_uniform, ece
    >>> from evalkit.metrics.counts import count
    >>> c = count(np.linspace(0.3, 0.7, 40), np.arange(40) >= 20)
    >>> e = metric_if_calibrated(
    ...     c, lambda c: ece(bins_uniform(c)), rng=np.random.default_rng(1), draws=200
    ... )
    >>> 0.1 < e.expected < 0.2, e.p < 0.05
    (True, True)
    """
    if not c.total:
        return UNKNOWN
    table = pool_by_rank(c)
    rows = table.positive + table.negative
    probability = np.clip(table.threshold, 0, 1)
    values = np.empty(draws)
    # (draws, scores): the positives at each score in each draw
    drawn_positives = rng.binomial(rows, probability, size=(draws, len(rows)))
    for draw, positives in enumerate(drawn_positives):
        tp = np.cumsum(positives)
        fp = np.cumsum(rows - positives)
        values[draw] = metric(Counts.from_columns(table.threshold, tp, fp))
    observed = metric(table)
    at_least = np.sum(values >= observed - ROUNDING)
    # the data count as a draw, so that p is never 0
    p = float((1 + at_least) / (1 + draws))
    return PerfectCalibration(expected=float(values.mean()), p=p)


class Band(NamedTuple):
    """Scores or forecasts x, lowest first, with the lower and upper limit at each: (n,) each."""

    x: Floats
    low: Floats
    high: Floats


MAX_BAND_CELLS = 4_096  # cells of a consistency band: far more than isotonic regression has blocks


def band(
    c: Counts,
    *,
    rng: np.random.Generator,
    draws: int,
    level: float,
    max_cells: int = MAX_BAND_CELLS,
) -> Band:
    """The consistency band of the CORP reliability diagram: scores, lowest first, and the limits
    between which the isotonic share of positives at each lies with probability `level` if the
    scores are calibrated.

    Labels are drawn with the scores as probabilities. Rows must be unweighted. If there are more
    than `max_cells` distinct scores, neighbours are pooled about evenly by rank and, at both ends,
    by its logarithm. doi:10.1073/pnas.2016191118.

    >>> from evalkit.metrics.counts import count
    >>> c = count([0.2, 0.8], positive=[10, 40], negative=[40, 10])
    >>> score, low, high = band(c, rng=np.random.default_rng(1), draws=1000, level=0.7)
    >>> score.tolist()
    [0.2, 0.8]
    >>> low.round(2).tolist(), high.round(2).tolist()  # the binomial quantiles of 50 rows
    ([0.14, 0.74], [0.26, 0.86])
    """
    table = pool(c, cell_numbers(c.positive + c.negative, max_cells))
    # a table begins with the highest score
    score = table.threshold[::-1]
    rows = (table.positive + table.negative)[::-1]
    positives = rng.binomial(rows, np.clip(score, 0, 1), size=(draws, len(rows)))
    shares = (positives_of_draw / rows for positives_of_draw in positives)
    limits = _isotonic_limits(shares, rows.astype(np.float64), level)
    return Band(score, limits.low, limits.high)


def cell_numbers(weight: Floats, max_cells: int = MAX_BAND_CELLS) -> Ints:
    """Group sorted scores into at most `max_cells` cells of neighbours: the number of each score's
    cell, ascending from 0; each score is a cell if there are few enough. weight: of each score.

    Each score gets a position from 0 to 1, and cells divide the positions evenly. The position is
    the mean of two: by rank, and by the logarithm of the distance in rank from both ends. The
    second makes cells small at the ends, where isotonic regression has its small blocks.

    >>> cell_numbers(np.ones(3)).tolist()
    [0, 1, 2]
    >>> len(np.unique(cell_numbers(np.ones(10_000)))) <= MAX_BAND_CELLS
    True
    """
    if len(weight) <= max_cells:
        return np.arange(len(weight))
    rank = np.cumsum(weight) - weight / 2  # of the middle of each score's rows
    total = rank[-1] + weight[-1] / 2
    by_rank = rank / total
    # log_rank: −1 at the start, 1 at the end, steep at both
    from_start = np.log1p(rank)
    from_end = np.log1p(total - rank)
    log_rank = (from_start - from_end) / np.log1p(total)
    by_log_rank = (1 + log_rank) / 2
    position = (by_rank + by_log_rank) / 2  # from 0 to 1
    return _without_gaps((max_cells * position).astype(np.int64))


def _without_gaps(cell: Ints) -> Ints:
    """Ascending cell numbers renumbered from 0 without gaps.

    >>> _without_gaps(np.array([3, 3, 5, 9])).tolist()
    [0, 0, 1, 2]
    """
    is_next = np.diff(cell) > 0
    return np.cumsum(np.append(0, is_next))


def pool_by_rank(c: Counts) -> Counts:
    """The counts with neighbouring scores pooled into at most 1,024 cells of about equal numbers of
    rows. Ranks decide what is pooled: labels would bias calibration errors.
    """
    if len(c.threshold) <= CELLS:
        return c
    rows = c.positive + c.negative  # at each score
    # tp + fp are the rows from the highest score down to each one
    middle_rank = (c.tp + c.fp) - rows / 2
    cell = (CELLS * middle_rank / c.total).astype(np.int64)
    return pool(c, _without_gaps(cell))


# Of forecasts -------------------------------------------------------------------------------------


# if there are more units, they are put into so many groups at random, as a number is stored per
# cell and group
MAX_GROUPS = 1_024


def band_of_means(
    rows: Rows, table: Means, *, rng: np.random.Generator, draws: int, level: float
) -> Band:
    """The consistency band of forecasts: forecasts, lowest first, and the limits between which the
    isotonic mean of the actual values at each lies with probability `level` if the forecasts are
    calibrated.

    table: the `means` of the rows. In each draw the actual value of a row is its forecast plus its
    observed error times a standard normal number, so that neither equal variances nor a
    distribution is assumed (wild bootstrap, doi:10.1214/aos/1176350142). The rows of a unit get the
    same normal number, since their errors depend on one another; so do those of several units if
    there are more than MAX_GROUPS. If there are more than 4,096 distinct forecasts, neighbours are
    pooled into cells.

    >>> from evalkit.metrics.calibration import means
    >>> rng = np.random.default_rng(1)
    >>> forecast = np.repeat([2.0, 8.0], 100)
    >>> rows = Rows(rng.normal(forecast), forecast)
    >>> mean, low, high = band_of_means(rows, means(rows), rng=rng, draws=400, level=0.9)
    >>> mean.tolist(), bool((0.1 < mean - low).all()), bool((high - mean < 0.3).all())
    ([2.0, 8.0], True, True)
    """
    error = rows.weights * (rows.actual - rows.scores)
    if rows.unit is None:
        # by forecast: `table.index` is the number of each row's forecast
        squares = np.bincount(table.index, error**2, len(table.weight)).astype(np.float64)
        return band_of_independent(table, squares, rng=rng, draws=draws, level=level)
    cell = cell_numbers(table.weight)  # of each forecast
    cells = int(cell[-1]) + 1
    unit, names = codes(rows.unit)
    group = unit  # of each row: the rows that get the same normal number, at first those of a unit
    groups = len(names)
    if groups > MAX_GROUPS:  # put together at random, so that a group's units are not alike
        group_of_unit = rng.integers(MAX_GROUPS, size=len(names))
        group = group_of_unit[unit]
        groups = MAX_GROUPS
    # the sum of the errors of each cell in each group, (cells, groups)
    cell_and_group = cell[table.index] * groups + group
    errors = np.bincount(cell_and_group, error, cells * groups).reshape(cells, groups)
    normal_numbers = rng.normal(size=(draws, groups))
    return _band_around(cell, table, normal_numbers @ errors.T, level)


def band_of_independent(
    table: Means, squares: Floats, *, rng: np.random.Generator, draws: int, level: float
) -> Band:
    """`band_of_means` for independent rows, from sums: Σ error · normal number over the rows of a
    cell is normal with the variance Σ error², so that one number per cell is drawn.

    squares: Σ (weight · error)² over the rows at each forecast of the table.
    """
    cell = cell_numbers(table.weight)  # of each forecast
    cells = int(cell[-1]) + 1
    deviation = np.sqrt(np.bincount(cell, squares, cells))
    noise = rng.normal(size=(draws, cells)) * deviation
    return _band_around(cell, table, noise, level)


def _band_around(cell: Ints, table: Means, noise: Floats, level: float) -> Band:
    """The band at the mean forecast of each cell, from draws of the cells' sums.

    cell: the number of each forecast's cell. noise: in each draw, Σ weight · (actual − forecast) of
    each cell, (draws, cells).
    """
    weight = np.bincount(cell, table.weight).astype(np.float64)
    forecast = ratio(np.bincount(cell, table.weight * table.forecast), weight)
    # in each draw the mean actual value of each cell
    means = (forecast + noise_sum / weight for noise_sum in noise)
    limits = _isotonic_limits(means, weight, level)
    return Band(forecast, limits.low, limits.high)


def _isotonic_limits(draws: Iterable[Floats], weight: Floats, level: float) -> LimitArrays:
    """The percentile limits, at each score or forecast, of the draws' isotonic regressions.

    draws: each a share or mean per score or forecast, (n,). weight: of these, (n,).
    """
    from scipy.optimize import isotonic_regression

    means = [isotonic_regression(draw, weights=weight).x for draw in draws]
    low, high = np.quantile(means, percentile_shares(level), axis=0)
    return LimitArrays(low, high)

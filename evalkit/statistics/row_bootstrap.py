"""Interval and test of a number that is known only as a function of the rows: a percentile
bootstrap of rows or of whole units.

Efron 1979, doi:10.1214/aos/1176344552.
"""

from collections.abc import Iterator

import numpy as np

from evalkit.arrays import Floats, Ints, ParameterError
from evalkit.metrics.rows import Rows
from evalkit.statistics import significance
from evalkit.statistics.bootstrap import defined
from evalkit.statistics.interval_methods import no_interval
from evalkit.statistics.intervals import Comparison, Estimate
from evalkit.statistics.methods import Options, no_test
from evalkit.statistics.statistic import RowStatistic

METHOD = "percentile bootstrap"
MOST_UNDEFINED = 0.1  # share of the samples without a value, from which there are no limits
# share of the samples that have exactly the value as their largest or smallest: of a maximum it is
# 1 - 1/e, of a mean next to none
AT_AN_END = 0.25
OF_FEW_ROWS = "none (single rows decide, as of a maximum)"
SELDOM_DEFINED = "none (undefined on many samples)"
RECHOSEN = "none (the threshold was chosen on the rows)"


def samples(rows: Rows, rng: np.random.Generator, resamples: int) -> Iterator[Ints]:
    """The indices of the rows of each bootstrap sample, of whole units.

    >>> rows = Rows(np.zeros(4), unit=np.array([0, 0, 0, 1]))
    >>> {len(sample) for sample in samples(rows, np.random.default_rng(0), 50)} <= {2, 4, 6}
    True
    """
    unit = np.arange(len(rows)) if rows.unit is None else rows.unit
    order = np.argsort(unit, kind="stable")  # the rows of a unit become neighbours
    _, first, size = np.unique(unit[order], return_index=True, return_counts=True)
    for _ in range(resamples):
        drawn = rng.integers(0, len(size), len(size))  # units, with replacement
        ends = np.cumsum(size[drawn])
        starts = ends - size[drawn]  # of each drawn unit among the rows of the sample
        # from the place of a row in the sample to its place in the order
        shift = np.repeat(first[drawn] - starts, size[drawn])
        yield order[shift + np.arange(ends[-1])]


def interval(statistic: RowStatistic, options: Options) -> Estimate:
    """The quantiles of the number on bootstrap samples of the rows."""
    if statistic.rechooses_threshold and statistic.metric_at_k.uses_decisions:
        return no_interval(statistic, options, RECHOSEN)
    values = _values(statistic, options)
    reason = _why_no_limits(statistic.value, values)
    if reason:
        return no_interval(statistic, options, reason)
    return _between(statistic.value, values, statistic.n, options.level)


def test(first: RowStatistic, second: RowStatistic, options: Options) -> Comparison:
    """The quantiles of the difference on the same samples of rows; p is twice the smaller share of
    the samples at or below 0, or at or above 0, with the data counted as one more sample. No test
    if the threshold was chosen on the rows, or if samples give no limits.
    """
    if first.rechooses_threshold and first.metric_at_k.uses_decisions:
        return no_test(first, second, options, RECHOSEN)
    values = _values(first, options)
    other_values = _values(second, options)
    reason = _why_no_limits(first.value, values) or _why_no_limits(second.value, other_values)
    if reason:
        return no_test(first, second, options, reason)
    differences = defined(values - other_values)
    at_or_below = np.count_nonzero(differences <= 0)
    at_or_above = np.count_nonzero(differences >= 0)
    share = (min(at_or_below, at_or_above) + 1) / (differences.size + 1)
    p = min(2 * share, 1.0)
    difference = first.value - second.value
    return significance.compare(
        lambda level: _between(difference, differences, first.n, level),
        p,
        level=options.level,
        unit=options.unit,
        method=METHOD,
    )


def _values(statistic: RowStatistic, options: Options) -> Floats:
    """The number on bootstrap samples, the same ones for all systems; NaN where it raises.

    Stored with the rows, for other pairs of systems: a user's function may take milliseconds.
    """
    rows = statistic.rows
    stored = vars(rows).setdefault("_values_on_samples", {})
    key = (statistic.metric_at_k, options.seed)
    if key not in stored:
        rng = np.random.default_rng(options.seed)
        resampled = samples(rows, rng, options.limits.resamples)
        stored[key] = np.array([_value(statistic, rows.take(sample)) for sample in resampled])
    return np.asarray(stored[key])


def _value(statistic: RowStatistic, sample: Rows) -> float:
    """The number of a sample; NaN where it raises, as many do of a sample with a single class."""
    try:
        return statistic.metric_at_k.value(sample)
    except ParameterError:
        return np.nan


def _why_no_limits(value: float, values: Floats) -> str:
    """Why the values on bootstrap samples give no limits; "" if they do. value: that of the
    data.
    """
    numbers = defined(values)
    if numbers.size < (1 - MOST_UNDEFINED) * values.size:
        return SELDOM_DEFINED
    smallest = numbers.min()
    largest = numbers.max()
    is_extreme = smallest < largest and value in (smallest, largest)
    # as often as a maximum, which any sample that has the largest row repeats
    if is_extreme and np.mean(numbers == value) > AT_AN_END:
        return OF_FEW_ROWS
    return ""


def _between(value: float, values: Floats, n: int, level: float) -> Estimate:
    """The value between the quantiles of its values on samples."""
    low, high = np.quantile(defined(values), [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, float(low), float(high), level, n, METHOD)

"""Interval and test of a number that is known only as a function of the rows: a percentile
bootstrap of rows or of whole units.

Efron 1979, doi:10.1214/aos/1176344552.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from evalkit.arrays import Floats, Ints, ParameterError
from evalkit.metrics.rows import Rows
from evalkit.statistics import significance
from evalkit.statistics.bootstrap import defined
from evalkit.statistics.interval_methods import no_interval
from evalkit.statistics.intervals import Comparison, Estimate
from evalkit.statistics.methods import Options, no_test
from evalkit.statistics.spread import percentile_shares
from evalkit.statistics.statistic import RowStatistic

METHOD = "percentile bootstrap"
MAX_UNDEFINED_SHARE = 0.1  # share of the samples without a value, from which there are no limits
# The share of samples with exactly the value of the data, from which on the value hangs on a few
# rows: the maximum of a column is the same on 1 - 1/e of the samples, a mean on hardly any.
SHARE_LIKE_A_MAXIMUM = 0.25
DECIDED_BY_FEW_ROWS = "none (a few rows decide, as for a maximum)"
SELDOM_DEFINED = "none (undefined on many samples)"
THRESHOLD_CHOSEN = "none (the threshold was chosen on the rows)"


def samples(rows: Rows, rng: np.random.Generator, resamples: int) -> Iterator[Ints]:
    """Yield the indices of the rows of each bootstrap sample: as many units as there are, drawn
    with replacement, each with all its rows.

    >>> rows = Rows(np.zeros(4), unit=np.array([0, 0, 0, 1]))
    >>> {len(sample) for sample in samples(rows, np.random.default_rng(0), 50)} <= {2, 4, 6}
    True
    """
    unit = np.arange(len(rows)) if rows.unit is None else rows.unit
    order = np.argsort(unit, kind="stable")  # the rows of a unit become neighbours
    # of each unit the place of its first row in `order`, and its number of rows
    _, first, size = np.unique(unit[order], return_index=True, return_counts=True)
    units = len(size)
    for _ in range(resamples):
        drawn_units = rng.integers(0, units, units)
        drawn_size = size[drawn_units]
        ends = np.cumsum(drawn_size)  # of each drawn unit among the rows of the sample
        starts = ends - drawn_size
        # for each row of the sample its place in `order` less its place in the sample
        shift = np.repeat(first[drawn_units] - starts, drawn_size)
        place_in_sample = np.arange(ends[-1])
        yield order[shift + place_in_sample]


def interval(statistic: RowStatistic, options: Options) -> Estimate:
    """The value of a statistic, with quantiles of its values on bootstrap samples of the rows as
    limits. No limits for a metric of decisions whose threshold was chosen on these rows, or if the
    samples give none (`_why_no_limits`).
    """
    # samples of decided rows keep the threshold, so that they do not show how it varies
    if statistic.rechooses_threshold and statistic.metric_at_k.uses_decisions:
        return no_interval(statistic, options, THRESHOLD_CHOSEN)
    values = _values(statistic, options)
    reason = _why_no_limits(statistic.value, values)
    if reason:
        return no_interval(statistic, options, reason)
    return _percentile_interval(statistic.value, values, statistic.n, options.level)


def test(first: RowStatistic, second: RowStatistic, options: Options) -> Comparison:
    """The difference of two values, with quantiles of the differences on bootstrap samples of the
    rows, the same for both, as limits. p is twice the smaller share of the samples at or below 0,
    or at or above 0, with the data counted as one more sample. No test for a metric of decisions
    whose thresholds were chosen on these rows, or if the samples give no limits.
    """
    # asked of one system: both choose their thresholds by the same rule
    if first.rechooses_threshold and first.metric_at_k.uses_decisions:
        return no_test(first, second, options, THRESHOLD_CHOSEN)
    values = _values(first, options)
    other_values = _values(second, options)
    reason = _why_no_limits(first.value, values) or _why_no_limits(second.value, other_values)
    if reason:
        return no_test(first, second, options, reason)
    differences = defined(values - other_values)
    at_or_below_0 = np.count_nonzero(differences <= 0)
    at_or_above_0 = np.count_nonzero(differences >= 0)
    share = (min(at_or_below_0, at_or_above_0) + 1) / (differences.size + 1)
    p = min(2 * share, 1.0)
    interval = partial(_percentile_interval, first.value - second.value, differences, first.n)
    return significance.compare(
        interval,
        p,
        level=options.level,
        unit=options.unit,
        method=METHOD,
    )


def _values(statistic: RowStatistic, options: Options) -> Floats:
    """The metric on bootstrap samples, shape (samples,); NaN where it raises, as many metrics do on
    a sample with a single class. The seed makes the samples the same for all systems.

    A user's function may take milliseconds on each sample. So the values are stored in the rows of
    the statistic, by metric and seed, where the comparisons of this system with other ones find
    them. The number of samples is no part of the key: it is one for the whole study.
    """
    rows = statistic.rows
    stored = vars(rows).setdefault("_values_on_samples", {})
    key = (statistic.metric_at_k, options.seed)
    if key not in stored:
        rng = np.random.default_rng(options.seed)
        resampled = samples(rows, rng, options.limits.resamples)
        values = [_value(statistic, rows.take(sample)) for sample in resampled]
        stored[key] = np.array(values)
    return np.asarray(stored[key])


def _value(statistic: RowStatistic, sample: Rows) -> float:
    """The metric on a sample; NaN where it raises."""
    try:
        return statistic.metric_at_k.value(sample)
    except ParameterError:
        return np.nan


def _why_no_limits(value: float, values: Floats) -> str:
    """Why the values on bootstrap samples give no limits: too many are undefined, or the metric
    hangs on a few rows. "" if they give limits. The text stands in the result in place of the name
    of a method.

    value: the metric on the data. values: on the samples, (samples,), NaN where it is undefined.
    """
    numbers = defined(values)
    if numbers.size < (1 - MAX_UNDEFINED_SHARE) * values.size:
        return SELDOM_DEFINED
    smallest = numbers.min()
    largest = numbers.max()
    is_extreme = smallest < largest and value in (smallest, largest)
    share_with_value = np.mean(numbers == value)
    # Many samples have exactly this value, and none goes beyond it on one side. So it hangs on a
    # few rows, as a maximum does: every sample with the largest row has the same maximum.
    if is_extreme and share_with_value > SHARE_LIKE_A_MAXIMUM:
        return DECIDED_BY_FEW_ROWS
    return ""


def _percentile_interval(value: float, values: Floats, n: int, level: float) -> Estimate:
    """The value of the data between the quantiles of its values on samples. n: that of units."""
    low, high = np.quantile(defined(values), percentile_shares(level))
    return Estimate(value, float(low), float(high), level, n, METHOD)

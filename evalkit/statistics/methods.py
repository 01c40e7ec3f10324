"""Methods: how each interval and each test is made of a statistic; `inference` says which one a metric has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Bools, ratio
from evalkit.limits import USUAL, Limits
from evalkit.metrics.counts import auc, steps
from evalkit.metrics.influence import auc_variance
from evalkit.metrics.sums import Sums, both
from evalkit.statistics import (
    count_bootstrap,
    folds,
    independent,
    intervals,
    means,
    permutation,
    power,
    proportions,
    significance,
)
from evalkit.statistics.auc_intervals import auc_interval, auc_logit
from evalkit.statistics.intervals import Estimate, t_interval
from evalkit.statistics.means import between, hall
from evalkit.statistics.significance import Comparison
from evalkit.statistics.statistic import Layout

PAIRED = "paired bootstrap of counts"
DELTA = "delta method from counts"
AGAINST_KNOWN: dict[str, Callable[..., Comparison]] = {
    "two-sided": proportions.binomial_test,
    "greater": proportions.binomial_greater,
    "less": proportions.binomial_less,
}
UNDEFINED = "undefined"
POWER = 0.8  # of the differences that are said to show


@dataclass(frozen=True, eq=False)
class Options:
    """What intervals and tests depend on beside the data.

    unit: what varies, as a noun. test_to_train: test rows for each training row, of folds.
    alternative: of a test against a known share.
    """

    level: float
    rng: np.random.Generator
    unit: str = "row"
    limits: Limits = USUAL
    test_to_train: float = 0.0
    alternative: str = "two-sided"


# Intervals --------------------------------------------------------------------------------------------------------


def wilson(statistic: Any, o: Options) -> Estimate:
    return intervals.wilson(*statistic.hits(), level=o.level)


def mean(statistic: Any, o: Options) -> Estimate:
    """The mean of one value a unit: Wilson where all are 0 or 1, else t corrected for skewness."""
    sums = statistic.sums
    return means.mean(sums.numerator[sums.defined], level=o.level)


def jackknife(statistic: Any, o: Options) -> Estimate:
    """The ratio of sums over units: the jackknife's error and t with Kish's freedom, on a scale without ends."""
    arm = independent.ratio_of(Sums(*statistic.sums.by_unit(statistic.sums.defined, statistic.unit)))
    error, n = float(np.sqrt(arm.variance)), arm.effect.size
    e = t_interval(arm.value, error, n=n, freedom=arm.freedom, level=o.level, method="jackknife t")
    return between(e, statistic.chosen.metric.low, statistic.chosen.metric.high)


def divided(statistic: Any, o: Options) -> Estimate:
    """What one of two systems has of units that both divide: its limits are half of those of the difference, above ½.

    The other has the rest, so that the difference is twice the value less 1: value and difference tell one story.
    """
    sums = statistic.sums
    over_rest = Sums(2 * sums.numerator - sums.size, sums.denominator)
    e = _flipped(over_rest, sums.defined, statistic.unit, o).difference
    return Estimate(statistic.value, (1 + e.low) / 2, (1 + e.high) / 2, o.level, e.n, e.method)


def divided_or_jackknife(statistic: Any, o: Options) -> Estimate:
    return (jackknife if statistic.n > o.limits.flipped else divided)(statistic, o)


def delta(statistic: Any, o: Options) -> Estimate:
    """t from how much each row, or unit, moves the metric, on a scale without ends."""
    value, error, freedom = statistic.value, statistic.error(), max(statistic.freedom, 1.0)
    e = t_interval(value, error, n=statistic.n, freedom=freedom, level=o.level, method=statistic.how)
    return between(e, statistic.chosen.metric.low, statistic.chosen.metric.high)


def summed_mean(statistic: Any, o: Options) -> Estimate:
    return hall(statistic.value, statistic.error(), statistic.skewness(), n=statistic.n, level=o.level)


def delong(statistic: Any, o: Options) -> Estimate:
    c = statistic.tables.chances
    error = float(np.sqrt(auc_variance(c)))
    return auc_interval(auc(c), error, c.positives, c.negatives, level=o.level)


def delong_by_unit(statistic: Any, o: Options) -> Estimate:
    e = auc_logit(auc(statistic.tables.chances), statistic.error(), n=statistic.n, level=o.level)
    return replace(e, method=f"logit DeLong by unit{statistic.passes}")


def bca(statistic: Any, o: Options) -> Estimate:
    kind, resamples = statistic.chosen.metric.kind, o.limits.resamples
    return count_bootstrap.interval(
        kind.source(statistic.tables), kind.read, rng=o.rng, level=o.level, resamples=resamples
    )


def bca_or_delta(statistic: Any, o: Options) -> Estimate:
    """The bootstrap of counts, or of many rows the delta method over the bins of the table."""
    c = statistic.tables.counts
    if min(c.positives, c.negatives) < o.limits.enough:
        return bca(statistic, o)
    return t_interval(statistic.value, table_error(statistic), n=int(c.total), level=o.level, method=DELTA)


def table_error(statistic: Any) -> float:
    """The standard error of a metric whose rows count alike, from what a row of each bin and class moves it by."""
    c = statistic.chosen.metric.kind.source(statistic.tables)
    bins = statistic.chosen.metric.kind.bins(c)
    squares, stop = 0.0, 0
    for step in steps(c):
        start, stop = stop, stop + len(step.p)
        squares += np.dot(step.p, bins[0, start:stop] ** 2) + np.dot(step.n, bins[1, start:stop] ** 2)
    return float(np.sqrt(ratio(squares * c.total, c.total - 1)))


def of_folds(statistic: Any, o: Options) -> Estimate:
    values = statistic.sums.per_unit[statistic.sums.defined]
    return folds.nadeau_bengio(values, train=1, test=o.test_to_train, level=o.level).difference


def known(statistic: Any, o: Options) -> Estimate:
    return statistic.estimate


# Tests ------------------------------------------------------------------------------------------------------------


def mcnemar(a: Any, b: Any, o: Options) -> Comparison:
    """McNemar's asymptotic test, whose interval is Tango's; mid-p, which is conservative with few rows, has none."""
    return proportions.mcnemar_asymptotic(*a.only(b), level=o.level, unit=o.unit)


def flips(a: Any, b: Any, o: Options) -> Comparison:
    """Sign flips of the differences of means, or of ratios with one denominator; of whole units where rows lie in some.

    Of more than 20,000 units t is as good, and quicker.
    """
    return _flipped(minus(a, b), both(a.sums, b.sums), a.unit, o)


def minus(a: Any, b: Any) -> Sums:
    """The differences of what two systems add to sums with one denominator."""
    return Sums(a.sums.numerator - b.sums.numerator, a.sums.denominator)


def _flipped(difference: Sums, keep: Bools, unit: np.ndarray | None, o: Options) -> Comparison:
    total, size = difference.by_unit(keep, unit)
    alone = unit is None and difference.denominator is None
    columns = (total,) if alone else (total[size > 0], size[size > 0])
    return significance.sign_flip(*columns, rng=o.rng, level=o.level, unit=o.unit)


def flips_or_t(a: Any, b: Any, o: Options) -> Comparison:
    units = int(a.sums.defined.sum()) if a.unit is None else a.n
    return (t_test if units > o.limits.flipped else flips)(a, b, o)


def flips_or_influence(a: Any, b: Any, o: Options) -> Comparison:
    return (influence if a.n > o.limits.flipped else flips)(a, b, o)


def flips_of_sums(a: Any, b: Any, o: Options) -> Comparison:
    """Sign flips where both ratios of sums have one denominator, unit by unit, else the jackknife."""
    return (flips_or_t if _one_denominator(a, b) else t_test)(a, b, o)


def _one_denominator(a: Any, b: Any) -> bool:
    """Whether each unit counts as much in both sums, and none that counts nothing tells them apart."""
    total, size = minus(a, b).by_unit(both(a.sums, b.sums), a.unit)
    return np.array_equal(a.sums.size, b.sums.size, equal_nan=True) and not total[size == 0].any()


def t_test(a: Any, b: Any, o: Options) -> Comparison:
    """The difference of two means or ratios of sums: Student's paired t; by units, and of ratios, the jackknife's."""
    d = paired(a, b)
    return significance.error_t(
        d.value, d.error, n=d.n, freedom=d.freedom, scale=d.scale, level=o.level, unit=o.unit, method=d.method
    )


@dataclass(frozen=True)
class Paired:
    """The difference of two statistics of the same n units with its standard error; scale: of its rounding."""

    value: float
    error: float
    n: int
    freedom: float
    scale: float
    method: str


def paired(a: Any, b: Any) -> Paired:
    """The difference of two means or ratios of sums over the units that have both."""
    keep = both(a.sums, b.sums)
    if a.unit is None and a.sums.denominator is None and b.sums.denominator is None:
        d = (a.sums.numerator - b.sums.numerator)[keep]
        value, scale = float(d.mean()), float(np.abs(d).max())
        return Paired(value, intervals.standard_error(d - value), d.size, d.size - 1, scale, "paired t")
    first, second = (independent.ratio_of(Sums(*side.sums.by_unit(keep, a.unit))) for side in (a, b))
    n, freedom = first.effect.size, min(first.freedom, second.freedom)
    error = intervals.standard_error(first.effect - second.effect)
    return Paired(first.value - second.value, error, n, freedom, 1.0, "jackknife t")


def influence(a: Any, b: Any, o: Options) -> Comparison:
    """How much each row, or unit, moves the difference."""
    value, error, freedom = a.value - b.value, a.difference_error(b), max(a.freedom, 1.0)
    return significance.error_t(value, error, n=a.n, freedom=freedom, level=o.level, unit=o.unit, method=a.how)


def paired_t(a: Any, b: Any, o: Options) -> Comparison:
    value, error = a.value - b.value, a.difference_error(b)
    return significance.error_t(value, error, n=a.n, level=o.level, unit=o.unit, method="paired t")


def welch(a: Any, b: Any, o: Options) -> Comparison:
    """How much each row moves the difference; a bootstrap with normal limits rejects more often than it says."""
    return significance.welch_t(a.value - b.value, *a.apart(b), level=o.level, unit=o.unit)


def two_areas(a: Any, b: Any, o: Options) -> Comparison:
    """DeLong's test of two correlated areas."""
    variance, rows = a.apart(b)
    error = float(np.sqrt(variance.sum()))
    n = int(rows.sum())
    return significance.error_z(a.value - b.value, error, n=n, level=o.level, unit=o.unit, method="DeLong")


def paired_bootstrap(a: Any, b: Any, o: Options) -> Comparison:
    """The difference against its spread in resamples of the same rows, by the normal distribution.

    Not BCa: for a difference its corrections are noise.
    """
    models = [(side.rows.counts, side.rows.place) for side in (a, b)]
    read = a.chosen.metric.kind.read
    drawn = count_bootstrap.paired(a.rows.actual, models, read, rng=o.rng, resamples=o.limits.resamples)
    apart = (drawn[0] - drawn[1])[~np.isnan(drawn).any(axis=0)]
    error = float(apart.std()) if apart.size else np.nan
    return significance.error_z(a.value - b.value, error, n=a.n, level=o.level, unit=o.unit, method=PAIRED)


def two_folds(a: Any, b: Any, o: Options) -> Comparison:
    difference = (a.sums.per_unit - b.sums.per_unit)[both(a.sums, b.sums)]
    return folds.nadeau_bengio(difference, train=1, test=o.test_to_train, level=o.level, unit=o.unit)


def two_means(a: Any, b: Any, o: Options) -> Comparison:
    """Welch's t, or where skewed arms are so unlike that it does not hold, the studentised permutation."""
    arms = a.sums.numerator, b.sums.numerator
    if permutation.fits(*arms):
        return permutation.studentised(*arms, rng=o.rng, level=o.level, unit=o.unit)
    return independent.difference(*arms, level=o.level, unit=o.unit)


def two_ratios(a: Any, b: Any, o: Options) -> Comparison:
    return independent.ratio_difference(a.sums, b.sums, level=o.level, unit=o.unit)


def two_proportions(a: Any, b: Any, o: Options) -> Comparison:
    """The score test of two proportions, or the exact binomial test against one that is known."""
    if b.layout is Layout.KNOWN:
        return AGAINST_KNOWN[o.alternative](*a.hits(), null=b.value, level=o.level, unit=o.unit)
    return proportions.two_proportions(*a.hits(), *b.hits(), level=o.level, unit=o.unit)


# What a test would show --------------------------------------------------------------------------------------------


def shown_by_width(a: Any, b: Any, c: Comparison, level: float) -> float:
    """From the width of the interval: z(level) + z(80 %) standard errors."""
    width = (c.difference.high - c.difference.low) / 2
    error = width / intervals.normal_quantile(c.difference.level)
    return float(error * (intervals.normal_quantile(level) + intervals.normal_quantile(2 * POWER - 1)))


def shown_by_shares(a: Any, b: Any, c: Comparison, level: float) -> float:
    """From the second share and both sizes: the difference changes the variance of shares."""
    return power.detectable_share(b.value, a.n, b.n, level=level, power=POWER)

"""The tests, each a function of two statistics, and their minimum detectable difference; `inference` chooses one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.catalogue.metric import Chosen
from evalkit.limits import USUAL, Limits
from evalkit.metrics.rows import Sums, both
from evalkit.statistics import closed_forms, independent, intervals, power, proportions, significance
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.significance import ByT, Comparison
from evalkit.statistics.spread import Spread, standard_error
from evalkit.statistics.statistic import Layout

AGAINST_KNOWN: dict[str, Callable[..., Comparison]] = {
    "two-sided": proportions.binomial_test,
    "greater": proportions.binomial_greater,
    "less": proportions.binomial_less,
}
GAPS = "Agresti–Min, Welch t"
BY_CLASS = "delta method by class, Welch t"
BY_ROWS = "influence of rows, t"
JACKKNIFE = "jackknife t"
DRAWN = "variance of draws"
CHOSEN = "bootstrap, threshold chosen again"
UNDEFINED, NONE = "undefined", "none (biased upward)"
FEW = 0.25  # rows, in each class and direction, that are added to those on which two systems decide differently
More = Callable[[Ints], Floats | float]
POWER = 0.8  # of the differences that are said to show


@dataclass(frozen=True, eq=False)
class Options:
    """The options of intervals and tests.

    unit: what varies, as a noun. test_to_train: test rows for each training row, of folds.
    alternative: of a test against a known share. many: whether units are too many to flip the sign of each.
    """

    level: float
    rng: np.random.Generator
    unit: str = "row"
    limits: Limits = USUAL
    test_to_train: float = 0.0
    alternative: str = "two-sided"
    many: bool = False


def mcnemar(a: Any, b: Any, o: Options) -> Comparison:
    """McNemar's asymptotic test, whose interval is Tango's; mid-p, which is conservative with few rows, has none."""
    return proportions.mcnemar_asymptotic(*a.only(b), level=o.level, unit=o.unit)


def flips(a: Any, b: Any, o: Options) -> Comparison:
    """Sign flips of the differences of means, or of ratios with one denominator; of whole units where rows lie in some.

    Of very many units t is as good, and quicker.
    """
    if o.many:
        return t_test(a, b, o)
    return flipped_sums(a.minus(b), a.unit, o)


def flipped_sums(difference: Sums, unit: np.ndarray | None, o: Options) -> Comparison:
    total, size = difference.by_unit(difference.defined, unit)
    alone = unit is None and difference.denominator is None
    columns = (total,) if alone else (total[size > 0], size[size > 0])
    return significance.sign_flip(*columns, rng=o.rng, level=o.level, unit=o.unit)


def flips_or_t(a: Any, b: Any, o: Options) -> Comparison:
    units = int(a.sums.defined.sum()) if a.unit is None else a.n
    return (t_test if units > o.limits.flipped else flips)(a, b, o)


def losses(a: Any, b: Any, o: Options) -> Comparison:
    """The same, but where only one system is certain of some rows: if one of these is wrong, its loss is far larger."""
    keep, worst = both(a.sums, b.sums), a.chosen.metric.kind.worst
    first, second = a.sums.numerator[keep], b.sums.numerator[keep]
    if not any(alone.any() for _, alone in intervals.certain_alone(first, second, worst)):
        return flips_or_t(a, b, o)

    def interval(level: float) -> Estimate:
        return intervals.difference_of_losses(first, second, worst, level=level)

    return significance.by_limits(interval, level=o.level, unit=o.unit, method=intervals.SURE)


def flips_or_influence(a: Any, b: Any, o: Options) -> Comparison:
    return (flips if a.n <= o.limits.flipped and a.pairs(b) else influence)(a, b, o)


def flips_of_sums(a: Any, b: Any, o: Options) -> Comparison:
    """Sign flips where both ratios of sums have one denominator, unit by unit, else the jackknife."""
    return (flips_or_t if _one_denominator(a, b) else t_test)(a, b, o)


def _one_denominator(a: Any, b: Any) -> bool:
    """Whether each unit counts as much in both sums, and none that counts nothing tells them apart."""
    difference = a.minus(b)
    total, size = difference.by_unit(difference.defined, a.unit)
    return np.array_equal(a.sums.size, b.sums.size, equal_nan=True) and not total[size == 0].any()


def t_test(a: Any, b: Any, o: Options) -> Comparison:
    """The difference of two means or ratios of sums: Student's paired t; by units, and of ratios, the jackknife's."""
    return paired(a, b).compared(level=o.level, unit=o.unit)


@dataclass(frozen=True)
class Paired(ByT):
    """The difference of two statistics of the same n units.

    grows: the variance of the units' differences for each unit of the true difference, if units that are equal now take
    their share of it with differences like those of the others. What would show with 80% power then shows in 78 to 88%
    of simulations with values of 0 and 1; with the spread as it is in 38 to 65%.
    """

    grows: float = 0.0

    @property
    def spread(self) -> float:
        """The standard deviation of the differences over units that a t-test sees, NaN below two units."""
        return self.error * float(np.sqrt(self.n))

    def spread_at(self, difference: float) -> float:
        """The standard deviation where the true difference is that large."""
        grown = self.spread**2 + self.grows * (abs(difference) - abs(self.value))
        return float(np.sqrt(max(grown, 0.0)))

    def detectable(self, level: float) -> float:
        """The smallest true difference that as many units would show with 80% power."""
        return power.minimum_detectable(self.spread_at(0.0), self.n, level=level, power=POWER, grows=self.grows)


def paired(a: Any, b: Any) -> Paired:
    """The difference of two means or ratios of sums over the units that have both."""
    keep = both(a.sums, b.sums)
    if a.unit is None and a.sums.denominator is None and b.sums.denominator is None:
        d = (a.sums.numerator - b.sums.numerator)[keep]
        value, sizes = float(d.mean()), np.abs(d)
        differ = int((d != 0).sum())
        grows = (1 - differ / d.size) * float(np.sqrt(d @ d / differ)) if differ else 0.0
        error = standard_error(d - value)
        return Paired(value, error, d.size, d.size - 1, "paired t", float(sizes.max()), grows)
    first, second = (independent.ratio_of(Sums(*side.sums.by_unit(keep, a.unit))) for side in (a, b))
    n, freedom = first.effect.size, min(first.freedom, second.freedom)
    error = standard_error(first.effect - second.effect)
    return Paired(first.value - second.value, error, n, freedom, JACKKNIFE)


def by_t(a: Any, b: Any, o: Options, error: float, freedom: float, method: str) -> Comparison:
    """The difference by t, on so many degrees of freedom."""
    t = ByT(a.value - b.value, error, a.n, freedom, method, _scale(a, b))
    return t.compared(level=o.level, unit=o.unit)


def _scale(a: Any, b: Any) -> float:
    """The size of the values, against which rounding is told; of those around 0, which say nothing of it, 1."""
    return min(1.0, max(abs(a.value), abs(b.value))) if np.isfinite(a.chosen.metric.low) else 1.0


def influence(a: Any, b: Any, o: Options) -> Comparison:
    """How much each row, or unit, moves the difference."""
    return by_t(a, b, o, a.spread_from(b).error, max(a.freedom, 1.0), a.how)


def chosen(a: Any, b: Any, o: Options) -> Comparison:
    """The same where thresholds were chosen on the rows, from samples on which both are chosen again."""
    spread = np.fmax(a.spread_from(b).error, np.nanstd(a.redrawn - b.redrawn))
    return by_t(a, b, o, float(np.sqrt(spread**2 + _row_more(a, b).sum())), max(a.freedom, 1.0), CHOSEN)


def without_each(a: Any, b: Any, o: Options) -> Comparison:
    """The difference without each unit: to first order, few units have too small an error."""
    if a.n > o.limits.flipped:
        return influence(a, b, o)
    moved = a.without_each() - b.without_each()
    if moved.size < 2 or not np.isfinite(moved).all():
        return influence(a, b, o)
    return by_t(a, b, o, Spread.without_each(moved, a.freedom + 1).error, max(a.freedom, 1.0), JACKKNIFE)


def of_few(a: Any, b: Any, o: Options) -> Comparison:
    """The same where few rows, those of a rare class, may carry most of the variance.

    Where a row has one class, Welch's t takes the variance of each class's rows by itself, else t the degrees of
    freedom that the kurtosis of the influence values leaves.
    """
    variance, rows = by_stratum(a, b)
    if rows.size and rows.min() > 1:
        return significance.welch_t(a.value - b.value, variance, rows, BY_CLASS).compared(level=o.level, unit=o.unit)
    error, freedom = a.of_few(b)
    return by_t(a, b, o, error, freedom, a.how)


def of_few_decided(a: Any, b: Any, o: Options) -> Comparison:
    """The same of what a threshold decides, from the counts of rows on which the decisions differ."""
    spread = a.spread_from(b)
    error = float(np.sqrt(spread.error**2 + _row_more(a, b).sum()))
    return by_t(a, b, o, error, spread.freedom(a.n - 1.0), a.how)


def _row_more(a: Any, b: Any) -> Floats:
    """What one row more on which decisions differ adds to the variance, of the positive rows and of the negative ones.

    Where few differ their number is hardly known, and where none does the difference would claim certainty.
    """
    bins = (side.chosen.metric.kind.bins(side.tables.cut) for side in (a, b))
    return np.sum([FEW * np.diff(moved, axis=1)[:, 0] ** 2 for moved in bins], axis=0)


def paired_t(a: Any, b: Any, o: Options) -> Comparison:
    value, error, n = a.against(b)
    return ByT(value, error, n, n - 1, "paired t", _scale(a, b)).compared(level=o.level, unit=o.unit)


def by_stratum(a: Any, b: Any) -> tuple[Floats, Ints]:
    """The variance of the difference that the rows of each class add, on one degree of freedom less; how many."""
    squares, rows = a.by_stratum(b)
    return squares * ratio(rows, rows - 1), rows


def welch(a: Any, b: Any, o: Options, more: More = lambda rows: 0.0, method: str = significance.WELCH) -> Comparison:
    """From the influence of rows on the difference; a bootstrap with normal limits rejects more often than it says.

    more: positive rows and negative ones -> what is added to the variance of each.
    """
    variance, rows = by_stratum(a, b)
    return significance.welch_t(a.value - b.value, variance + more(rows), rows, method).compared(
        level=o.level, unit=o.unit
    )


def welch_of_decisions(a: Any, b: Any, o: Options) -> Comparison:
    """`welch` of what a threshold decides, with one row more on which decisions differ."""
    return welch(a, b, o, lambda rows: _row_more(a, b))


def two_gaps(a: Any, b: Any, o: Options) -> Comparison:
    """The distances where each is largest, as Welch's t, with half a row more on which only one of the two is right.

    So in each class and direction, as Agresti and Min have it, doi:10.1002/sim.1781: few rows that agree everywhere
    would claim certainty.
    """
    return welch(a, b, o, lambda rows: 1.0 / np.maximum(rows, 1) ** 2, method=GAPS)


def two_areas(a: Any, b: Any, o: Options) -> Comparison:
    """DeLong's variance of two correlated areas; t, since few rows of a class do not tell its variance well."""
    return welch(a, b, o, method="DeLong, Welch t")


def by_rows(a: Any, b: Any, o: Options) -> Comparison:
    """`welch` on as many degrees of freedom as there are rows, less 1: on fewer, few positives never reject."""
    variance, rows = by_stratum(a, b)
    return by_t(a, b, o, float(np.sqrt(variance.sum())), int(rows.sum()) - 1.0, BY_ROWS)


def predictive_values(a: Any, b: Any, o: Options) -> Comparison:
    """The score test of two systems' precisions, whose rows overlap."""
    more = float(_row_more(a, b).sum())
    return proportions.predictive_values(a.hits(), b.hits(), a.shared(b), n=a.n, more=more, level=o.level, unit=o.unit)


def two_lifts(a: Any, b: Any, o: Options) -> Comparison:
    """The precisions' test, as both have one base rate; the limits are divided by it."""
    share, c = Chosen(a.chosen.metric.kind.share), a.tables.cut
    first, second = (replace(side, chosen=share) for side in (a, b))
    of = predictive_values(first, second, o)

    def divided(e: Estimate) -> Estimate:
        return closed_forms.divided(e, intervals.wilson(c.positives, c.total, level=e.level))

    return replace(of, difference=divided(of.difference), equivalence=divided(of.equivalence))


def no_test(a: Any, b: Any, o: Options) -> Comparison:
    """The difference alone."""
    alone = Estimate(a.value - b.value, np.nan, np.nan, o.level, a.n, NONE)
    return Comparison(alone, np.nan, np.nan, NONE, o.unit, alone)


def two_folds(a: Any, b: Any, o: Options) -> Comparison:
    difference = (a.sums.per_unit - b.sums.per_unit)[both(a.sums, b.sums)]
    return significance.nadeau_bengio(difference, train=1, test=o.test_to_train, level=o.level, unit=o.unit)


def two_drawn(a: Any, b: Any, o: Options) -> Comparison:
    """The difference on the units that have both, which do not vary, from the variance of the draws of either."""
    keep = both(a.sums, b.sums)
    value = float((a.sums.numerator - b.sums.numerator)[keep].mean())
    error = float(np.hypot(a.noise_on(keep), b.noise_on(keep)))
    return ByT(value, error, int(keep.sum()), a.freedom + b.freedom, DRAWN).compared(level=o.level, unit=o.unit)


def two_means(a: Any, b: Any, o: Options) -> Comparison:
    """Welch's t, or where skewed arms are so unlike that it does not hold, the studentised permutation."""
    arms = a.sums.numerator, b.sums.numerator
    if independent.fits(*arms):
        return independent.studentised(*arms, rng=o.rng, level=o.level, unit=o.unit)
    return independent.difference(*arms, level=o.level, unit=o.unit)


def two_ratios(a: Any, b: Any, o: Options) -> Comparison:
    return independent.ratio_difference(a.sums, b.sums, level=o.level, unit=o.unit)


def two_proportions(a: Any, b: Any, o: Options) -> Comparison:
    """The score test of two proportions, or the exact binomial test against one that is known."""
    if b.layout is Layout.KNOWN:
        return AGAINST_KNOWN[o.alternative](*a.hits(), null=b.value, level=o.level, unit=o.unit)
    return proportions.two_proportions(*a.hits(), *b.hits(), level=o.level, unit=o.unit)


# Lifts -------------------------------------------------------------------------------------------------------------


def lift_of_means(a: Any, b: Any, o: Options) -> Comparison:
    """Fieller's, or that of the studentised permutation where it tests the means and no value is below 0."""
    arms = a.sums.numerator, b.sums.numerator
    if independent.fits(*arms) and min(arms[0].min(), arms[1].min()) >= 0:
        return independent.permuted_lift(*arms, rng=o.rng, level=o.level)
    return independent.lift(*arms, level=o.level)


def lift_of_ratios(a: Any, b: Any, o: Options) -> Comparison:
    return independent.ratio_lift(a.sums, b.sums, level=o.level)


def lift_of_shares(a: Any, b: Any, o: Options) -> Comparison:
    return independent.share_lift(*a.hits(), *b.hits(), level=o.level)


def no_lift(a: Any, b: Any, o: Options) -> Comparison:
    """Raises TypeError: two systems on the same units are compared by their difference."""
    raise TypeError(f"{a.chosen.label}: a lift needs other units in each system")


# What a test would show --------------------------------------------------------------------------------------------


def shown_by_width(a: Any, b: Any, c: Comparison, level: float) -> float:
    """From the width of the interval: z(level) + z(80%) standard errors."""
    width = (c.difference.high - c.difference.low) / 2
    error = width / intervals.normal_quantile(c.difference.level)
    return float(error * (intervals.normal_quantile(level) + intervals.normal_quantile(2 * POWER - 1)))


def shown_by_decisions(a: Any, b: Any, c: Comparison, level: float) -> float:
    """From the rows on which two decisions differ, whose number grows with the difference; see `Paired`."""
    first, second, n = a.only(b)
    differ, difference = float(ratio(first + second, n)), float(ratio(abs(first - second), n))
    grows = 1 - differ
    sd = np.sqrt(differ - grows * difference)
    return power.minimum_detectable(sd, n, level=level, power=POWER, grows=grows)


def shown_by_shares(a: Any, b: Any, c: Comparison, level: float) -> float:
    """From the second share and both sizes: the difference changes the variance of shares."""
    return power.detectable_share(b.value, a.n, b.n, level=level, power=POWER)


def shown_by_means(a: Any, b: Any, c: Comparison, level: float) -> float:
    """From the second mean, its spread and both sizes: what is never below 0 grows by a factor, and so does its spread.

    In simulated revenue of 200 to 2,000 users an arm such a difference shows in 76 to 79%; by the width of the
    interval in 22 to 56%. Of values that can be below 0 the width decides.
    """
    first, second = a.sums.numerator, b.sums.numerator
    if min(first.min(), second.min()) < 0 or not second.any() or second.size < 2:
        return shown_by_width(a, b, c, level)
    return power.detectable_lift(b.value, float(second.std(ddof=1)), first.size, second.size, level=level, power=POWER)

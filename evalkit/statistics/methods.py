"""The tests, each a function of two statistics, and their minimum detectable difference;
`inference` chooses one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints, minus, ratio
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.limits import USUAL, Limits
from evalkit.metrics.rows import Sums, both
from evalkit.statistics import (
    closed_forms,
    independent,
    intervals,
    power,
    proportions,
    significance,
    statistic,
)
from evalkit.statistics.significance import ByT, Comparison
from evalkit.statistics.spread import Spread, standard_error

AGAINST_KNOWN: dict[str, Callable[..., Comparison]] = {
    "two-sided": proportions.binomial_test,
    "greater": proportions.binomial_greater,
    "less": proportions.binomial_less,
}
BY_CLASS = "delta method by class, Welch t"
JACKKNIFE = "jackknife t"
DRAWN = "variance of draws"
CHOSEN = "bootstrap, threshold chosen again"
UNDEFINED, NONE = "undefined", "none (biased upward)"
DOMINATED = "none (too few rows or units have most of the weight)"
# rows, in each class and direction, that are added to those on which two systems decide differently
FEW = 0.25
More = Callable[[Ints], Floats | float]
POWER = 0.8  # of the differences that are said to show


@dataclass(frozen=True, eq=False)
class Options:
    """The options of intervals and tests.

    unit: the noun for a unit, such as "row". test_to_train: test rows per training row, for folds.
    alternative: of a test against a known share: two-sided, greater or less. many: True if there
    are too many units to flip their signs.
    """

    level: float
    rng: np.random.Generator
    unit: str = "row"
    limits: Limits = USUAL
    test_to_train: float = 0.0
    alternative: str = "two-sided"
    many: bool = False


def mcnemar(a: Any, b: Any, o: Options) -> Comparison:
    """McNemar's asymptotic test with Tango's interval.

    The mid-p test is conservative with few rows and has no interval.
    """
    return proportions.mcnemar_asymptotic(*a.only(b), level=o.level, unit=o.unit)


def flips(a: Any, b: Any, o: Options) -> Comparison:
    """Sign flips of the differences of means, or of ratios with one denominator; clustered rows are
    flipped by unit.

    With very many units the t-test is used, which is as accurate and faster.
    """
    if o.many:
        return t_test(a, b, o)
    return flipped_sums(a.minus(b), a.unit, o, mid_p=a.mid_p and b.mid_p)


def flipped_sums(
    difference: Sums, unit: np.ndarray | None, o: Options, *, mid_p: bool = False
) -> Comparison:
    total, size = difference.by_unit(difference.defined, unit)
    alone = unit is None and difference.denominator is None
    columns = (total,) if alone else (total[size > 0], size[size > 0])
    return significance.sign_flip(*columns, rng=o.rng, level=o.level, unit=o.unit, mid_p=mid_p)


def flips_or_t(a: Any, b: Any, o: Options) -> Comparison:
    units = int(a.sums.defined.sum()) if a.unit is None else a.n
    return (t_test if units > o.limits.flipped else flips)(a, b, o)


def losses(a: Any, b: Any, o: Options) -> Comparison:
    """Sign flips or t; by MOVER if only one system is certain (0 or 1) of some rows, where one
    error costs far more.
    """
    keep = both(a.sums, b.sums)
    worst = a.chosen.metric.kind.worst
    first = a.sums.numerator[keep]
    second = b.sums.numerator[keep]
    if not any(alone.any() for _, alone in intervals.certain_alone(first, second, worst)):
        return flips_or_t(a, b, o)

    def interval(level: float) -> intervals.Estimate:
        return intervals.difference_of_losses(first, second, worst, level=level)

    return significance.by_limits(interval, level=o.level, unit=o.unit, method=intervals.SURE)


def flips_or_influence(a: Any, b: Any, o: Options) -> Comparison:
    return (flips if a.n <= o.limits.flipped and a.pairs(b) else over_shared)(a, b, o)


def over_shared(a: Any, b: Any, o: Options) -> Comparison:
    """Compare by the influence of the rows or units that have values of both."""
    value, error, n = a.against(b)
    return ByT(value, error, n, max(a.freedom, 1.0), a.how, _scale(a, b)).compared(
        level=o.level, unit=o.unit
    )


def flips_of_sums(a: Any, b: Any, o: Options) -> Comparison:
    """Sign flips if both ratios of sums have the same denominator in every unit, otherwise the
    jackknife.
    """
    difference = a.minus(b)
    total, size = difference.by_unit(difference.defined, a.unit)
    # Each unit counts as much in both sums, and none that counts nothing tells them apart.
    alike = np.array_equal(a.sums.size, b.sums.size, equal_nan=True) and not total[size == 0].any()
    return (flips_or_t if alike else t_test)(a, b, o)


def t_test(a: Any, b: Any, o: Options) -> Comparison:
    """The difference of two means (Student's paired t) or, for clustered rows and ratios of sums,
    by the jackknife.
    """
    return paired(a, b).compared(level=o.level, unit=o.unit)


@dataclass(frozen=True)
class Paired(ByT):
    """The difference of two statistics of the same n units.

    grows, bends: by how much the variance of the units' differences grows per unit of the true
    difference, and per its square; see `_growth`. step: half the distance of two means next to
    each other, by which an exact test is conservative if all units that differ do so alike.
    """

    grows: float = 0.0
    bends: float = 0.0
    step: float = 0.0

    @property
    def spread(self) -> float:
        """The standard deviation of the differences over units that a t-test sees, NaN below two
        units.
        """
        return self.error * float(np.sqrt(self.n))

    def spread_at(self, difference: float) -> float:
        """The standard deviation of the units' differences if the true difference is
        `difference`.
        """
        far = abs(difference)
        seen = abs(self.value)
        grown = self.grows * (far - seen) + self.bends * (far**2 - seen**2)
        return float(np.sqrt(max(self.spread**2 + grown, 0.0)))

    def detectable(self, level: float) -> float:
        """The smallest true difference that a test of this many units detects with 80% power; NaN
        if sign flips of so few units have no p below 1 − level.
        """
        if 2.0 ** (1 - self.n) > 1 - level:
            return np.nan
        sd = self.spread_at(0.0)
        return self.step + power.minimum_detectable(
            sd, self.n, level=level, power=POWER, grows=self.grows, bends=self.bends
        )


def paired(a: Any, b: Any) -> Paired:
    """The difference of two means or ratios of sums, over the units that have a value of both
    systems.
    """
    keep = both(a.sums, b.sums)
    if a.unit is None and a.sums.denominator is None and b.sums.denominator is None:
        values = (a.sums.numerator[keep], b.sums.numerator[keep])
        d = minus(*values)
        value = float(d.mean())
        sizes = np.abs(d)
        scale = float(sizes.max())
        error = standard_error(d - value)
        alike = bool(np.all((sizes == 0) | (sizes == scale))) and not a.mid_p
        grows, bends = _growth(*values, a.chosen.metric)
        step = scale / d.size if alike else 0.0
        return Paired(value, error, d.size, d.size - 1, "paired t", scale, grows, bends, step)
    first, second = (
        independent.ratio_of(Sums(*side.sums.by_unit(keep, a.unit))) for side in (a, b)
    )
    n = first.effect.size
    freedom = min(first.freedom, second.freedom)
    error = standard_error(first.effect - second.effect)
    return Paired(first.value - second.value, error, n, freedom, JACKKNIFE)


def _growth(first: Floats, second: Floats, metric: Metric) -> tuple[float, float]:
    """By how much the variance of the differences grows per unit of the true difference, and per
    its square.

    Equal units come to differ as much as the others do, the more so the more alike two systems are
    (their correlation): unrelated ones are equal by coincidence. Within a range, the variance of a
    system goes with (mean − low) (high − mean); without one, the squares of units that are now
    equal keep their sum.
    """
    d = first - second
    equal = float((d == 0).mean())
    low, high = metric.ends
    if equal == 1:
        return 0.0, 0.0
    mean = float(first.mean())
    moved = first - mean
    other = second - second.mean()
    variance = float(moved @ moved) / d.size
    shared = float(moved @ other) / d.size
    sizes = variance * float(other @ other) / d.size
    alike = max(shared / (sizes**0.5 or np.inf), 0.0)
    grows = alike * equal**2 * float(np.sqrt(d @ d / np.count_nonzero(d)))
    if not np.isfinite(high - low):
        return grows, -equal
    share = (variance - shared) / ((mean - low) * (high - mean) or np.inf)
    return grows + share * metric.sign * (low + high - 2 * float(second.mean())), -share


def by_t(a: Any, b: Any, o: Options, error: float, freedom: float, method: str) -> Comparison:
    """Compare by t on these degrees of freedom."""
    return ByT(a.value - b.value, error, a.n, freedom, method, _scale(a, b)).compared(
        level=o.level, unit=o.unit
    )


def _scale(a: Any, b: Any) -> float:
    """The magnitude of the values, for recognising rounding error; 1 if values are around 0 and do
    not show it.
    """
    return min(1.0, max(abs(a.value), abs(b.value))) if np.isfinite(a.chosen.metric.low) else 1.0


def influence(a: Any, b: Any, o: Options) -> Comparison:
    """Compare by the standard error of the influence values of rows or units."""
    return by_t(a, b, o, a.spread_from(b).error, max(a.freedom, 1.0), a.how)


def chosen(a: Any, b: Any, o: Options) -> Comparison:
    """Compare by bootstrap samples, on each of which both systems' thresholds are chosen again."""
    spread = np.fmax(a.spread_from(b).error, np.nanstd(a.bootstrap_values - b.bootstrap_values))
    return by_t(
        a, b, o, float(np.sqrt(spread**2 + _row_more(a, b).sum())), max(a.freedom, 1.0), CHOSEN
    )


def without_each(a: Any, b: Any, o: Options) -> Comparison:
    """Compare by the jackknife: with few units, the first-order influence values underestimate the
    error.
    """
    if a.n > o.limits.flipped:
        return influence(a, b, o)
    moved = a.without_each() - b.without_each()
    if moved.size < 2 or not np.isfinite(moved).all():
        return influence(a, b, o)
    return by_t(
        a, b, o, Spread.without_each(moved, a.freedom + 1).error, max(a.freedom, 1.0), JACKKNIFE
    )


def of_few(a: Any, b: Any, o: Options) -> Comparison:
    """Compare if a few rows, those of a rare class, may carry most of the variance.

    If each row has one class, Welch's t with the variance of each class is used, otherwise t with
    the degrees of freedom that follow from the kurtosis of the influence values.
    """
    a = a.leave_one_out()
    b = b.leave_one_out()
    variance, rows = by_stratum(a, b)
    if rows.size and rows.min() > 1:
        return significance.welch_t(a.value - b.value, variance, rows, BY_CLASS).compared(
            level=o.level, unit=o.unit
        )
    spread = a.spread_apart(b)
    return by_t(a, b, o, spread.error, spread.freedom(a.n - 1.0), a.how)


def of_few_decided(a: Any, b: Any, o: Options) -> Comparison:
    """As `of_few`, for decisions at a threshold, from the counts of rows on which the two systems'
    decisions differ.
    """
    spread = a.spread_from(b)
    error = float(np.sqrt(spread.error**2 + _row_more(a, b).sum()))
    return by_t(a, b, o, error, spread.freedom(a.n - 1.0), a.how)


def _row_more(a: Any, b: Any) -> Floats:
    """What one more row with differing decisions adds to the variance, for the positive rows and
    the negative ones.

    If few rows differ, their number is uncertain, and if none does, the difference would have a
    variance of 0.
    """
    bins = (side.chosen.metric.kind.influence_table(side.tables.cut) for side in (a, b))
    return np.sum([FEW * np.diff(moved, axis=1)[:, 0] ** 2 for moved in bins], axis=0)


def paired_t(a: Any, b: Any, o: Options) -> Comparison:
    value, error, n = a.against(b)
    return ByT(value, error, n, n - 1, "paired t", _scale(a, b)).compared(
        level=o.level, unit=o.unit
    )


def by_stratum(a: Any, b: Any) -> tuple[Floats, Ints]:
    """The variance that the rows of each class add to the difference, Σ squares · n / (n − 1), and
    their number n.
    """
    squares, rows = a.by_stratum(b)
    return squares * ratio(rows, rows - 1), rows


def welch(
    a: Any, b: Any, o: Options, more: More = lambda rows: 0.0, method: str = significance.WELCH
) -> Comparison:
    """Welch's t from the influence of rows on the difference.

    A normal bootstrap interval exceeds its nominal error rate. more: a function from the numbers of
    positive and negative rows to what is added to the variance of each class.
    """
    variance, rows = by_stratum(a, b)
    t = significance.welch_t(a.value - b.value, variance + more(rows), rows, method)
    return t.compared(level=o.level, unit=o.unit)


def welch_of_decisions(a: Any, b: Any, o: Options) -> Comparison:
    """`welch` for decisions at a threshold; the variance allows for one more row on which the
    decisions differ.
    """
    return welch(a, b, o, lambda rows: _row_more(a, b))


def two_gaps(a: Any, b: Any, o: Options) -> Comparison:
    """Welch's t of two KS distances, each at its own threshold, with half a row added where only
    one system is right.

    Half a row is added in each class and direction, after Agresti and Min, doi:10.1002/sim.1781;
    otherwise a few rows on which both systems agree would have a variance of 0.
    """
    return welch(
        a, b, o, lambda rows: 1.0 / np.maximum(rows, 1) ** 2, method="Agresti–Min, Welch t"
    )


def two_areas(a: Any, b: Any, o: Options) -> Comparison:
    """DeLong's variance of two correlated areas, with Welch's t because a rare class estimates its
    variance poorly.
    """
    return welch(a, b, o, method="DeLong, Welch t")


def by_rows(a: Any, b: Any, o: Options) -> Comparison:
    """The variance of `welch`, with t on (rows − 1) degrees of freedom: with fewer, few positives
    never reject.
    """
    variance, rows = by_stratum(a, b)
    return by_t(
        a, b, o, float(np.sqrt(variance.sum())), int(rows.sum()) - 1.0, "influence of rows, t"
    )


def predictive_values(a: Any, b: Any, o: Options) -> Comparison:
    """The score test of two systems' precisions; the rows that they predict positive may
    overlap.
    """
    more = float(_row_more(a, b).sum())
    return proportions.predictive_values(
        a.hits(), b.hits(), a.shared(b), n=a.n, more=more, level=o.level, unit=o.unit
    )


def two_lifts(a: Any, b: Any, o: Options) -> Comparison:
    """The test of the two precisions, since both lifts have one base rate, by which the limits are
    divided.
    """
    share = Chosen(a.chosen.metric.kind.share)
    c = a.tables.cut
    first, second = (replace(side, chosen=share) for side in (a, b))
    of = predictive_values(first, second, o)

    def divided(e: intervals.Estimate) -> intervals.Estimate:
        return closed_forms.divided(e, intervals.wilson(c.positives, c.total, level=e.level))

    return replace(of, difference=divided(of.difference), equivalence=divided(of.equivalence))


def no_test(a: Any, b: Any, o: Options, why: str = NONE) -> Comparison:
    """The difference without limits or p."""
    alone = intervals.Estimate(a.value - b.value, np.nan, np.nan, o.level, a.n, why)
    return Comparison(alone, np.nan, np.nan, why, o.unit, alone)


def two_folds(a: Any, b: Any, o: Options) -> Comparison:
    difference = (a.sums.per_unit - b.sums.per_unit)[both(a.sums, b.sums)]
    return significance.nadeau_bengio(
        difference, train=1, test=o.test_to_train, level=o.level, unit=o.unit
    )


def two_drawn(a: Any, b: Any, o: Options) -> Comparison:
    """The difference over the units that have both values, which are fixed: the variance is that of
    the draws alone.
    """
    keep = both(a.sums, b.sums)
    value = float((a.sums.numerator - b.sums.numerator)[keep].mean())
    error = float(np.hypot(a.noise_on(keep), b.noise_on(keep)))
    return ByT(value, error, int(keep.sum()), a.freedom + b.freedom, DRAWN).compared(
        level=o.level, unit=o.unit
    )


def two_means(a: Any, b: Any, o: Options) -> Comparison:
    """Welch's t; the studentised permutation test if the arms are skewed and too different for
    Welch's t.
    """
    arms = a.sums.numerator, b.sums.numerator
    if independent.fits(*arms):
        return independent.studentised(*arms, rng=o.rng, level=o.level, unit=o.unit)
    return independent.difference(*map(independent.mean_of, arms), level=o.level, unit=o.unit)


def two_ratios(a: Any, b: Any, o: Options) -> Comparison:
    arms = (independent.ratio_of(side.sums) for side in (a, b))
    return independent.difference(*arms, level=o.level, unit=o.unit, method=JACKKNIFE)


def two_proportions(a: Any, b: Any, o: Options) -> Comparison:
    """The score test of two proportions, or the exact binomial test against a known one."""
    if b.layout is statistic.Layout.KNOWN:
        return AGAINST_KNOWN[o.alternative](*a.hits(), null=b.value, level=o.level, unit=o.unit)
    return proportions.two_proportions(*a.hits(), *b.hits(), level=o.level, unit=o.unit)


# Lifts --------------------------------------------------------------------------------------------


def lift_of_means(a: Any, b: Any, o: Options) -> Comparison:
    """Fieller's interval; that of the studentised permutation if this tests the means and no value
    is negative.
    """
    arms = a.sums.numerator, b.sums.numerator
    if independent.fits(*arms) and min(arms[0].min(), arms[1].min()) >= 0:
        return independent.permuted_lift(*arms, rng=o.rng, level=o.level)
    return independent.lift(*map(independent.mean_of, arms), level=o.level)


def lift_of_ratios(a: Any, b: Any, o: Options) -> Comparison:
    return independent.lift(
        independent.ratio_of(a.sums), independent.ratio_of(b.sums), level=o.level
    )


def lift_of_shares(a: Any, b: Any, o: Options) -> Comparison:
    return independent.share_lift(*a.hits(), *b.hits(), level=o.level)


def no_lift(a: Any, b: Any, o: Options) -> Comparison:
    """Raise TypeError: systems on the same units are compared by their difference."""
    raise TypeError(f"{a.chosen.label}: a lift needs other units in each system")


# What a test would show ---------------------------------------------------------------------------


def shown_by_width(a: Any, b: Any, c: Comparison, level: float) -> float:
    """The detectable difference from the width of the interval: z(level) + z(80% power) standard
    errors.
    """
    width = (c.difference.high - c.difference.low) / 2
    error = width / intervals.normal_quantile(c.difference.level)
    return float(
        error * (intervals.normal_quantile(level) + intervals.normal_quantile(2 * POWER - 1))
    )


def shown_by_decisions(a: Any, b: Any, c: Comparison, level: float) -> float:
    """The detectable difference from the rows on which two decisions differ.

    Their number grows with the difference, see `Paired`.
    """
    first, second, n = a.only(b)
    differ = float(ratio(first + second, n))
    difference = float(ratio(abs(first - second), n))
    grows = 1 - differ
    sd = np.sqrt(differ - grows * difference)
    return power.minimum_detectable(sd, n, level=level, power=POWER, grows=grows)


def shown_by_shares(a: Any, b: Any, c: Comparison, level: float) -> float:
    """The detectable difference from the second share and both sample sizes.

    The variance of a share depends on the share. If the shares are adjusted, it is that of so many
    more units.
    """
    sizes = (a.informative, b.informative)
    return power.detectable_share(b.unadjusted().value, *sizes, level=level, power=POWER)


def shown_by_means(a: Any, b: Any, c: Comparison, level: float) -> float:
    """The detectable difference from the second mean, the spread of both arms and their sizes.

    If no value is negative, the effect is taken to multiply all values: the standard deviation
    grows with the mean, and both arms tell the ratio of the two. If the arms do not differ
    significantly, it is a difference from the mean of both: the second arm is that of the lower
    mean. If values may be negative, the width is used.
    """
    arms = (a.sums.numerator, b.sums.numerator)
    lowest = min(side.unadjusted().sums.numerator.min() for side in (a, b))
    if lowest < 0 or min(a.value, b.value) <= 0 or min(a.n, b.n) < 2:
        return shown_by_width(a, b, c, level)
    sizes = np.array([a.n, b.n])
    variation = np.array([arm.var(ddof=1) / arm.mean() ** 2 for arm in arms])
    base = b.value
    if not c.p_value < 1 - c.difference.level:
        base = float(np.average([a.value, b.value], weights=sizes))
    sd = base * float(np.sqrt(np.average(variation, weights=sizes)))
    return power.detectable_lift(base, sd, a.n, b.n, level=level, power=POWER)

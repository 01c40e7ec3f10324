"""Inference: one table of which interval and which test a metric has, by its kind and by how its units lie.

Where units cluster or rows carry weights, the influence of each row is added up by unit: the unit, or the weighted row,
is then what varies. What the page says of methods is printed from the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats
from evalkit.catalogue.kinds import (
    Area,
    Combined,
    Decision,
    Kind,
    Loss,
    Order,
    OwnShare,
    PerUnit,
    Proportion,
    Quantile,
    Ratio,
    Rough,
    Share,
    Smooth,
    Transformed,
)
from evalkit.catalogue.metric import Chosen
from evalkit.metrics.sums import both
from evalkit.statistics import independent, intervals, methods, power
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.significance import Comparison
from evalkit.statistics.statistic import Layout

# Intervals --------------------------------------------------------------------------------------------------------


def estimate(statistic: Any, o: Options) -> Estimate:
    """The value of a statistic with its interval, cut to the range of the metric."""
    if np.isnan(statistic.value):
        return Estimate(np.nan, np.nan, np.nan, o.level, statistic.n, methods.UNDEFINED)
    return within(method(statistic).interval(statistic, o), statistic.chosen.metric.low, statistic.chosen.metric.high)


def within(e: Estimate, low: float, high: float) -> Estimate:
    """The interval cut to the metric's range.

    Where all n units lie at one end of the range, t has no width and claims certainty. The share of units at that end
    bounds the mean, so its Wilson limit stands in.

    >>> e = within(Estimate(1.0, 1.0, 1.0, 0.95, 50, "t"), 0.0, 1.0)
    >>> round(e.low, 3), e.high, e.method
    (0.929, 1.0, 'Wilson')
    """
    if e.n > 0 and e.low == e.high and e.value in (low, high) and np.isfinite(low + high):
        share = intervals.wilson(e.n, e.n, level=e.level).low
        ends = (high - share * (high - low), low + share * (high - low))
        top = e.value == high
        return replace(e, low=ends[1] if top else low, high=high if top else ends[0], method="Wilson")
    return replace(e, low=max(e.low, low), high=min(e.high, high))


def compare(first: Any, second: Any, o: Options) -> Comparison:
    """first − second with its interval and its test; NaN from no units where either is undefined."""
    if np.isnan(first.value - second.value) or not first.meets(second):
        return undefined(o.level, o.unit)
    metric = first.chosen.metric
    return within_range(method(first).test(first, second, o), metric.high - metric.low)


def within_range(c: Comparison, widest: float) -> Comparison:
    """The comparison with its limits cut to what a difference can be."""

    def cut(e: Estimate) -> Estimate:
        return replace(e, low=float(np.maximum(e.low, -widest)), high=float(np.minimum(e.high, widest)))

    return replace(c, difference=cut(c.difference), equivalence=cut(c.equivalence))


def undefined(level: float, unit: str) -> Comparison:
    """The comparison of what is undefined: NaN, from no units."""
    nothing = Estimate(np.nan, np.nan, np.nan, level, 0, methods.UNDEFINED)
    return Comparison(nothing, np.nan, np.nan, methods.UNDEFINED, unit, nothing)


def _transformed(statistic: Any, o: Options) -> Estimate:
    """The original's limits, transformed."""
    e, f = estimate(statistic.base(), o), statistic.chosen.metric.kind.f
    low, high = sorted((f(e.low), f(e.high)))
    return replace(e, value=statistic.value, low=low, high=high)


def _of_originals(a: Any, b: Any, o: Options) -> Comparison:
    """The original's test; its limits times (f(a) − f(b)) / (a − b), or f′(a) where a is b."""
    first, second, kind = a.base(), b.base(), a.chosen.metric.kind
    gap = first.value - second.value
    slope = (a.value - b.value) / gap if gap else kind.slope(first.value)

    def stretched(e: Estimate) -> Estimate:
        low, high = sorted((slope * e.low, slope * e.high))
        return replace(e, value=slope * e.value, low=low, high=high)

    c = compare(first, second, o)
    return replace(c, difference=stretched(c.difference), equivalence=stretched(c.equivalence))


# The table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Method:
    """An interval and a test, what they are called, and the difference that the test would show."""

    interval: Callable[[Any, Options], Estimate]
    interval_is: str
    test: Callable[[Any, Any, Options], Comparison]
    test_is: str
    shows: Callable[[Any, Any, Comparison, float], float] = methods.shown_by_width


BCA = "BCa from 1,000 resamples of counts"
FIRST_ORDER = "Welch's t on the influence of each row"
BY_ROW = Method(methods.delta, "delta method", methods.influence, "delta method")
HALL = "skewness-corrected t (Hall)"
SKEWED = f"{HALL}, Wilson if all values are 0 or 1"
MEAN = Method(methods.mean, SKEWED, methods.flips, "sign flips")
JACKKNIFE = "jackknife t"
ONE_DENOMINATOR = f"sign flips of whole units, {JACKKNIFE} if the denominators differ"
RATIO = Method(methods.jackknife, JACKKNIFE, methods.flips_of_sums, ONE_DENOMINATOR)
MCNEMAR = "McNemar's test with Tango's interval"
SHARE = Method(methods.wilson, "Wilson", methods.mcnemar, MCNEMAR)
AREA_BY_UNIT = "DeLong's variance by unit on the logit scale"
AREA = "DeLong's variance on the logit scale, Newcombe's method 5 where a class has fewer than 50 rows"
LIKE_ITS_ORIGINAL = Method(_transformed, "the original's, transformed", _of_originals, "the original's")

PLAIN: dict[type[Kind], Method] = {
    Share: SHARE,
    OwnShare: Method(methods.wilson, "Wilson", methods.welch, FIRST_ORDER),
    Loss: Method(methods.mean, SKEWED, methods.flips_or_t, "sign flips, paired t above 20,000 rows"),
    PerUnit: MEAN,
    Ratio: RATIO,
    Smooth: BY_ROW,
    Quantile: BY_ROW,
    Combined: BY_ROW,
    Area: Method(methods.delong, AREA, methods.two_areas, "DeLong"),
    Order: Method(methods.bca, BCA, methods.welch, FIRST_ORDER),
    Decision: Method(methods.bca, BCA, methods.welch, FIRST_ORDER),
    Rough: Method(methods.bca, BCA, methods.paired_bootstrap, "a paired bootstrap of counts (normal)"),
    Transformed: LIKE_ITS_ORIGINAL,
}
WEIGHTED = dict.fromkeys(PLAIN, BY_ROW) | {
    Loss: RATIO,
    Share: RATIO,
    OwnShare: RATIO,
    Ratio: RATIO,
    Area: Method(methods.delong_by_unit, AREA_BY_UNIT, methods.influence, "delta method"),
    Transformed: LIKE_ITS_ORIGINAL,
}
BINNED = "how much a row of each bin moves it (delta method), of fewer than 10,000 rows of a class " + BCA
FLIPPED = Method(
    methods.jackknife, JACKKNIFE, methods.flips_or_t, f"sign flips of whole units, {JACKKNIFE} above 20,000 units"
)
CLUSTERED = WEIGHTED | {
    Loss: FLIPPED,
    Share: FLIPPED,
    PerUnit: Method(methods.jackknife, JACKKNIFE, methods.flips, "sign flips of whole units"),
}
SUMMED = PLAIN | {
    Loss: Method(methods.summed_mean, HALL, methods.paired_t, "paired t"),
    Order: Method(methods.bca_or_delta, BINNED, methods.welch, FIRST_ORDER),
    Decision: Method(methods.bca_or_delta, BINNED, methods.welch, FIRST_ORDER),
    Rough: Method(methods.bca_or_delta, BINNED, methods.influence, "how much each row moves the difference"),
}
DIVIDED = "half the interval of the difference, from sign flips of the units' sums"
UNLIKE = "Welch's t, the studentised permutation test if arms are skewed and unequal"
TABLE: dict[Layout, dict[type[Kind], Method]] = {
    Layout.PLAIN: PLAIN,
    Layout.CLUSTERED: CLUSTERED,
    Layout.WEIGHTED: WEIGHTED,
    Layout.SUMMED: SUMMED,
    Layout.SUMMED_VARIED: WEIGHTED | dict.fromkeys((Loss, Share, OwnShare, Ratio), BY_ROW),
    Layout.DIVIDED: dict.fromkeys(
        (PerUnit, Ratio),
        Method(methods.divided_or_jackknife, DIVIDED, methods.flips_of_sums, "sign flips of the units' sums"),
    ),
    Layout.INDEPENDENT: {
        PerUnit: Method(methods.mean, SKEWED, methods.two_means, UNLIKE),
        Ratio: Method(methods.jackknife, JACKKNIFE, methods.two_ratios, JACKKNIFE),
        Proportion: Method(methods.wilson, "Wilson", methods.two_proportions, "the score test with its interval"),
    },
    Layout.FOLDS: dict.fromkeys(
        (PerUnit, Ratio), Method(methods.of_folds, "Nadeau–Bengio", methods.two_folds, "Nadeau–Bengio's corrected t")
    ),
    Layout.KNOWN: dict.fromkeys((PerUnit, Ratio, Proportion), Method(methods.known, "as given", methods.flips, "none")),
}


def method(statistic: Any) -> Method:
    """The interval and the test of a statistic."""
    return TABLE[statistic.layout][type(statistic.chosen.metric.kind)]


FLIPPING = (methods.flips, methods.flips_or_t, methods.flips_of_sums)


def flipped(a: Any, b: Any) -> Floats | None:
    """The differences, one a unit, whose signs are flipped to compare two statistics; None where another test does."""
    first, second = a.base(), b.base()
    if method(first).test not in FLIPPING or not first.meets(second):
        return None
    return methods.minus(first, second).by_unit(both(first.sums, second.sums), first.unit)[0]


def words(metrics: Iterable[Chosen], layout: Layout, side: Callable[[Method], str]) -> str:
    """What each metric has, those with the same method together; `side` picks interval or test.

    >>> from evalkit.catalogue.lookup import find
    >>> metrics = [find(name, "counts") for name in ("recall", "roc_auc", "gini", "accuracy")]
    >>> words(metrics, Layout.PLAIN, lambda method: method.test_is)
    "recall, accuracy: McNemar's test with Tango's interval; roc_auc, gini (as roc_auc): DeLong"
    """
    named: dict[str, list[str]] = {}
    for chosen in metrics:
        base = chosen.base
        label = chosen.label if base is chosen else f"{chosen.label} (as {base.label})"
        named.setdefault(side(TABLE[layout][type(base.metric.kind)]), []).append(label)
    return "; ".join(f"{', '.join(labels)}: {text}" for text, labels in named.items())


def lift(a: Any, b: Any, o: Options) -> Comparison:
    """The first over the second, less 1, of independent units."""
    match a.chosen.metric.kind:
        case Ratio():
            return independent.ratio_lift(a.sums, b.sums, level=o.level)
        case Proportion():
            return independent.share_lift(*a.hits(), *b.hits(), level=o.level)
    return independent.lift(a.sums.numerator, b.sums.numerator, level=o.level)


# What a comparison could show -------------------------------------------------------------------------------------


def detectable(a: Any, b: Any, c: Comparison, level: float) -> float:
    """The smallest true difference that the test of this comparison shows at a level with 80 % power."""
    return method(a).shows(a, b, c, level)


def detectable_by_t(a: Any, b: Any, level: float) -> float:
    """The smallest true difference that these units would show with 80 % power, from the spread that they have."""
    sd, n = spread(a, b)
    return power.minimum_detectable(sd, n, level=level)


def spread(a: Any, b: Any) -> tuple[float, int]:
    """The standard deviation of the differences over units that a t-test sees, NaN below two units; their number."""
    d = methods.paired(a, b)
    return d.error * float(np.sqrt(d.n)), d.n

"""The table of methods: which interval and which test a metric gets.

It is the first rule that fits the metric's kind and the layout of the sample: independent,
clustered or weighted rows. For clustered rows, influence values are added up per unit. The page
prints its description of methods from this table.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats
from evalkit.catalogue import kinds, metric, score_kinds as scores
from evalkit.catalogue.kinds import Kind
from evalkit.catalogue.metric import Chosen, Combined, Harmonic
from evalkit.catalogue.tables import PRECISION, against_rest
from evalkit.metrics import counts, labels
from evalkit.statistics import closed_forms, interval_methods, intervals, methods, significance
from evalkit.statistics.intervals import Estimate, t_interval
from evalkit.statistics.methods import JACKKNIFE, Options
from evalkit.statistics.significance import Comparison
from evalkit.statistics.statistic import Layout

# Intervals ----------------------------------------------------------------------------------------


def estimate(statistic: Any, o: Options) -> Estimate:
    """The value of a statistic with its interval, cut to the range of the metric."""
    if np.isnan(statistic.value):
        return Estimate(np.nan, np.nan, np.nan, o.level, statistic.n, methods.UNDEFINED)
    if statistic.dominated:
        return interval_methods.no_interval(statistic, o, methods.DOMINATED)
    return within(
        method(statistic).interval(statistic, o),
        statistic.chosen.metric.low,
        statistic.chosen.metric.high,
    )


def within(e: Estimate, low: float, high: float) -> Estimate:
    """The interval cut to the metric's range.

    If all n units are equal, t would give an interval without width. Within a finite range no
    values vary more than zeros and ones with the same mean, so Wilson's limits for such a share are
    used. Without a finite range the data say nothing about how far other units may lie, and there
    is no interval.

    >>> e = within(Estimate(1.0, 1.0, 1.0, 0.95, 50, "t"), 0.0, 1.0)
    >>> round(e.low, 3), e.high, e.method
    (0.929, 1.0, 'Wilson')
    """
    if e.n > 0 and e.low == e.high and np.isfinite(low + high):
        share = intervals.wilson((e.value - low) / (high - low) * e.n, e.n, level=e.level)
        ends = (low + (high - low) * share.low, low + (high - low) * share.high)
        return replace(e, low=float(ends[0]), high=float(ends[1]), method="Wilson")
    if e.n > 0 and e.low == e.high:
        return replace(e, low=np.nan, high=np.nan, method=interval_methods.UNMOVED)
    return replace(e, low=max(e.low, low), high=min(e.high, high))


def compare(first: Any, second: Any, o: Options) -> Comparison:
    """Compare first − second by its interval and its test; NaN with n = 0 if either is
    undefined.

    Two systems with the same predictions do not differ, whatever the test allows for: both limits
    are 0 and p is 1.
    """
    if np.isnan(first.value - second.value) or not first.meets(second):
        return undefined(o.level, o.unit)
    metric = first.chosen.metric
    dominated = first.dominated or second.dominated
    if dominated:
        c = methods.no_test(first, second, o, methods.DOMINATED)
    else:
        c = method(first).test(first, second, o)
    if first.base().predicts_as(second.base()):
        same = significance.ByT(0.0, 0.0, c.difference.n, np.inf, c.method)
        return same.compared(level=o.level, unit=o.unit)
    if dominated:
        return c
    unmoved = np.isnan(c.p_value) and abs(c.difference.value) > 0 and first.n > 1
    if unmoved and first.layout in EVERY and not isinstance(metric.kind, PARTS):
        apart = by_mover(first, second, o, n=first.n)
        c = apart if np.isfinite(apart.difference.low) else c
    return within_range(c, metric.high - metric.low)


def by_mover(
    first: Any,
    second: Any,
    o: Options,
    interval_of: Callable[[Any, Options], Estimate] = estimate,
    *,
    n: int,
) -> Comparison:
    """Compare two values by MOVER of the limits that each has alone; without p if one has none."""

    def interval(level: float) -> Estimate:
        a, b = (interval_of(side, replace(o, level=level)) for side in (first, second))
        return replace(intervals.mover(a, b), n=n)

    return significance.by_limits(interval, level=o.level, unit=o.unit, method=closed_forms.MOVER)


def orders_apart(first: Any, second: Any, o: Options) -> Comparison:
    """Compare two numbers of the order of scores on independent samples by MOVER of their limits.

    t of the difference rejects too often if there are few positives: each value is skewed.
    """
    return by_mover(first, second, o, interval_methods.of_table, n=first.n + second.n)


def within_range(c: Comparison, widest: float) -> Comparison:
    """The comparison with its limits cut to the range of possible differences, ± `widest`."""

    def cut(e: Estimate) -> Estimate:
        if -widest <= e.low and e.high <= widest:
            return e
        return replace(
            e, low=float(np.maximum(e.low, -widest)), high=float(np.minimum(e.high, widest))
        )

    return replace(c, difference=cut(c.difference), equivalence=cut(c.equivalence))


def undefined(level: float, unit: str) -> Comparison:
    """A comparison of undefined values: NaN with n = 0."""
    nothing = Estimate(np.nan, np.nan, np.nan, level, 0, methods.UNDEFINED)
    return Comparison(nothing, np.nan, np.nan, methods.UNDEFINED, unit, nothing)


def _transformed(statistic: Any, o: Options) -> Estimate:
    """The original's limits, transformed."""
    e = estimate(statistic.base(), o)
    f = statistic.chosen.metric.kind.function
    low, high = sorted((f(e.low), f(e.high)))
    return replace(e, value=statistic.value, low=low, high=high)


def _of_originals(a: Any, b: Any, o: Options) -> Comparison:
    """The original's test; its limits times (f(a) − f(b)) / (a − b), or f′(a) where a is b."""
    first = a.base()
    second = b.base()
    kind = a.chosen.metric.kind
    gap = first.value - second.value
    slope = (a.value - b.value) / gap if gap else kind.slope(first.value)

    def stretched(e: Estimate) -> Estimate:
        low, high = sorted((slope * e.low, slope * e.high))
        return replace(e, value=slope * e.value, low=low, high=high)

    c = compare(first, second, o)
    return replace(c, difference=stretched(c.difference), equivalence=stretched(c.equivalence))


def _combined(statistic: Any, o: Options) -> Estimate:
    """MOVER of the limits of the parts, with the correlation of what moves them, and of the shares
    that are estimated.

    The shares add as a part of value 0, whose limits are normal. Limits of parts that are biased
    are moved by the bias, which a mean of many leaves as it is while its interval narrows; they
    still hold the value. Of many parts with few positives each `_of_scarce` is used.
    """
    if statistic.scarce:
        return _of_scarce(statistic.leave_one_out(), o)

    def sides() -> Iterator[closed_forms.Part]:
        for part in statistic.parts():
            e = estimate(part.statistic, o)
            excess = part.excess
            e = replace(e, value=e.value - excess, low=e.low - excess, high=e.high - excess)
            yield closed_forms.Part(part.share, e, part.moved)
        if (moved := statistic.of_shares()) is not None:
            error = float(np.sqrt(moved @ moved))
            yield closed_forms.Part(
                1.0, t_interval(0.0, error, n=0, level=o.level, method="", freedom=np.inf), moved
            )

    return closed_forms.mover_mean(sides(), n=statistic.n, level=o.level).around(statistic.value)


def _of_scarce(statistic: Any, o: Options) -> Estimate:
    """t on the logit scale around the value without its bias: MOVER would take the skewness of a
    part, which the mean has not, and the bias of a part for none.
    """
    low, high = statistic.chosen.metric.ends
    excess = sum(part.share * part.excess for part in statistic.parts())
    e = closed_forms.ranged_t(
        float(np.clip(statistic.value - excess, low, high)),
        statistic.spread.error,
        freedom=statistic.freedom,
        n=statistic.n,
        level=o.level,
        ends=(low, high),
    )
    return e.around(statistic.value)


def _harmonic(statistic: Any, o: Options) -> Estimate:
    """MOVER: how far the mean moves where one of the two goes to its limit, by the correlation of
    what moves them.
    """
    kind = statistic.chosen.metric.kind
    pair = statistic.both()
    sides = []
    for side, other in zip(pair, reversed(pair), strict=True):
        e = estimate(side.statistic, o)
        fixed = other.statistic.value
        moved = replace(
            e, value=statistic.value, low=kind.mean(e.low, fixed), high=kind.mean(e.high, fixed)
        )
        sides.append(closed_forms.Part(1.0, moved, side.moved))
    e = closed_forms.mover_mean(sides, n=statistic.n, level=o.level)
    return replace(
        e, value=statistic.value, low=e.low - statistic.value, high=e.high - statistic.value
    )


def _coverage_interval(statistic: Any, o: Options) -> Estimate:
    """From the lower limit of the share of the classes that are known to reach the target to the
    upper limit of the share of those that may.
    """
    classes = _PredictedClasses.of(statistic)
    low = estimate(classes.share(classes.known(o.level)), o).low
    high = estimate(classes.share(classes.possible(o.level)), o).high
    return Estimate(statistic.value, low, high, o.level, statistic.n, REACHED)


def _coverage_test(a: Any, b: Any, o: Options) -> Comparison:
    """The test that inverts the interval from the least difference to the largest: of the classes
    of one system that are known to reach the target and those of the other that may.
    """
    first = _PredictedClasses.of(a)
    second = _PredictedClasses.of(b)
    same = a.decides_as(b)  # then one has the classes of the other, whichever these are

    def interval(level: float) -> Estimate:
        if same:
            known = first.known(level)
            return _shares_apart(first.share(known), second.share(known), level)
        least = _shares_apart(
            first.share(first.known(level)), second.share(second.possible(level)), level
        )
        largest = _shares_apart(
            first.share(first.possible(level)), second.share(second.known(level)), level
        )
        return Estimate(a.value - b.value, least.low, largest.high, level, a.n, REACHED)

    return significance.by_limits(interval, level=o.level, unit=o.unit, method=REACHED)


def _shares_apart(a: Any, b: Any, level: float) -> Estimate:
    """The difference of two shares of the same rows."""
    if a.layout is Layout.PLAIN:
        return intervals.tango(*a.only(b), level=level)
    error = a.spread_from(b).error
    freedom = max(a.freedom, 1.0)
    return significance.ByT(a.value - b.value, error, a.n, freedom, "").interval(level)


@dataclass(frozen=True, eq=False)
class _PredictedClasses:
    """The classes that a system predicts, beside a target for their precision.

    excess: of the precision above the target, times the root of the effective number of rows; it
    is the statistic of the score test times the deviation of one row. count: of the classes that
    are predicted; all hold together at a level (Šidák).
    """

    statistic: Any
    excess: Floats
    deviation: float
    count: int

    @classmethod
    def of(cls, statistic: Any) -> "_PredictedClasses":
        c = labels.one_vs_rest(statistic.rows.confusion)
        precision = counts.precision(c)
        size = c.tp + c.fp
        target = statistic.chosen.k
        if statistic.layout is not Layout.PLAIN:
            size = np.array([_effective(statistic, place) for place in range(len(size))])
        deviation = float(np.sqrt(target * (1 - target)))
        excess = np.nan_to_num((precision - target) * np.sqrt(size))
        return cls(statistic, excess, deviation, int(np.count_nonzero(size)))

    def reach(self, level: float) -> float:
        """How far the excess of a class may be from its true one."""
        return intervals.normal_quantile(level ** (1 / max(self.count, 1))) * self.deviation

    def known(self, level: float) -> Bools:
        """The classes that reach the target at this level, also at the lower limit."""
        return self.excess > self.reach(level)

    def possible(self, level: float) -> Bools:
        """The classes that may reach the target."""
        return self.excess >= -self.reach(level)

    def share(self, classes: Bools) -> Any:
        """The share of the rows that are predicted as some classes."""
        chosen = self.statistic.chosen
        share = replace(chosen.metric, kind=chosen.metric.kind.share(classes), kind_at=None)
        return replace(self.statistic, chosen=Chosen(share))


def _effective(statistic: Any, place: int) -> float:
    """The number of independent rows whose precision varies as that of a predicted class."""
    rows = against_rest(statistic.rows, place)
    precision = replace(statistic, chosen=Chosen(PRECISION), rows=rows)
    share, error = precision.value, precision.spread.error
    return share * (1 - share) / error**2 if error > 0 else precision.fewest


# The table ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule: the interval or test for metrics of some kinds on samples of some layouts, and its
    name.

    held: True if it needs the values of every unit, False if it works on sums alone, None if it
    takes both.
    """

    kinds: type[Kind] | tuple[type[Kind], ...]
    layouts: tuple[Layout, ...]
    of: Callable[..., Any]
    words: str
    held: bool | None = None

    def holds(self, kind: type[Kind], layout: Layout, *, held: bool) -> bool:
        """True if the rule is for this kind and this layout. held: True if the values of every unit
        are in memory.
        """
        return issubclass(kind, self.kinds) and layout in self.layouts and self.held in (None, held)


ROWS = (Layout.PLAIN,)  # that count alike
UNITS = (Layout.CLUSTERED, Layout.WEIGHTED)
EVERY = (*ROWS, *UNITS)
PARTS = (Combined, Harmonic)  # kinds that combine other metrics

REACHED = "limits of the shares of the classes that are known to reach the precision, and that may"
SAMPLES = "error from bootstrap samples on each of which the threshold is chosen again"
DELTA = "delta method"
FEW = f"{DELTA}, with degrees of freedom from the kurtosis of the influence values"
HALL = "skewness-corrected t (Hall)"
MEANS = f"Wilson with the effective sample size, {HALL} if values have no bounds"
SKEWED = f"{MEANS}, Wilson if all are 0 or 1"
LEFT = (
    f"{JACKKNIFE}, with the freedom that the kurtosis of the influence values leaves, "
    f"{DELTA} above 20,000 units"
)
LEFT_OF_MEANS = f"{LEFT}, no closer than a bootstrap-t below {interval_methods.FEW_UNITS} units"
OWN_SCALE = "t on the logit scale, on as many degrees of freedom as the rarer class has rows"
RARE_POSITIVES = (
    f"{OWN_SCALE}; with fewer than {interval_methods.FEW_POSITIVES} positives, "
    f"below {interval_methods.RARE:.0%} of all rows, average precision no closer than Boyd's "
    "binomial limits"
)
SANDWICH = "sandwich variance, t on as many degrees of freedom as the rarer class has rows"
AREA = (
    "DeLong's variance on the logit scale, Newcombe's method 5 where a class has fewer than 50 rows"
)
PICKED = "Wilson, with the variance of rows that enter and leave"
LIFT = "MOVER of Wilson's limits of precision and base rate"
AT_RATES = "MOVER of Wilson's limits of recall and false positive rate"
BY_PARTS = (
    "MOVER of the limits of each class or label; t on the logit scale, of F1 by the jackknife, "
    "where their number is above half of the mean number of their positives"
)
OF_UNITS = "t on the logit scale, by unit or weighted row, on Kish's degrees of freedom"
BY_DRAWS = "t on the variance of draws"
OF_ARM = (
    f"{JACKKNIFE} on the log scale (logit if no numerator exceeds its denominator), with the "
    "freedom that the kurtosis leaves"
)
HALVED = "half the interval of the difference, from sign flips of the units' sums"

INTERVALS = (
    Rule(Kind, (Layout.KNOWN,), interval_methods.known, "as given"),
    Rule(Kind, (Layout.FOLDS,), interval_methods.of_folds, "Nadeau–Bengio"),
    Rule(Kind, (Layout.DIVIDED,), interval_methods.divided, HALVED),
    Rule(kinds.PerUnit, (Layout.DRAWN,), interval_methods.of_draws, BY_DRAWS),
    Rule(kinds.Proportion, (Layout.INDEPENDENT,), interval_methods.wilson, "Wilson"),
    Rule(kinds.PerUnit, (Layout.INDEPENDENT,), interval_methods.mean_of_arm, SKEWED),
    Rule(kinds.Ratio, (Layout.INDEPENDENT,), interval_methods.ratio_of_arm, OF_ARM),
    Rule(metric.Transformed, EVERY, _transformed, "the original's, transformed"),
    Rule(Combined, EVERY, _combined, BY_PARTS),
    Rule(Harmonic, EVERY, _harmonic, BY_PARTS),
    Rule(scores.Calibration, EVERY, interval_methods.no_interval, "none"),
    Rule(
        scores.FunctionOfMeans, EVERY, interval_methods.jackknife_or_delta, LEFT_OF_MEANS, held=True
    ),
    Rule(
        (scores.FunctionOfMeans, kinds.RatioOfRows),
        EVERY,
        interval_methods.delta_of_few,
        DELTA,
        held=False,
    ),
    Rule((kinds.Ratio, kinds.RatioOfRows), EVERY, interval_methods.jackknife_of_few, JACKKNIFE),
    Rule(kinds.Loss, ROWS, interval_methods.mean_of_losses, SKEWED, held=True),
    Rule(kinds.Loss, ROWS, interval_methods.summed_mean, MEANS),
    Rule(kinds.Loss, UNITS, interval_methods.few_or_delta, LEFT, held=True),
    Rule(kinds.PerUnit, ROWS, interval_methods.mean, SKEWED),
    Rule(kinds.PerUnit, (Layout.CLUSTERED,), interval_methods.jackknife, JACKKNIFE),
    Rule((kinds.PerUnit, kinds.Loss, scores.Median), EVERY, interval_methods.delta, DELTA),
    Rule(kinds.ClassCoverage, EVERY, _coverage_interval, REACHED),
    Rule(kinds.Agreement, ROWS, interval_methods.skewed_rows, HALL),
    Rule(kinds.Agreement, UNITS, interval_methods.of_units, OF_UNITS),
    Rule(kinds.Smooth, UNITS, interval_methods.delta, DELTA, held=False),
    Rule(kinds.Smooth, EVERY, interval_methods.delta_of_few, FEW),
    Rule(scores.Gap, UNITS, interval_methods.gap_of_units, interval_methods.GAP),
    Rule(scores.Lift, UNITS, interval_methods.lift_of_units, OF_UNITS),
    Rule(scores.AtBaseRate, UNITS, interval_methods.at_rate_of_units, OF_UNITS),
    Rule(Kind, UNITS, interval_methods.of_units, OF_UNITS),
    Rule(kinds.Share, ROWS, interval_methods.wilson, "Wilson"),
    Rule(scores.Area, ROWS, interval_methods.delong, AREA),
    Rule(scores.AtBaseRate, ROWS, interval_methods.at_rate, OWN_SCALE),
    Rule(scores.Order, ROWS, interval_methods.of_order, RARE_POSITIVES),
    Rule(scores.Coefficient, ROWS, interval_methods.of_table, SANDWICH),
    Rule(scores.Skill, ROWS, interval_methods.skewed, HALL),
    Rule(scores.Gap, ROWS, interval_methods.gap, interval_methods.GAP),
    Rule(
        scores.Overlap,
        ROWS,
        interval_methods.overlap,
        "Wilson's limits of the Jaccard index, mapped",
    ),
    Rule(scores.MeanOfShares, ROWS, interval_methods.of_shares, "MOVER of Wilson's limits"),
    Rule(scores.Lift, ROWS, interval_methods.lift, LIFT),
    Rule(scores.TopRecall, ROWS, interval_methods.top_recall, LIFT),
    Rule(scores.TopPrecision, ROWS, interval_methods.top_precision, PICKED),
    Rule(scores.Depth, ROWS, interval_methods.depth, LIFT),
    Rule(scores.FunctionOfRates, ROWS, interval_methods.at_rates, AT_RATES),
    Rule(scores.Decision, ROWS, interval_methods.of_cells, interval_methods.OF_CELLS),
)

FIRST_ORDER = "Welch's t on the influence of each row"
A_ROW = "with one row more on which decisions differ"
OF_DECISIONS = f"{FIRST_ORDER}, {A_ROW}"
PREDICTIVE = f"weighted generalised score test (Kosinski), {A_ROW}"
OF_KISH = "delta method, on Kish's degrees of freedom"
BY_CLASS = f"{FIRST_ORDER}, by class; where rows have several labels, or a class one row, {FEW}"
UNLIKE = "Welch's t, the studentised permutation test if arms are skewed and unequal"
WHOLE = "sign flips of whole units"
ONE_DENOMINATOR = f"{WHOLE}, {JACKKNIFE} if the denominators differ"
OR_DELTA = f"{WHOLE}, {DELTA} above 20,000 units"

TESTS = (
    Rule(Kind, (Layout.KNOWN,), methods.no_test, "none"),
    Rule(Kind, (Layout.FOLDS,), methods.two_folds, "Nadeau–Bengio's corrected t"),
    Rule(Kind, (Layout.DIVIDED,), methods.flips_of_sums, "sign flips of the units' sums"),
    Rule(kinds.PerUnit, (Layout.DRAWN,), methods.two_drawn, BY_DRAWS),
    Rule(
        kinds.Proportion,
        (Layout.INDEPENDENT,),
        methods.two_proportions,
        "the score test with its interval",
    ),
    Rule(kinds.PerUnit, (Layout.INDEPENDENT,), methods.two_means, UNLIKE),
    Rule(kinds.Ratio, (Layout.INDEPENDENT,), methods.two_ratios, JACKKNIFE),
    Rule(metric.Transformed, EVERY, _of_originals, "the original's"),
    Rule(PARTS, ROWS, methods.of_few, BY_CLASS),
    Rule(PARTS, UNITS, methods.of_few, FEW, held=True),
    Rule(scores.Calibration, EVERY, methods.no_test, "none"),
    Rule(
        scores.FunctionOfMeans,
        EVERY,
        methods.without_each,
        f"{JACKKNIFE}, {DELTA} above 20,000 units",
        held=True,
    ),
    Rule((scores.FunctionOfMeans, kinds.RatioOfRows), EVERY, methods.influence, DELTA, held=False),
    Rule((kinds.Ratio, kinds.RatioOfRows), EVERY, methods.flips_of_sums, ONE_DENOMINATOR),
    Rule(kinds.Loss, ROWS, methods.losses, "sign flips, paired t above 20,000 rows", held=True),
    Rule(kinds.Loss, ROWS, methods.paired_t, "paired t"),
    Rule(kinds.PerUnit, ROWS, methods.flips, "sign flips"),
    Rule(kinds.PerUnit, (Layout.CLUSTERED,), methods.flips, WHOLE),
    Rule(kinds.ClassCoverage, EVERY, _coverage_test, "the test that inverts such limits"),
    Rule((kinds.OwnShare, kinds.Agreement), UNITS, methods.influence, OF_KISH),
    Rule(
        (kinds.Share, kinds.Loss),
        (Layout.CLUSTERED,),
        methods.flips_or_influence,
        OR_DELTA,
        held=True,
    ),
    Rule(kinds.Loss, (Layout.WEIGHTED,), methods.over_shared, DELTA),
    Rule((kinds.PerUnit, kinds.Loss, kinds.Smooth, scores.Median), EVERY, methods.influence, DELTA),
    Rule(Kind, UNITS, methods.influence, OF_KISH),
    Rule(kinds.OwnShare, ROWS, methods.predictive_values, PREDICTIVE),
    Rule(kinds.Share, ROWS, methods.mcnemar, "McNemar's test with Tango's interval"),
    Rule(scores.Area, ROWS, methods.two_areas, "DeLong's variance, Welch's t"),
    Rule((scores.AtBaseRate, scores.Skill, scores.Coefficient), ROWS, methods.welch, FIRST_ORDER),
    Rule(scores.Depth, ROWS, methods.of_few, FEW),
    Rule(scores.Order, ROWS, methods.by_rows, "t on the influence of each row"),
    Rule(scores.Gap, ROWS, methods.two_gaps, f"{FIRST_ORDER}, half a row added to each cell"),
    Rule(
        (scores.Overlap, scores.MeanOfShares, scores.FunctionOfRates),
        ROWS,
        methods.welch_of_decisions,
        OF_DECISIONS,
    ),
    Rule(scores.Lift, ROWS, methods.two_lifts, f"{PREDICTIVE}, of the precision"),
    Rule(scores.Decision, ROWS, methods.of_few_decided, f"{FEW}, {A_ROW}"),
)


@dataclass(frozen=True, eq=False)
class Method:
    """An interval and a test, with their names."""

    interval: Callable[[Any, Options], Estimate]
    interval_is: str
    test: Callable[[Any, Any, Options], Comparison]
    test_is: str


Side = Callable[[Method], str]  # the name of the interval, or of the test
RECHOSEN = Method(
    interval_methods.chosen,
    f"t on the logit scale around Efron's .632 estimate, {SAMPLES}",
    methods.chosen,
    f"t, {SAMPLES}",
)


@cache
def _first(kind: type[Kind], layout: Layout, *, held: bool) -> Method:
    """The first rules that hold for a kind."""
    both = (INTERVALS, TESTS)
    interval, test = (
        next(rule for rule in rules if rule.holds(kind, layout, held=held)) for rules in both
    )
    return Method(interval.of, interval.words, test.of, test.words)


def _method(kind: Kind, layout: Layout, *, held: bool, rechosen: bool) -> Method:
    """rechosen: True if samples choose their own thresholds."""
    return (
        RECHOSEN
        if rechosen and kind.moves_with_threshold
        else _first(type(kind), layout, held=held)
    )


def method(statistic: Any) -> Method:
    """The interval and the test of a statistic."""
    return _method(
        statistic.chosen.metric.kind,
        statistic.layout,
        held=statistic.held,
        rechosen=statistic.redraws,
    )


FLIPPING = (
    methods.flips,
    methods.losses,
    methods.flips_or_t,
    methods.flips_or_influence,
    methods.flips_of_sums,
)


def flipped(a: Any, b: Any) -> Floats | None:
    """The differences, one per unit, whose signs are flipped to compare two statistics; None for
    other tests.
    """
    first = a.base()
    second = b.base()
    if method(first).test not in FLIPPING or not first.meets(second):
        return None
    difference = first.minus(second)
    d = difference.by_unit(difference.defined, first.unit)[0]
    return d if d.size else None


def words(
    metrics: Iterable[Chosen],
    layout: Layout,
    side: Side,
    *,
    held: bool = True,
    rechosen: bool = False,
) -> str:
    """The methods as text, metrics with the same method together; `side` selects interval or test.

    held: True if the values of every unit are in memory. rechosen: True if thresholds are chosen
    again on each sample.

    >>> from evalkit.catalogue.lookup import find
    >>> metrics = [find(name, "counts") for name in ("recall", "roc_auc", "gini", "accuracy")]
    >>> print(words(metrics, Layout.PLAIN, lambda method: method.test_is).replace("; ", "\\n"))
    recall, accuracy: McNemar's test with Tango's interval
    roc_auc, gini (as roc_auc): DeLong's variance, Welch's t
    """
    named: dict[str, list[str]] = {}
    for chosen in metrics:
        base = chosen.base
        label = chosen.label if base is chosen else f"{chosen.label} (as {base.label})"
        of = _method(base.metric.kind, layout, held=held, rechosen=rechosen)
        named.setdefault(side(of), []).append(label)
    return "; ".join(f"{', '.join(labels)}: {text}" for text, labels in named.items())


LIFTS: dict[Any, Callable[[Any, Any, Options], Comparison]] = {
    methods.two_means: methods.lift_of_means,
    methods.two_ratios: methods.lift_of_ratios,
    methods.two_proportions: methods.lift_of_shares,
}
SHOWN: dict[Any, Callable[[Any, Any, Comparison, float], float]] = {
    methods.mcnemar: methods.shown_by_decisions,
    methods.two_proportions: methods.shown_by_shares,
    methods.two_means: methods.shown_by_means,
}


def lift(a: Any, b: Any, o: Options) -> Comparison:
    """Compare first / second − 1, for independent units."""
    return LIFTS.get(method(a).test, methods.no_lift)(a, b, o)


def detectable(a: Any, b: Any, c: Comparison, level: float) -> float:
    """The smallest true difference that the test of this comparison shows at a level with 80%
    power.
    """
    if np.isnan(c.difference.value):
        return np.nan
    test = method(a.unadjusted()).test
    return SHOWN.get(test, methods.shown_by_width)(a, b, c, level)

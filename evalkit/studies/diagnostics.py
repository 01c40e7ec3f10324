"""Numbers that findings of several reports state: sizes of units and slices, thresholds outside the
scores.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, InputError
from evalkit.caching import cached
from evalkit.catalogue.metric import MetricAtK
from evalkit.metrics.counts import Counts
from evalkit.reading.tables import rules
from evalkit.statistics import inference, intervals, multiplicity, power
from evalkit.statistics.spread import standardised
from evalkit.statistics.statistic import Layout, UnitStatistic
from evalkit.studies.study import Row, Study, SystemPair

RANK_DRAWS = 7  # the number of the sequence of random numbers of the ranks, see `Study.rng`
SAME = 1e-9  # by how much values differ that only rounding tells apart
VISIBLE = 5e-4  # a difference that three digits show
COCHRAN = 25  # n should be above 25 skewness² for a normal mean (Cochran 1977, section 2.15)
FAR = 5  # and is much too small below 5 skewness²
FEW = 20  # units below which an interval depends on distributional assumptions
SCALE = 30  # times as large, from which two systems could have two units
DOMINANT = 0.9  # the share of the larger class from which accuracy says little
# of a class or label, below which intervals of its precision hold it less often than they say
FEW_ROWS = 25
# verdicts of a comparison the other way round
OPPOSITE_VERDICT = {"better": "worse", "worse": "better", "higher": "lower", "lower": "higher"}
Ends = tuple[float, float]  # the lowest and the highest score
ComparisonRow = Mapping[str, Any]  # of `Study.comparisons`


def alpha(study: Study) -> float:
    """The level of the tests."""
    return one_minus_level(study.settings.test_level)


def one_minus_level(level: float) -> float:
    """1 − level, without rounding error in the last bits."""
    return round(1 - level, 12)


def covered(study: Study, n_values: int) -> float:
    """How often the interval of the best of `n_values` values contains its true value, if all are
    equal and independent.

    If they are positively correlated, for example computed on the same units, this happens more
    often.
    """
    beyond_one_limit = one_minus_level(study.settings.level) / 2
    return float((1 - beyond_one_limit) ** n_values)


def equivalence_level(study: Study) -> float:
    """The level of the interval that is used for the two one-sided tests."""
    return round(2 * study.settings.test_level - 1, 12)


def usual(estimates: pd.DataFrame) -> Bools:
    """A mask of the rows of `Study.estimates`: those whose interval method is the one that most
    systems have for the metric.
    """
    columns = ["metric", "method"]
    systems = estimates.groupby(columns, sort=False).size()
    most_frequent = systems.groupby("metric").idxmax()  # a pair (metric, method) for each metric
    return np.asarray(pd.MultiIndex.from_frame(estimates[columns]).isin(most_frequent))


def tested(slices: pd.DataFrame) -> int:
    """The number of slices that have a test. slices: the rows of `Study.by_segment`."""
    tests = slices.groupby(["segment", "slice"])["adjusted"].count()
    return int((tests > 0).sum())


def most_units(study: Study) -> int:
    """The largest number of units of any estimate."""
    return int(study.estimates["n"].max())


def best_value(study: Study, label: str) -> float:
    """The best value of a metric; NaN if it has no direction."""
    values = study.estimates.loc[study.estimates["metric"] == label, "value"]
    best = {chosen.label: chosen.metric.best for chosen in study.settings.metrics}[label]
    return float({"high": values.max(), "low": values.min()}.get(best, np.nan))


@cached
def constant(study: Study, chosen: MetricAtK) -> float:
    """The best value of a metric that a constant prediction reaches; NaN if nothing is
    predicted.
    """
    values = [value_of(chosen) for value_of in study.constants]
    return max(values, key=lambda value: chosen.metric.sign * value)


class BeatenByConstant(NamedTuple):
    """The value of a metric that a constant prediction has, and those of the worse systems."""

    constant: float
    systems: dict[str, float]


def beaten(study: Study) -> dict[str, BeatenByConstant]:
    """The metrics, by label, of which a constant prediction has a better value than some systems.

    Metrics that a constant prediction can bring to their best value, such as specificity, are left
    out.
    """
    metrics = {}
    for chosen in study.metrics_with_direction:
        low, high = chosen.metric.ends
        sign = chosen.metric.sign
        by_constant = constant(study, chosen)
        best = high if sign > 0 else low
        if math.isclose(by_constant, best, abs_tol=SAME):
            continue
        worse = {}
        for name in study.order:
            value = study.estimate(chosen, name).value
            is_same = math.isclose(value, by_constant, abs_tol=SAME)
            if sign * value < sign * by_constant and not is_same:
                worse[name] = value
        if worse:
            metrics[chosen.label] = BeatenByConstant(by_constant, worse)
    return metrics


def few_rows(rows: Mapping[str, int]) -> dict[str, int]:
    """The classes or labels with some rows, but too few, and their number.

    >>> few_rows({"a": 90, "b": 4, "c": 0})
    {'b': 4}
    """
    return {name: n for name, n in rows.items() if 0 < n < FEW_ROWS}


def depends_on_tied_order(estimate: Mapping[str, float]) -> bool:
    """True if the order of tied items visibly changes an estimate."""
    return estimate.get("best_ties", 0.0) - estimate.get("worst_ties", 0.0) > VISIBLE


Tables = Iterable[Counts]  # of the scores of a system: one, or one of each class


def only_decided(tables: Tables) -> bool:
    """True if the scores of these tables are 0 and 1 only, and both occur."""
    scores = set[float]()
    for table in tables:
        scores |= set(table.threshold[:3].tolist())  # the third is neither
    return scores == {0.0, 1.0}


NO_DIFFERENCE = "no difference"


class VerdictWords(NamedTuple):
    """How a comparison is worded: the verdict on a first system that has more of what is good, and
    the opposite; and what the first of all systems is.
    """

    better: str
    worse: str
    best: str


def words(study: Study) -> VerdictWords:
    """The words of the metric that decides."""
    return words_of(study.primary_metric)


def words_of(chosen: MetricAtK) -> VerdictWords:
    """The words of a metric: higher and lower where its direction is not known."""
    if chosen.metric.direction == 0:
        return VerdictWords("higher", "lower", "highest")
    return VerdictWords("better", "worse", "best")


def verdict_of(row: ComparisonRow) -> str:
    """The verdict of a comparison; that there is no difference where not one unit has any."""
    is_zero = row["difference"] == row["low"] == row["high"] == 0
    if is_zero and row["verdict"] == "cannot tell":
        return NO_DIFFERENCE
    return str(row["verdict"])


class SignCounts(NamedTuple):
    """The numbers of differences above 0, equal to 0, and below 0."""

    above: int
    equal: int
    below: int


def sign_counts(differences: Floats | pd.Series) -> SignCounts:
    """The numbers of differences by their sign.

    >>> sign_counts(np.array([1.0, 0.0, -1.0, 2.0]))
    SignCounts(above=2, equal=1, below=1)
    """
    return SignCounts(
        above=int((differences > 0).sum()),
        equal=int((differences == 0).sum()),
        below=int((differences < 0).sum()),
    )


@dataclass(frozen=True)
class Skew:
    """The sign-flip comparison with the most skewed differences: their skewness and the number of
    units.
    """

    metric: str
    pair: SystemPair
    skewness: float
    units: int

    @property
    def wanted(self) -> int:
        """The number of units that a normal approximation of the mean needs."""
        return int(COCHRAN * self.skewness**2)

    @property
    def has_too_few_units(self) -> bool:
        """True if there are far too few units."""
        return self.units < FAR * self.skewness**2


def contradicting_comparisons(study: Study) -> pd.DataFrame:
    """The rows of `Study.comparisons` by other metrics that contradict the headline: the first
    system of a pair is worse, but is not by the primary metric. A further column, deciding, has the
    verdict by the primary metric.
    """
    headline = study.headline
    if not len(headline):
        return pd.DataFrame(columns=["metric", "first", "second", "difference", "deciding"])
    is_not_worse = headline["verdict"].isin(["better", "equivalent", "cannot tell"])
    pairs = headline.loc[is_not_worse, ["first", "second", "verdict"]]
    by_other_metrics = study.comparisons[study.comparisons["metric"] != study.primary_metric.label]
    worse = by_other_metrics[by_other_metrics["verdict"] == "worse"]
    return worse.merge(pairs.rename(columns={"verdict": "deciding"}), on=["first", "second"])


@cached
def skew(study: Study) -> Skew | None:
    """The comparison whose test most depends on the symmetry that sign flips assume: of those with
    fewer units than a normal mean needs (`Skew.wanted`, in proportion to skewness²), the one with
    the fewest for its skewness. One of the headline comes before all others. None if each
    comparison has enough units.
    """

    def urgency(skew: Skew) -> tuple[bool, float]:
        """First whether the comparison is of the headline, then how much its units fall short."""
        return in_headline(study, skew), skew.skewness**2 / skew.units

    skews = list[Skew]()
    for chosen in study.metrics_with_direction:
        skews += [skew for skew in _skews(study, chosen) if skew.units < skew.wanted]
    return max(skews, key=urgency, default=None)


def in_headline(study: Study, skew: Skew) -> bool:
    """True if a comparison is one of those that the headline names, in either direction."""
    if skew.metric != study.primary_metric.label or not len(study.headline):
        return False
    pairs = study.headline[["first", "second"]].itertuples(index=False)
    return set(skew.pair) in [set(pair) for pair in pairs]


def _skews(study: Study, chosen: MetricAtK) -> Iterator[Skew]:
    """Yield the skewness of the units' differences for each pair of systems that is compared by
    sign flips. chosen: the metric.
    """
    for _, pairs in groupby(study.pairs, key=itemgetter(0)):  # the pairs of a first system
        # Pairs with as many units are computed together, which is faster: as a table with a row
        # for each pair. Those of one system are few enough to be in memory at once.
        pairs_of_table: dict[int, list[SystemPair]] = {}
        rows_of_table: dict[int, list[Floats]] = {}
        for pair in pairs:
            differences = inference.flipped_differences(
                study.measure(chosen, pair[0]), study.measure(chosen, pair[1])
            )
            if differences is not None and differences.size:
                pairs_of_table.setdefault(differences.size, []).append(pair)
                rows_of_table.setdefault(differences.size, []).append(differences)
        for units, rows in rows_of_table.items():
            table = np.array(rows)
            centred = table - table.mean(axis=1, keepdims=True)
            # Σ d³ / (Σ d²)^1.5, times √n: the skewness is a ratio of means, not of sums
            skewness = standardised(centred, 3) * np.sqrt(units)
            for pair, value in zip(pairs_of_table[units], skewness.tolist(), strict=True):
                yield Skew(chosen.label, pair, value, units)


def small_slices(study: Study) -> list[str]:
    """The slices with fewer than `FEW` units."""
    return [name for name, rows in _slices(study).items() if rows["n"].max() < FEW]


def untestable_slices(study: Study) -> list[str]:
    """The slices with so few units that a difference of any size could not be significant. Their
    smallest possible p-value is above α, so that no finite limit of the interval exists.
    """
    if "difference" not in study.by_segment:  # a single system, or no comparisons
        return []
    # a difference above 0 is significant if the lower limit is above 0, and likewise below 0
    limit_of_sign = {1: "difference_low", -1: "difference_high"}
    # only the limit that the question needs: of a one-sided one the other is infinite in any case
    columns = [limit_of_sign[sign] for sign in study.settings.alternative.signs]
    names = []
    for name, rows in _slices(study).items():
        limits = rows[columns].to_numpy(float)
        if np.isinf(limits).any():
            names.append(name)
    return names


def flat_slices(study: Study) -> list[str]:
    """The slices in which an interval has no width because all units are equal."""
    flat = []
    for name, rows in _slices(study).items():
        is_flat = (rows["low"] == rows["high"]).any()
        if "difference_low" in rows:
            is_flat |= (rows["difference_low"] == rows["difference_high"]).any()
        if is_flat:
            flat.append(name)
    return flat


def _slices(study: Study) -> dict[str, pd.DataFrame]:
    """The rows of `by_segment` of each slice, by column and slice as text."""
    if not len(study.by_segment):
        return {}
    groups = study.by_segment.groupby(["segment", "slice"], sort=False)
    return {f"{column} {label}": rows for (column, label), rows in groups}


# Thresholds


@dataclass(frozen=True)
class Rounded:
    """A threshold rounded to the float type in which the scores of some systems are stored.

    value: the rounded threshold. score_precision: the float type. everywhere: True if these are all
    systems.
    """

    value: float
    score_precision: rules.Precision
    systems: tuple[str, ...]
    everywhere: bool


def by_precision(stored: Mapping[str, rules.Precision]) -> dict[rules.Precision, list[str]]:
    """Float type -> the systems whose scores are stored in it. stored: by system."""
    names: dict[rules.Precision, list[str]] = {}
    for name, precision in stored.items():
        names.setdefault(precision, []).append(name)
    return names


def rounded(threshold: float, stored: Mapping[str, rules.Precision]) -> list[Rounded]:
    """The threshold as rounded to each float type in which scores are stored, if this changes its
    value: the decision about a score that equals the threshold then changes. stored: the float type
    of each system's scores.
    """
    changed = []
    for precision, names in by_precision(stored).items():
        value = rules.rounded(threshold, precision)
        if precision != rules.DOUBLE and value != threshold:
            everywhere = len(names) == len(stored)
            changed.append(Rounded(value, precision, tuple(names), everywhere))
    return changed


def ends(score: Mapping[str, Floats]) -> dict[str, Ends]:
    """The lowest and the highest score of each system."""
    return {name: (float(values.min()), float(values.max())) for name, values in score.items()}


def best_two_comparison(study: Study) -> pd.DataFrame:
    """With a baseline, which all other systems are compared with, the comparison of the two best
    other systems: one row with the columns of `Study.comparisons`.

    The two were chosen by their values out of all pairs of other systems, so that the adjusted
    p-value is p times the number of these pairs, and the question is two-sided. Empty without a
    baseline, two other systems or a headline, or if the two share no unit.
    """
    challengers = [name for name in study.order if name != study.settings.baseline]
    has_baseline = study.settings.baseline in study.order
    if not has_baseline or len(challengers) < 2 or not len(study.headline):
        return pd.DataFrame()
    pair = (challengers[0], challengers[1])
    try:
        comparison = study.two_sided.compare(study.primary_metric, pair)
    except InputError:  # no unit has a value of both
        return pd.DataFrame()
    n_pairs = math.comb(len(challengers), 2)
    comparison = replace(comparison, adjusted=min(1.0, n_pairs * comparison.p_value))
    frame = pd.DataFrame([study.row(study.primary_metric, pair, comparison)])
    # the detectable difference would be adjusted for the comparisons with the baseline, to which
    # this pair does not belong
    return frame.drop(columns=["detectable"], errors="ignore")


def systems_equal_to_leader(study: Study) -> list[str]:
    """The second systems of the headline whose primary metric equals the leader's, to 12 digits."""
    digits = {name: f"{primary_estimate(study, name)['value']:.12g}" for name in study.order}
    return [name for name in study.headline["second"] if digits[name] == digits[study.leader]]


def primary_estimate(study: Study, system: str) -> pd.Series:
    """The row of `Study.estimates` of a system and the primary metric."""
    rows = study.estimates[study.estimates["metric"] == study.primary_metric.label]
    return rows[rows["system"] == system].iloc[0]


def swap_systems(row: ComparisonRow) -> Row:
    """A row of `Study.comparisons` with its two systems swapped; a lift becomes that of the second
    over the first.
    """
    swapped = {
        **row,
        "first": row["second"],
        "second": row["first"],
        "verdict": OPPOSITE_VERDICT.get(row["verdict"], row["verdict"]),
        "difference": -row["difference"],
        "low": -row["high"],
        "high": -row["low"],
    }
    if "lift" in row:
        swapped["lift"] = _turned_lift(row["lift"])
        swapped["lift_low"] = _turned_lift(row["lift_high"])
        swapped["lift_high"] = _turned_lift(row["lift_low"])
    if "adjusted_first" in row:
        swapped["adjusted_first"] = row["adjusted_second"]
        swapped["adjusted_second"] = row["adjusted_first"]
    return swapped


def _turned_lift(lift: float) -> float:
    """The lift of the second value over the first; NaN if the first is not above 0. lift: of the
    first over the second, a / b − 1.
    """
    return 1 / (1 + lift) - 1 if lift > -1 else math.nan


LIMITS_OF_LIFT = {1: "lift_low", -1: "lift_high"}  # that a lift of this sign has to exclude 0


def relative(study: Study, row: ComparisonRow) -> float:
    """How much larger the first value of a comparison is than the second, as a share of the second:
    first / second − 1. For the arms of an experiment it is their lift. row: of `Study.comparisons`,
    by the primary metric.

    NaN where a ratio would mislead: the second value is not above 0, the metric can be negative or
    does not begin at 0, the values are of different units, each unit is divided between the two
    systems, or a limit of the lift that the question asks for is infinite.
    """
    statistic = study.measure(study.primary_metric, row["first"])
    second = float(primary_estimate(study, row["second"])["value"])
    # in interleaving each unit is divided between two systems: a gain of one is a loss of the other
    is_divided = statistic.layout is Layout.DIVIDED
    if is_divided or not second > 0:
        return math.nan
    if "lift" in row:  # arms
        alternative = study.settings.alternative
        limits = [row[limit] for sign, limit in LIMITS_OF_LIFT.items() if alternative.counts(sign)]
        return row["lift"] if all(map(math.isfinite, limits)) else math.nan
    metric = study.primary_metric.metric
    # the scale does not begin at 0, if already a constant prediction has more: an AUC of 0.5
    constant_is_above_0 = metric.best == "high" and study.constant(study.primary_metric) > 0
    can_be_negative = metric.low < 0
    # if a comparison leaves units out, the two values are of different units
    if can_be_negative or constant_is_above_0 or leaves_units_out(study, row):
        return math.nan
    first = float(primary_estimate(study, row["first"])["value"])
    return first / second - 1


def leaves_units_out(study: Study, row: ComparisonRow) -> bool:
    """True if a comparison leaves out units that have a value of one of its systems only."""
    first_units = primary_estimate(study, row["first"])["n"]
    second_units = primary_estimate(study, row["second"])["n"]
    return bool(row["n"] < max(first_units, second_units))


# Ranks of systems ---------------------------------------------------------------------------------


MAX_RANKED = 200  # systems whose pairs are tested together: 19,900 pairs of 50 units take 5 s
MAX_DIFFERENCES = 4_000_000  # units × pairs of these systems, which are held at once
ROUNDING = 1e-9  # a mean difference below it, in standard deviations, is none


@cached
def rank_tiers(study: Study) -> pd.DataFrame:
    """Rank intervals of three systems or more by the primary metric, best first: system, value,
    rank_low, rank_high, tier, needed.

    rank_low, rank_high, tier: see `multiplicity.ranks`. needed: the number of units with which a
    paired t-test would tell the system from the next one with 80% power, if the true difference is
    the observed one; NaN for the last system, and if the difference is 0.

    Empty if units are not shared, the metric has no better direction or is a ratio of sums, or the
    systems or differences are too many.
    """
    columns = ["system", "value", "rank_low", "rank_high", "tier", "needed"]
    pairs = math.comb(len(study.order), 2)
    values = None  # (units, systems), None if they cannot be ranked
    if 3 <= len(study.order) <= MAX_RANKED and study.primary_metric.metric.best != "neither":
        values = _unit_values(study)
    if values is None or len(values) < 2 or len(values) * pairs > MAX_DIFFERENCES:
        return pd.DataFrame(columns=columns)
    values_to_rank = study.primary_metric.metric.sign * values  # larger ones are better
    ranks = multiplicity.ranks(
        values_to_rank, level=study.settings.level, rng=study.rng(RANK_DRAWS)
    )
    # the strictest level of a single test: Holm multiplies the smallest p by the number of pairs
    level = 1 - (1 - study.settings.test_level) / pairs
    differences_to_next = values[:, :-1] - values[:, 1:]  # (units, systems − 1)
    needed = [_needed(differences, level) for differences in differences_to_next.T]
    needed.append(np.nan)  # of the last
    return pd.DataFrame(
        {
            "system": study.order,
            "value": [study.estimate(study.primary_metric, name).value for name in study.order],
            "rank_low": ranks.low,
            "rank_high": ranks.high,
            "tier": ranks.tier,
            "needed": needed,
        }
    )


def _needed(differences: Floats, level: float) -> float:
    """The units, whole, that show the mean of these differences with 80% power; NaN if it is 0 or
    has no spread.
    """
    mean = float(differences.mean())
    sd = float(differences.std(ddof=1))
    if sd > 0 and abs(mean) > ROUNDING * sd:
        return math.ceil(power.required_n(mean, sd, level=level))
    return np.nan


def _unit_values(study: Study) -> Floats | None:
    """The primary metric of the units that all systems have, (units, systems); None if it is no
    mean over units that systems share.
    """
    means = []
    for name in study.order:
        means += study.measure(study.primary_metric, name).shared_means()
    return values_of_complete_units(means) if len(means) == len(study.order) else None


def values_of_complete_units(means: Sequence[UnitStatistic]) -> Floats:
    """The value of each unit on which all systems have one, shape (units, systems). means: the
    metric of each system as a mean over the same rows. If rows lie in clusters, the clusters are
    the units, and each has the mean of its rows.
    """
    values = np.column_stack([mean.sums.per_unit for mean in means])  # (rows, systems)
    is_complete = ~np.isnan(values).any(axis=1)
    values = values[is_complete]
    cluster = means[0].unit  # the number of each row's cluster, the same for all systems
    if cluster is None:
        return values
    cluster_means = []
    for column in values.T:
        total, count = intervals.by_unit(column, cluster[is_complete])
        cluster_means.append(total / count)
    return np.column_stack(cluster_means)


def least_p(study: Study, units: int) -> float:
    """The smallest p-value that an exact sign-flip test on this many units can have."""
    return len(study.settings.alternative.signs) * 2.0**-units


LITTLE = 40  # systems times units below which the χ² of Friedman's test is no approximation


def rough_ranks(systems: int, units: int) -> bool:
    """True if the χ² approximation of Friedman's test is poor."""
    return systems * units < LITTLE


class TwoScales(NamedTuple):
    """A metric whose values could have two units of measurement: the system with the largest value,
    the one with the smallest, and how many times larger that is.
    """

    metric: str
    large: str
    small: str
    times: float


def other_scales(study: Study) -> list[TwoScales]:
    """The metrics in which two systems could have different units of measurement, such as shares
    and per cent (100 times), or minutes and seconds (60 times): the mean of one is at least `SCALE`
    times that of the other. `SCALE` is half of 60, since the systems themselves differ.

    The root mean squares of the units' values must differ by the factor, too: means alone differ by
    any factor if they are near 0, or if few units of a system have a value above 0.
    """
    scales = []
    z = NormalDist().inv_cdf((1 + study.settings.level) / 2)
    # 0 is 0 in any unit of measurement
    estimates = study.estimates[study.estimates["value"] != 0]
    for metric, rows in estimates.groupby("metric", sort=False):
        mean = np.abs(rows["value"].to_numpy())  # of each system, without its sign
        half_width = (rows["high"] - rows["low"]).to_numpy() / 2
        n = rows["n"].to_numpy()
        # the standard deviation of the values of units, from that of their mean; 0 without limits
        deviation = np.nan_to_num(half_width / z * np.sqrt(n))
        root_mean_square = np.hypot(mean, deviation)  # √(mean² + variance)
        large = int(mean.argmax())
        small = int(mean.argmin())
        times = float(mean[large] / mean[small])
        times_of_roots = root_mean_square[large] / root_mean_square[small]
        # values of at most 1 are shares, and no per cent
        may_be_per_cent = root_mean_square[large] > 1
        if min(times, times_of_roots) >= SCALE and may_be_per_cent:
            systems = rows["system"].tolist()
            scales.append(TwoScales(str(metric), systems[large], systems[small], times))
    return scales

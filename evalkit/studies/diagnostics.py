"""Numbers that findings of several reports state: sizes of units and slices, thresholds outside the
scores.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, InputError
from evalkit.catalogue.metric import MetricAtK
from evalkit.metrics.counts import Counts
from evalkit.reading.tables import rules
from evalkit.statistics import inference, intervals, multiplicity, power, statistic
from evalkit.statistics.spread import standardised
from evalkit.studies.study import Study, SystemPair
from evalkit.system import cached

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
TURNED = {"better": "worse", "worse": "better", "higher": "lower", "lower": "higher"}
Ends = tuple[float, float]


def alpha(study: Study) -> float:
    """The level of the tests."""
    return beyond(study.settings.test_level)


def beyond(level: float) -> float:
    """1 − level, without rounding error in the last bits."""
    return round(1 - level, 12)


def covered(study: Study, several: int) -> float:
    """How often the interval of the best of `several` values contains its true value, if all are
    equal and independent.

    If they are positively correlated, for example computed on the same units, this happens more
    often.
    """
    return float((1 - beyond(study.settings.level) / 2) ** several)


def equivalence_level(study: Study) -> float:
    """The level of the interval that is used for the two one-sided tests."""
    return round(2 * study.settings.test_level - 1, 12)


def usual(estimates: pd.DataFrame) -> np.ndarray:
    """A mask: the estimates whose interval method is the one that most systems have for their
    metric.
    """
    counts = estimates.groupby(["metric", "method"], sort=False).size()
    return pd.MultiIndex.from_frame(estimates[["metric", "method"]]).isin(
        counts.groupby("metric").idxmax()
    )


def tested(slices: pd.DataFrame) -> int:
    """The number of slices that have a test."""
    return int(slices.groupby(["segment", "slice"])["adjusted"].count().gt(0).sum())


def most_units(study: Study) -> int:
    """The largest number of units of any estimate."""
    return int(study.estimates["n"].max())


def best_value(study: Study, label: str) -> float:
    """The best value of a metric; NaN if it has no direction."""
    values = study.estimates.loc[study.estimates["metric"] == label, "value"]
    metric = next(chosen.metric for chosen in study.settings.metrics if chosen.label == label)
    return {"high": values.max(), "low": values.min()}.get(metric.best, np.nan)


@cached
def constant(study: Study, chosen: MetricAtK) -> float:
    """The best value of a metric that a constant prediction reaches; NaN if nothing is
    predicted.
    """
    return max((of(chosen) for of in study.constants), key=lambda value: chosen.metric.sign * value)


def beaten(study: Study) -> dict[str, tuple[float, dict[str, float]]]:
    """The metrics by which a constant prediction is better than some systems: its value, and
    theirs.

    Metrics that a constant prediction can bring to their best value, such as specificity, are left
    out.
    """
    metrics: dict[str, tuple[float, dict[str, float]]] = {}
    for chosen in study.directed:
        (low, high), sign = chosen.metric.ends, chosen.metric.sign
        best = constant(study, chosen)
        if not math.isclose(best, high if sign > 0 else low, abs_tol=SAME):
            values = {name: study.estimate(chosen, name).value for name in study.order}
            by = {name: value for name, value in values.items() if sign * value < sign * best}
            worse = {
                name: value
                for name, value in by.items()
                if not math.isclose(value, best, abs_tol=SAME)
            }
            metrics |= {chosen.label: (best, worse)} if worse else {}
    return metrics


def few_rows(rows: Mapping[str, int]) -> dict[str, int]:
    """The classes or labels with some rows, but too few, and their number.

    >>> few_rows({"a": 90, "b": 4, "c": 0})
    {'b': 4}
    """
    return {name: n for name, n in rows.items() if 0 < n < FEW_ROWS}


def moved_by_ties(estimate: Mapping[str, float]) -> bool:
    """True if the order of tied items visibly changes an estimate."""
    return estimate.get("best_ties", 0.0) - estimate.get("worst_ties", 0.0) > VISIBLE


Tables = Iterable[Counts]  # of the scores of a system: one, or one of each class


def only_decided(tables: Tables) -> bool:
    """True if the scores of these tables are 0 and 1 only, and both occur."""
    return {score for table in tables for score in table.threshold[:3].tolist()} == {0.0, 1.0}


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
    return words_of(study.primary)


def words_of(chosen: MetricAtK) -> VerdictWords:
    """The words of a metric: higher and lower where its direction is not known."""
    if chosen.metric.direction == 0:
        return VerdictWords("higher", "lower", "highest")
    return VerdictWords("better", "worse", "best")


def verdict_of(row: Mapping[str, Any]) -> str:
    """The verdict of a comparison; that there is no difference where not one unit has any."""
    nothing = (
        row["verdict"] == "cannot tell" and row["difference"] == row["low"] == row["high"] == 0
    )
    return NO_DIFFERENCE if nothing else str(row["verdict"])


def sides(differences: Floats | pd.Series) -> tuple[int, int, int]:
    """The numbers of differences above 0, equal to 0, and below 0.

    >>> sides(np.array([1.0, 0.0, -1.0, 2.0]))
    (2, 1, 1)
    """
    return int((differences > 0).sum()), int((differences == 0).sum()), int((differences < 0).sum())


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
    def far(self) -> bool:
        """True if there are far too few units."""
        return self.units < FAR * self.skewness**2


def contrary(study: Study) -> pd.DataFrame:
    """Comparisons by other metrics that contradict the primary one: there the first system of the
    pair is worse.

    deciding: the pair's verdict by the primary metric.
    """
    headline, every = study.headline, study.comparisons
    if not len(headline):
        return pd.DataFrame(columns=["metric", "first", "second", "difference", "deciding"])
    contradicted = headline["verdict"].isin(["better", "equivalent", "cannot tell"])
    pairs = headline.loc[contradicted, ["first", "second", "verdict"]]
    worse = every[(every["metric"] != study.primary.label) & (every["verdict"] == "worse")]
    return worse.merge(pairs.rename(columns={"verdict": "deciding"}), on=["first", "second"])


@cached
def skew(study: Study) -> Skew | None:
    """The most skewed comparison by sign flips (which assume symmetry), if it has too few units for
    a normal mean; one of the headline comes before others.
    """
    several = (skew for chosen in study.directed for skew in _skews(study, chosen))
    known = [skew for skew in several if skew.units < skew.wanted]

    def weight(skew: Skew) -> tuple[bool, float]:
        return in_headline(study, skew), skew.skewness**2 / skew.units

    return max(known, key=weight, default=None)


def in_headline(study: Study, skew: Skew) -> bool:
    """Whether a comparison is one of those that the headline names."""
    if skew.metric != study.primary.label or not len(study.headline):
        return False
    pairs = study.headline[["first", "second"]].itertuples(index=False)
    return {*skew.pair} in [{*pair} for pair in pairs]


def _skews(study: Study, chosen: MetricAtK) -> Iterator[Skew]:
    """The comparisons by sign flips, those of one system with others on as many units at once."""
    flipped = (
        (pair, inference.flipped_differences(*(study.measure(chosen, name) for name in pair)))
        for pair in study.pairs
    )
    tested = ((pair, d) for pair, d in flipped if d is not None and d.size)
    for (_, units), some in groupby(tested, key=lambda each: (each[0][0], each[1].size)):
        pairs, rows = zip(*some, strict=True)
        d = np.array(rows)
        skews = standardised(d - d.mean(axis=1, keepdims=True), 3) * np.sqrt(units)
        for pair, skew in zip(pairs, skews.tolist(), strict=True):
            yield Skew(chosen.label, pair, skew, units)


def small_slices(study: Study) -> list[str]:
    """The slices with fewer than `FEW` units."""
    return [name for name, part in _slices(study) if part["n"].max() < FEW]


def untestable_slices(study: Study) -> list[str]:
    """The slices with so few units that no difference could be significant: the limits that a test
    has are infinite.
    """
    if "difference" not in study.by_segment:
        return []
    shows = {1: "difference_low", -1: "difference_high"}  # an increase, a decrease
    limits = [shows[sign] for sign in study.settings.alternative.signs]
    return [name for name, part in _slices(study) if np.isinf(part[limits].to_numpy(float)).any()]


def flat_slices(study: Study) -> list[str]:
    """The slices in which an interval has no width because all units are equal."""
    limits = [("low", "high"), ("difference_low", "difference_high")]
    known = [(low, high) for low, high in limits if low in study.by_segment]
    return [
        name
        for name, part in _slices(study)
        if any((part[low] == part[high]).any() for low, high in known)
    ]


def _slices(study: Study) -> list:
    if not len(study.by_segment):
        return []
    return [
        (f"{a} {b}", part)
        for (a, b), part in study.by_segment.groupby(["segment", "slice"], sort=False)
    ]


# Thresholds


@dataclass(frozen=True)
class Rounded:
    """A threshold rounded to the precision of some systems' scores. everywhere: True if these are
    all systems.
    """

    value: float
    stored: rules.Precision
    systems: tuple[str, ...]
    everywhere: bool


def by_precision(stored: Mapping[str, rules.Precision]) -> dict[rules.Precision, list[str]]:
    """The systems whose scores are stored in each precision."""
    names: dict[rules.Precision, list[str]] = {}
    for name, to in stored.items():
        names.setdefault(to, []).append(name)
    return names


def rounded(threshold: float, stored: Mapping[str, rules.Precision]) -> list[Rounded]:
    """The threshold in each precision that changes its value."""
    values = [
        (rules.rounded(threshold, to), to, names) for to, names in by_precision(stored).items()
    ]
    several = [
        (value, to, names)
        for value, to, names in values
        if to != rules.DOUBLE and value != threshold
    ]
    return [
        Rounded(value, to, tuple(names), len(names) == len(stored)) for value, to, names in several
    ]


def ends(score: Mapping[str, Floats]) -> dict[str, Ends]:
    """The lowest and the highest score of each system."""
    return {name: (float(values.min()), float(values.max())) for name, values in score.items()}


def best_two(study: Study) -> pd.DataFrame:
    """With a baseline, the two best other systems, compared outside the family: p times the number
    of their pairs. The question is two-sided: their values choose the first of these two.
    """
    others = [name for name in study.order if name != study.settings.baseline]
    if study.settings.baseline not in study.order or len(others) < 2 or not len(study.headline):
        return pd.DataFrame()
    try:
        c = study.two_sided.compare(study.primary, (others[0], others[1]))
    except InputError:
        return pd.DataFrame()
    picked = replace(c, adjusted=min(1.0, math.comb(len(others), 2) * c.p_value))
    frame = pd.DataFrame([study.row(study.primary, (others[0], others[1]), picked)])
    return frame.drop(columns=["detectable"], errors="ignore")  # that is of the family


def as_good(study: Study) -> list[str]:
    """The other systems of the first screen whose primary metric equals the leader's, to 12
    digits.
    """
    value = {name: f"{deciding(study, name)['value']:.12g}" for name in study.order}
    return [name for name in study.headline["second"] if value[name] == value[study.leader]]


def deciding(study: Study, system: str) -> pd.Series:
    """A system's estimate of the primary metric."""
    frame = study.estimates
    return frame[(frame["metric"] == study.primary.label) & (frame["system"] == system)].iloc[0]


def turned(row: Mapping[str, Any]) -> dict[str, Any]:
    """A comparison with its two systems swapped."""
    words = {
        "first": row["second"],
        "second": row["first"],
        "verdict": TURNED.get(row["verdict"], row["verdict"]),
    }
    ends = {"difference": -row["difference"], "low": -row["high"], "high": -row["low"]}
    lifts = (
        {"lift": "lift", "lift_low": "lift_high", "lift_high": "lift_low"} if "lift" in row else {}
    )
    ends |= {
        name: 1 / (1 + row[other]) - 1 if row[other] > -1 else math.nan
        for name, other in lifts.items()
    }
    if "adjusted_first" in row:
        ends["adjusted_first"] = row["adjusted_second"]
        ends["adjusted_second"] = row["adjusted_first"]
    return {**row, **words, **ends}


LIMITS_OF_LIFT = {1: "lift_low", -1: "lift_high"}  # that a lift of this sign has to exclude 0


def relative(study: Study, row: Mapping[str, Any]) -> float:
    """The first value of a comparison over the second, less 1; of arms their lift.

    NaN if the metric can be negative, a constant reaches a value above 0 where higher is better
    (AUC: 0.5), the second value is not above 0, the values are of different units, or a limit of
    the lift that counts is infinite; and where two systems divide units between them, for there a
    gain of the one is a loss of the other.
    """
    first: Any = study.measure(study.primary, row["first"])
    if first.layout is statistic.Layout.DIVIDED:
        return float("nan")
    a, b = (deciding(study, row[side])["value"] for side in ("first", "second"))
    if "lift" in row:
        alternative = study.settings.alternative
        limits = [row[end] for sign, end in LIMITS_OF_LIFT.items() if alternative.counts(sign)]
        return row["lift"] if all(map(math.isfinite, limits)) and b > 0 else float("nan")
    metric = study.primary.metric
    from_zero = metric.low >= 0 and not (
        metric.best == "high" and study.constant(study.primary) > 0
    )
    return float(a / b - 1) if from_zero and b > 0 and not apart(study, row) else float("nan")


def apart(study: Study, row: Mapping[str, Any]) -> bool:
    """True if a comparison leaves out units that have a value of one of its systems only."""
    return bool(row["n"] < max(deciding(study, row[side])["n"] for side in ("first", "second")))


# Ranks of systems ---------------------------------------------------------------------------------


SYSTEMS = 200  # whose pairs are tested together: 19,900 pairs of 50 units take five seconds
VALUES = 4_000_000  # differences, units × pairs, that are
ROUNDING = 1e-9  # a mean difference below it, in standard deviations, is none


@cached
def rank_tiers(study: Study) -> pd.DataFrame:
    """Rank intervals of three systems or more by the primary metric: system, value, rank_low,
    rank_high, tier, needed.

    needed: the units with which a paired t-test would tell the system from the next one with 80%
    power, if the true difference is the observed one, at the level of the first step of all pairs;
    NaN for the last and for equal ones. Empty if units are not shared, the metric has no better
    direction or is a ratio of sums, or there are too many.
    """
    columns = ["system", "value", "rank_low", "rank_high", "tier", "needed"]
    pairs = len(study.order) * (len(study.order) - 1) // 2
    values = (
        _table(study)
        if 3 <= len(study.order) <= SYSTEMS and study.primary.metric.best != "neither"
        else None
    )
    if values is None or len(values) < 2 or len(values) * pairs > VALUES:
        return pd.DataFrame(columns=columns)
    r = multiplicity.ranks(
        study.primary.metric.sign * values, level=study.settings.level, rng=study.rng(7)
    )
    means = [study.estimate(study.primary, name).value for name in study.order]
    level = 1 - (1 - study.settings.test_level) / pairs
    needed = [
        *(_needed(values[:, i] - values[:, i + 1], level) for i in range(len(means) - 1)),
        np.nan,
    ]
    return pd.DataFrame(
        dict(zip(columns, (study.order, means, r.low, r.high, r.tier, needed), strict=True))
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


def _table(study: Study) -> Floats | None:
    """Units × systems of the primary metric, the units that all systems have; None if there are no
    such units.
    """
    sides = [
        side for name in study.order for side in study.measure(study.primary, name).shared_means()
    ]
    return complete(sides) if len(sides) == len(study.order) else None


def complete(sides: Sequence[statistic.UnitStatistic]) -> Floats:
    """Units × systems, of the units that all systems have; of several rows their mean."""
    values = np.column_stack([side.sums.per_unit for side in sides])
    keep = ~np.isnan(values).any(axis=1)
    unit = sides[0].unit
    if unit is None:
        return values[keep]
    sums = [intervals.by_unit(column, unit[keep]) for column in values[keep].T]
    return np.column_stack([total / count for total, count in sums])


def least_p(study: Study, units: int) -> float:
    """The smallest p-value that an exact sign-flip test on this many units can have."""
    return len(study.settings.alternative.signs) * 2.0**-units


LITTLE = 40  # systems times units below which the χ² of Friedman's test is no approximation


def rough_ranks(systems: int, units: int) -> bool:
    """True if the χ² approximation of Friedman's test is poor."""
    return systems * units < LITTLE


def other_scales(study: Study) -> list[tuple[str, str, str, float]]:
    """Metrics whose values could have two units: metric, the systems with larger and smaller
    values, how many times.

    Per cent are 100 times shares, and seconds 60 times minutes; half of the latter, as the systems
    differ too. Both means and root mean squares have to: means alone differ by any factor where
    they are near 0, or where a system hits a few units alone. Where no values are above 1, nothing
    is taken for per cent.
    """
    scales = []
    z = NormalDist().inv_cdf((1 + study.settings.level) / 2)
    for metric, rows in study.estimates[study.estimates["value"] != 0].groupby(
        "metric", sort=False
    ):
        size = np.abs(rows["value"].to_numpy())
        spread = (rows["high"] - rows["low"]).to_numpy() / 2
        deviation = np.nan_to_num(spread / z * np.sqrt(rows["n"].to_numpy()))
        root = np.hypot(size, deviation)
        large = int(size.argmax())
        small = int(size.argmin())
        if min(size[large] / size[small], root[large] / root[small]) >= SCALE and root[large] > 1:
            systems = rows["system"].tolist()
            scales.append(
                (str(metric), systems[large], systems[small], float(size[large] / size[small]))
            )
    return scales

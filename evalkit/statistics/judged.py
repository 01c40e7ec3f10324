"""A mean of a judge's scores, corrected by an oracle's labels of some units: prediction-powered
inference with a tuned weight (PPI++).

Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, doi:10.1126/science.adi6000; Angelopoulos,
Duchi and Zrnic 2023, arXiv:2311.01453.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evalkit.arrays import Bools, Floats, ratio
from evalkit.statistics.closed_forms import t_within_range
from evalkit.statistics.intervals import Comparison, Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.significance import DifferenceByT
from evalkit.statistics.spread import Spread, sum_by_unit
from evalkit.statistics.statistic import Layout, UnitStatistic

METHOD = "prediction-powered t"
MIN_LABELS_TO_PLAN = 10  # units labelled for both systems, from which a difference is planned
# degrees of freedom that the labelled units lose: to their mean and to the judge's weight
LOST_FREEDOM = 2


@dataclass(frozen=True)
class LabelPlan:
    """What the variance of a corrected mean depends on, to plan labels of some of `units` units.

    label_variance, judge_variance, covariance: of the labels and of the judge's scores, over the
    labelled units. clustering: the factor by which clusters raise the variance.

    >>> plan = LabelPlan(label_variance=1.0, judge_variance=1.0, covariance=0.8, units=1000)
    >>> labels = np.array([100.0, 1000.0])
    >>> plan.variance(labels), plan.variance_of_labels(labels)
    (array([0.00424, 0.001  ]), array([0.01 , 0.001]))
    """

    label_variance: float
    judge_variance: float
    covariance: float
    units: int
    clustering: float = 1.0

    def variance(self, labels: Floats) -> Floats:
        """The variance of the corrected mean with each of these numbers of labels: of the mean of
        label − weight · score over the labelled units plus that of weight · score over the others,
        times `clustering`.

        The weight is the one from 0 to 1 with the smallest variance. The variance is a parabola in
        the weight, whose minimum is cut to this range; without unlabelled units the weight is 0.
        """
        unlabelled_share = 1 - labels / self.units
        best_weight = unlabelled_share * ratio(self.covariance, self.judge_variance)
        weight = np.clip(best_weight, 0.0, 1.0)
        variance_of_weighted = weight**2 * self.judge_variance
        variance_of_corrections = (
            self.label_variance - 2 * weight * self.covariance + variance_of_weighted
        )
        unlabelled = np.maximum(self.units - labels, 1)  # not 0: it divides
        of_unlabelled = np.where(unlabelled_share > 0, variance_of_weighted / unlabelled, 0.0)
        return self.clustering * (variance_of_corrections / labels + of_unlabelled)

    def variance_of_labels(self, labels: Floats) -> Floats:
        """The variance of the mean of the labels alone."""
        return self.clustering * self.label_variance / labels

    def labels_for(self, width: float, level: float) -> float:
        """The fewest labels that give the corrected mean an interval of this width; NaN if labels
        of all units are too few.
        """
        return self._fewest(self.variance, width, level)

    def labels_alone_for(self, width: float, level: float) -> float:
        """As `labels_for`, of the mean of the labels alone, without a judge."""
        return self._fewest(self.variance_of_labels, width, level)

    def _fewest(self, variance: Callable[[Floats], Floats], width: float, level: float) -> float:
        """The fewest labels with which t limits at this level are at most `width` apart; NaN if
        labels of all units are not enough.

        variance: numbers of labels -> the variance of the mean with each. t has LOST_FREEDOM
        degrees of freedom less than there are labels.
        """
        from scipy.special import stdtrit

        # every possible number of labels: with fewer ones t has no degrees of freedom
        numbers = np.arange(LOST_FREEDOM + 1, self.units + 1, dtype=np.float64)
        quantile = stdtrit(numbers - LOST_FREEDOM, (1 + level) / 2)
        widths = 2 * quantile * np.sqrt(variance(numbers))
        enough = np.flatnonzero(widths <= width)
        if enough.size == 0:
            return np.nan
        return float(numbers[enough[0]])  # numbers ascend: the first one is the fewest


@dataclass(frozen=True, eq=False)
class JudgedStatistic(UnitStatistic):
    """The mean that an oracle would give, from a judge's scores of all units (`sums`) and the
    oracle's labels of some.

    labels: the oracle's labels, NaN for unlabelled units, shape (units,). The labelled units are
    taken for a random sample of all. With n labelled and N unlabelled units the mean is
    mean(label − λ score) over the labelled plus λ mean(score) over the unlabelled units; λ, between
    0 and 1, is the one with the smallest variance.

    >>> from evalkit.catalogue.lookup import find_metric
    >>> from evalkit.metrics.rows import Sums
    >>> score, label = np.array([1, 0, 1, 0, 1, 1.0]), np.array([1, 0, 0, 0, np.nan, np.nan])
    >>> judged = JudgedStatistic(find_metric("accuracy", "counts"), Sums(score), labels=label)
    >>> round(judged.weight, 4), round(judged.value, 4)  # 0.125 / (3 · 4 / 15), 0.25 + λ / 2
    (0.1562, 0.3281)
    """

    labels: Floats = field(kw_only=True)

    @property
    def layout(self) -> Layout:
        """Scores of a judge, corrected by labels."""
        return Layout.JUDGED

    @cached_property
    def labelled(self) -> Bools:
        """Which units have a score and a label."""
        return self.sums.defined & ~np.isnan(self.labels)

    @cached_property
    def unlabelled(self) -> Bools:
        """Which units have a score alone."""
        return self.sums.defined & np.isnan(self.labels)

    @property
    def n(self) -> int:
        """The number of labelled units, on which the correction rests."""
        return int(self.labelled.sum())

    @property
    def score(self) -> Floats:
        """The judge's score of each unit."""
        return self.sums.per_unit

    @cached_property
    def weight(self) -> float:
        """λ = Cov(label, score) / ((1 + n / N) Var(score)), cut to 0 … 1, with n labelled and N
        unlabelled units: how much of the judge's scores the mean takes. 0 without unlabelled units.

        The covariance is that of the labelled units, the variance that of all units with a score.
        """
        unlabelled = int(self.unlabelled.sum())
        if not unlabelled:
            return 0.0
        label = self.labels[self.labelled]
        score = self.score[self.labelled]
        deviation = label - label.mean()
        covariance = deviation @ score / self.n
        variance = self.score[self.sums.defined].var(ddof=1)
        variance_factor = 1 + self.n / unlabelled
        weight = ratio(covariance, variance_factor * variance)
        return float(np.clip(np.nan_to_num(weight), 0.0, 1.0))

    @property
    def corrections(self) -> Floats:
        """label − λ score of each unit, NaN for the unlabelled."""
        return self.labels - self.weight * self.score

    @cached_property
    def value(self) -> float:
        """The corrected mean."""
        mean_correction = float(self.corrections[self.labelled].mean())
        if not self.unlabelled.any():
            return mean_correction
        mean_score = float(self.score[self.unlabelled].mean())
        return mean_correction + self.weight * mean_score

    @cached_property
    def clusters(self) -> int:
        """The number of independent labelled units: of clusters with labels."""
        if self.unit is None:
            return self.n
        return len(np.unique(self.unit[self.labelled]))

    @cached_property
    def influence(self) -> Floats:
        """How far each unit moves the corrected mean, (units,); 0 for units without a score.

        Σ influence² is the variance of the mean; if units are clustered, their influence is first
        added up by cluster. The corrected mean is the mean correction of the labelled units plus
        the mean of weight · score of the unlabelled ones. The variance of the first has as many
        degrees of freedom as there are labelled clusters less 2, for its mean and the estimated
        weight; that of the second has the number of unlabelled units less 1, for its mean.
        """
        influence = np.zeros(len(self.score))
        if self.labelled.any():
            corrections = self.corrections[self.labelled]
            influence[self.labelled] = _influence_on_mean(
                corrections, self.clusters, lost=LOST_FREEDOM
            )
        if self.unlabelled.any():
            scores = (self.weight * self.score)[self.unlabelled]
            influence[self.unlabelled] = _influence_on_mean(scores, len(scores), lost=1)
        return influence

    @property
    def freedom(self) -> float:
        """The most degrees of freedom of the standard error."""
        return float(self.clusters - LOST_FREEDOM)

    @property
    def has_binary_labels(self) -> bool:
        """True if every label is 0 or 1, so that the mean is a share."""
        labels = self.labels[self.labelled]
        is_binary = (labels == 0) | (labels == 1)
        return bool(is_binary.all())

    @property
    def rarer_labels(self) -> int:
        """The number of labels of the rarer kind, of labels of 0 and 1."""
        hits = int(self.labels[self.labelled].sum())
        return min(hits, self.n - hits)

    def plan(self) -> LabelPlan:
        """The variances from which the labels for a wished width follow."""
        labels = self.labels[self.labelled]
        scores = self.score[self.labelled]
        return _plan(labels, scores, self._units, self._clustering)

    def plan_of_difference(self, second: JudgedStatistic) -> LabelPlan | None:
        """The plan for the difference self − second, from units labelled for both; None if fewer
        than `MIN_LABELS_TO_PLAN` are.
        """
        labelled = self.labelled & second.labelled  # for both
        if labelled.sum() < MIN_LABELS_TO_PLAN:
            return None
        label = (self.labels - second.labels)[labelled]
        judge = (self.weight * self.score - second.weight * second.score)[labelled]
        return _plan(label, judge, min(self._units, second._units), self._clustering)

    @property
    def _units(self) -> int:
        """The number of units with a score."""
        return int(self.sums.defined.sum())

    @property
    def _clustering(self) -> float:
        """The factor by which clusters raise the variance: Σ influence² of clusters / of units."""
        of_units = self.influence @ self.influence
        of_clusters = np.square(sum_by_unit(self.influence, self.unit)).sum()
        return float(ratio(of_clusters, of_units))


def _influence_on_mean(values: Floats, independent: int, *, lost: int) -> Floats:
    """The influence of each value on their mean, so that Σ influence² estimates its variance.

    independent: the number of independent units among them. lost: the degrees of freedom that the
    estimate loses.
    """
    scale = np.sqrt(ratio(independent, independent - lost))
    deviation = values - values.mean()
    influence: Floats = scale * deviation / len(values)
    return influence


def _plan(label: Floats, judge: Floats, units: int, clustering: float) -> LabelPlan:
    """The plan from the labels and the judge's scores of the same units, (units,) each. units,
    clustering: as in `LabelPlan`.
    """
    (label_variance, covariance), (_, judge_variance) = np.cov(label, judge)
    return LabelPlan(
        label_variance=float(label_variance),
        judge_variance=float(judge_variance),
        covariance=float(covariance),
        units=units,
        clustering=clustering,
    )


def by_t(
    value: float, influence: Floats, unit: np.ndarray | None, *, n: int, freedom: float
) -> DifferenceByT:
    """t on a value whose squared error is Σ influence² over units, or whole clusters, on at most
    `freedom` degrees of freedom, fewer by their kurtosis.
    """
    of_clusters = sum_by_unit(influence, unit)
    spread = Spread.from_influence(of_clusters[of_clusters != 0])
    error = float(np.sqrt(spread.square)) if freedom > 0 else np.nan
    return DifferenceByT(value, error, n=n, freedom=spread.kurtosis_freedom(freedom), method=METHOD)


def mean_by_t(values: Floats, unit: np.ndarray) -> DifferenceByT:
    """The mean of values with t on at most the number of their units less 1. unit: the key of each
    value's unit.
    """
    units = len(np.unique(unit))
    influence = _influence_on_mean(values, units, lost=1)
    return by_t(float(values.mean()), influence, unit, n=len(values), freedom=units - 1)


def interval(statistic: JudgedStatistic, options: Options) -> Estimate:
    """The mean of the judge's scores, corrected by the labels, with limits by t. The degrees of
    freedom are labelled units (or clusters) − 2, or fewer by the kurtosis of the influence values.

    For labels of 0 and 1 the mean is a share, and its limits are those of `t_within_range`: t on
    the logit scale, on labelled units − 2 degrees of freedom whatever the kurtosis. If all labels
    are equal, the error is 0 and `t_within_range` gives Wilson's limits. A corrected mean outside 0
    … 1 has no logit: it keeps plain t.
    """
    mean = by_t(
        statistic.value,
        statistic.influence,
        statistic.unit,
        n=statistic.n,
        freedom=statistic.freedom,
    )
    if not statistic.has_binary_labels or not 0 <= mean.value <= 1:
        return mean.interval(options.level)
    return t_within_range(
        mean.value,
        mean.error,
        freedom=statistic.freedom,
        n=mean.n,
        level=options.level,
        method=METHOD,
    )


def compare(first: JudgedStatistic, second: JudgedStatistic, options: Options) -> Comparison:
    """The difference of two corrected means by t, paired by unit: what both judgements and labels
    of a unit have in common leaves the error.
    """
    difference = by_t(
        first.value - second.value,
        first.influence - second.influence,
        first.unit,
        n=min(first.n, second.n),
        freedom=min(first.freedom, second.freedom),
    )
    return options.compare(difference)

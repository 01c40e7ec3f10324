"""The significance study of outputs that a judge scored and an oracle labelled in part: corrected
means and differences, the judge's agreement with the oracle, its bias, and the labels needed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.metric import MetricAtK
from evalkit.statistics import agreement, closed_forms, intervals, judged, multiplicity
from evalkit.statistics.agreement import Ratings
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.judged import JudgedStatistic
from evalkit.statistics.significance import DifferenceByT, welch_t
from evalkit.statistics.spread import Interval
from evalkit.studies import units
from evalkit.studies.diagnostics import alpha
from evalkit.studies.paired import Significance
from evalkit.studies.study import EVERY, Row, UnitSelection, frame, limits, with_limits

ALL = "all systems"
MOST_CATEGORIES = 10  # different scores and labels that are compared as they are
SHARE_CUT = 0.5
BANDS = 5  # of scores, for the bias by score


class LabelledScores(NamedTuple):
    """The judge's scores and the oracle's labels of the labelled units of some systems, shape
    (labels,) each, and the number of each one's unit or cluster.
    """

    score: Floats
    label: Floats
    unit: Ints

    @property
    def bias(self) -> Floats:
        """How far the judge lies above the oracle."""
        return self.score - self.label

    @property
    def n_units(self) -> int:
        """The number of different units or clusters."""
        return len(np.unique(self.unit))

    @property
    def bias_influence(self) -> Floats:
        """The influence of each label on the mean bias, so that the sum of squares over units is
        the squared standard error, with the factor units / (units − 1).
        """
        n = self.n_units
        correction = np.sqrt(n / (n - 1))
        deviations: Floats = self.bias - self.bias.mean()
        return np.asarray(correction * deviations / len(deviations))

    def take(self, rows: Bools) -> "LabelledScores":
        """Those that a mask selects."""
        return LabelledScores(self.score[rows], self.label[rows], self.unit[rows])


@dataclass(frozen=True, eq=False, repr=False)
class JudgedOutputs(Significance):
    """The study of a judge's scores with an oracle's labels of some. Estimates and comparisons are
    of the oracle's mean.
    """

    value_is: ClassVar[str] = "Corrected mean"
    has_differences: ClassVar[bool] = False

    @property
    def units_vary(self) -> bool:
        """False: what is shown of single units would be the judge's error as well."""
        return False

    @property
    def oracle(self) -> str:
        """What the input calls the oracle's labels."""
        return self.data.columns["oracle"]

    def measure(
        self, chosen: MetricAtK, system: str, member: UnitSelection = EVERY
    ) -> JudgedStatistic:
        """The corrected mean of a system, from its scores and labels. member: a mask of units."""
        sums = self.values(chosen, system).take(member)  # type: ignore[arg-type]
        clusters = None if self.unit is None else self.unit[member]
        labels = self.data.labels[system][member]
        return JudgedStatistic(chosen, sums, clusters, labels=labels)

    def units_held(self) -> units.Units:
        """The rows for the file of units: the corrected mean of each system as a total, because it
        is not a mean of values of single units.
        """
        blocks = [
            units.block_of_total(
                name, self.primary_metric, self.estimate(self.primary_metric, name).value
            )
            for name in self.systems
        ]
        return units.Units(1, blocks)

    def each_difference(self) -> dict[str, list[Any]]:
        """Empty, because a unit without a label has no difference of its own."""
        return {"units": [], "values": []}

    def labelled(self, system: str) -> LabelledScores:
        """The judge's score and the oracle's label of each labelled unit of a system, and the
        number of its cluster, or of the unit itself if units are independent.
        """
        statistic = self.measure(self.primary_metric, system)
        has_label = statistic.labelled
        unit = self.unit
        if unit is None:  # units are independent: each is a cluster of its own
            unit = np.arange(len(has_label))
        return LabelledScores(
            statistic.score[has_label],
            statistic.labels[has_label],
            unit[has_label].astype(np.int64),
        )

    @cached_property
    def all_labelled(self) -> LabelledScores:
        """The labelled units of all systems."""
        by_system = [self.labelled(name) for name in self.order]
        return LabelledScores(
            np.concatenate([labelled.score for labelled in by_system]),
            np.concatenate([labelled.label for labelled in by_system]),
            np.concatenate([labelled.unit for labelled in by_system]),
        )

    @cached_property
    def cut(self) -> float:
        """The number from which on scores and labels count as 1 when categories are compared. NaN
        if the numbers themselves are the categories, or if there are no categories.
        """
        if self.p.cut is not None:
            return float(self.p.cut)
        values = np.concatenate([self.all_labelled.score, self.all_labelled.label])
        are_shares = values.min() >= 0 and values.max() <= 1
        return SHARE_CUT if are_shares and not self._has_categories else np.nan

    @property
    def _n_categories(self) -> int:
        """The number of different scores and labels."""
        return Ratings(self.all_labelled.score, self.all_labelled.label).categories

    @cached_property
    def _has_categories(self) -> bool:
        """True if scores and labels are so few numbers that they are compared as categories."""
        return self._n_categories <= MOST_CATEGORIES

    # The frames of the page

    @frame
    def corrections(self) -> Iterator[Row]:
        """For each system the judge's mean, that of the labels alone, and the corrected one.

        Columns: system, units and labels (how many), judge, alone with _low and _high, value with
        low and high (corrected), and three more:

        weight: λ, the weight of the judge's scores in the corrected mean, 0 to 1. worth: the number
        of labels that would give the same standard error without a judge; NaN if the error is 0.
        unlike: p, adjusted over the systems by Holm, of the hypothesis that the judge scores
        labelled and unlabelled units alike, as it does if units to label were drawn at random.
        """
        rows = [self._correction(name) for name in self.order]
        adjusted = multiplicity.holm([row["unlike"] for row in rows])
        for row, p in zip(rows, adjusted, strict=True):
            yield row | {"unlike": float(p)}

    def _correction(self, system: str) -> Row:
        """The row of a system in `corrections`, whose docstring names the columns; `unlike` is the
        p-value before the adjustment over systems.
        """
        statistic = self.measure(self.primary_metric, system)
        has_score = statistic.sums.defined
        labelled = self.labelled(system)
        labels_alone = judged.mean_by_t(labelled.label, labelled.unit)
        # The plan has the variance of either mean for any numbers of labels, as an array; it is
        # asked for the present number.
        plan = statistic.plan()
        n_labels = np.array([float(statistic.n)])
        error = float(np.sqrt(plan.variance(n_labels)[0]))  # of the corrected mean
        error_alone = float(np.sqrt(plan.variance_of_labels(n_labels)[0]))  # of that of the labels
        # How many labels would give the same variance without a judge: the variance of a mean of
        # labels is proportional to 1 / labels.
        worth = np.nan
        if error > 0:
            worth = statistic.n * (error_alone / error) ** 2
        return {
            "system": system,
            "units": int(has_score.sum()),
            "labels": statistic.n,
            "judge": float(statistic.score[has_score].mean()),
            **with_limits({"alone": labels_alone.interval(self.settings.level)}),
            **limits(self.estimate(self.primary_metric, system)),
            "weight": statistic.weight,
            "worth": worth,
            "unlike": self._excess_of_labelled(statistic).p_value,
        }

    def _excess_of_labelled(self, statistic: JudgedStatistic) -> DifferenceByT:
        """The mean of the judge's scores of the labelled units minus that of the unlabelled ones,
        with Welch's t-test: a difference shows that the labelled units are no random sample of all,
        as the corrected mean takes them to be. NaN if one side has fewer than two units, and so no
        variance.
        """
        labelled = statistic.score[statistic.labelled]
        unlabelled = statistic.score[statistic.unlabelled]
        sizes = np.array([labelled.size, unlabelled.size])
        if sizes.min() < 2:
            return DifferenceByT(
                value=np.nan, error=np.nan, n=statistic.n, freedom=np.nan, method="none"
            )
        difference = float(labelled.mean() - unlabelled.mean())
        variance_of_means = np.array([labelled.var(ddof=1), unlabelled.var(ddof=1)]) / sizes
        return welch_t(difference, variance_of_means, sizes)

    @frame
    def agreement(self) -> Iterator[Row]:
        """The judge's agreement with the oracle on the labelled units, a row for each system and
        coefficient: system, coefficient, value with low and high, n, cut (NaN without one).

        agreement, kappa, ac1 and alpha compare categories: the values as they are, or with a cut
        whether score and label reach `cut`. weighted_kappa and alpha_interval compare the numbers:
        a disagreement counts as its square.
        """
        for system in self.order:
            labelled = self.labelled(system)
            # without clusters `labelled` numbers the units, which `Ratings` does not need
            unit = None if self.unit is None else labelled.unit
            ratings = Ratings(labelled.score, labelled.label, unit)
            for name, estimate in self._coefficients(ratings).items():
                cut = np.nan if name in OF_NUMBERS else self.cut
                place = {"system": system, "coefficient": name}
                yield place | limits(estimate) | {"n": estimate.n, "cut": cut}

    def _coefficients(self, ratings: Ratings) -> dict[str, Estimate]:
        """The coefficients of agreement between the judge's scores and the oracle's labels of one
        system (`ratings`), by name, with their limits. Some compare scores and labels as categories
        (kappa, for example), others as numbers (weighted kappa).
        """
        level = self.settings.level
        # two categories if there is a cut (not NaN): whether a score or label reaches it; else each
        # number is a category, if there are few enough of them
        has_cut = np.isfinite(self.cut)
        categories = ratings.cut(self.cut) if has_cut else ratings
        estimates = {}
        if has_cut or self._has_categories:
            estimates["agreement"] = self._share_equal(categories)
            for name, coefficient in OF_CATEGORIES.items():
                estimates[name] = agreement.estimate(categories, coefficient(categories), level)
        # with only two numbers these would be the coefficients of two categories again
        if self._n_categories > 2:
            for name, coefficient in OF_NUMBERS.items():
                estimates[name] = agreement.estimate(ratings, coefficient(ratings), level)
        return estimates

    def _share_equal(self, ratings: Ratings) -> Estimate:
        """The share of units whose score and label are equal, with Wilson's interval for a binomial
        share; if units are clustered, it is not binomial, and has a t-interval with the variance
        between clusters, kept within 0 and 1.
        """
        equal = 1 - ratings.unequal_indicator  # 1 or 0 for each unit
        if ratings.unit is None:
            return intervals.wilson(float(equal.sum()), len(equal), level=self.settings.level)
        by_t = judged.mean_by_t(equal, ratings.unit)
        return closed_forms.t_within_range(
            by_t.value, by_t.error, freedom=by_t.freedom, n=by_t.n, level=self.settings.level
        )

    @frame
    def judge_bias(self) -> Iterator[Row]:
        """How far the judge lies above the oracle on the labelled units. There is a row for each
        system, a row for the units of all systems together if there are several systems, and a row
        for each band of the judge's score over the units of all systems.

        Columns: system, score_low and score_high (the lowest and the highest score of the band, NaN
        in the other rows), labels (how many), judge and oracle (means), bias with _low and _high.
        """
        unbanded = Interval(np.nan, np.nan)
        for system in self.order:
            yield self._bias(system, self.labelled(system), unbanded)
        labelled = self.all_labelled
        if len(self.order) > 1:
            yield self._bias(ALL, labelled, unbanded)
        # The lowest score of each band. A few different scores are a band each; more are cut at
        # quantiles, some of which may be equal and then begin one band.
        edges = np.unique(labelled.score)
        if len(edges) > BANDS:
            edges = np.unique(np.quantile(labelled.score, np.arange(BANDS) / BANDS))
        band = np.searchsorted(edges, labelled.score, side="right")
        for number in np.unique(band):
            in_band = labelled.take(band == number)
            scores_of_band = Interval(in_band.score.min(), in_band.score.max())
            yield self._bias(ALL, in_band, scores_of_band)

    def _bias(self, system: str, labelled: LabelledScores, band: Interval) -> Row:
        """A row of `judge_bias`: how far the mean of the judge's scores lies above that of the
        oracle's labels.

        labelled: the units of the row. system: the system of these units, or `ALL`. band: the
        lowest and the highest score if the row is of a band of scores, else NaN.
        """
        bias = judged.mean_by_t(labelled.bias, labelled.unit).interval(self.settings.level)
        return {
            "system": system,
            "score_low": float(band.low),
            "score_high": float(band.high),
            "labels": len(labelled.score),
            "judge": float(labelled.score.mean()),
            "oracle": float(labelled.label.mean()),
            **with_limits({"bias": bias}),
        }

    @frame
    def favours(self) -> Iterator[Row]:
        """For each pair of systems, whether the judge favours one of them.

        Columns: first, second; bias_difference with _low and _high, the judge's bias for the first
        system minus that for the second (a bias is how far the judge lies above the oracle);
        adjusted, the p-value of bias_difference after Holm's correction over all pairs;
        judge_difference, the difference of the judge's own means; difference, that of the corrected
        means.
        """
        favours = [self._favour(first, second) for first, second in self.pairs]
        adjusted = multiplicity.holm([favour.p_value for favour in favours])
        judge_mean = self.corrections.set_index("system")["judge"]
        for pair, favour, p in zip(self.pairs, favours, adjusted, strict=True):
            first, second = pair
            yield {
                "first": first,
                "second": second,
                **with_limits({"bias_difference": favour.interval(self.settings.level)}),
                "adjusted": float(p),
                "judge_difference": float(judge_mean[first] - judge_mean[second]),
                "difference": self.compare(self.primary_metric, pair).difference.value,
            }

    def _favour(self, first: str, second: str) -> DifferenceByT:
        """The judge's mean bias for the first system minus that for the second, with a t-test. The
        bias of a labelled unit is the judge's score minus the oracle's label.
        """
        of_first = self.labelled(first)
        of_second = self.labelled(second)
        difference = float(of_first.bias.mean() - of_second.bias.mean())
        # How far each label moves the difference, to first order. The squared error is the sum of
        # squares over units. `by_t` first adds up the values of a unit that is labelled for both
        # systems, whose two biases are thereby paired.
        influence = np.concatenate([of_first.bias_influence, -of_second.bias_influence])
        unit = np.concatenate([of_first.unit, of_second.unit])
        # the system with fewer labelled units limits the degrees of freedom
        n = min(of_first.n_units, of_second.n_units)
        return judged.by_t(difference, influence, unit, n=n, freedom=n - 1)

    @property
    def favoured(self) -> pd.DataFrame:
        """The rows of `favours` whose biases differ statistically significantly, turned so that the
        judge favours the first system.
        """
        table = self.favours
        if table.empty:
            return table
        rows = table[table["adjusted"] < alpha(self)].to_dict("records")
        return pd.DataFrame([_favoured_first(row) for row in rows], columns=table.columns)

    @property
    def label_count(self) -> int:
        """The number of labels, of all systems together."""
        return int(self.corrections["labels"].sum())

    @frame
    def labels_needed(self) -> Iterator[Row]:
        """How many labels give an interval of the wished width, for each system and for the
        headline's difference if enough units are labelled for both systems.

        Columns: what (the system or difference), units, labels (as they are), width_now, width (as
        wished); needed: how many labels with the judge; alone: without a judge. Both are NaN if
        labels of all units are too few.
        """
        for name in self.order:
            # how the variance of the mean depends on the number of labels
            plan = self.measure(self.primary_metric, name).plan()
            yield from self._needed(name, plan, self.estimate(self.primary_metric, name))
        if not len(self.headline):
            return
        first, second = self.headline_systems
        statistic = self.measure(self.primary_metric, first)
        plan_of_both = statistic.plan_of_difference(self.measure(self.primary_metric, second))
        if plan_of_both is not None:  # else too few units are labelled for both
            difference = self.compare(self.primary_metric, self.headline_systems).difference
            yield from self._needed(f"{first} − {second}", plan_of_both, difference)

    def _needed(self, what: str, plan: judged.LabelPlan, estimate: Estimate) -> Iterator[Row]:
        """The row of an estimate in `labels_needed`; none if the estimate has no limits. The wished
        width is the parameter `width`, or without it half the width that the estimate has.

        what: the system or the difference, as a text. plan: how the variance depends on the labels.
        """
        width_now = estimate.high - estimate.low
        if not np.isfinite(width_now):
            return
        width = self.p.width or width_now / 2
        yield {
            "what": what,
            "units": plan.units,
            "labels": estimate.n,
            "width_now": width_now,
            "width": width,
            "needed": plan.labels_for(width, self.settings.level),
            "alone": plan.labels_alone_for(width, self.settings.level),
        }


OF_CATEGORIES = {
    "kappa": agreement.kappa,
    "ac1": agreement.ac1,
    "alpha": agreement.alpha,
}
OF_NUMBERS = {
    "weighted_kappa": agreement.weighted_kappa,
    "alpha_interval": agreement.interval_alpha,
}


def _favoured_first(row: Row) -> Row:
    """A pair of `favours`, turned round if the judge favours its second system."""
    if row["bias_difference"] >= 0:
        return row
    return row | {
        "first": row["second"],
        "second": row["first"],
        "bias_difference": -row["bias_difference"],
        "bias_difference_low": -row["bias_difference_high"],
        "bias_difference_high": -row["bias_difference_low"],
        "judge_difference": -row["judge_difference"],
        "difference": -row["difference"],
    }

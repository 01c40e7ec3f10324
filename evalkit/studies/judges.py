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
from evalkit.studies import units
from evalkit.studies.diagnostics import alpha
from evalkit.studies.paired import Significance
from evalkit.studies.study import EVERY, Member, Row, SystemPair, frame, limits

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

    def take(self, rows: Bools) -> "LabelledScores":
        """Some of them."""
        return LabelledScores(self.score[rows], self.label[rows], self.unit[rows])


@dataclass(frozen=True, eq=False, repr=False)
class JudgedOutputs(Significance):
    """The study of a judge's scores with an oracle's labels of some. Estimates and comparisons are
    of the oracle's mean.
    """

    value_is: ClassVar[str] = "Corrected mean"
    has_differences: ClassVar[bool] = False

    @property
    def vary(self) -> bool:
        """False: what is shown of single units would be the judge's error as well."""
        return False

    @property
    def oracle(self) -> str:
        """What the input calls the oracle's labels."""
        return self.data.columns["oracle"]

    def measure(self, chosen: MetricAtK, system: str, member: Member = EVERY) -> JudgedStatistic:
        """The corrected mean."""
        sums = self.values(chosen, system).take(member)  # type: ignore[arg-type]
        clusters = None if self.unit is None else self.unit[member]  # type: ignore[index]
        labels = self.data.labels[system][member]  # type: ignore[index]
        return JudgedStatistic(chosen, sums, clusters, labels=labels)

    def units_held(self) -> units.Units:
        """The corrected mean of each system: it is no mean of terms of units."""
        blocks = [
            units.known(name, self.primary, self.estimate(self.primary, name).value)
            for name in self.systems
        ]
        return units.Units(1, blocks)

    def each_difference(self) -> dict[str, list[Any]]:
        """None: a unit without a label has no difference of its own."""
        return {"units": [], "values": []}

    def labelled(self, system: str) -> LabelledScores:
        """The labelled units of a system."""
        of = self.measure(self.primary, system)
        unit = np.arange(len(of.score)) if self.unit is None else self.unit
        return LabelledScores(
            of.score[of.labelled], of.labels[of.labelled], unit[of.labelled].astype(np.int64)
        )

    @cached_property
    def all_labelled(self) -> LabelledScores:
        """The labelled units of all systems."""
        every = [self.labelled(name) for name in self.order]
        return LabelledScores(*map(np.concatenate, zip(*every, strict=True)))

    @cached_property
    def cut(self) -> float:
        """From where on scores and labels count as 1, for agreement; NaN if categories are compared
        as they are, or if there are none.
        """
        if self.p.cut is not None:
            return self.p.cut
        every = np.concatenate(self.all_labelled[:2])
        is_share = every.min() >= 0 and every.max() <= 1
        return SHARE_CUT if is_share and not self._has_categories else np.nan

    @cached_property
    def _has_categories(self) -> bool:
        every = self.all_labelled
        return Ratings(every.score, every.label).categories <= MOST_CATEGORIES

    # The frames of the page

    @frame
    def corrections(self) -> Iterator[Row]:
        """For each system the judge's mean, that of the labels alone, and the corrected one.

        weight: λ, how much of the judge's scores it takes. worth: the number of labels that would
        tell as much without a judge. unlike: p, adjusted over the systems, of the judge scoring the
        labelled units as high as the others, as it would if these were chosen at random.
        """
        rows = [self._correction(name) for name in self.order]
        adjusted = multiplicity.holm([row["unlike"] for row in rows])
        for row, p in zip(rows, adjusted, strict=True):
            yield row | {"unlike": float(p)}

    def _correction(self, system: str) -> Row:
        of = self.measure(self.primary, system)
        known = self.labelled(system)
        alone = judged.mean_by_t(known.label, known.unit)
        corrected = self.estimate(self.primary, system)
        error = float(np.sqrt(of.plan().variance(np.array([float(of.n)]))[0]))
        of_labels = float(np.sqrt(of.plan().variance_of_labels(np.array([float(of.n)]))[0]))
        labels = alone.interval(self.settings.level)
        return {
            "system": system,
            "units": int(of.sums.defined.sum()),
            "labels": of.n,
            "judge": float(of.score[of.sums.defined].mean()),
            **_prefixed(labels, "alone"),
            **limits(corrected),
            "weight": of.weight,
            "worth": of.n * (of_labels / error) ** 2 if error > 0 else np.nan,
            "unlike": self._unlike(of).p_value,
        }

    def _unlike(self, of: JudgedStatistic) -> DifferenceByT:
        """How much higher the judge scores the labelled units than the others; NaN without
        others.
        """
        sides = [of.score[of.labelled], of.score[of.unlabelled]]
        sizes = np.array([len(side) for side in sides])
        if sizes.min() < 2:
            return DifferenceByT(np.nan, np.nan, of.n, np.nan, "none")
        variance = np.array([side.var(ddof=1) / len(side) for side in sides])
        return welch_t(float(sides[0].mean() - sides[1].mean()), variance, sizes)

    @frame
    def agreement(self) -> Iterator[Row]:
        """The judge's agreement with the oracle on the labelled units of each system.

        agreement, kappa, ac1 and alpha are of categories, or of scores and labels that reach `cut`;
        weighted_kappa and alpha_interval of the numbers, where a disagreement counts as its square.
        """
        for system in self.order:
            known = self.labelled(system)
            ratings = Ratings(known.score, known.label, None if self.unit is None else known.unit)
            for name, estimate in self._coefficients(ratings):
                yield {
                    "system": system,
                    "coefficient": name,
                    **limits(estimate),
                    "n": estimate.n,
                    "cut": np.nan if name in OF_NUMBERS else self.cut,
                }

    def _coefficients(self, ratings: Ratings) -> Iterator[tuple[str, Estimate]]:
        level = self.settings.level
        categories = ratings
        if np.isfinite(self.cut):
            categories = ratings.cut(self.cut)
        if np.isfinite(self.cut) or self._has_categories:
            yield "agreement", self._share_equal(categories)
            for name, coefficient in OF_CATEGORIES.items():
                yield name, agreement.estimate(categories, coefficient(categories), level)
        if Ratings(*self.all_labelled[:2]).categories > 2:
            for name, coefficient in OF_NUMBERS.items():
                yield name, agreement.estimate(ratings, coefficient(ratings), level)

    def _share_equal(self, ratings: Ratings) -> Estimate:
        equal = 1 - ratings.unequal
        if ratings.unit is None:
            return intervals.wilson(float(equal.sum()), len(equal), level=self.settings.level)
        by_t = judged.mean_by_t(equal, ratings.unit)
        return closed_forms.ranged_t(
            by_t.value, by_t.error, freedom=by_t.freedom, n=by_t.n, level=self.settings.level
        )

    @frame
    def judge_bias(self) -> Iterator[Row]:
        """How far the judge lies above the oracle on the labelled units: by system, and by the
        judge's score over all systems, whose bands end at quantiles.
        """
        every = self.all_labelled
        for system in self.order:
            yield self._bias(system, self.labelled(system))
        if len(self.order) > 1:
            yield self._bias(ALL, every)
        edges = np.unique(every.score)
        if len(edges) > BANDS:
            edges = np.unique(np.quantile(every.score, np.arange(BANDS) / BANDS))
        band = np.searchsorted(edges, every.score, side="right")
        for number in np.unique(band):
            yield self._bias(ALL, every.take(band == number), banded=True)

    def _bias(self, system: str, known: LabelledScores, *, banded: bool = False) -> Row:
        ends = (known.score.min(), known.score.max()) if banded else (np.nan, np.nan)
        bias = judged.mean_by_t(known.bias, known.unit).interval(self.settings.level)
        return {
            "system": system,
            "score_low": float(ends[0]),
            "score_high": float(ends[1]),
            "labels": len(known.score),
            "judge": float(known.score.mean()),
            "oracle": float(known.label.mean()),
            **_prefixed(bias, "bias"),
        }

    @frame
    def favours(self) -> Iterator[Row]:
        """For each pair how much more the judge lies above the oracle for the first system than for
        the second, p adjusted over the pairs by Holm, and the judge's own difference beside the
        corrected one.
        """
        differences = [self._favour(*pair) for pair in self.pairs]
        adjusted = multiplicity.holm([difference.p_value for difference in differences])
        for pair, difference, p in zip(self.pairs, differences, adjusted, strict=True):
            corrections = self.corrections.set_index("system")
            means = corrections.loc[list(pair)]
            yield {
                "first": pair[0],
                "second": pair[1],
                **_prefixed(difference.interval(self.settings.level), "bias_difference"),
                "adjusted": float(p),
                "judge_difference": float(means["judge"].iloc[0] - means["judge"].iloc[1]),
                "difference": self.compare(self.primary, pair).difference.value,
            }

    def _favour(self, first: str, second: str) -> DifferenceByT:
        sides = [self.labelled(first), self.labelled(second)]
        sizes = [len(np.unique(side.unit)) for side in sides]
        moved = [
            np.sqrt(size / (size - 1)) * (side.bias - side.bias.mean()) / len(side.bias)
            for side, size in zip(sides, sizes, strict=True)
        ]
        return judged.by_t(
            float(sides[0].bias.mean() - sides[1].bias.mean()),
            np.concatenate([moved[0], -moved[1]]),
            np.concatenate([side.unit for side in sides]),
            n=min(sizes),
            freedom=min(sizes) - 1,
        )

    @property
    def favoured(self) -> pd.DataFrame:
        """The pairs of `favours` whose biases differ statistically significantly, the favoured
        system first.
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
        """The labels that give an interval of the wished width, of each system and of the
        headline's difference, whose systems are labelled on the same units; NaN if labels of all
        units are too few.

        needed: with the judge; alone: without it.
        """
        for name in self.order:
            e = self.estimate(self.primary, name)
            yield from self._needed(name, self.measure(self.primary, name).plan(), e)
        if len(self.headline):
            pair = self.opponents
            first, second = (self.measure(self.primary, name) for name in pair)
            plan = first.plan_of_difference(second)
            if plan is not None:
                yield from self._needed(" − ".join(pair), plan, self._difference(pair))

    def _difference(self, pair: SystemPair) -> Estimate:
        return self.compare(self.primary, pair).difference

    def _needed(self, what: str, plan: judged.LabelPlan, e: Estimate) -> Iterator[Row]:
        now = e.high - e.low
        if not np.isfinite(now):
            return
        width = self.p.width or now / 2
        yield {
            "what": what,
            "units": plan.units,
            "labels": e.n,
            "width_now": now,
            "width": width,
            "needed": plan.labels_for(width, self.settings.level),
            "alone": plan.labels_alone_for(width, self.settings.level),
        }


def _prefixed(e: Estimate, name: str) -> Row:
    """An estimate as the columns NAME, NAME_low and NAME_high."""
    return {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}


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

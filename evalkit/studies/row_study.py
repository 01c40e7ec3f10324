"""A study whose systems speak of the same rows; the units are rows, or the unit that was named.

With it the numbers and curves of one class against the rest, or of one label, that several kinds of rows have.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats
from evalkit.catalogue.kinds import (
    Kind,
    Loss,
    Share,
)
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.catalogue.row_metrics import AVERAGE_PRECISION, F1, ROC_AUC
from evalkit.drawing.shown import Shown
from evalkit.metrics import counts
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.numbers import unit_noun
from evalkit.reading.inputs.aligned import Aligned, number_of
from evalkit.statistics import inference
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.statistic import Layout, OfRows, Sample, Statistic
from evalkit.studies import units
from evalkit.studies.study import EVERY, Member, Study
from evalkit.studies.units import Units

DRAWN = 8  # curves that one picture can hold


@dataclass(frozen=True, eq=False, repr=False)
class RowStudy(Shown, Study):
    """Estimates and comparisons of a sample."""

    @property
    @abstractmethod
    def sample(self) -> Sample:
        """All systems on the same rows."""

    @property
    def names(self) -> Sequence[str]:
        """All classes or labels of which each row has scores or decisions of its own; none where it has one."""
        return ()

    def units_held(self) -> Units:
        """The rows at hand."""
        sample: Any = self.sample
        id = sample.ids()
        blocks = units.of_rows(sample.rows, self.settings.metrics, self.listed(id), self.names)
        return Units(len(id), blocks, self.settings.segments, self.names)

    def beside(self, rows: Aligned) -> dict[str, Floats]:
        """The further columns that the metrics are computed from."""
        return {name: number_of(rows, name) for name in self.settings.columns}

    @property
    def layout(self) -> Layout:
        """Whether rows are independent and unweighted, and whether they are at hand."""
        return self.sample.layout

    @property
    def plain(self) -> bool:
        """True if rows are independent and unweighted."""
        return self.layout in (Layout.PLAIN, Layout.SUMMED)

    @property
    def unit_name(self) -> str:
        """The row, or the unit that the user named."""
        return unit_noun(self.settings.unit, "unit") if self.settings.unit else "row"

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> Statistic:
        """The metric of a system on the rows that are members."""
        return self.sample.measure(chosen, system, member)

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """The difference that so many rows would show."""
        return {"detectable": self.would_show(chosen, pair)}

    @property
    def over(self) -> str:
        """What varies where it is not the plain row."""
        return "" if self.plain else super().over

    @property
    def intervals_are(self) -> str:
        """Where intervals come from, in words."""
        words = inference.words(
            self.settings.metrics, self.layout, lambda method: method.interval_is, rechosen=self.rechosen
        )
        return words + self.over

    # Numbers of the page that are no metric of the table

    def number(self, kind: Kind, rows: Rows, low: float = 0.0, high: float = 1.0) -> Estimate:
        """A number of rows with its interval."""
        return self.of(Metric("number", "rows", kind, "", "", "", low=low, high=high), rows)

    def of(self, metric: Metric, rows: Rows) -> Estimate:
        """A metric of rows with its interval."""
        return inference.estimate(OfRows(Chosen(metric), rows), self.inference_options(1))

    def mean(self, values: Floats, weight: Floats | None, member: Bools | slice = EVERY) -> Estimate:
        """The weighted mean over members with its interval."""
        rows = Rows(values, weight=weight, unit=self.unit).take(member)
        return self.number(Loss(lambda rows, k: rows.actual), rows, -np.inf, np.inf)

    def share(self, member: Bools, hit: Bools, weight: Floats | None) -> Estimate:
        """Hits among the member rows with its interval."""
        rows = Rows(member, decision=hit, weight=weight, unit=self.unit)
        return self.number(Share(lambda member, hit: (member, hit)), rows)

    def class_numbers(
        self, actual: Bools, decided: Bools, score: Floats | None, weight: Floats | None
    ) -> dict[str, float]:
        """Precision, recall, F1 and, with scores, AUC and average precision, each as itself, `_low` and `_high`."""
        rows = Rows(actual.astype(np.int64), score, weight=weight, unit=self.unit, decision=decided)
        estimates = {
            "precision": self.share(decided, actual, weight),
            "recall": self.share(actual, decided, weight),
        }
        of_class = {"f1": F1} | ({"auc": ROC_AUC, "average_precision": AVERAGE_PRECISION} if score is not None else {})
        estimates |= {name: self.of(metric, rows) for name, metric in of_class.items()}
        return with_limits(estimates)


def with_limits(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    """Each estimate as itself, `_low` and `_high`."""
    sides = {"": "value", "_low": "low", "_high": "high"}
    return {f"{metric}{end}": getattr(e, side) for metric, e in estimates.items() for end, side in sides.items()}


# Tables and curves of one class against the rest, or of one label ---------------------------------------------------


def table(hit: Bools, score: Floats, weight: Floats | None) -> Counts:
    """The table of a score on rows that are hits or not, and that weigh alike or not."""
    return counts.count(score, hit) if weight is None else counts.count(score, weight * hit, weight * ~hit)


def most_frequent(
    names: Sequence[str], actual: Bools, score: Floats, weight: Floats | None
) -> list[tuple[str, Counts]]:
    """The tables of those classes that have a curve, the eight with most positives, in their order.

    actual, score: one column a class.
    """
    size = np.dot(np.ones(len(actual)) if weight is None else weight, actual)
    several = [i for i, hit in enumerate(actual.T) if hit.any() and not hit.all()]
    return [(names[i], table(actual[:, i], score[:, i], weight)) for i in largest(several, size)]


def largest(classes: Sequence[int], size: Floats) -> list[int]:
    """The eight largest of some classes, in their order."""
    return sorted(sorted(classes, key=lambda i: -size[i])[:DRAWN])

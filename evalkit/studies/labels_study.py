"""What the study of several labels a row tells, whether its rows are in memory or were read shard by shard."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.metric import Chosen
from evalkit.limits import Limits
from evalkit.metrics import counts, curves
from evalkit.metrics.counts import Counts
from evalkit.parameters import Classification
from evalkit.reading.tables.rules import Precision
from evalkit.statistics import inference
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.statistic import Statistic
from evalkit.studies import study
from evalkit.studies.diagnostics import Ends
from evalkit.studies.one_by_one import EachStudy
from evalkit.studies.study import Settings

METRICS = ("micro_f1", "macro_f1", "exact_match", "hamming_loss", "map_classes", "ranking_loss")
SWEPT = ("micro_f1", "micro_precision", "micro_recall", "macro_f1")
STEPS = 41


@dataclass(frozen=True, eq=False, repr=False)
class LabelsStudy(EachStudy):
    """The study of a multi-label table; the units are rows, or the unit that was named."""

    noun: ClassVar[str] = "label"
    sides: ClassVar[tuple[str, str]] = ("label true", "label not true")

    threshold: float

    # What the rows tell

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of their columns."""

    @property
    @abstractmethod
    def precision(self) -> Mapping[str, list[Precision]]:
        """What the scores of each label were stored in, by system."""

    @property
    @abstractmethod
    def shares(self) -> Floats:
        """How often every label is true, by rows or by their weight."""

    @property
    @abstractmethod
    def per_row(self) -> tuple[float, float]:
        """The mean number of labels of a row, and the share of rows that have none."""

    @property
    @abstractmethod
    def ends(self) -> dict[str, Ends]:
        """The lowest and the highest score of each system."""

    @abstractmethod
    def decided(self, name: str, label: int) -> tuple[int, int, int, int]:
        """The rows of a label by what is and what a system decides: TP, FP, FN, TN."""

    @abstractmethod
    def numbers_of(self, name: str, label: int) -> dict[str, float]:
        """Precision, recall, F1, AUC and average precision of a label, each as itself, `_low` and `_high`."""

    @property
    @abstractmethod
    def pooled(self) -> Counts:
        """The leader's table of all rows and labels together."""

    @property
    @abstractmethod
    def steps(self) -> Floats:
        """The leader's scores, or quantiles of them where there are many."""

    @abstractmethod
    def at_step(self, chosen: Chosen, number: int) -> Statistic:
        """A metric of the leader at one of the thresholds for all labels."""

    @abstractmethod
    def top(self, name: str) -> Estimate:
        """How often the label with the highest score of a system is true."""

    @abstractmethod
    def too_high(self, label: int) -> tuple[float, Estimate]:
        """The leader's mean score of a label, and how far it lies above the share of rows that have the label."""

    @property
    def together(self) -> bool:
        """Whether it is known which labels rows have together, without which no constant scores are measured."""
        return True

    # What follows

    @property
    def names(self) -> Sequence[str]:
        """All labels."""
        return self.labels

    @cached_property
    def by_label(self) -> pd.DataFrame:
        """The four counts of every label and system, precision, recall, F1, AUC and average precision with limits."""
        return pd.DataFrame([self._label(name, j) for name in self.order for j in range(len(self.labels))])

    def _label(self, name: str, j: int) -> dict[str, Any]:
        counted = dict(zip(("tp", "fp", "fn", "tn"), self.decided(name, j), strict=True))
        row = {"system": name, "label": self.labels[j], "n": int(self.sizes[j])}
        return row | counted | self.numbers_of(name, j)

    @property
    def thresholds(self) -> Floats:
        """Thresholds for all labels: the leader's scores, or quantiles of them, and the one of best micro F1."""
        return at_thresholds(self.steps, self.best[0])

    @cached_property
    def sweep(self) -> pd.DataFrame:
        """The leader's micro and macro metrics along one threshold for all labels, with limits."""
        rows = []
        for number, t in enumerate(self.thresholds.tolist()):
            for metric in SWEPT:
                of = self.at_step(lookup.find(metric, "labels"), number)
                e = inference.estimate(of, self.inference_options(1))
                rows.append({"system": metric, "x": t, "y": e.value, "low": e.low, "high": e.high})
        return pd.DataFrame(rows)

    @cached_property
    def best(self) -> tuple[float, float]:
        """The leader's threshold for all labels of the highest micro F1, of all its scores, and that F1."""
        at = curves.best_f(self.pooled)
        return at, float(counts.f_score(counts.at(self.pooled, at))) if np.isfinite(at) else np.nan

    @cached_property
    def tops(self) -> pd.DataFrame:
        """How often the label with the highest score is true, of every system."""
        every = ((name, self.top(name)) for name in self.order)
        return pd.DataFrame([{"system": name, "value": e.value, "low": e.low, "high": e.high} for name, e in every])

    @cached_property
    def mean_scores(self) -> pd.DataFrame:
        """Of each label the leader's mean score, the share of rows that have it, and the difference with limits."""
        rows = []
        for j, label in enumerate(self.labels):
            mean, off = self.too_high(j)
            apart = {"difference": off.value, "low": off.low, "high": off.high}
            rows.append({"label": label, "score": mean, "share": self.shares[j]} | apart)
        return pd.DataFrame(rows)


def at_thresholds(steps: Floats, best: float) -> Floats:
    """Where metrics along a threshold are measured: the steps and the best threshold, if there is one."""
    drawn = np.union1d(steps, best)
    return drawn[np.isfinite(drawn)]


def asked(p: Classification, limits: Limits) -> Settings:
    """What the parameters ask."""
    chosen = lookup.chosen(p.metrics, "labels", METRICS)
    return study.settings(p, chosen, unit=p.unit, segments=p.segments, limits=limits)


def threshold_of(p: Classification, *, probabilities: bool) -> float:
    """The one threshold of all labels; raises ParameterError where it is not a number, or none is usual."""
    if isinstance(p.threshold, float):
        return p.threshold
    if p.threshold is not None:
        raise ParameterError(f"threshold must be a number, got {p.given['threshold']!r}")
    if not probabilities:
        raise ParameterError("threshold: scores outside 0 to 1 have no default threshold; set threshold to a number")
    return 0.5

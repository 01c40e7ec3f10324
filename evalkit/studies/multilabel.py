"""The study of several labels a row: a score for every label by every system, decided at one threshold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, ParameterError
from evalkit.catalogue import lookup
from evalkit.limits import USUAL, Limits
from evalkit.metrics import counts, curves
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.aligned import attributes_of
from evalkit.reading.inputs.outcomes import MultiLabel
from evalkit.reading.tables import precision
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.precision import Precision
from evalkit.statistics import inference
from evalkit.statistics.sample import HeldRows
from evalkit.statistics.statistic import OfRows
from evalkit.studies import account, curve_points, one_by_one, row_study, study
from evalkit.studies.account import Account
from evalkit.studies.one_by_one import EachStudy

METRICS = ("micro_f1", "macro_f1", "exact_match", "hamming_loss", "map_classes", "ranking_loss")
SWEPT = ("micro_f1", "micro_precision", "micro_recall", "macro_f1")
STEPS = 41


@dataclass(frozen=True, eq=False, repr=False)
class MultiLabelStudy(EachStudy):
    """The study of a multi-label table; the units are rows, or the unit that was named."""

    report: ClassVar[str] = "classification"
    listed_under: ClassVar[str] = "Row by row"
    noun: ClassVar[str] = "label"
    sides: ClassVar[tuple[str, str]] = ("label true", "label not true")

    data: MultiLabel
    threshold: float

    @property
    def account(self) -> Account:
        """What was read."""
        return account.of_rows(self.data.rows)

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.data.rows.sources

    @property
    def precision(self) -> Mapping[str, list[Precision]]:
        """What the scores of each label were stored in, by system."""
        own = self.data.rows.precision
        return {name: [own[name][f"p {label}"] for label in self.data.labels] for name in self.systems}

    @cached_property
    def sample(self) -> HeldRows:
        """Every system's scores beside the true labels."""
        d, at = self.data, self.threshold
        cuts = {name: np.array([precision.rounded(at, to) for to in some]) for name, some in self.precision.items()}
        shared: dict[str, Any] = {"weight": d.weight, "unit": self.unit, "beside": self.beside(d.rows)}
        return HeldRows({name: Rows(d.actual, own, cuts[name], **shared) for name, own in d.score.items()}, d.rows.id)

    @property
    def shares(self) -> Floats:
        """How often every label is true, by rows or by their weight."""
        return np.average(self.data.actual, axis=0, weights=self.data.weight)

    @property
    def probabilities(self) -> bool:
        """Whether every system's scores lie in 0..1."""
        return all(outcomes.are_probabilities(score) for score in self.data.score.values())

    @cached_property
    def by_label(self) -> pd.DataFrame:
        """The four counts of every label and system, precision, recall, F1, AUC and average precision with limits."""
        columns = range(len(self.data.labels))
        return pd.DataFrame([self._label(name, j) for name in self.order for j in columns])

    def _label(self, name: str, j: int) -> dict[str, Any]:
        rows = self.sample.rows[name]
        y, d = rows.actual[:, j], rows.predicted[:, j]
        row: dict[str, Any] = {"system": name, "label": self.data.labels[j], "n": int(y.sum())}
        row |= {
            "tp": int((y & d).sum()),
            "fp": int((~y & d).sum()),
            "fn": int((y & ~d).sum()),
            "tn": int((~y & ~d).sum()),
        }
        return row | self.class_numbers(y, d, rows.scores[:, j], rows.weight)

    @cached_property
    def drawn(self) -> list[tuple[str, Counts]]:
        """The leader's table of each label that has a curve, the most frequent eight."""
        d = self.data
        return row_study.most_frequent(d.labels, d.actual, d.score[self.leader], d.weight)

    @property
    def names(self) -> Sequence[str]:
        """All labels."""
        return self.data.labels

    @cached_property
    def one_by_one(self) -> dict[str, Counts]:
        """The leader's table of each label, of at most half a dozen labels."""
        d = self.data
        return one_by_one.tables(d.labels, d.actual, d.score[self.leader], d.weight, self.chosen_by)

    def curve(self, kind: str) -> pd.DataFrame:
        """The leader's curve of every label: x, y and the label as `system`."""
        return curve_points.curve(dict(self.drawn), kind)

    @cached_property
    def sweep(self) -> pd.DataFrame:
        """The leader's micro and macro metrics along one threshold for all labels, with limits.

        The thresholds are the scores, or quantiles of them where there are many, and the one of best micro F1.
        """
        every, rows = self.data.score[self.leader], []
        score = np.unique(every)
        if score.size > STEPS:
            score = np.quantile(every, np.linspace(0, 1, STEPS), method="inverted_cdf")
        drawn = np.union1d(score, self.best[0])
        for t in drawn[np.isfinite(drawn)]:
            decided = replace(self.sample.rows[self.leader], threshold=float(t))
            for metric in SWEPT:
                e = inference.estimate(OfRows(lookup.find(metric, "labels"), decided), self.inference_options(1))
                rows.append({"system": metric, "x": float(t), "y": e.value, "low": e.low, "high": e.high})
        return pd.DataFrame(rows)

    @cached_property
    def best(self) -> tuple[float, float]:
        """The leader's threshold for all labels of the highest micro F1, of all its scores, and that F1."""
        d = self.data
        weight = None if d.weight is None else np.repeat(d.weight, len(d.labels))
        c = row_study.table(d.actual.ravel(), d.score[self.leader].ravel(), weight)
        at = curves.best_f(c)
        return at, float(counts.f_score(counts.at(c, at))) if np.isfinite(at) else np.nan

    @cached_property
    def tops(self) -> pd.DataFrame:
        """How often the label with the highest score is true, of every system."""
        rows = []
        for name in self.order:
            sample = self.sample.rows[name]
            best = sample.scores.argmax(axis=1)
            hit = sample.actual[np.arange(len(best)), best]
            e = self.share(np.ones(len(best), dtype=bool), hit, sample.weight)
            rows.append({"system": name, "value": e.value, "low": e.low, "high": e.high})
        return pd.DataFrame(rows)


def make(data: MultiLabel, p: Classification, limits: Limits = USUAL) -> MultiLabelStudy:
    """The study of several labels per row."""
    chosen = lookup.chosen(p.metrics, "labels", METRICS)
    settings = study.settings(p, chosen, unit=p.unit, segments=p.segments, limits=limits)
    study.check_systems(settings, data.rows.systems)
    attributes, at = attributes_of(data.rows, settings.attributes, settings.unit), _threshold(data, p)
    return MultiLabelStudy(settings, data.rows.systems, attributes, p.given, data, at)


def _threshold(data: MultiLabel, p: Classification) -> float:
    """The one threshold of all labels; raises ParameterError where it is not a number, or none is usual."""
    if isinstance(p.threshold, float):
        return p.threshold
    if p.threshold is not None:
        raise ParameterError(f"threshold must be a number, got {p.given['threshold']!r}")
    if not all(outcomes.are_probabilities(score) for score in data.score.values()):
        raise ParameterError("threshold: scores outside 0 to 1 have no default threshold; set threshold to a number")
    return 0.5

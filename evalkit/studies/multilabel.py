"""The study of several labels a row from the rows themselves: a score for every label by every system."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.catalogue.metric import Chosen
from evalkit.limits import USUAL, Limits
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.aligned import attributes_of
from evalkit.reading.inputs.outcomes import MultiLabel
from evalkit.reading.tables import rules
from evalkit.reading.tables.rules import Precision
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.statistic import HeldRows, OfRows
from evalkit.studies import account, diagnostics, labels_study, one_by_one, row_study, study
from evalkit.studies.account import Account
from evalkit.studies.diagnostics import Ends
from evalkit.studies.labels_study import STEPS, LabelsStudy


@dataclass(frozen=True, eq=False, repr=False)
class MultiLabelStudy(LabelsStudy):
    """The study of rows in memory."""

    data: MultiLabel

    @property
    def account(self) -> Account:
        """What was read."""
        return account.of_rows(self.data.rows)

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of their columns."""
        return self.data.labels

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return self.data.weight is not None

    @property
    def precision(self) -> Mapping[str, list[Precision]]:
        """What the scores of each label were stored in, by system."""
        own = self.data.rows.precision
        return {name: [own[name][f"p {label}"] for label in self.labels] for name in self.systems}

    @cached_property
    def sample(self) -> HeldRows:
        """Every system's scores beside the true labels."""
        d, at = self.data, self.threshold
        cuts = {name: np.array([rules.rounded(at, to) for to in some]) for name, some in self.precision.items()}
        shared: dict[str, Any] = {"weight": d.weight, "unit": self.unit, "beside": self.beside(d.rows)}
        return HeldRows(
            {name: Rows(d.actual, own, cuts[name], **shared) for name, own in d.score.items()}, lambda: d.rows.id
        )

    @property
    def shares(self) -> Floats:
        """How often every label is true, by rows or by their weight."""
        return np.average(self.data.actual, axis=0, weights=self.data.weight)

    @property
    def sizes(self) -> Ints:
        """The rows on which each label is true."""
        return self.data.actual.sum(axis=0)

    @property
    def per_row(self) -> tuple[float, float]:
        """The mean number of labels of a row, and the share of rows that have none."""
        per_row, w = self.data.actual.sum(axis=1), self.data.weight
        return float(np.average(per_row, weights=w)), float(np.average(per_row == 0, weights=w))

    @property
    def probabilities(self) -> bool:
        """Whether every system's scores lie in 0..1."""
        return all(outcomes.are_probabilities(score) for score in self.data.score.values())

    @property
    def ends(self) -> dict[str, Ends]:
        """The lowest and the highest score of each system."""
        return diagnostics.ends(self.data.score)

    def decided(self, name: str, label: int) -> tuple[int, int, int, int]:
        """The rows of a label by what is and what a system decides: TP, FP, FN, TN."""
        rows = self.sample.rows[name]
        y, d = rows.actual[:, label], rows.predicted[:, label]
        return int((y & d).sum()), int((~y & d).sum()), int((y & ~d).sum()), int((~y & ~d).sum())

    def numbers_of(self, name: str, label: int) -> dict[str, float]:
        """Precision, recall, F1, AUC and average precision of a label, each as itself, `_low` and `_high`."""
        rows = self.sample.rows[name]
        actual, decided = rows.actual[:, label], rows.predicted[:, label]
        return self.class_numbers(actual, decided, rows.scores[:, label], rows.weight)

    @cached_property
    def drawn(self) -> list[tuple[str, Counts]]:
        """The leader's table of each label that has a curve, the most frequent eight."""
        d = self.data
        return row_study.most_frequent(d.labels, d.actual, d.score[self.leader], d.weight)

    @cached_property
    def one_by_one(self) -> dict[str, Counts]:
        """The leader's table of each label, of at most half a dozen labels."""
        d = self.data
        return one_by_one.tables(d.labels, d.actual, d.score[self.leader], d.weight, self.chosen_by)

    @cached_property
    def pooled(self) -> Counts:
        """The leader's table of all rows and labels together."""
        d = self.data
        weight = None if d.weight is None else np.repeat(d.weight, len(d.labels))
        return row_study.table(d.actual.ravel(), d.score[self.leader].ravel(), weight)

    @property
    def steps(self) -> Floats:
        """The leader's scores, or quantiles of them where there are many."""
        every = self.data.score[self.leader]
        score = np.unique(every)
        return score if score.size <= STEPS else np.quantile(every, np.linspace(0, 1, STEPS), method="inverted_cdf")

    @cached_property
    def _at_steps(self) -> list[Rows]:
        """The leader's rows at each of the thresholds."""
        return [replace(self.sample.rows[self.leader], threshold=t) for t in self.thresholds.tolist()]

    def at_step(self, chosen: Chosen, number: int) -> OfRows:
        """A metric of the leader at one of the thresholds for all labels."""
        return OfRows(chosen, self._at_steps[number])

    def top(self, name: str) -> Estimate:
        """How often the label with the highest score of a system is true."""
        rows = self.sample.rows[name]
        return self.share(*top_hits(rows), rows.weight)

    def too_high(self, label: int) -> tuple[float, Estimate]:
        """The leader's mean score of a label, and how far it lies above the share of rows that have the label."""
        d, score = self.data, self.data.score[self.leader][:, label]
        return np.average(score, weights=d.weight), self.mean(score - d.actual[:, label], d.weight)

    def constant(self, chosen: Chosen) -> float:
        """The metric of scoring every row by how often each label is true."""
        rows = self.sample.rows[self.leader]
        return chosen.value(replace(rows, score=np.tile(self.shares, (len(rows), 1))))


def top_hits(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """All rows, and those whose label with the highest score is true."""
    best = rows.scores.argmax(axis=1)
    return np.ones(len(best), dtype=bool), rows.actual[np.arange(len(best)), best]


def make(data: MultiLabel, p: Classification, limits: Limits = USUAL) -> MultiLabelStudy:
    """The study of several labels per row."""
    settings = labels_study.asked(p, limits)
    study.check_systems(settings, data.rows.systems)
    attributes = attributes_of(data.rows, settings.attributes, settings.unit)
    sure = all(outcomes.are_probabilities(score) for score in data.score.values())
    threshold = labels_study.threshold_of(p, probabilities=sure)
    return MultiLabelStudy(settings, data.rows.systems, attributes, p.given, threshold, data)

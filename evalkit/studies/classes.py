"""The study of several classes from the rows themselves: one class a row, what every system predicts and scores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.catalogue.multiclass import against_rest
from evalkit.limits import USUAL, Limits
from evalkit.metrics.counts import Counts
from evalkit.metrics.labels import Confusion
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.aligned import attributes_of
from evalkit.reading.inputs.outcomes import MultiClass
from evalkit.reading.tables.slices import Slice
from evalkit.statistics.sample import HeldRows
from evalkit.statistics.statistic import OfRows
from evalkit.studies import account, classes_study, one_by_one, row_study, study
from evalkit.studies.account import Account
from evalkit.studies.classes_study import TARGET, ClassesStudy


@dataclass(frozen=True, eq=False, repr=False)
class RowsStudy(ClassesStudy):
    """The study of rows in memory."""

    data: MultiClass

    @property
    def account(self) -> Account:
        """What was read."""
        return account.of_rows(self.data.rows)

    @property
    def classes(self) -> tuple[str, ...]:
        """All classes, in order."""
        return self.data.classes

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return self.data.weight is not None

    @cached_property
    def sample(self) -> HeldRows:
        """What every system predicts beside what is."""
        d, k = self.data, len(self.classes)
        shared: dict[str, Any] = {"weight": d.weight, "unit": self.unit, "classes": k, "beside": self.beside(d.rows)}
        sides = {name: (d.score.get(name), d.predicted[name]) for name in self.systems}
        rows = {name: Rows(d.actual, score, decision=p, **shared) for name, (score, p) in sides.items()}
        return HeldRows(rows, lambda: d.rows.id)

    @property
    def scored(self) -> bool:
        """Whether there are scores for the classes."""
        return bool(self.data.score)

    @property
    def probabilities(self) -> bool:
        """Whether every system's scores lie in 0..1."""
        return self.scored and all(outcomes.are_probabilities(score) for score in self.data.score.values())

    @property
    def shares(self) -> Floats:
        """The share of every class in the rows, or in their weight."""
        weight = np.bincount(self.data.actual, self.data.weight, len(self.classes))
        return weight / weight.sum()

    @property
    def sizes(self) -> Ints:
        """The rows of each class."""
        return np.bincount(self.data.actual, minlength=len(self.classes))

    def sizes_in(self, part: Slice) -> Ints:
        """The rows of each class in a slice."""
        return np.bincount(self.data.actual[part.member], minlength=len(self.classes))

    def said(self, name: str) -> Ints:
        """The rows for which a system predicts each class."""
        return np.bincount(self.data.predicted[name], minlength=len(self.classes))

    def confusion(self, name: str) -> Confusion:
        """The rows, or their weight, by actual and by predicted class."""
        return self.sample.rows[name].confusion

    def derived(self, metric: Metric, name: str, change: Callable[[Rows], Rows]) -> OfRows:
        """A metric of the rows of a system with other things in the place of what is and is said."""
        return OfRows(Chosen(metric), change(self.sample.rows[name]))

    def of_class(self, metric: Metric, name: str, c: int) -> OfRows:
        """A metric of the scores of a class against the rest."""
        return self.derived(metric, name, lambda rows: against_rest(rows, c))

    # Tables of scores

    @cached_property
    def drawn(self) -> list[tuple[str, Counts]]:
        """The leader's table of each class that has a curve, the most frequent eight."""
        d = self.data
        actual = d.actual[:, None] == np.arange(len(d.classes))
        return row_study.most_frequent(d.classes, actual, d.score[self.leader], d.weight)

    @cached_property
    def one_by_one(self) -> dict[str, Counts]:
        """The leader's table of each class against the rest, of at most half a dozen classes; none without scores."""
        d = self.data
        if not self.scored:
            return {}
        actual = d.actual[:, None] == np.arange(len(d.classes))
        return one_by_one.tables(d.classes, actual, d.score[self.leader], d.weight, self.chosen_by)

    @cached_property
    def top_label(self) -> dict[str, Counts]:
        """Right or wrong by the score of the predicted class, of every system."""
        return {name: row_study.table(*self._predicted(name), self.data.weight) for name in self.data.score}

    def _predicted(self, name: str) -> tuple[Bools, Floats]:
        """Whether the predicted class is right, and its score, of every row."""
        return self.data.predicted[name] == self.data.actual, self.predicted_score(name)

    def predicted_score(self, name: str) -> Floats:
        """The score of the class that a system predicts, of every row."""
        return np.take_along_axis(self.data.score[name], self.data.predicted[name][:, None], axis=1)[:, 0]

    @property
    def lower(self) -> dict[str, int]:
        """Rows whose predicted class does not have the highest score, of every system with scores."""
        scores = self.data.score.items()
        return {name: int((score.max(axis=1) > self.predicted_score(name)).sum()) for name, score in scores}

    @property
    def off(self) -> dict[str, float]:
        """By how much the scores of a row are off from adding up to 1 at most, of every system with scores."""
        return {name: float(np.abs(score.sum(axis=1) - 1).max()) for name, score in self.data.score.items()}

    def constant(self, chosen: Chosen) -> float:
        """The metric of the largest class for every row; its probabilities are the shares of the classes."""
        rows = self.sample.rows[self.leader]
        decision = np.full(len(rows), int(self.shares.argmax()))
        score = None if rows.score is None else np.tile(self.shares, (len(rows), 1))
        return chosen.value(replace(rows, decision=decision, score=score))


def make(data: MultiClass, p: Classification, limits: Limits = USUAL) -> RowsStudy:
    """The study of several classes."""
    settings = classes_study.asked(p, limits, scored=bool(data.score), outside=outcomes.first_outside(data))
    study.check_systems(settings, data.rows.systems)
    attributes, target = attributes_of(data.rows, settings.attributes, settings.unit), p.precision_target or TARGET
    return RowsStudy(settings, data.rows.systems, attributes, p.given, target, data)

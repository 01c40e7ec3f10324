"""The study of several classes: one class a row, a predicted class or a score for each class by every system."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats
from evalkit.catalogue import lookup
from evalkit.limits import USUAL, Limits
from evalkit.metrics import calibration, cells, labels
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.aligned import attributes_of
from evalkit.reading.inputs.outcomes import MultiClass
from evalkit.reading.tables.parts import Source
from evalkit.statistics import calibration_test, count_bootstrap
from evalkit.statistics.calibration_test import UNKNOWN, Perfect
from evalkit.statistics.sample import HeldRows
from evalkit.studies import curve_points, one_by_one, reliability, row_study, study
from evalkit.studies.binary import BINS
from evalkit.studies.one_by_one import EachStudy
from evalkit.studies.reliability import Reliability

METRICS = ("accuracy", "macro_f1", "mcc", "roc_auc_ovr", "log_loss", "brier")
TARGET = 0.9
TOPS = (1, 2, 3, 5)
PAIRS = 10  # mistakes of a table
CONFUSED = ["actual", "predicted", "n", "share", "low", "high", "of_errors"]


@dataclass(frozen=True, eq=False, repr=False)
class ClassesStudy(EachStudy):
    """The study of a multi-class table; the units are rows, or the unit that was named."""

    report: ClassVar[str] = "classification"
    listed_under: ClassVar[str] = "Row by row"
    noun: ClassVar[str] = "class"
    sides: ClassVar[tuple[str, str]] = ("rows of the class", "other rows")

    data: MultiClass
    target: float

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.data.rows.sources

    @cached_property
    def sample(self) -> HeldRows:
        """What every system predicts beside what is."""
        d, k = self.data, len(self.data.classes)
        shared: dict[str, Any] = {"weight": d.weight, "unit": self.unit, "classes": k, "beside": self.beside(d.rows)}
        sides = {name: (d.score.get(name), d.predicted[name]) for name in self.systems}
        return HeldRows({name: Rows(d.actual, score, decision=p, **shared) for name, (score, p) in sides.items()})

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
        weight = np.bincount(self.data.actual, self.data.weight, len(self.data.classes))
        return weight / weight.sum()

    @cached_property
    def by_class(self) -> pd.DataFrame:
        """Rows, predictions, precision, recall, F1 of every class and system; with scores AUC, average precision."""
        classes = range(len(self.data.classes))
        return pd.DataFrame([self._class(name, c) for name in self.order for c in classes])

    def _class(self, name: str, c: int) -> dict[str, Any]:
        rows = self.sample.rows[name]
        actual, predicted = rows.actual == c, rows.predicted == c
        row: dict[str, Any] = {"system": name, "class": self.data.classes[c]}
        row |= {"n": int(actual.sum()), "predicted": int(predicted.sum())}
        score = None if rows.score is None else rows.score[:, c]
        return row | self.class_numbers(actual, predicted, score, rows.weight)

    # Pictures' data

    def curve(self, kind: str) -> pd.DataFrame:
        """The leader's curve of every class against the rest: x, y and the class as `system`."""
        return curve_points.curve(dict(self.drawn), kind)

    def bands(self, kind: str) -> pd.DataFrame | None:
        """Pointwise limits of these curves; none where rows cluster or carry weights, or there is no curve."""
        if not self.plain or not self.drawn:
            return None
        frames = []
        for c, table in self.drawn:
            drawn = count_bootstrap.resampled(
                cells.pooled(table), rng=self.rng(3), resamples=self.settings.limits.bands
            )
            frames.append(curve_points.band(c, drawn, kind, level=self.settings.level))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def drawn(self) -> list[tuple[str, Counts]]:
        """The leader's table of each class that has a curve, the most frequent eight."""
        d = self.data
        actual = d.actual[:, None] == np.arange(len(d.classes))
        return row_study.most_frequent(d.classes, actual, d.score[self.leader], d.weight)

    @property
    def names(self) -> Sequence[str]:
        """All classes."""
        return self.data.classes

    @cached_property
    def one_by_one(self) -> dict[str, Counts]:
        """The leader's table of each class against the rest, of at most half a dozen classes; none without scores."""
        d = self.data
        if not self.scored:
            return {}
        actual = d.actual[:, None] == np.arange(len(d.classes))
        return one_by_one.tables(d.classes, actual, d.score[self.leader], d.weight, self.chosen_by)

    @cached_property
    def confused(self) -> pd.DataFrame:
        """The leader's most frequent mistakes: actual, predicted, rows, share of the actual class with limits."""
        rows = self.sample.rows[self.leader]
        table = np.array(rows.confusion.table)
        np.fill_diagonal(table, 0)
        order = np.argsort(-table, axis=None, kind="stable")[:PAIRS]
        pairs = [divmod(int(place), len(table)) for place in order if table.flat[place] > 0]
        return pd.DataFrame([self._pair(rows, *pair, table) for pair in pairs], columns=CONFUSED)

    def _pair(self, rows: Rows, actual: int, predicted: int, table: np.ndarray) -> dict[str, Any]:
        e = self.share(rows.actual == actual, rows.predicted == predicted, rows.weight)
        names = {"actual": self.data.classes[actual], "predicted": self.data.classes[predicted]}
        of_errors = float(table[actual, predicted] / table.sum())
        sides = {"n": table[actual, predicted].item(), "share": e.value, "low": e.low, "high": e.high}
        return names | sides | {"of_errors": of_errors}

    @cached_property
    def covered(self) -> pd.DataFrame:
        """Share of rows predicted into classes whose precision reaches the target, of every system, with limits."""
        rows = []
        for name in self.order:
            sample = self.sample.rows[name]
            value = labels.coverage(sample.confusion, self.target)
            enough = labels.coverage_by_class(sample.confusion, self.target) > 0
            names = [label for label, ok in zip(self.data.classes, enough, strict=True) if ok]
            chosen = enough[sample.predicted]
            e = self.share(np.ones(len(chosen), dtype=bool), chosen, sample.weight)
            right = self.share(chosen, sample.actual == sample.predicted, sample.weight)
            row = {"system": name, "coverage": value, "low": e.low, "high": e.high, "classes": ", ".join(names)}
            rows.append(row | {"right": right.value, "right_low": right.low, "right_high": right.high})
        return pd.DataFrame(rows)

    @cached_property
    def tops(self) -> pd.DataFrame:
        """How often the actual class is among the k highest scores."""
        rows = []
        for name in self.order:
            for k in (k for k in TOPS if k <= len(self.data.classes)):
                e = self.estimate(lookup.find(f"top@{k}", "classes"), name)
                rows.append({"system": name, "k": k, "value": e.value, "low": e.low, "high": e.high})
        return pd.DataFrame(rows)

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

    @cached_property
    def reliability(self) -> pd.DataFrame:
        """Share of right predictions by tenths of their score, with Wilson limits where rows are plain."""
        level = self.settings.level if self.plain else None
        return reliability.by_tenths({name: self.top_label[name] for name in self.order}, BINS, level=level)

    @cached_property
    def isotonic(self) -> Reliability:
        """The reliability of the score of the predicted class, of every system, without bins."""
        tables = {name: self.top_label[name] for name in self.order}
        level = self.settings.level if self.plain else None
        return reliability.reliability(tables, lambda: self.rng(6), draws=self.settings.limits.bands, level=level)

    @cached_property
    def calibration(self) -> pd.DataFrame:
        """Mean score of the predicted class against how often it is right, and the top-label ECE, of every system."""
        rows = []
        for name in self.order:
            c = self.top_label[name]
            right = self.estimate(lookup.find("accuracy", "classes"), name)
            e = self._perfect(name)
            row = {"system": name, "confidence": calibration.mean_score(c), "right": right.value}
            row |= {"right_low": right.low, "right_high": right.high}
            rows.append(row | {"ece_10": calibration.ece_10(c), "ece_10_expected": e.expected, "ece_10_p": e.p})
        return pd.DataFrame(rows)

    def _perfect(self, name: str) -> Perfect:
        """What the top-label ECE would be if the scores were right, where rows are independent and count alike."""
        if not self.plain:
            return UNKNOWN
        draws = self.settings.limits.bands
        return calibration_test.perfect(self.top_label[name], calibration.ece_10, rng=self.rng(4), draws=draws)


def make(data: MultiClass, p: Classification, limits: Limits = USUAL) -> ClassesStudy:
    """The study of several classes."""
    outside = outcomes.first_outside(data)
    columns = dict.fromkeys(("scores", "probabilities"), "p_<class> columns, the table has none")
    lacks = ({"probabilities": f"probabilities, {outside}"} if outside else {}) if data.score else columns
    chosen = lookup.possible(p.metrics, "classes", METRICS, lacks)
    settings = study.settings(p, chosen, unit=p.unit, segments=p.segments, limits=limits)
    study.check_systems(settings, data.rows.systems)
    attributes, target = attributes_of(data.rows, settings.attributes, settings.unit), p.precision_target or TARGET
    return ClassesStudy(settings, data.rows.systems, attributes, p.given, data, target)

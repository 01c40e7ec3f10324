"""The study of several classes: one class a row, a predicted class or a score for each class by every system."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, ParameterError
from evalkit.definitions import catalogue
from evalkit.definitions.class_metrics import NEED_PROBABILITIES, NEED_SCORES, Classified, of_order
from evalkit.metrics import calibration, counts, curves, labels
from evalkit.metrics.counts import Counts
from evalkit.metrics.influence import auc_influence, average_precision_influence
from evalkit.reading import outcomes, parameters
from evalkit.reading.aligned import attributes_of
from evalkit.reading.outcomes import MultiClass
from evalkit.statistics import count_bootstrap, inference
from evalkit.statistics.intervals import Estimate, wilson
from evalkit.statistics.perunit import Pooled
from evalkit.studies import study
from evalkit.studies.binary import BINS, GRID, POINTS, RESAMPLES, read_pr, read_roc
from evalkit.studies.row_study import RowStudy

METRICS = ("accuracy", "macro_f1", "mcc", "roc_auc_ovr", "log_loss", "brier")
TARGET = 0.9
TOPS = (1, 2, 3, 5)


@dataclass(frozen=True, eq=False, repr=False)
class ClassesStudy(RowStudy):
    """The study of a multi-class table; the units are rows, or the unit that was named."""

    data: MultiClass
    target: float

    @cached_property
    def classified(self) -> dict[str, Classified]:
        """What every system predicts beside what is."""
        d, k = self.data, len(self.data.classes)
        return {name: Classified(d.actual, d.predicted[name], k, d.score.get(name), d.weight) for name in self.systems}

    def structure(self, system: str) -> Classified:
        """The classes of a system."""
        return self.classified[system]

    @property
    def scored(self) -> bool:
        """Whether there are scores for the classes."""
        return bool(self.data.score)

    @property
    def probabilities(self) -> bool:
        """Whether every system's scores lie in 0..1."""
        return self.scored and all(outcomes.are_probabilities(one) for one in self.data.score.values())

    @cached_property
    def class_counts(self) -> dict[str, list[Counts]]:
        """The table of every class against the rest of every system."""
        w, found = self.data.weight, {}
        for name, score in self.data.score.items():
            tables = []
            for c in range(len(self.data.classes)):
                is_class = (self.data.actual == c).astype(np.int64)
                one = counts.count(score[:, c], is_class) if w is None else None
                tables.append(one or counts.count(score[:, c], w * is_class, w * (1 - is_class)))
            found[name] = tables
        return found

    @cached_property
    def by_class(self) -> pd.DataFrame:
        """Rows, predictions, precision, recall, F1 of every class and system; with scores AUC, average precision."""
        return pd.DataFrame(
            [row for name in self.order for c in range(len(self.data.classes)) if (row := self._class(name, c))]
        )

    def _class(self, name: str, c: int) -> dict[str, Any]:
        s = self.classified[name]
        actual, predicted = s.actual == c, s.predicted == c
        found: dict[str, Estimate] = {
            "precision": self.share(predicted, actual, s.weight),
            "recall": self.share(actual, predicted, s.weight),
            "f1": self._f1(actual, predicted, s.weight),
        }
        if s.score is not None:
            found["auc"] = self._area(counts.auc, auc_influence, s, c)
            found["average_precision"] = self._area(counts.average_precision, average_precision_influence, s, c)
        row: dict[str, Any] = {"system": name, "class": self.data.classes[c]}
        row |= {"n": int(actual.sum()), "predicted": int(predicted.sum())}
        for metric, e in found.items():
            row |= {metric: e.value, f"{metric}_low": e.low, f"{metric}_high": e.high}
        return row

    def _f1(self, actual: Bools, predicted: Bools, weight: Floats | None) -> Estimate:
        w = np.ones(len(actual)) if weight is None else weight
        found = Pooled(w * 2 * (actual & predicted), w * (actual.astype(float) + predicted))
        return inference.estimate(found, self.unit, level=self.settings.level, low=0.0, high=1.0)

    def _area(self, metric: Any, influence: Any, s: Classified, c: int) -> Estimate:
        score = s.score if s.score is not None else np.zeros((0, 0))
        w = np.ones(len(s.actual)) if s.weight is None else s.weight
        found = of_order(metric, influence, s.is_class(c), score[:, c], w)
        return inference.estimate(found, self.unit, level=self.settings.level, low=0.0, high=1.0)

    # Pictures' data

    def curve(self, kind: str) -> pd.DataFrame:
        """The leader's curve of every class against the rest: x, y and the class as `system`."""
        made = {"roc": curves.roc_curve, "pr": curves.precision_recall_curve}[kind]
        found = []
        for c, table in self._drawn:
            one = made(curves.thin(table, POINTS))
            found.append(pd.DataFrame({"system": c, "x": one.x, "y": one.y}))
        return pd.concat(found, ignore_index=True)

    def bands(self, kind: str) -> pd.DataFrame | None:
        """Pointwise limits of these curves; none where rows cluster or carry weights."""
        if not self.plain(self.leader):
            return None
        read, found = {"roc": read_roc, "pr": read_pr}[kind], []
        for c, table in self._drawn:
            pooled = count_bootstrap.pool(table, count_bootstrap.cells(table))
            drawn = count_bootstrap.resampled(pooled, rng=self.rng(3), resamples=RESAMPLES)
            low, high = count_bootstrap.band(drawn, read, level=self.settings.level)
            found.append(pd.DataFrame({"system": c, "x": GRID, "low": low, "high": high}))
        return pd.concat(found, ignore_index=True)

    @property
    def _drawn(self) -> list[tuple[str, Counts]]:
        """The leader's tables of the classes that have a curve, the largest eight."""
        tables = self.class_counts[self.leader]
        drawn = [i for i, c in enumerate(tables) if 0 < c.positives < c.total]
        largest = sorted(drawn, key=lambda i: -tables[i].positives)[:8]
        return [(self.data.classes[i], tables[i]) for i in sorted(largest)]

    @cached_property
    def covered(self) -> pd.DataFrame:
        """Share of rows predicted into classes whose precision reaches the target, of every system, with limits."""
        rows = []
        for name in self.order:
            s = self.classified[name]
            value = labels.coverage(s.confusion, self.target)
            enough = labels.coverage_by_class(s.confusion, self.target) > 0
            names = [one for one, ok in zip(self.data.classes, enough, strict=True) if ok]
            chosen = enough[s.predicted]
            e = self.share(np.ones(len(chosen), dtype=bool), chosen, s.weight)
            right = self.share(chosen, s.actual == s.predicted, s.weight)
            row = {"system": name, "coverage": value, "low": e.low, "high": e.high, "classes": ", ".join(names)}
            rows.append(row | {"right": right.value, "right_low": right.low, "right_high": right.high})
        return pd.DataFrame(rows)

    @cached_property
    def tops(self) -> pd.DataFrame:
        """How often the actual class is among the k highest scores."""
        rows = []
        for name in self.order:
            for k in (k for k in TOPS if k <= len(self.data.classes)):
                e = self.estimate(catalogue.find(f"top@{k}", "classes"), name)
                rows.append({"system": name, "k": k, "value": e.value, "low": e.low, "high": e.high})
        return pd.DataFrame(rows)

    @cached_property
    def top_label(self) -> dict[str, Counts]:
        """Right or wrong by the score of the predicted class, of every system."""
        return {name: labels.top_label(self.data.actual, score) for name, score in self.data.score.items()}

    @cached_property
    def reliability(self) -> pd.DataFrame:
        """Share of right predictions by tenths of their score with Wilson limits."""
        rows = []
        for name in self.order:
            bins = calibration.bins_quantile(self.top_label[name], BINS)
            for n, hits, score in zip(bins.rows, bins.positives, bins.score, strict=True):
                e = wilson(hits, n, level=self.settings.level)
                rows.append({"system": name, "x": score / n, "y": e.value, "low": e.low, "high": e.high, "n": int(n)})
        return pd.DataFrame(rows)

    @cached_property
    def calibration(self) -> pd.DataFrame:
        """Mean score of the predicted class against how often it is right, and the top-label ECE, of every system."""
        rows = []
        for name in self.order:
            c = self.top_label[name]
            right = self.estimate(catalogue.find("accuracy", "classes"), name)
            ece = count_bootstrap.interval(c, _ece, rng=self.rng(4), level=self.settings.level)
            row = {"system": name, "confidence": calibration.mean_score(c), "right": right.value}
            row |= {"right_low": right.low, "right_high": right.high}
            rows.append(row | {"ece_10": ece.value, "ece_10_low": ece.low, "ece_10_high": ece.high})
        return pd.DataFrame(rows)


def _ece(c: Counts) -> float:
    return calibration.ece(calibration.bins_uniform(c, BINS))


def make(
    data: MultiClass, metrics: Any, precision_target: Any, given: Mapping[str, Any], shared: Mapping[str, Any]
) -> ClassesStudy:
    """The study, its parameters checked."""
    fits = bool(data.score) and all(outcomes.are_probabilities(one) for one in data.score.values())
    refused = () if fits else NEED_PROBABILITIES if data.score else NEED_SCORES
    usual = [name for name in METRICS if name not in refused]
    s = study.settings("classes", metrics, usual=usual, **shared)
    wrong = [chosen.label for chosen in s.metrics if chosen.metric.name in refused]
    if wrong:
        needs = "probabilities, got scores outside 0 to 1" if data.score else "p_<class> columns, the table has none"
        raise ParameterError(f"metrics: {wrong[0]} needs {needs}")
    study.check_systems(s, data.rows.systems)
    target = parameters.number("precision_target", precision_target, above=0, below=1) or TARGET
    return ClassesStudy(s, data.rows.systems, attributes_of(data.rows, s.attributes), given, data, target)

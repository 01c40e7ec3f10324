"""The study of several labels a row: a score for every label by every system, decided at one threshold."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import ParameterError
from evalkit.definitions import catalogue
from evalkit.definitions.class_metrics import of_order
from evalkit.definitions.label_metrics import Labelled
from evalkit.metrics import counts, curves, labels
from evalkit.metrics.counts import Counts
from evalkit.metrics.influence import auc_influence, average_precision_influence
from evalkit.reading import outcomes, parameters
from evalkit.reading.aligned import attributes_of
from evalkit.reading.outcomes import MultiLabel
from evalkit.statistics import inference
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.perunit import Pooled
from evalkit.studies import study
from evalkit.studies.binary import POINTS
from evalkit.studies.row_study import RowStudy

METRICS = ("micro_f1", "macro_f1", "exact_match", "hamming_loss", "map_classes", "ranking_loss")
SWEPT = ("micro_f1", "micro_precision", "micro_recall", "macro_f1")
STEPS = 41
DRAWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class MultiLabelStudy(RowStudy):
    """The study of a multi-label table; the units are rows, or the unit that was named."""

    data: MultiLabel
    threshold: float

    @cached_property
    def labelled(self) -> dict[str, Labelled]:
        """Every system's scores beside the true labels."""
        d = self.data
        return {name: Labelled(d.actual, score, self.threshold, d.weight) for name, score in d.score.items()}

    def structure(self, system: str) -> Labelled:
        """The labels of a system."""
        return self.labelled[system]

    @cached_property
    def by_label(self) -> pd.DataFrame:
        """The four counts of every label and system, precision, recall, F1, AUC and average precision with limits."""
        columns = range(len(self.data.labels))
        return pd.DataFrame([self._label(name, j) for name in self.order for j in columns])

    def _label(self, name: str, j: int) -> dict[str, Any]:
        s = self.labelled[name]
        y, d, w = s.actual[:, j], s.decided[:, j], np.ones(len(s.actual)) if s.weight is None else s.weight
        found: dict[str, Estimate] = {
            "precision": self.share(d, y, s.weight),
            "recall": self.share(y, d, s.weight),
            "f1": self._estimate(Pooled(w * 2 * (y & d), w * (y.astype(float) + d))),
            "auc": self._estimate(of_order(counts.auc, auc_influence, y.astype(int), s.score[:, j], w)),
            "average_precision": self._estimate(
                of_order(counts.average_precision, average_precision_influence, y.astype(int), s.score[:, j], w)
            ),
        }
        row: dict[str, Any] = {"system": name, "label": self.data.labels[j], "n": int(y.sum())}
        row |= {
            "tp": int((y & d).sum()),
            "fp": int((~y & d).sum()),
            "fn": int((y & ~d).sum()),
            "tn": int((~y & ~d).sum()),
        }
        for metric, e in found.items():
            row |= {metric: e.value, f"{metric}_low": e.low, f"{metric}_high": e.high}
        return row

    def _estimate(self, found: inference.Found) -> Estimate:
        return inference.estimate(found, self.unit, level=self.settings.level, low=0.0, high=1.0)

    @cached_property
    def tables(self) -> list[tuple[str, Counts]]:
        """The leader's table of each label that has a curve, the most frequent eight."""
        found = list(
            zip(self.data.labels, labels.score_counts(self.data.actual, self.data.score[self.leader]), strict=True)
        )
        drawn = [(name, c) for name, c in found if 0 < c.positives < c.total]
        kept = {name for name, _ in sorted(drawn, key=lambda one: -one[1].positives)[:DRAWN]}
        return [(name, c) for name, c in drawn if name in kept]

    def curve(self, kind: str) -> pd.DataFrame:
        """The leader's curve of every label: x, y and the label as `system`."""
        made = {"roc": curves.roc_curve, "pr": curves.precision_recall_curve}[kind]
        found = []
        for name, table in self.tables:
            one = made(curves.thin(table, POINTS))
            found.append(pd.DataFrame({"system": name, "x": one.x, "y": one.y}))
        return pd.concat(found, ignore_index=True)

    @cached_property
    def sweep(self) -> pd.DataFrame:
        """The leader's micro and macro metrics along one threshold for all labels, with limits."""
        score = self.data.score[self.leader]
        rows = []
        for t in np.quantile(score, np.linspace(0, 1, STEPS)):
            s = Labelled(self.data.actual, score, float(t), self.data.weight)
            for metric in SWEPT:
                e = self._estimate(catalogue.find(metric, "labels").values(s))
                rows.append({"system": metric, "x": float(t), "y": e.value, "low": e.low, "high": e.high})
        return pd.DataFrame(rows)

    @cached_property
    def tops(self) -> pd.DataFrame:
        """How often the label with the highest score is true, of every system."""
        rows = []
        for name in self.order:
            s = self.labelled[name]
            best = s.score.argmax(axis=1)
            hit = s.actual[np.arange(len(best)), best]
            e = self.share(np.ones(len(best), dtype=bool), hit, s.weight)
            rows.append({"system": name, "value": e.value, "low": e.low, "high": e.high})
        return pd.DataFrame(rows)


def make(
    data: MultiLabel, metrics: Any, threshold: Any, given: Mapping[str, Any], shared: Mapping[str, Any]
) -> MultiLabelStudy:
    """The study, its parameters checked."""
    s = study.settings("labels", metrics, usual=METRICS, **shared)
    study.check_systems(s, data.rows.systems)
    fits = all(outcomes.are_probabilities(score) for score in data.score.values())
    at = parameters.number("threshold", threshold)
    if at is None and not fits:
        raise ParameterError("threshold: scores outside 0 to 1 have no usual threshold; set threshold to a number")
    at = 0.5 if at is None else at
    return MultiLabelStudy(s, data.rows.systems, attributes_of(data.rows, s.attributes), given, data, at)

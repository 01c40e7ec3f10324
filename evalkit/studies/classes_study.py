"""What the study of several classes tells, whether its rows are in memory or were read shard by shard."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue import lookup
from evalkit.catalogue.binary import AVERAGE_PRECISION, F1, ROC_AUC
from evalkit.catalogue.kinds import Share
from evalkit.catalogue.metric import Metric
from evalkit.catalogue.multiclass import against_rest
from evalkit.limits import Limits
from evalkit.metrics import calibration, cells, labels
from evalkit.metrics.counts import Counts
from evalkit.metrics.labels import Confusion
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.reading.tables.slices import Slice
from evalkit.statistics import calibration_test, count_bootstrap, inference
from evalkit.statistics.calibration_test import UNKNOWN, Perfect
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.statistic import Statistic
from evalkit.studies import curve_points, reliability, study
from evalkit.studies.binary import BINS
from evalkit.studies.one_by_one import EachStudy
from evalkit.studies.reliability import Reliability
from evalkit.studies.row_study import with_limits
from evalkit.studies.study import Settings

METRICS = ("accuracy", "macro_f1", "mcc", "roc_auc_ovr", "log_loss", "brier")
TARGET = 0.9
TOPS = (1, 2, 3, 5)
PAIRS = 10  # mistakes of a table
CONFUSED = ["actual", "predicted", "n", "share", "low", "high", "of_errors"]
SHARE = Metric("number", "rows", Share(lambda member, hit: (member, hit)), "", "", "")
Of = Callable[[Rows], Bools]  # which of the rows


@dataclass(frozen=True, eq=False, repr=False)
class ClassesStudy(EachStudy):
    """The study of a multi-class table; the units are rows, or the unit that was named."""

    noun: ClassVar[str] = "class"
    sides: ClassVar[tuple[str, str]] = ("rows of the class", "other rows")

    target: float

    # What the rows tell

    @property
    @abstractmethod
    def classes(self) -> tuple[str, ...]:
        """All classes, in order."""

    @property
    @abstractmethod
    def scored(self) -> bool:
        """Whether there are scores for the classes."""

    @abstractmethod
    def sizes_in(self, part: Slice) -> Ints:
        """The rows of each class in a slice."""

    @abstractmethod
    def said(self, name: str) -> Ints:
        """The rows for which a system predicts each class."""

    @abstractmethod
    def confusion(self, name: str) -> Confusion:
        """The rows, or their weight, by actual and by predicted class."""

    @abstractmethod
    def derived(self, metric: Metric, name: str, change: Callable[[Rows], Rows]) -> Statistic:
        """A metric of the rows of a system with other things in the place of what is and is said."""

    @abstractmethod
    def of_class(self, metric: Metric, name: str, c: int) -> Statistic:
        """A metric of the scores of a class against the rest."""

    @property
    @abstractmethod
    def top_label(self) -> dict[str, Counts]:
        """Right or wrong by the score of the predicted class, of every system."""

    @property
    @abstractmethod
    def lower(self) -> dict[str, int]:
        """Rows whose predicted class does not have the highest score, of every system with scores."""

    @property
    @abstractmethod
    def off(self) -> dict[str, float]:
        """By how much the scores of a row are off from adding up to 1 at most, of every system with scores."""

    # What follows

    @property
    def names(self) -> Sequence[str]:
        """All classes."""
        return self.classes

    @property
    def shares(self) -> Floats:
        """The share of every class in the rows, or in their weight."""
        weight = self.confusion(self.systems[0]).table.sum(axis=1)
        return weight / weight.sum()

    def share_of(self, name: str, member: Of, hit: Of) -> Estimate:
        """Hits among some of the rows of a system, with limits."""

        def change(rows: Rows) -> Rows:
            return Rows(member(rows), decision=hit(rows), weight=rows.weight, unit=rows.unit)

        of = self.derived(SHARE, name, change)
        return inference.estimate(of, self.inference_options(1))

    @cached_property
    def by_class(self) -> pd.DataFrame:
        """Rows, predictions, precision, recall, F1 of every class and system; with scores AUC, average precision."""
        sizes, rows = self.sizes.tolist(), []
        for name in self.order:
            for c, (n, predicted) in enumerate(zip(sizes, self.said(name).tolist(), strict=True)):
                row = {"system": name, "class": self.classes[c], "n": n, "predicted": predicted}
                rows.append(row | self._class(name, c))
        return pd.DataFrame(rows)

    def _class(self, name: str, c: int) -> dict[str, float]:
        actual, said = _are(c), _called(c)
        estimates = {"precision": self.share_of(name, said, actual), "recall": self.share_of(name, actual, said)}
        of = {"f1": self.derived(F1, name, lambda rows: against_rest(rows, c))}
        if self.scored:
            of |= {"auc": self.of_class(ROC_AUC, name, c)}
            of |= {"average_precision": self.of_class(AVERAGE_PRECISION, name, c)}
        estimates |= {metric: inference.estimate(one, self.inference_options(1)) for metric, one in of.items()}
        return with_limits(estimates)

    # Pictures' data

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
    def confused(self) -> pd.DataFrame:
        """The leader's most frequent mistakes: actual, predicted, rows, share of the actual class with limits."""
        table = np.array(self.confusion(self.leader).table)
        np.fill_diagonal(table, 0)
        order = np.argsort(-table, axis=None, kind="stable")[:PAIRS]
        pairs = [divmod(int(place), len(table)) for place in order if table.flat[place] > 0]
        return pd.DataFrame([self._pair(*pair, table) for pair in pairs], columns=CONFUSED)

    def _pair(self, actual: int, predicted: int, table: np.ndarray) -> dict[str, Any]:
        e = self.share_of(self.leader, _are(actual), _called(predicted))
        names = {"actual": self.classes[actual], "predicted": self.classes[predicted]}
        of_errors = float(table[actual, predicted] / table.sum())
        sides = {"n": table[actual, predicted].item(), "share": e.value, "low": e.low, "high": e.high}
        return names | sides | {"of_errors": of_errors}

    @cached_property
    def covered(self) -> pd.DataFrame:
        """Share of rows predicted into classes whose precision reaches the target, of every system, with limits."""
        return pd.DataFrame([self._covered(name) for name in self.order])

    def _covered(self, name: str) -> dict[str, Any]:
        table = self.confusion(name)
        value = labels.coverage(table, self.target)
        enough = labels.coverage_by_class(table, self.target) > 0
        names = [label for label, ok in zip(self.classes, enough, strict=True) if ok]

        def chosen(rows: Rows) -> Bools:
            return enough[rows.predicted]

        e = self.share_of(name, lambda rows: np.ones(len(rows), dtype=bool), chosen)
        right = self.share_of(name, chosen, lambda rows: rows.actual == rows.predicted)
        row = {"system": name, "coverage": value, "low": e.low, "high": e.high, "classes": ", ".join(names)}
        return row | {"right": right.value, "right_low": right.low, "right_high": right.high}

    @cached_property
    def tops(self) -> pd.DataFrame:
        """How often the actual class is among the k highest scores."""
        rows = []
        for name in self.order:
            for k in (k for k in TOPS if k <= len(self.classes)):
                e = self.estimate(lookup.find(f"top@{k}", "classes"), name)
                rows.append({"system": name, "k": k, "value": e.value, "low": e.low, "high": e.high})
        return pd.DataFrame(rows)

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


def _are(c: int) -> Of:
    """The rows of a class."""
    return lambda rows: rows.actual == c


def _called(c: int) -> Of:
    """The rows for which a class is predicted."""
    return lambda rows: rows.predicted == c


def asked(p: Classification, limits: Limits, *, scored: bool, outside: str) -> Settings:
    """What the parameters ask. outside: says of a score that is no probability what and where it is, else ""."""
    columns = dict.fromkeys(("scores", "probabilities"), "p_<class> columns, the table has none")
    lacks = ({"probabilities": f"probabilities, {outside}"} if outside else {}) if scored else columns
    chosen = lookup.possible(p.metrics, "classes", METRICS, lacks)
    return study.settings(p, chosen, unit=p.unit, segments=p.segments, limits=limits)

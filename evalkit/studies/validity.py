"""What is asked of an offline evaluation: its metrics with honest intervals, its folds, what leaks, the verdict.

Where the rows are, its two subclasses know: `validity_rows` and `validity_sums`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.catalogue.lookup import Chosen
from evalkit.drawing.shown import Shown
from evalkit.findings import splits as kinds
from evalkit.findings.finding import SEVERE, WARNING, Finding
from evalkit.metrics.rows import Rows
from evalkit.reading.tables.parts import Source
from evalkit.statistics import inference
from evalkit.statistics.folds import cochran, nadeau_bengio
from evalkit.statistics.intervals import Estimate, mean_t, mover
from evalkit.statistics.significance import adjust, holm, paired_t, verdict
from evalkit.statistics.statistic import OfRows
from evalkit.studies import checks
from evalkit.studies.checks import Check
from evalkit.studies.resplits import Resplits
from evalkit.studies.study import Study
from evalkit.studies.validity_facts import Facts, Features, Split

if TYPE_CHECKING:
    pass

FEW = 50  # rows tested, below which no interval is worth much
UNLIKE = 0.001  # folds differ by more than this chance
FEW_POOLED = 1000  # rows tested, below which what is pooled depends on the folds' models more than its test knows
POOLED = "pooled out of fold"
HELD_OUT = "on the test rows"
REPEATED = "pooled out of fold, ids with all their repeats"
CORRECTED = "mean of folds, Nadeau–Bengio"
NAIVE = "mean of folds, t as if folds were a sample"
BY_ROW = "pooled, as if rows of a group were a sample"
BY_REPEAT = "pooled, as if each repeat of an id were another row"
OUTSIDE = "selected anew, on all rows"
INSIDE = "selected anew, in each fold"


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Shown, Study):
    """The study of a split.

    described: the estimators that are fitted here, of predictions none. threshold: where scores that were given become
    class 1.
    """

    report: ClassVar[str] = "validation"

    described: tuple[str, ...]
    threshold: float | None

    # What the rows tell

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """What the page says of the rows."""

    @property
    @abstractmethod
    def split(self) -> Split:
        """The folds."""

    @abstractmethod
    def fold_value(self, chosen: Chosen, system: str, fold: int) -> float:
        """A metric of a system on the test rows of a fold, by its number."""

    @abstractmethod
    def fold_label(self, fold: int) -> float:
        """The mean of the label on the test rows of a fold."""

    @abstractmethod
    def on_train(self, system: str, fold: int) -> float | None:
        """The first metric of a system on the training rows of a fold; None where there are no predictions on them."""

    @abstractmethod
    def of_training(self) -> Estimate | None:
        """The first metric of the subject on the training rows of a holdout, with its interval."""

    @abstractmethod
    def of_single_rows(self) -> Estimate:
        """The first metric of the subject with its interval as if every row varied by itself."""

    @abstractmethod
    def spread_of_folds(self) -> tuple[Floats, Floats, float]:
        """The first metric of the subject on each fold, 1 / variance, and from how many units the variance is known.

        Of repeats the first alone counts, as the folds of another hold the same ids. The folds' variances are pooled,
        each by its size: a fold's own goes with its value, so that Q would be too large.
        """

    @property
    @abstractmethod
    def findings(self) -> tuple[Finding, ...]:
        """Every finding of the audit and of the folds' scores, severe ones first."""

    @abstractmethod
    def examples_of(self, finding: Finding, most: int) -> list[str]:
        """The first rows of a finding, by their ids or numbers."""

    @property
    @abstractmethod
    def axis(self) -> str:
        """What the map lays the folds along: time, group or row; empty where there is no map."""

    @abstractmethod
    def stretches(self, bins: int) -> pd.DataFrame:
        """Neighbouring parts of the axis, at most so many, of one kind, fold by fold: fold, kind, start, width."""

    @property
    def fitted(self) -> bool:
        """True if estimators are fitted here."""
        return bool(self.described)

    @property
    def binned(self) -> Mapping[str, tuple[float, float]]:
        """Systems whose scores share bins: powers of ten above what that moves AUC of all rows, and of a fold."""
        return {}

    @property
    def features(self) -> Features | None:
        """The columns that estimators are fitted on; None of predictions."""
        return None

    @property
    def other(self) -> Resplits | None:
        """The fits on other splits; None of predictions."""
        return None

    @property
    def selection(self) -> pd.DataFrame:
        """The subject with its columns as given, and with as many selected anew; no row without a selection."""
        return pd.DataFrame()

    @property
    def selected(self) -> tuple[int, int]:
        """The columns that were selected, and how many there were to select from."""
        return 0, 0

    # What follows

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.facts.sources

    @property
    def unit_name(self) -> str:
        """What varies from sample to sample: the group where there is one, the id that is repeated, else the row."""
        return self.settings.unit or "row"

    @property
    def holdout(self) -> bool:
        """True if there is one test set, so that nothing is pooled out of fold."""
        return len(self.split.names) == 1

    @property
    def measured_on(self) -> str:
        """What the estimates are of: the test rows of a holdout, or all rows pooled out of fold."""
        return HELD_OUT if self.holdout else REPEATED if self.facts.repeats > 1 else POOLED

    @property
    def row_name(self) -> str:
        """What `distinct` counts: ids where rows are repeated, else rows."""
        return "id" if self.facts.repeats > 1 else "row"

    @property
    def baseline(self) -> str:
        """The system that looks at no feature."""
        return self.systems[-1]

    @property
    def subject(self) -> str:
        """The estimator in question; of predictions the best by the primary metric."""
        if self.fitted:
            return self.systems[0]
        return next(name for name in self.order if name != self.baseline)

    def interval(self, chosen: Chosen, rows: Rows) -> Estimate:
        """The metric of these rows with its interval, over their units where they have any."""
        return inference.estimate(OfRows(chosen, rows), self.inference_options(1))

    # Fold by fold

    @cached_property
    def by_fold(self) -> pd.DataFrame:
        """One row a system and fold: rows on both sides, the label's mean or share of class 1, every metric."""
        rows, split = [], self.split
        for name in self.systems:
            for i, fold in enumerate(split.names):
                sides = {"train": split.train[i], "test": split.test[i]}
                label = self.fold_label(i) if len(self.facts.classes) <= 2 else np.nan
                row = {"system": name, "fold": fold} | sides | {"label": label}
                row |= {chosen.label: self.fold_value(chosen, name, i) for chosen in self.settings.metrics}
                trained = self.on_train(name, i)
                rows.append(row if trained is None else row | {"on_train": trained})
        return pd.DataFrame(rows)

    @cached_property
    def gap(self) -> Floats | None:
        """How much better the subject's primary metric is on each fold's training rows; None without fits."""
        rows = self.by_fold[self.by_fold["system"] == self.subject]
        if "on_train" not in rows:
            return None
        sign = 1 if self.primary.metric.best == "high" else -1
        return sign * (rows["on_train"] - rows[self.primary.label]).to_numpy(float)

    @cached_property
    def training_gap(self) -> Estimate | None:
        """The subject's primary metric on the training rows of a holdout minus on its test rows; None for folds.

        The interval joins those of the two values, whose rows are independent (MOVER).
        """
        train = self.of_training() if self.holdout else None
        return None if train is None else mover(train, self.estimate(self.primary, self.subject))

    def fold_values(self, system: str) -> Floats:
        """The primary metric on each fold."""
        return self.by_fold[self.by_fold["system"] == system][self.primary.label].to_numpy(float)

    @cached_property
    def unlike(self) -> dict[str, float]:
        """Cochran's Q of the subject's primary metric between the folds: Q, degrees of freedom, p.

        Where the variances are not those of a mean of rows, p is that of Welch's F, which allows for what they leave
        open; doi:10.1093/biomet/38.3-4.330.
        """
        every, precise, units = self.spread_of_folds()
        known = np.isfinite(precise)
        return cochran(every[known], precise[known], np.full(int(known.sum()), units))

    @property
    def folds_differ(self) -> bool:
        """Whether the folds differ by clearly more than chance makes them."""
        return self.unlike["p"] < UNLIKE

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """The subject's primary metric with honest and with naive intervals: what, honest, unit and an `Estimate`."""
        values = self.fold_values(self.subject) if self.other is None else self.other.folds
        values = values[~np.isnan(values)]
        every = []
        if values.size > 1:
            train, test = self.split.sides
            corrected = nadeau_bengio(values, train=train, test=test, level=self.settings.level).difference
            every += [self._row(CORRECTED, corrected, "fold", honest=True)]
            every += [self._row(NAIVE, mean_t(values, level=self.settings.level), "fold", honest=False)]
        if self.settings.unit:
            what = BY_ROW if self.settings.unit == "group" else BY_REPEAT
            every.append(self._row(what, self.of_single_rows(), "row", honest=False))
        return pd.DataFrame([self.of_rows, *every])

    @cached_property
    def of_rows(self) -> dict[str, Any]:
        """The first of `intervals`, over rows or units: the one that needs no other splits.

        Where folds are of different kinds, or few rows are scored by their models, how folds vary counts, and not how
        the rows within them do.
        """
        pooled = self.estimate(self.primary, self.subject)
        by_fold = self.folds_differ or (self.few_pooled and not self.primary.decided)
        return self._row(self.measured_on, pooled, self.unit_name, honest=not by_fold)

    @property
    def few_pooled(self) -> bool:
        """Whether so few rows are predicted by several folds' models that the folds decide, and not the rows."""
        return not self.holdout and self.split.distinct < FEW_POOLED

    def _row(self, what: str, e: Estimate, unit: str, *, honest: bool) -> dict[str, Any]:
        low, high = self.primary.metric.low, self.primary.metric.high
        cut = inference.within(e, low, high) if np.isfinite(e.low) else e
        return {"what": what, "unit": unit, "honest": honest} | vars(cut)

    @property
    def answer(self) -> Mapping[str, Any]:
        """The first honest one of `intervals`."""
        if self.of_rows["honest"]:
            return self.of_rows
        honest = self.intervals[self.intervals["honest"]]
        return (honest if len(honest) else self.intervals).iloc[0].to_dict()

    @cached_property
    def paired(self) -> pd.DataFrame:
        """The subject against each other system on the same folds: by fold corrected and naive, and pooled.

        adjusted, verdict, method, n, unit: of the one that decides, which is by fold where few rows are pooled.
        """
        rows = []
        train, test = self.split.sides
        apart = {name: self.fold_values(self.subject) - self.fold_values(name) for name in self.systems}
        apart = {name: d[~np.isnan(d)] for name, d in apart.items() if name != self.subject}
        others = [name for name, d in apart.items() if d.size]
        pooled = [self.compare(self.primary, (self.subject, name)) for name in others]
        by_fold = [nadeau_bengio(apart[name], train=train, test=test, level=self.settings.level) for name in others]
        deciding = adjust(by_fold if self.few_pooled else pooled, holm)
        direction = 1 if self.primary.metric.best == "high" else -1
        for name, nb, c, decides in zip(others, by_fold, pooled, deciding, strict=True):
            d = apart[name]
            row: dict[str, Any] = {"first": self.subject, "second": name, "folds": d.size}
            row |= {"by_fold": nb.difference.value, "low": nb.difference.low, "high": nb.difference.high}
            row |= {"p": nb.p_value, "p_naive": paired_t(d).p_value if d.size > 1 else np.nan}
            row |= {f"pooled{at}": getattr(c.difference, at[1:] or "value") for at in ("", "_low", "_high")}
            word = verdict(decides, margin=self.settings.margin, direction=direction)
            row |= {"p_pooled": c.p_value, "adjusted": decides.adjusted, "verdict": word}
            rows.append(row | {"method": decides.method, "n": decides.difference.n, "unit": decides.unit})
        return pd.DataFrame(rows)

    # What leaks

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Every check that has a meaning here, and what those lack that could not be run."""
        coarse = any(finding.kind is kinds.COARSE for finding in self.findings)
        return checks.of(self.facts.known, self.facts.classes, fitted=self.fitted, holdout=self.holdout, coarse=coarse)

    @property
    def missing_checks(self) -> list[str]:
        """What could not be looked for, and what it needs."""
        return checks.missing(self.checks)

    @property
    def word(self) -> str:
        """fail with a severe finding; pass without a warning where groups, time and copies were checked too.

        Else cannot tell: what was not looked for may be there.
        """
        severities = {finding.severity for finding in self.findings}
        if SEVERE in severities:
            return "fail"
        return "cannot tell" if WARNING in severities or checks.usual(self.checks) else "pass"

    @cached_property
    def gate(self) -> dict[str, Any] | None:
        """The rule that was set and whether it holds, None where none is set."""
        if not self.settings.gate:
            return None
        passed = self.word != "fail" if self.settings.gate == "no severe finding" else self.word == "pass"
        return {"rule": f"the evaluation: {self.settings.gate}", "passed": passed}

"""What is asked of an offline evaluation: its metrics with honest intervals, its folds, what leaks, the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints, ratio
from evalkit.catalogue.lookup import Chosen
from evalkit.drawing.shown import Shown
from evalkit.findings import splits as kinds
from evalkit.findings.finding import NOTE, SEVERE, WARNING, Finding, ordered
from evalkit.metrics.rows import Rows
from evalkit.offline import leakage
from evalkit.offline.fitting import Fit
from evalkit.offline.splits import Folds
from evalkit.reading.inputs.examples import Examples
from evalkit.reading.tables.parts import Source
from evalkit.statistics import inference
from evalkit.statistics.folds import cochran, nadeau_bengio
from evalkit.statistics.intervals import Estimate, mean_t, mover
from evalkit.statistics.significance import adjust, holm, paired_t, verdict
from evalkit.statistics.statistic import OfRows, pooled_variances
from evalkit.studies import checks, units
from evalkit.studies.checks import Check
from evalkit.studies.resplits import Resplits
from evalkit.studies.study import EVERY, Member, Study
from evalkit.studies.units import Listed, Units
from evalkit.studies.words import plural

FEW = 50  # rows tested, below which no interval is worth much
UNLIKE = 0.001  # folds differ by more than this chance
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
    """The study of a split. pooled: system -> its out-of-fold rows, aligned with `rows`, the rows that were tested.

    tests: each fold's name and the places of its test rows in `rows`. fits: system -> its fits of the folds, and refit
    makes those on other splits; of predictions there are none. Where columns were selected, pooled also holds the
    subject with other selections, under OUTSIDE and INSIDE. threshold: where scores that were given become class 1.
    """

    report: ClassVar[str] = "validation"

    examples: Examples
    folds: Folds
    pooled: Mapping[str, Rows]
    rows: Ints
    tests: list[tuple[str, Ints]]
    fits: Mapping[str, list[Fit]]
    described: tuple[str, ...]
    on_training: Mapping[str, Rows] = field(default_factory=dict)
    threshold: float | None = None
    refit: Callable[[], Resplits] | None = None

    @cached_property
    def other(self) -> Resplits | None:
        """The fits on other splits, which are made when something first asks for them; None of predictions."""
        return None if self.refit is None else self.refit()

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.examples.sources

    @property
    def unit_name(self) -> str:
        """What varies from sample to sample: the group where there is one, the id that is repeated, else the row."""
        return self.settings.unit or "row"

    @property
    def holdout(self) -> bool:
        """True if there is one test set, so that nothing is pooled out of fold."""
        return len(self.tests) == 1

    @property
    def measured_on(self) -> str:
        """What the estimates are of: the test rows of a holdout, or all rows pooled out of fold."""
        return HELD_OUT if self.holdout else REPEATED if self.examples.repeats > 1 else POOLED

    @property
    def row_name(self) -> str:
        """What `distinct` counts: ids where rows are repeated, else rows."""
        return "id" if self.examples.repeats > 1 else "row"

    @property
    def distinct(self) -> int:
        """The rows tested, each id counted once however often the folds were drawn."""
        e = self.examples
        return self.rows.size if e.repeats == 1 or e.id is None else np.unique(e.id[self.rows]).size

    @property
    def baseline(self) -> str:
        """The system that looks at no feature."""
        return self.systems[-1]

    @property
    def subject(self) -> str:
        """The estimator in question; of predictions the best by the primary metric."""
        if self.fits:
            return self.systems[0]
        return next(name for name in self.order if name != self.baseline)

    # The metrics, with honest intervals

    def measure(self, chosen: Chosen, system: str, member: Member | Ints = EVERY) -> OfRows:
        """The metric of a system's out-of-fold rows."""
        rows = replace(self.pooled[system], unit=self.unit)
        return OfRows(chosen, rows if member is EVERY else rows.take(member))  # type: ignore[arg-type]

    def units_held(self) -> Units:
        """The rows that were tested, by their ids or else their numbers, each with its fold."""
        e, folds = self.examples, np.zeros(self.rows.size, np.int64)
        for number, (_, at) in enumerate(self.tests):
            folds[at] = number
        cluster = self.attributes[self.settings.unit] if self.settings.unit else None
        id = self.rows + 1 if e.id is None else e.id[self.rows]
        listed = Listed(id, cluster, {"fold": ([name for name, _ in self.tests], folds)})
        labels = e.classes if len(e.classes) > 2 else ()
        rows = {name: self.pooled[name] for name in self.systems}
        return Units(self.rows.size, units.of_rows(rows, self.settings.metrics, listed, labels), ("fold",), labels)

    def interval(self, chosen: Chosen, rows: Rows, unit: np.ndarray | None) -> Estimate:
        """The metric of these rows with its interval over rows, or over whole units."""
        return inference.estimate(OfRows(chosen, replace(rows, unit=unit)), self.inference_options(1))

    # Fold by fold

    @cached_property
    def training(self) -> list[Ints]:
        """The training rows of each of `tests`; none where it is the first of blocks in time."""
        if self.fits:
            return [train for train, _ in self.folds.pairs]
        by_first = {int(test[0]): train for train, test in self.folds.pairs}
        return [by_first.get(int(self.rows[at[0]]), self.rows[:0]) for _, at in self.tests]

    @cached_property
    def by_fold(self) -> pd.DataFrame:
        """One row a system and fold: rows on both sides, the label's mean or share of class 1, every metric."""
        rows = []
        for name in self.systems:
            for i, (fold, at) in enumerate(self.tests):
                rows_tested = self.pooled[name].take(at)
                share = float(rows_tested.actual.mean()) if len(self.examples.classes) <= 2 else np.nan
                row = {
                    "system": name,
                    "fold": fold,
                    "train": self.training[i].size,
                    "test": len(rows_tested),
                    "label": share,
                }
                row |= {chosen.label: chosen.value(rows_tested) for chosen in self.settings.metrics}
                rows.append(row | self._on_train(name, i))
        return pd.DataFrame(rows)

    def _on_train(self, name: str, i: int) -> dict[str, float]:
        side = self.fits[name][i].train if self.fits else self.on_training.get(name)
        return {} if side is None else {"on_train": self.primary.value(side)}

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
        if not self.holdout:
            return None
        side = self.fits[self.subject][0].train if self.fits else self.on_training[self.subject]
        if side is None:
            return None
        group = self.examples.group
        unit = None if group is None else group[self.folds.pairs[0][0]]
        return mover(self.interval(self.primary, side, unit), self.estimate(self.primary, self.subject))

    def fold_values(self, system: str) -> Floats:
        """The primary metric on each fold."""
        return self.by_fold[self.by_fold["system"] == system][self.primary.label].to_numpy(float)

    @cached_property
    def unlike(self) -> dict[str, float]:
        """Cochran's Q of the subject's primary metric between the folds: Q, degrees of freedom, p.

        Of repeats the first alone counts, as the folds of another hold the same ids. The folds' variances are pooled,
        each by its size: a fold's own goes with its value, so that Q would be too large. Where they are not those of a
        mean of rows, p is that of Welch's F, which allows for what they leave open; doi:10.1093/biomet/38.3-4.330.
        """
        tests = self.tests[: len(self.tests) // self.examples.repeats]  # folds of other repeats hold the same ids
        of = self.primary.base  # a transformed metric has the test of its original
        every = [self.measure(of, self.subject, at) for _, at in tests]
        parts = [part for part in every if np.isfinite(part.value)]
        if not parts:
            return cochran([], [], [])
        if self.settings.unit is None and of.metric.kind.of_rows:
            each = [part.sums.take(part.sums.size > 0).per_unit for part in parts]
            weight = ratio([rows.size for rows in each], np.concatenate(each).var(ddof=1))
            units = np.inf
        else:
            variance, units = pooled_variances(parts)
            weight = ratio(1.0, variance)
        known = np.isfinite(weight)
        value = np.array([part.value for part in parts])[known]
        return cochran(value, weight[known], np.full(value.size, units))

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
            train, test = self._sizes()
            corrected = nadeau_bengio(values, train=train, test=test, level=self.settings.level).difference
            every += [self._row(CORRECTED, corrected, "fold", honest=True)]
            every += [self._row(NAIVE, mean_t(values, level=self.settings.level), "fold", honest=False)]
        if self.settings.unit:
            alone = self.interval(self.primary, self.pooled[self.subject], None)
            what = BY_ROW if self.settings.unit == "group" else BY_REPEAT
            every.append(self._row(what, alone, "row", honest=False))
        return pd.DataFrame([self.of_rows, *every])

    @cached_property
    def of_rows(self) -> dict[str, Any]:
        """The first of `intervals`, over rows or units: the one that needs no other splits.

        Where folds are of different kinds, how they vary counts, and not how the rows within them do.
        """
        pooled = self.estimate(self.primary, self.subject)
        return self._row(self.measured_on, pooled, self.unit_name, honest=not self.folds_differ)

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

    def _sizes(self) -> tuple[float, float]:
        sides = [(train.size, test.size) for train, test in self.folds.pairs]
        return float(np.mean([size for size, _ in sides])), float(np.mean([size for _, size in sides]))

    @cached_property
    def paired(self) -> pd.DataFrame:
        """The subject against each other system on the same folds: by fold corrected and naive, and pooled."""
        rows = []
        train, test = self._sizes()
        others = [name for name in self.systems if name != self.subject]
        compared = adjust([self.compare(self.primary, (self.subject, name)) for name in others], holm)
        direction = 1 if self.primary.metric.best == "high" else -1
        for name, c in zip(others, compared, strict=True):
            d = self.fold_values(self.subject) - self.fold_values(name)
            d = d[~np.isnan(d)]
            if not d.size:
                continue
            nb = nadeau_bengio(d, train=train, test=test, level=self.settings.level)
            row: dict[str, Any] = {"first": self.subject, "second": name, "folds": d.size}
            row |= {"by_fold": nb.difference.value, "low": nb.difference.low, "high": nb.difference.high}
            row |= {"p": nb.p_value, "p_naive": paired_t(d).p_value if d.size > 1 else np.nan}
            row |= {f"pooled{at}": getattr(c.difference, at[1:] or "value") for at in ("", "_low", "_high")}
            word = verdict(c, margin=self.settings.margin, direction=direction)
            row |= {"p_pooled": c.p_value, "adjusted": c.adjusted, "verdict": word}
            rows.append(row | {"method": c.method, "n": c.difference.n, "unit": c.unit})
        return pd.DataFrame(rows)

    # What leaks

    @cached_property
    def selection(self) -> pd.DataFrame:
        """The subject with its columns as given, and with as many selected anew on all rows and in each fold.

        Beside each `Estimate` what it lies above INSIDE, p adjusted by Holm and the verdict. No row without a
        selection.
        """
        if INSIDE not in self.pooled:
            return pd.DataFrame()
        direction = 1 if self.primary.metric.best == "high" else -1
        names = [self.subject, OUTSIDE]
        adjusted = adjust([self.compare(self.primary, (name, INSIDE)) for name in names], holm)
        rows = [{"columns": name} | vars(self.estimate(self.primary, name)) for name in [*names, INSIDE]]
        for row, c in zip(rows, adjusted, strict=False):
            row |= {"difference": c.difference.value, "difference_low": c.difference.low}
            row |= {"difference_high": c.difference.high, "adjusted": c.adjusted, "test": c.method}
            row |= {"verdict": verdict(c, direction=direction)}
        return pd.DataFrame(rows)

    def _of_selection(self) -> list[Finding]:
        """Severe where the columns as given, and those selected on all rows, do clearly better than selected inside."""
        if not len(self.selection):
            return []
        assert self.examples.features is not None
        assert self.examples.candidates is not None
        as_read, _, inside = self.selection["value"]
        clear = (self.selection["verdict"][:2] == "better").all()
        of, kept = (table.shape[1] for table in (self.examples.candidates, self.examples.features))
        values, severity = (as_read, inside), SEVERE if clear else NOTE
        return [leakage.selected_outside(self.rows, self.primary.label, (kept, of), values, severity)]

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding of the audit and of the folds' scores, severe ones first."""
        e = self.examples
        listed = list(
            leakage.audit(
                self.folds, rng=self.rng(5), features=e.features, label=e.names, group=e.group, time=e.time, ids=e.id
            )
        )
        listed += self._of_selection()
        listed += [finding for name in self.systems if name != self.baseline for finding in self._of_scores(name)]
        if self.folds_differ:
            label = f"{self.primary.label} of {self.subject}"
            listed.append(leakage.unlike_folds(self.rows, label, self.unlike["q"], self.unlike["freedom"]))
        if self.distinct < FEW:
            listed.append(leakage.few_tested(self.rows, f"{self.distinct} {plural(self.row_name, self.distinct)}"))
        return ordered(listed)

    def _of_scores(self, name: str) -> list[Finding]:
        p = self.pooled[name]
        if p.score is None or len(self.examples.classes) != 2:
            return []
        tests = tuple((self.rows[:0], at) for _, at in self.tests)
        folds = Folds(self.rows.size, tests, "")
        listed = [leakage.score_scale(folds, p.score)]
        if not self.fits:
            listed.append(leakage.score_is_label(p.score, p.actual))
        return [
            replace(finding, message=f"{name}: {finding.message}", rows=tuple(int(self.rows[i]) for i in finding.rows))
            for finding in listed
            if finding
        ]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Every check that has a meaning here, and what those lack that could not be run."""
        coarse = any(finding.kind is kinds.COARSE for finding in self.findings)
        return checks.of(self.examples, fitted=bool(self.fits), holdout=self.holdout, coarse=coarse)

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

"""The study of a split whose rows are in memory: of predictions, or of estimators that are fitted here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints, ratio
from evalkit.catalogue.lookup import Chosen
from evalkit.findings.finding import NOTE, SEVERE, Finding, ordered
from evalkit.metrics.rows import Rows
from evalkit.offline import leakage
from evalkit.offline.fitting import Fit
from evalkit.offline.splits import Folds
from evalkit.reading.inputs.examples import Examples
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.significance import adjust, holm, verdict
from evalkit.statistics.statistic import OfRows, pooled_variances
from evalkit.studies import fold_map, units
from evalkit.studies.diagnostics import ends
from evalkit.studies.resplits import Resplits
from evalkit.studies.study import EVERY, Member
from evalkit.studies.units import Listed, Units
from evalkit.studies.validity import FEW, INSIDE, OUTSIDE, Validation
from evalkit.studies.validity_facts import Facts, Features, Label, Split
from evalkit.studies.words import plural


@dataclass(frozen=True, eq=False, repr=False)
class RowsStudy(Validation):
    """pooled: system -> its out-of-fold rows, aligned with `rows`, the rows that were tested.

    tests: each fold's name and the places of its test rows in `rows`. fits: system -> its fits of the folds, and refit
    makes those on other splits; of predictions there are none. Where columns were selected, pooled also holds the
    subject with other selections, under OUTSIDE and INSIDE.
    """

    examples: Examples
    folds: Folds
    pooled: Mapping[str, Rows]
    rows: Ints
    tests: list[tuple[str, Ints]]
    fits: Mapping[str, list[Fit]]
    on_training: Mapping[str, Rows] = field(default_factory=dict)
    refit: Callable[[], Resplits] | None = None

    @cached_property
    def other(self) -> Resplits | None:
        """The fits on other splits, which are made when something first asks for them; None of predictions."""
        return None if self.refit is None else self.refit()

    @cached_property
    def features(self) -> Features | None:
        """The columns that estimators are fitted on; None of predictions."""
        table = self.examples.features
        if table is None:
            return None
        constant = [str(name) for name in table if table[name].nunique(dropna=False) < 2]
        return Features(table.shape[1], list(table.select_dtypes(exclude="number")), constant)

    @cached_property
    def facts(self) -> Facts:
        """What the page says of the rows."""
        e = self.examples
        sides = ("id", "group", "time", "fold", "features", "candidates")
        times = np.ones(1, np.int64) if e.id is None else np.unique(e.id, return_counts=True)[1]
        return Facts(
            columns=e.columns,
            sources=e.sources,
            read=e.read,
            rows=len(e),
            known=frozenset(name for name in sides if getattr(e, name) is not None),
            classes=e.classes,
            label=_label(e),
            left_out=e.left_out,
            repeats=e.repeats,
            dated=e.dated,
            precision=e.precision,
            ends=ends(e.score),
            per_id=(int(times.min()), int(times.max())),
        )

    @cached_property
    def split(self) -> Split:
        """The folds."""
        e, sides = self.examples, [(train.size, test.size) for train, test in self.folds.pairs]
        once = e.repeats == 1 or e.id is None
        return Split(
            rule=self.folds.rule,
            names=[name for name, _ in self.tests],
            train=[train.size for train in self.training],
            test=[at.size for _, at in self.tests],
            sides=(float(np.mean([size for size, _ in sides])), float(np.mean([size for _, size in sides]))),
            tested=self.rows.size,
            distinct=self.rows.size if once else np.unique(e.id[self.rows]).size,  # type: ignore[index]
        )

    # The metrics

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
        listed = Listed(e.named(self.rows), cluster, {"fold": ([name for name, _ in self.tests], folds)})
        labels = e.classes if len(e.classes) > 2 else ()
        rows = {name: self.pooled[name] for name in self.systems}
        return Units(self.rows.size, units.of_rows(rows, self.settings.metrics, listed, labels), ("fold",), labels)

    def fold_value(self, chosen: Chosen, system: str, fold: int) -> float:
        """A metric of a system on the test rows of a fold, by its number."""
        return chosen.value(self._in_fold[system][fold])

    def fold_label(self, fold: int) -> float:
        """The mean of the label on the test rows of a fold."""
        return float(self._in_fold[self.systems[0]][fold].actual.mean())

    @cached_property
    def _in_fold(self) -> dict[str, list[Rows]]:
        return {name: [self.pooled[name].take(at) for _, at in self.tests] for name in self.systems}

    def on_train(self, system: str, fold: int) -> float | None:
        """The first metric of a system on the training rows of a fold; None where there are no predictions on them."""
        side = self._trained(system, fold)
        return None if side is None else self.primary.value(side)

    def _trained(self, system: str, fold: int) -> Rows | None:
        return self.fits[system][fold].train if self.fits else self.on_training.get(system)

    def of_training(self) -> Estimate | None:
        """The first metric of the subject on the training rows of a holdout, with its interval."""
        side, group = self._trained(self.subject, 0), self.examples.group
        if side is None:
            return None
        return self.interval(self.primary, replace(side, unit=None if group is None else group[self.folds.pairs[0][0]]))

    def of_single_rows(self) -> Estimate:
        """The first metric of the subject with its interval as if every row varied by itself."""
        return self.interval(self.primary, replace(self.pooled[self.subject], unit=None))

    @cached_property
    def training(self) -> list[Ints]:
        """The training rows of each of `tests`; none where it is the first of blocks in time."""
        if self.fits:
            return [train for train, _ in self.folds.pairs]
        by_first = {int(test[0]): train for train, test in self.folds.pairs}
        return [by_first.get(int(self.rows[at[0]]), self.rows[:0]) for _, at in self.tests]

    def spread_of_folds(self) -> tuple[Floats, Floats, float]:
        """The first metric of the subject on each fold, 1 / variance, and from how many units the variance is known."""
        tests = self.tests[: len(self.tests) // self.examples.repeats]  # folds of other repeats hold the same ids
        of = self.primary.base  # a transformed metric has the test of its original
        every = [self.measure(of, self.subject, at) for _, at in tests]
        parts = [part for part in every if np.isfinite(part.value)]
        value = np.array([part.value for part in parts])
        if not parts:
            return value, value, np.inf
        if self.settings.unit is None and of.metric.kind.of_rows:
            each = [part.sums.take(part.sums.size > 0).per_unit for part in parts]
            return value, ratio([rows.size for rows in each], np.concatenate(each).var(ddof=1)), np.inf
        variance, units = pooled_variances(parts)
        return value, ratio(1.0, variance), units

    # The map

    @property
    def axis(self) -> str:
        """What the map lays the folds along: time, group or row."""
        return "time" if self.examples.time is not None else "row" if self.examples.group is None else "group"

    def stretches(self, bins: int) -> pd.DataFrame:
        """Neighbouring parts of the axis, at most so many, of one kind, fold by fold: fold, kind, start, width."""
        e = self.examples
        sides = [(name, self.rows[at], train) for (name, at), train in zip(self.tests, self.training, strict=True)]
        place = fold_map.places(len(e), e.time, e.group, [test for _, test, _ in sides])
        return fold_map.of_rows(place, sides, bins, axis=self.axis)

    # What leaks

    @property
    def selected(self) -> tuple[int, int]:
        """The columns that were selected, and how many there were to select from."""
        assert self.examples.features is not None
        assert self.examples.candidates is not None
        return self.examples.features.shape[1], self.examples.candidates.shape[1]

    def examples_of(self, finding: Finding, most: int) -> list[str]:
        """The first rows of a finding, by their ids or numbers."""
        names = self.examples.named(np.array(finding.rows[:most], np.int64)).tolist()
        return [f"row {name}" if self.examples.id is None else str(name) for name in names]

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
        as_read, _, inside = self.selection["value"]
        clear = (self.selection["verdict"][:2] == "better").all()
        values, severity = (as_read, inside), SEVERE if clear else NOTE
        return [leakage.selected_outside(self.rows, self.primary.label, self.selected, values, severity)]

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
        if self.split.distinct < FEW:
            n = self.split.distinct
            listed.append(leakage.few_tested(self.rows, f"{n} {plural(self.row_name, n)}"))
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


def _label(e: Examples) -> Label:
    rows = np.bincount(e.label.astype(np.int64)).tolist() if e.classes else []
    classes = dict(zip(e.classes, rows, strict=True))
    return Label(classes, float(e.label.min()), float(e.label.max()), float(e.label.mean()))

"""The study of out-of-fold predictions that were read shard by shard, whatever the label is.

What scores of classes and forecasts of numbers are measured by, its two subclasses know: `validity_scores` and
`validity_forecasts`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.catalogue.lookup import Chosen
from evalkit.findings.finding import Finding, ordered
from evalkit.metrics.rows import Rows, Shard
from evalkit.offline import leakage
from evalkit.reading.inputs import aligned
from evalkit.reading.reductions import fold_ids
from evalkit.reading.reductions.folds import LargeFolds
from evalkit.reading.reductions.rereading import Rereading
from evalkit.reading.reductions.shards import Segment
from evalkit.statistics import inference
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.sample import Sample
from evalkit.statistics.statistic import Statistic
from evalkit.studies import units
from evalkit.studies.fold_cells import Audit, Laid
from evalkit.studies.study import EVERY, Member, Settings
from evalkit.studies.units import Block, Listed, Units
from evalkit.studies.validity import FEW, Validation
from evalkit.studies.validity_facts import Facts, Label, Split
from evalkit.studies.words import plural

LEAST_BINS = 2**10  # of a fold, however many folds there are


@dataclass(frozen=True, eq=False)
class Beside:
    """What `function` makes of a shard with one more system, the baseline: its score follows from the fold alone."""

    score: Floats
    function: Any

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        own = self.score[shard.slice[0]] if shard.slice else np.full(len(shard.label), self.score[0])
        return self.function(replace(shard, score=[*shard.score, own]))


@dataclass(frozen=True, eq=False)
class Sampled:
    """What is measured: the test rows with their folds as groups 1, 2, …, or one test set as group 0.

    alone: the same rows as if each varied by itself; None where they do. training: of a holdout.
    """

    tests: Sample
    alone: Sample | None
    training: Sample | None


@dataclass(frozen=True, eq=False, repr=False)
class SumsStudy(Validation):
    """The study of predictions that were added up.

    labels: the mean label of each fold. guessed: what the baseline says there.
    """

    known: Facts
    folds: Split
    audited: Audit
    sampled: Sampled
    labels: Sequence[float]
    laid: Laid
    guessed: Floats

    @property
    def facts(self) -> Facts:
        """What the page says of the rows."""
        return self.known

    @property
    def split(self) -> Split:
        """The folds."""
        return self.folds

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> Statistic:
        """The metric of a system's out-of-fold rows, or of those of a fold, by its group."""
        return self.sampled.tests.measure(chosen, system, member)

    def units_held(self) -> Units:
        """The rows that were tested, each with its fold; one shard is in memory at once."""
        return Units(self.split.tested, self._blocks(), ("fold",))

    def _blocks(self) -> Iterator[Block]:
        cells, fold = self.laid.t.cells, np.full(len(self.laid.t.cells.text), -1)
        fold[self.laid.tests] = np.arange(len(self.laid.tests))
        plan = replace(self.laid.t.plan, segments=(Segment(cells.text, np.arange(len(cells.text))),))
        for named in Rereading(replace(self.laid.t, plan=plan), int(cells.rows.sum())).shards():
            of = fold[named.shard.slice[0]]
            tested = np.flatnonzero(of >= 0)
            listed = Listed(named.id, named.unit, {"fold": (self.split.names, of)}).take(tested)
            shard = replace(named.shard.at(tested), slice=[of[tested]])
            yield from units.of_rows(Beside(self.guessed, self.rows_of)(shard), self.settings.metrics, listed)

    @abstractmethod
    def rows_of(self, shard: Shard) -> Mapping[str, Rows]:
        """The rows of each system, the baseline last."""

    def in_fold(self, chosen: Chosen, system: str, fold: int) -> Any:
        """The metric of a system on the test rows of a fold."""
        return self.measure(chosen, system, EVERY if self.holdout else fold + 1)

    def fold_value(self, chosen: Chosen, system: str, fold: int) -> float:
        """A metric of a system on the test rows of a fold, by its number."""
        return float(self.in_fold(chosen, system, fold).value)

    def fold_label(self, fold: int) -> float:
        """The mean of the label on the test rows of a fold."""
        return self.labels[fold]

    def on_train(self, system: str, fold: int) -> float | None:
        """The first metric of a system on the training rows of a holdout; None of folds."""
        side: Any = self._on_training(system)
        return None if side is None else float(side.value)

    def _on_training(self, system: str) -> Statistic | None:
        side = self.sampled.training
        return None if side is None else side.measure(self.primary, system, EVERY)

    def of_training(self) -> Estimate | None:
        """The first metric of the subject on the training rows of a holdout, with its interval."""
        side = self._on_training(self.subject)
        return None if side is None else inference.estimate(side, self.inference_options(1))

    def of_single_rows(self) -> Estimate:
        """The first metric of the subject with its interval as if every row varied by itself."""
        sample = self.sampled.alone or self.sampled.tests
        return inference.estimate(sample.measure(self.primary, self.subject, EVERY), self.inference_options(1))

    def spread_of_folds(self) -> tuple[Floats, Floats, float]:
        """The first metric of the subject on each fold, 1 / variance, and from how many units the variance is known."""
        folds = range(len(self.split.names) // self.facts.repeats)  # those of other repeats hold the same ids
        every = [self.in_fold(self.primary.base, self.subject, fold) for fold in folds]
        parts = [part for part in every if np.isfinite(part.value)]
        value = np.array([part.value for part in parts])
        return (value, *self.precise(parts)) if parts else (value, value, np.inf)

    @abstractmethod
    def precise(self, parts: Sequence[Any]) -> tuple[Floats, float]:
        """1 / variance of one metric on parts of like rows, and from how many units the variance is known."""

    @property
    def axis(self) -> str:
        """What the map lays the folds along: time or group; empty where there is neither."""
        return self.audited.axis

    def stretches(self, bins: int) -> pd.DataFrame:
        """Neighbouring parts of the axis of one kind, fold by fold: fold, kind, start, width."""
        return self.audited.map

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding of the audit and of the folds' scores, severe ones first."""
        listed, n = [*self.audited.findings, *self.of_scores()], self.split.tested
        if self.folds_differ:
            label, nothing = f"{self.primary.label} of {self.subject}", np.empty(0, np.int64)
            differ = leakage.unlike_folds(nothing, label, self.unlike["q"], self.unlike["freedom"])
            listed.append(replace(differ, count=n, of=n))
        if (distinct := self.split.distinct) < FEW:
            few = leakage.few_tested(np.empty(0, np.int64), f"{distinct} {plural(self.row_name, distinct)}")
            listed.append(replace(few, count=n, of=n))
        return ordered(listed)

    def of_scores(self) -> list[Finding]:
        """What is found of the scores of each system."""
        return []

    def examples_of(self, finding: Finding, most: int) -> list[str]:
        """The first ids, groups or folds of a finding."""
        return self.audited.named.get(finding.kind, [])[:most]


# Reading --------------------------------------------------------------------------------------------------------------


def facts_of(laid: Laid, label: Label) -> Facts:
    """What the page says of the rows."""
    t = laid.t
    per_id = fold_ids.times_of_ids(t)[1:] if laid.column.repeats > 1 else (1, 1)
    return Facts(
        columns=aligned.printed(t.layout),
        sources=t.sources(),
        read=sum(t.counts),
        rows=int(t.cells.rows.sum()),
        known=frozenset(role for role in ("id", "group", "time", "fold") if t.has(role)),
        classes=t.classes,
        label=label,
        left_out=laid.left_out,
        repeats=laid.column.repeats,
        dated=laid.times is not None and laid.times.dated,
        precision=t.precision,
        ends=t.ends,
        per_id=per_id,
    )


def tested(laid: Laid) -> LargeFolds:
    """The test rows, with the folds as their groups where there are several."""
    t = laid.at(laid.tests)
    if laid.column.holdout:
        return t
    texts = tuple(laid.t.cells.text[cell] for cell in laid.tests)
    return replace(t, plan=replace(t.plan, segments=(Segment(texts, np.arange(len(texts))),)))


def by_row(t: LargeFolds) -> LargeFolds:
    """The same rows as if each varied by itself."""
    return replace(t, plan=replace(t.plan, unit=False, units=None))


def training(laid: Laid) -> LargeFolds:
    """The training rows of a holdout."""
    return laid.at(laid.column.folds.pairs[0][0])


def bins_of_fold(settings: Settings, folds: int) -> int:
    """The bins of a fold: fewer, the more folds there are."""
    limits = settings.limits
    return max(LEAST_BINS, min(limits.slice_bins, limits.bins // (2 * max(folds, 1))))

"""The study of out-of-fold scores of two classes from two readings of rows that need not fit into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints, ParameterError, ratio
from evalkit.catalogue.lookup import Chosen
from evalkit.findings import splits as kinds
from evalkit.findings.finding import WARNING, Finding
from evalkit.metrics import counts, grid
from evalkit.metrics.grid import Grid
from evalkit.metrics.rows import Rows, Shard
from evalkit.offline import giveaways, leakage
from evalkit.reading.reductions import tabled
from evalkit.reading.reductions.folds import LargeFolds
from evalkit.reading.tables import precision
from evalkit.statistics import of_folds, passes
from evalkit.statistics.binned_scores import BinnedScore, columns
from evalkit.statistics.of_sums import SummedRows
from evalkit.statistics.passes import First, Second
from evalkit.statistics.statistic import Layout
from evalkit.studies import validity_sums
from evalkit.studies.classification_diagnostics import power_of_ten
from evalkit.studies.fold_cells import Laid, audit
from evalkit.studies.study import Settings
from evalkit.studies.validity_facts import Label
from evalkit.studies.validity_sums import Beside, Sampled, SumsStudy

HALF = float(np.nextafter(0.5, 1))  # the baseline decides for class 1 where more than half of the others are of it


@dataclass(frozen=True, eq=False, repr=False)
class ScoresStudy(SumsStudy):
    """The study of scores of two classes."""

    @property
    def counted(self) -> Sequence[Mapping[str, BinnedScore]]:
        """The table of each system, of all test rows and of each fold."""
        sample: Any = self.sampled.tests
        return sample.tables

    @property
    def binned(self) -> dict[str, tuple[float, float]]:
        """Systems whose scores share bins: powers of ten above what that moves AUC of all rows, and of a fold."""
        widths = {}
        for name in self.facts.ends:
            each = [grid.auc_width(of[name].counts, grid.spread(of[name].bins)) for of in self.counted]
            if any(each):
                widths[name] = power_of_ten(each[0]), power_of_ten(max(each))
        return widths

    def rows_of(self, shard: Shard) -> dict[str, Rows]:
        """The scores of each system with its threshold."""
        label, cuts = shard.label.astype(np.int64), self.counted[0]
        each = zip(self.systems, shard.score, strict=True)
        return {name: Rows(label, score, cuts[name].threshold) for name, score in each}

    def precise(self, parts: Sequence[Any]) -> tuple[Floats, float]:
        """1 / variance of one metric on parts of like rows, and from how many units the variance is known."""
        kind: Any = parts[0].chosen.metric.kind
        if self.settings.unit is None and kind.of_rows:
            return of_folds.alike(self.measure(self.primary.base, self.subject), parts), np.inf
        variance, units = of_folds.variances(parts)
        return ratio(1.0, variance), units

    def of_scores(self) -> list[Finding]:
        """Scores on other scales in other folds, and scores that copy the label."""
        every = []
        for name in self.facts.ends:
            listed = [None if self.holdout else self._scale(name), _gives_away(self.counted[0][name])]
            every += [replace(finding, message=f"{name}: {finding.message}") for finding in listed if finding]
        return every

    def _scale(self, name: str) -> Finding | None:
        whole, *parts = (tables[name].counts for tables in self.counted)
        size = np.array([part.total for part in parts], np.int64)
        rank, variance = of_folds.mean_ranks([tables[name].bins for tables in self.counted])
        text = leakage.unlike_scales(size, rank, variance)
        n = int(whole.total)
        return Finding(kinds.SCORE_SCALE, WARNING, text, n, n) if text else None


def _gives_away(t: BinnedScore) -> Finding | None:
    """A score that separates the classes without error."""
    c = t.counts
    mixed = (c.positive > 0) & (c.negative > 0)
    if len(c.threshold) < 2 or mixed.any() or counts.auc(c) not in (0.0, 1.0):
        return None
    same = len(c.threshold) == 2 and not grid.spread(t.bins).any()
    return giveaways.gives_away(int(c.total), same=same)


# Two readings ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ask:
    """What is read of each system. cuts: its threshold. baseline: the score of the baseline in each fold."""

    settings: Settings
    systems: tuple[str, ...]
    cuts: Sequence[float]
    baseline: Floats

    def tables(self, t: LargeFolds) -> list[dict[str, BinnedScore]]:
        """The first reading: the table of each system in all rows and in each fold."""
        limits, folds = self.settings.limits, len(self.baseline)
        own = len(self.systems) - 1
        first = First(own, self.cuts[:-1], limits.bins, validity_sums.bins_of_fold(self.settings, folds))
        binned = t.reduce(first, first.merge, by_unit=False)
        rows, _, twice, differ = map(int, passes.facts(binned))
        if twice or differ or rows != int(t.cells.rows.sum()):
            raise tabled.changed(t.name)
        groups: dict[int, dict[str, BinnedScore]] = {}
        for key, bins in sorted(first.bins(binned).items()):
            group, system = divmod(key, own)
            name = self.systems[system]
            groups.setdefault(group, {})[name] = BinnedScore(name, bins, 1.0, self.cuts[system])
        return self._with_baseline([groups[group] for group in sorted(groups)])

    def _with_baseline(self, groups: list[dict[str, BinnedScore]]) -> list[dict[str, BinnedScore]]:
        name, cut = self.systems[-1], self.cuts[-1]
        each = [next(iter(tables.values())).counts for tables in (groups[1:] or groups)]
        one = [_constant(score, c, cut) for score, c in zip(self.baseline, each, strict=True)]
        bins = [grid.merge(one), *one] if groups[1:] else one
        return [tables | {name: BinnedScore(name, g, 1.0, cut)} for tables, g in zip(groups, bins, strict=True)]

    def sample(self, t: LargeFolds, tables: list[dict[str, BinnedScore]], metrics: Sequence[Chosen]) -> SummedRows:
        """The second reading: sums of what moves the metrics, of folds those that their own values need."""
        few = [self.settings.metrics[0].base]
        few += [chosen for chosen in metrics if chosen.base.metric.kind.centred]
        wanted = [metrics, *([few] * (len(tables) - 1))]
        models = {
            group: [columns(table, some) for table in of.values()]
            for group, (of, some) in enumerate(zip(tables, wanted, strict=True))
        }
        second = Second(None, bool(t.plan.units), models)
        reading = Beside(self.baseline, second)
        moments = second.moments(t.reduce(reading, second.merge, by_unit=True))
        return SummedRows(tables, moments, Layout.SUMMED_VARIED if t.plan.unit else Layout.SUMMED)


def _constant(score: float, c: counts.Counts, cut: float) -> Grid:
    """The bins of rows that all have one score."""
    code, at = grid.codes(np.array([score, cut]))
    low, positive, negative = (np.array([n], np.int64) for n in (code, c.positives, c.negatives))
    return Grid(0, low, low, positive, negative, int(at))


def study_of(
    laid: Laid, settings: Settings, given: Mapping[str, Any], *, baseline: str, threshold: float
) -> ScoresStudy:
    """The study of a table that is read twice. Raises ParameterError for a metric that needs the rows themselves."""
    for chosen in settings.metrics:
        if not chosen.base.metric.tabled:
            raise ParameterError(f"metrics: {chosen.label} needs all rows in memory, got {laid.t.rows:,} rows")
    systems = (*laid.t.systems, baseline)
    cuts = [precision.rounded(threshold, laid.t.precision[name]) for name in laid.t.systems]
    ask = Ask(settings, systems, (*cuts, HALF), shares(laid.t.cells.of_label, laid.column.folds.pairs))
    t = validity_sums.tested(laid)
    tables = ask.tables(t)
    tests = ask.sample(t, tables, settings.metrics)
    first = settings.metrics[:1]
    alone = ask.sample(validity_sums.by_row(t), tables[:1], first) if t.plan.unit else None
    train = validity_sums.training(laid) if laid.column.holdout else None
    on_training = None if train is None else ask.sample(train, ask.tables(train), first)
    split, rows = laid.split(), laid.t.cells.of_label.sum(axis=0)
    label = Label(dict(zip(laid.t.classes, rows.tolist(), strict=True)), 0.0, 1.0, float(rows[1] / rows.sum()))
    of_fold = [laid.t.cells.of_label[cell] for cell in laid.tests]
    return ScoresStudy(
        settings=settings,
        systems=systems,
        attributes={},
        given=given,
        described=(),
        threshold=threshold,
        known=validity_sums.facts_of(laid, label),
        folds=split,
        audited=audit(laid),
        sampled=Sampled(tests, alone, on_training),
        labels=[float(some[1] / some.sum()) for some in of_fold],
        laid=laid,
        guessed=ask.baseline,
    )


def shares(of_label: Ints, pairs: Sequence[tuple[Ints, Ints]]) -> Floats:
    """The share of class 1 among the training rows of each fold."""
    train = [of_label[side].sum(axis=0) for side, _ in pairs]
    return np.array([rows[1] / rows.sum() for rows in train])

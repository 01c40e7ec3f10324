"""The study of several labels a row from two readings of a table that need not fit into memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ParameterError, ratio
from evalkit.catalogue.kinds import Share
from evalkit.catalogue.metric import Chosen, Combined
from evalkit.catalogue.row_metrics import AVERAGE_PRECISION, F1, ROC_AUC
from evalkit.limits import USUAL, Limits
from evalkit.metrics import grid
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.reading.reductions.labels import Large
from evalkit.reading.reductions.rereading import Named, Rereading
from evalkit.reading.tables.rules import Precision
from evalkit.statistics import inference
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.label_passes import FACTS, patterns
from evalkit.statistics.label_sample import Counted, SummedLabels, as_hits
from evalkit.statistics.statistic import Statistic
from evalkit.studies import account, labels_readings, labels_study, one_by_one, row_study
from evalkit.studies import study as studies
from evalkit.studies.classes import SHARE
from evalkit.studies.diagnostics import Ends
from evalkit.studies.each_sums import EachSums
from evalkit.studies.labels_study import LabelsStudy


@dataclass(frozen=True, eq=False, repr=False)
class SumsStudy(EachSums[Counted], LabelsStudy):
    """The study of rows that were read and not kept."""

    summed: SummedLabels
    named: tuple[str, ...]
    sure: bool
    stored: Mapping[str, list[Precision]]

    def rows_of(self, named: Named, system: int) -> Rows:
        """The labels of each row, and a system's scores of them."""
        some = named.shard
        return Rows(some.label, some.score[system], self.read.first.cuts[system], named.weight, beside=some.beside)

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of their columns."""
        return self.named

    @property
    def probabilities(self) -> bool:
        """Whether every system's scores lie in 0..1."""
        return self.sure

    @property
    def precision(self) -> Mapping[str, list[Precision]]:
        """What the scores of each label were stored in, by system."""
        return self.stored

    @property
    def shares(self) -> Floats:
        """How often every label is true, by rows or by their weight."""
        weight = [cells.weight @ (cells.actual == 1) for cells in self._cells]
        return ratio(np.array(weight, float), float(self._cells[0].weight.sum()))

    @property
    def _cells(self) -> list[Any]:
        """The cells of each label."""
        return [self.read.group(0, j).each[0] for j in self.read.labels]

    @cached_property
    def sizes(self) -> Ints:
        """The rows on which each label is true."""
        return np.array([sum(self.decided(self.systems[0], j)[::2]) for j in self.read.labels])

    @property
    def per_row(self) -> tuple[float, float]:
        """The mean number of labels of a row, and the share of rows that have none."""
        g = self.read.g
        return float(self.shares.sum()), float(g.sums["none"][0] / g.sums["0"][1])

    @property
    def ends(self) -> dict[str, Ends]:
        """The lowest and the highest score of each system."""
        ends = {}
        for i, name in enumerate(self.systems):
            bins = [self.read.scores(0, j, i).bins for j in self.read.labels]
            low, high = (np.array([one.low[0] for one in bins]), np.array([one.high[-1] for one in bins]))
            ends[name] = float(grid.scores(low).min()), float(grid.scores(high).max())
        return ends

    def decided(self, name: str, label: int) -> tuple[int, int, int, int]:
        """The rows of a label by what is and what a system decides: TP, FP, FN, TN."""
        first = self.read.first
        cells = first.counting.cells(self.read.g, f"0 {label}", 2, [self._place(name)])
        tn, fp, fn, tp = np.bincount(2 * cells.actual + cells.said[0], cells.n, 4).astype(int).tolist()
        return tp, fp, fn, tn

    def numbers_of(self, name: str, label: int) -> dict[str, float]:
        """Precision, recall, F1, AUC and average precision of a label, each as itself, `_low` and `_high`."""
        shares = {"precision": (_predicted, _true), "recall": (_true, _predicted)}
        of: dict[str, Statistic] = {
            metric: self.summed.share_of_label(SHARE, name, label, _among(*sides)) for metric, sides in shares.items()
        }
        several = {"f1": F1, "auc": ROC_AUC, "average_precision": AVERAGE_PRECISION}
        of |= {metric: self.summed.of_label(one, name, label) for metric, one in several.items()}
        return row_study.with_limits({metric: self._estimated(one) for metric, one in of.items()})

    def _estimated(self, of: Statistic) -> Estimate:
        return inference.estimate(of, self.inference_options(1))

    # Tables of scores

    def _tables(self) -> list[Counts]:
        """The leader's table of each label."""
        leader = self._place(self.leader)
        return [self.read.scores(0, j, leader).chances for j in self.read.labels]

    @cached_property
    def drawn(self) -> list[tuple[str, Counts]]:
        """The leader's table of each label that has a curve, the most frequent eight."""
        tables, sizes = self._tables(), self.sizes
        several = [j for j in self.read.labels if 0 < sizes[j] < self.account.used]
        size = np.array([c.positives for c in tables], float)
        return [(self.labels[j], tables[j]) for j in row_study.largest(several, size)]

    @cached_property
    def one_by_one(self) -> dict[str, Counts]:
        """The leader's table of each label, of at most half a dozen labels."""
        return one_by_one.kept(self.labels, self._tables(), self.chosen_by)

    @property
    def pooled(self) -> Counts:
        """The leader's table of all rows and labels together."""
        return labels_readings.pooled(self.read, self._place(self.leader))

    @property
    def steps(self) -> Floats:
        """The leader's scores, or quantiles of them where there are many."""
        return labels_readings.steps(self.read, self._place(self.leader))

    def at_step(self, chosen: Chosen, number: int) -> Statistic:
        """A metric of the leader at one of the thresholds for all labels."""
        return self.summed.swept(chosen, number)

    def top(self, name: str) -> Estimate:
        """How often the label with the highest score of a system is true."""
        return self._estimated(as_hits(Chosen(SHARE), self.read.group(0, labels_readings.TOP), self._place(name)))

    def too_high(self, label: int) -> tuple[float, Estimate]:
        """The leader's mean score of a label, and how far it lies above the share of rows that have the label."""
        g = self.read.g
        mean = g.sums[f"{self._place(self.leader)} mean"][label] / g.sums["0"][1]
        return float(mean), self._estimated(self.summed.measure(labels_readings.off(label), self.leader, slice(None)))

    @property
    def together(self) -> bool:
        """Whether it is known which labels rows have together: of few labels that come together in few ways."""
        known = self.read.g.grids.get("0 patterns")
        return known is not None and not known.shift

    def constant(self, chosen: Chosen) -> float:
        """The metric of scoring every row by how often each label is true; NaN where labels are not known together."""
        if not self.together:
            return float("nan")
        known, scale = self.read.g.grids["0 patterns"], self.read.first.scale
        actual = patterns(grid.scores(known.low).astype(np.int64), len(self.labels))
        weight: Floats = known.negative * np.float64(scale or 1.0)
        score = np.tile(self.shares, (len(actual), 1))
        return chosen.value(Rows(actual, score, self.read.first.cuts[self._place(self.leader)], weight))

    @property
    def bounds(self) -> Floats:
        """By how much counting scores in bins changes an AUC and an average precision at most."""
        every = (self.read.scores(0, j, i) for i in self.read.systems for j in self.read.labels)
        return np.nan_to_num([scores.widths for scores in every]).max(axis=0)


def _true(rows: Rows) -> Bools:
    return rows.actual == 1


def _predicted(rows: Rows) -> Bools:
    return rows.predicted == 1


def _among(member: Callable[[Rows], Bools], hit: Callable[[Rows], Bools]) -> Callable[[Rows], Rows]:
    """Hits among some of the rows of a label."""
    return lambda rows: Rows(member(rows), decision=hit(rows), weight=rows.weight)


def study_of(t: Large, p: Classification, limits: Limits = USUAL) -> SumsStudy:
    """The study of a table that is read twice. Raises ParameterError for a metric that needs the rows."""
    settings = labels_study.asked(p, limits)
    studies.check_systems(settings, t.systems)
    for chosen in settings.metrics:
        if not _summed(chosen):
            raise ParameterError(f"metrics: {chosen.label} needs all rows in memory, got {t.rows:,} rows")
    threshold = labels_study.threshold_of(p, probabilities=t.sure)
    summed = labels_readings.read(t, settings, threshold)
    rows = int(summed.counted.g.sums[FACTS][0])
    read = account.of_table(t, rows), summed, t.slices, Rereading(t, rows), t.labels, t.sure, t.precision
    return SumsStudy(settings, t.systems, {}, p.given, threshold, *read)


def _summed(chosen: Chosen) -> bool:
    """Whether sums over rows tell a metric."""
    metric = chosen.base.metric
    known = metric.kind.totalled or isinstance(metric.kind, (Combined, Share))
    return known and not metric.columns and not (isinstance(metric.kind, Share) and metric.kind.picks)

"""The study of several labels a row, each true or not, and a score for each by every system.

A table that fits is at hand row by row; a larger one is read block by block: first cells and scores by label, then how
much its rows move means over the labels, and all along one threshold for every label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, ParameterError, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import Loss, Share
from evalkit.catalogue.metric import Chosen, Combined, Metric, Weighted
from evalkit.catalogue.row_metrics import AVERAGE_PRECISION, F1, ROC_AUC
from evalkit.limits import USUAL, Limits
from evalkit.metrics import counts, curves
from evalkit.metrics.block import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.outcomes import MultiLabel
from evalkit.reading.reductions.scores import Labels
from evalkit.reading.tables import rules
from evalkit.reading.tables.rules import Precision
from evalkit.statistics.class_cells import Counting, OfCells
from evalkit.statistics.forms import Decided, ranked
from evalkit.statistics.readings import LEAST, ByLabel, ByMoves, Cut, Hits, Mean, Place, Sweep, label_rows, labelled
from evalkit.statistics.readings import SWEPT as SHARED_SWEPT
from evalkit.statistics.several_classes import SHARE
from evalkit.statistics.several_labels import STEPS, TOP, HeldLabels, SummedLabels, key_of, off, top_hits
from evalkit.statistics.statistic import Statistic, layout_of
from evalkit.statistics.summed import Terms
from evalkit.studies import row_study, study
from evalkit.studies.classes import BESIDE, EachStudy, among, nameless
from evalkit.studies.row_study import with_limits
from evalkit.studies.study import EVERY, Settings

METRICS = ("micro_f1", "macro_f1", "exact_match", "hamming_loss", "map_classes", "ranking_loss")
SWEPT = ("micro_f1", "micro_precision", "micro_recall", "macro_f1")
FEW = 16  # cells of a label by what two systems predict


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LabelsStudy(EachStudy):
    """The study of a multi-label table; the units are rows, or the unit that was named.

    names: in the order of their columns. precision: what the scores of each were stored in, by system.
    """

    noun: ClassVar[str] = "label"
    sides: ClassVar[tuple[str, str]] = ("label true", "label not true")

    threshold: float
    precision: Mapping[str, list[Precision]]

    def rows_in(self, block: Block, system: int) -> Rows:
        """The rows of a block as a system speaks of them."""
        rows = label_rows(labelled(block, len(self.names)), system, self.measured.first.cuts)
        return replace(rows, weight=block.weight)

    @property
    def shares(self) -> Floats:
        """How often every label is true, by rows or by their weight."""
        shares: Floats = self.measured.shares
        return shares

    def constant(self, chosen: Chosen) -> float:
        """The metric of scoring every row by how often each label is true; NaN where labels are not known together."""
        return chosen.value(self.measured.constant(self.leader)) if self.measured.together else float("nan")

    @cached_property
    def by_label(self) -> pd.DataFrame:
        """The four counts of every label and system, precision, recall, F1, AUC and average precision with limits."""
        return pd.DataFrame([self._label(name, j) for name in self.order for j in range(len(self.names))])

    def _label(self, name: str, j: int) -> dict[str, Any]:
        counted = dict(zip(("tp", "fp", "fn", "tn"), self.measured.decided(name, j), strict=True))
        shares = {"precision": among(_predicted, _true), "recall": among(_true, _predicted)}
        of = {metric: self.measured.derived(SHARE, name, j, change) for metric, change in shares.items()}
        several = {"f1": F1, "auc": ROC_AUC, "average_precision": AVERAGE_PRECISION}
        of |= {metric: self.measured.of_one(one, name, j) for metric, one in several.items()}
        row = {"system": name, "label": self.names[j], "n": int(self.sizes[j])}
        return row | counted | with_limits({metric: self.estimated(one) for metric, one in of.items()})

    # One threshold for all labels

    @cached_property
    def pooled(self) -> Counts:
        """The leader's table of all rows and labels together."""
        table: Counts = self.measured.pooled(self.leader)
        return table

    @cached_property
    def thresholds(self) -> Floats:
        """Thresholds for all labels: the leader's scores, or quantiles of them, and the one of best micro F1."""
        return _thresholds(self.measured, self.leader)

    @cached_property
    def sweep(self) -> pd.DataFrame:
        """The leader's micro and macro metrics along one threshold for all labels, with limits."""
        rows = []
        for number, t in enumerate(self.thresholds.tolist()):
            for metric in SWEPT:
                e = self.estimated(self.at_step(lookup.find(metric, "labels"), number))
                rows.append({"system": metric, "x": t, "y": e.value, "low": e.low, "high": e.high})
        return pd.DataFrame(rows)

    def at_step(self, chosen: Chosen, number: int) -> Statistic:
        """A metric of the leader at one of the thresholds for all labels."""
        of: Statistic = self.measured.swept(chosen, self.leader, number, float(self.thresholds[number]))
        return of

    @cached_property
    def best(self) -> tuple[float, float]:
        """The leader's threshold for all labels of the highest micro F1, of all its scores, and that F1."""
        at = curves.best_f(self.pooled)
        return at, float(counts.f_score(counts.at(self.pooled, at))) if np.isfinite(at) else np.nan

    @cached_property
    def tops(self) -> pd.DataFrame:
        """How often the label with the highest score is true, of every system."""
        every = ((name, self.estimated(self.measured.top(name))) for name in self.order)
        return pd.DataFrame([{"system": name, "value": e.value, "low": e.low, "high": e.high} for name, e in every])

    @cached_property
    def mean_scores(self) -> pd.DataFrame:
        """Of each label the leader's mean score, the share of rows that have it, and the difference with limits."""
        rows = []
        for j, label in enumerate(self.names):
            e = self.estimated(self.measured.off(self.leader, j))
            apart = {"difference": e.value, "low": e.low, "high": e.high}
            mean = self.measured.mean_score(self.leader, j)
            rows.append({"label": label, "score": mean, "share": self.shares[j]} | apart)
        return pd.DataFrame(rows)


def _true(rows: Rows) -> np.ndarray:
    return rows.actual == 1


def _predicted(rows: Rows) -> np.ndarray:
    return rows.predicted == 1


def _thresholds(measured: HeldLabels | SummedLabels, system: str) -> Floats:
    """Where metrics along a threshold are measured: some scores, and the best threshold, if there is one."""
    drawn = np.union1d(measured.steps(system), curves.best_f(measured.pooled(system)))
    return drawn[np.isfinite(drawn)]


def asked(p: Classification, systems: tuple[str, ...], limits: Limits) -> Settings:
    """What the parameters ask."""
    chosen = lookup.chosen(p.metrics, "labels", METRICS)
    settings = study.settings(p, chosen, unit=p.unit, segments=p.segments, limits=limits)
    study.check_systems(settings, systems)
    return settings


def threshold_of(p: Classification, *, probabilities: bool) -> float:
    """The one threshold of all labels; raises ParameterError where it is not a number, or none is usual."""
    if isinstance(p.threshold, float):
        return p.threshold
    if p.threshold is not None:
        raise ParameterError(f"threshold must be a number, got {p.given['threshold']!r}")
    if not probabilities:
        raise ParameterError("threshold: scores outside 0 to 1 have no default threshold; set threshold to a number")
    return 0.5


def cuts_of(threshold: float, stored: Sequence[Precision]) -> Floats:
    """The threshold of each label, as its scores were stored."""
    return np.array([rules.rounded(threshold, to) for to in stored])


# Rows at hand ---------------------------------------------------------------------------------------------------------


def of_rows(data: MultiLabel, p: Classification, limits: Limits = USUAL) -> LabelsStudy:
    """The study of rows in memory."""
    rows = data.rows
    fields, shared = row_study.of_rows(data, asked(p, rows.systems, limits), p.given)
    sure = all(outcomes.are_probabilities(score) for score in data.score.values())
    stored = {name: [rows.precision[name][f"p {label}"] for label in data.labels] for name in rows.systems}
    threshold = threshold_of(p, probabilities=sure)
    held = {name: Rows(data.actual, of, cuts_of(threshold, stored[name]), **shared) for name, of in data.score.items()}
    return LabelsStudy(
        **fields,
        measured=HeldLabels(held, lambda: rows.id),
        names=data.labels,
        probabilities=sure,
        threshold=threshold,
        precision=stored,
    )


# Blocks ---------------------------------------------------------------------------------------------------------------


def of_blocks(of: Labels, p: Classification, limits: Limits = USUAL) -> LabelsStudy:
    """The study of a table that is read twice. Raises ParameterError for a metric that needs the rows."""
    t = of.table
    settings = asked(p, t.systems, limits)
    for chosen in settings.metrics:
        if not _summed(chosen):
            raise ParameterError(f"metrics: {chosen.label} needs all rows in memory, got {t.rows:,} rows")
    threshold = threshold_of(p, probabilities=of.sure)
    each = len(of.names) * (8 * len(t.systems) + 1) + (STEPS + 1) * (len(of.names) + len(SHARED_SWEPT))
    if t.schema.units * each > BESIDE:  # too many numbers to keep those of each unit side by side
        t = replace(t, schema=replace(t.schema, parted=False))
    first, design = _first(of, settings, threshold), layout_of(units=t.schema.unit, weights=of.scale is not None)
    counted = nameless(t).total(first)
    rows = int(counted.facts.sums[0])
    t.check(rows, counted.ids.repeated if t.schema.id else 0)
    measured = SummedLabels(t.systems, first, counted, design)
    second = _second(measured, settings, of)
    return LabelsStudy(
        **row_study.of_blocks(t, rows, settings, p.given, weighted=of.scale is not None),
        measured=replace(measured, second=second, moved=nameless(t).total(second)),
        names=of.names,
        probabilities=of.sure,
        threshold=threshold,
        precision=of.precision,
    )


def _summed(chosen: Chosen) -> bool:
    """Whether sums over rows tell a metric."""
    metric = chosen.base.metric
    known = metric.kind.totalled or isinstance(metric.kind, (Combined, Share))
    return known and not metric.columns and not (isinstance(metric.kind, Share) and metric.kind.picks)


def _first(of: Labels, settings: Settings, threshold: float) -> ByLabel:
    k, s, limits, primary = len(of.names), len(of.table.systems), settings.limits, settings.metrics[0].base
    cuts = [cuts_of(threshold, of.precision[name]) for name in of.table.systems]
    losses = tuple(dict.fromkeys(c.base for c in settings.metrics if c.base.metric.kind.totalled))
    hits = {chosen.label: _hits(chosen) for chosen in settings.metrics if isinstance(chosen.metric.kind, Share)}
    kind: Any = primary.metric.kind
    return ByLabel(
        cuts=cuts,
        counting=Counting(2, of.scale, of.squares, FEW),
        terms=_terms(losses, s, cuts),
        hits=hits | {TOP: top_hits},
        sliced_hits={name: own for name, own in hits.items() if name == primary.label},
        sliced=kind.totalled,
        decided=isinstance(kind, Combined),
        ranked=isinstance(kind, Combined) and not kind.decided,
        room=min(limits.bins, max(limits.bins // (k * s), LEAST)),
        fewer=min(limits.slice_bins, max(limits.slice_bins // (k * s), LEAST)),
        bins=limits.bins,
        ids=of.table.ids_held,
    )


def _terms(metrics: Sequence[Chosen], systems: int, cuts: Sequence[Floats]) -> Terms:
    return Terms.alone(metrics, systems, partial(label_rows, cuts=cuts))


def _hits(chosen: Chosen) -> Hits:
    kind: Any = chosen.metric.kind
    return kind.hits


def _second(measured: SummedLabels, settings: Settings, of: Labels) -> ByMoves:
    """What the second reading needs to know of the first."""
    first, plain, primary = measured.first, measured.plain, settings.metrics[0]
    every: dict[str, Any] = {name: measured.measure(primary, name, EVERY) for name in measured.systems}
    values = {name: one.value for name, one in every.items()}
    leader = study.leading(study.ranked(values, primary), settings.baseline)
    means: dict[Place, Mean] = {}
    shared: dict[Place, Chosen] = {}
    for group in sorted(measured.groups):
        for chosen in [primary] if group else settings.metrics:
            if isinstance(chosen.metric.kind, Combined):
                means[group, key_of(chosen)] = _mean(measured, chosen, group)
            if plain and isinstance(chosen.base.metric.kind, Loss) and _leaves_out(measured, chosen, group):
                shared[group, chosen.base.label] = chosen.base
    if not plain:
        for metric in (ROC_AUC, AVERAGE_PRECISION):
            chosen = Chosen(Metric(metric.name, "labels", Combined(metric, lambda rows: []), "", "", ""))
            means.setdefault((0, metric.name), _mean(measured, chosen, 0))
    labels = range(len(of.names))
    at = measured.systems.index(leader)
    scores = _terms([off(j) for j in labels], 1, first.cuts[at : at + 1]) if of.sure else None
    told = partial(labelled, labels=len(of.names))
    return ByMoves(told, of.scale, plain, means, _sweep(measured, leader), scores, shared, first.cuts)


def _leaves_out(measured: SummedLabels, chosen: Chosen, group: int) -> bool:
    """Whether any system leaves rows out."""
    every = [measured.loss(chosen, group, i) for i in range(len(measured.systems))]
    return min(float(one.totals[1]) for one in every) < every[0].moments.n


def _mean(measured: SummedLabels, chosen: Chosen, group: int) -> Mean:
    """How much each row moves a mean over the labels."""
    kind: Any = chosen.metric.kind
    shares, systems, labels = measured.shares_in(kind, group), range(len(measured.systems)), measured.labels
    each = [[measured.part(kind.of, group, i, j, None) for j in labels] for i in systems]
    moving: list[Floats] = []
    if isinstance(kind, Weighted):
        for own in each:
            value = np.array([one.value for one in own])
            moving.append(np.nan_to_num(ratio(value - float(np.nansum(shares * value)), measured.true(group).sum())))
    picked = {}
    if kind.picks and measured.plain:
        through = moving or [np.zeros(len(shares)) for _ in systems]
        for i, j in combinations(systems, 2):
            tables = [_apart(first, second) for first, second in zip(each[i], each[j], strict=True)]
            with_label = (np.arange(8) >= 4) * (through[i] - through[j])[:, None]
            picked[i, j] = shares[:, None] * np.array(tables) + with_label
    of = [[_of_label(one, cut) for one, cut in zip(own, cuts, strict=True)]
          for own, cuts in zip(each, measured.first.cuts, strict=True)]  # fmt: skip
    return Mean(of, shares, moving, picked)


def _of_label(of: Any, cut: float) -> Any:
    """How much a row moves a metric of one label, whether that is of its cells or of its table."""
    if not of.chosen.metric.kind.decided:
        return ranked(of.chosen, of.tables)
    moved = np.zeros(4)
    moved[2 * of.rows.actual + of.rows.predicted] = np.nan_to_num(of.each)
    return Cut(float(cut), moved)


def _apart(first: OfCells, second: OfCells) -> Floats:
    """How much a row moves the difference of two systems that pick their rows, by 4 · true + 2 · first + second."""
    moved = np.zeros(8)
    a, b, _ = first.pair(second)
    moved[4 * a.rows.actual + 2 * a.rows.predicted + b.rows.predicted] = np.nan_to_num(a.apart_by(b))
    return moved


def _sweep(measured: SummedLabels, leader: str) -> Sweep:
    """The thresholds along which the metrics of the leader are measured, and how much rows move the F1 of a label."""
    i, thresholds, f1 = measured.systems.index(leader), _thresholds(measured, leader), []
    tables = [measured.scores(0, i, j).counts for j in measured.labels]
    for t in thresholds.tolist():
        cuts = [Decided(table, t).cut for table in tables]
        sides = [np.nan_to_num(F1.kind.bins(cut)) for cut in cuts]  # type: ignore[attr-defined]
        f1.append([np.array([right, false, missed, hit]) for (hit, missed), (false, right) in sides])
    return Sweep(i, thresholds, f1)

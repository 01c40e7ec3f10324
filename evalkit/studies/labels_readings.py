"""The two readings of a table of several labels a row: what is asked of each, and what came of it."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import Loss, Share
from evalkit.catalogue.metric import Chosen, Combined, Metric, Weighted
from evalkit.catalogue.row_metrics import AVERAGE_PRECISION, ROC_AUC
from evalkit.metrics import curves, grid
from evalkit.metrics.counts import Counts
from evalkit.reading.inputs import aligned
from evalkit.reading.reductions import tabled
from evalkit.reading.reductions.labels import Large
from evalkit.reading.tables import rules
from evalkit.statistics.cell_passes import BESIDE, LEAST, Counting
from evalkit.statistics.forecast_passes import Moved
from evalkit.statistics.label_passes import FACTS, NOWHERE, First, Hits
from evalkit.statistics.label_sample import Counted, Decided, SummedLabels, key_of
from evalkit.statistics.label_sums import SWEPT as SHARED_SWEPT
from evalkit.statistics.label_sums import ByCell, ByScore, Mean, OfLabel, Second, Sweep
from evalkit.statistics.of_areas import ranked
from evalkit.statistics.statistic import Layout
from evalkit.studies import labels_study, study
from evalkit.studies.labels_study import STEPS, SWEPT
from evalkit.studies.multilabel import top_hits
from evalkit.studies.study import Settings

TOP = "top label"  # the name of the share of rows whose label with the highest score is true


def off(label: int) -> Chosen:
    """How far scores of a label lie above the share of rows that have it."""
    kind = Loss(lambda rows, k: rows.scores[:, label] - rows.actual[:, label])
    return Chosen(Metric(f"off {label}", "rows", kind, "", "", "", low=-np.inf, high=np.inf))


def pooled(c: Counted, system: int) -> Counts:
    """The table of all rows and labels together."""
    first = c.first
    every = grid.merge([c.scores(0, j, system).bins for j in c.labels], first.room)
    return grid.counts(every, first.scale or 1.0)


def steps(c: Counted, system: int) -> Floats:
    """The scores of all labels, or where there are many their quantiles over rows and labels, as numpy has them."""
    if c.first.scale is None:
        bins = grid.merge([c.scores(0, j, system).bins for j in c.labels], c.first.room)
        rows = bins.positive + bins.negative
    else:
        bins = c.g.grids[f"0 {system} every"]
        rows = bins.positive
    score = grid.scores(bins.low)
    if len(score) <= STEPS:
        return score
    up_to = np.cumsum(rows)
    place = np.maximum(np.ceil(np.linspace(0, 1, STEPS) * up_to[-1] - 1), 0)
    return score[np.searchsorted(up_to, place, side="right")]


def read(t: Large, settings: Settings, threshold: float) -> SummedLabels:
    """What both readings tell; raises InputError for ids that do not pair."""
    t = _beside(t)
    counted = _counted(t, settings, threshold)
    second = _second(t, counted, settings)
    return SummedLabels(counted, second, second.whole(t.reduce(second, second.merge, by_unit=t.plan.unit)))


def _beside(t: Large) -> Large:
    """The table, its units side by side only where the numbers of each are few."""
    each = len(t.labels) * (8 * len(t.systems) + 1) + (STEPS + 1) * (len(t.labels) + len(SHARED_SWEPT))
    if t.plan.units is not None and len(t.plan.units) * each > BESIDE:
        return replace(t, plan=replace(t.plan, units=None))
    return t


def _counted(t: Large, settings: Settings, threshold: float) -> Counted:
    """The first reading; raises InputError for ids that do not pair."""
    first = _first(t, settings, threshold)
    g = first.whole(t.reduce(first, first.merge, by_unit=t.plan.unit))
    rows, twice, differ = map(int, g.sums[FACTS])
    if twice or differ:
        raise tabled.refuse(t)
    if not rows:
        raise aligned.nothing_shared(t.systems)
    if not t.plan.paired and rows != t.rows:
        raise tabled.changed(t.name)
    layout = Layout.SUMMED if first.plain else Layout.SUMMED_VARIED
    return Counted(t.systems, first, g, layout)


def _first(t: Large, settings: Settings, threshold: float) -> First:
    k, s, limits, primary = len(t.labels), len(t.systems), settings.limits, settings.metrics[0].base
    kind = primary.metric.kind
    losses = [chosen.base for chosen in settings.metrics if chosen.base.metric.kind.totalled]
    hits = {chosen.label: _hits(chosen) for chosen in settings.metrics if isinstance(chosen.metric.kind, Share)}
    return First(
        labels=k,
        cuts=[np.array([rules.rounded(threshold, to) for to in t.precision[name]]) for name in t.systems],
        losses=[*losses, *(map(off, range(k)) if t.sure else [])],
        sliced=[primary] if kind.totalled else [],
        hits=hits | {TOP: top_hits},
        sliced_hits={name: of for name, of in hits.items() if name == primary.label},
        cells=isinstance(kind, Combined),
        ranked=isinstance(kind, Combined) and not kind.decided,
        counting=Counting(t.plan.scale, t.squares, t.plan.units is not None, limits.bins),
        plain=not t.plan.unit and t.plan.scale is None,
        room=min(limits.bins, max(limits.bins // (k * s), LEAST)),
        fewer=min(limits.slice_bins, max(limits.slice_bins // (k * s), LEAST)),
    )


def _hits(chosen: Chosen) -> Hits:
    kind: Any = chosen.metric.kind
    return kind.hits


def _second(t: Large, c: Counted, settings: Settings) -> Second:
    """What the second reading needs to know of the first."""
    first, primary = c.first, settings.metrics[0]
    leader = _leader(c, settings)
    asked = {chosen.base.label for chosen in settings.metrics}
    losses = {}
    for group in c.numbers:
        if wanted := first.sliced if group else first.losses:
            losses[group] = [
                [Moved(one, NOWHERE, c.known(one, group, i)) for one in wanted if i == leader or one.label in asked]
                for i in c.systems
            ]
    means: dict[tuple[int, str], Mean] = {}
    for group in c.numbers:
        for chosen in [primary] if group else settings.metrics:
            if isinstance(chosen.metric.kind, Combined):
                means[group, key_of(chosen)] = _mean(c, chosen, group)
    if not first.plain:
        for metric in (ROC_AUC, AVERAGE_PRECISION):
            chosen = Chosen(Metric(metric.name, "labels", Combined(metric, lambda rows: []), "", "", ""))
            means.setdefault((0, metric.name), _mean(c, chosen, 0))
    return Second(first.cuts, losses, means, _sweep(c, leader), first.scale, first.plain, first.counting.apart)


def _leader(c: Counted, settings: Settings) -> int:
    """The number of the system that the page speaks of first."""
    primary = settings.metrics[0]
    values = {name: c.value(primary, i) for i, name in enumerate(c.order)}
    return c.order.index(study.leading(study.ranked(values, primary), settings.baseline))


def _mean(c: Counted, chosen: Chosen, group: int) -> Mean:
    """How much each row moves a mean over the labels."""
    kind: Any = chosen.metric.kind
    shares = c.shares(kind, group)
    each = [[c.of_label(kind.of, group, i, j) for j in c.labels] for i in c.systems]
    moving = None
    if isinstance(kind, Weighted):
        total = sum(float(cells.weight[cells.actual == 1].sum()) for cells in _positive(c, group))
        value = [np.array([one.value for one in own]) for own in each]
        mean = [float(np.nansum(shares * own)) for own in value]
        moving = [np.nan_to_num(ratio(own - of, total)) for own, of in zip(value, mean, strict=True)]
    picked = {}
    if kind.picks and c.first.plain:
        through = moving or [np.zeros(len(shares)) for _ in each]
        for i, j in combinations(c.systems, 2):
            tables = [_apart(first, second) for first, second in zip(each[i], each[j], strict=True)]
            with_label = (np.arange(8) >= 4) * (through[i] - through[j])[:, None]
            picked[i, j] = shares[:, None] * np.array(tables) + with_label
    return Mean([list(map(_of_label, own)) for own in each], [shares] * len(each), moving, picked)


def _positive(c: Counted, group: int) -> list[Any]:
    return [c.group(group, j).each[0] for j in c.labels]


def _of_label(of: Any) -> OfLabel:
    """How much a row moves a metric of one label, whether that is of its cells or of its table."""
    if of.chosen.metric.kind.decided:
        moved = np.zeros(4)
        moved[2 * of.rows.actual + of.rows.predicted] = np.nan_to_num(of.each)
        return ByCell(moved)
    return ByScore(ranked(of.chosen, of.tables))


def _apart(first: Any, second: Any) -> Floats:
    """How much a row moves the difference of two systems that pick their rows, by 4 · true + 2 · first + second."""
    moved = np.zeros(8)
    cells, each = first.apart_cells(second)
    moved[4 * cells.actual + 2 * cells.said[0] + cells.said[1]] = np.nan_to_num(each)
    return moved


def _sweep(c: Counted, leader: int) -> Sweep:
    """The thresholds along which the metrics of the leader are measured."""
    thresholds = labels_study.at_thresholds(steps(c, leader), curves.best_f(pooled(c, leader)))
    (macro,) = (chosen for chosen in map(_swept, SWEPT) if isinstance(chosen.metric.kind, Combined))
    tables = [c.scores(0, j, leader).counts for j in c.labels]
    f1 = [[_decided(macro, Decided(table, t)) for table in tables] for t in thresholds.tolist()]
    return Sweep(leader, thresholds, f1)


def _swept(name: str) -> Chosen:
    """A metric by its name."""
    return lookup.find(name, "labels")


def _decided(macro: Chosen, tables: Decided) -> ByCell:
    """How much a row moves the metric of one label, of which a mean is taken."""
    kind: Any = macro.metric.kind
    (hit, missed), (false, right) = np.nan_to_num(kind.of.kind.bins(tables.cut))
    return ByCell(np.array([right, false, missed, hit]))

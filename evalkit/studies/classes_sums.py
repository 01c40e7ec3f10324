"""The study of several classes from one or two readings of a table that need not fit into memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints, ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.binary import AVERAGE_PRECISION, ROC_AUC
from evalkit.catalogue.kinds import Loss
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.limits import USUAL, Limits
from evalkit.metrics import grid
from evalkit.metrics.counts import Counts
from evalkit.metrics.labels import Confusion
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.reading.inputs import pairing
from evalkit.reading.reductions import classes, tabled
from evalkit.reading.reductions.classes import Large
from evalkit.reading.reductions.rereading import Named, Rereading
from evalkit.reading.tables.slices import Slice
from evalkit.statistics.cell_passes import Counting
from evalkit.statistics.class_passes import FACTS, NOWHERE, First, Second, ranked
from evalkit.statistics.class_sample import Counted, SummedClasses
from evalkit.statistics.forecast_passes import Moved
from evalkit.statistics.gathered import Gathered
from evalkit.statistics.of_areas import OfArea
from evalkit.statistics.of_cells import OfCells
from evalkit.statistics.statistic import Layout
from evalkit.studies import account, classes_study, one_by_one, row_study
from evalkit.studies import study as studies
from evalkit.studies.classes_study import TARGET, TOPS, ClassesStudy
from evalkit.studies.each_sums import EachSums
from evalkit.studies.study import Settings

CELLS = 2**11  # cells of all systems up to which the products of every two are summed over units
BESIDE = 2**22  # numbers of units that stand side by side
LEAST = 2**12  # bins of the scores of a class at least
OF_CLASS = (Chosen(ROC_AUC), Chosen(AVERAGE_PRECISION))


@dataclass(frozen=True, eq=False, repr=False)
class SumsStudy(EachSums[Counted], ClassesStudy):
    """The study of rows that were read and not kept."""

    summed: SummedClasses
    named: tuple[str, ...]

    def rows_of(self, named: Named, system: int) -> Rows:
        """What a system predicts beside what is."""
        some = named.shard
        score = some.score[system] if self.scored else None
        said, k = some.decision[system], len(self.classes)
        return Rows(some.label, score, weight=named.weight, decision=said, classes=k, beside=some.beside)

    @property
    def classes(self) -> tuple[str, ...]:
        """All classes, in order."""
        return self.named

    @property
    def scored(self) -> bool:
        """Whether there are scores for the classes."""
        return self.read.first.ranked

    @property
    def probabilities(self) -> bool:
        """Whether every system's scores lie in 0..1."""
        return self.scored and not self.summed.outside

    @property
    def sizes(self) -> Ints:
        """The rows of each class."""
        return self.read.rows(0)

    def sizes_in(self, part: Slice) -> Ints:
        """The rows of each class in a slice."""
        return self.read.rows(part.member)

    def said(self, name: str) -> Ints:
        """The rows for which a system predicts each class."""
        cells = self.read.first.cells(self.read.g, 0, self._place(name))
        return np.bincount(cells.said[0], cells.n, len(self.classes)).astype(np.int64)

    def confusion(self, name: str) -> Confusion:
        """The rows, or their weight, by actual and by predicted class."""
        cells, k = self.read.first.cells(self.read.g, 0, self._place(name)), len(self.classes)
        table = np.zeros((k, k), np.float64 if self.weighted else np.int64)
        table[cells.actual, cells.said[0]] = cells.weight if self.weighted else cells.n
        return Confusion(table, np.arange(k))

    def derived(self, metric: Metric, name: str, change: Callable[[Rows], Rows]) -> OfCells:
        """A metric of the rows of a system with other things in the place of what is and is said."""
        return self.summed.derived(metric, name, change)

    def of_class(self, metric: Metric, name: str, c: int) -> OfArea:
        """A metric of the scores of a class against the rest."""
        return self.summed.of_class(metric, name, c)

    # Tables of scores

    def _tables(self) -> list[Counts]:
        """The leader's table of each class against the rest."""
        return [scores.chances for scores in self.read.each(0, self._place(self.leader))]

    @cached_property
    def drawn(self) -> list[tuple[str, Counts]]:
        """The leader's table of each class that has a curve, the most frequent eight."""
        tables, sizes = self._tables(), self.sizes
        several = [c for c in range(len(tables)) if 0 < sizes[c] < sizes.sum()]
        size = np.array([c.positives for c in tables], float)
        return [(self.classes[c], tables[c]) for c in row_study.largest(several, size)]

    @cached_property
    def one_by_one(self) -> dict[str, Counts]:
        """The leader's table of each class against the rest, of at most half a dozen classes; none without scores."""
        return one_by_one.kept(self.classes, self._tables(), self.chosen_by) if self.scored else {}

    @cached_property
    def top_label(self) -> dict[str, Counts]:
        """Right or wrong by the score of the predicted class, of every system."""
        return {name: self.read.top(i).chances for i, name in enumerate(self.read.order)} if self.scored else {}

    @property
    def lower(self) -> dict[str, int]:
        """Rows whose predicted class does not have the highest score, of every system with scores."""
        rows = self.read.g.sums[FACTS][3:].astype(int).tolist()
        return dict(zip(self.read.order, rows, strict=True)) if self.scored else {}

    @property
    def off(self) -> dict[str, float]:
        """By how much the scores of a row are off from adding up to 1 at most, of every system with scores."""
        g = self.read.g.grids
        ends = {name: g[f"0 {i} off"].high for i, name in enumerate(self.read.order)} if self.scored else {}
        return {name: float(grid.scores(high[-1:])[0]) for name, high in ends.items()}

    def constant(self, chosen: Chosen) -> float:
        """The metric of the largest class for every row; its probabilities are the shares of the classes."""
        shares, there = self.shares, np.flatnonzero(self.shares > 0)
        decision = np.full(len(there), int(shares.argmax()))
        score = np.tile(shares, (len(there), 1)) if self.scored else None
        weight = self.confusion(self.systems[0]).table.sum(axis=1)[there].astype(np.float64)
        return chosen.value(Rows(there, score, decision=decision, weight=weight, classes=len(shares)))

    @property
    def bounds(self) -> Floats:
        """By how much counting scores in bins changes an AUC and an average precision at most."""
        if not self.scored:
            return np.zeros(2)
        every = (scores for i in self.read.systems for scores in self.read.each(0, i))
        return np.nan_to_num([scores.widths for scores in every]).max(axis=0)


# Two readings ---------------------------------------------------------------------------------------------------------


def study_of(t: Large, p: Classification, limits: Limits = USUAL) -> SumsStudy:
    """The study of a table that is read once or twice. Raises ParameterError for a metric that needs the rows."""
    settings = classes_study.asked(p, limits, scored=t.scored, outside=t.outside)
    studies.check_systems(settings, t.systems)
    for chosen in settings.metrics:
        if not chosen.base.metric.tabled:
            raise ParameterError(f"metrics: {chosen.label} needs all rows in memory, got {t.rows:,} rows")
    t = _beside(t)
    counted = _counted(t, settings)
    there = counted.there()
    if not t.scored and len(there) < len(t.classes):  # other classes have rows only whose id another system lacks
        t = classes.only(t, there)
        counted = _counted(t, settings)
    second = _second(t, counted, settings)
    g = second.whole(t.reduce(second, second.merge, by_unit=True)) if second else Gathered()
    summed = SummedClasses(counted, second, g, t.outside)
    rows, target = int(counted.g.sums[FACTS][0]), p.precision_target or TARGET
    accounts, rereading = account.of_table(t, rows), Rereading(t, rows)
    return SumsStudy(settings, t.systems, {}, p.given, target, accounts, summed, t.slices, rereading, t.classes)


def _beside(t: Large) -> Large:
    """The table, its units side by side only where their cells are few; raises ParameterError for too many cells."""
    cells = len(t.systems) * len(t.classes) ** 2
    if t.plan.unit and cells > CELLS:
        raise ParameterError(
            f"unit: {len(t.systems)} systems and {len(t.classes)} classes have {cells:,} cells, of more than {CELLS:,} "
            "the units need all rows in memory; choose systems"
        )
    if t.plan.units is not None and len(t.plan.units) * (cells + 1) > BESIDE:
        return replace(t, plan=replace(t.plan, units=None))
    return t


def _counted(t: Large, settings: Settings) -> Counted:
    """The first reading; raises InputError for ids that do not pair."""
    first = _first(t, settings)
    g = first.whole(t.reduce(first, first.merge, by_unit=t.plan.unit))
    rows, twice, differ = map(int, g.sums[FACTS][:3])
    if twice or differ:
        raise tabled.refuse(t)
    if not rows:
        raise pairing.nothing_shared(t.systems)
    if not t.plan.paired and rows != t.rows:
        raise tabled.changed(t.name)
    _refuse_partial(first, g, t.systems)
    limit = first.counting.bins
    if any(bins.shift for name, bins in g.grids.items() if name.endswith("cells")):
        raise ParameterError(f"systems: actual and predicted classes of two systems come in more than {limit:,} "
                             "ways, which needs all rows in memory; choose one system")  # fmt: skip
    plain = not t.plan.unit and t.plan.scale is None
    layout = Layout.SUMMED if plain else Layout.SUMMED_VARIED
    numbers = sorted(int(name) for name in g.sums if name.isdecimal())
    sizes = first.classes, len(t.systems)
    of = {n: first.counting.group(g, f"{n}", *sizes, int(g.sums[f"{n}"][0]), layout) for n in numbers}
    return Counted(t.systems, first, g, layout, of)


def _refuse_partial(first: First, g: Gathered, systems: Sequence[str]) -> None:
    """Raises ParameterError for a loss that leaves out rows: which ones of two systems only the rows tell."""
    for chosen in first.losses:
        members = [g.sums[f"0 {i} {chosen.label}"][1] for i in range(len(systems))]
        if isinstance(chosen.metric.kind, Loss) and min(members) < g.sums["0"][1]:
            raise ParameterError(f"metrics: {chosen.label} leaves rows out, which needs all rows in memory")


def _first(t: Large, settings: Settings) -> First:
    k, s, limits, primary = len(t.classes), len(t.systems), settings.limits, settings.metrics[0].base
    tops = [lookup.find(f"top@{n}", "classes") for n in TOPS if n <= k] if t.scored else []
    losses = [chosen.base for chosen in settings.metrics if chosen.base.metric.kind.totalled]
    return First(
        classes=k,
        losses=list({chosen.label: chosen for chosen in [*losses, *tops]}.values()),
        sliced=[primary] if primary.metric.kind.totalled else [],
        ranked=t.scored,
        ranked_slices=t.scored and bool(_ordered(primary)),
        counting=Counting(t.plan.scale, t.squares, t.plan.units is not None, limits.bins),
        room=min(limits.bins, max(limits.bins // (k * s), LEAST)),
        fewer=min(limits.slice_bins, max(limits.slice_bins // (k * s), LEAST)),
    )


def _second(t: Large, counted: Counted, settings: Settings) -> Second | None:
    """What the second reading needs to know of the first; None where all is known."""
    first, plain = counted.first, counted.layout is Layout.SUMMED
    losses = {
        group: [[Moved(chosen, NOWHERE, counted.known(chosen, group, i)) for chosen in wanted] for i in counted.systems]
        for group in counted.groups
        if (wanted := first.sliced if group else first.losses)
    }
    areas = {
        (group, label): [[ranked(chosen, scores) for scores in counted.each(group, i)] for i in counted.systems]
        for group in counted.groups
        for label, chosen in _areas(settings.metrics, group, each=t.scored and not plain).items()
    }
    return Second(first.classes, losses, areas, first.scale, plain, first.counting.apart) if losses or areas else None


def _areas(metrics: Sequence[Chosen], group: int, *, each: bool) -> dict[str, Chosen]:
    """The metrics of the order of the scores of a class, of a group. each: those of every class stand on the page."""
    wanted = [] if group or not each else list(OF_CLASS)
    for chosen in metrics[:1] if group else metrics:
        wanted += _ordered(chosen)
    return {chosen.label: chosen for chosen in wanted}


def _ordered(chosen: Chosen) -> list[Chosen]:
    """The metric of one class of which another one is the mean, where it follows from the order of the scores."""
    kind: Any = chosen.base.metric.kind
    return [] if kind.totalled or kind.decided else [Chosen(kind.of)]

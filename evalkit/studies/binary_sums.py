"""The study of binary outcomes whose rows are read twice, shard by shard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalkit.limits import USUAL, Limits
from evalkit.metrics import cells, counts, grid
from evalkit.metrics.counts import Counts
from evalkit.parameters import Classification
from evalkit.reading.inputs import pairing
from evalkit.reading.reductions import large
from evalkit.reading.reductions.large import Large
from evalkit.reading.tables.slices import Slice
from evalkit.statistics import count_bootstrap, passes
from evalkit.statistics.passes import First, Second
from evalkit.statistics.sample import Moments, SummedRows, Table, columns
from evalkit.statistics.statistic import Layout
from evalkit.studies.binary import Account, BinaryStudy, Facts
from evalkit.studies.binary_rows import Asked, asked


@dataclass(frozen=True, eq=False, repr=False)
class SumsStudy(BinaryStudy):
    """Intervals and tests from sums over the rows."""

    counted: Facts
    summed: SummedRows
    groups: Mapping[str, Sequence[str]]

    @property
    def facts(self) -> Facts:
        """What the page says of the rows."""
        return self.counted

    @property
    def sample(self) -> SummedRows:
        """All systems on the same rows."""
        return self.summed

    @property
    def banded(self) -> bool:
        """Whether curves have bands: a table says how rows vary, not how units or weighted rows do."""
        return self.plain

    @property
    def bands_are(self) -> str:
        """Where the bands of curves come from, in words."""
        none = (
            f"none, nor limits of calibration, gains and other base rates: rows vary by {self.unit_name} or weight, and"
        )
        return super().bands_are if self.plain else f"{none} resampling them would take the rows again and again"

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """The threshold of every system, chosen between the two readings."""
        return {name: table.threshold for name, table in self.sample.tables[0].items()}

    @cached_property
    def slices(self) -> list[Slice]:
        """The groups of rows that share a value of a segment column, by their numbers."""
        named = [(column, label) for column, labels in self.groups.items() for label in labels]
        return [Slice(column, label, number) for number, (column, label) in enumerate(named, start=1)]

    def table(self, system: str) -> Counts:
        """The counts of a system."""
        return self.sample.tables[0][system].counts

    def chances(self, system: str) -> Counts:
        """The counts of a system at the middle of each bin."""
        return self.sample.tables[0][system].chances

    def one_class(self, part: Slice) -> bool:
        """Whether the rows of a slice are all positive or all negative."""
        c = next(iter(self.sample.tables[part.member].values())).counts
        return not (c.positives and c.negatives)

    def resample(self, system: str) -> list[Counts]:
        """A system's table in cells, and those of bootstrap samples of its rows; none where rows cluster or weigh."""
        table = cells.pooled(self.chances(system))
        if not self.banded:
            return [table]
        return [table, *count_bootstrap.resampled(table, rng=self.rng(3), resamples=self.settings.limits.bands)]


# Two readings ---------------------------------------------------------------------------------------------------------


def make(t: Large, p: Classification, limits: Limits = USUAL) -> SumsStudy:
    """The study of a table that is read twice."""
    a = asked(t.systems, _outside(t), p, limits)
    tables, rows, positives = _tables(t, a)
    plain = a.settings.unit is None and t.plan.scale is None
    layout = Layout.SUMMED if plain else Layout.SUMMED_VARIED
    sample = SummedRows(tables, _moments(t, a, tables, plain=plain), layout)
    alone = t.rows - rows * len(t.systems) if t.plan.paired else 0
    account = Account(t.systems, t.columns, t.sources(), sum(t.held), rows, alone)
    facts = Facts(
        account=account,
        positive=t.positive,
        negative=t.negative,
        positives=positives,
        weighted=t.plan.scale is not None,
        outside=t.outside,
        wrong=t.certain,
        repeated=_repeated(tables[0], rows) if plain else None,
        binned={name: _moved(table) for name, table in tables[0].items() if grid.spread(table.bins).any()},
        precision=t.precision,
    )
    return SumsStudy(a.settings, t.systems, {}, p.given, a.rule, a.costs, a.prevalence, facts, sample, t.slices)


def _tables(t: Large, a: Asked) -> tuple[list[dict[str, Table]], int, int]:
    """The tables of every system in every group, rows and positive rows; raises InputError for ids that do not pair."""
    cuts = [a.rule.at(_NOTHING, t.precision[name]) for name in t.systems] if a.rule.fixed is not None else None
    limits = a.settings.limits
    first = First(len(t.systems), cuts, limits.bins, limits.slice_bins)
    binned = t.reduce(first, first.merge, by_unit=False)
    rows, positives, twice, differ = map(int, passes.facts(binned))
    if twice or differ:
        raise large.refuse(t)
    if not rows:
        raise pairing.nothing_shared(t.systems)
    if not t.plan.paired and rows != t.rows:
        raise large.changed(t)
    groups: dict[int, dict[str, Table]] = {}
    chosen: dict[str, float] = {}
    for key, bins in sorted(first.bins(binned).items()):
        group, system = divmod(key, len(t.systems))
        name, scale = t.systems[system], t.plan.scale or 1.0
        if not group:
            chosen[name] = a.rule.at(grid.counts(bins, scale), t.precision[name])
        groups.setdefault(group, {})[name] = Table(name, bins, scale, chosen[name])
    return [groups[group] for group in sorted(groups)], rows, positives


_NOTHING = counts.count([], [])


def _moments(t: Large, a: Asked, tables: Sequence[Mapping[str, Table]], *, plain: bool) -> dict[int, Moments]:
    """The sums of the second reading by group; nothing where the tables tell everything."""
    alone = plain and len(t.systems) == 1
    wanted = {0: a.settings.metrics} | dict.fromkeys(range(1, len(tables)), a.settings.metrics[:1])
    models = {}
    for group, metrics in wanted.items():
        needed = [chosen for chosen in metrics if chosen.base.metric.kind.centred] if alone else metrics
        if needed:
            models[group] = [columns(table, needed) for table in tables[group].values()]
    if not models:
        return {}
    second = Second(t.plan.scale, bool(t.plan.units), models)
    return second.moments(t.reduce(second, second.merge, by_unit=True))


def _repeated(tables: Mapping[str, Table], rows: int) -> int | None:
    """Rows whose label and score another row has too: known of one system whose scores do not share bins."""
    if len(tables) > 1 or grid.spread(next(iter(tables.values())).bins).any():
        return None
    c = next(iter(tables.values())).counts
    return rows - int(np.count_nonzero(c.positive) + np.count_nonzero(c.negative))


def _moved(t: Table) -> tuple[float, float, float]:
    spread = grid.spread(t.bins)
    return grid.auc_width(t.counts, spread), *grid.average_precision_limits(t.counts, spread)


def _outside(t: Large) -> str:
    """The first score that is no probability."""
    name = next((name for name, rows in t.outside.items() if rows), None)
    if name is None:
        return ""
    place, value = large.first_outside(t, name)
    return f"got the score {value:g} of {name} ({place})"

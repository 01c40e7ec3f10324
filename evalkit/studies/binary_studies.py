"""The two studies of binary outcomes: of rows in memory, and of rows that are read twice, shard by shard."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit import side_by_side
from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.metric import Chosen
from evalkit.limits import USUAL, Limits
from evalkit.metrics import calibration, cells, counts, grid
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.parameters import Classification
from evalkit.parameters.decisions import BestF1, Costs, EqualCosts, Threshold
from evalkit.reading.inputs import outcomes, pairing
from evalkit.reading.inputs.aligned import attributes_of
from evalkit.reading.inputs.outcomes import Binary
from evalkit.reading.reductions import large, tabled
from evalkit.reading.reductions.large import Large
from evalkit.reading.reductions.rereading import Named, Rereading
from evalkit.reading.tables.slices import Slice, of_groups
from evalkit.statistics import chosen_threshold, count_bootstrap, interval_methods, passes
from evalkit.statistics.binned_scores import BinnedScore, columns
from evalkit.statistics.of_sums import Moments, SummedRows
from evalkit.statistics.passes import First, Second
from evalkit.statistics.sample import HeldRows
from evalkit.statistics.statistic import Layout
from evalkit.studies import account, study, thresholds
from evalkit.studies.binary import AT, ORDER, BinaryStudy, Facts
from evalkit.studies.study import Settings
from evalkit.studies.thresholds import Rule
from evalkit.studies.unit_stream import Streamed


@dataclass(frozen=True, eq=False, repr=False)
class RowsStudy(BinaryStudy):
    """Intervals and tests from the rows themselves."""

    listed_under: ClassVar[str] = "Row by row"

    data: Binary

    @cached_property
    def facts(self) -> Facts:
        """What the page says of the rows."""
        d, rows = self.data, self.data.rows
        return Facts(
            account=account.of_rows(rows),
            positive=d.positive,
            negative=d.negative,
            positives=int(d.label.sum()),
            weighted=d.weight is not None,
            outside={name: int(((score < 0) | (score > 1)).sum()) for name, score in d.score.items()},
            precision={name: own["score"] for name, own in rows.precision.items()},
        )

    @cached_property
    def wrong(self) -> Mapping[str, int]:
        """Rows of each system that are certain of the other class."""
        return {name: _certain_and_wrong(self.data, name) for name in self.data.score}

    @cached_property
    def repeated(self) -> int:
        """Rows whose label and scores another row has too."""
        if len(self.systems) == 1 and self.data.weight is None:
            c = self.table(self.systems[0])  # which counts them already
            return self.facts.rows - _filled(c)
        return _repeated_rows(self.data)

    @property
    def binned(self) -> Mapping[str, tuple[float, float, float]]:
        """None: every score is counted by itself."""
        return {}

    @cached_property
    def sample(self) -> HeldRows:
        """Every system's scores with its threshold."""
        decided = {name: rows.at(self.thresholds[name], self._redraw(name)) for name, rows in self._rows.items()}
        return HeldRows(decided, lambda: self.data.rows.id)

    @property
    def rechosen(self) -> bool:
        """Whether a rule chooses the threshold."""
        return self.rule.fixed is None

    def _redraw(self, name: str) -> Callable[[], Counts] | None:
        """What is decided on bootstrap samples, which are those of all systems."""
        rows, drawn = self._rows[name], self.settings.limits.bands
        redrawn = partial(chosen_threshold.redrawn, rows, self.rule.choose, rng=self.rng(7), samples=drawn)
        return cache(redrawn) if self.rechosen else None

    @cached_property
    def _rows(self) -> dict[str, Rows]:
        d = self.data
        shared: dict[str, Any] = {"weight": d.weight, "unit": self.unit, "beside": self.beside(d.rows)}
        return {name: Rows(d.label, score, **shared) for name, score in d.score.items()}

    def table(self, system: str) -> Counts:
        """The counts of a system."""
        return self._rows[system].counts

    def one_class(self, part: Slice) -> bool:
        """Whether the rows of a slice are all positive or all negative."""
        return len(np.unique(self.data.label[part.member])) < 2

    def resample(self, system: str) -> list[Counts]:
        """A system's table in cells, and those of bootstrap samples of its rows or units."""
        rows = self.sample.rows[system]
        table = cells.pooled(rows.counts)
        if rows.plain:
            return [table, *count_bootstrap.resampled(table, rng=self.rng(3), resamples=self.settings.limits.bands)]
        drawn = count_bootstrap.resampled_units(rows, rng=self.rng(3), resamples=self.settings.limits.bands)
        return [table, *drawn]


def _certain_and_wrong(d: Binary, name: str) -> int:
    low, high = d.score[name] < calibration.EPSILON, d.score[name] > 1 - calibration.EPSILON
    return int((low & (d.label == 1)).sum() + (high & (d.label == 0)).sum())


def _repeated_rows(d: Binary) -> int:
    columns = np.column_stack([d.label, *d.score.values()])
    order = np.lexsort(columns.T)
    return int((columns[order][1:] == columns[order][:-1]).all(axis=1).sum())


# The parameters ---------------------------------------------------------------------------------------------------


OF_UNITS = "units to rank rows within; set unit='COLUMN', such as the user"


@dataclass(frozen=True, eq=False)
class Asked:
    """What the parameters ask of a binary study."""

    settings: Settings
    rule: Rule
    costs: Costs
    prevalence: float | None


def asked(systems: tuple[str, ...], outside: str, p: Classification, limits: Limits) -> Asked:
    """The parameters, checked. outside: says of a score that is no probability what and where it is, else ""."""
    lacks = {"probabilities": f"probabilities, {outside}"} if outside else {}
    lacks |= {} if p.unit else {"scores of units": OF_UNITS}
    chosen = lookup.possible(p.metrics, "counts", (*ORDER, *AT), lacks)
    settings = study.settings(p, chosen, unit=p.unit, segments=p.segments, limits=limits)
    study.check_systems(settings, systems)
    usual: Threshold = BestF1() if outside else 0.5
    rule = thresholds.rule(usual if p.threshold is None else p.threshold)
    return Asked(settings, rule, rule.costs or p.costs or EqualCosts(), p.prevalence)


def of_rows(data: Binary, p: Classification, limits: Limits = USUAL) -> RowsStudy:
    """The study of rows in memory."""
    a = asked(data.rows.systems, _outside_of_rows(data), p, limits)
    attributes = attributes_of(data.rows, a.settings.attributes, a.settings.unit)
    return RowsStudy(a.settings, data.rows.systems, attributes, p.given, a.rule, a.costs, a.prevalence, data)


def _outside_of_rows(data: Binary) -> str:
    """The first score that is no probability."""
    for name, score in data.score.items():
        if not outcomes.are_probabilities(score):
            row = int(np.flatnonzero((score < 0) | (score > 1))[0])
            return f"got the score {score[row]:g} of {name} ({data.rows.place(row, name)})"
    return ""


@dataclass(frozen=True, eq=False, repr=False)
class SumsStudy(Streamed, BinaryStudy):
    """Intervals and tests from sums over the rows."""

    counted: Facts
    certain: Mapping[str, int]
    summed: SummedRows
    groups: Mapping[str, Sequence[str]]
    threads: int
    rereading: Rereading

    @property
    def facts(self) -> Facts:
        """What the page says of the rows."""
        return self.counted

    @property
    def wrong(self) -> Mapping[str, int]:
        """Rows of each system that are certain of the other class."""
        return self.certain

    @cached_property
    def repeated(self) -> int | None:
        """Rows whose label and scores another row has too: of rows that count alike."""
        return _repeated_scores(self.sample.tables[0], self.facts.rows) if self.plain else None

    @cached_property
    def binned(self) -> Mapping[str, tuple[float, float, float]]:
        """Of systems whose scores share bins, the most that moves AUC, and the limits of average precision."""
        tables = self.sample.tables[0]
        return {name: _moved(table) for name, table in tables.items() if grid.spread(table.bins).any()}

    @property
    def sample(self) -> SummedRows:
        """All systems on the same rows."""
        return self.summed

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """Every metric of every system, best first; metrics are estimated side by side."""
        pairs = [(chosen, name) for chosen in self.settings.metrics for name in self.systems]
        side_by_side.every(lambda pair: self.estimate(*pair), pairs, self.threads)
        return super().estimates

    def rows_of(self, named: Named, system: int) -> Rows:
        """The rows of a shard with the threshold of a system."""
        some, cut = named.shard, self.thresholds[self.rereading.table.systems[system]]
        return Rows(some.label.astype(np.int64), some.score[system], cut, named.weight, beside=some.beside)

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
        return of_groups(self.groups)

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

    def loss(self, chosen: Chosen, name: str) -> dict[str, float]:
        """A mean loss with its limits; of one that was not read those of the table, none of units or weights."""
        if chosen in self.settings.metrics:
            return super().loss(chosen, name)
        e = interval_methods.mean_of_table(chosen, self.chances(name), level=self.settings.level)
        low, high = (e.low, e.high) if self.plain else (np.nan, np.nan)
        return {"value": e.value, "low": low, "high": high}

    def resample(self, system: str) -> list[Counts]:
        """A system's table in cells, and those of bootstrap samples of its rows; none where rows cluster or weigh."""
        table = cells.pooled(self.chances(system))
        if not self.banded:
            return [table]
        return [table, *count_bootstrap.resampled(table, rng=self.rng(3), resamples=self.settings.limits.bands)]


# Two readings ---------------------------------------------------------------------------------------------------------


def of_sums(t: Large, p: Classification, limits: Limits = USUAL) -> SumsStudy:
    """The study of a table that is read twice."""
    a = asked(t.systems, _outside_of_table(t), p, limits)
    _refuse_unsummed(a.settings.metrics, t)
    tables, rows, positives = _tables(t, a)
    plain = a.settings.unit is None and t.plan.scale is None
    layout = Layout.SUMMED if plain else Layout.SUMMED_VARIED
    sample = SummedRows(tables, _moments(t, a, tables, plain=plain), layout)
    facts = Facts(
        account=account.of_table(t, rows),
        positive=t.positive,
        negative=t.negative,
        positives=positives,
        weighted=t.plan.scale is not None,
        outside=t.outside,
        precision=t.precision,
    )
    more = t.certain, sample, t.slices, t.engine.threads, Rereading(t, rows)
    return SumsStudy(a.settings, t.systems, {}, p.given, a.rule, a.costs, a.prevalence, facts, *more)


def _refuse_unsummed(metrics: Sequence[Chosen], t: Large) -> None:
    """Raises ParameterError for a metric that cannot be computed from sums over rows that are read twice."""
    for chosen in metrics:
        if not chosen.base.metric.tabled:
            columns = " and ".join(chosen.metric.columns)
            why = f"computed from the column {columns}" if columns else "a ranking of each unit's rows"
            raise ParameterError(
                f"metrics: {chosen.label} is {why}, which needs all rows in memory, got {t.rows:,} rows"
            )


def _tables(t: Large, a: Asked) -> tuple[list[dict[str, BinnedScore]], int, int]:
    """The tables of every system in every group, rows and positive rows; raises InputError for ids that do not pair."""
    cuts = [a.rule.at(_NOTHING, t.precision[name]) for name in t.systems] if a.rule.fixed is not None else None
    limits = a.settings.limits
    first = First(len(t.systems), cuts, limits.bins, limits.slice_bins)
    binned = t.reduce(first, first.merge, by_unit=False)
    rows, positives, twice, differ = map(int, passes.facts(binned))
    if twice or differ:
        raise tabled.refuse(t)
    if not rows:
        raise pairing.nothing_shared(t.systems)
    if not t.plan.paired and rows != t.rows:
        raise tabled.changed(t.name)
    groups: dict[int, dict[str, BinnedScore]] = {}
    chosen: dict[str, float] = {}
    for key, bins in sorted(first.bins(binned).items()):
        group, system = divmod(key, len(t.systems))
        name = t.systems[system]
        known, scale = None, t.plan.scale or 1.0
        if not group:
            known = grid.counts(bins, scale)
            chosen[name] = a.rule.at(known, t.precision[name])
        groups.setdefault(group, {})[name] = BinnedScore(name, bins, scale, chosen[name], known)
    return [groups[group] for group in sorted(groups)], rows, positives


_NOTHING = counts.count([], [])


def _moments(t: Large, a: Asked, tables: Sequence[Mapping[str, BinnedScore]], *, plain: bool) -> dict[int, Moments]:
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


def _repeated_scores(tables: Mapping[str, BinnedScore], rows: int) -> int | None:
    """Rows whose label and score another row has too: known of one system whose scores do not share bins."""
    if len(tables) > 1 or grid.spread(next(iter(tables.values())).bins).any():
        return None
    return rows - _filled(next(iter(tables.values())).counts)


def _filled(c: Counts) -> int:
    """How many pairs of a label and a score there are."""
    return int(np.count_nonzero(c.positive) + np.count_nonzero(c.negative))


def _moved(t: BinnedScore) -> tuple[float, float, float]:
    spread = grid.spread(t.bins)
    return grid.auc_width(t.counts, spread), *grid.average_precision_limits(t.counts, spread)


def _outside_of_table(t: Large) -> str:
    """The first score that is no probability."""
    name = next((name for name, rows in t.outside.items() if rows), None)
    if name is None:
        return ""
    place, value = large.first_outside(t, name)
    return f"got the score {value:g} of {name} ({place})"

"""The study of forecasts from two readings of a table that need not fit into memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, ParameterError, ratio
from evalkit.catalogue.forecast_kinds import Quantile
from evalkit.catalogue.kinds import Loss
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.metrics.distribution import Counted
from evalkit.metrics.grid import Grid
from evalkit.metrics.mean_calibration import Means
from evalkit.metrics.rows import Rows
from evalkit.reading.inputs import pairing
from evalkit.reading.reductions import forecasts, tabled
from evalkit.reading.reductions.forecasts import Large
from evalkit.reading.reductions.rereading import Named, Rereading
from evalkit.reading.reductions.tabled import Tabled
from evalkit.reading.tables.slices import Slice, of_groups
from evalkit.statistics import forecast_passes, gathered, inference
from evalkit.statistics.forecast_passes import ALONG, FACTS, Along, First, Moved, Second
from evalkit.statistics.gathered import Gathered
from evalkit.statistics.of_sums import Moments
from evalkit.statistics.of_totals import OfTotals
from evalkit.statistics.statistic import Layout
from evalkit.studies import account, forecast_spread, mean_reliability
from evalkit.studies import study as studies
from evalkit.studies.account import Account
from evalkit.studies.mean_reliability import MeanReliability
from evalkit.studies.rating_study import BIAS, EXAMPLES, MEAN, MEDIAN, SHARES, Actual, Rating, Tenth, tenth_edges
from evalkit.studies.study import Settings
from evalkit.studies.unit_stream import Streamed

IN_TENTH = Chosen(Metric("number", "rows", Loss(lambda rows, k: rows.actual), "", "", "", low=-np.inf, high=np.inf))
CONSTANTS = (MEAN, MEDIAN)


@dataclass(frozen=True, eq=False)
class Read:
    """What the first reading tells. order: the systems. scale: what weights are counted in, None without any."""

    order: tuple[str, ...]
    first: First
    g: Gathered

    @property
    def scale(self) -> float | None:
        """What weights are counted in, None without any."""
        return self.first.scale

    @cached_property
    def facts(self) -> list[float]:
        """See `First`."""
        return self.g.sums[FACTS].tolist()

    def counted(self, bins: Grid, name: str, place: int) -> Counted:
        """The bins of a column, of which the numbers that are not whole were counted."""
        return Counted.of(bins, self.scale or 1.0, whole=not self.g.sums[name][place])

    @cached_property
    def target(self) -> Counted:
        """The actual values."""
        return self.counted(self.g.grids["actual"], "parted actual", 0)

    @cached_property
    def forecasts(self) -> dict[str, Counted]:
        """The forecasts of each system."""
        g = self.g.grids
        return {name: self.counted(g[f"0 {i} forecast"], f"parted {i}", 0) for i, name in enumerate(self.order)}

    @cached_property
    def errors(self) -> dict[str, Counted]:
        """The errors of each system."""
        g = self.g.grids
        return {name: self.counted(g[f"0 {i} error"], f"parted {i}", 1) for i, name in enumerate(self.order)}

    @property
    def mean(self) -> float:
        """The mean of the actual values."""
        return self.first.centres[0][0] + float(ratio(self.facts[6], self.g.sums["0"][1]))

    def known(self, chosen: Chosen, group: int, system: int) -> Any:
        """What a metric follows from: sums of its terms, or the middle of the sizes of errors."""
        return known(chosen, self.g, f"{group} {system}", self.g.sums[f"{group}"][2], self.scale)


def known(chosen: Chosen, g: Gathered, place: str, squares: float, scale: float | None) -> Any:
    """What a metric follows from at a place. squares: the sum of the squared weights of its rows."""
    kind = chosen.metric.kind
    if isinstance(kind, Quantile):
        sizes = Counted.of(g.grids[f"{place} error"], scale or 1.0, whole=False).sizes()
        return kind.middle(sizes, squares, weighted=scale is not None)
    return g.sums[f"{place} {chosen.label}"]


@dataclass(frozen=True, eq=False)
class Summed:
    """What a study measures on: sums of how much each row moves the metrics of each system, by group."""

    read: Read
    moments: Mapping[int, Moments]
    layout: Layout

    def measure(self, chosen: Chosen, system: str, member: Any) -> OfTotals:
        """The metric of a system in a group; a slice is all rows."""
        group, i, base = 0 if isinstance(member, slice) else member, self.read.order.index(system), chosen.base
        kind: Any = base.metric.kind
        totals = self.read.known(base, group, i)
        column = f"{i} {base.label}"
        members = int(totals[1]) if isinstance(kind, Loss) and self.layout is Layout.SUMMED else None
        moments = self.moments[group]
        return OfTotals(chosen, moments, self.layout, kind.of_terms(totals), {column: 1.0}, column, members)


@dataclass(frozen=True, eq=False, repr=False)
class SumsStudy(Streamed, Rating):
    """The study of rows that were read twice. worst: the rows that each system misses by most."""

    counted: Account
    summed: Summed
    second: Second
    g: Gathered
    groups: Mapping[str, Sequence[str]]
    worst: pd.DataFrame
    rereading: Rereading

    @property
    def account(self) -> Account:
        """What was read."""
        return self.counted

    @property
    def sample(self) -> Summed:
        """All systems on the same rows."""
        return self.summed

    @property
    def read(self) -> Read:
        """What the first reading tells."""
        return self.summed.read

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return self.read.scale is not None

    @property
    def units(self) -> int:
        """The units that vary: rows, or the units of the column that was named."""
        return self.summed.moments[0].n

    @cached_property
    def slices(self) -> list[Slice]:
        """The groups of rows that share a value of a segment column, by their numbers."""
        return [part for part in of_groups(self.groups) if part.member in self.summed.moments]

    @property
    def actual(self) -> Actual:
        """The actual values."""
        n, _, _, zeros, total, square = self.read.facts[:6]
        mean, target = total / n, self.target
        deviation = float(np.sqrt(max(square / n - mean**2, 0.0)))
        return Actual(self.read.first.centres[0][0] + mean, deviation, target.low, target.high, zeros / n)

    @property
    def target(self) -> Counted:
        """How the actual values are distributed."""
        return self.read.target

    @property
    def forecasts(self) -> dict[str, Counted]:
        """How the forecasts of each system are distributed."""
        return self.read.forecasts

    @property
    def errors(self) -> dict[str, Counted]:
        """How forecast − actual of each system is distributed."""
        return self.read.errors

    def of_constant(self, chosen: Chosen, name: str) -> float:
        """The metric of forecasting the mean or the median of the actual values for every row."""
        kind: Any = chosen.base.metric.kind
        squares = self.read.g.sums["0"][2]
        of = kind.of_terms(known(chosen.base, self.g, f"constant {CONSTANTS.index(name)}", squares, self.read.scale))
        whole: Any = chosen.metric.kind
        return float(of if whole.original is None else whole.f(of))

    def nearer(self, pair: tuple[str, str]) -> tuple[int, int]:
        """Units on which the first system has the smaller absolute error, and on which the second has."""
        i, j = (self.read.order.index(name) for name in pair)
        first, second = self._nearer(min(i, j), max(i, j)).astype(int).tolist()
        return (first, second) if i < j else (second, first)

    def _nearer(self, i: int, j: int) -> Floats:
        if self.settings.unit is None:
            return self.read.g.sums[f"near {i} {j}"]
        if self.second.apart:
            return forecast_passes.won(self.g.sums[f"off {i}"], self.g.sums[f"off {j}"])
        return self.g.sums[f"won {i} {j}"]

    def tenths_of(self, name: str) -> list[Tenth]:
        """Tenths of a system's forecasts, lowest first."""
        i = self.read.order.index(name)
        tenths = [f"{i} tenth {tenth}" for tenth in range(len(self.second.along[i].edges) + 1)]
        return [self._tenth(at, i, self.g.sums[key]) for at, key in enumerate(tenths, start=1) if key in self.g.sums]

    def _tenth(self, number: int, system: int, sums: Floats) -> Tenth:
        m = gathered.moments(sums, list(ALONG), apart=self.second.apart)
        rows, weight, forecast, actual, above = m.sums.tolist()
        centre, each = float(ratio(above, weight)), float(ratio(1.0, weight))
        of = self.second.along[system].bias + centre
        bias = OfTotals(IN_TENTH, m, self.layout, of, {"above": each, "weight": -centre * each}, "above")
        e = inference.estimate(bias, self.inference_options(1))
        return Tenth(number, float(ratio(forecast, weight)), float(ratio(actual, weight)), e, int(rows))

    def mean_of(self, name: str) -> MeanReliability:
        """The mean of the actual values along the forecast of a system."""
        i, settings = self.read.order.index(name), self.settings
        columns = self.g.sums[f"{i} bins"].reshape(4, -1)
        weight, actual, forecast, squares = columns[:, columns[0] > 0]
        table = Means(ratio(forecast, weight), weight, ratio(actual, weight), np.empty(0, np.int64))
        total, around = self.read.g.sums["0"][1], self.read.facts[6:]
        uncertainty = float(around[1] / total - (around[0] / total) ** 2)
        drawn: dict[str, Any] = {"draws": settings.limits.bands, "level": settings.level}
        kept = squares if self.banded else None
        return mean_reliability.of_sums(table, kept, uncertainty, self.forecasts[name], self.rng(5), **drawn)

    def crossed(self, name: str, against: str, edges: tuple[Floats, Floats]) -> Floats:
        """The weight of rows in cells of a system's forecast and, against it, the actual value or the error."""
        cells = self.g.sums[f"{self.read.order.index(name)} {against} cells"]
        return cells.reshape(len(edges[0]) - 1, len(edges[1]) - 1)

    def windows(self, names: list[str]) -> list[str]:
        """The systems over which the axes of their pictures reach: all, as cells are counted once."""
        return list(self.systems)

    def extremes(self, n: int = EXAMPLES) -> pd.DataFrame:
        """The rows that the leader misses by most."""
        return self.worst[:n]

    @property
    def bound(self) -> float:
        """How far quantiles of the errors can lie from those of the rows; 0 where all errors are counted."""
        ends = (column.bound(SHARES) for error in self.errors.values() for column in (error, error.sizes()))
        return max(ends)

    def rows_of(self, named: Named, system: int) -> Rows:
        """The forecasts of a system."""
        some = named.shard
        return Rows(some.label, some.score[system], weight=named.weight, beside=some.beside)

    @property
    def banded(self) -> bool:
        """Whether reliability diagrams have bands: sums tell how rows vary, not how units do."""
        return self.settings.unit is None


# Two readings ---------------------------------------------------------------------------------------------------------


def study_of(t: Large, settings: Settings, given: Mapping[str, Any]) -> SumsStudy:
    """The study of a table that is read twice. Raises ParameterError for a metric that needs the rows themselves."""
    studies.check_systems(settings, t.systems)
    read = _first(t, settings)
    refuse_unlike(read, t.systems)
    second = _second(t, read)
    g = second.whole(t.reduce(second, second.merge, by_unit=True))
    moments = {
        group: gathered.moments(g.sums[f"{group} moments"], second.names(group), apart=second.apart)
        for group in second.models
    }
    plain = settings.unit is None and t.plan.scale is None
    summed = Summed(read, moments, Layout.SUMMED if plain else Layout.SUMMED_VARIED)
    counted, rereading = account.of_table(t, int(read.facts[0])), Rereading(t, int(read.facts[0]))
    study = SumsStudy(settings, t.systems, {}, given, counted, summed, second, g, t.slices, pd.DataFrame(), rereading)
    return replace(study, worst=_worst(t, study))


def _first(t: Large, settings: Settings) -> Read:
    """The first reading; raises InputError for ids that do not pair."""
    metrics = list(dict.fromkeys([*(chosen.base for chosen in settings.metrics), BIAS]))
    refuse_unsummed(metrics, t)
    limits, centres = settings.limits, [(t.actual, t.centres[name]) for name in t.systems]
    sliced = [settings.metrics[0].base]
    first = First(metrics, sliced, centres, t.plan.scale, limits.bins, limits.slice_bins)
    read = Read(t.systems, first, first.whole(t.reduce(first, first.merge, by_unit=False)))
    rows, twice, differ = map(int, read.facts[:3])
    if twice or differ:
        raise tabled.refuse(t)
    if not rows:
        raise pairing.nothing_shared(t.systems)
    if not t.plan.paired and rows != t.rows:
        raise tabled.changed(t.name)
    return read


def refuse_unsummed(metrics: Sequence[Chosen], t: Tabled) -> None:
    """Raises ParameterError for a metric that sums and counted errors do not tell."""
    for chosen in metrics:
        kind = chosen.base.metric.kind
        if not (kind.totalled or isinstance(kind, Quantile)):
            raise ParameterError(f"metrics: {chosen.label} needs all rows in memory, got {t.rows:,} rows")


def refuse_unlike(read: Read, systems: Sequence[str]) -> None:
    """Raises ParameterError for a loss of which systems leave out other rows: which they are only the rows tell."""
    for chosen in read.first.metrics:
        if isinstance(chosen.metric.kind, Loss):
            members = {read.known(chosen, 0, i)[1] for i in range(len(systems))}
            if len(members) > 1:
                raise ParameterError(f"metrics: {chosen.label} leaves rows out that differ by system, which needs all "
                                     "rows in memory; choose the systems one by one")  # fmt: skip


def _second(t: Large, read: Read) -> Second:
    """What the second reading needs to know of the first."""
    every = [int(name) for name in read.g.sums if name.isdecimal()]
    models = {group: moved(read, group, _metrics(read, group)) for group in sorted(every)}
    columns = list(read.forecasts.values())
    x, actual = (forecast_spread.edges(some, forecast_spread.CELLS) for some in (columns, [read.target]))
    bias: Any = BIAS.metric.kind
    along = [
        Along(
            edges=tenth_edges(read.forecasts[name]),
            bias=bias.of_terms(read.known(BIAS, 0, i)),
            low=read.g.grids[f"0 {i} forecast"].low,
            x=x,
            actual=actual,
            own=forecast_spread.edges([read.forecasts[name]], forecast_spread.CELLS),
            error=forecast_spread.edges([read.errors[name]], forecast_spread.CELLS),
        )
        for i, name in enumerate(read.order)
    ]
    return Second(models, along, [read.mean, read.target.weighted_median()], read.first, bool(t.plan.units))


def moved(read: Read, group: int, metrics: Sequence[Chosen]) -> list[list[Moved]]:
    """How much each row of a group moves these metrics of each system."""
    return [
        [Moved(chosen, centre, read.known(chosen, group, i)) for chosen in metrics]
        for i, centre in enumerate(read.first.centres)
    ]


def _metrics(read: Read, group: int) -> Sequence[Chosen]:
    return read.first.sliced if group else read.first.metrics


def _worst(t: Large, study: SumsStudy) -> pd.DataFrame:
    """The rows that the leader misses by most, which the engine is asked for."""
    rows = forecasts.farthest(t, study.leader, EXAMPLES, paired=bool(study.account.alone))
    return pd.DataFrame(rows, columns=["id", "actual", "forecast"]).assign(
        error=lambda frame: frame["forecast"] - frame["actual"]
    )

"""The study of out-of-fold forecasts of numbers from three readings of rows that need not fit into memory.

The first one counts the actual values, for the median that the baseline says; the others tell what metrics add up to,
and how much each row moves them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, ParameterError, ratio
from evalkit.catalogue.forecast_kinds import Quantile
from evalkit.catalogue.kinds import Loss
from evalkit.catalogue.metric import Chosen
from evalkit.metrics.distribution import Counted
from evalkit.metrics.rows import Rows, Shard
from evalkit.reading.reductions import fold_medians, tabled
from evalkit.reading.reductions.folds import LargeFolds
from evalkit.statistics import gathered, of_folds
from evalkit.statistics.forecast_passes import FACTS, First, Moved, Second
from evalkit.statistics.gathered import Gathered
from evalkit.statistics.of_moments import refuse_unsummed
from evalkit.statistics.of_sums import Moments
from evalkit.statistics.of_totals import OfTotals
from evalkit.statistics.statistic import Layout
from evalkit.studies import validity_sums
from evalkit.studies.fold_cells import Laid, audit
from evalkit.studies.study import Settings
from evalkit.studies.validity_facts import Label
from evalkit.studies.validity_sums import Beside, Sampled, SumsStudy


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
class ForecastsStudy(SumsStudy):
    """The study of forecasts of numbers."""

    def rows_of(self, shard: Shard) -> dict[str, Rows]:
        """The forecasts of each system."""
        return {name: Rows(shard.label, score) for name, score in zip(self.systems, shard.score, strict=True)}

    def precise(self, parts: Sequence[Any]) -> tuple[Floats, float]:
        """1 / variance of one metric on parts of like rows, and from how many units the variance is known."""
        if self.settings.unit is None and parts[0].chosen.metric.kind.of_rows:
            return of_folds.alike(self.measure(self.primary.base, self.subject), parts), np.inf
        variance, units = of_folds.variances(parts)
        return ratio(1.0, variance), units


@dataclass(frozen=True, eq=False)
class Ask:
    """What is read. systems: the baseline last, which says the same number in each fold."""

    settings: Settings
    systems: tuple[str, ...]
    baseline: Floats

    def read(self, t: LargeFolds, metrics: Sequence[Chosen]) -> Read:
        """What the metrics add up to."""
        limits, every = self.settings.limits, list(dict.fromkeys(chosen.base for chosen in metrics))
        centres = [*(t.centres[name] for name in t.systems), float(self.baseline.mean())]
        fewer = validity_sums.bins_of_fold(self.settings, len(self.baseline))
        first = First(every, every, [(t.actual, centre) for centre in centres], None, limits.bins, fewer)
        read = Read(
            self.systems, first, first.whole(t.reduce(Beside(self.baseline, first), first.merge, by_unit=False))
        )
        rows, twice, differ = map(int, read.facts[:3])
        if twice or differ or rows != int(t.cells.rows.sum()):
            raise tabled.changed(t.name)
        refuse_unlike(read, self.systems)
        return read

    def sample(self, t: LargeFolds, read: Read, metrics: Sequence[Chosen]) -> Summed:
        """How much each row moves the metrics, by row or by unit; in each fold it is the first that counts."""
        wanted = list(dict.fromkeys(chosen.base for chosen in metrics))
        groups = [int(name) for name in read.g.sums if name.isdecimal()]
        models = {group: moved(read, group, wanted[:1] if group else wanted) for group in sorted(groups)}
        second = Second(models, read.first, bool(t.plan.units))
        g = second.whole(t.reduce(Beside(self.baseline, second), second.merge, by_unit=True))
        moments = {
            group: gathered.moments(g.sums[f"{group} moments"], second.names(group), apart=second.apart)
            for group in models
        }
        return Summed(read, moments, Layout.SUMMED_VARIED if t.plan.unit else Layout.SUMMED)


def study_of(laid: Laid, settings: Settings, given: Mapping[str, Any], *, baseline: str) -> ForecastsStudy:
    """The study of a table that is read three times. Raises ParameterError for a metric that needs the rows."""
    refuse_unsummed(settings.metrics, laid.t.rows)
    counted = fold_medians.read(laid.t, settings.limits.bins)
    medians = np.array([counted.median(train) for train, _ in laid.column.folds.pairs])
    ask, t = Ask(settings, (*laid.t.systems, baseline), medians), validity_sums.tested(laid)
    read, first = ask.read(t, settings.metrics), settings.metrics[:1]
    train = validity_sums.training(laid) if laid.column.holdout else None
    label = Label({}, laid.t.least, laid.t.most, counted.mean(np.arange(len(laid.t.cells.text))))
    return ForecastsStudy(
        settings=settings,
        systems=ask.systems,
        attributes={},
        given=given,
        described=(),
        threshold=None,
        known=validity_sums.facts_of(laid, label),
        folds=laid.split(),
        audited=audit(laid),
        sampled=Sampled(
            ask.sample(t, read, settings.metrics),
            ask.sample(validity_sums.by_row(t), read, first) if t.plan.unit else None,
            None if train is None else ask.sample(train, ask.read(train, first), first),
        ),
        labels=[counted.mean(np.array([cell])) for cell in laid.tests],
        laid=laid,
        guessed=medians,
    )


def refuse_unlike(read: Read, systems: Sequence[str]) -> None:
    """Raises ParameterError for a loss of which systems leave out other rows: which they are only the rows tell."""
    for chosen in read.first.metrics:
        if isinstance(chosen.metric.kind, Loss):
            members = {read.known(chosen, 0, i)[1] for i in range(len(systems))}
            if len(members) > 1:
                raise ParameterError(f"metrics: {chosen.label} leaves rows out that differ by system, which needs all "
                                     "rows in memory; choose the systems one by one")  # fmt: skip


def moved(read: Read, group: int, metrics: Sequence[Chosen]) -> list[list[Moved]]:
    """How much each row of a group moves these metrics of each system."""
    return [
        [Moved(chosen, centre, read.known(chosen, group, i)) for chosen in metrics]
        for i, centre in enumerate(read.first.centres)
    ]

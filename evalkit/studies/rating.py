"""The rating study: actual values and forecasts, errors with intervals, bias along the forecast, paired comparisons.

A table is read once, block by block, and what is kept of it tells all that the page asks; one that fits is one block,
whose rows are at hand beside it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit import parameters
from evalkit.arrays import Bools, Floats, codes, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.forecast_kinds import Quantile
from evalkit.catalogue.kinds import Loss
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.limits import USUAL, Limits
from evalkit.metrics.block import Block
from evalkit.metrics.distribution import Counted
from evalkit.metrics.kept import Counts, Distinct, Extremes, Moments, Parted, Sample, Total, won
from evalkit.metrics.mean_calibration import Means
from evalkit.metrics.rows import Rows
from evalkit.parameters import Columns, ColumnsOfEach, Metrics, Named, Names, Tables, documented
from evalkit.reading.engines import base
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.aligned import attributes_of, number_of
from evalkit.reading.inputs.ratings import Forecast, Ratings
from evalkit.reading.reductions import blocks, tabled
from evalkit.reading.reductions.blocks import WEIGHT, Blocks
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.slices import Slice, of_groups
from evalkit.statistics import inference
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.of_moments import Kept, OfSums, Summed, Terms, refuse_unsummed
from evalkit.statistics.sample import HeldRows
from evalkit.statistics.statistic import Layout
from evalkit.studies import account, mean_reliability, study, unit_stream
from evalkit.studies.account import Account
from evalkit.studies.mean_reliability import MeanReliability
from evalkit.studies.row_study import RowStudy
from evalkit.studies.study import Settings
from evalkit.studies.units import Units

SAMPLE = {"preds": "data/visit_forecasts/predictions.csv", "unit": "person", "segments": ["plan", "health"]}
METRICS = ("mae", "rmse", "bias", "median_absolute_error", "r2")
BIAS = lookup.find("bias", "forecasts")
IN_TENTH = Chosen(Metric("number", "rows", Loss(lambda rows, k: rows.actual), "", "", "", low=-np.inf, high=np.inf))
TENTHS = 10
EXAMPLES = 5
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
MEAN, MEDIAN = "mean", "median"  # of the actual values


@documented(parameters.Rating)
def read(
    preds: Tables | None = None,
    *,
    columns: Named | None = None,
    systems: Names | None = None,
    metrics: Metrics | None = None,
    unit: str | None = None,
    segments: Names | None = None,
    baseline: str | None = None,
    gate: str | None = None,
    title: str | None = None,
    note: str | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | None = None,
    y_true: Columns | None = None,
    y_pred: ColumnsOfEach | None = None,
    sample_weight: Columns | None = None,
) -> "Rating":
    """Read actual values and forecasts, and measure and compare how far they are apart.

    Without `preds` and arrays it is the bundled sample. Raises ParameterError for a parameter, InputError for
    the input.

    >>> import evalkit as ek
    >>> ek.rating(y_true=[3, 5, 4, 8], y_pred=[2, 5, 6, 7], metrics="mae").estimates["value"].tolist()
    [1.0]
    """
    return study_of(parameters.Rating.of(locals()))


@sources.naming_files
def study_of(p: parameters.Rating, limits: Limits = USUAL) -> "Rating":
    """The study that the parameters of `read` ask for, within these limits."""
    p = p.filled(SAMPLE) if p.preds is None else p
    metrics = lookup.chosen(p.metrics, "forecasts", METRICS)
    settings = study.settings(p, metrics, unit=p.unit, segments=p.segments, limits=limits)
    asked = Forecast.of(
        sources.parts(p.preds, p.header, limits.reading),
        columns=p.columns,
        systems=p.systems,
        attributes=settings.attributes,
        beside=settings.columns,
    )
    study.check_columns(p.metrics, asked.parts)
    with tabled.engine_for(asked.parts, base.budget(p.memory, p.threads, p.spill, limits.reading)) as engine:
        if engine:
            table = blocks.read(engine, asked.parts, asked.numbered, asked.systems, settings.segments, p.unit)
            return _of_blocks(table, settings, p.given)
    return _of_rows(asked.read(), settings, p.given)


# What is kept of a block ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class KeptForecasts(Kept):
    """What is kept of forecasts, beside what their metrics are measured on.

    facts: rows, zeros, sums of actual values around their centre and of squares, weights, and these sums by weight.
    forecasts: of each system, with sums of forecasts and of errors. nearer: by pair, units that each misses less.
    """

    facts: Total
    actual: Counts
    forecasts: tuple[Counts, ...]
    nearer: dict[tuple[int, int], Total]
    far: tuple[Extremes, ...]
    ids: Distinct


def off(block: Block) -> Floats:
    """How far each system is off, a row a system."""
    return np.abs(block.said - block.truth)


@dataclass(frozen=True, eq=False)
class Asked:
    """What a block is asked for. ids: that are looked through for one that comes twice."""

    terms: Terms
    limits: Limits
    ids: int = 0

    def __call__(self, block: Block) -> KeptForecasts:
        """What is kept of a block."""
        error, around = block.said - block.truth, block.truth - self.terms.centres[0][0]
        w, squared, off, systems = block.weights, around * around, np.abs(error), range(len(error))
        zeros = np.count_nonzero(block.truth == 0)
        facts = [len(block), zeros, around.sum(), squared.sum(), w.sum(), np.sum(w * around), np.sum(w * squared)]
        moments: dict[int, Moments | Parted] = {}
        squares: dict[tuple[int, int, int], Moments] = {}
        errors: dict[tuple[int, int], Counts] = {}
        for group, part in block.groups():
            moments[group] = self.terms.moments(part, group)
            squares |= self.terms.squares(part, group)
            if not group or self.terms.quantile:
                bins = self.limits.slice_bins if group else self.limits.bins
                weight = [] if part.weight is None else [part.weight, part.weight**2]
                errors |= {(group, i): Counts.of(part.said[i] - part.truth, weight, bins) for i in systems}
        if block.clustered and not block.parted:
            off = np.add.reduceat(w * off, block.starts, axis=1)
        return KeptForecasts(
            facts=Total(np.array(facts, float)),
            actual=Counts.of(block.truth, [] if block.weight is None else [block.weight], self.limits.bins),
            forecasts=tuple(self._along(block, i) for i in systems),
            errors=errors,
            moments=moments,
            squares=squares,
            nearer={} if block.parted else {(i, j): won(off[i], off[j]) for i, j in combinations(systems, 2)},
            far=tuple(Extremes.of(block, np.abs(error[i]), i, EXAMPLES) for i in systems),
            sample=Sample.of(block, self.limits.drawn),
            ids=Distinct.of(np.empty(0) if block.id is None else block.id, self.ids),
        )

    def _along(self, block: Block, i: int) -> Counts:
        """Rows by forecast f, with the sums of w, w f, w d, w² and w² d, w² d² of the error d around its centre.

        Where all count alike, of f, d, d² and d³.
        """
        f, w = block.said[i], block.weight
        d = f - block.truth - self.centre(i)
        of_weight = [] if w is None else [w, w * f, w * d, w * w, w * w * d, w * w * d * d]
        return Counts.of(f, of_weight or [f, d, d * d, d * d * d], self.limits.bins)

    def centre(self, i: int) -> float:
        """Near which the errors of a system lie."""
        return self.terms.centres[i][1] - self.terms.centres[i][0]


# The study ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Actual:
    """How the actual values are distributed: mean, standard deviation, lowest, highest, share of zeros."""

    mean: float
    deviation: float
    low: float
    high: float
    zeros: float


@dataclass(frozen=True, eq=False, repr=False)
class Rating(RowStudy):
    """The study of forecasts of numbers; the units are rows, or the unit that was named.

    measured: what metrics are measured on. data: the rows where they are at hand; table: what was read where they are
    not.
    """

    account: Account
    asked: Asked
    kept: KeptForecasts
    measured: HeldRows | Summed
    weighted: bool
    data: Ratings | None = None
    table: Blocks | None = None

    report: ClassVar[str] = "rating"
    listed_under: ClassVar[str] = "Errors"

    @property
    def sample(self) -> HeldRows | Summed:
        """All systems on the same rows."""
        return self.measured

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.account.sources

    @cached_property
    def slices(self) -> list[Slice]:
        """The groups of rows that share a value of a segment column."""
        if self.table is None:
            return super().slices
        return [part for part in of_groups(self.table.slices) if part.member in self.kept.moments]

    @property
    def units(self) -> int:
        """The units that vary: rows, or the units of the column that was named."""
        return self.kept.moments[0].moments.n

    def units_held(self) -> Units:
        """The rows; those that are not at hand are read again as they are taken."""
        return unit_stream.units_of(self, self.table, len(self.account)) if self.table else super().units_held()

    # Distributions

    @cached_property
    def actual(self) -> Actual:
        """The actual values."""
        (n, zeros, total, square), target = self.kept.facts.sums[:4], self.target
        mean = total / n
        deviation = float(np.sqrt(max(square / n - mean**2, 0.0)))
        value = float(self.asked.terms.centres[0][0] + mean)
        return Actual(value, deviation, target.low, target.high, float(zeros / n))

    @cached_property
    def target(self) -> Counted:
        """How the actual values are distributed."""
        return self.kept.actual.counted(weighted=self.weighted)

    @cached_property
    def forecasts(self) -> dict[str, Counted]:
        """How the forecasts of each system are distributed."""
        counts = zip(self.systems, self.kept.forecasts, strict=True)
        return {name: c.counted(weighted=self.weighted) for name, c in counts}

    @cached_property
    def errors(self) -> dict[str, Counted]:
        """How forecast − actual of each system is distributed."""
        return {name: self.kept.errors[0, i].counted(weighted=self.weighted) for i, name in enumerate(self.systems)}

    @cached_property
    def spread(self) -> pd.DataFrame:
        """Quantiles of the error forecast − actual of every system."""
        rows = []
        for name in self.order:
            values = self.errors[name].quantiles(SHARES)
            rows.append({"system": name} | {f"{q:.0%}": v for q, v in zip(SHARES, values, strict=True)})
        return pd.DataFrame(rows)

    @property
    def bound(self) -> float:
        """How far quantiles of the errors can lie from those of the rows; 0 where all errors are counted."""
        return max(column.bound(SHARES) for error in self.errors.values() for column in (error, error.sizes()))

    @property
    def heavy(self) -> float:
        """The share of the leader's squared error that the worst hundredth of the rows holds."""
        return self.errors[self.leader].heaviest()

    def crossed(self, name: str, against: str, edges: tuple[Floats, Floats]) -> Floats:
        """The weight of rows in cells of a system's forecast and, against it, the actual value or the error.

        Of more rows than are drawn those drawn, each for as many as it stands for.
        """
        sample, said = self.kept.sample, self.kept.sample.rows.said[self.systems.index(name)]
        y = {"actual": sample.rows.truth, "error": said - sample.rows.truth}[against]
        weight = sample.stands_for * sample.drawn.times[0] * sample.rows.weights
        return np.histogram2d(said, y, edges, weights=weight)[0]

    def extremes(self, n: int = EXAMPLES) -> pd.DataFrame:
        """The rows that the leader misses by most, up to five."""
        far = self.kept.far[self.systems.index(self.leader)].rows[:n]
        rows = [(self.data.rows.id[name] if self.data else str(name), *sides) for name, *sides in far]
        frame = pd.DataFrame(rows, columns=["id", "actual", "forecast"])
        return frame.assign(error=frame["forecast"] - frame["actual"])

    # Beside the metrics

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """Units on which the first has the smaller absolute error, and the difference that so many would show."""
        i, j = (self.systems.index(name) for name in pair)
        low, high = sorted((i, j))
        moments = self.kept.moments[0]
        both = (
            won(*(moments.sums[1 + at] for at in (low, high)))
            if isinstance(moments, Parted)
            else self.kept.nearer[low, high]
        )
        wins, losses = both.sums.tolist()[:: 1 if i < j else -1]
        ties = self.units - wins - losses
        return {"wins": wins, "ties": ties, "losses": losses} | super().comparison_extras(chosen, pair)

    def constant(self, chosen: Chosen) -> float:
        """The metric of forecasting the mean of the actual values for every row."""
        return self._of_constant(chosen, self._mean)

    def constant_median(self, chosen: Chosen) -> float:
        """The metric of forecasting the median of the actual values for every row, which has the least MAE of all."""
        return self._of_constant(chosen, self.target.weighted_median())

    @property
    def _mean(self) -> float:
        """The mean of the actual values, by weight."""
        return float(self.asked.terms.centres[0][0] + ratio(self.kept.facts.sums[5], self.kept.facts.sums[4]))

    def _of_constant(self, chosen: Chosen, value: float) -> float:
        """The metric of one forecast for all rows; of a further column from the rows drawn."""
        if isinstance(self.sample, HeldRows):
            rows = self.sample.rows[self.leader]
            return chosen.value(Rows(rows.actual, np.full(len(rows), value), weight=rows.weight, beside=rows.beside))
        c, kind = self.target, chosen.metric.kind
        if isinstance(kind, Quantile):
            table = replace(c, values=c.values - value).sizes()
            return kind.middle(table, float(c.rows.sum()), weighted=self.weighted).value
        if not chosen.metric.columns:
            return chosen.value(Rows(c.values, np.full(len(c.values), value), weight=c.weight))
        drawn, times = self.kept.sample.rows, self.kept.sample.drawn.times[0]
        weight = drawn.weights * times
        return chosen.value(Rows(drawn.truth, np.full(len(drawn), value), weight=weight, beside=drawn.beside))

    # Along the forecast

    @cached_property
    def tenths(self) -> pd.DataFrame:
        """By tenths of each system's forecast: mean forecast, mean actual and bias with intervals, rows."""
        return pd.DataFrame([{"system": name} | row for name in self.order for row in self._tenths(name)])

    def _tenths(self, name: str) -> Iterator[dict[str, Any]]:
        i = self.systems.index(name)
        edges = self._edges(name)
        place = np.searchsorted(edges, self.forecasts[name].values, side="right")
        sums = np.array([np.bincount(place, column, len(edges) + 1) for column in self._along(i)])
        drawn = np.searchsorted(edges, self.kept.sample.rows.said[i], side="right")
        for tenth, (n, w, wf, wd, *more) in enumerate(sums.T.tolist()):
            if n:
                of = self.asked.centre(i) + float(ratio(wd, w))
                e = self._bias(i, drawn == tenth, of, np.array([n, w, wd, *more]))
                means = {"forecast": float(ratio(wf, w)), "actual": float(ratio(wf, w)) - of}
                yield {"tenth": tenth + 1} | means | {"bias": e.value, "low": e.low, "high": e.high, "n": int(n)}

    def _edges(self, name: str) -> Floats:
        """The edges of tenths of the rows."""
        return np.unique(self.forecasts[name].quantiles((np.arange(1, TENTHS) / TENTHS).tolist()))

    def _bias(self, i: int, member: Bools, of: float, sums: Floats) -> Estimate:
        """The mean error of a tenth. sums: of rows, w, w d, w², w² d, w² d² and d³; of units the rows drawn tell it."""
        rows = self.kept.sample.rows
        error = rows.said[i] - rows.truth
        if self.data or (self.settings.unit and self.kept.sample.is_whole):
            every = Rows(error, weight=rows.weight, unit=rows.key if rows.clustered else None)
            return self.number(IN_TENTH.metric.kind, every.take(member), -np.inf, np.inf)
        n, w, wd, ww, wwd, wwdd, ddd = sums.tolist()
        mean = wd / w
        square, freedom = (wwdd - 2 * mean * wwd + mean**2 * ww) / w**2, w * w / ww - 1
        skew, layout = 0.0, Layout.SUMMED_VARIED
        if self.settings.unit:
            inside = rows.weights * member
            square = self.kept.sample.square(inside * (error - of) / w)[0]
            freedom = float(ratio(w * w, self.kept.sample.square(inside)[0])) - 1
        elif not self.weighted:
            skew, layout = float(ratio(ddd / n - 3 * mean * wwdd / n + 2 * mean**3, (square * n) ** 1.5)), Layout.SUMMED
        return inference.estimate(
            OfSums(IN_TENTH, layout, of, int(n), freedom, square, skew), self.inference_options(1)
        )

    def _along(self, i: int) -> tuple[Floats, ...]:
        """By forecast: rows, and the sums of w, w f, w d, w², w² d, w² d² and, where all count alike, d³."""
        c = self.kept.forecasts[i].merged
        rows = c.rows.astype(float)
        if self.weighted:
            return (rows, *c.sums, np.zeros(len(rows)))
        f, d, square, cube = c.sums
        return rows, rows, f, d, rows, d, square, cube

    @property
    def banded(self) -> bool:
        """Whether reliability diagrams have bands: sums tell how rows vary, not how units do."""
        return self.settings.unit is None or self.kept.sample.is_whole

    @cached_property
    def unsure(self) -> float:
        """By what share half-widths that follow from rows drawn may be off; 0 where every row was drawn."""
        sample, unsure = self.kept.sample, [0.0]
        if isinstance(self.sample, Summed) and not sample.is_whole:
            medians = [chosen for chosen in self.settings.metrics if isinstance(chosen.metric.kind, Quantile)]
            every: Any = [self.measure(chosen, name) for chosen in medians for name in self.systems]
            unsure += [median.unsure for median in every]
            rows, i = sample.rows, self.systems.index(self.leader)
            tenth = np.searchsorted(self._edges(self.leader), rows.said[i], side="right")
            off = rows.weights * (rows.said[i] - rows.truth)
            off -= rows.weights * ratio(np.bincount(tenth, off), np.bincount(tenth, rows.weights))[tenth]
            unsure += [sample.square(off * (tenth == t))[1] for t in np.unique(tenth)] if self.settings.unit else []
        return float(np.nanmax(unsure))

    @cached_property
    def means(self) -> dict[str, MeanReliability]:
        """The mean of the actual values along the forecast of every system, best first."""
        return {name: self._mean_of(self.systems.index(name), name) for name in self.order}

    def _mean_of(self, i: int, name: str) -> MeanReliability:
        drawn: dict[str, Any] = {"draws": self.settings.limits.bands, "level": self.settings.level}
        if self.settings.unit and self.banded:
            return mean_reliability.of_rows(self.kept.sample.rows.rows(i), self.rng(5), **drawn)
        _, w, wf, wd, ww, wwd, wwdd, _ = np.array(self._along(i))[:, self._along(i)[1] > 0]
        c = self.asked.centre(i)
        table = Means(wf / w, w, (wf - wd) / w - c, np.empty(0, np.int64))
        squares = np.maximum(wwdd + 2 * c * wwd + c * c * ww, 0.0) if self.banded else None
        total, around, square = self.kept.facts.sums[4:]
        uncertainty = float(square / total - (around / total) ** 2)
        return mean_reliability.of_sums(table, squares, uncertainty, self.forecasts[name], self.rng(5), **drawn)

    @cached_property
    def parts(self) -> pd.DataFrame:
        """The squared error of every system by CORP: mse, miscalibration, discrimination, uncertainty, skill.

        skill: (discrimination − miscalibration) / uncertainty, the R² against the mean of the actual values.
        """
        rows = []
        for name, of_system in self.means.items():
            d = of_system.parts
            gained = d.discrimination - d.miscalibration
            skill = float(ratio(gained, d.uncertainty))
            rows.append({"system": name, "mse": d.uncertainty - gained} | asdict(d) | {"skill": skill})
        return pd.DataFrame(rows)


# From rows at hand, and from blocks -----------------------------------------------------------------------------------


def _of_rows(data: Ratings, settings: Settings, given: Mapping[str, Any]) -> Rating:
    """The study of a table that fits, which is one block."""
    systems = data.rows.systems
    study.check_systems(settings, systems)
    attributes = attributes_of(data.rows, settings.attributes, settings.unit)
    unit = codes(attributes[settings.unit])[0] if settings.unit else None
    places = np.arange(len(data.actual))
    block = Block(
        truth=data.actual,
        said=np.array([data.forecast[name] for name in systems]),
        weight=data.weight,
        key=(places if unit is None else unit).astype(np.uint64),
        clustered=unit is not None,
        parted=unit is not None,
        names=places,
    )
    beside = {name: number_of(data.rows, name) for name in settings.columns}
    shared: dict[str, Any] = {"weight": data.weight, "unit": unit, "beside": beside}
    held = HeldRows({name: Rows(data.actual, f, **shared) for name, f in data.forecast.items()}, lambda: data.rows.id)
    centre, weighted = float(data.actual.mean()), data.weight is not None
    limits, terms = settings.limits, Terms((), [(centre, centre)] * len(systems), {}, 0, off, len(systems))
    asked = Asked(terms, replace(limits, bins=max(limits.bins, len(places)), drawn=len(places)))
    counted = account.of_rows(data.rows)
    return Rating(settings, systems, attributes, given, counted, asked, asked(block), held, weighted, data)


def _of_blocks(t: Blocks, settings: Settings, given: Mapping[str, Any]) -> Rating:
    """The study of a table that is read once. Raises ParameterError for a metric that needs the rows themselves."""
    study.check_systems(settings, t.systems)
    metrics = list(dict.fromkeys([*(chosen.base for chosen in settings.metrics), BIAS]))
    refuse_unsummed(metrics, t.rows)
    terms = Terms.of(metrics, t.head(), settings.limits.flipped, more=off, width=len(t.systems))
    asked = Asked(terms, settings.limits, t.ids_held)
    kept = t.total(asked)
    rows, weight = int(kept.facts.sums[0]), t.schema.shared.get(WEIGHT)
    t.check(rows, kept.ids.repeated if t.schema.id else 0)
    if weight and not kept.facts.sums[4]:
        raise outcomes.no_weight(t.pieces[0].part.name, weight.column)
    design = Layout.WEIGHTED if weight else Layout.CLUSTERED if settings.unit else Layout.PLAIN
    summed = Summed(t.systems, asked.terms, kept, design)
    summed.refuse_unlike()
    counted = account.of_table(t, rows)
    return Rating(settings, t.systems, {}, given, counted, asked, kept, summed, bool(weight), table=t)

"""The rating study: actual values and forecasts, errors with intervals, bias along the forecast,
paired comparisons.

A table is read once, in blocks, and every number comes from the sums and counts that are kept of
them. A table that fits into memory is a single block, and its rows stay available.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, ParameterError, codes, ratio
from evalkit.catalogue import kinds, lookup, metric, score_kinds
from evalkit.catalogue.kinds import Loss, RatioOfRows
from evalkit.catalogue.lookup import MetricAtK
from evalkit.limits import USUAL, Limits
from evalkit.measured.rows import (
    ErrorsKey,
    ForecastSummary,
    RowsInMemory,
    SummedForecasts,
    TermAdder,
    refuse_unsummed,
)
from evalkit.metrics import calibration
from evalkit.metrics.blocks import Block
from evalkit.metrics.distributions import Distribution
from evalkit.metrics.hashes import KeyRepeats
from evalkit.metrics.moments import UnitSums
from evalkit.metrics.predictive import Quantiles, is_role
from evalkit.metrics.rows import Rows
from evalkit.metrics.samples import Sample
from evalkit.metrics.summaries import Extremes, Total, Wins
from evalkit.metrics.tallies import ValueCounts
from evalkit.parameters import reports
from evalkit.parameters.kinds import REFERENCES
from evalkit.reading.engines import backends
from evalkit.reading.engines.base import Engine
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.forecasts import ForecastTable
from evalkit.reading.inputs.time_columns import Unordered
from evalkit.reading.matching import commands, distribution_columns
from evalkit.reading.matching.quantile_rows import with_row_per_forecast
from evalkit.reading.reductions import blocks, schema
from evalkit.reading.tables import columns as roles_of, sources
from evalkit.reading.tables.parts import InputPart
from evalkit.statistics import consistency, inference
from evalkit.statistics.methods import TAPERED
from evalkit.statistics.spread import by_unit
from evalkit.statistics.statistic import Layout, RowStatistic, Statistic, layout_of
from evalkit.statistics.summed import SummedMean
from evalkit.studies import distributions, reliability, row_study, study
from evalkit.studies.study import Row, Settings, SystemPair, estimate_columns, frame
from evalkit.studies.timing import (
    COMPUTED,
    NAIVE_MAE,
    NAIVE_MSE,
    REFERENCE,
    Autocorrelation,
    TimedOutcomes,
    Timing,
    autocorrelation,
)
from evalkit.system import cached

SAMPLE = {
    "preds": "data/visit_forecasts/predictions.csv",
    "unit": "person",
    "segments": ["plan", "health"],
}
BIAS = lookup.find_metric("bias", "forecasts")
SQUARED = lookup.find_metric("mse", "forecasts")
IN_TENTH = metric.MetricAtK(
    metric.Metric(
        "number",
        "rows",
        kinds.Loss(lambda rows, k: rows.actual),
        "",
        "",
        "",
        low=-np.inf,
        high=np.inf,
    )
)
TENTHS = 10
EXAMPLES = 5
SHOWN_ROWS = 30  # whose intervals are drawn
MISSED = 20  # units, below which limits of scores that these make up may be too narrow
LIKE_DRAWS = 5  # numbered systems, from which on they may be draws of one
OFF = 0.02  # by how much coverage must differ from its level to be a finding
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
CELLS = 32  # of a side of the picture of actual against forecast
BINS = 40  # of errors
HEAVY = 0.2
EQUAL = 60  # units of equal size, below which limits of a mean squared error may be too narrow
MEAN, MEDIAN = "mean", "median"  # of the actual values


@commands.advising
def study_of(p: reports.RatingParameters, limits: Limits = USUAL) -> "Rating":
    """Read actual values and forecasts, and measure and compare how far they are apart.

    Without `preds` and arrays, the bundled sample is read. Raises ParameterError for an invalid
    parameter and InputError for invalid input.

    >>> import evalkit as ek
    >>> ek.rating(y_true=[3, 5, 4, 8], y_pred=[2, 5, 6, 7], metrics="mae").estimates[
    ...     "value"
    ... ].tolist()
    [1.0]
    """
    p = p.with_defaults(SAMPLE) if p.preds is None else p
    chosen = lookup.find_metrics(p.metrics, "forecasts", distributions.OF_POINTS)
    settings = study.settings(p, chosen, unit=p.unit, segments=p.segments, limits=limits)
    parts = with_row_per_forecast(
        sources.parts(p.preds, p.header, limits.reading), p.columns, limits.reading
    )
    forecasts = ForecastTable(
        parts,
        outcomes.FORECASTS,
        p.columns,
        p.systems,
        settings.attributes,
        _columns_read(settings, p, parts),
        p.unit,
        p.interval_level,
    )
    stated = distributions.Stated(forecasts.distribution_roles)
    usual = stated.usual_metrics(with_skill=p.reference is not None)
    metrics = lookup.find_computable(p.metrics, "forecasts", usual, stated.lacks)
    stated.refuse_levels(metrics)
    settings = replace(settings, metrics=lookup.with_directions(metrics, p))
    in_time = stated.roles or forecasts.time_columns
    if in_time and forecasts.horizon not in (None, p.unit) and not p.segments:
        settings = replace(settings, segments=(str(forecasts.horizon),))
        forecasts = replace(forecasts, attributes=settings.attributes)
    if p.slices:
        columns = forecasts.slice_columns(p.slices)
        forecasts = forecasts.with_slices(columns, p.slices)
        settings = replace(settings, slices=columns)
    if not forecasts.fits_in_memory(limits.reading):
        budget = backends.budget_of(p, limits.reading)
        with backends.needed(forecasts.parts, budget) as engine:
            if engine is not None:  # None: the rows are counted now, and fit into memory
                return _read_in_blocks(engine, forecasts, settings, p)
    return _read_in_memory(forecasts, settings, p)


def _columns_read(
    settings: study.Settings, p: reports.RatingParameters, parts: Sequence[InputPart]
) -> dict[str, str]:
    """The columns of numbers that metrics need, as `Settings.columns`, without those that are
    computed from a reference forecast. Raises ParameterError for a metric of skill without one.
    """
    present = {*parts[0].columns}
    if p.reference is not None:
        present.discard(REFERENCE)
        return {name: use for name, use in settings.columns.items() if name in present}
    for name, metric_named in settings.columns.items():
        if name in COMPUTED and name not in present:
            raise ParameterError(f"{metric_named} needs a column {name}, or reference={REFERENCES}")
    return settings.columns


def _read_in_memory(
    forecasts: ForecastTable, settings: study.Settings, p: reports.RatingParameters
) -> "Rating":
    """The study of a table that fits into memory."""
    timed = TimedOutcomes.from_table(forecasts, p.reference)
    data, timing = timed.with_reference(p.reference, settings.columns)
    part = forecasts.parts[0]
    outcomes.refuse_two_classes(data.actual, data.score.values(), data.rows.columns, part)
    if timing is not None:
        settings = replace(settings, unit=p.unit or timing.unit)
        if timing.has_horizons and timing.horizon != p.unit and not p.segments:
            settings = replace(settings, segments=(timing.horizon,))
    is_series = timing is not None and timing.ordered is not None and settings.unit is None
    if p.slices and is_series:
        raise ParameterError(
            "slices: forecasts of a time series are not independent of each other; "
            "leave slices out, or name a column of independent units with unit"
        )
    return _of_rows(data, settings.checked(data.rows.systems), p, timing)


def _read_in_blocks(
    engine: Engine,
    forecasts: ForecastTable,
    settings: study.Settings,
    p: reports.RatingParameters,
) -> "Rating":
    """The study of a table that does not fit into memory. Raises InputError for draws without a
    point forecast, and ParameterError for a reference forecast that has no column.
    """
    first = forecasts.parts[0]
    if p.slices:
        raise ParameterError("slices: need all rows in memory; give a random sample of the rows")
    if p.reference is not None:
        raise ParameterError(
            f"reference: {p.reference} needs all rows in memory; add a column reference instead"
        )
    if "forecast" not in forecasts.layouts[0].predictions:
        raise roles_of.refused(first.name, "drawn_alone", rows=first.rows)
    groups = (settings.segments, p.unit)
    pieces = blocks.pieces_of(engine, forecasts.parts, forecasts.layouts)
    table = blocks.blocks_of(engine, pieces, forecasts.systems, *groups, used_roles=("forecast",))
    settings.checked(table.systems)
    timing = None
    if forecasts.time_columns is not None:
        added_up = Unordered("added_up", forecasts.time_columns.time)
        timing = Timing(forecasts.time_columns, added_up)
    return _of_blocks(table.grouped(*groups), settings, p, timing)


read = reports.reader(reports.RatingParameters)(study_of)


# What is kept of a block --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class KeptForecasts(ForecastSummary):
    """The summary of a block of forecasts, in addition to the terms of the metrics.

    facts: rows, zeros, sums of actual values around their centre and of squares, weights, and these
    sums by weight. forecasts: of each system, with sums of forecasts and of errors. nearer: as
    in `Errors`; empty if units are parted. crossed: of each system the rows whose quantiles
    cross; crossings: those that cross by most. rows_without_value: of each partial metric and
    system the rows that do not count.
    """

    facts: Total
    actual: ValueCounts
    forecasts: tuple[ValueCounts, ...]
    nearer: dict[tuple[str, int, int], Wins]
    far: tuple[Extremes, ...]
    crossed: Total
    crossings: tuple[Extremes, ...]
    ids: KeyRepeats
    rows_without_value: Total


@dataclass(frozen=True)
class Errors:
    """The absolute errors of some systems. partial: the metrics that leave rows out."""

    systems: int
    partial: tuple[MetricAtK, ...]

    @property
    def width(self) -> int:
        """The number of rows that a call returns."""
        return self.systems + len(self.partial) * (1 + self.systems)

    def undefined(self, block: Block) -> list[Bools]:
        """For each partial metric the rows of a block (columns) on which a system (rows) has no
        value.
        """
        rows = [block.rows(i) for i in range(self.systems)]
        masks = list[Bools]()
        for chosen in self.partial:
            kind = chosen.metric.kind
            assert isinstance(kind, Loss)
            values: Floats = np.array([kind.per_row(each, chosen.k) for each in rows])
            masks.append(np.isnan(values))
        return masks

    def __call__(self, block: Block) -> Floats:
        """The error of each system on each row of a block, one row per system.

        Then for each partial metric a row with 1 where all systems have a value of it, else 0, and
        the same errors, 0 elsewhere.
        """
        error = np.abs(block.predictions - block.truth)
        every = [error]
        for undefined in self.undefined(block):
            counted = ~undefined.any(axis=0)
            every += [np.atleast_2d(counted), error * counted]
        return np.concatenate(every)

    def nearer(self, errors: Floats) -> dict[tuple[str, int, int], Wins]:
        """The units on which the first of two systems has the smaller error, the same, the larger.

        By metric, "" for those that leave no row out, and by the two systems. errors: the rows that
        a call returns, by unit.
        """
        groups = {"": errors[: self.systems]}
        further = np.split(errors[self.systems :], len(self.partial) or 1)
        for chosen, (counted, *each) in zip(self.partial, further, strict=False):
            groups[chosen.label] = np.array(each)[:, counted > 0]
        pairs = [*combinations(range(self.systems), 2)]
        return {
            (label, i, j): Wins.from_errors(each[i], each[j])
            for label, each in groups.items()
            for i, j in pairs
        }


@dataclass(frozen=True, eq=False)
class Asked:
    """Summarises a block. ids: how many ids are checked for duplicates. held: True if the block is
    all rows, which are counted by forecast once a figure asks.
    """

    terms: TermAdder
    limits: Limits
    errors: Errors
    ids: int = 0
    held: bool = False

    def __call__(self, block: Block) -> KeptForecasts:
        """What is kept of a block."""
        weight = [] if block.weight is None else [block.weight]
        sizes = (np.abs(said - block.truth) for said in block.predictions)
        undefined = self.errors.undefined(block)
        drops = [drops_of(block.rows(i)) for i in range(len(block.predictions))]
        return KeptForecasts(
            terms=self.terms.sums(block, self.limits),
            facts=self._facts(block),
            actual=ValueCounts.from_values(block.truth, weight, self.limits.bins),
            forecasts=() if self.held else self.forecasts(block),
            nearer={} if block.units_split else self._nearer(block),
            far=tuple(
                Extremes.from_block(block, size, i, EXAMPLES) for i, size in enumerate(sizes)
            ),
            crossed=Total(np.array([np.count_nonzero(drop) for drop in drops], float)),
            crossings=tuple(Extremes.from_block(block, drop, i, 1) for i, drop in enumerate(drops)),
            sample=Sample.from_block(block, self.limits.drawn),
            ids=KeyRepeats.from_keys(np.empty(0) if block.id is None else block.id, self.ids),
            rows_without_value=Total(np.array([u.sum(axis=1) for u in undefined])),
        )

    def _facts(self, block: Block) -> Total:
        """The sums of the actual values."""
        around = block.truth - self.terms.centres[0].actual
        w = block.weights
        zeros = np.count_nonzero(block.truth == 0)
        plain = [len(block), zeros, around.sum(), around @ around]
        return Total(np.array([*plain, w.sum(), w @ around, w @ (around * around)], float))

    def _nearer(self, block: Block) -> dict[tuple[str, int, int], Wins]:
        """As `Errors.nearer`, of the units of a block."""
        errors = self.errors(block)
        if block.clustered:
            errors = np.add.reduceat(block.weights * errors, block.unit_starts, axis=1)
        return self.errors.nearer(errors)

    def forecasts(self, block: Block) -> tuple[ValueCounts, ...]:
        """The rows of a block by each system's forecast."""
        return tuple(self._along(block, i) for i in range(len(block.predictions)))

    def _along(self, block: Block, i: int) -> ValueCounts:
        """Rows by forecast f, with the sums of w, w f, w d, w² and w² d, w² d² of the error d
        around its centre.

        Where all count alike, of f, d, d² and d³.
        """
        f = block.predictions[i]
        w = block.weight
        d = f - block.truth - self.centre(i)
        of_weight = [] if w is None else [w, w * f, w * d, w * w, w * w * d, w * w * d * d]
        return ValueCounts.from_values(f, of_weight or [f, d, d * d, d * d * d], self.limits.bins)

    def centre(self, i: int) -> float:
        """A number near which the errors of a system lie."""
        return self.terms.centres[i].forecast - self.terms.centres[i].actual


def drops_of(rows: Rows) -> Floats:
    """By how much the quantiles of each row cross; 0 without quantiles."""
    if isinstance(rows.predictive, Quantiles):
        return rows.predictive.drops
    return np.zeros(len(rows))


# The study ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Actual:
    """The distribution of the actual values: mean, standard deviation, lowest, highest, share of
    zeros.
    """

    mean: float
    deviation: float
    low: float
    high: float
    zeros: float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Rating(row_study.RowStudy):
    """The study of numeric forecasts; the units are rows, or those that the parameter `unit`
    names.
    """

    asked: Asked
    kept: KeptForecasts
    stated: distributions.Stated
    timing: Timing | None = None

    report: ClassVar[str] = "rating"
    listed_under: ClassVar[str] = "Errors"

    @property
    def unit_count(self) -> int:
        """The number of independent units: rows, or the units of the column that was named."""
        return self.kept.terms.moments[0].moments.n

    # Distributions

    @cached_property
    def actual(self) -> Actual:
        """The actual values."""
        n, zeros, total, square = self.kept.facts.sums[:4]
        target = self.target
        mean = total / n
        deviation = float(np.sqrt(max(square / n - mean**2, 0.0)))
        return Actual(self._actual_at(mean), deviation, target.low, target.high, float(zeros / n))

    def _actual_at(self, around: float) -> float:
        """An actual value, from where it lies around the centre."""
        return float(self.asked.terms.centres[0].actual + around)

    @property
    def rows_without_value(self) -> dict[MetricAtK, dict[str, int]]:
        """The number of rows that each metric leaves out of each system's mean; only metrics that
        leave any out.
        """
        counts = self.kept.rows_without_value.sums.tolist()
        every = {
            chosen: dict(zip(self.systems, rows, strict=True))
            for chosen, rows in zip(self.asked.errors.partial, counts, strict=True)
        }
        return {chosen: by_system for chosen, by_system in every.items() if any(by_system.values())}

    @cached_property
    def target(self) -> Distribution:
        """The distribution of the actual values."""
        return self.kept.actual.distribution(weighted=self.weighted)

    @cached_property
    def by_forecast(self) -> tuple[ValueCounts, ...]:
        """The rows by forecast of each system."""
        return self.kept.forecasts or self.asked.forecasts(self.kept.sample.rows)

    @cached_property
    def forecasts(self) -> dict[str, Distribution]:
        """The distribution of each system's forecasts."""
        counts = zip(self.systems, self.by_forecast, strict=True)
        return {name: c.distribution(weighted=self.weighted) for name, c in counts}

    @cached_property
    def errors(self) -> dict[str, Distribution]:
        """The distribution of each system's errors, forecast − actual."""
        return {
            name: self.kept.terms.errors[ErrorsKey(0, i)].distribution(weighted=self.weighted)
            for i, name in enumerate(self.systems)
        }

    @frame
    def spread(self) -> Iterator[Row]:
        """Quantiles of the error forecast − actual of every system."""
        columns = [f"{q:.0%}" for q in SHARES]
        for name in self.order:
            yield {"system": name} | dict(
                zip(columns, self.errors[name].quantiles(SHARES), strict=True)
            )

    @property
    def rows_drawn(self) -> int:
        """The number of rows behind the cells of figures: all, or a sample."""
        return int(self.kept.sample.times.sum())

    @property
    def rows_each_stands_for(self) -> float:
        """The number of rows that each of them represents on average."""
        return len(self.account) / self.rows_drawn

    @cached_property
    def bound(self) -> float:
        """The largest possible error of quantiles due to binning; 0 if all errors are counted
        exactly.
        """
        return max(
            column.quantile_error(SHARES)
            for error in self.errors.values()
            for column in (error, error.sizes())
        )

    @cached_property
    def heavy(self) -> float:
        """The share of the leader's squared error in 1% of the rows; from `HEAVY` on, RMSE is
        driven by a few rows.
        """
        return self.errors[self.leader].share_of_largest()

    @property
    def squared(self) -> list[metric.MetricAtK]:
        """The metrics that are asked for and are made of the mean squared error."""
        return [chosen for chosen in self.settings.metrics if chosen.base == SQUARED]

    @property
    def scored_by_few(self) -> list[MetricAtK]:
        """The metrics that units make up which lie beyond a quantile or outside of an interval, or
        on one side of the forecast, if fewer than `MISSED` of these are expected.
        """
        return [
            chosen
            for chosen in self.settings.metrics
            if self.stated.missed_share(chosen) * self.unit_count < MISSED
        ]

    @property
    def equal_units(self) -> int | None:
        """Kish's number of units for the mean squared error, rounded: as many equal ones tell as
        much.

        None without that metric, or if rows are independent and unweighted.
        """
        if self.plain or not self.squared:
            return None
        of: Any = self.measure(self.squared[0], self.leader)
        return round(float(of.freedom)) + 1

    def histogram(self, systems: Sequence[str]) -> pd.DataFrame:
        """The share of rows, or of their weight, whose error lies in a bin: system, low, high,
        share.
        """
        ends = edges([self.errors[name] for name in systems], BINS)
        bins = {"low": ends[:-1], "high": ends[1:]}
        shares = {
            name: self.errors[name].histogram(ends) / self.errors[name].total for name in systems
        }
        every = [
            pd.DataFrame({"system": name} | bins | {"share": share})
            for name, share in shares.items()
        ]
        return pd.concat(every, ignore_index=True)

    def cells(self, systems: Sequence[str]) -> pd.DataFrame:
        """The weight of rows in cells of forecast and actual value: x, y (lower ends), width,
        height, rows, system.

        Cells without rows are left out, and the rows beyond the axes, which hold the central 99%.
        """
        sides = (
            edges([self.forecasts[name] for name in systems], CELLS),
            edges([self.target], CELLS),
        )
        every = [
            self._cells(name, self.kept.sample.rows.truth, sides).assign(system=name)
            for name in systems
        ]
        return pd.concat(every, ignore_index=True)

    @property
    def error_cells(self) -> pd.DataFrame:
        """The weight of rows in cells of the leader's forecast and its error, as in `cells`."""
        leader, rows = self.leader, self.kept.sample.rows
        sides = edges([self.forecasts[leader]], CELLS), edges([self.errors[leader]], CELLS)
        return self._cells(leader, rows.predictions[self.systems.index(leader)] - rows.truth, sides)

    def _cells(self, name: str, y: Floats, sides: tuple[Floats, Floats]) -> pd.DataFrame:
        """Of more rows than are drawn those drawn, each for as many as it stands for."""
        sample = self.kept.sample
        weight = sample.stands_for * sample.times * sample.rows.weights
        rows = np.histogram2d(
            sample.rows.predictions[self.systems.index(name)], y, sides, weights=weight
        )[0]
        i, j = np.nonzero(rows)
        size = {
            name: float(side[1] - side[0])
            for name, side in zip(("width", "height"), sides, strict=True)
        }
        return pd.DataFrame({"x": sides[0][i], "y": sides[1][j]} | size | {"rows": rows[i, j]})

    def extremes(self, n: int = EXAMPLES) -> pd.DataFrame:
        """The rows with the leader's largest errors, up to five."""
        far = self.kept.far[self.systems.index(self.leader)].rows[:n]
        rows = [(self.row_name(name), *sides) for name, *sides in far]
        frame = pd.DataFrame(rows, columns=["id", "actual", "forecast"])
        return frame.assign(error=frame["forecast"] - frame["actual"])

    # Distributions that systems state

    @frame
    def coverages(self) -> Iterator[Row]:
        """The coverage of each central interval: system, nominal, value, low, high, shares."""
        for percent in self.stated.intervals:
            chosen = lookup.find_metric(f"coverage@{percent:g}", "forecasts")
            for name in self.order:
                e = self.estimate(chosen, name)
                share = {"value": e.value, "low": e.low, "high": e.high}
                yield {"system": name, "nominal": percent / 100} | share

    @frame
    def transform(self) -> Iterator[Row]:
        """The histogram of the probability integral transform: system, low, high, share, and
        density, which is 1 where quantiles are right.
        """
        percents = self.stated.percents
        metrics = [lookup.find_metric(f"quantile_coverage@{p:g}", "forecasts") for p in percents]
        for name in self.order if metrics else ():
            reached = [self.estimate(chosen, name).value for chosen in metrics]
            yield from ({"system": name} | row for row in distributions.bins(percents, reached))

    @property
    def off_level(self) -> pd.DataFrame:
        """The coverages, of the intervals among the metrics, whose interval excludes the level, by
        at least `OFF`. More than the level is no fault where actual values are whole numbers, which
        may lie on a bound.
        """
        frame = self.coverages
        shown = [level / 100 for level in self.stated.shown_intervals]
        too_wide = (frame["low"] > frame["nominal"]) & (not self.target.integers)
        excluded = (frame["high"] < frame["nominal"]) | too_wide
        distance = (frame["value"] - frame["nominal"]).abs()
        return frame[frame["nominal"].isin(shown) & excluded & (distance >= OFF)]

    @cached_property
    def examples(self) -> distributions.Examples:
        """The intervals of some rows of the leader: of a series the last ones, those of the first
        series and the shortest horizon; else evenly spaced in their order.
        """
        rows = self.kept.sample.rows
        if self.timing is not None and self.timing.ordered is not None:
            place = self.timing.ordered.last_rows(SHOWN_ROWS)
        else:
            place = np.linspace(0, len(rows) - 1, min(len(rows), SHOWN_ROWS)).round().astype(int)
        return self.stated.examples(rows.take(place).rows(self.systems.index(self.leader)))

    @property
    def example_times(self) -> list[str]:
        """The times of the examples, without the midnights of days; empty without an order in
        time.
        """
        timing = self.timing
        if timing is None or timing.ordered is None:
            return []
        assert self.data is not None
        rows = timing.ordered.last_rows(SHOWN_ROWS)
        texts = self.data.rows.shared_values[f"attribute {timing.columns.time}"].texts[rows]
        return [text.removesuffix(" 00:00:00") for text in texts.tolist()]

    @property
    def example_series(self) -> str:
        """The series whose rows are the examples; empty without several series."""
        timing = self.timing
        if timing is None or timing.ordered is None or timing.ordered.series_count == 1:
            return ""
        assert self.data is not None
        row = timing.ordered.last_rows(1)[0]
        return str(self.data.rows.shared_values[f"attribute {timing.columns.series}"].texts[row])

    @property
    def crossings(self) -> dict[str, tuple[int, str]]:
        """System -> the number of rows whose quantiles cross, and the row with the largest drop; of
        systems with such rows.
        """
        counts = map(int, self.kept.crossed.sums)
        worst = (self.row_name(extremes.rows[0].name) for extremes in self.kept.crossings)
        every = zip(self.systems, zip(counts, worst, strict=True), strict=True)
        return {name: crossed for name, crossed in every if crossed[0]}

    @property
    def unread_columns(self) -> list[str]:
        """The columns of quantiles, bounds and draws that were not read."""
        return distribution_columns.unread(self.account.others, self.systems)

    @property
    def unlike_distributions(self) -> dict[str, str]:
        """System -> what its columns state, if each of several systems has a distribution, but not
        one that all have; else empty.
        """
        found = distribution_columns.distributions(self.account.others, self.p.interval_level)
        keys = {name: distribution_columns.system_key(name) for name in self.systems}
        if self.stated.roles or len(keys) < 2 or not {*keys.values()} <= found.keys():
            return {}
        roles = {name: found[key].roles for name, key in keys.items()}
        if distribution_columns.is_stated_by({*roles[self.leader]}.intersection(*roles.values())):
            return {}  # they were not read for another reason
        return {name: distribution_columns.described(own) for name, own in roles.items()}

    @property
    def numbered_systems(self) -> list[str]:
        """The columns of forecasts that are numbered as draws are, if they are many."""
        columns = self.account.columns.get("forecast", "").split(", ")
        found = distribution_columns.numbered(columns).values()
        return [name for names in found if len(names) >= LIKE_DRAWS for name in names]

    @property
    def assumed_columns(self) -> list[str]:
        """The bounds that were read and state no level, unless the user states it."""
        columns = self.account.columns.get("quantile", "").split(", ")
        states_none = distribution_columns.states_no_level
        return [] if self.p.interval_level else [*filter(states_none, columns)]

    def row_name(self, name: object) -> str:
        """The id of a row, or its number, from how a block calls it; of rows in time order without
        ids the series and the time.
        """
        if self.data is None:
            return str(name)
        rows = self.data.rows
        if self.timing is None or self.timing.ordered is None or "id" in rows.columns:
            return str(rows.id[name])
        columns = (self.timing.columns.series, self.timing.columns.time)
        texts = [rows.shared_values[f"attribute {column}"].texts for column in columns if column]
        # days of a data frame are read as midnight
        return " ".join(str(values[name]).removesuffix(" 00:00:00") for values in texts)

    @property
    def unit_name(self) -> str:
        """The row, or the time if several rows share it, or the series if these are the units, or
        the unit that the user named.
        """
        if self.settings.unit and not self.p.unit:
            return "series"
        order = self.timing.ordered if self.timing and self.in_time_order else None
        return "time" if order and order.times < len(order.step) else super().unit_name

    # Beside the metrics

    def comparison_extras(self, chosen: metric.MetricAtK, pair: SystemPair) -> Row:
        """Units on which the first has the smaller absolute error, of those that the metric does
        not leave out, and the detectable difference. For metrics of distributions, which may differ
        where errors do not, the units are not counted.
        """
        kind = chosen.base.metric.kind
        if self.stated.roles and isinstance(kind, Loss | RatioOfRows) and kind.of_distributions:
            uncounted = dict.fromkeys(("wins", "ties", "losses"), np.nan)
            return uncounted | super().comparison_extras(chosen, pair)
        i, j = (self.systems.index(name) for name in pair)
        label = chosen.label if chosen in self.asked.errors.partial else ""
        nearer = self._nearer[label, min(i, j), max(i, j)]
        if i > j:
            nearer = Wins(nearer.losses, nearer.ties, nearer.wins)
        counted = {"wins": nearer.wins, "ties": nearer.ties, "losses": nearer.losses}
        return counted | super().comparison_extras(chosen, pair)

    @cached_property
    def _nearer(self) -> dict[tuple[str, int, int], Wins]:
        """The units on which each system has the smaller absolute error, as in `Errors`."""
        moments = self.kept.terms.moments[0]
        if isinstance(moments, UnitSums):
            errors = self.asked.errors
            return errors.nearer(moments.sums[1 : 1 + errors.width])
        return self.kept.nearer

    @property
    def medians(self) -> list[metric.MetricAtK]:
        """The metrics that are medians."""
        return [
            chosen
            for chosen in self.settings.metrics
            if isinstance(chosen.metric.kind, score_kinds.Median)
        ]

    def constant(self, chosen: metric.MetricAtK) -> float:
        """The metric of forecasting the mean of the actual values for every row."""
        return self._of_constant(
            chosen, self._actual_at(float(ratio(*self.kept.facts.sums[[5, 4]])))
        )

    def constant_median(self, chosen: metric.MetricAtK) -> float:
        """The metric of forecasting the median of the actual values for every row, the constant
        with the least MAE.
        """
        return self._of_constant(chosen, self.target.weighted_median())

    def reference_value(self, chosen: metric.MetricAtK) -> float:
        """The metric of the reference forecast on the rows that have one; NaN for one of
        distributions without a point forecast.
        """
        rows = self.measured.rows[self.leader]
        known = rows.take(~np.isnan(rows.columns[REFERENCE]))
        forecast = known.columns[REFERENCE]
        return chosen.value(replace(known, score=forecast, predictive=None))

    @property
    def rows_without_reference(self) -> int | None:
        """The number of rows that have no reference forecast; None if none is asked for."""
        if self.p.reference is None:
            return None
        columns = self.measured.rows[self.leader].columns
        return int(np.isnan(columns[REFERENCE]).sum()) if REFERENCE in columns else None

    @property
    def rescaled(self) -> list[str]:
        """The scales of errors that the table lacks, and that are computed from its own rows."""
        read = self.data.rows.layout.fields
        return [name for name in (NAIVE_MAE, NAIVE_MSE) if f"metric_column {name}" not in read]

    @cached_property
    def by_horizon(self) -> pd.DataFrame | None:
        """The metric that decides by how many steps ahead a forecast looks, with intervals: system,
        x, value, low, high; None without several horizons, or with very many.
        """
        timing = self.timing
        if timing is None or timing.ordered is None or not timing.has_horizons:
            return None
        rows = []
        for steps in timing.ordered.horizons.tolist():
            member = timing.ordered.steps_ahead == steps
            for name in self.order:
                estimate = self.estimate(self.primary, name, member)
                rows.append({"system": name, "x": steps} | estimate_columns(estimate))
        return pd.DataFrame(rows)

    @property
    def in_time_order(self) -> bool:
        """True if intervals and tests take rows as a series."""
        return self.measured.layout is Layout.SERIES

    @property
    def tapered(self) -> list[str]:
        """The metrics with a comparison whose autocovariances got Bartlett's weights."""
        if not len(self.comparisons):
            return []
        is_tapered = self.comparisons["method"] == TAPERED
        return [*dict.fromkeys(self.comparisons["metric"][is_tapered])]

    @cached_property
    def autocorrelation(self) -> Autocorrelation | None:
        """The autocorrelation of the differences in the metric that decides, or of its values for
        one system, at the first lag that intervals and tests leave out; None if rows are in no time
        order or too few.
        """
        if not self.in_time_order:
            return None
        chosen = self.primary.base
        influences = [
            chosen.effects(self.measured.rows[name]).influence
            for name in row_study.compared(self)[:2]
        ]
        rows = self.measured.rows[self.leader]
        lag = rows.lags + 1
        has_weight = by_unit(rows.weights, rows.unit) > 0
        values = by_unit(influences[0] - sum(influences[1:]), rows.unit)[has_weight]
        if len(values) <= 2 * lag or not values.any():
            return None
        return autocorrelation(values, lag)

    @property
    def constants(self) -> Sequence[Callable[[metric.MetricAtK], float]]:
        """The metric of forecasting the mean, and the median."""
        return (self.constant, self.constant_median)

    @property
    def constant_wins(self) -> tuple[str, float] | None:
        """The name and the metric of the constant, mean or median, that is better than every
        system, if one is.
        """
        chosen = self.primary
        sign = {"low": 1.0, "high": -1.0}.get(chosen.metric.best, np.nan)
        every = ((MEAN, self.constant(chosen)), (MEDIAN, self.constant_median(chosen)))
        name, best = min(every, key=lambda constant: sign * constant[1])
        if sign * best < sign * self.estimate(chosen, self.leader).value:
            return (name, best)
        return None

    @cached
    def _of_constant(self, chosen: metric.MetricAtK, value: float) -> float:
        """The metric of one forecast for all rows; of a further column from the rows drawn."""
        c, kind, drawn = self.target, chosen.metric.kind, self.kept.sample.rows
        if isinstance(kind, score_kinds.Median):
            table = replace(c, values=c.values - value).sizes()
            return kind.estimate(table, float(c.rows.sum()), weighted=self.weighted).value
        if not chosen.metric.columns:
            return chosen.value(Rows(c.values, np.full(len(c.values), value), weight=c.weight))
        weight = drawn.weights * self.kept.sample.times
        return chosen.value(
            Rows(
                drawn.truth, np.full(len(drawn), value), weight=weight, columns=drawn.shared_columns
            )
        )

    # Along the forecast

    @frame
    def tenths(self) -> Iterator[Row]:
        """By tenths of each system's forecast: mean forecast, mean actual and bias with intervals,
        rows.
        """
        for name in self.order:
            for tenth, n, forecast, bias in self._tenths(name):
                e = inference.estimate(bias, self.inference_options(1))
                means = {"forecast": forecast, "actual": forecast - e.value, "bias": e.value}
                yield (
                    {"system": name, "tenth": tenth}
                    | means
                    | {"low": e.low, "high": e.high, "n": n}
                )

    def _tenths(self, name: str) -> Iterator[tuple[int, int, float, Statistic]]:
        """The number of each tenth that has rows of any weight, these, its mean forecast and its
        bias.
        """
        i = self.systems.index(name)
        sample = self.kept.sample
        edges = np.unique(self.forecasts[name].quantiles((np.arange(1, TENTHS) / TENTHS).tolist()))
        place = np.searchsorted(edges, self.forecasts[name].values, side="right")
        sums = np.array([np.bincount(place, column, len(edges) + 1) for column in self._along(i)])
        drawn = np.searchsorted(edges, sample.rows.predictions[i], side="right")
        rows = sample.rows
        error = Rows(
            rows.predictions[i] - rows.truth,
            weight=rows.weight,
            unit=rows.key if rows.clustered else None,
        )
        for tenth, (n, w, wf, wd, ww, wwd, wwdd, ddd) in enumerate(sums.T.tolist()):
            if not w:
                continue
            of = self.asked.centre(i) + float(ratio(wd, w))
            forecast = float(ratio(wf, w))
            mean = wd / w
            skew = 0.0
            square = (wwdd - 2 * mean * wwd + mean**2 * ww) / w**2
            freedom = w * w / ww - 1
            unsure = 0.0
            layout = self.measured.layout
            if sample.is_complete:
                yield (
                    tenth + 1,
                    int(n),
                    forecast,
                    RowStatistic(IN_TENTH, error.take(drawn == tenth)),
                )
                continue
            if self.settings.unit:
                inside = rows.weights * (drawn == tenth)
                square, unsure = sample.influence_square(inside * (error.actual - of) / w)
                freedom = float(ratio(w * w, sample.influence_square(inside).value)) - 1
            elif not self.weighted:
                skew = float(
                    ratio(ddd / n - 3 * mean * wwdd / n + 2 * mean**3, (square * n) ** 1.5)
                )
            yield (
                tenth + 1,
                int(n),
                forecast,
                SummedMean(IN_TENTH, layout, of, int(n), freedom, square, skew, unsure),
            )

    def _along(self, i: int) -> tuple[Floats, ...]:
        """By forecast: rows, and the sums of w, w f, w d, w², w² d, w² d² and, where all count
        alike, d³.
        """
        whole, *sums = self.by_forecast[i].merged.sums
        rows = whole.astype(float)
        if self.weighted:
            return (rows, *sums, np.zeros(len(rows)))
        f, d, square, cube = sums
        return rows, rows, f, d, rows, d, square, cube

    @property
    def banded(self) -> bool:
        """True if reliability diagrams have bands: sums tell how rows vary, not how units do."""
        return self.settings.unit is None or self.kept.sample.is_complete

    @cached_property
    def unsure(self) -> float:
        """The relative uncertainty of half-widths that come from a sample of rows; 0 if every row
        was used.
        """
        if self.kept.sample.is_complete:
            return 0.0
        every: list[Any] = [
            self.measure(chosen, name) for chosen in self.medians for name in self.systems
        ]
        every += [bias for _, _, _, bias in self._tenths(self.leader)]
        return float(np.nanmax([statistic.error_uncertainty for statistic in every]))

    @cached_property
    def means(self) -> dict[str, reliability.MeanReliability]:
        """The mean of the actual values by forecast of each system, best first."""
        return {name: self._mean_of(self.systems.index(name), name) for name in self.order}

    def _mean_of(self, i: int, name: str) -> reliability.MeanReliability:
        _, w, wf, wd, ww, wwd, wwdd, _ = self._along(i)
        c = self.asked.centre(i)
        weighs: Any = slice(None) if w.all() else w > 0
        w = w[weighs]
        wf = wf[weighs]
        wd = wd[weighs]
        table = calibration.Means(wf / w, w, (wf - wd) / w - c, np.empty(0, np.int64))
        drawn: Any = {
            "rng": self.rng(5),
            "draws": self.settings.limits.bands,
            "level": self.settings.level,
        }
        band = None
        if not self.settings.unit:
            squares = np.maximum(wwdd + 2 * c * wwd + c * c * ww, 0.0)[weighs]
            band = consistency.band_of_independent(table, squares, **drawn)
        elif self.banded:
            rows = self.kept.sample.rows.rows(i)
            band = consistency.band_of_means(rows, calibration.means(rows), **drawn)
        total, around, square = self.kept.facts.sums[4:]
        uncertainty = float(square / total - (around / total) ** 2)
        return reliability.mean_reliability(table, uncertainty, band, self.forecasts[name])

    @frame
    def parts(self) -> Iterator[Row]:
        """The CORP decomposition of each squared error: mse, miscalibration, discrimination,
        uncertainty, skill.

        skill: (discrimination − miscalibration) / uncertainty, the R² against the mean of the
        actual values.
        """
        for name, of_system in self.means.items():
            d = of_system.parts
            gained = d.discrimination - d.miscalibration
            skill = float(ratio(gained, d.uncertainty))
            yield (
                {"system": name, "mse": max(d.uncertainty - gained, 0.0)}
                | asdict(d)
                | {"skill": skill}
            )


def edges(columns: Sequence[Distribution], bins: int) -> Floats:
    """Edges of `bins` equal bins.

    For whole numbers each bin holds the same number of them, and there may be fewer bins.
    """
    low, high = reliability.window(columns)
    if not all(column.integers for column in columns):
        return np.linspace(low, high, bins + 1)
    width = max(np.ceil((high - low + 1) / bins), 1.0)
    return np.arange(low - 0.5, high + width, width)


def partial(metrics: Sequence[MetricAtK]) -> tuple[MetricAtK, ...]:
    """The metrics that leave out rows on which they are undefined."""
    return tuple(
        chosen
        for chosen in metrics
        if isinstance(chosen.metric.kind, Loss) and chosen.metric.kind.partial
    )


# From rows at hand, and from blocks ---------------------------------------------------------------


def _of_rows(
    data: outcomes.Outcomes,
    settings: Settings,
    p: reports.RatingParameters,
    timing: Timing | None,
) -> Rating:
    """The study of a table that fits, which is one block."""
    rows = data.rows
    limits = settings.limits
    n = len(data.rows)
    fields, shared = row_study.of_rows(data, settings, p)
    unit = codes(shared["unit"])[0] if settings.unit else None
    places = np.arange(n)
    clustered = unit is not None
    key = places if unit is None else unit
    block = Block(
        data.actual,
        np.array([*data.score.values()]),
        data.weight,
        key.view(np.uint64),
        clustered=clustered,
        units_split=clustered,
        shared_columns=shared["columns"],
        system_columns={
            role: np.array([*rows.predictions_of(role).values()])
            for role in rows.layout.predictions
            if is_role(role)
        },
        names=places,
    )
    held = {name: replace(block.rows(i), unit=unit) for i, name in enumerate(rows.systems)}
    if timing is not None and unit is None:
        held = {name: timing.in_order(of_system) for name, of_system in held.items()}
    centre = float(data.actual.mean())
    errors = Errors(len(held), partial(settings.metrics))
    terms = TermAdder(
        metrics=(),
        centres=[kinds.Centre(centre, centre)] * len(held),
        offsets={},
        max_units=0,
        extra_columns=errors,
        extra_width=errors.width,
    )
    held_limits = replace(limits, bins=max(limits.bins, n), drawn=n)
    asked = Asked(terms, held_limits, errors, held=True)
    return Rating(
        **fields,
        measured=RowsInMemory(held, lambda: rows.id),
        asked=asked,
        kept=asked(block),
        stated=distributions.Stated([*block.system_columns]),
        timing=timing,
    )


def _of_blocks(
    t: blocks.Blocks, settings: Settings, p: reports.RatingParameters, timing: Timing | None
) -> Rating:
    """The study of a table that is read once. Raises ParameterError for a metric that needs the
    rows themselves.
    """
    stated = distributions.Stated([role for role in t.schema.predictions if is_role(role)])
    asked_for = [chosen.base for chosen in settings.metrics]
    metrics = list(dict.fromkeys([*asked_for, BIAS, *stated.drawn_metrics]))
    refuse_unsummed(metrics, t.rows)
    errors = Errors(len(t.systems), partial(settings.metrics))
    flipped = settings.limits.flipped
    terms = TermAdder.from_heads(
        metrics, t.head(), flipped, extra_columns=errors, extra_width=errors.width
    )
    asked = Asked(terms, settings.limits, errors, t.ids_held)
    kept = t.total(asked)
    rows = int(kept.facts.sums[0])
    weight = t.schema.shared.get(schema.WEIGHT)
    t.check(rows, kept.ids.repeated_rows if t.schema.id else 0)
    if weight and not kept.facts.sums[4]:
        raise outcomes.no_weight(t.pieces[0].part.name, weight.column)
    summed = SummedForecasts(
        t.systems, asked.terms, kept, layout_of(units=bool(settings.unit), weights=bool(weight))
    )
    summed.refuse_unlike()
    fields = row_study.of_blocks(t, rows, settings, p, weighted=bool(weight))
    made = Rating(**fields, measured=summed, asked=asked, kept=kept, stated=stated, timing=timing)
    actual, where = t.schema.shared["actual"].column, t.pieces[0].part.name
    for name, counted in {actual: made.target, **made.forecasts}.items():
        outcomes.refuse_missing(counted.values, counted.rows, name, where)
    forecasts = [counted.values for counted in made.forecasts.values()]
    outcomes.refuse_two_classes(made.target.values, forecasts, t.columns, t.pieces[0].part)
    return made


def bin_widths(histogram: pd.DataFrame) -> pd.Series:
    """The width of each bin."""
    return histogram["high"] - histogram["low"]

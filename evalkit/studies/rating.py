"""The rating study: actual values and forecasts, errors with intervals, bias along the forecast,
paired comparisons.

A table is read once, in blocks, and every number comes from the sums and counts that are kept of
them. A table that fits into memory is a single block, and its rows stay available.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints, ParameterError, codes, ratio
from evalkit.caching import cached
from evalkit.catalogue import kinds, lookup, metric, score_kinds
from evalkit.catalogue.kinds import Loss, RatioOfRows
from evalkit.catalogue.lookup import MetricAtK
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.measured.rows import (
    ErrorsKey,
    ForecastSummary,
    RowsInMemory,
    SummedForecasts,
    TermAdder,
    error_counts,
    refuse_unsummed,
)
from evalkit.metrics import calibration
from evalkit.metrics.blocks import ALL_ROWS_GROUP, Block
from evalkit.metrics.distributions import Distribution
from evalkit.metrics.hashes import KeyRepeats
from evalkit.metrics.moments import UnitSums
from evalkit.metrics.predictive import Quantiles, is_role
from evalkit.metrics.rows import Rows
from evalkit.metrics.samples import Sample
from evalkit.metrics.summaries import Bundle, Extremes, Total, Wins
from evalkit.metrics.tallies import ValueCounts
from evalkit.parameters import reports
from evalkit.parameters.kinds import REFERENCES
from evalkit.reading.engines import backends
from evalkit.reading.engines.base import Engine
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.forecasts import ForecastTable
from evalkit.reading.inputs.time_columns import NoTimeOrder
from evalkit.reading.matching import commands, distribution_columns
from evalkit.reading.matching.quantile_rows import with_row_per_forecast
from evalkit.reading.reductions import blocks, schema
from evalkit.reading.tables import columns as roles_of, duck, sources
from evalkit.reading.tables.parts import InputPart
from evalkit.statistics import consistency, inference
from evalkit.statistics.consistency import Band
from evalkit.statistics.methods import TAPERED, RandomStream
from evalkit.statistics.spread import sum_by_unit
from evalkit.statistics.statistic import Layout, RowStatistic, Statistic, layout_of
from evalkit.statistics.summed import SummedMean
from evalkit.studies import distributions, reliability, row_study, study
from evalkit.studies.study import Row, Settings, SystemPair, estimate_columns, frame, limits
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

SAMPLE = {
    "preds": "data/visit_forecasts/predictions.csv",
    "unit": "person",
    "segments": ["plan", "health"],
}
BIAS = lookup.find_metric("bias", "forecasts")
SQUARED = lookup.find_metric("mse", "forecasts")
MEAN_NUMBER = MetricAtK(
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
)  # the mean of numbers that stand as the actual values
TENTHS = 10
EXAMPLES = 5  # rows with the largest errors
SHOWN_ROWS = 30  # whose intervals are drawn
MISSED = 20  # units, below which limits of scores that these make up may be too narrow
MANY_ROWS = 2**17  # of a table in memory, above which memory is worth a new connection to DuckDB
LIKE_DRAWS = 5  # numbered systems, from which on they may be draws of one
COVERAGE_GAP = 0.02  # by how much coverage must differ from its level to be a finding
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the quantiles of errors
CELLS = 32  # of a side of the picture of actual against forecast
BINS = 40  # of errors
HEAVY = 0.2  # share of the squared error in 1% of the rows, from which on few rows decide
EQUAL = 60  # units of equal size, below which limits of a mean squared error may be too narrow
MEAN, MEDIAN = "mean", "median"  # of the actual values


@commands.advise_on_errors
def study_of(p: reports.RatingParameters, limits: Limits = USUAL_LIMITS) -> "Rating":
    """Read actual values and forecasts, and measure and compare how far they are apart.

    Without `preds` and arrays, the bundled sample is read. Raises ParameterError for an invalid
    parameter and InputError for invalid input.

    >>> import evalkit as ek
    >>> ek.rating(y_true=[3, 5, 4, 8], y_pred=[2, 5, 6, 7], metrics="mae").estimates[
    ...     "value"
    ... ].tolist()
    [1.0]
    """
    if p.preds is None:
        p = p.with_defaults(SAMPLE)
    # First, what to read. Metrics may need further columns. Without named metrics, the columns of
    # the table decide which are usual, but the table is not known yet: those of point forecasts
    # are taken for the time being.
    point_metrics = lookup.find_metrics(p.metrics, "forecasts", distributions.OF_POINTS)
    settings = study.settings(p, point_metrics, unit=p.unit, segments=p.segments, limits=limits)
    input_parts = sources.parts(p.preds, p.header, limits.reading)
    parts = with_row_per_forecast(input_parts, p.columns, limits.reading)
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
    # Then the metrics: whether forecasts are points, quantiles or draws decides which can be
    # computed.
    stated = distributions.StatedDistributions(forecasts.distribution_roles)
    usual = stated.usual_metrics(with_skill=p.reference is not None)
    # raises for a named metric that needs what the table lacks
    metrics = lookup.find_computable(p.metrics, "forecasts", usual, stated.lacks)
    stated.refuse_levels(metrics)  # raises for a metric of a quantile that the table lacks
    settings = replace(settings, metrics=lookup.with_directions(metrics, p))
    # then the columns of segments and slices
    if _horizon_is_segment(forecasts, p):
        settings = replace(settings, segments=(str(forecasts.horizon),))
        forecasts = replace(forecasts, attributes=settings.attributes)
    if p.slices:
        columns = forecasts.slice_columns(p.slices)
        forecasts = forecasts.with_slices(columns, p.slices)
        settings = replace(settings, slices=columns)
    # at last the rows
    if not forecasts.fits_in_memory(limits.reading):
        budget = backends.budget_of(p, limits.reading)
        with backends.needed(forecasts.parts, budget) as engine:
            # None if the rows fit into memory after all: `needed` has counted them, while
            # `fits_in_memory` only knows an upper bound
            if engine is not None:
                return _read_in_blocks(engine, forecasts, settings, p)
    return _read_in_memory(forecasts, settings, p)


def _horizon_is_segment(forecasts: ForecastTable, p: reports.RatingParameters) -> bool:
    """True if forecasts are shown by the column of their horizons (how far ahead each looks): the
    table has one that is not the unit, and the user names no segments.

    A table of point forecasts without times need not be of forecasts ahead, so that a column with
    a usual name of horizons may be anything.
    """
    may_look_ahead = bool(forecasts.distribution_roles or forecasts.time_columns)
    has_horizons = forecasts.horizon not in (None, p.unit)
    return may_look_ahead and has_horizons and not p.segments


def _columns_read(
    settings: study.Settings, p: reports.RatingParameters, parts: Sequence[InputPart]
) -> dict[str, str]:
    """The further columns of numbers that metrics need, as far as they are to be read: column ->
    the parameter that names the metric, for errors. parts: of the input, all with the same columns.

    If the user names a reference forecast, such as naive, those that the input lacks are not read
    but computed from the actual values later. Otherwise raises ParameterError if the input lacks a
    column that could be computed (`COMPUTED`), to propose this.
    """
    columns_of_input = set(parts[0].columns)
    needed = settings.columns
    if p.reference is None:
        for name, metric_parameter in needed.items():
            if name in COMPUTED and name not in columns_of_input:
                raise ParameterError(
                    f"{metric_parameter} needs a column {name}, or reference={REFERENCES}"
                )
        return needed  # one that the input lacks and that cannot be computed is refused later
    to_read = {}
    for name, metric_parameter in needed.items():
        is_replaced = name == REFERENCE  # by the reference forecast that the user names
        if name in columns_of_input and not is_replaced:
            to_read[name] = metric_parameter
    return to_read


def _read_in_memory(
    forecasts: ForecastTable, settings: study.Settings, p: reports.RatingParameters
) -> "Rating":
    """The study of a table that fits into memory.

    A reference forecast that `p` names is computed from the actual values. If the table has times,
    rows are put in order by series and time, and forecasts of several horizons (steps ahead) are
    shown by horizon, unless the user names segments. Raises ParameterError for slices of a time
    series.
    """
    timed = TimedOutcomes.from_table(forecasts, p.reference)
    if len(timed.data.rows) > MANY_ROWS:
        duck.release()  # the rows are copied: what the reader of files still holds may go
    data, timing = timed.with_reference(p.reference, settings.columns)
    first_part = forecasts.parts[0]
    outcomes.refuse_two_classes(data.actual, data.score.values(), data.rows.columns, first_part)
    if timing is not None:
        # a unit that the user names comes first; else series, if there are enough of them
        settings = replace(settings, unit=p.unit or timing.unit)
        # Horizons may be known only now that the rows are read: without a column of them, they are
        # counted from a cutoff. They are the slices, unless the user names some or has them as
        # units.
        if timing.has_horizons and timing.horizon != p.unit and not p.segments:
            settings = replace(settings, segments=(timing.horizon,))
    # without a unit, ordered rows are one series, whose errors depend on each other
    is_series = timing is not None and timing.ordered is not None and settings.unit is None
    if p.slices and is_series:
        raise ParameterError(
            "slices: forecasts of a time series are not independent of each other; "
            "leave slices out, or name a column of independent units with unit"
        )
    settings.checked(data.rows.systems)  # raises for a baseline that is no system
    return _of_rows(data, settings, p, timing)


def _read_in_blocks(
    engine: Engine,
    forecasts: ForecastTable,
    settings: study.Settings,
    p: reports.RatingParameters,
) -> "Rating":
    """The study of a table that is too large for memory. Its rows are treated as independent, even
    if it has times, because ordering them needs all rows.

    Raises ParameterError for slices and for a reference forecast to compute, which need all rows,
    too, and InputError for a table of draws without a column of point forecasts.
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
    pieces = blocks.pieces_of(engine, forecasts.parts, forecasts.layouts)
    table = blocks.blocks_of(
        engine, pieces, forecasts.systems, settings.segments, p.unit, used_roles=("forecast",)
    )
    settings.checked(table.systems)  # raises, before the rows are read, for an unknown baseline
    table_with_slices = table.grouped(settings.segments, p.unit)
    timing = None
    if forecasts.time_columns is not None:
        # "added_up" names the sentence of the page which says that rows are taken as independent
        unordered = NoTimeOrder("added_up", forecasts.time_columns.time)
        timing = Timing(forecasts.time_columns, unordered)
    return _of_blocks(table_with_slices, settings, p, timing)


read = reports.reader(reports.RatingParameters)(study_of)


# What is added up over blocks ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ActualSums(Bundle):
    """Sums of the actual values less their centre, a number near them: a.

    rows: of all, and zeros of those with the actual value 0. total: Σ a, and square: Σ a². weight:
    Σ w, weighted_total: Σ w a, and weighted_square: Σ w a².
    """

    rows: int
    zeros: int
    total: float
    square: float
    weight: float
    weighted_total: float
    weighted_square: float

    @classmethod
    def from_block(cls, block: Block, centre: float) -> Self:
        """The sums of the rows of a block. centre: a number near the actual values."""
        actual = block.truth - centre
        weight = block.weights
        return cls(
            rows=len(block),
            zeros=int(np.count_nonzero(block.truth == 0)),
            total=float(actual.sum()),
            square=float(actual @ actual),
            weight=float(weight.sum()),
            weighted_total=float(weight @ actual),
            weighted_square=float(weight @ (actual * actual)),
        )


class ErrorPair(NamedTuple):
    """Two systems, by number, whose absolute errors are compared, the lower number first.

    metric: the label of a metric that leaves rows out, whose rows count; "" for all rows.
    """

    metric: str
    first: int
    second: int


@dataclass(frozen=True, eq=False)
class RatingSummary(ForecastSummary):
    """The summary of a block of forecasts, in addition to the terms of the metrics.

    actual: the rows by actual value. forecasts: of each system the rows by forecast, see
    `RatingSummariser`. wins: the units on which the first of two systems has the smaller absolute
    error; empty if the rows of a unit may lie in several blocks. largest_errors: of each system the
    rows with the largest errors. crossed: of each system the number of rows whose quantiles cross,
    and crossings: the row whose quantiles cross by most. rows_without_value: for each partial
    metric and system the number of rows that do not count, shape (metrics, systems).
    """

    actual_sums: ActualSums
    actual: ValueCounts
    forecasts: tuple[ValueCounts, ...]
    wins: dict[ErrorPair, Wins]
    largest_errors: tuple[Extremes, ...]
    crossed: Total
    crossings: tuple[Extremes, ...]
    ids: KeyRepeats
    rows_without_value: Total


@dataclass(frozen=True)
class AbsoluteErrors:
    """The absolute errors of all systems on some rows, or added up by unit, as one array with a
    line for each system; then for each metric that leaves rows out a line with 1 where all systems
    have a value of it, else 0, and the errors of each system again, 0 where this is 0.

    systems: their number. partial: the metrics that leave rows out.
    """

    systems: int
    partial: tuple[MetricAtK, ...]

    @property
    def width(self) -> int:
        """The number of lines of `from_block`."""
        return self.systems + len(self.partial) * (1 + self.systems)

    def undefined(self, block: Block) -> list[Bools]:
        """One mask for each metric of `partial`, shape (systems, rows): True where the metric of a
        system is undefined on a row of the block.
        """
        rows_of_systems = [block.rows(i) for i in range(self.systems)]
        masks = list[Bools]()
        for chosen in self.partial:
            kind = chosen.metric.kind
            assert isinstance(kind, Loss)
            values: Floats = np.array([kind.per_row(rows, chosen.k) for rows in rows_of_systems])
            masks.append(np.isnan(values))
        return masks

    def from_block(self, block: Block) -> Floats:
        """The absolute errors on the rows of a block, unweighted, as lines that can be added up by
        unit: shape (`width`, rows).

        First the errors of each system. Then, for each metric that leaves rows out, a mask of the
        rows on which it is defined for all systems, since systems are compared on the same rows,
        and the errors of each system, 0 on the other rows.
        """
        error = np.abs(block.predictions - block.truth)  # (systems, rows)
        pieces = [error]
        for undefined in self.undefined(block):
            is_defined = ~undefined.any(axis=0, keepdims=True)  # (1, rows)
            pieces += [is_defined, error * is_defined]
        return np.concatenate(pieces)

    def wins(self, errors: Floats) -> dict[ErrorPair, Wins]:
        """For every pair the number of units on which the first system has the smaller error, the
        same, and the larger one: of all units, under the label "", and for each partial metric of
        the units with a row that counts.

        errors: what `from_block` returns, added up by unit, shape (`width`, units).
        """
        all_errors = errors[: self.systems]  # (systems, units)
        wins = self._wins_of_pairs("", all_errors)
        # then for each metric one line with the number of its rows in each unit, and one line of
        # errors for each system
        lines_per_metric = 1 + self.systems
        for number, chosen in enumerate(self.partial):
            start = self.systems + number * lines_per_metric
            rows_of_unit = errors[start]
            errors_of_metric = errors[start + 1 : start + lines_per_metric]
            wins |= self._wins_of_pairs(chosen.label, errors_of_metric[:, rows_of_unit > 0])
        return wins

    def _wins_of_pairs(self, label: str, errors: Floats) -> dict[ErrorPair, Wins]:
        """The wins of every pair. label: of the metric, for the keys. errors: of the systems on the
        units that count, shape (systems, units).
        """
        wins = {}
        for i, j in combinations(range(self.systems), 2):
            wins[ErrorPair(label, i, j)] = Wins.from_errors(errors[i], errors[j])
        return wins


@dataclass(frozen=True, eq=False)
class RatingSummariser:
    """Summarises blocks.

    terms: adds up the terms of the metrics. errors: makes the absolute errors, for wins. max_ids:
    how many ids are checked for duplicates. holds_table: True if the only block is the whole table;
    its rows are counted by forecast and by error only once a figure needs them.
    """

    terms: TermAdder
    limits: Limits
    errors: AbsoluteErrors
    max_ids: int = 0
    holds_table: bool = False

    def summarise(self, block: Block) -> RatingSummary:
        """The sums, counts and extreme rows of a block, and a random sample of its rows. Summaries
        can be added up; all numbers of the study are computed from the sum over the blocks.
        """
        largest_errors = []  # of each system
        worst_crossings = []
        crossed_rows = []
        for i, forecast in enumerate(block.predictions):
            absolute_error = np.abs(forecast - block.truth)
            largest_errors.append(Extremes.from_block(block, absolute_error, i, max_rows=EXAMPLES))
            drop = drops_of(block.rows(i))  # by how much the quantiles of each row cross, else 0
            worst_crossings.append(Extremes.from_block(block, drop, i, max_rows=1))
            crossed_rows.append(float(np.count_nonzero(drop)))
        # for each metric that leaves rows out: how many of each system
        undefined_rows = [mask.sum(axis=1) for mask in self.errors.undefined(block)]
        weight_columns = [] if block.weight is None else [block.weight]
        ids = np.empty(0) if block.id is None else block.id  # to find duplicates
        # a table in memory is counted by forecast only once a figure needs it
        forecasts = () if self.holds_table else self.forecasts(block)
        # a unit with rows in other blocks too is compared after its errors are added up
        wins = {} if block.units_split else self._wins(block)
        actual_centre = self.terms.centres[0].actual  # the same for all systems
        return RatingSummary(
            terms=self.terms.sums(block, self.limits),  # from which the metrics are computed
            actual_sums=ActualSums.from_block(block, actual_centre),
            actual=ValueCounts.from_values(block.truth, weight_columns, self.limits.bins),
            forecasts=forecasts,
            wins=wins,
            largest_errors=tuple(largest_errors),
            crossed=Total(np.array(crossed_rows)),
            crossings=tuple(worst_crossings),
            sample=Sample.from_block(block, max_rows=self.limits.drawn),
            ids=KeyRepeats.from_keys(ids, self.max_ids),
            rows_without_value=Total(np.array(undefined_rows)),
        )

    def _wins(self, block: Block) -> dict[ErrorPair, Wins]:
        """The wins of each pair over the units of a block, all rows of which lie in it."""
        errors = self.errors.from_block(block)
        if block.clustered:  # rows of a unit are neighbours
            errors = np.add.reduceat(block.weights * errors, block.unit_starts, axis=1)
        return self.errors.wins(errors)

    def forecasts(self, block: Block) -> tuple[ValueCounts, ...]:
        """For each system the rows of a block counted by its forecast, with the sums that
        `ForecastSums` needs. A centre near the errors is subtracted from them, so that their
        squares and cubes keep more digits.
        """
        counts = []
        for i, forecast in enumerate(block.predictions):
            centred_error = forecast - block.truth - self.centre(i)
            columns = ForecastSums.columns(forecast, centred_error, block.weight)
            counts.append(ValueCounts.from_values(forecast, columns, self.limits.bins))
        return tuple(counts)

    def centre(self, i: int) -> float:
        """A number near which the errors of system number i lie."""
        return self.terms.centres[i].forecast - self.terms.centres[i].actual


def drops_of(rows: Rows) -> Floats:
    """By how much the quantiles of each row cross: a higher one lies below a lower one; 0 without
    quantiles.
    """
    if isinstance(rows.predictive, Quantiles):
        return rows.predictive.drops
    return np.zeros(len(rows))


@dataclass(frozen=True, eq=False)
class ForecastSums:
    """Sums over the rows of each forecast of a system (or of each bin of neighbouring forecasts),
    of weights w, forecasts f and errors d = f − actual value − centre; arrays of equal length.

    squared_weight: Σ w². squared_weight_error: Σ w² d. squared_error: Σ w² d². cubed_error: Σ d³
    of unweighted rows, else 0.
    """

    rows: Floats
    weight: Floats
    forecast: Floats
    error: Floats
    squared_weight: Floats
    squared_weight_error: Floats
    squared_error: Floats
    cubed_error: Floats

    @staticmethod
    def columns(forecast: Floats, centred_error: Floats, weight: Floats | None) -> list[Floats]:
        """The numbers per row whose sums by forecast `from_counts` needs, each of shape (rows,).

        Weighted rows: w, w f, w d, w², w² d and w² d², in the order of the fields. Unweighted rows:
        f, d, d² and d³; as w = 1, sums of weights are numbers of rows, which are counted anyway.
        The intervals of unweighted rows are corrected for skewness (Hall), which needs d³; those of
        weighted rows (delta method) are not.

        centred_error: d. weight: w, None if rows are unweighted.
        """
        f = forecast
        d = centred_error
        w = weight
        if w is None:
            return [f, d, d * d, d * d * d]
        return [w, w * f, w * d, w * w, w * w * d, w * w * d * d]

    @classmethod
    def from_counts(cls, counts: ValueCounts, *, weighted: bool) -> Self:
        """The sums over the rows of each forecast. counts: the rows by forecast, with the sums of
        the columns that `columns` makes of them. weighted: True if the rows have weights.
        """
        n, *sums = counts.merged.sums  # the number of rows, then the sum of each of `columns`
        rows = n.astype(float)
        if weighted:
            weight, forecast, error, squared_weight, squared_weight_error, squared_error = sums
            return cls(
                rows,
                weight=weight,
                forecast=forecast,
                error=error,
                squared_weight=squared_weight,
                squared_weight_error=squared_weight_error,
                squared_error=squared_error,
                cubed_error=np.zeros(len(rows)),  # not added up, see `columns`
            )
        forecast, error, squared_error, cubed_error = sums
        return cls(
            rows,
            weight=rows,  # each row weighs 1, so that w = w² = 1
            forecast=forecast,
            error=error,
            squared_weight=rows,
            squared_weight_error=error,
            squared_error=squared_error,
            cubed_error=cubed_error,
        )

    def pooled(self, group: Ints, groups: int) -> Self:
        """The sums of each of so many groups. group: the number of the group of each forecast."""
        sums = {
            name: np.bincount(group, column, groups).astype(np.float64)
            for name, column in vars(self).items()
        }
        return replace(self, **sums)

    @property
    def mean_forecast(self) -> Floats:
        """The mean forecast by weight; NaN without weight."""
        return ratio(self.forecast, self.weight)

    @property
    def mean_error(self) -> Floats:
        """The mean error by weight; NaN without weight."""
        return ratio(self.error, self.weight)

    @property
    def influence_square(self) -> Floats:
        """Σ ψ² of the influence ψ = w (d − mean) / Σ w of each row on the mean error."""
        mean = self.mean_error
        square = self.squared_error - 2 * mean * self.squared_weight_error
        return ratio(square + mean**2 * self.squared_weight, self.weight**2)

    def uncentred_square(self, centre: float) -> Floats:
        """Σ w² (f − actual value)², where d is the error less this centre."""
        square = self.squared_error + 2 * centre * self.squared_weight_error
        return np.maximum(square + centre**2 * self.squared_weight, 0.0)

    @property
    def equal_rows(self) -> Floats:
        """Kish's number of effective rows, (Σ w)² / Σ w²: as many rows of equal weight have the
        same variance.
        """
        return ratio(self.weight**2, self.squared_weight)

    @property
    def skewness(self) -> Floats:
        """The skewness of the errors of unweighted rows, their third central moment over the
        standard deviation cubed.
        """
        mean = self.mean_error
        uncentred = self.cubed_error - 3 * mean * self.squared_error
        third_moment = uncentred / self.rows + 2 * mean**3
        variance = self.influence_square * self.rows
        return ratio(third_moment, variance**1.5)


# The study ----------------------------------------------------------------------------------------


class Tenth(NamedTuple):
    """A tenth of the rows of a system by their forecast: its number from 1, its rows, their mean
    forecast, and the bias on them.
    """

    number: int
    rows: int
    forecast: float
    bias: Statistic


class Constant(NamedTuple):
    """A constant forecast, by the name of what it is of the actual values, and its metric."""

    name: str
    value: float


class Crossed(NamedTuple):
    """The number of rows whose quantiles cross, and the name of the row where they do by most."""

    rows: int
    worst: str


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

    summariser: made `table_summary`, which has the sums, counts and sampled rows of the table.
    stated: the distributions that forecasts state. timing: the order of rows in time; None without
    columns of time.
    """

    measured: RowsInMemory | SummedForecasts
    summariser: RatingSummariser
    table_summary: RatingSummary
    stated: distributions.StatedDistributions
    timing: Timing | None = None

    report: ClassVar[str] = "rating"
    listed_under: ClassVar[str] = "Errors"

    @property
    def unit_count(self) -> int:
        """The number of independent units: rows, or the units of the column that was named."""
        return self.table_summary.terms.moments[ALL_ROWS_GROUP].moments.n

    # Distributions

    @cached_property
    def actual(self) -> Actual:
        """A description of the actual values as they are in the table: weights are ignored."""
        sums = self.table_summary.actual_sums  # of the actual values less `_actual_centre`
        mean = sums.total / sums.rows
        variance = max(sums.square / sums.rows - mean**2, 0.0)  # below 0 only by rounding
        return Actual(
            mean=self._actual_centre + mean,
            deviation=float(np.sqrt(variance)),
            low=self.target.low,
            high=self.target.high,
            zeros=sums.zeros / sums.rows,
        )

    @property
    def _actual_centre(self) -> float:
        """The number near the actual values that `ActualSums` leaves out."""
        return float(self.summariser.terms.centres[0].actual)

    @property
    def rows_without_value(self) -> dict[MetricAtK, dict[str, int]]:
        """Metric -> system -> the number of rows that the mean leaves out; only metrics that leave
        any out.
        """
        by_metric = {}
        metrics_leaving_rows_out = self.summariser.errors.partial
        counts = self.table_summary.rows_without_value.sums.tolist()  # (metrics, systems)
        for chosen, counts_of_systems in zip(metrics_leaving_rows_out, counts, strict=True):
            if any(counts_of_systems):
                by_metric[chosen] = dict(zip(self.systems, counts_of_systems, strict=True))
        return by_metric

    @cached_property
    def target(self) -> Distribution:
        """The distribution of the actual values."""
        return self.table_summary.actual.distribution(weighted=self.weighted)

    @cached_property
    def by_forecast(self) -> tuple[ValueCounts, ...]:
        """The rows of each system counted by forecast, with the columns of `ForecastSums`; counted
        here if the table is in memory, where the sample has all its rows.
        """
        summary = self.table_summary
        return summary.forecasts or self.summariser.forecasts(summary.sample.rows)

    @cached_property
    def forecasts(self) -> dict[str, Distribution]:
        """The distribution of each system's forecasts."""
        counts = zip(self.systems, self.by_forecast, strict=True)
        return {name: c.distribution(weighted=self.weighted) for name, c in counts}

    @cached_property
    def errors(self) -> dict[str, Distribution]:
        """The distribution of each system's errors, forecast − actual.

        The rows were counted by error while blocks were read. Those of a table in memory are
        counted here, once a figure needs it: there the sample has all rows.
        """
        summary = self.table_summary
        counts_by_error = summary.terms.errors
        if not counts_by_error:
            max_bins = self.summariser.limits.bins
            counts_by_error = error_counts(summary.sample.rows, ALL_ROWS_GROUP, max_bins)
        distributions_by_system = {}
        for i, name in enumerate(self.systems):
            counts = counts_by_error[ErrorsKey(ALL_ROWS_GROUP, i)]
            distributions_by_system[name] = counts.distribution(weighted=self.weighted)
        return distributions_by_system

    @frame
    def spread(self) -> Iterator[Row]:
        """Yield the quantiles of the error forecast − actual of every system: system, and a column
        for each of `SHARES`, such as 5%.
        """
        columns = [f"{share:.0%}" for share in SHARES]
        for name in self.order:
            quantiles = self.errors[name].quantiles(SHARES)
            yield {"system": name} | dict(zip(columns, quantiles, strict=True))

    @property
    def rows_drawn(self) -> int:
        """The number of rows behind the cells of figures: all, or a sample."""
        return int(self.table_summary.sample.times.sum())

    @property
    def rows_each_stands_for(self) -> float:
        """The number of rows that each of them represents on average."""
        return len(self.account) / self.rows_drawn

    @cached_property
    def quantile_bound(self) -> float:
        """The largest possible error of quantiles due to binning; 0 if all errors are counted
        exactly.
        """
        distributions_of_errors = list(self.errors.values())
        distributions_of_errors += [errors.sizes() for errors in self.errors.values()]
        return max(errors.quantile_error(SHARES) for errors in distributions_of_errors)

    @cached_property
    def share_of_largest_errors(self) -> float:
        """The share of the leader's squared error in 1% of the rows; from `HEAVY` on, RMSE is
        driven by a few rows.
        """
        return self.errors[self.leader].share_of_largest()

    @property
    def squared(self) -> list[MetricAtK]:
        """The metrics that are asked for and are made of the mean squared error."""
        return [chosen for chosen in self.settings.metrics if chosen.base == SQUARED]

    @property
    def scored_by_few(self) -> list[MetricAtK]:
        """The metrics whose value rests on few units, so that their intervals may be too narrow:
        if the forecast distributions are right, fewer than `MISSED` units lie where the metric
        measures a loss, such as outside the interval of an interval score.
        """
        metrics = []
        for chosen in self.settings.metrics:
            share_of_units = self.stated.missed_share(chosen)  # infinite if all units contribute
            if share_of_units * self.unit_count < MISSED:
                metrics.append(chosen)
        return metrics

    @property
    def equal_units(self) -> int | None:
        """Kish's number of effective units for the mean squared error, rounded: as many units of
        equal weight have the same variance. None without that metric, or if rows are independent
        and unweighted.
        """
        if self.plain or not self.squared:
            return None
        statistic: Any = self.measure(self.squared[0], self.leader)  # of a class with `freedom`
        return round(float(statistic.freedom)) + 1

    def histogram(self, systems: Sequence[str]) -> pd.DataFrame:
        """The share of rows, or of their weight, whose error lies in a bin: system, low, high,
        share.
        """
        ends = edges([self.errors[name] for name in systems], BINS)
        frames = []
        for name in systems:
            share = self.errors[name].histogram(ends) / self.errors[name].total
            bins = {"system": name, "low": ends[:-1], "high": ends[1:], "share": share}
            frames.append(pd.DataFrame(bins))
        return pd.concat(frames, ignore_index=True)

    def cells(self, systems: Sequence[str]) -> pd.DataFrame:
        """A two-dimensional histogram of forecast (x) and actual value (y), without empty cells: x,
        y (the lower ends of a cell), width, height, rows (their total weight), system.

        The axes span the central 99% of the values; rows outside are left out.
        """
        forecast_edges = edges([self.forecasts[name] for name in systems], CELLS)
        actual_edges = edges([self.target], CELLS)
        actual = self.table_summary.sample.rows.truth
        frames = []
        for name in systems:
            cells = self._cells(name, actual, forecast_edges, actual_edges)
            frames.append(cells.assign(system=name))
        return pd.concat(frames, ignore_index=True)

    @property
    def error_cells(self) -> pd.DataFrame:
        """The histogram of the leader's forecast (x) and its error (y), with the columns of
        `cells`.
        """
        rows = self.table_summary.sample.rows
        error = rows.predictions[self.systems.index(self.leader)] - rows.truth
        forecast_edges = edges([self.forecasts[self.leader]], CELLS)
        error_edges = edges([self.errors[self.leader]], CELLS)
        return self._cells(self.leader, error, forecast_edges, error_edges)

    def _cells(self, system: str, y: Floats, x_edges: Floats, y_edges: Floats) -> pd.DataFrame:
        """A two-dimensional histogram of a system's forecast (x) and y, without empty cells: x, y
        (the lower ends of a cell), width, height, rows (their total weight).

        y: the quantity on the y axis, such as the actual value, for each sampled row. x_edges,
        y_edges: the edges of the cells on each axis, evenly spaced.
        """
        sample = self.table_summary.sample
        forecast = sample.rows.predictions[self.systems.index(system)]
        # a sampled row weighs as much as all rows of the table that it represents
        equal_rows = sample.times  # of the sample, which it replaces
        table_rows_per_row = sample.stands_for
        weight = table_rows_per_row * equal_rows * sample.rows.weights
        total_weight, _, _ = np.histogram2d(forecast, y, (x_edges, y_edges), weights=weight)
        column, line = np.nonzero(total_weight)  # of each cell that is not empty
        return pd.DataFrame(
            {
                "x": x_edges[column],
                "y": y_edges[line],
                "width": float(x_edges[1] - x_edges[0]),
                "height": float(y_edges[1] - y_edges[0]),
                "rows": total_weight[column, line],
            }
        )

    def extremes(self, n: int = EXAMPLES) -> pd.DataFrame:
        """The n rows (at most 5) with the leader's largest errors: id, actual, forecast, error."""
        far = self.table_summary.largest_errors[self.systems.index(self.leader)].rows[:n]
        rows = [(self.row_name(row.name), row.actual, row.prediction) for row in far]
        frame = pd.DataFrame(rows, columns=["id", "actual", "forecast"])
        return frame.assign(error=frame["forecast"] - frame["actual"])

    # Distributions that systems state

    @frame
    def coverages(self) -> Iterator[Row]:
        """Yield the coverage of each central interval of each system: system, nominal (its level),
        value, low, high, all as shares.
        """
        for percent in self.stated.intervals:
            chosen = lookup.find_metric(f"coverage@{percent:g}", "forecasts")
            for name in self.order:
                row = {"system": name, "nominal": percent / 100}
                yield row | limits(self.estimate(chosen, name))

    @frame
    def pit_histogram(self) -> Iterator[Row]:
        """Yield the histogram of the probability integral transform of each system, whose bins lie
        between the quantiles that forecasts state: system, low, high (levels of quantiles, from 0
        to 1), share (of the actual values in the bin), density: share / (high − low), which is 1
        for calibrated quantiles. No rows without quantiles.
        """
        percents = self.stated.shown_percents  # the levels of the quantiles
        if not percents:
            return
        metrics = [lookup.find_metric(f"quantile_coverage@{p:g}", "forecasts") for p in percents]
        for name in self.order:
            # The share of the actual values up to each quantile: their cumulative distribution. The
            # shares in the bins are the differences of neighbouring ones.
            coverage = [self.estimate(chosen, name).value for chosen in metrics]
            for bin_of_histogram in distributions.bins(percents, coverage):
                yield {"system": name} | bin_of_histogram

    @property
    def wrong_coverages(self) -> pd.DataFrame:
        """The rows of `coverages` whose coverage differs significantly from the nominal level, by
        at least `COVERAGE_GAP`. Only the prediction intervals that the page shows are checked, not
        every pair of quantiles.
        """
        frame = self.coverages
        # the confidence interval of the coverage, from low to high, lies on one side of the level
        is_wrong = frame["high"] < frame["nominal"]
        # whole numbers often lie just on a bound, which counts as covered: more is then no fault
        if not self.target.integers:
            is_wrong |= frame["low"] > frame["nominal"]
        is_far = (frame["value"] - frame["nominal"]).abs() >= COVERAGE_GAP
        shown_levels = [percent / 100 for percent in self.stated.shown_intervals]
        is_shown = frame["nominal"].isin(shown_levels)
        return frame[is_shown & is_wrong & is_far]

    @cached_property
    def examples(self) -> distributions.ExampleForecasts:
        """The leader's forecasts and prediction intervals of at most `SHOWN_ROWS` rows, for a
        figure.

        If rows are in time order, these are the last rows of the first series at the shortest
        horizon, which show one curve in time. Otherwise they are evenly spaced over the sampled
        rows.
        """
        sampled = self.table_summary.sample.rows
        if self.timing is not None and self.timing.ordered is not None:
            # Row numbers of the table are those of the sample: rows have an order only if the table
            # is in memory, where the sample has all rows.
            shown = self.timing.ordered.last_rows(SHOWN_ROWS)
        else:
            n_shown = min(len(sampled), SHOWN_ROWS)
            shown = np.linspace(0, len(sampled) - 1, n_shown).round().astype(int)
        number_of_leader = self.systems.index(self.leader)
        rows_of_leader = sampled.take(shown).rows(number_of_leader)
        return self.stated.examples(rows_of_leader)

    @property
    def example_times(self) -> list[str]:
        """The times of the rows of `examples`, as text; empty if rows are in no time order."""
        timing = self.timing
        if timing is None or timing.ordered is None:
            return []
        rows = timing.ordered.last_rows(SHOWN_ROWS)
        times = self._texts_of(timing.columns.time)[rows].tolist()
        return [_without_midnight(time) for time in times]

    def _texts_of(self, column: str) -> Any:
        """The values of a column of time or series as text, one per row of the table, which is in
        memory.
        """
        assert self.data is not None
        return self.data.rows.shared_values[f"attribute {column}"].texts

    @property
    def example_series(self) -> str:
        """The name of the series whose rows are the examples; "" unless there are several."""
        timing = self.timing
        if timing is None or timing.ordered is None or timing.ordered.series_count == 1:
            return ""
        row = timing.ordered.last_rows(1)[0]
        return str(self._texts_of(timing.columns.series)[row])

    @property
    def crossings(self) -> dict[str, Crossed]:
        """For each system with rows whose quantiles cross the number of these rows, and the row
        where they cross by most.
        """
        by_system = {}
        summary = self.table_summary
        for i, name in enumerate(self.systems):
            rows = int(summary.crossed.sums[i])
            if rows:
                worst_row = summary.crossings[i].rows[0]  # the only one that is kept
                by_system[name] = Crossed(rows, self.row_name(worst_row.name))
        return by_system

    @property
    def unread_columns(self) -> list[str]:
        """The columns of quantiles, bounds and draws that were not read."""
        return distribution_columns.unread(self.account.columns_without_role, self.systems)

    @property
    def unlike_distributions(self) -> dict[str, str]:
        """System -> what its columns state about its distribution, such as "quantiles of 10%, 90%".

        Distributions are read only if all systems state them in the same way. Empty unless each
        system states one, and they were not read because the ways differ: one has quantiles,
        another draws.
        """
        if self.stated.roles:  # distributions were read
            return {}
        if len(self.systems) < 2:  # no other system to differ from
            return {}
        ignored_columns = self.account.columns_without_role
        # keyed by names of systems in the form in which names of columns have them
        by_key = distribution_columns.distributions(ignored_columns, self.p.interval_level)
        roles_by_system = {}
        for name in self.systems:
            key = distribution_columns.system_key(name)
            if key not in by_key:  # this system has only point forecasts
                return {}
            roles_by_system[name] = by_key[key].roles
        common_roles = set.intersection(*map(set, roles_by_system.values()))
        if distribution_columns.is_stated_by(common_roles):
            # all state a distribution in the same way: it was not read for another reason
            return {}
        return {
            name: distribution_columns.described(roles) for name, roles in roles_by_system.items()
        }

    @property
    def numbered_systems(self) -> list[str]:
        """The columns that were read as one system each, but may be draws of one system: names that
        differ only by a number, such as A_1 and A_2, at least `LIKE_DRAWS` with the same stem.
        """
        # `account` says how the input was read: it lists the columns of a role in one text
        forecast_columns = self.account.columns.get("forecast", "").split(", ")
        possible_draws = list[str]()
        for names_of_stem in distribution_columns.numbered(forecast_columns).values():
            if len(names_of_stem) >= LIKE_DRAWS:
                possible_draws += names_of_stem
        return possible_draws

    @property
    def assumed_columns(self) -> list[str]:
        """The bounds that were read and state no level, unless the user states it."""
        if self.p.interval_level:
            return []
        columns = self.account.columns.get("quantile", "").split(", ")
        return list(filter(distribution_columns.states_no_level, columns))

    def row_name(self, name: object) -> str:
        """What a page calls a row: its id, else its series and time if rows are in time order, else
        its number.

        name: what the summary of the table has for the row: its position from 0 if the table is in
        memory, else its id or number.
        """
        if self.data is None:  # the table was read in blocks, so that `name` is the id or number
            return str(name)
        position = name
        rows = self.data.rows
        if self.timing is None or self.timing.ordered is None or "id" in rows.columns:
            # without a column of ids, `id` has the numbers of the rows
            return str(rows.id[position])
        columns = (self.timing.columns.series, self.timing.columns.time)
        series_and_time = []
        for column in columns:
            if column:  # "": the table has no column of series
                text = str(self._texts_of(column)[position])
                series_and_time.append(_without_midnight(text))
        return " ".join(series_and_time)

    @property
    def unit_name(self) -> str:
        """What pages call a unit: "series" if many series were found to be the units, "time" if
        rows are in time order and several share a time, else the unit that the user named or the
        row.
        """
        if self.settings.unit and not self.p.unit:  # only series become units without being named
            return "series"
        order = None if self.timing is None else self.timing.ordered
        if order is not None and self.in_time_order:  # intervals take the rows as a time series
            rows = len(order.step)
            if order.times < rows:  # the rows at one time are a unit
                return "time"
        return super().unit_name

    # Beside the metrics

    def comparison_extras(self, chosen: MetricAtK, pair: SystemPair) -> Row:
        """The columns wins, ties and losses: the numbers of units on which the first system has the
        smaller absolute error, the same, and the larger one; NaN for a metric of the distributions
        that forecasts state, which may differ where absolute errors do not. Units on which the
        metric is undefined do not count. Also the columns of any study, such as detectable.
        """
        extras = super().comparison_extras(chosen, pair)
        kind = chosen.base.metric.kind
        if self.stated.roles and isinstance(kind, Loss | RatioOfRows) and kind.of_distributions:
            return {"wins": np.nan, "ties": np.nan, "losses": np.nan} | extras
        first, second = pair
        i = self.systems.index(first)
        j = self.systems.index(second)
        leaves_rows_out = chosen in self.summariser.errors.partial
        # metrics that leave no rows out share one count of all units, which has the label ""
        label = chosen.label if leaves_rows_out else ""
        counts = self._wins[ErrorPair(label, min(i, j), max(i, j))]
        if i > j:  # counted for `second`, which has the lower number: its losses are our wins
            counts = Wins(wins=counts.losses, ties=counts.ties, losses=counts.wins)
        return {"wins": counts.wins, "ties": counts.ties, "losses": counts.losses} | extras

    @cached_property
    def _wins(self) -> dict[ErrorPair, Wins]:
        """For each pair of systems the number of units on which the first has the smaller absolute
        error, the same, and the larger one.

        Usually each block counted the wins of its units, and the counts were added up. If the rows
        of a unit may lie in several blocks, no block knows the error of a unit: then the errors
        were added up by unit, and are compared here.
        """
        sums_of_all_rows = self.table_summary.terms.moments[ALL_ROWS_GROUP]
        if not isinstance(sums_of_all_rows, UnitSums):  # they are not kept unit by unit
            return self.table_summary.wins
        errors = self.summariser.errors
        # a line of sums, one per unit: first of the weights, then of the lines of errors
        errors_by_unit = sums_of_all_rows.sums[1 : 1 + errors.width]
        return errors.wins(errors_by_unit)

    @property
    def median_metrics(self) -> list[MetricAtK]:
        """The metrics that are medians."""
        return [
            chosen
            for chosen in self.settings.metrics
            if isinstance(chosen.metric.kind, score_kinds.Median)
        ]

    def constant(self, chosen: MetricAtK) -> float:
        """The metric of forecasting the mean of the actual values for every row."""
        sums = self.table_summary.actual_sums
        mean = self._actual_centre + float(ratio(sums.weighted_total, sums.weight))
        return self._metric_of_constant(chosen, mean)

    def constant_median(self, chosen: MetricAtK) -> float:
        """The metric of forecasting the median of the actual values for every row, the constant
        with the least MAE.
        """
        return self._metric_of_constant(chosen, self.target.weighted_median())

    def reference_value(self, chosen: MetricAtK) -> float:
        """The metric of the reference forecast on the rows that have one; NaN for one of
        distributions without a point forecast.
        """
        rows = self._leader_rows
        with_reference = rows.take(~np.isnan(rows.columns[REFERENCE]))
        forecast = with_reference.columns[REFERENCE]
        return chosen.value(replace(with_reference, score=forecast, predictive=None))

    @property
    def rows_without_reference(self) -> int | None:
        """The number of rows for which the named reference (`p.reference`) has no forecast; None if
        none is named, or if no metric uses it.
        """
        if self.p.reference is None:
            return None
        columns = self._leader_rows.columns  # those that metrics use, the same for all systems
        if REFERENCE not in columns:
            return None
        return int(np.isnan(columns[REFERENCE]).sum())  # NaN: no forecast

    @property
    def _leader_rows(self) -> Rows:
        """The rows of the leader, which are in memory."""
        assert isinstance(self.measured, RowsInMemory)
        return self.measured.rows[self.leader]

    @property
    def computed_scales(self) -> list[str]:
        """The scales of errors that the table lacks, and that are computed from its own rows."""
        assert self.data is not None
        read = self.data.rows.layout.fields
        return [name for name in (NAIVE_MAE, NAIVE_MSE) if f"metric_column {name}" not in read]

    @cached_property
    def by_horizon(self) -> pd.DataFrame | None:
        """The primary metric by horizon, the number of steps that forecasts look ahead: system, x
        (the horizon), value, low, high.

        None if rows are in no time order, if there is only one horizon, or if there are too many
        to show each.
        """
        timing = self.timing
        if timing is None or timing.ordered is None or not timing.has_horizons:
            return None
        rows = []
        for steps in timing.ordered.horizons.tolist():
            member = timing.ordered.steps_ahead == steps  # a mask of the rows of this horizon
            for name in self.order:
                estimate = self.estimate(self.primary_metric, name, member)
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
        return list(dict.fromkeys(self.comparisons["metric"][is_tapered]))

    @cached_property
    def autocorrelation(self) -> Autocorrelation | None:
        """The autocorrelation at the first lag that intervals and tests leave out: of the influence
        of each time on the primary metric's difference between two systems, or on its value if
        there is only one. It is near 0 if the lags that are used suffice.

        None if rows are in no time order, if the number of times is at most twice the lag, or if
        every influence is 0.
        """
        if not self.in_time_order:
            return None
        assert isinstance(self.measured, RowsInMemory)  # only rows in memory are put in order
        rows = self.measured.rows[self.leader]
        influence = self.primary_metric.base.effects(rows).influence  # of each row on the metric
        leader_and_opponent = row_study.compared(self)  # the leader alone if there is one system
        for opponent in leader_and_opponent[1:]:
            rows_of_opponent = self.measured.rows[opponent]
            influence = influence - self.primary_metric.base.effects(rows_of_opponent).influence
        first_unused_lag = rows.lags + 1  # intervals and tests use the lags up to `lags`
        # the units of ordered rows are times: the rows at one time are added up
        influence_of_time = sum_by_unit(influence, rows.unit)
        weight_of_time = sum_by_unit(rows.weights, rows.unit)
        # times without weight have the influence 0, which says nothing about dependence
        series = influence_of_time[weight_of_time > 0]
        if len(series) <= 2 * first_unused_lag or not series.any():
            return None
        return autocorrelation(series, first_unused_lag)

    @property
    def constants(self) -> Sequence[Callable[[MetricAtK], float]]:
        """The metric of forecasting the mean, and the median."""
        return (self.constant, self.constant_median)

    @property
    def constant_wins(self) -> Constant | None:
        """The constant forecast, the mean or the median of the actual values, that is better than
        every system on the primary metric; the better one if both are, None if neither is, or if
        the metric has no direction.
        """
        chosen = self.primary_metric
        if chosen.metric.best not in ("low", "high"):
            return None
        sign = 1.0 if chosen.metric.best == "low" else -1.0  # times it, a lower value is better
        constants = [
            Constant(MEAN, value=self.constant(chosen)),
            Constant(MEDIAN, value=self.constant_median(chosen)),
        ]
        better_constant = min(constants, key=lambda constant: sign * constant.value)
        value_of_leader = self.estimate(chosen, self.leader).value  # no system has a better one
        if sign * better_constant.value < sign * value_of_leader:
            return better_constant
        return None

    @cached
    def _metric_of_constant(self, chosen: MetricAtK, forecast: float) -> float:
        """The value of a metric if every row had this forecast.

        It is computed from the distribution of the actual values, which has all rows of the table.
        This lacks the further columns that some metrics need: they are computed on the sampled
        rows.
        """
        if isinstance(chosen.metric.kind, score_kinds.Median):
            return self._median_error_of_constant(chosen.metric.kind, forecast)
        if chosen.metric.columns:
            sample = self.table_summary.sample
            rows = sample.rows
            forecasts = np.full(len(rows), forecast)
            weight = rows.weights * sample.times  # `times`: how many equal rows each represents
            columns = rows.shared_columns
            return chosen.value(Rows(rows.truth, forecasts, weight=weight, columns=columns))
        # a single row for each distinct actual value, with the weight of all rows that have it
        # (their number, if rows are unweighted)
        target = self.target
        forecasts = np.full(len(target.values), forecast)
        return chosen.value(Rows(target.values, forecasts, weight=target.weight))

    def _median_error_of_constant(self, kind: score_kinds.Median, forecast: float) -> float:
        """The median absolute error if every row had this forecast. kind: of that metric, the only
        one that is a median.
        """
        # the distribution of actual − forecast: that of the actual values, shifted
        errors = replace(self.target, values=self.target.values - forecast)
        absolute_errors = errors.sizes()
        # Σ w² is not known. Only the standard error depends on it, which is not used here: the
        # number of rows stands for it.
        squared_weights = float(self.target.rows.sum())
        return kind.estimate(absolute_errors, squared_weights, weighted=self.weighted).value

    # Along the forecast

    @frame
    def tenths(self) -> Iterator[Row]:
        """Yield the bias along the forecast of each system: system, tenth (of the rows by their
        forecast, from 1), forecast and actual (means), bias, low, high, n (rows).
        """
        for name in self.order:
            for tenth in self._tenths(name):
                options = self.inference_options(RandomStream.ESTIMATES)
                bias = inference.estimate(tenth.bias, options)
                row = {"system": name, "tenth": tenth.number, "forecast": tenth.forecast}
                row |= {"actual": tenth.forecast - bias.value, "bias": bias.value}
                yield row | {"low": bias.low, "high": bias.high, "n": tenth.rows}

    def _tenths(self, system: str) -> Iterator[Tenth]:
        """Yield the tenths of a system's rows by forecast, the lowest forecasts first. Those
        without weight are left out. There are fewer than ten if so many forecasts are equal that
        deciles coincide.
        """
        i = self.systems.index(system)
        forecasts = self.forecasts[system]
        levels = np.arange(1, TENTHS) / TENTHS
        # the distinct deciles: the lower ends of all tenths but the first
        lower_ends = np.unique(forecasts.quantiles(levels.tolist()))
        tenth_of_forecast = np.searchsorted(lower_ends, forecasts.values, side="right")
        sums_by_tenth = self.forecast_sums(i).pooled(tenth_of_forecast, len(lower_ends) + 1)
        sampled = self.table_summary.sample.rows
        tenth_of_row = np.searchsorted(lower_ends, sampled.predictions[i], side="right")
        for tenth in np.flatnonzero(sums_by_tenth.weight).tolist():
            yield Tenth(
                number=tenth + 1,
                rows=int(sums_by_tenth.rows[tenth]),
                forecast=float(sums_by_tenth.mean_forecast[tenth]),
                bias=self._bias_in_tenth(i, sums_by_tenth, tenth, tenth_of_row == tenth),
            )

    def _bias_in_tenth(
        self, i: int, sums: ForecastSums, number: int, is_in_tenth: Bools
    ) -> Statistic:
        """The bias, which is the mean error, of system number i in a tenth of the rows, as a
        statistic from which its interval is computed: from the rows if the sample has all of them,
        else from `sums`.

        sums: with one entry per tenth. number: the index of the tenth in `sums`. is_in_tenth: a
        mask of the sampled rows, True in this tenth.
        """
        rows = self.table_summary.sample.rows
        errors = rows.predictions[i] - rows.truth
        if self.table_summary.sample.is_complete:
            unit = rows.key if rows.clustered else None  # the key identifies the unit of a row
            rows_of_errors = Rows(errors, weight=rows.weight, unit=unit)
            return RowStatistic(MEAN_NUMBER, rows_of_errors.take(is_in_tenth))
        centre = self.summariser.centre(i)  # subtracted from the errors before they were added up
        bias = SummedMean(
            MEAN_NUMBER,
            self.measured.layout,
            value=centre + float(sums.mean_error[number]),
            n=int(sums.rows[number]),
            freedom=float(sums.equal_rows[number]) - 1,  # Kish's number of rows, less 1
            square=float(sums.influence_square[number]),
        )
        if self.settings.unit:
            weight = float(sums.weight[number])
            return self._with_spread_of_units(bias, errors, rows.weights * is_in_tenth, weight)
        if self.weighted:  # the skewness is not known, as no cubes are added up: it is taken as 0
            return bias
        return replace(bias, skew=float(sums.skewness[number]))

    def _with_spread_of_units(
        self, bias: SummedMean, errors: Floats, weights: Floats, total_weight: float
    ) -> SummedMean:
        """The bias in a tenth, with the variance that clustered rows give it. Sums over rows do not
        tell how units vary: the variance is estimated from the sampled units.

        errors, weights: of each sampled row; the weight is 0 outside the tenth. total_weight: Σ w
        over all rows of the tenth.
        """
        sample = self.table_summary.sample
        # of a row on the mean error: w (error − mean) / Σ w
        influence = weights * (errors - bias.value) / total_weight
        square = sample.influence_square(influence)
        squared_unit_weights = sample.influence_square(weights).value  # Σ (the weight of a unit)²
        kish_units = float(ratio(total_weight**2, squared_unit_weights))
        return replace(
            bias,
            freedom=kish_units - 1,
            square=square.value,
            error_uncertainty=square.uncertainty,
        )

    def forecast_sums(self, i: int) -> ForecastSums:
        """The sums over the rows of each forecast of system number i."""
        return ForecastSums.from_counts(self.by_forecast[i], weighted=self.weighted)

    @property
    def has_bands(self) -> bool:
        """True if reliability diagrams have bands: sums tell how rows vary, not how units do."""
        return self.settings.unit is None or self.table_summary.sample.is_complete

    @cached_property
    def uncertainty_of_widths(self) -> float:
        """The largest relative uncertainty of the half-width of an interval, such as 0.02 for 2%,
        among the intervals whose standard error is estimated from a sample of the rows: those of
        medians, and of the leader's bias in tenths, which the page lists. 0 if the sample has every
        row.
        """
        if self.table_summary.sample.is_complete:
            return 0.0
        statistics: list[Any] = []  # all have `error_uncertainty`, that of the standard error
        for chosen in self.median_metrics:
            statistics += [self.measure(chosen, name) for name in self.systems]
        statistics += [tenth.bias for tenth in self._tenths(self.leader)]
        return float(np.nanmax([statistic.error_uncertainty for statistic in statistics]))

    @cached_property
    def means(self) -> dict[str, reliability.MeanReliability]:
        """The mean of the actual values by forecast of each system, best first."""
        return {name: self._mean_reliability(name) for name in self.order}

    def _mean_reliability(self, system: str) -> reliability.MeanReliability:
        """The reliability curve of a system: the mean of the actual values by forecast, with the
        decomposition of its squared error and a band. Forecasts whose rows weigh nothing are left
        out.
        """
        i = self.systems.index(system)
        sums = self.forecast_sums(i)
        has_weight = sums.weight > 0
        # The summed errors are forecast − actual − centre. Forecasts less these errors are the
        # actual values, each plus the centre.
        mean_of_shifted = ratio(sums.forecast - sums.error, sums.weight)
        mean_actual = mean_of_shifted - self.summariser.centre(i)
        means_by_forecast = calibration.Means(
            forecast=sums.mean_forecast[has_weight],
            weight=sums.weight[has_weight],
            mean=mean_actual[has_weight],
            index=np.empty(0, np.int64),  # the forecast of each row: sums have no rows
        )
        band = self._mean_band(i, means_by_forecast, has_weight)
        return reliability.mean_reliability(
            means_by_forecast, self._actual_variance, band, self.forecasts[system]
        )

    @property
    def _actual_variance(self) -> float:
        """The weighted variance of the actual values."""
        # of the values less a constant, which does not change the variance
        sums = self.table_summary.actual_sums
        mean = sums.weighted_total / sums.weight
        return sums.weighted_square / sums.weight - mean**2

    def _mean_band(self, i: int, table: calibration.Means, has_weight: Bools) -> Band | None:
        """The consistency band of the reliability curve of system number i: where the means of the
        actual values lie if its forecasts are calibrated. None if rows are clustered in units and
        not all are in the sample, as sums do not tell how units vary.

        table: the mean actual value of each forecast whose rows have any weight. has_weight: a mask
        of all forecasts, True for the forecasts in `table`.
        """
        rng = self.rng(5)  # 5: the random numbers of these bands, whatever else is drawn
        draws = self.settings.limits.bands
        level = self.settings.level
        rows_are_independent = not self.settings.unit
        if rows_are_independent:
            # The band needs Σ (w error)² by forecast. If forecasts are calibrated, the mean error
            # is 0, so that no mean is subtracted.
            squares = self.forecast_sums(i).uncentred_square(self.summariser.centre(i))
            return consistency.band_of_independent(
                table, squares[has_weight], rng=rng, draws=draws, level=level
            )
        sample = self.table_summary.sample
        if not sample.is_complete:
            return None
        rows = sample.rows.rows(i)  # the actual values of all rows, with this system's forecasts
        return consistency.band_of_means(
            rows, calibration.means(rows), rng=rng, draws=draws, level=level
        )

    @frame
    def parts(self) -> Iterator[Row]:
        """Yield the CORP decomposition of the squared error of each system: system, mse,
        miscalibration, discrimination, uncertainty, skill.

        skill: (discrimination − miscalibration) / uncertainty, the R² against the mean of the
        actual values.
        """
        for name, reliability_curve in self.means.items():
            decomposition = reliability_curve.decomposition
            # mse = uncertainty − discrimination + miscalibration
            gain = decomposition.discrimination - decomposition.miscalibration
            mse = max(decomposition.uncertainty - gain, 0.0)  # below 0 only by rounding
            skill = float(ratio(gain, decomposition.uncertainty))
            yield {"system": name, "mse": mse} | asdict(decomposition) | {"skill": skill}


def _without_midnight(time: str) -> str:
    """A time as text, without 00:00:00: the days of a data frame are read with this time."""
    return time.removesuffix(" 00:00:00")


def edges(columns: Sequence[Distribution], bins: int) -> Floats:
    """The edges of `bins` equal bins that hold the central 99% of each column.

    If all values are whole numbers, each bin holds the same number of these, and there may be fewer
    bins.
    """
    low, high = reliability.central_axis(columns)
    if not all(column.integers for column in columns):
        return np.linspace(low, high, bins + 1)
    numbers_per_bin = np.ceil((high - low + 1) / bins)
    width = max(numbers_per_bin, 1.0)
    # edges lie halfway between whole numbers
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
    """The study of a table that fits into memory. It is summarised as a single block, whose sums
    are exact and whose sample has all rows; metrics are computed from the rows themselves.

    timing: the times of these rows; None without columns of time.
    """
    rows = data.rows
    arguments = row_study.arguments_from_rows(data, settings, p)
    unit = None  # the number of the unit of each row; None if each row is a unit
    if settings.unit:
        unit, _ = codes(arguments.rows["unit"])
    block = _single_block(data, unit, metric_columns=arguments.rows["columns"])
    rows_by_system = {}
    for i, name in enumerate(rows.systems):
        rows_of_system = replace(block.rows(i), unit=unit)
        if timing is not None and unit is None:
            # no column has independent units: rows are taken as a time series
            rows_of_system = timing.in_order(rows_of_system)
        rows_by_system[name] = rows_of_system
    summariser = _exact_summariser(data, settings)
    return Rating(
        **arguments.study,
        measured=RowsInMemory(rows_by_system, ids=lambda: rows.id),  # which are made when needed
        summariser=summariser,
        table_summary=summariser.summarise(block),
        stated=distributions.StatedDistributions(list(block.system_columns)),
        timing=timing,
    )


def _single_block(
    data: outcomes.Outcomes, unit: Ints | None, metric_columns: Mapping[str, Floats]
) -> Block:
    """All rows of a table in memory as one block; rows are named by their positions from 0.

    unit: the number of the unit of each row; None if each row is a unit. metric_columns: further
    columns of numbers that metrics need, by name.
    """
    rows = data.rows
    position = np.arange(len(rows))
    key = position if unit is None else unit  # equal for the rows of a unit
    # for each role of a column that states a distribution, such as a quantile: (systems, rows)
    distribution_values = {}
    for role in rows.layout.predictions:
        if is_role(role):
            distribution_values[role] = np.array(list(rows.predictions_of(role).values()))
    return Block(
        data.actual,
        np.array(list(data.score.values())),
        data.weight,
        key.view(np.uint64),
        clustered=unit is not None,
        units_split=unit is not None,  # the rows of a unit need not be neighbours in the input
        shared_columns=metric_columns,
        system_columns=distribution_values,
        names=position,
    )


def _exact_summariser(data: outcomes.Outcomes, settings: Settings) -> RatingSummariser:
    """The summariser of a table in memory: it counts every distinct value and samples all rows. It
    adds up absolute errors by unit, to count wins, but no terms of metrics, which are computed from
    the rows themselves.
    """
    systems = len(data.rows.systems)
    errors = AbsoluteErrors(systems, partial(settings.metrics))
    mean_actual = float(data.actual.mean())  # forecasts lie near it too
    terms = TermAdder(
        metrics=(),
        centres=[kinds.Centre(mean_actual, mean_actual)] * systems,
        offsets={},
        max_units=0,
        extra_columns=errors.from_block,
        extra_width=errors.width,
        counts_errors=False,  # `Rating.errors` counts them once a figure needs them
    )
    n = len(data.rows)
    # as many bins as rows, so that each value has its own, and a sample of all rows
    limits = replace(settings.limits, bins=max(settings.limits.bins, n), drawn=n)
    return RatingSummariser(terms, limits, errors, holds_table=True)


def _of_blocks(
    table: blocks.Blocks, settings: Settings, p: reports.RatingParameters, timing: Timing | None
) -> Rating:
    """The study of a table that is read once, in blocks: only sums, counts and a sample of its rows
    are kept.

    timing: why the rows are in no time order; None without columns of time. Raises ParameterError
    for a metric that cannot be computed from sums. Raises InputError if systems predict different
    rows, for weights that are all 0, and for the values that `_refuse_odd_values` refuses.
    """
    distribution_roles = [role for role in table.schema.predictions if is_role(role)]
    stated = distributions.StatedDistributions(distribution_roles)
    summariser = _summariser_of_blocks(table, settings, stated)
    summary = table.total(summariser.summarise)  # the rows are read here
    rows = summary.actual_sums.rows
    row_study.check_ids(table, rows, summary.ids)
    # the column of weights, None without one
    weight = table.schema.shared_role_fields.get(schema.WEIGHT)
    is_weighted = weight is not None
    if weight is not None and not summary.actual_sums.weight:
        raise outcomes.zero_weights_error(table.selected_parts[0].part.name, weight.column)
    layout = layout_of(units=bool(settings.unit), weights=is_weighted)
    measured = SummedForecasts(table.systems, summariser.terms, summary, layout)
    measured.refuse_losses_on_unlike_rows()
    arguments = row_study.arguments_from_blocks(table, rows, settings, p, weighted=is_weighted)
    rating = Rating(
        **arguments,
        measured=measured,
        summariser=summariser,
        table_summary=summary,
        stated=stated,
        timing=timing,
    )
    _refuse_odd_values(rating, table)
    return rating


def _summariser_of_blocks(
    table: blocks.Blocks, settings: Settings, stated: distributions.StatedDistributions
) -> RatingSummariser:
    """The summariser of a table that is read in blocks. It adds up the terms of all metrics of the
    report, also of those that only figures show, as the table is read once. Some first rows are
    read here, so that numbers near the values are known.

    Raises ParameterError for a metric that cannot be computed from sums.
    """
    metrics_of_report = [chosen.base for chosen in settings.metrics]
    metrics_of_figures = [BIAS, *stated.drawn_metrics]
    metrics = list(dict.fromkeys(metrics_of_report + metrics_of_figures))  # each once
    refuse_unsummed(metrics, table.rows)
    errors = AbsoluteErrors(len(table.systems), partial(settings.metrics))
    terms = TermAdder.from_heads(
        metrics,
        table.head(),
        max_units=settings.limits.flipped,  # sign flips, for fewer units, need each unit's sums
        extra_columns=errors.from_block,
        extra_width=errors.width,
    )
    return RatingSummariser(terms, settings.limits, errors, max_ids=table.ids_held)


def _refuse_odd_values(rating: Rating, table: blocks.Blocks) -> None:
    """Raise InputError for a number such as -999 that stands for a missing value, and for actual
    values that are two classes. rating: the study of the table, which has the counts of its values.
    """
    first_part = table.selected_parts[
        0
    ].part  # errors name it: counts do not tell which part is at fault
    actual_column = table.schema.shared_role_fields["actual"].column
    distribution_by_column = {actual_column: rating.target, **rating.forecasts}
    for column, values in distribution_by_column.items():
        outcomes.refuse_missing_markers(values.values, values.rows, column, first_part.name)
    distinct_forecasts = [forecasts.values for forecasts in rating.forecasts.values()]
    outcomes.refuse_two_classes(rating.target.values, distinct_forecasts, table.columns, first_part)


def bin_widths(histogram: pd.DataFrame) -> pd.Series:
    """The width of each bin. histogram: with the columns low and high."""
    return histogram["high"] - histogram["low"]

"""Forecasts of series: whether rows are in time order, what then is a unit, and the reference
forecasts of skill.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, Self

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, ParameterError, ratio
from evalkit.metrics.rows import Rows
from evalkit.metrics.time_order import TimeOrder, mean_of_series
from evalkit.parameters.kinds import MEAN_OF_ACTUAL, season_of
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.inputs.forecasts import ForecastTable
from evalkit.reading.inputs.time_columns import HORIZON, NoTimeOrder, TimeColumns, order_of
from evalkit.reading.tables.table import Coded

REFERENCE, NAIVE_MAE, NAIVE_MSE = COMPUTED = ("reference", "naive_mae", "naive_mse")  # columns
FEW_SERIES = 10  # series, below which their losses are added up by time
MOST_HORIZONS = 50  # that are slices
SURE = 1.96  # standard errors of an autocorrelation


@dataclass(frozen=True, eq=False)
class Timing:
    """The columns of time of a table, and the order of its rows, or why they have none."""

    columns: TimeColumns
    order: TimeOrder | NoTimeOrder

    @property
    def ordered(self) -> TimeOrder | None:
        """The order, if rows have one."""
        return self.order if isinstance(self.order, TimeOrder) else None

    @property
    def unit(self) -> str | None:
        """The column of series, if there are enough of them to be the units."""
        has_enough = self.ordered is not None and self.ordered.series_count >= FEW_SERIES
        return self.columns.series if has_enough else None

    @property
    def horizon(self) -> str:
        """The column of horizons, or the name of those that were counted from the cutoff."""
        return self.columns.horizon or HORIZON

    @property
    def has_horizons(self) -> bool:
        """True for several horizons, but not too many to show each."""
        return self.ordered is not None and 1 < len(self.ordered.horizons) <= MOST_HORIZONS

    def in_order(self, rows: Rows) -> Rows:
        """The rows with their step in time as unit and their horizon; as they are if they have no
        order. For a table in which no unit is named.
        """
        if self.ordered is None:
            return rows
        order = self.ordered
        return replace(rows, unit=order.step, steps_ahead=order.steps_ahead)


class TimedOutcomes(NamedTuple):
    """Forecasts that were read, and their timing, if the table has a column of times."""

    data: outcomes.Outcomes
    timing: Timing | None

    @classmethod
    def from_table(cls, table: ForecastTable, reference: str | None) -> Self:
        """Read forecasts with their columns of time, from which the order of the rows follows. If
        the systems have different values there, the columns are not read, and rows have no order.

        reference: the reference forecast that the user asks for, "naive", "mean" …, or None.
        """
        columns = table.time_columns
        if columns is None:
            return cls(outcomes.forecasts_of(table.rows()), timing=None)
        # the columns of time are read as attributes, which must be the same for all systems
        attributes = dict.fromkeys(chain(table.attributes, columns.names))  # each once
        try:
            rows = replace(table, attributes=list(attributes)).rows()
        except InputError:  # systems have different times
            unordered = NoTimeOrder("differ", ", ".join(columns.names))
            return cls(outcomes.forecasts_of(table.rows()), Timing(columns, unordered))
        timing = Timing(columns, order_of(rows, columns))
        # Customers and events have dates too, at irregular distances. Irregular times order rows
        # only if these are known to be of series: the user asks for a naive reference, or there are
        # enough series to be the units.
        asks_for_naive = reference not in (None, MEAN_OF_ACTUAL)
        is_of_series = asks_for_naive or timing.unit is not None
        if timing.ordered is not None and not timing.ordered.is_regular and not is_of_series:
            timing = replace(timing, order=NoTimeOrder("irregular", columns.time))
        if timing.has_horizons and timing.ordered is not None and not columns.horizon:
            rows = _with_horizons(rows, timing.ordered.steps_ahead)
        return cls(outcomes.forecasts_of(rows), timing)

    def with_reference(self, reference: str | None, wanted: Mapping[str, str]) -> Self:
        """The same forecasts with the columns that metrics of skill need and the table lacks.

        reference: "naive", "mean" …; None to use the columns of the table alone. wanted: each
        column that a metric needs, such as "naive_mae" -> that metric. Raises ParameterError for a
        naive reference if the rows are in no time order, for a column that neither the table has
        nor the reference gives, and for a column `reference` that holds ids.
        """
        if reference is None:
            self._refuse_ids_as_reference()
            return self
        computed_columns = self._reference_columns(reference)
        values = dict(self.data.rows.shared_values)  # columns that all systems share, by use
        for name, metric in wanted.items():
            use = f"metric_column {name}"
            if use in values:  # a column of the table goes before a computed one
                continue
            if name not in computed_columns:
                raise ParameterError(f"{metric} needs a column {name}, or reference=naive")
            values[use] = computed_columns[name]
        rows = replace(self.data.rows, shared_values=values)
        return self._replace(data=replace(self.data, rows=rows))

    def _refuse_ids_as_reference(self) -> None:
        """Raise ParameterError if the column `reference`, from which metrics of skill take their
        reference forecasts, cannot hold forecasts: consecutive numbers, such as ids of orders, or
        numbers whose median lies outside the range of the actual values.
        """
        actual = self.data.actual
        # a column that metrics need has this name among the values that all systems share
        forecast = self.data.rows.shared_values.get(f"metric_column {REFERENCE}")
        if forecast is None:  # no metric needs the column
            return
        defined = forecast[~np.isnan(forecast)]
        if not len(defined):
            return
        distances = np.diff(np.sort(defined))
        is_counter = len(defined) > 2 and bool((distances == 1).all())
        # the median, since a few forecasts may well lie outside the range
        is_in_range = actual.min() <= np.median(defined) <= actual.max()
        if is_counter or not is_in_range:
            first_values = ", ".join(f"{value:g}" for value in defined[:2])
            more = ", …" if len(defined) > 2 else ""
            raise ParameterError(
                f"metrics of skill need forecasts in the column {REFERENCE!r}, which holds "
                f"{first_values}{more}; rename it, or set reference=naive"
            )

    def _reference_columns(self, reference: str) -> dict[str, Floats]:
        """The columns that a reference gives, by name: the reference forecast of each row; for a
        naive reference also its mean absolute and its mean squared error over the row's series, by
        which MASE and RMSSE are scaled. Raises ParameterError for a naive reference if the rows are
        in no time order.

        reference: "mean", the mean actual value of each series, which needs no order; else a naive
        forecast, the last actual value that was known, or that of the last known season.
        """
        actual = self.data.actual
        order = None if self.timing is None else self.timing.ordered  # None: no order is known
        if reference == MEAN_OF_ACTUAL:
            weight = np.ones(len(actual)) if self.data.weight is None else self.data.weight
            # without an order the series are not known: all rows are taken as one
            series = np.zeros(len(actual), np.int64) if order is None else order.series
            return {REFERENCE: mean_of_series(actual, weight, series)}
        if order is None:
            raise self._unordered_error(reference)
        season = season_of(reference)  # the number of steps after which values recur, at least 1
        naive_errors = order.naive_scales(actual, season)  # means over the series of each row
        return {
            REFERENCE: order.values_before(actual, season),
            NAIVE_MAE: naive_errors.absolute,
            NAIVE_MSE: naive_errors.squared,
        }

    def _unordered_error(self, reference: str) -> ParameterError:
        """The error for a naive reference, such as "naive", if rows are in no time order. If that
        is because rows of one series and horizon share a time, the error names the column.
        """
        advice = "reference=mean needs none"
        if self.timing is not None:  # there is a column of times
            reason = self.timing.order  # why it gives no order
            if isinstance(reason, NoTimeOrder) and reason.sentence_name == "shared":
                advice = f"some share values of {reason.column}"
        return ParameterError(
            f"reference: {reference} needs a column of several times, such as ds or date, in "
            f"which each row of a series and horizon has its own; {advice}"
        )


def _with_horizons(rows: Aligned, steps_ahead: Ints) -> Aligned:
    """The rows with their horizons as an attribute, as if the table had a column of them, so that
    they can be slices. steps_ahead: of each row, the steps from the cutoff to the time.
    """
    texts = [str(step) for step in range(steps_ahead.max() + 1)]
    horizon = Coded.from_texts(texts, steps_ahead)
    values = {**rows.shared_values, f"attribute {HORIZON}": horizon}
    return replace(rows, shared_values=values)


class Autocorrelation(NamedTuple):
    """The autocorrelation of values in time order at a lag, and its limit if they do not depend on
    values so far back.
    """

    lag: int
    value: float
    limit: float


def autocorrelation(values: Floats, lag: int) -> Autocorrelation:
    """The autocorrelation at a lag, and its limit: 1.96 times Bartlett's standard error, beyond
    which the autocorrelation is significant at 5%.

    values: in time order, (steps,). lag: in steps, at least 1. The squared standard error is
    (1 + 2 Σ r²) / steps, with the autocorrelations r at all smaller lags. The value is NaN if all
    values are equal.

    >>> autocorrelation(np.array([1.0, 1.0, -1.0, -1.0]), 1).value
    0.25
    """
    deviation = values - values.mean()
    lags: Ints = np.arange(1, lag + 1)
    products = np.array([deviation[k:] @ deviation[:-k] for k in lags])
    r = ratio(products, deviation @ deviation)  # at the lags 1 to `lag`
    r_at_smaller_lags = r[:-1]
    error = np.sqrt((1 + 2 * r_at_smaller_lags @ r_at_smaller_lags) / len(values))
    return Autocorrelation(lag, float(r[-1]), SURE * float(error))

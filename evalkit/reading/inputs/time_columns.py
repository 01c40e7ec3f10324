"""Columns that say when forecasts were made, and of what: time, series, horizon and cutoff."""

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.metrics.time_grid import TimeGrid
from evalkit.metrics.time_order import TimeOrder
from evalkit.names import usual
from evalkit.numbers import count_with_noun
from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.inputs.outcomes import weight_of
from evalkit.reading.matching.column_names import comparable_name
from evalkit.reading.matching.proposal import are_distinct
from evalkit.reading.matching.samples import ColumnSample
from evalkit.reading.tables.table import Coded

if TYPE_CHECKING:
    import pandas as pd

QUARTER = re.compile(r"\s*(\d{4})[- ]?Q([1-4])\s*")
HORIZON = "horizon"  # what the steps from the cutoff to the time are called
LIKE_MEDIAN = 1.25  # times longer or shorter than the median distance of times


class TimeColumns(NamedTuple):
    """The columns of a table of forecasts in time; "" for one that it lacks, but the time."""

    time: str
    series: str
    horizon: str
    cutoff: str

    @property
    def names(self) -> list[str]:
        """The columns that the table has."""
        return [name for name in self if name]


class NoTimeOrder(NamedTuple):
    """Why rows are in no time order: the name of the sentence that says it, the column at fault,
    with the place if one is known, and the number of rows, None if they are not counted.
    """

    sentence_name: str
    column: str
    rows: int | None = None


def time_columns(
    columns: Collection[ColumnSample], horizon: str | None, system: ColumnSample | None
) -> TimeColumns | None:
    """The columns of time among those without another use, by their names; None without a column of
    times.

    A year or another part of a calendar is a time if no two rows of one system, series, horizon and
    cutoff share it. system: the column of systems; None without one.
    """
    names = usual("time_series")

    def named(use: str) -> Iterator[str]:
        """The columns with a usual name, the surest name first."""
        for name in names[use]:
            yield from (column.name for column in columns if comparable_name(column.name) == name)

    series = next(named("series"), "")
    cutoff = next(named("cutoff"), "")
    others = [column for column in columns if column.name in (series, horizon, cutoff)]
    if system is not None:
        others.append(system)
    by_name = {column.name: column for column in columns}
    times = [name for name in named("time") if name != horizon]
    times += [name for name in named("calendar") if are_distinct([by_name[name], *others])]
    if not times:
        return None
    return TimeColumns(times[0], series, horizon or "", cutoff)


def order_of(rows: Aligned, columns: TimeColumns) -> TimeOrder | NoTimeOrder:
    """The order of rows in time, or why they have none.

    Without a horizon, that is the number of steps after the cutoff, or 1; missing times count,
    unless times are on no even grid. Where the shortest horizon is 0, as in tables that count from
    it, it is one step ahead.
    """
    values = _values(rows, columns)
    if isinstance(values, NoTimeOrder):
        return values
    times = np.unique(values.time.values)
    grid = TimeGrid.from_times(times, are_dates=values.time.are_dates)
    steps_ahead = _steps_ahead(values, grid)
    order = TimeOrder(
        step=grid.steps(values.time.values),
        series=_series(rows, columns),
        steps_ahead=steps_ahead + max(1 - int(steps_ahead.min()), 0),
        weight=weight_of(rows),
        is_regular=_is_regular(times),
        is_even=grid.is_even,
    )
    repeated = np.flatnonzero(order.first_of_equals != np.arange(len(rows)))
    if repeated.size:
        _, first = rows.locate(int(repeated[0]))
        where = (
            f"{columns.time} ({count_with_noun(repeated.size, 'row')}, the first in row {first:,})"
        )
        return NoTimeOrder("shared", where, repeated.size)
    return order


class _Values(NamedTuple):
    """The cells of the columns of time; None for columns that the table lacks."""

    time: "Times"
    horizon: Floats | None
    cutoff: Floats | None


def _values(rows: Aligned, columns: TimeColumns) -> _Values | NoTimeOrder:
    """The cells of the columns of time, or why they say nothing of an order."""
    time = _read(rows, columns.time)
    horizon = _read(rows, columns.horizon)
    cutoff = _read(rows, columns.cutoff)
    if time is None:
        return NoTimeOrder("unread", columns.time)
    if time.values.min() == time.values.max():
        return NoTimeOrder("single", columns.time)
    if columns.horizon and (horizon is None or (horizon.values % 1).any()):
        return NoTimeOrder("unread_horizon", columns.horizon)
    if columns.cutoff and cutoff is None:
        return NoTimeOrder("unread", columns.cutoff)
    late = 0 if cutoff is None else int(np.count_nonzero(cutoff.values > time.values))
    if late:
        return NoTimeOrder("late", columns.cutoff, late)
    cutoff_values = None if cutoff is None else cutoff.values
    horizon_values = None if horizon is None else horizon.values
    return _Values(
        time,
        horizon=horizon_values,
        cutoff=cutoff_values,
    )


def _read(rows: Aligned, column: str) -> "Times | None":
    """The cells of a column; None without it, or if a cell cannot be read."""
    return _moments(rows.shared_values[f"attribute {column}"]) if column else None


def _series(rows: Aligned, columns: TimeColumns) -> Ints:
    """The number of each row's series; 0 without a column of series, or if it is an id of rows."""
    if columns.series:
        text: Coded = rows.shared_values[f"attribute {columns.series}"]
        if len(text.names) < len(text):
            return text.code
    return np.zeros(len(rows), np.int64)


def _steps_ahead(values: _Values, grid: TimeGrid) -> Ints:
    """How many steps ahead each row looks: the horizon, or the steps since the cutoff, or 1."""
    if values.horizon is not None:
        return values.horizon.astype(np.int64)
    if values.cutoff is None:
        return np.ones(len(values.time.values), np.int64)
    return grid.steps(values.time.values) - grid.steps(values.cutoff)


def _is_regular(times: Floats) -> bool:
    """True if most times are about as far apart as others, as days, working days and months are;
    dates of events and of customers are not.
    """
    distances = np.diff(times)
    if not len(distances):
        return True
    ratios = distances / np.median(distances)
    return bool(np.mean((ratios <= LIKE_MEDIAN) & (ratios >= 1 / LIKE_MEDIAN)) > 0.5)


def _first_month(quarter: re.Match[str]) -> str:
    """The first month of a quarter such as 2026Q2."""
    return f"{quarter[1]}-{3 * int(quarter[2]) - 2:02}"


class Times(NamedTuple):
    """When something was: numbers, or dates as days since 1970, of each row."""

    values: Floats
    are_dates: bool


def _moments(text: Coded) -> Times | None:
    """The numbers or dates that texts state; None if a text is neither, such as a date that does
    not begin with its year. Numbers such as 20260131 and 202601 are dates and months if all are.
    """
    import pandas as pd

    distinct = pd.Series(text.names, dtype=object)
    numbers = pd.to_numeric(distinct, errors="coerce").to_numpy(np.float64)
    if np.isfinite(numbers).all():
        dates = _dates(distinct, "%Y%m%d", digits=8)
        if dates is None:
            dates = _dates(distinct, "%Y%m", digits=6)
        values = numbers if dates is None else dates
        return Times(values[text.code], dates is not None)
    if not distinct.str.match(r"\s*\d{4}").all():
        return None
    dates = _dates(distinct.str.replace(QUARTER, _first_month, regex=True), "mixed")
    return None if dates is None else Times(dates[text.code], are_dates=True)


def _dates(texts: "pd.Series", form: str, digits: int | None = None) -> Floats | None:
    """Dates as days since 1970; None unless all texts are dates of this form, in pandas' words, of
    1900 to 2099 if they have so many digits alone.
    """
    import pandas as pd

    if digits and not texts.str.fullmatch(rf"(19|20)\d{{{digits - 2}}}").all():
        return None
    dates = pd.to_datetime(texts, errors="coerce", format=form, utc=True)
    days = (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy() / 86400
    return days if np.isfinite(days).all() else None

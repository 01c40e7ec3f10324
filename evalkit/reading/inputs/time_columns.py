"""Columns that say when forecasts were made, and of what: time, series, horizon and cutoff."""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats
from evalkit.metrics.time_order import TimeOrder
from evalkit.names import usual
from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.matching.column_names import comparable
from evalkit.reading.matching.samples import ColumnSample
from evalkit.reading.tables.table import Coded

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


class Unordered(NamedTuple):
    """Why rows are in no time order: the name of the sentence that says it, the column at fault,
    and the number of rows, None if they are not counted.
    """

    form: str
    column: str
    rows: int | None = None


def time_columns(columns: Collection[ColumnSample], horizon: str | None) -> TimeColumns | None:
    """The columns of time among those without another use, by their names; None without a column of
    times.

    A year or another part of a calendar is a time if no two rows share it.
    """
    names = usual("time_series")

    def named(use: str) -> Iterator[str]:
        """The columns with a usual name, the surest name first."""
        for name in names[use]:
            yield from (column.name for column in columns if comparable(column.name) == name)

    calendar = {column.name for column in columns if not column.is_distinct}
    times = [name for name in named("time") if name != horizon]
    times += [name for name in named("calendar") if name not in calendar]
    if not times:
        return None
    return TimeColumns(
        times[0], next(named("series"), ""), horizon or "", next(named("cutoff"), "")
    )


def order_of(rows: Aligned, columns: TimeColumns) -> TimeOrder | Unordered:
    """The order of rows in time, or why they have none.

    Without a horizon, that is the number of times after the cutoff, or 1. Where the shortest
    horizon is 0, as in tables that count from it, it is one step ahead.
    """
    text = {name: rows.shared_values[f"attribute {name}"] for name in columns.names}
    moments = _moments(text[columns.time])
    if moments is None:
        return Unordered("unread", columns.time)
    if moments.min() == moments.max():
        return Unordered("single", columns.time)
    horizon = _moments(text[columns.horizon]) if columns.horizon else None
    if columns.horizon and (horizon is None or (horizon % 1).any()):
        return Unordered("unread_horizon", columns.horizon)
    cutoff = _moments(text[columns.cutoff]) if columns.cutoff else None
    if columns.cutoff and cutoff is None:
        return Unordered("unread", columns.cutoff)
    if cutoff is not None and (cutoff > moments).any():
        return Unordered("late", columns.cutoff, int(np.count_nonzero(cutoff > moments)))
    known = moments
    if cutoff is not None:  # also what was known before the first time that is forecast
        known = np.append(moments, cutoff[cutoff < moments.min()])
    times = np.unique(known)
    place = np.searchsorted(times, moments)
    series = np.zeros(len(place), np.int64)
    if columns.series and len(text[columns.series].names) < len(place):  # else an id of rows
        series = text[columns.series].code
    steps = np.ones(len(place), np.int64)
    if horizon is not None:
        steps = horizon.astype(np.int64)
    elif cutoff is not None:
        steps = place + 1 - np.searchsorted(times, cutoff, side="right")
    order = TimeOrder(place, series, steps + max(1 - int(steps.min()), 0), _is_regular(times))
    if order.repeated_rows:
        return Unordered("shared", columns.time, order.repeated_rows)
    return order


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


def _moments(text: Coded) -> Floats | None:
    """Numbers, or dates as days since 1970; None if a text is neither, such as a date that does not
    begin with its year.
    """
    import pandas as pd

    distinct = pd.Series(text.names, dtype=object)
    values = pd.to_numeric(distinct, errors="coerce").to_numpy(np.float64)
    if not np.isfinite(values).all():
        if not distinct.str.match(r"\s*\d{4}").all():
            return None
        months = distinct.str.replace(QUARTER, _first_month, regex=True)
        dates = pd.to_datetime(months, errors="coerce", format="mixed", utc=True)
        values = (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy() / 86400
        if not np.isfinite(values).all():
            return None
    return values[text.code]

"""Columns that say when forecasts were made, and of what: time, series, horizon and cutoff."""

import re
from collections.abc import Collection
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
    """The columns of a table of forecasts in time; "" for a column that it lacks.

    time: of what is forecast, which every such table has. series: whose value is forecast. horizon:
    the steps from the cutoff to the time. cutoff: when the forecast was made.
    """

    time: str
    series: str
    horizon: str
    cutoff: str

    @property
    def names(self) -> list[str]:
        """The columns that the table has."""
        return [name for name in self if name]


class Unordered(NamedTuple):
    """Why rows have no order in time.

    form: the name of the sentence that says it. column: the one at fault. rows: how many rows are
    concerned; None if the sentence does not say it.
    """

    form: str
    column: str
    rows: int | None = None


def time_columns(columns: Collection[ColumnSample], horizon: str | None) -> TimeColumns | None:
    """The columns of time among those without another use, by their names; None without a column of
    times.

    columns: those without another use. horizon: the column that the user names as such. A year or
    another part of a calendar is a time if no two rows share it.
    """
    times = [name for name in _usual_columns(columns, "time") if name != horizon]
    distinct = {column.name for column in columns if column.is_distinct}
    times += [name for name in _usual_columns(columns, "calendar") if name in distinct]
    if not times:
        return None
    series = _usual_columns(columns, "series")
    cutoffs = _usual_columns(columns, "cutoff")
    return TimeColumns(
        time=times[0],
        series=series[0] if series else "",
        horizon=horizon or "",
        cutoff=cutoffs[0] if cutoffs else "",
    )


def _usual_columns(columns: Collection[ColumnSample], use: str) -> list[str]:
    """The columns with a usual name for a use, such as "cutoff"; the surest name first."""
    return [
        column.name
        for usual_name in usual("time_series")[use]
        for column in columns
        if comparable(column.name) == usual_name
    ]


def order_of(rows: Aligned, columns: TimeColumns) -> TimeOrder | Unordered:
    """The order of rows in time, or why they have none.

    A forecast is made as many steps ahead as its horizon says; without one, as there are times
    after its cutoff; else one step. If the shortest horizon is 0, all of them count from 0, and one
    is added.
    """
    text = {name: rows.shared_values[f"attribute {name}"] for name in columns.names}
    time = _numbers_of(text[columns.time])
    if time is None:
        return Unordered("unread", columns.time)
    if time.min() == time.max():
        return Unordered("single", columns.time)
    horizon = _numbers_of(text[columns.horizon]) if columns.horizon else None
    if columns.horizon and (horizon is None or (horizon % 1).any()):
        return Unordered("unread_horizon", columns.horizon)
    cutoff = _numbers_of(text[columns.cutoff]) if columns.cutoff else None
    if columns.cutoff and cutoff is None:
        return Unordered("unread", columns.cutoff)
    if cutoff is not None and (cutoff > time).any():
        return Unordered("late", columns.cutoff, int(np.count_nonzero(cutoff > time)))
    times = np.unique(time)
    if cutoff is not None:  # cutoffs before the first time that is forecast are times too
        times = np.unique(np.append(time, cutoff[cutoff < time.min()]))
    place = np.searchsorted(times, time)
    series = np.zeros(len(place), np.int64)
    if columns.series and len(text[columns.series].names) < len(place):  # else an id of rows
        series = text[columns.series].code
    if horizon is not None:
        steps = horizon.astype(np.int64)
    elif cutoff is not None:
        steps = place + 1 - np.searchsorted(times, cutoff, side="right")
    else:
        steps = np.ones(len(place), np.int64)
    steps = steps + max(1 - int(steps.min()), 0)
    order = TimeOrder(place, series, steps, _is_regular(times))
    if order.repeated_rows:
        return Unordered("shared", columns.time, order.repeated_rows)
    return order


def _is_regular(times: Floats) -> bool:
    """True if most distances of successive times are about as long as their median, as those of
    days, working days and months are; those of dates of events and of customers are not.

    times: ascending.
    """
    distances = np.diff(times)
    if not len(distances):
        return True
    ratios = distances / np.median(distances)
    return bool(np.mean((ratios <= LIKE_MEDIAN) & (ratios >= 1 / LIKE_MEDIAN)) > 0.5)


def _first_month(quarter: re.Match[str]) -> str:
    """The first month of a quarter: 2026-04 for 2026Q2."""
    return f"{quarter[1]}-{3 * int(quarter[2]) - 2:02}"


def _numbers_of(text: Coded) -> Floats | None:
    """Texts as numbers, or dates as days since 1970; None if a text is neither, such as a date that
    does not begin with its year.
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

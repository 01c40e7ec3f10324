"""`TimeGrid`: the even steps that times lie on, so that a time that is missing counts as a step."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from evalkit.arrays import Floats, Ints

Calendar = Callable[[Floats], Floats]  # days since 1970 -> a number that grows by each step alike
NEARLY = 0.01  # of a step, by which a time may be off
MONTH = 28  # days that a month has at least
WEEK = 7  # distances of working days, one of which is a weekend


def _days(moments: Floats) -> Floats:
    """Days, and numbers that are no dates, count as they are."""
    return moments


def _months(moments: Floats) -> Floats:
    """Months since 1970, with the share of the month that has passed."""
    date = np.floor(moments).astype("datetime64[D]")
    month = date.astype("datetime64[M]")
    first_day = month.astype("datetime64[D]")
    passed = (date - first_day).astype(np.float64)
    return np.asarray(month.astype(np.float64) + passed / 31)


def _month_ends(moments: Floats) -> Floats:
    """Months since 1970 by their last days."""
    return _months(moments + 1)


def _working_days(moments: Floats) -> Floats:
    """Days from Monday to Friday since 1970; a weekend counts as the Friday before."""
    date = np.floor(moments).astype("datetime64[D]")
    working_day = np.busday_offset(date, 0, "backward")
    return np.busday_count("1970-01-01", working_day).astype(np.float64)


def _calendar_of(dates: Floats) -> Calendar:
    """The calendar by which ascending dates, as days since 1970, are evenly spaced. It is `_months`
    if all dates are the same day of a month, `_month_ends` if all are the last one, `_working_days`
    for daily dates without a weekend among them, else `_days`.
    """
    distances = np.diff(dates)
    has_times_of_day = (dates % 1).any()
    if has_times_of_day:
        return _days
    if distances.min() >= MONTH:
        for calendar in (_months, _month_ends):
            # (day − 1) / 31 in every month, and the last day counts as day 1 in `_month_ends`: one
            # value if all dates are the same day of a month, or all are the last one
            place_in_month = np.round(calendar(dates) % 1, 3)
            if len(np.unique(place_in_month)) == 1:
                return calendar
    # a few days in a row may all be working days by chance: `WEEK` distances include a weekend
    is_working_day = np.is_busday(dates.astype("datetime64[D]"))
    if distances.min() == 1 and len(distances) >= WEEK and is_working_day.all():
        return _working_days
    return _days


def _index_of_last(times: Floats, moments: Floats) -> Floats:
    """The index of the last of the ascending times up to each moment; -1 before the first."""
    times_up_to_moment = np.searchsorted(times, moments, side="right")
    return times_up_to_moment.astype(np.float64) - 1.0


@dataclass(frozen=True)
class TimeGrid:
    """Times in steps. calendar: what makes the distances of times even. origin, length: the first
    time and the length of a step, in its numbers. is_even: False if no calendar does, so that each
    time is a step.
    """

    calendar: Calendar
    origin: float = 0.0
    length: float = 1.0
    is_even: bool = True

    @classmethod
    def from_times(cls, times: Floats, *, are_dates: bool) -> Self:
        """The grid of distinct, ascending times, at least two. Its step is their shortest distance.
        If another distance is not a multiple of it, each time is a step, whatever its distance from
        the next. are_dates: True if times are days since 1970, whose distances are those of a
        calendar, such as months.

        >>> TimeGrid.from_times(np.array([1.0, 2.0, 4.0]), are_dates=False).length
        1.0
        >>> TimeGrid.from_times(np.array([1.0, 2.0, 4.5]), are_dates=False).is_even
        False
        """
        calendar = _calendar_of(times) if are_dates else _days
        places = calendar(times)  # numbers that grow alike by each day, working day or month
        distances = np.diff(places)
        grid = cls(calendar, origin=float(places[0]), length=float(distances.min()))
        steps = distances / grid.length
        distance_from_whole = np.abs(steps - np.round(steps))
        is_whole = distance_from_whole <= NEARLY
        if is_whole.all():
            return grid
        # the calendar that makes these times even: the number of a time is its index
        return cls(partial(_index_of_last, times), is_even=False)

    def steps(self, moments: Floats) -> Ints:
        """The number of whole steps from the first time to each; negative before it.

        >>> grid = TimeGrid.from_times(np.array([1.0, 2.0, 4.0]), are_dates=False)
        >>> grid.steps(np.array([0.5, 1.0, 3.9, 4.0]))
        array([-1,  0,  2,  3])
        """
        steps = (self.calendar(moments) - self.origin) / self.length
        return np.floor(steps + NEARLY).astype(np.int64)

"""Times: numbers, or ISO dates as days since 1970."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Floats
from evalkit.reading.tables.parts import Part
from evalkit.reading.tables.rules import Rule

YEARS = (1678, 2261)  # whose dates pandas holds to the nanosecond; 0001 and 9999 are placeholders
DATE = Rule(f"hold dates of the years {YEARS[0]} to {YEARS[1]}, not placeholders", None, "")
TIME = Rule("hold numbers or ISO dates as times", None, "")


@dataclass(frozen=True, eq=False)
class Dates:
    """Dates as days since 1970, NaN if one is none; the first text that is wrong, and the rule that it breaks."""

    days: Floats
    wrong: int | None
    rule: Rule


def read(text: np.ndarray | None, name: str, locate: Callable[[int], tuple[Part, int]]) -> tuple[Floats | None, bool]:
    """Times as numbers, and whether they were dates: then in days since 1970.

    Raises InputError for the first text that is no date where not all are numbers.
    """
    if text is None:
        return None, False
    values = numbers(text)
    if np.isfinite(values).all():
        return values, False
    dates = dates_of(text)
    if dates.wrong is not None:
        part, row = locate(dates.wrong)
        raise dates.rule.error(part, name, repr(text[dates.wrong]), row)
    return dates.days, True


def numbers(text: np.ndarray) -> Floats:
    """Texts as numbers, NaN where one is none."""
    import pandas as pd

    return pd.to_numeric(pd.Series(text, dtype=object), errors="coerce").to_numpy(np.float64)


def dates_of(text: np.ndarray) -> Dates:
    """Texts as dates."""
    import pandas as pd

    column = pd.Series(text, dtype=object)
    dates = pd.to_datetime(column, errors="coerce", format="ISO8601", utc=True)
    readable, (first, last) = dates.notna(), YEARS
    year = column.str.extract(r"^\s*(\d{4})\D", expand=False).astype(float)
    placeholder = year.notna() & ~year.between(first, last)
    for wrong, rule in ((placeholder, DATE), (~readable, TIME)):
        if wrong.any():
            return Dates(np.full(len(text), np.nan), int(wrong.to_numpy().argmax()), rule)
    return Dates((dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy() / 86400, None, TIME)

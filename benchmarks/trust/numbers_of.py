"""What a report prints of a sample: every value with its limits, every difference with its limits and its p."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from worlds import Inputs, World

from evalkit.studies import classification, interleaving, ranking, rating, significance, validation

READ = {
    "classification": classification.read,
    "interleaving": interleaving.read,
    "ranking": ranking.read,
    "rating": rating.read,
    "significance": significance.read,
    "validation": validation.read,
}
FIRST, SECOND = "a", "b"


@dataclass(frozen=True)
class Number:
    """A number of the page. table: where it stands. p: of a comparison's test, NaN where there is none."""

    table: str
    name: str
    value: float
    low: float
    high: float
    p: float = np.nan

    @property
    def key(self) -> str:
        """What names the number in every sample of a world."""
        return f"{self.table}: {self.name}"


# Further tables with limits: attribute of the study -> the columns that name a row beside the system.
TABLES = {
    "calibration": ("part",),
    "gains": ("depth",),
    "elsewhere": ("base_rate", "metric"),
    "by_class": ("class",),
}


def study(world: World, inputs: Inputs) -> Any:
    """The study of a sample, as a notebook reads it."""
    read = READ[world.report](**inputs, **world.parameters)
    return (read.log or read.users) if world.report == "interleaving" else read


def numbers(of: Any) -> Iterator[Number]:
    """All numbers with limits of the first system, and of its difference from the second."""
    yield from values(of)
    yield from _comparisons(of.comparisons)


def values(of: Any) -> Iterator[Number]:
    """All numbers with limits of the first system."""
    yield from _estimates(of.estimates)
    for table, names in TABLES.items():
        frame = getattr(of, table, None)
        if isinstance(frame, pd.DataFrame) and {"value", "low", "high"} <= set(frame):
            yield from _others(table, frame, names)


def _estimates(frame: pd.DataFrame) -> Iterator[Number]:
    for row in frame[frame["system"] == FIRST].itertuples():
        yield Number("value", row.metric, row.value, row.low, row.high)


def _comparisons(frame: pd.DataFrame) -> Iterator[Number]:
    for row in frame.itertuples():
        value, low, high = row.difference, row.low, row.high
        if row.first == SECOND:
            value, low, high = -value, -high, -low
        yield Number("difference", row.metric, value, low, high, row.p)


def _others(table: str, frame: pd.DataFrame, names: tuple[str, ...]) -> Iterator[Number]:
    for number, row in enumerate(frame[frame["system"] == FIRST].to_dict("records")):
        name = " ".join(_text(row[name], number) for name in names if name in row)
        yield Number(table, name, row["value"], row["low"], row["high"])


def _text(cell: Any, number: int) -> str:
    """A cell that names a row; a number that differs between samples is named by its place."""
    return cell if isinstance(cell, str) else str(number)

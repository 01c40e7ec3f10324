"""How forecasts and their errors are spread: rows in cells of forecast and actual value, errors in bins."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.metrics.distribution import Distribution
from evalkit.studies.mean_reliability import window
from evalkit.studies.rating import BIAS, Rating

CELLS = 32  # of a side of the picture of actual against forecast
BINS = 40  # of errors


def cells(study: Rating, systems: list[str]) -> pd.DataFrame:
    """The weight of rows in cells of forecast and actual value: system, x, y (lower ends), width, height, rows.

    Cells without rows are left out, and the rows beyond the axes, which hold the central 99%.
    """
    sides = edges([study.forecasts[name] for name in systems], CELLS), edges([study.target], CELLS)
    frames = [_cells(study.crossed(name, "actual", sides), sides).assign(system=name) for name in systems]
    return pd.concat(frames, ignore_index=True)


def error_cells(study: Rating) -> pd.DataFrame:
    """The same of the leader's forecast and its error."""
    sides = edges([study.forecasts[study.leader]], CELLS), edges([study.errors[study.leader]], CELLS)
    return _cells(study.crossed(study.leader, "error", sides), sides)


def _cells(rows: Floats, sides: tuple[Floats, Floats]) -> pd.DataFrame:
    i, j = np.nonzero(rows)
    (width, height) = (float(side[1] - side[0]) for side in sides)
    lower = {"x": sides[0][i], "y": sides[1][j], "width": width, "height": height}
    return pd.DataFrame(lower | {"rows": rows[i, j]})


def errors(study: Rating, systems: list[str]) -> pd.DataFrame:
    """The share of rows, or of their weight, whose error lies in a bin: system, low, high, share."""
    ends = edges([study.errors[name] for name in systems], BINS)
    frames = []
    for name in systems:
        share = study.errors[name].histogram(ends) / study.errors[name].total
        frames.append(pd.DataFrame({"system": name, "low": ends[:-1], "high": ends[1:], "share": share}))
    return pd.concat(frames, ignore_index=True)


def widths(frame: pd.DataFrame) -> pd.Series:
    """How wide the bins of `errors` are."""
    return frame["high"] - frame["low"]


def mean_errors(study: Rating, systems: Sequence[str]) -> dict[str, float]:
    """The mean of forecast − actual of each system."""
    return {name: study.estimate(BIAS, name).value for name in systems}


def edges(columns: Sequence[Distribution], bins: int) -> Floats:
    """Edges of so many equal bins; of whole numbers each bin holds as many, and there may be fewer bins."""
    low, high = window(columns)
    if not all(column.whole for column in columns):
        return np.linspace(low, high, bins + 1)
    width = max(np.ceil((high - low + 1) / bins), 1.0)
    return np.arange(low - 0.5, high + width, width)

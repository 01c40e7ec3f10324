"""How forecasts and their errors are spread: rows in cells of forecast and actual value, errors in bins."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.studies.mean_reliability import window
from evalkit.studies.rating import Rating

CELLS = 32  # of a side of the picture of actual against forecast
BINS = 40  # of errors


def cells(study: Rating, systems: Sequence[str]) -> pd.DataFrame:
    """The weight of rows in cells of forecast and actual value: system, x, y (lower ends), width, height, rows.

    Cells without rows are left out, and the rows beyond the axes, which hold the central 99%.
    """
    forecast, actual = study.data.forecast, study.data.actual
    edges = _edges([forecast[name] for name in systems], CELLS), _edges([actual], CELLS)
    frames = [_cells(forecast[name], actual, study.data.weight, edges).assign(system=name) for name in systems]
    return pd.concat(frames, ignore_index=True)


def error_cells(study: Rating) -> pd.DataFrame:
    """The same of the leader's forecast and its error."""
    forecast = study.data.forecast[study.leader]
    error = forecast - study.data.actual
    return _cells(forecast, error, study.data.weight, (_edges([forecast], CELLS), _edges([error], CELLS)))


def _cells(x: Floats, y: Floats, weight: Floats | None, edges: tuple[Floats, Floats]) -> pd.DataFrame:
    rows = np.histogram2d(x, y, edges, weights=weight)[0]
    i, j = np.nonzero(rows)
    (width, height) = (float(side[1] - side[0]) for side in edges)
    lower = {"x": edges[0][i], "y": edges[1][j], "width": width, "height": height}
    return pd.DataFrame(lower | {"rows": rows[i, j]})


def errors(study: Rating, systems: Sequence[str]) -> pd.DataFrame:
    """The share of rows, or of their weight, whose error lies in a bin: system, low, high, share."""
    error = {name: study.data.forecast[name] - study.data.actual for name in systems}
    edges = _edges(list(error.values()), BINS)
    total = len(study.data.actual) if study.data.weight is None else study.data.weight.sum()
    frames = []
    for name, values in error.items():
        share = np.histogram(values, edges, weights=study.data.weight)[0] / total
        frames.append(pd.DataFrame({"system": name, "low": edges[:-1], "high": edges[1:], "share": share}))
    return pd.concat(frames, ignore_index=True)


def widths(frame: pd.DataFrame) -> pd.Series:
    """How wide the bins of `errors` are."""
    return frame["high"] - frame["low"]


def mean_errors(study: Rating, systems: Sequence[str]) -> dict[str, float]:
    """The mean of forecast − actual of each system."""
    rows = {name: study.sample.rows[name] for name in systems}
    return {name: float(own.shares @ (own.scores - own.actual)) for name, own in rows.items()}


def _edges(columns: Sequence[Floats], bins: int) -> Floats:
    """Edges of so many equal bins; of whole numbers each bin holds as many, and there may be fewer bins."""
    low, high = window(columns)
    if any(np.any(column != np.rint(column)) for column in columns):
        return np.linspace(low, high, bins + 1)
    width = max(np.ceil((high - low + 1) / bins), 1.0)
    return np.arange(low - 0.5, high + width, width)

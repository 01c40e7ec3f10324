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
    actual = study.data.actual
    x, y = _edges([study.data.forecast[name] for name in systems], CELLS), _edges([actual], CELLS)
    frames = []
    for name in systems:
        rows = np.histogram2d(study.data.forecast[name], actual, [x, y], weights=study.data.weight)[0]
        i, j = np.nonzero(rows)
        frames.append(pd.DataFrame({"system": name, "x": x[i], "y": y[j], "rows": rows[i, j]}))
    return pd.concat(frames, ignore_index=True).assign(width=x[1] - x[0], height=y[1] - y[0])


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


def _edges(columns: Sequence[Floats], bins: int) -> Floats:
    return np.linspace(*window(columns), bins + 1)

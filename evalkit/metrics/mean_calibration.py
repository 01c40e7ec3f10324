"""Forecasts read as means: the isotonic mean of the actual values along the forecast, and the squared error by CORP."""

from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.metrics import keys
from evalkit.metrics.calibration import Decomposition
from evalkit.metrics.recalibration import block_ends
from evalkit.metrics.rows import Rows


@dataclass(frozen=True, eq=False)
class Means:
    """Rows of equal forecasts together, lowest first: the forecast, their weight, the mean of their actual values.

    of: where each row stands in the other columns.
    """

    forecast: Floats
    weight: Floats
    mean: Floats
    of: Ints


def means(rows: Rows) -> Means:
    """Return the table of rows whose scores are forecasts.

    >>> table = means(Rows(np.array([1.0, 4.0, 3.0]), np.array([2.0, 5.0, 2.0])))
    >>> table.forecast.tolist(), table.mean.tolist(), table.of.tolist()
    ([2.0, 5.0], [2.0, 4.0], [0, 1, 0])
    """
    order = np.argsort(rows.scores)
    forecast = rows.scores[order]
    last = keys.run_ends(forecast)
    size = np.diff(last, prepend=-1)
    starts = last + 1 - size
    actual, weight = rows.actual[order], None if rows.weight is None else rows.weight[order]
    each = size.astype(np.float64) if weight is None else np.add.reduceat(weight, starts)
    total = np.add.reduceat(actual if weight is None else weight * actual, starts)
    of = np.empty(len(order), np.int64)
    weighs = each > 0  # of rows without weight nothing follows
    of[order] = np.repeat(np.maximum(np.cumsum(weighs) - 1, 0), size)
    return Means(forecast[last][weighs], each[weighs], ratio(total, each)[weighs], of)


def isotonic(table: Means) -> Floats:
    """The mean of the actual values at each forecast, by isotonic regression. doi:10.1214/23-STS908.

    >>> isotonic(means(Rows(np.array([2.0, 1.0, 6.0]), np.array([1.0, 2.0, 3.0])))).tolist()
    [1.5, 1.5, 6.0]
    """
    from scipy.optimize import isotonic_regression

    fitted: Floats = isotonic_regression(table.mean, weights=table.weight).x
    return fitted


def isotonic_curve(table: Means) -> tuple[Floats, Floats]:
    """The forecasts at both ends of each block of equal isotonic means, and these means."""
    fitted = isotonic(table)
    ends = block_ends(fitted)
    return table.forecast[ends], fitted[ends]


def decompose(rows: Rows, table: Means) -> Decomposition:
    """CORP decomposition of the squared error: MSE = miscalibration − discrimination + uncertainty.

    table: the `means` of the rows. Miscalibration: MSE − MSE of the isotonic mean, which recalibration would remove.
    Uncertainty: the variance of the actual values. Equals model-diagnostics' decompose with SquaredError.
    doi:10.1214/23-STS908.

    >>> rows = Rows(np.array([2.0, 1.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    >>> d = decompose(rows, means(rows))
    >>> print(f"{d.miscalibration:.4f} {d.discrimination:.4f} {d.uncertainty:.4f}")
    3.5000 4.5000 4.6667
    """
    centre = ratio(np.dot(table.weight, table.mean), table.weight.sum())
    return decomposed(table, float(ratio(np.dot(rows.weights, (rows.actual - centre) ** 2), table.weight.sum())))


def decomposed(table: Means, uncertainty: float) -> Decomposition:
    """The same from the table and the variance of the actual values."""
    total, fitted = table.weight.sum(), isotonic(table)
    centre = ratio(np.dot(table.weight, table.mean), total)
    # What varies among rows of one forecast is in all three errors and cancels out.
    of_forecast, of_fitted, of_centre = (
        float(ratio(np.dot(table.weight, (table.mean - other) ** 2), total))
        for other in (table.forecast, fitted, np.full_like(fitted, centre))
    )
    return Decomposition(of_forecast - of_fitted, of_centre - of_fitted, uncertainty)

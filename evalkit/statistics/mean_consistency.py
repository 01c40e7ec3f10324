"""Where the isotonic mean of the actual values would lie if the forecasts were right: bands by the wild bootstrap."""

import numpy as np

from evalkit.arrays import Floats, Ints, codes, ratio
from evalkit.metrics.mean_calibration import Means
from evalkit.metrics.rows import Rows
from evalkit.statistics.calibration_test import fine

GROUPS = 1_024  # of units that get one sign together where they are more


def consistency(
    rows: Rows, table: Means, *, rng: np.random.Generator, draws: int, level: float
) -> tuple[Floats, Floats, Floats]:
    """Forecasts, lowest first, and the limits between which isotonic means lie there if forecasts are right: pointwise.

    table: the `means` of the rows. Each draw adds to the forecasts their own errors times standard normal numbers, one
    for each row or for each unit, so that neither equal variances nor a distribution is assumed (wild bootstrap,
    doi:10.1214/aos/1176350142). Of more than 4,096 distinct forecasts neighbours are pooled.

    >>> from evalkit.metrics.mean_calibration import means
    >>> rng = np.random.default_rng(1)
    >>> forecast = np.repeat([2.0, 8.0], 100)
    >>> rows = Rows(rng.normal(forecast), forecast)
    >>> x, low, high = consistency(rows, means(rows), rng=rng, draws=400, level=0.9)
    >>> x.tolist(), bool((0.1 < x - low).all()), bool((high - x < 0.3).all())
    ([2.0, 8.0], True, True)
    """
    cell = fine(table.weight)
    error = rows.weights * (rows.actual - rows.scores)
    noise = _noise(cell[table.of], error, rows.unit, int(cell[-1]) + 1, rng, draws)
    return _limits(cell, table, noise, level)


def of_independent(
    table: Means, squares: Floats, *, rng: np.random.Generator, draws: int, level: float
) -> tuple[Floats, Floats, Floats]:
    """The same of rows that are independent. squares: of their errors, times weights, at each forecast."""
    cell = fine(table.weight)
    cells = int(cell[-1]) + 1
    return _limits(cell, table, rng.normal(size=(draws, cells)) * np.sqrt(np.bincount(cell, squares, cells)), level)


def _limits(cell: Ints, table: Means, noise: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    from scipy.optimize import isotonic_regression

    weight = np.bincount(cell, table.weight)
    x = ratio(np.bincount(cell, table.weight * table.forecast), weight)
    shares = [isotonic_regression(x + added / weight, weights=weight).x for added in noise]
    low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return x, low, high


def _noise(
    cell: Ints, error: Floats, unit: np.ndarray | None, cells: int, rng: np.random.Generator, draws: int
) -> Floats:
    """Sums of errors times normal numbers by cell, a row a draw: of independent rows they are normal themselves."""
    if unit is None:
        return rng.normal(size=(draws, cells)) * np.sqrt(np.bincount(cell, error**2, cells))
    of, names = codes(unit)
    group = of if len(names) <= GROUPS else rng.integers(GROUPS, size=len(names))[of]
    groups = min(len(names), GROUPS)
    sums = np.bincount(cell * groups + group, error, cells * groups).reshape(cells, groups)
    return rng.normal(size=(draws, groups)) @ sums.T

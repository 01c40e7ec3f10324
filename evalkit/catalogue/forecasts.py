"""The rows of the table of metrics for ratings and other numbers: a value a row, a ratio of sums, or a smooth function.

A forecast's metric comes with what each row adds to it, so that intervals can follow rows or units.
"""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue.kinds import Effects, Kind, Loss, Quantile, Ratio, Smooth, Transformed
from evalkit.catalogue.metric import Metric
from evalkit.metrics import losses
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums

HEADS = {"forecasts": "Rating and forecasts"}
NO_ROWS = "there is no row"
UNVARIED = "all actual values are equal"


def _loss(loss: Callable[[Floats, Floats], Floats]) -> Kind:
    """The mean of one loss a row, of actual value and forecast."""
    return Loss(lambda f, k: loss(f.actual, f.scores))


def wape(f: Rows, k: int | None = None, level: float = 1) -> Sums:
    """Σ |actual − forecast| / Σ |actual|, weighted: the percentage error of the total, in which zeros count."""
    return Sums(f.weights * losses.absolute(f.actual, f.scores), f.weights * np.abs(f.actual))


def median_absolute_error(f: Rows, k: int | None = None) -> Effects:
    """The median of |actual − forecast|; a row moves it by the density of the errors there, taken from the spacing.

    Hall and Sheather 1988, doi:10.1111/j.2517-6161.1988.tb01735.x.
    """
    size, share = losses.absolute(f.actual, f.scores), f.shares
    if not len(size):
        return Effects(float("nan"), share)
    n = 1 / np.sum(share**2)
    wide = min(0.25, 0.54 * n ** (-1 / 3))
    low, middle, high = (_quantile(size, share, at) for at in (0.5 - wide, 0.5, 0.5 + wide))
    middle = float(np.median(size)) if f.weight is None else middle
    return Effects(middle, share * (0.5 - (size <= middle) + _excess(size, share, middle)) * (high - low) / (2 * wide))


def _excess(size: Floats, share: Floats, middle: float) -> float:
    """What the share of rows up to the median has above one half: the effects then add up to 0."""
    return float(share[size <= middle].sum() - 0.5)


def _quantile(size: Floats, share: Floats, at: float) -> float:
    order = np.argsort(size, kind="stable")
    place = np.searchsorted(np.cumsum(share[order]), at)
    return float(size[order[min(int(place), len(size) - 1)]])


def r2(f: Rows, k: int | None = None) -> Effects:
    """1 − Σ (actual − forecast)² / Σ (actual − mean)², weighted."""
    share = f.shares
    squared = losses.squared(f.actual, f.scores)
    around = (f.actual - np.dot(share, f.actual)) ** 2
    bottom = float(np.dot(share, around))
    quotient = float(ratio(np.dot(share, squared), bottom))
    return Effects(1 - quotient, -share * ratio(squared - quotient * around, bottom))


def r2_correlation(f: Rows, k: int | None = None) -> Effects:
    """Squared correlation of actual and forecast, weighted."""
    share = f.shares
    a, b = (x - np.dot(share, x) for x in (f.actual, f.scores))
    aa, bb, ab = (float(np.dot(share, x)) for x in (a * a, b * b, a * b))
    value = float(ratio(ab**2, aa * bb))
    moved = value * (2 * ratio(a * b, ab) - ratio(a * a, aa) - ratio(b * b, bb))
    return Effects(value, share * moved)


def _row(name: str, kind: Kind, formula: str, undefined: str, equals: str, **rest) -> Metric:
    cut, high = rest.pop("cut", "never"), rest.pop("high", np.inf)
    return Metric(name, "forecasts", kind, formula, undefined, equals, cut=cut, high=high, **rest)


_MSE = _row(
    "mse",
    _loss(losses.squared),
    "mean (actual − forecast)²",
    NO_ROWS,
    "scikit-learn mean_squared_error",
    best="low",
    plain="the mean squared error; large errors weigh more",
    unit="actual²",
)

ROWS = (
    _row(
        "mae",
        _loss(losses.absolute),
        "mean |actual − forecast|",
        NO_ROWS,
        "scikit-learn mean_absolute_error",
        best="low",
        plain="the mean distance between forecast and actual value",
        unit="actual",
    ),
    _row(
        "rmse",
        Transformed(_MSE, lambda x: float(np.sqrt(x)), lambda x: float(ratio(1, 2 * np.sqrt(x)))),
        "√ mean (actual − forecast)²",
        NO_ROWS,
        "scikit-learn root_mean_squared_error",
        best="low",
        plain="the root of the mean squared error; large errors weigh more",
        unit="actual",
    ),
    _MSE,
    _row(
        "bias",
        _loss(losses.error),
        "mean (forecast − actual): above 0 where forecasts are too high",
        NO_ROWS,
        "− model-diagnostics bias",
        best="neither",
        low=-np.inf,
        plain="the mean of forecast minus actual value; above 0 if forecasts are too high",
        unit="actual",
    ),
    _row(
        "median_absolute_error",
        Quantile(median_absolute_error),
        "median |actual − forecast|",
        NO_ROWS,
        "scikit-learn median_absolute_error",
        best="low",
        plain="the distance between forecast and actual value that half of the rows stay below",
        unit="actual",
    ),
    _row(
        "mape",
        _loss(losses.absolute_percentage),
        "mean |actual − forecast| / |actual| as a share, over rows whose actual value is not 0",
        "all actual values are 0",
        "scikit-learn mean_absolute_percentage_error where no actual value is 0",
        best="low",
        plain="the mean distance between forecast and actual value as a share of the actual value",
    ),
    _row(
        "wape",
        Ratio(wape),
        "Σ |actual − forecast| / Σ |actual|: the absolute error as a share of the total",
        "all actual values are 0",
        "GluonTS ND",
        best="low",
        plain="the sum of all absolute errors as a share of the sum of the actual values",
    ),
    _row(
        "smape",
        _loss(losses.symmetric_percentage),
        "mean 2 |actual − forecast| / (|actual| + |forecast|), 0 where both are 0; from 0 to 2",
        NO_ROWS,
        "sktime mean_absolute_percentage_error(symmetric=True)",
        best="low",
        high=2.0,
        plain="the mean distance between forecast and actual value as a share of the mean of both",
    ),
    _row(
        "mase",
        Loss(lambda f, k: losses.scaled(f.actual, f.scores, f.beside["naive_mae"])),
        "mean |actual − forecast| / naive_mae, over rows where that is above 0; the column naive_mae: mean "
        "|value − the one before it| of the row's series in training, with seasons the one a season before",
        "no naive_mae is above 0",
        "sktime mean_absolute_scaled_error of one series",
        best="low",
        reference="Hyndman and Koehler 2006, doi:10.1016/j.ijforecast.2006.03.001",
        columns=("naive_mae",),
        plain="the mean error as a multiple of that of a naive forecast, the value before; below 1 is better than it",
    ),
    _row(
        "pinball",
        Loss(lambda f, k: losses.quantile(f.actual, f.scores, k / 100)),
        "mean of q (actual − forecast) where that is above 0, (1 − q) (forecast − actual) elsewhere, q = k%",
        NO_ROWS,
        "scikit-learn mean_pinball_loss(alpha=k/100)",
        best="low",
        cut="must",
        most=99,
        plain="the mean error of the forecast of the {k}% quantile",
        unit="actual",
    ),
    _row(
        "poisson_deviance",
        _loss(losses.poisson),
        "mean 2 (actual log(actual / forecast) − actual + forecast), over rows whose forecast is above 0",
        "no forecast is above 0",
        "scikit-learn mean_poisson_deviance",
        best="low",
        plain="the misfit of forecasts of counts; 0 is perfect",
        unit="actual",
    ),
    _row(
        "r2",
        Smooth(r2),
        "1 − Σ (actual − forecast)² / Σ (actual − mean actual)²; below 0 where the mean does better",
        UNVARIED,
        "scikit-learn r2_score; yardstick rsq_trad",
        low=-np.inf,
        high=1.0,
        plain="the share of the variance of the actual values that the forecasts explain; 0 for forecasting their mean",
    ),
    _row(
        "r2_correlation",
        Smooth(r2_correlation),
        "squared correlation of actual and forecast; blind to bias and scale",
        "actual values or forecasts are all equal",
        "yardstick rsq",
        high=1.0,
        plain="the squared correlation of forecast and actual value",
    ),
)

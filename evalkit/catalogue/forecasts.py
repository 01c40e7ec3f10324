"""The rows of the table of metrics for ratings and other numbers: a value a row, a ratio of sums, or a smooth function.

A forecast's metric comes with what each row adds to it, so that intervals can follow rows or units.
"""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue.forecast_kinds import OfMeans, Quantile
from evalkit.catalogue.kinds import Centre, Kind, Loss, RatioOfRows, Transformed
from evalkit.catalogue.metric import Metric
from evalkit.metrics import losses
from evalkit.metrics.rows import Rows

HEADS = {"forecasts": "Rating and forecasts"}
NO_ROWS = "there is no row"
UNVARIED = "all actual values are equal"


def _loss(loss: Callable[[Floats, Floats], Floats]) -> Kind:
    """The mean of one loss a row, of actual value and forecast."""
    return Loss(lambda f, k: loss(f.actual, f.scores))


def _wape(f: Rows) -> tuple[Floats, Floats]:
    """|actual − forecast| and |actual|, whose sums give the percentage error of the total, in which zeros count."""
    return losses.absolute(f.actual, f.scores), np.abs(f.actual)


def _r2_numbers(f: Rows, centre: Centre) -> tuple[Floats, Floats, Floats]:
    around = f.actual - centre[0]
    return losses.squared(f.actual, f.scores), around, around * around


def _r2(means: Floats) -> tuple[Floats, Floats]:
    """1 − mean (actual − forecast)² / the variance of the actual values."""
    squared, mean, square = means
    variance = square - mean**2
    quotient = ratio(squared, variance)
    return 1 - quotient, ratio(np.array([-np.ones_like(quotient), -2 * mean * quotient, quotient]), variance)


def _correlation_numbers(f: Rows, centre: Centre) -> tuple[Floats, ...]:
    a, b = f.actual - centre[0], f.scores - centre[1]
    return a, b, a * a, b * b, a * b


def _squared_correlation(means: Floats) -> tuple[Floats, Floats]:
    """cov² / (variance of the actual values · variance of the forecasts)."""
    a, b, aa, bb, ab = means
    of_a, of_b, both = aa - a * a, bb - b * b, ab - a * b
    value = ratio(both**2, of_a * of_b)
    by_a, by_b, by_both = -ratio(value, of_a), -ratio(value, of_b), 2 * ratio(value, both)
    slopes = [-2 * a * by_a - b * by_both, -2 * b * by_b - a * by_both, by_a, by_b, by_both]
    return value, np.array(slopes, dtype=np.float64)


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
        Quantile(lambda f: losses.absolute(f.actual, f.scores)),
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
        RatioOfRows(_wape),
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
        OfMeans(_r2_numbers, _r2),
        "1 − Σ (actual − forecast)² / Σ (actual − mean actual)²; below 0 where the mean does better",
        UNVARIED,
        "scikit-learn r2_score; yardstick rsq_trad",
        low=-np.inf,
        high=1.0,
        plain="the share of the variance of the actual values that the forecasts explain; 0 for forecasting their mean",
    ),
    _row(
        "r2_correlation",
        OfMeans(_correlation_numbers, _squared_correlation),
        "squared correlation of actual and forecast; blind to bias and scale",
        "actual values or forecasts are all equal",
        "yardstick rsq",
        high=1.0,
        plain="the squared correlation of forecast and actual value",
    ),
)

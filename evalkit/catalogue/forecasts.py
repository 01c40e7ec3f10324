"""The rows of the table of metrics for ratings and other numbers: a value a row, a ratio of sums, or a smooth function.

A forecast's metric comes with what each row adds to it, so that intervals can follow rows or units.
"""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue.forecast_kinds import OfMeans, Quantile
from evalkit.catalogue.kinds import Centre, Kind, Loss, RatioOfRows, Transformed
from evalkit.catalogue.metric import Metric, described
from evalkit.metrics import losses
from evalkit.metrics.rows import Rows

HEADS = {"forecasts": "Rating and forecasts"}


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


def _row(name: str, kind: Kind, cut: str = "never", high: float = np.inf, **rest) -> Metric:
    return described(name, "forecasts", kind, cut=cut, high=high, **rest)


_MSE = _row("mse", _loss(losses.squared), best="low", unit="actual²")

ROWS = (
    _row("mae", _loss(losses.absolute), best="low", unit="actual"),
    _row(
        "rmse",
        Transformed(_MSE, lambda x: float(np.sqrt(x)), lambda x: float(ratio(1, 2 * np.sqrt(x)))),
        best="low",
        unit="actual",
    ),
    _MSE,
    _row("bias", _loss(losses.error), best="neither", low=-np.inf, unit="actual"),
    _row("median_absolute_error", Quantile(lambda f: losses.absolute(f.actual, f.scores)), best="low", unit="actual"),
    _row("mape", _loss(losses.absolute_percentage), best="low"),
    _row("wape", RatioOfRows(_wape), best="low"),
    _row("smape", _loss(losses.symmetric_percentage), best="low", high=2.0),
    _row(
        "mase",
        Loss(lambda f, k: losses.scaled(f.actual, f.scores, f.beside["naive_mae"])),
        best="low",
        columns=("naive_mae",),
    ),
    _row(
        "pinball",
        Loss(lambda f, k: losses.quantile(f.actual, f.scores, k / 100)),
        best="low",
        cut="must",
        most=99,
        unit="actual",
    ),
    _row("poisson_deviance", _loss(losses.poisson), best="low", unit="actual"),
    _row("r2", OfMeans(_r2_numbers, _r2), low=-np.inf, high=1.0),
    _row("r2_correlation", OfMeans(_correlation_numbers, _squared_correlation), high=1.0),
)

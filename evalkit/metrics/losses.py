"""Losses per row, of forecasts and of probabilities, and the metrics that are means, roots or
ratios of them.
"""

import numpy as np

from evalkit.arrays import Floats, Ints, ratio

EPSILON = float(np.finfo(np.float64).eps)
WORST = -float(np.log(EPSILON))  # the logarithmic loss of a certain prediction that is wrong

# Per row: actual values and forecasts -------------------------------------------------------------


def error(actual: Floats, forecast: Floats) -> Floats:
    """forecast - actual: positive if the forecast is too high. The mean is the bias."""
    return forecast - actual


def absolute(actual: Floats, forecast: Floats) -> Floats:
    """|actual - forecast|. The mean is the MAE, the median the median absolute error."""
    return np.abs(actual - forecast)


def squared(actual: Floats, forecast: Floats) -> Floats:
    """(actual - forecast)². The mean is the MSE, its root the RMSE."""
    return (actual - forecast) ** 2


def absolute_percentage(actual: Floats, forecast: Floats) -> Floats:
    """|actual - forecast| / |actual|, NaN if actual is 0. The mean is the MAPE, as a fraction (0.1
    is 10 %).
    """
    return ratio(absolute(actual, forecast), np.abs(actual))


def symmetric_percentage(actual: Floats, forecast: Floats) -> Floats:
    """2 |actual - forecast| / (|actual| + |forecast|), 0 if both are 0. The mean is the sMAPE, from
    0 to 2.

    >>> symmetric_percentage(np.array([3.0, 0.0, 1.0, 2.0]), np.array([1.0, 0.0, 0.0, -2.0]))
    array([1., 0., 2., 2.])
    """
    size = np.abs(actual) + np.abs(forecast)
    positive_size = np.where(size > 0, size, 1.0)  # of two zeros 1: the quotient is 0
    return 2 * absolute(actual, forecast) / positive_size


def scaled(actual: Floats, forecast: Floats, scale: Floats) -> Floats:
    """|actual - forecast| / scale, NaN unless scale > 0. The mean is the MASE, the scale then the
    naive error.

    Hyndman and Koehler 2006, doi:10.1016/j.ijforecast.2006.03.001.

    >>> scaled(np.array([3.0, 1.0]), np.array([1.0, 3.0]), np.array([4.0, 0.0]))
    array([0.5, nan])
    """
    positive_scale = np.where(scale > 0, scale, 0.0)
    return ratio(absolute(actual, forecast), positive_scale)


def quantile(actual: Floats, forecast: Floats, level: float = 0.5) -> Floats:
    """Pinball loss: level (actual - forecast) if that is positive, else (1 - level) (forecast -
    actual).

    Forecasts of the `level` quantile have the smallest mean. Equals mean_pinball_loss(alpha=level).

    >>> quantile(np.array([3.0, 1.0]), np.array([1.0, 3.0]), 0.9)
    array([1.8, 0.2])
    """
    miss = actual - forecast
    return np.maximum(level * miss, (level - 1) * miss)


def poisson(actual: Floats, forecast: Floats) -> Floats:
    """Poisson deviance 2 (actual log(actual / forecast) - actual + forecast), 0 log 0 = 0; NaN
    unless forecast > 0.

    The mean equals mean_poisson_deviance.

    >>> poisson(np.array([0.0, 2.0]), np.array([1.0, 2.0]))
    array([2., 0.])
    """
    positive_forecast = np.where(forecast > 0, forecast, 0)
    multiple = ratio(actual, positive_forecast)  # NaN unless forecast > 0
    log_multiple = np.log(np.where(actual > 0, multiple, 1))
    half_deviance = actual * log_multiple - actual + forecast
    # 0 · multiple makes the sum NaN where the multiple is, also for an actual value of 0
    return 2 * (half_deviance + 0 * multiple)


# Per row: labels and probabilities ----------------------------------------------------------------


def brier(label: Ints, probability: Floats) -> Floats:
    """(probability - label)² of a 0/1 label."""
    return (probability - label) ** 2


def log(label: Ints, probability: Floats) -> Floats:
    """-log(probability of the actual outcome), in nats, with probabilities clipped to [eps, 1 -
    eps] of float64, whatever their own type.

    The mean equals scikit-learn's log_loss of probabilities as float64. That of float32 ones clips
    at the eps of float32, so that a certain error costs 15.9 nats there and 36.0 here.

    >>> log(np.array([1, 0]), np.array([1.0, 1.0])).round(4)
    array([ 0.    , 36.0437])
    """
    p = np.clip(probability, EPSILON, 1 - EPSILON)
    return -np.where(label == 1, np.log(p), np.log1p(-p))


def log_classes(actual: Ints, probability: Floats) -> Floats:
    """-log(probability of the actual class), clipped. Each row of `probability` is first scaled to
    sum 1.

    probability: shape (n, classes). Equals scikit-learn's log_loss with several classes, of
    probabilities as float64; that of float32 ones clips at the eps of float32.
    """
    scaled_probability = ratio(score_of_class(probability, actual), probability.sum(axis=1))
    return -np.log(np.clip(scaled_probability, EPSILON, 1))


def score_of_class(score: Floats, number: Ints) -> Floats:
    """The score of one class of each row; shape (rows,). score: shape (rows, classes). number: that
    of the class, of each row.
    """
    return score[np.arange(len(score)), number]


def log_unscaled(actual: Ints, probability: Floats) -> Floats:
    """-log(probability of the actual class), clipped, of rows as they are, which may not sum to 1.
    probability: shape (n, classes).
    """
    probability_of_actual = score_of_class(probability, actual)
    return -np.log(np.clip(probability_of_actual, EPSILON, 1))


def brier_classes(actual: Ints, probability: Floats) -> Floats:
    """Sum over the classes of (probability - [the class is the actual one])²: 0 to 2, twice the
    binary Brier score.

    >>> brier_classes(np.array([0]), np.array([[0.7, 0.3]])).round(2)
    array([0.18])
    """
    is_actual = actual[:, None] == np.arange(probability.shape[1])
    squares = (probability - is_actual) ** 2
    loss: Floats = squares.sum(axis=1)
    return loss

"""Student's t: the p-value of a difference from its standard error, and how many degrees of freedom that has."""

import numpy as np

from evalkit.arrays import ratio

ROUNDING = 1e-12  # a spread this small against the values is rounding, not variance


def p_value(value: float, error: float, *, freedom: float, scale: float = 1.0) -> float:
    """The two-sided p-value of a difference with this standard error, on so many degrees of freedom.

    An error below rounding, against `scale`, leaves a difference other than 0 without a p, and one of 0 with p = 1.
    Student, Biometrika 1908, doi:10.1093/biomet/6.1.1.

    >>> round(p_value(1.0, 0.5, freedom=10), 4), p_value(1.0, 0.0, freedom=10), p_value(0.0, 0.0, freedom=10)
    (0.0734, nan, 1.0)
    """
    from scipy.special import stdtr

    error = beyond_rounding(value, error, scale)
    return 1.0 if error == 0 else float(2 * stdtr(freedom, -abs(value) / error))


def beyond_rounding(value: float, error: float, scale: float) -> float:
    """The error; one that is only rounding of numbers of this scale is 0, or NaN beside a difference other than 0.

    >>> beyond_rounding(0.5, 1e-15, 1.0), beyond_rounding(0.0, 1e-15, 1.0), beyond_rounding(0.5, 0.1, 1.0)
    (nan, 0.0, 0.1)
    """
    if error > ROUNDING * scale or np.isnan(error):
        return error
    return 0.0 if abs(value) <= ROUNDING * scale else np.nan


def freedom_of(square: float, fourth: float, rows: float, most: float) -> float:
    """The degrees of freedom of Σ l² of so many l, from it and Σ l⁴: at least 1, at most `most`.

    >>> round(freedom_of(20.0, 260.0, 6, 5.0), 3)
    4.138
    """
    spread, most = float(ratio(fourth, square**2)) - 1 / max(rows, 1), max(most, 1.0)
    return float(min(max(2 / spread, 1.0), most)) if spread > 0 else float(most)

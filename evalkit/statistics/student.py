"""Student's t: the p-value of a difference from its standard error, and degrees of freedom from a kurtosis."""

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


def freedom_of(squares: float, fourths: float, n: float, most: float) -> float:
    """`intervals.freedom_left` from the sums of the squares and of the fourth powers of n influence values.

    >>> round(freedom_of(20.0, 260.0, 6, 5.0), 3)
    4.138
    """
    most, spread = max(most, 1.0), float(ratio(fourths, squares**2)) - 1 / max(n, 1)
    return float(min(max(2 / spread, 1.0), most)) if spread > 0 else float(most)

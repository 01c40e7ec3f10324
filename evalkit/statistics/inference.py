"""Any metric with its interval and its paired comparison, from how much each row moves it.

`Effects` hold a value and the derivative by each row's weight; summed by unit (row, user) they give the delta method's
interval. They join `perunit.Values`: one value a row whose mean counts, and ratios of sums.
"""

import numpy as np

from evalkit.arrays import Bools, Floats, codes
from evalkit.definitions.metric import Effects as Effects
from evalkit.statistics import intervals, perunit, significance
from evalkit.statistics.intervals import Estimate, standard_error, t_interval
from evalkit.statistics.perunit import Values
from evalkit.statistics.significance import Comparison

FLIPPED = 20_000  # units; the sign flips of more take longer than the rest of a report, and t is as good there
METHOD = "delta method"
UNDEFINED = "undefined"


Found = Values | Effects


def estimate(found: Found, unit: np.ndarray | None, *, level: float, low: float, high: float) -> Estimate:
    """The value with its interval over rows, or over whole units where `unit` names each row's.

    >>> e = estimate(Effects(0.5, np.array([1, -1, 1, -1]) / 100), None, level=0.95, low=0, high=1)
    >>> round(e.low, 3), e.n
    (0.427, 4)
    """
    if isinstance(found, Effects):
        rows = by_unit(found.rows, unit)
        n = rows.size
        if np.isnan(found.value):
            return Estimate(np.nan, np.nan, np.nan, level, n, UNDEFINED)
        e = t_interval(found.value, standard_error(rows * n), n=n, level=level, method=METHOD)
    else:
        e = perunit.estimate(found, unit, method="t", level=level, rng=np.random.default_rng(0))
    return perunit.within(e, low, high)


def compare(
    first: Found, second: Found, unit: np.ndarray | None, *, level: float, rng: np.random.Generator, name: str
) -> Comparison:
    """first − second on the same rows: sign flips of per-row values, the delta method for the rest.

    A metric that is undefined for either side gives `undefined`.
    """
    if isinstance(first, Effects) and isinstance(second, Effects):
        value = first.value - second.value
        if np.isnan(value):
            return undefined(level, name)
        rows = by_unit(first.rows - second.rows, unit)
        return significance.influence_t(value, rows * rows.size, level=level, unit=name, method=METHOD)
    assert not isinstance(first, Effects)
    assert not isinstance(second, Effects)
    units = len(perunit.defined(first)) if unit is None else len(np.unique(unit))
    if units > FLIPPED:
        return perunit.t_test(first, second, unit, level=level, name=name)
    return perunit.compare(first, second, unit, level=level, rng=rng, name=name)


def value(found: Found) -> float:
    """The metric as one number: the mean of values, the ratio of sums, the value of effects."""
    return found.value if isinstance(found, Effects) else perunit.mean(found)


def undefined(level: float, unit: str) -> Comparison:
    """The comparison of what is undefined: NaN, from no units."""
    nothing = Estimate(np.nan, np.nan, np.nan, level, 0, UNDEFINED)
    return Comparison(nothing, np.nan, np.nan, UNDEFINED, unit, nothing)


def detectable(c: Comparison, power: float = 0.8) -> float:
    """The smallest true difference that this comparison's test shows with this power, from the width of its interval.

    >>> from evalkit.statistics.significance import error_z
    >>> round(detectable(error_z(0.0, 0.01, n=500, level=0.95, unit="row", method="DeLong")), 4)
    0.028
    """
    width = (c.difference.high - c.difference.low) / 2
    z = intervals.normal_quantile(c.difference.level)
    return float(width / z * (z + intervals.normal_quantile(2 * power - 1)))


def take(found: Found, member: Bools | slice) -> Values:
    """The per-row values of the members; `Effects` must be made anew for a part of the rows."""
    assert not isinstance(found, Effects)
    return perunit.take(found, member)


def by_unit(rows: Floats, unit: np.ndarray | None) -> Floats:
    """The sum of each unit's rows; the rows themselves where there are no units. A unit with a NaN has NaN.

    >>> by_unit(np.array([1.0, 2.0, np.nan]), np.array(["u", "u", "v"]))
    array([ 3., nan])
    """
    if unit is None:
        return rows
    code, names = codes(unit)
    return np.bincount(code, rows, names.size).astype(np.float64)

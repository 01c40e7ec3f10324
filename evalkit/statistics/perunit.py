"""Estimates and comparisons of per-unit values: plain values whose mean counts, or `Pooled` sums whose ratio counts.

Undefined units (NaN) are left out, in a comparison those that are undefined for either system; `n` is what remains.
With `unit`, the values of one user are added up first, and whole users are what varies.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from evalkit.arrays import Bools, Floats, ParameterError, ratio
from evalkit.metrics.rankings import Pooled
from evalkit.statistics import intervals, significance
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.power import minimum_detectable
from evalkit.statistics.significance import Comparison

Values = Floats | Pooled
METHODS = ("t", "percentile", "BCa")


def defined(values: Values) -> Bools:
    """Which units have a value."""
    return ~np.isnan(values.numerator if isinstance(values, Pooled) else values)


def take(values: Values, member: Bools | slice) -> Values:
    """The values of the units that are members."""
    if isinstance(values, Pooled):
        return Pooled(values.numerator[member], values.denominator[member])
    return values[member]


def per_unit(values: Values) -> Floats:
    """One number a unit: the value, of pooled ones the unit's own ratio."""
    return ratio(values.numerator, values.denominator) if isinstance(values, Pooled) else values


def wins(first: Values, second: Values) -> tuple[int, int, int]:
    """Units where the first is larger, equal, smaller; of pooled values by their numerators."""
    keep = both(first, second)
    sides = [side.numerator if isinstance(side, Pooled) else side for side in (first, second)]
    sign = np.sign((sides[0] - sides[1])[keep])
    return int((sign > 0).sum()), int((sign == 0).sum()), int((sign < 0).sum())


def mean(values: Values) -> float:
    """The mean of the defined values, the ratio of sums for pooled ones; NaN where none is defined."""
    keep = defined(values)
    if isinstance(values, Pooled):
        top, bottom = values.numerator[keep].sum(), values.denominator[keep].sum()
        return float(top / bottom) if bottom else float("nan")
    return float(values[keep].mean()) if keep.any() else float("nan")


def _sums(values: Values, keep: Bools, unit: np.ndarray | None) -> tuple[Floats, Floats]:
    """Numerator and denominator of each unit."""
    pair = (values.numerator, values.denominator) if isinstance(values, Pooled) else (values, np.ones(len(values)))
    if unit is None:
        return pair[0][keep], pair[1][keep]
    top, bottom = (intervals.by_unit(column[keep], unit[keep])[0] for column in pair)
    return top, bottom


def estimate(
    values: Values, unit: np.ndarray | None, *, method: str, level: float, rng: np.random.Generator
) -> Estimate:
    """The mean or pooled ratio with its interval: t (delta method for ratios), percentile or BCa bootstrap of units."""
    keep = defined(values)
    if not keep.any():
        return Estimate(np.nan, np.nan, np.nan, level, 0, "none defined")
    if unit is None and not isinstance(values, Pooled):
        if method == "t":
            return intervals.mean_t(values[keep], level=level)
        means: dict[str, Callable[..., Estimate]] = {"percentile": intervals.mean_percentile, "BCa": intervals.mean_bca}
        return _pick(means, method)(values[keep], rng=rng, level=level)
    top, bottom = _sums(values, keep, unit)
    if method == "t":
        return intervals.ratio_delta(top, bottom, level=level)
    ratios: dict[str, Callable[..., Estimate]] = {"percentile": intervals.ratio_percentile, "BCa": intervals.ratio_bca}
    return _pick(ratios, method)(top, bottom, rng=rng, level=level)


def _pick(methods: dict[str, Callable[..., Estimate]], method: str) -> Callable[..., Estimate]:
    if method not in methods:
        raise ParameterError(f"interval must be one of {', '.join(METHODS)}, got {method!r}")
    return methods[method]


def within(e: Estimate, low: float, high: float) -> Estimate:
    """The interval cut to the metric's range.

    Where all n units lie at one end of the range, t has no width and claims certainty. The share of units at that end
    bounds the mean, so its Wilson limit stands in.

    >>> e = within(Estimate(1.0, 1.0, 1.0, 0.95, 50, "t"), 0.0, 1.0)
    >>> round(e.low, 3), e.high, e.method
    (0.929, 1.0, 'Wilson')
    """
    if e.n > 0 and e.low == e.high and e.value in (low, high) and np.isfinite(low + high):
        share = intervals.wilson(e.n, e.n, level=e.level).low
        ends = (high - share * (high - low), low + share * (high - low))
        top = e.value == high
        return replace(e, low=ends[1] if top else low, high=high if top else ends[0], method="Wilson")
    return replace(e, low=max(e.low, low), high=min(e.high, high))


def both(first: Values, second: Values) -> Bools:
    """Which units are defined for both."""
    return defined(first) & defined(second)


def compare(
    first: Values, second: Values, unit: np.ndarray | None, *, level: float, rng: np.random.Generator, name: str
) -> Comparison:
    """first − second on the same units: sign flips for means, the delta method for ratios; `name` is the unit's."""
    keep = both(first, second)
    if isinstance(first, Pooled) or isinstance(second, Pooled):
        sides = (*_sums(first, keep, unit), *_sums(second, keep, unit))
        return significance.paired_ratio(*sides, level=level, unit=name)
    if unit is None:
        return significance.sign_flip((first - second)[keep], rng=rng, level=level, unit=name)
    sums, counts = intervals.by_unit((first - second)[keep], unit[keep])
    return significance.sign_flip(sums, counts, rng=rng, level=level, unit=name)


def t_test(first: Values, second: Values, unit: np.ndarray | None, *, level: float, name: str) -> Comparison:
    """The same difference by Student's paired t, or with units or pooled sums by the delta method."""
    keep = both(first, second)
    if unit is None and not isinstance(first, Pooled) and not isinstance(second, Pooled):
        return significance.paired_t((first - second)[keep], level=level, unit=name)
    sides = (*_sums(first, keep, unit), *_sums(second, keep, unit))
    return significance.paired_ratio(*sides, level=level, unit=name)


def detectable(first: Values, second: Values, unit: np.ndarray | None, *, level: float, power: float = 0.8) -> float:
    """The smallest true difference that these units would show with this power, from the spread that they have."""
    keep = both(first, second)
    if keep.sum() < 2:
        return float("nan")
    test = t_test(first, second, unit, level=level, name="")
    n = test.difference.n
    error = _standard_error(test, level)
    return minimum_detectable(error * np.sqrt(n), n, level=level, power=power) if error == error else float("nan")


def _standard_error(test: Comparison, level: float) -> float:
    """The standard error behind a t interval."""
    from scipy.special import stdtrit

    half = (test.difference.high - test.difference.low) / 2
    return float(half / stdtrit(test.difference.n - 1, (1 + level) / 2)) if test.difference.n > 1 else float("nan")

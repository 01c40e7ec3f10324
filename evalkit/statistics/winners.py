"""The best or worst of several slices: which differ from the rest, and the value of one that was
picked because it is the highest.

The slices share no units, so that their values are independent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, finite, ratio
from evalkit.statistics.intervals import Estimate, check_level, normal_quantile
from evalkit.statistics.max_t import max_t_of_sums
from evalkit.statistics.spread import bisect

METHOD = "hybrid conditional"
PROJECTED_SHARE = 0.1  # share of α spent on the simultaneous interval (the β / α of the paper)


def picked_p(p: ArrayLike, count: int) -> Floats:
    """Each p adjusted for being the smallest of `count` independent p-values: 1 − (1 − p)^count
    (Šidák).

    Raises InputError for a count below 1.

    >>> picked_p([0.009, 0.00049], 23).round(3).tolist()
    [0.188, 0.011]
    """
    if count < 1:
        raise InputError(f"count must be at least 1, got {count}")
    log_of_larger = np.log1p(-np.asarray(p, float))  # of the probability that one is larger
    return np.asarray(-np.expm1(count * log_of_larger))


class AgainstRest(NamedTuple):
    """Each of m slices against the others: (m,) each.

    rest: the weighted mean of the others. error: the standard error of the slice's value − rest.
    adjusted: the p-value of this difference, adjusted for all slices.
    """

    rest: Floats
    error: Floats
    adjusted: Floats


def against_rest(
    values: ArrayLike, errors: ArrayLike, weights: ArrayLike, *, rng: np.random.Generator
) -> AgainstRest:
    """Compare each of m independent values, one per slice, with the weighted mean of the others:
    that mean, the standard error of the difference, and its p-value.

    values, errors, weights: the values, their standard errors, and their weights, such as numbers
    of rows; (m,) each. p is by step-down max-T, from normal draws with the correlation of the
    differences. For p the standard error of a value is at least the one that a slice of its weight
    has on average: a slice in which a system happens to fail on few rows has a small standard error
    too, and would otherwise be found too often. Raises InputError for fewer than two values, or one
    that is not finite.

    >>> compared = against_rest([0.5, 0.6, 0.9], [0.1] * 3, [1, 1, 1], rng=np.random.default_rng(1))
    >>> compared.rest.round(2).tolist(), compared.adjusted.round(1).tolist()
    ([0.75, 0.7, 0.55], [0.1, 0.4, 0.0])
    """
    value = finite("values", values)
    variance = finite("errors", errors) ** 2
    weight = finite("weights", weights)
    if value.size < 2:
        raise InputError(f"values must hold at least two, got {value.size}")
    # a row per slice, with the weight of each other slice in the mean of the others
    other_weights = np.tile(weight, (value.size, 1))
    np.fill_diagonal(other_weights, 0.0)
    shares = ratio(other_weights, other_weights.sum(axis=1, keepdims=True))
    # a row per slice: contrasts @ value are the differences
    contrasts = np.eye(value.size) - shares
    error = np.sqrt(contrasts**2 @ variance)
    # The variance of a slice's value is about (variance of a row) / weight. The variance of a row
    # is averaged over the slices by their weights. Divided by a slice's weight, it is the variance
    # that a slice of this weight has on average.
    row_variance = ratio(np.sum(weight**2 * variance), np.sum(weight))
    mean_variance = ratio(row_variance, weight)
    tested_variance = np.maximum(variance, mean_variance)
    covariance = (contrasts * tested_variance) @ contrasts.T
    tested_error = np.sqrt(np.diag(covariance))
    error_products = np.outer(tested_error, tested_error)
    correlation = np.nan_to_num(ratio(covariance, error_products))
    z = np.nan_to_num(ratio(contrasts @ value, tested_error))
    adjusted = max_t_of_sums(z, correlation, rng=rng)
    return AgainstRest(rest=shares @ value, error=error, adjusted=adjusted)


def highest(
    values: ArrayLike, errors: ArrayLike, units: ArrayLike, *, level: float = 0.95
) -> Estimate:
    """The median-unbiased estimate, with its interval, of the true value behind the highest of m
    independent values, which is too high on average because it was picked; n is m.

    values, errors, units: the values, their standard errors and the numbers of units behind them,
    (m,) each. Given the second highest value, the highest is normal around its true value,
    truncated to what lies above the second. Shares of units are often equal: a lead below half a
    standard error / √units is taken for this one, as it would have no limits otherwise. The
    estimate is the true value for which the observed highest value is the median of this
    distribution; for the limits it is another quantile. The interval is the hybrid one: it is also
    conditional on the true value lying in an interval that holds for all m values at once, at a
    tenth of α, which keeps it short where values are close. For the lowest, negate values and
    result.
    Andrews, Kitagawa and McCloskey 2024, doi:10.1093/qje/qjad043. Raises InputError for fewer than
    two values or an error that is not above 0, ParameterError unless 0 < level < 1.

    >>> errors, units = [0.05] * 3, [100] * 3
    >>> str(highest([0.90, 0.60, 0.50], errors, units))
    '0.90 [0.80, 1.00]'
    >>> str(highest([0.61, 0.60, 0.59], errors, units))
    '0.48 [0.45, 0.69]'
    """
    check_level(level)
    value = finite("values", values)
    error = finite("errors", errors)
    units_of_each = finite("units", units)
    if value.size < 2 or not (error > 0).all():
        raise InputError("values must hold at least two, with errors above 0")
    top = int(value.argmax())
    other_values = np.delete(value, top)
    error_of_highest = float(error[top])
    alpha = 1 - level
    # the simultaneous interval of all m values errs with probability β = PROJECTED_SHARE · α
    simultaneous_level = 1 - PROJECTED_SHARE * alpha
    level_of_each = simultaneous_level ** (1 / value.size)  # Šidák
    observed = HighestValue(
        value=float(value[top]),
        error=error_of_highest,
        second_highest=float(other_values.max()),
        # A share moves in steps of 1 / units, of which an equal one covers half on each side of the
        # second highest. The middle of the half above it is a quarter of a step away: with √(p (1 −
        # p) / units) as error and p = ½ it is this part of the error.
        least_lead=error_of_highest / (2 * float(np.sqrt(units_of_each[top]))),
        half_width=normal_quantile(level_of_each) * error_of_highest,
    )
    # what the simultaneous interval leaves of α, conditional on its holding, on two sides
    tail = alpha * (1 - PROJECTED_SHARE) / simultaneous_level / 2
    return Estimate(
        value=observed.true_value(0.5),
        low=observed.true_value(1 - tail),
        high=observed.true_value(tail),
        level=level,
        n=value.size,
        method=METHOD,
    )


class HighestValue(NamedTuple):
    """The highest of several observed values, with its standard error and the second highest.

    least_lead: the least distance that the value is taken to have from the second highest.
    half_width: of the interval around it that holds for all values at once.
    """

    value: float
    error: float
    second_highest: float
    least_lead: float
    half_width: float

    def probability(self, mean: float) -> float:
        """The probability of at most the observed value if the true one is `mean`, given that the
        observed value is above the second highest, and within the half width of the true one.
        """
        return _truncated_normal(
            max(self.value, self.second_highest + self.least_lead),
            mean=mean,
            error=self.error,
            low=max(self.second_highest, mean - self.half_width),
            high=mean + self.half_width,
        )

    def true_value(self, share: float) -> float:
        """The true value under which `probability`, that of at most the observed value, is `share`.

        share: ½ for the median-unbiased estimate, a tail for a limit.
        """

        def is_lower(tested: float) -> bool:
            """True if the tested value is lower than the one to be found: `probability` falls as
            the true value rises.
            """
            return self.probability(tested) > share

        # `probability` is conditional on this: the true value is within `half_width` of the value
        lowest = self.value - self.half_width
        highest = self.value + self.half_width
        return bisect(is_lower, inside=lowest, outside=highest).inside


def _truncated_normal(x: float, *, mean: float, error: float, low: float, high: float) -> float:
    """The distribution function at x, the probability of at most x, of the normal distribution with
    this mean and the standard deviation `error`, truncated to the range from `low` to `high`; 1 if
    the range is empty or has no probability.
    """
    from scipy.special import ndtr

    # probabilities without the truncation
    below_low = ndtr((low - mean) / error)
    below_high = ndtr((high - mean) / error)
    within_range = below_high - below_low
    if within_range <= 0:
        # The range begins at the second highest value (see `highest`), and the mean is far below.
        # The observed value is too high for this mean: 1 lets the search for a mean go up.
        return 1.0
    below_x = ndtr((x - mean) / error)
    probability = (below_x - below_low) / within_range
    return float(np.clip(probability, 0.0, 1.0))

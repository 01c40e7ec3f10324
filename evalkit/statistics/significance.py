"""Paired tests of the difference of two systems, adjustment for multiple comparisons, and the
verdict.

A difference is first − second and every p-value two-sided; `Comparison.answering` makes them
one-sided. The sign-flip test is the default for
means over units; `adjust` corrects a family of comparisons; `verdict` turns one into a word.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import (
    Floats,
    InputError,
    Ints,
    ParameterError,
    exact_sum,
    finite,
    ratio,
    same_length,
)
from evalkit.metrics.draws import MID_P
from evalkit.statistics import bootstrap, intervals, signflip
from evalkit.statistics.alternatives import Tails
from evalkit.statistics.intervals import (
    Comparison as Comparison,
    Estimate,
    bca_interval,
    t_interval,
)
from evalkit.statistics.max_t import max_t as max_t
from evalkit.statistics.multiplicity import (
    benjamini_hochberg as benjamini_hochberg,
    holm as holm,
    unadjusted as unadjusted,
)
from evalkit.statistics.spread import (
    Interval,
    bisect,
    checked_differences,
    satterthwaite,
    standard_error,
)

Verdict = Literal["better", "worse", "equivalent", "cannot tell", "higher", "lower"]
Adjustment = Callable[[ArrayLike], Floats]
SMALLEST_P = 1e-12  # p of an interval that never reaches 0
ROUNDING = 1e-12  # of the values' magnitude: a smaller standard error or sum is rounding error
WELCH = "influence of rows, Welch t"  # the default name of the method of `welch_t`
MEMORY = signflip.Memory()


# Means over units


def sign_flip(
    differences: ArrayLike,
    counts: ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = 100_000,
    unit: str = "query",
    mid_p: bool = False,
) -> Comparison:
    """The mean of the units' differences, tested by Fisher's randomisation test, with the interval
    that inverts it. Under the null the sign of each unit's difference is + or − with probability ½.

    differences: one per unit. counts: the rows of each unit, if `differences` are sums over these
    (`intervals.by_unit`): then the mean is that over rows, Σ differences / Σ counts, and whole
    units are flipped. level: of the interval. draws: the least number of drawn sign vectors. unit:
    the word for a unit.

    p is exact for at most 20 units (or 20 differences other than 0) and for metrics with values on
    a lattice (hit, precision at k, accuracy), where it counts all sign vectors. Otherwise it comes
    from drawn vectors, (1 + extreme) / (1 + draws); many at once are drawn by a Walsh–Hadamard
    transform. If fewer than 100 draws are as extreme as the data, it comes from importance
    sampling, which has no smallest p.

    The interval inverts the test: it excludes 0 exactly if p < 1 − level. Its limits may come from
    drawn vectors even if p is exact, and are made to agree with it. With few units they are
    infinite, as no sign vectors are rare enough to reject.

    mid_p: count other sign vectors exactly as extreme as the data half, because with values of few
    steps the exact test is conservative. The limits are still those of the exact test; if only the
    mid-p rejects 0, one of them is moved so that 0 is just excluded.

    The order of units changes nothing, and swapped systems mirror the result. Raises InputError
    without units or with a value that is not finite.

    Fisher 1935; Smucker, Allan, Carterette, CIKM 2007, doi:10.1145/1321440.1321528.

    >>> darwin = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    >>> c = sign_flip(darwin, rng=np.random.default_rng(1), unit="pair")
    >>> c.p_value * 32768, c.method
    (1726.0, 'sign flip, exact enumeration')
    """
    check_comparison_level(level)
    total = checked_differences(differences)
    size = np.ones(total.size) if counts is None else _checked_counts(counts, total)
    value = _sum(total) / float(size.sum())
    # for each sign vector the means under which it would be as extreme as the data
    null_ranges = signflip.null_mean_ranges(total, size, rng=rng, draws=draws, memory=MEMORY)
    tie_weight = signflip.HALF if mid_p else 1.0
    # overlap: both one-sided p-values count the data, and so add up to 1 + overlap
    p, p_method, overlap = signflip.p_value(total, null_ranges, rng=rng, tie_weight=tie_weight)
    drawn_limits = null_ranges.limits(level, equivalence_level(level))

    def interval(level_of_limits: float) -> Estimate:
        """The mean with the inverted test's limits; p may be exact and the limits from drawn sign
        vectors, so that they must be made to agree.
        """
        low, high = limits_agreeing(value, drawn_limits[level_of_limits], p, level_of_limits)
        return Estimate(value, low, high, level_of_limits, total.size, "sign-flip inversion")

    method = f"sign flip, {p_method}"
    if mid_p:
        method = f"{method}, {MID_P}"
    tails = Tails.from_two_sided_p(p, value, overlap)
    comparison = compare(interval, p, level=level, unit=unit, method=method, tails=tails)
    # Only the limits of equivalence are widened, see `_allowing_skewness`.
    deviations = total - value * size
    equivalence = _allowing_skewness(comparison.equivalence, deviations, float(size.sum()))
    return replace(comparison, equivalence=equivalence)


# The skewness of n units is too small by a factor of about 1 + LACKING_SKEWNESS / n. Simulated:
# true skewness / mean sample skewness is 1.42 for gamma values of skewness 1 and n = 20, 1.10 for n
# = 80; for exponential values 1.52 and 1.14.
LACKING_SKEWNESS = 8.5


def _allowing_skewness(equivalence: Estimate, deviations: Floats, rows: float) -> Estimate:
    """The interval `equivalence` of the mean, widened where necessary to contain that of t
    corrected for skewness (Hall).

    Sign flips need differences that are symmetric around the tested value. They are symmetric
    around 0 if the systems are alike, but not around a margin. With exponential differences of 20
    units, one of the one-sided 5% tests of a true margin rejected in 12% of the samples without
    this widening, and in 6 to 7% with it.

    deviations: for each unit Σ differences − mean · rows. rows: the number of rows of all units.
    """
    n = deviations.size
    largest = float(np.abs(deviations).max()) or 1.0  # 1 if all deviations are 0
    scaled = deviations / largest  # so that no power of a deviation overflows
    squares = exact_sum(scaled**2)
    cubes = exact_sum(scaled**3)
    # √(Σ deviation² n / (n − 1)), the standard error of their sum
    error_of_sum = largest * math.sqrt(ratio(squares * n, n - 1.0))
    error = error_of_sum / rows  # of the mean over rows
    # (Σ d³ / n) / (Σ d² / n)^1.5; divided by infinity, thus 0, if no unit deviates
    sample_skewness = cubes * n**0.5 / (squares**1.5 or np.inf)
    skewness = sample_skewness * (1 + LACKING_SKEWNESS / n)  # that of a sample is too small
    skewed = intervals.hall(equivalence.value, error, skewness, n=n, level=equivalence.level)
    return equivalence.no_closer_than(skewed)


def paired_t(differences: ArrayLike, *, level: float = 0.95, unit: str = "query") -> Comparison:
    """The mean of `differences`, one per unit, tested by Student's paired t-test. level: of the
    interval. unit: the word for a unit.

    p and limits are NaN below two units, and if all differences are equal and not 0, because t then
    divides by a standard error of 0. Student, Biometrika 1908, doi:10.1093/biomet/6.1.1.

    >>> sleep = [-1.2, -2.4, -1.3, -1.3, 0, -1, -1.8, -0.8, -4.6, -1.4]
    >>> c = paired_t(sleep, unit="patient")
    >>> round(c.p_value, 7), round(c.difference.low, 7), round(c.difference.high, 7)
    (0.0028329, -2.4598858, -0.7001142)
    """
    values = checked_differences(differences)
    n = values.size
    mean = _sum(values) / n
    error = standard_error(values - mean)
    # an error that is tiny beside the largest difference is its rounding error, and counts as 0
    largest = float(np.abs(values).max())
    difference = DifferenceByT(mean, error, n=n, freedom=n - 1, method="paired t", scale=largest)
    return difference.comparison(level=level, unit=unit)


def paired_bootstrap(
    differences: ArrayLike,
    counts: ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 10_000,
    unit: str = "query",
    sums: Floats | None = None,
) -> Comparison:
    """The mean of the units' differences with the BCa interval of a bootstrap of units; p is the
    smallest 1 − level at which this interval excludes 0. For one unit p and limits are NaN.

    differences, counts, level, unit: as in `sign_flip`. sums: one row per resample with the sum of
    its differences and, if there are counts, of its counts, if these were drawn before (by
    `bootstrap.resampled_each`); by default `resamples` rows are drawn here.

    >>> c = paired_bootstrap([1, 2, 3, 4, -1], rng=np.random.default_rng(1))
    >>> c.p_value < 0.1, c.difference.method
    (True, 'BCa bootstrap')
    """
    values = checked_differences(differences)
    n = values.size
    if counts is None:
        size = np.ones(n)
        columns = values[:, None]
    else:
        size = _checked_counts(counts, values)
        columns = np.column_stack([values, size])
    if sums is None:
        sums = bootstrap.resampled_sums(columns, rng=rng, resamples=resamples)
    mean = _sum(values) / float(size.sum())
    # the columns of `sums` are those of `columns`: differences, and counts if there are some
    resampled_differences = sums[:, 0]
    resampled_counts = n if counts is None else sums[:, 1]
    resampled_means = ratio(resampled_differences, resampled_counts)
    # of each unit on the mean, up to a factor, on which BCa does not depend
    influence = values - mean * size
    p = bootstrap.bca_p_value(mean, resampled_means, influence) if n > 1 else np.nan

    def interval(level_of_limits: float) -> Estimate:
        """The mean with BCa limits."""
        return bca_interval(mean, resampled_means, influence, n=n, level=level_of_limits)

    return compare(interval, p, level=level, unit=unit, method="BCa bootstrap")


# Any difference with a standard error


@dataclass(frozen=True)
class DifferenceByT:
    """A difference `value` with its standard error `error`, tested by t on `freedom` degrees of
    freedom: normal if these are infinite.

    n: number of units. method: its name. scale: the magnitude of the values that were averaged; a
    standard error below their rounding error counts as 0. A difference other than 0 then has
    neither p nor limits, and a difference of 0 has p = 1. Student, Biometrika 1908,
    doi:10.1093/biomet/6.1.1.

    >>> round(DifferenceByT(1.0, 0.5, 11, 10, "t").p_value, 4)
    0.0734
    >>> round(DifferenceByT(0.02, 0.01, 500, np.inf, "DeLong").p_value, 4)
    0.0455
    >>> DifferenceByT(1.0, 1e-15, 11, 10, "t").p_value, DifferenceByT(0.0, 0.0, 11, 10, "t").p_value
    (nan, 1.0)
    """

    value: float
    error: float
    n: int
    freedom: float
    method: str
    scale: float = 1.0

    @property
    def exact_error(self) -> float:
        """The standard error. If it is only rounding error, then 0 for a difference of 0 (p is 1),
        and NaN for any other (t does not exist).
        """
        rounding = ROUNDING * self.scale
        if self.error > rounding or np.isnan(self.error):
            return self.error
        return 0.0 if abs(self.value) <= rounding else np.nan

    @property
    def p_value(self) -> float:
        """The two-sided p-value."""
        from scipy.special import stdtr

        error = self.exact_error
        if error == 0:  # `exact_error` is 0 only for a difference of 0
            return 1.0
        t = abs(self.value) / error
        return float(2 * stdtr(self.freedom, -t))

    @property
    def tails(self) -> Tails:
        """The one-sided p-values: half the two-sided one in the direction of the difference and its
        complement in the other; both 1 where difference and error are 0.
        """
        if self.exact_error == 0:
            return Tails(1.0, 1.0)
        return Tails.from_two_sided_p(self.p_value, self.value)

    def interval(self, level: float) -> Estimate:
        """The difference with its limits by t."""
        return t_interval(
            self.value,
            self.exact_error,
            n=self.n,
            level=level,
            method=self.method,
            freedom=self.freedom,
        )

    def comparison(self, *, level: float, unit: str) -> Comparison:
        """The test of no difference, with the interval."""
        return compare(
            self.interval,
            self.p_value,
            level=level,
            unit=unit,
            method=self.method,
            tails=self.tails,
        )


def welch_t(value: float, variance: Floats, units: Ints, method: str = WELCH) -> DifferenceByT:
    """Welch's t: a difference whose squared standard error is a sum over independent groups, on
    Satterthwaite's degrees of freedom.

    value: the difference. variance: each group's term of that sum, (groups,); NaN for a group of
    one unit, whose variance cannot be estimated: then p and limits are NaN. units: the number of
    units in each group, (groups,). Welch 1947, doi:10.1093/biomet/34.1-2.28.

    >>> t = welch_t(0.3, np.array([0.01, 0.0]), np.array([5, 100]))  # 3 on 4 degrees of freedom
    >>> round(t.p_value, 4)
    0.0399
    """
    n = int(units.sum())
    # at least 1 to divide by: for a group of one unit NaN comes from its variance
    freedom = satterthwaite(variance, np.maximum(units - 1, 1))
    if np.isnan(freedom):
        # 0 / 0 if no group varies, or a variance is NaN: the error is then 0 or NaN, so that the
        # result is the same with any degrees of freedom
        freedom = n - 1.0
    error = float(np.sqrt(variance.sum()))
    return DifferenceByT(value, error, n=n, freedom=freedom, method=method)


def by_limits(
    interval: Callable[[float], Estimate], *, level: float, unit: str, method: str
) -> Comparison:
    """The test that inverts an interval: p is 1 − the level at which the interval just reaches 0,
    at least `SMALLEST_P`; NaN if the interval has no limits.

    interval: a function from a level to the difference with its limits at this level.

    >>> z = DifferenceByT(1.0, 0.5, 9, np.inf, "z")
    >>> round(by_limits(z.interval, level=0.95, unit="row", method="z").p_value, 4)
    0.0455
    """

    def contains_0(p: float) -> bool:
        """True if the interval at level 1 − p contains 0."""
        difference = interval(1 - p)
        return difference.low <= 0 <= difference.high

    p = np.nan
    if not np.isnan(interval(level).low):
        # the larger p, the narrower the interval: from some p on it excludes 0
        p = bisect(contains_0, inside=SMALLEST_P, outside=1.0).inside
    return compare(interval, p, level=level, unit=unit, method=method)


# Families of comparisons


def adjust(comparisons: Sequence[Comparison], method: Adjustment = holm) -> list[Comparison]:
    """The comparisons with p-values adjusted for multiple testing; the list is the family.

    `method` maps an array of p-values to adjusted ones: `holm`, `benjamini_hochberg`, or `lambda p:
    max_t(...)`. An adjusted p is never below p, although that of `max_t` is drawn.

    >>> c = paired_t([1, 2, 3, 2])
    >>> [round(a.adjusted / c.p_value) for a in adjust([c, c, c])]
    [3, 3, 3]
    """
    p = np.array([c.p_value for c in comparisons])
    adjusted = np.maximum(p, method(p))
    return [
        replace(comparison, adjusted=float(adjusted_p))
        for comparison, adjusted_p in zip(comparisons, adjusted, strict=True)
    ]


def rejected(p: float, level: float) -> bool:
    """True if a test at this confidence level rejects, p < 1 − level; False for NaN.

    >>> rejected(0.04, 0.95), rejected(float("nan"), 0.95)
    (True, False)
    """
    # in doubles 1 − 0.95 is 0.05000000000000004, so that p = 0.05 would be rejected
    return bool(p < round(1 - level, 12))


def verdict(comparison: Comparison, *, margin: float | None = None, direction: int = 1) -> Verdict:
    """The verdict on the first system against the second: better, worse, equivalent or cannot tell.

    If the adjusted p is below alpha, by default 1 − level, the first is better or worse, by the
    sign of the difference. direction: −1 for a metric for which lower is better, 0 if it is not
    known: then the first is higher or lower. Otherwise the two are equivalent if the limits of
    `equivalence` lie inside (−margin, margin): TOST, not adjusted for the family. Without a margin
    no two systems are equivalent. Raises ParameterError for a margin that is not above 0, or a
    direction other than 1, −1 and 0.

    >>> c = paired_t([1, 2, 3, 2])
    >>> verdict(c), verdict(c, direction=-1), verdict(paired_t([-1, 1, 2, -2]), margin=9)
    ('better', 'worse', 'equivalent')
    >>> verdict(c, direction=0)
    'higher'
    """
    if direction not in (1, -1, 0):
        raise ParameterError(f"direction must be 1, -1 or 0, got {direction}")
    if margin is not None and not margin > 0:
        raise ParameterError(f"margin must be above 0, got {margin}")
    difference = comparison.difference
    if rejected(comparison.adjusted, comparison.test_level) and difference.value != 0:
        if direction == 0:
            return "higher" if difference.value > 0 else "lower"
        return "better" if difference.value * direction > 0 else "worse"
    limits = comparison.equivalence
    if margin is not None and -margin < limits.low and limits.high < margin:
        return "equivalent"
    return "cannot tell"


def compare(
    interval: Callable[[float], Estimate],
    p: float,
    *,
    level: float,
    unit: str,
    method: str,
    tails: Tails | None = None,
) -> Comparison:
    """The Comparison of a difference with this interval and this p-value; its adjusted p-value is p
    too, until `adjust` is called with its family.

    interval: a function from a level to the difference with its limits; it is called for `level`
    and for `equivalence_level(level)`. p: two-sided. unit, method: what the page calls them. tails:
    the one-sided p-values, None if p/2 in the direction of the difference. Raises ParameterError
    unless 0.5 < level < 1.
    """
    check_comparison_level(level)
    difference = interval(level)
    equivalence = interval(equivalence_level(level))
    return Comparison(
        difference,
        p_value=float(p),
        adjusted=float(p),
        method=method,
        unit=unit,
        equivalence=equivalence,
        tails=tails,
    )


def equivalence_level(level: float) -> float:
    """The level of the interval that lies inside a margin if both one-sided tests reject at 1 −
    level.

    >>> equivalence_level(0.95)
    0.9
    """
    return round(2 * level - 1, 12)


def check_comparison_level(level: float) -> None:
    """Raise ParameterError unless 0.5 < level < 1: below, the interval of two one-sided tests does
    not exist.
    """
    if not 0.5 < level < 1:
        raise ParameterError(f"level must lie between 0.5 and 1, got {level}")


def _sum(differences: Floats) -> float:
    """The sum of the differences, exactly 0 if it is only rounding error, as that of 0.3, −0.2 and
    −0.1, so that neither system is found better.
    """
    # neither the order of the units nor that of the systems changes its last digit
    total = exact_sum(differences)
    rounding = ROUNDING * np.abs(differences).sum()
    return total if abs(total) > rounding else 0.0


def _checked_counts(counts: ArrayLike, differences: Floats) -> Floats:
    """`counts`, the number of rows of each unit, as floats. Raises InputError unless there is one
    per difference and each is above 0.
    """
    size = finite("counts", counts)
    same_length(differences=differences, counts=size)
    wrong = np.flatnonzero(size <= 0)
    if wrong.size:
        raise InputError(f"counts must be above 0, got {size[wrong[0]]} (row {wrong[0]})")
    return size


def limits_agreeing(value: float, limits: Interval, p: float, level: float) -> Interval:
    """The limits of an interval around `value`, moved as little as possible so that they contain
    it, and contain 0 if and only if p does not reject at this level.

    Limits from drawn sign vectors or deals may contradict an exact p otherwise.
    """
    low = min(limits.low, value)
    high = max(limits.high, value)
    if not rejected(p, level):
        return Interval(min(low, 0.0), max(high, 0.0))
    smallest = np.nextafter(0.0, 1.0)  # the double next to 0: as a limit it just excludes 0
    if value > 0:
        return Interval(max(low, smallest), high)
    return Interval(low, min(high, -smallest))


# Over folds, whose scores share training rows -----------------------------------------------------


CORRECTED_T = "Nadeau–Bengio corrected t"


def nadeau_bengio(
    differences: ArrayLike, *, train: float, test: float, level: float = 0.95, unit: str = "fold"
) -> Comparison:
    """The mean difference over J folds of cross-validation by Nadeau and Bengio's corrected t.

    differences: one per fold. train, test: the numbers of rows that a fold trains and tests on, of
    which only the quotient matters. level: of the interval. unit: the word for a fold. Folds share
    training rows, so that the squared standard error is s² (1/J + test/train) instead of s² / J,
    with the variance s² of the differences. p is NaN below two folds, and if all differences are
    equal but not 0. Machine Learning 2003, doi:10.1023/A:1024068626366.

    >>> c = nadeau_bengio([0.02, 0.01, 0.03, 0.00, 0.02], train=80, test=20)
    >>> round(c.p_value, 4)
    0.1046
    """
    folds = finite("differences", differences)
    if train <= 0 or test <= 0:
        raise InputError(f"train and test must be above 0, got {train} and {test}")
    if folds.size == 0:
        raise InputError("differences must hold at least one fold, got none")
    mean = float(folds.mean())
    n = folds.size  # J
    # (1 / J + test / train) / (1 / J)
    variance_inflation = 1 + n * test / train
    error = standard_error(folds - mean) * math.sqrt(variance_inflation)
    difference = DifferenceByT(
        mean,
        error,
        n=n,
        freedom=n - 1,
        method=CORRECTED_T,
        # if all folds have the same difference, it is the mean, and the error is only its rounding
        # error, which counts as 0
        scale=abs(mean),
    )
    return difference.comparison(level=level, unit=unit)


def cochran(value: ArrayLike, weight: ArrayLike, units: ArrayLike) -> dict[str, float]:
    """Cochran's test that k independent values are equal: Q = Σ weight (value − weighted mean)²,
    its degrees of freedom k − 1 and the p-value, as q, freedom and p.

    value, weight, units: (k,) each. weight: 1 / variance of the value. units: the number of units
    that each variance was estimated from, infinite if it is known. p is from χ² if all variances
    are known, else from Welch's F, doi:10.1093/biomet/38.3-4.330; NaN below two values.

    >>> test = cochran([1, 2], [2, 2], [np.inf, np.inf])
    >>> test["q"], test["freedom"], round(test["p"], 4)
    (1.0, 1, 0.3173)
    """
    from scipy.special import chdtrc, fdtrc

    values = np.asarray(value, float)
    weights = np.asarray(weight, float)
    sizes = np.asarray(units, float)
    k = same_length(value=values, weight=weights, units=sizes)
    share = ratio(weights, weights.sum())
    weighted_mean = (share * values).sum()
    deviations = values - weighted_mean
    q = float((weights * deviations**2).sum())
    freedom = k - 1
    if k < 2:
        return {"q": q, "freedom": freedom, "p": np.nan}
    # Welch's Λ: how uncertain the weights are, 0 if all variances are known, that is, from
    # infinitely many units
    uncertainty_by_value = (1 - share) ** 2 / (sizes - 1)
    uncertainty = float(uncertainty_by_value.sum())
    if uncertainty == 0:
        return {"q": q, "freedom": freedom, "p": float(chdtrc(freedom, q))}
    # Welch's F, and the degrees of freedom of its denominator
    scaled_uncertainty = uncertainty / (k**2 - 1)
    correction = 1 + 2 * (k - 2) * scaled_uncertainty
    f = q / freedom / correction
    second_freedom = 1 / (3 * scaled_uncertainty)
    return {"q": q, "freedom": freedom, "p": float(fdtrc(freedom, second_freedom, f))}

"""Scores read as probabilities, all from `Counts`: Brier score, log loss, calibration; and
forecasts read as means.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, quotient, ratio
from evalkit.metrics import influence
from evalkit.metrics.counts import Counts, Weights, base_rate, run_ends
from evalkit.metrics.losses import EPSILON
from evalkit.metrics.rows import Rows


def brier(c: Counts) -> float:
    """Mean of (score - label)², also the Brier score, for scores that are probabilities.

    Equals scikit-learn's brier_score_loss. doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2.

    >>> from evalkit.metrics.counts import count
    >>> print(f"{brier(count([0.9, 0.4], [1, 0])):.3f}")
    0.085
    """
    of_positives = np.dot(c.positive, (1 - c.threshold) ** 2)
    of_negatives = np.dot(c.negative, c.threshold**2)
    return quotient(of_positives + of_negatives, c.total)


def brier_skill(c: Counts) -> float:
    """1 - Brier / (Brier score of always predicting the base rate). Undefined if one class is
    absent.
    """
    base_rate_brier = brier(_constant(c))
    return 1 - quotient(brier(c), base_rate_brier)


def brier_skill_influence(c: Counts) -> Floats:
    """The influence on the Brier skill of a positive (first row) and of a negative (second row) at
    each threshold; shape (2, thresholds).

    The skill is 1 − B / U. B is the Brier score, the mean of the losses l. U = r (1 − r) is the
    Brier score of always predicting the base rate r, the mean of the labels. A row adds (l − B) / n
    to B, and (1 − 2 r)(label − r) / n to U. So it adds (−(l − B) / U + B (1 − 2 r)(label − r) / U²)
    / n to the skill.

    >>> from evalkit.metrics.counts import count
    >>> brier_skill_influence(count([0.9, 0.6, 0.4, 0.1], [1, 0, 1, 0])).round(3).tolist()
    [[0.175, 0.025, -0.175, -0.625], [-0.625, -0.175, 0.025, 0.175]]
    """
    b = brier(c)
    r = base_rate(c)
    u = r * (1 - r)
    # of positives (first row) and negatives (second row)
    loss = np.array([(1 - c.threshold) ** 2, c.threshold**2])
    label = np.array([[1.0], [0.0]])
    # the formula above, with its numerator and denominator multiplied by U
    slope_of_u = 1 - 2 * r  # by r
    from_uncertainty = ratio(b * slope_of_u, u) * (label - r)
    return ratio(b - loss + from_uncertainty, c.total * r * (1 - r))


def clipped_weight(c: Counts) -> float:
    """Weight of the rows whose score `log_loss` clips: 0, 1 and everything outside [0, 1]."""
    outside = (c.threshold < EPSILON) | (c.threshold > 1 - EPSILON)
    weight: float = c.rows[outside].sum().item()
    return weight


def unlikely_loss_share(c: Counts, chance: float) -> float:
    """The share of the log loss that comes from rows whose outcome had a probability below
    `chance`.

    Rows whose outcome had a probability that log loss clips, such as 0, count in the total only:
    `clipped_weight` counts them. NaN without rows.

    >>> from evalkit.metrics.counts import count
    >>> round(unlikely_loss_share(count([0.0005, 0.5, 0.5], [1, 1, 0]), 0.001), 3)
    0.846
    """
    # a row for positives and one for negatives, a column per threshold
    probability = np.clip(c.threshold, EPSILON, 1 - EPSILON)
    loss_of_positives = -c.positive * np.log(probability)
    loss_of_negatives = -c.negative * np.log1p(-probability)
    loss = np.array([loss_of_positives, loss_of_negatives])
    probability_of_outcome = np.array([c.threshold, 1 - c.threshold])
    is_unforeseen = (probability_of_outcome >= EPSILON) & (probability_of_outcome < chance)
    unforeseen_loss = loss[is_unforeseen].sum()
    return quotient(unforeseen_loss, loss.sum())


def mean_score(c: Counts) -> float:
    """Mean of the scores over all rows."""
    return quotient(np.dot(c.rows, c.threshold), c.total)


# Isotonic calibration -----------------------------------------------------------------------------


def recalibrate(c: Counts) -> Counts:
    """Counts with each score replaced by its isotonic probability: the share of positives as the
    non-decreasing function of the score that fits best (pool adjacent violators).

    `threshold` holds the probabilities and may repeat values. doi:10.1073/pnas.2016191118.

    >>> from evalkit.metrics.counts import count
    >>> recalibrate(count([0.9, 0.6, 0.5, 0.1], [1, 0, 1, 0])).threshold
    array([1. , 0.5, 0.5, 0. ])
    """
    from scipy.optimize import isotonic_regression

    rows = c.rows
    if not len(rows):
        return c
    # the thresholds descend, and so must the probabilities
    fitted = isotonic_regression(c.positive / rows, weights=rows, increasing=False)
    return replace(c, threshold=fitted.x)


@dataclass(frozen=True)
class Decomposition:
    """loss = miscalibration - discrimination + uncertainty (CORP); it needs no bins."""

    miscalibration: float
    discrimination: float
    uncertainty: float


def decompose(c: Counts) -> Decomposition:
    """CORP decomposition of the Brier score into miscalibration, discrimination and uncertainty.

    Miscalibration: Brier score - that of the isotonic probabilities. Uncertainty: that of always
    predicting the base rate. Discrimination: uncertainty - Brier score of the isotonic
    probabilities. doi:10.1073/pnas.2016191118. Equals model-diagnostics' decompose.

    >>> from evalkit.metrics.counts import count
    >>> d = decompose(count([0.9, 0.6, 0.5, 0.1], [1, 0, 1, 0]))
    >>> print(f"{d.miscalibration:.4f} {d.discrimination:.4f} {d.uncertainty:.4f}")
    0.0325 0.1250 0.2500
    """
    isotonic_brier = brier(recalibrate(c))
    base_rate_brier = brier(_constant(c))
    return Decomposition(
        miscalibration=brier(c) - isotonic_brier,
        discrimination=base_rate_brier - isotonic_brier,
        uncertainty=base_rate_brier,
    )


def isotonic_curve(c: Counts) -> tuple[Floats, Floats]:
    """The points of the CORP reliability diagram: scores, lowest first, and the share of positives
    that isotonic regression assigns to each; between the points the curve is straight.

    Only the two ends of each block of equal shares are points. doi:10.1073/pnas.2016191118. Equals
    scikit-learn's IsotonicRegression.

    >>> from evalkit.metrics.counts import count
    >>> score, share = isotonic_curve(count([0.9, 0.6, 0.5, 0.4, 0.1], [1, 0, 0, 1, 0]))
    >>> score.tolist(), share.round(3).tolist()
    ([0.1, 0.4, 0.6, 0.9], [0.0, 0.333, 0.333, 1.0])
    """
    score = c.threshold[::-1]
    share = recalibrate(c).threshold[::-1]
    ends = block_ends(share)
    return score[ends], share[ends]


def block_ends(share: Floats) -> Bools:
    """A mask of the values of an isotonic fit that begin or end a block of equal values.

    >>> block_ends(np.array([1.0, 1.0, 1.0, 2.0])).tolist()
    [True, False, True, True]
    """
    changes = np.diff(share) != 0  # between each value and the next
    begins_block = np.append(True, changes)
    ends_block = np.append(changes, True)
    is_point: Bools = begins_block | ends_block
    return is_point[: len(share)]  # none of an empty fit


# Bins ---------------------------------------------------------------------------------------------


def miscalibration(c: Counts) -> float:
    """The miscalibration part of the Brier score, see `decompose`."""
    return decompose(c).miscalibration


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows, positives and sum of scores in each bin of scores, lowest first, without empty bins."""

    rows: Weights
    positives: Weights
    score: Weights

    @property
    def gap(self) -> Floats:
        """|mean score - share of positives| in each bin."""
        gap_times_rows = np.abs(self.score - self.positives)
        return ratio(gap_times_rows, self.rows)

    def mean(self, values: Floats) -> float:
        """The mean over all rows of a value of each bin; NaN without rows."""
        return quotient(np.dot(values, self.rows), self.rows.sum())


def bins_uniform(c: Counts, bins: int = 10) -> Bins:
    """`bins` bins of equal width over [0, 1]: closed on the left, the last one on both sides.

    The borders are the floats nearest to k / `bins`, so that .3 lies in [.3, .4). np.linspace(0, 1,
    11), which other tools use, has .3, .6 and .7 a little higher.
    """
    edges = np.arange(bins + 1) / bins
    bin_of_score = np.searchsorted(edges, c.threshold, side="right") - 1
    return _bins(c, np.clip(bin_of_score, 0, bins - 1))


def bins_quantile(c: Counts, bins: int = 10) -> Bins:
    """Bins between quantiles of the score, closed on the left, with about the same number of rows
    each.

    Equal scores share a bin. The quantiles are numpy's; scikit-learn's
    calibration_curve(strategy="quantile") closes the same bins on the right.
    """
    # as numpy: the quantile lies between two rows, by rank from 0, and is interpolated
    share = np.linspace(0, 1, bins + 1)[1:-1]
    rank = share * (c.total - 1)
    low = _score_at(c, np.floor(rank))
    high = _score_at(c, np.ceil(rank))
    quantile = low + (high - low) * (rank % 1)
    return _bins(c, np.searchsorted(quantile, c.threshold, side="right"))


def ece_10(c: Counts) -> float:
    """`ece` of ten equal bins."""
    return ece(bins_uniform(c))


def ece(b: Bins) -> float:
    """Gap of the bins, averaged over rows: the expected calibration error of the positive class.

    It depends on the bins: report their number and kind with it. doi:10.1609/aaai.v29i1.9602.

    >>> from evalkit.metrics.counts import count
    >>> c = count([0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 0.95, 1, 1], [0, 0, 1, 0, 1, 1, 1, 0, 1, 0])
    >>> [round(ece(b), 4) for b in (bins_uniform(c), bins_quantile(c, 5))]
    [0.45, 0.33]
    """
    return b.mean(b.gap)


def ece_debiased(b: Bins) -> float:
    """`ece` without its expected upward bias from sampling noise, at least 0.

    In a bin of n rows with a share m of positives, the share varies with s = √(m (1 − m) / n): if
    the true gap were d, the expected gap would be E|N(d, s²)|. Kumar, Liang and Ma 2019,
    arXiv:1909.10155, simulate what is computed here in closed form; equals `normal_debiased_ce` of
    their package uncertainty-calibration with power 1, to its Monte Carlo error.

    b: the bins, whose `gap` is |mean score − share of positives|. NaN without rows.

    >>> from evalkit.metrics.counts import count
    >>> c = count([0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 0.95, 1, 1], [0, 0, 1, 0, 1, 1, 1, 0, 1, 0])
    >>> round(ece_debiased(bins_quantile(c, 2)), 4)
    0.019
    """
    from scipy.special import erf

    if not len(b.rows):
        return np.nan
    share = ratio(b.positives, b.rows)
    variance = share * (1 - share)
    error = np.sqrt(ratio(variance, b.rows))
    z = ratio(b.gap, error)
    # E|x| of a normal x with the mean `gap` and the standard deviation `error` (folded normal)
    from_noise = error * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2)
    from_gap = b.gap * erf(z / np.sqrt(2))
    folded = from_noise + from_gap
    # a bin of a single class has an error of 0, and so a z of NaN
    expected_gap = np.where(error > 0, folded, b.gap)
    # gap - (expected gap - gap): what noise adds to the gap is taken off
    debiased = 2 * b.gap - expected_gap
    return max(b.mean(debiased), 0.0)


def _score_at(c: Counts, rank: Floats) -> Floats:
    """The score of the row of each rank, 0 for the row with the lowest score."""
    if not len(c.threshold):
        return rank
    # from the highest score: it is row number `total - rank`, at the first threshold that has so
    # many rows at or above it
    index = np.searchsorted(c.tp + c.fp, c.total - rank)
    last = len(c.threshold) - 1
    return np.asarray(c.threshold[np.minimum(index, last)])


def _constant(c: Counts) -> Counts:
    """The counts with the base rate as the score of every row."""
    base_rates = np.full(len(c.threshold), base_rate(c))
    return replace(c, threshold=base_rates)


def _bins(c: Counts, bin_of_score: Ints) -> Bins:
    """For each bin that holds rows their number, the number of positives and the sum of their
    scores. bin_of_score: the number of the bin, from 0, of each distinct score.
    """
    rows_at_score = c.rows
    rows = np.bincount(bin_of_score, rows_at_score)
    positives = np.bincount(bin_of_score, c.positive)
    sum_of_scores = np.bincount(bin_of_score, rows_at_score * c.threshold)
    filled = rows > 0
    return Bins(rows[filled], positives[filled], sum_of_scores[filled])


# Logistic recalibration ---------------------------------------------------------------------------

MAX_STEPS = 100  # of Newton's method, which needs about eight
TOLERANCE = 1e-12  # relative change of the coefficients at which it stops
MANY_SCORES = 10_000  # distinct scores from which a smaller table in cells is fitted first
LONG_STEP = 0.2  # change of a coefficient from which Newton's method may overshoot


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """A logistic regression of the labels: its coefficients, and the influence on each of a
    positive and of a negative at each threshold, shape (coefficients, 2, thresholds).
    """

    coefficients: Floats
    influence: Floats

    @staticmethod
    def undefined(coefficients: int, thresholds: int) -> "LogisticFit":
        """NaN in place of so many coefficients and of the influence on each."""
        return LogisticFit(
            np.full(coefficients, np.nan), np.full((coefficients, 2, thresholds), np.nan)
        )


def slope(c: Counts) -> float:
    """b of the logistic regression logit P(positive) = a + b logit(score), the calibration slope: 1
    if calibrated.

    Below 1 the probabilities are too extreme. NaN if the scores separate the classes, or do not
    vary. Scores are clipped as for log loss. Cox 1958, doi:10.1093/biomet/45.3-4.562.

    >>> from evalkit.metrics.counts import count
    >>> print(f"{slope(count([0.2, 0.8], positive=[4, 6], negative=[6, 4])):.4f}")
    0.2925
    """
    _, slope = _slope_fit(c).coefficients
    return float(slope)


def slope_influence(c: Counts) -> Floats:
    """The influence on the slope of a positive (first row) and a negative (second) at each
    threshold.
    """
    _, on_slope = _slope_fit(c).influence
    return np.asarray(on_slope)


def intercept(c: Counts) -> float:
    """a of logit P(positive) = a + logit(score), the calibration intercept: 0 if calibrated on
    average.

    Above 0 the probabilities are too low. NaN if a class is absent. doi:10.1186/s12916-019-1466-7.

    >>> from evalkit.metrics.counts import count
    >>> print(f"{intercept(count([0.5], positive=[3], negative=[1])):.4f}")
    1.0986
    """
    (intercept,) = _intercept_fit(c).coefficients
    return float(intercept)


def intercept_influence(c: Counts) -> Floats:
    """The influence on the intercept of a positive (first row) and a negative (second) at each
    threshold.
    """
    (on_intercept,) = _intercept_fit(c).influence
    return np.asarray(on_intercept)


def _slope_fit(c: Counts) -> LogisticFit:
    """The logistic regression logit P(positive) = a + b · logit(score): the coefficients (a, b) and
    the influence of the rows on each. All NaN if it has no finite solution, as without rows of both
    classes, if a score separates the classes, or if all scores are equal.
    """
    logit = _logit(c)  # descending, as the thresholds
    columns = np.array([np.ones_like(logit), logit])
    has_one_score = logit[0] == logit[-1]
    if _separated(c) or has_one_score:
        return LogisticFit.undefined(coefficients=2, thresholds=len(logit))
    # Newton's method starts at (0, 1), the coefficients of calibrated scores. For many scores
    # `_start` calls this function with a smaller table and starts at the coefficients found there.
    start = _start(c, _slope_fit, calibrated=np.array([0.0, 1.0]))
    return _logistic_regression(c, columns, offset=np.zeros_like(logit), coefficients=start)


def _intercept_fit(c: Counts) -> LogisticFit:
    """The logistic regression logit P(positive) = a + logit(score): the coefficient (a,) and the
    influence of the rows on it. All NaN if a class is absent.
    """
    logit = _logit(c)
    if not (c.positives and c.negatives):
        return LogisticFit.undefined(coefficients=1, thresholds=len(logit))
    start = _start(c, _intercept_fit, calibrated=np.array([0.0]))
    ones = np.ones((1, len(logit)))
    return _logistic_regression(c, columns=ones, offset=logit, coefficients=start)


def _start(c: Counts, fit: Callable[[Counts], LogisticFit], calibrated: Floats) -> Floats:
    """The coefficients from which Newton's method starts: those of calibrated scores (`calibrated`)
    or, if there are many scores, those of a fit to a smaller table, in which neighbouring scores
    are pooled, as these are near the solution.

    fit: `_slope_fit` or `_intercept_fit`, which is called with the smaller table and, for its own
    start, calls this function with it.
    """
    if len(c.threshold) <= MANY_SCORES:  # as in the smaller table
        return calibrated
    of_pooled = fit(influence.pooled(c)).coefficients
    return of_pooled if np.isfinite(of_pooled).all() else calibrated


def _logit(c: Counts) -> Floats:
    """The logit of each score, clipped as for log loss."""
    score = np.clip(c.threshold, EPSILON, 1 - EPSILON)
    return np.log(score) - np.log1p(-score)


def _separated(c: Counts) -> bool:
    """True if a class is absent, or if all rows of one class score at or above all rows of the
    other: the likelihood of a logistic regression then grows with the slope without end.
    """
    # the distinct scores of each class, highest first
    positive = c.threshold[c.positive > 0]
    negative = c.threshold[c.negative > 0]
    if not (len(positive) and len(negative)):
        return True
    positives_at_or_above = positive[-1] >= negative[0]  # the lowest and the highest
    negatives_at_or_above = negative[-1] >= positive[0]
    return bool(positives_at_or_above or negatives_at_or_above)


def _logistic_regression(
    c: Counts, columns: Floats, offset: Floats, coefficients: Floats
) -> LogisticFit:
    """The logistic regression of the labels by maximum likelihood: logit P(positive) = offset +
    coefficients · columns, fitted by Newton's method. After `MAX_STEPS` steps the coefficients are
    taken as they are.

    columns: shape (coefficients, thresholds). offset: shape (thresholds,). coefficients: those to
    start from. The result also has the influence of a row on each coefficient: the inverse Fisher
    information · (label − probability) · columns of the row.
    """
    model = LogisticModel(c.positive, c.rows, columns, offset)
    for _ in range(MAX_STEPS):
        step = model.newton_step(coefficients)
        # a long step may lead beyond the maximum, to a lower likelihood: it is halved
        while np.abs(step).max() > LONG_STEP and model.is_overshot(coefficients, step):
            step = step / 2
        coefficients = coefficients + step
        if np.abs(step).max() <= TOLERANCE * (1 + np.abs(coefficients).max()):
            break
    probability = model.probability(coefficients)
    # the influence of a row is this times its residual, label − probability
    per_residual = model.inverse_information(probability) @ columns
    of_positives = per_residual * (1 - probability)
    of_negatives = -per_residual * probability
    return LogisticFit(coefficients, np.stack([of_positives, of_negatives], axis=1))


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """A logistic regression of counted labels, as a function of its coefficients.

    positive, rows: by threshold, the number of positives and of all rows. columns, offset: as in
    `_logistic_regression`.
    """

    positive: Weights
    rows: Weights
    columns: Floats
    offset: Floats

    def logit(self, coefficients: Floats) -> Floats:
        """The logit of the probability of a positive at each threshold."""
        return self.offset + coefficients @ self.columns

    def probability(self, coefficients: Floats) -> Floats:
        """The probability of a positive at each threshold."""
        return expit(self.logit(coefficients))

    def log_likelihood(self, coefficients: Floats) -> float:
        """The logarithm of the likelihood: Σ label x - log(1 + eˣ), x the logit."""
        logit = self.logit(coefficients)
        of_positives = np.dot(self.positive, logit)
        of_rows = np.dot(self.rows, np.logaddexp(0, logit))
        return float(of_positives - of_rows)

    def is_overshot(self, coefficients: Floats, step: Floats) -> bool:
        """True if the step leads to a lower likelihood."""
        after_step = self.log_likelihood(coefficients + step)
        return after_step < self.log_likelihood(coefficients)

    def newton_step(self, coefficients: Floats) -> Floats:
        """The inverse information times the gradient of the log likelihood."""
        probability = self.probability(coefficients)
        residual = self.positive - self.rows * probability
        gradient = self.columns @ residual
        return self.inverse_information(probability) @ gradient

    def inverse_information(self, probability: Floats) -> Floats:
        """The inverse of the Fisher information, Σ p (1 - p) x xᵀ over the rows. probability: p, by
        threshold.
        """
        weight = self.rows * probability * (1 - probability)
        information = (self.columns * weight) @ self.columns.T
        return np.asarray(np.linalg.inv(information), dtype=np.float64)


def expit(x: Floats) -> Floats:
    """1 / (1 + e⁻ˣ)."""
    from scipy import special

    return np.asarray(special.expit(x), dtype=np.float64)


# Forecasts read as means --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Means:
    """The rows of a forecast, pooled by equal forecasts, lowest first: each distinct forecast, the
    weight of its rows, and the mean of their actual values; shape (forecasts,).

    index: for each row the position of its forecast in these arrays, shape (rows,).
    """

    forecast: Floats
    weight: Floats
    mean: Floats
    index: Ints


def means(rows: Rows) -> Means:
    """Pool rows by equal forecasts: for each distinct forecast, ascending, the total weight of its
    rows and their weighted mean actual value; and for each row the index of its forecast. rows:
    their scores are the forecasts.

    >>> table = means(Rows(np.array([1.0, 4.0, 3.0]), np.array([2.0, 5.0, 2.0])))
    >>> table.forecast.tolist(), table.mean.tolist(), table.index.tolist()
    ([2.0, 5.0], [2.0, 4.0], [0, 1, 0])
    """
    order = np.argsort(rows.scores)
    forecast = rows.scores[order]
    # equal forecasts are now neighbours: the last row, the number and the first of each run
    last = run_ends(forecast)
    run_size = np.diff(last, prepend=-1)
    starts = last + 1 - run_size
    actual = rows.actual[order]
    if rows.weight is None:
        weight = run_size.astype(np.float64)
        total = np.add.reduceat(actual, starts)
    else:
        row_weight = rows.weight[order]
        weight = np.add.reduceat(row_weight, starts)
        total = np.add.reduceat(row_weight * actual, starts)
    mean = ratio(total, weight)
    # A forecast without weight is not in the table. Its rows get the index of the forecast below,
    # or 0 if there is none.
    has_weight = weight > 0
    index = np.maximum(np.cumsum(has_weight) - 1, 0)
    index_of_row = np.empty(len(order), np.int64)
    index_of_row[order] = np.repeat(index, run_size)  # back in the order of the rows
    return Means(
        forecast=forecast[last][has_weight],
        weight=weight[has_weight],
        mean=mean[has_weight],
        index=index_of_row,
    )


def isotonic(table: Means) -> Floats:
    """The mean of the actual values at each forecast, by isotonic regression.
    doi:10.1214/23-STS908.

    >>> isotonic(means(Rows(np.array([2.0, 1.0, 6.0]), np.array([1.0, 2.0, 3.0])))).tolist()
    [1.5, 1.5, 6.0]
    """
    from scipy.optimize import isotonic_regression

    fitted = isotonic_regression(table.mean, weights=table.weight)
    return np.asarray(fitted.x)


def means_curve(table: Means) -> tuple[Floats, Floats]:
    """The points of the reliability diagram of forecasts: forecasts, lowest first, and their
    isotonic means; of each block of equal means the two ends.
    """
    fitted = isotonic(table)
    ends = block_ends(fitted)
    return table.forecast[ends], fitted[ends]


def decomposed(table: Means, uncertainty: float) -> Decomposition:
    """CORP decomposition of the squared error: MSE = miscalibration − discrimination + uncertainty.

    Miscalibration: MSE − MSE of the isotonic mean, which recalibration would remove.
    Discrimination: MSE of the overall mean − MSE of the isotonic mean. table: the rows pooled by
    equal forecasts. uncertainty: the variance of the actual values. Equals model-diagnostics'
    decompose with SquaredError. doi:10.1214/23-STS908.

    >>> rows = Rows(np.array([2.0, 1.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    >>> d = decomposed(means(rows), float(rows.actual.var()))
    >>> print(f"{d.miscalibration:.4f} {d.discrimination:.4f} {d.uncertainty:.4f}")
    3.5000 4.5000 4.6667
    """
    isotonic_mean = isotonic(table)  # of each distinct forecast
    overall_mean = quotient(np.dot(table.weight, table.mean), table.weight.sum())
    # The table has the mean of the actual values of each forecast, not the rows. The squared errors
    # of these means are less than the MSE by the variance of the rows around them, which is the
    # same for all three predictions and cancels out of the differences.
    forecast_error = _squared_error(table, table.forecast)
    isotonic_error = _squared_error(table, isotonic_mean)
    constant_error = _squared_error(table, np.full_like(isotonic_mean, overall_mean))
    return Decomposition(
        miscalibration=forecast_error - isotonic_error,
        discrimination=constant_error - isotonic_error,
        uncertainty=uncertainty,
    )


def _squared_error(table: Means, prediction: Floats) -> float:
    """The mean squared error of a prediction for each forecast of the table, as an error of the
    mean of the actual values with this forecast.
    """
    square = (table.mean - prediction) ** 2
    return quotient(np.dot(table.weight, square), table.weight.sum())

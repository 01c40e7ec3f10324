"""Recalibrated probabilities: isotonic without bins (CORP), and by a logistic regression on the logit of the score."""

from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Bools, Floats
from evalkit.metrics.calibration import EPSILON, recalibrate
from evalkit.metrics.counts import Counts

STEPS = 100  # of Newton's method, which needs about eight
ENOUGH = 1e-12  # relative change of a coefficient at which it stops
LONG = 0.2  # change of a coefficient from which Newton's method may overshoot


def isotonic_curve(c: Counts) -> tuple[Floats, Floats]:
    """The scores, lowest first, and the share of positives that isotonic regression assigns to each.

    Only the two ends of each block of equal shares are kept: straight lines between them lose nothing. It is the
    curve of the CORP reliability diagram. doi:10.1073/pnas.2016191118. Equals scikit-learn's IsotonicRegression.

    >>> from evalkit.metrics.counts import count
    >>> score, share = isotonic_curve(count([0.9, 0.6, 0.5, 0.4, 0.1], [1, 0, 0, 1, 0]))
    >>> score.tolist(), share.round(3).tolist()
    ([0.1, 0.4, 0.6, 0.9], [0.0, 0.333, 0.333, 1.0])
    """
    score, share = c.threshold[::-1], recalibrate(c).threshold[::-1]
    ends = block_ends(share)
    return score[ends], share[ends]


def block_ends(share: Floats) -> Bools:
    """Which values of an isotonic fit begin or end a block of equal ones.

    >>> block_ends(np.array([1.0, 1.0, 1.0, 2.0])).tolist()
    [True, False, True, True]
    """
    changes = np.diff(share) != 0
    ends: Bools = np.append(True, changes) | np.append(changes, True)
    return ends[: len(share)]


# Logistic recalibration ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, and what a positive (first row) and a negative (second) at each threshold adds to each of them."""

    coefficients: Floats
    bins: Floats


def slope(c: Counts) -> float:
    """b of the logistic regression logit P(positive) = a + b logit(score), the calibration slope: 1 if calibrated.

    Below 1 the probabilities are too extreme. NaN if the scores separate the classes, or do not vary. Scores are
    clipped as for log loss. Cox 1958, doi:10.1093/biomet/45.3-4.562.

    >>> from evalkit.metrics.counts import count
    >>> print(f"{slope(count([0.2, 0.8], positive=[4, 6], negative=[6, 4])):.4f}")
    0.2925
    """
    return float(_slope(c).coefficients[1])


def slope_bins(c: Counts) -> Floats:
    """What a positive (first row) and a negative (second) at each threshold adds to the slope, to first order."""
    return _slope(c).bins[1]


def intercept(c: Counts) -> float:
    """a of logit P(positive) = a + logit(score), the calibration intercept: 0 if calibrated on average.

    Above 0 the probabilities are too low. NaN if a class is absent. doi:10.1186/s12916-019-1466-7.

    >>> from evalkit.metrics.counts import count
    >>> print(f"{intercept(count([0.5], positive=[3], negative=[1])):.4f}")
    1.0986
    """
    return float(_intercept(c).coefficients[0])


def intercept_bins(c: Counts) -> Floats:
    """What a positive (first row) and a negative (second) at each threshold adds to the intercept, to first order."""
    return _intercept(c).bins[0]


def _slope(c: Counts) -> Fit:
    logit = _logit(c)
    columns = np.array([np.ones_like(logit), logit])
    if _separated(c) or logit[0] == logit[-1]:
        return Fit(np.full(2, np.nan), np.full((2, 2, len(logit)), np.nan))
    return _fitted(c, columns, np.zeros_like(logit), np.array([0.0, 1.0]))


def _intercept(c: Counts) -> Fit:
    logit = _logit(c)
    if not (c.positives and c.negatives):
        return Fit(np.full(1, np.nan), np.full((1, 2, len(logit)), np.nan))
    return _fitted(c, np.ones((1, len(logit))), logit, np.zeros(1))


def _logit(c: Counts) -> Floats:
    score = np.clip(c.threshold, EPSILON, 1 - EPSILON)
    logit: Floats = np.log(score) - np.log1p(-score)
    return logit


def _separated(c: Counts) -> bool:
    """Whether a threshold separates the classes, but for ties at it, or a class is absent: no slope is the largest."""
    positive, negative = (c.threshold[rows > 0] for rows in (c.positive, c.negative))
    if not (len(positive) and len(negative)):
        return True
    return bool(positive[-1] >= negative[0] or negative[-1] >= positive[0])


def _fitted(c: Counts, columns: Floats, offset: Floats, coefficients: Floats) -> Fit:
    """Maximum likelihood by Newton's method from these coefficients; of a long step that lowers it, half is taken."""
    positive = c.positive
    rows = positive + c.negative

    def likelihood(coefficients: Floats) -> float:
        x = offset + coefficients @ columns
        return float(np.dot(positive, x) - np.dot(rows, np.logaddexp(0, x)))

    for _ in range(STEPS):
        chance = expit(offset + coefficients @ columns)
        step = _inverse(columns, rows * chance * (1 - chance)) @ (columns @ (positive - rows * chance))
        while np.abs(step).max() > LONG and likelihood(coefficients + step) < likelihood(coefficients):
            step = step / 2
        coefficients = coefficients + step
        if np.abs(step).max() <= ENOUGH * (1 + np.abs(coefficients).max()):
            break
    chance = expit(offset + coefficients @ columns)
    moved = _inverse(columns, rows * chance * (1 - chance)) @ columns
    return Fit(coefficients, np.stack([moved * (1 - chance), -moved * chance], axis=1))


def _inverse(columns: Floats, weight: Floats) -> Floats:
    return np.asarray(np.linalg.inv((columns * weight) @ columns.T), dtype=np.float64)


def expit(x: Floats) -> Floats:
    """1 / (1 + e⁻ˣ)."""
    from scipy import special

    return np.asarray(special.expit(x), dtype=np.float64)

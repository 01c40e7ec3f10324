"""DeLong's tests of two areas under the ROC curve, on the same rows or on independent ones."""

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, finite, same_length
from evalkit.metrics.counts import auc, count
from evalkit.metrics.influence import auc_covariance, auc_variance, placements
from evalkit.statistics.significance import Comparison, check_comparison_level, error_z


def delong(label: ArrayLike, first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Comparison:
    """AUC of the first score − AUC of the second on the same rows, by DeLong's covariance.

    Limits and p are NaN where a class has fewer than two rows. Models that are nested and were fitted on the same rows
    break its null distribution. Biometrics 1988, doi:10.2307/2531595; equals pROC roc.test(paired = TRUE).
    Raises InputError without both classes.

    >>> c = delong([1, 0, 1, 0, 1, 0], [6, 5, 4, 3, 2, 1], [6, 3, 5, 2, 4, 1])
    >>> round(c.difference.value, 4), round(c.p_value, 4)
    (-0.3333, 0.2207)
    """
    check_comparison_level(level)
    y, scores = _labels(label), [finite("first", first), finite("second", second)]
    same_length(label=y, first=scores[0], second=scores[1])
    tables = [count(score, y) for score in scores]
    spread = auc_covariance(y, np.vstack([placements(c, y, s) for c, s in zip(tables, scores, strict=True)]))
    error = float(np.sqrt(max(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1], 0.0)))
    value = auc(tables[0]) - auc(tables[1])
    return error_z(value, error, n=y.size, level=level, unit="row", method="DeLong, paired")


def delong_unpaired(
    label_a: ArrayLike, score_a: ArrayLike, label_b: ArrayLike, score_b: ArrayLike, *, level: float = 0.95
) -> Comparison:
    """AUC of a − AUC of b on different rows: DeLong's variances add up; equals pROC roc.test(paired = FALSE), by z."""
    check_comparison_level(level)
    labels, scores = (_labels(label_a), _labels(label_b)), (finite("score_a", score_a), finite("score_b", score_b))
    same_length(label_a=labels[0], score_a=scores[0])
    same_length(label_b=labels[1], score_b=scores[1])
    tables = [count(score, y) for y, score in zip(labels, scores, strict=True)]
    error = float(np.sqrt(sum(auc_variance(c) for c in tables)))
    n = sum(y.size for y in labels)
    return error_z(auc(tables[0]) - auc(tables[1]), error, n=n, level=level, unit="row", method="DeLong, unpaired")


def _labels(label: ArrayLike) -> Ints:
    y: Floats = finite("label", label)
    wrong = np.flatnonzero((y != 0) & (y != 1))
    if wrong.size:
        raise InputError(f"label must hold only 0 and 1, got {y[wrong[0]]} (row {wrong[0]})")
    if not 0 < y.sum() < y.size:
        raise InputError(f"label must hold both classes, got {int(y.sum())} ones in {y.size} rows")
    return y.astype(np.int64)

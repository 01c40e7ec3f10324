"""Comparisons over folds, whose scores share training rows and are no independent sample: of two learners, of folds."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import InputError, finite, ratio, same_length
from evalkit.statistics.significance import Comparison, error_t
from evalkit.statistics.spread import standard_error


def nadeau_bengio(
    differences: ArrayLike, *, train: float, test: float, level: float = 0.95, unit: str = "fold"
) -> Comparison:
    """The mean difference over J folds by Nadeau and Bengio's corrected t: variance times 1/J + test/train.

    `train` and `test` are the rows in each. p is NaN below two folds and where all folds differ equally but not by 0.
    Machine Learning 2003, doi:10.1023/A:1024068626366.

    >>> c = nadeau_bengio([0.02, 0.01, 0.03, 0.00, 0.02], train=80, test=20)
    >>> round(c.p_value, 4)
    0.1046
    """
    folds = finite("differences", differences)
    if train <= 0 or test <= 0:
        raise InputError(f"train and test must be above 0, got {train} and {test}")
    if folds.size == 0:
        raise InputError("differences must hold at least one fold, got none")
    value, n = float(folds.mean()), folds.size
    error = standard_error(folds - value) * float(np.sqrt(1 + n * test / train))
    of: Any = {"n": n, "level": level, "unit": unit, "method": "Nadeau–Bengio corrected t"}
    return error_t(value, error, scale=abs(value), **of)


def cochran(value: ArrayLike, weight: ArrayLike, units: ArrayLike) -> dict[str, float]:
    """Cochran's Q = Σ weight (value − centre)², its degrees of freedom and p: are the values of one kind?

    `weight` is 1 / variance, `units` from how many units each variance was estimated, infinite where it is known. p is
    of χ² where all are known, else of Welch's F, doi:10.1093/biomet/38.3-4.330; NaN below two values.

    >>> found = cochran([1, 2], [2, 2], [np.inf, np.inf])
    >>> found["q"], found["freedom"], round(found["p"], 4)
    (1.0, 1, 0.3173)
    """
    from scipy.special import chdtrc, fdtrc

    values, weights, sizes = (np.asarray(side, float) for side in (value, weight, units))
    k = same_length(value=values, weight=weights, units=sizes)
    share = ratio(weights, weights.sum())
    q = float((weights * (values - (share * values).sum()) ** 2).sum())
    if k < 2:
        return {"q": q, "freedom": k - 1, "p": np.nan}
    unsure = float(((1 - share) ** 2 / (sizes - 1)).sum())
    if unsure == 0:
        return {"q": q, "freedom": k - 1, "p": float(chdtrc(k - 1, q))}
    f = q / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * unsure)
    return {"q": q, "freedom": k - 1, "p": float(fdtrc(k - 1, (k**2 - 1) / (3 * unsure), f))}

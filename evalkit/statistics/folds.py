"""Comparisons of two learners over folds, whose scores share training rows and are no independent sample."""

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import InputError, finite
from evalkit.statistics.intervals import t_interval
from evalkit.statistics.significance import ROUNDING, Comparison, compare


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
    spread = folds.std(ddof=1) if folds.size > 1 else np.nan
    error = float(spread * np.sqrt(1 / folds.size + test / train))
    return _t(float(folds.mean()), error, folds.size - 1, level=level, unit=unit, method="Nadeau–Bengio corrected t")


def five_by_two(differences: ArrayLike, *, level: float = 0.95, unit: str = "fold") -> Comparison:
    """The first of ten differences over the variance within five halvings: Dietterich's 5×2cv paired t.

    Five rows of two folds in; 5 degrees of freedom. Neural Computation 1998, doi:10.1162/089976698300017197.

    >>> round(five_by_two([[0.02, 0.01], [0.03, 0.0], [0.01, 0.02], [0.02, 0.02], [0.03, 0.01]]).p_value, 4)
    0.1634
    """
    table = np.asarray(differences, float)
    if table.shape != (5, 2):
        raise InputError(f"differences must have shape (5, 2), got {table.shape}")
    finite("differences", table.ravel())
    error = float(np.sqrt(table.var(axis=1, ddof=1).mean()))
    return _t(float(table[0, 0]), error, 5, level=level, unit=unit, method="5×2cv t")


def _t(value: float, error: float, freedom: int, *, level: float, unit: str, method: str) -> Comparison:
    from scipy.special import stdtr

    if error <= ROUNDING * abs(value):
        error = 0.0 if value == 0 else np.nan
    p = 1.0 if error == 0 else float(2 * stdtr(max(freedom, 1), -abs(value) / error))
    return compare(
        lambda at: t_interval(value, error, n=freedom + 1, level=at, method=method),
        p,
        level=level,
        unit=unit,
        method=method,
    )

"""Optimistic estimates: training error and its .632 correction, and features selected by the label."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, codes, same_length
from evalkit.reading.inputs.folds import CLASSES

if TYPE_CHECKING:
    import pandas as pd


def error_632(apparent: float, out_of_bag: float) -> float:
    """0.368 × error on the training rows + 0.632 × error out of bag. Efron 1983, doi:10.1080/01621459.1983.10477973.

    >>> round(1 - error_632(0.0, 0.5), 3)
    0.684
    """
    return 0.368 * apparent + 0.632 * out_of_bag


def error_632_plus(apparent: float, out_of_bag: float, no_information: float) -> float:
    """The .632 error with more weight on the error out of bag, the larger the rate of overfitting.

    apparent: the error of the model fitted to *all* rows, on these rows. no_information: from its predictions.
    Efron, Tibshirani 1997, doi:10.1080/01621459.1997.10474007.

    >>> error_632_plus(0.0, 0.5, 0.5)
    0.5
    """
    capped = min(out_of_bag, no_information)
    rate = (capped - apparent) / (no_information - apparent) if min(capped, no_information) > apparent else 0.0
    weight = 0.632 / (1 - 0.368 * rate)
    return (1 - weight) * apparent + weight * capped


def no_information(label: ArrayLike, predicted: ArrayLike) -> float:
    """Error rate if predictions were independent of labels: Σ over classes of share × (1 − predicted share).

    >>> no_information([0, 0, 1, 1], [0, 1, 1, 1])
    0.5
    """
    same_length(label=label, predicted=predicted)  # type: ignore[arg-type]
    number, _ = codes(np.concatenate([np.asarray(label), np.asarray(predicted)]))
    half = number.size // 2
    share = [np.bincount(side, minlength=number.max() + 1) / half for side in (number[:half], number[half:])]
    return float(1 - np.dot(*share))


@dataclass(frozen=True)
class Bootstrap:
    """Error rates of one learner: on its training rows, out of bag, with no information, .632 and .632+."""

    apparent: float
    out_of_bag: float
    no_information: float
    error_632: float
    error_632_plus: float


def strongest(features: pd.DataFrame, label: ArrayLike, k: int, kind: str) -> list[str]:
    """The k columns with the largest F statistic against the label, each column alone, in the order of the table.

    kind: whether the label is a class or a number. Missing numbers are replaced by the median. A text column has the
    largest F of its values; constant columns come last.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [1.0, 2, 1, 2], "b": [1.0, 1, 2, 3], "c": ["x", "x", "x", "z"]})
    >>> strongest(table, [0, 0, 1, 1], 1, "classes")
    ['b']
    """
    from sklearn.preprocessing import OneHotEncoder

    numbers, text = features.select_dtypes("number"), features.select_dtypes(exclude="number")
    f: dict[str, float] = {}
    if numbers.shape[1]:
        filled = numbers.fillna(numbers.median()).fillna(0.0)
        f |= dict(zip(numbers, _f(filled.to_numpy(np.float64), label, kind), strict=True))
    for name in text:
        f[name] = _f(OneHotEncoder().fit_transform(text[[name]]), label, kind).max()
    best = np.argsort([-f[name] for name in features], kind="stable")[:k]
    return [features.columns[place] for place in np.sort(best)]


def _f(columns: Any, label: ArrayLike, kind: str) -> Floats:
    """The F statistic of each column, −1 for constant columns."""
    from sklearn.feature_selection import f_classif, f_regression

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of constant columns
        value = (f_classif if kind == CLASSES else f_regression)(columns, np.asarray(label))[0]
    return np.nan_to_num(value, nan=-1.0)

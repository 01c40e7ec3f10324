"""Estimates that flatter: error on the training rows, mended by the .632 bootstrap; columns selected by the label."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, codes, ratio, same_length
from evalkit.reading.inputs.examples import CLASSES
from evalkit.validation import splits

if TYPE_CHECKING:
    import pandas as pd


def error_632(apparent: float, out_of_bag: float) -> float:
    """0.368 × error on the training rows + 0.632 × error out of bag. Efron 1983, doi:10.1080/01621459.1983.10477973.

    >>> round(1 - error_632(0.0, 0.5), 3)
    0.684
    """
    return 0.368 * apparent + 0.632 * out_of_bag


def error_632_plus(apparent: float, out_of_bag: float, no_information: float) -> float:
    """The .632 error, leaning towards the error out of bag by the rate of overfitting.

    `apparent` is the error of the model fitted to *all* rows, on them; `no_information` comes from its predictions.
    Efron, Tibshirani 1997, doi:10.1080/01621459.1997.10474007.

    >>> error_632_plus(0.0, 0.5, 0.5)
    0.5
    """
    capped = min(out_of_bag, no_information)
    rate = (capped - apparent) / (no_information - apparent) if min(capped, no_information) > apparent else 0.0
    weight = 0.632 / (1 - 0.368 * rate)
    return (1 - weight) * apparent + weight * capped


def no_information(label: ArrayLike, predicted: ArrayLike) -> float:
    """Error rate if predictions had nothing to do with labels: Σ over classes of share × (1 − predicted share).

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
    """Error rates of one learner: on its training rows, out of bag, without information, .632 and .632+."""

    apparent: float
    out_of_bag: float
    no_information: float
    error_632: float
    error_632_plus: float


def bootstrap_errors(
    estimator: Any, features: Any, label: ArrayLike, *, rng: np.random.Generator, repeats: int = 100
) -> Bootstrap:
    """Error rates of a scikit-learn classifier by the bootstrap; it is cloned, never changed.

    The error out of bag is the mean over rows of each row's mean over the samples that left it out. Rows that every
    sample drew have none and are left out; one-class samples are passed to the estimator as they are.
    """
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing as take

    y = np.asarray(label)
    draws = splits.out_of_bag(y.size, rng=rng, repeats=repeats)
    wrong, tested = np.zeros(y.size), np.zeros(y.size)
    for train, test in draws.pairs:
        model = clone(estimator).fit(take(features, train), y[train])
        wrong[test] += model.predict(take(features, test)) != y[test]
        tested[test] += 1
    fitted = clone(estimator).fit(features, y).predict(features)
    apparent, oob = float((fitted != y).mean()), float(np.nanmean(ratio(wrong, tested)))
    gamma = no_information(y, fitted)
    return Bootstrap(apparent, oob, gamma, error_632(apparent, oob), error_632_plus(apparent, oob, gamma))


def strongest(features: pd.DataFrame, label: ArrayLike, k: int, kind: str) -> list[str]:
    """The k columns that move most with the label, by the F statistic of each alone; in the order of the table.

    `kind` says whether the label is a class or a number. Missing numbers take the median. Of a text column the value
    with the largest F counts; a constant column comes last.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [1.0, 2, 1, 2], "b": [1.0, 1, 2, 3], "c": ["x", "x", "x", "z"]})
    >>> strongest(table, [0, 0, 1, 1], 1, "classes")
    ['b']
    """
    from sklearn.preprocessing import OneHotEncoder

    numbers, text = features.select_dtypes("number"), features.select_dtypes(exclude="number")
    found: dict[str, float] = {}
    if numbers.shape[1]:
        filled = numbers.fillna(numbers.median()).fillna(0.0)
        found |= dict(zip(numbers, _f(filled.to_numpy(np.float64), label, kind), strict=True))
    for name in text:
        found[name] = _f(OneHotEncoder().fit_transform(text[[name]]), label, kind).max()
    best = np.argsort([-found[name] for name in features], kind="stable")[:k]
    return [features.columns[place] for place in np.sort(best)]


def _f(columns: Any, label: ArrayLike, kind: str) -> Floats:
    """The F statistic of each column; −1 where it is constant."""
    from sklearn.feature_selection import f_classif, f_regression

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of constant columns
        value = (f_classif if kind == CLASSES else f_regression)(columns, np.asarray(label))[0]
    return np.nan_to_num(value, nan=-1.0)

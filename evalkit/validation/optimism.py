"""Estimates that flatter: error on the training rows, mended by the .632 bootstrap; columns chosen outside folds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import Floats, codes, ratio, same_length
from evalkit.validation import splits
from evalkit.validation.giveaways import SEVERE, Finding, finding


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


def selection(
    estimator: Any, features: Any, label: ArrayLike, chosen: ArrayLike, folds: splits.Folds
) -> Finding | None:
    """Columns chosen outside the folds: severe where choosing as many by the training rows alone scores clearly less.

    Clearly: by more than 2 standard errors of the two accuracies of `selection_accuracy`, else None.
    """
    outside, inside = selection_accuracy(estimator, features, label, chosen, folds)
    rows = np.arange(len(np.asarray(label)))
    error = np.sqrt((outside * (1 - outside) + inside * (1 - inside)) / rows.size)
    text = f"accuracy is {outside:.3f} with columns chosen outside the folds, {inside:.3f} chosen inside"
    return finding("selection outside", SEVERE, rows, rows.size, text) if outside - inside > 2 * error else None


def selection_accuracy(
    estimator: Any, features: Any, label: ArrayLike, chosen: ArrayLike, folds: splits.Folds
) -> Floats:
    """Accuracy over the folds with the columns `chosen`, and with as many chosen in each fold by its training rows.

    `features` is the array (rows, columns) before any choice, `chosen` the numbers of the columns kept. Inside a fold
    the columns with the largest F of its training rows are kept.
    """
    from sklearn.base import clone
    from sklearn.feature_selection import SelectKBest
    from sklearn.pipeline import make_pipeline

    table, y, kept = np.asarray(features), np.asarray(label), np.asarray(chosen)
    right: list[list[NDArray]] = [[], []]
    for train, test in folds.pairs:
        outside = clone(estimator).fit(table[train][:, kept], y[train])
        inside = make_pipeline(SelectKBest(k=kept.size), clone(estimator)).fit(table[train], y[train])
        right[0].append(outside.predict(table[test][:, kept]) == y[test])
        right[1].append(inside.predict(table[test]) == y[test])
    return np.array([np.concatenate(side).mean() for side in right])

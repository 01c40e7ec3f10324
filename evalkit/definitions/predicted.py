"""Rows and what a model said of them: classes or real numbers. The metrics of out-of-fold predictions.

A metric gives one value a row where it is a mean over rows, else one number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Floats, ratio
from evalkit.definitions.metric import Chosen, Metric
from evalkit.metrics import counts, losses

HEADS = {"predicted": "Validation of a split"}
NO_ROW = "there is no row"
CLASSES = ("accuracy", "roc_auc", "log_loss", "brier")
NUMBERS = ("mae", "rmse")


@dataclass(frozen=True, eq=False)
class Predicted:
    """Truth and prediction of the same rows.

    label, decision: class numbers from 0, or real numbers. score: higher where class 1 of two is likelier, or None.
    chance: (rows, classes) probabilities, or None.
    """

    label: Floats
    decision: Floats
    score: Floats | None = None
    chance: Floats | None = None

    def __len__(self) -> int:
        return self.label.size


def take(p: Predicted, rows: NDArray | slice) -> Predicted:
    """The chosen rows."""
    score, chance = (None if part is None else part[rows] for part in (p.score, p.chance))
    return replace(p, label=p.label[rows], decision=p.decision[rows], score=score, chance=chance)


def join(parts: Sequence[Predicted]) -> Predicted:
    """The rows of the parts one after another."""
    scores = [part.score for part in parts if part.score is not None]
    chances = [part.chance for part in parts if part.chance is not None]
    return Predicted(
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.decision for part in parts]),
        np.concatenate(scores) if len(scores) == len(parts) else None,
        np.concatenate(chances) if len(chances) == len(parts) else None,
    )


def value(chosen: Chosen, p: Predicted) -> float:
    """The metric as one number: the mean over the rows, or the metric of all rows; NaN where it is undefined."""
    found = chosen.values(p)
    return float(ratio(np.sum(found), len(p))) if isinstance(found, np.ndarray) else float(found)


def accuracy(p: Predicted) -> Floats:
    """1 where the decision is the label, else 0.

    >>> accuracy(Predicted(np.array([0.0, 1.0]), np.array([0.0, 0.0])))
    array([1., 0.])
    """
    return (p.decision == p.label).astype(np.float64)


def roc_auc(p: Predicted) -> float:
    """Chance that a row of class 1 scores above one of class 0, a tie ½; NaN with one class."""
    assert p.score is not None
    return float(counts.auc(counts.count(p.score, p.label)))


def log_loss(p: Predicted) -> Floats:
    """−log of the probability given to the class that happened, in nats."""
    assert p.chance is not None
    return losses.log_classes(p.label.astype(np.int64), p.chance)


def brier(p: Predicted) -> Floats:
    """(probability − label)² of class 1; of more than two classes the sum over the classes."""
    assert p.chance is not None
    if p.chance.shape[1] == 2:
        return losses.brier(p.label.astype(np.int64), p.chance[:, 1])
    return losses.brier_classes(p.label.astype(np.int64), p.chance)


def mae(p: Predicted) -> Floats:
    """|label − forecast|."""
    return losses.absolute(p.label, p.decision)


def rmse(p: Predicted) -> float:
    """The root of the mean squared error.

    >>> round(rmse(Predicted(np.array([1.0, 2.0]), np.array([1.0, 4.0]))), 4)
    1.4142
    """
    return float(losses.rmse(p.label, p.decision)) if len(p) else np.nan


def _metric(
    function: Callable[[Predicted], Any], formula: str, equals: str, undefined: str = NO_ROW, **rest: Any
) -> Metric:
    return Metric(
        function.__name__, "predicted", lambda p, k, t: function(p), formula, undefined, equals, cut="never", **rest
    )


ROWS = (
    _metric(accuracy, "rows whose predicted class is the label / rows", "scikit-learn accuracy_score"),
    _metric(
        roc_auc,
        "chance that a row of class 1 scores above one of class 0, a tie ½",
        "scikit-learn roc_auc_score",
        "a class has no row, or there are more than two",
    ),
    _metric(
        log_loss,
        "mean −log(probability of the class that happened) in nats, clipped to [ε, 1 − ε] of float64",
        "scikit-learn log_loss",
        "there is no row or no probability",
        best="low",
        high=float("inf"),
    ),
    _metric(
        brier,
        "mean (probability − label)²; of more than two classes summed over the classes",
        "scikit-learn brier_score_loss",
        "there is no row or no probability",
        best="low",
        high=2.0,
    ),
    _metric(mae, "mean |label − forecast|", "scikit-learn mean_absolute_error", best="low", high=float("inf")),
    _metric(
        rmse,
        "root of the mean (label − forecast)²",
        "scikit-learn root_mean_squared_error",
        best="low",
        high=float("inf"),
    ),
)

"""The rows of the table of metrics for binary outcomes: what each is, when it is undefined, which tool it equals."""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.kinds import Kind, Loss, OwnShare, Share, Transformed
from evalkit.catalogue.metric import Metric, described
from evalkit.catalogue.score_kinds import (
    Area,
    Calibration,
    Decision,
    Gap,
    Lift,
    Number,
    OfShares,
    Order,
    Overlap,
    Skill,
)
from evalkit.metrics import calibration, counts, curves, influence, losses
from evalkit.metrics.influence import average_precision_bias, average_precision_bins, average_precision_moves

HEADS = {"counts": "Binary classification"}
ALIASES = {
    "auc": "roc_auc",
    "sensitivity": "recall",
    "tpr": "recall",
    "tnr": "specificity",
    "fpr": "false_positive_rate",
    "fnr": "false_negative_rate",
    "ppv": "precision",
    "npv": "negative_predictive_value",
    "brier_score": "brier",
    "logloss": "log_loss",
}

Rule = Callable[[Bools, Bools], tuple[Bools, Bools]]


def _row(name: str, kind: Kind, **rest) -> Metric:
    return described(name, "counts", kind, cut="never", **rest)


def _share(name: str, rule: Rule, *, kind: type[Share] = Share, **rest) -> Metric:
    """A share of rows. rule: (label, decision) -> which rows count, and which of them are hits."""
    return _row(name, kind(lambda y, d: rule(y == 1, d == 1)), **rest)


def _loss(name: str, loss: Callable[[Ints, Floats], Floats], *, worst: float = np.inf, **rest) -> Metric:
    """The mean over rows of a loss of label and probability, `worst` for a row that is certain and wrong."""
    return _row(name, Loss(lambda rows, k: loss(rows.actual, rows.scores), worst), needs="probabilities", **rest)


def _order(name: str, metric: Number, **rest) -> Metric:
    """A smooth metric of the order of the scores."""
    return _row(name, Order(metric), needs="scores", **rest)


def _decision(name: str, metric: Number, **rest) -> Metric:
    """A smooth metric of what is decided at a threshold: positive means score >= threshold."""
    return _row(name, Decision(metric), **rest)


def _one_minus(name: str, of: Metric, **rest) -> Metric:
    return _row(name, Transformed(of, lambda x: 1 - x, lambda x: -1.0), **rest)


def _twice_less_one(name: str, of: Metric, **rest) -> Metric:
    return _row(name, Transformed(of, lambda x: 2 * x - 1, lambda x: 2.0), **rest)


def _f(name: str, beta: float) -> Metric:
    return _row(name, Overlap(lambda c: counts.f_score(c, beta), weight=beta**2, times=1 + beta**2))


ROC_AUC = _row("roc_auc", Area(counts.auc, influence.auc_bins), needs="scores")

AVERAGE_PRECISION = _row(
    "average_precision",
    Order(counts.average_precision, average_precision_bins, average_precision_moves, average_precision_bias),
)

_ORDER = (
    ROC_AUC,
    _twice_less_one("gini", ROC_AUC, low=-1.0, needs="scores"),
    AVERAGE_PRECISION,
    _order("average_precision_interpolated", curves.average_precision_interpolated),
    _order("pr_auc_davis_goadrich", curves.pr_auc_davis_goadrich),
    _order("pr_auc_trapezoid", curves.pr_auc_trapezoid),
    _order("partial_auc_mcclish_10", lambda c: curves.partial_auc_mcclish(c, 0.1), low=-1.0),
    _order("break_even", curves.break_even),
    _row("ks", Gap(counts.ks, influence.ks_bins), needs="scores"),
    _loss("log_loss", losses.log, best="low", high=float("inf"), worst=losses.WORST, unit="nats"),
    _loss("brier", losses.brier, best="low"),
    _row(
        "brier_skill",
        Skill(calibration.brier_skill, calibration.brier_skill_bins),
        low=float("-inf"),
        needs="probabilities",
    ),
    _loss("calibration_in_the_large", lambda label, probability: probability - label, low=-1.0, best="neither"),
    _row("ece_10", Calibration(calibration.ece_10), best="low", needs="probabilities"),
    _row("miscalibration", Calibration(calibration.miscalibration), best="low", needs="probabilities"),
)

_ACCURACY = _share("accuracy", lambda y, d: (np.ones_like(y), y == d))
RECALL = _share("recall", lambda y, d: (y, d))
_SPECIFICITY = _share("specificity", lambda y, d: (~y, ~d))
PRECISION = _share("precision", lambda y, d: (d, y), kind=OwnShare)
F1 = _f("f1", 1)
_BALANCED = _row("balanced_accuracy", OfShares(counts.balanced_accuracy, shares=(RECALL, _SPECIFICITY)))

_DECISIONS = (
    _ACCURACY,
    _one_minus("error_rate", _ACCURACY, best="low"),
    _BALANCED,
    PRECISION,
    RECALL,
    _SPECIFICITY,
    _one_minus("false_positive_rate", _SPECIFICITY, best="low"),
    _one_minus("false_negative_rate", RECALL, best="low"),
    _share("negative_predictive_value", lambda y, d: (~d, ~y), kind=OwnShare),
    F1,
    _f("f2", 2),
    _f("f05", 0.5),
    _row("jaccard", Overlap(counts.jaccard)),
    _decision("mcc", counts.mcc, low=-1.0),
    _decision("kappa", counts.kappa, low=-1.0),
    _twice_less_one("youden", _BALANCED, low=-1.0),
    _row("lift", Lift(curves.lift, share=PRECISION), high=float("inf")),
    _share("predicted_rate", lambda y, d: (np.ones_like(y), d), best="neither"),
)

ROWS = (*_ORDER, *_DECISIONS)

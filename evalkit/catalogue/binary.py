"""The rows of the table of metrics for binary outcomes: what each is, when it is undefined, which tool it equals."""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.kinds import Kind, Loss, OwnShare, Share, Transformed
from evalkit.catalogue.metric import Metric
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
ONE_CLASS = "a class has no row"
NO_POSITIVE = "there is no positive"
NO_NEGATIVE = "there is no negative"
NOTHING_PREDICTED = "nothing is predicted positive"
NO_ROWS = "there is no row"

Rule = Callable[[Bools, Bools], tuple[Bools, Bools]]


def _row(name: str, kind: Kind, formula: str, undefined: str, equals: str, **rest) -> Metric:
    return Metric(name, "counts", kind, formula, undefined, equals, cut="never", **rest)


def _share(name: str, rule: Rule, *text: str, kind: type[Share] = Share, **rest) -> Metric:
    """A share of rows. rule: (label, decision) -> which rows count, and which of them are hits."""
    return _row(name, kind(lambda y, d: rule(y == 1, d == 1)), *text, **rest)


def _loss(name: str, loss: Callable[[Ints, Floats], Floats], *text: str, worst: float = np.inf, **rest) -> Metric:
    """The mean over rows of a loss of label and probability, `worst` for a row that is certain and wrong."""
    return _row(name, Loss(lambda rows, k: loss(rows.actual, rows.scores), worst), *text, needs="probabilities", **rest)


def _order(name: str, metric: Number, *text: str, **rest) -> Metric:
    """A smooth metric of the order of the scores."""
    return _row(name, Order(metric), *text, needs="scores", **rest)


def _decision(name: str, metric: Number, *text: str, **rest) -> Metric:
    """A smooth metric of what is decided at a threshold: positive means score >= threshold."""
    return _row(name, Decision(metric), *text, **rest)


def _one_minus(name: str, of: Metric, *text: str, **rest) -> Metric:
    return _row(name, Transformed(of, lambda x: 1 - x, lambda x: -1.0), *text, **rest)


def _twice_less_one(name: str, of: Metric, *text: str, **rest) -> Metric:
    return _row(name, Transformed(of, lambda x: 2 * x - 1, lambda x: 2.0), *text, **rest)


def _f(name: str, beta: float, *text: str, plain: str) -> Metric:
    return _row(name, Overlap(lambda c: counts.f_score(c, beta), weight=beta**2, times=1 + beta**2), *text, plain=plain)


ROC_AUC = _row(
    "roc_auc",
    Area(counts.auc, influence.auc_bins),
    "probability that a positive scores above a negative, a tie ½; the area under the ROC curve",
    ONE_CLASS,
    "scikit-learn roc_auc_score; pROC auc",
    reference="Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747",
    needs="scores",
    plain="how often a positive row scores higher than a negative one; ½ without skill",
)

AVERAGE_PRECISION = _row(
    "average_precision",
    Order(counts.average_precision, average_precision_bins, average_precision_moves, average_precision_bias),
    "Σ precision at each positive's score / positives; the PR curve in steps, never by trapezoids",
    NO_POSITIVE,
    "scikit-learn average_precision_score",
    plain="the mean share of positives among the highest scores; the base rate without skill",
)

_ORDER = (
    ROC_AUC,
    _twice_less_one(
        "gini",
        ROC_AUC,
        "2 AUC − 1",
        ONE_CLASS,
        "Somers' D; accuracy ratio",
        low=-1.0,
        needs="scores",
        plain="how much more often a positive row scores higher than a negative one than lower; 0 without skill",
    ),
    AVERAGE_PRECISION,
    _order(
        "average_precision_interpolated",
        curves.average_precision_interpolated,
        "as average_precision, with the largest precision there or at a lower score",
        NO_POSITIVE,
        "VOC 2010 AP, all points",
        plain="the mean share of positives among the highest scores, interpolated; the base rate without skill",
    ),
    _order(
        "pr_auc_davis_goadrich",
        curves.pr_auc_davis_goadrich,
        "area under the PR curve, FP linear in TP between scores",
        NO_POSITIVE,
        "precrec auc",
        reference="Davis and Goadrich 2006, doi:10.1145/1143844.1143874",
        plain="the mean precision over all levels of recall; the base rate without skill",
    ),
    _order(
        "pr_auc_trapezoid",
        curves.pr_auc_trapezoid,
        "area under the PR curve by trapezoids from (0, 1); too high where scores tie",
        NO_POSITIVE,
        "yardstick pr_auc; scikit-learn auc(recall, precision)",
        plain="the mean precision over all levels of recall, by trapezoids; the base rate without skill",
    ),
    _order(
        "partial_auc_mcclish_10",
        lambda c: curves.partial_auc_mcclish(c, 0.1),
        "area up to false positive rate 0.1, scaled: ½ for chance, 1 for best",
        ONE_CLASS,
        "scikit-learn roc_auc_score(max_fpr=0.1)",
        low=-1.0,
        reference="McClish 1989, doi:10.1177/0272989X8900900307",
        plain="how well positives score above the highest tenth of the negatives; ½ without skill",
    ),
    _order(
        "break_even",
        curves.break_even,
        "recall, which is precision, when as many rows are predicted positive as are",
        NO_POSITIVE,
        "none as such",
        plain="the precision if as many rows are predicted positive as there are positives",
    ),
    _row(
        "ks",
        Gap(counts.ks, influence.ks_bins),
        "max |recall − false positive rate| over the thresholds",
        ONE_CLASS,
        "scipy ks_2samp",
        needs="scores",
        plain="the largest difference between recall and false positive rate over all thresholds; 0 without skill",
    ),
    _loss(
        "log_loss",
        losses.log,
        "mean −log(probability of what happened) in nats, clipped to [ε, 1 − ε] of float64",
        NO_ROWS,
        "scikit-learn log_loss",
        best="low",
        high=float("inf"),
        worst=losses.WORST,
        plain="the mean penalty for wrong probabilities, which is large for confident errors",
        unit="nats",
    ),
    _loss(
        "brier",
        losses.brier,
        "mean (probability − label)²",
        NO_ROWS,
        "scikit-learn brier_score_loss",
        best="low",
        reference="Brier 1950",
        plain="the mean squared distance between the probability and what happened",
    ),
    _row(
        "brier_skill",
        Skill(calibration.brier_skill, calibration.brier_skill_bins),
        "1 − Brier / Brier of always saying the base rate",
        ONE_CLASS,
        "none as such",
        low=float("-inf"),
        needs="probabilities",
        plain="by what share the Brier score is below that of always predicting the base rate",
    ),
    _loss(
        "calibration_in_the_large",
        lambda label, probability: probability - label,
        "mean probability − base rate",
        NO_ROWS,
        "none as such",
        low=-1.0,
        best="neither",
        plain="the mean probability minus the share of positives",
    ),
    _row(
        "ece_10",
        Calibration(calibration.ece_10),
        "mean |mean probability − share of positives| of 10 equal bins [a, b) of [0, 1], weighted by rows",
        NO_ROWS,
        "netcal ECE(10), whose borders .3, .6 and .7 are 1e-16 higher",
        best="low",
        reference="Naeini et al. 2015, doi:10.1609/aaai.v29i1.9602",
        needs="probabilities",
        plain="the mean distance between probabilities and observed shares, in 10 bins",
    ),
    _row(
        "miscalibration",
        Calibration(calibration.miscalibration),
        "Brier − Brier of the isotonically recalibrated probabilities (MCB of CORP); no bins",
        NO_ROWS,
        "model-diagnostics decompose",
        best="low",
        reference="Dimitriadis et al. 2021, doi:10.1073/pnas.2016191118",
        needs="probabilities",
        plain="the part of the Brier score that recalibration would remove",
    ),
)

_ACCURACY = _share(
    "accuracy",
    lambda y, d: (np.ones_like(y), y == d),
    "(TP + TN) / all",
    NO_ROWS,
    "scikit-learn accuracy_score",
    plain="the share of rows that are classified correctly",
)
RECALL = _share(
    "recall",
    lambda y, d: (y, d),
    "TP / (TP + FN); also sensitivity, true positive rate",
    NO_POSITIVE,
    "scikit-learn recall_score",
    plain="the share of the positives that are predicted positive",
)
_SPECIFICITY = _share(
    "specificity",
    lambda y, d: (~y, ~d),
    "TN / (TN + FP); also true negative rate",
    NO_NEGATIVE,
    "yardstick specificity",
    plain="the share of the negatives that are predicted negative",
)
PRECISION = _share(
    "precision",
    lambda y, d: (d, y),
    "TP / (TP + FP); also positive predictive value",
    NOTHING_PREDICTED,
    "scikit-learn precision_score",
    kind=OwnShare,
    plain="the share of the rows predicted positive that are positive",
)
F1 = _f(
    "f1",
    1,
    "2 TP / (2 TP + FP + FN)",
    "no positive and none predicted",
    "scikit-learn f1_score",
    plain="the harmonic mean of precision and recall",
)
_BALANCED = _row(
    "balanced_accuracy",
    OfShares(counts.balanced_accuracy, shares=(RECALL, _SPECIFICITY)),
    "(recall + specificity) / 2",
    ONE_CLASS,
    "scikit-learn balanced_accuracy_score",
    plain="the mean of the shares of positives and of negatives that are recognised; ½ without skill",
)

_DECISIONS = (
    _ACCURACY,
    _one_minus(
        "error_rate",
        _ACCURACY,
        "(FP + FN) / all",
        NO_ROWS,
        "1 − accuracy_score",
        best="low",
        plain="the share of rows that are classified wrongly",
    ),
    _BALANCED,
    PRECISION,
    RECALL,
    _SPECIFICITY,
    _one_minus(
        "false_positive_rate",
        _SPECIFICITY,
        "FP / (FP + TN)",
        NO_NEGATIVE,
        "1 − yardstick specificity",
        best="low",
        plain="the share of the negatives that are predicted positive",
    ),
    _one_minus(
        "false_negative_rate",
        RECALL,
        "FN / (FN + TP)",
        NO_POSITIVE,
        "1 − recall_score",
        best="low",
        plain="the share of the positives that are predicted negative",
    ),
    _share(
        "negative_predictive_value",
        lambda y, d: (~d, ~y),
        "TN / (TN + FN)",
        "nothing is predicted negative",
        "yardstick npv",
        kind=OwnShare,
        plain="the share of the rows predicted negative that are negative",
    ),
    F1,
    _f(
        "f2",
        2,
        "5 TP / (5 TP + FP + 4 FN): recall weighs twice as much",
        "no positive and none predicted",
        "scikit-learn fbeta_score(beta=2)",
        plain="a mean of precision and recall in which recall weighs more",
    ),
    _f(
        "f05",
        0.5,
        "1.25 TP / (1.25 TP + FP + 0.25 FN): precision weighs twice as much",
        "no positive and none predicted",
        "scikit-learn fbeta_score(beta=0.5)",
        plain="a mean of precision and recall in which precision weighs more",
    ),
    _row(
        "jaccard",
        Overlap(counts.jaccard),
        "TP / (TP + FP + FN)",
        "no positive and none predicted",
        "scikit-learn jaccard_score",
        plain="the true positives as a share of all rows that are positive or predicted positive",
    ),
    _decision(
        "mcc",
        counts.mcc,
        "correlation of label and decision (Matthews)",
        "labels or decisions are all one class",
        "scikit-learn matthews_corrcoef, which gives 0 where undefined",
        low=-1.0,
        reference="Matthews 1975, doi:10.1016/0005-2795(75)90109-9",
        plain="the correlation of label and decision; 0 without skill",
    ),
    _decision(
        "kappa",
        counts.kappa,
        "(accuracy − chance) / (1 − chance)",
        "labels and decisions are all one and the same class",
        "scikit-learn cohen_kappa_score",
        low=-1.0,
        reference="Cohen 1960, doi:10.1177/001316446002000104",
        plain="the agreement of label and decision beyond chance; 0 without skill",
    ),
    _twice_less_one(
        "youden",
        _BALANCED,
        "recall + specificity − 1",
        ONE_CLASS,
        "yardstick j_index",
        low=-1.0,
        plain="recall plus specificity minus 1; 0 without skill",
    ),
    _row(
        "lift",
        Lift(curves.lift, share=PRECISION),
        "precision / base rate",
        NOTHING_PREDICTED,
        "mlxtend lift_score",
        high=float("inf"),
        plain="how many times as frequent positives are among the rows predicted positive as among all",
    ),
    _share(
        "predicted_rate",
        lambda y, d: (np.ones_like(y), d),
        "(TP + FP) / all: the share of rows predicted positive",
        NO_ROWS,
        "yardstick detection_prevalence",
        best="neither",
        plain="the share of rows that are predicted positive",
    ),
)

ROWS = (*_ORDER, *_DECISIONS)

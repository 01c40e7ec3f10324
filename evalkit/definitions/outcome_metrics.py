"""The rows of the table of metrics for binary outcomes: what each is, when it is undefined, which tool it equals."""

from collections.abc import Callable

from evalkit.definitions.metric import Metric
from evalkit.metrics import calibration, counts, curves
from evalkit.metrics.counts import Counts

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
PROBABILITIES = ("log_loss", "brier", "brier_skill", "calibration_in_the_large", "ece_10", "miscalibration")


def _order(name: str, metric: Callable[[Counts], float], formula: str, undefined: str, equals: str, **rest) -> Metric:
    """A metric of the whole order of the scores, whatever the threshold."""
    return Metric(name, "counts", lambda c, k, t: metric(c), formula, undefined, equals, cut="never", **rest)


def _at(name: str, metric: Callable[[Counts], object], formula: str, undefined: str, equals: str, **rest) -> Metric:
    """A metric of what is decided at a threshold: positive means score >= threshold."""
    return Metric(
        name,
        "counts",
        lambda c, k, t: float(metric(counts.at(c, t))),  # type: ignore[arg-type]
        formula,
        undefined,
        equals,
        cut="never",
        **rest,
    )


def _f(beta: float) -> Callable[[Counts], object]:
    return lambda c: counts.f_score(c, beta)


_ORDER = (
    _order(
        "roc_auc",
        counts.auc,
        "chance that a positive scores above a negative, a tie ½; the area under the ROC curve",
        ONE_CLASS,
        "scikit-learn roc_auc_score; pROC auc",
        reference="Hanley and McNeil 1982, doi:10.1148/radiology.143.1.7063747",
    ),
    _order("gini", counts.gini, "2 AUC − 1", ONE_CLASS, "Somers' D; accuracy ratio", low=-1.0),
    _order(
        "average_precision",
        counts.average_precision,
        "Σ precision at each positive's score / positives; the PR curve in steps, never by trapezoids",
        NO_POSITIVE,
        "scikit-learn average_precision_score",
    ),
    _order(
        "average_precision_interpolated",
        curves.average_precision_interpolated,
        "as average_precision, with the largest precision there or at a lower score",
        NO_POSITIVE,
        "VOC 2010 AP, all points",
    ),
    _order(
        "pr_auc_davis_goadrich",
        curves.pr_auc_davis_goadrich,
        "area under the PR curve, FP linear in TP between scores",
        NO_POSITIVE,
        "precrec auc",
        reference="Davis and Goadrich 2006, doi:10.1145/1143844.1143874",
    ),
    _order(
        "pr_auc_trapezoid",
        curves.pr_auc_trapezoid,
        "area under the PR curve by trapezoids from (0, 1); too high where scores tie",
        NO_POSITIVE,
        "yardstick pr_auc; scikit-learn auc(recall, precision)",
    ),
    _order(
        "partial_auc_mcclish_10",
        lambda c: curves.partial_auc_mcclish(c, 0.1),
        "area up to false positive rate 0.1, scaled: ½ for chance, 1 for best",
        ONE_CLASS,
        "scikit-learn roc_auc_score(max_fpr=0.1)",
        low=-1.0,
        reference="McClish 1989, doi:10.1177/0272989X8900900307",
    ),
    _order(
        "break_even",
        curves.break_even,
        "recall, which is precision, when as many rows are predicted positive as are",
        NO_POSITIVE,
        "none as such",
    ),
    _order("ks", counts.ks, "max |recall − false positive rate| over the thresholds", ONE_CLASS, "scipy ks_2samp"),
    _order(
        "log_loss",
        calibration.log_loss,
        "mean −log(probability of what happened) in nats, clipped to [ε, 1 − ε] of float64",
        NO_ROWS,
        "scikit-learn log_loss",
        best="low",
        high=float("inf"),
    ),
    _order(
        "brier",
        calibration.brier,
        "mean (probability − label)²",
        NO_ROWS,
        "scikit-learn brier_score_loss",
        best="low",
        reference="Brier 1950",
    ),
    _order(
        "brier_skill",
        calibration.brier_skill,
        "1 − Brier / Brier of always saying the base rate",
        ONE_CLASS,
        "none as such",
        low=float("-inf"),
    ),
    _order(
        "calibration_in_the_large",
        calibration.calibration_in_the_large,
        "mean probability − base rate",
        NO_ROWS,
        "none as such",
        low=-1.0,
        best="neither",
    ),
    _order(
        "ece_10",
        lambda c: calibration.ece(calibration.bins_uniform(c)),
        "mean |mean probability − share of positives| of 10 equal bins [a, b) of [0, 1], weighted by rows",
        NO_ROWS,
        "netcal ECE(10)",
        best="low",
        reference="Naeini et al. 2015, doi:10.1609/aaai.v29i1.9602",
    ),
    _order(
        "miscalibration",
        lambda c: calibration.decompose(c).miscalibration,
        "Brier − Brier of the isotonically recalibrated probabilities (MCB of CORP); no bins",
        NO_ROWS,
        "model-diagnostics decompose",
        best="low",
        reference="Dimitriadis et al. 2021, doi:10.1073/pnas.2016191118",
    ),
)

_DECISIONS = (
    _at("accuracy", counts.accuracy, "(TP + TN) / all", NO_ROWS, "scikit-learn accuracy_score"),
    _at("error_rate", counts.error_rate, "(FP + FN) / all", NO_ROWS, "1 − accuracy_score", best="low"),
    _at(
        "balanced_accuracy",
        counts.balanced_accuracy,
        "(recall + specificity) / 2",
        ONE_CLASS,
        "scikit-learn balanced_accuracy_score",
    ),
    _at(
        "precision",
        counts.precision,
        "TP / (TP + FP); also positive predictive value",
        NOTHING_PREDICTED,
        "scikit-learn precision_score",
    ),
    _at(
        "recall",
        counts.recall,
        "TP / (TP + FN); also sensitivity, true positive rate",
        NO_POSITIVE,
        "scikit-learn recall_score",
    ),
    _at(
        "specificity",
        counts.specificity,
        "TN / (TN + FP); also true negative rate",
        NO_NEGATIVE,
        "yardstick specificity",
    ),
    _at(
        "false_positive_rate",
        counts.false_positive_rate,
        "FP / (FP + TN)",
        NO_NEGATIVE,
        "1 − yardstick specificity",
        best="low",
    ),
    _at(
        "false_negative_rate",
        counts.false_negative_rate,
        "FN / (FN + TP)",
        NO_POSITIVE,
        "1 − recall_score",
        best="low",
    ),
    _at(
        "negative_predictive_value",
        counts.negative_predictive_value,
        "TN / (TN + FN)",
        "nothing is predicted negative",
        "yardstick npv",
    ),
    _at("f1", _f(1), "2 TP / (2 TP + FP + FN)", "no positive and none predicted", "scikit-learn f1_score"),
    _at(
        "f2",
        _f(2),
        "5 TP / (5 TP + FP + 4 FN): recall weighs twice as much",
        "no positive and none predicted",
        "scikit-learn fbeta_score(beta=2)",
    ),
    _at(
        "f05",
        _f(0.5),
        "1.25 TP / (1.25 TP + FP + 0.25 FN): precision weighs twice as much",
        "no positive and none predicted",
        "scikit-learn fbeta_score(beta=0.5)",
    ),
    _at(
        "jaccard",
        counts.jaccard,
        "TP / (TP + FP + FN)",
        "no positive and none predicted",
        "scikit-learn jaccard_score",
    ),
    _at(
        "mcc",
        counts.mcc,
        "correlation of label and decision (Matthews)",
        "labels or decisions are all one class",
        "scikit-learn matthews_corrcoef, which gives 0 where undefined",
        low=-1.0,
        reference="Matthews 1975, doi:10.1016/0005-2795(75)90109-9",
    ),
    _at(
        "kappa",
        counts.kappa,
        "(accuracy − chance) / (1 − chance)",
        "labels and decisions are all one and the same class",
        "scikit-learn cohen_kappa_score",
        low=-1.0,
        reference="Cohen 1960, doi:10.1177/001316446002000104",
    ),
    _at("youden", counts.youden, "recall + specificity − 1", ONE_CLASS, "yardstick j_index", low=-1.0),
    _at("lift", curves.lift, "precision / base rate", NOTHING_PREDICTED, "mlxtend lift_score", high=float("inf")),
    _at(
        "predicted_rate",
        counts.predicted_rate,
        "(TP + FP) / all: the share of rows predicted positive",
        NO_ROWS,
        "yardstick detection_prevalence",
        best="neither",
    ),
)

DECISIONS = frozenset(metric.name for metric in _DECISIONS)
ROWS = (*_ORDER, *_DECISIONS)

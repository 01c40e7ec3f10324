"""The tables of metrics, each name with its kind: of ranked lists, draws and interleaved sessions,
and of rows.

Rows have two classes, also within units or at another base rate, forecasts, several classes, or
several labels.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, codes, ratio
from evalkit.catalogue import score_kinds as scores
from evalkit.catalogue.kinds import (
    Agreement,
    Centre,
    ClassCoverage,
    Effects,
    Loss,
    PerUnit,
    Ratio,
    RatioOfRows,
    Share,
    Transformed,
)
from evalkit.catalogue.metric import (
    Combined,
    Harmonic,
    Metric,
    Part,
    Weighted,
    described,
    numbered,
    rows_of,
)
from evalkit.metrics import calibration, counts, curves, draws, influence, labels, losses, rankings
from evalkit.metrics.counts import Counts, GroupedCounts
from evalkit.metrics.rows import Rows, Sums, credit_share, session_wins, user_preference, user_share

Rule = Callable[[Bools, Bools], tuple[Bools, Bools]]
Importance = Callable[[GroupedCounts], Floats | Ints]
OF_UNITS = "scores of units"


# Units: ranked lists, repeated draws, interleaved sessions ----------------------------------------


def _plain(function: Callable[..., Any]) -> PerUnit:
    """The mean of a metric of the grades alone, which the relevance level does not move."""
    return PerUnit(lambda r, k, level: function(r, k))


def _gain(function: Callable[..., Any], gain: rankings.Gain) -> PerUnit:
    return PerUnit(lambda r, k, level: function(r, k, gain))


def _gauc(importance: Importance) -> Ratio:
    return Ratio(lambda r, k, level: rankings.gauc(r, importance, level))


RANKINGS = rows_of(
    "rankings",
    {
        "precision": PerUnit(rankings.precision),
        "recall": PerUnit(rankings.recall),
        "r_precision": PerUnit(rankings.r_precision),
        "hit_rate": PerUnit(rankings.hit_rate),
        "hit_ratio": Ratio(rankings.hit_ratio),
        "hit_ratio_k": Ratio(rankings.hit_ratio_k),
        "average_precision": PerUnit(rankings.average_precision),
        "average_precision_min": PerUnit(rankings.average_precision_min),
        "average_precision_hits": PerUnit(rankings.average_precision_hits),
        "average_precision_interpolated": PerUnit(rankings.average_precision_interpolated),
        "reciprocal_rank": PerUnit(rankings.reciprocal_rank),
        "ndcg": _gain(rankings.ndcg, rankings.linear),
        "ndcg_exp": _gain(rankings.ndcg, rankings.exponential),
        "ndcg_binary": PerUnit(lambda r, k, level: rankings.ndcg(r, k, rankings.binary(level))),
        "dcg": _gain(rankings.dcg, rankings.linear),
        "dcg_exp": _gain(rankings.dcg, rankings.exponential),
        "cg": _plain(rankings.cg),
        "rbp": PerUnit(rankings.rbp),
        "err": _plain(rankings.err),
        "bpref": PerUnit(rankings.bpref),
        "judged": _plain(rankings.judged),
        "auc": PerUnit(rankings.auc),
        "gauc": _gauc(lambda g: g.impressions),
        "gauc_positives": _gauc(lambda g: g.positives),
    },
)


# Repeated draws -----------------------------------------------------------------------------------

DRAWS = rows_of(
    "draws",
    {
        "pass": PerUnit(lambda drawn, k, level: draws.any_passes(drawn, k)),
        "pass^": PerUnit(lambda drawn, k, level: draws.all_pass(drawn, k)),
    },
)

INTERLEAVING = rows_of(
    "interleaving",
    {
        "user_share": PerUnit(lambda side, k, level: user_share(side)),
        "user_preference": PerUnit(lambda side, k, level: user_preference(side)),
        "session_wins": Ratio(lambda side, k, level: session_wins(side)),
        "credit_share": Ratio(lambda side, k, level: credit_share(side)),
    },
)


# Two classes --------------------------------------------------------------------------------------


def _share(rule: Rule) -> Share:
    """A share of rows. rule: (label, decision) -> which rows count, and which of them are hits."""
    return Share.by(lambda y, d: rule(y == 1, d == 1))


def _loss(loss: Callable[[Any, Floats], Floats], worst: float = np.inf) -> Loss:
    """The mean over rows of a loss of actual value and forecast, or of label and probability.

    worst: the loss of a row that is certain and wrong.
    """
    return Loss(lambda rows, k: loss(rows.actual, rows.scores), worst)


def _partial_loss(loss: Callable[[Any, Floats], Floats]) -> Loss:
    """The mean of a loss over the rows on which it is defined."""
    return replace(_loss(loss), partial=True)


def _one_minus(of: Metric) -> Transformed:
    return Transformed(of, lambda x: 1 - x, lambda x: -1.0)


def _twice_less_one(of: Metric) -> Transformed:
    return Transformed(of, lambda x: 2 * x - 1, lambda x: 2.0)


def _f(beta: float) -> scores.Overlap:
    return scores.Overlap(lambda c: counts.f_score(c, beta), weight=beta**2, times=1 + beta**2)


def _top(name: str, kind: type[scores.Depth], of: Callable[[Counts], Floats]) -> Metric:
    """A metric of the k rows with the highest scores, or below 1 of a share of the rows."""

    def at(k: float) -> scores.Depth:
        def value(c: Counts) -> float:
            rows = k * c.total if k < 1 else k
            return float(of(curves.at_depth(c, rows))) if rows <= c.total else np.nan

        return kind(value, depth=k)

    return numbered(name, "counts", at)


def _within(importance: Importance) -> Ratio:
    """The mean of the units' AUC: what a unit counts stands in its first row; one of a single class
    takes no part.
    """

    def of(rows: Rows, k: int | None, level: float) -> Sums:
        # without units the rows are one
        code, _ = codes(np.zeros(len(rows)) if rows.unit is None else rows.unit)
        g = _grouped(rows, code)
        weight = np.zeros(len(rows))
        weight[np.unique(code, return_index=True)[1]] = importance(g)
        return Sums(weight * g.auc[code], np.where(np.isnan(g.auc[code]), np.nan, weight))

    return Ratio(of, within=True)


def _grouped(rows: Rows, code: Ints) -> GroupedCounts:
    if rows.weight is None:
        return counts.auc_by_group(rows.actual, rows.scores, code)
    return counts.weighted_auc_by_group(rows.actual, rows.scores, code, rows.weight)


ROC_AUC = described("roc_auc", "counts", scores.Area(counts.auc, influence.auc_bins))
_AVERAGE = scores.Order(
    counts.average_precision,
    influence.average_precision_bins,
    influence.average_precision_moves,
    bias=influence.average_precision_bias,
)
AVERAGE_PRECISION = described("average_precision", "counts", _AVERAGE)
_ACCURACY = described("accuracy", "counts", _share(lambda y, d: (np.ones_like(y), y == d)))
RECALL = described("recall", "counts", _share(lambda y, d: (y, d)))
_SPECIFICITY = described("specificity", "counts", _share(lambda y, d: (~y, ~d)))
PRECISION = described("precision", "counts", _share(lambda y, d: (d, y)))
F1 = described("f1", "counts", _f(1))
_BALANCED = described(
    "balanced_accuracy",
    "counts",
    scores.OfShares(counts.balanced_accuracy, shares=(RECALL, _SPECIFICITY)),
)
GAUC = described("gauc", "counts", _within(lambda g: g.impressions))
COUNTS = rows_of(
    "counts",
    {
        "roc_auc": ROC_AUC,
        "gini": _twice_less_one(ROC_AUC),
        "average_precision": AVERAGE_PRECISION,
        "average_precision_interpolated": scores.Order(curves.average_precision_interpolated),
        "pr_auc_davis_goadrich": scores.Order(curves.pr_auc_davis_goadrich),
        "pr_auc_trapezoid": scores.Order(curves.pr_auc_trapezoid, rises=False),
        "partial_auc_mcclish_10": scores.Order(lambda c: curves.partial_auc_mcclish(c, 0.1)),
        "break_even": scores.Order(curves.break_even),
        "ks": scores.Gap(counts.ks, influence.ks_bins),
        "log_loss": _loss(losses.log, losses.WORST),
        "brier": _loss(losses.brier),
        "brier_skill": scores.Skill(calibration.brier_skill, calibration.brier_skill_bins),
        "calibration_in_the_large": _loss(lambda label, probability: probability - label),
        "ece_10": scores.Calibration(calibration.ece_10, rises=False),
        "miscalibration": scores.Calibration(calibration.miscalibration, rises=False),
        "accuracy": _ACCURACY,
        "error_rate": _one_minus(_ACCURACY),
        "balanced_accuracy": _BALANCED,
        "precision": PRECISION,
        "recall": RECALL,
        "specificity": _SPECIFICITY,
        "false_positive_rate": _one_minus(_SPECIFICITY),
        "false_negative_rate": _one_minus(RECALL),
        "negative_predictive_value": _share(lambda y, d: (~d, ~y)),
        "f1": F1,
        "f2": _f(2),
        "f05": _f(0.5),
        "fbeta": numbered("fbeta", "counts", _f),
        "jaccard": scores.Overlap(counts.jaccard),
        "mcc": scores.Decision(counts.mcc),
        "kappa": scores.Decision(counts.kappa),
        "youden": _twice_less_one(_BALANCED),
        "lift": scores.Lift(curves.lift, share=PRECISION),
        "precision@": _top("precision@", scores.TopPrecision, counts.precision),
        "recall@": _top("recall@", scores.TopRecall, counts.recall),
        "lift@": _top("lift@", scores.Depth, curves.lift),
        "predicted_rate": _share(lambda y, d: (np.ones_like(y), d)),
        "gauc": GAUC,
        "gauc_positives": _within(lambda g: g.positives),
        "gauc_uniform": _within(lambda g: np.ones(len(g.group))),
    },
)


# Two classes, beside the metrics: at another base rate, among the highest scores, after recalibrati


BASE_RATE = Metric(
    "base_rate", "counts", Share(lambda y, d: (np.ones(len(y), dtype=bool), y == 1)), "", "", ""
)


def _of_rates(name: str, of: Callable[[float, float], Floats]) -> Metric:
    def rates(recall: float, false: float) -> float:
        return float(of(recall, false))

    def value(c: Counts) -> float:
        return rates(float(counts.recall(c)), float(counts.false_positive_rate(c)))

    return Metric(name, "counts", scores.AtRates(value, rates=rates), "", "", "")


def _precision_at(rate: float) -> Metric:
    return _of_rates(
        "precision", lambda hit, false: ratio(rate * hit, rate * hit + (1 - rate) * false)
    )


def _f1_at(rate: float) -> Metric:
    return _of_rates(
        "f1", lambda hit, false: ratio(2 * rate * hit, rate * (1 + hit) + (1 - rate) * false)
    )


def _average_precision_at(rate: float) -> Metric:
    """The rates of both classes stay as they are, so a row moves it by what it adds above its
    class's mean.
    """

    def of(c: Counts) -> float:
        if c.positives and c.negatives:
            return counts.average_precision(curves.at_base_rate(c, rate))
        return np.nan

    def terms(c: Counts) -> Floats:
        moved = curves.at_base_rate(c, rate)
        bins = influence.average_precision_bins(moved) * np.array(
            [[1.0], [ratio(moved.negatives, c.negatives)]]
        )
        sides = zip((c.positive, c.negative), bins, strict=True)
        return bins - np.array([[ratio(np.dot(rows, side), rows.sum())] for rows, side in sides])

    return Metric("average_precision", "counts", scores.AtRate(of, terms, rate=rate), "", "", "")


# What the base rate moves: the metric in the data, and at a base rate.
MOVED: tuple[tuple[Metric, Callable[[float], Metric]], ...] = (
    (AVERAGE_PRECISION, _average_precision_at),
    (PRECISION, _precision_at),
    (F1, _f1_at),
)


def lift_at(depth: float) -> Metric:
    """The lift among this share of the rows, those with the highest scores."""

    def of(c: Counts) -> float:
        return float(curves.lift(curves.at_depth(c, depth * c.total)))

    return Metric("lift", "counts", scores.Depth(of, depth=depth), "", "", "", high=1 / depth)


def _coefficient(
    name: str, of: Callable[[Counts], float], terms: Callable[[Counts], Floats]
) -> Metric:
    return Metric(
        name, "counts", scores.Coefficient(of, terms), "", "", "", low=-np.inf, high=np.inf
    )


# Of the logistic regression of the labels on the logit of the score.
SLOPE = _coefficient("slope", calibration.slope, calibration.slope_bins)
INTERCEPT = _coefficient("intercept", calibration.intercept, calibration.intercept_bins)


# Forecasts ----------------------------------------------------------------------------------------


def _r2_numbers(f: Rows, centre: Centre) -> tuple[Floats, Floats, Floats]:
    around = f.actual - centre[0]
    return losses.squared(f.actual, f.scores), around, around * around


def _r2(means: Floats) -> tuple[Floats, Floats]:
    """1 − mean (actual − forecast)² / the variance of the actual values."""
    squared, mean, square = means
    variance = square - mean**2
    quotient = ratio(squared, variance)
    return 1 - quotient, ratio(
        np.array([-np.ones_like(quotient), -2 * mean * quotient, quotient]), variance
    )


def _correlation_numbers(f: Rows, centre: Centre) -> tuple[Floats, ...]:
    a = f.actual - centre[0]
    b = f.scores - centre[1]
    return a, b, a * a, b * b, a * b


def _squared_correlation(means: Floats) -> tuple[Floats, Floats]:
    """cov² / (variance of the actual values · variance of the forecasts)."""
    a, b, aa, bb, ab = means
    of_a = aa - a * a
    of_b = bb - b * b
    both = ab - a * b
    value = ratio(both**2, of_a * of_b)
    by_a = -ratio(value, of_a)
    by_b = -ratio(value, of_b)
    by_both = 2 * ratio(value, both)
    slopes = [-2 * a * by_a - b * by_both, -2 * b * by_b - a * by_both, by_a, by_b, by_both]
    return np.minimum(value, 1.0), np.array(slopes, dtype=np.float64)  # rounding may leave more


_MSE = described("mse", "forecasts", _loss(losses.squared))
FORECASTS = rows_of(
    "forecasts",
    {
        "mae": _loss(losses.absolute),
        "rmse": Transformed(
            _MSE, lambda x: float(np.sqrt(x)), lambda x: float(ratio(1, 2 * np.sqrt(x)))
        ),
        "mse": _MSE,
        "bias": _loss(losses.error),
        "median_absolute_error": scores.Quantile(lambda f: losses.absolute(f.actual, f.scores)),
        "mape": _partial_loss(losses.absolute_percentage),
        # the percentage error of the total, in which zeros count
        "wape": RatioOfRows(lambda f: (losses.absolute(f.actual, f.scores), np.abs(f.actual))),
        "smape": _loss(losses.symmetric_percentage),
        "mase": Loss(
            lambda f, k: losses.scaled(f.actual, f.scores, f.beside["naive_mae"]), partial=True
        ),
        "pinball": Loss(lambda f, k: losses.quantile(f.actual, f.scores, k / 100)),
        "poisson_deviance": _partial_loss(losses.poisson),
        "r2": scores.OfMeans(_r2_numbers, _r2),
        "r2_correlation": scores.OfMeans(_correlation_numbers, _squared_correlation),
    },
)


# Several classes ----------------------------------------------------------------------------------


STEP = 1e-4  # of all rows: the weight added to a cell to see what it moves


# What each row adds -------------------------------------------------------------------------------


def of_confusion(metric: Callable[[labels.Confusion], float], rows: Rows) -> Effects:
    """A metric of the confusion table and the influence of each row, by numerical differentiation
    of its cell.

    >>> s = Rows(np.array([0, 0, 1, 1]), decision=np.array([0, 1, 1, 1]))
    >>> of_confusion(lambda m: np.trace(m.table) / m.total, s).rows.round(2)
    array([ 0.06, -0.19,  0.06,  0.06])
    """
    m = rows.confusion
    value = metric(rows.confusion)
    cell = rows.actual * rows.classes + rows.predicted
    moved = np.zeros(rows.classes**2)
    step = STEP * m.total
    for place in np.unique(cell) if not np.isnan(value) else []:
        table = m.table.astype(np.float64)
        table.flat[place] += step
        moved[place] = (metric(labels.Confusion(table, m.classes)) - value) / step
    by_row = moved[cell]
    w = rows.weights
    return Effects(value, w * (by_row - ratio(np.dot(w, by_row), w.sum())))


def against_rest(rows: Rows, c: int) -> Rows:
    """The rows with one class as positive, its score, and whether it is predicted."""
    score = None if rows.score is None else rows.score[:, c]
    decision = rows.predicted == c
    return replace(rows, actual=(rows.actual == c).astype(np.int64), score=score, decision=decision)


def _each(rows: Rows, classes: Ints) -> Iterator[Part]:
    return (Part(1 / len(classes), against_rest(rows, c)) for c in classes)


def _all_classes(rows: Rows) -> Iterator[Part]:
    return _each(rows, np.arange(rows.classes))


def _one_vs_rest(of: Metric) -> Combined:
    return Combined(of, _all_classes, classed=True)


def _macro(of: Metric) -> Combined:
    """The mean over the classes that occur or are predicted."""

    def parts(rows: Rows) -> Iterator[Part]:
        return _each(rows, np.flatnonzero(labels.occurs(labels.one_vs_rest(rows.confusion))))

    return Combined(of, parts, classed=True)


def _with_rows(rows: Rows) -> Iterator[Part]:
    return _each(rows, np.flatnonzero(rows.confusion.table.sum(axis=1)))


def _pairs(rows: Rows) -> Iterator[Part]:
    """The rows of two classes i, j with the score of i, for every ordered pair."""
    for i in range(rows.classes):
        for j in np.delete(np.arange(rows.classes), i):
            places = np.flatnonzero((rows.actual == i) | (rows.actual == j))
            yield Part(
                1 / (rows.classes * (rows.classes - 1)), against_rest(rows.take(places), i), places
            )


def _table(metric: Callable[[labels.Confusion], float]) -> Agreement:
    return Agreement(lambda rows, k: of_confusion(metric, rows))


def _weighted(metric: labels.Metric) -> Agreement:
    """The mean over the classes that have rows, weighted by these, of a metric of the confusion
    table.
    """
    return _table(lambda m: labels.weighted(labels.one_vs_rest(m), metric))


RIGHT = Share(lambda actual, predicted: (np.ones(len(actual), dtype=bool), actual == predicted))
MACRO_PRECISION = described("macro_precision", "classes", _macro(PRECISION))
MACRO_RECALL = described("macro_recall", "classes", _macro(RECALL))
CLASSES = rows_of(
    "classes",
    {
        "accuracy": RIGHT,
        "macro_f1": _macro(F1),
        "macro_precision": MACRO_PRECISION,
        "macro_recall": MACRO_RECALL,
        "macro_f1_of_means": Harmonic((MACRO_PRECISION, MACRO_RECALL)),
        "weighted_f1": _weighted(counts.f_score),
        "weighted_precision": _weighted(counts.precision),
        "weighted_recall": RIGHT,
        "balanced_accuracy": Combined(RECALL, _with_rows, classed=True),
        "mcc": _table(labels.mcc),
        "kappa": _table(labels.kappa),
        "kappa_quadratic": _table(labels.kappa_quadratic),
        "coverage": numbered("coverage", "classes", ClassCoverage),
        "top": Loss(lambda rows, k: labels.in_top(rows.actual, rows.scores, k)),
        "roc_auc_ovr": _one_vs_rest(ROC_AUC),
        "roc_auc_hand_till": Combined(ROC_AUC, _pairs, classed=True, whole=False),
        "roc_auc_ovr_weighted": Weighted(ROC_AUC, _all_classes, classed=True),
        "roc_auc_ovo_weighted": Weighted(
            ROC_AUC,
            _pairs,
            classed=True,
            whole=False,
            counted=lambda rows: np.ones(len(rows), dtype=bool),
        ),
        "map_classes": _one_vs_rest(AVERAGE_PRECISION),
        "log_loss": Loss(
            lambda rows, k: losses.log_classes(rows.actual, rows.scores), losses.WORST
        ),
        "brier": Loss(lambda rows, k: losses.brier_classes(rows.actual, rows.scores)),
    },
)


# Several labels per row ---------------------------------------------------------------------------


def _micro(of: Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]) -> RatioOfRows:
    """A ratio of sums over all rows and labels. of: (labels true, labels predicted, both) of each
    row -> its sides.
    """
    return RatioOfRows(lambda rows: of(*rows.label_counts))


def of_label(rows: Rows, j: int) -> Rows:
    """The rows with one label as the actual value, its score, and whether it is predicted."""
    score = None if rows.score is None else rows.score[:, j]
    return replace(
        rows, actual=rows.actual[:, j].astype(np.int64), score=score, decision=rows.predicted[:, j]
    )


def _each_label(rows: Rows) -> Iterator[Part]:
    count = rows.actual.shape[1]
    return (Part(1 / count, of_label(rows, j)) for j in range(count))


def _by_row(of: Callable[[Bools, Bools], Floats]) -> Loss:
    """The mean over the rows."""
    return Loss(lambda rows, k: of(rows.actual, rows.predicted))


def _of_scores(of: Callable[[Bools, Floats], Floats]) -> Loss:
    """The mean over the rows of a number of all their labels and scores."""
    return Loss(lambda rows, k: of(rows.actual, rows.scores))


RECALLED = _micro(lambda true, said, both: (both, true))
LABELS = rows_of(
    "labels",
    {
        "micro_f1": _micro(lambda true, said, both: (2 * both, true + said)),
        "micro_precision": _micro(lambda true, said, both: (both, said)),
        "micro_recall": RECALLED,
        "macro_f1": Combined(F1, _each_label),
        "weighted_f1": Weighted(F1, _each_label),
        "weighted_precision": Weighted(PRECISION, _each_label),
        "weighted_recall": RECALLED,
        "samples_f1": _by_row(labels.f1_by_row),
        "samples_jaccard": _by_row(labels.jaccard_by_row),
        "exact_match": Share(
            lambda y, d: (np.ones(len(y), dtype=bool), labels.exact_match(y, d) == 1)
        ),
        "hamming_loss": _by_row(labels.hamming),
        "map_classes": Combined(AVERAGE_PRECISION, _each_label),
        "roc_auc_macro": Combined(ROC_AUC, _each_label),
        "ranking_loss": _of_scores(labels.ranking_loss),
        "label_ranking_average_precision": _of_scores(labels.label_ranking_average_precision),
        "coverage_error": _of_scores(labels.coverage_error),
    },
)

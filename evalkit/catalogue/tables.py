"""The tables of metrics, each name with its kind: of ranked lists, draws and interleaved sessions,
and of rows.

Rows have two classes, also within units or at another base rate, forecasts, several classes, or
several labels.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, codes, quotient, ratio
from evalkit.catalogue import score_kinds as scores
from evalkit.catalogue.kinds import (
    Agreement,
    Centre,
    ClassCoverage,
    Loss,
    MeanPerUnit,
    MetricKind,
    Ratio,
    RatioOfRows,
    RowMasks,
    Share,
    ValueAndInfluence,
    all_eligible,
)
from evalkit.catalogue.metric import (
    Harmonic,
    MeanOverClasses,
    Metric,
    MetricPair,
    Part,
    TransformedMetric,
    Weighted,
    metric_from_toml,
    metric_table,
    numbered,
)
from evalkit.metrics import (
    calibration,
    counts,
    curves,
    draws,
    influence,
    labels,
    losses,
    predictive,
    rankings,
)
from evalkit.metrics.counts import Counts, GroupedCounts, Weights
from evalkit.metrics.predictive import Ensemble, Normal, Predictive, Quantiles
from evalkit.metrics.rows import (
    InterleavingArm,
    Rows,
    Sums,
    credit_share,
    session_wins,
    user_preference,
    user_share,
)

BinaryRule = Callable[[Bools, Bools], tuple[Bools, Bools]]  # (label, decision) -> `kinds.RowMasks`
Importance = Callable[[GroupedCounts], Floats | Ints]  # the weight of each group in a mean
PredictiveTypes = type[Predictive] | tuple[type[Predictive], ...]  # one or several, for isinstance
OF_UNITS = "scores of units"  # what GAUC needs, as `Metric.needs` says it


# Units: ranked lists, repeated draws, interleaved sessions ----------------------------------------


def _without_level(function: Callable[..., Any]) -> MeanPerUnit:
    """The mean of a metric that the relevance level does not change. function: (structure, k) -> a
    value per unit.
    """
    return MeanPerUnit(lambda structure, k, level: function(structure, k))


def _with_gain(function: Callable[..., Any], gain: rankings.Gain) -> MeanPerUnit:
    """The mean of a metric of graded lists with this gain. function: (rankings, k, gain) -> a value
    per query.
    """
    return MeanPerUnit(lambda r, k, level: function(r, k, gain))


def _ndcg_binary(r: rankings.Rankings, k: int | None, level: float) -> Floats:
    """nDCG with gain 1 for each item of the relevance level or above, else 0."""
    return rankings.ndcg(r, k, rankings.binary(level))


def _gauc(importance: Importance) -> Ratio:
    """The mean of the AUC of the queries, weighted by their importance."""
    return Ratio(lambda r, k, level: rankings.gauc(r, importance, level))


def _impressions(groups: GroupedCounts) -> Floats | Ints:
    """The weight of each group in GAUC: its number of rows."""
    return groups.impressions


def _positives(groups: GroupedCounts) -> Floats | Ints:
    """The weight of each group in GAUC: its number of positives."""
    return groups.positives


def _one_each(groups: GroupedCounts) -> Floats:
    """The weight 1 for each group in GAUC."""
    return np.ones(len(groups.group))


RANKINGS = metric_table(
    "rankings",
    {
        "precision": MeanPerUnit(rankings.precision),
        "recall": MeanPerUnit(rankings.recall),
        "r_precision": MeanPerUnit(rankings.r_precision),
        "hit_rate": MeanPerUnit(rankings.hit_rate),
        "hit_ratio": Ratio(rankings.hit_ratio),
        "hit_ratio_k": Ratio(rankings.hit_ratio_k),
        "average_precision": MeanPerUnit(rankings.average_precision),
        "average_precision_min": MeanPerUnit(rankings.average_precision_min),
        "average_precision_hits": MeanPerUnit(rankings.average_precision_hits),
        "average_precision_interpolated": MeanPerUnit(rankings.average_precision_interpolated),
        "reciprocal_rank": MeanPerUnit(rankings.reciprocal_rank),
        "ndcg": _with_gain(rankings.ndcg, rankings.linear),
        "ndcg_exp": _with_gain(rankings.ndcg, rankings.exponential),
        "ndcg_binary": MeanPerUnit(_ndcg_binary),
        "dcg": _with_gain(rankings.dcg, rankings.linear),
        "dcg_exp": _with_gain(rankings.dcg, rankings.exponential),
        "cg": _without_level(rankings.cg),
        "rbp": MeanPerUnit(rankings.rbp),
        "err": _without_level(rankings.err),
        "bpref": MeanPerUnit(rankings.bpref),
        "judged": _without_level(rankings.judged),
        "auc": MeanPerUnit(rankings.auc),
        "gauc": _gauc(_impressions),
        "gauc_positives": _gauc(_positives),
    },
)


# Repeated draws -----------------------------------------------------------------------------------

DRAWS = metric_table(
    "draws",
    {
        "pass": _without_level(draws.any_passes),
        "pass^": _without_level(draws.all_pass),
    },
)


def _of_arm(function: Callable[[InterleavingArm], Any]) -> Callable[..., Any]:
    """A function of one arm of interleaving as one of (structure, k, level), of which it needs the
    structure, the arm, alone.
    """
    return lambda arm, k, level: function(arm)


INTERLEAVING = metric_table(
    "interleaving",
    {
        "user_share": MeanPerUnit(_of_arm(user_share)),
        "user_preference": MeanPerUnit(_of_arm(user_preference)),
        "session_wins": Ratio(_of_arm(session_wins)),
        "credit_share": Ratio(_of_arm(credit_share)),
    },
)


# Two classes --------------------------------------------------------------------------------------


def _share(rule: BinaryRule) -> Share:
    """A share of rows of two classes. rule: (label, decision), as booleans -> the masks of eligible
    rows and of hits among them.
    """
    return Share.from_rule(partial(_rule_of_classes, rule=rule))


def _rule_of_classes(
    actual: np.ndarray, predicted: np.ndarray, rule: BinaryRule
) -> tuple[Bools, Bools]:
    """The masks of a rule for classes that are numbered 0 and 1."""
    return rule(actual == 1, predicted == 1)


def _accuracy(actual: np.ndarray, predicted: np.ndarray) -> RowMasks:
    """Of all rows those that are predicted right."""
    return all_eligible(actual == predicted)


def _recall(label: Bools, decision: Bools) -> RowMasks:
    """Of the positive rows those predicted positive."""
    return RowMasks(label, decision)


def _specificity(label: Bools, decision: Bools) -> RowMasks:
    """Of the negative rows those predicted negative."""
    return RowMasks(~label, ~decision)


def _precision(label: Bools, decision: Bools) -> RowMasks:
    """Of the rows predicted positive the positive ones."""
    return RowMasks(decision, label)


def _negative_predictive_value(label: Bools, decision: Bools) -> RowMasks:
    """Of the rows predicted negative the negative ones."""
    return RowMasks(~decision, ~label)


def _predicted_rate(label: Bools, decision: Bools) -> RowMasks:
    """Of all rows those predicted positive."""
    return all_eligible(decision)


def _loss(loss: Callable[[Any, Floats], Floats], worst: float = np.inf) -> Loss:
    """The mean over rows of a loss: (actual values, forecasts) or (labels, probabilities) -> a
    number per row.

    worst: the loss of a row that is certain and wrong.
    """
    return Loss(lambda rows, k: loss(rows.actual, rows.scores), worst)


def _partial_loss(loss: Callable[[Any, Floats], Floats]) -> Loss:
    """The mean of a loss, as in `_loss`, over the rows on which it is not NaN."""
    return replace(_loss(loss), partial=True)


def _one_minus(metric: Metric) -> TransformedMetric:
    """1 − x of a metric x, whose derivative is −1."""
    return TransformedMetric(metric, function=lambda x: 1 - x, slope=lambda x: -1.0)


def _twice_less_one(metric: Metric) -> TransformedMetric:
    """2 x − 1 of a metric x, whose derivative is 2."""
    return TransformedMetric(metric, function=lambda x: 2 * x - 1, slope=lambda x: 2.0)


def _f_score(beta: float) -> scores.Overlap:
    """F-beta: (1 + beta²) TP / ((1 + beta²) TP + beta² FN + FP)."""
    f_beta = partial(counts.f_score, beta=beta)
    return scores.Overlap(f_beta, weight=beta**2, times=1 + beta**2)


def _of_top_rows(
    name: str, kind: type[scores.Depth], function: Callable[[Counts], Floats]
) -> Metric:
    """The metric `name` of the k rows with the highest scores, or for k below 1 of that share of
    the rows. function: the counts at the cut-off -> the metric.
    """
    return numbered(name, "counts", partial(_top_rows_kind, kind=kind, function=function))


def _top_rows_kind(
    k: float, kind: type[scores.Depth], function: Callable[[Counts], Floats]
) -> scores.Depth:
    """The kind of a metric of the top k rows, or of the share k of the rows."""
    return kind(partial(_value_of_top_rows, k=k, function=function), depth=k)


def _value_of_top_rows(c: Counts, k: float, function: Callable[[Counts], Floats]) -> float:
    """The metric of the top k rows, or of the share k; NaN if the table has fewer rows."""
    rows = k * c.total if k < 1 else k
    if rows > c.total:
        return np.nan
    top = curves.at_depth(c, rows)
    return float(function(top))


def _recall_at_rate(rate: float) -> scores.RecallAtRate:
    """The kind of the recall at a false positive rate."""
    return scores.RecallAtRate(partial(curves.recall_at_rate, rate=rate), rate=rate)


def _auc_within_units(importance: Importance) -> Ratio:
    """The mean of the AUC of the units, weighted by their importance; a unit of a single class is
    left out.
    """
    return Ratio(partial(_unit_auc_terms, importance=importance), ranked_within_unit=True)


def _unit_auc_terms(rows: Rows, k: int | None, level: float, importance: Importance) -> Sums:
    """The terms of GAUC, the mean of the units' AUCs weighted by importance: one numerator and one
    denominator per row, whose sums over the rows count each unit once.

    The numerator of the first row of a unit is importance · AUC, its denominator the importance.
    Both are 0 for the other rows of the unit. All are NaN if the unit has a single class.
    importance: the units' counts -> the importance of each. k, level: arguments of every `Ratio`,
    unused here.
    """
    # rows without units are one unit
    unit = np.zeros(len(rows)) if rows.unit is None else rows.unit
    unit_number, _ = codes(unit)
    counts_by_unit = _counts_by_unit(rows, unit_number)
    # the first row of each unit, in the order of the units' numbers, which is that of the counts
    _, first_rows = np.unique(unit_number, return_index=True)
    weight = np.zeros(len(rows))
    weight[first_rows] = importance(counts_by_unit)
    auc_of_row = counts_by_unit.auc[unit_number]
    denominator = np.where(np.isnan(auc_of_row), np.nan, weight)
    return Sums(weight * auc_of_row, denominator)


def _counts_by_unit(rows: Rows, unit_number: Ints) -> GroupedCounts:
    """The table with one element per unit from which the AUC within each follows. unit_number: of
    each row.
    """
    if rows.weight is None:
        return counts.auc_by_group(rows.actual, rows.scores, unit_number)
    return counts.weighted_auc_by_group(rows.actual, rows.scores, unit_number, rows.weight)


def _partial_auc_mcclish_10(c: Counts) -> float:
    """The standardised partial AUC up to a false positive rate of 10 %."""
    return curves.partial_auc_mcclish(c, 0.1)


ROC_AUC = metric_from_toml("roc_auc", "counts", scores.Area(counts.auc, influence.auc_influence))
_AVERAGE = scores.Order(
    counts.average_precision,
    influence.average_precision_influence,
    influence.average_precision_by_step,
    bias=influence.average_precision_bias,
)
AVERAGE_PRECISION = metric_from_toml("average_precision", "counts", _AVERAGE)
_ACCURACY = metric_from_toml("accuracy", "counts", _share(_accuracy))
RECALL = metric_from_toml("recall", "counts", _share(_recall))
SPECIFICITY = metric_from_toml("specificity", "counts", _share(_specificity))
FALSE_POSITIVE_RATE = metric_from_toml("false_positive_rate", "counts", _one_minus(SPECIFICITY))
PREDICTED_RATE = metric_from_toml("predicted_rate", "counts", _share(_predicted_rate))
PRECISION = metric_from_toml("precision", "counts", _share(_precision))
F1 = metric_from_toml("f1", "counts", _f_score(1))
_BALANCED = metric_from_toml(
    "balanced_accuracy",
    "counts",
    scores.MeanOfShares(counts.balanced_accuracy, shares=(RECALL, SPECIFICITY)),
)
GAUC = metric_from_toml("gauc", "counts", _auc_within_units(_impressions))
COUNTS = metric_table(
    "counts",
    {
        "roc_auc": ROC_AUC,
        "gini": _twice_less_one(ROC_AUC),
        "average_precision": AVERAGE_PRECISION,
        "average_precision_interpolated": scores.Order(curves.average_precision_interpolated),
        "pr_auc_davis_goadrich": scores.Order(curves.pr_auc_davis_goadrich),
        "pr_auc_trapezoid": scores.Order(curves.pr_auc_trapezoid, rises=False),
        "partial_auc_mcclish_10": scores.Order(_partial_auc_mcclish_10),
        "break_even": scores.Order(curves.break_even),
        "ks": scores.Gap(counts.ks, influence.ks_influence),
        "log_loss": _loss(losses.log, losses.WORST),
        "brier": _loss(losses.brier),
        "brier_skill": scores.Skill(calibration.brier_skill, calibration.brier_skill_influence),
        "calibration_in_the_large": _loss(losses.error),
        "ece_10": scores.Calibration(calibration.ece_10, rises=False),
        "miscalibration": scores.Calibration(calibration.miscalibration, rises=False),
        "accuracy": _ACCURACY,
        "error_rate": _one_minus(_ACCURACY),
        "balanced_accuracy": _BALANCED,
        "precision": PRECISION,
        "recall": RECALL,
        "specificity": SPECIFICITY,
        "false_positive_rate": FALSE_POSITIVE_RATE,
        "false_negative_rate": _one_minus(RECALL),
        "negative_predictive_value": _share(_negative_predictive_value),
        "f1": F1,
        "f2": _f_score(2),
        "f05": _f_score(0.5),
        "fbeta": numbered("fbeta", "counts", _f_score),
        "jaccard": scores.Overlap(counts.jaccard),
        "mcc": scores.Decision(counts.mcc),
        "kappa": scores.Decision(counts.kappa),
        "youden": _twice_less_one(_BALANCED),
        "lift": scores.Lift(curves.lift, share=PRECISION),
        "precision@": _of_top_rows("precision@", scores.TopPrecision, counts.precision),
        "recall@": _of_top_rows("recall@", scores.TopRecall, counts.recall),
        "lift@": _of_top_rows("lift@", scores.Depth, curves.lift),
        "recall@fpr": numbered("recall@fpr", "counts", _recall_at_rate),
        "predicted_rate": PREDICTED_RATE,
        "gauc": GAUC,
        "gauc_positives": _auc_within_units(_positives),
        "gauc_uniform": _auc_within_units(_one_each),
    },
)


# Two classes: what the page measures in addition to the metrics of the table ----------------------


def _undescribed(name: str, kind: MetricKind, low: float = 0.0, high: float = 1.0) -> Metric:
    """A metric of two classes that the page measures besides, such as the base rate: users cannot
    choose it, so that it has no formula and no texts.
    """
    return Metric(name, "counts", kind, "", "", "", low=low, high=high)


def _is_positive(actual: np.ndarray, predicted: np.ndarray) -> RowMasks:
    """Of all rows the positive ones."""
    return all_eligible(actual == 1)


BASE_RATE = _undescribed("base_rate", Share(_is_positive))


def _of_rates(name: str, rates: Callable[[float, float], float]) -> Metric:
    """A metric that is a function of two rates. rates: (recall, false positive rate) -> its
    value.
    """
    return _undescribed(
        name, scores.FunctionOfRates(partial(_from_rates, rates=rates), rates=rates)
    )


def _from_rates(c: Counts, rates: Callable[[float, float], float]) -> float:
    """A function of the recall and the false positive rate of the counts at a threshold."""
    return rates(float(counts.recall(c)), float(counts.false_positive_rate(c)))


def _precision_at(rate: float) -> Metric:
    """Precision at another base rate."""
    return _of_rates("precision", partial(_precision_from_rates, base_rate=rate))


def _precision_from_rates(recall: float, false_positive_rate: float, base_rate: float) -> float:
    """TP / (TP + FP), both as shares of all rows at a base rate."""
    true_positives = base_rate * recall
    false_positives = (1 - base_rate) * false_positive_rate
    return quotient(true_positives, true_positives + false_positives)


def _f1_at(rate: float) -> Metric:
    """F1 at another base rate."""
    return _of_rates("f1", partial(_f1_from_rates, base_rate=rate))


def _f1_from_rates(recall: float, false_positive_rate: float, base_rate: float) -> float:
    """2 TP / (actual + predicted positives), all as shares of all rows at a base rate."""
    # P + TP is base rate · (1 + recall); FP makes it actual + predicted positives
    positives_and_hits = base_rate * (1 + recall)
    false_positives = (1 - base_rate) * false_positive_rate
    return quotient(2 * base_rate * recall, positives_and_hits + false_positives)


def _average_precision_at(rate: float) -> Metric:
    """The metric average precision at another base rate: the negatives are reweighted so that
    positives have the share `rate` of the weight. It has no texts, as users cannot choose it.
    """
    kind = scores.AtBaseRate(
        partial(_reweighted_average_precision, base_rate=rate),
        partial(_reweighted_average_precision_influence, base_rate=rate),
        rate=rate,
    )
    return _undescribed("average_precision", kind)


def _reweighted_average_precision(c: Counts, base_rate: float) -> float:
    """Average precision of the table reweighted to a base rate; NaN if a class is absent."""
    if c.positives and c.negatives:
        return counts.average_precision(curves.at_base_rate(c, base_rate))
    return np.nan


def _reweighted_average_precision_influence(c: Counts, base_rate: float) -> Floats:
    """The influence of a positive (first row) and of a negative (second row) at each threshold on
    average precision at a base rate; shape (2, thresholds).

    The base rate is fixed, so that a row does not change the share of its class: its influence is
    less the mean of its class.
    """
    reweighted = curves.at_base_rate(c, base_rate)
    of_positives, of_negatives = influence.average_precision_influence(reweighted)
    # a negative of the table stands for this many of the reweighted table
    of_negatives = of_negatives * ratio(reweighted.negatives, c.negatives)
    return np.array([_less_mean(of_positives, c.positive), _less_mean(of_negatives, c.negative)])


def _less_mean(values: Floats, rows: Weights) -> Floats:
    """The values less their mean. rows: the number of rows that have each value."""
    mean = quotient(np.dot(rows, values), rows.sum())
    return values - mean


class BaseRateMetric(NamedTuple):
    """A metric that the base rate changes: in the data, and as a function of the base rate."""

    in_data: Metric
    at_rate: Callable[[float], Metric]


CHANGED_BY_BASE_RATE = (
    BaseRateMetric(AVERAGE_PRECISION, _average_precision_at),
    BaseRateMetric(PRECISION, _precision_at),
    BaseRateMetric(F1, _f1_at),
)


def lift_at(depth: float) -> Metric:
    """The lift of the rows with the highest scores. depth: their share of all rows."""
    value = partial(_lift_of_top, depth=depth)
    # lift is the precision over the base rate, at most 1 / depth, as all positives fit in there
    return _undescribed("lift", scores.Depth(value, depth=depth), high=1 / depth)


def _lift_of_top(c: Counts, depth: float) -> float:
    """The lift of this share of the rows."""
    top = curves.at_depth(c, depth * c.total)
    return float(curves.lift(top))


def _coefficient(
    name: str, value: Callable[[Counts], float], by_score: Callable[[Counts], Floats]
) -> Metric:
    """A coefficient of the logistic regression of the labels on the logit of the score. value,
    by_score: the table -> the coefficient, and the influence of a row of each class by threshold.
    """
    return _undescribed(name, scores.Coefficient(value, by_score), low=-np.inf, high=np.inf)


SLOPE = _coefficient("slope", calibration.slope, calibration.slope_influence)
INTERCEPT = _coefficient("intercept", calibration.intercept, calibration.intercept_influence)


# Forecasts ----------------------------------------------------------------------------------------


def _r2_numbers(f: Rows, centre: Centre) -> tuple[Floats, Floats, Floats]:
    """The three numbers of each row whose means R² is computed from: the squared error, the actual
    value, and its square; actual values are taken less their centre, which keeps digits.
    """
    actual = f.actual - centre.actual
    return losses.squared(f.actual, f.scores), actual, actual * actual


def _r2(means: Floats) -> scores.ValueAndSlopes:
    """R² = 1 − MSE / variance of the actual values, and its derivatives by the three means of
    `_r2_numbers`.
    """
    mse, mean, mean_square = means
    variance = mean_square - mean**2
    unexplained = ratio(mse, variance)
    # the derivatives of 1 − mse / (mean_square − mean²) are −1, −2 mean u and u, each / variance,
    # with u the unexplained share, mse / variance
    slopes = np.array([-np.ones_like(unexplained), -2 * mean * unexplained, unexplained])
    return scores.ValueAndSlopes(1 - unexplained, ratio(slopes, variance))


def _correlation_numbers(f: Rows, centre: Centre) -> tuple[Floats, ...]:
    """The five numbers of each row whose means the correlation is computed from: actual value a and
    forecast b, both less their centres, which keeps digits, then a², b² and a b.
    """
    a = f.actual - centre.actual
    b = f.scores - centre.forecast
    return a, b, a * a, b * b, a * b


def _squared_correlation(means: Floats) -> scores.ValueAndSlopes:
    """The squared correlation, cov² / (variance of the actual values · variance of the forecasts),
    and its derivatives by the five means that it is a function of: those of the actual values a,
    the forecasts b, a², b² and a b; one element, or one column for several sets of rows, each.

    The value is NaN if the actual values or the forecasts are constant. If the covariance is 0, the
    derivatives by the means of a, b and a b are NaN: the value, 0, is the smallest there is, and a
    first-order interval around it would have no width.
    """
    a, b, aa, bb, ab = means
    variance_a = aa - a * a
    variance_b = bb - b * b
    covariance = ab - a * b
    value = ratio(covariance**2, variance_a * variance_b)
    # by_x: the derivative of the value by the mean x; aa, bb and ab each stand in one factor alone
    by_aa = -ratio(value, variance_a)
    by_bb = -ratio(value, variance_b)
    by_ab = 2 * ratio(value, covariance)
    # chain rule: a stands in variance_a, as −a², and in the covariance, as −a b; b likewise
    by_a = -2 * a * by_aa - b * by_ab
    by_b = -2 * b * by_bb - a * by_ab
    slopes = np.array([by_a, by_b, by_aa, by_bb, by_ab], dtype=np.float64)
    return scores.ValueAndSlopes(np.minimum(value, 1.0), slopes)  # rounding may leave more


def _root(x: float) -> float:
    """The square root, as of the MSE for the RMSE."""
    return float(np.sqrt(x))


def _slope_of_root(x: float) -> float:
    """The derivative of the square root, 1 / (2 √x); NaN at 0."""
    return quotient(1, 2 * np.sqrt(x))


def _absolute_error(f: Rows) -> Floats:
    """|actual - forecast| of each row."""
    return losses.absolute(f.actual, f.scores)


def _wape_terms(f: Rows) -> tuple[Floats, Floats]:
    """The absolute error and the absolute actual value of each row, the terms of WAPE."""
    return losses.absolute(f.actual, f.scores), np.abs(f.actual)


def _scaled_error(f: Rows, k: int | None) -> Floats:
    """|actual - forecast| / naive_mae of each row, the loss of MASE; naive_mae is a column."""
    return losses.scaled(f.actual, f.scores, f.columns["naive_mae"])


def _scaled_square(f: Rows, k: int | None) -> Floats:
    """(actual - forecast)² / naive_mse of each row, the loss of MSSE, undefined if naive_mse is 0;
    naive_mse is a column.
    """
    scale = f.columns["naive_mse"]
    positive_scale = np.where(scale > 0, scale, 0.0)
    return ratio(losses.squared(f.actual, f.scores), positive_scale)


def _relative(loss: Loss, reference_loss: Callable[[Floats, Floats], Floats]) -> RatioOfRows:
    """The mean of a loss / the mean loss of a reference forecast, over the rows in which the column
    `reference` has a number. loss: of the forecasts. reference_loss: (actual values, reference
    forecasts) -> the loss of each row, NaN without a reference.
    """

    def both_losses(f: Rows) -> tuple[Floats, Floats]:
        """The numerator and the denominator of each row: its loss, and the loss of the reference;
        both NaN without a reference.
        """
        of_reference = reference_loss(f.actual, f.columns["reference"])
        no_k = None  # these losses have no number behind an @
        loss_of_row = loss.per_row(f, no_k)
        loss_with_reference = np.where(np.isnan(of_reference), np.nan, loss_of_row)
        return loss_with_reference, of_reference

    # needs predictive distributions if the loss scores them, as CRPS; the reference has none
    return RatioOfRows(both_losses, of_distributions=loss.of_distributions)


def _pinball(f: Rows, k: float) -> Floats:
    """The pinball loss of each row at the level of k percent: of the quantile of its distribution,
    or of its forecast if it has no distribution.
    """
    level = predictive.level_of(k)
    forecast = f.scores if f.predictive is None else f.predictive.quantile(level)
    return losses.quantile(f.actual, forecast, level=level)


def _of_distribution(
    needed: PredictiveTypes, score: Callable[[Floats, Any, float], Floats]
) -> Loss:
    """The mean of a score of predictive distributions; undefined for rows whose distributions are
    not of a needed type.

    score: (actual values, distributions, number behind the @) -> a number per row.
    """
    return Loss(partial(_score_of_distribution, needed=needed, score=score), of_distributions=True)


def _score_of_distribution(
    f: Rows, k: float, needed: PredictiveTypes, score: Callable[[Floats, Any, float], Floats]
) -> Floats:
    """The score of each row, as in `_of_distribution`; NaN for distributions of another type."""
    if not isinstance(f.predictive, needed):
        return np.full(len(f), np.nan)
    return score(f.actual, f.predictive, k)


def _of_interval(score: Callable[[Floats, predictive.Bounds, float], Floats]) -> Loss:
    """The mean of a score of the central interval of k percent. score: (actual values, bounds, k)
    -> a number per row.
    """
    return _of_distribution(
        Predictive,
        lambda actual, distribution, k: score(actual, distribution.interval(k), k),
    )


def _part_of_wis(part: str) -> Loss:
    """The mean of a part of the weighted interval score. part: a field of `WeightedParts`."""
    return _of_distribution(
        Quantiles,
        lambda actual, quantiles, k: getattr(predictive.weighted_parts(actual, quantiles), part),
    )


def _without_number(
    score: Callable[[Floats, Any], Floats],
) -> Callable[[Floats, Any, float], Floats]:
    """A score of distributions that takes no number behind the @, for `_of_distribution`."""
    return lambda actual, distribution, k: score(actual, distribution)


def at_percent(name: str, loss: Loss) -> Metric:
    """The metric of this name with a percentage after its @, such as 90 or 97.5, which the loss
    gets as its k.
    """
    return numbered(name, "forecasts", lambda percent: loss)


_MSE = metric_from_toml("mse", "forecasts", _loss(losses.squared))
_MSSE = metric_from_toml("msse", "forecasts", Loss(_scaled_square, partial=True))
_WIS = _of_distribution(Quantiles, _without_number(predictive.weighted_interval_score))
_CRPS = _of_distribution((Ensemble, Normal), _without_number(predictive.crps))
_RELATIVE = metric_table(
    "forecasts",
    {
        "relative_mae": _relative(_loss(losses.absolute), losses.absolute),
        "relative_mse": _relative(_loss(losses.squared), losses.squared),
        "relative_wis": _relative(_WIS, losses.absolute),
        "relative_crps": _relative(_CRPS, losses.absolute),
    },
)
FORECASTS = metric_table(
    "forecasts",
    {
        "mae": _loss(losses.absolute),
        "rmse": TransformedMetric(_MSE, _root, _slope_of_root),
        "mse": _MSE,
        "bias": _loss(losses.error),
        "median_absolute_error": scores.Median(_absolute_error),
        "mape": _partial_loss(losses.absolute_percentage),
        "wape": RatioOfRows(_wape_terms),
        "smape": _loss(losses.symmetric_percentage),
        "mase": Loss(_scaled_error, partial=True),
        "rmsse": TransformedMetric(_MSSE, _root, _slope_of_root),
        "msse": _MSSE,
        "mae_skill": _one_minus(_RELATIVE["relative_mae"]),
        "mse_skill": _one_minus(_RELATIVE["relative_mse"]),
        "wis_skill": _one_minus(_RELATIVE["relative_wis"]),
        "crps_skill": _one_minus(_RELATIVE["relative_crps"]),
        **_RELATIVE,
        "pinball": at_percent("pinball", Loss(_pinball, of_distributions=True)),
        "wis": _WIS,
        "overprediction": _part_of_wis("overprediction"),
        "underprediction": _part_of_wis("underprediction"),
        "dispersion": _part_of_wis("dispersion"),
        "crps": _CRPS,
        "fair_crps": _of_distribution(Ensemble, _without_number(predictive.fair_crps)),
        "coverage": at_percent("coverage", _of_interval(predictive.covered)),
        "quantile_coverage": at_percent(
            "quantile_coverage", _of_distribution(Predictive, predictive.is_at_most_quantile)
        ),
        "interval_width": at_percent("interval_width", _of_interval(predictive.width)),
        "interval_score": at_percent("interval_score", _of_interval(predictive.interval_score)),
        "poisson_deviance": _partial_loss(losses.poisson),
        "r2": scores.FunctionOfMeans(_r2_numbers, _r2),
        "r2_correlation": scores.FunctionOfMeans(_correlation_numbers, _squared_correlation),
    },
)


# Several classes ----------------------------------------------------------------------------------


STEP = 1e-4  # of all rows: the weight added to a cell for a numerical derivative


def of_confusion(metric: Callable[[labels.Confusion], float], rows: Rows) -> ValueAndInfluence:
    """A metric of the confusion matrix, and the influence of each row: the derivative of the metric
    by the weight in the row's cell, less its mean over the rows, times the row's weight. The
    derivative is numerical: the change of the metric / a small weight that is added to the cell. If
    the metric is undefined (NaN), all influences are 0.

    >>> s = Rows(np.array([0, 0, 1, 1]), decision=np.array([0, 1, 1, 1]))
    >>> of_confusion(lambda m: np.trace(m.table) / m.total, s).influence.round(2)
    array([ 0.06, -0.19,  0.06,  0.06])
    """
    confusion = rows.confusion
    value = metric(confusion)
    # the cells of the matrix are numbered line by line
    cell_of_row = rows.actual * rows.classes + rows.predicted
    derivative = np.zeros(rows.classes**2)  # by the weight in each cell that has rows
    if not np.isnan(value):
        step = STEP * confusion.total
        for cell in np.unique(cell_of_row):
            table = confusion.table.astype(np.float64)
            table.flat[cell] += step
            changed = metric(labels.Confusion(table, confusion.classes))
            derivative[cell] = (changed - value) / step
    centred = _less_mean(derivative[cell_of_row], rows.weights)
    return ValueAndInfluence(value, rows.weights * centred)


def against_rest(rows: Rows, c: int) -> Rows:
    """The rows of class c against all others: actual value 1 for rows of c, the score of c, and the
    decision that c is predicted.
    """
    score = None if rows.score is None else rows.score[:, c]  # one column per class
    actual = (rows.actual == c).astype(np.int64)
    return replace(rows, actual=actual, score=score, decision=rows.predicted == c)


def _parts_of_classes(rows: Rows, classes: Ints) -> Iterator[Part]:
    """A part for each of these classes against all others, with equal shares."""
    return (Part(1 / len(classes), against_rest(rows, c)) for c in classes)


def _all_classes(rows: Rows) -> Iterator[Part]:
    """A part for each class, with equal shares."""
    return _parts_of_classes(rows, np.arange(rows.classes))


def _seen_classes(rows: Rows) -> Iterator[Part]:
    """A part for each class that occurs or is predicted, with equal shares."""
    seen = labels.occurs(labels.one_vs_rest(rows.confusion))
    return _parts_of_classes(rows, np.flatnonzero(seen))


def _classes_with_rows(rows: Rows) -> Iterator[Part]:
    """A part for each class that occurs, with equal shares."""
    rows_of_class = rows.confusion.table.sum(axis=1)
    return _parts_of_classes(rows, np.flatnonzero(rows_of_class))


def _pairs_of_classes(rows: Rows) -> Iterator[Part]:
    """A part for every ordered pair of classes i, j, with equal shares: the rows of both, with i as
    positive and its score.
    """
    pairs = rows.classes * (rows.classes - 1)
    share = 1 / pairs
    for i in range(rows.classes):
        for j in np.delete(np.arange(rows.classes), i):
            is_of_pair = (rows.actual == i) | (rows.actual == j)
            places = np.flatnonzero(is_of_pair)
            rows_of_pair = against_rest(rows.take(places), i)
            yield Part(share, rows_of_pair, places)


def _all_rows(rows: Rows) -> Bools:
    """A mask of all rows, for a mean in which the share of a part is the weight of its rows."""
    return np.ones(len(rows), dtype=bool)


def _one_vs_rest(metric: Metric) -> MeanOverClasses:
    """The mean over all classes of a metric of one class against the rest."""
    return MeanOverClasses(metric, _all_classes, classed=True)


def _macro(metric: Metric) -> MeanOverClasses:
    """The mean of a metric of one class against the rest over the classes that occur or are
    predicted.
    """
    return MeanOverClasses(metric, _seen_classes, classed=True)


def _table(metric: Callable[[labels.Confusion], float]) -> Agreement:
    """The kind of a metric of the confusion matrix, with its influence by numerical derivatives."""
    return Agreement(lambda rows, k: of_confusion(metric, rows))


def _weighted(metric: labels.Metric) -> Agreement:
    """The mean of a metric over the classes, weighted by their rows. metric: counts with one
    element per class -> a value per class.
    """
    return _table(lambda m: labels.weighted(labels.one_vs_rest(m), metric))


def _in_top(rows: Rows, k: int) -> Floats:
    """1 for each row whose class is among its k highest scores, else 0; a fraction for ties."""
    return labels.in_top(rows.actual, rows.scores, k)


RIGHT = Share(_accuracy)
MACRO_PRECISION = metric_from_toml("macro_precision", "classes", _macro(PRECISION))
MACRO_RECALL = metric_from_toml("macro_recall", "classes", _macro(RECALL))
CLASSES = metric_table(
    "classes",
    {
        "accuracy": RIGHT,
        "macro_f1": _macro(F1),
        "macro_precision": MACRO_PRECISION,
        "macro_recall": MACRO_RECALL,
        "macro_f1_of_means": Harmonic(MetricPair(MACRO_PRECISION, MACRO_RECALL)),
        "weighted_f1": _weighted(counts.f_score),
        "weighted_precision": _weighted(counts.precision),
        "weighted_recall": RIGHT,
        "balanced_accuracy": MeanOverClasses(RECALL, _classes_with_rows, classed=True),
        "mcc": _table(labels.mcc),
        "kappa": _table(labels.kappa),
        "kappa_quadratic": _table(labels.kappa_quadratic),
        "coverage": numbered("coverage", "classes", ClassCoverage),
        "top": Loss(_in_top),
        "roc_auc_ovr": _one_vs_rest(ROC_AUC),
        "roc_auc_hand_till": MeanOverClasses(
            ROC_AUC, _pairs_of_classes, classed=True, parts_have_all_rows=False
        ),
        "roc_auc_ovr_weighted": Weighted(ROC_AUC, _all_classes, classed=True),
        "roc_auc_ovo_weighted": Weighted(
            ROC_AUC,
            _pairs_of_classes,
            classed=True,
            parts_have_all_rows=False,
            counted=_all_rows,
        ),
        "map_classes": _one_vs_rest(AVERAGE_PRECISION),
        "log_loss": _loss(losses.log_classes, losses.WORST),
        "brier": _loss(losses.brier_classes),
    },
)


# Several labels per row ---------------------------------------------------------------------------


def _micro_f1(rows: Rows) -> tuple[Floats, Floats]:
    """2 TP and 2 TP + FP + FN over the labels of each row, the terms of the micro-averaged F1."""
    n = rows.label_counts
    return 2 * n.both, n.true + n.predicted


def _micro_precision(rows: Rows) -> tuple[Floats, Floats]:
    """TP and TP + FP over the labels of each row, the terms of the micro-averaged precision."""
    return rows.label_counts.both, rows.label_counts.predicted


def _micro_recall(rows: Rows) -> tuple[Floats, Floats]:
    """TP and TP + FN over the labels of each row, the terms of the micro-averaged recall."""
    return rows.label_counts.both, rows.label_counts.true


def of_label(rows: Rows, j: int) -> Rows:
    """The rows of label j alone: actual value 1 where it is true, its score, and the decision that
    it is predicted.
    """
    score = None if rows.score is None else rows.score[:, j]  # one column per label
    actual = rows.actual[:, j].astype(np.int64)
    return replace(rows, actual=actual, score=score, decision=rows.predicted[:, j])


def _each_label(rows: Rows) -> Iterator[Part]:
    """A part for each label, with equal shares."""
    count = rows.actual.shape[1]
    return (Part(1 / count, of_label(rows, j)) for j in range(count))


def _by_row(function: Callable[[Bools, Bools], Floats]) -> Loss:
    """The mean over rows of a number per row. function: (true, predicted), tables with a column
    per label -> the numbers.
    """
    return Loss(lambda rows, k: function(rows.actual, rows.predicted))


def _exact_match(actual: np.ndarray, predicted: np.ndarray) -> RowMasks:
    """Of all rows those whose labels are all right."""
    is_match = labels.exact_match(actual, predicted) == 1
    return all_eligible(is_match)


MICRO_RECALL = RatioOfRows(_micro_recall)
LABELS = metric_table(
    "labels",
    {
        "micro_f1": RatioOfRows(_micro_f1),
        "micro_precision": RatioOfRows(_micro_precision),
        "micro_recall": MICRO_RECALL,
        "macro_f1": MeanOverClasses(F1, _each_label),
        "weighted_f1": Weighted(F1, _each_label),
        "weighted_precision": Weighted(PRECISION, _each_label),
        "weighted_recall": MICRO_RECALL,
        "samples_f1": _by_row(labels.f1_by_row),
        "samples_jaccard": _by_row(labels.jaccard_by_row),
        "exact_match": Share(_exact_match),
        "hamming_loss": _by_row(labels.hamming),
        "map_classes": MeanOverClasses(AVERAGE_PRECISION, _each_label),
        "roc_auc_macro": MeanOverClasses(ROC_AUC, _each_label),
        "ranking_loss": _loss(labels.ranking_loss),
        "label_ranking_average_precision": _loss(labels.label_ranking_average_precision),
        "coverage_error": _loss(labels.coverage_error),
    },
)

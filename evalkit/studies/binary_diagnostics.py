"""What the findings and figures of two classes are measured by."""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

import numpy as np
import pandas as pd

from evalkit.caching import cached
from evalkit.catalogue import lookup, score_kinds, tables
from evalkit.catalogue.metric import MetricAtK
from evalkit.metrics import calibration, counts, curves, grid
from evalkit.statistics import methods, significance
from evalkit.statistics.methods import RandomStream
from evalkit.statistics.statistic import RowStatistic
from evalkit.studies import diagnostics, score_curves
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.study import Row, as_data_frame

FEW_OF_CLASS = 30  # rows of a class below which the page warns
# positive rows, and their share, below which average precision's interval is too narrow
FEW_POSITIVES = 50
LOW_BASE_RATE = 0.005
MAX_DISTINCT = grid.MAX_BINS  # distinct scores that are counted exactly
LOG_LOSS = lookup.find_metric("log_loss", "counts")
AVERAGE_PRECISION = lookup.find_metric("average_precision", "counts")
CALIBRATED = {"slope": 1.0, "intercept": 0.0}  # of logistic recalibration
UNLIKELY = 0.001  # the probability of an outcome below which it counts as unforeseen
LARGE_SHARE = 0.1  # of the log loss, above which unforeseen outcomes are a finding
TIED = 3  # rows per distinct score from which on ties are likely
NOTED_REPEATS = 0.01  # the share of repeated rows above which they are mentioned
MANY_REPEATS = 0.2  # the share above which they are warned of, unless ties are likely


def rarely_positive(study: BinaryStudy) -> bool:
    """True if positive rows are so few and so rare that intervals of average precision are too
    narrow.
    """
    return (
        study.positives < FEW_POSITIVES
        and study.base_rate < LOW_BASE_RATE
        and AVERAGE_PRECISION in study.settings.metrics
    )


class CalibrationVerdicts(NamedTuple):
    """The systems by form of miscalibration, and those whose intervals contain both values of
    perfect calibration.
    """

    miscalibrated: dict["Miscalibration", list[str]]
    calibrated: list[str]


class RepeatedRows(NamedTuple):
    """How many rows repeat another one, and what that may mean.

    rows: the number of rows with the same label and scores as another row; 0 if at most 1 % have.
    distinct: the largest number of distinct scores of a system, if it is so small that ties are
    likely; else 0. may_be_duplicates: True if there are many such rows, and ties are not likely.
    """

    rows: int
    distinct: int
    may_be_duplicates: bool


class CurveAreas(NamedTuple):
    """The areas under the ROC and the precision-recall curve."""

    auc: float
    average_precision: float


class Miscalibration(Enum):
    """A form of miscalibration: a coefficient of logistic recalibration, and whether it lies below
    or above the value that it has under perfect calibration.
    """

    OVERCONFIDENT = "slope", "below"
    UNDERCONFIDENT = "slope", "above"
    TOO_LOW = "intercept", "above"
    TOO_HIGH = "intercept", "below"


def calibration_verdicts(study: BinaryStudy) -> CalibrationVerdicts:
    """The systems that are significantly miscalibrated, and those that show no miscalibration, by
    the intervals of slope and intercept; systems whose intervals are unknown are in neither.
    """
    is_coefficient = study.calibration["part"].isin(CALIBRATED)
    coefficients = study.calibration[is_coefficient].dropna(subset=["low", "high"])
    miscalibrated: dict[Miscalibration, list[str]] = {}
    calibrated = dict.fromkeys(coefficients["system"])  # those that deviate are removed below
    # each system has a row for the slope and one for the intercept
    for row in coefficients.itertuples():
        perfect = CALIBRATED[row.part]  # the coefficient under perfect calibration
        if row.low <= perfect <= row.high:
            continue
        deviation = "below" if row.high < perfect else "above"
        form = Miscalibration((row.part, deviation))
        miscalibrated.setdefault(form, []).append(row.system)
        calibrated.pop(row.system, None)
    return CalibrationVerdicts(miscalibrated, list(calibrated))


def within_units(study: BinaryStudy) -> significance.Comparison | None:
    """The leader's AUC over all rows less its AUC within units (GAUC), by a t test whose standard
    error comes from the influence of each row on both, clustered by unit. None if no unit is named,
    or the rows are read in blocks, which do not tell how the two vary together.
    """
    is_in_blocks = study.blocks is not None
    if study.settings.unit is None or is_in_blocks:
        return None
    pooled = study.measure(MetricAtK(tables.ROC_AUC), study.leader)
    gauc = study.measure(MetricAtK(tables.GAUC), study.leader)
    assert isinstance(pooled, RowStatistic)  # as metrics of rows in memory are
    assert isinstance(gauc, RowStatistic)
    return methods.influence(pooled, gauc, study.inference_options(RandomStream.ESTIMATES))


def area_within_units(study: BinaryStudy) -> float:
    """The leader's GAUC."""
    return float(study.measure(MetricAtK(tables.GAUC), study.leader).value)


def clipped_rows(study: BinaryStudy) -> dict[str, int]:
    """By system the number of rows, if any, whose probability log loss clips; empty if log loss is
    not asked for.
    """
    if LOG_LOSS not in study.settings.metrics:
        return {}
    rows = {
        name: int(calibration.clipped_weight(study.probability_counts(name)))
        for name in study.order
    }
    return {name: n for name, n in rows.items() if n}


@cached
def unlikely_loss_shares(study: BinaryStudy) -> dict[str, float]:
    """System -> the share of its log loss that comes from rows to whose outcome it gave a
    probability below `UNLIKELY`; only shares above `LARGE_SHARE`. Empty if log loss is not asked
    for.
    """
    if LOG_LOSS not in study.settings.metrics:
        return {}
    shares = {
        name: calibration.unlikely_loss_share(study.probability_counts(name), UNLIKELY)
        for name in study.order
    }
    return {name: share for name, share in shares.items() if share > LARGE_SHARE}


def repeated(study: BinaryStudy) -> RepeatedRows:
    """How many rows have the label and scores of another row, and whether they may be duplicates.
    If scores have few distinct values, such repeats are likely ties, not duplicates.
    """
    rows = len(study.account)
    most_distinct = 0  # the largest number of distinct scores of a system
    for name in study.order:
        distinct = distinct_scores(study, name)
        if distinct is None:  # pooled in bins, as there were very many: ties are not likely
            distinct = rows
        most_distinct = max(most_distinct, distinct)
    ties_are_likely = most_distinct * TIED < rows
    repeats = study.repeated
    if repeats is None:  # unknown: nothing is said of repeated rows
        repeats = 0
    are_many = repeats > MANY_REPEATS * rows
    repeated_rows = RepeatedRows(
        rows=repeats,
        distinct=most_distinct,
        may_be_duplicates=are_many and not ties_are_likely,
    )
    # 0 stands for what the page does not mention: ties that are not likely, and few repeated rows
    if not ties_are_likely:
        repeated_rows = repeated_rows._replace(distinct=0)
    if repeats <= NOTED_REPEATS * rows:
        repeated_rows = repeated_rows._replace(rows=0)
    return repeated_rows


def binned(study: BinaryStudy) -> dict[str, dict[str, float]]:
    """For each system whose scores were pooled in bins, by label of the metric: the most that
    pooling changes its value, rounded up to a power of ten; NaN if no bound is known.

    Metrics at a threshold and means of losses are exact, and left out: a threshold never lies
    within a bin, and losses are added up score by score.
    """
    inexact = []
    for chosen in study.settings.metrics:
        kind = chosen.base.metric.kind
        # a metric of the order of all scores, such as AUC: those of a bin become tied
        if isinstance(kind, score_kinds.ScoreKind) and not kind.uses_decisions:
            inexact.append(chosen)
    changes = {}
    for name, binned_table in study.binned.items():
        changes[name] = {
            chosen.label: power_of_ten(binned_table.largest_change(chosen)) for chosen in inexact
        }
    return changes


def power_of_ten(value: float) -> float:
    """The smallest power of ten that is not below the value; 1e-16, about the precision of a
    double, for 0 or less; NaN for NaN.

    >>> power_of_ten(0.002)
    0.01
    """
    if np.isnan(value):
        return value
    if value <= 0:
        return 1e-16
    exponent = int(np.ceil(np.log10(value)))
    return float(f"1e{exponent}")


def distinct_scores(study: BinaryStudy, name: str) -> int | None:
    """The number of distinct scores of a system, None if they were pooled in bins."""
    return None if name in study.binned else len(study.table(name).threshold)


def score_ends(study: BinaryStudy) -> dict[str, diagnostics.Ends]:
    """The lowest and the highest score of each system."""
    return {
        name: (float(table.threshold[-1]), float(table.threshold[0]))
        for name, table in study.counts_by_system.items()
    }


def areas(study: BinaryStudy) -> dict[str, CurveAreas]:
    """The areas under the two curves of each system."""
    return {
        name: CurveAreas(counts.auc(table), counts.average_precision(table))
        for name, table in study.counts_by_system.items()
    }


@as_data_frame
def operating_points(study: BinaryStudy, kind: str) -> Iterator[Row]:
    """The point of each system's threshold on its curve, as a frame: system, x, y. kind: roc or
    pr.
    """
    for name, table in study.counts_by_system.items():
        decisions = counts.at(table, study.thresholds[name])
        recall = float(counts.recall(decisions))
        if kind == "roc":
            yield {"system": name, "x": float(counts.false_positive_rate(decisions)), "y": recall}
        else:
            yield {"system": name, "x": recall, "y": float(counts.precision(decisions))}


@as_data_frame
def break_even(study: BinaryStudy) -> Iterator[Row]:
    """The point on each system's curve where precision equals recall, as a frame: system, x, y."""
    for name, table in study.counts_by_system.items():
        value = float(curves.break_even(table))
        yield {"system": name, "x": value, "y": value}


@cached
def curves_at_other_rate(study: BinaryStudy, kind: str) -> pd.DataFrame:
    """The curves of a kind at the other base rate, `BinaryStudy.other_base_rate`: x, y, threshold,
    system.
    """
    reweighted = {
        name: curves.at_base_rate(table, study.other_base_rate)
        for name, table in study.counts_by_system.items()
    }
    return score_curves.curve(reweighted, kind)


def used_costs(study: BinaryStudy) -> pd.DataFrame:
    """The share predicted positive and the mean cost of each system at its threshold: system, x,
    y.
    """
    decisions = study.decisions
    positive = decisions["tp"] + decisions["fp"]
    share = positive / (positive + decisions["fn"] + decisions["tn"])
    return pd.DataFrame({"system": decisions["system"], "x": share, "y": decisions["cost"]})

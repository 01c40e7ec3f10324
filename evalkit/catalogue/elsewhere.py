"""Numbers of two classes beside the metrics: at another base rate, among the highest scores, after recalibration."""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import Share
from evalkit.catalogue.metric import Metric
from evalkit.catalogue.score_kinds import AtRate, AtRates, Coefficient, Depth
from evalkit.metrics import counts, curves, recalibration
from evalkit.metrics.counts import Counts
from evalkit.metrics.influence import average_precision_bins

BASE_RATE = Metric("base_rate", "counts", Share(lambda y, d: (np.ones(len(y), dtype=bool), y == 1)), "", "", "")


def _precision_at(rate: float) -> Metric:
    def of(recall: float, false: float) -> float:
        return float(ratio(rate * recall, rate * recall + (1 - rate) * false))

    return Metric("precision", "counts", AtRates(_of_rates(of), rates=of), "", "", "")


def _f1_at(rate: float) -> Metric:
    def of(recall: float, false: float) -> float:
        return float(ratio(2 * rate * recall, rate * (1 + recall) + (1 - rate) * false))

    return Metric("f1", "counts", AtRates(_of_rates(of), rates=of), "", "", "")


def _of_rates(of: Callable[[float, float], float]) -> Callable[[Counts], float]:
    return lambda c: of(float(counts.recall(c)), float(counts.false_positive_rate(c)))


def _average_precision_at(rate: float) -> Metric:
    """The rates of both classes stay as they are, so a row moves it by what it adds above its class's mean."""

    def of(c: Counts) -> float:
        return counts.average_precision(curves.at_base_rate(c, rate)) if c.positives and c.negatives else np.nan

    def terms(c: Counts) -> Floats:
        moved = curves.at_base_rate(c, rate)
        bins = average_precision_bins(moved) * np.array([[1.0], [ratio(moved.negatives, c.negatives)]])
        mean = [
            ratio(np.dot(rows, side), rows.sum()) for rows, side in zip((c.positive, c.negative), bins, strict=True)
        ]
        return bins - np.array(mean)[:, None]

    return Metric("average_precision", "counts", AtRate(of, terms, rate=rate), "", "", "")


# What the base rate moves: the metric in the data, and at a base rate.
MOVED: tuple[tuple[Metric, Callable[[float], Metric]], ...] = (
    (lookup.find("average_precision", "counts").metric, _average_precision_at),
    (lookup.find("precision", "counts").metric, _precision_at),
    (lookup.find("f1", "counts").metric, _f1_at),
)


def lift_at(depth: float) -> Metric:
    """The lift among so large a share of the rows, those with the highest scores."""

    def of(c: Counts) -> float:
        return float(curves.lift(curves.at_depth(c, depth * c.total)))

    return Metric("lift", "counts", Depth(of, depth=depth), "", "", "", high=1 / depth)


def _coefficient(name: str, of: Callable[[Counts], float], terms: Callable[[Counts], Floats]) -> Metric:
    return Metric(name, "counts", Coefficient(of, terms), "", "", "", low=-np.inf, high=np.inf)


# Of the logistic regression of the labels on the logit of the score.
SLOPE = _coefficient("slope", recalibration.slope, recalibration.slope_bins)
INTERCEPT = _coefficient("intercept", recalibration.intercept, recalibration.intercept_bins)

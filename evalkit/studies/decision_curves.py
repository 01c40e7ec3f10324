"""Decision curves: net benefit by threshold probability, and differences of two systems in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.caching import cached
from evalkit.measured.rows import RowsInMemory
from evalkit.metrics import counts, curves
from evalkit.metrics.counts import Counts
from evalkit.metrics.curves import (
    NetBenefitCurve,
    decision_curve,
    net_benefit,
    odds,
    treat_all,
)
from evalkit.metrics.rows import Rows
from evalkit.statistics.class_cells import units_of
from evalkit.statistics.spread import kish

if TYPE_CHECKING:
    from evalkit.studies.binary import BinaryStudy

ALL = "predict all positive"
# threshold probabilities of the picture, more of them near 1, where t / (1 − t) bends
FINE_PROBABILITIES = np.union1d(np.arange(1, 200) / 200, 1 - np.geomspace(0.005, 0.1, 40))
PROBABILITIES = np.arange(1, 50) / 50  # of differences and of the JSON
CELLS = 600  # of a side of the picture
LOWEST = -0.25  # net benefit down to which is drawn, as a multiple of the base rate
MOST_PAIRS = 3  # differences that one picture holds


def benefits(tables: Mapping[str, Counts], probabilities: Floats) -> pd.DataFrame:
    """Net benefit of each system, and of predicting all rows positive, at these threshold
    probabilities: system, x (the threshold probability), y (net benefit). tables: by system.
    """
    benefit_of = {name: net_benefit(table, probabilities) for name, table in tables.items()}
    # all tables have the same rows, and so the same base rate, on which alone this depends
    first = next(iter(tables.values()))
    benefit_of[ALL] = treat_all(first, probabilities)
    frames = [
        pd.DataFrame({"system": name, "x": probabilities, "y": y}) for name, y in benefit_of.items()
    ]
    return pd.concat(frames, ignore_index=True)


def decision_curves(tables: Mapping[str, Counts], cells: int = CELLS) -> pd.DataFrame:
    """The points of the decision curves of these tables, and of predicting all rows positive, that
    a picture needs: system, x (the threshold probability), y (net benefit).

    The lines reach down to a little below 0, and break where net benefit is lower. tables: by
    system. cells: see `curves.drawn`.
    """
    first = next(iter(tables.values()))  # all tables have the same rows, and so the same base rate
    lines = {name: decision_curve(table, FINE_PROBABILITIES) for name, table in tables.items()}
    lines[ALL] = NetBenefitCurve(FINE_PROBABILITIES, treat_all(first, FINE_PROBABILITIES))
    # the base rate is the largest net benefit: the part drawn below 0 is a fixed share of it
    lowest = LOWEST * counts.base_rate(first)
    frames = []
    for name, (x, y) in lines.items():
        frames.append(_drawn_above(lowest, x, y, cells).assign(system=name))
    return pd.concat(frames)


def _drawn_above(lowest: float, x: Floats, y: Floats, cells: int) -> pd.DataFrame:
    """The points of a line that a picture needs, down to the height `lowest`: x, y. Where the line
    lies lower it breaks: each stretch below `lowest` is replaced by one point whose y is NaN, at
    which a plot leaves a gap.

    x, y: the points of the line, x ascending. cells: see `curves.drawn`.
    """
    # the line is cut exactly at the lowest height: a point is added by interpolation wherever the
    # line crosses it
    after = np.flatnonzero(np.diff(y < lowest)) + 1  # the first point after each crossing
    before = after - 1
    share = (lowest - y[before]) / (y[after] - y[before])
    crossing = x[before] + share * (x[after] - x[before])
    x = np.insert(x, after, crossing)
    y = np.insert(y, after, lowest)
    is_below = y < lowest
    follows_below = is_below & np.append(False, is_below[:-1])
    x = x[~follows_below]
    y = np.where(is_below, np.nan, y)[~follows_below]
    is_drawn = curves.points_to_draw(x, y, cells)
    return pd.DataFrame({"x": x[is_drawn], "y": y[is_drawn]})


def at_costs(study: BinaryStudy) -> pd.DataFrame:
    """Net benefit of each line at the threshold probability that the costs imply, the cost of a
    false positive / that of both errors: system, threshold, value.
    """
    probability = study.costs.fp / (study.costs.fp + study.costs.fn)
    frame = benefits(study.counts_by_system, np.array([probability]))
    return frame.rename(columns={"x": "threshold", "y": "value"})


@cached
def first_differences(study: BinaryStudy) -> pd.DataFrame:
    """Differences in net benefit, first − second, of the first `MOST_PAIRS` pairs of systems in the
    study's headline: first, second, x (the threshold probability), value, low, high.

    Limits are NaN if the rows are not in memory.
    """
    frames = []
    for pair in study.headline[:MOST_PAIRS].itertuples():
        difference = _difference(study, pair.first, pair.second)
        columns = {"first": pair.first, "second": pair.second, "x": PROBABILITIES}
        columns |= {"value": difference.value, "low": difference.low, "high": difference.high}
        frames.append(pd.DataFrame(columns))
    if not frames:
        return pd.DataFrame(columns=["first", "second", "x", "value", "low", "high"])
    return pd.concat(frames, ignore_index=True)


def thresholds_with_difference(differences: pd.DataFrame) -> pd.DataFrame:
    """For each pair of systems, in order, three numbers of thresholds: where the interval of the
    difference in net benefit lies above 0, where it lies below 0, and all.

    Columns: first, second, above, below, all. differences: the frame of `first_differences`.
    """
    counted = differences.assign(
        above=differences["low"] > 0, below=differences["high"] < 0, all=True
    )
    by_pair = counted.groupby(["first", "second"], sort=False)
    return by_pair[["above", "below", "all"]].sum().reset_index()


def _difference(study: BinaryStudy, first: str, second: str) -> NetBenefitDifference:
    """The net benefit of the first system minus that of the second at each of `PROBABILITIES`. The
    limits are NaN for a table that is read in blocks: they need the paired rows, of which only
    counts are kept.
    """
    match study.measured:
        case RowsInMemory(rows):  # system -> its predictions
            return difference(rows[first], rows[second], PROBABILITIES, level=study.settings.level)
    first_benefit = net_benefit(study.table(first), PROBABILITIES)  # from counts by score
    second_benefit = net_benefit(study.table(second), PROBABILITIES)
    value = first_benefit - second_benefit
    unknown = np.full_like(value, np.nan)
    return NetBenefitDifference(value, low=unknown, high=unknown)


ADDED_ROWS = 1.0  # of each class, on which the two systems differ


@dataclass(frozen=True, eq=False)
class NetBenefitDifference:
    """The difference first − second at each threshold probability, with pointwise limits."""

    value: Floats
    low: Floats
    high: Floats


def difference(
    first: Rows, second: Rows, probabilities: Floats, *, level: float
) -> NetBenefitDifference:
    """Net benefit of the first minus that of the second at each threshold probability, with t
    limits from the paired rows.

    first, second: the predictions of both systems for the same rows. The errors are clustered by
    unit if rows have units, and weighted if rows have weights; the degrees of freedom are Kish's
    effective number of units − 1. In each class one more row on which the decisions differ is added
    to the variance, so that intervals have a width even if the decisions differ on few rows or none
    (after Agresti and Min 2005, doi:10.1002/sim.1781).

    >>> first = Rows(np.array([1, 0, 1, 0]), np.array([0.9, 0.2, 0.8, 0.1]))
    >>> second = Rows(np.array([1, 0, 1, 0]), np.array([0.9, 0.6, 0.2, 0.1]))
    >>> d = difference(first, second, np.array([0.5]), level=0.95)
    >>> float(d.value[0]), bool(d.low[0] < 0 < d.high[0])
    (0.5, True)
    """
    from scipy.special import stdtrit

    weight = first.weights
    total = weight.sum()
    mean_weight = total / len(weight)
    unit_of_row, weight_of_unit = units_of(first)
    freedom = max(kish(weight_of_unit) - 1, 1.0)
    value = np.empty(len(probabilities))
    error = np.empty(len(probabilities))
    for i, (probability, cost) in enumerate(zip(probabilities, odds(probabilities), strict=True)):
        # 1: only the first predicts the row positive, −1: only the second; most rows have 0, and do
        # not contribute to the difference
        decision_difference = (first.scores >= probability).astype(np.int8)
        decision_difference -= second.scores >= probability
        row = np.flatnonzero(decision_difference)
        # net benefit of predicting a row positive: 1 if it is positive, else minus the odds of the
        # threshold probability
        benefit = np.where(first.actual[row] == 1, 1.0, -cost)
        gain = weight[row] * decision_difference[row] * benefit
        value[i] = gain.sum() / total
        gain_of_unit = np.bincount(unit_of_row[row], gain, len(weight_of_unit))
        residual = gain_of_unit - value[i] * weight_of_unit
        # In each class further rows (`ADDED_ROWS`) of the mean weight count as different decisions:
        # the gain from such a row is ±1 if it is positive, else ± the cost.
        added = ADDED_ROWS * (1 + cost**2) * mean_weight**2
        squares = np.sum(residual**2) + added
        # the variance of a sum over n units is n / (n − 1) times the squares, with Kish's n
        variance_of_sum = squares * (freedom + 1) / freedom
        error[i] = np.sqrt(variance_of_sum) / total
    reach = stdtrit(freedom, (1 + level) / 2) * error
    return NetBenefitDifference(value, low=value - reach, high=value + reach)

"""The decision curve of a binary study: net benefit over the threshold probability, and its paired differences."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.metrics import counts, curves
from evalkit.metrics.counts import Counts
from evalkit.metrics.net_benefit import decision_curve, net_benefit, treat_all
from evalkit.statistics.statistic import HeldRows
from evalkit.statistics.thresholds import Differences, differences
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.study import cached

ALL = "predict all positive"
FINE = np.union1d(np.arange(1, 200) / 200, 1 - np.geomspace(0.005, 0.1, 40))  # of the picture: t / (1 − t) bends
COARSE = np.arange(1, 50) / 50  # those of differences and of the JSON
SIDE = 600  # cells of a side of the picture
LOWEST = -0.25  # net benefit down to which is drawn, as a multiple of the base rate
PAIRS = 3  # differences that one picture holds


def benefits(tables: Mapping[str, Counts], chance: Floats) -> pd.DataFrame:
    """Net benefit of every table and of predicting all rows positive at these probabilities: system, x, y."""
    lines = {name: net_benefit(c, chance) for name, c in tables.items()}
    lines[ALL] = treat_all(next(iter(tables.values())), chance)
    return pd.concat(
        [pd.DataFrame({"system": name, "x": chance, "y": y}) for name, y in lines.items()], ignore_index=True
    )


def drawn(tables: Mapping[str, Counts], cells: int = SIDE) -> pd.DataFrame:
    """The points of the lines of these tables, and of predicting all rows positive, that a picture needs: system, x, y.

    Down to a little below 0: a line breaks where it is lower. cells: see `curves.drawn`.
    """
    first = next(iter(tables.values()))
    lines = {name: decision_curve(c, FINE) for name, c in tables.items()} | {ALL: (FINE, treat_all(first, FINE))}
    lowest = LOWEST * counts.base_rate(first)
    return pd.concat([_seen(x, y, lowest, cells).assign(system=name) for name, (x, y) in lines.items()])


def _seen(x: Floats, y: Floats, lowest: float, cells: int) -> pd.DataFrame:
    """The points of a line that a picture needs, down to a height; NaN where the line breaks."""
    turn = np.flatnonzero(np.diff(y < lowest)) + 1  # where the line comes from the other side of that height
    share = (lowest - y[turn - 1]) / (y[turn] - y[turn - 1])
    x = np.insert(x, turn, x[turn - 1] + share * (x[turn] - x[turn - 1]))
    y = np.insert(y, turn, lowest)
    low = y < lowest
    keep = ~(low & np.append(False, low[:-1]))
    x, y = x[keep], np.where(low, np.nan, y)[keep]
    thin = curves.drawn(x, y, cells)
    return pd.DataFrame({"x": x[thin], "y": y[thin]})


def at_costs(study: BinaryStudy) -> pd.DataFrame:
    """Net benefit of each line at the threshold probability that the costs imply: system, threshold, value."""
    chance = study.costs.fp / (study.costs.fp + study.costs.fn)
    frame = benefits(study.counts_by_system, np.array([chance]))
    return frame.rename(columns={"x": "threshold", "y": "value"})


@cached
def apart(study: BinaryStudy) -> pd.DataFrame:
    """Differences in net benefit of the first pairs of the first screen: first, second, x, value, low, high.

    Limits are NaN where the rows are not at hand.
    """
    pairs = list(study.headline[["first", "second"]].itertuples(index=False))[:PAIRS] if len(study.headline) else []
    columns = ["first", "second", "x", "value", "low", "high"]
    frames = []
    for first, second in pairs:
        d = _of_pair(study, first, second)
        frames.append(pd.DataFrame({"first": first, "second": second, "x": COARSE} | vars(d)))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def excluding(differences: pd.DataFrame) -> pd.DataFrame:
    """By pair, in order: at how many thresholds the interval lies above 0, how many below, and of how many."""
    sides = differences.assign(above=differences["low"] > 0, below=differences["high"] < 0, of=True)
    return sides.groupby(["first", "second"], sort=False)[["above", "below", "of"]].sum().reset_index()


def _of_pair(study: BinaryStudy, first: str, second: str) -> Differences:
    match study.sample:
        case HeldRows(rows):
            return differences(rows[first], rows[second], COARSE, level=study.settings.level)
    value = net_benefit(study.table(first), COARSE) - net_benefit(study.table(second), COARSE)
    return Differences(value, np.full_like(value, np.nan), np.full_like(value, np.nan))

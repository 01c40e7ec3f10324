"""Which systems of a study can be told apart: the interval of each rank, and tiers without a significant pair."""

import math

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.statistics import intervals, power, tiers
from evalkit.studies.once import once
from evalkit.studies.study import Study

SYSTEMS = 200  # whose pairs are tested together: 19,900 pairs of 50 units take five seconds
VALUES = 4_000_000  # differences, units × pairs, that are
ROUNDING = 1e-9  # a mean difference below it, in standard deviations, is none


@once
def rank_tiers(study: Study) -> pd.DataFrame:
    """Rank intervals of three systems or more by the primary metric: system, value, rank_low, rank_high, tier, needed.

    needed: the units with which a paired t-test would tell the system from the next one with 80% power, if the true
    difference is the observed one, at the level of the first step of all pairs; NaN for the last and for equal ones.
    Empty where units are not shared, the metric has no better direction or is a ratio of sums, or there are too many.
    """
    columns = ["system", "value", "rank_low", "rank_high", "tier", "needed"]
    pairs = len(study.order) * (len(study.order) - 1) // 2
    values = _table(study) if 3 <= len(study.order) <= SYSTEMS and study.primary.metric.best != "neither" else None
    if values is None or len(values) < 2 or len(values) * pairs > VALUES:
        return pd.DataFrame(columns=columns)
    signed = values if study.primary.metric.best == "high" else -values
    r = tiers.ranks(signed, level=study.settings.level, rng=study.rng(7))
    means = [study.estimate(study.primary, name).value for name in study.order]
    level = 1 - (1 - study.settings.level) / pairs
    needed = [*(_needed(values[:, i] - values[:, i + 1], level) for i in range(len(means) - 1)), np.nan]
    return pd.DataFrame(dict(zip(columns, (study.order, means, r.low, r.high, r.tier, needed), strict=True)))


def _needed(differences: Floats, level: float) -> float:
    """The units, whole, that show the mean of these differences with 80% power; NaN if it is 0 or has no spread."""
    mean, sd = float(differences.mean()), float(differences.std(ddof=1))
    return math.ceil(power.required_n(mean, sd, level=level)) if sd > 0 and abs(mean) > ROUNDING * sd else np.nan


def _table(study: Study) -> Floats | None:
    """Units × systems of the primary metric, the units that all systems have; None where there are no such units."""
    sides = [side for name in study.order for side in study.measure(study.primary, name).shared_means()]
    if len(sides) < len(study.order):
        return None
    values = np.column_stack([side.sums.per_unit for side in sides])
    keep, unit = ~np.isnan(values).any(axis=1), sides[0].unit
    if unit is None:
        return values[keep]
    sums = [intervals.by_unit(column, unit[keep]) for column in values[keep].T]
    return np.column_stack([total / count for total, count in sums])

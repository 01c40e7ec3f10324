"""Rank intervals and tiers of many systems, from the values of shared units."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Ints
from evalkit.statistics import signflip
from evalkit.statistics.max_t import ColumnPairs, adjusted

# standard errors of a drawn p-value: one in a thousand lies further below the exact one
BEYOND_DRAWING = 3.09


@dataclass(frozen=True, eq=False)
class Ranks:
    """The rank of each system, 1 for the best, with simultaneous confidence limits of its true
    rank.

    tier: from 1. No two systems of a tier differ significantly; systems of neighbouring tiers may
    or may not.
    """

    low: Ints
    high: Ints
    tier: Ints


def ranks(
    values: ArrayLike, *, level: float, rng: np.random.Generator, draws: int = 5_000
) -> Ranks:
    """Rank intervals of m systems from the values of n units, higher being better: (n, m) in.

    All pairs are tested by step-down max-T with joint sign flips; a true rank lies in [1 + number
    of systems that are significantly better, m − number that are significantly worse], for all
    systems simultaneously with probability at least `level`. Equally good systems share several
    ranks, each of which counts as their true rank. draws: the number of drawn sign vectors, if
    there are too many units to try all. Drawn p-values are raised to their upper confidence limits,
    so that more draws would hardly make a significant pair insignificant.
    Mogstad, Romano, Shaikh and Wilhelm 2024, doi:10.1093/restud/rdad006. Raises InputError for a
    value that is not finite.

    >>> rng = np.random.default_rng(1)
    >>> values = rng.normal(size=(80, 3)) + [1.0, 0.0, 0.05]
    >>> r = ranks(values, level=0.95, rng=rng)
    >>> r.low.tolist(), r.high.tolist(), r.tier.tolist()
    ([1, 2, 2], [1, 3, 3], [1, 2, 2])
    """
    table = np.asarray(values, float)
    m = table.shape[1]
    means = table.mean(axis=0)
    first, second = np.triu_indices(m, 1)  # the numbers of the systems of each pair
    p_values = adjusted(ColumnPairs.from_table(table, first, second), rng=rng, draws=draws)
    signs_are_drawn = len(table) > signflip.MAX_ENUMERATED_UNITS
    if signs_are_drawn:  # each p-value becomes its upper confidence limit
        variance_of_drawing = p_values * (1 - p_values) / draws
        p_values += BEYOND_DRAWING * np.sqrt(variance_of_drawing)
    first_is_better = means[first] > means[second]
    better = np.where(first_is_better, first, second)
    worse = np.where(first_is_better, second, first)
    significantly_better = np.zeros((m, m), dtype=bool)
    significantly_better[better, worse] = p_values < 1 - level
    tier = tiers(significantly_better, np.argsort(-means, kind="stable"))
    low = 1 + significantly_better.sum(axis=0)
    high = m - significantly_better.sum(axis=1)
    return Ranks(low, high, tier)


def tiers(better: Bools, order: Sequence[int] | Ints) -> Ints:
    """The tier of each system. Tiers are maximal runs of the ranking in which no system is
    significantly better.

    better: better[i, j] is True if system i is significantly better than j. order: the systems,
    best first.

    >>> better = np.zeros((3, 3), dtype=bool)
    >>> better[0, 2] = True
    >>> tiers(better, [0, 1, 2])
    array([1, 1, 2])
    """
    tier = np.empty(len(order), np.int64)
    members = list[int]()  # of the current tier
    number = 1
    for system in order:
        if better[members, system].any():
            number += 1
            members = []
        members.append(system)
        tier[system] = number
    return tier

"""Rank intervals and tiers of systems that were measured on the same units, from simultaneous tests of all pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, Ints
from evalkit.statistics import joint_flips, signflip

BEYOND_DRAWING = 3.09  # standard errors of a drawn p-value: one in a thousand lies further below the exact one


@dataclass(frozen=True, eq=False)
class Ranks:
    """The rank of each system, 1 for the best, with the limits between which its true rank lies, all of them at once.

    tier: from 1; two systems of neighbouring tiers may still not differ, but a tier holds no significant pair.
    """

    low: Ints
    high: Ints
    tier: Ints


def ranks(values: ArrayLike, *, level: float, rng: np.random.Generator, draws: int = 5_000) -> Ranks:
    """Rank intervals of m systems from the values of n units, higher being better: (n, m) in.

    All pairs are tested by step-down max-T with joint sign flips; a true rank lies in [1 + number of systems that are
    significantly better, m − number that are significantly worse], for all systems at once with probability `level` or
    more: where signs are drawn, a pair is significant only if further draws would hardly change that.
    A true rank is, of equally good systems, any of those that they share. Mogstad, Romano, Shaikh and Wilhelm 2024,
    doi:10.1093/restud/rdad006. Raises InputError for a value that is not finite.

    >>> rng = np.random.default_rng(1)
    >>> values = rng.normal(size=(80, 3)) + [1.0, 0.0, 0.05]
    >>> r = ranks(values, level=0.95, rng=rng)
    >>> r.low.tolist(), r.high.tolist(), r.tier.tolist()
    ([1, 2, 2], [1, 3, 3], [1, 2, 2])
    """
    table = np.asarray(values, float)
    pairs, m = list(combinations(range(table.shape[1]), 2)), table.shape[1]
    means, significant = table.mean(axis=0), np.zeros((m, m), dtype=bool)
    p_values = joint_flips.adjusted(joint_flips.Pairs.of(table, *np.array(pairs).T), rng=rng, draws=draws)
    if len(table) > signflip.ENUMERATED:
        p_values = _beyond_drawing(p_values, draws)
    for (i, j), p in zip(pairs, p_values, strict=True):
        better, worse = (i, j) if means[i] > means[j] else (j, i)
        significant[better, worse] = p < 1 - level
    order = np.argsort(-means, kind="stable")
    low, high = 1 + significant.sum(axis=0), m - significant.sum(axis=1)
    return Ranks(low, high, tiers(significant, order))


def _beyond_drawing(p: Floats, draws: int) -> Floats:
    """An upper limit for the exact p-values.

    >>> _beyond_drawing(np.array([0.01, 0.045]), 5_000).round(3)
    array([0.014, 0.054])
    """
    return p + BEYOND_DRAWING * np.sqrt(p * (1 - p) / draws)


def tiers(better: Bools, order: Sequence[int] | Ints) -> Ints:
    """The tier of each system: maximal runs of systems, best first, none of which is significantly better than another.

    better: [i, j] True if i is significantly better than j. order: the systems, best first.

    >>> better = np.zeros((3, 3), dtype=bool)
    >>> better[0, 2] = True
    >>> tiers(better, [0, 1, 2])
    array([1, 1, 2])
    """
    tier, run = np.empty(len(order), np.int64), list[int]()
    number = 1
    for system in order:
        if any(better[member, system] for member in run):
            number, run = number + 1, []
        run.append(system)
        tier[system] = number
    return tier

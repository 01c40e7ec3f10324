"""Rank intervals and tiers of systems that were measured on the same units, from simultaneous tests of all pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Ints
from evalkit.statistics.multiplicity import max_t


@dataclass(frozen=True, eq=False)
class Ranks:
    """The rank of each system, 1 for the best, with the limits between which its true rank lies, all of them at once.

    tier: from 1; two systems of neighbouring tiers may still not differ, but a tier holds no significant pair.
    """

    low: Ints
    high: Ints
    tier: Ints


def ranks(values: ArrayLike, *, level: float, rng: np.random.Generator, draws: int = 10_000) -> Ranks:
    """Rank intervals of m systems from the values of n units, higher being better: (n, m) in.

    All pairs are tested by step-down max-T with joint sign flips; a true rank lies in [1 + number of systems that are
    significantly better, m − number that are significantly worse], for all systems at once with probability `level`.
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
    differences = np.column_stack([table[:, i] - table[:, j] for i, j in pairs])
    means, significant = table.mean(axis=0), np.zeros((m, m), dtype=bool)
    for (i, j), p in zip(pairs, max_t(differences, rng=rng, draws=draws), strict=True):
        better, worse = (i, j) if means[i] > means[j] else (j, i)
        significant[better, worse] = p < 1 - level
    order = np.argsort(-means, kind="stable")
    low, high = 1 + significant.sum(axis=0), m - significant.sum(axis=1)
    return Ranks(low, high, tiers(significant, order))


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

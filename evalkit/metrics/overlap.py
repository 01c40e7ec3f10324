"""Overlap of two ranked lists of one query, by their items alone: two `Items` in, one value per list out.

Undefined is NaN. The two structures have the same lists in the same order and number items alike, each of which occurs
once in a list. Items with equal scores stand in the order of the lists: no rank is shared.
"""

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, ratio
from evalkit.metrics.diversity import Items, top

PERSISTENCE = 0.9  # of RBO: 86% of its weight lies on the first ten ranks


def overlap(first: Items, second: Items, k: int) -> Floats:
    """Items that both lists have among their first k / the items of the longer of the two, at most k.

    Undefined if both lists are empty.

    >>> from evalkit.metrics.diversity import items
    >>> a, b = (items([list(ids)], "a b c d".split()) for ids in ("abc", "cad"))
    >>> overlap(a, b, 2), overlap(a, b, 3).round(4)
    (array([0.5]), array([0.6667]))
    """
    a, b = top(first, k), top(second, k)
    owner, _ = _common(a, b)
    return ratio(_total(owner, len(a)), np.maximum(a.length, b.length))


def rbo(first: Items, second: Items, p: float = PERSISTENCE) -> Floats:
    """Rank-biased overlap, extrapolated beyond the ends of the lists: 1 for equal, 0 for disjoint ones.

    The mean agreement A_d = X_d / d at depth d, X_d the number of items that both have among their first d, weighted by
    (1 - p) p^(d - 1). Equation 32 of Webber, Moffat and Zobel 2010, doi:10.1145/1852102.1852106, with lists of s ≤ l
    items: (1 - p)/p (Σ_{d≤l} p^d X_d/d + Σ_{s<d≤l} p^d X_s (d - s)/(s d)) + p^l ((X_l - X_s)/l + X_s/s).
    Undefined if a list is empty.

    >>> from evalkit.metrics.diversity import items
    >>> a, b = (items([list(ids)], "a b c".split()) for ids in ("ab", "bac"))
    >>> rbo(a, b, p=0.5)  # X = 0, 2, 2: (0.25 + 0.125 · 2/3 + 0.125 · 1/3) + 0.125 · 1
    array([0.5])
    >>> rbo(a, a), rbo(a, items([["c"]], "a b c".split()))
    (array([1.]), array([0.]))
    """
    if len(first) != len(second):
        raise InputError(f"both systems must have the same lists, got {len(first)} and {len(second)}")
    owner, depth = _common(first, second)
    short, long = np.minimum(first.length, second.length), np.maximum(first.length, second.length)
    d = np.arange(1, int(long.max(initial=0)) + 1)
    powers = np.concatenate([[0.0], np.cumsum(p**d)])  # Σ p^d up to each depth
    shares = np.concatenate([[0.0], np.cumsum(p**d / d)])  # Σ p^d / d
    agreed = _total(owner, len(first), shares[long[owner]] - shares[depth - 1])
    at_short = _total(owner[depth <= short[owner]], len(first))
    at_long, rate = _total(owner, len(first)), ratio(at_short, short)
    between = rate * (powers[long] - powers[short]) - at_short * (shares[long] - shares[short])
    beyond = p**long * (ratio(at_long - at_short, long) + rate)
    return np.clip((1 - p) / p * (agreed + between) + beyond, 0, 1)  # the last bit may lie outside


def _common(first: Items, second: Items) -> tuple[Ints, Ints]:
    """The list of each item that both have, and the deeper of its two ranks."""
    keys, others = (lists.owner * lists.size + lists.item for lists in (first, second))
    _, a, b = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    return first.owner[a], np.maximum(first.rank[a], second.rank[b])


def _total(owner: Ints, lists: int, weights: Floats | None = None) -> Floats:
    return np.bincount(owner, weights, minlength=lists).astype(float)

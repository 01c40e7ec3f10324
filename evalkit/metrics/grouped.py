"""AUC inside many groups at once, and GAUC, their weighted mean."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import Floats, Ints, codes, finite, ratio, same_length
from evalkit.metrics import keys


@dataclass(frozen=True, eq=False)
class GroupedCounts:
    """2 U, positives and negatives of each group, in the order of the distinct keys; int64 unless rows have weights.

    The AUC of a group is undefined if it has only one class.
    """

    group: NDArray
    twice_u: Ints | Floats
    positives: Ints | Floats
    negatives: Ints | Floats

    @property
    def impressions(self) -> Ints | Floats:
        """Rows of each group."""
        return self.positives + self.negatives

    @property
    def auc(self) -> Floats:
        """AUC of each group, NaN if it has only one class."""
        return ratio(self.twice_u, 2 * self.positives * self.negatives)


def auc_by_group(label: ArrayLike, score: ArrayLike, group: ArrayLike) -> GroupedCounts:
    """AUC within each group (a user, a query), a tie counting one half, by one sort for all groups.

    Raises InputError for a score that is not finite, a label other than 0 and 1, or columns of different lengths.

    >>> user = ["u1", "u1", "u1", "u1", "u2", "u2", "u2"]
    >>> g = auc_by_group([1, 0, 1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.1, 0.6, 0.7, 0.2], user)
    >>> g.auc, g.impressions
    (array([0.75, 0.5 ]), array([4, 3]))
    >>> print(f"{gauc(g, g.impressions):.6f} {gauc(g, g.positives):.6f} {gauc(g, np.ones(2)):.6f}")
    0.642857 0.666667 0.625000
    """
    score = finite("score", score) + 0.0
    label, group = keys.zero_one("label", label), np.asarray(group)
    same_length(label=label, score=score, group=group)
    (unit, names), (rank, distinct) = codes(group), codes(score)
    bits = len(distinct).bit_length() + 1
    key = unit << bits | rank << 1 | label  # units times distinct scores is below 2**62
    key.sort()
    rows = np.bincount(unit, minlength=len(names))
    start = np.cumsum(rows) - rows
    place = np.flatnonzero(key & 1)
    begin, end = np.searchsorted(place, [start, start + rows])
    positives = end - begin
    # The place of a positive less the positives and the groups before it: the negatives that it beats or ties with.
    beaten = np.append(0, np.cumsum(place - np.arange(len(place))))
    wins = beaten[end] - beaten[begin] - positives * (start - begin)
    return GroupedCounts(names, 2 * wins - _tied_pairs(key, place, bits, len(names)), positives, rows - positives)


def weighted_auc_by_group(label: ArrayLike, score: ArrayLike, group: ArrayLike, weight: ArrayLike) -> GroupedCounts:
    """The same of rows with weights: a pair counts as the product of the two.

    >>> g = weighted_auc_by_group([1, 0, 1], [0.9, 0.8, 0.7], ["u", "u", "u"], [3.0, 1.0, 1.0])
    >>> g.auc, g.impressions
    (array([0.75]), array([5.]))
    """
    label, weight = keys.zero_one("label", label), np.asarray(weight, dtype=np.float64)
    (unit, names), (rank, distinct) = codes(group), codes(score)
    place, cell = codes(unit * len(distinct) + rank)
    owner = cell // len(distinct)
    hits, misses = (np.bincount(place, weight * side, len(cell)) for side in (label, 1 - label))
    positives, negatives = (np.bincount(owner, side, len(names)) for side in (hits, misses))
    below = np.cumsum(misses) - misses - (np.cumsum(negatives) - negatives)[owner]
    return GroupedCounts(names, np.bincount(owner, hits * (2 * below + misses), len(names)), positives, negatives)


def _tied_pairs(key: Ints, place: Ints, bits: int, groups: int) -> Ints:
    """Number of pairs of a positive and a negative with equal scores per group; negatives come first in a tie."""
    first = place[key[place - 1] == key[place] - 1]
    negatives = first - np.searchsorted(key, key[first] - 1)
    positives = np.searchsorted(key, key[first], side="right") - first
    pairs = np.zeros(groups, dtype=np.int64)
    np.add.at(pairs, key[first] >> bits, positives * negatives)
    return pairs


def gauc(g: GroupedCounts, weight: ArrayLike) -> float:
    """Weighted mean of the groups' AUC, one weight per group; groups with only one class are left out of both sums.

    With `g.impressions` as weights it is the GAUC of doi:10.1145/3219819.3219823; `g.positives` and ones are the
    other usual weights. Undefined if no group has both classes.
    """
    has_auc = ~np.isnan(g.auc)
    weight = np.asarray(weight, dtype=np.float64)[has_auc]
    return float(ratio(np.dot(weight, g.auc[has_auc]), weight.sum()))

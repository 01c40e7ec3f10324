"""Diversity: what the lists are made of, whether or not it is relevant: similar, popular, spread over the catalogue.

`Items` holds the item of each row as its number in the catalogue. Metrics of a list return one value a list, NaN where
the metric is undefined; coverage and Gini are one number over all lists, with one value a list for their interval.
An item that lacks what a metric needs (it is outside the catalogue, has no features, was never seen) is left out of
that metric, never taken as 0; `left_out` counts such items. `k` is the cut-off (None: the whole list).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, InputError, Ints, finite, ratio


@dataclass(frozen=True, eq=False)
class Items:
    """The items of lists, one list after another, best rank first: list i is `item[offset[i]:offset[i + 1]]`.

    item: the row of the catalogue, from 0 to size - 1; -1 = not in the catalogue. An item of the catalogue stands at
    most once in a list. Rows and offset are those of `rankings.Lists`. size: how many items the catalogue has.
    """

    item: Ints
    offset: Ints
    size: int

    def __len__(self) -> int:
        return len(self.offset) - 1

    @cached_property
    def owner(self) -> Ints:
        """The list that each row belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offset))

    @cached_property
    def known(self) -> Bools:
        """Which rows show an item of the catalogue."""
        return self.item >= 0

    def total(self, rows: Bools, weights: Floats | None = None) -> Floats:
        """Per list: the number of the given rows, or the sum of their weights."""
        return np.bincount(self.owner[rows], weights, minlength=len(self)).astype(float)


# Making the structure ----------------------------------------------------------------------------------------


def items(shown: Sequence[ArrayLike], catalogue: ArrayLike) -> Items:
    """Items from one sequence of ids a list, best rank first, and the ids of the catalogue.

    Ids are compared as text. Raises InputError where the catalogue misses or repeats an id, or a list repeats one.

    >>> items([["b", "x"], ["a"]], catalogue=["a", "b", "c"]).item
    array([ 1, -1,  0])
    """
    rows = [np.asarray(one) for one in shown]
    filled = [one for one in rows if len(one)]  # an empty list has no type of its own, and would turn ids into floats
    offset = np.cumsum([0, *map(len, rows)])
    return from_rows(np.concatenate(filled) if filled else np.zeros(0, str), offset, catalogue)


def from_rows(item: ArrayLike, offset: ArrayLike, catalogue: ArrayLike) -> Items:
    """Items from a column of ids in rank order and the rows where the lists begin and end, as in `rankings.Lists`.

    >>> from_rows(["b", "x", "a"], [0, 2, 3], catalogue=["a", "b", "c"]).owner
    array([0, 0, 1])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.large_string()
    known = pa.array(np.asarray(catalogue)).cast(text)
    if known.null_count or len(pc.unique(known)) < len(known):
        raise InputError(f"catalogue must hold each item once, got {_again(known.to_pylist())!r} again")
    found = pc.index_in(pa.array(np.asarray(item)).cast(text), value_set=known)
    code = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return _without_repeats(Items(code, np.asarray(offset, np.int64), len(known)), np.asarray(item))


def _again(ids: list) -> object:
    """The first id that stands in the list a second time, or None, a missing id."""
    first = {one: row for row, one in reversed(list(enumerate(ids)))}
    return next((one for row, one in enumerate(ids) if one is None or first[one] < row), None)


def _without_repeats(s: Items, ids: np.ndarray) -> Items:
    if len(s.item) != s.offset[-1]:
        raise InputError(f"offset must end at the number of rows, got {s.offset[-1]} for {len(s.item)} rows")
    rows = np.flatnonzero(s.known)
    key = s.owner[rows] * s.size + s.item[rows]
    order = np.argsort(key, kind="stable")
    twice = order[1:][key[order][1:] == key[order][:-1]]
    if twice.size:
        row = rows[twice.min()]
        raise InputError(f"a list must show an item once, got {str(ids[row])!r} again (list {s.owner[row]}, row {row})")
    return s


def top(s: Items, k: int | None) -> Items:
    """The first k rows of each list.

    >>> top(items([["a", "b"], ["c"]], ["a", "b", "c"]), 1).item
    array([0, 2])
    """
    if k is None:
        return s
    rank = np.arange(1, len(s.item) + 1) - s.offset[s.owner]
    length = np.minimum(np.diff(s.offset), k)
    return Items(s.item[rank <= k], np.concatenate([[0], np.cumsum(length)]), s.size)


def left_out(s: Items, has: ArrayLike, k: int | None = None) -> Floats:
    """Per list: the items of the first k outside the catalogue or without the value a metric needs.

    has: one truth value an item: `described(features)`, `category >= 0`, `share > 0`; all true for coverage.

    >>> left_out(items([["a", "b", "x"]], ["a", "b"]), [True, False])
    array([2.])
    """
    s = top(s, k)
    return s.total(~_rows_with(s, np.asarray(has, bool)))


def _rows_with(s: Items, has: Bools) -> Bools:
    if has.shape != (s.size,):
        raise InputError(f"values must have one entry an item of the catalogue ({s.size}), got shape {has.shape}")
    return s.known & np.append(has, False)[s.item]


# Similar to each other ---------------------------------------------------------------------------------------


def described(features: ArrayLike) -> Bools:
    """Which items have features with a direction: no NaN, and not all 0.

    >>> described([[1.0, 0.0], [0.0, 0.0], [float("nan"), 1.0]])
    array([ True, False, False])
    """
    return _complete(_directions(features))


def _complete(vector: Floats) -> Bools:
    return np.asarray(~np.isnan(vector).any(axis=1))


def _directions(features: ArrayLike) -> Floats:
    """Each row at length 1; NaN where it has no direction."""
    vector = np.asarray(features, float)
    if vector.ndim != 2 or np.isinf(vector).any():
        raise InputError(f"features must be a table of finite numbers, got shape {vector.shape} or an infinite one")
    vector = ratio(vector, np.abs(vector).max(axis=1, keepdims=True, initial=0))  # squares cannot overflow
    return ratio(vector, np.sqrt((vector**2).sum(axis=1, keepdims=True)))


def intra_list_similarity(s: Items, features: ArrayLike, k: int | None = None) -> Floats:
    """The mean cosine similarity S(i, j) over the ordered pairs i ≠ j of the first k items.

    Σ S / (n (n - 1)) over the n items with features: identical items 1, orthogonal items 0. features: shape
    (items of the catalogue, d). As |Σ v|² - n for v of length 1, so that no pair is visited. Undefined for fewer than
    two such items. Ziegler et al. 2005 give the sum over the pairs, doi:10.1145/1060745.1060754.

    >>> films = items([["a", "b", "c"], ["a", "b"], ["a"]], catalogue=["a", "b", "c"])
    >>> intra_list_similarity(films, [[1, 0], [2, 0], [0, 3]]).round(4)  # of three pairs one is parallel
    array([0.3333, 1.    ,    nan])
    """
    s, vector = top(s, k), _directions(features)
    rows = _rows_with(s, _complete(vector))
    n, item = s.total(rows), s.item[rows]
    square = sum((s.total(rows, column[item]) ** 2 for column in np.ascontiguousarray(vector.T)), np.zeros(len(s)))
    return np.clip(ratio(square - n, n * (n - 1)), -1, 1)  # the last bit may lie outside


def intra_list_diversity(s: Items, features: ArrayLike, k: int | None = None) -> Floats:
    """1 - intra-list similarity: the mean cosine distance of two items of the first k; also ILD.

    The `diversity` of recommenders and RecTools' ILD, over the same similarity.
    >>> intra_list_diversity(items([["a", "b"]], ["a", "b"]), [[1, 0], [0, 3]])
    array([1.])
    """
    return 1 - intra_list_similarity(s, features, k)


def intra_list_similarity_category(s: Items, category: ArrayLike, k: int | None = None) -> Floats:
    """The share of the pairs of the first k items that have the same category: S is 1 or 0.

    category: a code for each item of the catalogue, below 0 = none. Undefined for fewer than two items with one.

    >>> intra_list_similarity_category(items([["a", "b", "c"]], ["a", "b", "c"]), [7, 7, 2]).round(4)
    array([0.3333])
    """
    s, category = top(s, k), np.asarray(category)
    rows = _rows_with(s, category >= 0)
    n = s.total(rows)
    return ratio(2 * _equal_pairs(s.owner[rows], category[s.item[rows]], len(s)), n * (n - 1))


def intra_list_diversity_category(s: Items, category: ArrayLike, k: int | None = None) -> Floats:
    """1 - intra-list similarity by category: the share of the pairs of the first k with two categories.

    >>> intra_list_diversity_category(items([["a", "b", "c"]], ["a", "b", "c"]), [7, 7, 2]).round(4)
    array([0.6667])
    """
    return 1 - intra_list_similarity_category(s, category, k)


def _equal_pairs(owner: Ints, code: Ints, n: int) -> Ints:
    """Per list: the pairs of rows with one code."""
    width = int(code.max(initial=0)) + 1
    key, count = np.unique(owner * width + code, return_counts=True)
    pairs = np.zeros(n, np.int64)
    np.add.at(pairs, key // width, count * (count - 1) // 2)
    return pairs


# Popular -----------------------------------------------------------------------------------------------------


def user_share(count: ArrayLike, users: float) -> Floats:
    """p of each item: the users who had it, over all users. As RecTools and evidently count novelty.

    An item that nobody had gets NaN. To count it as if one more user had had everything, ask for
    `user_share(count + 1, users + 1)`; RecTools' rule is `user_share(np.maximum(count, 1), users)`.
    Raises InputError for a count below 0 or above the number of users.

    >>> user_share([8, 2, 0], users=8)
    array([1.  , 0.25,  nan])
    """
    count = _counts(count)
    if (count > users).any():
        raise InputError(f"count must be at most the {users:g} users, got {count.max():g} (row {count.argmax()})")
    return ratio(np.where(count > 0, count, np.nan), users)


def interaction_share(count: ArrayLike) -> Floats:
    """p of each item: its interactions over those of all items. As recommenders counts novelty.

    An item without any gets NaN. Add-one smoothing is `interaction_share(count + 1)`.
    Raises InputError for a count below 0.

    >>> interaction_share([6, 2, 0])
    array([0.75, 0.25,  nan])
    """
    count = _counts(count)
    return ratio(np.where(count > 0, count, np.nan), count.sum())


def _counts(count: ArrayLike) -> Floats:
    count = finite("count", count)
    wrong = np.flatnonzero(count < 0)
    if wrong.size:
        raise InputError(f"count must be at least 0, got {count[wrong[0]]:g} (row {wrong[0]})")
    return count


def novelty(s: Items, share: ArrayLike, k: int | None = None) -> Floats:
    """The mean self-information -log2 p of the first k items, in bits; also MIUF, surprisal.

    share: p of each item of the catalogue, by `user_share` or `interaction_share`: two conventions, so say which.
    Items with p = 0 or NaN are left out of sum and number. Undefined for a list without any other item.
    Zhou et al. 2010, doi:10.1073/pnas.1000488107; Vargas and Castells 2011, doi:10.1145/2043932.2043955.

    >>> novelty(items([["a", "b"], ["b", "c"], ["c"]], ["a", "b", "c"]), user_share([8, 2, 0], users=8))
    array([ 1.,  2., nan])
    """
    s, share = top(s, k), np.asarray(share, float)
    rows = _rows_with(s, share > 0)
    return ratio(s.total(rows, -np.log2(share[s.item[rows]])), s.total(rows))


# Spread over the catalogue: one number for all lists ---------------------------------------------------------


def exposure(s: Items, k: int | None = None) -> Ints:
    """How many lists show each item of the catalogue in their first k.

    >>> exposure(items([["a", "b"], ["a", "x"]], ["a", "b", "c"]))
    array([2, 1, 0])
    """
    s = top(s, k)
    return np.bincount(s.item[s.known], minlength=s.size)


def catalogue_coverage(s: Items, k: int | None = None) -> float:
    """The share of the catalogue that any list shows in its first k. Undefined for an empty catalogue.

    RecTools' CatalogCoverage with normalize=True. It grows with the number of lists: compare systems over the same
    queries. Ge et al. 2010, doi:10.1145/1864708.1864761.

    >>> round(catalogue_coverage(items([["a", "b"], ["a", "x"]], ["a", "b", "c"])), 4)
    0.6667
    """
    return float(ratio((exposure(s, k) > 0).sum(), s.size))


def gini(values: ArrayLike) -> float:
    """Gini's coefficient of amounts x: Σ (2i - n - 1) x_i / (n Σ x), x ascending; half the relative mean difference.

    0 where all are equal, 1 - 1/n where one has everything. Undefined where the sum is 0.

    >>> gini([1, 1, 1]), gini([0, 0, 0, 5]), gini([1, 3])
    (0.0, 0.75, 0.25)
    """
    x = np.sort(np.asarray(values, float))
    return float(ratio((2 * np.arange(1, len(x) + 1) - len(x) - 1) @ x, len(x) * x.sum()))


def exposure_gini(s: Items, k: int | None = None) -> float:
    """Gini's coefficient of `exposure` over the whole catalogue, items that no list shows included.

    RecBole's GiniIndex; Elliot's is 1 - n / (n - 1) times this. It falls as lists are added: compare systems over the
    same queries. Fleder and Hosanagar 2009, doi:10.1287/mnsc.1080.0974.

    >>> exposure_gini(items([["a", "b"], ["a", "b"]], ["a", "b", "c", "d"]))
    0.5
    """
    return gini(exposure(s, k))


def catalogue_coverage_by_list(s: Items, k: int | None = None) -> Floats:
    """One value a list whose mean is the coverage, and whose standard error is the jackknife's.

    Feed them to a t interval, their differences to a paired t test. A bootstrap of lists will not do: a resample
    holds fewer distinct lists, so it always covers less, and percentile intervals miss the truth. The jackknife's
    variance is too wide rather than too narrow (Efron and Stein 1981, doi:10.1214/aos/1176345462), except close to
    full coverage: where every item is shown twice no list matters and it is 0.

    >>> s = items([["a", "b"], ["a", "c"], ["a"]], ["a", "b", "c", "d"])
    >>> catalogue_coverage_by_list(s), catalogue_coverage(s)  # without list 0: 2/4, list 1: 2/4, list 2: 3/4
    (array([0.91666667, 0.91666667, 0.41666667]), 0.75)
    """
    s, shown = top(s, k), exposure(s, k)
    only_here = s.total(s.known & np.append(shown == 1, False)[s.item])
    return _around(catalogue_coverage(s), ratio((shown > 0).sum() - only_here, s.size))


def exposure_gini_by_list(s: Items, k: int | None = None) -> Floats:
    """One value a list whose mean is `exposure_gini`, and whose standard error is the jackknife's.

    For intervals and paired tests, as `catalogue_coverage_by_list`. Undefined where one list holds everything shown.

    >>> s = items([["a", "b"], ["a"], ["c"]], ["a", "b", "c"])
    >>> exposure_gini_by_list(s).round(4)  # Gini 1/6; without list 0: 1/3, list 1: 0, list 2: 4/9
    array([ 0.0185,  0.6852, -0.2037])
    """
    s, shown = top(s, k), exposure(s, k)
    below = np.searchsorted(np.sort(shown), shown)
    item = s.item[s.known]
    # Σ |x_a - x_b| over pairs when one item loses 1: + 1 for each other item at or above it, - 1 for each below. Two
    # items that lose 1 together keep their distance, which this sum gets wrong, by 2, only where they were equal.
    moved = s.total(s.known, (s.size - 1 - 2 * below[item]).astype(float))
    moved -= 2 * _equal_pairs(s.owner[s.known], shown[item], len(s))
    total = shown.sum()
    whole = exposure_gini(s)
    without = ratio(whole * s.size * total + moved, s.size * (total - s.total(s.known)))
    return _around(whole, without)


def _around(whole: float, without: Floats) -> Floats:
    """The statistic plus (n - 1) times what each list adds to it, centred: Tukey's pseudo-values less their bias."""
    return whole + (len(without) - 1) * (without.sum() / max(len(without), 1) - without)

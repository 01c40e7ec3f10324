"""Diversity of ranked lists, regardless of relevance: similarity of the items, novelty, catalogue
coverage, overlap.

`Items` holds the item of each row as its number in the catalogue. Metrics of a list return one
value per list, NaN if undefined; coverage and Gini are one number over all lists, with one value
per list for their intervals. An item that lacks what a metric needs (it is outside the catalogue,
has no features, was never seen) is left out of that metric, never taken as 0; `unknown_items`
counts such items. `k` is the cut-off (None: the whole list).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, InputError, Ints, codes, finite, quotient, ratio
from evalkit.metrics.rankings import Listed, offsets, totals


@dataclass(frozen=True, eq=False)
class Items(Listed):
    """The items of lists, one list after another, best rank first: list i is
    `item[offset[i]:offset[i + 1]]`.

    item: the row of the catalogue, from 0 to size - 1; -1 = not in the catalogue. Each item of the
    catalogue occurs at most once in a list. Rows and offset are those of `rankings.Lists`. size:
    the number of items in the catalogue.
    """

    item: Ints
    offset: Ints
    size: int

    @cached_property
    def rank(self) -> Ints:
        """The rank of each row in its list, from 1."""
        return self.place

    @cached_property
    def in_catalogue(self) -> Bools:
        """True for each row with an item of the catalogue."""
        return self.item >= 0


# Making the structure -----------------------------------------------------------------------------


def items(lists: Sequence[ArrayLike], catalogue: ArrayLike) -> Items:
    """Items from one sequence of ids per list, best rank first, and the ids of the catalogue.

    Ids are compared as text. Raises InputError if an id of the catalogue is missing or repeated, or
    a list repeats one.

    >>> items([["b", "x"], ["a"]], catalogue=["a", "b", "c"]).item
    array([ 1, -1,  0])
    """
    rows = [np.asarray(ids) for ids in lists]
    # an empty list has no type of its own, and would turn ids into floats
    filled = [ids for ids in rows if len(ids)]
    item = np.concatenate(filled) if filled else np.zeros(0, str)
    offset = np.cumsum([0, *map(len, rows)])
    return from_rows(item, offset, catalogue)


def from_rows(item: ArrayLike, offset: ArrayLike, catalogue: ArrayLike) -> Items:
    """Items from a column of ids in rank order, one list after another, and the offsets of the
    lists, as in `rankings.Lists`. Ids are compared as text.

    >>> from_rows(["b", "x", "a"], [0, 2, 3], catalogue=["a", "b", "c"]).owner
    array([0, 0, 1])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.large_string()
    catalogue_ids = pa.array(np.asarray(catalogue)).cast(text)
    if catalogue_ids.null_count or len(pc.unique(catalogue_ids)) < len(catalogue_ids):
        repeated = _missing_or_repeated(catalogue_ids.to_pylist())
        raise InputError(f"catalogue must hold each item once, got {repeated!r} again")
    # the row of the catalogue that each item is in, -1 for an unknown item
    ids = pa.array(np.asarray(item)).cast(text)
    catalogue_row = pc.fill_null(pc.index_in(ids, value_set=catalogue_ids), -1)
    rows = catalogue_row.to_numpy(zero_copy_only=False).astype(np.int64)
    lists = Items(rows, np.asarray(offset, np.int64), size=len(catalogue_ids))
    _check_lists(lists, np.asarray(item))
    return lists


def _missing_or_repeated(ids: list[Any]) -> object:
    """The first id that is missing (None) or that occurs a second time; None if there is none."""
    seen = set()
    for name in ids:
        if name is None or name in seen:
            return name
        seen.add(name)
    return None


def _check_lists(lists: Items, ids: np.ndarray) -> None:
    """Raise InputError if the offset does not end at the number of rows, or if a list has an item
    of the catalogue twice. ids: the id of the item in each row, for the error.
    """
    if len(lists.item) != lists.offset[-1]:
        raise InputError(
            f"offset must end at the number of rows, got {lists.offset[-1]} for {len(lists.item)} "
            f"rows"
        )
    known_rows = np.flatnonzero(lists.in_catalogue)
    # one whole number for each list and item; lists.size is the number of items of the catalogue
    key = lists.owner[known_rows] * lists.size + lists.item[known_rows]
    # equal keys are neighbours once sorted; the sort keeps the first row of them first
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    equals_key_before = sorted_key[1:] == sorted_key[:-1]
    repeats = order[1:][equals_key_before]
    if repeats.size:
        row = known_rows[repeats.min()]
        where = f"list {lists.owner[row]}, row {row}"
        raise InputError(f"a list must show an item once, got {str(ids[row])!r} again ({where})")


def top(lists: Items, k: int | None) -> Items:
    """The first k rows of each list.

    >>> top(items([["a", "b"], ["c"]], ["a", "b", "c"]), 1).item
    array([0, 2])
    """
    if k is None:
        return lists
    length = np.minimum(lists.length, k)
    item = lists.item[lists.rank <= k]
    return Items(item, offsets(length), lists.size)


def unknown_items(lists: Items, has: ArrayLike, k: int | None = None) -> Floats:
    """Number of items per list, among the first k, that are outside the catalogue or lack what a
    metric needs.

    has: one truth value per item: `described(features)`, `category >= 0`, `share > 0`; all true for
    coverage.

    >>> unknown_items(items([["a", "b", "x"]], ["a", "b"]), [True, False])
    array([2.])
    """
    lists = top(lists, k)
    has_values = _rows_with(lists, np.asarray(has, bool))
    return lists.total(~has_values)


def _rows_with(lists: Items, has: Bools) -> Bools:
    """A mask of the rows of all lists: True if the row's item has what a metric needs. has: one
    truth value per item of the catalogue; raises InputError for another shape. An item that is not
    in the catalogue has nothing.
    """
    if has.shape != (lists.size,):
        raise InputError(
            f"values must have one entry per item of the catalogue ({lists.size}), got shape "
            f"{has.shape}"
        )
    # the index -1, of an unknown item, takes the False that is added at the end
    has_or_unknown = np.append(has, False)
    return np.asarray(has_or_unknown[lists.item])


# Similar to each other ----------------------------------------------------------------------------


def described(features: ArrayLike) -> Bools:
    """True for each item whose features have a direction: no NaN, and not all 0.

    >>> described([[1.0, 0.0], [0.0, 0.0], [float("nan"), 1.0]])
    array([ True, False, False])
    """
    return _complete(_directions(features))


def _complete(vector: Floats) -> Bools:
    """A mask of the vectors, one per row, without NaN."""
    return np.asarray(~np.isnan(vector).any(axis=1))


def _directions(features: ArrayLike) -> Floats:
    """The features of each item, a row, scaled to length 1; NaN in a row of NaN or of only 0.
    Raises InputError for anything but a table of finite numbers and NaN.
    """
    vector = np.asarray(features, float)
    if vector.ndim != 2 or np.isinf(vector).any():
        raise InputError(
            f"features must be a table of finite numbers, got shape {vector.shape} or an infinite "
            f"one"
        )
    # scaled by the largest feature first, so that squares cannot overflow
    largest = np.abs(vector).max(axis=1, keepdims=True, initial=0)
    vector = ratio(vector, largest)
    squared_length = (vector**2).sum(axis=1, keepdims=True)
    return ratio(vector, np.sqrt(squared_length))


def intra_list_similarity(lists: Items, features: ArrayLike, k: int | None = None) -> Floats:
    """The mean cosine similarity S(i, j) over the ordered pairs i ≠ j of the first k items.

    Σ S / (n (n - 1)) over the n items with features: 1 for identical, 0 for orthogonal items.
    features: shape (items of the catalogue, d). Undefined for fewer than two such items. Ziegler et
    al. 2005, doi:10.1145/1060745.1060754, define the sum.

    >>> films = items([["a", "b", "c"], ["a", "b"], ["a"]], catalogue=["a", "b", "c"])
    >>> features = [[1, 0], [2, 0], [0, 3]]  # of three pairs one is parallel
    >>> intra_list_similarity(films, features).round(4)
    array([0.3333, 1.    ,    nan])
    """
    lists = top(lists, k)
    vector = _directions(features)  # of each item of the catalogue, with length 1
    rows = _rows_with(lists, _complete(vector))
    n = lists.total(rows)
    item = lists.item[rows]
    # For vectors v of length 1 the sum of the products of all pairs is |Σ v|², of which n are pairs
    # of an item with itself: no pair is visited. |Σ v|² is added up over the features.
    square_of_sum = np.zeros(len(lists))
    for feature in np.ascontiguousarray(vector.T):
        square_of_sum += lists.total(rows, feature[item]) ** 2
    pairs = n * (n - 1)
    similarity = ratio(square_of_sum - n, pairs)
    return np.clip(similarity, -1, 1)  # rounding may lie outside


def intra_list_diversity(lists: Items, features: ArrayLike, k: int | None = None) -> Floats:
    """1 - intra-list similarity: the mean cosine distance of two items of the first k; also ILD.

    >>> intra_list_diversity(items([["a", "b"]], ["a", "b"]), [[1, 0], [0, 3]])
    array([1.])
    """
    distance = 1 - intra_list_similarity(lists, features, k)
    return distance.round(14)  # so that equal items do not have a distance of 1e-16


def intra_list_similarity_category(
    lists: Items, category: ArrayLike, k: int | None = None
) -> Floats:
    """Share of the pairs of the first k items that have the same category.

    category: a code for each item of the catalogue, below 0 = none. Undefined for fewer than two
    items with a category.

    >>> films = items([["a", "b", "c"]], ["a", "b", "c"])
    >>> intra_list_similarity_category(films, [7, 7, 2]).round(4)
    array([0.3333])
    """
    lists = top(lists, k)
    category = np.asarray(category)
    rows = _rows_with(lists, category >= 0)
    n = lists.total(rows)
    category_of_row = category[lists.item[rows]]
    equal = _equal_pairs(lists.owner[rows], category_of_row, len(lists))
    ordered_pairs = n * (n - 1)
    return ratio(2 * equal, ordered_pairs)


def intra_list_diversity_category(
    lists: Items, category: ArrayLike, k: int | None = None
) -> Floats:
    """1 - intra-list similarity by category: the share of pairs of the first k items with different
    categories.

    >>> intra_list_diversity_category(items([["a", "b", "c"]], ["a", "b", "c"]), [7, 7, 2]).round(4)
    array([0.6667])
    """
    return 1 - intra_list_similarity_category(lists, category, k)


def _equal_pairs(owner: Ints, code: Ints, lists: int) -> Ints:
    """Number of pairs of rows of a list that have the same code, per list; shape (lists,).

    owner: the list of each row. code: a whole number of each row, at least 0.
    """
    codes_of_list = int(code.max(initial=0)) + 1
    # one number for each list and code, and how many rows have it
    key, count = np.unique(owner * codes_of_list + code, return_counts=True)
    pairs_of_key = count * (count - 1) // 2
    pairs = np.zeros(lists, np.int64)
    np.add.at(pairs, key // codes_of_list, pairs_of_key)  # a list may have several keys
    return pairs


# Popular ------------------------------------------------------------------------------------------


def user_share(count: ArrayLike, users: float) -> Floats:
    """p of each item: the users who had it / all users, as the packages RecTools and evidently
    define it for novelty.

    NaN for an item that no user had. To smooth as if one more user had had every item, use
    `user_share(count + 1, users + 1)`; RecTools' rule is `user_share(np.maximum(count, 1), users)`.
    Raises InputError for a count below 0 or above the number of users.

    >>> user_share([8, 2, 0], users=8)
    array([1.  , 0.25,  nan])
    """
    count = _counts(count)
    if (count > users).any():
        raise InputError(
            f"count must be at most the {users:g} users, got {count.max():g} (row {count.argmax()})"
        )
    positive_count = np.where(count > 0, count, np.nan)
    return ratio(positive_count, users)


def interaction_share(count: ArrayLike) -> Floats:
    """p of each item: its interactions / those of all items, as recommenders defines it for
    novelty.

    NaN for an item without interactions. Add-one smoothing is `interaction_share(count + 1)`.
    Raises InputError for a count below 0.

    >>> interaction_share([6, 2, 0])
    array([0.75, 0.25,  nan])
    """
    count = _counts(count)
    positive_count = np.where(count > 0, count, np.nan)
    return ratio(positive_count, count.sum())


def _counts(count: ArrayLike) -> Floats:
    """The numbers as they are. Raises InputError for a number below 0."""
    count = finite("count", count)
    wrong = np.flatnonzero(count < 0)
    if wrong.size:
        row = wrong[0]
        raise InputError(f"count must be at least 0, got {count[row]:g} (row {row})")
    return count


def novelty(lists: Items, share: ArrayLike, k: int | None = None) -> Floats:
    """Mean self-information -log2 p of the first k items, in bits; also MIUF, surprisal.

    share: p of each item of the catalogue, by `user_share` or `interaction_share`; report which one
    was used. Items with p = 0 or NaN are left out. Undefined for a list without any other item.
    Zhou et al. 2010, doi:10.1073/pnas.1000488107; Vargas and Castells 2011,
    doi:10.1145/2043932.2043955.

    >>> films = items([["a", "b"], ["b", "c"], ["c"]], catalogue=["a", "b", "c"])
    >>> novelty(films, user_share([8, 2, 0], users=8))
    array([ 1.,  2., nan])
    """
    lists = top(lists, k)
    share = np.asarray(share, float)
    rows = _rows_with(lists, share > 0)
    information = -np.log2(share[lists.item[rows]])
    return ratio(lists.total(rows, information), lists.total(rows))


# Spread over the catalogue: one number for all lists ----------------------------------------------


def exposure(lists: Items, k: int | None = None) -> Ints:
    """Number of lists that show each item of the catalogue in their first k.

    >>> exposure(items([["a", "b"], ["a", "x"]], ["a", "b", "c"]))
    array([2, 1, 0])
    """
    lists = top(lists, k)
    return np.bincount(lists.item[lists.in_catalogue], minlength=lists.size)


def catalogue_coverage(lists: Items, k: int | None = None) -> float:
    """Share of the catalogue that at least one list shows in its first k. Undefined for an empty
    catalogue.

    Equals RecTools' CatalogCoverage with normalize=True. It grows with the lists. Ge 2010,
    doi:10.1145/1864708.1864761.

    >>> round(catalogue_coverage(items([["a", "b"], ["a", "x"]], ["a", "b", "c"])), 4)
    0.6667
    """
    return share_exposed(exposure(lists, k))


def share_exposed(exposed: ArrayLike) -> float:
    """The share of items that at least one list shows, from `exposure`; NaN without items.

    >>> share_exposed([2, 0, 1, 0])
    0.5
    """
    return quotient(np.count_nonzero(exposed), np.size(exposed))


def gini(values: ArrayLike) -> float:
    """Gini's coefficient of amounts x: Σ (2i - n - 1) x_i / (n Σ x), x ascending; half the relative
    mean difference.

    0 if all are equal, 1 - 1/n if one has everything. Undefined if the sum is 0.

    >>> gini([1, 1, 1]), gini([0, 0, 0, 5]), gini([1, 3])
    (0.0, 0.75, 0.25)
    """
    x = np.sort(np.asarray(values, float))
    n = len(x)
    coefficient = np.arange(1 - n, n, 2)  # 2i - n - 1 for i from 1 to n
    return quotient(coefficient @ x, n * x.sum())


def exposure_gini(lists: Items, k: int | None = None) -> float:
    """Gini's coefficient of `exposure` over the catalogue. Fleder, Hosanagar 2009,
    doi:10.1287/mnsc.1080.0974.

    Equals RecBole's GiniIndex; Elliot's is 1 - n / (n - 1) times this. It falls as lists are added.

    >>> exposure_gini(items([["a", "b"], ["a", "b"]], ["a", "b", "c", "d"]))
    0.5
    """
    return gini(exposure(lists, k))


def catalogue_coverage_by_list(lists: Items, k: int | None = None) -> Floats:
    """Jackknife pseudo-values of the coverage, one per list, from the coverage without each list,
    see `_pseudo_values`: their mean is the coverage.

    Use them in a t interval, and their differences in a paired t test. A bootstrap is not valid
    here: a resample has fewer distinct lists and so always covers less. The jackknife's variance is
    rather too large than too small (Efron and Stein 1981, doi:10.1214/aos/1176345462), except near
    full coverage: 0 if at least two lists show every item.

    >>> lists = items([["a", "b"], ["a", "c"], ["a"]], ["a", "b", "c", "d"])
    >>> catalogue_coverage_by_list(lists)  # without list 0: 2/4, list 1: 2/4, list 2: 3/4
    array([0.91666667, 0.91666667, 0.41666667])
    >>> catalogue_coverage(lists)
    0.75
    """
    lists = top(lists, k)
    exposed = exposure(lists)
    is_only_here = _rows_with(lists, exposed == 1)  # a mask of the rows of all lists
    items_only_here = lists.total(is_only_here)  # in each list
    items_elsewhere = np.count_nonzero(exposed) - items_only_here
    without_list = ratio(items_elsewhere, lists.size)
    return _pseudo_values(catalogue_coverage(lists), without_list)


def exposure_gini_by_list(lists: Items, k: int | None = None) -> Floats:
    """Jackknife pseudo-values of `exposure_gini`, one per list: their mean is `exposure_gini`.

    For intervals and paired tests, as `catalogue_coverage_by_list`. Undefined if one list has all
    items that are shown.

    >>> lists = items([["a", "b"], ["a"], ["c"]], ["a", "b", "c"])
    >>> round(exposure_gini(lists), 4)  # without list 0: 1/3, list 1: 0, list 2: 4/9
    0.1667
    >>> exposure_gini_by_list(lists).round(4)
    array([ 0.0185,  0.6852, -0.2037])
    """
    lists = top(lists, k)
    exposed = exposure(lists)  # x: how many lists show each item
    items_below = np.searchsorted(np.sort(exposed), exposed)  # how many items have a smaller x
    known_item = lists.item[lists.in_catalogue]
    known_owner = lists.owner[lists.in_catalogue]
    # Gini is D / (n Σ x), where D is Σ |x_a - x_b| over the pairs of two of the n items. Without a
    # list the x of each of its items falls by 1.
    # If one item alone falls, its distance grows by 1 from each other item at or above it, and
    # shrinks by 1 from each item below it: D changes by n - 1 - 2 (items below).
    change_by_item = lists.size - 1 - 2 * items_below[known_item]
    change = lists.total(lists.in_catalogue, change_by_item.astype(float))
    # These changes are added up over the items of a list, though two items that both fall keep
    # their distance. For unequal x this is right: the changes of their distance are + 1 (the lower
    # item falls) and - 1. For equal x they are + 1 and + 1, so that 2 are taken off.
    equal_pairs = _equal_pairs(known_owner, exposed[known_item], len(lists))
    change -= 2 * equal_pairs
    total = exposed.sum()  # Σ x
    gini_of_all = exposure_gini(lists)
    distances = gini_of_all * lists.size * total  # D
    total_without_list = total - lists.total(lists.in_catalogue)
    gini_without_list = ratio(distances + change, lists.size * total_without_list)
    return _pseudo_values(gini_of_all, gini_without_list)


def jackknife_by_unit(
    lists: Items, unit: ArrayLike, statistic: Callable[[Ints], float], k: int | None = None
) -> Floats:
    """Jackknife pseudo-values of a statistic of `exposure` (how many lists show each item), one per
    unit, such as a user, whose lists are left out together. They are shifted so that their mean is
    the statistic itself, see `_pseudo_values`.

    unit: the unit of each list. statistic: `share_exposed` for coverage or `gini` for Gini's
    coefficient; it is called once per unit.

    >>> lists = items([["a", "b"], ["a", "c"], ["a"]], ["a", "b", "c", "d"])
    >>> jackknife_by_unit(lists, ["u", "v", "v"], share_exposed)  # without u: 2/4, without v: 2/4
    array([0.75, 0.75])
    """
    lists = top(lists, k)
    exposed = exposure(lists)
    unit_of_list, names = codes(np.asarray(unit))  # units by number, and their names
    # the items that the lists of each unit show: the rows with known items are sorted by unit, and
    # cut where each unit but the first begins
    unit_of_row = unit_of_list[lists.owner[lists.in_catalogue]]
    order = np.argsort(unit_of_row, kind="stable")
    sorted_item = lists.item[lists.in_catalogue][order]
    starts_after_first = np.searchsorted(unit_of_row[order], np.arange(1, names.size))
    items_of_units = np.split(sorted_item, starts_after_first)
    without_unit = []
    for item in items_of_units:
        exposed_by_others = exposed - np.bincount(item, minlength=lists.size)
        without_unit.append(statistic(exposed_by_others))
    return _pseudo_values(statistic(exposed), np.array(without_unit))


def _pseudo_values(value: float, without_unit: Floats) -> Floats:
    """Jackknife pseudo-values of a statistic, whose mean is its value: Tukey's n value - (n - 1)
    value without the unit, shifted by the jackknife's estimate of the bias.

    value: of all units. without_unit: the value without each unit.
    """
    n = len(without_unit)
    # less the first one: small numbers keep digits, and exactly 0 if all are equal
    change = without_unit - without_unit[:1]
    mean_change = change.sum() / max(n, 1)
    pseudo_values: Floats = value + (n - 1) * (mean_change - change)
    return pseudo_values


# Overlap of two lists -----------------------------------------------------------------------------

PERSISTENCE = 0.9  # of RBO: 86% of its weight lies on the first ten ranks


def overlap(first: Items, second: Items, k: int) -> Floats:
    """The number of items in both lists' first k / the number of items of the longer one, at most
    k.

    Undefined if both lists are empty. All items must be in the catalogue.

    >>> from evalkit.metrics.diversity import items
    >>> a, b = (items([list(ids)], "a b c d".split()) for ids in ("abc", "cad"))
    >>> overlap(a, b, 2), overlap(a, b, 3).round(4)
    (array([0.5]), array([0.6667]))
    """
    a = top(first, k)
    b = top(second, k)
    common = _common(a, b)
    common_items = totals(common.owner, len(a))
    return ratio(common_items, np.maximum(a.length, b.length))


def rbo(first: Items, second: Items, p: float = PERSISTENCE) -> Floats:
    """Rank-biased overlap, extrapolated beyond the ends of the lists: 1 for equal, 0 for disjoint
    ones.

    It is the mean agreement X_d / d at the depths d, weighted by (1 - p) p^(d - 1). X_d is the
    number of items that both lists have among their first d. Undefined if a list is empty. All
    items must be in the catalogue.

    Equation 32 of Webber, Moffat and Zobel 2010, doi:10.1145/1852102.1852106, with lists of s ≤ l
    items: (1 - p)/p (Σ_{d≤l} p^d X_d/d + Σ_{s<d≤l} p^d X_s (d - s)/(s d)) + p^l ((X_l - X_s)/l +
    X_s/s). The second sum fills the shorter list up with its agreement X_s / s, and the last term
    continues both beyond l.

    p: the persistence, the probability that a user goes on from one rank to the next.

    >>> from evalkit.metrics.diversity import items
    >>> a, b = (items([list(ids)], "a b c".split()) for ids in ("ab", "bac"))
    >>> rbo(a, b, p=0.5)  # X = 0, 2, 2: (0.25 + 0.125 · 2/3 + 0.125 · 1/3) + 0.125 · 1
    array([0.5])
    >>> rbo(a, a), rbo(a, items([["c"]], "a b c".split()))
    (array([1.]), array([0.]))
    """
    if len(first) != len(second):
        raise InputError(
            f"both systems must have the same lists, got {len(first)} and {len(second)}"
        )
    lists = len(first)
    owner, depth = _common(first, second)  # of each common item its list and its deeper rank
    short = np.minimum(first.length, second.length)  # s of each list
    long = np.maximum(first.length, second.length)  # l
    longest = int(long.max(initial=0))
    d = np.arange(1, longest + 1)
    # element d of these is Σ p^i, and Σ p^i / i, over the depths i from 1 to d
    power = p**d
    power_sums = np.append(0.0, np.cumsum(power))
    share_sums = np.append(0.0, np.cumsum(power / d))
    # Σ_{d≤l} p^d X_d/d: a common item counts in X_d from its depth to l, and adds p^d / d there
    shares_from_depth = share_sums[long[owner]] - share_sums[depth - 1]
    agreed = totals(owner, lists, shares_from_depth)
    is_in_short = depth <= short[owner]
    x_short = totals(owner[is_in_short], lists)  # X_s
    x_long = totals(owner, lists)  # X_l
    agreement_at_short = ratio(x_short, short)  # X_s/s
    # Σ_{s<d≤l} p^d X_s (d - s)/(s d) = X_s/s Σ p^d - X_s Σ p^d/d
    powers_between = power_sums[long] - power_sums[short]
    shares_between = share_sums[long] - share_sums[short]
    between = agreement_at_short * powers_between - x_short * shares_between
    agreement_at_long = ratio(x_long - x_short, long) + agreement_at_short
    beyond = p**long * agreement_at_long
    up_to_longest = agreed + between
    overlap = (1 - p) / p * up_to_longest + beyond
    return np.asarray(np.clip(overlap, 0, 1))  # rounding may lie outside


class CommonItems(NamedTuple):
    """The items that two systems both have in the same list: for each the number of the list, and
    the deeper of its two ranks.
    """

    owner: Ints
    depth: Ints


def _common(first: Items, second: Items) -> CommonItems:
    """The items that both systems have in the same list: for each the number of the list, and the
    deeper of its two ranks. All items must be in the catalogue: others have no key of their own.
    """
    # one whole number for each list and item; size is the number of items of the catalogue
    keys = first.owner * first.size + first.item
    keys_of_second = second.owner * second.size + second.item
    _, row, row_of_second = np.intersect1d(
        keys, keys_of_second, assume_unique=True, return_indices=True
    )
    depth = np.maximum(first.rank[row], second.rank[row_of_second])
    return CommonItems(first.owner[row], depth)

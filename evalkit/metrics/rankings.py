"""Rankings: the retrieved list and the ideal list of each query, and the metrics of relevance and
of grades.

All metrics return one value per query, in the order of `Rankings.query`, NaN if undefined. Means
are taken later, in `intervals`. Three conventions hold throughout: an item without a judgement
counts as not relevant; a query that is missing from the run has an empty list and scores 0; a query
without relevant items is undefined, not 0. `k` is the cut-off (None: the whole list) and `level`
the lowest grade that counts as relevant.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, InputError, Ints, ratio
from evalkit.metrics.counts import GroupedCounts, auc_by_group, run_numbers
from evalkit.metrics.rows import Sums


@dataclass(frozen=True)
class Hits:
    """The relevant rows of lists; arrays with one element per such row.

    row: its index among all rows. owner: the number of its list. rank: in the list, from 1. nth: 1
    for the first hit of a list, 2 for the second, …. lists: the number of lists.
    """

    row: Ints
    owner: Ints
    rank: Ints
    nth: Ints
    lists: int

    def first(self, k: int | None) -> "Hits":
        """The hits in the first k ranks, all if k is None; their `rank` and `nth` stay."""
        if k is None:
            return self
        return self.take(self.rank <= k)

    def take(self, member: Bools) -> "Hits":
        """The hits that a mask selects."""
        return Hits(
            self.row[member], self.owner[member], self.rank[member], self.nth[member], self.lists
        )

    def total(self, weights: np.ndarray | None = None) -> Floats:
        """The number of hits of each list, or the sum of their weights; shape (lists,)."""
        return totals(self.owner, self.lists, weights)


def totals(owner: Ints, lists: int, weights: np.ndarray | None = None) -> Floats:
    """The number of rows of each list, or the sum of their weights; shape (lists,). owner: the list
    of each row.
    """
    return np.bincount(owner, weights, minlength=lists).astype(float)


def offsets(length: ArrayLike) -> Ints:
    """The row at which each list begins, and that at which the last one ends, from the lengths.

    >>> offsets([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.append(0, np.cumsum(length))


class Listed:
    """Rows of lists, one list after another: list i has the rows from `offset[i]` to `offset[i +
    1]`.
    """

    offset: Ints

    def __len__(self) -> int:
        return len(self.offset) - 1

    @cached_property
    def length(self) -> Ints:
        """Rows of each list."""
        return np.diff(self.offset)

    @cached_property
    def owner(self) -> Ints:
        """The list that each row belongs to."""
        return run_numbers(self.length)

    @property
    def place(self) -> Ints:
        """The place of each row in its list, from 1."""
        start_of_list = np.repeat(self.offset[:-1], self.length)
        row = np.arange(len(start_of_list))
        return row - start_of_list + 1

    def total(self, rows: Bools, weights: Floats | None = None) -> Floats:
        """The number of selected rows of each list, or the sum of their weights; shape (lists,).
        rows: a mask. weights: one for each selected row.
        """
        return totals(self.owner[rows], len(self), weights)


@dataclass(frozen=True)
class Lists(Listed):
    """Graded lists, one after another, best rank first: list i is `grade[offset[i]:offset[i + 1]]`.

    grade: a real number of at least 0, NaN = not judged. tied: the row has the same score as the
    row before it in its list. position: the rank of each row, ascending in its list, if ranks may
    have gaps; None: 1, 2, 3, … in each list. A missing rank counts as not relevant.
    """

    grade: Floats
    tied: Bools
    offset: Ints
    position: Ints | None = None

    def __repr__(self) -> str:
        return f"<Lists: {len(self.offset) - 1:,} lists, {len(self.grade):,} items>"

    @cached_property
    def rank(self) -> Ints:
        """The rank of each row in its list, from 1."""
        return self.place if self.position is None else self.position

    def take(self, member: Bools) -> "Lists":
        """The lists that a mask selects."""
        rows = np.repeat(member, self.length)
        offset = offsets(self.length[member])
        position = None if self.position is None else self.position[rows]
        return Lists(self.grade[rows], self.tied[rows], offset, position)

    @cached_property
    def depth(self) -> Ints:
        """The last rank of each list, 0 for an empty one; equal to its length if the ranks have no
        gaps.
        """
        if self.position is None:
            return self.length
        depth = np.zeros(len(self), np.int64)
        filled = self.length > 0
        last_rows = self.offset[1:] - 1  # of each list
        depth[filled] = self.position[last_rows[filled]]
        return depth

    @cached_property
    def _judged_rows(self) -> Ints:
        """The rows with a judgement."""
        return np.flatnonzero(~np.isnan(self.grade))

    @cached_property
    def _hits(self) -> dict[float, Hits]:
        """The hits of the levels that were asked for."""
        return {}

    def hits(self, level: float) -> Hits:
        """The rows with a grade at or above the level; computed once for all metrics."""
        if level not in self._hits:
            is_hit = self.grade.take(self._judged_rows) >= level
            rows = self._judged_rows[is_hit]
            # The hits of the higher of two levels are among those of the lower: if they are as
            # many, they are the same, and are shared.
            as_many = (hits for hits in self._hits.values() if len(hits.row) == len(rows))
            self._hits[level] = next(as_many, None) or self._hits_of(rows)
        return self._hits[level]

    def _hits_of(self, row: Ints) -> Hits:
        """The rows with these indices, ascending, as hits: each with its list, its rank there, and
        its number among the hits of the list.
        """
        # how many hits are before the start of each list, and before the end of the last
        hits_before = np.searchsorted(row, self.offset)
        owner = run_numbers(np.diff(hits_before))
        number = np.arange(len(row))  # of each hit
        nth = number - hits_before[owner] + 1
        start_of_list = self.offset[owner]
        rank = row - start_of_list + 1 if self.position is None else self.position[row]
        return Hits(row, owner, rank, nth, len(self))


@dataclass(frozen=True)
class Rankings:
    """The lists that one system retrieved and, for each query, all judged grades in descending
    order (`ideal`).

    query: ids, shape (n,). retrieved, ideal: n lists each. top_grade: the best grade of the scale,
    for `err`.
    """

    query: np.ndarray
    retrieved: Lists
    ideal: Lists
    top_grade: float = 0.0

    def __repr__(self) -> str:
        return f"<Rankings of {len(self):,} queries: {self.retrieved}>"

    def __len__(self) -> int:
        return len(self.retrieved)

    def take(self, member: Bools) -> "Rankings":
        """The queries that a mask selects."""
        return Rankings(
            self.query[member], self.retrieved.take(member), self.ideal.take(member), self.top_grade
        )


def lists(grades: Sequence[ArrayLike]) -> Lists:
    """Lists without ties from one sequence of grades per list, best rank first.

    >>> lists([[1, 0], [2]]).offset
    array([0, 2, 3])
    """
    arrays = [np.asarray(grades_of_list, float) for grades_of_list in grades]
    offset = np.cumsum([0, *map(len, arrays)])
    grade = np.concatenate(arrays) if arrays else np.zeros(0)
    negative = grade[grade < 0]
    if negative.size:
        raise InputError(f"grade must be at least 0, got {negative[0]}")
    return Lists(grade, tied=np.zeros(len(grade), bool), offset=offset)


def from_grades(
    retrieved: Sequence[ArrayLike], judged: Sequence[ArrayLike] | None = None
) -> Rankings:
    """Rankings from the grades that each query's list has by rank, NaN for an item without a
    judgement. judged: all judged grades of each query, in any order; by default those retrieved.

    >>> from_grades([[0, 3, 1]]).ideal.grade
    array([3., 1., 0.])
    """
    judged_grades = retrieved if judged is None else judged
    if len(judged_grades) != len(retrieved):
        raise InputError(
            f"judged must have one list per query, got {len(judged_grades)} for {len(retrieved)} "
            f"queries"
        )
    highest_first = []  # the judged grades of each query as an ideal list
    for grades_of_query in judged_grades:
        grades = np.asarray(grades_of_query, float)
        is_judged = ~np.isnan(grades)
        lowest_first = np.sort(grades[is_judged])
        highest_first.append(lowest_first[::-1])
    ideal = lists(highest_first)
    query_numbers = np.arange(len(retrieved))
    top_grade = float(ideal.grade.max(initial=0))
    return Rankings(query_numbers, lists(retrieved), ideal, top_grade)


def relevant(r: Rankings, level: float = 1) -> Floats:
    """R: the number of judged items at or above the level."""
    return r.ideal.hits(level).total()


def hits(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """The number of relevant items in the first k."""
    return r.retrieved.hits(level).first(k).total()


def defined(r: Rankings, level: float, values: Floats) -> Floats:
    """The values of queries with relevant items, NaN for the others. values: one per query."""
    return np.where(relevant(r, level) > 0, values, np.nan)


def precision(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """Relevant items in the first k / k; / the last rank of the list if k is None.

    >>> precision(from_grades([[1, 0, 0, 1, 1, 1]]), k=5)
    array([0.6])
    """
    size = np.maximum(r.retrieved.depth, 1) if k is None else k  # an empty list has precision 0
    share = hits(r, k, level) / size
    return defined(r, level, share)


def recall(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """Relevant items in the first k / R, the number of all relevant items.

    >>> recall(from_grades([[1, 0, 0, 1, 1, 1]]), k=5)
    array([0.75])
    """
    return ratio(hits(r, k, level), relevant(r, level))


def r_precision(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """Precision at rank R, the number of relevant items. It has no cut-off; `k` is ignored.

    >>> r_precision(from_grades([[1, 0, 1, 0]]))
    array([0.5])
    """
    total_relevant = relevant(r, level)  # R of each query
    hit = r.retrieved.hits(level)
    last_rank = total_relevant[hit.owner]
    in_first_r = hit.take(hit.rank <= last_rank)
    return ratio(in_first_r.total(), total_relevant)


def hit_rate(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """1 if any of the first k items is relevant, else 0; also success@k.

    >>> hit_rate(from_grades([[0, 1], [0, 0]], [[1], [1]]), k=2)
    array([1., 0.])
    """
    has_hit = hits(r, k, level) > 0
    return defined(r, level, has_hit.astype(float))


def hit_ratio(r: Rankings, k: int | None = None, level: float = 1) -> Sums:
    """Σ relevant items in the first k / Σ relevant items, pooled over queries.

    >>> hit_ratio(from_grades([[1, 0], [0, 1]], [[1, 1], [1]]), k=2).value
    0.6666666666666666
    """
    hit_count = defined(r, level, hits(r, k, level))
    total_relevant = defined(r, level, relevant(r, level))
    return Sums(hit_count, total_relevant)


def hit_ratio_k(r: Rankings, k: int, level: float = 1) -> Sums:
    """Σ relevant items in the first k / (k × number of queries), pooled over the queries with
    relevant items.
    """
    hit_count = defined(r, level, hits(r, k, level))
    k_of_each_query = np.full(len(r), float(k))
    return Sums(hit_count, defined(r, level, k_of_each_query))


def _precision_sum(r: Rankings, k: int | None, level: float) -> Floats:
    """Per query the sum of the precision at each relevant item of the first k."""
    hit = r.retrieved.hits(level).first(k)
    return hit.total(hit.nth / hit.rank)


def average_precision(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """Sum of the precision at each relevant item of the first k / R, the number of all relevant
    items.

    >>> average_precision(from_grades([[1, 0, 0, 1, 1, 1]])).round(6)
    array([0.691667])
    """
    return ratio(_precision_sum(r, k, level), relevant(r, level))


def average_precision_min(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """Sum of the precision at each relevant item of the first k / min(k, R): 1 if all first k are
    relevant.
    """
    most_hits = relevant(r, level)
    if k is not None:
        most_hits = np.minimum(most_hits, k)
    return ratio(_precision_sum(r, k, level), most_hits)


def average_precision_hits(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """Sum of the precision at each relevant item of the first k / their number: relevant items that
    were missed do not count; 0 without any.
    """
    hit_count = np.maximum(hits(r, k, level), 1)
    mean_precision = _precision_sum(r, k, level) / hit_count
    return defined(r, level, mean_precision)


class InterpolatedHits(NamedTuple):
    """Hits, and for each the largest precision at its rank or deeper in the list."""

    hit: Hits
    precision: Floats


def _interpolated(r: Rankings, k: int | None, level: float) -> InterpolatedHits:
    """The relevant items (grade of at least `level`) of the first k of all lists, each with its
    interpolated precision: the largest precision at its rank or deeper in its list.
    """
    hit = r.retrieved.hits(level).first(k)
    precision = hit.nth / hit.rank  # the hits up to a rank / the rank
    # A running maximum of precision, from the last hit of all lists to the first, would carry over
    # from one list to the list before. So the maximum is taken of numbers by which the hits of a
    # list are above those of all later lists, and within a list rise with precision.
    ascending = np.lexsort((precision, -hit.owner))  # the hits in the order of these numbers
    number = np.empty(len(ascending), np.int64)
    number[ascending] = np.arange(len(ascending))
    # for each hit the largest number from its own rank on: it is of its own list
    largest_number = np.maximum.accumulate(number[::-1])[::-1]
    precision_of_number = precision[ascending]
    return InterpolatedHits(hit, precision_of_number[largest_number])


def average_precision_interpolated(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """Sum, over the relevant items, of the largest precision at their rank or deeper in the list /
    R.

    >>> average_precision_interpolated(from_grades([[1, 0, 0, 1, 1, 1]])).round(6)
    array([0.75])
    """
    hit, best = _interpolated(r, k, level)
    return ratio(hit.total(best), relevant(r, level))


def interpolated_precision(r: Rankings, recall_level: float, level: float = 1) -> Floats:
    """The largest precision at any rank where recall is at least `recall_level`; 0 if it is never
    reached.

    The recall level is reached by trunc(recall_level · R + 0.9) relevant items, the rule of
    trec_eval up to 9.0.7.
    >>> interpolated_precision(from_grades([[1, 0, 1, 0]]), 0.5).round(4)
    array([1.])
    """
    total_relevant = relevant(r, level)
    rounded = np.floor(recall_level * total_relevant + 0.9)
    needed = np.maximum(rounded, 1)
    hit, best_precision = _interpolated(r, None, level)
    reaches = hit.nth == needed[hit.owner]  # at most one hit of each list
    precision_of_list = hit.take(reaches).total(best_precision[reaches])
    return defined(r, level, precision_of_list)


def reciprocal_rank(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """1 / rank of the first relevant item, 0 if none of the first k is relevant.

    >>> reciprocal_rank(from_grades([[0, 0, 1], [0, 1, 0], [1, 0, 0]])).round(4)
    array([0.3333, 0.5   , 1.    ])
    """
    hit = r.retrieved.hits(level).first(k)
    top = hit.take(hit.nth == 1)
    reciprocal = top.total(1 / top.rank)
    return defined(r, level, reciprocal)


def rbp(r: Rankings, k: int | None = None, level: float = 1, persistence: float = 0.8) -> Floats:
    """Rank-biased precision: (1 − p) Σ p^(rank − 1) over the relevant items of the first k, p =
    persistence.

    Moffat and Zobel 2008, doi:10.1145/1416950.1416952.
    >>> rbp(from_grades([[1, 0, 1]])).round(4)
    array([0.328])
    """
    hit = r.retrieved.hits(level).first(k)
    weight = (1 - persistence) * persistence ** (hit.rank - 1.0)
    return defined(r, level, hit.total(weight))


def bpref(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """1/R Σ over the relevant items of 1 − min(n, R) / min(N, R), with R relevant items, N judged
    non-relevant ones, and n of these above the item.

    Items without a judgement are ignored. k is ignored too, as the measure is of whole lists.
    Buckley and Voorhees 2004, doi:10.1145/1008992.1009000.
    >>> bpref(from_grades([[0, 1, 1]])).round(4)
    array([0.])
    """
    total_relevant = relevant(r, level)  # R of each query
    total_non_relevant = r.ideal.length - total_relevant  # N
    bound = np.minimum(total_non_relevant, total_relevant)  # min(N, R)
    # n of each hit: a running sum over all lists, less that of the lists before
    non_relevant = np.cumsum(r.retrieved.grade < level)  # NaN, not judged, is not below it
    in_lists_before = np.append(0, non_relevant)[r.retrieved.offset[:-1]]
    hit = r.retrieved.hits(level)
    above = non_relevant[hit.row] - in_lists_before[hit.owner]
    counted = np.minimum(above, total_relevant[hit.owner])  # min(n, R)
    bound_of_hit = bound[hit.owner]
    share = np.nan_to_num(ratio(counted, bound_of_hit))  # 0 without non-relevant ones
    return ratio(hit.total(1 - share), total_relevant)


def auc(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """Per query: the probability that a relevant returned item is ranked above a non-relevant one;
    a tie counts ½.

    >>> auc(from_grades([[1, 0, 1, 0], [1, 1]]))
    array([0.75,  nan])
    """
    groups = _counts_by_query(r, level)
    return _per_query(r, groups, groups.auc)


def gauc(
    r: Rankings, importance: Callable[[GroupedCounts], Floats | Ints], level: float = 1
) -> Sums:
    """The mean of the `auc` of the queries that have one, weighted by their importance, as the
    numerator and the denominator of each query.

    importance: the table of counts by query -> the weight of each.
    """
    groups = _counts_by_query(r, level)
    weight = np.where(np.isnan(groups.auc), np.nan, importance(groups))
    numerator = _per_query(r, groups, weight * groups.auc)
    return Sums(numerator, _per_query(r, groups, weight))


def _counts_by_query(r: Rankings, level: float) -> GroupedCounts:
    """The table from which the AUC of each query with retrieved items follows; its groups are the
    numbers of these queries.
    """
    # any score that falls from rank to rank, and stays the same where a rank is tied with the last
    score = -np.cumsum(~r.retrieved.tied).astype(float)
    return auc_by_group(r.retrieved.grade >= level, score, r.retrieved.owner)


def _per_query(r: Rankings, groups: GroupedCounts, values: Floats) -> Floats:
    """Values of the queries with retrieved items, one per group, as one value per query, NaN for
    the others.
    """
    per_query = np.full(len(r), np.nan)
    per_query[groups.group] = values
    return per_query


def judged(r: Rankings, k: int | None = None) -> Floats:
    """Share of the first k retrieved items that have a judgement. Undefined for an empty list.

    >>> judged(from_grades([[1, float("nan")]]), k=10)
    array([0.5])
    """
    last_rank = np.inf if k is None else k
    is_first = r.retrieved.rank <= last_rank
    has_judgement = ~np.isnan(r.retrieved.grade)
    judged_items = r.retrieved.total(is_first & has_judgement)
    return ratio(judged_items, r.retrieved.total(is_first))


def _tie_order(r: Rankings, sign: int) -> Rankings:
    """The rankings with the grades of items of equal score in ascending (sign 1) or descending
    order (-1); items without a judgement as if their grade was the lowest.
    """
    tie = np.cumsum(~r.retrieved.tied)  # the number of each row's run of equal scores
    grade = np.nan_to_num(r.retrieved.grade, nan=-1.0)
    order = np.lexsort((sign * grade, tie))
    retrieved = replace(r.retrieved, grade=r.retrieved.grade[order])
    return replace(r, retrieved=retrieved)


def worst_ties(r: Rankings) -> Rankings:
    """Return the rankings with the lowest grade first among equal scores.

    >>> both = Lists(np.array([1.0, 0.0]), np.array([False, True]), np.array([0, 2]))
    >>> worst_ties(Rankings(np.array(["q"]), both, both)).retrieved.grade
    array([0., 1.])
    """
    return _tie_order(r, 1)


def best_ties(r: Rankings) -> Rankings:
    """Return the rankings with the highest grade first among equal scores."""
    return _tie_order(r, -1)


# Graded gains -------------------------------------------------------------------------------------

Gain = Callable[[Floats], Floats]
ANY = float(np.nextafter(0, 1))  # a relevance level that each grade above 0 reaches


def linear(grade: Floats) -> Floats:
    """The grade itself."""
    return grade


def exponential(grade: Floats) -> Floats:
    """2^grade − 1. Raises InputError above 1023, where a double overflows."""
    too_high = grade[grade > 1023]
    if too_high.size:
        raise InputError(f"grade must be at most 1023 for an exponential gain, got {too_high[0]:g}")
    return np.exp2(grade) - 1


def binary(level: float = 1) -> Gain:
    """The gain function that is 1 for a grade at or above the level, else 0."""
    return lambda grade: (grade >= level).astype(float)


def _graded(lists: Lists, k: int | None) -> Hits:
    """The rows with a grade above 0 in the first k ranks."""
    return lists.hits(ANY).first(k)


def _discounted(lists: Lists, k: int | None, gain: Gain) -> Floats:
    """The DCG of the first k ranks of each list, Σ gain(grade) / log2(rank + 1); 0 without
    grades above 0.
    """
    graded = _graded(lists, k)
    gains = gain(lists.grade[graded.row])
    discount = np.log2(graded.rank + 1)
    return graded.total(gains / discount)


def cg(r: Rankings, k: int | None = None) -> Floats:
    """Cumulative gain: the sum of the grades of the first k.

    >>> from evalkit.metrics.rankings import from_grades
    >>> cg(from_grades([[5, 3, 2, 1, 2]]))
    array([13.])
    """
    graded = _graded(r.retrieved, k)
    grade = r.retrieved.grade[graded.row]
    return defined(r, ANY, graded.total(grade))


def dcg(r: Rankings, k: int | None = None, gain: Gain = linear) -> Floats:
    """Discounted cumulative gain: Σ gain(grade) / log2(rank + 1) over the first k.

    >>> from evalkit.metrics.rankings import from_grades
    >>> dcg(from_grades([[3, 1, 2, 3, 2]])).round(6)
    array([6.696665])
    """
    return defined(r, ANY, _discounted(r.retrieved, k, gain))


def ndcg(r: Rankings, k: int | None = None, gain: Gain = linear) -> Floats:
    """DCG@k / DCG@k of all judged items in their best order. Undefined if the latter is 0.

    Järvelin and Kekäläinen 2002, doi:10.1145/582415.582418, with the discount log2(rank + 1) that
    is usual today.
    >>> from evalkit.metrics.rankings import from_grades
    >>> ndcg(from_grades([[3, 1, 2, 3, 2]])).round(6)
    array([0.937778])
    """
    return ratio(_discounted(r.retrieved, k, gain), _discounted(r.ideal, k, gain))


def err(r: Rankings, k: int | None = None) -> Floats:
    """Expected reciprocal rank: Σ 1/rank · P(the user stops there). A user who arrives at an item
    stops, being satisfied, with the probability (2^grade − 1) / 2^top_grade, else goes on.

    Chapelle, Metzler, Zhang and Grinspan 2009, doi:10.1145/1645953.1646033. The top grade is that
    of the whole scale. k: the cut-off; None for whole lists. Undefined without a judged grade above
    0.
    >>> from evalkit.metrics.rankings import from_grades
    >>> err(from_grades([[1, 1]])).round(4)
    array([0.625])
    """
    # only rows with a grade above 0: no user stops at another one, so that they add nothing
    graded = _graded(r.retrieved, k)
    grade = r.retrieved.grade[graded.row]
    stop = np.exp2(grade - r.top_grade) - np.exp2(-r.top_grade)
    # 1 − stop is at least 2^−top. From a top grade of 53 on a double cannot tell this from 0: the
    # bound keeps the logarithm finite.
    stop = np.minimum(stop, 1 - 2.0**-53)
    # P(arrive) is the product of 1 − stop over the rows before, by sums of logarithms in each list
    log_arrive = _sums_before(np.log1p(-stop), graded.owner)
    stops_here = stop * np.exp(log_arrive)
    expected = graded.total(stops_here / graded.rank)
    return defined(r, ANY, expected)  # NaN for a query without a judged grade above 0


def _sums_before(values: Floats, owner: Ints) -> Floats:
    """For each value the sum of the values before it in its list. owner: for each value the number
    of its list, ascending.

    No sum runs on from one list to the next, so that the result of a list is the same to the last
    bit, whatever the other lists are. For speed many lists are added up at once, as the lines of a
    table. The lists of a table have lengths that round up to the same power of two, so that little
    of it is padding.

    >>> _sums_before(np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 0, 0, 3]))
    array([0., 1., 3., 0.])
    """
    _, start, size = np.unique(owner, return_index=True, return_counts=True)
    index_in_list = np.arange(len(owner)) - np.repeat(start, size)
    list_of_value = run_numbers(size)  # lists without values have no number here
    # the width of the table that a list is in: its length, rounded up to a power of two
    exponent = np.ceil(np.log2(size))
    width_of_list = 1 << exponent.astype(np.int64)
    sums = np.zeros(len(values))
    for width in np.unique(width_of_list):
        lists = np.flatnonzero(width_of_list == width)
        is_in_lists = width_of_list[list_of_value] == width
        rows = np.flatnonzero(is_in_lists)  # the indices of the values of these lists
        line = np.searchsorted(lists, list_of_value[rows])
        table = np.zeros((len(lists), width + 1))  # one line per list; its first column stays 0
        table[line, index_in_list[rows] + 1] = values[rows]
        # one column to the left of a value is the sum of the values before it
        sums[rows] = np.cumsum(table, axis=1)[line, index_in_list[rows]]
    return sums

"""Scores of any number of rows in a bounded number of bins, the same for every order of rows,
sharding and engine.

The code of a score is the bits of its float, in the order of the scores. Codes that differ only in
their last `shift` bits share a bin. The shift is the smallest that leaves at most `max_bins` bins,
0 if there are no more distinct scores; it depends on the set of scores alone, so that grids can be
merged in any order. Every bin keeps its lowest and its highest score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, quotient, ratio
from evalkit.limits import USUAL_LIMITS
from evalkit.metrics.counts import Counts, Weights, ordered, runs, steps, with_label

MAX_BINS = USUAL_LIMITS.bins
STEP = 2**15  # codes processed at once: they stay in the cache
ROOM = 2**62  # codes of a smaller absolute value leave one of their 64 bits unused
MAX_SHIFT = 63  # codes have 64 bits, into which 2^64 does not fit


@dataclass(frozen=True, eq=False)
class Grid:
    """Rows by number, such as a score, in bins, lowest first; arrays with one element per bin.

    shift: how many of the last bits of their codes the numbers of a bin may differ in. low, high:
    the codes of the lowest and of the highest number in each bin. sums: columns of the rows, each
    added up by bin; for scores the numbers of positives and of negatives. cut: the code of a
    threshold at which a bin begins, so that the rows at or above it are counted exactly, or None.
    """

    shift: int
    low: Ints
    high: Ints
    sums: tuple[np.ndarray, ...]
    cut: int | None = None

    @property
    def positive(self) -> Ints:
        """The number of positives in each bin."""
        return self.sums[0]

    @property
    def negative(self) -> Ints:
        """The number of negatives in each bin."""
        return self.sums[1]

    @property
    def exact(self) -> Bools:
        """True for each bin whose scores are all equal."""
        is_exact: Bools = self.low == self.high
        return is_exact


def codes(score: Floats) -> Ints:
    """Whole numbers of 64 bits in the order of finite scores; equal scores, also -0.0 and 0.0, have
    equal codes.

    >>> codes(np.array([-0.0, 0.0, -1.5, 2.0])).argsort(kind="stable")
    array([2, 0, 1, 3])
    """
    return ordered((score + 0.0).view(np.int64))


def code_of(score: float) -> int:
    """The code of one score."""
    (code,) = codes(np.array([score]))
    return int(code)


def scores(code: Ints) -> Floats:
    """The scores that these codes stand for.

    >>> scores(codes(np.array([-1.5, 0.0, 2.0])))
    array([-1.5,  0. ,  2. ])
    """
    return ordered(code).view(np.float64)


def bin_scores(
    score: Floats,
    label: Bools,
    weight: Ints | None = None,
    *,
    max_bins: int = MAX_BINS,
    cut: float | None = None,
) -> Grid:
    """Count positive and negative rows in at most `max_bins` bins of the score; each distinct score
    is a bin if there are no more. Bins are made of the codes of the scores: their bits as whole
    numbers, in the order of the scores.

    label: True for positives. weight: whole numbers, because the sum of real numbers would depend
    on the order of the rows. cut: a threshold at which a bin begins.

    >>> g = bin_scores(np.array([0.8, 0.5, 0.5, 0.3]), np.array([True, True, False, False]))
    >>> g.shift, g.positive, g.negative
    (0, array([0, 1, 1]), array([1, 1, 0]))
    """
    cut_code = None if cut is None else code_of(cut)
    if weight is not None:
        positive_and_negative = [np.where(label, weight, 0), np.where(label, 0, weight)]
        return binned(codes(score), positive_and_negative, max_bins, cut_code)
    # Without weights only a label belongs to each score. For speed it becomes a further bit of the
    # code, so that one sort is for both.
    labelled_codes = with_labels(score, label, cut_code)
    if labelled_codes is not None:
        return labelled(labelled_codes, max_bins, cut_code)
    # Some code has no free bit. The codes of all rows are sorted to make the bins. The codes of the
    # positives are sorted too, so that a search counts them below the first code of each bin.
    code = codes(score)
    positive_code = np.sort(code[label])
    code.sort()
    split = bins(code, min_shift=0, max_bins=max_bins, cut=cut_code)
    positives_below_bin = np.searchsorted(positive_code, code[split.start])
    positive = np.diff(positives_below_bin, append=len(positive_code))
    negative = split.size - positive
    return Grid(
        split.shift,
        low=code[split.start],
        high=code[split.last],
        sums=(positive, negative),
        cut=cut_code,
    )


def bin_values(values: Floats, weight: Ints | None = None, *, max_bins: int = MAX_BINS) -> Grid:
    """Count values without classes in at most `max_bins` bins. In the grid `positive` is the number
    of rows of each bin, and `negative` is their weight.

    weight: whole numbers; if None, each row weighs 1.

    >>> g = bin_values(np.array([2.5, -1.0, 2.5]), np.array([1, 4, 2]))
    >>> scores(g.low).tolist(), g.positive.tolist(), g.negative.tolist()
    ([-1.0, 2.5], [1, 2], [4, 3])
    """
    code = codes(values)
    if weight is not None:
        return binned(code, (np.ones(len(code), np.int64), weight), max_bins)
    code.sort()  # faster than `binned`, as no column has to follow
    split = bins(code, min_shift=0, max_bins=max_bins, cut=None)
    rows = split.size  # of each bin, and also their weight
    return Grid(
        split.shift, low=code[split.start], high=code[split.last], sums=(rows, rows), cut=None
    )


def with_labels(score: Floats, label: Bools, cut: int | None = None) -> Ints | None:
    """The codes of scores, each followed by its label as one more bit, for `labelled`; None if the
    code of a score, or of the cut, leaves no bit free.
    """
    cut_has_room = cut is None or abs(cut) < ROOM
    return with_label(score, label) if cut_has_room else None


def labelled(code: Ints, max_bins: int, cut: int | None) -> Grid:
    """Count positive and negative rows in at most `max_bins` bins of the score, by one sort for
    scores and labels.

    code: one per row, of `with_labels`: the code of the score, whose last bit is the label; the
    array is overwritten. cut: the code of a score, without a label, at which a bin begins.
    """
    code.sort()
    cut_with_label = None if cut is None else cut << 1
    # codes that differ in the last `shift` bits share a bin: with 1 or more the label does not
    # part equal scores
    split = bins(code, min_shift=1, max_bins=max_bins, cut=cut_with_label)
    low = code[split.start] >> 1
    high = code[split.last] >> 1
    code &= 1  # only the labels are left
    positive = np.add.reduceat(code, split.start)
    negative = split.size - positive
    shift_without_label = split.shift - 1
    return Grid(shift_without_label, low, high, sums=(positive, negative), cut=cut)


def binned(code: Ints, columns: Sequence[Ints], max_bins: int, cut: int | None = None) -> Grid:
    """Add up columns of whole numbers in at most `max_bins` bins of the codes.

    code: of each row. columns: one number per row each.
    """
    order = np.argsort(code)
    code = code[order]
    sorted_columns = tuple(column[order] for column in columns)
    one_bin_per_row = Grid(0, code, code, sorted_columns, cut)
    return pooled(one_bin_per_row, max_bins)


def merge(grids: Sequence[Grid], max_bins: int = MAX_BINS) -> Grid:
    """The grid of the rows of all grids, which have the same columns and cut, in at most `max_bins`
    bins.

    >>> rows = np.array([0.8, 0.5]), np.array([True, False])
    >>> merge([bin_scores(*rows), bin_scores(*rows)]).positive
    array([0, 2])
    """
    low = np.concatenate([table.low for table in grids])
    high = np.concatenate([table.high for table in grids])
    # the grids are sorted already: a stable sort merges them
    order = np.argsort(low, kind="stable")
    columns = zip(*(table.sums for table in grids), strict=True)
    all_sums = map(np.concatenate, columns)
    sums = tuple(column[order] for column in all_sums)
    # the shift is how many last bits the codes of a bin may differ in
    widest_shift = max(table.shift for table in grids)
    # all bins one after another: `pooled` puts those together that share a bin at the new shift
    bins_of_all = Grid(widest_shift, low[order], high[order], sums, cut=grids[0].cut)
    return pooled(bins_of_all, max_bins)


def pooled(g: Grid, max_bins: int) -> Grid:
    """The grid with neighbouring bins put together, so that at most `max_bins` are left: codes that
    differ only in their last `shift` bits share a bin, with the smallest shift that leaves so few,
    not below that of `g`.
    """
    split = bins(g.low, min_shift=g.shift, max_bins=max_bins, cut=g.cut)
    if len(split.start) == len(g.low):  # each bin stays as it is, but the shift may be larger now
        return replace(g, shift=split.shift)
    # `low` is sorted. `high` may not be, as bins of two merged grids may overlap. But each bin lies
    # within one new bin, so that `high`, sorted by itself, is cut at the same places as `low`. If
    # both are one array, `high` is sorted already.
    high = g.high if g.high is g.low else np.sort(g.high)
    sums = tuple(_sums_by_bin(column, split) for column in g.sums)
    return Grid(split.shift, g.low[split.start], high[split.last], sums, cut=g.cut)


def _sums_by_bin(column: np.ndarray, split: Split) -> np.ndarray:
    """The numbers of a column added up in each bin of the split: of whole numbers by differences of
    running totals, which is faster and exact.
    """
    if column.dtype.kind == "f":
        return np.add.reduceat(column, split.start)
    totals = np.cumsum(column)[split.last]
    return np.diff(totals, prepend=0)


# Bins of sorted codes -----------------------------------------------------------------------------

# the sample from which the shift is guessed: this many runs of neighbouring codes, of this length
SAMPLED_RUNS = 64
RUN_LENGTH = 1024


class Split(NamedTuple):
    """Sorted codes in bins: the first index and the number of codes of each bin. Codes of one bin
    differ only in their last `shift` bits.
    """

    shift: int
    start: Ints
    size: Ints

    @property
    def last(self) -> Ints:
        """The last index of each bin."""
        return self.start + self.size - 1


def bins(sorted_codes: Ints, min_shift: int, max_bins: int, cut: int | None) -> Split:
    """Split codes (whole numbers in the order of the scores, see `codes`) into at most `max_bins`
    bins. Codes that differ only in their last `shift` bits share a bin. The shift is the smallest,
    from `min_shift` on, with which there are so few bins.

    sorted_codes: ascending. cut: a code at which a bin begins in any case. To count the bins of a
    shift takes a pass over all codes. So the shift is guessed from a sample, and then corrected
    step by step.

    >>> tuple(bins(np.array([0, 1, 2, 3, 8, 9]), 0, 4, cut=3))
    (1, array([0, 2, 3, 4]), array([2, 1, 1, 2]))
    """
    # a border is where a bin begins after the first one; one is kept free for the cut
    max_borders = max_bins - 1
    if cut is not None:
        max_borders -= 1
    shift = min_shift
    if len(sorted_codes) > max_borders:
        shift = _guessed_shift(sorted_codes, min_shift, max_borders)
    begins = _bin_begins(sorted_codes, shift)
    # the guess may be too narrow; the first bin begins without a border
    while np.count_nonzero(begins) - 1 > max_borders:
        shift += 1
        begins = _bin_begins(sorted_codes, shift)
    # the guess may be too wide: a smaller shift is taken while it has few enough bins
    while shift > min_shift:
        narrower = _bin_begins(sorted_codes, shift - 1)
        if np.count_nonzero(narrower) - 1 > max_borders:
            break
        shift -= 1
        begins = narrower
    if cut is not None:
        # A bin begins at the first code that is not below the cut. If all are below it, the slice
        # is empty.
        at_cut = int(np.searchsorted(sorted_codes, cut))
        begins[at_cut : at_cut + 1] = True
    start = np.flatnonzero(begins)
    return Split(shift, start, np.diff(start, append=len(sorted_codes)))


def _guessed_shift(sorted_codes: Ints, min_shift: int, max_borders: int) -> int:
    """A guess of the smallest shift, from `min_shift` on, with at most `max_borders` borders
    between bins. It is made from a sample: `SAMPLED_RUNS` runs of neighbouring codes, or all codes
    if they are few.

    There is a border between two neighbouring codes that differ in a bit above their last `shift`
    bits.
    """
    n = len(sorted_codes)
    sample = sorted_codes
    if n > 2 * SAMPLED_RUNS * RUN_LENGTH:
        starts = range(0, n, n // SAMPLED_RUNS)
        sample = np.concatenate([sorted_codes[start : start + RUN_LENGTH] for start in starts])
    max_borders_in_sample = max_borders * len(sample) // n  # the same share of borders
    different_bits = (sample[1:] ^ sample[:-1]).view(np.uint64)  # of each two neighbours
    if max_borders_in_sample >= len(different_bits):  # a border between all neighbours is allowed
        return min_shift
    # As many neighbours as there may be borders, with the largest differences, get one. The next
    # smaller difference lies inside a bin: the shift has to cover its highest bit.
    ascending_index = len(different_bits) - 1 - max_borders_in_sample
    largest_inside_bin = int(np.partition(different_bits, ascending_index)[ascending_index])
    return min(max(largest_inside_bin.bit_length(), min_shift), MAX_SHIFT)


def _bin_begins(sorted_codes: Ints, shift: int) -> Bools:
    """True for each of the sorted codes at which a bin begins: the first one, and each that differs
    from the one before in more than its last `shift` bits.
    """
    bits = sorted_codes.view(np.uint64)
    begins = np.ones(len(bits), bool)
    after_first = begins[1:]  # a view: what is written into it stands in `begins`
    for start in range(0, len(after_first), STEP):  # pieces that stay in the processor's cache
        end = min(start + STEP, len(after_first))
        different_bits = bits[start + 1 : end + 1] ^ bits[start:end]
        # a number of at least 2^shift has a bit above the last `shift`
        np.greater_equal(different_bits, np.uint64(1 << shift), out=after_first[start:end])
    return begins


# Counts and metrics of the bins -------------------------------------------------------------------


def counts(g: Grid, scale: float = 1.0) -> Counts:
    """The table of positives and negatives at or above each threshold; the thresholds are the
    lowest scores of the bins with rows, highest first, so that these counts are exact.

    scale: the weight that a 1 in the bins represents.

    >>> counts(bin_scores(np.array([0.8, 0.5, 0.5]), np.array([True, True, False]))).tp
    array([1, 2])
    """
    filled = _filled_bins(g)
    tp: Weights = np.cumsum(g.positive[filled])
    fp: Weights = np.cumsum(g.negative[filled])
    if scale != 1:
        tp = tp * scale
        fp = fp * scale
    threshold = np.ascontiguousarray(scores(g.low[filled]))
    return Counts.from_columns(threshold, tp, fp)


def _filled_bins(g: Grid) -> Ints | slice:
    """The bins with rows, highest scores first, as an index into the columns of the grid."""
    filled = (g.positive > 0) | (g.negative > 0)
    highest_first = slice(None, None, -1)
    return highest_first if filled.all() else np.flatnonzero(filled)[highest_first]


def middles(g: Grid) -> Floats:
    """The midpoint of the lowest and the highest score of each bin with rows, highest first: one
    per threshold of `counts`.
    """
    filled = _filled_bins(g)
    low = scores(g.low[filled])
    high = scores(g.high[filled])
    middle = np.empty(len(low))
    for start in range(0, len(low), STEP):  # pieces that stay in the processor's cache
        piece = slice(start, start + STEP)
        # Each is halved first, because the sum of two very large scores would be infinite.
        np.divide(low[piece], 2, out=middle[piece])
        middle[piece] += high[piece] / 2
        # halving rounds the smallest floats: a bin of a single score keeps its score
        np.copyto(middle[piece], low[piece], where=low[piece] == high[piece])
    return middle


def pools_scores(g: Grid) -> Bools:
    """True for each threshold of `counts` that stands for several distinct scores."""
    filled = (g.positive + g.negative) > 0
    return ~g.exact[filled][::-1]


class ExtremeOrders(NamedTuple):
    """A grid with the worst and with the best possible order of the scores within its bins."""

    worst: Grid
    best: Grid


def extreme_orders(g: Grid) -> ExtremeOrders:
    """The two extremes of how the rows of each bin may be ordered: a grid in which its positives
    have its lowest score and its negatives its highest (worst), and one the other way round (best).

    The value of a metric that rises if a positive moves up and a negative down lies between its
    values for the two.

    >>> g = bin_scores(np.array([1.0, 1.1, 3.0]), np.array([True, False, True]), max_bins=2)
    >>> orders = extreme_orders(g)
    >>> counts(orders.worst).fp, counts(orders.best).fp
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    shift = 0  # no bits are dropped, as each new bin has one score
    has_several_scores = ~g.exact
    # A bin with several scores becomes two: one at its lowest score, in its place among all bins,
    # and one at its highest score, which is appended. The sort brings all into the order of scores.
    code = np.concatenate([g.low, g.high[has_several_scores]])
    order = np.argsort(code, kind="stable")
    code = code[order]
    # the rows of each new bin, if those of an old one are all at its lowest or its highest score
    positives_low = _at_lowest(g.positive, has_several_scores)[order]
    positives_high = _at_highest(g.positive, has_several_scores)[order]
    negatives_low = _at_lowest(g.negative, has_several_scores)[order]
    negatives_high = _at_highest(g.negative, has_several_scores)[order]
    return ExtremeOrders(
        worst=Grid(shift, low=code, high=code, sums=(positives_low, negatives_high), cut=g.cut),
        best=Grid(shift, low=code, high=code, sums=(positives_high, negatives_low), cut=g.cut),
    )


def _at_lowest(rows: Ints, has_several_scores: Bools) -> Ints:
    """The rows of each bin at its lowest score, then none at the highest scores of the bins that
    have several.
    """
    none = np.zeros_like(rows[has_several_scores])
    return np.concatenate([rows, none])


def _at_highest(rows: Ints, has_several_scores: Bools) -> Ints:
    """No rows at the lowest score of a bin that has several, then its rows at its highest score."""
    return np.concatenate([np.where(has_several_scores, 0, rows), rows[has_several_scores]])


def auc_width(c: Counts, pooled_scores: Bools) -> float:
    """The largest possible error of AUC from binning: half the pairs of a positive and a negative
    that share a bin / all such pairs.

    In a bin with several scores such a pair counts one half, whereas it counts 0 or 1 if the two
    scores differ. pooled_scores: True for each threshold that stands for several scores, see
    `pools_scores`.

    >>> rows = np.array([1.0, 1.1, 3.0]), np.array([True, False, True])
    >>> auc_width(counts(bin_scores(*rows, max_bins=2)), np.array([False, True]))
    0.25
    """
    pairs = 0.0
    # by runs of thresholds, whose arrays stay in the cache
    for step, pooled_here in zip(steps(c), runs(pooled_scores), strict=False):
        positives_in_pools = np.where(pooled_here, step.p, 0.0)
        pairs += np.dot(positives_in_pools, step.n)
    return quotient(pairs, 2.0 * c.pairs)


class Range(NamedTuple):
    """The smallest and the largest value that is possible."""

    low: float
    high: float


def average_precision_limits(c: Counts, pooled_scores: Bools) -> Range:
    """The smallest and the largest average precision that is possible for the scores before
    binning.

    With T positives and M rows above a bin of p positives and n negatives, the precision at these
    positives is at least T / (M + n), as if all negatives of the bin stood before them, and at most
    (T + p) / (M + p), as if all stood behind them. pooled_scores: True for each threshold of `c`
    that stands for a bin of several scores.

    >>> rows = np.array([1.0, 1.1, 3.0]), np.array([True, False, True])
    >>> c = counts(bin_scores(*rows, max_bins=2))
    >>> limits = average_precision_limits(c, pooled_scores=np.array([False, True]))
    >>> [round(limit, 4) for limit in limits]
    [0.75, 1.0]
    """
    lowest_sum = highest_sum = 0.0  # of the precisions at all positives
    # by runs of thresholds, whose arrays stay in the cache
    for step, is_pooled in zip(steps(c), runs(pooled_scores), strict=False):
        rows = step.tp + step.fp  # M + p + n; step.tp is T + p
        precision = step.tp / rows  # exact for a bin of one score
        lowest = ratio(step.tp - step.p, rows - step.p)  # T / (M + n)
        highest = ratio(step.tp, rows - step.n)  # (T + p) / (M + p)
        # If all rows so far are positives of this bin, `lowest` is 0 / 0. They have precision 1, as
        # `precision` says.
        has_other_rows = is_pooled & (rows > step.p)
        worst = np.where(has_other_rows, lowest, precision)
        best = np.where(is_pooled, highest, precision)
        best = np.where(step.p > 0, best, 0)  # in a bin without positives it may be NaN
        lowest_sum = lowest_sum + np.dot(step.p, worst)
        highest_sum = highest_sum + np.dot(step.p, best)
    return Range(quotient(lowest_sum, c.positives), quotient(highest_sum, c.positives))


# Weights as whole numbers -------------------------------------------------------------------------


def scale_of(largest: float, rows: int, *, integers: bool) -> float:
    """The unit in which weights are counted as whole numbers, a power of two: sums of whole numbers
    are independent of their order.

    largest: the largest weight, above 0. rows: their number. integers: True if all weights are
    whole numbers. The unit is then 1. Otherwise it is as small as possible while the sum of all
    weights, in units, surely fits 62 bits.

    >>> scale_of(3.0, 1000, integers=True), scale_of(2.5, 1000, integers=False) == 2.0**-50
    (1.0, True)
    """
    if integers:
        return 1.0
    bits_of_weight = np.ceil(np.log2(largest))
    bits_of_rows = np.ceil(np.log2(max(rows, 1)))
    bits = bits_of_weight + bits_of_rows  # of the largest sum
    return float(2.0 ** (bits - 62))


def in_units(weight: Floats, scale: float) -> Ints:
    """Weights as whole multiples of the unit `scale`, rounded to the nearest."""
    multiple = np.rint(weight / scale)
    return multiple.astype(np.int64)

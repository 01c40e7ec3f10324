"""Scores of any number of rows in a bounded number of bins, the same for every order of rows,
sharding and engine.

The code of a score is the bits of its float, in the order of the scores. Codes that differ only in
their last `shift` bits share a bin. The shift is the smallest that leaves at most `max_bins` bins,
0 if there are no more distinct scores; it depends on the set of scores alone, so that grids can be
merged in any order. Every bin keeps its lowest and its highest score.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.limits import USUAL
from evalkit.metrics.counts import Counts, Weights, ordered, runs, steps, with_label

MAX_BINS = USUAL.bins
STEP = 2**15  # codes processed at once: they stay in the cache
ROOM = 2**62  # codes of a smaller absolute value leave one of their 64 bits unused


@dataclass(frozen=True, eq=False)
class Grid:
    """Bins of numbers, lowest first: codes of the lowest and the highest number; all int64.

    sums: the sums of columns over the rows of each bin; for scores the numbers of positives and of
    negatives. cut: the code of a score at which a bin begins, so that the rows at or above it are
    counted exactly, or None.
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
        return np.asarray(self.low == self.high)


def codes(score: Floats) -> Ints:
    """Whole numbers of 64 bits in the order of finite scores; -0.0 equals 0.0.

    >>> codes(np.array([-0.0, 0.0, -1.5, 2.0])).argsort(kind="stable")
    array([2, 0, 1, 3])
    """
    return ordered((score + 0.0).view(np.int64))


def code_of(score: float) -> int:
    """The code of one score."""
    return int(codes(np.array([score]))[0])


def scores(code: Ints) -> Floats:
    """The scores that these codes stand for.

    >>> scores(codes(np.array([-1.5, 0.0, 2.0])))
    array([-1.5,  0. ,  2. ])
    """
    return ordered(code).view(np.float64)


def reduce(
    score: Floats,
    label: Bools,
    weight: Ints | None = None,
    *,
    max_bins: int = MAX_BINS,
    cut: float | None = None,
) -> Grid:
    """The grid of rows. weight: whole numbers, because the sum of real numbers would depend on the
    order of the rows.

    >>> g = reduce(np.array([0.8, 0.5, 0.5, 0.3]), np.array([True, True, False, False]))
    >>> g.shift, g.positive, g.negative
    (0, array([0, 1, 1]), array([1, 1, 0]))
    """
    cut_code = None if cut is None else code_of(cut)
    if weight is not None:
        columns = np.where(label, weight, 0), np.where(label, 0, weight)
        return binned(codes(score), columns, max_bins, cut_code)
    labelled_codes = with_labels(score, label, cut_code)
    if labelled_codes is not None:
        return labelled(labelled_codes, max_bins, cut_code)
    code = codes(score)
    hits = np.sort(code[label])
    code.sort()
    split = bins(code, min_shift=0, max_bins=max_bins, cut=cut_code)
    hits_below = np.searchsorted(hits, code[split.start])
    positive = np.diff(hits_below, append=len(hits))
    return Grid(
        split.shift,
        code[split.start],
        code[split.last],
        (positive, split.size - positive),
        cut_code,
    )


def tally(values: Floats, weight: Ints | None = None, *, max_bins: int = MAX_BINS) -> Grid:
    """The grid of numbers without classes: `positive` has the rows of each bin, `negative` the sum
    of their weights.

    weight: whole numbers; if None, `negative` is the number of rows.

    >>> g = tally(np.array([2.5, -1.0, 2.5]), np.array([1, 4, 2]))
    >>> scores(g.low).tolist(), g.positive.tolist(), g.negative.tolist()
    ([-1.0, 2.5], [1, 2], [4, 3])
    """
    code = codes(values)
    if weight is not None:
        return binned(code, (np.ones(len(code), np.int64), weight), max_bins)
    code.sort()
    split = bins(code, min_shift=0, max_bins=max_bins, cut=None)
    return Grid(split.shift, code[split.start], code[split.last], (split.size, split.size))


def with_labels(score: Floats, label: Bools, cut: int | None = None) -> Ints | None:
    """The codes of scores with the label as last bit; None if they, or the cut, have no bit to
    spare.
    """
    return with_label(score, label) if abs(cut or 0) < ROOM else None


def labelled(code: Ints, max_bins: int, cut: int | None) -> Grid:
    """The grid of codes whose last bit is the label; they are overwritten.

    cut: the code at which a bin begins, without a label.
    """
    code.sort()
    cut_with_label = None if cut is None else cut << 1
    # shifted by at least the bit of the label, which must not part equal scores
    split = bins(code, min_shift=1, max_bins=max_bins, cut=cut_with_label)
    low = code[split.start] >> 1
    high = code[split.last] >> 1
    code &= 1  # the labels are left
    positive = np.add.reduceat(code, split.start)
    return Grid(split.shift - 1, low, high, (positive, split.size - positive), cut)


def binned(code: Ints, columns: Sequence[Ints], max_bins: int, cut: int | None = None) -> Grid:
    """The grid of rows with these codes and whole numbers, which are added up by bin."""
    order = np.argsort(code)
    code = code[order]
    sums = tuple(column[order] for column in columns)
    return pooled(Grid(0, code, code, sums, cut), max_bins)


def merge(grids: Sequence[Grid], max_bins: int = MAX_BINS) -> Grid:
    """The grid of the rows of all grids.

    >>> rows = np.array([0.8, 0.5]), np.array([True, False])
    >>> merge([reduce(*rows), reduce(*rows)]).positive
    array([0, 2])
    """
    low = np.concatenate([table.low for table in grids])
    high = np.concatenate([table.high for table in grids])
    # the grids are sorted already: a stable sort merges them
    order = np.argsort(low, kind="stable")
    columns = zip(*(table.sums for table in grids), strict=True)
    sums = tuple(np.concatenate(column)[order] for column in columns)
    shift = max(table.shift for table in grids)
    return pooled(Grid(shift, low[order], high[order], sums, grids[0].cut), max_bins)


def pooled(g: Grid, max_bins: int) -> Grid:
    """Pool neighbouring bins at the smallest shift, not below that of `g`, that leaves at most
    `max_bins` bins.
    """
    split = bins(g.low, g.shift, max_bins, g.cut)
    if len(split.start) == len(g.low):
        return replace(g, shift=split.shift)
    # A bin lies within one of the new bins, so that these have the same places in the order of the
    # highest scores.
    high = g.high if g.high is g.low else np.sort(g.high)  # one array if no bin has several scores
    sums = tuple(_by_bin(column, split) for column in g.sums)
    return Grid(split.shift, g.low[split.start], high[split.last], sums, g.cut)


def _by_bin(column: np.ndarray, split: Split) -> np.ndarray:
    """The sums of neighbouring numbers: of whole numbers by differences of running totals."""
    if column.dtype.kind == "f":
        return np.add.reduceat(column, split.start)
    totals = np.cumsum(column)[split.last]
    return np.diff(totals, prepend=0)


# Bins of sorted codes -----------------------------------------------------------------------------

# number and length of the runs of sorted codes from which the shift is guessed
STRETCHES = 64
LENGTH = 1024


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


def bins(low: Ints, min_shift: int, max_bins: int, cut: int | None) -> Split:
    """Split sorted codes by the smallest shift, not below `min_shift`, that leaves at most
    `max_bins` bins.

    cut: a code at which a bin begins in any case. The shift is estimated from a sample of the codes
    and then corrected step by step, because counting bins reads all codes.

    >>> tuple(bins(np.array([0, 1, 2, 3, 8, 9]), 0, 4, cut=3))
    (1, array([0, 2, 3, 4]), array([2, 1, 1, 2]))
    """
    room = max_bins - 1 - (cut is not None)  # for bins that begin after the first, not at the cut
    shift = min_shift if len(low) <= room else _guessed_shift(low, min_shift, room)
    begins = _bin_begins(low, shift)
    while np.count_nonzero(begins) - 1 > room:
        shift += 1
        begins = _bin_begins(low, shift)
    while shift > min_shift:
        narrower = _bin_begins(low, shift - 1)
        if np.count_nonzero(narrower) - 1 > room:
            break
        shift -= 1
        begins = narrower
    if cut is not None:
        first_above = int(np.searchsorted(low, cut))
        begins[first_above : first_above + 1] = True  # nothing, if all codes are below the cut
    start = np.flatnonzero(begins)
    return Split(shift, start, np.diff(start, append=len(low)))


def _guessed_shift(low: Ints, min_shift: int, room: int) -> int:
    """The smallest shift, not below `min_shift`, at which about `room` bins begin after the first,
    from a sample of sorted codes.
    """
    sample = low
    if len(low) > 2 * STRETCHES * LENGTH:
        starts = range(0, len(low), len(low) // STRETCHES)
        sample = np.concatenate([low[start : start + LENGTH] for start in starts])
    allowed = room * len(sample) / len(low)
    different_bits = (sample[1:] ^ sample[:-1]).view(np.uint64)

    def fits(shift: int) -> bool:
        """True if the codes of the sample are in few enough bins."""
        borders = np.count_nonzero(different_bits >= np.uint64(1 << shift))
        return int(borders) <= allowed

    # the first shift that fits; once one fits, all wider ones do
    return min_shift + bisect_left(range(min_shift, 63), x=True, key=fits)


def _bin_begins(low: Ints, shift: int) -> Bools:
    """True for the first code and for each that differs from the one before in more than its last
    `shift` bits.
    """
    bits = low.view(np.uint64)
    begins = np.ones(len(bits), bool)
    after_first = begins[1:]
    for start in range(0, len(after_first), STEP):
        end = min(start + STEP, len(after_first))
        different_bits = bits[start + 1 : end + 1] ^ bits[start:end]
        np.greater_equal(different_bits, np.uint64(1 << shift), out=after_first[start:end])
    return begins


# Counts and metrics of the bins -------------------------------------------------------------------


def counts(g: Grid, scale: float = 1.0) -> Counts:
    """Counts with the lowest score of each bin as threshold: the rows at or above it are counted
    exactly.

    scale: the weight that a 1 in the bins represents.

    >>> counts(reduce(np.array([0.8, 0.5, 0.5]), np.array([True, True, False]))).tp
    array([1, 2])
    """
    filled = _filled_bins(g)
    tp: Weights = np.cumsum(g.positive[filled])
    fp: Weights = np.cumsum(g.negative[filled])
    if scale != 1:
        tp = tp * scale
        fp = fp * scale
    return Counts.of(np.ascontiguousarray(scores(g.low[filled])), tp, fp)


def _filled_bins(g: Grid) -> Ints | slice:
    """The indices of the bins that hold a row, highest first."""
    filled = (g.positive > 0) | (g.negative > 0)
    return slice(None, None, -1) if filled.all() else np.flatnonzero(filled)[::-1]


def middles(g: Grid) -> Floats:
    """The midpoint of the lowest and the highest score of each bin, in the order of `counts`."""
    filled = _filled_bins(g)
    low = scores(g.low[filled])
    high = scores(g.high[filled])
    middle = np.empty(len(low))
    for start in range(0, len(low), STEP):
        piece = slice(start, start + STEP)
        # Each is halved first, because the sum of two very large scores would be infinite.
        np.divide(low[piece], 2, out=middle[piece])
        middle[piece] += high[piece] / 2
        # half of the smallest numbers is rounded: a bin of one score keeps it
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
    """The grids in which the positives are lowest, and highest, in each bin.

    The value of a metric that rises if a positive moves up and a negative down lies between its
    values for the two.

    >>> g = reduce(np.array([1.0, 1.1, 3.0]), np.array([True, False, True]), max_bins=2)
    >>> orders = extreme_orders(g)
    >>> counts(orders.worst).fp, counts(orders.best).fp
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    pooled_bin = ~g.exact
    # a bin of several scores becomes two: one at its lowest score and one at its highest
    code = np.concatenate([g.low, g.high[pooled_bin]])
    order = np.argsort(code, kind="stable")
    code = code[order]

    def at_highest(column: Ints) -> Ints:
        """The rows of each bin at its highest score."""
        moved = column[pooled_bin]
        return np.concatenate([np.where(pooled_bin, 0, column), moved])[order]

    def at_lowest(column: Ints) -> Ints:
        """The rows of each bin at its lowest score."""
        return np.concatenate([column, np.zeros_like(column[pooled_bin])])[order]

    worst = at_lowest(g.positive), at_highest(g.negative)
    best = at_highest(g.positive), at_lowest(g.negative)
    return ExtremeOrders(
        worst=Grid(shift=0, low=code, high=code, sums=worst, cut=g.cut),
        best=Grid(shift=0, low=code, high=code, sums=best, cut=g.cut),
    )


def auc_width(c: Counts, pooled_scores: Bools) -> float:
    """The largest possible error of AUC from binning: half the pairs that share a bin / all pairs.

    pooled_scores: True for each threshold that stands for several scores, see `pools_scores`.

    >>> rows = np.array([1.0, 1.1, 3.0]), np.array([True, False, True])
    >>> auc_width(counts(reduce(*rows, max_bins=2)), np.array([False, True]))
    0.25
    """
    pairs = 0.0
    for step, pooled_here in zip(steps(c), runs(pooled_scores), strict=False):
        pairs += np.dot(np.where(pooled_here, step.p, 0.0), step.n)
    return float(ratio(pairs, 2.0 * c.positives * c.negatives))


class Range(NamedTuple):
    """The smallest and the largest value that is possible."""

    low: float
    high: float


def average_precision_limits(c: Counts, pooled_scores: Bools) -> Range:
    """The smallest and the largest average precision that is possible for the scores before
    binning.

    For a bin with p positives and n negatives, T positives and M rows above it, the precision at
    its positives lies between T / (M + n) and (T + p) / (M + p). pooled_scores: as for `auc_width`.

    >>> rows = np.array([1.0, 1.1, 3.0]), np.array([True, False, True])
    >>> limits = average_precision_limits(
    ...     counts(reduce(*rows, max_bins=2)), np.array([False, True])
    ... )
    >>> [round(limit, 4) for limit in limits]
    [0.75, 1.0]
    """
    low = high = 0.0
    for step, pooled_here in zip(steps(c), runs(pooled_scores), strict=False):
        rows = step.tp + step.fp
        precision = step.tp / rows
        # Where no other row is at or above, the positives of the bin have precision 1.
        below_others = pooled_here & (rows > step.p)
        worst = np.where(below_others, ratio(step.tp - step.p, rows - step.p), precision)
        best = np.where(pooled_here, ratio(step.tp, rows - step.n), precision)
        low = low + np.dot(step.p, worst)
        high = high + np.dot(step.p, np.where(step.p > 0, best, 0))
    return Range(float(ratio(low, c.positives)), float(ratio(high, c.positives)))


# Weights as whole numbers -------------------------------------------------------------------------


def scale_of(largest: float, rows: int, *, integers: bool) -> float:
    """The power of two in which weights are counted, so that sums are whole numbers and independent
    of the order.

    integers: True if all weights are whole numbers: the scale is 1. Otherwise it is the smallest
    for which `rows` times the largest weight fits 62 bits.

    >>> scale_of(3.0, 1000, integers=True), scale_of(2.5, 1000, integers=False) == 2.0**-50
    (1.0, True)
    """
    if integers:
        return 1.0
    bits = np.ceil(np.log2(largest)) + np.ceil(np.log2(max(rows, 1)))  # of the largest sum
    return float(2.0 ** (bits - 62))


def in_units(weight: Floats, scale: float) -> Ints:
    """Weights as whole multiples of the scale, rounded to the nearest, because sums of whole
    numbers are exact.
    """
    return np.rint(weight / scale).astype(np.int64)

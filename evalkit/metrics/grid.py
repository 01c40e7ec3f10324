"""Scores of any number of rows in at most so many bins: the same bins whatever the order, the shards or the engine.

A score's code is its float's bits, ordered as the scores are. Codes that agree but for their last `shift` bits share a
bin; the shift is the least that leaves at most `most` bins, 0 where there are no more distinct scores. It depends on
the set of scores alone, so that states can be merged in any order. Every bin keeps its lowest and its highest score.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.metrics import keys
from evalkit.metrics.counts import Counts, Step, Weights, steps

MOST = 2**20  # bins of a whole table
FEWER = 2**16  # bins of a slice of it
STEP = 2**15  # codes that are worked on at once: they stay in the cache
ROOM = 2**62  # codes below it in size have a bit to spare
STRETCHES, LENGTH = 64, 1024  # of neighbours among codes in order, from which the shift is guessed


@dataclass(frozen=True, eq=False)
class Grid:
    """Bins of scores, lowest first: codes of the lowest and the highest score, sums of both classes; all int64.

    cut: the code of a score at which a bin ends, so that the rows at or above it are counted exactly; None: no such.
    """

    shift: int
    low: Ints
    high: Ints
    positive: Ints
    negative: Ints
    cut: int | None = None

    @property
    def exact(self) -> Bools:
        """The bins whose scores are all equal."""
        return self.low == self.high


def codes(score: Floats) -> Ints:
    """Whole numbers of 64 bits in the order of finite scores; -0.0 equals 0.0.

    >>> codes(np.array([-0.0, 0.0, -1.5, 2.0])).argsort(kind="stable")
    array([2, 0, 1, 3])
    """
    return keys.ordered((score + 0.0).view(np.int64))


def scores(code: Ints) -> Floats:
    """The scores of codes.

    >>> scores(codes(np.array([-1.5, 0.0, 2.0])))
    array([-1.5,  0. ,  2. ])
    """
    return keys.ordered(code).view(np.float64)


def reduce(
    score: Floats, label: Bools, weight: Ints | None = None, *, most: int = MOST, cut: float | None = None
) -> Grid:
    """The bins of rows. weight: whole numbers; sums of real ones would depend on their order.

    >>> g = reduce(np.array([0.8, 0.5, 0.5, 0.3]), np.array([True, True, False, False]))
    >>> g.shift, g.positive, g.negative
    (0, array([0, 1, 1]), array([1, 1, 0]))
    """
    at = None if cut is None else int(codes(np.array([cut]))[0])
    if weight is not None:
        return _weighted(codes(score), label, weight, most, at)
    if abs(at or 0) < ROOM and (both := _with_label(score, label)) is not None:
        return _labelled(both, most, at)
    code = codes(score)
    hits = np.sort(code[label])
    code.sort()
    shift = _shift(code, 0, most, at)
    start = _starts(code, shift, at)
    rows = np.diff(start, append=len(code))
    low, high = code[start], code[start + rows - 1]
    positive = np.diff(np.searchsorted(hits, low), append=len(hits))
    return Grid(shift, low, high, positive, rows - positive, at)


def _with_label(score: Floats, label: Bools) -> Ints | None:
    """Codes with the label as their last bit, so that one sort has both; None where a score is not below 2 in size."""
    both = np.empty(len(score), np.int64)
    for start in range(0, len(score), STEP):
        at = slice(start, start + STEP)
        code = codes(score[at])
        if code.max() >= ROOM or code.min() < -ROOM:
            return None
        code <<= 1
        np.bitwise_or(code, label[at], out=both[at])
    return both


def _labelled(both: Ints, most: int, cut: int | None) -> Grid:
    """The bins of codes whose last bit is the label."""
    both.sort()
    cut_here = None if cut is None else cut << 1
    shift = _shift(both, 1, most, cut_here)
    start = _starts(both, shift, cut_here)
    rows = np.diff(start, append=len(both))
    positive = _ones(both, start)
    return Grid(shift - 1, both[start] >> 1, both[start + rows - 1] >> 1, positive, rows - positive, cut)


def _ones(both: Ints, start: Ints) -> Ints:
    """How many last bits are set from each start to the next; in steps that fit the cache."""
    found = np.empty(len(start) + 1, np.int64)
    edges = np.searchsorted(start, range(0, len(both) + STEP, STEP))
    so_far = 0
    for i, begin in enumerate(range(0, len(both), STEP)):
        bits = both[begin : begin + STEP] & 1
        up_to = np.cumsum(bits)
        at = start[edges[i] : edges[i + 1]] - begin
        found[edges[i] : edges[i + 1]] = so_far + up_to[at] - bits[at]
        so_far += int(up_to[-1])
    found[-1] = so_far
    return np.diff(found)


def _weighted(code: Ints, label: Bools, weight: Ints, most: int, cut: int | None) -> Grid:
    order = np.argsort(code)
    code, weight, label = code[order], weight[order], label[order]
    return _pooled(Grid(0, code, code, np.where(label, weight, 0), np.where(label, 0, weight), cut), most)


def merge(parts: Sequence[Grid], most: int = MOST) -> Grid:
    """The bins of the rows of all parts.

    >>> rows = np.array([0.8, 0.5]), np.array([True, False])
    >>> merge([reduce(*rows), reduce(*rows)]).positive
    array([0, 2])
    """
    low = np.concatenate([one.low for one in parts])
    order = np.argsort(low, kind="stable")  # of runs that are in order already: it merges them
    high, positive, negative = (
        np.concatenate([getattr(one, name) for one in parts])[order] for name in ("high", "positive", "negative")
    )
    shift = max(one.shift for one in parts)
    return _pooled(Grid(shift, low[order], high, positive, negative, parts[0].cut), most)


def _pooled(g: Grid, most: int) -> Grid:
    """Neighbours of one bin together, at the least shift, from the one of `g` up, that leaves at most `most`."""
    shift = _shift(g.low, g.shift, most, g.cut)
    start = _starts(g.low, shift, g.cut)
    if not len(start):
        return g
    high = np.maximum.reduceat(g.high, start)
    return Grid(
        shift, g.low[start], high, np.add.reduceat(g.positive, start), np.add.reduceat(g.negative, start), g.cut
    )


def _shift(low: Ints, least: int, most: int, cut: int | None) -> int:
    """The least shift, from `least` up, that leaves at most `most` bins of codes in order.

    Guessed from some stretches of them, then found by steps from there: every step reads all codes.
    """
    room = most - 1 - (cut is not None)
    if len(low) <= room:
        return least
    some = low
    if len(low) > 2 * STRETCHES * LENGTH:
        some = np.concatenate([low[i : i + LENGTH] for i in range(0, len(low), len(low) // STRETCHES)])
    share = room * len(some) / len(low)
    shift = least + bisect_left(range(least, 63), x=True, key=lambda shift: _bins(some, shift) <= share)
    while _bins(low, shift) > room:
        shift += 1
    while shift > least and _bins(low, shift - 1) <= room:
        shift -= 1
    return shift


def _bins(low: Ints, shift: int) -> int:
    """How many bins begin after the first."""
    return int(np.count_nonzero(_apart(low, shift)))


def _starts(low: Ints, shift: int, cut: int | None) -> Ints:
    """Where the bins of codes in order begin."""
    begins = np.append(True, _apart(low, shift))[: len(low)]
    if cut is not None and (at := int(np.searchsorted(low, cut))) < len(low):
        begins[at] = True
    return np.flatnonzero(begins)


def _apart(low: Ints, shift: int) -> Bools:
    """Which codes differ from the one before them in more than their last bits; in steps that fit the cache."""
    bits = low.view(np.uint64)
    found = np.empty(max(len(bits) - 1, 0), bool)
    for start in range(0, len(found), STEP):
        end = min(start + STEP, len(found))
        differ = bits[start + 1 : end + 1] ^ bits[start:end]
        np.greater_equal(differ, np.uint64(1 << shift), out=found[start:end])
    return found


# What the bins say ----------------------------------------------------------------------------------------------


def counts(g: Grid, scale: float = 1.0) -> Counts:
    """The table with the lowest score of each bin as threshold: what is at or above it is counted exactly.

    scale: what a weight of 1 in the bins stands for.

    >>> counts(reduce(np.array([0.8, 0.5, 0.5]), np.array([True, True, False]))).tp
    array([1, 2])
    """
    filled = np.flatnonzero((g.positive + g.negative) > 0)[::-1]
    tp: Weights
    fp: Weights
    tp, fp = np.cumsum(g.positive[filled]), np.cumsum(g.negative[filled])
    if scale != 1:
        tp, fp = tp * scale, fp * scale
    positives, negatives = (column[-1].item() if len(column) else 0 for column in (tp, fp))
    return Counts(scores(g.low[filled]), tp, fp, positives, negatives)


def middles(g: Grid) -> Floats:
    """The middle of the lowest and the highest score of each threshold of `counts`: what a bin's scores are about."""
    filled = np.flatnonzero((g.positive + g.negative) > 0)[::-1]
    low, high = scores(g.low[filled]), scores(g.high[filled])
    return np.where(low == high, low, low / 2 + high / 2)


def spread(g: Grid) -> Bools:
    """Which thresholds of `counts` stand for scores that differ."""
    return ~g.exact[(g.positive + g.negative) > 0][::-1]


def auc_width(c: Counts, spread: Bools) -> float:
    """The most by which AUC can differ from that of the scores themselves: half the pairs that share a bin.

    >>> c = counts(reduce(np.array([1.0, 1.1, 3.0]), np.array([True, False, True]), most=2))
    >>> auc_width(c, np.array([False, True]))
    0.25
    """
    pairs = sum(np.dot(np.where(some, s.p, 0.0), s.n) for s, some in _with(c, spread))
    return float(ratio(pairs, 2.0 * c.positives * c.negatives))


def _with(c: Counts, spread: Bools) -> Iterator[tuple[Step, Bools]]:
    """The steps of the table, and which of their thresholds stand for scores that differ."""
    start = 0
    for s in steps(c):
        yield s, spread[start : start + len(s.p)]
        start += len(s.p)


def average_precision_limits(c: Counts, spread: Bools) -> tuple[float, float]:
    """The least and the largest average precision that the scores themselves can have.

    At a positive of a bin with p positives and n negatives, T and M rows above it, precision lies between T / (M + n)
    and (T + p) / (M + p).

    >>> c = counts(reduce(np.array([1.0, 1.1, 3.0]), np.array([True, False, True]), most=2))
    >>> [round(limit, 4) for limit in average_precision_limits(c, np.array([False, True]))]
    [0.75, 1.0]
    """
    low = high = 0.0
    for s, some in _with(c, spread):
        rows = s.tp + s.fp
        worst = np.where(some & (rows > s.p), ratio(s.tp - s.p, rows - s.p), s.tp / rows)  # none above but them: 1
        best = np.where(some, ratio(s.tp, rows - s.n), s.tp / rows)
        low, high = low + np.dot(s.p, worst), high + np.dot(s.p, np.where(s.p > 0, best, 0))
    return float(ratio(low, c.positives)), float(ratio(high, c.positives))


# Weights as whole numbers -------------------------------------------------------------------------------------------


def scale_of(largest: float, rows: int, *, whole: bool) -> float:
    """The power of two of which weights are counted, so that sums of them are whole numbers and no order shows.

    1 for whole weights; else so small that `rows` times the largest weight still fits 62 bits.

    >>> scale_of(3.0, 1000, whole=True), scale_of(2.5, 1000, whole=False) == 2.0**-50
    (1.0, True)
    """
    return 1.0 if whole else float(2.0 ** (np.ceil(np.log2(largest)) + np.ceil(np.log2(max(rows, 1))) - 62))


def whole(weight: Floats, scale: float) -> Ints:
    """Weights as multiples of the scale, rounded to the nearest."""
    return np.rint(weight / scale).astype(np.int64)

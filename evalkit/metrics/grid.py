"""Scores of any number of rows in a bounded number of bins, the same for every order of rows,
sharding and engine.

The code of a score is the bits of its float, in the order of the scores. Codes that differ only in
their last `shift` bits share a bin. The shift is the smallest that leaves at most `most` bins, 0 if
there are no more distinct scores; it depends on the set of scores alone, so that grids can be
merged in any order. Every bin keeps its lowest and its highest score.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.limits import USUAL
from evalkit.metrics.counts import Counts, Weights, ordered, runs, steps, with_label

MOST = USUAL.bins
STEP = 2**15  # codes processed at once: they stay in the cache
ROOM = 2**62  # codes below it have a bit to spare


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
        return self.low == self.high


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
    most: int = MOST,
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
        return binned(
            codes(score), (np.where(label, weight, 0), np.where(label, 0, weight)), most, cut_code
        )
    if (both := with_labels(score, label, cut_code)) is not None:
        return labelled(both, most, cut_code)
    code = codes(score)
    hits = np.sort(code[label])
    code.sort()
    shift, start, rows = bins(code, 0, most, cut_code)
    positive = np.diff(np.searchsorted(hits, code[start]), append=len(hits))
    return Grid(shift, code[start], code[start + rows - 1], (positive, rows - positive), cut_code)


def tally(values: Floats, weight: Ints | None = None, *, most: int = MOST) -> Grid:
    """The grid of numbers without classes: `positive` has the rows of each bin, `negative` the sum
    of their weights.

    weight: whole numbers; if None, `negative` is the number of rows.

    >>> g = tally(np.array([2.5, -1.0, 2.5]), np.array([1, 4, 2]))
    >>> scores(g.low).tolist(), g.positive.tolist(), g.negative.tolist()
    ([-1.0, 2.5], [1, 2], [4, 3])
    """
    code = codes(values)
    if weight is not None:
        return binned(code, (np.ones(len(code), np.int64), weight), most)
    code.sort()
    shift, start, rows = bins(code, 0, most, None)
    return Grid(shift, code[start], code[start + rows - 1], (rows, rows))


def with_labels(score: Floats, label: Bools, cut: int | None = None) -> Ints | None:
    """The codes of scores with the label as last bit; None if they, or the cut, have no bit to
    spare.
    """
    return with_label(score, label) if abs(cut or 0) < ROOM else None


def labelled(both: Ints, most: int, cut: int | None) -> Grid:
    """The grid of codes whose last bit is the label; they are overwritten."""
    both.sort()
    shift, start, rows = bins(both, 1, most, None if cut is None else cut << 1)
    low = both[start] >> 1
    high = both[start + rows - 1] >> 1
    both &= 1
    positive = np.add.reduceat(both, start)
    return Grid(shift - 1, low, high, (positive, rows - positive), cut)


def binned(code: Ints, columns: Sequence[Ints], most: int, cut: int | None = None) -> Grid:
    """The grid of rows with these codes and whole numbers, which are added up by bin."""
    order = np.argsort(code)
    code = code[order]
    return pooled(Grid(0, code, code, tuple(column[order] for column in columns), cut), most)


def merge(parts: Sequence[Grid], most: int = MOST) -> Grid:
    """The grid of the rows of all parts.

    >>> rows = np.array([0.8, 0.5]), np.array([True, False])
    >>> merge([reduce(*rows), reduce(*rows)]).positive
    array([0, 2])
    """
    low = np.concatenate([part.low for part in parts])
    # the parts are sorted already: a stable sort merges them
    order = np.argsort(low, kind="stable")
    high, *sums = (
        np.concatenate(column)[order]
        for column in zip(*([p.high, *p.sums] for p in parts), strict=True)
    )
    return pooled(
        Grid(max(part.shift for part in parts), low[order], high, tuple(sums), parts[0].cut), most
    )


def pooled(g: Grid, most: int) -> Grid:
    """Pool neighbouring bins at the smallest shift, not below that of `g`, that leaves at most
    `most` bins.
    """
    shift, start, size = bins(g.low, g.shift, most, g.cut)
    if len(start) == len(g.low):
        return replace(g, shift=shift)
    # A bin lies within one of the new bins, so that these have the same places in the order of the
    # highest scores.
    high = g.high if g.high is g.low else np.sort(g.high)
    sums = tuple(_by_bin(column, start, size) for column in g.sums)
    return Grid(shift, g.low[start], high[start + size - 1], sums, g.cut)


def _by_bin(column: np.ndarray, start: Ints, size: Ints) -> np.ndarray:
    """The sums of neighbouring numbers: of whole numbers by differences of running totals."""
    if column.dtype.kind == "f":
        return np.add.reduceat(column, start)
    totals = np.cumsum(column)[start + size - 1]
    return np.diff(totals, prepend=0)


# Bins of sorted codes -----------------------------------------------------------------------------

# number and length of the runs of sorted codes from which the shift is guessed
STRETCHES, LENGTH = (
    64,
    1024,
)


def bins(low: Ints, least: int, most: int, cut: int | None) -> tuple[int, Ints, Ints]:
    """The smallest shift, not below `least`, that leaves at most `most` bins of sorted codes; their
    starts and sizes.

    cut: a code at which a bin begins in any case. The shift is estimated from a sample of the codes
    and then corrected step by step, because counting bins reads all codes.

    >>> bins(np.array([0, 1, 2, 3, 8, 9]), 0, 4, cut=3)
    (1, array([0, 2, 3, 4]), array([2, 1, 1, 2]))
    """
    room = most - 1 - (cut is not None)  # for bins that begin after the first, not at the cut
    shift = least if len(low) <= room else _guess(low, least, room)
    begins = _apart(low, shift)
    while np.count_nonzero(begins) - 1 > room:
        shift += 1
        begins = _apart(low, shift)
    while shift > least:
        narrower = _apart(low, shift - 1)
        if np.count_nonzero(narrower) - 1 > room:
            break
        shift = shift - 1
        begins = narrower
    if cut is not None and (at_cut := int(np.searchsorted(low, cut))) < len(low):
        begins[at_cut] = True
    start = np.flatnonzero(begins)
    return shift, start, np.diff(start, append=len(low))


def _guess(low: Ints, least: int, room: int) -> int:
    """The smallest shift, not below `least`, that leaves about `room` bins in a sample of sorted
    codes.
    """
    sample = low
    if len(low) > 2 * STRETCHES * LENGTH:
        sample = np.concatenate(
            [low[i : i + LENGTH] for i in range(0, len(low), len(low) // STRETCHES)]
        )
    share = room * len(sample) / len(low)
    apart = (sample[1:] ^ sample[:-1]).view(np.uint64)

    def few(shift: int) -> bool:
        return int(np.count_nonzero(apart >= np.uint64(1 << shift))) <= share

    return least + bisect_left(range(least, 63), x=True, key=few)


def _apart(low: Ints, shift: int) -> Bools:
    """True for the first code and for each that differs from the one before in more than its last
    bits.
    """
    bits = low.view(np.uint64)
    begins = np.ones(len(bits), bool)
    apart = begins[1:]
    for start in range(0, len(apart), STEP):
        end = min(start + STEP, len(apart))
        np.greater_equal(
            bits[start + 1 : end + 1] ^ bits[start:end], np.uint64(1 << shift), out=apart[start:end]
        )
    return begins


# Counts and metrics of the bins -------------------------------------------------------------------


def counts(g: Grid, scale: float = 1.0) -> Counts:
    """Counts with the lowest score of each bin as threshold: the rows at or above it are counted
    exactly.

    scale: the weight that a 1 in the bins represents.

    >>> counts(reduce(np.array([0.8, 0.5, 0.5]), np.array([True, True, False]))).tp
    array([1, 2])
    """
    filled = _filled(g)
    sides: list[Weights] = [np.cumsum(column[filled]) for column in (g.positive, g.negative)]
    if scale != 1:
        sides = [side * scale for side in sides]
    return Counts.of(np.ascontiguousarray(scores(g.low[filled])), *sides)


def _filled(g: Grid) -> Ints | slice:
    """The bins that hold a row, highest first."""
    there = (g.positive > 0) | (g.negative > 0)
    return slice(None, None, -1) if there.all() else np.flatnonzero(there)[::-1]


def middles(g: Grid) -> Floats:
    """The midpoint of the lowest and the highest score of each bin, in the order of `counts`."""
    filled = _filled(g)
    low = scores(g.low[filled])
    high = scores(g.high[filled])
    middle = np.empty(len(low))
    for start in range(0, len(low), STEP):
        some = slice(start, start + STEP)
        np.divide(low[some], 2, out=middle[some])
        middle[some] += high[some] / 2
        np.copyto(middle[some], low[some], where=low[some] == high[some])
    return middle


def spread(g: Grid) -> Bools:
    """True for each threshold of `counts` that stands for several distinct scores."""
    return ~g.exact[(g.positive + g.negative) > 0][::-1]


def ends(g: Grid) -> tuple[Grid, Grid]:
    """The worst and the best possible order of the scores within bins: positives are lowest, or
    highest, in each bin.

    The value of a metric that rises if a positive moves up and a negative down lies between its
    values for the two.

    >>> worst, best = ends(reduce(np.array([1.0, 1.1, 3.0]), np.array([True, False, True]), most=2))
    >>> counts(worst).fp, counts(best).fp
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    shared = ~g.exact
    code = np.concatenate([g.low, g.high[shared]])
    order = np.argsort(code, kind="stable")

    def split(column: Ints, *, up: bool) -> Ints:
        moved = column[shared]
        return np.concatenate([np.where(shared & up, 0, column), moved if up else 0 * moved])[order]

    made = [(split(g.positive, up=best), split(g.negative, up=not best)) for best in (False, True)]
    worst, best = (Grid(0, code[order], code[order], columns, g.cut) for columns in made)
    return worst, best


def auc_width(c: Counts, spread: Bools) -> float:
    """The largest possible error of AUC from binning: half the pairs that share a bin / all pairs.

    >>> c = counts(reduce(np.array([1.0, 1.1, 3.0]), np.array([True, False, True]), most=2))
    >>> auc_width(c, np.array([False, True]))
    0.25
    """
    each = zip(steps(c), runs(spread), strict=False)
    pairs = sum(np.dot(np.where(mixed, step.p, 0.0), step.n) for step, mixed in each)
    return float(ratio(pairs, 2.0 * c.positives * c.negatives))


def average_precision_limits(c: Counts, spread: Bools) -> tuple[float, float]:
    """The smallest and the largest average precision that is possible for the scores before
    binning.

    For a bin with p positives and n negatives, T positives and M rows above it, the precision at
    its positives lies between T / (M + n) and (T + p) / (M + p).

    >>> c = counts(reduce(np.array([1.0, 1.1, 3.0]), np.array([True, False, True]), most=2))
    >>> [round(limit, 4) for limit in average_precision_limits(c, np.array([False, True]))]
    [0.75, 1.0]
    """
    low = high = 0.0
    for step, mixed in zip(steps(c), runs(spread), strict=False):
        rows = step.tp + step.fp
        precision = step.tp / (step.tp + step.fp)
        # Where no other row is at or above, the positives of the bin have precision 1.
        worst = np.where(mixed & (rows > step.p), ratio(step.tp - step.p, rows - step.p), precision)
        best = np.where(mixed, ratio(step.tp, rows - step.n), precision)
        low = low + np.dot(step.p, worst)
        high = high + np.dot(step.p, np.where(step.p > 0, best, 0))
    return float(ratio(low, c.positives)), float(ratio(high, c.positives))


# Weights as whole numbers -------------------------------------------------------------------------


def scale_of(largest: float, rows: int, *, whole: bool) -> float:
    """The power of two in which weights are counted, so that sums are whole numbers and independent
    of the order.

    1 for whole weights; otherwise the smallest for which `rows` times the largest weight fits 62
    bits.

    >>> scale_of(3.0, 1000, whole=True), scale_of(2.5, 1000, whole=False) == 2.0**-50
    (1.0, True)
    """
    if whole:
        return 1.0
    return float(2.0 ** (np.ceil(np.log2(largest)) + np.ceil(np.log2(max(rows, 1))) - 62))


def whole(weight: Floats, scale: float) -> Ints:
    """Weights as multiples of the scale, rounded to the nearest."""
    return np.rint(weight / scale).astype(np.int64)


# How numbers are distributed ----------------------------------------------------------------------

ROUNDING = 1e-12  # of sums of shares
WORST = 100  # one in so many rows


@dataclass(frozen=True, eq=False)
class Counted:
    """The distribution of numbers: distinct numbers or middles of bins, ascending; the rows and the
    weight of each.

    whole: True if all are whole numbers. low, high: the smallest and the largest.
    """

    values: Floats
    rows: Ints
    weight: Floats
    whole: bool
    low: float
    high: float
    half: Floats  # of each bin's width

    @classmethod
    def of(cls, values: Floats) -> "Counted":
        """The distribution of a column of unweighted rows in memory.

        >>> Counted.of(np.array([3.0, 1.0, 3.0])).quantiles([0.0, 0.5, 1.0]).tolist()
        [1.0, 3.0, 3.0]
        """
        distinct, rows = np.unique(values, return_counts=True)
        whole = not np.any(distinct != np.rint(distinct))
        ends = float(distinct[0]), float(distinct[-1])
        return cls(distinct, rows, rows.astype(np.float64), whole, *ends, np.zeros(len(rows)))

    def sizes(self) -> "Counted":
        """The distribution of the absolute values."""
        size, at = np.unique(np.abs(self.values), return_inverse=True)
        rows = np.bincount(at, self.rows, len(size)).astype(np.int64)
        weight = np.bincount(at, self.weight, len(size)).astype(np.float64)
        half = np.zeros(len(size))
        np.maximum.at(half, at, self.half)
        return Counted(size, rows, weight, self.whole, float(size[0]), float(size[-1]), half)

    @cached_property
    def _ends(self) -> Ints:
        return np.cumsum(self.rows)

    def _at(self, place: int) -> float:
        """The number at a place, from 0, of all rows in order."""
        return float(self.values[np.searchsorted(self._ends, place, side="right")])

    def bound(self, shares: Sequence[float]) -> float:
        """The largest possible error of these quantiles due to binning: half the width of the
        widest of their bins.
        """
        last = int(self._ends[-1]) - 1
        places = [end(share * last) for share in shares for end in (np.floor, np.ceil)]
        return float(self.half[np.searchsorted(self._ends, places, side="right")].max())

    @property
    def mean(self) -> float:
        """The mean over the rows, unweighted."""
        return float(self.values @ self.rows / self._ends[-1])

    @property
    def median(self) -> float:
        """The median over the rows, unweighted."""
        return float(self.quantiles([0.5])[0])

    @property
    def zeros(self) -> int:
        """The number of rows that are 0."""
        return int(self.rows[self.values == 0].sum())

    def quantiles(self, shares: Sequence[float]) -> Floats:
        """Quantiles over the rows, unweighted, with linear interpolation between neighbouring
        numbers.
        """
        return np.array([self._quantile(share * (int(self._ends[-1]) - 1)) for share in shares])

    def _quantile(self, place: float) -> float:
        below = int(np.floor(place))
        a = self._at(below)
        b = self._at(min(below + 1, int(self._ends[-1]) - 1))
        part = place - below
        return a + (b - a) * part if part < 0.5 else b - (b - a) * (1 - part)

    def window(self, tail: float) -> tuple[float, float]:
        """The range of the numbers without at most this share of the rows at each end."""
        last = int(self._ends[-1]) - 1
        return self._at(int(np.floor(tail * last))), self._at(int(np.ceil((1 - tail) * last)))

    def histogram(self, edges: Floats) -> Floats:
        """The weight of the rows between each two neighbouring edges."""
        return np.histogram(self.values, edges, weights=self.weight)[0].astype(np.float64)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())

    def weighted_median(self) -> float:
        """The smallest number up to which at least half of the weight lies."""
        share = np.cumsum(self.weight) / self.weight.sum()
        return float(self.values[np.searchsorted(share, 0.5 - ROUNDING)])

    def heaviest(self) -> float:
        """The share of the sum of squares that comes from the 1 % of the rows with the largest
        absolute values.
        """
        sizes = self.sizes()
        squared = sizes.values[::-1] ** 2
        rows = sizes.rows[::-1]
        taken = _first(rows, max(1, int(rows.sum()) // WORST))
        whole = float(squared @ rows)
        return float(squared @ taken) / whole if whole else 0.0

    def largest(self, share: float) -> Ints:
        """By number, how many of its rows are among the largest share of all rows (rounded up)."""
        return self.top(int(np.ceil(share * int(self._ends[-1]))))

    def top(self, most: int) -> Ints:
        """By number, how many of its rows are among the `most` largest rows."""
        return _first(self.rows[::-1], most)[::-1]


def _first(rows: Ints, most: int) -> Ints:
    """By number, how many of its rows are among the first `most` rows of all."""
    return np.clip(most - (np.cumsum(rows) - rows), 0, rows)

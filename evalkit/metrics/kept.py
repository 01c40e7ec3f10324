"""Blocks of a table, and mergeable summaries of them: `of` makes one from a block, and `+` merges
two.

A block is some rows as checked numeric columns, with every system's predictions and hashes of the
ids.

Sums are centred and merged by Chan's formula. Counts by value are exact up to a number of bins. A
sample is the rows, or whole units, with the smallest hashes. None depends on the order of the rows,
the engine or the size of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, minus, ratio
from evalkit.metrics import grid
from evalkit.metrics.rows import Rows

STEP = 2**14  # rows that are looked at together: what is made of them stays in the cache
Hashes = np.ndarray  # whole numbers of 64 bits without sign


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that every system predicts, as checked columns; the last axis of every column is that of
    the rows.

    truth: the actual value, 0 or 1, class number, or one row per label. said: the predictions, one
    row per system, or one table per system with one row per class or label. key: a hash of the
    unit, else of the id, else of the whole row (`alike`: rows with the same key are then equal).
    id: a hash of the id, if ids may repeat. clustered: rows with the same key are one unit, and are
    neighbours unless `parted`. slices: per column for segments, the number of each row's slice,
    counted from 1 over all columns. beside, own: further numeric columns, shared by the systems or
    of each. names: the ids, or the row numbers, or None. units: the ids of the units, as Arrow
    text.
    """

    truth: Floats
    said: Floats
    weight: Floats | None
    key: Hashes
    id: Hashes | None = None
    clustered: bool = False
    parted: bool = False
    alike: bool = False
    slices: Sequence[Ints] = ()
    beside: Mapping[str, Floats] = field(default_factory=dict)
    own: Mapping[str, Floats] = field(default_factory=dict)
    names: Any = None
    units: Any = None

    def __len__(self) -> int:
        return len(self.key)

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row, 1 if there are no weights."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def starts(self) -> Ints:
        """The index at which each unit begins, if units are not split over blocks."""
        return np.flatnonzero(np.append(True, self.key[1:] != self.key[:-1])[: len(self)])

    @cached_property
    def distinct(self) -> tuple[Hashes, Ints]:
        """The distinct keys, and the index of each row's key among them."""
        if self.clustered and not self.parted:
            return self.key[self.starts], np.repeat(
                np.arange(len(self.starts)), np.diff(self.starts, append=len(self))
            )
        names, code = np.unique(self.key, return_inverse=True)
        return names, code

    @property
    def texts(self) -> Any:
        """The ids, or the numbers of the rows, as Arrow text."""
        import pyarrow as pa

        names = pa.array(self.names) if isinstance(self.names, np.ndarray) else self.names
        return names.cast(pa.string())

    def rows(self, system: int) -> Rows:
        """The actual values and a system's predictions."""
        unit = self.key if self.clustered else None
        return Rows(
            self.truth, self.said[system], weight=self.weight, unit=unit, beside=self.beside
        )

    def at(self, rows: Any) -> Block:
        """The rows with these indices, without their names."""
        return self._of([self], lambda columns: columns[0][..., rows])

    def groups(self) -> Iterator[tuple[int, Block]]:
        """All rows, as group 0, and the rows of each slice that has any."""
        yield 0, self
        for column in self.slices:
            order = np.argsort(column, kind="stable")
            starts = np.flatnonzero(np.diff(column[order], prepend=-1))
            for rows in np.split(order, starts[1:]):
                yield int(column[rows[0]]), self.at(rows)

    def steps(self) -> Iterator[Block]:
        """The block in pieces of some thousand rows, with whole units."""
        cuts = np.arange(0, len(self), STEP)
        if self.clustered and not self.parted:
            cuts = np.unique(self.starts[np.searchsorted(self.starts, cuts, side="right") - 1])
        for start, end in zip(cuts.tolist(), [*cuts[1:].tolist(), len(self)], strict=True):
            yield self.at(slice(start, end))

    @staticmethod
    def join(parts: Sequence[Block]) -> Block:
        """The rows of the parts in sequence, without their names."""
        return parts[0]._of(parts, lambda columns: np.concatenate(columns, axis=-1))

    def _of(self, parts: Sequence[Block], made: Callable[[list[np.ndarray]], np.ndarray]) -> Block:
        """A block whose columns are made of those of the parts."""
        columns: dict[str, Any] = {
            n: made([getattr(part, n) for part in parts]) for n in ("truth", "said", "key")
        }
        columns["weight"] = None if self.weight is None else made([part.weights for part in parts])
        columns["slices"] = [
            made([part.slices[i] for part in parts]) for i in range(len(self.slices))
        ]
        columns["beside"] = {
            name: made([part.beside[name] for part in parts]) for name in self.beside
        }
        columns["own"] = {name: made([part.own[name] for part in parts]) for name in self.own}
        return replace(self, **columns, id=None, names=None, units=None)


# Hashes: numpy's own, so that every engine draws the same rows ------------------------------------

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mixed(x: Hashes) -> Hashes:
    """Pseudo-random whole numbers by a mixing function (splitmix64,
    doi:10.1145/2714064.2660195).
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def of_numbers(columns: Sequence[Floats]) -> Hashes:
    """A hash of the numbers of each row; equal rows have equal hashes."""
    key = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        key = mixed(key + (column + 0.0).view(np.uint64) + GOLDEN)
    return key


def of_texts(column: Any) -> Hashes:
    """A hash of each text of an Arrow array, of its bytes and their positions.

    >>> import pyarrow as pa
    >>> some = ["ab", "ba", "", "ab"]
    >>> of_texts(pa.array(some)).tolist() == of_texts(pa.array(["x", *some]).slice(1)).tolist()
    True
    """
    import pyarrow as pa

    texts = column.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    key = np.zeros(len(column), np.uint64)
    size = np.diff(ends)
    first = ends[:-1] - ends[0]
    if ends[-1] > ends[0]:
        letters = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].astype(np.uint64)
        place = np.arange(1, len(letters) + 1) - np.repeat(first, size)
        some = size > 0
        key[some] = np.add.reduceat(mixed(letters + place.astype(np.uint64) * GOLDEN), first[some])
    return mixed(key + size.astype(np.uint64))


def parts_of(block: Block, parts: int) -> Ints:
    """The part that each row is put into by chance, whole units together.

    Of a row without an id its number in the input decides; where engines do not know it, its place
    among the equal rows of its block.
    """
    key = block.key
    if block.alike and block.names is not None:
        key = block.names.astype(np.uint64)
    elif block.alike:
        key = np.empty_like(block.key)
        first = block.key.sum(dtype=np.uint64)
        key[np.argsort(block.key)] = first + np.arange(len(block), dtype=np.uint64)
    return (mixed(key + GOLDEN) % np.uint64(parts)).astype(np.int64)


def part_sums(
    part: Ints, actual: Bools, place: Ints, weight: Floats, shape: tuple[int, int]
) -> Floats:
    """The weight of the rows by part and cell: the positives by candidate, then the negatives.

    place: the number of each row's candidate, which is the highest that is not above its score.
    shape: the numbers of parts and of candidates.
    """
    parts, k = shape
    cell = (part * 2 + ~actual) * k + place
    sums = np.bincount(cell, weight, parts * 2 * k).astype(np.float64)
    return sums.reshape(parts, 2 * k)


# Summaries ----------------------------------------------------------------------------------------

# rows whose products are added up at once, and numbers that wake no second thread of BLAS
LEAST = 64
ALONE = 2**18
ROUNDING = 1e-14  # of a sum of squares: less is what rounding leaves
# of Kish's number of units, beyond 1: less is what rounding leaves where one unit has all weight
ALL_ON_ONE = 1e-12


def products(x: Floats) -> Floats:
    """x @ x.T in pieces so small that BLAS does not start further threads, which would only wait
    for each other.

    With many columns a piece has at least a few rows, because adding the pieces would otherwise
    take longer than making them.
    """
    step = max(LEAST, ALONE // len(x) ** 2)
    whole = np.zeros((len(x), len(x)))
    for start in range(0, x.shape[1], step):
        piece = x[:, start : start + step]
        whole += piece @ piece.T
    return whole


# What is kept -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bundle:
    """Several summaries of a block: + adds each field, and merges mappings key by key."""

    def __add__(self, other: Self) -> Self:
        sides = {
            f.name: _added(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        }
        return type(self)(**sides)


def _added(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(_added(first, second) for first, second in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a | {key: a[key] + part if key in a else part for key, part in b.items()}
    return a + b


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of m columns over n units: means, centred sums of products, and centred sums of
    cubes.

    each: the columns themselves, with the hashes of the units, for methods that need every unit;
    None if there are more than `few` units.
    """

    n: int
    mean: Floats
    second: Floats
    third: Floats
    few: int
    each: Any

    @staticmethod
    def of(
        block: Block, columns: Callable[[Block], Floats], few: int, *, squared: bool = False
    ) -> Moments:
        """The moments of columns of a block.

        columns: rows -> their columns, weights included; they are added up by unit. squared: the
        moments of all products of two columns, from which the fourth power of any linear
        combination follows.
        """
        most = few if (len(block.starts) if block.clustered else len(block)) <= few else 0
        parts = [Moments._of(some, columns(some), most, squared=squared) for some in block.steps()]
        while len(parts) > 1:
            pairs = [first + second for first, second in zip(parts[::2], parts[1::2], strict=False)]
            parts = [*pairs, *parts[2 * len(pairs) :]]
        return parts[0]

    @staticmethod
    def _of(block: Block, x: Floats, few: int, *, squared: bool) -> Moments:
        key = block.key
        if block.clustered:
            x = np.add.reduceat(x, block.starts, axis=1)
            key = key[block.starts]
        if squared:
            i, j = np.triu_indices(len(x))
            return Moments.around(None, x[i] * x[j], 0)
        return Moments.around(key, x, few)

    @staticmethod
    def around(key: Hashes | None, x: Floats, few: int) -> Moments:
        """The moments of columns in memory. key: the hash of each unit."""
        mean = x.mean(axis=1)
        d = x - mean[:, None]
        each = None if key is None or x.shape[1] > few else ((key, x),)
        return Moments(x.shape[1], mean, products(d), np.einsum("in,in,in->i", d, d, d), few, each)

    def __add__(self, other: Moments) -> Moments:
        """Chan, Golub and LeVeque 1979; the cubes by Pébay 2008."""
        a = self.n
        b = other.n
        n = self.n + other.n
        d = other.mean - self.mean
        s = np.diag(self.second)
        t = np.diag(other.second)
        third = (
            self.third + other.third + d**3 * (a * b * (a - b) / n**2) + 3 * d / n * (a * t - b * s)
        )
        second = self.second + other.second + np.outer(d, d) * (a * b / n)
        known = n <= self.few and self.each is not None and other.each is not None
        each = self.each + other.each if known else None  # type: ignore[operator]
        return Moments(n, self.mean + d * (b / n), second, third, self.few, each)

    @property
    def moments(self) -> Moments:
        """Itself, as for `Parted`."""
        return self

    @cached_property
    def totals(self) -> Floats:
        """The sums of the columns."""
        return self.mean * self.n

    @cached_property
    def units(self) -> Any:
        """The columns of each unit, in the order of their hashes, which does not depend on the
        order of the rows.
        """
        if self.each is None:
            return None
        key, columns = (np.concatenate(side, axis=-1) for side in zip(*self.each, strict=True))
        return columns[:, np.argsort(key, kind="stable")]

    @property
    def around_zero(self) -> Moments:
        """The moments with uncentred sums of products."""
        return replace(self, second=self.second + np.outer(self.totals, self.mean))

    def square(self, form: Floats) -> float:
        """The centred sum of squares of a linear combination of the columns; 0 if it is only
        rounding error.
        """
        value = float(form @ self.second @ form)
        if value > ROUNDING * float(np.abs(form) @ np.abs(self.second) @ np.abs(form)):
            return value
        return 0.0

    def powers(self, form: Floats) -> tuple[float, float]:
        """The sums of the squares and of the fourth powers of a linear combination, for `squared`
        columns.
        """
        i, j = np.triu_indices(len(form))
        by = form[i] * form[j] * np.where(i == j, 1, 2)
        square = float(by @ self.mean)
        return square * self.n, float(by @ self.second @ by) + self.n * square**2

    def kish(self, column: int) -> float:
        """Kish's effective number of units, (Σ x)² / Σ x² of a column."""
        total = self.totals[column]
        kish = float(ratio(total**2, self.second[column, column] + total**2 / self.n))
        return 1.0 if kish - 1 < ALL_ON_ONE else kish


@dataclass(frozen=True, eq=False)
class Parted:
    """Sums of columns per unit, for few units whose rows are spread over the blocks. key:
    ascending.
    """

    key: Hashes
    sums: Floats
    few: int

    @staticmethod
    def of(block: Block, columns: Callable[[Block], Floats], few: int) -> Parted:
        """The sums per unit of columns of a block; columns: as in `Moments.of`."""
        names, code = block.distinct
        sums = np.zeros((0, 0))
        start = 0
        for some in block.steps():
            x = columns(some)
            of = code[start : start + len(some)]
            start += len(some)
            more = np.array([np.bincount(of, column, len(names)) for column in x])
            sums = sums + more if sums.size else more
        return Parted(names, sums, few)

    def __add__(self, other: Parted) -> Parted:
        names, code = np.unique(np.append(self.key, other.key), return_inverse=True)
        every = np.concatenate([self.sums, other.sums], axis=1)
        sums = np.array([np.bincount(code, column, len(names)) for column in every])
        return Parted(names, sums, self.few)

    @cached_property
    def moments(self) -> Moments:
        """The moments over the units."""
        return Moments.around(self.key, self.sums, max(self.few, len(self.key)))


def summed(block: Block, columns: Callable[[Block], Floats], few: int) -> Moments | Parted:
    """The moments of columns, or the sums per unit if the rows of a unit are spread over the
    blocks.
    """
    return (Parted if block.parted else Moments).of(block, columns, few)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tally:
    """Rows of two classes by score in the bins of `grid`, counted exactly in each.

    most: the largest number of bins. rows: codes with the label as last bit of rows that wait to be
    binned, at most `held` of them: one sort of all takes less than merging the bins of blocks. cut:
    the code at which a bin begins.
    """

    most: int
    parts: tuple[grid.Grid, ...] = ()
    rows: tuple[Ints, ...] = ()
    held: int = 0
    cut: int | None = None

    @staticmethod
    def of_hits(
        score: Floats,
        hit: Bools,
        weight: Ints | None,
        *,
        most: int,
        held: int = 0,
        cut: float | None = None,
    ) -> Tally:
        """Hits and other rows by score. cut: scores on either side of it are never in one bin."""
        code = None if cut is None else grid.code_of(cut)
        rows = grid.with_labels(score, hit, code) if weight is None else None
        if rows is not None:
            return Tally(most=most, rows=(rows,), held=held, cut=code)._within
        part = grid.reduce(score, hit, weight, most=most, cut=cut)
        return Tally(most=most, parts=(part,), held=held, cut=code)

    @property
    def room(self) -> int:
        """The largest number of bins."""
        return self.most

    def __add__(self, other: Self) -> Self:
        """Parts wait in bins as wide as those of any, and are laid together once they are twice as
        many as the bins.
        """
        both = replace(self, parts=self.parts + other.parts, rows=self.rows + other.rows)._within
        shift = max((part.shift for part in both.parts), default=0)
        most = both.room
        wide = (
            part if part.shift == shift else grid.pooled(replace(part, shift=shift), most)
            for part in both.parts
        )
        both = replace(both, parts=tuple(wide))
        if sum(len(part.low) for part in both.parts) > 2 * most:
            return replace(both, parts=(both.whole,), rows=())
        return both

    @property
    def _within(self) -> Self:
        """The rows in bins where more than `held` wait."""
        if sum(map(len, self.rows)) <= self.held:
            return self
        return replace(self, parts=self._binned, rows=())

    @property
    def _binned(self) -> tuple[grid.Grid, ...]:
        """The parts, and a further one of the rows that wait."""
        if not self.rows:
            return self.parts
        return *self.parts, grid.labelled(np.concatenate(self.rows), self.most, self.cut)

    @cached_property
    def whole(self) -> grid.Grid:
        """The parts merged into one."""
        parts = self._binned
        return parts[0] if len(parts) == 1 else grid.merge(parts, self.room)


@dataclass(frozen=True, eq=False, kw_only=True)
class Counts(Tally):
    """Rows by value, lowest first, with the sums of further columns: exact, or in bins if there are
    many values.

    most: the largest number of bins; a quarter of it if there are more than two further columns and
    more rows than bins, because these are for sums along the values, not for quantiles. integers:
    True if all are whole numbers.
    """

    integers: bool = True

    @staticmethod
    def of(values: Floats, columns: Sequence[Floats] = (), most: int = grid.MOST) -> Counts:
        """The rows by value. columns: further numbers of each row, which are added up by value.

        >>> c = Counts.of(np.array([2.5, -1.0, 2.5]), [np.array([1.0, 4.0, 2.0])])
        >>> c.counted(weighted=True).values.tolist(), [column.tolist() for column in c.whole.sums]
        ([-1.0, 2.5], [[1, 2], [4.0, 3.0]])
        """
        code = grid.codes(values)
        sums = list[Floats]()
        if columns:
            order = np.argsort(code, kind="stable")
            code = code[order]
            sums = [column[order] for column in columns]
        else:
            code.sort()
        rows = grid.Grid(0, code, code, (np.broadcast_to(np.int64(1), len(code)), *sums))
        counts = Counts(most=most, parts=(rows,), integers=not np.any(values != np.rint(values)))
        return replace(counts, parts=(grid.pooled(rows, counts.room),))

    @property
    def room(self) -> int:
        rows = sum(int(part.sums[0].sum()) for part in self.parts)
        return self.most // 4 if len(self.parts[0].sums) > 3 and rows > self.most else self.most

    def __add__(self, other: Self) -> Self:
        return replace(super().__add__(other), integers=self.integers and other.integers)

    def counted(self, *, weighted: bool) -> grid.Counted:
        """The distribution of the values. weighted: True if the first of the further columns is
        their weight.
        """
        c = self.whole
        low = high = middle = grid.scores(c.low)
        half: Floats = np.broadcast_to(np.float64(0), len(low))
        if c.high is not c.low:
            high = grid.scores(c.high)
            middle = np.where(low == high, low, low / 2 + high / 2)
            half = (high - low) / 2
        rows = np.asarray(c.sums[0], np.int64)
        weight = c.sums[1] if weighted else rows.astype(np.float64)
        return grid.Counted(
            middle, rows, weight, self.integers, float(low[0]), float(high[-1]), half
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """A random sample: the rows, or whole units, whose hash is below a border; all rows if there
    are few.

    most: the largest number of rows. blocks: the sampled rows. times: how many rows of the table
    each one stands for, because equal rows without ids count as one. whole: the number of rows of
    the table. border: hashes from here on are not sampled, None if all are.
    """

    most: int
    blocks: tuple[Block, ...]
    times: tuple[Ints, ...]
    whole: int
    border: np.uint64 | None = None

    @staticmethod
    def of(block: Block, most: int) -> Sample:
        """A sample of all rows of a block."""
        times = np.broadcast_to(np.int64(1), len(block))
        return Sample(most, (block.at(slice(None)),), (times,), len(block))

    def __add__(self, other: Sample) -> Sample:
        border = min((one for one in (self.border, other.border) if one is not None), default=None)
        blocks = [*self.blocks]
        times = [*self.times]
        for block, often in zip(other.blocks, other.times, strict=True):
            at = slice(None) if border is None else np.flatnonzero(block.key < border)
            blocks.append(block.at(at))
            times.append(often[at])
        both = Sample(self.most, tuple(blocks), tuple(times), self.whole + other.whole, border)
        return both.drawn if sum(map(len, blocks)) > 1.5 * self.most else both

    @cached_property
    def drawn(self) -> Sample:
        """The sample as one block, cut to at most `most` rows."""
        if len(self.blocks) == 1 and not self.blocks[0].alike and self.whole <= self.most:
            return self
        block = Block.join(self.blocks)
        times = np.concatenate(self.times)
        border = self.border
        at = np.arange(len(block)) if border is None else np.flatnonzero(block.key < border)
        often = times[at]
        if block.alike and len(at):
            at = at[np.argsort(block.key[at], kind="stable")]
            start = np.flatnonzero(np.append(True, np.diff(block.key[at]) != 0))
            often = np.add.reduceat(times[at], start)
            at = at[start]
        block = block.at(at)
        if len(block) > self.most:
            border = np.partition(block.key, self.most)[self.most]
            at = np.flatnonzero(block.key < border)
            block = block.at(at)
            often = often[at]
        return Sample(self.most, (block,), (often,), self.whole, border)

    @cached_property
    def rows(self) -> Block:
        """The sampled rows."""
        return self.drawn.blocks[0]

    @property
    def stands_for(self) -> float:
        """The number of rows that each sampled row represents."""
        return float(ratio(self.whole, self.drawn.times[0].sum()))

    @property
    def is_whole(self) -> bool:
        """True if the sample is the whole table, with one row for each."""
        return len(self.rows) == self.whole

    def square(self, moved: Floats) -> tuple[float, float]:
        """Σ d ψ² over units, and the relative uncertainty of its root: ½ √(Σ d (d − 1) ψ⁴) / Σ d
        ψ².

        moved: the influence ψ of each sampled row on a metric, including its weight; 0 for rows
        that do not count.
        """
        d = self.stands_for
        times = self.drawn.times[0].astype(np.float64)
        each = moved**2
        if self.rows.clustered:
            each = np.bincount(self._units, moved).astype(np.float64) ** 2
            times = np.ones(len(each))
        whole = d * float(times @ each)
        return whole, float(ratio(np.sqrt(d * (d - 1) * float(times**2 @ each**2)), 2 * whole))

    @cached_property
    def _units(self) -> Ints:
        return np.unique(self.rows.key, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Extremes:
    """The rows with the largest sizes, ties in the order of names: name, actual value,
    prediction.
    """

    most: int
    size: Floats
    rows: tuple[tuple[Any, float, float], ...]

    @staticmethod
    def of(block: Block, size: Floats, system: int, most: int) -> Extremes:
        """The rows of a block with the largest sizes. size: one per row."""
        last = max(len(size) - most, 0)
        at = np.flatnonzero(size >= np.partition(size, last)[last])[: 1_000 * most]
        names = [""] * len(at) if block.names is None else _listed(block.names.take(at))
        rows = zip(names, block.truth[at].tolist(), block.said[system][at].tolist(), strict=True)
        return Extremes(most, size[at], tuple(rows))._cut()

    def __add__(self, other: Extremes) -> Extremes:
        return Extremes(self.most, np.append(self.size, other.size), self.rows + other.rows)._cut()

    def _cut(self) -> Extremes:
        order = sorted(range(len(self.rows)), key=lambda i: (-self.size[i], self.rows[i]))[
            : self.most
        ]
        return Extremes(self.most, self.size[order], tuple(self.rows[i] for i in order))


def _listed(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()


@dataclass(frozen=True, eq=False)
class Distinct:
    """Counts duplicate keys by the hashes of all rows, if there are at most `most`.

    parts: sorted distinct hashes, not yet merged. again: the number of rows whose hash occurred
    before.
    """

    most: int
    parts: tuple[Hashes, ...]
    again: int

    @staticmethod
    def of(key: Hashes, most: int) -> Distinct:
        """The keys of a block. key: a hash of what may occur twice, such as an id.

        >>> (
        ...     Distinct.of(np.array([3, 5], np.uint64), 9)
        ...     + Distinct.of(np.array([5, 5], np.uint64), 9)
        ... ).repeated
        2
        """
        names = np.unique(key)
        return Distinct(most, (names,), len(key) - len(names))

    def __add__(self, other: Distinct) -> Distinct:
        parts = self.parts + other.parts
        again = self.again + other.again
        if not (self.parts and other.parts):
            return Distinct(self.most, (), again)
        while len(parts) > 1 and (
            len(parts[-1]) * 2 > len(parts[-2]) or sum(map(len, parts)) > self.most
        ):
            both = np.sort(np.concatenate(parts[-2:]), kind="stable")
            names = both[np.append(True, both[1:] != both[:-1])]
            parts = (*parts[:-2], names)
            again = again + len(both) - len(names)
        return Distinct(self.most, parts if sum(map(len, parts)) <= self.most else (), again)

    @cached_property
    def repeated(self) -> int | None:
        """The number of rows whose key occurred before; None if there are too many keys to tell and
        none was found.
        """
        if not self.parts:
            return self.again or None
        every = np.concatenate(self.parts)
        return self.again + len(every) - len(np.unique(every))


@dataclass(frozen=True, eq=False)
class Total:
    """Numbers that are added up over blocks."""

    sums: Floats

    def __add__(self, other: Total) -> Total:
        return Total(self.sums + other.sums)


def won(first: Floats, second: Floats) -> Total:
    """The number of units on which the first has the smaller error, the same, and the larger one;
    rounding error decides nothing.
    """
    more = minus(second, first)
    return Total(np.array([np.sum(more > 0), np.sum(more == 0), np.sum(more < 0)]))

"""What is kept of rows that are read block by block: each has `of` a block and `+`, and nothing else needs an engine.

A table that fits is all its blocks, joined. Sums are centred and merged by Chan's formula, counted numbers are exact up
to a number of bins, and a sample is the rows, or whole units, with the smallest hashes: the same for every order of the
rows, every engine and every size of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from evalkit.arrays import Floats, Ints, minus, ratio
from evalkit.metrics import borders, grid
from evalkit.metrics.distribution import Counted
from evalkit.metrics.rows import Rows

STEP = 2**14  # rows that are looked at together: what is made of them stays in the cache
END = 2**64 - 1  # of hashes
LEAST, ALONE = 64, 2**18  # rows whose products are added up at once, and numbers that wake no second thread of BLAS
ROUNDING = 1e-14  # of a sum of squares: less is what rounding leaves
Hashes = np.ndarray  # whole numbers of 64 bits without sign


# Blocks ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that every system has, typed and checked.

    truth: what is. said: what each system says, a row a system. key: a hash of the unit, else of the id, else of all
    that the row says, and rows of one key are then `alike`. clustered: rows of one key are one unit, and lie together
    unless units are `parted`. slices: of each column for segments the number of the row's slice, from 1 on over all
    columns. beside: further columns of numbers. names: the ids, or the numbers of the rows; None where nothing names
    them.
    """

    truth: Floats
    said: Floats
    weight: Floats | None
    key: Hashes
    clustered: bool = False
    parted: bool = False
    alike: bool = False
    slices: Sequence[Ints] = ()
    beside: Mapping[str, Floats] = field(default_factory=dict)
    names: Any = None

    def __len__(self) -> int:
        return len(self.truth)

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row, 1 where all count alike."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def starts(self) -> Ints:
        """Where each unit begins, of rows whose units are whole."""
        return np.flatnonzero(np.append(True, self.key[1:] != self.key[:-1])[: len(self)])

    def rows(self, system: int) -> Rows:
        """What is, and what a system says of it."""
        unit = self.key if self.clustered else None
        return Rows(self.truth, self.said[system], weight=self.weight, unit=unit, beside=self.beside)

    def at(self, rows: Any) -> Block:
        """The rows at these places, without their names."""
        return replace(
            self,
            truth=self.truth[rows],
            said=self.said[:, rows],
            weight=None if self.weight is None else self.weight[rows],
            key=self.key[rows],
            slices=[column[rows] for column in self.slices],
            beside={name: column[rows] for name, column in self.beside.items()},
            names=None,
        )

    def groups(self) -> Iterator[tuple[int, Block]]:
        """All rows, as group 0, and those of each slice that has any."""
        yield 0, self
        for column in self.slices:
            for group in np.unique(column).tolist():
                yield group, self.at(np.flatnonzero(column == group))

    def steps(self) -> Iterator[Block]:
        """Some thousand rows at a time, of whole units."""
        cuts = np.arange(0, len(self), STEP)
        if self.clustered and not self.parted:
            cuts = np.unique(self.starts[np.searchsorted(self.starts, cuts, side="right") - 1])
        for start, end in zip(cuts.tolist(), [*cuts[1:].tolist(), len(self)], strict=True):
            yield self.at(slice(start, end))

    @staticmethod
    def join(parts: Sequence[Block]) -> Block:
        """The rows of the parts one after another."""
        first = parts[0]
        return replace(
            first,
            truth=np.concatenate([part.truth for part in parts]),
            said=np.concatenate([part.said for part in parts], axis=1),
            weight=None if first.weight is None else np.concatenate([part.weights for part in parts]),
            key=np.concatenate([part.key for part in parts]),
            slices=[np.concatenate([part.slices[i] for part in parts]) for i in range(len(first.slices))],
            beside={name: np.concatenate([part.beside[name] for part in parts]) for name in first.beside},
            names=None,
        )


# Hashes: numpy's own, so that every engine draws the same rows --------------------------------------------------------

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mixed(x: Hashes) -> Hashes:
    """Whole numbers that look random (splitmix64, doi:10.1145/2714064.2660195)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def of_numbers(columns: Sequence[Floats]) -> Hashes:
    """A hash of the numbers of each row: rows that say the same have the same."""
    key = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        key = mixed(key + (column + 0.0).view(np.uint64) + GOLDEN)
    return key


def of_texts(column: Any) -> Hashes:
    """A hash of each text of an Arrow array, of its bytes and their places.

    >>> import pyarrow as pa
    >>> some = ["ab", "ba", "", "ab"]
    >>> of_texts(pa.array(some)).tolist() == of_texts(pa.array(["x", *some]))[1:].tolist()
    True
    """
    import pyarrow as pa

    _, offsets, data = column.cast(pa.large_string()).buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    key, size, first = np.zeros(len(column), np.uint64), np.diff(ends), ends[:-1] - ends[0]
    if ends[-1] > ends[0]:
        letters = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].astype(np.uint64)
        place = np.arange(1, len(letters) + 1) - np.repeat(first, size)
        some = size > 0
        key[some] = np.add.reduceat(mixed(letters + place.astype(np.uint64) * GOLDEN), first[some])
    return mixed(key + size.astype(np.uint64))


def products(x: Floats) -> Floats:
    """x @ x.T in pieces so small that BLAS wakes no other threads, which would only wait for each other.

    Of many columns pieces have at least a few rows, as otherwise adding the pieces up takes longer than making them.
    """
    step = max(LEAST, ALONE // len(x) ** 2)
    whole = np.zeros((len(x), len(x)))
    for start in range(0, x.shape[1], step):
        piece = x[:, start : start + step]
        whole += piece @ piece.T
    return whole


# What is kept ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bundle:
    """Several of what is kept, which add up side by side; a group that only some blocks have is theirs alone."""

    def __add__(self, other: Self) -> Self:
        sides = {f.name: _added(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        return type(self)(**sides)


def _added(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(_added(first, second) for first, second in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a | {key: a[key] + part if key in a else part for key, part in b.items()}
    return a + b


@dataclass(frozen=True, eq=False)
class Moments:
    """Of m columns over n units: means, sums of products around them, and of the cubes of each.

    each: the columns themselves while there are at most `few` units, by the hash of the unit, for methods that need
    every unit; None of more.
    """

    n: int
    mean: Floats
    second: Floats
    third: Floats
    few: int
    each: tuple[Hashes, Floats] | None

    @staticmethod
    def of(block: Block, columns: Callable[[Block], Floats], few: int, *, squared: bool = False) -> Moments:
        """columns: rows -> their columns, weights included; they are added up by unit.

        squared: the moments of all products of two columns, which tell the fourth power of any form of them.
        """
        parts = [Moments._of(some, columns(some), few, squared=squared) for some in block.steps()]
        while len(parts) > 1:
            pairs = [first + second for first, second in zip(parts[::2], parts[1::2], strict=False)]
            parts = [*pairs, *parts[2 * len(pairs) :]]
        return parts[0]

    @staticmethod
    def _of(block: Block, x: Floats, few: int, *, squared: bool) -> Moments:
        key = block.key
        if block.clustered:
            x, key = np.add.reduceat(x, block.starts, axis=1), key[block.starts]
        if squared:
            i, j = np.triu_indices(len(x))
            return Moments.around(None, x[i] * x[j], 0)
        return Moments.around(key, x, few)

    @staticmethod
    def around(key: Hashes | None, x: Floats, few: int) -> Moments:
        """The moments of columns at hand. key: of each unit."""
        mean = x.mean(axis=1)
        d = x - mean[:, None]
        each = None if key is None or x.shape[1] > few else (key, x)
        return Moments(x.shape[1], mean, products(d), np.einsum("in,in,in->i", d, d, d), few, each)

    def __add__(self, other: Moments) -> Moments:
        """Chan, Golub and LeVeque 1979; the cubes by Pébay 2008."""
        a, b, n, d = self.n, other.n, self.n + other.n, other.mean - self.mean
        s, t = np.diag(self.second), np.diag(other.second)
        third = self.third + other.third + d**3 * (a * b * (a - b) / n**2) + 3 * d / n * (a * t - b * s)
        second = self.second + other.second + np.outer(d, d) * (a * b / n)
        each = None
        if n <= self.few and self.each is not None and other.each is not None:
            each = np.append(self.each[0], other.each[0]), np.concatenate([self.each[1], other.each[1]], axis=1)
        return Moments(n, self.mean + d * (b / n), second, third, self.few, each)

    @property
    def moments(self) -> Moments:
        """These."""
        return self

    @cached_property
    def totals(self) -> Floats:
        """The sums of the columns."""
        return self.mean * self.n

    @cached_property
    def units(self) -> Floats | None:
        """The columns of every unit, in the order of their hashes: the same for every order of the rows."""
        return None if self.each is None else self.each[1][:, np.argsort(self.each[0], kind="stable")]

    def square(self, form: Floats) -> float:
        """Σ (what each unit adds to multiples of the columns)² around its mean; 0 if only rounding is left."""
        value = float(form @ self.second @ form)
        return value if value > ROUNDING * float(np.abs(form) @ np.abs(self.second) @ np.abs(form)) else 0.0

    def powers(self, form: Floats) -> tuple[float, float]:
        """Of `squared` columns: the sums of the squares and of the fourth powers of multiples of the columns."""
        i, j = np.triu_indices(len(form))
        by = form[i] * form[j] * np.where(i == j, 1, 2)
        square = float(by @ self.mean)
        return square * self.n, float(by @ self.second @ by) + self.n * square**2

    def kish(self, column: int) -> float:
        """(Σ x)² / Σ x² of a column: how many units of equal weight tell as much."""
        total = self.totals[column]
        return float(ratio(total**2, self.second[column, column] + total**2 / self.n))


@dataclass(frozen=True, eq=False)
class Parted:
    """The sums of columns over the rows of each of few units, whose rows need not lie together. key: rising."""

    key: Hashes
    sums: Floats
    few: int

    @staticmethod
    def of(block: Block, columns: Callable[[Block], Floats], few: int) -> Parted:
        """columns: as of `Moments.of`."""
        names, code = np.unique(block.key, return_inverse=True)
        sums, start = np.zeros((0, 0)), 0
        for some in block.steps():
            x, of = columns(some), code[start : start + len(some)]
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
        """Over the units."""
        return Moments.around(self.key, self.sums, max(self.few, len(self.key)))


@dataclass(frozen=True, eq=False)
class Counts:
    """Rows by value, lowest first, with the sums of further columns: exact, or in the bins of `grid` if they are more.

    most: bins; a quarter of them where there are more than two further columns and more rows than bins: these are for
    sums along the values, not for quantiles. whole: whether all are whole numbers. waiting: parts that are not merged.
    """

    most: int
    shift: int
    low: Ints
    high: Ints
    rows: Ints
    sums: Floats
    whole: bool
    waiting: tuple[Counts, ...] = ()

    @staticmethod
    def of(values: Floats, columns: Sequence[Floats] = (), most: int = grid.MOST) -> Counts:
        """columns: numbers of each row that are added up by value.

        >>> c = Counts.of(np.array([2.5, -1.0, 2.5]), [np.array([1.0, 4.0, 2.0])])
        >>> c.counted(weighted=True).values.tolist(), c.rows.tolist(), c.sums.tolist()
        ([-1.0, 2.5], [1, 2], [[4.0, 3.0]])
        """
        code, sums = grid.codes(values), np.empty((0, len(values)))
        if columns:
            order = np.argsort(code, kind="stable")
            code, sums = code[order], np.array([column[order] for column in columns])
        else:
            code.sort()
        whole = not np.any(values != np.rint(values))
        return Counts(most, 0, code, code, np.ones(len(code), np.int64), sums, whole)._pooled()

    def __add__(self, other: Counts) -> Counts:
        """Parts wait until they are as many as the bins: then they are laid together."""
        parts = self._parts + other._parts
        whole = replace(parts[0], waiting=parts[1:])
        room = self._room(sum(int(part.rows.sum()) for part in parts))
        return whole.merged if sum(len(part.low) for part in parts) > 1.5 * room else whole

    @property
    def _parts(self) -> tuple[Counts, ...]:
        return (replace(self, waiting=()), *self.waiting)

    @cached_property
    def merged(self) -> Counts:
        """All parts as one."""
        parts = self._parts
        if len(parts) == 1:
            return parts[0]
        low, high, rows = (np.concatenate([getattr(part, name) for part in parts]) for name in ("low", "high", "rows"))
        order = np.argsort(low, kind="stable")
        sums = np.concatenate([part.sums for part in parts], axis=1)[:, order]
        shift, whole = max(part.shift for part in parts), all(part.whole for part in parts)
        return Counts(self.most, shift, low[order], high[order], rows[order], sums, whole)._pooled()

    def _pooled(self) -> Counts:
        shift = borders.shift(self.low, self.shift, self._room(int(self.rows.sum())), None)
        start = borders.starts(self.low, shift, None)
        high, rows = np.maximum.reduceat(self.high, start), np.add.reduceat(self.rows, start)
        sums = np.add.reduceat(self.sums, start, axis=1) if len(self.sums) else np.empty((0, len(start)))
        return Counts(self.most, shift, self.low[start], high, rows, sums, self.whole)

    def _room(self, rows: int) -> int:
        return self.most // 4 if len(self.sums) > 2 and rows > self.most else self.most

    def counted(self, *, weighted: bool) -> Counted:
        """How the values are distributed. weighted: whether the first of the further columns is their weight."""
        c = self.merged
        low, high = grid.scores(c.low), grid.scores(c.high)
        middle = np.where(low == high, low, low / 2 + high / 2)
        weight = c.sums[0] if weighted else c.rows.astype(np.float64)
        return Counted(middle, c.rows, weight, c.whole, float(low[0]), float(high[-1]), (high - low) / 2)


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of the units with the smallest hashes, at most `most` rows; of a hash that is cut through, no row.

    blocks: the rows. times: how often each stands there, where rows without ids that say the same are one. whole: all
    rows, drawn or not. border: hashes from here on are not drawn, whatever comes.
    """

    most: int
    blocks: tuple[Block, ...]
    times: tuple[Ints, ...]
    whole: int
    border: int

    @staticmethod
    def of(block: Block, most: int) -> Sample:
        """All rows, which is what is drawn of few."""
        own = replace(block, names=None)
        return Sample(most, (own,), (np.ones(len(block), np.int64),), len(block), END)

    def __add__(self, other: Sample) -> Sample:
        border = min(self.border, other.border)
        blocks, times = [*self.blocks], [*self.times]
        for block, often in zip(other.blocks, other.times, strict=True):
            at = np.flatnonzero(block.key < np.uint64(border)) if border < END else slice(None)
            blocks.append(block.at(at))
            times.append(often[at])
        both = Sample(self.most, tuple(blocks), tuple(times), self.whole + other.whole, border)
        return both.drawn if sum(map(len, blocks)) > 1.5 * self.most else both

    @cached_property
    def drawn(self) -> Sample:
        """The same as one block, cut."""
        if len(self.blocks) == 1 and not self.blocks[0].alike and self.whole <= self.most:
            return self
        block, times, border = Block.join(self.blocks), np.concatenate(self.times), self.border
        at = np.flatnonzero(block.key < np.uint64(border)) if border < END else np.arange(len(block))
        if block.alike and len(at):
            at = at[np.argsort(block.key[at], kind="stable")]
            start = np.flatnonzero(np.append(True, np.diff(block.key[at]) != 0))
            often = np.add.reduceat(times[at], start)
            at = at[start]
        else:
            often = times[at]
        if len(at) > self.most:
            border = int(np.partition(block.key[at], self.most)[self.most])
            inside = block.key[at] < np.uint64(border)
            at, often = at[inside], often[inside]
        return Sample(self.most, (block.at(at),), (often,), self.whole, border)

    @cached_property
    def rows(self) -> Block:
        """The rows that were drawn."""
        return self.drawn.blocks[0]

    @cached_property
    def stands_for(self) -> float:
        """The rows that each row drawn stands for: d = N / m."""
        return float(ratio(self.whole, self.drawn.times[0].sum()))

    @property
    def is_whole(self) -> bool:
        """Whether it has every row, each for itself."""
        return len(self.rows) == self.whole

    def square(self, moved: Floats) -> tuple[float, float]:
        """Σ d ψ² over units, and by what share its root may be off: ½ √(Σ d (d − 1) ψ⁴) / Σ d ψ².

        moved: how much each row drawn moves a metric, its weight included, 0 of rows that take no part.
        """
        d, times, each = self.stands_for, self.drawn.times[0].astype(np.float64), moved**2
        if self.rows.clustered:
            each = np.bincount(self._units, moved).astype(np.float64) ** 2
            times = np.ones(len(each))
        whole = d * float(times @ each)
        return whole, float(ratio(np.sqrt(d * (d - 1) * float(times @ each**2)), 2 * whole))

    @cached_property
    def _units(self) -> Ints:
        return np.unique(self.rows.key, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Extremes:
    """The rows with the largest sizes, and of equal ones those whose names come first: name, what is, what is said."""

    most: int
    size: Floats
    rows: tuple[tuple[Any, float, float], ...]

    @staticmethod
    def of(block: Block, size: Floats, system: int, most: int) -> Extremes:
        """size: of each row."""
        last = max(len(size) - most, 0)
        at = np.flatnonzero(size >= np.partition(size, last)[last])[: 1_000 * most]
        names = [""] * len(at) if block.names is None else _listed(block.names.take(at))
        said = block.said[system]
        rows = zip(names, block.truth[at].tolist(), said[at].tolist(), strict=True)
        return Extremes(most, size[at], tuple(rows))._cut()

    def __add__(self, other: Extremes) -> Extremes:
        return Extremes(self.most, np.append(self.size, other.size), self.rows + other.rows)._cut()

    def _cut(self) -> Extremes:
        order = sorted(range(len(self.rows)), key=lambda i: (-self.size[i], self.rows[i]))[: self.most]
        return Extremes(self.most, self.size[order], tuple(self.rows[i] for i in order))


def _listed(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()


@dataclass(frozen=True, eq=False)
class Total:
    """Numbers that add up."""

    sums: Floats

    def __add__(self, other: Total) -> Total:
        return Total(self.sums + other.sums)


def won(first: Floats, second: Floats) -> Total:
    """Units that the first misses less than the second, and the other way round; rounding wins nothing."""
    more = minus(second, first)
    return Total(np.array([np.count_nonzero(more > 0), np.count_nonzero(more < 0)]))

"""The two readings of a multi-class or multi-label table in blocks, and what is kept of each block.

Each class or label is a problem of two classes on the same rows. The first reading counts confusion cells and bins of
scores and adds up losses. The second adds up the influence of each row on means over the classes or labels, and for
labels also at each of a range of thresholds.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.metric import Chosen
from evalkit.limits import Limits
from evalkit.metrics import grid, kept
from evalkit.metrics.block import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.kept import Bundle, Distinct, Moments, Parted, Tally, Total
from evalkit.metrics.rows import Rows
from evalkit.statistics.class_cells import CellCounts, Counting, Group
from evalkit.statistics.forms import OneAgainstRest, Ranked, whole_weights
from evalkit.statistics.summed import Terms
from evalkit.system import cached

LEAST = 2**12  # bins of the scores of a class or label at least
ENDS = 4  # bins in which the lowest and the highest number stay
CODED = 52  # labels up to which those of a row are one whole number
WHOLE = ""  # the name of the cells of all classes
Hits = Callable[[Rows], tuple[Bools, Bools]]  # which rows count, and which of these are hits
Place = tuple[int, str]  # a group and a metric


# The first reading ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Counted(Bundle):
    """What the first reading keeps; groups (slices), systems, classes and labels are numbered.

    cells: by group, of all classes, of each label, and of shares of rows by name. moments: of the terms of losses.
    scores: by group, system, and class or label, the rows of which are the positives; of two classes 0. more: by name
    and system or group. facts: rows, and what else is counted.
    """

    cells: dict[tuple[int, int | str], CellCounts]
    moments: dict[int, Moments | Parted]
    scores: dict[tuple[int, int, int], Tally]
    more: dict[tuple[str, int], Any]
    facts: Total
    ids: Distinct


@dataclass(frozen=True, eq=False, kw_only=True)
class Asked:
    """The first reading of a block: how cells are counted (`counting`) and which losses are added up (`terms`).

    sliced, ranked: whether losses and scores are also counted of slices. each: classes or labels times systems, which
    share the bins of the limits. ids: that are looked through for a second one.
    """

    counting: Counting
    terms: Terms
    sliced: bool
    ranked: bool
    limits: Limits
    each: int = 1
    ids: int = 0

    @property
    def scale(self) -> float | None:
        """The unit that weights are counted in; None for unweighted rows."""
        return self.counting.scale

    def bins(self, group: int = 0) -> int:
        """Of the scores of a class or label in a group."""
        most = self.limits.slice_bins if group else self.limits.bins
        return min(most, max(most // self.each, LEAST))

    def __call__(self, block: Block) -> Counted:
        """Summarise a block."""
        block = self.told(block)
        cells, moments, scores = {}, {}, {}
        for group, part in block.groups():
            weight, most = self.counting.weights(part), self.bins(group)
            for name, actual, said in self.problems(part, group):
                cells[group, name] = self.counting(part, actual.astype(np.int64), said.astype(np.int64), weight)
            if self.terms.metrics and (self.sliced or not group):
                moments[group] = self.terms.moments(part, group)
            for (i, c), bins in self.scores(part, weight, most) if self.ranked or not group else ():
                scores[group, i, c] = bins
        more, facts = self.more(block, self.counting.weights(block))
        ids = Distinct.of(np.empty(0) if block.id is None else block.id, self.ids)
        return Counted(cells, moments, scores, more, Total(np.array([len(block), *facts])), ids)

    def told(self, block: Block) -> Block:
        """The block as `rows_of` has it."""
        return block

    def problems(self, part: Block, group: int) -> Iterator[tuple[int | str, Any, Any]]:
        """The name of what is counted in cells, what is, and what each system says of it."""
        return iter(())

    @abstractmethod
    def scores(self, part: Block, weight: Ints | None, most: int) -> Iterator[tuple[tuple[int, int], Tally]]:
        """The system and the class or label, and its scores in so many bins."""

    @abstractmethod
    def more(self, block: Block, weight: Ints | None) -> tuple[dict[tuple[str, int], Tally], Sequence[Any]]:
        """What else is kept of all rows."""


def tally(score: Floats, hit: Bools, weight: Ints | None, most: int, cut: float | None = None) -> Tally:
    """Rows by score in so many bins, those that are hits and the others. cut: what is at or above it is exact."""
    return Tally(most, (grid.reduce(score, hit, weight, most=most, cut=cut),))


# Of classes


def decided(block: Block, *, scored: bool) -> Block:
    """The block with the class that each system predicts, else the one of the highest score."""
    predicted = block.own.get("predicted", None if scored else block.said)
    predicted = block.said.argmax(axis=1) if predicted is None else predicted.astype(np.int64)
    return replace(block, own={"predicted": predicted})


def class_rows(block: Block, system: int, classes: int, *, scored: bool) -> Rows:
    """What is, and what a system says of it; its weights are those of the block."""
    score = block.said[system].T if scored else None
    predicted = block.own["predicted"][system]
    return Rows(block.truth, score, decision=predicted, classes=classes, beside=block.beside)


def highest(score: Floats, predicted: Ints) -> Floats:
    """The score of the predicted class. score: one column a class."""
    return np.take_along_axis(score, predicted[:, None], axis=1)[:, 0]


@dataclass(frozen=True, eq=False, kw_only=True)
class ByClass(Asked):
    """Of several classes. scored: whether each has a score.

    Further kept are the score of the predicted class, right or wrong, how far the scores of a row are from adding up
    to 1, and the rows whose predicted class has not the highest score.
    """

    scored: bool

    def told(self, block: Block) -> Block:
        return decided(block, scored=self.scored)

    def problems(self, part: Block, group: int) -> Iterator[tuple[int | str, Any, Any]]:
        yield WHOLE, part.truth, part.own["predicted"]

    def scores(self, part: Block, weight: Ints | None, most: int) -> Iterator[tuple[tuple[int, int], Tally]]:
        for i, c in np.ndindex(len(part.said) if self.scored else 0, self.counting.classes):
            yield (i, c), tally(part.said[i, c], part.truth == c, weight, most)

    def more(self, block: Block, weight: Ints | None) -> tuple[dict[tuple[str, int], Tally], Sequence[Any]]:
        if not self.scored:
            return {}, [0] * len(block.said)
        tallies, lower = {}, []
        for i in range(len(block.said)):
            rows = class_rows(block, i, self.counting.classes, scored=True)
            own, off = highest(rows.scores, rows.predicted), np.abs(block.said[i].sum(axis=0) - 1)
            tallies["top", i] = tally(own, rows.predicted == rows.actual, weight, self.bins())
            tallies["off", i] = Tally(ENDS, (grid.tally(np.array([off.min(), off.max()]), most=ENDS),))
            lower.append(int((rows.scores.max(axis=1) > own).sum()))
        return tallies, lower


# Of labels


def labelled(block: Block, labels: int) -> Block:
    """The block with a row for each label, true or not, and of each system a table of one row per label."""
    said = block.said.reshape(-1, labels, len(block))
    return replace(block, truth=block.truth.reshape(labels, -1) == 1, said=said)


def label_rows(block: Block, system: int, cuts: Sequence[Floats]) -> Rows:
    """What is, and what a system says of it; its weights are those of the block. cuts: of each the thresholds."""
    return Rows(block.truth.T, block.said[system].T, cuts[system], beside=block.beside)


@dataclass(frozen=True, eq=False, kw_only=True)
class ByLabel(Asked):
    """Of several labels. cuts: of each system the threshold of each label.

    hits, sliced_hits: shares of rows by name, of all rows and of each slice. decided: whether cells are also counted of
    slices. Further kept are, of rows with weights, the scores of all labels, each once; which labels rows have
    together, as whole numbers; and the weight of the rows without a label.
    """

    cuts: Sequence[Floats]
    hits: Mapping[str, Hits]
    sliced_hits: Mapping[str, Hits]
    decided: bool

    @property
    def labels(self) -> int:
        """How many there are."""
        return len(self.cuts[0])

    def told(self, block: Block) -> Block:
        return labelled(block, self.labels)

    def problems(self, part: Block, group: int) -> Iterator[tuple[int | str, Any, Any]]:
        if self.decided or not group:
            for j in range(self.labels):
                yield j, part.truth[j], np.array([part.said[i, j] >= cut[j] for i, cut in enumerate(self.cuts)])
        rows = [label_rows(part, i, self.cuts) for i in range(len(self.cuts))]
        for name, of in (self.sliced_hits if group else self.hits).items():
            members, hits = zip(*map(of, rows), strict=True)
            yield name, members[0], np.array(hits)

    def scores(self, part: Block, weight: Ints | None, most: int) -> Iterator[tuple[tuple[int, int], Tally]]:
        for i, j in np.ndindex(len(self.cuts), self.labels):
            yield (i, j), tally(part.said[i, j], np.asarray(part.truth[j], bool), weight, most)

    def more(self, block: Block, weight: Ints | None) -> tuple[dict[tuple[str, int], Tally], Sequence[Any]]:
        tallies, none = {}, ~block.truth.any(axis=0)
        for i in range(0 if weight is None else len(self.cuts)):
            tallies["every", i] = Tally(self.bins(), (grid.tally(block.said[i].ravel(), most=self.bins()),))
        if self.labels <= CODED:
            code = 2.0 ** np.arange(self.labels) @ block.truth
            tallies["sets", 0] = Tally(self.limits.bins, (grid.tally(code, weight, most=self.limits.bins),))
        return tallies, [none.sum() if weight is None else weight[none].sum()]


# The second reading ---------------------------------------------------------------------------------------------------


def of_two(block: Block) -> Block:
    """The block as that of one label, whose rows and the others are its strata."""
    return replace(labelled(block, 1), own={"stratum": (block.truth == 1).astype(np.int64)})


def one_of(block: Block, classes: int) -> Block:
    """The block as that of labels, of which each row has the one that is its class, and that as its stratum."""
    return replace(block, truth=block.truth == np.arange(classes)[:, None], own={"stratum": block.truth})


@dataclass(frozen=True, eq=False)
class Cut:
    """The influence of a row on a metric of one label's decisions, indexed by 2 · true + predicted."""

    at: float
    moved: Floats

    def places(self, actual: Bools, score: Floats) -> Ints:
        """Where among what moves it each row stands."""
        return 2 * actual.astype(np.int64) + (score >= self.at)


@dataclass(frozen=True, eq=False)
class Mean:
    """A mean of a metric over classes or labels, per system: the influence of rows on the metric of each of them.

    The columns are those of the first system's classes or labels, of the next one's, …, and then of each system's
    shares. shares: of each in the mean; moving: of each system how much a row with the label moves the mean through the
    shares, nothing where these are fixed. picked: of every two systems that pick their rows, by label and 4 · true +
    2 · what the first predicts + what the second does, how much a row moves the difference. strata: classes; 1 of
    labels.
    """

    of: Sequence[Sequence[Ranked | Cut]]
    shares: Floats
    moving: Sequence[Floats] = ()
    picked: Mapping[tuple[int, int], Floats] | None = None
    strata: int = 1

    def placed(self, part: Block, found: dict[Any, Ints]) -> Block:
        """The block with the place of each score among what moves its label, in the place of the score.

        found: the places that are known from other metrics.
        """
        every = {(type(one), i, j): one for i, own in enumerate(self.of) for j, one in enumerate(own)}
        for at, one in every.items():
            found[at] = found[at] if at in found else one.places(part.truth[at[2]], part.said[at[1:]])
        return replace(part, said=np.array([found[at] for at in every]).reshape(part.said.shape))

    def columns(self, block: Block, weight: Floats) -> Floats:
        """How much each row of a block so placed moves the mean."""
        every = (one.moved.take(place) for own, said in zip(self.of, block.said, strict=True)
                 for one, place in zip(own, said, strict=True))  # fmt: skip
        x = np.empty((len(self.of) * len(self.shares) + len(self.moving), len(block)))
        for row, moved in zip(x, [*every, *(of @ block.truth for of in self.moving)], strict=True):
            np.multiply(moved, weight, out=row)
        return x

    def powers(self, block: Block, x: Floats) -> Floats:
        """Of every two systems the sums of the squares and fourth powers of what moves the difference, by stratum."""
        k, n = len(self.shares), len(self.of)
        moved = np.tensordot(self.shares, x[: n * k].reshape(n, k, -1), (0, 1))
        moved += x[n * k :] if self.moving else 0.0
        powers, code = [], block.own["stratum"] if self.strata > 1 else np.zeros(len(block), np.int64)
        for i, j in combinations(range(n), 2):
            apart = moved[i] - moved[j]
            if self.picked:
                a, b = block.said[i], block.said[j]
                apart = np.sum(
                    [of.take(2 * p + q % 2) for of, p, q in zip(self.picked[i, j], a, b, strict=True)], axis=0
                )
            square = apart * apart
            powers.append([np.bincount(code, power, self.strata) for power in (square, square * square)])
        return np.array(powers).reshape(-1, 2, self.strata).swapaxes(1, 2)


@dataclass(frozen=True, eq=False)
class Moved(Bundle):
    """What the second reading keeps.

    means: of each group and metric moments of how much rows move a mean; powers: of unweighted rows. shared: of
    each group and loss that leaves rows out, of every two systems the rows that both have, and the differences on
    these. cells: of two classes, of each group. alone: what is asked of one system.
    """

    means: dict[Place, Moments | Parted]
    powers: dict[Place, Total]
    shared: dict[Place, Moments | Parted]
    cells: dict[int, CellCounts]
    alone: tuple[Moments | Parted, ...]


@dataclass(frozen=True, eq=False)
class ByMoves:
    """The second reading of a block: influence values of the rows. told: the block with labels. plain: unweighted rows.

    few: units whose columns are kept side by side. means: by group and metric. shared: losses that leave rows out, by
    group and metric. cuts: of each system the threshold of each label. decided: groups of which it is counted what they
    decide, as `counting` says, of two classes. alone: what is asked of `system` only.
    """

    told: Callable[[Block], Block]
    scale: float | None
    plain: bool
    few: int
    means: Mapping[Place, Mean]
    shared: Mapping[Place, Chosen] | None = None
    cuts: Sequence[Floats] = ()
    decided: Collection[int] = ()
    counting: Any = None
    system: int = 0
    alone: Sequence[Terms] = ()

    def __call__(self, block: Block) -> Moved:
        """Summarise a block."""
        block = self.told(block)
        means: dict[Place, Moments | Parted] = {}
        powers: dict[Place, Total] = {}
        shared: dict[Place, Moments | Parted] = {}
        cells: dict[int, CellCounts] = {}
        groups = {*self.decided, *(group for group, _ in [*self.means, *(self.shared or ())])}
        for group, part in (one for one in block.groups() if one[0] in groups) if any(groups) else [(0, block)]:
            found: dict[Any, Ints] = {}
            for at in (at for at in self.means if at[0] == group):
                means[at], sums = self._mean(part, self.means[at], found)
                powers |= {at: Total(sums)} if self.plain else {}
            shared |= {at: self._shared(part, of) for at, of in (self.shared or {}).items() if at[0] == group}
            cells |= {group: self._cells(part)} if group in self.decided else {}
        own = replace(block, said=block.said[self.system : self.system + 1])
        return Moved(means, powers, shared, cells, tuple(terms.moments(own, 0) for terms in self.alone))

    def _cells(self, part: Block) -> CellCounts:
        """What thresholds decide of two classes."""
        said = np.array([score[0] >= cut for score, cut in zip(part.said, self.cuts, strict=True)])
        weight = self.counting.weights(part)
        counted: CellCounts = self.counting(part, part.truth[0].astype(np.int64), said.astype(np.int64), weight)
        return counted

    def _mean(self, part: Block, mean: Mean, found: dict[Any, Ints]) -> tuple[Moments | Parted, Floats]:
        """The moments of what moves a mean; of unweighted rows also the powers of differences."""
        powers = np.zeros((len(mean.of) * (len(mean.of) - 1) // 2, mean.strata, 2))

        def columns(some: Block) -> Floats:
            x = mean.columns(some, whole_weights(some, self.scale))
            if self.plain:
                powers[:] += mean.powers(some, x)
            return x

        return kept.summed(mean.placed(part, found), columns, self.few), powers

    def _shared(self, part: Block, chosen: Chosen) -> Moments | Parted:
        kind: Any = chosen.metric.kind

        def columns(some: Block) -> Floats:
            terms = [kind.terms(label_rows(some, i, self.cuts), chosen.k, (0.0, 0.0)) for i in range(len(self.cuts))]
            every = []
            for (first, size), (second, other) in combinations(terms, 2):
                both = size * other * some.weights
                every += [both, (first - second) * both]
            return np.array(every)

        return kept.summed(part, columns, self.few)


# What they tell -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Several(OneAgainstRest):
    """Multi-class or multi-label metrics of a table that was read once or twice in blocks."""

    second: Any = None
    moved: Any = None

    @cached_property
    def groups(self) -> set[int]:
        """The numbers of the groups, 0 for all rows."""
        return {group for group, _ in self.counted.cells} | set(self.counted.moments)

    @cached
    def cells(self, group: int, of: int | str = WHOLE) -> Group:
        """The cells of all classes, of a label, or of what is counted by name."""
        return self.first.counting.group(self.counted.cells[group, of], self.layout)

    @cached_property
    def means(self) -> dict[Place, Moments]:
        """Of each group and metric the moments of what moves the mean."""
        return {} if self.moved is None else {at: one.moments.around_zero for at, one in self.moved.means.items()}

    def powers(self, at: Place) -> dict[tuple[int, int], Floats]:
        """Of every two systems the powers of what moves the difference, where they are known."""
        powers = None if self.moved is None else self.moved.powers.get(at)
        return {} if powers is None else self.by_pair(powers.sums)

    def by_pair(self, each: Iterable[Any]) -> dict[tuple[int, int], Any]:
        """What is kept of every two systems, by their numbers."""
        return dict(zip(combinations(range(len(self.systems)), 2), each, strict=True))

    def table(self, system: str, c: int) -> Counts:
        """The table of a class against the rest, or of a label."""
        return self.scores(0, self.systems.index(system), c).chances

    def read(self, i: int, group: int = 0, of: int | str = WHOLE) -> Any:
        """The cells of a system, those of rows without weight too."""
        return self.first.counting.read(self.counted.cells[group, of].cells[i, i].whole, 1)

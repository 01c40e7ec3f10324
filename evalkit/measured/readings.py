"""The two readings of a table of labels and scores in blocks, and what is kept of each block.

The positive class of two, each of several classes and each label is a problem of its own on the
same rows: positives against all others. The first reading counts confusion cells and bins of scores
and adds up losses. The second adds up the influence of each row on metrics of ranking, on means
over the classes or labels and, for labels, also at each of a range of thresholds.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.catalogue import metric, score_kinds
from evalkit.catalogue.tables import AVERAGE_PRECISION
from evalkit.limits import Limits
from evalkit.measured.rows import Terms
from evalkit.metrics import calibration, grid, influence, kept, losses
from evalkit.metrics.counts import Counts
from evalkit.metrics.kept import Block, Bundle, Distinct, Moments, Parted, Tally, Total
from evalkit.metrics.rows import Rows
from evalkit.statistics.class_cells import CellCounter, CellCounts

UNITS = 2**23  # whose values are kept side by side, of a metric within units

LEAST = 2**12  # bins of the scores of a class or label at least
WAITING = 16  # rows, of all systems together, that wait to be binned, for each bin
NORMAL = 1e-3  # how far the probabilities of a row may be from adding up to 1
CODED = 52  # labels up to which those of a row are one whole number
WHOLE = ""  # the name of the cells of all classes
Hits = Callable[[Rows], tuple[Bools, Bools]]  # which rows count, and which of these are hits
Place = tuple[int, str]  # a group and a metric


# Scores in bins -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Binned:
    """Scores in bins. weight: the unit that weights are counted in, None for unweighted rows.

    threshold: for decisions.
    """

    bins: grid.Grid
    weight: float | None
    threshold: float = np.nan

    def at(self, threshold: float) -> "Binned":
        """These scores with another threshold; they are not counted again."""
        table = replace(self, threshold=threshold)
        vars(table)["counts"] = self.counts
        return table

    @cached_property
    def counts(self) -> Counts:
        """The table of counts by score."""
        return grid.counts(self.bins, self.weight or 1.0)

    @cached_property
    def chances(self) -> Counts:
        """The table with the middle of each bin as its score, for metrics that take scores as
        probabilities.
        """
        c = self.counts
        return Counts(grid.middles(self.bins), c.tp, c.fp, c.positives, c.negatives)

    @cached_property
    def cut(self) -> Counts:
        """The table of the decisions at the threshold."""
        return influence.decision(self.counts, self.threshold)

    @cached_property
    def shared(self) -> Bools:
        """A mask: True where a threshold stands for several distinct scores."""
        return grid.spread(self.bins)

    @property
    def moved(self) -> tuple[float, float, float]:
        """By how much bins with several scores may change AUC, and the lower and upper bound of
        average precision.
        """
        return grid.auc_width(self.counts, self.shared), *grid.average_precision_limits(
            self.counts, self.shared
        )

    def changed(self, chosen: metric.Chosen) -> float:
        """By how much bins with several scores may change a metric of the table; NaN if no bound is
        known.
        """
        kind = chosen.base.metric.kind
        if not isinstance(kind, score_kinds.Curve) or not kind.rises:
            return np.nan
        value = chosen.at(self.chances)
        tables = [replace(self, bins=bins) for bins in grid.ends(self.bins)]
        ends = [chosen.at(t.chances) for t in tables]
        if chosen.base.metric is AVERAGE_PRECISION:
            ends = [*self.moved[1:]]
        return max(abs(end - value) for end in ends)


@dataclass(frozen=True, eq=False)
class Ranked:
    """The influence of a row on a metric of one class against the rest, by its class and the bin of
    its score.

    low: where each bin of scores begins, ascending, as codes. moved: by bin, for positive rows,
    then for negative ones.
    """

    low: Ints
    moved: Floats

    def places(self, actual: Bools, score: Floats) -> Ints:
        """The index in `moved` of each row."""
        code = grid.codes(score)
        order = np.argsort(code)  # sorted first, for speed
        place = np.empty(len(code), np.int64)
        place[order] = np.searchsorted(self.low, code[order], side="right") - 1
        # lower are only rows without weight
        return np.maximum(place, 0) + np.where(actual, 0, len(self.low))


def ranked(chosen: metric.Chosen, table: Binned) -> Ranked:
    """The influence of the rows of each bin on the metric of one class or label."""
    moved = np.ascontiguousarray(chosen.metric.kind.bins(table.chances)[:, ::-1])
    return Ranked(grid.codes(table.counts.threshold[::-1]), np.nan_to_num(moved).ravel())


def whole_weights(block: Block, scale: float | None) -> Floats:
    """The weights of the rows, rounded as they are counted."""
    if scale is None:
        return block.weights
    return grid.whole(block.weights, scale).astype(np.float64) * scale


# The first reading --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Counted(Bundle):
    """The summary of the first reading; groups (slices), systems, classes and labels are numbered.

    cells: by group, for all classes, each label, and shares of rows by name. moments: of the terms
    of losses. scores: by group, system, and class or label, whose rows are the positives; 0 if
    there are two classes. more: by name and system or group. facts: the number of rows, and other
    counts.
    """

    cells: dict[tuple[int, int | str], CellCounts]
    moments: dict[int, Moments | Parted]
    scores: dict[tuple[int, int, int], Tally]
    more: dict[tuple[str, int], Any]
    facts: Total
    ids: Distinct


@dataclass(frozen=True, eq=False, kw_only=True)
class Asked:
    """The first reading of a block: how cells are counted (`counting`) and which losses are added
    up (`terms`).

    sliced, ranked: True if losses, and scores, are also counted for slices. problems: the number of
    classes or labels, 1 for two classes; several share the allowed number of bins. exact: for each
    system the threshold at which counts stay exact. ids: the largest number of rows whose ids are
    checked for duplicates.
    """

    counting: CellCounter
    terms: Terms
    limits: Limits
    sliced: bool = False
    ranked: bool = True
    problems: int = 1
    exact: Sequence[float] | None = None
    ids: int = 0

    @property
    def scale(self) -> float | None:
        """The unit that weights are counted in; None for unweighted rows."""
        return self.counting.scale

    def bins(self, group: int = 0) -> int:
        """The largest number of bins for the scores of a class or label in a group."""
        most = self.limits.slice_bins if group else self.limits.bins
        each = self.problems * len(self.terms.centres) if self.problems > 1 else 1
        return min(most, max(most // each, LEAST))

    def __call__(self, block: Block) -> Counted:
        """Summarise a block."""
        block = self.decided(self.told(block))
        cells = {}
        moments = {}
        scores = {}
        for group, part in block.groups():
            weight = self.counting.weights(part)
            most = self.bins(group)
            for name, actual, said in self.cells(part, group):
                cells[group, name] = self.counting.count(
                    part, actual.astype(np.int64), said.astype(np.int64), weight
                )
            if self.terms.metrics and (self.sliced or not group):
                moments[group] = self.terms.moments(part, group)
            for (i, c), bins in self.scores(part, weight, most) if self.ranked or not group else ():
                scores[group, i, c] = bins
        more, facts = self.more(block, self.counting.weights(block))
        ids = Distinct.of(np.empty(0) if block.id is None else block.id, self.ids)
        return Counted(cells, moments, scores, more, Total(np.array([len(block), *facts])), ids)

    def told(self, block: Block) -> Block:
        """The block with one row per problem, positive or not, and for each system a table with one
        row per problem.
        """
        said = block.said.reshape(-1, self.problems, len(block))
        return replace(block, truth=block.truth.reshape(self.problems, -1) == 1, said=said)

    def decided(self, block: Block) -> Block:
        """The block of `told` with the systems' predictions."""
        return block

    def cells(self, part: Block, group: int) -> Iterator[tuple[int | str, Any, Any]]:
        """For each set of cells its name, the actual values, and the predictions of each system."""
        return iter(())

    def scores(
        self, part: Block, weight: Ints | None, most: int
    ) -> Iterator[tuple[tuple[int, int], Tally]]:
        """For each system and problem its number, and its scores in at most `most` bins."""
        held = WAITING * most // (len(part.said) if self.problems == 1 else 1)
        for i, c in np.ndindex(part.said.shape[:2]):
            cut = None if self.exact is None else self.exact[i]
            hit = np.asarray(part.truth[c], bool)
            tally = Tally.of_hits(part.said[i, c], hit, weight, most=most, held=held, cut=cut)
            yield (i, c), tally

    @abstractmethod
    def more(
        self, block: Block, weight: Ints | None
    ) -> tuple[dict[tuple[str, int], Any], Sequence[Any]]:
        """Further summaries of all rows."""


# Of two classes


def score_rows(block: Block, system: int) -> Rows:
    """The actual values and a system's scores, from a block of `told`; its weights are those of the
    block.
    """
    return Rows(block.truth[0].astype(np.int64), block.said[system, 0], beside=block.beside)


@dataclass(frozen=True, eq=False, kw_only=True)
class ByScore(Asked):
    """The first reading of two classes.

    within: metrics that rank the rows within each unit, whose values per unit are kept;
    within_slices: also per slice. It also counts the positive rows and, per system, the scores
    outside 0..1 and those of 0 or 1 that are wrong.
    """

    within: Sequence[metric.Chosen] = ()
    within_slices: bool = False

    def __call__(self, block: Block) -> Counted:
        """Summarise a block."""
        asked = ((group, part) for group, part in block.groups() if self.within_slices or not group)
        values = {
            ("within", group): Moments.of(part, self._values, UNITS)
            for group, part in asked
            if self.within
        }
        return replace(super().__call__(block), more=values)

    def more(
        self, block: Block, weight: Ints | None
    ) -> tuple[dict[tuple[str, int], Any], Sequence[Any]]:
        return {}, [
            block.truth.sum(),
            *(n for said in block.said for n in outside(said[0], block.truth[0])),
        ]

    def _values(self, block: Block) -> Floats:
        """What each row adds to the numerator and the denominator of its unit's value."""
        every = [
            chosen.sums(block.rows(i)) for chosen in self.within for i in range(len(block.said))
        ]
        return np.array([side for sums in every for side in (sums.numerator, sums.size)])


def outside(score: Floats, hit: Bools) -> tuple[int, int]:
    """The number of scores outside 0..1, and of scores of 0 or 1 that are wrong."""
    low = calibration.EPSILON
    high = 1 - calibration.EPSILON
    if low <= score.min() and score.max() <= high:
        return 0, 0
    certain = np.where(hit, score < low, score > high)
    return int(np.count_nonzero((score < 0) | (score > 1))), int(np.count_nonzero(certain))


# Of several classes


def class_rows(block: Block, system: int) -> Rows:
    """The actual values and a system's predictions, from a block of `told`; its weights are those
    of the block.
    """
    score = block.said[system].T if block.said.shape[1] else None
    predicted = block.own["predicted"][system]
    return Rows(
        block.own["stratum"],
        score,
        decision=predicted,
        classes=len(block.truth),
        beside=block.beside,
    )


def highest(score: Floats, predicted: Ints) -> Floats:
    """The score of the predicted class. score: one column per class."""
    return np.take_along_axis(score, predicted[:, None], axis=1)[:, 0]


@dataclass(frozen=True)
class RowSums:
    """The sums of the probabilities of rows: the lowest and the highest, and the number of rows
    that do not add up to 1; except rows of only 0, which log loss leaves out: `zero` counts them.

    scaled, unscaled: the log loss, added up over the rows, with each row scaled to the sum 1, and
    as the rows are.
    """

    low: float
    high: float
    rows: int
    zero: int
    scaled: float
    unscaled: float

    @staticmethod
    def of(rows: Rows, weight: Floats | Ints | None) -> "RowSums":
        """The sums of rows that each have a score for every class."""
        each = np.ones(len(rows)) if weight is None else weight
        some = rows.scores.any(axis=1)
        actual = rows.actual[some]
        scores = rows.scores[some]
        each = each[some]
        total = scores.sum(axis=1)
        return RowSums(
            float(total.min(initial=np.inf)),
            float(total.max(initial=-np.inf)),
            int(np.count_nonzero(np.abs(total - 1) > NORMAL)),
            len(rows) - len(total),
            float(losses.log_classes(actual, scores) @ each),
            float(losses.log_unscaled(actual, scores) @ each),
        )

    def __add__(self, other: "RowSums") -> "RowSums":
        return RowSums(
            min(self.low, other.low),
            max(self.high, other.high),
            self.rows + other.rows,
            self.zero + other.zero,
            self.scaled + other.scaled,
            self.unscaled + other.unscaled,
        )

    @property
    def moved(self) -> float:
        """By which share of itself the log loss changes when the rows are scaled."""
        return float(ratio(self.scaled - self.unscaled, self.unscaled))


@dataclass(frozen=True, eq=False, kw_only=True)
class ByClass(Asked):
    """The first reading of several classes. scored: True if each class has a score.

    It also keeps the score of the predicted class, right or wrong; the sums of the rows' scores;
    and the number of rows whose predicted class does not have the highest score.
    """

    scored: bool

    def told(self, block: Block) -> Block:
        truth = block.truth == np.arange(self.problems)[:, None]
        own = {"stratum": block.truth, **block.own}
        if self.scored:
            return replace(block, truth=truth, own=own)
        return replace(
            block, truth=truth, said=block.said[:, None][:, :0], own={"predicted": block.said} | own
        )

    def decided(self, block: Block) -> Block:
        """The block with the class that each system predicts, or the class with the highest score
        if none is given.
        """
        predicted = (
            block.own["predicted"] if "predicted" in block.own else block.said.argmax(axis=1)
        )
        return replace(block, own={**block.own, "predicted": predicted.astype(np.int64)})

    def cells(self, part: Block, group: int) -> Iterator[tuple[int | str, Any, Any]]:
        yield WHOLE, part.own["stratum"], part.own["predicted"]

    def more(
        self, block: Block, weight: Ints | None
    ) -> tuple[dict[tuple[str, int], Tally | RowSums], Sequence[Any]]:
        if not self.scored:
            return {}, [0] * len(block.said)
        tallies: dict[tuple[str, int], Tally | RowSums] = {}
        lower = []
        for i in range(len(block.said)):
            rows = class_rows(block, i)
            own = highest(rows.scores, rows.predicted)
            right = rows.predicted == rows.actual
            tallies["top", i] = Tally.of_hits(own, right, weight, most=self.bins())
            tallies["sums", i] = RowSums.of(rows, weight)
            lower.append(int((rows.scores.max(axis=1) > own).sum()))
        return tallies, lower


# Of labels


def label_rows(block: Block, system: int, cuts: Sequence[Floats]) -> Rows:
    """The actual values and a system's predictions, from a block of `told`; its weights are those
    of the block.

    cuts: the thresholds of each system.
    """
    return Rows(block.truth.T, block.said[system].T, cuts[system], beside=block.beside)


@dataclass(frozen=True, eq=False, kw_only=True)
class ByLabel(Asked):
    """The first reading of several labels. cuts: for each system the threshold of each label.

    hits, sliced_hits: shares of rows by name, for all rows and for each slice. celled: True if
    cells are also counted for slices. It also keeps, if rows are weighted, the scores of all labels
    unweighted; the combinations of labels, coded as whole numbers; and the weight of the rows
    without a label.
    """

    cuts: Sequence[Floats]
    hits: Mapping[str, Hits]
    sliced_hits: Mapping[str, Hits]
    celled: bool

    def cells(self, part: Block, group: int) -> Iterator[tuple[int | str, Any, Any]]:
        if self.celled or not group:
            for j in range(self.problems):
                yield (
                    j,
                    part.truth[j],
                    np.array([part.said[i, j] >= cut[j] for i, cut in enumerate(self.cuts)]),
                )
        rows = [label_rows(part, i, self.cuts) for i in range(len(self.cuts))]
        for name, of in (self.sliced_hits if group else self.hits).items():
            members, hits = zip(*map(of, rows), strict=True)
            yield name, members[0], np.array(hits)

    def more(
        self, block: Block, weight: Ints | None
    ) -> tuple[dict[tuple[str, int], Tally], Sequence[Any]]:
        tallies = {}
        none = ~block.truth.any(axis=0)
        for i in range(0 if weight is None else len(self.cuts)):
            part = grid.tally(block.said[i].ravel(), most=self.bins())
            tallies["every", i] = Tally(most=self.bins(), parts=(part,))
        if self.problems <= CODED:
            code = 2.0 ** np.arange(self.problems) @ block.truth
            part = grid.tally(code, weight, most=self.limits.bins)
            tallies["sets", 0] = Tally(most=self.limits.bins, parts=(part,))
        return tallies, [none.sum() if weight is None else weight[none].sum()]


# The second reading -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cut:
    """The influence of a row on a metric of one label's decisions, indexed by 2 · true +
    predicted.
    """

    at: float
    moved: Floats

    def places(self, actual: Bools, score: Floats) -> Ints:
        """The index in `moved` of each row."""
        return 2 * actual.astype(np.int64) + (score >= self.at)


@dataclass(frozen=True, eq=False)
class Mean:
    """A mean of a metric over classes or labels, per system: the influence of rows on the metric of
    each of them.

    The columns are those of the first system's classes or labels, of the next one's, …, and then of
    each system's shares. shares: the share of each class in the mean. moving: for each system the
    influence, through the shares, of a row with the label; empty if the shares are fixed. picked:
    for each pair of systems, if the metric is one of the highest-scored rows, the influence of a
    row on the difference, by label and 4 · true + 2 · predicted by the first + predicted by the
    second. strata: the number of classes; 1 for labels.
    """

    of: Sequence[Sequence[Ranked | Cut]]
    shares: Floats
    moving: Sequence[Floats] = ()
    picked: Mapping[tuple[int, int], Floats] | None = None
    strata: int = 1

    def placed(self, part: Block, found: dict[Any, Ints]) -> Block:
        """The block with the index of each score in the influence values of its label in place of
        the score.

        found: indices known from other metrics.
        """
        every = {
            (type(one), i, j): one for i, own in enumerate(self.of) for j, one in enumerate(own)
        }
        for at, one in every.items():
            found[at] = (
                found[at] if at in found else one.places(part.truth[at[2]], part.said[at[1:]])
            )
        return replace(part, said=np.array([found[at] for at in every]).reshape(part.said.shape))

    def columns(self, block: Block, weight: Floats) -> Floats:
        """The influence of each row of a block from `placed` on the mean."""
        every = (
            one.moved.take(place)
            for own, said in zip(self.of, block.said, strict=True)
            for one, place in zip(own, said, strict=True)
        )
        x = np.empty((len(self.of) * len(self.shares) + len(self.moving), len(block)))
        for row, moved in zip(x, [*every, *(of @ block.truth for of in self.moving)], strict=True):
            np.multiply(moved, weight, out=row)
        return x

    def powers(self, block: Block, x: Floats) -> Floats:
        """For each pair of systems and stratum Σ of squares and of fourth powers of the influence
        on the difference.
        """
        k = len(self.shares)
        n = len(self.of)
        moved = np.tensordot(self.shares, x[: n * k].reshape(n, k, -1), (0, 1))
        moved += x[n * k :] if self.moving else 0.0
        powers = []
        code = np.zeros(len(block), np.int64)
        if self.strata > 1:
            code = block.own.get("stratum", block.truth[0]).astype(np.int64)
        for i, j in combinations(range(n), 2):
            apart = moved[i] - moved[j]
            if self.picked:
                places = zip(self.picked[i, j], block.said[i], block.said[j], strict=True)
                apart = np.sum(
                    [of.take(2 * first + second % 2) for of, first, second in places], axis=0
                )
            square = apart * apart
            powers.append(
                [np.bincount(code, power, self.strata) for power in (square, square * square)]
            )
        return np.array(powers).reshape(-1, 2, self.strata).swapaxes(1, 2)


@dataclass(frozen=True, eq=False)
class Moved(Bundle):
    """The summary of the second reading.

    means: by group and metric, moments of the rows' influence on a mean; powers: of unweighted
    rows. shared: by group and loss that leaves rows out, for each pair of systems the rows that
    both have, and their differences. cells: by group, for two classes. alone: what is needed of one
    system only. part_sums: of each system the weight by part of the rows and candidate threshold.
    """

    means: dict[Place, Moments | Parted]
    powers: dict[Place, Total]
    shared: dict[Place, Moments | Parted]
    cells: dict[int, CellCounts]
    alone: tuple[Moments | Parted, ...]
    part_sums: tuple[Total, ...]


@dataclass(frozen=True, eq=False)
class ByMoves:
    """The second reading of a block: influence values of the rows. told: the block with labels.
    plain: unweighted rows.

    few: the largest number of units whose columns are kept one by one. means: by group and metric.
    shared: losses that leave rows out, by group and metric. cuts: for each system the threshold of
    each label. decided: the groups in which decisions are counted, by `counting`, for two classes.
    alone: what is needed of `system` only. candidates: for each system the thresholds among which
    samples choose, highest first; none if the threshold is fixed. parts: those of the rows.
    """

    told: Callable[[Block], Block]
    scale: float | None
    plain: bool
    few: int
    means: Mapping[Place, Mean]
    shared: Mapping[Place, metric.Chosen] | None = None
    cuts: Sequence[Floats] = ()
    decided: Collection[int] = ()
    counting: Any = None
    system: int = 0
    alone: Sequence[Terms] = ()
    candidates: Sequence[Floats] = ()
    parts: int = 1

    def __call__(self, block: Block) -> Moved:
        """Summarise a block."""
        block = self.told(block)
        means = dict[Place, Moments | Parted]()
        shared = dict[Place, Moments | Parted]()
        powers = dict[Place, Total]()
        cells = dict[int, CellCounts]()
        groups = {*self.decided, *(group for group, _ in [*self.means, *(self.shared or ())])}
        for group, part in (
            (one for one in block.groups() if one[0] in groups) if any(groups) else [(0, block)]
        ):
            found: dict[Any, Ints] = {}
            for at in (at for at in self.means if at[0] == group):
                means[at], sums = self._mean(part, self.means[at], found)
                powers |= {at: Total(sums)} if self.plain else {}
            shared |= {
                at: self._shared(part, of)
                for at, of in (self.shared or {}).items()
                if at[0] == group
            }
            cells |= {group: self._cells(part)} if group in self.decided else {}
        own = replace(block, said=block.said[self.system : self.system + 1])
        alone = tuple(terms.moments(own, 0) for terms in self.alone)
        summed = tuple(self._part_sums(block))
        return Moved(means, powers, shared, cells, alone, summed)

    def _part_sums(self, block: Block) -> Iterator[Total]:
        """Of each system the weight by part and candidate threshold."""
        if not self.candidates:
            return
        part = kept.parts_of(block, self.parts)
        weight = whole_weights(block, self.scale)
        for threshold, score in zip(self.candidates, block.said, strict=True):
            place = influence.place(threshold, score[0])
            shape = self.parts, len(threshold)
            yield Total(kept.part_sums(part, block.truth[0], place, weight, shape))

    def _cells(self, part: Block) -> CellCounts:
        """What thresholds decide of two classes."""
        said = np.array([score[0] >= cut for score, cut in zip(part.said, self.cuts, strict=True)])
        weight = self.counting.weights(part)
        return self.counting.count(
            part, part.truth[0].astype(np.int64), said.astype(np.int64), weight
        )

    def _mean(
        self, part: Block, mean: Mean, found: dict[Any, Ints]
    ) -> tuple[Moments | Parted, Floats]:
        """The moments of what moves a mean; of unweighted rows also the powers of differences."""
        powers = np.zeros((len(mean.of) * (len(mean.of) - 1) // 2, mean.strata, 2))

        def columns(some: Block) -> Floats:
            x = mean.columns(some, whole_weights(some, self.scale))
            if self.plain:
                powers[:] += mean.powers(some, x)
            return x

        return kept.summed(mean.placed(part, found), columns, self.few), powers

    def _shared(self, part: Block, chosen: metric.Chosen) -> Moments | Parted:
        kind: Any = chosen.metric.kind

        def columns(some: Block) -> Floats:
            terms = [
                kind.terms(label_rows(some, i, self.cuts), chosen.k, (0.0, 0.0))
                for i in range(len(self.cuts))
            ]
            every = []
            for (first, size), (second, other) in combinations(terms, 2):
                both = size * other * some.weights
                every += [both, (first - second) * both, both > 0]
            return np.array(every)

        return kept.summed(part, columns, self.few)

"""The two readings of a table of labels and scores in blocks, and the summary of each block.

The positive class of two, each of several classes and each label is a problem of its own on the
same rows: positives against all others. The first reading counts confusion cells and bins of scores
and adds up losses. The second adds up the influence of each row on metrics of ranking, on means
over the classes or labels and, for labels, also at each of a range of thresholds.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, quotient
from evalkit.catalogue.kinds import RowMasks
from evalkit.catalogue.metric import MetricAtK
from evalkit.catalogue.score_kinds import ScoreKind
from evalkit.catalogue.tables import AVERAGE_PRECISION
from evalkit.limits import Limits
from evalkit.measured.rows import TermAdder
from evalkit.metrics import grid, influence, losses
from evalkit.metrics.blocks import ALL_ROWS_GROUP, Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.hashes import KeyRepeats
from evalkit.metrics.moments import Moments, UnitSums, summed
from evalkit.metrics.rows import Rows
from evalkit.metrics.samples import part_sums, parts_of
from evalkit.metrics.summaries import Bundle, Total
from evalkit.metrics.tallies import Tally
from evalkit.statistics.class_cells import CellCounter, CellCounts

UNITS = 2**23  # the largest number of units whose values of a metric within units are kept
MIN_BINS = 2**12  # the smallest number of bins that the scores of a class or label may use
WAITING_PER_BIN = 16  # rows that may wait to be binned, for each bin; see `Tally`
SUM_TOLERANCE = 1e-3  # how far the probabilities of a row may be from adding up to 1
# the most labels any combination of which a float still holds as the bits of a whole number
MAX_CODED_LABELS = 52
ALL_CLASSES = ""  # the name of the cells of all classes
# columns of a block of several classes: class numbers, shape (rows,), and (systems, rows)
ACTUAL_CLASS = "stratum"
PREDICTED_CLASS = "predicted"
HitsOfRows = Callable[[Rows], RowMasks]  # the eligible rows of a share, and the hits among them


class GroupMetric(NamedTuple):
    """A group of rows (all rows or a slice), by number, and a metric, by label."""

    group: int
    metric: str


# Scores in bins -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Binned:
    """The scores of one class or label against the rest, counted in bins.

    weight: the unit that weights are counted in; None for unweighted rows. It has the name of
    `Rows.weight`, as kinds of metrics ask either whether it is None. threshold: of the decisions,
    for their metrics.
    """

    bins: grid.Grid
    weight: float | None
    threshold: float = np.nan

    def at_threshold(self, threshold: float) -> "Binned":
        """The same scores with another threshold; they are not counted again."""
        table = replace(self, threshold=threshold)
        vars(table)["counts"] = self.counts  # as if the cached property had been asked for
        return table

    @cached_property
    def counts(self) -> Counts:
        """The table of counts; the thresholds are the lowest scores of the bins."""
        return grid.counts(self.bins, self.weight or 1.0)

    @cached_property
    def midpoint_counts(self) -> Counts:
        """The table of counts with the middle of each bin as threshold, for metrics that read
        scores as probabilities.
        """
        middles = grid.middles(self.bins)
        return replace(self.counts, threshold=middles)

    @cached_property
    def decision_counts(self) -> Counts:
        """The table of the decisions at the threshold: score 1 for the rows predicted positive, 0
        for the others.
        """
        return influence.decision(self.counts, self.threshold)

    @cached_property
    def pools_scores(self) -> Bools:
        """A mask: True where a threshold of `counts` stands for several distinct scores."""
        return grid.pools_scores(self.bins)

    @property
    def auc_error(self) -> float:
        """By how much bins with several scores may change AUC, at most."""
        return grid.auc_width(self.counts, self.pools_scores)

    @property
    def average_precision_range(self) -> grid.Range:
        """The smallest and the largest average precision that the scores in bins may have."""
        return grid.average_precision_limits(self.counts, self.pools_scores)

    def largest_change(self, metric_at_k: MetricAtK) -> float:
        """By how much bins with several scores may change a metric, at most; NaN if no bound is
        known.

        A bound is known for metrics that rise when a positive moves up. Such a metric is lowest if
        all positives of each bin have its lowest score and all negatives its highest, and highest
        if it is the other way round.
        """
        kind = metric_at_k.base.metric.kind
        if not isinstance(kind, ScoreKind) or not kind.rises:
            return np.nan
        value = metric_at_k.value_at(self.midpoint_counts)
        if metric_at_k.base.metric is AVERAGE_PRECISION:  # faster, as no bins are sorted again
            extremes = [*self.average_precision_range]
        else:
            worst_and_best = grid.extreme_orders(self.bins)
            tables = [replace(self, bins=bins).midpoint_counts for bins in worst_and_best]
            extremes = [metric_at_k.value_at(table) for table in tables]
        changes = [abs(extreme - value) for extreme in extremes]
        return max(changes)


class InfluenceTable(Protocol):
    """The influence of a row on a metric of one class or label, by the cell that the row is in: its
    class with the bin of its score, or with its prediction.
    """

    @property
    def influence(self) -> Floats:
        """The influence of a row of each cell, of weight 1; shape (cells,)."""

    def cells(self, actual: Bools, score: Floats) -> Ints:
        """The cell of each row, as an index into `influence`, from its actual value (True for
        positive rows) and its score; shape (rows,).
        """


@dataclass(frozen=True, eq=False)
class ScoreInfluence:
    """The influence of a row on a metric of one class against the rest, by its class and the bin of
    its score.

    low: the code of the lowest score of each bin, ascending. influence: of a positive row in each
    bin, then of a negative row in each bin.
    """

    low: Ints
    influence: Floats

    @staticmethod
    def from_table(metric_at_k: MetricAtK, table: Binned) -> "ScoreInfluence":
        """The influence of a row on the metric of one class or label, whose scores are in bins; 0
        where the metric is undefined.
        """
        kind = metric_at_k.metric.kind
        assert isinstance(kind, ScoreKind)
        # shape (2, bins): first the positives. Thresholds descend: reversed, the lowest come first
        by_class_and_bin = kind.influence_table(table.midpoint_counts)[:, ::-1]
        low = grid.codes(table.counts.threshold[::-1])
        return ScoreInfluence(low, np.nan_to_num(by_class_and_bin.ravel()))

    def cells(self, actual: Bools, score: Floats) -> Ints:
        """The index in `influence` of each row, by its class and the bin of its score; shape
        (rows,). actual: True for positive rows. score: of each row.
        """
        code = grid.codes(score)  # whole numbers in the order of the scores, as `low` has them
        # the codes are searched for in ascending order, which stays in the processor's cache
        order = np.argsort(code)
        bin_of_row = np.empty(len(code), np.int64)
        bin_of_row[order] = np.searchsorted(self.low, code[order], side="right") - 1
        # only rows of weight 0 are below the lowest bin: they are put into it
        bin_of_row = np.maximum(bin_of_row, 0)
        # in `influence` the bins of positive rows stand before those of negative ones
        first_bin_of_class = np.where(actual, 0, len(self.low))
        return bin_of_row + first_bin_of_class


@dataclass(frozen=True, eq=False)
class DecisionInfluence:
    """The influence of a row on a metric of one label's decisions: four values, of rows that are
    not true and not predicted, predicted only, true only, and both (2 · true + predicted).

    threshold: of the decisions.
    """

    threshold: float
    influence: Floats

    def cells(self, actual: Bools, score: Floats) -> Ints:
        """The index in `influence` of each row, shape (rows,). actual: True where the label is
        true.
        """
        is_predicted = score >= self.threshold
        return 2 * actual.astype(np.int64) + is_predicted


def counted_weights(block: Block, scale: float | None) -> Floats:
    """The weights of the rows as they are counted: rounded to multiples of the unit `scale`; as
    they are if it is None.
    """
    if scale is None:
        return block.weights
    units = grid.in_units(block.weights, scale)
    return units.astype(np.float64) * scale


# The first reading --------------------------------------------------------------------------------


SpecificSums = TypeVar("SpecificSums", bound=Bundle, covariant=True)


class CellsKey(NamedTuple):
    """A group of rows, by number, and a set of confusion cells: of all classes (`ALL_CLASSES`), of
    a label, by number, or of a share of rows, by its name.
    """

    group: int
    name: int | str


class ScoresKey(NamedTuple):
    """The numbers of a group of rows, of a system, and of the class or label whose rows are the
    positives, 0 if there are two classes.
    """

    group: int
    system: int
    problem: int


@dataclass(frozen=True, eq=False)
class FirstSummary(Bundle, Generic[SpecificSums]):
    """The sums of the first reading, of one block or of several; groups of rows
    (`ALL_ROWS_GROUP`, then slices), systems, classes and labels are numbered.

    cells: the decisions of all systems. moments: of the terms of losses, by group. scores: in bins,
    of each system and class or label. kind_sums: the sums that only one kind of table has: of two
    classes (`BinarySums`), of several (`ClassSums`) or of labels (`LabelSums`). weights: the total
    weight of the rows, by group. rows: the number of rows. ids: counts ids that occur again.
    """

    cells: dict[CellsKey, CellCounts]
    moments: dict[int, Moments | UnitSums]
    scores: dict[ScoresKey, Tally]
    kind_sums: SpecificSums
    weights: dict[int, float]
    rows: int
    ids: KeyRepeats

    @property
    def binned(self) -> Self:
        """The same sums, once all blocks are added: no score waits to be put into a bin, so that a
        second reading has this memory.
        """
        scores = {key: tally.binned for key, tally in self.scores.items()}
        return replace(self, scores=scores)


class Decisions(NamedTuple):
    """A set of confusion cells to be counted: its name (see `CellsKey`), the actual value of each
    row, shape (rows,), and the predicted ones, shape (systems, rows).
    """

    name: int | str
    actual: np.ndarray
    predicted: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class FirstReading(ABC, Generic[SpecificSums]):
    """The first reading: a function from a block of rows to its sums, which are added over blocks.

    cell_counter: counts confusion cells. loss_adder: adds up the losses of the rows. slices_losses,
    slices_scores: True if losses, and scores, are also counted for slices. problems: the number of
    classes or labels, each against the rest, 1 for two classes; several share the allowed number of
    bins. exact_thresholds: for each system the threshold at which counts stay exact; None if no
    threshold is known. max_ids: the largest number of rows whose ids are checked for duplicates.
    """

    cell_counter: CellCounter
    loss_adder: TermAdder
    limits: Limits
    slices_losses: bool = False
    slices_scores: bool = True
    problems: int = 1
    exact_thresholds: Sequence[float] | None = None
    max_ids: int = 0

    @property
    def scale(self) -> float | None:
        """The unit that weights are counted in; None for unweighted rows."""
        return self.cell_counter.scale

    @property
    def has_two_classes(self) -> bool:
        """True if there is a single problem: one class is positive, the other negative."""
        return self.problems == 1

    def max_bins(self, group: int = ALL_ROWS_GROUP) -> int:
        """The largest number of bins for the scores of a class or label in a group of rows. With
        two classes each system has the whole limit. Several classes or labels of all systems share
        the limit, with at least `MIN_BINS` each.
        """
        limit = self.limits.bins if group == ALL_ROWS_GROUP else self.limits.slice_bins
        if self.has_two_classes:  # few tallies: one for each system
            return limit
        systems = len(self.loss_adder.centres)  # each system has one
        share = limit // (self.problems * systems)
        return min(limit, max(share, MIN_BINS))

    def __call__(self, block: Block) -> FirstSummary[SpecificSums]:
        """The sums of the first reading over a block of rows. All rows and each slice have the
        confusion cells (numbers of rows by actual and predicted class), the terms of losses and the
        scores in bins, slices as far as `slices_losses` and `slices_scores` say. All rows also have
        the sums that only this kind of table has, and the number of ids that occur again.
        """
        # with an axis for the classes or labels, and the class that each system predicts
        problem_rows = self.with_predictions(self.as_problems(block))
        cells = {}
        moments = {}
        scores = dict[ScoresKey, Tally]()
        total_weights = {}
        for group, rows in problem_rows.groups():
            total_weights[group] = rows.total_weight
            has_all_rows = group == ALL_ROWS_GROUP
            weight = self.cell_counter.weights(rows)  # whole numbers; None for unweighted rows
            for name, actual, predicted in self.decisions(rows, group):
                cells[CellsKey(group, name)] = self.cell_counter.count(
                    rows, actual.astype(np.int64), predicted.astype(np.int64), weight
                )
            if self.loss_adder.metrics and (has_all_rows or self.slices_losses):
                moments[group] = self.loss_adder.moments(rows, group)
            if has_all_rows or self.slices_scores:
                scores |= self.score_tallies(rows, weight, group)
        id_hashes = np.empty(0) if block.id is None else block.id
        return FirstSummary(
            cells=cells,
            moments=moments,
            scores=scores,
            kind_sums=self.specific_sums(problem_rows, self.cell_counter.weights(problem_rows)),
            weights=total_weights,
            rows=len(block),
            ids=KeyRepeats.from_keys(id_hashes, self.max_ids),
        )

    def as_problems(self, block: Block) -> Block:
        """The block with an axis for the problems, the classes or labels against the rest: `truth`
        has shape (problems, rows), True for positives, and `predictions`, the scores, (systems,
        problems, rows).
        """
        predictions = block.predictions.reshape(-1, self.problems, len(block))
        truth = block.truth.reshape(self.problems, -1) == 1
        return replace(block, truth=truth, predictions=predictions)

    def with_predictions(self, block: Block) -> Block:
        """The block of `as_problems` with what else the cells need: of several classes the class
        that each system predicts.
        """
        return block

    def decisions(self, block: Block, group: int) -> Iterable[Decisions]:
        """The decisions whose cells are counted in a group of rows; none of two classes, whose
        thresholds are known only after the first reading.
        """
        return ()

    def score_tallies(
        self, block: Block, weight: Ints | None, group: int
    ) -> dict[ScoresKey, Tally]:
        """The positives and negatives by score, in bins, for each system and problem (the positive
        class of two, or each class or label against the rest).

        block: of `as_problems`: scores of shape (systems, problems, rows), in `truth` True for
        positives, (problems, rows). weight: of each row, in units of the scale; None for unweighted
        rows. group: the number of the group of rows that the block has.
        """
        max_bins = self.max_bins(group)
        systems, problems, _rows = block.predictions.shape
        # A tally keeps rows until it can put many into bins at once. The systems share the memory
        # for these rows. With several problems `max_bins` is divided by their number already.
        max_waiting = WAITING_PER_BIN * max_bins
        if self.has_two_classes:
            max_waiting //= systems
        tallies = {}
        for system, problem in np.ndindex(systems, problems):
            exact_threshold = None
            if self.exact_thresholds is not None:
                exact_threshold = self.exact_thresholds[system]
            tallies[ScoresKey(group, system, problem)] = Tally.from_hits(
                score=block.predictions[system, problem],
                hit=np.asarray(block.truth[problem], bool),
                weight=weight,
                max_bins=max_bins,
                max_waiting=max_waiting,
                cut=exact_threshold,  # a bin begins there, so that counts at it are exact
            )
        return tallies

    @abstractmethod
    def specific_sums(self, block: Block, weight: Ints | None) -> SpecificSums:
        """The sums of all rows of a block that only this kind of table has. weight: as in
        `score_tallies`.
        """


# Of two classes


def score_rows(block: Block, system: int) -> Rows:
    """The actual values and the scores of a system, from a block of `as_problems`, unweighted."""
    actual = block.truth[0].astype(np.int64)
    return Rows(actual, block.predictions[system, 0], columns=block.shared_columns)


@dataclass(frozen=True, eq=False)
class BinarySums(Bundle):
    """Sums that only tables of two classes have. positives: their number. outside, certain_errors:
    for each system the number of scores outside 0..1, and of scores of 0 or 1 that are wrong.
    unit_terms: by group of rows, moments of the terms of metrics that rank the rows within each
    unit, as GAUC.
    """

    positives: int
    outside: Total
    certain_errors: Total
    unit_terms: dict[int, Moments]


@dataclass(frozen=True, eq=False, kw_only=True)
class BinaryFirstReading(FirstReading[BinarySums]):
    """The first reading of two classes.

    unit_metrics: metrics that rank the rows within each unit, as GAUC, whose values per unit are
    kept. unit_metrics_in_slices: True if they are also measured in slices.
    """

    unit_metrics: Sequence[MetricAtK] = ()
    unit_metrics_in_slices: bool = False

    def __call__(self, block: Block) -> FirstSummary[BinarySums]:
        """The sums of the first reading over a block of rows. `kind_sums.unit_terms` has the
        moments over units of the terms of metrics that rank the rows within each unit: for all rows
        and, if these metrics are measured there, for each slice. It is empty without such metrics.
        """
        summary = super().__call__(block)
        if not self.unit_metrics:
            return summary
        unit_terms = {}
        for group, rows in block.groups():
            if group == ALL_ROWS_GROUP or self.unit_metrics_in_slices:
                # units are kept one by one: the metric needs numerator and denominator of each
                unit_terms[group] = Moments.from_block(rows, self._unit_terms, max_units=UNITS)
        kind_sums = replace(summary.kind_sums, unit_terms=unit_terms)
        return replace(summary, kind_sums=kind_sums)

    def specific_sums(self, block: Block, weight: Ints | None) -> BinarySums:
        """The number of positive rows and, for each system, the number of scores outside 0..1 and
        that of scores of 0 or 1 that are wrong.

        block: of `as_problems`: scores (systems, 1, rows), in `truth` True for positives, (1,
        rows). weight: unused, as these are numbers of rows.
        """
        (is_positive,) = block.truth  # two classes are one problem
        odd = [odd_scores(score, is_positive) for (score,) in block.predictions]
        outside, certain_errors = np.array(odd).T  # one number for each system
        return BinarySums(
            positives=int(is_positive.sum()),
            outside=Total(outside),
            certain_errors=Total(certain_errors),
            unit_terms={},  # added by `__call__`
        )

    def _unit_terms(self, block: Block) -> Floats:
        """What each row adds to the numerator and to the denominator of its unit's value, for each
        metric that ranks the rows within units and, in it, for each system; shape (metrics ·
        systems · 2, rows).
        """
        columns = []
        for metric_at_k in self.unit_metrics:
            for system in range(len(block.predictions)):
                sums = metric_at_k.sums(block.rows(system))
                columns += [sums.numerator, sums.size]  # the size is the denominator
        return np.array(columns)


class OddScores(NamedTuple):
    """The number of scores outside 0..1, and of scores of 0 or 1 that are wrong."""

    outside: int
    certain_errors: int


def odd_scores(score: Floats, is_positive: Bools) -> OddScores:
    """Count the rows whose score is suspicious as a probability: outside 0..1, or certain (0 or 1
    up to rounding, or beyond) and wrong. is_positive: a mask of the rows.
    """
    almost_zero = losses.EPSILON
    almost_one = 1 - losses.EPSILON
    if almost_zero <= score.min() and score.max() <= almost_one:  # for speed: the usual case
        return OddScores(outside=0, certain_errors=0)
    outside = (score < 0) | (score > 1)
    certain_error = np.where(is_positive, score < almost_zero, score > almost_one)
    return OddScores(
        outside=int(np.count_nonzero(outside)),
        certain_errors=int(np.count_nonzero(certain_error)),
    )


# Of several classes


def class_rows(block: Block, system: int) -> Rows:
    """The rows of one system in a block of several classes, each with its actual and predicted
    class and, if there are any, its scores. The rows have no weights, as callers multiply by the
    weights of the block.

    block: as returned by `ClassFirstReading.with_predictions`: class numbers are in
    `system_columns`, and `predictions` holds the scores, shape (systems, classes, rows), with 0
    classes if there are none.
    """
    scores = block.predictions[system]  # (classes, rows)
    has_scores = len(scores) > 0
    scores_of_rows = scores.T if has_scores else None
    return Rows(
        actual=block.system_columns[ACTUAL_CLASS],
        score=scores_of_rows,
        decision=block.system_columns[PREDICTED_CLASS][system],
        classes=len(block.truth),
        columns=block.shared_columns,
    )


def count_not_highest(score: Floats, predicted_score: Floats) -> int:
    """The number of rows whose predicted class does not have the highest score. score: shape (rows,
    classes). predicted_score: that of the predicted class of each row.
    """
    is_lower = predicted_score < score.max(axis=1)
    return int(is_lower.sum())


@dataclass(frozen=True)
class RowSums:
    """How the probabilities of the classes add up in each row, which should be to 1; rows of only 0
    are left out, except from `rows_of_zeros`.

    low, high: the lowest and the highest sum of a row. rows_not_one: the number of rows whose sum
    is not 1. rows_of_zeros: the number of rows of only 0, which log loss leaves out. scaled_loss,
    unscaled_loss: the log loss, added up by weight over the rows, with each row scaled to the sum
    1, and as the rows are.
    """

    low: float
    high: float
    rows_not_one: int
    rows_of_zeros: int
    scaled_loss: float
    unscaled_loss: float

    @staticmethod
    def from_rows(rows: Rows, weight: Floats | Ints | None) -> "RowSums":
        """How the probabilities of the classes add up in these rows, as the fields of the class
        say. If all rows are of only 0, the lowest sum is inf and the highest −inf, so that `+`
        takes the sums of other rows. weight: of each row; None if each row weighs 1.
        """
        weights = np.ones(len(rows)) if weight is None else weight
        is_filled = rows.scores.any(axis=1)  # rows of only 0 cannot be scaled
        actual = rows.actual[is_filled]
        scores = rows.scores[is_filled]
        weights = weights[is_filled]
        sums = scores.sum(axis=1)
        is_not_one = np.abs(sums - 1) > SUM_TOLERANCE
        return RowSums(
            low=float(sums.min(initial=np.inf)),
            high=float(sums.max(initial=-np.inf)),
            rows_not_one=int(np.count_nonzero(is_not_one)),
            rows_of_zeros=len(rows) - len(sums),
            scaled_loss=float(losses.log_classes(actual, scores) @ weights),
            unscaled_loss=float(losses.log_unscaled(actual, scores) @ weights),
        )

    def __add__(self, other: "RowSums") -> "RowSums":
        """How the probabilities of the classes add up in the rows of both: the lower and the higher
        end, and sums.
        """
        return RowSums(
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            rows_not_one=self.rows_not_one + other.rows_not_one,
            rows_of_zeros=self.rows_of_zeros + other.rows_of_zeros,
            scaled_loss=self.scaled_loss + other.scaled_loss,
            unscaled_loss=self.unscaled_loss + other.unscaled_loss,
        )

    @property
    def loss_change(self) -> float:
        """The relative change of the log loss when each row is scaled to the sum 1."""
        return quotient(self.scaled_loss - self.unscaled_loss, self.unscaled_loss)


@dataclass(frozen=True, eq=False)
class ClassSums(Bundle):
    """Sums that only tables of several classes have, by system; empty or 0 without scores.

    not_highest: the number of rows whose predicted class does not have the highest score.
    top_scores: right and wrong predictions by the score of the predicted class. row_sums: the sums
    of the rows' scores.
    """

    not_highest: Total
    top_scores: tuple[Tally, ...]
    row_sums: tuple[RowSums, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassFirstReading(FirstReading[ClassSums]):
    """The first reading of several classes. scored: True if each class has a score."""

    scored: bool

    def as_problems(self, block: Block) -> Block:
        """The block of several classes with an axis for the classes: `truth`, so far the class
        number of each row, becomes a mask of shape (classes, rows), True for the rows of the class;
        `predictions` has the scores, shape (systems, classes, rows), with 0 classes if there are no
        scores. The class numbers move to the columns `ACTUAL_CLASS`, shape (rows,), and, if there
        are no scores, `PREDICTED_CLASS`, shape (systems, rows).
        """
        is_of_class = block.truth == np.arange(self.problems)[:, None]
        columns = {ACTUAL_CLASS: block.truth, **block.system_columns}
        scores = block.predictions
        if not self.scored:
            columns = {PREDICTED_CLASS: block.predictions} | columns
            scores = np.empty((len(block.predictions), 0, len(block)))
        return replace(block, truth=is_of_class, predictions=scores, system_columns=columns)

    def with_predictions(self, block: Block) -> Block:
        """The block with the column `PREDICTED_CLASS`, shape (systems, rows): the class that each
        system predicts, or that with the highest score if the table has no predicted classes.
        """
        predicted = block.system_columns.get(PREDICTED_CLASS)
        if predicted is None:
            predicted = block.predictions.argmax(axis=1)  # over the classes, for each system
        columns = {**block.system_columns, PREDICTED_CLASS: predicted.astype(np.int64)}
        return replace(block, system_columns=columns)

    def decisions(self, block: Block, group: int) -> Iterable[Decisions]:
        """The actual and the predicted classes."""
        columns = block.system_columns
        return [Decisions(ALL_CLASSES, columns[ACTUAL_CLASS], columns[PREDICTED_CLASS])]

    def specific_sums(self, block: Block, weight: Ints | None) -> ClassSums:
        """For each system the number of rows whose predicted class does not have the highest score,
        a tally of right and wrong predictions by the score of the predicted class, and how the
        scores of each row add up. If classes have no scores, the number is 0, and the tallies and
        the sums are empty tuples.

        block: of `with_predictions`. weight: of each row, in units of the scale; None for
        unweighted rows.
        """
        systems = len(block.predictions)
        if not self.scored:
            no_rows = Total(np.zeros(systems, np.int64))
            return ClassSums(not_highest=no_rows, top_scores=(), row_sums=())
        not_highest = []
        top_scores = []
        row_sums = []
        for system in range(systems):
            rows = class_rows(block, system)
            score = losses.score_of_class(rows.scores, rows.predicted)
            is_right = rows.predicted == rows.actual
            not_highest.append(count_not_highest(rows.scores, score))
            tally = Tally.from_hits(score, is_right, weight, max_bins=self.max_bins())
            top_scores.append(tally)
            row_sums.append(RowSums.from_rows(rows, weight))
        total = Total(np.array(not_highest))
        return ClassSums(total, tuple(top_scores), tuple(row_sums))


# Of labels


def label_rows(block: Block, system: int, thresholds: Sequence[Floats]) -> Rows:
    """The actual labels and the scores of a system, from a block of `as_problems`, unweighted.

    thresholds: for each system an array with one per label.
    """
    scores = block.predictions[system].T
    return Rows(block.truth.T, scores, thresholds[system], columns=block.shared_columns)


@dataclass(frozen=True, eq=False)
class LabelSums(Bundle):
    """Sums that only tables of labels have. without_label: the weight of the rows without a label,
    in units of the scale.

    unweighted_scores: for each system the scores of all labels, unweighted; empty if rows have no
    weights. label_sets: one tally of the rows by combination of labels, whose code has bit j set if
    label j is true; empty for many labels.
    """

    without_label: int
    unweighted_scores: tuple[Tally, ...]
    label_sets: tuple[Tally, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelFirstReading(FirstReading[LabelSums]):
    """The first reading of several labels. thresholds: for each system an array with one per label.

    hits, slice_hits: metrics that are shares of rows, by name, measured on all rows and on each
    slice: rows -> the masks of eligible rows and of hits. slices_cells: True if the cells of labels
    are also counted for slices.
    """

    thresholds: Sequence[Floats]
    hits: Mapping[str, HitsOfRows]
    slice_hits: Mapping[str, HitsOfRows]
    slices_cells: bool

    def decisions(self, block: Block, group: int) -> Iterator[Decisions]:
        """The decisions on each label, and the hits of each share of rows."""
        has_all_rows = group == ALL_ROWS_GROUP
        if has_all_rows or self.slices_cells:
            yield from self._label_decisions(block)
        hits = self.hits if has_all_rows else self.slice_hits
        yield from self._hits_as_decisions(block, hits)

    def _label_decisions(self, block: Block) -> Iterator[Decisions]:
        """For each label, by number: on which rows it is true, and on which each system predicts
        it, as its score reaches the system's threshold of the label.
        """
        for label in range(self.problems):
            predicted = [
                scores[label] >= thresholds[label]
                for scores, thresholds in zip(block.predictions, self.thresholds, strict=True)
            ]
            yield Decisions(label, actual=block.truth[label], predicted=np.array(predicted))

    def _hits_as_decisions(
        self, block: Block, hits: Mapping[str, HitsOfRows]
    ) -> Iterator[Decisions]:
        """Shares of rows as decisions, so that they are counted as confusion cells: the actual
        value is 1 for an eligible row, the predicted one 1 for a hit of a system.

        hits: name of the share -> a function of a system's rows that returns the masks of eligible
        rows and of hits.
        """
        systems = range(len(self.thresholds))
        rows_of_systems = [label_rows(block, system, self.thresholds) for system in systems]
        for name, find_hits in hits.items():
            masks = [find_hits(rows) for rows in rows_of_systems]
            eligible = masks[0].eligible  # the same rows for all systems
            is_hit = np.array([masks_of_system.hit for masks_of_system in masks])
            yield Decisions(name, actual=eligible, predicted=is_hit)

    def specific_sums(self, block: Block, weight: Ints | None) -> LabelSums:
        """The sums that only tables of labels have: the weight of the rows without a label; if rows
        are weighted, for each system how often each score occurs, over all rows and labels; and the
        weight of the rows with each combination of labels. Unweighted rows have no counts of
        scores, and more than `MAX_CODED_LABELS` labels no combinations: an empty tuple.

        block: `truth` is a mask, shape (labels, rows), `predictions` has the scores, (systems,
        labels, rows). weight: of each row, in units of the scale; None: rows count 1.
        """
        has_no_label = ~block.truth.any(axis=0)
        weight_without_label = int(has_no_label.sum())
        unweighted_scores = []
        if weight is not None:
            weight_without_label = int(weight[has_no_label].sum())
            # Thresholds are quantiles of the scores in which rows count equally. `score_tallies`
            # have only weights by score if rows are weighted, so that rows are counted here.
            max_bins = self.max_bins()  # as for the scores of one label
            for scores_of_system in block.predictions:
                table = grid.bin_values(scores_of_system.ravel(), max_bins=max_bins)
                unweighted_scores.append(Tally(max_bins=max_bins, grids=(table,)))
        label_sets = []
        if self.problems <= MAX_CODED_LABELS:
            # the code of a row's combination has bit j set if label j is true; a tally counts codes
            # as it counts scores
            code = 2.0 ** np.arange(self.problems) @ block.truth
            max_sets = self.limits.bins  # the whole limit, as there is a single tally of them
            table = grid.bin_values(code, weight, max_bins=max_sets)
            label_sets.append(Tally(max_bins=max_sets, grids=(table,)))
        return LabelSums(
            without_label=weight_without_label,
            unweighted_scores=tuple(unweighted_scores),
            label_sets=tuple(label_sets),
        )


# The second reading -------------------------------------------------------------------------------


class CellIndexKey(NamedTuple):
    """The class of an `InfluenceTable`, and the numbers of a system and of a problem: tables with
    the same key have the same `cells`.
    """

    table: type
    system: int
    problem: int


@dataclass(frozen=True, eq=False)
class MeanInfluence:
    """The influence of rows on a mean of a metric over classes or labels (problems), per system.

    tables: by system and problem, the influence of a row on the metric. shares: the share of each
    problem in the mean. share_influence: for each system how a row changes the mean by changing the
    shares, for each label that the row has; empty if the shares are fixed. joint_influence: for
    each pair of systems, if each system selects the rows that the metric is a mean over, as
    precision does, the influence of a row on the difference, which is then not the difference of
    two influences; shape (labels, 8), indexed by 4 · true + 2 · predicted by the first + predicted
    by the second; else empty. n_strata: the number of classes that have a variance of their own; 1
    for labels.

    `columns` has a column for each system and problem, those of the first system first, and then,
    if `share_influence` is not empty, one for each system.
    """

    tables: Sequence[Sequence[InfluenceTable]]
    shares: Floats
    share_influence: Sequence[Floats] = ()
    joint_influence: Mapping[tuple[int, int], Floats] = field(default_factory=dict)
    n_strata: int = 1

    def with_cells(self, block: Block, known_cells: dict[CellIndexKey, Ints]) -> Block:
        """The block with each score replaced by the row's cell, its index in the table of the
        influence on the metric of this system and problem (class or label): `predictions` keeps the
        shape (systems, problems, rows).

        known_cells: the cells that were already looked up for other metrics; new ones are added to
        it.
        """
        cells = np.empty(block.predictions.shape, np.int64)
        for system, tables in enumerate(self.tables):
            for problem, table in enumerate(tables):
                # Metrics of scores share their bins, and metrics of decisions their threshold. So
                # the cells of a row depend only on which of the two types of table this is.
                key = CellIndexKey(type(table), system, problem)
                if key not in known_cells:
                    scores = block.predictions[system, problem]
                    known_cells[key] = table.cells(block.truth[problem], scores)
                cells[system, problem] = known_cells[key]
        return replace(block, predictions=cells)

    def columns(self, block: Block, weight: Floats) -> Floats:
        """The columns, of shape (columns, rows), whose linear combinations are the influence of a
        row on a mean over problems, Σ share · metric of the problem; a problem is a class or label.

        First comes a column for each system and, in it, each problem: the influence of the row,
        times its weight, on the metric of the problem. If the shares depend on the rows, a column
        for each system follows: the influence of the row, times its weight, through the shares.

        block: from `with_cells`: in place of scores its `predictions` are indices of the rows in
        the influence values of each table in `tables`. weight: of each row.
        """
        problems = len(self.shares)
        first_column_of_shares = len(self.tables) * problems
        n_columns = first_column_of_shares + len(self.share_influence)
        columns = np.empty((n_columns, len(block)))
        for system, tables in enumerate(self.tables):
            for problem, table in enumerate(tables):
                cell_of_row = block.predictions[system, problem]
                influence_of_row = table.influence.take(cell_of_row)
                column = columns[system * problems + problem]
                np.multiply(influence_of_row, weight, out=column)
        for system, influence_of_label in enumerate(self.share_influence):
            influence_of_row = influence_of_label @ block.truth  # the sum over the row's labels
            np.multiply(influence_of_row, weight, out=columns[first_column_of_shares + system])
        return columns

    def sums_of_powers(self, block: Block, columns: Floats) -> Floats:
        """Σ l² and Σ l⁴ over the rows of each stratum (class), with l the influence of a row on the
        difference of two systems' means over classes or labels. They give the variance of the
        difference, and how precisely it is known. Shape (pairs of systems, strata, 2), on the last
        axis first the squares.

        block: from `with_cells`. columns: the `columns` of the block, from which the influence on
        each mean follows.
        """
        on_mean = self._influence_on_means(columns)
        stratum = self._strata_of(block)
        sums = []
        for first, second in combinations(range(len(self.tables)), 2):
            if self.joint_influence:
                # a metric such as precision is a mean over rows that each system selects: the
                # influence on the difference depends on both decisions at once
                influence = self._influence_on_difference(block, first, second)
            else:
                influence = on_mean[first] - on_mean[second]
            square = influence * influence
            squares = np.bincount(stratum, square, self.n_strata)
            fourth_powers = np.bincount(stratum, square * square, self.n_strata)
            sums.append(np.stack([squares, fourth_powers], axis=1))
        return np.array(sums, float).reshape(-1, self.n_strata, 2)  # (0, strata, 2) without pairs

    def _influence_on_means(self, columns: Floats) -> Floats:
        """The influence of each row on the mean, over classes or labels ("problems"), of each
        system; shape (systems, rows): Σ share · influence on the metric of a problem, and the
        influence through the shares if they depend on the rows.

        columns: from `columns`: first one for each system and problem, system by system, then, if
        the shares depend on the rows, one for each system.
        """
        problems = len(self.shares)
        systems = len(self.tables)
        first_column_of_shares = systems * problems
        on_problems = columns[:first_column_of_shares].reshape(systems, problems, -1)
        # Σ over the problems: shape (systems, rows)
        on_mean = np.tensordot(self.shares, on_problems, axes=(0, 1))
        if self.share_influence:
            on_mean += columns[first_column_of_shares:]
        return on_mean

    def _strata_of(self, block: Block) -> Ints:
        """The number of each row's stratum (the variance of a difference is the sum over strata):
        its class; 0 for all rows if a row may have several labels, as there is only one stratum.
        """
        if self.n_strata == 1:
            return np.zeros(len(block), np.int64)
        if ACTUAL_CLASS in block.system_columns:  # a table of several classes
            return np.asarray(block.system_columns[ACTUAL_CLASS], np.int64)
        is_positive = block.truth[0]  # of two classes: shape (1, rows)
        return np.asarray(is_positive, np.int64)

    def _influence_on_difference(self, block: Block, i: int, j: int) -> Floats:
        """The influence of each row on the difference of systems i and j in a mean over labels, for
        metrics of decisions; shape (rows,). It is the sum over the labels of `joint_influence`.

        block: from `with_cells`, with the cell 2 · true + predicted in place of each score.
        """
        total = np.zeros(len(block))
        for influence_of_label, first_cell, second_cell in zip(
            self.joint_influence[i, j], block.predictions[i], block.predictions[j], strict=True
        ):
            # the index 4 · true + 2 · predicted by the first + predicted by the second is twice the
            # cell of the first, and the prediction of the second
            second_predicted = second_cell % 2
            joint_cell = 2 * first_cell + second_predicted
            total += influence_of_label.take(joint_cell)
        return total


@dataclass(frozen=True, eq=False)
class MeanColumns:
    """The columns of a `MeanInfluence` as a function of a piece of a block, for `moments.summed`;
    it also adds up the `sums_of_powers` of these pieces, so that columns are made only once.

    scale: the unit that weights are counted in. sums_of_powers: an array of the shape (pairs of
    systems, strata, 2), which each call adds to; None if these sums are not needed.
    """

    mean: MeanInfluence
    scale: float | None
    sums_of_powers: Floats | None

    def __call__(self, piece: Block) -> Floats:
        """The columns of the piece."""
        columns = self.mean.columns(piece, counted_weights(piece, self.scale))
        if self.sums_of_powers is not None:
            self.sums_of_powers[:] += self.mean.sums_of_powers(piece, columns)
        return columns


class MeanSums(NamedTuple):
    """The moments of the `columns` of a `MeanInfluence`, and its `sums_of_powers`, None if they are
    not needed.
    """

    moments: Moments | UnitSums
    powers: Floats | None


Sum = TypeVar("Sum")


class PairSums(NamedTuple, Generic[Sum]):
    """Three columns, or their sums, for a pair of systems over the rows on which both have a value:
    the weight, the weighted difference of the values, and the number of rows of weight above 0. A
    row on which one system has no value has 0 in all three columns.
    """

    weight: Sum
    difference: Sum
    rows: Sum


@dataclass(frozen=True, eq=False)
class SecondSummary(Bundle):
    """The sums of the second reading, of one block or of several.

    means: moments of the rows' influence on each mean. powers: of each mean the sums of
    `MeanInfluence.sums_of_powers`; for independent, unweighted rows alone. pair_sums: by group and
    loss that leaves rows out, moments of the columns `PairSums` of each pair of systems. cells: by
    group, for two classes. leader_moments: moments of the terms of one system only, the leader.
    part_sums: for each system, whose threshold samples choose again, the weight by part of the rows
    and candidate threshold.
    """

    means: dict[GroupMetric, Moments | UnitSums]
    powers: dict[GroupMetric, Total]
    pair_sums: dict[GroupMetric, Moments | UnitSums]
    cells: dict[int, CellCounts]
    leader_moments: tuple[Moments | UnitSums, ...]
    part_sums: tuple[Total, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class SecondReading:
    """The second reading: a function from a block of rows to sums that need the results of the
    first reading, such as those of the rows' influence values.

    first: the first reading. plain: True if rows are independent and unweighted. means: the means
    that are measured, by group and metric. partial_losses: losses that leave rows out, by group and
    metric. thresholds: for each system those of its labels. decision_groups: the groups in which
    decisions are counted, for two classes. leader: the number of the system for which a page has
    more metrics than for others. leader_adders: add up the terms of these metrics. candidates: for
    each system the thresholds among which samples choose, highest first; none if the threshold is
    fixed. parts: the number of random parts that rows are put into if samples choose the threshold.
    """

    first: FirstReading[Bundle]
    plain: bool
    means: Mapping[GroupMetric, MeanInfluence]
    partial_losses: Mapping[GroupMetric, MetricAtK] = field(default_factory=dict)
    thresholds: Sequence[Floats] = ()
    decision_groups: Collection[int] = ()
    leader: int = 0
    leader_adders: Sequence[TermAdder] = ()
    candidates: Sequence[Floats] = ()
    parts: int = 1

    @property
    def scale(self) -> float | None:
        """The unit that weights are counted in; None for unweighted rows."""
        return self.first.scale

    @property
    def max_units(self) -> int:
        """The largest number of units whose columns are kept one by one."""
        return self.first.loss_adder.max_units

    def __call__(self, block: Block) -> SecondSummary:
        """The sums of the second reading over a block of rows, see `SecondSummary`. Each group of
        rows, all rows or a slice, has the sums that were asked for in it; moments of the leader's
        terms, and the weights from which samples choose a threshold, are of all rows.
        """
        block = self.first.as_problems(block)  # with an axis for the classes or labels
        means = dict[GroupMetric, Moments | UnitSums]()
        powers = dict[GroupMetric, Total]()
        pair_sums = dict[GroupMetric, Moments | UnitSums]()
        cells = dict[int, CellCounts]()
        for group, rows in self._groups(block):
            known_cells: dict[CellIndexKey, Ints] = {}  # filled by `_mean_sums`, for all means
            for key, mean in self.means.items():
                if key.group == group:
                    sums = self._mean_sums(rows, mean, known_cells)
                    means[key] = sums.moments
                    if sums.powers is not None:
                        powers[key] = Total(sums.powers)
            for key, metric_at_k in self.partial_losses.items():
                if key.group == group:
                    pair_sums[key] = self._pair_sums(rows, metric_at_k)
            if group in self.decision_groups:
                cells[group] = self._decisions(rows)
        # the leader as the only system
        predictions_of_leader = block.predictions[self.leader : self.leader + 1]
        block_of_leader = replace(block, predictions=predictions_of_leader)
        leader_moments = [
            adder.moments(block_of_leader, ALL_ROWS_GROUP) for adder in self.leader_adders
        ]
        return SecondSummary(
            means=means,
            powers=powers,
            pair_sums=pair_sums,
            cells=cells,
            leader_moments=tuple(leader_moments),
            part_sums=tuple(self._part_sums(block)),
        )

    def _groups(self, block: Block) -> Iterator[tuple[int, Block]]:
        """The numbers and the rows of the groups in which anything is measured: all rows
        (`ALL_ROWS_GROUP`) or slices.
        """
        wanted = {*self.decision_groups}
        wanted |= {key.group for key in (*self.means, *self.partial_losses)}
        if wanted <= {ALL_ROWS_GROUP}:  # for speed: without it the block is cut into slices
            yield ALL_ROWS_GROUP, block
            return
        for group, rows in block.groups():
            if group in wanted:
                yield group, rows

    def _part_sums(self, block: Block) -> Iterator[Total]:
        """For each system the weight of the rows by random part of the table, class (of two) and
        candidate threshold, as `samples.part_sums` has it: shape (parts, 2 · candidates). The
        candidate of a row is the highest that its score reaches. A threshold is chosen again from
        these sums on each bootstrap sample of parts. If it is fixed, nothing is yielded.
        """
        if not self.candidates:  # the threshold is fixed
            return
        part_of_row = parts_of(block, self.parts)
        weight = counted_weights(block, self.scale)
        (is_positive,) = block.truth  # two classes are one problem
        for candidates, (score,) in zip(self.candidates, block.predictions, strict=True):
            candidate_of_row = influence.threshold_index(candidates, score)
            shape = (self.parts, len(candidates))
            sums = part_sums(part_of_row, is_positive, candidate_of_row, weight, shape)
            yield Total(sums)

    def _decisions(self, block: Block) -> CellCounts:
        """The confusion cells of the decisions on two classes: positive if the score reaches the
        system's threshold; for all systems.
        """
        counting = self.first.cell_counter
        (is_positive,) = block.truth  # two classes are one problem
        predicted = [
            score >= threshold
            for (score,), threshold in zip(block.predictions, self.thresholds, strict=True)
        ]
        return counting.count(
            block,
            actual=is_positive.astype(np.int64),
            predicted=np.array(predicted).astype(np.int64),
            weight=counting.weights(block),
        )

    def _mean_sums(
        self, block: Block, mean: MeanInfluence, known_cells: dict[CellIndexKey, Ints]
    ) -> MeanSums:
        """The moments of the rows' influence on a mean over classes or labels, of each system. For
        independent, unweighted rows also the sums of squares and fourth powers of the influence on
        the difference of each two systems, see `MeanInfluence.sums_of_powers`.

        known_cells: as for `MeanInfluence.with_cells`, which adds to them.
        """
        sums_of_powers = None
        if self.plain:
            systems = len(mean.tables)
            pairs = systems * (systems - 1) // 2
            sums_of_powers = np.zeros((pairs, mean.n_strata, 2))  # 2: squares, fourth powers
        # `summed` calls `columns` with one piece of the block after another. Each call also adds
        # the powers of its piece to `sums_of_powers`.
        columns = MeanColumns(mean, self.scale, sums_of_powers)
        moments = summed(mean.with_cells(block, known_cells), columns, self.max_units)
        return MeanSums(moments, sums_of_powers)

    def _pair_sums(self, block: Block, metric_at_k: MetricAtK) -> Moments | UnitSums:
        """The moments of the columns `PairSums` of each pair of systems, for a loss that is
        undefined on some rows.
        """
        return summed(block, partial(self._pair_columns, metric_at_k=metric_at_k), self.max_units)

    def _pair_columns(self, piece: Block, metric_at_k: MetricAtK) -> Floats:
        """For each pair of systems the three columns of `PairSums`: the weight, the weighted
        difference of the losses, and 1 to count the row. All three are 0 on rows on which one of
        the two has no loss. Shape (3 · pairs, rows), one pair after another.

        metric_at_k: the loss, NaN on rows on which it is undefined.
        """
        losses_of_systems = []
        for system in range(len(self.thresholds)):  # one array of thresholds for each system
            rows = label_rows(piece, system, self.thresholds)
            losses_of_systems.append(metric_at_k.sums(rows).per_unit)
        columns = list[np.ndarray]()
        for first, second in combinations(losses_of_systems, 2):
            difference = first - second
            both_have_a_value = ~np.isnan(difference)
            weight = both_have_a_value * piece.weights
            columns += PairSums(
                weight=weight,
                difference=np.where(both_have_a_value, difference, 0.0) * weight,
                rows=weight > 0,  # a row of weight 0 counts as little as one without a value
            )
        return np.array(columns)

"""`Rows`, actual values and the predictions of one system; `Sums`, terms per unit;
`InterleavingArm`, one arm of interleaving.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Bools, Floats, Ints, codes, minus, quotient, ratio
from evalkit.metrics import influence, labels
from evalkit.metrics.counts import Counts, RechosenCounts, count
from evalkit.metrics.influence import threshold_index
from evalkit.metrics.predictive import Predictive


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one system: what is true and what it predicts; the first axis is that of the
    rows.

    actual: labels 0 and 1, class numbers below `classes`, a table of booleans with one column per
    label, or numbers. score: of class 1, a table with one column per class or label, or the
    forecast; None if only classes are predicted. threshold: predicted is what scores at least so
    much; one for all labels, or one per label. decision: the predictions, if no threshold decides.
    weight: None if rows are unweighted. unit: the cluster of each row; None if rows are
    independent. columns: further ones by name, for own metrics. redraw_counts: if the threshold was
    chosen on these rows, a function that returns the counts on bootstrap samples with the threshold
    chosen anew on each; else None. predictive: the predictive distributions beside the forecasts;
    None without them. steps_ahead: if `unit` is the place in time, how many steps ahead each row
    looks; else None.
    """

    actual: np.ndarray
    score: Floats | None = None
    threshold: float | Floats = 0.5
    weight: Floats | None = None
    unit: np.ndarray | None = None
    decision: np.ndarray | None = None
    classes: int = 2
    columns: Mapping[str, Floats] = field(default_factory=dict)
    redraw_counts: Callable[[], RechosenCounts] | None = None
    predictive: Predictive | None = None
    steps_ahead: Ints | None = None

    def __len__(self) -> int:
        return len(self.actual)

    def take(self, member: Bools | Ints | slice) -> "Rows":
        """The rows that a mask, indices or a slice selects."""
        distributions = None if self.predictive is None else self.predictive.take(member)
        return replace(
            self,
            actual=self.actual[member],
            score=_select(self.score, member),
            weight=_select(self.weight, member),
            unit=_select(self.unit, member),
            decision=_select(self.decision, member),
            columns={name: column[member] for name, column in self.columns.items()},
            redraw_counts=None,  # the function draws from all rows, not from the selected ones
            predictive=distributions,
            steps_ahead=_select(self.steps_ahead, member),
        )

    def at_threshold(
        self, threshold: float | Floats, redraw: Callable[[], RechosenCounts] | None = None
    ) -> "Rows":
        """The same rows at another threshold; the score is not counted again."""
        rows = replace(self, threshold=threshold, redraw_counts=redraw)
        vars(rows)["counts"] = self.counts  # as if the cached property had been asked for
        return rows

    @staticmethod
    def join(parts: "Sequence[Rows]") -> "Rows":
        """The rows of the parts one after another: actual values, scores and decisions. The parts
        have no other fields with one element per row, such as weights, units or further columns.
        """
        return replace(
            parts[0],
            actual=np.concatenate([part.actual for part in parts]),
            score=_joined([part.score for part in parts]),
            decision=_joined([part.decision for part in parts]),
        )

    @property
    def scores(self) -> Floats:
        """The scores; without any a table of NaN, shape (rows, classes)."""
        return np.full((len(self), self.classes), np.nan) if self.score is None else self.score

    @cached_property
    def predicted(self) -> np.ndarray:
        """The predicted class, or for labels and two classes whether it is predicted: the decision,
        or else score >= threshold.
        """
        return self.scores >= self.threshold if self.decision is None else self.decision

    @property
    def plain(self) -> bool:
        """True if rows are independent and unweighted."""
        return self.weight is None and self.unit is None

    @property
    def lags(self) -> int:
        """How many times back errors of rows in time order depend on others: the longest horizon
        less 1.
        """
        if self.steps_ahead is None:
            return 0
        longest_horizon = int(self.steps_ahead.max(initial=1))
        return max(longest_horizon - 1, 0)

    @property
    def weights(self) -> Floats:
        """The weight of each row, 1 if there are no weights."""
        return weights_or_ones(self.weight, len(self))

    @property
    def shares(self) -> Floats:
        """The weights, scaled so that they add up to 1; not cached, to save memory."""
        return ratio(self.weights, self.weights.sum())

    # Of two classes

    @cached_property
    def counts(self) -> Counts:
        """The table of counts by score."""
        if self.weight is None:
            # the scores of one of several classes are a column of a table, and far apart in memory
            return count(np.ascontiguousarray(self.scores), self.actual)
        positive = self.weight * self.actual
        negative = self.weight * (1 - self.actual)
        return count(self.scores, positive, negative)

    @property
    def midpoint_counts(self) -> Counts:
        """The table of counts by score, for metrics that take scores as probabilities."""
        return self.counts

    @cached_property
    def decision_counts(self) -> Counts:
        """The table of the decisions: score 1 for the rows predicted positive, 0 for the others;
        decided by `threshold`, or as the column `decision` has them.
        """
        if self.decision is None:
            return influence.decision(self.counts, float(self.threshold))
        tp, fn, fp, tn = np.bincount(self.outcome, self.weight, 4)
        # counts are cumulative: at score 1 the rows predicted positive, at score 0 all rows
        at_or_above_positive = np.array([tp, tp + fn])
        at_or_above_negative = np.array([fp, fp + tn])
        return Counts.from_columns(np.array([1.0, 0.0]), at_or_above_positive, at_or_above_negative)

    @cached_property
    def outcome(self) -> NDArray[np.int8]:
        """The outcome of each decision: 0 for TP, 1 for FN, 2 for FP, 3 for TN."""
        is_negative = (self.actual != 1).view(np.int8)
        predicted_negative = (self.predicted != 1).view(np.int8)
        return np.asarray(2 * is_negative + predicted_negative, np.int8)

    @cached_property
    def threshold_index(self) -> NDArray[np.int32]:
        """The index of each row's score among the thresholds of `counts`, the distinct scores,
        highest first.
        """
        if self.weight is not None:
            return threshold_index(self.counts.threshold, self.scores).astype(np.int32)
        # Without weights a search is not needed: the rows in the order of their scores have index
        # 0 as often as rows have the first threshold, then 1, and so on.
        rows_at_threshold = self.counts.rows
        index = np.arange(len(rows_at_threshold), dtype=np.int32)
        index_of_row = np.empty(len(self), np.int32)
        highest_first = np.argsort(-self.scores)
        index_of_row[highest_first] = np.repeat(index, rows_at_threshold)
        return index_of_row

    # Of several labels

    @cached_property
    def label_counts(self) -> "LabelCounts":
        """For each row how many labels are true, predicted, and both."""
        true_and_predicted = self.actual & self.predicted
        return LabelCounts(
            true=_row_sums(self.actual),
            predicted=_row_sums(self.predicted),
            both=_row_sums(true_and_predicted),
        )

    # Of several classes

    @cached_property
    def confusion(self) -> labels.Confusion:
        """The confusion matrix, of weights or of numbers of rows."""
        cell = self.actual * self.classes + self.predicted  # cells are numbered row by row
        table = np.bincount(cell, self.weight, self.classes**2).reshape(self.classes, self.classes)
        if self.weight is None:
            table = table.astype(np.int64)
        return labels.Confusion(table, np.arange(self.classes))


class LabelCounts(NamedTuple):
    """For each row the number of labels that are true, that are predicted, and that are both."""

    true: Floats
    predicted: Floats
    both: Floats


def weights_or_ones(weight: Floats | None, n: int) -> Floats:
    """The weights of n rows or units, 1 each if they are unweighted."""
    return np.ones(n) if weight is None else weight


def _row_sums(marks: Bools) -> Floats:
    """The number of True in each row of a table, by a product of matrices, which is several times
    as fast as sums of short rows.
    """
    ones = np.ones(marks.shape[1], np.float32)  # exact for whole numbers, in half of the memory
    return (marks.astype(np.float32) @ ones).astype(np.float64)


def _select(column: np.ndarray | None, member: Bools | Ints | slice) -> np.ndarray | None:
    """The elements of a column that a mask, indices or a slice selects; None if there is no
    column.
    """
    return None if column is None else column[member]


def _joined(columns: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The columns of all parts one after another; None if any part has none."""
    existing = [column for column in columns if column is not None]
    return np.concatenate(existing) if len(existing) == len(columns) else None


# Values of units ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sums:
    """Σ numerator / Σ denominator over units, kept unit by unit; a unit without a value has NaN.

    denominator: None if each unit counts once, so that the ratio is the mean of the units.

    >>> Sums(np.array([2.0, 1.0]), np.array([4.0, 2.0])).value, Sums(np.array([1.0, np.nan])).value
    (0.5, 1.0)
    """

    numerator: Floats
    denominator: Floats | None = None

    @property
    def size(self) -> Floats:
        """The denominator of each unit."""
        return weights_or_ones(self.denominator, len(self.numerator))

    @cached_property
    def defined(self) -> Bools:
        """A mask: the units with a value."""
        return ~np.isnan(self.numerator)

    @property
    def per_unit(self) -> Floats:
        """The value of each unit, the unit's own ratio."""
        if self.denominator is None:
            return self.numerator
        return ratio(self.numerator, self.denominator)

    @property
    def value(self) -> float:
        """The ratio of the sums over the units that have a value; NaN if none has."""
        defined = self.summed_by_unit(self.defined, None)
        return quotient(defined.numerator.sum(), defined.size.sum())

    def take(self, member: Bools | slice) -> "Sums":
        """The units that a mask or a slice selects."""
        return Sums(self.numerator[member], _select(self.denominator, member))

    def summed_by_unit(self, keep: Bools, unit: np.ndarray | None) -> "Sums":
        """The numerators and the denominators of the rows that the mask `keep` marks, added up by
        unit; the units in the order of their keys. unit: the key of each row's unit; None if each
        row is a unit.
        """
        numerator = self.numerator
        denominator = self.size
        if not keep.all():  # saves copies if all are kept
            numerator = numerator[keep]
            denominator = denominator[keep]
        if unit is None:
            return Sums(numerator, denominator)
        code, units = codes(unit[keep])
        return Sums(
            np.bincount(code, numerator, units.size).astype(np.float64),
            np.bincount(code, denominator, units.size).astype(np.float64),
        )

    def wins(self, other: "Sums", unit: np.ndarray | None = None) -> "UnitWins":
        """The numbers of units on which these sums are larger than others (wins), equal (ties) and
        smaller (losses); of units that have a value in both.

        Their numerators are compared. unit: the unit of each row if several rows may share a unit;
        their numerators are added up. A difference by rounding error counts as equal.

        >>> first, second = Sums(np.array([3.0, 1.0, 2.0])), Sums(np.array([1.0, 2.0, 2.0]))
        >>> first.wins(second, unit=np.array(["a", "a", "b"]))  # a has 4 and 3, b 2 and 2
        UnitWins(wins=1, ties=1, losses=0)
        """
        keep = defined_in_both(self, other)
        first = self.summed_by_unit(keep, unit).numerator
        second = other.summed_by_unit(keep, unit).numerator
        difference = minus(first, second)
        return UnitWins(
            wins=int(np.count_nonzero(difference > 0)),
            ties=int(np.count_nonzero(difference == 0)),
            losses=int(np.count_nonzero(difference < 0)),
        )


class UnitWins(NamedTuple):
    """The numbers of units on which the first of two values is larger, equal and smaller."""

    wins: int
    ties: int
    losses: int


def defined_in_both(first: Sums, second: Sums) -> Bools:
    """A mask: the units that have a value in both."""
    return first.defined & second.defined


# Errors of systems, row by row --------------------------------------------------------------------


class ErrorKind(Enum):
    """The kind of error by which rows are listed."""

    PROBABILITY = auto()
    RANK = auto()
    CLASS = auto()
    DECISION = auto()
    LABELS = auto()
    ERROR = auto()


@dataclass(frozen=True, eq=False)
class Misses:
    """The errors of each system on each row, for lists of the rows that are predicted worst.

    truth: the actual values. truth_name: what they are called. predictions, errors: by system, of
    each row; errors are at least 0.
    """

    truth: np.ndarray
    truth_name: str
    predictions: Mapping[str, np.ndarray]
    errors: Mapping[str, Floats]
    error_kind: ErrorKind


# Interleaved sessions -----------------------------------------------------------------------------


@dataclass(frozen=True)
class InterleavingArm:
    """One arm of interleaving, one row per unit (user); `evalkit.online.sessions.arms_by_unit`
    makes it.

    credit: of the arm, such as clicks on its items. whole: the credit of all arms. beaten: the
    share of the other arms that have less credit from the unit, ties counting half. won: the same
    share per session, added up over the unit's sessions. sessions: their number.
    """

    credit: Floats
    whole: Floats
    beaten: Floats
    won: Floats
    sessions: Floats


def user_share(arm: InterleavingArm) -> Floats:
    """The arm's share of the user's credit. NaN if the user gave none.

    >>> arm = InterleavingArm(np.array([2.0, 0]), np.array([3.0, 0]), *np.zeros((3, 2)))
    >>> user_share(arm).round(3)
    array([0.667,   nan])
    """
    return ratio(arm.credit, arm.whole)


def user_preference(arm: InterleavingArm) -> Floats:
    """1 if the user gave the arm more credit than the other, ½ if the same, 0 if less; NaN if none.

    With several other arms, the mean over them.

    >>> beaten = np.array([0.75, 0.5])
    >>> arm = InterleavingArm(np.ones(2), np.array([1.0, 0]), beaten, *np.zeros((2, 2)))
    >>> user_preference(arm)
    array([0.75,  nan])
    """
    return np.where(arm.whole > 0, arm.beaten, np.nan)


def session_wins(arm: InterleavingArm) -> Sums:
    """(wins + ties / 2) / sessions over all users: Δ_AB + ½."""
    return Sums(arm.won, arm.sessions)


def credit_share(arm: InterleavingArm) -> Sums:
    """The arm's share of all credit: users count in proportion to their use."""
    return Sums(arm.credit, arm.whole)

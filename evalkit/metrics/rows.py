"""`Rows`, actual values and the predictions of one system; `Sums`, terms per unit; `Side`, one arm
of interleaving.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Bools, Floats, Ints, codes, minus, ratio
from evalkit.metrics import influence, labels
from evalkit.metrics.counts import Counts, RechosenCounts, count
from evalkit.metrics.influence import place


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one system.

    actual: 0 and 1, class numbers below `classes`, one column of booleans per label, or numbers.
    score: of class 1, one column per class or label, or the forecast; None if only classes are
    predicted. decision: the predicted class, if no threshold decides. threshold: one for all
    labels, or one per label. weight: None if rows are unweighted. unit: the cluster of each row;
    None if rows are independent. beside: further columns by name, for own metrics. redraw: if the
    threshold was chosen on these rows, a function that returns the counts on bootstrap samples with
    the threshold chosen anew on each; else None.
    """

    actual: np.ndarray
    score: Floats | None = None
    threshold: float | Floats = 0.5
    weight: Floats | None = None
    unit: np.ndarray | None = None
    decision: np.ndarray | None = None
    classes: int = 2
    beside: Mapping[str, Floats] = field(default_factory=dict)
    redraw: Callable[[], RechosenCounts] | None = None

    def __len__(self) -> int:
        return len(self.actual)

    def take(self, member: Bools | Ints | slice) -> "Rows":
        """The rows that `member` selects."""
        names = ("score", "weight", "unit", "decision")
        sides: dict[str, Any] = {
            n: None if (side := getattr(self, n)) is None else side[member] for n in names
        }
        beside = {name: column[member] for name, column in self.beside.items()}
        return replace(self, actual=self.actual[member], beside=beside, redraw=None, **sides)

    def at(
        self, threshold: float | Floats, redraw: Callable[[], RechosenCounts] | None = None
    ) -> "Rows":
        """The same rows at another threshold; the score is not counted again."""
        rows = replace(self, threshold=threshold, redraw=redraw)
        vars(rows)["counts"] = self.counts
        return rows

    @staticmethod
    def join(parts: "Sequence[Rows]") -> "Rows":
        """The rows of the parts in sequence, without weights and units."""
        names = ("actual", "score", "decision")
        sides: dict[str, Any] = {
            name: _joined([getattr(part, name) for part in parts]) for name in names
        }
        return replace(parts[0], **sides)

    @property
    def scores(self) -> Floats:
        """The scores; NaN for each class if there are none."""
        return np.full((len(self), self.classes), np.nan) if self.score is None else self.score

    @cached_property
    def predicted(self) -> np.ndarray:
        """The predictions: the decision, or else score >= threshold."""
        return self.scores >= self.threshold if self.decision is None else self.decision

    @property
    def plain(self) -> bool:
        """True if rows are independent and unweighted."""
        return self.weight is None and self.unit is None

    @property
    def weights(self) -> Floats:
        """The weight of each row, 1 if there are no weights."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def shares(self) -> Floats:
        """The weights scaled to sum 1."""
        return ratio(self.weights, self.weights.sum())

    # Of two classes

    @cached_property
    def counts(self) -> Counts:
        """The table of counts by score."""
        if self.weight is None:
            return count(self.scores, self.actual)
        return count(self.scores, self.weight * self.actual, self.weight * (1 - self.actual))

    @property
    def chances(self) -> Counts:
        """The table of counts by score, for metrics that take scores as probabilities."""
        return self.counts

    @cached_property
    def cut(self) -> Counts:
        """The table of the decisions: score 1 for the rows predicted positive, 0 for the others."""
        if self.decision is None:
            return influence.decision(self.counts, float(self.threshold))
        sizes = np.bincount(self.outcome, self.weight, 4).reshape(2, 2)
        return Counts.of(np.array([1.0, 0.0]), *np.cumsum(sizes, axis=1))

    @cached_property
    def outcome(self) -> NDArray[np.int8]:
        """The outcome of each decision: 0 for TP, 1 for FN, 2 for FP, 3 for TN."""
        negative = (self.actual != 1).view(np.int8)
        rejected = (self.predicted != 1).view(np.int8)
        return 2 * negative + rejected

    @cached_property
    def place(self) -> NDArray[np.int32]:
        """The index of each row's score in the table."""
        if self.weight is not None:
            return place(self.counts.threshold, self.scores).astype(np.int32)
        each = self.counts.positive + self.counts.negative
        found = np.empty(len(self), np.int32)
        found[np.argsort(-self.scores)] = np.repeat(np.arange(len(each), dtype=np.int32), each)
        return found

    # Of several labels

    @cached_property
    def label_counts(self) -> tuple[Floats, Floats, Floats]:
        """For each row the number of labels that are true, that are predicted, and that are
        both.
        """
        y, d = self.actual, self.predicted
        # A product is several times as fast as sums of short rows.
        each = np.ones(y.shape[1], np.float32)  # exact, in half of the memory
        true, predicted, both = (marks.astype(np.float32) @ each for marks in (y, d, y & d))
        return true.astype(float), predicted.astype(float), both.astype(float)

    # Of several classes

    @cached_property
    def confusion(self) -> labels.Confusion:
        """The table of actual and predicted classes."""
        cell = self.actual * self.classes + self.predicted
        table = np.bincount(cell, self.weight, self.classes**2).reshape(self.classes, self.classes)
        return labels.Confusion(
            table if self.weight is not None else table.astype(np.int64), np.arange(self.classes)
        )


def _joined(sides: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """The columns of all parts one after another; None if a part has none."""
    there = [side for side in sides if side is not None]
    return np.concatenate(there) if len(there) == len(sides) else None


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
        return np.ones(len(self.numerator)) if self.denominator is None else self.denominator

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
        top, bottom = self.by_unit(self.defined, None)
        return float(ratio(top.sum(), bottom.sum()))

    def take(self, member: Bools | slice) -> "Sums":
        """The units that `member` selects."""
        return Sums(
            self.numerator[member], None if self.denominator is None else self.denominator[member]
        )

    def by_unit(self, keep: Bools, unit: np.ndarray | None) -> tuple[Floats, Floats]:
        """Numerators and denominators of the rows to keep, added up by `unit` if there is one."""
        columns = (
            (self.numerator, self.size) if keep.all() else (self.numerator[keep], self.size[keep])
        )
        if unit is None:
            return columns
        code, names = codes(unit[keep])
        top, bottom = (
            np.bincount(code, column, names.size).astype(np.float64) for column in columns
        )
        return top, bottom

    def wins(self, other: "Sums", unit: np.ndarray | None = None) -> tuple[int, int, int]:
        """The number of units on which this is larger than another, equal, smaller; ratios are
        compared by numerators.

        unit: the unit of each row if several rows may share one; their values are added up.
        Rounding error decides nothing.

        >>> Sums(np.array([3.0, 1.0, 2.0])).wins(
        ...     Sums(np.array([1.0, 2.0, 2.0])), np.array(["a", "a", "b"])
        ... )
        (1, 1, 0)
        """
        keep = both(self, other)
        sign = np.sign(minus(*(side.by_unit(keep, unit)[0] for side in (self, other))))
        return int((sign > 0).sum()), int((sign == 0).sum()), int((sign < 0).sum())


def both(first: Sums, second: Sums) -> Bools:
    """A mask: the units that have a value in both."""
    return first.defined & second.defined


# How far off systems are, row by row --------------------------------------------------------------


class By(Enum):
    """The kind of error by which rows are listed."""

    PROBABILITY = auto()
    RANK = auto()
    CLASS = auto()
    DECISION = auto()
    LABELS = auto()
    ERROR = auto()


@dataclass(frozen=True, eq=False)
class Misses:
    """The errors of each system on each row: actual values, predictions, and the error (`off`, at
    least 0).
    """

    truth: np.ndarray
    truth_is: str
    says: Mapping[str, np.ndarray]
    off: Mapping[str, Floats]
    by: By


# Interleaved sessions -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One arm, one row per unit, from `evalkit.online.sessions.sides`.

    `credit` is the arm's credit, `whole` that of all arms; `beaten` is the share of the other arms
    with less credit from the unit, ties counting half, and `won` its sum over the unit's
    `sessions`.
    """

    credit: Floats
    whole: Floats
    beaten: Floats
    won: Floats
    sessions: Floats


def user_share(side: Side) -> Floats:
    """The arm's share of the user's credit. NaN if the user gave none.

    >>> user_share(Side(np.array([2.0, 0]), np.array([3.0, 0]), *np.zeros((3, 2)))).round(3)
    array([0.667,   nan])
    """
    return ratio(side.credit, side.whole)


def user_preference(side: Side) -> Floats:
    """1 if the user gave the arm more credit than the other, ½ if the same, 0 if less; NaN if none.

    With several other arms, the mean over them.

    >>> user_preference(
    ...     Side(np.ones(2), np.array([1.0, 0]), np.array([0.75, 0.5]), *np.zeros((2, 2)))
    ... )
    array([0.75,  nan])
    """
    return np.where(side.whole > 0, side.beaten, np.nan)


def session_wins(side: Side) -> Sums:
    """(wins + ties / 2) / sessions of all users: Δ_AB + ½."""
    return Sums(side.won, side.sessions)


def credit_share(side: Side) -> Sums:
    """The arm's share of all credit: users count in proportion to their use."""
    return Sums(side.credit, side.whole)

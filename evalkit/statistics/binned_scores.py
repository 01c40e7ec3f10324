"""Scores in bins, as the first reading of a table counts them, and how much each row moves a metric.

That is a number per bin and class, or a loss of the row's own score; the second reading adds these numbers up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ParameterError, ratio
from evalkit.catalogue.kinds import Loss, RatioOfRows
from evalkit.catalogue.metric import Chosen
from evalkit.metrics import cells, grid
from evalkit.metrics.counts import Counts
from evalkit.metrics.grid import Grid
from evalkit.metrics.rows import Rows


@dataclass(frozen=True, eq=False)
class BinnedScore:
    """What the first reading knows of one system: its bins, what a weight of 1 in them stands for, its threshold.

    known: the table of the score, where it has been made already.
    """

    name: str
    bins: Grid
    scale: float
    threshold: float
    known: Counts | None = None

    @cached_property
    def counts(self) -> Counts:
        """The table of the score."""
        return grid.counts(self.bins, self.scale) if self.known is None else self.known

    @cached_property
    def chances(self) -> Counts:
        """The same with the middle of each bin as its score: for metrics that take scores as probabilities."""
        c = self.counts
        return Counts(grid.middles(self.bins), c.tp, c.fp, c.positives, c.negatives)

    @cached_property
    def cut(self) -> Counts:
        """The table of what the threshold decides."""
        return cells.decision(self.counts, self.threshold)

    @cached_property
    def shared(self) -> Bools:
        """Whether each threshold stands for several distinct scores."""
        return grid.spread(self.bins)

    @property
    def moved(self) -> tuple[float, float, float]:
        """The most that shared bins move AUC, and the limits of average precision."""
        return grid.auc_width(self.counts, self.shared), *grid.average_precision_limits(self.counts, self.shared)

    @property
    def rows(self) -> float:
        """The weight of all rows."""
        return float(self.counts.total)


# The columns of numbers that a row has ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BinColumn:
    """A number for each row by its class and bin: those of positive rows, lowest bin first, then those of negative.

    ends: of the names of its columns: one, or one of positive rows and one of negative.
    """

    bins: Floats
    ends: tuple[str, ...]

    def of(self, rows: Rows, place: Ints) -> Sequence[Floats]:
        """The numbers of rows that stand in these bins, 0 in the column of the other class."""
        moved = self.bins.take(place)
        return [moved] if len(self.ends) == 1 else [moved * rows.actual, moved * (1 - rows.actual)]


@dataclass(frozen=True, eq=False)
class RowColumn:
    """What the row's own numbers add beyond the `value` of the table, times `weight`."""

    kind: Loss | RatioOfRows
    value: float
    weight: float
    ends: ClassVar[tuple[str, ...]] = ("",)

    def of(self, rows: Rows, place: Ints) -> Sequence[Floats]:
        """The numbers of rows."""
        return [self.kind.above(rows, self.value) * self.weight]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of one system: its decisions, and those of each metric. low: the codes of its bins, rising."""

    name: str
    low: Ints
    threshold: float
    of: Mapping[str, BinColumn | RowColumn]

    @property
    def names(self) -> list[str]:
        """What stands in the columns, in order."""
        own = (f"{column}{end}" for column, numbers in self.of.items() for end in numbers.ends)
        return [f"{self.name}\n{column}" for column in ("hit", "alarm", *own)]

    @property
    def placed(self) -> bool:
        """Whether the bins of rows are asked for."""
        return any(isinstance(numbers, BinColumn) for numbers in self.of.values())

    def rows(self, label: Bools, score: Floats, weight: Floats, place: Ints | None = None) -> Floats:
        """The columns of rows, one below the other. place: the bin of each, where it is known."""
        columns = np.empty((len(self.names), len(label)))
        decided = np.where(score >= self.threshold, weight, 0.0)
        columns[0], columns[1] = decided * label, decided * ~label
        rows = Rows(label.astype(np.int64), score, self.threshold)
        place = places(self.low, score) if place is None and self.placed else place
        place = np.empty(0, np.int64) if place is None else place + np.where(label, 0, len(self.low))
        own = (column for numbers in self.of.values() for column in numbers.of(rows, place))
        for i, column in enumerate(own, start=2):
            np.multiply(column, weight, out=columns[i])
        return columns


def places(low: Ints, score: Floats) -> Ints:
    """The bin of each score: sorted first, the search runs through the bins instead of jumping."""
    code = grid.codes(score)
    order = np.argsort(code)
    place = np.empty(len(code), np.int64)
    place[order] = np.searchsorted(low, code[order], side="right") - 1
    return np.maximum(place, 0)  # below the lowest bin stand only rows without weight


def columns(t: BinnedScore, metrics: Sequence[Chosen]) -> Columns:
    """The columns that these metrics need; what a threshold decides is always there."""
    of: dict[str, BinColumn | RowColumn] = {}
    for chosen in dict.fromkeys(chosen.base for chosen in metrics):
        of |= _columns(t, chosen)
    return Columns(t.name, grid.codes(t.counts.threshold[::-1]), t.threshold, of)


def _columns(t: BinnedScore, chosen: Chosen) -> dict[str, BinColumn | RowColumn]:
    kind: Any = chosen.metric.kind
    if kind.decided:
        return {}
    if kind.centred:
        value, size = kind.of_table(t.chances, t.threshold)
        if np.isnan(size):
            raise ParameterError(f"metrics: {chosen.label} leaves rows out, which needs all rows in memory")
        return {chosen.label: RowColumn(kind, value, float(ratio(1.0, size)))}
    bins = np.ascontiguousarray(kind.bins(t.chances)[:, ::-1])
    return {chosen.label: BinColumn(bins, ("+", "-") if kind.apart else ("",))}

"""Metrics of the order of the scores of each class against the rest, of rows that were added up; and their means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.metrics import grid
from evalkit.metrics.counts import Counts
from evalkit.metrics.grid import Grid
from evalkit.statistics.of_cells import image
from evalkit.statistics.of_totals import OfTotals
from evalkit.statistics.sample import Form, Moments
from evalkit.statistics.statistic import Piece, Statistic


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of a class in bins. weight: None where rows count alike."""

    bins: Grid
    scale: float | None

    @property
    def weight(self) -> float | None:
        """What weights are counted in."""
        return self.scale

    @cached_property
    def counts(self) -> Counts:
        """The table of the scores."""
        return grid.counts(self.bins, self.scale or 1.0)

    @cached_property
    def chances(self) -> Counts:
        """The same with the middle of each bin as its score: for metrics that take scores as probabilities."""
        c = self.counts
        return Counts(grid.middles(self.bins), c.tp, c.fp, c.positives, c.negatives)

    @property
    def cut(self) -> Counts:
        """Nothing decides by a score."""
        raise NotImplementedError

    @property
    def width(self) -> float:
        """By how much the bins change the AUC at most."""
        return grid.auc_width(self.counts, grid.spread(self.bins))


@dataclass(frozen=True, eq=False, kw_only=True)
class OfArea(OfTotals):
    """A metric of one class against the rest. size: units, or rows. kish: Kish's number of them."""

    tables: Scores
    size: int
    kish: float

    @property
    def n(self) -> int:  # type: ignore[override]
        """Units, or rows."""
        return self.size

    @cached_property
    def freedom(self) -> float:  # type: ignore[override]
        """The degrees of freedom of the standard error."""
        return self.kish - 1

    @property
    def excess(self) -> float:
        """How much too high the value of so few rows is."""
        kind: Any = self.chosen.metric.kind
        return float(kind.excess(self.tables))


@dataclass(frozen=True, eq=False)
class OfAreas(Statistic):
    """The mean over the classes. moments: of the columns of all classes and systems. shares, classes: of each.

    strata: of the rows of each class, the products of what moves the mean, of every two systems; their rows.
    """

    moments: Moments
    shares: Sequence[float]
    classes: Sequence[OfArea]
    system: int
    strata: Floats | None
    rows: Ints
    kish: float

    how = OfTotals.how

    @property
    def layout(self) -> Any:
        """How rows lie."""
        return self.classes[0].layout

    @property
    def n(self) -> int:
        """Units, or rows."""
        return self.classes[0].n

    @cached_property
    def value(self) -> float:
        """The mean."""
        return float(sum(share * one.value for share, one in zip(self.shares, self.classes, strict=True)))

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error."""
        return self.kish - 1

    @cached_property
    def _whole(self) -> OfTotals:
        """The mean as sums."""
        first = self.classes[0]
        form: Form = {one.column: share for share, one in zip(self.shares, self.classes, strict=True)}
        return replace(first, chosen=self.chosen, of=self.value, form=form, column="", kish=self.kish)

    def error(self) -> float:
        """The standard error, to first order."""
        return self._whole.error()

    def difference_error(self, other: OfAreas) -> float:
        """The standard error of the difference on the same rows."""
        return self._whole.difference_error(other._whole)

    def parts(self) -> Iterator[Piece]:
        """The classes."""
        at = [self.moments.names.index(one.column) for one in self.classes]
        moved = image(self.moments.gram[np.ix_(at, at)])
        for share, one, vector in zip(self.shares, self.classes, moved, strict=True):
            yield Piece(share, one, vector, one.excess)

    def of_shares(self) -> None:
        """The shares are fixed."""

    def by_stratum(self, other: OfAreas) -> tuple[Floats, Ints]:
        """The sum of the squares of what moves the difference in each class, and its rows."""
        assert self.strata is not None
        i, j = self.system, other.system
        squares = self.strata[:, i, i] - self.strata[:, i, j] - self.strata[:, j, i] + self.strata[:, j, j]
        there = self.rows > 0
        return np.maximum(squares[there], 0.0), self.rows[there]

    def of_few(self, other: OfAreas) -> tuple[float, float]:
        """The standard error of the difference, and its degrees of freedom."""
        return self.difference_error(other), self.freedom

"""Metrics of the order of the scores of each class against the rest, of rows that were added up; and their means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.catalogue.metric import Chosen
from evalkit.catalogue.score_kinds import Tables
from evalkit.metrics import grid
from evalkit.metrics.counts import Counts
from evalkit.metrics.grid import Grid
from evalkit.statistics.class_cells import image
from evalkit.statistics.spread import Spread, freedom_of
from evalkit.statistics.statistic import Layout, Piece, Statistic
from evalkit.statistics.two_classes import Form, Moments, minus, places


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
    def cut(self) -> None:
        """Nothing decides by a score."""

    @property
    def widths(self) -> tuple[float, float]:
        """By how much the bins change the AUC and the average precision at most."""
        spread = grid.spread(self.bins)
        low, high = grid.average_precision_limits(self.counts, spread)
        return grid.auc_width(self.counts, spread), high - low


@dataclass(frozen=True, eq=False)
class Ranked:
    """How much a row moves a metric of one class against the rest: by its class and its score.

    low: the codes of the bins of its scores, rising. moved: of positive rows by bin, then of negative ones.
    """

    low: Ints
    moved: Floats

    def places(self, actual: Bools, score: Floats) -> Ints:
        """Where among what moves it each row stands."""
        return places(self.low, score) + np.where(actual, 0, len(self.low))


def ranked(chosen: Chosen, scores: Scores) -> Ranked:
    """How much the rows of each bin move the metric of one class, or label."""
    kind: Any = chosen.metric.kind
    moved = np.ascontiguousarray(kind.bins(scores.chances)[:, ::-1])
    return Ranked(grid.codes(scores.counts.threshold[::-1]), np.nan_to_num(moved).ravel())


@dataclass(frozen=True, eq=False)
class OfTotals(Statistic):
    """moments: of the columns of its rows, by row or by unit. layout: whether rows count alike.

    of: the value of the metric, or of the one that it transforms. form: how much each row moves that, as multiples of
    the columns; it adds up to 0. column: that of its own numbers.
    """

    moments: Moments
    layout: Layout
    of: float
    form: Form
    column: str

    how: ClassVar[str] = "influence sums, two passes"

    @cached_property
    def value(self) -> float:
        """The metric."""
        kind: Any = self.chosen.metric.kind
        return self.of if kind.original is None else kind.f(self.of)

    @property
    def n(self) -> int:
        """Units, or rows."""
        return self.moments.n

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: Kish's number of units, as of rows at hand, less 1."""
        return self.n - 1.0 if self.layout is Layout.SUMMED else self.moments.kish({"weight": 1.0}) - 1

    @property
    def spread(self) -> Spread:
        """How much units move it."""
        return Spread(self.n, self.moments.square(self.form), self.freedom + 1)

    def spread_from(self, other: OfTotals) -> Spread:
        """How much units move the difference."""
        return Spread(self.n, self.moments.square(minus(self.form, other.form)), self.freedom + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class OfSized(OfTotals):
    """A metric of which it is known on how much it depends. size: units, or rows. kish: Kish's number of them."""

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


@dataclass(frozen=True, eq=False, kw_only=True)
class OfArea(OfSized):
    """A metric of one class against the rest, or of one label."""

    tables: Tables

    @property
    def excess(self) -> float:
        """How much too high the value of so few rows is."""
        kind: Any = self.chosen.metric.kind
        return float(kind.excess(self.tables))


@dataclass(frozen=True, eq=False)
class OfMean(Statistic):
    """A mean over classes or labels. moments: of the columns of all of them and all systems.

    each: the metric of each, its share in the mean, and its column. size: units, or rows. kish: Kish's number of them.
    """

    moments: Moments
    layout: Layout
    shares: Sequence[float]
    each: Sequence[Any]
    columns: Sequence[str]
    system: int
    size: int
    kish: float

    how = OfTotals.how

    @property
    def n(self) -> int:
        """Units, or rows."""
        return self.size

    @cached_property
    def value(self) -> float:
        """The mean."""
        return float(sum(share * one.value for share, one in zip(self.shares, self.each, strict=True)))

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error."""
        return self.kish - 1

    @property
    def form(self) -> Form:
        """How much each row moves the mean."""
        return dict(zip(self.columns, self.shares, strict=True))

    @cached_property
    def _whole(self) -> OfTotals:
        """The mean as sums."""
        known: Any = (self.moments, self.layout, self.value, self.form, "")
        return OfSized(self.chosen, *known, size=self.size, kish=self.kish)

    @property
    def spread(self) -> Spread:
        """How much units move it."""
        return self._whole.spread

    def spread_from(self, other: OfMean) -> Spread:
        """How much units move the difference."""
        return self._whole.spread_from(other._whole)

    @cached_property
    def _moved(self) -> Floats:
        """How much units move each part of the form."""
        at = [self.moments.names.index(name) for name in self.form]
        return image(self.moments.gram[np.ix_(at, at)])

    def parts(self) -> Iterator[Piece]:
        """The classes, or labels."""
        rows = zip(self.shares, self.each, self._moved[: len(self.each)], strict=True)
        return (Piece(share, one, vector, one.excess) for share, one, vector in rows)

    def of_shares(self) -> Floats | None:
        """The shares are fixed."""
        return None


@dataclass(frozen=True, eq=False)
class OfAreas(OfMean):
    """The mean over the classes.

    strata: of the rows of each class, the products of what moves the mean, of every two systems; their rows.
    """

    strata: Floats | None
    rows: Ints

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


@dataclass(frozen=True, eq=False)
class OfLabels(OfMean):
    """The mean over labels of rows that may have several.

    moving: the column of how much rows move the mean through its shares, "" where these are fixed. powers: of every two
    systems the sums of squares and fourth powers of what moves the difference, of rows that count alike.
    """

    moving: str
    powers: Mapping[tuple[int, int], Floats]

    @property
    def form(self) -> Form:
        """How much each row moves the mean."""
        return dict(super().form) | ({self.moving: 1.0} if self.moving else {})

    def of_shares(self) -> Floats | None:
        """How much units move the mean through its shares."""
        return self._moved[-1] if self.moving else None

    def by_stratum(self, other: OfLabels) -> tuple[Floats, Ints]:
        """Rows with several labels have no strata."""
        return np.empty(0), np.empty(0, np.int64)

    def of_few(self, other: OfLabels) -> tuple[float, float]:
        """The standard error of the difference, and the degrees of freedom that the kurtosis of its rows leaves."""
        square, fourth = self.powers[min(self.system, other.system), max(self.system, other.system)].tolist()
        error = float(np.sqrt(square * ratio(self.freedom + 1, self.freedom)))
        return error, freedom_of(square, fourth, self.size, self.size - 1.0)

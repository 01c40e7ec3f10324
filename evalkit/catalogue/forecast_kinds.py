"""Kinds of metrics of numbers: smooth functions of means, and quantiles; what rows that are not at hand add up to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue.kinds import Centre, Effects, Kind
from evalkit.metrics.distribution import Counted
from evalkit.metrics.rows import Rows


@dataclass(frozen=True)
class OfMeans(Kind):
    """A smooth function of means of numbers per row.

    of: (rows, centre) -> the numbers. f: their means, also several sets of them -> the value and its derivatives. The
    value must not depend on the centre, which is for the digits only: squares are taken of what lies around 0.
    """

    of: Callable[[Rows, Centre], Sequence[Floats]]
    f: Callable[[Floats], tuple[Floats, Floats]]
    joint: ClassVar[bool] = True
    totalled: ClassVar[bool] = True

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it."""
        share = rows.shares
        numbers = self.of(rows, self.centre(rows))
        means = np.array([np.dot(share, column) for column in numbers])
        value, slopes = self.f(means)
        return Effects(float(value), share * _around(numbers, means, slopes))

    def centre(self, rows: Rows) -> Centre:
        """The means of actual values and forecasts."""
        return _centre(rows.actual, rows.shares), _centre(rows.scores, rows.shares)

    def value(self, rows: Rows, k: int | None) -> float:
        """The value."""
        return self.effects(rows, k).value

    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """1 and the numbers of each row, before its weight."""
        return [np.ones(len(rows)), *self.of(rows, centre)]

    def of_terms(self, totals: Floats) -> float:
        """The value, from the sums of the terms."""
        return float(self.of_sets(totals))

    def of_sets(self, totals: Floats) -> Floats:
        """The value of each of several sets of rows, whose sums of the terms are columns."""
        return self.f(ratio(totals[1:], totals[0]))[0]

    def moved(self, rows: Rows, k: int | None, centre: Centre, totals: Floats) -> Floats:
        """How much each row of weight 1 moves the value."""
        means = ratio(totals[1:], totals[0])
        return ratio(_around(self.of(rows, centre), means, self.f(means)[1]), totals[0])


def _centre(values: Floats, share: Floats) -> float:
    """The mean, which rounding must not take out of the range of the values."""
    return float(np.clip(np.dot(share, values), values.min(), values.max())) if len(values) else 0.0


def _around(numbers: Sequence[Floats], means: Floats, slopes: Floats) -> Floats:
    """The numbers less their means, times the slopes, added up."""
    moved = np.zeros(len(numbers[0]))
    for column, mean, slope in zip(numbers, means, slopes, strict=True):
        moved += slope * (column - mean)
    return moved


@dataclass(frozen=True)
class Middle:
    """A median: the value, the slope of the quantiles there, the share of rows up to it less one half, all weight."""

    value: float
    slope: float
    excess: float
    weight: float


@dataclass(frozen=True)
class Quantile(Kind):
    """The median of a number per row: its effects take the density there from the spacing of the numbers.

    Hall and Sheather 1988, doi:10.1111/j.2517-6161.1988.tb01735.x. of: rows -> the numbers.
    """

    of: Callable[[Rows], Floats]
    joint: ClassVar[bool] = True

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it."""
        size, share = self.of(rows), rows.shares
        if not len(size):
            return Effects(float("nan"), share)
        wide = _bandwidth(float(np.sum(share**2)))
        low, middle, high = (_quantile(size, share, at) for at in (0.5 - wide, 0.5, 0.5 + wide))
        middle = float(np.median(size)) if rows.weight is None else middle
        excess = float(share[size <= middle].sum() - 0.5)  # with it the effects add up to 0
        return Effects(middle, share * (0.5 - (size <= middle) + excess) * (high - low) / (2 * wide))

    def value(self, rows: Rows, k: int | None) -> float:
        """The median."""
        return self.effects(rows, k).value

    def middle(self, table: Counted, squares: float, *, weighted: bool) -> Middle:
        """The median of counted numbers. squares: the sum of the squared weights of the rows."""
        total = float(table.weight.sum())
        share = table.weight / total
        wide = _bandwidth(squares / total**2)
        low, middle, high = (_quantile(table.values, share, at) for at in (0.5 - wide, 0.5, 0.5 + wide))
        middle = middle if weighted else float(table.quantiles([0.5])[0])
        excess = float(table.weight[table.values <= middle].sum() / total - 0.5)
        return Middle(middle, (high - low) / (2 * wide), excess, total)

    def of_terms(self, known: Middle) -> float:
        """The median."""
        return known.value

    def moved(self, rows: Rows, k: int | None, centre: Centre, known: Middle) -> Floats:
        """How much each row of weight 1 moves the median."""
        below = (self.of(rows) <= known.value).astype(np.float64)
        return (0.5 - below + known.excess) * (known.slope / known.weight)


def _bandwidth(squares: float) -> float:
    """How far from the middle, as a share of the rows, the spacing is taken. squares: the sum of squared shares."""
    return min(0.25, 0.54 * float(squares) ** (1 / 3))


def _quantile(size: Floats, share: Floats, at: float) -> float:
    order = np.argsort(size, kind="stable")
    place = np.searchsorted(np.cumsum(share[order]), at)
    return float(size[order[min(int(place), len(size) - 1)]])

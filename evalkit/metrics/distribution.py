"""How numbers are distributed, of rows at hand (`Held`) or counted (`Counted`): quantiles, windows, histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.metrics import grid
from evalkit.metrics.grid import Grid

ROUNDING = 1e-12  # of sums of shares
WORST = 100  # one in so many rows


class Distribution(Protocol):
    """A column of numbers. whole: whether all are whole numbers. low, high: the smallest and the largest."""

    @property
    def whole(self) -> bool: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def mean(self) -> float:
        """The mean over the rows, whatever their weights."""

    @property
    def median(self) -> float:
        """The median over the rows, whatever their weights."""

    @property
    def zeros(self) -> int:
        """The rows that are 0."""

    def quantiles(self, shares: Sequence[float]) -> Floats:
        """Quantiles over the rows, whatever their weights, linear between two numbers."""

    def window(self, tail: float) -> tuple[float, float]:
        """The numbers that leave out at most this share of the rows at each end."""

    def histogram(self, edges: Floats) -> Floats:
        """The weight of the rows between the edges."""

    @property
    def total(self) -> float:
        """The weight of all rows."""

    def weighted_median(self) -> float:
        """The first number up to which half of the weight lies."""

    def heaviest(self) -> float:
        """The share of the sum of the squares that the hundredth of the rows with the largest has."""


@dataclass(frozen=True, eq=False)
class Held:
    """A column at hand, and the weights of its rows."""

    values: Floats
    weight: Floats | None = None

    @property
    def whole(self) -> bool:
        return not np.any(self.values != np.rint(self.values))

    @property
    def low(self) -> float:
        return float(self.values.min())

    @property
    def high(self) -> float:
        return float(self.values.max())

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def median(self) -> float:
        return float(np.median(self.values))

    @property
    def zeros(self) -> int:
        return int(np.sum(self.values == 0))

    def quantiles(self, shares: Sequence[float]) -> Floats:
        return np.quantile(self.values, shares)

    def window(self, tail: float) -> tuple[float, float]:
        low = float(np.quantile(self.values, tail, method="lower"))
        return low, float(np.quantile(self.values, 1 - tail, method="higher"))

    def histogram(self, edges: Floats) -> Floats:
        return np.histogram(self.values, edges, weights=self.weight)[0].astype(np.float64)

    @property
    def total(self) -> float:
        return float(len(self.values) if self.weight is None else self.weight.sum())

    def weighted_median(self) -> float:
        order = np.argsort(self.values, kind="stable")
        weight = np.ones(len(order)) if self.weight is None else self.weight[order]
        half = int(np.searchsorted(np.cumsum(weight / weight.sum()), 0.5 - ROUNDING))
        return float(self.values[order[half]])

    def heaviest(self) -> float:
        squared = np.sort(self.values**2)[::-1]
        return float(squared[: max(1, len(squared) // WORST)].sum() / squared.sum()) if squared.sum() else 0.0


@dataclass(frozen=True, eq=False)
class Counted:
    """Distinct numbers, or the middles of bins, rising; how many rows and what weight each has."""

    values: Floats
    rows: Ints
    weight: Floats
    whole: bool
    low: float
    high: float
    half: Floats  # of each bin's width

    @classmethod
    def of(cls, g: Grid, scale: float, *, whole: bool) -> Counted:
        """The bins of a `grid.tally`. scale: the weight that 1 in them stands for."""
        low, high = grid.scores(g.low), grid.scores(g.high)
        middle = np.where(low == high, low, low / 2 + high / 2)
        weight = (g.negative * scale).astype(np.float64)
        return cls(middle, g.positive, weight, whole, float(low[0]), float(high[-1]), (high - low) / 2)

    def sizes(self) -> Counted:
        """The same of the numbers without their signs."""
        size, at = np.unique(np.abs(self.values), return_inverse=True)
        rows = np.bincount(at, self.rows, len(size)).astype(np.int64)
        weight = np.bincount(at, self.weight, len(size)).astype(np.float64)
        half = np.zeros(len(size))
        np.maximum.at(half, at, self.half)
        return Counted(size, rows, weight, self.whole, float(size[0]), float(size[-1]), half)

    @cached_property
    def _ends(self) -> Ints:
        return np.cumsum(self.rows)

    def _at(self, place: int) -> float:
        """The number at a place, from 0, of all rows in order."""
        return float(self.values[np.searchsorted(self._ends, place, side="right")])

    def bound(self, shares: Sequence[float]) -> float:
        """How far quantiles can lie from those of the rows: half the width of the widest of their bins."""
        last = int(self._ends[-1]) - 1
        places = [end(share * last) for share in shares for end in (np.floor, np.ceil)]
        return float(self.half[np.searchsorted(self._ends, places, side="right")].max())

    @property
    def mean(self) -> float:
        return float(self.values @ self.rows / self._ends[-1])

    @property
    def median(self) -> float:
        return float(self.quantiles([0.5])[0])

    @property
    def zeros(self) -> int:
        return int(self.rows[self.values == 0].sum())

    def quantiles(self, shares: Sequence[float]) -> Floats:
        return np.array([self._quantile(share * (int(self._ends[-1]) - 1)) for share in shares])

    def _quantile(self, place: float) -> float:
        below = int(np.floor(place))
        a, b, part = self._at(below), self._at(min(below + 1, int(self._ends[-1]) - 1)), place - below
        return a + (b - a) * part if part < 0.5 else b - (b - a) * (1 - part)

    def window(self, tail: float) -> tuple[float, float]:
        last = int(self._ends[-1]) - 1
        return self._at(int(np.floor(tail * last))), self._at(int(np.ceil((1 - tail) * last)))

    def histogram(self, edges: Floats) -> Floats:
        return np.histogram(self.values, edges, weights=self.weight)[0].astype(np.float64)

    @property
    def total(self) -> float:
        return float(self.weight.sum())

    def weighted_median(self) -> float:
        share = np.cumsum(self.weight) / self.weight.sum()
        return float(self.values[np.searchsorted(share, 0.5 - ROUNDING)])

    def heaviest(self) -> float:
        sizes = self.sizes()
        squared, rows = sizes.values[::-1] ** 2, sizes.rows[::-1]
        taken = _first(rows, max(1, int(rows.sum()) // WORST))
        whole = float(squared @ rows)
        return float(squared @ taken) / whole if whole else 0.0

    def largest(self, share: float) -> Ints:
        """How many rows of each number are among this share of the rows, rounded up, with the largest."""
        return self.top(int(np.ceil(share * int(self._ends[-1]))))

    def top(self, most: int) -> Ints:
        """How many rows of each number are among so many rows with the largest."""
        return _first(self.rows[::-1], most)[::-1]


def _first(rows: Ints, most: int) -> Ints:
    """How many of the rows of each number are among the first so many of all."""
    return np.clip(most - (np.cumsum(rows) - rows), 0, rows)

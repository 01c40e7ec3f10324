"""Means and ratios of sums of units that all systems share, of which only sums are known.

They are sums of how much each unit moves each value, of the products of every two, and of third and fourth powers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue.kinds import PerUnit
from evalkit.statistics import passes, student
from evalkit.statistics.independent import Arm
from evalkit.statistics.methods import Paired
from evalkit.statistics.statistic import Layout, Statistic

ROUNDING = 1e-14  # of sums of squares: what it leaves of two equal systems


@dataclass(frozen=True, eq=False)
class Powers:
    """Of columns of numbers by name, one number a unit: their sums, products, cubes and fourth powers."""

    names: Sequence[str]
    sums: Floats
    gram: Floats
    cubes: Floats
    fourths: Floats

    @classmethod
    def of(cls, flat: Floats, names: Sequence[str]) -> Powers:
        """What `powers` made of columns of these names, added up."""
        m = len(names)
        sums, gram, cubes, fourths = np.split(flat, np.cumsum([m, m * m, m]))
        return cls(names, sums, gram.reshape(m, m), cubes, fourths)


def powers(x: Floats) -> Floats:
    """The sums, products, cubes and fourth powers of columns, one below the other, flat, so that results add up.

    >>> powers(np.array([[1.0, 2.0], [0.0, 1.0]])).tolist()
    [3.0, 1.0, 5.0, 2.0, 2.0, 1.0, 9.0, 1.0, 17.0, 1.0]
    """
    m = len(x)
    sums, gram, cubes, fourths = np.zeros(m), np.zeros((m, m)), np.zeros(m), np.zeros(m)
    for start in range(0, x.shape[1], passes.BLOCK):
        block = x[:, start : start + passes.BLOCK]
        squared = block * block
        sums, gram = sums + block.sum(axis=1), gram + passes.products(block)
        cubes, fourths = cubes + (squared * block).sum(axis=1), fourths + (squared * squared).sum(axis=1)
    return np.concatenate([sums, gram.ravel(), cubes, fourths])


def centred(n: int, total: float, square: float, cube: float, fourth: float) -> tuple[float, float]:
    """The sums of squares and of fourth powers of n numbers less their mean, from those of the numbers.

    >>> centred(3, 6.0, 14.0, 36.0, 98.0)
    (2.0, 2.0)
    """
    mean = total / n
    squares = max(square - n * mean**2, 0.0)
    return squares, max(fourth - 4 * mean * cube + 6 * mean**2 * square - 3 * n * mean**4, 0.0)


@dataclass(frozen=True, eq=False)
class OfMoved(Statistic):
    """value: the mean or the ratio of sums. n: units that have one. users: how many of equal size tell as much.

    total: the sum of the numerators. binary: whether each unit is 0 or 1. moved: what the units move; column: this
    one's name there. apart: by the column of another system the largest difference of two values of a unit, in size.
    """

    value: float
    n: int
    users: float
    total: float
    binary: bool
    moved: Powers
    column: str
    layout: Layout  # type: ignore[misc]
    apart: Mapping[str, float]

    def meets(self, other: OfMoved) -> bool:
        """Whether any unit has both values."""
        return bool(self.n and other.n)

    def hits(self) -> tuple[int, int]:
        """Ones and units, where each unit is 0 or 1."""
        return int(self.total), self.n

    @cached_property
    def _powers(self) -> tuple[float, float, float, float]:
        at, m = self.moved.names.index(self.column), self.moved
        return float(m.sums[at]), float(m.gram[at, at]), float(m.cubes[at]), float(m.fourths[at])

    @cached_property
    def arm(self) -> Arm:
        """The value with its variance."""
        return arm_of(self.value, self.n, self.users, self._powers)

    @property
    def freedom_left(self) -> float:
        """The degrees of freedom that the kurtosis of what the units move leaves."""
        return freedom_of(self.n, self._powers, self.arm.freedom)

    def error(self) -> float:
        """The standard error of a mean."""
        return float(np.sqrt(ratio(self._powers[1], self.n * (self.n - 1.0))))

    def skewness(self) -> float:
        """The skewness of what the units move."""
        _, square, cube, _ = self._powers
        return float(cube / self.n / (square / self.n) ** 1.5) if square > 0 else 0.0

    def paired(self, other: OfMoved) -> Paired:
        """The difference from another system over the same units, by the paired t or, of ratios, the jackknife."""
        m = self.moved
        a, b = (m.names.index(side.column) for side in (self, other))
        whole = m.gram[a, a] + m.gram[b, b]
        squares = float(whole - 2 * m.gram[a, b])
        squares = squares if squares > ROUNDING * (whole + 2 * abs(m.gram[a, b])) else 0.0
        error = float(np.sqrt(ratio(squares, self.n * (self.n - 1.0))))
        value = self.value - other.value
        if isinstance(self.chosen.metric.kind, PerUnit):
            return Paired(value, error, self.n, self.n - 1, self.apart[other.column], "paired t")
        return Paired(value, error, self.n, min(self.arm.freedom, other.arm.freedom), 1.0, "jackknife t")


def arm_of(value: float, n: int, users: float, powers: tuple[float, float, float, float]) -> Arm:
    """A value of n units from the powers of what each moves. users: how many of equal size tell as much."""
    variance = centred(n, *powers)[0] / (n - 1) / n if n > 1 else np.nan
    return Arm(value, n, variance, max(users - 1, 1))


def freedom_of(n: int, powers: tuple[float, float, float, float], most: float) -> float:
    """`intervals.freedom_left` of n units from the powers of what each moves."""
    return student.freedom_of(*centred(n, *powers), n, most) if n else 0.0

"""Sums: values of units whose ratio of sums counts; the mean, where each unit counts once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalkit.arrays import Bools, Floats, codes, minus, ratio


@dataclass(frozen=True)
class Sums:
    """Σ numerator / Σ denominator over units, kept unit by unit; a unit without a value has NaN.

    denominator: None where each unit counts once, so that the ratio is the mean of the units.

    >>> Sums(np.array([2.0, 1.0]), np.array([4.0, 2.0])).value, Sums(np.array([1.0, np.nan])).value
    (0.5, 1.0)
    """

    numerator: Floats
    denominator: Floats | None = None

    @property
    def size(self) -> Floats:
        """What each unit counts."""
        return np.ones(len(self.numerator)) if self.denominator is None else self.denominator

    @cached_property
    def defined(self) -> Bools:
        """Which units have a value."""
        return ~np.isnan(self.numerator)

    @property
    def per_unit(self) -> Floats:
        """The value of each unit, the unit's own ratio."""
        return self.numerator if self.denominator is None else ratio(self.numerator, self.denominator)

    @property
    def value(self) -> float:
        """The ratio of the sums over the units that have a value; NaN where none has."""
        top, bottom = self.by_unit(self.defined, None)
        return float(ratio(top.sum(), bottom.sum()))

    def take(self, member: Bools | slice) -> "Sums":
        """The values of the units that are members."""
        return Sums(self.numerator[member], None if self.denominator is None else self.denominator[member])

    def by_unit(self, keep: Bools, unit: np.ndarray | None) -> tuple[Floats, Floats]:
        """Numerators and denominators of the rows to keep, added up by `unit` where it names each row's."""
        columns = (self.numerator[keep], self.size[keep])
        if unit is None:
            return columns
        code, names = codes(unit[keep])
        top, bottom = (np.bincount(code, column, names.size).astype(np.float64) for column in columns)
        return top, bottom


def both(first: Sums, second: Sums) -> Bools:
    """Which units have both values."""
    return first.defined & second.defined


def wins(first: Sums, second: Sums, unit: np.ndarray | None = None) -> tuple[int, int, int]:
    """Units where the first is larger, equal, smaller; of ratios by their numerators.

    unit: the unit of each row where several rows may have one; their values are added up. Rounding wins nothing.

    >>> wins(Sums(np.array([3.0, 1.0, 2.0])), Sums(np.array([1.0, 2.0, 2.0])), np.array(["a", "a", "b"]))
    (1, 1, 0)
    """
    keep = both(first, second)
    sign = np.sign(minus(*(side.by_unit(keep, unit)[0] for side in (first, second))))
    return int((sign > 0).sum()), int((sign == 0).sum()), int((sign < 0).sum())

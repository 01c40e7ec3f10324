"""A metric of rows that were added up, whatever its kind: its value, and sums of how much each row moves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.statistics.of_sums import Form, Moments, minus
from evalkit.statistics.statistic import Layout, Statistic


@dataclass(frozen=True, eq=False)
class OfTotals(Statistic):
    """moments: of the columns of its rows, by row or by unit. layout: whether rows count alike.

    of: the value of the metric, or of the one that it transforms. form: how much each row moves that, as multiples of
    the columns; it adds up to 0. column: that of its own numbers. members: rows that take part, None where all do.
    """

    moments: Moments
    layout: Layout
    of: float
    form: Form
    column: str
    members: int | None = None

    how: ClassVar[str] = "influence sums, two passes"

    @cached_property
    def value(self) -> float:
        """The metric."""
        kind: Any = self.chosen.metric.kind
        return self.of if kind.original is None else kind.f(self.of)

    @property
    def n(self) -> int:
        """Units, or the rows that take part."""
        plain = self.layout is Layout.SUMMED and self.members is not None
        return int(self.members or 0) if plain else self.moments.n

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: Kish's number of units, as of rows at hand, less 1."""
        return self.n - 1.0 if self.layout is Layout.SUMMED else self.moments.kish({"weight": 1.0}) - 1

    def error(self) -> float:
        """The standard error, to first order."""
        return self._error(self.form)

    def difference_error(self, other: OfTotals) -> float:
        """The standard error of the difference on the same rows."""
        return self._error(minus(self.form, other.form))

    def skewness(self) -> float:
        """The skewness of what the rows that take part add."""
        return self.moments.skewness(self.column) * float(np.sqrt(ratio(self.n, self.moments.n)))

    def _error(self, form: Form) -> float:
        n, freedom = self.moments.n, self.freedom
        return self.moments.error(form) * float(np.sqrt(ratio(freedom + 1, freedom) * ratio(n - 1, n)))


@dataclass(frozen=True, eq=False, kw_only=True)
class OfShared(OfTotals):
    """A mean over rows that count alike, of which systems may leave out different ones.

    place: the number of its system. shared: of every two systems the rows that both have, and the sums over these of
    the differences and of their squares.
    """

    place: int
    shared: Mapping[tuple[int, int], Floats]

    def _with(self, other: OfShared) -> tuple[float, float, float]:
        """Rows, and the sums of the differences and of their squares."""
        n, apart, squares = self.shared[min(self.place, other.place), max(self.place, other.place)].tolist()
        return n, apart if self.place < other.place else -apart, squares

    def meets(self, other: Any) -> bool:
        """Whether any row has both values."""
        return self._with(other)[0] > 0

    def against(self, other: Any) -> tuple[float, float, int]:
        """The difference on the rows that have both, its standard error, and how many there are."""
        n, apart, squares = self._with(other)
        spread = max(squares - apart**2 / n, 0.0)
        return apart / n, float(np.sqrt(ratio(spread, n * (n - 1)))), int(n)

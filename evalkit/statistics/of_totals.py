"""A metric of rows that were added up, whatever its kind: its value, and sums of how much each row moves it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import ratio
from evalkit.statistics.sample import Form, Moments, minus
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

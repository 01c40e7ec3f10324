"""Sample: what a study measures on, here rows at hand; of rows that were added up see `of_sums.SummedRows`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from evalkit.arrays import Bools
from evalkit.catalogue.metric import Chosen
from evalkit.metrics.rows import Rows
from evalkit.statistics.statistic import Layout, OfRows, Statistic, of_rows

KEPT = 2**24  # rows of all systems whose statistics of one metric stay in memory


class Sample(Protocol):
    """All systems on the same rows."""

    @property
    def layout(self) -> Layout:
        """How the rows lie."""

    def measure(self, chosen: Chosen, system: str, member: Any) -> Statistic:
        """Return the metric of a system on the rows that are members."""


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows at hand, by system. ids: what pairs them, where it is asked for."""

    rows: Mapping[str, Rows]
    ids: Callable[[], np.ndarray]

    @property
    def layout(self) -> Layout:
        """Whether rows are independent and unweighted."""
        rows = next(iter(self.rows.values()))
        return of_rows(rows.unit, rows.weight)

    def measure(self, chosen: Chosen, system: str, member: Bools | slice) -> OfRows:
        """The metric of a system; a slice is all rows."""
        every = isinstance(member, slice)
        return self._of_all(chosen, system) if every else OfRows(chosen, self.rows[system].take(member))

    def _of_all(self, chosen: Chosen, system: str) -> OfRows:
        """The same object until another metric is measured: what it computes of a system serves all pairs."""
        kept = self._kept
        if any(of != chosen for of, _ in list(kept)[:1]):
            kept.clear()
        statistic = kept.get((chosen, system), OfRows(chosen, self.rows[system]))
        if (len(kept) + 1) * len(statistic.rows) <= KEPT:
            kept[chosen, system] = statistic
        return statistic

    @cached_property
    def _kept(self) -> dict[tuple[Chosen, str], OfRows]:
        return {}

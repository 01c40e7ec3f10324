"""Kinds of metrics that are means of other metrics: of those of classes or labels, or of two."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evalkit.arrays import Bools, Floats, ratio
from evalkit.catalogue.kinds import Effects, Kind
from evalkit.metrics.rows import Rows

if TYPE_CHECKING:
    from evalkit.catalogue.metric import Metric


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one class or label among all: its share in the mean, and where its rows stand; None: all of them."""

    share: float
    rows: Rows
    places: np.ndarray | None = None

    def spread(self, moved: Floats, n: int) -> Floats:
        """What moves the part, of all n rows: 0 for those that take no part."""
        if self.places is None:
            return moved
        every = np.zeros(n)
        every[self.places] = moved
        return every


@dataclass(frozen=True)
class Combined(Kind):
    """A mean of one metric of each class or label. of: that metric. parts: the rows of each. by: the strata."""

    of: Metric
    parts: Callable[[Rows], Iterable[Part]]
    by: Callable[[Rows], list[Bools]] = lambda rows: []

    def strata(self, rows: Rows) -> list[Bools]:
        """The rows of each class, where a row has one."""
        return self.by(rows)

    def weighed(self, rows: Rows) -> Iterable[Part]:
        """The parts with their shares in the mean."""
        return self.parts(rows)

    def by_share(self, rows: Rows, k: int | None, value: float) -> Floats | None:
        """How much each row moves the mean as it moves the shares; None where these are fixed."""
        return None

    @property
    def picks(self) -> bool:
        """That of the metric."""
        return self.of.kind.picks

    def value(self, rows: Rows, k: int | None) -> float:
        """The mean; undefined where there is no part, or one is undefined."""
        values = [(part.share, self.of.kind.value(part.rows, k)) for part in self.weighed(rows)]
        return float(sum(share * value for share, value in values)) if values else float("nan")

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it: the effects of the parts, added up."""
        value, moved = float("nan"), np.zeros(len(rows))
        for number, part in enumerate(self.weighed(rows)):
            e = self.of.kind.effects(part.rows, k)
            value = part.share * e.value + (value if number else 0.0)
            moved += part.share * part.spread(e.rows, len(rows))
        shares = self.by_share(rows, k, value)
        return Effects(value, moved if shares is None else moved + shares)

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The same of the difference: that of the parts, added up."""
        moved = np.zeros(len(first))
        for a, b in zip(self.weighed(first), self.weighed(second), strict=True):
            moved += a.share * a.spread(self.of.kind.apart_by(a.rows, b.rows, k), len(first))
        return moved


def _positive(rows: Rows) -> Bools:
    return rows.actual == 1


@dataclass(frozen=True)
class Weighted(Combined):
    """The mean with the weight that each part has in the rows. counted: which of a part's rows these are."""

    counted: Callable[[Rows], Bools] = _positive

    def _weight(self, part: Part) -> Floats:
        return part.rows.weights * self.counted(part.rows)

    def weighed(self, rows: Rows) -> Iterable[Part]:
        """The parts that have any weight."""
        sizes = [float(self._weight(part).sum()) for part in self.parts(rows)]
        pairs = zip(self.parts(rows), sizes, strict=True)
        return (replace(part, share=size / sum(sizes)) for part, size in pairs if size > 0)

    def by_share(self, rows: Rows, k: int | None, value: float) -> Floats:
        """A row counts for its parts: by how much these are above the mean."""
        moved, total = np.zeros(len(rows)), 0.0
        for part in self.weighed(rows):
            weight = self._weight(part)
            moved += part.spread(weight * (self.of.kind.value(part.rows, k) - value), len(rows))
            total += float(weight.sum())
        return ratio(moved, total)

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The same of the difference: that of the parts, and of the shares."""
        sides = [self.by_share(rows, k, self.value(rows, k)) for rows in (first, second)]
        return super().apart_by(first, second, k) + sides[0] - sides[1]


@dataclass(frozen=True)
class Harmonic(Kind):
    """The harmonic mean of two metrics, both of which it rises with."""

    pair: tuple[Metric, Metric]

    def strata(self, rows: Rows) -> list[Bools]:
        """Those of the two."""
        return self.pair[0].kind.strata(rows)

    @property
    def picks(self) -> bool:
        """Whether either does."""
        return any(of.kind.picks for of in self.pair)

    def of(self, first: float, second: float) -> float:
        """The mean of two values."""
        return float(ratio(2 * first * second, first + second))

    def value(self, rows: Rows, k: int | None) -> float:
        """The mean of the two metrics."""
        first, second = (of.kind.value(rows, k) for of in self.pair)
        return self.of(first, second)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it."""
        a, b = (of.kind.effects(rows, k) for of in self.pair)
        moved = 2 * (b.value**2 * a.rows + a.value**2 * b.rows)
        return Effects(self.of(a.value, b.value), ratio(moved, (a.value + b.value) ** 2))

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The same of the difference: those of the two metrics, as the mean of both systems' values weighs them."""
        a, b = (np.mean([of.kind.value(rows, k) for rows in (first, second)]) for of in self.pair)
        moved = [of.kind.apart_by(first, second, k) for of in self.pair]
        return ratio(2 * (b**2 * moved[0] + a**2 * moved[1]), (a + b) ** 2)

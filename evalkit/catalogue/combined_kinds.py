"""Kinds of metrics that combine other metrics: a mean of one metric over classes or labels, or of two metrics."""

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
    """One class or label: its share in the mean, its rows, and their places among all rows (None: it has all rows)."""

    share: float
    rows: Rows
    places: np.ndarray | None = None

    def spread(self, moved: Floats, n: int) -> Floats:
        """The influence values of all n rows: those of the part's rows (`moved`), 0 for the other rows."""
        if self.places is None:
            return moved
        every = np.zeros(n)
        every[self.places] = moved
        return every


@dataclass(frozen=True)
class Combined(Kind):
    """The mean over classes or labels of the metric `of`. parts: splits the rows into classes; by: into strata.

    whole: each part has all rows.
    """

    of: Metric
    parts: Callable[[Rows], Iterable[Part]]
    by: Callable[[Rows], list[Bools]] = lambda rows: []
    whole: bool = True

    @property
    def decided(self) -> bool:  # type: ignore[override]
        """Whether it follows from what is decided."""
        return self.of.kind.decided

    @property
    def summed(self) -> bool:  # type: ignore[override]
        """Whether sums over rows tell it."""
        return self.whole and self.of.kind.summed

    def strata(self, rows: Rows) -> list[Bools]:
        """The rows of each class, if each row has one class."""
        return self.by(rows)

    def weighed(self, rows: Rows) -> Iterable[Part]:
        """The parts with their shares in the mean."""
        return self.parts(rows)

    def by_share(self, rows: Rows, k: int | None, value: float) -> Floats | None:
        """The influence of each row on the mean through the shares; None if the shares are fixed."""
        return None

    @property
    def picks(self) -> bool:
        """Whether two systems differ in the rows that count for the metric of the parts."""
        return self.of.kind.picks

    def value(self, rows: Rows, k: int | None) -> float:
        """The mean; undefined if there is no part, or if a part is undefined."""
        values = [(part.share, self.of.kind.value(part.rows, k)) for part in self.weighed(rows)]
        return float(sum(share * value for share, value in values)) if values else float("nan")

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row, which is the sum of its influences on the parts."""
        value, moved = float("nan"), np.zeros(len(rows))
        for number, part in enumerate(self.weighed(rows)):
            e = self.of.kind.effects(part.rows, k)
            value = part.share * e.value + (value if number else 0.0)
            moved += part.share * part.spread(e.rows, len(rows))
        shares = self.by_share(rows, k, value)
        return Effects(value, moved if shares is None else moved + shares)

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference first − second: the sum of its influences on the parts."""
        parts, others = list(self.weighed(first)), list(self.weighed(second))
        if [part.rows.actual.tobytes() for part in parts] != [part.rows.actual.tobytes() for part in others]:
            return self._through_parts(parts, len(first), k) - self._through_parts(others, len(first), k)
        moved = np.zeros(len(first))
        for a, b in zip(parts, others, strict=True):
            moved += a.share * a.spread(self.of.kind.apart_by(a.rows, b.rows, k), len(first))
        return moved

    def _through_parts(self, parts: Iterable[Part], n: int, k: int | None) -> Floats:
        """The influence of each row on the parts of one system: some classes only one of two systems predicts."""
        moved = np.zeros(n)
        for part in parts:
            moved += part.share * part.spread(self.of.kind.effects(part.rows, k).rows, n)
        return moved


def _positive(rows: Rows) -> Bools:
    return rows.actual == 1


@dataclass(frozen=True)
class Weighted(Combined):
    """The mean in which each part's share is the weight of its `counted` rows, the positives if nothing else is set."""

    counted: Callable[[Rows], Bools] = _positive

    @property
    def summed(self) -> bool:  # type: ignore[override]
        """Sums over rows do not tell it: the shares of the parts vary with the rows."""
        return False

    def _weight(self, part: Part) -> Floats:
        return part.rows.weights * self.counted(part.rows)

    def weighed(self, rows: Rows) -> Iterable[Part]:
        """The parts with a weight above 0, with their shares."""
        sizes = [float(self._weight(part).sum()) for part in self.parts(rows)]
        pairs = zip(self.parts(rows), sizes, strict=True)
        return (replace(part, share=size / sum(sizes)) for part, size in pairs if size > 0)

    def by_share(self, rows: Rows, k: int | None, value: float) -> Floats:
        """The influence through the shares: a row's weight times how far its part is above the mean."""
        moved, total = np.zeros(len(rows)), 0.0
        for part in self.weighed(rows):
            weight = self._weight(part)
            moved += part.spread(weight * (self.of.kind.value(part.rows, k) - value), len(rows))
            total += float(weight.sum())
        return ratio(moved, total)

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference first − second, through the parts and through the shares."""
        sides = [self.by_share(rows, k, self.value(rows, k)) for rows in (first, second)]
        return super().apart_by(first, second, k) + sides[0] - sides[1]


@dataclass(frozen=True)
class Harmonic(Kind):
    """The harmonic mean of two metrics; it is undefined if both are 0."""

    pair: tuple[Metric, Metric]

    @property
    def decided(self) -> bool:  # type: ignore[override]
        """Whether it follows from what is decided."""
        return all(of.kind.decided for of in self.pair)

    @property
    def summed(self) -> bool:  # type: ignore[override]
        """Whether sums over rows tell it."""
        return all(of.kind.summed for of in self.pair)

    def strata(self, rows: Rows) -> list[Bools]:
        """The strata of the first of the two metrics, which both share."""
        return self.pair[0].kind.strata(rows)

    @property
    def picks(self) -> bool:
        """Whether two systems differ in the rows that count for either metric."""
        return any(of.kind.picks for of in self.pair)

    def of(self, first: float, second: float) -> float:
        """The harmonic mean of two values."""
        return float(ratio(2 * first * second, first + second))

    def value(self, rows: Rows, k: int | None) -> float:
        """The harmonic mean of the two metrics."""
        first, second = (of.kind.value(rows, k) for of in self.pair)
        return self.of(first, second)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row (delta method)."""
        a, b = (of.kind.effects(rows, k) for of in self.pair)
        moved = 2 * (b.value**2 * a.rows + a.value**2 * b.rows)
        return Effects(self.of(a.value, b.value), ratio(moved, (a.value + b.value) ** 2))

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference first − second, with the gradient at the mean of both systems."""
        a, b = (np.mean([of.kind.value(rows, k) for rows in (first, second)]) for of in self.pair)
        moved = [of.kind.apart_by(first, second, k) for of in self.pair]
        return ratio(2 * (b**2 * moved[0] + a**2 * moved[1]), (a + b) ** 2)

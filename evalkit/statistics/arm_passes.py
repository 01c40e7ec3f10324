"""The two readings of users by arm, each shard by itself: what their metrics add up to, and how one mean is
distributed; then how far each user lies from the mean of the arm, also with caps, beside a column from before.

Names of what is gathered: the group, then the arm by its number, then what it is; groups are all users and each slice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints, minus, ratio
from evalkit.catalogue.kinds import Ratio
from evalkit.catalogue.metric import Chosen
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.metrics.distribution import Counted
from evalkit.metrics.rows import Shard
from evalkit.metrics.sums import Sums
from evalkit.statistics import gathered, passes
from evalkit.statistics.gathered import Gathered, Pass, Summing
from evalkit.statistics.independent import Arm, left_out
from evalkit.statistics.of_arms import OfArm
from evalkit.statistics.of_sums import Form, Moments
from evalkit.statistics.statistic import Amounts

BEFORE, OTHERS, STRATA = "before", "others", "strata"


@dataclass(frozen=True, eq=False)
class Asked:
    """What is measured of users in arms.

    metrics, sliced: of all users, and of each slice. plain: the mean that is capped, stratified and adjusted, None
    where there is none. before: the column that adjusts it. strata: whether the last column of groups is of strata.
    """

    arms: int
    metrics: Sequence[Chosen]
    sliced: Sequence[Chosen]
    plain: Chosen | None
    before: str | None
    strata: bool

    def of(self, group: int) -> Sequence[Chosen]:
        """The metrics of a group."""
        return self.sliced if group else self.metrics

    def values(self, shard: Shard) -> dict[str, Sums]:
        """The terms of each user by metric, and the column from before."""
        every = {chosen.label: chosen.sums(shard.beside) for chosen in dict.fromkeys([*self.metrics, *self.sliced])}
        return every | ({BEFORE: Sums(shard.beside[self.before])} if self.before else {})

    def places(self, shard: Shard) -> Iterator[tuple[int, int, Ints]]:
        """Group, arm and users of each place that has any."""
        several = -1 if self.strata else len(shard.slice)
        for group, rows in passes.groups(replace(shard, slice=shard.slice[:several], slices=shard.slices[:several])):
            arm = shard.label[rows]
            for i in range(self.arms):
                here = np.flatnonzero(arm == i)
                if len(here):
                    yield group, i, here if isinstance(rows, slice) else rows[here]

    def cells(self, shard: Shard) -> tuple[Ints, int]:
        """The cell of stratum and arm that each user is in, and how many cells there are."""
        return shard.slice[-1] * self.arms + shard.label, shard.slices[-1] * self.arms


@dataclass(frozen=True, eq=False)
class First:
    """What the metrics add up to by group and arm, users and sums of strata, and how the plain mean is distributed."""

    asked: Asked
    bins: int = USUAL.bins

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        g, values, plain = Gathered(), self.asked.values(shard), self.asked.plain
        for group, arm, rows in self.asked.places(shard):
            names = [chosen.label for chosen in self.asked.of(group)]
            for name in [*names, *([BEFORE] if self.asked.before and not group else [])]:
                self._add(g, f"{group} {arm} {name}", values[name].take(rows))  # type: ignore[arg-type]
        if plain and len(shard.label):
            g.grids[plain.label] = grid.tally(values[plain.label].numerator, most=self.bins)
            if self.asked.strata:
                cell, cells = self.asked.cells(shard)
                sides = (None, values[plain.label].numerator)
                g.sums[STRATA] = np.concatenate([np.bincount(cell, side, cells).astype(float) for side in sides])
        return g.table()

    @staticmethod
    def _add(g: Gathered, place: str, values: Sums) -> None:
        """Users, those that are neither 0 nor 1, those without a value, both sums and that of squared denominators."""
        top, size = values.numerator, values.size
        parted, missing = (np.count_nonzero(of) for of in ((top != 0) & (top != 1), np.isnan(top + size)))
        g.sums[place] = np.array([len(top), parted, missing, top.sum(), size.sum(), size @ size])
        g.most[place] = np.array([-top.min(), top.max()])

    def merge(self, table: Any) -> Any:
        """Two results as one; while they are small they only stand one after the other, and wait for more."""
        return table if gathered.waiting(table, self.bins) else self._merged(gathered.parts(table)).table()

    def whole(self, table: Any) -> "Known":
        """What came of it."""
        return Known(self.asked, self._merged(gathered.parts(table)))

    def _merged(self, every: Sequence[Gathered]) -> Gathered:
        return gathered.merged(every, lambda name: self.bins)


@dataclass(frozen=True, eq=False)
class Known:
    """What the first reading tells."""

    asked: Asked
    g: Gathered

    def n(self, place: str) -> int:
        """The users of a place."""
        return int(self.g.sums[place][0]) if place in self.g.sums else 0

    def value(self, place: str) -> float:
        """The ratio of both sums."""
        return float(ratio(*self.g.sums[place][3:5]))

    @property
    def missing(self) -> list[str]:
        """The metrics that some users have no value of."""
        return [c.label for c in self.asked.metrics if any(self._sum(f"0 {i} {c.label}", 2) for i in self._arms)]

    @property
    def _arms(self) -> range:
        return range(self.asked.arms)

    def _sum(self, place: str, at: int) -> float:
        return float(self.g.sums[place][at]) if place in self.g.sums else 0.0

    @cached_property
    def counted(self) -> Counted | None:
        """How the plain mean's values are distributed over the users of all arms."""
        plain = self.asked.plain
        whole = False if plain is None else not any(self._sum(f"0 {i} {plain.label}", 1) for i in self._arms)
        return None if plain is None else Counted.of(self.g.grids[plain.label], 1.0, whole=whole)

    def strata(self, at: int) -> Floats:
        """Of each stratum and arm its users (0) or the sum of their values (1)."""
        return np.split(self.g.sums[STRATA], 2)[at].reshape(-1, self.asked.arms)

    def usual(self) -> float:
        """The value that more than half of the users have, NaN where none is known to be."""
        counted = self.counted
        if counted is None or counted.rows.max() <= counted.rows.sum() / 2:
            return float("nan")
        most = int(counted.rows.argmax())
        return float("nan") if counted.half[most] else float(counted.values[most])


# The second reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Second(Pass):
    """How far users lie from the values of their arms: sums, products and cubes by group and arm.

    caps: of the plain mean, from which its capped values are measured at `centres`.
    """

    known: Known
    caps: Sequence[float]
    centres: Sequence[float]

    @property
    def asked(self) -> Asked:
        """What is measured."""
        return self.known.asked

    def names(self, group: int) -> list[str]:
        """What stands in the columns of a place."""
        names = [chosen.label for chosen in self.asked.of(group)]
        beside = [BEFORE] if self.asked.before else []
        return names if group else [*names, *beside, *(capped(i) for i in range(len(self.caps)))]

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        g, values, plain = Gathered(), self.asked.values(shard), self.asked.plain
        summing = Summing(None, 0, apart=False)
        for group, arm, rows in self.asked.places(shard):
            columns = _Columns(self, group, arm, {name: of.take(rows) for name, of in values.items()})  # type: ignore[arg-type]
            g.sums[f"{group} {arm}"] = summing(columns, len(self.names(group)), None)
        if plain and len(shard.label):
            numerator = values[plain.label].numerator
            other = np.bincount(shard.label[numerator != self.known.usual()], minlength=self.asked.arms)
            g.sums[OTHERS] = other.astype(float)
            if self.asked.strata:
                cell, cells = self.asked.cells(shard)
                mean = ratio(self.known.strata(1), self.known.strata(0)).ravel()
                g.sums[STRATA] = np.bincount(cell, minus(numerator, mean[cell]) ** 2, cells).astype(float)
        return g.table()


def capped(number: int) -> str:
    """The name of the plain mean's values with a cap."""
    return f"cap {number}"


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns of a place's users."""

    second: Second
    group: int
    arm: int
    values: Mapping[str, Sums]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())).numerator)

    def __call__(self, at: slice) -> Floats:
        second, asked = self.second, self.second.asked
        columns = [self._moved(chosen, at) for chosen in asked.of(self.group)]
        if not self.group and asked.before:
            columns.append(self._above(BEFORE, at))
        if not self.group and asked.plain:
            plain = self.values[asked.plain.label].numerator[at]
            pairs = zip(second.caps, second.centres, strict=True)
            columns += [minus(np.minimum(plain, cap), centre) for cap, centre in pairs]
        return np.array(columns)

    def _moved(self, chosen: Chosen, at: slice) -> Floats:
        """How much each user moves the metric of the arm."""
        if not isinstance(chosen.metric.kind, Ratio):
            return self._above(chosen.label, at)
        values, place = self.values[chosen.label], f"{self.group} {self.arm} {chosen.label}"
        known, whole = self.second.known, float(self.second.known.g.sums[place][4])
        return left_out(values.numerator[at], values.size[at], known.value(place), whole, known.n(place))

    def _above(self, name: str, at: slice) -> Floats:
        mean = self.second.known.value(f"{self.group} {self.arm} {name}")
        return minus(self.values[name].numerator[at], mean)


# What follows ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arms:
    """The metrics of each arm in each group, from both readings."""

    second: Second
    g: Gathered

    @property
    def known(self) -> Known:
        """What the first reading tells."""
        return self.second.known

    def moments(self, group: int, arm: int) -> Moments:
        """Of how far the users of a place lie from its values."""
        return gathered.moments(self.g.sums[f"{group} {arm}"], self.second.names(group), apart=False)

    def measure(self, chosen: Chosen, group: int, arm: int) -> OfArm:
        """The metric of an arm in a group; of no user it is undefined."""
        place, nothing = f"{group} {arm} {chosen.label}", float("nan")
        if not self.known.n(place):
            empty = Amounts(nothing, nothing, nothing, 0)
            return OfArm(chosen, Arm(nothing, 0, nothing, 1), 0.0, 0.0, empty, binary=False)
        n, parted, _, total, size, squares = self.known.g.sums[place].tolist()
        users = float(ratio(size**2, squares)) if isinstance(chosen.metric.kind, Ratio) else n
        moments = self.moments(group, arm)
        arm_of = of_moments(moments, {chosen.label: 1.0}, self.known.value(place), users)
        less, high = self.known.g.most[place].tolist()
        amounts = Amounts(-less, high, float(np.sqrt(arm_of.variance * n)), int(n))
        return OfArm(chosen, arm_of, total, moments.skewness(chosen.label), amounts, binary=not parted)

    def capped(self, number: int, arm: int) -> Arm:
        """The mean of an arm's values with a cap."""
        moments, name = self.moments(0, arm), capped(number)
        value = self.second.centres[number] + moments.total({name: 1.0}) / moments.n
        return of_moments(moments, {name: 1.0}, value, moments.n)

    def means(self, name: str, arm: int) -> Arm:
        """The mean of a metric or of the column from before."""
        moments, place = self.moments(0, arm), f"0 {arm} {name}"
        return of_moments(moments, {name: 1.0}, self.known.value(place), moments.n)

    def covariance(self, arm: int, first: str, second: str) -> float:
        """The sum of the products of how far the users of an arm lie from the means of two columns."""
        m = self.moments(0, arm)
        return m.product(first, second) - m.total({first: 1.0}) * m.total({second: 1.0}) / m.n


def of_moments(m: Moments, form: Form, value: float, users: float) -> Arm:
    """An arm from the moments of what each user adds. users: how many of equal size tell as much."""
    return Arm(value, m.n, (m.error(form, m.total(form)) / m.n) ** 2, max(users - 1, 1))

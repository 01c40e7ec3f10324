"""The two readings of a log, the users of each shard by themselves: what their values add up to, then how much each
user moves the metrics.

Names of what is gathered: the group, the arm by its number, the metric; groups are all sessions and each slice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints, codes, minus, ratio
from evalkit.catalogue.kinds import Ratio
from evalkit.catalogue.metric import Chosen
from evalkit.catalogue.preferences import Side
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.metrics.distribution import Counted
from evalkit.metrics.sums import Sums, both
from evalkit.online import sessions
from evalkit.online.log_shards import LogShard
from evalkit.statistics import gathered
from evalkit.statistics.gathered import Gathered
from evalkit.statistics.independent import Arm, left_out
from evalkit.statistics.of_moved import OfMoved, Powers, arm_of, freedom_of, powers
from evalkit.statistics.statistic import Layout

FACTS, CHECKS, SHOWN, PLACES, SESSIONS, WHOLE = "facts", "checks", "shown", "places", "sessions", "whole"
POWERS = (1, 2, 3, 4)


@dataclass(frozen=True, eq=False)
class Asked:
    """What is measured. metrics: of all sessions; sliced: of each slice. longest: items of the longest session."""

    arms: int
    metrics: Sequence[Chosen]
    sliced: Sequence[Chosen]
    longest: int

    def of(self, group: int) -> Sequence[Chosen]:
        """The metrics of a group."""
        return self.sliced if group else self.metrics

    @property
    def places(self) -> int:
        """How many pairs of position, from 0, and arm there are."""
        return (self.longest + 1) * self.arms


def place(group: int, arm: int, chosen: Chosen) -> str:
    """The name of a metric of an arm in a group."""
    return f"{group} {arm} {chosen.label}"


def per_place(shard: LogShard, arms: int) -> tuple[Ints, Floats, Floats]:
    """Of each user and each place, position and arm, at which items of it were shown: place, outcome, items."""
    log = shard.log
    owned = log.team >= 0
    users = int(log.unit.max()) + 1
    key = (log.position[owned] * arms + log.team[owned]) * users + log.unit[log.session[owned]]
    code, names = codes(key)
    top = np.bincount(code, log.outcome[owned], names.size).astype(np.float64)
    return names // users, top, np.bincount(code, minlength=names.size).astype(np.float64)


# The first reading --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class First:
    """What the metrics add up to by group and arm, which arm wins users and sessions, counts of items and of checks."""

    asked: Asked
    bins: int = USUAL.bins
    items: bool = True

    def __call__(self, shard: LogShard) -> Any:
        """The result of a shard."""
        g = Gathered()
        g.sums["broken"] = np.array([float(shard.broken)])
        if not shard.broken:
            self._of_log(g, shard)
            for group, sides in shard.groups():
                for chosen in self.asked.of(group):
                    self._add(g, group, chosen, [chosen.sums(side) for side in sides])
                if not group:
                    g.grids[WHOLE] = grid.tally(sides[0].whole, most=self.bins)
                    silent = np.count_nonzero(sides[0].whole == 0)
                    g.sums[FACTS] = np.array([len(sides[0].whole), silent, shard.repeated, sides[0].whole.sum()])
        return g.table()

    def _of_log(self, g: Gathered, shard: LogShard) -> None:
        shown = np.zeros((self.asked.longest + 1, self.asked.arms + 1))
        here = sessions.shown(shard.log)
        shown[: len(here)] = here
        g.sums[SHOWN], g.sums[CHECKS] = shown.ravel(), sessions.counted(shard.log).ravel()
        credit = shard.credit
        g.sums[SESSIONS] = np.array([np.count_nonzero(a > b) for a in credit.T for b in credit.T], float)
        at, top, size = per_place(shard, self.asked.arms)
        columns = (None, top, size, size * size)
        g.sums[PLACES] = np.concatenate([np.bincount(at, column, self.asked.places) for column in columns]).astype(
            float
        )

    def _add(self, g: Gathered, group: int, chosen: Chosen, values: Sequence[Sums]) -> None:
        """Of each arm users with a value, those without, those neither 0 nor 1, both sums and that of squared sizes."""
        for arm, each in enumerate(values):
            top, size = each.numerator[each.defined], each.size[each.defined]
            parted = np.count_nonzero((top != 0) & (top != 1))
            sums = [len(top), len(each.numerator) - len(top), parted, top.sum(), size.sum(), size @ size]
            g.sums[place(group, arm, chosen)] = np.array(sums, float)
        apart = [np.abs((a.numerator - b.numerator)[both(a, b)]).max(initial=0.0) for a in values for b in values]
        g.most[f"{group} {chosen.label}"] = np.array(apart)
        if not group:
            g.sums[f"wins {chosen.label}"] = np.array([_wins(a, b) for a in values for b in values], float).ravel()

    def merge(self, table: Any) -> Any:
        """Two results as one; while they are small they only stand one after the other, and wait for more."""
        return table if gathered.waiting(table, self.bins) else self._merged(gathered.parts(table)).table()

    def whole(self, table: Any) -> "Known":
        """What came of it."""
        return Known(self.asked, self._merged(gathered.parts(table)))

    def _merged(self, every: Sequence[Gathered]) -> Gathered:
        return gathered.merged(every, lambda name: self.bins)


def _wins(a: Sums, b: Sums) -> tuple[int, int]:
    """Users with more for the first, and with both alike; those who count nothing are left out."""
    keep = both(a, b) & (a.size > 0)
    difference = minus(a.numerator[keep], b.numerator[keep])
    return int((difference > 0).sum()), int((difference == 0).sum())


@dataclass(frozen=True, eq=False)
class Known:
    """What the first reading tells."""

    asked: Asked
    g: Gathered

    @property
    def broken(self) -> bool:
        """Whether a session contradicts itself: nothing else is known then."""
        return bool(self.g.sums["broken"][0])

    @property
    def users(self) -> int:
        """How many there are."""
        return int(self.g.sums[FACTS][0])

    @property
    def silent(self) -> int:
        """Users without credit for any arm."""
        return int(self.g.sums[FACTS][1])

    @property
    def repeated(self) -> int:
        """Items shown twice in one session."""
        return int(self.g.sums[FACTS][2])

    @property
    def credit(self) -> float:
        """That of all arms."""
        return float(self.g.sums[FACTS][3])

    @property
    def shown(self) -> Ints:
        """Items by position, from 0, and arm; the last column is of neutral items."""
        return self.g.sums[SHOWN].astype(np.int64).reshape(-1, self.asked.arms + 1)

    @property
    def checks(self) -> Floats:
        """The count of each check, and of how many."""
        return self.g.sums[CHECKS].reshape(-1, 2)

    @cached_property
    def whole(self) -> Counted:
        """How the credit of users is distributed."""
        return Counted.of(self.g.grids[WHOLE], 1.0, whole=False)

    def wins(self, chosen: Chosen, first: int, second: int) -> tuple[int, int, int]:
        """Users with more for the first arm, with both alike, with more for the second."""
        won = self.g.sums[f"wins {chosen.label}"].astype(np.int64).reshape(self.asked.arms, -1, 2)
        return int(won[first, second, 0]), int(won[first, second, 1]), int(won[second, first, 0])

    def session_wins(self, first: int, second: int) -> tuple[int, int]:
        """Sessions with more credit for the first arm, and for the second."""
        won = self.g.sums[SESSIONS].astype(np.int64).reshape(self.asked.arms, -1)
        return int(won[first, second]), int(won[second, first])

    def at(self, name: str) -> Floats:
        """The sums of a place."""
        return self.g.sums[name]

    def value(self, name: str) -> float:
        """The mean or the ratio of sums."""
        return float(ratio(*self.at(name)[3:5]))

    @cached_property
    def places(self) -> Floats:
        """Of each position and arm users, outcome, items, and the sum of the squared items of users."""
        return self.g.sums[PLACES].reshape(4, -1)


# The second reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Second:
    """How much each user moves the metrics by group and arm, and the outcome per item of each position."""

    known: Known
    items: bool = False

    @property
    def asked(self) -> Asked:
        """What is measured."""
        return self.known.asked

    def names(self, group: int) -> list[str]:
        """What stands in the columns of a group."""
        return [place(group, arm, chosen) for chosen in self.asked.of(group) for arm in range(self.asked.arms)]

    def __call__(self, shard: LogShard) -> Any:
        """The result of a shard."""
        g = Gathered()
        for group, sides in shard.groups():
            g.sums[str(group)] = powers(self._moved(group, sides))
        at, top, size = per_place(shard, self.asked.arms)
        users, tops, sizes, _ = self.known.places[:, at]
        moved = left_out(top, size, ratio(tops, sizes), sizes, users)
        sums = [np.bincount(at, moved**power, self.asked.places) for power in POWERS]
        g.sums[PLACES] = np.concatenate(sums).astype(float)
        return g.table()

    def _moved(self, group: int, sides: Sequence[Side]) -> Floats:
        """How much each user moves the value of each metric and arm; 0 where the user has no value."""
        return np.array(
            [self._of(group, arm, of, sides[arm]) for of in self.asked.of(group) for arm in range(len(sides))]
        )

    def _of(self, group: int, arm: int, chosen: Chosen, side: Side) -> Floats:
        values, name = chosen.sums(side), place(group, arm, chosen)
        if not isinstance(chosen.metric.kind, Ratio):
            return np.where(values.defined, minus(values.numerator, self.known.value(name)), 0.0)
        n, whole = self.known.at(name)[[0, 4]].tolist()
        return left_out(values.numerator, values.size, self.known.value(name), whole, int(n))

    def merge(self, table: Any) -> Any:
        """Two results as one."""
        return self._merged(table).table()

    def whole(self, table: Any) -> "Users":
        """What came of it."""
        return Users(self, self._merged(table).sums)

    def _merged(self, table: Any) -> Gathered:
        return gathered.merged(gathered.parts(table), lambda name: 0)


# What follows ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Users:
    """The metrics of each arm in each group, from both readings."""

    second: Second
    sums: Mapping[str, Floats]

    @property
    def known(self) -> Known:
        """What the first reading tells."""
        return self.second.known

    def powers(self, group: int) -> Powers:
        """Of what the users of a group move."""
        return Powers.of(self.sums[str(group)], self.second.names(group))

    def measure(self, chosen: Chosen, group: int, arm: int) -> OfMoved:
        """The metric of an arm in a group."""
        arms, name = self.known.asked.arms, place(group, arm, chosen)
        n, _, parted, total, size, squares = self.known.at(name).tolist()
        users = float(ratio(size**2, squares)) if isinstance(chosen.metric.kind, Ratio) else n
        apart = self.known.g.most[f"{group} {chosen.label}"].reshape(arms, -1)[arm].tolist()
        layout = Layout.SUMMED_DIVIDED if arms == 2 else Layout.SUMMED_UNITS
        others = {place(group, other, chosen): scale for other, scale in enumerate(apart)}
        more: dict[str, Any] = {"moved": self.powers(group), "column": name, "layout": layout, "apart": others}
        return OfMoved(chosen, self.known.value(name), int(n), users, total, binary=not parted, **more)

    def per_item(self, position: int, arm: int) -> tuple[Arm, float]:
        """Outcome per item of an arm at a position, and the degrees of freedom that the kurtosis leaves."""
        at = position * self.known.asked.arms + arm
        n, top, size, squares = self.known.places[:, at].tolist()
        moved = self.sums[PLACES].reshape(len(POWERS), -1)[:, at].tolist()
        value = float(ratio(top, size))
        found = arm_of(value, int(n), float(ratio(size**2, squares)), tuple(moved))
        return found, freedom_of(int(n), tuple(moved), found.freedom)

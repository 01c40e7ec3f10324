"""Interleaved sessions: the rows of a log, checked; what is kept of them, one row per session; the
preference of users.

The unit is the user (or the query): sessions of one user resemble each other, so no test counts
sessions. A log that fits is one block of rows; of a longer one an engine brings the rows of a user
together, and blocks are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, RowError, codes, ratio
from evalkit.metrics.rows import Arm
from evalkit.reading.tables import table
from evalkit.statistics import independent, interval_methods, intervals
from evalkit.statistics.spread import Spread

NEUTRAL = -1
UNKNOWN = -2
EMPTY = "must not be empty, got nothing"
SHOWN = 80  # characters of a value that an error shows
STEP = 2**15  # sessions looked at together: many would take several times their memory
LEAST = 1e-14  # of a sum of squares: less is what rounding leaves
COUNTED = (
    "sessions with uneven teams",
    "neutral items",
    "outcome on neutral items",
    "sessions without credit",
)


class Fault(NamedTuple):
    """The rows that break a rule of a column, the error's text for each, and True if the text
    counts them.
    """

    column: str
    rows: Ints
    rule: Callable[[int], str]
    counted: bool = False


@dataclass(frozen=True, eq=False)
class Log:
    """The rows of a log in their order, one per item shown, of whole users.

    session, user: the index of each row's session and user in `names` and `users`, which are
    sorted. item: likewise, None without such a column. attributes: columns for segments.
    """

    session: Ints
    names: Any
    user: Ints
    users: Any
    team: table.Coded
    position: Floats
    outcome: Floats
    arms: tuple[str, ...]
    neutral: str | None
    item: Ints | None = None
    attributes: Mapping[str, table.Coded] = field(default_factory=dict)

    @cached_property
    def owner(self) -> Ints:
        """The number of each row's arm, −1 for neutral items."""
        known = {name: arm for arm, name in enumerate(self.arms)}
        known |= {} if self.neutral is None else {self.neutral: NEUTRAL}
        return np.array([known.get(name, UNKNOWN) for name in self.team.names], np.int64)[
            self.team.code
        ]

    @cached_property
    def order(self) -> Ints:
        """The indices of the rows by session and position."""
        return np.lexsort((self.position, self.session))

    @cached_property
    def start(self) -> Ints:
        """The index in this order at which each session begins."""
        return np.searchsorted(self.session[self.order], np.arange(len(self.names)))

    @cached_property
    def first(self) -> Ints:
        """The first row of each session."""
        first = np.empty(len(self.names), np.int64)
        first[self.session[::-1]] = np.arange(len(self.session))[::-1]
        return first

    def faults(self) -> Iterator[Fault]:
        """The rows that break a rule, rule by rule."""
        known = [*self.arms, *([] if self.neutral is None else [self.neutral])]
        team = self.team
        outcome = self.outcome
        sessions = (self.names, self.session)
        users = (self.users, self.user)
        for column, (names, code) in {
            "session": sessions,
            "team": (team.names, team.code),
            "user": users,
        }.items():
            empty = np.zeros(0, np.int64) if str(names[0]) else np.flatnonzero(code == 0)
            yield Fault(column, empty, lambda row: EMPTY)
        unknown = np.flatnonzero(self.owner == UNKNOWN)
        below = np.flatnonzero(outcome < 0)
        rule = f"must be one of {', '.join(known)}, got"
        yield Fault(
            "team", unknown, lambda row: f"{rule} {team.names[team.code[row]]!r}", counted=True
        )
        yield Fault(
            "outcome", below, lambda row: f"must be at least 0, got {outcome[row]:g}", counted=True
        )
        yield self._shared("user", self.user, self.users)
        session = self.session[self.order]
        place = self.position[self.order]
        wanted = np.arange(len(place)) - self.start[session] + 1
        wrong = np.flatnonzero(place != wanted)
        expected = dict(zip(self.order[wrong].tolist(), wanted[wrong].tolist(), strict=True))

        def out_of_place(row: int) -> str:
            got = (
                f"got {self.position[row]:g} instead of {expected[row]} in session "
                f"{self.names[self.session[row]]}"
            )
            return f"must run 1, 2, 3, … in each session, {got}"

        yield Fault("position", self.order[wrong], out_of_place)
        for name, values in self.attributes.items():
            yield self._shared(name, values.code, values.names)

    def _shared(self, column: str, code: Ints, names: Any) -> Fault:
        """Rows with another value than the first row of their session."""
        before = code[self.first][self.session]

        def rule(row: int) -> str:
            own, other = (str(names[i])[:SHOWN] for i in (code[row], before[row]))
            session = self.names[self.session[row]]
            return f"must have one value per session, got {own} after {other} in session {session}"

        return Fault(column, np.flatnonzero(code != before), rule)

    def check(self) -> None:
        """Raise RowError for the first row that breaks a rule, InputError for a missing arm."""
        for fault in self.faults():
            if fault.rows.size:
                row = int(fault.rows[0])
                raise RowError(
                    fault.column, fault.rule(row), row, fault.rows.size if fault.counted else None
                )
            if fault.column == "team" and fault.counted:
                refuse_missing(self.arms, self.team.names)

    def wrong(self) -> Any:
        """The names of the sessions with a row that breaks a rule."""
        rows = np.concatenate([fault.rows for fault in self.faults()])
        return self.names.take(np.unique(self.session[rows]))


def refuse_missing(arms: Sequence[str], there: Collection[str]) -> None:
    """Raise InputError for the first arm that no row has."""
    for arm in arms:
        if arm not in there:
            raise InputError(f"team must hold every arm, got no row of {arm}")


# What is kept -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sessions:
    """The summary of a log: one row per session, and counts of the items shown.

    names: of the sessions. user: the index of each one's user in `users`. credit: by session and
    arm; neutral items give credit to no arm. attributes: columns for segments. shown: items by
    position, from 0, and arm; the last column has neutral items. counted: the count of each check
    in `COUNTED` (first column), and of how many (second). repeated: items shown again in the same
    session, None without such a column. most: the largest outcome.
    """

    names: Any
    user: np.ndarray
    users: Any
    arms: tuple[str, ...]
    credit: Floats
    attributes: Mapping[str, table.Coded]
    shown: Ints
    counted: Floats
    repeated: int | None
    most: float
    outcomes: SessionOutcomes

    @classmethod
    def of(cls, log: Log) -> Sessions:
        """The summary of rows without fault."""
        arms = len(log.arms)
        count = len(log.names)
        session = log.session[log.order]
        place = log.position[log.order].astype(np.int64)
        team = log.owner[log.order]
        outcome = log.outcome[log.order]
        owned = team >= 0
        credit = np.bincount(
            session[owned] * arms + team[owned], outcome[owned], arms * count
        ).reshape(-1, arms)
        cell = place * (arms + 1) + np.where(team < 0, arms, team)
        shown = np.bincount(cell, minlength=(int(place.max()) + 1) * (arms + 1)).reshape(
            -1, arms + 1
        )
        uneven = _uneven(session, team, log.start, arms)
        silent = (credit.sum(axis=1) == 0).sum()
        rows = [(~owned).sum(), len(owned)]
        plays = [outcome[~owned].sum(), outcome.sum()]
        checked = np.array([[uneven, count], rows, plays, [silent, count]], dtype=np.float64)
        first = {
            name: (column.names, column.code[log.first]) for name, column in log.attributes.items()
        }
        attributes = {
            name: table.Coded(names, code.astype(np.int32)) for name, (names, code) in first.items()
        }
        user = log.user[log.first].astype(np.int32)
        repeated = None if log.item is None else _repeated(log.session, log.item)
        outcomes = SessionOutcomes.of(
            (place * arms + team)[owned], user[session[owned]], outcome[owned], len(log.users)
        )
        sessions = (log.names, user, log.users, log.arms, credit.astype(np.float64), attributes)
        return cls(*sessions, shown, checked, repeated, float(outcome.max()), outcomes)

    @staticmethod
    def joined(blocks: list[Sessions]) -> Sessions:
        """The sum of summaries without common users; the list is emptied."""
        import pyarrow as pa

        first = blocks[0]
        if len(blocks) == 1:
            return first
        columns = {name: [getattr(block, name) for block in blocks] for name in vars(first)}
        blocks.clear()  # so that a column goes when it is joined
        before = np.cumsum([0, *map(len, columns["users"])])
        longest = max(map(len, columns["shown"]))
        shown = [
            np.pad(block, ((0, longest - len(block)), (0, 0))) for block in columns.pop("shown")
        ]
        names, users = (
            pa.chunked_array(columns.pop(side)).combine_chunks() for side in ("names", "users")
        )
        user = np.concatenate(
            [
                user + start
                for user, start in zip(columns.pop("user"), before.tolist(), strict=False)
            ]
        )
        credit = np.concatenate(columns.pop("credit"))
        several = columns.pop("attributes")
        attributes = {
            name: table.concatenated([block[name] for block in several])
            for name in first.attributes
        }
        repeated = None if first.repeated is None else sum(columns["repeated"])
        counted = (
            np.sum(shown, axis=0),
            np.sum(columns["counted"], axis=0),
            repeated,
            max(columns["most"]),
        )
        outcomes = SessionOutcomes.joined(columns["outcomes"])
        return Sessions(names, user, users, first.arms, credit, attributes, *counted, outcomes)

    @property
    def owners(self) -> Any:
        """The index of each session's user."""
        return self.users.take(self.user)

    @cached_property
    def sides(self) -> tuple[Arm, ...]:
        """Each arm with one row per user."""
        return _sides(self.user, len(self.users), self.credit)


def _uneven(session: Ints, team: Ints, start: Ints, arms: int) -> int:
    """Sessions in which one team leads another by more than one item somewhere: no draft by rounds
    makes these.

    A neutral item can take the place of a pick and leave its round with fewer: there a lead of two
    is even still.
    """
    picks = np.cumsum(team[:, None] == np.arange(arms), axis=0)
    before = np.concatenate([np.zeros_like(picks[:1]), picks])[start]
    lead = np.ptp(picks - before[session], axis=1)
    most = 1 + (np.bincount(session, team < 0) > 0)
    return int(np.unique(session[lead > most[session]]).size)


def _repeated(session: Ints, item: Ints) -> int:
    key = session * (int(item.max()) + 1) + item
    return int(key.size - np.unique(key).size)


# The preference of users --------------------------------------------------------------------------


def sides(unit: ArrayLike, credit: Floats) -> tuple[Arm, ...]:
    """Each arm with one row per unit, in the order of the sorted units, from the (sessions, arms)
    credit of `credit`.

    >>> [
    ...     side.won.tolist()
    ...     for side in sides(["u", "u", "v"], np.array([[2.0, 1, 0], [0, 0, 0], [0, 0, 3]]))
    ... ]
    [[1.5, 0.25], [1.0, 0.25], [0.5, 1.0]]
    """
    number, names = codes(unit)
    return _sides(number, names.size, credit)


def _sides(unit: np.ndarray, units: int, credit: Floats) -> tuple[Arm, ...]:
    """The same of units by number."""

    def total(column: Floats) -> Floats:
        return np.bincount(unit, column, units).astype(np.float64)

    credited = np.stack([total(column) for column in credit.T], axis=1)
    whole = credited.sum(axis=1)
    sessions = total(np.ones(len(unit)))
    arms = range(credit.shape[1])
    return tuple(
        Arm(credited[:, t], whole, beaten(credited, t), total(beaten(credit, t)), sessions)
        for t in arms
    )


def beaten(credit: Floats, arm: int) -> Floats:
    """Share of the other arms with less credit than this one, ties counting half; one number per
    row.

    >>> beaten(np.array([[2, 1, 0], [1, 1, 3]]), 0)
    array([1.  , 0.25])
    """
    share = np.empty(len(credit))
    for start in range(0, len(credit), STEP):
        some = credit[start : start + STEP]
        own = some[:, [arm]]
        rest = np.delete(some, arm, axis=1)
        share[start : start + STEP] = ((own > rest) + (own == rest) / 2).mean(axis=1)
    return share


# The outcome at each position ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SessionOutcomes:
    """The users' outcomes of the items shown, by place: position × arms + arm.

    For each place and number of items: the number of users with this many items there, and the sums
    of the first four powers of their outcomes, which suffice for the jackknife of a ratio of sums.
    """

    place: Ints
    items: Ints
    sums: Floats

    @classmethod
    def of(cls, place: Ints, user: np.ndarray, outcome: Floats, users: int) -> SessionOutcomes:
        """The outcomes of rows, one item each. users: the number of users."""
        order = np.argsort(place, kind="stable")
        names, start = np.unique(place[order], return_index=True)
        parts = []
        for name, rows in zip(names.tolist(), np.split(order, start[1:]), strict=True):
            items = np.bincount(user[rows], minlength=users)
            top = np.bincount(user[rows], outcome[rows], users)
            here = items > 0
            parts.append(_powers(name, items[here], top[here].astype(np.float64)))
        return cls._end_to_end(parts)

    @classmethod
    def _end_to_end(cls, parts: Sequence[SessionOutcomes]) -> SessionOutcomes:
        place, items = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("place", "items")
        )
        return cls(place, items, np.concatenate([part.sums for part in parts], axis=1))

    @classmethod
    def joined(cls, parts: Sequence[SessionOutcomes]) -> SessionOutcomes:
        """The sum of outcomes without common users."""
        every = cls._end_to_end(parts)
        most = int(every.items.max()) + 1
        code, names = codes(every.place * most + every.items)
        sums = np.array([np.bincount(code, column, names.size) for column in every.sums])
        return cls(names // most, names % most, sums)

    def per_item(self, place: int, most: float, level: float) -> intervals.Estimate:
        """Outcome per item at a place by the jackknife.

        The degrees of freedom follow from the kurtosis of the users' influence. most: the largest
        possible outcome.
        """
        here = self.place == place
        items = self.items[here]
        users, *powers = self.sums[:, here]
        n = float(users.sum())
        size = float(items @ users)
        value = float(ratio(powers[0].sum(), size))
        # the drop if such a user is left out
        weight = ratio(n - 1, np.where(items == size, 0.0, size - items))
        moved = [
            weight**k * total
            for k, total in enumerate(_about(value * items, users, powers), start=1)
        ]
        squares, fourths = _centred(n, *(float(column.sum()) for column in moved))
        fourth = float(ratio(fourths, squares**2))
        spread = Spread(n, float(ratio(squares, n**2)), n, lambda power: fourth)
        arm = independent.Arm(value, spread, float(ratio(size**2, items**2 @ users)))
        return interval_methods.arm_within(arm, 0.0, most, level=level)


def _powers(place: int, items: Ints, top: Floats) -> SessionOutcomes:
    sums = [np.bincount(items)]
    power = np.ones(len(top))
    there = np.flatnonzero(sums[0])
    for _ in range(4):
        power = power * top
        sums.append(np.bincount(items, power))
    return SessionOutcomes(
        np.full(len(there), place), there, np.array(sums, dtype=np.float64)[:, there]
    )


def _about(centre: Floats, n: Floats, powers: Sequence[Floats]) -> tuple[Floats, ...]:
    """The sums of the first four powers of n numbers less a centre, from those of the numbers;
    rounding leaves 0.
    """
    total, square, cube, fourth = powers
    second = square - 2 * centre * total + centre**2 * n
    second = np.where(second > LEAST * (square + centre**2 * n), second, 0.0)
    third = cube - 3 * centre * square + 3 * centre**2 * total - centre**3 * n
    last = (
        fourth - 4 * centre * cube + 6 * centre**2 * square - 4 * centre**3 * total + centre**4 * n
    )
    return total - centre * n, second, third, last


def _centred(
    n: float, total: float, square: float, cube: float, fourth: float
) -> tuple[float, float]:
    """The sums of squares and of fourth powers of n numbers less their mean, from those of the
    numbers.

    >>> _centred(3, 6.0, 14.0, 36.0, 98.0)
    (2.0, 2.0)
    """
    mean = total / n if n else 0.0
    squares = max(square - n * mean**2, 0.0)
    return squares, max(fourth - 4 * mean * cube + 6 * mean**2 * square - 3 * n * mean**4, 0.0)

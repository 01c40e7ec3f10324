"""Interleaved sessions: the rows of a log, checked and summed up to one row per session; the
preference of users.

A log has one row per item shown in a session; the ranker that placed the item is its team. The unit
is the user (or the query): sessions of one user resemble each other, so no test counts sessions. A
log that fits into memory is one block of rows; a longer one comes in blocks of whole users, whose
summaries are added up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, RowError, codes, ratio
from evalkit.metrics.rows import InterleavingArm
from evalkit.reading.tables import table
from evalkit.statistics import independent, interval_methods, intervals
from evalkit.statistics.spread import Spread

if TYPE_CHECKING:
    import pyarrow as pa

NEUTRAL = -1  # in place of an arm's index: the item belongs to no arm
UNKNOWN = -2  # in place of an arm's index: the team is none of the arms
EMPTY = "must not be empty, got nothing"
LONGEST_QUOTE = 80  # characters of a value that an error shows
STEP = 2**15  # rows compared at once: all together would take several times their memory
ROUNDING = 1e-14  # of the terms of a sum of squares: a smaller sum is only rounding
CHECKS = (
    "sessions with uneven teams",
    "neutral items",
    "outcome on neutral items",
    "sessions without credit",
)


class Fault(NamedTuple):
    """The rows that break a rule of a column; there may be none.

    message: the error's text for the first of the rows, "" without rows. is_counted: True if the
    error also says how many rows break the rule.
    """

    column: str
    rows: Ints
    message: str
    is_counted: bool = False


@dataclass(frozen=True, eq=False)
class Log:
    """The rows of a log in their order, one per item shown, with all rows of each user.

    session, user: the index of each row's session and user in `names` and `users`, which are
    sorted. team: which arm placed the item, or `neutral` for an item of no arm. position: from 1 in
    each session. outcome: such as clicks or hours, at least 0. arms: their names. item: the index
    of each row's item, None without such a column. attributes: columns for segments.
    """

    session: Ints
    names: pa.Array
    user: Ints
    users: pa.Array
    team: table.Coded
    position: Floats
    outcome: Floats
    arms: tuple[str, ...]
    neutral: str | None
    item: Ints | None = None
    attributes: Mapping[str, table.Coded] = field(default_factory=dict)

    @cached_property
    def arm(self) -> Ints:
        """The index of each row's team in `arms`; `NEUTRAL` and `UNKNOWN` are below 0."""
        index = {name: arm for arm, name in enumerate(self.arms)}
        if self.neutral is not None:
            index[self.neutral] = NEUTRAL
        arm_of_team = np.array([index.get(name, UNKNOWN) for name in self.team.names], np.int64)
        return arm_of_team[self.team.code]

    @cached_property
    def order(self) -> Ints:
        """The rows sorted by session and position, as indices."""
        return np.lexsort((self.position, self.session))

    @cached_property
    def start(self) -> Ints:
        """The place in `order` at which each session begins."""
        return np.searchsorted(self.session[self.order], np.arange(len(self.names)))

    @cached_property
    def first(self) -> Ints:
        """The first row of each session, in the order of the file, as an index."""
        first = np.empty(len(self.names), np.int64)
        # of several values for one session the last one stays: in reverse order, its first row
        first[self.session[::-1]] = np.arange(len(self.session))[::-1]
        return first

    def _faulty_names(self) -> Iterator[Fault]:
        """Yield the rows without a session, team or user, then those of an unknown team."""
        yield _empty_text("session", self.session, self.names)
        yield _empty_text("team", self.team.code, self.team.names)
        yield _empty_text("user", self.user, self.users)
        yield self._unknown_teams()

    def _faulty_values(self) -> Iterator[Fault]:
        """Yield the rows that break the other rules, those of numbers and of whole sessions."""
        yield self._negative_outcomes()
        yield self._changes_in_session("user", self.user, self.users)
        yield self._wrong_positions()
        for name, values in self.attributes.items():
            yield self._changes_in_session(name, values.code, values.names)

    def _unknown_teams(self) -> Fault:
        """The rows whose team is neither an arm nor the neutral team."""
        rows = np.flatnonzero(self.arm == UNKNOWN)
        message = ""
        if rows.size:
            teams = list(self.arms)
            if self.neutral is not None:
                teams.append(self.neutral)
            first_unknown = self.team.names[self.team.code[rows[0]]]
            message = f"must be one of {', '.join(teams)}, got {first_unknown!r}"
        # the error also says how many rows there are
        return Fault("team", rows, message, is_counted=True)

    def _negative_outcomes(self) -> Fault:
        """The rows with an outcome below 0."""
        rows = np.flatnonzero(self.outcome < 0)
        message = ""
        if rows.size:
            message = f"must be at least 0, got {self.outcome[rows[0]]:g}"
        return Fault("outcome", rows, message, is_counted=True)

    def _wrong_positions(self) -> Fault:
        """The rows whose position differs from their rank among the sorted positions of their
        session, so that these do not run 1, 2, 3, ….
        """
        # rows sorted by session and position; `start` is the place at which each session begins
        session = self.session[self.order]
        position = self.position[self.order]
        expected = np.arange(len(position)) - self.start[session] + 1
        wrong = np.flatnonzero(position != expected)  # places in `order`
        message = ""
        if wrong.size:
            place = wrong[0]
            message = (
                f"must run 1, 2, 3, … in each session, got {position[place]:g} instead of "
                f"{expected[place]} in session {self.names[session[place]]}"
            )
        return Fault("position", self.order[wrong], message)

    def _changes_in_session(
        self, column: str, code: Ints, names: pa.Array | Sequence[str]
    ) -> Fault:
        """The rows with another value than the first row of their session. column: its name, for
        the error. code: the index of each row's value in `names`.
        """
        # `first`: the first row of each session; `session`: the number of each row's session
        code_of_first = code[self.first][self.session]
        rows = np.flatnonzero(code != code_of_first)
        message = ""
        if rows.size:
            row = rows[0]
            value = str(names[code[row]])[:LONGEST_QUOTE]
            first_value = str(names[code_of_first[row]])[:LONGEST_QUOTE]
            session = self.names[self.session[row]]
            message = (
                f"must have one value per session, got {value} after {first_value} in session "
                f"{session}"
            )
        return Fault(column, rows, message)

    def check(self) -> None:
        """Raise RowError for the first row that breaks a rule, InputError for an arm without
        rows.
        """
        for fault in self._faulty_names():
            _raise_for(fault)
        refuse_missing(self.arms, self.team.names)
        for fault in self._faulty_values():
            _raise_for(fault)

    def faulty_sessions(self) -> pa.Array:
        """The names of the sessions with a row that breaks a rule."""
        faults = chain(self._faulty_names(), self._faulty_values())
        rows = np.concatenate([fault.rows for fault in faults])
        return self.names.take(np.unique(self.session[rows]))


def _empty_text(column: str, code: Ints, names: pa.Array | Sequence[str]) -> Fault:
    """The rows whose text is empty. code: the index of each row's text in `names`, which are
    sorted, so that an empty one is the first.
    """
    if str(names[0]):
        return Fault(column, np.zeros(0, np.int64), "")
    return Fault(column, np.flatnonzero(code == 0), EMPTY)


def _raise_for(fault: Fault) -> None:
    """Raise RowError for the first row of a fault, if it has one."""
    if fault.rows.size:
        count = fault.rows.size if fault.is_counted else None
        raise RowError(fault.column, fault.message, int(fault.rows[0]), count)


def refuse_missing(arms: Sequence[str], teams: Collection[str]) -> None:
    """Raise InputError for the first arm that is not among the teams of the rows."""
    for arm in arms:
        if arm not in teams:
            raise InputError(f"team must hold every arm, got no row of {arm}")


# One row per session -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sessions:
    """The summary of a log: one row per session, and counts of the items shown.

    names: of the sessions. user: the index of each session's user in `users`. credit: the outcome
    of each arm's items, shape (sessions, arms); neutral items give credit to no arm. attributes:
    columns for segments, one value per session. item_counts: items by position and arm, shape
    (positions + 1, arms + 1); no item has position 0, the last column is of neutral items.
    check_counts: one row per check of `CHECKS`: what the check counts, and out of how much.
    repeated_items: items shown again in the same session, None without a column of items.
    outcomes: of the users, by position and arm.
    """

    names: pa.Array
    user: np.ndarray
    users: pa.Array
    arms: tuple[str, ...]
    credit: Floats
    attributes: Mapping[str, table.Coded]
    item_counts: Ints
    check_counts: Floats
    repeated_items: int | None
    largest_outcome: float
    outcomes: SessionOutcomes

    @classmethod
    def from_log(cls, log: Log) -> Sessions:
        """The summary of a log whose rows break no rule."""
        arms = len(log.arms)
        sessions = len(log.names)
        # one number per row of the log, sorted by session and position
        session = log.session[log.order]
        position = log.position[log.order].astype(np.int64)
        arm = log.arm[log.order]
        outcome = log.outcome[log.order]
        has_arm = arm >= 0  # not neutral
        # one number per session: a session has one user, that of its first row
        user = log.user[log.first].astype(np.int32)

        # the sum of the outcomes by session and arm, and the number of items by position and arm
        credit = _cross_table(
            session[has_arm], arm[has_arm], shape=(sessions, arms), values=outcome[has_arm]
        )
        positions = int(position.max()) + 1  # the row of position 0 is empty: they begin at 1
        arm_or_neutral = np.where(has_arm, arm, arms)  # neutral items are in the last column
        item_counts = _cross_table(position, arm_or_neutral, shape=(positions, arms + 1))

        uneven = _uneven_sessions(session, arm, log.start, arms)
        neutral_items = np.count_nonzero(~has_arm)
        neutral_outcome = outcome[~has_arm].sum()
        without_credit = np.count_nonzero(credit.sum(axis=1) == 0)
        # a row for each check, in the order of `CHECKS`: what it counts, and out of how much
        check_counts = np.array(
            [
                [uneven, sessions],
                [neutral_items, len(arm)],
                [neutral_outcome, outcome.sum()],
                [without_credit, sessions],
            ],
            dtype=np.float64,
        )
        repeated_items = None
        if log.item is not None:
            repeated_items = _count_repeated(log.session, log.item)
        attributes = {
            name: table.Coded(column.names, column.code[log.first].astype(np.int32))
            for name, column in log.attributes.items()
        }
        place = position * arms + arm  # the number that `SessionOutcomes` uses
        outcomes = SessionOutcomes.from_rows(
            place[has_arm],
            user[session[has_arm]],
            outcome[has_arm],
            users=len(log.users),
        )
        return cls(
            names=log.names,
            user=user,
            users=log.users,
            arms=log.arms,
            credit=credit.astype(np.float64),
            attributes=attributes,
            item_counts=item_counts,
            check_counts=check_counts,
            repeated_items=repeated_items,
            largest_outcome=float(outcome.max()),
            outcomes=outcomes,
        )

    @staticmethod
    def concatenate(blocks: list[Sessions]) -> Sessions:
        """The summary of the logs of all blocks, none of which have a user in common.

        The list is emptied, and the columns of the blocks are freed one by one as they are
        concatenated: there is no second copy of all of them.
        """
        import pyarrow as pa

        first = blocks[0]
        if len(blocks) == 1:
            return first
        columns = {}  # field -> its values in all blocks
        for name in vars(first):
            columns[name] = [getattr(block, name) for block in blocks]
        blocks.clear()
        # the users of a block come after the users of the blocks before it
        users = [len(users_of_block) for users_of_block in columns["users"]]
        users_before = np.cumsum(users) - users
        user = np.concatenate(
            [
                index + start
                for index, start in zip(columns.pop("user"), users_before.tolist(), strict=True)
            ]
        )
        names = pa.chunked_array(columns.pop("names")).combine_chunks()
        all_users = pa.chunked_array(columns.pop("users")).combine_chunks()
        credit = np.concatenate(columns.pop("credit"))
        attributes_of_blocks = columns.pop("attributes")
        attributes = {}
        for name in first.attributes:
            values = [attributes_of_block[name] for attributes_of_block in attributes_of_blocks]
            attributes[name] = table.concatenated(values)
        # sessions of other blocks may be longer: their positions are added with counts of 0
        positions = max(map(len, columns["item_counts"]))
        padded_counts = [
            np.pad(counts, ((0, positions - len(counts)), (0, 0)))
            for counts in columns.pop("item_counts")
        ]
        repeated_items = None
        if first.repeated_items is not None:
            repeated_items = sum(columns["repeated_items"])
        return Sessions(
            names=names,
            user=user,
            users=all_users,
            arms=first.arms,
            credit=credit,
            attributes=attributes,
            item_counts=np.sum(padded_counts, axis=0),
            check_counts=np.sum(columns["check_counts"], axis=0),
            repeated_items=repeated_items,
            largest_outcome=max(columns["largest_outcome"]),
            outcomes=SessionOutcomes.add_up(columns["outcomes"]),
        )

    @property
    def owners(self) -> pa.Array:
        """The id of each session's user."""
        return self.users.take(self.user)

    @cached_property
    def arms_by_user(self) -> tuple[InterleavingArm, ...]:
        """The credit of each arm, with one row per user."""
        return _arms_by_index(self.user, len(self.users), self.credit)


def _cross_table(
    row: Ints, column: Ints, shape: tuple[int, int], values: Floats | None = None
) -> np.ndarray:
    """The sum of the values in each cell of a table, or the number of entries without values. row,
    column: of the cell of each entry.
    """
    rows, columns = shape
    cell = row * columns + column  # its number in the flattened table
    return np.bincount(cell, values, minlength=rows * columns).reshape(shape)


def _uneven_sessions(session: Ints, arm: Ints, start: Ints, arms: int) -> int:
    """The number of sessions whose teams no draft by rounds could have made.

    In each round every team picks one item, so that anywhere in the list no team has more than one
    item more than another. A neutral item may take the place of a pick: in a session with such an
    item a lead of two is still even.

    session, arm: of each row, sorted by session and position; the arm is below 0 for a neutral
    item. start: the row at which each session begins. arms: their number.
    """
    picks = np.cumsum(arm[:, None] == np.arange(arms), axis=0)  # by each arm, from the first row on
    picks_before_row = np.concatenate([np.zeros_like(picks[:1]), picks])
    picks_before_session = picks_before_row[start]
    picks_in_session = picks - picks_before_session[session]
    lead = np.ptp(picks_in_session, axis=1)  # the largest minus the smallest
    has_neutral_item = np.bincount(session, arm < 0) > 0
    largest_lead = 1 + has_neutral_item
    is_uneven = lead > largest_lead[session]  # at a row
    return len(np.unique(session[is_uneven]))


def _count_repeated(session: Ints, item: Ints) -> int:
    """The number of rows whose item their session has had before."""
    items = int(item.max()) + 1
    pair = session * items + item  # a number for each pair of session and item
    return int(pair.size - np.unique(pair).size)


# The preference of users --------------------------------------------------------------------------


def arms_by_unit(unit: ArrayLike, credit: Floats) -> tuple[InterleavingArm, ...]:
    """The credit of each arm, with one row per unit in sorted order.

    unit: of each session. credit: shape (sessions, arms).

    >>> [
    ...     arm.won.tolist()
    ...     for arm in arms_by_unit(["u", "u", "v"], np.array([[2.0, 1, 0], [0, 0, 0], [0, 0, 3]]))
    ... ]
    [[1.5, 0.25], [1.0, 0.25], [0.5, 1.0]]
    """
    index, names = codes(unit)
    return _arms_by_index(index, names.size, credit)


def _arms_by_index(unit: np.ndarray, units: int, credit: Floats) -> tuple[InterleavingArm, ...]:
    """What units (users) give each arm, one row per unit; see `InterleavingArm`.

    unit: the number of each session's unit, from 0. units: how many units there are. credit: shape
    (sessions, arms).
    """
    credit_by_unit = np.stack([_sum_by_unit(unit, column, units) for column in credit.T], axis=1)
    credit_of_all_arms = credit_by_unit.sum(axis=1)
    sessions = _sum_by_unit(unit, np.ones(len(unit)), units)  # the number of each unit's sessions
    arms = []
    for arm in range(credit.shape[1]):
        # by session: the share of the other arms that have less credit than this one
        share_beaten_in_session = share_beaten(credit, arm)
        arms.append(
            InterleavingArm(
                credit=credit_by_unit[:, arm],
                whole=credit_of_all_arms,
                beaten=share_beaten(credit_by_unit, arm),
                won=_sum_by_unit(unit, share_beaten_in_session, units),
                sessions=sessions,
            )
        )
    return tuple(arms)


def _sum_by_unit(unit: np.ndarray, values: Floats, units: int) -> Floats:
    """The sum of the sessions' values for each unit, shape (units,)."""
    return np.bincount(unit, values, units).astype(np.float64)


def share_beaten(credit: Floats, arm: int) -> Floats:
    """The share of the other arms with less credit than this one, ties counting half; shape
    (rows,). credit: of sessions or of users, shape (rows, arms). arm: the index of this arm.

    >>> share_beaten(np.array([[2, 1, 0], [1, 1, 3]]), 0)
    array([1.  , 0.25])
    """
    share = np.empty(len(credit))
    for start in range(0, len(credit), STEP):  # in steps, which bounds the memory of comparisons
        rows = slice(start, start + STEP)
        credit_of_arm = credit[rows, [arm]]  # shape (rows, 1)
        credit_of_others = np.delete(credit[rows], arm, axis=1)
        wins = credit_of_arm > credit_of_others
        ties = credit_of_arm == credit_of_others
        share[rows] = (wins + ties / 2).mean(axis=1)
    return share


# The outcome at each position ---------------------------------------------------------------------


class PowerSums(NamedTuple):
    """The sums of the first four powers of numbers: Σ x, Σ x², Σ x³ and Σ x⁴."""

    total: Floats
    square: Floats
    cube: Floats
    fourth: Floats


@dataclass(frozen=True, eq=False)
class SessionOutcomes:
    """The users' outcomes of the items shown to them, by position and arm.

    Users with the same number of items at a place differ only in their outcome, whose power sums
    suffice for the jackknife of a ratio of sums. So there is one row per place and number of items.

    place: position × number of arms + arm. items: how many items each of the users had there.
    sums: shape (5, rows); row p has the sums of the p-th powers of these users' outcomes, so that
    row 0 has the numbers of users.
    """

    place: Ints
    items: Ints
    sums: Floats

    @classmethod
    def from_rows(
        cls, place: Ints, user: np.ndarray, outcome: Floats, *, users: int
    ) -> SessionOutcomes:
        """The outcomes of rows of a log, which have one item each. place: of each item, position ×
        number of arms + arm. user: the index of each item's user, from 0. outcome: of each item.
        users: how many users there are.
        """
        order = np.argsort(place, kind="stable")
        places, start = np.unique(place[order], return_index=True)
        rows_by_place = np.split(order, start[1:])
        blocks = []
        for one_place, rows in zip(places.tolist(), rows_by_place, strict=True):
            items_of_user = np.bincount(user[rows], minlength=users)
            outcome_of_user = np.bincount(user[rows], outcome[rows], users).astype(np.float64)
            was_here = items_of_user > 0
            blocks.append(
                cls._at_place(one_place, items_of_user[was_here], outcome_of_user[was_here])
            )
        return cls._concatenated(blocks)

    @classmethod
    def _at_place(cls, place: int, items: Ints, outcome: Floats) -> SessionOutcomes:
        """The outcomes at one place, with a row for each number of items that some user has there.
        items, outcome: the number of items, and their outcome, of each user with items there.
        """
        users = np.bincount(items)  # how many users have 0, 1, 2, … items
        sums = [users]  # sums of powers of the outcome by number of items: of the power 0, then 1–4
        power = np.ones(len(outcome))
        for _ in range(4):
            power = power * outcome
            sums.append(np.bincount(items, power))
        occurring = np.flatnonzero(users)  # numbers of items that some user has
        sums_of_occurring = np.array(sums, dtype=np.float64)[:, occurring]
        return cls(np.full(len(occurring), place), occurring, sums_of_occurring)

    @classmethod
    def _concatenated(cls, blocks: Sequence[SessionOutcomes]) -> SessionOutcomes:
        """The rows of the blocks in sequence."""
        place = np.concatenate([block.place for block in blocks])
        items = np.concatenate([block.items for block in blocks])
        return cls(place, items, np.concatenate([block.sums for block in blocks], axis=1))

    @classmethod
    def add_up(cls, blocks: Sequence[SessionOutcomes]) -> SessionOutcomes:
        """The outcomes of the users of all blocks, none of which have a user in common: the sums of
        rows with the same place and number of items are added up.
        """
        rows = cls._concatenated(blocks)
        bound = int(rows.items.max()) + 1
        key = rows.place * bound + rows.items  # a number for each pair of place and items
        code, keys = codes(key)  # the index of each row's key in the sorted distinct `keys`
        sums = np.array([np.bincount(code, power_sums, keys.size) for power_sums in rows.sums])
        place, items = np.divmod(keys, bound)
        return cls(place, items, sums)

    def per_item(self, place: int, highest: float, level: float) -> intervals.Estimate:
        """The outcome per item at a place (a position and an arm), Σ outcome / Σ items over users,
        with its interval by the jackknife, which leaves out one user at a time.

        place: position × number of arms + arm. highest: the largest possible outcome per item; 0 is
        the smallest. level: of the interval.
        """
        is_here = self.place == place
        items = self.items[is_here]  # the numbers m of items that users have here
        users = self.sums[0, is_here]  # how many users have each of these numbers
        outcome = PowerSums(*self.sums[1:, is_here])  # of the outcomes t of these users
        n = float(users.sum())
        all_items = float(items @ users)
        value = float(ratio(outcome.total.sum(), all_items))

        # Without a user of m items and outcome t the value falls by (t − m value) / (all_items −
        # m). The jackknife takes n − 1 times this fall as the influence of the user. The powers of
        # the influence are summed over the users with equal m first, then over all users.
        excess = _sums_about(value * items, users, outcome)  # powers of t − m value, for each m
        weight = ratio(n - 1, all_items - items)  # the influence is weight × (t − m value)
        squares, fourths = _sums_about_mean(
            n,
            total=float((weight * excess.total).sum()),
            square=float((weight**2 * excess.square).sum()),
            cube=float((weight**3 * excess.cube).sum()),
            fourth=float((weight**4 * excess.fourth).sum()),
        )

        standardised_fourth = float(ratio(fourths, squares**2))  # the same on any scale
        spread = Spread(
            n,
            # in `Spread` an influence is how far a user moves the value, 1/n of the one above
            square=float(ratio(squares, n**2)),
            kish=n,  # each influence counts once
            # only the fourth power is asked for, for degrees of freedom by the kurtosis
            standardised_power=lambda power: standardised_fourth,
        )
        # Kish's effective number of users, who are weighted by their number of items
        effective_users = float(ratio(all_items**2, items**2 @ users))
        arm = independent.Arm(value, spread, users=effective_users)
        return interval_methods.arm_within(arm, 0.0, highest, level=level)


def _sums_about(centre: Floats, n: Floats, sums: PowerSums) -> PowerSums:
    """The power sums of x − c, from those of n numbers x, by the binomial theorem; elementwise for
    arrays. A sum of squares as small as its rounding error is set to 0. centre: c.
    """
    c = centre
    total, square, cube, fourth = sums
    new_square = square - 2 * c * total + c**2 * n
    rounding = ROUNDING * (square + c**2 * n)
    return PowerSums(
        total=total - c * n,
        square=np.where(new_square > rounding, new_square, 0.0),
        cube=cube - 3 * c * square + 3 * c**2 * total - c**3 * n,
        fourth=fourth - 4 * c * cube + 6 * c**2 * square - 4 * c**3 * total + c**4 * n,
    )


class CentralSums(NamedTuple):
    """The sums of squares and of fourth powers of numbers minus their mean."""

    squares: float
    fourths: float


def _sums_about_mean(
    n: float, total: float, square: float, cube: float, fourth: float
) -> CentralSums:
    """The central sums of n numbers, from the sums of their first four powers.

    >>> _sums_about_mean(3, 6.0, 14.0, 36.0, 98.0)  # of 1, 2 and 3
    CentralSums(squares=2.0, fourths=2.0)
    """
    mean = total / n if n else 0.0
    # the binomial theorem, with the total replaced by n × mean; rounding may leave less than 0
    squares = max(square - n * mean**2, 0.0)
    fourths = max(fourth - 4 * mean * cube + 6 * mean**2 * square - 3 * n * mean**4, 0.0)
    return CentralSums(squares, fourths)

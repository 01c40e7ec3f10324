"""Interleaved sessions: a checked log, the credit of each session, the preference of each unit, the checks.

The unit is the user (or the query): sessions of one user resemble each other, so no test counts sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import Bools, Floats, InputError, Ints, RowError, codes, finite, numbers, ratio, same_length
from evalkit.catalogue.preferences import Side

if TYPE_CHECKING:
    import pandas as pd

NEUTRAL, UNKNOWN = -1, -2
POSITION = "position"
SHOWN = 80  # characters of a value that an error shows
COUNTED = (
    "sessions with uneven teams",
    "neutral items",
    "outcome on neutral items",
    "sessions without credit",
)


@dataclass(frozen=True)
class Log:
    """Shown items, sorted by session and position, and the unit of each session.

    `team` is the number of the item's arm, −1 for a neutral item; `session` counts from 0, `names` are the sessions'.
    """

    session: Ints
    position: Ints
    team: Ints
    outcome: Floats
    unit: NDArray
    arms: tuple[str, ...]
    names: Any


def read_log(
    session: ArrayLike,
    position: ArrayLike,
    team: ArrayLike,
    outcome: ArrayLike,
    *,
    unit: ArrayLike | None = None,
    arms: Sequence[str],
    neutral: str | None = None,
) -> Log:
    """A checked `Log`; `unit` is the user (or query) of each row, the session where there is none.

    Raises RowError where a team is missing or is neither an arm nor `neutral`, an outcome is negative, the positions
    of a session are not 1, 2, 3, … or a session has two units, InputError where an arm has no row.
    """
    unit = session if unit is None else unit
    same_length(session=session, position=position, team=team, outcome=outcome, unit=unit)  # type: ignore[arg-type]
    teams = _teams(np.asarray(team, dtype=object), arms, neutral)
    amount = finite("outcome", outcome)
    _refuse("outcome", amount < 0, lambda row: below_zero(amount[row]))
    number, names = codes(session)
    place = numbers("position", position)
    order = np.lexsort((place, number))
    owners = _owners(number, names, np.asarray(unit))
    _contiguous(number[order], place[order], names, order)
    return Log(number[order], place[order].astype(np.int64), teams[order], amount[order], owners, tuple(arms), names)


def _refuse(column: str, wrong: Bools, rule: Callable[[int], str], *, counted: bool = True) -> None:
    """Raises RowError of the first row that is wrong."""
    rows = np.flatnonzero(wrong)
    if rows.size:
        raise RowError(column, rule(int(rows[0])), rows[0], rows.size if counted else None)


def _teams(team: NDArray, arms: Sequence[str], neutral: str | None) -> Ints:
    """The number of each row's arm, −1 where neutral."""
    from pandas import isna

    text = np.where(isna(team), "", team).astype(str)
    _refuse("team", text == "", lambda row: "must be given on every row, got nothing")
    known = [*arms, *([] if neutral is None else [neutral])]
    code = np.select([text == name for name in known], [*range(len(arms)), NEUTRAL][: len(known)], default=UNKNOWN)
    _refuse("team", code == UNKNOWN, lambda row: unknown_team(str(text[row]), known))
    refuse_missing(arms, {arm for number, arm in enumerate(arms) if (code == number).any()})
    return code.astype(np.int64)


def below_zero(outcome: float) -> str:
    """What the error for an outcome below 0 says."""
    return f"must be at least 0, got {outcome:g}"


def unknown_team(team: str, known: Sequence[str]) -> str:
    """What the error for a team that is neither an arm nor neutral says."""
    return f"must be one of {', '.join(known)}, got {team!r}"


def refuse_missing(arms: Sequence[str], there: Collection[str]) -> None:
    """Raises InputError for the first arm that no row has."""
    for arm in arms:
        if arm not in there:
            raise InputError(f"team must hold every arm, got no row of {arm}")


def check_users(session: ArrayLike, unit: NDArray) -> None:
    """Raises RowError for the first row whose unit is not that of the first row of its session."""
    _owners(*codes(session), unit)


def check_positions(session: ArrayLike, place: Floats) -> None:
    """Raises RowError for the first session, by name, whose places are not 1, 2, 3, ….

    >>> check_positions(["s", "s"], np.array([1.0, 3.0]))
    Traceback (most recent call last):
    evalkit.arrays.RowError: position must run 1, 2, 3, … in each session, got 3 instead of 2 in session s (row 1)
    """
    number, names = codes(session)
    order = np.lexsort((place, number))
    _contiguous(number[order], place[order], names, order)


def _owners(number: Ints, names: NDArray, unit: NDArray) -> NDArray:
    """The unit of each session."""
    owners = unit[np.unique(number, return_index=True)[1]]

    def rule(row: int) -> str:
        session = number[row]
        own, before = str(unit[row])[:SHOWN], str(owners[session])[:SHOWN]
        return f"must have one value per session, got {own} after {before} in session {names[session]}"

    _refuse("user", unit != owners[number], rule, counted=False)
    return owners


def _contiguous(number: Ints, place: Floats, names: NDArray, order: Ints) -> None:
    """Raises unless the places of each session are 1, 2, 3, …; `order` has the rows before they were sorted."""
    expected = np.arange(number.size) - np.searchsorted(number, number) + 1
    wrong = np.flatnonzero(place != expected)
    if wrong.size:
        at = wrong[0]
        got = f"got {place[at]:g} instead of {expected[at]} in session {names[number[at]]}"
        raise RowError("position", f"must run 1, 2, 3, … in each session, {got}", order[at])


def credit(log: Log) -> Floats:
    """Sum of the outcome by session and arm: (sessions, arms). Neutral items give credit to nobody."""
    owned, arms = log.team >= 0, len(log.arms)
    cell = log.session[owned] * arms + log.team[owned]
    sums = np.bincount(cell, weights=log.outcome[owned], minlength=arms * log.unit.size)
    return sums.astype(np.float64).reshape(-1, arms)


def shown(log: Log) -> Ints:
    """Items by position, from 0, and arm; the last column is of neutral items."""
    columns = len(log.arms) + 1
    cell = log.position * columns + np.where(log.team < 0, columns - 1, log.team)
    return np.bincount(cell, minlength=(int(log.position.max()) + 1) * columns).reshape(-1, columns)


def repeated(session: Ints, item: Ints) -> int:
    """Items shown again in the same session, from the number of the session and of the item of each row."""
    key = session * (int(item.max()) + 1) + item
    return int(key.size - np.unique(key).size)


def sides(unit: ArrayLike, credit: Floats) -> tuple[Side, ...]:
    """Each arm with one row a unit, in the order of the sorted units, from the (sessions, arms) credit of `credit`.

    >>> [side.won.tolist() for side in sides(["u", "u", "v"], np.array([[2.0, 1, 0], [0, 0, 0], [0, 0, 3]]))]
    [[1.5, 0.25], [1.0, 0.25], [0.5, 1.0]]
    """
    number, names = codes(unit)

    def total(column: Floats) -> Floats:
        return np.bincount(number, column, names.size).astype(np.float64)

    credited = np.stack([total(column) for column in credit.T], axis=1)
    whole, sessions = credited.sum(axis=1), total(np.ones(number.size))
    arms = range(credit.shape[1])
    return tuple(Side(credited[:, t], whole, beaten(credited, t), total(beaten(credit, t)), sessions) for t in arms)


def beaten(credit: Floats, arm: int) -> Floats:
    """Share of the other arms with less credit than this one, a tie counting half; one number a row.

    >>> beaten(np.array([[2, 1, 0], [1, 1, 3]]), 0)
    array([1.  , 0.25])
    """
    own, rest = credit[:, [arm]], np.delete(credit, arm, axis=1)
    return ((own > rest) + (own == rest) / 2).mean(axis=1)


def by_unit(unit: ArrayLike, first: ArrayLike, second: ArrayLike) -> pd.DataFrame:
    """One row a unit of two arms, from the credits of its sessions. Tests belong on these rows, never on sessions.

    Columns: unit, sessions, wins, ties, losses, silent (ties in which nothing was credited), first, second,
    delta = (wins + ties/2) / sessions − 1/2, share = first / (first + second), NaN where nothing was credited.

    >>> units = by_unit(["u", "u", "v"], [2, 0, 0], [1, 0, 1])
    >>> units[["unit", "wins", "ties", "silent", "delta"]].values.tolist()
    [['u', 1, 1, 1, 0.25], ['v', 0, 0, 0, -0.5]]
    """
    import pandas as pd

    credit_1, credit_2 = finite("first", first), finite("second", second)
    same_length(unit=unit, first=credit_1, second=credit_2)  # type: ignore[arg-type]
    number, names = codes(unit)

    def total(amount: Floats | Bools) -> Floats:
        return np.bincount(number, weights=amount, minlength=names.size).astype(np.float64)

    sums = {
        "wins": credit_1 > credit_2,
        "ties": credit_1 == credit_2,
        "losses": credit_1 < credit_2,
        "silent": (credit_1 == 0) & (credit_2 == 0),
    }
    counts = {name: total(flag).astype(np.int64) for name, flag in sums.items()}
    sessions = np.bincount(number, minlength=names.size)
    credited, other = total(credit_1), total(credit_2)
    return pd.DataFrame(
        {"unit": names, "sessions": sessions, **counts, "first": credited, "second": other}
        | {"delta": (counts["wins"] + counts["ties"] / 2) / sessions - 0.5}
        | {"share": ratio(credited, credited + other)}
    )


def delta_ab(units: pd.DataFrame) -> float:
    """(wins + ties/2) / sessions − 1/2 over the sessions of all units; positive where the first arm wins.

    Chapelle, Joachims, Radlinski, Yue 2012, doi:10.1145/2094072.2094078.
    """
    wins, ties, sessions = (float(units[name].sum()) for name in ("wins", "ties", "sessions"))
    return float(ratio(wins + ties / 2, sessions)) - 0.5


def checks(log: Log) -> pd.DataFrame:
    """What to look at before the verdict, one row a check: check, count, of, share, expected (or NaN).

    The first arm's share of the owned items at each position (1 / arms under a fair coin; position 1 is the coin
    itself), sessions in which a team leads by more than one item somewhere, neutral items, outcome on neutral
    items, sessions without credit.
    """
    import pandas as pd

    owned = log.team >= 0
    first = np.bincount(log.position, log.team == 0)
    placed = np.bincount(log.position, owned)
    rows = [
        (f"first arm at position {p}", first[p], placed[p], 1 / len(log.arms))
        for p in range(1, placed.size)
        if placed[p]
    ]
    rows += [(check, *pair, np.nan) for check, pair in zip(COUNTED, counted(log).tolist(), strict=True)]
    table = pd.DataFrame(rows, columns=["check", "count", "of", "expected"])
    table.insert(3, "share", ratio(table["count"], table["of"]))
    return table


def counted(log: Log) -> Floats:
    """The count of each check of `COUNTED` (first column), and of how many (second): both add up over sessions."""
    neutral, sessions = log.team < 0, log.unit.size
    return np.array(
        [
            [_uneven(log), sessions],
            [neutral.sum(), neutral.size],
            [log.outcome[neutral].sum(), log.outcome.sum()],
            [(credit(log).sum(axis=1) == 0).sum(), sessions],
        ],
        dtype=np.float64,
    )


def _uneven(log: Log) -> int:
    """Sessions in which one team leads another by more than one item somewhere: no draft by rounds makes these.

    A neutral item can take the place of a pick and leave its round with fewer: there a lead of two is even still.
    """
    picks = np.cumsum(log.team[:, None] == np.arange(len(log.arms)), axis=0)
    start = np.searchsorted(log.session, np.arange(log.unit.size))
    before = np.concatenate([np.zeros_like(picks[:1]), picks])[start]
    lead = np.ptp(picks - before[log.session], axis=1)
    most = 1 + (np.bincount(log.session, log.team < 0) > 0)
    return int(np.unique(log.session[lead > most[log.session]]).size)

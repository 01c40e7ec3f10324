"""Interleaved sessions: a checked log, the credit of each session, the preference of each unit, the checks.

The unit is the user (or the query): sessions of one user resemble each other, so no test counts sessions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import Bools, Floats, InputError, Ints, codes, finite, numbers, ratio, same_length

if TYPE_CHECKING:
    import pandas as pd

NEUTRAL = -1


@dataclass(frozen=True)
class Log:
    """Shown items, sorted by session and position, and the unit of each session.

    `team` is 0 for the first arm, 1 for the second, −1 for a neutral item; `session` counts from 0.
    """

    session: Ints
    position: Ints
    team: Ints
    outcome: Floats
    unit: NDArray
    arms: tuple[str, str]


def read_log(
    session: ArrayLike,
    position: ArrayLike,
    team: ArrayLike,
    outcome: ArrayLike,
    *,
    unit: ArrayLike | None = None,
    arms: tuple[str, str],
    neutral: str | None = None,
) -> Log:
    """A checked `Log`; `unit` is the user (or query) of each row, the session where there is none.

    Raises InputError where a team is missing or is neither an arm nor `neutral`, an arm has no row, the positions
    of a session are not 1, 2, 3, … or a session has two units.
    """
    unit = session if unit is None else unit
    same_length(session=session, position=position, team=team, outcome=outcome, unit=unit)  # type: ignore[arg-type]
    number, names = codes(session)
    place = numbers("position", position)
    order = np.lexsort((place, number))
    number, place = number[order], place[order]
    _contiguous(number, place, names)
    owners = np.asarray(unit)[order]
    first = np.searchsorted(number, np.arange(names.size))
    crossed = np.flatnonzero(owners != owners[first][number])
    if crossed.size:
        raise InputError(f"session must belong to one unit, got two for session {names[number[crossed[0]]]}")
    return Log(
        number,
        place.astype(np.int64),
        _teams(np.asarray(team, dtype=object), arms, neutral)[order],
        finite("outcome", outcome)[order],
        owners[first],
        arms,
    )


def _teams(team: NDArray, arms: tuple[str, str], neutral: str | None) -> Ints:
    """0, 1 or −1 for each row's team."""
    from pandas import isna

    text = np.where(isna(team), "", team).astype(str)
    missing = np.flatnonzero(text == "")
    if missing.size:
        raise InputError(f"team must be given on every row, got none (row {missing[0]}; {missing.size} rows)")
    code = np.select([text == arms[0], text == arms[1], text == str(neutral)], [0, 1, NEUTRAL], default=-2)
    unknown = np.flatnonzero(code == -2)
    if unknown.size:
        allowed = ", ".join(arms if neutral is None else (*arms, neutral))
        raise InputError(f"team must be one of {allowed}, got {text[unknown[0]]} (row {unknown[0]})")
    for number, arm in enumerate(arms):
        if not (code == number).any():
            raise InputError(f"team must hold both arms, got no row of {arm}")
    return code.astype(np.int64)


def _contiguous(number: Ints, place: NDArray, names: NDArray) -> None:
    expected = np.arange(number.size) - np.searchsorted(number, number) + 1
    wrong = np.flatnonzero(place != expected)
    if wrong.size:
        at = wrong[0]
        raise InputError(
            f"position must run 1, 2, 3, … in each session, got {place[at]:g} instead of {expected[at]} "
            f"(session {names[number[at]]})"
        )


def credit(log: Log) -> Floats:
    """Sum of the outcome by session and arm: (sessions, 2). Neutral items give credit to nobody."""
    owned = log.team >= 0
    cell = log.session[owned] * 2 + log.team[owned]
    sums = np.bincount(cell, weights=log.outcome[owned], minlength=2 * log.unit.size)
    return sums.astype(np.float64).reshape(-1, 2)


def by_unit(unit: ArrayLike, first: ArrayLike, second: ArrayLike) -> pd.DataFrame:
    """One row a unit, from the credits of its sessions. Tests belong on these rows, never on sessions.

    Columns: unit, sessions, wins, ties, losses, silent (ties in which nothing was credited), first, second,
    delta = (wins + ties/2) / sessions − 1/2, share = first / (first + second), NaN where nothing was credited.

    >>> units = by_unit(["u", "u", "v"], [2, 0, 0], [1, 0, 1])
    >>> units[["unit", "wins", "ties", "silent", "delta"]].values.tolist()
    [['u', 1, 1, 1, 0.25], ['v', 0, 0, 0, -0.5]]
    """
    import pandas as pd

    one, two = finite("first", first), finite("second", second)
    same_length(unit=unit, first=one, second=two)  # type: ignore[arg-type]
    number, names = codes(unit)

    def total(amount: Floats | Bools) -> Floats:
        return np.bincount(number, weights=amount, minlength=names.size).astype(np.float64)

    sums = {"wins": one > two, "ties": one == two, "losses": one < two, "silent": (one == 0) & (two == 0)}
    counts = {name: total(flag).astype(np.int64) for name, flag in sums.items()}
    sessions = np.bincount(number, minlength=names.size)
    credited, other = total(one), total(two)
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


def total_share(units: pd.DataFrame) -> float:
    """The first arm's share of all credit, heavy users counting by what they use; NaN where there is none."""
    return float(ratio(units["first"].sum(), units["first"].sum() + units["second"].sum()))


def mean_share(units: pd.DataFrame) -> float:
    """Mean of the units' own shares, each unit counting once; units without credit are left out."""
    return float(units["share"].mean())


def checks(log: Log) -> pd.DataFrame:
    """What to look at before the verdict, one row a check: check, count, of, share, expected (or NaN).

    The first arm's share of the owned items at each position (1/2 under a fair coin; position 1 is the coin
    itself), sessions in which a team leads by more than one item somewhere, neutral items, outcome on neutral
    items, sessions without credit.
    """
    import pandas as pd

    owned, neutral = log.team >= 0, log.team < 0
    first = np.bincount(log.position, log.team == 0)
    shown = np.bincount(log.position, owned)
    rows = [(f"first arm at position {p}", first[p], shown[p], 0.5) for p in range(1, shown.size) if shown[p]]
    sessions = log.unit.size
    rows += [
        ("sessions with uneven teams", _uneven(log), sessions, np.nan),
        ("neutral items", neutral.sum(), neutral.size, np.nan),
        ("outcome on neutral items", log.outcome[neutral].sum(), log.outcome.sum(), np.nan),
        ("sessions without credit", (credit(log).sum(axis=1) == 0).sum(), sessions, np.nan),
    ]
    table = pd.DataFrame(rows, columns=["check", "count", "of", "expected"])
    table.insert(3, "share", ratio(table["count"], table["of"]))
    return table


def _uneven(log: Log) -> int:
    """Sessions in which one team leads by more than one item somewhere: no draft by rounds makes these.

    A neutral item can take the place of a pick and leave its round with one: there a lead of two is even still.
    """
    lead = np.cumsum(np.select([log.team == 0, log.team == 1], [1, -1]))
    start = np.searchsorted(log.session, np.arange(log.unit.size))
    before = np.concatenate([[0], lead])[start]
    most = 1 + (np.bincount(log.session, log.team < 0) > 0)
    return int(np.unique(log.session[np.abs(lead - before[log.session]) > most[log.session]]).size)

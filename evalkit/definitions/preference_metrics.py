"""The rows of the table of metrics for interleaved sessions: how far users preferred one arm, by user and in total."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.definitions.metric import Metric
from evalkit.metrics.rankings import Pooled

if TYPE_CHECKING:
    import pandas as pd

HEADS = {"interleaving": "Interleaving"}
ALIASES = {"delta_ab": "session_wins"}
NO_CREDIT = "no item of either arm brought anything"


@dataclass(frozen=True)
class Side:
    """One arm, one row a unit: its credit, the credit of both arms, sessions won (a tie is half of one), sessions."""

    credit: Floats
    both: Floats
    won: Floats
    sessions: Floats


def side(units: pd.DataFrame, arm: int) -> Side:
    """One arm of the frame that `sessions.by_unit` makes: 0 is its first arm, 1 its second.

    >>> from evalkit.online.sessions import by_unit
    >>> user_share(side(by_unit(["u", "v"], [2, 0], [1, 0]), 1)).round(3)
    array([0.333,   nan])
    """
    own, wins = ("first", "wins") if arm == 0 else ("second", "losses")
    both = units["first"] + units["second"]
    won = units[wins] + units["ties"] / 2
    return Side(*(np.asarray(one, dtype=np.float64) for one in (units[own], both, won, units["sessions"])))


def user_share(s: Side) -> Floats:
    """The arm's share of the user's credit. NaN where the user gave none."""
    return ratio(s.credit, s.both)


def user_preference(s: Side) -> Floats:
    """1 where the user gave the arm more credit than the other, ½ where as much, 0 where less. NaN where none.

    >>> user_preference(Side(np.array([3.0, 1, 0]), np.array([4.0, 2, 0]), np.zeros(3), np.ones(3)))
    array([1. , 0.5, nan])
    """
    return np.where(s.both > 0, 0.5 + np.sign(2 * s.credit - s.both) / 2, np.nan)


def session_wins(s: Side) -> Pooled:
    """(wins + ties / 2) / sessions of all users: Δ_AB + ½."""
    return Pooled(s.won, s.sessions)


def credit_share(s: Side) -> Pooled:
    """The arm's share of all credit: heavy users count by what they use."""
    return Pooled(s.credit, s.both)


def _row(name: str, metric: Callable[[Side], Floats | Pooled], formula: str, undefined: str, equals: str, **rest: str):
    return Metric(name, "interleaving", lambda s, k, level: metric(s), formula, undefined, equals, cut="never", **rest)  # type: ignore[arg-type]


ROWS = (
    _row(
        "user_share",
        user_share,
        "credit of the arm's items / credit of both arms' items, a user; each user counts once",
        NO_CREDIT,
        "none as such",
    ),
    _row(
        "user_preference",
        user_preference,
        "1 where the user's credit of the arm is larger, ½ where equal, 0 where smaller; its test is the sign test",
        NO_CREDIT,
        "scipy binomtest of the users that differ",
    ),
    _row(
        "session_wins",
        session_wins,
        "(sessions won + ties / 2) / sessions, over the sessions of all users; Δ_AB + ½",
        "there is no session",
        "none as such",
        reference="Chapelle, Joachims, Radlinski, Yue 2012, doi:10.1145/2094072.2094078",
    ),
    _row(
        "credit_share",
        credit_share,
        "Σ credit of the arm's items / Σ credit of both arms' items; heavy users count by what they use",
        NO_CREDIT,
        "none as such",
    ),
)

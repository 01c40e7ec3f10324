"""The rows of the table of metrics for interleaved sessions: how far users preferred one arm, by user and in total."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue.kinds import (
    Kind,
    PerUnit,
    Ratio,
)
from evalkit.catalogue.metric import Metric, described
from evalkit.metrics.sums import Sums

HEADS = {"interleaving": "Interleaving"}
ALIASES = {"delta_ab": "session_wins"}


@dataclass(frozen=True)
class Side:
    """One arm, one row a unit; `evalkit.online.sessions.sides` makes it.

    `credit` is the arm's, `whole` that of all arms; `beaten` the share of the other arms that got less from the unit, a
    tie half, and `won` the same added up over the unit's `sessions`.
    """

    credit: Floats
    whole: Floats
    beaten: Floats
    won: Floats
    sessions: Floats


def user_share(side: Side) -> Floats:
    """The arm's share of the user's credit. NaN where the user gave none.

    >>> user_share(Side(np.array([2.0, 0]), np.array([3.0, 0]), *np.zeros((3, 2)))).round(3)
    array([0.667,   nan])
    """
    return ratio(side.credit, side.whole)


def user_preference(side: Side) -> Floats:
    """1 where the user gave the arm more credit than the other, ½ where as much, 0 where less. NaN where none.

    Of several other arms the mean.

    >>> user_preference(Side(np.ones(2), np.array([1.0, 0]), np.array([0.75, 0.5]), *np.zeros((2, 2))))
    array([0.75,  nan])
    """
    return np.where(side.whole > 0, side.beaten, np.nan)


def session_wins(side: Side) -> Sums:
    """(wins + ties / 2) / sessions of all users: Δ_AB + ½."""
    return Sums(side.won, side.sessions)


def credit_share(side: Side) -> Sums:
    """The arm's share of all credit: heavy users count by what they use."""
    return Sums(side.credit, side.whole)


def _row(name: str, kind: Kind) -> Metric:
    return described(name, "interleaving", kind, cut="never")


ROWS = (
    _row("user_share", PerUnit(lambda side, k, level: user_share(side))),
    _row("user_preference", PerUnit(lambda side, k, level: user_preference(side))),
    _row("session_wins", Ratio(lambda side, k, level: session_wins(side))),
    _row("credit_share", Ratio(lambda side, k, level: credit_share(side))),
)

"""What the findings of interleaved sessions and A/B tables are measured by: the coin, credit, assignment, looks."""

from dataclasses import dataclass

import pandas as pd

from evalkit.catalogue.preferences import credit_share, session_wins, user_share
from evalkit.metrics.sums import Sums
from evalkit.studies.experiment import Experiment
from evalkit.studies.interleaving import Interleaving

BROKEN = 0.001  # below this p the coin or the assignment is broken, whatever the result
MANY_CROSSED = 0.01  # the share of users in several arms from which the assignment is in doubt
MANY_UNEVEN = 0.01  # the share of sessions with uneven teams from which the draft is in doubt
UNEVEN = "sessions with uneven teams"

# The log


@dataclass(frozen=True)
class Estimands:
    """The first arm's share as the mean over users, and of all credit. turned: True if only one of them is ahead."""

    by_user: float
    of_credit: float
    turned: bool


def estimands(s: Interleaving) -> Estimands:
    """What heavy users do to the answer."""
    side, even = s.sides()[0], 1 / len(s.systems)
    mean, total = Sums(user_share(side)).value, credit_share(side).value
    return Estimands(mean, total, (mean - even) * (total - even) < 0)


def less_even(s: Interleaving) -> pd.DataFrame:
    """The shares of `coins` with their limits, less what a fair coin gives: value, low, high."""
    return s.coins[["share", "low", "high"]].rename(columns={"share": "value"}) - 1 / len(s.systems)


def mostly_silent(s: Interleaving) -> bool:
    """True if more than half of the users credited no arm."""
    return s.silent > s.users / 2


def coin_p(s: Interleaving) -> float:
    """The smallest adjusted p of a fair coin over the positions."""
    return float(s.balance["adjusted"].min())


@dataclass(frozen=True)
class Uneven:
    """Sessions in which one team leads by more than a draft allows, their share, and whether they are many."""

    sessions: int
    share: float
    many: bool


def uneven(s: Interleaving) -> Uneven:
    """Sessions with uneven teams."""
    n = int(s.checks.set_index("check").at[UNEVEN, "count"])
    share = n / s.data.log.unit.size
    return Uneven(n, share, share > MANY_UNEVEN)


def delta_ab(s: Interleaving) -> float | None:
    """Wins of the first of two arms over all sessions, less a half; None of more arms."""
    return session_wins(s.sides()[0]).value - 0.5 if len(s.systems) == 2 else None


# The table of users


def users(s: Experiment) -> int:
    """The users of all arms."""
    return sum(s.sizes.values())


def many_crossed(s: Experiment) -> bool:
    """True if so many users are in several arms that the assignment is in doubt."""
    return s.assigned.crossed > MANY_CROSSED * users(s)


def misassigned(s: Experiment) -> bool:
    """True if chance does not explain the sizes of the arms."""
    return s.sample_ratio is not None and s.sample_ratio < BROKEN


def only_without_looks(s: Experiment) -> bool:
    """True if the smallest p is below 1 − level and above the bound that pays for the looks."""
    p = float(s.headline["p"].min())
    return s.looks is not None and s.looks["obrien_fleming"] < p < 1 - s.settings.level

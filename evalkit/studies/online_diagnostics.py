"""What the findings of interleaved sessions and A/B tables are measured by: the coin, credit, assignment, looks."""

from typing import Any

import pandas as pd

from evalkit.catalogue import lookup
from evalkit.studies.experiment_study import Experiment
from evalkit.studies.interleaving_study import Interleaving

BROKEN = 0.001  # below this p the coin or the assignment is broken, whatever the result
MANY_CROSSED = 0.01  # the share of users in several arms from which the assignment is in doubt
MANY_UNEVEN = 0.01  # the share of sessions with uneven teams from which the draft is in doubt
UNEVEN = "sessions with uneven teams"

# The log


def estimands(study: Interleaving) -> tuple[float, float, bool]:
    """The first arm's share as the mean over users, and of all credit; True if it is ahead by one of them alone."""
    even, (by_user, of_credit) = (
        1 / len(study.systems),
        (_of_first(study, name) for name in ("user_share", "credit_share")),
    )
    return by_user, of_credit, (by_user - even) * (of_credit - even) < 0


def less_even(study: Interleaving) -> pd.DataFrame:
    """The shares of `coins` with their limits, less what a fair coin gives: value, low, high."""
    return study.coins[["share", "low", "high"]].rename(columns={"share": "value"}) - 1 / len(study.systems)


def mostly_silent(study: Interleaving) -> bool:
    """True if more than half of the users credited no arm."""
    return study.silent > study.users / 2


def uneven(study: Interleaving) -> tuple[int, float]:
    """The sessions in which one team leads by more than a draft allows, and their share."""
    n = int(study.checks.set_index("check").at[UNEVEN, "count"])
    return n, n / study.sessions


def delta_ab(study: Interleaving) -> float | None:
    """Wins of the first of two arms over all sessions, less a half; None of more arms."""
    return _of_first(study, "session_wins") - 0.5 if len(study.systems) == 2 else None


def _of_first(study: Interleaving, name: str) -> float:
    """A metric of the first arm."""
    statistic: Any = study.measure(lookup.find(name, "interleaving"), study.systems[0])
    return float(statistic.value)


# The table of users

FEW_OTHERS = 10  # users of an arm with a value other than the usual one, of fewer the interval of its mean is too short


def few_others(study: Experiment) -> dict[str, int]:
    """Arms of so few users with a value other than the most frequent one of the first mean, and how many they are."""
    if study.plain is None:
        return {}
    return {name: n for name, n in study.others.items() if n < FEW_OTHERS}


def users(study: Experiment) -> int:
    """The users of all arms."""
    return sum(study.sizes.values())


def many_crossed(study: Experiment) -> bool:
    """True if so many users are in several arms that the assignment is in doubt."""
    return study.crossed > MANY_CROSSED * users(study)


def only_without_looks(study: Experiment) -> bool:
    """True if the smallest p is below 1 − level and above the bound that pays for the looks."""
    p = float(study.headline["p"].min())
    return study.looks is not None and study.looks["obrien_fleming"] < p < 1 - study.settings.level

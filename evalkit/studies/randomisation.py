"""Whether users were assigned to the arms at random: their numbers in the arms, and a covariate."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.findings.kinds import NOTE, SEVERE, WARNING, Severity
from evalkit.numbers import p_value
from evalkit.online import experiments
from evalkit.parameters.kinds import UNKNOWN, written
from evalkit.parameters.policy import obstacle
from evalkit.statistics.independent import centre_values

BROKEN_BELOW_P = 0.001  # below this p the coin or the assignment is broken, whatever the result
# the same where no shares were stated, so that unequal ones may have been planned, or where skewed
# values could give such a p by chance
BROKEN_WITHOUT_PLAN = 1e-6
UNBALANCED = 0.01  # below this p the means of a covariate differ more than chance easily explains


class Check(NamedTuple):
    """A check of the assignment. p: NaN if it cannot be made. words: the planned shares, or the
    means that were found.

    obstacle: why no result of these users counts; "" if results count.
    """

    p: float
    words: str
    severity: Severity
    obstacle: str


NOT_MADE = Check(math.nan, "", NOTE, "")


def check(p: float, warning: float, broken: float, words: str, reason: str) -> Check:
    """The check with this p. warning: the p below which it is one. broken: the p below which no
    result counts, for the given reason.
    """
    if p < broken:
        return Check(p, words, SEVERE, reason)
    severity = WARNING if p < warning else NOTE
    return Check(p, words, severity, obstacle="")


def sample_ratio(sizes: Mapping[str, int], plan: Mapping[str, float] | str | None) -> Check:
    """Check the users by arm against the planned share of each arm.

    plan: arm -> its planned share. None: no shares were stated, so that equal ones are tested, at a
    stricter level, since unequal ones may have been planned. `UNKNOWN`: the planned shares are not
    known, and the check is not made. sizes: arm -> the number of its users.

    >>> found = sample_ratio({"a": 300, "b": 100}, None)
    >>> found.words, found.severity.value
    ('equal arms', 'severe')
    >>> sample_ratio({"a": 300, "b": 100}, {"b": 0.25, "a": 0.75}).p
    1.0
    """
    if plan == UNKNOWN:
        return NOT_MADE
    words = "equal arms"
    broken = BROKEN_WITHOUT_PLAN  # the p below which no result counts
    shares = None  # equal ones
    if isinstance(plan, Mapping):
        stated = written({arm: f"{share:g}" for arm, share in plan.items()})
        words = f"the planned shares {stated}"
        broken = BROKEN_BELOW_P
        shares = [plan[arm] for arm in sizes]
    p = experiments.sample_ratio(list(sizes.values()), shares)
    users = " and ".join(f"{arm} {size:,}" for arm, size in sizes.items())
    # the message of the check if p is below `broken`
    reason = obstacle("assignment", sizes=users, plan=words, p=p_value(p))
    return check(p, warning=BROKEN_BELOW_P, broken=broken, words=words, reason=reason)


def balance(column: str, values: Mapping[str, Floats]) -> Check:
    """Check by analysis of variance that the arms have the same mean of a covariate from before the
    experiment. column: the name of the covariate. values: those of the users, by arm.

    The arms have one variance, as users are assigned at random. Welch's test, with a variance per
    arm, rejects up to 9 times as often as its level says if values are skewed and arms unequal in
    size. p is NaN if no value differs, or there are no more users than arms.

    >>> found = balance("past", {"a": np.array([1.0, 2.0]), "b": np.array([2.0, 4.0])})
    >>> found.words, round(found.p, 4)
    ('1.5 in a and 3 in b', 0.3118)
    """
    from scipy.special import betainc

    arms = {arm: centre_values(values_of_arm) for arm, values_of_arm in values.items()}
    deviations = centre_values(np.concatenate(list(values.values()))).deviations
    total_squares = deviations @ deviations
    squares_in_arms = sum(arm.deviations @ arm.deviations for arm in arms.values())
    freedom_of_means = len(arms) - 1
    freedom_in_arms = len(deviations) - len(arms)
    # The F test, whose F is large if the share of the squares that lies within the arms is small.
    # With equal means this share has a beta distribution.
    share_in_arms = ratio(squares_in_arms, total_squares)
    p = float(betainc(freedom_in_arms / 2, freedom_of_means / 2, share_in_arms))
    means = " and ".join(
        f"{values_of_arm.mean:,.5g} in {arm}" for arm, values_of_arm in arms.items()
    )
    # the message of the check if p is so small that no result counts
    reason = obstacle("covariate", column=column, means=means, p=p_value(p))
    return check(p, warning=UNBALANCED, broken=BROKEN_WITHOUT_PLAN, words=means, reason=reason)

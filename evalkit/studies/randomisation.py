"""Whether users were assigned to the arms at random: their numbers in the arms, and a covariate."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.numbers import p_value
from evalkit.online.experiments import Assignment, sample_ratio
from evalkit.parameters.kinds import UNKNOWN, written
from evalkit.parameters.policy import obstacle

BROKEN = 0.001  # below this p the coin or the assignment is broken, whatever the result
# the same where no shares were stated, so that unequal ones may have been planned, or where skewed
# values could give such a p by chance
BROKEN_WITHOUT_PLAN = 1e-6
UNBALANCED = 0.01  # below this p the means of a covariate differ more than chance easily explains


@dataclass(frozen=True)
class SampleRatio:
    """The users of each arm beside the planned shares.

    sizes: users by arm. plan: the planned share of each arm, None for equal ones, or `unknown`.

    >>> shares = SampleRatio({"a": 300, "b": 100}, None)
    >>> shares.against, shares.mismatch, bool(shares.obstacle)
    ('equal arms', True, True)
    """

    sizes: Mapping[str, int]
    plan: Mapping[str, float] | str | None

    @property
    def against(self) -> str:
        """The planned shares, as text."""
        if not isinstance(self.plan, Mapping):
            return "equal arms"
        shares = {arm: f"{share:g}" for arm, share in self.plan.items()}
        return f"the planned shares {written(shares)}"

    @cached_property
    def p_value(self) -> float | None:
        """The p-value of `sample_ratio`; None if the plan is unknown."""
        if self.plan == UNKNOWN:
            return None
        shares = None
        if isinstance(self.plan, Mapping):
            shares = [self.plan[arm] for arm in self.sizes]
        return sample_ratio([*self.sizes.values()], shares)

    @property
    def mismatch(self) -> bool:
        """True if the shares clearly differ from the plan; `obstacle` says whether results count
        all the same.
        """
        return self.p_value is not None and self.p_value < BROKEN

    @property
    def obstacle(self) -> str:
        """Why no result of these users counts; "" if results count."""
        limit = BROKEN if isinstance(self.plan, Mapping) else BROKEN_WITHOUT_PLAN
        if self.p_value is None or self.p_value >= limit:
            return ""
        users = " and ".join(f"{arm} {size:,}" for arm, size in self.sizes.items())
        return obstacle("assignment", sizes=users, plan=self.against, p=p_value(self.p_value))


@dataclass(frozen=True)
class Balance:
    """A covariate from before the experiment in the arms: its mean by arm, and the p-value of
    equal means.
    """

    column: str
    means: Mapping[str, float]
    p_value: float

    @classmethod
    def of(cls, column: str, values: Floats, assigned: Assignment) -> "Balance":
        """The balance of the users' values, by analysis of variance.

        One variance for all arms, which random assignment makes equal: of skewed values in arms of
        unequal size Welch's test alarms up to 9 times as often as its level says. p is NaN if no
        value differs, or there are no more users than arms.

        >>> from evalkit.online.experiments import assignment
        >>> users = assignment(["u", "v", "w", "x"], ["a", "a", "b", "b"], arms=("a", "b"))
        >>> balance = Balance.of("past", np.array([1.0, 2.0, 2.0, 4.0]), users)
        >>> balance.means, round(balance.p_value, 4)
        ({'a': 1.5, 'b': 3.0}, 0.3118)
        """
        from scipy.special import betainc

        sizes = np.bincount(assigned.arm)
        means = np.bincount(assigned.arm, weights=values) / sizes
        inside = values - means[assigned.arm]
        between = sizes @ (means - values.mean()) ** 2
        unexplained = ratio(inside @ inside, inside @ inside + between)
        arms, users = len(sizes), len(values)
        p = float(betainc((users - arms) / 2, (arms - 1) / 2, unexplained))
        return cls(column, dict(zip(assigned.arms, means.tolist(), strict=True)), p)

    @property
    def means_in_words(self) -> str:
        """The mean of each arm, as text."""
        return " and ".join(f"{mean:,.5g} in {arm}" for arm, mean in self.means.items())

    @property
    def mismatch(self) -> bool:
        """True if the means clearly differ; `obstacle` says whether results count all the same."""
        return self.p_value < UNBALANCED

    @property
    def obstacle(self) -> str:
        """Why no result of these users counts; "" if results count."""
        if not self.p_value < BROKEN_WITHOUT_PLAN:
            return ""
        facts = {"column": self.column, "means": self.means_in_words, "p": p_value(self.p_value)}
        return obstacle("covariate", **facts)

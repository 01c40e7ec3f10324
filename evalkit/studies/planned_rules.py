"""What the rules of a policy will catch, before there are results."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from evalkit.arrays import ParameterError
from evalkit.parameters.policy import Against, Bound, Plan, Policy, PolicyRule, obstacle
from evalkit.statistics.sensitivity import ErrorOf
from evalkit.statistics.spread import Interval
from evalkit.studies import catching
from evalkit.studies.policy import decided
from evalkit.studies.study import framed

LEVEL = 0.95  # of a rule that is not in a file


@framed
def planned(policy: Policy) -> Iterator[dict[str, Any]]:
    """What each rule about a number will catch, of one system or pair on all units.

    Raises ParameterError if the policy does not say what data are planned.
    """
    plan = policy.plan
    if plan is None or (plan.share is None and (plan.mean is None or plan.sd is None)):
        raise ParameterError(obstacle("unplanned", name=policy.name))
    rules = [rule for rule in policy.rules if isinstance(rule.claim, Bound | Against)]
    tested = sum(rule.claim.may_err for rule in rules)
    level = 1 - (1 - (policy.level or LEVEL)) / max(tested, 1)
    for rule in rules:
        yield {"that": rule.that} | _catch(rule, plan, level)._asdict()


def _catch(rule: PolicyRule, plan: Plan, level: float) -> catching.Catch:
    claim = rule.claim
    ends = Interval(-np.inf, np.inf) if plan.share is None else Interval(0.0, 1.0)
    if isinstance(claim, Bound):
        value = plan.mean if plan.share is None else plan.share
        error = _error_of_value(plan)
    else:
        value = 0.0
        error = _error_of_difference(plan)
    assert value is not None
    evidence = catching.Evidence(value, plan.units, 1, None, level, level, ends, error)
    return catching.catch(rule, evidence, lambda other: decided(claim, other, 1, None))


def _error_of_value(plan: Plan) -> ErrorOf:
    """The standard error of a share by the true share, or of a mean."""

    def of_share(share: float) -> float:
        return float(np.sqrt(max(share * (1 - share), 0.0) / plan.units))

    if plan.share is not None:
        return of_share
    assert plan.sd is not None
    error = plan.sd / plan.units**0.5
    return lambda mean: error


def _error_of_difference(plan: Plan) -> ErrorOf:
    """The standard error of the difference of two correlated shares or means.

    The share of units on which two shares differ grows with their difference.
    """
    if plan.share is None:
        assert plan.sd is not None
        error = plan.sd * (2 * (1 - plan.correlation) / plan.units) ** 0.5
        return lambda difference: error
    differing = 2 * plan.share * (1 - plan.share) * (1 - plan.correlation)

    def of_shares(difference: float) -> float:
        return float(np.sqrt((differing + (1 - differing) * abs(difference)) / plan.units))

    return of_shares

"""What the rules of a policy will catch, before there are results."""

from collections.abc import Iterator

import numpy as np

from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.parameters.policy import (
    Bound,
    Claim,
    ComparisonClaim,
    Plan,
    Policy,
    PolicyRule,
    obstacle,
)
from evalkit.statistics.intervals import Comparison
from evalkit.statistics.sensitivity import ErrorOf
from evalkit.statistics.spread import Interval
from evalkit.studies import catching
from evalkit.studies.policy import decided
from evalkit.studies.study import Row, as_data_frame

LEVEL = 0.95  # of a rule that is not in a file
OF_SHARE = Interval(0.0, 1.0)
OF_MEAN = Interval(-np.inf, np.inf)
HIGHER_IS_BETTER = 1


@as_data_frame
def planned(policy: Policy) -> Iterator[Row]:
    """Which regressions each rule about a number will catch, for one system or pair on all units: a
    row for each rule, of `that` (its text) and the fields of `catching.Catch`.

    Raises ParameterError if the policy does not say what data are planned, or plans a share, but a
    rule is about a metric that is not a share.
    """
    plan = policy.plan
    # a plan needs a share, or else a mean with its standard deviation
    if plan is None or (plan.share is None and (plan.mean is None or plan.sd is None)):
        raise ParameterError(obstacle("unplanned", name=policy.name))
    # the rules about a number: a bound of a value, or a comparison with another system
    rules = [rule for rule in policy.rules if isinstance(rule.claim, Bound | ComparisonClaim)]
    # a test or a limit decides these; the others compare the estimate itself with a number
    tests = [rule for rule in rules if rule.claim.may_err]
    error_rate = 1 - (policy.level or LEVEL)
    level = 1 - error_rate / max(len(tests), 1)  # adjusted by Bonferroni
    for rule in rules:
        if plan.share is not None and not _may_be_of_share(rule.claim):
            raise ParameterError(obstacle("not_a_share", place=rule.place, rule=rule.that))
        yield {"that": rule.that} | _catch(rule, plan, level)._asdict()


def _may_be_of_share(claim: Claim) -> bool:
    """True if the metric of a rule, and the number that it states, may lie between 0 and 1."""
    assert isinstance(claim, Bound | ComparisonClaim)
    if isinstance(claim, Bound) and not OF_SHARE.low <= claim.number <= OF_SHARE.high:
        return False
    meanings = lookup.meanings_anywhere(claim.metric or "")
    # an own metric is not in the catalogue
    return not meanings or any(chosen.metric.ends == OF_SHARE for chosen in meanings)


def _catch(rule: PolicyRule, plan: Plan, level: float) -> catching.Catch:
    """Which regressions a rule catches on the planned data. level: of its test, adjusted for other
    rules.

    The plan states no direction and no margin: a higher value is better, and a margin can only come
    from the rule.
    """
    claim = rule.claim
    assert isinstance(claim, Bound | ComparisonClaim)  # the others are about no number
    metric_value = plan.mean if plan.share is None else plan.share
    assert metric_value is not None
    if isinstance(claim, ComparisonClaim):  # about a difference, which is 0 for an unchanged model
        expected_estimate = 0.0
        error = _error_of_difference(plan)
    else:  # about the value of a system
        expected_estimate = metric_value
        error = _error_of_value(plan)
    range_of_metric = OF_MEAN if plan.share is None else OF_SHARE
    evidence = catching.Evidence(
        expected_estimate=expected_estimate,
        metric_value=metric_value,
        n=plan.units,
        direction=HIGHER_IS_BETTER,
        margin=None,
        level=level,  # of limits
        family_level=level,  # of tests: both are adjusted alike
        ends=range_of_metric,
        error=error,
    )

    def result(comparison: Comparison) -> str:
        """The result of the rule for a comparison that the planned data could give."""
        return decided(claim, comparison, HIGHER_IS_BETTER, margin=None)

    return catching.catch(rule, evidence, result)


def _error_of_value(plan: Plan) -> ErrorOf:
    """The standard error of a system's value, as a function of the true value: of a share, on which
    it depends, or of a mean, with the same error for every true mean.
    """

    def of_share(share: float) -> float:
        """The standard error of the share of hits among independent units."""
        variance = max(share * (1 - share), 0.0)
        return float(np.sqrt(variance / plan.units))

    if plan.share is not None:
        return of_share
    assert plan.sd is not None
    error = plan.sd / plan.units**0.5
    return lambda mean: error


def _error_of_difference(plan: Plan) -> ErrorOf:
    """The standard error of the difference of two shares or means of the same units, as a function
    of the true difference. correlation: of a unit's two values.

    For means it is sd · √(2 (1 − correlation) / units), whatever the true difference is.

    For shares a unit's difference is −1, 0 or 1. Its variance is q − d², where q is the share of
    units whose values differ and d the true difference. At d = 0 both systems have the planned
    share p, and q is 2 p (1 − p) (1 − correlation). From there q is taken to grow linearly with
    |d|, to 1 at |d| = 1, where all units differ.
    """
    if plan.share is None:
        assert plan.sd is not None
        variance_ratio = 2 * (1 - plan.correlation)  # of a unit's difference to its value
        error = plan.sd * (variance_ratio / plan.units) ** 0.5
        return lambda difference: error
    differing_at_0 = 2 * plan.share * (1 - plan.share) * (1 - plan.correlation)

    def of_difference(difference: float) -> float:
        """The standard error of the difference of two shares, from its variance per unit."""
        differing = differing_at_0 + (1 - differing_at_0) * abs(difference)  # q
        variance = differing - difference**2
        return float(np.sqrt(variance / plan.units))

    return of_difference

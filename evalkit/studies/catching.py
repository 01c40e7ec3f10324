"""What the rules of a policy catch, by the spread of data that are there or planned."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from evalkit.parameters.policy import Bound, ComparisonClaim, PolicyRule
from evalkit.statistics.alternatives import Alternative
from evalkit.statistics.intervals import Comparison, Estimate, normal_quantile
from evalkit.statistics.sensitivity import ErrorOf, Sensitivity
from evalkit.statistics.significance import compare, equivalence_level
from evalkit.statistics.spread import Interval

FEWEST = 2  # units that have a spread


@dataclass(frozen=True, eq=False)
class Evidence:
    """What decides a rule on the number of a system, or on the difference of a pair.

    expected_estimate: that of an unchanged model, whose difference is 0. metric_value: of an
    unchanged model; of a pair, that of the second system. n: units, above 0. direction: −1 if lower
    values are better. margin: of the report. level: of limits. family_level: of tests, adjusted for
    others. ends: of the metric. error: true value or difference -> standard error. alternative: the
    question of the comparison. limit_distance_factor: how many times further limits lie from the
    estimate than normal limits, which are at a quantile times the standard error.
    """

    expected_estimate: float
    metric_value: float
    n: int
    direction: int
    margin: float | None
    level: float
    family_level: float
    ends: Interval
    error: ErrorOf
    alternative: Alternative = Alternative.TWO_SIDED
    limit_distance_factor: float = 1.0

    def of_units(self, units: int) -> "Evidence":
        """The evidence of another number of units."""
        narrower = (self.n / units) ** 0.5  # standard errors fall with the root of the units
        return replace(self, n=units, error=lambda value: narrower * self.error(value))

    @cached_property
    def normal_quantiles(self) -> dict[float, float]:
        """Level of limits -> their distance from an estimate in standard errors, if normal."""
        tested = (self.level, self.family_level)
        levels = [self.alternative.two_sided_level(level) for level in tested]
        levels += [equivalence_level(level) for level in (self.level, levels[0])]
        return {level: normal_quantile(level) for level in levels}

    def comparison_of_sample(self, estimate: float, error: float) -> Comparison:
        """The comparison that a new sample with this estimate (a difference or a value) and this
        standard error would give. A rule of a policy reads only whether the test rejects, so that p
        is 0 if it does and else 1, and the limits; texts such as the method are empty.
        """

        def interval(limits_level: float) -> Estimate:
            """The estimate with two-sided limits: quantile · standard error away from it if they
            are normal, and `limit_distance_factor` times as far if the study has wider ones.
            limits_level: one for which `normal_quantiles` has the quantile.
            """
            distance = self.limit_distance_factor * self.normal_quantiles[limits_level] * error
            return Estimate(
                estimate,
                low=estimate - distance,
                high=estimate + distance,
                level=self.level,
                n=self.n,
                method="",
            )

        question = self.alternative
        # A one-sided question at a level uses one limit of a two-sided interval at a lower level:
        # at 95% one of 90%. The test is two-sided at first, and stricter than the limits, as it is
        # adjusted for the other comparisons.
        tested_level = question.two_sided_level(self.family_level)
        critical_distance = self.normal_quantiles[tested_level] * error
        p = 0.0 if abs(estimate) > critical_distance else 1.0
        limits_level = question.two_sided_level(self.level)
        two_sided = compare(interval, p, level=limits_level, unit="", method="")
        # one-sided: drops the limit and the rejection on the side that was not asked for
        answer = two_sided.answering(question, level=self.level)
        # equivalence is always tested at the level itself, whatever the question
        return replace(answer, equivalence=interval(equivalence_level(self.level)))


class Catch(NamedTuple):
    """What a rule catches, as columns.

    catches: the smallest true regression that fails the rule with 80% probability; NaN if none
    does. unchanged_fails: the probability that an unchanged model fails the rule. margin: the
    regression that the rule should catch. power: the probability that a regression of this size
    fails the rule. units_needed: the number of units from which on a regression of the margin fails
    the rule with at least 80%, and an unchanged model with at most 20% probability; NaN if no
    number is enough. A number that is not known is NaN, too.
    """

    catches: float = math.nan
    unchanged_fails: float = math.nan
    margin: float = math.nan
    power: float = math.nan
    units_needed: float = math.nan


def catch(rule: PolicyRule, evidence: Evidence, result: Callable[[Comparison], str]) -> Catch:
    """How likely a rule fails in new samples like this evidence, if the model has become worse by a
    true regression; the fields of `Catch`. result: comparison -> result of the rule.

    margin: the regression that the rule should catch, `rule.catch`, else the largest that its claim
    allows. Fields about it are NaN if it is not above 0.
    """
    # what the claim allows: a bound the distance of the expected estimate from its number, a
    # comparison the margin of the claim or that of the report
    claim = rule.claim
    if isinstance(claim, Bound):
        # the sign of a regression: `value >= number` fails from lower estimates, so that it is −1
        worse_sign = -1 if claim.sign == ">=" else 1
        allowed = worse_sign * (claim.number - evidence.expected_estimate)
        critical_numbers = [claim.number]
    else:
        assert isinstance(claim, ComparisonClaim)
        worse_sign = -evidence.direction
        allowed = claim.within or evidence.margin or 0.0
        # the test compares the difference with 0, equivalence and "not worse" with ± the margin
        critical_numbers = [0.0, allowed, -allowed]
    # The result changes only where the estimate or one of its limits equals a critical number. The
    # limits lie at these distances, in standard errors: those of the test at normal quantiles, the
    # others `limit_distance_factor` times as far.
    quantiles = list(evidence.normal_quantiles.values())
    limit_distances = quantiles + [
        evidence.limit_distance_factor * quantile for quantile in quantiles
    ]
    # a model cannot become worse than the worst value of the metric
    worst = evidence.ends.low if worse_sign < 0 else evidence.ends.high

    def fails(estimate: float, error: float) -> bool:
        """True if a sample with this estimate and standard error fails the rule."""
        return rule.fails(result(evidence.comparison_of_sample(estimate, error)))

    def error_at(regression: float) -> float:
        """The standard error at a true regression; it depends on the true value of the metric."""
        return evidence.error(evidence.expected_estimate + worse_sign * regression)

    # the probability that `fails` is true for normal estimates around a true value, by how much
    # worse this is than the expected one
    sensitivity = Sensitivity(
        fails=fails,
        expected_estimate=evidence.expected_estimate,
        worse_sign=worse_sign,
        error=error_at,
        critical_numbers=critical_numbers,
        limit_distances=limit_distances,
        largest=abs(evidence.metric_value - worst),
    )
    without_margin = Catch(catches=sensitivity.caught, unchanged_fails=sensitivity.unchanged_fails)
    margin = rule.catch or allowed
    if not margin > 0:
        return without_margin
    units_needed = math.nan
    # the factor by which the number of units must grow for the rule to fail a regression of the
    # margin with 80% and an unchanged model with at most 20%; NaN if no number is enough
    growth = sensitivity.growth(margin)
    if not math.isnan(growth):
        units_needed = max(math.ceil(growth * evidence.n), FEWEST)
    power = sensitivity.probability(margin)
    return without_margin._replace(margin=margin, power=power, units_needed=units_needed)

"""What the rules of a policy catch, by the spread of data that are there or planned."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from evalkit.parameters.policy import Against, Bound, PolicyRule
from evalkit.statistics.alternatives import Alternative
from evalkit.statistics.intervals import Comparison, Estimate, normal_quantile
from evalkit.statistics.sensitivity import ErrorOf, Sensitivity
from evalkit.statistics.significance import compare, equivalence_level
from evalkit.statistics.spread import Interval

FEWEST = 2  # units that have a spread


@dataclass(frozen=True, eq=False)
class Evidence:
    """What decides a rule on the number of a system, or on the difference of a pair.

    value: expected of an unchanged model; 0 of a difference. unchanged: the metric of an unchanged
    model; of a pair, that of the second system. n: units, above 0. direction: −1 if lower values
    are better. margin: of the report. level: of limits. family_level: of tests, adjusted for
    others. ends: of the metric. error: true value or difference -> standard error. alternative: the
    question of the comparison. stretch: of the distances of limits from the estimate, where they
    are no multiples of the standard error by normal quantiles.
    """

    value: float
    unchanged: float
    n: int
    direction: int
    margin: float | None
    level: float
    family_level: float
    ends: Interval
    error: ErrorOf
    alternative: Alternative = Alternative.TWO_SIDED
    stretch: float = 1.0

    def of_units(self, units: int) -> "Evidence":
        """The evidence of another number of units."""
        narrower = (self.n / units) ** 0.5  # standard errors fall with the root of the units
        return replace(self, n=units, error=lambda value: narrower * self.error(value))

    @cached_property
    def reaches(self) -> dict[float, float]:
        """The distances of limits from an estimate by their level, in standard errors."""
        tested = (self.level, self.family_level)
        levels = [self.alternative.two_sided_level(level) for level in tested]
        levels += [equivalence_level(level) for level in (self.level, levels[0])]
        return {level: normal_quantile(level) for level in levels}

    def of_sample(self, estimate: float, error: float) -> Comparison:
        """The comparison in another sample: its estimate with limits by its standard error."""

        def interval(limits_level: float) -> Estimate:
            """The estimate with its limits at this level."""
            reach = self.stretch * self.reaches[limits_level] * error
            return Estimate(estimate, estimate - reach, estimate + reach, self.level, self.n, "")

        question = self.alternative
        family_reach = self.reaches[question.two_sided_level(self.family_level)] * error
        p = 0.0 if abs(estimate) > family_reach else 1.0
        two_sided_level = question.two_sided_level(self.level)
        comparison = compare(interval, p, level=two_sided_level, unit="", method="")
        answer = comparison.answering(question, level=self.level)
        return replace(answer, equivalence=interval(equivalence_level(self.level)))


class Catch(NamedTuple):
    """What a rule catches, as columns.

    catches: the smallest true regression that fails it with 80% probability. unchanged_fails: the
    probability that an unchanged model does. margin: the regression that it should catch. power:
    the probability that this one fails it. units_needed: the number of units from which on the
    margin fails it with 80% and an unchanged model with at most 20% probability. NaN: none does, or
    it is not known.
    """

    catches: float = math.nan
    unchanged_fails: float = math.nan
    margin: float = math.nan
    power: float = math.nan
    units_needed: float = math.nan


def catch(rule: PolicyRule, evidence: Evidence, result: Callable[[Comparison], str]) -> Catch:
    """What a rule catches. result: of the rule by other evidence."""
    claim = rule.claim
    if isinstance(claim, Bound):
        sign = -1 if claim.sign == ">=" else 1
        bounds = [claim.number]
        margin = sign * (claim.number - evidence.value)
    else:
        assert isinstance(claim, Against)
        sign = -evidence.direction
        margin = claim.within or evidence.margin or 0.0
        bounds = [0.0, margin, -margin]
    reaches = list(evidence.reaches.values())
    reaches += [evidence.stretch * reach for reach in evidence.reaches.values()]
    worst = evidence.ends.low if sign < 0 else evidence.ends.high

    def fails(estimate: float, error: float) -> bool:
        """Whether a sample with this estimate fails the rule."""
        return rule.fails(result(evidence.of_sample(estimate, error)))

    sensitivity = Sensitivity(
        fails=fails,
        unchanged=evidence.value,
        sign=sign,
        error=lambda regression: evidence.error(evidence.value + sign * regression),
        bounds=bounds,
        reaches=reaches,
        largest=abs(evidence.unchanged - worst),
    )
    without_margin = Catch(sensitivity.caught, sensitivity.unchanged_fails)
    regression = rule.catch or margin
    if not regression > 0:
        return without_margin
    units_needed = math.nan
    growth = sensitivity.growth(regression)
    if not math.isnan(growth):
        units_needed = max(math.ceil(growth * evidence.n), FEWEST)
    power = sensitivity.probability(regression)
    return without_margin._replace(margin=regression, power=power, units_needed=units_needed)

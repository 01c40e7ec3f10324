"""A study whose metrics come with what each row adds: per-row values, ratios of sums, or the effects of rows."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats
from evalkit.definitions.metric import Chosen, Effects
from evalkit.statistics import inference, perunit, proportions
from evalkit.statistics.intervals import Estimate, wilson
from evalkit.statistics.significance import Comparison
from evalkit.studies.study import EVERY, Member, Study
from evalkit.studies.words import unit_noun

RIGHT = ("accuracy", "exact_match")  # one row is right or wrong: Wilson and McNemar


@dataclass(frozen=True, eq=False, repr=False)
class RowStudy(Study):
    """Estimates and comparisons of `structure`; the units are rows, or the unit that was named."""

    @abstractmethod
    def structure(self, system: str) -> Any:
        """What the metrics of the catalogue take, of all rows of a system; it has `take` and `weight`."""

    @property
    def unit_name(self) -> str:
        """The row, or the unit that the user named."""
        return unit_noun(self.settings.unit, "unit") if self.settings.unit else "row"

    def _found(self, chosen: Chosen, system: str, member: Member) -> inference.Found:
        return chosen.values(self.structure(system).take(member))

    def units(self, member: Member) -> np.ndarray | None:
        """The units of the members, None where rows are the units."""
        return None if self.unit is None else self.unit[member]

    @property
    def many_units(self) -> int:
        """How many units there are."""
        return len(self.structure(self.systems[0]).actual) if self.unit is None else len(np.unique(self.unit))

    def plain(self, system: str) -> bool:
        """Whether rows are the units and count alike."""
        return self.unit is None and self.structure(system).weight is None

    def estimate(self, chosen: Chosen, system: str, member: Member = EVERY) -> Estimate:
        """The metric with its interval, clustered where a unit was named."""
        found = self._found(chosen, system, member)
        if chosen.metric.name in RIGHT and self.plain(system) and isinstance(found, np.ndarray):
            return wilson(int(found.sum()), len(found), level=self.settings.level)
        limits = {"low": chosen.metric.low, "high": chosen.metric.high}
        return inference.estimate(found, self.units(member), level=self.settings.level, **limits)

    def compare(self, chosen: Chosen, pair: tuple[str, str], member: Member = EVERY) -> Comparison:
        """first − second on the same rows; NaN where the metric is undefined."""
        first, second = (self._found(chosen, name, member) for name in pair)
        level, name = self.settings.level, self.unit_name
        if empty(first) or empty(second):
            return inference.undefined(level, name)
        if chosen.metric.name in RIGHT and self.plain(pair[0]):
            only = int((first > second).sum()), int((second > first).sum())  # type: ignore[operator]
            return proportions.mcnemar(*only, len(first), level=level, unit=name)  # type: ignore[arg-type]
        return inference.compare(first, second, self.units(member), level=level, rng=self.rng(2), name=name)

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """The difference that so many rows would show."""
        return {"detectable": inference.detectable(self.compare(chosen, pair))}

    def mean(self, values: Floats, weight: Floats | None, member: Member = EVERY) -> Estimate:
        """The weighted mean over members with its interval."""
        some = values[member] if weight is None else perunit.Pooled((values * weight)[member], weight[member])
        limits = {"low": -np.inf, "high": np.inf}
        return inference.estimate(some, self.units(member), level=self.settings.level, **limits)

    def share(self, member: Bools, hit: Bools, weight: Floats | None) -> Estimate:
        """Hits among the member rows: Wilson, or the delta method where rows cluster or carry weights."""
        if self.unit is None and weight is None:
            return wilson(int((member * hit).sum()), int(member.sum()), level=self.settings.level)
        w = np.where(member, 1.0 if weight is None else weight, 0.0)
        return self.part_of_1(perunit.Pooled(np.where(hit, w, 0.0), w))

    def part_of_1(self, found: inference.Found) -> Estimate:
        """A number from 0 to 1 of all rows with its interval."""
        return inference.estimate(found, self.unit, level=self.settings.level, low=0.0, high=1.0)


def empty(found: inference.Found) -> bool:
    """Whether nothing is defined."""
    return bool(np.isnan(found.value)) if isinstance(found, Effects) else not perunit.defined(found).any()

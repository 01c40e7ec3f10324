"""The study of an A/B table whose users are in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats
from evalkit.catalogue.lookup import Chosen
from evalkit.metrics.sums import Sums
from evalkit.online import experiments
from evalkit.online.experiments import Assignment
from evalkit.statistics import methods, permutation
from evalkit.statistics.significance import Comparison
from evalkit.statistics.statistic import Layout, OfUnits
from evalkit.studies import units
from evalkit.studies.experiment_study import TOPS, Control, Experiment
from evalkit.studies.study import EVERY, Member
from evalkit.studies.units import Units


@dataclass(frozen=True, eq=False, repr=False)
class RowsStudy(Experiment):
    """The study of users at hand. numbers: one element a user, by column. users: their ids."""

    assigned: Assignment
    numbers: Mapping[str, Floats]
    users: np.ndarray

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Users by arm."""
        return {name: int(self._in(name).sum()) for name in self.systems}

    @property
    def crossed(self) -> int:
        """Users seen in several arms, who are left out."""
        return self.assigned.crossed

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> OfUnits:
        """One value a user of the arm."""
        return OfUnits(chosen, chosen.sums(self.numbers).take(self._in(system, member)), design=Layout.INDEPENDENT)

    def units_held(self) -> Units:
        """One value a user, in the rows of the user's arm."""
        sums = [(chosen, chosen.sums(self.numbers)) for chosen in self.settings.metrics]
        blocks = units.of_arms(self.systems, self.assigned.arm, sums, self.listed(self.users))
        return Units(len(self.users), blocks, self.settings.segments)

    def _in(self, system: str, member: Member = EVERY) -> Bools:
        members = np.zeros(self.assigned.arm.size, dtype=np.bool_)
        members[member] = True
        return members & (self.assigned.arm == self.systems.index(system))

    @cached_property
    def _values(self) -> Floats:
        """The plain metric of every user."""
        return self.plain.sums(self.numbers).numerator if self.plain else np.zeros(1)

    def _capped(self, share: float | None) -> list[Floats]:
        """The values of the headline pair."""
        return self._sides(self._values if share is None else experiments.capped(self._values, share=share))

    def _sides(self, values: Floats) -> list[Floats]:
        return [values[self._in(name)] for name in self.opponents]

    def cap(self, share: float) -> float:
        """The quantile of the plain metric's values over the users of all arms."""
        return float(np.quantile(self._values, share))

    def means(self, share: float | None) -> Comparison:
        """The headline pair's difference of means, of values capped at a quantile, or as they are."""
        first, second = (OfUnits(self.primary, Sums(side)) for side in self._capped(share))
        return methods.two_means(first, second, self.inference_options(2))

    def cuped(self, share: float | None) -> Comparison:
        """CUPED; where skewed arms are so unlike that t does not hold, the studentised permutation of what is left."""
        sides, before = self._capped(share), self._sides(self.numbers[str(self.options.before)])
        left = experiments.adjusted(*sides, *before)
        if permutation.fits(*left):
            return self._permuted(*left)
        return experiments.cuped(*sides, *before, level=self.settings.level)

    def stratified(self) -> Comparison:
        """Post-stratified t; in the same way the studentised permutation within strata."""
        label, arms, sides = self.attributes[str(self.options.strata)], ("treatment", "control"), self._capped(None)
        strata = [label[self._in(name)] for name in self.opponents]
        if permutation.fits(*sides):
            return self._permuted(*sides, strata=strata)
        of = (dict(zip(arms, each, strict=True)) for each in (sides, strata))
        return experiments.stratified(*of, level=self.settings.level)

    def _permuted(self, first: Floats, second: Floats, **more: Any) -> Comparison:
        return permutation.studentised(
            first, second, rng=self.inference_options(2).rng, level=self.settings.level, **more
        )

    def tops(self) -> dict[float, float]:
        """The share of the whole that the users with most of it have, for each of `TOPS`; none of values below 0."""
        values = np.sort(self._values)[::-1]
        whole = values.sum()
        if values[-1] < 0 or whole == 0:
            return {}
        return {top: float(values[: int(np.ceil(top * values.size))].sum() / whole) for top in TOPS}

    @cached_property
    def others(self) -> dict[str, int]:
        """By arm the users without the value that more than half have; nothing where there is no such value."""
        levels, counts = np.unique(self._values, return_counts=True)
        if counts.max() <= self._values.size / 2:
            return {}
        usual = levels[counts.argmax()]
        return {name: int(np.sum(self._values[self._in(name)] != usual)) for name in self.systems}

    @cached_property
    def control(self) -> Control | None:
        """The second arm of the headline; None where it does not vary."""
        values = self._sides(self._values)[1]
        if values.size < 2 or np.ptp(values) == 0:
            return None
        correlation = 0.0
        if self.options.before:
            correlation = experiments.correlation(values, self._sides(self.numbers[self.options.before])[1])
        return Control(float(values.mean()), float(values.std(ddof=1)), correlation)

    @property
    def bounds(self) -> tuple[float, float]:
        """None: every user is counted."""
        return 0.0, 0.0

    @property
    def permutes(self) -> bool:
        """True: the users are at hand."""
        return True

"""The significance study of values at hand."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats
from evalkit.catalogue.lookup import Chosen
from evalkit.metrics.distribution import Held
from evalkit.metrics.sums import Sums, both
from evalkit.progress import progress
from evalkit.reading.inputs.unit_values import UnitValues
from evalkit.statistics import intervals, joint_flips, methods, proportions, ranks, signflip, significance
from evalkit.statistics.flip_ranges import ranges
from evalkit.statistics.intervals import Estimate, standard_error
from evalkit.statistics.joint_flips import Pairs
from evalkit.statistics.methods import Paired
from evalkit.statistics.power import Effect, effect
from evalkit.statistics.ranks import Ranked
from evalkit.statistics.resampling import resampled_each
from evalkit.statistics.statistic import Layout, OfUnits
from evalkit.studies import units
from evalkit.studies.significance_study import Significance
from evalkit.studies.study import EVERY, Member
from evalkit.studies.units import Units

DRAWN = 16_384  # sign vectors of the pictures; p-values come from 100,000
RESAMPLES = 2_000
DIFFERENCES = 2**21  # of units, held at once while pairs share the samples of a bootstrap: 16 MB
WIDER = 1.2  # a standard error this much larger by cluster changes answers


@dataclass(frozen=True, eq=False, repr=False)
class RowsStudy(Significance):
    """The study of values that are kept."""

    data: UnitValues

    @property
    def units(self) -> int:
        return len(np.unique(self.data.unit.astype(str)))

    @property
    def rows(self) -> int:
        return len(self.data.unit)

    def undefined(self, chosen: Chosen, system: str) -> int:
        return int((~self.values(chosen, system).defined).sum())

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> OfUnits:
        """One value a row."""
        clusters = None if self.unit is None else self.unit[member]  # type: ignore[index]
        design = Layout.FOLDS if self.test_to_train else Layout.PLAIN
        return OfUnits(chosen, self.data.values[chosen.label, system].take(member), clusters, design)  # type: ignore[arg-type]

    def units_held(self) -> Units:
        """One value a row; of an earlier report, which has differences only, the value of each system."""
        if self.data.known:
            every = [(system, chosen) for system in self.systems for chosen in self.settings.metrics]
            of = {(system, chosen.label): self.estimate(chosen, system).value for system, chosen in every}
            return Units(1, [units.known(system, chosen, of[system, chosen.label]) for system, chosen in every])
        id = self.data.unit if self.unit is None or self.data.id is None else self.data.id
        return units.of_each(self, self.listed(id))

    def values(self, chosen: Chosen, system: str) -> Sums:
        """One value a row."""
        return self.data.values[chosen.label, system]

    def sides(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[Sums, Sums]:
        """The values of both systems."""
        return self.values(chosen, pair[0]), self.values(chosen, pair[1])

    def is_ratio(self, chosen: Chosen) -> bool:
        """Whether the metric is a ratio of sums."""
        return any(self.values(chosen, name).denominator is not None for name in self.systems)

    def _estimate(self, chosen: Chosen, system: str, member: Member) -> Estimate:
        """Of an earlier report what it says."""
        if known := self.data.known.get((chosen.label, system)):
            return Estimate(*(known[name] for name in ("value", "low", "high", "level", "n", "method")))
        return super()._estimate(chosen, system, member)

    def paired(self, chosen: Chosen, pair: tuple[str, str]) -> Paired:
        return methods.paired(*(self.measure(chosen, name) for name in pair))

    def effect(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[Effect, float]:
        sides = self.sides(chosen, pair)
        keep = both(*sides)
        total, count = self.summed(pair, chosen)
        mean = sides[0].take(keep).value - sides[1].take(keep).value
        return effect(total / count, np.zeros(total.size)), mean

    def joint(self, every: list[tuple[Chosen, tuple[str, str]]]) -> Floats | None:
        """Max-T over the family, where all of it is defined on the same units; else None."""
        sides = [self.sides(chosen, pair) for chosen, pair in every]
        keep = both(*sides[0])
        same = all(np.array_equal(keep, both(*two)) for two in sides)
        if len(every) < 2 or self.test_to_train or not same or any(self.is_ratio(chosen) for chosen, _ in every):
            return None
        return joint_flips.adjusted(self._joined(every, keep), rng=self.rng(3))

    def _joined(self, every: list[tuple[Chosen, tuple[str, str]]], keep: Bools) -> Pairs:
        """The pairs of a family as those of columns, one a metric and system, of the units to keep."""
        keys = list(dict.fromkeys((chosen, name) for chosen, pair in every for name in pair))
        place = {key: number for number, key in enumerate(keys)}
        sides = np.array([[place[chosen, name] for name in pair] for chosen, pair in every])
        table = np.column_stack([self.values(*key).per_unit[keep] for key in keys])
        metric = np.array([self.settings.metrics.index(chosen) for chosen, _ in keys])
        if self.unit is None:
            return Pairs.of(table, *sides.T, metric=metric)
        unit = self.unit[keep]

        def added(columns: Floats) -> Floats:
            return np.column_stack([intervals.by_unit(column, unit)[0] for column in columns.T])

        return Pairs.of(table, *sides.T, metric=metric, added=added)

    def other_tests(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, float]:
        total, count = self.summed(pair, chosen)
        d = np.sort(total / count, kind="stable")
        return {
            "t": self.paired(chosen, pair).p_value,
            "wilcoxon": ranks.wilcoxon_p(d),
            "sign": proportions.sign_test(d).p_value if np.any(d != 0) else 1.0,
        }

    def bootstraps(self, chosen: Chosen) -> dict[tuple[str, str], float]:
        """The test of the mean that is compared: over units, or over the rows of whole units.

        The samples are drawn for some pairs at a time, which share them.
        """
        p: dict[tuple[str, str], float] = {}
        some = max(1, DIFFERENCES // max(len(self.data.unit), 1))
        with progress("resampling", len(self.pairs), "pairs") as draw:
            for start in range(0, len(self.pairs), some):
                draw(start)
                pairs = self.pairs[start : start + some]
                p |= zip(pairs, self._bootstrap([self.summed(pair, chosen) for pair in pairs]), strict=True)
        return p

    def _bootstrap(self, summed: list[tuple[Floats, Floats]]) -> list[float]:
        """The p-values of differences of units, each with its number of rows."""
        options: dict[str, Any] = {"rng": self.rng(5), "resamples": RESAMPLES}
        if self.unit is None:
            means = [np.sort(total / count, kind="stable")[:, None] for total, count in summed]
            drawn = resampled_each(means, rng=lambda: self.rng(5), resamples=RESAMPLES)
            tests = (
                significance.paired_bootstrap(d[:, 0], sums=s, **options) for d, s in zip(means, drawn, strict=True)
            )
        else:
            columns = [np.column_stack([total, count, np.zeros(total.size), count]) for total, count in summed]
            drawn = resampled_each(columns, rng=lambda: self.rng(5), resamples=RESAMPLES)
            tests = (
                significance.paired_ratio_bootstrap(*c.T, sums=s, **options)
                for c, s in zip(columns, drawn, strict=True)
            )
        return [test.p_value for test in tests]

    def tukey(self, chosen: Chosen) -> Floats | None:
        values = self._table(chosen)
        if len(values) < 2:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            return ranks.blocked_tukey(values)

    def ranked(self) -> Ranked | None:
        values = self._table(self.primary)
        if len(values) < 2:
            return None
        signed = values if self.primary.metric.best == "high" else -values
        of_tests = ranks.friedman(signed), ranks.iman_davenport(signed)
        return Ranked(ranks.mean_ranks(signed), len(signed), *of_tests)

    def _table(self, chosen: Chosen) -> Floats:
        """A metric, units × systems in order; units where one system has none are left out."""
        values = np.column_stack([self.values(chosen, name).per_unit for name in self.order])
        keep = ~np.isnan(values).any(axis=1)
        if self.unit is None:
            return values[keep]
        sums = [intervals.by_unit(column, self.unit[keep]) for column in values[keep].T]
        return np.column_stack([total / count for total, count in sums])

    # One pair closely

    def differences(self, pair: tuple[str, str] | None = None, chosen: Chosen | None = None) -> pd.Series:
        """A metric of the first less that of the second, one a unit (the mean of its rows), smallest first."""
        chosen, pair = chosen or self.primary, pair or self.opponents
        total, count = self.summed(pair, chosen)
        ids = self.data.unit[both(*self.sides(chosen, pair))].astype(str)
        index = pd.Index(ids if self.unit is None else np.unique(ids), name=self.unit_name)
        return pd.Series(total / count, index=index).sort_values(kind="stable")

    def summed(self, pair: tuple[str, str], chosen: Chosen) -> tuple[Floats, Floats]:
        """Sum and number of the differences of each unit's rows."""
        first, second = self.sides(chosen, pair)
        keep = both(first, second)
        d = (first.per_unit - second.per_unit)[keep]
        return (d, np.ones(d.size)) if self.unit is None else intervals.by_unit(d, self.unit[keep])

    def null_draws(self) -> Floats:
        """The mean difference of the headline under random signs of its units."""
        total, count = self.summed(self.opponents, self.primary)
        if total.size <= signflip.ENUMERATED:
            drawn = signflip.enumerated(total)
            return np.concatenate([drawn, -drawn]) / count.sum()
        return signflip.joint_draws(total[:, None], rng=self.rng(4), draws=DRAWN)[0] / count.sum()

    def each_difference(self) -> dict[str, list[Any]]:
        d = self.differences()
        return {"units": list(d.index), "values": list(d)}

    def distribution(self) -> Held:
        return Held(self.differences().to_numpy())

    def p_of(self, means: Floats) -> Floats:
        drawn = ranges(*self.summed(self.opponents, self.primary), rng=self.rng(2), draws=DRAWN)
        return np.array([drawn.share(float(null)) for null in means])

    def clusters(self) -> list[tuple[str, int, float]]:
        if self.is_ratio(self.primary) or self.test_to_train:
            return []
        first, second = self.sides(self.primary, self.opponents)
        keep = both(first, second)
        d, columns = (first.per_unit - second.per_unit)[keep], []
        plain = standard_error(d - d.mean()) if self.unit is None else _error(d, self.unit[keep])
        for name, column in self.data.texts.items():
            label = column[keep].astype(str)
            values = np.unique(label).size
            if plain > 0 and 1 < values < d.size and (wider := _error(d, label) / plain) > WIDER:
                columns.append((name, values, wider))
        return columns


def _error(d: Floats, unit: np.ndarray) -> float:
    """The standard error of the mean of d where whole units vary."""
    sums, counts = intervals.by_unit(d, unit)
    return standard_error((sums - d.mean() * counts) * sums.size / counts.sum())

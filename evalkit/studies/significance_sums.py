"""The significance study from two readings of values that need not fit into memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Floats, ParameterError, ratio
from evalkit.catalogue.lookup import Chosen
from evalkit.metrics.distribution import Counted
from evalkit.metrics.sums import Sums
from evalkit.reading.reductions.unit_shards import InShards
from evalkit.statistics import cluster_passes, multiplicity, proportions, ranks, student
from evalkit.statistics.cluster_passes import AddedClusters, SecondOfClusters
from evalkit.statistics.methods import Paired
from evalkit.statistics.of_values import OfClusters, OfFolds, OfValues
from evalkit.statistics.power import Effect
from evalkit.statistics.ranks import Ranked, SignedRanks
from evalkit.statistics.unit_passes import Added, Differences, First, Known, Second
from evalkit.studies import study
from evalkit.studies.significance_study import SEVERAL, Significance
from evalkit.studies.study import EVERY, Member, Settings
from evalkit.studies.units import Block, Listed, Units, of_terms

DRAWN = 16_384  # normal numbers of the pictures


@dataclass(frozen=True, eq=False, repr=False)
class SumsStudy(Significance):
    """The study of values that were read twice."""

    data: InShards
    added: Added

    added_up: ClassVar[bool] = True

    def units_held(self) -> Units:
        """One value a unit; one shard of units is in memory at once."""
        return Units(self.rows, self._blocks())

    def _blocks(self) -> Iterator[Block]:
        place = {name: i for i, name in enumerate(self.data.systems)}
        for shard in self.data.shards():
            terms, values = [], shard.values.values
            for system in self.systems:
                for metric, chosen in enumerate(self.settings.metrics):
                    terms.append((system, chosen, Sums(values[metric * len(place) + place[system]])))
            yield from of_terms(terms, Listed(shard.id, shard.cluster))

    @property
    def units(self) -> int:
        return self.added.known.units

    @property
    def rows(self) -> int:
        return self.added.known.units

    def undefined(self, chosen: Chosen, system: str) -> int:
        return self.rows - self._of(chosen, system).n

    def is_ratio(self, chosen: Chosen) -> bool:
        return False

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> OfValues:
        """The mean of a system's values."""
        return self._of(chosen, system)

    def _of(self, chosen: Chosen, system: str) -> OfValues:
        return OfValues(chosen, self.added, self.data.metrics.index(chosen.label), self.systems.index(system))

    def _differences(self, chosen: Chosen, pair: tuple[str, str]) -> Differences:
        first, second = (self._of(chosen, name) for name in pair)
        return first.differences(second)

    @cached_property
    def _headline(self) -> Differences:
        return self._differences(self.primary, self.opponents)

    def paired(self, chosen: Chosen, pair: tuple[str, str]) -> Paired:
        first, second = (self._of(chosen, name) for name in pair)
        return first.paired(second)

    def effect(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[Effect, float]:
        d = self._differences(chosen, pair)
        shares = float(ratio(d.mean, d.deviation)), float(ratio(d.wins + d.ties / 2, d.n))
        return Effect(d.mean, float("nan"), *shares, d.wins, d.ties, d.losses), d.mean

    def joint(self, every: list[tuple[Chosen, tuple[str, str]]]) -> Floats | None:
        whole = self.added.joint
        same = all(self._differences(chosen, pair).n == whole.n for chosen, pair in every)
        if len(every) < 2 or not same or not whole.n:
            return None
        sides = np.array([[self._of(chosen, name).column for name in pair] for chosen, pair in every])
        form = np.zeros((len(every), len(whole.sums)))
        at = np.arange(len(every))
        form[at, sides[:, 0]], form[at, sides[:, 1]] = 1.0, -1.0
        centre, moved = form @ self.added.second.centres, form @ whole.sums
        mixed = np.outer(moved, centre)
        gram = form @ whole.gram @ form.T + mixed + mixed.T + whole.n * np.outer(centre, centre)
        return multiplicity.max_t_of_sums(moved + whole.n * centre, gram, rng=self.rng(3))

    def other_tests(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, float]:
        d = self._differences(chosen, pair)
        ranked = 1.0 if d.bins is None else SignedRanks.of(d.bins, d.ties).p_value
        sign = proportions.sign_test_of_counts(d.wins, d.losses).p_value if d.wins + d.losses else 1.0
        return {"t": self.paired(chosen, pair).p_value, "wilcoxon": ranked, "sign": sign}

    def tukey(self, chosen: Chosen) -> Floats | None:
        whole, places = self.added.table(self.data.metrics.index(chosen.label)), self._places
        if whole.n < 2:
            return None
        centres = np.array([self._of(chosen, name).value for name in self.order])
        with np.errstate(invalid="ignore", divide="ignore"):
            return ranks.tukey_of_sums(centres + whole.sums[places] / whole.n, whole.residual(), whole.n)

    @property
    def _places(self) -> list[int]:
        return [self.systems.index(name) for name in self.order]

    def ranked(self) -> Ranked | None:
        sums, ties, n = self.added.ranks
        if n < 2:
            return None
        best = sums if self.primary.metric.best == "high" else n * (len(sums) + 1) - sums
        return ranks.of_sums(best[self._places], ties, n)

    # One pair closely

    def each_difference(self) -> dict[str, list[Any]]:
        return {"units": [], "values": []}

    @property
    def bounds(self) -> tuple[float, float]:
        d = self._headline
        assert d.bins is not None
        signed = SignedRanks.of(d.bins, d.ties)
        return self.distribution().bound([0.5]), float(np.nan_to_num(ratio(signed.width, signed.deviation)))

    def distribution(self) -> Counted:
        assert self._headline.bins is not None
        return Counted.of(self._headline.bins, 1.0, whole=False)

    def null_draws(self) -> Floats:
        spread = float(np.sqrt(self._headline.plain)) / self._headline.n
        return self.rng(4).normal(0.0, spread, DRAWN)

    def p_of(self, means: Floats) -> Floats:
        of = self.paired(self.primary, self.opponents)
        return np.array([student.p_value(of.value - m, of.error, freedom=of.freedom, scale=of.scale) for m in means])

    def clusters(self) -> list[tuple[str, int, float]]:
        return []


@dataclass(frozen=True, eq=False, repr=False)
class ClustersStudy(SumsStudy):
    """The study of values whose units lie in clusters; each difference of a cluster is the mean of its units'."""

    added: AddedClusters

    @property
    def units(self) -> int:
        return self.added.known.clusters

    def _of(self, chosen: Chosen, system: str) -> OfClusters:
        return OfClusters(chosen, self.added, self.data.metrics.index(chosen.label), self.systems.index(system))

    def effect(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[Effect, float]:
        return super().effect(chosen, pair)[0], self.paired(chosen, pair).value

    def joint(self, every: list[tuple[Chosen, tuple[str, str]]]) -> Floats | None:
        n, sums, gram = self.added.totals
        places = [self._place(chosen, pair) for chosen, pair in every]
        if len(every) < 2 or not n or any(self.added.units_of_pair(*place)[0] != n for place in places):
            return None
        form = np.zeros((len(every), len(sums)))
        for row, (metric, *sides) in zip(form, places, strict=True):
            first, second = (metric * len(self.systems) + side for side in sides)
            row[first], row[second] = 1.0, -1.0
            row[-1] = self.added.second.centres[first] - self.added.second.centres[second]
        return multiplicity.max_t_of_sums(form @ sums, form @ gram @ form.T, rng=self.rng(3))

    def _place(self, chosen: Chosen, pair: tuple[str, str]) -> tuple[int, int, int]:
        return self.data.metrics.index(chosen.label), self.systems.index(pair[0]), self.systems.index(pair[1])

    def null_draws(self) -> Floats:
        units, squares = self.added.units_of_pair(*self._place(self.primary, self.opponents))
        return self.rng(4).normal(0.0, float(np.sqrt(squares)) / units, DRAWN)


@dataclass(frozen=True, eq=False, repr=False)
class FoldsStudy(SumsStudy):
    """The study of values of folds that share training rows."""

    def _of(self, chosen: Chosen, system: str) -> OfFolds:
        return OfFolds(chosen, self.added, self.data.metrics.index(chosen.label), self.systems.index(system))

    def joint(self, every: list[tuple[Chosen, tuple[str, str]]]) -> Floats | None:
        """None: max-T flips the signs of independent units."""
        return None


def study_of(
    t: InShards, settings: Settings, given: Mapping[str, Any], looks: int, test_to_train: float | None
) -> SumsStudy:
    """The study of a table that is read twice; raises InputError for what only its values show.

    Raises ParameterError where a fold has several rows.
    """
    if test_to_train and t.clustered:
        raise ParameterError(SEVERAL)
    study.check_systems(settings, t.systems)
    shape = len(t.systems), list(combinations(range(len(t.systems)), 2))  # `best_two` has no baseline
    if t.clustered:
        of_clusters = cluster_passes.First(*shape)
        clusters = of_clusters.whole(t.reduce(of_clusters, of_clusters.merge))
        by = SecondOfClusters(_centres(t, clusters), *shape, settings.limits.bins, known=clusters)
        both = AddedClusters(clusters, by, by.whole(t.reduce(by, by.merge)))
        data = t.read(clusters)
        return ClustersStudy(settings, t.systems, {}, given, data, None, looks, {}, data.alone, both)
    first = First()
    known = first.whole(t.reduce(first, first.merge))
    second = Second(_centres(t, known), *shape, settings.limits.bins)
    added = Added(known, second, second.whole(t.reduce(second, second.merge)))
    of, data = FoldsStudy if test_to_train else SumsStudy, t.read(known)
    return of(settings, t.systems, {}, given, data, test_to_train, looks, {}, data.alone, added)


def _centres(t: InShards, known: Known) -> Floats:
    """The means of the columns; raises InputError for what these show to be wrong."""
    t.refuse(known)
    return np.array([known.mean(i) for i in range(len(t.metrics) * len(t.systems))])

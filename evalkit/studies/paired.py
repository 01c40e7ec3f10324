"""The significance study of paired values: several systems on the same units, and tests of their
differences.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, InputError, Ints, ParameterError
from evalkit.caching import cached
from evalkit.catalogue.lookup import MetricAtK
from evalkit.drawing import plots, shown
from evalkit.limits import Limits
from evalkit.machine.progress_bars import progress
from evalkit.metrics.distributions import Distribution
from evalkit.metrics.rows import Sums, defined_in_both
from evalkit.names import usual
from evalkit.numbers import plural, unit_noun
from evalkit.parameters import reports
from evalkit.reading.inputs import split_names
from evalkit.reading.matching import column_names
from evalkit.reading.reductions.units import UnitValues
from evalkit.reading.tables.table import Slice, slices
from evalkit.statistics import (
    intervals,
    max_t,
    methods,
    multiplicity,
    power,
    proportions,
    signflip,
    significance,
)
from evalkit.statistics.alternatives import Tails
from evalkit.statistics.bootstrap import resampled_each
from evalkit.statistics.methods import RandomStream
from evalkit.statistics.power import Effect, effect
from evalkit.statistics.spread import Spread, sum_by_unit
from evalkit.statistics.statistic import (
    Layout,
    NoisyUnitStatistic,
    RepeatedUnitStatistic,
    UnitStatistic,
)
from evalkit.studies import units
from evalkit.studies.diagnostics import alpha, values_of_complete_units
from evalkit.studies.study import (
    EVERY,
    PairTest,
    Row,
    Study,
    SystemPair,
    UnitSelection,
    as_data_frame,
    computed_once,
    refuse_looks,
    settings,
)

MOST_FOLDS = 100_000  # units whose names are read
DRAWN = 16_384  # sign vectors of the pictures; p-values come from 100,000
RESAMPLES = 2_000
HELD_DIFFERENCES = 2**21  # of units, while pairs share the samples of a bootstrap: 16 MB
# the numbers of the sequences of random numbers of this study beside those of `RandomStream`
MAX_T_DRAWS = 3
NULL_DRAWS = 4
BOOTSTRAP_SAMPLES = 5
WIDER = 1.2  # a standard error this much larger by cluster changes answers
MOST_OF_TUKEY = 20  # systems; of 200 its integrals would take ten minutes
_PART = rf"({'|'.join(usual('folds')['parts'])})[ _-]?[0-9]+"
SPLIT = rf"(?i)^{_PART}([ _./-]*{_PART})*$"  # Fold01.Rep1, split 3
ADVICE_ON_SYSTEMS = "; choose systems that share some: systems='NAME,NAME', or baseline='NAME'"
SEVERAL_ROWS = "test_to_train: needs one row per fold, the input has several"


def _splits_named(data: UnitValues) -> split_names.SplitNumbers | None:
    """The numbers of folds and repeats, if the names of the units are those of the folds of
    repeated cross-validations; else None.
    """
    if data.id is None or len(data) > MOST_FOLDS:
        return None
    return split_names.named_in_full([str(name) for name in data.id])


class PairValues(NamedTuple):
    """The values of both systems of a pair, one per row of the study."""

    first: Sums
    second: Sums

    @property
    def in_both(self) -> Bools:
        """A mask: the rows on which both systems have a value."""
        return defined_in_both(self.first, self.second)


class MetricEffect(NamedTuple):
    """The effect sizes of a difference over units, and the difference of the metric itself."""

    sizes: Effect
    difference: float


class PossibleCluster(NamedTuple):
    """A column that may name clusters: the number of its values, and the factor by which the
    standard error of the headline's difference is larger if its clusters vary as a whole.
    """

    column: str
    n_clusters: int
    factor: float


class RowDifferences(NamedTuple):
    """The differences of a pair, one per row that both systems have. in_both: a mask of these rows
    among all.
    """

    values: Floats
    in_both: Bools


class UnitDifferences(NamedTuple):
    """The differences of a pair by unit: the sum over the rows of each, and their number."""

    total: Floats
    rows: Floats

    @property
    def means(self) -> Floats:
        """The mean difference of each unit."""
        return self.total / self.rows


@dataclass(frozen=True, eq=False, repr=False)
class Significance(shown.ShownStudy, Study):
    """The study of paired values. p-values are adjusted for interim analyses, then over all pairs
    and metrics.

    data: the values. splits_named: the numbers of folds and repeats, if the units are named as the
    folds of repeated cross-validations, whose ratio of test and training rows follows.
    """

    report: ClassVar[str] = "significance"

    data: UnitValues
    splits_named: split_names.SplitNumbers | None = None

    value_is: ClassVar[str] = "Mean"
    adjusted_over: ClassVar[str] = "all pairs and metrics"
    has_differences: ClassVar[bool] = True  # of single units

    @classmethod
    def from_values(
        cls,
        data: UnitValues,
        metrics: tuple[MetricAtK, ...],
        p: reports.SignificanceParameters,
        limits: Limits,
    ) -> "Significance":
        """The study of one value per unit, metric and system. Raises ParameterError for parameters
        that the values do not allow.

        Folds of repeated cross-validations are recognised by the names of the units, unless units
        are clusters, or the user states `test_to_train` or a claim other than the default.
        """
        refuse_looks(p)
        cluster_noun = None if data.cluster is None else data.name  # None: each row is a unit
        splits = None
        has_default_claim = p.claim == reports.SUCH
        if p.test_to_train is None and has_default_claim and not cluster_noun:
            splits = _splits_named(data)
        if splits is not None:  # one fold is tested, all others are trained on
            p = replace(p, test_to_train=1 / (splits.folds - 1))
        shared = settings(p, metrics, unit=cluster_noun, limits=limits).checked(data.systems)
        if p.test_to_train and cluster_noun:
            raise ParameterError(SEVERAL_ROWS)
        # if a claim is about the questions of the input alone, only repeated draws of each vary
        has_draws = any(draws.has_several_draws for draws in data.draws.values())
        if p.claim == reports.THESE and not has_draws:
            raise ParameterError(
                f"claim: {reports.THESE!r} needs several draws of each, the input has one"
            )
        return cls(
            shared,
            data.systems,
            attributes={},
            p=p,
            sources=data.sources,
            data=data,
            splits_named=splits,
        )

    # What the values tell

    @cached_property
    def unit(self) -> Ints | None:
        """The number of each unit's cluster; None if units are independent."""
        return None if self.data.cluster is None else self.data.cluster.number

    @property
    def unit_count(self) -> int:
        """The number of distinct units."""
        return len(self.data) if self.data.cluster is None else len(self.data.cluster.names)

    @property
    def units_vary(self) -> bool:
        """True if units are a sample: not folds, which share training rows, and not the fixed
        questions of a claim.
        """
        return not self.p.test_to_train and self.p.claim != reports.THESE

    @property
    def has_many_units(self) -> bool:
        """True if there are too many units to list, resample or flip each; normal draws are used
        instead.
        """
        return self.unit_count > self.settings.limits.reading.max_listed

    def measure(
        self, chosen: MetricAtK, system: str, member: UnitSelection = EVERY
    ) -> UnitStatistic:
        """A metric of a system with one value per row, as the statistic that fits the sample: its
        class and its layout decide which intervals and tests apply.

        member: the rows that count, as a mask or a slice. `UnitSelection` has a third form, the
        number of a slice, but only for tables that are read in blocks; these values are in memory.
        """
        sums = self.values(chosen, system).take(member)  # type: ignore[arg-type]
        # The claim is about these questions alone: another sample has new draws of each, but no
        # other questions.
        if self.p.claim == reports.THESE:
            noise = self.data.noise(chosen, system)[member]  # variance of each value over draws
            return NoisyUnitStatistic(chosen, sums, noise=noise, freedom=self.data.freedom(system))
        clusters = None if self.unit is None else self.unit[member]
        # a ratio of test to training rows is only given (or found) if each row is a fold
        layout = Layout.FOLDS if self.p.test_to_train else Layout.PLAIN
        # means of few draws of 0 or 1 often tie: without clusters, their sign flips use the mid-p
        if clusters is None and (chosen.label, system) in self.data.repeated:
            return RepeatedUnitStatistic(chosen, sums, clusters, layout)
        return UnitStatistic(chosen, sums, clusters, layout)

    def units_held(self) -> units.Units:
        """The content of the file of units: one value per row, metric and system, with the row's
        cluster and task.

        If the input is an earlier report, which has no values per unit but only differences, the
        file has one row per system and metric: the value that the report states for all units.
        """
        if self.data.reported_estimates:  # values that an earlier report states; else empty
            blocks = []
            for system in self.systems:
                for chosen in self.settings.metrics:
                    value = self.estimate(chosen, system).value
                    blocks.append(units.block_of_total(system, chosen, value))
            return units.Units(size=1, blocks=blocks)  # one unit, the whole report
        names = units.UnitNames.with_slices(self.data.ids, self.data.cluster_names, self.slices)
        content = units.units_with_terms(self, names)
        # `data.ids` are numbers if the input has no ids, which the file then says
        return replace(content, named=self.data.id is not None)

    def repeats(self, chosen: MetricAtK) -> bool:
        """True if the values of all systems are of repeated draws of 0 or 1."""
        return all((chosen.label, system) in self.data.repeated for system in self.systems)

    def values(self, chosen: MetricAtK, system: str) -> Sums:
        """The metric of a system as one value per row, undefined where the system has none."""
        return self.data.values[chosen.label, system]

    def pair_values(self, chosen: MetricAtK, pair: SystemPair) -> PairValues:
        """The values of both systems of a pair, one per row."""
        return PairValues(self.values(chosen, pair[0]), self.values(chosen, pair[1]))

    def is_ratio(self, chosen: MetricAtK) -> bool:
        """True if the metric is a ratio of sums, so that rows have a denominator too."""
        return any(self.values(chosen, name).denominator is not None for name in self.systems)

    @computed_once
    def estimate(
        self, chosen: MetricAtK, system: str, member: UnitSelection = EVERY
    ) -> intervals.Estimate:
        """The estimate; for an earlier report the one that it states."""
        stated = self.data.reported_estimates.get((chosen.label, system))
        if not stated:
            return super().estimate(chosen, system, member)
        fields = ("value", "low", "high", "level", "n", "method")
        return intervals.Estimate(**{name: stated[name] for name in fields})

    def paired(self, chosen: MetricAtK, pair: SystemPair) -> methods.PairedDifference:
        """The difference of a pair with its standard error over units."""
        return methods.paired(self.measure(chosen, pair[0]), self.measure(chosen, pair[1]))

    def effect(self, chosen: MetricAtK, pair: SystemPair) -> MetricEffect:
        """The effect sizes of a pair over units, and its difference on the rows of both systems."""
        values = self.pair_values(chosen, pair)
        in_both = values.in_both
        difference = values.first.take(in_both).value - values.second.take(in_both).value
        means = self.unit_differences(pair, chosen).means
        return MetricEffect(effect(means, np.zeros(means.size)), difference)

    def joint(self, family: list[PairTest]) -> Floats | None:
        """The p-values of a family of comparisons, adjusted jointly by max-T, in their order.

        None for a single comparison, for units that are no sample, for a ratio of sums, and if the
        comparisons have different rows: max-T flips the sign of a unit in all of them at once.
        """
        if len(family) < 2 or not self.units_vary:
            return None
        if any(self.is_ratio(chosen) for chosen, _ in family):
            return None
        masks = [self.pair_values(chosen, pair).in_both for chosen, pair in family]
        in_both = masks[0]
        if not all(np.array_equal(in_both, mask) for mask in masks):
            return None
        adjust = max_t.max_t_of_many if self.has_many_units else max_t.adjusted
        columns = self._column_pairs(family, in_both)
        return adjust(columns, rng=self.rng(MAX_T_DRAWS), alternative=self.settings.alternative)

    def _column_pairs(self, family: list[PairTest], keep: Bools) -> max_t.ColumnPairs:
        """The comparisons of a family as pairs of columns of one table, which has a column for each
        metric and system and a row for each row of the study. `ColumnPairs` adds up the rows of
        each cluster. keep: a mask of the rows, those on which both systems of each pair have a
        value.
        """
        number_of_column: dict[tuple[MetricAtK, str], int] = {}
        for chosen, pair in family:
            for name in pair:
                number_of_column.setdefault((chosen, name), len(number_of_column))
        first = np.array([number_of_column[chosen, pair[0]] for chosen, pair in family])
        second = np.array([number_of_column[chosen, pair[1]] for chosen, pair in family])
        columns = [self.values(chosen, name).per_unit[keep] for chosen, name in number_of_column]
        table = np.column_stack(columns)
        # the number of each column's metric: only columns of one metric are compared
        metric = np.array([self.settings.metrics.index(chosen) for chosen, _ in number_of_column])
        if self.unit is None:
            return max_t.ColumnPairs.from_table(table, first, second, metric=metric)
        cluster = self.unit[keep]

        def sums_by_cluster(rows: Floats) -> Floats:
            """The sum of each column over the rows of each cluster, shape (clusters, columns)."""
            sums = []
            for column in rows.T:
                total, _ = intervals.by_unit(column, cluster)
                sums.append(total)
            return np.column_stack(sums)

        return max_t.ColumnPairs.from_table(
            table, first, second, metric=metric, add_up=sums_by_cluster
        )

    def bootstraps(self, chosen: MetricAtK) -> dict[SystemPair, float]:
        """The p-value of the bootstrap test of the mean of each pair, over units or whole clusters;
        none if there are too many units.

        Samples are drawn for several pairs at a time, which share them.
        """
        p: dict[SystemPair, float] = {}
        if self.has_many_units:
            return p
        # so many that their differences, one per row at most, fit into memory
        pairs_at_once = max(1, HELD_DIFFERENCES // max(len(self.data), 1))
        with progress("resampling", len(self.pairs), "pairs") as draw:
            for start in range(0, len(self.pairs), pairs_at_once):
                draw(start)
                pairs = self.pairs[start : start + pairs_at_once]
                differences = [self.unit_differences(pair, chosen) for pair in pairs]
                p |= zip(pairs, self._bootstrap_p_values(differences), strict=True)
        return p

    def _bootstrap_p_values(self, differences: list["UnitDifferences"]) -> list[float]:
        """The p-value of the bootstrap test of the mean difference of each pair. Pairs with as many
        units share the samples, which are then drawn once. differences: those of each pair.
        """
        # For each pair a table with a row per unit. Without clusters it has one column, the unit's
        # difference. Clusters may differ in size, so that theirs has two columns: the sum of the
        # cluster's differences, and the number of its rows.
        tables = []
        for differences_of_pair in differences:
            if self.unit is None:
                # in order, so that the samples do not depend on the order of the input
                tables.append(np.sort(differences_of_pair.means)[:, None])
            else:
                columns = [differences_of_pair.total, differences_of_pair.rows]
                tables.append(np.column_stack(columns))
        # the column sums of the samples of each table
        sums_of_samples = resampled_each(
            tables, rng=lambda: self.rng(BOOTSTRAP_SAMPLES), resamples=RESAMPLES
        )
        p_values = []
        for table, sums in zip(tables, sums_of_samples, strict=True):
            unit_sums = table[:, 0]
            counts = None if self.unit is None else table[:, 1]
            test = significance.paired_bootstrap(
                unit_sums,
                counts,
                sums=sums,
                rng=self.rng(BOOTSTRAP_SAMPLES),  # required, but unused: the samples are drawn
                resamples=RESAMPLES,
            )
            p_values.append(test.p_value)
        return p_values

    @property
    def unit_name(self) -> str:
        """The noun for a unit, from the input."""
        name = "fold" if self.p.test_to_train else self.data.name
        return "row" if name == "id" else unit_noun(name, "unit")

    @cached_property
    def splits(self) -> str:
        """What a warning quotes if the units seem to be folds or other splits of one table: the
        noun of the units if it is a word for folds, else the name of the first unit if all names
        are like Fold01. "" for other units.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        nouns_of_folds = usual("folds")["columns"]  # in the spelling of `comparable_name`
        if column_names.comparable_name(self.unit_name) in nouns_of_folds:
            return self.unit_name
        # with clusters (`unit`) the ids name rows, not units
        if self.unit is not None or self.data.id is None:
            return ""
        names = pa.array(self.data.id, pa.string())
        all_are_splits = pc.all(pc.match_substring_regex(names, SPLIT)).as_py()
        return str(names[0]) if all_are_splits else ""

    @cached_property
    def slices(self) -> list[Slice]:
        """The tasks as slices, that with the largest headline difference (first system − second)
        first. Empty without tasks, if tasks are the units (`by_task`), or if units are no sample.
        """
        tasks = self.data.tasks
        if tasks is None or self.data.by_task or not self.units_vary:
            return []
        task_slices = slices("task", tasks, len(set(tasks)))
        if not len(self.headline):  # nothing to sort by
            return task_slices
        rows = self._row_differences(self.primary_metric, self.headline_systems)

        def mean_difference(task: Slice) -> float:
            """The headline's difference over the rows of a task; 0 if no row has both systems."""
            in_task = task.member[rows.in_both]
            return float(rows.values[in_task].sum() / max(in_task.sum(), 1))

        return sorted(task_slices, key=lambda task: -mean_difference(task))

    @property
    def family(self) -> str:
        """The comparisons that were made, as text."""
        metrics = len(self.metrics_with_direction)
        pairs = len(self.pairs)
        noun = "candidate" if self.settings.baseline else "pair"
        product = f"{metrics} {plural('metric', metrics)} × {pairs} {plural(noun, pairs)}"
        return f"{metrics * pairs} {plural('comparison', metrics * pairs)}: {product}; Holm"

    @property
    def test_level(self) -> float:
        """The level of each interim analysis at which all planned ones together keep the requested
        level (Pocock).
        """
        return self._each_look(self.settings.test_level)

    @property
    def interval_level(self) -> float:
        """The level of each interim analysis at which the intervals of all planned ones together
        keep theirs.
        """
        return self._each_look(self.settings.level)

    def _each_look(self, level: float) -> float:
        """The level of each interim analysis at which all planned ones together keep this one
        (Pocock 1977).
        """
        if self.p.looks == 1:
            return level
        from scipy.special import ndtr

        critical_z = multiplicity.pocock(self.p.looks, level=level)[0]
        return float(1 - 2 * ndtr(-critical_z))

    def over_looks(self, p: Floats) -> Floats:
        """For each of some p-values the probability under the null that at least one planned
        analysis has one so small.
        """
        return np.array([_over_looks(float(value), self.p.looks) for value in p])

    def inference_options(self, stream: RandomStream) -> methods.Options:
        """The options of intervals and tests. stream: of the random numbers that they draw."""
        return replace(
            super().inference_options(stream),
            test_to_train=self.p.test_to_train or 0.0,
            many_units=self.has_many_units,
        )

    @computed_once
    def compare(
        self, chosen: MetricAtK, pair: SystemPair, member: UnitSelection = EVERY
    ) -> significance.Comparison:
        """The comparison of a pair. With interim analyses (looks), p-value and interval are valid
        over all planned looks together.

        Jennison and Turnbull's repeated confidence interval, JRSS B 1989,
        doi:10.1111/j.2517-6161.1989.tb01432.x.
        """
        comparison = super().compare(chosen, pair, member)
        if self.p.looks == 1:
            return comparison
        # The limits were computed at the stricter level of a single look (`interval_level`), so
        # that over all looks together they have the requested level. Only the stated level changes.
        difference = replace(comparison.difference, level=self.settings.level)
        # likewise for the interval of the two one-sided tests of equivalence: two tests at
        # α = 1 − level are one interval at 1 − 2 α = 2 · level − 1
        equivalence_level = round(2 * self.settings.test_level - 1, 12)
        p = _over_looks(comparison.p_value, self.p.looks)
        return replace(
            comparison,
            difference=difference,
            p_value=p,
            adjusted=p,  # of one comparison; Holm's adjustment over all of them comes later
            method=f"{comparison.method}, at one of {self.p.looks} looks",
            equivalence=replace(comparison.equivalence, level=equivalence_level),
        )

    def comparison_extras(self, chosen: MetricAtK, pair: SystemPair) -> Row:
        """The smallest true difference that this many units detect."""
        if not self.units_vary:
            return {}
        return {"detectable": self.paired(chosen, pair).detectable(self.detecting_level)}

    @property
    def family_size(self) -> int:
        """The pairs on every metric are one family."""
        return sum(map(len, self.families))

    @cached_property
    def pairs(self) -> list[SystemPair]:
        """The pairs that were asked for; of logs those that share a question."""
        if not self.data.logged:
            return self.asked_pairs
        return [pair for pair in self.asked_pairs if self._overlap(self.primary_metric, pair)]

    @property
    def uncompared(self) -> list[SystemPair]:
        """The pairs that were asked for and share no unit."""
        return [pair for pair in self.asked_pairs if pair not in self.pairs]

    def _overlap(self, chosen: MetricAtK, pair: SystemPair) -> bool:
        """True if at least one unit has the metric of both systems."""
        first, second = self.compared(chosen, pair)
        return bool(first.shares_units_with(second))

    @cached_property
    def families(self) -> list[list[PairTest]]:
        """The families of comparisons, whose p-values are adjusted together. Here all pairs on all
        metrics that have a better direction are one family, so that the list has one element, or
        none without comparisons.

        Pairs without a common unit are an error; only those of evaluation logs are left out.
        """
        family = []
        for chosen in self.metrics_with_direction:
            for pair in self.pairs:
                if not self.data.logged or self._overlap(chosen, pair):
                    family.append(PairTest(chosen, pair))
        return [family] if family else []

    def without_units(self, error: InputError) -> significance.Comparison:
        """Raise the error: here every pair must have common units."""
        advice = ADVICE_ON_SYSTEMS if len(self.systems) > 2 else ""
        raise InputError(f"{error}{advice}")

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """`Study.comparisons`, adjusted by Holm over all pairs and metrics, with further columns:
        equivalence_low and equivalence_high, the limits of the two one-sided tests; and max_t, the
        p-value adjusted by max-T, only where `joint` has one.
        """
        table = super().comparisons
        for family in self.families:  # there is one at most
            intervals = [self.compare(chosen, pair).equivalence for chosen, pair in family]
            table["equivalence_low"] = [interval.low for interval in intervals]
            table["equivalence_high"] = [interval.high for interval in intervals]
            joint = self.joint(family)
            if joint is not None:
                after_holm = list(table.columns).index("adjusted") + 1
                # from draws of its own, it may come out below the p-value that it adjusts
                adjusted = np.maximum(self.over_looks(joint), table["p"])
                table.insert(after_holm, "max_t", adjusted)
        return table

    # One pair closely: the first of the headline

    @property
    def mid_p(self) -> bool:
        """True if sign flips of the pair count ties half."""
        return not self.has_many_units and all(
            self.measure(self.primary_metric, name).mid_p for name in self.headline_systems
        )

    @property
    def can_flip_signs(self) -> bool:
        """True if sign flips fit the headline: it is no ratio of sums, units are not folds, and
        units vary.
        """
        return self.units_vary and not self.is_ratio(self.primary_metric)

    @cached
    def p_curve(self, points: int = 241) -> pd.DataFrame:
        """The p-value of each null hypothesis about the headline's difference, which are `points`
        differences around the observed one: mean, p. Those with p ≥ α form the interval. Empty for
        a ratio of sums, folds and fixed questions.
        """
        if not self.can_flip_signs:
            return pd.DataFrame()
        row = self.headline.iloc[0]
        difference = row["difference"]
        distances = np.abs(np.array([row["low"], row["high"]]) - difference)
        to_limits = max(distances[np.isfinite(distances)].tolist(), default=0.0)
        # so wide that both limits and 0 lie within the curve; 1 if no unit differs
        reach = max(1.6 * to_limits, 1.2 * abs(difference)) or 1.0
        theta = difference + np.linspace(-reach, reach, points)
        return pd.DataFrame({"mean": theta, "p": self.p_of_null_means(theta)})

    def differences(
        self, pair: SystemPair | None = None, chosen: MetricAtK | None = None
    ) -> pd.Series:
        """A metric of the first system of a pair less that of the second, one number per unit (the
        mean of its rows), smallest first, by the name of the unit.

        pair, chosen: by default the headline's and the primary metric.
        """
        chosen = chosen or self.primary_metric
        pair = pair or self.headline_systems
        in_both = self.pair_values(chosen, pair).in_both
        # names in the order of `unit_differences`: rows as in the input, clusters by their number
        if self.data.cluster is None:
            names = np.asarray(self.data.ids, object)[in_both]
        else:
            clusters = np.unique(self.data.cluster.number[in_both])
            names = np.asarray(self.data.cluster.names, object)[clusters]
        index = pd.Index(names.astype(str), name=self.unit_name)
        means = self.unit_differences(pair, chosen).means
        return pd.Series(means, index=index).sort_values(kind="stable")

    def unit_differences(self, pair: SystemPair, chosen: MetricAtK) -> "UnitDifferences":
        """The differences of a pair in the units that have a row of both."""
        rows = self._row_differences(chosen, pair)
        if self.unit is None:
            return UnitDifferences(rows.values, np.ones(rows.values.size))
        total, n_rows = intervals.by_unit(rows.values, self.unit[rows.in_both])
        return UnitDifferences(total, n_rows)

    def _row_differences(self, chosen: MetricAtK, pair: SystemPair) -> "RowDifferences":
        """The differences of the rows that both systems have."""
        values = self.pair_values(chosen, pair)
        in_both = values.in_both
        differences = values.first.per_unit - values.second.per_unit
        return RowDifferences(differences[in_both], in_both)

    @property
    def every_sign_vector(self) -> bool:
        """True if `null_draws` are the means under all sign vectors, and no sample of them."""
        n = self.unit_differences(self.headline_systems, self.primary_metric).total.size
        return not self.has_many_units and n <= signflip.MAX_ENUMERATED_UNITS

    def null_draws(self) -> Floats:
        """Draws of the headline's mean difference under the null, which flips the sign of each
        unit's difference at random: all combinations of signs of few units, random combinations of
        more, and normal draws with the same variance for very many. Shape (draws,).
        """
        differences = self.unit_differences(self.headline_systems, self.primary_metric)
        total = differences.total  # of the rows of each unit
        n_rows = float(differences.rows.sum())
        rng = self.rng(NULL_DRAWS)
        if self.has_many_units:
            # the variance of Σ ± total over random signs is Σ total²
            return rng.normal(0.0, np.sqrt(total @ total) / n_rows, DRAWN)
        if self.every_sign_vector:
            sums = signflip.enumerated(total)  # only those with + for the first unit
            with_both_signs = np.concatenate([sums, -sums])  # − gives the negatives of those with +
            return with_both_signs / n_rows
        # for a table of differences (units, columns), of which there is one column
        sums_of_columns = signflip.joint_draws(total[:, None], rng=rng, draws=DRAWN)
        return np.asarray(sums_of_columns[0] / n_rows)

    def each_difference(self) -> dict[str, list[Any]]:
        """The differences of the headline, smallest first, as the JSON has them: `units` (names)
        and `values`; both empty if there are very many.
        """
        if self.has_many_units:
            return {"units": [], "values": []}
        differences = self.differences()
        return {"units": list(differences.index), "values": list(differences)}

    def distribution(self) -> Distribution:
        """The distribution of the headline's differences over units."""
        differences = self.unit_differences(self.headline_systems, self.primary_metric)
        return Distribution.from_values(differences.means)

    def p_of_null_means(self, means: Floats) -> Floats:
        """The p-value of each null hypothesis that the headline's mean difference is one of
        `means`, one- or two-sided as the study asks: by sign flips, with very many units by a
        t-test. Shape (means,) in and out.
        """
        if self.has_many_units:
            observed = self.paired(self.primary_metric, self.headline_systems)
            p_of_means = []
            for null_mean in means:
                # The t-test of a mean of 0, of the differences less the null mean. Its standard
                # error is the same, so that only the value is replaced.
                test = replace(observed, value=observed.value - null_mean)
                p_of_means.append(self.asked_p(test.p_value, test.tails))
            return np.array(p_of_means)
        differences = self.unit_differences(self.headline_systems, self.primary_metric)
        rng = self.rng(RandomStream.COMPARISONS)  # as the tests of the study
        # for each draw of signs, the range of null means under which it is as extreme as the data
        ranges = signflip.null_mean_ranges(
            differences.total, differences.rows, rng=rng, draws=DRAWN
        )
        # draws exactly as extreme as the data count fully, or half by the mid-p
        weight_of_ties = signflip.HALF if self.mid_p else 1.0
        difference = float(self.headline.iloc[0]["difference"])
        p = np.empty(len(means))
        for i, null_mean in enumerate(means.tolist()):
            # the share of draws that are as extreme as the data under this null mean
            two_sided = ranges.share(null_mean, weight_of_ties)
            p[i] = self.asked_p(
                two_sided, Tails.from_two_sided_p(two_sided, difference - null_mean)
            )
        return p

    @property
    def p_of_observed(self) -> float:
        """The p-value of the headline's observed difference: 1, or about a half if one-sided."""
        observed = float(self.headline.iloc[0]["difference"])
        return float(self.p_of_null_means(np.array([observed]))[0])

    def clusters(self) -> list[PossibleCluster]:
        """The columns of texts that may name clusters: if the rows with the same text are taken as
        one cluster, the standard error of the headline's mean difference is more than `WIDER` times
        that by the study's units. Empty if the headline is no mean over a sample of units: for a
        ratio of sums, folds and fixed questions.
        """
        if not self.can_flip_signs:
            return []
        rows = self._row_differences(self.primary_metric, self.headline_systems)
        unit = None if self.unit is None else self.unit[rows.in_both]
        error_by_unit = _standard_error(rows.values, unit)
        columns = []
        for name, texts in self.data.texts.items():
            cluster = texts[rows.in_both].astype(str)
            n_clusters = np.unique(cluster).size
            has_clusters = 1 < n_clusters < rows.values.size  # several, some of several rows
            if error_by_unit > 0 and has_clusters:
                factor = _standard_error(rows.values, cluster) / error_by_unit
                if factor > WIDER:
                    columns.append(PossibleCluster(name, n_clusters, factor))
        return columns


def _over_looks(p: float, looks: int) -> float:
    """The probability under the null that at least one of `looks` planned analyses has a p-value
    so small (Pocock); by Bonferroni where it has too few digits; NaN for NaN.
    """
    if np.isnan(p) or looks == 1:
        return p
    bonferroni = min(1.0, p * looks)
    if not 1e-5 < p < 1:  # below, the integral has too few digits
        return bonferroni
    rate = multiplicity.false_positive_rate(looks, level=1 - p)
    # between the p-value of one look and Bonferroni's bound, whatever the error of the integral
    return float(min(bonferroni, max(p, rate)))


def _standard_error(differences: Floats, unit: np.ndarray | None) -> float:
    """The standard error of the mean of some differences. unit: that of each, which varies as a
    whole; None if each difference is a unit.
    """
    spread = Spread.from_influence(sum_by_unit(differences - differences.mean(), unit))
    return spread.error / differences.size


# Beside the test: sizes of effects, the other tests, mean ranks, power and the units needed -------


@cached
@as_data_frame
def effects(study: Significance) -> Iterator[Row]:
    """Yield the effect sizes of each difference: metric, first, second, the fields of
    `power.Effect` over units, difference, relative (to the value of the second system, NaN if that
    is 0). Nothing for differences that are not of single units.
    """
    if not study.has_differences:
        return
    for chosen in study.metrics_with_direction:
        for pair in study.pairs:
            sizes, difference = study.effect(chosen, pair)
            base = abs(study.estimate(chosen, pair[1]).value)
            relative = difference / base if base > 0 else np.nan
            row: Row = {"metric": chosen.label, "first": pair[0], "second": pair[1]}
            row |= vars(sizes)
            yield row | {"difference": difference, "relative": relative}


@cached
@as_data_frame
def other_tests(study: Significance) -> Iterator[Row]:
    """Yield the p-values of every pair by every other test, including tests that are not about a
    mean: metric, first, second, t, bh, bootstrap, tukey, wilcoxon, sign. Only bh (t adjusted by
    Benjamini and Hochberg) and tukey are adjusted, over the pairs of the metric.

    Without ratios of sums, which none of these tests fits; empty if units are no sample, as folds.
    """
    if not study.units_vary:
        return
    for chosen in study.metrics_with_direction:
        if study.is_ratio(chosen):
            continue
        rows = _other_tests(study, chosen)
        adjusted = multiplicity.benjamini_hochberg([row["t"] for row in rows])
        for row, p in zip(rows, adjusted.tolist(), strict=True):
            yield row | {"bh": p}


def _other_tests(study: Significance, chosen: MetricAtK) -> list[Row]:
    """The p-values of one metric by every other test, a row for each pair. They answer the
    question of the study, one- or two-sided. "bh" is NaN: `other_tests` computes it from all rows.

    The sign test leaves out units without a difference; if all are, its p-value is 1.
    """
    alternative = study.settings.alternative
    # Tukey's test has no one-sided form, as the studentised range has no direction
    tukey = {} if alternative.one_sided else _tukey(study, chosen)
    bootstrap = study.bootstraps(chosen)
    rows = []
    with progress("other tests", len(study.pairs), "pairs") as draw:
        for done, pair in enumerate(study.pairs):
            draw(done)
            differences = study.unit_differences(pair, chosen)
            sorted_means = np.sort(differences.means)
            by_t = study.paired(chosen, pair)
            p_bootstrap = bootstrap.get(pair, np.nan)
            if by_t.exact_error == 0:  # no unit differs: both tails are 1, as those of t
                tails_of_bootstrap = by_t.tails
            else:
                tails_of_bootstrap = Tails.from_two_sided_p(p_bootstrap, by_t.value)
            row: Row = {
                "metric": chosen.label,
                "first": pair[0],
                "second": pair[1],
                "t": study.asked_p(by_t.p_value, by_t.tails),
                "bh": np.nan,
                "bootstrap": study.asked_p(p_bootstrap, tails_of_bootstrap),
                "tukey": tukey.get(pair, np.nan),
                "wilcoxon": multiplicity.wilcoxon(sorted_means, alternative),
                "sign": 1.0,
            }
            if np.any(sorted_means != 0):
                sign_test = proportions.sign_test(sorted_means)
                # the level is that of an interval, which is not used
                row["sign"] = sign_test.answering(alternative, level=0.95).p_value
            rows.append(row)
    return rows


def _tukey(study: Significance, chosen: MetricAtK) -> dict[SystemPair, float]:
    """Tukey's p-value of each pair, in both orders, on the units that all systems have; none for
    fewer than three systems, more than `MOST_OF_TUKEY`, or fewer than two units.
    """
    if not 3 <= len(study.order) <= MOST_OF_TUKEY:
        return {}
    values = _complete(study, chosen)
    if len(values) < 2:
        return {}
    # systems that differ by a constant have a standard error of 0
    with np.errstate(invalid="ignore", divide="ignore"):
        p = multiplicity.blocked_tukey(values)
    p_values = {}
    for i, j in permutations(range(len(study.order)), 2):
        p_values[study.order[i], study.order[j]] = float(p[i, j])
    return p_values


def _complete(study: Significance, chosen: MetricAtK) -> Floats:
    """The values of the units that all systems have, (units, systems)."""
    return values_of_complete_units([study.measure(chosen, name) for name in study.order])


class SystemRanks(NamedTuple):
    """The mean rank of each system over units, 1 for the best.

    friedman, iman_davenport: p-values of two tests that all are equal. critical_difference:
    Nemenyi's, by which two mean ranks must differ to be significantly different.
    """

    mean_ranks: dict[str, float]
    units: int
    friedman: float
    iman_davenport: float
    critical_difference: float


@cached
def mean_ranks(study: Significance) -> SystemRanks | None:
    """The mean ranks of at least three systems on at least two units that all of them have. None if
    there are fewer, if units do not vary, for a metric without a better direction, and for a
    one-sided question, which these tests do not answer.
    """
    if (
        len(study.order) < 3
        or not study.units_vary
        or study.primary_metric.metric.best == "neither"
    ):
        return None
    if study.settings.alternative.one_sided:
        return None
    values = _complete(study, study.primary_metric)
    if len(values) < 2:
        return None
    ranked = multiplicity.ranked(study.primary_metric.metric.sign * values)
    level = study.settings.test_level
    return SystemRanks(
        mean_ranks=dict(zip(study.order, map(float, ranked.means), strict=True)),
        units=ranked.units,
        friedman=ranked.friedman,
        iman_davenport=ranked.iman_davenport,
        critical_difference=multiplicity.critical_difference(
            len(study.order), ranked.units, level=level
        ),
    )


def headline_difference(study: Significance) -> methods.PairedDifference | None:
    """The headline's difference with its spread over units, as used by a t-test.

    None for folds, whose differences are no sample, below two units, and if all differences are
    equal.
    """
    difference = study.paired(study.primary_metric, study.headline_systems)
    if difference.spread > 0 and study.units_vary:
        return difference
    return None


@as_data_frame
def power_curve(study: Significance, points: int = 41) -> Iterator[Row]:
    """Yield the power of a paired t-test by true difference, for this number of units, a quarter of
    it (at least 3) and four times it: units, difference, power. There are `points` differences,
    from 0 to a little more than the fewest units detect. Empty if no t-test fits the headline.
    """
    difference = headline_difference(study)
    if difference is None:
        return
    n = difference.n
    level = study.detecting_level
    fewest = max(n // 4, 3)
    # The differences go up to a little more than the one that the fewest units detect. The variance
    # of the units' differences grows by `linear` times the true difference d. Its term in d² is
    # left out here, as with it few units may detect no difference.
    detectable = power.minimum_detectable(
        difference.spread_at(0.0), fewest, level=level, grows=difference.variance_growth.linear
    )
    for n_units in sorted({fewest, n, 4 * n}):
        for true_difference in np.linspace(0, 1.4 * detectable, points).tolist():
            spread = difference.spread_at(true_difference)
            probability = power.paired_power(true_difference, spread, n_units, level=level)
            yield {"units": n_units, "difference": true_difference, "power": probability}


def null_histogram(study: Significance) -> dict[str, Floats]:
    """The histogram of `null_draws`, as columns with a number per bar: low and high, its ends, and
    share, of the draws. Empty for a ratio of sums, folds and fixed questions.
    """
    if not study.can_flip_signs:
        return {}
    draws = study.null_draws()
    # equal bars around 0, so that the draws and the observed difference lie within
    edges = plots.null_bin_edges(draws, float(study.headline.iloc[0]["difference"]))
    draws_in_bar, _ = np.histogram(draws, edges)
    return {"low": edges[:-1], "high": edges[1:], "share": draws_in_bar / draws.size}


AS_OBSERVED = "as large as observed"
HALF_OF_OBSERVED = "half of it"


@cached
@as_data_frame
def needed(study: Significance) -> Iterator[Row]:
    """Yield the number of units that detect a true difference with 80 and 90% power: which,
    difference, n_80, n_90. There is a row for the margin, the observed difference and half of it,
    and the difference that the units of the study detect with 80% power and half of it.

    n_80 and n_90 of the observed difference and half of it are NaN if a one-sided question asks for
    the other direction. Empty if no t-test fits the headline.
    """
    difference = headline_difference(study)
    if difference is None:
        return
    level = study.detecting_level
    observed = float(study.headline.iloc[0]["difference"])
    # no number of units detects a difference in the direction that the question does not ask for
    is_asked_direction = study.settings.alternative.evidence(observed) > 0
    detectable = difference.detectable(level)
    differences = {
        "the margin": study.settings.margin or 0.0,
        AS_OBSERVED: abs(observed),
        HALF_OF_OBSERVED: abs(observed) / 2,
        f"detectable by {difference.n:,} with 80% power": detectable,
        "half of that": detectable / 2,
    }
    for name, true_difference in differences.items():
        if not true_difference > 0:  # no margin, an observed difference of 0, or NaN
            continue
        can_be_detected = is_asked_direction or name not in (AS_OBSERVED, HALF_OF_OBSERVED)
        row: Row = {"which": name, "difference": true_difference}
        # the spread of the units' differences may grow with the true difference
        spread = difference.spread_at(true_difference)
        for percent in (80, 90):
            n_units = power.required_n(true_difference, spread, level=level, power=percent / 100)
            row[f"n_{percent}"] = n_units if can_be_detected else np.nan
        yield row


# What the tests take for granted, measured --------------------------------------------------------


TIED = 0.5  # share of equal units from which few of them decide
CLOSE = 1e-9  # of the values: further apart, two means are not of the same numbers


def estimated_tails(study: Significance) -> int:
    """The number of p-values that are estimated by importance sampling."""
    return int(study.comparisons["method"].str.contains(signflip.TAIL, regex=False).sum())


def false_rejection_probability(study: Significance) -> float:
    """The probability that any interim analysis, each at the requested level, rejects a true
    null.
    """
    return multiplicity.false_positive_rate(study.p.looks, level=study.settings.test_level)


RANK_TESTS = ("wilcoxon", "sign")


class HeadlineMeans(NamedTuple):
    """The mean of the headline's differences over the units of both systems, and the difference of
    the two systems' values, which may be means over other units.
    """

    of_differences: float
    between: float


def other_means(study: Significance) -> HeadlineMeans | None:
    """The mean of the headline's differences over common units, and the difference of the systems'
    values; None if they are equal. They differ if the values are means over rows or ratios of sums,
    or include units that only one system has.
    """
    first, second = (
        study.estimate(study.primary_metric, name).value for name in study.headline_systems
    )
    between = first - second
    distribution = study.distribution()  # of the headline's differences, one per common unit
    rounding = CLOSE * max(abs(first), abs(second))
    if abs(distribution.mean - between) > rounding:
        return HeadlineMeans(of_differences=distribution.mean, between=between)
    return None


def undefined(study: Significance) -> dict[str, int]:
    """The number of rows without a value, by "SYSTEM METRIC"; without zeros."""
    lacking = {}
    for chosen in study.settings.metrics:
        for name in study.order:
            n = int((~study.values(chosen, name).defined).sum())
            if n:
                lacking[f"{name} {chosen.label}"] = n
    return lacking


class EqualPairs(NamedTuple):
    """The rows of `effects` of pairs that are equal on many units, with the number of their units
    as `of`. is_one_size: True if all pairs of the study have as many units.
    """

    rows: pd.DataFrame
    is_one_size: bool


def equal_units(study: Significance) -> EqualPairs:
    """The pairs that are equal by the primary metric on more than half of their units."""
    pairs = effects(study)
    pairs = pairs[pairs["metric"] == study.primary_metric.label]
    units = pairs["wins"] + pairs["ties"] + pairs["losses"]
    often_equal = (pairs["ties"] > TIED * units) & (units > 0)
    return EqualPairs(pairs.assign(of=units)[often_equal], units.nunique() == 1)


@dataclass(frozen=True)
class Disagreements:
    """Where other tests disagree with the reported one on significance, before Holm's correction.

    by_t: the comparisons on which the t-test does, of the `n_compared_with_t` whose p-values are
    known. by_rank: on how many of the `n` comparisons each rank test does; without zeros.
    """

    n_compared_with_t: int
    by_t: pd.DataFrame
    by_rank: dict[str, int]
    n: int


def disagreements(study: Significance) -> Disagreements | None:
    """How often the t-test and the rank tests of `other_tests` disagree with the reported test on
    significance, before any adjustment over comparisons; None if none of these tests fits.
    """
    tests = other_tests(study)
    if not len(tests):
        return None
    joined = study.comparisons.merge(tests, on=["metric", "first", "second"])
    is_significant = joined["p"] < alpha(study)
    disagree = {}  # by test, a mask of the comparisons
    for name in ("t", *RANK_TESTS):
        # valid over all interim analyses together, as the reported p-value is
        p = study.over_looks(joined[name].to_numpy(float))
        joined[name] = p
        disagree[name] = (p < alpha(study)) != is_significant
    is_known = joined["p"].notna() & joined["t"].notna()  # NaN < α would count as not significant
    return Disagreements(
        n_compared_with_t=int(is_known.sum()),
        by_t=joined[is_known & disagree["t"]],
        by_rank={name: int(disagree[name].sum()) for name in RANK_TESTS if disagree[name].any()},
        n=len(joined),
    )


class MarginTests(NamedTuple):
    """What the interval of the two one-sided tests shows of a difference: that it lies within the
    margin, or beyond it, and that the first system is not worse by the margin, or is.
    """

    is_within: bool
    is_beyond: bool
    is_not_worse: bool
    is_worse: bool


def margin_tests(study: Significance, row: Mapping[str, float]) -> MarginTests:
    """The tests of a difference against the margin, 0 without one. row: of
    `Significance.comparisons`, by the primary metric; its equivalence_low and equivalence_high are
    the limits of the interval that decides.
    """
    margin = study.settings.margin or 0.0
    low = row["equivalence_low"]
    high = row["equivalence_high"]
    # By how much the first system is better: the difference if high values are best, its negative
    # if low ones are. Without a better direction `is_not_worse` and `is_worse` mean nothing, and no
    # page shows them.
    least_advantage = low
    largest_advantage = high
    if study.primary_metric.metric.best != "high":
        least_advantage = -high
        largest_advantage = -low
    return MarginTests(
        is_within=-margin < low and high < margin,
        is_beyond=low > margin or high < -margin,
        is_not_worse=least_advantage > -margin,
        is_worse=largest_advantage < -margin,
    )

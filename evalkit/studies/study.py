"""The base of all studies: the order of the systems, all estimates, the family of comparisons, the
slices.

A study defines `measure`: one metric of one system on some of its units. Everything here follows
from it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, wraps
from itertools import combinations, count
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, ParamSpec, Protocol, Self, TypeVar, cast

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, InputError, ParameterError, codes
from evalkit.caching import cached
from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import MetricAtK
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.machine.progress_bars import progress
from evalkit.numbers import count_with_noun, plural
from evalkit.parameters.kinds import did_you_mean
from evalkit.parameters.policy import CANNOT_TELL, PASS, ComparisonClaim, Policy, obstacle
from evalkit.parameters.reports import NO_GROUPS, ComparisonParameters, GroupQuestion, attributes
from evalkit.reading.tables import columns as roles_of, sources
from evalkit.reading.tables.parts import InputPart, RowFilter, Source
from evalkit.reading.tables.table import EMPTY_ATTRIBUTE, Slice, slices
from evalkit.statistics import inference, intervals, methods, significance, statistic
from evalkit.statistics.alternatives import Alternative, Tails
from evalkit.statistics.methods import RandomStream
from evalkit.studies import groups, policy, units, weak_slices, winners
from evalkit.studies.groups import GroupedMetric
from evalkit.studies.units import UnitNames, Units

# which units: a mask, or in a table read by blocks the number of a slice
UnitSelection = Bools | slice | int
EVERY = slice(None)  # all units
Row = dict[str, Any]  # of a frame
SystemPair = tuple[str, str]  # two systems, of which the first is compared with the second


class PairTest(NamedTuple):
    """A pair of systems, and the metric by which they are compared."""

    chosen: MetricAtK
    pair: SystemPair


class SampleDesign(Protocol):
    """What intervals and tests depend on beside the metric: how the units of a sample vary, and
    whether each of them is in memory.
    """

    @property
    def layout(self) -> statistic.Layout: ...
    @property
    def in_memory(self) -> bool: ...


class FigureSystems(NamedTuple):
    """The systems that a figure shows. n_best: how many of them are the best ones. with_baseline:
    True if the baseline stands behind these.
    """

    names: list[str]
    n_best: int
    with_baseline: bool


@dataclass(frozen=True, eq=False)
class Settings:
    """The parameters that all studies share, checked; the first metric is the primary one."""

    metrics: tuple[MetricAtK, ...]
    baseline: str | None
    unit: str | None
    segments: tuple[str, ...]
    level: float
    margin: float | None
    gate: Policy | None
    seed: int
    limits: Limits = USUAL_LIMITS
    units: bool | None = None
    alpha: float | None = None
    alternative: Alternative = Alternative.TWO_SIDED
    groups: GroupQuestion = NO_GROUPS
    slices: tuple[str, ...] = ()

    @property
    def test_level(self) -> float:
        """The level of tests, verdicts and gates: 1 − alpha, by default that of intervals."""
        return self.level if self.alpha is None else 1 - self.alpha

    @property
    def attributes(self) -> list[str]:
        """The columns that segments, groups, slices and unit name, without duplicates."""
        return attributes(self.segments + self.groups.columns + self.slices, self.unit)

    @property
    def columns(self) -> dict[str, str]:
        """Further numeric columns that the metrics use -> the parameter that names each, for
        errors.
        """
        parameters: dict[str, str] = {}
        for chosen in self.metrics:
            parameters |= dict.fromkeys(chosen.metric.columns, f"metrics: {chosen.metric.name}")
        return parameters

    def checked(self, systems: tuple[str, ...]) -> Self:
        """These settings. systems: those of the input.

        Raises ParameterError if the baseline is not among the systems, or a reference is not among
        the columns of groups. Raises InputError for a single system if the baseline, the margin or
        a one-sided question asks for a comparison.
        """
        if self.baseline is not None and self.baseline not in systems:
            raise ParameterError(
                f"baseline: there is no system {self.baseline!r}"
                f"{did_you_mean(self.baseline, systems)}, the input has {', '.join(systems)}"
            )
        about_comparisons = {
            "baseline": self.baseline,
            "margin": self.margin,
            "alternative": self.alternative.one_sided,
        }
        for parameter, value in about_comparisons.items():
            if value and len(systems) < 2:
                raise InputError(
                    f"{parameter}: a comparison needs two systems, the input has one, "
                    f"{systems[0]!r}"
                )
        for column in self.groups.references:
            if column not in self.groups.columns:
                columns = ", ".join(self.groups.columns) or "none"
                raise ParameterError(
                    f"reference: {column!r} is not among groups; these are {columns}"
                )
        return self


def settings(
    p: ComparisonParameters,
    metrics: Iterable[MetricAtK] = (),
    *,
    unit: str | None = None,
    segments: Iterable[str] = (),
    groups: GroupQuestion = NO_GROUPS,
    slices: Iterable[str] = (),
    limits: Limits = USUAL_LIMITS,
) -> Settings:
    """Return the settings of a study: the parameters `p` that all reports have, and those that only
    some reports have.

    metrics: the first is the primary one. unit: the column of units that are independent, such as
    the user of several rows; None if rows, queries or users themselves are. segments: columns by
    whose values results are broken down. groups: those compared for fairness. slices: those
    searched for weak slices. limits: of time and memory.
    """
    return Settings(
        metrics=lookup.with_directions(metrics, p),
        baseline=p.baseline,
        unit=unit,
        segments=tuple(dict.fromkeys(segments)),  # each once
        level=p.level,
        margin=p.margin,
        gate=p.gate,
        seed=p.seed,
        limits=limits,
        units=p.units,
        alpha=p.alpha,
        alternative=Alternative(p.alternative),
        groups=groups,
        slices=tuple(slices),
    )


def refuse_looks(p: Any) -> None:
    """Raise ParameterError for a one-sided question with several looks, that is interim analyses,
    whose bounds are two-sided.

    p: parameters of a report that have `looks` and `alternative`.
    """
    if p.looks > 1 and Alternative(p.alternative).one_sided:
        raise ParameterError(
            f"alternative: {p.alternative!r} and looks={p.looks} cannot be combined; the bounds of "
            f"interim analyses are two-sided"
        )


def check_columns(metrics: Iterable[Any], parts: Iterable[InputPart]) -> None:
    """Raise ParameterError for a column of an own metric that a part of the input lacks. metrics:
    as the parameter `metrics` takes them. parts: of the input.
    """
    columns = lookup.columns_needed_by(metrics)
    for input_part in parts:
        for column, parameter in columns.items():
            roles_of.require_column(input_part.columns, column, input_part.name, parameter)


S = TypeVar("S")
P = ParamSpec("P")


def as_data_frame(rows: Callable[P, Iterable[Row]]) -> Callable[P, pd.DataFrame]:
    """Turn a function that yields rows into one that returns their data frame."""

    @wraps(rows)
    def to_frame(*args: P.args, **kwargs: P.kwargs) -> pd.DataFrame:
        return pd.DataFrame(list(rows(*args, **kwargs)))

    return to_frame


def frame(rows: Callable[[S], Iterable[Row]]) -> cached_property[pd.DataFrame]:
    """Turn a method that yields rows into a cached property with their data frame.

    >>> class Study:
    ...     @frame
    ...     def squares(self):
    ...         yield from ({"n": n, "square": n * n} for n in (1, 2))
    >>> Study().squares["square"].tolist()
    [1, 4]
    """
    return cached_property(as_data_frame(rows))


def limits(e: intervals.Estimate, name: str = "value") -> dict[str, float]:
    """An estimate as columns of a frame: its value by this name, low and high."""
    return {name: e.value, "low": e.low, "high": e.high}


def with_limits(estimates: Mapping[str, intervals.Estimate]) -> dict[str, float]:
    """The values of estimates by name, and their limits as `_low` and `_high`."""
    columns = {}
    for name, estimate in estimates.items():
        columns[name] = estimate.value
        columns[f"{name}_low"] = estimate.low
        columns[f"{name}_high"] = estimate.high
    return columns


def estimate_columns(e: intervals.Estimate) -> Row:
    """The columns of a frame with one estimate per row: value, low, high, n."""
    return limits(e) | {"n": e.n}


Method = TypeVar("Method", bound=Callable[..., Any])


def computed_once(method: Method) -> Method:
    """Decorate a method of a study that is called with a metric, a system or pair, and some units,
    so that its result for all units is computed once: bootstraps take long. Results for a slice are
    not kept.
    """
    # part of the key: a method of a subclass may call the one that it overrides, whose results
    # differ
    name = method.__qualname__

    @wraps(method)
    def cached_method(
        self: "Study", chosen: MetricAtK, subject: str | SystemPair, member: UnitSelection = EVERY
    ) -> object:
        """The result of the decorated method for a metric, a system or pair (`subject`), and some
        units (`member`); from the second call on the stored one if it is for all units (`EVERY`).
        """
        if member is not EVERY:
            return method(self, chosen, subject, member)
        # a study is a frozen dataclass: only through `vars` it can get another attribute
        results = vars(self).setdefault("_results", {})
        key = (name, chosen, subject)
        if key not in results:
            results[key] = method(self, chosen, subject, member)
        return results[key]

    return cast(Method, cached_method)


@lru_cache
def _seeds(*key: int) -> np.random.SeedSequence:
    """The seed of a generator, mixed once: all pairs of systems begin from the same."""
    return np.random.SeedSequence(key)


def random(*key: int) -> np.random.Generator:
    """A random generator of its own for each key, which begins with the seed."""
    return np.random.Generator(np.random.PCG64(_seeds(*key)))


@dataclass(frozen=True)
class LowestRecall:
    """The class or label with a system's lowest recall: its name, the number of its rows, the
    recall.

    noun: class or label. instead, share: what its rows are most often predicted as, and how many of
    them; "" for none.
    """

    noun: str
    name: str
    n: int
    recall: float
    instead: str = ""
    share: float = 0.0

    @classmethod
    def from_frame(cls, noun: str, rows: pd.DataFrame) -> "LowestRecall | None":
        """The class or label with the lowest recall of a frame with the columns `noun`, n and
        recall; None if every recall that is defined is 1.
        """
        below_1 = rows[rows["recall"] < 1]
        if not len(below_1):
            return None
        row = below_1.loc[below_1["recall"].idxmin()]
        return cls(noun, str(row[noun]), int(row["n"]), float(row["recall"]))


@dataclass(frozen=True, eq=False, repr=False)
class Study(ABC):
    """An evaluation of several systems on the same units. Data frames have one row per result.

    p: the parameters of the report, checked. sources: what was read.
    """

    settings: Settings
    systems: tuple[str, ...]
    attributes: Mapping[str, Any]
    p: Any
    sources: tuple[Source, ...]

    report: ClassVar[str]
    differences_are: ClassVar[str] = "Paired differences"
    compared_noun: ClassVar[str] = "system"  # what is compared, as a noun
    listed_under: ClassVar[str] = ""  # the heading under which a page lists single rows or queries
    # whether pairs without a baseline have a first system whatever their values are
    directed_pairs: ClassVar[bool] = False
    adjusted_over: ClassVar[str] = "the pairs of one metric"  # what one adjustment covers
    # whether a threshold chosen on the units is chosen again on samples of them
    rechosen: ClassVar[bool] = False
    all_units: ClassVar[UnitSelection] = EVERY

    def __repr__(self) -> str:
        """One line: the systems, the metrics, the unit."""
        metrics = ", ".join(chosen.label for chosen in self.settings.metrics)
        return (
            f"<{type(self).__name__} study of {', '.join(self.systems)}: {metrics}; unit "
            f"{self.unit_name}>"
        )

    def __dir__(self) -> list[str]:
        """The names of a part of a report; those of a whole report are in `drawing.shown`."""
        return ["estimates", "comparisons", "by_segment", "order", "systems", "p"]

    @property
    def used_share(self) -> float:
        """The share of the rows read that the numbers are from."""
        return 1.0

    @property
    @abstractmethod
    def unit_name(self) -> str:
        """The noun for what varies from sample to sample: query, row, user."""

    @abstractmethod
    def measure(
        self, chosen: MetricAtK, system: str, member: UnitSelection = EVERY
    ) -> statistic.Statistic:
        """One metric of one system on the units `member`."""

    @computed_once
    def estimate(
        self, chosen: MetricAtK, system: str, member: UnitSelection = EVERY
    ) -> intervals.Estimate:
        """One metric of one system with its interval, on the units `member`."""
        options = self.inference_options(RandomStream.ESTIMATES)
        return inference.estimate(self.measure(chosen, system, member), options)

    def deciding_estimate(
        self, chosen: MetricAtK, system: str, member: UnitSelection = EVERY
    ) -> intervals.Estimate:
        """One metric of one system with the interval that a rule is about: that of `estimate`. A
        subclass may have another. member: the units.
        """
        return self.estimate(chosen, system, member)

    def compared(
        self, chosen: MetricAtK, pair: SystemPair, member: UnitSelection = EVERY
    ) -> tuple[Any, Any]:
        """The statistics of a metric of both systems of a pair on the units `member`."""
        first, second = pair
        return self.measure(chosen, first, member), self.measure(chosen, second, member)

    @computed_once
    def compare(
        self, chosen: MetricAtK, pair: SystemPair, member: UnitSelection = EVERY
    ) -> significance.Comparison:
        """The difference first − second of a pair, with its test, on the units `member`. Raises
        InputError for a metric of values of units if no unit has a value for both systems.
        """
        # the metric of either system, with what its error and the test are computed from
        first, second = self.compared(chosen, pair, member)
        if not first.shares_units_with(second):  # no unit has both values
            names = dict.fromkeys(source.name for source in self.sources)
            where = roles_of.listed(names, sources.SHOWN)  # the first files
            lacks = f"no {self.unit_name} has a value for both {pair[0]!r} and {pair[1]!r}"
            raise InputError(f"{where}: {chosen.label}: {lacks}")

        def at_level(level: float) -> significance.Comparison:
            """The two-sided comparison with its interval at this level."""
            options = replace(self.inference_options(RandomStream.COMPARISONS), level=level)
            return inference.compare(first, second, options)

        # made one-sided if the study asks a one-sided question
        return self.comparison_of_question(at_level)

    def comparison_of_question(
        self,
        compare: Callable[[float], significance.Comparison],
        alternative: Alternative | None = None,
    ) -> significance.Comparison:
        """A comparison that answers the question of the study, two-sided or one-sided: its interval
        is at `interval_level`, and the test of equivalence is at `test_level`.

        compare: level -> the two-sided comparison with all intervals at this level. alternative:
        the question; None for that of the study.
        """
        question = alternative or self.settings.alternative
        # a one-sided limit at 95% is a limit of the two-sided interval at 90%
        two_sided = compare(question.two_sided_level(self.interval_level))
        if self.settings.alpha is None and not question.one_sided:
            # without an alpha of its own, tests are at the level of intervals: all is in place
            return two_sided
        # its interval and p for the asked direction, but equivalence at the level of tests
        at_test_level = compare(self.test_level)
        return replace(
            two_sided.answering(question, level=self.interval_level),
            equivalence=at_test_level.equivalence,
            alpha=self.settings.alpha,
        )

    def inference_options(self, stream: RandomStream) -> methods.Options:
        """The options of intervals and tests. stream: of the random numbers that they draw, which
        begins anew with each call.
        """
        settings = self.settings
        return methods.Options(
            settings.level, self.rng(stream), self.unit_name, settings.limits, seed=settings.seed
        )

    @property
    def test_level(self) -> float:
        """The level of each test."""
        return self.settings.test_level

    @property
    def interval_level(self) -> float:
        """The level at which the interval of a difference is computed."""
        return self.settings.level

    @property
    def family_size(self) -> int:
        """The number of comparisons that are adjusted together."""
        return len(self.pairs)

    @property
    def family_level(self) -> float:
        """The level at which one comparison is significant whatever the others are: Holm's first
        step.
        """
        return 1 - (1 - self.test_level) / max(self.family_size, 1)

    @property
    def two_sided(self) -> Self:
        """This study with two-sided questions, for comparisons whose first system is chosen by its
        value, and those about the evaluation itself.
        """
        if not self.settings.alternative.one_sided:
            return self
        settings = replace(self.settings, alternative=Alternative.TWO_SIDED, gate=None)
        return replace(self, settings=settings)

    def asked_p(self, two_sided: float, tails: Tails) -> float:
        """The p-value of the question of the study. two_sided: that of the two-sided question.
        tails: the probabilities of both tails, from which that of a one-sided question follows.
        """
        return self.settings.alternative.p_value(two_sided, tails)

    @property
    def detecting_level(self) -> float:
        """The level of the two-sided test that detects a difference in the direction that counts
        as often as one comparison does, whatever the others are.
        """
        return self.settings.alternative.two_sided_level(self.family_level)

    def would_show(self, chosen: MetricAtK, pair: SystemPair) -> float:
        """The smallest true difference that the verdict detects with 80% power, adjusted for the
        other comparisons.
        """
        return self.detectable(chosen, pair, self.compare(chosen, pair), self.detecting_level)

    def detectable(
        self,
        chosen: MetricAtK,
        pair: SystemPair,
        comparison: significance.Comparison,
        level: float,
        member: UnitSelection = EVERY,
    ) -> float:
        """The smallest true difference that the test of a comparison detects with 80% power on the
        units `member`. level: of the test, which may differ from that of the comparison.
        """
        first, second = self.compared(chosen, pair, member)
        return inference.detectable(first, second, comparison, level)

    @property
    def family(self) -> str:
        """The comparisons that were made and adjusted together, as text."""
        comparisons = count_with_noun(self.family_size, "comparison")
        return f"{comparisons} on {self.primary_metric.label}, Holm-adjusted"

    def estimate_extras(self, chosen: MetricAtK, system: str, estimate: intervals.Estimate) -> Row:
        """Further columns of `estimates`, which some subclasses have; here none."""
        return {}

    def comparison_extras(self, chosen: MetricAtK, pair: SystemPair) -> Row:
        """Further columns of `comparisons`, which some subclasses have; here none."""
        return {}

    def rng(self, *key: int) -> np.random.Generator:
        """A random generator of its own for each result, so that none depends on what else was
        computed. key: the number, or numbers, that this result has among those of the study; those
        of intervals and tests have names, `RandomStream`.
        """
        return random(self.settings.seed, *key)

    @property
    def primary_metric(self) -> MetricAtK:
        """The primary metric: the first."""
        return self.settings.metrics[0]

    @property
    def metrics_with_direction(self) -> list[MetricAtK]:
        """The metrics that have a better direction, known or not."""
        return [chosen for chosen in self.settings.metrics if chosen.metric.best != "neither"]

    @property
    def tested(self) -> list[MetricAtK]:
        """The metrics of `metrics_with_direction` as their tests compare them."""
        return self.metrics_with_direction

    def constant(self, chosen: MetricAtK) -> float:
        """The metric of a constant prediction; NaN if nothing is predicted."""
        return float("nan")

    @property
    def constants(self) -> Sequence[Callable[[MetricAtK], float]]:
        """The metric of each kind of constant prediction."""
        return (self.constant,)

    def repeats(self, chosen: MetricAtK) -> bool:
        """True if the values of units are of repeated draws of 0 or 1."""
        return False

    def earlier_measurement(self, chosen: MetricAtK) -> str:
        """The earlier measurement by which differences in a metric are adjusted; "" if there is
        none.
        """
        return ""

    @property
    def weakest(self) -> "LowestRecall | None":
        """The leader's class or label with the lowest recall, if there are several."""
        return None

    @property
    def question_of_tests(self) -> str:
        """The question of the tests: two-sided, greater or less."""
        return self.settings.alternative.value

    @property
    def design(self) -> SampleDesign:
        """How the units of the sample vary, and whether each is in memory."""
        return self.measure(self.primary_metric, self.systems[0])

    def method_names_text(
        self, metrics: Iterable[MetricAtK], name_of: Callable[[inference.Method], str]
    ) -> str:
        """The names of the methods of some metrics, as text. name_of: a method -> the name of its
        interval or of its test.
        """
        design = self.design
        return inference.method_names(
            metrics, design.layout, name_of, in_memory=design.in_memory, rechosen=self.rechosen
        )

    @property
    def tests_text(self) -> str:
        """How the differences were tested, as text: what kind of differences, the question, the
        test of each metric, the unit, and the adjustment.
        """
        # such as "accuracy: McNemar; mae: t", for the metrics that are tested
        test_names = self.method_names_text(self.tested, lambda method: method.test_is)
        question = self.question_of_tests  # "two-sided", "greater" or "less"
        if self.settings.alternative.one_sided:
            question = f"one-sided ({question})"
        return (
            f"{self.differences_are.lower()}, {question}: {test_names}{self.units_clause}; Holm "
            f"over the pairs of one metric"
        )

    @property
    def units_clause(self) -> str:
        """The unit that varies, as the end of a sentence about methods."""
        return f"; over {plural(self.unit_name, 2)}"

    @cached_property
    def unit(self) -> np.ndarray | None:
        """The number of each unit's cluster among the sorted names, None if no column was named."""
        if self.settings.unit is None:
            return None
        numbers, _ = codes(self.attributes[self.settings.unit])
        return numbers

    @cached_property
    def order(self) -> list[str]:
        """The systems by the primary metric, best first; equal ones (to 12 digits) by name,
        undefined ones last.
        """
        values = {name: self.estimate(self.primary_metric, name).value for name in self.systems}
        return ranked(values, self.primary_metric)

    def figure_systems(self, max_systems: int) -> FigureSystems:
        """The systems of a figure that has room for `max_systems`: the best ones, and instead of
        the last of these the baseline if it is not among them.
        """
        best = self.order[:max_systems]
        baseline = self.settings.baseline
        if baseline is None or baseline in best:
            return FigureSystems(best, n_best=len(best), with_baseline=False)
        best = best[: max_systems - 1]
        return FigureSystems([*best, baseline], n_best=len(best), with_baseline=True)

    def of_systems(self, names: Sequence[str]) -> Self:
        """This study with these systems alone, on the same rows, and with p adjusted over their
        pairs. A one-sided question becomes two-sided if no pair of them has a first system.
        """
        settings = self.settings
        if settings.baseline not in names:
            settings = replace(settings, baseline=None)
        # in a pair with the baseline the other system is the first; pairs of some subclasses
        # (`directed_pairs`), such as new and old in a diff, always have a first one
        has_first_system = settings.baseline is not None or self.directed_pairs
        if len(names) < 2 or not has_first_system:
            settings = replace(settings, alternative=Alternative.TWO_SIDED)
        study = replace(self, settings=settings)
        # All tables list the systems of the cached property `order`. It is set, as the study is
        # frozen, in the place where its value is kept.
        vars(study)["order"] = [name for name in self.order if name in names]
        return study

    @frame
    def estimates(self) -> Iterator[Row]:
        """Yield each metric of each system, best first: metric, system, value, low, high, level, n,
        method, and the columns of `estimate_extras`.
        """
        for chosen in self.settings.metrics:
            for name in self.order:
                estimate = self.estimate(chosen, name)
                row = {"metric": chosen.label, "system": name} | vars(estimate)
                yield row | self.estimate_extras(chosen, name, estimate)

    @cached_property
    def pairs(self) -> list[SystemPair]:
        """The family of pairs that are compared."""
        return self.asked_pairs

    @property
    def asked_pairs(self) -> list[SystemPair]:
        """Every other system against the baseline, or all pairs, each with its better one first."""
        baseline = self.settings.baseline
        if baseline is None:
            return list(combinations(self.order, 2))
        return [(name, baseline) for name in self.order if name != baseline]

    @property
    def families(self) -> list[list[PairTest]]:
        """The families of comparisons, whose p-values are adjusted together: one family for each
        metric that has a direction, of all pairs by this metric.
        """
        families = []
        for chosen in self.metrics_with_direction:
            families.append([PairTest(chosen, pair) for pair in self.pairs])
        return families

    @frame
    def comparisons(self) -> Iterator[Row]:
        """Yield the columns of `row` for every pair on every metric that has a direction; p is
        adjusted by Holm within each of the `families`, here over the pairs of one metric.

        A pair without common units has an undefined comparison. Raises InputError if no pair has
        units in common by the primary metric.
        """
        with progress(
            "comparing", len(self.metrics_with_direction) * len(self.pairs), "pairs"
        ) as draw_progress:
            n_compared = count()
            for family in self.families:
                errors = list[InputError]()  # one for each pair without common units
                comparisons = list[significance.Comparison]()
                for chosen, pair in family:
                    draw_progress(next(n_compared))
                    try:
                        comparisons.append(self.compare(chosen, pair))
                    except InputError as error:
                        errors.append(error)
                        comparisons.append(self.without_units(error))  # an undefined one
                # if no pair could be compared, the input is at fault; but another metric than the
                # primary one may just not apply to it
                none_compared = bool(errors) and len(errors) == len(comparisons)
                if none_compared and family[0].chosen is self.primary_metric:
                    raise errors[0]
                adjusted = significance.adjust(comparisons)
                for (chosen, pair), comparison in zip(family, adjusted, strict=True):
                    yield self.row(chosen, pair, comparison)

    def without_units(self, error: InputError) -> significance.Comparison:
        """What `comparisons` has for a pair without common units: an undefined comparison. error:
        that of `compare`, which a subclass may raise instead.
        """
        return inference.undefined(self.settings.level, self.unit_name)

    def row(self, chosen: MetricAtK, pair: SystemPair, comparison: significance.Comparison) -> Row:
        """The columns of a comparison: metric, first, second, difference, low, high, level, p,
        adjusted, n, unit, verdict, method, and those of `comparison_extras`.
        """
        difference = comparison.difference
        verdict: str = CANNOT_TELL
        if not self.broken_design:  # otherwise no result counts, whatever it is
            verdict = significance.verdict(
                comparison, margin=self.settings.margin, direction=chosen.metric.direction
            )
        row: Row = {"metric": chosen.label, "first": pair[0], "second": pair[1]}
        row |= limits(difference, "difference") | {"level": difference.level}
        row |= {"p": comparison.p_value, "adjusted": comparison.adjusted}
        row |= {"n": difference.n, "unit": comparison.unit}
        row |= {"verdict": verdict, "method": comparison.method}
        return row | self.comparison_extras(chosen, pair)

    @cached_property
    def leader(self) -> str:
        """The best system; with a baseline, the best of the others."""
        return best_non_baseline(self.order, self.settings.baseline)

    @cached_property
    def headline(self) -> pd.DataFrame:
        """The rows of `comparisons` that the first screen of a page shows, by the primary metric:
        all systems against the baseline, or without one the leader against every other system.
        Empty if there are no pairs, or if the metric has no better direction. If the gate is a
        single rule of comparison, the systems that do not pass come first.
        """
        if not self.pairs or self.primary_metric.metric.best == "neither":
            return pd.DataFrame()
        rows = self.comparisons[self.comparisons["metric"] == self.primary_metric.label]
        if not self.settings.baseline:
            return rows[rows["first"] == self.leader]
        gate = self.settings.gate
        # what a single rule claims of a comparison; a policy file has no claim `alone`
        claim = None if gate is None else gate.alone
        if not isinstance(claim, ComparisonClaim):
            return rows
        # such as {"better": PASS, "worse": FAIL}
        result_of_verdict = policy.RESULTS[claim.words]
        passes = rows["verdict"].map(result_of_verdict) == PASS
        in_order = passes.sort_values(kind="stable")  # False before True: failures first
        return rows.loc[in_order.index]

    def spoken(self, system: str) -> str:
        """A system as a sentence names it."""
        return system

    @property
    def headline_systems(self) -> SystemPair:
        """The first pair of the headline; raises InputError if there is none."""
        if not len(self.headline):
            raise InputError("a comparison needs two systems and a metric with a direction")
        row = self.headline.iloc[0]
        return row["first"], row["second"]

    # Segments

    @cached_property
    def slices(self) -> list[Slice]:
        """The groups of units that share a value of a segment column."""
        segments = list[Slice]()
        for column in self.settings.segments:
            segments += slices(column, self.attributes[column])
        return segments

    def only(self, slice_: Slice, data: Any) -> list[InputPart]:
        """An input read again, restricted to the rows of a slice, as a list of its parts, such as
        files. data: the input as the user gave it.
        """
        texts = list(slice_.texts)  # the cells of the column that belong to the slice
        if EMPTY_ATTRIBUTE in texts:  # what a slice calls an empty cell
            texts.append("")
        selected = RowFilter(slice_.column, texts)
        input_parts = sources.parts(data, self.p.header, self.settings.limits.reading)
        return [replace(input_part, selected_rows=selected) for input_part in input_parts]

    @cached_property
    def by_segment(self) -> pd.DataFrame:
        """The primary metric of each system in each slice: segment, slice, system, value, low,
        high, n. If there are tests, also the difference of the headline's first pair in the slice:
        difference, difference_low, difference_high, p, and p adjusted by Holm over the slices.
        """
        rows = []
        for slice_ in self.slices:
            for name in self.order:
                row = {"segment": slice_.column, "slice": slice_.label, "system": name}
                estimate = self.estimate(self.primary_metric, name, slice_.member)
                rows.append(row | estimate_columns(estimate))
        tests = pd.DataFrame(list(self._slice_tests()))
        if not len(tests):
            return pd.DataFrame(rows)
        tests["adjusted"] = significance.holm(tests["p"].to_numpy(float))
        return pd.DataFrame(rows).merge(tests, on=["segment", "slice"], how="left")

    def _slice_tests(self) -> Iterator[Row]:
        """Yield the comparison of the headline's first pair in each slice with two units or more:
        segment, slice, difference, difference_low, difference_high, p.
        """
        if not self.slices or not len(self.headline):
            return
        first_pair = self.headline_systems
        for slice_ in self.slices:
            try:
                comparison = self.compare(self.primary_metric, first_pair, slice_.member)
            except InputError:  # no unit of the slice has both values
                continue
            if comparison.difference.n >= 2:  # a test needs two units
                row: Row = {"segment": slice_.column, "slice": slice_.label}
                row |= with_limits({"difference": comparison.difference})
                yield row | {"p": comparison.p_value}

    def weight_of_slice(self, slice_: Slice, units: float) -> float:
        """How much a slice counts in the mean of several slices: as many as its units."""
        return units

    def slices_obstacle(self, column: str) -> str:
        """Why the slices of a column cannot be compared with each other; "" if they can."""
        return winners.obstacle(self, column)

    @frame
    def slices_against_rest(self) -> Iterator[Row]:
        """The primary metric in each slice beside the mean of the other slices of its column, of
        each system and of the headline pair's difference; p adjusted by max-T over the column.
        """
        return winners.against_rest(self)

    @frame
    def picked_slices(self) -> Iterator[Row]:
        """The highest and the lowest slice of each column: its value, and the value corrected for
        having been picked among the slices.
        """
        return winners.extreme_slices(self)

    @cached
    def weak_slices(self) -> pd.DataFrame:
        """The slices of one to three conditions in which the leader is worse than elsewhere, and
        those in which the headline pair differs otherwise than elsewhere; p adjusted for all
        slices that were tested.

        The columns of `slices` are searched. value, rest, difference, low, high: on the units that
        were not searched. Raises ParameterError without columns, or if no metric is a mean of
        rows or units.
        """
        rows = weak_slices.of_study(self).rows()
        return pd.DataFrame(list(rows), columns=list(weak_slices.COLUMNS))

    @cached
    def detectable_slices(self) -> pd.DataFrame:
        """The effect that `weak_slices` finds with 80 % power in slices of 1, 5 and 20 % of the
        rows; NaN where slices are too small to be found.
        """
        return pd.DataFrame(list(weak_slices.of_study(self).detectable_rows()))

    # Groups

    @property
    def group_metrics(self) -> Sequence[MetricAtK]:
        """The metrics that are compared between groups."""
        return self.settings.metrics

    def group_parts(self, column: str) -> Sequence[Slice]:
        """The groups of a column. Raises ParameterError for a column that was not read, and for
        rows that are not in memory.
        """
        return groups.parts_of(self, column)

    @cached
    def gaps(self, column: str) -> pd.DataFrame:
        """Each metric of each system in the groups of a column that `groups` or `segments` names.

        value, low, high: in the group. gap, ratio: to the reference group, with limits that hold
        for all groups of a metric together. Raises ParameterError for another column.
        """
        rows = list[Row]()
        for metric in self.grouped(column):
            rows += metric.rows()
        return pd.DataFrame(rows)

    @cached
    def largest_gaps(self, column: str) -> pd.DataFrame:
        """The largest gap between two groups of a column, of each metric and system."""
        return pd.DataFrame([metric.largest_row() for metric in self.grouped(column)])

    def largest_gap(self, chosen: MetricAtK, system: str, column: str) -> intervals.Estimate:
        """The largest gap of a metric of a system between two groups of a column; undefined if
        fewer than two have a value.
        """
        by_metric = {(metric.chosen, metric.system): metric for metric in self.grouped(column)}
        gap = by_metric[chosen, system].largest
        if gap is None:
            return inference.undefined(self.settings.level, self.unit_name).difference
        return gap.estimate

    @cached
    def grouped(self, column: str) -> list[GroupedMetric]:
        """The metrics of each system in the groups of a column."""
        return groups.grouped(self, column, self.group_metrics)

    # The file of units

    @abstractmethod
    def units_held(self) -> Units:
        """The units. If they are not in memory, the input is read again block by block."""

    def units_wanted(self) -> Units | None:
        """The units that a report writes into its file of units; None if it writes none. The user
        decides by the parameter `units`, True or False; without it (None) they are written unless
        the file would be large: more than `units.MOST` units times systems.
        """
        is_requested = self.settings.units
        if is_requested is False:
            return None
        all_units = self.units_held()
        if is_requested is None and all_units.size * len(self.systems) > units.MOST:
            return None
        return all_units

    def write_units(self, path: Path) -> None:
        """Write the file of units of this study; none if there are none to write."""
        units.write(path, self.report, {"": self})

    @property
    def units(self) -> pd.DataFrame:
        """The unrounded data behind every metric: one row per unit, system and metric; see
        docs/python.md.

        Raises InputError if there are none, or so many that only `units=True` makes them.
        """
        if self.settings.units is False:
            raise InputError("units: left out by units=False; read the report without it")
        return units.frame_of_units(self.report, {"": self})

    def listed(self, id: np.ndarray) -> UnitNames:
        """The names of the units: their ids, the column of the parameter `unit`, and the slices.
        id: of each unit, text or numbers.
        """
        unit_names = None
        if self.settings.unit is not None:
            unit_names = self.attributes[self.settings.unit]
        return UnitNames.with_slices(id, unit_names, self.slices)

    # The gate

    def __post_init__(self) -> None:
        """Raise ParameterError for a rule that names what the input does not have, or a question
        that the comparisons cannot answer, before anything is computed.
        """
        self._check_question()
        for column in self.settings.groups.references:
            groups.reference_of(self, column, self.group_parts(column))
        policy.check_rules(self.settings.gate, [self])

    def _check_question(self) -> None:
        """Raise ParameterError for a one-sided question without a baseline, unless pairs have a
        first system anyway (`directed_pairs`), and for one whose level has no one-sided limits.
        """
        settings = self.settings
        if not settings.alternative.one_sided:
            return
        if len(self.systems) > 1 and settings.baseline is None and not self.directed_pairs:
            raise ParameterError(
                f"alternative: {self.question_of_tests!r} needs a baseline, with which every other "
                f"system is compared; without one neither system of a pair is the first"
            )
        for level in (settings.level, settings.test_level):
            settings.alternative.two_sided_level(level)  # raises for a level that is too low

    @cached_property
    def gate(self) -> policy.JudgedPolicy | None:
        """The results of the rules that were set; None without rules."""
        rules = self.settings.gate
        if rules is None:
            return None
        report = cast(Any, self)  # every study with a gate has the findings of its page
        return policy.judge(rules, [self], lambda: report.findings.to_dict("records"))

    @property
    def studies(self) -> Sequence["Study"]:
        """The studies that a rule may be about: this one."""
        return [self]

    def check(self, rules: str | Path) -> None:
        """Assert that the study keeps a policy file or a rule; see `ek.check`."""
        policy.check(self, rules)

    @property
    def word(self) -> str | None:
        """The verdict on the evaluation itself, None if the report gives none."""
        return None

    def at_level(self, level: float) -> Self:
        """This study with all intervals and tests at another level."""
        return replace(self, settings=replace(self.settings, level=level, alpha=None))

    @property
    def broken_design(self) -> str:
        """Why no result of the study counts, whatever it is; "" if results count."""
        return ""

    def obstacle(self, chosen: MetricAtK, system: str, second: str) -> str:
        """Why no rule on a system, or on its difference from a second one, can be decided: the
        design is broken, or the report compares with its baseline alone; "" if rules can be
        decided. second: "" for a system alone.
        """
        baseline = self.settings.baseline
        if self.broken_design or not second or baseline in (None, system, second):
            return self.broken_design
        return obstacle("not_reported", first=system, second=second, metric=chosen.label)

    def doubt(self, chosen: MetricAtK, system: str, second: str) -> str:
        """Why the limits of a system, or of its difference from a second one, cannot be computed at
        another level: "", as a study of rows or units can always compute them. A study read from a
        file of units may not. second: "" for a system alone.
        """
        return ""

    def divisions(self) -> Sequence[Slice]:
        """The slices that a rule may name."""
        return self.slices

    def subjects(self, chosen: MetricAtK) -> Sequence[str]:
        """The systems that a rule on a metric is about."""
        return self.systems

    def against(self, chosen: MetricAtK, second: str | None) -> list[SystemPair]:
        """The pairs that a rule of comparison is about: every other system against `second`, or
        against the baseline if `second` is None.

        chosen: the metric, unused here, as all metrics have the same pairs; a diff has pairs of its
        own for each metric. Raises ParameterError for a single system, if there is neither a second
        system nor a baseline, or if the second one is unknown.
        """
        if len(self.systems) < 2:
            raise ParameterError(
                f"a comparison needs two systems, the input has one, {self.systems[0]!r}"
            )
        second = second or self.settings.baseline
        if second is None:
            raise ParameterError(
                "needs a baseline to compare the other systems with; set baseline='NAME'"
            )
        if second not in self.systems:
            raise ParameterError(
                f"there is no system {second!r}{did_you_mean(second, self.systems)}, the input has "
                f"{', '.join(self.systems)}"
            )
        return [(name, second) for name in self.systems if name != second]


def ranked(values: Mapping[str, float], chosen: MetricAtK) -> list[str]:
    """The systems by their values of a metric, best first; equal ones (to 12 digits) by name,
    undefined ones last.
    """

    def key(system: str) -> tuple[bool, float, str]:
        value = float(f"{values[system]:.12g}")
        return math.isnan(value), -chosen.metric.sign * value, system

    return sorted(values, key=key)


def best_non_baseline(order: Sequence[str], baseline: str | None) -> str:
    """The first system of an order that is not the baseline; of a single system that one."""
    if len(order) == 1:
        return order[0]
    return next(name for name in order if name != baseline)

"""The A/B part of the interleaving study: each arm's metrics, the lift, and the effect of CUPED,
strata and caps.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Floats, ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import MeanPerUnit, MetricKind, Proportion, Ratio
from evalkit.catalogue.metric import UNKNOWN, Metric
from evalkit.metrics.rows import Sums
from evalkit.names import control_of
from evalkit.numbers import unit_noun
from evalkit.online import experiments, logs
from evalkit.parameters import reports
from evalkit.reading.engines import backends, base
from evalkit.reading.matching import proposal
from evalkit.reading.matching.samples import SampledTable
from evalkit.reading.tables.parts import InputPart
from evalkit.statistics import independent, inference, methods, multiplicity, power, significance
from evalkit.statistics.methods import RandomStream
from evalkit.statistics.statistic import AdjustedStatistic, Layout, UnitStatistic
from evalkit.studies import randomisation, study, units
from evalkit.studies.randomisation import Check
from evalkit.studies.study import EVERY, Row, Settings, Study, SystemPair, UnitSelection, frame

SAMPLE = "data/interleaving/health_plans.parquet"
CAPS = (0.999, 0.99, 0.95, 0.9)  # quantiles at which values are capped
LIFTS = (0.01, 0.02, 0.05, 0.1, 0.2)  # for which the users that detect them are computed
TOPS = (0.01, 0.1)  # shares of users, those with the largest values
# share of the total from which on, if the first of `TOPS` has it, limits of a mean fall short
TOP_HEAVY = 0.2
# users of an arm with a value other than the usual one, of fewer the interval of its mean is too
# short
FEW_OTHERS = 10
MANY_CROSSED = 0.01  # the share of users in several arms from which the assignment is in doubt


@dataclass(frozen=True)
class Control:
    """The control arm of the headline: mean and standard deviation of the unadjusted metric, and
    its correlation with the column from before the experiment (0 without one).
    """

    mean: float
    deviation: float
    correlation: float


Scalar = TypeVar("Scalar", bound=np.generic)


class ArmPair(NamedTuple, Generic[Scalar]):
    """A column of the table, one value per user, in the two arms of the headline pair."""

    first: NDArray[Scalar]
    second: NDArray[Scalar]


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(Study):
    """The study of an A/B test: the systems are the arms, the units are users, each in one arm.

    table: the users who are compared, arm by arm. sample: True for the bundled data.
    """

    table: logs.Users
    sample: bool

    differences_are: ClassVar[str] = "Differences of arms"
    compared_noun: ClassVar[str] = "arm"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), "adjustments", "caps", "lifts", "users_for"]

    # What the page asks

    @property
    def unit_name(self) -> str:
        """The user, or what the input calls it; the row if there is no such column."""
        if "user" in self.table.columns:
            return unit_noun(self.table.columns["user"], "user")
        return "row"

    def earlier_measurement(self, chosen: lookup.MetricAtK) -> str:
        """The column from before the experiment by which a mean can be adjusted; "" for none."""
        if chosen == self.plain and self.p.before:
            return str(self.p.before)
        return ""

    @property
    def tested(self) -> list[lookup.MetricAtK]:
        """The metrics in the form that decides their tests. A proportion, which has its own test,
        becomes a mean if CUPED adjusts it: its adjusted values are no longer 0 and 1.
        """
        metrics = []
        for chosen in self.metrics_with_direction:
            if self.earlier_measurement(chosen):
                metrics.append(AdjustedStatistic.adjusted_metric(chosen))
            else:
                metrics.append(chosen)
        return metrics

    def compared(
        self, chosen: lookup.MetricAtK, pair: SystemPair, member: UnitSelection = EVERY
    ) -> tuple[UnitStatistic, UnitStatistic]:
        """The metric of the first and of the second arm of a pair, adjusted by CUPED if a column
        from before the experiment is named for it.
        """
        first, second = super().compared(chosen, pair, member)
        name = self.earlier_measurement(chosen)
        if not name or min(first.n, second.n) < 2:  # the spread of a single user is unknown
            return first, second
        # the covariate, one value per user of each arm (or of the slice `member` of it)
        before = Sums(self.table.numbers[name])
        first_before = self._members(before, pair[0], member).numerator
        second_before = self._members(before, pair[1], member).numerator
        # CUPED subtracts slope · covariate. With the covariate centred over both arms, the overall
        # level of the values, and with it the lift, stays the same.
        centre = np.concatenate([first_before, second_before]).mean()
        adjusted = experiments.adjusted(
            first.sums.numerator,
            second.sums.numerator,
            first_before - centre,
            second_before - centre,
        )
        return (
            AdjustedStatistic.adjust(first, adjusted.treatment),
            AdjustedStatistic.adjust(second, adjusted.control),
        )

    @study.computed_once
    def compare(
        self, chosen: lookup.MetricAtK, pair: SystemPair, member: UnitSelection = EVERY
    ) -> significance.Comparison:
        """first − second, by CUPED if a column from before the experiment was named."""
        comparison = super().compare(chosen, pair, member)
        before = self.earlier_measurement(chosen)
        if not before:
            return comparison
        return replace(comparison, method=f"{comparison.method} after CUPED with {before}")

    def comparison_extras(self, chosen: lookup.MetricAtK, pair: SystemPair) -> Row:
        """The lift, first / second − 1, with its interval; the smallest difference that would be
        detected with 80% power; and the adjusted means of both arms if CUPED is used.
        """
        first, second = self.compared(chosen, pair)
        options = self.inference_options(RandomStream.COMPARISONS)
        question = self.settings.alternative
        if second.value < 0:  # with a negative divisor, a larger difference means a smaller lift
            question = question.opposite

        def lift_at(level: float) -> significance.Comparison:
            """The two-sided comparison by the lift, with its interval at this level."""
            return inference.lift(first, second, replace(options, level=level))

        lift = self.comparison_of_question(lift_at, question)
        extras = study.with_limits({"lift": lift.difference})
        extras["detectable"] = self.would_show(chosen, pair)
        if self.earlier_measurement(chosen):
            extras |= {"adjusted_first": first.value, "adjusted_second": second.value}
        return extras

    # What variance reduction and heavy users do to the answer

    @cached_property
    def plain(self) -> lookup.MetricAtK | None:
        """The metric whose values are adjusted and capped: the first mean that is no proportion, or
        else the first proportion; None without means.
        """
        means = [
            chosen
            for chosen in self.settings.metrics
            if isinstance(chosen.metric.kind, MeanPerUnit)
        ]
        amounts = [mean for mean in means if not isinstance(mean.metric.kind, Proportion)]
        return next(iter(amounts + means), None)

    @frame
    def adjustments(self) -> Iterator[Row]:
        """The headline pair's difference of means of the metric `plain`, one row per method:
        unadjusted, with CUPED, stratified, capped. No rows if there is no such metric.

        Columns: way (the method), estimand, difference, low, high, p, n, users (the share of users
        with which the method gives an interval as wide as the unadjusted one).
        """
        if self.plain is None:
            return
        unadjusted = self.means(cap_share=None)
        capped_mean = f"mean of min(value, {self.cap(self.p.cap):.3g})"
        for way, comparison in self._uncapped(unadjusted).items():
            yield self._adjustment_row(way, "the same", comparison, unadjusted)
        for way, comparison in self._capped().items():
            yield self._adjustment_row(way, capped_mean, comparison, unadjusted)

    def _adjustment_row(
        self,
        way: str,
        estimand: str,
        comparison: significance.Comparison,
        unadjusted: significance.Comparison,
    ) -> Row:
        """A row of `adjustments`. way: the method, in words. estimand: what is compared, such as
        "mean of min(value, 50)". comparison: by this method. unadjusted: the comparison of the
        values as they are.
        """
        row: Row = {"way": way, "estimand": estimand}
        row |= study.limits(comparison.difference, "difference")
        users = float("nan")
        if 0 < unadjusted.half_width < np.inf:
            # a half-width is proportional to 1 / √users
            users = (comparison.half_width / unadjusted.half_width) ** 2
        return row | {"p": comparison.p_value, "n": comparison.difference.n, "users": users}

    def _uncapped(self, unadjusted: significance.Comparison) -> dict[str, significance.Comparison]:
        """The headline pair's difference of values that are not capped, by method; CUPED and strata
        only if the user named their columns. unadjusted: the comparison without either.
        """
        ways = {"as it is": unadjusted}
        if self.p.before:
            ways[f"CUPED with {self.p.before}"] = self.cuped(cap_share=None)
        if self.p.strata:
            ways[f"stratified by {self.p.strata}"] = self.stratified()
        return ways

    def _capped(self) -> dict[str, significance.Comparison]:
        """The headline pair's difference of capped values, by method; CUPED only if the user named
        its column.
        """
        cap = self.p.cap
        ways = {f"capped at {cap:.1%}": self.means(cap_share=cap)}
        if self.p.before:
            ways[f"capped at {cap:.1%}, CUPED"] = self.cuped(cap_share=cap)
        return ways

    @frame
    def caps(self) -> Iterator[Row]:
        """The headline pair's difference of means, not capped and with values above each of the
        quantiles `CAPS` set to it, a row for each: name, value, low, high.
        """
        if self.plain is None:
            return
        not_capped = self.means(cap_share=None)
        yield {"name": "not capped"} | study.estimate_columns(not_capped.difference)
        for share in CAPS:
            name = f"capped at the {share:.1%} quantile, {self.cap(share):.3g}"
            capped = self.means(cap_share=share)
            yield {"name": name} | study.estimate_columns(capped.difference)

    # The design

    def check_covariate(self) -> None:
        """Raise InputError if the column that is said to be from before the experiment determines
        the metric `plain`, capped or not: it is then a copy of the metric, measured with it.
        """
        if not self.p.before or self.plain is None:
            return
        before = self.table.numbers[self.p.before]
        # where the users of each arm stand; an arm of one user has no spread to explain
        arms = [self._users_of_arm[arm] for arm, users in self.sizes.items() if users > 1]
        for values in (self._values, experiments.capped(self._values, share=self.p.cap)):
            for other in arms[1:]:
                first = arms[0]
                # `adjusted` raises the error; its result is not needed here
                experiments.adjusted(values[first], values[other], before[first], before[other])

    @cached_property
    def sample_ratio(self) -> Check:
        """The users of the arms against the planned shares."""
        return randomisation.sample_ratio(self.sizes, self.p.shares)

    @cached_property
    def balance(self) -> Check:
        """The column from before the experiment in the arms."""
        if not self.p.before:
            return randomisation.NOT_MADE
        before = self.table.numbers[self.p.before]
        values = {arm: before[users] for arm, users in self._users_of_arm.items()}
        return randomisation.balance(self.p.before, values)

    @property
    def broken_design(self) -> str:
        """Why no result counts: the users are not shared out as planned, or the arms differed
        before the experiment; "" otherwise.
        """
        return self.sample_ratio.obstacle or self.balance.obstacle

    @frame
    def lifts(self) -> Iterator[Row]:
        """The comparisons whose lift is defined: first, second, metric, verdict, and the lift in
        per cent as value, low, high.
        """
        columns = {"value": "lift", "low": "lift_low", "high": "lift_high"}
        for comparison in self.comparisons.to_dict("records"):
            if np.isfinite(comparison.get("lift", np.nan)):
                row = {name: comparison[name] for name in ("first", "second", "metric", "verdict")}
                yield row | {name: 100 * comparison[lift] for name, lift in columns.items()}

    @frame
    def users_for(self) -> Iterator[Row]:
        """Users per arm that detect a lift over the second arm of the headline pair with 80% power,
        a row for each of `LIFTS`: lift, difference (lift times the mean of the second arm), raw and
        cuped (the users without and with CUPED). No rows if that mean is unknown or 0.
        """
        control = self.control
        if self.plain is None or control is None or control.mean == 0:
            return
        # the level of the two-sided test with the power of the test that is asked for
        level = self.settings.alternative.two_sided_level(self.settings.test_level)
        sd = control.deviation
        # CUPED removes the share r² of the variance; doi:10.1145/2433396.2433413
        cuped_sd = sd * float(np.sqrt(1 - control.correlation**2))
        for lift in LIFTS:
            difference = lift * control.mean
            raw = power.required_n_independent(difference, sd, level=level)
            cuped = power.required_n_independent(difference, cuped_sd, level=level)
            yield {"lift": lift, "difference": difference, "raw": raw, "cuped": cuped}

    @cached_property
    def looks(self) -> dict[str, float] | None:
        """What interim analyses (looks) cost: their number (looks), the false positive rate without
        correction, and by the bounds of Pocock and of O'Brien and Fleming the p below which the
        last analysis is significant; None for one look.
        """
        looks = self.p.looks
        level = self.settings.test_level
        if looks == 1:
            return None
        false_positive_rate = multiplicity.false_positive_rate(looks, level=level)
        # bounds for |z|, one per look
        pocock = multiplicity.pocock(looks, level=level)
        obrien_fleming = multiplicity.obrien_fleming(looks, level=level)
        return {
            "looks": looks,
            "false_positive_rate": false_positive_rate,
            "pocock": _two_sided_p(pocock[-1]),
            "obrien_fleming": _two_sided_p(obrien_fleming[-1]),
        }

    # The users

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Users by arm."""
        return dict(zip(self.systems, np.bincount(self.table.assignment.arm).tolist(), strict=True))

    @property
    def users(self) -> int:
        """The users of all arms."""
        return len(self.table.assignment.arm)

    @property
    def crossed(self) -> int:
        """Users seen in several arms, who are left out."""
        return self.table.assignment.crossed

    @property
    def many_crossed(self) -> bool:
        """True if so many users were seen in several arms that the assignment is in doubt."""
        return self.crossed > MANY_CROSSED * self.users

    def measure(
        self, chosen: lookup.MetricAtK, system: str, member: UnitSelection = EVERY
    ) -> UnitStatistic:
        """One value per user of the arm."""
        sums = self._members(chosen.sums(self.table.numbers), system, member)
        return UnitStatistic(chosen, sums, design=Layout.INDEPENDENT)

    def _members(self, sums: Sums, arm: str, member: UnitSelection) -> Sums:
        """The values of the users of an arm that `member` holds. sums: the values of all users."""
        users = self._users_of_arm[arm]
        in_arm = sums.take(users)
        if isinstance(member, slice):
            return in_arm
        return in_arm.take(member[users])  # type: ignore[index]  # no number: users are in memory

    def units_held(self) -> units.Units:
        """One value per user; each user's rows are those of the user's arm."""
        sums = {chosen: chosen.sums(self.table.numbers) for chosen in self.settings.metrics}
        blocks = units.blocks_of_arms(
            self.systems, self.table.assignment.arm, sums, self.listed(self.table.ids)
        )
        return units.Units(self.users, blocks, self.settings.segments)

    @cached_property
    def _users_of_arm(self) -> dict[str, slice]:
        """Where the users of each arm stand in the columns of the table, which is sorted by arm."""
        slices = {}
        start = 0
        for arm, users in self.sizes.items():
            slices[arm] = slice(start, start + users)
            start += users
        return slices

    @cached_property
    def _values(self) -> Floats:
        """The value of the metric `plain` for every user of all arms; a single 0 if there is no
        such metric.
        """
        if self.plain is None:
            return np.zeros(1)
        return self.plain.sums(self.table.numbers).numerator

    def _values_of_pair(self, *, cap_share: float | None) -> ArmPair[np.float64]:
        """The values of the metric `plain` in the headline pair. cap_share: the quantile of all
        values at which they are capped, from 0 to 1; None for values as they are.
        """
        values = self._values
        if cap_share is not None:
            values = experiments.capped(values, share=cap_share)
        return self._values_in_headline(values)

    def _values_in_headline(self, values: NDArray[Scalar]) -> ArmPair[Scalar]:
        """The values of the users of the headline pair, from those of all users."""
        first, second = self.headline_systems
        return ArmPair(values[self._users_of_arm[first]], values[self._users_of_arm[second]])

    def cap(self, share: float) -> float:
        """The quantile `share`, from 0 to 1, of the values of the metric `plain` over the users of
        all arms.
        """
        return float(np.quantile(self._values, share))

    def means(self, *, cap_share: float | None) -> significance.Comparison:
        """The headline pair's difference of means of the metric `plain`. cap_share: the quantile at
        which values are capped; None for values as they are.
        """
        values = self._values_of_pair(cap_share=cap_share)
        return self._compared_means(values.first, values.second)

    def cuped(self, *, cap_share: float | None) -> significance.Comparison:
        """The difference of means of `means`, adjusted by the column from before the experiment."""
        values = self._values_of_pair(cap_share=cap_share)
        before = self._values_in_headline(self.table.numbers[str(self.p.before)])
        adjusted = experiments.adjusted(values.first, values.second, before.first, before.second)
        return self._compared_means(adjusted.treatment, adjusted.control)

    def _compared_means(self, first: Floats, second: Floats) -> significance.Comparison:
        """The comparison mean(first) − mean(second) that answers the question of the study. first,
        second: one value per user of each arm.
        """
        first_mean = UnitStatistic(self.primary_metric, Sums(first))
        second_mean = UnitStatistic(self.primary_metric, Sums(second))
        options = self.inference_options(RandomStream.COMPARISONS)

        def at_level(level: float) -> significance.Comparison:
            """The two-sided comparison with its interval at this level."""
            return methods.two_means(first_mean, second_mean, replace(options, level=level))

        return self.comparison_of_question(at_level)

    def stratified(self) -> significance.Comparison:
        """The headline pair's difference of means, adjusted for the shares of the strata in both
        arms (post-stratification): by t, or by a studentised permutation test within strata if the
        difference is too skewed for t.
        """
        values = self._values_of_pair(cap_share=None)
        # the stratum of each user
        strata = self._values_in_headline(self.table.attributes[str(self.p.strata)].code)
        needs_permutation = independent.needs_permutation(values.first, values.second)

        def at_level(level: float) -> significance.Comparison:
            """The two-sided comparison with its interval at this level, from the values and the
            strata of the users of both arms.
            """
            if needs_permutation:
                rng = self.inference_options(RandomStream.COMPARISONS).rng
                return independent.studentised(
                    values.first, values.second, rng=rng, level=level, strata=strata
                )
            return experiments.stratified(
                {"treatment": values.first, "control": values.second},
                {"treatment": strata.first, "control": strata.second},
                level=level,
            )

        return self.comparison_of_question(at_level)

    @cached_property
    def concentration(self) -> dict[float, float]:
        """The share of the total of the metric `plain` that the users with the largest values
        contribute: for each share of users in `TOPS`. Empty if a value is negative, or all are 0.
        """
        descending = np.sort(self._values)[::-1]
        total = descending.sum()
        if self.plain is None or descending[-1] < 0 or total == 0:
            return {}
        shares = {}
        for share_of_users in TOPS:
            users = int(np.ceil(share_of_users * descending.size))
            shares[share_of_users] = float(descending[:users].sum() / total)
        return shares

    @cached_property
    def unusual_users(self) -> dict[str, int]:
        """By arm the number of users whose value of the metric `plain` is not the usual one, which
        more than half of all users have, such as 0 orders. The mean of an arm rests on these users.
        Empty if no value is that frequent.
        """
        distinct, counts = np.unique(self._values, return_counts=True)
        if counts.max() <= self._values.size / 2:
            return {}
        usual_value = distinct[counts.argmax()]
        is_unusual = self._values != usual_value
        return {
            arm: int(np.count_nonzero(is_unusual[users]))
            for arm, users in self._users_of_arm.items()
        }

    @cached_property
    def control(self) -> Control | None:
        """The second arm of the headline pair on the metric `plain`; None if its values do not
        vary, or if it has a single user.
        """
        values = self._values_in_headline(self._values).second
        if values.size < 2 or np.ptp(values) == 0:
            return None
        correlation = 0.0
        if self.p.before:
            before = self._values_in_headline(self.table.numbers[self.p.before]).second
            correlation = experiments.correlation(values, before)
        return Control(float(values.mean()), float(values.std(ddof=1)), correlation)


def _two_sided_p(z: float) -> float:
    """The two-sided p-value of a standard normal number."""
    from scipy.special import ndtr

    return float(2 * ndtr(-z))


# What the findings are measured by ----------------------------------------------------------------


def few_others(study: Experiment) -> dict[str, int]:
    """Arms in which fewer than `FEW_OTHERS` users have a value other than the most frequent one,
    and the number of these users: with so few, the interval of a mean is too short.
    """
    if study.plain is None:
        return {}
    return {name: n for name, n in study.unusual_users.items() if n < FEW_OTHERS}


def only_without_looks(study: Experiment) -> bool:
    """True if the smallest p is below 1 − level, but not below the bound that accounts for the
    interim analyses.
    """
    if study.looks is None:
        return False
    p = float(study.headline["p"].min())
    return study.looks["obrien_fleming"] < p < 1 - study.settings.test_level


# Reading ------------------------------------------------------------------------------------------


def read(
    data: list[InputPart],
    shared: Settings,
    p: reports.InterleavingParameters,
    budget: backends.Budget,
) -> Experiment:
    """The study of a table of users.

    data: the parts of the table. shared: the settings of log and table. budget: how much may be
    held in memory. Without a baseline, an arm with a name such as "control" is the baseline. Raises
    ParameterError for a metric without a value for some users.
    """
    p = replace(p, metrics=metrics_of(data, p))
    with backends.needed(data, budget) as engine:
        table = users(data, p, shared.segments, shared.limits.held, engine)
    # the columns of zeros and ones only: their means are proportions, which have their own test
    binary = {
        name for name, column in table.numbers.items() if ((column == 0) | (column == 1)).all()
    }
    metrics = lookup.with_directions(_metrics(p, binary), p)
    for chosen in metrics:
        missing = np.count_nonzero(~chosen.sums(table.numbers).defined)
        if missing:  # users without a value may differ by arm, which would bias the comparison
            why = "an A/B test compares all of an arm"
            raise ParameterError(
                f"metrics: {chosen.label} has no value for {missing:,} users; {why}"
            )
    arms = table.assignment.arms
    # without the segments and the baseline that only the log has
    settings = own_settings(shared, logs.column_names(data), arms)
    baseline = settings.baseline or control_of(arms)
    settings = replace(settings, metrics=metrics, baseline=baseline)
    study = Experiment(
        settings=settings,
        systems=arms,
        attributes=table.attributes,
        p=p,
        sources=table.sources,
        table=table,
        sample=logs.includes_file(table.sources, SAMPLE),
    )
    study.check_covariate()
    return study


def metrics_of(data: list[InputPart], p: reports.InterleavingParameters) -> tuple[Any, ...]:
    """The metrics that the user names, without duplicates, or else those that the columns of
    numbers suggest; as values of the parameter `metrics`.

    data: the parts of the table of users. Raises ParameterError if no metric is named and no column
    suggests one, or if a metric of the user's own needs a column that is not there; InputError if
    rows are totals of arms in place of users, or no column names the arms.
    """
    if p.metrics:
        study.check_columns(p.metrics, data)
        return tuple(dict.fromkeys(p.metrics))
    columns_in_use = logs.distinct(p.segments, (p.strata, p.before))
    first_rows = SampledTable.from_part(data[0], p.columns, columns_in_use=columns_in_use)
    proposed = proposal.users(first_rows)  # the roles of columns that names and cells suggest
    logs.refuse_totals(data[0], proposed)
    if not proposed.metrics:
        # Each of the next two calls raises a more exact error if its reason applies: no column of
        # arms, or a column of numbers with a cell that is no number.
        logs.user_fields(data, p.columns, (), columns_in_use)
        columns_with_roles = list(proposed.columns.values())
        logs.refuse_odd_numbers(data[0], columns_in_use + columns_with_roles)
        raise ParameterError(
            "metrics: name the columns of users to compare, such as metrics='orders,revenue/orders'"
        )
    return tuple(proposed.metrics)


def _numbers(p: reports.InterleavingParameters) -> list[str]:
    """The columns of numbers that the metrics and the covariate need."""
    return logs.distinct(
        logs.number_columns(filter(lookup.is_in_catalogue, p.metrics), p.before),
        lookup.columns_needed_by(p.metrics),
    )


def users(
    data: list[InputPart],
    p: reports.InterleavingParameters,
    segments: Collection[str],
    max_rows: int,
    engine: base.Engine | None = None,
) -> logs.Users:
    """The users of the arms, read from a table.

    data: the parts of the table. segments: the columns for segments; those that only the log of
    sessions has are ignored. max_rows: the largest number of rows that may be held in memory.
    engine: reads a large table; None if none is needed. Raises ParameterError if the planned shares
    name other arms than the table.
    """
    columns = logs.column_names(data)
    segments_of_users = (name for name in segments if name in columns)
    attributes = logs.distinct(segments_of_users, (p.strata,))
    numbers = _numbers(p)  # the columns that the metrics and the covariate need
    table = logs.read_users(data, p, engine, numbers, attributes, max_rows)
    if isinstance(p.shares, Mapping) and set(p.shares) != set(table.assignment.arms):
        raise ParameterError(
            f"shares: must name the arms {', '.join(table.assignment.arms)}, got "
            f"{', '.join(p.shares)}"
        )
    return table


def _metrics(
    p: reports.InterleavingParameters, binary: Collection[str]
) -> tuple[lookup.MetricAtK, ...]:
    """The metrics of the parameter `metrics`, each the name of a column, a ratio of two columns, or
    the user's own function. binary: the columns of zeros and ones only. Raises ParameterError if
    two metrics have the same label.
    """
    metrics = []
    for name in p.metrics:
        # True for every name but that of the user's own function: here it names columns
        if lookup.is_in_catalogue(name):
            metrics.append(lookup.MetricAtK(_metric(name, p.best, binary)))
        else:
            metrics.append(lookup.find_metric(name, "users"))
    return lookup.with_distinct_labels(tuple(metrics))


def own_settings(shared: Settings, columns: Collection[str], systems: tuple[str, ...]) -> Settings:
    """The settings that one of the inputs, log or table, can take: the segments among its columns,
    and a baseline that is one of its arms. shared: the settings of both. systems: the arms.
    """
    baseline = shared.baseline if shared.baseline in systems else None
    segments = tuple(name for name in shared.segments if name in columns)
    # the gate is that of log and table
    return replace(shared, segments=segments, baseline=baseline, gate=None)


def _metric(name: str, best: str | None, binary: Collection[str]) -> Metric:
    """A metric made of one column, its mean over users, or of two, as in `revenue/orders`, the
    ratio of their sums.

    best: "high" or "low"; None to take the direction that the name of the numerator suggests.
    binary: the columns of zeros and ones only, whose means are proportions.
    """
    columns = logs.columns_of_metric(name)
    numerator = columns[0]
    kind: MetricKind  # the functions below ignore k and level, which every kind of metric passes
    if len(columns) == 2:
        denominator = columns[1]
        kind = Ratio(lambda numbers, k, level: Sums(numbers[numerator], numbers[denominator]))
        formula = f"Σ {numerator} / Σ {denominator} over users, users as units"
        plain = f"all {numerator} of an arm divided by all its {denominator}"
        undefined = f"Σ {denominator} is 0"
        equals = ""
    else:
        mean_kind = Proportion if numerator in binary else MeanPerUnit
        kind = mean_kind(lambda numbers, k, level: numbers[numerator])
        formula = f"mean of {name} over users"
        plain = f"the mean of {name} in each arm"
        undefined = "the arm has no user"
        equals = "numpy mean of an arm"
    return Metric(
        name,
        structure="users",
        kind=kind,
        formula=formula,
        undefined=undefined,
        equals=equals,
        low=-np.inf,
        high=np.inf,
        best=best or lookup.direction(numerator) or UNKNOWN,
        plain=plain,
        unit=name,
    )

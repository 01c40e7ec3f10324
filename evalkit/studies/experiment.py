"""The A/B part of the interleaving study: each arm's metrics, the lift, and the effect of CUPED,
strata and caps.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Floats, ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import Kind, PerUnit, Proportion, Ratio
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
from evalkit.statistics.statistic import AdjustedStatistic, Layout, UnitStatistic
from evalkit.studies import randomisation, study, units
from evalkit.studies.randomisation import Check
from evalkit.studies.study import EVERY, Member, Row, Settings, Study, SystemPair, frame

SAMPLE = "data/interleaving/health_plans.parquet"
CAPS = (0.999, 0.99, 0.95, 0.9)
LIFTS = (0.01, 0.02, 0.05, 0.1, 0.2)
TOPS = (0.01, 0.1)
TOP_HEAVY = (
    0.2  # of the total: from here on, if the first of `TOPS` has it, limits of a mean fall short
)
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


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(Study):
    """The study of an A/B test: the systems are the arms, the units are users, each in one arm."""

    table: logs.Users
    sample: bool

    differences_are: ClassVar[str] = "Differences of arms"
    compares: ClassVar[str] = "arm"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), "adjustments", "caps", "lifts", "users_for"]

    # What the page asks

    @property
    def unit_name(self) -> str:
        """The user, or what the input calls it; the row if there is no such column."""
        if "user" in self.table.columns:
            return unit_noun(self.table.columns["user"], "user")
        return "row"

    def adjusted_for(self, chosen: lookup.MetricAtK) -> str:
        """The column from before the experiment by which a mean can be adjusted."""
        return self.p.before or "" if chosen == self.plain else ""

    @property
    def tested(self) -> list[lookup.MetricAtK]:
        """The metrics as their tests compare them: an adjusted share is a mean of amounts."""
        return [
            AdjustedStatistic.adjusted_metric(chosen) if self.adjusted_for(chosen) else chosen
            for chosen in self.directed
        ]

    def compared(
        self, chosen: lookup.MetricAtK, pair: SystemPair, member: Member = EVERY
    ) -> tuple[UnitStatistic, UnitStatistic]:
        """The metric in two arms, adjusted by a column from before the experiment if one is named
        (CUPED).

        The same mean of that column is subtracted in both arms, so that the level of the values,
        and with it the lift, is kept.
        """
        first, second = super().compared(chosen, pair, member)
        if not (name := self.adjusted_for(chosen)) or min(first.n, second.n) < 2:
            return first, second
        before = [
            self._members(Sums(self.table.numbers[name]), arm, member).numerator for arm in pair
        ]
        centre = np.concatenate(before).mean()
        left = experiments.adjusted(
            first.sums.numerator, second.sums.numerator, *(x - centre for x in before)
        )
        return AdjustedStatistic.adjust(first, left[0]), AdjustedStatistic.adjust(second, left[1])

    @study.once
    def compare(
        self, chosen: lookup.MetricAtK, pair: SystemPair, member: Member = EVERY
    ) -> significance.Comparison:
        """first − second, by CUPED if a column from before the experiment was named."""
        c = super().compare(chosen, pair, member)
        before = self.adjusted_for(chosen)
        return replace(c, method=f"{c.method} after CUPED with {before}") if before else c

    def comparison_extras(self, chosen: lookup.MetricAtK, pair: SystemPair) -> Row:
        """The lift, first / second − 1, with its interval, the detectable difference, and the
        adjusted means of both arms if CUPED is used.
        """
        first, second = self.compared(chosen, pair)
        options = self.inference_options(2)
        question = self.settings.alternative
        c = self.asked_comparison(
            lambda level: inference.lift(first, second, replace(options, level=level)),
            # below 0 the lift falls where the difference rises
            question.opposite if second.value < 0 else question,
        )
        extras = study.with_limits({"lift": c.difference})
        extras["detectable"] = self.would_show(chosen, pair)
        if self.adjusted_for(chosen):
            extras |= {"adjusted_first": first.value, "adjusted_second": second.value}
        return extras

    # What variance reduction and heavy users do to the answer

    @cached_property
    def plain(self) -> lookup.MetricAtK | None:
        """The first mean that is no proportion, or else the first proportion, before capping and
        adjustment.
        """
        means = [
            chosen for chosen in self.settings.metrics if isinstance(chosen.metric.kind, PerUnit)
        ]
        return next(
            (mean for mean in means if not isinstance(mean.metric.kind, Proportion)),
            next(iter(means), None),
        )

    @frame
    def adjustments(self) -> Iterator[Row]:
        """The headline pair's difference, unadjusted, with CUPED, stratified and capped; one row
        per method.

        Columns: way, estimand, difference, low, high, p, n, users (the share of users that would
        give an interval of the same width without the adjustment).
        """
        if self.plain is None:
            return
        o, same = self.p, "the same"
        other = f"mean of min(value, {self.cap(o.cap):.3g})"
        ways = [("as it is", same, self.means(None))]
        if o.before:
            ways.append((f"CUPED with {o.before}", same, self.cuped(None)))
        if o.strata:
            ways.append((f"stratified by {o.strata}", same, self.stratified()))
        ways.append((f"capped at {o.cap:.1%}", other, self.means(o.cap)))
        if o.before:
            ways.append((f"capped at {o.cap:.1%}, CUPED", other, self.cuped(o.cap)))
        wide = ways[0][2].half_width
        for name, estimand, c in ways:
            e = c.difference
            row = {"way": name, "estimand": estimand} | study.limits(e, "difference")
            users = (c.half_width / wide) ** 2 if 0 < wide < np.inf else float("nan")
            yield row | {"p": c.p_value, "n": e.n, "users": users}

    @frame
    def caps(self) -> Iterator[Row]:
        """The headline pair's difference with values above each quantile set to it: name, value,
        low, high.
        """
        for share in (None, *CAPS) if self.plain else ():
            e = self.means(share).difference
            name = (
                "not capped"
                if share is None
                else f"capped at the {share:.1%} quantile, {self.cap(share):.3g}"
            )
            yield {"name": name} | study.estimate_columns(e)

    # The design

    def check_covariate(self) -> None:
        """Raise InputError for a column from before the experiment that is a copy of the metric,
        as it is or capped.
        """
        if not self.p.before or self.plain is None:
            return
        before = self.table.numbers[self.p.before]
        arms = [self._in[arm] for arm, users in self.sizes.items() if users > 1]
        for values in (self._values, experiments.capped(self._values, share=self.p.cap)):
            for arm in arms[1:]:
                experiments.adjusted(values[arms[0]], values[arm], before[arms[0]], before[arm])

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
        values = {arm: before[own] for arm, own in self._in.items()}
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
        for row in self.comparisons.to_dict("records"):
            if np.isfinite(row.get("lift", np.nan)):
                named = {name: row[name] for name in ("first", "second", "metric", "verdict")}
                yield named | {name: 100 * row[lift] for name, lift in columns.items()}

    @frame
    def users_for(self) -> Iterator[Row]:
        """Users per arm to detect a lift over the second arm with 80% power: lift, difference, raw,
        cuped.
        """
        control = self.control if self.plain else None
        if control is None or control.mean == 0:
            return
        sd = control.deviation
        level = self.settings.alternative.two_sided_level(self.settings.test_level)
        sds = (sd, sd * float(np.sqrt(1 - control.correlation**2)))
        for lift in LIFTS:
            difference = lift * control.mean
            raw, cuped = (power.required_n_independent(difference, x, level=level) for x in sds)
            yield {"lift": lift, "difference": difference, "raw": raw, "cuped": cuped}

    @cached_property
    def looks(self) -> dict[str, float] | None:
        """What interim analyses cost: the false positive rate without correction, and the p that
        the last one needs.
        """
        n, level = self.p.looks, self.settings.test_level
        if n == 1:
            return None
        from scipy.special import ndtr

        bounds = {"pocock": multiplicity.pocock, "obrien_fleming": multiplicity.obrien_fleming}
        last = {name: float(2 * ndtr(-of(n, level=level)[-1])) for name, of in bounds.items()}
        return {
            "looks": n,
            "false_positive_rate": multiplicity.false_positive_rate(n, level=level),
        } | last

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
        self, chosen: lookup.MetricAtK, system: str, member: Member = EVERY
    ) -> UnitStatistic:
        """One value per user of the arm."""
        sums = self._members(chosen.sums(self.table.numbers), system, member)
        return UnitStatistic(chosen, sums, design=Layout.INDEPENDENT)

    def _members(self, sums: Sums, arm: str, member: Member) -> Sums:
        """The values of the members of an arm, from the values of all users."""
        own = self._in[arm]
        return sums.take(own) if isinstance(member, slice) else sums.take(own).take(member[own])  # type: ignore[index]

    def units_held(self) -> units.Units:
        """One value per user; each user's rows are those of the user's arm."""
        sums = [(chosen, chosen.sums(self.table.numbers)) for chosen in self.settings.metrics]
        blocks = units.of_arms(
            self.systems, self.table.assignment.arm, sums, self.listed(self.table.ids)
        )
        return units.Units(self.users, blocks, self.settings.segments)

    @cached_property
    def _in(self) -> dict[str, slice]:
        """The users of each arm."""
        ends = np.cumsum([0, *self.sizes.values()]).tolist()
        return {name: slice(*pair) for name, pair in zip(self.systems, pairwise(ends), strict=True)}

    @cached_property
    def _values(self) -> Floats:
        """The plain metric of every user."""
        return self.plain.sums(self.table.numbers).numerator if self.plain else np.zeros(1)

    def _capped(self, share: float | None) -> list[Floats]:
        """The values of the headline pair."""
        return self._sides(
            self._values if share is None else experiments.capped(self._values, share=share)
        )

    def _sides(self, values: Any) -> list[Any]:
        return [values[self._in[name]] for name in self.opponents]

    def cap(self, share: float) -> float:
        """The quantile of the plain metric's values over the users of all arms."""
        return float(np.quantile(self._values, share))

    def means(self, share: float | None) -> significance.Comparison:
        """The headline pair's difference of means, of values capped at the quantile `share` if
        there is one.
        """
        return self._compared_means(*self._capped(share))

    def cuped(self, share: float | None) -> significance.Comparison:
        """The difference of means of `means`, adjusted by the column from before the experiment."""
        before = self._sides(self.table.numbers[str(self.p.before)])
        return self._compared_means(*experiments.adjusted(*self._capped(share), *before))

    def _compared_means(self, *sides: Floats) -> significance.Comparison:
        first, second = (UnitStatistic(self.primary, Sums(side)) for side in sides)
        return self.asked_comparison(
            lambda level: methods.two_means(
                first, second, replace(self.inference_options(2), level=level)
            )
        )

    def stratified(self) -> significance.Comparison:
        """Post-stratified t, or the studentised permutation within strata if the arms are skewed
        and too different.
        """
        sides = self._capped(None)
        strata: Any = self._sides(self.table.attributes[str(self.p.strata)].code)
        return self.asked_comparison(lambda level: self._stratified(sides, strata, level))

    def _stratified(
        self, sides: list[Floats], strata: Any, level: float
    ) -> significance.Comparison:
        if independent.needs_permutation(*sides):
            rng = self.inference_options(2).rng
            return independent.studentised(*sides, rng=rng, level=level, strata=strata)
        arms = ("treatment", "control")
        of = (dict(zip(arms, each, strict=True)) for each in (sides, strata))
        return experiments.stratified(*of, level=level)

    @cached_property
    def concentration(self) -> dict[float, float]:
        """The share of the total that the top users contribute, for each of `TOPS`; empty if a
        value is below 0.
        """
        values = np.sort(self._values)[::-1]
        whole = values.sum()
        if not self.plain or values[-1] < 0 or whole == 0:
            return {}
        return {top: float(values[: int(np.ceil(top * values.size))].sum() / whole) for top in TOPS}

    @cached_property
    def others(self) -> dict[str, int]:
        """By arm the number of users without the most frequent value; empty if no value is that of
        more than half.
        """
        levels, counts = np.unique(self._values, return_counts=True)
        if counts.max() <= self._values.size / 2:
            return {}
        usual = levels[counts.argmax()]
        return {name: int(np.sum(self._values[self._in[name]] != usual)) for name in self.systems}

    @cached_property
    def control(self) -> Control | None:
        """The second arm of the headline; None if it does not vary."""
        values = self._sides(self._values)[1]
        if values.size < 2 or np.ptp(values) == 0:
            return None
        correlation = 0.0
        if self.p.before:
            correlation = experiments.correlation(
                values, self._sides(self.table.numbers[self.p.before])[1]
            )
        return Control(float(values.mean()), float(values.std(ddof=1)), correlation)


# What the findings are measured by ----------------------------------------------------------------


def few_others(study: Experiment) -> dict[str, int]:
    """Arms in which few users have a value other than the most frequent one, and the number of
    these users.
    """
    if study.plain is None:
        return {}
    return {name: n for name, n in study.others.items() if n < FEW_OTHERS}


def only_without_looks(study: Experiment) -> bool:
    """True if the smallest p is below 1 − level, but not below the bound that accounts for the
    interim analyses.
    """
    p = float(study.headline["p"].min())
    return (
        study.looks is not None
        and study.looks["obrien_fleming"] < p < 1 - study.settings.test_level
    )


# Reading ------------------------------------------------------------------------------------------


def read(
    data: list[InputPart],
    shared: Settings,
    o: reports.InterleavingParameters,
    budget: backends.Budget,
) -> Experiment:
    """The study of a table of users."""
    o = replace(o, metrics=metrics_of(data, o))
    with backends.needed(data, budget) as engine:
        table = users(data, o, shared.segments, shared.limits.held, engine)
    binary = {
        name for name, column in table.numbers.items() if ((column == 0) | (column == 1)).all()
    }
    metrics = lookup.with_directions(_metrics(o, binary), o)
    for chosen in metrics:
        if missing := int((~chosen.sums(table.numbers).defined).sum()):
            why = "an A/B test compares all of an arm"
            raise ParameterError(
                f"metrics: {chosen.label} has no value for {missing:,} users; {why}"
            )
    arms, read = table.assignment.arms, table.sources
    settings = own_settings(shared, logs.column_names(data), arms)
    baseline = settings.baseline or control_of(arms)
    settings = replace(settings, metrics=metrics, baseline=baseline)
    study = Experiment(
        settings, arms, table.attributes, o, read, table, logs.includes_file(read, SAMPLE)
    )
    study.check_covariate()
    return study


def metrics_of(data: list[InputPart], o: reports.InterleavingParameters) -> tuple[Any, ...]:
    """The metrics of users that are named, or else what the columns of numbers measure.

    Raises ParameterError if there is no such column, or a named one is not there, and InputError if
    rows are totals, or no column names the arms.
    """
    if o.metrics:
        study.check_columns(o.metrics, data)
        return tuple(dict.fromkeys(o.metrics))
    used = [name for name in (*o.segments, o.strata, o.before) if name]
    found = proposal.users(SampledTable.of(data[0], o.columns, used=used))
    logs.refuse_totals(data[0], found)
    if not found.metrics:
        logs.user_fields(data, o.columns, (), used)  # refuses a table without arms
        logs.refuse_odd_numbers(data[0], {*used, *found.columns.values()})
        raise ParameterError(
            "metrics: name the columns of users to compare, such as metrics='orders,revenue/orders'"
        )
    return tuple(found.metrics)


def _numbers(o: reports.InterleavingParameters) -> list[str]:
    """The columns of numbers that are read."""
    return logs.distinct(
        logs.number_columns(filter(lookup.is_in_catalogue, o.metrics), o.before),
        lookup.columns_needed_by(o.metrics),
    )


def users(
    data: list[InputPart],
    o: reports.InterleavingParameters,
    segments: Collection[str],
    most: int,
    engine: base.Engine | None = None,
) -> logs.Users:
    """The users of the arms. segments: columns for segments, of this table or of another. most:
    rows to hold.
    """
    there = logs.column_names(data)
    attributes = logs.distinct((name for name in segments if name in there), (o.strata,))
    table = logs.read_users(data, o, engine, _numbers(o), attributes, most)
    if isinstance(o.shares, Mapping) and set(o.shares) != set(table.assignment.arms):
        raise ParameterError(
            f"shares: must name the arms {', '.join(table.assignment.arms)}, got "
            f"{', '.join(o.shares)}"
        )
    return table


def _metrics(
    o: reports.InterleavingParameters, binary: Collection[str]
) -> tuple[lookup.MetricAtK, ...]:
    """The metrics of columns, and own ones of the table. binary: columns of zeros and ones
    alone.
    """
    columns = {
        name: lookup.MetricAtK(_metric(name, o.best, binary))
        for name in filter(lookup.is_in_catalogue, o.metrics)
    }
    return lookup.with_distinct_labels(
        tuple(columns.get(name) or lookup.find_metric(name, "users") for name in o.metrics)
    )


def own_settings(shared: Settings, there: Collection[str], systems: tuple[str, ...]) -> Settings:
    """The settings that one of the inputs can take: its segment columns, and a baseline that is one
    of its arms.
    """
    baseline = shared.baseline if shared.baseline in systems else None
    segments = tuple(name for name in shared.segments if name in there)
    # the gate is that of log and table
    return replace(shared, segments=segments, baseline=baseline, gate=None)


def _metric(name: str, best: str | None, binary: Collection[str]) -> Metric:
    """A metric made of one column, its mean over users, or of two, the ratio of their sums."""
    parts = logs.columns_of_metric(name)
    best = best or lookup.direction(parts[0])
    alone = len(parts) == 1
    what = (
        f"mean of {name} over users"
        if alone
        else f"Σ {parts[0]} / Σ {parts[1]} over users, users as units"
    )
    plain = (
        f"the mean of {name} in each arm"
        if alone
        else f"all {parts[0]} of an arm divided by all its {parts[1]}"
    )
    equals = "numpy mean of an arm" if alone else ""
    undefined = "the arm has no user" if alone else f"Σ {parts[1]} is 0"
    return Metric(
        name,
        "users",
        _kind(parts, binary),
        what,
        undefined,
        equals,
        "never",
        -np.inf,
        np.inf,
        best=best or UNKNOWN,
        plain=plain,
        unit=name,
    )


def _kind(parts: Sequence[str], binary: Collection[str]) -> Kind:
    """A proportion where all values are 0 or 1, a mean, or a ratio of sums."""
    if len(parts) > 1:
        return Ratio(lambda numbers, k, level: Sums(numbers[parts[0]], numbers[parts[1]]))
    mean = Proportion if parts[0] in binary else PerUnit
    return mean(lambda numbers, k, level: numbers[parts[0]])

"""The A/B half of the interleaving study: a table of users, every arm's metrics, the lift, and what heavy users do."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit import parameters
from evalkit.arrays import Bools, Floats, InputError, ParameterError, codes
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import (
    Kind,
    PerUnit,
    Proportion,
    Ratio,
)
from evalkit.catalogue.lookup import Chosen
from evalkit.catalogue.metric import Metric
from evalkit.metrics.sums import Sums
from evalkit.online import experiments, logs
from evalkit.online.experiments import Assignment
from evalkit.parameters.fields import UNKNOWN
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Part, Source
from evalkit.statistics import inference, methods, multiplicity, permutation, power
from evalkit.statistics.significance import Comparison
from evalkit.statistics.statistic import Layout, OfUnits
from evalkit.studies.study import EVERY, Member, Settings, Study
from evalkit.studies.words import unit_noun

SAMPLE = "data/interleaving/health_plans.parquet"
SAMPLE_COLUMNS = {"user": "block", "arm": "plan"}
SAMPLE_METRICS = ("visits_per_year", "visits/years", "any_visit")
CAPS = (0.999, 0.99, 0.95, 0.9)
LIFTS = (0.01, 0.02, 0.05, 0.1, 0.2)
TOPS = (0.01, 0.1)


def read(data: list[Part] | None, shared: Settings, o: parameters.Interleaving) -> "Experiment":
    """The study of a table of users; of the bundled RAND health plans where there is none."""
    columns, names = o.columns, o.metrics
    if data is None:
        data, columns, names = sources.parts(SAMPLE), SAMPLE_COLUMNS | dict(columns), names or SAMPLE_METRICS
        o = replace(o, before=o.before or "chronic", strata=o.strata or "health", shares=o.shares or UNKNOWN)
        shared = replace(shared, segments=shared.segments or ("health",), baseline=shared.baseline or "paying")
    if not names:
        raise ParameterError("metrics: name the columns of users to compare, such as metrics='orders,revenue/orders'")
    there, names = logs.column_names(data), tuple(dict.fromkeys(names))
    segments = tuple(name for name in shared.segments if name in there)
    numbers = logs.distinct(logs.numbers_of(filter(lookup.of_catalogue, names), o.before), lookup.columns(names))
    table = logs.read_users(data, columns=columns, numbers=numbers, attributes=logs.distinct(segments, (o.strata,)))
    assigned = _assigned(table, o.arms, o.strata)
    _check_shares(o, assigned.arms)
    kept, values = ({n: x[assigned.rows] for n, x in side.items()} for side in (table.attributes, table.numbers))
    metrics = _metrics(names, o.best, values)
    settings = replace(own_settings(shared, there, assigned.arms), metrics=metrics)
    bundled = logs.holds(table.sources, SAMPLE)
    return Experiment(settings, assigned.arms, kept, {}, assigned, values, o, table.columns, table.sources, bundled)


def _metrics(names: Sequence[Any], best: str, numbers: Mapping[str, Floats]) -> tuple[Chosen, ...]:
    """The metrics of columns, and own ones of the table."""
    columns = {name: Chosen(_metric(name, best, numbers)) for name in filter(lookup.of_catalogue, names)}
    return lookup.apart(tuple(columns.get(name) or lookup.find(name, "users") for name in names))


def own_settings(shared: Settings, there: Collection[str], systems: tuple[str, ...]) -> Settings:
    """The settings as one input can take them: segments that it has, a baseline that is an arm of it."""
    baseline = shared.baseline if shared.baseline in systems else None
    segments = tuple(name for name in shared.segments if name in there)
    return replace(shared, segments=segments, baseline=baseline, gate=shared.gate if baseline else None)


def _assigned(table: logs.UserTable, arms: Sequence[str], strata: str | None) -> Assignment:
    """The users by arm; the error names the file."""
    named = list(arms) or sorted(set(map(str, table.arm)))
    try:
        if len(named) < 2:
            raise InputError(f"{table.columns['arm']} must hold two arms or more, got only {named[0]}")
        assigned = experiments.assignment(table.user, table.arm, arms=named)
        if strata:
            _check_strata(strata, table.attributes[strata][assigned.rows], assigned)
        return assigned
    except InputError as error:
        raise logs.located(error, table.sources, table.columns) from None


def _check_strata(name: str, label: np.ndarray, assigned: Assignment) -> None:
    """Raises InputError unless every stratum has users in every arm."""
    number, strata = codes(label)
    users = np.bincount(number * len(assigned.arms) + assigned.arm, minlength=strata.size * len(assigned.arms))
    empty = np.flatnonzero(users == 0)
    if empty.size:
        stratum, arm = divmod(int(empty[0]), len(assigned.arms))
        raise InputError(
            f"{name} must have users of each value in each arm, got no {str(strata[stratum])!r} in {assigned.arms[arm]}"
        )


def _check_shares(o: parameters.Interleaving, arms: Sequence[str]) -> None:
    if isinstance(o.shares, Mapping) and set(o.shares) != set(arms):
        raise ParameterError(f"shares: must name the arms {', '.join(arms)}, got {', '.join(o.shares)}")


def _metric(name: str, best: str, numbers: Mapping[str, Floats]) -> Metric:
    """A metric made of one column, its mean over users, or of two, the ratio of their sums."""
    parts = logs.measured(name)
    alone = len(parts) == 1
    what = f"mean of {name} over users" if alone else f"Σ {parts[0]} / Σ {parts[1]} over users, users as units"
    plain = f"the mean of {name} in each arm" if alone else f"all {parts[0]} of an arm divided by all its {parts[1]}"
    equals = "numpy mean of an arm" if alone else "none as such"
    undefined = "the arm has no user" if alone else f"Σ {parts[1]} is 0"
    kind = _kind(parts, numbers)
    return Metric(name, "users", kind, what, undefined, equals, "never", -np.inf, np.inf, best, plain=plain, unit=name)


def _kind(parts: Sequence[str], numbers: Mapping[str, Floats]) -> Kind:
    """A proportion where all values are 0 or 1, a mean, or a ratio of sums."""
    if len(parts) > 1:
        return Ratio(lambda numbers, k, level: Sums(numbers[parts[0]], numbers[parts[1]]))
    values = numbers[parts[0]]
    mean = Proportion if ((values == 0) | (values == 1)).all() else PerUnit
    return mean(lambda numbers, k, level: numbers[parts[0]])


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(Study):
    """The study of an A/B table: the systems are the arms, every user is in one of them."""

    assigned: Assignment
    numbers: Mapping[str, Floats]
    options: parameters.Interleaving
    columns: Mapping[str, str]
    inputs: tuple[Source, ...]
    sample: bool

    differences_are: ClassVar[str] = "Differences of arms"
    compares: ClassVar[str] = "arm"

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.inputs

    @property
    def unit_name(self) -> str:
        """The user, or what the input calls it; the row where there is no such column."""
        return unit_noun(self.columns["user"], "user") if "user" in self.columns else "row"

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> OfUnits:
        """One value a user of the arm."""
        return OfUnits(chosen, chosen.sums(self.numbers).take(self._in(system, member)), design=Layout.INDEPENDENT)

    def _in(self, system: str, member: Member = EVERY) -> Bools:
        members = np.zeros(self.assigned.arm.size, dtype=np.bool_)
        members[member] = True
        return members & (self.assigned.arm == self.systems.index(system))

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """The lift, first over second − 1, with its interval, and the difference that would show."""
        first, second = (self.measure(chosen, name) for name in pair)
        c = inference.lift(first, second, self.inference_options(2))
        lift = {"lift": c.difference.value, "lift_low": c.difference.low, "lift_high": c.difference.high}
        return lift | {"detectable": self.would_show(chosen, pair)}

    # What variance reduction and heavy users do to the answer

    @cached_property
    def plain(self) -> Chosen | None:
        """The first metric that is a mean and no proportion: what can be capped, stratified and adjusted."""
        means = [metric for metric in self.settings.metrics if metric.sums(self.numbers).denominator is None]
        return next((mean for mean in means if not isinstance(mean.metric.kind, Proportion)), next(iter(means), None))

    def _sides(self, values: Floats) -> list[Floats]:
        return [values[self._in(name)] for name in self.opponents]

    @cached_property
    def adjustments(self) -> pd.DataFrame:
        """The headline pair's difference as it is, with CUPED, stratified and capped; one row a way to measure it.

        Columns: way, estimand, difference, low, high, p, n, users (the share of users that would give an interval as
        narrow).
        """
        if self.plain is None:
            return pd.DataFrame()
        values, o = self.plain.sums(self.numbers).numerator, self.options
        capped, same = experiments.capped(values, share=o.cap), "the same"
        other = f"mean of min(value, {np.quantile(values, o.cap):.3g})"
        ways = [("as it is", same, self.compare(self.plain, self.opponents))]
        if o.before:
            before = self._sides(self.numbers[o.before])
            ways.append((f"CUPED with {o.before}", same, self._cuped(self._sides(values), before)))
        if o.strata:
            ways.append((f"stratified by {o.strata}", same, self._stratified(values)))
        ways.append((f"capped at {o.cap:.1%}", other, self._means(capped)))
        if o.before:
            ways.append((f"capped at {o.cap:.1%}, CUPED", other, self._cuped(self._sides(capped), before)))
        wide = ways[0][2].difference
        return pd.DataFrame([self._way(*way, wide=wide.high - wide.low) for way in ways])

    def _means(self, values: Floats) -> Comparison:
        """The headline pair's difference of the means of these values."""
        first, second = (OfUnits(self.primary, Sums(side)) for side in self._sides(values))
        return methods.two_means(first, second, self.inference_options(2))

    def _way(self, name: str, estimand: str, c: Comparison, *, wide: float) -> dict[str, Any]:
        e = c.difference
        row = {"way": name, "estimand": estimand, "difference": e.value, "low": e.low, "high": e.high, "p": c.p_value}
        return row | {"n": e.n, "users": ((e.high - e.low) / wide) ** 2 if 0 < wide < np.inf else float("nan")}

    def _cuped(self, sides: Sequence[Floats], before: Sequence[Floats]) -> Comparison:
        """CUPED; where skewed arms are so unlike that t does not hold, the studentised permutation of what is left."""
        left = experiments.adjusted(*sides, *before)
        if permutation.fits(*left):
            return self._permuted(*left)
        return experiments.cuped(*sides, *before, level=self.settings.level)

    def _stratified(self, values: Floats) -> Comparison:
        """Post-stratified t; in the same way the studentised permutation within strata."""
        label, arms, sides = self.attributes[str(self.options.strata)], ("treatment", "control"), self._sides(values)
        strata = [label[self._in(name)] for name in self.opponents]
        if permutation.fits(*sides):
            return self._permuted(*sides, strata=strata)
        of = (dict(zip(arms, each, strict=True)) for each in (sides, strata))
        return experiments.stratified(*of, level=self.settings.level)

    def _permuted(self, first: Floats, second: Floats, **more: Any) -> Comparison:
        return permutation.studentised(
            first, second, rng=self.inference_options(2).rng, level=self.settings.level, **more
        )

    @cached_property
    def caps(self) -> pd.DataFrame:
        """The headline pair's difference with values above each quantile set to it: name, value, low, high."""
        if self.plain is None:
            return pd.DataFrame()
        values, rows = self.plain.sums(self.numbers).numerator, []
        for share in (None, *CAPS):
            capped = values if share is None else experiments.capped(values, share=share)
            e = self._means(capped).difference
            name = "not capped" if share is None else f"capped at the {share:.1%} quantile, {capped.max():.3g}"
            rows.append({"name": name, "value": e.value, "low": e.low, "high": e.high, "n": e.n})
        return pd.DataFrame(rows)

    @cached_property
    def concentration(self) -> dict[float, float]:
        """Share of the whole that the users with most of it have, for each of `TOPS`."""
        values = np.sort(self.plain.sums(self.numbers).numerator)[::-1] if self.plain else np.zeros(1)
        whole = values.sum()
        if values[-1] < 0 or whole == 0:
            return {}
        return {top: float(values[: int(np.ceil(top * values.size))].sum() / whole) for top in TOPS}

    # The design

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Users by arm."""
        return {name: int(self._in(name).sum()) for name in self.systems}

    @cached_property
    def sample_ratio(self) -> float | None:
        """p that the users fell into the arms as planned; None where the plan is unknown."""
        if self.options.shares == UNKNOWN:
            return None
        shares = self.options.shares
        planned = [shares[name] for name in self.systems] if isinstance(shares, Mapping) else None
        return experiments.sample_ratio(list(self.sizes.values()), planned)

    @cached_property
    def users_for(self) -> pd.DataFrame:
        """Users an arm for a lift over the headline's second arm at 80% power: lift, difference, raw, cuped."""
        if self.plain is None:
            return pd.DataFrame()
        control = self._sides(self.plain.sums(self.numbers).numerator)[1]
        if control.size < 2 or np.ptp(control) == 0 or control.mean() == 0:
            return pd.DataFrame()
        sd, left = float(control.std(ddof=1)), 1.0
        if self.options.before:
            before = self._sides(self.numbers[self.options.before])[1]
            left = float(np.sqrt(1 - experiments.correlation(control, before) ** 2))
        rows = []
        for lift in LIFTS:
            difference = lift * float(control.mean())
            raw, cuped = (
                power.required_n_independent(difference, x, level=self.settings.level) for x in (sd, sd * left)
            )
            rows.append({"lift": lift, "difference": difference, "raw": raw, "cuped": cuped})
        return pd.DataFrame(rows)

    @cached_property
    def looks(self) -> dict[str, float] | None:
        """What several looks cost: the chance of a false positive, and the p that the last look must pass."""
        n, level = self.options.looks, self.settings.level
        if n == 1:
            return None
        from scipy.special import ndtr

        bounds = {
            "pocock": multiplicity.pocock(n, level=level),
            "obrien_fleming": multiplicity.obrien_fleming(n, level=level),
        }
        last = {name: float(2 * ndtr(-bound[-1])) for name, bound in bounds.items()}
        return {"looks": n, "false_positive_rate": multiplicity.false_positive_rate(n, level=level)} | last

"""The interleaving study: a log of interleaved sessions, an A/B test of users, and the planning of
either.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import InputError, ParameterError, ratio
from evalkit.catalogue import lookup
from evalkit.drawing.shown import ShownStudy
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.metrics.rows import InterleavingArm
from evalkit.numbers import unit_noun
from evalkit.online import experiments, logs, sessions
from evalkit.online.sessions import Sessions
from evalkit.parameters import reports
from evalkit.reading.engines import backends
from evalkit.reading.engines.backends import Budget
from evalkit.reading.matching import commands
from evalkit.reading.tables import columns, sources
from evalkit.reading.tables.parts import InputPart, Source
from evalkit.reading.tables.table import Slice
from evalkit.statistics import intervals, methods, multiplicity, statistic
from evalkit.statistics.methods import RandomStream
from evalkit.studies import experiment, planning, policy, study, units
from evalkit.studies.planning import Planning
from evalkit.studies.study import (
    EVERY,
    Row,
    Settings,
    Study,
    SystemPair,
    UnitSelection,
    estimate_columns,
    frame,
    limits,
)
from evalkit.studies.units import UnitNames, Units

SAMPLE = {
    "log": "data/interleaving/sessions.parquet",
    "neutral": "both",
    "baseline": "current",
    "segments": ("device",),
}
ROLES = {"log": logs.LOG_ROLES, "users": logs.USER_ROLES}
PARAMETERS_OF_INPUT = {  # which have no meaning without it
    "log": ("preference", "neutral"),
    "users": ("metrics", "best", "lower_is_better", "before", "strata", "cap", "shares", "looks"),
}
METRICS = ("user_share", "user_preference", "session_wins", "credit_share")
HEAVY = 10  # one in so many users is heavy
MANY_UNEVEN = 0.01  # the share of sessions with uneven teams from which the draft is in doubt
UNEVEN = "sessions with uneven teams"


@dataclass(frozen=True, eq=False, repr=False)
class Interleaving(Study):
    """The study of interleaved sessions: the systems are the arms, the units are users, and slices
    are of sessions. simulated: True for the bundled log, which was simulated.
    """

    table: logs.SessionLog
    simulated: bool

    compared_noun: ClassVar[str] = "arm"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), "balance", "by_position"]

    # What the page asks

    @property
    def clustered(self) -> bool:
        """True if the log has a user column."""
        return "user" in self.table.columns

    @property
    def unit_name(self) -> str:
        """The noun for a user, from the input; the session if there is no user column."""
        return unit_noun(self.table.columns["user"], "user") if self.clustered else "session"

    @property
    def items(self) -> int:
        """The number of items shown."""
        return int(self.session_table.item_counts.sum())

    def inference_options(self, stream: RandomStream) -> methods.Options:
        """The options of intervals and tests. Both use the same signs of users, those of the tests,
        because one follows from the other. stream: ignored for this reason.
        """
        return super().inference_options(RandomStream.COMPARISONS)

    def estimate_extras(
        self, chosen: lookup.MetricAtK, system: str, estimate: intervals.Estimate
    ) -> Row:
        """The number of users without credit, for whom the metric is undefined."""
        return {"undefined": int((~self.measure(chosen, system).sums.defined).sum())}

    def comparison_extras(self, chosen: lookup.MetricAtK, pair: SystemPair) -> Row:
        """The numbers of users for the first arm, undecided, and for the second; and the detectable
        difference.
        """
        first, second = self.compared(chosen, pair)
        # where users weigh by their credit, those without any do not count
        counted = first.sums.size > 0
        wins, ties, losses = first.sums.take(counted).wins(second.sums.take(counted))
        detectable = methods.paired(first, second).detectable(self.detecting_level)
        return {"wins": wins, "ties": ties, "losses": losses, "detectable": detectable}

    # The log itself

    @cached_property
    def balance(self) -> pd.DataFrame:
        """Each arm's share of the items that it contributed (of its team) at each position, a row
        for each position and arm: position, system, count (its items), n (those of all arms), share
        with low and high; p of the null hypothesis that a fair coin drew the teams of the position,
        and adjusted, this p by Holm over positions.

        Position 1 shows the coin itself. The units are sessions: each has its own coin.
        """
        # a row for each position, from 0, and a column for each arm, then one for neutral items
        item_counts = self.session_table.item_counts
        counts_by_position = item_counts[:, :-1]  # without neutral items, which have no team
        positions = np.flatnonzero(counts_by_position.any(axis=1))
        p_values = [experiments.sample_ratio(counts_by_position[i]) for i in positions]
        adjusted_p_values = multiplicity.holm(p_values)
        rows = []
        for position, p, adjusted in zip(
            positions.tolist(), p_values, adjusted_p_values, strict=True
        ):
            counts = counts_by_position[position]
            for system, count in zip(self.systems, counts.tolist(), strict=True):
                e = intervals.wilson(count, int(counts.sum()), level=self.settings.level)
                row = {"position": position, "system": system, "count": count, "n": e.n}
                row |= limits(e, "share")
                rows.append(row | {"p": p, "adjusted": adjusted})
        return pd.DataFrame(rows)

    @property
    def shown_balance(self) -> pd.DataFrame:
        """The rows of `balance` to show; with two arms those of the first, since the second has the
        rest.
        """
        if len(self.systems) > 2:
            return self.balance
        return self.balance[self.balance["system"] == self.systems[0]]

    @frame
    def by_position(self) -> Iterator[Row]:
        """The outcome per item shown, with a jackknife interval over users: a row for each position
        and arm with system, position (from 1), shown (the number of items of the arm there) and
        the columns of the estimate.
        """
        arms = len(self.systems)
        level = self.settings.level
        # the interval ends at 1 if no outcome is larger, such as for clicks; else it has no bound
        highest = 1.0 if self.session_table.largest_outcome <= 1 else float("inf")
        for position in range(1, len(self.session_table.item_counts)):  # none is numbered 0
            for arm, system in enumerate(self.systems):
                # `per_item` finds the items of an arm at a position by one number for both
                place = position * arms + arm
                e = self.session_table.outcomes.per_item(place, highest, level)
                shown = int(self.session_table.item_counts[position, arm])
                row = {"system": system, "position": position, "shown": shown}
                yield row | estimate_columns(e)

    @cached_property
    def session_p(self) -> float:
        """The two-sided p-value of the sign test of the headline pair that wrongly takes sessions
        as independent units: shown beside the test of users as a warning. By its null hypothesis
        each arm is equally likely to get more credit in a session. Sessions with equal credit do
        not count.
        """
        from evalkit.statistics.signflip import fair_coin

        credit = self.session_table.credit  # (sessions, systems)
        first, second = (credit[:, self.systems.index(name)] for name in self.headline_systems)
        wins = int((first > second).sum())
        losses = int((first < second).sum())
        if wins + losses == 0:  # no session prefers an arm
            return 1.0
        return fair_coin(wins, wins + losses)

    # The sessions

    @property
    def session_table(self) -> Sessions:
        """The sessions of the log, with one row each, and counts of the items shown."""
        return self.table.sessions

    @property
    def sessions(self) -> int:
        """The number of sessions in the log."""
        return len(self.session_table.user)

    @property
    def users(self) -> int:
        """The number of users in the log, or of sessions if there is no user column."""
        return len(self.session_table.users)

    @property
    def silent_users(self) -> int:
        """The number of users without credit for any arm (silent users)."""
        return int((self.session_table.arms_by_user[0].whole == 0).sum())

    @property
    def mostly_silent(self) -> bool:
        """True if more than half of the users credited no arm."""
        return self.silent_users > self.users / 2

    def arms_by_user(self, member: UnitSelection = EVERY) -> tuple[InterleavingArm, ...]:
        """Each arm with one row per user, from the sessions that are members."""
        if isinstance(member, slice):
            return self.session_table.arms_by_user
        table = self.session_table
        return sessions.arms_by_unit(table.user[member], table.credit[member])

    def measure(
        self, chosen: lookup.MetricAtK, system: str, member: UnitSelection = EVERY
    ) -> statistic.UnitStatistic:
        """The metric of an arm, from one value per user. member: the sessions that count."""
        # two arms divide the credit of a user: what one has, the other lacks
        design = statistic.Layout.DIVIDED if len(self.systems) == 2 else statistic.Layout.PLAIN
        arm = self.arms_by_user(member)[self.systems.index(system)]
        return statistic.UnitStatistic(chosen, chosen.sums(arm), design=design)

    def metric_of_first_arm(self, name: str) -> float:
        """A metric of the first arm, by its name."""
        return float(self.measure(lookup.find_metric(name, "interleaving"), self.systems[0]).value)

    def units_held(self) -> Units:
        """The units of the file of units: first the sessions with their slices and the credit of
        each arm, because slices are of sessions; then the users with the terms of each metric,
        because metrics are computed from one value per user.
        """
        table = self.session_table
        # `owners`: the user of each session, who is its cluster
        sessions = UnitNames.with_slices(table.names, table.owners, self.slices)
        users = UnitNames(table.users)
        blocks = chain(
            units.blocks_of_credit(self.systems, table.credit, sessions),
            units.units_with_terms(self, users).blocks,
        )
        # `size` decides whether the file would be too large: sessions are the most of its units
        return Units(size=self.sessions, blocks=blocks, segments=self.settings.segments)

    @cached_property
    def checks(self) -> pd.DataFrame:
        """The checks to read before the verdict, a row for each of `sessions.CHECKS`: check, count
        (the number of cases), of (out of how many), share.
        """
        count, total = self.session_table.check_counts.T
        columns = {"check": sessions.CHECKS, "count": count, "of": total}
        return pd.DataFrame(columns | {"share": ratio(count, total)})

    @cached_property
    def heavy(self) -> float:
        """The share of all credit that the 10 % of users with the most credit gave; NaN without
        any credit.
        """
        credit = np.sort(self.session_table.arms_by_user[0].whole)[::-1]
        if not credit.sum():
            return float("nan")
        n_heavy = math.ceil(credit.size / HEAVY)
        return float(credit[:n_heavy].sum() / credit.sum())


# What the findings are measured by ----------------------------------------------------------------


class FirstShares(NamedTuple):
    """The first arm's share as a mean over users, and as a share of all credit. winners_differ:
    True if one is above an equal share, and the other below.
    """

    mean_over_users: float
    of_credit: float
    winners_differ: bool


def first_shares(study: Interleaving) -> FirstShares:
    """The two shares of the first arm, and whether they name different winners."""
    even = 1 / len(study.systems)
    mean_over_users = study.metric_of_first_arm("user_share")
    of_credit = study.metric_of_first_arm("credit_share")
    winners_differ = (mean_over_users - even) * (of_credit - even) < 0
    return FirstShares(mean_over_users, of_credit, winners_differ)


def excess_of_fair_share(study: Interleaving) -> pd.DataFrame:
    """The shares of `shown_balance` minus those of a fair coin, with limits: value, low, high."""
    shares = study.shown_balance[["share", "low", "high"]].rename(columns={"share": "value"})
    return shares - 1 / len(study.systems)


class UnevenSessions(NamedTuple):
    """The sessions in which one team leads by more than a draft allows: number and share."""

    number: int
    share: float


def uneven(study: Interleaving) -> UnevenSessions:
    """The sessions in which one team leads by more than a draft allows."""
    number = int(study.checks.set_index("check").at[UNEVEN, "count"])
    return UnevenSessions(number, number / study.sessions)


def delta_ab(study: Interleaving) -> float | None:
    """Δ_AB: the first arm's wins over all sessions, minus ½; None for more than two arms."""
    if len(study.systems) > 2:
        return None
    return study.metric_of_first_arm("session_wins") - 0.5


# The page -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Online(ShownStudy):
    """The studies of the page: log, A/B test and planning; None for each without input."""

    report: ClassVar[str] = "interleaving"

    log: Interleaving | None
    users: experiment.Experiment | None
    planning: Planning | None
    p: reports.InterleavingParameters

    def __repr__(self) -> str:
        """One line: the studies that were given."""
        return f"<Online: {'; '.join(map(repr, self.studies))}>"

    @property
    def studies(self) -> list[Study]:
        """The studies of the log and of the table of users, as far as they exist."""
        return list(self.study_by_input.values())

    @property
    def study_by_input(self) -> dict[str, Study]:
        """These studies by the name of the parameter that gives the input."""
        possible = {"log": self.log, "users": self.users}
        return {name: study for name, study in possible.items() if study is not None}

    @property
    def slices(self) -> list[Slice]:
        """The slices of both studies."""
        return list(chain.from_iterable(study.slices for study in self.studies))

    @property
    def system_names(self) -> list[str]:
        """The arms of both studies."""
        names = chain.from_iterable(study.systems for study in self.studies)
        return list(dict.fromkeys(names))

    def of_systems(self, names: Sequence[str]) -> "Online":
        """The studies with these arms alone; one that has none of them stays as it is."""
        changed = dict[str, Any]()
        for name, study_of_input in self.study_by_input.items():
            if not set(names).isdisjoint(study_of_input.systems):
                changed[name] = study_of_input.of_systems(names)
        return replace(self, **changed)

    def sliced(self, one_slice: Slice, p: reports.InterleavingParameters) -> "Online":
        """The studies of the rows of a slice, without planning. Log and table of users are read
        again, restricted to these rows. An input that has no slice of this name has no study.

        p: the parameters, with the inputs as the user gave them.
        """
        budget = backends.budget_of(p, self.studies[0].settings.limits.reading)
        readers: dict[str, Callable[..., Study]] = {"log": _read_log, "users": experiment.read}
        studies = dict[str, Any]()
        # an input has the name of its parameter, "log" or "users"
        for name, study_of_input in self.study_by_input.items():
            # the slice of this input, whose rows are others than those of the other input's
            slice_by_name = {slice_.name: slice_ for slice_ in study_of_input.slices}
            if one_slice.name not in slice_by_name:
                continue
            data = getattr(p, name)
            if data is None:  # without any input the study is that of the bundled log
                data = SAMPLE["log"]
            parts_of_slice = study_of_input.only(slice_by_name[one_slice.name], data)
            # the page names the slice
            parameters = replace(study_of_input.p, segment=one_slice.name)
            read = readers[name]
            studies[name] = read(parts_of_slice, study_of_input.settings, parameters, budget)
        return Online(studies.get("log"), studies.get("users"), planning=None, p=p)

    def write_units(self, path: Path) -> None:
        """Write the file of units of both studies; none if there are none to write."""
        units.write(path, self.report, self.study_by_input)

    @property
    def units(self) -> pd.DataFrame:
        """The data frame that all metrics of both are computed from; see docs/python.md."""
        return units.frame_of_units(self.report, self.study_by_input)

    @property
    def estimates(self) -> pd.DataFrame:
        """Every metric of every arm, of both: table, metric, system, value, low, high, …"""
        return self._of_both("estimates")

    @property
    def comparisons(self) -> pd.DataFrame:
        """Every pair of arms on every metric, of both: table, metric, first, second, difference,
        …
        """
        return self._of_both("comparisons")

    @property
    def by_segment(self) -> pd.DataFrame:
        """The first metric of every arm in every slice, of both."""
        return self._of_both("by_segment")

    def _of_both(self, name: str) -> pd.DataFrame:
        """The frames of this name, one below the other, after a column `table`: log or users."""
        frames = {table: getattr(study, name) for table, study in self.study_by_input.items()}
        return pd.concat(frames, names=["table"]).reset_index("table").reset_index(drop=True)

    @property
    def sources(self) -> tuple[Source, ...]:
        """All inputs."""
        return tuple(chain.from_iterable(study.sources for study in self.studies))

    def __post_init__(self) -> None:
        """Raise ParameterError for a rule that names what the inputs do not have."""
        policy.check_rules(self.p.gate, self.studies)

    @cached_property
    def gate(self) -> policy.JudgedPolicy | None:
        """The results of the rules that were set, over both studies; None without rules."""
        rules = self.p.gate
        if rules:
            return policy.judge(rules, self.studies, lambda: self.findings.to_dict("records"))
        return None

    def check(self, rules: str | Path) -> None:
        """Assert that both studies keep a policy file or a rule; see `ek.check`."""
        policy.check(self, rules)


@commands.advise_on_errors
def study_of(p: reports.InterleavingParameters, limits: Limits = USUAL_LIMITS) -> Online:
    """Read a log of interleaved sessions, the users of an A/B test, or both, and measure which
    system users prefer.

    The columns of `preds` decide if it is a log or a table of users; without input, the bundled log
    is read. Raises ParameterError for an invalid parameter and InputError for invalid input.

    >>> import evalkit as ek
    >>> rows = {
    ...     "user": ["u1", "u2", "u3", "u4"],
    ...     "arm": ["a", "b", "a", "b"],
    ...     "orders": [1, 3, 2, 4],
    ... }
    >>> ek.interleaving(users=rows, metrics="orders", world="none").users.estimates[
    ...     "value"
    ... ].tolist()
    [3.5, 1.5]
    """
    if p.preds is not None:
        p = logs.with_input_named(p, sources.parts(p.preds, p.header, limits.reading))
    if p.best is not None and p.lower_is_better:
        raise ParameterError("best and lower_is_better: give one, they say the same")
    # the settings of both studies, with the metrics of the log; those of users come when their
    # table is read, so that `lower_is_better`, which names metrics of users, is left out here
    shared = study.settings(
        replace(p, lower_is_better=()),
        lookup.find_metrics(p.preference, "interleaving", METRICS),
        segments=p.segments,
        limits=limits,
    )
    budget = backends.budget_of(p, limits.reading)
    log_parts = sources.optional_parts(p.log, p.header, limits.reading)
    user_parts = sources.optional_parts(p.users, p.header, limits.reading)
    is_without_input = log_parts is None and user_parts is None
    inputs = []
    if log_parts is not None or is_without_input:
        inputs.append("log")
    if user_parts is not None:
        inputs.append("users")
    _check_parameters(inputs, p)
    study.refuse_looks(p)
    column_names = {"device"}  # the column for segments of the bundled log
    if not is_without_input:
        column_names = logs.column_names(chain(log_parts or (), user_parts or ()))
    logs.check_segments(shared.segments, column_names)
    study_of_log = None
    if "log" in inputs:
        study_of_log = _read_log(log_parts, shared, p, budget)
    study_of_users = None
    if "users" in inputs:
        assert user_parts is not None
        study_of_users = experiment.read(user_parts, shared, p, budget)
    plan = planning.read(p.world or planning.NONE, p.simulated_users, p.rankers, seed=p.seed)
    online = Online(study_of_log, study_of_users, plan, p)
    # Each study ignores a baseline of the other. Check the shared settings against the metrics and
    # arms of both, which raises an error for a baseline or a question that neither can answer.
    metrics = chain.from_iterable(each.settings.metrics for each in online.studies)
    replace(shared, metrics=tuple(metrics)).checked(tuple(online.system_names))
    return online


read = reports.reader(reports.InterleavingParameters)(study_of)


def _check_parameters(inputs: list[str], p: reports.InterleavingParameters) -> None:
    """Raise ParameterError for a parameter that applies to the input that is not read, for a column
    role that no input has, and for arms that are not distinct.

    inputs: the names of the inputs that are read, "log", "users" or both.
    """
    for table, names in PARAMETERS_OF_INPUT.items():
        if table in inputs:
            continue
        idle = [name for name in names if name in p.given_values]
        if idle:
            raise ParameterError(
                f"{idle[0]}: applies to {table}, which was not given; set {table}=FILE"
            )
    roles = chain.from_iterable(ROLES[table] for table in inputs)
    columns.check_roles(p.columns, dict.fromkeys(roles))
    if len(set(p.arms)) < len(p.arms):
        raise ParameterError(f"arms must differ, got {', '.join(p.arms)}")
    if p.neutral in p.arms:
        raise ParameterError(f"neutral must not be one of the arms, got {p.neutral!r}")


def _read_log(
    data: list[InputPart] | None,
    shared: Settings,
    p: reports.InterleavingParameters,
    budget: Budget,
) -> Interleaving:
    """The study of a log of sessions. Raises InputError for a log without credit for any arm.

    data: the parts of the log, None for the bundled one. shared: the settings that it shares with
    the study of a table of users. budget: how much may be held in memory.
    """
    if data is None:  # the bundled log needs settings of its own, unless the user has set them
        data = sources.parts(SAMPLE["log"])
        # neutral: the value in the column of arms of items that belong to no arm
        p = replace(p, neutral=p.neutral or str(SAMPLE["neutral"]))
        shared = replace(
            shared,
            segments=shared.segments or ("device",),
            baseline=shared.baseline or str(SAMPLE["baseline"]),
        )
    with backends.needed(data, budget) as engine:
        table = logs.read_log(
            data, p, engine, segments=shared.segments, max_sessions=shared.limits.held
        )
    if not table.sessions.credit.any():
        raise InputError(
            f"{table.columns['outcome']} must be above 0 on at least one item of an arm, got 0 on "
            f"all"
        )
    arms = table.sessions.arms
    return Interleaving(
        # without the segments and the baseline that only the table of users has
        settings=experiment.own_settings(shared, logs.column_names(data), arms),
        systems=arms,
        attributes=table.sessions.attributes,
        p=p,
        sources=table.sources,
        table=table,
        simulated=logs.includes_file(table.sources, str(SAMPLE["log"])),
    )

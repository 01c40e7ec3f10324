"""The interleaving study: a log of interleaved sessions, an A/B table of users, the planning of both."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit import parameters
from evalkit.arrays import InputError, ParameterError, codes
from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import Chosen
from evalkit.catalogue.preferences import Side
from evalkit.drawing.shown import Shown
from evalkit.limits import USUAL, Limits
from evalkit.metrics import sums
from evalkit.online import logs, sessions
from evalkit.online.experiments import sample_ratio
from evalkit.online.logs import SessionLog
from evalkit.parameters import Metrics, Named, Names, Tables, documented
from evalkit.reading.engines import base
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Part, Source
from evalkit.statistics import inference, interval_methods, intervals, multiplicity
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import Layout, OfUnits
from evalkit.studies import experiment, planning, study, units, units_file
from evalkit.studies.experiment_study import Experiment
from evalkit.studies.planning import Planning
from evalkit.studies.study import EVERY, Member, Settings, Study
from evalkit.studies.units import Block, Listed, Units
from evalkit.studies.words import unit_noun

SAMPLE = {
    "log": "data/interleaving/sessions.parquet",
    "neutral": "both",
    "baseline": "current",
    "segments": ("device",),
}
ROLES = {"log": logs.LOG_ROLES, "users": logs.USER_ROLES}
OWN = {
    "log": ("preference", "neutral"),
    "users": ("metrics", "best", "before", "strata", "cap", "shares", "looks"),
}
METRICS = ("user_share", "user_preference", "session_wins", "credit_share")


@dataclass(frozen=True, eq=False, repr=False)
class Online(Shown):
    """What the page holds: of log, experiment and planning those that were given; None for the others."""

    report: ClassVar[str] = "interleaving"

    log: "Interleaving | None"
    users: Experiment | None
    planning: Planning | None
    given: Mapping[str, Any]
    seed: int

    def __repr__(self) -> str:
        """One line: the studies that were given."""
        return f"<Online: {'; '.join(map(repr, self.studies))}>"

    @property
    def studies(self) -> list[Study]:
        """The log's and the table's study, as far as given."""
        return [study for study in (self.log, self.users) if study is not None]

    @property
    def tables_of(self) -> dict[str, Study]:
        """The same by the name of the parameter that gives the input."""
        return {name: study for name, study in (("log", self.log), ("users", self.users)) if study is not None}

    def write_units(self, path: Path) -> None:
        """Write the file of the units of both; nothing where there are none to write."""
        units_file.write(path, self.report, self.tables_of)

    @property
    def sources(self) -> tuple[Source, ...]:
        """All inputs."""
        log = self.log.data.sources if self.log else ()
        return log + (self.users.sources if self.users else ())

    @property
    def gate(self) -> dict[str, Any] | None:
        """The rule that was set, over the log and the table; None where none is set."""
        gates = [study.gate for study in self.studies if study.gate]
        if not gates:
            return None
        return {"rule": "; ".join(gate["rule"] for gate in gates), "passed": all(gate["passed"] for gate in gates)}


@documented(parameters.Interleaving)
def read(
    log: Tables | None = None,
    users: Tables | None = None,
    *,
    columns: Named | None = None,
    arms: Names | None = None,
    neutral: str | None = None,
    preference: Metrics | None = None,
    metrics: Metrics | None = None,
    best: str = "high",
    before: str | None = None,
    strata: str | None = None,
    cap: float = 0.99,
    shares: Named | None = None,
    looks: int = 1,
    segments: Names | None = None,
    world: str | None = None,
    simulated_users: int = 100_000,
    rankers: int = 12,
    baseline: str | None = None,
    gate: str | None = None,
    title: str | None = None,
    note: str | None = None,
    data_date: str | None = None,
    margin: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    header: str | None = None,
    units: str | bool | None = None,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | None = None,
) -> Online:
    """Read a log of interleaved sessions, or an A/B test of users, and say which system users prefer.

    Without `log` and `users` both are the bundled samples. Raises ParameterError for a parameter, InputError for the
    input.

    >>> import evalkit as ek
    >>> rows = {"user": ["u1", "u2", "u3", "u4"], "arm": ["a", "b", "a", "b"], "orders": [1, 3, 2, 4]}
    >>> ek.interleaving(users=rows, metrics="orders", world="none").users.estimates["value"].tolist()
    [3.5, 1.5]
    """
    return study_of(parameters.Interleaving.of(locals()))


def study_of(p: parameters.Interleaving, limits: Limits = USUAL) -> Online:
    """The studies that the parameters of `read` ask for, within these limits."""
    preference = lookup.chosen(p.preference, "interleaving", METRICS)
    shared = study.settings(p, preference, segments=p.segments, limits=limits)
    budget = base.budget(p.memory, p.threads, p.spill, limits.reading)
    sessions_of, users_of = (study.inputs(tables, p.header, limits.reading) for tables in (p.log, p.users))
    inputs = {name: parts for name, parts in (("log", sessions_of), ("users", users_of)) if parts is not None}
    asked = list(inputs) or ["log", "users"]
    _check_meant(asked, p)
    there = logs.column_names([part for parts in inputs.values() for part in parts])
    logs.check_segments(shared.segments, there if inputs else {"device", "health"})
    by_session = _read_log(sessions_of, shared, p) if "log" in asked else None
    by_user = experiment.read(users_of, shared, p, budget) if "users" in asked else None
    plan = planning.read(p.world or _usual_world(inputs), p.simulated_users, p.rankers, seed=p.seed)
    online = Online(by_session, by_user, plan, p.given, p.seed)
    _check_baseline(shared, online.studies)
    return online


def _usual_world(inputs: Mapping[str, Any]) -> str:
    """The world that is simulated where none is asked for: one beside the bundled samples, none beside other data."""
    return planning.NONE if inputs else next(iter(planning.WORLDS))


def _check_meant(asked: list[str], p: parameters.Interleaving) -> None:
    """Raises ParameterError for a parameter of an input that is not there, and for arms that cannot be told apart."""
    for of, names in OWN.items():
        for name in names if of not in asked else ():
            if name in p.given:
                raise ParameterError(f"{name}: applies to {of}, which was not given; set {of}=FILE")
    roles_of.check_roles(p.columns, dict.fromkeys(role for of in asked for role in ROLES[of]))
    if len(set(p.arms)) < len(p.arms):
        raise ParameterError(f"arms must differ, got {', '.join(p.arms)}")
    if p.neutral in p.arms:
        raise ParameterError(f"neutral must not be one of the arms, got {p.neutral!r}")


def _check_baseline(shared: Settings, studies: list[Study]) -> None:
    """Raises where no input has the baseline, or a gate is set without one."""
    systems = tuple(dict.fromkeys(name for entry in studies for name in entry.systems))
    study.check_systems(shared, systems)


def _read_log(data: list[Part] | None, shared: Settings, p: parameters.Interleaving) -> "Interleaving":
    neutral = p.neutral
    if data is None:
        data, neutral = sources.parts(SAMPLE["log"]), neutral or str(SAMPLE["neutral"])
        shared = replace(shared, segments=shared.segments or ("device",), baseline=shared.baseline or "current")
    segments = [name for name in shared.segments if name in logs.column_names(data)]
    table = logs.read_log(data, columns=p.columns, arms=p.arms, neutral=neutral, segments=segments)
    if not sessions.credit(table.log).any():
        error = InputError(f"{table.columns['outcome']} must be above 0 on at least one item of an arm, got 0 on all")
        raise logs.located(error, table.sources, table.columns)
    own = experiment.own_settings(shared, logs.column_names(data), table.log.arms)
    simulated = logs.holds(table.sources, str(SAMPLE["log"]))
    return Interleaving(own, table.log.arms, table.attributes, {}, table, simulated)


@dataclass(frozen=True, eq=False, repr=False)
class Interleaving(Study):
    """The study of interleaved sessions: arms as systems, users as units; attributes are those of sessions."""

    data: SessionLog
    simulated: bool

    compares: ClassVar[str] = "arm"

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.data.sources

    @property
    def unit_name(self) -> str:
        """The user, or what the input calls it; the session where there is no such column."""
        return unit_noun(self.data.columns["user"], "user") if "user" in self.data.columns else "session"

    @cached_property
    def credit(self) -> np.ndarray:
        """Credit by session and arm."""
        return sessions.credit(self.data.log)

    @cached_property
    def _sides(self) -> tuple[Side, ...]:
        return sessions.sides(self.data.log.unit, self.credit)

    def sides(self, member: Member = EVERY) -> tuple[Side, ...]:
        """Each arm with one row a user, from the sessions that are members."""
        if isinstance(member, slice):
            return self._sides
        return sessions.sides(self.data.log.unit[member], self.credit[member])

    @property
    def users(self) -> int:
        """How many users the log has, or sessions where there is no such column."""
        return int(self._sides[0].whole.size)

    @property
    def silent(self) -> int:
        """Users without credit for any arm."""
        return int((self._sides[0].whole == 0).sum())

    def measure(self, chosen: Chosen, system: str, member: Member = EVERY) -> OfUnits:
        """One value a user."""
        design = Layout.DIVIDED if len(self.systems) == 2 else Layout.PLAIN
        return OfUnits(chosen, chosen.sums(self.sides(member)[self.systems.index(system)]), design=design)

    def units_held(self) -> Units:
        """One value a user, and the sessions with the credit of each arm, which tell the slices."""
        user = self.data.log.unit
        listed = Listed.of(np.arange(1, len(user) + 1), user, self.slices)
        of_users = units.of_each(self, Listed(np.unique(user)))
        return Units(len(user), chain(self._of_sessions(listed), of_users.blocks), self.settings.segments)

    def _of_sessions(self, listed: Listed) -> Iterator[Block]:
        for at, part in listed.parts(len(self.systems)):
            for name, credit in zip(self.systems, self.credit[at].T, strict=True):
                yield Block(name, None, len(part), part.columns, {"score": credit})

    def inference_options(self, key: int) -> Options:
        """What intervals and tests depend on; both take the same signs of users, as one follows from the other."""
        return super().inference_options(2)

    def estimate_extras(self, chosen: Chosen, system: str, estimate: Estimate) -> dict[str, Any]:
        """Users without credit, for whom the metric is undefined."""
        return {"undefined": int((~self.measure(chosen, system).sums.defined).sum())}

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """Users for the first, for both alike, for the second; the difference that would show."""
        first, second = (self.measure(chosen, name) for name in pair)
        counted = first.sums.size > 0  # where users weigh by their credit, those without any do not count
        wins, ties, losses = sums.wins(first.sums.take(counted), second.sums.take(counted))
        detectable = inference.detectable_by_t(first, second, self.family_level)
        return {"wins": wins, "ties": ties, "losses": losses, "detectable": detectable}

    # The log itself

    @cached_property
    def checks(self) -> pd.DataFrame:
        """`sessions.checks`, without the positions, which `balance` has."""
        checks = sessions.checks(self.data.log)
        return checks[checks["expected"].isna()].drop(columns="expected").reset_index(drop=True)

    @cached_property
    def balance(self) -> pd.DataFrame:
        """Each arm's share of the items with a team at each position; p that a fair coin drew them, by Holm.

        Position 1 is the coin itself. Sessions are units here: each has its own coin.
        """
        log, rows, p = self.data.log, [], []
        for position in np.unique(log.position[log.team >= 0]):
            here = log.team[(log.position == position) & (log.team >= 0)]
            counts = np.bincount(here, minlength=len(self.systems))
            p.append(sample_ratio(counts))
            for system, count in zip(self.systems, counts.tolist(), strict=True):
                e = intervals.wilson(count, here.size, level=self.settings.level)
                place = {"position": int(position), "system": system, "count": count, "n": e.n}
                rows.append(place | {"share": e.value, "low": e.low, "high": e.high})
        k = len(self.systems)
        return pd.DataFrame(rows).assign(p=np.repeat(p, k), adjusted=np.repeat(multiplicity.holm(p), k))

    @property
    def coins(self) -> pd.DataFrame:
        """The rows of `balance` to show: of two arms those of the first, whose share says it all."""
        return self.balance if len(self.systems) > 2 else self.balance[self.balance["system"] == self.systems[0]]

    @cached_property
    def by_position(self) -> pd.DataFrame:
        """Outcome per item shown at each position for each arm, users as units, by the jackknife."""
        log, rows = self.data.log, []
        user, names = codes(log.unit)
        ends = (0.0 if log.outcome.min() >= 0 else -np.inf, 1.0 if log.outcome.max() <= 1 else np.inf)
        for position in range(1, int(log.position.max()) + 1):
            for arm, system in enumerate(self.systems):
                here = (log.position == position) & (log.team == arm)
                unit = user[log.session[here]]
                top = np.bincount(unit, log.outcome[here], names.size)
                items = np.bincount(unit, minlength=names.size)
                of = sums.Sums(top[items > 0].astype(float), items[items > 0].astype(float))
                e = interval_methods.ratio_within(of, *ends, level=self.settings.level)
                place = {"system": system, "position": position, "shown": int(here.sum())}
                rows.append(place | {"value": e.value, "low": e.low, "high": e.high, "n": e.n})
        return pd.DataFrame(rows)

    @cached_property
    def heavy(self) -> float:
        """Share of all credit that the tenth of the users with most credit gave."""
        credit = np.sort(self._sides[0].whole)[::-1]
        return float(credit[: -(-credit.size // 10)].sum() / credit.sum()) if credit.sum() else float("nan")

    @cached_property
    def session_p(self) -> float:
        """p of the sign test of the first pair that takes sessions for units: shown to warn, never to decide."""
        from evalkit.statistics.signflip import fair_coin

        first, second = (self.credit[:, self.systems.index(name)] for name in self.opponents)
        wins, losses = int((first > second).sum()), int((first < second).sum())
        return fair_coin(wins, wins + losses) if wins + losses else 1.0

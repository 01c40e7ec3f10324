"""The interleaving study: a log of interleaved sessions, an A/B table of users, the planning of both."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from evalkit import parameters
from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.drawing.shown import Shown
from evalkit.limits import USUAL, Limits
from evalkit.online import large_log, logs, sessions
from evalkit.online.logs import SessionLog
from evalkit.parameters import Metrics, Named, Names, Tables, documented
from evalkit.reading.engines import base
from evalkit.reading.engines.base import Budget
from evalkit.reading.reductions import tabled
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Part, Source
from evalkit.studies import experiment, interleaving_sums, planning, study, units_file
from evalkit.studies.experiment_study import Experiment
from evalkit.studies.interleaving_rows import RowsStudy
from evalkit.studies.interleaving_study import Interleaving
from evalkit.studies.planning import Planning
from evalkit.studies.study import Settings, Study

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

    log: Interleaving | None
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
        log = self.log.sources if self.log else ()
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
    best: str | None = None,
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


@sources.naming_files
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
    by_session = _read_log(sessions_of, shared, p, budget) if "log" in asked else None
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


def _read_log(data: list[Part] | None, shared: Settings, p: parameters.Interleaving, budget: Budget) -> Interleaving:
    """The study of a log of sessions; of the bundled one where there is none."""
    if data is None:
        data, p = sources.parts(SAMPLE["log"]), replace(p, neutral=p.neutral or str(SAMPLE["neutral"]))
        shared = replace(shared, segments=shared.segments or ("device",), baseline=shared.baseline or "current")
    there = logs.column_names(data)
    segments = [name for name in shared.segments if name in there]
    asked: dict[str, Any] = {"columns": p.columns, "arms": p.arms, "neutral": p.neutral, "segments": segments}
    with tabled.engine_for(data, budget) as engine:
        if engine is None:
            return _held(logs.read_log(data, **asked), shared, there)
        table = large_log.read(engine, data, **asked)
        own = experiment.own_settings(shared, there, table.arms)
        return interleaving_sums.study_of(table, own, simulated=logs.holds(table.sources(), str(SAMPLE["log"])))


def _held(table: SessionLog, shared: Settings, there: Collection[str]) -> RowsStudy:
    """The study of a log in memory."""
    if not sessions.credit(table.log).any():
        raise logs.no_credit(table.columns["outcome"])
    own = experiment.own_settings(shared, there, table.log.arms)
    read_of = (table.columns, table.sources, logs.holds(table.sources, str(SAMPLE["log"])))
    return RowsStudy(own, table.log.arms, table.attributes, {}, *read_of, table.log, table.repeated)

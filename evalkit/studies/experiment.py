"""The A/B half of the interleaving study: a table of users, in memory or read twice."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evalkit import parameters
from evalkit.arrays import InputError, ParameterError, codes
from evalkit.catalogue import directions, lookup
from evalkit.catalogue.kinds import Kind, PerUnit, Proportion, Ratio
from evalkit.catalogue.lookup import Chosen
from evalkit.catalogue.metric import Metric
from evalkit.metrics.sums import Sums
from evalkit.online import experiments, large_users, logs
from evalkit.online.experiments import Assignment
from evalkit.parameters.fields import UNKNOWN
from evalkit.reading.engines.base import Budget
from evalkit.reading.reductions import tabled
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Part
from evalkit.studies import experiment_sums
from evalkit.studies.experiment_rows import RowsStudy
from evalkit.studies.experiment_study import Experiment
from evalkit.studies.study import Settings, check_columns

SAMPLE = "data/interleaving/health_plans.parquet"
SAMPLE_COLUMNS = {"user": "block", "arm": "plan"}
SAMPLE_METRICS = ("visits_per_year", "visits/years", "any_visit")


def read(data: list[Part] | None, shared: Settings, o: parameters.Interleaving, budget: Budget) -> Experiment:
    """The study of a table of users; of the bundled RAND health plans where there is none."""
    columns, names = o.columns, o.metrics
    if data is None:
        data, columns, names = sources.parts(SAMPLE), SAMPLE_COLUMNS | dict(columns), names or SAMPLE_METRICS
        o = replace(o, before=o.before or "chronic", strata=o.strata or "health", shares=o.shares or UNKNOWN)
        shared = replace(shared, segments=shared.segments or ("health",), baseline=shared.baseline or "paying")
    o = replace(o, columns=columns, metrics=tuple(dict.fromkeys(names)))
    check_metrics(data, o)
    with tabled.engine_for(data, budget) as engine:
        return _reduced(engine, data, shared, o) if engine else _held(data, shared, o)


def check_metrics(data: list[Part], o: parameters.Interleaving) -> None:
    """Raise ParameterError if no metrics of users are named, or one is of a column that is not there."""
    if not o.metrics:
        raise ParameterError("metrics: name the columns of users to compare, such as metrics='orders,revenue/orders'")
    check_columns(o.metrics, data)


def _numbers(o: parameters.Interleaving) -> list[str]:
    """The columns of numbers that are read."""
    return logs.distinct(logs.numbers_of(filter(lookup.of_catalogue, o.metrics), o.before), lookup.columns(o.metrics))


def users(data: list[Part], o: parameters.Interleaving, segments: Sequence[str]) -> tuple[logs.UserTable, Assignment]:
    """The users as read, and those of the arms. segments: columns for segments, of this table or of another."""
    there = logs.column_names(data)
    attributes = logs.distinct((name for name in segments if name in there), (o.strata,))
    table = logs.read_users(data, columns=o.columns, numbers=_numbers(o), attributes=attributes)
    assigned = _assigned(table, o.arms, o.strata)
    _check_shares(o, assigned.arms)
    return table, assigned


def _held(data: list[Part], shared: Settings, o: parameters.Interleaving) -> RowsStudy:
    """The study of users in memory."""
    there = logs.column_names(data)
    table, assigned = users(data, o, shared.segments)
    kept, values = ({n: x[assigned.rows] for n, x in side.items()} for side in (table.attributes, table.numbers))
    binary = {name for name, column in values.items() if ((column == 0) | (column == 1)).all()}
    settings = replace(own_settings(shared, there, assigned.arms), metrics=_metrics(o, binary))
    bundled = logs.holds(table.sources, SAMPLE)
    read_of = (o, table.columns, table.sources, bundled)
    return RowsStudy(settings, assigned.arms, kept, {}, *read_of, assigned, values, table.user[assigned.rows])


def _reduced(engine: Any, data: list[Part], shared: Settings, o: parameters.Interleaving) -> Experiment:
    """The study of users that an engine reads twice."""
    there = logs.column_names(data)
    segments = tuple(name for name in shared.segments if name in there)
    asked: dict[str, Any] = {"segments": segments, "strata": o.strata, "arms": o.arms}
    table = large_users.read(engine, data, columns=o.columns, numbers=_numbers(o), **asked)
    _check_shares(o, table.arms)
    settings = replace(own_settings(shared, there, table.arms), metrics=_metrics(o, table.binary))
    return experiment_sums.study_of(table, settings, o, sample=logs.holds(table.sources(), SAMPLE))


def _metrics(o: parameters.Interleaving, binary: Collection[str]) -> tuple[Chosen, ...]:
    """The metrics of columns, and own ones of the table. binary: columns of zeros and ones alone."""
    columns = {name: Chosen(_metric(name, o.best, binary)) for name in filter(lookup.of_catalogue, o.metrics)}
    return lookup.apart(tuple(columns.get(name) or lookup.find(name, "users") for name in o.metrics))


def own_settings(shared: Settings, there: Collection[str], systems: tuple[str, ...]) -> Settings:
    """The settings as one input can take them: segments that it has, a baseline that is an arm of it."""
    baseline = shared.baseline if shared.baseline in systems else None
    segments = tuple(name for name in shared.segments if name in there)
    return replace(shared, segments=segments, baseline=baseline, gate=shared.gate if baseline else None)


def _assigned(table: logs.UserTable, arms: Sequence[str], strata: str | None) -> Assignment:
    """The users by arm; the error names the file."""
    named = list(arms) or sorted(set(map(str, table.arm)))
    try:
        named = logs.several_arms(named, table.columns["arm"])
        assigned = experiments.assignment(table.user, table.arm, arms=named)
        if strata:
            _check_strata(strata, table.attributes[strata][assigned.rows], assigned)
        return assigned
    except InputError as error:
        raise logs.located(error, table.sources, table.columns) from None


def _check_strata(name: str, label: np.ndarray, assigned: Assignment) -> None:
    """Raises InputError unless every stratum has users in every arm."""
    number, strata = codes(label)
    cells = strata.size * len(assigned.arms)
    users = np.bincount(number * len(assigned.arms) + assigned.arm, minlength=cells).reshape(strata.size, -1)
    logs.check_strata(name, strata.tolist(), assigned.arms, users)


def _check_shares(o: parameters.Interleaving, arms: Sequence[str]) -> None:
    if isinstance(o.shares, Mapping) and set(o.shares) != set(arms):
        raise ParameterError(f"shares: must name the arms {', '.join(arms)}, got {', '.join(o.shares)}")


def _metric(name: str, best: str | None, binary: Collection[str]) -> Metric:
    """A metric made of one column, its mean over users, or of two, the ratio of their sums."""
    parts = logs.measured(name)
    best = best or directions.of(parts[0])
    alone = len(parts) == 1
    what = f"mean of {name} over users" if alone else f"Σ {parts[0]} / Σ {parts[1]} over users, users as units"
    plain = f"the mean of {name} in each arm" if alone else f"all {parts[0]} of an arm divided by all its {parts[1]}"
    equals = "numpy mean of an arm" if alone else "none as such"
    undefined = "the arm has no user" if alone else f"Σ {parts[1]} is 0"
    about: dict[str, Any] = {"best": best or "high", "assumed": not best, "plain": plain, "unit": name}
    return Metric(name, "users", _kind(parts, binary), what, undefined, equals, "never", -np.inf, np.inf, **about)


def _kind(parts: Sequence[str], binary: Collection[str]) -> Kind:
    """A proportion where all values are 0 or 1, a mean, or a ratio of sums."""
    if len(parts) > 1:
        return Ratio(lambda numbers, k, level: Sums(numbers[parts[0]], numbers[parts[1]]))
    mean = Proportion if parts[0] in binary else PerUnit
    return mean(lambda numbers, k, level: numbers[parts[0]])

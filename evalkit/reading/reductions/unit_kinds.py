"""Detects the kind of a table of values: by its header, by the parameters, and if these are not
enough by its cells.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import MeanPerUnit, TermsKind
from evalkit.catalogue.lookup import Metric, MetricAtK
from evalkit.limits import ReadingLimits
from evalkit.parameters.reports import TASKS, WRONG, SignificanceParameters
from evalkit.reading.engines import backends, base
from evalkit.reading.inputs import verdicts
from evalkit.reading.inputs.rows import names_of_systems
from evalkit.reading.inputs.unit_columns import UnitTable
from evalkit.reading.inputs.unit_roles import FreeColumns, UnitRoles
from evalkit.reading.matching.column_names import NAMES, uses_of
from evalkit.reading.reductions import judge_labels, unit_readers, units
from evalkit.reading.reductions.unit_readers import COUNTED, Trials
from evalkit.reading.reductions.units import VALUE, UnitValues
from evalkit.reading.tables import columns, formats, logs, rules, sources, trec
from evalkit.reading.tables.parts import InputPart

# Kinds of tables ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class InputKind:
    """A kind of input.

    what: its name in messages. follows: the parameters that apply to it, of those that do not apply
    to every kind. roles: what `columns` can name in it; None for ranked lists, which check it
    themselves.
    """

    what: str
    follows: Sequence[str]
    roles: Sequence[str] | None = None


KINDS: Mapping[str, InputKind] = {name: InputKind(**kind) for name, kind in NAMES["kinds"].items()}
MEASURE = re.compile(NAMES["output"]["measure"])
# roles that tables of predictions do not have
OF_VALUES = ("unit", "value", "metric", *COUNTED)
OF_PREDICTIONS = ("query", "item", "score", "rank", "label")


def is_output(part: InputPart) -> bool:
    """True if the first line of a file is a measure of trec_eval, a query and a value."""
    if type(part) not in (formats.Csv, formats.Trec):
        return False
    first = trec.first_line(part.path)
    return len(first) == 3 and bool(MEASURE.fullmatch(first[0]))


def is_report(part: InputPart) -> bool:
    """True for the JSON of an earlier report."""
    return part.rows_are_objects and {"schema", "report", "versions"} <= set(part.columns)


def is_ranking(part: InputPart, chosen: Mapping[str, str]) -> bool:
    """True if rows are ranked items of a query. chosen: role -> column, as the user names them."""
    roles = _roles_of_predictions(part, chosen)
    ranked = {"query", "item"} <= roles and roles & {"score", "rank"}
    return bool(ranked) and "value" not in chosen


def names_system(part: InputPart, p: SignificanceParameters) -> bool:
    """True if a parameter or a column may name systems."""
    has_usual_name = any("system" in uses_of(name) for name in part.columns)
    return bool(p.systems) or "system" in p.columns or has_usual_name


def is_of_trials(part: InputPart, p: SignificanceParameters) -> bool:
    """True for a table of repeated trials, such as task_id, trial, reward, that does not name
    systems.
    """
    if p.columns or names_system(part, p):
        return False
    uses_of_columns = [uses_of(name) for name in part.columns]
    values = [uses for uses in uses_of_columns if "value" in uses]
    has_units = any(uses & {"unit", "id", "task"} for uses in uses_of_columns)
    has_attempts = any("attempt" in uses for uses in uses_of_columns)
    return len(values) == 1 and has_units and has_attempts


def _roles_of_predictions(part: InputPart, chosen: Mapping[str, str]) -> set[str]:
    """The roles of predictions for which the part has a column. chosen: role -> column, as the user
    names them.
    """
    chosen_columns = {role: name for role, name in chosen.items() if role not in OF_VALUES}
    return set(columns.match(part.columns, OF_PREDICTIONS, chosen_columns, "").resolve())


def _names_systems(p: SignificanceParameters, table: UnitTable) -> bool:
    """True if a column names the system."""
    return bool(p.columns.get("system") or FreeColumns.from_table(table).system())


def kind_of(p: SignificanceParameters, table: UnitTable) -> str:
    """The name of a table's kind in `KINDS`, by the columns of the first part, and the parameters
    about them.

    A table with a column of systems is long, unless `systems` names columns of it.
    """
    part = table.parts[0]
    names = set(part.columns)
    if is_output(part):
        return "trec_eval"
    if part.trec_layout is not None:
        return "ranking"
    if is_report(part):
        return "report"
    if p.oracle and not set(p.systems) & names:
        return "long" if _names_systems(p, table) else "wide"
    if {p.columns.get(role, role) for role in COUNTED} <= names:
        return "trials"
    if is_ranking(part, p.columns):
        return "ranking"
    if p.systems and set(p.systems) <= names:
        return "wide"
    if p.columns.get("value", VALUE) in names and _names_systems(p, table):
        return "long"
    if {"label", "score"} <= _roles_of_predictions(part, p.columns) and not p.systems:
        return "classification"
    return "long" if _names_systems(p, table) or "value" in p.columns else "wide"


@dataclass(frozen=True, eq=False)
class UnitInput:
    """An input of known kind, and the parameters of the report on it.

    name: of the kind, a key of `KINDS`.
    """

    name: str
    table: UnitTable
    p: SignificanceParameters

    @classmethod
    def from_parts(
        cls,
        parts: Sequence[InputPart],
        p: SignificanceParameters,
        engine: base.Engine | None = None,
    ) -> "UnitInput":
        """The parts with their kind. engine: None if they fit into memory. Raises as `check` does.

        Parts that do not name their systems have one system each, called after the file, if they
        hold repeated trials, or if the user names the column of values.
        """
        if p.errored == WRONG:
            parts = logs.with_errors_as_wrong(parts)
        parts, p = verdicts.with_win_shares(parts, p)
        if is_of_trials(parts[0], p):
            parts = [sources.with_system_name(part, part.path.stem or VALUE) for part in parts]
        elif len(parts) > 1 and "value" in p.columns and not names_system(parts[0], p):
            parts = list(map(sources.with_system_name, parts, names_of_systems(parts)))
        table = UnitTable.from_parts(parts, engine)
        unit_input = cls(kind_of(p, table), table, p)
        unit_input.check()
        if p.oracle:
            with_judge = judge_labels.with_judge(p, table, unit_input.name)
            return replace(unit_input, p=with_judge)
        return unit_input

    @property
    def kind(self) -> InputKind:
        """The kind: its name, and the parameters that apply."""
        return KINDS[self.name]

    def check(self) -> None:
        """Raise ParameterError for parameters that do not apply to this kind of input, and for
        columns that do not exist; InputError for a first line that holds data.
        """
        p = self.p
        for name in p.given_values:
            kinds = [kind.what for kind in KINDS.values() if name in kind.follows]
            if kinds and name not in self.kind.follows:
                holds = f"preds holds {self.kind.what}"
                raise ParameterError(f"{name}: only for {', '.join(kinds)}; {holds}")
        if p.columns and self.kind.roles == []:
            raise ParameterError(f"columns: {self.kind.what} has no columns to name")
        if self.name == "wide" and len(self.metrics) > 1:
            got = f"got {len(self.metrics)}; a long table has a metric column"
            raise ParameterError(f"metrics: a wide table holds one metric, {got}")
        if self.name != "ranking":
            systems = p.systems if self.name == "wide" else ()
            check_named(self.table.parts, p.columns, p.unit, systems)
        if self.kind.roles:
            columns.check_roles(p.columns, self.kind.roles)
        if self.name == "wide" and p.header is None:
            for part in self.table.parts:
                columns.refuse_data(part.columns, part.name)

    @property
    def metrics(self) -> list[Any]:
        """The metrics that the input itself must hold, which are not computed from draws."""
        return [name for name in self.p.metrics if not lookup.of_draws(name)]

    def values(self, reading: ReadingLimits) -> tuple[UnitValues | Trials, tuple[MetricAtK, ...]]:
        """The values and their metrics; without metrics for trials. Ranked lists are read
        elsewhere.
        """
        p = self.p
        table = self.table
        if self.name == "classification":
            losses = _losses(p.metrics)
            data = unit_readers.read_losses(table, p.columns, p.unit, losses, reading)
            kind = MeanPerUnit(lookup.not_computed)  # the losses are values of units from here on
            return data, tuple(MetricAtK(replace(metric, kind=kind)) for metric in losses)
        for name in p.metrics:
            if not lookup.is_in_catalogue(name):
                holds = f"preds holds {self.kind.what}; name the metric of these values"
                raise ParameterError(f"metrics: {name} has nothing to be computed from, {holds}")
        if self.name == "trials":
            return unit_readers.read_trials(table, p.columns), ()
        data = self._read(reading)
        if p.oracle:
            labels = replace(self, p=judge_labels.of_oracle(p))._read(reading)
            data = judge_labels.with_labels(data, labels, table.name)
        return self._measured(self._with_logs(data))

    def _read(self, reading: ReadingLimits) -> UnitValues:
        """The values that the input itself holds."""
        p = self.p
        parts = self.table.parts
        if self.name == "report":
            return unit_readers.read_report(parts)
        if self.name == "trec_eval":
            return unit_readers.read_output(parts, p.systems, p.metrics)
        free = FreeColumns.from_table(self.table)
        unit = _unit(p, free)
        free = free.without(list(map(free.named, p.oracle)))
        if self.name == "long":
            roles = UnitRoles.of_long(free, self._columns_of_long(free), unit)
        else:
            roles = UnitRoles.of_wide(free, p.columns, unit, p.systems)
        # metrics of draws, such as pass@k, are computed from 0 and 1
        rule = rules.VALUES if len(self.metrics) == len(p.metrics) else rules.PASSED
        return units.read_table(roles, p.systems, self.metrics, reading, rule)

    def _columns_of_long(self, free: FreeColumns) -> Mapping[str, str]:
        """The columns by role that the user names; a metric may name the column of the values."""
        numbers = [column.name for column in free.columns_of_kind("numbers")]
        if len(self.metrics) == 1 and self.metrics[0] in numbers and free.metric() is None:
            return {"value": self.metrics[0], **self.p.columns}
        return self.p.columns

    def _with_logs(self, data: UnitValues) -> UnitValues:
        """The values with what logs, or other files, state of them."""
        parts = self.table.parts
        stated = dict[str, str]()
        for part in parts:
            stated |= part.directions
        return replace(
            data,
            columns={**data.columns, **verdicts.columns_of(parts)},
            findings=(*data.findings, *logs.findings(parts), *verdicts.findings(parts)),
            logged=self.table.logged,
            stated=logs.stated(parts),
            directions={**stated, **data.directions},
        )

    def _measured(self, data: UnitValues) -> tuple[UnitValues, tuple[MetricAtK, ...]]:
        """The values of the requested metrics, and these metrics, with the directions that the
        input states.
        """
        in_input = {}
        for name in data.metrics:
            metric = lookup.named(name, data.directions.get(name))
            draws = [draws for (label, _), draws in data.draws.items() if label == name]
            if any(of_system.has_several_draws for of_system in draws) and all(
                of_system.has_binary_draws for of_system in draws
            ):
                metric = replace(metric, low=0.0, high=1.0)  # means of 0 and 1
            in_input[name] = MetricAtK(metric)
        if len(self.metrics) == len(self.p.metrics):
            return data, tuple(in_input.values())
        metrics = tuple(
            in_input[name] if name in self.metrics else lookup.find_metric(name, "draws")
            for name in dict.fromkeys(self.p.metrics)
        )
        return data.measured(metrics), metrics


def _unit(p: SignificanceParameters, free: FreeColumns) -> str | None:
    """The column of clusters: that of tasks if the claim is on such tasks, else the one that `unit`
    names; None without one.
    """
    if p.claim != TASKS:
        return p.unit
    if p.unit:
        raise ParameterError(f"claim: {TASKS!r} takes tasks as units, without unit")
    tasks = free.columns_used_as("task")
    if not tasks:
        raise ParameterError(f"claim: {TASKS!r} needs a column task; unit=NAME takes another one")
    return tasks[0].name


LOSSES = ("brier", "log_loss")


def _losses(names: Sequence[Any]) -> list[Metric]:
    """The losses of these names, or the usual ones without names. Raises ParameterError for a
    metric that is not a mean over rows.
    """
    losses = []
    for name in names or LOSSES:
        if lookup.is_in_catalogue(name):
            meanings = lookup.possible_metrics(name, "counts")
        else:
            meanings = lookup.find_metrics([name], "counts", ())
        if len(meanings) != 1 or not _is_loss(meanings[0].metric):
            has = [loss for loss, metric in lookup.TABLES["counts"].items() if _is_loss(metric)]
            raise ParameterError(
                f"metrics: for single rows there are {', '.join(sorted(has))}, got {str(name)!r}; "
                "the other reports have more"
            )
        losses.append(meanings[0].metric)
    return losses


def _is_loss(metric: Metric) -> bool:
    """True for a mean over rows with a better direction."""
    return (
        isinstance(metric.kind, TermsKind)
        and metric.kind.mean_over_rows
        and metric.best != "neither"
    )


@contextmanager
def opened(p: SignificanceParameters, reading: ReadingLimits) -> Iterator[UnitInput]:
    """A context in which the input of the parameters is used. Its engine, which it has if it has
    more rows than are kept, is closed at the end.
    """
    parts = sources.parts(p.preds, p.header, reading)
    first = parts[0]
    context: AbstractContextManager[base.Engine | None] = nullcontext()
    if not (first.trec_layout or is_report(first) or is_output(first)):
        context = backends.needed(parts, backends.budget_of(p, reading))
    with context as engine:
        yield UnitInput.from_parts(parts, p, engine)


def check_named(
    parts: Sequence[InputPart],
    roles: Mapping[str, str],
    unit: str | None,
    systems: Sequence[str] = (),
) -> None:
    """Raise ParameterError for all columns that the parameters name and a part lacks. roles: role
    -> column.
    """
    parameters = {name: f"columns: {role}" for role, name in roles.items()}  # by column
    if unit:
        parameters[unit] = "unit"
    parameters |= dict.fromkeys(systems, "systems or unit")
    for part in parts:
        columns.match(part.columns, (), {}, part.name, required_columns=parameters).resolve()

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
from evalkit.catalogue.kinds import PerUnit, TermsKind
from evalkit.catalogue.lookup import Metric, MetricAtK
from evalkit.limits import Reading
from evalkit.parameters.reports import TASKS, SignificanceParameters
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
    """A kind of input: its name in messages, what `columns` can name in it, and the parameters that
    apply to it.

    roles: None for ranked lists, which check their own. follows: those of the parameters that some
    kinds cannot follow.
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
    return part.nested and {"schema", "report", "versions"} <= {*part.columns}


def is_ranking(part: InputPart, chosen: Mapping[str, str]) -> bool:
    """True if rows are ranked items of a query. chosen: role -> column, as the user names them."""
    roles = _roles_of_predictions(part, chosen)
    ranked = {"query", "item"} <= roles and roles & {"score", "rank"}
    return bool(ranked) and "value" not in chosen


def names_system(part: InputPart, p: SignificanceParameters) -> bool:
    """True if a parameter or a column may name systems."""
    usual = any("system" in uses_of(name) for name in part.columns)
    return bool(p.systems) or "system" in p.columns or usual


def is_of_trials(part: InputPart, p: SignificanceParameters) -> bool:
    """True for a table of repeated trials, such as task_id, trial, reward, that does not name
    systems.
    """
    if p.columns or names_system(part, p):
        return False
    uses = [uses_of(name) for name in part.columns]
    values = [names for names in uses if "value" in names]
    units = [names for names in uses if names & {"unit", "id", "task"}]
    return len(values) == 1 and bool(units) and any("attempt" in names for names in uses)


def _roles_of_predictions(part: InputPart, chosen: Mapping[str, str]) -> set[str]:
    """The roles of predictions that columns have."""
    named = {role: name for role, name in chosen.items() if role not in OF_VALUES}
    return {*columns.match(part.columns, OF_PREDICTIONS, named, "").resolve()}


def _names_systems(p: SignificanceParameters, table: UnitTable) -> bool:
    """True if a column names the system."""
    return bool(p.columns.get("system") or FreeColumns.of(table).system())


def kind_of(p: SignificanceParameters, table: UnitTable) -> str:
    """The name of a kind, by the first part, its columns, and parameters about them.

    A table with a column of systems is long, unless `systems` names columns of it.
    """
    part = table.parts[0]
    names = {*part.columns}
    if is_output(part):
        return "trec_eval"
    if part.layout is not None:
        return "ranking"
    if is_report(part):
        return "report"
    if p.oracle and not {*p.systems} & names:
        return "long" if _names_systems(p, table) else "wide"
    if {p.columns.get(role, role) for role in COUNTED} <= names:
        return "trials"
    if is_ranking(part, p.columns):
        return "ranking"
    if p.systems and {*p.systems} <= names:
        return "wide"
    if p.columns.get("value", VALUE) in names and _names_systems(p, table):
        return "long"
    if {"label", "score"} <= _roles_of_predictions(part, p.columns) and not p.systems:
        return "classification"
    return "long" if _names_systems(p, table) or "value" in p.columns else "wide"


@dataclass(frozen=True, eq=False)
class UnitInput:
    """An input of known kind, and the parameters of the report on it."""

    name: str
    table: UnitTable
    p: SignificanceParameters

    @classmethod
    def of(
        cls,
        parts: Sequence[InputPart],
        p: SignificanceParameters,
        engine: base.Engine | None = None,
    ) -> "UnitInput":
        """The parts, and their kind by the first header. Raises for invalid values of this kind of
        input.
        """
        parts, p = verdicts.with_win_shares(parts, p)
        if is_of_trials(parts[0], p):
            parts = [sources.of_system(part, part.path.stem or VALUE) for part in parts]
        elif len(parts) > 1 and "value" in p.columns and not names_system(parts[0], p):
            names = names_of_systems(parts)
            parts = [*map(sources.of_system, parts, names)]
        table = UnitTable.of(parts, engine)
        found = cls(kind_of(p, table), table, p)
        found.check()
        if p.oracle:
            return replace(found, p=judge_labels.with_judge(p, table, found.name))
        return found

    @property
    def kind(self) -> InputKind:
        """The kind: its name, and the parameters that apply."""
        return KINDS[self.name]

    def check(self) -> None:
        """Raise for parameters that do not apply to this kind of input, and for columns that do not
        exist.
        """
        p = self.p
        for name in p.given:
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

    def values(self, reading: Reading) -> tuple[UnitValues | Trials, tuple[MetricAtK, ...]]:
        """The values and their metrics; none for trials. Ranked lists have their own reader."""
        p, table = self.p, self.table
        if self.name == "classification":
            losses = _losses(p.metrics)
            data = unit_readers.read_losses(table, p.columns, p.unit, losses, reading)
            kind = PerUnit(lookup.absent)
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

    def _read(self, reading: Reading) -> UnitValues:
        """The values that the input itself holds."""
        p, parts = self.p, self.table.parts
        if self.name == "report":
            return unit_readers.read_report(parts)
        if self.name == "trec_eval":
            return unit_readers.read_output(parts, p.systems, p.metrics)
        free = FreeColumns.of(self.table)
        unit = _unit(p, free)
        free = free.without(*map(free.named, p.oracle))
        if self.name == "long":
            roles = UnitRoles.of_long(free, self._columns_of_long(free), unit)
        else:
            roles = UnitRoles.of_wide(free, p.columns, unit, p.systems)
        rule = rules.VALUES if len(self.metrics) == len(p.metrics) else rules.PASSED
        return units.read_table(roles, p.systems, self.metrics, reading, rule)

    def _columns_of_long(self, free: FreeColumns) -> Mapping[str, str]:
        """The columns by role that the user names; a metric may name the column of the values."""
        numbers = [column.name for column in free.of_kind("numbers")]
        if len(self.metrics) == 1 and self.metrics[0] in numbers and free.metric() is None:
            return {"value": self.metrics[0], **self.p.columns}
        return self.p.columns

    def _with_logs(self, data: UnitValues) -> UnitValues:
        """The values with what logs, or other files, state of them."""
        parts = self.table.parts
        stated = {name: best for part in parts for name, best in part.directions.items()}
        return replace(
            data,
            columns={**data.columns, **verdicts.columns_of(parts)},
            findings=(*data.findings, *logs.findings(parts), *verdicts.findings(parts)),
            logged=self.table.logged,
            stated=logs.stated(parts),
            directions={**stated, **data.directions},
        )

    def _measured(self, data: UnitValues) -> tuple[UnitValues, tuple[MetricAtK, ...]]:
        """The values of the requested metrics, and these, with the directions that are stated."""
        named = {}
        for name in data.metrics:
            metric = lookup.named(name, data.directions.get(name))
            draws = [draws for (label, _), draws in data.draws.items() if label == name]
            if any(one.several for one in draws) and all(one.passes for one in draws):
                metric = replace(metric, low=0.0, high=1.0)
            named[name] = MetricAtK(metric)
        if len(self.metrics) == len(self.p.metrics):
            return data, tuple(named.values())
        metrics = tuple(
            named[name] if name in self.metrics else lookup.find(name, "draws")
            for name in dict.fromkeys(self.p.metrics)
        )
        return data.measured(metrics), metrics


def _unit(p: SignificanceParameters, free: FreeColumns) -> str | None:
    """The column of clusters: that of tasks where the claim is on such tasks, else the one that
    `unit` names.
    """
    if p.claim != TASKS:
        return p.unit
    if p.unit:
        raise ParameterError(f"claim: {TASKS!r} takes tasks as units, without unit")
    for column in free.used_as("task"):
        return column.name
    raise ParameterError(f"claim: {TASKS!r} needs a column task; unit=NAME takes another one")


LOSSES = ("brier", "log_loss")


def _losses(names: Sequence[Any]) -> list[Metric]:
    """The losses of these names, or the usual ones; raises ParameterError if one is not a mean over
    rows.
    """
    losses = []
    for name in names or LOSSES:
        if lookup.is_in_catalogue(name):
            meant = lookup.meanings(name, "counts")
        else:
            meant = lookup.find_metrics([name], "counts", ())
        if len(meant) != 1 or not _is_loss(meant[0].metric):
            has = [loss for loss, metric in lookup.TABLES["counts"].items() if _is_loss(metric)]
            raise ParameterError(
                f"metrics: for single rows there are {', '.join(sorted(has))}, got {str(name)!r}; "
                "the other reports have more"
            )
        losses.append(meant[0].metric)
    return losses


def _is_loss(metric: Metric) -> bool:
    """True for a mean over rows with a better direction."""
    return (
        isinstance(metric.kind, TermsKind)
        and metric.kind.mean_over_rows
        and metric.best != "neither"
    )


@contextmanager
def opened(p: SignificanceParameters, reading: Reading) -> Iterator[UnitInput]:
    """The input of the parameters; its engine, if it has more rows than are kept, is closed at the
    end of the block.
    """
    parts = sources.parts(p.preds, p.header, reading)
    first = parts[0]
    engine: AbstractContextManager[base.Engine | None] = nullcontext()
    if not (first.layout or is_report(first) or is_output(first)):
        engine = backends.needed(parts, backends.budget_of(p, reading))
    with engine as opened:
        yield UnitInput.of(parts, p, opened)


def check_named(
    parts: Sequence[InputPart],
    roles: Mapping[str, str],
    unit: str | None,
    systems: Sequence[str] = (),
) -> None:
    """Raise ParameterError for all columns that the parameters name and a part lacks."""
    named = {name: f"columns: {role}" for role, name in roles.items()}
    if unit:
        named[unit] = "unit"
    named |= dict.fromkeys(systems, "systems or unit")
    for part in parts:
        columns.match(part.columns, (), {}, part.name, required_columns=named).resolve()

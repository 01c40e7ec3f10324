"""What a report would make of an input: the roles of its columns, its systems, its rows; or why it refuses it.

Headers say most of it, and are checked before a report starts; what only rows can say is left to the report, and so is
a bundled sample. Where an input is small, `inspect` reads its rows too, so that a bad value is refused here already. No
metric is computed, and no row of a larger input is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from evalkit import parameters
from evalkit.catalogue import lookup
from evalkit.limits import USUAL
from evalkit.numbers import counted
from evalkit.offline import splits
from evalkit.online import logs
from evalkit.online.logs import distinct
from evalkit.parameters import Classification, Interleaving, Parameters, Ranking, Rating, Significance, Validation
from evalkit.reading.inputs import aligned, folds, lists, outcomes, rows, runs, unit_kinds
from evalkit.reading.inputs.aligned import Aligned, Layout
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.inputs.rows import Ranked
from evalkit.reading.inputs.unit_columns import Cells
from evalkit.reading.inputs.unit_roles import Columns
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Part

# The headers alone ----------------------------------------------------------------------------------------------------


@sources.naming_files
def check_headers(p: Parameters) -> None:
    """Raise InputError for all columns of an input that are missing or unclear, ParameterError for those named."""
    CHECKS[type(p)](p)


def _ranking_columns(p: Ranking) -> None:
    for part in sources.headers(p.items, p.header):
        lists.plan_stock(part, p.columns)
    shared = lists.other_columns(p.columns)
    _ranked_columns(p.preds, p.qrels, p.queries, p.header, columns=shared, systems=p.systems, attributes=attributes(p))


def _ranked_columns(preds: Any, qrels: Any, queries: Any, header: str | None, **chosen: Any) -> None:
    """The columns of ranked lists, of their judgements and of their queries; none if a file of them has no header."""
    run, judged, table = (sources.headers(tables, header) for tables in (preds, qrels, queries))
    if not run or (qrels is not None and not judged) or (queries is not None and not table):
        return
    ranked = Ranked.of(run, judged or None, queries=table or None, **chosen)
    for parts, plan in ((run, ranked.plan_run), (judged, ranked.plan_judgements), (table, ranked.plan_queries)):
        for part in parts:
            plan(part)


def _classification_columns(p: Classification) -> None:
    if parts := sources.headers(p.preds, p.header):
        asked: dict[str, Any] = {"kind": p.kind, "columns": p.columns, "systems": p.systems}
        _ = Predicted.of(parts, **asked, attributes=attributes(p)).layouts


def _rating_columns(p: Rating) -> None:
    chosen: dict[str, Any] = {"chosen": p.columns, "systems": p.systems, "attributes": attributes(p)}
    if parts := sources.headers(p.preds, p.header):
        aligned.layouts(parts, partial(aligned.layout_of, roles=outcomes.FORECASTS, **chosen))


def _significance_columns(p: Significance) -> None:
    parts = sources.headers(p.preds, p.header)
    if not parts or unit_kinds.is_output(parts[0]):
        return
    if parts[0].layout is not None or unit_kinds.Header(parts[0], p.columns, p.systems).is_ranking:
        unit = [p.unit] if p.unit else []
        _ranked_columns(p.preds, p.qrels, None, p.header, columns=p.columns, systems=p.systems, attributes=unit)
    else:
        unit_kinds.check_named(parts, p.columns, p.unit)


def _validation_columns(p: Validation) -> None:
    use = folds.Use(p.columns, p.target, p.categorical, p.ignore, p.selected)
    if parts := sources.headers(p.features, p.header):
        folds.columns_of(parts, use)
    if p.features is None and (parts := sources.headers(p.preds, p.header)):
        aligned.layouts(parts, partial(folds.layout_of, chosen=p.columns))


def _interleaving_columns(p: Interleaving) -> None:
    sessions, users = (sources.headers(tables, p.header) for tables in (p.log, p.users))
    if (sessions or p.log is None) and (users or p.users is None) and (sessions or users):
        logs.check_segments(p.segments, logs.column_names([*sessions, *users]))
    logs.log_fields(sessions, p.columns, p.segments)
    own = [name for name in p.segments if name in logs.column_names(users)]
    logs.user_fields(
        users, p.columns, logs.numbers_of(filter(lookup.of_catalogue, p.metrics), p.before), distinct(own, (p.strata,))
    )


def attributes(p: Ranking | Classification | Rating) -> list[str]:
    """The columns that segments and unit name, each once."""
    return distinct(p.segments, (p.unit,))


CHECKS: Mapping[type[Parameters], Callable[[Any], None]] = {
    Classification: _classification_columns,
    Interleaving: _interleaving_columns,
    Ranking: _ranking_columns,
    Rating: _rating_columns,
    Significance: _significance_columns,
    Validation: _validation_columns,
}


# The rows of small inputs ---------------------------------------------------------------------------------------------


SMALL = 300_000  # rows that are read in about a second


@dataclass(frozen=True)
class Inspection:
    """An input as a report reads it. columns: role -> column. size: how many units, "" where rows were not read."""

    what: str
    columns: Mapping[str, str]
    systems: Sequence[str] = ()
    size: str = ""

    def others(self, names: Sequence[str]) -> list[str]:
        """The columns that have no role: they can be segments, or the unit."""
        used = {name for columns in self.columns.values() for name in columns.split(", ")}
        return [name for name in names if name not in used]


@sources.naming_files
def inspect(p: Parameters) -> Inspection:
    """What the report of these parameters makes of its input. Raises InputError for what it refuses."""
    check_headers(p)
    if isinstance(p, parameters.Interleaving) and p.users is not None and p.log is None:
        return _users(p, list(sources.parts(p.users, p.header)))
    data = p.log if isinstance(p, parameters.Interleaving) else p.preds  # type: ignore[attr-defined]
    return KINDS[type(p)](p, sources.parts(data, p.header))  # type: ignore[attr-defined]


def parameter_of(p: Parameters, columns: Sequence[str]) -> str:
    """The parameter that takes a table of these columns: preds; of interleaving log, or users.

    It has users if it has arms and no teams, or if metrics of users are named.
    """
    if not isinstance(p, parameters.Interleaving):
        return "preds"
    roles = {*p.columns, *roles_of.match(columns, ("team", "arm"), {}, "").resolved()}
    return "users" if p.metrics or ("arm" in roles and "team" not in roles) else "log"


def small(parts: Sequence[Part]) -> bool:
    """Whether the rows can be read too."""
    return sum(part.rows for part in parts) <= SMALL


def _ranking(p: parameters.Ranking, parts: Sequence[Part]) -> Inspection:
    judged, queries = (None if data is None else sources.parts(data, p.header) for data in (p.qrels, p.queries))
    ranked = Ranked.of(
        parts,
        judged,
        queries=queries,
        columns=lists.other_columns(p.columns),
        systems=p.systems,
        attributes=attributes(p),
        unit=p.unit,
        ranks=p.ranks,
    )
    plans = [ranked.plan_run(part) for part in parts]
    columns = rows.printed(parts[0], plans[0])
    if small(parts):
        read = runs.of(ranked)
        return Inspection("ranked lists", columns, read.systems, counted(len(read.query), "query"))
    named = [name for name in plans[0].scores if name is not None]
    return Inspection("ranked lists", columns, named or rows.names(parts))


def _classification(p: parameters.Classification, parts: Sequence[Part]) -> Inspection:
    predicted = Predicted.of(
        parts,
        kind=p.kind,
        positive=p.positive,
        columns=p.columns,
        systems=p.systems,
        attributes=attributes(p),
    )
    what = f"{predicted.kind} outcomes"
    return _of_rows(what, predicted.layouts[0], predicted.read().rows if small(parts) else None)


def _rating(p: parameters.Rating, parts: Sequence[Part]) -> Inspection:
    beside = attributes(p)
    layout = aligned.layout_of(parts[0], outcomes.FORECASTS, p.columns, p.systems, beside)
    read = (
        outcomes.read_ratings(parts, columns=p.columns, systems=p.systems, attributes=beside).rows
        if small(parts)
        else None
    )
    return _of_rows("actual values and forecasts", layout, read)


def _of_rows(what: str, layout: Layout, read: Aligned | None) -> Inspection:
    columns = aligned.printed(layout)
    if read is not None:
        return Inspection(what, columns, read.systems, counted(len(read), "row"))
    return Inspection(what, columns, [name for name in layout.own if name is not None])


def _significance(p: parameters.Significance, parts: Sequence[Part]) -> Inspection:
    if not small(parts):
        return Inspection("a table of results or of predictions", {})
    from evalkit.studies import significance  # which no check of headers needs

    cells = Cells.held(parts)
    kind = unit_kinds.kind(parts, p.columns, p.systems, cells)
    what = significance.KINDS[kind]
    significance.check(kind, parts, p)
    if kind == "trials" or (kind == "ranking" and p.qrels is None and parts[0].layout is not None):
        return Inspection(what, {})
    values = significance.values_of(kind, cells, p, USUAL.reading).values
    return Inspection(what, values.columns, values.systems, counted(len(values), "unit"))


def _validation(p: parameters.Validation, parts: Sequence[Part]) -> Inspection:
    layout = folds.layout_of(parts[0], p.columns)
    if not small(parts):
        return Inspection("out-of-fold predictions", aligned.printed(layout))
    read = folds.predictions(parts, columns=p.columns, kind=p.task)
    assert read.fold is not None
    splits.read(read.fold, read.repeat)
    return Inspection("out-of-fold predictions", read.columns, list(read.score), counted(len(read), "row"))


def _interleaving(p: parameters.Interleaving, parts: Sequence[Part]) -> Inspection:
    fields = logs.log_fields(parts, p.columns, p.segments)[0]
    columns = {role: field.column for role, field in fields.items()}
    if not small(parts):
        return Inspection("interleaved sessions", columns)
    asked: dict[str, Any] = {"columns": p.columns, "arms": p.arms, "neutral": p.neutral, "segments": p.segments}
    read = logs.read_log(parts, most=USUAL.held, **asked)
    items = counted(int(read.kept.shown.sum()), "item")
    return Inspection("interleaved sessions", read.columns, read.kept.arms, items)


def _users(p: parameters.Interleaving, parts: list[Part]) -> Inspection:
    from evalkit.studies import experiment

    what = "a table of users (users=)"
    if not small(parts):
        experiment.check_metrics(parts, p)
        return Inspection(what, {})
    if not p.metrics:
        numbers = [column.name for column in Columns.of(Cells.held(parts)).numbers if not column.no_value]
        what += f", which metrics= must name to compare: {', '.join(numbers)}"
        p = replace(p, metrics=tuple(numbers))
    experiment.check_metrics(parts, p)
    table = experiment.users(parts, p, p.segments, USUAL.held)
    return Inspection(what, table.columns, table.assigned.arms, counted(len(table.assigned.arm), "user"))


KINDS: Mapping[type[Parameters], Callable[[Any, Sequence[Part]], Inspection]] = {
    parameters.Classification: _classification,
    parameters.Interleaving: _interleaving,
    parameters.Ranking: _ranking,
    parameters.Rating: _rating,
    parameters.Significance: _significance,
    parameters.Validation: _validation,
}

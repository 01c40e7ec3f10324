"""The columns of a report's inputs, checked by the headers alone: before a kernel starts, and without reading a row.

What only rows can say is left to the report, and so is a bundled sample.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from evalkit.catalogue import lookup
from evalkit.online import logs
from evalkit.online.logs import distinct
from evalkit.parameters import Classification, Interleaving, Parameters, Ranking, Rating, Significance, Validation
from evalkit.reading.inputs import aligned, folds, lists, outcomes, unit_kinds
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.inputs.rows import Ranked
from evalkit.reading.tables import sources


@sources.naming_files
def check(p: Parameters) -> None:
    """Raise InputError for all columns of an input that are missing or unclear, ParameterError for those named."""
    CHECKS[type(p)](p)


def _ranking(p: Ranking) -> None:
    for part in sources.headers(p.items, p.header):
        lists.plan_stock(part, p.columns)
    shared = lists.other_columns(p.columns)
    _ranked(p.preds, p.qrels, p.queries, p.header, columns=shared, systems=p.systems, attributes=attributes(p))


def _ranked(preds: Any, qrels: Any, queries: Any, header: str | None, **chosen: Any) -> None:
    """The columns of ranked lists, of their judgements and of their queries; none if a file of them has no header."""
    run, judged, table = (sources.headers(tables, header) for tables in (preds, qrels, queries))
    if not run or (qrels is not None and not judged) or (queries is not None and not table):
        return
    ranked = Ranked.of(run, judged or None, queries=table or None, **chosen)
    for parts, plan in ((run, ranked.plan_run), (judged, ranked.plan_judgements), (table, ranked.plan_queries)):
        for part in parts:
            plan(part)


def _classification(p: Classification) -> None:
    if parts := sources.headers(p.preds, p.header):
        asked: dict[str, Any] = {"kind": p.kind, "columns": p.columns, "systems": p.systems}
        _ = Predicted.of(parts, **asked, attributes=attributes(p)).layouts


def _rating(p: Rating) -> None:
    chosen: dict[str, Any] = {"chosen": p.columns, "systems": p.systems, "attributes": attributes(p)}
    if parts := sources.headers(p.preds, p.header):
        aligned.layouts(parts, partial(aligned.layout_of, roles=outcomes.FORECASTS, **chosen))


def _significance(p: Significance) -> None:
    parts = sources.headers(p.preds, p.header)
    if not parts or unit_kinds.is_output(parts[0]):
        return
    if parts[0].layout is not None or unit_kinds.Header(parts[0], p.columns, p.systems).is_ranking:
        unit = [p.unit] if p.unit else []
        _ranked(p.preds, p.qrels, None, p.header, columns=p.columns, systems=p.systems, attributes=unit)
    else:
        unit_kinds.check_named(parts, p.columns, p.unit)


def _validation(p: Validation) -> None:
    use = folds.Use(p.columns, p.target, p.categorical, p.ignore, p.selected)
    if parts := sources.headers(p.features, p.header):
        folds.columns_of(parts, use)
    if p.features is None and (parts := sources.headers(p.preds, p.header)):
        aligned.layouts(parts, partial(folds.layout_of, chosen=p.columns))


def _interleaving(p: Interleaving) -> None:
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
    Classification: _classification,
    Interleaving: _interleaving,
    Ranking: _ranking,
    Rating: _rating,
    Significance: _significance,
    Validation: _validation,
}

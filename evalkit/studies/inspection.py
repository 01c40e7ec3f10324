"""Inspection: how a report would read an input (roles of columns, systems, rows), or why it would
reject it.

The headers are checked before a report starts; the report checks the rows. `evalkit inspect` also
reads the rows of a small input, so that it finds invalid values, but no row of a larger one. No
metric is computed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from evalkit.arrays import InputError
from evalkit.catalogue import lookup
from evalkit.limits import USUAL
from evalkit.numbers import counted
from evalkit.offline import splits
from evalkit.online import logs
from evalkit.parameters import reports
from evalkit.parameters.kinds import written
from evalkit.reading.inputs import aligned, folds, lists, outcomes, rows, runs, unit_roles
from evalkit.reading.inputs.forecasts import ForecastTable
from evalkit.reading.inputs.rows import ListOptions, RankingInput
from evalkit.reading.matching import commands, proposal
from evalkit.reading.matching.quantile_rows import with_row_per_forecast
from evalkit.reading.reductions import unit_kinds
from evalkit.reading.reductions.unit_readers import Trials
from evalkit.reading.tables import sources
from evalkit.reading.tables.columns import MissingColumn
from evalkit.reading.tables.parts import InputPart

SMALL = 300_000  # rows that are read in about a second


@dataclass(frozen=True)
class Inspection:
    """How a report reads an input. columns: role -> column. size: the number of units, "" if rows
    were not read.
    """

    what: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    systems: Sequence[str] = ()
    size: str = ""

    def others(self, names: Sequence[str]) -> list[str]:
        """The columns without a role: they can be used as segments or as the unit."""
        used = {name for columns in self.columns.values() for name in columns.split(", ")}
        return [name for name in names if name not in used]


@commands.advising
def check_headers(p: reports.Parameters) -> None:
    """Raise InputError for all columns that are missing or ambiguous, ParameterError for those that
    parameters name.
    """
    KINDS[type(p)](p, sources.headers)


@commands.advising
def inspect(p: reports.Parameters) -> Inspection:
    """How the report reads its input. Raises InputError if it rejects it."""
    return KINDS[type(p)](p, sources.parts)


def described(found: Inspection, files: Sequence[str]) -> str:
    """What a report makes of the files, in one line."""
    columns = sources.parts([*files])[0].columns
    others = found.others(columns) if found.columns else []
    sentences = [f"{found.what}, {found.size or 'values not read'}"]
    if found.columns:
        pairs = [
            role if role == column else f"{role} = {column}"
            for role, column in found.columns.items()
        ]
        sentences.append(f"columns {', '.join(pairs)}")
    sentences += [f"systems {', '.join(found.systems)}"] if found.systems else []
    sentences += [f"for unit and segments {', '.join(others)}"] if others else []
    return "; ".join(sentences)


# The reports, those first whose input is the most special.
BY_CLOSENESS = (*proposal.REPORTS, "significance")


@dataclass(frozen=True)
class Reading:
    """How a report reads files: the command, and what it makes of them, or why it refuses them.

    choice: what the command must say because several columns, or both labels, fit equally. labels:
    of two, which of them is positive must be said. systems: columns of which it must be said that
    they are systems. neutral: the word of which it must be said that it is no team. is_of_value: a
    value is refused, not a column.
    """

    report: str
    command: str
    inspection: Inspection | None
    refusal: str = ""
    choice: Mapping[str, str] = field(default_factory=dict)
    labels: Sequence[str] = ()
    systems: Sequence[str] = ()
    neutral: str = ""
    is_of_value: bool = False


@dataclass(frozen=True)
class Inspected:
    """Files to be read as one input, with the parameters that were given.

    parameters: as reports take them; text: as the command line takes them.
    """

    files: Sequence[str]
    parameters: Mapping[str, Any]
    text: Mapping[str, str]

    @cached_property
    def part(self) -> InputPart:
        """The first part of the files."""
        return sources.parts([*self.files])[0]

    def reading(self, report: str, choice: Mapping[str, str]) -> Reading:
        """How a report reads the files."""
        kind = reports.REPORTS[report]
        parameters = {**choice, **self.parameters}
        known = {name: value for name, value in parameters.items() if name in kind.options()}
        command = commands.command(report, self.files, {**choice, **self.text})
        try:
            if len(known) < len(parameters):
                kind.from_raw(parameters)
            found = inspect(kind.from_raw({"preds": [*self.files], **known}))
        except outcomes.UnclearPositive as error:
            return Reading(
                report, command, None, str(error), choice, error.labels, is_of_value=True
            )
        except MissingColumn as error:
            return Reading(report, command, None, error.reasons, choice)
        except logs.UnclearNeutral as error:
            return Reading(report, command, None, str(error), choice, neutral=error.neutral)
        except unit_roles.UnclearSystems as error:
            return Reading(report, command, None, str(error), choice, systems=error.systems)
        except InputError as error:
            return Reading(report, command, None, str(error), choice, is_of_value=True)
        return Reading(report, command, found, choice=choice)


def readings(
    files: Sequence[str],
    names: Sequence[str],
    parameters: Mapping[str, Any],
    text: Mapping[str, str],
) -> list[Reading]:
    """How these reports read files: the closest first, those that refuse them last.

    Where columns fit equally, there is a reading for each choice among them; a table of values per
    unit is what remains. If the columns fit a report and a value does not, no other report is what
    is meant.
    """
    inspected = Inspected(files, parameters, text)
    ways = [way for way in proposal.ways(inspected.part) if way.proposal.report in names]
    wanted = [(way.proposal.report, way.choice.parameters) for way in ways]
    clear = [report for report, choice in wanted if not choice]
    wanted += [(name, {}) for name in BY_CLOSENESS if name in names and name not in clear]
    found = [inspected.reading(report, choice) for report, choice in wanted]
    for undecided in [one for one in found if one.labels]:
        choice = undecided.choice
        found += [
            inspected.reading(undecided.report, {**choice, "positive": written(label)})
            for label in proposal.likeliest_first(inspected.part, choice, undecided.labels)
        ]
    for undecided in [one for one in found if one.systems]:
        found.append(inspected.reading(undecided.report, {"systems": written(undecided.systems)}))
    for undecided in [one for one in found if one.neutral]:
        found.append(inspected.reading(undecided.report, {"neutral": undecided.neutral}))
    closest = next((one for one in found[:1] if one.report in clear and one.is_of_value), None)
    if closest is not None:
        found = [one for one in found if one.report == closest.report]
    # columns that may be predictions, in which a value is refused, are no values per unit
    if any(one.choice and one.is_of_value and not one.labels for one in found):
        found = [one for one in found if one.report != "significance"]
        return sorted(found, key=_order)
    chosen = [one for one in found if one.inspection or not one.choice]
    return sorted(chosen, key=_order)


def _order(reading: Reading) -> int:
    """The place of a reading among others: read as it is, by a choice, as values, not at all."""
    if reading.inspection is None:
        return 3
    if reading.report == "significance":
        return 2
    return 1 if reading.choice else 0


def small(parts: Sequence[InputPart]) -> bool:
    """True if the input is small enough to read its rows too."""
    return sum(part.rows for part in parts) <= SMALL


# Each report: its columns, and where all of a small input is opened its rows ----------------------

Opened = Callable[
    [Any, str | None], list[InputPart]
]  # the parts of a parameter, or none where a header does not tell them


def _opened(p: Any, of: Opened, *names: str) -> list[list[InputPart]]:
    """The parts of each of these parameters."""
    return [[] if getattr(p, name) is None else of(getattr(p, name), p.header) for name in names]


def _read(of: Opened, parts: Sequence[InputPart]) -> bool:
    return of is sources.parts and small(parts)


def _ranking(p: reports.RankingParameters, of: Opened) -> Inspection:
    items, run, judged, queries = _opened(p, of, "items", "preds", "qrels", "queries")
    for part in items:
        lists.plan_stock(part, p.columns)
    if not run or (p.qrels is not None and not judged) or (p.queries is not None and not queries):
        return Inspection()
    ranked = RankingInput(
        run,
        judged or None,
        queries or None,
        ListOptions.from_parameters(p, columns=lists.other_columns(p.columns)),
    )
    first = ranked.list_parts[0]
    if _read(of, run):
        read = runs.rankings_of(ranked)
        return Inspection(
            "ranked lists", first.printed_columns, read.systems, counted(len(read.query), "query")
        )
    named = [name for name in first.scores if name is not None]
    return Inspection("ranked lists", first.printed_columns, named or rows.names_of_systems(run))


def _classification(p: reports.ClassificationParameters, of: Opened) -> Inspection:
    if not (parts := _opened(p, of, "preds")[0]):
        return Inspection()
    predicted = outcomes.OutcomeTable(
        parts,
        requested_kind=p.kind,
        positive=p.positive,
        columns=p.columns,
        systems=p.systems,
        attributes=reports.attributes((*p.segments, *p.groups), p.unit),
        groups=p.groups,
    )
    what = f"{predicted.kind} outcomes"
    return _of_rows(what, predicted.layouts[0], predicted.read().rows if _read(of, parts) else None)


def _rating(p: reports.RatingParameters, of: Opened) -> Inspection:
    if p.preds is None or not (parts := of(p.preds, p.header)):
        return Inspection()
    attributes = reports.attributes(p.segments, p.unit)
    given = ForecastTable(
        with_row_per_forecast(parts, p.columns, USUAL.reading),
        outcomes.FORECASTS,
        p.columns,
        systems=p.systems,
        attributes=attributes,
        interval_level=p.interval_level,
    )
    what = "actual values and forecasts"
    layout = given.layouts[0]
    return _of_rows(
        what, layout, outcomes.forecasts_of(given.rows()).rows if _read(of, parts) else None
    )


def _of_rows(what: str, layout: aligned.ColumnLayout, read: aligned.Aligned | None) -> Inspection:
    columns = layout.printed_columns
    if read is not None:
        return Inspection(what, columns, read.systems, counted(len(read), "row"))
    return Inspection(what, columns, [*layout.systems])


def _significance(p: reports.SignificanceParameters, of: Opened) -> Inspection:
    parts, judged = _opened(p, of, "preds", "qrels")
    if not parts:
        return Inspection()
    listed = parts[0].layout is not None  # TREC's, of ranked lists
    output = unit_kinds.is_output(parts[0])
    if listed or (unit_kinds.is_ranking(parts[0], p.columns) and not output):
        if judged or (p.qrels is None and not listed):
            _ = RankingInput(
                parts, judged or None, options=ListOptions.from_parameters(p)
            ).list_parts
    elif not output:
        unit_kinds.check_named(parts, p.columns, p.unit)
    if not _read(of, parts):
        return Inspection("a table of results or of predictions")
    given = unit_kinds.UnitInput.of(parts, p)
    if listed and p.qrels is None:
        return Inspection(given.kind.what)
    if given.name == "ranking":
        from evalkit.studies import significance  # which nothing else here needs

        values: Any = significance.of_lists(parts, p)[0]
    else:
        values = given.values(USUAL.reading)[0]
    if isinstance(values, Trials):
        return Inspection(given.kind.what)
    return Inspection(given.kind.what, values.columns, values.systems, counted(len(values), "unit"))


def _validation(p: reports.ValidationParameters, of: Opened) -> Inspection:
    features, parts = _opened(p, of, "features", "preds")
    if features:
        folds.columns_of(features, p)
    if p.features is not None or not parts:
        return Inspection("a table to fit on")
    layout = folds.layouts_of(parts, p)[0]
    if not _read(of, parts):
        return Inspection("out-of-fold predictions", layout.printed_columns)
    read = folds.predictions(parts, p)
    assert read.fold is not None
    splits.read(read.fold, read.repeat)
    return Inspection(
        "out-of-fold predictions", read.columns, list(read.score), counted(len(read), "row")
    )


def _interleaving(p: reports.InterleavingParameters, of: Opened) -> Inspection:
    if p.preds is not None:
        if not (parts := of(p.preds, p.header)):
            return Inspection()
        p = logs.with_input_named(p, parts)
    sessions, users = _opened(p, of, "log", "users")
    if (sessions or p.log is None) and (users or p.users is None) and (sessions or users):
        logs.check_segments(p.segments, logs.column_names([*sessions, *users]))
    fields = logs.log_fields(sessions, p.columns, p.segments)
    own = [name for name in p.segments if name in logs.column_names(users)]
    numbers = logs.number_columns(filter(lookup.is_in_catalogue, p.metrics), p.before)
    logs.user_fields(users, p.columns, numbers, logs.distinct(own, (p.strata,)))
    if of is sources.parts and not sessions:
        return _users(p, users)
    if not _read(of, sessions):
        return Inspection(
            "interleaved sessions",
            {role: each.column for of in fields[:1] for role, each in of.items()},
        )
    read = logs.read_log(sessions, p, segments=p.segments, most=USUAL.held)
    items = counted(int(read.sessions.item_counts.sum()), "item")
    return Inspection("interleaved sessions", read.columns, read.sessions.arms, items)


def _users(p: reports.InterleavingParameters, parts: list[InputPart]) -> Inspection:
    from evalkit.studies import experiment

    what = "a table of users (users=)"
    metrics = experiment.metrics_of(parts, p)
    if not small(parts):
        return Inspection(what)
    if not p.metrics:
        what += f", of which metrics= names what to compare: {', '.join(metrics)}"
        p = replace(p, metrics=metrics)
    table = experiment.users(parts, p, p.segments, USUAL.held)
    return Inspection(
        what, table.columns, table.assignment.arms, counted(len(table.assignment.arm), "user")
    )


KINDS: Mapping[type[reports.Parameters], Callable[[Any, Opened], Inspection]] = {
    reports.ClassificationParameters: _classification,
    reports.InterleavingParameters: _interleaving,
    reports.RankingParameters: _ranking,
    reports.RatingParameters: _rating,
    reports.SignificanceParameters: _significance,
    reports.ValidationParameters: _validation,
}

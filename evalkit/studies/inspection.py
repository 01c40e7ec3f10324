"""Inspection: how a report would read an input (roles of columns, systems, rows), or why it would
reject it.

The headers are checked before a report starts; the report checks the rows. `evalkit inspect` also
reads the rows of a small input, so that it finds invalid values, but no row of a larger one. No
metric is computed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from evalkit.arrays import InputError
from evalkit.catalogue import lookup
from evalkit.limits import USUAL_LIMITS
from evalkit.numbers import count_with_noun
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
from evalkit.reading.reductions.units import UnitValues
from evalkit.reading.tables import sources
from evalkit.reading.tables.columns import MissingColumn
from evalkit.reading.tables.parts import InputPart

SMALL = 300_000  # rows that are read in about a second


@dataclass(frozen=True)
class Inspection:
    """How a report reads an input; empty if only headers were to be read and the input has none.

    what: a kind of table, as text. columns: role -> column, or several with commas. size: the
    number of units as text; "" if rows were not read.
    """

    what: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    systems: Sequence[str] = ()
    size: str = ""

    def unused_columns(self, names: Sequence[str]) -> list[str]:
        """Those of these columns that have no role: they can be used as segments or as the unit."""
        columns_in_use = set[str]()
        for columns in self.columns.values():
            columns_in_use.update(columns.split(", "))
        return [name for name in names if name not in columns_in_use]


@commands.advise_on_errors
def check_headers(p: reports.Parameters) -> None:
    """Raise InputError for all columns that are missing or ambiguous, ParameterError for those that
    parameters name.
    """
    KINDS[type(p)](p, sources.headers)


@commands.advise_on_errors
def inspect(p: reports.Parameters) -> Inspection:
    """How the report reads its input. Raises InputError if it rejects it."""
    return KINDS[type(p)](p, sources.parts)


def described(inspection: Inspection, files: Sequence[str]) -> str:
    """What a report makes of the files, in one line: the kind of table, the roles of columns, the
    systems, and the columns without a role, which the user can name as unit or segments.
    """
    sentences = [f"{inspection.what}, {inspection.size or 'values not read'}"]
    unused = list[str]()
    if inspection.columns:
        roles = []
        for role, column in inspection.columns.items():
            role_and_column = role if role == column else f"{role} = {column}"
            roles.append(role_and_column)
        sentences.append(f"columns {', '.join(roles)}")
        first_part = sources.parts(list(files))[0]
        unused = inspection.unused_columns(first_part.columns)
    if inspection.systems:
        sentences.append(f"systems {', '.join(inspection.systems)}")
    if unused:
        sentences.append(f"for unit and segments {', '.join(unused)}")
    return "; ".join(sentences)


# the reports, those first whose input is the most special
BY_CLOSENESS = (*proposal.REPORTS, "significance")


@dataclass(frozen=True)
class ReportReading:
    """How a report reads files: the command, and what it makes of them, or why it refuses them.

    choice: the parameters, as the command line takes them, that settle which of several equally
    fitting columns or labels are read; empty if nothing had to be chosen. refusal: the error's
    message, "" if the files are read.

    A refused reading may tell what the user has to decide. labels: both labels, one of which is the
    positive class. systems: columns that are systems if the user says so. neutral: a word that
    means "no team" if the user says so. Each is empty if there is nothing to decide. refuses_value:
    True if a value is refused, so that the columns fit.
    """

    report: str
    command: str
    inspection: Inspection | None
    refusal: str = ""
    choice: Mapping[str, str] = field(default_factory=dict)
    labels: Sequence[str] = ()
    systems: Sequence[str] = ()
    neutral: str = ""
    refuses_value: bool = False


@dataclass(frozen=True)
class Inspected:
    """Files to be read as one input, with the parameters that were given.

    parameters: as reports take them; text: as the command line takes them.
    """

    files: Sequence[str]
    parameters: Mapping[str, Any]
    text: Mapping[str, str]

    @cached_property
    def first_part(self) -> InputPart:
        """The first part of the files."""
        return sources.parts(list(self.files))[0]

    def reading(self, report: str, choice: Mapping[str, str]) -> ReportReading:
        """How a report reads the files, or why it refuses them. A parameter that the report does
        not have is a reason to refuse, too.

        choice: parameters to try in addition to those that the user gave, such as columns; where
        the user gave the same parameter, the user's value counts.
        """
        parameters_class = reports.REPORTS[report]
        parameters = {**choice, **self.parameters}
        options = parameters_class.options()
        applicable = {name: value for name, value in parameters.items() if name in options}
        command = commands.command(report, self.files, {**choice, **self.text})
        refused = ReportReading(report, command, inspection=None, choice=choice)
        try:
            if len(applicable) < len(parameters):
                # raises an error that names the parameters that the report does not have
                parameters_class.from_raw(parameters)
            raw = {"preds": list(self.files)} | applicable
            inspection = inspect(parameters_class.from_raw(raw))
        except outcomes.UnclearPositive as error:  # raised only if the columns fit
            return replace(refused, refusal=str(error), labels=error.labels, refuses_value=True)
        except MissingColumn as error:
            return replace(refused, refusal=error.reasons)
        except logs.UnclearNeutral as error:
            return replace(refused, refusal=str(error), neutral=error.neutral)
        except unit_roles.UnclearSystems as error:
            return replace(refused, refusal=str(error), systems=error.systems)
        except InputError as error:
            return replace(refused, refusal=str(error), refuses_value=True)
        return ReportReading(report, command, inspection, choice=choice)


def readings(
    files: Sequence[str],
    names: Sequence[str],
    parameters: Mapping[str, Any],
    text: Mapping[str, str],
) -> list[ReportReading]:
    """How reports read files: the closest first, those that refuse them last. Where several columns
    fit equally, there is a reading for each choice among them.

    names: the reports to try. parameters, text: the parameters that the user gave, as reports and
    as the command line take them.
    """
    inspected = Inspected(files, parameters, text)
    fitting_reports = set[str]()  # whose columns the files have, without a choice between several
    readings = []
    # each way is a report whose columns the files have, and a choice where several columns fit a
    # role equally well: parameters that name the chosen ones, empty if there is nothing to choose
    for way in proposal.reading_ways(inspected.first_part):
        report = way.proposal.report
        if report in names:
            choice = way.choice.parameters
            readings.append(inspected.reading(report, choice))
            if not choice:
                fitting_reports.add(report)
    # Every other report is tried without a choice, too: the user's parameters may have made it, and
    # if not, the message of the refusal says which columns fit.
    for report in BY_CLOSENESS:
        if report in names and report not in fitting_reports:
            readings.append(inspected.reading(report, {}))
    readings += _with_undecided(inspected, readings)
    return sorted(_plausible(readings, fitting_reports), key=_order)


def _plausible(
    readings: list[ReportReading], fitting_reports: Collection[str]
) -> list[ReportReading]:
    """The readings that the user may mean, out of those of all reports, the closest report first.

    fitting_reports: the reports whose columns the files have without a choice between several.
    """
    if readings:
        closest = readings[0]
        # All columns of the closest report are there and one of their values is invalid: the user
        # means this report, and has to mend the value.
        if closest.report in fitting_reports and closest.refuses_value:
            readings = [reading for reading in readings if reading.report == closest.report]
    for reading in readings:
        # with `labels` no value is invalid, but the user has to choose the positive class
        has_invalid_value = reading.refuses_value and not reading.labels
        if reading.choice and has_invalid_value:
            # The columns of a choice are there, too. The significance report accepts any numbers as
            # values per unit, and so would accept this table and hide its invalid value.
            return [other for other in readings if other.report != "significance"]
    # a refused choice of columns was only tried; a refusal without a choice tells what is missing
    return [reading for reading in readings if reading.inspection or not reading.choice]


def _with_undecided(inspected: Inspected, readings: Sequence[ReportReading]) -> list[ReportReading]:
    """Further readings with what the user would have to decide in the given ones: for each label
    one with this label as the positive class, the likeliest first; one with the columns that may be
    systems as the systems; one with the word that may mean "no team" as the neutral one.
    """
    with_positive_class = []
    for reading in readings:
        choice = reading.choice
        if reading.labels:
            labels = proposal.likeliest_first(inspected.first_part, choice, reading.labels)
            for label in labels:
                decided = {**choice, "positive": written(label)}
                with_positive_class.append(inspected.reading(reading.report, decided))
    further = list(with_positive_class)
    # a reading with a positive class may in turn leave the systems or the neutral word to decide
    for reading in [*readings, *with_positive_class]:
        if reading.systems:
            decided = {**reading.choice, "systems": written(reading.systems)}
            further.append(inspected.reading(reading.report, decided))
        if reading.neutral:
            decided = {**reading.choice, "neutral": reading.neutral}
            further.append(inspected.reading(reading.report, decided))
    return further


def _order(reading: ReportReading) -> int:
    """The place of a reading among others: read as it is, by a choice, as values, not at all."""
    if reading.inspection is None:
        return 3
    if reading.report == "significance":
        return 2
    return 1 if reading.choice else 0


def small(parts: Sequence[InputPart]) -> bool:
    """True if the input is small enough to read its rows too."""
    return sum(input_part.rows for input_part in parts) <= SMALL


# Each report: its columns, and where all of a small input is opened its rows ----------------------

# value of a parameter and the parameter `header` -> its parts with the names of their columns:
# `sources.headers` returns no parts where no header names the columns, `sources.parts` all parts
Opener = Callable[[Any, str | None], list[InputPart]]


def _parts_of_input(value: Any, header: str | None, opener: Opener) -> list[InputPart]:
    """The parts of an input; none if its parameter is not given. value: of this parameter."""
    return [] if value is None else opener(value, header)


def _reads_rows(opener: Opener, parts: Sequence[InputPart]) -> bool:
    """True if rows are to be read, not headers alone, and are few enough."""
    return opener is sources.parts and small(parts)


def _inspect_ranking(p: reports.RankingParameters, opener: Opener) -> Inspection:
    """How the ranking report reads its inputs: by their rows if these are read and few, else by
    their headers alone; an empty `Inspection` if headers are read and an input has none.
    """
    catalogue = _parts_of_input(p.items, p.header, opener)
    run = _parts_of_input(p.preds, p.header, opener)
    judged = _parts_of_input(p.qrels, p.header, opener)
    queries = _parts_of_input(p.queries, p.header, opener)
    for input_part in catalogue:
        lists.planned_catalogue(input_part, p.columns)  # raises for a table without its columns
    # an input that the user gave has no parts if only headers are read and it has none
    lacks_judgements = p.qrels is not None and not judged
    lacks_queries = p.queries is not None and not queries
    if not run or lacks_judgements or lacks_queries:
        return Inspection()
    options = ListOptions.from_parameters(p, columns=lists.other_columns(p.columns))
    ranked = RankingInput(run, judged or None, queries or None, options)
    first_part = ranked.list_parts[0]  # raises if a part lacks a column
    columns = first_part.printed_columns
    if _reads_rows(opener, run):
        lists_read = runs.rankings_of(ranked)
        size = count_with_noun(len(lists_read.query), "query")
        return Inspection("ranked lists", columns, systems=lists_read.systems, size=size)
    # Of a table with a column of scores per system, `scores` has the systems as keys. Otherwise its
    # only key is None, as the header names no system, and the files name them.
    systems: Sequence[str] = [name for name in first_part.scores if name is not None]
    if not systems:
        systems = rows.names_of_systems(run)
    return Inspection("ranked lists", columns, systems=systems)


def _inspect_classification(p: reports.ClassificationParameters, opener: Opener) -> Inspection:
    """How the classification report reads its input: by its rows if these are read and few, else by
    its header alone; an empty `Inspection` if headers are read and it has none.
    """
    parts = _parts_of_input(p.preds, p.header, opener)
    if not parts:
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
    if _reads_rows(opener, parts):
        return _inspection_of_rows(what, predicted.layouts[0], predicted.read().rows)
    return _inspection_of_header(what, predicted.layouts[0])


def _inspect_rating(p: reports.RatingParameters, opener: Opener) -> Inspection:
    """How the rating report reads forecasts and actual values: by their rows if these are read and
    few, else by the header alone; an empty `Inspection` if headers are read and there is none.
    """
    parts = _parts_of_input(p.preds, p.header, opener)
    if not parts:
        return Inspection()
    forecasts = ForecastTable(
        with_row_per_forecast(parts, p.columns, USUAL_LIMITS.reading),
        outcomes.FORECASTS,
        p.columns,
        systems=p.systems,
        attributes=reports.attributes(p.segments, p.unit),
        interval_level=p.interval_level,
    )
    what = "actual values and forecasts"
    layout = forecasts.layouts[0]
    if _reads_rows(opener, parts):
        return _inspection_of_rows(what, layout, outcomes.forecasts_of(forecasts.rows()).rows)
    return _inspection_of_header(what, layout)


def _inspection_of_rows(
    what: str, layout: aligned.ColumnLayout, table: aligned.Aligned
) -> Inspection:
    """The inspection of a table that was read. what: its content, in words for the user."""
    size = count_with_noun(len(table), "row")
    return Inspection(what, layout.printed_columns, systems=table.systems, size=size)


def _inspection_of_header(what: str, layout: aligned.ColumnLayout) -> Inspection:
    """The inspection of a table of which only the header was read. what: its content."""
    return Inspection(what, layout.printed_columns, systems=list(layout.systems))


def _inspect_significance(p: reports.SignificanceParameters, opener: Opener) -> Inspection:
    """How the significance report reads its inputs: by their rows if these are read and few, else
    by their headers alone; an empty `Inspection` if headers are read and the input has none.

    The input is a table of results or of predictions, or ranked lists, whose values per query are
    computed with their judgements (`qrels`).
    """
    parts = _parts_of_input(p.preds, p.header, opener)
    judged = _parts_of_input(p.qrels, p.header, opener)
    if not parts:
        return Inspection()
    _check_significance_columns(p, parts, judged)
    if not _reads_rows(opener, parts):  # only rows tell results from predictions
        return Inspection("a table of results or of predictions")
    unit_input = unit_kinds.UnitInput.from_parts(parts, p)
    what = unit_input.kind.what
    is_trec_run = parts[0].trec_layout is not None
    if is_trec_run and p.qrels is None:  # without grades no values can be computed
        return Inspection(what)
    if unit_input.name == "ranking":
        from evalkit.studies import significance  # which nothing else here needs

        values: UnitValues | Trials = significance.values_of_lists(parts, p).data
    else:
        values, _ = unit_input.values(USUAL_LIMITS.reading)
    if isinstance(values, Trials):  # totals of systems: there are no units to count
        return Inspection(what)
    size = count_with_noun(len(values), "unit")
    return Inspection(what, values.columns, systems=values.systems, size=size)


def _check_significance_columns(
    p: reports.SignificanceParameters, parts: list[InputPart], judged: list[InputPart]
) -> None:
    """Raise InputError if ranked lists lack a column, ParameterError if a table lacks one that the
    user names. parts, judged: those of the input and of its judgements, which may be empty.
    """
    is_trec_run = parts[0].trec_layout is not None  # ranked lists in TREC's format
    is_trec_output = unit_kinds.is_output(parts[0])  # values per query, in fixed columns
    has_ranked_items = not is_trec_run and unit_kinds.is_ranking(parts[0], p.columns)
    if is_trec_run or (has_ranked_items and not is_trec_output):
        # without `qrels` a table of lists may have a column of grades; a run has no such column
        has_judgements = bool(judged) or (p.qrels is None and not is_trec_run)
        if has_judgements:
            options = ListOptions.from_parameters(p)
            # the property is read only because it raises if a column is missing
            _ = RankingInput(parts, judged or None, options=options).list_parts
    elif not is_trec_output:
        unit_kinds.check_named(parts, p.columns, p.unit)


def _inspect_validation(p: reports.ValidationParameters, opener: Opener) -> Inspection:
    """How the validation report reads its input: a table of features to fit estimators on, of which
    only the columns are checked, or, without such a table, out-of-fold predictions. The rows of
    predictions are read if the opener reads rows and they are few.
    """
    features = _parts_of_input(p.features, p.header, opener)
    predictions = _parts_of_input(p.preds, p.header, opener)
    if features:
        folds.columns_of(features, p)  # raises for a column that the table lacks
    has_predictions_alone = p.features is None and bool(predictions)
    if not has_predictions_alone:
        return Inspection("a table to fit on")
    what = "out-of-fold predictions"
    layout = folds.layouts_of(predictions, p)[0]
    if not _reads_rows(opener, predictions):
        return Inspection(what, layout.printed_columns)
    examples = folds.predictions(predictions, p)
    assert examples.fold is not None
    splits.read(examples.fold, examples.repeat)  # raises if the names tell no test set
    size = count_with_noun(len(examples), "row")
    return Inspection(what, examples.columns, systems=list(examples.score), size=size)


def _inspect_interleaving(p: reports.InterleavingParameters, opener: Opener) -> Inspection:
    """How the interleaving report reads its log of sessions, or without one its table of users: by
    the rows if these are read and few, else by the header alone; an empty `Inspection` if only
    headers are read and `preds` has none. If both inputs are given, the log is described.
    """
    if p.preds is not None:
        parts = _parts_of_input(p.preds, p.header, opener)
        if not parts:
            return Inspection()
        p = logs.with_input_named(p, parts)  # `preds` becomes `log` or `users`
    log_parts = _parts_of_input(p.log, p.header, opener)
    user_parts = _parts_of_input(p.users, p.header, opener)
    _check_online_columns(p, log_parts, user_parts)
    # A log that is opened with its rows has parts, so that without parts there is only a table of
    # users. If only headers are opened, a log without a header has no parts, either.
    if opener is sources.parts and not log_parts:
        return _inspect_users(p, user_parts)
    what = "interleaved sessions"
    if _reads_rows(opener, log_parts):
        log = logs.read_log(log_parts, p, segments=p.segments, max_sessions=USUAL_LIMITS.held)
        items = count_with_noun(int(log.sessions.item_counts.sum()), "item")
        return Inspection(what, log.columns, systems=log.sessions.arms, size=items)
    columns = {}
    if log_parts:
        fields_of_first_part = logs.log_fields(log_parts, p.columns, p.segments)[0]
        columns = {role: field.column for role, field in fields_of_first_part.items()}
    return Inspection(what, columns)


def _check_online_columns(
    p: reports.InterleavingParameters, log_parts: list[InputPart], user_parts: list[InputPart]
) -> None:
    """Raise InputError or ParameterError for a column that the log or the table of users lacks.

    log_parts, user_parts: empty, and not checked, for an input that the user did not give, or that
    has no header if only headers are read.
    """
    # a segment may be a column of either input: it is missing only if both headers are known
    is_log_known = bool(log_parts) or p.log is None
    are_users_known = bool(user_parts) or p.users is None
    if is_log_known and are_users_known and (log_parts or user_parts):
        logs.check_segments(p.segments, logs.column_names(chain(log_parts, user_parts)))
    # the following two functions are called because they raise; their results are not needed here
    logs.log_fields(log_parts, p.columns, p.segments)
    user_columns = logs.column_names(user_parts)
    user_segments = [name for name in p.segments if name in user_columns]
    # metrics in the catalogue are columns or ratios of two; the user's own functions are not
    metrics_of_columns = filter(lookup.is_in_catalogue, p.metrics)
    numbers = logs.number_columns(metrics_of_columns, p.before)
    logs.user_fields(user_parts, p.columns, numbers, logs.distinct(user_segments, (p.strata,)))


def _inspect_users(p: reports.InterleavingParameters, parts: list[InputPart]) -> Inspection:
    """How the interleaving report reads a table of users: by the rows if they are few.

    Without the parameter `metrics`, the columns that look like metrics are read, and `what` of the
    result names them. Raises ParameterError if no column looks like one. p: the parameters of the
    report. parts: those of the table.
    """
    from evalkit.studies import experiment

    what = "a table of users (users=)"
    metrics = experiment.metrics_of(parts, p)  # of many rows too: this reads the first ones alone
    if not small(parts):
        return Inspection(what)
    if not p.metrics:
        what += f", of which metrics= names what to compare: {', '.join(metrics)}"
        p = replace(p, metrics=metrics)
    table = experiment.users(parts, p, p.segments, USUAL_LIMITS.held)
    size = count_with_noun(len(table.assignment.arm), "user")
    return Inspection(what, table.columns, systems=table.assignment.arms, size=size)


KINDS: Mapping[type[reports.Parameters], Callable[[Any, Opener], Inspection]] = {
    reports.ClassificationParameters: _inspect_classification,
    reports.InterleavingParameters: _inspect_interleaving,
    reports.RankingParameters: _inspect_ranking,
    reports.RatingParameters: _inspect_rating,
    reports.SignificanceParameters: _inspect_significance,
    reports.ValidationParameters: _inspect_validation,
}

"""Reading a log of interleaved sessions, or a table of the users of an A/B test: every error names
file, column, row and value.

Both are summarised to one row per session or user, which is held in memory. An engine reads tables
that are larger, in blocks of rows; those of a log hold all rows of their users.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalkit.arrays import Floats, InputError, ParameterError, RowError
from evalkit.names import usual
from evalkit.online import experiments
from evalkit.online.sessions import EMPTY, Log, Sessions, refuse_missing
from evalkit.parameters.kinds import written
from evalkit.parameters.reports import InterleavingParameters
from evalkit.reading.engines.backends import InMemoryDuckDB
from evalkit.reading.engines.base import Engine, Query, checked_chunks, profile, streamed
from evalkit.reading.inputs.outcomes import refuse_missing_markers as refuse_marks
from evalkit.reading.inputs.unit_columns import VALUE_PATTERN
from evalkit.reading.matching.column_names import NAMES_BY_USE, comparable_name
from evalkit.reading.matching.proposal import Proposal, users as proposal_of_users
from evalkit.reading.matching.samples import ColumnSample, SampledTable
from evalkit.reading.reductions import blocks
from evalkit.reading.tables import columns as roles_of, rules, sources, table
from evalkit.reading.tables.parts import InputPart, Selection, Source, names
from evalkit.reading.tables.rules import LONGEST, BrokenRule, Field, Fields, Role, columns_by_type

if TYPE_CHECKING:
    import pyarrow as pa

LOG = (
    Role.declared("session", required=True),
    Role.declared("position", required=True),
    Role.declared("team", required=True),
    Role.declared("outcome", required=True),
    Role.declared("user"),
    Role.declared("item"),
)
USERS = (Role.declared("user"), Role.declared("arm", required=True))
MOST_REREAD = 100_000  # sessions with a fault that are read again to find the first faulty row
LOG_ROLES = tuple(role.name for role in LOG)
USER_ROLES = tuple(role.name for role in USERS)
ATTRIBUTE = "attribute "  # before the name of a column for segments or strata, makes its role
NUMBER = "number "  # before the name of a column of numbers, makes its role
# role -> column: texts as Arrow arrays, numbers as numpy arrays
Columns = Mapping[str, Any]


def is_of_users(input_part: InputPart, p: InterleavingParameters) -> bool:
    """True if a table holds users of an A/B test, not sessions of teams: it has no teams, and arms
    or no sessions; or metrics of users are named.
    """
    mapping = roles_of.match(input_part.columns, ("team", "session", "arm"), chosen={}, where="")
    proposal = proposal_of_users(SampledTable.from_part(input_part, chosen={}))
    roles = set(mapping.resolve()) | set(p.columns) | set(proposal.columns)
    is_log = "team" in roles or ("session" in roles and "arm" not in roles)
    return bool(p.metrics) or not is_log


def with_input_named(
    p: InterleavingParameters, parts: Sequence[InputPart]
) -> InterleavingParameters:
    """The parameters with the input `preds` renamed to `log` or to `users`, whichever its columns
    fit. If the user also gives `users`, `preds` is the log.

    parts: of the input `preds`. Raises ParameterError if the user also gives `log`.
    """
    if "log" in p.given_values:
        raise ParameterError("preds and log: give one of them")
    # `given_values`: the parameters as the user stated them, without defaults
    others = {name: value for name, value in p.given_values.items() if name != "preds"}
    if "users" not in p.given_values and is_of_users(parts[0], p):
        return replace(p, preds=None, users=list(parts), given_values={"users": p.preds} | others)
    return replace(p, preds=None, log=list(parts), given_values={"log": p.preds} | others)


# Sessions -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SessionLog:
    """A log that was read. columns: role -> column. sources: the files, with their numbers of
    rows.
    """

    sessions: Sessions
    columns: Mapping[str, str]
    sources: tuple[Source, ...]


def read_log(
    parts: Sequence[InputPart],
    p: InterleavingParameters,
    engine: Engine | None = None,
    *,
    segments: Sequence[str],
    max_sessions: int,
) -> SessionLog:
    """The sessions of a log, whose parts have one row per item shown. engine: for a log with too
    many rows to be held; None for one that fits into memory.

    Raises InputError where a column is missing, a team is missing or unknown, an arm has no row,
    the positions of a session are not 1, 2, 3, …, an outcome is no number or negative, a session
    has two users or two values of a segment; or for more than `max_sessions`.
    """
    engine = engine or InMemoryDuckDB.opened()
    fields = log_fields(parts, p.columns, segments)
    selections = _selections(parts, fields, engine)
    # a first pass over the log, which only counts: it gives the teams, and the size of the result
    team_counts = list[TeamCount]()  # of each team in each part
    rows_of_parts = list[int]()
    for selection in selections:
        counts_of_part = _count_teams(engine, selection)
        team_counts += counts_of_part
        rows_of_parts.append(sum(count.rows for count in counts_of_part))
    if sum(count.sessions for count in team_counts) > max_sessions:
        raise table.too_many_error(parts, "sessions", max_sessions)
    # without the empty team of rows that have none: they are refused later, with the row
    teams = {count.team for count in team_counts if count.team}
    # errors about arms, below, would quote a team in full
    if any(len(team.encode()) > LONGEST for team in teams):
        _check_values(engine, selections, fields)  # raises, with the row of the long name
        raise _changed(selections)  # all names are short at the second reading
    arms = _arms_of_log(parts, teams, p)
    # a second pass, which reads the rows
    block = LogBlock(fields[0], arms, p.neutral)
    sessions = _summarise(engine, selections, fields, block, rows_of_parts)
    sources_read = tuple(
        input_part.fingerprint(rows) for input_part, rows in zip(parts, rows_of_parts, strict=True)
    )
    return SessionLog(sessions, columns_by_role(fields[0]), sources_read)


def _arms_of_log(
    parts: Sequence[InputPart], teams: set[str], p: InterleavingParameters
) -> list[str]:
    """The arms of a log, as `arms_of` finds them. teams: those that occur.

    Raises InputError, with the names of the files, for what `arms_of` refuses, and for an arm that
    the user names and that is not among the teams.
    """
    try:
        arms = arms_of(teams, p.arms, p.neutral)
        has_unknown_team = not teams.issubset([*arms, p.neutral])
        if not has_unknown_team:  # else it is refused later, with its row
            refuse_missing(arms, teams)
    except UnclearNeutral as error:
        raise UnclearNeutral(f"{names(parts)}: {error}", error.neutral) from None
    except InputError as error:
        raise InputError(f"{names(parts)}: {error}") from None
    return arms


def _selections(
    parts: Sequence[InputPart], fields: Sequence[Fields], engine: Engine
) -> list[Selection]:
    """The query of the columns of each part, by role. fields: of each part, by role.

    Since the columns are queried repeatedly, the engine may store them in memory, as a frame that
    the query then reads.
    """
    frames = [f"frame{i}" for i in range(len(parts))]  # their names
    selections = []
    for input_part, part_fields, frame in zip(parts, fields, frames, strict=True):
        texts, numbers = columns_by_type(part_fields)
        selections.append(input_part.select(texts, numbers, engine.dialect, frame=frame))
    return [
        engine.cached(selection, frame) for selection, frame in zip(selections, frames, strict=True)
    ]


class TeamCount(NamedTuple):
    """The rows of a team, and how many sessions begin with it."""

    team: str
    rows: int
    sessions: int


def _count_teams(engine: Engine, selection: Selection) -> list[TeamCount]:
    """The count of each team of a part. Raises InputError for a part without rows."""
    team = engine.dialect.quote("team")
    position = engine.dialect.quote("position")
    cells = [f"{team} AS team", f"count(*) FILTER (WHERE {position} = 1) AS sessions"]
    groups = profile(engine, selection, cells, f"GROUP BY {team}")
    return [TeamCount(group["team"], group["n"], group["sessions"]) for group in groups]


def _log_of(columns: Columns, arms: Sequence[str], neutral: str | None) -> Log:
    """The rows of a log from its columns; each session is a user of its own without a column of
    users.

    columns: by role, those of `LOG`, of which user and item may be missing, and those of segments,
    whose roles begin with `ATTRIBUTE`. arms: their names. neutral: the team of items of no arm,
    None if there is none.
    """
    sessions = table.encode_sorted(columns["session"])
    users = sessions
    if "user" in columns:
        users = table.encode_sorted(columns["user"])
    item = None
    if "item" in columns:
        item = table.encode_sorted(columns["item"]).code
    return Log(
        session=sessions.code,
        names=sessions.texts,
        user=users.code,
        users=users.texts,
        team=table.coded(columns["team"]),
        position=columns["position"],
        outcome=columns["outcome"],
        arms=tuple(arms),
        neutral=neutral,
        item=item,
        attributes={
            role.removeprefix(ATTRIBUTE): table.coded(texts)
            for role, texts in columns.items()
            if role.startswith(ATTRIBUTE)
        },
    )


@dataclass(frozen=True, eq=False)
class LogBlock:
    """Summarises a block of a log, with all rows of its users, as `Engine.total` calls for it.

    fields: of the columns of the block, in their order.
    """

    fields: Fields
    arms: Sequence[str]
    neutral: str | None

    def __call__(self, rows: pa.Table, before: int = 0) -> list[Sessions | pa.Array]:
        """A list with the `Sessions` of the block as its single element; the engine adds the lists
        of all blocks up. If a row breaks a rule of the log, the element is an Arrow array instead:
        the names of the sessions with such a row.

        before: ignored, since Spark's blocks have no order. Raises BrokenRule for a value that
        breaks a rule of its column.
        """
        columns = {}
        for i, (role, field) in enumerate(self.fields.items()):
            column = rows.column(i)
            # the file is not known here: BrokenRule names none, and the log is read again for it
            checked = field.check(column.combine_chunks(), part=None)
            columns[role] = checked if field.is_number else column  # numbers as a numpy array
        log = _log_of(columns, self.arms, self.neutral)
        faulty_sessions = log.faulty_sessions()
        if len(faulty_sessions):
            return [faulty_sessions]
        return [Sessions.from_log(log)]


def _summarise(
    engine: Engine,
    selections: Sequence[Selection],
    fields: Sequence[Fields],
    block: LogBlock,
    rows: Sequence[int],
) -> Sessions:
    """The sessions of a log, read in blocks that hold all rows of a user, or of a session if the
    log has no users. Raises InputError for the first row that breaks a rule.

    selections, fields: of each part of the log. block: summarises a block. rows: how many each part
    has, for the progress bar.
    """
    query = _query_by_unit(engine, selections, roles=list(fields[0]), rows=sum(rows))
    try:
        # from each block its `Sessions`, or the names of its faulty sessions
        results = engine.total(query, block)
    except InputError as error:
        _check_values(engine, selections, fields)  # raises, with the row of a value that is wrong
        if isinstance(error, BrokenRule):  # there was a wrong value at the first reading alone
            raise _changed(selections) from None
        raise error from None  # an error about something else
    faulty_blocks = [result for result in results if not isinstance(result, Sessions)]
    faulty_sessions = list(chain.from_iterable(faulty_blocks))
    if faulty_sessions:
        raise _fault(engine, selections, fields, block, faulty_sessions)
    sessions = Sessions.concatenate(results)
    # A block has all rows of its users: a session that occurs in two blocks has two users, which
    # is a fault that no block alone can see.
    repeated = sessions.names.take(table.rows_of_repeated(sessions.names))
    if len(repeated):
        raise _fault(engine, selections, fields, block, repeated)
    for selection in selections:
        is_loaded = not selection.source  # the part was loaded first, and checked then
        if not is_loaded:
            selection.part.check(selection)  # raises for content that the query does not notice
    return sessions


def _query_by_unit(
    engine: Engine, selections: Sequence[Selection], roles: Sequence[str], rows: int
) -> Query:
    """The query of the columns of all parts, named c0, c1 … in the order of the roles. Its blocks
    hold all rows of a user, or of a session if the log has no users. rows: of all parts.
    """
    cells = ", ".join(f"{engine.dialect.quote(role)} AS c{i}" for i, role in enumerate(roles))
    # the same columns of each part
    query = Query.from_selections(selections, [cells] * len(selections))
    unit = "user" if "user" in roles else "session"
    return replace(query, group_column=f"c{roles.index(unit)}", rows=rows)


def _check_values(
    engine: Engine, selections: Sequence[Selection], fields: Sequence[Fields]
) -> None:
    """Read all columns again, in the order of the rows; raise InputError, with file and row, for
    the first value that breaks a rule of its column.
    """
    for selection, part_fields in zip(selections, fields, strict=True):
        for _ in checked_chunks(engine, selection, part_fields):
            pass


def _changed(selections: Sequence[Selection]) -> InputError:
    """The error for a log in which a fault was found, but not when it was read again."""
    return blocks.changed_input_error(names([selection.part for selection in selections]))


class RereadRows(NamedTuple):
    """Rows of one part that were read again. numbers: in the part, from 0; None if its rows have no
    order.
    """

    input_part: InputPart
    numbers: np.ndarray | None


class RereadStretch(NamedTuple):
    """Rows that were read again, and their number."""

    rows: RereadRows
    row_count: int


class RereadLog(NamedTuple):
    """The columns of some rows of a log by role, and the stretches that these rows consist of, in
    the order of the log.
    """

    columns: Columns
    stretches: Sequence[RereadStretch]


def _fault(
    engine: Engine,
    selections: Sequence[Selection],
    fields: Sequence[Fields],
    block: LogBlock,
    faulty_sessions: Iterable[object],
) -> InputError:
    """The error for the first row of a log that breaks a rule, with its file and number.

    Blocks do not keep the order of the log, so that all rows of the faulty sessions are read again
    in the order of the log. If they break no rule when read again, the log has changed meanwhile,
    and the error says this.

    selections, fields: of each part of the log. block: knows the arms. faulty_sessions: the names
    of the sessions that have a row that breaks a rule.
    """
    names_of_sessions = [str(name) for name in faulty_sessions]
    log = _reread(engine, selections, fields, names_of_sessions)
    try:
        _log_of(log.columns, block.arms, block.neutral).check()
    except RowError as error:
        # its row is counted among the rows that were read again

        def file_and_number(row: int) -> tuple[str, int]:
            """The file of a row that was read again, and its number there; 0 without an order."""
            rows, number_in_rows = table.locate(log.stretches, row)  # from 1
            if rows.numbers is None:
                return rows.input_part.name, 0
            number_from_0 = int(rows.numbers[number_in_rows - 1])
            return rows.input_part.name, number_from_0 + 1

        files = names([selection.part for selection in selections])
        return error.located(files, file_and_number, columns_by_role(fields[0]))
    return _changed(selections)


def _reread(
    engine: Engine,
    selections: Sequence[Selection],
    fields: Sequence[Fields],
    sessions: Sequence[str],
) -> RereadLog:
    """The rows of some sessions, read again; of many sessions those of the first `MOST_REREAD`.

    selections, fields: of each part of the log. sessions: their names. The engine reads a part in
    blocks; a stretch of the result is the rows of these sessions in one block. Its row numbers are
    None if the engine keeps no order.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted_sessions = pa.array(sessions, pa.string())[:MOST_REREAD]
    arrays_of_column: dict[str, list[Any]] = {role: [] for role in fields[0]}  # one per block
    stretches = list[RereadStretch]()
    for selection, part_fields in zip(selections, fields, strict=True):
        # rows_before: the number of rows of the part before the block, None without an order
        for rows_before, columns in checked_chunks(engine, selection, part_fields):
            is_wanted = pc.is_in(columns["session"], wanted_sessions)
            rows = np.flatnonzero(is_wanted.to_numpy(zero_copy_only=False))
            for role, field in part_fields.items():
                if field.is_number:  # a numpy array
                    arrays_of_column[role].append(columns[role][rows])
                else:  # an Arrow array
                    arrays_of_column[role].append(columns[role].take(pa.array(rows)))
            numbers_in_part = None if rows_before is None else rows_before + rows
            reread_rows = RereadRows(selection.part, numbers_in_part)
            stretches.append(RereadStretch(reread_rows, len(rows)))
    columns_of_log = {}
    for role, field in fields[0].items():
        concatenate = np.concatenate if field.is_number else pa.chunked_array
        columns_of_log[role] = concatenate(arrays_of_column[role])
    return RereadLog(columns_of_log, stretches)


# Users --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Users:
    """A table of the users of an A/B test that was read, arm by arm.

    user: the ids of all rows of the table, None without such a column. assignment:
    the users who are compared, and their rows. numbers, attributes: columns of these users.
    columns: role -> column. sources: the files, with their numbers of rows.
    """

    user: pa.Array | None
    assignment: experiments.Assignment
    numbers: Mapping[str, Floats]
    attributes: Mapping[str, table.Coded]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]

    @property
    def ids(self) -> np.ndarray | pa.Array:
        """The ids of the users who are compared; the numbers of their rows, from 1, if the table
        has no ids.
        """
        rows = self.assignment.rows
        if self.user is None:
            return (rows + 1).astype(str)
        return self.user.take(rows).combine_chunks()


def totals_error(input_part: InputPart, arm: str, *, has_one_row_per_arm: bool) -> InputError:
    """The error for a table that has totals of arms, such as orders and visits of each arm, in
    place of users. It names the report that reads such a table. arm: the column of arms.
    """
    # the columns that the significance report would read, by role
    roles = {"system": arm}
    for role in ("successes", "trials"):
        usual_names = NAMES_BY_USE[role]
        columns = [name for name in input_part.columns if comparable_name(name) in usual_names]
        if columns:
            roles[role] = columns[0]
    got = "one"
    totals = "for totals"
    if not has_one_row_per_arm:  # the report needs one
        got = "several totals"
        totals += f", added up to one row per {arm},"
    advice = f"{totals} use the significance report with columns={written(roles)!r}"
    return InputError(
        f"{input_part.name}: users must have one row per user, got {got} per {arm}; {advice}"
    )


def refuse_totals(input_part: InputPart, proposal: Proposal) -> None:
    """Raise InputError if the rows of a part look like totals of arms. proposal: which columns it
    has for the roles of a table of users, as found by their names and content.
    """
    has_totals = "users behind totals" in proposal.lacking_roles  # what such a table lacks
    if has_totals and "arm" in proposal.columns:
        arm = proposal.columns["arm"]
        arms = input_part.head[arm]  # of the first rows: a table of totals is short
        has_one_row_per_arm = len(set(arms)) == len(arms)
        raise totals_error(input_part, arm, has_one_row_per_arm=has_one_row_per_arm)


def read_users(
    parts: Sequence[InputPart],
    p: InterleavingParameters,
    engine: Engine | None,
    numbers: list[str],
    attributes: list[str],
    max_rows: int,
) -> Users:
    """The users of a table, with their arms.

    engine: as in `read_log`. numbers: the columns of metrics and the covariate. attributes: the
    columns of segments and strata.

    Raises InputError if a column is missing, an arm is empty or unknown, a number cannot be read,
    a user has several rows in one arm, all users of an arm are also in another one, or a stratum
    has no user in an arm; or for more than `max_rows`.
    """
    engine = engine or InMemoryDuckDB.opened()
    fields = user_fields(parts, p.columns, numbers, attributes)
    rows = streamed(engine, parts, fields, ("user",), max_rows)
    # `released` takes a column out of `rows`, so that no two copies of the table are held
    user = None
    if "user" in fields[0]:
        user = rows.released("user", table.CheckedTable.column)
    arm = rows.released("arm", table.CheckedTable.coded)
    arm_column = fields[0]["arm"].column
    has_one_row_per_arm = len(rows) == len(arm.names) > 1
    if has_one_row_per_arm:  # each row is the total of an arm, not a user
        raise totals_error(parts[0], arm_column, has_one_row_per_arm=True)
    try:
        arms = several_arms(p.arms, arm.names, arm_column)
        # who is compared: users with rows in several arms are left out
        assignment = _assign(user, arm, arms)
        number_columns = {}
        for name in numbers:
            values = rows.released(NUMBER + name, table.CheckedTable.numbers)  # of all rows
            number_columns[name] = values[assignment.rows]  # of the users who are compared
            # Only a column with negative numbers is searched for marks of missing values, such as
            # -999: a price of 99 beside zeros is no mark.
            if values.min(initial=0) < 0:
                refuse_marks(number_columns[name], rows=None, column=name, where=parts[0].name)
        attribute_columns = {}
        for name in attributes:
            texts = rows.released(ATTRIBUTE + name, table.CheckedTable.coded)
            attribute_columns[name] = texts.take(assignment.rows)
        if p.strata:
            _check_strata(p.strata, attribute_columns[p.strata], assignment)
    except InputError as error:
        # with the file, and the row if the engine keeps the order of rows
        keeps_order = engine.dialect.row_number is not None
        columns = columns_by_role(fields[0])
        raise located(error, rows.sources, columns, numbered=keeps_order) from None
    return Users(
        user,
        assignment,
        number_columns,
        attribute_columns,
        columns_by_role(fields[0]),
        rows.sources,
    )


def _assign(user: pa.Array | None, arm: table.Coded, arms: Sequence[str]) -> experiments.Assignment:
    """The users who are compared, arm by arm. Users with rows in several arms are left out.

    user: the id of each row, None if each row is a user. arm: of each row. arms: their names.
    Raises RowError for a row without user or arm, for an unknown arm, and for a user with several
    rows in one arm.
    """
    import pyarrow.compute as pc

    if user is not None:
        row_without_user = pc.index(user, "").as_py()  # −1 if there is none
        if row_without_user >= 0:
            raise RowError("user", EMPTY, row_without_user)
    if "" in arm.names:
        raise RowError("arm", EMPTY, arm.first(""))
    # the rows whose user has several, which are few: only there ids need to be compared
    repeated_rows = np.zeros(0, np.int64)
    repeated_users: list[str] = []
    if user is not None:
        repeated_rows = table.rows_of_repeated(user)
        repeated_users = user.take(repeated_rows).to_pylist()
    assignment = experiments.assigned(arm, arms, repeated_rows, repeated_users)
    by_arm = np.argsort(assignment.arm, kind="stable")
    return replace(assignment, arm=assignment.arm[by_arm], rows=assignment.rows[by_arm])


def _check_strata(name: str, strata: table.Coded, assignment: experiments.Assignment) -> None:
    """Raise InputError unless every stratum has users in every arm. name: of the column."""
    shape = (len(strata.names), len(assignment.arms))
    cell = strata.code * len(assignment.arms) + assignment.arm
    users = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    empty = np.argwhere(users == 0)
    if len(empty):
        stratum, arm = empty[0]
        got = f"got no {strata.names[stratum]!r} in {assignment.arms[arm]}"
        raise InputError(f"{name} must have users of each value in each arm, {got}")


def refuse_odd_numbers(input_part: InputPart, columns_in_use: Collection[str]) -> None:
    """Raise InputError for the first cell that is no number in a column that looks like numbers,
    such as revenue with "5 €": no metric is proposed for it, and the user should know why. Only the
    first rows of the part are looked at.

    columns_in_use: the columns with another use, which are not checked.
    """
    sampled = SampledTable.from_part(input_part, chosen={}, columns_in_use=columns_in_use)
    for column in sampled.columns:
        if column.is_bookkeeping:  # ids, dates and the like
            continue
        filled_cells = column.texts
        # `VALUE_PATTERN` matches numbers with a unit, a sign or a second number: 5 €, 3 ± 1
        number_like = [
            text for text in filled_cells if re.fullmatch(VALUE_PATTERN, text.strip().lower())
        ]
        looks_like_numbers = 2 * len(number_like) >= max(1, len(filled_cells))  # at least half
        if not looks_like_numbers:
            continue
        for row, cell in enumerate(column.cells, start=1):
            if cell is None:  # empty
                rule = "write 0 for users who did nothing, or remove users of whom nothing is known"
                raise InputError(
                    f"{input_part.place(row)}: {column.name} must be a number, got nothing; {rule}"
                )
            if ColumnSample(column.name, [cell]).numbers is None:
                raise InputError(
                    f"{input_part.place(row)}: {column.name} must be a number, got {cell[:80]!r}"
                )


def several_arms(arms: Sequence[str], arms_of_table: Iterable[str], column: str) -> list[str]:
    """The arms that the user names, else all that a table has, sorted. Raises InputError unless
    there are two or more. arms: empty if the user names none. column: the name of the column of
    arms, for errors.
    """
    if not arms:
        arms = sorted(arms_of_table)
        # a name of the table may mean a missing value, or be misspelled; the user's are as meant
        roles_of.refuse_names(arms, column, "arms")
    if len(arms) < 2:
        raise InputError(f"{column} must hold two arms or more, got only {arms[0]}")
    return list(arms)


def located(
    error: InputError,
    sources_read: Sequence[Source],
    columns: Mapping[str, str],
    *,
    numbered: bool = True,
) -> InputError:
    """The error with the name of its file, the column's own name, and the row in that file, counted
    from 1.

    sources_read: the files, whose rows the error counts in sequence. columns: role -> column.
    numbered: False if rows have no order, so that the error does not name one.

    >>> two = [Source("a.csv", 3), Source("b.csv", 3)]
    >>> located(RowError("team", "must be one of a, b, got 'c'", 4), two, {"team": "ranker"})
    InputError("b.csv: ranker must be one of a, b, got 'c' (row 2)")
    """
    file_names = ", ".join(dict.fromkeys(source.name for source in sources_read))
    locate = partial(_file_and_row, sources_read, numbered=numbered)
    return error.located(file_names, locate, columns)


def _file_and_row(sources_read: Sequence[Source], row: int, *, numbered: bool) -> tuple[str, int]:
    """The name of the file of a row, and its number there, from 1; 0 if rows are not numbered."""
    source, number = table.locate(((source, source.rows) for source in sources_read), row)
    if not numbered:
        number = 0
    return source.name, number


# Which columns


def log_fields(
    parts: Sequence[InputPart], columns: Mapping[str, str], segments: Sequence[str]
) -> list[dict[str, Field]]:
    """The columns of each part of a log by role, with the columns of segments as further roles.

    parts: empty without a log. columns: role -> the column that the user names. segments: columns
    of the log or of the table of users; those that no part of the log has must be of users, and are
    ignored here. Raises InputError if a column is missing, or the parts do not have the same
    columns.
    """
    names_of_log = column_names(parts)
    attributes = [name for name in segments if name in names_of_log]
    fields = [_fields(input_part, LOG, columns, attributes) for input_part in parts]
    if parts:
        table.refuse_missing_columns(parts, fields)
    return fields


def user_fields(
    parts: Sequence[InputPart],
    columns: Mapping[str, str],
    numbers: Sequence[str],
    attributes: Sequence[str],
) -> list[dict[str, Field]]:
    """The columns of each part of a table of users by role, with the columns `numbers` (of metrics
    and the covariate) and `attributes` (of segments and strata) as further roles.

    parts: empty without a table of users. columns: role -> the column that the user names. Raises
    InputError if a column is missing, the parts do not have the same columns, or the table has
    totals of arms in place of users.
    """
    for input_part in parts:
        has_ids = _has_column_of("user", input_part, columns)
        if not has_ids:  # the rows may be totals of arms
            sampled = SampledTable.from_part(input_part, chosen=columns)
            refuse_totals(input_part, proposal_of_users(sampled))
    fields = [_fields(input_part, USERS, columns, attributes, numbers) for input_part in parts]
    if parts:
        table.refuse_missing_columns(parts, fields)
    return fields


def columns_of_metric(name: str) -> list[str]:
    """The column that a metric of users is the mean of, or the two of a ratio of sums.

    >>> columns_of_metric("orders"), columns_of_metric("revenue/orders")
    (['orders'], ['revenue', 'orders'])
    """
    columns = [column.strip() for column in name.split("/")]
    if len(columns) > 2 or "" in columns:
        raise ParameterError(
            f"metrics: must be a column or a ratio of two, such as revenue/orders, got {name!r}"
        )
    return columns


def number_columns(metrics: Iterable[str], before: str | None) -> list[str]:
    """The columns of numbers that the metrics and the covariate need, each once. before: the column
    of the covariate, None without one.

    Raises ParameterError if the first metric, by which the report decides, is the mean of the
    covariate itself.
    """
    columns = [columns_of_metric(name) for name in metrics]
    if columns and columns[0] == [before]:
        raise ParameterError(
            f"before: {before!r} is what metrics measure; name a column from before the experiment"
        )
    return distinct(chain.from_iterable(columns), (before,))


def distinct(*names: Iterable[str | None]) -> list[str]:
    """The names of all sequences, each once, in order; without None and empty ones."""
    return [name for name in dict.fromkeys(chain.from_iterable(names)) if name]


def column_names(parts: Iterable[InputPart]) -> set[str]:
    """The columns that one or more of the parts have."""
    return set(chain.from_iterable(input_part.columns for input_part in parts))


def check_segments(segments: Sequence[str], columns: set[str]) -> None:
    """Raise ParameterError for a segment that is none of the columns."""
    missing = [name for name in segments if name not in columns]
    if missing:
        quoted = " and ".join(map(repr, missing))
        has = ", ".join(sorted(columns))
        raise ParameterError(f"segments: no input has a column {quoted}, there are {has}")


def includes_file(sources_read: Sequence[Source], path: str) -> bool:
    """True if one of the files read has the same content as the file at the path, whatever its
    name.
    """
    hashes = {source.sha256 for source in sources_read}
    return any(input_part.fingerprint(0).sha256 in hashes for input_part in sources.parts(path))


def _fields(
    input_part: InputPart,
    roles: Sequence[Role],
    chosen: Mapping[str, str],
    attributes: Sequence[str],
    numbers: Sequence[str] = (),
) -> dict[str, Field]:
    """The columns of one part by role, with the columns `attributes` and `numbers` as further
    roles.

    roles: of a log (`LOG`) or of a table of users (`USERS`). chosen: role -> the column that the
    user names; roles that are not in `roles` are ignored. attributes: columns for segments or
    strata. numbers: columns that metrics or the covariate are computed from. Raises InputError if a
    role that is required has no column.
    """
    rules_by_role = {role.name: role.rules for role in roles}
    required = [role.name for role in roles if role.required]
    chosen = {role: name for role, name in chosen.items() if role in rules_by_role}
    # column that must exist -> the parameter that names it, for errors
    parameters = dict.fromkeys(attributes, "segments or strata")
    parameters |= dict.fromkeys(numbers, "metrics or before")
    match = partial(
        roles_of.match,
        input_part.columns,
        list(rules_by_role),
        where=input_part.name,
        other_uses=attributes,
        required_columns=parameters,
    )
    mapping = match(chosen=chosen)  # by the names of the columns
    if roles is USERS and mapping.missing_roles(required):
        proposed = _columns_by_content(input_part, chosen, (*attributes, *numbers))
        mapping = match(chosen={**proposed, **chosen})
    try:
        columns = mapping.resolve(required)
    except InputError as error:
        # a log that lacks a role, but has arms, may be a table of users, given as the wrong input
        lacks_role_of_log = roles is LOG and mapping.missing_roles(required)
        if lacks_role_of_log and _has_column_of("arm", input_part, {}):
            advice = "a table with one row per user is given as users=FILE"
            raise InputError(f"{error}; {advice}") from None
        raise
    fields = {role: Field(name, rules_by_role[role]) for role, name in columns.items()}
    fields |= {NUMBER + name: Field(name, rules.MEASURED) for name in numbers}
    fields |= {ATTRIBUTE + name: Field(name, rules.NAME_OR_EMPTY) for name in attributes}
    return fields


def _columns_by_content(
    input_part: InputPart, chosen: Mapping[str, str], columns_in_use: Collection[str]
) -> Mapping[str, str]:
    """Role -> column of a table of users, by the content of the columns: arms are few texts. For a
    table without a column that is named like arms. Empty if the content is not clear either.

    chosen: role -> the column that the user names. columns_in_use: those with another use.
    """
    sampled = SampledTable.from_part(input_part, chosen, columns_in_use=columns_in_use)
    proposal = proposal_of_users(sampled)
    if not proposal.is_complete:
        return {}
    return proposal.columns


def _has_column_of(role: str, input_part: InputPart, columns: Mapping[str, str]) -> bool:
    """True if the user names a column of the part for a role, or one is called like it. columns:
    role -> the column that the user names.
    """
    chosen = {role: columns[role]} if role in columns else {}
    return not roles_of.match(input_part.columns, [role], chosen, input_part.name).missing_roles(
        [role]
    )


def columns_by_role(fields: Fields) -> dict[str, str]:
    """Role -> the name of its column, without columns of numbers and attributes."""
    return {
        role: field.column
        for role, field in fields.items()
        if not role.startswith((NUMBER, ATTRIBUTE))
    }


def arms_of(teams: Iterable[str], arms: Sequence[str], neutral: str | None) -> list[str]:
    """The arms of a log: those that the user names, else its teams if they are two, sorted.

    teams: the values of the column of teams. arms: that the user names, empty for none. neutral:
    the team of items that belong to no arm, None if the user names none.

    Raises InputError for fewer than two teams. Raises UnclearNeutral for more, since one of them
    could stand for items of no arm: the user must then name the arms or `neutral`. The error
    proposes a word for `neutral` if one of three teams is a usual one: the other two are then the
    arms.
    """
    if arms:
        return list(arms)
    teams = sorted(set(teams) - {neutral})
    if len(teams) == 2:
        return several_arms([], teams, "team")  # raises if a name, such as n/a, means "no name"
    # Not two: a name that means "no name" may stand for items of no arm, and is not refused here.
    possible_arms = [name for name in teams if name.casefold() not in roles_of.NO_NAMES]
    roles_of.refuse_names(possible_arms, "team", "arms")
    got = ", ".join(teams) or "none"
    if len(teams) < 2:
        raise InputError(f"team must hold two arms, got {got}")
    usual_neutral = [name for name in teams if comparable_name(name) in usual("arms")["neutral"]]
    example = usual_neutral[0] if usual_neutral else teams[-1]
    proposed_neutral = ""  # for none
    if len(teams) == 3 and len(usual_neutral) == 1:
        proposed_neutral = usual_neutral[0]
    raise UnclearNeutral(
        f"team must hold two arms, got {got}; name the rankers, arms='{','.join(teams)}', or what "
        f"stands for no team, neutral={example!r}",
        proposed_neutral,
    )


class UnclearNeutral(InputError):
    """Several teams, one of which may be a word for items of no team.

    neutral: this word; "" if no usual one is among three teams.
    """

    def __init__(self, problem: str, neutral: str) -> None:
        super().__init__(problem)
        self.neutral = neutral

"""Logs of interleaved sessions and tables of users, read: every error names file, column, row and
value.

Both are held, one row a session or a user. An engine reads the tables, larger ones some rows at a
time; rows of a log come with those of the same user.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, ParameterError, RowError
from evalkit.online import experiments
from evalkit.online.sessions import EMPTY, Log, Sessions, refuse_missing
from evalkit.parameters.kinds import written
from evalkit.parameters.reports import InterleavingParameters
from evalkit.reading.engines.backends import AtHand
from evalkit.reading.engines.base import Engine, Query, profile, streamed, typed
from evalkit.reading.inputs.unit_columns import LOOKS
from evalkit.reading.matching.column_names import USES, comparable
from evalkit.reading.matching.proposal import Proposal, users as proposal_of_users
from evalkit.reading.matching.samples import ColumnSample, SampledTable
from evalkit.reading.reductions import blocks
from evalkit.reading.tables import columns as roles_of, rules, sources, table
from evalkit.reading.tables.parts import InputPart, Selection, Source, names
from evalkit.reading.tables.rules import LONGEST, BrokenRule, Field, Fields, Role, columns_by_type

LOG = (
    Role.declared("session", required=True),
    Role.declared("position", required=True),
    Role.declared("team", required=True),
    Role.declared("outcome", required=True),
    Role.declared("user"),
    Role.declared("item"),
)
USERS = (Role.declared("user"), Role.declared("arm", required=True))
AGAIN = 100_000  # sessions that contradict themselves which are looked at for the first row
LOG_ROLES, USER_ROLES = (tuple(role.name for role in roles) for roles in (LOG, USERS))
Columns = Mapping[str, Any]  # by role: texts as Arrow has them, numbers as numpy


def is_of_users(part: InputPart, p: InterleavingParameters) -> bool:
    """True if a table holds users of an A/B test, not sessions of teams: it has no teams, and arms
    or no sessions; or metrics of users are named.
    """
    named = {*roles_of.match(part.columns, ("team", "session", "arm"), {}, "").resolve()}
    roles = {*named, *p.columns, *proposal_of_users(SampledTable.of(part, {})).columns}
    is_log = "team" in roles or ("session" in roles and "arm" not in roles)
    return bool(p.metrics) or not is_log


def with_input_named(
    p: InterleavingParameters, parts: Sequence[InputPart]
) -> InterleavingParameters:
    """The parameters with the parts of `preds` as the log or the users, whichever their columns
    are; as the log beside users.

    Raises ParameterError if the log is given too.
    """
    if "log" in p.given:
        raise ParameterError("preds and log: give one of them")
    others = {name: value for name, value in p.given.items() if name != "preds"}
    if "users" not in p.given and is_of_users(parts[0], p):
        return replace(p, preds=None, users=[*parts], given={"users": p.preds, **others})
    return replace(p, preds=None, log=[*parts], given={"log": p.preds, **others})


# Sessions -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SessionLog:
    """What is kept of a log, and what was read. items: how many were shown."""

    kept: Sessions
    columns: Mapping[str, str]
    sources: tuple[Source, ...]


def read_log(
    parts: Sequence[InputPart],
    p: InterleavingParameters,
    engine: Engine | None = None,
    *,
    segments: Sequence[str],
    most: int,
) -> SessionLog:
    """The log of parts with one row an item shown. engine: for what has too many rows to be held.

    Raises InputError where a column is missing, a team is missing or unknown, an arm has no row,
    the positions of a session are not 1, 2, 3, …, an outcome is no number or negative, a session
    has two users or two values of a segment; or for more than `most` sessions.
    """
    engine = engine or AtHand.opened()
    fields = log_fields(parts, p.columns, segments)
    each = enumerate(zip(parts, fields, strict=True))
    read = [
        (f"frame{i}", part.select(*columns_by_type(own), engine.dialect, frame=f"frame{i}"))
        for i, (part, own) in each
    ]
    chosen = [engine.kept(selection, frame) for frame, selection in read]
    teams = [_teams(engine, selection) for selection in chosen]
    rows = [sum(row["n"] for row in several) for several in teams]
    if sum(row["sessions"] for several in teams for row in several) > most:
        raise table.too_many(parts, "sessions", most)
    there = {row["team"] for several in teams for row in several if row["team"]}
    if any(len(team.encode()) > LONGEST for team in there):
        raise _refusal(engine, chosen, fields, None)
    try:
        arms = arms_of(there, p.arms, p.neutral)
        if there <= {*arms, p.neutral}:
            refuse_missing(arms, there)
    except InputError as error:
        raise InputError(f"{names(parts)}: {error}") from None
    kept = _kept(engine, chosen, fields, LogBlock(fields[0], arms, p.neutral), sum(rows))
    return SessionLog(
        kept,
        named(fields[0]),
        tuple(part.fingerprint(n) for part, n in zip(parts, rows, strict=True)),
    )


def _log(columns: Columns, arms: Sequence[str], neutral: str | None) -> Log:
    """The rows of a log, from its columns by role."""
    session, names = table.encode_sorted(columns["session"])
    user, users = table.encode_sorted(columns["user"]) if "user" in columns else (session, names)
    team = table.coded(columns["team"])
    position = columns["position"]
    outcome = columns["outcome"]
    item = table.encode_sorted(columns["item"])[0] if "item" in columns else None
    several = {
        name[10:]: table.coded(values)
        for name, values in columns.items()
        if name.startswith("attribute ")
    }
    return Log(
        session, names, user, users, team, position, outcome, tuple(arms), neutral, item, several
    )


@dataclass(frozen=True, eq=False)
class LogBlock:
    """What is kept of a block of a log, or the names of the sessions of which a row breaks a rule,
    in a list.
    """

    fields: Fields
    arms: Sequence[str]
    neutral: str | None

    def __call__(self, rows: Any, before: int = 0) -> list[Any]:
        columns = {role: rows.column(i) for i, role in enumerate(self.fields)}
        for role, field in self.fields.items():
            checked = field.check(columns[role].combine_chunks(), None)
            columns[role] = checked if field.is_number else columns[role]
        log = _log(columns, self.arms, self.neutral)
        wrong = log.wrong()
        return [wrong if len(wrong) else Sessions.of(log)]


def _kept(
    engine: Engine,
    chosen: Sequence[Selection],
    fields: Sequence[Fields],
    block: LogBlock,
    rows: int,
) -> Sessions:
    """What is kept of a log, the rows of a user in one block."""
    roles = list(fields[0])
    cells = ", ".join(f"{engine.dialect.quote(role)} AS c{i}" for i, role in enumerate(roles))
    by = f"c{roles.index('user' if 'user' in roles else 'session')}"
    query = replace(Query.over(chosen, [cells] * len(chosen)), by=by, rows=rows)
    try:
        found = engine.total(query, block)
    except InputError as error:
        refusal = _refusal(engine, chosen, fields, None)
        raise (refusal if isinstance(error, BrokenRule) else error) from None
    wrong = [name for part in found if not isinstance(part, Sessions) for name in part]
    kept = Sessions.joined(found) if not wrong else None
    if kept is None or (wrong := kept.names.take(table.rows_of_repeated(kept.names))):
        raise _refusal(engine, chosen, fields, block, wrong)
    for selection in chosen:
        if selection.source:
            selection.part.check(selection)
    return kept


def _teams(engine: Engine, selection: Selection) -> list[dict[str, Any]]:
    """The rows n of each team of a part, and the sessions that begin with it; raises InputError for
    no row.
    """
    team, position = map(engine.dialect.quote, ("team", "position"))
    cells = [f"{team} AS team", f"count(*) FILTER (WHERE {position} = 1) AS sessions"]
    return profile(engine, selection, cells, f"GROUP BY {team}")


def _refusal(
    engine: Engine,
    chosen: Sequence[Selection],
    fields: Sequence[Fields],
    block: LogBlock | None,
    wrong: Any = (),
) -> InputError:
    """The error for a log that a block refused: its rows are read once more, in their order.

    wrong: the names of the sessions that contradict themselves. block: None where a value breaks
    the rule of its column.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks: dict[str, list[Any]] = {role: [] for role in fields[0]}
    places = list[tuple[tuple[InputPart, np.ndarray | None], int]]()
    sessions = pa.array([str(name) for name in wrong], pa.string())[:AGAIN]
    for selection, own in zip(chosen, fields, strict=True):
        for before, columns in typed(engine, selection, own):
            here = np.flatnonzero(
                pc.is_in(columns["session"], sessions).to_numpy(zero_copy_only=False)
            )
            for role, field in own.items():
                chunks[role].append(
                    columns[role][here] if field.is_number else columns[role].take(pa.array(here))
                )
            places.append(((selection.part, None if before is None else here + before), len(here)))
    if block:
        join = {
            role: np.concatenate if field.is_number else pa.chunked_array
            for role, field in fields[0].items()
        }
        joined = {role: join[role](parts) for role, parts in chunks.items()}
        try:
            _log(joined, block.arms, block.neutral).check()
        except RowError as error:
            (part, numbers), row = table.locate(places, error.row)
            number = 0 if numbers is None else int(numbers[row - 1]) + 1
            return error.located(part.name, lambda _: (part.name, number), named(fields[0]))
    return blocks.changed(names([selection.part for selection in chosen]))


# Users --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Users:
    """One row a user of one arm, arm by arm, and what was read.

    user: the ids of all rows, None without such a column. assigned: the users here.
    """

    user: Any
    assigned: experiments.Assignment
    numbers: Mapping[str, Floats]
    attributes: Mapping[str, table.Coded]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]

    @property
    def ids(self) -> Any:
        """The ids of the users; the numbers of their rows where there is no such column."""
        rows = self.assigned.rows
        if self.user is None:
            return (rows + 1).astype(str)
        return self.user.take(rows).combine_chunks()


def totals_error(part: InputPart, arm: str, rows: str) -> InputError:
    """The error for a table of totals. rows: how many rows an arm has."""
    named = {"system": arm}
    for use in ("successes", "trials"):
        columns = [name for name in part.columns if comparable(name) in USES[use]]
        named |= {use: columns[0]} if columns else {}
    totals = f"for totals{'' if rows == 'one' else f', added up to one row per {arm},'}"
    way = f"{totals} use the significance report with columns={written(named)!r}"
    return InputError(f"{part.name}: users must have one row per user, got {rows} per {arm}; {way}")


def refuse_totals(part: InputPart, proposal: Proposal) -> None:
    """Raise InputError if rows are totals of arms."""
    if "users behind totals" in proposal.lacking and "arm" in proposal.columns:
        arm = proposal.columns["arm"]
        cells = part.head[arm]
        raise totals_error(part, arm, "one" if len({*cells}) == len(cells) else "several totals")


def read_users(
    parts: Sequence[InputPart],
    p: InterleavingParameters,
    engine: Engine | None,
    numbers: list[str],
    attributes: list[str],
    most: int,
) -> Users:
    """A table of users: its arm, its numbers (one column or more) and its texts.

    engine: as of `read_log`. Raises InputError where a column is missing, an arm is empty or
    unknown, a number is none, a user has several rows in one arm, an arm has no user of its own or
    a stratum none in an arm; or for more than `most` rows.
    """
    engine = engine or AtHand.opened()
    fields = user_fields(parts, p.columns, numbers, attributes)
    rows = streamed(engine, parts, fields, ("user",), most)
    user = rows.released("user", table.CheckedTable.column) if "user" in fields[0] else None
    arm = rows.released("arm", table.CheckedTable.coded)
    column = fields[0]["arm"].column
    if len(rows) == len(arm.names) > 1:
        raise totals_error(parts[0], column, "one")
    try:
        assigned = _assigned(user, arm, several_arms(p.arms, arm.names, column))
        values = {
            name: rows.released(f"number {name}", table.CheckedTable.numbers)[assigned.rows]
            for name in numbers
        }
        texts = {
            name: rows.released(f"attribute {name}", table.CheckedTable.coded).take(assigned.rows)
            for name in attributes
        }
        if p.strata:
            _check_strata(p.strata, texts[p.strata], assigned)
    except InputError as error:
        numbered = engine.dialect.row_number is not None
        raise located(error, rows.sources, named(fields[0]), numbered=numbered) from None
    return Users(user, assigned, values, texts, named(fields[0]), rows.sources)


def _assigned(user: Any, arm: table.Coded, arms: Sequence[str]) -> experiments.Assignment:
    """The users, arm by arm. user: None where each row is one."""
    import pyarrow.compute as pc

    empty = -1 if user is None else pc.index(user, "").as_py()
    for role, row in (("user", empty), ("arm", arm.first("") if "" in arm.names else -1)):
        if row >= 0:
            raise RowError(role, EMPTY, row)
    several = np.zeros(0, np.int64) if user is None else table.rows_of_repeated(user)
    users = experiments.assigned(
        arm, arms, several, [] if user is None else user.take(several).to_pylist()
    )
    order = np.argsort(users.arm, kind="stable")
    return replace(users, arm=users.arm[order], rows=users.rows[order])


def _check_strata(name: str, strata: table.Coded, assigned: experiments.Assignment) -> None:
    """Raises InputError unless every stratum has users in every arm."""
    arms = len(assigned.arms)
    users = np.bincount(
        strata.code * arms + assigned.arm, minlength=len(strata.names) * arms
    ).reshape(-1, arms)
    empty = np.argwhere(users == 0)
    if len(empty):
        stratum, arm = empty[0]
        got = f"got no {strata.names[stratum]!r} in {assigned.arms[arm]}"
        raise InputError(f"{name} must have users of each value in each arm, {got}")


def refuse_odd_numbers(part: InputPart, used: Collection[str]) -> None:
    """Raise InputError for the first cell without a number in a column of numbers, such as revenue
    in "5 €", which is why it is no metric.
    """
    for column in SampledTable.of(part, {}, used=used).columns:
        meant = [text for text in column.texts if re.fullmatch(LOOKS, text.strip().lower())]
        if column.is_bookkeeping or 2 * len(meant) < max(1, len(column.texts)):
            continue
        for row, cell in enumerate(column.cells, start=1):
            if cell is None:
                rule = "write 0 for users who did nothing, or remove users of whom nothing is known"
                raise InputError(
                    f"{part.place(row)}: {column.name} must be a number, got nothing; {rule}"
                )
            if ColumnSample(column.name, [cell]).numbers is None:
                raise InputError(
                    f"{part.place(row)}: {column.name} must be a number, got {cell[:80]!r}"
                )


def several_arms(arms: Sequence[str], there: Iterable[str], column: str) -> list[str]:
    """The arms as named, or those that are there, if they are two or more; raises InputError for
    one alone.
    """
    if not arms:
        arms = sorted(there)
        roles_of.refuse_names(arms, column, "arms")
    if len(arms) < 2:
        raise InputError(f"{column} must hold two arms or more, got only {arms[0]}")
    return list(arms)


def located(
    error: InputError, read: Sequence[Source], columns: Mapping[str, str], *, numbered: bool = True
) -> InputError:
    """The error with its file, its column's own name and its row in that file, counted from 1, or 0
    if not numbered.

    >>> two = [Source("a.csv", 3), Source("b.csv", 3)]
    >>> located(RowError("team", "must be one of a, b, got 'c'", 4), two, {"team": "ranker"})
    InputError("b.csv: ranker must be one of a, b, got 'c' (row 2)")
    """
    names = ", ".join(dict.fromkeys(source.name for source in read))

    def locate(row: int) -> tuple[str, int]:
        source, number = table.locate(((source, source.rows) for source in read), row)
        return source.name, number if numbered else 0

    return error.located(names, locate, columns)


# Which columns


def log_fields(
    parts: Sequence[InputPart], columns: Mapping[str, str], segments: Sequence[str]
) -> list[dict[str, Field]]:
    """The columns of each part of a log by role, with the segments that one of its parts has."""
    there = column_names(parts)
    attributes = [name for name in segments if name in there]
    return _same([_fields(part, LOG, columns, attributes) for part in parts], parts)


def user_fields(
    parts: Sequence[InputPart],
    columns: Mapping[str, str],
    numbers: Sequence[str],
    attributes: Sequence[str],
) -> list[dict[str, Field]]:
    """The columns of each part of a table of users by role, with numbers and attributes."""
    for part in parts:
        refuse_totals(part, proposal_of_users(SampledTable.of(part, columns)))
    return _same([_fields(part, USERS, columns, attributes, numbers) for part in parts], parts)


def _same(fields: list[dict[str, Field]], parts: Sequence[InputPart]) -> list[dict[str, Field]]:
    """The columns of each part; raises InputError where they are not the same in all."""
    if parts:
        table.refuse_missing_columns(parts, fields)
    return fields


def measured(name: str) -> list[str]:
    """The column of a metric, or the two of a ratio."""
    parts = [part.strip() for part in name.split("/")]
    if len(parts) > 2 or "" in parts:
        raise ParameterError(
            f"metrics: must be a column or a ratio of two, such as revenue/orders, got {name!r}"
        )
    return parts


def numbers_of(metrics: Iterable[str], before: str | None) -> list[str]:
    """The columns of numbers that metrics and `before` name."""
    names = [*map(measured, metrics)]
    if names[:1] == [[before]]:
        raise ParameterError(
            f"before: {before!r} is what metrics measure; name a column from before the experiment"
        )
    return distinct(*names, (before,))


def distinct(*names: Iterable[str | None]) -> list[str]:
    """The names that there are, each once, in order."""
    return [name for name in dict.fromkeys(chain(*names)) if name]


def column_names(parts: Sequence[InputPart]) -> set[str]:
    """The columns that a part of the input has."""
    return {name for part in parts for name in part.columns}


def check_segments(segments: Sequence[str], there: set[str]) -> None:
    """Raise ParameterError for columns for segments that are not there."""
    if lacking := [name for name in segments if name not in there]:
        names = " and ".join(map(repr, lacking))
        has = ", ".join(sorted(there))
        raise ParameterError(f"segments: no input has a column {names}, there are {has}")


def holds(read: Sequence[Source], path: str) -> bool:
    """Whether one of the files read has the content of this one, under whatever name."""
    return any(
        part.fingerprint(0).sha256 == source.sha256
        for part in sources.parts(path)
        for source in read
    )


def _fields(
    part: InputPart,
    roles: Sequence[Role],
    chosen: Mapping[str, str],
    attributes: Sequence[str],
    numbers: Sequence[str] = (),
) -> dict[str, Field]:
    """The columns of one part by role, with attributes and further numbers."""
    named = dict.fromkeys(attributes, "segments or strata") | dict.fromkeys(
        numbers, "metrics or before"
    )
    values = {role.name: role.rules for role in roles}
    here = {role: name for role, name in chosen.items() if role in values}
    needed = [role.name for role in roles if role.required]
    of_users = "team" in needed and not (
        roles_of.match(part.columns, ["arm"], {}, part.name).missing_roles(["arm"])
    )
    mapping = roles_of.match(part.columns, list(values), here, part.name, attributes, named)
    if needed == ["arm"] and mapping.missing_roles(needed):
        proposal = proposal_of_users(SampledTable.of(part, here, used=[*attributes, *numbers]))
        if proposal.is_complete:
            here = {**proposal.columns, **here}
            mapping = roles_of.match(part.columns, list(values), here, part.name, attributes, named)
    try:
        columns = mapping.resolve(needed)
    except InputError as error:
        if not (of_users and mapping.missing_roles(needed)):
            raise
        users = "a table with one row per user is given as users=FILE"
        raise InputError(f"{error}; {users}") from None
    fields = {role: Field(name, values[role]) for role, name in columns.items()}
    fields |= {f"number {name}": Field(name, rules.MEASURED) for name in numbers}
    return fields | {f"attribute {name}": Field(name, rules.NAME_OR_EMPTY) for name in attributes}


def named(fields: Fields) -> dict[str, str]:
    """The columns of the roles of a part as it calls them."""
    return {role: field.column for role, field in fields.items() if " " not in role}


def arms_of(teams: Iterable[str], arms: Sequence[str], neutral: str | None) -> list[str]:
    """The arms as named, or the two that were found: a third one could be a word for no team, so it
    must be named.
    """
    there = sorted(set(teams) - {neutral})
    if arms or len(there) == 2:
        return list(arms) or several_arms(arms, there, "team")
    names = [name for name in there if name.casefold() not in roles_of.NO_NAMES]
    roles_of.refuse_names(names, "team", "arms")
    listed = ", ".join(there) or "none"
    hint = (
        f"; name the rankers, arms='{','.join(there)}', or what stands for no team, "
        f"neutral={there[-1]!r}"
    )
    raise InputError(f"team must hold two arms, got {listed}{hint if len(there) > 2 else ''}")

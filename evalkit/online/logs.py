"""Logs of interleaved sessions and tables of users as checked arrays: every error names file, column, row and value."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, ParameterError, RowError, codes
from evalkit.online import sessions
from evalkit.online.sessions import Log
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import rules, sources, table
from evalkit.reading.tables.parts import Part, Source
from evalkit.reading.tables.rules import Field, Fields, Role
from evalkit.reading.tables.table import Table

LOG = (
    Role("session", required=True),
    Role("position", rules.MEASURED, required=True),
    Role("team", required=True),
    Role("outcome", rules.MEASURED, required=True),
    Role("user"),
    Role("item"),
)
USERS = (Role("user"), Role("arm", required=True))
LOG_ROLES, USER_ROLES = (tuple(role.name for role in roles) for roles in (LOG, USERS))


@dataclass(frozen=True)
class SessionLog:
    """A checked log, the attributes of each session, and what was read.

    repeated: items shown twice in one session, None without an item column.
    """

    log: Log
    attributes: Mapping[str, np.ndarray]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    repeated: int | None


@dataclass(frozen=True)
class UserTable:
    """One row a user as read: ids (row numbers where there is no column), arms, numbers and texts by column."""

    user: np.ndarray
    arm: np.ndarray
    numbers: Mapping[str, Floats]
    attributes: Mapping[str, np.ndarray]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]


def read_log(
    data: Any, *, columns: Mapping[str, str], arms: Sequence[str], neutral: str | None, segments: Sequence[str]
) -> SessionLog:
    """The log of a file, a frame or several: one row an item shown.

    Raises InputError where a column is missing, a team is missing or unknown, an arm has no row, the positions of a
    session are not 1, 2, 3, …, an outcome is no number or negative, a session has two users or two values of a segment.
    """
    parts = sources.parts(data)
    rows = table.read(parts, log_fields(parts, columns, segments))
    names, texts = named(rows.blocks[0].fields), _texts(rows)
    try:
        log = sessions.read_log(
            texts["session"],
            rows.numbers("position"),
            texts["team"],
            rows.numbers("outcome"),
            unit=texts.get("user"),
            arms=arms_of(np.unique(texts["team"]).tolist(), arms, neutral),
            neutral=neutral,
        )
        attributes = {name: of_session(texts["session"], texts[f"attribute {name}"], name) for name in segments}
    except InputError as error:
        raise located(error, rows.sources, names) from None
    shown = [codes(texts[role])[0] for role in ("session", "item") if role in texts]
    repeated = sessions.repeated(*shown) if len(shown) > 1 else None
    return SessionLog(log, attributes, names, rows.sources, repeated)


def read_users(
    data: Any, *, columns: Mapping[str, str], numbers: Sequence[str], attributes: Sequence[str]
) -> UserTable:
    """A table of users: its arm, its numbers (one column or more) and its texts.

    Raises InputError where a column is missing, an arm is empty or a number is none.
    """
    parts = sources.parts(data)
    rows = table.read(parts, user_fields(parts, columns, numbers, attributes))
    texts = _texts(rows)
    user = texts.get("user", np.arange(1, len(rows) + 1).astype(str))
    if len(rows) == len({*texts["arm"]}) > 1:
        part, arm = rows.blocks[0].part, rows.blocks[0].fields["arm"].column
        raise InputError(
            f"{part.name}: users must have one row per user, got one per {arm}; for totals use the significance report "
            f"with columns='system={arm},successes=COLUMN,trials=COLUMN'"
        )
    values = {name: rows.numbers(f"number {name}") for name in numbers}
    kept = {name: texts[f"attribute {name}"] for name in attributes}
    return UserTable(user, texts["arm"], values, kept, named(rows.blocks[0].fields), rows.sources)


def several_arms(arms: Sequence[str], column: str) -> list[str]:
    """The arms, if they are two or more; raises InputError for one alone."""
    if len(arms) < 2:
        raise InputError(f"{column} must hold two arms or more, got only {arms[0]}")
    return list(arms)


def no_credit(column: str) -> InputError:
    """The error for a log in which no item of an arm has an outcome."""
    return InputError(f"{column} must be above 0 on at least one item of an arm, got 0 on all")


def check_strata(name: str, strata: Sequence[str], arms: Sequence[str], users: Ints) -> None:
    """Raises InputError unless every stratum has users in every arm. users: by stratum and arm."""
    empty = np.argwhere(users == 0)
    if len(empty):
        stratum, arm = empty[0]
        raise InputError(
            f"{name} must have users of each value in each arm, got no {str(strata[stratum])!r} in {arms[arm]}"
        )


def located(error: InputError, read: Sequence[Source], columns: Mapping[str, str]) -> InputError:
    """The error with its file, its column's own name and its row in that file, counted from 1.

    >>> two = [Source("a.csv", 3), Source("b.csv", 3)]
    >>> located(RowError("team", "must be one of a, b, got 'c'", 4), two, {"team": "ranker"})
    InputError("b.csv: ranker must be one of a, b, got 'c' (row 2)")
    """
    names = ", ".join(dict.fromkeys(source.name for source in read))

    def locate(row: int) -> tuple[str, int]:
        source, number = table.located(((source, source.rows) for source in read), row)
        return source.name, number

    return error.located(names, locate, columns)


# Which columns


def log_fields(parts: Sequence[Part], columns: Mapping[str, str], segments: Sequence[str]) -> list[dict[str, Field]]:
    """The columns of each part of a log by role, with the segments that one of its parts has."""
    there = column_names(parts)
    attributes = [name for name in segments if name in there]
    return _same([_fields(part, LOG, columns, attributes=attributes) for part in parts], parts)


def user_fields(
    parts: Sequence[Part], columns: Mapping[str, str], numbers: Sequence[str], attributes: Sequence[str]
) -> list[dict[str, Field]]:
    """The columns of each part of a table of users by role, with numbers and attributes."""
    return _same([_fields(part, USERS, columns, attributes=attributes, numbers=numbers) for part in parts], parts)


def _same(fields: list[dict[str, Field]], parts: Sequence[Part]) -> list[dict[str, Field]]:
    """The columns of each part; raises InputError where they are not the same in all."""
    if parts:
        table.same_columns(parts, fields)
    return fields


def measured(name: str) -> list[str]:
    """The column of a metric, or the two of a ratio."""
    parts = [part.strip() for part in name.split("/")]
    if len(parts) > 2 or "" in parts:
        raise ParameterError(f"metrics: must be a column or a ratio of two, such as revenue/orders, got {name!r}")
    return parts


def numbers_of(metrics: Iterable[str], before: str | None) -> list[str]:
    """The columns of numbers that metrics and `before` name."""
    return distinct(*map(measured, metrics), (before,))


def distinct(*names: Iterable[str | None]) -> list[str]:
    """The names that there are, each once, in order."""
    return [name for name in dict.fromkeys(chain(*names)) if name]


def column_names(parts: Sequence[Part]) -> set[str]:
    """The columns that a part of the input has."""
    return {name for part in parts for name in part.columns}


def check_segments(segments: Sequence[str], there: set[str]) -> None:
    """Raise ParameterError for columns for segments that are not there."""
    if lacking := [name for name in segments if name not in there]:
        names, has = " and ".join(map(repr, lacking)), ", ".join(sorted(there))
        raise ParameterError(f"segments: no input has a column {names}, there are {has}")


def holds(read: Sequence[Source], path: str) -> bool:
    """Whether one of the files read has the content of this one, under whatever name."""
    return any(part.fingerprint(0).sha256 == source.sha256 for part in sources.parts(path) for source in read)


def _fields(
    part: Part,
    roles: Sequence[Role],
    chosen: Mapping[str, str],
    *,
    attributes: Sequence[str],
    numbers: Sequence[str] = (),
) -> dict[str, Field]:
    """The columns of one part by role, with attributes and further numbers."""
    named = dict.fromkeys(attributes, "segments or strata") | dict.fromkeys(numbers, "metrics or before")
    values = {role.name: role.rules for role in roles}
    here = {role: name for role, name in chosen.items() if role in values}
    needed = [role.name for role in roles if role.required]
    of_users = "team" in needed and roles_of.match(part.columns, ["arm"], {}, part.name).has("arm")
    otherwise = "; a table with one row per user is given as users=FILE" if of_users else ""
    columns = roles_of.match(part.columns, list(values), here, part.name, attributes, named).resolved(needed, otherwise)
    fields = {role: Field(name, values[role]) for role, name in columns.items()}
    fields |= {f"number {name}": Field(name, rules.MEASURED) for name in numbers}
    return fields | {f"attribute {name}": Field(name, rules.ANY) for name in attributes}


def named(fields: Fields) -> dict[str, str]:
    """The columns of the roles of a part as it calls them."""
    return {role: field.column for role, field in fields.items() if " " not in role}


def _texts(rows: Table) -> dict[str, np.ndarray]:
    """The columns of text, empty where nothing stands; raises InputError where an id or a team is empty."""
    texts = {role: rows.texts(role) for role, field in rows.blocks[0].fields.items() if not field.is_number}
    for role, cells in texts.items():
        field = rows.blocks[0].fields[role]
        cells[cells == None] = ""  # noqa: E711 - elementwise
        empty = np.flatnonzero(cells == "")
        if empty.size and field.rules:
            part, row = rows.locate(int(empty[0]))
            raise rules.PRESENT.error(part, field.column, None, row)
    return {role: cells.astype(str) for role, cells in texts.items()}


def arms_of(teams: Iterable[str], arms: Sequence[str], neutral: str | None) -> list[str]:
    """The arms as named, or the two that were found: a third one could be a word for no team, so it must be named."""
    there = sorted(set(teams) - {neutral})
    if arms or len(there) == 2:
        return list(arms or there)
    listed = ", ".join(there) or "none"
    hint = f"; name the rankers, arms='{','.join(there)}', or what stands for no team, neutral={there[-1]!r}"
    raise InputError(f"team must hold two arms, got {listed}{hint if len(there) > 2 else ''}")


def of_session(session: np.ndarray, values: np.ndarray, name: str) -> np.ndarray:
    """One text a session, in the order of `codes`."""
    number, names = codes(session)
    first = values[np.unique(number, return_index=True)[1]]
    wrong = np.flatnonzero(values != first[number])
    if wrong.size:
        at = wrong[0]
        got = f"got {values[at]} after {first[number[at]]} in session {names[number[at]]}"
        raise RowError(name, f"must have one value per session, {got}", at)
    return first

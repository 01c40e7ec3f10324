"""Logs of interleaved sessions and tables of users as checked arrays: every error names file, column, row and value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, RowError, codes, measurable
from evalkit.online import sessions
from evalkit.online.sessions import Log
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Part, Source

LOG_ROLES = ("session", "position", "team", "outcome", "user", "item")
USER_ROLES = ("user", "arm")


@dataclass(frozen=True)
class SessionLog:
    """A checked log, the attributes of each session, and what was read.

    repeated: items shown twice in one session, None without an item column. clustered: a user column was there.
    """

    log: Log
    attributes: Mapping[str, np.ndarray]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    repeated: int | None
    clustered: bool


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
    roles = [_roles(part, LOG_ROLES, columns, needed=LOG_ROLES[:4], taken=segments) for part in parts]
    text, numbers = ("session", "team", "user", "item"), ("position", "outcome")
    read = [_load(part, found, text, numbers, segments) for part, found in zip(parts, roles, strict=True)]
    whole = {name: np.concatenate([one[name] for one in read]) for name in read[0]}
    prints = _fingerprints(parts, read)
    try:
        log = sessions.read_log(
            *(whole[name] for name in ("session", "position", "team", "outcome")),
            unit=whole.get("user"),
            arms=_arms(whole["team"], arms, neutral),
            neutral=neutral,
        )
        found = {name: _of_session(whole["session"], whole[f"attribute {name}"], name) for name in segments}
    except InputError as error:
        raise located(error, prints, roles[0]) from None
    repeated = _repeated(whole["session"], whole["item"]) if "item" in whole else None
    return SessionLog(log, found, roles[0], prints, repeated, "user" in whole)


def read_users(
    data: Any, *, columns: Mapping[str, str], numbers: Sequence[str], attributes: Sequence[str]
) -> UserTable:
    """A table of users: its arm, its numbers (one column or more) and its texts.

    Raises InputError where a column is missing, an arm is empty or a number is none.
    """
    parts = sources.parts(data)
    for part in parts:
        for name in numbers:
            roles_of.require(part.columns, name, part.name, "metrics or before")
    roles = [_roles(part, USER_ROLES, columns, needed=("arm",), taken=attributes) for part in parts]
    read = [
        _load(part, found | {name: name for name in numbers}, USER_ROLES, numbers, attributes)
        for part, found in zip(parts, roles, strict=True)
    ]
    whole = {name: np.concatenate([one[name] for one in read]) for name in read[0]}
    user = whole.get("user", np.arange(whole["arm"].size).astype(str))
    found = {name: whole[f"attribute {name}"] for name in attributes}
    values = {name: whole[name] for name in numbers}
    return UserTable(user, whole["arm"], values, found, roles[0], _fingerprints(parts, read))


def located(error: InputError, read: Sequence[Source], columns: Mapping[str, str]) -> InputError:
    """The error with its file, its column's own name and its row in that file, counted from 1.

    >>> two = [Source("a.csv", 3), Source("b.csv", 3)]
    >>> located(RowError("team", "must be one of a, b, got 'c'", 4), two, {"team": "ranker"})
    InputError("b.csv: ranker must be one of a, b, got 'c' (row 2)")
    """
    if not isinstance(error, RowError):
        return InputError(f"{', '.join(dict.fromkeys(one.name for one in read))}: {error}")
    ends = np.cumsum([one.rows for one in read])
    file = int(np.searchsorted(ends, error.row, side="right"))
    row = error.row - int(ends[file]) + read[file].rows + 1
    return InputError(f"{read[file].name}: {error.text(columns.get(error.column, error.column), row)}")


def column_names(data: Any) -> set[str]:
    """The columns that every file of the input has."""
    return set.intersection(*(set(part.columns) for part in sources.parts(data)))


def holds(read: Sequence[Source], path: str) -> bool:
    """Whether one of the files read has the content of this one, under whatever name."""
    return any(part.fingerprint(0).sha256 == one.sha256 for part in sources.parts(path) for one in read)


def _roles(
    part: Part, roles: Sequence[str], given: Mapping[str, str], *, needed: Sequence[str], taken: Sequence[str]
) -> dict[str, str]:
    here = {role: name for role, name in given.items() if role in roles}
    found = roles_of.resolve(part.columns, roles, here, part.name, taken)
    for role in needed:
        if role not in found:
            raise roles_of.missing(role, part.columns, part.name)
    return found


def _load(
    part: Part, roles: Mapping[str, str], text: Sequence[str], numbers: Sequence[str], attributes: Sequence[str]
) -> dict[str, np.ndarray]:
    """The columns of one part: texts (empty where nothing stands), finite doubles, attributes."""
    for name in attributes:
        roles_of.require(part.columns, name, part.name, "segments or strata")
    texts = {role: roles[role] for role in text if role in roles}
    texts |= {f"attribute {name}": name for name in attributes}
    table = part.load(texts, {role: roles[role] for role in numbers})
    if len(next(iter(table.values()))) == 0:
        raise part.no_rows()
    found = {role: _text(table[role]) for role in texts}
    for role in [role for role in text if role in texts]:
        _refuse_missing(part, roles[role], found[role])
    return found | {role: _finite(table[role], roles[role], part) for role in numbers}


def _text(column: Any) -> np.ndarray:
    return column.fill_null("").to_numpy(zero_copy_only=False).astype(str)


def _refuse_missing(part: Part, name: str, values: np.ndarray) -> None:
    empty = np.flatnonzero(values == "")
    if empty.size:
        error = RowError(name, "must be given on every row, got nothing", empty[0], empty.size)
        raise located(error, [Source(part.name, values.size)], {})


def _finite(column: Any, name: str, part: Part) -> Floats:
    empty = column.is_null().to_numpy(zero_copy_only=False)
    values = column.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64)
    wrong = np.flatnonzero(empty | ~np.isfinite(values))
    if wrong.size:
        got = "nothing" if empty[wrong[0]] else values[wrong[0]]
        error = RowError(name, f"must be a finite number, got {got}", wrong[0], wrong.size)
        raise located(error, [Source(part.name, values.size)], {})
    measurable(name, values, lambda row: part.place(row + 1))
    return values


def _arms(team: np.ndarray, arms: Sequence[str], neutral: str | None) -> list[str]:
    """The arms as named, or the two that were found: a third one could be a word for no team, so it must be named."""
    there = sorted(set(np.unique(team).tolist()) - {neutral})
    if arms or len(there) == 2:
        return list(arms or there)
    listed = ", ".join(there) or "none"
    hint = f"; name the rankers, arms='{','.join(there)}', or what stands for no team, neutral={there[-1]!r}"
    raise InputError(f"team must hold two arms, got {listed}{hint if len(there) > 2 else ''}")


def _of_session(session: np.ndarray, values: np.ndarray, name: str) -> np.ndarray:
    """One text a session, in the order of `codes`."""
    number, names = codes(session)
    first = values[np.unique(number, return_index=True)[1]]
    wrong = np.flatnonzero(values != first[number])
    if wrong.size:
        at = wrong[0]
        got = f"got {values[at]} after {first[number[at]]} in session {names[number[at]]}"
        raise RowError(name, f"must have one value a session, {got}", at)
    return first


def _repeated(session: np.ndarray, item: np.ndarray) -> int:
    """Items shown again in the same session."""
    key = codes(session)[0] * (int(codes(item)[0].max()) + 1) + codes(item)[0]
    return int(key.size - np.unique(key).size)


def _fingerprints(parts: Sequence[Part], read: Sequence[Mapping[str, np.ndarray]]) -> tuple[Source, ...]:
    rows = [len(next(iter(one.values()))) for one in read]
    return tuple(part.fingerprint(n) for part, n in zip(parts, rows, strict=True))

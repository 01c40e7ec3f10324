"""Logs of interleaved sessions that are reduced user by user: what an engine is asked before that, and every refusal.

The errors are those of logs in memory: the rows of a session that is refused go through the code that reads a log.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from evalkit.arrays import InputError, RowError
from evalkit.online import log_shards, logs, refusals, sessions
from evalkit.online.log_shards import Contradicting, LogShard, OfLog, Reading, Twice
from evalkit.online.sessions import NEUTRAL
from evalkit.reading.engines.base import Engine, checked
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.reductions import shards, tabled
from evalkit.reading.reductions.rereading import reread
from evalkit.reading.reductions.shards import Plan
from evalkit.reading.reductions.tabled import Piece, Tabled
from evalkit.reading.tables.parts import Part
from evalkit.reading.tables.rules import Field, split

AGAIN = 1_000  # sessions that contradict themselves which are looked at for the first row
Check = Callable[[np.ndarray, np.ndarray], Any]  # of the session of each row and one more value of it


@dataclass(frozen=True, eq=False)
class LargeLog(Tabled):
    """A log that an engine holds.

    arms: in order. neutral: what stands for no team. sessions: how many there are. longest: items of the longest one.
    most: the largest outcome. named: role -> column. attributes: the columns for segments.
    """

    arms: tuple[str, ...]
    neutral: str | None
    sessions: int
    longest: int
    most: float
    named: Mapping[str, str]
    attributes: tuple[str, ...]

    @property
    def columns(self) -> Mapping[str, str]:
        return self.named

    @property
    def unit(self) -> str:
        """The column of the users, or of the sessions where there is none."""
        return "unit" if "user" in self.named else "session"

    def by_user(self, reading: Reading) -> Any:
        """What came of a reading of all rows, those of a user in one shard."""
        query = self._rows(["item"] if reading.items and "item" in self.named else [])
        function = OfLog(reading, self.unit, len(self.arms), self.plan.segments)
        more: dict[str, Any] = {"total": self.rows, **self.frames}
        return reading.whole(self.engine.reduce(query, self.unit, function, self.name, reading.merge, **more))

    def _rows(self, more: Sequence[str] = ()) -> str:
        """The SQL of the rows, with more columns."""
        columns = ["session", *(["unit"] if "user" in self.named else []), "position", "arm", "outcome", *more]
        return f"SELECT {', '.join([*columns, *self.plan.groups])} FROM ({self.query}) AS w"

    def shards(self) -> Iterator[tuple[Any, LogShard]]:
        """The names of some users, an Arrow array in order, and their log; all rows are read once more."""

        def stream(engine: Engine) -> Iterator[Any]:
            return engine.stream(self._rows(), self.unit, self.name, **self.frames)

        def make(table: Any, before: int) -> tuple[tuple[Any, LogShard], int]:
            users = shards.ordered(table[self.unit])[1]
            return (users, log_shards.shard(table, self.unit, len(self.arms), self.plan.segments)), len(table)

        return reread(self.engine, stream, make, name=self.name, rows=self.rows, check=self.sources)


def read(
    engine: Engine,
    parts: Sequence[Part],
    *,
    columns: Mapping[str, str],
    arms: Sequence[str],
    neutral: str | None,
    segments: Sequence[str],
) -> LargeLog:
    """The log checked as `logs.read_log` checks it, but for sessions that contradict themselves; raises what it raises.

    A reading of all rows finds such sessions, and `refusal` has the error for them.
    """
    t = _table(engine, parts, logs.log_fields(parts, columns, segments), tuple(segments), neutral)
    by_label, whole = _asked(t)
    t = _in_arms(t, arms, by_label)
    t = _measured(t, whole)
    _refuse_two_users(t)
    starts = replace(t, query=f"SELECT * FROM ({t.query}) AS p WHERE position = 1")
    grouped = tabled.grouped(starts, segments, None)
    return replace(grouped, query=t.query)


def _table(
    engine: Engine,
    parts: Sequence[Part],
    fields: Sequence[Mapping[str, Field]],
    segments: tuple[str, ...],
    neutral: str | None,
) -> LargeLog:
    """All rows by short names: session, unit, position, label of the team, outcome, item, segment<i>."""
    pieces = [_piece(engine, part, own, i) for i, (part, own) in enumerate(zip(parts, fields, strict=True))]
    counts = [checked(engine, piece.chosen, _shortened(own))["n"] for piece, own in zip(pieces, fields, strict=True)]
    quote, named = engine.dialect.quote, logs.named(fields[0])
    short = {"session": "session", "user": "unit", "position": "position", "team": "label", "outcome": "outcome"}
    cells = [f"{quote(role)} AS {name}" for role, name in {**short, "item": "item"}.items() if role in named]
    cells += [f"COALESCE({quote(f'attribute {name}')}, '') AS segment{i}" for i, name in enumerate(segments)]
    every = (f"SELECT {', '.join(cells)} FROM ({piece.chosen.query}) AS s{i}" for i, piece in enumerate(pieces))
    return LargeLog(
        engine=engine,
        pieces=pieces,
        query=" UNION ALL ".join(every),
        plan=Plan((), paired=False, hits=(), scale=None, truth="arm"),
        counts=counts,
        rows=sum(counts),
        slices={},
        arms=(),
        neutral=neutral,
        sessions=0,
        longest=0,
        most=0.0,
        named=named,
        attributes=segments,
    )


def _piece(engine: Engine, part: Part, fields: Mapping[str, Field], index: int) -> Piece:
    chosen = part.select(*split(fields), engine.dialect, frame=f"frame{index}")
    return Piece(part, Layout({}, {}), chosen, "")


def _shortened(fields: Mapping[str, Field]) -> dict[str, Field]:
    """The columns with the rule that texts which a page repeats are short."""
    repeated = [role for role in fields if role == "team" or role.startswith("attribute ")]
    return {**fields, **{role: refusals.short(fields[role]) for role in repeated}}


# Arms and outcomes ----------------------------------------------------------------------------------------------------


def _asked(t: LargeLog) -> tuple[dict[str, int], Mapping[str, Any]]:
    """The rows of each label, and the totals of all rows, by one query."""
    cells = [
        "count(*) AS n",
        "count(*) FILTER (WHERE outcome < 0) AS negative",
        "max(outcome) AS most",
        "count(*) FILTER (WHERE position = 1) AS sessions",
        "max(position) AS longest",
        "count(DISTINCT position) AS places",
    ]
    every = ", ".join(["label", "GROUPING(label) AS whole", *cells])
    rows = t.ask(every, "GROUP BY GROUPING SETS ((label), ())").to_pylist()
    return {row["label"]: row["n"] for row in rows if not row["whole"]}, next(row for row in rows if row["whole"])


def _in_arms(t: LargeLog, arms: Sequence[str], rows: Mapping[str, int]) -> LargeLog:
    """The rows with the number of each one's arm, −1 where neutral; raises InputError for a team that is none.

    rows: of each label.
    """
    named = logs.arms_of(rows, arms, t.neutral)
    known = [*named, *([] if t.neutral is None else [t.neutral])]
    if unknown := sum(n for label, n in rows.items() if label not in known):
        literals = ", ".join(map(t.engine.dialect.literal, known))
        piece, row, label = refusals.first(t, f"{t.engine.dialect.quote('team')} NOT IN ({literals})", "team")
        raise refusals.refused(t, "team", sessions.unknown_team(label, known), piece, row, unknown)
    sessions.refuse_missing(named, rows)
    cases = " ".join(f"WHEN {t.engine.dialect.literal(name)} THEN {i}" for i, name in enumerate(named))
    query = f"SELECT CAST(CASE label {cases} ELSE {NEUTRAL} END AS BIGINT) AS arm, * FROM ({t.query}) AS a"
    return replace(t, query=query, arms=tuple(named))


def _measured(t: LargeLog, row: Mapping[str, Any]) -> LargeLog:
    """How many sessions there are, the longest, the largest outcome; raises InputError for an outcome below 0."""
    if row["negative"]:
        piece, at, value = refusals.first(t, f"{t.engine.dialect.quote('outcome')} < 0", "outcome")
        raise refusals.refused(t, "outcome", sessions.below_zero(float(value)), piece, at, int(row["negative"]))
    if row["longest"] != row["places"]:
        raise refusal(t)
    return replace(t, sessions=int(row["sessions"]), longest=int(row["longest"]), most=float(row["most"]))


# Sessions that contradict themselves ----------------------------------------------------------------------------------


def _refuse_two_users(t: LargeLog) -> None:
    """Raises InputError where a session has rows of two users, and with each of them begins at position 1.

    One that does not begin there is found by a reading: `refusal` has its error.
    """
    if "user" in t.named:
        twice, query = Twice(AGAIN), f"SELECT session FROM ({t.query}) AS f WHERE position = 1"
        names = t.engine.reduce(query, "session", twice, t.name, twice.merge, total=t.rows, **t.frames)
        _refuse(t, names["session"].to_pylist(), "user", sessions.check_users)


def refusal(t: LargeLog) -> InputError:
    """The error for the first session that contradicts itself; a reading found such ones.

    A session that has two users is none of either.
    """
    names = t.by_user(Contradicting(AGAIN))
    if "user" in t.named:
        _refuse(t, names[sessions.POSITION], "user", sessions.check_users)
    _refuse(t, names[sessions.POSITION][:1], "position", sessions.check_positions)
    for i, name in enumerate(t.attributes):
        _refuse(t, names.get(f"segment{i}", []), f"attribute {name}", partial(logs.of_session, name=name))
    return tabled.changed(t.name)


def _refuse(t: LargeLog, names: Sequence[str], role: str, check: Check) -> None:
    """Raises the error that the rows of these sessions give in memory, if any. check: of a role's values."""
    session, places, rows = t.engine.dialect.quote("session"), list[tuple[int, int]](), list[Any]()
    condition, cells = f"{session} IN ({', '.join(map(t.engine.dialect.literal, names))})", t.engine.dialect.quote(role)
    for i, piece in enumerate(t.pieces if names else ()):
        some = t.engine.where(piece.chosen, condition, f"{session} AS session, {cells} AS value", tabled.SEEN)
        places += [(i, row["n"]) for row in some]
        rows += [(row["session"], "" if row["value"] is None else row["value"]) for row in some]
    try:
        check(*(np.array([row[side] for row in rows]) for side in (0, 1)))
    except RowError as error:
        raise refusals.refused(t, error.column, error.rule, *places[error.row]) from None

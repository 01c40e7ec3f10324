"""A shard of a log, the rows of whole users, as a log in memory: sorted by session and position, one user a session.

Everything here is fit to be sent to another machine, and nothing depends on the order of rows or shards.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.catalogue.preferences import Side
from evalkit.online import sessions
from evalkit.online.sessions import Log
from evalkit.reading.reductions import shards
from evalkit.reading.reductions.shards import Segment


@dataclass(frozen=True, eq=False)
class LogShard:
    """The log of some users, who are numbers. slice: of each session, one column for segments after the other.

    slices: how many slices each column has. names: of the sessions. wrong: by column the numbers of the sessions that
    contradict themselves in it, by positions that are not those of one user, 1, 2, 3, …, or by several values; where
    there is any, nothing else holds. repeated: items shown twice in one session. credit: by session and arm.
    """

    log: Log
    slice: Sequence[Ints]
    slices: Sequence[int]
    names: Any
    wrong: Mapping[str, Ints]
    repeated: int
    credit: Floats

    @property
    def broken(self) -> bool:
        """Whether a session contradicts itself."""
        return any(len(numbers) for numbers in self.wrong.values())

    def groups(self) -> Iterator[tuple[int, tuple[Side, ...]]]:
        """The number of each group, 0 for all sessions, and each arm with one row a user who has sessions in it."""
        yield 0, sessions.sides(self.log.unit, self.credit)
        number = 1
        for part, size in zip(self.slice, self.slices, strict=True):
            for i in range(size):
                here = np.flatnonzero(part == i)
                if len(here):
                    yield number + i, sessions.sides(self.log.unit[here], self.credit[here])
            number += size


class Reading(Protocol):
    """A reading of all shards: its result for a shard, two results as one, and what came of it. items: reads items."""

    @property
    def items(self) -> bool: ...

    def __call__(self, shard: LogShard) -> Any: ...

    def merge(self, table: Any) -> Any: ...

    def whole(self, table: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class OfLog:
    """What a reading makes of a shard, from the table of it that an engine gives. unit: the column of the users."""

    reading: Reading
    unit: str
    arms: int
    segments: Sequence[Segment]

    def __call__(self, table: Any) -> Any:
        """The result, an Arrow table."""
        return self.reading(shard(table, self.unit, self.arms, self.segments))


def shard(table: Any, unit: str, arms: int, segments: Sequence[Segment]) -> LogShard:
    """The rows of an Arrow table."""
    (session, names), position = shards.ordered(table["session"]), table["position"].to_numpy()
    order = np.lexsort((position, session))
    number, place = session[order], position[order]
    start = np.flatnonzero(np.diff(number, prepend=-1))
    first = order[start]
    misplaced = number[place != np.arange(len(place)) - start[number] + 1]
    team, outcome = (table[name].to_numpy()[order] for name in ("arm", "outcome"))
    users = session if unit == "session" else shards.ordered(table[unit])[0]
    log = Log(number, place.astype(np.int64), team, outcome, users[first], tuple(map(str, range(arms))), names)
    torn = session[users != log.unit[session]]  # users of one shard who share a session
    wrong, parts = {sessions.POSITION: np.unique(np.concatenate([misplaced, torn]))}, []
    for i, segment in enumerate(segments):
        known = shards.places_of(table[f"segment{i}"], segment.values)
        value = np.nan_to_num(known, nan=-1).astype(np.int64)  # no session begins with what is not known
        wrong[f"segment{i}"] = np.unique(session[value != value[first][session]])
        parts.append(segment.of[value[first]])
    slices = [int(segment.of.max()) + 1 for segment in segments]
    return LogShard(log, parts, slices, names, wrong, _repeated(table, session), sessions.credit(log))


def _repeated(table: Any, session: Ints) -> int:
    """Items shown again in the same session; 0 where items are not read."""
    return sessions.repeated(session, shards.ordered(table["item"])[0]) if "item" in table.column_names else 0


# Sessions that contradict themselves ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contradicting:
    """A reading of the names of sessions that contradict themselves, by column: the first so many."""

    most: int
    items: bool = False

    def __call__(self, shard: LogShard) -> Any:
        """The result of a shard."""
        import pyarrow as pa

        return pa.table(
            {column: [shard.names.take(pa.array(at[: self.most])).to_pylist()] for column, at in shard.wrong.items()},
            schema=pa.schema([(column, pa.list_(pa.string())) for column in shard.wrong]),
        )

    def merge(self, table: Any) -> Any:
        """Two results as one."""
        import pyarrow as pa

        return pa.table({name: [named] for name, named in self.whole(table).items()}, schema=table.schema)

    def whole(self, table: Any) -> dict[str, list[str]]:
        """The names by column."""
        columns = {name: chain(*table[name].to_pylist()) for name in table.column_names}
        return {name: sorted(set(named), key=str.encode)[: self.most] for name, named in columns.items()}


@dataclass(frozen=True)
class Twice:
    """The reductions of a table of sessions, equal ones in one shard: the first so many names that it has twice."""

    most: int

    def __call__(self, table: Any) -> Any:
        """The result of a shard."""
        import pyarrow as pa

        session, names = shards.ordered(table["session"])
        twice = np.flatnonzero(np.bincount(session) > 1)[: self.most]
        return pa.table({"session": names.take(pa.array(twice)).cast(pa.string())})

    def merge(self, table: Any) -> Any:
        """Two results as one."""
        return table.sort_by("session").slice(0, self.most)

"""A shard of a log, the rows of whole users, as a log in memory: sorted by session and position, one user a session.

Everything here is fit to be sent to another machine, and nothing depends on the order of rows or shards.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

    slices: how many slices each column has. broken: rows whose position is not the next one of their session; where
    there is any, nothing else holds. repeated: items shown twice in one session. credit: by session and arm.
    """

    log: Log
    slice: Sequence[Ints]
    slices: Sequence[int]
    broken: int
    repeated: int
    credit: Floats

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
    session, position = shards.ordered(table["session"]), table["position"].to_numpy()
    order = np.lexsort((position, session))
    number, place = session[order], position[order]
    start = np.flatnonzero(np.diff(number, prepend=-1))
    first = order[start]
    broken = int(np.count_nonzero(place != np.arange(len(place)) - start[number] + 1))
    team, outcome = (table[name].to_numpy()[order] for name in ("arm", "outcome"))
    users = session if unit == "session" else shards.ordered(table[unit])
    log = Log(number, place.astype(np.int64), team, outcome, users[first], tuple(map(str, range(arms))))
    parts = [part.of[shards.places_of(table[f"segment{i}"], part.values)][first] for i, part in enumerate(segments)]
    slices = [int(part.of.max()) + 1 for part in segments]
    return LogShard(log, parts, slices, broken, _repeated(table, session), sessions.credit(log))


def _repeated(table: Any, session: Ints) -> int:
    """Items shown again in the same session; 0 where items are not read."""
    return sessions.repeated(session, shards.ordered(table["item"])) if "item" in table.column_names else 0

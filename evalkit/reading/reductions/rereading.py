"""The rows of a table that was added up, read once more with what names them: a shard at a time, within the memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evalkit.arrays import Floats, Ints
from evalkit.metrics.rows import Shard
from evalkit.reading.engines.base import Engine
from evalkit.reading.reductions import shards, tabled
from evalkit.reading.reductions.tabled import Tabled
from evalkit.system import progress

Made = TypeVar("Made")


def reread(
    engine: Engine,
    stream: Callable[[Engine], Iterator[Any]],
    make: Callable[[Any, int], tuple[Made, int]],
    *,
    name: str,
    rows: int,
    check: Callable[[], Any],
) -> Iterator[Made]:
    """Read all tables once more, by an engine like this one, which may be closed; yield what `make` returns for each.

    make: (table, rows before it) -> the result, and the rows of the table. check: raises InputError if a file has
    changed. name: the input in an error. Raises InputError if the number of rows differs from `rows`.
    """
    with engine.again() as open_engine, progress("rereading", rows, "rows") as draw:
        done = 0
        for table in stream(open_engine):
            made, more = make(table, done)
            done += more
            yield made
            draw(done)
        check()
        if done != rows:
            raise tabled.changed(name)


@dataclass(frozen=True, eq=False)
class Named:
    """A shard with the names of its rows as Arrow arrays: ids or row numbers from 1, and units or None.

    weight: as it was read. slices: of each column the labels, and the number of each row's label.
    """

    shard: Shard
    id: Any
    unit: Any
    weight: Floats | None
    slices: Mapping[str, tuple[Sequence[str], Ints]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Rereading:
    """A table whose engine may be closed. rows: those that every system has."""

    table: Tabled
    rows: int

    def shards(self) -> Iterator[Named]:
        """The rows, in the order of the input where systems need not be paired; raises InputError if it has changed."""
        t = self.table
        columns = dict.fromkeys([*t.plan.columns, *([t.naming] if t.naming else [])])
        query = f"SELECT {', '.join(columns)} FROM ({t.query}) AS w"

        def stream(engine: Engine) -> Iterator[Any]:
            return engine.stream(query, t.together(by_unit=False), t.name, **t.frames)

        def make(table: Any, before: int) -> tuple[Named, int]:
            named = _named(table, t, before)
            return named, len(named.id)

        return reread(t.engine, stream, make, name=t.name, rows=self.rows, check=t.sources)


def _named(table: Any, t: Tabled, before: int) -> Named:
    """The shard of a table. before: rows that came earlier."""
    wanted = {t.naming: t.naming, "unit": t.plan.unit, "weight": t.plan.scale is not None}
    side = shards.shared(table, t.plan, [name for name, there in wanted.items() if name and there])
    of = {name: side[name].combine_chunks() for name in side.column_names}
    shard = shards.shard(table, t.plan)
    of_columns = zip(t.slices.items(), shard.slice, strict=False)  # A/B users have their strata after these
    slices = {column: (labels, code) for (column, labels), code in of_columns}
    weight = of["weight"].to_numpy() if "weight" in of else None
    id = _texts(of[t.naming]) if t.naming else _numbers(before, len(shard.label))
    return Named(shard, id, of.get("unit"), weight, slices)


def _numbers(before: int, rows: int) -> Any:
    """The numbers of rows, as texts."""
    import pyarrow as pa

    return _texts(pa.array(range(before + 1, before + rows + 1), pa.int64()))


def _texts(names: Any) -> Any:
    """Ids as they are, and numbers as texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.cast(names, pa.string()) if pa.types.is_integer(names.type) else names

"""The interface of an engine: SQL queries, and the reduction of a table shard by shard."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np

from evalkit.arrays import InputError, Record
from evalkit.limits import ReadingLimits
from evalkit.machine.progress_bars import progress
from evalkit.reading.tables.duck import Dialect
from evalkit.reading.tables.parts import Frames, InputPart, Selection, explain_failures, names
from evalkit.reading.tables.rules import CellValue, CheckedColumn, Fields, columns_by_type
from evalkit.reading.tables.table import CheckedPart, CheckedTable, read, too_many_error

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Query:
    """A query to an engine.

    where: the name of the input in errors. frames: name in the query -> an Arrow table, or a table
    of the engine. group_column: a column of text, whose rows of one value come in one shard; None
    if shards may divide the rows anywhere. rows: the number of rows of the result, for the progress
    bar; 0 if it is not known. order_columns: those that order the rows of one group, so that sums
    of doubles are reproducible to the last bit; Spark ignores them, since its partitions come in
    any order.
    """

    sql: str
    where: str
    frames: Frames = field(default_factory=dict)
    group_column: str | None = None
    rows: int = 0
    order_columns: Sequence[str] = ()

    @classmethod
    def from_selection(cls, selection: Selection, cells: str, rest: str = "") -> "Query":
        """A query of cells (SQL) from a selection. rest: what follows the FROM clause."""
        return cls(
            f"SELECT {cells} FROM ({selection.query}) AS s {rest}",
            selection.part.name,
            selection.frames,
        )

    def outer_query(self, cells: str, rest: str = "") -> "Query":
        """A query of cells (SQL) from the result of this one. rest: what follows the FROM
        clause.
        """
        return replace(self, sql=f"SELECT {cells} FROM ({self.sql}) AS q {rest}")

    @classmethod
    def from_selections(cls, selections: Sequence[Selection], cells: Sequence[str]) -> "Query":
        """A query of all rows of several selections, in sequence. cells: the SQL of those of
        each.
        """
        queries = []
        frames: dict[str, pa.Table] = {}
        for i, (selection, cells_of_selection) in enumerate(zip(selections, cells, strict=True)):
            queries.append(f"SELECT {cells_of_selection} FROM ({selection.query}) AS p{i}")
            frames |= selection.frames
        where = names([selection.part for selection in selections])
        return cls(" UNION ALL ".join(queries), where, frames)


Result = TypeVar("Result")


class Engine(Protocol):
    """DuckDB or Spark, for rows that may not fit into memory.

    dialect: of its SQL. is_for_memory: True for one that is only used if they do fit.
    """

    dialect: ClassVar[Dialect]
    is_for_memory: ClassVar[bool] = False

    @property
    def reading(self) -> ReadingLimits:
        """The limits on the number of rows in memory."""

    def table(self, query: Query) -> "pa.Table":
        """The result as one Arrow table; an error becomes one line that begins with the input's
        name.
        """

    def total(self, query: Query, summarise: Callable[..., Result]) -> Result:
        """The sum, by `+`, of the results of `summarise` for every shard, an Arrow table; None if
        all of them are None.

        `summarise` and its results must be picklable. They must not depend on the order of shards,
        which Spark does not fix. `summarise` also gets the number of rows before the shard, if it
        is known.
        """

    def stream(self, query: Query) -> Iterator["pa.Table"]:
        """The result in shards, as Arrow tables, in its order if the engine keeps one.

        One shard is in memory at a time; for Spark one partition.
        """

    def again(self) -> AbstractContextManager["Engine"]:
        """An engine like this one, which may be closed by now, for another reading."""

    def cached(self, selection: Selection, frame: str) -> Selection:
        """The selection, stored if it will be queried repeatedly. frame: the name of the table that
        it then reads.
        """
        return selection

    def where(self, selection: Selection, condition: str, cells: str, limit: int) -> list[Record]:
        """Number n, from 1 (0 if rows have none), and cells (SQL) of some rows for which the
        condition holds.
        """

    def first(self, selection: Selection, wrong: str, role: str) -> tuple[int, CellValue]:
        """Number, from 1 (0 if rows have none), and value of a row for which the condition
        holds.
        """
        row = self.where(selection, wrong, f"{self.dialect.quote(role)} AS value", 1)[0]
        return row["n"], row["value"]


def add_results(total: Any, result: Any) -> Any:
    """The sum of two results of shards, which can be added; None stands for nothing."""
    if total is None:
        return result
    return total if result is None else total + result


def profile(
    engine: Engine, selection: Selection, cells: Sequence[str], rest: str = ""
) -> list[Record]:
    """The number of rows, n, and cells (SQL) of a selection, or of each group that `rest` makes.

    rest: what follows the FROM clause. Raises InputError if there is no row.
    """
    with explain_failures(selection):
        query = Query.from_selection(selection, ", ".join(["count(*) AS n", *cells]), rest)
        groups = engine.table(query).to_pylist()
    with_rows = [group for group in groups if group["n"]]
    if not with_rows:
        raise selection.part.no_rows_error()
    return with_rows


def checked(
    engine: Engine, selection: Selection, fields: Fields, cells: Sequence[str] = (), rest: str = ""
) -> list[Record]:
    """What `profile` returns, of a selection whose values follow the rules of their fields.

    Raises InputError if there is no row, or for the first value that breaks a rule.
    """
    checks = []
    for role, column_field in fields.items():
        checks += [(role, column_field.column, rule) for rule in column_field.rules]
    wrong = [rule.wrong(role, engine.dialect) for role, _, rule in checks]
    counts = [
        f"count(*) FILTER (WHERE {condition}) AS wrong{i}" for i, condition in enumerate(wrong)
    ]
    groups = profile(engine, selection, [*cells, *counts], rest)
    for i, (role, column, rule) in enumerate(checks):
        if any(group[f"wrong{i}"] for group in groups):
            row, value = engine.first(selection, wrong[i], role)
            raise rule.error(selection.part.name, column, value, row)
    return groups


def checked_chunks(
    engine: Engine, selection: Selection, fields: Fields
) -> Iterator[tuple[int | None, dict[str, CheckedColumn]]]:
    """The columns of a selection by role, checked, in pieces, each with the number of rows before
    it.

    This number is None if rows have no order. Raises InputError for the first value that breaks a
    rule of its column.
    """
    before = 0 if engine.dialect.row_number else None
    # No name is given to what is streamed: an error would keep it, and Spark's settings with it,
    # until it is collected.
    for table in _explained(
        engine.stream(Query(selection.query, selection.part.name, selection.frames)), selection
    ):
        columns = {role: table[role].combine_chunks() for role in fields}
        checked_columns = {
            role: of_role.check(columns[role], selection.part, before)
            for role, of_role in fields.items()
        }
        yield before, checked_columns
        if before is not None:
            before += len(table)
    if selection.source:
        selection.part.check(selection)


def _explained(tables: Iterator["pa.Table"], selection: Selection) -> Iterator["pa.Table"]:
    """The tables; an error of reading them is explained by the part. If a loop over this ends
    early, the iterator of the tables is closed.
    """
    try:
        yield from tables
    except InputError:
        if selection.source:
            selection.part.explain(selection)
        raise


def streamed(
    engine: Engine,
    parts: Sequence[InputPart],
    fields: Sequence[Fields],
    ids: Collection[str],
    max_rows: int,
) -> CheckedTable:
    """The columns of each part, read by an engine in pieces, so that only the columns are in
    memory.

    fields: those of each part. ids: roles of text that hardly repeats; other texts are stored as
    dictionaries. Raises InputError as `read` does, and for more than `max_rows` rows.
    """
    if engine.is_for_memory:
        table = read(parts, fields)
        if len(table) > max_rows:
            raise too_many_error(parts, "rows", max_rows)
        return table
    blocks = list[CheckedPart]()
    rows = 0
    with progress("reading", sum(part.rows for part in parts), "rows") as draw:
        for i, (part, fields_of_part) in enumerate(zip(parts, fields, strict=True)):
            chunks: dict[str, list[CheckedColumn]] = {role: [] for role in fields_of_part}
            rows_before = rows
            by_type = columns_by_type(fields_of_part)
            selection = part.select(
                by_type.texts, by_type.numbers, engine.dialect, frame=f"frame{i}"
            )
            for _, columns in checked_chunks(engine, selection, fields_of_part):
                for role in fields_of_part:
                    column = columns[role]
                    if not isinstance(column, np.ndarray) and role not in ids:
                        column = column.dictionary_encode()
                    chunks[role].append(column)
                rows += len(column)
                draw(rows)
                if rows > max_rows:
                    raise too_many_error(parts, "rows", max_rows)
            if rows == rows_before:
                raise part.no_rows_error()
            # chunks are released as they are joined
            joined = {role: _joined(chunks.pop(role)) for role in fields_of_part}
            blocks.append(CheckedPart(part, fields_of_part, joined, rows - rows_before))
    return CheckedTable(blocks)


def _joined(chunks: list[CheckedColumn]) -> CheckedColumn:
    """The chunks in sequence: arrays of numpy, and dictionaries of Arrow, as one array; other texts
    as a chunked array.
    """
    import pyarrow as pa

    if isinstance(chunks[0], np.ndarray):
        return np.concatenate(chunks)
    column = pa.chunked_array(chunks)
    if pa.types.is_dictionary(column.type):
        return column.unify_dictionaries().combine_chunks()
    return column


# Stretches of rows --------------------------------------------------------------------------------


# the column with the hash of the texts in `Query.group_column`: engines sort hashes in half the
# time of texts
HASH = "hash of by"


def tables(batches: Iterable["pa.RecordBatch"], size: int) -> Iterator["pa.Table"]:
    """The rows of the batches as Arrow tables of `size` rows, the last one shorter, whatever the
    sizes of the batches.

    >>> import pyarrow as pa
    >>> [
    ...     len(table)
    ...     for table in tables(
    ...         [pa.record_batch({"x": [1, 2, 3]}), pa.record_batch({"x": [4, 5]})], 2
    ...     )
    ... ]
    [2, 2, 1]
    """
    import pyarrow as pa

    waiting: list[pa.Table] = []
    for batch in batches:
        table = pa.Table.from_batches([*waiting, batch])
        while len(table) >= size:
            yield table.slice(0, size)
            table = table.slice(size)
        waiting = table.to_batches()
    if waiting:
        yield pa.Table.from_batches(waiting)


def whole_groups(parts: Iterable["pa.Table"]) -> Iterator["pa.Table"]:
    """Arrow tables of whole groups of the column `HASH`, without it, from tables whose equal values
    are neighbours.

    The last group of each table is held back until the next one shows where it ends, so that no
    group is in two tables.

    >>> import pyarrow as pa
    >>> parts = [
    ...     pa.table({"q": ["a", "b"], HASH: [7, 8]}),
    ...     pa.table({"q": ["c", "d"], HASH: [8, 9]}),
    ... ]
    >>> [one["q"].to_pylist() for one in whole_groups(parts)]
    [['a'], ['b', 'c'], ['d']]
    """
    import pyarrow as pa

    waiting: list[pa.Table] = []
    for table in parts:
        rows = pa.concat_tables([*waiting, table])
        cut = _last_start(rows[HASH])
        if cut:
            yield rows.slice(0, cut).drop_columns([HASH])
        waiting = [rows.slice(cut)]
    if waiting:
        yield waiting[0].drop_columns([HASH])


def _last_start(column: "pa.ChunkedArray") -> int:
    """The row with which the last group of equal neighbours begins."""
    import pyarrow.compute as pc

    before_group = np.flatnonzero(pc.not_equal(column, column[-1]).to_numpy())
    return int(before_group[-1]) + 1 if len(before_group) else 0

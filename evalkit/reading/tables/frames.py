"""Data frames of pandas, polars and Arrow, by the Arrow PyCapsule interface; record batches;
columns in memory.

Batches, of an iterator or of a reader such as a database client's, can be read only once and need
not fit into memory: they go to a Parquet file in the temporary folder first. Lists, numpy arrays
and columns become a frame.
"""

import re
import shutil
import warnings
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, filterfalse
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import InputError
from evalkit.machine import folders
from evalkit.parameters.reports import Arrays
from evalkit.reading.tables import formats
from evalkit.reading.tables.columns import refused
from evalkit.reading.tables.duck import DUCKDB, Dialect
from evalkit.reading.tables.parts import (
    HEAD,
    IDS,
    PANDAS_INDEX,
    STRETCH_ROWS,
    STRETCHES,
    ByRole,
    Frames,
    InputPart,
    Selection,
    stamp,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyspark.sql

NAME = "data frame"
BATCHES = "record batches"
INTERFACE = "__arrow_c_stream__"  # of pandas, polars, DuckDB and Arrow
SMALL = 100_000  # rows of a frame that a single thread converts
# Arrow's types of which Arrow writes the same texts as DuckDB, and those that it casts to doubles
SAME_TEXT_TYPES = re.compile(r"(large_)?string|u?int\d+|bool|dictionary<values=(large_)?string, .*")
# those whose cells are written so, by Arrow or, of doubles, by Python
SAME_HEAD_TYPES = re.compile(f"{SAME_TEXT_TYPES.pattern}|double")
CASTABLE_TYPES = re.compile(r"u?int\d+|halffloat|float|double|bool")


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame(InputPart):
    """A data frame as an Arrow table.

    float16_columns: those that the frame had as float16; the table has them as float32, because
    DuckDB has no float16. mixed_columns: those that held both texts and numbers; the table has them
    as texts.
    """

    table: "pa.Table"
    float16_columns: tuple[str, ...] = ()
    mixed_columns: Collection[str] = ()
    unnamed: ClassVar[bool] = True
    without_rows: ClassVar[str] = "the frame has columns and no rows"

    @property
    def known_rows(self) -> int:
        """The number of rows."""
        return len(self.table)

    @property
    def stored_types(self) -> Mapping[str, str]:
        """Column -> Arrow's name of its type, as the frame had it."""
        types = {column.name: str(column.type) for column in self.table.schema}
        # Arrow calls float16 halffloat
        return types | dict.fromkeys(self.float16_columns, "halffloat")

    @property
    def directions(self) -> Mapping[str, str]:
        """Metric -> which values are better, if the frame states it."""
        return formats.directions(self.table.schema)

    def select(
        self, text: ByRole, numbers: ByRole, dialect: Dialect = DUCKDB, frame: str = "frame"
    ) -> Selection:
        """The SQL for the columns by role. Raises InputError for a column of ids that holds both
        texts and numbers.
        """
        for role, column in text.items():
            if role in IDS and column in self.mixed_columns:
                raise InputError(
                    f"{self.name}: {column} must hold ids as text or whole numbers, got both in "
                    f"one column"
                )
        return super().select(text, numbers, dialect, frame)

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        """The table in memory, under the name `frame`."""
        return frame, {frame: self.table}

    def load(self, text: ByRole, numbers: ByRole) -> dict[str, "pa.Array"]:
        """Role -> the values of its column: an Arrow array of texts or of doubles.

        text, numbers: role -> column, of those that are read as texts and as doubles. Arrow
        converts the columns, which is quicker than a query by DuckDB. The query is needed if only
        some rows are selected, and for types of which the two would write different texts, such as
        dates.
        """
        types = self.stored_types  # column -> Arrow's name of its type
        text_types = [types.get(name, "") for name in text.values()]
        number_types = [types.get(name, "") for name in numbers.values()]
        has_same_text_types = all(map(SAME_TEXT_TYPES.fullmatch, text_types))
        gives_same_texts = has_same_text_types and not self.mixed_columns
        can_be_cast = all(map(CASTABLE_TYPES.fullmatch, number_types))
        if self.selected_rows or not (gives_same_texts and can_be_cast):
            return super().load(text, numbers)  # by a query
        columns = {role: _as_texts(self.table[name]) for role, name in text.items()}
        for role, name in numbers.items():
            # not safe: whole numbers above 2^53, which not all doubles hold, are rounded
            columns[role] = as_one_array(self.table[name].cast("float64", safe=False))
        return columns

    @cached_property
    def head(self) -> Mapping[str, list[str | None]]:
        """Column -> the cells of the first rows and of stretches over the table, as text, None if
        empty. As in `load`, a query writes them only if there is a column that nothing else writes
        as DuckDB does.
        """
        types = self.stored_types
        is_same_text = all(SAME_HEAD_TYPES.fullmatch(types.get(name, "")) for name in self.columns)
        if self.selected_rows or not is_same_text:
            return super().head
        rows = self.table.slice(0, HEAD)
        if self.head_is_spread:
            number = np.arange(1, self.rows + 1)
            step = self.rows // STRETCHES
            is_read = (number <= HEAD // 2) | (number % step >= step - STRETCH_ROWS)
            rows = self.table.take(np.flatnonzero(is_read)[:HEAD])
        return {name: _texts_of_cells(rows[name]) for name in self.columns}

    def _types(self, source: str, frames: Frames) -> Mapping[str, str]:
        """The engine's type of each column; text for an empty frame, whose columns may have types
        that no engine reads.
        """
        if not self.rows:
            return dict.fromkeys(self.columns, "VARCHAR")
        return super()._types(source, frames)


def _as_texts(column: "pa.ChunkedArray") -> "pa.Array":
    """A column of an Arrow table as one array of texts; an empty text becomes an empty cell, as in
    a CSV file.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    # large strings stay so: they may have more bytes than `pa.string` can hold, which is 2 GB
    if column.type != pa.large_string():
        column = column.cast(pa.string())
    texts = as_one_array(column)
    empty = pc.equal(texts, "")
    return pc.if_else(empty, None, texts) if pc.any(empty).as_py() else texts


def _texts_of_cells(column: "pa.ChunkedArray") -> list[str | None]:
    """The cells of a column of an Arrow table as texts; None for an empty cell, text or NaN."""
    if column.type != "double":
        texts: list[str | None] = _as_texts(column).to_pylist()
        return texts
    numbers = column.to_numpy() + 0.0  # NaN for an empty cell, and 0.0 for −0.0
    return [None if np.isnan(number) else str(number) for number in numbers.tolist()]


def as_one_array(column: "pa.ChunkedArray") -> "pa.Array":
    """A column of an Arrow table as one array; it is not copied if it is in one piece."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def part_in_memory(data: object) -> InputPart | None:
    """A table in memory, ready to be read; None for anything else, such as a path, a dict of
    several tables, or a Spark frame.

    data: a frame, a dict of columns, arrays of labels and predictions, or batches of rows from an
    iterator or Arrow reader, which are written to a temporary file first, as they come only once.
    Raises InputError for columns that differ in length, and for a frame that Arrow cannot read.
    """
    if isinstance(data, Mapping):
        has_columns_as_values = all(map(is_column, data.values()))
        return part_of_columns(data) if has_columns_as_values else None
    if isinstance(data, Arrays):
        return _frame_part(_table_of_arrays(data))
    if isinstance(data, Iterator) or type(data).__name__ == "RecordBatchReader":
        return _batches_part(data)
    is_frame = hasattr(data, INTERFACE)  # of pandas, polars or Arrow
    # that of a Spark frame would collect all of its rows in the memory of this machine
    if is_frame and not is_spark_frame(data):
        return _frame_part(data)
    return None


def part_of_columns(columns: Mapping[str, object]) -> Frame:
    """The part that holds columns by name, each a list or an array. Raises InputError if they
    differ in length, or one is not one value per row.
    """
    return _frame_part(_table_of_columns(columns))


def no_table_error(data: object) -> InputError:
    """The error for an input that is neither a path nor a table."""
    hint = "; give arrays as a dict of columns" if hasattr(data, "__array__") else ""
    return InputError(
        "data must be a path, a list of paths or a data frame (pandas, polars, Arrow, Spark), got "
        f"{type(data).__name__}{hint}"
    )


def is_spark_frame(data: object) -> TypeGuard["pyspark.sql.DataFrame"]:
    """True for a data frame of Spark: the module of its class says so, without an import of Spark,
    which takes seconds.
    """
    return any(str(base.__module__).startswith("pyspark.sql.") for base in type(data).__mro__)


def _frame_part(data: object) -> Frame:
    """A frame as an Arrow table, ready to be read, without the columns that Arrow makes of the
    index of a pandas frame.

    data: any object with Arrow's interface, such as a frame of pandas or polars. Raises InputError
    if Arrow cannot read it, and for invalid names of columns.
    """
    import pyarrow as pa

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The DataFrame has column names of mixed type")
            converted = _arrow_table(data)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        why = "; ".join(str(argument).splitlines()[0] for argument in error.args)
        raise InputError(f"the frame cannot be read: {why}") from None
    table = converted.table
    index_columns = list(filter(PANDAS_INDEX.fullmatch, table.column_names))
    table = table.drop_columns(index_columns)
    names = [str(name) or f"column {i}" for i, name in enumerate(table.column_names, start=1)]
    # renaming drops the metadata, in which a report may have stated the directions of metrics
    table = table.rename_columns(names).replace_schema_metadata(table.schema.metadata)
    float16_columns = [column.name for column in table.schema if column.type == pa.float16()]
    if float16_columns:  # a type that DuckDB does not have
        table = _with_float32(table, float16_columns)
    return Frame(
        name=NAME,
        columns=tuple(names),
        table=table,
        float16_columns=tuple(float16_columns),
        mixed_columns=converted.mixed_columns,
    )


def _with_float32(table: "pa.Table", columns: Sequence[str]) -> "pa.Table":
    """The Arrow table with these columns as float32."""
    for name in columns:
        place = table.column_names.index(name)
        table = table.set_column(place, name, table.column(place).cast("float32"))
    return table


class _Folder:
    """A temporary folder that is removed when nobody needs this any more, at the latest with the
    process.
    """

    def __init__(self) -> None:
        self.path = folders.new_scratch_folder()
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class Batches(formats.Parquet):
    """Record batches in a temporary Parquet file."""

    folder: _Folder
    unnamed: ClassVar[bool] = True

    fingerprint = InputPart.fingerprint


def _is_pandas(data: object) -> TypeGuard["pd.DataFrame"]:
    """True for a pandas frame whose columns have distinct names."""
    return (
        type(data).__module__.split(".")[0] == "pandas"
        and hasattr(data, "columns")
        and data.columns.is_unique
    )


def _without_intervals(data: object) -> object:
    """The frame with pandas' intervals, such as those of `pandas.cut`, as text: DuckDB does not
    survive them.
    """
    if not _is_pandas(data):
        return data
    texts = {}
    for name, kind in data.dtypes.items():
        # of a categorical column the type of its categories
        cell_type = getattr(getattr(kind, "categories", None), "dtype", kind)
        if str(cell_type).startswith("interval"):
            texts[str(name)] = data[name].astype(object).map(str, na_action="ignore")
    return data.assign(**texts) if texts else data


def _columns_of_texts_and_numbers(data: object) -> list[str]:
    """The columns of a pandas frame that hold both texts and numbers, which Arrow refuses; empty
    for other frames.
    """
    if not _is_pandas(data):
        return []
    names = []
    for name in data.columns:
        if isinstance(name, str) and data[name].dtype == object:
            types = set(data[name].dropna().map(type))
            if {str} < types <= {str, int, float, bool}:
                names.append(name)
    return names


class ConvertedFrame(NamedTuple):
    """A frame as an Arrow table, and the columns that held both texts and numbers.

    These columns are texts in the table, so that the error for a wrong cell can name it.
    """

    table: "pa.Table"
    mixed_columns: Sequence[str]


def _arrow_table(data: Any) -> ConvertedFrame:
    """Convert a frame to an Arrow table. Columns that hold both texts and numbers become texts, and
    are named beside the table. Raises what Arrow raises if it cannot be converted.

    data: a frame of pandas, or any object with Arrow's interface.
    """
    import pyarrow as pa

    mixed_columns: list[str] = []
    is_pandas = hasattr(data, "iloc")
    threads = None  # as many as Arrow likes
    if is_pandas and len(data) <= SMALL:
        threads = 1  # to start others would take longer than they save
    try:
        table = pa.table(data, nthreads=threads)
    except pa.ArrowException:  # Arrow refuses a pandas column of both texts and numbers
        mixed_columns = _columns_of_texts_and_numbers(data)
        if not mixed_columns:  # the error has another cause
            raise
        as_texts = {name: data[name].map(str, na_action="ignore") for name in mixed_columns}
        data = data.assign(**as_texts)
        table = pa.table(data)
    # A column of pandas' intervals crashes DuckDB, which may read the table: it becomes texts. The
    # word stands in the schema if a column has this type; if it is only a name, nothing changes.
    if "interval" in table.schema.to_string(show_schema_metadata=False):
        table = pa.table(_without_intervals(data))
    return ConvertedFrame(table, mixed_columns)


def _batches_part(data: "Iterator[object] | pa.RecordBatchReader") -> Batches:
    """The batches of an iterator or an Arrow reader, written to a temporary file. Raises InputError
    if there is no batch.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, stream = _stream(data)
    names = filterfalse(PANDAS_INDEX.fullmatch, schema.names)
    folder = _Folder()
    path = folder.path / "batches.parquet"
    try:
        with pq.ParquetWriter(path, schema, compression="lz4") as file:
            for batch in stream:
                file.write_batch(_batch(batch))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{BATCHES}: cannot be read, {str(error).splitlines()[0]}") from None
    return Batches(
        name=BATCHES, columns=tuple(names), path=path, size_and_time=stamp(path), folder=folder
    )


def _stream(
    data: "Iterator[object] | pa.RecordBatchReader",
) -> "tuple[pa.Schema, Iterator[object]]":
    """The schema of batches, and an iterator over all of them. Raises InputError if an iterator
    gives none.
    """
    if not isinstance(data, Iterator):  # a reader states its schema
        return data.schema, iter(data)
    first = next(data, None)
    if first is None:
        raise InputError(f"{BATCHES}: there must be at least one, got none")
    return _batch(first).schema, chain([first], data)


def _batch(batch: object) -> "pa.RecordBatch":
    """The batch as it is. Raises InputError for anything but a record batch of Arrow."""
    if type(batch).__name__ != "RecordBatch":
        raise InputError(
            f"{BATCHES}: an iterator must give Arrow record batches, got {type(batch).__name__}"
        )
    return batch


# Columns in memory --------------------------------------------------------------------------------


CELL = str | int | float | bool | None
PREFIX = {"y_true": "y_", "score": "p_"}  # of the columns of several labels or classes


def is_column(values: object) -> bool:
    """True if this may be a column, one value per row; False for a path, a table, and a list of
    tables.

    >>> is_column([0.2, 0.4]), is_column("a.csv"), is_column(["a.csv", "b.csv"])
    (True, False, True)
    """
    if isinstance(values, list | tuple):
        return bool(values) and all(isinstance(value, CELL) for value in values)
    return hasattr(values, "__len__") and getattr(values, "ndim", 1) == 1 and not _is_table(values)


def canonical_label(label: str) -> str:
    """A label in one spelling, so that 1.0 and 1, or TRUE and true, are the same label. A number
    with a leading zero stays as it is, since it may be a code.

    >>> [canonical_label(label) for label in ("1.0", "TRUE", "spam", "-1", "01")]
    ['1', 'true', 'spam', '-1', '01']
    """
    if label.lower() in ("true", "false"):
        return label.lower()
    number = re.fullmatch(r"([-+]?(?:0|[1-9][0-9]*))(?:[.]0*)?", label)
    return str(int(number[1])) if number else label


def _is_table(values: object) -> bool:
    """True for a path, a dict, and a frame."""
    has_columns = hasattr(values, "column_names") or hasattr(values, "columns")
    return has_columns or isinstance(values, str | bytes | Mapping)


def _plain(name: str, values: object) -> object:
    """A sparse array in full, a tensor as an array without its gradient, anything else as it is."""
    try:
        if hasattr(values, "detach"):
            return np.asarray(values.detach().cpu())
        return values.toarray() if hasattr(values, "toarray") else values
    except Exception as error:  # of any library
        why = str(error).partition("\n")[0]
        raise InputError(f"{name} cannot be read as an array: {why}") from None


def _table_of_columns(columns: Mapping[str, object]) -> "pa.Table":
    """The columns as an Arrow table.

    Raises InputError if they differ in length, or one is not one value per row.
    """
    import pyarrow as pa

    if not columns:
        raise InputError("data must name at least one column or table, got an empty dict")
    _refuse_other_order(columns)
    arrays = {str(name): _column(str(name), values) for name, values in columns.items()}
    first, *further_names = arrays
    for name in further_names:
        if len(arrays[name]) != len(arrays[first]):
            had = f"{len(arrays[first]):,}, got {len(arrays[name]):,}"
            raise InputError(f"{name} must have as many values as {first}, {had}")
    return pa.table(arrays)


def _column(name: str, values: object) -> "pa.Array | pa.ChunkedArray":
    """A column as an Arrow array; those of polars, pandas and Arrow keep their type."""
    import pyarrow as pa

    values = _plain(name, values)
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if isinstance(values, pa.Array):
            return values
        column = values if isinstance(values, list | tuple) else _array(values)
        dimensions = getattr(column, "ndim", 1)
        if dimensions == 0:
            raise InputError(f"{name} must have one value per row, got {type(values).__name__}")
        if dimensions > 1:
            shape = np.shape(column)
            raise InputError(f"{name} must have one value per row, got an array of shape {shape}")
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        got = f"got {getattr(values, 'dtype', type(values).__name__)}"
        why = re.sub(r"Unsupported numpy type \d+", got, str(error).splitlines()[0])
        raise InputError(f"{name} must be values of one type, one per row: {why}") from None


def _array(values: object) -> np.ndarray:
    """A numpy array in the byte order of the machine; a masked one keeps its mask."""
    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _refuse_other_order(columns: Mapping[str, Any]) -> None:
    """Raise InputError for columns of pandas whose indexes have the same rows in another order, as
    columns are matched by place, not by index.
    """
    indexes = {name: column.index for name, column in columns.items() if hasattr(column, "iloc")}
    if not indexes:
        return
    (first, first_index), *further_indexes = indexes.items()
    for name, index in further_indexes:
        if len(index) != len(first_index) or index.equals(first_index):
            continue
        names_rows = index.is_unique and first_index.is_unique
        if names_rows and index.isin(first_index).all():
            raise refused(name, "other_order", first=first)


@dataclass(frozen=True)
class Classes:
    """The classes or labels that the columns of matrices stand for.

    names: the classes as scikit-learn orders them, or the labels of a multi-label table; empty if
    no array is a matrix. positive: the class whose scores are taken from a matrix of two classes;
    None for the second class. labels: True for labels.
    """

    names: Sequence[str]
    positive: str | None
    labels: bool

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Classes":
        """The classes of the labels, which are the first of the shared arrays."""
        role, label = next(iter(arrays.shared_columns.items()))
        if np.ndim(label) == 2:
            names = _heads(label) or [str(i) for i in range(np.shape(label)[1])]
            return cls(names, None, labels=True)
        columns_by_role = arrays.system_columns.values()
        predictions = chain.from_iterable(columns.values() for columns in columns_by_role)
        if all(np.ndim(values) != 2 for values in predictions):
            return cls((), None, labels=False)
        column = _column(role, label)
        cells = column.drop_null() if column.null_count else label
        distinct = np.unique(np.asarray(cells))
        return cls([str(name) for name in distinct], arrays.positive, labels=False)

    def columns(self, arrays: Mapping[str, ArrayLike]) -> dict[str, object]:
        """The arrays by role as columns by name, a matrix as one column per class or label."""
        columns: dict[str, object] = {}
        for role, values in arrays.items():
            if np.ndim(values) == 2:
                columns |= self._of_matrix(role, values)
            else:
                columns[role] = values
        return columns

    def _of_matrix(self, role: str, values: object) -> dict[str, object]:
        """The columns of a matrix; of the scores of two classes that of the positive one alone."""
        matrix = _array(values)
        heads = _heads(values) or self.names
        number = matrix.shape[1]
        if role not in PREFIX:
            raise InputError(
                f"{role} must have one value per row, got {number} columns; name several systems "
                f"by a dict"
            )
        if len(heads) != number:
            raise InputError(
                f"{role} must have one column per class or label, {len(heads)}, got {number}"
            )
        if role == "score" and len(self.names) == number == 2 and not self.labels:
            return {role: matrix[:, self._number_of_positive(heads)]}
        return {f"{PREFIX[role]}{name}": matrix[:, i] for i, name in enumerate(heads)}

    def _number_of_positive(self, heads: Sequence[str]) -> int:
        """The number of the positive class's column, by default the second class's. heads: the
        names of the columns.

        The default is also that of a positive class that does not exist: reading the labels refuses
        it.
        """
        columns = list(map(canonical_label, heads))
        classes = list(map(canonical_label, self.names))
        if set(columns) != set(classes):
            raise InputError(
                f"score must have the columns {', '.join(self.names)}, got {', '.join(heads)}; "
                f"name several systems by a dict"
            )
        positive = classes[1] if self.positive is None else canonical_label(self.positive)
        column = positive if positive in columns else classes[1]
        return columns.index(column)


def _table_of_arrays(arrays: Arrays) -> "pa.Table":
    """Labels and predictions as an Arrow table: wide if each system has one column, else long.

    Raises InputError for arrays that do not belong together.
    """
    arrays = _converted(arrays, _plain)
    by_name = dict(arrays.shared_columns)
    for role, of_systems in arrays.system_columns.items():
        for name, values in of_systems.items():
            column = role if name is None else f"{role}_{name}"
            by_name[column] = values
    _refuse_other_order(by_name)
    arrays = _converted(arrays, _without_second_axis)
    classes = Classes.from_arrays(arrays)
    shared = classes.columns(arrays.shared_columns)
    systems = {}
    for name in _systems(arrays):
        by_role = {role: values[name] for role, values in arrays.system_columns.items()}
        systems[name] = classes.columns(by_role)
    if None in systems:  # a single system without a name
        return _table_of_columns({**shared, **systems[None]})
    have_several_columns = any(len(columns) > 1 for columns in systems.values())
    if have_several_columns or "predicted" in arrays.system_columns:
        return _long(shared, systems)
    wide: dict[str, object] = {}
    for name, columns in systems.items():
        wide |= {f"{role}_{name}": values for role, values in columns.items()}
    return _table_of_columns({**shared, **wide})


def _converted(arrays: Arrays, read: Callable[[str, Any], Any]) -> Arrays:
    """The same arrays after `read`, a function of a role and its values, was applied to each."""
    shared = {role: read(role, values) for role, values in arrays.shared_columns.items()}
    by_role = {}
    for role, of_systems in arrays.system_columns.items():
        by_role[role] = {system: read(role, values) for system, values in of_systems.items()}
    return Arrays(shared, by_role, arrays.positive)


def _without_second_axis(role: str, values: ArrayLike) -> ArrayLike:
    """The column of a matrix of one column; other values as they are."""
    try:
        is_matrix_of_one = np.ndim(values) == 2 and np.shape(values)[1] == 1
    except ValueError:
        raise InputError(
            f"{role} must have as many values in each row, got rows of several lengths"
        ) from None
    return _array(values)[:, 0] if is_matrix_of_one else values


def _systems(arrays: Arrays) -> list[str | None]:
    """The names of the systems; None for one without a name. Raises InputError if arguments name
    different systems, or none.
    """
    (role, by_system), *further_roles = arrays.system_columns.items()
    systems = list(by_system)
    for other_role, other_by_system in further_roles:
        if set(other_by_system) != set(systems):
            raise InputError(
                f"{role} and {other_role} must name the same systems, got {systems} and "
                f"{list(other_by_system)}"
            )
    if not systems:
        raise InputError(f"{role} must name at least one system, got an empty dict")
    return systems


def _heads(values: object) -> list[str]:
    """The names of the columns of a frame; none of an array."""
    return [str(name) for name in getattr(values, "column_names", getattr(values, "columns", ()))]


def _long(
    shared: Mapping[str, Any], systems: Mapping[str | None, Mapping[str, object]]
) -> "pa.Table":
    """A long Arrow table: for each system all rows, with the number of the row as its id.

    systems: system -> its columns by name.
    """
    import pyarrow as pa

    (first, first_columns), *further_systems = systems.items()
    for further_name, columns in further_systems:
        if set(columns) != set(first_columns):
            got = f"{', '.join(first_columns)} for {first}, {', '.join(columns)} for {further_name}"
            raise InputError(f"every system must have the same columns, got {got}")
    rows = len(next(iter(shared.values())))
    tables = []
    for name, columns in systems.items():
        keys = {"id": np.arange(rows), "system": [name] * rows}
        tables.append(_table_of_columns({**shared, **columns, **keys}))
    return pa.concat_tables(tables)

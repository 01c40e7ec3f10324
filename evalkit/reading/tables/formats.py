"""The formats of files: Parquet, tables with a delimiter, JSON, TREC text; each is a class that
gives columns by role.

A file is read by its suffix, or by its content where that says nothing: a new format is a class,
and one line in `FORMATS`. DuckDB reads Parquet and text tables; JSON as JSON values: its own types
would rewrite ids that look like dates, UUIDs or large numbers.
"""

import csv
import json
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, filterfalse, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

from evalkit.arrays import InputError
from evalkit.catalogue import lookup
from evalkit.limits import USUAL_LIMITS
from evalkit.machine.bundled_files import bundled_root
from evalkit.machine.compressed_files import COMPRESSED_SUFFIXES, plain, unpacked
from evalkit.parameters.reports import NO_HEADER
from evalkit.reading.tables import columns as column_roles, documents, duck, logs, trec
from evalkit.reading.tables.parts import (
    HEAD,
    IDS,
    PANDAS_INDEX,
    ByRole,
    File,
    Frames,
    Selection,
    stamp,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

PACKING = 5  # how much larger a packed text file is without its packing, about
SHORTEST = 4  # bytes of a row of text: a label, a comma, a digit, a line end


def printed_path(path: Path) -> str:
    """The path as readers of the page know it: relative if it is under the working directory or the
    checkout.
    """
    for root in (Path.cwd(), bundled_root()):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return str(path)


def start(path: Path) -> bytes:
    """The first bytes of a text file, decompressed."""
    with unpacked(path) as stream:
        return bytes(stream.read(1 << 20))


@dataclass(frozen=True, eq=False, kw_only=True)
class TextFile(File):
    """A file of lines, whose number is unknown until all are read."""

    @property
    def rows(self) -> int:
        """An estimate of the number of rows, from the lines at the beginning."""
        first = start(self.path)
        if not first:
            return 0
        packing = PACKING if self._packed else 1
        size = self.size_and_time[0] * packing
        return int(size / len(first) * max(first.count(b"\n"), 1))

    @property
    def most_rows(self) -> float:
        """An upper bound on the number of rows; infinity for a packed file."""
        return math.inf if self._packed else self.size_and_time[0] / SHORTEST

    @property
    def _packed(self) -> bool:
        """True if the file is compressed."""
        return self.path.suffix.lower() in COMPRESSED_SUFFIXES


# Parquet ------------------------------------------------------------------------------------------

# unit of a duration of Arrow -> the SQL that makes microseconds of it
MICROSECONDS = {"s": "* 1000000", "ms": "* 1000", "us": "", "ns": "// 1000"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Parquet(File):
    """A Parquet file."""

    @classmethod
    def opened(cls, path: Path, header: str | None = None) -> "Parquet":
        """The file. Raises InputError if it is incomplete, or two columns have one name."""
        where = printed_path(path)
        with _parquet_errors(path):
            names = _metadata(path).schema.to_arrow_schema().names
        if "" in names:  # DuckDB names what has no name
            with _parquet_errors(path):
                described = duck.sql(f"DESCRIBE SELECT * FROM {_parquet(path)}", where)
                names = described["column_name"].to_pylist()
        columns = tuple(filterfalse(PANDAS_INDEX.fullmatch, names))
        return cls(name=where, columns=columns, path=path, size_and_time=stamp(path))

    @property
    def known_rows(self) -> int:
        """The number of rows, which the file states."""
        with _parquet_errors(self.path):
            return int(_metadata(self.path).num_rows)

    @property
    def schema(self) -> "pa.Schema":
        """The Arrow schema."""
        with _parquet_errors(self.path):
            return _metadata(self.path).schema.to_arrow_schema()

    @property
    def stored_types(self) -> Mapping[str, str]:
        """Column -> Arrow's name of its type."""
        return {field.name: str(field.type) for field in self.schema}

    @property
    def directions(self) -> Mapping[str, str]:
        """Metric -> which values are better, if the file states it."""
        return directions(self.schema)

    def explain(self, selection: Selection) -> None:
        """Raise InputError for a text that is no number, else for a column of texts that are not
        UTF-8, else for a broken file.
        """
        super().explain(selection)
        import pyarrow as pa
        import pyarrow.parquet as pq

        for column in selection.text.values():
            with _parquet_errors(self.path):
                texts = pq.read_table(self.path, columns=[column], partitioning=None)[column]
            try:
                texts.validate(full=True)
            except pa.ArrowInvalid:
                raise InputError(
                    f"{self.name}: {column} must be UTF-8 text, other bytes found"
                ) from None
        raise duck.no_parquet_error(self.name) from None

    def load(self, text: ByRole, numbers: ByRole) -> dict[str, "pa.Array"]:
        """The columns by role. Those of many rows are read one by one: the columns of one query are
        held twice until each is one array.
        """
        if self.rows <= USUAL_LIMITS.reading.rows:
            return super().load(text, numbers)
        columns: dict[str, pa.Array] = {}
        for role, name in text.items():
            columns |= super().load({role: name}, {})
        for role, name in numbers.items():
            columns |= super().load({}, {role: name})
        return columns

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        """The file, with intervals for durations, which DuckDB takes for whole numbers."""
        source = _parquet(self.path)
        cells = []
        for name, kind in self.stored_types.items():
            if kind.startswith("duration"):
                unit = kind[len("duration[") : -1]
                column = duck.DUCKDB.quote(name)
                cells.append(f"to_microseconds({column} {MICROSECONDS[unit]}) AS {column}")
        if cells:
            source = f"(SELECT * REPLACE ({', '.join(cells)}) FROM {source})"
        return source, {}


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    """A context in which a Parquet file is read: what Arrow raises for a broken file becomes an
    InputError.
    """
    import pyarrow as pa

    try:
        yield
    # a ValueError for a column's name that is not UTF-8
    except (pa.ArrowException, ValueError, OSError):
        raise duck.no_parquet_error(printed_path(path)) from None


def _parquet(path: Path) -> str:
    """The SQL that reads a Parquet file."""
    return f"read_parquet({duck.pattern(path)}, hive_partitioning=false)"


def _metadata(path: Path) -> "pq.FileMetaData":
    """What a Parquet file states of itself."""
    import pyarrow.parquet as pq

    return pq.read_metadata(path)


def directions(schema: "pa.Schema") -> Mapping[str, str]:
    """Metric -> which values are better, in a file of units that evalkit wrote; empty for other
    files. schema: that of Arrow.
    """
    report = json.loads((schema.metadata or {}).get(b"evalkit", b"{}"))
    parameters = report.get("parameters", {})
    return {
        row["metric"]: lookup.recorded(row, row["metric"], parameters)
        for row in report.get("metrics", [])
    }


# Tables with a delimiter --------------------------------------------------------------------------

TAIL = 10_000  # bytes at the end of a file in which its last lines stand
DELIMITERS = ",\t;|"
# SQL patterns of cells with a point, and with a comma
POINT = "%.%"
COMMA = "%,%"
# regular expressions of cells
GROUPED = r"[-+]?(\d{1,3}|[1-9]\d{0,2}([.]\d{3})+)"  # whole numbers with points between thousands
BARE = r"[-+]?[1-9]\d{1,2}"  # a number beside them that is too small to have a point
COMMAS = r"[-+]?(\d{1,3}([.]\d{3})*|\d+)(,\d+)?"  # numbers with decimal commas, perhaps grouped
WITH_COMMA = r"\s*[-+]?\d*,\d+\s*"  # a number with a decimal comma, not grouped
WITH_POINT = r"\s*[-+]?\d*[.]\d+\s*"  # a number with a decimal point, not grouped
WHOLE = r"\s*[-+]?\d+\s*"
THOUSANDS = r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*"  # groups of English: 1,234 may be one
FEWEST_COMMAS = 2  # cells of a file that can only be decimals: a single one may be a slip


@dataclass(frozen=True, eq=False, kw_only=True)
class Csv(TextFile):
    """A table with a delimiter.

    file_columns: the columns of the file itself, without those that its folders stand for, in its
    order. starts_with_header: True if its first line holds their names; else they are called 1, 2,
    3, …
    """

    file_columns: tuple[str, ...]
    delimiter: str
    starts_with_header: bool

    @classmethod
    def opened(cls, path: Path, header: str | None) -> "Csv":
        """The table. Raises InputError if its first line holds no names, or a name twice."""
        cells, delimiter = _first_line(path)
        _refuse_total(path, delimiter)
        facts: dict[str, Any] = {
            "name": printed_path(path),
            "path": path,
            "size_and_time": stamp(path),
            "delimiter": delimiter,
        }
        if header == NO_HEADER:
            names = tuple(map(str, range(1, len(cells) + 1)))
            return cls(columns=names, file_columns=names, starts_with_header=False, **facts)
        names = tuple(name or f"column {i}" for i, name in enumerate(cells, start=1))
        try:
            return cls(columns=names, file_columns=names, starts_with_header=True, **facts)
        except InputError as error:
            raise InputError(f"{error}{column_roles.no_header(names)}") from None

    @cached_property
    def comma_columns(self) -> frozenset[str]:
        """The columns of numbers of a file that writes decimals with a comma, by its first rows.

        Empty if the comma is the delimiter, if a column writes decimals with a point, or if the
        commas may group thousands.
        """
        if self.delimiter == ",":
            return frozenset()
        source = self._table(())
        rows = duck.sql(f"SELECT * FROM {source} LIMIT {HEAD}", self.name).to_pydict()
        cells = {name: list(filter(None, rows[name])) for name in self.file_columns}
        decimals = _cells_with(WITH_COMMA, cells)
        groups = _cells_with(THOUSANDS, cells)
        if decimals.total() - groups.total() < FEWEST_COMMAS:
            return frozenset()
        if _cells_with(WITH_POINT, cells).keys() - decimals.keys():
            return frozenset()
        is_whole = re.compile(WHOLE).fullmatch
        whole = {name for name, texts in cells.items() if all(map(is_whole, texts))}
        return frozenset(whole.union(decimals))

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        """The file, with points for decimal commas."""
        table = self._table(set(numbers) - self.comma_columns)
        with_commas = [
            name for name in self.file_columns if name in self.comma_columns and name in columns
        ]
        if not with_commas:
            return table, {}
        cells = []
        for name in map(duck.DUCKDB.quote, with_commas):
            is_decimal = f"regexp_full_match({name}, '{WITH_COMMA}')"
            cells.append(f"if({is_decimal}, replace({name}, ',', '.'), {name}) AS {name}")
        return f"(SELECT * REPLACE ({', '.join(cells)}) FROM {table})", {}

    def _table(self, numbers: Collection[str]) -> str:
        """The SQL that reads the file; these columns as doubles, the others as texts."""
        types = []
        for name in self.file_columns:
            kind = "DOUBLE" if name in numbers else "VARCHAR"
            types.append(f"{duck.DUCKDB.literal(name)}: '{kind}'")
        delimiter = duck.DUCKDB.literal(self.delimiter)
        form = f"header={self.starts_with_header}, auto_detect=false, delim={delimiter}"
        strict = "quote='\"', escape='\"', nullstr='', strict_mode=true, hive_partitioning=false"
        columns = f"columns={{{', '.join(types)}}}"
        return f"read_csv({duck.pattern(self.path)}, {form}, {strict}, {columns})"

    def explain(self, selection: Selection) -> None:
        """Raise the error for a column of numbers that is read as text; for others DuckDB itself
        names the line.
        """
        texts = self.comma_columns.union(selection.text.values())
        if not texts.isdisjoint(selection.numbers.values()):
            super().explain(selection)

    def check(self, selection: Selection) -> None:
        """Raise InputError if a column of numbers seems to group thousands by points: 1.234 beside
        decimal commas, or beside 645.
        """
        if self.comma_columns:
            selected = set(selection.text.values()).union(selection.numbers.values())
            self._refuse_points(self.comma_columns & selected)
            return
        if self.delimiter != ",":
            self._refuse_groups(list(selection.numbers.values()))
        if self.delimiter == ";":
            self._refuse_groups_beside_commas(selection)

    def _refuse_groups_beside_commas(self, selection: Selection) -> None:
        """Raise InputError for a column of numbers that are all grouped by points, if the numbers
        of another column have decimal commas.
        """
        selected = dict.fromkeys(selection.numbers.values())
        numbers = [name for name in selected if name in self.file_columns]
        text_columns = [name for name in self.file_columns if name not in numbers]
        if not text_columns:
            return
        cells = [self._cell_of_form(name, COMMAS, COMMA) for name in text_columns]
        cells += [self._cell_of_form(name, GROUPED, POINT) for name in numbers]
        source, frames = self._source((), (), "")
        answer = duck.sql(f"SELECT {', '.join(cells)} FROM {source}", self.name, **frames)
        values = [column[0] for column in answer.to_pydict().values()]
        cell_of_column = dict(zip(text_columns + numbers, values, strict=True))
        with_commas = [name for name in text_columns if cell_of_column[name] is not None]
        for name in numbers:
            if with_commas and cell_of_column[name] is not None:
                raise column_roles.refused(
                    self.name,
                    "decimal_commas",
                    column=name,
                    got=cell_of_column[name],
                    other=with_commas[0],
                    cell=cell_of_column[with_commas[0]],
                )

    def _cell_of_form(self, name: str, form: str, mark: str) -> str:
        """The SQL of a cell of a column that is like `mark`; NULL if there is none, or if a cell
        does not have the form.
        """
        column = duck.DUCKDB.quote(name)
        cell = f"max({column}) FILTER ({column} LIKE '{mark}')"
        have_form = f"bool_and(regexp_full_match({column}, '{form}'))"
        return f"{cell} || if({have_form}, '', NULL)"

    def _refuse_points(self, names: Collection[str]) -> None:
        """Raise InputError for a cell with a point in a column of decimal commas: 1.234 may be a
        whole number with a group, or a decimal.
        """
        table = self._table(())
        for name in sorted(names):
            column = duck.DUCKDB.quote(name)
            with_point = f"max({column}) FILTER ({column} LIKE '{POINT}') AS with_point"
            with_comma = f"max({column}) FILTER ({column} LIKE '{COMMA}') AS with_comma"
            query = f"SELECT {with_point}, {with_comma} FROM {table}"
            cells = duck.sql(query, self.name).to_pylist()[0]
            if cells["with_point"] is not None:
                raise column_roles.refused(
                    self.name,
                    "decimal_commas",
                    column=name,
                    got=cells["with_point"],
                    other=name,
                    cell=cells["with_comma"],
                )

    def _refuse_groups(self, names: Sequence[str]) -> None:
        """Raise InputError for columns of numbers whose points all stand before three digits: 645
        beside 1.070, or, in a file with semicolons and without another point, 1.070 alone.

        names: the columns of numbers.
        """
        cells = {}
        with_point = {}
        for name, texts in self.head.items():
            cells[name] = [cell for cell in texts if cell]
            with_point[name] = [cell for cell in cells[name] if "." in cell]
        is_grouped = re.compile(GROUPED).fullmatch
        are_all_grouped = all(map(is_grouped, chain.from_iterable(with_point.values())))
        for name in names:
            if not with_point.get(name) or not all(map(is_grouped, cells[name])):
                continue
            has_bare = any(re.fullmatch(BARE, cell) for cell in cells[name])
            if has_bare or (are_all_grouped and self.delimiter == ";"):
                got = with_point[name][0]
                whole = got.replace(".", "")
                raise column_roles.refused(self.name, "groups", column=name, got=got, whole=whole)


def _cells_with(form: str, cells: Mapping[str, Sequence[str]]) -> Counter[str]:
    """Column -> the number of its cells of this form, of the columns that have one. cells: column
    -> its cells.
    """
    has_form = re.compile(form).fullmatch
    numbers = {name: sum(map(bool, map(has_form, texts))) for name, texts in cells.items()}
    return Counter({name: number for name, number in numbers.items() if number})


def _refuse_total(path: Path, delimiter: str) -> None:
    """Raise InputError for a last line of totals, whose first cell is a word such as Total, unless
    the line before it has the same word.
    """
    if path.suffix.lower() in COMPRESSED_SUFFIXES:  # its end is not read
        return
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(-min(TAIL, size), os.SEEK_END)
        lines = file.read().decode(errors="replace").split("\n")[1:]
    first_cells = [line.split(delimiter)[0].strip('" \r') for line in lines]
    last = [cell for cell in first_cells if cell][-2:]
    if last and last[0] != last[-1] and re.search(column_roles.SUMMARY, last[-1], re.IGNORECASE):
        raise column_roles.refused(printed_path(path), "total", cell=last[-1])


def _first_line(path: Path) -> tuple[list[str], str]:
    """The cells of the first line, and the delimiter, the one it holds most of. Raises InputError
    for a line that holds no names.
    """
    first = start(path).split(b"\n", 1)[0]
    try:
        line = first.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        byte = first[error.start]
        raise InputError(
            f"{printed_path(path)}: must be UTF-8 text, got byte 0x{byte:02x} (line 1)"
        ) from None
    fault = ""
    if not line.strip():
        fault = "is empty"
    elif "\r" in line:
        fault = "holds a carriage return"
    elif line.count('"') % 2:
        fault = "has an open quote"
    if fault:
        raise InputError(
            f"{printed_path(path)}: the first line must hold the column names, but it {fault}"
        )
    delimiter = max(DELIMITERS, key=line.count)
    cells = next(csv.reader([line], delimiter=delimiter))
    return [name.strip() for name in cells], delimiter


# JSON lines ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class JsonLines(TextFile):
    """A file of JSON objects, one per line."""

    rows_are_objects: ClassVar[bool] = True

    @classmethod
    def opened(cls, path: Path, header: str | None) -> "JsonLines":
        """The file with the columns that any of its rows has."""
        where = printed_path(path)
        described = duck.sql(f"DESCRIBE SELECT * FROM {_json(path, 'sample_size=-1')}", where)
        names = tuple(described["column_name"].to_pylist())
        lower = {name.lower() for name in names}
        # DuckDB calls a column A_1 if its name, A, differs from another one's, a, in case alone
        numbered = [name for name in names if re.search(r"_\d+$", name)]
        if any(name.rpartition("_")[0].lower() in lower for name in numbered):
            keys = _keys_of_objects(path, where)
            if set(names) != set(keys):
                names = tuple(keys)
        # what DuckDB calls the values of a file whose rows are not all objects, or that has none
        if names == ("json",):
            if not start(path).strip():
                raise InputError(f"{where}: the file has only blank lines")
            raise InputError(
                f'{where}: every row must be a JSON object, such as {{"id": 1}}, got other values'
            )
        return cls(name=where, columns=names, path=path, size_and_time=stamp(path))

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        types = ", ".join(f"{duck.DUCKDB.literal(name)}: 'JSON'" for name in columns)
        return _json(self.path, f"columns={{{types}}}"), {}

    def check(self, selection: Selection) -> None:
        """Raise InputError for the first id that is neither text nor a whole number."""
        for role, column in selection.text.items():
            if role not in IDS or column in self.folder_values:
                continue
            value = duck.DUCKDB.plain(column, "JSON")
            kind = f"json_type({duck.DUCKDB.quote(column)})"
            is_other = f"{kind} NOT IN ('VARCHAR', 'BIGINT', 'UBIGINT')"
            is_fraction = f"NOT regexp_full_match({value}, '-?[0-9]+')"
            if wrong := selection.first(value, f"{is_other} AND {is_fraction}"):
                row, cell = wrong
                raise InputError(
                    f"{self.name}: {column} must be text or a whole number, got {cell[:80]} "
                    f"(row {row})"
                )


def _keys_of_objects(path: Path, where: str) -> list[str]:
    """The distinct keys of the objects in a file, in the order of texts."""
    objects = f"read_json_objects({duck.pattern(path)})"
    query = f"SELECT DISTINCT unnest(json_keys(json)) AS name FROM {objects} ORDER BY 1"
    keys: list[str] = duck.sql(query, where)["name"].to_pylist()
    return keys


def _json(path: Path, kinds: str) -> str:
    """The SQL that reads a file of JSON. kinds: options of columns and their types."""
    form = "auto" if ".json" in path.suffixes else "newline_delimited"
    return f"read_json({duck.pattern(path)}, format='{form}', {kinds}, hive_partitioning=false)"


# TREC text ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Trec(TextFile):
    """A run or judgements, whose columns are those of its layout; it is loaded before an engine
    reads it.
    """

    trec_layout: trec.LineLayout

    @classmethod
    def opened(cls, path: Path, layout: trec.LineLayout) -> "Trec":
        """The file by its layout."""
        names = tuple(name for name in layout.fields if name)
        return cls(
            name=printed_path(path),
            columns=names,
            path=path,
            trec_layout=layout,
            size_and_time=stamp(path),
        )

    def _source(self, columns: Collection[str], numbers: Collection[str], frame: str) -> None:
        """None: no engine reads it."""

    def load(self, text: ByRole, numbers: ByRole) -> dict[str, "pa.Array"]:
        """The columns by role, as the layout reads them, with those of folders."""
        import pyarrow as pa

        columns = trec.read(self.path, self.trec_layout, self.name)
        rows = len(next(iter(columns.values())))
        columns |= {
            name: pa.array([value] * rows, pa.string())
            for name, value in self.folder_values.items()
        }
        return {role: columns[column] for role, column in {**text, **numbers}.items()}


# What a file is -----------------------------------------------------------------------------------


PARTITION = re.compile(r"([^=]+)=(.*)")  # a folder that stands for a column, NAME=VALUE
WRITTEN = re.compile(r"part[-.]\d.*")  # a piece of a table as Spark, Arrow and Dask name it
NOTHING = "__HIVE_DEFAULT_PARTITION__"  # the value of such a folder for empty cells
LARGE = 1 << 16  # bytes from which a text is taken to hold more than a header
SPECIAL = {
    stat.S_ISFIFO: "a pipe",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
    stat.S_ISSOCK: "a socket",
}


def delimited_or_trec(path: Path, header: str | None) -> File:
    """A text file with the suffix of a table: TREC text if its content is, unless `header` says
    otherwise.
    """
    if header is None and (layout := trec.layout_of_table(trec.first_lines(path))):
        return Trec.opened(path, layout)
    return Csv.opened(path, header)


FORMATS: dict[str, Callable[[Path, str | None], File]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), delimited_or_trec),
    **dict.fromkeys((".parquet", ".pq"), Parquet.opened),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), JsonLines.opened),
}


def has_header(path: Path) -> bool:
    """True if a file states its columns once; JSON states them in each row."""
    return _opener(path) != JsonLines.opened and path.suffix.lower() != logs.ARCHIVE


def opened(paths: Sequence[Path], header: str | None, top: Path) -> list[File]:
    """The parts that files hold, in the order of their names, without the pieces of a table that
    have no row.

    header: "none" if text tables have none. top: the folder below which folders are columns.
    """
    paths = _with_rows(paths, header)
    parts = []
    for path in paths:
        parts += [_in_folders(part, path, top) for part in _parts_of_file(path, header)]
    return parts


def _in_folders(part: File, path: Path, top: Path) -> File:
    """A part of a file with the columns that its folders below `top` stand for; these replace its
    own of the same name.
    """
    folder_values = partitions(path, top)
    if isinstance(part, logs.EvaluationLog) or not folder_values:
        return part
    columns = tuple(dict.fromkeys([*part.columns, *folder_values]))
    return replace(part, columns=columns, folder_values=folder_values)


def _parts_of_file(path: Path, header: str | None) -> Sequence[File]:
    """What a file holds: a table, or the logs of several systems."""
    _no_file(path)
    opener = _opener(path)
    if opener and path.suffix.lower() in COMPRESSED_SUFFIXES - {".gz", ".zst"}:
        raise InputError(
            f"{printed_path(path)}: a compressed table must be .gz or .zst, got {path.suffix}"
        )
    try:
        if logs_in_file := logs.opened(path, printed_path(path)):
            return logs_in_file
        if document := documents.opened(path, printed_path(path)):
            return [document]
        table = opener(path, header) if opener else _by_content(path, header)
        return [table]
    except OSError as error:
        raise InputError(f"{printed_path(path)}: cannot be read, {error}") from None


def _opener(path: Path) -> Callable[[Path, str | None], File] | None:
    """The function that opens a file with this suffix, packed or not; None for other suffixes."""
    return FORMATS.get(plain(path).suffix.lower())


def _no_file(path: Path) -> None:
    """Raise InputError for a path that is not a regular file, which could not be read twice, and
    for an empty file.
    """
    try:
        status = path.stat()
        if stat.S_ISREG(status.st_mode):
            path.open("rb").close()  # raises OSError if the file may not be read
    except OSError as error:
        raise InputError(f"{printed_path(path)}: cannot be read: {error.strerror}") from None
    for is_special, kind in SPECIAL.items():
        if is_special(status.st_mode):
            advice = "write its content into a file first"
            raise InputError(f"{printed_path(path)}: must be a file, got {kind}; {advice}")
    if status.st_size == 0:
        raise InputError(f"{printed_path(path)}: the file is empty")


def _by_content(path: Path, header: str | None) -> File:
    """A file whose suffix names no format: TREC text, or else a table that has a delimiter."""
    lines = trec.first_lines(path)
    if not lines:
        raise InputError(f"{printed_path(path)}: the file has only blank lines and comments")
    if layout := trec.layout_of(lines):
        return Trec.opened(path, layout)
    part = Csv.opened(path, header)
    if len(part.columns) == 1:
        titles = {"run": trec.RUN.title, "qrels": trec.QRELS.title}
        raise column_roles.refused(part.name, "no_format", **titles, line=" ".join(lines[0])[:80])
    return part


def partitions(path: Path, top: Path | None = None) -> dict[str, str | None]:
    """The columns that the folders right above a file stand for, outermost first: column -> its
    value, None for an empty one.

    top: the folder that the input names; neither it nor those above it are columns.

    >>> partitions(Path("out/day=1/system=a%20b/part-0.parquet"))
    {'day': '1', 'system': 'a b'}
    >>> partitions(Path("/out/day=1/system=a/part-0.parquet"), Path("/out/day=1"))
    {'system': 'a'}
    """
    values: dict[str, str | None] = {}
    for folder in _folders(path, top):
        name, _, value = folder.partition("=")
        values[unquote(name)] = None if value == NOTHING else unquote(value)
    return values


def _folders(path: Path, top: Path | None = None) -> list[str]:
    """The names of the folders right above a file, and below `top`, that are columns."""
    names: list[str] = []
    for folder in path.parents:
        is_top = top is not None and Path(os.path.abspath(folder)) == top
        if is_top or not PARTITION.fullmatch(folder.name):
            break
        names.insert(0, folder.name)
    return names


def table(path: Path) -> Path:
    """The table that a file is a piece of: its path without the folders that are columns, or an
    engine's output folder.

    >>> table(Path("bm25/day=1/part-00000-1f.parquet")), table(Path("runs/lang=de/bm25.run"))
    (PosixPath('bm25'), PosixPath('runs/bm25.run'))
    """
    root = path.parents[len(_folders(path))]
    return root if WRITTEN.fullmatch(path.name) else root / path.name


def _with_rows(paths: Sequence[Path], header: str | None) -> list[Path]:
    """The files without the pieces that hold no row, if another piece in the same folder holds
    some.

    An engine writes a table as one piece per task, and a task without a row leaves a piece without
    one: no fault. A file that is not such a piece, and a table all of whose pieces are without
    rows, stay: their reader refuses them.

    paths: in the order of their names. header: "none" if text tables have none.
    """
    remaining: list[Path] = []
    for (_, is_written), group in groupby(paths, key=_folder_and_kind):
        files = list(group)
        if is_written and len(files) > 1:
            files = [path for path in files if _has_rows(path, header)] or files
        remaining += files
    return remaining


def _folder_and_kind(path: Path) -> tuple[Path, bool]:
    """The folder of a file, and True if an engine wrote it as a piece of a table."""
    return path.parent, bool(WRITTEN.fullmatch(path.name))


def _has_rows(path: Path, header: str | None) -> bool:
    """True if a file holds a row, or cannot be read, so that its reader says why."""
    try:
        size = path.stat().st_size
        if size == 0:
            return False
        opener = _opener(path)
        if opener == Parquet.opened:
            return Parquet.opened(path).known_rows > 0
        if size > LARGE:
            return True
        lines = [line for line in start(path).splitlines() if line.strip()]
        has_header_line = opener is delimited_or_trec and header != NO_HEADER
        return len(lines) > int(has_header_line)
    except (InputError, OSError):
        return True

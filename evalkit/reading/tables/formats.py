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
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import filterfalse, groupby
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

from evalkit.arrays import InputError
from evalkit.catalogue import lookup
from evalkit.limits import USUAL
from evalkit.parameters.reports import NO_HEADER
from evalkit.reading.tables import columns as roles_of, documents, duck, logs, trec
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
from evalkit.system import PACKED, bundled_root, plain, unpacked

PACKING = 5  # how much larger a packed text file is without its packing, about
SHORTEST = 4  # bytes of a row of text: a label, a comma, a digit, a line end


def shown(path: Path) -> str:
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
        first = start(self.path)
        size = self.stamp[0] * (PACKING if self._packed else 1)
        return int(size / len(first) * max(first.count(b"\n"), 1)) if first else 0

    @property
    def most_rows(self) -> float:
        return math.inf if self._packed else self.stamp[0] / SHORTEST

    @property
    def _packed(self) -> bool:
        return self.path.suffix.lower() in PACKED


# Parquet ------------------------------------------------------------------------------------------

MICROSECONDS = {
    "s": "* 1000000",
    "ms": "* 1000",
    "us": "",
    "ns": "// 1000",
}  # in SQL, of a duration of Arrow


@dataclass(frozen=True, eq=False, kw_only=True)
class Parquet(File):
    """A Parquet file."""

    @classmethod
    def opened(cls, path: Path, header: str | None = None) -> "Parquet":
        """The file. Raises InputError if it is incomplete, or two columns have one name."""
        where = shown(path)
        with _whole(path):
            names = _metadata(path).schema.to_arrow_schema().names
        if "" in names:  # DuckDB names what has no name
            with _whole(path):
                names = duck.sql(f"DESCRIBE SELECT * FROM {_parquet(path)}", where)[
                    "column_name"
                ].to_pylist()
        columns = tuple(filterfalse(PANDAS_INDEX.fullmatch, names))
        return cls(name=where, columns=columns, path=path, stamp=stamp(path))

    @property
    def known_rows(self) -> int:
        with _whole(self.path):
            return int(_metadata(self.path).num_rows)

    @property
    def schema(self) -> Any:
        """The Arrow schema."""
        with _whole(self.path):
            return _metadata(self.path).schema.to_arrow_schema()

    @property
    def stored_types(self) -> Mapping[str, str]:
        return {field.name: str(field.type) for field in self.schema}

    @property
    def directions(self) -> Mapping[str, str]:
        return directions(self.schema)

    def explain(self, selection: Selection) -> None:
        super().explain(selection)
        import pyarrow as pa
        import pyarrow.parquet as pq

        for column in selection.text.values():
            with _whole(self.path):
                texts = pq.read_table(self.path, columns=[column], partitioning=None)[column]
            try:
                texts.validate(full=True)
            except pa.ArrowInvalid:
                raise InputError(
                    f"{self.name}: {column} must be UTF-8 text, other bytes found"
                ) from None
        raise duck.no_parquet(self.name) from None

    def load(self, text: ByRole, numbers: ByRole) -> dict[str, Any]:
        """The columns; of many rows one by one, as those of one answer are held twice until all are
        whole.
        """
        if self.rows <= USUAL.reading.rows:
            return super().load(text, numbers)
        columns: dict[str, Any] = {}
        for role, name in text.items():
            columns |= super().load({role: name}, {})
        for role, name in numbers.items():
            columns |= super().load({}, {role: name})
        return columns

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        """The file, with intervals for durations, which DuckDB takes for whole numbers."""
        source, quote = _parquet(self.path), duck.DUCKDB.quote
        units = {
            name: kind[len("duration[") : -1]
            for name, kind in self.stored_types.items()
            if kind.startswith("duration")
        }
        cells = [
            f"to_microseconds({quote(name)} {MICROSECONDS[unit]}) AS {quote(name)}"
            for name, unit in units.items()
        ]
        return f"(SELECT * REPLACE ({', '.join(cells)}) FROM {source})" if cells else source, {}


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Around reading a Parquet file: what Arrow raises of a broken one; a name that is not UTF-8 is
    a ValueError.
    """
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, ValueError, OSError):
        raise duck.no_parquet(shown(path)) from None


def _parquet(path: Path) -> str:
    return f"read_parquet({duck.pattern(path)}, hive_partitioning=false)"


def _metadata(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.read_metadata(path)


def directions(schema: Any) -> Mapping[str, str]:
    """Which values of each metric are better, for a file of units that evalkit wrote."""
    about = json.loads((schema.metadata or {}).get(b"evalkit", b"{}"))
    parameters = about.get("parameters", {})
    return {
        row["metric"]: lookup.recorded(row, row["metric"], parameters)
        for row in about.get("metrics", [])
    }


# Tables with a delimiter --------------------------------------------------------------------------

TAIL = 10_000  # bytes at the end of a file in which its last lines stand
DELIMITERS = ",\t;|"
# Grouped thousands, as one and all cells of a column have them.
GROUPED, POINT = r"[-+]?(\d{1,3}|[1-9]\d{0,2}([.]\d{3})+)", "%.%"
BARE = r"[-+]?[1-9]\d{1,2}"  # a cell beside them that has no group to part
COMMAS, COMMA = r"[-+]?(\d{1,3}([.]\d{3})*|\d+)(,\d+)?", "%,%"  # the same with decimal commas
# Numbers with a decimal comma and without groups, and those with a point.
WITH_COMMA, WITH_POINT = r"\s*[-+]?\d*,\d+\s*", r"\s*[-+]?\d*[.]\d+\s*"
WHOLE = r"\s*[-+]?\d+\s*"
THOUSANDS = r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*"  # groups of English: 1,234 may be one
FEWEST_COMMAS = 2  # cells of a file that can only be decimals: a single one may be a slip


@dataclass(frozen=True, eq=False, kw_only=True)
class Csv(TextFile):
    """A table. own: the file's own columns, in its order. heads: True if its first line holds their
    names.

    Without names they are called 1, 2, 3, …
    """

    own: tuple[str, ...]
    delimiter: str
    heads: bool

    @classmethod
    def opened(cls, path: Path, header: str | None) -> "Csv":
        """The table. Raises InputError if its first line holds no names, or a name twice."""
        cells, delimiter = _first_line(path)
        _refuse_total(path, delimiter)
        about: dict[str, Any] = {
            "name": shown(path),
            "path": path,
            "stamp": stamp(path),
            "delimiter": delimiter,
        }
        if header == NO_HEADER:
            own = tuple(map(str, range(1, len(cells) + 1)))
            return cls(columns=own, own=own, heads=False, **about)
        own = tuple(name or f"column {i}" for i, name in enumerate(cells, start=1))
        try:
            return cls(columns=own, own=own, heads=True, **about)
        except InputError as error:
            raise InputError(f"{error}{roles_of.no_header(own)}") from None

    @cached_property
    def comma_columns(self) -> frozenset[str]:
        """The columns of numbers of a file that writes decimals with a comma, by its first rows.

        None if the comma is the delimiter, if a column writes decimals with a point, or if the
        commas may group thousands.
        """
        if self.delimiter == ",":
            return frozenset()
        source = self._table(())
        rows = duck.sql(f"SELECT * FROM {source} LIMIT {HEAD}", self.name).to_pydict()
        cells = {name: [cell for cell in rows[name] if cell] for name in self.own}
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
        table = self._table({*numbers} - self.comma_columns)
        read = [name for name in self.own if name in self.comma_columns and name in columns]
        if not read:
            return table, {}
        pointed = []
        for name in map(duck.DUCKDB.quote, read):
            is_decimal = f"regexp_full_match({name}, '{WITH_COMMA}')"
            pointed.append(f"if({is_decimal}, replace({name}, ',', '.'), {name}) AS {name}")
        return f"(SELECT * REPLACE ({', '.join(pointed)}) FROM {table})", {}

    def _table(self, numbers: Collection[str]) -> str:
        """The SQL that reads the file; these columns as doubles, the others as texts."""
        types = ", ".join(
            f"{duck.DUCKDB.literal(n)}: '{'DOUBLE' if n in numbers else 'VARCHAR'}'"
            for n in self.own
        )
        form = (
            f"header={self.heads}, auto_detect=false, delim={duck.DUCKDB.literal(self.delimiter)}"
        )
        strict = "quote='\"', escape='\"', nullstr='', strict_mode=true, hive_partitioning=false"
        return f"read_csv({duck.pattern(self.path)}, {form}, {strict}, columns={{{types}}})"

    def explain(self, selection: Selection) -> None:
        """Raise the error for a column that is read as text too; for others DuckDB itself names the
        line.
        """
        texts = self.comma_columns.union(selection.text.values())
        if not texts.isdisjoint(selection.numbers.values()):
            super().explain(selection)

    def check(self, selection: Selection) -> None:
        """Raise InputError if a column of numbers seems to group thousands by dots, as 1.234 beside
        decimal commas, or beside 645.
        """
        if self.comma_columns:
            read = {*selection.text.values(), *selection.numbers.values()}
            self._refuse_points(self.comma_columns & read)
            return
        if self.delimiter != ",":
            self._refuse_groups([*selection.numbers.values()])
        others = [name for name in self.own if name not in selection.numbers.values()]
        if self.delimiter != ";" or not others:
            return
        forms = dict.fromkeys(others, (COMMAS, COMMA)) | {
            name: (GROUPED, POINT) for name in selection.numbers.values() if name in self.own
        }
        cells = (
            f"max({name}) FILTER ({name} LIKE '{mark}') || if(bool_and(regexp_full_match({name}, "
            f"'{form}')), '', NULL)"
            for name, (form, mark) in (
                (duck.DUCKDB.quote(name), form) for name, form in forms.items()
            )
        )
        source, frames = self._source((), (), "")
        found = (
            duck.sql(f"SELECT {', '.join(cells)} FROM {source}", self.name, **frames)
            .to_pydict()
            .values()
        )
        seen = {name: cell for name, (cell,) in zip(forms, found, strict=True) if cell is not None}
        commas = [name for name in others if name in seen]
        for name in selection.numbers.values():
            if name in seen and commas:
                other = {"other": commas[0], "cell": seen[commas[0]]}
                raise roles_of.refused(
                    self.name, "decimal_commas", column=name, got=seen[name], **other
                )

    def _refuse_points(self, names: Collection[str]) -> None:
        """Raise InputError for a cell with a point in a column of decimal commas: 1.234 may be a
        whole number with a group, or a decimal.
        """
        table = self._table(())
        for name in sorted(names):
            column = duck.DUCKDB.quote(name)
            query = f"SELECT max({column}) FILTER ({column} LIKE '{POINT}') AS cell"
            largest_comma = f"max({column}) FILTER ({column} LIKE '{COMMA}') AS other"
            found = duck.sql(f"{query}, {largest_comma} FROM {table}", self.name).to_pydict()
            (got,) = found["cell"]
            if got is not None:
                (cell,) = found["other"]
                raise roles_of.refused(
                    self.name, "decimal_commas", column=name, got=got, other=name, cell=cell
                )

    def _refuse_groups(self, names: Sequence[str]) -> None:
        """Raise InputError for columns of numbers whose points all stand before three digits: 645
        beside 1.070, or, in a file without another point, 1.070 alone beside semicolons.
        """
        cells = {name: [cell for cell in texts if cell] for name, texts in self.head.items()}
        pointed = {name: [cell for cell in texts if "." in cell] for name, texts in cells.items()}
        is_grouped = re.compile(GROUPED).fullmatch
        are_grouped = all(is_grouped(cell) for texts in pointed.values() for cell in texts)
        for name in names:
            bare = [cell for cell in cells.get(name, ()) if re.fullmatch(BARE, cell)]
            is_sure = bool(bare) or (are_grouped and self.delimiter == ";")
            if is_sure and pointed.get(name) and all(map(is_grouped, cells[name])):
                got = pointed[name][0]
                whole = got.replace(".", "")
                raise roles_of.refused(self.name, "groups", column=name, got=got, whole=whole)


def _cells_with(form: str, cells: Mapping[str, Sequence[str]]) -> Counter[str]:
    """The number of cells of this form by column, of the columns that have one."""
    has_form = re.compile(form).fullmatch
    numbers = {name: sum(map(bool, map(has_form, texts))) for name, texts in cells.items()}
    return Counter({name: number for name, number in numbers.items() if number})


def _refuse_total(path: Path, delimiter: str) -> None:
    """Raise InputError for a last line of totals, whose first cell is a word such as Total, and no
    other one's.
    """
    if path.suffix.lower() not in PACKED:
        with path.open("rb") as file:
            file.seek(-min(TAIL, file.seek(0, 2)), 2)
            lines = file.read().decode(errors="replace").split("\n")[1:]
        cells = [cell for line in lines if (cell := line.split(delimiter)[0].strip('" \r'))][-2:]
        if (
            cells
            and cells[0] != cells[-1]
            and re.search(roles_of.SUMMARY, cells[-1], re.IGNORECASE)
        ):
            raise roles_of.refused(shown(path), "total", cell=cells[-1])


def _first_line(path: Path) -> tuple[list[str], str]:
    """The cells of the first line, and the delimiter: the one it holds most of."""
    first = start(path).split(b"\n", 1)[0]
    try:
        line = first.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        byte = first[error.start]
        raise InputError(
            f"{shown(path)}: must be UTF-8 text, got byte 0x{byte:02x} (line 1)"
        ) from None
    if not line.strip() or "\r" in line or line.count('"') % 2:
        wrong = (
            "is empty"
            if not line.strip()
            else "holds a carriage return"
            if "\r" in line
            else "has an open quote"
        )
        raise InputError(
            f"{shown(path)}: the first line must hold the column names, but it {wrong}"
        )
    delimiter = max(DELIMITERS, key=line.count)
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter))], delimiter


# JSON lines ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class JsonLines(TextFile):
    """A file of JSON objects, one per line."""

    nested: ClassVar[bool] = True

    @classmethod
    def opened(cls, path: Path, header: str | None) -> "JsonLines":
        """The file with the columns that any of its rows has."""
        where = shown(path)
        described = duck.sql(f"DESCRIBE SELECT * FROM {_json(path, 'sample_size=-1')}", where)
        names = tuple(described["column_name"].to_pylist())
        first = {name.lower() for name in names}
        if any(
            name[: -len(end[0])].lower() in first
            for name in names
            if (end := re.search(r"_\d+$", name))
        ):
            # DuckDB calls a column a_1 whose name differs from another one's in its case alone.
            objects = f"read_json_objects({duck.pattern(path)})"
            keys = duck.sql(
                f"SELECT DISTINCT unnest(json_keys(json)) AS name FROM {objects} ORDER BY 1", where
            )
            names = names if {*names} == {*(stated := keys["name"].to_pylist())} else tuple(stated)
        if names == (
            "json",
        ):  # what DuckDB calls values of a file whose rows are not all objects, or that has none
            if not start(path).strip():
                raise InputError(f"{where}: the file has only blank lines")
            raise InputError(
                f'{where}: every row must be a JSON object, such as {{"id": 1}}, got other values'
            )
        return cls(name=where, columns=names, path=path, stamp=stamp(path))

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        types = ", ".join(f"{duck.DUCKDB.literal(name)}: 'JSON'" for name in columns)
        return _json(self.path, f"columns={{{types}}}"), {}

    def check(self, selection: Selection) -> None:
        """Raise InputError for the first id that is neither text nor a whole number."""
        for column in (
            column
            for role, column in selection.text.items()
            if role in IDS and column not in self.folder_values
        ):
            value = duck.DUCKDB.plain(column, "JSON")
            other = (
                f"json_type({duck.DUCKDB.quote(column)}) NOT IN ('VARCHAR', 'BIGINT', 'UBIGINT')"
            )
            if row := selection.first(
                value, f"{other} AND NOT regexp_full_match({value}, '-?[0-9]+')"
            ):
                got = f"{row[1][:80]} (row {row[0]})"
                raise InputError(f"{self.name}: {column} must be text or a whole number, got {got}")


def _json(path: Path, kinds: str) -> str:
    form = "auto" if ".json" in path.suffixes else "newline_delimited"
    return f"read_json({duck.pattern(path)}, format='{form}', {kinds}, hive_partitioning=false)"


# TREC text ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Trec(TextFile):
    """A run or judgements, whose columns are those of its layout; it is loaded before an engine
    reads it.
    """

    layout: trec.LineLayout

    @classmethod
    def opened(cls, path: Path, layout: trec.LineLayout) -> "Trec":
        """The file by its layout."""
        names = tuple(name for name in layout.fields if name)
        return cls(name=shown(path), columns=names, path=path, layout=layout, stamp=stamp(path))

    def _source(self, columns: Collection[str], numbers: Collection[str], frame: str) -> None:
        """None: no engine reads it."""

    def load(self, text: ByRole, numbers: ByRole) -> dict[str, Any]:
        import pyarrow as pa

        columns = trec.read(self.path, self.layout, self.name)
        rows = len(next(iter(columns.values())))
        columns |= {
            name: pa.array([value] * rows, pa.string())
            for name, value in self.folder_values.items()
        }
        return {role: columns[column] for role, column in {**text, **numbers}.items()}


# What a file is -----------------------------------------------------------------------------------


PARTITION = re.compile(r"([^=]+)=(.*)")
WRITTEN = re.compile(r"part[-.]\d.*")  # a piece of a table as Spark, Arrow and Dask name it
NOTHING = "__HIVE_DEFAULT_PARTITION__"
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
    """Files in the order of their names, without the pieces of a table that have no row."""
    paths = _with_rows(paths, header)
    return [_in_folders(part, path, top) for path in paths for part in _parts_of_file(path, header)]


def _in_folders(part: File, path: Path, top: Path) -> File:
    """A part of a file with the columns that its folders below `top` are, which come before its own
    of that name.
    """
    more = partitions(path, top)
    if isinstance(part, logs.EvaluationLog):
        return part
    return (
        replace(part, columns=tuple(dict.fromkeys([*part.columns, *more])), folder_values=more)
        if more
        else part
    )


def _parts_of_file(path: Path, header: str | None) -> Sequence[File]:
    """What a file holds: a table, or the logs of several systems."""
    _no_file(path)
    opened = _opener(path)
    if opened and path.suffix.lower() in PACKED - {".gz", ".zst"}:
        raise InputError(
            f"{shown(path)}: a compressed table must be .gz or .zst, got {path.suffix}"
        )
    try:
        if found := logs.opened(path, shown(path)):
            return found
        document = documents.opened(path, shown(path))
        return [document or (opened or _by_content)(path, header)]
    except OSError as error:
        raise InputError(f"{shown(path)}: cannot be read, {error}") from None


def _opener(path: Path) -> Callable[[Path, str | None], File] | None:
    """What opens the file by its suffix, packed or not."""
    return FORMATS.get(plain(path).suffix.lower())


def _no_file(path: Path) -> None:
    """Raise InputError for a path that is not a regular file, which could not be read twice, and
    for an empty file.
    """
    try:
        status = path.stat()
        with path.open("rb") if stat.S_ISREG(status.st_mode) else nullcontext():
            pass
    except OSError as error:
        raise InputError(f"{shown(path)}: cannot be read: {error.strerror}") from None
    if kind := next((what for is_kind, what in SPECIAL.items() if is_kind(status.st_mode)), None):
        raise InputError(
            f"{shown(path)}: must be a file, got {kind}; write its content into a file first"
        )
    if status.st_size == 0:
        raise InputError(f"{shown(path)}: the file is empty")


def _by_content(path: Path, header: str | None) -> File:
    """A file whose suffix names no format: TREC text, or else a table that has a delimiter."""
    lines = trec.first_lines(path)
    if not lines:
        raise InputError(f"{shown(path)}: the file has only blank lines and comments")
    if layout := trec.layout_of(lines):
        return Trec.opened(path, layout)
    part = Csv.opened(path, header)
    if len(part.columns) == 1:
        titles = {"run": trec.RUN.title, "qrels": trec.QRELS.title}
        raise roles_of.refused(part.name, "no_format", **titles, line=" ".join(lines[0])[:80])
    return part


def partitions(path: Path, top: Path | None = None) -> dict[str, str | None]:
    """The columns encoded in the folders right above a file, outermost first; None is an empty
    value.

    top: the folder that was named; neither it nor those above it are columns.

    >>> partitions(Path("out/day=1/system=a%20b/part-0.parquet"))
    {'day': '1', 'system': 'a b'}
    >>> partitions(Path("/out/day=1/system=a/part-0.parquet"), Path("/out/day=1"))
    {'system': 'a'}
    """
    pairs = [pair.groups() for pair in map(PARTITION.fullmatch, _folders(path, top)) if pair]
    return {unquote(name): None if value == NOTHING else unquote(value) for name, value in pairs}


def _folders(path: Path, top: Path | None = None) -> list[str]:
    """The names of the folders right above a file, and below `top`, that are columns."""
    names: list[str] = []
    for folder in path.parents:
        if not PARTITION.fullmatch(folder.name) or (
            top is not None and Path(os.path.abspath(folder)) == top
        ):
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
    """The files without the pieces that hold no row, where another piece in the same folder holds
    some.

    An engine writes a table as one piece a task, and a task without a row leaves a piece without
    one: no fault. A file that is not such a piece, and a table all of whose pieces are without
    rows, stay: their reader refuses them.

    paths: in the order of their names. header: "none" where text tables have none.
    """
    kept: list[Path] = []
    for _, group in groupby(
        paths, key=lambda path: (path.parent, bool(WRITTEN.fullmatch(path.name)))
    ):
        several = list(group)
        written = len(several) > 1 and WRITTEN.fullmatch(several[0].name)
        full = [path for path in several if _has_rows(path, header)] if written else several
        kept += full or several
    return kept


def _has_rows(path: Path, header: str | None) -> bool:
    """True if a file holds a row; a file that cannot be read is taken to, so that its reader says
    why.
    """
    try:
        size, opener = path.stat().st_size, _opener(path)
        if opener == Parquet.opened:
            return size > 0 and Parquet.opened(path).known_rows > 0
        heads = opener is delimited_or_trec and header != NO_HEADER
        return size > LARGE or (
            size > 0 and sum(bool(line.strip()) for line in start(path).splitlines()) > heads
        )
    except (InputError, OSError):
        return True

"""Files and frames in, checked Arrow columns out; every file with its rows and SHA-256.

Nothing is guessed: ids stay the text that the file holds, numbers are doubles or refused with file, column, row and
value. DuckDB reads CSV, Parquet and JSON lines; `trec` reads TREC text; frames come by the Arrow PyCapsule interface.
"""

import csv
import hashlib
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evalkit.arrays import InputError
from evalkit.reading import trec

TABLES = {".csv": "csv", ".tsv": "csv", ".tab": "csv", ".parquet": "parquet", ".pq": "parquet"}
TABLES |= {".jsonl": "json", ".ndjson": "json", ".json": "json"}
IDS = ("system", "query", "item", "id", "session", "user")
PACKED = {".gz", ".zst", ".bz2", ".lz4"}
_NUMERIC = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|HALF_FLOAT|\"NULL\"|NULL")
_NO_ID = re.compile(r"FLOAT|DOUBLE|DECIMAL.*|HALF_FLOAT|STRUCT.*|MAP.*|UNION.*|.*\[\d*\]")


@dataclass(frozen=True)
class Source:
    """One input: the name to print, the rows read from it, the SHA-256 of the file (empty for a frame)."""

    name: str
    rows: int
    sha256: str


@dataclass(frozen=True)
class Part:
    """One file or frame before it is read: its kind, the columns it has, and a frame's data."""

    name: str
    kind: str
    columns: tuple[str, ...]
    path: Path = Path()
    frame: Any = None


def find(path: str | Path) -> Path:
    """The path itself, looked for in the working directory, then in the checkout or package that holds evalkit.

    Raises InputError when it is in neither place.
    """
    given = Path(path).expanduser()
    roots = [Path()] if given.is_absolute() else [Path.cwd(), Path(__file__).resolve().parents[2]]
    for root in roots:
        if (root / given).exists():
            return root / given
    raise InputError(f"{path}: no such file or folder, in neither the working directory nor evalkit's own")


def files(path: str | Path) -> list[Path]:
    """The files that a path, a folder or a glob pattern stands for, in the order of their names."""
    text = str(path)
    if not text.strip():
        raise InputError(f"a path must name a file, a folder or a pattern, got {text!r}")
    if any(mark in text for mark in "*?[") and not Path(text).expanduser().exists():
        found = sorted(one for one in _glob(Path(text).expanduser()) if one.is_file())
        if not found:
            raise InputError(f"{path}: no file matches this pattern")
        return found
    there = find(path)
    if not there.is_dir():
        return [there]
    inside = sorted(one for one in there.iterdir() if one.is_file() and not one.name.startswith("."))
    if not inside:
        raise InputError(f"{path}: the folder holds no file")
    return inside


def _glob(pattern: Path) -> Iterable[Path]:
    roots = [Path(pattern.anchor)] if pattern.is_absolute() else [Path.cwd(), Path(__file__).resolve().parents[2]]
    relative = str(pattern.relative_to(pattern.anchor))
    for root in roots:
        if found := list(root.glob(relative)):
            return found
    return []


def parts(data: Any) -> list[Part]:
    """Every file or frame of `data`: a path, folder or glob pattern, a frame, or a list of these."""
    if isinstance(data, list | tuple):
        if not data:
            raise InputError("data must name at least one file or frame, got an empty list")
        return [part for one in data for part in parts(one)]
    if isinstance(data, str | Path):
        return [_part(path) for path in files(data)]
    return [_frame_part(data)]


def _frame_part(data: Any) -> Part:
    import pyarrow as pa

    if not hasattr(data, "__arrow_c_stream__"):
        got = type(data).__name__
        raise InputError(f"data must be a path, a list of paths or a data frame (pandas, polars, Arrow), got {got}")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The DataFrame has column names of mixed type")
            table = pa.table(data)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        why = "; ".join(str(one).splitlines()[0] for one in error.args)
        raise InputError(f"the frame cannot be read: {why}") from None
    named = [name for name in table.column_names if not re.fullmatch(r"__index_level_\d+__", name)]
    table = table.select(named) if len(named) < table.num_columns else table  # pandas' own index has no name
    halves = [pa.float32() if one.type == pa.float16() else one.type for one in table.schema]  # DuckDB has no float16
    names = [str(name) for name in table.column_names]
    _distinct(names, "data frame")
    table = table.cast(pa.schema(list(zip(names, halves, strict=True))))
    return Part("data frame", "frame", tuple(names), frame=table)


def _distinct(names: Sequence[str], where: str) -> None:
    """Raises InputError where two columns have one name; DuckDB's names are the same in capitals and small letters."""
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            raise InputError(f"{where}: column names must be distinct, got {seen[name.lower()]!r} and {name!r}")
        seen[name.lower()] = name


def _part(path: Path) -> Part:
    if path.stat().st_size == 0:
        raise InputError(f"{_shown(path)}: the file is empty")
    suffix = [one.lower() for one in path.suffixes if one.lower() not in PACKED][-1:]
    kind = TABLES.get(suffix[0] if suffix else "")
    if kind and path.suffix.lower() in PACKED - {".gz", ".zst"}:
        raise InputError(f"{_shown(path)}: a packed table must be .gz or .zst, got {path.suffix}")
    try:
        if kind:
            return Part(_shown(path), kind, _header(path, kind), path)
        return _unknown_part(path)
    except OSError as error:
        raise InputError(f"{_shown(path)}: cannot be read, {error}") from None


def _unknown_part(path: Path) -> Part:
    """A file whose suffix names no kind: TREC text by its first line, or else a table that has a delimiter."""
    first = trec.first_line(path)
    if not first:
        raise InputError(f"{_shown(path)}: the file has no line besides blank ones and comments")
    if shape := trec.layout(first):
        return Part(_shown(path), "trec", tuple(name for name in shape.fields if name), path, frame=shape)
    names = _header(path, "csv")
    if len(names) == 1:
        raise InputError(
            f"{_shown(path)}: must be {trec.RUN.title}, {trec.QRELS.title}, or a table with a header, "
            f"got the first line {' '.join(first)[:80]!r}"
        )
    return Part(_shown(path), "csv", names, path)


def _shown(path: Path) -> str:
    """The path as the reader knows it: relative where it lies under the working directory or the checkout."""
    for root in (Path.cwd(), Path(__file__).resolve().parents[2]):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return str(path)


# ---- tables by DuckDB -----------------------------------------------------------------------------------------------


@cache
def _connection() -> Any:
    import tempfile

    import duckdb

    spill = str(Path(tempfile.gettempdir()) / "evalkit-spill")
    options: dict[str, Any] = {"autoinstall_known_extensions": "false", "temp_directory": spill}
    return duckdb.connect(config=options)


def _header(path: Path, kind: str) -> tuple[str, ...]:
    """The column names of a table file."""
    if kind == "csv":
        return tuple(_csv_header(path)[0])
    try:
        described = _sql(f"DESCRIBE SELECT * FROM {_from(path, kind)}", _shown(path))
    except InputError:
        if kind == "json":
            raise
        raise _no_parquet(_shown(path)) from None
    return tuple(described["column_name"].to_pylist())


def _no_parquet(shown: str) -> InputError:
    return InputError(f"{shown}: must be a whole Parquet file, it has another content or is cut off")


def _csv_header(path: Path) -> tuple[list[str], str]:
    """The first line's names, and the delimiter: the one it holds most of."""
    import pyarrow as pa

    with pa.input_stream(str(path), compression="detect") as stream:
        first = stream.read(1 << 20).split(b"\n", 1)[0]
    try:
        line = first.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        byte = first[error.start]
        raise InputError(f"{_shown(path)}: must be UTF-8 text, got byte 0x{byte:02x} (line 1)") from None
    if not line.strip() or "\r" in line or line.count('"') % 2:
        wrong = "is empty" if not line.strip() else "holds a carriage return" if "\r" in line else "has an open quote"
        raise InputError(f"{_shown(path)}: the first line must hold the column names, it {wrong}")
    delimiter = max(",\t;|", key=line.count)
    names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter))]
    names = [name or f"column {i}" for i, name in enumerate(names, start=1)]
    _distinct(names, _shown(path))
    return names, delimiter


def _literal(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _from(path: Path, kind: str, columns: Sequence[str] = (), numbers: Collection[str] = ()) -> str:
    """The FROM clause that reads the file strictly; a path's own brackets and stars are no pattern."""
    place = _literal(re.sub(r"([*?[])", r"[\1]", str(path)))
    if kind == "parquet":
        return f"read_parquet({place})"
    if kind == "json":
        form = "auto" if ".json" in path.suffixes else "newline_delimited"
        # As JSON values: DuckDB's own types would rewrite ids that look like dates, UUIDs or large numbers.
        known = ", ".join(f"{_literal(n)}: 'JSON'" for n in columns)
        return f"read_json({place}, format='{form}', {f'columns={{{known}}}' if known else 'sample_size=-1'})"
    names, delimiter = _csv_header(path)
    types = ", ".join(f"{_literal(n)}: '{'DOUBLE' if n in numbers else 'VARCHAR'}'" for n in names)
    options = f"header=true, auto_detect=false, delim={_literal(delimiter)}, quote='\"', escape='\"', nullstr=''"
    return f"read_csv({place}, {options}, strict_mode=true, columns={{{types}}})"


def _sql(query: str, shown: str, **frames: Any) -> Any:
    """The query's result as an Arrow table; DuckDB's errors become one line with the file's name."""
    import duckdb

    connection = _connection().cursor()
    try:
        for name, frame in frames.items():
            connection.register(name, frame)
        return connection.sql(query).to_arrow_table()
    except duckdb.Error as error:
        raise InputError(f"{shown}: {_tidy(str(error))}") from None
    finally:
        connection.close()


def _tidy(message: str) -> str:
    """DuckDB's many lines on a bad file as one: what is wrong, what is there, on which line."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f" (line {line[1]})" if line else ""
    if found := re.search(r'converting column "(.*?)". Could not convert string "(.*?)" to', message, re.S):
        return f"{found[1]} must be a number, got {found[2][:80]!r}{where}"
    if found := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return f"every row must have {found[1]} columns, got {found[2]}{where}"
    if "unicode" in message or "utf-8" in message.lower():
        return f"must be UTF-8 text, other bytes found{where}"
    if found := re.search(r"Malformed JSON .*?at byte (\d+) in line (\d+): (.*)", message):
        if "unexpected end" in found[3]:
            return "broken JSON: the file ends inside a value"
        return f"broken JSON: {found[3].strip(' .')} (byte {found[1]})"
    if "Maximum line size" in message:
        return f"a line must not be longer than 2 MB{where}"
    if "state machine" in message:
        return "every line must end in the same way, as the first does (\\n or \\r\\n)"
    if "unterminated quote" in message:
        return f"a quote is opened and never closed{where}"
    if found := re.search(r"Could not convert string '(.*?)' to", message, re.S):
        return f"must hold numbers, got {found[1]!r}{where}"
    return " ".join(message.split("\n")[0].split()).split("Error: ", 1)[-1]


def load(part: Part, text: Mapping[str, str], numbers: Mapping[str, str]) -> dict[str, Any]:
    """The columns of one part by role, text and doubles: both maps go from role to column.

    Raises InputError where an id is a fraction, missing or no text, or a number is text.
    """
    if part.kind == "trec":
        columns = trec.read(part.path, part.frame, part.name)
        return {role: columns[column] for role, column in {**text, **numbers}.items()}
    if part.kind == "frame":
        source, frames = "frame", {"frame": part.frame}
    else:
        wanted = list(dict.fromkeys([*text.values(), *numbers.values()]))
        source, frames = _from(part.path, part.kind, wanted, set(numbers.values())), {}
    types = _types(source, part, frames)
    selected = [_text_column(part, types, role, column) for role, column in text.items()]
    selected += [_number_column(part, types, role, column) for role, column in numbers.items()]
    try:
        table = _sql(f"SELECT {', '.join(selected)} FROM {source}", part.name, **frames)
    except InputError:
        _refuse_value(part, source, frames, types, numbers.values())
        if part.kind == "parquet":
            raise _no_parquet(part.name) from None
        raise
    if part.kind == "json":
        _refuse_ids(part, source, text)
    return {role: table[role].combine_chunks() for role in table.column_names}


def _refuse_value(part: Part, source: str, frames: dict, types: dict[str, str], columns: Iterable[str]) -> None:
    """Raises InputError for the first text that is no number; of a CSV file DuckDB itself names the line."""
    for column in columns if part.kind != "csv" else ():
        value = _number(column, types[column])
        wrong = f"{value} IS NOT NULL AND TRY_CAST({value} AS DOUBLE) IS NULL"
        if types[column] in ("VARCHAR", "JSON") and (found := _first(part, source, frames, value, wrong)):
            raise InputError(f"{part.name}: {column} must be a number, got {found[1]!r} (row {found[0]})")


def _refuse_ids(part: Part, source: str, text: Mapping[str, str]) -> None:
    """Raises InputError for the first id of a JSON file that is neither text nor a whole number."""
    for column in (column for role, column in text.items() if role in IDS):
        value = _plain(column, "JSON")
        other = f"json_type({_name(column)}) NOT IN ('VARCHAR', 'BIGINT', 'UBIGINT')"
        wrong = f"{other} AND NOT regexp_full_match({value}, '-?[0-9]+')"
        if found := _first(part, source, {}, value, wrong):
            raise InputError(f"{part.name}: {column} must be text or a whole number, got {found[1]} (row {found[0]})")


def _first(part: Part, source: str, frames: dict, value: str, wrong: str) -> tuple[int, str] | None:
    """Row, from 1, and value of the first row where the condition holds."""
    rows = f"SELECT row_number() OVER () AS n, {value} AS value, {wrong} AS wrong FROM {source}"
    table = _sql(f"SELECT n, value FROM ({rows}) WHERE wrong ORDER BY n LIMIT 1", part.name, **frames)
    return (table["n"][0].as_py(), table["value"][0].as_py()) if len(table) else None


def _plain(column: str, kind: str) -> str:
    """The SQL for a column's value as it stands in the file: a JSON text without its quotes."""
    return f"({_name(column)} ->> '$')" if kind == "JSON" else _name(column)


def _types(source: str, part: Part, frames: dict[str, Any]) -> dict[str, str]:
    described = _sql(f"DESCRIBE SELECT * FROM {source}", part.name, **frames)
    return dict(zip(described["column_name"].to_pylist(), described["column_type"].to_pylist(), strict=True))


def _text_column(part: Part, types: dict[str, str], role: str, column: str) -> str:
    kind = types[column]
    if _NO_ID.fullmatch(kind) and role in IDS:
        raise InputError(f"{part.name}: {column} must hold ids as text or whole numbers, got {kind}")
    return f"CAST({_plain(column, kind)} AS VARCHAR) AS {_name(role)}"


def _number_column(part: Part, types: dict[str, str], role: str, column: str) -> str:
    kind = types[column]
    if kind not in ("VARCHAR", "JSON") and not _NUMERIC.fullmatch(kind):
        raise InputError(f"{part.name}: {column} must hold numbers, got {kind.split('(')[0]}")
    return f"CAST({_number(column, kind)} AS DOUBLE) AS {_name(role)}"


def _number(column: str, kind: str) -> str:
    """The SQL for a number or the text of one: JSON's true and false are 1 and 0, as booleans of other sources are."""
    value = _plain(column, kind)
    truth = f"json_type({_name(column)}) = 'BOOLEAN'"
    return f"if({truth}, if({value} = 'true', '1', '0'), {value})" if kind == "JSON" else value


def fingerprint(part: Part, rows: int) -> Source:
    """The part's name, rows and SHA-256."""
    if part.kind == "frame":
        return Source(part.name, rows, "")
    with part.path.open("rb") as file:
        return Source(part.name, rows, hashlib.file_digest(file, "sha256").hexdigest())

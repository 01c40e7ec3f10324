"""Files and frames in, checked Arrow columns out; every file with its rows and SHA-256.

Nothing is guessed: ids stay the text that the file holds, numbers are doubles or refused with file, column, row and
value. DuckDB reads CSV, Parquet and JSON lines; `trec` reads TREC text; frames come by the Arrow PyCapsule interface,
Spark tables by name or as Spark data frames, collected where they are small.
"""

import hashlib
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evalkit.arrays import InputError
from evalkit.parameters.reports import NO_HEADER
from evalkit.reading.tables import batches, duck, folders, parquet, pieces, refusals, spark_tables, trec

TABLES = {".csv": "csv", ".tsv": "csv", ".tab": "csv", ".parquet": "parquet", ".pq": "parquet"}
TABLES |= {".jsonl": "json", ".ndjson": "json", ".json": "json"}
IDS = ("system", "query", "item", "id", "session", "user")
UNPRINTED = ("query", "item", "id", "session", "user")  # ids, of which a page names few
PACKED = {".gz", ".zst", ".bz2", ".lz4"}
PACKING = 5  # how much larger a packed text file is without its packing, about
_NUMERIC = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|HALF_FLOAT|\"NULL\"|NULL")
_NO_ID = re.compile(r"FLOAT|DOUBLE|DECIMAL.*|HALF_FLOAT|STRUCT.*|MAP.*|UNION.*|.*\[\d*\]")


@dataclass(frozen=True)
class Source:
    """One input: the name to print, the rows read from it; of a file its path, and size and time when it was read."""

    name: str
    rows: int
    path: Path | None = None
    stamp: tuple[int, int] = (0, 0)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the file, empty for a frame; raises InputError where the file has changed since."""
        if self.path is None:
            return ""
        try:
            with self.path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            changed = stamp(self.path) != self.stamp
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read any more, {error}") from None
        if changed:
            raise changed_file(self.name)
        return found


@dataclass(frozen=True)
class Part:
    """One file or frame before it is read: its kind, the columns it has, and a frame's data.

    halves: columns of a frame that were float16; they are held as float32, because DuckDB has no float16. folders: the
    columns that its folders are, and their value in every row.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    path: Path = Path()
    frame: Any = None
    stamp: tuple[int, int] = (0, 0)
    halves: tuple[str, ...] = ()
    folders: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def unnamed(self) -> bool:
        """Whether it is no file of the user's: a frame, or record batches."""
        return self.frame is not None and self.kind not in ("trec", "spark")


@dataclass(frozen=True)
class Selection:
    """The SQL that gives columns of a part by role, and the frames that it names."""

    part: Part
    query: str
    source: str
    types: Mapping[str, str]
    text: Mapping[str, str]
    numbers: Mapping[str, str]
    frames: Mapping[str, Any]


def parts(data: Any, header: str | None = None) -> list[Part]:
    """Every file, frame or table of `data`: a path, folder or pattern, "spark:table", a frame, batches, or a list.

    header: "none" where text tables have none. Parts stay as they are: batches can be read only once, so who needs them
    twice asks for the parts first.
    """
    if not isinstance(data, list | tuple):
        return _parts(data, header)
    if not data:
        raise InputError("data must name at least one file or frame, got an empty list")
    tops = [folders.located(one)[1] for one in data if _is_path(one)]
    top = folders.common(tops) if tops else None
    return [part for one in data for part in (_parts(one, header, top) if _is_path(one) else parts(one, header))]


def _is_path(data: Any) -> bool:
    return isinstance(data, str | Path) and not str(data).startswith(spark_tables.PREFIX)


def _parts(data: Any, header: str | None, top: Path | None = None) -> list[Part]:
    """The parts of what is no list; top: the folder that all paths of a list share."""
    if isinstance(data, Part):
        return [data]
    if table := spark_tables.found(data):
        return [Part(table.name, "spark", tuple(table.types), table.path, frame=table)]
    if isinstance(data, str | Path):
        paths, own = folders.located(data)
        return [_part(path, header, folders.common([top or own])) for path in pieces.with_rows(paths, header)]
    return [_batches_part(data) if batches.are(data) else _frame_part(data)]


def _batches_part(data: Any) -> Part:
    """Arrow batches by way of a Parquet file, which goes with the part."""
    held = batches.written(data)
    return Part(held.name, "parquet", held.columns, held.path, frame=held, stamp=stamp(held.path))


def _frame_part(data: Any) -> Part:
    import pyarrow as pa

    if not hasattr(data, "__arrow_c_stream__"):
        kinds, got = "pandas, polars, Arrow, Spark", type(data).__name__
        raise InputError(f"data must be a path, a list of paths or a data frame ({kinds}), got {got}")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The DataFrame has column names of mixed type")
            table = pa.table(data)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        why = "; ".join(str(one).splitlines()[0] for one in error.args)
        raise InputError(f"the frame cannot be read: {why}") from None
    named = [name for name in table.column_names if not re.fullmatch(r"__index_level_\d+__", name)]
    table = table.select(named) if len(named) < table.num_columns else table  # pandas' own index has no name
    names = [str(name) or f"column {i}" for i, name in enumerate(table.column_names, start=1)]
    table = table.rename_columns(names)
    duck.distinct(names, "data frame")
    halves = tuple(name for name, kind in zip(names, table.schema.types, strict=True) if kind == pa.float16())
    types = [pa.float32() if name in halves else kind for name, kind in zip(names, table.schema.types, strict=True)]
    table = table.cast(pa.schema(list(zip(names, types, strict=True))))
    return Part("data frame", "frame", tuple(names), frame=table, halves=halves)


def _part(path: Path, header: str | None, top: Path) -> Part:
    """A file with the columns that its folders below `top` are, which come before its own of that name."""
    part, more = _file_part(path, header), folders.partitions(path, top)
    columns = dict.fromkeys([*part.columns, *more])
    return replace(part, columns=tuple(columns), folders=more) if more else part


def _file_part(path: Path, header: str | None) -> Part:
    refusals.no_file(path)
    suffix = [one.lower() for one in path.suffixes if one.lower() not in PACKED][-1:]
    kind = TABLES.get(suffix[0] if suffix else "")
    if kind and path.suffix.lower() in PACKED - {".gz", ".zst"}:
        raise InputError(f"{duck.shown(path)}: a packed table must be .gz or .zst, got {path.suffix}")
    try:
        if kind == "csv":
            return _table_part(path, header)
        if kind:
            names = parquet.header(path) if kind == "parquet" else duck.header(path, kind)
            return Part(duck.shown(path), kind, names, path, stamp=stamp(path))
        return _unknown_part(path, header)
    except OSError as error:
        raise InputError(f"{duck.shown(path)}: cannot be read, {error}") from None


def _trec_part(path: Path, shape: trec.Layout) -> Part:
    names = tuple(name for name in shape.fields if name)
    return Part(duck.shown(path), "trec", names, path, frame=shape, stamp=stamp(path))


def _table_part(path: Path, header: str | None) -> Part:
    """A text file whose suffix says that it is a table: TREC text by its content, unless `header` says what it is."""
    if header is None and (shape := trec.layout_of_table(trec.first_lines(path))):
        return _trec_part(path, shape)
    kind = duck.BARE if header == NO_HEADER else "csv"
    return Part(duck.shown(path), kind, duck.header(path, kind), path, stamp=stamp(path))


def _unknown_part(path: Path, header: str | None) -> Part:
    """A file whose suffix names no kind: TREC text by its content, or else a table that has a delimiter."""
    lines = trec.first_lines(path)
    first = lines[0] if lines else []
    if not first:
        raise InputError(f"{duck.shown(path)}: the file has no line besides blank ones and comments")
    if shape := trec.layout_of(lines):
        return _trec_part(path, shape)
    kind = duck.BARE if header == NO_HEADER else "csv"
    names = duck.header(path, kind)
    if len(names) == 1:
        raise InputError(
            f"{duck.shown(path)}: must be {trec.RUN.title}, {trec.QRELS.title}, or a table with a header, "
            f"got the first line {' '.join(first)[:80]!r}"
        )
    return Part(duck.shown(path), kind, names, path, stamp=stamp(path))


def stamp(path: Path) -> tuple[int, int]:
    """Size and time of the last change: what tells whether a file is the same still."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def rows_of(part: Part) -> int:
    """How many rows the part has: known of all but text files, of which the first lines' length tells."""
    if part.kind == "frame":
        return len(part.frame)
    if part.kind == "spark":
        return part.frame.rows
    if part.kind == "parquet":
        return parquet.rows(part.path)
    start = duck.start(part.path)
    size = part.stamp[0] * (PACKING if part.path.suffix.lower() in PACKED else 1)
    return int(size / len(start) * max(start.count(b"\n"), 1)) if start else 0


def load(
    part: Part, text: Mapping[str, str], numbers: Mapping[str, str], coded: Collection[str] = ()
) -> dict[str, Any]:
    """The columns of one part by role, text and doubles: both maps go from role to column.

    coded: roles of text that may come as Arrow dictionaries. Raises InputError where an id is a fraction, missing or no
    text, or a number is text.
    """
    columns = parquet.read(part.path, text, numbers, coded) if part.kind == "parquet" else None
    if not columns:
        chosen = select(part, text, numbers)
        with explained(chosen):
            table = duck.sql(chosen.query, part.name, **chosen.frames)
        columns = {role: table[role].combine_chunks() for role in table.column_names}
    for role, column in text.items():
        if role not in UNPRINTED and not role.startswith("feature "):
            refusals.long_text(columns[role], f"{part.name}: {column}")
    return columns


def _with_folders(source: str, more: Mapping[str, str | None]) -> str:
    """The FROM clause with the columns that folders are."""
    if not more:
        return source
    cells = [
        f"CAST({'NULL' if value is None else duck.literal(value)} AS VARCHAR) AS {duck.name_of(name)}"
        for name, value in more.items()
    ]
    own = ", ".join(map(duck.literal, more))
    return f"(SELECT COLUMNS(lambda c: c NOT IN ({own})), {', '.join(cells)} FROM {source})"


def _trec(part: Part, text: Mapping[str, str], numbers: Mapping[str, str]) -> dict[str, Any]:
    import pyarrow as pa

    columns = trec.read(part.path, part.frame, part.name)
    rows = len(next(iter(columns.values())))
    columns |= {name: pa.array([value] * rows, pa.string()) for name, value in part.folders.items()}
    return {role: columns[column] for role, column in {**text, **numbers}.items()}


def select(part: Part, text: Mapping[str, str], numbers: Mapping[str, str], frame: str = "frame") -> Selection:
    """The SQL for the columns of one part by role; a frame, or what a TREC file holds, is called `frame` in it."""
    if part.kind == "trec":
        import pyarrow as pa

        whole = pa.table(_trec(part, text, numbers))
        roles = ", ".join(duck.name_of(role) for role in [*text, *numbers])
        return Selection(part, f"SELECT {roles} FROM {frame}", frame, {}, {}, {}, {frame: whole})
    if part.kind == "spark":  # one larger than is collected must go to `spark.engine_for` before it comes here
        part = replace(part, kind="frame", frame=part.frame.whole)
    if part.kind == "frame":
        source, frames = frame, {frame: part.frame}
    else:
        wanted = [name for name in dict.fromkeys([*text.values(), *numbers.values()]) if name not in part.folders]
        own = wanted or part.columns[:1]
        source, frames = duck.from_clause(part.path, part.kind, own, set(numbers.values())), {}
        source = _with_folders(source, part.folders)
    types = _types(source, part, frames)
    selected = [_text_column(part, types, role, column) for role, column in text.items()]
    selected += [_number_column(part, types, role, column) for role, column in numbers.items()]
    return Selection(part, f"SELECT {', '.join(selected)} FROM {source}", source, types, text, numbers, frames)


@contextmanager
def explained(s: Selection) -> Iterator[None]:
    """Around work that runs the selection: an error becomes the one that names the wrong value and its row."""
    try:
        yield
    except InputError:
        if not s.source:  # Spark's own, which has named the value
            raise
        _refuse_value(s.part, s.source, s.frames, s.types, s.numbers.values())
        if s.part.kind == "parquet":
            raise duck.no_parquet(s.part.name) from None
        raise
    if s.part.kind == "json":
        _refuse_ids(s.part, s.source, s.text)


def _refuse_value(
    part: Part, source: str, frames: Mapping[str, Any], types: Mapping[str, str], columns: Iterable[str]
) -> None:
    """Raises InputError for the first text that is no number; of a CSV file DuckDB itself names the line."""
    for column in columns if part.kind not in duck.TEXT else ():
        value = _number(column, types[column])
        wrong = f"{value} IS NOT NULL AND TRY_CAST({value} AS DOUBLE) IS NULL"
        if types[column] in ("VARCHAR", "JSON") and (found := _first(part, source, frames, value, wrong)):
            raise InputError(f"{part.name}: {column} must be a number, got {found[1][:80]!r} (row {found[0]})")


def _refuse_ids(part: Part, source: str, text: Mapping[str, str]) -> None:
    """Raises InputError for the first id of a JSON file that is neither text nor a whole number."""
    for column in (column for role, column in text.items() if role in IDS and column not in part.folders):
        value = _plain(column, "JSON")
        other = f"json_type({duck.name_of(column)}) NOT IN ('VARCHAR', 'BIGINT', 'UBIGINT')"
        wrong = f"{other} AND NOT regexp_full_match({value}, '-?[0-9]+')"
        if found := _first(part, source, {}, value, wrong):
            raise InputError(
                f"{part.name}: {column} must be text or a whole number, got {found[1][:80]} (row {found[0]})"
            )


def rows_where(s: Selection, condition: str, cells: str, most: int) -> list[dict[str, Any]]:
    """Number n, from 1, and cells of the first rows of a selection where the condition on its roles holds."""
    rows = f"SELECT row_number() OVER () AS n, * FROM ({s.query})"
    query = f"SELECT n, {cells} FROM ({rows}) WHERE {condition} ORDER BY n LIMIT {most}"
    return duck.sql(query, s.part.name, **s.frames).to_pylist()


def place(part: Part, row: int) -> str:
    """The part and a row of it as an error names them; row 0 is one without a number."""
    return f"{part.name}, row {row}" if row else part.name


def at(row: int) -> str:
    """The end of an error that names a row; nothing for row 0, one without a number."""
    return f" (row {row})" if row else ""


def _first(part: Part, source: str, frames: Mapping[str, Any], value: str, wrong: str) -> tuple[int, str] | None:
    """Row, from 1, and value of the first row where the condition holds."""
    rows = f"SELECT row_number() OVER () AS n, {value} AS value, {wrong} AS wrong FROM {source}"
    table = duck.sql(f"SELECT n, value FROM ({rows}) WHERE wrong ORDER BY n LIMIT 1", part.name, **frames)
    return (table["n"][0].as_py(), table["value"][0].as_py()) if len(table) else None


def _plain(column: str, kind: str) -> str:
    """The SQL for a column's value as it stands in the file: a JSON text without its quotes."""
    return f"({duck.name_of(column)} ->> '$')" if kind == "JSON" else duck.name_of(column)


def _types(source: str, part: Part, frames: Mapping[str, Any]) -> dict[str, str]:
    described = duck.sql(f"DESCRIBE SELECT * FROM {source}", part.name, **frames)
    return dict(zip(described["column_name"].to_pylist(), described["column_type"].to_pylist(), strict=True))


def _text_column(part: Part, types: dict[str, str], role: str, column: str) -> str:
    kind = types[column]
    no_rows = part.kind == "frame" and not len(part.frame)  # the columns of an empty frame have any type
    if _NO_ID.fullmatch(kind) and role in IDS and not no_rows:
        raise InputError(f"{part.name}: {column} must hold ids as text or whole numbers, got {kind}")
    return f"CAST({_plain(column, kind)} AS VARCHAR) AS {duck.name_of(role)}"


def _number_column(part: Part, types: dict[str, str], role: str, column: str) -> str:
    kind = types[column]
    if kind not in ("VARCHAR", "JSON") and not _NUMERIC.fullmatch(kind):
        raise InputError(f"{part.name}: {column} must hold numbers, got {kind.split('(')[0]}")
    return f"CAST({_number(column, kind)} AS DOUBLE) AS {duck.name_of(role)}"


def _number(column: str, kind: str) -> str:
    """The SQL for a number or the text of one: JSON's true and false are 1 and 0, as booleans of other sources are."""
    value = _plain(column, kind)
    truth = f"json_type({duck.name_of(column)}) = 'BOOLEAN'"
    return f"if({truth}, if({value} = 'true', '1', '0'), {value})" if kind == "JSON" else value


def fingerprint(part: Part, rows: int) -> Source:
    """The part's name, rows and file; raises InputError where the file changed since reading began."""
    if part.unnamed or part.kind == "spark":
        return Source(part.name, rows)
    if stamp(part.path) != part.stamp:
        raise changed_file(part.name)
    return Source(part.name, rows, part.path, part.stamp)


def changed_file(name: str) -> InputError:
    """The error for a file that is not the one that was read first."""
    return InputError(f"{name}: the file changed while it was read; run again when it is complete")

"""TREC text files: runs (`query Q0 item rank score tag`) and judgements (`query 0 item grade`)."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.arrays import InputError

_BOM = b"\xef\xbb\xbf"


class Layout(NamedTuple):
    """The fields of one kind of line: how many it has, and where and under which name the wanted ones stand."""

    title: str
    fields: tuple[str, ...]
    number: str


RUN = Layout("a run line, 'query Q0 item rank score tag'", ("query", "", "item", "rank", "score", "system"), "score")
QRELS = Layout("a judgement line, 'query 0 item grade'", ("query", "", "item", "grade"), "grade")


def layout(first: list[str]) -> Layout | None:
    """The layout that the fields of a first line have, None where it is neither.

    Six or more fields with numbers in the fourth and fifth make a run; four with a number last make judgements.
    """
    if len(first) >= 6 and _is_number(first[3]) and _is_number(first[4]):
        return RUN
    return QRELS if len(first) == 4 and _is_number(first[3]) else None


def first_line(path: Path) -> list[str]:
    """The fields of the first line with content, split at white space; none where 64 KB hold no such line."""
    import pyarrow as pa

    with pa.input_stream(str(path), compression="detect") as stream:
        head = stream.read(65536).removeprefix(_BOM)
    return next((parts for _, parts in _split(head.split(b"\n"))), [])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _split(lines: list[bytes]) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of each line that is neither blank nor a comment; only ASCII white space parts fields."""
    for number, line in enumerate(lines, start=1):
        parts = line.split()
        if parts and not line.startswith(b"#"):
            yield number, [part.decode("utf-8", errors="replace") for part in parts]


def read(path: Path, shape: Layout, name: str = "") -> dict[str, Any]:
    """The wanted fields of every line as Arrow arrays by name; text, but score and grade as doubles.

    name: what errors call the file.
    Fields after the last are ignored, as trec_eval does. Raises InputError with the line for anything else.
    """
    import pyarrow as pa

    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            data = stream.read().removeprefix(_BOM)
    except OSError as error:
        raise InputError(f"{name or path}: cannot be read, {error}") from None
    table = _read_uniform(data, shape)
    return _read_lines(data, shape, name or str(path)) if table is None else table


def _read_uniform(data: bytes, shape: Layout) -> dict[str, Any] | None:
    """By Arrow's reader, where one blank or tab separates all fields and no line is special; else None."""
    import pyarrow as pa
    import pyarrow.csv as csv

    data = data.replace(b"\t", b" ")
    if any(mark in data for mark in (b"  ", b" \n", b"\r", b"\n#", b"\n ", b"\n\n")) or data[:1] in (
        b"#",
        b" ",
        b"\n",
    ):
        return None
    names = [name or f"unused{i}" for i, name in enumerate(shape.fields)]
    wanted = [name for name in shape.fields if name and name != "rank"]
    types = {name: pa.float64() if name == shape.number else pa.string() for name in wanted}
    try:
        table = csv.read_csv(
            io.BytesIO(data),
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(column_types=types, include_columns=wanted, null_values=[], strings_can_be_null=False),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    return {name: table[name].combine_chunks() for name in wanted}


def _read_lines(data: bytes, shape: Layout, file: str) -> dict[str, Any]:
    """Line by line: slower, takes any white space and comments, and knows which line is wrong."""
    import pyarrow as pa

    wanted = [(i, name) for i, name in enumerate(shape.fields) if name and name != "rank"]
    columns: dict[str, list] = {name: [] for _, name in wanted}
    _check_text(data, file)
    for line, parts in _split(data.split(b"\n")):
        if len(parts) < len(shape.fields):
            got = f"{len(parts)} fields: {' '.join(parts)[:80]!r}"
            raise InputError(f"{file}: line {line} must be {shape.title}, got {got}")
        for i, name in wanted:
            columns[name].append(_number(parts[i], name, file, line) if name == shape.number else parts[i])
    types = {name: pa.float64() if name == shape.number else pa.string() for name in columns}
    return {name: pa.array(column, types[name]) for name, column in columns.items()}


def _check_text(data: bytes, file: str) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{file}: must be UTF-8 text, got byte 0x{data[error.start]:02x} (line {line})") from None


def _number(text: str, name: str, file: str, line: int) -> float:
    if not _is_number(text):
        raise InputError(f"{file}: {name} must be a number, got {text!r} (line {line})")
    return float(text)

"""DuckDB as a reader of files: its connection, its errors as one line, and what every table file must keep to."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from evalkit import bundled
from evalkit.arrays import InputError
from evalkit.reading.tables.dialects import DUCKDB

LONGEST = 1000  # bytes of a name; a page repeats names often


def shown(path: Path) -> str:
    """The path as the reader knows it: relative where it lies under the working directory or the checkout."""
    for root in (Path.cwd(), bundled.root()):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return str(path)


def too_long(what: str, text: str, where: str = "") -> InputError:
    """The error for a name, of a column, a system, a class or a group, that no page can repeat."""
    size = len(text.encode(errors="replace"))
    return InputError(f"{what} must have at most {LONGEST:,} bytes, got {size:,}, beginning with {text[:40]!r}{where}")


def longest(texts: Any) -> int:
    """The bytes of the longest of some texts."""
    import pyarrow.compute as pc

    return pc.max(pc.binary_length(texts)).as_py() or 0


def long_text(values: Any, what: str, before: int | None = 0) -> None:
    """Raises InputError for a text that stands on the page again and again, and is longer than a name.

    before: rows that came earlier; None where they have no numbers.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = values.dictionary if pa.types.is_dictionary(values.type) else values
    if longest(texts) <= LONGEST:
        return
    every = values.cast(texts.type)
    row = int(pc.index(pc.greater(pc.binary_length(every), LONGEST), True).as_py())
    raise too_long(what, every[row].as_py(), "" if before is None else f" (row {before + row + 1})")


@cache
def _connection() -> Any:
    import tempfile

    import duckdb

    spill = str(Path(tempfile.gettempdir()) / "evalkit-spill")
    options: dict[str, Any] = {"autoinstall_known_extensions": "false", "temp_directory": spill}
    return duckdb.connect(config=options)


NO_PARQUET = "must be a complete Parquet file, but it has other content or is truncated"


def no_parquet(where: str) -> InputError:
    return InputError(f"{where}: {NO_PARQUET}")


def start(path: Path) -> bytes:
    """The first bytes of a text file, unpacked."""
    import pyarrow as pa

    with pa.input_stream(str(path), compression="detect") as stream:
        return stream.read(1 << 20)


def pattern(path: Path) -> str:
    """The path as DuckDB's readers take it: its own brackets and stars are no pattern."""
    return DUCKDB.literal(re.sub(r"([*?[])", r"[\1]", str(path)))


def sql(query: str, where: str, **frames: Any) -> Any:
    """The query's result as an Arrow table; DuckDB's errors become one line with the file's name."""
    import duckdb

    connection = _connection().cursor()
    try:
        for name, frame in frames.items():
            connection.register(name, frame)
        return connection.sql(query).to_arrow_table()
    except duckdb.Error as error:
        if isinstance(error, duckdb.FatalException | duckdb.InternalException):
            _connection.cache_clear()  # the database answers no more; the next query opens another
        raise InputError(f"{where}: {tidy(str(error))}") from None
    finally:
        connection.close()


def tidy(message: str) -> str:
    """DuckDB's many lines on a bad file as one: what is wrong, what is there, on which line."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f" (line {line[1]})" if line else ""
    if match := re.search(r'converting column "(.*?)". Could not convert string "(.*?)" to', message, re.S):
        return f"{match[1]} must be a number, got {match[2][:80]!r}{where}"
    if match := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return f"every row must have {match[1]} columns, got {match[2]}{where}"
    if re.search("TProtocolException|decompress|[Cc]orrupt", message):
        return NO_PARQUET
    if "unicode" in message or "utf-8" in message.lower():
        return f"must be UTF-8 text, other bytes found{where}"
    if match := re.search(r"Malformed JSON .*?at byte (\d+) in line (\d+): (.*)", message):
        if "unexpected end" in match[3]:
            return "broken JSON: the file ends inside a value"
        return f"broken JSON: {match[3].strip(' .')} (byte {match[1]})"
    if "Maximum line size" in message:
        return f"a line must not be longer than 2 MB{where}"
    if "state machine" in message:
        return "every line must end as the first does (\\n or \\r\\n)"
    if "unterminated quote" in message:
        return f"a quote is opened and never closed{where}"
    if match := re.search(r"Could not convert string '(.*?)' to", message, re.S):
        return f"must hold numbers, got {match[1]!r}{where}"
    return " ".join(message.split("\n")[0].split()).split("Error: ", 1)[-1]

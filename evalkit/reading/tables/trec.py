"""TREC text files: runs (`query Q0 item rank score tag`) and judgements (`query 0 item grade`);
runs of MS MARCO.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.arrays import InputError
from evalkit.machine.compressed_files import unpacked

if TYPE_CHECKING:
    import pyarrow as pa

_BOM = b"\xef\xbb\xbf"
_WHOLE = re.compile(r"[-+]?[0-9]+")
HEAD = 65536  # bytes by which a file is known


IDS = ("query", "item", "system")


class LineLayout(NamedTuple):
    """One kind of line.

    title: what errors call it. fields: the name of each field, "" for one that is never read.
    number: the field that is read as a number.
    """

    title: str
    fields: tuple[str, ...]
    number: str

    @property
    def wanted(self) -> list[tuple[int, str]]:
        """Index and name of the fields that are read; ranks only for a run without scores."""
        return [
            (i, name) for i, name in enumerate(self.fields) if name and name in (*IDS, self.number)
        ]


RUN = LineLayout(
    "a run line, 'query Q0 item rank score tag'",
    ("query", "", "item", "rank", "score", "system"),
    "score",
)
QRELS = LineLayout(
    "a judgement line, 'query 0 item grade'", ("query", "", "item", "grade"), "grade"
)
MARCO = LineLayout("a run line, 'query item rank'", ("query", "item", "rank"), "rank")
SECOND = ("0", "Q0")  # what the second field of TREC lines says


def layout(first: list[str]) -> LineLayout | None:
    """The layout for the fields of a first line, None if it is neither a run nor judgements.

    Six or more fields with numbers in the fourth and fifth make a run; four with a number last make
    judgements.
    """
    if len(first) >= 6 and _is_number(first[3]) and _is_number(first[4]):
        return RUN
    if len(first) == 4 and _is_number(first[3]):
        return QRELS
    return None


def first_line(path: Path) -> list[str]:
    """The fields of the first non-empty line, split at white space; empty if the first 64 KB have
    no such line.
    """
    return next(iter(first_lines(path)), [])


def first_lines(path: Path) -> list[list[str]]:
    """The fields of the non-empty lines in the first 64 KB; a truncated line counts only if it is
    the first.
    """
    with unpacked(path) as stream:
        head = stream.read(HEAD).removeprefix(_BOM)
    lines = [parts for _, parts in _split(head.splitlines())]
    is_cut = len(head) > HEAD - 4  # the byte order mark, of up to 4 bytes, was removed
    return lines[:-1] if is_cut and len(lines) > 1 else lines


def layout_of(lines: list[list[str]]) -> LineLayout | None:
    """The layout of a file whose name does not tell it: that of its first line, or a run of MS
    MARCO.
    """
    known_layout = layout(lines[0])
    if known_layout is None and _counts(lines):
        return MARCO
    return known_layout


def layout_of_table(lines: list[list[str]]) -> LineLayout | None:
    """The layout of a file with the suffix of a table, if its lines are those of TREC or MS MARCO;
    else None. A table may look like TREC's lines, but for their second field.
    """
    shape = layout_of(lines) if lines else None
    if shape in (RUN, QRELS) and lines[0][1] not in SECOND:
        return None
    return shape


def _counts(lines: list[list[str]]) -> bool:
    """True if lines are a query, an item and a rank that counts 1, 2, 3, … in each query, and a
    query has several lines.
    """
    if not all(len(parts) == 3 and _WHOLE.fullmatch(parts[2]) for parts in lines):
        return False
    rank = 0
    previous_query = ""
    has_second_rank = False
    for query, _, text in lines:
        if query == previous_query:
            rank += 1
            has_second_rank = True
        else:
            rank = 1
        previous_query = query
        if int(text) != rank:
            return False
    return has_second_rank


def _is_number(text: str) -> bool:
    """True if a field is a number; Python's underscores within numbers are none."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _split(lines: list[bytes]) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of each line that is neither blank nor a comment; only ASCII white space
    parts fields.
    """
    for number, line in enumerate(lines, start=1):
        parts = line.split()
        if parts and not line.startswith(b"#"):
            yield number, [part.decode("utf-8", errors="replace") for part in parts]


class RankCheck(NamedTuple):
    """The first lists of a run with distinct ranks, and how many of them have a higher score at a
    later rank.
    """

    contradicting: int
    lists: int


def check_ranks(path: Path) -> RankCheck:
    """Compare ranks and scores in the first lines of a run."""
    lists: dict[str, dict[int, float]] = {}  # query -> rank -> score
    with_equal_ranks = set[str]()  # queries whose ranks order nothing
    for query, _, _, rank, score, *_ in first_lines(path):
        if not (_WHOLE.fullmatch(rank) and _is_number(score)):
            continue
        score_of_rank = lists.setdefault(query, {})
        if int(rank) in score_of_rank:
            with_equal_ranks.add(query)
        score_of_rank[int(rank)] = float(score)
    contradicting = 0
    for query in lists.keys() - with_equal_ranks:
        scores = [score for _, score in sorted(lists[query].items())]
        contradicting += scores != sorted(scores, reverse=True)
    return RankCheck(contradicting, len(lists) - len(with_equal_ranks))


def read(path: Path, shape: LineLayout, name: str = "") -> dict[str, "pa.Array"]:
    """The fields that are read, as Arrow arrays by name: the score, grade or rank as doubles, the
    others as text.

    name: what errors call the file. Fields after the last are ignored, as trec_eval does. Raises
    InputError with the line for anything else.
    """
    try:
        with unpacked(path) as stream:
            data = stream.read().removeprefix(_BOM)
    except OSError as error:
        raise InputError(f"{name or path}: cannot be read, {error}") from None
    table = _read_uniform(data, shape)
    return _read_lines(data, shape, name or str(path)) if table is None else table


def _read_uniform(data: bytes, shape: LineLayout) -> "dict[str, pa.Array] | None":
    """The fields by Arrow's quick reader; None unless one blank or tab separates all fields, and no
    line is empty or a comment.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    data = data.replace(b"\t", b" ")
    begins_special = data[:1] in (b"#", b" ", b"\n")
    if begins_special or any(
        mark in data for mark in (b"  ", b" \n", b"\r", b"\n#", b"\n ", b"\n\n")
    ):
        return None
    names = [name or f"unused{i}" for i, name in enumerate(shape.fields)]
    wanted = [name for _, name in shape.wanted]
    types = {name: pa.float64() if name == shape.number else pa.string() for name in wanted}
    if shape is RUN:
        types["rank"] = pa.int64()  # not returned, but checked: a blank in an id shifts the fields
    try:
        table = csv.read_csv(
            io.BytesIO(data),
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    return {name: table[name].combine_chunks() for name in wanted}


def _read_lines(data: bytes, shape: LineLayout, file: str) -> dict[str, "pa.Array"]:
    """The fields line by line: this is slower, but takes any white space and comments, and knows
    which line is wrong. file: what errors call it.
    """
    import pyarrow as pa

    columns: dict[str, list[Any]] = {name: [] for _, name in shape.wanted}
    _check_text(data, file)
    for line, parts in _split(data.splitlines()):
        must = f"{file}: line {line} must be {shape.title}"
        beginning = repr(" ".join(parts)[:80])
        if len(parts) < len(shape.fields):
            raise InputError(f"{must}, got {len(parts)} fields: {beginning}")
        if shape is RUN and layout(parts[5:]) is RUN:
            raise InputError(
                f"{must}, got another after it: {beginning}; begin a new line for each"
            )
        if _has_blank(parts, shape):
            raise InputError(f"{must}, without blanks in ids, got {beginning}")
        for i, name in shape.wanted:
            if name == shape.number:
                columns[name].append(_number(parts[i], name, file, line))
            else:
                columns[name].append(parts[i])
    types = {name: pa.float64() if name == shape.number else pa.string() for name in columns}
    return {name: pa.array(column, types[name]) for name, column in columns.items()}


def _has_blank(parts: list[str], shape: LineLayout) -> bool:
    """True if an id with a blank has shifted the fields; the tag of a run may hold blanks."""
    if shape is RUN:
        return not _WHOLE.fullmatch(parts[3]) or (len(parts) > 6 and _is_number(parts[5]))
    last = len(shape.fields)
    return len(parts) > last and _is_number(parts[last])


def _check_text(data: bytes, file: str) -> None:
    """Raise InputError for the first byte that is not UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{file}: must be UTF-8 text, got byte 0x{data[error.start]:02x} (line {line})"
        ) from None


def _number(text: str, name: str, file: str, line: int) -> float:
    """The number in a field. Raises InputError if there is none. name: of the field."""
    if not _is_number(text):
        raise InputError(f"{file}: {name} must be a number, got {text!r} (line {line})")
    return float(text)

"""Sources: where a path is looked for, what a folder or pattern stands for, and what every kind of
file refuses.
"""

import gzip
import hashlib

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from samples import examples

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import Source

FILES = examples("files")
HEADER = "query,item,score\n"
GOOD = HEADER + "1,a,.5\n1,b,.4\n"
TEXT = {"query": "query", "item": "item"}


@pytest.fixture
def working_directory(tmp_path, monkeypatch):
    """An empty folder, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(data: object) -> dict[str, list]:
    """Query, item and score of a one-part source."""
    (part,) = sources.parts(data)
    return {
        role: column.to_pylist() for role, column in part.load(TEXT, {"score": "score"}).items()
    }


def refused(data: object) -> str:
    """The message of the refusal: one line."""
    with pytest.raises(InputError) as error:
        load(data)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300
    return str(error.value)


# ---- paths ---------------------------------------------------------------------------------------


def test_a_file_of_the_checkout_is_found_from_any_working_directory(working_directory):
    checkout = sources.Path(sources.__file__).resolve().parents[3]
    assert sources.find("evalkit/arrays.py") == checkout / "evalkit/arrays.py"


def test_a_file_of_the_working_directory_is_found_before_that_of_the_checkout(working_directory):
    folder = working_directory / "evalkit"
    folder.mkdir()
    (folder / "arrays.py").write_text("nearer")
    assert sources.find("evalkit/arrays.py").read_text() == "nearer"


def test_a_whole_path_is_found_as_it_is(working_directory):
    folder = working_directory / "evalkit"
    folder.mkdir()
    assert sources.find(folder) == folder


@pytest.mark.parametrize("path", ["nothere.csv", "/nothere/x.csv", "a/b/c"])
def test_refuses_a_path_that_does_not_exist(working_directory, path):
    assert refused(path).startswith(f"{path}: no such file or folder")


def test_refuses_a_pattern_without_files_and_an_empty_path(working_directory):
    assert refused("*.nothere") == "*.nothere: no file matches this pattern"
    assert refused("") == "a path must name a file, a folder or a pattern, got ''"
    assert refused([]) == "data must name at least one file or frame, got an empty list"


@pytest.fixture
def folder_of_files(working_directory):
    """The working directory with the files a.csv, b.csv, c.txt, .hidden and sub/d.csv."""
    (working_directory / "sub").mkdir()
    for name in ("b.csv", "a.csv", ".hidden", "c.txt", "sub/d.csv"):
        (working_directory / name).write_text(GOOD)
    return working_directory


def names_of_parts(data):
    return [part.name for part in sources.parts(data)]


def test_a_folder_stands_for_its_files_without_hidden_ones_and_folders(folder_of_files):
    assert names_of_parts(folder_of_files) == ["a.csv", "b.csv", "c.txt"]


def test_a_pattern_stands_for_the_files_that_match(folder_of_files):
    assert names_of_parts("*.csv") == ["a.csv", "b.csv"]
    assert names_of_parts("**/*.csv") == ["a.csv", "b.csv", "sub/d.csv"]


def test_a_list_of_paths_is_kept_in_its_order(folder_of_files):
    assert names_of_parts([folder_of_files / "sub", "c.txt"]) == ["sub/d.csv", "c.txt"]


@pytest.mark.parametrize(
    "name", ["a b.csv", "it's.csv", "x[1].csv", "star*.csv", 'quo"te.csv', "ü.csv", "a;b.csv"]
)
def test_hostile_file_names(working_directory, name):
    (working_directory / name).write_text(GOOD)
    (working_directory / "x1.csv").write_text("other\n")
    assert load(name)["item"] == ["a", "b"]


@pytest.mark.parametrize("name", [".hidden", "sub/file"])
def test_refuses_a_folder_without_files(working_directory, name):
    path = working_directory / "folder" / name
    path.parent.mkdir(parents=True)
    path.write_text("x")
    assert refused("folder") == "folder: the folder holds no file"


# ---- CSV -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", FILES["csv_forms"])
def test_csv_in_its_many_forms(working_directory, text):
    (working_directory / "x.csv").write_bytes(text.encode())
    assert load("x.csv") == {"query": ["1", "1"], "item": ["a", "b"], "score": [0.5, 0.4]}


IDS_LIKE_OTHER_VALUES = [
    "007",  # not 7
    "7",
    "18446744073709551617",  # 2⁶⁴ + 1, more than an integer of 64 bits
    "NA",  # no missing values
    "null",
    "NULL",
    "nan",
    "1.0",
    "1e3",
    "true",
    "2024-01-02",
    " x ",  # its blanks are kept
    "naïve",
    "日本",
    'say "hi"',
    "two\nlines",
    "a,b",
    "'",
    "#x",  # no comment
]


def test_ids_in_csv_are_read_as_they_are_written(working_directory):
    """Ids are texts. A CSV file has the column query with ids that look like other values, such as
    007, NA, true or #x, or that have quotes, commas and line ends within quotes. All must be read
    as they are written.
    """
    lines = []
    for text in IDS_LIKE_OTHER_VALUES:
        escaped = text.replace('"', '""')
        lines.append(f'"{escaped}",i,1\n')  # query, item and score
    (working_directory / "x.csv").write_text(HEADER + "".join(lines))
    assert load("x.csv")["query"] == IDS_LIKE_OTHER_VALUES


def test_a_quoted_newline_late_in_the_file(working_directory):
    (working_directory / "x.csv").write_text(
        HEADER + "".join(f"1,i{n},1\n" for n in range(40000)) + '1,"a\nb",2\n'
    )
    assert load("x.csv")["item"][-1] == "a\nb"


@pytest.mark.parametrize(
    "cell", ["high", "NULL", "NA", "0x10", '"1,5"', "true", "50%", "1f", "--1", "1 2", "١"]
)
def test_refuses_text_for_a_number(working_directory, cell):
    (working_directory / "x.csv").write_text(HEADER + "1,a,.5\n1,b," + cell + "\n")
    got = cell.strip('"')
    assert refused("x.csv") == f"x.csv: score must be a number, got {got!r} (line 3)"


MANY = "".join(f"1,i{n},.5\n" for n in range(30000))


@pytest.mark.parametrize(
    "text, message, encoding", [(*case, "utf-8")[:3] for case in FILES["broken_csv"]]
)
def test_refuses_broken_csv(working_directory, text, message, encoding):
    (working_directory / "x.csv").write_bytes(text.replace("{many}", MANY).encode(encoding))
    assert refused("x.csv") == f"x.csv: {message}"


def test_refuses_long_cells_and_lines(working_directory):
    number = f"score must be a number, got {'z' * 80!r}"
    line = "a line must not be longer than 2 MB"
    for row, message in ((f"1,a,{'z' * 5000}\n", number), (f"1,{'x' * 3_000_000},1\n", line)):
        (working_directory / "x.csv").write_text(HEADER + row)
        assert refused("x.csv") == f"x.csv: {message} (line 2)"


@pytest.mark.parametrize("rows", [3000, 300_000])
def test_refuses_a_truncated_gzip(working_directory, rows):
    text = HEADER + "".join(f"1,i{n},.{n * 7919 % 100003}\n" for n in range(rows))
    (working_directory / "x.csv.gz").write_bytes(gzip.compress(text.encode())[:-2000])
    assert refused("x.csv.gz").startswith("x.csv.gz: ")
    (working_directory / "y.csv.gz").write_bytes(b"no gzip at all")
    assert refused("y.csv.gz").startswith("y.csv.gz: cannot be read")


@pytest.mark.parametrize("suffix", ["csv.bz2", "jsonl.lz4", "csv.gz.bz2"])
def test_refuses_tables_that_are_packed_otherwise(working_directory, suffix):
    (working_directory / f"x.{suffix}").write_bytes(b"anything")
    assert refused(f"x.{suffix}").endswith(
        f"a compressed table must be .gz or .zst, got .{suffix.rsplit('.', 1)[1]}"
    )


@pytest.mark.parametrize("text, message", FILES["no_tables"])
def test_refuses_a_text_file_that_is_neither(working_directory, text, message):
    (working_directory / "README").write_text(text)
    assert refused("README").startswith("README: ")
    assert refused("README").endswith(message)


# ---- Parquet, JSON lines -------------------------------------------------------------------------


def parquet(**columns: object) -> str:
    """A Parquet file of these columns beside the good ones."""
    good: dict[str, object] = {"query": ["1", "1"], "item": ["a", "b"], "score": [0.5, 0.4]}
    pq.write_table(pa.table(good | columns), "x.parquet")
    return "x.parquet"


@pytest.mark.parametrize(
    "column, values, message",
    [
        ("query", [1.0, 2.0], "query must hold ids as text or whole numbers, got DOUBLE"),
        ("query", [["a"], ["b"]], "query must hold ids as text or whole numbers, got VARCHAR[]"),
        (
            "item",
            [{"a": 1}, {"a": 2}],
            "item must hold ids as text or whole numbers, got STRUCT(a BIGINT)",
        ),
        ("score", ["0.5", "x"], "score must be a number, got 'x' (row 2)"),
        ("score", [[1.0], [2.0]], "score must hold numbers, got DOUBLE[]"),
        ("score", pa.array([1, 2], pa.timestamp("s")), "score must hold numbers, got TIMESTAMP"),
    ],
)
def test_refuses_parquet_columns(working_directory, column, values, message):
    assert refused(parquet(**{column: values})) == f"x.parquet: {message}"


@pytest.mark.parametrize("part", [slice(None, -30), slice(0, 0), slice(4, None), slice(0, 50)])
def test_refuses_a_truncated_parquet_file(working_directory, part):
    data = (working_directory / parquet()).read_bytes()
    (working_directory / "x.parquet").write_bytes(data[part] or b"x")
    rule = "must be a complete Parquet file, but it has other content or is truncated"
    assert refused("x.parquet") == f"x.parquet: {rule}"


@pytest.mark.parametrize(
    "ids",
    [
        [7, 8],
        pa.array([7, 8], pa.uint8()),
        ["7", "8"],
        pa.array(["7", "8"]).dictionary_encode(),
    ],
    ids=["int64", "uint8", "text", "dictionary of text"],
)
def test_parquet_ids_of_every_type_are_read_as_text(working_directory, ids):
    assert load(parquet(query=ids))["query"] == ["7", "8"]


def test_parquet_ids_beyond_signed_integers_are_read_exactly(working_directory):
    """2⁶⁴ − 1 and 2⁶³ do not fit a signed integer of 64 bits."""
    ids = pa.array([2**64 - 1, 2**63], pa.uint64())
    expected = ["18446744073709551615", "9223372036854775808"]
    assert load(parquet(query=ids))["query"] == expected


LINE = '{"query": "1", "item": "a", "score": 0.5}\n'


@pytest.mark.parametrize("ids", FILES["json_ids"])
def test_json_ids_are_never_guessed(working_directory, ids):
    (working_directory / "x.jsonl").write_text(
        LINE.replace('"1"', ids) + LINE.replace('"a"', '"b"')
    )
    assert load("x.jsonl")["query"] == [ids.strip('"').replace("\\n", "\n"), "1"]


@pytest.mark.parametrize("line, message", FILES["broken_json"])
def test_refuses_json(working_directory, line, message):
    (working_directory / "x.jsonl").write_text(LINE + line, encoding="latin-1")
    assert refused("x.jsonl") == f"x.jsonl: {message}"


FIRST_ROW = '{"query": "1", "item": "a", "score": 0.5}'
EXPECTED_OF_TWO_ROWS = {"query": ["1", "1"], "item": ["a", "b"], "score": [0.5, 1.0]}


@pytest.mark.parametrize(
    "name, second_score, form",
    [
        ("x.json", "true", "[{first},{second}]"),  # true is the number 1
        ("x.jsonl", "true", "{first}\r\n\n{second}\n"),  # with an empty line
        ("x.ndjson", '"1e0"', "{first}\n{second}\n"),  # a number as text
    ],
    ids=["array", "lines", "newline-delimited"],
)
def test_json_in_its_forms(working_directory, name, second_score, form):
    second_row = f'{{"query": "1", "item": "b", "score": {second_score}}}'
    text = form.format(first=FIRST_ROW, second=second_row)
    (working_directory / name).write_text(text)
    assert load(name) == EXPECTED_OF_TWO_ROWS


# ---- frames --------------------------------------------------------------------------------------


def frame(**columns: object) -> pd.DataFrame:
    """A pandas frame of these columns beside the good ones."""
    return pd.DataFrame({"query": ["1", "1"], "item": ["a", "b"], "score": [0.5, 0.4]} | columns)


@pytest.mark.parametrize(
    "data",
    [
        frame(),
        frame(query=pd.Categorical(["1", "1"])),
        frame(query=[1, 1]),
        frame(query=pd.array([1, 1], dtype="Int64")),
        frame(query=pd.Series(["1", "1"], dtype=object)),
        frame(score=pd.array([0.5, 0.4], dtype="Float64")),
        frame(score=[".5", ".4"]),
        frame().set_index("query"),
        frame(other=[1, 2]).rename(columns={"other": 0}),
        pa.table(frame()),
        pa.table(frame()).to_reader(),
        pa.concat_tables([pa.table(frame())[:1], pa.table(frame())[1:]]),
    ],
)
def test_frames(data):
    assert load(data) == {"query": ["1", "1"], "item": ["a", "b"], "score": [0.5, 0.4]}


class Capsule:
    """Any other library's frame: it has the Arrow PyCapsule method and nothing else."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(frame()).__arrow_c_stream__(requested_schema)


def test_any_frame_with_the_arrow_capsule():
    assert load(Capsule())["item"] == ["a", "b"]


def test_half_floats():
    assert load(frame(score=pd.Series([0.5, 0.25], dtype="float16")))["score"] == [0.5, 0.25]


@pytest.mark.parametrize(
    "data, message",
    [
        (
            frame(query=[1.0, 2.0]),
            "data frame: query must hold ids as text or whole numbers, got DOUBLE",
        ),
        (
            frame(item=pd.Series(["a", 7], dtype=object)),
            "data frame: item must hold ids as text or whole numbers, got both in one column",
        ),
        (
            frame(item=pd.Series([2**70, 7], dtype=object)),
            "the frame cannot be read: Python int too large",
        ),
        (frame(score=[1j, 2j]), "the frame cannot be read: Unsupported numpy type"),
        (frame(score=["x", "y"]), "data frame: score must be a number, got 'x' (row 1)"),
        (
            frame().set_axis(["query", "item", "item"], axis=1),
            "the frame cannot be read: Duplicate column names found",
        ),
        (
            pa.table([["1"], ["a"], [1]] * 2, names=["query", "item", "score"] * 2),
            "data frame: column names must be",
        ),
        (pd.Series([1]), "the frame cannot be read: Cannot import schema"),
        ({"query": ["1"], "item": []}, "1: no such file or folder"),
        ({}, "data must name at least one column or table, got an empty dict"),
        ({"query": ["1", 2]}, "query must be values of one type, one per row: "),
        ({"query": [["1"]]}, "1: no such file or folder"),
        ({"query": ["1"], "item": ["a", "b"]}, "item must have as many values as query, 1, got 2"),
        (
            None,
            "data must be a path, a list of paths or a data frame (pandas, polars, Arrow, Spark), "
            "got NoneType",
        ),
    ],
)
def test_refuses_frames(data, message):
    assert refused(data).startswith(message)


# ---- fingerprints --------------------------------------------------------------------------------


def test_the_fingerprint_of_a_file_has_its_name_rows_and_sha256(working_directory):
    """The CSV file has a header and two rows; whoever read it passes their number."""
    (working_directory / "x.csv").write_text(GOOD)
    [part] = sources.parts("x.csv")
    fingerprint = part.fingerprint(rows=2)
    assert fingerprint.name == "x.csv"
    assert fingerprint.rows == 2
    assert fingerprint.sha256 == hashlib.sha256(GOOD.encode()).hexdigest()


def test_the_fingerprint_of_a_data_frame_has_no_sha256():
    [part] = sources.parts(frame())
    assert part.fingerprint(rows=2) == Source("data frame", 2)


def test_nothing_is_left_in_the_working_directory(working_directory):
    (working_directory / "x.csv").write_text(GOOD)
    load("x.csv")
    assert [one.name for one in working_directory.iterdir()] == ["x.csv"]


def change(path):
    path.write_text(GOOD + "\n")


def remove(path):
    path.unlink()


@pytest.mark.parametrize(
    "change_file, message",
    [(change, "the file changed while it was read"), (remove, "can no longer be read")],
)
def test_the_sha256_of_another_file_than_was_read_is_refused(
    working_directory, change_file, message
):
    """The SHA-256 of a file is computed only when it is asked for, after the file was read. In
    between, `change_file` changes or removes it: its SHA-256 would be that of other data.
    """
    path = working_directory / "x.csv"
    path.write_text(GOOD)
    [part] = sources.parts("x.csv")
    fingerprint = part.fingerprint(rows=2)
    change_file(path)
    with pytest.raises(InputError, match=rf"^x\.csv: {message}"):
        _ = fingerprint.sha256


def test_names_of_json_that_differ_in_their_case_alone_are_refused(working_directory):
    (working_directory / "x.json").write_text('[{"a": 1, "A": 2, "id": 3}]')
    message = r"^x.json: column names must be distinct, got 'A' and 'a'$"
    with pytest.raises(InputError, match=message):
        sources.parts("x.json")


def test_a_name_of_json_that_ends_with_a_number_is_kept(working_directory):
    """DuckDB, which reads JSON, calls a column A_1 if it is named A and another one a. Here A_1 is
    the name in the file.
    """
    (working_directory / "x.json").write_text('[{"b": 1, "A_1": 2, "a": 3}]')
    [part] = sources.parts("x.json")
    assert part.columns == ("b", "A_1", "a")


@pytest.fixture
def judgements(working_directory):
    """The path of a file of relevance judgements without a fault."""
    (working_directory / "glue.q").write_text("q1 0 d1 1\n")
    return "glue.q"


def test_an_error_names_the_run_that_does_not_exist_and_not_the_judgements(judgements):
    with pytest.raises(InputError, match=r"^nope\.run: "):
        ek.ranking("nope.run", judgements)


def test_an_error_names_the_data_frame_with_a_wrong_rank_and_not_the_judgements(judgements):
    lists = pd.DataFrame({"query": ["q1"], "item": ["d1"], "rank": [0.5]})
    with pytest.raises(InputError, match=r"^data frame: "):
        ek.ranking(lists, judgements)

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
def here(tmp_path, monkeypatch):
    """An empty working directory."""
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


def test_finds_the_working_directory_first_then_the_checkout(here):
    checkout = sources.Path(sources.__file__).resolve().parents[3]
    assert sources.find("evalkit/arrays.py") == checkout / "evalkit/arrays.py"
    (here / "evalkit").mkdir()
    (here / "evalkit/arrays.py").write_text("nearer")
    assert sources.find("evalkit/arrays.py").read_text() == "nearer"
    assert sources.find(here / "evalkit") == here / "evalkit"


@pytest.mark.parametrize("path", ["nothere.csv", "/nothere/x.csv", "a/b/c"])
def test_refuses_a_path_that_does_not_exist(here, path):
    assert refused(path).startswith(f"{path}: no such file or folder")


def test_refuses_a_pattern_without_files_and_an_empty_path(here):
    assert refused("*.nothere") == "*.nothere: no file matches this pattern"
    assert refused("") == "a path must name a file, a folder or a pattern, got ''"
    assert refused([]) == "data must name at least one file or frame, got an empty list"


def test_folders_patterns_and_lists(here):
    for name in ("b.csv", "a.csv", ".hidden", "c.txt"):
        (here / name).write_text(GOOD)
    (here / "sub").mkdir()
    (here / "sub/d.csv").write_text(GOOD)
    assert [part.name for part in sources.parts(here)] == ["a.csv", "b.csv", "c.txt"]
    assert [part.name for part in sources.parts("*.csv")] == ["a.csv", "b.csv"]
    assert [part.name for part in sources.parts("**/*.csv")] == ["a.csv", "b.csv", "sub/d.csv"]
    assert [part.name for part in sources.parts([here / "sub", "c.txt"])] == ["sub/d.csv", "c.txt"]


@pytest.mark.parametrize(
    "name", ["a b.csv", "it's.csv", "x[1].csv", "star*.csv", 'quo"te.csv', "ü.csv", "a;b.csv"]
)
def test_hostile_file_names(here, name):
    (here / name).write_text(GOOD)
    (here / "x1.csv").write_text("other\n")
    assert load(name)["item"] == ["a", "b"]


@pytest.mark.parametrize("name", [".hidden", "sub/file"])
def test_refuses_a_folder_without_files(here, name):
    path = here / "folder" / name
    path.parent.mkdir(parents=True)
    path.write_text("x")
    assert refused("folder") == "folder: the folder holds no file"


# ---- CSV -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", FILES["csv_forms"])
def test_csv_in_its_many_forms(here, text):
    (here / "x.csv").write_bytes(text.encode())
    assert load("x.csv") == {"query": ["1", "1"], "item": ["a", "b"], "score": [0.5, 0.4]}


def test_csv_ids_are_never_guessed(here):
    ids = [
        "007",
        "7",
        "18446744073709551617",
        "NA",
        "null",
        "NULL",
        "nan",
        "1.0",
        "1e3",
        "true",
        "2024-01-02",
        " x ",
    ]
    ids += ["naïve", "日本", 'say "hi"', "two\nlines", "a,b", "'", "#x"]
    rows = "".join('"' + one.replace('"', '""') + '",i,1\n' for one in ids)
    (here / "x.csv").write_text(HEADER + rows)
    assert load("x.csv")["query"] == ids


def test_a_quoted_newline_late_in_the_file(here):
    (here / "x.csv").write_text(
        HEADER + "".join(f"1,i{n},1\n" for n in range(40000)) + '1,"a\nb",2\n'
    )
    assert load("x.csv")["item"][-1] == "a\nb"


@pytest.mark.parametrize(
    "cell", ["high", "NULL", "NA", "0x10", '"1,5"', "true", "50%", "1f", "--1", "1 2", "١"]
)
def test_refuses_text_for_a_number(here, cell):
    (here / "x.csv").write_text(HEADER + "1,a,.5\n1,b," + cell + "\n")
    got = cell.strip('"')
    assert refused("x.csv") == f"x.csv: score must be a number, got {got!r} (line 3)"


MANY = "".join(f"1,i{n},.5\n" for n in range(30000))


@pytest.mark.parametrize(
    "text, message, encoding", [(*case, "utf-8")[:3] for case in FILES["broken_csv"]]
)
def test_refuses_broken_csv(here, text, message, encoding):
    (here / "x.csv").write_bytes(text.replace("{many}", MANY).encode(encoding))
    assert refused("x.csv") == f"x.csv: {message}"


def test_refuses_long_cells_and_lines(here):
    number = f"score must be a number, got {'z' * 80!r}"
    line = "a line must not be longer than 2 MB"
    for row, message in ((f"1,a,{'z' * 5000}\n", number), (f"1,{'x' * 3_000_000},1\n", line)):
        (here / "x.csv").write_text(HEADER + row)
        assert refused("x.csv") == f"x.csv: {message} (line 2)"


@pytest.mark.parametrize("rows", [3000, 300_000])
def test_refuses_a_truncated_gzip(here, rows):
    text = HEADER + "".join(f"1,i{n},.{n * 7919 % 100003}\n" for n in range(rows))
    (here / "x.csv.gz").write_bytes(gzip.compress(text.encode())[:-2000])
    assert refused("x.csv.gz").startswith("x.csv.gz: ")
    (here / "y.csv.gz").write_bytes(b"no gzip at all")
    assert refused("y.csv.gz").startswith("y.csv.gz: cannot be read")


@pytest.mark.parametrize("suffix", ["csv.bz2", "jsonl.lz4", "csv.gz.bz2"])
def test_refuses_tables_that_are_packed_otherwise(here, suffix):
    (here / f"x.{suffix}").write_bytes(b"anything")
    assert refused(f"x.{suffix}").endswith(
        f"a compressed table must be .gz or .zst, got .{suffix.rsplit('.', 1)[1]}"
    )


@pytest.mark.parametrize("text, message", FILES["no_tables"])
def test_refuses_a_text_file_that_is_neither(here, text, message):
    (here / "README").write_text(text)
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
def test_refuses_parquet_columns(here, column, values, message):
    assert refused(parquet(**{column: values})) == f"x.parquet: {message}"


@pytest.mark.parametrize("part", [slice(None, -30), slice(0, 0), slice(4, None), slice(0, 50)])
def test_refuses_a_truncated_parquet_file(here, part):
    data = (here / parquet()).read_bytes()
    (here / "x.parquet").write_bytes(data[part] or b"x")
    rule = "must be a complete Parquet file, but it has other content or is truncated"
    assert refused("x.parquet") == f"x.parquet: {rule}"


def test_parquet_ids_of_every_type(here):
    for ids in (
        [7, 8],
        pa.array([7, 8], pa.uint8()),
        ["7", "8"],
        pa.array(["7", "8"]).dictionary_encode(),
    ):
        assert load(parquet(query=ids))["query"] == ["7", "8"]
    assert load(parquet(query=pa.array([2**64 - 1, 2**63], pa.uint64())))["query"] == [
        str(2**64 - 1),
        str(2**63),
    ]


LINE = '{"query": "1", "item": "a", "score": 0.5}\n'


@pytest.mark.parametrize("ids", FILES["json_ids"])
def test_json_ids_are_never_guessed(here, ids):
    (here / "x.jsonl").write_text(LINE.replace('"1"', ids) + LINE.replace('"a"', '"b"'))
    assert load("x.jsonl")["query"] == [ids.strip('"').replace("\\n", "\n"), "1"]


@pytest.mark.parametrize("line, message", FILES["broken_json"])
def test_refuses_json(here, line, message):
    (here / "x.jsonl").write_text(LINE + line, encoding="latin-1")
    assert refused("x.jsonl") == f"x.jsonl: {message}"


def test_json_forms(here):
    expected = {"query": ["1", "1"], "item": ["a", "b"], "score": [0.5, 1.0]}
    second = LINE.replace('"a"', '"b"').replace("0.5", "true")
    (here / "x.json").write_text(f"[{LINE},{second}]")
    (here / "y.jsonl").write_text(LINE + "\r\n\n" + second)
    (here / "z.ndjson").write_text(LINE + second.replace("true", '"1e0"'))
    assert load("x.json") == load("y.jsonl") == load("z.ndjson") == expected


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


def test_fingerprint_is_the_files_sha256(here):
    (here / "x.csv").write_text(GOOD)
    (part,) = sources.parts("x.csv")
    found = part.fingerprint(2)
    assert (found.name, found.rows) == ("x.csv", 2)
    assert found.sha256 == hashlib.sha256(GOOD.encode()).hexdigest()
    (part,) = sources.parts(frame())
    assert part.fingerprint(2) == Source("data frame", 2)


def test_nothing_is_left_in_the_working_directory(here):
    (here / "x.csv").write_text(GOOD)
    load("x.csv")
    assert [one.name for one in here.iterdir()] == ["x.csv"]


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_the_sha256_of_another_file_than_was_read_is_refused(here, how):
    (here / "x.csv").write_text(GOOD)
    found = sources.parts("x.csv")[0].fingerprint(2)
    if how == "gone":
        (here / "x.csv").unlink()
    else:
        (here / "x.csv").write_text(GOOD + "\n")
    wanted = "the file changed while it was read" if how == "changed" else "can no longer be read"
    with pytest.raises(InputError, match=rf"^x\.csv: {wanted}"):
        found.sha256  # noqa: B018


def test_names_of_json_that_differ_in_their_case_alone_are_refused_and_numbered_ones_kept(here):
    (here / "x.json").write_text('[{"a": 1, "A": 2, "id": 3}]')
    (here / "y.json").write_text('[{"b": 1, "A_1": 2, "a": 3}]')
    with pytest.raises(
        InputError, match=r"^x.json: column names must be distinct, got 'A' and 'a'$"
    ):
        sources.parts("x.json")
    assert sources.parts("y.json")[0].columns == ("b", "A_1", "a")


@pytest.mark.parametrize("name", ["nope.run", "data frame"])
def test_an_error_that_names_its_input_names_no_other(here, name):
    (here / "glue.q").write_text("q1 0 d1 1\n")
    preds = (
        "nope.run"
        if name == "nope.run"
        else pd.DataFrame({"query": ["q1"], "item": ["d1"], "rank": [0.5]})
    )
    with pytest.raises(InputError, match=f"^{name}: "):
        ek.ranking(preds, "glue.q")

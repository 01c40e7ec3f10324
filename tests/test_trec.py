"""TREC text: what is a run and what are judgements, white space, comments, and refusals with the
line.
"""

import gzip

import pytest

from evalkit.arrays import InputError
from evalkit.reading.tables import trec

RUN = "1 Q0 a 1 0.5 t\n1 Q0 b 2 -4e-1 t\n2 Q0 a 1 7 t\n"
EXPECTED = {
    "query": ["1", "1", "2"],
    "item": ["a", "b", "a"],
    "score": [0.5, -0.4, 7.0],
    "system": ["t", "t", "t"],
}


def read(
    tmp_path, data: str | bytes, name: str = "x.run", shape: trec.LineLayout = trec.RUN
) -> dict[str, list]:
    """The columns of a file with this content."""
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return {role: column.to_pylist() for role, column in trec.read(path, shape).items()}


@pytest.mark.parametrize(
    "data",
    [
        RUN,
        RUN.replace(" ", "\t"),
        RUN.replace(" ", "  \t"),
        RUN.replace("\n", "\r\n"),
        RUN.replace("\n", "\r"),
        RUN.replace("\n", "  \n\n"),
        RUN.removesuffix("\n"),
        "# made by hand\n#\n" + RUN + "# the end\n",
        "\n\n  " + RUN,
        "\ufeff" + RUN,
        "\ufeff# a comment\n" + RUN.replace(" ", "  "),
        RUN.replace(" t\n", " t and more\n"),
        RUN.replace(" t\n", " t more\n", 1),
    ],
)
def test_any_white_space_and_comments_give_the_same(tmp_path, data):
    assert read(tmp_path, data) == EXPECTED


def test_packed_files(tmp_path):
    assert read(tmp_path, gzip.compress(RUN.encode()), "x.run.gz") == EXPECTED


def test_judgements(tmp_path):
    expected = {"query": ["1", "007"], "item": ["a", "7"], "grade": [-1.0, 2.5]}
    assert read(tmp_path, "1 0 a -1\n007 0 7 2.5\n", "q.txt", trec.QRELS) == expected


def test_only_ascii_space_parts_fields(tmp_path):
    for data in ("1 Q0 a\u00a0b\u2028c\x1cd 1 .5 t\n", "1  Q0 a\u00a0b\u2028c\x1cd 1 .5 t\n"):
        assert read(tmp_path, data)["item"] == ["a\u00a0b\u2028c\x1cd"]


def test_ids_are_text(tmp_path):
    ids = ["007", "7", "NA", "null", "NaN", '"q"', "18446744073709551617", "é", "1e3", "#x"]
    data = "".join(f"{i} Q0 {i} 1 .5 t\n" for i in ids)
    assert read(tmp_path, "0 Q0 0 1 .5 t\n" + data)["query"][1:8] == ids[:7]
    # a line that begins with # is a comment
    assert read(tmp_path, "0  Q0 0 1 .5 t\n" + data)["item"][1:] == ids[:-1]


@pytest.mark.parametrize(
    "line, shape",
    [
        ("1 Q0 a 1 .5 t", trec.RUN),
        ("1 Q0 a 1 .5 my own tag", trec.RUN),
        ("1 0 a 2", trec.QRELS),
        ("1 0 a x", None),
        ("1 Q0 a 1 .5", None),
        ("1 Q0 a x .5 t", None),
        ("query,item,score", None),
        ("1 0 a 1_0", None),
        ("", None),
    ],
)
def test_layout_by_the_first_line(tmp_path, line, shape):
    path = tmp_path / "x"
    path.write_text("# a comment\n\n" + line + "\n")
    assert trec.layout(trec.first_line(path)) is shape


@pytest.mark.parametrize(
    "line, message",
    [
        (
            "1 Q0 b 2 .4",
            r"line 2 must be a run line, 'query Q0 item rank score tag', got 5 fields: '1 Q0 b 2 "
            r".4'",
        ),
        ("1", "line 2 must be a run line, .* got 1 fields: '1'"),
        (
            "1 Q0 b 2 .4 t2 Q0 a 1 .5 t",
            "line 2 must be .*, got another after it: '1 .* t'; begin a new line for each",
        ),
        ("1 Q0 b 2 high t", r"score must be a number, got 'high' \(line 2\)"),
        ("1 Q0 b 2 1_000 t", r"score must be a number, got '1_000' \(line 2\)"),
        ("1 Q0 b 2 0x10 t", r"score must be a number, got '0x10' \(line 2\)"),
        ("1 Q0 b 2 1,5 t", r"score must be a number, got '1,5' \(line 2\)"),
    ],
)
def test_refuses_with_the_line(tmp_path, line, message):
    with pytest.raises(InputError, match=r"x\.run: " + message) as error:
        read(tmp_path, "1 Q0 a 1 .5 t\n" + line + "\n")
    assert "\n" not in str(error.value)


def test_a_run_in_another_encoding_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"x\.run: must be UTF-8 text, got byte 0xe9 \(line 2\)"):
        read(tmp_path, "1 Q0 a 1 .5 t\n1 Q0 é 2 .4 t\n".encode("latin-1"))


def test_a_packed_run_whose_end_is_missing_is_refused(tmp_path):
    packed = gzip.compress("".join(f"1 Q0 a{i} 1 .{i} t\n" for i in range(20000)).encode())
    with pytest.raises(
        InputError, match=r"x\.run\.gz: cannot be read, Truncated compressed stream"
    ):
        read(tmp_path, packed[:-2000], "x.run.gz")


def test_both_readers_agree(tmp_path):
    data = "".join(f"{i % 7} Q0 d{i} 1 {i * 0.1!r} t\n" for i in range(500))
    assert read(tmp_path, data) == read(tmp_path, "# slow\n" + data)

"""Parquet files: columns of every type, and what is broken is refused."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit.arrays import InputError
from evalkit.limits import Limits, ReadingLimits
from evalkit.parameters.reports import SignificanceParameters
from evalkit.reading.tables import sources
from evalkit.reading.tables.formats import Parquet
from evalkit.studies import classification, significance

COLUMN_BY_TYPE = {
    "text": pa.array(["a", "é", None, "a"]),
    "wide": pa.array(["a", "b", None, "a"], pa.large_string()),
    "whole": pa.array([1, -2, None, 2**62]),
    "unsigned": pa.array([1, 2, None, 2**64 - 1], pa.uint64()),
    "double": pa.array([0.5, float("nan"), None, -0.0]),
    "single": pa.array([0.1, float("inf"), None, 1], pa.float32()),
    "truth": pa.array([True, False, None, True]),
}


@pytest.fixture
def path(tmp_path):
    """A file t.parquet of four rows, with a column of each type, in two row groups."""
    pq.write_table(pa.table(COLUMN_BY_TYPE), tmp_path / "t.parquet", row_group_size=3)
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("name", ["double", "single", "truth"])
def test_columns_of_numbers_are_what_the_file_holds(path, name):
    """The file `path` has four rows and a column of each type, among them double, single and truth.
    Read as a number, a column has the cells that were written, truth as 0 and 1; an empty cell
    stays empty.
    """
    (part,) = sources.parts(path)
    cells = COLUMN_BY_TYPE[name].to_pylist()
    expected = [None if cell is None else float(cell) for cell in cells]
    np.testing.assert_equal(part.load(text={}, numbers={"x": name})["x"].to_pylist(), expected)


@pytest.mark.parametrize("name", ["text", "wide", "whole", "unsigned"])
def test_columns_of_ids_are_the_texts_of_what_the_file_holds(path, name):
    """The file `path` has four rows and a column of each type, among them texts and whole numbers
    up to 2⁶⁴ − 1. Read as an id, a column has the texts of the cells that were written; an empty
    cell stays empty.
    """
    (part,) = sources.parts(path)
    cells = COLUMN_BY_TYPE[name].to_pylist()
    expected = [None if cell is None else str(cell) for cell in cells]
    assert part.load(text={"item": name}, numbers={})["item"].to_pylist() == expected


def test_zero_is_one_text_whatever_its_sign(tmp_path):
    """0.0 and −0.0 are equal numbers, in double (x) and in single precision (y). As texts, such as
    ids, they must be equal as well.
    """
    zeros = {"x": pa.array([0.0, -0.0, 0.1]), "y": pa.array([-0.0, 0.0, 0.1], pa.float32())}
    pq.write_table(pa.table(zeros), tmp_path / "z.parquet")
    (part,) = sources.parts(tmp_path / "z.parquet")
    found = part.load(text={"text x": "x", "text y": "y"}, numbers={})
    assert {tuple(column.to_pylist()) for column in found.values()} == {("0.0", "0.0", "0.1")}


def test_decimals_are_numbers(tmp_path):
    pq.write_table(
        pa.table({"d": pa.array([Decimal(1), Decimal(2)], pa.decimal128(5, 1))}),
        tmp_path / "d.parquet",
    )
    (part,) = sources.parts(tmp_path / "d.parquet")
    assert part.load(text={}, numbers={"x": "d"})["x"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    "cells", [[float("nan"), 1.0], ["", "1.0"]], ids=["NaN and 1", "empty and 1.0"]
)
def test_nan_and_empty_texts_are_empty_cells_of_text(tmp_path, cells):
    """In the column u, used as text, every second cell is 1 and the others are NaN, or empty texts
    (`cells`): these are empty cells. A Parquet file keeps the smallest and the largest number of a
    column, here 1 and 1, without regard to NaN: they must not be taken for all that the column
    holds. The table in memory must be read alike.
    """
    table = pa.table({"label": [0, 1] * 9, "score": [0.2, 0.6, 0.4] * 6, "u": pa.array(cells * 9)})
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet"):
        (part,) = sources.parts(data)
        segments = part.load(text={"segment": "u"}, numbers={})["segment"]
        assert segments.to_pylist() == [None, "1.0"] * 9
        by_u = classification.read(preds=data, segments="u")
        assert {segment.label for segment in by_u.slices} == {"1.0", "(none)"}
        with pytest.raises(InputError, match=r"row 1: u must not be empty where it is the unit"):
            classification.read(preds=data, unit="u")


@pytest.mark.parametrize(
    "limits", [Limits(), Limits(reading=ReadingLimits(rows=2))], ids=["memory", "blocks"]
)
def test_a_unit_without_a_value_of_one_system_is_left_out_of_the_comparison(tmp_path, limits):
    """Two systems, a and b, have values of 40 units; that of a is NaN for the first unit. The
    comparison of a with b has the 39 other units: for a table in memory and for a Parquet file,
    read at once or by blocks (`limits`).
    """
    columns = {
        "id": [f"u{i}" for i in range(40)],
        "a": [float("nan"), *np.sqrt(range(39))],
        "b": [0.5, 2.5] * 20,
    }
    table = pa.table(columns)
    file = tmp_path / "t.parquet"
    pq.write_table(table, file)
    for data in (table, file):
        study = significance.study_of(SignificanceParameters.from_raw({"preds": data}), limits)
        (comparison,) = study.comparisons.to_dict("records")
        assert comparison["n"] == 40 - 1


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_of_a_file_have_the_texts_of_those_of_a_table(tmp_path, unit):
    """A column d of durations, in seconds to nanoseconds (`unit`), is read as text. A file and a
    table in memory are read in different ways: both must give the same texts, also for zero, a
    negative duration, an empty cell and a very long duration.
    """
    table = pa.table({"d": pa.array([0, 3875, -5, None, 10**9], pa.duration(unit))})
    pq.write_table(table, tmp_path / "d.parquet")
    (in_memory,) = sources.parts(table)
    (in_file,) = sources.parts(tmp_path / "d.parquet")
    expected = in_memory.load(text={"d": "d"}, numbers={})["d"].to_pylist()
    assert in_file.load(text={"d": "d"}, numbers={})["d"].to_pylist() == expected


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_no_numbers(tmp_path, unit):
    table = pa.table({"d": pa.array([0, 3875], pa.duration(unit))})
    pq.write_table(table, tmp_path / "d.parquet")
    (part,) = sources.parts(tmp_path / "d.parquet")
    with pytest.raises(InputError, match=r"d.parquet: d must hold numbers, got INTERVAL"):
        part.load(text={"id": "d"}, numbers={"d": "d"})


def test_names_of_columns_and_the_number_of_rows_are_known_without_reading(path):
    """The file `path` has four rows and a column of each type. The end of a Parquet file holds its
    columns and rows.
    """
    file = Parquet.opened(path)
    assert file.columns == tuple(COLUMN_BY_TYPE)
    assert file.known_rows == 4


def test_a_folder_of_a_key_and_a_value_is_a_column(tmp_path):
    """A file in a folder "day=3", as other tools partition tables, has a column day with the value
    3 in each row.
    """
    (tmp_path / "t" / "day=3").mkdir(parents=True)
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "t" / "day=3" / "p.parquet")
    (part,) = sources.parts(tmp_path / "t")
    assert part.columns == ("id", "day")
    assert part.load(text={"id": "id"}, numbers={"day": "day"})["day"].to_pylist() == [3]


def test_two_columns_of_one_name_are_refused(tmp_path):
    pq.write_table(
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]),
        tmp_path / "t.parquet",
    )
    with pytest.raises(
        InputError, match=r"t.parquet: column names must be distinct, got 'x' and 'x'"
    ):
        sources.parts(tmp_path / "t.parquet")


def test_text_that_is_not_utf8_is_refused(tmp_path):
    """The file has a column of texts whose only cell is the byte E9: é in Latin-1, and nothing in
    UTF-8. As pyarrow would write valid texts only, the column is made from its buffers: no mask of
    empty cells, the offsets 0 and 1 of the cell, its bytes.
    """
    mask = None
    offsets = pa.py_buffer(np.array([0, 1], np.int32))
    cell = pa.py_buffer(b"\xe9")
    not_utf8 = pa.Array.from_buffers(pa.string(), 1, [mask, offsets, cell])
    pq.write_table(pa.table({"item": not_utf8}), tmp_path / "t.parquet")
    part = sources.parts(tmp_path / "t.parquet")[0]
    with pytest.raises(InputError, match=r"t.parquet: item must be UTF-8 text, other bytes found"):
        part.load(text={"item": "item"}, numbers={})


def test_a_broken_page_is_refused(path):
    """The first half of the file `path`, after its first four bytes, is overwritten with zeros: its
    end can still be read, its columns cannot.
    """
    part = sources.parts(path)[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    with pytest.raises(InputError, match=r"t.parquet: must be a complete Parquet file"):
        part.load(text={"item": "text"}, numbers={})


def test_a_folder_that_is_a_column_comes_before_the_files_own(tmp_path):
    """A file in the folder "score=7" has itself a column score, with 1.0. The value of the folder's
    name is taken.
    """
    (tmp_path / "score=7").mkdir()
    pq.write_table(pa.table({"id": ["a"], "score": [1.0]}), tmp_path / "score=7" / "p.parquet")
    part = sources.parts(tmp_path)[0]
    assert part.load(text={"id": "id"}, numbers={"score": "score"})["score"].to_pylist() == [7]


def test_a_name_of_a_column_that_is_not_utf8_is_refused(tmp_path):
    """The name of a column, "other" when written, is changed in the file to "oth", the byte E9,
    "r", of the same length. E9 is é in Latin-1, and nothing in UTF-8. The file cannot be opened;
    the message is that of any damaged file.
    """
    pq.write_table(
        pa.table({"id": ["a"], "other": [1]}), tmp_path / "t.parquet", store_schema=False
    )
    raw = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(raw.replace(b"other", b"oth\xe9r"))
    with pytest.raises(InputError, match=r"t.parquet: must be a complete Parquet file"):
        sources.parts(tmp_path / "t.parquet")


def test_a_column_without_a_name_has_one_by_its_place(tmp_path):
    pq.write_table(pa.table({"id": ["a"], "": [1.5]}), tmp_path / "t.parquet")
    part = sources.parts(tmp_path / "t.parquet")[0]
    assert part.columns == ("id", "C1")
    assert part.load(text={"id": "id"}, numbers={"x": "C1"})["x"].to_pylist() == [1.5]


def test_the_index_of_a_pandas_frame_is_no_column_in_any_form(tmp_path):
    """The frame has lost its first row, so that its index is 1 and 2. pandas and pyarrow store such
    an index as a column, which is none of the table's.
    """
    frame = pd.DataFrame({"id": ["a", "b", "c"], "a": [1, 2, 3]}).query("a > 1")
    frame.to_parquet(tmp_path / "t.parquet")
    table = pa.Table.from_pandas(frame)
    for data in (tmp_path / "t.parquet", frame, table, table.to_reader()):
        assert sources.parts(data)[0].columns == ("id", "a")


def test_a_dictionary_that_holds_a_text_twice_is_read_as_its_texts(tmp_path):
    """A Parquet file may store each text of a column once, in a dictionary. With bbb changed to aaa
    in the bytes of the file, as other writers may do it, the dictionary holds aaa twice. Without
    compression and statistics each bbb stands in the dictionary alone.
    """
    texts = ["aaa", "bbb", "ccc", "aaa", "bbb", "ccc", "ccc", "ddd", "eee", "eee", "fff", "ggg"]
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"id": texts}),
        path,
        compression="none",
        store_schema=False,
        write_statistics=False,
    )
    path.write_bytes(path.read_bytes().replace(b"bbb", b"aaa"))
    found = sources.parts(path)[0].load(text={"id": "id"}, numbers={})["id"].to_pylist()
    assert found == [text.replace("bbb", "aaa") for text in texts]

"""Columns of text as numbers into their distinct texts: the texts are those of the cells, however they are stored."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit.arrays import InputError
from evalkit.reading.inputs import outcomes
from evalkit.reading.tables.table import Coded, indexed

CELLS = ["b", None, "a", "b", None, "c"]


def numbered(cells):
    return pa.array(cells).dictionary_encode()


@pytest.mark.parametrize(
    "blocks",
    [
        [pa.array(CELLS)],
        [numbered(CELLS)],
        [numbered(CELLS[:2]), numbered(CELLS[2:])],
        [numbered(CELLS[:2]), pa.array(CELLS[2:], pa.large_string())],
        [pa.array(CELLS).dictionary_encode(null_encoding="encode")],
        [pa.DictionaryArray.from_arrays(pa.array([2, None, 0, 2, None, 1], pa.int8()), pa.array(["a", "c", "b"]))],
    ],
)
def test_distinct_texts_and_places_give_back_the_cells(blocks):
    place, texts = indexed(blocks)
    distinct = texts.to_pylist()
    assert [distinct[i] for i in place] == CELLS
    assert len(distinct) == len({*distinct})


def test_texts_that_mean_the_same_are_one_name():
    column = Coded.of(["1.0", "0", "1"], np.array([0, 1, 2, 2]))
    assert column.names == ("0", "1", "1.0")
    texts = column.texts
    assert texts.tolist() == ["1.0", "0", "1", "1"]
    assert texts[2] is texts[3]


def test_rows_that_are_taken_have_only_their_own_names():
    column = Coded.of(["c", "a", "b"], np.array([0, 1, 2, 0]))
    part = column.take(np.array([3, 1]))
    assert part.names == ("a", "c")
    assert part.texts.tolist() == ["c", "a"]
    assert column.take(slice(None)).names == ("a", "b", "c")


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.string(), pa.large_string()])
def test_labels_of_every_type_are_the_same_texts(tmp_path, kind):
    label = pa.array([1, 0, 1, 1, 0]).cast(kind)
    pq.write_table(pa.table({"label": label, "score": [0.9, 0.2, 0.4, 0.6, 0.5]}), tmp_path / "a.parquet")
    data = outcomes.read(tmp_path / "a.parquet")
    assert data.label.tolist() == [1, 0, 1, 1, 0]
    assert (data.positive, data.negative) == ("1", "0")
    assert data.rows.text["label"].tolist() == ["1", "0", "1", "1", "0"]
    assert data.rows.id.tolist() == ["1", "2", "3", "4", "5"]


def test_an_empty_label_of_whole_numbers_is_refused_with_its_row(tmp_path):
    table = pa.table({"label": pa.array([1, None, 0], pa.int8()), "score": [0.9, 0.2, 0.4]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: label must not be empty, got nothing \(row 2\)"):
        outcomes.read(tmp_path / "a.parquet")


def test_the_systems_of_a_column_are_apart_and_a_label_of_another_system_is_none_of_these(tmp_path):
    table = pa.table({"system": ["a", "b", "a"], "label": ["x", "z", "y"], "score": [0.9, 0.2, 0.4]})
    pq.write_table(table, tmp_path / "a.parquet")
    data = outcomes.read(tmp_path / "a.parquet", systems=["a"], positive="y")
    assert (data.label.tolist(), data.negative) == ([0, 1], "x")
    assert data.rows.id.tolist() == ["1", "3"]
    assert "row 3" in data.rows.place(1)

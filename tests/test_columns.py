"""Roles of columns, by exact name, synonym or word of the user; and columns of text as codes of
their texts.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit.arrays import InputError, ParameterError
from evalkit.reading.inputs import outcomes, runs
from evalkit.reading.matching import column_names
from evalkit.reading.tables import columns
from evalkit.reading.tables.table import MOST, Coded, encode
from evalkit.studies import rating

ROLES = ("system", "query", "item", "score", "rank", "grade")


@pytest.mark.parametrize(
    "names, given, expected",
    [
        (["query", "item", "score"], {}, {"query": "query", "item": "item", "score": "score"}),
        (
            ["user_id", "item_id", "y_score"],
            {},
            {"query": "user_id", "item": "item_id", "score": "y_score"},
        ),
        (["model", "rank", "rel"], {}, {"system": "model", "rank": "rank", "grade": "rel"}),
        (["qid", "doc_id", "y_true"], {}, {"query": "qid", "item": "doc_id", "grade": "y_true"}),
        (["query", "qid", "user_id", "item"], {}, {"query": "query", "item": "item"}),
        (["qid", "user_id", "item"], {"query": "user_id"}, {"query": "user_id", "item": "item"}),
        (["query", "item", "who"], {"query": "who"}, {"query": "who", "item": "item"}),
        (["query", "label", "grade"], {}, {"query": "query", "grade": "grade"}),
        (["Query", "item"], {}, {"item": "item"}),
        ([], {}, {}),
    ],
)
def test_resolves(names, given, expected):
    assert columns.match(names, ROLES, given, "f.csv").resolve() == expected


def test_a_column_has_one_use():
    assert columns.match(
        ["query", "item"], ["query", "item"], {"query": "item"}, "f.csv"
    ).resolve() == {"query": "item"}
    assert columns.match(
        ["qid", "user_id"], ["query"], {}, "f.csv", other_uses=["user_id"]
    ).resolve() == {"query": "qid"}


def test_a_column_has_its_role_by_the_surest_of_three_ways():
    mapping = columns.match(
        ["mine", "item", "qid"], ["score", "item", "query"], {"score": "mine"}, "f.csv"
    )
    assert mapping.columns == {"score": "mine", "item": "item", "query": "qid"}


def test_the_exact_name_is_surer_than_a_usual_one():
    mapping = columns.match(["qid", "query"], ["query"], {}, "f.csv")
    assert mapping.columns == {"query": "query"}


def test_a_column_is_the_query_and_the_unit_at_once():
    frame = pd.DataFrame({"user_id": ["u", "v"], "item": "i", "score": 0.5, "grade": 1})
    lists = runs.read(frame, unit="user_id")
    assert (lists.columns["query"], lists.attributes["user_id"].tolist()) == ("user_id", ["u", "v"])


@pytest.mark.parametrize("decisions", [[], ["prediction"]])
def test_columns_are_matched_once(decisions, monkeypatch):
    calls = []
    match = columns.match

    def counted(*arguments, **named):
        calls.append(arguments)
        return match(*arguments, **named)

    monkeypatch.setattr(columns, "match", counted)
    cells = {"id": [1, 2], "label": [0, 1], "score": [0.2, 0.4]}
    outcomes.read(pd.DataFrame({**cells, **{name: [0, 1] for name in decisions}}))
    assert len(calls) == 1


def test_refuses_two_synonyms():
    message = (
        r"f.csv: columns 'qid' and 'user_id' could both be the query; say which: "
        r"columns='query=qid'"
    )
    with pytest.raises(InputError, match=message):
        columns.match(["qid", "user_id", "item"], ROLES, {}, "f.csv").resolve()


def test_refuses_a_column_that_is_not_there():
    message = (
        r"columns: score: f.csv has no column 'scroe', it has query, score; did you mean 'score'\?"
    )
    with pytest.raises(ParameterError, match=message):
        columns.match(["query", "score"], ROLES, {"score": "scroe"}, "f.csv").resolve()
    with pytest.raises(ParameterError, match=r"f\.csv has no column 'zzz', it has query, score$"):
        columns.require(["query", "score"], "zzz", "f.csv", "segments")


def test_refuses_an_unknown_role():
    with pytest.raises(
        ParameterError, match="columns: unknown role 'quary', must be one of query, item"
    ):
        columns.check_roles({"quary": "x"}, ["query", "item"])


def test_missing_names_the_synonyms_and_what_is_there():
    message = (
        "f.csv: no column for the item (item, item_id, doc_id); it has 'a b', 'c'; "
        "if other columns are meant, name them with columns"
    )
    assert str(columns.unresolved(["item"], ["a b", "c"], "f.csv")) == message


def test_many_columns_are_not_all_listed():
    message = str(columns.unresolved(["item"], [f"c{i}" for i in range(500)], "f.csv"))
    assert "'c18', 'c19' and 480 more; if other columns are meant" in message


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
        [
            pa.DictionaryArray.from_arrays(
                pa.array([2, None, 0, 2, None, 1], pa.int8()), pa.array(["a", "c", "b"])
            )
        ],
    ],
)
def test_distinct_texts_and_places_give_back_the_cells(blocks):
    place, texts = encode(blocks)
    distinct = texts.to_pylist()
    assert [distinct[i] for i in place] == CELLS
    assert len(distinct) == len({*distinct})


def test_texts_that_mean_the_same_are_one_name():
    column = Coded.from_texts(["1.0", "0", "1"], np.array([0, 1, 2, 2]))
    assert column.names == ("0", "1", "1.0")
    texts = column.texts
    assert texts.tolist() == ["1.0", "0", "1", "1"]
    assert texts[2] is texts[3]


def test_rows_that_are_taken_have_only_their_own_names():
    column = Coded.from_texts(["c", "a", "b"], np.array([0, 1, 2, 0]))
    part = column.take(np.array([3, 1]))
    assert part.names == ("a", "c")
    assert part.texts.tolist() == ["c", "a"]
    assert column.take(slice(None)).names == ("a", "b", "c")


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint16(), pa.int64(), pa.string(), pa.large_string()]
)
def test_labels_of_every_type_are_the_same_texts(tmp_path, kind):
    label = pa.array([1, 0, 1, 1, 0]).cast(kind)
    pq.write_table(
        pa.table({"label": label, "score": [0.9, 0.2, 0.4, 0.6, 0.5]}), tmp_path / "a.parquet"
    )
    data = outcomes.read(tmp_path / "a.parquet")
    assert data.actual.tolist() == [1, 0, 1, 1, 0]
    assert data.names == ("0", "1")
    assert data.rows.shared_values["label"].texts.tolist() == ["1", "0", "1", "1", "0"]
    assert data.rows.id.tolist() == ["1", "2", "3", "4", "5"]


def test_an_empty_label_of_whole_numbers_is_refused_with_its_row(tmp_path):
    table = pa.table({"label": pa.array([1, None, 0], pa.int8()), "score": [0.9, 0.2, 0.4]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=r"a\.parquet: label must not be empty, got nothing \(row 2\)"
    ):
        outcomes.read(tmp_path / "a.parquet")


def test_the_systems_of_a_column_are_apart_and_a_label_of_another_system_is_none_of_these(tmp_path):
    table = pa.table(
        {"system": ["a", "b", "a"], "label": ["x", "z", "y"], "score": [0.9, 0.2, 0.4]}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    data = outcomes.read(tmp_path / "a.parquet", systems=["a"], positive="y")
    assert (data.actual.tolist(), data.names[0]) == ([0, 1], "x")
    assert data.rows.id.tolist() == ["1", "3"]
    assert "row 3" in data.rows.place(1)


def test_a_column_of_a_system_without_a_name_is_refused():
    names = ["id", "score_", "score_a"]
    message = "x.csv: a column of a system must be called score_NAME, got 'score_'"
    with pytest.raises(InputError, match=message):
        column_names.columns_of_systems(names, "score", [], "x.csv")
    assert column_names.columns_of_systems(names, "score", ["a"], "x.csv") == {"a": "score_a"}


def test_a_value_at_the_end_of_a_quarter_belongs_to_it():
    table = pd.DataFrame({"actual": 0.0, "forecast": 1.0, "age": np.arange(100)})
    by_age = rating.read(table, metrics="mae", segments="age").by_segment
    quarters = by_age.set_index("slice")["n"].to_dict()
    assert quarters == {"[0, 24]": 25, "(24, 49]": 25, "(49, 74]": 25, "(74, 99]": 25}


def test_rare_texts_are_one_slice_beside_the_most_frequent():
    """More texts than slices: t0 twice, t1 three times, and so on."""
    texts = [f"t{i}" for i in range(2 * MOST) for _ in range(i + 2)]
    table = pd.DataFrame({"actual": 0.0, "forecast": 1.0, "town": texts})
    by_town = rating.read(table, metrics="mae", segments="town").by_segment
    own = [f"t{i}" for i in range(MOST + 1, 2 * MOST)]
    assert by_town["slice"].tolist()[:-1] == own
    assert by_town["n"].tolist()[-1] == sum(i + 2 for i in range(MOST + 1))

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

ROLES_OF_LISTS = ("system", "query", "item", "score", "rank", "grade")


def matched(names, chosen=None, roles=ROLES_OF_LISTS, **options):
    """Role -> column of a table f.csv with columns of these names, where the user names some in
    `chosen`.
    """
    return columns.match(names, roles, chosen or {}, where="f.csv", **options).resolve()


@pytest.mark.parametrize(
    "names, expected",
    [
        (["query", "item", "score"], {"query": "query", "item": "item", "score": "score"}),
        (
            ["user_id", "item_id", "y_score"],
            {"query": "user_id", "item": "item_id", "score": "y_score"},
        ),
        (["model", "rank", "rel"], {"system": "model", "rank": "rank", "grade": "rel"}),
        (["qid", "doc_id", "y_true"], {"query": "qid", "item": "doc_id", "grade": "y_true"}),
        (["query", "qid", "user_id", "item"], {"query": "query", "item": "item"}),
        (["query", "label", "grade"], {"query": "query", "grade": "grade"}),
        (["Query", "item"], {"item": "item"}),
        ([], {}),
    ],
    ids=[
        "exact names",
        "synonyms",
        "other synonyms",
        "synonyms of search",
        "an exact name before two synonyms",
        "an exact name before one",
        "a capital letter is another name",
        "no columns",
    ],
)
def test_columns_have_roles_by_their_names(names, expected):
    assert matched(names) == expected


@pytest.mark.parametrize(
    "names, chosen",
    [(["qid", "user_id", "item"], "user_id"), (["query", "item", "who"], "who")],
    ids=["before a synonym", "before an exact name"],
)
def test_a_column_that_the_user_names_for_a_role_comes_first(names, chosen):
    assert matched(names, chosen={"query": chosen}) == {"query": chosen, "item": "item"}


def test_a_column_that_the_user_names_for_one_role_has_no_other_role():
    assert matched(["query", "item"], chosen={"query": "item"}) == {"query": "item"}


def test_a_column_with_another_use_has_no_role():
    """As a segment or a unit; without that use, both columns could be the query."""
    assert matched(["qid", "user_id"], other_uses=["user_id"]) == {"query": "qid"}


def test_columns_have_roles_by_the_users_word_by_exact_name_and_by_synonym():
    names = ["mine", "item", "qid"]
    expected = {"score": "mine", "item": "item", "query": "qid"}
    assert matched(names, chosen={"score": "mine"}) == expected


def test_an_exact_name_comes_before_a_synonym():
    assert matched(["qid", "query"]) == {"query": "query"}


def test_a_column_is_the_query_and_the_unit_at_once():
    frame = pd.DataFrame({"user_id": ["u", "v"], "item": "i", "score": 0.5, "grade": 1})
    lists = runs.read(frame, unit="user_id")
    assert lists.columns["query"] == "user_id"
    assert lists.attributes["user_id"].tolist() == ["u", "v"]


@pytest.mark.parametrize(
    "further_columns", [{}, {"prediction": [0, 1]}], ids=["scores", "scores and decisions"]
)
def test_columns_are_matched_once_in_a_read(further_columns, monkeypatch):
    """`columns.match` finds which column is the label, the score and so on. A reading calls it
    once, also if the table has a further column of decisions beside the scores.
    """
    calls = []
    match = columns.match

    def counting_match(*arguments, **options):
        calls.append(arguments)
        return match(*arguments, **options)

    monkeypatch.setattr(columns, "match", counting_match)
    table = {"id": [1, 2], "label": [0, 1], "score": [0.2, 0.4]}
    outcomes.read(pd.DataFrame(table | further_columns))
    assert len(calls) == 1


def test_two_synonyms_of_one_role_are_refused():
    """ "qid" and "user_id" are both usual names of the column of queries. `matched` finds the roles
    of columns with these names in a file f.csv.
    """
    message = (
        r"f.csv: columns 'qid' and 'user_id' could both be the query; say which: "
        r"columns='query=qid'"
    )
    with pytest.raises(InputError, match=message):
        matched(["qid", "user_id", "item"])


def test_a_column_for_a_role_that_is_not_there_is_refused_with_the_nearest_name():
    message = (
        r"columns: score: f.csv has no column 'scroe', it has query, score; did you mean 'score'\?"
    )
    with pytest.raises(ParameterError, match=message):
        matched(["query", "score"], chosen={"score": "scroe"})


def test_a_column_that_is_not_there_and_like_no_other_is_refused_with_all_names():
    with pytest.raises(ParameterError, match=r"f\.csv has no column 'zzz', it has query, score$"):
        columns.require_column(["query", "score"], "zzz", where="f.csv", parameter="segments")


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


def dictionary_encoded(cells):
    return pa.array(cells).dictionary_encode()


@pytest.mark.parametrize(
    "blocks",
    [
        [pa.array(CELLS)],
        [dictionary_encoded(CELLS)],
        [dictionary_encoded(CELLS[:2]), dictionary_encoded(CELLS[2:])],
        [dictionary_encoded(CELLS[:2]), pa.array(CELLS[2:], pa.large_string())],
        [pa.array(CELLS).dictionary_encode(null_encoding="encode")],
        [
            pa.DictionaryArray.from_arrays(
                pa.array([2, None, 0, 2, None, 1], pa.int8()), pa.array(["a", "c", "b"])
            )
        ],
    ],
    ids=[
        "texts",
        "a dictionary",
        "two dictionaries",
        "a dictionary and texts",
        "a dictionary with null",
        "a dictionary in another order",
    ],
)
def test_encoding_gives_the_code_of_each_cell_and_the_distinct_texts(blocks):
    """In whatever form Arrow holds the six CELLS, two of them empty."""
    codes, texts = encode(blocks)
    distinct = texts.to_pylist()
    assert [distinct[code] for code in codes] == CELLS
    assert len(distinct) == len({*distinct})


def test_a_coded_column_has_sorted_names_and_one_object_for_equal_texts():
    """Codes are positions in the list of texts; "1.0" and "1" are two names."""
    column = Coded.from_texts(["1.0", "0", "1"], np.array([0, 1, 2, 2]))
    assert column.names == ("0", "1", "1.0")
    texts = column.texts
    assert texts.tolist() == ["1.0", "0", "1", "1"]
    assert texts[2] is texts[3]


def test_rows_that_are_taken_have_only_their_own_names():
    """A coded column has texts and, for each row, the position of its text: the four rows are c, a,
    b, c. Of the rows that are taken, only texts that occur are names, in sorted order.
    """
    column = Coded.from_texts(["c", "a", "b"], np.array([0, 1, 2, 0]))
    fourth_and_second = column.take(np.array([3, 1]))
    assert fourth_and_second.names == ("a", "c")
    assert fourth_and_second.texts.tolist() == ["c", "a"]
    all_rows = column.take(slice(None))
    assert all_rows.names == ("a", "b", "c")


@pytest.mark.parametrize(
    "arrow_type", [pa.int8(), pa.uint16(), pa.int64(), pa.string(), pa.large_string()]
)
def test_labels_of_every_type_are_the_same_texts(tmp_path, arrow_type):
    """Labels 0 and 1 are stored in a file as one of several Arrow types, integers and strings. In
    each they are read as the texts "0" and "1", the names of the negative and the positive class.
    The file has no ids, so that these are the numbers of the rows.
    """
    label = pa.array([1, 0, 1, 1, 0]).cast(arrow_type)
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


def test_rows_and_labels_of_systems_that_are_not_asked_for_are_left_out(tmp_path):
    """The rows 1 and 3 of the file are of system a, with the labels x and y. Row 2, with the label
    z, is of system b, which is not asked for. So x and y are the two classes, and messages still
    count rows as the file does.
    """
    table = pa.table(
        {"system": ["a", "b", "a"], "label": ["x", "z", "y"], "score": [0.9, 0.2, 0.4]}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    data = outcomes.read(tmp_path / "a.parquet", systems=["a"], positive="y")
    assert data.actual.tolist() == [0, 1]
    assert data.names[0] == "x"  # the negative class
    assert data.rows.id.tolist() == ["1", "3"]
    second_row_of_a = 1  # counted from 0
    assert "row 3" in data.rows.place(second_row_of_a)


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
    """A column has at most MOST = 12 slices. Of 24 texts, t0 on 2 rows, t1 on 3, up to t23 on 25,
    the 11 most frequent are slices of their own; the last slice holds the rows of the other 13.
    """
    texts = [f"t{i}" for i in range(2 * MOST) for _ in range(i + 2)]
    table = pd.DataFrame({"actual": 0.0, "forecast": 1.0, "town": texts})
    by_town = rating.read(table, metrics="mae", segments="town").by_segment
    *most_frequent, _rest = by_town["slice"]
    assert most_frequent == [f"t{i}" for i in range(MOST + 1, 2 * MOST)]
    *_, rows_of_rest = by_town["n"]
    assert rows_of_rest == sum(i + 2 for i in range(MOST + 1))

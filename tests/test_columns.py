"""Roles of columns: the exact name, the usual synonyms, what the user says, and what is refused."""

import pytest

from evalkit.arrays import InputError, ParameterError
from evalkit.reading.tables import columns

ROLES = ("system", "query", "item", "score", "rank", "grade")


@pytest.mark.parametrize(
    "names, given, expected",
    [
        (["query", "item", "score"], {}, {"query": "query", "item": "item", "score": "score"}),
        (["user_id", "item_id", "y_score"], {}, {"query": "user_id", "item": "item_id", "score": "y_score"}),
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
    assert columns.match(names, ROLES, given, "f.csv").resolved() == expected


def test_a_column_has_one_use():
    assert columns.match(["query", "item"], ["query", "item"], {"query": "item"}, "f.csv").resolved() == {
        "query": "item"
    }
    assert columns.match(["qid", "user_id"], ["query"], {}, "f.csv", taken=["user_id"]).resolved() == {"query": "qid"}


def test_refuses_two_synonyms():
    message = r"f.csv: columns 'qid' and 'user_id' could both be the query; say which: columns='query=qid'"
    with pytest.raises(InputError, match=message):
        columns.match(["qid", "user_id", "item"], ROLES, {}, "f.csv").resolved()


def test_refuses_a_column_that_is_not_there():
    message = r"columns: score: f.csv has no column 'scroe', it has query, score; did you mean 'score'\?"
    with pytest.raises(ParameterError, match=message):
        columns.match(["query", "score"], ROLES, {"score": "scroe"}, "f.csv").resolved()
    with pytest.raises(ParameterError, match=r"f\.csv has no column 'zzz', it has query, score$"):
        columns.require(["query", "score"], "zzz", "f.csv", "segments")


def test_refuses_an_unknown_role():
    with pytest.raises(ParameterError, match="columns: unknown role 'quary', must be one of query, item"):
        columns.check_roles({"quary": "x"}, ["query", "item"])


def test_missing_names_the_synonyms_and_what_is_there():
    message = "f.csv: no column for the item (item, item_id, doc_id); it has 'a b', 'c'; set columns='item=NAME'"
    assert str(columns.unresolved(["item"], ["a b", "c"], "f.csv")) == message


def test_many_columns_are_not_all_listed():
    message = str(columns.unresolved(["item"], [f"c{i}" for i in range(500)], "f.csv"))
    assert message.endswith("'c18', 'c19' and 480 more; set columns='item=NAME'")

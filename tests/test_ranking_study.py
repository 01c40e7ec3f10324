"""The ranking study and its page: the answer, the accounts, the gate, the files."""

import base64
import json
import zlib
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from evalkit import numbers
from evalkit.arrays import InputError, ParameterError
from evalkit.pages import as_json, first_screen, page, ranking_page
from evalkit.report import plain
from evalkit.studies import provenance, ranking

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def sample():
    return ranking.read()


def two_users(**columns) -> pd.DataFrame:
    """Lists of two items by systems a and b: user u1 asks q1 and q2, u2 asks q3. Item x is
    relevant; a has it first on all queries, b on q2 alone.
    """
    base = {
        "system": ["a"] * 6 + ["b"] * 6,
        "query": ["q1", "q1", "q2", "q2", "q3", "q3"] * 2,
        "item": ["x", "y"] * 6,
        "score": [2, 1, 2, 1, 2, 1, 1, 2, 2, 1, 1, 2],
        "grade": [1, 0] * 6,
        "user": ["u1"] * 4 + ["u2"] * 2 + ["u1"] * 4 + ["u2"] * 2,
    }
    return pd.DataFrame(base | columns)


def test_the_range_of_ties_holds_the_value(sample):
    rows = sample.estimates
    rounding = 1e-12
    assert (rows["worst_ties"] <= rows["value"] + rounding).all()
    assert (rows["value"] <= rows["best_ties"] + rounding).all()


def test_a_system_of_few_distinct_scores_has_a_wide_range_and_a_finding(sample):
    ranges = sample.estimates.set_index(["metric", "system"])
    overlap = ranges.loc["ndcg@10", "binary_overlap_ties"]
    assert overlap["best_ties"] - overlap["worst_ties"] > 0.2
    sentence = "Depending on their order, ndcg@10 of binary_overlap_ties lies in [0."
    assert sentence in ranking_page.findings(sample).text


def test_precision_is_0_at_a_recall_that_no_list_reaches(sample):
    """Every list ends at rank 50, where no query has 70% of its relevant items."""
    curve = sample.precision_recall
    beyond = curve[curve["reached"] == 0]
    assert (beyond["value"] == 0).all()
    assert set(beyond["recall"]) >= {0.7, 0.8, 0.9, 1.0}


def test_precision_is_drawn_only_as_far_as_half_of_the_lists_reach(sample):
    curve = sample.precision_recall.query("system == 'lda_cosine' and reached >= 0.5")
    last = curve.loc[curve["recall"].idxmax()]
    picture = ranking_page.precision_recall(sample)
    assert "up to the last that at least half of a system's lists reach" in picture.caption
    assert f"lda_cosine from 0.989 at 0 to {last['value']:.3f} at {last['recall']:g}" in picture.alt


def test_users_are_the_units_of_estimates_and_comparisons():
    study = ranking.read(two_users(), unit="user", metrics="mrr")
    assert study.comparisons[["unit", "n"]].to_dict("records") == [{"unit": "user", "n": 2}]
    assert study.estimates["n"].tolist() == [2, 2]


@pytest.mark.parametrize("asked", [{"baseline": "a"}, {"margin": 0.1}])
def test_a_comparison_of_one_system_is_refused(asked):
    one = two_users().query("system == 'a'")
    with pytest.raises(InputError, match="a comparison needs two systems, the input has one, 'a'"):
        ranking.read(one, **asked)


@pytest.mark.parametrize(
    "parameter, message",
    [
        ({"metrics": "ndgc@10"}, "unknown metric 'ndgc@10'.*did you mean 'ndcg@10'"),
        ({"metrics": "bpref@10"}, "bpref has no cut-off, got 'bpref@10'"),
        ({"metrics": "hit_ratio_k"}, "hit_ratio_k needs a cut-off"),
        ({"metrics": "ndcg@0"}, "a cut-off must be at least 1"),
        ({"baseline": "c"}, "there is no system 'c', the input has a, b"),
        ({"systems": "a,c"}, "there is no system 'c', the input has a, b"),
        ({"gate": "better"}, "gate: needs a baseline"),
        ({"gate": "better or equivalent", "baseline": "a"}, "needs a margin"),
        ({"relevance_level": 0}, "relevance_level must be a number above 0"),
        ({"segments": "coutry"}, "has no column 'coutry'"),
    ],
)
def test_parameters_are_refused_by_name(parameter, message):
    with pytest.raises(ParameterError, match=message):
        ranking.read(two_users(), **parameter)


@pytest.mark.parametrize("margin, verdict", [(None, "cannot tell"), (9, "equivalent")])
def test_equivalence_needs_a_margin(margin, verdict):
    study = ranking.read(two_users(), metrics="mrr", margin=margin)
    assert study.headline["verdict"].tolist() == [verdict]


@pytest.mark.parametrize("rule, failed", [("not worse", []), ("better", ["a"])])
def test_the_gate_names_the_systems_that_do_not_meet_it(rule, failed):
    """Three queries cannot show that a is better than b."""
    study = ranking.read(two_users(), metrics="mrr", baseline="b", gate=rule)
    assert study.gate.words == f"reciprocal_rank: every system {rule} against b"
    assert (study.gate.passed, study.gate.failed) == (not failed, failed)
    assert ("not met by a" in first_screen.verdict(study).html) == bool(failed)


GIVEN = {"metrics": ["mrr", "map"], "level": 0.9}


def test_the_page_shows_the_call_with_the_parameters_that_were_given():
    study = ranking.read(two_users(), **GIVEN)
    assert study.p.given_values.keys() == {"preds", "metrics", "level"}
    call = "ek.ranking(preds=<DataFrame of 12>, metrics=['mrr', 'map'], level=0.9)"
    assert call in ranking_page.origin(study).text


def test_the_command_of_a_file_gives_lists_as_json():
    command = provenance.command("ranking", {"preds": "a.csv"} | GIVEN)
    assert command == "evalkit report ranking -p preds a.csv -p metrics '[mrr, map]' -p level 0.9"


def values_of(stored):
    """A column of the JSON as docs/python.md reads it: a list, words by number, or packed
    numbers.
    """
    if not isinstance(stored, dict):
        return stored
    if "words" in stored:
        return np.take(stored["words"], values_of(stored["at"]))
    return np.frombuffer(zlib.decompress(base64.b64decode(stored["zlib"])), stored["type"])


def stored_columns(frame):
    """The columns of a data frame as they are after writing and reading JSON."""
    return json.loads(json.dumps(plain(as_json.columns(frame))))


def read_again(columns):
    return pd.DataFrame({name: values_of(stored) for name, stored in columns.items()})


def test_few_comparisons_are_lists_that_make_the_same_frame(sample):
    columns = stored_columns(sample.comparisons)
    assert isinstance(columns["p"], list)
    pd.testing.assert_frame_equal(
        read_again(columns), sample.comparisons, check_exact=True, check_dtype=False
    )


def test_a_frame_without_rows_and_columns_has_no_columns():
    assert as_json.columns(pd.DataFrame()) == {}


@pytest.fixture(scope="module")
def many_comparisons(sample):
    """So many comparisons that their columns are packed; the wins may be below 0."""
    comparisons = pd.concat([sample.comparisons] * 50, ignore_index=True)
    assert len(comparisons) > numbers.LISTED_UP_TO
    return comparisons.assign(wins=np.arange(len(comparisons)) - 700)


def test_many_comparisons_are_packed_to_the_last_bit(many_comparisons):
    again = read_again(stored_columns(many_comparisons))
    pd.testing.assert_frame_equal(again, many_comparisons, check_exact=True, check_dtype=False)


def test_packed_columns_have_the_smallest_type_and_a_fifth_of_the_size(many_comparisons):
    columns = stored_columns(many_comparisons)
    assert columns["wins"]["type"] == "<i2"
    assert columns["verdict"]["at"]["type"] == "|u1"
    assert columns["p"]["type"] == "<f8"
    assert len(json.dumps(columns)) < 0.2 * len(many_comparisons.to_json())


@pytest.mark.parametrize(
    "column_name, name_in_schema",
    [("p", "numbers"), ("wins", "wholes"), ("verdict", "verdicts"), ("first", "texts")],
)
def test_the_schema_takes_a_packed_column_of_its_type_alone(
    many_comparisons, column_name, name_in_schema
):
    """The JSON of a report stores a long column as packed numbers with their type, such as "<f8"; a
    long column of texts has its distinct texts in `words`, and packed numbers which point to them
    in `at`. The JSON schema defines each kind of column by `name_in_schema`. It accepts the column
    of a table of comparisons, and refuses it with the type "f4", floats of four bytes, which no
    column may have.
    """
    schema = json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))
    schema_of_column = {"$defs": schema["$defs"], "$ref": f"#/$defs/{name_in_schema}"}
    is_valid = jsonschema.Draft202012Validator(schema_of_column).is_valid
    column = stored_columns(many_comparisons)[column_name]
    assert is_valid(column)
    packed_numbers = column["at"] if "words" in column else column
    packed_numbers["type"] = "f4"
    assert not is_valid(column)


ODD_NUMBERS = [np.nan, np.inf, -0.0, 5e-324]


def test_lists_have_null_for_what_is_not_finite():
    stored = stored_columns(pd.DataFrame({"p": ODD_NUMBERS}))
    assert stored["p"] == [None, None, -0.0, 5e-324]


def test_packed_numbers_have_nan_for_what_is_not_finite():
    values = np.resize(ODD_NUMBERS, numbers.LISTED_UP_TO + 1)
    expected = np.where(np.isfinite(values), values, np.nan)
    stored = stored_columns(pd.DataFrame({"p": values}))
    assert read_again(stored)["p"].to_numpy().tobytes() == expected.tobytes()


def test_a_slice_says_where_its_queries_are_listed(sample):
    note = page.segments(sample).tables[0].note
    assert "A slice opens its part of the list under “Query by query”" in note

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


def frame(**columns) -> pd.DataFrame:
    """Two systems, three queries, two items each; u1's queries are q1 and q2."""
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
    assert (rows["worst_ties"] <= rows["value"] + 1e-12).all()
    assert (rows["value"] <= rows["best_ties"] + 1e-12).all()
    wide = rows[(rows["system"] == "binary_overlap_ties") & (rows["metric"] == "ndcg@10")].iloc[0]
    assert wide["best_ties"] - wide["worst_ties"] > 0.2
    assert (
        "Depending on their order, ndcg@10 of binary_overlap_ties lies in [0."
        in ranking_page.findings(sample).text
    )


def test_precision_is_drawn_only_as_far_as_half_of_the_lists_reach(sample):
    """Every list ends at rank 50, where no query has 70% of its relevant items."""
    frame = sample.precision_recall
    beyond = frame["reached"] == 0
    assert (frame.loc[beyond, "value"] == 0).all()
    assert set(frame.loc[beyond, "recall"]) >= {0.7, 0.8, 0.9, 1.0}
    picture = ranking_page.precision_recall(sample)
    assert "up to the last that at least half of a system's lists reach" in picture.caption
    last = frame[(frame["system"] == "lda_cosine") & (frame["reached"] >= 0.5)].iloc[-1]
    assert f"lda_cosine from 0.989 at 0 to {last['value']:.3f} at {last['recall']:g}" in picture.alt


def test_units_are_clustered_and_named():
    study = ranking.read(frame(), unit="user", metrics="mrr")
    assert study.comparisons.iloc[0][["unit", "n"]].tolist() == ["user", 2]
    assert study.estimates.iloc[0]["n"] == 2


@pytest.mark.parametrize("asked", [{"baseline": "a"}, {"margin": 0.1}])
def test_a_comparison_of_one_system_is_refused(asked):
    with pytest.raises(InputError, match="a comparison needs two systems, the input has one, 'a'"):
        ranking.read(frame()[:6], **asked)


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
        ranking.read(frame(), **parameter)


def test_equivalence_needs_a_margin():
    assert (
        ranking.read(frame(), metrics="mrr", margin=9).headline.iloc[0]["verdict"] == "equivalent"
    )
    assert ranking.read(frame(), metrics="mrr").headline.iloc[0]["verdict"] == "cannot tell"


@pytest.mark.parametrize("rule, passed", [("not worse", True), ("better", False)])
def test_the_gate(rule, passed):
    study = ranking.read(frame(), metrics="mrr", baseline="b", gate=rule)
    failed = [] if passed else ["a"]
    assert study.gate.words == f"reciprocal_rank: every system {rule} against b"
    assert (study.gate.passed, study.gate.failed) == (passed, failed)
    assert ("not met by a" in first_screen.verdict(study).html) is not passed


def test_only_parameters_that_differ_are_given_and_the_command_says_them():
    study = ranking.read(frame(), metrics=["mrr", "map"], level=0.9)
    assert dict(study.p.given) | {"preds": None} == {
        "preds": None,
        "metrics": ["mrr", "map"],
        "level": 0.9,
    }
    called = "ek.ranking(preds=<DataFrame of 12>, metrics=['mrr', 'map'], level=0.9)"
    assert called in ranking_page.origin(study).text
    on_file = provenance.command("ranking", dict(study.p.given) | {"preds": "a.csv"})
    assert on_file == "evalkit report ranking -p preds a.csv -p metrics '[mrr, map]' -p level 0.9"


def column(c):
    """A column of the JSON as docs/python.md reads it."""
    if not isinstance(c, dict):
        return c
    if "words" in c:
        return np.take(c["words"], column(c["at"]))
    return np.frombuffer(zlib.decompress(base64.b64decode(c["zlib"])), c["type"])


def read_again(frame):
    columns = json.loads(json.dumps(plain(as_json.columns(frame))))
    return columns, pd.DataFrame({name: column(c) for name, c in columns.items()})


def test_a_frame_of_the_columns_in_the_json_is_that_of_the_comparisons(sample):
    columns, frame = read_again(sample.comparisons)
    pd.testing.assert_frame_equal(frame, sample.comparisons, check_exact=True, check_dtype=False)
    assert isinstance(columns["p"], list)
    assert as_json.columns(sample.comparisons[:0].iloc[:, :0]) == {}


def test_many_comparisons_are_packed_to_the_last_bit(sample):
    many = pd.concat([sample.comparisons] * 50, ignore_index=True)
    assert len(many) > numbers.LISTED_UP_TO
    many["wins"] = np.arange(len(many)) - 700
    columns, frame = read_again(many)
    pd.testing.assert_frame_equal(frame, many, check_exact=True, check_dtype=False)
    assert (columns["wins"]["type"], columns["verdict"]["at"]["type"], columns["p"]["type"]) == (
        "<i2",
        "|u1",
        "<f8",
    )
    assert len(json.dumps(columns)) < 0.2 * len(many.to_json())
    kinds = {"p": "numbers", "wins": "wholes", "verdict": "verdicts", "first": "texts"}
    definitions = json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))[
        "$defs"
    ]
    for name, kind in kinds.items():
        schema = {"$defs": definitions, "$ref": f"#/$defs/{kind}"}
        jsonschema.Draft202012Validator(schema).validate(columns[name])
        stored = columns[name]
        wrong = stored | (
            {"at": stored["at"] | {"type": "f4"}} if "at" in stored else {"type": "f4"}
        )
        assert not jsonschema.Draft202012Validator(schema).is_valid(wrong)


def test_packed_numbers_have_nan_where_lists_have_null():
    values = np.resize([np.nan, np.inf, -0.0, 5e-324], numbers.LISTED_UP_TO + 1)
    frame = pd.DataFrame({"p": values})
    expected = np.where(np.isfinite(values), values, np.nan)
    assert read_again(frame)[1]["p"].to_numpy().tobytes() == expected.tobytes()
    few = column(read_again(frame[:4])[0]["p"])
    assert few == [None, None, -0.0, 5e-324]


def test_a_slice_says_where_its_queries_are_listed(sample):
    note = page.segments(sample).tables[0].note
    assert "A slice opens its part of the list under “Query by query”" in note

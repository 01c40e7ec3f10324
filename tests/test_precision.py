"""Numbers at their ends: scores in half and single precision, thresholds that decide all alike, too
large ones.
"""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from engine_samples import SMALL, classified, limited

from evalkit.arrays import InputError
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.pages import classification_page, first_screen, rating_page, validation_page
from evalkit.reading.tables import rules, sources
from evalkit.studies import classification, ranking, rating, validation

AT = 0.7
KINDS = ("float16", "float32", "float64")


def table(kind, rows=600, seed=1):
    """Labels and scores with one decimal, two systems; the second one in double precision."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    a, b = (np.clip(np.round(label * 0.3 + 0.8 * rng.random(rows), 1), 0, 1) for _ in range(2))
    return pd.DataFrame({"label": label, "score_a": a.astype(kind), "score_b": b})


def expected(scores, label):
    """What numpy counts."""
    above = scores.to_numpy() >= AT
    return {"tp": int((above & (label == 1)).sum()), "fp": int((above & (label == 0)).sum())}


def decided(study):
    rows = study.decisions.set_index("system")[["tp", "fp"]]
    return {name: rows.loc[name].to_dict() for name in rows.index}


def parquet(data, folder):
    """A Parquet file of the frame; pandas cannot write float16, Arrow can."""
    pa.parquet.write_table(pa.table(data), folder / "p.parquet")
    return str(folder / "p.parquet")


def csv(data, folder):
    data.to_csv(folder / "p.csv", index=False)
    return str(folder / "p.csv")


INPUTS = {
    "pandas": lambda data, folder: data,
    "arrow": lambda data, folder: pa.table(data),
    "batches": lambda data, folder: iter(pa.table(data).to_batches()),
    "parquet": parquet,
}


@pytest.mark.parametrize("large", [False, True], ids=["memory", "large"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", INPUTS)
def test_a_round_threshold_counts_what_numpy_counts(tmp_path, way, kind, large):
    data = table(kind)
    study = limited(
        classified(INPUTS[way](data, tmp_path), SMALL if large else USUAL, threshold=AT)
    )
    assert (study.data is None) is large
    assert decided(study) == {
        "a": expected(data["score_a"], data["label"]),
        "b": expected(data["score_b"], data["label"]),
    }
    assert study.precision["a"].name == data["score_a"].dtype.name
    assert (
        study.estimates.query("metric == 'accuracy' and system == 'a'")["value"].item()
    ) == pytest.approx(((data["score_a"].to_numpy() >= AT) == data["label"]).mean(), abs=1e-12)


def test_a_threshold_as_text_is_compared_in_double_precision_where_the_file_is_text(tmp_path):
    data = table("float64")
    study = classification.read(csv(data, tmp_path), threshold=AT)
    assert decided(study)["a"] == expected(data["score_a"], data["label"])
    assert study.precision["a"] == rules.DOUBLE


@pytest.mark.parametrize("large", [False, True], ids=["memory", "large"])
def test_each_system_of_a_long_table_has_the_precision_of_its_own_file(tmp_path, large):
    data = table("float32")
    for name in "ab":
        part = pd.DataFrame(
            {"id": data.index.astype(str), "label": data["label"], "score": data[f"score_{name}"]}
        )
        part.to_parquet(tmp_path / f"{name}.parquet", index=False)
    files = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    study = limited(classified(files, SMALL if large else USUAL, threshold=AT))
    assert {name: to.name for name, to in study.precision.items()} == {
        "a": "float32",
        "b": "float64",
    }
    for name in "ab":
        assert decided(study)[name] == expected(data[f"score_{name}"], data["label"])


def test_more_distinct_scores_than_bins_leave_the_threshold_exact():
    rng = np.random.default_rng(3)
    data = table("float32").assign(score_a=rng.random(600).astype("float32"))
    data.loc[:20, "score_a"] = np.float32(AT)
    study = classified(data, replace(SMALL, bins=64), threshold=AT)
    assert grid.pools_scores(study.measured.scores(0, 0, 0).bins).any()
    assert decided(study)["a"] == expected(data["score_a"], data["label"])


def test_the_page_says_which_precision_and_what_the_threshold_is_in_it():
    study = classification.read(table("float32"), threshold=AT)
    notes = classification_page.findings(study).text
    assert (
        "The scores of a are stored in single precision (float32), and the threshold is rounded to "
        "it, "
        "as numpy and pandas do: 0.7 becomes 0.699999988" in notes
    )
    assert (
        "score ≥ threshold, compared as the scores are stored: a in single"
        in classification_page.definitions(study).text
    )
    assert classification_page.results(study).results["precision"] == {
        "a": "float32",
        "b": "float64",
    }
    for exact in (0.5, "best_f1"):
        assert (
            "stored in"
            not in classification_page.findings(
                classification.read(table("float32"), threshold=exact)
            ).text
        )
    double = classification_page.definitions(
        classification.read(table("float64"), threshold=AT)
    ).text
    assert "compared in double precision (float64), as the scores are stored" in double


def test_a_threshold_that_half_precision_cannot_hold_decides_as_numpy_does():
    assert rules.rounded(1e6, rules.HALF) == np.inf
    assert rules.rounded(-1e6, rules.HALF) == -np.inf


@pytest.mark.parametrize("kind", KINDS)
def test_each_label_of_a_multi_label_table_is_compared_in_its_own_precision(kind):
    rng = np.random.default_rng(4)
    true = rng.integers(0, 2, (300, 2))
    score = np.clip(np.round(true * 0.3 + 0.8 * rng.random((300, 2)), 1), 0, 1)
    data = pd.DataFrame(
        {"y_u": true[:, 0], "y_v": true[:, 1], "p_u": score[:, 0].astype(kind), "p_v": score[:, 1]}
    )
    study = classification.read(data, threshold=AT)
    counted = study.by_label.set_index("label")
    for label in "uv":
        assert counted.loc[label, ["tp", "fp"]].to_dict() == expected(
            data[f"p_{label}"], data[f"y_{label}"]
        )
    notes, page = (
        classification_page.findings(study).text,
        classification_page.results(study).results,
    )
    assert ("The scores of p: u are stored in" in notes) is (kind != "float64")
    assert set(page["precision"].values()) == {kind, "float64"}


def test_parts_of_one_system_in_two_precisions_are_compared_in_the_wider():
    data = (
        table("float32")[["label", "score_a"]]
        .rename(columns={"score_a": "score"})
        .assign(system="s")
    )
    parts = sources.parts([data, data.astype({"score": "float64"})])
    assert [rules.precision_of(part, "score").name for part in parts] == ["float32", "float64"]
    assert classification.read([data, data.astype({"score": "float64"})]).precision == {
        "s": rules.DOUBLE
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("apart", [False, True], ids=["grades in the run", "judgements"])
def test_a_round_relevance_level_counts_the_grades_that_numpy_counts(tmp_path, kind, apart):
    rng = np.random.default_rng(6)
    run = pd.DataFrame(
        {
            "query": np.repeat(np.arange(20), 5),
            "item": np.tile(list("abcde"), 20),
            "score": rng.random(100),
        }
    )
    grade = np.round(rng.random(100), 1).astype(kind)
    qrels = run[["query", "item"]].assign(grade=grade)
    inputs = (run, qrels) if apart else (run.assign(grade=grade),)
    study = ranking.read(*inputs, metrics="precision@5", relevance_level=AT)
    assert study.estimates["value"].item() == pytest.approx(_mean(grade), abs=1e-12)


def _mean(grade):
    """Mean precision at 5 over the queries that have a relevant item."""
    hits = (grade >= AT).reshape(20, 5)
    return hits[hits.any(axis=1)].mean()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["frame", "parquet"])
def test_validation_counts_at_a_round_threshold_what_numpy_counts(tmp_path, kind, way):
    data = table(kind)[["label", "score_a"]].rename(columns={"score_a": "score"})
    data["fold"] = np.arange(len(data)) % 5
    accuracy = ((data["score"].to_numpy() >= AT) == data["label"].to_numpy()).mean()
    study = validation.read(
        data if way == "frame" else parquet(data, tmp_path), threshold=AT, metrics="accuracy"
    )
    assert study.estimate(study.primary, "score").value == pytest.approx(accuracy, abs=1e-12)
    assert ("0.7 becomes 0." in str(validation_page.findings(study))) == (kind != "float64")


SCHEMA = json.loads(
    (Path(__file__).parents[1] / "evalkit" / "schema.json").read_text(encoding="utf-8")
)


def scores(**more):
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, 60)
    return pd.DataFrame(
        {"label": label, "score": np.round(0.2 + 0.3 * label + 0.4 * rng.random(60), 3)} | more
    )


def forecasts(scale=1.0):
    rng = np.random.default_rng(3)
    actual = rng.random(50)
    return pd.DataFrame({"actual": actual, "forecast": actual + rng.normal(0, 0.1, 50)}) * scale


def valid(results):
    published = results._repr_mimebundle_()["application/vnd.evalkit+json"]
    jsonschema.validate(json.loads(json.dumps(published, allow_nan=False)), SCHEMA)
    return published


@pytest.mark.parametrize("large", [False, True], ids=["memory", "large"])
def test_a_threshold_outside_the_scores_is_told_in_plain_words(large):
    data = pd.concat([scores()] * 3)
    limits = SMALL if large else USUAL
    high = data["score"].max()
    low = data["score"].min()
    above = classification_page.findings(limited(classified(data, limits, threshold=50))).text
    assert (
        f"The threshold 50 is above every score of score, whose highest is {high:g}: nothing is "
        f"predicted" in above
    )
    below = classification_page.findings(limited(classified(data, limits, threshold=0.01))).text
    assert (
        f"0.01 is at or below every score of score, whose lowest is {low:g}: every row is "
        f"predicted positive" in below
    )
    inside = classification_page.findings(limited(classified(data, limits, threshold=0.5))).text
    assert "above every score" not in inside
    assert "at or below every score" not in inside


@pytest.mark.parametrize(
    "shift, given, told", [(-1, {}, True), (-1, {"threshold": 0}, False), (0, {}, False)]
)
def test_the_usual_threshold_on_scores_that_are_no_probabilities_is_told(shift, given, told):
    text = "usual threshold 0.5 is applied to scores that are not probabilities"
    data = scores(fold=np.arange(60) % 2)
    data["score"] += shift
    assert (text in validation_page.findings(validation.read(data, **given)).text) == told


def test_a_threshold_outside_the_scores_of_several_labels_is_told():
    data = pd.DataFrame({"y_a": [1, 0], "p_a": [0.9, 0.2], "y_b": [0, 1], "p_b": [0.3, 0.6]})
    assert (
        "above every score of p, whose highest is 0.9"
        in classification_page.findings(limited(classification.read(data, threshold=7))).text
    )


@pytest.mark.parametrize("large", [False, True], ids=["memory", "large"])
@pytest.mark.parametrize("value", [1e300, 1.7e308, 2e12])
def test_weights_whose_sums_are_not_exact_are_refused_and_never_wrapped(value, large):
    data = pd.concat([scores(weight=1.0)] * 3, ignore_index=True)
    data.loc[6, "weight"] = value
    with pytest.raises(
        InputError,
        match=r"weight must be at most 1e\+12, got .* \(row 7\); multiply all weights by the same",
    ):
        classified(data, SMALL if large else USUAL)


@pytest.mark.parametrize("scale", [1e-70, 1e20, 1e74])
def test_large_numbers_print_with_an_exponent_and_make_valid_json(scale):
    study = rating.read(forecasts(scale))
    words = (
        first_screen.verdict(study).html
        + rating_page.estimates(study).html
        + rating_page.tenths(study).html
    )
    assert max(map(len, words.replace("<", " ").replace(">", " ").split())) < 60
    valid(rating_page.results(study))


@pytest.mark.parametrize("factor", [1e-300, 1e12, 1e300])
def test_scores_of_any_size_make_valid_json(factor):
    data = scores()
    study = classification.read(data.assign(score=data["score"] * factor))
    published = valid(classification_page.results(study))
    assert published["estimates"][0]["value"] == pytest.approx(
        classification.read(data, metrics="roc_auc").estimates["value"].iloc[0], abs=1e-12
    )

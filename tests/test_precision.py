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
from evalkit.limits import USUAL_LIMITS
from evalkit.metrics import grid
from evalkit.pages import classification_page, first_screen, rating_page, validation_page
from evalkit.reading.tables import rules, sources
from evalkit.studies import classification, ranking, rating, validation

# 0.7 is 0.7001953 in half, 0.699999988 in single precision, and a score of 0.7 is rounded alike
THRESHOLD = 0.7
DTYPES = ("float16", "float32", "float64")


def table_with_scores_at_threshold(dtype, rows=600, seed=1):
    """Labels and scores of two systems with one decimal, so that many scores are 0.7: those of a
    with this dtype, those of b in double precision.
    """
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    a, b = (np.clip(np.round(label * 0.3 + 0.8 * rng.random(rows), 1), 0, 1) for _ in range(2))
    return pd.DataFrame({"label": label, "score_a": a.astype(dtype), "score_b": b})


def positives_by_numpy(scores, label):
    """How many true and false positives there are if numpy compares the scores with 0.7."""
    predicted = scores.to_numpy() >= THRESHOLD
    return {
        "tp": int((predicted & (label == 1)).sum()),
        "fp": int((predicted & (label == 0)).sum()),
    }


def positives_of_study(study):
    """The true and false positives by system."""
    return study.decisions.set_index("system")[["tp", "fp"]].to_dict("index")


def parquet(data, folder):
    """A Parquet file of the frame; pandas cannot write float16, Arrow can."""
    pa.parquet.write_table(pa.table(data), folder / "p.parquet")
    return str(folder / "p.parquet")


def csv(data, folder):
    data.to_csv(folder / "p.csv", index=False)
    return str(folder / "p.csv")


# functions from a frame and a folder to the same table in another form
INPUTS = {
    "pandas": lambda data, folder: data,
    "arrow": lambda data, folder: pa.table(data),
    "batches": lambda data, folder: iter(pa.table(data).to_batches()),
    "parquet": parquet,
}


IN_MEMORY_AND_LARGE = pytest.mark.parametrize(
    "limits", [USUAL_LIMITS, SMALL], ids=["read at once", "read by blocks"]
)


@IN_MEMORY_AND_LARGE
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", INPUTS)
def test_a_round_threshold_counts_what_numpy_counts(tmp_path, form, dtype, limits):
    """The table has the scores of the systems a and b with one decimal; 80 of 600 scores of a are
    0.7. Those of a are stored as `dtype`, in which 0.7 is rounded: single precision has
    0.699999988. The threshold 0.7 must be rounded alike, so that these rows are predicted
    positive, as by numpy. The table is given in several forms, such as an Arrow table or a Parquet
    file, and read at once or (with the limits SMALL) by blocks.
    """
    table = table_with_scores_at_threshold(dtype)
    preds = INPUTS[form](table, tmp_path)
    study = limited(classified(preds, limits, threshold=THRESHOLD))
    was_read_by_blocks = study.data is None
    assert was_read_by_blocks is (limits is SMALL)
    assert positives_of_study(study) == {
        "a": positives_by_numpy(table["score_a"], table["label"]),
        "b": positives_by_numpy(table["score_b"], table["label"]),
    }
    assert study.precision["a"].name == dtype
    accuracy = study.estimates.query("metric == 'accuracy' and system == 'a'")["value"].item()
    is_right = (table["score_a"].to_numpy() >= THRESHOLD) == table["label"]
    assert accuracy == pytest.approx(is_right.mean(), abs=1e-12)


def test_the_scores_of_a_csv_file_are_compared_in_double_precision(tmp_path):
    table = table_with_scores_at_threshold("float64")
    study = classification.read(csv(table, tmp_path), threshold=THRESHOLD)
    expected = positives_by_numpy(table["score_a"], table["label"])
    assert positives_of_study(study)["a"] == expected
    assert study.precision["a"] == rules.DOUBLE


@IN_MEMORY_AND_LARGE
def test_each_system_is_compared_in_the_precision_of_its_own_file(tmp_path, limits):
    """Two systems, a and b, have scores with one decimal, each in a file of its own: a in single, b
    in double precision. Many are 0.7, the threshold, which single precision rounds to 0.699999988.
    The threshold must be rounded to the precision of each file, so that the true and false
    positives are those of numpy. The files are read at once or by blocks (`limits`).
    """
    table = table_with_scores_at_threshold("float32")
    files = []
    for system in ("a", "b"):
        columns = {"label": table["label"], "score": table[f"score_{system}"]}
        rows = pd.DataFrame({"id": table.index.astype(str)} | columns)
        files.append(str(tmp_path / f"{system}.parquet"))
        rows.to_parquet(files[-1], index=False)
    study = limited(classified(files, limits, threshold=THRESHOLD))
    precisions = {system: precision.name for system, precision in study.precision.items()}
    assert precisions == {"a": "float32", "b": "float64"}
    assert positives_of_study(study) == {
        "a": positives_by_numpy(table["score_a"], table["label"]),
        "b": positives_by_numpy(table["score_b"], table["label"]),
    }


def test_more_distinct_scores_than_bins_leave_the_threshold_exact():
    """A table that is read by blocks has its scores counted in bins: here 600 distinct scores of a
    in 64 bins. A row in the bin of the threshold, 0.7, could fall on either side. The 21 scores
    that are exactly 0.7 show whether the counts at the threshold are exact nevertheless.
    """
    rng = np.random.default_rng(3)
    scores = rng.random(600).astype("float32")
    scores[:21] = np.float32(THRESHOLD)
    table = table_with_scores_at_threshold("float32").assign(score_a=scores)
    study = classified(table, replace(SMALL, bins=64), threshold=THRESHOLD)
    all_rows = system_a = only_class = 0  # places among the groups, the systems and the classes
    counted_scores_of_a = study.measured.scores(all_rows, system_a, only_class)
    assert grid.pools_scores(counted_scores_of_a.bins).any()  # some bin has several scores
    expected = positives_by_numpy(table["score_a"], table["label"])
    assert positives_of_study(study)["a"] == expected


def test_the_page_says_in_which_precision_scores_are_stored_and_compared():
    """Two systems score the same rows: a in single, b in double precision. The threshold is 0.7,
    which single precision rounds to 0.699999988. The findings on the page note this of a alone; its
    definitions and the published results have the precision of each system.
    """
    study = classification.read(table_with_scores_at_threshold("float32"), threshold=THRESHOLD)
    assert (
        "The scores of a are stored in single precision (float32), and the threshold is rounded to "
        "it, as numpy and pandas do: 0.7 becomes 0.699999988"
    ) in classification_page.findings(study).text
    definitions = classification_page.definitions(study).text
    assert "score ≥ threshold, compared as the scores are stored: a in single" in definitions
    precision = classification_page.results(study).results["precision"]
    assert precision == {"a": "float32", "b": "float64"}


@pytest.mark.parametrize("threshold", [0.5, "best_f1"])
def test_a_threshold_that_single_precision_holds_exactly_needs_no_note(threshold):
    """0.5 is a power of 2; the threshold with the best F1 is one of the scores."""
    study = classification.read(table_with_scores_at_threshold("float32"), threshold=threshold)
    assert "stored in" not in classification_page.findings(study).text


def test_the_page_says_that_all_scores_are_compared_in_double_precision():
    study = classification.read(table_with_scores_at_threshold("float64"), threshold=THRESHOLD)
    definitions = classification_page.definitions(study).text
    assert "compared in double precision (float64), as the scores are stored" in definitions


def test_a_threshold_beyond_half_precision_is_rounded_to_infinity_as_by_numpy():
    """The largest number of half precision is 65,504."""
    assert rules.rounded(1e6, rules.HALF) == np.inf
    assert rules.rounded(-1e6, rules.HALF) == -np.inf


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_label_of_a_multi_label_table_is_compared_in_its_own_precision(dtype):
    """A row has two labels, u and v, each true or not (y_u, y_v), and a score for each (p_u, p_v).
    The scores have one decimal, so that many are 0.7, the threshold; those of u are stored as
    `dtype`, those of v in double precision. The threshold must be rounded to the precision of each,
    as numpy does, and the page notes it for u unless u is in double precision too.
    """
    rng = np.random.default_rng(4)
    true = rng.integers(0, 2, (300, 2))
    score = np.clip(np.round(true * 0.3 + 0.8 * rng.random((300, 2)), 1), 0, 1)
    table = pd.DataFrame({"y_u": true[:, 0], "y_v": true[:, 1]})
    table["p_u"] = score[:, 0].astype(dtype)
    table["p_v"] = score[:, 1]
    study = classification.read(table, threshold=THRESHOLD)
    counted = study.by_label.set_index("label")[["tp", "fp"]].to_dict("index")
    assert counted == {
        "u": positives_by_numpy(table["p_u"], table["y_u"]),
        "v": positives_by_numpy(table["p_v"], table["y_v"]),
    }
    notes = classification_page.findings(study).text
    assert ("The scores of p: u are stored in" in notes) is (dtype != "float64")
    precision = classification_page.results(study).results["precision"]
    assert set(precision.values()) == {dtype, "float64"}


def test_parts_of_one_system_in_two_precisions_are_compared_in_the_wider():
    """The scores of system "s" come in two frames, the first in single and the second in double
    precision. Double precision holds both exactly.
    """
    table = table_with_scores_at_threshold("float32")
    single = pd.DataFrame({"label": table["label"], "score": table["score_a"], "system": "s"})
    double = single.astype({"score": "float64"})
    parts = sources.parts([single, double])
    assert [rules.precision_of(part, "score").name for part in parts] == ["float32", "float64"]
    assert classification.read([single, double]).precision == {"s": rules.DOUBLE}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("where", ["grades in the run", "judgements"])
def test_a_round_relevance_level_counts_the_grades_that_numpy_counts(where, dtype):
    """Each of 20 queries has 5 items, with grades of relevance in the run itself or in a table of
    judgements. An item is relevant from the grade 0.7 on. Grades have one decimal, and seven of 100
    are 0.7, which single and half precision round: the level must be rounded alike, as by numpy.
    Expected is the mean share of relevant items (precision at 5) over queries that have any.
    """
    rng = np.random.default_rng(6)
    run = pd.DataFrame(
        {
            "query": np.repeat(np.arange(20), 5),
            "item": np.tile(list("abcde"), 20),
            "score": rng.random(100),
        }
    )
    grade = np.round(rng.random(100), 1).astype(dtype)
    judgements = run[["query", "item"]].assign(grade=grade)
    inputs = (run, judgements) if where == "judgements" else (run.assign(grade=grade),)
    study = ranking.read(*inputs, metrics="precision@5", relevance_level=THRESHOLD)
    is_relevant = (grade >= THRESHOLD).reshape(20, 5)
    expected = is_relevant[is_relevant.any(axis=1)].mean()
    assert study.estimates["value"].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", ["pandas", "parquet"])
def test_validation_counts_at_a_round_threshold_what_numpy_counts(tmp_path, form, dtype):
    """Scores with one decimal are stored as `dtype` in five folds, given as a data frame or as a
    Parquet file. Many are 0.7, the threshold, which must be rounded as the scores are. Folds are of
    equal size, so that the mean of their accuracies is the share of rows that are right.
    """
    table = table_with_scores_at_threshold(dtype)
    folds = pd.DataFrame({"label": table["label"], "score": table["score_a"]})
    folds["fold"] = np.arange(len(folds)) % 5
    preds = INPUTS[form](folds, tmp_path)
    study = validation.read(preds, threshold=THRESHOLD, metrics="accuracy")
    is_right = (folds["score"].to_numpy() >= THRESHOLD) == folds["label"].to_numpy()
    accuracy = study.estimate(study.primary_metric, "score").value
    assert accuracy == pytest.approx(is_right.mean(), abs=1e-12)
    says_that_0_7_is_rounded = "0.7 becomes 0." in str(validation_page.findings(study))
    assert says_that_0_7_is_rounded == (dtype != "float64")


SCHEMA = json.loads(
    (Path(__file__).parents[1] / "evalkit" / "schema.json").read_text(encoding="utf-8")
)


def sixty_scores(**columns):
    """Labels and scores from 0.2 to 0.9 of 60 rows, with further columns."""
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, 60)
    score = np.round(0.2 + 0.3 * label + 0.4 * rng.random(60), 3)
    return pd.DataFrame({"label": label, "score": score} | columns)


def forecasts(scale=1.0):
    """Actual values from 0 to 1 and forecasts of them, all multiplied by the scale."""
    rng = np.random.default_rng(3)
    actual = rng.random(50)
    return pd.DataFrame({"actual": actual, "forecast": actual + rng.normal(0, 0.1, 50)}) * scale


def validated_json(results):
    """The results that a page publishes as JSON, which must have no NaN and fit the schema."""
    published = results._repr_mimebundle_()["application/vnd.evalkit+json"]
    jsonschema.validate(json.loads(json.dumps(published, allow_nan=False)), SCHEMA)
    return published


def findings_at_threshold(threshold, limits):
    """The findings on 180 rows with scores from 0.2 to 0.9."""
    table = pd.concat([sixty_scores()] * 3)
    study = limited(classified(table, limits, threshold=threshold))
    return classification_page.findings(study).text


@IN_MEMORY_AND_LARGE
def test_a_threshold_above_all_scores_is_noted(limits):
    high = sixty_scores()["score"].max()
    assert (
        f"The threshold 50 is above every score of score, whose highest is {high:g}: nothing is "
        "predicted"
    ) in findings_at_threshold(50, limits)


@IN_MEMORY_AND_LARGE
def test_a_threshold_below_all_scores_is_noted(limits):
    low = sixty_scores()["score"].min()
    assert (
        f"0.01 is at or below every score of score, whose lowest is {low:g}: every row is "
        "predicted positive"
    ) in findings_at_threshold(0.01, limits)


@IN_MEMORY_AND_LARGE
def test_a_threshold_between_the_scores_is_not_noted(limits):
    findings = findings_at_threshold(0.5, limits)
    assert "above every score" not in findings
    assert "at or below every score" not in findings


@pytest.mark.parametrize(
    ("shift", "parameters", "is_noted"),
    [(-1, {}, True), (-1, {"threshold": 0}, False), (0, {}, False)],
    ids=["scores below 0", "scores below 0, a named threshold", "probabilities"],
)
def test_the_usual_threshold_on_scores_that_are_not_probabilities_is_noted(
    shift, parameters, is_noted
):
    note = "usual threshold 0.5 is applied to scores that are not probabilities"
    table = sixty_scores(fold=np.arange(60) % 2)
    table["score"] += shift
    study = validation.read(table, **parameters)
    assert (note in validation_page.findings(study).text) == is_noted


def test_a_threshold_outside_the_scores_of_several_labels_is_told():
    data = pd.DataFrame({"y_a": [1, 0], "p_a": [0.9, 0.2], "y_b": [0, 1], "p_b": [0.3, 0.6]})
    assert (
        "above every score of p, whose highest is 0.9"
        in classification_page.findings(limited(classification.read(data, threshold=7))).text
    )


@IN_MEMORY_AND_LARGE
@pytest.mark.parametrize("weight", [1e300, 1.7e308, 2e12])
def test_weights_whose_sums_are_not_exact_are_refused_and_never_wrapped(weight, limits):
    """Sums of weights are exact up to weights of 1e12. One of 180 weights, in row 7, is larger: it
    is refused whether the table is read at once or by blocks; a sum with it would lose digits, or
    wrap around as an integer.
    """
    table = pd.concat([sixty_scores(weight=1.0)] * 3, ignore_index=True)
    seventh_row = 6
    table.loc[seventh_row, "weight"] = weight
    with pytest.raises(
        InputError,
        match=r"weight must be at most 1e\+12, got .* \(row 7\); multiply all weights by the same",
    ):
        classified(table, limits)


@pytest.mark.parametrize("scale", [1e-70, 1e20, 1e74])
def test_very_small_and_very_large_numbers_print_with_an_exponent(scale):
    """Actual values and forecasts of about 1 are multiplied by the scale. In full digits, numbers
    of about 1e-70 and 1e74 would be words of more than 70 characters; no word of the tables on the
    page, without tags, has 60.
    """
    study = rating.read(forecasts(scale))
    html = (
        first_screen.verdict(study).html
        + rating_page.estimates(study).html
        + rating_page.tenths(study).html
    )
    words = html.replace("<", " ").replace(">", " ").split()
    assert max(len(word) for word in words) < 60


@pytest.mark.parametrize("scale", [1e-70, 1e20, 1e74])
def test_very_small_and_very_large_numbers_make_valid_json(scale):
    validated_json(rating_page.results(rating.read(forecasts(scale))))


@pytest.mark.parametrize("factor", [1e-300, 1e12, 1e300])
def test_scores_of_any_size_make_valid_json(factor):
    """Scores are multiplied by a very small or large factor. The published results must have no NaN
    and fit the schema of the kit. Their AUC is that of the scores without the factor, since it
    depends on the order of scores alone.
    """
    table = sixty_scores()
    study = classification.read(table.assign(score=table["score"] * factor))
    published = validated_json(classification_page.results(study))
    auc = classification.read(table, metrics="roc_auc").estimates["value"].iloc[0]
    assert published["estimates"][0]["metric"] == "roc_auc"
    assert published["estimates"][0]["value"] == pytest.approx(auc, abs=1e-12)

"""The model's own decisions beside its scores, in the classification report on two classes."""

import numpy as np
import pandas as pd
import pytest
from whole_pages import published, told, whole

from evalkit.arrays import InputError, ParameterError
from evalkit.limits import USUAL, Limits, Reading
from evalkit.names import usual
from evalkit.pages import classification_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.statistics.intervals import wilson
from evalkit.studies import classification

BLOCKS = Limits(reading=Reading(rows=50, shard=50, largest=50))
METRICS = "accuracy,precision,recall,f1,roc_auc"


def decided(rows: int = 200, threshold: float = 0.3) -> pd.DataFrame:
    """Labels, scores, and the decisions of a model with a threshold of its own."""
    rng = np.random.default_rng(8)
    score = rng.random(rows).round(3)
    label = (rng.random(rows) < 0.6 * score).astype(int)
    own = (score >= threshold).astype(int)
    return pd.DataFrame({"id": range(rows), "label": label, "score": score, "predicted": own})


def values(frame: pd.DataFrame, **more) -> dict[str, float]:
    study = classification.read(frame, metrics=METRICS, **more)
    return study.estimates.set_index("metric")["value"].to_dict()


def right(frame: pd.DataFrame, own: pd.Series) -> dict[str, float]:
    hit = own == 1
    label = frame["label"] == 1
    precision = (hit & label).sum() / hit.sum()
    recall = (hit & label).sum() / label.sum()
    return {
        "accuracy": (hit == label).mean(),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall),
    }


@pytest.mark.parametrize("name", usual("decisions")["columns"])
def test_metrics_of_decisions_are_those_of_the_model(name):
    frame = decided()
    found = values(frame.rename(columns={"predicted": name}))
    expected = right(frame, frame["predicted"])
    assert {metric: found[metric] for metric in expected} == pytest.approx(expected)


def test_metrics_of_scores_do_not_move():
    frame = decided()
    assert values(frame)["roc_auc"] == values(frame.drop(columns="predicted"))["roc_auc"]


def test_the_interval_is_that_of_the_decisions():
    frame = decided()
    study = classification.read(frame, metrics="accuracy")
    interval = wilson(int((frame["predicted"] == frame["label"]).sum()), 200, level=0.95)
    row = study.estimates.iloc[0]
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))


def test_the_warning_counts_the_rows_that_the_threshold_decides_otherwise():
    frame = decided()
    rows = int(((frame["score"] >= 0.5) != frame["predicted"]).sum())
    study = classification.read(frame)
    (finding,) = (f for f in classification_page.every_finding(study) if f.kind.code == "EK327")
    assert (finding.severity, finding.count) == ("warning", rows)


def test_the_values_at_the_threshold_stand_beside():
    frame = decided()
    study = classification.read(frame, metrics=METRICS)
    beside = study.both_decisions.set_index("metric")["at_threshold"].to_dict()
    assert beside == pytest.approx(right(frame, frame["score"] >= 0.5))
    assert "beside those of the threshold" in classification_page.confusion(study).text


def test_the_table_of_metrics_names_whose_decisions_they_are():
    study = classification.read(decided())
    text = classification_page.estimates(study).text
    assert "those of decisions by the model's own decisions (predicted)" in text


def test_decisions_of_the_threshold_are_a_note():
    study = classification.read(decided(threshold=0.5))
    (finding,) = (f for f in classification_page.every_finding(study) if f.kind.code == "EK327")
    assert finding.severity == "note"


def test_a_threshold_that_is_set_decides_and_the_column_is_named():
    frame = decided()
    found = values(frame, threshold=0.4)
    assert found["accuracy"] == right(frame, frame["score"] >= 0.4)["accuracy"]
    assert "because `threshold` is set: predicted" in told(
        classification.read(frame, threshold=0.4)
    )


@pytest.mark.parametrize(
    "words", [{0: "no", 1: "yes"}, {0: "False", 1: "True"}, {0: 0.0, 1: 1.0}], ids=str
)
def test_decisions_are_read_as_labels_are(words):
    frame = decided()
    named = frame.assign(predicted=frame["predicted"].map(words))
    if words[1] == "yes":
        named = named.assign(label=frame["label"].map(words))
    more = {"positive": "yes"} if words[1] == "yes" else {}
    assert values(named, **more)["accuracy"] == right(frame, frame["predicted"])["accuracy"]


def test_each_system_of_a_long_table_has_its_own_decisions():
    one = decided()
    other = one.assign(predicted=(one["score"] >= 0.6).astype(int))
    both = pd.concat([one.assign(system="a"), other.assign(system="b")])
    study = classification.read(both, metrics="accuracy")
    found = study.estimates.set_index("system")["value"]
    assert found["b"] == right(one, other["predicted"])["accuracy"]


@pytest.mark.parametrize("system", ["a", "b"])
def test_each_system_of_a_wide_table_has_its_own_decisions(system):
    frame = decided().rename(columns={"score": "score_a", "predicted": "predicted_a"})
    frame = frame.assign(score_b=frame["score_a"], predicted_b=(frame["score_a"] >= 0.6) * 1)
    study = classification.read(frame, metrics="accuracy")
    found = study.estimates.set_index("system")["value"]
    assert found[system] == right(frame, frame[f"predicted_{system}"])["accuracy"]


def test_one_column_of_decisions_for_several_systems_is_named_and_not_used():
    frame = decided().rename(columns={"score": "score_a"}).assign(score_b=lambda d: d["score_a"])
    text = told(classification.read(frame))
    assert "Named as decisions, but not used" in text


def test_a_second_probability_is_no_decision():
    frame = decided().assign(predicted=lambda d: d["score"] / 2)
    study = classification.read(frame)
    assert study.decision_column == ""
    assert "EK327" not in told(study)


def test_other_words_are_named_and_not_used():
    frame = decided().assign(predicted=lambda d: d["predicted"].map({0: "bad", 1: "good"}))
    assert "each system needs a column that holds one of the two labels" in told(
        classification.read(frame)
    )


def test_blocks_name_the_column_that_they_do_not_read():
    p = ClassificationParameters.from_raw({"preds": decided()})
    study = classification.study_of(p, BLOCKS)
    assert "because the table is read in blocks: predicted" in told(study)


def test_confidence_beside_decisions_is_still_refused():
    frame = decided().assign(score=lambda d: 0.5 + d["score"] / 2)
    with pytest.raises(InputError, match="must be of the positive label"):
        classification.read(frame)


def test_slices_weights_and_units_follow_the_decisions():
    frame = decided().assign(weight=lambda d: 1 + d["id"] % 3, user=lambda d: d["id"] % 40)
    study = classification.read(frame, metrics="accuracy", unit="user")
    share = np.average(frame["predicted"] == frame["label"], weights=frame["weight"])
    assert study.estimates["value"].iloc[0] == pytest.approx(share)


def test_the_units_file_keeps_the_decisions():
    frame = decided()
    study = classification.study_of(ClassificationParameters.from_raw({"preds": frame}), USUAL)
    cut = study.decisions.iloc[0]
    assert cut["tp"] + cut["fp"] == frame["predicted"].sum()


def test_the_whole_page_and_its_results_can_be_made():
    study = classification.read(decided())
    text, _ = whole(study)
    assert "Decisions of the model (predicted)" in text
    assert published(study)["columns"]["predicted"] == "predicted"


def test_decisions_with_an_empty_cell_are_named_as_not_used():
    table = pd.DataFrame(
        {
            "label": [0, 1] * 20,
            "score": np.linspace(0, 1, 40),
            "predicted": [np.nan, 1.0] + [0.0, 1.0] * 19,
        }
    )
    study = classification.read(table, metrics="accuracy")
    assert study.unused_decisions == ("predicted",)


@pytest.mark.parametrize("cell", [None, "maybe"])
def test_a_named_column_of_decisions_is_refused_by_its_row(cell):
    frame = decided().astype({"predicted": object})
    frame.loc[5, "predicted"] = cell
    with pytest.raises(InputError, match=r"predicted must .*row 6|row 6: predicted must"):
        classification.read(frame, columns={"predicted": "predicted"})


def test_the_refusal_of_a_decision_names_the_labels():
    frame = decided().assign(own=lambda d: d["predicted"].map({0: "bad", 1: "good"}))
    with pytest.raises(InputError, match="own must be '0' or '1', got"):
        classification.read(frame, columns={"predicted": "own"})


def test_the_columns_of_several_systems_are_named():
    frame = decided().rename(columns={"score": "score_a", "predicted": "predicted_a"})
    frame = frame.assign(score_b=frame["score_a"], predicted_b=frame["predicted_a"])
    assert "use the decisions in predicted_a, predicted_b." in told(classification.read(frame))


def test_decisions_for_the_low_scores_are_a_warning():
    frame = decided().assign(predicted=lambda d: 1 - d["predicted"])
    study = classification.read(frame)
    (finding,) = (f for f in classification_page.every_finding(study) if f.kind.code == "EK329")
    assert finding.severity == "warning"


def test_decisions_for_the_high_scores_are_none():
    assert "EK329" not in told(classification.read(decided()))


def test_one_decision_for_all_rows_contradicts_no_score():
    assert "EK329" not in told(classification.read(decided().assign(predicted=1)))


def test_any_name_of_the_column_of_decisions_is_printed():
    name = "own | a=b #"
    frame = decided().rename(columns={"predicted": name})
    study = classification.read(frame, columns={"predicted": name})
    assert f"decisions in {name}" in classification_page.confusion(study).text


def test_a_column_of_decisions_that_is_not_there_is_refused_for_a_stated_kind_too():
    with pytest.raises(ParameterError, match="columns: predicted: data frame has no column 'nope'"):
        classification.read(decided(), kind="binary", columns="predicted=nope")

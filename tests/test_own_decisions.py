"""The model's own decisions beside its scores, in the classification report on two classes."""

import numpy as np
import pandas as pd
import pytest
from whole_pages import published, told as findings_text, whole

from evalkit.arrays import InputError, ParameterError
from evalkit.findings import kinds
from evalkit.limits import USUAL_LIMITS, Limits, ReadingLimits
from evalkit.names import usual
from evalkit.pages import classification_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.statistics.intervals import wilson
from evalkit.studies import classification

BLOCKS = Limits(reading=ReadingLimits(rows=50, shard=50, largest=50))
METRICS = "accuracy,precision,recall,f1,roc_auc"


def scores_with_decisions(rows: int = 200, threshold: float = 0.3) -> pd.DataFrame:
    """Labels, scores, and as `predicted` the decisions of the model by a threshold of its own."""
    rng = np.random.default_rng(8)
    score = rng.random(rows).round(3)
    label = (rng.random(rows) < 0.6 * score).astype(int)
    own = (score >= threshold).astype(int)
    return pd.DataFrame({"id": range(rows), "label": label, "score": score, "predicted": own})


def reported_values(frame: pd.DataFrame, **options) -> dict[str, float]:
    """The value of each of METRICS in the study of one system."""
    study = classification.read(frame, metrics=METRICS, **options)
    return study.estimates.set_index("metric")["value"].to_dict()


def values_of_decisions(frame: pd.DataFrame, decisions: pd.Series) -> dict[str, float]:
    """Accuracy, precision, recall and F1 of decisions of 0 or 1 against the labels."""
    predicted = decisions == 1
    label = frame["label"] == 1
    precision = (predicted & label).sum() / predicted.sum()
    recall = (predicted & label).sum() / label.sum()
    return {
        "accuracy": (predicted == label).mean(),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall),
    }


def finding_of_kind(study, kind):
    (finding,) = (
        finding
        for finding in classification_page.every_finding(study)
        if finding.kind.code == kind.code
    )
    return finding


@pytest.mark.parametrize("name", usual("decisions")["columns"])
def test_metrics_of_decisions_are_those_of_the_model(name):
    """The column of the model's own decisions may have any usual name, such as `predicted`.
    Accuracy, precision, recall and F1 are those of these decisions, not of a threshold.
    """
    frame = scores_with_decisions()
    values = reported_values(frame.rename(columns={"predicted": name}))
    expected = values_of_decisions(frame, frame["predicted"])
    assert {metric: values[metric] for metric in expected} == pytest.approx(expected)


def test_metrics_of_scores_do_not_depend_on_decisions():
    """The AUC is that of the scores, with or without a column of decisions."""
    frame = scores_with_decisions()
    without_decisions = reported_values(frame.drop(columns="predicted"))
    assert reported_values(frame)["roc_auc"] == without_decisions["roc_auc"]


def test_the_interval_is_that_of_the_decisions():
    """The interval of accuracy is Wilson's, of the number of right decisions in 200 rows."""
    frame = scores_with_decisions()
    study = classification.read(frame, metrics="accuracy")
    interval = wilson(int((frame["predicted"] == frame["label"]).sum()), 200, level=0.95)
    row = study.estimates.iloc[0]
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))


def test_the_warning_counts_the_rows_that_the_threshold_decides_otherwise():
    """The model's decisions have a threshold of 0.3, the usual one of the report is 0.5. The
    warning counts the rows between them.
    """
    frame = scores_with_decisions()
    n_different = int(((frame["score"] >= 0.5) != frame["predicted"]).sum())
    finding = finding_of_kind(classification.read(frame), kinds.OWN_DECISIONS)
    assert finding.severity == "warning"
    assert finding.count == n_different


def test_the_values_at_the_threshold_stand_beside_those_of_the_decisions():
    """The model decides by a threshold of 0.3. The study also has the metrics of the usual
    threshold, 0.5.
    """
    frame = scores_with_decisions()
    study = classification.read(frame, metrics=METRICS)
    at_threshold = study.both_decisions.set_index("metric")["at_threshold"].to_dict()
    assert at_threshold == pytest.approx(values_of_decisions(frame, frame["score"] >= 0.5))
    assert "beside those of the threshold" in classification_page.confusion(study).text


def test_the_table_of_metrics_names_whose_decisions_they_are():
    study = classification.read(scores_with_decisions())
    text = classification_page.estimates(study).text
    assert "those of decisions by the model's own decisions (predicted)" in text


def test_decisions_of_the_threshold_are_a_note():
    """The model decides by the report's usual threshold of 0.5, so that no row is decided
    otherwise.
    """
    finding = finding_of_kind(
        classification.read(scores_with_decisions(threshold=0.5)), kinds.OWN_DECISIONS
    )
    assert finding.severity == "note"


def test_a_threshold_that_is_set_decides_in_place_of_the_model():
    """The model's decisions have a threshold of 0.3, and the user sets 0.4. Metrics are those of
    0.4, and a finding names the column that is not used.
    """
    frame = scores_with_decisions()
    expected = values_of_decisions(frame, frame["score"] >= 0.4)
    assert reported_values(frame, threshold=0.4)["accuracy"] == expected["accuracy"]
    findings = findings_text(classification.read(frame, threshold=0.4))
    assert "because `threshold` is set: predicted" in findings


@pytest.mark.parametrize(
    "word", [{0: "False", 1: "True"}, {0: 0.0, 1: 1.0}], ids=["False, True", "0.0, 1.0"]
)
def test_decisions_can_be_written_otherwise_than_labels_of_0_and_1(word):
    """Labels are 0 and 1, and decisions are False and True, or 0.0 and 1.0."""
    frame = scores_with_decisions()
    rewritten = frame.assign(predicted=frame["predicted"].map(word))
    expected = values_of_decisions(frame, frame["predicted"])
    assert reported_values(rewritten)["accuracy"] == expected["accuracy"]


def test_decisions_can_have_the_words_of_the_labels():
    frame = scores_with_decisions()
    word = {0: "no", 1: "yes"}
    in_words = frame.assign(label=frame["label"].map(word), predicted=frame["predicted"].map(word))
    expected = values_of_decisions(frame, frame["predicted"])
    assert reported_values(in_words, positive="yes")["accuracy"] == expected["accuracy"]


def test_each_system_of_a_long_table_has_its_own_decisions():
    """System a decides by a threshold of 0.3, b by 0.6 of the same scores."""
    of_a = scores_with_decisions(threshold=0.3).assign(system="a")
    of_b = scores_with_decisions(threshold=0.6).assign(system="b")
    study = classification.read(pd.concat([of_a, of_b]), metrics="accuracy")
    accuracy = study.estimates.set_index("system")["value"]
    assert accuracy["b"] == values_of_decisions(of_b, of_b["predicted"])["accuracy"]


@pytest.mark.parametrize("system", ["a", "b"])
def test_each_system_of_a_wide_table_has_its_own_decisions(system):
    """Systems a and b have the same scores, but a decides by a threshold of 0.3 (as
    `scores_with_decisions` makes them) and b by 0.6, in a column each, predicted_a and predicted_b.
    The accuracy of each is that of its own decisions.
    """
    frame = scores_with_decisions().rename(columns={"score": "score_a", "predicted": "predicted_a"})
    decisions_of_b = (frame["score_a"] >= 0.6).astype(int)
    frame = frame.assign(score_b=frame["score_a"], predicted_b=decisions_of_b)
    study = classification.read(frame, metrics="accuracy")
    accuracy = study.estimates.set_index("system")["value"]
    expected = values_of_decisions(frame, frame[f"predicted_{system}"])
    assert accuracy[system] == expected["accuracy"]


def test_one_column_of_decisions_for_several_systems_is_named_and_not_used():
    """The table has scores of two systems, `score_a` and `score_b`, and one column `predicted`,
    which has the name of a column of decisions but cannot be of both. It is not used, and a finding
    says so.
    """
    frame = (
        scores_with_decisions()
        .rename(columns={"score": "score_a"})
        .assign(score_b=lambda table: table["score_a"])
    )
    text = findings_text(classification.read(frame))
    assert "Named as decisions, but not used" in text


def test_a_second_probability_is_no_decision():
    """The column `predicted` holds half of the score, which is a probability and no decision. It is
    not used.
    """
    frame = scores_with_decisions().assign(predicted=lambda table: table["score"] / 2)
    study = classification.read(frame)
    assert study.decision_column == ""
    assert kinds.OWN_DECISIONS.code not in findings_text(study)


def test_other_words_are_named_and_not_used():
    """Labels are 0 and 1, but decisions are the words bad and good, so that it is not known which
    word means 1. The column is not used, and a finding says what it needs.
    """
    frame = scores_with_decisions().assign(
        predicted=lambda table: table["predicted"].map({0: "bad", 1: "good"})
    )
    assert "each system needs a column that holds one of the two labels" in findings_text(
        classification.read(frame)
    )


def test_blocks_name_the_column_that_they_do_not_read():
    """A table that is read in blocks has the decisions of the threshold. A finding names the column
    of decisions that is not used.
    """
    p = ClassificationParameters.from_raw({"preds": scores_with_decisions()})
    study = classification.study_of(p, BLOCKS)
    assert "because the table is read in blocks: predicted" in findings_text(study)


def test_confidence_beside_decisions_is_still_refused():
    """Scores are all above 0.5, as if they were the confidence in the predicted class, not the
    probability of the positive label.
    """
    frame = scores_with_decisions().assign(score=lambda d: 0.5 + d["score"] / 2)
    with pytest.raises(InputError, match="must be of the positive label"):
        classification.read(frame)


def test_accuracy_of_decisions_is_weighted():
    """Rows have weights, and users of several rows. The accuracy is the weighted share of the
    decisions that are right.
    """
    frame = scores_with_decisions().assign(
        weight=lambda d: 1 + d["id"] % 3, user=lambda table: table["id"] % 40
    )
    study = classification.read(frame, metrics="accuracy", unit="user")
    share_of_right = np.average(frame["predicted"] == frame["label"], weights=frame["weight"])
    assert study.estimates["value"].iloc[0] == pytest.approx(share_of_right)


def test_the_counts_of_decisions_are_those_of_the_model():
    """The table of decisions has the counts of the model's own: true and false positives add up to
    the number of its positive decisions.
    """
    frame = scores_with_decisions()
    study = classification.study_of(
        ClassificationParameters.from_raw({"preds": frame}), USUAL_LIMITS
    )
    (decisions,) = study.decisions.to_dict("records")
    assert decisions["tp"] + decisions["fp"] == frame["predicted"].sum()


def test_the_whole_page_and_its_results_can_be_made():
    study = classification.read(scores_with_decisions())
    text, _ = whole(study)
    assert "Decisions of the model (predicted)" in text
    assert published(study)["columns"]["predicted"] == "predicted"


def test_decisions_with_an_empty_cell_are_named_as_not_used():
    """One of 40 cells of `predicted` is empty. Decisions of some rows only are not used, and the
    study names the column.
    """
    table = pd.DataFrame(
        {
            "label": [0, 1] * 20,
            "score": np.linspace(0, 1, 40),
            "predicted": [np.nan, 1.0] + [0.0, 1.0] * 19,  # one empty cell
        }
    )
    study = classification.read(table, metrics="accuracy")
    assert study.unused_decisions == ("predicted",)


@pytest.mark.parametrize("cell", [None, "maybe"])
def test_a_named_column_of_decisions_is_refused_by_its_row(cell):
    frame = scores_with_decisions().astype({"predicted": object})
    frame.loc[5, "predicted"] = cell
    with pytest.raises(InputError, match=r"predicted must .*row 6|row 6: predicted must"):
        classification.read(frame, columns={"predicted": "predicted"})


def test_the_refusal_of_a_decision_names_the_labels():
    frame = scores_with_decisions().assign(
        own=lambda table: table["predicted"].map({0: "bad", 1: "good"})
    )
    with pytest.raises(InputError, match="own must be '0' or '1', got"):
        classification.read(frame, columns={"predicted": "own"})


def test_the_columns_of_several_systems_are_named():
    frame = scores_with_decisions().rename(columns={"score": "score_a", "predicted": "predicted_a"})
    frame = frame.assign(score_b=frame["score_a"], predicted_b=frame["predicted_a"])
    assert "use the decisions in predicted_a, predicted_b." in findings_text(
        classification.read(frame)
    )


def test_decisions_for_the_low_scores_are_a_warning():
    """Decisions are reversed, so that low scores are predicted as positive."""
    frame = scores_with_decisions().assign(predicted=lambda d: 1 - d["predicted"])
    finding = finding_of_kind(classification.read(frame), kinds.REVERSED_DECISIONS)
    assert finding.severity == "warning"


def test_decisions_for_the_high_scores_are_not_reversed():
    assert kinds.REVERSED_DECISIONS.code not in findings_text(
        classification.read(scores_with_decisions())
    )


def test_idle_thresholds_rows_is_not_reversed():
    """All rows are predicted as positive, whatever their score."""
    study = classification.read(scores_with_decisions().assign(predicted=1))
    assert kinds.REVERSED_DECISIONS.code not in findings_text(study)


def test_any_name_of_the_column_of_decisions_is_printed():
    name = "own | a=b #"
    frame = scores_with_decisions().rename(columns={"predicted": name})
    study = classification.read(frame, columns={"predicted": name})
    assert f"decisions in {name}" in classification_page.confusion(study).text


def test_a_column_of_decisions_that_is_not_there_is_refused_for_a_stated_kind_too():
    with pytest.raises(ParameterError, match="columns: predicted: data frame has no column 'nope'"):
        classification.read(scores_with_decisions(), kind="binary", columns="predicted=nope")

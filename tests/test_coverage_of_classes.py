"""The share of rows whose predicted class reaches a precision: its value, limits, test, gate and
diff, where a class is near the target and where none is.
"""

import pandas as pd
import pytest

import evalkit as ek
from evalkit.statistics import proportions
from evalkit.statistics.intervals import wilson
from evalkit.studies import classification


def rows_by_predicted_class(right_of_all: dict[str, tuple[int, int]]) -> pd.DataFrame:
    """A table of label and predicted class. right_of_all: for each predicted class, how many of its
    rows are right, and how many rows it has. Each wrong row has the label "grey".
    """
    rows = [
        (predicted if i < right else "grey", predicted)
        for predicted, (right, total) in right_of_all.items()
        for i in range(total)
    ]
    return pd.DataFrame(rows, columns=["label", "predicted"]).assign(id=range(len(rows)))


# right rows and all rows of each predicted class. At a target precision of 0.9, coverage is the
# share of the 1,000 rows that are predicted red or green.
RED_AND_GREEN_CLEARLY_PRECISE = {
    "red": (290, 300),
    "green": (195, 200),
    "blue": (250, 500),
}  # 97%, 98% and 50% right
# green just reaches 0.9, and may not reach it in other rows: coverage is between 0.3 and 0.5
GREEN_BARELY_PRECISE = RED_AND_GREEN_CLEARLY_PRECISE | {"green": (181, 200)}  # 90.5% right


def test_coverage_of_a_precision_is_the_share_of_the_classes_that_reach_it():
    """The predictions of 1,000 rows include 300 red and 200 green, of which 97 % and 98 % are
    right: both classes reach a precision of 0.9, and none reaches 0.99.
    """
    study = classification.read(
        rows_by_predicted_class(RED_AND_GREEN_CLEARLY_PRECISE), metrics="coverage@0.9,coverage@0.99"
    )
    assert study.estimates["value"].tolist() == [0.5, 0]


def test_coverage_has_the_limits_of_the_share_where_no_class_is_near_the_target():
    """The predictions of 1,000 rows are 300 red, 200 green and 500 blue, of which 97 %, 98 % and 50
    % are right. At a target precision of 0.9 coverage is the share predicted red or green, 500 of
    1,000. As no precision is near 0.9, its interval is that of a share, Wilson's.
    """
    table = rows_by_predicted_class(RED_AND_GREEN_CLEARLY_PRECISE)
    row = classification.read(table, metrics="coverage@0.9").estimates.iloc[0]
    share = wilson(500, 1000)
    assert [row["low"], row["high"]] == pytest.approx([share.low, share.high])


def test_coverage_has_limits_with_and_without_a_class_near_the_target():
    """The predictions of 1,000 rows include 300 red, of which 97 % are right, and 200 green, of
    which 181 are, 90.5 %: barely the target precision of 0.9. Coverage is 0.5. As green may miss
    the target in other rows, the lower limit is that of red alone, 300 of 1,000.
    """
    table = rows_by_predicted_class(GREEN_BARELY_PRECISE)
    row = classification.read(table, metrics="coverage@0.9").estimates.iloc[0]
    assert [row["value"], row["low"], row["high"]] == pytest.approx(
        [0.5, wilson(300, 1000).low, wilson(500, 1000).high]
    )


def test_coverage_of_a_precision_of_1_is_of_classes_without_a_mistake():
    table = rows_by_predicted_class({"red": (30, 30), "blue": (60, 70)})
    row = classification.read(table, metrics="coverage@1").estimates.iloc[0]
    assert [row["value"], row["low"]] == [0.3, 0]  # 30 right of 30 do not show that all are


def rows_of_two_systems(second: dict[str, tuple[int, int]]) -> pd.DataFrame:
    """Rows of system a with the classes of RED_AND_GREEN_CLEARLY_PRECISE, and the same rows, with
    the same labels, of a system b that predicts the classes of `second`.
    """
    first = rows_by_predicted_class(RED_AND_GREEN_CLEARLY_PRECISE)
    other = rows_by_predicted_class(second)
    other["label"] = first["label"]
    return pd.concat([first.assign(system="a"), other.assign(system="b")])


def test_coverages_differ_by_the_test_of_the_shares_where_no_class_is_near_the_target():
    """System a predicts 300 of 1,000 rows as red and 200 as green, whose precision is clearly above
    0.9: these rows are covered. System b predicts blue in 100 of the green rows, and the same
    elsewhere. Those 100 are covered by a alone, and none by b alone, which is all that McNemar's
    test asks for.
    """
    # how many rows of each class are right, and how many rows b predicts as this class: 0 are
    # right, which has no effect, as the labels are those of the table of a
    predictions_of_b = {"red": (0, 300), "green": (0, 100), "blue": (0, 600)}
    study = classification.read(rows_of_two_systems(predictions_of_b), metrics="coverage@0.9")
    row = study.comparisons.iloc[0]
    only_a, only_b, rows = 100, 0, 1000
    expected = proportions.mcnemar_asymptotic(only_a, only_b, rows)
    assert row["difference"] == pytest.approx(0.1)
    assert row["p"] < 0.01
    assert [row["low"], row["high"]] == pytest.approx(
        [expected.difference.low, expected.difference.high]
    )


def test_a_gate_on_coverage_takes_its_lower_limit():
    """coverage@0.9 is the share of rows whose predicted class has a precision of at least 0.9. Of
    1,000 rows, 300 are predicted red, of which 97 % are right, and 200 green, of which 90.5 % are:
    coverage is 0.5. In other rows green may miss the target, so that the lower limit is that of red
    alone, Wilson's of 300 / 1,000, 0.27. It fulfils a gate with the bound 0.25, not 0.4.
    """
    table = rows_by_predicted_class(GREEN_BARELY_PRECISE)
    for least, passed in ((0.25, True), (0.4, False)):
        study = classification.read(
            table, metrics="coverage@0.9", gate=f"coverage@0.9.low >= {least}"
        )
        assert study.gate.passed is passed


def test_a_diff_of_other_rows_allows_for_a_class_near_the_target(tmp_path):
    """coverage@0.9 is the share of rows whose predicted class has a precision of at least 0.9. In
    both reports, of different rows, 300 of 1,000 rows are predicted red, of which 97 % are right,
    and 200 green: coverage is 0.5. In the old report 98 % of green are right, in the new one 90.5
    %: there green may turn out to miss the target, which would make coverage 0.2 lower. Besides,
    the shares vary by chance, so that the interval of the difference must reach below −0.2.
    """
    old = rows_by_predicted_class(RED_AND_GREEN_CLEARLY_PRECISE)
    new = rows_by_predicted_class(GREEN_BARELY_PRECISE)
    new["id"] += 5000  # ids begin at 0: no row in common
    for name, table in (("old", old), ("new", new)):
        study = classification.read(table, metrics="coverage@0.9")
        study.save(tmp_path / f"{name}.units.parquet")
    study = ek.diff(tmp_path / "old.units.parquet", tmp_path / "new.units.parquet")
    (lower_limit,) = study.comparisons["low"]
    assert lower_limit < -0.2


def test_a_diff_of_the_same_predictions_does_not_move_with_a_class_near_the_target(tmp_path):
    table = rows_by_predicted_class(GREEN_BARELY_PRECISE)
    classification.read(table, metrics="coverage@0.9").save(tmp_path / "a.units.parquet")
    row = ek.diff(tmp_path / "a.units.parquet", tmp_path / "a.units.parquet").comparisons
    assert abs(row["low"].item()) < 0.01


def test_the_table_of_coverage_has_the_limits_of_the_metric():
    table = rows_by_predicted_class(GREEN_BARELY_PRECISE)
    study = classification.read(table, metrics="accuracy,coverage@0.9", precision_target=0.9)
    metric = study.estimates.query("metric == 'coverage@0.9'")[["value", "low", "high"]]
    assert study.covered[["coverage", "low", "high"]].to_numpy().tolist() == metric.values.tolist()

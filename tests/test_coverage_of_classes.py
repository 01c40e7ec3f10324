"""The share of rows whose predicted class reaches a precision: its value, limits, test, gate and
diff, where a class is near the target and where none is.
"""

import pandas as pd
import pytest

import evalkit as ek
from evalkit.statistics import proportions
from evalkit.statistics.intervals import wilson
from evalkit.studies import classification


def decided(right: dict[str, tuple[int, int]], others: str) -> pd.DataFrame:
    """Rows by predicted class, of which `right` has the number that are right and of all; the
    wrong ones are of the class `others`.
    """
    rows = [
        (others if i >= hits else name, name)
        for name, (hits, total) in right.items()
        for i in range(total)
    ]
    return pd.DataFrame(rows, columns=["label", "predicted"]).assign(id=range(len(rows)))


CLEAR = {"red": (290, 300), "green": (195, 200), "blue": (250, 500)}  # 97%, 98% and 50% right


def test_coverage_of_a_precision_is_the_share_of_the_classes_that_reach_it():
    study = classification.read(decided(CLEAR, "grey"), metrics="coverage@0.9,coverage@0.99")
    assert study.estimates["value"].tolist() == [0.5, 0]


def test_coverage_has_the_limits_of_the_share_where_no_class_is_near_the_target():
    row = classification.read(decided(CLEAR, "grey"), metrics="coverage@0.9").estimates.iloc[0]
    assert [row["low"], row["high"]] == pytest.approx(
        [wilson(500, 1000).low, wilson(500, 1000).high]
    )


def test_coverage_has_limits_with_and_without_a_class_near_the_target():
    table = decided(CLEAR | {"green": (181, 200)}, "grey")  # 90.5% right
    row = classification.read(table, metrics="coverage@0.9").estimates.iloc[0]
    assert [row["value"], row["low"], row["high"]] == pytest.approx(
        [0.5, wilson(300, 1000).low, wilson(500, 1000).high]
    )


def test_coverage_of_a_precision_of_1_is_of_classes_without_a_mistake():
    table = decided({"red": (30, 30), "blue": (60, 70)}, "grey")
    row = classification.read(table, metrics="coverage@1").estimates.iloc[0]
    assert [row["value"], row["low"]] == [0.3, 0]  # 30 right of 30 do not show that all are


def two_decided(second: dict[str, tuple[int, int]]) -> pd.DataFrame:
    """The clear classes by system a, and those of another system on the same rows."""
    first = decided(CLEAR, "grey")
    other = decided(second, "grey")
    other["label"] = first["label"]
    return pd.concat([first.assign(system="a"), other.assign(system="b")])


def test_coverages_differ_by_the_test_of_the_shares_where_no_class_is_near_the_target():
    second = {"red": (0, 300), "green": (0, 100), "blue": (0, 600)}  # green for blue in 100 rows
    study = classification.read(two_decided(second), metrics="coverage@0.9")
    row = study.comparisons.iloc[0]
    expected = proportions.mcnemar_asymptotic(100, 0, 1000)
    assert row["difference"] == pytest.approx(0.1)
    assert row["p"] < 0.01
    assert [row["low"], row["high"]] == pytest.approx(
        [expected.difference.low, expected.difference.high]
    )


def test_a_gate_on_coverage_takes_its_lower_limit():
    table = decided(CLEAR | {"green": (181, 200)}, "grey")
    for least, passed in ((0.25, True), (0.4, False)):
        study = classification.read(
            table, metrics="coverage@0.9", gate=f"coverage@0.9.low >= {least}"
        )
        assert study.gate.passed is passed


def test_a_diff_of_other_rows_allows_for_a_class_near_the_target(tmp_path):
    near = decided(CLEAR | {"green": (181, 200)}, "grey")
    for name, table in (("old", decided(CLEAR, "grey")), ("new", near.assign(id=near.id + 5000))):
        study = classification.read(table, metrics="coverage@0.9")
        study.save(tmp_path / f"{name}.units.parquet")
    row = ek.diff(*(tmp_path / f"{name}.units.parquet" for name in ("old", "new"))).comparisons
    assert row["low"].item() < -0.2  # without the 200 rows of the class


def test_a_diff_of_the_same_predictions_does_not_move_with_a_class_near_the_target(tmp_path):
    table = decided(CLEAR | {"green": (181, 200)}, "grey")
    classification.read(table, metrics="coverage@0.9").save(tmp_path / "a.units.parquet")
    row = ek.diff(tmp_path / "a.units.parquet", tmp_path / "a.units.parquet").comparisons
    assert abs(row["low"].item()) < 0.01


def test_the_table_of_coverage_has_the_limits_of_the_metric():
    table = decided(CLEAR | {"green": (181, 200)}, "grey")
    study = classification.read(table, metrics="accuracy,coverage@0.9", precision_target=0.9)
    metric = study.estimates.query("metric == 'coverage@0.9'")[["value", "low", "high"]]
    assert study.covered[["coverage", "low", "high"]].to_numpy().tolist() == metric.values.tolist()

"""What looks like a difference and is none, and the other way round: rounding, weights, values that
nothing moves.
"""

import numpy as np
import pandas as pd
import pytest

from evalkit.studies import classification, rating, significance


def verdicts(study) -> dict[str, str]:
    return dict(study.comparisons[["metric", "verdict"]].to_numpy())


def left_out(**columns: object) -> pd.DataFrame:
    """Forecasts of 80 rows, the hardest 20 of which a has no Poisson deviance of, as it forecasts
    0.
    """
    rng = np.random.default_rng(7)
    actual = rng.gamma(2, 5, 80)
    hard = np.arange(80) < 20
    a, b = actual * np.exp(rng.normal(0, 0.3, (2, 80)))
    forecasts = {"forecast_a": np.where(hard, 0, a), "forecast_b": np.where(hard, 4 * b, b)}
    return pd.DataFrame({"actual": actual} | forecasts | columns)


@pytest.mark.parametrize("weight", [1.0, 2.0])
@pytest.mark.parametrize("given", [{}, {"unit": "user"}])
def test_weights_that_are_equal_change_no_difference_of_rows_that_both_have(weight, given):
    table = left_out(user=np.arange(80) // 2)
    plain, weighted = (
        rating.read(t, metrics="poisson_deviance", **given)
        for t in (table, table.assign(weight=weight))
    )
    ours, same = (study.comparisons.iloc[0] for study in (weighted, plain))
    assert [*ours[["difference", "n"]]] == pytest.approx([*same[["difference", "n"]]])
    assert ours["p"] == pytest.approx(same["p"], rel=0.3)


@pytest.mark.parametrize(
    ("read", "metrics"),
    [
        (rating.read, "mae,rmse,r2,median_absolute_error"),
        (classification.read, "roc_auc,brier,accuracy,recall"),
    ],
)
def test_a_row_with_most_of_the_weight_leaves_no_interval_and_no_test(read, metrics):
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 60)
    names = (
        ("label", "score_a", "score_b")
        if read is classification.read
        else ("actual", "forecast_a", "forecast_b")
    )
    table = pd.DataFrame(dict(zip(names, (truth, *rng.random((2, 60))), strict=True)))
    if read is rating.read:
        table["actual"] *= 2  # 0 and 1 beside probabilities are classes
    heavy = read(
        table.assign(weight=np.where(np.arange(60) == truth.argmax(), 1e4, 1.0)), metrics=metrics
    )
    assert heavy.comparisons["p"].isna().all()
    assert heavy.estimates[["low", "high"]].isna().all(axis=None)
    assert "have most of the weight" in heavy.summary().text
    assert read(table.assign(weight=1.0), metrics=metrics).comparisons["p"].notna().all()


def test_values_that_differ_by_rounding_are_equal():
    rng = np.random.default_rng(3)
    values = rng.random(30).round(1)
    up = {"a": np.nextafter(values, 2), "b": values}
    assert verdicts(significance.read(up)) == {"value": "cannot tell"}
    assert verdicts(
        significance.read(pd.DataFrame(up | {"user": np.arange(30) // 2}), unit="user")
    ) == {"value": "cannot tell"}
    actual = rng.random(40).round(1) * 5
    forecast = actual + rng.normal(size=40).round(1)
    table = pd.DataFrame(
        {"actual": actual, "forecast_a": np.nextafter(forecast, 9), "forecast_b": forecast}
    )
    assert set(verdicts(rating.read(table, metrics="mae,wape,pinball@90")).values()) == {
        "cannot tell"
    }
    off = pd.DataFrame({"actual": np.arange(30) * 0.1, "forecast": np.arange(30) * 0.1 + 0.3})
    assert (
        rating.read(off, metrics="mae,rmse,bias").estimates[["low", "high"]].isna().all(axis=None)
    )


@pytest.mark.parametrize("other", [0.35, "reversed"])
def test_two_values_that_no_row_moves_are_told_apart_by_their_intervals(other):
    rng = np.random.default_rng(4)
    label = (rng.random(160) < 0.35).astype(int)
    new = np.where(label == 1, 0.6 + 0.3 * rng.random(160), 0.4 * rng.random(160))
    old = 1 - new if other == "reversed" else other
    table = pd.DataFrame({"label": label, "score_new": new, "score_old": old})
    # named, as scores that sum to 1 could be those of the two classes of one system
    study = classification.read(table, metrics="roc_auc,partial_auc_mcclish_10", systems="new,old")
    assert verdicts(study) == {"roc_auc": "better", "partial_auc_mcclish_10": "better"}
    row = study.comparisons.iloc[0]
    one, two = (
        study.estimates[study.estimates["system"] == name].iloc[0] for name in ("new", "old")
    )
    gap = np.hypot(one["value"] - one["low"], two["high"] - two["value"])
    assert row["low"] == pytest.approx(row["difference"] - gap)
    assert row["method"] == "MOVER"

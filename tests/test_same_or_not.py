"""What looks like a difference and is none, and the other way round: rounding, weights, values that
nothing moves.
"""

import numpy as np
import pandas as pd
import pytest

from evalkit.studies import classification, rating, significance

RNG = np.random.default_rng(1)
LABEL = RNG.integers(0, 2, 60)
A, B = RNG.random((2, 60))  # predictions that do not depend on the label
OF_FORECASTS = "mae,rmse,r2,median_absolute_error"
OF_SCORES = "roc_auc,brier,accuracy,recall"


def verdicts(study) -> dict[str, str]:
    return dict(study.comparisons[["metric", "verdict"]].to_numpy())


def forecasts_with_undefined_deviance(**columns: object) -> pd.DataFrame:
    """Forecasts of the systems a and b for 80 rows. For the first 20 a forecasts 0, so that its
    Poisson deviance is undefined there, and b is far off.
    """
    rng = np.random.default_rng(7)
    actual = rng.gamma(2, 5, 80)
    hard = np.arange(80) < 20
    a, b = actual * np.exp(rng.normal(0, 0.3, (2, 80)))
    forecasts = {"forecast_a": np.where(hard, 0, a), "forecast_b": np.where(hard, 4 * b, b)}
    return pd.DataFrame({"actual": actual} | forecasts | columns)


@pytest.mark.parametrize("weight", [1.0, 2.0])
@pytest.mark.parametrize("unit", [None, "user"], ids=["rows", "users"])
def test_equal_weights_change_no_difference(weight, unit):
    """80 rows have forecasts of two systems, and the same weight or none. The Poisson deviance of
    one system is undefined on 20 rows: with and without weights, only the 60 rows where both
    systems have one are compared. The difference is the same. Without weights p comes from sign
    flips, with weights from the delta method, so that the two p-values are only about the same:
    0.33 and 0.31 by row, 0.32 and 0.30 by user.
    """
    table = forecasts_with_undefined_deviance(user=np.arange(80) // 2)
    options = {"metrics": "poisson_deviance", "unit": unit}
    (unweighted,) = rating.read(table, **options).comparisons.to_dict("records")
    table_with_weights = table.assign(weight=weight)
    (weighted,) = rating.read(table_with_weights, **options).comparisons.to_dict("records")
    assert weighted["difference"] == pytest.approx(unweighted["difference"])
    assert weighted["n"] == unweighted["n"]
    assert weighted["p"] == pytest.approx(unweighted["p"], rel=0.3)


@pytest.mark.parametrize(
    ("read_study", "truth_and_predictions", "metrics"),
    [
        # 0 and 2, as 0 and 1 beside probabilities would be classes
        (rating.read, {"actual": 2 * LABEL, "forecast_a": A, "forecast_b": B}, OF_FORECASTS),
        (classification.read, {"label": LABEL, "score_a": A, "score_b": B}, OF_SCORES),
    ],
    ids=["rating", "classification"],
)
def test_a_row_with_most_of_the_weight_leaves_no_interval_and_no_test(
    read_study, truth_and_predictions, metrics
):
    """`read_study` makes a rating or a classification study of 60 rows. One row has a weight of
    10,000, each other row 1. The weighted values then depend on this row alone, and how much they
    vary cannot be estimated: all intervals and p-values are missing. With equal weights the same
    comparisons have p-values.
    """
    table = pd.DataFrame(truth_and_predictions)
    weight = np.ones(60)
    first_positive = LABEL.argmax()
    weight[first_positive] = 10_000
    study = read_study(table.assign(weight=weight), metrics=metrics)
    assert study.comparisons["p"].isna().all()
    assert study.estimates[["low", "high"]].isna().all(axis=None)
    assert "have most of the weight" in study.summary().text
    with_equal_weights = read_study(table.assign(weight=1.0), metrics=metrics)
    assert with_equal_weights.comparisons["p"].notna().all()


@pytest.mark.parametrize("parameters", [{}, {"unit": "user"}], ids=["rows", "users"])
def test_values_that_differ_by_rounding_are_equal(parameters):
    """Each value of system a is the next larger floating-point number to that of b, on 30 rows or
    on two rows of each of 15 users. Such rounding errors are no difference, so that the verdict
    does not prefer a.
    """
    b = np.random.default_rng(3).random(30).round(1)
    table = pd.DataFrame({"a": np.nextafter(b, 2), "b": b})
    if parameters:
        table["user"] = np.arange(30) // 2
    assert verdicts(significance.read(table, **parameters)) == {"value": "cannot tell"}


def test_forecasts_that_differ_by_rounding_are_equal():
    """Each forecast of system a is the next larger floating-point number to that of b. The metrics
    of the two systems differ by such rounding errors alone and count as equal, so that no verdict
    prefers a system.
    """
    rng = np.random.default_rng(3)
    actual = rng.random(40).round(1) * 5
    forecast = actual + rng.normal(size=40).round(1)
    table = pd.DataFrame(
        {"actual": actual, "forecast_a": np.nextafter(forecast, 9), "forecast_b": forecast}
    )
    study = rating.read(table, metrics="mae,wape,pinball@90")
    assert set(verdicts(study).values()) == {"cannot tell"}


def test_errors_that_differ_by_rounding_have_no_interval():
    """Each of 30 forecasts is 0.3 above the actual value, but for rounding. So the errors do not
    vary, and an interval of their mean would have no width: there is none.
    """
    actual = np.arange(30) * 0.1
    table = pd.DataFrame({"actual": actual, "forecast": actual + 0.3})
    study = rating.read(table, metrics="mae,rmse,bias")
    assert study.estimates[["low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize("old", ["a constant", "reversed"])
def test_a_perfect_order_is_compared_with_a_constant_or_reversed_one_by_mover(old):
    """The scores of the system new separate the classes perfectly; those of old are a constant or
    the reverse of new's. The AUC of new is 1, that of old 1/2 or 0, whichever row is left out, so
    that the difference of the two has a standard error of 0. Its interval is therefore combined
    from the intervals of both values by MOVER (Zou and Donner 2008). The lower limit is
    difference − √((new − low of new)² + (high of old − old)²).
    """
    rng = np.random.default_rng(4)
    label = (rng.random(160) < 0.35).astype(int)
    perfect = np.where(label == 1, 0.6 + 0.3 * rng.random(160), 0.4 * rng.random(160))
    score_old = {"a constant": 0.35, "reversed": 1 - perfect}[old]
    table = pd.DataFrame({"label": label, "score_new": perfect, "score_old": score_old})
    # systems are named, as two scores that sum to 1 could be those of the classes of one system
    study = classification.read(table, metrics="roc_auc,partial_auc_mcclish_10", systems="new,old")
    assert verdicts(study) == {"roc_auc": "better", "partial_auc_mcclish_10": "better"}
    auc = study.estimates.query("metric == 'roc_auc'").set_index("system")
    below_new = auc.loc["new", "value"] - auc.loc["new", "low"]
    above_old = auc.loc["old", "high"] - auc.loc["old", "value"]
    comparison = study.comparisons.set_index("metric").loc["roc_auc"]
    expected_low = comparison["difference"] - np.hypot(below_new, above_old)
    assert comparison["low"] == pytest.approx(expected_low)
    assert comparison["method"] == "MOVER"

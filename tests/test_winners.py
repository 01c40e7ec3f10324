"""The best or worst of given slices: which differ from the rest, and what being picked costs."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.limits import Limits, ReadingLimits
from evalkit.pages import as_json, page
from evalkit.parameters.reports import RatingParameters
from evalkit.statistics.winners import against_rest, highest, picked_p
from evalkit.studies import rating

ROOT = Path(__file__).parents[1]
TEN = np.linspace(-1.0, 1.0, 10)


def credit_study(**parameters: Any) -> Any:
    """The study of logistic regression and forest on the applicants for credit, sliced by age."""
    path = ROOT / "data/german_credit/predictions.csv"
    asked = {"segments": "age_band", "metrics": "accuracy", "systems": "logistic,forest"}
    return ek.classification(path, **asked | parameters)


def test_the_best_p_of_23_subsets_is_corrected_as_published() -> None:
    """1 − (1 − p)²³ of two trials: 0.009 becomes 0.188, 0.00049 becomes 0.011."""
    assert picked_p([0.009, 0.00049], 23).round(3).tolist() == [0.188, 0.011]


def test_max_t_over_equal_slices_is_close_to_sidak() -> None:
    """Which takes them as independent; max-t is drawn, too."""
    values = [1.0, *np.zeros(17)]
    compared = against_rest(values, np.full(18, 0.3), np.ones(18), rng=np.random.default_rng(1))
    p = 2 * norm.sf(1.0 / compared.error[0])
    assert compared.adjusted[0] == pytest.approx(float(picked_p(p, 18)), rel=0.1)


def test_the_rest_is_the_mean_of_the_others_by_weight() -> None:
    """(2 + 3 · 4) / 4, (1 + 3 · 4) / 4 and (1 + 2) / 2."""
    compared = against_rest([1.0, 2.0, 4.0], [1] * 3, [1, 1, 3], rng=np.random.default_rng(1))
    assert compared.rest.tolist() == [3.5, 3.25, 1.5]


def test_slices_that_happen_to_have_few_errors_are_not_found_too_often() -> None:
    """Eighteen slices of 50 rows all have a true accuracy of 0.9, so that each slice that differs
    significantly from the rest is a false alarm. Adjusted for all slices, at most 5 % of 100 runs
    may have one; two standard errors of this share are allowed above.
    """
    rng = np.random.default_rng(3)
    runs = 100
    alarms = 0
    for _ in range(runs):
        shares = rng.binomial(50, 0.9, 18) / 50
        errors = np.sqrt(shares * (1 - shares) / 50)
        compared = against_rest(shares, errors, np.full(18, 50), rng=rng)  # weighted by rows
        alarms += bool((compared.adjusted <= 0.05).any())
    assert alarms / runs <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


def test_one_slice_cannot_be_compared() -> None:
    with pytest.raises(ek.InputError, match="at least two"):
        against_rest([1.0], [1.0], [1.0], rng=np.random.default_rng(1))


@cache
def estimates_of_the_highest(means: tuple[float, ...]) -> pd.DataFrame:
    """The estimate of the highest of ten values, and the true one, in 200 samples."""
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(200):
        values = rng.normal(means, 1.0)
        e = highest(values, np.ones(10), units=np.full(10, 1e6))
        true_value = means[values.argmax()]
        rows.append({"value": e.value, "low": e.low, "high": e.high, "true": true_value})
    return pd.DataFrame(rows)


EQUAL = (0.0,) * 10
for_equal_spread_and_one_higher_means = pytest.mark.parametrize(
    "means", [EQUAL, tuple(TEN), (3.0, *EQUAL[1:])], ids=["equal", "apart", "one higher"]
)


@for_equal_spread_and_one_higher_means
def test_the_value_of_the_highest_is_median_unbiased(means: tuple[float, ...]) -> None:
    """Too high in half of 200 samples, to 3.4 standard errors of 3.5 points."""
    estimates = estimates_of_the_highest(means)
    too_high = (estimates["value"] > estimates["true"]).mean()
    assert 0.38 <= too_high <= 0.62


@for_equal_spread_and_one_higher_means
def test_the_interval_of_the_highest_covers_its_true_value(means: tuple[float, ...]) -> None:
    """In 95 % of 200 samples, less 2.6 standard errors of 1.5 points."""
    estimates = estimates_of_the_highest(means)
    assert estimates["true"].between(estimates["low"], estimates["high"]).mean() >= 0.91


def test_a_clear_winner_is_hardly_corrected() -> None:
    found = highest([9.0, 1.0, 0.0], np.ones(3), units=[100] * 3)
    assert found.value == pytest.approx(9.0, abs=1e-6)


def test_the_interval_of_the_highest_of_equal_shares_covers_their_true_value() -> None:
    """Four slices of 100 rows all have a true accuracy of 0.75; often two of them have the same
    highest share. The 95 % interval of the highest, corrected for its choice, must cover 0.75 in
    about 95 % of 300 samples, whose standard error is 1.26 %; 2.4 standard errors less are allowed.
    """
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(300):
        share = rng.binomial(100, 0.75, 4) / 100
        error = np.sqrt(share * (1 - share) / 100)
        estimate = highest(share, error, units=[100] * 4)
        covered += estimate.low <= 0.75 <= estimate.high
    assert covered / 300 >= 0.92


def test_equal_highest_values_have_an_interval_with_a_width() -> None:
    e = highest([0.7, 0.7, 0.6], [0.05] * 3, units=[84] * 3)
    assert e.low < 0.6 < e.high


def test_a_corrected_value_stays_within_the_range_of_the_metric() -> None:
    """In the towns a and b each positive has a higher score than each negative, an AUC of 1; in c
    it is the other way round, an AUC of 0. The values of the highest and the lowest town are
    corrected for the choice of the town, with an interval, but not beyond 0 and 1. The scores are
    0.5 and 1.5, because the report warns of scores of 0 and 1 alone as of decisions.
    """
    label = np.tile([0, 1], 60)
    town = np.repeat(["a", "b", "c"], 40)
    score = np.where(town == "c", 1 - label, label)
    study = ek.classification(
        y_true=label, y_score=score + 0.5, segments={"town": town}, metrics="roc_auc"
    )
    corrected = study.picked_slices[["corrected", "low", "high"]].to_numpy()
    assert corrected.min() >= 0
    assert corrected.max() <= 1


def logistic_slices() -> pd.DataFrame:
    """Each age band of the logistic regression against the rest."""
    return credit_study().slices_against_rest.query("system == 'logistic'").set_index("slice")


def test_the_only_young_group_is_worse_than_the_rest() -> None:
    assert logistic_slices().loc["<=25", "verdict"] == "lower"


def test_the_rest_of_a_slice_is_the_mean_of_the_others_by_rows() -> None:
    slices = logistic_slices()
    others = slices.drop("<=25")
    expected = np.average(others["value"], weights=others["n"])
    assert slices.loc["<=25", "rest"] == pytest.approx(expected)


def test_the_difference_of_two_systems_is_compared_too() -> None:
    assert "forest − logistic" in set(credit_study().slices_against_rest["system"])


def test_the_highest_is_corrected_downwards_and_the_lowest_upwards() -> None:
    rows = credit_study().picked_slices.set_index(["system", "place"])
    high = rows.loc[("forest", "highest")]
    low = rows.loc[("forest", "lowest")]
    assert high["corrected"] < high["value"]
    assert low["corrected"] > low["value"]


def test_without_segments_there_is_nothing_to_compare() -> None:
    study = ek.classification(y_true=[0, 1, 0, 1], y_score=[0.1, 0.9, 0.2, 0.8])
    assert study.slices_against_rest.empty
    assert study.picked_slices.empty


def test_a_slice_without_a_value_is_left_out_of_the_comparison() -> None:
    """The only row of a shop has no AUC."""
    frame = pd.DataFrame({"y_true": np.tile([0, 1], 60), "y_score": np.linspace(0, 1, 120)})
    frame["shop"] = ["alone", *["x", "y", "z"] * 39, "x", "y"]
    study = ek.classification(frame, segments="shop", metrics="roc_auc")
    assert set(study.slices_against_rest["slice"]) == {"x", "y", "z"}


def of_shared_units() -> Any:
    """The study of users with a row in each of two slices."""
    return ek.rating(shared_units(), metrics="mae", unit="user", segments="device")


@pytest.mark.parametrize("frame", ["slices_against_rest", "picked_slices"])
def test_slices_that_share_units_are_not_compared_with_each_other(frame: str) -> None:
    with pytest.raises(ParameterError, match="units have rows in several of them"):
        getattr(of_shared_units(), frame)


def test_slices_of_whole_units_are_compared_with_each_other():
    frame = shared_units().assign(plan=["a", "a", "b", "b"] * 20)
    study = ek.rating(frame, metrics="mae", unit="user", segments="plan")
    assert len(study.slices_against_rest) == 2


def test_the_page_says_which_slices_differ() -> None:
    text = page.segments(credit_study(systems="logistic")).text
    compared = text.split("each slice beside the others of its column")[1]
    (row,) = [line for line in compared.splitlines() if line.startswith("age_band <=25")]
    assert row.rstrip().endswith("lower")


def test_the_page_corrects_the_highest_of_the_slices() -> None:
    text = page.segments(credit_study(systems="logistic")).text
    assert "Of 4 slices of age_band the highest for logistic is 36-50 (0.81, corrected" in text


def test_the_page_compares_the_difference_of_the_first_pair_too() -> None:
    assert "forest − logistic: each slice beside" in page.segments(credit_study()).html


def test_the_page_says_why_slices_are_not_compared() -> None:
    text = page.segments(of_shared_units()).text
    assert "Slices are not compared with each other" in text
    assert "units have rows in several of them" in text


def nested_and_shared() -> Any:
    """The study of users with one plan and two devices each."""
    frame = shared_units()
    frame["plan"] = np.where(frame["user"] % 2, "paid", "free")
    return ek.rating(frame, metrics="mae", unit="user", segments="plan,device")


def test_a_column_whose_slices_share_units_leaves_the_other_columns_compared() -> None:
    study = nested_and_shared()
    assert {*study.slices_against_rest["segment"]} == {"plan"}
    assert {*study.picked_slices["segment"]} == {"plan"}


def test_the_page_has_the_compared_columns_and_names_the_others() -> None:
    text = page.segments(nested_and_shared()).text
    assert "the slices of 'device' cannot be compared" in text
    assert "Of 2 slices of plan the highest" in text


def test_a_rule_about_a_column_does_not_ask_about_the_others() -> None:
    ek.check(nested_and_shared(), "highest mae.high <= 9 between plan")


def shared_units() -> pd.DataFrame:
    """Forecasts of users with a row in each of two slices."""
    rng = np.random.default_rng(4)
    actual = rng.normal(size=80)
    frame = pd.DataFrame({"actual": actual, "forecast": actual + rng.normal(size=80)})
    return frame.assign(user=np.arange(80) // 2, device=["phone", "desk"] * 40)


def test_the_results_have_both_tables() -> None:
    study = credit_study()
    answers = as_json.answers(study)
    assert answers["slices_against_rest"] == study.slices_against_rest.to_dict("records")
    assert answers["picked_slices"] == study.picked_slices.to_dict("records")


def test_the_results_lack_slices_that_are_not_independent() -> None:
    assert "picked_slices" not in as_json.answers(of_shared_units())


def test_units_of_blocks_may_be_in_several_slices() -> None:
    limits = Limits(reading=ReadingLimits(rows=30, shard=30, largest=30))
    asked = {"preds": shared_units(), "metrics": "mae", "unit": "user", "segments": "device"}
    study = rating.study_of(RatingParameters.from_raw(asked), limits)
    with pytest.raises(ParameterError, match="units of blocks may have rows in several"):
        _ = study.slices_against_rest


def test_horizons_of_a_series_are_not_compared() -> None:
    """A series has forecasts of 60 days, each one and two days ahead. The horizons become slices by
    themselves, but their rows are of the same days, and are correlated: slices are not compared
    with the rest.
    """
    rng = np.random.default_rng(5)
    day = np.repeat(pd.date_range("2026-01-01", periods=60).astype(str), 2)
    frame = pd.DataFrame({"date": day, "horizon": [1, 2] * 60, "actual": rng.normal(size=120)})
    frame["forecast"] = frame["actual"] + rng.normal(size=120)
    study = ek.rating(frame, metrics="mae")
    assert study.settings.segments == ("horizon",)
    with pytest.raises(ParameterError, match="rows of a time series are correlated"):
        _ = study.slices_against_rest


@pytest.mark.parametrize(
    "rule",
    [
        "lowest accuracy.low >= 0.5 between age_band of logistic",
        "highest accuracy.value <= 0.9 between age_band",
        "no worse slice between age_band of forest",
    ],
)
def test_rules_about_slices_that_are_kept(rule: str) -> None:
    ek.check(credit_study(), rule)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("lowest accuracy.low >= 0.75 between age_band of logistic", "fail: logistic age_band"),
        ("no worse slice between age_band", "fail: logistic age_band <=25"),
    ],
)
def test_rules_about_slices_that_fail(rule: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        ek.check(credit_study(), rule)


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("no worse slice between age", "no slices of 'age'.*columns of segments: age_band"),
        ("lowest accuracy.low >= 0.5 between age", "no slices of 'age'"),
        ("lowest roc_auc.low >= 0.5 between age_band", "the metric of slices must be one of"),
        ("no worse slice between age_band of tree", "system.*tree"),
        ("no worse slice age_band", "expected between, got 'age_band'"),
    ],
)
def test_rules_about_slices_that_are_not_there_are_refused(rule: str, error: str) -> None:
    with pytest.raises(ParameterError, match=error):
        ek.check(credit_study(), rule)


def test_a_rule_in_a_policy_takes_its_level(tmp_path: Path) -> None:
    """A policy is a file of rules. This one has the level 90 % and the rule that the lower limit of
    the accuracy of logistic regression is at least 0.5 in the worst age band. The report has a
    level of 95 %. The interval of the rule is narrower than that of the report, so that its lower
    limit, `rule_low`, is higher than the report's, `low`.
    """
    text = '[[rule]]\nthat = "lowest accuracy.low >= 0.5 between age_band of logistic"\n'
    path = tmp_path / "policy.toml"
    path.write_text(f"level = 0.9\n{text}", encoding="utf-8")
    (statement,) = credit_study(gate=str(path)).gate.statements.to_dict("records")
    assert statement["rule_low"] > statement["low"]
    assert statement["result"] == "pass"


def test_the_rest_of_weighted_rows_is_their_weighted_mean() -> None:
    """Groups a, b and c have 100 rows each. In group a half of the predictions are wrong, and a row
    has a weight of 0.001; in b and c one prediction in ten is wrong, and a row has a weight of 1.
    The slice c is compared with the rest, a and b together, whose accuracy is the mean with these
    weights: close to 0.9, that of b.
    """
    label = np.ones(300, int)
    label[::3] = 0
    wrong = np.concatenate([np.arange(100) % 2 == 0, np.arange(200) % 10 == 0])
    score = np.where(wrong, 1 - label, label)
    weight = np.repeat([0.001, 1.0, 1.0], 100)
    study = ek.classification(
        y_true=label,
        y_score=score,
        sample_weight=weight,
        segments={"group": np.repeat(["a", "b", "c"], 100)},
        metrics="accuracy",
    )
    rest = study.slices_against_rest.set_index("slice").loc["c", "rest"]
    in_a_or_b = np.arange(300) < 200
    expected = np.average(~wrong[in_a_or_b], weights=weight[in_a_or_b])
    assert rest == pytest.approx(expected)

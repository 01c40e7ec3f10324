"""The best or worst of given slices: which differ from the rest, and what being picked costs."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.statistics.winners import against_rest, highest, picked_p

ROOT = Path(__file__).parents[1]
TEN = np.linspace(-1.0, 1.0, 10)


def credit(**parameters: Any) -> Any:
    """The study of two models of the applicants, sliced by age."""
    path = ROOT / "data/german_credit/predictions.csv"
    asked = {"segments": "age_band", "metrics": "accuracy", "systems": "logistic,forest"}
    return ek.classification(path, **asked | parameters)


def test_the_published_best_of_23_subsets() -> None:
    assert picked_p([0.009, 0.00049], 23).round(3).tolist() == [0.188, 0.011]


def test_max_t_over_equal_slices_is_close_to_sidak() -> None:
    values = [1.0, *np.zeros(17)]
    compared = against_rest(values, np.full(18, 0.3), np.ones(18), rng=np.random.default_rng(1))
    from scipy.stats import norm

    p = 2 * norm.sf(1.0 / compared.error[0])
    assert compared.adjusted[0] == pytest.approx(float(picked_p(p, 18)), rel=0.1)


def test_the_rest_is_the_mean_of_the_others_by_weight() -> None:
    compared = against_rest([1.0, 2.0, 4.0], [1] * 3, [1, 1, 3], rng=np.random.default_rng(1))
    assert compared.rest.tolist() == [3.5, 3.25, 1.5]


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
        e = highest(values, np.ones(10))
        true_value = means[values.argmax()]
        rows.append({"value": e.value, "low": e.low, "high": e.high, "true": true_value})
    return pd.DataFrame(rows)


TRUE_MEANS = pytest.mark.parametrize("means", [(0.0,) * 10, tuple(TEN), (3.0, *(0.0,) * 9)])


@TRUE_MEANS
def test_the_value_of_the_highest_is_median_unbiased(means: tuple[float, ...]) -> None:
    estimates = estimates_of_the_highest(means)
    too_high = (estimates["value"] > estimates["true"]).mean()
    assert 0.38 <= too_high <= 0.62


@TRUE_MEANS
def test_the_interval_of_the_highest_covers_its_true_value(means: tuple[float, ...]) -> None:
    estimates = estimates_of_the_highest(means)
    assert estimates["true"].between(estimates["low"], estimates["high"]).mean() >= 0.91


def test_a_clear_winner_is_hardly_corrected() -> None:
    assert highest([9.0, 1.0, 0.0], np.ones(3)).value == pytest.approx(9.0, abs=1e-6)


def logistic_slices() -> pd.DataFrame:
    """Each age band of the logistic regression against the rest."""
    return credit().slices_against_rest.query("system == 'logistic'").set_index("slice")


def test_the_only_young_group_is_worse_than_the_rest() -> None:
    assert logistic_slices().loc["<=25", "verdict"] == "lower"


def test_the_rest_of_a_slice_is_the_mean_of_the_others_by_rows() -> None:
    slices = logistic_slices()
    others = slices.drop("<=25")
    expected = np.average(others["value"], weights=others["n"])
    assert slices.loc["<=25", "rest"] == pytest.approx(expected)


def test_the_difference_of_two_systems_is_compared_too() -> None:
    assert "forest − logistic" in set(credit().slices_against_rest["system"])


def test_the_highest_is_corrected_downwards_and_the_lowest_upwards() -> None:
    rows = credit().picked_slices.set_index(["system", "place"])
    high = rows.loc[("forest", "highest")]
    low = rows.loc[("forest", "lowest")]
    assert high["corrected"] < high["value"]
    assert low["corrected"] > low["value"]


def test_without_segments_there_is_nothing_to_compare() -> None:
    study = ek.classification(y_true=[0, 1, 0, 1], y_score=[0.1, 0.9, 0.2, 0.8])
    assert study.slices_against_rest.empty
    assert study.picked_slices.empty


def test_a_slice_without_a_value_is_left_out_of_the_comparison() -> None:
    frame = pd.DataFrame({"y_true": np.tile([0, 1], 60), "y_score": np.linspace(0, 1, 120)})
    frame["shop"] = ["alone", *["x", "y", "z"] * 39, "x", "y"]
    study = ek.classification(frame, segments="shop", metrics="roc_auc")
    assert set(study.slices_against_rest["slice"]) == {"x", "y", "z"}


def test_slices_that_share_units_are_not_compared_with_each_other():
    rng = np.random.default_rng(4)
    actual = rng.normal(size=80)
    frame = pd.DataFrame(
        {
            "actual": actual,
            "forecast": actual + rng.normal(size=80),
            "user": np.arange(80) // 2,
            "device": ["phone", "desk"] * 40,
        }
    )
    study = ek.rating(frame, metrics="mae", unit="user", segments="device")
    for name in ("slices_against_rest", "picked_slices"):
        with pytest.raises(ParameterError, match="units have rows in several of them"):
            getattr(study, name)


def test_slices_of_whole_units_are_compared_with_each_other():
    rng = np.random.default_rng(4)
    actual = rng.normal(size=80)
    frame = pd.DataFrame(
        {
            "actual": actual,
            "forecast": actual + rng.normal(size=80),
            "user": np.arange(80) // 2,
            "plan": ["a", "a", "b", "b"] * 20,
        }
    )
    study = ek.rating(frame, metrics="mae", unit="user", segments="plan")
    assert len(study.slices_against_rest) == 2

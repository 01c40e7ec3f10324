"""The rating report: weights, metrics without a direction, the constant that beats a system, bad input."""

import numpy as np
import pandas as pd
import pytest
from samples import forecasts

from evalkit.limits import Limits, Reading
from evalkit.pages import page, rating_page
from evalkit.parameters import Rating
from evalkit.studies import rating


def test_the_nearer_forecast_is_better():
    study = rating.read(forecasts(), metrics="mae,rmse,r2")
    assert study.order == ["near", "far"]
    assert (study.comparisons["verdict"] == "better").all()
    row = study.comparisons.iloc[0]
    assert row["wins"] + row["ties"] + row["losses"] == 60


def test_a_metric_without_a_better_direction_decides_nothing():
    study = rating.read(metrics="bias,mae")
    shown = page.comparisons(study)
    assert "bias has no better direction, so systems are not compared on it." in shown.html
    caption = "Paired differences in the other metrics with 95% interval, n = 700 persons</caption>"
    assert caption in shown.html
    assert "nan" not in shown.html
    assert "p by sign flip" in shown.html
    assert (
        "One system"
        not in shown.html + page.differences(study).html + page.comparisons(rating.read(metrics="bias")).html
    )


def test_whole_weights_repeat_rows():
    data, weight = forecasts(40), np.random.default_rng(3).integers(1, 4, 40)
    weighted = rating.read(data.assign(weight=weight))
    repeated = rating.read(data.loc[np.repeat(data.index, weight)].drop(columns="id"))
    assert weighted.estimates["value"].tolist() == pytest.approx(repeated.estimates["value"].tolist())
    assert weighted.constant_median(weighted.primary) == pytest.approx(repeated.constant_median(repeated.primary))


def test_a_constant_that_is_better_than_every_system_stands_below_the_verdict():
    study = rating.read(forecasts(actual=np.arange(60) % 9, forecast_near=0.0, forecast_far=0.0), metrics="mae")
    assert study.constant_median(study.primary) == np.abs(np.arange(60) % 9 - 4).mean()
    assert "EK332" in rating_page.verdict(study).html
    assert "EK332" not in rating_page.findings(study).html


@pytest.mark.parametrize("limits", [Limits(), Limits(reading=Reading(rows=100, shard=100, largest=100))])
@pytest.mark.parametrize("seed", range(6))
def test_exactly_linear_forecasts_correlate_by_no_more_than_1(seed, limits):
    y = np.random.default_rng(seed).normal(50, 9, 200)
    table = pd.DataFrame({"actual": y, "forecast_a": y + 1, "forecast_b": 2 * y + 3})
    study = rating.study_of(Rating.of({"preds": table, "metrics": "r2_correlation"}), limits)
    assert study.estimates["value"].le(1).all()
    assert study.estimates["high"].between(1 - 1e-9, 1).all()


def test_a_tenth_without_weight_is_left_out():
    table = pd.DataFrame({"actual": [0.0, 1.0], "forecast": [1.0, 2.0], "weight": [0.0, 1.0]})
    assert len(rating.study_of(Rating.of({"preds": table})).tenths) == 1

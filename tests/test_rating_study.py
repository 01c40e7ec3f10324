"""The rating report: the sample, units and weights, constant values, single systems, bad input."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from evalkit.arrays import InputError, ParameterError
from evalkit.drawing.tables import Html
from evalkit.pages import first_screen, page, rating_page
from evalkit.studies import rating

SCHEMA = json.loads((Path(__file__).parents[1] / "evalkit" / "schema.json").read_text(encoding="utf-8"))
PIECES = (
    *("title", "findings", "estimates", "error_plot", "bias_plot", "tenths", "spread", "extremes", "definitions"),
    "origin",
)


def frame(rows=120, seed=1):
    rng = np.random.default_rng(seed)
    actual = rng.gamma(2, 2, rows)
    near, far = actual + rng.normal(0, 0.5, rows), actual + rng.normal(0.5, 2, rows)
    return pd.DataFrame({"id": np.arange(rows), "actual": actual, "forecast_near": near, "forecast_far": far})


def whole(study):
    pieces = [getattr(rating_page, name)(study) for name in PIECES]
    pieces += [part(study) for part in (first_screen.verdict, page.differences, page.comparisons, page.segments)]
    return "\n".join(piece.text if isinstance(piece, Html) else piece.alt for piece in pieces)


def published(study):
    return rating_page.results(study)._repr_mimebundle_()["application/vnd.evalkit+json"]


def test_the_sample():
    study = rating.read()
    assert study.order[0] == "poisson"
    assert study.unit_name == "person"
    assert (study.estimates.query("metric == 'mae'")["n"] == 700).all()
    shown = whole(study)
    assert "1% of the rows account for 50% of poisson's squared error" in shown
    jsonschema.validate(published(study), SCHEMA)
    assert json.dumps(published(study)) == json.dumps(published(rating.read()))


def test_the_nearer_forecast_is_better():
    study = rating.read(frame(), metrics="mae,rmse,r2")
    assert study.order == ["near", "far"]
    assert (study.comparisons["verdict"] == "better").all()
    row = study.comparisons.iloc[0]
    assert row["wins"] + row["ties"] + row["losses"] == 120


def test_mean_absolute_error_by_hand():
    study = rating.read(pd.DataFrame({"actual": [3.0, 5.0], "forecast": [4.0, 2.0]}))
    value = study.estimates.set_index("metric")["value"]
    assert (value["mae"], value["bias"]) == (2.0, -1.0)
    assert value["rmse"] == pytest.approx(5**0.5)


def test_tenths_hold_every_row_once():
    study = rating.read(frame())
    for _, part in study.tenths.groupby("system"):
        assert part["n"].sum() == 120
        assert np.average(part["bias"], weights=part["n"]) == pytest.approx(
            study.estimates.query("metric == 'bias'").set_index("system")["value"][part["system"].iloc[0]]
        )


def test_whole_weights_repeat_rows():
    data = frame(40)
    weight = np.random.default_rng(3).integers(1, 4, 40)
    weighted = rating.read(data.assign(weight=weight))
    repeated = rating.read(data.loc[np.repeat(data.index, weight)].drop(columns="id"))
    for a, b in zip(weighted.estimates["value"], repeated.estimates["value"], strict=True):
        assert a == pytest.approx(b)
    assert "Rows are weighted" in whole(weighted)


@pytest.mark.parametrize("column", ["actual", "forecast_near"])
def test_constant_columns(column):
    study = rating.read(frame().assign(**{column: 2.0}))
    shown = whole(study)
    expected = {
        "actual": "All actual values are equal",
        "forecast_near": "The same forecast for every row: near",
    }
    assert expected[column] in shown
    jsonschema.validate(published(study), SCHEMA)


def test_perfect_forecasts():
    data = frame().assign(forecast_near=lambda f: f["actual"])
    study = rating.read(data)
    whole(study)
    assert study.estimates.query("metric == 'rmse' and system == 'near'")["value"].tolist() == [0.0]


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


def test_a_single_system():
    study = rating.read(frame(), systems="near")
    assert "one system, nothing to compare" in first_screen.verdict(study).html
    whole(study)
    jsonschema.validate(published(study), SCHEMA)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"actual": [np.nan] * 120}, r"actual must be a finite number, got n.* \(row 1\)"),
        ({"forecast_far": ["x"] * 120}, r"forecast_far must be a number, got 'x' \(row 1\)"),
        ({"id": [1] * 120}, r"id '1' must appear once, got it again"),
    ],
)
def test_refuses_bad_input(change, message):
    with pytest.raises(InputError, match=message):
        rating.read(frame().assign(**change))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"metrics": "pinball"}, "pinball needs a cut-off, such as pinball@10"),
        ({"metrics": "accuracy"}, "unknown metric 'accuracy', must be one of mae, rmse"),
        ({"systems": "a"}, "systems: .* has no system 'a', it has near, far"),
    ],
)
def test_refuses_parameters(options, message):
    with pytest.raises(ParameterError, match=message):
        rating.read(frame(), **options)


def test_a_constant_that_is_better_than_every_system_is_told():
    rng = np.random.default_rng(3)
    actual = rng.poisson(rng.gamma(0.5, 4, 400)).astype(float)
    study = rating.read(pd.DataFrame({"actual": actual, "forecast": actual.mean() + rng.normal(0, 0.1, 400)}))
    assert study.constant_median(study.primary) == np.abs(actual - np.median(actual)).mean()
    (finding,) = [finding for finding in rating_page.every_finding(study) if finding.kind.code == "EK332"]
    assert "Forecasting the median" in finding.message
    assert "EK332" in rating_page.verdict(study).html
    assert "EK332" not in rating_page.findings(study).html
    near = rating.read(pd.DataFrame({"actual": actual, "forecast": actual + 0.1}))
    assert not [finding for finding in rating_page.every_finding(near) if finding.kind.code == "EK332"]


def test_the_median_of_weighted_rows_is_that_of_repeated_ones():
    rng = np.random.default_rng(4)
    actual, weight = rng.gamma(2, 2, 60), rng.integers(1, 5, 60)
    frame = pd.DataFrame({"actual": actual, "forecast": actual + 1, "weight": weight.astype(float)})
    repeated = frame.drop(columns="weight").loc[frame.index.repeat(weight)]
    weighted, plain = rating.read(frame), rating.read(repeated)
    assert weighted.constant_median(weighted.primary) == pytest.approx(plain.constant_median(plain.primary), rel=1e-12)

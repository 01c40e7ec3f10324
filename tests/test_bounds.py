"""Numbers beyond what can be meant or computed are refused by one line; what decides all rows alike is told."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from engine_samples import SMALL, classified, limited

from evalkit.arrays import InputError
from evalkit.limits import USUAL
from evalkit.pages import classification_page, first_screen, rating_page, validation_page
from evalkit.studies import classification, rating, validation

SCHEMA = json.loads((Path(__file__).parents[1] / "evalkit" / "schema.json").read_text(encoding="utf-8"))


def scores(**more):
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, 60)
    return pd.DataFrame({"label": label, "score": np.round(0.2 + 0.3 * label + 0.4 * rng.random(60), 3)} | more)


def forecasts(scale=1.0):
    rng = np.random.default_rng(3)
    actual = rng.random(50)
    return pd.DataFrame({"actual": actual, "forecast": actual + rng.normal(0, 0.1, 50)}) * scale


def valid(results):
    published = results._repr_mimebundle_()["application/vnd.evalkit+json"]
    jsonschema.validate(json.loads(json.dumps(published, allow_nan=False)), SCHEMA)
    return published


@pytest.mark.parametrize("large", [False, True], ids=["memory", "large"])
def test_a_threshold_outside_the_scores_is_told_in_plain_words(large):
    data, limits = pd.concat([scores()] * 3), SMALL if large else USUAL
    high, low = data["score"].max(), data["score"].min()
    above = classification_page.findings(limited(classified(data, limits, threshold=50))).text
    assert f"The threshold 50 is above every score of system, whose highest is {high:g}: nothing is predicted" in above
    below = classification_page.findings(limited(classified(data, limits, threshold=0.01))).text
    assert (
        f"0.01 is at or below every score of system, whose lowest is {low:g}: every row is predicted positive" in below
    )
    inside = classification_page.findings(limited(classified(data, limits, threshold=0.5))).text
    assert "above every score" not in inside
    assert "at or below every score" not in inside


@pytest.mark.parametrize("shift, given, told", [(-1, {}, True), (-1, {"threshold": 0}, False), (0, {}, False)])
def test_the_usual_threshold_on_scores_that_are_no_probabilities_is_told(shift, given, told):
    text = "usual threshold 0.5 is applied to scores that are not probabilities"
    data = scores(fold=np.arange(60) % 2)
    data["score"] += shift
    assert (text in validation_page.findings(validation.read(data, **given)).text) == told


def test_a_threshold_outside_the_scores_of_several_labels_is_told():
    data = pd.DataFrame({"y_a": [1, 0], "p_a": [0.9, 0.2], "y_b": [0, 1], "p_b": [0.3, 0.6]})
    assert (
        "above every score of system, whose highest is 0.9"
        in classification_page.findings(limited(classification.read(data, threshold=7))).text
    )


@pytest.mark.parametrize("large", [False, True], ids=["memory", "large"])
@pytest.mark.parametrize("value", [1e300, 1.7e308, 2e12])
def test_weights_whose_sums_are_not_exact_are_refused_and_never_wrapped(value, large):
    data = pd.concat([scores(weight=1.0)] * 3, ignore_index=True)
    data.loc[6, "weight"] = value
    with pytest.raises(
        InputError, match=r"weight must be at most 1e\+12, got .* \(row 7\); multiply all weights by the same"
    ):
        classified(data, SMALL if large else USUAL)


@pytest.mark.parametrize("scale", [1e-70, 1e20, 1e74])
def test_large_numbers_print_with_an_exponent_and_make_valid_json(scale):
    study = rating.read(forecasts(scale))
    words = first_screen.verdict(study).html + rating_page.estimates(study).html + rating_page.tenths(study).html
    assert max(map(len, words.replace("<", " ").replace(">", " ").split())) < 60
    valid(rating_page.results(study))


@pytest.mark.parametrize("factor", [1e-300, 1e12, 1e300])
def test_scores_of_any_size_make_valid_json(factor):
    data = scores()
    study = classification.read(data.assign(score=data["score"] * factor))
    published = valid(classification_page.results(study))
    assert published["estimates"][0]["value"] == pytest.approx(
        classification.read(data, metrics="roc_auc").estimates["value"].iloc[0], abs=1e-12
    )

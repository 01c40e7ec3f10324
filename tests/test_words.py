"""Words beside numbers: nouns agree, every n is of what stands beside it, costs, calibration,
slices.
"""

import re

import numpy as np
import pandas as pd
from hypothesis import given, strategies as st

import evalkit as ek
from evalkit.pages import (
    binary_page,
    classification_page,
    page,
    ranking_page,
    rating_page,
    significance_page,
)
from evalkit.reading.tables.table import slices
from evalkit.studies import classification, ranking, rating, significance
from evalkit.studies.binary_diagnostics import Miscalibration, calibration_verdicts


def study_of_trials(tmp_path, rows):
    """The study of a file with a line per system: its name, its successes and its trials."""
    path = tmp_path / "trials.csv"
    path.write_text("system,successes,trials\n" + "\n".join(rows) + "\n")
    return significance.read(str(path))


def test_values_and_differences_of_unlike_sizes_each_say_their_n(tmp_path):
    """The systems a, b and c have 1 success in 2 trials, 3 in 4 and 7 in 10. Where sizes differ,
    each value and each difference is printed with its own n, and captions give the range.
    """
    study = study_of_trials(tmp_path, ["a,1,2", "b,3,4", "c,7,10"])
    picture = significance_page.differences(study).svg
    comparisons = page.comparisons(study).html
    estimates = page.estimates(study, "caption").html
    for row in study.comparisons.to_dict("records"):
        assert f"{row['first']} − {row['second']} (n = {row['n']})" in picture
        assert f"n = {row['n']}</span>" in comparisons
    for n in (2, 4, 10):
        assert f"n = {n}</span>" in estimates
    smallest, largest = study.comparisons["n"].min(), study.comparisons["n"].max()
    assert f"(n = {smallest} to {largest} trials)" in picture
    assert f"{smallest} to {largest} trials" in comparisons


def test_equal_sizes_are_said_once_and_not_as_a_range(tmp_path):
    study = study_of_trials(tmp_path, ["a,1,10", "b,3,10"])
    assert "n = " not in page.estimates(study, "caption").html
    picture = significance_page.differences(study).svg
    assert "trials)" in picture
    assert " to " not in picture


def test_one_positive_is_singular():
    data = pd.DataFrame({"label": [1, 0, 0, 0], "score": [0.9, 0.1, 0.2, 0.3]})
    study = classification.read(data)
    text = binary_page.curve_plot(study).caption + page.findings(study).text
    assert "1 positive, 3 negatives" in text
    assert "Only 1 row of the smaller class" in text


def test_one_query_is_singular():
    """A ranking report has three items of one query. Its title asks a question that ends in "on 1
    judged query?"; captions count the query too, and nowhere is it "1 queries".
    """
    run = pd.DataFrame(
        {"query": "q", "item": list("abc"), "score": [3.0, 2.0, 1.0], "grade": [1, 0, 0]}
    )
    alone = ranking.read(run)
    words = (
        ranking_page.title(alone).text
        + ranking_page.estimates(alone).text
        + ranking_page.curves(alone).caption
    )
    assert "on 1 judged query?" in words
    assert "over 1 query" in words
    assert "1 queries" not in words


USER_OF_ROW = np.repeat([f"u{i}" for i in range(40)], 5)  # 40 users with 5 rows each


def test_the_caption_of_forecasts_says_the_units_that_the_intervals_are_over():
    """Forecasts of 200 rows are of 40 users with 5 rows each. If intervals are over users, rows of
    a user are not independent: the caption gives the 40 users as n, beside the number of rows.
    Without a unit n is the number of rows.
    """
    rng = np.random.default_rng(1)
    actual = rng.random(200)
    forecast = actual + rng.normal(0, 0.1, 200)
    table = pd.DataFrame({"actual": actual, "forecast": forecast, "user_id": USER_OF_ROW})
    clustered = rating.read(table, unit="user_id")
    assert set(clustered.estimates["n"]) == {40}
    assert "n = 40 users with 200 rows" in rating_page.estimates(clustered).html
    assert "n = 200 rows" in rating_page.estimates(rating.read(table)).html


def test_the_caption_of_scores_says_the_units_that_the_intervals_are_over():
    """Scores of 200 rows are of 40 users with 5 rows each. Intervals are over users, because rows
    of a user are not independent: the caption gives the 40 users as n, beside the number of rows.
    """
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 200)
    score = np.clip(0.3 * label + 0.7 * rng.random(200), 0, 1)
    table = pd.DataFrame({"label": label, "score": score, "user_id": USER_OF_ROW})
    study = classification.read(table, unit="user_id")
    n = int(study.estimates["n"].max())
    assert n == 40
    assert f"n = {n} users with 200 rows" in classification_page.estimates(study).html


def scores_by_miscalibration():
    """Labels that are 1 with the probability of system right; other systems are miscalibrated as
    their names say.
    """
    rng = np.random.default_rng(1)
    logit = rng.normal(0, 1.5, 400)
    label = (rng.random(400) < 1 / (1 + np.exp(-logit))).astype(int)
    several = {
        "right": logit,
        "extreme": 3 * logit,
        "timid": logit / 3,
        "inflated": logit + 1,
        "deflated": logit - 1,
    }
    return pd.DataFrame(
        {"label": label} | {f"score_{k}": 1 / (1 + np.exp(-v)) for k, v in several.items()}
    )


def test_each_kind_of_miscalibration_is_named():
    """The scores of the system right are the true probabilities. The logits of the others are 3
    times (extreme) or a third (timid) of its logits, or 1 above (inflated) or below (deflated)
    them.
    """
    study = classification.read(scores_by_miscalibration(), metrics="brier")
    wrong, right = calibration_verdicts(study)
    assert wrong[Miscalibration.OVERCONFIDENT] == ["extreme"]
    assert wrong[Miscalibration.UNDERCONFIDENT] == ["timid"]
    assert wrong[Miscalibration.TOO_HIGH] == ["inflated"]
    assert wrong[Miscalibration.TOO_LOW] == ["deflated"]
    assert right == ["right"]
    text = binary_page.calibration(study).text
    assert text.startswith(
        "Over-confident, with probabilities too close to 0 and 1 (slope below 1): extreme."
    )
    assert "Neither slope nor intercept shows miscalibration: right." in text


def test_equal_costs_are_said_to_be_assumed_unless_they_were_set():
    """The sentence on costs is the same for any scores. If costs of 1 are asked for, they are no
    assumption.
    """
    frame = scores_by_miscalibration()[["label", "score_right"]]
    assert classification.read(frame).costs.sentence.startswith(
        "No costs were set, so a false positive and a false neg"
    )
    asked = classification.read(frame, costs="fp=1,fn=1")
    assert asked.costs.sentence == "Costs: false positive 1, false negative 1."


def test_a_difference_by_rounding_is_a_tie():
    """Each user's absolute errors sum to 0.1 + 0.2 = 0.30000000000000004 and to 0.3 + 0.0 = 0.3."""
    two_rows = {"actual": 0.0, "forecast_a": [0.1, 0.2], "forecast_b": [0.3, 0.0]}
    three_users = [pd.DataFrame({"user": user, **two_rows}) for user in ("u", "v", "w")]
    comparison = rating.read(pd.concat(three_users), unit="user").comparisons.iloc[0]
    assert (comparison["wins"], comparison["ties"], comparison["losses"]) == (0, 3, 0)


SIX_FORECASTS = pd.DataFrame(
    {
        "actual": 0.0,
        "forecast_a": [0, 0, 5, 1, 1, 1],
        "forecast_b": [1, 1, 1, 1, 1, 1],
        "user": ["u", "u", "u", "v", "v", "w"],
    }
)


def test_independent_rows_are_won_tied_and_lost():
    """The absolute errors of a, 0, 0, 5, 1, 1 and 1, are below those of b, all 1, on two rows, and
    above on one.
    """
    row = rating.read(SIX_FORECASTS.drop(columns="user")).comparisons.iloc[0]
    assert sorted([row["wins"], row["losses"]]) == [1, 2]  # whichever system is first
    assert row["ties"] == 3


def test_of_clustered_rows_the_units_are_won_tied_and_lost():
    """User u has mean absolute errors of 5 / 3 for a and 1 for b; v and w have 1 for both."""
    study = rating.read(SIX_FORECASTS, unit="user")
    row = study.comparisons.iloc[0]
    assert (row["ties"], row["wins"] + row["losses"]) == (2, 1)
    assert "users won / tied / lost" in page.comparisons(study).text


def test_systems_with_the_same_best_printed_value_are_both_bold():
    """The MAE of b is larger than that of a by a hundred-thousandth, which rounding hides; that of
    c is twice as large.
    """
    rng = np.random.default_rng(2)
    actual = rng.normal(0, 1, 50)
    error = rng.normal(0, 1, 50)
    table = pd.DataFrame(
        {
            "actual": actual,
            "forecast_a": actual + error,
            "forecast_b": actual + error * 1.00001,
            "forecast_c": actual + error * 2,
        }
    )
    html = rating_page.estimates(rating.read(table, metrics="mae")).html
    assert len(re.findall('class="lead"', html)) == 2  # the class of bold values


@given(
    st.lists(
        st.one_of(st.integers(0, 40).map(str), st.sampled_from("abcxyz")), min_size=1, max_size=80
    )
)
def test_every_unit_lies_in_one_slice(values):
    members = np.array([one.member for one in slices("c", values, max_slices=5)])
    assert (members.sum(axis=0) == 1).all()


def test_many_numbers_become_quarters():
    found = slices("income", [str(i) for i in range(100)])
    assert [one.label for one in found] == ["[0, 24]", "(24, 49]", "(49, 74]", "(74, 99]"]
    assert [int(one.member.sum()) for one in found] == [25, 25, 25, 25]


def test_many_whole_numbers_that_are_one_double_are_sliced_as_texts():
    found = slices("key", [str(2**62 + i) for i in range(20)])
    assert [found[0].label, found[-1].label] == [str(2**62), "(9 other values)"]


def test_of_many_texts_the_frequent_stay():
    """A column has the texts a nine times, b five times and c to g once each. Rows are divided into
    at most three slices: the two most frequent texts have one each, and all others share the third.
    """
    values = ["a"] * 9 + ["b"] * 5 + list("cdefg")
    found = slices("country", values, max_slices=3)
    assert [(one.label, int(one.member.sum())) for one in found] == [
        ("a", 9),
        ("b", 5),
        ("(5 other values)", 5),
    ]


def test_numbers_sort_as_numbers():
    assert [one.label for one in slices("digit", ["10", "9", "2"])] == ["2", "9", "10"]


def test_p_values_of_slices_are_adjusted_by_holm_over_all_slices():
    """Holm multiplies the smallest of four p-values by 4, the next by 3, the next by 2 and the
    largest by 1; then none may be below the one before or above 1.
    """
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"actual": rng.normal(size=400), "where": np.repeat(list("abcd"), 100)})
    # y has noise of 1 in all slices, x less in a and b, so that p differs by slice
    noise_of_x = np.repeat([0.5, 0.8, 1.0, 1.1], 100)
    table["forecast_x"] = table["actual"] + rng.normal(size=400) * noise_of_x
    table["forecast_y"] = table["actual"] + rng.normal(size=400)
    by_segment = ek.rating(table, segments="where").by_segment
    slices_by_p = by_segment.drop_duplicates("slice").sort_values("p")
    p = slices_by_p["p"].to_numpy()
    expected = np.minimum(np.maximum.accumulate(p * [4, 3, 2, 1]), 1)
    assert 0 < p[0] < p[1] < p[2]
    np.testing.assert_allclose(slices_by_p["adjusted"], expected, rtol=1e-12)

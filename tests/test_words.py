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


def trials(tmp_path, rows):
    path = tmp_path / "trials.csv"
    path.write_text("system,successes,trials\n" + "\n".join(rows) + "\n")
    return significance.read(str(path))


def test_values_and_differences_of_unlike_sizes_each_say_their_n(tmp_path):
    study = trials(tmp_path, ["a,1,2", "b,3,4", "c,7,10"])
    picture, table = significance_page.differences(study).svg, page.comparisons(study).html
    sizes = study.comparisons["n"].tolist()
    assert f"(n = {min(sizes)} to {max(sizes)} trials)" in picture
    for row in study.comparisons.to_dict("records"):
        assert f"{row['first']} − {row['second']} (n = {row['n']})" in picture
        assert f"n = {row['n']}</span>" in table
    assert f"{min(sizes)} to {max(sizes)} trials" in table
    assert all(f"n = {n}</span>" in page.estimates(study, "caption").html for n in (2, 4, 10))
    equal = trials(tmp_path, ["a,1,10", "b,3,10"])
    assert "n = " not in page.estimates(equal, "caption").html
    assert "trials)" in significance_page.differences(equal).svg
    assert " to " not in significance_page.differences(equal).svg


def test_one_positive_and_one_query_are_singular():
    data = pd.DataFrame({"label": [1, 0, 0, 0], "score": [0.9, 0.1, 0.2, 0.3]})
    study = classification.read(data)
    text = binary_page.curve_plot(study).caption + page.findings(study).text
    assert "1 positive, 3 negatives" in text
    assert "Only 1 row of the smaller class" in text
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


def test_captions_say_the_units_that_the_intervals_are_over():
    rng = np.random.default_rng(1)
    user = np.repeat([f"u{i}" for i in range(40)], 5)
    actual = rng.random(200)
    table = pd.DataFrame(
        {"actual": actual, "forecast": actual + rng.normal(0, 0.1, 200), "user_id": user}
    )
    study = rating.read(table, unit="user_id")
    assert set(study.estimates["n"]) == {40}
    assert "n = 40 users with 200 rows" in rating_page.estimates(study).html
    assert "n = 200 rows" in rating_page.estimates(rating.read(table)).html
    label = rng.integers(0, 2, 200)
    scores = pd.DataFrame(
        {
            "label": label,
            "score": np.clip(0.3 * label + 0.7 * rng.random(200), 0, 1),
            "user_id": user,
        }
    )
    clustered = classification.read(scores, unit="user_id")
    n = int(clustered.estimates["n"].max())
    assert f"n = {n} users with 200 rows" in classification_page.estimates(clustered).html


def misjudged():
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
    study = classification.read(misjudged(), metrics="brier")
    wrong, right = calibration_verdicts(study)
    assert wrong[Miscalibration.OVERCONFIDENT] == ["extreme"]
    assert wrong[Miscalibration.UNDERCONFIDENT] == ["timid"]
    assert (wrong[Miscalibration.TOO_HIGH], wrong[Miscalibration.TOO_LOW]) == (
        ["inflated"],
        ["deflated"],
    )
    assert right == ["right"]
    text = binary_page.calibration(study).text
    assert text.startswith(
        "Over-confident, with probabilities too close to 0 and 1 (slope below 1): extreme."
    )
    assert "Neither slope nor intercept shows miscalibration: right." in text


def test_equal_costs_are_said_to_be_assumed_unless_they_were_set():
    frame = misjudged()[["label", "score_right"]]
    assert classification.read(frame).costs.sentence.startswith(
        "No costs were set, so a false positive and a false neg"
    )
    asked = classification.read(frame, costs="fp=1,fn=1")
    assert asked.costs.sentence == "Costs: false positive 1, false negative 1."


def test_rounding_wins_no_unit():
    off = {
        "forecast_a": [0.1, 0.2],
        "forecast_b": [0.3, 0.0],
    }  # of the first user 0.30000000000000004 and 0.3
    frame = pd.concat([pd.DataFrame({"actual": 0.0, "user": user, **off}) for user in "uvw"])
    users = rating.read(frame, unit="user").comparisons.iloc[0]
    assert (users["wins"], users["ties"], users["losses"]) == (0, 3, 0)


def test_wins_are_of_units():
    actual = np.zeros(6)
    frame = pd.DataFrame(
        {"actual": actual, "forecast_a": [0, 0, 5, 1, 1, 1], "forecast_b": [1, 1, 1, 1, 1, 1]}
    )
    rows = rating.read(frame).comparisons.set_index("first").iloc[0]
    study = rating.read(frame.assign(user=["u", "u", "u", "v", "v", "w"]), unit="user")
    users = study.comparisons.iloc[0]
    assert sorted([rows["wins"], rows["losses"]]) == [1, 2]
    assert rows["ties"] == 3
    assert (users["ties"], users["wins"] + users["losses"]) == (2, 1)
    assert "users won / tied / lost" in page.comparisons(study).text


def test_systems_with_the_same_best_printed_value_are_both_bold():
    rng = np.random.default_rng(2)
    actual = rng.normal(0, 1, 50)
    error = rng.normal(0, 1, 50)
    frame = pd.DataFrame(
        {"actual": actual, "forecast_a": actual + error, "forecast_b": actual + error * 1.00001}
    )
    html = rating_page.estimates(
        rating.read(frame.assign(forecast_c=actual + 2 * error), metrics="mae")
    ).html
    assert len(re.findall('class="lead"', html)) == 2


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
    rng = np.random.default_rng(4)
    values = pd.DataFrame({"actual": rng.normal(size=400), "where": np.repeat(list("abcd"), 100)})
    noise = np.repeat([0.5, 0.8, 1.0, 1.1], 100)
    values["forecast_x"] = values["actual"] + rng.normal(size=400) * noise
    values["forecast_y"] = values["actual"] + rng.normal(size=400)
    tested = (
        ek.rating(values, segments="where").by_segment.drop_duplicates("slice").sort_values("p")
    )
    p = tested["p"].to_numpy()
    by_hand = []
    for rank, value in enumerate(p):
        by_hand.append(min(1.0, max([(4 - rank) * value, *by_hand])))
    assert 0 < p[0] < p[1] < p[2]
    np.testing.assert_allclose(tested["adjusted"], by_hand, rtol=1e-12)

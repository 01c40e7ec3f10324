"""The study of an A/B table of users: its tests, CUPED and caps, arms and shares, bad tables and parameters."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from online_samples import SMALL, users

from evalkit.arrays import InputError, ParameterError
from evalkit.metrics.rows import Sums
from evalkit.online import experiments
from evalkit.pages import experiment_page, interleaving_page
from evalkit.statistics import independent, power
from evalkit.statistics.proportions import difference_score, two_proportions
from evalkit.studies import interleaving

ROOT = Path(__file__).resolve().parents[1]


def _hits(table, arm):
    values = table.loc[table["arm"] == arm, "any"]
    return int(values.sum()), len(values)


def test_rand_by_rows_equals_scipy_and_statsmodels():
    # the values of scipy ttest_ind(equal_var=False) and statsmodels on the 20,190 rows as if independent
    rows = pd.read_parquet(ROOT / "data" / "rand_hie" / "visits.parquet")
    arm = np.where(rows["lncoins"] == 0, "free", "paying")
    table = rows.assign(arm=arm, any=(rows["mdvis"] > 0).astype(int))[["id", "arm", "mdvis", "any"]]
    study = interleaving.read(users=table, columns="user=id", metrics="mdvis,any", baseline="paying", **SMALL).users
    visits, share = study.comparisons.to_dict("records")
    assert [visits[name] for name in ("difference", "low", "high")] == pytest.approx(
        [0.577946611449, 0.454605388909, 0.70128783399], rel=1e-9
    )
    assert visits["p"] == pytest.approx(4.52726883329e-20, rel=1e-9)
    assert [share[name] for name in ("difference", "lift")] == pytest.approx(
        [0.0734568977165, 0.113436798372], rel=1e-9
    )
    score = difference_score(*(side for arm in ("free", "paying") for side in _hits(table, arm)))
    assert (share["low"], share["high"]) == pytest.approx((score.low, score.high), rel=1e-9)
    assert (score.low, score.high) == pytest.approx((0.0605852159968, 0.0863215741769), abs=2e-5)  # Newcombe's
    assert share["p"] == pytest.approx(3.44654390248e-29, rel=1e-9)


def test_means_shares_and_ratios_have_their_own_test():
    table = users()
    study = interleaving.read(users=table, metrics="orders,bought,orders/visits", baseline="a", **SMALL).users
    rows = study.comparisons.set_index("metric")
    a, b = (table[table["arm"] == arm] for arm in "ab")
    assert rows.loc["orders", "p"] == pytest.approx(6 / 70)  # 3 of the 70 deals of 8 users have as large a t
    assert rows.loc["bought", "p"] == pytest.approx(two_proportions(4, 4, 3, 4).p_value)
    ratio = independent.ratio_difference(*(Sums(arm["orders"], arm["visits"]) for arm in (b, a)))
    assert rows.loc["orders/visits", "p"] == pytest.approx(ratio.p_value)
    assert rows.loc["orders/visits", "difference"] == pytest.approx(11 / 12 - 4 / 9)
    assert rows["method"].tolist() == ["studentised permutation", "score", "jackknife t"]


def test_cuped_strata_and_cap_stand_beside_the_plain_result():
    options = {"metrics": "orders", "before": "past", "strata": "country", "cap": 0.8, "baseline": "a"}
    study = interleaving.read(users=users(), **options, **SMALL).users
    rows = study.adjustments.set_index("way")
    table = users()
    a, b = (table[table["arm"] == arm] for arm in "ab")
    cuped = experiments.cuped(b["orders"], a["orders"], b["past"], a["past"])
    assert rows.loc["CUPED with past", "p"] == pytest.approx(cuped.p_value)
    assert rows.loc["CUPED with past", "users"] < 1
    assert rows.loc["as it is", "users"] == 1
    assert "stratified by country" in rows.index
    assert rows.loc["capped at 80.0%", "estimand"] == "mean of min(value, 2.6)"
    assert study.headline["difference"].iloc[0] == rows.loc["as it is", "difference"]


def test_users_in_both_arms_are_left_out_and_counted():
    table = pd.concat([users(), users()[:1].assign(arm="b")])
    study = interleaving.read(users=table, metrics="orders", **SMALL).users
    assert study.crossed == 1
    assert study.sizes == {"a": 3, "b": 4}
    assert "1 user seen in several arms: left out of all arms." in experiment_page.findings(study).text


def test_the_sample_ratio_is_against_what_was_planned():
    table = pd.concat([users(user=[f"{i} {j}" for j in range(8)]) for i in range(30)])
    table = table[(table["arm"] == "a") | (np.arange(len(table)) % 4 == 1)]
    notes = {
        shares: experiment_page.findings(interleaving.read(users=table, metrics="orders", shares=shares, **SMALL).users)
        for shares in (None, "a=2,b=1", "unknown")
    }
    assert "the assignment is broken" in notes[None].text
    broken = interleaving.read(users=table, metrics="orders", **SMALL)
    assert "the assignment is broken" in interleaving_page.verdict(broken).text
    assert "Sample ratio against the planned shares: p 1" in notes["a=2,b=1"].text
    assert "Sample ratio: not tested" in notes["unknown"].text


def test_three_arms_are_one_family():
    table = pd.concat([users(), users(user=[f"v{i}" for i in range(8)], arm=["c"] * 8)])
    study = interleaving.read(users=table, metrics="orders", **SMALL).users
    assert len(study.comparisons) == 3
    assert (study.comparisons["adjusted"] >= study.comparisons["p"]).all()


def test_several_looks_have_a_price():
    study = interleaving.read(users=users(), metrics="orders", looks=5, **SMALL).users
    assert study.looks["false_positive_rate"] == pytest.approx(0.142, abs=5e-4)
    assert study.looks["pocock"] == pytest.approx(0.0158, abs=1e-4)
    assert "5 analyses of the running test at 0.05 each" in experiment_page.findings(study).text


def test_less_can_be_better():
    table = users(orders=[1, 9, 0, 9, 1, 8, 2, 9])
    study = interleaving.read(users=table, metrics="orders", best="low", **SMALL).users
    assert study.headline[["first", "verdict"]].iloc[0].tolist() == ["a", "better"]


@pytest.mark.parametrize(
    "change, options, message",
    [
        ({"arm": ["a"] * 8}, {}, "arm must hold two arms or more, got only a"),
        ({"arm": ["a", None] * 4}, {}, r"arm must not be empty, got nothing \(row 2\)"),
        ({}, {"arms": "a,c"}, r"data frame: arm must be one of a, c, got 'b' \(row 2; 4 rows\)"),
        ({}, {"arms": "a,b,c"}, "every arm must have a user of its own, got none in c"),
        (
            {"user": ["u"] * 8, "arm": ["a"] * 8},
            {"arms": "a,b"},
            r"user must have one row, got u again: sum them first \(row 2; 7 rows\)",
        ),
        ({"orders": [np.nan] * 8}, {}, r"orders must be a finite number, got (nothing|nan) \(row 1\)"),
        ({}, {"metrics": None}, "metrics: name the columns of users to compare"),
        ({}, {"metrics": "order"}, "has no column 'order'.*did you mean 'orders'"),
        ({}, {"metrics": "a/b/c"}, "must be a column or a ratio of two"),
        ({}, {"shares": "a=1,c=1"}, "shares: must name the arms a, b, got a, c"),
        ({}, {"cap": 1}, "cap must be a number between 0 and 1, got 1"),
        ({}, {"before": "age"}, "has no column 'age'"),
        ({}, {"segments": "town"}, "segments: no input has a column 'town'"),
        ({}, {"baseline": "z"}, "there is no system 'z', the input has a, b"),
        ({}, {"gate": "better"}, "gate: needs a baseline"),
        ({}, {"best": "more"}, "best must be one of high, low, got 'more'"),
        ({}, {"world": "cascades"}, "world must be one of cascade"),
        ({}, {"simulated_users": 10}, "simulated_users must be a whole number of at least 1000"),
    ],
)
def test_bad_tables_and_parameters_are_refused(change, options, message):
    with pytest.raises((InputError, ParameterError), match=message):
        interleaving.read(users=users(**change), **SMALL | {"metrics": "orders"} | options)


def test_the_difference_of_shares_that_would_show_is_that_of_their_test():
    table = pd.DataFrame({"user": range(800), "arm": ["a"] * 300 + ["b"] * 500, "bought": np.arange(800) % 3 == 0})
    study = interleaving.read(users=table.astype({"bought": int}), metrics="bought", baseline="a", **SMALL).users
    row, share = study.comparisons.iloc[0], study.estimates.set_index("system")
    sizes = [share.loc[row[side], "n"] for side in ("first", "second")]
    by_test = power.detectable_share(share.loc[row["second"], "value"], *sizes, level=study.family_level)
    assert row["detectable"] == pytest.approx(by_test)
    assert 0.05 < by_test < 0.15


def test_what_a_table_of_users_compares_is_called_an_arm():
    table = pd.DataFrame({"user": np.arange(60).astype(str), "arm": ["a", "b", "c"] * 20, "plays": np.arange(60) % 7})
    page_text = experiment_page.estimates(interleaving.read(users=table, metrics="plays").users).html
    assert '<th scope="col">arm</th>' in page_text
    assert "system" not in page_text

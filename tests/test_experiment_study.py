"""The study of an A/B table of users: its tests, CUPED and caps, arms and shares, bad tables and parameters."""

import numpy as np
import pandas as pd
import pytest
from online_samples import SMALL, users

from evalkit.arrays import InputError, ParameterError
from evalkit.metrics.rows import Sums
from evalkit.online import experiments
from evalkit.pages import experiment_page, interleaving_page
from evalkit.statistics import independent, power
from evalkit.statistics.proportions import two_proportions
from evalkit.studies import interleaving


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


def test_less_can_be_better_and_three_arms_are_one_family():
    table = users(orders=[1, 9, 0, 9, 1, 8, 2, 9])
    study = interleaving.read(users=table, metrics="orders", best="low", **SMALL).users
    assert study.headline[["first", "verdict"]].iloc[0].tolist() == ["a", "better"]
    more = pd.concat([table, users(user=[f"v{i}" for i in range(8)], arm=["c"] * 8)])
    comparisons = interleaving.read(users=more, metrics="orders", **SMALL).users.comparisons
    assert len(comparisons) == 3
    assert (comparisons["adjusted"] >= comparisons["p"]).all()


@pytest.mark.parametrize(  # a bad cell of each column is refused by `bad_inputs`
    "change, options, message",
    [
        ({"arm": ["a"] * 8}, {}, "arm must hold two arms or more, got only a"),
        ({}, {"arms": "a,c"}, r"data frame: arm must be one of a, c, got 'b' \(row 2; 4 rows\)"),
        ({}, {"arms": "a,b,c"}, "every arm must have a user of its own, got none in c"),
        ({"user": ["u"] * 8, "arm": ["a"] * 8}, {"arms": "a,b"}, r"must have one row, got u again: .* \(row 2; 7 rows"),
        ({}, {"metrics": None}, "metrics: name the columns of users to compare"),
        ({}, {"metrics": "order"}, "has no column 'order'.*did you mean 'orders'"),
        ({}, {"metrics": "a/b/c"}, "must be a column or a ratio of two"),
        ({}, {"shares": "a=1,c=1"}, "shares: must name the arms a, b, got a, c"),
        ({}, {"before": "age"}, "has no column 'age'"),
        ({}, {"segments": "town"}, "segments: no input has a column 'town'"),
        ({}, {"baseline": "z"}, "there is no system 'z', the input has a, b"),
        ({}, {"gate": "better"}, "gate: needs a baseline"),
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

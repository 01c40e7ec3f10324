"""Slices cover every unit once."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import evalkit as ek
from evalkit.reading.tables.table import slices


@given(st.lists(st.one_of(st.integers(0, 40).map(str), st.sampled_from("abcxyz")), min_size=1, max_size=80))
def test_every_unit_lies_in_one_slice(values):
    members = np.array([one.member for one in slices("c", values, most=5)])
    assert (members.sum(axis=0) == 1).all()


def test_many_numbers_become_quarters():
    found = slices("income", [str(i) for i in range(100)])
    assert [one.label for one in found] == ["[0, 24]", "(24, 49]", "(49, 74]", "(74, 99]"]
    assert [int(one.member.sum()) for one in found] == [25, 25, 25, 25]


def test_of_many_texts_the_frequent_stay():
    values = ["a"] * 9 + ["b"] * 5 + list("cdefg")
    found = slices("country", values, most=3)
    assert [(one.label, int(one.member.sum())) for one in found] == [("a", 9), ("b", 5), ("(5 other values)", 5)]


def test_numbers_sort_as_numbers():
    assert [one.label for one in slices("digit", ["10", "9", "2"])] == ["2", "9", "10"]


def test_p_values_of_slices_are_adjusted_by_holm_over_all_slices():
    rng = np.random.default_rng(4)
    values = pd.DataFrame({"actual": rng.normal(size=400), "where": np.repeat(list("abcd"), 100)})
    noise = np.repeat([0.5, 0.8, 1.0, 1.1], 100)
    values["forecast_x"] = values["actual"] + rng.normal(size=400) * noise
    values["forecast_y"] = values["actual"] + rng.normal(size=400)
    tested = ek.rating(values, segments="where").by_segment.drop_duplicates("slice").sort_values("p")
    p, by_hand = tested["p"].to_numpy(), []
    for rank, value in enumerate(p):
        by_hand.append(min(1.0, max([(4 - rank) * value, *by_hand])))
    assert 0 < p[0] < p[1] < p[2]
    np.testing.assert_allclose(tested["adjusted"], by_hand, rtol=1e-12)

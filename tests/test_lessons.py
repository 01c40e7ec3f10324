"""The teaching half of the significance page: the coin, a hundred intervals, wrong methods, repeated looks."""

import numpy as np
import pytest
from significance_tables import wide

from evalkit.pages import lessons_page, significance_page
from evalkit.statistics import multiplicity
from evalkit.studies import lessons, significance


def test_the_lesson_of_the_coin():
    frame = lessons.coin().set_index("heads")
    assert frame["chance"].sum() == pytest.approx(1)
    assert frame["one_sided"][[7, 8, 9, 10]].tolist() == pytest.approx(
        [0.171875, 0.0546875, 0.0107421875, 0.0009765625]
    )
    assert frame["two_sided"][[7, 8, 9, 10]].tolist() == pytest.approx([0.34375, 0.109375, 0.021484375, 0.001953125])


def test_a_hundred_intervals_miss_about_as_often_as_they_should():
    missed = lessons.hundred().groupby("method")["covers"].apply(lambda covers: int((~covers).sum()))
    assert 2 <= missed["t"] <= 9
    assert missed["z with s"] > missed["t"]
    assert lessons.coverage()["z_with_s"].tolist() == pytest.approx([0.878, 0.918, 0.940], abs=5e-4)
    assert lessons.replicate() == pytest.approx(0.8342, abs=5e-5)


def test_wrong_methods_err_and_right_ones_do_not():
    frame = lessons.wrong().set_index("wrong")
    assert frame.loc["rows as units (Wilson)", "wrong_rate"] > 0.25
    assert frame.loc["t over the 100 folds", "wrong_rate"] > 0.4
    assert frame.loc["Wilcoxon", "wrong_rate"] > 0.8
    assert frame.loc["sessions as units (sign test)", "wrong_rate"] > 0.3
    assert (frame["right_rate"] < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / lessons.RUNS)).all()


def test_the_simulations_claim_no_more_than_two_standard_errors():
    worst = 2 * np.sqrt(0.25 / lessons.RUNS)
    shown = significance_page.teaching(significance.read(wide())).html
    assert f"300 runs (Wilcoxon 30): rates are accurate to about {100 * worst:.0f} percentage points." in shown


def test_the_lesson_of_looks():
    frame = lessons.looks().set_index("looks")
    assert frame["rate"].tolist() == pytest.approx([0.05, 0.0831, 0.1417, 0.1934, 0.2479], abs=5e-5)
    for k, row in frame.iterrows():
        assert multiplicity.false_positive_rate(int(k), level=1 - row["pocock"]) == pytest.approx(0.05, abs=1e-6)


def test_the_figures_of_the_lessons_are_in_the_results():
    recorded = significance_page.results(significance.read(wide())).results["lessons"]
    assert sum(recorded["coin"]["chance"]) == pytest.approx(1)
    every = zip(recorded["hundred"]["method"], recorded["hundred"]["covers"], strict=True)
    missed = [method for method, covers in every if not covers]
    caption = lessons_page.hundred().caption
    assert f"the {missed.count('t')} (t) and {missed.count('z with s')} (z with s) that miss" in caption
    assert recorded["looks"]["looks"] == [1, 2, 5, 10, 20]

"""The significance page: its pictures draw what was computed, its lessons, earlier reports tested anew."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from significance_tables import rng, told, wide

from evalkit.arrays import InputError, ParameterError
from evalkit.drawing import claim_plots, plots
from evalkit.metrics.grid import Counted
from evalkit.pages import lessons_page, ranking_page, significance_page
from evalkit.studies import lessons, paired, ranking, significance

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def sample():
    return significance.read()


def test_where_there_are_no_ranks_their_section_is_empty():
    folds = pd.DataFrame({"fold": range(6)} | {name: rng(i).normal(size=6) for i, name in enumerate("abc")})
    arms = pd.DataFrame({"arm": list("ABC"), "successes": [5, 6, 7], "trials": [10, 10, 10]})
    for table, more in [(folds, {"test_to_train": 0.2}), (arms, {}), (wide(), {})]:
        assert significance_page.ranks(significance.read(table, **more)).html == ""


def test_a_figure_of_many_systems_holds_the_best_mean_ranks():
    base, names = rng(1).normal(size=12), [f"s{i:02d}" for i in range(40)]
    table = pd.DataFrame({"query": range(12)} | {name: base + i / 50 for i, name in enumerate(names)})
    figure = significance_page.ranks(significance.read(table, baseline="s00"))
    assert "k = 40 systems" in figure.caption
    assert "The figure shows the 30 best." in figure.caption
    assert [name for name in names if f"{name} " in figure.alt] == names[10:]


def axes(draw, monkeypatch, *data, **options):
    """The axes on which a drawing function draws."""
    from matplotlib.figure import Figure

    return draw(*data, Figure().subplots(), **options)


def test_the_pictures_hold_their_data(sample, monkeypatch):
    frame = paired.power_curve(sample)
    ax = axes(claim_plots.power, monkeypatch, frame, observed=0.0086, margin=0.05, xlabel="true difference")
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert {"n = 25", "n = 100", "n = 400"} <= set(lines)
    assert lines["n = 100"].tolist() == frame[frame["units"] == 100]["power"].tolist()
    draws = sample.null_draws()
    ax = axes(claim_plots.null_distribution, monkeypatch, draws, observed=0.0086, xlabel="x", ylabel="y")
    heights = np.array([[bar.get_height() for bar in part] for part in ax.containers])
    assert heights.sum() == pytest.approx(1)
    assert heights[1].sum() == pytest.approx(sample.headline.iloc[0]["p"], abs=0.03)
    d = sample.differences().to_numpy()
    ax = axes(claim_plots.histogram, monkeypatch, Counted.of(d), xlabel="x", ylabel="y")
    assert sum(bar.get_height() for bar in ax.patches) == 100


@pytest.mark.parametrize("less_is_better", [False, True])
def test_differences_that_are_better_are_green(monkeypatch, less_is_better):
    d = np.array([-0.4, -0.3, -0.2, 0.1])
    ax = axes(claim_plots.histogram, monkeypatch, Counted.of(d), xlabel="x", ylabel="y", less_is_better=less_is_better)
    green = [bar for part in ax.containers for bar in part if to_hex(bar.get_facecolor()) == plots.COLOURS[2].lower()]
    assert sum(bar.get_height() for bar in green) == (3 if less_is_better else 1)


# The report


def test_an_earlier_report_is_tested_anew(sample_reports):
    earlier = json.loads((sample_reports / "significance.json").read_text(encoding="utf-8"))
    study = significance.read(str(sample_reports / "significance.json"), margin=0.06)
    row, before = study.headline.iloc[0], earlier["headline"][0]
    assert [row["first"], row["second"], row["verdict"]] == [before["first"], before["second"], "equivalent"]
    assert row["p"] == pytest.approx(before["p"], abs=0.01)
    assert (row["difference"], row["n"]) == pytest.approx((before["difference"], before["n"]))
    values = {one["system"]: one["value"] for one in earlier["estimates"] if one["metric"] == earlier["primary"]}
    assert study.estimates.set_index("system")["value"].to_dict() == {k: values[k] for k in study.systems}
    assert "The mean of these differences" not in told(study)


def published(results) -> dict:
    return results._repr_mimebundle_()["application/vnd.evalkit+json"]


def test_an_earlier_report_whose_differences_are_not_of_its_units_is_refused(tmp_path):
    study = ranking.read(unit="digit", systems="pixel_cosine,lda_cosine")
    (tmp_path / "earlier.json").write_text(json.dumps(published(ranking_page.results(study))))
    with pytest.raises(InputError, match=r"a report on 10 units \(digit\) must hold one .*, got 100; use"):
        significance.read(str(tmp_path / "earlier.json"))


def test_an_earlier_mean_over_rows_is_told_from_a_mean_over_units(tmp_path):
    users = [f"u{i}" for i in np.repeat(np.arange(20), rng(1).integers(1, 30, 20))]
    table = pd.DataFrame({"user": users, "a": rng(2).normal(0.3, 1, len(users)), "b": rng(3).normal(size=len(users))})
    study = significance.read(table, unit="user")
    (tmp_path / "earlier.json").write_text(json.dumps(published(significance_page.results(study))))
    again = significance.read(str(tmp_path / "earlier.json"))
    assert again.comparisons.iloc[0]["n"] == 20
    assert "The mean of these differences is" in told(again)
    for name, value in (("unit", "user"), ("systems", "a"), ("columns", "unit=user"), ("metrics", "loss")):
        with pytest.raises(ParameterError, match=f"{name}: "):
            significance.read(str(tmp_path / "earlier.json"), **{name: value})


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


def test_the_figures_of_the_lessons_are_in_the_results():
    recorded = significance_page.results(significance.read(wide())).results["lessons"]
    assert sum(recorded["coin"]["chance"]) == pytest.approx(1)
    every = zip(recorded["hundred"]["method"], recorded["hundred"]["covers"], strict=True)
    missed = [method for method, covers in every if not covers]
    caption = lessons_page.hundred().caption
    assert f"the {missed.count('t')} (t) and {missed.count('z with s')} (z with s) that miss" in caption
    assert recorded["looks"]["looks"] == [1, 2, 5, 10, 20]

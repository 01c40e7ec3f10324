"""The significance study and its page: the family, every kind of input, looks, pictures, lessons,
any size.
"""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from significance_tables import rng, told, wide

from evalkit.arrays import InputError, ParameterError
from evalkit.drawing import plots
from evalkit.metrics.distributions import Distribution
from evalkit.pages import first_screen, lessons_page, page, ranking_page, significance_page
from evalkit.statistics import methods, multiplicity, significance as tests
from evalkit.statistics.alternatives import Alternative
from evalkit.studies import lessons, paired, ranking, significance
from evalkit.studies.paired import RESAMPLES


@pytest.fixture(scope="module")
def sample():
    return significance.read()


def test_the_family_is_counted_and_adjusted_as_one(sample):
    assert sample.family == "30 comparisons: 3 metrics × 10 pairs; Holm"
    assert (
        "Family: 30 comparisons: 3 metrics × 10 pairs; Holm." in first_screen.verdict(sample).text
    )
    rows = sample.comparisons
    assert len(rows) == 30
    assert rows["adjusted"].to_numpy() == pytest.approx(multiplicity.holm(rows["p"]))
    assert (rows["max_t"] >= rows["p"]).all()
    assert (
        significance.read(baseline="lda_cosine").family
        == "12 comparisons: 3 metrics × 4 candidates; Holm"
    )


def test_what_a_pair_would_show_is_that_of_the_ranking_report_of_the_same_lists():
    pair = ["metric", "first", "second"]
    lists = ranking.read(metrics="ndcg@10").comparisons.set_index(pair)["detectable"]
    values = significance.read(metrics="ndcg@10").comparisons.set_index(pair)["detectable"]
    assert values[lists.index].to_numpy() == pytest.approx(lists.to_numpy(), rel=1e-12)


def test_what_a_pair_would_show_is_larger_beside_other_metrics(sample):
    """The verdict is adjusted over all of them."""
    pair = ["metric", "first", "second"]
    alone = significance.read(metrics="ndcg@10").comparisons.set_index(pair)["detectable"]
    beside = sample.comparisons.set_index(pair)["detectable"]
    assert (beside[alone.index] > alone).all()


def test_every_way_to_test_is_named():
    study = significance.read(metrics="mrr", baseline="pixel_cosine")
    how = "sign flip, exact enumeration; or sign flip, importance sampling with 8,192 draws"
    assert f"p by {how}; adjusted" in page.comparisons(study).html
    assert f"two-sided; {how}. Better" in first_screen.verdict(study).html


# Looks, margins, and what a p is


def test_looks_cost_what_they_cost_and_stay_dual():
    for seed in range(8):
        d = rng(seed).normal(0.25, 1, 60)
        table = pd.DataFrame({"query": [f"q{i}" for i in range(60)], "a": d, "b": 0.0})
        once, often = (
            significance.read(table, looks=k, baseline="b").comparisons.iloc[0] for k in (1, 5)
        )
        assert often["p"] >= once["p"]
        assert often["p"] <= 5 * once["p"] + 1e-12
        assert often["low"] <= once["low"]
        assert (often["p"] < 0.05) == (not often["low"] <= 0 <= often["high"])
    study = significance.read(table, looks=5)
    assert study.test_level == pytest.approx(1 - 0.0158, abs=1e-4)
    assert (
        "5 planned analyses of growing data: at 0.05 each, 14.2% of experiments without a "
        "difference" in told(study)
    )


@pytest.mark.parametrize("level, verdict", [(0.9375, "cannot tell"), (0.9374, "higher")])
def test_a_p_of_exactly_one_less_the_level_rejects_nothing(level, verdict):
    """Five units that all favour a: p = 2 / 2⁵ = 0.0625."""
    table = pd.DataFrame({"query": range(5), "a": [1.0, 2, 3, 4, 5], "b": 0.0})
    assert significance.read(table, level=level).headline["verdict"].tolist() == [verdict]


def test_a_p_that_is_undefined_stays_so_over_looks():
    table = pd.DataFrame({"fold": range(5), "a": 0.2, "b": 0.1})
    for looks in (1, 3):
        row = significance.read(table, test_to_train=0.25, looks=looks).comparisons.iloc[0]
        assert np.isnan(row["p"])
        assert np.isnan(row["adjusted"])
    study = significance.read(wide(gain=0.1), looks=5)
    assert significance_page.null_distribution(study).caption.endswith(
        "p 0.10, corrected for 5 analyses."
    )
    assert significance_page.duality(study).caption.endswith("p 0.10, corrected for 5 analyses.")


def test_equivalence_and_non_inferiority_by_the_margin(sample):
    text = significance_page.equivalence(sample).text
    first = next(line for line in text.splitlines() if line.startswith("pixel_cosine − lda_cosine"))
    assert first.split()[-3:] == [
        "not",
        "established",
        "yes",
    ]  # up to .054: few queries are in the tail
    without = significance.read(wide())
    assert significance_page.equivalence(without).html == ""
    assert "No margin was set" in first_screen.verdict(without).text


UNITS = 1_200  # above those whose bootstrap draws Poisson counts first


@pytest.fixture(scope="module")
def normal():
    values = pd.DataFrame(rng(4).normal(size=(UNITS, 5)), columns=list("abcde"))
    values["d"] = (values["a"] > 0) * 1.0
    values["e"] = (values["b"] > 0.5) * 1.0  # d − e has three values
    values.loc[:9, "c"] = np.nan  # pairs with c have other units
    return values.assign(id=range(UNITS), user=np.arange(UNITS) // 3)


@pytest.mark.parametrize("unit", [None, "user"])
def test_pairs_that_share_bootstrap_samples_have_the_p_of_each_alone(normal, unit, monkeypatch):
    monkeypatch.setattr("evalkit.studies.paired.DIFFERENCES", 4 * UNITS)  # some pairs at a time
    study = significance.read(normal, unit=unit, columns={"unit": "id"}, systems="a,b,c,d,e")
    other = paired.other_tests(study).set_index(["first", "second"])["bootstrap"]
    assert len(other) == 10
    for pair in study.pairs:
        differences = study.unit_differences(pair, study.primary)
        options = {"rng": study.rng(5), "resamples": RESAMPLES}
        alone = tests.paired_bootstrap(
            differences.total, differences.rows if unit else None, **options
        )
        assert other[pair] == alone.p_value


ROOT = Path(__file__).resolve().parents[1]


def test_where_there_are_no_ranks_their_section_is_empty():
    folds = pd.DataFrame(
        {"fold": range(6)} | {name: rng(i).normal(size=6) for i, name in enumerate("abc")}
    )
    arms = pd.DataFrame({"arm": list("ABC"), "successes": [5, 6, 7], "trials": [10, 10, 10]})
    for table, more in [(folds, {"test_to_train": 0.2}), (arms, {}), (wide(), {})]:
        assert significance_page.ranks(significance.read(table, **more)).html == ""


def test_a_figure_of_many_systems_holds_the_best_mean_ranks():
    base = rng(1).normal(size=12)
    names = [f"s{i:02d}" for i in range(40)]
    table = pd.DataFrame(
        {"query": range(12)} | {name: base + i / 50 for i, name in enumerate(names)}
    )
    figure = significance_page.ranks(significance.read(table, baseline="s00"))
    assert "k = 40 systems" in figure.caption
    assert "The figure shows the 30 highest." in figure.caption
    assert [name for name in names if f"{name} " in figure.alt] == names[10:]


def axes(draw, monkeypatch, *data, **options):
    """The axes on which a drawing function draws."""
    from matplotlib.figure import Figure

    return draw(*data, Figure().subplots(), **options)


def test_the_pictures_hold_their_data(sample, monkeypatch):
    frame = paired.power_curve(sample)
    ax = axes(
        plots.power, monkeypatch, frame, observed=0.0086, margin=0.05, xlabel="true difference"
    )
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert {"n = 25", "n = 100", "n = 400"} <= set(lines)
    assert lines["n = 100"].tolist() == frame[frame["units"] == 100]["power"].tolist()
    draws = sample.null_draws()
    ax = axes(
        plots.null_distribution,
        monkeypatch,
        draws,
        observed=0.0086,
        alternative=Alternative.TWO_SIDED,
        xlabel="x",
        ylabel="y",
    )
    heights = np.array([[bar.get_height() for bar in part] for part in ax.containers])
    assert heights.sum() == pytest.approx(1)
    assert heights[1].sum() == pytest.approx(sample.headline.iloc[0]["p"], abs=0.03)
    d = sample.differences().to_numpy()
    ax = axes(plots.histogram, monkeypatch, Distribution.from_values(d), xlabel="x", ylabel="y")
    assert sum(bar.get_height() for bar in ax.patches) == 100


@pytest.mark.parametrize(("direction", "units"), [(1, 1), (-1, 3), (0, 0)])
def test_differences_that_are_better_are_green(monkeypatch, direction, units):
    d = np.array([-0.4, -0.3, -0.2, 0.1])
    ax = axes(
        plots.histogram,
        monkeypatch,
        Distribution.from_values(d),
        xlabel="x",
        ylabel="y",
        direction=direction,
    )
    green = [
        bar
        for part in ax.containers
        for bar in part
        if to_hex(bar.get_facecolor()) == plots.COLOURS[2].lower()
    ]
    assert sum(bar.get_height() for bar in green) == units


# The report


def test_an_earlier_report_is_tested_anew(sample_reports):
    earlier = json.loads((sample_reports / "significance.json").read_text(encoding="utf-8"))
    study = significance.read(str(sample_reports / "significance.json"), margin=0.06)
    row = study.headline.iloc[0]
    before = earlier["headline"][0]
    assert [row["first"], row["second"], row["verdict"]] == [
        before["first"],
        before["second"],
        "equivalent",
    ]
    assert row["p"] == pytest.approx(before["p"], abs=0.01)
    assert (row["difference"], row["n"]) == pytest.approx((before["difference"], before["n"]))
    values = {
        one["system"]: one["value"]
        for one in earlier["estimates"]
        if one["metric"] == earlier["primary"]
    }
    assert study.estimates.set_index("system")["value"].to_dict() == {
        k: values[k] for k in study.systems
    }
    assert "The mean of these differences" not in told(study)


def published(results) -> dict:
    return results._repr_mimebundle_()["application/vnd.evalkit+json"]


def test_an_earlier_report_whose_differences_are_not_of_its_units_is_refused(tmp_path):
    study = ranking.read(unit="digit", systems="pixel_cosine,lda_cosine")
    (tmp_path / "earlier.json").write_text(json.dumps(published(ranking_page.results(study))))
    with pytest.raises(
        InputError, match=r"a report on 10 units \(digit\) must hold one .*, got 100; use"
    ):
        significance.read(str(tmp_path / "earlier.json"))


def test_an_earlier_mean_over_rows_is_told_from_a_mean_over_units(tmp_path):
    users = [f"u{i}" for i in np.repeat(np.arange(20), rng(1).integers(1, 30, 20))]
    table = pd.DataFrame(
        {"user": users, "a": rng(2).normal(0.3, 1, len(users)), "b": rng(3).normal(size=len(users))}
    )
    study = significance.read(table, unit="user")
    (tmp_path / "earlier.json").write_text(json.dumps(published(significance_page.results(study))))
    again = significance.read(str(tmp_path / "earlier.json"))
    assert again.comparisons.iloc[0]["n"] == 20
    assert "The mean of these differences is" in told(again)
    for name, value in (
        ("unit", "user"),
        ("systems", "a"),
        ("columns", "unit=user"),
        ("metrics", "loss"),
    ):
        with pytest.raises(ParameterError, match=f"{name}: "):
            significance.read(str(tmp_path / "earlier.json"), **{name: value})


def test_the_simulations_claim_no_more_than_two_standard_errors():
    worst = 2 * np.sqrt(0.25 / lessons.RUNS)
    shown = significance_page.teaching(significance.read(wide())).html
    assert (
        f"300 runs (Wilcoxon 30): rates are accurate to about {100 * worst:.0f} percentage points."
        in shown
    )


def test_the_figures_of_the_lessons_are_in_the_results():
    recorded = significance_page.results(significance.read(wide())).results["lessons"]
    assert sum(recorded["coin"]["chance"]) == pytest.approx(1)
    every = zip(recorded["hundred"]["method"], recorded["hundred"]["covers"], strict=True)
    missed = [method for method, covers in every if not covers]
    caption = lessons_page.hundred().caption
    assert (
        f"the {missed.count('t')} (t) and {missed.count('z with s')} (z with s) that miss"
        in caption
    )
    assert recorded["looks"]["looks"] == [1, 2, 5, 10, 20]


def uneven() -> pd.DataFrame:
    """Ten users of two rows who lose by 1, ten of forty rows who win by about 1."""
    size = np.repeat([2, 40], 10)
    user = np.repeat(np.arange(20), size)
    return pd.DataFrame(
        {
            "user": user,
            "a": np.where(size[user] > 2, 1.0, -1.0) + rng(6).normal(0, 0.1, user.size),
            "b": 0.0,
        }
    )


def test_other_tests_are_of_the_same_mean_and_sizes_are_of_units():
    study = significance.read(uneven(), unit="user")
    row = study.comparisons.iloc[0]
    others = paired.other_tests(study).iloc[0]
    d = study.differences()
    assert row["difference"] > 0.8 > 0.1 > abs(d.mean())
    assert max(row["p"], others["t"], others["bootstrap"]) < 0.01
    measured = [study.measure(study.primary, name) for name in study.opponents]
    assert others["t"] == pytest.approx(
        methods.t_test(*measured, study.inference_options(2)).p_value
    )
    assert (
        "t and bootstrap take whole users, the other" in significance_page.other_tests(study).html
    )
    sizes = paired.effects(study).iloc[0]
    assert (sizes["wins"], sizes["ties"], sizes["losses"]) == (10, 0, 10)
    assert sizes["standardised"] == pytest.approx(d.mean() / d.std())
    assert sizes["difference"] == pytest.approx(row["difference"])
    assert (
        "Mean over rows, whole users as units, with its 95% interval"
        in significance_page.estimates(study).text
    )


def predictions(users=30, each=8) -> pd.DataFrame:
    """Chances of two systems on rows of users, whose rows one of them has right together."""
    rows = np.arange(users * each)
    user = rows // each
    label = rng(8).integers(0, 2, rows.size)
    better = rng(9).normal(0, 0.2, users)[user]
    sides = {"a": 0.5 + (2 * label - 1) * np.clip(better, -0.4, 0.4), "b": np.full(rows.size, 0.5)}
    shared = {"id": rows, "user": user, "label": label}
    return pd.concat(
        [pd.DataFrame(shared | {"system": name, "score": p}) for name, p in sides.items()]
    )


def test_chances_of_one_unit_are_flipped_together():
    table = predictions()
    row, user = (
        significance.read(table, metrics="brier", unit=u).comparisons.iloc[0]
        for u in (None, "user")
    )
    assert (row["n"], row["unit"], user["n"], user["unit"]) == (240, "row", 30, "user")
    assert user["difference"] == pytest.approx(row["difference"])
    assert "score = score, unit = user." in told(significance.read(table, unit="user"))
    assert user["high"] - user["low"] > 2 * (row["high"] - row["low"])
    assert significance.read(table, unit="id").unit_name == "row"


def test_rows_that_another_system_lacks_are_told():
    study = significance.read(predictions().iloc[:-7])
    assert study.comparisons["n"].tolist() == [233, 233]
    assert "7 rows left out: another system lacks their id." in told(study)


def test_queries_that_a_run_lacks_are_told(tmp_path):
    (tmp_path / "qrels.txt").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(9)))
    (tmp_path / "a.run").write_text("".join(f"q{i} Q0 d{i} 1 1.0 a\n" for i in range(9)))
    (tmp_path / "b.run").write_text("".join(f"q{i} Q0 d{i} 1 1.0 b\n" for i in range(4, 10)))
    study = significance.read(
        f"{tmp_path}/a.run,{tmp_path}/b.run", str(tmp_path / "qrels.txt"), metrics="mrr"
    )
    assert study.comparisons.iloc[0]["difference"] == pytest.approx(4 / 9)
    assert "Judged queries missing from a run count as 0: b 4." in told(study)
    assert "Queries without judgements are left out: b 1." in told(study)


def test_metrics_of_chances_are_defined_as_the_catalogue_has_them():
    shown = significance_page.definitions(significance.read(predictions())).text
    assert "brier: mean (probability − label)²" in shown
    assert "the mean of the values in the input" not in shown
    assert (
        "the mean of the values in the input"
        in significance_page.definitions(significance.read(wide())).text
    )


OF_DATA = [piece for piece in significance_page.PIECES if piece is not significance_page.teaching]


def counts(n, *more):
    return pd.DataFrame(
        {"arm": list("AB"), "successes": [n // 2 + more[0], n // 2], "trials": [n, n]}
    )


def pieces(study):
    """The most bytes that making the page's pieces held, and the pieces."""
    tracemalloc.start()
    try:
        shown = [piece(study).html for piece in OF_DATA]
        return tracemalloc.get_traced_memory()[1], shown
    finally:
        tracemalloc.stop()


GREATER = {"null": 0.5, "alternative": "greater"}


@pytest.mark.parametrize(
    "n, more", [(10**8, {}), (10**15, {}), (10**15, {"null": 0.5}), (10**15, GREATER)]
)
def test_a_page_of_very_many_trials_is_bounded(n, more):
    held, shown = pieces(significance.read(counts(n, 3 * int(n**0.5)), **more))
    assert held < 200e6
    assert sum(map(len, shown)) < 3e6


def test_the_page_says_where_the_score_test_stands_in():
    note = "Above 1,000,000,000 trials the score test replaces Fisher's test"
    assert note in significance_page.findings(significance.read(counts(10**9, 40_000))).text
    assert note not in significance_page.findings(significance.read(counts(10**8, 40_000))).text
    exact = (
        "replaces the exact binomial test, from which it differs by less than 0.1%: A − null 0.5, "
        "B − null"
    )
    assert (
        exact
        in significance_page.findings(significance.read(counts(10**10, 40_000), null=0.5)).text
    )


def test_the_picture_of_a_null_says_how_many_numbers_it_draws():
    caption = significance_page.null_distribution(
        significance.read(counts(10**8, 12_000), null=0.5)
    ).caption
    assert "One outcome in " in caption
    assert (
        "One outcome in "
        not in significance_page.null_distribution(
            significance.read(counts(1000, 20), null=0.5)
        ).caption
    )


def test_counts_that_doubles_cannot_hold_are_refused():
    table = pd.DataFrame({"successes": [1e20], "trials": [1e20]})
    with pytest.raises(InputError, match=r"must be whole .*1 ≤ trials < 2⁵³, got 1e.20 of 1e.20"):
        significance.read(table, null=0.5)


@pytest.mark.parametrize(("units", "shown"), [(5, False), (6, True)])
def test_no_difference_is_detectable_where_sign_flips_have_no_p_below_the_level(units, shown):
    values = np.arange(units) / 100
    study = significance.read(
        pd.DataFrame({"unit": [*"abcdef"[:units]], "a": values, "b": values**2})
    )
    assert np.isfinite(study.comparisons["detectable"]).all() == shown

"""The significance study and its page: the family, every kind of input, looks, pictures, lessons,
any size.
"""

import json
import re
import tracemalloc
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from significance_tables import rng, told as findings_text, wide as values_of_a_and_b

from evalkit.arrays import InputError, ParameterError
from evalkit.drawing import plots
from evalkit.metrics.distributions import Distribution
from evalkit.pages import first_screen, lessons_page, page, ranking_page, significance_page
from evalkit.statistics import methods, multiplicity, significance as tests
from evalkit.statistics.alternatives import Alternative
from evalkit.studies import lessons, paired, ranking, significance
from evalkit.studies.paired import RESAMPLES


@pytest.fixture(scope="module")
def study_of_sample():
    """The study of the bundled sample: five systems, three metrics, 100 queries."""
    return significance.read()


def test_all_pairs_of_all_metrics_are_one_family(study_of_sample):
    """The bundled sample has five systems, and so 10 pairs, and three metrics."""
    family = "30 comparisons: 3 metrics × 10 pairs; Holm"
    assert study_of_sample.family == family
    assert f"Family: {family}." in first_screen.verdict(study_of_sample).text


def test_a_family_against_a_baseline_has_a_pair_for_each_candidate():
    """The bundled sample has three metrics and five systems: lda_cosine and 4 others."""
    study = significance.read(baseline="lda_cosine")
    assert study.family == "12 comparisons: 3 metrics × 4 candidates; Holm"


def test_p_values_are_adjusted_over_the_whole_family(study_of_sample):
    """The bundled sample has 10 pairs of systems and 3 metrics, and so 30 p-values. `adjusted` is p
    after Holm's correction for all 30, `max_t` p after the correction by joint sign flips.
    """
    rows = study_of_sample.comparisons
    assert len(rows) == 30
    assert rows["adjusted"].to_numpy() == pytest.approx(multiplicity.holm(rows["p"]))
    assert (rows["max_t"] >= rows["p"]).all()


def detectable_differences(study):
    """The true difference that the test of each pair would find with the usual power."""
    return study.comparisons.set_index(["metric", "first", "second"])["detectable"]


def test_what_a_pair_would_show_is_that_of_the_ranking_report_of_the_same_lists():
    """The bundled samples of the ranking and the significance report are the same ranked lists and
    their values per query, so that the detectable differences by nDCG are the same.
    """
    of_lists = detectable_differences(ranking.read(metrics="ndcg@10"))
    of_values = detectable_differences(significance.read(metrics="ndcg@10"))[of_lists.index]
    assert of_values.to_numpy() == pytest.approx(of_lists.to_numpy(), rel=1e-12)


def test_what_a_pair_would_show_is_larger_beside_other_metrics(study_of_sample):
    """A verdict is adjusted for all pairs and metrics. The more metrics are tested, the larger a
    true difference must therefore be to be detected: it is smaller by nDCG alone.
    """
    alone = detectable_differences(significance.read(metrics="ndcg@10"))
    assert (detectable_differences(study_of_sample)[alone.index] > alone).all()


def test_every_way_to_test_is_named():
    """The p-values of pairs are found in two ways, as some pairs differ on few queries and others
    on many: the table and the first screen name both ways.
    """
    study = significance.read(metrics="mrr", baseline="pixel_cosine")
    how = "sign flip, exact enumeration; or sign flip, importance sampling with 8,192 draws"
    assert f"p by {how}; adjusted" in page.comparisons(study).html
    assert f"two-sided; {how}. Better" in first_screen.verdict(study).html


# Looks, margins, and what a p is


class PlannedAnalyses(NamedTuple):
    """The comparison of a and b on the same data, as the only analysis that is planned and as one
    of five analyses of growing data.
    """

    only_one: pd.Series
    one_of_five: pd.Series


@pytest.fixture(scope="module", params=range(8))
def comparison_of_a_and_b(request):
    """a lies about 0.25 above b on 60 queries; for eight seeds."""
    differences = rng(request.param).normal(0.25, 1, 60)
    table = pd.DataFrame({"query": [f"q{i}" for i in range(60)], "a": differences, "b": 0.0})
    only_one = significance.read(table, looks=1, baseline="b").comparisons.iloc[0]
    one_of_five = significance.read(table, looks=5, baseline="b").comparisons.iloc[0]
    return PlannedAnalyses(only_one, one_of_five)


def test_p_over_five_analyses_lies_between_p_and_five_times_p(comparison_of_a_and_b):
    """The p-value of one of five planned analyses allows for the others. So it is at least that of
    the same data as the only analysis, and at most five times as large (Bonferroni).
    """
    p = comparison_of_a_and_b.only_one["p"]
    p_of_one_of_five = comparison_of_a_and_b.one_of_five["p"]
    rounding = 1e-12
    assert p <= p_of_one_of_five <= 5 * p + rounding


def test_intervals_over_five_analyses_are_wider(comparison_of_a_and_b):
    assert comparison_of_a_and_b.one_of_five["low"] <= comparison_of_a_and_b.only_one["low"]


def test_an_interval_over_five_analyses_excludes_0_exactly_where_p_is_below_5_percent(
    comparison_of_a_and_b,
):
    comparison = comparison_of_a_and_b.one_of_five
    excludes_0 = not comparison["low"] <= 0 <= comparison["high"]
    assert (comparison["p"] < 0.05) == excludes_0


def test_each_of_five_analyses_is_tested_at_pococks_level():
    """Five analyses of growing data, each at the level 0.05, would find a difference in 14.2 % of
    experiments without one. At 0.0158 each (Pocock 1977, table 1) they find one in 5 %. `looks` is
    the number of planned analyses, and `test_level` the confidence level of each.
    """
    study = significance.read(values_of_a_and_b(), looks=5)
    assert study.test_level == pytest.approx(1 - 0.0158, abs=1e-4)
    sentence = (
        "5 planned analyses of growing data: at 0.05 each, 14.2% of experiments without a "
        "difference"
    )
    assert sentence in findings_text(study)


@pytest.mark.parametrize("level, verdict", [(0.9375, "cannot tell"), (0.9374, "higher")])
def test_a_p_of_exactly_one_less_the_level_rejects_nothing(level, verdict):
    """On all of five queries a is higher than b. Two of the 2⁵ ways to flip their signs are as
    extreme as the data, so that p = 2/32 = 0.0625. The difference is significant only if p is below
    1 − level, not if it is equal: 1 − 0.9375 = 0.0625.
    """
    table = pd.DataFrame({"query": range(5), "a": [1.0, 2, 3, 4, 5], "b": 0.0})
    assert significance.read(table, level=level).headline["verdict"].tolist() == [verdict]


@pytest.mark.parametrize("looks", [1, 3])
def test_a_p_that_is_undefined_stays_so_over_looks(looks):
    """The differences of a and b are equal on all five folds, so that their variance is 0 and the
    corrected t test has no p-value; neither has it as one of three planned analyses (looks).
    """
    table = pd.DataFrame({"fold": range(5), "a": 0.2, "b": 0.1})
    study = significance.read(table, test_to_train=0.25, looks=looks)
    assert study.comparisons[["p", "adjusted"]].isna().all(axis=None)


@pytest.mark.parametrize(
    "make_figure", [significance_page.null_distribution, significance_page.duality]
)
def test_captions_say_that_p_is_corrected_for_analyses(make_figure):
    """Five analyses of growing data are planned (looks)."""
    study = significance.read(values_of_a_and_b(gain=0.1), looks=5)
    assert make_figure(study).caption.endswith("p 0.10, corrected for 5 analyses.")


def test_equivalence_and_non_inferiority_by_the_margin(study_of_sample):
    """The table of the page has a line for each pair, which ends with whether the systems are
    equivalent and whether the first is not inferior. The interval of pixel_cosine − lda_cosine ends
    at 0.054, above the margin of 0.05, so that equivalence is not established; it begins above
    −0.05, so that non-inferiority is ("yes").
    """
    lines = significance_page.equivalence(study_of_sample).text.splitlines()
    (line,) = [line for line in lines if line.startswith("pixel_cosine − lda_cosine")]
    assert re.search(r"not established +yes *$", line)


def test_without_a_margin_nothing_is_equivalent():
    study = significance.read(values_of_a_and_b())
    assert significance_page.equivalence(study).html == ""
    assert "No margin was set" in first_screen.verdict(study).text


UNITS = 1_200  # above those whose bootstrap draws Poisson counts first


@pytest.fixture(scope="module")
def five_systems():
    """Normal values of a, b and c on 1,200 rows, of which c lacks ten: its pairs have fewer units.
    Systems d and e have values 0 and 1, so that their difference has three values.
    """
    values = pd.DataFrame(rng(4).normal(size=(UNITS, 3)), columns=list("abc"))
    d = (values["a"] > 0) * 1.0
    e = (values["b"] > 0.5) * 1.0
    values.loc[:9, "c"] = np.nan
    return values.assign(d=d, e=e, id=range(UNITS), user=np.arange(UNITS) // 3)


@pytest.mark.parametrize("unit", [None, "user"])
def test_pairs_that_share_bootstrap_samples_have_the_p_of_each_alone(
    five_systems, unit, monkeypatch
):
    """The ten pairs of five systems are resampled with the same bootstrap samples of units, four
    pairs at a time: `DIFFERENCES` is the most differences of units held at once. Expected is the p
    of a bootstrap of each pair alone, which draws its samples with the generator that a study uses
    for its bootstrap, `study.rng(5)`. A unit is a row, or a user with several rows.
    """
    monkeypatch.setattr("evalkit.studies.paired.HELD_DIFFERENCES", 4 * UNITS)
    study = significance.read(five_systems, unit=unit, columns={"unit": "id"}, systems="a,b,c,d,e")
    p_of_pair = paired.other_tests(study).set_index(["first", "second"])["bootstrap"]
    assert len(p_of_pair) == 10
    for pair in study.pairs:
        differences = study.unit_differences(pair, study.primary_metric)
        rows_of_unit = differences.rows if unit else None
        of_pair_alone = tests.paired_bootstrap(
            differences.total, rows_of_unit, rng=study.rng(5), resamples=RESAMPLES
        )
        assert p_of_pair[pair] == of_pair_alone.p_value


FOLDS = pd.DataFrame(
    {"fold": range(6)} | {name: rng(i).normal(size=6) for i, name in enumerate("abc")}
)
ARMS = pd.DataFrame({"arm": list("ABC"), "successes": [5, 6, 7], "trials": [10, 10, 10]})


@pytest.mark.parametrize(
    "table, parameters",
    [(FOLDS, {"test_to_train": 0.2}), (ARMS, {}), (values_of_a_and_b(), {})],
    ids=["folds", "arms", "two systems"],
)
def test_what_is_not_ranked_has_no_section_of_ranks(table, parameters):
    """The values of systems on folds, whose training sets overlap, the successes of arms, and the
    values of only two systems have no mean ranks.
    """
    study = significance.read(table, **parameters)
    assert significance_page.ranks(study).html == ""


def test_a_figure_of_many_systems_holds_the_30_highest_mean_ranks():
    """Each of 40 systems, s00 to s39, is better than the one before on each of 12 queries, so that
    the 30 systems with the highest mean ranks are s10 to s39. Only they are named in the text that
    describes the figure.
    """
    base = rng(1).normal(size=12)
    names = [f"s{i:02d}" for i in range(40)]
    values = {name: base + i / 50 for i, name in enumerate(names)}
    table = pd.DataFrame({"query": range(12)} | values)
    figure = significance_page.ranks(significance.read(table, baseline="s00"))
    assert "k = 40 systems" in figure.caption
    assert "The figure shows the 30 highest." in figure.caption
    assert [name for name in names if f"{name} " in figure.alt] == names[10:]


def axes_drawn_by(draw, *data, **options):
    """The axes on which a drawing function drew."""
    return draw(*data, Figure().subplots(), **options)


def test_the_picture_of_power_has_a_line_for_each_number_of_units(study_of_sample):
    """The bundled sample has 100 queries. The figure has a curve of the power by the true
    difference for n = 100, for a quarter and for four times as many.
    """
    curve = paired.power_curve(study_of_sample)
    ax = axes_drawn_by(plots.power, curve, observed=0.0086, margin=0.05, xlabel="true difference")
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert {"n = 25", "n = 100", "n = 400"} <= set(lines)
    assert lines["n = 100"].tolist() == curve[curve["units"] == 100]["power"].tolist()


def test_the_coloured_bars_of_the_null_distribution_are_p(study_of_sample):
    """The figure is a histogram of the mean difference of a pair of systems under random signs. Its
    bars are in two containers: those within ± the observed difference, and the coloured ones, which
    are at least as extreme. All heights add up to 1, those of the coloured bars to p. There are
    16,384 draws, and the bar in which the observed difference lies is coloured as a whole: hence
    only within 0.03.
    """
    headline = study_of_sample.headline.iloc[0]
    ax = axes_drawn_by(
        plots.null_distribution,
        study_of_sample.null_draws(),
        observed=headline["difference"],
        alternative=Alternative.TWO_SIDED,
        xlabel="x",
        ylabel="y",
    )
    bars_inside, bars_as_extreme = ax.containers
    inside = sum(bar.get_height() for bar in bars_inside)
    as_extreme = sum(bar.get_height() for bar in bars_as_extreme)
    assert inside + as_extreme == pytest.approx(1)
    assert as_extreme == pytest.approx(headline["p"], abs=0.03)


def test_the_histogram_of_differences_has_every_query(study_of_sample):
    """The bundled sample has 100 queries, each with a difference of the first pair of systems."""
    differences = Distribution.from_values(study_of_sample.differences().to_numpy())
    ax = axes_drawn_by(plots.histogram, differences, xlabel="x", ylabel="y")
    assert sum(bar.get_height() for bar in ax.patches) == 100


@pytest.mark.parametrize(("direction", "number_of_green"), [(1, 1), (-1, 3), (0, 0)])
def test_differences_that_are_better_are_green(direction, number_of_green):
    """Of four differences one is positive and three are negative. The direction is 1 if higher
    values are better, −1 if lower ones are, and 0 if neither is known to be better.
    """
    differences = Distribution.from_values(np.array([-0.4, -0.3, -0.2, 0.1]))
    ax = axes_drawn_by(plots.histogram, differences, xlabel="x", ylabel="y", direction=direction)
    bars = [bar for container in ax.containers for bar in container]
    green = [bar for bar in bars if to_hex(bar.get_facecolor()) == plots.COLOURS[2].lower()]
    assert sum(bar.get_height() for bar in green) == number_of_green


def test_the_words_on_the_bars_beside_0_say_0(monkeypatch):
    """With a largest difference of 0.9 there are 40 bars from -0.9 to 0.9. By rounding, 20 of their
    widths are 0.9 - 1.1e-16, so that the bar that begins at 0 would say -1.1e-16.
    """
    words = []
    monkeypatch.setattr(plots.marks, "mark_points", lambda bar, system, says: words.extend(says))
    differences = Distribution.from_values(np.array([0.9, -0.01, 0.01]))
    axes_drawn_by(plots.histogram, differences, xlabel="x", ylabel="y")
    assert {"−0.0450 to 0: 1", "0 to +0.0450: 1"} <= {*words}


# The report


@pytest.fixture(scope="module")
def stored_results(sample_reports):
    """The results of the bundled sample as an earlier report has stored them."""
    return json.loads((sample_reports / "significance.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def study_of_stored_results(sample_reports):
    """The study of the file of an earlier report, whose stored differences of the first pair are
    tested again, with a margin of 0.06.
    """
    return significance.read(str(sample_reports / "significance.json"), margin=0.06)


def test_an_earlier_report_is_tested_again(stored_results, study_of_stored_results):
    """A report that was written earlier stores its results, with the differences of its first pair
    of systems. When it is read again with a margin of 0.06, the new study has the same pair,
    difference and n. Its p is found with other random signs, and so is only about the same. The
    interval lies within ±0.06, hence the verdict.
    """
    before = stored_results["headline"][0]
    (again,) = study_of_stored_results.headline.to_dict("records")
    assert (again["first"], again["second"]) == (before["first"], before["second"])
    assert again["difference"] == pytest.approx(before["difference"])
    assert again["n"] == before["n"]
    assert again["p"] == pytest.approx(before["p"], abs=0.01)
    assert again["verdict"] == "equivalent"


def test_systems_of_an_earlier_report_have_the_values_that_it_stored(
    stored_results, study_of_stored_results
):
    """`stored_results` are those that an earlier report wrote; `study_of_stored_results` is the
    study that reads them. They have the values of all systems by the primary metric.
    """
    stored_values = {
        row["system"]: row["value"]
        for row in stored_results["estimates"]
        if row["metric"] == stored_results["primary"]
    }
    values = study_of_stored_results.estimates.set_index("system")["value"].to_dict()
    assert values == {name: stored_values[name] for name in study_of_stored_results.systems}


def test_equal_means_over_rows_and_units_are_not_told_apart(study_of_stored_results):
    """In this earlier report each query is one row, so that no finding says that the mean of the
    stored differences, one per query, is another one than the mean over rows.
    """
    assert "The mean of these differences" not in findings_text(study_of_stored_results)


def write_earlier_report(folder, results):
    """Write the results of a report as JSON and return the path."""
    path = folder / "earlier.json"
    path.write_text(json.dumps(results._repr_mimebundle_()["application/vnd.evalkit+json"]))
    return str(path)


def test_an_earlier_report_whose_differences_are_not_of_its_units_is_refused(tmp_path):
    """The ranking report of the bundled sample has 100 queries, of 10 digits, which are the units.
    It stores a difference per query, not per digit.
    """
    study = ranking.read(unit="digit", systems="pixel_cosine,lda_cosine")
    message = r"a report on 10 units \(digit\) must hold one .*, got 100; use"
    with pytest.raises(InputError, match=message):
        significance.read(write_earlier_report(tmp_path, ranking_page.results(study)))


@pytest.fixture(scope="module")
def earlier_report_on_users(tmp_path_factory):
    """The JSON of a report on twenty users of 1 to 29 rows each."""
    user = np.repeat(np.arange(20), rng(1).integers(1, 30, 20))
    a = rng(2).normal(0.3, 1, user.size)
    b = rng(3).normal(size=user.size)
    table = pd.DataFrame({"user": user.astype(str), "a": a, "b": b})
    study = significance.read(table, unit="user")
    return write_earlier_report(tmp_path_factory.mktemp("users"), significance_page.results(study))


def test_an_earlier_mean_over_rows_is_told_from_a_mean_over_units(earlier_report_on_users):
    """The earlier report is on the mean over the rows of twenty users of 1 to 29 rows, and stores
    one difference per user. The mean of these is another one, of which a finding tells.
    """
    again = significance.read(earlier_report_on_users)
    assert again.comparisons["n"].tolist() == [20]
    assert "The mean of these differences is" in findings_text(again)


@pytest.mark.parametrize(
    "parameter", [{"unit": "user"}, {"systems": "a"}, {"columns": "unit=user"}, {"metrics": "loss"}]
)
def test_parameters_about_columns_are_refused_beside_an_earlier_report(
    earlier_report_on_users, parameter
):
    """The stored results of an earlier report have no columns to choose."""
    (name,) = parameter
    with pytest.raises(ParameterError, match=f"{name}: "):
        significance.read(earlier_report_on_users, **parameter)


def test_the_simulations_claim_no_more_than_two_standard_errors():
    """The page simulates rates in a number of runs. The standard error of a rate is at most that
    of one half, √(¼ / runs); the page claims an accuracy of two of them, in percentage points.
    """
    points = 100 * 2 * np.sqrt(0.25 / lessons.SIMULATION_RUNS)
    html = significance_page.teaching(significance.read(values_of_a_and_b())).html
    says = f"300 runs (Wilcoxon 30): rates are accurate to about {points:.0f} percentage points."
    assert says in html


def test_the_error_rates_of_mistakes_are_those_of_the_simulations():
    simulated = [simulate() for simulate in lessons.SIMULATIONS]
    assert simulated == [(row.wrong_rate, row.right_rate) for row in lessons.MISTAKES]


@pytest.fixture(scope="module")
def results_of_lessons():
    """What the results of a report hold of the lessons, simulations that teach what p means."""
    return significance_page.results(significance.read(values_of_a_and_b())).results["lessons"]


def test_the_results_have_the_distribution_of_the_coin_and_the_numbers_of_looks(results_of_lessons):
    assert sum(results_of_lessons["coin"]["chance"]) == pytest.approx(1)
    assert results_of_lessons["looks"]["looks"] == [1, 2, 5, 10, 20]


def test_the_results_have_the_intervals_that_miss_by_the_caption(results_of_lessons):
    intervals = pd.DataFrame(results_of_lessons["hundred"])
    missed = (~intervals["covers"]).groupby(intervals["method"]).sum()
    says = f"the {missed['t']} (t) and {missed['z with s']} (z with s) that miss"
    assert says in lessons_page.hundred().caption


@pytest.fixture(scope="module")
def study_of_10_users_of_2_and_10_of_40_rows():
    """The study of systems a and b by user. On the two rows of each of ten users a is worse than b
    by about 1, on the forty rows of each of ten other users better by about 1.
    """
    rows_of_user = np.repeat([2, 40], 10)
    user = np.repeat(np.arange(20), rows_of_user)
    gain = np.where(user < 10, -1.0, 1.0) + rng(6).normal(0, 0.1, user.size)
    return significance.read(pd.DataFrame({"user": user, "a": gain, "b": 0.0}), unit="user")


def test_the_mean_over_rows_is_not_that_over_users(study_of_10_users_of_2_and_10_of_40_rows):
    """The difference of a and b is about −1 on the 2 rows of each of 10 users, and about 1 on the
    40 rows of each of 10 other users. By hand: (400 − 20) / 420 = 0.90 over rows, (10 − 10) / 20 =
    0 over users. The noise has a standard deviation of 0.1 per row: the mean over rows has a
    standard error of 0.1 / √420 = 0.005, that over users one of 0.011. The tolerances are about
    four of them.
    """
    study = study_of_10_users_of_2_and_10_of_40_rows
    (mean_over_rows,) = study.comparisons["difference"]
    difference_of_each_user = study.differences()
    assert mean_over_rows == pytest.approx(380 / 420, abs=0.02)
    assert difference_of_each_user.mean() == pytest.approx(0, abs=0.05)
    title = "Mean over rows, whole users as units, with its 95% interval"
    assert title in significance_page.estimates(study).text


def test_other_tests_are_of_the_mean_over_rows(study_of_10_users_of_2_and_10_of_40_rows):
    """The mean difference over all rows of 20 users is 0.90 and significant; the mean over users is
    about 0 and would not be. So small p-values of the t test and the bootstrap show that they test
    the mean over rows. The p-value of t is that of `methods.t_test` on the sums and the numbers of
    rows of the users.
    """
    study = study_of_10_users_of_2_and_10_of_40_rows
    (row,) = study.comparisons.to_dict("records")
    (p_by_test,) = paired.other_tests(study).to_dict("records")
    assert max(row["p"], p_by_test["t"], p_by_test["bootstrap"]) < 0.01
    sums_by_user = [study.measure(study.primary_metric, name) for name in study.headline_systems]
    # t draws no random numbers, so that any stream of them will do
    options = study.inference_options(methods.RandomStream.COMPARISONS)
    t_test = methods.t_test(*sums_by_user, options)
    assert p_by_test["t"] == pytest.approx(t_test.p_value)
    words = "t and bootstrap take whole users, the other"
    assert words in significance_page.other_tests(study).html


def test_effect_sizes_are_of_users(study_of_10_users_of_2_and_10_of_40_rows):
    """System a is worse than b on all rows of ten users and better on all rows of ten others, so
    that it wins 10 of 20 users. The standardised difference is that of the 20 means of users. Only
    the difference itself is the mean over rows, as in the comparison of the study.
    """
    study = study_of_10_users_of_2_and_10_of_40_rows
    difference_of_each_user = study.differences()
    (sizes,) = paired.effects(study).to_dict("records")
    assert (sizes["wins"], sizes["ties"], sizes["losses"]) == (10, 0, 10)
    standardised = difference_of_each_user.mean() / difference_of_each_user.std()
    assert sizes["standardised"] == pytest.approx(standardised)
    (mean_over_rows,) = study.comparisons["difference"]
    assert sizes["difference"] == pytest.approx(mean_over_rows)


def probabilities_of_a_and_b(users=30, each=8) -> pd.DataFrame:
    """Probabilities by system a, which are equally good or bad on all 8 rows of each of 30 users,
    and by system b, which are 0.5.
    """
    rows = np.arange(users * each)
    user = rows // each
    label = rng(8).integers(0, 2, rows.size)
    skill = rng(9).normal(0, 0.2, users)[user].clip(-0.4, 0.4)
    shared = pd.DataFrame({"id": rows, "user": user, "label": label})
    a = shared.assign(system="a", score=0.5 + (2 * label - 1) * skill)
    return pd.concat([a, shared.assign(system="b", score=0.5)])


def comparison_of_a_and_b_by_brier_score(**parameters):
    """The comparison of systems a and b by the Brier score."""
    study = significance.read(probabilities_of_a_and_b(), metrics="brier", **parameters)
    (comparison,) = study.comparisons.to_dict("records")
    return comparison


def test_losses_of_one_user_are_flipped_together():
    """Systems a and b have probabilities for eight rows of each of 30 users. The Brier losses of
    all rows of a user are the same, so that the 240 rows hold no more information than 30 users.
    The interval by user is therefore about √8 = 2.8 times as wide as the one by row, which takes
    rows as independent; at least twice as wide is asked for.
    """
    by_row = comparison_of_a_and_b_by_brier_score()
    by_user = comparison_of_a_and_b_by_brier_score(unit="user")
    assert (by_row["n"], by_row["unit"]) == (240, "row")
    assert (by_user["n"], by_user["unit"]) == (30, "user")
    assert by_user["difference"] == pytest.approx(by_row["difference"])
    width_by_row = by_row["high"] - by_row["low"]
    assert by_user["high"] - by_user["low"] > 2 * width_by_row


def test_the_unit_of_losses_is_said():
    """A finding names the columns of the score and of the unit that were read."""
    study = significance.read(probabilities_of_a_and_b(), unit="user")
    assert "score = score, unit = user." in findings_text(study)


def test_ids_as_units_are_rows():
    """Each row of a system has an id of its own, so that the unit "id" is the row."""
    assert (
        significance.read(probabilities_of_a_and_b(), metrics="brier", unit="id").unit_name == "row"
    )


def test_rows_that_another_system_lacks_are_told():
    """Systems a and b have 240 rows each, of which the last 7 of b are removed: the comparisons by
    two metrics are on the 233 ids that both have.
    """
    study = significance.read(probabilities_of_a_and_b().iloc[:-7])
    assert study.comparisons["n"].tolist() == [233, 233]
    assert "7 rows left out: another system lacks their id." in findings_text(study)


def test_queries_that_a_run_lacks_are_told(tmp_path):
    """Nine queries are judged, q0 to q8, each with one relevant document. Run a has all nine, with
    this document first: its MRR is 1. Run b has q4 to q9: the 4 judged queries that it lacks count
    as 0, so that its MRR is 5/9 and the difference 4/9; q9 is not judged and is left out.
    """
    (tmp_path / "qrels.txt").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(9)))
    (tmp_path / "a.run").write_text("".join(f"q{i} Q0 d{i} 1 1.0 a\n" for i in range(9)))
    (tmp_path / "b.run").write_text("".join(f"q{i} Q0 d{i} 1 1.0 b\n" for i in range(4, 10)))
    runs = f"{tmp_path}/a.run,{tmp_path}/b.run"
    study = significance.read(runs, str(tmp_path / "qrels.txt"), metrics="mrr")
    assert study.comparisons["difference"].tolist() == pytest.approx([4 / 9])
    assert "Judged queries missing from a run count as 0: b 4." in findings_text(study)
    assert "Queries without judgements are left out: b 1." in findings_text(study)


def test_metrics_of_probabilities_are_defined_as_the_catalogue_has_them():
    text = significance_page.definitions(significance.read(probabilities_of_a_and_b())).text
    assert "brier: mean (probability − label)²" in text
    assert "the mean of the values in the input" not in text


def test_metrics_of_values_are_defined_as_their_mean():
    text = significance_page.definitions(significance.read(values_of_a_and_b())).text
    assert "the mean of the values in the input" in text


OF_DATA = [piece for piece in significance_page.PIECES if piece is not significance_page.teaching]


def arms_a_and_b(trials, more_successes):
    """Counts of arms A and B of so many trials each: B succeeds in a half, and A more often by
    `more_successes`.
    """
    successes = [trials // 2 + more_successes, trials // 2]
    return pd.DataFrame({"arm": list("AB"), "successes": successes, "trials": [trials, trials]})


class MadePieces(NamedTuple):
    """The HTML of the pieces of a page, and the most bytes of memory that making them took."""

    html: list[str]
    peak: int


def made_pieces(study):
    tracemalloc.start()
    try:
        html = [piece(study).html for piece in OF_DATA]
        _, peak = tracemalloc.get_traced_memory()
        return MadePieces(html, peak)
    finally:
        tracemalloc.stop()


GREATER = {"null": 0.5, "alternative": "greater"}


@pytest.mark.parametrize(
    "trials, parameters", [(10**8, {}), (10**15, {}), (10**15, {"null": 0.5}), (10**15, GREATER)]
)
def test_a_page_of_very_many_trials_is_bounded(trials, parameters):
    """Two arms have so many trials each, and A succeeds more often by six standard errors of a
    share of a half, 6 · √(trials / 4). The page neither holds a number per trial, so that 200 MB of
    memory are enough, nor writes one, so that it has fewer than 3 million characters.
    """
    six_standard_errors = 3 * int(trials**0.5)
    study = significance.read(arms_a_and_b(trials, six_standard_errors), **parameters)
    pieces = made_pieces(study)
    assert pieces.peak < 200e6
    assert sum(len(html) for html in pieces.html) < 3e6


@pytest.mark.parametrize("trials, replaced", [(10**8, False), (10**9, True)])
def test_the_page_says_that_the_score_test_replaces_fishers_above_a_billion(trials, replaced):
    """Two arms have so many trials each; B succeeds in a half of them, and A 40,000 times more."""
    note = "Above 1,000,000,000 trials the score test replaces Fisher's test"
    findings = significance_page.findings(significance.read(arms_a_and_b(trials, 40_000)))
    assert (note in findings.text) == replaced


def test_the_page_says_that_the_score_test_replaces_the_exact_binomial_test():
    """Arms A and B have 10¹⁰ trials each; the share of successes of each is compared with the null
    hypothesis of 0.5. The exact binomial test is computed for up to 10⁹ trials; above, the score
    test takes its place, of which a finding tells with the names of both comparisons.
    """
    arms = arms_a_and_b(10**10, more_successes=40_000)
    findings = significance_page.findings(significance.read(arms, null=0.5))
    note = (
        "replaces the exact binomial test, from which it differs by less than 0.1%: A − null 0.5, "
        "B − null"
    )
    assert note in findings.text


@pytest.mark.parametrize(
    "trials, more_successes, some_are_drawn", [(10**8, 12_000, True), (1000, 20, False)]
)
def test_the_picture_of_a_null_says_if_it_draws_some_of_the_outcomes(
    trials, more_successes, some_are_drawn
):
    """The figure shows the distribution of the successes of an arm if its true share is 0.5. Of
    1,000 trials every number of successes is drawn, of 10⁸ one in so many.
    """
    study = significance.read(arms_a_and_b(trials, more_successes), null=0.5)
    caption = significance_page.null_distribution(study).caption
    assert ("One outcome in " in caption) == some_are_drawn


def test_counts_that_doubles_cannot_hold_are_refused():
    """Double precision holds every whole number only up to 2⁵³."""
    table = pd.DataFrame({"successes": [1e20], "trials": [1e20]})
    with pytest.raises(InputError, match=r"must be whole .*1 ≤ trials < 2⁵³, got 1e.20 of 1e.20"):
        significance.read(table, null=0.5)


@pytest.mark.parametrize(("units", "is_finite"), [(5, False), (6, True)])
def test_no_difference_is_detectable_where_sign_flips_have_no_p_below_the_level(units, is_finite):
    """Two of the 2ⁿ ways to flip the signs of n units are as extreme as the data, so that p is at
    least 2 / 2ⁿ: 0.0625 for five units, 0.031 for six. At the level 0.05 five units can never show
    a difference, however large it is.
    """
    values = np.arange(units) / 100
    table = pd.DataFrame({"unit": [*"abcdef"[:units]], "a": values, "b": values**2})
    assert np.isfinite(significance.read(table).comparisons["detectable"]).all() == is_finite

"""Values of a judge, corrected by labels: agreement, bias, prediction-powered means, refusals."""

import json
from pathlib import Path

import judged_samples
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import cohen_kappa_score

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue.lookup import named
from evalkit.catalogue.metric import MetricAtK
from evalkit.metrics.rows import Sums
from evalkit.pages import judges_page, significance_page
from evalkit.statistics import agreement, judged, methods
from evalkit.statistics.agreement import Ratings
from evalkit.statistics.judged import JudgedStatistic

ARENA = Path(__file__).resolve().parents[2] / "shared" / "data" / "judge"
if not ARENA.is_dir():
    ARENA = Path(__file__).resolve().parents[3] / "shared" / "data" / "judge"
SCORE = MetricAtK(named("score", "high"))
OPTIONS = methods.Options(0.95, np.random.default_rng(0))
COEFFICIENTS = {
    "kappa": agreement.kappa,
    "weighted": agreement.weighted_kappa,
    "alpha": agreement.alpha,
    "interval": agreement.interval_alpha,
    "ac1": agreement.ac1,
}


def study_of(table: pd.DataFrame, **options: object):
    return ek.significance(table, **{"oracle": "human", **options})


def judged_outputs(seed: int = 76, **options: object) -> pd.DataFrame:
    return judged_samples.long(np.random.default_rng(seed), **options)


def ratings_of_two(seed: int = 1, units: int = 200, categories: int = 4) -> Ratings:
    """Categories by two raters, of whom the second copies the first on 60 % of the units."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, categories, units).astype(float)
    other = rng.integers(0, categories, units)
    return Ratings(first, np.where(rng.random(units) < 0.6, first, other).astype(float))


def value(ratings: Ratings, name: str) -> float:
    return agreement.estimate(ratings, COEFFICIENTS[name](ratings), 0.95).value


def corrected_mean(score: np.ndarray, label: np.ndarray, unit: np.ndarray | None = None):
    """The mean of the labels, corrected by the judge's scores; a label is NaN where there is
    none.
    """
    return JudgedStatistic(SCORE, Sums(score), unit, labels=label)


# Agreement ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "disagreement_by_chance"),
    [
        ("kappa", 0.5 * 0.55 + 0.5 * 0.45),  # of the judge's 50 ones and the human's 45
        ("ac1", 1 - 2 * 0.475 * 0.525),  # of the mean share of ones
        ("alpha", 95 * 105 * 2 / (200 * 199)),  # of two of all 200 ratings, 95 of them ones
    ],
)
def test_agreement_of_a_table_of_four_cells_by_hand(name, disagreement_by_chance) -> None:
    """1 − disagreement / disagreement by chance, of 15 in 100."""
    judge = np.repeat([1.0, 1, 0, 0], [40, 10, 5, 45])
    human = np.repeat([1.0, 0, 1, 0], [40, 10, 5, 45])
    expected = 1 - 0.15 / disagreement_by_chance
    assert value(Ratings(judge, human), name) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("name", "weights"), [("kappa", None), ("weighted", "quadratic")])
def test_kappa_is_that_of_scikit_learn(seed: int, name: str, weights: str | None) -> None:
    ratings = ratings_of_two(seed)
    expected = cohen_kappa_score(ratings.first, ratings.second, weights=weights)
    assert value(ratings, name) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("name", "level"), [("alpha", "nominal"), ("interval", "interval")])
def test_alpha_is_that_of_krippendorff(name: str, level: str) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    ratings = ratings_of_two()
    theirs = krippendorff.alpha([*ratings[:2]], level_of_measurement=level)
    assert value(ratings, name) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_error_of_agreement_is_close_to_the_jackknife(name: str) -> None:
    """The standard error of a coefficient of agreement is compared with the jackknife's, from the
    coefficients without each of 400 units. The two differ by terms of the order of 1 / n = 0.25%,
    of which 3% allows for twelve.
    """
    n = 400
    ratings = ratings_of_two(units=n)
    without_one = []  # the coefficient without each unit in turn
    for i in range(n):
        others = Ratings(np.delete(ratings.first, i), np.delete(ratings.second, i))
        without_one.append(value(others, name))
    jackknife = np.sqrt((n - 1) / n * np.sum((without_one - np.mean(without_one)) ** 2))
    # at a level of 68.3% the normal quantile is 1, so half the interval is the standard error
    estimate = agreement.estimate(ratings, COEFFICIENTS[name](ratings), 0.6826895)
    assert (estimate.high - estimate.low) / 2 == pytest.approx(jackknife, rel=0.03)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_full_agreement_is_1_with_a_lower_limit(name: str) -> None:
    first = ratings_of_two().first
    ratings = Ratings(first, first)
    e = agreement.estimate(ratings, COEFFICIENTS[name](ratings), 0.95)
    assert (e.value, e.high) == (1.0, 1.0)
    assert 0.9 < e.low < 1


def test_agreement_on_one_category_is_undefined_but_for_ac1() -> None:
    """Both raters give 1 to all 20 units. The chance agreement of kappa and alpha is then 1, so
    that they are 0 / 0. That of AC1 is 0, so that AC1 is 1.
    """
    ratings = Ratings(np.ones(20), np.ones(20))
    assert np.isnan(value(ratings, "kappa"))
    assert np.isnan(value(ratings, "alpha"))
    assert value(ratings, "ac1") == 1.0


# Means --------------------------------------------------------------------------------------------


SCORES = np.array([1, 0, 1, 0, 1, 1, 0, 1, 1, 1.0])
LABELS = np.array([1, 0, 0, 0, 1, 1] + [np.nan] * 4)  # mean 1/2, of scores with mean 2/3
# λ: the covariance of labels and scores over (1 + 6 / 4) × the variance of all scores, 7/30
WEIGHT = np.mean((LABELS[:6] - 1 / 2) * (SCORES[:6] - 2 / 3)) / ((1 + 6 / 4) * (7 / 30))


def test_corrected_mean_by_hand() -> None:
    """Mean of the labels + λ (mean of the scores without a label, 3/4, less that of those with
    one).
    """
    mean = corrected_mean(SCORES, LABELS)
    assert mean.weight == pytest.approx(WEIGHT, abs=1e-12)
    assert mean.value == pytest.approx(1 / 2 + WEIGHT * (3 / 4 - 2 / 3), abs=1e-12)


def test_variance_of_a_corrected_mean_by_hand() -> None:
    """That of the mean of 6 corrections, two parameters of which are estimated, and of 4 scores."""
    corrections = LABELS[:6] - WEIGHT * SCORES[:6]
    variance = corrections.var() / (6 - 2) + WEIGHT**2 * SCORES[6:].var(ddof=1) / 4
    influence = corrected_mean(SCORES, LABELS).influence
    assert np.square(influence).sum() == pytest.approx(variance, abs=1e-12)


def test_a_judge_with_one_score_for_all_leaves_the_mean_of_the_labels() -> None:
    """A judge who gives 0.5 to all 200 outputs says nothing of the 40 that are labelled. Its weight
    λ is 0.
    """
    rng = np.random.default_rng(2)
    label = np.where(np.arange(200) < 40, rng.random(200), np.nan)
    mean = corrected_mean(np.full(200, 0.5), label)
    assert (mean.weight, mean.value) == (0.0, np.nanmean(label))


def test_labels_of_all_units_leave_the_judge_out() -> None:
    """If all 50 outputs are labelled, the mean is that of the labels."""
    rng = np.random.default_rng(3)
    label = rng.random(50)
    assert corrected_mean(rng.random(50), label).value == pytest.approx(label.mean(), abs=1e-15)


@pytest.mark.parametrize("frame", ["estimates", "comparisons"])
def test_a_constant_error_of_the_judge_changes_nothing(frame: str) -> None:
    """A judge who gives 3 more to every output has the same corrected estimates and comparisons."""
    table = judged_outputs()
    kinder = table.assign(judge=table["judge"] + 3)
    ours = getattr(study_of(table), frame).select_dtypes("number")
    theirs = getattr(study_of(kinder), frame)[ours.columns]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_the_order_of_rows_changes_nothing() -> None:
    table = judged_outputs()
    study = study_of(table)
    shuffled = study_of(table.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(study.estimates, shuffled.estimates)
    pd.testing.assert_frame_equal(study.agreement, shuffled.agreement)


@pytest.mark.parametrize(
    "options",
    [{"oracle": "b_human,a_human"}, {"oracle": "a_human,b_human", "systems": "a,b"}],
    ids=["by names", "in the order of systems"],
)
def test_a_wide_table_says_the_same_as_a_long_one(options: dict[str, str]) -> None:
    table = judged_samples.wide(np.random.default_rng(76))
    wide = study_of(table, metrics="judge", **options)
    study = study_of(judged_outputs(), metrics="judge")
    pd.testing.assert_frame_equal(study.estimates, wide.estimates)
    pd.testing.assert_frame_equal(study.labels_needed, wide.labels_needed)


def test_doubled_units_in_clusters_have_the_error_of_single_ones() -> None:
    """Each of 300 units has one row, or two equal rows, which tell no more than one. The estimate
    and the width of its interval are nearly the same; they differ a little, as the judge's weight λ
    is made from variances that divide by the number of rows less 1: by about 1 / 160 for 80 labels,
    and by much less in what is made from it.
    """
    rng = np.random.default_rng(4)
    # the judge's scores, a person's labels of all outputs, and the 80 that are known
    score, _, label = judged_samples.outputs(rng, units=300, labels=80)["a"]
    unit = np.repeat(np.arange(300), 2)
    single = corrected_mean(score, label)
    doubled = corrected_mean(score[unit], label[unit], unit)
    assert doubled.value == pytest.approx(single.value, abs=1e-3)
    assert width_of_interval(doubled) == pytest.approx(width_of_interval(single), rel=0.01)


def width_of_interval(mean: JudgedStatistic) -> float:
    interval = judged.interval(mean, OPTIONS)
    return interval.high - interval.low


def test_difference_is_that_of_the_estimates() -> None:
    study = study_of(judged_outputs(favour=0.6), baseline="b")
    estimates = study.estimates.set_index("system")["value"]
    (difference,) = study.comparisons["difference"]
    assert difference == pytest.approx(estimates["a"] - estimates["b"], abs=1e-12)


def test_labels_needed_halve_the_width_and_are_fewer_than_without_a_judge() -> None:
    """The plan says how many labels are needed for half of the present width: with the judge
    (`needed`), and without (`alone`).
    """
    needed = study_of(judged_outputs(labels=60, units=2000)).labels_needed
    assert needed["width"].to_numpy() == pytest.approx(needed["width_now"] / 2)
    assert (needed["needed"] < needed["alone"]).all()


def test_the_plan_gives_the_labels_that_there_are_for_the_width_that_there_is() -> None:
    """It takes a normal for a t distribution, which of 60 labels are 8 apart at most."""
    study = study_of(judged_outputs(labels=60, units=2000))
    row = study.labels_needed.iloc[0]
    plan = study.measure(study.primary_metric, row["what"]).plan()
    assert plan.labels_for(row["width_now"], 0.95) == pytest.approx(60, abs=8)


def test_a_width_that_labels_of_all_units_do_not_reach_needs_no_number_of_them() -> None:
    """Even labels of all 400 units leave an interval wider than 1e-6, so that the number needed is
    undefined.
    """
    study = study_of(judged_outputs(labels=60))
    plan = study.measure(study.primary_metric, "a").plan()
    assert np.isnan(plan.labels_for(1e-6, 0.95))


def test_a_width_that_is_asked_for_is_planned_for() -> None:
    assert {*study_of(judged_outputs(labels=60), width=0.1).labels_needed["width"]} == {0.1}


# Coverage, level and power of the warnings --------------------------------------------------------


@pytest.mark.parametrize("kind", ["score", "binary"])
@pytest.mark.parametrize("favour", [0.0, 0.6])
def test_intervals_of_corrected_means_cover(kind: str, favour: float) -> None:
    """`outputs` draws systems a and b, whom a judge scores and a person labels in part. Intervals
    at 95% of the mean label of a, of b and of their difference are computed in 300 samples. Their
    share that covers the mean of a large population has a standard error of 0.013: the bounds are
    4.8 of these below 0.95, and 2.8 above.
    """
    options = {"favour": favour, "kind": kind}
    rng = np.random.default_rng([76, len(kind), int(favour * 10)])
    population = judged_samples.outputs(rng, units=2_000_000, **options)
    # each system has the judge's scores, a person's label of every output, and 50 of these labels
    truth = {name: every_label.mean() for name, (_, every_label, _) in population.items()}
    truth["a − b"] = truth["a"] - truth["b"]
    covered = dict.fromkeys(truth, 0)
    samples = 300
    for _ in range(samples):
        sample = judged_samples.outputs(rng, units=1000, labels=50, **options)
        means = {name: corrected_mean(score, label) for name, (score, _, label) in sample.items()}
        intervals = {name: judged.interval(mean, OPTIONS) for name, mean in means.items()}
        intervals["a − b"] = judged.compare(means["a"], means["b"], OPTIONS).difference
        for name, interval in intervals.items():
            covered[name] += interval.low <= truth[name] <= interval.high
    for name, number in covered.items():
        assert 0.89 < number / samples < 0.985, name


@pytest.mark.parametrize(("favour", "least", "most"), [(0.0, 0, 3), (0.6, 17, 20)])
def test_a_favoured_system_is_found_and_an_equal_one_rarely(favour, least, most) -> None:
    """Of 20 samples, those are counted that find a system that the judge favours. Without favour
    (0) a sample finds one with about 5% probability: more than 3 of 20 have 1.6% (binomial). A
    favour of 0.6 is found in nearly all.
    """
    tables = [judged_outputs(seed, favour=favour, labels=100) for seed in range(20)]
    assert least <= sum(len(study_of(table).favoured) for table in tables) <= most


def codes(table: pd.DataFrame) -> list[str]:
    return [finding.kind.code for finding in judges_page.findings(study_of(table))]


def test_labels_of_the_highest_scores_are_warned_of() -> None:
    """A person labels the outputs with the highest 20 % of scores alone, which is not a random
    sample (EK363).
    """
    table = judged_outputs(labels=60)
    is_highest = table["judge"] > table["judge"].quantile(0.8)
    table["human"] = table["judge"].where(is_highest)
    assert "EK363" in codes(table)


def test_labels_of_random_units_are_not_warned_of() -> None:
    """The labelled outputs are a random sample, so that there is no finding that they are not
    (EK363).
    """
    assert "EK363" not in codes(judged_outputs())


# What is refused, and what the page says ----------------------------------------------------------


def test_refused_without_labels() -> None:
    """None of the outputs of system b has a label."""
    table = judged_outputs()
    table.loc[table["system"] == "b", "human"] = np.nan
    with pytest.raises(InputError, match=r"'b' must have at least 10 labels.*got 0"):
        study_of(table)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"oracle": "person"}, "oracle"),
        ({"oracle": "human,judge"}, "a long table has one column"),
        ({"claim": "these questions"}, "takes a sample of units"),
        ({"test_to_train": 0.1}, "takes a sample of units"),
    ],
)
def test_refused_parameters(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        study_of(judged_outputs(), **options)


def test_one_column_of_labels_for_two_systems_is_refused() -> None:
    """A wide table has a column of scores for each of two systems, and needs a column of labels for
    each as well.
    """
    wide = judged_samples.wide(np.random.default_rng(1)).drop(columns="b_human")
    with pytest.raises(ParameterError, match="systems=A,B oracle=LABELS_A,LABELS_B"):
        study_of(wide, oracle="a_human")


@pytest.fixture(scope="module")
def favouring():
    """The study of a judge that favours a."""
    return study_of(judged_outputs(favour=0.9, labels=100), baseline="b")


def test_the_verdict_says_what_is_estimated_from_how_many_labels(favouring) -> None:
    verdict = significance_page.verdict(favouring).text
    assert "These are estimates of what human would give" in verdict
    assert "100 of 400 items per system" in verdict


@pytest.mark.parametrize("words", ["Gwet's AC1", "weight λ", "labels needed", "judge − oracle"])
def test_the_section_of_the_judge_has_agreement_weight_plan_and_bias(favouring, words) -> None:
    assert words in significance_page.judge(favouring).text


def test_a_system_that_the_judge_favours_is_a_finding(favouring) -> None:
    every_finding = significance_page.every_finding(favouring)
    messages = {finding.kind.code: finding.message for finding in every_finding}
    assert {"EK361", "EK362"} <= messages.keys()
    assert "favours a by" in messages["EK362"]


def test_without_labels_there_is_no_section_of_the_judge() -> None:
    study = ek.significance(judged_outputs().drop(columns="human"))
    assert not significance_page.judge(study).html


def test_rare_labels_are_warned_of() -> None:
    """The 60 labels of system a are all 1, so that their sample variance is 0, and the report warns
    that they have few of the rarer kind, a label of 0. The interval must not have the width 0:
    Wilson's lower limit of 60 in 60 is 60 / (60 + 1.96²) = 0.94, and about that is asked for.
    """
    table = judged_outputs(kind="binary")
    is_of_a = table["system"] == "a"
    table.loc[is_of_a & table["human"].notna(), "human"] = 1.0
    study = study_of(table)
    messages = [finding.message for finding in judges_page.findings(study)]
    assert any("of the rarer kind for a" in message for message in messages)
    low = study.estimates.set_index("system").loc["a", "low"]
    assert low == pytest.approx(0.94, abs=0.005)


def test_two_categories_are_compared_without_a_cut() -> None:
    """Scores between 0 and 1 would be cut into two classes. Here judge and human give only 0 or 1,
    so that there is no cut, and no weighted kappa, which differs from kappa for more than two
    categories alone.
    """
    table = judged_outputs(kind="binary")
    study = study_of(table)
    labelled = table.query("system == 'a'").dropna(subset="human")
    values = study.agreement.set_index(["system", "coefficient"])["value"]
    kappa = cohen_kappa_score(labelled["judge"], labelled["human"])  # by scikit-learn
    assert values["a", "kappa"] == pytest.approx(kappa, abs=1e-12)
    assert np.isnan(study.cut)
    assert ("a", "weighted_kappa") not in values


# The published values -----------------------------------------------------------------------------

needs_published_values = pytest.mark.skipif(
    not ARENA.is_dir(), reason="the data stand outside the project"
)


def published_table_and_values() -> tuple[pd.DataFrame, dict]:
    """Outputs of several policies with a judge's score and for some an oracle's label, and what
    public tools computed from them.
    """
    expected = json.loads((ARENA / "expected" / "ppi_agreement.json").read_text())
    return pd.read_csv(ARENA / "arena.csv"), expected


@needs_published_values
def test_corrected_means_are_those_of_ppi_python() -> None:
    """PPI++ estimates the mean label as λ times the mean score of the outputs without a label, plus
    the mean correction, label less λ times score, of those with one. The estimate is the published
    one of the public package ppi_python. Its interval is not: the package divides variances by n,
    not n − 1, and has normal limits. So its lower limit is computed here in that way, from our
    corrections and our λ (`weight`), which shows that these are the same.
    """
    table, published = published_table_and_values()
    for policy, rows in table.groupby("policy"):
        expected = published["ppi"]["policies"][policy]["ppi_plus_plus"]
        mean = corrected_mean(rows["judge_score"].to_numpy(), rows["oracle_label"].to_numpy())
        assert mean.value == pytest.approx(expected["point"], abs=1e-10)
        corrections = mean.corrections[mean.labelled]
        weighted_scores = mean.weight * mean.score[mean.unlabelled]
        variance = (
            corrections.var() / corrections.size + weighted_scores.var() / weighted_scores.size
        )
        lower_limit = mean.value - norm.ppf(0.975) * np.sqrt(variance)
        expected_low, _ = expected["ci"]
        assert lower_limit == pytest.approx(expected_low, abs=1e-10)


@needs_published_values
@pytest.mark.parametrize("cut", [0.5, 0.7, 0.8])
def test_agreement_is_the_published_one(cut: float) -> None:
    """Scores and labels are cut into two classes at `cut`. Kappa and alpha are the published ones.
    The published AC1 has five decimals; the exact one is computed from the published confusion
    counts: chance agreement is 2 π (1 − π), with the mean share π of the first class by both
    raters.
    """
    table, published = published_table_and_values()
    study = ek.significance(
        table,
        columns={"unit": "prompt_id", "system": "policy"},
        oracle="oracle_label",
        cut=cut,
    )
    values = study.agreement.set_index(["system", "coefficient"])["value"]
    for policy in study.systems:
        expected = published["agreement"]["policies"][policy][str(cut)]
        kappa = expected["cohen_kappa"]
        assert values[policy, "kappa"] == pytest.approx(kappa, abs=1e-10)
        alpha = expected["krippendorff_alpha_nominal"]
        assert values[policy, "alpha"] == pytest.approx(alpha, abs=1e-10)
        counts = np.array(expected["confusion_judge_rows_oracle_cols"])
        n = counts.sum()
        judge_share = counts.sum(axis=1)[0] / n
        oracle_share = counts.sum(axis=0)[0] / n
        share = (judge_share + oracle_share) / 2
        by_chance = 2 * share * (1 - share)
        ac1 = (np.trace(counts) / n - by_chance) / (1 - by_chance)
        assert values[policy, "ac1"] == pytest.approx(ac1, abs=1e-10)
        assert values[policy, "ac1"] == pytest.approx(expected["gwet_ac1"], abs=1e-5)

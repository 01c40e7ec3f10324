"""Values of a judge, corrected by labels: agreement, bias, prediction-powered means, refusals."""

import json
from pathlib import Path

import judged_samples
import numpy as np
import pandas as pd
import pytest
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


def read(table: pd.DataFrame, **options: object):
    return ek.significance(table, **{"oracle": "human", **options})


def long(seed: int = 76, **options: object) -> pd.DataFrame:
    return judged_samples.long(np.random.default_rng(seed), **options)


def rated(seed: int = 1, units: int = 200, categories: int = 4) -> Ratings:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, categories, units).astype(float)
    other = rng.integers(0, categories, units)
    return Ratings(first, np.where(rng.random(units) < 0.6, first, other).astype(float))


def value(ratings: Ratings, name: str) -> float:
    return agreement.estimate(ratings, COEFFICIENTS[name](ratings), 0.95).value


def statistic(score: np.ndarray, label: np.ndarray, unit: np.ndarray | None = None):
    return JudgedStatistic(SCORE, Sums(score), unit, labels=label)


# Agreement ----------------------------------------------------------------------------------------


def test_agreement_of_a_table_of_four_cells_by_hand() -> None:
    # judge 1: human 1 in 40, 0 in 10; judge 0: human 1 in 5, 0 in 45
    judge = np.repeat([1.0, 1, 0, 0], [40, 10, 5, 45])
    human = np.repeat([1.0, 0, 1, 0], [40, 10, 5, 45])
    ratings = Ratings(judge, human)
    share = (0.5 + 0.45) / 2
    pooled = 95 * 105 * 2 / (200 * 199)
    assert value(ratings, "kappa") == pytest.approx(1 - 0.15 / 0.5, abs=1e-12)
    assert value(ratings, "ac1") == pytest.approx(
        1 - 0.15 / (1 - 2 * share * (1 - share)), abs=1e-12
    )
    assert value(ratings, "alpha") == pytest.approx(1 - 0.15 / pooled, abs=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_kappa_is_that_of_scikit_learn(seed: int) -> None:
    ratings = rated(seed)
    sides = ratings.first, ratings.second
    assert value(ratings, "kappa") == pytest.approx(cohen_kappa_score(*sides), abs=1e-12)
    quadratic = cohen_kappa_score(*sides, weights="quadratic")
    assert value(ratings, "weighted") == pytest.approx(quadratic, abs=1e-12)


@pytest.mark.parametrize(("name", "level"), [("alpha", "nominal"), ("interval", "interval")])
def test_alpha_is_that_of_krippendorff(name: str, level: str) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    ratings = rated()
    theirs = krippendorff.alpha([*ratings[:2]], level_of_measurement=level)
    assert value(ratings, name) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_error_of_agreement_is_close_to_the_jackknife(name: str) -> None:
    ratings = rated(units=400)
    n = len(ratings.first)
    without = [
        value(Ratings(np.delete(ratings.first, i), np.delete(ratings.second, i)), name)
        for i in range(n)
    ]
    jackknife = np.sqrt((n - 1) / n * np.sum((without - np.mean(without)) ** 2))
    coefficient = COEFFICIENTS[name](ratings)
    of = agreement.estimate(ratings, coefficient, 0.6826895)
    assert (of.high - of.low) / 2 == pytest.approx(jackknife, rel=0.03)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_full_agreement_is_1_with_a_lower_limit(name: str) -> None:
    first = rated().first
    e = agreement.estimate(Ratings(first, first), COEFFICIENTS[name](Ratings(first, first)), 0.95)
    assert (e.value, e.high) == (1.0, 1.0)
    assert 0.9 < e.low < 1


def test_agreement_on_one_category_is_undefined_but_for_ac1() -> None:
    ratings = Ratings(np.ones(20), np.ones(20))
    assert np.isnan(value(ratings, "kappa"))
    assert np.isnan(value(ratings, "alpha"))
    assert value(ratings, "ac1") == 1.0


# Means --------------------------------------------------------------------------------------------


def test_corrected_mean_by_hand() -> None:
    score = np.array([1, 0, 1, 0, 1, 1, 0, 1, 1, 1.0])
    label = np.array([1, 0, 0, 0, 1, 1] + [np.nan] * 4)
    of = statistic(score, label)
    # covariance over 6 labels 1/2 · ... = (1/6) Σ (y − 1/2)(f − 2/3); variance of all scores 7/30
    product = np.mean((label[:6] - 0.5) * (score[:6] - 2 / 3))
    weight = product / ((1 + 6 / 4) * (7 / 30))
    assert of.weight == pytest.approx(weight, abs=1e-12)
    assert of.value == pytest.approx(0.5 - weight * 2 / 3 + weight * 3 / 4, abs=1e-12)
    corrections = label[:6] - weight * score[:6]
    square = corrections.var() / (6 - 2) + weight**2 * score[6:].var(ddof=1) / 4
    assert np.square(of.influence).sum() == pytest.approx(square, abs=1e-12)


def test_a_judge_that_says_nothing_leaves_the_mean_of_the_labels() -> None:
    rng = np.random.default_rng(2)
    label = np.where(np.arange(200) < 40, rng.random(200), np.nan)
    of = statistic(np.full(200, 0.5), label)
    assert (of.weight, of.value) == (0.0, np.nanmean(label))


def test_labels_of_all_units_leave_the_judge_out() -> None:
    rng = np.random.default_rng(3)
    label = rng.random(50)
    assert statistic(rng.random(50), label).value == pytest.approx(label.mean(), abs=1e-15)


def test_a_constant_error_of_the_judge_changes_nothing() -> None:
    table = long()
    kinder = table.assign(judge=table["judge"] + 3)
    for frame in ("estimates", "comparisons"):
        ours, theirs = (getattr(read(of), frame) for of in (table, kinder))
        number = ours.select_dtypes("number").columns
        np.testing.assert_allclose(ours[number], theirs[number], rtol=1e-9, atol=1e-9)


def test_the_order_of_rows_changes_nothing() -> None:
    table = long()
    study = read(table)
    shuffled = read(table.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(study.estimates, shuffled.estimates)
    pd.testing.assert_frame_equal(study.agreement, shuffled.agreement)


def test_a_wide_table_says_the_same_as_a_long_one() -> None:
    wide = judged_samples.wide(np.random.default_rng(76))
    named_after = read(wide, oracle="b_human,a_human", metrics="judge")
    in_order = read(wide, oracle="a_human,b_human", systems="a,b", metrics="judge")
    study = read(long(), metrics="judge")
    for other in (named_after, in_order):
        pd.testing.assert_frame_equal(study.estimates, other.estimates)
        pd.testing.assert_frame_equal(study.labels_needed, other.labels_needed)


def test_doubled_units_in_clusters_have_the_error_of_single_ones() -> None:
    rng = np.random.default_rng(4)
    score, _, label = judged_samples.outputs(rng, units=300, labels=80)["a"]
    single = statistic(score, label)
    twice = [np.repeat(values, 2) for values in (score, label, np.arange(300))]
    doubled = statistic(*twice)
    assert doubled.value == pytest.approx(single.value, abs=1e-3)  # λ's variance has n − 1
    errors = [judged.interval(of, OPTIONS) for of in (single, doubled)]
    widths = [e.high - e.low for e in errors]
    assert widths[1] == pytest.approx(widths[0], rel=0.01)


def test_difference_is_that_of_the_estimates() -> None:
    study = read(long(favour=0.6), baseline="b")
    estimates = study.estimates.set_index("system")["value"]
    row = study.comparisons.iloc[0]
    assert row["difference"] == pytest.approx(estimates["a"] - estimates["b"], abs=1e-12)


def test_labels_needed_reach_the_width() -> None:
    study = read(long(labels=60, units=2000))
    row = study.labels_needed.iloc[0]
    plan = study.measure(study.primary, row["what"]).plan()
    assert row["width"] == pytest.approx(row["width_now"] / 2)
    assert plan.labels_for(row["width_now"], 0.95) == pytest.approx(60, abs=8)
    assert row["needed"] < row["alone"]
    assert plan.labels_for(1e-6, 0.95) != plan.labels_for(1e-6, 0.95)  # NaN: more than all
    wished = read(long(labels=60), width=0.1).labels_needed
    assert {*wished["width"]} == {0.1}


# Coverage, level and power of the warnings --------------------------------------------------------


@pytest.mark.parametrize("kind", ["score", "binary"])
@pytest.mark.parametrize("favour", [0.0, 0.6])
def test_intervals_of_corrected_means_cover(kind: str, favour: float) -> None:
    options = {"units": 1000, "favour": favour, "kind": kind}
    rng = np.random.default_rng([76, len(kind), int(favour * 10)])
    whole = judged_samples.outputs(rng, **{**options, "units": 2_000_000})
    truth = {name: values[1].mean() for name, values in whole.items()}
    inside = {"a": 0, "b": 0, "a − b": 0}
    runs = 300
    for _ in range(runs):
        made = judged_samples.outputs(rng, labels=50, **options)
        of = {name: statistic(score, label) for name, (score, _, label) in made.items()}
        limits = {name: judged.interval(of[name], OPTIONS) for name in of}
        limits["a − b"] = judged.compare(of["a"], of["b"], OPTIONS).difference
        for name, e in limits.items():
            wanted = truth[name] if name in truth else truth["a"] - truth["b"]
            inside[name] += e.low <= wanted <= e.high
    # 2.5 standard errors beyond 93 and 97 %
    assert all(0.89 < n / runs < 0.985 for n in inside.values()), inside


def test_a_favoured_system_is_found_and_an_equal_one_rarely() -> None:
    found = {0.0: 0, 0.6: 0}
    for seed in range(20):
        for favour in found:
            found[favour] += len(read(long(seed, favour=favour, labels=100)).favoured)
    assert found[0.0] <= 3
    assert found[0.6] >= 17


def test_labels_chosen_by_score_are_warned_of() -> None:
    table = long(labels=60)
    highest = table["judge"] > table["judge"].quantile(0.8)
    table["human"] = table["judge"].where(highest)
    messages = [f.kind.code for f in judges_page.findings(read(table))]
    assert "EK363" in messages
    assert "EK363" not in [f.kind.code for f in judges_page.findings(read(long()))]


# What is refused, and what the page says ----------------------------------------------------------


def test_refused_without_labels() -> None:
    table = long()
    table.loc[table["system"] == "b", "human"] = np.nan
    with pytest.raises(InputError, match=r"'b' must have at least 10 labels.*got 0"):
        read(table)


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
        read(long(), **options)


def test_one_column_of_labels_for_two_systems_is_refused() -> None:
    wide = judged_samples.wide(np.random.default_rng(1)).drop(columns="b_human")
    with pytest.raises(ParameterError, match="systems=A,B oracle=LABELS_A,LABELS_B"):
        read(wide, oracle="a_human")


def test_the_page_says_what_it_is_about() -> None:
    study = read(long(favour=0.9, labels=100), baseline="b")
    verdict = significance_page.verdict(study).text
    assert "These are estimates of what human would give" in verdict
    assert "100 of 400 items per system" in verdict
    said = significance_page.judge(study).text
    for word in ("Gwet's AC1", "weight λ", "labels needed", "judge − oracle"):
        assert word in said
    codes = {finding.kind.code: finding for finding in significance_page.every_finding(study)}
    assert {"EK361", "EK362"} <= codes.keys()
    assert "favours a by" in codes["EK362"].message
    assert not significance_page.judge(ek.significance(long().drop(columns="human"))).html


def test_rare_labels_are_warned_of() -> None:
    table = long(kind="binary")
    of_a = table["system"] == "a"
    table.loc[of_a & table["human"].notna(), "human"] = 1.0
    messages = [finding.message for finding in judges_page.findings(read(table))]
    assert any("of the rarer kind for a" in message for message in messages)
    assert read(table).estimates.set_index("system").loc["a", "low"] < 0.97


def test_categories_are_compared_as_they_are() -> None:
    table = long(kind="binary")
    study = read(table)
    known = table[table["human"].notna() & (table["system"] == "a")]
    agreed = study.agreement.set_index(["system", "coefficient"])["value"]
    theirs = cohen_kappa_score(known["judge"], known["human"])
    assert agreed["a", "kappa"] == pytest.approx(theirs, abs=1e-12)
    assert np.isnan(study.cut)
    assert ("a", "weighted_kappa") not in agreed


# The published values -----------------------------------------------------------------------------

published = pytest.mark.skipif(not ARENA.is_dir(), reason="the data stand outside the project")


def arena() -> tuple[pd.DataFrame, dict]:
    expected = json.loads((ARENA / "expected" / "ppi_agreement.json").read_text())
    return pd.read_csv(ARENA / "arena.csv"), expected


@published
def test_corrected_means_are_those_of_ppi_python() -> None:
    table, expected = arena()
    for policy, rows in table.groupby("policy"):
        theirs = expected["ppi"]["policies"][policy]["ppi_plus_plus"]
        of = statistic(rows["judge_score"].to_numpy(), rows["oracle_label"].to_numpy())
        assert of.value == pytest.approx(theirs["point"], abs=1e-10)
        corrections = of.corrections[of.labelled]
        rest = of.weight * of.score[of.unlabelled]
        # their variances divide by n, and their limits are normal
        error = np.sqrt(corrections.var() / corrections.size + rest.var() / rest.size)
        assert of.value - 1.959963984540054 * error == pytest.approx(theirs["ci"][0], abs=1e-10)


@published
@pytest.mark.parametrize("cut", [0.5, 0.7, 0.8])
def test_agreement_is_the_published_one(cut: float) -> None:
    table, expected = arena()
    study = ek.significance(
        table,
        columns={"unit": "prompt_id", "system": "policy"},
        oracle="oracle_label",
        cut=cut,
    )
    values = study.agreement.set_index(["system", "coefficient"])["value"]
    for policy in study.systems:
        theirs = expected["agreement"]["policies"][policy][str(cut)]
        cells = np.array(theirs["confusion_judge_rows_oracle_cols"])
        share = (cells.sum(0) + cells.sum(1))[0] / (2 * cells.sum())
        chance = 2 * share * (1 - share)
        ac1 = (np.trace(cells) / cells.sum() - chance) / (1 - chance)
        assert values[policy, "kappa"] == pytest.approx(theirs["cohen_kappa"], abs=1e-10)
        alpha = theirs["krippendorff_alpha_nominal"]
        assert values[policy, "alpha"] == pytest.approx(alpha, abs=1e-10)
        assert values[policy, "ac1"] == pytest.approx(ac1, abs=1e-10)
        assert values[policy, "ac1"] == pytest.approx(theirs["gwet_ac1"], abs=1e-5)

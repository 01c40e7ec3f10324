"""One-sided questions: tails against scipy, p and interval, what follows, what is refused, and the
words of the page.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from matplotlib.figure import Figure
from scipy import stats
from whole_pages import results

import evalkit as ek
from evalkit import __main__ as command
from evalkit.arrays import ParameterError
from evalkit.drawing import plots
from evalkit.pages import diff_page, first_screen, page, significance_page, validation_page
from evalkit.statistics import independent, max_t, multiplicity, proportions, signflip
from evalkit.statistics.alternatives import Alternative, Tails
from evalkit.statistics.significance import (
    DifferenceByT,
    nadeau_bengio,
    paired_bootstrap,
    paired_t,
    rejected,
    sign_flip,
)
from evalkit.studies import diagnostics, paired

SIDES = (Alternative.GREATER, Alternative.LESS)
LEVEL = 0.95
DIFFERENCES = [0.4, -0.1, 0.3, 0.9, 0.2, 0.2, -0.3, 0.5]


def rng():
    return np.random.default_rng(1)


def one_sided(compare, side, level=LEVEL):
    """The one-sided comparison. compare: a function from a level to the two-sided comparison."""
    return compare(side.two_sided_level(level)).answering(side, level=level)


# The tails ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("sign", [1, -1])
def test_t_equals_scipys(side, sign):
    values = sign * np.array(DIFFERENCES)
    expected = stats.ttest_1samp(values, 0, alternative=side.value)
    found = one_sided(lambda level: paired_t(values, level=level), side)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    limits = expected.confidence_interval(LEVEL)
    assert found.difference.low == pytest.approx(limits.low)
    assert found.difference.high == pytest.approx(limits.high)


FLIPPED = {
    "enumerated": DIFFERENCES,
    "all above": [0.1, 0.2, 0.4],
    "one amount": [1, 1, 1, -1, 1, 1, 0],
    "the sum is 0": [1, 2, -3],
    "with zeros": [0, 0, 0.5, 1, -0.25],
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("values", FLIPPED.values(), ids=FLIPPED)
def test_sign_flips_equal_scipys_permutations(values, sign, side):
    d = sign * np.array(values, float)
    expected = stats.permutation_test(
        (d,), np.mean, permutation_type="samples", alternative=side.value, n_resamples=np.inf
    )
    found = one_sided(lambda level: sign_flip(d, rng=rng(), level=level), side)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("sign", [1, -1])
def test_sign_flips_on_a_lattice_have_the_tails_of_the_sum(side, sign):
    """The distribution of the sum by convolution, one unit after the other."""
    steps = sign * rng().integers(-3, 5, 40)
    size = np.abs(steps).sum()
    distribution = np.zeros(2 * size + 1)
    distribution[size] = 1.0
    for step in np.abs(steps):
        distribution = (np.roll(distribution, step) + np.roll(distribution, -step)) / 2
    sums = np.arange(-size, size + 1)
    beyond = side.evidence(sums) >= side.evidence(steps.sum())
    found = one_sided(lambda level: sign_flip(steps, rng=rng(), level=level), side)
    assert "Fourier" in found.method
    assert found.p_value == pytest.approx(distribution[beyond].sum(), rel=1e-9)


WITHOUT_TIES = np.array(DIFFERENCES) + np.arange(8) / 1000


@pytest.mark.parametrize("side", SIDES)
def test_wilcoxon_of_few_units_equals_scipys_exact_test(side):
    expected = stats.wilcoxon(WITHOUT_TIES, alternative=side.value, method="exact").pvalue
    assert multiplicity.wilcoxon(WITHOUT_TIES, side) == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_wilcoxon_of_many_units_equals_scipys(side):
    differences = rng().normal(0.1, 1, 60)
    expected = stats.wilcoxon(differences, alternative=side.value).pvalue
    assert multiplicity.wilcoxon(differences, side) == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_the_sign_test_equals_scipys_binomial_test(side):
    wins = int((WITHOUT_TIES > 0).sum())
    expected = stats.binomtest(wins, WITHOUT_TIES.size, 0.5, side.value).pvalue
    found = proportions.sign_test(WITHOUT_TIES).answering(side, level=LEVEL)
    assert found.p_value == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_the_studentised_permutation_has_the_tails_of_all_permutations(side):
    first = np.array([1.0, 2, 9, 30])
    second = np.array([0.5, 1.5, 1, 2.2])
    expected = stats.ttest_ind(
        first,
        second,
        equal_var=False,
        alternative=side.value,
        method=stats.PermutationMethod(n_resamples=np.inf),
    )

    def compare(level):
        return independent.studentised(first, second, rng=rng(), level=level)

    assert one_sided(compare, side).p_value == pytest.approx(expected.pvalue)


# p and interval -----------------------------------------------------------------------------------


def outcomes(at_least=0):
    return st.integers(at_least, 25)


VALUES = st.lists(st.integers(-6, 9).map(lambda k: k / 4), min_size=3, max_size=14)


def of_values(test):
    return lambda values, level: test(np.array(values, float), level)


TESTS = {
    "paired t": of_values(lambda d, level: paired_t(d, level=level)),
    "sign flips": of_values(lambda d, level: sign_flip(d, rng=rng(), level=level)),
    "sign flips, mid-p": of_values(
        lambda d, level: sign_flip(d, rng=rng(), level=level, mid_p=True)
    ),
    "folds": of_values(lambda d, level: nadeau_bengio(d, train=9, test=1, level=level)),
    "McNemar": of_values(
        lambda d, level: proportions.mcnemar_asymptotic(
            int((d > 0).sum()), int((d < 0).sum()), d.size, level=level
        )
    ),
    "score": of_values(
        lambda d, level: proportions.two_proportions(
            int((d > 0).sum()), d.size, int((d > 0.5).sum()), d.size + 3, level=level
        )
    ),
    "binomial": of_values(
        lambda d, level: proportions.binomial_test(int((d > 0).sum()), d.size, level=level)
    ),
    "Welch t": of_values(
        lambda d, level: independent.difference(
            independent.mean_of(d), independent.mean_of(d[::2] - 0.5), level=level
        )
    ),
    "permuted": of_values(
        lambda d, level: independent.studentised(
            np.append(d, 30.0), d[::2] - 0.5, rng=rng(), level=level
        )
    ),
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
@given(values=VALUES, level=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
@settings(max_examples=25, deadline=None)
def test_p_is_below_alpha_exactly_where_the_interval_excludes_0(test, side, values, level):
    found = one_sided(lambda two_sided: test(values, two_sided), side, level)
    e = found.difference
    if np.isnan(found.p_value):
        assert np.isnan(e.low)
        return
    assert e.low <= e.value <= e.high
    assert rejected(found.p_value, level) == (e.low > 0 or e.high < 0)
    unlimited = e.high if side is Alternative.GREATER else e.low
    assert np.isinf(unlimited) or e.low == e.high == 0


@pytest.mark.parametrize("side", SIDES)
def test_the_bootstrap_excludes_0_where_p_is_below_alpha(side):
    d = np.array(DIFFERENCES * 3)
    for shift in np.linspace(-0.5, 0.2, 15):

        def compare(level, shift=shift):
            return paired_bootstrap(d + shift, rng=rng(), level=level, resamples=999)

        found = one_sided(compare, side)
        e = found.difference
        assert rejected(found.p_value, LEVEL) == (e.low > 0 or e.high < 0)


def test_a_one_sided_interval_has_the_limit_at_alpha():
    """1 − level lies beyond the limit that is left."""
    z = DifferenceByT(1.0, 0.5, 99, np.inf, "z")
    found = one_sided(lambda level: z.comparison(level=level, unit="row"), Alternative.GREATER)
    assert found.difference.low == pytest.approx(1 - 0.5 * stats.norm.ppf(0.95))
    assert found.difference.level == LEVEL


def test_no_unit_that_differs_is_the_whole_of_both_tails():
    for compare in (
        lambda level: sign_flip([0.0, 0.0], rng=rng(), level=level),
        lambda level: paired_t([0.0, 0.0], level=level),
    ):
        assert {one_sided(compare, side).p_value for side in SIDES} == {1.0}


# Families -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [0.3, -0.3])
@pytest.mark.parametrize("side", SIDES)
def test_max_t_of_few_units_counts_every_sign_vector(side, mean):
    d = rng().normal(mean, 1, (6, 3))
    size = np.sqrt((d**2).sum(axis=0))
    signs = 1.0 - 2.0 * (np.arange(2**6)[:, None] >> np.arange(6) & 1)
    drawn = side.evidence(signs @ d / size)
    observed = side.evidence(d.sum(axis=0) / size)
    order = np.argsort(-observed)
    expected = np.empty(3)
    largest = 0.0
    for place, column in enumerate(order):
        rest = drawn[:, order[place:]].max(axis=1)
        largest = max(largest, np.mean(rest >= observed[column] - 1e-9))
        expected[column] = largest
    assert max_t.max_t(d, rng=rng(), alternative=side) == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_max_t_of_one_column_is_its_p(side):
    d = rng().normal(0.2, 1, (60, 1))
    p = one_sided(lambda level: sign_flip(d[:, 0], rng=rng(), level=level), side).p_value
    assert max_t.max_t(d, rng=rng(), alternative=side)[0] == pytest.approx(p, abs=0.01)
    by_sums = max_t.max_t_of_sums(d.sum(axis=0), d.T @ d, rng=rng(), alternative=side)
    assert by_sums[0] == pytest.approx(p, abs=0.02)


# Studies ------------------------------------------------------------------------------------------


def table(n=40, gap=0.3):
    """Values of a better and of a worse system beside the baseline."""
    base = rng().normal(0.5, 0.1, n)
    noise = np.random.default_rng(2).normal(0, 0.4, (2, n))
    return pd.DataFrame(
        {
            "query": [f"q{i}" for i in range(n)],
            "old": base,
            "new": base + gap + noise[0],
            "bad": base - gap + noise[1],
        }
    )


def compared_with_old(side="two-sided", **options):
    options = {"baseline": "old", "lower_is_better": "none", "metrics": "quality"} | options
    return ek.significance(table(), alternative=side, **options)


def verdicts(study):
    return dict(zip(study.comparisons["first"], study.comparisons["verdict"], strict=True))


def test_only_the_direction_that_counts_has_a_verdict():
    assert verdicts(compared_with_old()) == {"new": "better", "bad": "worse"}
    assert verdicts(compared_with_old("greater")) == {"new": "better", "bad": "cannot tell"}
    assert verdicts(compared_with_old("less")) == {"new": "cannot tell", "bad": "worse"}


def test_where_lower_is_better_an_increase_is_worse():
    assert verdicts(compared_with_old("greater", lower_is_better="quality")) == {
        "new": "worse",
        "bad": "cannot tell",
    }


@pytest.mark.parametrize(
    "sentence",
    [
        "the data do not show that bad is above it. Only an increase counts.",
        "one-sided; ",
        "Better: adjusted p below 0.05. Only an increase counts (alternative: greater)",
        "the interval of a difference has no upper limit",
    ],
)
def test_the_verdict_says_that_only_an_increase_counts(sentence):
    assert sentence in first_screen.verdict(compared_with_old("greater")).text


def test_no_system_is_worse_where_only_an_increase_counts():
    assert "worse than" not in first_screen.verdict(compared_with_old("greater")).text


@pytest.mark.parametrize("sentence", ["Only a decrease counts", "no lower limit"])
def test_the_verdict_says_that_only_a_decrease_counts(sentence):
    assert sentence in first_screen.verdict(compared_with_old("less")).text


def test_estimates_stand():
    pd.testing.assert_frame_equal(
        compared_with_old("greater").estimates, compared_with_old().estimates
    )


def test_detectable_differences_are_those_of_twice_alpha():
    one_sided = compared_with_old("greater").comparisons["detectable"]
    two_sided = compared_with_old(alpha=0.1).comparisons["detectable"]
    assert one_sided.to_numpy() == pytest.approx(two_sided.to_numpy())


def test_the_interval_of_equivalence_stands():
    limits = ["equivalence_low", "equivalence_high"]
    one_sided = compared_with_old("greater").comparisons[limits]
    pd.testing.assert_frame_equal(one_sided, compared_with_old().comparisons[limits])


def test_max_t_and_the_other_tests_follow():
    study = compared_with_old("greater")
    rows = study.comparisons.set_index("first")
    assert rows.loc["new", "max_t"] < 0.05
    assert rows.loc["bad", "max_t"] > 0.9
    tests = paired.other_tests(study).set_index("first")
    named = ["t", "bootstrap", "wilcoxon", "sign"]
    assert (tests.loc["new", named].astype(float) < 0.05).all()
    assert (tests.loc["bad", named].astype(float) > 0.9).all()
    assert tests["tukey"].isna().all()
    assert paired.mean_ranks(study) is None


def test_p_of_means_is_alpha_at_the_limit():
    study = compared_with_old("greater")
    row = study.headline.iloc[0]
    assert study.p_of(np.array([row["low"]]))[0] == pytest.approx(0.05, abs=0.005)


def predictions(n=120):
    label = rng().integers(0, 2, n)
    noise = np.random.default_rng(3).normal(0, 0.25, (3, n))
    frame = {"id": np.arange(n).astype(str), "label": label}
    scores = {"good": 0.45, "old": 0.3, "poor": 0.1}
    for (name, gain), wobble in zip(scores.items(), noise, strict=True):
        frame[f"score_{name}"] = np.clip(0.5 + gain * (label - 0.5) + wobble, 0, 1)
    return pd.DataFrame(frame)


def forecasts(n=80):
    actual = rng().normal(10, 2, n)
    noise = np.random.default_rng(4).normal(0, 1, (2, n))
    frame = {"id": np.arange(n).astype(str), "actual": actual}
    return pd.DataFrame(frame | {"pred_a": actual + noise[0], "pred_b": actual + 1.3 * noise[1]})


def users(n=400):
    arm = np.where(np.arange(n) % 2, "B", "A")
    spent = rng().exponential(1.0, n) * np.where(arm == "B", 1.5, 1.0)
    orders = (rng().random(n) < 0.4).astype(int)
    frame = {"user": np.arange(n).astype(str), "arm": arm, "spent": spent, "orders": orders}
    return pd.DataFrame(frame | {"visits": 1 + np.arange(n) % 3})


STUDIES = {
    "classification": lambda side: ek.classification(
        predictions(),
        baseline="old",
        metrics="accuracy,roc_auc,log_loss,f1,precision,brier,mcc,average_precision,ks",
        alternative=side,
    ),
    "rating": lambda side: ek.rating(
        forecasts(),
        baseline="b",
        metrics="mae,rmse,wape,r2,median_absolute_error",
        alternative=side,
    ),
    "ranking": lambda side: ek.ranking(
        alternative=side, baseline="pixel_cosine", metrics="ndcg@10,map,precision@5"
    ),
    "users": lambda side: ek.interleaving(
        users=users(), metrics="spent,orders,spent/visits", world="none", alternative=side
    ),
    "log": lambda side: ek.interleaving(
        log="data/interleaving/sessions.parquet",
        neutral="both",
        baseline="current",
        world="none",
        alternative=side,
    ),
    "validation": lambda side: ek.validation(
        predictions().assign(fold=np.arange(120) % 5),
        metrics="roc_auc,accuracy",
        alternative=side,
    ),
}


@pytest.mark.parametrize("name", STUDIES)
def test_every_report_answers_the_question(name):
    """The p of both sides add up to 1 or a little more, and each agrees with its interval."""
    greater = STUDIES[name]("greater").comparisons
    less = STUDIES[name]("less").comparisons
    assert list(greater["first"]) == list(less["first"])
    both = (greater["p"] + less["p"]).dropna()
    assert len(both)
    assert both.between(1 - 1e-9, 2).all()
    for rows, end in ((greater, "low"), (less, "high")):
        known = rows[rows["p"].notna() & rows[end].notna()]
        outside = known["low"] > 0 if end == "low" else known["high"] < 0
        assert ((known["p"] < 0.05) == outside).all()
    assert set(greater["verdict"]) <= {"better", "worse", "cannot tell", "higher"}
    rose = greater[greater["verdict"] != "cannot tell"]
    assert (rose["difference"] > 0).all()


def test_a_lift_has_one_limit():
    rows = STUDIES["users"]("greater").comparisons
    assert rows["lift_high"].eq(np.inf).all()
    assert ((rows["lift_low"] > 0) == (rows["p"] < 0.05)).all()


def losses_of_users(n=2000):
    """Profits below 0 in both arms, higher in the first."""
    arm = np.where(np.arange(n) % 2, "B", "A")
    profit = rng().normal(-2, 1, n) + 0.5 * (arm == "B")
    return pd.DataFrame({"user": np.arange(n).astype(str), "arm": arm, "profit": profit})


@pytest.mark.parametrize(("gain", "side"), [(1, "greater"), (-1, "less")])
def test_a_lift_over_a_value_below_0_excludes_0_where_the_difference_does(gain, side):
    """It falls where the difference rises."""
    table = losses_of_users().assign(profit=lambda frame: -2 + gain * (frame["profit"] + 2))
    study = ek.interleaving(
        users=table, metrics="profit", baseline="A", world="none", alternative=side
    )
    row = study.comparisons.iloc[0]
    low = row["lift_low"]
    high = row["lift_high"]
    assert row["p"] < 0.001
    assert row["lift"] * gain < 0
    assert low <= row["lift"] <= high
    if gain > 0:
        assert high < 0
        assert low == -np.inf
    else:
        assert low > 0
        assert high == np.inf


@pytest.mark.parametrize("side", SIDES)
def test_a_lift_below_0_agrees_with_p_under_the_null(side):
    for seed in range(20):
        noise = np.random.default_rng(seed)
        table = losses_of_users(60).assign(profit=noise.normal(-1, 1, 60))
        row = ek.interleaving(
            users=table, metrics="profit", baseline="A", world="none", alternative=side.value
        ).comparisons.iloc[0]
        excluded = row["lift_low"] > 0 or row["lift_high"] < 0
        assert excluded == (row["p"] < 0.05)


@pytest.mark.parametrize(("side", "gain"), [("greater", 1), ("less", -1)])
def test_a_lift_with_one_limit_stands_in_the_verdict(side, gain):
    table = users().assign(spent=lambda frame: frame["spent"] if gain > 0 else 4 - frame["spent"])
    study = ek.interleaving(
        users=table, metrics="spent", baseline="A", world="none", alternative=side
    )
    text = first_screen.verdict(study.users).text
    lift = study.comparisons.iloc[0]["lift"]
    assert re.search(rf"\({abs(100 * lift):.0f}[.0-9]*% (more|less)\)", text)


def test_the_limit_that_does_not_count_is_infinite_for_a_bounded_metric():
    """A limit at the end of the range would give the interval a width that is no precision."""
    rows = STUDIES["classification"]("greater").comparisons
    assert rows["high"].eq(np.inf).all()


@pytest.mark.parametrize("side", SIDES)
def test_identical_systems_do_not_differ(side):
    twin = table().assign(bad=lambda frame: frame["old"])
    study = ek.significance(
        twin, baseline="old", lower_is_better="none", metrics="quality", alternative=side.value
    )
    row = study.comparisons.set_index("first").loc["bad"]
    assert (row["low"], row["high"], row["p"]) == (0, 0, 1)
    assert diagnostics.verdict_of(row) == diagnostics.NO_DIFFERENCE
    assert "bad does not differ from it" in first_screen.verdict(study).text
    tests = paired.other_tests(study).set_index("first").loc["bad"]
    named = ["t", "bootstrap", "wilcoxon", "sign"]
    assert tests[named].dropna().eq(1.0).all()
    assert tests["t"] == 1.0


def test_identical_rankings_have_p_1_by_t():
    one = pd.DataFrame(
        {
            "query": np.repeat([f"q{i}" for i in range(12)], 3),
            "item": np.tile(["x", "y", "z"], 12),
            "grade": rng().integers(0, 2, 36),
        }
    )
    ranks = {"rank_a": np.tile([1, 2, 3], 12), "rank_b": np.tile([1, 2, 3], 12)}
    study = ek.ranking(one.assign(**ranks), baseline="b", metrics="ndcg@3", alternative="greater")
    assert study.comparisons["p_t"].tolist() == [1.0]


def test_the_systems_of_a_part_without_the_baseline_are_compared_two_sided():
    study = compared_with_old("greater")
    assert study.part(systems="new").sided == "two-sided"
    pair = study.part(systems=["new", "bad"])
    assert pair.sided == "two-sided"
    assert pair.comparisons["verdict"].tolist() == ["better"]
    assert study.part(systems=["new", "old"]).sided == "greater"


def alike(seed, n=2500):
    """Two scores that are equally good, and folds."""
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, n)
    scores = {f"score_{name}": label + random.normal(0, 1.5, n) for name in "ab"}
    frame = pd.DataFrame({"id": np.arange(n).astype(str), "label": label, "fold": np.arange(n) % 5})
    return frame.assign(**{name: 1 / (1 + np.exp(-x)) for name, x in scores.items()})


def test_a_leader_that_the_data_choose_has_a_two_sided_p():
    """Only a comparison with the baseline without features is one-sided."""
    two_sided = ek.validation(alike(1), metrics="roc_auc").paired.set_index("second")
    study = ek.validation(alike(1), metrics="roc_auc", alternative="greater")
    greater = study.paired.set_index("second")
    (runner_up,) = {"a", "b"} - {study.subject}
    columns = ["p", "p_naive", "p_pooled", "pooled_low", "pooled_high", "high", "method"]
    pd.testing.assert_series_equal(
        greater.loc[runner_up, columns], two_sided.loc[runner_up, columns]
    )
    assert greater.loc[study.baseline, "method"].endswith(", greater")
    assert greater.loc[study.baseline, "pooled_high"] == np.inf
    text = validation_page.paired(study).html
    method = two_sided.loc[runner_up, "method"]
    assert f"{method} against {runner_up}" in text
    assert f"{method}, greater against {study.baseline}" in text


def drawn(draw, *data, **options):
    """The axes on which a drawing function draws."""
    return draw(*data, Figure().subplots(), **options)


@pytest.mark.parametrize("side", Alternative)
@pytest.mark.parametrize("gap", [0.12, -0.12])
def test_the_red_part_of_the_null_distribution_is_p(side, gap):
    """In the tail that counts alone."""
    frame = table(gap=gap).drop(columns="bad")
    study = ek.significance(frame, baseline="old", metrics="quality", alternative=side.value)
    row = study.headline.iloc[0]
    ax = drawn(
        plots.null_distribution,
        study.null_draws(),
        observed=row["difference"],
        alternative=side,
        xlabel="x",
        ylabel="y",
    )
    red = [bar for bar in ax.containers[1] if bar.get_height() > 0]
    assert sum(bar.get_height() for bar in red) == pytest.approx(row["p"], abs=0.02)
    assert {line.get_label() for line in ax.lines} >= {"observed"}
    assert ("opposite" in {line.get_label() for line in ax.lines}) is not side.one_sided


@pytest.mark.parametrize(
    ("side", "phrase"),
    [
        ("two-sided", "Red: at least as far from 0 as observed, +0"),
        ("greater", "Red: at least as large as observed, +0"),
        ("less", "Red: at most as large as observed, +0"),
    ],
)
def test_the_caption_of_the_null_distribution_names_the_tail(side, phrase):
    frame = table(gap=0.12).drop(columns="bad")
    study = ek.significance(frame, baseline="old", metrics="quality", alternative=side)
    assert phrase in significance_page.null_distribution(study).caption


@pytest.mark.parametrize("side", Alternative)
def test_the_dot_of_the_duality_lies_on_its_curve(side, monkeypatch):
    study = compared_with_old(side.value)
    seen = {}
    monkeypatch.setattr(
        significance_page.figures, "picture", lambda *data, **options: seen.update(options)
    )
    significance_page.duality(study)
    curve = study.p_curve()
    on_curve = np.interp(seen["observed"], curve["mean"], curve["p"])
    assert seen["p_of_observed"] == pytest.approx(on_curve, abs=0.03)
    assert seen["p_of_observed"] == pytest.approx(0.5 if side.one_sided else 1.0, abs=0.02)
    options = {name: seen[name] for name in ("observed", "p_of_observed", "alpha", "limits")}
    ax = drawn(plots.duality, curve, sided=side.value, label="x", **options)
    (dot,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert dot.get_ydata() == [seen["p_of_observed"]]


def how_it_was_tested(study):
    text = first_screen.verdict(study).text
    return text[text.index("How this was tested") :]


BOTH_WAYS = {"metrics": "accuracy,log_loss", "baseline": "old"}


def test_the_words_of_metrics_of_both_directions_are_named():
    """An increase is better in accuracy and worse in log loss."""
    study = ek.classification(predictions(), alternative="greater", **BOTH_WAYS)
    assert "Better or worse: adjusted p below 0.05." in how_it_was_tested(study)
    study = ek.classification(predictions(), alternative="less", **BOTH_WAYS)
    assert "Worse or better: adjusted p below 0.05." in how_it_was_tested(study)


@pytest.mark.parametrize(("side", "word"), [("greater", "Higher"), ("less", "Lower")])
def test_an_unknown_direction_has_its_own_words(side, word):
    study = ek.interleaving(
        users=users(), metrics="spent", baseline="A", world="none", alternative=side
    )
    text = how_it_was_tested(study.users)
    assert f"{word}: adjusted p below 0.05." in text
    assert "is called neither higher nor lower" in text


@pytest.mark.parametrize(
    ("side", "words"), [("two-sided", "better or worse"), ("greater", "better"), ("less", "worse")]
)
def test_alpha_names_the_verdicts_that_exist(side, words):
    text = how_it_was_tested(compared_with_old(side, alpha=0.1))
    assert f"an interval can contain 0 where the verdict says {words}, or exclude" in text


def test_the_page_names_the_tests_as_one_or_two_sided():
    assert "paired differences, one-sided (greater): " in compared_with_old("greater").tests_are
    assert "paired differences, two-sided: " in compared_with_old().tests_are


@pytest.mark.parametrize(
    ("side", "sides"),
    [
        ("two-sided", {"← second better", "first better →"}),
        ("greater", {"first better →"}),
        ("less", {"← second better"}),
    ],
)
def test_a_forest_names_the_side_that_can_be_shown(side, sides):
    study = compared_with_old(side)
    frame = pd.DataFrame({"name": ["a − b"], "value": [0.1], "low": [0.0], "high": [0.2]})
    ax = drawn(plots.intervals, frame, label="x", zero=True, sides=page.sides_of(study))
    assert {text.get_text() for text in ax.texts} == sides


@pytest.mark.parametrize("side", SIDES)
def test_no_number_of_units_shows_a_difference_that_does_not_count(side):
    study = ek.significance(
        table(gap=0.1).drop(columns="bad"),
        baseline="old",
        metrics="quality",
        margin=0.1,
        alternative=side.value,
    )
    rows = paired.needed(study).set_index("which")
    of_observed = rows.loc[["as large as observed", "half of it"], ["n_80", "n_90"]]
    assert study.headline.iloc[0]["difference"] > 0
    if side is Alternative.GREATER:
        assert of_observed.notna().all(axis=None)
    else:
        assert of_observed.isna().all(axis=None)
    assert rows.loc["the margin", ["n_80", "n_90"]].notna().all()


# Files, gates, diffs ------------------------------------------------------------------------------


def test_a_rule_follows_the_question():
    with pytest.raises(AssertionError, match="better of bad: cannot tell"):
        compared_with_old("greater").check("better of bad")
    compared_with_old("greater").check("better of new")
    compared_with_old("greater").check("not worse within 0.1 of new")
    compared_with_old("less").check("not worse of new")


@pytest.mark.parametrize(
    ("side", "rule", "says"),
    [
        ("greater", "not worse", "can never fail"),
        ("less", "better", "can never be kept"),
        ("less", "not worse within 0.1", "can never be kept"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(side, rule, says):
    with pytest.raises(ParameterError, match=f"{says} with alternative={side}"):
        compared_with_old(side, gate=rule)


POLICY = """
on_cannot_tell = "{otherwise}"
[[rule]]
that = "{rule}"
"""


def policy_file(folder, rule, otherwise):
    path = folder / "policy.toml"
    path.write_text(POLICY.format(otherwise=otherwise, rule=rule))
    return str(path)


@pytest.mark.parametrize(
    ("side", "rule", "otherwise"),
    [
        ("greater", "better", "fail"),
        ("less", "better", "pass"),
        ("less", "not worse within 0.1", "pass"),
    ],
)
def test_a_rule_that_can_be_kept_and_fail_is_taken(tmp_path, side, rule, otherwise):
    """Which depends on what a rule is where the data cannot tell."""
    assert compared_with_old(side, gate=policy_file(tmp_path, rule, otherwise)).gate is not None


@pytest.mark.parametrize(
    ("side", "rule", "otherwise", "says"),
    [
        ("greater", "better", "pass", "can never fail"),
        ("greater", "not worse within 0.1", "pass", "can never fail"),
        ("greater", "not worse", "fail", "can never fail"),
        ("less", "not worse within 0.1", "fail", "can never be kept"),
    ],
)
def test_a_rule_of_a_policy_that_can_only_be_kept_or_only_fail_is_refused(
    tmp_path, side, rule, otherwise, says
):
    with pytest.raises(ParameterError, match=f"{says} with alternative={side}"):
        compared_with_old(side, gate=policy_file(tmp_path, rule, otherwise))


def test_better_or_equivalent_can_be_kept_by_equivalence_alone():
    assert compared_with_old("less", gate="better or equivalent", margin=0.1).gate is not None


def test_a_one_sided_rule_catches_smaller_regressions():
    """That of 1 − 2α: the same limit decides."""
    rule = "not worse within 0.2 of new"
    one_sided = compared_with_old("greater", gate=rule).gate.statements.iloc[0]
    at_90 = compared_with_old(gate=rule, level=0.9).gate.statements.iloc[0]
    assert one_sided["result"] == at_90["result"] == "pass"
    assert one_sided["catches"] == pytest.approx(at_90["catches"])
    assert one_sided["units_needed"] == at_90["units_needed"]


def stored(folder, *, gap=0.3, **options):
    """The path of a report's JSON, beside which its units are stored."""
    asked = {"baseline": "old", "lower_is_better": "none", "metrics": "quality"}
    study = ek.significance(table(gap=gap), **asked | options)
    folder.mkdir()
    path = folder / "significance.json"
    path.write_text(json.dumps(results(study)))
    study.write_units(path.with_suffix(".units.parquet"))
    return path


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return (
        stored(folder / "before", gap=0.2, alternative="greater"),
        stored(folder / "after", alternative="greater"),
    )


def test_a_stored_report_keeps_its_question(reports, capsys):
    row = json.loads(reports[1].read_text())["headline"][0]
    assert row["high"] is None
    assert row["method"].endswith(", greater")
    assert command.main(["check", str(reports[1]), "better of new"]) == 0
    assert "∞]" in capsys.readouterr().out
    assert command.main(["check", str(reports[1]), "better of bad"]) == 3
    capsys.readouterr()
    assert command.main(["summary", str(reports[1]), "--markdown"]) == 0
    words = capsys.readouterr().out
    assert "Only an increase counts." in words


def test_a_diff_answers_the_question(reports):
    rows = ek.diff(*map(str, reports), alternative="greater").comparisons.set_index("first")
    assert rows.loc[["new new", "new bad"], "high"].eq(np.inf).all()
    assert ((rows["p"] < 0.05) == (rows["low"] > 0)).dropna().all()


@pytest.fixture(scope="module")
def two_sided_reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_sided")
    return stored(folder / "before", gap=0.2), stored(folder / "after")


NOT_ASKED = (
    "In both reports only an increase counts (alternative: greater); this diff is two-sided."
)


def test_a_two_sided_diff_of_one_sided_reports_says_so(reports, two_sided_reports):
    """But neither a diff with the same question nor one of two-sided reports."""
    paths = [*map(str, reports)]
    assert NOT_ASKED in diff_page.verdict(ek.diff(*paths)).text
    assert "In both reports" not in diff_page.verdict(ek.diff(*paths, alternative="greater")).text
    assert "In both reports" not in diff_page.verdict(ek.diff(*map(str, two_sided_reports))).text


def test_a_stored_validation_report_is_judged_against_its_baseline(tmp_path, capsys):
    path = tmp_path / "scores.csv"
    alike(1).to_csv(path, index=False)
    given = ["-p", "preds", str(path), "-p", "metrics", "roc_auc", "-p", "alternative", "greater"]
    folder = str(tmp_path / "report")
    assert command.main(["report", "validation", *given, "-o", folder]) == 0
    capsys.readouterr()
    assert command.main(["check", f"{folder}/validation.json", "better of a"]) == 0
    assert "a − majority" in capsys.readouterr().out


def test_a_stored_report_on_shares_is_judged_against_the_null_share(tmp_path, capsys):
    path = tmp_path / "trials.csv"
    trials = {"system": ["a", "b"], "successes": [70, 55], "trials": [100, 100]}
    pd.DataFrame(trials).to_csv(path, index=False)
    given = ["-p", "preds", str(path), "-p", "null", "0.5", "-p", "alternative", "greater"]
    folder = str(tmp_path / "report")
    assert command.main(["report", "significance", *given, "-o", folder]) == 0
    capsys.readouterr()
    assert command.main(["check", f"{folder}/significance.json", "better of a"]) == 0
    assert "a − null 0.5" in capsys.readouterr().out
    assert command.main(["check", f"{folder}/significance.json", "better of b"]) == 3


# Refusals -----------------------------------------------------------------------------------------


def test_a_one_sided_question_without_a_baseline_is_refused():
    with pytest.raises(ParameterError, match="alternative: 'greater' needs a baseline"):
        ek.significance(table(), metrics="quality", alternative="greater")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"looks": 3}, "'greater' and looks=3 cannot be combined"),
        ({"level": 0.75}, "must lie between 0.75 and 1, got 0.75"),
        ({"alpha": 0.25}, "must lie between 0.75 and 1, got 0.75"),
    ],
)
def test_what_has_no_one_sided_form_is_refused(options, says):
    with pytest.raises(ParameterError, match=says):
        compared_with_old("greater", **options)


def test_interim_analyses_of_users_are_refused():
    with pytest.raises(ParameterError, match="looks=5 cannot be combined"):
        ek.interleaving(users=users(), metrics="spent", looks=5, alternative="less")


def test_tails_of_an_unknown_p_are_unknown():
    assert np.isnan(Tails.symmetric(np.nan, 0.0)).all()
    assert np.isnan(Tails.symmetric(np.nan, 1.0)).all()


def test_symmetric_tails_add_up_to_1_and_what_they_share():
    assert Tails.symmetric(0.3, 1.0) == (0.85, 0.15)
    assert sum(Tails.symmetric(0.5, -1.0, overlap=0.125)) == pytest.approx(1.125)
    assert Tails.symmetric(1.0, 0.0) == (0.5, 0.5)


def test_a_mid_p_shares_the_datas_own_signs_alone():
    p, _, overlap = signflip.exact_p(np.array([0.5, 0.5, 1.0, 1.5]), signflip.HALF)
    assert overlap == 2.0**-4
    assert 0 < p < 1


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_the_limit_that_does_not_count_makes_no_slice_too_small(alternative):
    study = ek.classification(alternative=alternative, baseline="logistic")
    assert diagnostics.untestable_slices(study) == []

"""Repeated draws: pass@k and pass^k from a plain table, and what varies between units and
within.
"""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from engine_samples import compared
from scipy import stats

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.metrics.draws import Draws, all_pass, any_passes
from evalkit.statistics.significance import sign_flip
from evalkit.studies import significance

METRICS = "pass@1,pass@3,pass^2,pass^4"


def trials(tasks=12, draws=4, systems=("a", "b")):
    rng = np.random.default_rng(3)
    chance = rng.beta(1, 1, (len(systems), tasks))
    rows = [
        {"task_id": t, "trial": d, "model": name, "reward": int(rng.random() < chance[s, t])}
        for s, name in enumerate(systems)
        for t in range(tasks)
        for d in range(draws)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=1, ignore_index=True)


def by_subsets(rewards, k, whether):
    return np.mean([whether(some) for some in combinations(rewards, k)])


@pytest.mark.parametrize("read", [significance.read, compared])
def test_pass_metrics_are_means_over_all_subsets_of_draws(read):
    table = trials()
    study = read(table, metrics=METRICS)
    for label, k, whether in (
        ("pass@1", 1, any),
        ("pass@3", 3, any),
        ("pass^2", 2, all),
        ("pass^4", 4, all),
    ):
        for name, own in table.groupby("model"):
            expected = own.groupby("task_id")["reward"].apply(by_subsets, k, whether).mean()
            row = study.estimates.set_index(["metric", "system"]).loc[(label, name)]
            assert row["value"] == pytest.approx(expected, abs=1e-12)
            assert row["low"] < expected < row["high"]
            assert row["n"] == 12
    assert study.comparisons["metric"].tolist() == METRICS.split(",")
    assert study.family.startswith("4 comparisons: 4 metrics × 1 pair")


@pytest.mark.parametrize("metric", [all_pass, any_passes])
@pytest.mark.parametrize("k", [2, 4])
def test_the_noise_of_a_metric_is_its_variance_over_draws(metric, k):
    rng = np.random.default_rng(4)
    share = stats.norm.cdf(rng.normal(0.3, 1, 5_000))
    n = rng.choice([4.0, 6.0], 5_000)
    mean = rng.binomial(n.astype(int), share) / n
    noise = Draws(n, mean, mean * (1 - mean) * n / (n - 1)).noise_of(lambda of: metric(of, k))
    variance = np.zeros(len(n))
    for count in (4, 6):
        hits = np.arange(count + 1.0)
        of = metric(Draws(np.full(count + 1, float(count)), hits / count, hits), k)
        chance = stats.binom.pmf(hits, count, share[n == count][:, None])
        variance[n == count] = chance @ of**2 - (chance @ of) ** 2
    assert noise.mean() == pytest.approx(variance.mean(), rel=0.04)


def drawn(*hits, draws=2):
    """The draws of units, so many each, of which these pass."""
    share = np.array(hits) / draws
    count = np.full(len(hits), float(draws))
    return Draws(count, share, share * (1 - share) * draws / (draws - 1))


def both_pass(draws):
    return all_pass(draws, 2)


def test_a_draw_of_the_largest_variance_is_added_to_those_of_the_prior():
    """Of three units with two draws 2, 0 and 1 pass: their mean is 1/2, the variance within them
    (3 × 1/6 + 1/4) / 4 = 3/16 of 1/4: a beta distribution with 3/2 and 3/2. Then
    E p² − E p⁴ = 5/16 − 21/128.
    """
    assert drawn(2, 0, 1).noise_of(both_pass) == pytest.approx(5 / 16 - 21 / 128, rel=1e-3)


def test_half_a_pass_and_half_a_failure_are_added_to_the_mean_of_the_prior():
    """Of two units with two draws 2 and 1 pass: 3.5 of 5 draws. The units seem alike, so that each
    passes with p = 0.7, and the noise is p² − p⁴.
    """
    assert drawn(2, 1).noise_of(both_pass) == pytest.approx(0.7**2 - 0.7**4, rel=2e-3)


def test_units_with_more_draws_count_more_for_the_variance_of_a_draw():
    """Variances 1/2 of two draws and 1/3 of four: (1 × 1/2 + 3 × 1/3) / 4."""
    draws = Draws(np.array([2.0, 4.0]), np.array([0.5, 0.5]), np.array([1 / 2, 1 / 3]))
    assert draws.pooled == pytest.approx(3 / 8)


def test_units_with_more_draws_have_less_noise():
    draws = Draws(np.array([2.0, 4.0]), np.array([0.5, 0.5]), np.array([1 / 2, 1 / 3]))
    assert draws.noise == pytest.approx([3 / 16, 3 / 32])


@pytest.mark.parametrize("repeated, mid_p", [(1, False), (15, False), (16, True)])
def test_ties_count_half_where_most_units_have_several_draws(repeated, mid_p):
    table = trials(tasks=30, draws=5)
    kept = table[(table["task_id"] < repeated) | (table["trial"] == 0)]
    (method,) = significance.read(kept, metrics="pass@1").headline["method"]
    assert ("mid-p" in method) is mid_p


def test_a_table_of_one_system_needs_nothing_else(tmp_path):
    path = tmp_path / "gpt.csv"
    trials(systems=("a",)).drop(columns="model").to_csv(path, index=False)
    study = significance.read(path, metrics="pass@1,pass^4")
    assert (study.systems, study.unit_name) == (("gpt",), "task")
    assert study.estimates["value"].between(0, 1).all()


def test_each_file_of_trials_is_a_system(tmp_path):
    for name, own in trials().groupby("model"):
        own.drop(columns="model").to_csv(tmp_path / f"{name}.csv", index=False)
    study = significance.read(tmp_path, metrics=METRICS)
    pd.testing.assert_frame_equal(
        study.comparisons, significance.read(trials(), metrics=METRICS).comparisons
    )


@pytest.mark.parametrize(
    "change, metrics, error, says",
    [
        ({"reward": 0.5}, "pass@1", InputError, r"reward must be 0, 1 or empty, got 0.5 \(row 1\)"),
        (
            {},
            "pass@5",
            ParameterError,
            "metrics: pass@5 needs 5 draws per task_id, the input has at most 4",
        ),
        ({"metric": "f1"}, "pass", ParameterError, "metrics: the input has no column 'pass'"),
        ({}, "pass@0", ParameterError, "a cut-off must be at least 1, got 'pass@0'"),
        (
            {},
            "pass^x",
            ParameterError,
            "a cut-off must be a whole number of at least 1, got 'pass\\^x'",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(change, metrics, error, says):
    with pytest.raises(error, match=says):
        significance.read(trials().assign(**change), metrics=metrics)


def test_of_several_metrics_the_one_that_passes_is_named():
    table = pd.concat([trials().assign(metric=name) for name in ("exact", "loose")])
    with pytest.raises(
        ParameterError, match=r"pass@2 needs one metric of 0 and 1, .* metrics='exact,pass@2'"
    ):
        significance.read(table, metrics="pass@2")
    study = significance.read(table, metrics="pass@2,loose")
    assert [chosen.label for chosen in study.settings.metrics] == ["pass@2", "loose"]


@pytest.mark.parametrize("read", [significance.read, compared])
def test_variation_is_that_of_one_way_analysis_of_variance(read):
    table = trials(draws=5)
    study = read(table)
    for row in significance.variation(study).head(2).to_dict("records"):
        groups = table[table["model"] == row["what"]].groupby("task_id")["reward"]
        within = groups.var().mean()
        means = groups.mean()
        assert row["within"] == pytest.approx(within**0.5)
        assert row["between"] == pytest.approx(max(means.var() - within / 5, 0) ** 0.5)
        square = means.var() / 12
        assert row["error"] == pytest.approx(square**0.5)
        assert row["twice_units"] == pytest.approx((square / 2) ** 0.5)
        assert row["twice_draws"] == pytest.approx((square - within / 10 / 12) ** 0.5)
        assert (row["units"], row["draws"]) == (12, pytest.approx(5))


def test_ties_of_repeated_draws_count_half_in_test_figure_and_curve(tmp_path):
    table = trials(tasks=30, draws=5)
    study = significance.read(table, metrics="pass@1,pass^4")
    for chosen in study.settings.metrics:
        c = study.compare(chosen, ("a", "b"))
        exact = sign_flip(study.differences(("a", "b"), chosen), rng=np.random.default_rng(1))
        assert (c.method, exact.p_value / 2 < c.p_value < exact.p_value) == (
            f"{exact.method}, mid-p",
            True,
        )
    assert study.p_of(np.zeros(1)) == pytest.approx(study.headline.iloc[0]["p"], rel=0.05)
    ek.significance(table, metrics="pass@1").save(tmp_path / "earlier.json")
    (again,) = ek.significance(str(tmp_path / "earlier.json")).headline.to_dict("records")
    assert (again["p"], again["method"]) == (
        study.headline.iloc[0]["p"],
        study.headline.iloc[0]["method"],
    )
    once = significance.read(table[table["trial"] == 0], metrics="pass@1")
    rated = significance.read(table.assign(reward=table["reward"] * 0.7 + table["trial"] / 100))
    by_task = significance.read(table.assign(task=table["task_id"] % 7), unit="task")
    of_one = significance.read(table[(table["model"] == "a") | (table["trial"] == 0)])
    assert not any(
        "mid-p" in of.headline.iloc[0]["method"] for of in (once, rated, by_task, of_one)
    )


def test_twice_the_draws_never_gain_more_than_twice_the_units():
    table = pd.DataFrame({"task_id": np.repeat(range(20), 4), "trial": list(range(4)) * 20})
    right = (table["task_id"] + table["trial"]) % 2
    study = significance.read(pd.concat([table.assign(model=name, reward=right) for name in "ab"]))
    for row in significance.variation(study).to_dict("records"):
        assert (row["between"], row["twice_draws"]) == (0, row["twice_units"])


def test_variation_of_the_difference_has_the_draws_of_both_systems():
    first, second, both = significance.variation(significance.read(trials())).to_dict("records")
    assert both["within"] ** 2 == pytest.approx(first["within"] ** 2 + second["within"] ** 2)
    assert significance.variation(significance.read(trials(draws=1))).empty


@pytest.mark.parametrize("read", [significance.read, compared])
def test_draws_without_a_value_are_counted(read):
    table = trials().assign(
        reward=lambda t: t["reward"].mask(
            (t["model"] == "a") & (t["task_id"] == 0) & (t["trial"] > 0)
        )
    )
    says = (
        "96 rows are draws, up to 4 per task_id and system: the value of a unit is the mean of its "
        "draws, and each unit"
    )
    says += " counts once. Empty values among them: 3; they are left out."
    assert says in [finding.message for finding in read(table).data.findings]

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


def random_trials(tasks=12, draws=4, systems=("a", "b")):
    """A row for each system ("model"), task and trial, in random order, with a reward of 0 or 1.
    On each task a system has its own probability of 1, drawn uniformly.
    """
    rng = np.random.default_rng(3)
    chance = rng.beta(1, 1, (len(systems), tasks))
    rows = [
        {"task_id": t, "trial": d, "model": name, "reward": int(rng.random() < chance[s, t])}
        for s, name in enumerate(systems)
        for t in range(tasks)
        for d in range(draws)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=1, ignore_index=True)


READ_IN_MEMORY_OR_BY_BLOCKS = pytest.mark.parametrize(
    "read", [significance.read, compared], ids=["in memory", "by blocks"]
)


@pytest.fixture(
    scope="module", params=[significance.read, compared], ids=["in memory", "by blocks"]
)
def study_of_trials(request):
    """The study of `random_trials()` by pass@1, pass@3, pass^2 and pass^4."""
    return request.param(random_trials(), metrics=METRICS)


@pytest.mark.parametrize(
    "metric, k, passes",
    [("pass@1", 1, any), ("pass@3", 3, any), ("pass^2", 2, all), ("pass^4", 4, all)],
    ids=["pass@1", "pass@3", "pass^2", "pass^4"],
)
@pytest.mark.parametrize("system", ["a", "b"])
def test_pass_metrics_are_means_over_all_subsets_of_k_draws(
    study_of_trials, metric, k, passes, system
):
    """A system has four draws per task, with a reward of 0 or 1 each. The metric of a task is the
    share of its subsets of k draws in which any draw (pass@k) or all draws (pass^k) have the reward
    1; `passes` is that function, any or all. The metric of the system is the mean over its 12
    tasks.
    """
    table = random_trials()
    rewards_by_task = table[table["model"] == system].groupby("task_id")["reward"]
    share_by_task = [
        np.mean([passes(subset) for subset in combinations(rewards, k)])
        for _, rewards in rewards_by_task
    ]
    expected = np.mean(share_by_task)
    estimates = study_of_trials.estimates.set_index(["metric", "system"])
    row = estimates.loc[(metric, system)]
    assert row["value"] == pytest.approx(expected, abs=1e-12)
    assert row["low"] < expected < row["high"]
    assert row["n"] == 12


def test_each_pass_metric_is_a_comparison_of_the_family(study_of_trials):
    """The study compares the systems a and b by four metrics of repeated draws. Each makes one of
    the four comparisons that p-values are adjusted for.
    """
    assert study_of_trials.comparisons["metric"].tolist() == [
        "pass@1",
        "pass@3",
        "pass^2",
        "pass^4",
    ]
    assert study_of_trials.family.startswith("4 comparisons: 4 metrics × 1 pair")


@pytest.mark.parametrize("metric", [all_pass, any_passes])
@pytest.mark.parametrize("k", [2, 4])
def test_the_noise_of_a_metric_is_its_variance_over_draws(metric, k):
    """The metric is that any or that all of k draws of a unit pass. 5,000 units have 4 or 6 draws,
    which pass with a probability of each unit's own. The noise of the metric is estimated from one
    sample of draws; the exact variance is that over the binomial distribution of the number of
    passes. Both are averaged over the units. Over new samples their ratio has a standard deviation
    of up to 1.4 % and is off by up to 1.3 % on average; the tolerance of 4 % is about the latter
    and two standard deviations.
    """
    rng = np.random.default_rng(4)
    probability = stats.norm.cdf(rng.normal(0.3, 1, 5_000))
    n_draws = rng.choice([4.0, 6.0], 5_000)
    share = rng.binomial(n_draws.astype(int), probability) / n_draws
    variance_of_draw = share * (1 - share) * n_draws / (n_draws - 1)
    noise = Draws(n_draws, share, variance_of_draw).noise_of(lambda draws: metric(draws, k))
    exact_variance = np.zeros(len(n_draws))
    for count in (4, 6):
        passes = np.arange(count + 1.0)  # every number of passes that is possible
        counts = np.full(count + 1, float(count))
        unused_variance = passes  # in place of the variance of a draw, which no metric reads
        value = metric(Draws(counts, passes / count, unused_variance), k)
        units = n_draws == count
        weight = stats.binom.pmf(passes, count, probability[units][:, None])
        exact_variance[units] = weight @ value**2 - (weight @ value) ** 2
    assert noise.mean() == pytest.approx(exact_variance.mean(), rel=0.04)


def units_with_passes(*passes, draws=2):
    """Units, each with `draws` draws, of which so many pass."""
    share = np.array(passes) / draws
    count = np.full(len(passes), float(draws))
    return Draws(count, share, share * (1 - share) * draws / (draws - 1))


def both_pass(draws):
    return all_pass(draws, 2)


def test_a_draw_of_the_largest_variance_is_added_to_those_of_the_prior():
    """Of three units with two draws 2, 0 and 1 pass: their mean is 1/2, the variance within them
    (3 × 1/6 + 1/4) / 4 = 3/16 of 1/4: a beta distribution with 3/2 and 3/2. Then
    E p² − E p⁴ = 5/16 − 21/128.
    """
    assert units_with_passes(2, 0, 1).noise_of(both_pass) == pytest.approx(
        5 / 16 - 21 / 128, rel=1e-3
    )


def test_half_a_pass_and_half_a_failure_are_added_to_the_mean_of_the_prior():
    """Of two units with two draws 2 and 1 pass: 3.5 of 5 draws. The units seem alike, so that each
    passes with p = 0.7, and the noise is p² − p⁴.
    """
    assert units_with_passes(2, 1).noise_of(both_pass) == pytest.approx(0.7**2 - 0.7**4, rel=2e-3)


def test_units_with_more_draws_count_more_for_the_variance_of_a_draw():
    """Variances 1/2 of two draws and 1/3 of four: (1 × 1/2 + 3 × 1/3) / 4."""
    draws = Draws(np.array([2.0, 4.0]), np.array([0.5, 0.5]), np.array([1 / 2, 1 / 3]))
    assert draws.pooled == pytest.approx(3 / 8)


def test_units_with_more_draws_have_less_noise():
    draws = Draws(np.array([2.0, 4.0]), np.array([0.5, 0.5]), np.array([1 / 2, 1 / 3]))
    assert draws.noise == pytest.approx([3 / 16, 3 / 32])


@pytest.mark.parametrize("n_repeated, has_mid_p", [(1, False), (15, False), (16, True)])
def test_ties_count_half_where_most_of_30_units_have_several_draws(n_repeated, has_mid_p):
    """Of 30 units (tasks) `n_repeated` have 5 draws, the others one."""
    table = random_trials(tasks=30, draws=5)
    kept = table[(table["task_id"] < n_repeated) | (table["trial"] == 0)]
    (method,) = significance.read(kept, metrics="pass@1").headline["method"]
    assert ("mid-p" in method) is has_mid_p


def test_a_table_of_one_system_needs_nothing_else(tmp_path):
    path = tmp_path / "gpt.csv"
    random_trials(systems=("a",)).drop(columns="model").to_csv(path, index=False)
    study = significance.read(path, metrics="pass@1,pass^4")
    assert (study.systems, study.unit_name) == (("gpt",), "task")
    assert study.estimates["value"].between(0, 1).all()


def test_each_file_of_trials_is_a_system(tmp_path):
    """A folder has the files a.csv and b.csv without a column of systems ("model"). Its comparisons
    must be those of one table with this column.
    """
    table = random_trials()
    for system, rows in table.groupby("model"):
        rows.drop(columns="model").to_csv(tmp_path / f"{system}.csv", index=False)
    of_files = significance.read(tmp_path, metrics=METRICS)
    of_table = significance.read(table, metrics=METRICS)
    pd.testing.assert_frame_equal(of_files.comparisons, of_table.comparisons)


@pytest.mark.parametrize(
    "change, metrics, error, message",
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
def test_a_reward_or_a_metric_of_draws_that_has_no_meaning_is_refused(
    change, metrics, error, message
):
    with pytest.raises(error, match=message):
        significance.read(random_trials().assign(**change), metrics=metrics)


def test_a_pass_metric_of_a_table_with_two_metrics_must_name_one_of_them_too():
    """The table has two metrics of 0 and 1, named "exact" and "loose" in its column `metric`. From
    which of them pass@2 is computed is not clear, until one is named beside it.
    """
    table = pd.concat([random_trials().assign(metric=name) for name in ("exact", "loose")])
    with pytest.raises(
        ParameterError, match=r"pass@2 needs one metric of 0 and 1, .* metrics='exact,pass@2'"
    ):
        significance.read(table, metrics="pass@2")
    study = significance.read(table, metrics="pass@2,loose")
    assert [chosen.label for chosen in study.settings.metrics] == ["pass@2", "loose"]


@READ_IN_MEMORY_OR_BY_BLOCKS
def test_variation_is_that_of_one_way_analysis_of_variance(read):
    """The table, which is read in memory or by blocks (`read`), has 5 draws of each of 12 tasks for
    each system. `within` is the mean variance of the draws of a task. The variance of the means of
    tasks is that between tasks plus within / 5. The standard error of the system's mean is
    √(variance of the means / 12). With twice the tasks it is √(variance / 24); with 10 in place of
    5 draws per task the variance has within / 10 in place of within / 5. The table of variation has
    the square roots of these variances.
    """
    table = random_trials(tasks=12, draws=5)
    of_a, of_b, _of_difference = significance.variation(read(table)).to_dict("records")
    for row in (of_a, of_b):
        rewards = table[table["model"] == row["what"]].groupby("task_id")["reward"]
        within = rewards.var().mean()
        of_means = rewards.mean().var()
        assert row["within"] == pytest.approx(within**0.5)
        assert row["between"] == pytest.approx(max(of_means - within / 5, 0) ** 0.5)
        assert row["error"] == pytest.approx((of_means / 12) ** 0.5)
        assert row["twice_units"] == pytest.approx((of_means / 24) ** 0.5)
        of_means_of_10 = of_means - within / 5 + within / 10
        assert row["twice_draws"] == pytest.approx((of_means_of_10 / 12) ** 0.5)
        assert row["units"] == 12
        assert row["draws"] == pytest.approx(5)


@pytest.fixture(scope="module")
def study_of_repeated_draws():
    """The study of two systems, with 30 tasks and 5 draws of each, by pass@1 and pass^4."""
    return significance.read(random_trials(tasks=30, draws=5), metrics="pass@1,pass^4")


def test_ties_of_repeated_draws_count_half_in_the_test(study_of_repeated_draws):
    """The p of the sign-flip test is P(flipped ≥ observed), which counts ties, = observed, in full.
    The study of repeated draws reports the mid-p, which counts them half: it is smaller, but more
    than half of the former.
    """
    study = study_of_repeated_draws
    for metric in study.settings.metrics:
        comparison = study.compare(metric, ("a", "b"))
        with_ties = sign_flip(study.differences(("a", "b"), metric), rng=np.random.default_rng(1))
        assert comparison.method == f"{with_ties.method}, mid-p"
        assert with_ties.p_value / 2 < comparison.p_value < with_ties.p_value


def test_the_curve_of_p_values_has_the_mid_p_at_a_difference_of_0(study_of_repeated_draws):
    (p,) = study_of_repeated_draws.headline["p"]
    difference_of_0 = np.zeros(1)
    assert study_of_repeated_draws.p_of_null_means(difference_of_0) == pytest.approx(p, rel=0.05)


def test_saved_results_of_repeated_draws_are_read_with_the_mid_p(study_of_repeated_draws, tmp_path):
    """A report on repeated draws tests by the mid-p, which counts ties half. Its saved results have
    a value of pass@1 per unit and are read in place of a table. Their p and method must be those of
    `study_of_repeated_draws`, which is of the same table, and whose first metric is pass@1 too.
    """
    table = random_trials(tasks=30, draws=5)
    ek.significance(table, metrics="pass@1").save(tmp_path / "earlier.json")
    (saved,) = ek.significance(str(tmp_path / "earlier.json")).headline.to_dict("records")
    (expected,) = study_of_repeated_draws.headline.to_dict("records")
    assert saved["p"] == expected["p"]
    assert saved["method"] == expected["method"]


@pytest.mark.parametrize(
    "change, options",
    [
        (lambda table: table[table["trial"] == 0], {"metrics": "pass@1"}),
        (lambda table: table.assign(reward=table["reward"] * 0.7 + table["trial"] / 100), {}),
        (lambda table: table.assign(task=table["task_id"] % 7), {"unit": "task"}),
        (lambda table: table[(table["model"] == "a") | (table["trial"] == 0)], {}),
    ],
    ids=["one draw each", "rewards of any size", "clustered by unit", "repeated by a alone"],
)
def test_ties_count_in_full_without_repeated_passes_of_both_systems_by_task(change, options):
    study = significance.read(change(random_trials(tasks=30, draws=5)), **options)
    (method,) = study.headline["method"]
    assert "mid-p" not in method


def test_twice_the_draws_never_gain_more_than_twice_the_units():
    """Each of 20 tasks has the rewards 0, 1, 0, 1 in some order. All means are 1/2, and vary less
    than the draws let expect: the estimated variance between tasks, which would be below 0, is 0,
    and to halve the variance of the draws would take away more than there is. The standard error
    with twice the draws is then set to that with twice the tasks (units).
    """
    table = pd.DataFrame({"task_id": np.repeat(range(20), 4), "trial": list(range(4)) * 20})
    reward = (table["task_id"] + table["trial"]) % 2
    both_systems = pd.concat([table.assign(model=name, reward=reward) for name in "ab"])
    for row in significance.variation(significance.read(both_systems)).to_dict("records"):
        assert row["between"] == 0
        assert row["twice_draws"] == row["twice_units"]


def test_variation_of_the_difference_has_the_draws_of_both_systems():
    study = significance.read(random_trials())
    of_a, of_b, of_difference = significance.variation(study).to_dict("records")
    sum_of_variances = of_a["within"] ** 2 + of_b["within"] ** 2
    assert of_difference["within"] ** 2 == pytest.approx(sum_of_variances)


def test_without_repeated_draws_there_is_no_table_of_variation():
    assert significance.variation(significance.read(random_trials(draws=1))).empty


@READ_IN_MEMORY_OR_BY_BLOCKS
def test_draws_without_a_value_are_counted(read):
    """Two systems with 12 tasks and 4 draws of each make 96 rows. Three rewards are empty: those of
    system a on the first task but for its first trial.
    """
    table = random_trials(tasks=12, draws=4)
    emptied = (table["model"] == "a") & (table["task_id"] == 0) & (table["trial"] > 0)
    table["reward"] = table["reward"].mask(emptied)
    message = (
        "96 rows are draws, up to 4 per task_id and system: the value of a unit is the mean of its "
        "draws, and each unit counts once. Empty values among them: 3; they are left out."
    )
    assert message in [finding.message for finding in read(table).data.findings]

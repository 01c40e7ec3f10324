"""Power, sizes of effects and tests of ranks: the power itself, scipy, and reference values of
public tools.
"""

from typing import NamedTuple

import numpy as np
import pytest
from samples import COMPARED, compared
from scipy import stats

from evalkit.catalogue.kinds import MeanPerUnit
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.metrics.rows import Sums
from evalkit.statistics import methods, multiplicity, power, rank_tests
from evalkit.statistics.statistic import UnitStatistic


@pytest.mark.parametrize("n", [2, 3, 10, 50, 4000])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_test_finds_the_minimum_detectable_difference_with_the_power(sign, n):
    """A paired t-test of n units, whose differences have the standard deviation 0.3."""
    detectable = power.minimum_detectable(sd=0.3, n=n, level=0.9, power=0.85)
    found = power.paired_power(sign * detectable, sd=0.3, n=n, level=0.9)
    assert found == pytest.approx(0.85)


def test_a_variance_that_grows_with_the_difference_enlarges_what_is_detectable():
    constant_variance = power.minimum_detectable(sd=0.3, n=40)
    assert power.minimum_detectable(sd=0.3, n=40, grows=0.8) > constant_variance


@pytest.mark.parametrize("bends", [0.0, -0.5])
def test_the_power_is_that_with_the_variance_at_the_detectable_difference(bends):
    """The variance at a difference d is 0.3² + 0.8 d + bends · d²; the default power is 80 %."""
    d = power.minimum_detectable(sd=0.3, n=40, grows=0.8, bends=bends)
    sd_at_d = np.sqrt(0.3**2 + 0.8 * d + bends * d**2)
    assert power.paired_power(d, sd=sd_at_d, n=40) == pytest.approx(0.8)


def test_nothing_is_detectable_if_the_spread_grows_faster_than_the_difference():
    """The variance at a difference d is 0.3² + 2 d²."""
    assert np.isnan(power.minimum_detectable(sd=0.3, n=10, bends=2.0))


@pytest.mark.parametrize("n", [5.0, 30.0, 1e5])
def test_the_required_n_of_the_minimum_detectable_difference_is_n(n):
    detectable = power.minimum_detectable(sd=2.0, n=n)
    assert power.required_n(detectable, sd=2.0) == pytest.approx(n, rel=1e-6)


def test_at_least_two_units_are_required():
    assert power.required_n(difference=100, sd=0.001) == pytest.approx(2)


# Sizes of effects ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def effect_and_mirrored():
    """The effect of system a against b on 30 units, and of b against a. The values are rounded to
    0.1, so that some units are ties.
    """
    a, b = np.random.default_rng(1).uniform(size=(2, 30)).round(1)
    return power.effect(a, b), power.effect(b, a)


@pytest.mark.parametrize("size", ["difference", "standardised"])
def test_swapped_systems_have_the_opposite_difference(effect_and_mirrored, size):
    effect, mirrored = effect_and_mirrored
    assert getattr(mirrored, size) == pytest.approx(-getattr(effect, size))


def test_swapped_systems_have_the_complement_as_superiority(effect_and_mirrored):
    effect, mirrored = effect_and_mirrored
    assert mirrored.superiority == pytest.approx(1 - effect.superiority)


def test_swapped_systems_win_where_the_other_loses(effect_and_mirrored):
    effect, mirrored = effect_and_mirrored
    expected = (effect.losses, effect.ties, effect.wins)
    assert (mirrored.wins, mirrored.ties, mirrored.losses) == expected


def test_each_unit_is_a_win_a_tie_or_a_loss(effect_and_mirrored):
    effect, _ = effect_and_mirrored
    assert effect.wins + effect.ties + effect.losses == 30


# What two arms can detect -------------------------------------------------------------------------


@pytest.mark.parametrize("n, base", [(50, 0.1), (200, 0.3), (300, 0.9)])
def test_two_arms_detect_the_detectable_difference_of_shares_in_80_percent(n, base):
    """Two arms of n units each. The base arm has the true share `base`. The other arm has the share
    base ± detectable difference, on the side of one half.

    The z test of both arms' successes has a pooled variance. Its power is the probability of all
    pairs of successes that are significant, by the exact binomial distribution of both arms. The
    detectable difference comes from the normal approximation of the binomial distribution, which
    has no whole numbers of successes; 2.5 points around 80 % are allowed for them.
    """
    direction = 1 if base < 0.5 else -1
    detectable_difference = power.detectable_share(base, n=n, m=n)
    other_share = base + direction * detectable_difference
    successes = np.arange(n + 1)
    # (successes of the other arm, successes of the base arm)
    probability = np.outer(
        stats.binom.pmf(successes, n, other_share), stats.binom.pmf(successes, n, base)
    )
    pooled_share = np.add.outer(successes, successes) / (2 * n)
    variance = pooled_share * (1 - pooled_share) * 2 / n
    error = np.sqrt(np.maximum(variance, 1e-12))  # not 0 where all units or none are successes
    difference = np.subtract.outer(successes, successes) / n
    z = direction * difference / error
    significant = z > stats.norm.ppf(0.975)
    assert probability[significant].sum() == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize("n, m", [(1000, 1000), (300, 3000)])
def test_a_detectable_lift_has_the_power_on_the_logarithmic_scale(n, m):
    """Arms of n and m units. The mean of the other arm is 2 and its standard deviation 5; the lift
    multiplies the mean and the standard deviation by the same factor, 1 + lift / mean.

    The logarithm of this factor has the standard error sd / mean · √(1 / n + 1 / m). The detectable
    one is as many standard errors as the normal quantiles of level (0.95 for 90 %) and power
    (0.85) have in sum.
    """
    mean, sd = 2.0, 5.0
    lift = power.detectable_lift(mean, sd, n=n, m=m, level=0.9, power=0.85)
    standard_error = sd / mean * np.sqrt(1 / n + 1 / m)
    quantiles = stats.norm.ppf(0.95) + stats.norm.ppf(0.85)
    assert np.log(1 + lift / mean) / standard_error == pytest.approx(quantiles, abs=1e-6)


# How the variance of paired differences grows with the difference ---------------------------------


def paired(first, second, low=-np.inf, high=np.inf):
    """The difference of two systems on the same units, of a metric with this range."""
    metric = Metric("value", "values", MeanPerUnit(lambda *_: None), "", "", "", "never", low, high)
    statistics = [
        UnitStatistic(MetricAtK(metric), Sums(np.array(values, float)))
        for values in (first, second)
    ]
    return methods.paired(*statistics)


def test_equal_units_of_unrelated_systems_do_not_come_to_differ():
    """The correlation of the systems is 0, so nothing grows with the difference d; d² is subtracted
    for the half of the units that stay equal.
    """
    unrelated = paired([0, 0, 1, 1] * 25, [0, 1, 0, 1] * 25)
    assert unrelated.variance_growth.linear == pytest.approx(0.0)
    assert unrelated.variance_growth.quadratic == pytest.approx(-0.5)


def test_a_difference_of_systems_that_are_alike_makes_equal_units_differ():
    """90 of 100 units are equal, where 50 are expected of unrelated systems."""
    first = np.arange(100) % 2
    second = np.where(np.arange(100) < 90, first, 1 - first)
    assert paired(first, second).variance_growth.linear == pytest.approx(0.8 * 0.9**2)


@pytest.mark.parametrize("difference", [0.0, 0.1, 0.3])
def test_the_variance_of_unrelated_shares_is_that_of_two_binomials(difference):
    """Both systems are right in a quarter of 16 units; then the first in a quarter + difference."""
    observed = paired([0, 0, 0, 1] * 4, np.repeat([0, 0, 0, 1], 4), low=0.0, high=1.0)
    variance = observed.spread_at(difference) ** 2 * 15 / 16
    first = 1 / 4 + difference
    expected = first * (1 - first) + 1 / 4 * (1 - 1 / 4)
    assert variance == pytest.approx(expected, abs=0.03)


def test_an_exact_test_of_0_and_1_needs_half_a_step_of_the_mean_more():
    """A flipped sign moves the mean difference of four units by a step of 2/4."""
    assert paired([1, 1, 0, 1], [0, 1, 1, 1]).exactness_margin == 1 / 4


def test_an_exact_test_of_differences_of_several_sizes_needs_no_margin():
    assert paired([1.0, 0.5, 0.0], [0.0, 1.0, 1.0]).exactness_margin == 0.0


# Tests of ranks -----------------------------------------------------------------------------------


def normal_values(*, seed, units, systems):
    """Values of systems (columns) on units (rows), rounded to 0.1, so that some are tied."""
    return np.random.default_rng(seed).normal(size=(units, systems)).round(1)


def test_friedman_equals_scipy():
    values = normal_values(seed=0, units=20, systems=4)
    expected = stats.friedmanchisquare(*values.T).pvalue
    assert multiplicity.ranked(values).friedman == pytest.approx(expected)


def test_the_p_value_of_iman_and_davenport_is_the_f_test_of_friedmans_statistic():
    """Values of k = 4 systems on n = 20 units. Iman and Davenport 1980 turn Friedman's χ², here
    from scipy, into F = (n − 1) χ² / (n (k − 1) − χ²). Under the null F has the F distribution with
    k − 1 and (n − 1) (k − 1) degrees of freedom.
    """
    n, k = 20, 4
    values = normal_values(seed=0, units=n, systems=k)
    chi2 = stats.friedmanchisquare(*values.T).statistic
    f = (n - 1) * chi2 / (n * (k - 1) - chi2)
    expected = stats.f.sf(f, k - 1, (n - 1) * (k - 1))
    assert multiplicity.ranked(values).iman_davenport == pytest.approx(expected)


def test_blocked_tukey_of_two_systems_is_the_paired_t_test():
    values = normal_values(seed=2, units=15, systems=2)
    expected = stats.ttest_rel(*values.T).pvalue
    assert multiplicity.blocked_tukey(values)[0, 1] == pytest.approx(expected, rel=1e-6)


def test_blocked_tukey_finds_a_difference_that_units_hide_from_the_one_way_test():
    """Units differ by up to 1; the third system is better by 0.015 on each."""
    rng = np.random.default_rng(3)
    values = rng.uniform(0, 1, (200, 1)) + rng.normal(0, 0.03, (200, 3)) + [0, 0, 0.015]
    assert stats.tukey_hsd(*values.T).pvalue[0, 2] > 0.5
    assert multiplicity.blocked_tukey(values)[0, 2] < 1e-3


@pytest.mark.parametrize("freedom", [1, 2, 7, 1_000])
def test_the_studentised_range_of_two_means_is_the_t_distribution_scaled(freedom):
    q = np.array([0.01, 1.0, 3.0, 20.0, 300.0])
    found = rank_tests.studentised_range_beyond(q, 2, freedom)
    expected = 2 * stats.t.sf(q / np.sqrt(2), freedom)
    assert found == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(("k", "freedom"), [(3, 2), (3, 10), (10, 9), (20, 100), (50, 500)])
def test_the_studentised_range_equals_scipy(k, freedom):
    q = np.array([0.5, 2.0, 3.9, 7.0])
    found = rank_tests.studentised_range_beyond(q, k, freedom)
    assert found == pytest.approx(stats.studentized_range.sf(q, k, freedom), abs=1e-8)


# Reference values ---------------------------------------------------------------------------------


class Reference(NamedTuple):
    """A measure of a public data set: the values of systems, and the p-values of public tools."""

    values: np.ndarray  # (queries, systems)
    systems: list[str]
    friedman_p: float
    pairs: list[dict]  # names a and b, and the p-values of the pair


@pytest.fixture(scope="module", params=COMPARED)
def references(request):
    """The references of each measure of a public data set."""
    by_system, expected = compared(request.param)
    systems = list(by_system)
    queries = sorted(by_system[systems[0]])
    return [
        Reference(
            np.array([[by_system[s][q][measure] for s in systems] for q in queries]),
            systems,
            expected["omnibus"][measure]["friedman_p"],
            pairs,
        )
        for measure, pairs in expected["pairs"].items()
    ]


def test_friedman_equals_the_p_value_of_a_public_tool(references):
    for reference in references:
        found = multiplicity.ranked(reference.values).friedman
        assert found == pytest.approx(reference.friedman_p, rel=1e-6)


def test_blocked_tukey_equals_the_p_values_of_public_tools(references):
    """Tukey's test of each pair of systems, after a two-way analysis of variance whose blocks are
    the queries. A reference holds the values of all systems on the queries of a public data set,
    and the p-values that scipy and statsmodels computed from these values. The p-value is an
    integral, which both sides compute numerically.
    """
    for reference in references:
        found = multiplicity.blocked_tukey(reference.values)
        for pair in reference.pairs:
            a = reference.systems.index(pair["a"])
            b = reference.systems.index(pair["b"])
            assert found[a, b] == pytest.approx(pair["p_tukey_hsd_twoway"], abs=1e-6), pair


def test_wilcoxon_equals_the_p_values_of_a_public_tool(references):
    for reference in references:
        for pair in reference.pairs:
            a = reference.values[:, reference.systems.index(pair["a"])]
            b = reference.values[:, reference.systems.index(pair["b"])]
            assert multiplicity.wilcoxon(a - b) == pytest.approx(pair["p_wilcoxon"], rel=1e-6), pair

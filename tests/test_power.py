"""Power, sizes of effects and ranks: published figures, the power itself, reference values of
public tools.
"""

import numpy as np
import pytest
from samples import COMPARED, compared
from scipy import stats

from evalkit.catalogue.kinds import PerUnit
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.metrics.rows import Sums
from evalkit.statistics import methods, multiplicity, power, rank_tests
from evalkit.statistics.statistic import UnitStatistic


@pytest.mark.parametrize("n", [2, 3, 10, 50, 4000])
def test_what_is_detectable_has_the_power(n):
    detectable = power.minimum_detectable(0.3, n, level=0.9, power=0.85)
    assert power.paired_power(detectable, 0.3, n, level=0.9) == pytest.approx(0.85)
    assert power.paired_power(-detectable, 0.3, n, level=0.9) == pytest.approx(0.85)


def test_a_variance_that_grows_with_the_difference_makes_it_larger():
    d = power.minimum_detectable(0.3, 40, grows=0.8)
    assert power.paired_power(d, np.sqrt(0.3**2 + 0.8 * d), 40) == pytest.approx(0.8)
    assert d > power.minimum_detectable(0.3, 40)


def test_required_n_inverts_the_detectable_difference():
    for n in (5.0, 30.0, 1e5):
        detectable = power.minimum_detectable(2.0, n)
        assert power.required_n(detectable, 2.0) == pytest.approx(n, rel=1e-6)
    assert power.required_n(100, 0.001) == pytest.approx(2)


def test_swapping_mirrors_the_effect():
    a, b = np.random.default_rng(1).uniform(size=(2, 30)).round(1)
    there = power.effect(a, b)
    back = power.effect(b, a)
    assert back.difference == pytest.approx(-there.difference)
    assert back.standardised == pytest.approx(-there.standardised)
    assert back.superiority == pytest.approx(1 - there.superiority)
    assert (back.wins, back.ties, back.losses) == (there.losses, there.ties, there.wins)
    assert there.wins + there.ties + there.losses == 30


def test_a_share_that_would_show_is_shown_in_80_percent():
    """By the exact distribution of two arms: the effect raises the variance, which the width of an
    interval ignores.
    """
    for n, base in ((50, 0.1), (200, 0.3), (300, 0.9)):
        d = power.detectable_share(base, n, n)
        share = base + d if base < 0.5 else base - d
        a, b = (stats.binom.pmf(np.arange(n + 1), n, p) for p in (share, base))
        first, second = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        pooled = (first + second) / (2 * n)
        error = np.sqrt(np.maximum(pooled * (1 - pooled) * 2 / n, 1e-12))
        z = (first - second) / n / error * (1 if base < 0.5 else -1)
        assert np.outer(a, b)[z > 1.959964].sum() == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize("n, m", [(1000, 1000), (300, 3000)])
def test_a_lift_that_shows_has_the_power_where_the_spread_grows_with_the_mean(n, m):
    """log(1 + d / mean) / (sd / mean √(1 / n + 1 / m)) is the sum of both quantiles."""
    d = power.detectable_lift(2.0, 5.0, n, m, level=0.9, power=0.85)
    error = 2.5 * np.sqrt(1 / n + 1 / m)
    assert np.log(1 + d / 2) / error == pytest.approx(1.6448536 + 1.0364334, abs=1e-6)


def test_a_variance_that_bends_with_the_difference_is_that_at_the_difference():
    d = power.minimum_detectable(0.3, 40, grows=0.8, bends=-0.5)
    spread = np.sqrt(0.3**2 + 0.8 * d - 0.5 * d**2)
    assert power.paired_power(d, spread, 40) == pytest.approx(0.8)


def test_where_the_spread_outgrows_the_difference_nothing_shows():
    assert np.isnan(power.minimum_detectable(0.3, 10, bends=2.0))


def paired(first, second, low=-np.inf, high=np.inf):
    """The difference of two systems on the same units, of a metric with this range."""
    metric = Metric("value", "values", PerUnit(lambda *_: None), "", "", "", "never", low, high)
    sides = (
        UnitStatistic(MetricAtK(metric), Sums(np.array(values, float)))
        for values in (first, second)
    )
    return methods.paired(*sides)


def test_units_that_are_equal_by_coincidence_do_not_come_to_differ():
    unrelated = paired([0, 0, 1, 1] * 25, [0, 1, 0, 1] * 25)
    assert unrelated.growth.linear == pytest.approx(0.0)
    assert unrelated.growth.quadratic == pytest.approx(-0.5)


def test_units_that_are_equal_because_systems_are_alike_come_to_differ():
    first = np.arange(100) % 2
    second = np.where(np.arange(100) < 90, first, 1 - first)
    assert paired(first, second).growth.linear == pytest.approx(0.8 * 0.9**2)


def test_within_a_range_the_spread_goes_with_the_distances_to_its_ends():
    """Unrelated systems of 0 and 1, right in a quarter: var = p (1 − p) + q (1 − q)."""
    first = [0, 0, 0, 1] * 4
    second = np.repeat([0, 0, 0, 1], 4)
    difference = paired(first, second, low=0.0, high=1.0)
    n = len(first)
    for d in (0.0, 0.1, 0.3):
        variance = difference.spread_at(d) ** 2 * (n - 1) / n
        first_share = 1 / 4 + d
        expected = first_share * (1 - first_share) + 1 / 4 * 3 / 4
        assert variance == pytest.approx(expected, abs=0.03)


def test_an_exact_test_of_wins_and_losses_needs_half_a_step_more():
    assert paired([1, 1, 0, 1], [0, 1, 1, 1]).exactness_margin == 1 / 4
    assert paired([1.0, 0.5, 0.0], [0.0, 1.0, 1.0]).exactness_margin == 0.0


def table(seed=0, shape=(20, 4)):
    return np.random.default_rng(seed).normal(size=shape).round(1)


def test_friedman_equals_scipy_and_iman_davenport_its_formula():
    values = table()
    expected = stats.friedmanchisquare(*values.T)
    assert multiplicity.ranked(values).friedman == pytest.approx(expected.pvalue)
    f = 19 * expected.statistic / (60 - expected.statistic)
    assert multiplicity.ranked(values).iman_davenport == pytest.approx(stats.f.sf(f, 3, 57))


def test_blocked_tukey_of_two_systems_is_the_paired_t():
    values = table(2, (15, 2))
    expected = stats.ttest_rel(*values.T).pvalue
    assert multiplicity.blocked_tukey(values)[0, 1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("freedom", [1, 2, 7, 1_000])
def test_the_studentised_range_of_two_is_a_t_statistic(freedom):
    q = np.array([0.01, 1.0, 3.0, 20.0, 300.0])
    beyond = rank_tests.studentised_range_beyond(q, 2, freedom)
    expected = 2 * stats.t.sf(q / np.sqrt(2), freedom)
    assert beyond == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(("k", "freedom"), [(3, 2), (3, 10), (10, 9), (20, 100), (50, 500)])
def test_the_studentised_range_is_scipys(k, freedom):
    q = np.array([0.5, 2.0, 3.9, 7.0])
    beyond = rank_tests.studentised_range_beyond(q, k, freedom)
    assert beyond == pytest.approx(stats.studentized_range.sf(q, k, freedom), abs=1e-8)


def test_blocked_tukey_sees_what_the_one_way_test_does_not():
    g = np.random.default_rng(3)
    values = g.uniform(0, 1, (200, 1)) + g.normal(0, 0.03, (200, 3)) + [0, 0, 0.015]
    assert stats.tukey_hsd(*values.T).pvalue[0, 2] > 0.5
    assert multiplicity.blocked_tukey(values)[0, 2] < 1e-3


@pytest.mark.parametrize("name", COMPARED)
def test_reference_values(name):
    read, expected = compared(name)
    systems = list(read)
    for measure, rows in expected["pairs"].items():
        values = np.array(
            [[read[s][q][measure] for s in systems] for q in sorted(read[systems[0]])]
        )
        omnibus = expected["omnibus"][measure]
        assert multiplicity.ranked(values).friedman == pytest.approx(
            omnibus["friedman_p"], rel=1e-6
        ), (name, measure)
        tukey = multiplicity.blocked_tukey(values)
        for row in rows:
            a = systems.index(row["a"])
            b = systems.index(row["b"])
            assert tukey[a, b] == pytest.approx(row["p_tukey_hsd_twoway"], abs=1e-6), (
                name,
                measure,
                row,
            )
            p = multiplicity.wilcoxon(values[:, a] - values[:, b])
            assert p == pytest.approx(row["p_wilcoxon"], rel=1e-6), (name, measure, row)

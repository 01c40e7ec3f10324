import numpy as np
import pytest
from scipy import stats

from evalkit.statistics import power


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
    there, back = power.effect(a, b), power.effect(b, a)
    assert back.difference == pytest.approx(-there.difference)
    assert back.standardised == pytest.approx(-there.standardised)
    assert back.superiority == pytest.approx(1 - there.superiority)
    assert (back.wins, back.ties, back.losses) == (there.losses, there.ties, there.wins)
    assert there.wins + there.ties + there.losses == 30


def test_a_share_that_would_show_is_shown_in_80_percent():
    """By the exact distribution of two arms: the effect raises the variance, which the width of an interval ignores."""
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
    """d / √(sd² ((1 + d / mean)² / n + 1 / m)) is the sum of both quantiles."""
    d = power.detectable_lift(2.0, 5.0, n, m, level=0.9, power=0.85)
    error = np.sqrt(25 * ((1 + d / 2) ** 2 / n + 1 / m))
    assert d / error == pytest.approx(1.6448536 + 1.0364334, abs=1e-6)

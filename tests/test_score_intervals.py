"""Score intervals of two proportions: published figures, the likeliest proportions, one story with the test."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from evalkit.statistics import independent, proportions
from evalkit.statistics.proportions import difference_score, ratio_score

# Newcombe, Statistics in Medicine 1998, 17:873, table II, method 5 (Mee)
PUBLISHED = [
    ((56, 70, 48, 80), (0.0533, 0.3377)),
    ((9, 10, 3, 10), (0.1821, 0.8370)),
    ((6, 7, 2, 7), (0.0544, 0.8478)),
    ((0, 10, 0, 20), (-0.1611, 0.2775)),
]


@pytest.mark.parametrize("table, limits", PUBLISHED)
def test_differences_as_published(table, limits):
    e = difference_score(*table)
    assert (e.low, e.high) == pytest.approx(limits, abs=5.1e-5)


def test_ratio_as_published_by_koopman():
    e = ratio_score(36, 40, 16, 80)
    assert (round(e.low, 2), round(e.high, 2)) == (2.94, 7.15)


def test_the_likeliest_proportion_is_that_of_a_search():
    g = np.random.default_rng(1)
    for _ in range(40):
        n, m = g.integers(3, 40, 2)
        a, b, d = int(g.integers(0, n + 1)), int(g.integers(0, m + 1)), g.uniform(-0.9, 0.9)

        def loss(p, a=a, b=b, n=n, m=m, d=d):
            return -(a * np.log(p) + (n - a) * np.log1p(-p) + b * np.log(p - d) + (m - b) * np.log1p(d - p))

        ends = max(0, d) + 1e-12, min(1, 1 + d) - 1e-12
        by_search = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-10}).x
        assert proportions._likeliest(a / n, n, b / m, m, d) == pytest.approx(by_search, abs=1e-6)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_test_interval_and_lift_never_contradict(n, m, data):
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    c, lift = proportions.two_proportions(a, n, b, m), independent.share_lift(a, n, b, m)
    e = c.difference
    assert (c.p_value < 0.05) == (not e.low <= 0 <= e.high)
    assert -1 <= e.low <= e.value <= e.high <= 1
    mirrored = proportions.two_proportions(b, m, a, n).difference
    assert (mirrored.low, mirrored.high) == pytest.approx((-e.high, -e.low), abs=1e-9)
    if b:
        assert (lift.p_value < 0.05) == (not lift.difference.low <= 0 <= lift.difference.high)
        assert lift.difference.low - 1e-9 <= lift.difference.value <= lift.difference.high + 1e-9


def test_nothing_is_undefined():
    assert np.isnan(
        [difference_score(0, 0, 1, 2).low, ratio_score(0, 5, 0, 5).value, ratio_score(0, 5, 0, 5).high]
    ).all()
    assert ratio_score(3, 5, 0, 5).high == np.inf
    assert ratio_score(0, 5, 3, 5).low == 0


def test_the_score_interval_covers():
    """The exact coverage over a grid of true shares, 20 and 30 trials: near the level on average."""
    n, m = 20, 30
    tables = [[difference_score(a, n, b, m) for b in range(m + 1)] for a in range(n + 1)]
    covered = []
    for p, q in ((0.1, 0.1), (0.3, 0.1), (0.5, 0.5), (0.8, 0.6)):
        chance = np.outer(binomial(n, p), binomial(m, q))
        holds = np.array([[e.low <= p - q <= e.high for e in row] for row in tables])
        covered.append(float((chance * holds).sum()))
    assert 0.94 <= np.mean(covered) <= 0.97
    assert min(covered) > 0.93


def binomial(n, p):
    return np.exp([float(proportions.log_binomial(k, n, p)) for k in range(n + 1)])

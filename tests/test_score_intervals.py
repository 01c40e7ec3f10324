"""Score intervals of two proportions: published figures, the likeliest proportions, one story with the test."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from evalkit.statistics import independent, proportions
from evalkit.statistics.proportions import difference_score


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

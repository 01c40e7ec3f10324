"""Test and interval are one thing: p is below α exactly when 0 lies outside, and swapping the systems swaps both."""

import numpy as np
from significance_tables import rng

from evalkit.statistics import significance as sig


def random_differences(g):
    n = int(g.integers(5, 60))
    kind = g.integers(4)
    shift = g.normal(0, 0.4)
    if kind == 0:
        return g.normal(shift, 1, n)
    if kind == 1:
        return g.integers(-3, 4, n) / 4
    if kind == 2:
        return g.choice([0.0, -0.1, 1.0], n, p=[0.7, 0.25, 0.05])
    return g.exponential(1, n) - 1 + shift


def test_p_is_below_alpha_exactly_when_0_is_outside_in_1000_random_cases():
    g, rejected = rng(7), 0
    for i in range(1000):
        d = random_differences(g)
        for c in (sig.sign_flip(d, rng=rng(i), draws=1000), sig.paired_t(d)):
            if np.isnan(c.p_value):
                continue
            assert (c.p_value < 0.05) == (not c.difference.low <= 0 <= c.difference.high), (i, c)
        back = sig.sign_flip(-d, rng=rng(i), draws=1000)
        first = sig.sign_flip(d, rng=rng(i), draws=1000)
        assert back.p_value == first.p_value
        assert back.difference.value == -first.difference.value
        assert (back.difference.low, back.difference.high) == (-first.difference.high, -first.difference.low)
        rejected += first.p_value < 0.05
    assert 100 < rejected < 900

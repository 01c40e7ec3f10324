"""Net benefit by the formula of dcurves 0.5.0, and how often the intervals of its paired differences hold."""

import numpy as np
import pytest

from evalkit.metrics.counts import count
from evalkit.metrics.curves import net_benefit, treat_all
from evalkit.metrics.rows import Rows
from evalkit.statistics.thresholds import differences

RNG = np.random.default_rng(5)
CHANCE = np.array([0.05, 0.2, 0.5, 0.8])


def rows(n, rng):
    risk = rng.beta(1, 3, n)
    label = (rng.random(n) < risk).astype(int)
    return label, np.clip(risk + rng.normal(0, 0.05, n), 0.001, 0.999), np.clip(rng.beta(1, 3, n), 0.001, 0.999)


def dcurves(label, score, t):
    """tp_rate − t / (1 − t) fp_rate, as `dca` has it, with rates over all rows."""
    return np.mean((score >= t) & (label == 1)) - t / (1 - t) * np.mean((score >= t) & (label == 0))


def test_equals_dcurves_formula():
    label, score, _ = rows(700, RNG)
    c = count(score.round(2), label)
    expected = [dcurves(label, score.round(2), t) for t in CHANCE]
    np.testing.assert_allclose(net_benefit(c, CHANCE), expected, atol=1e-10)
    everything = [dcurves(label, np.ones(700), t) for t in CHANCE]
    np.testing.assert_allclose(treat_all(c, CHANCE), everything, atol=1e-10)


def test_differences_equal_the_mean_over_rows_and_its_error():
    label, first, second = rows(500, RNG)
    d = differences(Rows(label, first), Rows(label, second), CHANCE, level=0.95)
    for i, t in enumerate(CHANCE):
        cost = t / (1 - t)
        each = ((first >= t) * 1.0 - (second >= t)) * np.where(label == 1, 1, -cost)
        error = np.sqrt((np.sum((each - each.mean()) ** 2) + 1 + cost**2) / 499 / 500)
        assert d.value[i] == pytest.approx(each.mean(), abs=1e-10)
        assert (d.high[i] - d.low[i]) / 2 == pytest.approx(1.96473 * error, rel=1e-5)

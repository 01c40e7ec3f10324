import numpy as np
import pytest
from scipy import stats

from evalkit.arrays import InputError
from evalkit.statistics.areas import delong, delong_unpaired


def scores(g, n=400, gain=1.0):
    label = np.arange(n) % 3 == 0
    shared = g.normal(size=n)
    return label.astype(int), *(gain * label + shared + g.normal(size=n) for _ in range(2))


def by_hand(label, score):
    """AUC and the two arrays of placements, pair by pair."""
    x, y = score[label == 1], score[label == 0]
    wins = (x[:, None] > y) + 0.5 * (x[:, None] == y)
    return wins.mean(), wins.mean(axis=1), wins.mean(axis=0)


def test_paired_equals_the_definition_with_ties():
    label, a, b = scores(np.random.default_rng(1), 120)
    a, b = a.round(0), b.round(1)
    (area_a, xa, ya), (area_b, xb, yb) = by_hand(label, a), by_hand(label, b)
    error = np.sqrt(np.var(xa - xb, ddof=1) / xa.size + np.var(ya - yb, ddof=1) / ya.size)
    c = delong(label, a, b)
    assert c.difference.value == pytest.approx(area_a - area_b)
    assert c.p_value == pytest.approx(2 * stats.norm.sf(abs(area_a - area_b) / error))
    assert (c.difference.high - c.difference.low) / 2 == pytest.approx(1.959964 * error, rel=1e-6)


def test_unpaired_adds_the_variances():
    g = np.random.default_rng(2)
    (label_a, a, _), (label_b, b, _) = scores(g, 90), scores(g, 150)
    (area_a, xa, ya), (area_b, xb, yb) = by_hand(label_a, a), by_hand(label_b, b)
    variance = sum(np.var(part, ddof=1) / part.size for part in (xa, ya, xb, yb))
    c = delong_unpaired(label_a, a, label_b, b)
    assert c.p_value == pytest.approx(2 * stats.norm.sf(abs(area_a - area_b) / np.sqrt(variance)))
    assert c.difference.n == 240


def test_swapping_and_equal_scores():
    label, a, b = scores(np.random.default_rng(3))
    one, other = delong(label, a, b), delong(label, b, a)
    assert one.p_value == pytest.approx(other.p_value)
    assert one.difference.value == pytest.approx(-other.difference.value)
    same = delong(label, a, 2 * a + 1)
    assert (same.p_value, same.difference.value) == (1.0, 0.0)


def level(runs, n, seed):
    g = np.random.default_rng(seed)
    return np.array([delong(*scores(g, n)).p_value for _ in range(runs)])


def test_level_small():
    assert np.mean(level(300, 200, 4) < 0.05) < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
def test_level_at_length():
    p = level(4000, 200, 5)
    assert 0.04 <= np.mean(p < 0.05) <= 0.06
    assert stats.kstest(p, "uniform").pvalue > 0.001
    g = np.random.default_rng(6)
    label = np.arange(200) % 3 == 0
    score = g.normal(size=(4000, 2, 200)) + label
    unpaired = [delong_unpaired(label.astype(int), one, label.astype(int), other).p_value for one, other in score]
    assert 0.04 <= np.mean(np.array(unpaired) < 0.05) <= 0.06


@pytest.mark.parametrize(
    "label, message",
    [([1, 1, 1], "label must hold both classes, got 3 ones in 3 rows"), ([1, 0, 2], "only 0 and 1, got 2.0")],
)
def test_refusals(label, message):
    with pytest.raises(InputError, match=message):
        delong(label, [1, 2, 3], [3, 2, 1])

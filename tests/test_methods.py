from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalkit.catalogue.lookup import find
from evalkit.limits import USUAL
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference, methods
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import OfRows


def delong(label, first, second):
    """AUC of the first score − AUC of the second on the same rows."""
    a, b = (OfRows(find("roc_auc", "counts"), Rows(label, score)) for score in (first, second))
    return methods.two_areas(a, b, Options(0.95, np.random.default_rng(0)))


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
    parts = np.array([np.var(xa - xb, ddof=1) / xa.size, np.var(ya - yb, ddof=1) / ya.size])
    error, sizes = np.sqrt(parts.sum()), np.array([xa.size, ya.size])
    t = stats.t(parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum())  # Welch's freedom: with few positives z is too sure
    c = delong(label, a, b)
    assert c.difference.value == pytest.approx(area_a - area_b)
    assert c.p_value == pytest.approx(2 * t.sf(abs(area_a - area_b) / error))
    assert (c.difference.high - c.difference.low) / 2 == pytest.approx(t.ppf(0.975) * error, rel=1e-6)


@pytest.mark.parametrize("name", ["r2", "r2_correlation"])
def test_a_difference_of_variance_explained_comes_from_leaving_out_each_row(name):
    g = np.random.default_rng(5)
    actual, n = g.normal(size=30), 30
    forecasts = [actual + g.normal(size=n) * spread for spread in (0.5, 0.9)]
    chosen = find(name, "forecasts")
    a, b = (OfRows(chosen, Rows(actual, forecast)) for forecast in forecasts)
    without = [
        chosen.value(Rows(np.delete(actual, i), np.delete(forecasts[0], i)))
        - chosen.value(Rows(np.delete(actual, i), np.delete(forecasts[1], i)))
        for i in range(n)
    ]
    error = np.sqrt((n - 1) / n * np.sum((without - np.mean(without)) ** 2))
    o = Options(0.95, np.random.default_rng(0))
    c = inference.compare(a, b, o)
    assert c.method == "jackknife t"
    assert c.p_value == pytest.approx(2 * stats.t(n - 1).sf((a.value - b.value) / error))
    above = inference.compare(a, b, replace(o, limits=replace(USUAL, flipped=n - 1)))
    assert above.method == "delta method"
    assert inference.compare(a, a, o).p_value == 1.0

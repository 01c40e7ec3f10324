"""How often tests reject a true null and intervals hold the truth, briefly.

`make trust` simulates the reports at length; here stands one short simulation of each way to test and to estimate.
"""

import numpy as np
import pytest
from samples import rng
from scipy import stats

from evalkit.catalogue.lookup import find
from evalkit.metrics import diversity
from evalkit.metrics.rows import Rows
from evalkit.statistics import closed_forms, inference, intervals, multiplicity, proportions
from evalkit.statistics import significance as sig
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import OfRows
from evalkit.studies import lessons

ALPHA = 0.05


def skewless(g, n):
    return g.laplace(size=n)


def ranked(g, test, n=20, k=4):
    return test(g.normal(size=(n, 1)) + g.normal(size=(n, k)))


def cross_validated(g, n=200):
    """Differences over ten times ten folds."""
    label = g.integers(0, 2, n)
    fold = np.argsort(g.random((10, n)), axis=1) % 10
    first, second = (lessons._accuracies(g.normal(label, 1.0), label, fold) for _ in range(2))
    return first - second


def corrected_for_looks(g, looks=5, step=40):
    """The smallest p of five looks at growing data, as the significance report corrects it."""
    d = g.normal(size=looks * step)
    p = min(sig.paired_t(d[: step * (i + 1)]).p_value for i in range(looks))
    return multiplicity.false_positive_rate(looks, level=1 - p) if p > 1e-6 else looks * p


def users(g):
    """Differences and rows of 100 users, most rows of a few."""
    rows = np.ceil(g.lognormal(1, 0.8, 100)).astype(int)
    rate = g.beta(2, 18, 100)
    return g.binomial(rows, rate) - g.binomial(rows, rate), rows


def of_two_models(g, name):
    """The p of a metric of two equally good models of the same rows."""
    label = (g.random(200) < 0.4).astype(np.int64)
    base = g.normal(size=200) + label
    first, second = (OfRows(find(name, "counts"), Rows(label, base + g.normal(0, 0.7, 200), 0.5)) for _ in range(2))
    return inference.compare(first, second, Options(0.95, g)).p_value


SIMULATED = {
    "paired t": lambda g: sig.paired_t(g.normal(size=200)).p_value,
    "sign flip": lambda g: sig.sign_flip(g.standard_t(4, 200), rng=g, draws=1000).p_value,
    "Wilcoxon, symmetric": lambda g: multiplicity.wilcoxon(skewless(g, 40)),
    "two-sided sign test": lambda g: proportions.sign_test(skewless(g, 200)).p_value,
    "Friedman": lambda g: ranked(g, lambda values: multiplicity.ranked(values).friedman),
    "Iman–Davenport": lambda g: ranked(g, lambda values: multiplicity.ranked(values).iman_davenport),
    "Nadeau–Bengio": lambda g: sig.nadeau_bengio(cross_validated(g), train=9, test=1).p_value,
    "five looks, corrected": corrected_for_looks,
    "any of five columns": lambda g: multiplicity.max_t(g.normal(size=(12, 5)), rng=g, draws=1).min(),
    "flips of whole users": lambda g: sig.sign_flip(*users(g), rng=g, draws=1000).p_value,
    "DeLong": lambda g: of_two_models(g, "roc_auc"),
    "influence of rows": lambda g: of_two_models(g, "f1"),
}
RUNS = 150


@pytest.mark.parametrize("name", SIMULATED)
def test_a_true_null_is_rejected_as_rarely_as_is_said(name):
    g = rng(1)
    p = np.array([SIMULATED[name](g) for _ in range(RUNS)])
    assert np.mean(p < ALPHA) <= ALPHA + 3.5 * np.sqrt(ALPHA * (1 - ALPHA) / RUNS)


def area(g):
    """AUC of 20 and 80 normal scores, 0.95 in truth."""
    positive, negative = g.normal(np.sqrt(2) * stats.norm.ppf(0.95), 1, 20), g.normal(0, 1, 80)
    wins = np.greater.outer(positive, negative)
    error = np.hypot(*(wins.mean(axis=i).std(ddof=1) / np.sqrt(wins.shape[1 - i]) for i in (0, 1)))
    return closed_forms.auc_interval(float(wins.mean()), float(error), 20, 80)


def coverage_of_items(g):
    """The share of 300 items that 100 lists of 8 show; a popularity that falls as 1 / rank."""
    item = np.argsort(np.log(np.arange(1, 301)) - g.gumbel(size=(100, 300)), axis=1)[:, :8]
    by_list = diversity.catalogue_coverage_by_list(diversity.Items(item.ravel(), np.arange(101) * 8, 300))
    return intervals.mean_t(by_list)


HELD = {  # a sample's interval, and the truth
    "Hall, lognormal": (lambda g: intervals.mean(g.lognormal(0, 1, 50)), np.exp(0.5)),
    "bounded mean": (lambda g: intervals.mean(g.beta(0.3, 3, 10), ends=(0, 1)), 0.3 / 3.3),
    "BCa": (lambda g: sig.paired_bootstrap(g.gamma(2, 1, 60), rng=g, resamples=1000).difference, 2.0),
    "sign flip": (lambda g: sig.sign_flip(g.normal(0.7, 1, 30), rng=g, draws=500).difference, 0.7),
    "users": (lambda g: intervals.ratio_delta(*users(g)), 0.0),
    "AUC": (area, 0.95),
    "coverage of items": (coverage_of_items, 0.6679),
}


@pytest.mark.parametrize("name", HELD)
def test_the_truth_is_held_as_often_as_is_said(name):
    g, (draw, truth) = rng(2), HELD[name]
    held = [e.low <= truth <= e.high for e in (draw(g) for _ in range(2 * RUNS))]
    assert np.mean(held) >= 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / (2 * RUNS))

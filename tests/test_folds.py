import numpy as np
import pytest

from evalkit.statistics import significance
from evalkit.statistics.significance import paired_t


def test_correction_is_the_share_of_test_rows():
    d = np.random.default_rng(1).normal(0.01, 0.02, 10)
    plain, corrected = paired_t(d), significance.nadeau_bengio(d, train=90, test=10)
    width = plain.difference.high - plain.difference.low
    wider = corrected.difference.high - corrected.difference.low
    assert wider / width == pytest.approx(np.sqrt((1 / 10 + 10 / 90) / (1 / 10)))
    assert corrected.p_value > plain.p_value
    assert corrected.unit == "fold"


def test_figures_of_the_scikit_learn_example():
    # t 2.611 uncorrected, 0.750 corrected over 100 folds of 90 and 10%: their ratio is the correction
    assert np.sqrt(1 + 100 * 10 / 90) == pytest.approx(2.611 / 0.750, abs=0.01)
    d = np.random.default_rng(1).normal(size=100)
    d = (d - d.mean()) / d.std(ddof=1) * 10 + 2.611
    assert paired_t(d).p_value == pytest.approx(0.0104, abs=1e-4)
    assert significance.nadeau_bengio(d, train=90, test=10).p_value == pytest.approx(0.4550, abs=1e-3)


def test_the_variance_of_few_positives_is_pooled_over_the_folds():
    """Cochran's Q of equal folds: of AUC, the positives' and the negatives' variance, each on one degree less."""
    from evalkit.catalogue import lookup
    from evalkit.metrics.rows import Rows
    from evalkit.statistics.statistic import OfRows, pooled_variances

    rng = np.random.default_rng(5)
    label = np.tile([1] * 4 + [0] * 36, 5)
    score = label + rng.normal(0, 1.5, 200)
    chosen = lookup.find("roc_auc", "counts")
    parts = [OfRows(chosen, Rows(label, score).take(np.arange(40 * i, 40 * i + 40))) for i in range(5)]
    variance, units = pooled_variances([part.moved_by_group() for part in parts])
    placed = [part.effects.rows[part.rows.actual == side] for side in (1, 0) for part in parts]
    pooled = [sum(np.sum((x * x.size) ** 2) for x in side) for side in (placed[:5], placed[5:])]
    assert variance == pytest.approx(np.full(5, pooled[0] / 15 / 4 + pooled[1] / 175 / 36))
    assert units == 20
    naive = np.mean([part.spread.error**2 for part in parts])
    assert variance[0] > 1.1 * naive

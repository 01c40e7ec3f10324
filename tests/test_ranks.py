import numpy as np
import pytest
from samples import COMPARED, compared
from scipy import stats

from evalkit.arrays import InputError
from evalkit.statistics import ranks


def table(seed=0, shape=(20, 4)):
    return np.random.default_rng(seed).normal(size=shape).round(1)


def test_wilcoxon_of_darwin():
    c = ranks.wilcoxon([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48])
    assert c.p_value == pytest.approx(0.0412598, abs=5e-8)


def test_pseudo_median_is_the_median_of_all_pair_means():
    for n in (1, 2, 7, 30, 61):
        d = np.random.default_rng(n).normal(size=n)
        pairs = [(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)]
        e = ranks.wilcoxon(d).difference
        assert e.value == pytest.approx(np.median(pairs), abs=1e-12)
        assert e.low <= e.value <= e.high
    ordered = np.sort(pairs)
    reach = 1.959963984540054 * np.sqrt(61 * 62 * 123 / 24)
    assert e.low == pytest.approx(ordered[int(len(pairs) / 2 - reach) - 1], abs=1e-12)
    assert e.high == pytest.approx(ordered[int(np.ceil(len(pairs) / 2 + reach))], abs=1e-12)


def test_wilcoxon_without_differences():
    c = ranks.wilcoxon(np.zeros(12))
    assert (c.p_value, c.difference.value, c.difference.low, c.difference.high) == (1, 0, 0, 0)
    with pytest.raises(InputError, match="at least one unit"):
        ranks.wilcoxon([])


def test_wilcoxon_rejects_a_skewed_mean_of_0():
    g = np.random.default_rng(1)
    draws = (g.choice([0.0, -0.1, 1.0], 500, p=[0.7, 0.3 * 10 / 11, 0.3 / 11]) for _ in range(60))
    assert np.mean([ranks.wilcoxon(d).p_value < 0.05 for d in draws]) > 0.6


def test_friedman_equals_scipy_and_iman_davenport_its_formula():
    values = table()
    expected = stats.friedmanchisquare(*values.T)
    assert ranks.friedman(values) == pytest.approx(expected.pvalue)
    f = 19 * expected.statistic / (60 - expected.statistic)
    assert ranks.iman_davenport(values) == pytest.approx(stats.f.sf(f, 3, 57))


def test_units_that_all_agree_and_units_that_are_all_tied():
    agreed = np.arange(4.0) + np.zeros((3, 1))
    assert ranks.iman_davenport(agreed) == pytest.approx(1 / 24**2)
    assert np.isnan(ranks.friedman(np.zeros((5, 3))))
    assert ranks.mean_ranks(agreed).tolist() == [4, 3, 2, 1]


def test_critical_differences_of_demsar():
    q = [ranks.critical_difference(k, 6 * 10**4) / np.sqrt(k * (k + 1) / 36e4) for k in (2, 4, 10)]
    assert q == pytest.approx([1.960, 2.569, 3.164], abs=1e-3)


def test_blocked_tukey_of_two_systems_is_the_paired_t():
    values = table(2, (15, 2))
    expected = stats.ttest_rel(*values.T).pvalue
    assert ranks.blocked_tukey(values)[0, 1] == pytest.approx(expected, rel=1e-6)


def test_blocked_tukey_sees_what_the_one_way_test_does_not():
    g = np.random.default_rng(3)
    values = g.uniform(0, 1, (200, 1)) + g.normal(0, 0.03, (200, 3)) + [0, 0, 0.015]
    assert stats.tukey_hsd(*values.T).pvalue[0, 2] > 0.5
    assert ranks.blocked_tukey(values)[0, 2] < 1e-3


def test_refusals():
    with pytest.raises(InputError, match=r"at least 2 units × 2 systems, got shape \(1, 3\)"):
        ranks.mean_ranks([[1, 2, 3]])
    with pytest.raises(InputError, match="at least 3 systems, got 2"):
        ranks.friedman(table(shape=(5, 2)))
    with pytest.raises(InputError, match="finite"):
        ranks.blocked_tukey([[1, np.nan], [2, 3]])


@pytest.mark.parametrize("name", COMPARED)
def test_reference_values(name):
    read, expected = compared(name)
    systems = list(read)
    for measure, rows in expected["pairs"].items():
        values = np.array([[read[s][q][measure] for s in systems] for q in sorted(read[systems[0]])])
        omnibus = expected["omnibus"][measure]
        assert ranks.friedman(values) == pytest.approx(omnibus["friedman_p"], rel=1e-6), (name, measure)
        tukey = ranks.blocked_tukey(values)
        for row in rows:
            a, b = systems.index(row["a"]), systems.index(row["b"])
            assert tukey[a, b] == pytest.approx(row["p_tukey_hsd_twoway"], abs=1e-6), (name, measure, row)
            p = ranks.wilcoxon(values[:, a] - values[:, b]).p_value
            assert p == pytest.approx(row["p_wilcoxon"], rel=1e-6), (name, measure, row)


@pytest.mark.parametrize("n", [5, 6, 9, 14, 30, 60])
def test_wilcoxon_rejects_exactly_where_its_interval_excludes_0(n):
    """With ties, zeros and the exact distribution: of 1,500 samples of 9 the normal interval contradicted p in 100."""
    g, rejected = np.random.default_rng(n), 0
    for i in range(60):
        d = g.normal(0.5, 1, n) if i % 3 else g.integers(-2, 5, n).astype(float)
        c = ranks.wilcoxon(d)
        if c.difference.value:
            assert (c.p_value < 0.05) == (c.difference.low > 0 or c.difference.high < 0)
        rejected += c.p_value < 0.05
    assert rejected or n == 5


CRITICAL = {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 15: 25, 20: 52, 25: 89, 30: 137}  # of the rank sum, two-sided 5%


@pytest.mark.parametrize("n, critical", CRITICAL.items())
def test_wilcoxons_exact_interval_starts_where_the_printed_tables_reject(n, critical):
    d = np.random.default_rng(n).normal(0.3, 1, n)
    means = np.sort([(d[i] + d[j]) / 2 for i in range(n) for j in range(i, n)])
    e = ranks.wilcoxon(d).difference
    assert (e.low, e.high) == pytest.approx((means[critical], means[-1 - critical]), abs=1e-12)

import numpy as np
import pytest
from samples import COMPARED, compared
from scipy import stats

from evalkit.arrays import InputError
from evalkit.statistics import ranks


def table(seed=0, shape=(20, 4)):
    return np.random.default_rng(seed).normal(size=shape).round(1)


def test_wilcoxon_of_darwin():
    p = ranks.wilcoxon([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48])
    assert p == pytest.approx(0.0412598, abs=5e-8)


def test_wilcoxon_without_differences():
    assert ranks.wilcoxon(np.zeros(12)) == 1
    with pytest.raises(InputError, match="at least one unit"):
        ranks.wilcoxon([])


def test_friedman_equals_scipy_and_iman_davenport_its_formula():
    values = table()
    expected = stats.friedmanchisquare(*values.T)
    assert ranks.ranked(values).friedman == pytest.approx(expected.pvalue)
    f = 19 * expected.statistic / (60 - expected.statistic)
    assert ranks.ranked(values).iman_davenport == pytest.approx(stats.f.sf(f, 3, 57))


def test_units_that_all_agree_and_units_that_are_all_tied():
    agreed = np.arange(4.0) + np.zeros((3, 1))
    assert ranks.ranked(agreed).iman_davenport == pytest.approx(1 / 24**2)
    assert np.isnan(ranks.ranked(np.zeros((5, 3))).friedman)
    assert ranks.ranked(agreed).means.tolist() == [4, 3, 2, 1]


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
        ranks.ranked([[1, 2, 3]])
    with pytest.raises(InputError, match="at least 3 systems, got 2"):
        ranks.ranked(table(shape=(5, 2)))
    with pytest.raises(InputError, match="finite"):
        ranks.blocked_tukey([[1, np.nan], [2, 3]])


@pytest.mark.parametrize("name", COMPARED)
def test_reference_values(name):
    read, expected = compared(name)
    systems = list(read)
    for measure, rows in expected["pairs"].items():
        values = np.array([[read[s][q][measure] for s in systems] for q in sorted(read[systems[0]])])
        omnibus = expected["omnibus"][measure]
        assert ranks.ranked(values).friedman == pytest.approx(omnibus["friedman_p"], rel=1e-6), (name, measure)
        tukey = ranks.blocked_tukey(values)
        for row in rows:
            a, b = systems.index(row["a"]), systems.index(row["b"])
            assert tukey[a, b] == pytest.approx(row["p_tukey_hsd_twoway"], abs=1e-6), (name, measure, row)
            p = ranks.wilcoxon(values[:, a] - values[:, b])
            assert p == pytest.approx(row["p_wilcoxon"], rel=1e-6), (name, measure, row)

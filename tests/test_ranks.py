import numpy as np
import pytest
from samples import COMPARED, compared
from scipy import stats

from evalkit.statistics import multiplicity


def table(seed=0, shape=(20, 4)):
    return np.random.default_rng(seed).normal(size=shape).round(1)


def test_friedman_equals_scipy_and_iman_davenport_its_formula():
    values = table()
    expected = stats.friedmanchisquare(*values.T)
    assert multiplicity.ranked(values).friedman == pytest.approx(expected.pvalue)
    f = 19 * expected.statistic / (60 - expected.statistic)
    assert multiplicity.ranked(values).iman_davenport == pytest.approx(stats.f.sf(f, 3, 57))


def test_blocked_tukey_of_two_systems_is_the_paired_t():
    values = table(2, (15, 2))
    expected = stats.ttest_rel(*values.T).pvalue
    assert multiplicity.blocked_tukey(values)[0, 1] == pytest.approx(expected, rel=1e-6)


def test_blocked_tukey_sees_what_the_one_way_test_does_not():
    g = np.random.default_rng(3)
    values = g.uniform(0, 1, (200, 1)) + g.normal(0, 0.03, (200, 3)) + [0, 0, 0.015]
    assert stats.tukey_hsd(*values.T).pvalue[0, 2] > 0.5
    assert multiplicity.blocked_tukey(values)[0, 2] < 1e-3


@pytest.mark.parametrize("name", COMPARED)
def test_reference_values(name):
    read, expected = compared(name)
    systems = list(read)
    for measure, rows in expected["pairs"].items():
        values = np.array([[read[s][q][measure] for s in systems] for q in sorted(read[systems[0]])])
        omnibus = expected["omnibus"][measure]
        assert multiplicity.ranked(values).friedman == pytest.approx(omnibus["friedman_p"], rel=1e-6), (name, measure)
        tukey = multiplicity.blocked_tukey(values)
        for row in rows:
            a, b = systems.index(row["a"]), systems.index(row["b"])
            assert tukey[a, b] == pytest.approx(row["p_tukey_hsd_twoway"], abs=1e-6), (name, measure, row)
            p = multiplicity.wilcoxon(values[:, a] - values[:, b])
            assert p == pytest.approx(row["p_wilcoxon"], rel=1e-6), (name, measure, row)

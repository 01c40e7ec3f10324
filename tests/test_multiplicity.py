import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import rng
from scipy import stats

from evalkit.statistics import multiplicity
from evalkit.statistics import multiplicity as mult


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusted_p_values_are_monotone_and_not_below_p(p):
    for method in (mult.holm, mult.benjamini_hochberg):
        adjusted = method(p)
        assert np.all(adjusted >= np.array(p) - 1e-15)
        assert np.all(adjusted <= 1)
        order = np.argsort(p, kind="stable")
        assert np.all(np.diff(adjusted[order]) >= 0)
    assert np.all(mult.holm(p) >= mult.benjamini_hochberg(p) - 1e-12)
    assert mult.benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


def test_max_t_does_not_depend_on_the_order_of_units_that_tie_in_the_last_columns():
    columns = np.column_stack([rng(1).normal(size=(60, 2)), np.resize([1.0, 2.0], 60), np.ones(60)])
    turned = columns[rng(2).permutation(60)]
    once, again = (mult.max_t(d, rng=rng(3), draws=1000) for d in (columns, turned))
    assert once.tolist() == again.tolist()
    assert multiplicity._order(multiplicity.Pairs.of_columns(columns)).tolist() == np.lexsort(columns.T).tolist()


def test_max_t_of_sums_of_systems_that_add_up_equals_that_of_the_differences():
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.03, 1, (2, 2000))
    d = np.column_stack([a, b, a - b, a + b, 3 * a - b])  # of rank 2: three eigenvalues are 0, by rounding below it
    of_sums = mult.max_t_of_sums(d.sum(axis=0), d.T @ d, rng=np.random.default_rng(1))
    np.testing.assert_allclose(of_sums, mult.max_t(d, rng=np.random.default_rng(1)), atol=0.01)

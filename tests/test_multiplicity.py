import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import rng
from scipy import stats

from evalkit.arrays import ParameterError
from evalkit.statistics import multiplicity
from evalkit.statistics import multiplicity as mult

DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


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


def test_undefined_p_values_stay_out_of_the_family():
    assert mult.holm([0.02, np.nan, 0.5]).tolist()[0::2] == [0.04, 0.5]
    assert np.isnan(mult.holm([0.02, np.nan, 0.5])[1])
    assert mult.holm([]).size == 0


def test_max_t_of_one_column_is_its_sign_flip():
    assert mult.max_t(np.array(DARWIN)[:, None], rng=rng()) == pytest.approx([1726 / 32768])


def test_max_t_does_not_depend_on_the_order_of_units_that_tie_in_the_last_columns():
    columns = np.column_stack([rng(1).normal(size=(60, 2)), np.resize([1.0, 2.0], 60), np.ones(60)])
    turned = columns[rng(2).permutation(60)]
    once, again = (mult.max_t(d, rng=rng(3), draws=1000) for d in (columns, turned))
    assert once.tolist() == again.tolist()
    assert multiplicity._order(multiplicity.Pairs.of_columns(columns)).tolist() == np.lexsort(columns.T).tolist()


def test_max_t_beside_a_column_of_zeros():
    columns = np.column_stack([DARWIN, np.zeros(15)])
    assert mult.max_t(columns, rng=rng()) == pytest.approx([1726 / 32768, 1])


def test_looks_cost_what_armitage_found():
    assert [mult.false_positive_rate(k) for k in (1, 2, 5, 10, 20)] == pytest.approx(
        [0.05, 0.083, 0.142, 0.193, 0.248], abs=5e-4
    )


def test_bounds_restore_the_level():
    assert mult.pocock(5) == pytest.approx(np.full(5, 2.413), abs=5e-4)
    assert mult.obrien_fleming(5)[-1] == pytest.approx(2.040, abs=5e-4)
    assert mult.obrien_fleming(5)[0] == pytest.approx(2.040 * 5**0.5, abs=2e-3)
    assert mult.pocock(1) == pytest.approx([1.959964], abs=1e-6)
    assert mult.pocock(4, level=0.99)[0] > mult.pocock(4)[0]


def test_refusals():
    with pytest.raises(ParameterError, match="looks must be at least 1, got 0"):
        mult.pocock(0)
    with pytest.raises(ParameterError, match="level must lie between 0 and 1, got 5"):
        mult.obrien_fleming(3, level=5)


def test_max_t_of_sums_of_systems_that_add_up_equals_that_of_the_differences():
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.03, 1, (2, 2000))
    d = np.column_stack([a, b, a - b, a + b, 3 * a - b])  # of rank 2: three eigenvalues are 0, by rounding below it
    of_sums = mult.max_t_of_sums(d.sum(axis=0), d.T @ d, rng=np.random.default_rng(1))
    np.testing.assert_allclose(of_sums, mult.max_t(d, rng=np.random.default_rng(1)), atol=0.01)

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import rng
from scipy import stats
from scipy.linalg import hadamard

from evalkit.statistics import signflip
from evalkit.statistics.signflip import Ranges, ranges


def by_hand(differences):
    """The two-sided p-value over all sign vectors, one at a time, in exact integers."""
    total = abs(sum(differences))
    extreme = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= total
        for signs in product((1, -1), repeat=len(differences))
    ]
    return np.mean(extreme)


def test_transform_equals_the_matrix():
    values = rng().normal(size=(3, 64))
    assert signflip.walsh_hadamard(values.copy()) == pytest.approx(values @ hadamard(64))


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
@settings(max_examples=100, deadline=None)
def test_exact_p_values_equal_enumeration(differences):
    d = np.array(differences, float)
    p, _ = signflip.exact_p(d)
    assert p == pytest.approx(by_hand(differences), abs=1e-12)
    if np.any(d != 0):
        assert signflip.lattice_p(np.array(differences)) == pytest.approx(by_hand(differences), abs=2e-12)
    ranged = ranges(d, np.ones(d.size), rng=rng(), draws=0)
    assert ranged.share() == pytest.approx(p, abs=1e-12)


@given(st.lists(st.integers(-6, 6), min_size=3, max_size=9))
@settings(max_examples=100, deadline=None)
def test_ties_survive_the_rounding_of_tenths(differences):
    ranged = ranges(np.array(differences) * 0.1, np.ones(len(differences)), rng=rng(), draws=0)
    assert ranged.share() == by_hand(differences)


@given(st.lists(st.integers(-10, 10), min_size=2, max_size=60), st.sampled_from([1.0, 0.1, 1 / 3, 1e-9, 1 / 2520]))
@settings(max_examples=100, deadline=None)
def test_a_lattice_is_found_whatever_its_step(steps, step):
    if not any(steps):
        return
    found = signflip.lattice(np.array(steps) * step)
    assert found.tolist() == (np.array(steps) // np.gcd.reduce(steps)).tolist()


def test_a_lattice_is_not_found_in_continuous_values():
    assert signflip.lattice(rng().normal(size=30)) is None
    assert signflip.lattice(np.array([1.0, np.sqrt(2)])) is None


def test_differences_of_rounded_metrics_are_a_lattice():
    tenths = rng().integers(0, 11, (2, 500)) / 10
    assert signflip.lattice(tenths[0] - tenths[1]).tolist() == np.rint(10 * (tenths[0] - tenths[1])).tolist()


def test_hits_are_the_binomial_test():
    d = np.repeat([1.0, -1.0, 0.0], [5210, 4967, 90_000])
    p, how = signflip.exact_p(d)
    assert (p, how) == (pytest.approx(stats.binomtest(5210, 10177).pvalue, rel=1e-9), "exact binomial")
    assert signflip.lattice_p(d.astype(int)) == pytest.approx(p, abs=1e-11)


def test_no_p_value_is_0():
    assert signflip.fair_coin(0, 5000) > 0
    assert signflip.lattice_p(np.repeat([1, 2], 500)) > 0
    ranged = ranges(np.arange(1, 101.0), np.ones(100), rng=rng(), draws=1000)
    assert ranged.share() == 1 / ranged.draws


@pytest.mark.parametrize("n", [30, 64, 65, 300])
def test_draws_have_the_moments_of_fair_signs(n):
    columns = np.column_stack([rng().normal(size=n), np.ones(n)])
    drawn = signflip.joint_draws(columns, rng=rng(1), draws=50_000)
    assert drawn.shape[1] >= 50_000
    assert drawn.mean(axis=1) == pytest.approx([0, 0], abs=0.05 * np.sqrt(n))
    assert drawn.var(axis=1) == pytest.approx(np.sum(columns**2, axis=0), rel=0.03)
    assert np.mean(drawn[0] * drawn[1]) == pytest.approx(columns[:, 0].sum(), abs=0.05 * n)


def test_every_mean_is_tested_as_a_shift():
    d, c = np.array([3.0, -1.0, 4.0, 1.0, 5.0]), np.array([1.0, 2.0, 1.0, 3.0, 2.0])
    ranged = ranges(d, c, rng=rng(), draws=0)
    for null in (-0.7, 0.11, 0.9, 1.33, 2.05, 3.9):
        moved = ranges(d - null * c, c, rng=rng(), draws=0)
        assert ranged.share(null) == moved.share()


def test_limits_are_the_last_means_not_rejected():
    d = rng(6).normal(0.5, 1, 14)
    ranged = ranges(d, np.ones(14), rng=rng(), draws=0)
    for level in (0.8, 0.9, 0.95):
        left, right = ranged.limits(level)[level]
        for inside, outside in ((left + 1e-9, left - 1e-9), (right - 1e-9, right + 1e-9)):
            assert ranged.share(inside) >= round(1 - level, 12)
            assert ranged.share(outside) < round(1 - level, 12)


@pytest.mark.parametrize("units", range(5, 21))
def test_data_are_as_extreme_as_themselves_also_where_counts_are_not_whole(units):
    """All differences are above 0, so that only the data's own signs are as extreme: p is 2 / 2^units, and never 0."""
    for seed in range(50):
        d, c = np.abs(rng(seed).normal(1, 0.3, units)), rng(seed + 100).exponential(1, units)
        every = ranges(d, c, rng=rng(), draws=0)
        assert every.share() == 2.0 ** (1 - units)
        assert (every.low == -np.inf).sum() == (every.high == np.inf).sum() == 1


@pytest.mark.parametrize("arranged", ["drawn", "nearest first", "farthest first", "equal"])
def test_limits_are_those_of_all_ranges_in_order_whatever_a_sample_says(arranged):
    far = np.abs(rng(7).normal(size=30_000))
    far = {"drawn": far, "nearest first": np.sort(far), "farthest first": -np.sort(-far), "equal": np.ones(30_000)}[
        arranged
    ]
    limits = Ranges(-far, 2 * far, 0.0).limits(0.9, 0.95, 0.2)
    for level, left in ((0.9, 3_000), (0.95, 1_500), (0.2, 24_000)):
        end = np.sort(far)[-left]
        assert limits[level] == (-end, 2 * end)


@pytest.mark.parametrize("n", [1, 2, 3, 21, 32, 33, 50, 64, 65, 130])
def test_sums_are_those_of_the_signs(n):
    values, bits = rng(8).normal(size=n), signflip.random_bits(n, rng(9), 20_000)
    drawn = np.concatenate(list(signflip.sums(values, bits)))
    points = drawn.size // (len(bits) // -(-n // 8))
    flips = 1 - 2.0 * np.unpackbits(np.frombuffer(bits, np.uint8).reshape(-1, -(-n // 8)), axis=1, count=n)
    expected = (flips * values) @ hadamard(points)[:n]
    assert np.sort(drawn) == pytest.approx(np.sort(expected.ravel()))

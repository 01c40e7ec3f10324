"""Sign flips: enumeration, lattices, draws, limits; and the tail of small p-values by importance
sampling.
"""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from samples import rng
from scipy import stats
from scipy.linalg import hadamard
from significance_tables import told

from evalkit.statistics import multiplicity, signflip, significance as sig
from evalkit.statistics.signflip import Ranges, ranges
from evalkit.studies import significance


def enumerated_p(differences, tie_weight=1.0):
    """The two-sided p-value over all sign vectors, one at a time, in exact integers.

    A sum equal to that of the data counts with `tie_weight`, but the data's own sum, and its
    mirror, count in full.
    """
    observed = abs(sum(differences))
    sums = [
        sum(sign * d for sign, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    one_tail = np.mean([(s > observed) + tie_weight * (s == observed) for s in sums])
    rest_of_own = (1 - tie_weight) * 2.0 ** (1 - np.count_nonzero(differences))
    return min(1.0, 2 * one_tail + rest_of_own)


def test_transform_equals_the_matrix():
    values = rng().normal(size=(3, 64))
    assert signflip.walsh_hadamard(values.copy()) == pytest.approx(values @ hadamard(64))


DIFFERENCES = st.lists(st.integers(-6, 6), min_size=1, max_size=9)
TIE_WEIGHTS = st.sampled_from([1.0, signflip.HALF])


@given(DIFFERENCES, TIE_WEIGHTS)
@settings(max_examples=200, deadline=None)
def test_exact_p_values_equal_enumeration(differences, tie_weight):
    p = signflip.exact_p(np.array(differences, float), tie_weight).p
    assert p == pytest.approx(enumerated_p(differences, tie_weight), abs=1e-12)


@given(DIFFERENCES.filter(any), TIE_WEIGHTS)
@settings(max_examples=200, deadline=None)
def test_p_values_by_fourier_transform_equal_enumeration(differences, tie_weight):
    p = signflip.lattice_p(np.array(differences), tie_weight)
    rest_of_own = (1 - tie_weight) * 2.0 ** (1 - np.count_nonzero(differences))
    expected = enumerated_p(differences, tie_weight)
    assert min(1, p + rest_of_own) == pytest.approx(expected, abs=2e-12)


@given(DIFFERENCES.filter(any), TIE_WEIGHTS)
@settings(max_examples=200, deadline=None)
def test_p_values_by_ranges_equal_enumeration(differences, tie_weight):
    nonzero = np.array([d for d in differences if d], float)
    every = ranges(nonzero, np.ones(nonzero.size), rng=rng(), draws=0)
    expected = enumerated_p(differences, tie_weight)
    assert every.share(tie_weight=tie_weight) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("clustered", [False, True])
def test_drawn_and_exact_mid_p_agree_and_mirror(clustered):
    d = rng(4).integers(-5, 7, 60) / 5
    sizes = rng(5).integers(1, 4, 60).astype(float) if clustered else np.ones(60)
    exact = sig.sign_flip(d, sizes, rng=rng(1), mid_p=True)
    assert exact.method.endswith("exact by Fourier transform, mid-p")
    assert sig.sign_flip(-d, sizes, rng=rng(1), mid_p=True).p_value == exact.p_value
    drawn = ranges(d, sizes, rng=rng(2), draws=200_000)
    assert drawn.share(tie_weight=signflip.HALF) == pytest.approx(exact.p_value, rel=0.05)
    full_p = sig.sign_flip(d, sizes, rng=rng(1)).p_value
    assert exact.p_value < full_p < drawn.share() * 1.05


@given(st.lists(st.integers(-6, 6), min_size=3, max_size=9))
@settings(max_examples=100, deadline=None)
def test_ties_survive_the_rounding_of_tenths(differences):
    ranged = ranges(np.array(differences) * 0.1, np.ones(len(differences)), rng=rng(), draws=0)
    assert ranged.share() == enumerated_p(differences)


@given(
    st.lists(st.integers(-10, 10), min_size=2, max_size=60).filter(any),
    st.sampled_from([1.0, 0.1, 1 / 3, 1e-9, 1 / 2520]),
)
@settings(max_examples=100, deadline=None)
def test_a_lattice_is_found_whatever_its_step(steps, step):
    found = signflip.lattice(np.array(steps) * step)
    assert found.tolist() == (np.array(steps) // np.gcd.reduce(steps)).tolist()


def test_a_lattice_is_not_found_in_continuous_values():
    assert signflip.lattice(rng().normal(size=30)) is None
    assert signflip.lattice(np.array([1.0, np.sqrt(2)])) is None


def test_differences_of_rounded_metrics_are_a_lattice():
    first, second = rng().integers(0, 11, (2, 500)) / 10
    steps = signflip.lattice(first - second)
    assert steps.tolist() == np.rint(10 * (first - second)).tolist()


def test_hits_are_the_binomial_test():
    d = np.repeat([1.0, -1.0, 0.0], [5210, 4967, 90_000])
    p, method, _ = signflip.exact_p(d)
    assert method == "exact binomial"
    assert p == pytest.approx(stats.binomtest(5210, 10177).pvalue, rel=1e-9)
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
    sums = np.array([3.0, -1.0, 4.0, 1.0, 5.0])
    sizes = np.array([1.0, 2.0, 1.0, 3.0, 2.0])
    every = ranges(sums, sizes, rng=rng(), draws=0)
    for null in (-0.7, 0.11, 0.9, 1.33, 2.05, 3.9):
        shifted = ranges(sums - null * sizes, sizes, rng=rng(), draws=0)
        assert every.share(null) == shifted.share()


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
    """All differences are above 0, so that only the data's own signs are as extreme: p is 2 /
    2^units, and never 0.
    """
    for seed in range(50):
        differences = np.abs(rng(seed).normal(1, 0.3, units))
        sizes = rng(seed + 100).exponential(1, units)
        every = ranges(differences, sizes, rng=rng(), draws=0)
        assert every.share() == 2.0 ** (1 - units)
        assert (every.low == -np.inf).sum() == (every.high == np.inf).sum() == 1


DRAWN_WIDTHS = np.abs(rng(7).normal(size=30_000))


@pytest.mark.parametrize(
    "widths",
    [DRAWN_WIDTHS, np.sort(DRAWN_WIDTHS), np.sort(DRAWN_WIDTHS)[::-1], np.ones(30_000)],
    ids=["drawn", "narrowest first", "widest first", "equal"],
)
def test_limits_are_those_of_all_ranges_whatever_their_order(widths):
    """Of 30,000 ranges from −width to 2 · width, a share 1 − level is left outside a limit."""
    limits = Ranges(-widths, 2 * widths, 0.0).limits(0.9, 0.95, 0.2)
    for level, beyond in ((0.9, 3_000), (0.95, 1_500), (0.2, 24_000)):
        width = np.sort(widths)[-beyond]
        assert limits[level] == (-width, 2 * width)


@pytest.mark.parametrize("n", [1, 2, 3, 21, 32, 33, 50, 64, 65, 130])
def test_drawn_sums_are_those_of_random_signs_times_all_rows_of_a_hadamard_matrix(n):
    values = rng(8).normal(size=n)
    bits = signflip.random_bits(n, rng(9), 20_000)
    sums = np.concatenate(list(signflip.sums(values, bits)))
    bytes_per_vector = -(-n // 8)  # rounded up
    packed = np.frombuffer(bits, np.uint8).reshape(-1, bytes_per_vector)
    signs = 1 - 2.0 * np.unpackbits(packed, axis=1, count=n)  # a row per vector of signs
    matrix = hadamard(sums.size // len(signs))[:n]
    expected = (signs * values) @ matrix
    assert np.sort(sums) == pytest.approx(np.sort(expected.ravel()))


SEEDS = 24
QUERIES = 40


def perfect_among_random(systems) -> pd.DataFrame:
    """One system with 1 on every query beside random ones with uniform values."""
    values = {f"random{i:03}": rng(i, QUERIES).random(QUERIES) for i in range(systems)}
    return pd.DataFrame({"query": [f"q{i:02}" for i in range(QUERIES)], "perfect": 1.0} | values)


DISTRIBUTIONS = {
    "normal": lambda n: rng(n).normal(1, 1, n),
    "heavy": lambda n: rng(n).exponential(1, n) ** 2 * np.where(rng(n, 1).random(n) < 0.9, 1, -1),
    "lattice": lambda n: rng(n).integers(-2, 6, n).astype(float),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("n", [12, 15, 18, 20])
def test_the_tail_equals_enumeration(distribution, n):
    d = DISTRIBUTIONS[distribution](n)
    exact = np.mean(np.abs(signflip.enumerated(d)) >= abs(d.sum()) - 1e-9)
    p = [signflip.tail_p(d, rng=rng(seed)) for seed in range(SEEDS)]
    assert np.mean(p) == pytest.approx(exact, rel=0.02)
    assert np.std(p) < 0.05 * exact


@pytest.mark.parametrize("n, shift", [(40, 0.9), (100, 0.5), (250, 0.35), (250, 0.45)])
def test_the_tail_equals_the_lattice(n, shift):
    steps = np.rint(4 * rng(n).normal(shift, 1, n))
    exact = signflip.lattice_p(steps[steps != 0].astype(int))
    assert 1e-11 < exact < 1e-3
    p = [signflip.tail_p(steps / 4, rng=rng(seed)) for seed in range(SEEDS)]
    assert np.mean(p) == pytest.approx(exact, rel=0.03)


def test_the_tail_of_many_units_equals_the_binomial():
    d = np.repeat([1.0, -1.0], [1160, 840])
    p = signflip.tail_p(d + 1e-9 * rng().normal(size=2000), rng=rng())
    assert p == pytest.approx(stats.binomtest(1160, 2000).pvalue, rel=0.1)


@pytest.mark.parametrize("n", [21, 40, 400, 4000])
def test_a_system_that_wins_on_every_unit_has_the_smallest_p_there_is(n):
    d = rng(n).random(n) + 0.1
    assert signflip.tail_p(d, rng=rng()) == max(2.0 ** float(1 - n), np.finfo(float).tiny)
    assert signflip.tail_p(np.zeros(n), rng=rng()) == 1


def test_one_loss_by_a_hair_leaves_four_sign_vectors():
    d = np.append(rng().random(39) + 0.1, -1e-6)
    assert signflip.tail_p(d, rng=rng()) == pytest.approx(2.0**-38, rel=0.05)


def test_a_p_that_plain_draws_resolve_is_theirs():
    d = rng(3).normal(0.35, 1, 45)
    comparison = sig.sign_flip(d, rng=rng(1))
    assert comparison.method == "sign flip, 100,032 Walsh–Hadamard draws"
    assert comparison.p_value == ranges(d, np.ones(45), rng=rng(1), draws=100_000).share()
    assert signflip.tail_p(d, rng=rng(1)) == pytest.approx(comparison.p_value, rel=0.1)


@pytest.mark.parametrize("systems", [101, 300])
def test_one_perfect_system_among_random_ones_is_better_than_each_after_holm_over_all_pairs(
    systems,
):
    table = perfect_among_random(systems).set_index("query")
    d = (1 - table.drop(columns="perfect")).to_numpy()
    p = np.array([sig.sign_flip(column, rng=rng(0, 2)).p_value for column in d.T])
    p_of_random_pairs = np.ones(systems * (systems - 1) // 2)
    adjusted = multiplicity.holm(np.append(p, p_of_random_pairs))
    assert (adjusted[:systems] < 0.05).all()


@pytest.fixture(scope="module")
def beaten_by_perfect():
    return significance.read(perfect_among_random(12), baseline="perfect")


def test_a_system_beaten_on_every_query_has_the_smallest_p_there_is(beaten_by_perfect):
    """Only the signs of the data, and their opposites, of 2^QUERIES are as extreme."""
    assert (beaten_by_perfect.comparisons["verdict"] == "lower").all()
    assert (beaten_by_perfect.comparisons["p"] == 2.0 ** (1 - QUERIES)).all()


def test_the_page_says_that_the_tail_decides(beaten_by_perfect):
    findings = told(beaten_by_perfect)
    assert "12 of 12 p-values are too small for plain Monte Carlo draws" in findings


def test_the_page_says_nothing_of_the_tail_where_draws_decide():
    two_random = perfect_among_random(3)[["query", "random000", "random001"]]
    assert "importance sampling" not in told(significance.read(two_random))


def test_pairs_that_differ_on_more_or_fewer_units_share_one_stream():
    few = signflip._uniform(rng(1), 40 * signflip.DRAWS)
    many = signflip._uniform(rng(1), 50 * signflip.DRAWS)
    assert np.shares_memory(few, many)
    assert (few == rng(1).random(few.size)).all()


# The order of units and systems


@pytest.mark.parametrize("n", [5, 20, 21, 40, 300])
@pytest.mark.parametrize("shift", [0.0, 0.3, 0.8])
def test_neither_the_order_of_units_nor_of_systems_changes_a_sign_flip(n, shift):
    d = rng(n).normal(shift, 1, n)
    sizes = rng(n, 1).integers(1, 4, n)
    first = sig.sign_flip(d, sizes, rng=rng(1), draws=5000)
    shuffled = rng(n, 2).permutation(n)
    assert sig.sign_flip(d[shuffled], sizes[shuffled], rng=rng(1), draws=5000) == first
    swapped = sig.sign_flip(-d, sizes, rng=rng(1), draws=5000)
    assert swapped.p_value == first.p_value
    assert swapped.difference.low == -first.difference.high
    assert swapped.difference.high == -first.difference.low


@pytest.mark.parametrize("small", [1e-3, 1e-5, 1e-9, 2.0**-30])
def test_one_far_larger_unit_leaves_the_p_of_the_others(small):
    """As extreme are the observed signs and those with one small unit flipped: 41 of 2^40, and the
    same mirrored.
    """
    d = np.array([1.0] + [small] * 39 + [-small])
    assert signflip.tail_p(d, rng=np.random.default_rng(1)) == pytest.approx(
        41 * 2.0**-40, rel=0.05
    )


@pytest.mark.parametrize("n", [33, 50, 64])
def test_two_halves_of_a_transform_are_the_transform(n):
    values = rng(1).normal(size=n)
    bits = signflip.random_bits(n, rng(2), 1_000)
    points = np.append(values, np.zeros(64 - n))
    expected = signflip.walsh_hadamard(signflip._signs(bits, n) * points).ravel()
    assert np.concatenate(list(signflip.sums(values, bits))) == pytest.approx(expected, abs=1e-12)

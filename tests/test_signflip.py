"""Sign flips: enumeration, lattices, draws, limits; and the tail of small p-values by importance
sampling.
"""

import math
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from samples import rng
from scipy import stats
from scipy.linalg import hadamard
from significance_tables import told

from evalkit.statistics import multiplicity, signflip, significance as sig
from evalkit.statistics.signflip import Ranges, null_mean_ranges
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


def test_the_fast_transform_equals_multiplication_by_the_hadamard_matrix():
    values = rng().normal(size=(3, 64))
    transformed = signflip.walsh_hadamard(values.copy())  # in place
    assert transformed == pytest.approx(values @ hadamard(64))


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
    """One to nine integer differences. For so few units `null_mean_ranges` takes every sign vector,
    not a drawn one. Differences of 0 do not change a sum, and are left out.
    """
    nonzero = np.array([d for d in differences if d], float)
    every_sign_vector = null_mean_ranges(nonzero, count=np.ones(nonzero.size), rng=rng(), draws=0)
    expected = enumerated_p(differences, tie_weight)
    assert every_sign_vector.share(tie_weight=tie_weight) == pytest.approx(expected, abs=1e-12)


FIFTHS = rng(4).integers(-5, 7, 60) / 5  # differences of 60 units
SIZES = {"one row a unit": np.ones(60), "clusters": rng(5).integers(1, 4, 60).astype(float)}


@pytest.fixture(scope="module", params=SIZES)
def mid_p_case(request):
    """The rows of each unit, and the exact test with half the probability of ties."""
    sizes = SIZES[request.param]
    return sizes, sig.sign_flip(FIFTHS, sizes, rng=rng(1), mid_p=True)


def test_a_mid_p_says_so(mid_p_case):
    _, exact = mid_p_case
    assert exact.method.endswith("exact by Fourier transform, mid-p")


def test_a_mid_p_is_the_same_for_the_opposite_differences(mid_p_case):
    sizes, exact = mid_p_case
    opposite = sig.sign_flip(-FIFTHS, sizes, rng=rng(1), mid_p=True)
    assert opposite.p_value == exact.p_value


def test_a_mid_p_of_draws_is_near_the_exact_one(mid_p_case):
    sizes, exact = mid_p_case
    drawn = null_mean_ranges(FIFTHS, sizes, rng=rng(2), draws=200_000)
    assert drawn.share(tie_weight=signflip.HALF) == pytest.approx(exact.p_value, rel=0.05)


def test_a_mid_p_is_below_the_p_that_counts_ties_in_full(mid_p_case):
    sizes, exact = mid_p_case
    assert exact.p_value < sig.sign_flip(FIFTHS, sizes, rng=rng(1)).p_value


@given(st.lists(st.integers(-6, 6), min_size=3, max_size=9))
@settings(max_examples=100, deadline=None)
def test_sums_of_tenths_tie_as_the_sums_of_integers_do(differences):
    """Although 0.1 + 0.2 is not 0.3 in floating point."""
    tenths = np.array(differences) * 0.1
    every_sign_vector = null_mean_ranges(tenths, np.ones(len(tenths)), rng=rng(), draws=0)
    assert every_sign_vector.share() == enumerated_p(differences)


# Lattices: differences that are whole multiples of a step -----------------------------------------


@given(
    st.lists(st.integers(-10, 10), min_size=2, max_size=60).filter(any),
    st.sampled_from([1.0, 0.1, 1 / 3, 1e-9, 1 / 2520]),
)
@settings(max_examples=100, deadline=None)
def test_a_lattice_is_found_whatever_its_step(steps, step):
    found = signflip.lattice(np.array(steps) * step)
    assert found.tolist() == (np.array(steps) // np.gcd.reduce(steps)).tolist()


@pytest.mark.parametrize("differences", [rng().normal(size=30), np.array([1.0, np.sqrt(2)])])
def test_differences_without_a_common_step_have_no_lattice(differences):
    assert signflip.lattice(differences) is None


def test_differences_of_rounded_metrics_are_a_lattice():
    first, second = rng().integers(0, 11, (2, 500)) / 10
    steps = signflip.lattice(first - second)
    assert steps.tolist() == np.rint(10 * (first - second)).tolist()


HITS_AND_MISSES = np.repeat([1.0, -1.0, 0.0], [5210, 4967, 90_000])


def test_differences_of_one_size_have_the_p_of_the_binomial_test():
    """5,210 differences of 1 and 4,967 of −1. Flipped signs are the tosses of a fair coin. The
    90,000 differences of 0 do not change a sum.
    """
    p, method, _ = signflip.exact_p(HITS_AND_MISSES)
    assert method == "exact binomial"
    assert p == pytest.approx(stats.binomtest(5210, n=5210 + 4967).pvalue, rel=1e-9)


def test_the_fourier_transform_of_differences_of_one_size_has_that_p_as_well():
    expected = stats.binomtest(5210, 5210 + 4967).pvalue
    assert signflip.lattice_p(HITS_AND_MISSES.astype(int)) == pytest.approx(expected, abs=1e-11)


# Smallest p-values --------------------------------------------------------------------------------


def test_no_p_of_the_binomial_is_0():
    """Although 2 · 2^−5000 is below the smallest double."""
    assert signflip.fair_coin(0, 5000) > 0


def test_no_p_of_a_lattice_is_0():
    assert signflip.lattice_p(np.repeat([1, 2], 500)) > 0


def test_a_p_that_no_draw_reaches_counts_the_data_alone():
    """All 100 differences are above 0, so that only all plus or all minus signs, of 2^100 vectors,
    are as extreme as the data. None of them is drawn; the data count as one of the draws.
    """
    drawn = null_mean_ranges(np.arange(1, 101.0), count=np.ones(100), rng=rng(), draws=1000)
    assert drawn.share() == 1 / drawn.draws


# Draws --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[30, 64, 65, 300])
def columns_and_sums(request):
    """A normal column of n rows and one of ones, and drawn sums of both with the same signs."""
    n = request.param
    columns = np.column_stack([rng().normal(size=n), np.ones(n)])
    return columns, signflip.joint_draws(columns, rng=rng(1), draws=50_000)


def test_at_least_as_many_sums_are_drawn_as_asked_for(columns_and_sums):
    _, sums = columns_and_sums
    assert sums.shape[1] >= 50_000


def test_sums_with_random_signs_have_the_mean_0(columns_and_sums):
    columns, sums = columns_and_sums
    assert sums.mean(axis=1) == pytest.approx([0, 0], abs=0.05 * np.sqrt(len(columns)))


def test_sums_with_random_signs_have_the_sum_of_squares_as_variance(columns_and_sums):
    columns, sums = columns_and_sums
    assert sums.var(axis=1) == pytest.approx(np.sum(columns**2, axis=0), rel=0.03)


def test_both_columns_of_a_draw_have_the_same_signs(columns_and_sums):
    """So their sums' covariance is the sum of products of the columns."""
    columns, sums = columns_and_sums
    covariance = np.mean(sums[0] * sums[1])
    assert covariance == pytest.approx(columns[:, 0].sum(), abs=0.05 * len(columns))


# Limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("null", [-0.7, 0.11, 0.9, 1.33, 2.05, 3.9])
def test_the_p_of_a_null_mean_is_that_of_the_shifted_differences(null):
    """Five units of one to three rows. The null says that the mean per row is `null`. Less `null`
    on each row, a unit's sum is smaller by null · its rows, and the null is a mean of 0.
    """
    sums = np.array([3.0, -1.0, 4.0, 1.0, 5.0])
    rows = np.array([1.0, 2.0, 1.0, 3.0, 2.0])
    observed = null_mean_ranges(sums, rows, rng=rng(), draws=0)
    shifted = null_mean_ranges(sums - null * rows, rows, rng=rng(), draws=0)
    assert observed.share(null) == shifted.share(null=0.0)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
def test_limits_are_the_last_means_that_are_not_rejected(level):
    """14 normal differences with the mean 0.5, with every sign vector. A mean is rejected if its p
    is below 1 − level. 1e-9 within both limits no mean is rejected, 1e-9 beyond both are.
    """
    alpha = round(1 - level, 12)
    tests = null_mean_ranges(rng(6).normal(0.5, 1, 14), count=np.ones(14), rng=rng(), draws=0)
    low, high = tests.limits(level)[level]
    assert min(tests.share(low + 1e-9), tests.share(high - 1e-9)) >= alpha
    assert max(tests.share(low - 1e-9), tests.share(high + 1e-9)) < alpha


@pytest.mark.parametrize("units", range(5, 21))
def test_only_the_datas_own_signs_are_as_extreme_if_all_differences_are_above_0(units):
    """p is 2 / 2^units, of all plus and all minus signs, also with rounding errors: 50 sets of
    positive differences, of units whose sizes are not whole numbers.
    """
    for seed in range(50):
        differences = np.abs(rng(seed).normal(1, 0.3, units))
        sizes = rng(seed + 100).exponential(1, units)
        assert null_mean_ranges(differences, sizes, rng=rng(), draws=0).share() == 2.0 ** (
            1 - units
        )


DRAWN_WIDTHS = np.abs(rng(7).normal(size=30_000))


@pytest.mark.parametrize(
    "widths",
    [DRAWN_WIDTHS, np.sort(DRAWN_WIDTHS), np.sort(DRAWN_WIDTHS)[::-1], np.ones(30_000)],
    ids=["drawn", "narrowest first", "widest first", "equal"],
)
@pytest.mark.parametrize("level, wider", [(0.9, 3_000), (0.95, 1_500), (0.2, 24_000)])
def test_as_many_ranges_reach_beyond_a_limit_as_its_level_leaves_out(level, wider, widths):
    """Of 30,000 ranges from −width to 2 · width, in any order, the share 1 − level."""
    width = np.sort(widths)[-wider]
    assert Ranges(-widths, 2 * widths, 0.0).limits(level)[level] == (-width, 2 * width)


# for n from 2 to 64 the sums are matrix products, for others a fast transform
@pytest.mark.parametrize("n", [1, 2, 3, 21, 32, 33, 50, 64, 65, 130])
def test_drawn_sums_are_those_of_random_signs_times_the_columns_of_a_hadamard_matrix(n):
    """A draw is a sum Σ ± value over n values. To draw many sums quickly, one vector of n random
    signs is multiplied by each column of a Hadamard matrix, a matrix of ±1. Its order is the
    smallest power of 2 that is at least n, and only the first n entries of a column are used.

    `random_bits` packs the random signs into bytes, a bit for each sign: 0 is a plus, 1 a minus.
    A vector of signs begins with a new byte; bits that are left over in its last byte are unused.
    """
    values = rng(8).normal(size=n)
    bits = signflip.random_bits(n, rng(9), draws=20_000)
    sums = np.concatenate(list(signflip.sums(values, bits)))

    bytes_per_vector = math.ceil(n / 8)
    bytes_of_vectors = np.frombuffer(bits, np.uint8).reshape(-1, bytes_per_vector)
    bits_of_vectors = np.unpackbits(bytes_of_vectors, axis=1, count=n)  # (vectors, n)
    signs = 1 - 2.0 * bits_of_vectors
    order = 2 ** math.ceil(math.log2(n))
    first_entries_of_columns = hadamard(order)[:n]  # (n, columns)
    expected = (signs * values) @ first_entries_of_columns  # (vectors, columns)
    # sorted, since the order of the draws does not matter
    assert np.sort(sums) == pytest.approx(np.sort(expected.ravel()))


# The tail of small p-values, by importance sampling -----------------------------------------------

SEEDS = 24
QUERIES = 40


def perfect_among_random(systems) -> pd.DataFrame:
    """The values of systems on 40 queries: the column `perfect` is 1 everywhere, and the columns
    `random000`, `random001` and so on are uniform between 0 and 1.
    """
    values = {f"random{i:03}": rng(i, QUERIES).random(QUERIES) for i in range(systems)}
    return pd.DataFrame({"query": [f"q{i:02}" for i in range(QUERIES)], "perfect": 1.0} | values)


DISTRIBUTIONS = {  # of the differences of n units
    "normal": lambda n: rng(n).normal(1, 1, n),
    "heavy": lambda n: rng(n).exponential(1, n) ** 2 * np.where(rng(n, 1).random(n) < 0.9, 1, -1),
    "lattice": lambda n: rng(n).integers(-2, 6, n).astype(float),
}


class EstimatedTail(NamedTuple):
    """The p-value of all sign vectors, and its estimates with 24 seeds."""

    exact: float
    estimates: list[float]


@pytest.fixture(scope="module", params=product(DISTRIBUTIONS, [12, 15, 18, 20]))
def estimated_tail(request):
    """The tail of 12 to 20 differences, of normal, of heavy-tailed and of whole numbers."""
    distribution, n = request.param
    d = DISTRIBUTIONS[distribution](n)
    exact = np.mean(np.abs(signflip.enumerated(d)) >= abs(d.sum()) - 1e-9)
    return EstimatedTail(exact, [signflip.tail_p(d, rng=rng(seed)) for seed in range(SEEDS)])


def test_the_mean_of_estimated_tails_is_the_exact_p(estimated_tail):
    """The exact p is the share of all sign vectors whose sum is at least as far from 0 as that of
    the data. The mean is over 24 seeds.
    """
    assert np.mean(estimated_tail.estimates) == pytest.approx(estimated_tail.exact, rel=0.02)


def test_estimated_tails_have_a_standard_deviation_below_5_percent_of_p(estimated_tail):
    assert np.std(estimated_tail.estimates) < 0.05 * estimated_tail.exact


@pytest.mark.parametrize("n, shift", [(40, 0.9), (100, 0.5), (250, 0.35), (250, 0.45)])
def test_the_estimated_tail_of_a_lattice_is_its_exact_p(n, shift):
    """These p lie between 1e-11 and 1e-3, where plain draws would find none or few."""
    steps = np.rint(4 * rng(n).normal(shift, 1, n))
    exact = signflip.lattice_p(steps[steps != 0].astype(int))
    estimates = [signflip.tail_p(steps / 4, rng=rng(seed)) for seed in range(SEEDS)]
    assert np.mean(estimates) == pytest.approx(exact, rel=0.03)


def test_the_estimated_tail_of_many_wins_and_losses_is_near_the_binomial_test():
    """1,160 wins of about 1 and 840 losses of about −1, so nearly a fair coin tossed 2,000 times.
    Changes of about 1e-9 make all sizes unequal.
    """
    d = np.repeat([1.0, -1.0], [1160, 840])
    hardly_unequal = d + 1e-9 * rng().normal(size=2000)
    p = signflip.tail_p(hardly_unequal, rng=rng())
    assert p == pytest.approx(stats.binomtest(1160, n=2000).pvalue, rel=0.1)


@pytest.mark.parametrize("n", [21, 40, 400, 4000])
def test_a_system_that_wins_on_every_unit_has_the_smallest_possible_p(n):
    """Two of 2^n sign vectors, but at least the smallest number that a double holds."""
    d = rng(n).random(n) + 0.1
    assert signflip.tail_p(d, rng=rng()) == max(2.0 ** float(1 - n), np.finfo(float).tiny)


def test_the_tail_of_differences_of_0_is_1():
    assert signflip.tail_p(np.zeros(40), rng=rng()) == 1


def test_one_tiny_loss_leaves_four_sign_vectors_as_extreme():
    """All gains with the loss, with it turned into a gain, and the opposites of both."""
    d = np.append(rng().random(39) + 0.1, -1e-6)
    assert signflip.tail_p(d, rng=rng()) == pytest.approx(4 * 2.0**-40, rel=0.05)


# Which method is used -----------------------------------------------------------------------------

MODERATE = rng(3).normal(0.35, 1, 45)  # differences whose p plain draws resolve


def test_a_moderate_p_is_that_of_plain_draws():
    comparison = sig.sign_flip(MODERATE, rng=rng(1))
    assert comparison.method == "sign flip, 100,032 Walsh–Hadamard draws"
    drawn = null_mean_ranges(MODERATE, np.ones(45), rng=rng(1), draws=100_000)
    assert comparison.p_value == drawn.share()


def test_the_estimated_tail_is_near_the_p_of_plain_draws():
    expected = sig.sign_flip(MODERATE, rng=rng(1)).p_value
    assert signflip.tail_p(MODERATE, rng=rng(1)) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("n_random", [101, 300])
def test_a_perfect_system_is_better_than_each_random_one_after_holm(n_random):
    """40 queries. The perfect system has the value 1 on each; the random systems, 101 or 300, have
    uniform values below 1. Each of the 40 differences from a random system is positive. Of the 2^40
    sign vectors only all plus and all minus are as extreme, so that p is 2 / 2^40 = 1.8e-12.

    Holm multiplies a p-value by at most the number of pairs of systems, also pairs of two random
    ones: 5,151 pairs of 102 systems, 45,150 of 301. By plain Monte Carlo with 100,000 draws no p
    would be below 1e-5, which Holm would raise to 5,151 · 1e-5 = 0.052. These p-values come from
    importance sampling instead.

    The pairs of two random systems have the p-value 1 here, since larger p-values do not change
    the adjustment of smaller ones.
    """
    random_values = rng(0).random((40, n_random))  # (queries, random systems)
    differences = 1 - random_values  # perfect − random
    p_against_random = [sig.sign_flip(column, rng=rng(1)).p_value for column in differences.T]
    p_of_random_pairs = np.ones(n_random * (n_random - 1) // 2)
    adjusted = multiplicity.holm(np.append(p_against_random, p_of_random_pairs))
    adjusted_against_random = adjusted[:n_random]
    assert (adjusted_against_random < 0.05).all()


@pytest.fixture(scope="module")
def beaten_by_perfect():
    return significance.read(perfect_among_random(12), baseline="perfect")


def test_a_system_beaten_on_every_query_has_the_smallest_p_there_is(beaten_by_perfect):
    """Only the signs of the data, and their opposites, of 2^QUERIES are as extreme."""
    assert (beaten_by_perfect.comparisons["verdict"] == "lower").all()
    assert (beaten_by_perfect.comparisons["p"] == 2.0 ** (1 - QUERIES)).all()


def test_the_page_names_p_values_that_importance_sampling_gave(beaten_by_perfect):
    findings = told(beaten_by_perfect)
    assert "12 of 12 p-values are too small for plain Monte Carlo draws" in findings


def test_the_page_does_not_name_importance_sampling_if_plain_draws_sufficed():
    two_random = perfect_among_random(3)[["query", "random000", "random001"]]
    assert "importance sampling" not in told(significance.read(two_random))


def test_pairs_of_systems_share_one_stream_of_random_numbers_of_a_seed():
    """Whatever the number of units on which they differ, so that it is drawn once."""
    for_40_units = signflip._uniform(rng(1), 40 * signflip.DRAWS)
    for_50_units = signflip._uniform(rng(1), 50 * signflip.DRAWS)
    assert np.shares_memory(for_40_units, for_50_units)


def test_the_shared_stream_is_that_of_the_seed():
    stream = signflip._uniform(rng(1), 40 * signflip.DRAWS)
    assert (stream == rng(1).random(stream.size)).all()


# The order of units and systems -------------------------------------------------------------------


class Clusters(NamedTuple):
    differences: np.ndarray
    sizes: np.ndarray


@pytest.fixture(params=[5, 20, 21, 40, 300])
def clusters(request):
    n = request.param
    return Clusters(rng(n).normal(0.3, 1, n), rng(n, 1).integers(1, 4, n))


def sign_flip_of_few_draws(differences, sizes):
    """The sign flip test with at least 5,000 draws of one seed, if it is not exact."""
    return sig.sign_flip(differences, sizes, rng=rng(1), draws=5000)


def test_the_order_of_units_does_not_change_a_sign_flip(clusters):
    differences, sizes = clusters
    order = rng(2).permutation(sizes.size)
    assert sign_flip_of_few_draws(differences[order], sizes[order]) == sign_flip_of_few_draws(
        differences, sizes
    )


def test_swapped_systems_have_the_same_p_and_opposite_limits(clusters):
    comparison = sign_flip_of_few_draws(clusters.differences, clusters.sizes)
    swapped = sign_flip_of_few_draws(-clusters.differences, clusters.sizes)
    assert swapped.p_value == comparison.p_value
    expected = (-comparison.difference.high, -comparison.difference.low)
    assert (swapped.difference.low, swapped.difference.high) == expected


@pytest.mark.parametrize("small", [1e-3, 1e-5, 1e-9, 2.0**-30])
def test_the_tail_counts_flips_of_units_far_smaller_than_one(small):
    """As extreme as the data, with one loss among 40 small units, are sign vectors with at most one
    loss among them: 41 of 2^41 where the large unit is a gain, and their opposites.
    """
    d = np.array([1.0] + [small] * 39 + [-small])
    assert signflip.tail_p(d, rng=rng(1)) == pytest.approx(2 * 41 * 2.0**-41, rel=0.05)


@pytest.mark.parametrize("n", [33, 50, 64])
def test_sums_by_two_transforms_of_32_are_those_of_one_of_64(n):
    values = rng(1).normal(size=n)
    bits = signflip.random_bits(n, rng(2), 1_000)
    points = np.append(values, np.zeros(64 - n))
    expected = signflip.walsh_hadamard(signflip._signs(bits, n) * points).ravel()
    assert np.concatenate(list(signflip.sums(values, bits))) == pytest.approx(expected, abs=1e-12)

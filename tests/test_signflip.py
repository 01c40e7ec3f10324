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


def by_hand(differences, tied=1.0):
    """The two-sided p-value over all sign vectors, one at a time, in exact integers; the data's own
    count in full.
    """
    total = abs(sum(differences))
    every = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    own = (1 - tied) * 2.0 ** (1 - np.count_nonzero(differences))
    return min(1.0, 2 * np.mean([(of > total) + tied * (of == total) for of in every]) + own)


def test_transform_equals_the_matrix():
    values = rng().normal(size=(3, 64))
    assert signflip.walsh_hadamard(values.copy()) == pytest.approx(values @ hadamard(64))


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9), st.sampled_from([1.0, signflip.HALF]))
@settings(max_examples=200, deadline=None)
def test_exact_p_values_equal_enumeration(differences, tied):
    d, expected = np.array(differences, float), by_hand(differences, tied)
    p = signflip.exact_p(d, tied).p
    assert p == pytest.approx(expected, abs=1e-12)
    if np.any(d != 0):
        moved = d[d != 0]
        by_fourier = signflip.lattice_p(np.array(differences), tied) + (1 - tied) * 2.0 ** (
            1 - moved.size
        )
        assert min(1, by_fourier) == pytest.approx(expected, abs=2e-12)
        ranged = ranges(moved, np.ones(moved.size), rng=rng(), draws=0)
        assert ranged.share(tie_weight=tied) == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("clustered", [False, True])
def test_drawn_and_exact_mid_p_agree_and_mirror(clustered):
    d = rng(4).integers(-5, 7, 60) / 5
    counts = rng(5).integers(1, 4, 60).astype(float) if clustered else None
    c, mirror = (sig.sign_flip(of, counts, rng=rng(1), mid_p=True) for of in (d, -d))
    drawn = ranges(d, np.ones(60) if counts is None else counts, rng=rng(2), draws=200_000)
    assert (
        c.p_value
        == mirror.p_value
        == pytest.approx(drawn.share(tie_weight=signflip.HALF), rel=0.05)
    )
    assert c.p_value < sig.sign_flip(d, counts, rng=rng(1)).p_value < drawn.share() * 1.05
    assert c.method.endswith("exact by Fourier transform, mid-p")


@given(st.lists(st.integers(-6, 6), min_size=3, max_size=9))
@settings(max_examples=100, deadline=None)
def test_ties_survive_the_rounding_of_tenths(differences):
    ranged = ranges(np.array(differences) * 0.1, np.ones(len(differences)), rng=rng(), draws=0)
    assert ranged.share() == by_hand(differences)


@given(
    st.lists(st.integers(-10, 10), min_size=2, max_size=60),
    st.sampled_from([1.0, 0.1, 1 / 3, 1e-9, 1 / 2520]),
)
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
    assert (
        signflip.lattice(tenths[0] - tenths[1]).tolist()
        == np.rint(10 * (tenths[0] - tenths[1])).tolist()
    )


def test_hits_are_the_binomial_test():
    d = np.repeat([1.0, -1.0, 0.0], [5210, 4967, 90_000])
    p, how, _ = signflip.exact_p(d)
    assert (p, how) == (
        pytest.approx(stats.binomtest(5210, 10177).pvalue, rel=1e-9),
        "exact binomial",
    )
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
    """All differences are above 0, so that only the data's own signs are as extreme: p is 2 /
    2^units, and never 0.
    """
    for seed in range(50):
        d, c = np.abs(rng(seed).normal(1, 0.3, units)), rng(seed + 100).exponential(1, units)
        every = ranges(d, c, rng=rng(), draws=0)
        assert every.share() == 2.0 ** (1 - units)
        assert (every.low == -np.inf).sum() == (every.high == np.inf).sum() == 1


@pytest.mark.parametrize("arranged", ["drawn", "nearest first", "farthest first", "equal"])
def test_limits_are_those_of_all_ranges_in_order_whatever_a_sample_says(arranged):
    far = np.abs(rng(7).normal(size=30_000))
    far = {
        "drawn": far,
        "nearest first": np.sort(far),
        "farthest first": -np.sort(-far),
        "equal": np.ones(30_000),
    }[arranged]
    limits = Ranges(-far, 2 * far, 0.0).limits(0.9, 0.95, 0.2)
    for level, left in ((0.9, 3_000), (0.95, 1_500), (0.2, 24_000)):
        end = np.sort(far)[-left]
        assert limits[level] == (-end, 2 * end)


@pytest.mark.parametrize("n", [1, 2, 3, 21, 32, 33, 50, 64, 65, 130])
def test_sums_are_those_of_the_signs(n):
    values, bits = rng(8).normal(size=n), signflip.random_bits(n, rng(9), 20_000)
    drawn = np.concatenate(list(signflip.sums(values, bits)))
    points = drawn.size // (len(bits) // -(-n // 8))
    flips = 1 - 2.0 * np.unpackbits(
        np.frombuffer(bits, np.uint8).reshape(-1, -(-n // 8)), axis=1, count=n
    )
    expected = (flips * values) @ hadamard(points)[:n]
    assert np.sort(drawn) == pytest.approx(np.sort(expected.ravel()))


SEEDS = 24


def perfect_among_random(systems, queries=40) -> pd.DataFrame:
    """One system with 1 on every query beside random ones with uniform values."""
    values = {f"random{i:03}": rng(i, queries).random(queries) for i in range(systems)}
    return pd.DataFrame({"query": [f"q{i:02}" for i in range(queries)], "perfect": 1.0} | values)


def drawn(kind, n, seed):
    if kind == "normal":
        return rng(seed).normal(1, 1, n)
    if kind == "heavy":
        return rng(seed).exponential(1, n) ** 2 * np.where(rng(seed, 1).random(n) < 0.9, 1, -1)
    return rng(seed).integers(-2, 6, n).astype(float)


@pytest.mark.parametrize("kind", ["normal", "heavy", "lattice"])
@pytest.mark.parametrize("n", [12, 15, 18, 20])
def test_the_tail_equals_enumeration(kind, n):
    d = drawn(kind, n, n)
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


def test_a_p_that_the_draws_can_tell_is_theirs():
    d = rng(3).normal(0.35, 1, 45)
    c = sig.sign_flip(d, rng=rng(1))
    assert c.method == "sign flip, 100,032 Walsh–Hadamard draws"
    assert c.p_value == ranges(d, np.ones(45), rng=rng(1), draws=100_000).share()
    assert signflip.tail_p(d, rng=rng(1)) == pytest.approx(c.p_value, rel=0.1)


@pytest.mark.parametrize("systems", [101, 300])
def test_one_perfect_system_among_random_ones_is_better_than_each_after_holm_over_all_pairs(
    systems,
):
    table = perfect_among_random(systems).set_index("query")
    d = (1 - table.drop(columns="perfect")).to_numpy()
    p = np.array([sig.sign_flip(column, rng=rng(0, 2)).p_value for column in d.T])
    # no other pair differs more clearly
    family = np.append(p, np.ones(systems * (systems - 1) // 2))
    assert (multiplicity.holm(family)[:systems] < 0.05).all()


def test_the_page_says_where_the_tail_decides():
    study = significance.read(perfect_among_random(12), baseline="perfect")
    assert (study.comparisons["verdict"] == "lower").all()
    assert (study.comparisons["p"] == 2.0**-39).all()
    assert "12 of 12 p-values are too small for plain Monte Carlo draws" in told(study)
    assert "importance sampling" not in told(
        significance.read(perfect_among_random(3)[["query", "random000", "random001"]])
    )


def test_pairs_that_differ_on_more_or_fewer_units_share_one_stream():
    few, many = (signflip._uniform(rng(1), units * signflip.DRAWS) for units in (40, 50))
    assert np.shares_memory(few, many)
    assert (few == rng(1).random(few.size)).all()


# The order of units and systems


@pytest.mark.parametrize("n", [5, 20, 21, 40, 300])
@pytest.mark.parametrize("shift", [0.0, 0.3, 0.8])
def test_neither_the_order_of_units_nor_of_systems_changes_a_sign_flip(n, shift):
    d, counts = rng(n).normal(shift, 1, n), rng(n, 1).integers(1, 4, n)
    first = sig.sign_flip(d, counts, rng=rng(1), draws=5000)
    mixed = rng(n, 2).permutation(n)
    again = sig.sign_flip(d[mixed], counts[mixed], rng=rng(1), draws=5000)
    assert again == first
    back = sig.sign_flip(-d, counts, rng=rng(1), draws=5000)
    assert back.p_value == first.p_value
    assert (back.difference.low, back.difference.high) == (
        -first.difference.high,
        -first.difference.low,
    )


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
    values, bits = rng(1).normal(size=n), signflip.random_bits(n, rng(2), 1_000)
    points = np.append(values, np.zeros(64 - n))
    expected = signflip.walsh_hadamard(signflip._signs(bits, n) * points).ravel()
    assert np.concatenate(list(signflip.sums(values, bits))) == pytest.approx(expected, abs=1e-12)

"""Small p-values of sign flips: against enumeration and lattices, and the families in which they decide."""

import numpy as np
import pandas as pd
import pytest
from samples import rng
from scipy import stats
from significance_tables import told

from evalkit.statistics import multiplicity, signflip
from evalkit.statistics import significance as sig
from evalkit.statistics.signflip import ranges
from evalkit.studies import significance

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
def test_one_perfect_system_among_random_ones_is_better_than_each_after_holm_over_all_pairs(systems):
    table = perfect_among_random(systems).set_index("query")
    d = (1 - table.drop(columns="perfect")).to_numpy()
    p = np.array([sig.sign_flip(column, rng=rng(0, 2)).p_value for column in d.T])
    family = np.append(p, np.ones(systems * (systems - 1) // 2))  # no other pair differs more clearly
    assert (multiplicity.holm(family)[:systems] < 0.05).all()


def test_the_page_says_where_the_tail_decides():
    study = significance.read(perfect_among_random(12), baseline="perfect")
    assert (study.comparisons["verdict"] == "worse").all()
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
    assert (back.difference.low, back.difference.high) == (-first.difference.high, -first.difference.low)


@pytest.mark.parametrize("small", [1e-3, 1e-5, 1e-9, 2.0**-30])
def test_one_far_larger_unit_leaves_the_p_of_the_others(small):
    """As extreme are the observed signs and those with one small unit flipped: 41 of 2^40, and the same mirrored."""
    d = np.array([1.0] + [small] * 39 + [-small])
    assert signflip.tail_p(d, rng=np.random.default_rng(1)) == pytest.approx(41 * 2.0**-40, rel=0.05)

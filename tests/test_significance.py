"""Tests of paired differences: duality, traps, families, verdicts, folds that share rows, reference
values.
"""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from samples import COMPARED, compared, outside, rng
from scipy import stats

from evalkit.statistics import significance, significance as sig
from evalkit.statistics.intervals import by_unit, mean_t
from evalkit.statistics.signflip import ranges
from evalkit.statistics.significance import paired_t

DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def flip(differences, counts=None, *, seed=0, **keywords):
    return sig.sign_flip(differences, counts, rng=rng(seed), **{"draws": 2000, **keywords})


# The oracles


def test_darwin_by_t_and_by_all_sign_vectors_fall_on_opposite_sides():
    t = sig.paired_t(DARWIN)
    exact = flip(DARWIN)
    assert (t.p_value, exact.p_value) == pytest.approx((0.0497029, 1726 / 32768), abs=5e-8)
    assert (outside(t), outside(exact)) == (True, False)


def test_the_lattice_of_darwin_thrice_is_near_its_t():
    tripled = flip(np.repeat(DARWIN, 3))
    assert tripled.method == "sign flip, exact by Fourier transform"
    assert tripled.p_value == pytest.approx(
        stats.ttest_1samp(np.repeat(DARWIN, 3), 0).pvalue, rel=0.3
    )


def test_method_says_how():
    assert flip(rng().normal(size=20)).method == "sign flip, exact enumeration"
    assert flip(rng().normal(size=33)).method == "sign flip, 2,048 Walsh–Hadamard draws"
    assert flip(rng().integers(-1, 2, 50)).method == "sign flip, exact binomial"


# Duality, symmetry, traps


def differences():
    lattice = st.integers(-4, 4).map(lambda i: i / 4)
    ties = st.sampled_from([0.0, 0.3, -0.3, 0.1, 0.2])
    real = st.floats(-1, 1, allow_nan=False).map(lambda x: round(x, 6))
    shifted = st.floats(-0.2, 1, allow_nan=False)
    kinds = st.sampled_from([lattice, ties, real, shifted])
    return kinds.flatmap(lambda kind: st.lists(kind, min_size=1, max_size=40))


@given(differences(), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
@settings(max_examples=300, deadline=None)
def test_p_is_below_alpha_exactly_when_0_is_outside(d, level):
    c = flip(d, level=level, draws=500)
    assert (c.p_value < round(1 - level, 12)) == outside(c)
    assert 0 < c.p_value <= 1
    assert c.difference.low <= c.difference.value <= c.difference.high
    assert c.equivalence.low <= c.difference.value <= c.equivalence.high
    t = sig.paired_t(d, level=level)
    if not np.isnan(t.p_value):
        assert (t.p_value < round(1 - level, 12)) == outside(t)


@pytest.mark.parametrize("wins", [39, 40])
def test_an_exact_p_decides_over_drawn_limits(wins):
    d = np.repeat([1.0, -1.0, 0.0], [wins, 23, 40])
    for sign in (1, -1):
        found = [flip(sign * d, seed=seed, draws=300) for seed in range(40)]
        assert len({c.p_value for c in found}) == 1
        assert {outside(c) for c in found} == {wins == 40}
    ranged = [ranges(d, np.ones(d.size), rng=rng(seed), draws=300) for seed in range(40)]
    assert {drawn.share() < 0.05 for drawn in ranged} == {
        True,
        False,
    }  # the draws alone would waver


def test_the_seed_decides():
    d = rng().normal(size=50)
    assert flip(d, seed=1) == flip(d, seed=1)
    assert flip(d, seed=1).difference != flip(d, seed=2).difference


# Clusters and ratios


def test_units_of_one_row_are_no_clusters():
    d = rng(1).normal(0.3, 1, 40)
    assert flip(d, np.ones(40)) == flip(d)
    assert flip(*by_unit(d, np.arange(40))) == flip(d)


def test_repeating_the_rows_of_each_unit_leaves_the_clustered_test():
    values = rng(2).normal(0.2, 1, 200)
    unit = rng(3).integers(0, 30, 200)
    once = flip(*by_unit(values, unit))
    again = flip(*by_unit(np.tile(values, 4), np.tile(unit, 4)))
    assert again.p_value == pytest.approx(once.p_value, rel=1e-12)
    assert again.difference.low == pytest.approx(once.difference.low)
    assert once.difference.value == pytest.approx(values.mean())
    assert once.difference.n == 30


def test_a_bootstrap_of_units_of_two_rows_each_is_that_of_their_means():
    d = rng(4).gamma(1, 1, 60) - 1
    options = {"rng": rng(5), "resamples": 500}
    twice = sig.paired_bootstrap(2 * d, np.full(60, 2), **options)
    assert twice.p_value == pytest.approx(
        sig.paired_bootstrap(d, **options | {"rng": rng(5)}).p_value, rel=1e-9
    )


@pytest.mark.parametrize("seed", range(20))
def test_bootstrap_p_value_agrees_with_its_interval(seed):
    d = rng(seed).normal(0.28, 1, 50)
    c = sig.paired_bootstrap(d, rng=rng(seed), resamples=2000)
    if abs(c.p_value - 0.05) > 0.002:  # quantiles are interpolated between replicates
        assert (c.p_value < 0.05) == outside(c)


# Families


def test_adjust_keeps_order_and_p():
    comparisons = [sig.paired_t(d) for d in ([2.0, -0.5, 1.5, 0.7], DARWIN, [1.0, -1.0, 0.5])]
    adjusted = sig.adjust(comparisons)
    assert [c.p_value for c in adjusted] == [c.p_value for c in comparisons]
    assert [c.adjusted for c in adjusted] == sig.holm([c.p_value for c in comparisons]).tolist()
    assert [c.adjusted for c in sig.adjust(comparisons, sig.unadjusted)] == [
        c.p_value for c in comparisons
    ]


# Verdicts


def test_verdicts():
    better = sig.paired_t(np.array(DARWIN, float))
    assert sig.verdict(better) == "better"
    assert sig.verdict(sig.paired_t(np.negative(DARWIN))) == "worse"
    assert sig.verdict(better, direction=-1) == "worse"
    assert sig.verdict(sig.adjust([better, better])[0]) == "cannot tell"
    close = flip(rng(1).normal(0, 0.1, 200) - 0.002)
    assert sig.verdict(close) == "cannot tell"
    assert sig.verdict(close, margin=0.05) == "equivalent"
    assert sig.verdict(close, margin=0.001) == "cannot tell"
    assert (
        sig.verdict(flip(np.ones(5))) == sig.verdict(sig.paired_t([0.4]), margin=9) == "cannot tell"
    )


def test_equivalence_is_two_one_sided_tests():
    d = rng(2).normal(0.05, 0.4, 80)
    equivalence = sig.paired_t(d).equivalence
    for margin in (0.05, 0.1, 0.12, 0.13, 0.15, 0.2):
        upper = stats.ttest_1samp(d, margin, alternative="less").pvalue
        lower = stats.ttest_1samp(d, -margin, alternative="greater").pvalue
        assert (max(upper, lower) < 0.05) == (
            -margin < equivalence.low and equivalence.high < margin
        )
        assert (max(upper, lower) < 0.05) == (
            sig.verdict(sig.paired_t(d), margin=margin) == "equivalent"
        )
    assert (equivalence.low, equivalence.high) == pytest.approx(
        (mean_t(d, level=0.9).low, mean_t(d, level=0.9).high)
    )
    assert equivalence.level == 0.9


@pytest.mark.parametrize("side", [1, -1])
def test_few_skewed_differences_are_equivalent_only_within_limits_that_allow_for_the_tail(side):
    d = side * (stats.expon.ppf((np.arange(20) + 0.5) / 20) - 0.9)
    c = flip(d)
    symmetric = flip(np.concatenate([d[:10], -d[:10]]))
    limits = sorted([side * c.equivalence.low, side * c.equivalence.high])
    assert limits[1] > side * d.mean() + 1.2 * (side * d.mean() - limits[0])
    assert (
        symmetric.difference.low
        < symmetric.equivalence.low
        < symmetric.equivalence.high
        < symmetric.difference.high
    )


# Reference values of the data sets


@pytest.mark.parametrize("name", COMPARED)
def test_reference_comparisons(name):
    values, expected = compared(name)
    for measure, rows in expected["pairs"].items():
        tests = []
        for row in rows:
            a = values[row["a"]]
            b = values[row["b"]]
            d = np.array([a[q][measure] - b[q][measure] for q in sorted(a)])
            t = sig.paired_t(d)
            c = flip(d, draws=20_000)
            where = (name, measure, row["a"], row["b"])
            assert t.p_value == pytest.approx(row["p_t"], rel=1e-6, abs=1e-9), where
            assert [t.difference.low, t.difference.high] == pytest.approx(row["ci95"], abs=1e-9), (
                where
            )
            # twice the smaller tail of 20,000 draws; scipy loses the ties of a sum that is 0 but
            # for rounding
            p = row["p_randomisation"] if c.difference.value else 1.0
            assert c.p_value == pytest.approx(
                p, abs=4 * np.sqrt(2 * p * (2 - p) / 20_000) + 1e-4
            ), where
            assert (c.p_value < 0.05) == outside(c), where
            tests.append(t)
        assert [c.adjusted for c in sig.adjust(tests)] == pytest.approx(
            [r["p_holm"] for r in rows], rel=1e-6
        )
        bh = sig.adjust(tests, sig.benjamini_hochberg)
        assert [c.adjusted for c in bh] == pytest.approx([r["p_bh"] for r in rows], rel=1e-6)


def test_correction_is_the_share_of_test_rows():
    d = np.random.default_rng(1).normal(0.01, 0.02, 10)
    plain = paired_t(d)
    corrected = significance.nadeau_bengio(d, train=90, test=10)
    width = plain.difference.high - plain.difference.low
    wider = corrected.difference.high - corrected.difference.low
    assert wider / width == pytest.approx(np.sqrt((1 / 10 + 10 / 90) / (1 / 10)))
    assert corrected.p_value > plain.p_value
    assert corrected.unit == "fold"


def test_figures_of_the_scikit_learn_example():
    # t 2.611 uncorrected, 0.750 corrected over 100 folds of 90 and 10%: their ratio is the
    # correction
    assert np.sqrt(1 + 100 * 10 / 90) == pytest.approx(2.611 / 0.750, abs=0.01)
    d = np.random.default_rng(1).normal(size=100)
    d = (d - d.mean()) / d.std(ddof=1) * 10 + 2.611
    assert paired_t(d).p_value == pytest.approx(0.0104, abs=1e-4)
    assert significance.nadeau_bengio(d, train=90, test=10).p_value == pytest.approx(
        0.4550, abs=1e-3
    )


def test_the_variance_of_few_positives_is_pooled_over_the_folds():
    """Cochran's Q of equal folds: of AUC, the positives' and the negatives' variance, each on one
    degree less.
    """
    from evalkit.catalogue import lookup
    from evalkit.metrics.rows import Rows
    from evalkit.statistics.statistic import RowStatistic, pooled_variances

    rng = np.random.default_rng(5)
    label = np.tile([1] * 4 + [0] * 36, 5)
    score = label + rng.normal(0, 1.5, 200)
    chosen = lookup.find_metric("roc_auc", "counts")
    parts = [
        RowStatistic(chosen, Rows(label, score).take(np.arange(40 * i, 40 * i + 40)))
        for i in range(5)
    ]
    variance, units = pooled_variances([part.influence_by_group() for part in parts])
    placed = [part.effects.influence[part.rows.actual == side] for side in (1, 0) for part in parts]
    pooled = [sum(np.sum((x * x.size) ** 2) for x in side) for side in (placed[:5], placed[5:])]
    assert variance == pytest.approx(np.full(5, pooled[0] / 15 / 4 + pooled[1] / 175 / 36))
    assert units == 20
    naive = np.mean([part.spread.error**2 for part in parts])
    assert variance[0] > 1.1 * naive

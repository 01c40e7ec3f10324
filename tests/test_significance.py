"""Tests of paired differences: duality, traps, families, verdicts, folds that share rows, reference
values.
"""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from samples import COMPARED, compared, outside, rng
from scipy import stats

from evalkit.catalogue import lookup
from evalkit.metrics.rows import Rows
from evalkit.statistics import significance, significance as sig
from evalkit.statistics.intervals import by_unit, mean_t
from evalkit.statistics.signflip import ranges
from evalkit.statistics.significance import paired_t
from evalkit.statistics.statistic import RowStatistic, pooled_variances

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


def family():
    """Three t-tests, which are not in the order of their p-values."""
    return [sig.paired_t(d) for d in ([2.0, -0.5, 1.5, 0.7], DARWIN, [1.0, -1.0, 0.5])]


def test_adjusting_a_family_keeps_its_order_of_p():
    assert [c.p_value for c in sig.adjust(family())] == [c.p_value for c in family()]


def test_a_family_is_adjusted_by_holm():
    expected = sig.holm([c.p_value for c in family()])
    assert [c.adjusted for c in sig.adjust(family())] == expected.tolist()


def test_a_family_without_adjustment_has_its_own_p():
    unadjusted = sig.adjust(family(), sig.unadjusted)
    assert [c.adjusted for c in unadjusted] == [c.p_value for c in family()]


# Verdicts


def test_a_significant_difference_is_better_or_worse_by_its_sign():
    assert sig.verdict(sig.paired_t(DARWIN)) == "better"
    assert sig.verdict(sig.paired_t(np.negative(DARWIN))) == "worse"


def test_a_larger_value_of_a_metric_to_be_low_is_worse():
    assert sig.verdict(sig.paired_t(DARWIN), direction=-1) == "worse"


def test_a_verdict_is_of_the_adjusted_p():
    significant = sig.paired_t(DARWIN)
    first, _ = sig.adjust([significant, significant])
    assert sig.verdict(first) == "cannot tell"


@pytest.mark.parametrize(
    "margin, verdict", [(None, "cannot tell"), (0.001, "cannot tell"), (0.05, "equivalent")]
)
def test_a_small_difference_is_equivalent_within_a_wide_margin(margin, verdict):
    close = flip(rng(1).normal(0, 0.1, 200) - 0.002)
    assert sig.verdict(close, margin=margin) == verdict


def test_five_units_of_one_sign_tell_nothing_by_sign_flips():
    assert sig.verdict(flip(np.ones(5))) == "cannot tell"


def test_one_unit_is_not_even_equivalent():
    assert sig.verdict(sig.paired_t([0.4]), margin=9) == "cannot tell"


DIFFERENCES = rng(2).normal(0.05, 0.4, 80)


@pytest.mark.parametrize("margin", [0.05, 0.1, 0.12, 0.13, 0.15, 0.2])
def test_equivalence_is_two_one_sided_tests(margin):
    upper = stats.ttest_1samp(DIFFERENCES, margin, alternative="less").pvalue
    lower = stats.ttest_1samp(DIFFERENCES, -margin, alternative="greater").pvalue
    both_reject = max(upper, lower) < 0.05
    verdict = sig.verdict(sig.paired_t(DIFFERENCES), margin=margin)
    assert (verdict == "equivalent") == both_reject


def test_the_limits_of_equivalence_are_those_at_twice_the_alpha():
    equivalence = sig.paired_t(DIFFERENCES).equivalence
    expected = mean_t(DIFFERENCES, level=0.9)
    assert equivalence.level == 0.9
    assert (equivalence.low, equivalence.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("sign", [1, -1])
def test_few_skewed_differences_are_equivalent_only_within_limits_that_allow_for_the_tail(sign):
    tail_to_the_right = stats.expon.ppf((np.arange(20) + 0.5) / 20) - 0.9
    equivalence = flip(sign * tail_to_the_right).equivalence
    below, above = equivalence.reach
    towards_tail, away_from_tail = (above, below) if sign == 1 else (below, above)
    assert towards_tail > 1.2 * away_from_tail


def test_few_symmetric_differences_are_equivalent_within_limits_inside_the_interval():
    half = stats.expon.ppf((np.arange(10) + 0.5) / 20) - 0.9
    c = flip(np.concatenate([half, -half]))
    assert c.difference.low < c.equivalence.low < c.equivalence.high < c.difference.high


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


def test_the_interval_over_folds_is_wider_by_the_share_of_test_rows():
    d = np.random.default_rng(1).normal(0.01, 0.02, 10)
    plain = paired_t(d)
    corrected = significance.nadeau_bengio(d, train=90, test=10)
    expected = np.sqrt((1 / 10 + 10 / 90) / (1 / 10))
    assert corrected.half_width / plain.half_width == pytest.approx(expected)


def test_figures_of_the_scikit_learn_example():
    """Over 100 folds of 90 and 10 % t is 2.611 uncorrected, and 0.750 corrected."""
    d = np.random.default_rng(1).normal(size=100)
    d = (d - d.mean()) / d.std(ddof=1) * 10 + 2.611  # with t = 2.611
    corrected = significance.nadeau_bengio(d, train=90, test=10)
    assert paired_t(d).p_value == pytest.approx(0.0104, abs=1e-4)
    assert corrected.p_value == pytest.approx(0.4550, abs=1e-3)


FOLDS = 5
POSITIVES = 4
NEGATIVES = 36


def areas_of_folds():
    """The ROC AUC of each of 5 folds with 4 positives and 36 negatives."""
    label = np.tile([1] * POSITIVES + [0] * NEGATIVES, FOLDS)
    score = label + np.random.default_rng(5).normal(0, 1.5, label.size)
    rows = Rows(label, score)
    row_numbers = np.split(np.arange(label.size), FOLDS)
    auc = lookup.find_metric("roc_auc", "counts")
    return [RowStatistic(auc, rows.take(numbers)) for numbers in row_numbers]


def pooled_row_variance(areas, label):
    """The variance of n · influence of a row with this label, from all folds, n the rows with this
    label in a fold; each fold costs one degree of freedom.
    """
    deviations = [area.effects.influence[area.rows.actual == label] for area in areas]
    n = deviations[0].size
    return sum(np.sum((n * deviation) ** 2) for deviation in deviations) / (FOLDS * (n - 1))


def test_the_variance_of_the_area_is_pooled_over_the_folds_by_class():
    areas = areas_of_folds()
    pooled = pooled_variances([area.influence_by_group() for area in areas])
    expected = pooled_row_variance(areas, label=1) / POSITIVES
    expected += pooled_row_variance(areas, label=0) / NEGATIVES
    assert pooled.variance == pytest.approx(np.full(FOLDS, expected))


def test_the_fewest_units_of_pooled_folds_are_the_positives_of_all():
    pooled = pooled_variances([area.influence_by_group() for area in areas_of_folds()])
    assert pooled.fewest_units == FOLDS * POSITIVES


def test_the_pooled_variance_of_few_positives_is_above_that_of_single_folds():
    areas = areas_of_folds()
    pooled = pooled_variances([area.influence_by_group() for area in areas])
    of_single_folds = np.mean([area.spread.error**2 for area in areas])
    assert pooled.variance[0] > 1.1 * of_single_folds

"""Tests of paired differences: agreement with intervals, clusters, families, verdicts, folds that
share rows, reference values.
"""

from itertools import chain
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from samples import COMPARED, compared, excludes_0, rng
from scipy import stats

from evalkit.catalogue import lookup
from evalkit.metrics.rows import Rows
from evalkit.statistics import significance, significance as sig
from evalkit.statistics.intervals import by_unit, mean_t
from evalkit.statistics.signflip import null_mean_ranges
from evalkit.statistics.significance import paired_t
from evalkit.statistics.statistic import RowStatistic, pooled_variances

DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def flip(differences, sizes=None, *, seed=0, **keywords):
    """The sign-flip test of differences of units (sums, where units have sizes), by few draws."""
    return sig.sign_flip(differences, sizes, rng=rng(seed), **{"draws": 2000, **keywords})


# Published figures and methods --------------------------------------------------------------------


def test_darwins_plants_differ_by_t():
    """Fisher 1935, The Design of Experiments: p = 0.0497."""
    t = sig.paired_t(DARWIN)
    assert t.p_value == pytest.approx(0.0497029, abs=5e-8)
    assert excludes_0(t)


def test_darwins_plants_do_not_differ_by_all_sign_vectors():
    """Fisher 1935: 1726 of 2^15 sign vectors are as extreme."""
    exact = flip(DARWIN)
    assert exact.p_value == 1726 / 32768
    assert not excludes_0(exact)


def test_an_exact_p_of_many_units_is_near_the_t_test():
    differences = np.repeat(DARWIN, 3)
    exact = flip(differences)
    assert exact.method == "sign flip, exact by Fourier transform"
    assert exact.p_value == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, rel=0.3)


@pytest.mark.parametrize(
    "differences, method",
    [
        (rng().normal(size=20), "sign flip, exact enumeration"),
        (rng().normal(size=33), "sign flip, 2,048 Walsh–Hadamard draws"),
        (rng().integers(-1, 2, 50), "sign flip, exact binomial"),
    ],
)
def test_a_sign_flip_names_its_method(differences, method):
    assert flip(differences).method == method


# Test and interval agree --------------------------------------------------------------------------


def differences():
    """Strategy: up to 40 differences, on a lattice, of few values, rounded, or mostly above 0."""
    lattice = st.integers(-4, 4).map(lambda i: i / 4)
    ties = st.sampled_from([0.0, 0.3, -0.3, 0.1, 0.2])
    real = st.floats(-1, 1, allow_nan=False).map(lambda x: round(x, 6))
    shifted = st.floats(-0.2, 1, allow_nan=False)
    kinds = st.sampled_from([lattice, ties, real, shifted])
    return kinds.flatmap(lambda kind: st.lists(kind, min_size=1, max_size=40))


@given(differences(), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
@settings(max_examples=300, deadline=None)
def test_a_sign_flip_rejects_exactly_where_its_interval_excludes_0(d, level):
    comparison = flip(d, level=level, draws=500)
    assert (comparison.p_value < round(1 - level, 12)) == excludes_0(comparison)


@given(differences().filter(lambda d: len(set(d)) > 1), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
@settings(max_examples=300, deadline=None)
def test_a_t_test_rejects_exactly_where_its_interval_excludes_0(d, level):
    comparison = sig.paired_t(d, level=level)
    assert (comparison.p_value < round(1 - level, 12)) == excludes_0(comparison)


@given(differences())
@settings(max_examples=100, deadline=None)
def test_a_p_of_sign_flips_lies_above_0_and_up_to_1(d):
    assert 0 < flip(d, draws=500).p_value <= 1


@given(differences())
@settings(max_examples=100, deadline=None)
def test_both_intervals_of_a_sign_flip_hold_the_difference(d):
    comparison = flip(d, draws=500)
    value = comparison.difference.value
    assert comparison.difference.low <= value <= comparison.difference.high
    assert comparison.equivalence.low <= value <= comparison.equivalence.high


def wins_and_losses(wins):
    """The differences of a system that wins on so many units, loses on 23 and ties on 40: exactly
    significant from 40 wins.
    """
    return np.repeat([1.0, -1.0, 0.0], [wins, 23, 40])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("wins", [39, 40])
def test_an_interval_of_draws_excludes_0_exactly_where_the_exact_p_rejects(wins, sign):
    comparisons = [flip(sign * wins_and_losses(wins), seed=i, draws=300) for i in range(40)]
    assert {excludes_0(comparison) for comparison in comparisons} == {wins == 40}


@pytest.mark.parametrize("wins", [39, 40])
def test_the_draws_alone_would_reject_with_some_seeds(wins):
    """Without this the test above would not show anything."""
    d = wins_and_losses(wins)
    drawn = [null_mean_ranges(d, np.ones(d.size), rng=rng(seed), draws=300) for seed in range(40)]
    assert {draws.share() < 0.05 for draws in drawn} == {True, False}


def test_the_same_seed_gives_the_same_comparison():
    d = rng().normal(size=50)
    assert flip(d, seed=1) == flip(d, seed=1)


def test_another_seed_gives_other_drawn_limits():
    d = rng().normal(size=50)
    assert flip(d, seed=1).difference != flip(d, seed=2).difference


@pytest.mark.parametrize("seed", range(20))
def test_a_bootstrap_rejects_where_its_interval_excludes_0(seed):
    """But for p within 0.002 of 0.05, as quantiles are interpolated between replicates."""
    d = rng(seed).normal(0.28, 1, 50)
    comparison = sig.paired_bootstrap(d, rng=rng(seed), resamples=2000)
    if abs(comparison.p_value - 0.05) > 0.002:
        assert (comparison.p_value < 0.05) == excludes_0(comparison)


# Clusters and ratios ------------------------------------------------------------------------------


def test_clusters_of_one_row_are_tested_as_rows():
    d = rng(1).normal(0.3, 1, 40)
    assert flip(d, np.ones(40)) == flip(d)
    assert flip(*by_unit(d, np.arange(40))) == flip(d)


@pytest.fixture(scope="module")
def values_and_units():
    """200 values, and the number of the unit of each, of 30."""
    return rng(2).normal(0.2, 1, 200), rng(3).integers(0, 30, 200)


def test_a_test_of_clusters_is_about_the_mean_of_all_rows(values_and_units):
    values, unit = values_and_units
    assert flip(*by_unit(values, unit)).difference.value == pytest.approx(values.mean())


def test_a_test_of_clusters_counts_the_clusters(values_and_units):
    assert flip(*by_unit(*values_and_units)).difference.n == 30


def test_repeating_the_rows_of_each_cluster_changes_nothing(values_and_units):
    values, unit = values_and_units
    once = flip(*by_unit(values, unit))
    repeated = flip(*by_unit(np.tile(values, 4), np.tile(unit, 4)))
    assert repeated.p_value == pytest.approx(once.p_value, rel=1e-12)
    assert repeated.difference.low == pytest.approx(once.difference.low)


def test_a_bootstrap_of_units_with_two_equal_rows_is_that_of_single_rows():
    d = rng(4).gamma(1, 1, 60) - 1
    single = sig.paired_bootstrap(d, rng=rng(5), resamples=500)
    double = sig.paired_bootstrap(2 * d, np.full(60, 2), rng=rng(5), resamples=500)
    assert double.p_value == pytest.approx(single.p_value, rel=1e-9)


# Families -----------------------------------------------------------------------------------------


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


# Verdicts -----------------------------------------------------------------------------------------


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
def test_equivalence_of_few_skewed_differences_needs_a_wider_margin_towards_their_tail(sign):
    quantiles_of_exponential = stats.expon.ppf((np.arange(20) + 0.5) / 20)
    below, above = flip(sign * (quantiles_of_exponential - 0.9)).equivalence.reach
    towards_tail, away_from_tail = (above, below) if sign == 1 else (below, above)
    assert towards_tail > 1.2 * away_from_tail


def test_limits_of_equivalence_of_few_symmetric_differences_lie_inside_the_interval():
    half = stats.expon.ppf((np.arange(10) + 0.5) / 20) - 0.9
    comparison = flip(np.concatenate([half, -half]))
    assert comparison.difference.low < comparison.equivalence.low
    assert comparison.equivalence.high < comparison.difference.high


# Reference values of public tools -----------------------------------------------------------------


class Pair(NamedTuple):
    """Two systems on a public data set by one measure."""

    differences: np.ndarray  # one per query
    expected: dict  # p-values and limits that public tools computed


@pytest.fixture(scope="module", params=COMPARED)
def families(request):
    """All pairs of systems of a data set, a list for each measure."""
    values, expected = compared(request.param)
    return [
        [Pair(differences_by_query(values, row, measure), row) for row in rows]
        for measure, rows in expected["pairs"].items()
    ]


def differences_by_query(values, row, measure):
    a = values[row["a"]]
    b = values[row["b"]]
    return np.array([a[query][measure] - b[query][measure] for query in sorted(a)])


def test_t_tests_equal_the_reference(families):
    for pair in chain.from_iterable(families):
        t = sig.paired_t(pair.differences)
        assert t.p_value == pytest.approx(pair.expected["p_t"], rel=1e-6, abs=1e-9)
        limits = [t.difference.low, t.difference.high]
        assert limits == pytest.approx(pair.expected["ci95"], abs=1e-9)


def test_sign_flips_are_within_the_error_of_the_references_20_000_draws(families):
    """Both double the smaller tail of as many draws, p / 2. Where the difference is 0 but for
    rounding the reference loses ties, and p is 1.
    """
    for pair in chain.from_iterable(families):
        comparison = flip(pair.differences, draws=20_000)
        p = pair.expected["p_randomisation"] if comparison.difference.value else 1.0
        error = 2 * np.sqrt(2 * p / 2 * (1 - p / 2) / 20_000)
        assert comparison.p_value == pytest.approx(p, abs=4 * error + 1e-4)


@pytest.mark.parametrize(
    "adjustment, column", [(sig.holm, "p_holm"), (sig.benjamini_hochberg, "p_bh")]
)
def test_adjusted_p_values_equal_the_reference(families, adjustment, column):
    for family in families:
        tests = sig.adjust([sig.paired_t(pair.differences) for pair in family], adjustment)
        expected = [pair.expected[column] for pair in family]
        assert [test.adjusted for test in tests] == pytest.approx(expected, rel=1e-6)


# Folds that share training rows -------------------------------------------------------------------


def test_the_interval_over_folds_is_wider_by_the_share_of_test_rows():
    """Nadeau and Bengio 2003: the variance of the mean of 10 folds is s² (1/10 + test / train)."""
    d = np.random.default_rng(1).normal(0.01, 0.02, 10)
    corrected = significance.nadeau_bengio(d, train=90, test=10)
    expected = np.sqrt((1 / 10 + 10 / 90) / (1 / 10))
    assert corrected.half_width / paired_t(d).half_width == pytest.approx(expected)


def test_the_corrected_t_test_has_the_figures_of_the_scikit_learn_example():
    """Over 100 folds of 90 and 10 % t is 2.611 uncorrected, and 0.750 corrected: p = 0.455."""
    standardised = stats.zscore(np.random.default_rng(1).normal(size=100), ddof=1)
    t_of_100 = 2.611
    d = standardised + t_of_100 / np.sqrt(100)
    corrected = significance.nadeau_bengio(d, train=90, test=10)
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

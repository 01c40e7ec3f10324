"""One-sided questions: tails against scipy, p and interval, what follows, what is refused, and the
words of the page.
"""

import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from matplotlib.figure import Figure
from scipy import stats
from whole_pages import results

import evalkit as ek
from evalkit import __main__ as command
from evalkit.arrays import ParameterError
from evalkit.drawing import plots
from evalkit.pages import diff_page, first_screen, page, significance_page, validation_page
from evalkit.statistics import independent, max_t, multiplicity, proportions, signflip
from evalkit.statistics.alternatives import Alternative, Tails
from evalkit.statistics.significance import (
    DifferenceByT,
    nadeau_bengio,
    paired_bootstrap,
    paired_t,
    rejected,
    sign_flip,
)
from evalkit.studies import diagnostics, paired

SIDES = (Alternative.GREATER, Alternative.LESS)
LEVEL = 0.95
# between two systems, of eight units; their mean is 2.1 / 8 = 0.2625
EIGHT_DIFFERENCES = [0.4, -0.1, 0.3, 0.9, 0.2, 0.2, -0.3, 0.5]


def rng():
    return np.random.default_rng(1)


def one_sided_form(compare, side, level=LEVEL):
    """The one-sided comparison at a level, made from the two-sided one, whose limit is the same at
    2 · level − 1. compare: a function from a level to the two-sided comparison.
    """
    return compare(side.two_sided_level(level)).answering(side, level=level)


# The tails ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_t_test_and_its_interval_equal_scipys(side, sign):
    """The paired t-test of eight differences, made one-sided (`side` is "greater" or "less"), has
    the p and the 95% interval of scipy's one-sided t-test. With `sign` −1 all differences are
    negated, so that each side is tested with an observed mean above and below 0.
    """
    values = sign * np.array(EIGHT_DIFFERENCES)
    expected = stats.ttest_1samp(values, 0, alternative=side.value)
    comparison = one_sided_form(lambda level: paired_t(values, level=level), side)
    assert comparison.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    limits = expected.confidence_interval(LEVEL)
    assert comparison.difference.low == pytest.approx(limits.low)
    assert comparison.difference.high == pytest.approx(limits.high)


DIFFERENCES_TO_FLIP = {
    "enumerated": EIGHT_DIFFERENCES,
    "all above": [0.1, 0.2, 0.4],
    "one amount": [1, 1, 1, -1, 1, 1, 0],
    "the sum is 0": [1, 2, -3],
    "with zeros": [0, 0, 0.5, 1, -0.25],
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("values", DIFFERENCES_TO_FLIP.values(), ids=DIFFERENCES_TO_FLIP)
def test_sign_flips_equal_scipys_permutations(values, sign, side):
    """The sign-flip test of a few differences (`values`, negated if `sign` is −1), made one-sided,
    has the p of scipy's permutation test of paired samples. Both enumerate all sign vectors, so
    that p is the same up to rounding; n_resamples=np.inf asks scipy to do so.

    `one_sided_form` takes a function that makes the two-sided comparison at a level: for a 95%
    one-sided interval it calls it with 90%, whose limit is the same. The level matters to the
    interval alone, not to p, which is all that is compared here.
    """
    differences = sign * np.array(values, float)
    expected = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        alternative=side.value,
        n_resamples=np.inf,
    )
    comparison = one_sided_form(lambda level: sign_flip(differences, rng=rng(), level=level), side)
    assert comparison.p_value == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("sign", [1, -1])
def test_sign_flips_of_many_whole_numbers_have_the_exact_tails_of_their_sum(side, sign):
    """The one-sided p of the sign-flip test of 40 whole numbers is exact: the probability, under
    random signs, of a sum at least as far to the side that counts as the observed one. The test
    computes it here by convolution: each difference adds plus or minus its size with probability
    1/2.
    """
    differences = sign * rng().integers(-3, 5, 40)
    largest_sum = np.abs(differences).sum()
    probability = np.zeros(2 * largest_sum + 1)  # of the sums from −largest_sum to largest_sum
    probability[largest_sum] = 1.0  # before the first difference the sum is 0
    for size in np.abs(differences):
        probability = (np.roll(probability, size) + np.roll(probability, -size)) / 2
    sums = np.arange(-largest_sum, largest_sum + 1)
    # evidence: the sum itself if an increase counts, minus the sum if a decrease does
    as_extreme = side.evidence(sums) >= side.evidence(differences.sum())
    comparison = one_sided_form(lambda level: sign_flip(differences, rng=rng(), level=level), side)
    # 2^40 sign vectors are too many to enumerate: the test finds the distribution of their sums
    assert "Fourier" in comparison.method
    assert comparison.p_value == pytest.approx(probability[as_extreme].sum(), rel=1e-9)


EIGHT_DIFFERENCES_WITHOUT_TIES = np.array(EIGHT_DIFFERENCES) + np.arange(8) / 1000


@pytest.mark.parametrize("side", SIDES)
def test_wilcoxon_of_few_units_equals_scipys_exact_test(side):
    """Eight differences without ties or zeros have an exact null distribution of Wilcoxon's
    signed-rank test. The one-sided p (`side` is "greater" or "less") must be scipy's.
    """
    expected = stats.wilcoxon(
        EIGHT_DIFFERENCES_WITHOUT_TIES, alternative=side.value, method="exact"
    ).pvalue
    assert multiplicity.wilcoxon(EIGHT_DIFFERENCES_WITHOUT_TIES, side) == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_wilcoxon_of_many_units_equals_scipys(side):
    """For 60 differences, more than 50, scipy takes the normal approximation of Wilcoxon's
    signed-rank test; the one-sided p (`side` is "greater" or "less") must be the same.
    """
    differences = rng().normal(0.1, 1, 60)
    expected = stats.wilcoxon(differences, alternative=side.value).pvalue
    assert multiplicity.wilcoxon(differences, side) == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_the_sign_test_equals_scipys_binomial_test(side):
    """The sign test of eight differences, made one-sided, is the binomial test of the number of
    positive ones with a probability of 1/2.
    """
    wins = int((EIGHT_DIFFERENCES_WITHOUT_TIES > 0).sum())
    expected = stats.binomtest(wins, EIGHT_DIFFERENCES_WITHOUT_TIES.size, 0.5, side.value).pvalue
    comparison = proportions.sign_test(EIGHT_DIFFERENCES_WITHOUT_TIES).answering(side, level=LEVEL)
    assert comparison.p_value == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_the_studentised_permutation_has_the_tails_of_all_permutations(side):
    """Two independent samples of four values have only 70 permutations, 8 choose 4, so that the
    test enumerates them. `one_sided_form` makes the two-sided test, `compare`, answer the question
    of one `side`. Its p must be that of scipy's Welch test over all permutations.
    """
    first = np.array([1.0, 2, 9, 30])
    second = np.array([0.5, 1.5, 1, 2.2])
    expected = stats.ttest_ind(
        first,
        second,
        equal_var=False,
        alternative=side.value,
        method=stats.PermutationMethod(n_resamples=np.inf),
    )

    def compare(level):
        return independent.studentised(first, second, rng=rng(), level=level)

    assert one_sided_form(compare, side).p_value == pytest.approx(expected.pvalue)


# p and interval -----------------------------------------------------------------------------------


# quarters, so that ties, zeros and sums of 0 are frequent
LISTS_OF_QUARTERS = st.lists(st.integers(-6, 9).map(lambda k: k / 4), min_size=3, max_size=14)


def of_values(test):
    return lambda values, level: test(np.array(values, float), level)


# by name, functions from differences and a level to the two-sided comparison
TWO_SIDED_TESTS = {
    "paired t": of_values(lambda d, level: paired_t(d, level=level)),
    "sign flips": of_values(lambda d, level: sign_flip(d, rng=rng(), level=level)),
    "sign flips, mid-p": of_values(
        lambda d, level: sign_flip(d, rng=rng(), level=level, mid_p=True)
    ),
    "folds": of_values(lambda d, level: nadeau_bengio(d, train=9, test=1, level=level)),
    "McNemar": of_values(
        lambda d, level: proportions.mcnemar_asymptotic(
            int((d > 0).sum()), int((d < 0).sum()), d.size, level=level
        )
    ),
    "score": of_values(
        lambda d, level: proportions.two_proportions(
            int((d > 0).sum()), d.size, int((d > 0.5).sum()), d.size + 3, level=level
        )
    ),
    "binomial": of_values(
        lambda d, level: proportions.binomial_test(int((d > 0).sum()), d.size, level=level)
    ),
    "Welch t": of_values(
        lambda d, level: independent.difference(
            independent.arm_of_mean(d), independent.arm_of_mean(d[::2] - 0.5), level=level
        )
    ),
    "permuted": of_values(
        lambda d, level: independent.studentised(
            np.append(d, 30.0), d[::2] - 0.5, rng=rng(), level=level
        )
    ),
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("two_sided_test", TWO_SIDED_TESTS.values(), ids=TWO_SIDED_TESTS)
@given(values=LISTS_OF_QUARTERS, level=st.sampled_from([0.8, 0.9, 0.95, 0.99]))
@settings(max_examples=25, deadline=None)
def test_p_is_below_alpha_exactly_where_the_interval_excludes_0(
    two_sided_test, side, values, level
):
    """Each of nine tests, from the paired t-test to permutations, is made one-sided at a random
    level and applied to random multiples of 1/4, of which many are tied or 0. Its interval is open
    on the side that does not count, except [0, 0] where no unit differs. Where p is undefined, so
    is the interval.
    """

    def compare(two_sided_level):
        return two_sided_test(values, two_sided_level)

    comparison = one_sided_form(compare, side, level)
    difference = comparison.difference
    if np.isnan(comparison.p_value):
        assert np.isnan(difference.low)
        return
    assert difference.low <= difference.value <= difference.high
    excludes_0 = difference.low > 0 or difference.high < 0
    assert rejected(comparison.p_value, level) == excludes_0
    open_limit = difference.high if side is Alternative.GREATER else difference.low
    no_unit_differs = difference.low == difference.high == 0
    assert np.isinf(open_limit) or no_unit_differs


@pytest.mark.parametrize("side", SIDES)
def test_the_bootstrap_excludes_0_where_p_is_below_alpha(side):
    """The one-sided bootstrap test of 24 differences rejects exactly where its 95% interval
    excludes 0. The mean difference, 0.2625, is shifted in 15 steps from clearly below 0 to clearly
    above, so that p passes alpha, 5 %, in between.
    """
    differences = np.array(EIGHT_DIFFERENCES * 3)  # each three times, which keeps the mean
    for shift in np.linspace(-0.5, 0.2, 15):

        def compare(level, shift=shift):
            return paired_bootstrap(differences + shift, rng=rng(), level=level, resamples=999)

        comparison = one_sided_form(compare, side)
        excludes_0 = comparison.difference.low > 0 or comparison.difference.high < 0
        assert rejected(comparison.p_value, LEVEL) == excludes_0


def test_a_one_sided_interval_has_the_limit_at_alpha():
    """A difference of 1 with a standard error of 0.5 is compared by z, "greater". The only limit of
    its 95% interval is the 5% quantile, not the 2.5% quantile of a two-sided interval; `freedom` is
    infinite, so that n has no influence.
    """
    difference = DifferenceByT(value=1.0, error=0.5, n=99, freedom=np.inf, method="z")
    comparison = one_sided_form(
        lambda level: difference.comparison(level=level, unit="row"), Alternative.GREATER
    )
    assert comparison.difference.low == pytest.approx(1 - 0.5 * stats.norm.ppf(0.95))
    assert comparison.difference.level == LEVEL


@pytest.mark.parametrize("side", SIDES)
def test_differences_that_are_all_0_have_p_1_on_both_sides(side):
    zeros = [0.0, 0.0]
    by_flips = one_sided_form(lambda level: sign_flip(zeros, rng=rng(), level=level), side)
    by_t = one_sided_form(lambda level: paired_t(zeros, level=level), side)
    assert (by_flips.p_value, by_t.p_value) == (1, 1)


# Families -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [0.3, -0.3])
@pytest.mark.parametrize("side", SIDES)
def test_max_t_of_few_units_counts_every_sign_vector(side, mean):
    """Step-down max-T (Westfall and Young) adjusts the p of 3 comparisons of 6 units. The p of a
    comparison is the share of all 2^6 sign vectors under which the largest statistic, of it and the
    less extreme comparisons, is at least its own; the adjusted p is never below that of a more
    extreme comparison.
    """
    differences = rng().normal(mean, 1, (6, 3))
    norm = np.sqrt((differences**2).sum(axis=0))
    # the binary digits of 0 to 63 as signs, 1 for the digit 0 and −1 for 1
    signs = 1.0 - 2.0 * (np.arange(2**6)[:, None] >> np.arange(6) & 1)
    permuted = side.evidence(signs @ differences / norm)
    observed = side.evidence(differences.sum(axis=0) / norm)
    most_extreme_first = np.argsort(-observed)
    expected = np.empty(3)
    adjusted_p = 0.0
    for place, comparison in enumerate(most_extreme_first):
        largest = permuted[:, most_extreme_first[place:]].max(axis=1)
        p = np.mean(largest >= observed[comparison] - 1e-9)  # 1e-9 for rounding
        adjusted_p = max(adjusted_p, p)
        expected[comparison] = adjusted_p
    assert max_t.max_t(differences, rng=rng(), alternative=side) == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_max_t_of_one_comparison_is_its_p(side):
    """Max-T adjusts the p-values of several comparisons. With one alone there is nothing to adjust:
    it must be the one-sided p of the sign-flip test. Both are shares of random sign vectors, with
    standard errors of about 0.003: they agree within 0.01. Where only sums are known, normal draws
    take the place of signs, an approximation with 60 units: they agree within 0.02.
    """
    one_column = rng().normal(0.2, 1, (60, 1))  # 60 units, one comparison
    differences = one_column[:, 0]
    p = one_sided_form(lambda level: sign_flip(differences, rng=rng(), level=level), side).p_value
    by_signs = max_t.max_t(one_column, rng=rng(), alternative=side)
    assert by_signs[0] == pytest.approx(p, abs=0.01)
    total = one_column.sum(axis=0)
    products = one_column.T @ one_column
    by_sums = max_t.max_t_of_sums(total, products, rng=rng(), alternative=side)
    assert by_sums[0] == pytest.approx(p, abs=0.02)


# Studies ------------------------------------------------------------------------------------------


def values_around_old(n=40, gap=0.3):
    """Values of n queries: those of "new" lie gap above "old" on average, those of "bad" as far
    below.
    """
    base = rng().normal(0.5, 0.1, n)
    noise = np.random.default_rng(2).normal(0, 0.4, (2, n))
    return pd.DataFrame(
        {
            "query": [f"q{i}" for i in range(n)],
            "old": base,
            "new": base + gap + noise[0],
            "bad": base - gap + noise[1],
        }
    )


def new_and_bad_against_old(side="two-sided", **options):
    """The study of two systems, new 0.3 above and bad 0.3 below the baseline old, all clearly."""
    options = {"baseline": "old", "lower_is_better": "none", "metrics": "quality"} | options
    return ek.significance(values_around_old(), alternative=side, **options)


def verdicts(study):
    return dict(zip(study.comparisons["first"], study.comparisons["verdict"], strict=True))


def test_only_the_direction_that_counts_has_a_verdict():
    """System new is clearly above the baseline old, and bad clearly below it. A one-sided study,
    where only an increase ("greater") or only a decrease ("less") counts, says "cannot tell" of a
    difference in the other direction.
    """
    assert verdicts(new_and_bad_against_old()) == {"new": "better", "bad": "worse"}
    assert verdicts(new_and_bad_against_old("greater")) == {"new": "better", "bad": "cannot tell"}
    assert verdicts(new_and_bad_against_old("less")) == {"new": "cannot tell", "bad": "worse"}


def test_where_lower_is_better_an_increase_is_worse():
    """System new is clearly above the baseline old, and bad clearly below it; lower values are
    better, and only an increase counts. So new is worse, and nothing can be told of bad, whose
    decrease does not count.
    """
    assert verdicts(new_and_bad_against_old("greater", lower_is_better="quality")) == {
        "new": "worse",
        "bad": "cannot tell",
    }


@pytest.mark.parametrize(
    "sentence",
    [
        "the data do not show that bad is above it. Only an increase counts.",
        "one-sided; ",
        "Better: adjusted p below 0.05. Only an increase counts (alternative: greater)",
        "the interval of a difference has no upper limit",
    ],
)
def test_the_verdict_says_that_only_an_increase_counts(sentence):
    assert sentence in first_screen.verdict(new_and_bad_against_old("greater")).text


def test_no_system_is_worse_where_only_an_increase_counts():
    """System bad is clearly below the baseline, but only an increase counts."""
    assert "worse than" not in first_screen.verdict(new_and_bad_against_old("greater")).text


@pytest.mark.parametrize("sentence", ["Only a decrease counts", "no lower limit"])
def test_the_verdict_says_that_only_a_decrease_counts(sentence):
    assert sentence in first_screen.verdict(new_and_bad_against_old("less")).text


def test_a_one_sided_question_changes_no_estimate():
    """The values of the systems, unlike their differences, keep their two-sided intervals."""
    pd.testing.assert_frame_equal(
        new_and_bad_against_old("greater").estimates, new_and_bad_against_old().estimates
    )


def test_detectable_differences_are_those_of_a_two_sided_test_at_twice_alpha():
    """As the critical value of one side at 5 % is that of two sides at 10 %."""
    one_sided = new_and_bad_against_old("greater").comparisons["detectable"]
    two_sided = new_and_bad_against_old(alpha=0.1).comparisons["detectable"]
    assert one_sided.to_numpy() == pytest.approx(two_sided.to_numpy())


def test_a_one_sided_question_changes_no_interval_of_equivalence():
    limits = ["equivalence_low", "equivalence_high"]
    one_sided = new_and_bad_against_old("greater").comparisons[limits]
    pd.testing.assert_frame_equal(one_sided, new_and_bad_against_old().comparisons[limits])


def test_max_t_is_one_sided():
    """System new is clearly above the baseline old, and bad clearly below it, where only an
    increase counts. The adjusted p of new is small, and that of bad close to 1, where a two-sided p
    would be small as well.
    """
    p = new_and_bad_against_old("greater").comparisons.set_index("first")["max_t"]
    assert p["new"] < 0.05
    assert p["bad"] > 0.9


def test_the_other_tests_are_one_sided():
    """System new is clearly above the baseline old, and bad clearly below it, where only an
    increase counts. By each other test with a one-sided form the p of new is small, and that of bad
    close to 1, where a two-sided p would be small as well.
    """
    tests = paired.other_tests(new_and_bad_against_old("greater")).set_index("first")
    with_one_sided_form = ["t", "bootstrap", "wilcoxon", "sign"]
    assert (tests.loc["new", with_one_sided_form].astype(float) < 0.05).all()
    assert (tests.loc["bad", with_one_sided_form].astype(float) > 0.9).all()


def test_tests_without_a_one_sided_form_are_left_out():
    """Tukey's test and the mean ranks of the systems only have a two-sided form."""
    study = new_and_bad_against_old("greater")
    assert paired.other_tests(study)["tukey"].isna().all()
    assert paired.mean_ranks(study) is None


def test_p_of_the_mean_difference_at_the_limit_of_the_interval_is_alpha():
    """The limit of a 95% interval is the hypothesis that is just not rejected at 5 %; p is of
    random sign vectors.
    """
    study = new_and_bad_against_old("greater")
    row = study.headline.iloc[0]
    assert study.p_of_null_means(np.array([row["low"]]))[0] == pytest.approx(0.05, abs=0.005)


def predictions(n=120):
    """The scores of a good, an old and a poor system for n rows of two classes."""
    label = rng().integers(0, 2, n)
    noise = np.random.default_rng(3).normal(0, 0.25, (3, n))
    frame = {"id": np.arange(n).astype(str), "label": label}
    scores = {"good": 0.45, "old": 0.3, "poor": 0.1}
    for (name, gain), wobble in zip(scores.items(), noise, strict=True):
        frame[f"score_{name}"] = np.clip(0.5 + gain * (label - 0.5) + wobble, 0, 1)
    return pd.DataFrame(frame)


def forecasts(n=80):
    """The forecasts a and b of n values, where b has the larger errors."""
    actual = rng().normal(10, 2, n)
    noise = np.random.default_rng(4).normal(0, 1, (2, n))
    frame = {"id": np.arange(n).astype(str), "actual": actual}
    return pd.DataFrame(frame | {"pred_a": actual + noise[0], "pred_b": actual + 1.3 * noise[1]})


def users_spending_more_in_b(n=400):
    """Users of the arms A and B, who spend 1 and 1.5 on average."""
    arm = np.where(np.arange(n) % 2, "B", "A")
    spent = rng().exponential(1.0, n) * np.where(arm == "B", 1.5, 1.0)
    orders = (rng().random(n) < 0.4).astype(int)
    frame = {"user": np.arange(n).astype(str), "arm": arm, "spent": spent, "orders": orders}
    return pd.DataFrame(frame | {"visits": 1 + np.arange(n) % 3})


# by report, functions from the alternative to a study
STUDIES = {
    "classification": lambda side: ek.classification(
        predictions(),
        baseline="old",
        metrics="accuracy,roc_auc,log_loss,f1,precision,brier,mcc,average_precision,ks",
        alternative=side,
    ),
    "rating": lambda side: ek.rating(
        forecasts(),
        baseline="b",
        metrics="mae,rmse,wape,r2,median_absolute_error",
        alternative=side,
    ),
    "ranking": lambda side: ek.ranking(
        alternative=side, baseline="pixel_cosine", metrics="ndcg@10,map,precision@5"
    ),
    "users": lambda side: ek.interleaving(
        users=users_spending_more_in_b(),
        metrics="spent,orders,spent/visits",
        world="none",
        alternative=side,
    ),
    "log": lambda side: ek.interleaving(
        log="data/interleaving/sessions.parquet",
        neutral="both",
        baseline="current",
        world="none",
        alternative=side,
    ),
    "validation": lambda side: ek.validation(
        predictions().assign(fold=np.arange(120) % 5),
        metrics="roc_auc,accuracy",
        alternative=side,
    ),
}


@cache
def comparisons_of(report, alternative):
    return STUDIES[report](alternative).comparisons


@pytest.mark.parametrize("report", STUDIES)
def test_the_p_of_both_sides_add_up_to_1_or_more(report):
    """In each comparison of a report the p of "greater" and the p of "less" are the two tails of
    one distribution, which cover it. Their sum is more than 1 where the observed difference itself
    has a probability: each tail contains it.
    """
    greater = comparisons_of(report, "greater")
    less = comparisons_of(report, "less")
    assert list(greater["first"]) == list(less["first"])
    p_of_both_sides = (greater["p"] + less["p"]).dropna()
    assert len(p_of_both_sides)
    assert p_of_both_sides.between(1 - 1e-9, 2).all()  # 1e-9 for rounding


@pytest.mark.parametrize("report", STUDIES)
def test_p_is_below_5_percent_where_the_95_percent_limit_of_a_report_excludes_0(report):
    greater = comparisons_of(report, "greater").dropna(subset=["p", "low"])
    assert ((greater["p"] < 0.05) == (greater["low"] > 0)).all()
    less = comparisons_of(report, "less").dropna(subset=["p", "high"])
    assert ((less["p"] < 0.05) == (less["high"] < 0)).all()


@pytest.mark.parametrize("report", STUDIES)
def test_where_only_an_increase_counts_no_decrease_has_a_verdict(report):
    """An increase is worse in a loss, and only higher in a metric of unknown direction."""
    rows = comparisons_of(report, "greater")
    assert set(rows["verdict"]) <= {"better", "worse", "cannot tell", "higher"}
    decided = rows[rows["verdict"] != "cannot tell"]
    assert (decided["difference"] > 0).all()


def test_a_lift_has_one_limit():
    """An A/B test where only an increase counts. The interval of a lift is open above, like that of
    the difference; its lower limit is above 0 exactly where p is below 5 %.
    """
    rows = comparisons_of("users", "greater")
    assert rows["lift_high"].eq(np.inf).all()
    assert ((rows["lift_low"] > 0) == (rows["p"] < 0.05)).all()


def users_with_losses(b_minus_a, n=2000):
    """Users whose profits are −2 on average in arm A, and this much more in arm B."""
    arm = np.where(np.arange(n) % 2, "B", "A")
    profit = rng().normal(-2, 1, n) + b_minus_a * (arm == "B")
    return pd.DataFrame({"user": np.arange(n).astype(str), "arm": arm, "profit": profit})


def profit_of_b_against_a(users, side):
    study = ek.interleaving(
        users=users, metrics="profit", baseline="A", world="none", alternative=side
    )
    return study.comparisons.iloc[0]


def test_over_a_negative_baseline_the_lift_of_a_significant_increase_is_below_0():
    """The lift is the difference over −2, so its upper limit is the one that counts."""
    row = profit_of_b_against_a(users_with_losses(b_minus_a=0.5), "greater")
    assert row["p"] < 0.001
    assert row["lift_low"] == -np.inf
    assert row["lift"] <= row["lift_high"] < 0


def test_over_a_negative_baseline_the_lift_of_a_significant_decrease_is_above_0():
    """The lift is the difference over −2, so its lower limit is the one that counts."""
    row = profit_of_b_against_a(users_with_losses(b_minus_a=-0.5), "less")
    assert row["p"] < 0.001
    assert row["lift_high"] == np.inf
    assert 0 < row["lift_low"] <= row["lift"]


@pytest.mark.parametrize("side", SIDES)
def test_over_a_negative_baseline_lift_and_p_agree_without_a_difference(side):
    """In 20 A/B tests the 60 users of both arms have profits around −1, without a true difference.
    The lift is the difference over the negative mean of A, so that its sign is the opposite one.
    Its one-sided interval must exclude 0 exactly where p is below 5 %.
    """
    for seed in range(20):
        profit = np.random.default_rng(seed).normal(-1, 1, 60)
        users = pd.DataFrame({"user": range(60), "arm": ["A", "B"] * 30, "profit": profit})
        row = profit_of_b_against_a(users, side.value)
        excludes_0 = row["lift_low"] > 0 or row["lift_high"] < 0
        assert excludes_0 == (row["p"] < 0.05)


@pytest.mark.parametrize("side", ["greater", "less"])
def test_a_lift_with_one_limit_stands_in_the_verdict(side):
    """The lift is the difference in percent of the mean of the baseline A. Users of B spend about
    1.5 and those of A 1; where only a decrease counts ("less"), they spend 2.5 and 3. One limit of
    the one-sided lift is infinite; the verdict must still say the lift, "(59% more)" or "(18%
    less)".
    """
    table = users_spending_more_in_b()
    if side == "less":
        table["spent"] = 4 - table["spent"]
    study = ek.interleaving(
        users=table, metrics="spent", baseline="A", world="none", alternative=side
    )
    verdict = first_screen.verdict(study.users).text
    lift = study.comparisons.iloc[0]["lift"]
    word = "more" if side == "greater" else "less"
    assert re.search(rf"\({abs(100 * lift):.0f}[.0-9]*% {word}\)", verdict)


def test_the_limit_that_does_not_count_is_infinite_for_a_bounded_metric():
    """A limit at the end of the range would give the interval a width that is no precision."""
    rows = comparisons_of("classification", "greater")
    assert rows["high"].eq(np.inf).all()


def new_and_a_copy_of_old(side):
    """The study of the systems new and copy against old."""
    table = values_around_old().drop(columns="bad")
    table["copy"] = table["old"]
    return ek.significance(
        table, baseline="old", lower_is_better="none", metrics="quality", alternative=side.value
    )


@pytest.mark.parametrize("side", SIDES)
def test_identical_systems_do_not_differ(side):
    """The system `copy` has the values of the baseline old, unit by unit. Its one-sided interval is
    [0, 0] and its p is 1, whichever side counts, and the page says that it does not differ.
    """
    study = new_and_a_copy_of_old(side)
    row = study.comparisons.set_index("first").loc["copy"]
    assert (row["low"], row["high"], row["p"]) == (0, 0, 1)
    assert diagnostics.verdict_of(row) == diagnostics.NO_DIFFERENCE
    assert "copy does not differ from it" in first_screen.verdict(study).text


@pytest.mark.parametrize("side", SIDES)
def test_identical_systems_have_p_1_by_each_other_test_that_is_defined(side):
    """The system `copy` has the values of the baseline old, unit by unit. Where a test without any
    difference is undefined, its p is missing; the t-test must have one.
    """
    tests = paired.other_tests(new_and_a_copy_of_old(side)).set_index("first").loc["copy"]
    assert tests["t"] == 1.0
    assert tests[["bootstrap", "wilcoxon", "sign"]].dropna().eq(1.0).all()


def test_identical_rankings_have_p_1_by_t():
    """Systems a and b rank the same three items in the same order for each of 12 queries, so that
    nDCG@3 does not differ in any. The t statistic is then 0 / 0; the one-sided p of the t-test, the
    column `p_t`, is defined as 1.
    """
    judged = pd.DataFrame(
        {
            "query": np.repeat([f"q{i}" for i in range(12)], 3),
            "item": np.tile(["x", "y", "z"], 12),
            "grade": rng().integers(0, 2, 36),
        }
    )
    same_ranks = np.tile([1, 2, 3], 12)
    table = judged.assign(rank_a=same_ranks, rank_b=same_ranks)
    study = ek.ranking(table, baseline="b", metrics="ndcg@3", alternative="greater")
    assert study.comparisons["p_t"].tolist() == [1.0]


def test_the_systems_of_a_part_without_the_baseline_are_compared_two_sided():
    """In the study, `new` and `bad` are compared one-sided with the baseline `old`; `study.part`
    keeps some of the systems. A one-sided question is asked of the baseline alone. Without `old`
    the pair new − bad, which differs clearly, is therefore compared two-sided.
    """
    study = new_and_bad_against_old("greater")
    assert study.part(systems="new").question_of_tests == "two-sided"
    without_old = study.part(systems=["new", "bad"])
    assert without_old.question_of_tests == "two-sided"
    assert without_old.comparisons["verdict"].tolist() == ["better"]
    assert study.part(systems=["new", "old"]).question_of_tests == "greater"


def two_equally_good_scores(seed, n=2500):
    """Labels, the scores of the systems a and b, which are equally good, and five folds."""
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, n)
    scores = {f"score_{name}": label + random.normal(0, 1.5, n) for name in "ab"}
    frame = pd.DataFrame({"id": np.arange(n).astype(str), "label": label, "fold": np.arange(n) % 5})
    return frame.assign(**{name: 1 / (1 + np.exp(-x)) for name, x in scores.items()})


def test_the_leader_is_compared_with_the_runner_up_two_sided_and_with_the_baseline_one_sided():
    """Which of a and b leads is chosen from the data, so that a leader above the runner-up is no
    evidence: their row must be that of a two-sided study. The baseline, a constant prediction, is
    named beforehand: "greater" holds for it, and its interval has no upper limit. The table
    `paired` has p and limits over the folds (p, p_naive, high) and over the pooled rows (p_pooled,
    pooled_low, pooled_high).
    """
    table = two_equally_good_scores(seed=1)
    two_sided = ek.validation(table, metrics="roc_auc").paired.set_index("second")
    study = ek.validation(table, metrics="roc_auc", alternative="greater")
    greater = study.paired.set_index("second")  # the leader against each other system
    leader = study.evaluated_system
    (runner_up,) = {"a", "b"} - {leader}
    columns = ["p", "p_naive", "p_pooled", "pooled_low", "pooled_high", "high", "method"]
    pd.testing.assert_series_equal(
        greater.loc[runner_up, columns], two_sided.loc[runner_up, columns]
    )
    assert greater.loc[study.baseline, "method"].endswith(", greater")
    assert greater.loc[study.baseline, "pooled_high"] == np.inf


def test_the_page_names_the_side_of_each_comparison_of_the_leader():
    """Systems a and b are equally good; the one that happens to lead is compared two-sided with the
    other, the runner-up, and one-sided ("greater") with the baseline. The page names the method of
    both comparisons, and the side of the second.
    """
    study = ek.validation(two_equally_good_scores(seed=1), metrics="roc_auc", alternative="greater")
    leader = study.evaluated_system
    (runner_up,) = {"a", "b"} - {leader}
    method = study.paired.set_index("second").loc[runner_up, "method"]
    text = validation_page.paired(study).html
    assert f"{method} against {runner_up}" in text
    assert f"{method}, greater against {study.baseline}" in text


def axes_drawn_by(draw, *data, **options):
    """The axes on which a drawing function draws."""
    return draw(*data, Figure().subplots(), **options)


@pytest.mark.parametrize("side", Alternative)
@pytest.mark.parametrize("gap", [0.12, -0.12])
def test_the_red_bars_of_the_null_distribution_add_up_to_p(side, gap):
    """The figure is a histogram of the mean difference under 16,384 random sign vectors; red are
    those at least as extreme as the observed mean, about ±0.12 (`gap`). Their share estimates p
    with a standard error of at most √(0.25 / 16384) = 0.004; 0.02 is five of them. A two-sided test
    has a second line, at the opposite of the observed mean.
    """
    new_and_old = values_around_old(gap=gap).drop(columns="bad")
    study = ek.significance(new_and_old, baseline="old", metrics="quality", alternative=side.value)
    row = study.headline.iloc[0]
    ax = axes_drawn_by(
        plots.null_distribution,
        study.null_draws(),
        observed=row["difference"],
        alternative=side,
        xlabel="x",
        ylabel="y",
    )
    _grey_bars, red_bars = ax.containers
    assert sum(bar.get_height() for bar in red_bars) == pytest.approx(row["p"], abs=0.02)
    labels_of_lines = {line.get_label() for line in ax.lines}
    assert "observed" in labels_of_lines
    assert ("opposite" in labels_of_lines) is not side.one_sided


@pytest.mark.parametrize(
    ("side", "phrase"),
    [
        ("two-sided", "Red: at least as far from 0 as observed, +0"),
        ("greater", "Red: at least as large as observed, +0"),
        ("less", "Red: at most as large as observed, +0"),
    ],
)
def test_the_caption_of_the_null_distribution_names_the_tail(side, phrase):
    frame = values_around_old(gap=0.12).drop(columns="bad")
    study = ek.significance(frame, baseline="old", metrics="quality", alternative=side)
    assert phrase in significance_page.null_distribution(study).caption


@pytest.mark.parametrize("side", Alternative)
def test_the_dot_of_the_p_value_function_lies_on_its_curve(side, monkeypatch):
    """The figure shows the p of each hypothetical mean difference as a curve, with a dot at the
    observed difference. Against the hypothesis that the difference is the observed one, p is 1 if
    two-sided, and 1/2 if one-sided. The p are shares of thousands of random sign vectors, with
    standard errors of up to 0.006: 0.02 allows for three of them, and 0.03 for the curve's too.

    The page passes the place of the dot to the drawing, which is replaced by a function that keeps
    the options of the call; the last lines then draw the figure with them and look for the dot.
    """
    study = new_and_bad_against_old(side.value)
    options_of_figure = {}
    monkeypatch.setattr(
        significance_page.figures,
        "figure_drawn_by",
        lambda *data, **options: options_of_figure.update(options),
    )
    significance_page.duality(study)  # instead of drawing, fills options_of_figure
    curve = study.p_curve()
    p_of_observed = options_of_figure["p_of_observed"]
    p_on_curve = np.interp(options_of_figure["observed"], curve["mean"], curve["p"])
    assert p_of_observed == pytest.approx(p_on_curve, abs=0.03)
    assert p_of_observed == pytest.approx(0.5 if side.one_sided else 1.0, abs=0.02)
    options = {
        name: options_of_figure[name] for name in ("observed", "p_of_observed", "alpha", "limits")
    }
    ax = axes_drawn_by(plots.draw_p_value_curve, curve, sided=side.value, label="x", **options)
    (dot,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert dot.get_ydata() == [p_of_observed]


def how_it_was_tested(study):
    text = first_screen.verdict(study).text
    return text[text.index("How this was tested") :]


METRICS_OF_BOTH_DIRECTIONS = {"metrics": "accuracy,log_loss", "baseline": "old"}


def test_the_words_of_metrics_of_both_directions_are_named():
    """An increase is better in accuracy and worse in log loss."""
    study = ek.classification(predictions(), alternative="greater", **METRICS_OF_BOTH_DIRECTIONS)
    assert "Better or worse: adjusted p below 0.05." in how_it_was_tested(study)
    study = ek.classification(predictions(), alternative="less", **METRICS_OF_BOTH_DIRECTIONS)
    assert "Worse or better: adjusted p below 0.05." in how_it_was_tested(study)


@pytest.mark.parametrize(("side", "word"), [("greater", "Higher"), ("less", "Lower")])
def test_the_page_says_higher_or_lower_where_no_direction_is_known_to_be_better(side, word):
    """An A/B test of the column `spent`, whose name does not say whether more is better. The
    section "How this was tested" then calls a significant difference higher (if only an increase
    counts, "greater") or lower ("less"), where it would otherwise say better or worse. It adds what
    a difference to the other side is called: "neither higher nor lower".
    """
    study = ek.interleaving(
        users=users_spending_more_in_b(),
        metrics="spent",
        baseline="A",
        world="none",
        alternative=side,
    )
    text = how_it_was_tested(study.users)
    assert f"{word}: adjusted p below 0.05." in text
    assert "is called neither higher nor lower" in text


@pytest.mark.parametrize(
    ("side", "words"), [("two-sided", "better or worse"), ("greater", "better"), ("less", "worse")]
)
def test_alpha_names_the_verdicts_that_exist(side, words):
    text = how_it_was_tested(new_and_bad_against_old(side, alpha=0.1))
    assert f"an interval can contain 0 where the verdict says {words}, or exclude" in text


def test_the_page_names_the_tests_as_one_or_two_sided():
    assert (
        "paired differences, one-sided (greater): " in new_and_bad_against_old("greater").tests_text
    )
    assert "paired differences, two-sided: " in new_and_bad_against_old().tests_text


@pytest.mark.parametrize(
    ("side", "sides"),
    [
        ("two-sided", {"← second better", "first better →"}),
        ("greater", {"first better →"}),
        ("less", {"← second better"}),
    ],
)
def test_a_forest_names_the_side_that_can_be_shown(side, sides):
    study = new_and_bad_against_old(side)
    frame = pd.DataFrame({"name": ["a − b"], "value": [0.1], "low": [0.0], "high": [0.2]})
    ax = axes_drawn_by(plots.intervals, frame, label="x", zero=True, sides=page.sides_of(study))
    assert {text.get_text() for text in ax.texts} == sides


@pytest.mark.parametrize("side", SIDES)
def test_no_number_of_units_shows_a_difference_that_does_not_count(side):
    """The study says how many units it needs for a power of 80 % or 90 %, for the observed
    difference, half of it, and the margin. The observed new − old is above 0. Where only a decrease
    counts, no sample size has this power for a difference above 0: the cells are NaN. The margin is
    taken with the sign that counts.
    """
    new_and_old = values_around_old(gap=0.1).drop(columns="bad")
    study = ek.significance(
        new_and_old, baseline="old", metrics="quality", margin=0.1, alternative=side.value
    )
    assert study.headline.iloc[0]["difference"] > 0
    units_needed = paired.needed(study).set_index("which")[["n_80", "n_90"]]
    of_observed = units_needed.loc[["as large as observed", "half of it"]]
    if side is Alternative.GREATER:
        assert of_observed.notna().all(axis=None)
    else:
        assert of_observed.isna().all(axis=None)
    assert units_needed.loc["the margin"].notna().all()


# Files, gates, diffs ------------------------------------------------------------------------------


def test_a_rule_follows_the_question():
    """System new is clearly above the baseline old, and bad clearly below it. Where only an
    increase counts, nothing is told of bad, so that "better" fails for it, and holds for new. Where
    only a decrease counts, new is not worse.
    """
    with pytest.raises(AssertionError, match="better of bad: cannot tell"):
        new_and_bad_against_old("greater").check("better of bad")
    new_and_bad_against_old("greater").check("better of new")
    new_and_bad_against_old("greater").check("not worse within 0.1 of new")
    new_and_bad_against_old("less").check("not worse of new")


@pytest.mark.parametrize(
    ("side", "rule", "says"),
    [
        ("greater", "not worse", "can never fail"),
        ("less", "better", "can never be kept"),
        ("less", "not worse within 0.1", "can never be kept"),
    ],
)
def test_a_rule_that_says_nothing_is_refused(side, rule, says):
    with pytest.raises(ParameterError, match=f"{says} with alternative={side}"):
        new_and_bad_against_old(side, gate=rule)


POLICY = """
on_cannot_tell = "{otherwise}"
[[rule]]
that = "{rule}"
"""


def policy_file(folder, rule, otherwise):
    path = folder / "policy.toml"
    path.write_text(POLICY.format(otherwise=otherwise, rule=rule))
    return str(path)


@pytest.mark.parametrize(
    ("side", "rule", "otherwise"),
    [
        ("greater", "better", "fail"),
        ("less", "better", "pass"),
        ("less", "not worse within 0.1", "pass"),
    ],
)
def test_a_rule_that_can_be_kept_and_fail_is_taken(tmp_path, side, rule, otherwise):
    """A one-sided verdict is one of two, such as "better" or "cannot tell" if only an increase
    counts. The policy says what "cannot tell" means: the rule is kept by one, and fails by the
    other.
    """
    assert (
        new_and_bad_against_old(side, gate=policy_file(tmp_path, rule, otherwise)).gate is not None
    )


@pytest.mark.parametrize(
    ("side", "rule", "otherwise", "says"),
    [
        ("greater", "better", "pass", "can never fail"),
        ("greater", "not worse within 0.1", "pass", "can never fail"),
        ("greater", "not worse", "fail", "can never fail"),
        ("less", "not worse within 0.1", "fail", "can never be kept"),
    ],
)
def test_a_rule_of_a_policy_that_can_only_be_kept_or_only_fail_is_refused(
    tmp_path, side, rule, otherwise, says
):
    with pytest.raises(ParameterError, match=f"{says} with alternative={side}"):
        new_and_bad_against_old(side, gate=policy_file(tmp_path, rule, otherwise))


def test_better_or_equivalent_can_be_kept_by_equivalence_alone():
    """Where only a decrease counts, no system can be "better". The rule is accepted nevertheless,
    as a system may be equivalent within the margin.
    """
    assert new_and_bad_against_old("less", gate="better or equivalent", margin=0.1).gate is not None


def test_a_one_sided_rule_catches_what_a_two_sided_one_catches_at_90_percent():
    """The rule "not worse within 0.2" is kept if the lower limit of the difference is above −0.2.
    The lower limit of the one-sided 95% interval is that of the two-sided 90% interval. So a
    one-sided study at 95 % and a two-sided one at 90 % must agree in the result, in the smallest
    regression that the rule fails with 80 % probability (`catches`), and in the number of units
    needed to catch one of 0.2 (`units_needed`).
    """
    rule = "not worse within 0.2 of new"
    one_sided = new_and_bad_against_old("greater", gate=rule).gate.statements.iloc[0]
    at_90 = new_and_bad_against_old(gate=rule, level=0.9).gate.statements.iloc[0]
    assert one_sided["result"] == at_90["result"] == "pass"
    assert one_sided["catches"] == pytest.approx(at_90["catches"])
    assert one_sided["units_needed"] == at_90["units_needed"]


def stored_report(folder, *, gap=0.3, **options):
    """The path of a report's JSON, beside which its units are stored."""
    asked = {"baseline": "old", "lower_is_better": "none", "metrics": "quality"}
    study = ek.significance(values_around_old(gap=gap), **asked | options)
    folder.mkdir()
    path = folder / "significance.json"
    path.write_text(json.dumps(results(study)))
    study.write_units(path.with_suffix(".units.parquet"))
    return path


@pytest.fixture(scope="module")
def one_sided_reports(tmp_path_factory):
    """The paths of an old and a new report of new and bad against old, where only an increase
    counts; new is 0.2 above old in the old report, 0.3 in the new one.
    """
    folder = tmp_path_factory.mktemp("reports")
    return (
        stored_report(folder / "before", gap=0.2, alternative="greater"),
        stored_report(folder / "after", alternative="greater"),
    )


def test_the_json_of_a_one_sided_report_has_no_upper_limit(one_sided_reports):
    _, path = one_sided_reports
    row = json.loads(path.read_text())["headline"][0]
    assert row["high"] is None
    assert row["method"].endswith(", greater")


def test_a_stored_one_sided_report_is_checked_one_sided(one_sided_reports, capsys):
    _, path = one_sided_reports
    assert command.main(["check", str(path), "better of new"]) == 0
    assert "∞]" in capsys.readouterr().out
    assert command.main(["check", str(path), "better of bad"]) == 3


def test_the_summary_of_a_stored_one_sided_report_says_what_counts(one_sided_reports, capsys):
    _, path = one_sided_reports
    assert command.main(["summary", str(path), "--markdown"]) == 0
    assert "Only an increase counts." in capsys.readouterr().out


def test_a_diff_can_be_one_sided(one_sided_reports):
    """Its systems are called after their report: "new bad" is the system bad of the new report."""
    paths = [str(path) for path in one_sided_reports]
    rows = ek.diff(*paths, alternative="greater").comparisons.set_index("first")
    assert rows.loc[["new new", "new bad"], "high"].eq(np.inf).all()
    assert ((rows["p"] < 0.05) == (rows["low"] > 0)).dropna().all()


@pytest.fixture(scope="module")
def two_sided_reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_sided")
    return stored_report(folder / "before", gap=0.2), stored_report(folder / "after")


NOT_ASKED = (
    "In both reports only an increase counts (alternative: greater); this diff is two-sided."
)


def test_a_two_sided_diff_of_one_sided_reports_says_so(one_sided_reports, two_sided_reports):
    """But neither a one-sided diff of them nor a diff of two-sided reports."""
    paths = [*map(str, one_sided_reports)]
    assert NOT_ASKED in diff_page.verdict(ek.diff(*paths)).text
    assert "In both reports" not in diff_page.verdict(ek.diff(*paths, alternative="greater")).text
    assert "In both reports" not in diff_page.verdict(ek.diff(*map(str, two_sided_reports))).text


@pytest.mark.usefixtures("undrawn")
def test_a_stored_validation_report_is_judged_against_its_baseline(tmp_path, capsys):
    """The command `report` writes a one-sided validation report of the equally good systems a and b
    and the baseline, the majority class. The command `check` reads it. The rule "better of a" must
    be kept, exit code 0: a is compared with the baseline, a constant prediction, and not with b.
    """
    path = tmp_path / "scores.csv"
    two_equally_good_scores(seed=1).to_csv(path, index=False)
    parameters = ["-p", "preds", str(path), "-p", "metrics", "roc_auc"]
    parameters += ["-p", "alternative", "greater"]
    folder = str(tmp_path / "report")
    assert command.main(["report", "validation", *parameters, "-o", folder]) == 0
    capsys.readouterr()
    assert command.main(["check", f"{folder}/validation.json", "better of a"]) == 0
    assert "a − majority" in capsys.readouterr().out


@pytest.mark.usefixtures("undrawn")
def test_a_stored_report_on_shares_is_judged_against_the_null_share(tmp_path, capsys):
    """The command `report` compares shares of successes with the null share 0.5, one-sided, and the
    command `check` reads its report. 70 of 100 are significantly more than half (binomial p <
    0.001): exit code 0. 55 of 100 are not (p = 0.18): exit code 3, a rule that is not kept.
    """
    path = tmp_path / "trials.csv"
    trials = {"system": ["a", "b"], "successes": [70, 55], "trials": [100, 100]}
    pd.DataFrame(trials).to_csv(path, index=False)
    parameters = ["-p", "preds", str(path), "-p", "null", "0.5", "-p", "alternative", "greater"]
    folder = str(tmp_path / "report")
    assert command.main(["report", "significance", *parameters, "-o", folder]) == 0
    capsys.readouterr()
    assert command.main(["check", f"{folder}/significance.json", "better of a"]) == 0
    assert "a − null 0.5" in capsys.readouterr().out
    assert command.main(["check", f"{folder}/significance.json", "better of b"]) == 3


# Refusals -----------------------------------------------------------------------------------------


def test_a_one_sided_question_without_a_baseline_is_refused():
    with pytest.raises(ParameterError, match="alternative: 'greater' needs a baseline"):
        ek.significance(values_around_old(), metrics="quality", alternative="greater")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"looks": 3}, "'greater' and looks=3 cannot be combined"),
        ({"level": 0.75}, "must lie between 0.75 and 1, got 0.75"),
        ({"alpha": 0.25}, "must lie between 0.75 and 1, got 0.75"),
    ],
)
def test_what_has_no_one_sided_form_is_refused(options, says):
    with pytest.raises(ParameterError, match=says):
        new_and_bad_against_old("greater", **options)


def test_interim_analyses_of_users_are_refused():
    with pytest.raises(ParameterError, match="looks=5 cannot be combined"):
        ek.interleaving(
            users=users_spending_more_in_b(), metrics="spent", looks=5, alternative="less"
        )


def test_tails_of_an_unknown_p_are_unknown():
    assert np.isnan(Tails.from_two_sided_p(np.nan, 0.0)).all()
    assert np.isnan(Tails.from_two_sided_p(np.nan, 1.0)).all()


def test_symmetric_tails_add_up_to_1_and_what_they_share():
    """From a two-sided p of 0.3 and a positive difference, the upper tail is 0.3 / 2 and the lower
    tail 1 − 0.15. `overlap` is the probability of the observed difference, which both tails
    contain. A difference of 0 has equal tails.
    """
    assert Tails.from_two_sided_p(0.3, 1.0) == (0.85, 0.15)
    assert sum(Tails.from_two_sided_p(0.5, -1.0, overlap=0.125)) == pytest.approx(1.125)
    assert Tails.from_two_sided_p(1.0, 0.0) == (0.5, 0.5)


def test_a_mid_p_shares_the_datas_own_signs_alone():
    """All four differences are positive, so that only one of 2⁴ sign vectors gives a sum as large
    as the observed one. Its probability, 1/16, is the overlap of both tails. The mid-p counts half
    of it (HALF), which does not change the overlap.
    """
    p, _, overlap = signflip.exact_p(np.array([0.5, 0.5, 1.0, 1.5]), signflip.HALF)
    assert overlap == 2.0**-4
    assert 0 < p < 1


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_the_limit_that_does_not_count_makes_no_slice_too_small(alternative):
    """A slice has too few units to be tested if a limit of its difference that counts is infinite.
    The other limit of a one-sided interval is infinite in every slice, which does not make it
    untestable.
    """
    study = ek.classification(alternative=alternative, baseline="logistic")
    assert diagnostics.untestable_slices(study) == []

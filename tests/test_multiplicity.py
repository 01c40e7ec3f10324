"""Families of tests: Holm, looks, joint sign flips of all pairs of systems, and intervals of
ranks.
"""

from contextlib import contextmanager
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from samples import rng
from scipy import stats

from evalkit.arrays import InputError
from evalkit.statistics import (
    interim,
    max_t,
    multiplicity,
    multiplicity as mult,
    signflip,
)
from evalkit.statistics.max_t import ColumnPairs
from evalkit.studies import ranking
from evalkit.studies.diagnostics import rank_tiers

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)
BY_HOLM_AND_BY_BENJAMINI_HOCHBERG = pytest.mark.parametrize(
    "adjust", [mult.holm, mult.benjamini_hochberg]
)


@BY_HOLM_AND_BY_BENJAMINI_HOCHBERG
@given(p=P_VALUES)
def test_adjusted_p_values_lie_between_p_and_1(adjust, p):
    """`adjust` is Holm's or Benjamini and Hochberg's correction."""
    adjusted = adjust(p)
    assert np.all(adjusted >= np.array(p) - 1e-15)
    assert np.all(adjusted <= 1)


@BY_HOLM_AND_BY_BENJAMINI_HOCHBERG
@given(p=P_VALUES)
def test_adjusted_p_values_have_the_order_of_p(adjust, p):
    """`adjust` is Holm's or Benjamini and Hochberg's correction."""
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjust(p)[order]) >= 0)


@given(P_VALUES)
def test_holm_is_no_smaller_than_benjamini_hochberg(p):
    assert np.all(mult.holm(p) >= mult.benjamini_hochberg(p) - 1e-12)


@given(P_VALUES)
def test_benjamini_hochberg_equals_scipy(p):
    assert mult.benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


def test_max_t_does_not_depend_on_the_order_of_units_that_tie_in_the_last_columns():
    """60 units have four columns of differences. Before signs are drawn, the units are sorted by
    the last column, ties by the column before, and so on, so that their order in the input does not
    change the p-values. Here all units tie in the last column, and 30 and 30 in the third.
    """
    normal = rng(1).normal(size=(60, 2))
    one_or_two = np.resize([1.0, 2.0], 60)
    columns = np.column_stack([normal, one_or_two, np.ones(60)])
    in_another_order = columns[rng(2).permutation(60)]
    p = mult.max_t(columns, rng=rng(3), draws=1000)
    p_in_another_order = mult.max_t(in_another_order, rng=rng(3), draws=1000)
    assert p.tolist() == p_in_another_order.tolist()


def test_units_are_sorted_by_the_last_column_first():
    """The order of 60 units is that of numpy's `lexsort`, which sorts by the last column, ties by
    the one before, and so on. All units tie in the last of four columns, 30 and 30 in the third.
    """
    normal = rng(1).normal(size=(60, 2))
    columns = np.column_stack([normal, np.resize([1.0, 2.0], 60), np.ones(60)])
    order = max_t._unit_order(ColumnPairs.from_differences(columns))
    assert order.tolist() == np.lexsort(columns.T).tolist()


def test_max_t_of_sums_of_systems_that_add_up_equals_that_of_the_differences():
    """`max_t_of_sums` takes the sums of five columns of differences and of their products, and
    draws normal numbers with their correlations; `max_t` flips the signs of 2,000 units. With
    100,000 draws each, p has a standard error of at most 0.0016, so that both agree within 0.01.
    The columns are combinations of two, so that three eigenvalues of the correlations are 0, or
    below 0 by rounding.
    """
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.03, 1, (2, 2000))
    d = np.column_stack([a, b, a - b, a + b, 3 * a - b])
    p_of_sums = mult.max_t_of_sums(d.sum(axis=0), d.T @ d, rng=np.random.default_rng(1))
    p_of_differences = mult.max_t(d, rng=np.random.default_rng(1))
    np.testing.assert_allclose(p_of_sums, p_of_differences, atol=0.01)


def counts_of_extreme_draws(columns, observed, draws):
    """The result of `max_t.count_extreme` for columns of differences, with their sums as
    statistics, by the seed 1: in how many draws each is exceeded, and how many draws there were.
    """
    pairs = ColumnPairs.from_differences(columns)
    norm = np.ones(len(observed))
    return max_t.count_extreme(pairs, norm, observed, rng=rng(1), draws=draws)


def test_columns_that_are_compared_some_at_a_time_have_the_counts_of_all_at_once():
    """For step-down max-T, the signs of 5,000 units are drawn 1,000 times. For each of 600 columns
    of differences d it is counted (`extreme`) in how many draws |Σ ± d| of this column or of a
    later one is at least the observed |Σ d| of this column. `max_t` compares at most
    `COMPARED_AT_ONCE` of these 600 · 1,000 sums at a time, and so goes through the columns in
    several steps. The counts must be those of all sums at once, by the same seed, 1.
    """
    columns = rng(3).normal(size=(5000, 600))
    observed = np.sort(np.abs(columns.sum(axis=0)))[::-1]  # the most extreme first
    counted = counts_of_extreme_draws(columns, observed, draws=1000)
    assert 600 * counted.draws > max_t.COMPARED_AT_ONCE
    sums = np.abs(signflip.joint_draws(columns, rng=rng(1), draws=1000))  # (columns, draws)
    largest_of_this_and_later_columns = np.maximum.accumulate(sums[::-1], axis=0)[::-1]
    expected = np.sum(largest_of_this_and_later_columns >= observed[:, None], axis=1)
    assert counted.extreme.tolist() == expected.tolist()


def p_from_all_draws_of_all_columns(columns, draws):
    """The p of each column by Westfall and Young's step-down: from a matrix of every draw of every
    column.
    """
    columns = columns[np.lexsort(columns.T)]
    n, m = columns.shape
    scaled = columns / np.sqrt(np.sum(columns**2, axis=0))
    observed = (
        np.abs(scaled.sum(axis=0)) * (1 - signflip.SUM_TIE_TOLERANCE) - signflip.SUM_TIE_TOLERANCE
    )
    order = np.argsort(-observed, kind="stable")
    if n > signflip.MAX_ENUMERATED_UNITS:
        sums = np.abs(signflip.joint_draws(scaled[:, order], rng=rng(7), draws=draws))
    else:
        signs = np.array(list(product((1, -1), repeat=n)))[1 : 2 ** (n - 1)]
        sums = np.abs(signs @ scaled[:, order]).T
    p = np.empty(m)
    largest = 0.0
    for place in range(m):
        later = sums[place:].max(axis=0)
        largest = max(largest, (1 + np.sum(later >= observed[order[place]])) / (1 + sums.shape[1]))
        p[order[place]] = largest
    return p


def all_pairs_of_columns(table):
    """The numbers of the first and of the second column of each pair."""
    return np.array(list(combinations(range(table.shape[1]), 2))).T


TABLES_OF_SYSTEMS = {
    "correlated systems": rng(1).normal(size=(300, 6)) + rng(2).normal(size=(300, 1)),
    "tied units, draws tied with the data": rng(3).normal(size=(60, 5)).round(1),
    "zeros and ones": (rng(4).random((45, 4)) < 0.5) * 1.0,
    "few units, all sign vectors": rng(5).normal(size=(12, 4)),
    "one pair": rng(6).normal(size=(30, 2)),
}


@pytest.mark.parametrize("table", TABLES_OF_SYSTEMS.values(), ids=TABLES_OF_SYSTEMS)
def test_pairs_have_the_p_of_the_matrix_of_their_differences(table):
    """A table has a row for each unit and a column for each system; all pairs of systems are
    compared by max-T with sign flips, drawn at random or, for few units, all of them. `adjusted` is
    the fast form: it flips the signs of the systems' values and takes differences of their sums.
    `max_t` flips the signs of the differences of the pairs. With the same seed both have the same
    p-values, and so has Westfall and Young's definition, computed from a matrix of all draws of all
    differences.
    """
    first, second = all_pairs_of_columns(table)
    pairs = ColumnPairs.from_table(table, first, second)
    differences = table[:, first] - table[:, second]
    p = max_t.adjusted(pairs, rng=rng(7), draws=20_000)
    assert p.tolist() == max_t.max_t(differences, rng=rng(7), draws=20_000).tolist()
    expected = p_from_all_draws_of_all_columns(differences, draws=20_000)  # by the same seed
    np.testing.assert_allclose(p, expected, rtol=1e-12)


def test_close_and_equal_systems_have_the_p_of_their_differences():
    """Eight systems have values on 200 units: four random ones, and four that are made from these.
    For speed `adjusted` flips the signs of the values of each system once, and takes the
    differences of the sums of two systems. From all values it first subtracts the mean of the
    unit's systems. For some pairs the sums would have too large a rounding error: the systems are
    equal, or agree to nine digits, or, as here all but the one far from 0, are close together and
    far from the mean that this one moves; so is a system with values near 0. For such pairs
    `adjusted` flips the signs of their differences. All p-values must be those of `max_t`, which
    flips the signs of all differences.
    """
    systems = rng(8).normal(size=(200, 4))
    first_system, second_system, third_system, fourth_system = systems.T
    almost_second = second_system + 1e-9 * rng(9).normal(size=200)
    far_from_0 = third_system + 1e6
    near_0 = fourth_system * 1e-8
    table = np.column_stack([systems, first_system, almost_second, far_from_0, near_0])
    pairs = ColumnPairs.from_table(table, *all_pairs_of_columns(table))
    differences = table[:, pairs.first] - table[:, pairs.second]
    expected = max_t.max_t(differences, rng=rng(1), draws=5_000)
    assert max_t.adjusted(pairs, rng=rng(1), draws=5_000).tolist() == expected.tolist()


def test_equal_systems_have_the_p_1():
    """All differences of two equal systems are 0, so that every draw is as extreme as the data."""
    values = rng(8).normal(size=200)
    table = np.column_stack([values, values])
    pairs = ColumnPairs.from_table(table, np.array([0]), np.array([1]))
    assert max_t.adjusted(pairs, rng=rng(1), draws=5_000).tolist() == [1]


def test_pairs_of_two_metrics_and_of_units_with_several_rows_are_adjusted_together():
    """A table has 60 units of four rows each, and six columns: the values of three systems by a
    first metric, and by a second metric whose values are 100,000 times as large. The three pairs of
    systems are compared by each metric, after the rows of each unit are added up. `adjusted` flips
    the signs of the systems' values and takes differences of their sums. Its p-values are those of
    `max_t`, which flips the signs of the differences of the six pairs.
    """
    unit = np.arange(240) // 4
    table = rng(10).normal(size=(240, 6)).round(2)
    table[:, 3:] *= 1e5
    metric_of_column = np.array([0, 0, 0, 1, 1, 1])
    first = np.array([0, 0, 1, 3, 3, 4])  # the first and the second column of each of six pairs
    second = np.array([1, 2, 2, 4, 5, 5])

    def sums_of_units(columns):
        return pd.DataFrame(columns).groupby(unit).sum().to_numpy()

    pairs = ColumnPairs.from_table(
        table, first, second, metric=metric_of_column, add_up=sums_of_units
    )
    differences = sums_of_units(table[:, first] - table[:, second])
    expected = max_t.max_t(differences, rng=rng(1), draws=5_000)
    assert max_t.adjusted(pairs, rng=rng(1), draws=5_000).tolist() == expected.tolist()
    # `adjusted` flips the differences themselves of pairs of nearly equal systems: there are none
    norm_of_difference = np.sqrt((differences**2).sum(axis=0))
    norm_of_system = np.sqrt((pairs.values**2).sum(axis=0))
    norm_of_nearly_equal = max_t.CLOSE_SHARE * norm_of_system[first]
    assert (norm_of_difference > norm_of_nearly_equal).all()


def test_the_differences_of_all_pairs_are_never_held(monkeypatch):
    """20 systems have 190 pairs, each with the differences of 1,000 units. At most 3,000
    differences, those of three pairs, are to be in memory at once. The pairs are taken three at a
    time, the last ones four at a time, so that no pair is left alone. How many are asked for at
    once is recorded, and changes no p-value.
    """
    monkeypatch.setattr(max_t, "DIFFERENCES_AT_ONCE", 3_000)
    table = rng(11).normal(size=(1_000, 20))
    pairs = ColumnPairs.from_table(table, *all_pairs_of_columns(table))
    pairs_at_once = []

    def record_and_take_differences(numbers_of_pairs):
        pairs_at_once.append(len(numbers_of_pairs))
        return pairs.differences(numbers_of_pairs)

    recorded = ColumnPairs(pairs.values, pairs.first, pairs.second, record_and_take_differences)
    p = max_t.adjusted(recorded, rng=rng(1), draws=1_000)
    assert len(pairs) == 190
    assert max(pairs_at_once) <= 4
    p_without_recording = max_t.adjusted(pairs, rng=rng(1), draws=1_000)
    assert p.tolist() == p_without_recording.tolist()


def test_a_value_that_is_not_finite_is_refused():
    """One of three systems has an infinite value on one of 30 units."""
    table = rng(1).normal(size=(30, 3))
    table[4, 1] = np.inf
    with pytest.raises(InputError, match="differences"):
        max_t.adjusted(ColumnPairs.from_table(table, *all_pairs_of_columns(table)), rng=rng())


@pytest.mark.parametrize("units", [1, 2, 12, 13, 14, 20])
def test_pairs_of_few_units_are_flipped_in_every_way(units):
    """All pairs of six systems are compared on so few units (at most 20) that every vector of signs
    is used in place of random ones. The values are rounded, so that some statistics tie, and the
    second and the third system are equal.

    Expected are the step-down p-values of Westfall and Young. The statistic of a pair with the
    differences d is |Σ ± d| / √Σ d², observed with all signs +. `signflip.enumerated(d)` has Σ ± d
    for the 2^(n − 1) sign vectors that begin with +, all + first; the others are the opposites of
    these and have the same |Σ ± d|, so that they change no share.

    The pairs are ordered by the observed statistic, the largest first. For each pair the share of
    sign vectors is taken in which the largest statistic of this and of the later pairs is at least
    the pair's observed one. So that p-values never fall along this order, the p-value of a pair is
    the largest share of this and of the earlier pairs.
    """
    table = values_of_six_systems(units)
    first, second = np.triu_indices(6, 1)
    p = max_t.adjusted(ColumnPairs.from_table(table, first, second), rng=np.random.default_rng(1))
    differences = table[:, first] - table[:, second]
    norm = np.sqrt((differences**2).sum(axis=0))
    scaled = differences / np.where(norm > 0, norm, 1)  # the norm of equal systems is 0
    statistics = np.abs([signflip.enumerated(column) for column in scaled.T])  # (pairs, vectors)
    observed = statistics[:, 0]  # with all signs +
    most_extreme_first = np.argsort(-observed, kind="stable")
    shares = []
    for place, pair in enumerate(most_extreme_first):
        this_and_later_pairs = most_extreme_first[place:]
        largest = statistics[this_and_later_pairs].max(axis=0)
        shares.append(np.mean(largest >= observed[pair] - 1e-9))  # at least, but for rounding
    expected = np.maximum.accumulate(shares)
    np.testing.assert_allclose(p[most_extreme_first], expected, rtol=1e-12)


@pytest.mark.parametrize("units", [1, 2, 12, 13, 14, 20])
def test_progress_is_shown_before_each_block_of_4096_sign_vectors(units, monkeypatch):
    """All pairs of six systems are compared on n units by every vector of n signs. Opposite vectors
    give the same, so that one of each two is visited, 2^(n − 1) in all, in blocks of 4,096. Before
    each block the number of vectors done and the number of all are shown. The first vector, that of
    the data, is not counted as done: the numbers are 0, 4,095, 8,191 and so on.
    """
    shown = []

    @contextmanager
    def record_progress(what, total):
        yield lambda done: shown.append((done, total))

    monkeypatch.setattr(max_t, "progress", record_progress)
    pairs = ColumnPairs.from_table(values_of_six_systems(units), *np.triu_indices(6, 1))
    max_t.adjusted(pairs, rng=np.random.default_rng(1))
    vectors = 2 ** (units - 1)
    done_before_each_block = [max(start - 1, 0) for start in range(0, vectors, 4096)]
    assert shown == [(done, vectors) for done in done_before_each_block]


def values_of_six_systems(units):
    """Values of one decimal, (units, systems); the second and the third system are equal."""
    means = [0.6, 0, 0, 0, 0, 0.2]
    table = np.random.default_rng(units).normal(means, size=(units, 6)).round(1)
    table[:, 2] = table[:, 1]
    return table


# the true means of five systems on 40 shared units, and the best and the worst rank of each
TRUE_MEANS_AND_RANKS = {
    "5 equal": ([0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [5, 5, 5, 5, 5]),
    "5 with two ties": ([0.5, 0.5, 0.2, 0.2, 0], [1, 1, 3, 3, 5], [2, 2, 4, 4, 5]),
}


@pytest.mark.parametrize(
    ("true_means", "true_best_ranks", "true_worst_ranks"),
    TRUE_MEANS_AND_RANKS.values(),
    ids=TRUE_MEANS_AND_RANKS,
)
def test_intervals_hold_the_whole_true_order(true_means, true_best_ranks, true_worst_ranks):
    """In 400 runs, five systems with these true means have noisy values on 40 shared units. The
    intervals of ranks at the level 0.95 must hold the true ranks of all systems at once in 95 % of
    the runs; systems with the same true mean share ranks, from a best to a worst one. The share has
    a standard error of √(0.95 · 0.05 / 400) = 0.011, of which 1.4 are allowed.
    """
    rng = np.random.default_rng(12)
    hold_all_true_ranks = []
    for _ in range(400):
        noise = rng.normal(size=(40, 1)) + 0.8 * rng.normal(size=(40, 5))
        ranks = multiplicity.ranks(true_means + noise, level=0.95, rng=rng, draws=400)
        hold_all_true_ranks.append(
            np.all(ranks.low <= true_best_ranks) and np.all(ranks.high >= true_worst_ranks)
        )
    assert np.mean(hold_all_true_ranks) >= 0.935


def test_clear_differences_leave_one_rank_each():
    """Four systems have the true means 0, 3, 1 and 2, and noise of only 0.1 on each of 60 units. So
    each has one rank, which is also its tier: the highest mean has rank 1.
    """
    rng = np.random.default_rng(3)
    values = np.array([0, 3, 1, 2]) + rng.normal(0, 0.1, (60, 4))
    ranks = multiplicity.ranks(values, level=0.95, rng=rng)
    assert ranks.low.tolist() == [4, 1, 3, 2]
    assert ranks.high.tolist() == [4, 1, 3, 2]
    assert ranks.tier.tolist() == [4, 1, 3, 2]


def test_a_tier_holds_no_significant_pair():
    """Of five systems, in their order from the best, 0 is significantly better than 3 and 4, and 1
    and 2 are better than 4. A tier ends before the first system than which one of it is better.
    """
    is_better = np.zeros((5, 5), dtype=bool)
    for better, worse in [(0, 3), (0, 4), (1, 4), (2, 4)]:
        is_better[better, worse] = True
    tier = multiplicity.tiers(is_better, np.arange(5))
    assert tier.tolist() == [1, 1, 1, 2, 2]
    same_tier = tier[:, None] == tier
    assert not (is_better & same_tier).any()


@pytest.fixture(scope="module")
def study_of_four_systems():
    """40 queries with six items each, of the grades 0, 1 and 2. The scores of four systems are the
    grade with more or less noise, so that some systems rank the items clearly better than others.
    """
    rng = np.random.default_rng(8)
    grade = np.tile([0, 1, 2, 0, 1, 2], 40)
    table = pd.DataFrame(
        {
            "query": np.repeat([f"q{i}" for i in range(40)], 6),
            "item": np.tile(list("abcdef"), 40),
            "grade": grade,
        }
    )
    noise = {"best": 0.1, "good": 2.0, "fair": 2.2, "poor": 20.0}
    for system, spread in noise.items():
        table[f"score_{system}"] = grade + rng.normal(0, spread, 240)
    return ranking.read(table, metrics="ndcg@3")


def test_clearly_different_systems_of_a_ranking_study_are_in_different_tiers(study_of_four_systems):
    """The study compares four systems by their ranked lists; some are clearly better than others.

    `rank_tiers` gives each system an interval of ranks and a tier, 1 for the best. Systems of one
    tier do not differ significantly. So a system that is clearly better than another one, with an
    adjusted p-value below 0.001, is in a better tier, one with a smaller number. The tiers come
    from a random test of their own, so that pairs with p-values just below 0.05 are not compared.
    """
    tiers = rank_tiers(study_of_four_systems).set_index("system")
    assert (tiers["rank_low"] <= tiers["rank_high"]).all()
    comparisons = study_of_four_systems.comparisons
    is_clear = (comparisons["verdict"] == "better") & (comparisons["adjusted"] < 1e-3)
    clearly_better = comparisons[is_clear]
    assert len(clearly_better) > 0
    tier_of_better = tiers.loc[clearly_better["first"], "tier"].to_numpy()
    tier_of_worse = tiers.loc[clearly_better["second"], "tier"].to_numpy()
    assert (tier_of_better < tier_of_worse).all()


def test_the_table_of_tiers_of_a_ranking_study_names_the_best_system(study_of_four_systems):
    best_system = study_of_four_systems.order[0]
    assert best_system in study_of_four_systems.tables.tiers.to_markdown()


def test_looks_planned_in_advance_keep_the_level_and_looks_so_far_do_not():
    """Growing data are analysed several times (looks). With Pocock's bound for the planned number
    of looks, all looks together reject a true null hypothesis with the probability 0.05. If each
    look uses the bound for the number of looks so far, five reject it with 8.9 %, ten with 10.3 %.
    """
    for looks, error_of_looks_so_far in ((2, 0.0675), (5, 0.089), (10, 0.103)):
        planned_bounds = multiplicity.pocock(looks)
        assert interim.crossing_probability(planned_bounds) == pytest.approx(0.05)
        rising_bounds = np.array([multiplicity.pocock(so_far)[0] for so_far in range(1, looks + 1)])
        error = interim.crossing_probability(rising_bounds)
        assert error == pytest.approx(error_of_looks_so_far, abs=0.001)


@pytest.mark.parametrize("bounds", [multiplicity.pocock, multiplicity.obrien_fleming])
@pytest.mark.parametrize("looks", [1, 2, 7, 100])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_bounds_of_looks_are_crossed_with_the_error_of_their_level(bounds, looks, level):
    """Growing data are analysed so many times (looks), with Pocock's or O'Brien and Fleming's
    bounds. A true null hypothesis is rejected with the probability 1 − level over all looks, to
    1e-12: the factor of the bounds is found to 1e-12, and the probability changes less than it.
    """
    crossed = interim.crossing_probability(bounds(looks, level=level))
    assert crossed == pytest.approx(1 - level, abs=1e-12)

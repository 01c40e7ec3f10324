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
    intervals,
    max_t,
    multiplicity,
    multiplicity as mult,
    signflip,
)
from evalkit.statistics.max_t import ColumnPairs
from evalkit.studies import ranking
from evalkit.studies.diagnostics import rank_tiers

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)
STEPWISE = pytest.mark.parametrize("adjust", [mult.holm, mult.benjamini_hochberg])


@STEPWISE
@given(p=P_VALUES)
def test_adjusted_p_values_lie_between_p_and_1(adjust, p):
    adjusted = adjust(p)
    assert np.all(adjusted >= np.array(p) - 1e-15)
    assert np.all(adjusted <= 1)


@STEPWISE
@given(p=P_VALUES)
def test_adjusted_p_values_have_the_order_of_p(adjust, p):
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjust(p)[order]) >= 0)


@given(P_VALUES)
def test_holm_is_no_smaller_than_benjamini_hochberg(p):
    assert np.all(mult.holm(p) >= mult.benjamini_hochberg(p) - 1e-12)


@given(P_VALUES)
def test_benjamini_hochberg_equals_scipy(p):
    assert mult.benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


def test_max_t_does_not_depend_on_the_order_of_units_that_tie_in_the_last_columns():
    columns = np.column_stack([rng(1).normal(size=(60, 2)), np.resize([1.0, 2.0], 60), np.ones(60)])
    turned = columns[rng(2).permutation(60)]
    once, again = (mult.max_t(d, rng=rng(3), draws=1000) for d in (columns, turned))
    assert once.tolist() == again.tolist()
    assert (
        max_t._unit_order(max_t.ColumnPairs.from_differences(columns)).tolist()
        == np.lexsort(columns.T).tolist()
    )


def test_max_t_of_sums_of_systems_that_add_up_equals_that_of_the_differences():
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.03, 1, (2, 2000))
    # of rank 2: three eigenvalues are 0, by rounding below it
    d = np.column_stack([a, b, a - b, a + b, 3 * a - b])
    of_sums = mult.max_t_of_sums(d.sum(axis=0), d.T @ d, rng=np.random.default_rng(1))
    np.testing.assert_allclose(of_sums, mult.max_t(d, rng=np.random.default_rng(1)), atol=0.01)


def extreme_counts(columns, observed, draws):
    """How often sums of differences, not divided by their size, are at least the observed ones."""
    pairs = ColumnPairs.from_differences(columns)
    size = np.ones(len(observed))
    return max_t.count_extreme(pairs, size, observed, rng=rng(1), draws=draws)


def test_columns_that_are_compared_some_at_a_time_have_the_counts_of_all_at_once():
    columns = rng(3).normal(size=(5000, 600))
    observed = np.sort(np.abs(columns.sum(axis=0)))[::-1]
    counts = extreme_counts(columns, observed, draws=1000)
    assert columns.shape[1] > max_t.COMPARED_AT_ONCE // counts.draws  # not all at once
    sums = np.abs(signflip.joint_draws(columns, rng=rng(1), draws=1000))
    largest_after = np.maximum.accumulate(sums[::-1], axis=0)[::-1]
    expected = np.sum(largest_after >= observed[:, None], axis=1)
    assert counts.extreme.tolist() == expected.tolist()


def by_definition(columns, draws):
    """The p of each column by Westfall and Young's step-down: from a matrix of every draw of every
    column.
    """
    columns = columns[np.lexsort(columns.T)]
    n, m = columns.shape
    scaled = columns / np.sqrt(np.sum(columns**2, axis=0))
    observed = np.abs(scaled.sum(axis=0)) * (1 - signflip.TIE) - signflip.TIE
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


def pairs_of(table):
    return np.array(list(combinations(range(table.shape[1]), 2))).T


def tables():
    yield rng(1).normal(size=(300, 6)) + rng(2).normal(size=(300, 1))
    yield rng(3).normal(size=(60, 5)).round(1)  # units tie, and draws tie with what was observed
    yield (rng(4).random((45, 4)) < 0.5) * 1.0
    yield rng(5).normal(size=(12, 4))  # every sign vector
    yield rng(6).normal(size=(30, 2))  # one pair


@pytest.mark.parametrize("table", list(tables()))
def test_pairs_have_the_p_of_the_matrix_of_their_differences(table):
    first, second = pairs_of(table)
    of_pairs = max_t.adjusted(
        ColumnPairs.from_table(table, first, second), rng=rng(7), draws=20_000
    )
    differences = table[:, first] - table[:, second]
    assert of_pairs.tolist() == max_t.max_t(differences, rng=rng(7), draws=20_000).tolist()
    np.testing.assert_allclose(of_pairs, by_definition(differences, 20_000), rtol=1e-12)


def test_close_and_equal_systems_have_the_p_of_their_differences():
    """Where systems agree to nine digits, or stand far from 0, their own sums are too coarse: the
    differences of the pair are flipped.
    """
    systems = rng(8).normal(size=(200, 4))
    first_system, second_system, third_system, fourth_system = systems.T
    almost_second = second_system + 1e-9 * rng(9).normal(size=200)
    far_from_0 = third_system + 1e6
    near_0 = fourth_system * 1e-8
    table = np.column_stack([systems, first_system, almost_second, far_from_0, near_0])
    pairs = ColumnPairs.from_table(table, *pairs_of(table))
    differences = table[:, pairs.first] - table[:, pairs.second]
    expected = max_t.max_t(differences, rng=rng(1), draws=5_000)
    assert max_t.adjusted(pairs, rng=rng(1), draws=5_000).tolist() == expected.tolist()


def test_equal_systems_have_the_p_1():
    values = rng(8).normal(size=200)
    table = np.column_stack([values, values])
    pairs = ColumnPairs.from_table(table, np.array([0]), np.array([1]))
    assert max_t.adjusted(pairs, rng=rng(1), draws=5_000).tolist() == [1]


def test_rows_of_units_are_added_up_and_metrics_of_other_sizes_stand_beside_each_other():
    unit = np.arange(240) // 4
    table = rng(10).normal(size=(240, 6)).round(2)
    table[:, 3:] *= 1e5
    first = np.array([0, 0, 1, 3, 3, 4])
    second = np.array([1, 2, 2, 4, 5, 5])

    def added(columns):
        return np.column_stack([intervals.by_unit(column, unit)[0] for column in columns.T])

    pairs = ColumnPairs.from_table(table, first, second, metric=np.repeat([0, 1], 3), add_up=added)
    of_pairs = max_t.adjusted(pairs, rng=rng(1), draws=5_000)
    d = added(table[:, first] - table[:, second])
    assert of_pairs.tolist() == max_t.max_t(d, rng=rng(1), draws=5_000).tolist()
    sums = np.sqrt((pairs.values**2).sum(axis=0))
    assert (
        np.sqrt((d**2).sum(axis=0)) > max_t.CLOSE_SHARE * sums[first]
    ).all()  # none had to be flipped by itself


def test_the_differences_of_all_pairs_are_never_held(monkeypatch):
    monkeypatch.setattr(max_t, "DIFFERENCES_AT_ONCE", 3_000)
    table = rng(11).normal(size=(1_000, 20))
    asked = []
    pairs = ColumnPairs.from_table(table, *pairs_of(table))

    def differences(places):
        asked.append(len(places))
        return pairs.differences(places)

    watched = ColumnPairs(pairs.values, pairs.first, pairs.second, differences)
    p = max_t.adjusted(watched, rng=rng(1), draws=1_000)
    assert p.tolist() == max_t.adjusted(pairs, rng=rng(1), draws=1_000).tolist()
    assert max(asked) <= 4 < len(pairs) == 190


def test_a_value_that_is_not_finite_is_refused():
    table = rng(1).normal(size=(30, 3))
    table[4, 1] = np.inf
    with pytest.raises(InputError, match="differences"):
        max_t.adjusted(ColumnPairs.from_table(table, *pairs_of(table)), rng=rng())


@pytest.mark.parametrize("units", [1, 2, 12, 13, 14, 20])
def test_pairs_of_few_units_are_flipped_in_every_way_and_show_how_far_they_are(units, monkeypatch):
    """The block's sums of systems give what the sums of each pair do, with ties and a pair of equal
    systems.
    """
    shown = []

    @contextmanager
    def progress(what, total):
        yield lambda done: shown.append((done, total))

    monkeypatch.setattr(max_t, "progress", progress)
    table = np.random.default_rng(units).normal([0.6, 0, 0, 0, 0, 0.2], size=(units, 6)).round(1)
    table[:, 2] = table[:, 1]
    first, second = np.triu_indices(6, 1)
    p = max_t.adjusted(ColumnPairs.from_table(table, first, second), rng=np.random.default_rng(1))
    each = table[:, first] - table[:, second]
    scaled = each / np.where((size := np.sqrt((each**2).sum(axis=0))) > 0, size, 1)
    sums = np.abs([signflip.enumerated(column) for column in scaled.T])
    order = np.argsort(-sums[:, 0], kind="stable")
    shares = [
        (sums[order[i:]].max(axis=0) >= sums[j, 0] - 1e-9).mean() for i, j in enumerate(order)
    ]
    np.testing.assert_allclose(p[order], np.maximum.accumulate(shares), rtol=1e-12)
    assert shown == [(max(done - 1, 0), sums.shape[1]) for done in range(0, sums.shape[1], 2**12)]


# the true means of five systems on 40 shared units, and the best and the worst rank of each
WORLDS = {
    "5 equal": ([0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [5, 5, 5, 5, 5]),
    "5 with two ties": ([0.5, 0.5, 0.2, 0.2, 0], [1, 1, 3, 3, 5], [2, 2, 4, 4, 5]),
}


@pytest.mark.parametrize("name", WORLDS)
def test_intervals_hold_the_whole_true_order(name):
    rng, (means, best, worst) = np.random.default_rng(12), WORLDS[name]
    tables = (means + rng.normal(size=(40, 1)) + 0.8 * rng.normal(size=(40, 5)) for _ in range(400))
    several = (multiplicity.ranks(table, level=0.95, rng=rng, draws=400) for table in tables)
    held = [np.all(r.low <= best) and np.all(r.high >= worst) for r in several]
    assert np.mean(held) >= 0.935  # 95% less 1.4 standard errors of 400 runs


def test_clear_differences_leave_one_rank_each():
    rng = np.random.default_rng(3)
    r = multiplicity.ranks(
        rng.normal(0, 0.1, (60, 4)) + np.array([0, 3, 1, 2]), level=0.95, rng=rng
    )
    assert r.low.tolist() == r.high.tolist() == r.tier.tolist() == [4, 1, 3, 2]


def test_a_tier_holds_no_significant_pair():
    better = np.zeros((5, 5), dtype=bool)
    better[[0, 0, 1, 2], [3, 4, 4, 4]] = True
    tier = multiplicity.tiers(better, np.arange(5))
    assert tier.tolist() == [1, 1, 1, 2, 2]
    assert not any(better[i, j] for i in range(5) for j in range(5) if tier[i] == tier[j])


def test_ranking_shows_them():
    rng = np.random.default_rng(8)
    grade = np.tile(np.arange(6) % 3, 40)
    rows = {
        "query": np.repeat([f"q{i}" for i in range(40)], 6),
        "item": np.tile(list("abcdef"), 40),
        "grade": grade,
    }
    noise = {"best": 0.1, "good": 2.0, "fair": 2.2, "poor": 20.0}
    scores = {f"score_{name}": grade + rng.normal(0, spread, 240) for name, spread in noise.items()}
    study = ranking.read(pd.DataFrame(rows | scores), metrics="ndcg@3")
    frame = rank_tiers(study).set_index("system")
    assert (frame["rank_low"] <= frame["rank_high"]).all()
    clear = study.comparisons[
        (study.comparisons["verdict"] == "better") & (study.comparisons["adjusted"] < 1e-3)
    ]
    assert len(clear)
    assert (
        frame.loc[clear["first"], "tier"].to_numpy() < frame.loc[clear["second"], "tier"].to_numpy()
    ).all()
    assert study.order[0] in study.tables.tiers.to_markdown()


def test_looks_planned_in_advance_keep_the_level_and_looks_so_far_do_not():
    """With the number of looks so far at each, five reject 8.9 % in all and ten 10.3 %."""
    for count, so_far in ((2, 0.0675), (5, 0.089), (10, 0.103)):
        rising = np.array([multiplicity.pocock(look)[0] for look in range(1, count + 1)])
        assert interim.crossing_probability(multiplicity.pocock(count)) == pytest.approx(0.05)
        assert interim.crossing_probability(rising) == pytest.approx(so_far, abs=0.001)


@pytest.mark.parametrize("bounds", [multiplicity.pocock, multiplicity.obrien_fleming])
@pytest.mark.parametrize("looks", [1, 2, 7, 100])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_bounds_of_looks_are_crossed_with_the_error_of_their_level(bounds, looks, level):
    """To 1e-12, as the factor is found to 1e-12 and the probability changes less than it."""
    crossed = interim.crossing_probability(bounds(looks, level=level))
    assert crossed == pytest.approx(1 - level, abs=1e-12)

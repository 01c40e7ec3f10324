"""Joint sign flips: the numbers of pairs of systems are those of the matrix of all their differences."""

from contextlib import contextmanager
from itertools import combinations, product

import numpy as np
import pytest
from samples import rng

from evalkit.arrays import InputError
from evalkit.statistics import intervals, multiplicity, signflip
from evalkit.statistics.multiplicity import Pairs, max_t


def exceeded(columns, observed, draws):
    return multiplicity.exceeded(Pairs.of_columns(columns), np.ones(len(observed)), observed, rng=rng(1), draws=draws)


def test_many_columns_of_many_units_are_counted_some_at_a_time_from_the_same_draws():
    columns, m = rng(3).normal(size=(5000, 600)), 600
    assert m > multiplicity.TOGETHER // 8192  # the sums of one block of draws are not compared at once
    observed = np.sort(np.abs(columns.sum(axis=0)))[::-1]
    times, drawn = exceeded(columns, observed, draws=1000)
    sums = np.abs(signflip.joint_draws(columns, rng=rng(1), draws=1000))
    largest = np.maximum.accumulate(sums[::-1], axis=0)[::-1]
    assert drawn == sums.shape[1] == 8192
    assert times.tolist() == np.sum(largest >= observed[:, None], axis=1).tolist()


def by_definition(columns, draws):
    """The p of each column by Westfall and Young's step-down: from a matrix of every draw of every column."""
    columns = columns[np.lexsort(columns.T)]
    n, m = columns.shape
    scaled = columns / np.sqrt(np.sum(columns**2, axis=0))
    observed = np.abs(scaled.sum(axis=0)) * (1 - signflip.TIE) - signflip.TIE
    order = np.argsort(-observed, kind="stable")
    if n > signflip.ENUMERATED:
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
    of_pairs = multiplicity.adjusted(Pairs.of(table, first, second), rng=rng(7), draws=20_000)
    differences = table[:, first] - table[:, second]
    assert of_pairs.tolist() == max_t(differences, rng=rng(7), draws=20_000).tolist()
    np.testing.assert_allclose(of_pairs, by_definition(differences, 20_000), rtol=1e-12)


def test_close_and_equal_systems_have_the_p_of_their_differences():
    """Where systems agree to nine digits, or stand far from 0, their own sums are too coarse: the pair is flipped."""
    table = rng(8).normal(size=(200, 4))
    more = table[:, 1] + 1e-9 * rng(9).normal(size=200), table[:, 2] + 1e6, table[:, 3] * 1e-8
    table = np.column_stack([table, table[:, 0], *more])
    pairs = Pairs.of(table, *pairs_of(table))
    first, second = pairs.first, pairs.second
    expected = max_t(table[:, first] - table[:, second], rng=rng(1), draws=5_000)
    assert multiplicity.adjusted(pairs, rng=rng(1), draws=5_000).tolist() == expected.tolist()
    assert expected[(first == 0) & (second == 4)] == 1


def test_rows_of_units_are_added_up_and_metrics_of_other_sizes_stand_beside_each_other():
    unit, table = np.arange(240) // 4, rng(10).normal(size=(240, 6)).round(2)
    table[:, 3:] *= 1e5
    first, second = np.array([0, 0, 1, 3, 3, 4]), np.array([1, 2, 2, 4, 5, 5])

    def added(columns):
        return np.column_stack([intervals.by_unit(column, unit)[0] for column in columns.T])

    pairs = Pairs.of(table, first, second, metric=np.repeat([0, 1], 3), added=added)
    of_pairs = multiplicity.adjusted(pairs, rng=rng(1), draws=5_000)
    d = added(table[:, first] - table[:, second])
    assert of_pairs.tolist() == max_t(d, rng=rng(1), draws=5_000).tolist()
    sums = np.sqrt((pairs.values**2).sum(axis=0))
    assert (np.sqrt((d**2).sum(axis=0)) > multiplicity.APART * sums[first]).all()  # none had to be flipped by itself


def test_the_differences_of_all_pairs_are_never_held(monkeypatch):
    monkeypatch.setattr(multiplicity, "MADE", 3_000)
    table, asked = rng(11).normal(size=(1_000, 20)), []
    pairs = Pairs.of(table, *pairs_of(table))

    def differences(places):
        asked.append(len(places))
        return pairs.differences(places)

    watched = Pairs(pairs.values, pairs.first, pairs.second, differences)
    p = multiplicity.adjusted(watched, rng=rng(1), draws=1_000)
    assert p.tolist() == multiplicity.adjusted(pairs, rng=rng(1), draws=1_000).tolist()
    assert max(asked) <= 4 < len(pairs) == 190


def test_a_value_that_is_not_finite_is_refused():
    table = rng(1).normal(size=(30, 3))
    table[4, 1] = np.inf
    with pytest.raises(InputError, match="differences"):
        multiplicity.adjusted(Pairs.of(table, *pairs_of(table)), rng=rng())


@pytest.mark.parametrize("units", [1, 2, 12, 13, 14, 20])
def test_pairs_of_few_units_are_flipped_in_every_way_and_show_how_far_they_are(units, monkeypatch):
    """The block's sums of systems give what the sums of each pair do, with ties and a pair of equal systems."""
    shown = []

    @contextmanager
    def progress(what, total):
        yield lambda done: shown.append((done, total))

    monkeypatch.setattr(multiplicity, "progress", progress)
    table = np.random.default_rng(units).normal([0.6, 0, 0, 0, 0, 0.2], size=(units, 6)).round(1)
    table[:, 2] = table[:, 1]
    first, second = np.triu_indices(6, 1)
    p = multiplicity.adjusted(Pairs.of(table, first, second), rng=np.random.default_rng(1))
    each = table[:, first] - table[:, second]
    scaled = each / np.where((size := np.sqrt((each**2).sum(axis=0))) > 0, size, 1)
    sums = np.abs([signflip.enumerated(column) for column in scaled.T])
    order = np.argsort(-sums[:, 0], kind="stable")
    shares = [(sums[order[i:]].max(axis=0) >= sums[j, 0] - 1e-9).mean() for i, j in enumerate(order)]
    np.testing.assert_allclose(p[order], np.maximum.accumulate(shares), rtol=1e-12)
    assert shown == [(max(done - 1, 0), sums.shape[1]) for done in range(0, sums.shape[1], 2**12)]

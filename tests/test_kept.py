"""What is kept of blocks and of units: samples, keys that come again, values that are left out."""

from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pytest
from samples import rng

from evalkit.catalogue.kinds import PerUnit, Ratio
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.metrics import grid
from evalkit.metrics.blocks import Block
from evalkit.metrics.hashes import KeyRepeats, mixed
from evalkit.metrics.rows import Sums
from evalkit.metrics.samples import Sample, parts_of
from evalkit.metrics.tallies import Tally
from evalkit.statistics import inference, intervals, significance
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import UnitStatistic

ROWS, MOST = 60_000, 8_000


def block(units: int | None = None) -> Block:
    rng = np.random.default_rng(3)
    unit = np.sort(rng.integers(0, units, ROWS)) if units else np.arange(ROWS)
    key = mixed(unit.astype(np.uint64) + np.uint64(7))
    label = (rng.random(ROWS) < 0.003).astype(float)
    order = np.argsort(key, kind="stable")
    return Block(
        label[order], rng.random((2, ROWS))[:, order], None, key[order], clustered=units is not None
    )


def sampled(rows: Block, size: int, most: int = MOST) -> Sample:
    ends = rows.unit_starts[::size] if rows.clustered else np.arange(0, len(rows), size)
    parts = (rows.take(slice(*ends)) for ends in zip(ends, [*ends[1:], len(rows)], strict=True))
    return reduce(add, (Sample.from_block(part, most) for part in parts))


@pytest.mark.parametrize("units", [None, 20_000])
def test_a_sample_is_the_same_for_every_order_and_size_of_blocks(units):
    rows = block(units)
    starts = np.random.default_rng(1).permutation(len(rows.unit_starts))
    sizes = np.diff(rows.unit_starts, append=ROWS)
    other = rows.take(
        np.concatenate(
            [np.arange(rows.unit_starts[i], rows.unit_starts[i] + sizes[i]) for i in starts]
        )
    )
    a = sampled(rows, 900)
    b = sampled(other, 5_000)
    assert len(a.rows) <= MOST
    assert np.array_equal(np.sort(a.rows.key), np.sort(b.rows.key))
    assert (
        a.stands_for * len(a.rows)
        == pytest.approx(ROWS)
        == pytest.approx(b.stands_for * len(b.rows))
    )


@pytest.mark.parametrize("units", [None, 20_000])
def test_the_error_of_a_rare_class_is_known_from_its_rows(units):
    rows = block(units)
    sample = sampled(rows, 900)
    moved = rows.truth - rows.truth.mean()
    exact = np.sum(np.add.reduceat(moved, rows.unit_starts) ** 2) if units else np.sum(moved**2)
    square, unsure = sample.influence_square(sample.rows.truth - rows.truth.mean())
    assert abs(np.sqrt(square / exact) - 1) <= 4 * unsure <= 1.2


def test_whole_units_are_drawn():
    rows = block(20_000)
    sample = sampled(rows, 900)
    sizes = dict(zip(*np.unique(rows.key, return_counts=True), strict=True))
    keys, drawn = np.unique(sample.rows.key, return_counts=True)
    assert [sizes[key] for key in keys] == drawn.tolist()


def test_few_rows_are_all_drawn():
    sample = sampled(block(), 900, ROWS)
    assert sample.is_complete
    assert sample.stands_for == 1.0


def test_keys_that_come_again_are_counted_up_to_a_bound():
    keys = mixed(np.random.default_rng(5).integers(0, 9_000, 20_000).astype(np.uint64))
    parts = [KeyRepeats.from_keys(some, 10_000) for some in np.array_split(keys, 37)]
    assert reduce(add, parts).repeated_rows == 20_000 - len(np.unique(keys))
    assert (
        reduce(
            add, [KeyRepeats.from_keys(some, 10_000) for some in np.array_split(np.unique(keys), 9)]
        ).repeated_rows
        == 0
    )
    assert (
        reduce(
            add, [KeyRepeats.from_keys(some, 500) for some in np.array_split(np.unique(keys), 9)]
        ).repeated_rows
        is None
    )


VALUES = Sums(np.array([0.5, np.nan, 1.0, 0.25]))
POOLED = Sums(np.array([1.0, 2.0, np.nan]), np.array([2.0, 2.0, np.nan]))


MEAN = MetricAtK(
    Metric("mean", "units", PerUnit(lambda s, k, level: s), "", "", "", low=-np.inf, high=np.inf)
)
RATIO = MetricAtK(replace(MEAN.metric, kind=Ratio(lambda s, k, level: s)))


def estimate(sums, unit=None):
    chosen = MEAN if sums.denominator is None else RATIO
    return inference.estimate(UnitStatistic(chosen, sums, unit), Options(0.95, rng()))


def compare(first, second, unit=None, name="query"):
    return inference.compare(
        UnitStatistic(MEAN, first, unit),
        UnitStatistic(MEAN, second, unit),
        Options(0.95, rng(), name),
    )


def test_undefined_units_are_left_out_of_the_mean():
    e = estimate(VALUES)
    assert (e.value, e.n) == (pytest.approx(1.75 / 3), 3)
    assert e == intervals.mean([0.5, 1.0, 0.25])


def test_a_pooled_metric_is_the_ratio_of_sums():
    e = estimate(POOLED)
    assert (e.value, e.n, e.method) == (0.75, 2, "jackknife t")
    assert POOLED.value == 0.75


def test_clusters_keep_the_mean_and_count_the_users():
    user = np.array(["u", "u", "v", "w"], dtype=object)
    e = estimate(VALUES, user)
    assert (e.value, e.n) == (pytest.approx(1.75 / 3), 3)


def test_duplicated_rows_of_a_user_leave_the_clustered_interval():
    values = np.random.default_rng(1).normal(size=40)
    user = np.arange(40).astype(str).astype(object)
    once = estimate(Sums(values), user)
    twice = estimate(Sums(np.repeat(values, 2)), np.repeat(user, 2))
    assert (once.low, once.high) == (pytest.approx(twice.low), pytest.approx(twice.high))


def test_nothing_defined_is_undefined():
    e = estimate(Sums(np.array([np.nan])))
    assert np.isnan(e.value)
    assert e.n == 0


def test_comparison_takes_the_units_that_both_define():
    other = Sums(np.array([0.25, 0.5, np.nan, 0.25]))
    c = compare(VALUES, other)
    assert (c.difference.value, c.difference.n) == (0.125, 2)


def test_clustered_comparison_is_the_sign_flip_of_user_sums():
    first, second = np.random.default_rng(2).normal(size=(2, 60))
    user = (np.arange(60) // 3).astype(str).astype(object)
    c = compare(Sums(first), Sums(second), user, "user")
    sums, counts = intervals.by_unit(first - second, user)
    assert c == significance.sign_flip(sums, counts, rng=rng(), unit="user")
    assert c.difference.n == 20


def test_wins_ties_losses():
    assert VALUES.wins(Sums(np.array([0.5, 1, 0.5, 0.5]))) == (1, 1, 1)


@pytest.mark.parametrize("value, low, high", [(1.0, 0.929, 1.0), (0.0, 0.0, 0.071)])
def test_a_mean_at_the_end_of_its_range_claims_no_certainty(value, low, high):
    e = inference.within(Estimate(value, value, value, 0.95, 50, "t"), 0.0, 1.0)
    assert (round(e.low, 3), round(e.high, 3), e.method) == (low, high, "Wilson")


def test_limits_are_cut_to_the_range():
    e = inference.within(Estimate(0.9, 0.7, 1.1, 0.95, 9, "t"), 0.0, 1.0)
    assert (e.low, e.high) == (0.7, 1.0)


def test_the_rows_of_a_unit_are_in_one_part_whatever_their_order():
    rows = block(300)
    part = parts_of(rows, 50)
    other = np.random.default_rng(1).permutation(ROWS)
    assert np.array_equal(parts_of(rows.take(other), 50), part[other])
    assert len({*zip(rows.key.tolist(), part.tolist(), strict=True)}) == 300


@pytest.mark.parametrize("numbered", [True, False])
def test_equal_rows_without_ids_are_in_parts_by_chance(numbered):
    key = np.repeat(mixed(np.arange(2, dtype=np.uint64)), 10_000)
    names = np.arange(1, 20_001) if numbered else None
    rows = Block(
        np.zeros(20_000), np.zeros((1, 20_000)), None, key, key_hashes_row=True, names=names
    )
    sizes = np.bincount(parts_of(rows, 100), minlength=100)
    assert sizes.mean() == 200
    assert sizes.var() == pytest.approx(200, rel=0.5)


@pytest.mark.parametrize("held", [0, 2_000, 100_000])
@pytest.mark.parametrize("cut", [None, 0.5])
def test_scores_that_wait_to_be_binned_get_the_bins_of_all_rows(held, cut):
    score = rng(1).random(10_000)
    hit = rng(2).random(10_000) < 0.3
    pieces = np.array_split(np.arange(10_000), 7)
    options = {"max_bins": 500, "max_waiting": held, "cut": cut}
    tallies = [Tally.from_hits(score[rows], hit[rows], None, **options) for rows in pieces]
    whole = reduce(add, tallies).merged
    expected = grid.reduce(score, hit, max_bins=500, cut=cut)
    np.testing.assert_array_equal(whole.low, expected.low)
    np.testing.assert_array_equal(whole.high, expected.high)
    np.testing.assert_array_equal(whole.sums, expected.sums)

"""What is kept of blocks and of units: samples, keys that come again, values that are left out."""

from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pytest
from samples import rng

from evalkit.catalogue.kinds import MeanPerUnit, Ratio
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.metrics import grid
from evalkit.metrics.blocks import Block
from evalkit.metrics.hashes import KeyRepeats, mix_bits
from evalkit.metrics.rows import Sums, UnitWins
from evalkit.metrics.samples import Sample, parts_of
from evalkit.metrics.summaries import Extremes
from evalkit.metrics.tallies import Tally
from evalkit.statistics import inference, intervals, significance
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import UnitStatistic

ROWS = 60_000
MAX_ROWS = 8_000  # of a sample


def random_block(units: int | None = None) -> Block:
    """Rows of two systems with a rare class, in the order of the hashes of so many units; each row
    is a unit if there are none.
    """
    rng = np.random.default_rng(3)
    unit = np.sort(rng.integers(0, units, ROWS)) if units else np.arange(ROWS)
    key = mix_bits(unit.astype(np.uint64) + np.uint64(7))
    label = (rng.random(ROWS) < 0.003).astype(float)
    order = np.argsort(key, kind="stable")
    return Block(
        truth=label[order],
        predictions=rng.random((2, ROWS))[:, order],
        weight=None,
        key=key[order],
        clustered=units is not None,
    )


def in_another_order(rows: Block) -> Block:
    """The same units in a random order."""
    ends = np.append(rows.unit_starts[1:], ROWS)
    order = np.random.default_rng(1).permutation(len(ends))
    rows_of_units = [np.arange(rows.unit_starts[i], ends[i]) for i in order]
    return rows.take(np.concatenate(rows_of_units))


def sample_by_blocks(rows: Block, block_size: int, max_rows: int = MAX_ROWS) -> Sample:
    """A sample of the rows, which come in blocks of so many units."""
    starts = rows.unit_starts[::block_size]
    ends = [*starts[1:], len(rows)]
    blocks = [rows.take(slice(start, end)) for start, end in zip(starts, ends, strict=True)]
    return reduce(add, [Sample.from_block(block, max_rows) for block in blocks])


with_and_without_units = pytest.mark.parametrize("units", [None, 20_000])


@with_and_without_units
def test_a_sample_has_no_more_rows_than_are_allowed(units):
    assert len(sample_by_blocks(random_block(units), 900).rows) <= MAX_ROWS


@with_and_without_units
def test_a_sample_is_the_same_for_every_order_and_size_of_blocks(units):
    rows = random_block(units)
    sample = sample_by_blocks(rows, 900)
    other_sample = sample_by_blocks(in_another_order(rows), 5_000)
    assert np.array_equal(np.sort(sample.rows.key), np.sort(other_sample.rows.key))


@with_and_without_units
def test_a_sample_stands_for_all_rows_of_the_table(units):
    sample = sample_by_blocks(random_block(units), 900)
    assert sample.stands_for * len(sample.rows) == pytest.approx(ROWS)


@with_and_without_units
def test_the_error_of_a_rare_class_is_known_from_its_rows(units):
    """60,000 rows, of which 0.3 % are positive, are units of their own or belong to 20,000 units
    (`units`). The influence of a row on the share of positives is label − share. The squared
    standard error of the share comes from a sum over units, of the square of the unit's total
    influence. A sample of 8,000 rows estimates this sum, and states how uncertain the estimate is,
    as a share of its square root.

    The estimate may be off by four times this uncertainty, which is 8 % to 9 % with about 30
    positives in the sample. It must not exceed 30 %, as a large uncertainty would allow any
    estimate.
    """
    rows = random_block(units)
    sample = sample_by_blocks(rows, block_size=900)
    influence = rows.truth - rows.truth.mean()
    influence_of_units = np.add.reduceat(influence, rows.unit_starts)
    exact = np.sum(influence_of_units**2)
    estimated = sample.influence_square(sample.rows.truth - rows.truth.mean())
    relative_error = np.sqrt(estimated.value / exact) - 1
    assert abs(relative_error) <= 4 * estimated.uncertainty
    assert estimated.uncertainty <= 0.3


def test_whole_units_are_drawn():
    rows = random_block(20_000)
    sample = sample_by_blocks(rows, 900)
    unit_sizes = dict(zip(*np.unique(rows.key, return_counts=True), strict=True))
    keys, sampled_rows = np.unique(sample.rows.key, return_counts=True)
    assert [unit_sizes[key] for key in keys] == sampled_rows.tolist()


def test_few_rows_are_all_drawn():
    sample = sample_by_blocks(random_block(), 900, max_rows=ROWS)
    assert sample.is_complete
    assert sample.stands_for == 1.0


KEYS = mix_bits(np.random.default_rng(5).integers(0, 9_000, 20_000).astype(np.uint64))


def repeated_rows(keys: np.ndarray, max_keys: int) -> int | None:
    """The number of rows whose key occurred before, counted over nine blocks."""
    blocks = np.array_split(keys, 9)
    return reduce(add, [KeyRepeats.from_keys(keys, max_keys) for keys in blocks]).repeated_rows


def test_rows_whose_key_occurred_before_are_counted_over_blocks():
    assert repeated_rows(KEYS, max_keys=10_000) == 20_000 - len(np.unique(KEYS))


def test_distinct_keys_are_not_repeated():
    assert repeated_rows(np.unique(KEYS), max_keys=10_000) == 0


def test_it_is_unknown_whether_too_many_keys_are_repeated():
    assert repeated_rows(np.unique(KEYS), max_keys=500) is None


VALUES = Sums(np.array([0.5, np.nan, 1.0, 0.25]))
POOLED = Sums(np.array([1.0, 2.0, np.nan]), np.array([2.0, 2.0, np.nan]))


MEAN = MetricAtK(
    Metric(
        "mean", "units", MeanPerUnit(lambda s, k, level: s), "", "", "", low=-np.inf, high=np.inf
    )
)
RATIO = MetricAtK(replace(MEAN.metric, kind=Ratio(lambda s, k, level: s)))


def estimate(sums, unit=None):
    chosen = MEAN if sums.denominator is None else RATIO
    return inference.estimate(UnitStatistic(chosen, sums, unit), Options(0.95, rng()))


def comparison_of_means(first, second, unit=None, name="query"):
    """The comparison of the means of two systems' values, paired by row or summed by unit."""
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
    c = comparison_of_means(VALUES, other)
    assert (c.difference.value, c.difference.n) == (0.125, 2)


def test_clustered_comparison_is_the_sign_flip_of_user_sums():
    """Two systems have values of 60 rows, three for each of 20 users. Rows of a user are not
    independent, so that the test flips the signs of whole users: of the sum of the differences of
    each user, which `by_unit` adds up and returns with the number of rows. n is the 20 users.
    """
    first, second = np.random.default_rng(2).normal(size=(2, 60))
    user = np.repeat([f"user {number}" for number in range(20)], 3).astype(object)
    found = comparison_of_means(Sums(first), Sums(second), unit=user, name="user")
    sum_of_user, rows_of_user = intervals.by_unit(first - second, user)
    expected = significance.sign_flip(sum_of_user, rows_of_user, rng=rng(), unit="user")
    assert found == expected
    assert found.difference.n == 20


def test_units_that_both_define_are_won_tied_or_lost():
    other = Sums(np.array([0.5, 1, 0.5, 0.5]))
    assert VALUES.wins(other) == UnitWins(wins=1, ties=1, losses=1)


@pytest.mark.parametrize("value, low, high", [(1.0, 0.929, 1.0), (0.0, 0.0, 0.071)])
def test_a_mean_at_the_end_of_its_range_claims_no_certainty(value, low, high):
    e = inference.cut_to_range(Estimate(value, value, value, 0.95, 50, "t"), 0.0, 1.0)
    assert (round(e.low, 3), round(e.high, 3), e.method) == (low, high, "Wilson")


def test_limits_are_cut_to_the_range():
    e = inference.cut_to_range(Estimate(0.9, 0.7, 1.1, 0.95, 9, "t"), 0.0, 1.0)
    assert (e.low, e.high) == (0.7, 1.0)


def test_the_part_of_a_row_does_not_depend_on_the_order_of_the_rows():
    rows = random_block(300)
    order = np.random.default_rng(1).permutation(ROWS)
    assert np.array_equal(parts_of(rows.take(order), 50), parts_of(rows, 50)[order])


def test_the_rows_of_a_unit_are_in_one_part():
    rows = random_block(300)
    units_and_parts = {*zip(rows.key.tolist(), parts_of(rows, 50).tolist(), strict=True)}
    assert len(units_and_parts) == 300


@pytest.mark.parametrize("has_row_numbers", [True, False])
def test_equal_rows_without_ids_are_in_parts_by_chance(has_row_numbers):
    """Rows are put into parts by the hash of their id; rows without an id by the hash of their
    values (`key`), which equal rows share. 20,000 rows here are two different rows, 10,000 times
    each. They must nevertheless be spread over all 100 parts, as if drawn at random, whether the
    rows are numbered (`names`) or not.

    The size of a part is then binomial, with the mean 20,000 / 100 = 200 and a variance of 198.
    Over 100 parts the variance has a relative standard error of 14 %; 50 % is allowed.
    """
    hash_of_values = np.repeat(mix_bits(np.arange(2, dtype=np.uint64)), 10_000)
    rows = Block(
        truth=np.zeros(20_000),
        predictions=np.zeros((1, 20_000)),
        weight=None,
        key=hash_of_values,
        key_hashes_row=True,
        names=np.arange(1, 20_001) if has_row_numbers else None,
    )
    sizes = np.bincount(parts_of(rows, 100), minlength=100)
    assert sizes.mean() == 200
    assert sizes.var() == pytest.approx(200, rel=0.5)


@pytest.mark.parametrize("max_waiting", [0, 2_000, 100_000])
@pytest.mark.parametrize("cut", [None, 0.5])
def test_scores_that_wait_to_be_binned_get_the_bins_of_all_rows(max_waiting, cut):
    """10,000 rows come in seven blocks. A tally collects the scores of up to `max_waiting` rows
    before it counts them in bins, since many at once are faster: none waits, those of one block or
    of all. The bins must be those of all rows at once. If a `cut` is given, a bin begins there.
    """
    score = rng(1).random(10_000)
    is_hit = rng(2).random(10_000) < 0.3
    tallies = []
    for rows in np.array_split(np.arange(10_000), 7):
        tally = Tally.from_hits(
            score[rows], is_hit[rows], None, max_bins=500, max_waiting=max_waiting, cut=cut
        )
        tallies.append(tally)
    found = reduce(add, tallies).merged
    expected = grid.bin_scores(score, is_hit, max_bins=500, cut=cut)
    np.testing.assert_array_equal(found.low, expected.low)
    np.testing.assert_array_equal(found.high, expected.high)
    np.testing.assert_array_equal(found.sums, expected.sums)


def test_the_largest_row_is_kept_behind_any_number_of_ties():
    block = random_block()
    size = np.ones(ROWS)
    size[-1] = 2
    assert Extremes.from_block(block, size, system=0, max_rows=2).size.tolist() == [2, 1]

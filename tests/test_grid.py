"""Bins of scores, by the leading bits of their code: they depend on the set of rows alone, every
threshold is counted exactly, and the bounds of AUC and average precision hold.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evalkit.metrics import counts, grid, influence
from evalkit.metrics.counts import count
from evalkit.metrics.grid import Grid

FIELDS = ("low", "high", "positive", "negative")


def assert_equal_bins(a: Grid, b: Grid) -> None:
    assert a.shift == b.shift
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def random_rows(seed: int, n: int, digits: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Scores, rounded to so many digits, and labels, three of ten positive."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    if digits is not None:
        score = np.round(score, digits)
    return score, rng.random(n) < 0.3


@pytest.mark.parametrize("max_bins", [50, 1000, 2**20])
@pytest.mark.parametrize("cut", [None, 0.3])
@pytest.mark.parametrize("has_weights", [False, True])
def test_bins_merged_from_any_chunks_are_those_of_all_rows(has_weights, cut, max_bins):
    """`bin_scores` counts positives and negatives in at most `max_bins` bins of the score; if a
    `cut` is given, a bin begins at this score. Large data are counted in chunks, by parallel
    workers. The merged bins must not depend on which rows are in which chunk.

    5,000 rows are therefore shuffled five times, and each time split into seven chunks of random
    size. Three chunks are merged, the other four are merged, and then both results.
    """
    score, label = random_rows(seed=1, n=5000, digits=3)
    rng = np.random.default_rng(2)
    weight = rng.integers(0, 4, 5000) if has_weights else None

    def bins_from(rows) -> Grid:
        weight_of_rows = weight[rows] if has_weights else None
        return grid.bin_scores(score[rows], label[rows], weight_of_rows, max_bins=max_bins, cut=cut)

    bins_of_all_rows = bins_from(slice(None))
    for _ in range(5):
        shuffled_rows = rng.permutation(5000)
        chunks = np.array_split(shuffled_rows, np.sort(rng.integers(0, 5000, 6)))
        grids = [bins_from(rows) for rows in chunks]
        halves = [grid.merge(grids[:3], max_bins), grid.merge(grids[3:], max_bins)]
        assert_equal_bins(grid.merge(halves, max_bins), bins_of_all_rows)


@pytest.mark.parametrize("max_bins", [10, 300, 2**20])
@pytest.mark.parametrize("cut", [None, 0.3])
def test_sorting_labels_with_their_scores_or_apart_gives_the_same_bins(monkeypatch, max_bins, cut):
    """`bin_scores` counts positives and negatives in at most `max_bins` bins of the score; if a
    `cut` is given, a bin begins at this score.

    It sorts the scores, each as a code of 64 bits, in one of two ways. Between −2 and 2, as here, a
    bit of each code is free. `with_label` puts the row's label there, so that one sort is enough.
    It returns None if no bit is free; the scores of the positives are then sorted once more, apart.
    Replaced by a function that returns None, it makes `bin_scores` take the second way on these
    scores.
    """
    score, label = random_rows(seed=6, n=100_000, digits=4)
    score = score / np.abs(score).max()  # between −1 and 1
    bins = grid.bin_scores(score, label, max_bins=max_bins, cut=cut)
    monkeypatch.setattr(grid, "with_label", lambda score, label: None)
    bins_from_labels_apart = grid.bin_scores(score, label, max_bins=max_bins, cut=cut)
    assert_equal_bins(bins, bins_from_labels_apart)


@pytest.mark.parametrize("max_bins", [10, 300, 2**20])
@pytest.mark.parametrize("cut", [None, 0.3, 2.5])
def test_large_scores_have_the_same_bins_without_weights_as_with_weights_of_1(max_bins, cut):
    """`bin_scores` counts positives and negatives in at most `max_bins` bins of the score; if a
    `cut` is given, a bin begins at this score.

    Weights of 1 must not change a bin, although weighted rows are counted by other code: their
    weights are added up in each bin. Rows without weights are counted by one sort if all scores
    are between −2 and 2. These scores go up to 8, as do scores in logits: all rows and the
    positives are then sorted apart, and the positives of each bin are found by a search.
    """
    score, label = random_rows(seed=6, n=100_000, digits=4)
    score = score / np.abs(score).max() * 8  # between −8 and 8
    weight = np.ones(100_000, np.int64)
    unweighted = grid.bin_scores(score, label, max_bins=max_bins, cut=cut)
    weighted = grid.bin_scores(score, label, weight, max_bins=max_bins, cut=cut)
    assert_equal_bins(unweighted, weighted)


@given(st.integers(0, 40), st.integers(2, 3000), st.integers(5, 300_000))
def test_no_more_bits_are_dropped_than_needed_for_the_number_of_bins(bits, max_bins, n):
    """A bin has the codes that are equal without their last `shift` bits."""
    codes = np.sort(np.random.default_rng(n).integers(0, 2**bits + 1, n))
    shift = grid.bins(codes, min_shift=0, max_bins=max_bins, cut=None).shift
    assert len(np.unique(codes >> shift)) <= max_bins
    assert shift == 0 or len(np.unique(codes >> (shift - 1))) > max_bins


def few_distinct_codes(rng, n):
    return rng.integers(0, 30, n)


def many_distinct_codes(rng, n):
    return rng.integers(0, 2**60, n)


def uneven_codes(rng, n):
    """Half of them close together: the shift that a sample of codes at even distances suggests is
    too large or too small.
    """
    return np.concatenate([rng.integers(0, 2**9, n // 2), rng.integers(2**40, 2**60, n - n // 2)])


def codes_in_runs(rng, n):
    """Even in the runs of neighbouring codes that the sample takes, uneven elsewhere."""
    is_sampled = np.arange(n) % (n // 64 + 1) < 1024
    return np.arange(n) * 2**20 + np.where(is_sampled, 0, rng.integers(0, 2**19, n))


KINDS_OF_CODES = [few_distinct_codes, many_distinct_codes, uneven_codes, codes_in_runs]


def bins_by_trying_every_shift(codes, max_bins, cut):
    """(shift, first index of each bin, number of codes in each bin) of sorted codes.

    Neighbouring codes share a bin if they are equal without their last `shift` bits. A bin begins
    at the cut in any case, so that the codes may have one border less. The shift is the smallest
    from 1 on with few enough borders.
    """
    different_bits = (codes[1:] ^ codes[:-1]).view(np.uint64)  # of neighbouring codes
    max_borders = max_bins - 1
    if cut is not None:
        max_borders -= 1
    shift = 1
    while np.count_nonzero(different_bits >> shift) > max_borders:
        shift += 1
    starts = set(np.flatnonzero(different_bits >> shift) + 1)
    if len(codes):
        starts.add(0)
    if cut is not None and np.searchsorted(codes, cut) < len(codes):
        starts.add(np.searchsorted(codes, cut))
    return shift, sorted(starts), np.diff(sorted(starts), append=len(codes)).tolist()


@pytest.mark.parametrize("make_codes", KINDS_OF_CODES)
@pytest.mark.parametrize("cut", [None, 0, 17, 2**50, 2**62])
@pytest.mark.parametrize("max_bins", [40, 5_000, 2**20])
@pytest.mark.parametrize("n", [0, 1, 2, 400_001])
def test_bins_of_codes_equal_those_by_trying_every_shift(make_codes, cut, max_bins, n):
    """n whole numbers of 64 bits, distributed in four ways. `bins` guesses the shift from a sample
    of the codes and corrects the guess. A guess is hard if codes lie close in some places alone.
    """
    codes = np.sort(make_codes(np.random.default_rng(7), n))
    bins = grid.bins(codes, min_shift=1, max_bins=max_bins, cut=cut)
    found = (bins.shift, bins.start.tolist(), bins.size.tolist())
    assert found == bins_by_trying_every_shift(codes, max_bins, cut)


# Counts from bins ---------------------------------------------------------------------------------


def assert_equal_counts(a, b) -> None:
    for name in ("threshold", "tp", "fp"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_bins_of_few_distinct_scores_have_one_score_each():
    bins = grid.bin_scores(*random_rows(3, 4000, digits=2))
    assert bins.shift == 0
    assert bins.exact.all()


def test_bins_of_few_distinct_scores_have_the_counts_of_the_rows():
    score, label = random_rows(3, 4000, digits=2)
    assert_equal_counts(grid.counts(grid.bin_scores(score, label)), count(score, label))


def test_the_threshold_of_a_bin_is_counted_exactly():
    score, label = random_rows(5, 3000)
    binned = grid.counts(grid.bin_scores(score, label, max_bins=64))
    assert_equal_counts(binned, counts.at(count(score, label), binned.threshold))


def test_a_cut_that_the_bins_were_given_is_counted_exactly():
    score, label = random_rows(6, 3000)
    binned = grid.counts(grid.bin_scores(score, label, max_bins=16, cut=0.123))
    at_cut = counts.at(binned, 0.123)
    assert at_cut.tp.item() == (label & (score >= 0.123)).sum()
    assert at_cut.fp.item() == (~label & (score >= 0.123)).sum()


rows_of_both_classes = (
    st.lists(
        st.tuples(st.floats(-3, 3, width=16) | st.sampled_from([0.0, -0.0, 1.0]), st.booleans()),
        min_size=2,
        max_size=60,
    )
    .map(lambda rows: tuple(np.array(column) for column in zip(*rows, strict=True)))
    .filter(lambda columns: 0 < columns[1].sum() < len(columns[1]))
)


@given(rows_of_both_classes, st.integers(2, 30))
def test_auc_from_bins_is_no_farther_from_the_exact_one_than_its_bound(rows, max_bins):
    score, label = rows
    bins = grid.bin_scores(score, label, max_bins=max_bins)
    binned = grid.counts(bins)
    bound = grid.auc_width(binned, grid.pools_scores(bins))
    assert abs(counts.auc(binned) - counts.auc(count(score, label))) <= bound + 1e-12


# a positive with the score 1.0 and a negative with the score 1.1, in one bin
ONE_BIN_OF_TWO_SCORES = grid.bin_scores(np.array([1.0, 1.1]), np.array([True, False]), max_bins=1)


def test_a_positive_and_a_higher_negative_in_one_bin_count_as_a_tie():
    """The only pair of a positive and a negative is in the wrong order, so that the exact AUC is 0.
    A tie counts one half, so that the AUC from bins is 0.5 too high.
    """
    exact = count([1.0, 1.1], [1, 0])
    error = counts.auc(grid.counts(ONE_BIN_OF_TWO_SCORES)) - counts.auc(exact)
    assert error == 0.5


def test_the_bound_of_auc_from_bins_is_one_half_if_all_rows_share_a_bin():
    """The order of the only pair is unknown: the AUC may be 0 or 1 where the bins say 0.5."""
    binned = grid.counts(ONE_BIN_OF_TWO_SCORES)
    assert grid.auc_width(binned, grid.pools_scores(ONE_BIN_OF_TWO_SCORES)) == 0.5


def test_auc_from_bins_of_one_score_each_has_the_bound_0():
    bins = grid.bin_scores(*random_rows(3, 4000, digits=2))
    assert grid.auc_width(grid.counts(bins), grid.pools_scores(bins)) == 0


def average_precision_limits(score, label, max_bins):
    bins = grid.bin_scores(score, label, max_bins=max_bins)
    return grid.average_precision_limits(grid.counts(bins), grid.pools_scores(bins))


@given(rows_of_both_classes, st.integers(2, 30))
def test_average_precision_lies_within_its_limits_from_bins(rows, max_bins):
    limits = average_precision_limits(*rows, max_bins)
    exact = counts.average_precision(count(*rows))
    assert limits.low - 1e-12 <= exact <= limits.high + 1e-12


def test_average_precision_from_bins_of_one_score_each_is_exact():
    limits = average_precision_limits(*random_rows(3, 4000, digits=2), max_bins=2**20)
    assert limits.low == limits.high


def test_average_precision_lies_within_its_limits_if_a_bin_has_positives_alone():
    """Their order among themselves matters, although no negative ties with them."""
    score = np.array([3.0, 1.0, 0.75, 0.25, -0.5, -0.5, -1.0])
    label = np.array([False, True, True, True, True, False, False])
    low, high = average_precision_limits(score, label, max_bins=3)
    assert low <= counts.average_precision(count(score, label)) <= high


# Weights ------------------------------------------------------------------------------------------

# the unit of weight for 2,000 rows that weigh up to 10: a power of two, 2⁻⁴⁷
WEIGHT_UNIT = grid.scale_of(10.0, 2000, integers=False)


def test_weights_in_whole_units_add_up_to_the_same_in_any_order():
    """Each bin of the score holds the sum of the weights of its rows. A sum of floats depends on
    the order of the rows, by rounding; a sum of whole numbers does not. `in_units` therefore turns
    a weight into a whole multiple of a tiny unit.

    2,000 rows have weights between 0 and 10, and scores of one decimal, so that rows share bins.
    """
    rng = np.random.default_rng(8)
    score, label = random_rows(seed=8, n=2000, digits=1)
    weight = grid.in_units(rng.random(2000) * 10, WEIGHT_UNIT)
    order = rng.permutation(2000)
    in_another_order = grid.bin_scores(score[order], label[order], weight[order])
    assert_equal_bins(grid.bin_scores(score, label, weight), in_another_order)


def test_weights_in_whole_units_give_the_counts_of_the_weights():
    """Each weight, between 0 and 10, is turned into a whole multiple of WEIGHT_UNIT, a tiny number,
    and the multiples are added up in bins of the score. Times the unit, the weight of the positives
    at or above each score, tp, must be that of the weights themselves, up to rounding: 1e-13.
    """
    score, label = random_rows(8, 2000, digits=1)
    weight = np.random.default_rng(8).random(2000) * 10
    bins = grid.bin_scores(score, label, grid.in_units(weight, WEIGHT_UNIT))
    in_units = grid.counts(bins, WEIGHT_UNIT)
    exact = count(score, positive=weight * label, negative=weight * ~label)
    np.testing.assert_allclose(in_units.tp, exact.tp, rtol=1e-13)


def test_a_whole_weight_counts_as_that_many_rows():
    score, label = random_rows(9, 300, digits=1)
    weight = np.random.default_rng(9).integers(0, 3, 300)
    weighted = grid.counts(grid.bin_scores(score, label, weight))
    assert_equal_counts(weighted, count(np.repeat(score, weight), np.repeat(label, weight)))


# What is computed from bins -----------------------------------------------------------------------


def test_the_middle_of_a_bin_of_one_score_is_that_score():
    score, label = random_rows(10, 500)
    middles = grid.middles(grid.bin_scores(score, label))
    assert np.array_equal(middles, np.sort(score)[::-1])


def test_the_middle_of_a_bin_is_not_below_its_threshold():
    bins = grid.bin_scores(*random_rows(10, 500), max_bins=20)
    assert (grid.middles(bins) >= grid.counts(bins).threshold).all()


def test_the_variance_of_auc_from_many_bins_is_nearly_that_from_scores():
    score, label = random_rows(11, 20_000)
    binned = grid.counts(grid.bin_scores(score, label, max_bins=4096))
    exact = count(score, label)
    assert influence.auc_variance(binned) == pytest.approx(influence.auc_variance(exact), rel=1e-3)


NO_ROWS = grid.bin_scores(np.empty(0), np.empty(0, bool))


def test_bins_of_no_rows_merge_to_none():
    assert len(grid.merge([NO_ROWS, NO_ROWS]).low) == 0


def test_the_auc_of_no_bins_is_undefined():
    assert np.isnan(counts.auc(grid.counts(NO_ROWS)))

"""Bins of scores: they depend on the set of rows alone, every threshold is exact, the bounds
hold.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evalkit.metrics import counts, grid, influence
from evalkit.metrics.counts import count
from evalkit.metrics.grid import Grid

FIELDS = ("low", "high", "positive", "negative")


def same(a: Grid, b: Grid) -> bool:
    return a.shift == b.shift and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in FIELDS
    )


def random_rows(seed: int, n: int, digits: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Scores, rounded to so many digits, and labels, three of ten positive."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    if digits is not None:
        score = np.round(score, digits)
    return score, rng.random(n) < 0.3


@pytest.mark.parametrize("max_bins", [50, 1000, 2**20])
@pytest.mark.parametrize("cut", [None, 0.3])
@pytest.mark.parametrize("weighted", ["", "weighted"])
def test_the_bins_do_not_depend_on_chunks_or_order(max_bins, cut, weighted):
    score, label = random_rows(1, 5000, digits=3)
    rng = np.random.default_rng(2)
    weight = rng.integers(0, 4, len(score)) if weighted else None

    def bins_of(rows) -> Grid:
        weight_of_rows = None if weight is None else weight[rows]
        return grid.reduce(score[rows], label[rows], weight_of_rows, max_bins=max_bins, cut=cut)

    bins_of_all = bins_of(slice(None))
    for _ in range(5):
        order = rng.permutation(len(score))
        chunks = np.array_split(order, np.sort(rng.integers(0, len(score), 6)))
        grids = [bins_of(rows) for rows in chunks]
        rng.shuffle(grids)
        halves = [grid.merge(grids[:3], max_bins), grid.merge(grids[3:], max_bins)]
        assert same(grid.merge(halves, max_bins), bins_of_all)


@pytest.mark.parametrize("max_bins", [10, 300, 2**20])
@pytest.mark.parametrize("cut", [None, 0.3, 2.5])
@pytest.mark.parametrize("most_apart", [1.0, 8.0])
def test_bins_are_the_same_where_the_label_fits_beside_the_score_and_where_not(
    monkeypatch, max_bins, cut, most_apart
):
    """Scores below 2 in size are sorted with their labels; others, and these where that is switched
    off, without.
    """
    score, label = random_rows(6, 100_000, digits=4)
    score = score / np.abs(score).max() * most_apart * 0.999
    found = grid.reduce(score, label, max_bins=max_bins, cut=cut)
    monkeypatch.setattr(grid, "with_label", lambda score, label: None)
    assert same(found, grid.reduce(score, label, max_bins=max_bins, cut=cut))
    assert found.positive.sum() == label.sum()


@given(st.integers(0, 40), st.integers(2, 3000), st.integers(5, 300_000))
def test_the_shift_is_the_least_that_leaves_so_few_bins(spread, max_bins, n):
    code = np.sort(np.random.default_rng(n).integers(0, 2**spread + 1, n))
    shift = grid.bins(code, min_shift=0, max_bins=max_bins, cut=None).shift
    assert len(np.unique(code >> shift)) <= max_bins
    assert shift == 0 or len(np.unique(code >> (shift - 1))) > max_bins


def few_distinct_codes(rng, n):
    return rng.integers(0, 30, n)


def many_distinct_codes(rng, n):
    return rng.integers(0, 2**60, n)


def uneven_codes(rng, n):
    """So that the sample of sorted codes, which is taken at even distances, misleads in either
    direction.
    """
    return np.concatenate([rng.integers(0, 2**9, n // 2), rng.integers(2**40, 2**60, n - n // 2)])


def codes_in_runs(rng, n):
    """Even in the runs of neighbouring codes that the sample takes, uneven elsewhere."""
    is_sampled = np.arange(n) % (n // 64 + 1) < 1024
    return np.arange(n) * 2**20 + np.where(is_sampled, 0, rng.integers(0, 2**19, n))


KINDS_OF_CODES = [few_distinct_codes, many_distinct_codes, uneven_codes, codes_in_runs]


@pytest.mark.parametrize("make_codes", KINDS_OF_CODES)
@pytest.mark.parametrize("cut", [None, 0, 17, 2**50, 2**62])
@pytest.mark.parametrize("max_bins", [40, 5_000, 2**20])
@pytest.mark.parametrize("n", [0, 1, 2, 400_001])
def test_bins_begin_where_more_than_the_last_bits_differ(make_codes, cut, max_bins, n):
    codes = np.sort(make_codes(np.random.default_rng(7), n))
    different_bits = (codes[1:] ^ codes[:-1]).view(np.uint64)
    max_borders = max_bins - 1 - (cut is not None)
    expected_shift = next(
        shift for shift in range(1, 64) if np.count_nonzero(different_bits >> shift) <= max_borders
    )
    begins = np.append(True, different_bits >> expected_shift > 0)[:n]
    at_cut = np.searchsorted(codes, np.inf if cut is None else cut)
    begins[at_cut : at_cut + 1] = True
    split = grid.bins(codes, min_shift=1, max_bins=max_bins, cut=cut)
    assert split.shift == expected_shift
    np.testing.assert_array_equal(split.start, np.flatnonzero(begins))
    np.testing.assert_array_equal(split.size, np.diff(np.flatnonzero(begins), append=n))


def test_few_distinct_scores_are_counted_exactly():
    score, label = random_rows(3, 4000, digits=2)
    g = grid.reduce(score, label)
    c = count(score, label)
    found = grid.counts(g)
    assert g.shift == 0
    assert g.exact.all()
    assert np.array_equal(found.threshold, c.threshold)
    assert np.array_equal(found.tp, c.tp)
    assert np.array_equal(found.fp, c.fp)


def test_every_threshold_of_the_table_is_a_point_of_the_exact_curve():
    score, label = random_rows(5, 3000)
    found = grid.counts(grid.reduce(score, label, max_bins=64))
    exact = counts.at(count(score, label), found.threshold)
    assert np.array_equal(found.tp, exact.tp)
    assert np.array_equal(found.fp, exact.fp)


def test_a_cut_is_counted_exactly():
    score, label = random_rows(6, 3000)
    found = counts.at(grid.counts(grid.reduce(score, label, max_bins=16, cut=0.123)), 0.123)
    assert (found.tp.item(), found.fp.item()) == (
        int((label & (score >= 0.123)).sum()),
        int((~label & (score >= 0.123)).sum()),
    )


values = st.lists(
    st.tuples(st.floats(-3, 3, width=16) | st.sampled_from([0.0, -0.0, 1.0]), st.booleans()),
    min_size=2,
    max_size=60,
)


@given(values, st.integers(2, 30))
def test_auc_from_bins_is_no_farther_off_than_its_bound(rows, max_bins):
    score, label = (np.array(column) for column in zip(*rows, strict=True))
    if label.all() or not label.any():
        return
    bins = grid.reduce(score, label, max_bins=max_bins)
    binned = grid.counts(bins)
    bound = grid.auc_width(binned, grid.pools_scores(bins))
    assert abs(counts.auc(binned) - counts.auc(count(score, label))) <= bound + 1e-12
    if bins.shift == 0:
        assert bound == 0


@given(values, st.integers(2, 30))
def test_average_precision_is_within_the_limits_from_bins(rows, max_bins):
    score, label = (np.array(column) for column in zip(*rows, strict=True))
    if label.all() or not label.any():
        return
    bins = grid.reduce(score, label, max_bins=max_bins)
    limits = grid.average_precision_limits(grid.counts(bins), grid.pools_scores(bins))
    exact = counts.average_precision(count(score, label))
    assert limits.low - 1e-12 <= exact <= limits.high + 1e-12
    if bins.shift == 0:
        assert limits.low == limits.high


def test_positives_alone_in_a_bin_are_no_tie():
    score = np.array([3.0, 1.0, 0.75, 0.25, -0.5, -0.5, -1.0])
    label = np.array([False, True, True, True, True, False, False])
    g = grid.reduce(score, label, max_bins=3)
    low, high = grid.average_precision_limits(grid.counts(g), grid.pools_scores(g))
    assert g.shift > 0
    assert low <= counts.average_precision(count(score, label)) <= high


def test_auc_from_bins_may_be_as_far_off_as_its_bound():
    score = np.array([1.0, 1.1])
    label = np.array([True, False])
    bins = grid.reduce(score, label, max_bins=1)
    binned = grid.counts(bins)
    error = counts.auc(binned) - counts.auc(count(score, label))
    assert error == grid.auc_width(binned, grid.pools_scores(bins)) == 0.5


SCALE = grid.scale_of(10.0, 2000, integers=False)


def test_weights_of_any_kind_add_up_alike_in_any_order():
    rng = np.random.default_rng(8)
    score, label = random_rows(8, 2000, digits=1)
    weight = grid.in_units(rng.random(2000) * 10, SCALE)
    order = rng.permutation(2000)
    in_another_order = grid.reduce(score[order], label[order], weight[order])
    assert same(grid.reduce(score, label, weight), in_another_order)


def test_weights_in_whole_units_give_the_counts_of_the_weights():
    score, label = random_rows(8, 2000, digits=1)
    weight = np.random.default_rng(8).random(2000) * 10
    in_units = grid.counts(grid.reduce(score, label, grid.in_units(weight, SCALE)), SCALE)
    exact = count(score, weight * label, weight * ~label)
    assert np.allclose(in_units.tp, exact.tp, rtol=1e-13)
    assert counts.auc(in_units) == pytest.approx(counts.auc(exact), rel=1e-12)


def test_weights_are_repetitions():
    score, label = random_rows(9, 300, digits=1)
    weight = np.random.default_rng(9).integers(0, 3, 300)
    found = grid.counts(grid.reduce(score, label, weight))
    exact = count(np.repeat(score, weight), np.repeat(label, weight))
    assert np.array_equal(found.threshold, exact.threshold)
    assert np.array_equal(found.tp, exact.tp)


def test_the_middle_of_an_exact_bin_is_its_score():
    score, label = random_rows(10, 500)
    fine = grid.reduce(score, label)
    coarse = grid.reduce(score, label, max_bins=20)
    assert np.array_equal(grid.middles(fine), np.sort(score)[::-1])
    assert (grid.middles(coarse) >= grid.counts(coarse).threshold).all()


def test_the_variance_of_binned_scores_is_nearly_that_of_the_scores():
    score, label = random_rows(11, 20_000)
    binned = grid.counts(grid.reduce(score, label, max_bins=4096))
    exact = count(score, label)
    assert influence.auc_variance(binned) == pytest.approx(influence.auc_variance(exact), rel=1e-3)


def test_no_rows():
    g = grid.reduce(np.empty(0), np.empty(0, bool))
    assert len(grid.merge([g, g]).low) == 0
    assert np.isnan(counts.auc(grid.counts(g)))

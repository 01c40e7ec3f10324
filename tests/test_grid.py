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


def drawn(seed: int, n: int, ties: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    return (score if ties is None else np.round(score, ties)), rng.random(n) < 0.3


@pytest.mark.parametrize("max_bins", [50, 1000, 2**20])
@pytest.mark.parametrize("cut", [None, 0.3])
@pytest.mark.parametrize("weighted", ["", "weighted"])
def test_the_bins_do_not_depend_on_chunks_or_order(max_bins, cut, weighted):
    score, label = drawn(1, 5000, ties=3)
    rng = np.random.default_rng(2)
    weight = rng.integers(0, 4, len(score)) if weighted else None
    whole = grid.reduce(score, label, weight, max_bins=max_bins, cut=cut)
    for _ in range(5):
        order = rng.permutation(len(score))
        chunks = np.array_split(order, np.sort(rng.integers(0, len(score), 6)))
        parts = [
            grid.reduce(
                score[at],
                label[at],
                None if weight is None else weight[at],
                max_bins=max_bins,
                cut=cut,
            )
            for at in chunks
        ]
        rng.shuffle(parts)
        found = grid.merge(
            [grid.merge(parts[:3], max_bins), grid.merge(parts[3:], max_bins)], max_bins
        )
        assert same(found, whole)


@pytest.mark.parametrize("max_bins", [10, 300, 2**20])
@pytest.mark.parametrize("cut", [None, 0.3, 2.5])
@pytest.mark.parametrize("most_apart", [1.0, 8.0])
def test_bins_are_the_same_where_the_label_fits_beside_the_score_and_where_not(
    monkeypatch, max_bins, cut, most_apart
):
    """Scores below 2 in size are sorted with their labels; others, and these where that is switched
    off, without.
    """
    score, label = drawn(6, 100_000, ties=4)
    score = score / np.abs(score).max() * most_apart * 0.999
    found = grid.reduce(score, label, max_bins=max_bins, cut=cut)
    monkeypatch.setattr(grid, "with_label", lambda score, label: None)
    assert same(found, grid.reduce(score, label, max_bins=max_bins, cut=cut))
    assert found.positive.sum() == label.sum()


@given(st.integers(0, 40), st.integers(2, 3000), st.integers(5, 300_000))
def test_the_shift_is_the_least_that_leaves_so_few_bins(spread, max_bins, n):
    code = np.sort(np.random.default_rng(n).integers(0, 2**spread + 1, n))
    shift, *_ = grid.bins(code, 0, max_bins, None)
    assert len(np.unique(code >> shift)) <= max_bins
    assert shift == 0 or len(np.unique(code >> (shift - 1))) > max_bins


def few(rng, n):
    return rng.integers(0, 30, n)


def many(rng, n):
    return rng.integers(0, 2**60, n)


def uneven(rng, n):
    """So that the sample of sorted codes, which is taken at even distances, misleads in either
    direction.
    """
    return np.concatenate([rng.integers(0, 2**9, n // 2), rng.integers(2**40, 2**60, n - n // 2)])


def clustered(rng, n):
    return np.arange(n) * 2**20 + np.where(
        np.arange(n) % (n // 64 + 1) < 1024, 0, rng.integers(0, 2**19, n)
    )


@pytest.mark.parametrize("codes_of", [few, many, uneven, clustered])
@pytest.mark.parametrize("cut", [None, 0, 17, 2**50, 2**62])
@pytest.mark.parametrize("max_bins", [40, 5_000, 2**20])
@pytest.mark.parametrize("n", [0, 1, 2, 400_001])
def test_bins_begin_where_more_than_the_last_bits_differ(codes_of, cut, max_bins, n):
    codes = np.sort(codes_of(np.random.default_rng(7), n))
    apart = (codes[1:] ^ codes[:-1]).view(np.uint64)
    room = max_bins - 1 - (cut is not None)
    shift = next(shift for shift in range(1, 64) if np.count_nonzero(apart >> shift) <= room)
    begins = np.append(True, apart >> shift > 0)[:n]
    begins[np.searchsorted(codes, np.inf if cut is None else cut) :][:1] = True
    found, start, size = grid.bins(codes, 1, max_bins, cut)
    assert found == shift
    np.testing.assert_array_equal(start, np.flatnonzero(begins))
    np.testing.assert_array_equal(size, np.diff(np.flatnonzero(begins), append=n))


def test_few_distinct_scores_are_counted_exactly():
    score, label = drawn(3, 4000, ties=2)
    g = grid.reduce(score, label)
    c = count(score, label)
    found = grid.counts(g)
    assert g.shift == 0
    assert g.exact.all()
    assert np.array_equal(found.threshold, c.threshold)
    assert np.array_equal(found.tp, c.tp)
    assert np.array_equal(found.fp, c.fp)


def test_every_threshold_of_the_table_is_a_point_of_the_exact_curve():
    score, label = drawn(5, 3000)
    found = grid.counts(grid.reduce(score, label, max_bins=64))
    exact = counts.at(count(score, label), found.threshold)
    assert np.array_equal(found.tp, exact.tp)
    assert np.array_equal(found.fp, exact.fp)


def test_a_cut_is_counted_exactly():
    score, label = drawn(6, 3000)
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
def test_the_bounds_hold(rows, max_bins):
    score = np.array([s for s, _ in rows])
    label = np.array([y for _, y in rows])
    if label.all() or not label.any():
        return
    g = grid.reduce(score, label, max_bins=max_bins)
    c = count(score, label)
    found = grid.counts(g)
    spread = grid.pools_scores(g)
    assert abs(counts.auc(found) - counts.auc(c)) <= grid.auc_width(found, spread) + 1e-12
    low, high = grid.average_precision_limits(found, spread)
    assert low - 1e-12 <= counts.average_precision(c) <= high + 1e-12
    if g.shift == 0:
        assert grid.auc_width(found, spread) == 0
        assert low == high


def test_positives_alone_in_a_bin_are_no_tie():
    score = np.array([3.0, 1.0, 0.75, 0.25, -0.5, -0.5, -1.0])
    label = np.array([False, True, True, True, True, False, False])
    g = grid.reduce(score, label, max_bins=3)
    low, high = grid.average_precision_limits(grid.counts(g), grid.pools_scores(g))
    assert g.shift > 0
    assert low <= counts.average_precision(count(score, label)) <= high


def test_the_bound_is_met():
    score = np.array([1.0, 1.1])
    label = np.array([True, False])
    g = grid.reduce(score, label, max_bins=1)
    found = grid.counts(g)
    assert counts.auc(found) == 0.5
    assert counts.auc(count(score, label)) == 0.0
    assert grid.auc_width(found, grid.pools_scores(g)) == 0.5


def test_weights_of_any_kind_add_up_alike_in_any_order():
    rng = np.random.default_rng(8)
    score, label = drawn(8, 2000, ties=1)
    weight = rng.random(2000) * 10
    scale = grid.scale_of(weight.max(), 2000, integers=False)
    g = grid.reduce(score, label, grid.in_units(weight, scale))
    order = rng.permutation(2000)
    assert same(g, grid.reduce(score[order], label[order], grid.in_units(weight[order], scale)))
    found = grid.counts(g, scale)
    exact = count(score, weight * label, weight * ~label)
    assert np.allclose(found.tp, exact.tp, rtol=1e-13)
    assert counts.auc(found) == pytest.approx(counts.auc(exact), rel=1e-12)


def test_weights_are_repetitions():
    score, label = drawn(9, 300, ties=1)
    weight = np.random.default_rng(9).integers(0, 3, 300)
    found = grid.counts(grid.reduce(score, label, weight))
    exact = count(np.repeat(score, weight), np.repeat(label, weight))
    assert np.array_equal(found.threshold, exact.threshold)
    assert np.array_equal(found.tp, exact.tp)


def test_the_middle_of_an_exact_bin_is_its_score():
    score, label = drawn(10, 500)
    fine = grid.reduce(score, label)
    coarse = grid.reduce(score, label, max_bins=20)
    assert np.array_equal(grid.middles(fine), np.sort(score)[::-1])
    assert (grid.middles(coarse) >= grid.counts(coarse).threshold).all()


def test_the_variance_of_binned_scores_is_nearly_that_of_the_scores():
    score, label = drawn(11, 20_000)
    binned = grid.counts(grid.reduce(score, label, max_bins=4096))
    exact = count(score, label)
    assert influence.auc_variance(binned) == pytest.approx(influence.auc_variance(exact), rel=1e-3)


def test_no_rows():
    g = grid.reduce(np.empty(0), np.empty(0, bool))
    assert len(grid.merge([g, g]).low) == 0
    assert np.isnan(counts.auc(grid.counts(g)))

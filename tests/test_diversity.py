"""Diversity, overlap and rank-biased overlap: plain loops, the figures of tools, invariants,
undefined cases.
"""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from samples import expected

from evalkit.arrays import InputError
from evalkit.metrics import diversity as d
from evalkit.metrics.diversity import overlap, rbo

SIZE = 6
LISTS = st.lists(
    st.lists(st.integers(-1, SIZE - 1), max_size=6, unique=True), min_size=1, max_size=6
)
VECTORS = st.lists(
    st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=SIZE, max_size=SIZE
)
ANY_TIME = settings(deadline=None)  # the first call loads pyarrow
CUTS = st.sampled_from([None, 1, 2, 3, 10])


def made(lists):
    """Items from lists of codes, -1 an item outside the catalogue."""
    return d.items(
        [[str(code) for code in one] for one in lists], [str(code) for code in range(SIZE)]
    )


def mean_over_pairs(lists, k, has, similarity):
    """The mean of S(i, j) over ordered pairs, one pair after the other."""
    out = []
    for one in lists:
        kept = [i for i in one[:k] if i >= 0 and has[i]]
        pairs = [similarity(i, j) for a, i in enumerate(kept) for b, j in enumerate(kept) if a != b]
        out.append(np.mean(pairs) if pairs else np.nan)
    return out


@ANY_TIME
@given(LISTS, VECTORS, CUTS)
def test_similarity_equals_the_loop_over_pairs(lists, vectors, k):
    v = np.array(vectors, float)
    norm = np.sqrt((v**2).sum(1))
    expected = mean_over_pairs(lists, k, norm > 0, lambda i, j: v[i] @ v[j] / (norm[i] * norm[j]))
    got = d.intra_list_similarity(made(lists), v, k)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(d.intra_list_diversity(made(lists), v, k), 1 - got, atol=1e-14)
    assert np.all((np.abs(got) <= 1) | np.isnan(got))


@ANY_TIME
@given(LISTS, st.lists(st.integers(-1, 3), min_size=SIZE, max_size=SIZE), CUTS)
def test_category_similarity_equals_the_loop_and_one_hot_features(lists, category, k):
    category = np.array(category)
    expected = mean_over_pairs(
        lists, k, category >= 0, lambda i, j: float(category[i] == category[j])
    )
    got = d.intra_list_similarity_category(made(lists), category, k)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    one_hot = (category[:, None] == np.arange(4)).astype(float)
    np.testing.assert_allclose(got, d.intra_list_similarity(made(lists), one_hot, k), atol=1e-12)
    np.testing.assert_array_equal(
        d.intra_list_diversity_category(made(lists), category, k), 1 - got
    )


@ANY_TIME
@given(LISTS, VECTORS, st.floats(1e-150, 1e150))
def test_similarity_ignores_scale_and_order_within_the_cut(lists, vectors, factor):
    vectors = np.array(vectors, float)
    plain = d.intra_list_similarity(made(lists), vectors)
    np.testing.assert_allclose(
        d.intra_list_similarity(made(lists), factor * vectors), plain, atol=1e-12
    )
    reversed_lists = [one[::-1] for one in lists]
    np.testing.assert_allclose(
        d.intra_list_similarity(made(reversed_lists), vectors), plain, atol=1e-12
    )


def test_similarity_of_identical_orthogonal_opposite_and_single_items():
    s = made([[0, 1], [0, 2], [0, 3], [0], []])
    features = np.array([[1, 7, 3], [1, 7, 3], [-7, 1, 0], [-1, -7, -3], [1, 1, 1], [1, 1, 1]]) / 10
    np.testing.assert_allclose(
        d.intra_list_similarity(s, features), [1, 0, -1, np.nan, np.nan], atol=1e-15
    )


def test_all_distances_one_give_diversity_one_at_every_length():
    s = d.items([list(range(n)) for n in (2, 3, 8)], range(8))
    assert d.intra_list_diversity(s, np.eye(8)).tolist() == [1, 1, 1]


@ANY_TIME
@given(LISTS, st.lists(st.integers(0, 9), min_size=SIZE, max_size=SIZE), CUTS)
def test_novelty_equals_the_loop_and_counts_what_it_leaves_out(lists, count, k):
    share = d.user_share(count, 9)
    s = made(lists)
    kept = [[i for i in one[:k] if i >= 0 and count[i]] for one in lists]
    expected = [np.mean([-np.log2(count[i] / 9) for i in one]) if one else np.nan for one in kept]
    np.testing.assert_allclose(d.novelty(s, share, k), expected, atol=1e-12)
    assert d.unknown_items(s, share > 0, k).tolist() == [
        len(a[:k]) - len(b) for a, b in zip(lists, kept, strict=True)
    ]


def test_a_cold_item_does_not_lower_novelty():
    share = d.interaction_share([6, 2, 0, 0, 0, 0])
    np.testing.assert_allclose(d.novelty(made([[1], [1, 2], [2]]), share), [2, 2, np.nan])


def test_the_two_shares_differ_and_add_one_takes_in_the_cold_items():
    count = np.array([3, 1, 0, 0, 0, 0])
    np.testing.assert_allclose(d.interaction_share(count)[:3], [0.75, 0.25, np.nan])
    np.testing.assert_allclose(d.user_share(count, 3)[:3], [1, 1 / 3, np.nan])
    np.testing.assert_allclose(
        d.novelty(made([[2]]), d.interaction_share(count + 1)), [np.log2(10)]
    )


@ANY_TIME
@given(LISTS, CUTS)
def test_coverage_and_exposure_equal_the_loop(lists, k):
    s = made(lists)
    shown = [i for one in lists for i in one[:k] if i >= 0]
    assert d.exposure(s, k).tolist() == [shown.count(i) for i in range(SIZE)]
    assert d.catalogue_coverage(s, k) == len(set(shown)) / SIZE
    assert d.unknown_items(s, np.ones(SIZE, bool), k).sum() == sum(-1 in one[:k] for one in lists)


@ANY_TIME
@given(st.lists(st.integers(0, 20), min_size=1, max_size=12).filter(any))
def test_gini_is_half_the_relative_mean_difference(amounts):
    x = np.array(amounts, float)
    expected = np.abs(x[:, None] - x).mean() / (2 * x.mean())
    assert d.gini(x) == pytest.approx(expected, abs=1e-12)
    assert d.gini(7 * x) == pytest.approx(d.gini(x), abs=1e-12)
    assert -1e-12 <= d.gini(x) <= 1 - 1 / len(x) + 1e-12


def test_gini_counts_the_items_that_no_list_shows():
    s = made([[0, 1], [0, 1]])
    assert d.exposure_gini(s) == pytest.approx(4 / 6)


def test_gini_without_exposure_and_coverage_without_catalogue_are_undefined():
    assert np.isnan(d.exposure_gini(made([[], [-1]])))
    assert np.isnan(d.catalogue_coverage(d.items([["a"]], [])))
    assert d.catalogue_coverage(made([[]])) == 0


@ANY_TIME
@given(LISTS.filter(lambda lists: len(lists) > 1), CUTS)
def test_values_by_list_are_the_jackknife(lists, k):
    s = made(lists)
    for whole, by_list in (
        (d.catalogue_coverage, d.catalogue_coverage_by_list),
        (d.exposure_gini, d.exposure_gini_by_list),
    ):
        without = np.array([whole(made(lists[:i] + lists[i + 1 :]), k) for i in range(len(lists))])
        got = by_list(s, k)
        expected = whole(s, k) + (len(lists) - 1) * (without.mean() - without)
        np.testing.assert_allclose(got, expected, atol=1e-12)
        if not np.isnan(without).any():
            assert got.mean() == pytest.approx(whole(s, k), abs=1e-12)


@ANY_TIME
@given(LISTS, CUTS)
def test_leaving_out_units_of_one_list_is_leaving_out_lists(lists, k):
    of = made(lists)
    unit = np.arange(len(lists))
    assert d.jackknife_by_unit(of, unit, d.share_exposed, k) == pytest.approx(
        d.catalogue_coverage_by_list(of, k)
    )
    by_list = d.exposure_gini_by_list(of, k)
    assert d.jackknife_by_unit(of, unit, d.gini, k) == pytest.approx(by_list, nan_ok=True)


def test_a_unit_is_left_out_with_all_its_lists():
    of = made([[0, 1], [0, 2], [3], [1, 4]])
    unit = np.array(["u", "v", "v", "w"])
    without = {"u": [[0, 2], [3], [1, 4]], "v": [[0, 1], [1, 4]], "w": [[0, 1], [0, 2], [3]]}
    theta = np.array([d.exposure_gini(made(rest)) for rest in without.values()])
    expected = d.exposure_gini(of) + 2 * (theta.mean() - theta)
    assert d.jackknife_by_unit(of, unit, d.gini) == pytest.approx(expected)


def test_items_with_the_same_features_have_no_distance():
    v = np.random.default_rng(0).normal(size=(40, 3))
    lists = d.items([["a", "b"], ["b", "c"], list("abcdef")], list("abcdef"))
    assert not any(d.intra_list_diversity(lists, np.tile(row, (6, 1))).any() for row in v)


def test_ids_are_text_and_keep_their_zeros():
    s = d.items([["007", "7"], [], ["x"]], ["7", "007"])
    assert s.item.tolist() == [1, 0, -1]
    assert s.offset.tolist() == [0, 2, 2, 3]
    big = 2**63 - 1
    assert d.items([[], [big, big - 1]], [big - 1, big]).item.tolist() == [1, 0]
    with pytest.raises(InputError, match="catalogue must hold each item once, got None"):
        d.items([["a"]], np.array(["a", None]))


FIGURES = expected("lists")
IDS = st.lists(st.integers(0, 9), max_size=8, unique=True)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=5)


def both(pairs):
    return [
        d.items([[str(i) for i in pair[side]] for pair in pairs], [str(i) for i in range(10)])
        for side in (0, 1)
    ]


def term_by_term(a, b, p):
    """Equation 32 as it is printed."""
    short, long = sorted((a, b), key=len)
    s = len(short)
    length = len(long)
    if not s:
        return np.nan
    x = [len({*short[:depth]} & {*long[:depth]}) for depth in range(length + 1)]
    first = sum(x[depth] / depth * p**depth for depth in range(1, length + 1))
    second = sum(x[s] * (depth - s) / (s * depth) * p**depth for depth in range(s + 1, length + 1))
    return (1 - p) / p * (first + second) + ((x[length] - x[s]) / length + x[s] / s) * p**length


@ANY_TIME
@given(PAIRS, st.sampled_from([0.3, 0.9, 0.99]))
def test_rbo_is_the_equation_of_the_paper(pairs, p):
    expected = [term_by_term(*pair, p) for pair in pairs]
    np.testing.assert_allclose(rbo(*both(pairs), p=p), expected, atol=1e-12)
    np.testing.assert_array_equal(rbo(*both(pairs), p=p), rbo(*both(pairs)[::-1], p=p))


@pytest.mark.parametrize("p", FIGURES["rbo"])
def test_rbo_equals_that_of_the_tool(p):
    """Lists of equal and of unequal length."""
    names = FIGURES["catalogue"]["item"]
    first, second = (d.items(FIGURES[side], names) for side in ("first", "second"))
    np.testing.assert_allclose(rbo(first, second, p=float(p)), FIGURES["rbo"][p], atol=1e-10)


@ANY_TIME
@given(PAIRS, st.integers(1, 10))
def test_overlap_counts_common_items(pairs, k):
    longest = [max(len(a[:k]), len(b[:k])) for a, b in pairs]
    common = [len({*a[:k]} & {*b[:k]}) for a, b in pairs]
    expected = [x / n if n else np.nan for x, n in zip(common, longest, strict=True)]
    np.testing.assert_allclose(overlap(*both(pairs), k), expected)


def test_equal_lists_have_1_and_disjoint_ones_0_at_every_length():
    same, other = both([([1, 2, 3], [4, 5]), ([1], [2]), ([], [1])])
    np.testing.assert_allclose(rbo(same, same), [1, 1, np.nan])
    np.testing.assert_array_equal(rbo(same, other), [0, 0, np.nan])

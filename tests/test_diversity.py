"""Diversity, overlap and rank-biased overlap: plain loops, the figures of tools, invariants,
undefined cases.
"""

from itertools import permutations

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


def items_from_codes(lists):
    """Items from lists of codes, -1 an item outside the catalogue."""
    ids = [[str(code) for code in codes] for codes in lists]
    return d.items(ids, catalogue=[str(code) for code in range(SIZE)])


def mean_over_pairs(lists, k, has, similarity):
    """The mean of S(i, j) over ordered pairs, one pair after the other."""
    means = []
    for codes in lists:
        items = [i for i in codes[:k] if i >= 0 and has[i]]
        similarities = [similarity(i, j) for i, j in permutations(items, 2)]
        means.append(np.mean(similarities) if similarities else np.nan)
    return means


@ANY_TIME
@given(LISTS, VECTORS, CUTS)
def test_similarity_equals_the_loop_over_pairs(lists, vectors, k):
    v = np.array(vectors, float)
    norm = np.sqrt((v**2).sum(1))
    expected = mean_over_pairs(lists, k, norm > 0, lambda i, j: v[i] @ v[j] / (norm[i] * norm[j]))
    got = d.intra_list_similarity(items_from_codes(lists), v, k)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(
        d.intra_list_diversity(items_from_codes(lists), v, k), 1 - got, atol=1e-14
    )
    assert np.all((np.abs(got) <= 1) | np.isnan(got))


@ANY_TIME
@given(LISTS, st.lists(st.integers(-1, 3), min_size=SIZE, max_size=SIZE), CUTS)
def test_category_similarity_equals_the_loop_and_one_hot_features(lists, category, k):
    category = np.array(category)
    expected = mean_over_pairs(
        lists, k, category >= 0, lambda i, j: float(category[i] == category[j])
    )
    got = d.intra_list_similarity_category(items_from_codes(lists), category, k)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    one_hot = (category[:, None] == np.arange(4)).astype(float)
    np.testing.assert_allclose(
        got, d.intra_list_similarity(items_from_codes(lists), one_hot, k), atol=1e-12
    )
    np.testing.assert_array_equal(
        d.intra_list_diversity_category(items_from_codes(lists), category, k), 1 - got
    )


@ANY_TIME
@given(LISTS, VECTORS, st.floats(1e-150, 1e150))
def test_similarity_ignores_scale_and_order_within_the_cut(lists, vectors, factor):
    vectors = np.array(vectors, float)
    plain = d.intra_list_similarity(items_from_codes(lists), vectors)
    np.testing.assert_allclose(
        d.intra_list_similarity(items_from_codes(lists), factor * vectors), plain, atol=1e-12
    )
    reversed_lists = [one[::-1] for one in lists]
    np.testing.assert_allclose(
        d.intra_list_similarity(items_from_codes(reversed_lists), vectors), plain, atol=1e-12
    )


def test_similarity_of_identical_orthogonal_opposite_and_single_items():
    s = items_from_codes([[0, 1], [0, 2], [0, 3], [0], []])
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
    s = items_from_codes(lists)
    kept = [[i for i in one[:k] if i >= 0 and count[i]] for one in lists]
    expected = [np.mean([-np.log2(count[i] / 9) for i in one]) if one else np.nan for one in kept]
    np.testing.assert_allclose(d.novelty(s, share, k), expected, atol=1e-12)
    assert d.unknown_items(s, share > 0, k).tolist() == [
        len(a[:k]) - len(b) for a, b in zip(lists, kept, strict=True)
    ]


def test_a_cold_item_does_not_lower_novelty():
    share = d.interaction_share([6, 2, 0, 0, 0, 0])
    np.testing.assert_allclose(
        d.novelty(items_from_codes([[1], [1, 2], [2]]), share), [2, 2, np.nan]
    )


def test_the_two_shares_differ_and_add_one_takes_in_the_cold_items():
    count = np.array([3, 1, 0, 0, 0, 0])
    np.testing.assert_allclose(d.interaction_share(count)[:3], [0.75, 0.25, np.nan])
    np.testing.assert_allclose(d.user_share(count, 3)[:3], [1, 1 / 3, np.nan])
    np.testing.assert_allclose(
        d.novelty(items_from_codes([[2]]), d.interaction_share(count + 1)), [np.log2(10)]
    )


@ANY_TIME
@given(LISTS, CUTS)
def test_coverage_and_exposure_equal_the_loop(lists, k):
    s = items_from_codes(lists)
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
    s = items_from_codes([[0, 1], [0, 1]])
    assert d.exposure_gini(s) == pytest.approx(4 / 6)


def test_gini_is_undefined_if_no_item_is_shown():
    assert np.isnan(d.exposure_gini(items_from_codes([[], [-1]])))


def test_coverage_of_an_empty_catalogue_is_undefined():
    assert np.isnan(d.catalogue_coverage(d.items([["a"]], catalogue=[])))


def test_coverage_is_0_if_no_item_is_shown():
    assert d.catalogue_coverage(items_from_codes([[]])) == 0


metrics_of_all_lists = pytest.mark.parametrize(
    ("metric", "by_list"),
    [
        (d.catalogue_coverage, d.catalogue_coverage_by_list),
        (d.exposure_gini, d.exposure_gini_by_list),
    ],
)
SEVERAL_LISTS = LISTS.filter(lambda lists: len(lists) > 1)


@metrics_of_all_lists
@ANY_TIME
@given(lists=SEVERAL_LISTS, k=CUTS)
def test_values_by_list_are_the_jackknife(metric, by_list, lists, k):
    n = len(lists)
    without = [metric(items_from_codes(lists[:i] + lists[i + 1 :]), k) for i in range(n)]
    items = items_from_codes(lists)
    expected = metric(items, k) + (n - 1) * (np.mean(without) - np.array(without))
    np.testing.assert_allclose(by_list(items, k), expected, atol=1e-12)


@metrics_of_all_lists
@ANY_TIME
@given(lists=SEVERAL_LISTS, k=CUTS)
def test_the_mean_of_the_values_by_list_is_the_metric(metric, by_list, lists, k):
    items = items_from_codes(lists)
    values = by_list(items, k)
    if not np.isnan(values).any():
        assert values.mean() == pytest.approx(metric(items, k), abs=1e-12)


@ANY_TIME
@given(LISTS, CUTS)
def test_leaving_out_units_of_one_list_is_leaving_out_lists(lists, k):
    items = items_from_codes(lists)
    unit = np.arange(len(lists))
    coverage = d.jackknife_by_unit(items, unit, d.share_exposed, k)
    assert coverage == pytest.approx(d.catalogue_coverage_by_list(items, k))
    gini = d.jackknife_by_unit(items, unit, d.gini, k)
    assert gini == pytest.approx(d.exposure_gini_by_list(items, k), nan_ok=True)


def test_a_unit_is_left_out_with_all_its_lists():
    items = items_from_codes([[0, 1], [0, 2], [3], [1, 4]])
    unit = np.array(["u", "v", "v", "w"])
    without = {"u": [[0, 2], [3], [1, 4]], "v": [[0, 1], [1, 4]], "w": [[0, 1], [0, 2], [3]]}
    gini_without = np.array(
        [d.exposure_gini(items_from_codes(others)) for others in without.values()]
    )
    expected = d.exposure_gini(items) + 2 * (gini_without.mean() - gini_without)
    assert d.jackknife_by_unit(items, unit, d.gini) == pytest.approx(expected)


def test_items_with_the_same_features_have_no_distance():
    v = np.random.default_rng(0).normal(size=(40, 3))
    lists = d.items([["a", "b"], ["b", "c"], list("abcdef")], list("abcdef"))
    assert not any(d.intra_list_diversity(lists, np.tile(row, (6, 1))).any() for row in v)


def test_ids_are_text_and_keep_their_zeros():
    lists = d.items([["007", "7"], [], ["x"]], catalogue=["7", "007"])
    assert lists.item.tolist() == [1, 0, -1]


def test_an_empty_list_has_no_rows():
    lists = d.items([["a", "b"], [], ["a"]], catalogue=["a", "b"])
    assert lists.offset.tolist() == [0, 2, 2, 3]


def test_large_whole_numbers_are_different_ids():
    largest = 2**63 - 1
    lists = d.items([[], [largest, largest - 1]], catalogue=[largest - 1, largest])
    assert lists.item.tolist() == [1, 0]


def test_a_missing_id_in_the_catalogue_is_refused():
    with pytest.raises(InputError, match="catalogue must hold each item once, got None"):
        d.items([["a"]], np.array(["a", None]))


FIGURES = expected("lists")
IDS = st.lists(st.integers(0, 9), max_size=8, unique=True)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=5)


def items_of_both_systems(pairs):
    """The lists of the first and of the second system, from a pair of lists of codes per query."""
    catalogue = [str(code) for code in range(10)]
    systems = zip(*pairs, strict=True)
    return [d.items([[*map(str, codes)] for codes in lists], catalogue) for lists in systems]


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


PERSISTENCES = st.sampled_from([0.3, 0.9, 0.99])


@ANY_TIME
@given(PAIRS, PERSISTENCES)
def test_rbo_is_the_equation_of_the_paper(pairs, p):
    first, second = items_of_both_systems(pairs)
    expected = [term_by_term(*pair, p) for pair in pairs]
    np.testing.assert_allclose(rbo(first, second, p=p), expected, atol=1e-12)


@ANY_TIME
@given(PAIRS, PERSISTENCES)
def test_rbo_is_the_same_if_the_systems_change_places(pairs, p):
    first, second = items_of_both_systems(pairs)
    np.testing.assert_array_equal(rbo(first, second, p=p), rbo(second, first, p=p))


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
    np.testing.assert_allclose(overlap(*items_of_both_systems(pairs), k), expected)


def test_equal_lists_have_1_and_disjoint_ones_0_at_every_length():
    same, other = items_of_both_systems([([1, 2, 3], [4, 5]), ([1], [2]), ([], [1])])
    np.testing.assert_allclose(rbo(same, same), [1, 1, np.nan])
    np.testing.assert_array_equal(rbo(same, other), [0, 0, np.nan])

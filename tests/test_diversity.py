"""Diversity, overlap and rank-biased overlap: plain loops, the figures of tools, invariants,
undefined cases.
"""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from samples import expected

from evalkit.arrays import InputError
from evalkit.metrics import diversity
from evalkit.metrics.diversity import overlap, rbo

SIZE = 6  # items in the catalogue, with the codes 0 to 5
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
    return diversity.items(ids, catalogue=[str(code) for code in range(SIZE)])


def mean_over_pairs(lists, k, has_features, similarity):
    """For each list the mean of similarity(i, j) over the ordered pairs of the items with features
    among its first k; NaN without a pair. The code −1 is an item outside the catalogue, which has
    no features.
    """
    means = []
    for codes in lists:
        items = [i for i in codes[:k] if i >= 0 and has_features[i]]
        similarities = [similarity(i, j) for i, j in permutations(items, 2)]
        means.append(np.mean(similarities) if similarities else np.nan)
    return means


@ANY_TIME
@given(LISTS, VECTORS, CUTS)
def test_intra_list_similarity_is_the_mean_cosine_of_pairs(lists, vectors, k):
    """Random lists of item codes from −1 to 5, a feature vector for each of the codes 0 to 5, and a
    cut-off k or none. The similarity of a list is the mean cosine over all pairs of its first k
    items. A vector of zeros has no cosine; its item is left out, as is the code −1, an item outside
    the catalogue. A list in which no pair is left has NaN.
    """
    features = np.array(vectors, float)
    norm = np.sqrt((features**2).sum(axis=1))

    def cosine(i, j):
        return features[i] @ features[j] / (norm[i] * norm[j])

    expected = mean_over_pairs(lists, k, has_features=norm > 0, similarity=cosine)
    found = diversity.intra_list_similarity(items_from_codes(lists), features, k)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@ANY_TIME
@given(LISTS, VECTORS, CUTS)
def test_intra_list_diversity_is_1_less_the_similarity(lists, vectors, k):
    items = items_from_codes(lists)
    expected = 1 - diversity.intra_list_similarity(items, vectors, k)
    found = diversity.intra_list_diversity(items, vectors, k)
    np.testing.assert_allclose(found, expected, atol=1e-14)


CATEGORIES = st.lists(st.integers(-1, 3), min_size=SIZE, max_size=SIZE).map(np.array)  # -1: none


@ANY_TIME
@given(LISTS, CATEGORIES, CUTS)
def test_similarity_by_category_is_the_share_of_pairs_in_one_category(lists, category, k):
    def same_category(i, j):
        return float(category[i] == category[j])

    expected = mean_over_pairs(lists, k, category >= 0, same_category)
    found = diversity.intra_list_similarity_category(items_from_codes(lists), category, k)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@ANY_TIME
@given(LISTS, CATEGORIES, CUTS)
def test_similarity_by_category_is_that_of_one_hot_features(lists, category, k):
    items = items_from_codes(lists)
    one_hot = (category[:, None] == np.arange(4)).astype(float)
    expected = diversity.intra_list_similarity(items, one_hot, k)
    found = diversity.intra_list_similarity_category(items, category, k)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@ANY_TIME
@given(LISTS, CATEGORIES, CUTS)
def test_diversity_by_category_is_1_less_the_similarity(lists, category, k):
    items = items_from_codes(lists)
    expected = 1 - diversity.intra_list_similarity_category(items, category, k)
    found = diversity.intra_list_diversity_category(items, category, k)
    np.testing.assert_array_equal(found, expected)


@ANY_TIME
@given(LISTS, VECTORS, st.floats(1e-150, 1e150))
def test_the_scale_of_features_does_not_change_similarity(lists, vectors, factor):
    items = items_from_codes(lists)
    features = np.array(vectors, float)
    expected = diversity.intra_list_similarity(items, features)
    scaled = diversity.intra_list_similarity(items, factor * features)
    np.testing.assert_allclose(scaled, expected, atol=1e-12)


@ANY_TIME
@given(LISTS, VECTORS)
def test_the_order_of_items_does_not_change_similarity(lists, vectors):
    expected = diversity.intra_list_similarity(items_from_codes(lists), vectors)
    reversed_items = items_from_codes([codes[::-1] for codes in lists])
    found = diversity.intra_list_similarity(reversed_items, vectors)
    np.testing.assert_allclose(found, expected, atol=1e-12)


FEATURES = np.array([[1, 7, 3], [1, 7, 3], [-7, 1, 0], [-1, -7, -3], [1, 1, 1], [1, 1, 1]]) / 10


@pytest.mark.parametrize(
    "codes, similarity",
    [
        pytest.param([0, 1], 1, id="equal"),
        pytest.param([0, 2], 0, id="orthogonal"),
        pytest.param([0, 3], -1, id="opposite"),
        pytest.param([0], np.nan, id="one item"),
        pytest.param([], np.nan, id="no item"),
    ],
)
def test_similarity_by_hand(codes, similarity):
    (found,) = diversity.intra_list_similarity(items_from_codes([codes]), FEATURES)
    assert found == pytest.approx(similarity, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("length", [2, 3, 8])
def test_lists_of_orthogonal_items_have_diversity_1_at_every_length(length):
    items = diversity.items([list(range(length))], range(8))
    assert diversity.intra_list_diversity(items, np.eye(8)).tolist() == [1]


# Novelty ------------------------------------------------------------------------------------------

ALL_USERS = 9
USERS_OF_ITEMS = st.lists(st.integers(0, ALL_USERS), min_size=SIZE, max_size=SIZE)


@ANY_TIME
@given(LISTS, USERS_OF_ITEMS, CUTS)
def test_novelty_is_the_mean_information_of_a_lists_used_items(lists, users_of_item, k):
    """Random lists of item codes from −1 to 5, how many of 9 users used each of the items 0 to 5,
    and a cut-off k or none.

    The information of an item is −log2 of the share of users who used the item. An item that nobody
    used is left out, as is the code −1, an item outside the catalogue. The novelty of a list is NaN
    if no item remains.
    """
    expected = []
    for codes in lists:
        used = [item for item in codes[:k] if item >= 0 and users_of_item[item] > 0]
        information = [-np.log2(users_of_item[item] / ALL_USERS) for item in used]
        expected.append(np.mean(information) if information else np.nan)
    share_of_users = diversity.user_share(users_of_item, ALL_USERS)
    found = diversity.novelty(items_from_codes(lists), share_of_users, k)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@ANY_TIME
@given(LISTS, USERS_OF_ITEMS, CUTS)
def test_items_that_novelty_leaves_out_are_counted(lists, users_of_item, k):
    """Items outside the catalogue (−1), and items that nobody used."""
    unused = [sum(i < 0 or users_of_item[i] == 0 for i in codes[:k]) for codes in lists]
    is_known = diversity.user_share(users_of_item, ALL_USERS) > 0
    assert diversity.unknown_items(items_from_codes(lists), is_known, k).tolist() == unused


@pytest.mark.parametrize("codes, novelty", [([1], 2), ([1, 2], 2), ([2], np.nan)])
def test_an_item_without_interactions_does_not_lower_novelty(codes, novelty):
    """Item 1 has 2 of 8 interactions, −log2(2 / 8) = 2; item 2 has none."""
    share = diversity.interaction_share([6, 2, 0, 0, 0, 0])
    (found,) = diversity.novelty(items_from_codes([codes]), share)
    assert found == pytest.approx(novelty, nan_ok=True)


INTERACTIONS = np.array([3, 1, 0, 0, 0, 0])


def test_a_share_of_interactions_divides_by_all_interactions():
    shares = diversity.interaction_share(INTERACTIONS)
    np.testing.assert_allclose(shares[:3], [3 / 4, 1 / 4, np.nan])


def test_a_share_of_users_divides_by_all_users():
    np.testing.assert_allclose(diversity.user_share(INTERACTIONS, 3)[:3], [1, 1 / 3, np.nan])


def test_adding_one_interaction_to_each_item_gives_new_items_a_novelty():
    share = diversity.interaction_share(INTERACTIONS + 1)
    assert diversity.novelty(items_from_codes([[2]]), share) == pytest.approx([np.log2(10)])


# Coverage and exposure of the catalogue -----------------------------------------------------------


def shown_codes(lists, k):
    """The codes of the first k items of all lists, of those in the catalogue."""
    return [code for codes in lists for code in codes[:k] if code >= 0]


@ANY_TIME
@given(LISTS, CUTS)
def test_exposure_counts_how_often_each_item_is_shown(lists, k):
    shown = shown_codes(lists, k)
    expected = [shown.count(code) for code in range(SIZE)]
    assert diversity.exposure(items_from_codes(lists), k).tolist() == expected


@ANY_TIME
@given(LISTS, CUTS)
def test_coverage_is_the_share_of_items_that_are_shown(lists, k):
    expected = len(set(shown_codes(lists, k))) / SIZE
    assert diversity.catalogue_coverage(items_from_codes(lists), k) == expected


@ANY_TIME
@given(LISTS, CUTS)
def test_items_outside_the_catalogue_are_unknown(lists, k):
    everything_known = np.ones(SIZE, bool)
    found = diversity.unknown_items(items_from_codes(lists), everything_known, k)
    assert found.tolist() == [codes[:k].count(-1) for codes in lists]


AMOUNTS = st.lists(st.integers(0, 20), min_size=1, max_size=12).filter(any)


@ANY_TIME
@given(AMOUNTS)
def test_gini_is_half_the_relative_mean_difference(amounts):
    x = np.array(amounts, float)
    expected = np.abs(x[:, None] - x).mean() / (2 * x.mean())
    assert diversity.gini(x) == pytest.approx(expected, abs=1e-12)


@ANY_TIME
@given(AMOUNTS)
def test_gini_does_not_depend_on_the_unit_of_amounts(amounts):
    x = np.array(amounts, float)
    assert diversity.gini(7 * x) == pytest.approx(diversity.gini(x), abs=1e-12)


@ANY_TIME
@given(AMOUNTS)
def test_gini_lies_between_0_and_1_less_the_share_of_one_item(amounts):
    assert -1e-12 <= diversity.gini(np.array(amounts, float)) <= 1 - 1 / len(amounts) + 1e-12


def test_gini_counts_the_items_that_no_list_shows():
    s = items_from_codes([[0, 1], [0, 1]])
    assert diversity.exposure_gini(s) == pytest.approx(4 / 6)


def test_gini_is_undefined_if_no_item_is_shown():
    assert np.isnan(diversity.exposure_gini(items_from_codes([[], [-1]])))


def test_coverage_of_an_empty_catalogue_is_undefined():
    assert np.isnan(diversity.catalogue_coverage(diversity.items([["a"]], catalogue=[])))


def test_coverage_is_0_if_no_item_is_shown():
    assert diversity.catalogue_coverage(items_from_codes([[]])) == 0


metrics_of_all_lists = pytest.mark.parametrize(
    ("metric", "by_list"),
    [
        (diversity.catalogue_coverage, diversity.catalogue_coverage_by_list),
        (diversity.exposure_gini, diversity.exposure_gini_by_list),
    ],
)
SEVERAL_LISTS = LISTS.filter(lambda lists: len(lists) > 1)


@metrics_of_all_lists
@ANY_TIME
@given(lists=SEVERAL_LISTS, k=CUTS)
def test_values_by_list_are_the_pseudo_values_of_the_jackknife(metric, by_list, lists, k):
    n = len(lists)
    without_list = [metric(items_from_codes(lists[:i] + lists[i + 1 :]), k) for i in range(n)]
    items = items_from_codes(lists)
    expected = metric(items, k) + (n - 1) * (np.mean(without_list) - np.array(without_list))
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
@pytest.mark.parametrize(
    "metric, by_list",
    [
        (diversity.share_exposed, diversity.catalogue_coverage_by_list),
        (diversity.gini, diversity.exposure_gini_by_list),
    ],
)
def test_values_by_unit_are_those_by_list_if_each_list_is_a_unit(metric, by_list, lists, k):
    items = items_from_codes(lists)
    by_unit = diversity.jackknife_by_unit(items, np.arange(len(lists)), metric, k)
    assert by_unit == pytest.approx(by_list(items, k), nan_ok=True)


def test_a_jackknife_value_of_a_unit_leaves_out_all_lists_of_the_unit():
    """Four lists of three users; user v has the second and the third list. The statistic is the
    Gini coefficient of how often each item of the catalogue is in a list.

    The jackknife value of a user compares Gini without this user with the mean m of Gini without
    u, without v and without w: Gini of all lists + (3 − 1) · (m − Gini without this user).
    """
    items = items_from_codes([[0, 1], [0, 2], [3], [1, 4]])
    user = np.array(["u", "v", "v", "w"])
    lists_without_user = {
        "u": [[0, 2], [3], [1, 4]],
        "v": [[0, 1], [1, 4]],
        "w": [[0, 1], [0, 2], [3]],
    }
    gini_without_user = np.array(
        [diversity.exposure_gini(items_from_codes(lists)) for lists in lists_without_user.values()]
    )
    gini_of_all = diversity.exposure_gini(items)
    expected = gini_of_all + (3 - 1) * (gini_without_user.mean() - gini_without_user)
    # `gini` is `exposure_gini` as a function of how often each item is in a list
    found = diversity.jackknife_by_unit(items, user, statistic=diversity.gini)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(40))
def test_lists_of_items_with_equal_features_have_diversity_0(seed):
    """Exactly: no rounding error of the cosine remains."""
    features = np.random.default_rng(seed).normal(size=3)
    lists = diversity.items([["a", "b"], ["b", "c"], list("abcdef")], list("abcdef"))
    assert diversity.intra_list_diversity(lists, np.tile(features, (6, 1))).tolist() == [0, 0, 0]


def test_ids_are_text_and_keep_their_zeros():
    lists = diversity.items([["007", "7"], [], ["x"]], catalogue=["7", "007"])
    assert lists.item.tolist() == [1, 0, -1]


def test_an_empty_list_has_no_rows():
    lists = diversity.items([["a", "b"], [], ["a"]], catalogue=["a", "b"])
    assert lists.offset.tolist() == [0, 2, 2, 3]


def test_large_whole_numbers_are_different_ids():
    largest = 2**63 - 1
    lists = diversity.items([[], [largest, largest - 1]], catalogue=[largest - 1, largest])
    assert lists.item.tolist() == [1, 0]


def test_a_missing_id_in_the_catalogue_is_refused():
    with pytest.raises(InputError, match="catalogue must hold each item once, got None"):
        diversity.items([["a"]], np.array(["a", None]))


# Overlap and rank-biased overlap of two systems' lists ----------------------------------------

FIGURES = expected("lists")
IDS = st.lists(st.integers(0, 9), max_size=8, unique=True)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=5)


def items_of_both_systems(pairs):
    """The lists of the first and of the second system, from a pair of lists of codes per query."""
    catalogue = [str(code) for code in range(10)]
    systems = zip(*pairs, strict=True)
    return [
        diversity.items([[*map(str, codes)] for codes in lists], catalogue) for lists in systems
    ]


def rbo_of_the_paper(a, b, p):
    """Equation 32 of Webber, Moffat and Zobel 2010, in the names of the paper, term by term."""
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
    expected = [rbo_of_the_paper(*pair, p) for pair in pairs]
    np.testing.assert_allclose(rbo(first, second, p=p), expected, atol=1e-12)


@ANY_TIME
@given(PAIRS, PERSISTENCES)
def test_rbo_is_the_same_if_the_systems_change_places(pairs, p):
    first, second = items_of_both_systems(pairs)
    np.testing.assert_array_equal(rbo(first, second, p=p), rbo(second, first, p=p))


@pytest.mark.parametrize("p", FIGURES["rbo"])
def test_rbo_equals_the_stored_figures_of_a_public_tool(p):
    """For lists of equal and of unequal length."""
    names = FIGURES["catalogue"]["item"]
    first, second = (diversity.items(FIGURES[side], names) for side in ("first", "second"))
    np.testing.assert_allclose(rbo(first, second, p=float(p)), FIGURES["rbo"][p], atol=1e-10)


@ANY_TIME
@given(PAIRS, st.integers(1, 10))
def test_overlap_is_the_share_of_common_items_in_the_longer_list(pairs, k):
    """Random pairs of lists, one of each system. Both are cut to their first k items before they
    are counted. The overlap of two empty lists is NaN.
    """
    expected = []
    for a, b in pairs:
        top_a = a[:k]
        top_b = b[:k]
        longest = max(len(top_a), len(top_b))
        common = len({*top_a} & {*top_b})
        expected.append(common / longest if longest else np.nan)
    first, second = items_of_both_systems(pairs)
    np.testing.assert_allclose(overlap(first, second, k), expected)


# Lists of both systems without a common item; the last list of the first system is empty
DISJOINT = [([1, 2, 3], [4, 5]), ([1], [2]), ([], [1])]


def test_equal_lists_have_an_rbo_of_1_at_every_length_but_0():
    items, _ = items_of_both_systems(DISJOINT)
    np.testing.assert_allclose(rbo(items, items), [1, 1, np.nan])


def test_disjoint_lists_have_an_rbo_of_0_at_every_length_but_0():
    first, second = items_of_both_systems(DISJOINT)
    np.testing.assert_array_equal(rbo(first, second), [0, 0, np.nan])

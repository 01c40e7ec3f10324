"""Keys: scores and rows as whole numbers, texts as hashes and codes, distinct texts, and the order
of ranks.
"""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from samples import ANY_TIME

from evalkit.arrays import InputError
from evalkit.metrics import counts
from evalkit.metrics.counts import count
from evalkit.reading.engines import backends
from evalkit.reading.engines.backends import opened
from evalkit.reading.engines.base import Query
from evalkit.reading.inputs.aligned import EMPTY_ATTRIBUTE
from evalkit.reading.reductions import blocks
from evalkit.reading.tables import ids
from evalkit.reading.tables.ids import text_hashes

finite = st.floats(allow_nan=False, allow_infinity=False)


@ANY_TIME
@given(st.lists(finite, min_size=2, max_size=30))
def test_keys_rank_as_scores(values):
    """A key is a whole number per row that sorts as its score, then its label, do: the last bit is
    the label, the bits above it are in the order of the scores: of each two rows the first must
    have the smaller key, without the label, exactly if it has the smaller score.
    """
    score = np.array(values)
    label = np.arange(len(values)) % 2
    key = counts.with_label(score, label, counts.exponent(score))
    if key is None:  # scores that cannot be scaled without loss have no keys
        return
    np.testing.assert_array_equal(key & 1, label)
    key_of_score = key >> 1
    np.testing.assert_array_equal(key_of_score[:, None] < key_of_score, score[:, None] < score)


@ANY_TIME
@given(st.lists(st.floats(-1.999, 1.999), max_size=30))
def test_scores_below_two_come_back(values):
    score = np.array(values, dtype=np.float64)
    assert counts.exponent(score) == 0
    np.testing.assert_array_equal(
        counts.ordered(counts.with_label(score, score > 0) >> 1).view(np.float64), score
    )


def test_largest_double_comes_back():
    largest = np.finfo(float).max
    np.testing.assert_array_equal(
        count([largest, 1.0, -largest], [1, 0, 1]).threshold, [largest, 1.0, -largest]
    )


@pytest.mark.parametrize("label", [[True, False], [1.0, 0.0]], ids=["booleans", "doubles"])
def test_labels_of_any_type_become_0_and_1(label):
    assert counts.zero_one("label", label).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ([0, -1], "got -1"),
        ([0.5], "got 0.5"),
        ([np.nan], "got nan"),
        (["1"], "got 1"),
        ([[1]], "one dimension"),
    ],
)
def test_labels_other_than_0_and_1_in_one_dimension_are_refused(label, message):
    with pytest.raises(InputError, match=message):
        counts.zero_one("label", label)


KEYS = st.lists(st.one_of(st.integers(0, 2**64 - 1), st.integers(2**40, 2**40 + 40)), max_size=50)


@settings(deadline=None)
@given(KEYS)
def test_rows_are_sorted_by_their_keys_of_64_bits(keys):
    """`order` has the row numbers in the order of the keys, and `equals_previous` says for each
    which key equals the one before. Sorting packs the row number into the last bits of a key, so
    that keys that differ in these bits alone must be told apart as well; the drawn keys include
    such keys.
    """
    key = np.array(keys, np.uint64)
    result = ids.SortedKeys.sort(key)
    assert key.tolist() == keys  # the argument is left as it was
    in_order = sorted(keys)
    assert key[result.order].tolist() == in_order
    assert sorted(result.order.tolist()) == list(range(len(keys)))
    assert result.equals_previous.tolist() == [
        i > 0 and in_order[i] == in_order[i - 1] for i in range(len(keys))
    ]


@settings(deadline=None)
@given(KEYS, KEYS)
def test_rows_found_by_their_keys(keys, others):
    keys = list(dict.fromkeys(keys))
    wanted = keys + others
    numbers, rows = ids.SortedKeys.sort(np.array(keys, np.uint64)).find(np.array(wanted, np.uint64))
    found = dict(zip(numbers.tolist(), rows.tolist(), strict=True))
    assert found == {number: keys.index(key) for number, key in enumerate(wanted) if key in keys}


def distinct_keys_of_several_blocks():
    """400,000 random keys, more than the 32,768 of a block; no two of them are equal."""
    return np.random.default_rng(0).integers(0, 2**64, 400_000, dtype=np.uint64)


def test_distinct_keys_of_several_blocks_have_no_equal_neighbour():
    key = distinct_keys_of_several_blocks()
    assert not ids.SortedKeys.sort(key).equals_previous.any()


def test_equal_keys_of_several_blocks_are_found():
    key = distinct_keys_of_several_blocks()
    key[[5, 70_000, 399_999]] = key[200_000]
    ordered = ids.SortedKeys.sort(key)
    equal_rows = ordered.order[ids.equal_to_neighbour(ordered.equals_previous)]
    assert sorted(equal_rows.tolist()) == [5, 70_000, 200_000, 399_999]


def test_rows_of_several_blocks_are_found_by_their_keys():
    """400,000 random keys, more than the 32,768 of a block, of which four rows in different blocks
    share one. Every second distinct key is looked up, and 3, which is not among them. `numbers`
    says which of these were found, all but the last; `rows` has a row with each of the found keys.
    """
    key = distinct_keys_of_several_blocks()
    key[[5, 70_000, 399_999]] = key[200_000]
    present = np.unique(key)[::2]
    absent = np.uint64(3)
    assert absent not in key
    numbers, rows = ids.SortedKeys.sort(key).find(np.append(present, absent))
    assert numbers.tolist() == list(range(len(present)))
    assert np.array_equal(key[rows], present)


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=40), st.integers(0, 3), st.booleans())
def test_texts_have_equal_hashes_exactly_if_they_are_equal(texts, n_skipped, is_large_string):
    """The texts are an Arrow array of one of two types of strings. It is a slice of an array with
    up to three other texts before, so that its buffer begins with these. Hashes must depend neither
    on the type nor on what comes before.
    """
    text_type = pa.large_string() if is_large_string else pa.string()
    longer = pa.array([*["before"] * n_skipped, *texts], text_type)
    hashes = text_hashes(longer[n_skipped:]).tolist()
    hash_of_text = dict(zip(texts, hashes, strict=True))
    assert hashes == [hash_of_text[text] for text in texts]
    assert len(set(hash_of_text.values())) == len(hash_of_text)
    assert hashes == text_hashes(pa.array(texts, pa.string())).tolist()


def test_hashes_of_several_blocks_are_those_of_the_texts():
    texts = pa.array([f"document {i % 40_000}" for i in range(100_000)])
    found = text_hashes(texts)
    assert np.array_equal(found[40_000:80_000], found[:40_000])
    assert len(np.unique(found)) == 40_000
    assert np.array_equal(found[70_000:70_010], text_hashes(texts[70_000:70_010]))


def test_long_texts_are_told_apart():
    texts = ["x" * n + end for n in (255, 256, 257, 100_000) for end in ("a", "b")]
    assert len(set(text_hashes(pa.array([*texts, *texts])).tolist())) == len(texts)


def test_codes_follow_the_bytes_and_not_the_locale():
    names, (first, second) = ids.sorted_codes([pa.array(["é", "z"])], [pa.array(["a", "Z", "é"])])
    assert names.tolist() == ["Z", "a", "z", "é"]
    assert (first.tolist(), second.tolist()) == ([3, 2], [1, 0, 3])


def test_dictionaries_count_only_the_texts_in_use():
    """Two Arrow columns are encoded by dictionaries; that of the first also has a text that no row
    uses. Together they get codes of the sorted texts in use: 0 for a, 1 for c.
    """
    c_a_c = pa.DictionaryArray.from_arrays(
        pa.array([2, 0, 2], pa.int32()), pa.array(["a", "unused", "c"])
    )
    only_c = pa.array(["c"]).dictionary_encode()
    names, (codes_of_c_a_c, codes_of_only_c) = ids.sorted_codes([c_a_c], [only_c])
    assert names.tolist() == ["a", "c"]
    assert codes_of_c_a_c.tolist() == [1, 0, 1]
    assert codes_of_only_c.tolist() == [1]


def test_an_empty_cell_of_a_dictionary_has_the_last_code():
    with_empty = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int32()), pa.array(["a"]))
    names, (codes, codes_of_texts) = ids.sorted_codes([with_empty], [pa.array(["a"])])
    assert names.tolist() == ["a", None]
    assert codes.tolist() == [0, 1]
    assert codes_of_texts.tolist() == [0]


def test_no_column_has_no_names():
    names, _ = ids.sorted_codes([], [])
    assert names.tolist() == []


def distinct_texts(texts, max_texts):
    """The distinct texts of a column by a query of DuckDB."""
    with opened(backends.budget(10**9, 1)) as engine:
        query = Query("SELECT * FROM rows", "rows", {"rows": pa.table({"name": texts})})
        return blocks.distinct(engine, query, "name", max_texts)


def test_distinct_texts_of_a_column_are_sorted_and_their_rows_are_counted():
    texts = np.resize(["b", "c", "a"], 5_000)
    distinct = distinct_texts(texts, max_texts=10)
    assert distinct.values.tolist() == ["a", "b", "c"]
    assert distinct.rows.tolist() == [1_666, 1_667, 1_667]
    assert distinct.empty == 0


def test_more_distinct_texts_than_asked_for_are_cut_after_one_more():
    """5,000 rows have 4,950 distinct texts and 50 empty cells, one in each hundred rows. Of at most
    40 texts that are asked for, 41 come: the one more tells that there are more. All empty cells
    are counted nevertheless.
    """
    number = np.arange(5_000)
    is_empty = number % 100 == 99
    texts = np.where(is_empty, EMPTY_ATTRIBUTE, np.char.add("user ", number.astype(str)))
    distinct = distinct_texts(texts, max_texts=40)
    assert len(distinct.values) == 41
    assert distinct.empty == 50


NEAR_AND_EXTREME_SCORES = st.one_of(
    st.sampled_from([0.0, 1.0, 1.0 + 2**-52, -1.0, 5e-324, 1e308]), st.floats(-2, 2, width=32)
)
ROWS_OF_LISTS = st.lists(st.tuples(st.integers(0, 5), NEAR_AND_EXTREME_SCORES), max_size=60)


@settings(deadline=None)
@given(ROWS_OF_LISTS, st.booleans())
def test_rank_order_is_by_list_then_score_and_item_descending(rows, in_order):
    """Each row is a pair of a list and a score; equal scores are ordered by a random item number,
    highest first. NumPy's lexsort gives the same order. `tied` says of each row in this order
    whether it has the list and the score of the row before. Rows that already come in order are
    tested too, as they are not sorted again.
    """
    if in_order:
        rows = sorted(rows, key=lambda row: (row[0], -row[1]))
    list_of_row = np.array([row[0] for row in rows], np.int64)
    score = np.array([row[1] for row in rows], float)
    item = np.random.default_rng(0).permutation(len(rows))
    order, tied = ids.rank_order(list_of_row, score, lambda some_rows: item[some_rows])
    assert order.tolist() == np.lexsort((-item, -score, list_of_row)).tolist()
    pairs = list(zip(list_of_row[order].tolist(), score[order].tolist(), strict=True))
    assert tied.tolist() == [i > 0 and pairs[i] == pairs[i - 1] for i in range(len(pairs))]


def test_no_rows():
    order, tied = ids.rank_order(np.zeros(0, np.int64), np.zeros(0), lambda rows: rows)
    assert order.tolist() == tied.tolist() == []


def test_lists_that_come_in_one_piece_each_are_put_in_order():
    """Items rank as their rows: of the tied rows 3 and 4 of list 1, row 4 comes first."""
    list_of_row = np.array([2, 2, 0, 1, 1])
    score = np.array([2.0, 1.0, 5.0, 3.0, 3.0])
    order, tied = ids.rank_order(list_of_row, score, lambda rows: rows)
    assert order.tolist() == [2, 4, 3, 0, 1]
    assert tied.tolist() == [False, False, True, False, False]

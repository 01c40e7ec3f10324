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
from evalkit.reading.inputs.aligned import NONE
from evalkit.reading.reductions import blocks
from evalkit.reading.tables import ids
from evalkit.reading.tables.ids import text_hashes

finite = st.floats(allow_nan=False, allow_infinity=False)


@ANY_TIME
@given(st.lists(finite, min_size=2, max_size=30))
def test_keys_rank_as_scores(values):
    score = np.array(values)
    label = np.arange(len(values)) % 2
    key = counts.with_label(score, label, counts.exponent(score))
    if key is not None:
        np.testing.assert_array_equal(key & 1, label)
        np.testing.assert_array_equal((key >> 1)[:, None] < key >> 1, score[:, None] < score)


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


def test_labels_are_checked():
    assert counts.zero_one("label", [True, False]).tolist() == [1, 0]
    assert counts.zero_one("label", [1.0, 0.0]).tolist() == [1, 0]
    for wrong, message in (
        ([0, -1], "got -1"),
        ([0.5], "got 0.5"),
        ([np.nan], "got nan"),
        (["1"], "got 1"),
    ):
        with pytest.raises(InputError, match=message):
            counts.zero_one("label", wrong)
    with pytest.raises(InputError, match="one dimension"):
        counts.zero_one("label", [[1]])


KEYS = st.lists(st.one_of(st.integers(0, 2**64 - 1), st.integers(2**40, 2**40 + 40)), max_size=50)


@settings(deadline=None)
@given(KEYS)
def test_sorted_rows(keys):
    """Keys that differ only in the bits that give way to the row's number are told apart as
    well.
    """
    key = np.array(keys, np.uint64)
    found = ids.SortedKeys.sort(key)
    assert key.tolist() == keys
    assert key[found.order].tolist() == sorted(keys)
    assert sorted(found.order.tolist()) == list(range(len(keys)))
    assert found.equals_previous.tolist() == [
        i > 0 and one == sorted(keys)[i - 1] for i, one in enumerate(sorted(keys))
    ]


@settings(deadline=None)
@given(KEYS, KEYS)
def test_rows_found_by_their_keys(keys, others):
    keys = list(dict.fromkeys(keys))
    wanted = keys + others
    numbers, rows = ids.SortedKeys.sort(np.array(keys, np.uint64)).find(np.array(wanted, np.uint64))
    found = dict(zip(numbers.tolist(), rows.tolist(), strict=True))
    assert found == {number: keys.index(key) for number, key in enumerate(wanted) if key in keys}


def test_rows_of_several_blocks():
    rng = np.random.default_rng(0)
    key = rng.integers(0, 2**64, 400_000, dtype=np.uint64)
    assert not ids.SortedKeys.sort(key).equals_previous.any()
    key[[5, 70_000, 399_999]] = key[200_000]
    ordered = ids.SortedKeys.sort(key)
    again = ordered.order[ids.equal_to_neighbour(ordered.equals_previous)]
    assert sorted(again.tolist()) == [5, 70_000, 200_000, 399_999]
    wanted = np.append(np.unique(key)[::2], np.uint64(3))
    numbers, rows = ordered.find(wanted)
    assert numbers.tolist() == list(range(len(wanted) - 1))
    assert np.array_equal(key[rows], wanted[:-1])


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=40), st.integers(0, 3), st.booleans())
def test_hashes_tell_texts_apart_and_nothing_else(texts, skipped, wide):
    array = pa.array([*["before"] * skipped, *texts], pa.large_string() if wide else pa.string())[
        skipped:
    ]
    found = text_hashes(array)
    by_text = dict(zip(texts, found.tolist(), strict=True))
    assert found.tolist() == [by_text[text] for text in texts]
    assert len(set(by_text.values())) == len(by_text)
    assert found.tolist() == text_hashes(pa.array(texts, pa.string())).tolist()


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
    encoded = pa.DictionaryArray.from_arrays(
        pa.array([2, 0, 2], pa.int32()), pa.array(["a", "unused", "c"])
    )
    names, (code, plain) = ids.sorted_codes([encoded], [pa.array(["c"]).dictionary_encode()])
    assert names.tolist() == ["a", "c"]
    assert (code.tolist(), plain.tolist()) == ([1, 0, 1], [1])
    empty = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int32()), pa.array(["a"]))
    names, (code, text) = ids.sorted_codes([empty], [pa.array(["a"])])
    assert (names.tolist(), code.tolist(), text.tolist()) == (["a", None], [0, 1], [0])
    assert ids.sorted_codes([], [])[0].tolist() == []


ROWS = 5_000


def columns():
    """A column of three texts, and one of a text a row but for every hundredth, which is empty."""
    number = np.arange(ROWS)
    many = np.where(number % 100 == 99, NONE, np.char.add("user ", number.astype(str)))
    return pa.table({"few": np.array(["b", "c", "a"])[number % 3], "many": many})


def test_texts_of_a_column():
    with opened(backends.budget(10**9, 1)) as engine:
        query = Query("SELECT * FROM rows", "rows", {"rows": columns()})
        few, many = (
            blocks.distinct(engine, query, name, most) for name, most in (("few", 10), ("many", 40))
        )
    assert dict(zip(few.values, few.rows, strict=True)) == {"a": 1_666, "b": 1_667, "c": 1_667}
    assert few.values.tolist() == ["a", "b", "c"]
    assert len(many.values) == 41
    assert (few.empty, many.empty) == (0, ROWS // 100)


SCORES = st.one_of(
    st.sampled_from([0.0, 1.0, 1.0 + 2**-52, -1.0, 5e-324, 1e308]), st.floats(-2, 2, width=32)
)
LISTED = st.lists(st.tuples(st.integers(0, 5), SCORES), max_size=60)


@settings(deadline=None)
@given(LISTED, st.booleans())
def test_by_rank_is_the_exact_sort(rows, in_order):
    rows = sorted(rows, key=lambda row: (row[0], -row[1])) if in_order else rows
    of = np.array([row[0] for row in rows], np.int64)
    score = np.array([row[1] for row in rows], float)
    item = np.random.default_rng(0).permutation(len(rows))
    order, tied = ids.rank_order(of, score, lambda some: item[some])
    assert order.tolist() == np.lexsort((-item, -score, of)).tolist()
    pairs = list(zip(of[order].tolist(), score[order].tolist(), strict=True))
    assert tied.tolist() == [i > 0 and pairs[i] == pairs[i - 1] for i in range(len(pairs))]


def test_no_rows():
    order, tied = ids.rank_order(np.zeros(0, np.int64), np.zeros(0), lambda rows: rows)
    assert order.tolist() == tied.tolist() == []


def test_lists_in_pieces_are_put_in_order_and_not_sorted():
    of = np.array([2, 2, 0, 1, 1])
    score = np.array([2.0, 1.0, 5.0, 3.0, 3.0])
    order, tied = ids.rank_order(of, score, lambda rows: rows)
    assert order.tolist() == [2, 4, 3, 0, 1]
    assert tied.tolist() == [False, False, True, False, False]

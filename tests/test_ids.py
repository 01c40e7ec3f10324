"""The order of ranks: the packed sort is the exact one, whatever the scores and the ties."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.reading.tables import ids

SCORES = st.one_of(st.sampled_from([0.0, 1.0, 1.0 + 2**-52, -1.0, 5e-324, 1e308]), st.floats(-2, 2, width=32))
ROWS = st.lists(st.tuples(st.integers(0, 5), SCORES), max_size=60)


@settings(deadline=None)
@given(ROWS, st.booleans())
def test_by_rank_is_the_exact_sort(rows, in_order):
    rows = sorted(rows, key=lambda row: (row[0], -row[1])) if in_order else rows
    of = np.array([row[0] for row in rows], np.int64)
    score = np.array([row[1] for row in rows], float)
    item = np.random.default_rng(0).permutation(len(rows))
    order, tied = ids.by_rank(of, score, lambda some: item[some])
    assert order.tolist() == np.lexsort((-item, -score, of)).tolist()
    pairs = list(zip(of[order].tolist(), score[order].tolist(), strict=True))
    assert tied.tolist() == [i > 0 and pairs[i] == pairs[i - 1] for i in range(len(pairs))]


def test_codes_follow_the_bytes_and_not_the_locale():
    names, (first, second) = ids.sorted_codes([pa.array(["é", "z"])], [pa.array(["a", "Z", "é"])])
    assert names.tolist() == ["Z", "a", "z", "é"]
    assert (first.tolist(), second.tolist()) == ([3, 2], [1, 0, 3])


def test_no_rows():
    order, tied = ids.by_rank(np.zeros(0, np.int64), np.zeros(0), lambda rows: rows)
    assert order.tolist() == tied.tolist() == []


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=40), st.integers(0, 3), st.booleans())
def test_hashes_tell_texts_apart_and_nothing_else(texts, skipped, wide):
    array = pa.array([*["before"] * skipped, *texts], pa.large_string() if wide else pa.string())[skipped:]
    found = ids.hashes(array)
    by_text = dict(zip(texts, found.tolist(), strict=True))
    assert found.tolist() == [by_text[text] for text in texts]
    assert len(set(by_text.values())) == len(by_text)
    assert found.tolist() == ids.hashes(pa.array(texts, pa.string())).tolist()


def test_hashes_of_several_blocks_are_those_of_the_texts():
    texts = pa.array([f"document {i % 40_000}" for i in range(100_000)])
    found = ids.hashes(texts)
    assert np.array_equal(found[40_000:80_000], found[:40_000])
    assert len(np.unique(found)) == 40_000
    assert np.array_equal(found[70_000:70_010], ids.hashes(texts[70_000:70_010]))


@settings(deadline=None)
@given(st.lists(st.text(max_size=40), max_size=40), st.booleans())
def test_hashes_are_the_same_where_arrow_has_no_views_of_texts(texts, wide):
    array = pa.array(texts, pa.large_string() if wide else pa.string())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "_views", lambda text: None)
        without = ids.hashes(array)
    assert without.tolist() == ids.hashes(array).tolist()


TEXTS = st.lists(st.sampled_from([end.join(["x" * n, "é"]) for n in (0, 5, 6, 7, 14, 30) for end in "ab"]), max_size=9)


@settings(deadline=None)
@given(TEXTS, st.lists(st.integers(0, 8), max_size=9), st.booleans())
def test_same_texts_are_the_same_byte_by_byte(texts, rows, wide):
    at = np.array([row for row in rows if row < len(texts)], np.int64)
    kind = pa.large_string() if wide else pa.string()
    first, second = pa.array(texts, kind), pa.array(["before", *reversed(texts)])[1:]
    expected = all(texts[row] == texts[::-1][row] for row in at)
    assert ids.same_texts(first, at, second, at) == expected
    assert ids.same_texts(first, at, second, len(texts) - 1 - at)
    assert ids.same_texts(first.dictionary_encode(), at, second, at) == expected


KEYS = st.lists(st.one_of(st.integers(0, 2**64 - 1), st.integers(2**40, 2**40 + 40)), max_size=50)


@settings(deadline=None)
@given(KEYS, KEYS)
def test_sorted_rows_and_what_is_found_among_them(keys, others):
    """Keys that differ only in the bits that give way to the row's number are told apart as well."""
    key = np.array(keys, np.uint64)
    found = ids.Sorted.of(key)
    assert key[found.order].tolist() == sorted(keys)
    assert sorted(found.order.tolist()) == list(range(len(keys)))
    assert found.same.tolist() == [i > 0 and one == sorted(keys)[i - 1] for i, one in enumerate(sorted(keys))]
    wanted = np.array(keys + others, np.uint64)
    rows = found.find(wanted)
    assert [keys[row] if row >= 0 else None for row in rows] == [
        one if one in keys else None for one in wanted.tolist()
    ]


def test_dictionaries_count_only_the_texts_in_use():
    encoded = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int32()), pa.array(["a", "unused", "c"]))
    texts, (code, plain) = ids.coded([encoded], [pa.array(["c"]).dictionary_encode()])
    assert [texts[i].as_py() for i in (*code, *plain)] == ["c", "a", "c", "c"]
    assert "unused" not in texts.to_pylist()
    empty = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int32()), pa.array(["a"]))
    texts, (code,) = ids.coded([empty])
    assert [texts[int(i)].as_py() for i in code] == ["a", None]


def test_lists_in_pieces_are_put_in_order_and_not_sorted():
    of, score = np.array([2, 2, 0, 1, 1]), np.array([2.0, 1.0, 5.0, 3.0, 3.0])
    order, tied = ids.by_rank(of, score, lambda rows: rows)
    assert order.tolist() == [2, 4, 3, 0, 1]
    assert tied.tolist() == [False, False, True, False, False]


def test_dictionaries_have_the_hashes_of_their_texts():
    texts = pa.array(["a", "bb", "a"])
    assert ids.hashes(texts.dictionary_encode()).tolist() == ids.hashes(texts).tolist()


def test_long_texts_are_told_apart():
    texts = ["x" * n + end for n in (255, 256, 257, 100_000) for end in ("a", "b")]
    assert len(set(ids.hashes(pa.array([*texts, *texts])).tolist())) == len(texts)

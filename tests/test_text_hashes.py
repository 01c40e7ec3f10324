"""Numbers of texts: equal for equal texts alone, whatever Arrow's type of them is."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.reading.tables import ids
from evalkit.reading.tables.ids import HashedTexts


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=40), st.integers(0, 3), st.booleans())
def test_hashes_tell_texts_apart_and_nothing_else(texts, skipped, wide):
    array = pa.array([*["before"] * skipped, *texts], pa.large_string() if wide else pa.string())[skipped:]
    found = HashedTexts.of(array).hashes
    by_text = dict(zip(texts, found.tolist(), strict=True))
    assert found.tolist() == [by_text[text] for text in texts]
    assert len(set(by_text.values())) == len(by_text)
    assert found.tolist() == HashedTexts.of(pa.array(texts, pa.string())).hashes.tolist()


def test_hashes_of_several_blocks_are_those_of_the_texts():
    texts = pa.array([f"document {i % 40_000}" for i in range(100_000)])
    found = HashedTexts.of(texts).hashes
    assert np.array_equal(found[40_000:80_000], found[:40_000])
    assert len(np.unique(found)) == 40_000
    assert np.array_equal(found[70_000:70_010], HashedTexts.of(texts[70_000:70_010]).hashes)


@settings(deadline=None)
@given(st.lists(st.text(max_size=40), max_size=40), st.booleans())
def test_hashes_are_the_same_where_arrow_has_no_views_of_texts(texts, wide):
    array = pa.array(texts, pa.large_string() if wide else pa.string())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ids, "_views", lambda text: None)
        without = HashedTexts.of(array).hashes
    assert without.tolist() == HashedTexts.of(array).hashes.tolist()


TEXTS = st.lists(st.sampled_from([end.join(["x" * n, "é"]) for n in (0, 5, 6, 7, 14, 30) for end in "ab"]), max_size=9)


@settings(deadline=None)
@given(TEXTS, st.lists(st.integers(0, 8), max_size=9), st.booleans())
def test_same_texts_are_the_same_byte_by_byte(texts, rows, wide):
    at = np.array([row for row in rows if row < len(texts)], np.int64)
    kind = pa.large_string() if wide else pa.string()
    first, second = pa.array(texts, kind), pa.array(["before", *reversed(texts)])[1:]
    expected = all(texts[row] == texts[::-1][row] for row in at)
    assert HashedTexts.of(first).same(at, HashedTexts.of(second), at) == expected
    assert HashedTexts.of(first).same(at, HashedTexts.of(second), len(texts) - 1 - at)
    assert HashedTexts.of(first.dictionary_encode()).same(at, HashedTexts.of(second), at) == expected


def test_dictionaries_have_the_hashes_of_their_texts():
    texts = pa.array(["a", "bb", "a"])
    assert HashedTexts.of(texts.dictionary_encode()).hashes.tolist() == HashedTexts.of(texts).hashes.tolist()


def test_long_texts_are_told_apart():
    texts = ["x" * n + end for n in (255, 256, 257, 100_000) for end in ("a", "b")]
    assert len(set(HashedTexts.of(pa.array([*texts, *texts])).hashes.tolist())) == len(texts)

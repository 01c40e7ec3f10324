"""Numbers of texts: equal for equal texts alone, whatever Arrow's type of them is."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.reading.tables.ids import hashed


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=40), st.integers(0, 3), st.booleans())
def test_hashes_tell_texts_apart_and_nothing_else(texts, skipped, wide):
    array = pa.array([*["before"] * skipped, *texts], pa.large_string() if wide else pa.string())[skipped:]
    found = hashed(array)
    by_text = dict(zip(texts, found.tolist(), strict=True))
    assert found.tolist() == [by_text[text] for text in texts]
    assert len(set(by_text.values())) == len(by_text)
    assert found.tolist() == hashed(pa.array(texts, pa.string())).tolist()


def test_hashes_of_several_blocks_are_those_of_the_texts():
    texts = pa.array([f"document {i % 40_000}" for i in range(100_000)])
    found = hashed(texts)
    assert np.array_equal(found[40_000:80_000], found[:40_000])
    assert len(np.unique(found)) == 40_000
    assert np.array_equal(found[70_000:70_010], hashed(texts[70_000:70_010]))


def test_long_texts_are_told_apart():
    texts = ["x" * n + end for n in (255, 256, 257, 100_000) for end in ("a", "b")]
    assert len(set(hashed(pa.array([*texts, *texts])).tolist())) == len(texts)

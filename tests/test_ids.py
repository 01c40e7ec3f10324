"""Codes of texts: their order is that of the bytes, and only texts in use have one."""

import pyarrow as pa

from evalkit.reading.tables import ids


def test_codes_follow_the_bytes_and_not_the_locale():
    names, (first, second) = ids.sorted_codes([pa.array(["é", "z"])], [pa.array(["a", "Z", "é"])])
    assert names.tolist() == ["Z", "a", "z", "é"]
    assert (first.tolist(), second.tolist()) == ([3, 2], [1, 0, 3])


def test_dictionaries_count_only_the_texts_in_use():
    encoded = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int32()), pa.array(["a", "unused", "c"]))
    names, (code, plain) = ids.sorted_codes([encoded], [pa.array(["c"]).dictionary_encode()])
    assert names.tolist() == ["a", "c"]
    assert (code.tolist(), plain.tolist()) == ([1, 0, 1], [1])
    empty = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int32()), pa.array(["a"]))
    names, (code, text) = ids.sorted_codes([empty], [pa.array(["a"])])
    assert (names.tolist(), code.tolist(), text.tolist()) == (["a", None], [0, 1], [0])
    assert ids.sorted_codes([], [])[0].tolist() == []

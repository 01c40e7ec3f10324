"""Keys of rows: their order, and the rows that have them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.reading.tables import ids

KEYS = st.lists(st.one_of(st.integers(0, 2**64 - 1), st.integers(2**40, 2**40 + 40)), max_size=50)


@settings(deadline=None)
@given(KEYS)
def test_sorted_rows(keys):
    """Keys that differ only in the bits that give way to the row's number are told apart as well."""
    key = np.array(keys, np.uint64)
    found = ids.Sorted.of(key)
    assert key.tolist() == keys
    assert key[found.order].tolist() == sorted(keys)
    assert sorted(found.order.tolist()) == list(range(len(keys)))
    assert found.same.tolist() == [i > 0 and one == sorted(keys)[i - 1] for i, one in enumerate(sorted(keys))]


@settings(deadline=None)
@given(KEYS, KEYS)
def test_rows_found_by_their_keys(keys, others):
    keys = list(dict.fromkeys(keys))
    wanted = keys + others
    numbers, rows = ids.Sorted.of(np.array(keys, np.uint64)).find(np.array(wanted, np.uint64))
    found = dict(zip(numbers.tolist(), rows.tolist(), strict=True))
    assert found == {number: keys.index(key) for number, key in enumerate(wanted) if key in keys}


def test_rows_of_several_blocks():
    rng = np.random.default_rng(0)
    key = rng.integers(0, 2**64, 400_000, dtype=np.uint64)
    assert not ids.Sorted.of(key).same.any()
    key[[5, 70_000, 399_999]] = key[200_000]
    ordered = ids.Sorted.of(key)
    again = ordered.order[ids.runs(ordered.same)]
    assert sorted(again.tolist()) == [5, 70_000, 200_000, 399_999]
    wanted = np.append(np.unique(key)[::2], np.uint64(3))
    numbers, rows = ordered.find(wanted)
    assert numbers.tolist() == list(range(len(wanted) - 1))
    assert np.array_equal(key[rows], wanted[:-1])

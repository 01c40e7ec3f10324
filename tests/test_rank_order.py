"""The order of ranks: the packed sort is the exact one, whatever the scores and the ties."""

import numpy as np
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


def test_no_rows():
    order, tied = ids.by_rank(np.zeros(0, np.int64), np.zeros(0), lambda rows: rows)
    assert order.tolist() == tied.tolist() == []


def test_lists_in_pieces_are_put_in_order_and_not_sorted():
    of, score = np.array([2, 2, 0, 1, 1]), np.array([2.0, 1.0, 5.0, 3.0, 3.0])
    order, tied = ids.by_rank(of, score, lambda rows: rows)
    assert order.tolist() == [2, 4, 3, 0, 1]
    assert tied.tolist() == [False, False, True, False, False]

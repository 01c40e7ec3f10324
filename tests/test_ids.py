"""The order of ranks: the packed sort is the exact one, whatever the scores and the ties."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.reading import ids

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

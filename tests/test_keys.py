"""Scores as whole numbers: order, ties and the way back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ANY_TIME

from evalkit.arrays import InputError
from evalkit.metrics import keys

finite = st.floats(allow_nan=False, allow_infinity=False)


@ANY_TIME
@given(st.lists(finite, min_size=2, max_size=30))
def test_keys_rank_as_scores_and_leave_a_bit_free(values):
    score = np.array(values)
    exponent = keys.exponent(score)
    code = keys.encode(score, exponent)
    assert ((code >= -(2**62)) & (code < 2**62)).all()
    if (keys.decode(code, exponent) == score).all():
        np.testing.assert_array_equal(code[:, None] < code, score[:, None] > score)


@ANY_TIME
@given(st.lists(st.floats(-1.999, 1.999), max_size=30))
def test_scores_below_two_come_back(values):
    score = np.array(values, dtype=np.float64)
    assert keys.exponent(score) == 0
    np.testing.assert_array_equal(keys.decode(keys.encode(score, 0), 0), score)


def test_largest_double_comes_back():
    score = np.array([np.finfo(float).max, 1.0, -np.finfo(float).max])
    exponent = keys.exponent(score)
    np.testing.assert_array_equal(keys.decode(keys.encode(score, exponent), exponent), score)


def test_labels_are_checked():
    assert keys.zero_one("label", [True, False]).tolist() == [1, 0]
    assert keys.zero_one("label", [1.0, 0.0]).tolist() == [1, 0]
    for wrong, message in (([0, -1], "got -1"), ([0.5], "got 0.5"), ([np.nan], "got nan"), (["1"], "got 1")):
        with pytest.raises(InputError, match=message):
            keys.zero_one("label", wrong)
    with pytest.raises(InputError, match="one dimension"):
        keys.zero_one("label", [[1]])

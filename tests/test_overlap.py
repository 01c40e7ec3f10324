"""Overlap and rank-biased overlap: against rbo's figures, the formula term by term, invariants, undefined cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import expected

from evalkit.metrics import diversity as d
from evalkit.metrics.diversity import overlap, rbo

FIGURES = expected("lists")
IDS = st.lists(st.integers(0, 9), max_size=8, unique=True)
PAIRS = st.lists(st.tuples(IDS, IDS), min_size=1, max_size=5)
ANY_TIME = settings(deadline=None)  # the first call loads pyarrow


def both(pairs):
    return [d.items([[str(i) for i in pair[side]] for pair in pairs], [str(i) for i in range(10)]) for side in (0, 1)]


def term_by_term(a, b, p):
    """Equation 32 as it is printed."""
    short, long = sorted((a, b), key=len)
    s, length = len(short), len(long)
    if not s:
        return np.nan
    x = [len({*short[:depth]} & {*long[:depth]}) for depth in range(length + 1)]
    first = sum(x[depth] / depth * p**depth for depth in range(1, length + 1))
    second = sum(x[s] * (depth - s) / (s * depth) * p**depth for depth in range(s + 1, length + 1))
    return (1 - p) / p * (first + second) + ((x[length] - x[s]) / length + x[s] / s) * p**length


@ANY_TIME
@given(PAIRS, st.sampled_from([0.3, 0.9, 0.99]))
def test_rbo_is_the_equation_of_the_paper(pairs, p):
    expected = [term_by_term(*pair, p) for pair in pairs]
    np.testing.assert_allclose(rbo(*both(pairs), p=p), expected, atol=1e-12)
    np.testing.assert_array_equal(rbo(*both(pairs), p=p), rbo(*both(pairs)[::-1], p=p))


@pytest.mark.parametrize("p", FIGURES["rbo"])
def test_rbo_equals_that_of_the_tool(p):
    """Lists of equal and of unequal length."""
    names = FIGURES["catalogue"]["item"]
    first, second = (d.items(FIGURES[side], names) for side in ("first", "second"))
    np.testing.assert_allclose(rbo(first, second, p=float(p)), FIGURES["rbo"][p], atol=1e-10)


@ANY_TIME
@given(PAIRS, st.integers(1, 10))
def test_overlap_counts_common_items(pairs, k):
    longest = [max(len(a[:k]), len(b[:k])) for a, b in pairs]
    common = [len({*a[:k]} & {*b[:k]}) for a, b in pairs]
    expected = [x / n if n else np.nan for x, n in zip(common, longest, strict=True)]
    np.testing.assert_allclose(overlap(*both(pairs), k), expected)


def test_equal_lists_have_1_and_disjoint_ones_0_at_every_length():
    same, other = both([([1, 2, 3], [4, 5]), ([1], [2]), ([], [1])])
    np.testing.assert_allclose(rbo(same, same), [1, 1, np.nan])
    np.testing.assert_array_equal(rbo(same, other), [0, 0, np.nan])

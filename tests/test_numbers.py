"""How numbers are written: digits that follow the width of the interval, the same within a column, and nothing lost."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evalkit.numbers import decimals, number


@given(st.floats(1e-6, 1e6), st.floats(0, 1), st.floats(0.01, 1), st.floats(0.01, 1))
def test_numbers_whose_intervals_do_not_overlap_print_differently(size, start, first, second):
    """Systems of one column, of metrics of any size: half the widths lie between them at the least."""
    widths = size * np.array([first, second])
    values = size * start + np.array([0, widths.sum() / 2 * 1.001])
    low, high = values - widths / 2, values + widths / 2
    places = decimals(values, low, high)
    assert number(values[0], places) != number(values[1], places)


@given(st.floats(-1e3, 1e3), st.floats(1e-6, 1e3))
def test_the_digits_are_two_of_the_width_and_more_only_where_a_limit_would_look_like_zero(low, width):
    high = low + width
    places = decimals([low], [low], [high])
    digits = width * 10**places
    ends = [end for end in (low, high) if end]
    if min(map(abs, ends)) >= 0.5 * 10.0**-places or places == 0:
        assert digits >= 9.99

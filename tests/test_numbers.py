"""How numbers are written: digits that follow the width of the interval, the same within a column, and nothing lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import numbers
from evalkit.numbers import decimals, estimate, interval, number, p_value, signed, signed_percent


@pytest.mark.parametrize(
    "value, places, text",
    [
        (0.78649, None, "0.786"),
        (0.78649, 2, "0.79"),
        (-0.0004, 3, "0.000"),
        (-0.02, 3, "−0.020"),
        (0.000123456, None, "0.000123"),
        (1234.5, None, "1,234"),
        (123_456_789.5, 1, "123,456,789.5"),
        (1e300, None, "1e+300"),
        (-2.5e-30, None, "−2.5e-30"),
        (0.0, None, "0"),
        (0.0, 3, "0.000"),
        (float("nan"), None, "–"),
        (float("-inf"), None, "−∞"),
    ],
)
def test_number(value, places, text):
    assert number(value, places) == text


@pytest.mark.parametrize(
    "value, places, text",
    [(0.0539, 3, "+0.054"), (0.0001, 3, "0.000"), (-0.0539, 3, "−0.054"), (0.0, 3, "0.000"), (np.inf, None, "+∞")],
)
def test_signed(value, places, text):
    assert signed(value, places) == text


def test_percent_has_two_decimals_less_than_the_difference():
    assert signed_percent(0.03124, 3) == "+3.1%"
    assert signed_percent(0.03124) == "+3.1%"
    assert signed_percent(-0.5, 1) == "−50%"


@pytest.mark.parametrize(
    "p, text", [(0.0004, "<0.001"), (0.001, "0.0010"), (0.2, "0.20"), (0.1234, "0.12"), (1.0, "1"), (0.996, "1")]
)
def test_p_value(p, text):
    assert p_value(p) == text


def test_interval_shows_infinite_limits_and_no_undefined_ones():
    assert interval(-np.inf, np.inf) == "[−∞, ∞]"
    assert interval(np.nan, np.nan) == ""


@pytest.mark.parametrize(
    "value, low, high, text",
    [
        (0.78649, 0.7539, 0.8061, "0.786 [0.754, 0.806]"),
        (0.78649, 0.5, 0.95, "0.79 [0.50, 0.95]"),
        (14.0891, 13.2, 15.1, "14.1 [13.2, 15.1]"),
        (1_234_567.0, 1_100_000.0, 1_300_000.0, "1,234,567 [1,100,000, 1,300,000]"),
        (3.21e-6, 3.1e-6, 3.3e-6, "0.00000321 [0.00000310, 0.00000330]"),
        (3.21e-16, 3.1e-16, 3.3e-16, "3.21e-16 [3.1e-16, 3.3e-16]"),
        (1.0, 1.0, 1.0, "1.000 [1.000, 1.000]"),
    ],
)
def test_an_estimate_has_two_digits_of_its_width(value, low, high, text):
    assert estimate(value, low, high) == text


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


def test_a_limit_that_is_not_zero_does_not_look_like_it():
    assert estimate(0.02, 0.0004, 0.045) == "0.0200 [0.0004, 0.0450]"
    assert estimate(0.02, 0.00004, 0.045) == "0.02000 [0.00004, 0.04500]"


def test_a_column_follows_its_narrowest_interval():
    assert decimals([0.5, 0.6], [0.4, 0.599], [0.6, 0.601]) == 4
    assert decimals([0.5, 0.6], [0.4, 0.6], [0.6, 0.6]) == 2  # no width: no digits from it
    assert numbers.decimals([np.nan], [np.nan], [np.nan]) == 0

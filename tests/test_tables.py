"""Rounding and escaping: what a reader sees of a number, and what hostile text may not do."""

import numpy as np
import pytest

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell
from evalkit.findings.finding import Kind


@pytest.mark.parametrize(
    "value, text",
    [(0.78649, "0.786"), (-0.0004, "0.000"), (-0.02, "−0.020"), (1234.5, "1,234.500"), (float("nan"), "–")],
)
def test_number(value, text):
    assert tables.number(value) == text


@pytest.mark.parametrize("value, text", [(0.0539, "+0.054"), (0.0001, "0.000"), (-0.0539, "−0.054"), (0.0, "0.000")])
def test_signed(value, text):
    assert tables.signed(value) == text


@pytest.mark.parametrize("p, text", [(0.0004, "<0.001"), (0.001, "0.001"), (0.1234, "0.12"), (1.0, "1"), (0.996, "1")])
def test_p_value(p, text):
    assert tables.p_value(p) == text


def test_interval_shows_infinite_limits_and_no_undefined_ones():
    assert tables.interval(-np.inf, np.inf) == "[−∞, ∞]"
    assert tables.interval(np.nan, np.nan) == ""


def test_text_from_the_data_is_escaped_everywhere():
    bad = "<script>alert(1)</script>"
    pieces = [
        tables.heading(bad, bad),
        tables.findings([Kind("EK1", bad, bad, bad).warning(bad)]),
        tables.paragraph(bad),
        tables.table(bad, [bad], [[Cell(tables.escape(bad))]], bad),
        tables.definitions([(bad, bad)]),
        tables.provenance([(bad, bad)]),
        tables.folded(bad, tables.paragraph(bad)),
    ]
    assert all("<script" not in piece.html for piece in pieces)


def test_a_table_reads_as_text_in_a_terminal():
    piece = tables.table("caption", ["system", "n"], [["a", "12"], ["long name", "3"]])
    assert piece.text.splitlines() == ["caption", "system     n ", "a          12", "long name  3 "]


def test_plain_has_no_nan_and_no_numpy():
    found = tables.plain({"a": np.float64("nan"), "b": np.int64(3), "c": [np.array([True])[0], float("inf")], 1: None})
    assert found == {"a": None, "b": 3, "c": [True, None], "1": None}
    assert type(found["b"]) is int

"""Tables and words of the page: columns that keep their digits, and what hostile text may not do."""

import numpy as np

from evalkit.drawing import tables
from evalkit.drawing.exports import plain
from evalkit.drawing.tables import Cell
from evalkit.findings.kinds import Kind


def test_text_from_the_data_is_escaped_everywhere():
    bad = "<script>alert(1)</script>"
    pieces = [
        tables.heading(bad, bad),
        tables.findings([Kind("EK1", bad, bad, bad, {"": "{fact}"}).warning(fact=bad)]),
        tables.paragraph(bad),
        tables.table(bad, [bad], [[Cell(bad)]], bad),
        tables.definitions([(bad, bad)]),
        tables.provenance([(bad, bad)]),
        tables.folded(bad, tables.paragraph(bad)),
    ]
    assert all("<script" not in piece.html for piece in pieces)


def test_a_table_reads_as_text_in_a_terminal():
    piece = tables.table("caption", ["system", "n"], [["a", "12"], ["long name", "3"]])
    assert piece.text.splitlines() == ["caption", "system     n ", "a          12", "long name  3 "]


def test_plain_has_no_nan_and_no_numpy():
    found = plain({"a": np.float64("nan"), "b": np.int64(3), "c": [np.array([True])[0], float("inf")], 1: None})
    assert found == {"a": None, "b": 3, "c": [True, None], "1": None}
    assert type(found["b"]) is int

"""A new file format is one class and one line; how tables, words and numbers of the page are
written.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow.feather
import pytest
from hypothesis import given, strategies as st
from samples import read_forecasts

from evalkit.arrays import InputError
from evalkit.drawing import tables
from evalkit.drawing.cells import Cell
from evalkit.drawing.paragraphs import definitions, heading, paragraph, provenance
from evalkit.drawing.pieces import folded
from evalkit.drawing.shown import findings
from evalkit.findings.kinds import FindingKind
from evalkit.numbers import decimals, number
from evalkit.reading.tables.formats import FORMATS, printed_path
from evalkit.reading.tables.parts import File, stamp
from evalkit.report import plain

FORECASTS_OF_ABC = pd.DataFrame(
    {"id": ["a", "b", "c"], "actual": [1.0, 2.0, 4.0], "forecast": [1.5, 2.5, 3.0]}
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Feather(File):
    """An Arrow file."""

    def _source(self, columns, numbers, frame):
        return frame, {frame: pyarrow.feather.read_table(self.path, columns=list(columns))}


def opened(path, header):
    names = tuple(pyarrow.feather.read_table(path).column_names)
    return Feather(name=printed_path(path), columns=names, path=path, stamp=stamp(path))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, in which files .feather are read as Arrow files."""
    monkeypatch.setitem(FORMATS, ".feather", opened)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_format_of_its_own_is_read_like_any_other(folder):
    FORECASTS_OF_ABC.to_feather("a.feather")
    (folder / "out/lang=de").mkdir(parents=True)
    FORECASTS_OF_ABC.to_feather("out/lang=de/b.feather")
    assert read_forecasts("a.feather").score["forecast"].tolist() == [1.5, 2.5, 3.0]
    in_folders = read_forecasts("out", attributes=["lang"])
    language = in_folders.rows.shared_values["attribute lang"].texts
    assert language.tolist() == ["de", "de", "de"]  # of the folder lang=de, for each of three rows


def test_a_format_of_its_own_is_refused_like_any_other(folder):
    FORECASTS_OF_ABC.to_feather("a.feather")
    FORECASTS_OF_ABC.assign(id=["d", "e", "f"], forecast=["1", "2", "high"]).to_feather("b.feather")
    with pytest.raises(
        InputError, match=r"^b.feather: forecast must be a number, got 'high' \(row 3\)$"
    ):
        read_forecasts(["a.feather", "b.feather"])
    FORECASTS_OF_ABC[["id"]].to_feather("c.feather")
    with pytest.raises(
        InputError, match=r"^c.feather: no column for the actual .* and for the forecast "
    ):
        read_forecasts("c.feather")


def test_text_from_the_data_is_escaped_everywhere():
    bad = "<script>alert(1)</script>"
    pieces = [
        heading(bad, bad),
        findings([FindingKind("EK1", bad, bad, bad, {"": "{fact}"}).warning(fact=bad)]),
        paragraph(bad),
        tables.table(bad, [bad], [[Cell(bad)]], bad),
        definitions([(bad, bad)]),
        provenance([(bad, bad)]),
        folded(bad, paragraph(bad)),
    ]
    assert all("<script" not in piece.html for piece in pieces)


def test_a_table_reads_as_text_in_a_terminal():
    piece = tables.table("caption", ["system", "n"], [["a", "12"], ["long name", "3"]])
    assert piece.text.splitlines() == ["caption", "system     n ", "a          12", "long name  3 "]


@pytest.mark.parametrize(("name", "kind"), [("bm25", "scroll"), ("x" * 40, "scroll wide")])
def test_a_table_too_wide_to_stand_beside_a_figure_is_marked(name, kind):
    difference = Cell("+0.013", "[−0.060, +0.086]", kind="one")
    table = tables.table("caption", ["pair", "difference"], [[f"{name} − b", difference]])
    assert table.html.startswith(f'<div class="{kind}"')


def test_plain_has_no_nan_and_no_numpy():
    found = plain(
        {
            "a": np.float64("nan"),
            "b": np.int64(3),
            "c": [np.array([True])[0], float("inf")],
            1: None,
        }
    )
    assert found == {"a": None, "b": 3, "c": [True, None], "1": None}
    assert type(found["b"]) is int


@given(
    size=st.floats(1e-6, 1e6),
    first=st.floats(0, 1),
    first_width=st.floats(0.01, 1),
    second_width=st.floats(0.01, 1),
)
def test_numbers_whose_intervals_do_not_overlap_print_differently(
    size, first, first_width, second_width
):
    """Two values of one column, of a metric of any size, in the middle of their intervals, of which
    the second begins just above the end of the first.
    """
    widths = size * np.array([first_width, second_width])
    just_apart = 1.001 * widths.sum() / 2
    values = size * first + np.array([0, just_apart])
    places = decimals(values, values - widths / 2, values + widths / 2)
    assert number(values[0], places) != number(values[1], places)


@given(low=st.floats(-1e3, 1e3), width=st.floats(1e-6, 1e3))
def test_an_interval_shows_two_digits_of_its_width(low, width):
    """Unless a limit is so near 0 that it would look like 0: it gets decimals of its own."""
    high = low + width
    places = decimals([low], [low], [high])
    nearest_to_0 = min(abs(limit) for limit in (low, high) if limit)
    is_a_limit_shown_as_0 = nearest_to_0 < 0.5 * 10.0**-places
    if not is_a_limit_shown_as_0 or places == 0:
        width_in_units_of_the_last_digit = width * 10**places
        assert width_in_units_of_the_last_digit >= 9.99  # 10, two digits, but for rounding

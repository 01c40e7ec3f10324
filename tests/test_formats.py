"""A new file format is one class and one line; how tables, words and numbers of the page are
written.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.feather
import pytest
from hypothesis import given, strategies as st
from samples import read_forecasts

from evalkit.arrays import InputError
from evalkit.drawing import tables
from evalkit.drawing.cells import Cell
from evalkit.drawing.paragraphs import definitions, heading, muted_paragraph, provenance
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
    return Feather(name=printed_path(path), columns=names, path=path, size_and_time=stamp(path))


@pytest.fixture
def folder_where_feather_is_a_format(tmp_path, monkeypatch):
    """An empty working folder; files .feather, no format of evalkit, are read as Arrow files."""
    monkeypatch.setitem(FORMATS, ".feather", opened)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_format_of_its_own_is_read_like_any_other(folder_where_feather_is_a_format):
    """Feather is no format of evalkit, but was added to its formats for this test. A file and a
    folder are read. The folder has the file out/lang=de/b.feather with three rows: the name of the
    folder lang=de gives the attribute lang, which is "de" in each row.
    """
    FORECASTS_OF_ABC.to_feather("a.feather")
    Path("out/lang=de").mkdir(parents=True)
    FORECASTS_OF_ABC.to_feather("out/lang=de/b.feather")
    of_file = read_forecasts("a.feather")
    assert of_file.score["forecast"].tolist() == FORECASTS_OF_ABC["forecast"].tolist()
    of_folder = read_forecasts("out", attributes=["lang"])
    language_of_each_row = of_folder.rows.shared_values["attribute lang"].texts
    assert language_of_each_row.tolist() == ["de", "de", "de"]


def test_a_format_of_its_own_is_refused_like_any_other(folder_where_feather_is_a_format):
    """Feather is no format of evalkit, but was added to its formats for this test. A file with a
    text among its forecasts and one without columns of values are refused, with the usual messages.
    """
    good = FORECASTS_OF_ABC
    with_a_text = good.assign(id=["d", "e", "f"], forecast=["1", "2", "high"])
    with_ids_alone = good[["id"]]
    good.to_feather("a.feather")
    with_a_text.to_feather("b.feather")
    with_ids_alone.to_feather("c.feather")
    no_number = r"^b.feather: forecast must be a number, got 'high' \(row 3\)$"
    with pytest.raises(InputError, match=no_number):
        read_forecasts(["a.feather", "b.feather"])
    no_columns = r"^c.feather: no column for the actual .* and for the forecast "
    with pytest.raises(InputError, match=no_columns):
        read_forecasts("c.feather")


def test_text_from_the_data_is_escaped_everywhere():
    """Every piece of a page is made with a text that is a script: its name, its words and its cells
    alike. No piece has the script in its HTML as it was given.
    """
    bad = "<script>alert(1)</script>"
    kind_of_finding = FindingKind("EK1", bad, bad, bad, {"": "{fact}"})
    pieces = [
        heading(bad, bad),
        findings([kind_of_finding.warning(fact=bad)]),
        muted_paragraph(bad),
        tables.table(bad, [bad], [[Cell(bad)]], bad),
        definitions([(bad, bad)]),
        provenance([(bad, bad)]),
        folded(bad, muted_paragraph(bad)),
    ]
    assert all("<script" not in piece.html for piece in pieces)


def test_a_table_reads_as_text_in_a_terminal():
    """The text of a table is its caption, its head and its rows, with columns of one width."""
    piece = tables.table("caption", ["system", "n"], [["a", "12"], ["long name", "3"]])
    assert piece.text.splitlines() == ["caption", "system     n ", "a          12", "long name  3 "]


@pytest.mark.parametrize(("name", "kind"), [("bm25", "scroll"), ("x" * 40, "scroll wide")])
def test_a_table_too_wide_to_stand_beside_a_figure_is_marked(name, kind):
    """A table with the name of a pair and its difference fits beside a figure if the name is short,
    not if it has 40 letters.
    """
    difference = Cell("+0.013", "[−0.060, +0.086]", kind="one")
    table = tables.table("caption", ["pair", "difference"], [[f"{name} − b", difference]])
    assert table.html.startswith(f'<div class="{kind}"')


def test_plain_has_no_nan_and_no_numpy():
    """`plain` makes values that JSON has: NaN and infinity become None, numpy's numbers and
    booleans Python's, and keys texts.
    """
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
    """A number and the limits of its interval are written with so many decimals that the width of
    the interval has at least two digits: it is 10 or more in units of the last digit.
    """
    high = low + width
    places = decimals(values=[low], low=[low], high=[high])
    width_in_units_of_the_last_digit = width * 10**places
    assert width_in_units_of_the_last_digit >= 9.99  # 10, but for rounding

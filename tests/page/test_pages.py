"""Pages on a desk and on a phone, light, dark and without scripts: no fault that axe knows, no
request, nothing cut.
"""

import re
from dataclasses import dataclass

import pandas as pd
import pytest
from answers import CLASSIFIED, PAGES, RANKED, page, slow_if_further
from browser import View, look as open_in_browser
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from evalkit.numbers import NAMED
from evalkit.page import ReportExporter

DESK = View(1280)
PHONE = View(400)
PHONE_WITHOUT_SCRIPTS = View(400, scripts=False)
PAGES_WITH_CURVES = ("classification", "ranking", "rating", *CLASSIFIED, *RANKED, "forecasts")


@dataclass(frozen=True)
class Bounds:
    """The most pixels above the strip of results, above the first curve, and of the height of the
    whole page with folds closed: of some pages, by name, and of any other.
    """

    above_results: int
    above_curve: int
    height: dict[str, int]
    height_of_others: int = 40_000


BOUNDS = {
    DESK: Bounds(400, 700, height={"ranking": 6000, "classification": 8500}),
    PHONE: Bounds(800, 1100, height={"ranking": 9000}),
}


def test_sentences_name_few_of_many_systems():
    """The page compares 126 systems, system_000 and so on; a table names all, a sentence few."""
    text = page("many")
    sentences = re.findall(r"<(?:p|li|caption|figcaption|summary)\b[^>]*>.*?</", text, re.S)
    assert len(re.findall(r"system_\d{3}", text)) > 126
    names_per_sentence = [len(set(re.findall(r"system_\d{3}", text))) for text in sentences]
    assert max(names_per_sentence) <= NAMED


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_less_than_300_kilobytes(name):
    """A page is one file, which holds its figures and styles."""
    assert len(page(name).encode()) < 300_000


@pytest.mark.parametrize("name", slow_if_further(PAGES))
def test_a_page_has_no_fault_in_a_browser_and_its_results_near_the_top(name, tmp_path):
    """A page is opened in a browser in three views: on a desk, on a phone, and on a phone without
    scripts. Everything that a script measures there is checked in this one test, as the start of a
    browser takes seconds.
    """
    views = [DESK, PHONE_WITHOUT_SCRIPTS, PHONE]
    seen = open_in_browser(page(name), tmp_path, views)
    assert seen.console == []  # the browser reported no error
    for view, measured in zip(views, seen.views, strict=True):
        assert measured["width"] == view.width
        assert measured["requests"] == []  # addresses from which the page loaded something
        # faults that the tool axe finds on the light page and, of contrast, on the dark one
        assert measured["violations"] == []
        assert measured["in_the_dark"] == []
        light_and_dark_background = measured["grounds"]
        assert len(set(light_and_dark_background)) == 2
        # nothing is cut off
        assert measured["sideways"] <= 0  # pixels by which the page is wider than the screen
        assert measured["cut"] == 0  # tables that are wider than their place
        assert measured["clipped"] == []  # words of figures beyond their edge
        # keyboard and links
        assert measured["idle"] == 0  # boxes at which the keyboard stops although nothing scrolls
        assert measured["astray"] == []  # links to places that are not there
        assert not measured["folded"]  # a link to a term of the glossary opens the glossary
        assert measured["above"] <= 2  # findings above the first number
    # How far down the first results and the first curve begin, and how high the page is, in pixels.
    # This is not bounded without scripts, as all folded parts of the page are then open.
    measured_by_view = dict(zip(views, seen.views, strict=True))
    for view in (DESK, PHONE):
        measured = measured_by_view[view]
        bounds = BOUNDS[view]
        assert measured["first"] < bounds.above_results
        if name in PAGES_WITH_CURVES:
            assert measured["curve"] <= bounds.above_curve
        assert measured["height"] < bounds.height.get(name, bounds.height_of_others)


def test_wide_tables_of_ones_own_cells_scroll_in_a_box_of_their_own(tmp_path):
    """A notebook of the user's own has a table in Markdown and one of pandas, each with 30 columns,
    which is far more than a phone has room for. On its page, seen on a phone with and without
    scripts, each table must scroll in a box of its own: then the page is no wider than the screen,
    and no table is cut off.
    """
    row = "|".join(f"column {i}" for i in range(30))
    rule = "|".join(["---"] * 30)
    markdown = f"# T\n\n|{row}|\n|{rule}|\n|{row}|"
    frame = pd.DataFrame({f"a long name of column {i}": [1] for i in range(30)})
    output = new_output("display_data", data={"text/html": frame.to_html(index=False)})
    cells = [new_markdown_cell(markdown), new_code_cell("frame", outputs=[output])]
    html, _resources = ReportExporter().from_notebook_node(new_notebook(cells=cells))
    for measured in open_in_browser(html, tmp_path, [PHONE, PHONE_WITHOUT_SCRIPTS]).views:
        assert measured["sideways"] <= 0  # pixels by which the page is wider than the screen
        assert measured["cut"] == 0  # tables that are wider than their place
        assert measured["violations"] == []  # faults that the tool axe finds

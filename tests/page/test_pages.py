"""Pages on a desk and on a phone, light, dark and without scripts: no fault that axe knows, no
request, nothing cut.
"""

import re

import pandas as pd
import pytest
from answers import CLASSIFIED, PAGES, RANKED, page
from browser import View, look
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from evalkit.numbers import NAMED
from evalkit.page import ReportExporter

DESK = View(1280)
PHONE = View(400)
PLAIN_PHONE = View(400, scripts=False)
TALLEST = {"ranking": 9000}  # pixels on a phone, with folds closed
FIRST = {1280: 400, 400: 800}  # pixels above the strip of results, by the width of the page
CURVE = {1280: 700, 400: 1100}  # pixels above the first curve of what follows
CURVED = ("classification", "ranking", "rating", *CLASSIFIED, *RANKED, "forecasts")
DESK_TALLEST = {"ranking": 6000, "classification": 8500}
LARGEST = 300_000  # bytes


def test_sentences_name_few_of_many_systems():
    text = page("many")
    said = re.findall(r"<(?:p|li|caption|figcaption|summary)\b[^>]*>.*?</", text, re.S)
    assert len(re.findall(r"system_\d{3}", text)) > 126
    assert max(len(set(re.findall(r"system_\d{3}", sentence))) for sentence in said) <= NAMED


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_small_and_has_no_fault_that_axe_knows(name, tmp_path):
    text = page(name)
    views = [DESK, PLAIN_PHONE, PHONE]
    assert len(text.encode()) < LARGEST
    seen = look(text, tmp_path, views)
    assert seen.console == []
    for view, told in zip(views, seen.views, strict=True):
        assert told["width"] == view.width
        assert told["violations"] == told["in_the_dark"] == []
        assert len(set(told["grounds"])) == 2  # it was dark
        assert told["requests"] == []
        assert told["sideways"] <= 0
        assert told["idle"] == 0  # the keyboard stops only at what scrolls
        assert told["cut"] == 0
        assert told["clipped"] == []  # of the words in figures
        assert told["astray"] == []  # every link leads to a place of the page
        assert not told["folded"]  # a link to a term opens the glossary
        # without a script the contents are open
        assert told["first"] < FIRST[view.width] or not view.scripts
        assert told["curve"] <= CURVE[view.width] or not view.scripts or name not in CURVED
        assert told["above"] <= 2  # findings above the first number
        assert told["height"] < DESK_TALLEST.get(name, 40_000) or view.width < DESK.width
        assert (
            told["height"] < TALLEST.get(name, 40_000)
            or view.width > PHONE.width
            or not view.scripts
        )


def test_tables_of_ones_own_cells_scroll_in_a_box_of_their_own(tmp_path):
    wide = "|".join(f"column {i}" for i in range(30))
    rule = "|".join(["---"] * 30)
    frame = pd.DataFrame({f"a long name of column {i}": [1] for i in range(30)}).to_html(
        index=False
    )
    output = new_output("display_data", data={"text/html": frame})
    cells = [
        new_markdown_cell(f"# T\n\n|{wide}|\n|{rule}|\n|{wide}|"),
        new_code_cell("frame", outputs=[output]),
    ]
    html = ReportExporter().from_notebook_node(new_notebook(cells=cells))[0]
    seen = look(html, tmp_path, [PHONE, PLAIN_PHONE])
    for told in seen.views:
        assert (told["sideways"] <= 0, told["cut"], told["violations"]) == (True, 0, [])

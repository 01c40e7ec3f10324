"""Pages on a desk and on a phone, light, dark and without scripts: no fault that axe knows, no request, nothing cut."""

import re

import pandas as pd
import pytest
from browser import DARK, View, look
from conftest import AXE, MORE, OTHERS, PAGES, ROOT, SAMPLES
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from evalkit.numbers import NAMED
from evalkit.page import ReportExporter

DESK, PHONE, PLAIN_PHONE = View(1280), View(400), View(400, scripts=False)
LOOKS = [
    *((page, theme, [DESK, PHONE, PLAIN_PHONE][: 3 if theme == "light" else 2]) for page in SAMPLES for theme in DARK),
    *((page, "light", [DESK, PLAIN_PHONE]) for page in OTHERS),
    *((page, "dark", [PHONE]) for page in OTHERS),
]
TALLEST = {"ranking": 9000}  # pixels on a phone, with folds closed
LARGEST = 300_000  # bytes


def test_every_report_has_its_page():
    assert [page.stem for page in SAMPLES] == sorted(path.stem for path in ROOT.glob("notebooks/*.ipynb"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_small(page):
    assert page.stat().st_size < LARGEST


def test_sentences_name_few_of_many_systems():
    text = (MORE / "many.html").read_text("utf-8")
    said = re.findall(r"<(?:p|li|caption|figcaption|summary)\b[^>]*>.*?</", text, re.S)
    assert len(re.findall(r"system_\d{3}", text)) > 126
    assert max(len(set(re.findall(r"system_\d{3}", sentence))) for sentence in said) <= NAMED


@pytest.mark.parametrize("page, theme, views", LOOKS, ids=[f"{page.stem}-{theme}" for page, theme, _ in LOOKS])
def test_a_page_has_no_fault_that_axe_knows(page, theme, views, tmp_path):
    seen = look(page.read_text("utf-8"), AXE.read_text("utf-8"), tmp_path, theme, views)
    assert seen.console == []
    for view, told in zip(views, seen.views, strict=True):
        assert (told["width"], told["dark"]) == (view.width, theme == "dark")
        assert told["violations"] == []
        assert told["requests"] == []
        assert told["sideways"] <= 0
        assert told["idle"] == 0  # the keyboard stops only at what scrolls
        assert told["cut"] == 0
        assert told["clipped"] == []  # of the words in figures
        assert told["astray"] == []  # every link leads to a place of the page
        assert not told["folded"]  # a link to a term opens the glossary
        assert told["height"] < TALLEST.get(page.stem, 40_000) or view.width > PHONE.width or not view.scripts


def test_tables_of_ones_own_cells_scroll_in_a_box_of_their_own(tmp_path):
    wide = "|".join(f"column {i}" for i in range(30))
    rule = "|".join(["---"] * 30)
    frame = pd.DataFrame({f"a long name of column {i}": [1] for i in range(30)}).to_html(index=False)
    output = new_output("display_data", data={"text/html": frame})
    cells = [new_markdown_cell(f"# T\n\n|{wide}|\n|{rule}|\n|{wide}|"), new_code_cell("frame", outputs=[output])]
    page = ReportExporter().from_notebook_node(new_notebook(cells=cells))[0]
    seen = look(page, AXE.read_text("utf-8"), tmp_path, "light", [PHONE, PLAIN_PHONE])
    for told in seen.views:
        assert (told["sideways"] <= 0, told["cut"], told["violations"]) == (True, 0, [])

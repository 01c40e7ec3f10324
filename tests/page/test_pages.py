"""Every page of the bundled samples on a desk and on a phone, light and dark: no fault that axe knows, no request."""

import re

import pytest
from browser import DARK, look
from conftest import AXE, ROOT

PAGES = sorted(ROOT.glob("reports/*.html"))
NOTEBOOKS = sorted(path.stem for path in ROOT.glob("notebooks/*.ipynb"))


def test_every_report_has_its_page():
    assert [page.stem for page in PAGES] == NOTEBOOKS


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("theme", DARK)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_no_fault_that_axe_knows(page, theme, width, tmp_path):
    seen = look(page.read_text("utf-8"), AXE.read_text("utf-8"), tmp_path, theme=theme, width=width)
    assert (seen.told["width"], seen.told["dark"]) == (width, theme == "dark")
    assert seen.told["violations"] == []
    assert seen.told["requests"] == []
    assert seen.told["sideways"] <= 0
    assert seen.told["idle"] == 0  # the keyboard stops only at what scrolls
    assert seen.console == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_keeps_its_width_without_scripts(page, tmp_path):
    plain = re.sub(r"<script>.*?</script>", "", page.read_text("utf-8"), flags=re.S)
    seen = look(plain, AXE.read_text("utf-8"), tmp_path, theme="light", width=400)
    assert seen.told["sideways"] <= 0
    assert seen.console == []

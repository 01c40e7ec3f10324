"""The tour, the guides and the recipes do what they say, from top to bottom."""

import pytest
from executed_pages import ROOT, execute, fences

DOCS = ROOT / "docs"
OTHERS = {DOCS / "texts.md", *(DOCS / "metrics").rglob("*.md")}  # tests/test_metric_pages.py
PAGES = [
    page
    for page in sorted(set(DOCS.rglob("*.md")) - OTHERS)
    if any(fence.language == "pycon" or fence.printed is not None for fence in fences(page))
]
BY_DAY = DOCS / "guides" / "ab_test.md"  # the guide whose commands also run by day


def name(page):
    return page.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_examples_of_a_page_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(page, commands=page == BY_DAY)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_commands_of_a_page_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    execute(page, commands=True)


def test_an_example_that_prints_something_else_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```pycon\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError, match=r"Expected:\n    3\nGot:\n    2"):
        execute(page, commands=False)


def test_a_script_that_prints_something_else_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```bash\necho 2\n```\n\n```text\n3\n```\n")
    with pytest.raises(AssertionError, match=r"page.md:1: prints\n2"):
        execute(page, commands=False)

"""The site of the documentation: `make docs`."""

import re
import sys
from importlib.metadata import metadata, version as installed_version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import metric_pages

DISTRIBUTION = "evalkit-reports"
PAGES_OF_METRICS = """
```{toctree}
:hidden:
:glob:
metrics/*
metrics/others/*
```
"""
ACCESSIBLE = {
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<th class="head"><p></p></th>': "<td></td>",
}
CODE_LINE = re.compile(r"\s*(>>>|\.\.\.)")

project = "evalkit"
author = "the evalkit authors"
copyright = "the evalkit authors, MIT licence"
version = release = installed_version(DISTRIBUTION)

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
exclude_patterns = ["_site", "_pictures"]
html_theme = "furo"
html_title = "evalkit"
html_extra_path = ["sample.html"]
html_copy_source = False

default_role = "literal"  # docstrings quote code with single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "description"
python_use_unqualified_type_names = True


def source_folder() -> str:
    """The address of the repository's files, from the metadata of the distribution."""
    links = metadata(DISTRIBUTION).get_all("Project-URL") or []
    addresses = dict(link.split(", ", 1) for link in links)
    return f"{addresses['Source']}/blob/main/"


def link_to_repository(app: Any, name: str, source: list[str]) -> None:
    """Links out of docs, which work in a checkout, lead to the repository."""
    top = "../" * (name.count("/") + 1)
    source[0] = source[0].replace(f"]({top}", f"]({source_folder()}")


def write_metric_pages(app: Any) -> None:
    """The pages of the metrics that have no text of their own, from the catalogue."""
    metric_pages.write_others()


def complete_metrics(app: Any, name: str, source: list[str]) -> None:
    """The table of metrics links to every page, and each written page has its metric's facts."""
    folder, _, page = name.rpartition("/")
    if name == "metrics":
        source[0] = metric_pages.link_others(source[0]) + PAGES_OF_METRICS
    elif folder == "metrics" and page in metric_pages.metrics_by_page():
        source[0] = metric_pages.with_facts(page, source[0])


def escape_formulas(
    app: Any, kind: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    """|x| and x_ are formulas in docstrings, not substitutions and links."""
    for place, line in enumerate(lines):
        if not CODE_LINE.match(line):
            lines[place] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", line.replace("|", r"\|"))


def make_accessible(app: Any, error: Exception | None) -> None:
    """What axe asks for and the theme lacks: levels of headings, names of landmarks, and boxes that
    scroll by keyboard.
    """
    sample = {Path(app.outdir) / name for name in html_extra_path}
    for path in set(Path(app.outdir).rglob("*.html")) - sample:
        text = path.read_text(encoding="utf-8")
        for lacking, complete in ACCESSIBLE.items():
            text = text.replace(lacking, complete)
        path.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Register these functions with Sphinx."""
    app.connect("builder-inited", write_metric_pages)
    app.connect("source-read", complete_metrics)
    app.connect("source-read", link_to_repository)
    app.connect("autodoc-process-docstring", escape_formulas)
    app.connect("build-finished", make_accessible)

"""The site of the documentation: `make docs`."""

import re
from importlib.metadata import metadata, version as installed_version
from pathlib import Path
from typing import Any

DISTRIBUTION = "evalkit-reports"
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


def escape_formulas(
    app: Any, kind: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    """|x| and x_ are formulas in docstrings, not substitutions and links."""
    for place, line in enumerate(lines):
        if not CODE_LINE.match(line):
            lines[place] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", line.replace("|", r"\|"))


# what the theme leaves out for screen readers and keyboards, as axe says
ACCESSIBLE = {
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<th class="head"><p></p></th>': "<td></td>",
    'role="heading">': 'role="heading" aria-level="2">',
    '<aside class="sidebar-drawer"': '<aside aria-label="All pages" class="sidebar-drawer"',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
}


def make_accessible(app: Any, error: Exception | None) -> None:
    """Complete the attributes of the written pages."""
    for page in Path(app.outdir).rglob("*.html"):
        if page.name not in html_extra_path:
            text = page.read_text("utf-8")
            for incomplete, complete in ACCESSIBLE.items():
                text = text.replace(incomplete, complete)
            page.write_text(text, "utf-8")


def setup(app: Any) -> None:
    """Register these with Sphinx."""
    app.connect("source-read", link_to_repository)
    app.connect("autodoc-process-docstring", escape_formulas)
    app.connect("build-finished", make_accessible)

"""The report page: one HTML file that loads nothing from elsewhere, from an executed notebook.

`jupyter-nbconvert --to evalkit out.ipynb`, `evalkit report` and `papermill --engine evalkit` all
write it.

Classes that tables and studies may use in the HTML that they display; all text from data must come
escaped.

`<div class="verdict WORD"><p><strong>better</strong> …</p><p>…</p></div>`
    the answer; WORD is better, worse, higher, lower, equivalent, cannot-tell, pass or fail. The
    word stands also in <strong>, as colour alone says nothing in print; further paragraphs are
    small. Several verdicts stack to one block.
`<!--at WORD--><ul class="notes"><li>…</li><li class="warn">…</li></ul><!--/at-->`
    findings; `warn` for what could change the answer. The page moves them to the section whose
    heading has the word.
`<div class="scroll strip"><table>…</table></div>`
    the strip of results, see `evalkit/drawing/strips.py`. The class of a row is its verdict.
`<div class="scroll"><table class="metrics">…</table></div>`
    numbers, right aligned and of equal width. Rows begin with `<th scope="row">`, column heads are
    `<th scope="col">`; `<caption>` says what the numbers are. In a cell: `class="lead"` the best
    (bold), `class="muted"` what matters less, `class="text"` words (left), `<span
    class="ci">[0.768, 0.805]</span>` an interval. The box scrolls sideways on a phone and the first
    column stays. Only where it does the keyboard stops at it.
`<figure><div class="scroll"><svg role="img"
aria-label="…">…</svg></div><figcaption>…</figcaption></figure>`
    a picture on a white card; drawn for white, or in currentColor.
`<dl class="definitions"><dt>name</dt><dd>definition</dd>…</dl>`, with `class="definitions
provenance"` for values, `<p class="muted">`, `<p class="asked">` (what was asked, under the title),
`<p class="answer">` (the answer, under it), `<p class="turn">` (what turns it round), `<p
class="gloss muted">` (what its metric measures), `<details><summary>…</summary>…</details>`.

The contents are the h2 headings, of markdown cells and of displayed HTML. A heading of a markdown
cell begins a section, which is printed if the cell has the tag `print`, all if none has it. A cell
with the tag `notebook-only` is not on the page.

The script adds controls; without it all rows stand. What it reads:

`table.metrics`
    a column sorts by the first number of its cells; what a cell opens to stands in a `<div>` and is
    not copied. `<details class="rows">` behind a table holds more of its rows.
`<g data-series="system" data-says="line per point">`, `data-limits`, `data-key` in `<g class="axes"
data-x data-y>`
    who is drawn there, the band of it, its name in the legend; see `evalkit/drawing/figures.py`.
`<div data-sweep="…"><div class="tools sweep" hidden>…</div><table>…</table></div>`
    counts by threshold, the slider over them, and the table that it writes; see
    `evalkit/pages/binary_page.py`.
"""

from __future__ import annotations

import copy
import html
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbconvert.exporters.templateexporter import TemplateExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from traitlets import default
from traitlets.config import Config

from evalkit.displays import PAGE
from evalkit.findings.kinds import measured
from evalkit.numbers import anchor, count_with_noun
from evalkit.page.arrangement import arranged, cells_on_page, is_heading, split_by_heading

if TYPE_CHECKING:
    from nbformat import NotebookNode

HEADING = re.compile(r"<h2(?: id=\"([^\"]*)\")?>(.*?)</h2>", re.DOTALL)
TITLE = re.compile(r"<h1[^>]*>(.*?)</h1>", re.DOTALL)
# a place and a piece for it
MARKED_PIECE = re.compile(r"<!--at (\w+)-->(.*?)<!--/at-->", re.DOTALL)
SECTION = r'(?=<div class="prose[^"]*">\s*<h2)'
STRIP = r'<div class="scroll strip[^"]*">.*?</div>(?:<p class="muted">.*?</p>)?'
PLACES = {"verdict": SECTION, "strip": STRIP}  # what a piece is put behind, if not a heading
STYLE = re.compile(r'(<defs>\s*<style type="text/css">.*?</style>\s*</defs>\n?)')
ASKED_PARAGRAPH = re.compile(r'<p class="asked">.*?</p>(?!<p class="asked">)', re.DOTALL)
TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
MARKUP = re.compile(r"<[^>]*>")
GATE_CELL = "gate"  # the id of the cell that ends a run whose gate is not kept
STYLES = ("page.css", "controls.css")
SCRIPTS = ("page.js", "address.js", "tables.js", "figures.js", "thresholds.js")
# a string or a regular expression of a script
QUOTED = re.compile(
    r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"""
    r"""|/(?! )(?:\[(?:\\.|[^\]\\])*\]|\\.|[^/\\\n])+/)"""
)
SPACED = r" *([][,;:{}()=<>?&|*/]) *|(?<=[;,{])\n"  # spaces of a script that nobody reads there
COMMENT = re.compile(r"^\s*//.*\n|\s+//.*$|/\*.*?\*/", re.MULTILINE)


class ReportExporter(TemplateExporter):
    """Exports an executed notebook as a report page.

    It derives from nbconvert's TemplateExporter, not from its HTMLExporter, which parses the
    finished page again (more work than everything else) and may load scripts from other sites.
    """

    export_from_notebook = "HTML report (evalkit)"
    output_mimetype = "text/html"

    @default("extra_template_basedirs")
    def _default_extra_template_basedirs(self) -> list[str]:
        return [*super()._default_extra_template_basedirs(), str(Path(__file__).parent)]

    @property
    def default_config(self) -> Config:
        """The configuration of nbconvert for a page: the template, the suffix of the file, and
        which form of an output is used if it has several.
        """
        # the richest form first; those that need a script are not used
        preferred_forms = [
            "text/html",
            "text/markdown",
            "image/svg+xml",
            "image/png",
            "image/jpeg",
            "text/latex",
            "text/plain",
        ]
        exporter = {
            "file_extension": ".html",
            "template_name": "evalkit",
            # The notebook is validated once, not after each of nbconvert's preprocessors, of which
            # most do nothing.
            "optimistic_validation": True,
        }
        config = Config(
            {
                "NbConvertBase": {"display_data_priority": preferred_forms},
                "TemplateExporter": exporter,
            }
        )
        config.merge(super().default_config)  # for settings that are not named above
        return config

    def default_filters(self) -> Iterator[tuple[str, Callable[..., object]]]:
        """nbconvert's filters and those of this page, each with the name that templates use."""
        yield from super().default_filters()  # type: ignore[no-untyped-call]  # nbconvert has no types
        filters = (
            prose,
            boxed,
            numbered,
            placed,
            linked,
            sectioned,
            styled,
            dated,
            headings,
            title,
        )
        for function in filters:
            yield function.__name__, function

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **options: Any
    ) -> tuple[Any, dict[str, Any]]:
        """The HTML of the page of a notebook, and nbconvert's resources. The page has the cells
        that are not tagged otherwise, in the order that the notebook asks for; of a run that failed
        only those up to the cell that failed. The template shows the error, `failed`.
        """
        notebook = copy.deepcopy(nb)  # an argument is not changed
        failed = failure(notebook)
        if failed is not None:
            del notebook.cells[failed["cell"] + 1 :]
        notebook.cells = arranged(cells_on_page(notebook.cells))
        _keep_page_form(notebook)
        # the gate stands on the first screen; its cell only ends the run
        without_gate = [cell for cell in notebook.cells if cell.get("id") != GATE_CELL]
        notebook.cells = without_empty_sections(without_gate)
        resources = {**(resources or {}), "failed": failed, "css": style_sheet(), "js": script()}
        return super().from_notebook_node(notebook, resources, **options)


def _keep_page_form(notebook: NotebookNode) -> None:
    """Drop the other forms of each output that has one for the page, such as those for notebooks;
    the notebook is changed.
    """
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if PAGE in output.get("data", {}):
                output.data = {"text/html": output.data[PAGE]}


def failure(notebook: NotebookNode) -> dict[str, Any] | None:
    """The error that ended the run: its name, its message, and the index of its cell; None if there
    was none.

    It is the one that `evalkit` recorded in the notebook, or else the first one displayed by a cell
    that is not tagged as expected to fail.
    """
    if recorded := notebook.metadata.get("evalkit", {}).get("failed"):
        return dict(recorded)
    for i, cell in enumerate(notebook.cells):
        if "raises-exception" in cell.metadata.get("tags", []):
            continue
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                return {"name": output.ename, "message": output.evalue, "cell": i}
    return None


@cache
def style_sheet() -> str:
    """The style sheets of the page as one, without comments and unneeded spaces."""
    return _without_spaces(_concatenated(STYLES), r"\s*([{};,])\s*|(?<=:) ")


@cache
def script() -> str:
    """The scripts of the page as one, without comments, indentation and unneeded spaces; in a
    function, so that their names are no globals.
    """
    scripts = _without_spaces(_concatenated(SCRIPTS), SPACED)
    return f"(()=>{{{scripts}\nonresize();arrive()}})()"


def _concatenated(names: Sequence[str]) -> str:
    """The text of files of the page, one behind the other, without comments and indentation."""
    text = COMMENT.sub("", "\n".join(map(_read, names)))
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line)


def _without_spaces(text: str, spaced: str) -> str:
    """The text with each match of the pattern `spaced` replaced by its first group, a sign without
    the spaces around it; strings and regular expressions stay as they are.

    >>> _without_spaces('a = b ? "c = d" : /e = f/', r" *([=?:]) *")
    'a=b?"c = d":/e = f/'
    """
    pieces = QUOTED.split(text)
    for i in range(0, len(pieces), 2):  # between two of them is a quoted one
        pieces[i] = re.sub(spaced, lambda match: match[1] or "", pieces[i])
    return "".join(pieces)


def _read(name: str) -> str:
    """The text of a file of the page."""
    path = Path(__file__).parent / "evalkit" / name
    return path.read_text(encoding="utf-8").strip()


# Filters ------------------------------------------------------------------------------------------


def prose(source: str, attachments: dict[str, Any] | None = None) -> str:
    """Markdown as HTML, without the anchor signs that nbconvert puts behind headings."""
    renderer = IPythonRenderer(
        escape=False, exclude_anchor_links=True, attachments=attachments or {}
    )
    return boxed(str(MarkdownWithMath(renderer=renderer).render(source)))


def boxed(piece: str) -> str:
    """HTML with each table in a box that scrolls, unless it has such boxes already."""
    if '<div class="scroll' in piece:
        return piece
    return TABLE.sub(r'<div class="scroll">\g<0></div>', piece)


def numbered(page: str) -> str:
    """The page with an id for each h2 heading: the heading's own, or its words; the second with the
    same words has a 2 behind them.
    """
    return HEADING.sub(partial(_with_id, {}), page)


def _with_id(uses: dict[str, int], heading: re.Match[str]) -> str:
    """A heading with an id. uses: how often each id was needed before, which is updated."""
    own_id, markup = heading.groups()
    words = own_id or anchor(_plain(markup)) or "section"
    uses[words] = uses.get(words, 0) + 1
    id = words if uses[words] == 1 else f"{words}-{uses[words]}"
    return f'<h2 id="{id}">{markup}</h2>'


def placed(page: str) -> str:
    """The page with marked pieces of HTML, `<!--at PLACE-->piece<!--/at-->`, moved to their places;
    a piece whose place the page does not have stays where it is.

    A place is "verdict", the end of the part before the first section; "strip", below the strip of
    results; or a word of the id of a heading: the piece is put after its prose.

    >>> section = '<div class="prose"><h2 id="b-d">B</h2></div>'
    >>> placed(f"<p>a</p><!--at b--><p>c</p><!--/at-->{section}<p>e</p>")
    '<p>a</p><div class="prose"><h2 id="b-d">B</h2></div><p>c</p><p>e</p>'
    """
    for place, piece in MARKED_PIECE.findall(page):
        marked_piece = f"<!--at {place}-->{piece}<!--/at-->"
        without_piece = page.replace(marked_piece, "", 1)
        # the first heading whose id has the word between hyphens, up to the end of its prose
        heading = rf'<h2 id="(?:[^"]*-)?{place}(?:-[^"]*)?">.*?</div>'
        match = re.search(PLACES.get(place, heading), without_piece, re.DOTALL)
        if match is None:
            page = page.replace(marked_piece, piece, 1)  # only the marks are removed
        else:
            end = match.end()
            page = without_piece[:end] + piece + without_piece[end:]
    return page


def sectioned(page: str) -> str:
    """The page with each heading of a markdown cell, and what follows it, in a section, and what
    stands before the first one in a section that is always printed.
    """
    parts = re.split(SECTION, page)
    sections = "".join(f"<section>{section}</section>" for section in parts[1:])
    return f'<section class="first">{parts[0]}</section>{sections}'


def styled(page: str) -> str:
    """The page with each distinct style sheet of its SVG figures stored once: figures of one kind
    have the same, and a style sheet is valid for the whole page.
    """
    styles = set()
    pieces = []
    # the pattern has a group around a style sheet, so that `split` returns these too
    for piece in STYLE.split(page):
        if piece not in styles:
            pieces.append(piece)
        if STYLE.match(piece):
            styles.add(piece)
    return "".join(pieces)


def dated(page: str) -> str:
    """The page with its date below the question.

    >>> re.findall(r"Data of|Made on|Intro", dated('<p class="asked">Data of May</p><p>Intro</p>'))
    ['Data of', 'Made on', 'Intro']
    """
    return ASKED_PARAGRAPH.sub(rf'\g<0><p class="asked">Made on {made_on()}</p>', page, count=1)


def made_on() -> date:
    """Today, or the day of the environment variable SOURCE_DATE_EPOCH, with which a build can be
    repeated.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(epoch), UTC).date() if epoch else date.today()


def headings(page: str) -> list[tuple[str, str]]:
    """The id and the text (as HTML) of each h2 heading.

    >>> headings('<h2 id="by-segment">By <em>segment</em></h2>')
    [('by-segment', 'By segment')]
    """
    return [(match[1], html.escape(_plain(match[2]))) for match in HEADING.finditer(page)]


def title(page: str) -> str:
    """The text (as HTML) of the first h1 heading.

    >>> title("<p>…</p><h1>Ranking &amp; more</h1>")
    'Ranking &amp; more'
    """
    match = TITLE.search(page)
    return html.escape(_plain(match[1])) if match else "Report"


def _plain(markup: str) -> str:
    """The text of HTML, on one line."""
    return " ".join(html.unescape(MARKUP.sub("", markup)).split())


# Sections -----------------------------------------------------------------------------------------

EMPTY = ({"text/html": "", "text/plain": ""}, {"text/html": ""})


def without_empty_sections(cells: list[NotebookNode]) -> list[NotebookNode]:
    """The cells without the sections whose outputs are all empty."""
    filled = [section for section in split_by_heading(cells) if not _is_empty(section)]
    return list(chain.from_iterable(filled))


def _is_empty(section: list[NotebookNode]) -> bool:
    """True for a section with a heading whose outputs are all without text; without an output it
    may be prose, and is not empty.
    """
    outputs = list(chain.from_iterable(cell.get("outputs", []) for cell in section))
    if not outputs or not is_heading(section[0]):
        return False
    return all(output.get("data") in EMPTY for output in outputs)


# Glossary -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """A term, its meaning, and the words by which a page may mention it."""

    name: str
    meaning: str
    words: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of its entry on the page."""
        return f"term-{anchor(self.name)}"


def _terms() -> tuple[Term, ...]:
    """The terms of glossary.toml, in its order: each with its meaning on one line, and the words
    that are linked to it on a page, if these are not its name.
    """
    path = Path(__file__).with_name("glossary.toml")
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    terms = []
    for name, term in table.items():
        one_line = " ".join(term["meaning"].split())
        # in braces it may have what simulations measured, by the name of the sentence
        meaning = one_line.format_map(vars(measured))
        words = tuple(term.get("words", ()))
        terms.append(Term(name, meaning, words))
    return tuple(terms)


TERMS = _terms()
TERM_OF_WORDS: dict[str, Term] = {}
for term in TERMS:
    TERM_OF_WORDS.update(dict.fromkeys(term.words or (term.name,), term))
# the longest first: of two that begin at one place it is the term
_ALTERNATIVES = "|".join(map(re.escape, sorted(TERM_OF_WORDS, key=len, reverse=True)))
WORDS = re.compile(rf"(?<![\w-])({_ALTERNATIVES})(?![\w-])")
TAGS = re.compile(r"""(<(?:[^<>"']|"[^"]*"|'[^']*')*>)""")
TAG = re.compile(r"<(/?)([a-z0-9]+)")
# elements in which no term is linked, such as links, headings, code, pictures and cells of tables
WITHOUT_LINKS = frozenset(
    [
        "a",
        "button",
        "code",
        "dt",
        "h1",
        "h2",
        "h3",
        "pre",
        "script",
        "strong",
        "style",
        "summary",
        "svg",
        "td",
        "title",
    ]
)
# elements whose start and end tags also end a cell of a table that has no end tag of its own
END_CELLS = frozenset(["td", "th", "tr", "table"])


def linked(page: str) -> str:
    """The page with the first mention of each term of the glossary in each section linked to its
    entry, and below it the entries of all terms that are linked.

    >>> linked("<p>p by Holm</p>").split("<details")[0]
    '<p><a class="term" href="#term-p">p by</a> <a class="term" href="#term-holm">Holm</a></p>'
    >>> linked("<table><tr><td>1<td>2</table><p>Holm</p>").split("<details")[0]
    '<table><tr><td>1<td>2</table><p><a class="term" href="#term-holm">Holm</a></p>'
    """
    pieces = TAGS.split(page)  # text, tag, text, tag, …, text
    open_elements = list[str]()  # those in which nothing is linked, such as headings
    terms_of_section = set[Term]()  # those that are linked already
    terms_of_page = set[Term]()
    for i, piece in enumerate(pieces):
        is_tag = i % 2 == 1
        if is_tag:
            _update_open_elements(piece, open_elements)
        elif not open_elements:
            # `_link_first` adds the terms that it links to those of the section
            pieces[i] = WORDS.sub(partial(_link_first, terms_of_section), piece)
            terms_of_page |= terms_of_section
        if piece.startswith("<h2"):
            terms_of_section.clear()
    return "".join(pieces) + _glossary([term for term in TERMS if term in terms_of_page])


def _link_first(mentioned: set[Term], words: re.Match[str]) -> str:
    """The words of a term as a link to its entry; without one if the term is among those mentioned,
    to which it is added.
    """
    term = TERM_OF_WORDS[words[1]]
    if term in mentioned:
        return words[1]
    mentioned.add(term)
    return f'<a class="term" href="#{term.id}">{words[1]}</a>'


def _update_open_elements(tag: str, open_elements: list[str]) -> None:
    """Update the names of the elements that are open after a tag, of those in which no links are
    wanted: headings, code, cells of tables and others of `WITHOUT_LINKS`. The innermost is last; a
    start tag adds its element, an end tag removes it.
    """
    match = TAG.match(tag)
    if match is None:  # a comment
        return
    slash, name = match.groups()
    # Cells of large tables have no end tags: an open cell also ends where the next cell or row
    # begins, and where the table ends.
    while name in END_CELLS and open_elements and open_elements[-1] in END_CELLS:
        open_elements.pop()
    is_end_tag = slash == "/"
    if is_end_tag:
        # the end of any other element, or of a cell that was removed above, changes nothing
        if open_elements and open_elements[-1] == name:
            open_elements.pop()
    elif name in WITHOUT_LINKS or 'scope="row"' in tag:  # a cell that is the head of its row
        open_elements.append(name)


def _glossary(terms: list[Term]) -> str:
    """The terms and their meanings in HTML, folded; a link to a term opens them."""
    if not terms:
        return ""
    items = ""
    for term in terms:
        name = f'<dt id="{term.id}">{html.escape(term.name)}</dt>'
        items += f"{name}<dd>{html.escape(term.meaning)}</dd>"
    summary = f"{count_with_noun(len(terms), 'term')} used on this page"
    return f'<details><summary>{summary}</summary><dl class="definitions">{items}</dl></details>'

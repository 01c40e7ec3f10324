"""The page: complete in itself, escaped, with contents and folded code, and honest about a failed
run.
"""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell as text_cell, new_notebook, new_output

from evalkit.page import SCRIPTS, STYLES, ReportExporter, dated, numbered, script, style_sheet

PARTS = Path(__file__).resolve().parents[1] / "evalkit" / "page" / "evalkit"
HOSTILE = "<script>alert(1)</script>"


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def named(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def code_cell(source, *outputs, tags=()):
    """A code cell."""
    return new_code_cell(
        source, outputs=list(outputs), metadata={"tags": list(tags)} if tags else {}
    )


def output_of(**data):
    """An output of a code cell in one or several forms, as html="<p>1</p>", text="1"."""
    types = {
        "html": "text/html",
        "text": "text/plain",
        "svg": "image/svg+xml",
        "png": "image/png",
        "md": "text/markdown",
    }
    return new_output("display_data", data={types[key]: value for key, value in data.items()})


def html_page_of(*cells, **metadata):
    """The HTML page of a notebook with these cells."""
    return ReportExporter().from_notebook_node(new_notebook(cells=list(cells), metadata=metadata))[
        0
    ]


@pytest.fixture(scope="module")
def page_of_each_output():
    """A page with outputs of each form, headings that repeat, and script in printed text and in
    the representation of a value.
    """
    picture = output_of(png="aGk=", text="<Figure>")
    picture.metadata["image/png"] = {"alt": 'a "picture"'}
    results = new_output(
        "display_data", data={"application/vnd.evalkit+json": {"secret": 1}, "text/plain": ""}
    )
    return html_page_of(
        text_cell("# Ranking & *more*\n\nWhat was [asked](https://example.org/why)."),
        code_cell("preds = 'x'", tags=["parameters"]),
        code_cell("preds = 'y'", tags=["injected-parameters"]),
        text_cell("## Metrics\n\ntext\n\n## By segment <1>"),
        code_cell(
            "a < b",
            output_of(
                html="<h2>From a table</h2><table class='metrics'></table>", text="plain of html"
            ),
        ),
        code_cell(
            "",
            picture,
            output_of(svg="<svg viewBox='0 0 1 1'></svg>"),
            output_of(md="some **bold**"),
        ),
        code_cell(
            "p",
            new_output("stream", name="stdout", text=HOSTILE),
            new_output("stream", name="stderr", text="warned"),
        ),
        code_cell(
            "q",
            new_output("execute_result", data={"text/plain": f"'{HOSTILE}'"}, execution_count=1),
        ),
        text_cell("## Metrics"),
        code_cell("publish", results),
    )


def test_a_page_loads_nothing_from_elsewhere(page_of_each_output):
    """No picture, style, font, script or frame has an address outside the page. The only outside
    address is that of a link in its text, which a reader may follow.
    """
    elements = Elements(page_of_each_output)
    tags = {tag for tag, _ in elements.found}
    assert tags & {"link", "iframe", "object", "embed", "base"} == set()
    loaded = [
        attributes[key]
        for _, attributes in elements.found
        for key in ("src", "srcset", "data", "poster")
        if attributes.get(key)
    ]
    assert [target for target in loaded if not target.startswith("data:")] == []
    links = [
        (tag, attributes["href"]) for tag, attributes in elements.found if "href" in attributes
    ]
    assert {tag for tag, _ in links} == {"a"}
    links_to_elsewhere = [target for _, target in links if not target.startswith("#")]
    assert links_to_elsewhere == ["https://example.org/why"]
    loading_by_css_or_script = r"url\(|@import|@font-face|\bfetch\(|import\(|XMLHttpRequest"
    assert not re.search(loading_by_css_or_script, page_of_each_output)


def test_the_title_is_the_first_heading_as_plain_text(page_of_each_output):
    """The first heading of the notebook is "# Ranking & *more*"."""
    assert page_of_each_output.startswith(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport"'
    )
    assert "<title>Ranking &amp; more</title>" in page_of_each_output


def test_a_link_to_the_main_part_stands_before_the_contents(page_of_each_output):
    skip = page_of_each_output.index('<a class="skip" href="#_main">')
    contents = page_of_each_output.index("<nav")
    main = page_of_each_output.index('<main id="_main">')
    assert skip < contents < main


def test_script_in_outputs_is_escaped(page_of_each_output):
    """Two outputs hold <script>alert(1)</script>: printed text and the representation of a value.
    The page has one script of its own.
    """
    assert len(Elements(page_of_each_output).named("script")) == 1
    assert "<script>alert(1)</script>" not in page_of_each_output
    assert page_of_each_output.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2


def test_results_for_programs_and_empty_text_are_not_on_the_page(page_of_each_output):
    """The last cell publishes {"secret": 1} as JSON, with "" as its text."""
    assert "secret" not in page_of_each_output
    assert "<pre></pre>" not in page_of_each_output


def test_contents_list_the_headings(page_of_each_output):
    """The contents list the headings of text cells and of HTML outputs, in the order of the page.
    The second "Metrics" has an id of its own.
    """
    start = page_of_each_output.index("<nav")
    contents = page_of_each_output[start : page_of_each_output.index("</nav>")]
    links = re.findall(r'<a href="#([^"]+)">([^<]+)</a>', contents)
    assert links == [
        ("metrics", "Metrics"),
        ("by-segment-1", "By segment &lt;1&gt;"),
        ("from-a-table", "From a table"),
        ("metrics-2", "Metrics"),
    ]
    headings = Elements(page_of_each_output).named("h2")
    assert [heading["id"] for heading in headings] == [id for id, _ in links]


def test_code_is_folded_behind_one_button(page_of_each_output):
    """Six of the seven code cells have a source, two of which set parameters. Each is folded, and
    one button shows them all.
    """
    elements = Elements(page_of_each_output)
    buttons = [button for button in elements.named("button") if "id" in button]
    assert buttons == [
        {"type": "button", "id": "show-code", "aria-pressed": "false", "hidden": None}
    ]
    folded = [details for details in elements.named("details") if details.get("class") == "code"]
    assert len(folded) == 6
    assert all("open" not in details for details in folded)
    source = '<details class="code"><summary>code</summary><pre>a &lt; b</pre></details>'
    assert source in page_of_each_output


def test_an_output_with_html_and_text_is_shown_as_html(page_of_each_output):
    assert "<table class='metrics'></table>" in page_of_each_output
    assert "plain of html" not in page_of_each_output


@pytest.mark.parametrize(
    "html",
    [
        '<img src="data:image/png;base64,aGk=" alt="a &quot;picture&quot;">',
        "<figure><svg viewBox='0 0 1 1'></svg></figure>",
        "some <strong>bold</strong>",
        '<pre class="stderr">warned</pre>',
    ],
    ids=["png", "svg", "markdown", "stderr"],
)
def test_each_form_of_output_has_its_html(page_of_each_output, html):
    assert html in page_of_each_output


@pytest.fixture
def page_of_a_failed_run():
    """A page whose first code cell ends with an error; its message is script."""
    error = new_output(
        "error", ename="KeyError", evalue=HOSTILE, traceback=["\x1b[31mline 1\x1b[0m", HOSTILE]
    )
    return html_page_of(
        text_cell("# T"), code_cell("x", error), text_cell("## After"), code_cell("after")
    )


def test_a_failed_run_says_so_in_its_title(page_of_a_failed_run):
    assert "<title>FAILED: T</title>" in page_of_a_failed_run
    assert "<title>FAILED: RUN FAILED</title>" not in page_of_a_failed_run


def test_a_failed_run_shows_its_error_escaped_and_without_colours(page_of_a_failed_run):
    assert "<strong>KeyError:</strong> &lt;script&gt;" in page_of_a_failed_run
    traceback = '<details class="traceback"><summary>Traceback</summary><pre>line 1\n&lt;script&gt;'
    assert traceback in page_of_a_failed_run
    assert HOSTILE not in page_of_a_failed_run


def test_the_page_of_a_failed_run_ends_with_its_error(page_of_a_failed_run):
    assert "After" not in page_of_a_failed_run
    main = page_of_a_failed_run.split('<main id="_main">')[1].split("</main>")[0]
    assert "after" not in main


ERROR = new_output("error", ename="ValueError", evalue="x", traceback=["t"])
DIED = {"failed": {"name": "DeadKernelError", "message": "died", "cell": 0}}
BANNER = text_cell("An Exception was encountered", metadata={"tags": ["papermill-error-cell-tag"]})
PICTURE = text_cell("![dot](attachment:dot.png)", attachments={"dot.png": {"image/png": "aGk="}})


@pytest.mark.parametrize(
    ("cells", "metadata", "there", "not_there"),
    [
        (
            [code_cell("x"), code_cell("y")],
            {"evalkit": DIED},
            "<strong>DeadKernelError:</strong> died",
            "<pre>y</pre>",
        ),
        (
            [code_cell("x", ERROR, tags=["raises-exception"]), code_cell("y")],
            {},
            "<pre>y</pre>",
            "RUN FAILED",
        ),
        ([BANNER, text_cell("# T")], {}, "<title>T</title>", "An Exception"),
        ([text_cell("words")], {}, "<title>Report</title>", "<summary>Contents"),
        ([PICTURE], {}, 'src="data:image/png;base64,aGk=" alt="dot"', "attachment"),
    ],
    ids=["dead kernel", "expected error", "banner of papermill", "no heading", "attachment"],
)
def test_pages_of_odd_cells(cells, metadata, there, not_there):
    """Each page has odd cells, named by the id of the parameters: `there` is on the page,
    `not_there` is not.
    """
    text = html_page_of(*cells, **metadata)
    assert there in text
    assert not_there not in text


def test_headings_keep_an_id_of_their_own():
    assert numbered('<h2 id="own">A</h2><h2>Own</h2><h2>…</h2>') == (
        '<h2 id="own">A</h2><h2 id="own-2">Own</h2><h2 id="section">…</h2>'
    )


EMPTY_OUTPUT = new_output("display_data", data={"text/html": "", "text/plain": ""})


def test_a_section_with_empty_outputs_alone_is_left_out():
    """The section "Gone" has one code cell, whose output is empty. Its heading, text and code are
    not on the page.
    """
    text = html_page_of(
        text_cell("# T"), text_cell("## Gone\n\nWords."), code_cell("a", EMPTY_OUTPUT)
    )
    assert "Gone" not in text
    assert "Words." not in text
    assert "<pre>a</pre>" not in text


def test_a_section_with_one_output_that_is_not_empty_stays():
    """The section "Half" has an empty output and another one. It stays with the other output, and
    there is no box for the empty one.
    """
    not_empty = output_of(html="<p>here</p>")
    text = html_page_of(
        text_cell("# T"),
        code_cell("read"),
        text_cell("## Half\n\nMore."),
        code_cell("c", EMPTY_OUTPUT),
        code_cell("d", not_empty),
    )
    assert re.findall(r"<h2[^>]*>([^<]*)", text) == ["Half"]
    assert "<p>here</p>" in text
    assert '<div class="output"></div>' not in text


def test_a_section_without_outputs_stays():
    """A section is left out if it has outputs and all are empty, as "Gone". Code without any
    output, as in "Setup", or words alone do not leave it out.
    """
    text = html_page_of(
        text_cell("# T"),
        text_cell("## Gone"),
        code_cell("a", EMPTY_OUTPUT),
        text_cell("## Setup"),
        code_cell("x = 1"),
        text_cell("## Only words"),
    )
    assert re.findall(r"<h2[^>]*>([^<]*)", text) == ["Setup", "Only words"]


def test_a_table_of_ones_own_stands_in_a_box_that_scrolls():
    """The notebook has three tables: one written in Markdown, one of a data frame of the user, and
    one that evalkit made, which has its box already. On the page each must stand in one box.
    """
    own = output_of(html='<div><table class="dataframe"><tr><td>1</td></tr></table></div>')
    ours = output_of(html='<div class="scroll"><table class="metrics"></table></div>')
    text = html_page_of(
        text_cell("|a|\n|-|\n|1|"), code_cell("frame", own), code_cell("piece", ours)
    )
    assert text.count('<div class="scroll"><table') == 3 == text.count("<table")


def test_the_first_mention_of_a_term_in_each_section_leads_to_the_glossary():
    """Section A names Holm three times and adjusted p once, section B names Holm once. A term is
    linked once per section: Holm twice in all, adjusted p once. The glossary, at the end, explains
    both.
    """
    html_of_a = (
        "<p>By Holm, by Holm.</p>"
        "<table><tr><th scope='col'>adjusted p</th><td>Holm</td></tr></table>"
    )
    text = html_page_of(
        text_cell("## A"),
        code_cell("a", output_of(html=html_of_a)),
        text_cell("## B\n\nHolm"),
    )
    assert text.count('href="#term-holm"') == 2
    assert text.count('href="#term-adjusted-p"') == 1
    assert text.count("<dt id=") == 2
    glossary = text.index("<summary>2 terms used on this page</summary>")
    assert text.index('<dt id="term-holm">Holm</dt>') > glossary


def test_a_term_as_the_head_of_a_row_or_of_folded_text_is_not_linked():
    """A page links a term such as Wilson to its entry in a glossary, whose id is term-wilson. The
    head of a row may be a name, and a click on a summary unfolds what it sums up: a term in these
    gets neither link nor entry.
    """
    html = (
        '<table><tr><th scope="row">Wilson</th></tr></table>'
        "<details><summary>Wilson</summary></details>"
    )
    assert "term-wilson" not in html_page_of(
        text_cell("## A"), code_cell("a", output_of(html=html))
    )


def test_a_page_without_terms_has_no_glossary():
    text = html_page_of(text_cell("## A"), code_cell("a", output_of(html="<p>nothing</p>")))
    assert "used on this page" not in text


def test_html_between_marks_of_a_place_is_moved_there():
    """HTML between `<!--at PLACE-->` and `<!--/at-->` is moved to that place, from whichever cell
    it is. The last cell writes for the verdict, which is the top of the page, for the section "All
    metrics" (`metrics`), and for a section that the page does not have, so that this stays where it
    is.
    """
    outputs = [
        output_of(html=f"<!--at {place}--><p>{place}</p><!--/at-->")
        for place in ("verdict", "metrics", "elsewhere")
    ]
    text = html_page_of(
        text_cell("# T"),
        code_cell("t"),
        text_cell("## All metrics\n\nProse.", metadata={"tags": ["print"]}),
        code_cell("b"),
        text_cell("## Data"),
        code_cell("a", *outputs, output_of(html="<p>here</p>")),
    )
    positions = [
        text.index(part)
        for part in ("<p>verdict<", "<h2", "Prose", "<p>metrics<", "<p>elsewhere<", "<p>here<")
    ]
    assert positions == sorted(positions)
    assert text.count("<section") == text.count("</section>") == 3  # moved HTML breaks none
    assert "<!--at" not in text


def test_each_heading_opens_a_section_and_prose_can_be_marked_for_print():
    """The title, "All metrics" and "Data" are three headings and so three sections. The text of one
    cell has the tag "print" and is marked on the page.
    """
    text = html_page_of(
        text_cell("# T"),
        code_cell("t"),
        text_cell("## All metrics\n\nProse.", metadata={"tags": ["print"]}),
        code_cell("b"),
        text_cell("## Data"),
        code_cell("a", output_of(html="<p>here</p>")),
    )
    assert text.count("<section") == text.count("</section>") == 3
    assert text.count('<div class="prose printed">') == 1


def test_source_date_epoch_is_the_day_that_a_page_was_made(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert "Made on 1970-01-01" in dated('<p class="asked">Which is better?</p>')


def test_style_is_small():
    assert (PARTS / "page.css").stat().st_size < 14_000
    assert (PARTS / "controls.css").stat().st_size < 5_000
    assert len(script().encode()) < 14_000


def test_the_style_has_the_words_of_its_source_and_no_comment():
    source = re.sub(r"/\*.*?\*/", "", "".join((PARTS / name).read_text("utf-8") for name in STYLES))
    assert re.findall(r"[\w.%#-]+", style_sheet()) == re.findall(r"[\w.%#-]+", source)
    assert 'content:" · filter, sort, copy"' in style_sheet()
    assert " :is(" in style_sheet()  # a space before a colon is a descendant


def test_the_script_has_the_words_of_its_source_and_no_more():
    source = "".join((PARTS / name).read_text("utf-8") for name in SCRIPTS)
    bare = re.sub(r"(?m)^\s*//.*|\s//.*$|/\*.*?\*/", "", source)
    every, shipped = (re.findall(r"[A-Za-z]\w+", text) for text in (bare, script()))
    assert shipped == [*every, "onresize", "arrive"]

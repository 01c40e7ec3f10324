"""The page: complete in itself, escaped, with contents and folded code, and honest about a failed
run.
"""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from evalkit.page import SCRIPTS, STYLES, ReportExporter, dated, numbered, script, style

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


def code(source, *outputs, tags=()):
    return new_code_cell(
        source, outputs=list(outputs), metadata={"tags": list(tags)} if tags else {}
    )


def shown(**data):
    types = {
        "html": "text/html",
        "text": "text/plain",
        "svg": "image/svg+xml",
        "png": "image/png",
        "md": "text/markdown",
    }
    return new_output("display_data", data={types[key]: value for key, value in data.items()})


def page(*cells, **metadata):
    return ReportExporter().from_notebook_node(new_notebook(cells=list(cells), metadata=metadata))[
        0
    ]


@pytest.fixture(scope="module")
def full():
    picture = shown(png="aGk=", text="<Figure>")
    picture.metadata["image/png"] = {"alt": 'a "picture"'}
    results = new_output(
        "display_data", data={"application/vnd.evalkit+json": {"secret": 1}, "text/plain": ""}
    )
    return page(
        new_markdown_cell("# Ranking & *more*\n\nWhat was [asked](https://example.org/why)."),
        code("preds = 'x'", tags=["parameters"]),
        code("preds = 'y'", tags=["injected-parameters"]),
        new_markdown_cell("## Metrics\n\ntext\n\n## By segment <1>"),
        code(
            "a < b",
            shown(
                html="<h2>From a table</h2><table class='metrics'></table>", text="plain of html"
            ),
        ),
        code("", picture, shown(svg="<svg viewBox='0 0 1 1'></svg>"), shown(md="some **bold**")),
        code(
            "p",
            new_output("stream", name="stdout", text=HOSTILE),
            new_output("stream", name="stderr", text="warned"),
        ),
        code(
            "q",
            new_output("execute_result", data={"text/plain": f"'{HOSTILE}'"}, execution_count=1),
        ),
        new_markdown_cell("## Metrics"),
        code("publish", results),
    )


def test_refers_to_nothing_elsewhere(full):
    elements = Elements(full)
    loads = [
        (tag, a[key])
        for tag, a in elements.found
        for key in ("src", "srcset", "data", "poster")
        if a.get(key)
    ]
    assert [tag for tag, target in loads if not target.startswith("data:")] == []
    assert [
        (tag, a)
        for tag, a in elements.found
        if tag in ("link", "iframe", "object", "embed", "base")
    ] == []
    links = [a["href"] for tag, a in elements.found if "href" in a]
    assert [tag for tag, a in elements.found if "href" in a and tag != "a"] == []
    assert [link for link in links if not link.startswith("#")] == ["https://example.org/why"]
    assert not re.search(r"url\(|@import|@font-face|\bfetch\(|import\(|XMLHttpRequest", full)


def test_what_a_page_has_and_has_not(full):
    assert full.startswith(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport"'
    )
    assert "<title>Ranking &amp; more</title>" in full
    assert len(Elements(full).named("script")) == 1
    assert (
        full.index('<a class="skip" href="#_main">')
        < full.index("<nav")
        < full.index('<main id="_main">')
    )
    assert not re.search(f"secret|<pre></pre>|{re.escape(HOSTILE)}", full)
    assert full.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2


def test_contents_list_the_headings(full):
    contents = full[full.index("<nav") : full.index("</nav>")]
    listed = re.findall(r'<a href="#([^"]+)">([^<]+)</a>', contents)
    assert [text for _, text in listed] == [
        "Metrics",
        "By segment &lt;1&gt;",
        "From a table",
        "Metrics",
    ]
    assert [id for id, _ in listed] == ["metrics", "by-segment-1", "from-a-table", "metrics-2"]
    assert [a["id"] for a in Elements(full).named("h2")] == [id for id, _ in listed]


def test_code_is_folded_behind_one_button(full):
    elements = Elements(full)
    buttons = [button for button in elements.named("button") if "id" in button]
    assert buttons == [
        {"type": "button", "id": "show-code", "aria-pressed": "false", "hidden": None}
    ]
    folded = [a for a in elements.named("details") if a.get("class") == "code"]
    assert len(folded) == 6  # every cell with a source, those of the parameters too
    assert all("open" not in a for a in folded)
    assert '<details class="code"><summary>code</summary><pre>a &lt; b</pre></details>' in full


def test_outputs_are_shown_by_their_richest_form(full):
    assert "<table class='metrics'></table>" in full
    assert "plain of html" not in full
    assert '<img src="data:image/png;base64,aGk=" alt="a &quot;picture&quot;">' in full
    assert "<figure><svg viewBox='0 0 1 1'></svg></figure>" in full
    assert "some <strong>bold</strong>" in full
    assert '<pre class="stderr">warned</pre>' in full


def test_a_failed_run_says_so_and_ends_there():
    error = new_output(
        "error", ename="KeyError", evalue=HOSTILE, traceback=["\x1b[31mline 1\x1b[0m", HOSTILE]
    )
    failed = page(
        new_markdown_cell("# T"), code("x", error), new_markdown_cell("## After"), code("after")
    )
    assert "<title>FAILED: RUN FAILED</title>" not in failed
    assert "<title>FAILED: T</title>" in failed
    assert "<strong>KeyError:</strong> &lt;script&gt;" in failed
    assert (
        '<details class="traceback"><summary>Traceback</summary><pre>line 1\n&lt;script&gt;'
        in failed
    )
    assert HOSTILE not in failed
    assert "After" not in failed
    assert "after" not in failed.split('<main id="_main">')[1].split("</main>")[0]


ERROR = new_output("error", ename="ValueError", evalue="x", traceback=["t"])
DIED = {"failed": {"name": "DeadKernelError", "message": "died", "cell": 0}}
BANNER = new_markdown_cell(
    "An Exception was encountered", metadata={"tags": ["papermill-error-cell-tag"]}
)
PICTURE = new_markdown_cell(
    "![dot](attachment:dot.png)", attachments={"dot.png": {"image/png": "aGk="}}
)


@pytest.mark.parametrize(
    ("cells", "metadata", "there", "not_there"),
    [
        (
            [code("x"), code("y")],
            {"evalkit": DIED},
            "<strong>DeadKernelError:</strong> died",
            "<pre>y</pre>",
        ),
        (
            [code("x", ERROR, tags=["raises-exception"]), code("y")],
            {},
            "<pre>y</pre>",
            "RUN FAILED",
        ),
        ([BANNER, new_markdown_cell("# T")], {}, "<title>T</title>", "An Exception"),
        ([new_markdown_cell("words")], {}, "<title>Report</title>", "<summary>Contents"),
        ([PICTURE], {}, 'src="data:image/png;base64,aGk=" alt="dot"', "attachment"),
    ],
)
def test_pages_of_odd_cells(cells, metadata, there, not_there):
    text = page(*cells, **metadata)
    assert there in text
    assert not_there not in text


def test_headings_keep_an_id_of_their_own():
    assert numbered('<h2 id="own">A</h2><h2>Own</h2><h2>…</h2>') == (
        '<h2 id="own">A</h2><h2 id="own-2">Own</h2><h2 id="section">…</h2>'
    )


def test_a_section_whose_pieces_are_all_empty_is_left_out():
    empty = shown(html="", text="")
    cells = [
        new_markdown_cell("# T"),
        code("read"),
        new_markdown_cell("## Nothing here\n\nWords."),
        code("a", empty),
    ]
    cells += [
        new_markdown_cell("## Half\n\nMore."),
        code("c", empty),
        code("d", shown(html="<p>here</p>")),
    ]
    cells += [new_markdown_cell("## Setup"), code("x = 1"), new_markdown_cell("## Only words")]
    text = page(*cells)
    assert "Nothing here" not in text
    assert "Words." not in text
    assert "<pre>a</pre>" not in text
    assert re.findall(r"<h2[^>]*>([^<]*)", text) == ["Half", "Setup", "Only words"]
    assert "<p>here</p>" in text
    assert '<div class="output"></div>' not in text


def test_a_table_of_ones_own_stands_in_a_box_that_scrolls():
    own = shown(html='<div><table class="dataframe"><tr><td>1</td></tr></table></div>')
    ours = shown(html='<div class="scroll"><table class="metrics"></table></div>')
    text = page(new_markdown_cell("|a|\n|-|\n|1|"), code("frame", own), code("piece", ours))
    assert text.count('<div class="scroll"><table') == 3 == text.count("<table")


def test_the_first_mention_of_a_term_in_each_section_leads_to_the_glossary():
    said = (
        "<p>By Holm, by Holm.</p><table><tr><th scope='col'>adjusted "
        "p</th><td>Holm</td></tr></table>"
    )
    names = (
        "<table><tr><th "
        'scope="row">Wilson</th></tr></table><details><summary>Wilson</summary></details>'
    )
    text = page(
        new_markdown_cell("## A"),
        code("a", shown(html=said)),
        new_markdown_cell("## B\n\nHolm"),
        code("b", shown(html=names)),
    )
    assert text.count('href="#term-holm"') == 2
    assert text.count('href="#term-adjusted-p"') == 1
    assert "term-wilson" not in text
    assert text.count("<dt id=") == 2
    assert text.index('<dt id="term-holm">Holm</dt>') > text.index(
        "<summary>2 terms used on this page</summary>"
    )
    assert "used on this page" not in page(
        new_markdown_cell("## A"), code("a", shown(html="<p>nothing</p>"))
    )


def test_what_has_a_place_is_moved_there():
    def at(place):
        return shown(html=f"<!--at {place}--><p>{place}</p><!--/at-->")

    cells = [code("a", *map(at, ("verdict", "metrics", "elsewhere")), shown(html="<p>here</p>"))]
    head = new_markdown_cell("## All metrics\n\nProse.", metadata={"tags": ["print"]})
    text = page(
        new_markdown_cell("# T"), code("t"), head, code("b"), new_markdown_cell("## Data"), *cells
    )
    order = [
        text.index(part)
        for part in ("<p>verdict<", "<h2", "Prose", "<p>metrics<", "<p>elsewhere<", "<p>here<")
    ]
    assert order == sorted(order)
    assert text.count("<section") == text.count("</section>") == 3
    assert text.count('<div class="prose printed">') == 1
    assert "<!--at" not in text


def test_source_date_epoch_is_the_day_that_a_page_was_made(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert "Made on 1970-01-01" in dated('<p class="asked">Which is better?</p>')


def test_style_is_small():
    assert (PARTS / "page.css").stat().st_size < 14_000
    assert (PARTS / "controls.css").stat().st_size < 5_000
    assert len(script().encode()) < 14_000


def test_the_style_has_the_words_of_its_source_and_no_comment():
    source = re.sub(r"/\*.*?\*/", "", "".join((PARTS / name).read_text("utf-8") for name in STYLES))
    assert re.findall(r"[\w.%#-]+", style()) == re.findall(r"[\w.%#-]+", source)
    assert 'content:" · filter, sort, copy"' in style()
    assert " :is(" in style()  # a space before a colon is a descendant


def test_the_script_has_the_words_of_its_source_and_no_more():
    source = "".join((PARTS / name).read_text("utf-8") for name in SCRIPTS)
    bare = re.sub(r"(?m)^\s*//.*|\s//.*$|/\*.*?\*/", "", source)
    every, shipped = (re.findall(r"[A-Za-z]\w+", text) for text in (bare, script()))
    assert shipped == [*every, "onresize", "arrive"]

"""The glossary: terms of statistics that pages use, in plain words, and how a page is linked to those that it uses."""

import html
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from evalkit.findings.kinds import measured
from evalkit.numbers import anchor


@dataclass(frozen=True)
class Term:
    """A term, what it means, and the words by which a page may mention it."""

    name: str
    meaning: str
    words: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Where a page has it."""
        return f"term-{anchor(self.name)}"


def _read() -> tuple[Term, ...]:
    """The terms of glossary.toml, in its order."""
    table = tomllib.loads(Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8"))
    return tuple(
        Term(name, " ".join(term["meaning"].split()).format_map(vars(measured)), tuple(term.get("words", ())))
        for name, term in table.items()
    )


TERMS = _read()
OF_WORDS = {word: term for term in TERMS for word in term.words or (term.name,)}
WORDS = re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, sorted(OF_WORDS, key=len, reverse=True))) + r")(?![\w-])")
TAGS = re.compile(r"""(<(?:[^<>"']|"[^"]*"|'[^']*')*>)""")
NAME = re.compile(r"<(/?)([a-z0-9]+)")
CLOSED = frozenset(
    ["a", "button", "code", "dt", "h1", "h2", "h3", "pre", "script", "strong", "style", "summary", "svg", "td", "title"]
)  # no links inside
CELLS = frozenset(["td", "th", "tr", "table"])


def linked(page: str) -> str:
    """The page with the first mention of each term in each section linked, and the glossary of these terms below.

    >>> linked("<p>p by Holm</p>").split("<h2")[0]
    '<p><a class="term" href="#term-p">p by</a> <a class="term" href="#term-holm">Holm</a></p>'
    >>> linked("<table><tr><td>1<td>2</table><p>Holm</p>").split("<h2")[0]
    '<table><tr><td>1<td>2</table><p><a class="term" href="#term-holm">Holm</a></p>'
    """
    parts, closed = TAGS.split(page), list[str]()
    mentioned, used = set[Term](), set[Term]()

    def link(match: re.Match[str]) -> str:
        term = OF_WORDS[match[1]]
        if term in mentioned:
            return match[1]
        mentioned.add(term)
        used.add(term)
        return f'<a class="term" href="#{term.id}">{match[1]}</a>'

    for i, part in enumerate(parts):
        if i % 2:
            _enter(part, closed)
        elif not closed:
            parts[i] = WORDS.sub(link, part)
        if part.startswith("<h2"):
            mentioned.clear()
    return "".join(parts) + _glossary([term for term in TERMS if term in used])


def _enter(tag: str, closed: list[str]) -> None:
    """Note what a tag opens or closes in the list of open elements that hold no links."""
    match = NAME.match(tag)
    if match is None:
        return
    while match[2] in CELLS and closed and closed[-1] in CELLS:  # cells of large tables have no end tags
        closed.pop()
    if match[1]:
        if closed and closed[-1] == match[2]:
            closed.pop()
    elif match[2] in CLOSED or 'scope="row"' in tag:
        closed.append(match[2])


def _glossary(terms: list[Term]) -> str:
    """The section of these terms, folded; a link to a term opens it."""
    if not terms:
        return ""
    items = "".join(
        f'<dt id="{term.id}">{html.escape(term.name)}</dt><dd>{html.escape(term.meaning)}</dd>' for term in terms
    )
    summary = f"{len(terms)} term{'s' if len(terms) > 1 else ''} used on this page"
    listed = f'<details><summary>{summary}</summary><dl class="definitions">{items}</dl></details>'
    return f'<h2 id="glossary">Glossary</h2>{listed}'


def markdown() -> str:
    """All terms as a list in markdown."""
    return "\n".join(f"**{term.name}**: {term.meaning}\n" for term in TERMS)

"""Words of the page: its title, verdict, answer, paragraphs and lists of definitions."""

import re
from collections.abc import Sequence

from evalkit.drawing.cells import Cell, as_cell, escape
from evalkit.drawing.pieces import Html, folded
from evalkit.numbers import definition_anchor

SLASH = re.compile(r"\b(\w/\w)\b|/")  # an abbreviation such as A/B, or where a path may break


def heading(title: str, question: str, *notices: str) -> Html:
    """The title of a page, the question that it answers, and what a reader must know first."""
    lines = "".join(f'<p class="asked">{escape(line)}</p>' for line in (question, *notices))
    breaking_title = SLASH.sub(_breaking_slash, escape(title))
    text = "\n".join([title, question, *notices])
    return Html(f"<h1>{breaking_title}</h1>{lines}", text)


def _breaking_slash(match: re.Match[str]) -> str:
    """What `SLASH` found: an abbreviation such as A/B on one line, or a slash that may end one."""
    return f"<span>{match[1]}</span>" if match[1] else "/<wbr>"


def verdict(word: str, main: Cell, *small: Cell) -> Html:
    """The verdict: a word, the line beside it, and smaller lines below."""
    lines = "".join(f"<p>{line.html}</p>" for line in small)
    kind = word.replace(" ", "-")
    text = f"{word}: {main.full_text}"
    first_line = f"<p><strong>{escape(word)}</strong> {main.html}</p>"
    return Html(f'<div class="verdict {kind}">{first_line}{lines}</div>', text)


def answer(sentence: str, *conditions: str) -> Html:
    """The answer in a sentence that a reader can repeat, and what would change it."""
    turns = "".join(f'<p class="turn">{escape(line)}</p>' for line in conditions)
    text = "\n".join([sentence, *conditions])
    return Html(f'<p class="answer">{escape(sentence)}</p>{turns}', text)


def muted_paragraph(text: Cell | str) -> Html:
    """One muted paragraph."""
    return Html(f'<p class="muted">{as_cell(text).html}</p>', as_cell(text).full_text)


def definitions(items: Sequence[tuple[str, str]]) -> Html:
    """Names and their meanings, plain text, folded; links of `numbers.definition_anchor` open the
    fold and show a meaning.
    """
    places = [f' id="{definition_anchor(name)}"' for name, _ in items]
    summary = f"{len(items)} metrics, methods and terms"
    return folded(summary, _definition_list("definitions", items, places))


def provenance(items: Sequence[tuple[str, str]]) -> Html:
    """How this page was made: names and values, plain text, folded."""
    places = [""] * len(items)
    values = _definition_list("definitions provenance", items, places)
    return folded("Command, inputs and versions", values)


def _definition_list(kind: str, items: Sequence[tuple[str, str]], places: Sequence[str]) -> Html:
    """A list of names and texts. kind: its classes. places: of each name an attribute, or ""."""
    body = ""
    for place, (name, text) in zip(places, items, strict=True):
        body += f"<dt{place}>{escape(name)}</dt><dd>{escape(text)}</dd>"
    lines = [f"{name}: {text}" for name, text in items]
    return Html(f'<dl class="{kind}">{body}</dl>', "\n".join(lines))

"""Ids of places on a page, and links to them; it imports nothing that takes time."""

import html
import re

SLIDER, LISTED = "_slider", "_listed"  # the thresholds that move, and the fold that lists single rows or queries

END = " "  # of a slice where it is listed and in its link: 'x 1' is not 'x 10'


def anchor(name: str) -> str:
    """The words of a name as the id of a place on the page.

    >>> anchor("Paired differences"), anchor("ndcg@10")
    ('paired-differences', 'ndcg-10')
    """
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def link(text: str, place: str, kind: str = "") -> str:
    """A link to a place on the same page, as HTML. kind: its class, none if empty."""
    start = f'a class="{kind}"' if kind else "a"
    return f'<{start} href="#{place}">{html.escape(text)}</a>'


def definition(name: str) -> str:
    """The id of the place where a name is defined."""
    return f"def-{anchor(name)}"

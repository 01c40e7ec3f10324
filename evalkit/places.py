"""Ids of places on a page, and links to them; it imports nothing that takes time."""

import html
import re


def anchor(name: str) -> str:
    """The words of a name as the id of a place on the page.

    >>> anchor("Paired differences"), anchor("ndcg@10")
    ('paired-differences', 'ndcg-10')
    """
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def link(text: str, place: str) -> str:
    """A link to a place on the same page, as HTML."""
    return f'<a href="#{place}">{html.escape(text)}</a>'


def definition(name: str) -> str:
    """The id of the place where a name is defined."""
    return f"def-{anchor(name)}"

"""The sentences of the pages, from definitions.toml."""

import tomllib
from pathlib import Path

from evalkit.numbers import fill_sentence

DEFINITIONS = tomllib.loads(
    Path(__file__).with_name("definitions.toml").read_text(encoding="utf-8")
)
CAPTIONS = DEFINITIONS.pop("captions")
QUESTIONS = DEFINITIONS.pop("questions")


def sentence(place: str, study: object = None, /, **facts: object) -> str:
    """The text of a piece in definitions.toml, such as its caption, with these facts in its braces.

    place: of the text, such as "page.tiers_note". study: what `{study.…}` in it stands for.
    """
    return fill_sentence(CAPTIONS[place], facts | {"study": study})


def meanings(section: str, **facts: object) -> list[tuple[str, str]]:
    """The words of a section of definitions.toml, each with what it means, and with these facts in
    their braces.
    """
    pairs = []
    for word, meaning in DEFINITIONS[section].items():
        one_line = " ".join(meaning.split())
        pairs.append((fill_sentence(word, facts), fill_sentence(one_line, facts)))
    return pairs

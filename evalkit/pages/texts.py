"""The sentences of the pages, from definitions.toml."""

import tomllib
from pathlib import Path
from typing import Any

from evalkit.numbers import filled

DEFINITIONS = tomllib.loads(
    Path(__file__).with_name("definitions.toml").read_text(encoding="utf-8")
)
CAPTIONS = DEFINITIONS.pop("captions")
QUESTIONS = DEFINITIONS.pop("questions")


def said(place: str, study: Any = None, /, **facts: object) -> str:
    """The caption or the note of a piece in definitions.toml, with what it says of the study and
    these facts in it.
    """
    return filled(CAPTIONS[place], facts | {"study": study})


def meanings(part: str, **facts: object) -> list[tuple[str, str]]:
    """The words of a part of definitions.toml and what they mean, with these facts of the study in
    them.
    """
    texts = {name: " ".join(text.split()) for name, text in DEFINITIONS[part].items()}
    return [(filled(name, facts), filled(text, facts)) for name, text in texts.items()]

"""Texts for a terminal, in which control characters are escaped."""

import re
import sys
from typing import TextIO

# of terminals: what moves the cursor, sets colours and titles, or turns the direction of text
CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """A text without control characters, which names in an input may contain; these are escaped.

    >>> printable("a\x1b[31m")
    'a\\\\x1b[31m'
    """
    return CONTROL_CHARACTERS.sub(escape_control_character, text)


def escape_control_character(character: re.Match[str]) -> str:
    """A control character as Python escapes it, without quotes."""
    return ascii(character[0]).strip("'")


def show(text: object, stream: TextIO | None = None) -> None:
    """Print a text, by default on stdout; what the terminal cannot show is escaped."""
    stream = stream or sys.stdout
    encoding = stream.encoding or "utf-8"
    encodable = printable(str(text)).encode(encoding, "backslashreplace").decode(encoding)
    print(encodable, file=stream, flush=True)


def show_line(text: object, stream: TextIO | None = None) -> None:
    """Print a text in one line, as `show` does; line breaks in it are escaped."""
    show(str(text).replace("\n", "\\n"), stream)

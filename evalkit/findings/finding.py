"""A finding: one thing that a report tells of its data or of its method, and the kind that it is of."""

import html
import pkgutil
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evalkit.findings import measured


class Severity(StrEnum):
    """severe: the numbers are wrong; warning: they may mislead, look; note: good to know."""

    SEVERE = "severe"
    WARNING = "warning"
    NOTE = "note"


NOTE, WARNING, SEVERE = Severity.NOTE, Severity.WARNING, Severity.SEVERE


@dataclass(frozen=True)
class Kind:
    """A kind of finding: its stable code, short name, what it means and what to do about it."""

    code: str
    name: str
    meaning: str
    advice: str

    def note(self, message: str, count: int | None = None) -> "Finding":
        """A finding that is good to know; count: the rows, units, systems or columns that it is about."""
        return Finding(self, NOTE, message, count)

    def warning(self, message: str, count: int | None = None) -> "Finding":
        """A finding that could change the answer."""
        return Finding(self, WARNING, message, count)

    def rated(self, severity: Severity, message: str, count: int | None = None) -> "Finding":
        """A finding whose severity depends on the data."""
        return Finding(self, severity, message, count)


TEXTS = tomllib.loads((pkgutil.get_data(__package__, "kinds.toml") or b"").decode())  # in a Spark worker no file


def kind(code: str) -> Kind:
    """The kind of a code, with its words from kinds.toml."""
    sentences = {name: text for name, text in vars(measured).items() if name.isupper()}
    return Kind(code, **{name: text.format_map(sentences) for name, text in TEXTS[code].items()})


@dataclass(frozen=True)
class Finding:
    """One thing that was found: its kind, how severe it is, in words, and `count` rows or units, of `of` looked at.

    rows: up to five example rows, counted from 0.
    """

    kind: Kind
    severity: Severity
    message: str
    count: int | None = None
    of: int | None = None
    rows: tuple[int, ...] = ()

    def __str__(self) -> str:
        """The message with its code."""
        return f"{self.message} [{self.kind.code}]"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>"

    @property
    def name(self) -> str:
        """The short name of its kind."""
        return self.kind.name

    @property
    def matters(self) -> bool:
        """True if it could change the answer."""
        return self.severity is not NOTE

    def record(self) -> dict[str, Any]:
        """The finding as a report's JSON has it."""
        named = {"code": self.kind.code, "name": self.name, "severity": str(self.severity), "count": self.count}
        return named | {"of": self.of, "message": self.message, "advice": self.kind.advice, "rows": list(self.rows)}


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, severe ones first, else in their order."""
    order = [SEVERE, WARNING, NOTE]
    return tuple(sorted(findings, key=lambda finding: order.index(finding.severity)))

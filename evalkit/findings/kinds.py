"""Findings: statements about data and methods. Their kinds are the tables of kinds.toml, such as
`kinds.ROWS_READ`.
"""

import html
import pkgutil
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

from evalkit.numbers import fill_sentence


class Severity(StrEnum):
    """severe: the numbers are wrong; warning: they may mislead; note: good to know."""

    SEVERE = "severe"
    WARNING = "warning"
    NOTE = "note"


# the fields of a finding in the JSON
RECORDED = (
    "code",
    "name",
    "severity",
    "count",
    "of",
    "message",
    "advice",
    "rows",
)
NOTE, WARNING, SEVERE = Severity.NOTE, Severity.WARNING, Severity.SEVERE
VERDICT = "verdict"  # the place of what could change the answer


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding: its stable code, short name, meaning and advice.

    says: the sentence on the page, with facts in braces; by name, if there are several. at: the
    places on the page where it belongs, of which the first that exists is used: "verdict" for a
    warning that affects the answer, else words of headings. leads: True if it stands first there,
    as what says that few of the rows were used.
    """

    code: str
    name: str
    meaning: str
    advice: str
    says: Mapping[str, str] = field(default_factory=dict, hash=False)
    at: tuple[str, ...] = ()
    leads: bool = False

    def note(self, count: int | None = None, form: str = "", /, **facts: Any) -> "Finding":
        """A note; count: the number of rows, units, systems or columns that it is about."""
        return self.finding_with_severity(NOTE, count, form, **facts)

    def warning(self, count: int | None = None, form: str = "", /, **facts: Any) -> "Finding":
        """A finding that could change the answer."""
        return self.finding_with_severity(WARNING, count, form, **facts)

    def finding_with_severity(
        self, severity: Severity, count: int | None = None, form: str = "", /, **facts: Any
    ) -> "Finding":
        """A finding whose severity depends on the data. form: the name of the sentence, if there
        are several.
        """
        return Finding(
            self, severity, fill_sentence(self.says[form], vars(measured) | facts), count
        )


@dataclass(frozen=True)
class Finding:
    """A finding: its kind, its severity, its text, and `count` rows or units out of `of` checked.

    rows: up to five example rows, counted from 0. lacks_deciding_metric: True if it is about
    metrics that do not decide, and so does not stand beside the answer.
    """

    kind: FindingKind
    severity: Severity
    message: str
    count: int | None = None
    of: int | None = None
    rows: tuple[int, ...] = ()
    lacks_deciding_metric: bool = False

    def for_metrics(self, metrics: Collection[str], deciding: str) -> "Finding":
        """The finding about these metrics, which is aside if the one that decides is not among
        them.
        """
        return replace(self, lacks_deciding_metric=deciding not in metrics)

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

    @property
    def touches_answer(self) -> bool:
        """True if it is about the metric that decides, and could change the answer by it."""
        return VERDICT in self.kind.at and not self.lacks_deciding_metric

    def record(self) -> dict[str, object]:
        """The finding for a report's JSON."""
        return {
            "code": self.kind.code,
            "name": self.name,
            "severity": str(self.severity),
            "count": self.count,
            "of": self.of,
            "message": self.message,
            "advice": self.kind.advice,
            "rows": list(self.rows),
        }


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings by what they change: severe ones first, of these what leads, then what touches
    the answer, otherwise in their order.
    """
    return tuple(sorted(findings, key=_rank))


def _rank(finding: Finding) -> tuple[int, bool, bool]:
    """By what findings are sorted, the most important first; False comes before True."""
    severity = [SEVERE, WARNING, NOTE].index(finding.severity)
    return severity, not finding.kind.leads, not finding.touches_answer


# The kinds ----------------------------------------------------------------------------------------

THEMES = {
    "EK1": "Input: rows, columns, labels, judgements",
    "EK2": "Sample: units, weights, slices",
    "EK3": "Predictions: ranks, scores, thresholds",
    "EK4": "Tests and intervals",
    "EK5": "Splits and leakage",
    "EK6": "Fits and checks that are missing",
    "EK7": "Interleaving, A/B tests and simulations",
    "EK8": "Two reports",
}
# in a Spark worker no file
_ROWS = tomllib.loads((pkgutil.get_data(__package__, "kinds.toml") or b"").decode())
# what simulations measured: sentences by name
measured = SimpleNamespace(**_ROWS.pop("measured", {}))


def _kind(row: Mapping[str, Any]) -> FindingKind:
    """A kind of finding from its table in kinds.toml: four texts; `says`, the sentence on the page
    or several by name; `at`, the places on the page; `leads`.

    Braces in the texts are filled with results of simulations (`measured`), which are the same for
    each finding; those in the sentences also hold facts of a finding, and are filled with them.
    """
    sentences = row.get("says", "")
    if isinstance(sentences, str):  # the only sentence has the name ""
        sentences = {"": sentences}
    texts = {}
    for name in ("code", "name", "meaning", "advice"):
        texts[name] = row[name].format_map(vars(measured))
    places = tuple(row.get("at", ()))
    return FindingKind(**texts, says=sentences, at=places, leads=bool(row.get("leads")))


KINDS = {name: _kind(row) for name, row in _ROWS.items()}


def __getattr__(name: str) -> FindingKind:
    """The kind of a name, as `kinds.ROWS_READ`."""
    if name not in KINDS:
        raise AttributeError(f"there is no kind of finding {name!r}")
    return KINDS[name]


def all_kinds() -> list[FindingKind]:
    """Every kind, by code.

    >>> all_kinds()[0].code
    'EK101'
    """
    return sorted(KINDS.values(), key=lambda kind: kind.code)


def markdown() -> str:
    """A table in Markdown for each theme."""
    return "\n".join(_theme(theme, heading) for theme, heading in THEMES.items())


def _theme(theme: str, heading: str) -> str:
    """The table of a theme in Markdown, below its heading. theme: how the codes of its kinds
    begin.
    """
    lines = [f"## {heading}\n"]
    lines += ["| code | name | what it means | what to do |", "|---|---|---|---|"]
    for kind in all_kinds():
        if kind.code.startswith(theme):
            lines.append(f"| {kind.code} | {kind.name} | {kind.meaning} | {kind.advice} |")
    lines.append("")
    return "\n".join(lines)

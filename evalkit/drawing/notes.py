"""Findings as the page shows them: two beside the answer, the others where they belong, and a count of all."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from evalkit.drawing.tables import Html, escape
from evalkit.findings.kinds import Finding, ordered
from evalkit.numbers import counted, link

TOP = 2  # findings beside the answer
VERDICT = "verdict"  # their place
ALIKE = 3  # findings of one kind that are read one by one
WARN = ' class="warn"'


def findings(items: Iterable[Finding], part: str = "") -> Html:
    """What was found, each with its code; one that could change the answer with what to do.

    Each stands between marks of its place, to which the page moves it, and so does a count of all, which opens to
    their names as links; elsewhere, as in JupyterLab, they stand together. part: begins the ids, of one of several.
    """
    several = list(items)
    top = [finding for finding in ordered(several) if finding.matters and VERDICT in finding.kind.at][:TOP]
    rest = [finding for finding in several if finding not in top]
    shown = placed(VERDICT, notes(top, part) + ("" if part else _counted(several)))
    places = dict.fromkeys(_place(finding) for finding in rest)
    shown += "".join(placed(place, notes([f for f in rest if _place(f) == place], part)) for place in places)
    return Html(shown, "\n".join(map(str, several)))


def placed(place: str, markup: str) -> str:
    """A piece between marks of the place to which the page moves it; "" for where it stands."""
    return f"<!--at {place}-->{markup}<!--/at-->" if place and markup else markup


def _place(finding: Finding) -> str:
    """The section of a finding that does not stand on top."""
    return next((place for place in finding.kind.at if place != VERDICT), "")


def _counted(several: Sequence[Finding]) -> str:
    """How many findings there are, folded over the name of each kind, which leads to it; nothing of a single one."""
    warned = len([finding for finding in several if finding.matters])
    many = Counter(finding.kind for finding in several)
    names = (
        f"<li{WARN if any(f.matters for f in several if f.kind is kind) else ''}>"
        f"{link(kind.name, kind.code)}{f' ({n})' if n > 1 else ''}</li>"
        for kind, n in many.items()
    )
    warnings = f", {counted(warned, 'warning')} among them" if warned else ""
    summary = f"<summary>{counted(len(several), 'finding')}{warnings}</summary>"
    return f'<details class="found">{summary}<ul class="notes">{"".join(names)}</ul></details>' if several[1:] else ""


def notes(several: Sequence[Finding], part: str) -> str:
    """Findings as a list in HTML, those of one kind together."""
    rows = "".join(_alike(list(alike), part) for _, alike in groupby(several, key=lambda finding: finding.kind.code))
    return f'<ul class="notes">{rows}</ul>' if rows else ""


def _alike(findings: list[Finding], part: str) -> str:
    """Findings of one kind, the first with the id of the kind; of many the first ones, the others folded."""
    rows = [
        _finding(finding, f' id="{part}{finding.kind.code}"' if i == 0 else "") for i, finding in enumerate(findings)
    ]
    first, rest = "".join(rows[:ALIKE]), "".join(rows[ALIKE:])
    if not rest:
        return first
    summary = f"{len(findings) - ALIKE:,} more of {findings[0].kind.code}"
    return f'{first}<li><details><summary>{summary}</summary><ul class="notes">{rest}</ul></details></li>'


def _finding(finding: Finding, id: str) -> str:
    text = escape(finding.message)
    if not finding.matters:
        return f"<li{id}>{text} {code(finding)}</li>"
    advice = enumerate(escape(finding.kind.advice).split("`"))  # what stands between two marks is code
    marked = "".join(f"<code>{part}</code>" if i % 2 else part for i, part in advice)
    return f"<li{id}{WARN}>{text} {marked} {code(finding)}</li>"


def code(finding: Finding) -> str:
    """The code of a finding as HTML, with its name and what to do under the pointer."""
    kind = finding.kind
    return f'<span class="muted" title="{escape(kind.name)}: {escape(kind.advice.replace("`", ""))}">{kind.code}</span>'

"""What a study shows of itself: `plot`, `tables` and `save`, from its page, and findings as the
page shows them.
"""

import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import pandas as pd

from evalkit import numbers, report, running, system
from evalkit.arrays import InputError, ParameterError
from evalkit.displays import Display, Displayed
from evalkit.drawing import own_sections
from evalkit.drawing.figures import Figure
from evalkit.drawing.own_sections import OwnSections
from evalkit.drawing.tables import Html, escape, folded, stack
from evalkit.findings.kinds import RECORDED, VERDICT, Finding, ordered
from evalkit.parameters.kinds import did_you_mean, texts

# what leads to another place of the page
EVIDENCE = re.compile(r'(; | \()<a href="#[^"]*">evidence</a>\)?')
DOCUMENTED = (
    *(
        "estimates",
        "comparisons",
        "by_segment",
        "differences",
        "findings",
        "units",
        "order",
        "systems",
        "log",
        "users",
        "planning",
    ),
    *("plot", "tables", "segment", "reread", "to_frame", "summary", "save"),
    *("check", "check_gate", "p"),
)
LINK = re.compile(r'<a [^>]*href="#[^"]*">(.*?)</a>')
Shape = TypeVar("Shape", Figure, Html)


def page(report: str) -> Any:
    """The module of a report's page: its PIECES in order, and the SUMMARY of them that a study
    shows of itself.
    """
    return importlib.import_module(f"evalkit.pages.{report}_page")


@dataclass(frozen=True, repr=False)
class Offer(Generic[Shape]):
    """The figures or the tables of a study, by name; `dir` lists them."""

    study: "Shown"
    shape: type[Shape]

    def __getattr__(self, name: str) -> Shape:
        """The figure or table of this name.

        Raises AttributeError for an unknown name, InputError where this study has no such figure.
        """
        pieces = self._pieces()
        if name.startswith("_") or name not in pieces:
            raise AttributeError(
                f"no {name!r}{did_you_mean(name, pieces)}; there are {', '.join(pieces)}"
            )
        kept = vars(self.study).setdefault("_offered", {})
        key = (self.shape, name)
        if key not in kept:
            made = pieces[name](self.study)
            if isinstance(made, Figure):
                made = replace(made, part=lambda *part: getattr(self.study.part(*part).plot, name))
            kept[key] = made
        made = kept[key]
        if not isinstance(made, self.shape):
            raise InputError(f"{name}: {getattr(made, 'text', '') or 'this study has none'}")
        return made

    def _pieces(self) -> dict[str, Callable[..., Any]]:
        """The pieces of this shape by name; `_plot` at the end of a name goes without saying.

        Of two with one name the second is called after its module too: `experiment_estimates`.
        """
        named: dict[str, Callable[..., Any]] = {}
        for piece in page(self.study.report).PIECES:
            name = piece.__name__.removesuffix("_plot")
            module = piece.__module__.split(".")[-1].removesuffix("_page")
            returned = piece.__annotations__["return"]
            if self.shape is (
                Figure if Figure in getattr(returned, "__args__", (returned,)) else Html
            ):
                named[f"{module}_{name}" if name in named else name] = piece
        return named

    def __dir__(self) -> list[str]:
        return list(self._pieces())

    def __repr__(self) -> str:
        return f"<{', '.join(self.__dir__())}>"


class Shown(Displayed):
    """What `read` of a report returns. It prints itself, and gives the page's figures and tables
    for other uses.

    report: the name of the notebook. p: its parameters, checked. gate: the results of the rules
    that were set, None without rules. write_units: writes the units.
    sliced: makes the study of a slice with these parameters, if a study has slices. of_systems:
    that of some systems.
    """

    report: ClassVar[str]
    p: Any
    gate: Any
    write_units: Callable[[Path], None]
    sliced: Callable[[Any, Any], Any]
    systems: Sequence[str]
    of_systems: Callable[[Sequence[str]], Any]

    if TYPE_CHECKING:

        @property
        def estimates(self) -> pd.DataFrame: ...

    @property
    def plot(self) -> Offer[Figure]:
        """The figures of the page: `study.plot.roc(ax)` draws one, `study.plot.roc.save("roc.pdf")`
        writes it.
        """
        return Offer(self, Figure)

    @property
    def tables(self) -> Offer[Html]:
        """The tables of the page: `study.tables.estimates.to_latex()`, `to_markdown()`, `to_csv()`,
        `to_frames()`.
        """
        return Offer(self, Html)

    def save(self, path: str | PathLike[str], notebook: str | PathLike[str] | None = None) -> None:
        """Write the page of the report (.html), its executed notebook (.ipynb), its results (.json)
        or .units.parquet.

        A missing folder is created. notebook: an adapted copy; None: the bundled one. Raises
        ParameterError for another suffix, if the folder cannot be created, and if the units are not
        in memory.
        """
        if Path(path).name.endswith(report.UNITS):
            running.save_units(Path(path), self.write_units)
            return
        source = (
            system.bundled_notebooks() / f"{self.report}.ipynb"
            if notebook is None
            else Path(notebook)
        )
        running.save(Path(path), report.read(source), self, self.p.given)

    def segment(self, name: str) -> Self:
        """The study of one slice, such as "country=de": its figures, tables and numbers, computed
        from its rows alone.

        Rows are read again. Raises ParameterError for an unknown slice.
        """
        known = {part.name: part for part in getattr(self, "slices", ())}
        if name not in known:
            there = ", ".join(known) or "none; set segments to a column"
            raise ParameterError(
                f"segment: there is no slice {name!r}{did_you_mean(name, known)}, there are {there}"
            )
        return self.sliced(known[name], replace(self.p, segment=name))

    @property
    def system_names(self) -> Sequence[str]:
        """The systems that `part` knows."""
        return list(self.systems)

    def part(self, segment: str | None = None, systems: Any = None) -> Self:
        """The study of a slice, or of some systems alone, or of both; None: of all.

        Raises ParameterError for an unknown slice or system.
        """
        study = self if segment is None else self.segment(segment)
        names = texts("systems", systems)
        known = study.system_names
        for name in names:
            if name not in known:
                raise ParameterError(
                    f"systems: there is no system {name!r}{did_you_mean(name, known)}, there are "
                    f"{', '.join(known)}"
                )
        if not names:
            return study
        kept = vars(study).setdefault("_parts", {})
        key = frozenset(names)
        if key not in kept:
            kept[key] = study.of_systems(names)
        return kept[key]

    def reread(self, **changes: Any) -> Any:
        """The study of the same data with other parameters: `study.reread(level=0.9)`; None is the
        default again. The parameters are those of `ek.NAME`, which raises its errors.
        """
        arguments = {**self.p.given, **changes}
        read = importlib.import_module(f"evalkit.studies.{self.report}").read
        study = read(**{name: value for name, value in arguments.items() if value is not None})
        return study.segment(self.p.segment) if self.p.segment else study

    def own_sections(self) -> OwnSections | None:
        """What the notebooks show that the parameter `sections` names, run with this `study`."""
        return own_sections.run(self) if self.p.sections else None

    def check_gate(self) -> None:
        """Raise `evalkit.report.GateFailed`, with the reason, if the gate failed or was not
        decided, or `SectionFailed` if a section of one's own failed.

        The last cell of a notebook does so: papermill then ends with an exit status that is not 0.
        """
        if failed := vars(self).get(report.FAILED_SECTIONS):
            raise report.SectionFailed("; ".join(failed))
        if self.gate is not None and not self.gate.passed:
            raise report.GateFailed(self.gate.message)

    @property
    def findings(self) -> pd.DataFrame:
        """What to know before the numbers, one row each: code, name, severity, count, of, message,
        advice, rows.
        """
        return pd.DataFrame([found.record() for found in self._found()], columns=RECORDED)

    def _found(self) -> list[Finding]:
        return list(ordered(page(self.report).every_finding(self)))

    def to_frame(self) -> pd.DataFrame:
        """The main table as a data frame: one row for each metric and system."""
        return self.estimates

    def summary(self) -> Html:
        """The answer, the main tables of the page, and the findings that could change the
        answer.
        """
        pieces = [piece(self) for piece in page(self.report).SUMMARY]
        said = "".join(piece.text for piece in pieces)
        against = [found for found in self._found() if found.matters and str(found) not in said]
        return stack([*pieces, findings(against, "of-")] if against else pieces)

    def __dir__(self) -> list[str]:
        """The documented names that this study has."""
        return [name for name in DOCUMENTED if hasattr(type(self), name) or name in vars(self)]

    def displays(self) -> list[Display]:
        """The summary without its links, whose places are on the page alone."""
        return [
            Display({kind: _unlinked(text) for kind, text in data.items()}, metadata)
            for data, metadata in self.summary().displays()
        ]

    def _repr_html_(self) -> str:
        return self.displays()[0].data["text/html"]

    def __str__(self) -> str:
        return self.summary().text


def _unlinked(html: str) -> str:
    return LINK.sub(r"\1", EVIDENCE.sub("", html))


# Findings: two beside the answer, the others where they belong, and a count of all ----------------

TOP = 2  # findings beside the answer
STRIP = "strip"  # the place of the count of all
READ = ("EK1", "EK2")  # the codes of findings about the input and the sample
UNFOLDED = 2  # notes of a section that are not folded
ALIKE = 3  # findings of one kind that are read one by one
WARN = ' class="warn"'


def findings(items: Iterable[Finding], part: str = "") -> Html:
    """What was found, each with its code; one that could change the answer with what to do.

    Each stands between marks of its place, to which the page moves it, and so does a count of all,
    which opens to their names as links; elsewhere, as in JupyterLab, they stand together. part:
    begins the ids, of one of several.
    """
    several = ordered(items)
    beside = [finding for finding in several if finding.matters and finding.touches_answer]
    top = beside[:TOP]
    rest = [finding for finding in several if finding not in top]
    shown = "" if part else placed(STRIP, _counted(several))
    shown += placed(VERDICT, notes(top, part))
    places = dict.fromkeys(_place(finding) for finding in rest)
    for place in places:
        there = [finding for finding in rest if _place(finding) == place]
        shown += placed(place, _in_section(there, part))
    return Html(shown, "\n".join(map(str, several)))


def placed(place: str, markup: str) -> str:
    """A piece between marks of the place to which the page moves it; "" for where it stands."""
    return f"<!--at {place}-->{markup}<!--/at-->" if place and markup else markup


def _place(finding: Finding) -> str:
    """The section of a finding that does not stand on top; "" for where all of them are shown."""
    if _is_reading(finding):
        return ""
    return next((place for place in finding.kind.at if place != VERDICT), "")


def _is_reading(finding: Finding) -> bool:
    """True for a note on what was read."""
    return not finding.matters and finding.kind.code.startswith(READ)


def _in_section(several: Sequence[Finding], part: str) -> str:
    """The findings of a section, below them folded the notes on what was read, and of many notes
    all.
    """
    many = len([finding for finding in several if not finding.matters]) > UNFOLDED
    notes_below = [f for f in several if _is_reading(f) or (many and not f.matters)]
    beside = notes(tuple(finding for finding in several if finding not in notes_below), part)
    if not notes_below:
        return beside
    what = " on what was read" if all(map(_is_reading, notes_below)) else ""
    summary = f"{numbers.counted(len(notes_below), 'note')}{what}"
    return beside + folded(summary, Html(notes(notes_below, part)), "noted").html


def _counted(several: Sequence[Finding]) -> str:
    """How many findings there are, folded over the severity and the sentence of the first of each
    kind, which leads to it; nothing of a single one.
    """
    warned = len([finding for finding in several if finding.matters])
    many = Counter(finding.kind for finding in several)
    first = {finding.kind: finding for finding in reversed(several)}
    names = (
        f"<li{WARN if first[kind].matters else ''}>{first[kind].severity}: "
        f"{numbers.link(first[kind].message, kind.code)}{f' ({n} such)' if n > 1 else ''}</li>"
        for kind, n in many.items()
    )
    warnings = f", {numbers.counted(warned, 'warning')} among them" if warned else ""
    summary = f"<summary>{numbers.counted(len(several), 'finding')}{warnings}</summary>"
    if several[1:]:
        return f'<details class="found">{summary}<ul class="notes">{"".join(names)}</ul></details>'
    return ""


def notes(several: Sequence[Finding], part: str) -> str:
    """Findings as a list in HTML, those of one kind together."""
    rows = "".join(
        _alike(list(alike), part)
        for _, alike in groupby(several, key=lambda finding: finding.kind.code)
    )
    return f'<ul class="notes">{rows}</ul>' if rows else ""


def _alike(findings: list[Finding], part: str) -> str:
    """Findings of one kind, the first with the id of the kind; of many the first ones, the others
    folded.
    """
    rows = [
        _finding(found, f' id="{part}{found.kind.code}"' if i == 0 else "")
        for i, found in enumerate(findings)
    ]
    first = "".join(rows[:ALIKE])
    rest = "".join(rows[ALIKE:])
    if not rest:
        return first
    summary = f"{len(findings) - ALIKE:,} more of {findings[0].kind.code}"
    return (
        f"{first}<li><details><summary>{summary}</summary><ul "
        f'class="notes">{rest}</ul></details></li>'
    )


def _finding(finding: Finding, id: str) -> str:
    text = escape(finding.message)
    if not finding.matters:
        return f"<li{id}>{text} {code(finding)}</li>"
    # what stands between two marks is code
    advice = enumerate(escape(finding.kind.advice).split("`"))
    marked = "".join(f"<code>{part}</code>" if i % 2 else part for i, part in advice)
    return f"<li{id}{WARN}>{text} {marked} {code(finding)}</li>"


def code(finding: Finding) -> str:
    """The code of a finding as HTML, with its name and what to do under the pointer."""
    kind = finding.kind
    return (
        f'<span class="muted" title="{escape(kind.name)}: '
        f'{escape(kind.advice.replace("`", ""))}">{kind.code}</span>'
    )

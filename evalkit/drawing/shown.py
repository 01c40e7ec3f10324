"""What every study can show: figures (`plot`), `tables`, a `summary` and files (`save`), all from
its page; and findings in the HTML of the page.
"""

import importlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import pandas as pd

from evalkit import numbers, report, running
from evalkit.arrays import InputError, ParameterError
from evalkit.displays import Display, Displayed
from evalkit.drawing.cells import escape, link
from evalkit.drawing.figures import Figure, SystemSelection
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.findings.kinds import RECORDED, VERDICT, Finding, FindingKind, ordered
from evalkit.machine import folders
from evalkit.machine.bundled_files import bundled_notebooks
from evalkit.parameters.kinds import did_you_mean, texts

if TYPE_CHECKING:
    from evalkit.drawing.own_sections import OwnSections

# links of a page to another place of it, which a notebook does not have
EVIDENCE = re.compile(r'(; | \()<a href="#[^"]*">evidence</a>\)?')
LINK = re.compile(r'<a [^>]*href="#[^"]*">(.*?)</a>')
BACK_QUOTED = re.compile(r"`(.*?)`", re.DOTALL)  # code in a text
DOCUMENTED = (  # what `dir` of a study lists, as far as the study has it
    "estimates",
    "comparisons",
    "by_segment",
    "differences",
    "slices_against_rest",
    "picked_slices",
    "gaps",
    "largest_gaps",
    "weak_slices",
    "detectable_slices",
    "findings",
    "units",
    "order",
    "systems",
    "log",
    "users",
    "planning",
    "plot",
    "tables",
    "segment",
    "reread",
    "to_frame",
    "summary",
    "save",
    "check",
    "check_gate",
    "p",
)
Shape = TypeVar("Shape", Figure, Html)
MakePiece = Callable[..., Any]  # from a study to a piece, such as a function of a page


def page(report: str) -> ModuleType:
    """The module of a report's page. Its PIECES are functions from a study to a figure, a table or
    words, in order; its SUMMARY are those of them that a study prints.
    """
    return importlib.import_module(f"evalkit.pages.{report}_page")


@dataclass(frozen=True, repr=False)
class StudyPieces(Generic[Shape]):
    """The figures or the tables of a study as attributes, `study.plot.roc`; `dir` lists them.

    piece_type: Figure or Html.
    """

    study: "ShownStudy"
    piece_type: type[Shape]

    def __getattr__(self, name: str) -> Shape:
        """The figure or table of this name.

        Raises AttributeError for an unknown name, InputError where this study has no such figure.
        """
        makers = self._makers()
        if name.startswith("_") or name not in makers:
            raise AttributeError(
                f"no {name!r}{did_you_mean(name, makers)}; there are {', '.join(makers)}"
            )
        piece = self._made_once(name, makers[name])
        if not isinstance(piece, self.piece_type):
            # the page has words in place of the figure, which say why there is none
            reason = getattr(piece, "text", "") or "this study has none"
            raise InputError(f"{name}: {reason}")
        return piece

    def _made_once(self, name: str, make: MakePiece) -> object:
        """The piece of this name, cached with the study, as some pieces take long to make. A figure
        can be restricted to a slice or to some systems: then it is made again from their study.
        """
        cache = vars(self.study).setdefault("_offered", {})
        key = (self.piece_type, name)  # a figure and a table may have the same name
        if key not in cache:
            piece = make(self.study)
            if isinstance(piece, Figure):
                piece = replace(piece, restrict=partial(_restricted_figure, self.study, name))
            cache[key] = piece
        return cache[key]

    def _makers(self) -> dict[str, MakePiece]:
        """The functions of the page that make a figure, or those that make a table, as `piece_type`
        says, by name without `_plot` at its end.

        If the name is taken, that of the function's module comes before it: `experiment_estimates`.
        """
        makers: dict[str, MakePiece] = {}
        for make in page(self.study.report).PIECES:
            if _shape_of(make) is not self.piece_type:
                continue
            name = make.__name__.removesuffix("_plot")
            if name in makers:
                module = make.__module__.split(".")[-1].removesuffix("_page")
                name = f"{module}_{name}"
            makers[name] = make
        return makers

    def __dir__(self) -> list[str]:
        return list(self._makers())

    def __repr__(self) -> str:
        return f"<{', '.join(self.__dir__())}>"


def _shape_of(make: MakePiece) -> type[Figure] | type[Html]:
    """Figure for a function whose annotation says that it returns one, alone or in a union with a
    text in its place; Html for other functions.
    """
    returned = make.__annotations__["return"]
    members = getattr(returned, "__args__", (returned,))
    return Figure if Figure in members else Html


def _restricted_figure(
    study: "ShownStudy", name: str, segment: str | None, systems: SystemSelection
) -> Figure:
    """The figure of this name of a slice of the study, or of some of its systems."""
    figure: Figure = getattr(study.part(segment, systems).plot, name)
    return figure


class ShownStudy(Displayed):
    """The base of every study, which `read` of a report returns. It prints its summary, and has
    the page's figures and tables for other uses.

    report: the name of the report, such as "ranking". p: its checked parameters. gate: the results
    of the rules that were set, None without rules. write_units: writes the values per unit to a
    path. sliced: returns the study of a slice, from the slice and parameters, if a study has
    slices. of_systems: returns that of some systems.
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
    def plot(self) -> StudyPieces[Figure]:
        """The figures of the page: `study.plot.roc(ax)` draws one, `study.plot.roc.save("roc.pdf")`
        writes it.
        """
        return StudyPieces(self, Figure)

    @property
    def tables(self) -> StudyPieces[Html]:
        """The tables of the page: `study.tables.estimates.to_latex()`, `to_markdown()`, `to_csv()`,
        `to_frames()`.
        """
        return StudyPieces(self, Html)

    def save(self, path: str | PathLike[str], notebook: str | PathLike[str] | None = None) -> None:
        """Write the page of the report (.html), its executed notebook (.ipynb), its results (.json)
        or the values per unit (.units.parquet): the suffix of the path decides.

        A missing folder is created. notebook: an adapted copy; None: the bundled one. Raises
        ParameterError for another suffix, if the folder cannot be created, and if the units are not
        in memory.
        """
        if Path(path).name.endswith(report.UNITS):
            running.save_units(Path(path), self.write_units)
            return
        if notebook is None:
            notebook = bundled_notebooks() / f"{self.report}.ipynb"
        source = Path(notebook)
        running.save(Path(path), report.read(source), self, self.p.given_values)

    def segment(self, name: str) -> Self:
        """The study of one slice, such as "country=de": its figures, tables and numbers, computed
        from its rows alone.

        Rows are read again. Raises ParameterError for an unknown slice.
        """
        slices = {
            segment_slice.name: segment_slice for segment_slice in getattr(self, "slices", ())
        }
        if name not in slices:
            names = ", ".join(slices) or "none; set segments to a column"
            raise ParameterError(
                f"segment: there is no slice {name!r}{did_you_mean(name, slices)}, there are "
                f"{names}"
            )
        with folders.working_in(self.p.folder):
            study: Self = self.sliced(slices[name], replace(self.p, segment=name))
        return study

    @property
    def system_names(self) -> Sequence[str]:
        """The systems that `part` can choose from."""
        return list(self.systems)

    def part(self, segment: str | None = None, systems: SystemSelection = None) -> Self:
        """The study of a slice, or of some systems alone, or of both; None: of all.

        Raises ParameterError for an unknown slice or system.
        """
        study = self if segment is None else self.segment(segment)
        names = texts("systems", systems)
        all_names = study.system_names
        for name in names:
            if name not in all_names:
                raise ParameterError(
                    f"systems: there is no system {name!r}{did_you_mean(name, all_names)}, there "
                    f"are {', '.join(all_names)}"
                )
        if not names:
            return study
        # cached with the study, for figures and tables of the same systems in any order
        cache = vars(study).setdefault("_parts", {})
        key = frozenset(names)
        if key not in cache:
            cache[key] = study.of_systems(names)
        part: Self = cache[key]
        return part

    def reread(self, **changes: Any) -> Any:
        """The study of the same data with other parameters: `study.reread(level=0.9)`; None is the
        default again. The parameters are those of `ek.NAME`, which raises its errors; relative
        paths are those of the working directory in which this study was read.
        """
        arguments = {**self.p.given_values, **changes}
        read = importlib.import_module(f"evalkit.studies.{self.report}").read
        with folders.working_in(self.p.folder):
            study = read(**{name: value for name, value in arguments.items() if value is not None})
        return study.segment(self.p.segment) if self.p.segment else study

    def own_sections(self) -> "OwnSections | None":
        """What the notebooks of the parameter `sections` show, run with this `study`; None if there
        are none.
        """
        if not self.p.sections:
            return None
        from evalkit.drawing import own_sections  # with nbconvert, which takes 36 MB

        with folders.working_in(self.p.folder):
            return own_sections.run(self)

    def check_gate(self) -> None:
        """Raise `evalkit.report.SectionFailed` if a section of one's own failed, or `GateFailed`,
        with the reason, if a rule failed or could not be decided.

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
        records = [finding.record() for finding in self._ordered_findings()]
        return pd.DataFrame(records, columns=RECORDED)

    def _ordered_findings(self) -> list[Finding]:
        """All findings of the page, the most important first."""
        return list(ordered(page(self.report).every_finding(self)))

    def to_frame(self) -> pd.DataFrame:
        """The main table as a data frame: one row for each metric and system."""
        return self.estimates

    def summary(self) -> Html:
        """The answer, the main tables of the page, and the findings that could change the
        answer.
        """
        pieces = [piece(self) for piece in page(self.report).SUMMARY]
        text = "".join(piece.text for piece in pieces)
        # the main tables of some reports have such findings already
        missing = []
        for finding in self._ordered_findings():
            if finding.matters and str(finding) not in text:
                missing.append(finding)
        if missing:
            pieces.append(findings(missing, "of-"))
        return stack(pieces)

    def __dir__(self) -> list[str]:
        """The documented names that this study has."""
        return [name for name in DOCUMENTED if hasattr(type(self), name) or name in vars(self)]

    def displays(self) -> list[Display]:
        """The summary as outputs of a notebook, without links to places of the page."""
        outputs = []
        for data, metadata in self.summary().displays():
            unlinked = {kind: _unlinked(text) for kind, text in data.items()}
            outputs.append(Display(unlinked, metadata))
        return outputs

    def _repr_html_(self) -> str:
        return str(self.displays()[0].data["text/html"])

    def __str__(self) -> str:
        return self.summary().text


def _unlinked(html: str) -> str:
    """The HTML with the texts of links to places of the page in place of the links; links to the
    evidence, which have no text of their own, are left out.
    """
    return LINK.sub(r"\1", EVIDENCE.sub("", html))


# Findings: two beside the answer, the others where they belong, and a count of all ----------------

MAX_BESIDE_ANSWER = 2  # findings
LIST_OF_ALL = "strip"  # the place of the list of all findings: below the strip of results
READ = ("EK1", "EK2")  # how the codes of findings about the input and the sample begin
MAX_OPEN_NOTES = 2  # notes of a section that are not folded
UNFOLDED_OF_KIND = 3  # findings of one kind that are not folded
# the attribute of an entry that the style of the page makes stand out
WARNING_ATTRIBUTE = ' class="warn"'


def findings(items: Iterable[Finding], prefix: str = "") -> Html:
    """Findings in HTML, each with its code; one that could change the answer with its advice.

    Those for a section of the page stand between marks of its place, to which the page moves them,
    and so does the list of all, with links; elsewhere, as in JupyterLab, they stand together.
    prefix: of the ids, if the page shows findings more than once; then there is no list of all.
    """
    in_order = ordered(items)  # the most important first
    on_answer = [item for item in in_order if item.matters and item.touches_answer]
    beside_answer = on_answer[:MAX_BESIDE_ANSWER]
    by_place: dict[str, list[Finding]] = {}  # the other findings by their section of the page
    for item in in_order:
        if item not in beside_answer:
            by_place.setdefault(_place(item), []).append(item)
    html = "" if prefix else placed(LIST_OF_ALL, _list_of_all(in_order))
    html += placed(VERDICT, findings_html(beside_answer, prefix))
    for place, section in by_place.items():
        html += placed(place, _section_html(section, prefix))
    return Html(html, "\n".join(map(str, in_order)))


def placed(place: str, markup: str) -> str:
    """HTML between marks of the place to which the page moves it; without marks for the place
    "".
    """
    return f"<!--at {place}-->{markup}<!--/at-->" if place and markup else markup


def _place(finding: Finding) -> str:
    """The place of the section to which a finding belongs; "" for the section of all findings."""
    if _is_on_input(finding):
        return ""
    sections = [place for place in finding.kind.at if place != VERDICT]
    return sections[0] if sections else ""


def _is_on_input(finding: Finding) -> bool:
    """True for a note, which does not change the answer, on what was read."""
    return not finding.matters and finding.kind.code.startswith(READ)


def _section_html(items: Sequence[Finding], prefix: str) -> str:
    """The findings of a section in HTML. Notes, which change no answer, are folded below the others
    if there are more than `MAX_OPEN_NOTES`; those on what was read are so in any case.

    prefix: of the ids of HTML.
    """
    all_notes = [item for item in items if not item.matters]
    folded_notes = all_notes
    if len(all_notes) <= MAX_OPEN_NOTES:
        folded_notes = [item for item in all_notes if _is_on_input(item)]
    html = findings_html([item for item in items if item not in folded_notes], prefix)
    if folded_notes:
        subject = " on what was read" if all(map(_is_on_input, folded_notes)) else ""
        summary = f"{numbers.count_with_noun(len(folded_notes), 'note')}{subject}"
        html += folded(summary, Html(findings_html(folded_notes, prefix)), "noted").html
    return html


def _list_of_all(items: Sequence[Finding]) -> str:
    """The number of findings in HTML, folded over a list with one line per kind: the severity, and
    the sentence of its first finding as a link to it; "" for less than two findings.
    """
    if len(items) < 2:
        return ""
    by_kind: dict[FindingKind, list[Finding]] = {}
    for item in items:
        by_kind.setdefault(item.kind, []).append(item)
    entries = []
    for kind, findings_of_kind in by_kind.items():
        first = findings_of_kind[0]
        sentence = link(first.message, kind.code)
        number = f" ({len(findings_of_kind)} such)" if len(findings_of_kind) > 1 else ""
        attribute = WARNING_ATTRIBUTE if first.matters else ""
        entries.append(f"<li{attribute}>{first.severity}: {sentence}{number}</li>")
    n_warnings = len([item for item in items if item.matters])
    warnings = (
        f", {numbers.count_with_noun(n_warnings, 'warning')} among them" if n_warnings else ""
    )
    summary = f"<summary>{numbers.count_with_noun(len(items), 'finding')}{warnings}</summary>"
    return f'<details class="found">{summary}<ul class="notes">{"".join(entries)}</ul></details>'


def findings_html(items: Sequence[Finding], prefix: str) -> str:
    """Findings as a list in HTML, those of one kind, which follow each other, together.

    prefix: of the ids.
    """
    kinds = groupby(items, key=lambda item: item.kind.code)
    rows = "".join(_of_one_kind(list(of_kind), prefix) for _, of_kind in kinds)
    return f'<ul class="notes">{rows}</ul>' if rows else ""


def _of_one_kind(items: list[Finding], prefix: str) -> str:
    """Findings of one kind as entries of a list, the first with the code of the kind as its id;
    those after `UNFOLDED_OF_KIND` are folded.
    """
    code = items[0].kind.code
    entries = [_finding_entry(items[0], f' id="{prefix}{code}"')]
    entries += [_finding_entry(item) for item in items[1:]]
    html = "".join(entries[:UNFOLDED_OF_KIND])
    further = entries[UNFOLDED_OF_KIND:]
    if further:
        summary = f"<summary>{len(further):,} more of {code}</summary>"
        inner = f'<ul class="notes">{"".join(further)}</ul>'
        html += f"<li><details>{summary}{inner}</details></li>"
    return html


def _finding_entry(finding: Finding, id: str = "") -> str:
    """A finding as an entry of a list in HTML: its message, its advice if it could change the
    answer, and its code. id: the attribute with the id, or "".
    """
    message = escape(finding.message)
    if not finding.matters:
        return f"<li{id}>{message} {code(finding)}</li>"
    advice = BACK_QUOTED.sub(r"<code>\1</code>", escape(finding.kind.advice))
    return f"<li{id}{WARNING_ATTRIBUTE}>{message} {advice} {code(finding)}</li>"


def code(finding: Finding) -> str:
    """The code of a finding in HTML; its name and its advice show under the pointer."""
    kind = finding.kind
    advice = escape(kind.advice.replace("`", ""))
    return f'<span class="muted" title="{escape(kind.name)}: {advice}">{kind.code}</span>'

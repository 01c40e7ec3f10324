"""`Shown`: a study's `plot`, `tables` and `save`, from the figures and tables of its page."""

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import pandas as pd

from evalkit import report, running, system
from evalkit.arrays import InputError, ParameterError
from evalkit.drawing.figures import Figure
from evalkit.drawing.notes import findings
from evalkit.drawing.tables import Html, stack
from evalkit.findings.kinds import RECORDED, Finding, ordered
from evalkit.parameters.kinds import did_you_mean

EVIDENCE = re.compile(r'(; | \()<a href="#[^"]*">evidence</a>\)?')  # what leads to another place of the page
DOCUMENTED = (
    *("estimates", "comparisons", "by_segment", "findings", "units", "order", "systems", "log", "users", "planning"),
    *("plot", "tables", "segment", "summary", "save", "p"),
)
LINK = re.compile(r'<a [^>]*href="#[^"]*">(.*?)</a>')
Shape = TypeVar("Shape", Figure, Html)


def page(report: str) -> Any:
    """The module of a report's page: its PIECES in order, and the SUMMARY of them that a study shows of itself."""
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
            raise AttributeError(f"no {name!r}{did_you_mean(name, pieces)}; there are {', '.join(pieces)}")
        made = pieces[name](self.study)
        if not isinstance(made, self.shape):
            raise InputError(f"{name}: {getattr(made, 'text', '') or 'this study has none'}")
        if isinstance(made, Figure):
            return replace(made, of=lambda segment: getattr(self.study.segment(segment).plot, name))
        return made

    def _pieces(self) -> dict[str, Callable[..., Any]]:
        """The pieces of this shape by name; `_plot` at the end of a name goes without saying.

        Of two with one name the second is called after its module too: `experiment_estimates`.
        """
        named: dict[str, Callable[..., Any]] = {}
        for piece in page(self.study.report).PIECES:
            name, module = piece.__name__.removesuffix("_plot"), piece.__module__.split(".")[-1].removesuffix("_page")
            returned = piece.__annotations__["return"]
            if self.shape is (Figure if Figure in getattr(returned, "__args__", (returned,)) else Html):
                named[f"{module}_{name}" if name in named else name] = piece
        return named

    def __dir__(self) -> list[str]:
        return list(self._pieces())

    def __repr__(self) -> str:
        return f"<{', '.join(self.__dir__())}>"


class Shown:
    """What `read` of a report returns. It prints itself, and gives the page's figures and tables for other uses.

    report: the name of the notebook. p: its parameters, checked. write_units: writes the units. sliced: makes the study
    of a slice with these parameters, if a study has slices.
    """

    report: ClassVar[str]
    p: Any
    write_units: Callable[[Path], None]
    sliced: Callable[[Any, Any], Any]

    @property
    def plot(self) -> Offer[Figure]:
        """The figures of the page: `study.plot.roc(ax)` draws one, `study.plot.roc.save("roc.pdf")` writes it."""
        return Offer(self, Figure)

    @property
    def tables(self) -> Offer[Html]:
        """The tables of the page: `study.tables.estimates.to_latex()`, `to_markdown()`, `to_csv()`, `to_frames()`."""
        return Offer(self, Html)

    def save(self, path: str | PathLike[str], notebook: str | PathLike[str] | None = None) -> None:
        """Write the page of the report (.html), its executed notebook (.ipynb), its results (.json) or .units.parquet.

        A missing folder is created. notebook: an adapted copy; None: the bundled one. Raises ParameterError for another
        suffix, if the folder cannot be created, and if the units are not in memory.
        """
        if Path(path).name.endswith(report.UNITS):
            running.save_units(Path(path), self.write_units)
            return
        source = system.bundled_notebooks() / f"{self.report}.ipynb" if notebook is None else Path(notebook)
        running.save(Path(path), report.read(source), self, self.p.given)

    def segment(self, name: str) -> Self:
        """The study of one slice, such as "country=de": its figures, tables and numbers, computed from its rows alone.

        Rows are read again. Raises ParameterError for an unknown slice.
        """
        known = {part.name: part for part in getattr(self, "slices", ())}
        if name not in known:
            there = ", ".join(known) or "none; set segments to a column"
            raise ParameterError(f"segment: there is no slice {name!r}{did_you_mean(name, known)}, there are {there}")
        return self.sliced(known[name], replace(self.p, segment=name))

    @property
    def findings(self) -> pd.DataFrame:
        """What to know before the numbers, one row each: code, name, severity, count, of, message, advice, rows."""
        return pd.DataFrame([found.record() for found in self._found()], columns=RECORDED)

    def _found(self) -> list[Finding]:
        return list(ordered(page(self.report).every_finding(self)))

    def summary(self) -> Html:
        """The answer, the main tables of the page, and the findings that could change the answer."""
        pieces = [piece(self) for piece in page(self.report).SUMMARY]
        said = "".join(piece.text for piece in pieces)
        against = [found for found in self._found() if found.matters and str(found) not in said]
        return stack([*pieces, findings(against, "of-")] if against else pieces)

    def __dir__(self) -> list[str]:
        """The documented names that this study has."""
        return [name for name in DOCUMENTED if hasattr(type(self), name) or name in vars(self)]

    def _repr_html_(self) -> str:
        """The summary without its links, whose places are on the page alone."""
        return LINK.sub(r"\1", EVIDENCE.sub("", self.summary().html))

    def __str__(self) -> str:
        return self.summary().text

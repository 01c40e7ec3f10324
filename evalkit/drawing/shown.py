"""A study shows itself: by the figures and tables of its page, which the notebook of its report names."""

import ast
import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Generic, TypeVar

from evalkit import report, running, system
from evalkit.arrays import InputError
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html, stack
from evalkit.parameters.kinds import did_you_mean

PAGES = "evalkit.pages"
SUMMARY = "summary"  # the tag of the cells that a study shows of itself
EVIDENCE = re.compile(r'(; | \()<a href="#[^"]*">evidence</a>\)?')  # what leads to another place of the page
LINK = re.compile(r'<a [^>]*href="#[^"]*">(.*?)</a>')
Shape = TypeVar("Shape", Picture, Html)


@dataclass(frozen=True)
class Piece:
    """A piece of the page: a function, and the expression of the study that it is about."""

    make: Any
    of: str

    def __call__(self, study: Any) -> Any:
        """The piece of a study."""
        return self.make(eval(self.of, {running.STUDY: study}))

    @property
    def shape(self) -> type | None:
        """What the function says that it returns: a figure, a table or other HTML, or neither."""
        stated = str(inspect.signature(self.make).return_annotation)
        return next((shape for shape in (Picture, Html) if shape.__name__ in stated), None)


@dataclass(frozen=True)
class Contents:
    """The pieces of a page by name, in the order of its notebook, and those that sum it up."""

    pieces: Mapping[str, Piece]
    summary: tuple[Piece, ...]

    def named(self, shape: type) -> dict[str, Piece]:
        """The pieces of one shape; `_plot` at the end of a name goes without saying."""
        return {name.removesuffix("_plot"): piece for name, piece in self.pieces.items() if piece.shape is shape}


@cache
def contents(name: str) -> Contents:
    """The pieces that a bundled notebook names, and the others of the same modules.

    Of two with one name the second is called after its module too: `experiment_estimates`.
    """
    cells = _code(name)
    modules = {alias: module for tree, _ in cells for alias, module in _modules(tree)}
    calls = [list(_calls(tree, modules)) for tree, _ in cells]
    pieces = _by_name([*chain(*calls)], modules)
    tagged = chain(*(of_cell for of_cell, (_, tags) in zip(calls, cells, strict=True) if SUMMARY in tags))
    return Contents(pieces, tuple(Piece(getattr(modules[module], piece), of) for module, piece, of in tagged))


def _code(name: str) -> list[tuple[ast.Module, list[str]]]:
    """The code cells of a bundled notebook, parsed, each with its tags."""
    cells = json.loads((system.bundled_notebooks() / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = (cell for cell in cells if cell["cell_type"] == "code")
    return [(ast.parse("".join(cell["source"])), cell["metadata"].get("tags", [])) for cell in code]


def _by_name(calls: Sequence[tuple[str, str, str]], modules: Mapping[str, ModuleType]) -> dict[str, Piece]:
    """The pieces that are called, then the others of their modules, which take what the first call there takes."""
    usual = {module: of for module, _, of in reversed(calls)}
    others = [(module, piece, usual[module]) for module in usual for piece in _pieces_of(modules[module])]
    placed = {(module, piece) for module, piece, _ in calls}
    pieces: dict[str, Piece] = {}
    for module, piece, of in [*calls, *(other for other in others if other[:2] not in placed)]:
        key = f"{module.removesuffix('_page')}_{piece}" if piece in pieces else piece
        pieces[key] = Piece(getattr(modules[module], piece), of)
    return pieces


def _modules(tree: ast.Module) -> Iterator[tuple[str, ModuleType]]:
    """The modules of pages that a cell imports."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == PAGES:
            yield from ((alias.name, importlib.import_module(f"{PAGES}.{alias.name}")) for alias in node.names)


def _calls(tree: ast.Module, modules: Mapping[str, ModuleType]) -> Iterator[tuple[str, str, str]]:
    """Module, name and argument of each piece that a cell shows."""
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call):
            function = call.func
            if isinstance(function, ast.Attribute) and (module := ast.unparse(function.value)) in modules:
                yield module, function.attr, ast.unparse(call.args[0])


def _pieces_of(module: ModuleType) -> list[str]:
    """The functions of a module that make a piece of a study alone."""
    functions = {name: f for name, f in vars(module).items() if inspect.isfunction(f) and not name.startswith("_")}
    return [name for name, f in functions.items() if f.__module__ == module.__name__ and _of_study_alone(f)]


def _of_study_alone(function: Any) -> bool:
    signature = inspect.signature(function)
    shapes = str(signature.return_annotation)
    return list(signature.parameters) == [running.STUDY] and (Picture.__name__ in shapes or Html.__name__ in shapes)


@dataclass(frozen=True, repr=False)
class Offer(Generic[Shape]):
    """The figures or the tables of a study, by name; `dir` lists them."""

    study: "Shown"
    shape: type[Shape]

    def __getattr__(self, name: str) -> Shape:
        """The figure or table of this name.

        Raises AttributeError for an unknown name, InputError where this study has no such figure.
        """
        pieces = contents(self.study.report).named(self.shape)
        if name.startswith("_") or name not in pieces:
            raise AttributeError(f"no {name!r}{did_you_mean(name, pieces)}; there are {', '.join(pieces)}")
        made = pieces[name](self.study)
        if not isinstance(made, self.shape):
            raise InputError(f"{name}: {getattr(made, 'text', '') or 'this study has none'}")
        return made

    def __dir__(self) -> list[str]:
        return list(contents(self.study.report).named(self.shape))

    def __repr__(self) -> str:
        return f"<{', '.join(self.__dir__())}>"


class Shown:
    """What `read` of a report returns: it shows itself, and its figures and tables leave the page.

    report: the name of the notebook. given: the parameters that the user set. write_units: writes the units.
    """

    report: ClassVar[str]
    given: Mapping[str, Any]
    write_units: Callable[[Path], None]

    @property
    def plot(self) -> Offer[Picture]:
        """The figures of the page: `study.plot.roc(ax)` draws one, `study.plot.roc.save("roc.pdf")` writes it."""
        return Offer(self, Picture)

    @property
    def tables(self) -> Offer[Html]:
        """The tables of the page: `study.tables.estimates.to_latex()`, `to_markdown()`, `to_csv()`, `to_frames()`."""
        return Offer(self, Html)

    def save(self, path: str | PathLike[str], notebook: str | PathLike[str] | None = None) -> None:
        """Write the page of the report, .html, its executed notebook, .ipynb, its results, .json, or .units.parquet.

        A missing folder is made. notebook: a copy that was adapted; None: the bundled one. Raises ParameterError for
        another suffix, where the folder cannot be, and where the units are not at hand.
        """
        if Path(path).name.endswith(report.UNITS):
            running.save_units(Path(path), self.write_units)
            return
        source = system.bundled_notebooks() / f"{self.report}.ipynb" if notebook is None else Path(notebook)
        running.save(Path(path), report.read(source), self, self.given)

    def summary(self) -> Html:
        """The answer and the main tables of the page."""
        return stack(piece(self) for piece in contents(self.report).summary)

    def _repr_html_(self) -> str:
        """The summary without its links, whose places are on the page alone."""
        return LINK.sub(r"\1", EVIDENCE.sub("", self.summary().html))

    def __str__(self) -> str:
        return self.summary().text

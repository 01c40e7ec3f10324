"""The report of an executed notebook: the page, the notebook itself, the results as JSON;
papermill's engine.
"""

from __future__ import annotations

import copy
import errno
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.displays import Display, Displayed
from evalkit.machine import folders, kernels

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from evalkit.arrays import Record
    from evalkit.page import ReportExporter

RESULTS = "application/vnd.evalkit+json"
REFUSALS = ("InputError", "ParameterError", "MissingColumn", "UnclearPositive", "UnclearSystems")
GATE = "GateFailed"
UNITS = ".units.parquet"
ENDINGS = (".html", ".ipynb", ".json", UNITS, ".failed.html", ".failed.ipynb")
DRAFT = re.compile(r"\..+\.(?:html|ipynb|json|parquet)\.(\d+)\.part")


class GateFailed(Exception):
    """The gate of a report failed or was not decided; the message is the line that says so.

    The last cell of a notebook raises it, after all outputs, so that papermill's exit status is
    not 0.
    """

    def _render_traceback_(self) -> list[str]:
        """What a kernel shows in place of a traceback: the line alone."""
        return [f"{type(self).__name__}: {self}"]


FAILED_SECTIONS = "failed_sections"  # of a study: the messages of its own sections that failed


class SectionFailed(GateFailed):
    """A section of one's own failed; the page says so in its place."""


@dataclass(frozen=True)
class Failure:
    """The exception that stopped a run: its name, its message and the position of its cell."""

    name: str
    message: str
    cell: int


@dataclass(frozen=True)
class Run:
    """An executed notebook, the results that it published, and its failure if it stopped early.

    units: the temporary file of units, None if there is none.
    """

    notebook: NotebookNode
    results: Record | None
    failure: Failure | None
    units: Path | None = None


def stem(path: Path) -> str:
    """The name of the report to which a file belongs.

    >>> stem(Path("monday/rating.units.parquet")), name_with_folder(Path("monday/rating.json"))
    ('rating', 'monday/rating')
    """
    return path.name.removesuffix(next(filter(path.name.endswith, ENDINGS), ""))


def name_with_folder(path: Path) -> str:
    """The name of the report with its folder, which may contain the date."""
    return "/".join([*path.parts[-2:-1], stem(path)])


@dataclass(frozen=True)
class Results(Displayed):
    """What the last cell publishes: every number of the page, unrounded, for `evalkit report` to
    write as JSON.
    """

    results: Record

    def displays(self) -> list[Display]:
        """One output, in which a reader sees nothing."""
        return [Display(self._repr_mimebundle_(), {})]

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> dict[str, object]:
        return {RESULTS: plain(self.results), "text/plain": ""}


PLAIN = (str, int, bool, type(None))  # what JSON has as it is: most of what many comparisons hold


def plain(value: object) -> Any:
    """The value for JSON: without numpy types, and with null for NaN and infinity, which JSON
    lacks.
    """
    if type(value) in PLAIN:  # not a subclass: one of numpy or an enumeration is converted below
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):  # an array or a number of numpy
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


# Notebooks ----------------------------------------------------------------------------------------


def read(path: Path) -> NotebookNode:
    """Read a notebook and upgrade it to the newest format; missing cell ids are made from the
    positions.
    """
    import nbformat

    original = nbformat.reads(path.read_text(encoding="utf-8"), as_version=nbformat.NO_CONVERT)
    had_ids = (original.nbformat, original.nbformat_minor) >= (4, 5)
    notebook: NotebookNode = nbformat.v4.upgrade(nbformat.convert(original, 4))
    if not had_ids:
        for i, cell in enumerate(notebook.cells):
            cell.id = f"cell-{i}"
    return notebook


def found_failure(notebook: NotebookNode) -> Failure | None:
    """The first error of an executed notebook in a cell without the tag `raises-exception`."""
    for i, cell in enumerate(notebook.cells):
        if "raises-exception" in cell.metadata.get("tags", []):
            continue
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                return Failure(output.ename, output.evalue, i)
        # an unknown magic raises without an error output
        if cell.metadata.get("papermill", {}).get("exception"):
            outputs = cell.get("outputs", [])
            printed = [output.text for output in outputs if output.output_type == "stream"]
            return Failure("CellExecutionError", " ".join("".join(printed).split()), i)
    return None


def without_gate_error(notebook: NotebookNode) -> NotebookNode:
    """A copy of the notebook without the error of a failed gate, which is the result of a run that
    was done.

    The results, which may be long, are the same object.
    """
    duplicate = _copy_without_results(notebook)
    for cell in duplicate.cells:
        outputs = cell.get("outputs", [])
        without_gate = [output for output in outputs if output.get("ename") != GATE]
        if len(without_gate) < len(outputs):
            cell.outputs = without_gate
            cell.metadata.get("papermill", {}).pop("exception", None)
    return duplicate


def _copy_without_results(notebook: NotebookNode) -> NotebookNode:
    """A copy of the notebook; the results that it displays, which may be long, are the same
    objects.
    """
    # deepcopy takes objects that it finds here by their id for already copied
    copies = {id(results): results for results in every_results(notebook)}
    return copy.deepcopy(notebook, copies)


def published(notebook: NotebookNode) -> Record | None:
    """The results that the notebook displayed last, None if it displayed none."""
    results = every_results(notebook)
    return results[-1] if results else None


def every_results(notebook: NotebookNode) -> list[Record]:
    """All results that the notebook displayed."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data[RESULTS] for output in outputs if RESULTS in output.get("data", {})]


def stripped(notebook: NotebookNode, failure: Failure | None) -> NotebookNode:
    """A copy of the notebook without the metadata of papermill and nbclient, whose times and paths
    differ on every run.

    The results, which may be long, are the same object.
    """
    duplicate = _copy_without_results(notebook)
    duplicate.metadata.pop("papermill", None)
    for cell in duplicate.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if "tags" in cell.metadata and not cell.metadata["tags"]:  # papermill adds an empty list
            del cell.metadata["tags"]
    if failure:
        duplicate.metadata["evalkit"] = {"failed": vars(failure)}
    return duplicate


def last_started(notebook: NotebookNode) -> int:
    """The position of the last cell that papermill started; 0 if it started none."""
    last = 0
    for i, cell in enumerate(notebook.cells):
        if cell.metadata.papermill.get("start_time"):
            last = i
    return last


# Writing ------------------------------------------------------------------------------------------


def page(notebook: NotebookNode) -> str:
    """The HTML page of an executed notebook. Its results, which may be long, are neither shown nor
    copied.
    """
    # deepcopy takes objects that it finds here by their id for already copied: as empty results
    copies = {id(results): dict[str, Any]() for results in every_results(notebook)}
    without_results = copy.deepcopy(notebook, copies)
    html, _ = _exporter().from_notebook_node(without_results)
    return str(html)


@cache
def _exporter() -> ReportExporter:
    """The exporter of all pages of a process: compiling its templates takes longer than filling
    them.
    """
    from evalkit.page import ReportExporter

    return ReportExporter()  # type: ignore[no-untyped-call]  # traitlets has no types


def _executed(run: Run) -> str:
    """The executed notebook as the text of a file."""
    import nbformat

    return f"{nbformat.writes(run.notebook)}\n"


ENCODE = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode


def lines(value: object, levels: int = 2, indent: str = "\n") -> str:
    """JSON with one line per entry of the first levels, such as an estimate or a column of
    comparisons; deeper levels stand in one line, so that the file is short and can be compared.

    value: from `plain`. levels: how many have lines of their own; of a list, the entries alone.
    indent: a line break and the spaces before the value.

    >>> print(lines({"order": [], "rows": [{"p": 0.5}]}))
    {
     "order": [],
     "rows": [
      {"p":0.5}
     ]
    }
    """
    if not (levels and value and isinstance(value, dict | list)):
        return ENCODE(value)
    below = indent + " "
    if isinstance(value, list):
        entries = [ENCODE(entry) for entry in value]
        return f"[{below}{f',{below}'.join(entries)}{indent}]"
    entries = [f"{ENCODE(key)}: {lines(entry, levels - 1, below)}" for key, entry in value.items()]
    return f"{{{below}{f',{below}'.join(entries)}{indent}}}"


CONTENTS: dict[str, Callable[[Run], str]] = {
    ".html": lambda run: page(run.notebook),
    ".ipynb": _executed,
    ".json": lambda run: f"{lines(run.results)}\n",
}


def files(run: Run) -> dict[str, str | Path]:
    """The contents of a run's files by suffix; a failed run has other suffixes and no results."""
    if run.failure:
        return {f".failed{ending}": CONTENTS[ending](run) for ending in (".html", ".ipynb")}
    units = {UNITS: run.units} if run.units else {}
    return {ending: content(run) for ending, content in CONTENTS.items()} | units


def write(folder: Path, name: str, contents: Mapping[str, str | Path]) -> list[Path]:
    """Write `<folder>/<name><ending>` for each ending; all are complete before the first replaces
    an old file.

    contents: texts, and files to copy.

    Raises OSError if the folder is not writable or one of the files is a folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    targets = [folder / f"{name}{ending}" for ending in contents]
    for target in targets:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, f"{target.name} is a folder")
    _sweep_drafts(folder)
    drafts = [folder / f".{target.name}.{os.getpid()}.part" for target in targets]
    try:
        for draft, content in zip(drafts, contents.values(), strict=True):
            if isinstance(content, Path):
                shutil.copyfile(content, draft)
            else:
                draft.write_text(content, encoding="utf-8", newline="\n")
        for draft, target in zip(drafts, targets, strict=True):
            os.replace(draft, target)
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)
    return targets


def _sweep_drafts(folder: Path) -> None:
    """Remove the drafts of processes that were killed while writing."""
    for path in folder.iterdir():
        draft = DRAFT.fullmatch(path.name)
        if draft and os.name == "posix" and not folders.is_process_alive(int(draft[1])):
            path.unlink(missing_ok=True)


def longest_name() -> int:
    """The largest number of bytes in the name of a report for which all its files and drafts can be
    written.
    """
    return 255 - len(f"..{'9' * 10}.part") - max(map(len, ENDINGS))


def replaced(folder: Path, name: str, run: Run) -> str | None:
    """The inputs of the report that `run` will replace, if they differ from its own; otherwise
    None.

    Inputs are the same if their names and contents are, whatever the parameters.
    """
    if run.failure or not (folder / f"{name}.html").exists():
        return None
    try:
        old_results = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        old_inputs = old_results.get("inputs")
    except (OSError, ValueError, AttributeError):
        return "inputs unknown"
    if old_inputs == (run.results or {}).get("inputs"):
        return None
    names = []
    for source in old_inputs or []:
        source_name = source.get("name") if isinstance(source, dict) else source
        names.append(str(source_name))
    return ", ".join(names) or "other inputs"


def discard(folder: Path, name: str, run: Run) -> None:
    """Remove the files of earlier runs that do not belong beside a later report: failed ones, units
    of other data.
    """
    outdated = [".failed.html", ".failed.ipynb"]
    if run.units is None:
        outdated.append(UNITS)
    for ending in outdated:
        (folder / f"{name}{ending}").unlink(missing_ok=True)


# The engine for papermill's own command -----------------------------------------------------------


class EvalkitEngine:
    """A quiet papermill engine that also writes the page beside the output: `papermill --engine
    evalkit …`.

    Not a subclass: papermill loads its engines while it is imported, so this module must not import
    papermill.
    """

    @staticmethod
    def execute_notebook(
        notebook: NotebookNode, kernel_name: str, output_path: str | None = None, **options: Any
    ) -> NotebookNode:
        """Run the notebook and return it; the page is written even if a cell fails or the kernel
        dies.
        """
        from papermill.engines import NBClientEngine

        try:
            with kernels.kernel_options() as kernel_options:
                options = kernel_options | options
                NBClientEngine.execute_notebook(
                    notebook, kernel_name, output_path=output_path, **options
                )
        except (RuntimeError, TimeoutError) as error:
            failure = Failure(type(error).__name__, str(error), last_started(notebook))
            _write_beside(output_path, notebook, failure)
            raise
        # a gate that failed is a result of a run that was done, not a failure of the run
        done = without_gate_error(notebook)
        _write_beside(output_path, done, found_failure(done))
        return notebook

    @staticmethod
    def nb_kernel_name(notebook: NotebookNode, name: str | None = None) -> str:
        """The kernel that papermill would use."""
        from papermill.utils import nb_kernel_name

        return str(nb_kernel_name(notebook, name))

    @staticmethod
    def nb_language(notebook: NotebookNode, language: str | None = None) -> str:
        """The language that papermill would use."""
        from papermill.utils import nb_language

        return str(nb_language(notebook, language))


def _write_beside(output_path: str | None, notebook: NotebookNode, failure: Failure | None) -> None:
    """Write the page beside an output file; other targets of papermill (stdout, object stores) get
    no page.
    """
    if output_path and output_path != "-" and "://" not in output_path:
        target = Path(output_path)
        write(target.parent, target.stem, {".html": page(stripped(notebook, failure))})

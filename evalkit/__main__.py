"""The command line: `evalkit report NOTEBOOK -p NAME VALUE … -o FOLDER` and `evalkit parameters NOTEBOOK`.

`evalkit notebook NOTEBOOK > mine.ipynb` copies one to adapt.

Exit status: 0 done, 1 the run failed, 2 bad input or parameter (one line says which, nothing is written),
3 a gate failed (the report is written).
"""

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if __name__ == "__main__" and sys.path[0] == os.getcwd() != str(Path(__file__).resolve().parents[1]):
    del sys.path[0]  # `python -m evalkit` would import a file such as pandas.py from beside the data

from evalkit import __version__, bundled, report

if TYPE_CHECKING:
    from evalkit.parameters import Parameters
    from evalkit.parameters.cells import Listing

DONE, FAILED, REFUSED, GATE = 0, 1, 2, 3
INTERRUPTED, TERMINATED = 130, 143  # what a shell reports for a command ended by Ctrl-C, and by `kill`


class Refused(Exception):
    """The request of the user cannot be carried out; the message is the line to print."""


class Terminated(BaseException):
    """This process was stopped with `kill`."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise Refused with the message of argparse and a reference to the help."""
        raise Refused(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None, notebooks: Path | None = None) -> int:
    """Run the command line and return its exit status. notebooks: the folder of those that are called by name."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    try:
        options = _parser(notebooks or bundled.notebooks()).parse_args(arguments)
        return options.run(options)
    except Refused as error:
        return _say(str(error), REFUSED)
    except KeyboardInterrupt:
        return _say("interrupted, nothing written", INTERRUPTED)
    except Terminated:
        return _say("terminated, nothing written", TERMINATED)


def _terminate(*_: Any) -> NoReturn:
    raise Terminated


def _say(message: str, status: int) -> int:
    print(f"evalkit: {' '.join(message.split())}", file=sys.stderr)
    return status


def _parser(notebooks: Path) -> argparse.ArgumentParser:
    parser = Parser(prog="evalkit", description="Reports on predictions: one command, one page.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _add_report(
        commands.add_parser(
            "report",
            help="run a notebook and write its page, executed notebook and results",
            epilog="exit status: 0 done, 1 the run failed, 2 bad input or parameter, 3 a gate failed",
            add_help=False,
        ),
        notebooks,
    )
    listing = commands.add_parser("parameters", help="print a notebook's parameters, their defaults and meaning")
    _add_notebook(listing, notebooks)
    listing.add_argument("--json", action="store_true", help="as a JSON schema")
    listing.set_defaults(run=_parameters)
    copied = commands.add_parser("notebook", help="print a notebook to adapt: evalkit notebook ranking > mine.ipynb")
    _add_notebook(copied, notebooks)
    copied.set_defaults(run=_notebook)
    return parser


def _add_report(parser: argparse.ArgumentParser, notebooks: Path) -> None:
    parser.add_argument(
        "-h", "--help", action=_Help, nargs=0, help="show this message, after NOTEBOOK also its parameters, and exit"
    )
    _add_notebook(parser, notebooks)
    parser.add_argument(
        "-p",
        nargs=2,
        action="append",
        default=[],
        dest="parameters",
        metavar=("NAME", "VALUE"),
        help="set a parameter; a list is written [1,5] or 1,5",
    )
    parser.add_argument(
        "-o", dest="folder", type=Path, default=Path("reports"), metavar="FOLDER", help="default: reports"
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="name of the files, so that one folder can hold several reports; default: the notebook's name",
    )
    parser.set_defaults(run=_report)


def _add_notebook(parser: argparse.ArgumentParser, notebooks: Path) -> None:
    parser.set_defaults(notebooks=notebooks)
    parser.add_argument("notebook", metavar="NOTEBOOK", help="a name such as ranking, or the path of a notebook")


class _Help(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, options: argparse.Namespace, *_: Any) -> NoReturn:
        """Print the help of the command, and that of the parameters if a notebook was named before."""
        parser.print_help()
        if options.notebook:
            print(f"\nparameters of {options.notebook}, each set by -p NAME VALUE:")
            print(_listing(_find(options)).help())
        raise SystemExit(DONE)


class _Version(argparse.Action):
    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Print the version and exit."""
        print(f"evalkit {__version__}")
        raise SystemExit(DONE)


# The commands -------------------------------------------------------------------------------------------------


def _report(options: argparse.Namespace) -> int:
    path = _find(options)
    notebook = _load(path)
    parameters = _typed(options.parameters, _declared(notebook, path))
    _refuse_values(parameters, path)
    name = _name(options.name, path)
    _refuse_folder(options.folder, path)
    for logger in ("papermill", "asyncio"):  # they repeat, in many lines, the one line at the end
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    try:
        run = report.execute(notebook, parameters, report.progress(name, notebook, sys.stderr))
    finally:
        report.erase(sys.stderr)
        report.clean(parameters.get("spill"))
    return _finish(run, options.folder, name)


def _finish(run: report.Run, folder: Path, name: str) -> int:
    """Write the files of a run, print the outcome and return the exit status."""
    if run.failure and run.failure.name in report.REFUSALS:
        raise Refused(run.failure.message)
    other = report.replaced(folder, name, run)
    written = _write(folder, name, report.files(run))
    if run.failure:
        return _say(f"run failed: {run.failure.name}: {run.failure.message}; see {written[0]}", FAILED)
    report.discard_failed(folder, name)
    print(written[0])
    if other:
        _say(f"note: this replaced a report of other data ({other}); --name NAME keeps both", DONE)
    gate = (run.results or {}).get("gate") or {}
    if gate.get("passed") is False:
        failed = ", ".join(gate.get("failed", []))
        rule = gate.get("rule", "no rule given")
        return _say(f"gate failed: {rule}{f': not met by {failed}' if failed else ''}", GATE)
    return DONE


def _write(folder: Path, name: str, contents: dict[str, str]) -> list[Path]:
    try:
        return report.write(folder, name, contents)
    except OSError as error:
        raise Refused(f"cannot write to {folder}: {error.strerror}") from None


def _parameters(options: argparse.Namespace) -> int:
    listing = _listing(_find(options))
    print(listing.schema() if options.json else listing.lines())
    return DONE


def _notebook(options: argparse.Namespace) -> int:
    print(bundled.blank(_load(_find(options))))
    return DONE


def _listing(path: Path) -> "Listing":
    """The parameters of a notebook: of a bundled one without reading it, of any other from its parameters cell."""
    from evalkit.parameters import cells

    if report := _bundled(path):
        return cells.listing_of_report(path.stem, report)
    return cells.listing_of_cell(path.stem, _declared(_load(path), path).values())


def _bundled(path: Path) -> "type[Parameters] | None":
    """The parameters of a bundled notebook, None for any other."""
    from evalkit.parameters import REPORTS

    return REPORTS.get(path.stem) if path.resolve().parent == bundled.notebooks() else None


def _refuse_values(values: dict[str, Any], path: Path) -> None:
    """Refuse values, and inputs by their columns, that a bundled notebook would refuse, before a kernel starts."""
    if report := _bundled(path):
        from evalkit.studies import headers

        with _one_line():
            headers.check(report.of(values))


@contextmanager
def _one_line() -> Iterator[None]:
    """Raise Refused instead of InputError, of which ParameterError is one."""
    from evalkit.arrays import InputError

    try:
        yield
    except InputError as error:
        raise Refused(str(error)) from None


# The request --------------------------------------------------------------------------------------------------


def _find(options: argparse.Namespace) -> Path:
    """Return the path of a notebook from its path, or from its name in the folder of evalkit's own notebooks."""
    notebook, folder = options.notebook, options.notebooks
    if notebook.endswith(".ipynb") or os.sep in notebook:
        return Path(notebook)
    path = folder / f"{notebook}.ipynb"
    if path.is_file():
        return path
    if not folder.is_dir():
        raise Refused(
            f"evalkit is installed without its notebooks, so {notebook!r} must be the path of a notebook (.ipynb)"
        )
    from evalkit.parameters.readers import did_you_mean

    names = sorted(notebook_path.stem for notebook_path in folder.glob("*.ipynb"))
    raise Refused(
        f"no notebook named {notebook!r}{did_you_mean(notebook, names)}; there are: {', '.join(names) or 'none'}"
    )


def _load(path: Path) -> Any:
    try:
        return report.read(path)
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, AttributeError, KeyError):  # nbformat raises these for text, other JSON and old formats
        raise Refused(f"{path} is not a Jupyter notebook") from None


def _declared(notebook: Any, path: Path) -> dict[str, Any]:
    from evalkit.parameters.cells import declared

    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    try:
        return declared(cells[0].source) if cells else {}
    except SyntaxError as error:
        raise Refused(f"{path}: the parameters cell is not Python: {error.msg} (line {error.lineno})") from None


def _typed(pairs: Sequence[Sequence[str]], known: dict[str, Any]) -> dict[str, Any]:
    """The values by name, typed like the defaults of the notebook."""
    from evalkit.parameters.cells import typed
    from evalkit.parameters.readers import refuse_unknown

    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Refused(f"parameter {twice[0]!r} is given twice")
    with _one_line():
        refuse_unknown(names, known)
        return {name: typed(value, known[name]) for name, value in pairs}


def _name(option: str | None, notebook: Path) -> str:
    """The name of the report's files; raise Refused if no file can have it."""
    name, most = notebook.stem if option is None else option, report.longest_name()
    if not name.strip() or name.startswith(".") or any(mark in name for mark in ("/", os.sep, "\n", "\r")):
        raise Refused(f"--name must be a file name without a folder and without a leading dot, got {name!r}")
    if len(os.fsencode(name)) > most:
        raise Refused(f"--name must be at most {most} bytes long, got {len(os.fsencode(name))} ({name[:40]}…)")
    return name


def _refuse_folder(folder: Path, notebook: Path) -> None:
    """Refuse, before a long run, a folder that is not writable or that holds the notebook itself."""
    try:
        folder.exists()
    except OSError as error:  # such as a name that is too long
        raise Refused(f"-o {str(folder)[:80]}: {error.strerror}") from None
    if folder.resolve() == notebook.resolve().parent:
        raise Refused(f"-o {folder} is the notebook's own folder; the report would overwrite the notebook")
    nearest = report.nearest(folder)
    if not nearest.is_dir():
        raise Refused(f"-o {folder}: {nearest} is not a folder")
    if not os.access(nearest, os.W_OK):
        raise Refused(f"-o {folder}: {nearest} is not writable")


if __name__ == "__main__":
    sys.exit(main())

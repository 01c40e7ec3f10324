"""What a command is asked for: notebooks, parameters from the command line or a file of settings, names and folders."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit import bundled, kernels, report

if TYPE_CHECKING:
    from evalkit.parameters import Parameters
    from evalkit.parameters.cells import Listing

LARGEST = 10**6  # bytes of a file of settings


class Refused(Exception):
    """The request of the user cannot be carried out; the message is the line to print."""


@contextmanager
def one_line() -> Iterator[None]:
    """Raise Refused instead of InputError, of which ParameterError is one."""
    from evalkit.arrays import InputError

    try:
        yield
    except InputError as error:
        raise Refused(str(error)) from None


# Notebooks ----------------------------------------------------------------------------------------------------


def find(notebook: str, folder: Path) -> Path:
    """Return the path of a notebook from its path, or from its name in the folder of evalkit's own notebooks."""
    if notebook.endswith(".ipynb") or os.sep in notebook:
        return Path(notebook)
    path = folder / f"{notebook}.ipynb"
    if path.is_file():
        return path
    if not folder.is_dir():
        raise Refused(
            f"evalkit is installed without its notebooks, so {notebook!r} must be the path of a notebook (.ipynb)"
        )
    from evalkit.parameters.kinds import did_you_mean

    names = sorted(notebook_path.stem for notebook_path in folder.glob("*.ipynb"))
    hint = did_you_mean(notebook, names)
    raise Refused(f"no notebook named {notebook!r}{hint}; there are: {', '.join(names) or 'none'}{unquoted(notebook)}")


def unquoted(name: str) -> str:
    """What to do where a shell has replaced a pattern by the names of files, nothing where this is no file.

    >>> unquoted("ranking")
    ''
    """
    return "; put a pattern of files in quotes: -p preds '*.csv'" if Path(name).is_file() else ""


def load(path: Path) -> Any:
    """The notebook."""
    try:
        return report.read(path)
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, AttributeError, KeyError):  # nbformat raises these for text, other JSON and old formats
        raise Refused(f"{path} is not a Jupyter notebook") from None


def declared(notebook: Any, path: Path) -> dict[str, Any]:
    """The parameters that a notebook declares, by name."""
    from evalkit.parameters import cells

    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    try:
        return cells.declared(tagged[0].source) if tagged else {}
    except SyntaxError as error:
        raise Refused(f"{path}: the parameters cell is not Python: {error.msg} (line {error.lineno})") from None


def listing(path: Path) -> Listing:
    """The parameters of a notebook: of a bundled one without reading it, of any other from its parameters cell."""
    from evalkit.parameters import cells

    parameters = report_of(path)
    rows = cells.of_report(parameters) if parameters else declared(load(path), path).values()
    return cells.Listing(path.stem, tuple(rows))


def report_of(path: Path) -> type[Parameters] | None:
    """The parameters of a bundled notebook, None for any other."""
    from evalkit.parameters import REPORTS

    return REPORTS.get(path.stem) if path.resolve().parent == bundled.notebooks() else None


# Parameters ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """The parameters of a file of settings. origin: its name and SHA-256, "" where there is no file."""

    values: Mapping[str, Any]
    origin: str = ""


def settings(path: Path | None) -> Settings:
    """Read a file of settings (TOML), whose keys are the parameters. Raise Refused for a file that is not readable."""
    if path is None:
        return Settings({})
    import tomllib

    try:
        source = path.read_bytes()
        if len(source) > LARGEST:
            raise Refused(f"-f: {path} must have at most {LARGEST:,} bytes, got {len(source):,}")
        values = tomllib.loads(source.decode("utf-8"))
    except OSError as error:
        raise Refused(f"-f: cannot read {path}: {error.strerror}") from None
    except RecursionError:
        raise Refused(f"-f: {path} is nested too deep") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"-f: {path} is not a TOML file: {error}") from None
    return Settings({name: _plain(value) for name, value in values.items()}, _origin(path.name, source))


def _origin(name: str, source: bytes) -> str:
    return f"{name}, SHA-256 {hashlib.sha256(source).hexdigest()}"


def _plain(value: Any) -> Any:
    """A value of TOML as `-p` would give it: dates and times become text."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value if isinstance(value, str | bool | int | float) else str(value)


def parameters(pairs: Sequence[Sequence[str]], file: Settings, known: Mapping[str, Any]) -> dict[str, Any]:
    """The values by name: those of the file, and over them those of the command line, typed like the defaults."""
    from evalkit.parameters.cells import typed
    from evalkit.parameters.kinds import refuse_unknown

    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Refused(f"parameter {twice[0]!r} is given twice")
    with one_line():
        refuse_unknown([*file.values, *names], known)
        return {**file.values, **{name: typed(value, known[name]) for name, value in pairs}}


def refuse_values(values: Mapping[str, Any], path: Path) -> None:
    """Refuse values, and inputs by their columns, that a bundled notebook would refuse, before a kernel starts."""
    if parameters := report_of(path):
        with one_line():
            asked = parameters.of(values)
        if asked.given:  # the columns of the bundled sample are known
            from evalkit.studies import headers

            with one_line():
                headers.check(asked)


# Names and folders --------------------------------------------------------------------------------------------


def name(option: str | None, usual: str) -> str:
    """The name of the report's files; raise Refused if no file can have it."""
    text, most = usual if option is None else option, report.longest_name()
    if not text.strip() or text.startswith(".") or any(mark in text for mark in ("/", os.sep, "\n", "\r")):
        raise Refused(f"--name must be a file name without a folder and without a leading dot, got {text!r}")
    if len(os.fsencode(text)) > most:
        raise Refused(f"--name must be at most {most} bytes long, got {len(os.fsencode(text))} ({text[:40]}…)")
    return text


def refuse_folder(folder: Path, notebook: Path) -> None:
    """Refuse, before a long run, a folder that is not writable or that holds the notebook itself."""
    try:
        folder.exists()
    except OSError as error:  # such as a name that is too long
        raise Refused(f"-o {str(folder)[:80]}: {error.strerror}") from None
    if folder.resolve() == notebook.resolve().parent:
        raise Refused(f"-o {folder} is the notebook's own folder; the report would overwrite the notebook")
    nearest = kernels.nearest(folder)
    if not nearest.is_dir():
        raise Refused(f"-o {folder}: {nearest} is not a folder")
    if not os.access(nearest, os.W_OK):
        raise Refused(f"-o {folder}: {nearest} is not writable")

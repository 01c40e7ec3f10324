"""Provenance: the inputs, versions and parameters of a page, and the command that reproduces it."""

import platform
import shlex
import sys
from collections.abc import Iterable, Mapping, Sized
from functools import cache
from importlib import metadata
from typing import Any

from evalkit.catalogue.metric import MetricAtK
from evalkit.catalogue.own import OwnMetric, usual_name
from evalkit.parameters import cells
from evalkit.parameters.kinds import written
from evalkit.reading.tables.parts import Source

WRITTEN = 20  # numbers of a list that are written down
PACKAGES = ("numpy", "pandas", "scipy", "matplotlib", "duckdb", "pyarrow", "papermill", "nbconvert")
version = cache(metadata.version)  # a package's metadata are read once a process


def inputs(sources: Iterable[Source]) -> list[dict[str, str | int | None]]:
    """Name, rows and SHA-256 of each input."""
    return [
        {"name": source.name, "rows": source.rows, "sha256": source.sha256} for source in sources
    ]


def versions() -> dict[str, str]:
    """The versions of evalkit, Python and the packages that can change a number or a figure."""
    from evalkit import __version__

    versions = {"evalkit": __version__, "python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    if "pyspark" in sys.modules:  # where Spark is used
        versions["pyspark"] = sys.modules["pyspark"].__version__
    return versions


def printable(parameters: Mapping[str, object]) -> dict[str, object]:
    """The parameters as JSON can hold them; data frames and arrays by the name of their type."""
    return {name: _printable(value) for name, value in parameters.items()}


def _printable(value: object) -> object:
    """A value as JSON can hold it; data by the name of their type and their length."""
    if is_data(value):
        length = f" of {len(value):,}" if isinstance(value, Sized) else ""
        return f"<{type(value).__name__}{length}>"
    if isinstance(value, Mapping):
        return {str(key): _printable(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(element) for element in value]
    if isinstance(value, str | int | float) or value is None:
        return value
    if callable(value):
        return f"<function {usual_name(value)}>"
    return str(value)


def is_data(value: object) -> bool:
    """True if this is a data frame, an array or a list of numbers that is too long to print."""
    if isinstance(value, list | tuple):
        return len(value) > WRITTEN and isinstance(value[0], int | float)
    if hasattr(value, "__arrow_c_stream__"):
        return True
    return hasattr(value, "__array__") and hasattr(value, "__len__")


def holds_data(value: object) -> bool:
    """True if a value, or an element of it however deep, is data that are too long to print."""
    if is_data(value):
        return True
    if isinstance(value, Mapping):
        return any(map(holds_data, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_data, value))


def _python_argument(value: object) -> str:
    """A value as an argument in Python; data in memory by their type."""
    if is_data(value):
        return str(_printable(value))
    if isinstance(value, Mapping):
        items = [f"{key!r}: {_python_argument(element)}" for key, element in value.items()]
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_python_argument, value))}]"
    return repr(_printable(value))


def command(notebook: str, parameters: Mapping[str, object], segment: str = "") -> str:
    """The command line that makes the same page; for data in memory or a slice, the call in Python.
    notebook: the name of the report. segment: the slice that the page is of, "" for all rows.

    >>> command("rating", {"preds": "a b.csv", "level": 0.9})
    "evalkit report rating -p preds 'a b.csv' -p level 0.9"
    >>> command("rating", {"y_true": [1.0] * 30, "level": 0.9})
    'ek.rating(y_true=<list of 30>, level=0.9)'
    """
    if segment or any(map(holds_data, parameters.values())):
        arguments = [f"{name}={_python_argument(value)}" for name, value in parameters.items()]
        call = f"ek.{notebook}({', '.join(arguments)})"
        return f"{call}.segment({segment!r})" if segment else call
    words = [f"evalkit report {notebook}"]
    for name, value in printable(parameters).items():
        words.append(f"-p {name} {shlex.quote(_shell_argument(value))}")
    return " ".join(words)


def _shell_argument(value: object) -> str:
    """A printable value as the command line takes it, before it is quoted."""
    if isinstance(value, Mapping):
        return written({key: str(element) for key, element in value.items()})
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return str(value)


def metric(chosen: MetricAtK) -> dict[str, object]:
    """What a reader of the JSON needs of a metric; best: whether high or low values are better, or
    neither.
    """
    definition = chosen.metric
    row: dict[str, object] = {
        "name": chosen.label,
        "best": definition.best,
        "unit": definition.unit,
        "low": definition.low,
        "high": definition.high,
    }
    if isinstance(definition, OwnMetric):
        row |= {"file": definition.file, "sha256": definition.sha256}
    return row


def table(study: Any, metrics: Iterable[MetricAtK]) -> list[tuple[str, str]]:
    """The rows of the page's last table, what the results were computed from: a name and a text.
    study: of any report. metrics: of the page; each that the user has declared has a row.
    """
    p = study.p
    rows = [("command", command(study.report, p.given_values, p.segment)), ("seed", str(p.seed))]
    settings_file = cells.settings()
    if settings_file:
        rows.append(("settings", settings_file))
    for chosen in metrics:
        definition = chosen.metric
        if isinstance(definition, OwnMetric):
            source_text = "declared in Python, no file"
            if definition.file:
                source_text = f"{definition.file}, SHA-256 {definition.sha256}"
            rows.append((f"own metric {definition.name}", source_text))
    rows += [(f"parameter {name}", str(value)) for name, value in printable(p.given_values).items()]
    for source in study.sources:
        sha256 = source.sha256 or "none: not a file"
        rows.append((source.name, f"{source.rows:,} rows, SHA-256 {sha256}"))
    packages = ", ".join(f"{name} {number}" for name, number in versions().items())
    rows.append(("versions", packages))
    return rows

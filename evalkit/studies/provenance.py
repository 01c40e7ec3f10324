"""Provenance: the inputs, versions and parameters of a page, and the command that reproduces it."""

import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
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


def inputs(sources: Iterable[Source]) -> list[dict[str, Any]]:
    """Name, rows and SHA-256 of each input."""
    return [
        {"name": source.name, "rows": source.rows, "sha256": source.sha256} for source in sources
    ]


def versions() -> dict[str, str]:
    """The versions of evalkit, Python and the packages that can change a number or a figure."""
    from evalkit import __version__

    own = {"evalkit": __version__, "python": platform.python_version()}
    spark = {"pyspark": sys.modules["pyspark"].__version__} if "pyspark" in sys.modules else {}
    return own | {name: version(name) for name in PACKAGES} | spark


def printable(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as text; data frames and arrays by the name of their type."""
    return {name: _printable(value) for name, value in parameters.items()}


def _printable(value: Any) -> Any:
    if is_data(value):
        return (
            f"<{type(value).__name__}{f' of {len(value):,}' if hasattr(value, '__len__') else ''}>"
        )
    if isinstance(value, Mapping):
        return {str(key): _printable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(part) for part in value]
    if isinstance(value, str | int | float) or value is None:
        return value
    return f"<function {usual_name(value)}>" if callable(value) else str(value)


def is_data(value: Any) -> bool:
    """True if this is a data frame, an array or a list of numbers that is too long to print."""
    if isinstance(value, list | tuple):
        return len(value) > WRITTEN and isinstance(value[0], int | float)
    return hasattr(value, "__arrow_c_stream__") or (
        hasattr(value, "__array__") and hasattr(value, "__len__")
    )


def holds_data(value: Any) -> bool:
    """True if a value, or a part of it however deep, is data that are too long to print."""
    if is_data(value):
        return True
    if isinstance(value, Mapping):
        return any(map(holds_data, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_data, value))


def _call(value: Any) -> str:
    """A value as an argument in Python; data in memory by their type."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_call(part)}' for key, part in value.items())}}}"
    if isinstance(value, list | tuple) and not is_data(value):
        return f"[{', '.join(map(_call, value))}]"
    return str(_printable(value)) if is_data(value) else repr(_printable(value))


def command(notebook: str, parameters: Mapping[str, Any], segment: str = "") -> str:
    """The command line that makes the same page; for data in memory or a slice, the call in Python.

    >>> command("rating", {"preds": "a b.csv", "level": 0.9})
    "evalkit report rating -p preds 'a b.csv' -p level 0.9"
    >>> command("rating", {"y_true": [1.0] * 30, "level": 0.9})
    'ek.rating(y_true=<list of 30>, level=0.9)'
    """
    if segment or any(map(holds_data, parameters.values())):
        arguments = ", ".join(f"{name}={_call(value)}" for name, value in parameters.items())
        call = f"ek.{notebook}({arguments})"
        return f"{call}.segment({segment!r})" if segment else call
    options = [
        f"-p {name} {shlex.quote(_argument(value))}"
        for name, value in printable(parameters).items()
    ]
    return " ".join([f"evalkit report {notebook}", *options])


def _own(own: OwnMetric) -> tuple[str, str]:
    where = f"{own.file}, SHA-256 {own.sha256}" if own.file else "declared in Python, no file"
    return f"own metric {own.name}", where


def _argument(value: Any) -> str:
    if isinstance(value, Mapping):
        return written({key: str(part) for key, part in value.items()})
    if isinstance(value, list):
        return "[" + ", ".join(str(part) for part in value) + "]"
    return str(value)


def metric(chosen: MetricAtK) -> dict[str, Any]:
    """What a reader of the JSON needs of a metric; best: whether high or low values are better, or
    neither.
    """
    own = chosen.metric
    row = {
        "name": chosen.label,
        "best": own.best,
        "unit": own.unit,
        "low": own.low,
        "high": own.high,
    }
    return row | ({"file": own.file, "sha256": own.sha256} if isinstance(own, OwnMetric) else {})


def table(study: Any, metrics: Iterable[MetricAtK]) -> list[tuple[str, str]]:
    """The rows of the page's last table: what the results were computed from."""
    rows = [
        ("command", command(study.report, study.p.given, study.p.segment)),
        ("seed", str(study.p.seed)),
    ]
    rows += [("settings", origin)] if (origin := cells.settings()) else []
    rows += [_own(own) for chosen in metrics if isinstance(own := chosen.metric, OwnMetric)]
    rows += [(f"parameter {name}", str(value)) for name, value in printable(study.p.given).items()]
    hashes = ((source, source.sha256 or "none: not a file") for source in study.sources)
    rows += [(source.name, f"{source.rows:,} rows, SHA-256 {sha256}") for source, sha256 in hashes]
    return [
        *rows,
        ("versions", ", ".join(f"{name} {number}" for name, number in versions().items())),
    ]

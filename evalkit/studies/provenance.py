"""What made a page: inputs, versions, parameters and the command that makes it again."""

import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from evalkit.catalogue.metric import Chosen
from evalkit.catalogue.own import OwnMetric
from evalkit.parameters import cells
from evalkit.reading.tables.parts import Source

PACKAGES = ("numpy", "pandas", "scipy", "matplotlib", "duckdb", "pyarrow", "papermill", "nbconvert")


def inputs(sources: Iterable[Source]) -> list[dict[str, Any]]:
    """Name, rows and SHA-256 of each input."""
    return [{"name": source.name, "rows": source.rows, "sha256": source.sha256} for source in sources]


def versions() -> dict[str, str]:
    """The versions of evalkit, Python and the packages that can move a number or a picture."""
    from evalkit import __version__

    own = {"evalkit": __version__, "python": platform.python_version()}
    spark = {"pyspark": sys.modules["pyspark"].__version__} if "pyspark" in sys.modules else {}
    return own | {name: version(name) for name in PACKAGES} | spark


def printable(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as they can be written down; a frame by the name of its type."""
    return {name: _printable(value) for name, value in parameters.items()}


def _printable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _printable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(part) for part in value]
    if isinstance(value, str | int | float) or value is None:
        return value
    return f"<{type(value).__name__}>" if hasattr(value, "__arrow_c_stream__") else str(value)


def command(notebook: str, parameters: Mapping[str, Any]) -> str:
    """The command line that makes the same page."""
    options = [f"-p {name} {shlex.quote(_argument(value))}" for name, value in printable(parameters).items()]
    return " ".join([f"evalkit report {notebook}", *options])


def _own(own: OwnMetric) -> tuple[str, str]:
    where = f"{own.file}, SHA-256 {own.sha256}" if own.file else "declared in Python, no file"
    return f"own metric {own.name}", where


def _argument(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={part}" for key, part in value.items())
    if isinstance(value, list):
        return "[" + ", ".join(str(part) for part in value) + "]"
    return str(value)


def metric(chosen: Chosen) -> dict[str, Any]:
    """What a reader of the JSON needs of a metric; best: whether high or low values are, or neither."""
    row = {"name": chosen.label, "best": chosen.metric.best, "low": chosen.metric.low, "high": chosen.metric.high}
    own = chosen.metric
    return row | ({"file": own.file, "sha256": own.sha256} if isinstance(own, OwnMetric) else {})


def table(
    sources: Iterable[Source], parameters: Mapping[str, Any], notebook: str, seed: int, metrics: Iterable[Chosen]
) -> list[tuple[str, str]]:
    """The rows of the page's last table."""
    rows = [("command", command(notebook, parameters)), ("seed", str(seed))]
    rows += [("settings", origin)] if (origin := cells.settings()) else []
    rows += [_own(own) for chosen in metrics if isinstance(own := chosen.metric, OwnMetric)]
    rows += [(f"parameter {name}", str(value)) for name, value in printable(parameters).items()]
    many = list(sources)
    rows += [(source.name, f"{source.rows:,} rows, SHA-256 {source.sha256 or 'none: not a file'}") for source in many]
    return [*rows, ("versions", ", ".join(f"{name} {number}" for name, number in versions().items()))]

"""Own metrics of a file that the user names, `my_metrics.py:money_saved`: the file is run as the user's code."""

import hashlib
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from evalkit.arrays import ParameterError
from evalkit.catalogue.own import OwnMetric


def load(file: str, name: str) -> OwnMetric:
    """The metric of this name in a Python file; it says the file's name and SHA-256.

    Raises ParameterError for a file that cannot be read or run, and for a name that is no metric of it.
    """
    path = Path(file).expanduser()
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ParameterError(f"metrics: cannot read {file}: {error.strerror}") from None
    metrics = _metrics(file, source)
    if name not in metrics:
        has = ", ".join(metrics) or "none; a metric is a function declared by ek.mean, ek.ratio, ek.share, ek.of_counts"
        raise ParameterError(f"metrics: {file} has no metric {name!r}; it has {has}")
    return metrics[name].read_from(path.name, hashlib.sha256(source).hexdigest())


@cache
def _metrics(file: str, source: bytes) -> dict[str, OwnMetric]:
    """The metrics of a file, by the names of its variables."""
    module = ModuleType(f"own_metrics_{Path(file).stem}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # while it runs: dataclasses look themselves up there
    try:
        exec(compile(source, file, "exec"), vars(module))
    except ParameterError as error:
        raise ParameterError(f"{error} ({file})") from None
    except (Exception, SystemExit) as error:
        raise ParameterError(f"metrics: {file} raised {type(error).__name__}: {error}") from error
    finally:
        del sys.modules[module.__name__]  # so that functions are sent to workers by value
    return {name: value for name, value in vars(module).items() if isinstance(value, OwnMetric)}

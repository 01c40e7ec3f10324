"""Readers that type and check one value of a parameter, wherever it comes from.

The command line of papermill passes lists as text ("1,5,10"), `evalkit report` passes typed values, JupyterLab those of
the cell. The readers accept all three and refuse everything else with one line.
"""

import difflib
import glob
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

from evalkit.arrays import ParameterError

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
MOST = 10  # unknown names that a message lists
LEADING_ZERO = re.compile(r"[-+]?0\d.*")
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
WORDS: dict[str, bool | None] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
}


# Names --------------------------------------------------------------------------------------------------------


def refuse_unknown(names: Iterable[str], known: Iterable[str]) -> None:
    """Raise ParameterError for names that the notebook does not have as parameters, and list those that it has.

    >>> refuse_unknown(["pred"], ["preds", "qrels"])
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: unknown parameter 'pred' (did you mean 'preds'?); this notebook has: preds, qrels
    """
    known = list(known)
    unknown = [name for name in names if name not in known]
    wrong = [f"{name!r}{did_you_mean(name, known)}" for name in unknown[:MOST]]
    if unknown:
        plural = "s" if len(unknown) > 1 else ""
        has = ", ".join(known) or "no parameters"
        more = f" and {len(unknown) - MOST:,} more" if len(unknown) > MOST else ""
        raise ParameterError(f"unknown parameter{plural} {', '.join(wrong)}{more}; this notebook has: {has}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " (did you mean 'x'?)" for the known name closest to `name`, or nothing if none is close."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


# Text that stands for a value ---------------------------------------------------------------------------------


def value_of(text: str) -> Any:
    """Return text as a list or mapping (YAML, one line), number, truth value or None if it is written as one."""
    if text[:1] in ("[", "{", "'", '"'):
        return _yaml(text)
    if text in WORDS:
        return WORDS[text]
    # An id such as 007 must stay text: it is not the id 7. So must 1_000, 12:30 and dates, which YAML 1.1 converts.
    if not NUMBER.fullmatch(text) or (LEADING_ZERO.fullmatch(text) and not text.lstrip("+-").startswith("0.")):
        return text
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _yaml(text: str) -> Any:
    """A YAML list or mapping with plain scalars read by `value_of`; text that is not YAML is returned unchanged."""
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise ParameterError(f"a list must be written out, without YAML's & and *, got {_cut(text)}")
        return _from_node(node)
    except yaml.YAMLError:
        return text
    except RecursionError:
        raise ParameterError(f"a list must not be nested so deeply, got {_cut(text)}") from None


def _cut(value: Any) -> str:
    """A value in one line of at most 80 characters."""
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= 80 else f"{shown[:80]}…"


def _from_node(node: Any) -> Any:
    if node.id == "sequence":
        return [_from_node(child) for child in node.value]
    if node.id == "mapping":
        return {str(_from_node(key)): _from_node(child) for key, child in node.value}
    plain = node.style is None
    return value_of(node.value) if plain else node.value


# One value of each kind --------------------------------------------------------------------------------------


def text(name: str, value: Any) -> str | None:
    """One text, None if none is given; a number becomes its text.

    >>> text("baseline", 7)
    '7'
    """
    if _is_nothing(value):
        return None
    if isinstance(value, str | Real) and not isinstance(value, bool):
        return str(value)
    raise ParameterError(f"{name} must be one text, got {_cut(value)}")


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value == "None")


def texts(name: str, value: Any) -> list[str]:
    """A list of texts from a list, "a,b" or "[a, b]"; empty for None.

    >>> texts("metrics", "ndcg@10, map")
    ['ndcg@10', 'map']
    """
    items = [text(name, item) for item in _items(value)]
    if None in items or "" in items:
        raise ParameterError(f"{name} must be texts separated by commas, got {value!r}")
    return [item for item in items if item]


def metrics(name: str, value: Any) -> tuple[Any, ...]:
    """The names of metrics as `texts` reads them, and own metrics, which are no text, as they are.

    >>> metrics("metrics", "roc_auc, f1"), metrics("metrics", ["roc_auc", len])
    (('roc_auc', 'f1'), ('roc_auc', <built-in function len>))
    """
    if _is_text(value):
        return tuple(texts(name, value))
    return tuple(part for item in _listed(value) for part in (texts(name, [item]) if _is_text(item) else [item]))


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def paths(name: str, value: Any) -> Any:
    """Return paths written as text, "[a.run, b.run]" or "a.run,b.run", as a list; any other value unchanged.

    Text that is the path of an existing file or folder, or a pattern that matches one, is one path even with commas.

    >>> paths("preds", "a.run, b.run")
    ['a.run', 'b.run']
    """
    if not isinstance(value, str) or not (value.startswith("[") or "," in value) or _exists(value):
        return value
    return texts(name, value)


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists() or next(glob.iglob(path), None) is not None
    except (OSError, ValueError):  # too long for a path, or with a null character
        return False


def integers(name: str, value: Any, least: int = 1) -> list[int]:
    """A list of whole numbers from a list, one number, "1,5,10" or "[1, 5]"; empty for None.

    >>> integers("ks", "1,5,10")
    [1, 5, 10]
    >>> integers("ks", "x")
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: ks must be whole numbers of at least 1, got 'x'
    """
    numbers = [_number(item) for item in _items(value)]
    if not all(number.is_integer() and number >= least for number in numbers):
        raise ParameterError(f"{name} must be whole numbers of at least {least}, got {value!r}")
    return [int(number) for number in numbers]


def integer(name: str, value: Any, least: int = 1) -> int | None:
    """One whole number, None if none is given.

    >>> integer("seed", "0", least=0)
    0
    """
    if _is_nothing(value):
        return None
    number = _number(value)
    if not (number.is_integer() and number >= least):
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(number)


def number(name: str, value: Any, above: float = -math.inf, below: float = math.inf) -> float | None:
    """One finite number strictly between `above` and `below`, None if none is given.

    >>> number("level", "0.95", above=0, below=1)
    0.95
    >>> number("level", 95, above=0, below=1)
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: level must be a number between 0 and 1, got 95
    """
    if _is_nothing(value):
        return None
    read = _number(value)
    if above < read < below:
        return read
    raise ParameterError(f"{name} must be {number_words(above, below)}, got {_cut(value)}")


def number_words(above: float, below: float) -> str:
    """Describe a number strictly between two bounds.

    >>> number_words(0, 1), number_words(0, math.inf)
    ('a number between 0 and 1', 'a number above 0')
    """
    if math.isfinite(above) and math.isfinite(below):
        return f"a number between {above:g} and {below:g}"
    if math.isfinite(above):
        return f"a number above {above:g}"
    return f"a number below {below:g}" if math.isfinite(below) else "a number"


def size(name: str, value: Any, least: int) -> int | None:
    """Return a number of bytes from "1.5GB" or a number, None if none is given.

    >>> size("memory", "1.5GB", least=0), size("memory", "1GiB", least=0)
    (1500000000, 1073741824)
    """
    stated = text(name, value)
    if stated is None:
        return None
    parts = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([kmgt]?i?)b?", stated.strip().lower())
    read = int(float(parts[1]) * UNITS.get(parts[2], 0)) if parts else -1
    if read < least:
        raise ParameterError(f"{name} must be a size of at least {least // 10**6}MB, such as 1GB, got {value!r}")
    return read


def folder(name: str, value: Any) -> Path | None:
    """Return the path of a folder that exists, None if none is given."""
    if _is_nothing(value):
        return None
    path = Path(value if isinstance(value, Path) else str(text(name, value))).expanduser()
    if not str(value) or not path.is_dir():
        raise ParameterError(f"{name} must be a folder that exists, got {str(value)!r}")
    return path


def choice(name: str, value: Any, allowed: Sequence[str]) -> str | None:
    """One of the allowed texts, None if none is given.

    >>> choice("gain", "exp", ["linear", "exponential"])
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: gain must be one of linear, exponential, got 'exp'
    """
    read = text(name, value)
    if read is None or read in allowed:
        return read
    raise ParameterError(f"{name} must be one of {', '.join(allowed)}, got {value!r}{did_you_mean(read, allowed)}")


def yes_or_no(name: str, value: Any) -> bool | None:
    """True for "yes" or true, False for "no" or false, None if nothing is given.

    >>> yes_or_no("units", "no"), yes_or_no("units", True), yes_or_no("units", None)
    (False, True, None)
    """
    if isinstance(value, bool):
        return value
    word = choice(name, value, ("yes", "no"))
    return None if word is None else word == "yes"


def mapping(name: str, value: Any) -> dict[str, str]:
    """Texts by name from a mapping, "query=qid,item=doc" or "{query: qid}"; empty for None.

    >>> mapping("columns", "query=qid, item=doc")
    {'query': 'qid', 'item': 'doc'}
    """
    read = value_of(value) if isinstance(value, str) else value
    if isinstance(read, str):
        pairs = [part.split("=", 1) for part in read.split(",") if part.strip()]
        read = {pair[0].strip(): pair[-1].strip() for pair in pairs if len(pair) == 2}
        if len(read) < len(pairs):
            read = "not pairs"
    if read is None or isinstance(read, Mapping):
        return {str(key): str(text(name, item)) for key, item in (read or {}).items()}
    raise ParameterError(f"{name} must be pairs such as query=qid,item=doc, got {value!r}")


def _items(value: Any) -> list[Any]:
    """The items of a list or of text that is one; a single value is a list of one item, None an empty list."""
    read = value_of(value) if isinstance(value, str) else value
    if read is None:
        return []
    if isinstance(value, str) and not isinstance(read, list):
        return [part.strip() for part in value.split(",")]
    return _listed(read)


def _listed(value: Any) -> list[Any]:
    """The items of a list, a range, an array of numpy or a column or index of pandas; anything else alone."""
    items = value.tolist() if hasattr(value, "tolist") else value
    return list(items) if isinstance(items, list | tuple | range) else [value]


def _number(value: Any) -> float:
    """The number that a value represents, otherwise NaN, which every reader refuses."""
    if isinstance(value, str):
        return float(value) if NUMBER.fullmatch(value.strip()) else math.nan
    if isinstance(value, bool) or not hasattr(value, "__float__") or getattr(value, "ndim", None):
        return math.nan
    return float(value)

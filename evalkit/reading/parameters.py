"""Parameters of a notebook: which it has, what was given, and readers that type and check a value.

Every way in ends here. papermill's command line delivers lists as text ("1,5,10"), `evalkit report` delivers typed
values, JupyterLab whatever the cell says: the readers take all three, and refuse the rest with one line.
"""

import ast
import difflib
import io
import math
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.arrays import ParameterError

INJECTED = "# Parameters\n"  # how papermill begins the cell that it puts behind the parameters cell
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
LEADING_ZERO = re.compile(r"[-+]?0\d.*")
WORDS: dict[str, bool | None] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
}


@dataclass(frozen=True)
class Parameter:
    """One parameter as its notebook declares it: name, default, whether its type is text, and the comment beside it."""

    name: str
    default: Any = None
    is_text: bool = False
    comment: str = ""


# What a notebook declares -------------------------------------------------------------------------------------


def declared(source: str) -> dict[str, Parameter]:
    """The parameters that the source of a parameters cell assigns, by name, in order.

    A comment after the value is the help; the annotation `str` says that a parameter without default is text.

    >>> declared("ks = [1, 5]  # cut-offs\\nbaseline: str = None")["ks"]
    Parameter(name='ks', default=[1, 5], is_text=False, comment='cut-offs')
    """
    comments = _comments(source)
    found = (_declaration(node, comments) for node in ast.parse(source).body)
    return {parameter.name: parameter for parameter in found if parameter}


def _declaration(node: ast.stmt, comments: Mapping[int, str]) -> Parameter | None:
    if isinstance(node, ast.Assign):
        target, annotation = node.targets[0], ""
    elif isinstance(node, ast.AnnAssign):
        target, annotation = node.target, ast.unparse(node.annotation)
    else:
        return None
    if not isinstance(target, ast.Name) or node.value is None:
        return None
    default = _literal(node.value)
    is_text = isinstance(default, str) or annotation.strip("'\"").split("|")[0].strip() == "str"
    return Parameter(target.id, default, is_text, comments.get(node.end_lineno or node.lineno, ""))


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None  # computed in the cell: it has no default to show


def _comments(source: str) -> dict[int, str]:
    """The text of each comment by its line. Read by tokenize: a # or = inside text is neither comment nor value."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Raises ParameterError naming the given parameters that the notebook does not have, and those that it has.

    >>> refuse_unknown(["pred"], ["preds", "qrels"])
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: unknown parameter 'pred' (did you mean 'preds'?); this notebook has: preds, qrels
    """
    names = list(known)
    wrong = [f"{name!r}{did_you_mean(name, names)}" for name in given if name not in names]
    if wrong:
        plural = "s" if len(wrong) > 1 else ""
        has = ", ".join(names) or "no parameters"
        raise ParameterError(f"unknown parameter{plural} {', '.join(wrong)}; this notebook has: {has}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " (did you mean 'x'?)" for the known name nearest to `name`, or nothing where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def check() -> None:
    """Refuses unknown parameters from inside a notebook; call it in the first cell after the parameters.

    papermill only warns about an unknown parameter and runs on with the default. Here its injected cell is compared
    with the parameters cell before it. Without an injected cell (JupyterLab, nbval, a script) nothing happens.
    """
    cells = _history()
    for i, source in enumerate(cells):
        if source.startswith(INJECTED):
            refuse_unknown(declared(source), declared(cells[i - 1]) if i else [])


def _history() -> list[str]:
    """The source of the cells that the running kernel has executed, none outside of one."""
    try:
        from IPython import get_ipython  # type: ignore[attr-defined]
    except ImportError:
        return []
    shell = get_ipython()  # type: ignore[no-untyped-call]
    return [] if shell is None else [source for source in shell.user_ns.get("In", []) if source]


# What the command line gives ----------------------------------------------------------------------------------


def typed(text: str, parameter: Parameter) -> Any:
    """The value that `text` from a command line stands for: kept as text where the parameter is text.

    >>> [typed(t, Parameter("x")) for t in ("1e3", "007", "a,b", "[1,5]", "None")]
    [1000.0, '007', 'a,b', [1, 5], None]
    >>> typed("1e3", Parameter("preds", is_text=True))
    '1e3'
    """
    return text if parameter.is_text else _value(text)


def _value(text: str) -> Any:
    """Text as a list or mapping (YAML, one line), number, truth value or None where it is written as one."""
    if text[:1] in ("[", "{", "'", '"'):
        return _yaml(text)
    if text in WORDS:
        return WORDS[text]
    # An id such as 007 must stay text: it is not the id 7. So must 1_000, 12:30 and dates, which YAML 1.1 converts.
    if not NUMBER.fullmatch(text) or (LEADING_ZERO.fullmatch(text) and not text.lstrip("+-").startswith("0.")):
        return text
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _yaml(text: str) -> Any:
    """A YAML list or mapping whose plain scalars are read by the rule for a value; other text as it stands."""
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


def _cut(text: str) -> str:
    return repr(text) if len(text) <= 80 else f"{text[:80]!r}…"


def _from_node(node: Any) -> Any:
    if node.id == "sequence":
        return [_from_node(child) for child in node.value]
    if node.id == "mapping":
        return {str(_from_node(key)): _from_node(child) for key, child in node.value}
    plain = node.style is None
    return _value(node.value) if plain else node.value


# Readers: a value of a notebook's parameter, typed and checked ------------------------------------------------


def text(name: str, value: Any) -> str | None:
    """One text, None where none is given; a number becomes its text.

    >>> text("baseline", 7)
    '7'
    """
    if value is None or value == "None":
        return None
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        return str(value)
    raise ParameterError(f"{name} must be one text, got {value!r}")


def texts(name: str, value: Any) -> list[str]:
    """A list of texts from a list, or from "a,b" or "[a, b]"; empty where None is given.

    >>> texts("metrics", "ndcg@10, map")
    ['ndcg@10', 'map']
    """
    items = [text(name, item) for item in _items(value)]
    if None in items or "" in items:
        raise ParameterError(f"{name} must be texts separated by commas, got {value!r}")
    return [item for item in items if item]


def integers(name: str, value: Any, least: int = 1) -> list[int]:
    """A list of whole numbers from a list, one number, "1,5,10" or "[1, 5]"; empty where None is given.

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
    """One whole number, None where none is given.

    >>> integer("seed", "0", least=0)
    0
    """
    if value is None or value == "None":
        return None
    number = _number(value)
    if not (number.is_integer() and number >= least):
        raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(number)


def number(name: str, value: Any, above: float = -math.inf, below: float = math.inf) -> float | None:
    """One finite number strictly between `above` and `below`, None where none is given.

    >>> number("level", "0.95", above=0, below=1)
    0.95
    >>> number("level", 95, above=0, below=1)
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: level must be a number between 0 and 1, got 95
    """
    if value is None or value == "None":
        return None
    read = _number(value)
    if above < read < below:
        return read
    between = f" between {above:g} and {below:g}" if math.isfinite(above) and math.isfinite(below) else ""
    bound = between or (f" above {above:g}" if math.isfinite(above) else "")
    bound = bound or (f" below {below:g}" if math.isfinite(below) else "")
    raise ParameterError(f"{name} must be a number{bound}, got {value!r}")


def choice(name: str, value: Any, allowed: Sequence[str]) -> str | None:
    """One of the allowed texts, None where none is given.

    >>> choice("gain", "exp", ["linear", "exponential"])
    Traceback (most recent call last):
    evalkit.arrays.ParameterError: gain must be one of linear, exponential, got 'exp'
    """
    read = text(name, value)
    if read is None or read in allowed:
        return read
    raise ParameterError(f"{name} must be one of {', '.join(allowed)}, got {value!r}{did_you_mean(read, allowed)}")


def mapping(name: str, value: Any) -> dict[str, str]:
    """Texts by name from a mapping, "query=qid,item=doc" or "{query: qid}"; empty where None is given.

    >>> mapping("columns", "query=qid, item=doc")
    {'query': 'qid', 'item': 'doc'}
    """
    read = _value(value) if isinstance(value, str) else value
    if isinstance(read, str):
        pairs = [part.split("=", 1) for part in read.split(",") if part.strip()]
        read = {pair[0].strip(): pair[-1].strip() for pair in pairs if len(pair) == 2}
        if len(read) < len(pairs):
            read = "not pairs"
    if read is None or isinstance(read, Mapping):
        return {str(key): str(text(name, item)) for key, item in (read or {}).items()}
    raise ParameterError(f"{name} must be pairs such as query=qid,item=doc, got {value!r}")


def _items(value: Any) -> list[Any]:
    """The items of a list, or of text that stands for one; one value is a list of one, None an empty list."""
    read = _value(value) if isinstance(value, str) else value
    if read is None:
        return []
    if isinstance(value, str) and not isinstance(read, list):
        return [part.strip() for part in value.split(",")]
    return list(read) if isinstance(read, (list, tuple)) else [read]


def _number(value: Any) -> float:
    """The number that a value stands for, NaN where it stands for none, which every check of a reader refuses."""
    if isinstance(value, str):
        return float(value) if NUMBER.fullmatch(value.strip()) else math.nan
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return math.nan
    return float(value)

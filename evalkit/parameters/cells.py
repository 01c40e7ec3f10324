"""The parameters cell of a notebook: what it declares, what its values are, and what a command line gives for them."""

import ast
import io
import sys
import tokenize
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from evalkit.parameters.readers import refuse_unknown, value_of
from evalkit.parameters.reports import REPORTS

INJECTED = "# Parameters\n"  # how papermill begins the cell that it puts behind the parameters cell


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


# Inside a notebook --------------------------------------------------------------------------------------------


def values() -> dict[str, Any]:
    """Return the values of the parameters cell, by name, for a report's `read`; refuses unknown injected names.

    They are the variables of the calling notebook that are parameters of its report, whichever cells ran before and in
    whichever order. The report is the one whose parameters the notebook has: a copied notebook may lack some, which
    have their default, and have others of its own, which it reads itself.
    """
    check()
    variables = sys._getframe(1).f_globals
    report = max(REPORTS.values(), key=lambda one: _fit(one.options(), variables))
    return {name: variables[name] for name in report.options() if name in variables}


def _fit(names: Collection[str], variables: Collection[str]) -> int:
    """How many of the names are variables less how many are not."""
    return sum(1 if name in variables else -1 for name in names)


def check() -> None:
    """Refuses unknown parameters from inside a notebook; `values` calls it, an own notebook may.

    papermill only warns about an unknown parameter and runs on with the default. Here its injected cell is compared
    with the cells run before it: the parameters cell and, where an executed notebook is run again in JupyterLab,
    maybe others. Without an injected cell (JupyterLab, nbval, a script) nothing happens.
    """
    known: dict[str, Parameter] = {}
    for source in _history():
        names = _declared_if_python(source)
        if source.startswith(INJECTED):
            refuse_unknown(names, known)
        known |= names


def _declared_if_python(source: str) -> dict[str, Parameter]:
    """What a cell of the history assigns; nothing if it failed for not being Python."""
    try:
        return declared(source)
    except (SyntaxError, tokenize.TokenError):
        return {}


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
    return text if parameter.is_text else value_of(text)

"""The parameters of a notebook: declared in its cell, read inside it, given on a command line, and
listed.
"""

import ast
import io
import json
import sys
import tokenize
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evalkit.parameters.kinds import (
    DATA,
    VALUE,
    WRITTEN,
    Parameter,
    Schema,
    refuse_unknown,
    value_of,
)
from evalkit.parameters.reports import NOTEBOOKS, Parameters

INJECTED = (
    "# Parameters\n"  # the first line of the cell that papermill inserts after the parameters cell
)
SETTINGS = (
    "# settings: "  # the last line of that cell, where parameters came from a file of settings
)
RAN: list[str] = []  # the sources of the cells that this process has run, where no kernel does
SHORT = 40  # longer defaults do not widen the column of defaults


# Declared in the cell -----------------------------------------------------------------------------


def declared(source: str) -> dict[str, Parameter]:
    """Return the parameters that the source of a parameters cell assigns, by name, in order.

    A comment after the value is the help; the annotation `str` marks a parameter without default as
    text.

    >>> ks = declared("ks = [1, 5]  # cut-offs\\nbaseline: str = None")["ks"]
    >>> ks.name, ks.default, ks.help
    ('ks', [1, 5], 'cut-offs')
    """
    comments = _comments(source)
    declarations = (_declaration(node, comments) for node in ast.parse(source).body)
    return {parameter.name: parameter for parameter in declarations if parameter}


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
    help_line = comments.get(node.end_lineno or node.lineno, "")
    return Parameter(target.id, default, WRITTEN if is_text else VALUE, help_line)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None  # computed in the cell: there is no default to show


def _comments(source: str) -> dict[int, str]:
    """The text of each comment by its line, from tokenize: a # inside a string does not start a
    comment.
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}


# Inside a notebook --------------------------------------------------------------------------------


def values() -> dict[str, Any]:
    """Return the values of the parameters cell, by name, for the `read` of a report; reject unknown
    injected names.

    They are the variables of the calling notebook that are parameters of its report, whichever
    cells ran before and in whichever order. The report is the one whose parameters match the
    variables best: a copied notebook may lack some, which have their default, and may have others
    of its own. An input that is None was not given.
    """
    check()
    variables = sys._getframe(1).f_globals

    def fit(report: type[Parameters]) -> int:
        """Names that are variables, less three times those that are not: a notebook has variables
        of its own.
        """
        return sum(1 if name in variables else -3 for name in report.options())

    report = max(NOTEBOOKS.values(), key=fit)
    named = {name: variables[name] for name in report.options() if name in variables}
    inputs = {name for name, entry in report.options().items() if entry.kind is DATA}
    return {name: value for name, value in named.items() if name not in inputs or value is not None}


def check() -> None:
    """Reject unknown parameters from inside a notebook; `values` calls it, and custom notebooks
    may.

    papermill only warns about an unknown parameter and uses the default. Here its injected cell is
    compared with the cells run before it: the parameters cell and, if an executed notebook is run
    again in JupyterLab, maybe others. Without an injected cell (JupyterLab, nbval, a script)
    nothing happens.
    """
    known: dict[str, Parameter] = {}
    for source in _history():
        names = _declared_if_python(source)
        if source.startswith(INJECTED):
            refuse_unknown(names, known)
        known |= names


def settings() -> str:
    """The settings file of this notebook's parameters, with its SHA-256; "" if there is none."""
    lines = [source.splitlines()[-1] for source in _history() if source.startswith(INJECTED)]
    return next((line.removeprefix(SETTINGS) for line in lines if line.startswith(SETTINGS)), "")


def _declared_if_python(source: str) -> dict[str, Parameter]:
    """The parameters that a cell of the history assigns; none if it is not Python."""
    try:
        return declared(source)
    except (SyntaxError, tokenize.TokenError):
        return {}


def _history() -> list[str]:
    """The sources of the cells that ran before, here or in the running kernel; empty outside
    both.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return (
        RAN
        if RAN or shell is None
        else [source for source in shell.user_ns.get("In", []) if source]
    )


@contextmanager
def history() -> Iterator[list[str]]:
    """Yield the list to which the sources of the notebook's cells are added, if this process runs
    them.
    """
    try:
        yield RAN
    finally:
        RAN.clear()


# Given on the command line ------------------------------------------------------------------------


def typed(text: str, parameter: Parameter) -> Any:
    """Return the value of `text` from a command line: the text itself if the parameter is text.

    >>> [typed(t, Parameter("x", None, VALUE)) for t in ("1e3", "007", "a,b", "[1,5]", "None")]
    [1000.0, '007', 'a,b', [1, 5], None]
    >>> typed("1e3", Parameter("preds", None, WRITTEN))
    '1e3'
    """
    return text if parameter.kind.is_text else value_of(text)


# Written out --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Listing:
    """The parameters of a notebook, in order."""

    title: str
    rows: Collection[Parameter]

    def lines(self) -> str:
        """One line for each parameter: name = default, and the help."""
        width = max(
            (len(_assigned(row)) for row in self.rows if len(repr(row.default)) < SHORT), default=0
        )
        return "\n".join(f"{_assigned(row):<{width}}  {row.help}".rstrip() for row in self.rows)

    def help(self) -> str:
        """Two lines for each parameter: name, default and valid values, then the help."""
        words = ((row, f"  ({row.kind.words})" if row.kind.words else "") for row in self.rows)
        return "\n".join(
            f"  {_assigned(row)}{stated}\n      {row.help}".rstrip() for row, stated in words
        )

    def schema(self) -> str:
        """The JSON schema of an object with the parameters."""
        properties = {row.name: _property(row) for row in self.rows}
        head = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.title,
            "type": "object",
        }
        whole = head | {"properties": properties, "additionalProperties": False}
        return json.dumps(whole, indent=2, ensure_ascii=False)

    def markdown(self) -> str:
        """A table in Markdown."""
        head = "| parameter | what a value is | default | meaning |\n|---|---|---|---|\n"
        defaults = ("" if row.default is None else f"`{row.default}`" for row in self.rows)
        rows = zip(self.rows, defaults, strict=True)
        cells = ((f"`{row.name}`", row.kind.words, default, row.help) for row, default in rows)
        return head + "".join(
            f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |\n" for row in cells
        )


def source(report: type[Parameters]) -> str:
    """The source of the parameters cell of a report's notebook."""
    lines = []
    for entry in report.options().values():
        typed = (
            f": {'str' if entry.kind.is_text else entry.kind.accepts}"
            if entry.default is None
            else ""
        )
        default = "None" if entry.default is None else json.dumps(entry.default)
        lines.append(f"{entry.name}{typed} = {default}  # {entry.help}")
    return "\n".join(lines)


def _assigned(row: Parameter) -> str:
    return f"{row.name} = {row.default!r}"


def _property(row: Parameter) -> Schema:
    """The schema of a parameter; None is valid too if it is the default."""
    about = {"description": row.help, "default": row.default}
    schema = row.kind.schema
    return (
        {"anyOf": [schema, {"type": "null"}], **about}
        if row.default is None and schema
        else {**schema, **about}
    )

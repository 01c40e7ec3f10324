"""The parameters of a notebook: declared in its cell, read inside it, given on a command line, and
listed.
"""

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeGuard

from evalkit.arrays import ParameterError
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
# begins the parameters cell of a bundled notebook, and names its report
MARK = re.compile(r"^# Parameters of the (\w+) report")
RAN: list[str] = []  # the sources of the cells that this process has run, where no kernel does
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# the methods that change a list, a dict or a set
CHANGING = {
    *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"),
    *("update", "setdefault", "popitem", "add", "discard"),
    *("difference_update", "intersection_update", "symmetric_difference_update"),
}
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
        target = node.targets[0]
        annotation = ""
    elif isinstance(node, ast.AnnAssign):
        target = node.target
        annotation = ast.unparse(node.annotation)
    else:
        return None
    if not isinstance(target, ast.Name) or node.value is None:
        return None
    default = _literal(node.value)
    types = {*re.findall(r"\w+", annotation)} - {"None", "Optional"}
    is_text = isinstance(default, str) or types == {"str"}
    help_line = comments.get(node.end_lineno or node.lineno, "")
    return Parameter(target.id, default, WRITTEN if is_text else VALUE, help_line)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):  # TypeError: a key of a dict that is a list
        return None  # computed in the cell: there is no default to show


def _comments(source: str) -> dict[int, str]:
    """The text of each comment by its line, from tokenize: a # inside a string does not start a
    comment.
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}


# Inside a notebook --------------------------------------------------------------------------------


def values(own: str | Sequence[str] = ()) -> dict[str, Any]:
    """Return what the parameters cell assigned, by name, for the `read` of a report.

    Of a cell that ran several times its last run counts, and the cell that papermill injects
    overrides it; no other cell changes a parameter. Parameters that the cell lacks have their
    default, and an input that is None was not given. own: parameters of the notebook's own,
    "limit,city", which are left out, as are names that begin with _. Raises ParameterError for
    any other name, and for a value that the cell computes and a later cell replaced.
    """
    check()
    variables = sys._getframe(1).f_globals
    ran = _history()
    if not ran:  # a script, which has no cells
        known = _known(variables.keys())
        return _without_missing_inputs({n: variables[n] for n in known if n in variables})
    own_names = own.replace(",", " ").split() if isinstance(own, str) else own
    named: dict[str, ParameterAssignment] = {}
    marked = []
    for place in _parameters_cells(ran):
        for name, expression in _assigned_expressions(ran[place]).items():
            if name not in own_names and not name.startswith("_"):
                named[name] = ParameterAssignment(name, expression, ran[place + 1 :])
        marked += MARK.findall(ran[place])
    _refuse_unknown(named, _known(named, marked), own_names)
    return _without_missing_inputs({n: a.value(variables) for n, a in named.items()})


def _refuse_unknown(
    named: Collection[str], known: Collection[str], own_names: Sequence[str]
) -> None:
    """Raise ParameterError for names that are no parameters, with the call that leaves them out."""
    unknown = [name for name in named if name not in known]
    verb = "is your own variable" if len(unknown) == 1 else "are your own variables"
    call = f"parameters.values(own={','.join([*own_names, *unknown])!r})"
    refuse_unknown(unknown, known, f"; if {', '.join(unknown)} {verb}, call {call}")


@dataclass(frozen=True)
class ParameterAssignment:
    """A name that a parameters cell assigned. expression: of its value, None if the cell does not
    say it in one. later: the sources of the cells that ran since.
    """

    name: str
    expression: ast.expr | None
    later: Sequence[str]

    def value(self, variables: Mapping[str, Any]) -> Any:
        """The value as the cell assigned it: as written, or if it was computed the variable.

        Raises ParameterError if another cell has since assigned or changed a computed one.
        """
        try:
            return ast.literal_eval(self.expression or "")
        except (ValueError, TypeError, SyntaxError):
            pass
        replaced = any(self.name in _changed_names(source) for source in self.later)
        if replaced or self.name not in variables:
            raise ParameterError(
                f"{self.name}: its value is no longer the one that the parameters cell computed; "
                "run that cell again"
            )
        return variables[self.name]


def _body(source: str) -> list[ast.stmt]:
    """The statements of a cell without annotations; none if it is not Python."""
    try:
        return [*map(without_annotation, ast.parse(source).body)]
    except SyntaxError:
        return []


def _assigned_expressions(source: str) -> dict[str, ast.expr | None]:
    """The names that a cell assigns, with the expression of each; None where a name is one of
    several targets, or a loop's, and where the rest of the cell may change a list or a dict.
    """
    assigned: dict[str, ast.expr | None] = {}
    for node in _body(source):
        read = {part.id for part in ast.walk(node) if _is_name(part, ast.Load)}
        changeable = [assigned[name] for name in read if _is_changeable(assigned.get(name))]
        assigned |= {name: None for name, value in assigned.items() if value in changeable}
        assigned |= dict.fromkeys(_stored_names(node))
        if isinstance(node, ast.Assign):
            assigned |= dict.fromkeys(target_names(node), node.value)
    return assigned


def without_annotation(node: ast.stmt) -> ast.stmt:
    """The statement: an annotated assignment as a plain one, an annotation alone as nothing."""
    if not isinstance(node, ast.AnnAssign):
        return node
    return ast.Assign([node.target], node.value) if node.value else ast.Pass()


def target_names(assignment: ast.Assign) -> list[str]:
    """The names to which the whole value of an assignment is assigned."""
    return [target.id for target in assignment.targets if isinstance(target, ast.Name)]


def _is_name(node: ast.AST, context: type[ast.expr_context]) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, context)


def _is_changeable(expression: ast.expr | None) -> bool:
    """True for a display of a list, a dict or a set, and for a tuple that has one."""
    displays = (ast.List, ast.Dict, ast.Set)
    return expression is not None and any(isinstance(p, displays) for p in ast.walk(expression))


def _stored_names(node: ast.AST) -> Iterator[str]:
    """The names that a statement assigns in the notebook: those of a function, a class or a
    comprehension are its own.
    """
    if isinstance(node, (*DEFINITIONS, ast.Lambda)):
        return
    if _is_name(node, ast.Store):
        yield node.id
    parts = ast.iter_child_nodes(node)
    if isinstance(node, ast.comprehension):
        parts = iter([node.iter, *node.ifs])
    for part in parts:
        yield from _stored_names(part)


def _changed_names(source: str) -> set[str]:
    """The names that a cell assigns, defines, imports or changes in place."""
    names = set(_assigned_expressions(source))
    for statement in _body(source):
        for node in ast.walk(statement):
            if isinstance(node, ast.alias):
                names.add(node.asname or node.name.split(".")[0])
            elif isinstance(node, DEFINITIONS):
                names.add(node.name)
            elif isinstance(node, ast.Attribute | ast.Subscript):
                is_call = isinstance(node, ast.Attribute) and node.attr in CHANGING
                is_part = not isinstance(node.ctx, ast.Load)
                if isinstance(node.value, ast.Name) and (is_call or is_part):
                    names.add(node.value.id)
    return names


def _parameters_cells(ran: Sequence[str]) -> list[int]:
    """The places of the last runs of the parameters cell and of the injected cell, in order.

    The parameters cell is the one that is marked by `MARK`; in a copy that lacks the line, the one
    that assigns most parameters.
    """
    injected = [i for i, source in enumerate(ran) if source.startswith(INJECTED)]
    places = [i for i, source in enumerate(ran) if MARK.match(source)]
    if not places:
        every = {name for report in NOTEBOOKS.values() for name in report.options()}
        counts = [len(every.intersection(_assigned_expressions(source))) for source in ran]
        most = max((n for i, n in enumerate(counts) if i not in injected), default=0)
        places = [i for i, n in enumerate(counts) if n == most > 0 and i not in injected]
    return sorted([*places[-1:], *injected[-1:]])


def _known(names: Collection[str], marked: Sequence[str] = ()) -> list[str]:
    """The parameters of the report that the parameters cell is marked with, or else of the report
    that has most of these names; of several such reports all.
    """
    reports = [NOTEBOOKS[name].options() for name in marked if name in NOTEBOOKS]
    reports = reports or [report.options() for report in NOTEBOOKS.values()]
    most = max(len(options.keys() & names) for options in reports)
    closest = [options for options in reports if len(options.keys() & names) == most]
    return [*dict.fromkeys(name for options in closest for name in options)]


def _without_missing_inputs(named: Mapping[str, Any]) -> dict[str, Any]:
    """The values without inputs that are None."""
    every = [entry for report in NOTEBOOKS.values() for entry in report.options().values()]
    inputs = {entry.name for entry in every if entry.kind is DATA}
    return {name: value for name, value in named.items() if name not in inputs or value is not None}


def check() -> None:
    """Reject unknown parameters from inside a notebook; `values` calls it, and custom notebooks
    may.

    papermill only warns about an unknown parameter and uses the default. Here its injected cell is
    compared with the cells run before it: the parameters cell and, if an executed notebook is run
    again in JupyterLab, maybe others. Without an injected cell (JupyterLab, nbval, a script)
    nothing happens.
    """
    known: dict[str, ast.expr | None] = {}
    for source in _history():
        names = _assigned_expressions(source)
        if source.startswith(INJECTED):
            refuse_unknown(names, known)
        known |= names


def settings() -> str:
    """The settings file of this notebook's parameters, with its SHA-256; "" if there is none."""
    lines = [source.splitlines()[-1] for source in _history() if source.startswith(INJECTED)]
    return next((line.removeprefix(SETTINGS) for line in lines if line.startswith(SETTINGS)), "")


def _history() -> list[str]:
    """The sources of the cells that ran before, here or in the running kernel; empty outside
    both.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if RAN or shell is None:
        return RAN
    return [source for source in shell.user_ns.get("In", []) if source]


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
    """The source of the parameters cell of a report's notebook: first the parameters that matter
    most.
    """
    options = report.options()
    main = [options[name] for name in report.main]
    others = [entry for name, entry in options.items() if name not in report.main]
    heading = f"# Parameters of the {report.report_name()} report"  # see `MARK`
    lines = [f"{heading}: those that matter most, then all others. None: not set"]
    lines += [_line(entry) for entry in main]
    lines += ["", "# Further parameters, seldom needed"]
    return "\n".join([*lines, *(_line(entry) for entry in others)])


def _line(entry: Parameter) -> str:
    """The line of the parameters cell that assigns a parameter its default."""
    if entry.default is not None:
        return f"{entry.name} = {json.dumps(entry.default)}  # {entry.help}"
    accepted = "str" if entry.kind.is_text else entry.kind.accepts
    return f"{entry.name}: {accepted} = None  # {entry.help}"


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

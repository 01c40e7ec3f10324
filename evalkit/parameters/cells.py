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
from evalkit.parameters.reports import PARAMETERS_BY_NOTEBOOK, Parameters

# the first line of the cell that papermill injects after the parameters cell
INJECTED = "# Parameters\n"
# begins the last line of that cell, where parameters came from a file of settings
SETTINGS = "# settings: "
# begins the parameters cell of a bundled notebook, and names its report
MARK = re.compile(r"^# Parameters of the (\w+) report")
SOURCES: list[str] = []  # of the cells that this process has run, where no kernel does
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# the methods that change a list, a dict or a set
CHANGING = {
    "add",
    "append",
    "clear",
    "difference_update",
    "discard",
    "extend",
    "insert",
    "intersection_update",
    "pop",
    "popitem",
    "remove",
    "reverse",
    "setdefault",
    "sort",
    "symmetric_difference_update",
    "update",
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
    parameters = {}
    for node in ast.parse(source).body:
        parameter = _declaration(node, comments)
        if parameter is not None:
            parameters[parameter.name] = parameter
    return parameters


def _declaration(node: ast.stmt, comments: Mapping[int, str]) -> Parameter | None:
    """The parameter that a statement declares; None if it assigns nothing to a single name.
    comments: the text of each comment by its line.
    """
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
    types = set(re.findall(r"\w+", annotation)) - {"None", "Optional"}
    is_text = isinstance(default, str) or types == {"str"}
    kind = WRITTEN if is_text else VALUE
    help_line = comments.get(node.end_lineno or node.lineno, "")
    return Parameter(target.id, default, kind, help_line)


def _literal(node: ast.expr) -> object:
    """The value of an expression that states one; None for one that the cell computes, which leaves
    no default to show.
    """
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):  # TypeError: a key of a dict that is a list
        return None


def _comments(source: str) -> dict[int, str]:
    """The text of each comment by its line, from tokenize: a # inside a string does not start a
    comment.
    """
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, _ = token.start
            comments[line] = token.string.lstrip("# ")
    return comments


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
    sources = _earlier_sources()
    if not sources:  # a script, which has no cells
        names = _parameters_of_closest(variables.keys())
        return _without_missing_inputs({n: variables[n] for n in names if n in variables})
    own_names = own.replace(",", " ").split() if isinstance(own, str) else own
    assignments: dict[str, ParameterAssignment] = {}
    report_names: list[str] = []
    for i in _parameters_cells(sources):
        report_names += MARK.findall(sources[i])
        for name, expression in _assigned_expressions(sources[i]).items():
            if name not in own_names and not name.startswith("_"):
                assignments[name] = ParameterAssignment(name, expression, sources[i + 1 :])
    names = _parameters_of_closest(assignments, report_names)
    _refuse_unknown(assignments, names, own_names)
    return _without_missing_inputs({n: a.value(variables) for n, a in assignments.items()})


def _refuse_unknown(
    names: Collection[str], parameters: Collection[str], own_names: Sequence[str]
) -> None:
    """Raise ParameterError for names that are no parameters, with the call that leaves them out.

    own_names: what the call of `values` leaves out already.
    """
    unknown = [name for name in names if name not in parameters]
    verb = "is your own variable" if len(unknown) == 1 else "are your own variables"
    left_out = ",".join([*own_names, *unknown])
    call = f"parameters.values(own={left_out!r})"
    refuse_unknown(unknown, parameters, f"; if {', '.join(unknown)} {verb}, call {call}")


@dataclass(frozen=True)
class ParameterAssignment:
    """A name that a parameters cell assigned. expression: of its value; None if that cannot be read
    from the cell without running it. later: the sources of the cells that ran since.
    """

    name: str
    expression: ast.expr | None
    later: Sequence[str]

    def value(self, variables: Mapping[str, object]) -> object:
        """The value as the cell assigned it: as written, or if it was computed the variable.

        variables: those of the notebook, by name. Raises ParameterError if another cell has since
        assigned or changed a computed one.
        """
        try:
            return ast.literal_eval(self.expression or "")
        except (ValueError, TypeError, SyntaxError):
            pass  # it was computed
        is_replaced = any(self.name in _changed_names(source) for source in self.later)
        if is_replaced or self.name not in variables:
            raise ParameterError(
                f"{self.name}: its value is no longer the one that the parameters cell computed; "
                "run that cell again"
            )
        return variables[self.name]


def _body(source: str) -> list[ast.stmt]:
    """The statements of a cell without annotations; none if it is not Python."""
    try:
        return list(map(without_annotation, ast.parse(source).body))
    except SyntaxError:
        return []


def _assigned_expressions(source: str) -> dict[str, ast.expr | None]:
    """The names that a cell assigns, with the expression of each, such as that of `[1, 5]`.

    None where the expression does not tell the value when the cell has ended: for a loop's name, a
    name among several targets, and a list or a dict that a later statement reads, as it may change
    it.
    """
    assigned: dict[str, ast.expr | None] = {}
    for statement in _body(source):
        names_read = {node.id for node in ast.walk(statement) if _is_name(node, ast.Load)}
        expressions_read = [assigned.get(name) for name in names_read]
        changeable = list(filter(_is_changeable, expressions_read))
        for name, expression in assigned.items():
            if expression in changeable:
                assigned[name] = None
        assigned |= dict.fromkeys(_stored_names(statement))
        if isinstance(statement, ast.Assign):
            assigned |= dict.fromkeys(target_names(statement), statement.value)
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
    """True for a name that is read (ast.Load) or assigned (ast.Store)."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, context)


def _is_changeable(expression: ast.expr | None) -> bool:
    """True for a display of a list, a dict or a set, and for a tuple that has one."""
    if expression is None:
        return False
    return any(isinstance(node, ast.List | ast.Dict | ast.Set) for node in ast.walk(expression))


def _stored_names(node: ast.AST) -> Iterator[str]:
    """The names that a statement assigns in the notebook: those of a function, a class or a
    comprehension are its own.
    """
    if isinstance(node, DEFINITIONS | ast.Lambda):
        return
    if _is_name(node, ast.Store):
        yield node.id
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.comprehension):
        children = [node.iter, *node.ifs]
    for child in children:
        yield from _stored_names(child)


def _changed_names(source: str) -> set[str]:
    """The names that a cell assigns, defines, imports or changes in place."""
    names = set(_assigned_expressions(source))
    for statement in _body(source):
        for node in ast.walk(statement):
            name = _changed_name(node)
            if name is not None:
                names.add(name)
    return names


def _changed_name(node: ast.AST) -> str | None:
    """The name that a node imports, defines, or changes in place as `x.append(1)` and `x[0] = 1`
    do; None for other nodes.
    """
    if isinstance(node, ast.alias):
        return node.asname or node.name.split(".")[0]
    if isinstance(node, DEFINITIONS):
        return node.name
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name):
        is_method = isinstance(node, ast.Attribute) and node.attr in CHANGING
        is_assigned = not isinstance(node.ctx, ast.Load)
        if is_method or is_assigned:
            return node.value.id
    return None


def _parameters_cells(sources: Sequence[str]) -> list[int]:
    """The places, among the cells that ran, of the last runs of the parameters cell and of the
    injected cell, in order.

    The parameters cell is the one that is marked by `MARK`; in a copy that lacks the line, the one
    that assigns most parameters.
    """
    injected = [i for i, source in enumerate(sources) if source.startswith(INJECTED)]
    places = [i for i, source in enumerate(sources) if MARK.match(source)]
    if not places:
        counts = {}
        for i, source in enumerate(sources):
            if i not in injected:
                counts[i] = _count_of_parameters(source)
        largest = max(counts.values(), default=0)
        places = [i for i, count in counts.items() if count == largest > 0]
    return sorted(places[-1:] + injected[-1:])


def _count_of_parameters(source: str) -> int:
    """How many of the names that a cell assigns are parameters of a report."""
    parameters: set[str] = set()
    for report in PARAMETERS_BY_NOTEBOOK.values():
        parameters |= report.options().keys()
    return len(parameters.intersection(_assigned_expressions(source)))


def _parameters_of_closest(names: Collection[str], report_names: Sequence[str] = ()) -> list[str]:
    """The parameters of the report that has most of these names; of several such reports all.
    report_names: of the reports to choose from, as the parameters cell is marked; without a known
    one, all reports.
    """
    reports = [
        PARAMETERS_BY_NOTEBOOK[name] for name in report_names if name in PARAMETERS_BY_NOTEBOOK
    ]
    if not reports:
        reports = list(PARAMETERS_BY_NOTEBOOK.values())
    counts = [len(report.options().keys() & names) for report in reports]
    parameters: dict[str, None] = {}  # in order, each once
    for report, count in zip(reports, counts, strict=True):
        if count == max(counts):
            parameters |= dict.fromkeys(report.options())
    return list(parameters)


def _without_missing_inputs(named: Mapping[str, object]) -> dict[str, object]:
    """The values by name without inputs that are None."""
    inputs = set[str]()
    for report in PARAMETERS_BY_NOTEBOOK.values():
        for parameter in report.options().values():
            if parameter.kind is DATA:
                inputs.add(parameter.name)
    return {name: value for name, value in named.items() if name not in inputs or value is not None}


def check() -> None:
    """Reject unknown parameters from inside a notebook; `values` calls it, and custom notebooks
    may.

    papermill only warns about an unknown parameter and uses the default. Here its injected cell is
    compared with the cells run before it: the parameters cell and, if an executed notebook is run
    again in JupyterLab, maybe others. Without an injected cell (JupyterLab, nbval, a script)
    nothing happens.
    """
    earlier_names: dict[str, None] = {}  # in order
    for source in _earlier_sources():
        names = _assigned_expressions(source)
        if source.startswith(INJECTED):
            refuse_unknown(names, earlier_names)
        earlier_names |= dict.fromkeys(names)


def settings() -> str:
    """The settings file of this notebook's parameters, with its SHA-256; "" if there is none."""
    for source in _earlier_sources():
        if source.startswith(INJECTED):
            last_line = source.splitlines()[-1]
            if last_line.startswith(SETTINGS):
                return last_line.removeprefix(SETTINGS)
    return ""


def _earlier_sources() -> list[str]:
    """The sources of the cells that ran before, here or in the running kernel; empty outside
    both.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if SOURCES or shell is None:
        return SOURCES
    return [source for source in shell.user_ns.get("In", []) if source]


@contextmanager
def history() -> Iterator[list[str]]:
    """Yield the list to which the sources of the notebook's cells are added, if this process runs
    them.
    """
    try:
        yield SOURCES
    finally:
        SOURCES.clear()


# Given on the command line ------------------------------------------------------------------------


def typed(text: str, parameter: Parameter) -> object:
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
    """The parameters of a notebook, in order, as they are shown to a reader. title: its name."""

    title: str
    parameters: Collection[Parameter]

    def lines(self) -> str:
        """One line for each parameter: name = default, and the help. Long defaults do not widen the
        column of defaults; see `SHORT`.
        """
        widths = [0]
        for parameter in self.parameters:
            if len(repr(parameter.default)) < SHORT:
                widths.append(len(_assignment(parameter)))
        width = max(widths)
        lines = [f"{_assignment(entry):<{width}}  {entry.help}" for entry in self.parameters]
        return "\n".join(line.rstrip() for line in lines)

    def help(self) -> str:
        """Two lines for each parameter: name, default and valid values, then the help."""
        lines = []
        for parameter in self.parameters:
            words = parameter.kind.words
            in_brackets = f"  ({words})" if words else ""
            lines.append(f"  {_assignment(parameter)}{in_brackets}\n      {parameter.help}")
        return "\n".join(line.rstrip() for line in lines)

    def schema(self) -> str:
        """The JSON schema of an object with the parameters."""
        schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.title,
            "type": "object",
            "properties": {entry.name: _property(entry) for entry in self.parameters},
            "additionalProperties": False,
        }
        return json.dumps(schema, indent=2, ensure_ascii=False)

    def markdown(self) -> str:
        """A table in Markdown."""
        table = "| parameter | what a value is | default | meaning |\n|---|---|---|---|\n"
        for parameter in self.parameters:
            default = "" if parameter.default is None else f"`{parameter.default}`"
            cells = [f"`{parameter.name}`", parameter.kind.words, default, parameter.help]
            escaped = [cell.replace("|", "&#124;") for cell in cells]
            table += f"| {' | '.join(escaped)} |\n"
        return table


def source(report: type[Parameters]) -> str:
    """The source of the parameters cell of a report's notebook: first the parameters that matter
    most.
    """
    options = report.options()
    heading = f"# Parameters of the {report.report_name()} report"  # see `MARK`
    lines = [f"{heading}: those that matter most, then all others. None: not set"]
    lines += [_line(options[name]) for name in report.main]
    lines += ["", "# Further parameters, seldom needed"]
    lines += [_line(entry) for name, entry in options.items() if name not in report.main]
    return "\n".join(lines)


def _line(entry: Parameter) -> str:
    """The line of the parameters cell that assigns a parameter its default."""
    if entry.default is not None:
        return f"{entry.name} = {json.dumps(entry.default)}  # {entry.help}"
    accepted = "str" if entry.kind.is_text else entry.kind.argument_type
    return f"{entry.name}: {accepted} = None  # {entry.help}"


def _assignment(parameter: Parameter) -> str:
    """The assignment of the default to a parameter, in Python: `level = 0.95`."""
    return f"{parameter.name} = {parameter.default!r}"


def _property(parameter: Parameter) -> Schema:
    """The JSON schema of a parameter; null is valid too if None is the default."""
    schema = parameter.kind.schema
    if parameter.default is None and schema:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "description": parameter.help, "default": parameter.default}

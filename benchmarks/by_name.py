"""What the code knows by name and not by type: the places, each kind by itself."""

import ast
import re
from collections.abc import Iterator

from syntax import PACKAGE, Function, Module, parameters

ROWS_OF_METRICS = ("definitions", "catalogue")  # the folders that may know a metric by its name
IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
VAGUE = ("found", "one", "given", "told", "made", "shown", "held", "s")


def metric_names(package: list[Module]) -> set[str]:
    """The first argument of each row of the table of metrics."""
    return {
        text(node.args[0])
        for module in package
        if belongs(module, ROWS_OF_METRICS)
        for node in module.nodes
        if isinstance(node, ast.Call)
        and len(node.args) > 2
        and IDENTIFIER.fullmatch(text(node.args[0]))
    }


def belongs(module: Module, folders: tuple[str, ...]) -> bool:
    """True if the module stands in one of the folders of the package."""
    return module.path.relative_to(PACKAGE).parts[0] in folders


def text(node: ast.AST | None) -> str:
    """The text that a node writes down; empty if it writes down none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def texts(node: ast.AST) -> list[str]:
    """The texts in a collection that is written down, of a dict its keys."""
    if isinstance(node, ast.Call) and node.args and len(node.args) == 1:
        return texts(node.args[0])
    if isinstance(node, ast.BinOp):
        return texts(node.left) + texts(node.right)
    values = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return [text(value) for value in values if text(value)]


def tables_of_metrics(package: list[Module], metrics: set[str]) -> set[tuple[str, str]]:
    """The constants, each with its module, that hold names of metrics and little else, or are made
    of such names.
    """
    return {
        (module.dotted, name)
        for module in package
        for name, value in constants(module)
        if mostly(texts(value), metrics)
        or (belongs(module, ROWS_OF_METRICS) and is_set_of_names(value))
    }


def constants(module: Module) -> Iterator[tuple[str, ast.expr]]:
    """The names that a module assigns at its top, and what it assigns."""
    for node in module.tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (
                (target.id, node.value) for target in targets if isinstance(target, ast.Name)
            )


def mostly(values: list[str], metrics: set[str]) -> bool:
    """True if more than half of the values are metrics."""
    return sum(value in metrics for value in values) > len(values) / 2


def is_set_of_names(node: ast.expr) -> bool:
    """True of frozenset(metric.name for metric in …)."""
    source = ast.unparse(node)
    return source.startswith(("frozenset(", "set(", "{")) and ".name for" in source


def tests_on_metric_names(package: list[Module]) -> list[str]:
    """Comparisons with a metric's name and look-ups in a table of such names, outside the table of
    metrics.
    """
    metrics = metric_names(package)
    tables = tables_of_metrics(package, metrics)
    asks: list[str] = []
    for module in package:
        if not belongs(module, ROWS_OF_METRICS):
            seen = visible(module, tables)
            nodes = (
                n for n in module.nodes if any(names_metric(o, metrics, seen) for o in operands(n))
            )
            asks += map(module.place, nodes)
    return list(dict.fromkeys(asks))


def visible(module: Module, tables: set[tuple[str, str]]) -> set[str]:
    """The tables that a module has under their own names: its own and those it imports."""
    imported = {
        (node.module, alias.name)
        for node in module.nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return {name for home, name in tables if home == module.dotted or (home, name) in imported}


def operands(node: ast.AST) -> list[ast.AST]:
    """What a node compares or looks up in."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.MatchValue):
        return [node.value]
    if isinstance(node, ast.Subscript):
        return [node.value]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
    ):
        return [node.func.value]
    return []


def names_metric(node: ast.AST, metrics: set[str], tables: set[str]) -> bool:
    """True if an operand is a metric's name, a collection with one, or a table of them."""
    if isinstance(node, ast.Name):
        return node.id in tables
    return any(name in metrics for name in [text(node), *texts(node)])


def kinds_of_parts(package: list[Module]) -> list[str]:
    """Tests on the kind of a part, a text."""
    return [
        module.place(node)
        for module in package
        for node in module.nodes
        if isinstance(node, ast.Attribute)
        and node.attr == "kind"
        and ast.unparse(node.value).split(".")[-1] == "part"
    ]


def engines_without_protocol(package: list[Module]) -> list[str]:
    """Annotations with `Engine | Spark`."""
    return [
        module.place(node)
        for module in package
        for node in module.nodes
        if isinstance(node, ast.BinOp)
        and {"Engine", "Spark"} <= set(ast.unparse(node).split(" | "))
    ]


def own_classes_asked_for(package: list[Module]) -> list[str]:
    """isinstance with a class of the package or numpy's array: a result whose class decides what is
    done with it.

    A parameter annotated Any is what a user hands in, and no result; nor are cells of tables and
    values of parameters.
    """
    own = {
        node.name for module in package for node in module.nodes if isinstance(node, ast.ClassDef)
    }
    return [
        module.place(node)
        for module in package
        if not belongs(module, ("drawing", "parameters"))
        for node in asked_from_inside(module)
        if any(part in own | {"ndarray"} for part in re.findall(r"\w+", ast.unparse(node.args[1])))
    ]


def asked_from_inside(module: Module) -> Iterator[ast.Call]:
    """The calls of isinstance, without those on a parameter of the function around them that is
    annotated Any.
    """
    nodes = (node for node in module.nodes if isinstance(node, ast.Call))
    calls = [node for node in nodes if ast.unparse(node.func) == "isinstance"]
    outside = {
        id(call)
        for function in module.functions()
        for argument in function.args.args
        if argument.annotation is not None and ast.unparse(argument.annotation) == "Any"
        for call in calls
        if ast.unparse(call.args[0]) == argument.arg
        and function.lineno <= call.lineno <= (function.end_lineno or 0)
    }
    return (call for call in calls if id(call) not in outside)


def patched_constants(tests: list[Module]) -> list[str]:
    """Calls of setattr, and of setitem on the defaults of a function, that change a constant of a
    module.
    """
    return [
        module.place(node)
        for module in tests
        for node in module.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_patch(node)
    ]


def is_patch(call: ast.Call) -> bool:
    """True if the name that is set is one of a constant."""
    if ast.unparse(call.func).endswith(".setitem"):
        return "__kwdefaults__" in ast.unparse(call.args[0])
    names = [text(argument).split(".")[-1] for argument in call.args[:2]]
    return ast.unparse(call.func).endswith(".setattr") and any(
        re.fullmatch("[A-Z][A-Z0-9_]*", n) for n in names
    )


def vague_functions(package: list[Module]) -> list[str]:
    """Functions with a local variable or a parameter whose name does not say what it holds."""
    return [
        module.place(f, f"{f.name}: {', '.join(names)}")
        for module in package
        for f in module.functions()
        if (names := vague_names(f))
    ]


def vague_names(f: Function) -> list[str]:
    """The names that a function binds itself, not those of the functions inside it."""
    names = (node for node in own_nodes(f) if isinstance(node, ast.Name))
    bound = {*parameters(f), *(name.id for name in names if isinstance(name.ctx, ast.Store))}
    return [name for name in VAGUE if name in bound]


def own_nodes(f: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions inside it."""
    for node in ast.iter_child_nodes(f):
        if not isinstance(node, Function):
            yield node
            yield from own_nodes(node)


def counted(package: list[Module], tests: list[Module]) -> Iterator[tuple[str, object, list[str]]]:
    """Each kind: what it is, how many places, and which."""
    for what, places in {
        f"tests on a metric's name outside {' and '.join(ROWS_OF_METRICS)}": tests_on_metric_names(
            package
        ),
        "part.kind": kinds_of_parts(package),
        "Engine | Spark": engines_without_protocol(package),
        "isinstance on results": own_classes_asked_for(package),
        "constants that tests patch": patched_constants(tests),
        f"functions with locals called {', '.join(VAGUE)}": vague_functions(package),
    }.items():
        yield what, len(places), places

"""The figures of the code: how large the package is, how long its functions are, what it knows by name, not by type.

    .venv/bin/python benchmarks/figures.py           # the table
    .venv/bin/python benchmarks/figures.py --places  # and under each count the places that it counts

Read from the syntax tree alone, so nothing of the package is imported. It bounds nothing: the reader judges.
"""

import argparse
import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TESTS = ROOT / "evalkit", ROOT / "tests"
ROWS_OF_METRICS = ("definitions", "catalogue")  # the folders that may know a metric by its name
VAGUE = ("found", "one", "given", "told", "made", "shown", "held", "s")
MANY_PARAMETERS, LONGEST, LONG_MODULE = 8, 5, 300
NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file: its text and its tree."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @property
    def dotted(self) -> str:
        """The name that an import uses."""
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts)

    @cached_property
    def code(self) -> set[int]:
        """The lines that hold code: no comment, no docstring, not blank."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        lines = {n for t in tokens if t.type not in NO_CODE for n in range(t.start[0], t.end[0] + 1)}
        return lines - {n for text in self.docstrings() for n in range(text.lineno, (text.end_lineno or 0) + 1)}

    def docstrings(self) -> Iterator[ast.Expr]:
        """The texts that stand alone as a statement."""
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield node

    def functions(self) -> Iterator[Function]:
        """Every function, also methods and those inside others."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def place(self, node: ast.AST, what: str = "") -> str:
        """Where a node stands, and its text or `what`."""
        line = getattr(node, "lineno", 1)
        return f"{self.path.relative_to(ROOT)}:{line} {what or self.text.splitlines()[line - 1].strip()}"


def modules(folder: Path) -> list[Module]:
    """The Python files under a folder."""
    return [Module(path, path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))]


# Size and shape of functions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A function: where it stands, its code lines with the signature, its complexity and number of parameters."""

    place: str
    lines: int
    complexity: int
    parameters: int


def shapes(package: list[Module]) -> list[Shape]:
    """Every function of the package; what stands inside another one counts for both."""
    return [
        Shape(module.place(f, f.name), code_lines(module, f), complexity(f), len(parameters(f)))
        for module in package
        for f in module.functions()
    ]


def code_lines(module: Module, f: Function) -> int:
    """Lines of code from `def` to the end."""
    return len(module.code & set(range(f.lineno, (f.end_lineno or f.lineno) + 1)))


def complexity(f: Function) -> int:
    """McCabe's count of ways: 1, and 1 a condition, loop, handler, case, `and`, `or`, and loop of a comprehension."""
    return 1 + sum(map(branches, ast.walk(f)))


def branches(node: ast.AST) -> int:
    """What one node adds."""
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    kinds = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
    return int(isinstance(node, kinds))


def parameters(f: Function) -> list[str]:
    """The names of the parameters without self and cls."""
    names = [a.arg for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs, f.args.vararg, f.args.kwarg) if a]
    return [name for name in names if name not in ("self", "cls")]


def mirrors(package: list[Module]) -> list[set[str]]:
    """The fields of each class of the reports' parameters, those of its bases included."""
    classes = {
        node.name: node
        for module in package
        if module.path.relative_to(PACKAGE).parts[0].startswith("parameters")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }
    return [fields(node, classes) for node in classes.values()]


def fields(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """The annotated names of a class and of its bases."""
    own = {row.target.id for row in node.body if isinstance(row, ast.AnnAssign) and isinstance(row.target, ast.Name)}
    bases = [classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
    return own.union(*(fields(base, classes) for base in bases))


def many_parameters(package: list[Module]) -> list[str]:
    """Functions with more than 8 parameters, and whether they are those of a class of parameters."""
    allowed = mirrors(package)
    return [
        module.place(f, f"{f.name}: {len(names)}, {'mirrors' if mirrored(names, allowed) else 'does not mirror'}")
        for module in package
        for f in module.functions()
        if len(names := parameters(f)) > MANY_PARAMETERS
    ]


def mirrored(names: list[str], allowed: list[set[str]]) -> bool:
    """True if each name is a field of one and the same class."""
    return any(set(names) <= fields for fields in allowed)


# What is known by name and not by type ------------------------------------------------------------------------


def metric_names(package: list[Module]) -> set[str]:
    """The first argument of each row of the table of metrics."""
    return {
        node.args[0].value
        for module in package
        if belongs(module, ROWS_OF_METRICS)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and len(node.args) > 2 and is_text(node.args[0]) and is_identifier(node.args[0])
    }


def belongs(module: Module, folders: tuple[str, ...]) -> bool:
    """True if the module stands in one of the folders of the package."""
    return module.path.relative_to(PACKAGE).parts[0] in folders


def is_text(node: ast.AST) -> bool:
    """True of a text that is written down."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_identifier(node: ast.Constant) -> bool:
    """True of a text such as hit_rate."""
    return re.fullmatch(r"[a-z][a-z0-9_]*", node.value) is not None


def texts(node: ast.AST) -> list[str]:
    """The texts in a collection that is written down, of a dict its keys."""
    if isinstance(node, ast.Call) and node.args and len(node.args) == 1:
        return texts(node.args[0])
    if isinstance(node, ast.BinOp):
        return texts(node.left) + texts(node.right)
    values = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return [value.value for value in values if value is not None and is_text(value)]


def tables_of_metrics(package: list[Module], metrics: set[str]) -> set[tuple[str, str]]:
    """The constants, each with its module, that hold names of metrics and little else, or are made of such names."""
    return {
        (module.dotted, name)
        for module in package
        for name, value in constants(module)
        if mostly(texts(value), metrics) or (belongs(module, ROWS_OF_METRICS) and is_set_of_names(value))
    }


def constants(module: Module) -> Iterator[tuple[str, ast.expr]]:
    """The names that a module assigns at its top, and what it assigns."""
    for node in module.tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((target.id, node.value) for target in targets if isinstance(target, ast.Name))


def mostly(values: list[str], metrics: set[str]) -> bool:
    """True if more than half of the values are metrics."""
    return sum(value in metrics for value in values) > len(values) / 2


def is_set_of_names(node: ast.expr) -> bool:
    """True of frozenset(metric.name for metric in …)."""
    text = ast.unparse(node)
    return text.startswith(("frozenset(", "set(", "{")) and ".name for" in text


def tests_on_metric_names(package: list[Module]) -> list[str]:
    """Comparisons with a metric's name and look-ups in a table of such names, outside the table of metrics."""
    metrics = metric_names(package)
    tables = tables_of_metrics(package, metrics)
    asks: list[str] = []
    for module in package:
        if not belongs(module, ROWS_OF_METRICS):
            seen = visible(module, tables)
            nodes = (n for n in ast.walk(module.tree) if any(names_metric(o, metrics, seen) for o in operands(n)))
            asks += map(module.place, nodes)
    return list(dict.fromkeys(asks))


def visible(module: Module, tables: set[tuple[str, str]]) -> set[str]:
    """The tables that a module has under their own names: its own and those it imports."""
    imported = {
        (node.module, alias.name)
        for node in ast.walk(module.tree)
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
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return [node.func.value]
    return []


def names_metric(node: ast.AST, metrics: set[str], tables: set[str]) -> bool:
    """True if an operand is a metric's name, a collection with one, or a table of them."""
    if is_text(node):
        return node.value in metrics
    if isinstance(node, ast.Name):
        return node.id in tables
    return any(text in metrics for text in texts(node))


def kinds_of_parts(package: list[Module]) -> list[str]:
    """Tests on the kind of a part, a text."""
    return [
        module.place(node)
        for module in package
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "kind" and ast.unparse(node.value).split(".")[-1] == "part"
    ]


def engines_without_protocol(package: list[Module]) -> list[str]:
    """Annotations with `Engine | Spark`."""
    return [
        module.place(node)
        for module in package
        for node in ast.walk(module.tree)
        if isinstance(node, ast.BinOp) and {"Engine", "Spark"} <= set(ast.unparse(node).split(" | "))
    ]


def own_classes_asked_for(package: list[Module]) -> list[str]:
    """isinstance with a class of the package or numpy's array: a result whose class decides what is done with it.

    A parameter annotated Any is what a user hands in, and no result; nor are cells of tables and values of parameters.
    """
    own = {node.name for module in package for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)}
    return [
        module.place(node)
        for module in package
        if not belongs(module, ("drawing", "parameters"))
        for node in asked_from_inside(module)
        if any(part in own | {"ndarray"} for part in re.findall(r"\w+", ast.unparse(node.args[1])))
    ]


def asked_from_inside(module: Module) -> Iterator[ast.Call]:
    """The calls of isinstance, without those on a parameter of the function around them that is annotated Any."""
    nodes = (node for node in ast.walk(module.tree) if isinstance(node, ast.Call))
    calls = [node for node in nodes if ast.unparse(node.func) == "isinstance"]
    outside = {
        id(call)
        for function in module.functions()
        for argument in function.args.args
        if argument.annotation is not None and ast.unparse(argument.annotation) == "Any"
        for call in calls
        if ast.unparse(call.args[0]) == argument.arg and function.lineno <= call.lineno <= (function.end_lineno or 0)
    }
    return (call for call in calls if id(call) not in outside)


def patched_constants(tests: list[Module]) -> list[str]:
    """Calls of setattr, and of setitem on the defaults of a function, that change a constant of a module."""
    return [
        module.place(node)
        for module in tests
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_patch(node)
    ]


def is_patch(call: ast.Call) -> bool:
    """True if the name that is set is one of a constant."""
    if ast.unparse(call.func).endswith(".setitem"):
        return "__kwdefaults__" in ast.unparse(call.args[0])
    names = [a.value.split(".")[-1] for a in call.args[:2] if is_text(a)]
    return ast.unparse(call.func).endswith(".setattr") and any(re.fullmatch("[A-Z][A-Z0-9_]*", n) for n in names)


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
    bound = set(parameters(f)) | {node.id for node in own_nodes(f) if is_binding(node)}
    return [name for name in VAGUE if name in bound]


def is_binding(node: ast.AST) -> bool:
    """True of a name that is set, also by a loop, `with` or a comprehension."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def own_nodes(f: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions inside it."""
    for node in ast.iter_child_nodes(f):
        if not isinstance(node, Function):
            yield node
            yield from own_nodes(node)


# The table ----------------------------------------------------------------------------------------------------


def percentile(values: list[int], share: float) -> int:
    """The smallest value that at least this share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def most(rows: list[Shape], figure: Callable[[Shape], int]) -> list[str]:
    """The places of the largest, largest first."""
    return [f"{figure(row)}  {row.place}" for row in sorted(rows, key=figure, reverse=True)[:LONGEST]]


def size(package: list[Module], tests: list[Module]) -> Iterator[tuple[str, object, list[str]]]:
    """How large the package is: (what, figure, places)."""
    lengths = {module.path.relative_to(ROOT): len(module.text.splitlines()) for module in package}
    longest = sorted(lengths, key=lambda path: lengths[path], reverse=True)
    long = [f"{lengths[path]}  {path}" for path in longest if lengths[path] > LONG_MODULE]
    yield "lines of the package", f"{sum(lengths.values()):,}", []
    yield "  of code, without comments and docstrings", f"{sum(len(module.code) for module in package):,}", []
    yield "modules", len(package), []
    yield "  longest module, lines", lengths[longest[0]], long[:1]
    yield f"  modules above {LONG_MODULE} lines", len(long), long
    yield "lines of tests", f"{sum(len(module.text.splitlines()) for module in tests):,}", []


def functions(package: list[Module]) -> Iterator[tuple[str, object, list[str]]]:
    """How long and how branched the functions are."""
    rows = shapes(package)
    lines = [row.lines for row in rows]
    yield "functions", f"{len(rows):,}", []
    yield "  code lines, median", percentile(lines, 0.5), []
    yield "  code lines, p90", percentile(lines, 0.9), []
    yield "  code lines, most", max(lines), most(rows, lambda row: row.lines)
    yield "  complexity, p90", percentile([row.complexity for row in rows], 0.9), []
    yield "  complexity, most", max(row.complexity for row in rows), most(rows, lambda row: row.complexity)
    many = many_parameters(package)
    yield f"  with more than {MANY_PARAMETERS} parameters", len(many), many
    yield "    that mirror no class of parameters", sum("not mirror" in place for place in many), []


def by_name(package: list[Module], tests: list[Module]) -> Iterator[tuple[str, object, list[str]]]:
    """What is known by name and not by type."""
    for what, places in {
        f"tests on a metric's name outside {' and '.join(ROWS_OF_METRICS)}": tests_on_metric_names(package),
        "part.kind": kinds_of_parts(package),
        "Engine | Spark": engines_without_protocol(package),
        "isinstance on results": own_classes_asked_for(package),
        "constants that tests patch": patched_constants(tests),
        f"functions with locals called {', '.join(VAGUE)}": vague_functions(package),
    }.items():
        yield what, len(places), places


def main(arguments: list[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Print the figures of the package's code.")
    parser.add_argument("--places", action="store_true", help="name every place that is counted")
    places = parser.parse_args(arguments).places
    package, tests = modules(PACKAGE), modules(TESTS)
    for what, figure, counted in [*size(package, tests), *functions(package), *by_name(package, tests)]:
        print(f"{what:<78}{figure:>8}")
        ranked = what.endswith((", most", ", lines", "parameters"))
        for place in counted if places or ranked else []:
            print(f"      {place}")


if __name__ == "__main__":
    main()

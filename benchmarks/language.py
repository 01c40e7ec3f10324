"""How the code reads: figures of names, statements and types, and rules that a linter keeps.

    .venv/bin/python benchmarks/language.py                 # the figures, with their goals
    .venv/bin/python benchmarks/language.py --places stars  # where a figure comes from, most first
    .venv/bin/python benchmarks/language.py --check         # what breaks a rule; exits with 1

A figure is no aim: a name that is changed only to leave a list is no better. Read from the syntax
tree alone, so nothing of the package is imported.
"""

import argparse
import ast
import io
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from syntax import NO_CODE, PACKAGE, Function, Module, modules

STATEMENTS = (
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Return,
    ast.Expr,
    ast.Raise,
    ast.Assert,
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
NESTING = (
    ast.Call,
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Lambda,
    ast.Subscript,
    *COMPREHENSIONS,
)
DEEP = 5
# Words for which a reader must look up what they stand for
WORDS_WITHOUT_NOUN = """
    of at by own every each some more most other others several part side said told asked given
    found made held kept shown moved off apart whole one two both either then there here these
    those such alike beside between within known used taken drawn put left about it its them all
    any few many much same different
"""
NO_NOUNS = frozenset(WORDS_WITHOUT_NOUN.split())


# What is counted, place by place ------------------------------------------------------------------


def tuple_work(module: Module) -> Iterator[ast.AST]:
    """Assignments of several expressions, not all plain names or constants, to several names."""
    for node in module.nodes:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and not all(
                isinstance(element, ast.Name | ast.Constant | ast.Attribute)
                for element in node.value.elts
            )
        ):
            yield node


def conditionals_inside(module: Module) -> Iterator[ast.AST]:
    """`a if condition else b` that is neither assigned nor returned as it is."""
    parents = module.parents
    for node in module.nodes:
        is_alone = isinstance(parents.get(node), ast.Assign | ast.AnnAssign | ast.Return)
        if isinstance(node, ast.IfExp) and not is_alone:
            yield node


def conditional_arguments(module: Module) -> Iterator[ast.AST]:
    """`a if condition else b` inside another expression, unless it is the element of a
    comprehension, which stands alone there.
    """
    for node in conditionals_inside(module):
        around = module.parents.get(node)
        is_element = isinstance(around, COMPREHENSIONS) and node in (
            getattr(around, "elt", None),
            getattr(around, "value", None),
        )
        if not is_element:
            yield node


def nested_comprehensions(module: Module) -> Iterator[ast.AST]:
    """Comprehensions with two loops, or inside another comprehension."""
    for node in module.nodes:
        if not isinstance(node, COMPREHENSIONS):
            continue
        around = module.parents.get(node)
        while around is not None and not isinstance(around, (ast.stmt, *COMPREHENSIONS)):
            around = module.parents.get(around)
        if len(node.generators) > 1 or isinstance(around, COMPREHENSIONS):
            yield node


def stars(module: Module) -> Iterator[ast.AST]:
    """`*values` in calls, displays and assignments."""
    return (node for node in module.nodes if isinstance(node, ast.Starred))


def deep_statements(module: Module) -> Iterator[ast.AST]:
    """Statements in which calls, operators and comprehensions stand five deep in each other."""
    return (node for node in statements(module) if depth(node) >= DEEP)


def names_without_noun(module: Module) -> Iterator[ast.AST]:
    """Parameters and locals that are named by no noun."""
    return (node for node, name in names(module) if name.strip("_") in NO_NOUNS)


def functions_without_noun(module: Module) -> Iterator[ast.AST]:
    """Functions that are named by neither a noun nor a verb."""
    return (f for f in module.functions() if f.name.strip("_") in NO_NOUNS)


def annotations_any(module: Module) -> Iterator[ast.AST]:
    """Parameters, returned values and fields whose annotation says `Any`."""
    for node in module.nodes:
        if isinstance(node, ast.arg | ast.AnnAssign) and says_any(node.annotation):
            yield node
        if isinstance(node, Function) and says_any(node.returns):
            yield node


def says_any(annotation: ast.AST | None) -> bool:
    """Whether `Any` stands anywhere in an annotation."""
    if annotation is None:
        return False
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(annotation))


def statements(module: Module) -> Iterator[ast.AST]:
    """Assignments, returned values, calls, raised errors and assertions; no docstrings."""
    docstrings = {id(text) for text in module.docstrings()}
    for node in module.nodes:
        if isinstance(node, STATEMENTS) and id(node) not in docstrings:
            yield node


def depth(node: ast.AST) -> int:
    """How deep calls, operators, comprehensions and conditionals stand in each other."""
    inner = max((depth(child) for child in ast.iter_child_nodes(node)), default=0)
    return inner + isinstance(node, NESTING)


def names(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Each parameter, and each assignment to a local, with its name."""
    for node in module.nodes:
        if isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            yield node, node.arg
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node, node.id


def tokens(module: Module) -> int:
    """Python's tokens, without comments, docstrings and white space."""
    lines_of_docstrings = {
        line
        for text in module.docstrings()
        for line in range(text.lineno, (text.end_lineno or text.lineno) + 1)
    }
    all_tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    return sum(t.type not in NO_CODE and t.start[0] not in lines_of_docstrings for t in all_tokens)


def modules_imported(module: Module) -> set[str]:
    """The modules of the package that a module imports, each name that it takes of a folder being
    a module of its own.
    """
    imported = set()
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE.name:
            source = PACKAGE.parent.joinpath(*(node.module or "").split("."))
            for alias in node.names:
                submodule = source / f"{alias.name}.py"
                imported.add(str(submodule if submodule.exists() else source))
    return imported


# The table ----------------------------------------------------------------------------------------


class Figure(NamedTuple):
    """A figure of the package: what is counted, of how much, and what is aimed at."""

    name: str
    places: Callable[[Module], Iterator[ast.AST]]
    per: str
    goal: float


FIGURES = [
    Figure("statements of depth 5 and more", deep_statements, "% of statements", 1.5),
    Figure("tuple assignments that do work", tuple_work, "a 10,000 tokens", 2),
    Figure("conditionals inside an expression", conditionals_inside, "a 10,000 tokens", 5),
    Figure("comprehensions in comprehensions", nested_comprehensions, "a 10,000 tokens", 1.5),
    Figure("stars", stars, "a 10,000 tokens", 8),
    Figure("names that are no nouns", names_without_noun, "% of names", 1),
    Figure("functions named by no noun or verb", functions_without_noun, "", 5),
    Figure("Any in an annotation", annotations_any, "a 100 functions", 5),
]


def print_table(package: list[Module]) -> None:
    """Prints each figure with its goal."""
    n_tokens = sum(tokens(module) for module in package)
    depths = [depth(node) for module in package for node in statements(module)]
    units = {
        "% of statements": len(depths) / 100,
        "% of names": sum(len(list(names(module))) for module in package) / 100,
        "a 10,000 tokens": n_tokens / 10_000,
        "a 100 functions": sum(len(list(module.functions())) for module in package) / 100,
        "": 1.0,
    }
    imports = sum(len(modules_imported(module)) for module in package) / len(package)
    print(f"{'tokens':56}{n_tokens:>10,}")
    print(f"{'depth of an expression, mean':56}{sum(depths) / len(depths):>10.2f}  at most 1.35")
    for figure in FIGURES:
        count = sum(1 for module in package for _ in figure.places(module))
        value = count / units[figure.per]
        label = ", ".join(filter(None, [figure.name, figure.per]))
        print(f"{label:56}{value:>10.1f}  at most {figure.goal:g}")
    print(f"{'class names used twice or more':56}{len(repeated_classes(package)):>10}  at most 0")
    print(f"{'modules that a module imports, mean':56}{imports:>10.1f}  at most 6")


def print_places(package: list[Module], figure: Figure) -> None:
    """Prints where a figure comes from, the modules with the most places first."""
    by_module = [(module, list(figure.places(module))) for module in package]
    for module, nodes in sorted(by_module, key=lambda pair: -len(pair[1])):
        for node in nodes:
            print(module.place(node))


# The rules that the linter keeps ------------------------------------------------------------------

EXCEPTION = "# language: "  # on the line of an exception, with its reason


@dataclass(frozen=True)
class Rule:
    """What must not stand in the code, and what to write instead."""

    name: str
    places: Callable[[Module], Iterator[ast.AST]]
    remedy: str


RULES = [
    Rule(
        "an assignment to several names computes something",
        tuple_work,
        "write a statement for each name",
    ),
    Rule(
        "a conditional stands inside another expression",
        conditional_arguments,
        "give its value a name in a statement before, or write `if`",
    ),
]


def repeated_classes(package: list[Module]) -> dict[str, list[str]]:
    """The places of the classes of each name that stands more than once."""
    places: dict[str, list[str]] = {}
    for module in package:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module.place(node))
    return {name: found for name, found in places.items() if len(found) > 1}


def broken_rules(package: list[Module]) -> Iterator[str]:
    """Each place that breaks a rule, with the remedy."""
    for module in package:
        lines = module.text.splitlines()
        for rule in RULES:
            for node in rule.places(module):
                if EXCEPTION not in lines[getattr(node, "lineno", 1) - 1]:
                    yield f"{module.place(node)}\n    {rule.name}: {rule.remedy}"
    for name, places in repeated_classes(package).items():
        listed = "\n".join(places)
        yield f"{listed}\n    the class name {name} stands more than once: give each its own"


def main() -> int:
    """Prints the table, the places of a figure, or what breaks a rule."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    by_name = {figure.name: figure for figure in FIGURES}
    parser.add_argument("--places", choices=by_name, metavar="FIGURE")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    package = modules(PACKAGE)
    if arguments.check:
        messages = list(broken_rules(package))
        print("\n".join(messages), end="\n" if messages else "")
        return int(bool(messages))
    if arguments.places:
        print_places(package, by_name[arguments.places])
    else:
        print_table(package)
    return 0


if __name__ == "__main__":
    sys.exit(main())

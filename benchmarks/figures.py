"""The figures of the code: how large the package is, how long its functions are, what it knows by
name, not by type.

    .venv/bin/python benchmarks/figures.py           # the table
    .venv/bin/python benchmarks/figures.py --places  # and under each count the places that it
    counts

Read from the syntax tree alone, so nothing of the package is imported. It bounds nothing: the
reader judges.
"""

import argparse
import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import by_name
from syntax import PACKAGE, ROOT, TESTS, Function, Module, modules, parameters

MANY_PARAMETERS, LONGEST, LONG_MODULE = 8, 5, 300


# Size and shape of functions ----------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A function: where it stands, its code lines with the signature, its complexity and number of
    parameters.
    """

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
    """McCabe's count of ways: 1, and 1 a condition, loop, handler, case, `and`, `or`, and loop of a
    comprehension.
    """
    return 1 + sum(map(branches, ast.walk(f)))


def branches(node: ast.AST) -> int:
    """What one node adds."""
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    kinds = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
    return int(isinstance(node, kinds))


def mirrors(package: list[Module]) -> list[set[str]]:
    """The fields of each class of the reports' parameters, those of its bases included."""
    classes = {
        node.name: node
        for module in package
        if module.path.relative_to(PACKAGE).parts[0].startswith("parameters")
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    }
    return [fields(node, classes) for node in classes.values()]


def fields(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """The annotated names of a class and of its bases."""
    own = {
        row.target.id
        for row in node.body
        if isinstance(row, ast.AnnAssign) and isinstance(row.target, ast.Name)
    }
    bases = [
        classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes
    ]
    return own.union(*(fields(base, classes) for base in bases))


def many_parameters(package: list[Module]) -> list[str]:
    """Functions with more than 8 parameters, and whether they are those of a class of
    parameters.
    """
    allowed = mirrors(package)
    return [
        module.place(
            f,
            f"{f.name}: {len(names)}, "
            f"{'mirrors' if mirrored(names, allowed) else 'does not mirror'}",
        )
        for module in package
        for f in module.functions()
        if len(names := parameters(f)) > MANY_PARAMETERS
    ]


def mirrored(names: list[str], allowed: list[set[str]]) -> bool:
    """True if each name is a field of one and the same class."""
    return any(set(names) <= fields for fields in allowed)


# The table ----------------------------------------------------------------------------------------


def percentile(values: list[int], share: float) -> int:
    """The smallest value that at least this share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def most(rows: list[Shape], figure: Callable[[Shape], int]) -> list[str]:
    """The places of the largest, largest first."""
    return [
        f"{figure(row)}  {row.place}" for row in sorted(rows, key=figure, reverse=True)[:LONGEST]
    ]


def size(package: list[Module], tests: list[Module]) -> Iterator[tuple[str, object, list[str]]]:
    """How large the package is: (what, figure, places)."""
    lengths = {module.path.relative_to(ROOT): len(module.text.splitlines()) for module in package}
    longest = sorted(lengths, key=lambda path: lengths[path], reverse=True)
    long = [f"{lengths[path]}  {path}" for path in longest if lengths[path] > LONG_MODULE]
    yield "lines of the package", f"{sum(lengths.values()):,}", []
    yield (
        "  of code, without comments and docstrings",
        f"{sum(len(module.code) for module in package):,}",
        [],
    )
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
    yield (
        "  complexity, most",
        max(row.complexity for row in rows),
        most(rows, lambda row: row.complexity),
    )
    many = many_parameters(package)
    yield f"  with more than {MANY_PARAMETERS} parameters", len(many), many
    yield "    that mirror no class of parameters", sum("not mirror" in place for place in many), []


def main(arguments: list[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Print the figures of the package's code.")
    parser.add_argument("--places", action="store_true", help="name every place that is counted")
    places = parser.parse_args(arguments).places
    package = modules(PACKAGE)
    tests = modules(TESTS)
    for what, figure, counted in [
        *size(package, tests),
        *functions(package),
        *by_name.counted(package, tests),
    ]:
        print(f"{what:<78}{figure:>8}")
        ranked = what.endswith((", most", ", lines", "parameters"))
        for place in counted if places or ranked else []:
            print(f"      {place}")


if __name__ == "__main__":
    main()

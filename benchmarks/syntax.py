"""The package's files and their syntax trees, from which the figures of the code are read."""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "evalkit"
TESTS = ROOT / "tests"
NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
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

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree: to walk a tree takes longer than to look at them."""
        return list(ast.walk(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @property
    def dotted(self) -> str:
        """The name that an import uses."""
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts)

    @cached_property
    def code(self) -> set[int]:
        """The lines that hold code: no comment, no docstring, not blank."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        lines = {
            n for t in tokens if t.type not in NO_CODE for n in range(t.start[0], t.end[0] + 1)
        }
        return lines - {
            n for text in self.docstrings() for n in range(text.lineno, (text.end_lineno or 0) + 1)
        }

    def docstrings(self) -> Iterator[ast.Expr]:
        """The texts that stand alone as a statement."""
        for node in self.nodes:
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield node

    def functions(self) -> Iterator[Function]:
        """Every function, also methods and those inside others."""
        return (node for node in self.nodes if isinstance(node, Function))

    def place(self, node: ast.AST, what: str = "") -> str:
        """Where a node stands, and its text or `what`."""
        line = getattr(node, "lineno", 1)
        return (
            f"{self.path.relative_to(ROOT)}:{line} "
            f"{what or self.text.splitlines()[line - 1].strip()}"
        )


def modules(folder: Path) -> list[Module]:
    """The Python files under a folder."""
    return [Module(path, path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))]


def parameters(f: Function) -> list[str]:
    """The names of the parameters without self and cls."""
    names = [
        a.arg
        for a in (
            *f.args.posonlyargs,
            *f.args.args,
            *f.args.kwonlyargs,
            f.args.vararg,
            f.args.kwarg,
        )
        if a
    ]
    return [name for name in names if name not in ("self", "cls")]

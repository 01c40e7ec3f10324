"""Prints the tests that a change of a module should run first, for `make test-of MODULE=NAME`.

    python tests/of_module.py metrics.counts

These are the doctests of the module, the files named after it or after the report of its page, and
the files that import it, those first which import the fewest other modules: they are about little
else. At most six files, most of which take seconds. `make test` runs all.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "evalkit"
MOST_FILES = 6


def module_path(name: str) -> Path:
    """The file of a module, from its path or a name, with or without `evalkit.` in front."""
    parts = Path(name).with_suffix("").parts if "/" in name else name.split(".")
    parts = parts[1:] if parts[0] == PACKAGE else parts
    path = ROOT.joinpath(PACKAGE, *parts)
    candidates = [path.with_suffix(".py"), path / "__init__.py"]
    found = [candidate for candidate in candidates if candidate.exists()]
    if not found:
        sys.exit(f"no module {name}: expected {candidates[0].relative_to(ROOT)}")
    return found[0]


def imported_modules(path: Path) -> set[str]:
    """The modules of the package that a test file imports, by their full names."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            imported.add(node.module or "")
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}
    return imported


def paths_to_test(path: Path) -> list[Path]:
    """The module itself, for its doctests, and the test files, in the order described above."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    files = sorted((ROOT / "tests").glob("test_*.py"))
    imports = {file: imported_modules(file) for file in files}
    subject = path.stem.removesuffix("_page")
    names = {f"test_{path.stem}", f"test_{subject}", f"test_{subject}_study"}
    named_after = [file for file in files if file.stem in names]
    importing = [file for file in files if name in imports[file] and file not in named_after]
    importing.sort(key=lambda file: len(imports[file]))
    return [path, *(named_after + importing)[:MOST_FILES]]


if __name__ == "__main__":
    for test in paths_to_test(module_path(sys.argv[1])):
        print(test.relative_to(ROOT))

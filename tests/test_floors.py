"""The architecture, read from the imports: each module stands on lower floors, and starting costs
nothing.
"""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "evalkit"
MODULES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.name != "__init__.py" or path.parent.name == "page"
)

FLOORS = {
    0: "arrays caching displays findings limits machine names numbers parameters",
    1: "metrics report page running",
    2: "catalogue",
    3: "statistics",
    4: "measured reading",
    5: "offline online",
    6: "drawing",
    7: "studies",
    8: "pages",
    9: "commands __main__",
}
FLOOR = {name: floor for floor, names in FLOORS.items() for name in names.split()}
BROUGHT_BY_DECLARED_PACKAGES = {
    "PIL",
    "IPython",
    "joblib",
    "jupyter_client",
    "nbformat",
    "threadpoolctl",
    "traitlets",
}  # by packages that are declared
NEEDED_BY_SOME_INPUTS_ALONE = {"openpyxl"}  # whose absence is a message
HEAVY = ("duckdb", "matplotlib", "pandas", "papermill", "pyarrow", "scipy", "sklearn")


def name_of(path: Path) -> str:
    """The part of the path that has a floor: the module, or the folder of studies and of the
    page.
    """
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Every node of a file, which is parsed once."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(path: Path) -> set[str]:
    """The evalkit modules that a file imports, at the top or inside a function."""
    found = set()
    for node in nodes_of(path):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == "evalkit"
        ):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {
                alias.name.split(".")[1]
                for alias in node.names
                if alias.name.startswith("evalkit.")
            }
    return found - {"__version__", "__all__"}


def imported_modules(path: Path) -> set[str]:
    """The modules that a file imports by their whole names, at the top or inside a function."""
    nodes = nodes_of(path)
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {
        node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module
    }


def test_every_module_has_a_floor():
    assert not {name_of(path) for path in MODULES} - set(FLOOR)


def test_a_module_imports_only_from_its_floor_or_below():
    of = {
        path: {name for name in imported(path) if FLOOR[name] > FLOOR[name_of(path)]}
        for path in MODULES
    }
    assert not {str(path.relative_to(PACKAGE)): names for path, names in of.items() if names}


# the floors inside reading/
READING = {0: "tables", 1: "engines matching", 2: "inputs", 3: "reductions"}
INSIDE = {name: floor for floor, names in READING.items() for name in names.split()}
READERS = sorted((PACKAGE / "reading").glob("*/*.py"))


def imported_of_reading(path: Path) -> set[str]:
    """The folders of reading/ that a file imports, at the top or inside a function."""
    nodes = [node for node in nodes_of(path) if isinstance(node, ast.ImportFrom)]
    names = [f"{node.module}.{alias.name}".split(".") for node in nodes for alias in node.names]
    return {parts[2] for parts in names if parts[:2] == ["evalkit", "reading"]}


def test_every_folder_of_reading_has_a_floor():
    assert {path.parent.name for path in READERS} == set(INSIDE)
    assert not [path for path in (PACKAGE / "reading").glob("*.py") if path.name != "__init__.py"]


def test_a_reader_imports_only_from_its_own_folder_or_from_below():
    for path in READERS:
        others = imported_of_reading(path) - {path.parent.name}
        assert all(INSIDE[other] < INSIDE[path.parent.name] for other in others), (
            f"{path} imports {sorted(others)}"
        )


def test_no_module_imports_itself_by_way_of_others():
    """The graph of imports between the parts of evalkit has no circle. From each part, all paths of
    imports are followed; a part that is met again on the same path closes a circle.
    """
    graph = {name_of(path): set() for path in MODULES}
    for path in MODULES:
        graph[name_of(path)] |= imported(path) - {name_of(path)}
    without_circle: set[str] = set()

    def visit(name: str, importers: tuple[str, ...]) -> None:
        assert name not in importers, f"circle: {' -> '.join([*importers, name])}"
        if name not in without_circle:
            for other in sorted(graph[name]):
                visit(other, (*importers, name))
            without_circle.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_every_package_that_is_imported_is_declared():
    """A package that evalkit imports must be declared in pyproject.toml, as a dependency or in the
    extra spark: one that is not would be missing only where nothing else has installed it. Packages
    that a declared one always brings, and openpyxl, whose absence is a message, need not be.
    """
    pyproject = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    requirements = (*project["dependencies"], *project["optional-dependencies"]["spark"])
    declared = {re.split(r"[>=]", line)[0].replace("-", "_") for line in requirements}
    declared |= {"sklearn", "yaml"}  # scikit-learn and PyYAML, by the names they are imported by
    used = {name.split(".")[0] for path in MODULES for name in imported_modules(path)}
    used -= {"evalkit", *sys.stdlib_module_names}
    assert not used - declared - BROUGHT_BY_DECLARED_PACKAGES - NEEDED_BY_SOME_INPUTS_ALONE


def test_import_loads_nothing_heavy():
    code = "import evalkit, sys; print(sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not [name for name in HEAVY if f"'{name}'" in loaded]


def test_every_public_name_is_there():
    import evalkit

    assert all(getattr(evalkit, name) is not None for name in evalkit.__all__)


def calls(path, name):
    nodes = (
        node
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    return [node for node in nodes if node.func.id == name]


def argument(call, name):
    """The source of a keyword argument of a call."""
    (value,) = (keyword.value for keyword in call.keywords if keyword.arg == name)
    return ast.unparse(value)


def test_a_comparison_with_a_p_value_is_made_by_significance_alone():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path != PACKAGE / "statistics" / "significance.py":
            for call in calls(path, "Comparison"):
                assert argument(call, "p_value") == "np.nan", path


def test_no_study_calls_a_test_of_scipy_itself():
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name in ("studies", "pages"):
            imports = [node for node in nodes_of(path) if isinstance(node, ast.ImportFrom)]
            imported = {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
            assert not [name for name in imported if name.startswith("scipy.stats")], path

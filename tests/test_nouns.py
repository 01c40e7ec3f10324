"""The nouns of CONTRIBUTING name one thing each, where reports are drawn, written and asked for.

Run as a script it prints every parameter and field of these names with its types and places.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "evalkit"
FOLDERS = {
    *("commands", "drawing", "findings", "numbers", "page", "pages", "parameters", "report"),
    *("running", "machine"),
}
NOUNS = (
    *("artist", "ax", "axes", "caption", "estimate", "finding", "frame", "notebook", "results"),
    "system",
)
OTHER_CLASSES = {"Artist", "Axes", "NotebookNode"}  # those that other packages define


class Name(NamedTuple):
    """A parameter or a field: its type as annotated, without `| None`, and where it stands."""

    noun: str
    type: str
    place: str


def sources() -> Iterator[Path]:
    """The modules of the folders."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in FOLDERS:
            yield path


def annotated(path: Path) -> Iterator[Name]:
    """Every annotated parameter and field of a module that a noun names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.arg):
            name, annotation = node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, annotation = node.target.id, node.annotation
        else:
            continue
        if name in NOUNS and annotation is not None:
            text = ast.unparse(annotation).strip("'\"").removesuffix(" | None")
            yield Name(name, text, f"{path.relative_to(PACKAGE)}:{node.lineno}")


def places_by_type() -> dict[str, dict[str, list[str]]]:
    """By noun and type the places that have them."""
    places: dict[str, dict[str, list[str]]] = {noun: defaultdict(list) for noun in NOUNS}
    for path in sources():
        for name in annotated(path):
            places[name.noun][name.type].append(name.place)
    return places


def classes() -> set[str]:
    """The names of classes, those of the package and those of others that it annotates."""
    names = set(OTHER_CLASSES)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                names.add(node.name)
    return names


PLACES = places_by_type()
CLASSES = classes()


@pytest.mark.parametrize("noun", NOUNS)
def test_a_noun_has_at_most_two_types(noun):
    assert 1 <= len(PLACES[noun]) <= 2, dict(PLACES[noun])


@pytest.mark.parametrize("noun", NOUNS)
def test_a_noun_has_no_two_classes(noun):
    assert len(CLASSES.intersection(PLACES[noun])) <= 1, dict(PLACES[noun])


if __name__ == "__main__":
    for noun, types in PLACES.items():
        for type_, places in types.items():
            print(f"{noun}: {type_}  {len(places)}  {', '.join(places[:3])}")

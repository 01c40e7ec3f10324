"""The JSON schema of reports, made from the results that are frozen: `text()` is that of
evalkit/schema.json.

Names and types are those of the frozen results; schema.toml has the words, and what results cannot
show: which objects have names of the data, and all values of a text.
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from frozen import freeze

from evalkit.findings import kinds

HAND: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("results_schema.toml").read_text(encoding="utf-8")
)
WORDS = HAND["words"]
VALUES = HAND["values"] | {"findings[].code": [kind.code for kind in kinds.all_kinds()]}
MAPS = set(HAND["maps"])
PATTERNS = HAND["patterns"]
EXAMPLES = HAND["examples"]
TYPES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    dict: "object",
}
WIDEST = 100  # characters of a part on one line
USED: set[str] = set()  # paths whose words were found
ENCODED = {frozenset(("words", "at")): "texts", frozenset(("type", "zlib")): "numbers"}


def text() -> str:
    """The schema as it is written."""
    return _written(schema(), "\n") + "\n"


def _written(value: Any, indent: str) -> str:
    """JSON whose parts have a line each, nested by one space, unless they fit into the line."""
    flat = json.dumps(value, ensure_ascii=False)
    below = indent + " "
    plain = isinstance(value, list) and not any(isinstance(part, dict | list) for part in value)
    if len(flat) < WIDEST or plain or not isinstance(value, dict | list):
        return flat
    if isinstance(value, list):
        return (
            f"[{below}" + f",{below}".join(_written(part, below) for part in value) + f"{indent}]"
        )
    parts = (f"{json.dumps(key)}: {_written(part, below)}" for key, part in value.items())
    return f"{{{below}" + f",{below}".join(parts) + f"{indent}}}"


def schema() -> dict[str, Any]:
    """The whole schema: what every report has, and by report the rest."""
    by_report: dict[str, list[Any]] = {}
    for results in freeze.load(freeze.FOLDERS[False]).values():
        if "error" not in results:
            inputs = [{**source, "sha256": ""} for source in results["inputs"]]
            whole = results | {
                "inputs": inputs,
                "versions": {"evalkit": ""},
            }  # with what frozen results leave out
            by_report.setdefault(results["report"], []).append(whole)
    shared = set.intersection(*(set(one) for several in by_report.values() for one in several))
    every = [
        {name: one[name] for name in one if name in shared}
        for several in by_report.values()
        for one in several
    ]
    definitions = {
        report: described(several, report, shared) for report, several in sorted(by_report.items())
    }
    either = [
        {"if": {"properties": {"report": {"const": name}}}, "then": _ref(name)}
        for name in definitions
    ]
    return (
        HAND["head"]
        | described(every, "")
        | {"allOf": either, "$defs": HAND["definitions"] | definitions}
    )


def described(
    values: Sequence[Any], path: str, beside: Sequence[str] | set[str] = ()
) -> dict[str, Any]:
    """The schema of the values that were seen at a path. beside: names that are described
    elsewhere.
    """
    found = next((key for key in _names(path) if key in WORDS), None)
    about = {"description": WORDS[found]} if found is not None else {}
    USED.add(found or "")
    given = next((VALUES[key] for key in _names(path) if key in VALUES), None)
    objects, lists = (
        [value for value in values if isinstance(value, kind)] for kind in (dict, list)
    )
    encoded = {ENCODED.get(frozenset(value)) for value in objects} - {None}
    if given:
        return about | {"enum": given}
    if "texts" in encoded:
        return about | _ref("verdicts" if path.endswith("verdict") else "texts")
    numeric = [
        _types(value) for value in lists if value and _types(value) <= {"integer", "number", "null"}
    ]
    if encoded or (numeric and len(numeric) == sum(map(bool, lists)) and not path.endswith("]")):
        return about | _ref(
            "wholes" if not encoded and set().union(*numeric) == {"integer"} else "numbers"
        )
    types = _types([value for value in values if not isinstance(value, list)]) | (
        {"array"} if lists else set()
    )
    node: dict[str, Any] = {"type": sorted(types) if len(types) > 1 else next(iter(types), "null")}
    if pattern := next((PATTERNS[key] for key in _names(path) if key in PATTERNS), None):
        node["pattern"] = pattern
    if lists:
        node["items"] = (
            described([item for value in lists for item in value], f"{path}[]")
            if any(lists)
            else {}
        )
    return about | node | (_object(objects, path, beside) if objects else {})


def _object(
    objects: Sequence[dict[str, Any]], path: str, beside: Sequence[str] | set[str]
) -> dict[str, Any]:
    """The members of objects: each by its name, or all alike where names are those of the data."""
    if path in HAND["free"]:
        return {}
    if any(key in MAPS for key in _names(path)):
        values = [value for one in objects for value in one.values()]
        return {
            "additionalProperties": described([*values, *_examples(path).values()], f"{path}.*")
        }
    filled = [value for value in objects if value]
    names = [
        name
        for name in dict.fromkeys(name for value in filled for name in value)
        if name not in beside
    ]
    members = {name: [value[name] for value in filled if name in value] for name in names}
    required = [
        name
        for name in names
        if len(members[name]) == len(filled) and not _optional(f"{path}.{name}")
    ]
    needed = {"required": required} if required else {}
    if required and (len(filled) < len(objects) or path.endswith(tuple(HAND["empty"]))):
        needed = {"anyOf": [{"maxProperties": 0}, needed]}
    for name, example in _examples(path).items():
        members.setdefault(name, []).append(example)
    below = {
        name: described(values, f"{path}.{name}" if path else name)
        for name, values in members.items()
    }
    return {"properties": below} | needed


def _optional(path: str) -> bool:
    return any(key in HAND["optional"] for key in _names(path))


def _examples(path: str) -> dict[str, Any]:
    """The values by name that are given by hand for members of the object at a path."""
    parts = {key: key.rpartition(".") for key in EXAMPLES}
    return {
        leaf: EXAMPLES[key] for key, (parent, _, leaf) in parts.items() if parent in _names(path)
    }


def _names(path: str) -> Iterator[str]:
    """A path, and its ends without the report and its parts: what is said of one of these holds for
    it.
    """
    parts = path.split(".")
    yield from (".".join(parts[start:]) for start in range(len(parts)))


def _types(values: Sequence[Any]) -> set[str]:
    """The types of values; numbers that are measured can be undefined, and so null."""
    types = {TYPES.get(type(value), "array") for value in values}
    return (types - {"integer"}) | {"null"} if "number" in types else types


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}

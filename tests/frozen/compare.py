"""Compare two trees of results: numbers to 1e-12, everything else exactly; records are paired by
what they are of.
"""

import base64
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 1e-12  # of a difference relative to max(1, |old|)
ABSENT = "(absent)"
KINDS = NUMBER, WORDS, RECORD, ORDER = ("number", "words", "record", "order")

# Where bootstrap draws tie with the estimate, the last bit of a sum decides their side: another
# processor moves these.
BY_PROCESSOR = re.compile(r"calibration\[.*uncertainty\]\.(low|high)|other_tests\[.*\]\.bootstrap")


@dataclass(frozen=True)
class Difference:
    """One place where two trees of results differ. kind: number, words, record (added or gone) or
    order.
    """

    path: str
    kind: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.path}: {shorten(self.old)} -> {shorten(self.new)}"

    @property
    def place(self) -> str:
        """The path without the names of records, so that the same column of many records is one
        place.
        """
        return re.sub(r"\[.*?\](?=[.\[]|$)", "[]", self.path)

    @property
    def by_processor(self) -> bool:
        """True where the number is the same on one machine only."""
        return BY_PROCESSOR.fullmatch(self.path) is not None

    @property
    def size(self) -> float:
        """The difference of two numbers relative to max(1, |old|), else NaN."""
        both = is_number(self.old) and is_number(self.new)
        return abs(self.new - self.old) / max(1.0, abs(self.old)) if both else float("nan")


def is_number(value: Any) -> bool:
    """True for an integer or a float; truth values are words."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def numbers(tree: Any) -> int:
    """How many numbers a tree holds; an undefined one (null) counts."""
    if is_packed(tree):
        return len(unpacked(tree))
    if isinstance(tree, Mapping):
        return sum(map(numbers, tree.values()))
    if isinstance(tree, list):
        return sum(map(numbers, tree))
    return int(tree is None or is_number(tree))


def differences(old: Any, new: Any, path: str = "") -> Iterator[Difference]:
    """Every place where `new` differs from `old`.

    A list of records is paired by the records' names (system, metric, pair, ...), a mapping of
    equally long columns is read as such a list, any other list is compared by position. Packed
    numbers are the list of these numbers.

    >>> [str(d) for d in differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.5]})]
    ['a[1]: 2.0 -> 2.5']
    >>> list(differences(1.0, 1.0 + 1e-13))
    []
    """
    yield from _differences(unpacked(old), unpacked(new), path)


def _differences(old: Any, new: Any, path: str) -> Iterator[Difference]:
    if isinstance(old, Mapping | list) and repr(old) == repr(new):
        return  # most parts are equal to the last bit, which is soon told
    old, new = (records(tree) if is_columns(tree) else tree for tree in (old, new))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _mappings(old, new, path)
    elif is_records(old) and is_records(new):
        yield from _records(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _lists(old, new, path)
    elif not same(old, new):
        yield Difference(path, _kind(old, new), old, new)


def same(old: Any, new: Any) -> bool:
    """True if two values are equal: floats to the tolerance, integers, words and undefined values
    exactly.
    """
    if isinstance(old, float) and isinstance(new, float):
        return abs(new - old) <= TOLERANCE * max(1.0, abs(old))
    return bool(old == new) and is_number(old) == is_number(new)


def _kind(old: Any, new: Any) -> str:
    if ABSENT in (old, new) or isinstance(old, list | Mapping) or isinstance(new, list | Mapping):
        return RECORD
    return NUMBER if is_number(old) or is_number(new) else WORDS


def _mappings(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Difference]:
    for name in [*old, *(name for name in new if name not in old)]:
        yield from _differences(
            old.get(name, ABSENT), new.get(name, ABSENT), f"{path}.{name}" if path else name
        )


def _lists(old: Sequence[Any], new: Sequence[Any], path: str) -> Iterator[Difference]:
    for i in range(max(len(old), len(new))):
        pair = (values[i] if i < len(values) else ABSENT for values in (old, new))
        yield from _differences(*pair, f"{path}[{i}]")


def _records(old: list[dict], new: list[dict], path: str) -> Iterator[Difference]:
    fields = naming(old)
    before = named(old, fields)
    after = named(new, fields)
    yield from (
        d
        for name in before
        for d in _differences(before[name], after.get(name, ABSENT), f"{path}[{name}]")
    )
    yield from (
        Difference(f"{path}[{name}]", RECORD, ABSENT, after[name])
        for name in after
        if name not in before
    )
    orders = [
        [name for name in one if name in other] for one, other in ((before, after), (after, before))
    ]
    if orders[0] != orders[1]:
        yield Difference(path, ORDER, *(", ".join(order) for order in orders))


# Packed numbers -----------------------------------------------------------------------------------


def is_packed(tree: Any) -> bool:
    """True for numbers as a report packs them where they are many: their type, and their bytes."""
    return isinstance(tree, Mapping) and set(tree) == {"type", "zlib"}


def unpacked(tree: Any) -> Any:
    """The tree with a list in the place of packed numbers, null in that of NaN."""
    if is_packed(tree):
        values = np.frombuffer(zlib.decompress(base64.b64decode(tree["zlib"])), tree["type"])
        return [None if value != value else value for value in values.tolist()]
    if isinstance(tree, Mapping):
        return {name: unpacked(value) for name, value in tree.items()}
    return list(map(unpacked, tree)) if isinstance(tree, list) else tree


# Records ------------------------------------------------------------------------------------------


def is_records(tree: Any) -> bool:
    """True for a list of mappings, also an empty one."""
    return isinstance(tree, list) and all(isinstance(row, Mapping) for row in tree)


def is_columns(tree: Any) -> bool:
    """True for a mapping of two or more equally long, not empty lists of single values.

    Where one is coded, as words and the place of each row's, others may be a value that all rows
    share.
    """
    if not isinstance(tree, Mapping) or len(tree) < 2:
        return False
    coded = any(map(is_coded, tree.values()))
    columns = [column["at"] if is_coded(column) else column for column in tree.values()]
    lists = [column for column in columns if isinstance(column, list)]
    lengths = {len(column) for column in lists}
    single = not any(isinstance(value, list | dict) for column in lists for value in column)
    whole = len(lists) == len(tree) or (
        coded and not any(isinstance(column, Mapping) for column in columns)
    )
    return len(lengths) == 1 and lengths != {0} and single and whole


def is_coded(column: Any) -> bool:
    """True for a column of texts as words and the place of each row's."""
    return isinstance(column, Mapping) and set(column) == {"words", "at"}


def records(columns: Mapping[str, Any]) -> list[dict]:
    """Columns as a list of records.

    >>> records({"first": {"words": ["b", "a"], "at": [1, 0]}, "p": [0.5, 1.0], "unit": "row"})
    [{'first': 'a', 'p': 0.5, 'unit': 'row'}, {'first': 'b', 'p': 1.0, 'unit': 'row'}]
    """
    lists = {name: plain(column) for name, column in columns.items()}
    length = max(len(column) for column in lists.values() if isinstance(column, list))
    lists = {
        name: column if isinstance(column, list) else [column] * length
        for name, column in lists.items()
    }
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def plain(column: Any) -> Any:
    """A column with its words in their places."""
    return [column["words"][place] for place in column["at"]] if is_coded(column) else column


def naming(rows: list[dict]) -> list[str]:
    """The first fields that tell the records apart: texts before whole numbers, and never numbers
    with a fraction.

    >>> naming([{"metric": "f1", "system": "a", "n": 9}, {"metric": "f1", "system": "b", "n": 9}])
    ['system']
    """
    shared = [field for field in (rows[0] if rows else ()) if all(field in row for row in rows)]
    texts = [field for field in shared if all(isinstance(row[field], str | None) for row in rows)]
    wholes = [field for field in shared if all(isinstance(row[field], int) for row in rows)]
    fields: list[str] = []
    for field in texts + wholes:
        if _distinct(rows, [*fields, field]) > _distinct(rows, fields):
            fields.append(field)
        if _distinct(rows, fields) == len(rows):
            break
    return fields


def _distinct(rows: list[dict], fields: list[str]) -> int:
    return len({tuple(row[field] for field in fields) for row in rows})


def named(rows: list[dict], fields: list[str]) -> dict[str, dict]:
    """The records by name; where several share one, the second is called 'name #2'."""
    by_name: dict[str, dict] = {}
    count: dict[str, int] = {}
    for row in rows:
        name = ", ".join(str(row.get(field)) for field in fields)
        count[name] = count.get(name, 0) + 1
        by_name[name if count[name] == 1 else f"{name} #{count[name]}".strip()] = row
    return by_name


# Words --------------------------------------------------------------------------------------------


def shorten(value: Any, most: int = 110) -> str:
    """The value as text of at most so many characters."""
    text = value if value == ABSENT else repr(value)
    return text if len(text) <= most else f"{text[:most]}…"


def summary(found: Mapping[str, list[Difference]]) -> list[str]:
    """One line for each place that changed, over all cases: how many values, how much, and one
    example.
    """
    places: dict[tuple[str, str], list[tuple[str, Difference]]] = {}
    for case, changes in found.items():
        for change in changes:
            places.setdefault((change.place, change.kind), []).append((case, change))
    return [_line(place, kind, changes) for (place, kind), changes in sorted(places.items())]


def _line(place: str, kind: str, changes: list[tuple[str, Difference]]) -> str:
    sizes = [change.size for _, change in changes if change.size == change.size]
    largest = f", largest {max(sizes):.2g}" if sizes else ""
    case, example = changes[0]
    cases = len({case for case, _ in changes})
    return f"{place}: {len(changes)} {kind} in {cases} cases{largest}; {case}: {example}"

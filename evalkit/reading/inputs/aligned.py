"""The same rows under every system: long tables joined on the id, wide ones as they stand, every row accounted for.

What binary, multi-class, multi-label and rating tables have in common. A `Layout` says which columns of a part hold
what all systems share (label, weight, attributes) and what is each system's own (score, forecast, probabilities).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, InputError, Ints, ParameterError
from evalkit.reading.inputs import pairing
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import folders, precision, sources
from evalkit.reading.tables.parts import Part, Source, at
from evalkit.reading.tables.precision import Precision

NONE = "(none)"  # the value of an attribute that is empty
SYSTEM = "system"  # the name of a single system that no column or file names


@dataclass(frozen=True)
class Layout:
    """The columns of one part by role. own: for each system of a wide table, or under None, role -> column of numbers.

    words: each system's own text, role -> column, in long tables only. within: roles of text within which an id stands
    once; an id may have a row in each of several folds.
    """

    text: Mapping[str, str]
    numbers: Mapping[str, str]
    own: Mapping[str | None, Mapping[str, str]]
    words: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    system: str | None = None
    within: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Aligned:
    """Rows that every system has, in the order of their ids, or of the file where there is no id.

    text, numbers: what the systems share, by role. own: system -> role -> doubles. words: system -> role -> text.
    place: the row's file and number, for errors. read: rows read; alone: rows left out because another system lacks
    their id. precision: system -> role -> what its own numbers were stored in.
    """

    systems: tuple[str, ...]
    id: np.ndarray
    text: Mapping[str, np.ndarray]
    numbers: Mapping[str, Floats]
    own: Mapping[str, Mapping[str, Floats]]
    words: Mapping[str, Mapping[str, np.ndarray]]
    place: Callable[[int], str]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    read: int
    alone: int
    precision: Mapping[str, Mapping[str, Precision]]

    def __len__(self) -> int:
        return len(self.id)


def read(data: Any, layout: Callable[[Part], Layout], systems: Sequence[str] = ()) -> Aligned:
    """Every part of `data` by its layout, the systems' rows joined.

    Raises InputError, naming file, column, row and value, for empty or non-finite values, an id that a system has
    twice, several systems without an id, and shared values that differ between systems.
    """
    blocks = [_block(part, layout(part)) for part in sources.parts(data)]
    same_systems([(one.part, one.layout) for one in blocks])
    return _wide(blocks, systems) if None not in blocks[0].layout.own else _long(blocks, systems)


def own_place(rows: Aligned) -> Callable[[int], str]:
    """The place of a system's own value: file and id if rows were joined by id, else file and row."""
    if "id" not in rows.columns:
        return rows.place
    return lambda row: f"{rows.sources[0].name}, id {rows.id[row]!r}"


def same_systems(parts: Sequence[tuple[Part, Layout]]) -> None:
    """Raise InputError if the parts' columns name different systems, or if one part has a role that another lacks."""
    if len({tuple(sorted(map(str, layout.own))) for _, layout in parts}) > 1:
        raise InputError(f"{parts[0][0].name} and {parts[-1][0].name} must name the same systems in their columns")
    (first, layout), *others = parts
    for part, other in others:
        a, b = _columns_by_role(layout), _columns_by_role(other)
        lacking = [f"{part.name} has no column like {a[role]!r} of {first.name}" for role in a if role not in b]
        lacking += [f"{first.name} has no column like {b[role]!r} of {part.name}" for role in b if role not in a]
        if lacking:
            raise InputError(f"{first.name} and {part.name} must have the same columns: {'; '.join(lacking[:5])}")


def _columns_by_role(layout: Layout) -> dict[str, str]:
    text, numbers = wanted(layout)
    return text | numbers


def wide_columns(names: Iterable[str], prefix: str, systems: Sequence[str], where: str) -> dict[str, str]:
    """System -> column of a wide table: those that `systems` names, else those that begin with `prefix`.

    >>> wide_columns(["id", "score_a", "score_b"], "score_", [], "x.csv")
    {'a': 'score_a', 'b': 'score_b'}
    """
    names = list(names)
    if systems and all(name in names for name in systems):
        return {name: name for name in systems}
    found = {name.removeprefix(prefix): name for name in names if name.startswith(prefix) and name != prefix}
    unknown = [name for name in systems if found and name not in found]
    if unknown:
        raise ParameterError(f"systems: {where} has no system {unknown[0]!r}, it has {', '.join(found)}")
    return {name: found[name] for name in systems} if systems and found else found


# Reading one part -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Block:
    part: Part
    layout: Layout
    table: Mapping[str, Any]
    rows: int


def wanted(layout: Layout) -> tuple[dict[str, str], dict[str, str]]:
    """The columns of text and of numbers, by the role that they have while they are read."""
    text = {f"text {role}": column for role, column in {**layout.text, **layout.words}.items()}
    text |= {"id": layout.id} if layout.id else {}
    text |= {"system": layout.system} if layout.system else {}
    numbers = {f"number {role}": column for role, column in layout.numbers.items()}
    numbers |= {f"own {system}\n{role}": column for system, own in layout.own.items() for role, column in own.items()}
    return text, numbers


def empty(part: Part, column: str, row: int) -> InputError:
    """The error for a text that is missing; row 0 is one without a number."""
    return InputError(f"{part.name}: {column} must not be empty, got nothing{at(row)}")


def not_finite(part: Part, column: str, row: int, value: float | None) -> InputError:
    """The error for a number that is missing or not finite; row 0 is one without a number."""
    got = "nothing" if value is None else value
    return InputError(f"{part.name}: {column} must be a finite number, got {got}{at(row)}")


def _block(part: Part, layout: Layout) -> _Block:
    text, numbers = wanted(layout)
    table = part.load(text, numbers)
    rows = len(next(iter(table.values())))
    if rows == 0:
        raise part.no_rows()
    checked = {role: _texts(table[role], column, part, role) for role, column in text.items()}
    return _Block(part, layout, checked | {k: _finite(table[k], column, part) for k, column in numbers.items()}, rows)


def _texts(column: Any, name: str, part: Part, role: str) -> Any:
    """Arrow text; empty only in attributes, where it is a value of its own."""
    if not column.null_count:
        return column
    if role.startswith("text attribute "):
        return column.fill_null(NONE)
    row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]) + 1
    raise empty(part, name, row)


def _finite(column: Any, name: str, part: Part) -> Floats:
    import pyarrow.compute as pc

    null = column.is_null().to_numpy(zero_copy_only=False)
    values = pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(null | ~np.isfinite(values))
    if wrong.size:
        raise not_finite(part, name, int(wrong[0]) + 1, None if null[wrong[0]] else values[wrong[0]])
    return values + 0.0  # −0.0 and 0.0 are one number


# Joining the systems --------------------------------------------------------------------------------------------


def _wide(blocks: list[_Block], systems: Sequence[str]) -> Aligned:
    """One row a unit already: the systems are columns."""
    layout, name_of = blocks[0].layout, _place(blocks)
    names = tuple(str(name) for name in layout.own)
    rows = sum(one.rows for one in blocks)
    id = _strings(blocks, "id") if layout.id else np.arange(1, rows + 1).astype(str).astype(object)
    order = np.arange(rows)
    if layout.id:
        order = np.argsort(id, kind="stable")
        again = np.flatnonzero(id[order][1:] == id[order][:-1])
        if again.size:
            row = int(order[again[0] + 1])
            raise pairing.twice(name_of(row), id[row])
    own = {name: {role: _doubles(blocks, f"own {name}\n{role}")[order] for role in layout.own[name]} for name in names}
    return Aligned(
        systems=names,
        id=id[order],
        text={role: _strings(blocks, f"text {role}")[order] for role in layout.text},
        numbers={role: _doubles(blocks, f"number {role}")[order] for role in layout.numbers},
        own=own,
        words={name: {} for name in names},
        place=lambda row: name_of(int(order[row])),
        columns=printed(layout),
        sources=tuple(one.part.fingerprint(one.rows) for one in blocks),
        read=rows,
        alone=0,
        precision={name: _precision(blocks, name) for name in names},
    )


def _long(blocks: list[_Block], systems: Sequence[str]) -> Aligned:
    """One row a unit and system: the rows of the systems are joined on the id."""
    layout, name_of = blocks[0].layout, _place(blocks)
    names, code = _systems(blocks)
    kept = kept_systems(names, systems, layout, blocks[0].part)
    rows = [np.flatnonzero(code == i) for i in kept]
    id = _strings(blocks, "id") if layout.id else np.arange(1, len(code) + 1).astype(str).astype(object)
    if layout.id:
        parts = [_strings(blocks, f"text {role}") for role in layout.within]
        rows = pairing.joined(rows, id, parts, [names[i] for i in kept], name_of)
        if not len(rows[0]):
            raise pairing.nothing_shared([names[i] for i in kept])
    first = rows[0]
    text = {role: _strings(blocks, f"text {role}") for role in layout.text}
    numbers = {role: _doubles(blocks, f"number {role}") for role in layout.numbers}
    for role, values in {**text, **numbers}.items():
        pairing.agree({**layout.text, **layout.numbers}[role], values, rows, id, name_of)
    own = {role: _doubles(blocks, f"own None\n{role}") for role in layout.own[None]}
    words = {role: _strings(blocks, f"text {role}") for role in layout.words}
    return Aligned(
        systems=tuple(names[i] for i in kept),
        id=id[first],
        text={role: values[first] for role, values in text.items()},
        numbers={role: values[first] for role, values in numbers.items()},
        own={names[i]: {role: v[at] for role, v in own.items()} for i, at in zip(kept, rows, strict=True)},
        words={names[i]: {role: v[at] for role, v in words.items()} for i, at in zip(kept, rows, strict=True)},
        place=lambda row: name_of(int(first[row])),
        columns=printed(layout),
        sources=tuple(one.part.fingerprint(one.rows) for one in blocks),
        read=len(code),
        alone=int(np.isin(code, kept).sum()) - len(first) * len(kept),
        precision={names[i]: _precision(_with_rows(blocks, code == i), None) for i in kept},
    )


def _precision(blocks: Sequence[_Block], system: str | None) -> dict[str, Precision]:
    """The precision of each role of a system's own numbers: the widest of all parts."""
    columns = [(one.part, one.layout.own[system]) for one in blocks]
    return {role: precision.widest(precision.of(part, own[role]) for part, own in columns) for role in columns[0][1]}


def _with_rows(blocks: Sequence[_Block], member: Bools) -> list[_Block]:
    """The blocks that hold at least one of the rows."""
    start = np.cumsum([0, *(one.rows for one in blocks)])
    return [one for one, a, b in zip(blocks, start, start[1:], strict=False) if member[a:b].any()]


def _systems(blocks: list[_Block]) -> tuple[list[str], Ints]:
    """The systems' names in order and each row's system: a column, or for several files without one their names."""
    if blocks[0].layout.system:
        names, code = np.unique(_strings(blocks, "system"), return_inverse=True)
        return [str(name) for name in names], code
    stems = [stem(one.part) if len(blocks) > 1 else SYSTEM for one in blocks]
    names, code = np.unique(np.array(stems, dtype=object), return_inverse=True)
    return [str(name) for name in names], np.repeat(code, [one.rows for one in blocks])


def stem(part: Part) -> str:
    return part.name if part.unnamed else folders.table(part.path).name.split(".")[0]


def kept_systems(names: Sequence[str], systems: Sequence[str], layout: Layout, part: Part) -> list[int]:
    """The numbers of the systems that are wanted; raises where one is not there or nothing pairs their rows."""
    unknown = [name for name in systems if name not in names]
    if unknown:
        raise ParameterError(f"systems: there is no system {unknown[0]!r}, the input has {', '.join(names)}")
    kept = [i for i, name in enumerate(names) if not systems or name in systems]
    if layout.id is None and len(kept) > 1:
        has = ", ".join(map(repr, part.columns))
        raise InputError(
            f"{part.name}: rows of {len(kept)} systems can be paired only by an id, got none (it has {has}); "
            "set columns='id=NAME'"
        )
    return kept


def _place(blocks: list[_Block]) -> Callable[[int], str]:
    def place(row: int) -> str:
        for one in blocks:
            if row < one.rows:
                return f"{one.part.name}, row {row + 1}"
            row -= one.rows
        raise IndexError(row)

    return place


def _strings(blocks: list[_Block], role: str) -> np.ndarray:
    import pyarrow as pa

    column = pa.chunked_array([one.table[role].cast(pa.large_string()) for one in blocks])
    encoded = column.combine_chunks().dictionary_encode()
    encoded = pa.concat_arrays(encoded.chunks) if isinstance(encoded, pa.ChunkedArray) else encoded
    return np.array(encoded.dictionary.to_pylist(), dtype=object)[encoded.indices.to_numpy(zero_copy_only=False)]


def _doubles(blocks: list[_Block], role: str) -> Floats:
    return np.concatenate([one.table[role] for one in blocks])


def printed(layout: Layout) -> dict[str, str]:
    """Role -> column as the page prints it."""
    found = (
        {"id": layout.id} | {"system": layout.system} | dict(layout.text) | dict(layout.numbers) | dict(layout.words)
    )
    own: dict[str, list[str]] = {}
    for columns in layout.own.values():
        for role, column in columns.items():
            own.setdefault(role.split(" ")[0], []).append(column)
    shown = {role: column for role, column in found.items() if column and not role.startswith(("attribute ", "true "))}
    return shown | {role: ", ".join(some) for role, some in own.items()}


def attributes(part: Part, names: Iterable[str]) -> dict[str, str]:
    """The layout's roles of the columns for segments and unit; raises ParameterError where the part lacks one."""
    return {f"attribute {name}": roles_of.require(part.columns, name, part.name, "segments or unit") for name in names}


def attributes_of(rows: Aligned, names: Iterable[str], unit: str | None = None) -> dict[str, np.ndarray]:
    """The attribute columns by name, as a study holds them; raises InputError where a row has no unit."""
    if unit is not None:
        without = np.flatnonzero(rows.text[f"attribute {unit}"] == NONE)
        if without.size:
            raise no_unit(own_place(rows)(int(without[0])), unit, without.size)
    return {name: rows.text[f"attribute {name}"] for name in names}


def no_unit(place: str, unit: str, rows: int) -> InputError:
    """The error for rows without a unit: they would count as one unit, however many they are."""
    return InputError(f"{place}: every row must have a {unit}, the unit, got none here and in {rows:,} in all")

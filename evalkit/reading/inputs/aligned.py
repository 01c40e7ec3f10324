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
from evalkit.reading.tables import folders, precision, sources, table
from evalkit.reading.tables.parts import Part, Source
from evalkit.reading.tables.precision import Precision
from evalkit.reading.tables.rules import ANY, NUMBER, TEXT, Field, Role, Rules
from evalkit.reading.tables.table import Block, Table

NONE = "(none)"  # the value of an attribute that is empty
SYSTEM = "system"  # the name of a single system that no column or file names


@dataclass(frozen=True)
class Layout:
    """The columns of one part by role. own: for each system of a wide table, or under None, role -> column of numbers.

    words: each system's own text, role -> column, in long tables only. within: roles of text within which an id stands
    once; an id may have a row in each of several folds. rules: of numbers by role, where they must not only be finite.
    """

    text: Mapping[str, str]
    numbers: Mapping[str, str]
    own: Mapping[str | None, Mapping[str, str]]
    words: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    system: str | None = None
    within: tuple[str, ...] = ()
    rules: Mapping[str, Rules] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Field]:
        """Every column by the role that it has while it is read."""
        text = {**self.text, **self.words}
        fields = {f"text {role}": Field(column, ANY if is_attribute(role) else TEXT) for role, column in text.items()}
        fields |= {"id": Field(self.id)} if self.id else {}
        fields |= {"system": Field(self.system)} if self.system else {}
        fields |= {f"number {role}": self._number(role, column) for role, column in self.numbers.items()}
        for system, own in self.own.items():
            fields |= {f"own {system}\n{role}": self._number(role, column) for role, column in own.items()}
        return fields

    def _number(self, role: str, column: str) -> Field:
        return Field(column, self.rules.get(role, NUMBER))


def is_attribute(role: str) -> bool:
    """Whether a role of text is a column for segments or unit, in which an empty cell is a value of its own."""
    return role.startswith("attribute ")


@dataclass(frozen=True, eq=False)
class Aligned:
    """Rows that every system has, in the order of their ids, or of the file where there is no id.

    text, numbers: what the systems share, by role. own: system -> role -> doubles. words: system -> role -> text.
    locate: the row's part and its number there, from 1. read: rows read; alone: rows left out because another system
    lacks their id. precision: system -> role -> what its own numbers were stored in.
    """

    systems: tuple[str, ...]
    id: np.ndarray
    text: Mapping[str, np.ndarray]
    numbers: Mapping[str, Floats]
    own: Mapping[str, Mapping[str, Floats]]
    words: Mapping[str, Mapping[str, np.ndarray]]
    locate: Callable[[int], tuple[Part, int]]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    read: int
    alone: int
    precision: Mapping[str, Mapping[str, Precision]]

    def __len__(self) -> int:
        return len(self.id)

    def place(self, row: int) -> str:
        """The file and row as an error names them."""
        part, number = self.locate(row)
        return part.place(number)


def read(data: Any, layout: Callable[[Part], Layout], systems: Sequence[str] = ()) -> Aligned:
    """Every part of `data` by its layout, the systems' rows joined.

    Raises InputError, naming file, column, row and value, for empty or non-finite values, an id that a system has
    twice, several systems without an id, and shared values that differ between systems.
    """
    parts = sources.parts(data)
    layouts = [layout(part) for part in parts]
    same_systems(list(zip(parts, layouts, strict=True)))
    rows = table.read(parts, [own.fields for own in layouts])
    return _long(rows, layouts[0], systems) if None in layouts[0].own else _wide(rows, layouts[0])


def same_systems(parts: Sequence[tuple[Part, Layout]]) -> None:
    """Raise InputError if the parts' columns name different systems."""
    first, layout = parts[0]
    for part, other in parts[1:]:
        if {*layout.own} != {*other.own}:
            raise InputError(f"{first.name} and {part.name} must name the same systems in their columns")


def layout_of(
    part: Part, roles: Sequence[Role], chosen: Mapping[str, str], systems: Sequence[str], attributes: Sequence[str]
) -> Layout:
    """The columns of a part by role, of which each system has one of its own: in a long table or a wide one.

    Raises InputError, for all of them at once, for columns that are missing or could be meant for the same role.
    """
    own_role = next(role for role in roles if role.own)
    columns, unclear = roles_of.match(part.columns, [role.name for role in roles], chosen, part.name, attributes)
    long = own_role.name in {*columns, *unclear}
    wide = {} if long else roles_of.wide(part.columns, f"{own_role.name}_", systems, part.name)
    needed = {role.name for role in roles if role.required and not (role.own and wide)}
    lacking = [role.name for role in roles if role.name in needed - {*columns, *unclear}]
    if lacking or unclear:
        raise roles_of.unresolved(lacking, part.columns, part.name, unclear)
    free = [name for name in part.columns if name not in attributes]
    roles_of.one_way(own_role.name, free, columns, chosen, part.name)
    shared = [role for role in roles if role.name in columns and role.name not in (own_role.name, "id", "system")]
    return Layout(
        text=attributes_by_role(part, attributes) | {r.name: columns[r.name] for r in shared if r.rules is TEXT},
        numbers={r.name: columns[r.name] for r in shared if r.rules is not TEXT},
        own={name: {own_role.name: column} for name, column in wide.items()}
        or {None: {own_role.name: columns[own_role.name]}},
        id=columns.get("id"),
        system=None if wide else columns.get("system"),
        rules={role.name: role.rules for role in roles},
    )


# Joining the systems --------------------------------------------------------------------------------------------


def _wide(rows: Table, layout: Layout) -> Aligned:
    """One row a unit already: the systems are columns."""
    read = len(rows)
    names = tuple(str(name) for name in layout.own)
    id = rows.texts("id") if layout.id else _numbered(read)
    order = np.arange(read)
    if layout.id:
        order = np.argsort(id, kind="stable")
        again = np.flatnonzero(id[order][1:] == id[order][:-1])
        if again.size:
            row = int(order[again[0] + 1])
            raise pairing.twice(rows.place(row), id[row])
    own = {name: {role: rows.numbers(f"own {name}\n{role}")[order] for role in layout.own[name]} for name in names}
    return Aligned(
        systems=names,
        id=id[order],
        text={role: _texts(rows, role)[order] for role in layout.text},
        numbers={role: rows.numbers(f"number {role}")[order] for role in layout.numbers},
        own=own,
        words={name: {} for name in names},
        locate=lambda row: rows.locate(int(order[row])),
        columns=printed(layout),
        sources=rows.sources,
        read=read,
        alone=0,
        precision={name: _precision(rows.blocks, layout, name) for name in names},
    )


def _long(rows: Table, layout: Layout, systems: Sequence[str]) -> Aligned:
    """One row a unit and system: the rows of the systems are joined on the id."""
    names, code = _systems(rows, layout)
    kept = kept_systems(names, systems, layout, rows.blocks[0].part)
    of = [np.flatnonzero(code == i) for i in kept]
    id = rows.texts("id") if layout.id else _numbered(len(code))
    if layout.id:
        parts = [_texts(rows, role) for role in layout.within]
        of = pairing.joined(of, id, parts, [names[i] for i in kept], rows.place)
        if not len(of[0]):
            raise pairing.nothing_shared([names[i] for i in kept])
    first = of[0]
    text = {role: _texts(rows, role) for role in layout.text}
    numbers = {role: rows.numbers(f"number {role}") for role in layout.numbers}
    for role, values in {**text, **numbers}.items():
        pairing.agree({**layout.text, **layout.numbers}[role], values, of, id, rows.place)
    own = {role: rows.numbers(f"own None\n{role}") for role in layout.own[None]}
    words = {role: _texts(rows, role) for role in layout.words}
    return Aligned(
        systems=tuple(names[i] for i in kept),
        id=id[first],
        text={role: values[first] for role, values in text.items()},
        numbers={role: values[first] for role, values in numbers.items()},
        own={names[i]: {role: v[at] for role, v in own.items()} for i, at in zip(kept, of, strict=True)},
        words={names[i]: {role: v[at] for role, v in words.items()} for i, at in zip(kept, of, strict=True)},
        locate=lambda row: rows.locate(int(first[row])),
        columns=printed(layout),
        sources=rows.sources,
        read=len(code),
        alone=int(np.isin(code, kept).sum()) - len(first) * len(kept),
        precision={names[i]: _precision(_with_rows(rows.blocks, code == i), layout, None) for i in kept},
    )


def _numbered(rows: int) -> np.ndarray:
    return np.arange(1, rows + 1).astype(str).astype(object)


def _texts(rows: Table, role: str) -> np.ndarray:
    """A column of text; an empty attribute is a value of its own."""
    texts = rows.texts(f"text {role}")
    if is_attribute(role):
        texts[texts == None] = NONE  # noqa: E711 - elementwise
    return texts


def _precision(blocks: Sequence[Block], layout: Layout, system: str | None) -> dict[str, Precision]:
    """The precision of each role of a system's own numbers: the widest of all parts."""
    keys = {role: f"own {system}\n{role}" for role in layout.own[system]}
    return {
        role: precision.widest(precision.of(block.part, block.fields[key].column) for block in blocks)
        for role, key in keys.items()
    }


def _with_rows(blocks: Sequence[Block], member: Bools) -> list[Block]:
    """The blocks that hold at least one of the rows."""
    start = np.cumsum([0, *(block.rows for block in blocks)])
    return [block for block, a, b in zip(blocks, start, start[1:], strict=False) if member[a:b].any()]


def _systems(rows: Table, layout: Layout) -> tuple[list[str], Ints]:
    """The systems' names in order and each row's system: a column, or for several files without one their names."""
    if layout.system:
        names, code = np.unique(rows.texts("system"), return_inverse=True)
        return [str(name) for name in names], code
    stems = [stem(block.part) if len(rows.blocks) > 1 else SYSTEM for block in rows.blocks]
    names, code = np.unique(np.array(stems, dtype=object), return_inverse=True)
    return [str(name) for name in names], np.repeat(code, [block.rows for block in rows.blocks])


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


def printed(layout: Layout) -> dict[str, str]:
    """Role -> column as the page prints it."""
    single = (
        {"id": layout.id} | {"system": layout.system} | dict(layout.text) | dict(layout.numbers) | dict(layout.words)
    )
    own: dict[str, list[str]] = {}
    for columns in layout.own.values():
        for role, column in columns.items():
            own.setdefault(role.split(" ")[0], []).append(column)
    kept = {role: column for role, column in single.items() if column and not role.startswith(("attribute ", "true "))}
    return kept | {role: ", ".join(some) for role, some in own.items()}


def attributes_by_role(part: Part, names: Iterable[str]) -> dict[str, str]:
    """The layout's roles of the columns for segments and unit; raises ParameterError where the part lacks one."""
    return {f"attribute {name}": roles_of.require(part.columns, name, part.name, "segments or unit") for name in names}


def attributes_of(rows: Aligned, names: Iterable[str], unit: str | None = None) -> dict[str, np.ndarray]:
    """The attribute columns by name, as a study holds them; raises InputError where a row has no unit."""
    if unit is not None:
        without = np.flatnonzero(rows.text[f"attribute {unit}"] == NONE)
        if without.size:
            raise no_unit(rows.place(int(without[0])), unit, without.size)
    return {name: rows.text[f"attribute {name}"] for name in names}


def no_unit(place: str, unit: str, rows: int) -> InputError:
    """The error for rows without a unit: they would count as one unit, however many they are."""
    return InputError(f"{place}: every row must have a {unit}, the unit, got none here and in {rows:,} in all")

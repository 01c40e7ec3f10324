"""Tables of predictions as rows that all systems have: long tables joined on the id, wide tables as
they are.

This is common to binary, multi-class, multi-label and rating tables. A `Layout` says which columns
all systems share (label, weight, attributes) and which each system has of its own (score, forecast,
probabilities). Rows that some system lacks are counted.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, codes
from evalkit.reading.tables import (
    columns as roles_of,
    duck,
    formats,
    rules,
    sources as folders,
    table,
)
from evalkit.reading.tables.parts import Part, Source
from evalkit.reading.tables.rules import ANY, NUMBER, Field, Precision, Role
from evalkit.reading.tables.table import Block, Coded, Table


def nothing_shared(names: Sequence[str]) -> InputError:
    """The error for systems without a row in common."""
    more = "; `evalkit diff` compares reports on different rows"
    return InputError(
        f"systems {', '.join(map(repr, names))} must share ids, got none in common{more}"
    )


def twice(place: str, id: str, system: str | None = None) -> InputError:
    """The error for an id that a system, or a wide table, has more than once."""
    return InputError(
        f"{place}: id {id!r} must appear once{f' in system {system!r}' if system else ''}, got it "
        f"again"
    )


def not_one(place: str, column: str, id: str, a: object, b: object) -> InputError:
    """The error for a value that systems share and do not agree on."""
    return InputError(
        f"{place}: {column} must have one value for id {id!r}, got {str(a)!r} and {str(b)!r}"
    )


def joined_on_id(
    rows: list[Ints],
    id: np.ndarray,
    parts: list[np.ndarray],
    names: Sequence[str | None],
    place: Callable[[int], str],
) -> list[Ints]:
    """For each system its rows of the ids that all systems have, ordered by id, then by part.

    Raises InputError if systems share an id and hold it in different parts, such as folds.
    """
    of_id = codes(id)[0]
    code = of_id
    for part in parts:
        number, distinct = codes(part)
        code = np.unique(code * distinct.size + number, return_inverse=True)[1]
    for name, at in zip(names, rows, strict=True):
        if (row := repeated(code, at)) is not None:
            raise twice(place(row), id[row], name)
    pairs = paired(code, rows)
    for name, at, kept in zip(names, rows, pairs, strict=True) if parts else ():
        alone = np.setdiff1d(at, kept)
        for other, theirs in zip(names, rows, strict=True):
            odd = alone[np.isin(of_id[alone], of_id[theirs])] if other != name else alone[:0]
            if odd.size:
                row = int(odd[0])
                folds = ", ".join(repr(str(part[row])) for part in parts)
                raise roles_of.refused(
                    place(row), "other_folds", id=id[row], folds=folds, system=name, other=other
                )
    return pairs


def repeated(code: Ints, at: Ints) -> int | None:
    """The first of the rows `at`, in the order of their codes, whose code occurred before; None if
    there is none.

    >>> repeated(np.array([7, 3, 7]), np.arange(3))
    2
    """
    order = at[np.argsort(code[at], kind="stable")]
    again = np.flatnonzero(code[order][1:] == code[order][:-1])
    return int(order[again[0] + 1]) if again.size else None


def paired(code: Ints, rows: Sequence[Ints]) -> list[Ints]:
    """For each system its rows of the codes that all systems have, in the order of the codes; each
    has a code once.

    >>> paired(np.array([5, 7, 7, 6]), [np.array([0, 1]), np.array([2, 3])])
    [array([1]), array([2])]
    """
    count = np.bincount(np.concatenate([code[at] for at in rows]), minlength=1)
    ordered = (at[np.argsort(code[at], kind="stable")] for at in rows)
    return [at[count[code[at]] == len(rows)] for at in ordered]


def agree(
    column: str, values: np.ndarray, rows: list[Ints], id: np.ndarray, place: Callable[[int], str]
) -> None:
    """Raise InputError if two systems have different shared values for a row. rows: of each system.

    >>> agree(
    ...     "label",
    ...     np.array([1, 1, 0]),
    ...     [*np.arange(3)[:, None]],
    ...     np.array(["u"] * 3, object),
    ...     "row {}".format,
    ... )
    Traceback (most recent call last):
    evalkit.arrays.InputError: row 2: label must have one value for id 'u', got '1' and '0'
    """
    for at in rows[1:]:
        differs = np.flatnonzero(values[at] != values[rows[0]])
        if differs.size:
            first, other = int(rows[0][differs[0]]), int(at[differs[0]])
            raise not_one(place(other), column, id[other], values[first], values[other])


# Rows side by side --------------------------------------------------------------------------------


NONE = "(none)"  # the value of an attribute that is empty
ATTRIBUTE = "segments or unit"  # the parameters that name attributes
HIDDEN = ("attribute", "beside", "true")  # first words of roles that the page prints elsewhere
LISTED = "text id"  # the role, while they are read, of ids that join no rows
SYSTEM = "system"  # the name of a single system that no column or file names


@dataclass(frozen=True)
class Layout:
    """The columns of one part by role. shared: role -> column, for the columns that all systems
    share.

    own: system -> role -> column, for a wide table; under None the columns that belong to the
    system of the row. within: shared roles within which an id is unique; an id may have a row in
    each of several folds. listed: ids that do not join rows.
    """

    shared: Mapping[str, Field]
    own: Mapping[str | None, Mapping[str, Field]]
    id: str | None = None
    system: str | None = None
    within: tuple[str, ...] = ()
    listed: str | None = None

    @property
    def fields(self) -> dict[str, Field]:
        """All columns by the role that they have during reading."""
        fields = {key(role, field): field for role, field in self.shared.items()}
        fields |= {"id": Field(self.id)} if self.id else {}
        fields |= {LISTED: Field(self.listed)} if self.listed else {}
        fields |= {"system": Field(self.system)} if self.system else {}
        own = (
            (system, role, field)
            for system, fields in self.own.items()
            for role, field in fields.items()
        )
        return fields | {own_key(system, role, field): field for system, role, field in own}

    @property
    def wide(self) -> bool:
        """True if each system has columns of its own."""
        return None not in self.own


def key(role: str, field: Field) -> str:
    """The role of a shared column during reading."""
    return f"{'number' if field.is_number else 'text'} {role}"


def own_key(system: str | None, role: str, field: Field) -> str:
    """The role of a system's own column during reading."""
    return f"own {system}\n{role}" if field.is_number else f"text {role}"


@dataclass(frozen=True, eq=False)
class Aligned:
    """Rows that every system has, in the order of their ids, or of the file if there is no id.

    rows: their number. ids: of each row, if they are needed; Arrow text if they do not join rows.
    shared: role -> text or doubles, for what all systems share. own: system -> role -> text or
    doubles. locate: the part of a row and its number there, from 1, for a system or the first one.
    read: the number of rows read; alone: of rows left out because another system lacks their id.
    precision: system -> role -> the type in which its numbers were stored. others: the columns of
    the input that were not read.
    """

    systems: tuple[str, ...]
    rows: int
    ids: Callable[[], Any]
    shared: Mapping[str, Any]
    own: Mapping[str, Mapping[str, Any]]
    locate: Callable[..., tuple[Part, int]]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    read: int
    alone: int
    precision: Mapping[str, Mapping[str, Precision]]
    others: tuple[str, ...]

    def __len__(self) -> int:
        return self.rows

    @cached_property
    def id(self) -> Any:
        """The id of each row; without a column of ids, its number among the rows that were read."""
        return self.ids()

    def place(self, row: int, system: str | None = None) -> str:
        """The file and row for an error, for a system or the first one."""
        part, number = self.locate(row, system or self.systems[0])
        return part.place(number)


def read(
    parts: Sequence[Part],
    of: Sequence[Layout],
    systems: Sequence[str] = (),
    unit: str | None = None,
) -> Aligned:
    """Every part by its layout, the systems' rows joined.

    Raises InputError, naming file, column, row and value, for empty or non-finite values, an id
    that a system has twice, several systems without an id, shared values that differ between
    systems, and rows without a unit.
    """
    joined = _aligned(table.read(parts, [own.fields for own in of]), of[0], systems)
    if (
        unit is not None
        and (without := np.flatnonzero(joined.shared[f"attribute {unit}"].texts == NONE)).size
    ):
        raise no_unit(joined.place(int(without[0])), unit, without.size)
    return joined


@dataclass(frozen=True, eq=False)
class Given:
    """The parts of a table before they are read, with the parameters about their columns.

    roles: that the report declares. columns: role -> column. systems: the requested ones.
    attributes: columns for segments and unit. beside: numeric columns that metrics use, with the
    parameter that names each.
    """

    parts: Sequence[Part]
    roles: Sequence[Role]
    columns: Mapping[str, str] = field(default_factory=dict)
    systems: Sequence[str] = ()
    attributes: Sequence[str] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    unit: str | None = None

    def __post_init__(self) -> None:
        """Raise ParameterError for an unknown role."""
        roles_of.check_roles(self.columns, [role.name for role in self.roles])

    @classmethod
    def of(cls, data: Any, **chosen: Any) -> Self:
        """The parts from a file, folder, glob pattern, frame or list of these."""
        return cls(folders.parts(data), **chosen)

    @cached_property
    def layouts(self) -> list[Layout]:
        """The columns of each part by role. Raises one InputError for all that are missing or
        ambiguous.
        """
        return layouts(self.parts, self.layout)

    @property
    def taken(self) -> dict[str, str]:
        """The columns with another use, each with the parameter that names it."""
        return dict.fromkeys(self.attributes, ATTRIBUTE) | dict(self.beside)

    def layout(self, part: Part) -> Layout:
        """The columns of a part by role."""
        return self.by_system(part, self.roles)

    def by_system(self, part: Part, roles: Sequence[Role]) -> Layout:
        """The columns of a part by role, for the roles that each system has on its own, in a long
        or a wide table.

        The first of these roles must be there; the others may be, for all systems. Raises one
        InputError for all columns that are missing or could have the same role.
        """
        own, *further = [role for role in roles if role.own]
        names, taken = [role.name for role in roles], self.taken
        matches = roles_of.match(part.columns, names, self.columns, part.name, taken, taken)
        wide = (
            {}
            if matches.has(own.name)
            else roles_of.wide(part.columns, f"{own.name}_", self.systems, part.name)
        )
        needed = [role.name for role in roles if role.required and not (role.own and wide)]
        columns = matches.resolved(needed, matches.each_system(own.name, needed))
        free = [name for name in part.columns if name not in taken]
        roles_of.one_way(own.name, free, columns, self.columns, part.name)
        own_columns: Mapping[Any, str] = wide or {None: columns[own.name]}
        fields = {
            name: {own.name: Field(column, own.rules)} for name, column in own_columns.items()
        }
        for role in further:
            each = {
                name: f"{role.name}_{name}" if wide else columns.get(role.name) for name in fields
            }
            if all(column in part.columns for column in each.values()):
                for name, column in each.items():
                    fields[name][role.name] = Field(str(column), role.rules, role.plain)
        system = None if wide else columns.get("system")
        return Layout(self.shared(roles, columns), fields, id=columns.get("id"), system=system)

    def shared(self, roles: Sequence[Role], columns: Mapping[str, str]) -> dict[str, Field]:
        """The columns for segments and unit, those that metrics use, and those that systems
        share.
        """
        attributes = {f"attribute {name}": Field(name, ANY) for name in self.attributes}
        return (
            attributes
            | {f"beside {name}": Field(name, NUMBER) for name in self.beside}
            | shared_of(roles, columns)
        )

    def rows(self) -> Aligned:
        """Every row; raises InputError with file, column, row and value for invalid values."""
        return read(self.parts, self.layouts, self.systems, self.unit)


def layouts(parts: Sequence[Part], layout: Callable[[Part], Layout]) -> list[Layout]:
    """The columns of each part. Raises InputError if parts have different columns, or name
    different systems.
    """
    every = [layout(part) for part in parts]
    for part, other in zip(parts, every, strict=True):
        if {*other.own} != {*every[0].own}:
            raise InputError(
                f"{parts[0].name} and {part.name} must name the same systems in their columns"
            )
    table.same_columns(parts, [own.fields for own in every])
    return every


def shared_of(roles: Sequence[Role], columns: Mapping[str, str]) -> dict[str, Field]:
    """The fields of the shared roles that have a column, with the rules of each role."""
    shared = (
        role
        for role in roles
        if role.name in columns and not role.own and role.name not in ("id", "system")
    )
    return {role.name: Field(columns[role.name], role.rules, role.plain) for role in shared}


# Joining the systems ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _System:
    """A system: its key among a layout's own columns, its rows as they come, and those that all
    have in their order.
    """

    key: str | None
    read: Ints
    rows: Ints

    def precision(self, blocks: Sequence[Block], own: Mapping[str, Field]) -> dict[str, Precision]:
        """The precision of each role of its own numbers: the widest of all parts that hold a row of
        it.
        """
        keys = {
            role: own_key(self.key, role, field) for role, field in own.items() if field.is_number
        }
        place = np.searchsorted(self.read, np.cumsum([0, *(block.rows for block in blocks)]))
        there = [block for block, a, b in zip(blocks, place, place[1:], strict=False) if a < b]
        return {
            role: rules.widest(rules.of(b.part, b.fields[key].column) for b in there)
            for role, key in keys.items()
        }


def _side_by_side(
    rows: Table, layout: Layout, wanted: Sequence[str], id: np.ndarray | None
) -> dict[str, _System]:
    """The systems that are wanted: of a wide table columns, with one row per unit already; else
    joined on the id.
    """
    keys: dict[str, str | None] = {str(name): name for name in layout.own}
    read = [np.arange(len(rows))]
    if not layout.wide:
        every, code = _systems(rows, layout)
        keys = dict.fromkeys(kept_systems(every, wanted, layout, rows.blocks[0].part))
        read = [np.flatnonzero(code == every.index(name)) for name in keys]
    of = read
    if id is not None:
        parts = [rows.texts(f"text {role}") for role in layout.within]
        of = joined_on_id(read, id, parts, [None] if layout.wide else [*keys], rows.place)
        if not len(of[0]):
            raise nothing_shared([*keys])
    each = [(read[0], of[0])] * len(keys) if layout.wide else zip(read, of, strict=True)
    return {name: _System(key, *own) for (name, key), own in zip(keys.items(), each, strict=True)}


def _aligned(rows: Table, layout: Layout, wanted: Sequence[str]) -> Aligned:
    """The systems' rows side by side."""
    id = rows.texts("id") if layout.id else None
    systems = _side_by_side(rows, layout, wanted, id)
    at = {name: system.rows for name, system in systems.items()}
    main, first = next(iter(at.items()))
    shared = {role: _column(rows, key(role, field), field) for role, field in layout.shared.items()}
    if id is not None and not layout.wide:
        for role, values in shared.items():
            column = values.texts if isinstance(values, Coded) else values
            agree(layout.shared[role].column, column, [*at.values()], id, rows.place)
    own = {
        name: {
            role: _column(rows, own_key(name, role, field), field) for role, field in fields.items()
        }
        for name, fields in layout.own.items()
    }
    return Aligned(
        systems=tuple(systems),
        rows=len(first),
        ids=lambda: (
            rows.column(LISTED) if layout.listed else _numbered(first) if id is None else id[first]
        ),
        shared=_at(shared, first, ordered=id is None),
        own={name: _at(own[of.key], of.rows, ordered=id is None) for name, of in systems.items()},
        locate=lambda row, system=main: rows.locate(int(at[system][row])),
        columns=printed(layout),
        sources=rows.sources,
        read=len(rows),
        alone=sum(len(system.read) - len(system.rows) for system in systems.values()),
        precision={
            name: of.precision(rows.blocks, layout.own[of.key]) for name, of in systems.items()
        },
        others=unread(rows.blocks[0].part, layout),
    )


def unread(part: Part, layout: Layout) -> tuple[str, ...]:
    """The columns of a part without a role."""
    read = {field.column for field in layout.fields.values()}
    return tuple(name for name in part.columns if name not in read)


def _column(rows: Table, key: str, field: Field) -> Coded | Floats:
    """A column of doubles or of text; an attribute that is empty is a value of its own."""
    return rows.numbers(key) if field.is_number else rows.coded(key, field.plain, NONE)


def _at(
    columns: Mapping[str, Coded | Floats], rows: Ints, *, ordered: bool
) -> Mapping[str, Coded | Floats]:
    """These rows of the columns. ordered: they are in the order of the columns."""
    if ordered and all(len(rows) == len(column) for column in columns.values()):
        return columns  # all rows, as they are
    return {
        role: own.take(rows) if isinstance(own, Coded) else own[rows]
        for role, own in columns.items()
    }


def _numbered(rows: Ints) -> np.ndarray:
    return (rows + 1).astype(str).astype(object)


def _systems(rows: Table, layout: Layout) -> tuple[list[str], Ints]:
    """The systems' names in order and each row's system: a column, or for several files without one
    their names.
    """
    if layout.system:
        column = rows.coded("system")
        return [*column.names], column.code
    stems = [stem(block.part) if len(rows.blocks) > 1 else SYSTEM for block in rows.blocks]
    names, code = np.unique(np.array(stems, dtype=object), return_inverse=True)
    return [str(name) for name in names], np.repeat(code, [block.rows for block in rows.blocks])


def stem(part: Part) -> str:
    return part.name if part.unnamed else formats.table(part.path).name.split(".")[0]


def kept_systems(
    names: Sequence[str], systems: Sequence[str], layout: Layout, part: Part
) -> list[str]:
    """The requested systems. Raises if one does not exist or if nothing pairs their rows."""
    kept = roles_of.kept_systems(names, systems)
    if layout.system and not systems:
        roles_of.refuse_names(names, f"{part.name}: {layout.system}", "systems")
    if layout.id is None and len(kept) > 1:
        raise roles_of.refused(
            part.name, "no_id", systems=len(kept), columns=", ".join(map(repr, part.columns))
        )
    return kept


def printed(layout: Layout) -> dict[str, str]:
    """Role -> column as the page prints it."""
    shared = {
        role: field.column
        for role, field in layout.shared.items()
        if role.split(" ")[0] not in HIDDEN
    }
    named = {
        role: column
        for role, column in (("id", layout.id or layout.listed), ("system", layout.system))
        if column
    }
    own: dict[str, list[str]] = {}
    for fields in layout.own.values():
        for role, column in fields.items():
            own.setdefault(role.split(" ")[0], []).append(column.column)
    return (
        named | shared | {role: ", ".join(dict.fromkeys(columns)) for role, columns in own.items()}
    )


def no_unit(place: str, unit: str, rows: int) -> InputError:
    """The error for rows without a unit, which would otherwise count as one unit."""
    where = f"{rows:,} {'rows' if rows > 1 else 'row'}"
    return InputError(
        f"{place}: {unit} must not be empty where it is the unit, got nothing ({where})"
    )


# Other columns ------------------------------------------------------------------------------------


MOST = 8  # columns


def others_of_rows(rows: Aligned, wanted: Sequence[int]) -> list[dict[str, str]]:
    """The unread columns, name to text, of some rows of the first system; empty cells are left out.

    Raises InputError if the file can no longer be read.
    """
    by_part = defaultdict[Part, list[int]](list)
    places = [rows.locate(row) for row in wanted]
    for part, number in places:
        by_part[part].append(number)
    cells = {part: _cells(part, rows.others[:MOST], numbers) for part, numbers in by_part.items()}
    return [cells[part].get(number, {}) for part, number in places]


def _cells(part: Part, others: Sequence[str], numbers: Sequence[int]) -> dict[int, dict[str, str]]:
    """The cells of rows of a part, by the number of the row."""
    there = [name for name in others if name in part.columns]
    if not there:
        return {}
    chosen = part.select({f"other {name}": name for name in there}, {})
    roles = ", ".join(duck.DUCKDB.quote(f"other {name}") for name in there)
    found = chosen.where(f"n IN ({', '.join(map(str, numbers))})", roles, len(numbers))
    return {
        row["n"]: {
            name: str(row[f"other {name}"]) for name in there if row[f"other {name}"] is not None
        }
        for row in found
    }

"""Tables of predictions as rows that all systems have: long tables joined on the id, wide tables as
they are.

This is common to binary, multi-class, multi-label and rating tables. A `Layout` says which columns
all systems share (label, weight, attributes) and which each system has of its own (score, forecast,
probabilities). Rows that some system lacks are counted.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, Self

import numpy as np

from evalkit.arrays import Floats, InputError, Ints
from evalkit.limits import Reading
from evalkit.reading.matching.proposal import Proposal, rating
from evalkit.reading.matching.samples import SampledTable, without_bookkeeping
from evalkit.reading.tables import (
    columns as roles_of,
    duck,
    formats,
    rules,
    sources as folders,
    table,
)
from evalkit.reading.tables.columns import RoleMapping
from evalkit.reading.tables.parts import Part, Source
from evalkit.reading.tables.rules import ANY, NUMBER, Field, Precision, Role
from evalkit.reading.tables.table import Coded, Ids, Table


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


def repeated(code: Ints, rows: Ints) -> int | None:
    """The first of the rows, in the order of their codes, whose code occurred before; None if there
    is none.

    >>> repeated(np.array([7, 3, 7]), np.arange(3))
    2
    """
    order = rows[np.argsort(code[rows], kind="stable")]
    again = np.flatnonzero(code[order][1:] == code[order][:-1])
    return int(order[again[0] + 1]) if again.size else None


def paired(code: Ints, rows: Sequence[Ints]) -> list[Ints]:
    """For each system its rows of the codes that all systems have, in the order of the codes; each
    has a code once.

    >>> paired(np.array([5, 7, 7, 6]), [np.array([0, 1]), np.array([2, 3])])
    [array([1]), array([2])]
    """
    count = np.bincount(np.concatenate([code[own] for own in rows]), minlength=1)
    ordered = (own[np.argsort(code[own], kind="stable")] for own in rows)
    return [own[count[code[own]] == len(rows)] for own in ordered]


def agree(column: str, values: Coded | Floats, rows: list[Ints], id: Ids, rows_of: Table) -> None:
    """Raise InputError if two systems have different shared values for an id. rows: of each
    system.
    """
    code = values.code if isinstance(values, Coded) else values
    for own in rows[1:]:
        differs = np.flatnonzero(code[own] != code[rows[0]])
        if differs.size:
            first, other = int(rows[0][differs[0]]), int(own[differs[0]])
            cell = values.texts if isinstance(values, Coded) else values
            place = rows_of.place(other)
            raise not_one(place, column, id.name(other), cell[first], cell[other])


# Rows side by side --------------------------------------------------------------------------------


NONE = "(none)"  # the value of an attribute that is empty
ATTRIBUTE = "segments or unit"  # the parameters that name attributes
HIDDEN = ("attribute", "beside", "true")  # first words of roles that the page prints elsewhere
LISTED = "text id"  # the role, while they are read, of ids that join no rows
PROBABILITIES = "probabilities"  # the name of a single system whose columns have no common one


@dataclass(frozen=True)
class Layout:
    """The columns of one part by role. shared: role -> column, for the columns that all systems
    share.

    own: system -> role -> column, for a wide table; under None the columns that belong to the
    system of the row. within: shared roles within which an id is unique; an id may have a row in
    each of several folds. listed: ids that do not join rows. by_content: the cells of columns, and
    not their names alone, say their roles.
    """

    shared: Mapping[str, Field]
    own: Mapping[str | None, Mapping[str, Field]]
    id: str | None = None
    system: str | None = None
    within: tuple[str, ...] = ()
    listed: str | None = None
    by_content: bool = False

    @cached_property
    def fields(self) -> dict[str, Field]:
        """All columns by the role that they have during reading."""
        fields = {key(role, field): field for role, field in self.shared.items()}
        fields |= {role: Field(column) for role, column in self.named.items()}
        for system, own in self.own.items():
            fields |= {own_key(system, role, field): field for role, field in own.items()}
        return fields

    @property
    def named(self) -> dict[str, str]:
        """The columns that name a row and its system, by the role that they have during reading."""
        columns = {"id": self.id, LISTED: self.listed, "system": self.system}
        return {role: column for role, column in columns.items() if column}

    @cached_property
    def printed(self) -> dict[str, str]:
        """Role -> column as the page prints it."""
        columns = {role: field.column for role, field in self.shared.items()}
        shown = {role: name for role, name in columns.items() if role.split(" ")[0] not in HIDDEN}
        own = defaultdict[str, list[str]](list)
        for fields in self.own.values():
            for role, column in fields.items():
                own[role.split(" ")[0]].append(column.column)
        named = {role.removeprefix("text "): column for role, column in self.named.items()}
        return named | shown | {role: ", ".join(names) for role, names in own.items()}

    def unread(self, part: Part) -> tuple[str, ...]:
        """The columns of a part without a role."""
        read = {field.column for field in self.fields.values()}
        return tuple(name for name in part.columns if name not in read)

    def without(self, role: str) -> Self:
        """The layout without a role that systems have of their own."""
        own = {
            system: {name: field for name, field in fields.items() if name != role}
            for system, fields in self.own.items()
        }
        return replace(self, own=own)

    @property
    def only_system(self) -> str:
        """What a single system is called that no column and no file names: its column."""
        columns = {role: field.column for role, field in self.own[None].items()}
        for role in ("score", "forecast", "predicted"):
            if role in columns:
                return columns[role]
        first, *others = columns.values()
        letters = takewhile(lambda same: len({*same}) == 1, zip(first, *others, strict=False))
        return "".join(same[0] for same in letters).rstrip(" _-.(") or PROBABILITIES

    @property
    def wide(self) -> bool:
        """True if each system has columns of its own."""
        return None not in self.own


def key(role: str, field: Field) -> str:
    """The role of a shared column during reading."""
    return f"{'number' if field.is_number else 'text'} {role}"


def own_key(system: str | None, role: str, field: Field) -> str:
    """The role of a system's own column during reading."""
    if field.is_number or system is not None:
        return f"own {system}\n{role}"
    return f"text {role}"


@dataclass(frozen=True, eq=False)
class SystemRows:
    """The rows of a system: those that were read, and of these the ones that all systems have.

    key: its key among a layout's own columns. read: in the order of the table. paired: in the order
    of their ids, or of the table if there is no id.
    """

    key: str | None
    read: Ints
    paired: Ints


@dataclass(frozen=True, eq=False)
class Aligned:
    """Rows that every system has, in the order of their ids, or of the file if there is no id.

    table: the rows as they were read. pairs: the rows of each system in it. shared: role -> text or
    doubles, for what all systems share. own: system -> role -> text or doubles. sources: the parts
    with their rows.
    """

    table: Table
    layout: Layout
    pairs: Mapping[str, SystemRows]
    shared: Mapping[str, Any]
    own: Mapping[str, Mapping[str, Any]]
    sources: tuple[Source, ...]

    def __len__(self) -> int:
        return len(self._first.paired)

    @property
    def _first(self) -> SystemRows:
        return next(iter(self.pairs.values()))

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems, in order."""
        return tuple(self.pairs)

    @property
    def rows(self) -> int:
        """The number of rows that all systems have."""
        return len(self)

    @property
    def read(self) -> int:
        """The number of rows that were read."""
        return len(self.table)

    @property
    def alone(self) -> int:
        """The number of rows left out because another system lacks their id."""
        return sum(len(own.read) - len(own.paired) for own in self.pairs.values())

    @cached_property
    def id(self) -> Any:
        """The id of each row; without a column of ids, its number among the rows that were read.

        Ids that join no rows are Arrow text.
        """
        if self.layout.listed:
            return self.table.column(LISTED)
        rows = self._first.paired
        if self.layout.id:
            return self.table.texts("id")[rows]
        return (rows + 1).astype(str).astype(object)

    @property
    def columns(self) -> dict[str, str]:
        """Role -> column as the page prints it."""
        return self.layout.printed

    @property
    def others(self) -> tuple[str, ...]:
        """The columns of the input that were not read."""
        return self.layout.unread(self.table.blocks[0].part)

    @cached_property
    def precision(self) -> dict[str, dict[str, Precision]]:
        """System -> role -> the type in which its numbers were stored: the widest of all parts that
        hold a row of it.
        """
        return {name: self._precision(own) for name, own in self.pairs.items()}

    def _precision(self, system: SystemRows) -> dict[str, Precision]:
        starts = np.cumsum([0, *(block.rows for block in self.table.blocks)])
        counts = np.diff(np.searchsorted(system.read, starts))
        blocks = [block for block, n in zip(self.table.blocks, counts, strict=True) if n]
        fields = self.layout.own[system.key]
        keys = {
            role: own_key(system.key, role, field)
            for role, field in fields.items()
            if field.is_number
        }
        return {
            role: rules.widest(rules.of(block.part, block.fields[key].column) for block in blocks)
            for role, key in keys.items()
        }

    def without(self, role: str) -> Self:
        """The rows without a role that systems have of their own."""
        own = {
            system: {name: values for name, values in columns.items() if name != role}
            for system, columns in self.own.items()
        }
        return replace(self, layout=self.layout.without(role), own=own)

    def locate(self, row: int, system: str | None = None) -> tuple[Part, int]:
        """The part of a row and its number there, from 1, for a system or the first one."""
        own = self.pairs[system] if system else self._first
        return self.table.locate(int(own.paired[row]))

    def place(self, row: int, system: str | None = None) -> str:
        """The file and row for an error, for a system or the first one."""
        part, number = self.locate(row, system)
        return part.place(number)


def read(
    parts: Sequence[Part],
    layouts: Sequence[Layout],
    systems: Sequence[str] = (),
    unit: str | None = None,
) -> Aligned:
    """Every part by its layout, the systems' rows joined.

    Raises InputError, naming file, column, row and value, for empty or non-finite values, an id
    that a system has twice, several systems without an id, shared values that differ between
    systems, and rows without a unit.
    """
    rows = table.read(parts, [layout.fields for layout in layouts])
    layout = layouts[0]
    id = rows.ids("id") if layout.id else None
    pairs = _paired_systems(rows, layout, systems, id)
    joined = Aligned(
        table=rows,
        layout=layout,
        pairs=pairs,
        shared=_shared(rows, layout, pairs, id),
        own=_own(rows, layout, pairs),
        sources=rows.sources,
    )
    if unit is not None:
        empty = np.flatnonzero(joined.shared[f"attribute {unit}"].texts == NONE)
        if empty.size:
            raise no_unit(joined.place(int(empty[0])), unit, empty.size)
    return joined


@dataclass(frozen=True, eq=False)
class PredictionTable:
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

    @classmethod
    def of(cls, data: Any, **chosen: Any) -> Self:
        """The parts from a file, folder, glob pattern, frame or list of these."""
        return cls(folders.parts(data), **chosen)

    @cached_property
    def mappings(self) -> dict[Part, RoleMapping]:
        """The columns of each part by role, those of other uses apart; raises ParameterError for
        an unknown role.
        """
        names = [role.name for role in self.roles]
        roles_of.check_roles(self.columns, names)
        uses = dict.fromkeys(self.attributes, ATTRIBUTE) | dict(self.beside)
        return {
            part: roles_of.match(part.columns, names, self.columns, part.name, uses, uses)
            for part in self.parts
        }

    def fits(self, reading: Reading) -> bool:
        """True if the rows surely fit into memory, without counting them."""
        return sum(part.most_rows for part in self.parts) <= reading.rows

    @property
    def is_named(self) -> bool:
        """True if the names of the columns alone say which are the predictions."""
        mapping = self.mappings[self.parts[0]]
        own = next(role.name for role in self.roles if role.own)
        needed = [role.name for role in self.roles if role.required and not role.own]
        predicted = own in mapping.columns or bool(self.wide(self.parts[0], own))
        return bool(mapping.absent) or (predicted and {*needed} <= mapping.columns.keys())

    @cached_property
    def proposal(self) -> Proposal | None:
        """How the first part is read by the cells of its columns; None if names alone say it, or if
        no column or several could have a role.
        """
        if self.is_named:
            return None
        proposal = self.propose(self.sample)
        return proposal if proposal.is_complete else None

    @cached_property
    def sample(self) -> SampledTable:
        """The first rows of the first part."""
        uses = [*self.attributes, *self.beside]
        return SampledTable.of(self.parts[0], self.columns, self.systems, uses)

    def propose(self, table: SampledTable) -> Proposal:
        """The proposal of the report."""
        return rating(table)

    @cached_property
    def layouts(self) -> list[Layout]:
        """The columns of each part by role. Raises one InputError for all that are missing or
        ambiguous.
        """
        proposal = self.proposal
        if proposal is None:
            return layouts(self.parts, self.layout)
        return layouts(self.parts, lambda part: self.proposed(part, proposal))

    def proposed(self, part: Part, proposal: Proposal) -> Layout:
        """The columns of a part as the cells of the first one suggest."""
        predictions = {
            system: {role: self.field_of(role, column) for role, column in columns.items()}
            for system, columns in proposal.predictions.items()
        }
        used = [field.column for fields in predictions.values() for field in fields.values()]
        shared = {role: name for role, name in proposal.columns.items() if name not in used}
        lacking = {*shared.values(), *used} - {*part.columns}
        if lacking:
            raise roles_of.unlike(part.name, self.parts[0].name, sorted(lacking))
        return Layout(
            self.shared(self.roles, shared),
            predictions,
            id=shared.get("id"),
            system=shared.get("system"),
            by_content=True,
        )

    def field_of(self, role: str, column: str) -> Field:
        """A column of predictions with the rules of its role; of classes each has a role."""
        declared = {known.name: known for known in self.roles}.get(role)
        if declared is None:
            return Field(column, NUMBER)
        return Field(column, declared.rules, declared.plain)

    def layout(self, part: Part) -> Layout:
        """The columns of a part by role."""
        return self.by_system(part, self.roles)

    def by_system(self, part: Part, roles: Sequence[Role]) -> Layout:
        """The columns of a part by role, for the roles that each system has on its own, in a long
        or a wide table.

        The first of these roles must be there; the others may be, for all systems. Raises one
        InputError for all columns that are missing or could have the same role.
        """
        mapping = self.mappings[part]
        own, *further = [role for role in roles if role.own]
        wide = {} if own.name in mapping.candidates else self.wide(part, own.name)
        needed = [role.name for role in roles if role.required and not (role.own and wide)]
        columns = mapping.resolved(needed, [role.name for role in roles], own.name)
        if not wide:
            self._refuse_both(part, own.name, columns)
        systems: Mapping[Any, str] = wide or {None: columns[own.name]}
        fields = {name: {own.name: Field(column, own.rules)} for name, column in systems.items()}
        for role in further:
            _add(role, fields, columns, part)
        system = None if wide else columns.get("system")
        return Layout(self.shared(roles, columns), fields, id=columns.get("id"), system=system)

    def wide(self, part: Part, role: str) -> dict[str, str]:
        """System -> its column of a role, where each has one."""
        return roles_of.wide(
            without_bookkeeping(part.columns, self.systems), f"{role}_", self.systems, part.name
        )

    def _refuse_both(self, part: Part, role: str, columns: Mapping[str, str]) -> None:
        """Raise InputError if a column has the role, and others have it for one system each."""
        free = [
            name for name in part.columns if name not in self.attributes and name not in self.beside
        ]
        roles_of.one_way(role, free, columns, self.columns, part.name)

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


def _add(
    role: Role,
    fields: Mapping[Any, dict[str, Field]],
    columns: Mapping[str, str],
    part: Part,
) -> None:
    """Add a further role of systems to the fields of each, if every system has a column of it."""
    names = {name: f"{role.name}_{name}" for name in fields}
    if None in fields:
        names = {None: columns.get(role.name, "")}
    if {*names.values()} <= {*part.columns}:
        for system, column in names.items():
            fields[system][role.name] = Field(column, role.rules, role.plain)


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


DATE = re.compile(r"[-_ .]*(19|20)\d\d([-_]?\d\d){1,2}(?!\d)")  # in the name of a file

# Joining the systems ------------------------------------------------------------------------------


def _paired_systems(
    rows: Table, layout: Layout, wanted: Sequence[str], id: Ids | None
) -> dict[str, SystemRows]:
    """The systems that are wanted: of a wide table columns, with one row per unit already; else
    joined on the id.
    """
    if layout.wide:
        read = np.arange(len(rows))
        order = read if id is None else _once(rows, id, read)
        return {str(name): SystemRows(name, read, order) for name in layout.own}
    every, code = _systems(rows, layout)
    names = kept_systems(every, wanted, layout, rows.blocks[0].part)
    each = [np.flatnonzero(code == every.index(name)) for name in names]
    joined = each if id is None else _joined(rows, layout, id, dict(zip(names, each, strict=True)))
    return {
        name: SystemRows(None, read, own)
        for name, read, own in zip(names, each, joined, strict=True)
    }


def _once(rows: Table, id: Ids, read: Ints, system: str | None = None) -> Ints:
    """The rows in the order of their ids; raises InputError for an id that comes again."""
    again = repeated(id.rank, read)
    if again is not None:
        raise twice(rows.place(again), id.name(again), system)
    return read[np.argsort(id.rank[read])]


def _joined(rows: Table, layout: Layout, id: Ids, systems: Mapping[str, Ints]) -> list[Ints]:
    """For each system its rows of the ids that all systems have, ordered by id, then by part.

    Raises InputError if systems share an id and hold it in different parts, such as folds.
    """
    code = id.rank
    parts = [rows.coded(f"text {role}") for role in layout.within]
    for part in parts:
        code = np.unique(code * len(part.names) + part.code, return_inverse=True)[1]
    for name, read in systems.items():
        again = repeated(code, read)
        if again is not None:
            raise twice(rows.place(again), id.name(again), name)
    pairs = paired(code, [*systems.values()])
    if parts:
        _refuse_other_parts(rows, id, parts, systems, pairs)
    if not len(pairs[0]):
        raise nothing_shared([*systems])
    return pairs


def _refuse_other_parts(
    rows: Table,
    id: Ids,
    parts: Sequence[Coded],
    systems: Mapping[str, Ints],
    pairs: Sequence[Ints],
) -> None:
    """Raise InputError for an id that two systems have in different parts."""
    for (name, read), kept in zip(systems.items(), pairs, strict=True):
        alone = np.setdiff1d(read, kept)
        for other, theirs in systems.items():
            odd = alone[np.isin(id.rank[alone], id.rank[theirs])]
            if other != name and odd.size:
                row = int(odd[0])
                folds = ", ".join(repr(str(part.texts[row])) for part in parts)
                place, named = rows.place(row), id.name(row)
                raise roles_of.refused(
                    place, "other_folds", id=named, folds=folds, system=name, other=other
                )


def _shared(
    rows: Table, layout: Layout, pairs: Mapping[str, SystemRows], id: Ids | None
) -> dict[str, Coded | Floats]:
    """The columns that all systems share, of the rows that all have; InputError where two systems
    of a long table do not agree.
    """
    shared = {role: _column(rows, key(role, field), field) for role, field in layout.shared.items()}
    each = [own.paired for own in pairs.values()]
    if id is not None and not layout.wide:
        for role, values in shared.items():
            agree(layout.shared[role].column, values, each, id, rows)
    return {role: _taken(values, each[0], id) for role, values in shared.items()}


def _own(
    rows: Table, layout: Layout, pairs: Mapping[str, SystemRows]
) -> dict[str, dict[str, Coded | Floats]]:
    """The columns that each system has of its own, of the rows that all have."""
    columns = {
        name: {
            role: _column(rows, own_key(name, role, field), field) for role, field in fields.items()
        }
        for name, fields in layout.own.items()
    }
    return {
        name: {
            role: _taken(values, system.paired, layout.id)
            for role, values in columns[system.key].items()
        }
        for name, system in pairs.items()
    }


def _taken(values: Coded | Floats, rows: Ints, id: object) -> Coded | Floats:
    """These rows of a column; the column itself where nothing orders all of its rows anew."""
    if id is None and len(rows) == len(values):
        return values
    return values.take(rows) if isinstance(values, Coded) else values[rows]


def _column(rows: Table, key: str, field: Field) -> Coded | Floats:
    """A column of doubles or of text; an attribute that is empty is a value of its own."""
    return rows.numbers(key) if field.is_number else rows.coded(key, field.plain, NONE)


def _systems(rows: Table, layout: Layout) -> tuple[list[str], Ints]:
    """The systems' names in order and each row's system: a column, or for several files without one
    their names.
    """
    if layout.system:
        column = rows.coded("system")
        return [*column.names], column.code
    stems = system_names([block.part for block in rows.blocks], layout)
    names, code = np.unique(np.array(stems, dtype=object), return_inverse=True)
    return [str(name) for name in names], np.repeat(code, [block.rows for block in rows.blocks])


def system_names(parts: Sequence[Part], layout: Layout) -> list[str]:
    """The system of each part of a table that names none: its column, or of several files their
    names. Files without ids that differ by a date alone hold rows of one system.
    """
    if len(parts) == 1:
        return [layout.only_system]
    stems = [stem(part) for part in parts]
    undated = [DATE.sub("", stem) for stem in stems]
    if len({*undated}) == len({*stems}) or (layout.id is None and all(undated)):
        return [name or stem for name, stem in zip(undated, stems, strict=True)]
    return stems


def stem(part: Part) -> str:
    """The name of a part without its suffix."""
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

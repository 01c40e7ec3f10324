"""Tables of predictions as rows that all systems have: long tables joined on the id, wide tables as
they are.

This is common to binary, multi-class, multi-label and rating tables. A `ColumnLayout` says which
columns all systems share (label, weight, attributes) and which each system has of its own (score,
forecast, probabilities). Rows that some system lacks are counted.
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
from evalkit.reading.tables.parts import InputPart, Source
from evalkit.reading.tables.rules import LABELS, NUMBER, Field, Precision, Role, RoleColumn
from evalkit.reading.tables.table import CheckedTable, Coded, Ids, paired


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


def refuse_disagreement(
    table: CheckedTable,
    layout: "ColumnLayout",
    columns: Mapping[str, Coded | Floats],
    pairs: Sequence["SystemRows"],
    id: Ids,
) -> None:
    """Raise InputError if two systems have different values of a shared column for an id."""
    first = pairs[0].paired
    for role, shared in layout.shared.items():
        values = columns[role]
        code = values.code if isinstance(values, Coded) else values
        for system in pairs[1:]:
            differs = np.flatnonzero(code[system.paired] != code[first])
            if differs.size:
                row = int(first[differs[0]])
                other = int(system.paired[differs[0]])
                cells = values.texts if isinstance(values, Coded) else values
                place = table.place(other)
                raise not_one(place, shared.column, id.name(other), cells[row], cells[other])


# Rows side by side --------------------------------------------------------------------------------


NONE = "(none)"  # the value of an attribute that is empty
ATTRIBUTE = "segments or unit"  # the parameters that name attributes
HIDDEN = ("attribute", "beside", "true")  # first words of roles that the page prints elsewhere
UNPAIRED_ID = "id unpaired"  # the role of ids that join no rows
NAMING = ("id", UNPAIRED_ID, "system")  # roles of the columns that name a row and its system
PROBABILITIES = "probabilities"  # the name of a single system whose columns have no common one


@dataclass(frozen=True)
class ColumnLayout:
    """The columns of one part that are read.

    systems: those that have columns of their own, in a wide table; empty for a long one. within:
    shared roles within which an id is unique; an id may have a row in each of several folds.
    by_content: the cells of columns, and not their names alone, say their roles.
    """

    columns: tuple[RoleColumn, ...]
    systems: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    by_content: bool = False

    @cached_property
    def fields(self) -> dict[str, Field]:
        """All columns by the name that they have while they are read."""
        return {column.key: column.field for column in self.columns}

    @cached_property
    def shared(self) -> dict[str, Field]:
        """The columns that all systems share by role, but for those that name a row."""
        shared = [column for column in self.columns if column.system is None]
        return {column.role: column.field for column in shared if column.role not in NAMING}

    @cached_property
    def predictions(self) -> dict[str, list[RoleColumn]]:
        """Role -> the column of each system, of the roles that systems have of their own."""
        columns = defaultdict[str, list[RoleColumn]](list)
        for column in self.columns:
            if column.system is not None:
                columns[column.role].append(column)
        return dict(columns)

    @cached_property
    def printed(self) -> dict[str, str]:
        """Role -> column as the page prints it."""
        columns = defaultdict[str, list[str]](list)
        for column in self.columns:
            role = column.role.split(" ")[0]
            if role not in HIDDEN:
                columns[role].append(column.field.column)
        return {role: ", ".join(names) for role, names in columns.items()}

    def unread(self, part: InputPart) -> tuple[str, ...]:
        """The columns of a part without a role."""
        read = {column.field.column for column in self.columns}
        return tuple(name for name in part.columns if name not in read)

    def without(self, role: str) -> Self:
        """The layout without the columns of a role."""
        return replace(self, columns=tuple(c for c in self.columns if c.role != role))

    @property
    def only_system(self) -> str:
        """What a single system is called that no column and no file names: its column."""
        columns = {role: own[0].field.column for role, own in self.predictions.items()}
        for role in ("score", "forecast", "predicted"):
            if role in columns:
                return columns[role]
        first, *others = columns.values()
        letters = takewhile(lambda same: len({*same}) == 1, zip(first, *others, strict=False))
        return "".join(same[0] for same in letters).rstrip(" _-.(") or PROBABILITIES


@dataclass(frozen=True, eq=False)
class SystemRows:
    """The rows of a system: those that were read, and of these the ones that all systems have.

    number: that of the system's own columns. read: in the order of the table. paired: in the order
    of their ids, or of the table if there is no id.
    """

    number: int
    read: Ints
    paired: Ints


@dataclass(frozen=True, eq=False)
class Aligned:
    """Rows that every system has, in the order of their ids, or of the file if there is no id.

    table: the rows as they were read. columns: role -> column as the page prints it. others: the
    columns that were not read. pairs: the rows of each system in it. shared: role -> text or
    doubles, for what all systems share. own: system -> role -> text or doubles. sources: the parts
    with their rows.
    """

    table: CheckedTable
    layout: ColumnLayout
    columns: Mapping[str, str]
    others: tuple[str, ...]
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
        if UNPAIRED_ID in self.layout.fields:
            return self.table.column(UNPAIRED_ID)
        rows = self._first.paired
        if "id" in self.layout.fields:
            return self.table.texts("id")[rows]
        return (rows + 1).astype(str).astype(object)

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
        precision = {}
        for column in self.layout.columns:
            if column.system == system.number and column.field.is_number:
                names = [(block.part, block.fields[column.key].column) for block in blocks]
                precision[column.role] = rules.widest(rules.of(*name) for name in names)
        return precision

    def without(self, role: str) -> Self:
        """The rows without a role that systems have of their own."""
        own = {
            system: {name: values for name, values in columns.items() if name != role}
            for system, columns in self.own.items()
        }
        layout = self.layout.without(role)
        others = layout.unread(self.table.blocks[0].part)
        return replace(self, layout=layout, columns=layout.printed, others=others, own=own)

    def locate(self, row: int, system: str | None = None) -> tuple[InputPart, int]:
        """The part of a row and its number there, from 1, for a system or the first one."""
        own = self.pairs[system] if system else self._first
        return self.table.locate(int(own.paired[row]))

    def place(self, row: int, system: str | None = None) -> str:
        """The file and row for an error, for a system or the first one."""
        part, number = self.locate(row, system)
        return part.place(number)


def read(
    parts: Sequence[InputPart],
    layouts: Sequence[ColumnLayout],
    systems: Sequence[str] = (),
    unit: str | None = None,
) -> Aligned:
    """Every part by its layout, the systems' rows joined.

    Raises InputError, naming file, column, row and value, for empty or non-finite values, an id
    that a system has twice, several systems without an id, shared values that differ between
    systems, and rows without a unit.
    """
    rows = table.read(parts, [layout.fields for layout in layouts])
    id = Ids(table.whole(rows.chunks("id"))) if "id" in layouts[0].fields else None
    pairs = _paired_systems(rows, layouts[0], systems, id)
    aligned = _aligned(rows, layouts[0], pairs, id)
    if unit is not None:
        empty = np.flatnonzero(aligned.shared[f"attribute {unit}"].texts == NONE)
        if empty.size:
            raise no_unit(aligned.place(int(empty[0])), unit, empty.size)
    return aligned


def _aligned(
    rows: CheckedTable, layout: ColumnLayout, pairs: Mapping[str, SystemRows], id: Ids | None
) -> Aligned:
    """The columns of the rows that all systems have; InputError where two systems of a long table
    do not agree.
    """
    columns = _columns(rows, layout)
    if id is not None and not layout.systems:
        refuse_disagreement(rows, layout, columns, [*pairs.values()], id)
    first = next(iter(pairs.values())).paired
    own = {}
    for name, system in pairs.items():
        keys = {role: each[system.number].key for role, each in layout.predictions.items()}
        own[name] = {role: _taken(columns[key], system.paired, id) for role, key in keys.items()}
    return Aligned(
        table=rows,
        layout=layout,
        columns=layout.printed,
        others=layout.unread(rows.blocks[0].part),
        pairs=pairs,
        shared={role: _taken(columns[role], first, id) for role in layout.shared},
        own=own,
        sources=rows.sources,
    )


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """The parts of a table before they are read, with the parameters about their columns.

    roles: that the report declares. columns: role -> column. systems: the requested ones.
    attributes: columns for segments and unit. beside: numeric columns that metrics use, with the
    parameter that names each.
    """

    parts: Sequence[InputPart]
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
    def mappings(self) -> dict[InputPart, RoleMapping]:
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
    def layouts(self) -> list[ColumnLayout]:
        """The columns of each part by role. Raises one InputError for all that are missing or
        ambiguous.
        """
        proposal = self.proposal
        if proposal is None:
            return layouts(self.parts, self.layout)
        return layouts(self.parts, lambda part: self.proposed(part, proposal))

    def proposed(self, part: InputPart, proposal: Proposal) -> ColumnLayout:
        """The columns of a part as the cells of the first one suggest."""
        predictions = [
            RoleColumn(role, self.field_of(role, column), i)
            for i, columns in enumerate(proposal.predictions.values())
            for role, column in columns.items()
        ]
        used = [column.field.column for column in predictions]
        shared = {role: name for role, name in proposal.columns.items() if name not in used}
        lacking = {*shared.values(), *used} - {*part.columns}
        if lacking:
            raise roles_of.unlike(part.name, self.parts[0].name, sorted(lacking))
        systems = tuple(name for name in proposal.predictions if name is not None)
        columns = (*self.shared(self.roles, shared), *predictions)
        return ColumnLayout(columns, systems, by_content=True)

    def field_of(self, role: str, column: str) -> Field:
        """A column of predictions with the rules of its role; of classes each has a role."""
        declared = {known.name: known for known in self.roles}.get(role)
        return Field(column, NUMBER) if declared is None else declared.field(column)

    def layout(self, part: InputPart) -> ColumnLayout:
        """The columns of a part by role."""
        return self.by_system(part, self.roles)

    def by_system(self, part: InputPart, roles: Sequence[Role]) -> ColumnLayout:
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
        if wide:
            columns = {role: name for role, name in columns.items() if role != "system"}
        else:
            self._refuse_both(part, own.name, columns)
        names = wide.values() or [columns[own.name]]
        predictions = [RoleColumn(own.name, own.field(name), i) for i, name in enumerate(names)]
        for role in further:
            predictions += _of_each(role, [*wide], columns, part)
        return ColumnLayout((*self.shared(roles, columns), *predictions), (*wide,))

    def wide(self, part: InputPart, role: str) -> dict[str, str]:
        """System -> its column of a role, where each has one."""
        return roles_of.wide(
            without_bookkeeping(part.columns, self.systems), f"{role}_", self.systems, part.name
        )

    def _refuse_both(self, part: InputPart, role: str, columns: Mapping[str, str]) -> None:
        """Raise InputError if a column has the role, and others have it for one system each."""
        free = [
            name for name in part.columns if name not in self.attributes and name not in self.beside
        ]
        roles_of.one_way(role, free, columns, self.columns, part.name)

    def shared(self, roles: Sequence[Role], columns: Mapping[str, str]) -> list[RoleColumn]:
        """The columns that all systems share, those for segments and unit, and those that metrics
        use.
        """
        return [
            *role_columns(roles, columns),
            *(RoleColumn(f"attribute {name}", Field(name, LABELS)) for name in self.attributes),
            *(RoleColumn(f"beside {name}", Field(name, NUMBER)) for name in self.beside),
        ]

    def rows(self) -> Aligned:
        """Every row; raises InputError with file, column, row and value for invalid values."""
        return read(self.parts, self.layouts, self.systems, self.unit)


def _of_each(
    role: Role, systems: Sequence[str], columns: Mapping[str, str], part: InputPart
) -> list[RoleColumn]:
    """The columns of a further role of systems, if every system has one. systems: those of a wide
    table.
    """
    names = [f"{role.name}_{system}" for system in systems] or [columns.get(role.name, "")]
    if not {*names} <= {*part.columns}:
        return []
    return [RoleColumn(role.name, role.field(name), i) for i, name in enumerate(names)]


def layouts(
    parts: Sequence[InputPart], layout: Callable[[InputPart], ColumnLayout]
) -> list[ColumnLayout]:
    """The columns of each part. Raises InputError if parts have different columns, or name
    different systems.
    """
    every = [layout(part) for part in parts]
    for part, other in zip(parts[1:], every[1:], strict=True):
        if {*other.systems} != {*every[0].systems}:
            raise InputError(
                f"{parts[0].name} and {part.name} must name the same systems in their columns"
            )
        table.same_columns(parts, [layout.fields for layout in every])
    return every


def role_columns(roles: Sequence[Role], columns: Mapping[str, str]) -> list[RoleColumn]:
    """The columns of the roles that systems share."""
    return [
        RoleColumn(role.name, role.field(columns[role.name]))
        for role in roles
        if role.name in columns and not role.own
    ]


DATE = re.compile(r"[-_ .]*(19|20)\d\d([-_]?\d\d){1,2}(?!\d)")  # in the name of a file

# Joining the systems ------------------------------------------------------------------------------


def _paired_systems(
    rows: CheckedTable, layout: ColumnLayout, wanted: Sequence[str], id: Ids | None
) -> dict[str, SystemRows]:
    """The systems that are wanted: of a wide table columns, with one row per unit already; else
    joined on the id.
    """
    if layout.systems:
        read = np.arange(len(rows))
        order = read if id is None else _once(rows, id)
        return {name: SystemRows(i, read, order) for i, name in enumerate(layout.systems)}
    every, code = _systems(rows, layout)
    names = kept_systems(every, wanted, layout, rows.blocks[0].part)
    each = [np.flatnonzero(code == every.index(name)) for name in names]
    pairs = (
        each if id is None else _paired_by_id(rows, layout, id, dict(zip(names, each, strict=True)))
    )
    return {
        name: SystemRows(0, read, order)
        for name, read, order in zip(names, each, pairs, strict=True)
    }


def _once(rows: CheckedTable, id: Ids) -> Ints:
    """The rows in the order of their ids; raises InputError for an id that comes again."""
    pairing = paired(id.rank, np.zeros(len(rows), np.int64), 1)
    if pairing.again is not None:
        raise twice(rows.place(pairing.again), id.name(pairing.again))
    return pairing.rows[:, 0]


def _paired_by_id(
    rows: CheckedTable, layout: ColumnLayout, id: Ids, systems: Mapping[str, Ints]
) -> list[Ints]:
    """For each system its rows of the ids that all systems have, ordered by id, then by part.

    Raises InputError if systems share an id and hold it in different parts, such as folds.
    """
    code = id.rank
    parts = [rows.coded(role) for role in layout.within]
    for part in parts:
        code = np.unique(code * len(part.names) + part.code, return_inverse=True)[1]
    read = np.concatenate([*systems.values()])
    number = np.repeat(np.arange(len(systems)), [len(own) for own in systems.values()])
    pairing = paired(code[read], number, len(systems))
    if pairing.again is not None:
        row = int(read[pairing.again])
        raise twice(rows.place(row), id.name(row), [*systems][number[pairing.again]])
    pairs = [*read[pairing.rows].T]
    if parts:
        _refuse_other_parts(rows, id, parts, systems, pairs)
    if not len(pairs[0]):
        raise nothing_shared([*systems])
    return pairs


def _refuse_other_parts(
    rows: CheckedTable,
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


def _columns(rows: CheckedTable, layout: ColumnLayout) -> dict[str, Coded | Floats]:
    """The columns that name no row: doubles, or texts, of which an empty one is a value of its
    own.
    """
    columns = dict[str, Coded | Floats]()
    for key, column in layout.fields.items():
        if column.is_number:
            columns[key] = rows.numbers(key)
        elif key not in NAMING:
            columns[key] = table.coded(rows.chunks(key), column.plain, NONE)
    return columns


def _taken(values: Coded | Floats, rows: Ints, id: object) -> Coded | Floats:
    """These rows of a column; the column itself where nothing orders all of its rows anew."""
    if id is None and len(rows) == len(values):
        return values
    return values.take(rows) if isinstance(values, Coded) else values[rows]


def _systems(rows: CheckedTable, layout: ColumnLayout) -> tuple[list[str], Ints]:
    """The systems' names in order and each row's system: a column, or for several files without one
    their names.
    """
    if "system" in layout.fields:
        column = rows.coded("system")
        return [*column.names], column.code
    stems = system_names([block.part for block in rows.blocks], layout)
    names, code = np.unique(np.array(stems, dtype=object), return_inverse=True)
    return [str(name) for name in names], np.repeat(code, [block.rows for block in rows.blocks])


def system_names(parts: Sequence[InputPart], layout: ColumnLayout) -> list[str]:
    """The system of each part of a table that names none: its column, or of several files their
    names. Files without ids that differ by a date alone hold rows of one system.
    """
    if len(parts) == 1:
        return [layout.only_system]
    stems = [stem(part) for part in parts]
    undated = [DATE.sub("", stem) for stem in stems]
    if len({*undated}) == len({*stems}) or ("id" not in layout.fields and all(undated)):
        return [name or stem for name, stem in zip(undated, stems, strict=True)]
    return stems


def stem(part: InputPart) -> str:
    """The name of a part without its suffix."""
    return part.name if part.unnamed else formats.table(part.path).name.split(".")[0]


def kept_systems(
    names: Sequence[str], systems: Sequence[str], layout: ColumnLayout, part: InputPart
) -> list[str]:
    """The requested systems. Raises if one does not exist or if nothing pairs their rows."""
    kept = roles_of.kept_systems(names, systems)
    if "system" in layout.fields and not systems:
        column = layout.fields["system"].column
        roles_of.refuse_names(names, f"{part.name}: {column}", "systems")
    if "id" not in layout.fields and len(kept) > 1:
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
    by_part = defaultdict[InputPart, list[int]](list)
    places = [rows.locate(row) for row in wanted]
    for part, number in places:
        by_part[part].append(number)
    cells = {part: _cells(part, rows.others[:MOST], numbers) for part, numbers in by_part.items()}
    return [cells[part].get(number, {}) for part, number in places]


def _cells(
    part: InputPart, others: Sequence[str], numbers: Sequence[int]
) -> dict[int, dict[str, str]]:
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

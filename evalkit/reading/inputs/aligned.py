"""Tables of predictions as rows that all systems have: long tables joined on the id, wide tables as
they are.

This is common to binary, multi-class, multi-label and rating tables. A `ColumnLayout` says which
columns all systems share (label, weight, attributes) and which each system has of its own (score,
forecast, probabilities). Rows that some system lacks are counted.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evalkit.arrays import Floats, InputError, Ints
from evalkit.limits import ReadingLimits
from evalkit.names import usual
from evalkit.parameters.kinds import written
from evalkit.parameters.reports import AUTO_SLICES
from evalkit.reading.matching.column_names import (
    columns_of_systems,
    names_with_system,
    snake_case,
)
from evalkit.reading.matching.proposal import Proposal, are_distinct, rating
from evalkit.reading.matching.samples import SampledTable
from evalkit.reading.tables import (
    columns as column_roles,
    duck,
    formats,
    rules,
    sources,
    table,
)
from evalkit.reading.tables.columns import RoleMapping
from evalkit.reading.tables.parts import InputPart, Source
from evalkit.reading.tables.rules import (
    NAME_OR_EMPTY,
    NUMBER,
    Field,
    Precision,
    Role,
    RoleColumn,
    Rules,
)
from evalkit.reading.tables.table import EMPTY_ATTRIBUTE, CheckedTable, Coded, Ids, pair_rows

if TYPE_CHECKING:
    pass


def no_common_ids_error(names: Sequence[str]) -> InputError:
    """The error for systems without a row in common."""
    systems = ", ".join(map(repr, names))
    return InputError(
        f"systems {systems} must share ids, got none in common; `evalkit diff` compares reports on "
        f"different rows"
    )


def repeated_id_error(place: str, id: str, system: str | None = None) -> InputError:
    """The error for an id that a system has more than once; system: None for a wide table."""
    where = f" in system {system!r}" if system else ""
    return InputError(f"{place}: id {id!r} must appear once{where}, got it again")


def disagreement_error(place: str, column: str, id: str, a: object, b: object) -> InputError:
    """The error for two systems that have different values, a and b, of a shared column for an
    id.
    """
    return InputError(
        f"{place}: {column} must have one value for id {id!r}, got {str(a)!r} and {str(b)!r}"
    )


def refuse_disagreement(
    table: CheckedTable,
    layout: "ColumnLayout",
    columns: Mapping[str, Coded | Floats],
    systems: Sequence["SystemRows"],
    id: Ids,
) -> None:
    """Raise InputError if two systems have different values of a shared column for an id.

    columns: the values of all rows, by their names in `layout.fields`. systems: each with rows that
    are paired with those of the others.
    """
    for role, shared in layout.shared_fields.items():
        column = columns[role]
        rows = _first_difference(column, systems)
        if rows is not None:
            cells = column.texts if isinstance(column, Coded) else column
            row, differing_row = rows
            place = table.place(differing_row)
            raise disagreement_error(
                place, shared.column, id.name(differing_row), cells[row], cells[differing_row]
            )


def _first_difference(
    column: Coded | Floats, systems: Sequence["SystemRows"]
) -> tuple[int, int] | None:
    """The first row of the first system, and that of another one with the same id, which differ in
    a column; None if there are none.
    """
    first = systems[0].paired_rows
    values = column.code if isinstance(column, Coded) else column
    for system in systems[1:]:
        differs = np.flatnonzero(values[system.paired_rows] != values[first])
        if differs.size:
            return int(first[differs[0]]), int(system.paired_rows[differs[0]])
    return None


# Rows side by side --------------------------------------------------------------------------------


ATTRIBUTE = "segments or unit"  # the parameters that name attributes
GROUP = "groups"  # the parameter that names attributes whose values are compared
# first words of roles that the page prints elsewhere
UNPRINTED = ("attribute", "metric_column", "true")
UNPAIRED_ID = "id unpaired"  # the role of ids that join no rows
ROW_NAMES = ("id", UNPAIRED_ID, "system")  # roles of the columns that name a row and its system
PROBABILITIES = "probabilities"  # the name of a single system whose columns have no common one


@dataclass(frozen=True)
class ColumnLayout:
    """The columns of one part that are read.

    systems: those that have columns of their own, in a wide table; empty for a long one.
    unique_within: shared roles within which an id is unique; an id may have a row in each of
    several folds. found_by_content: True if the cells of columns, not their names alone, say their
    roles.
    """

    columns: tuple[RoleColumn, ...]
    systems: tuple[str, ...] = ()
    unique_within: tuple[str, ...] = ()
    found_by_content: bool = False

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The name of each column in a `CheckedTable` -> the column and its rules."""
        return {column.name_in_table: column.field for column in self.columns}

    @cached_property
    def shared_fields(self) -> dict[str, Field]:
        """Role -> the column and its rules, of the columns that all systems share, without those
        that name a row or its system.
        """
        shared = [column for column in self.columns if column.system is None]
        return {column.role: column.field for column in shared if column.role not in ROW_NAMES}

    @cached_property
    def predictions(self) -> dict[str, list[RoleColumn]]:
        """Role -> one column per system, in the order of the systems, of each role in which systems
        differ, such as the score; in a long table, a single column for all systems.
        """
        columns = defaultdict[str, list[RoleColumn]](list)
        for column in self.columns:
            if column.system is not None:
                columns[column.role].append(column)
        return dict(columns)

    @cached_property
    def printed_columns(self) -> dict[str, str]:
        """Role -> the names of its columns, separated by commas, as the report prints them under
        "columns"; without roles that it prints elsewhere, such as segments.
        """
        columns = defaultdict[str, list[str]](list)
        for column in self.columns:
            # a role may have a second word: "p spam" are the probabilities p of the class spam
            role = column.role.split(" ")[0]
            if role not in UNPRINTED:
                columns[role].append(column.field.column)
        return {role: ", ".join(names) for role, names in columns.items()}

    def unused_columns(self, part: InputPart) -> tuple[str, ...]:
        """The columns of a part that have no role, and so are not read."""
        columns_in_use = {column.field.column for column in self.columns}
        return tuple(name for name in part.columns if name not in columns_in_use)

    def without(self, role: str) -> Self:
        """The layout without the columns of a role."""
        return replace(self, columns=tuple(c for c in self.columns if c.role != role))

    def with_field(self, role: str, field: Field) -> Self:
        """The layout with another column, or other rules, for a role."""
        columns = [replace(c, field=field) if c.role == role else c for c in self.columns]
        return replace(self, columns=tuple(columns))

    @property
    def only_system(self) -> str:
        """The name of the only system, if no column and no file names it: its column, or what the
        names of its columns begin with, such as prob for prob_cat and prob_dog.
        """
        columns = {
            role: of_systems[0].field.column for role, of_systems in self.predictions.items()
        }
        for role in ("score", "forecast", "predicted"):
            if role in columns:
                return columns[role]
        letters = zip(*columns.values(), strict=False)
        shared = takewhile(lambda same: len(set(same)) == 1, letters)
        return "".join(same[0] for same in shared).rstrip(" _-.(") or PROBABILITIES


@dataclass(frozen=True, eq=False)
class SystemRows:
    """The rows of a system in a table, by their numbers.

    number: the system's place among those of a wide table; 0 in a long one. rows: all of its rows,
    in the order of the table. paired_rows: those whose id every system has, in the order of the
    ids; without ids in the order of the table.
    """

    number: int
    rows: Ints
    paired_rows: Ints


@dataclass(frozen=True, eq=False)
class Aligned:
    """Rows that every system has, in the order of their ids, or of the file if there is no id.

    table: the rows as they were read. layout: the columns of its first part. system_rows: system ->
    its rows in the table. shared_values: role -> the texts or doubles that all systems share, such
    as labels. predictions: system -> role -> texts or doubles, such as scores. sources: the parts
    with their rows.
    """

    table: CheckedTable
    layout: ColumnLayout
    system_rows: Mapping[str, SystemRows]
    shared_values: Mapping[str, Any]
    predictions: Mapping[str, Mapping[str, Any]]
    sources: tuple[Source, ...]

    def __len__(self) -> int:
        return len(self._first.paired_rows)

    @property
    def _first(self) -> SystemRows:
        return next(iter(self.system_rows.values()))

    @property
    def columns(self) -> Mapping[str, str]:
        """Role -> the names of its columns, as the page prints them."""
        return self.layout.printed_columns

    @property
    def unused_columns(self) -> tuple[str, ...]:
        """The columns of the first part that were not read."""
        return self.layout.unused_columns(self.table.blocks[0].part)

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems, in order."""
        return tuple(self.system_rows)

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
        return sum(
            len(system.rows) - len(system.paired_rows) for system in self.system_rows.values()
        )

    @cached_property
    def id(self) -> Any:
        """The id of each row; without a column of ids, its number among the rows that were read.

        Ids that join no rows are Arrow text.
        """
        if UNPAIRED_ID in self.layout.fields:
            return self.table.column(UNPAIRED_ID)
        rows = self._first.paired_rows
        if "id" in self.layout.fields:
            return self.table.texts("id")[rows]
        return (rows + 1).astype(str).astype(object)

    @cached_property
    def precision(self) -> dict[str, dict[str, Precision]]:
        """System -> role -> the type in which its numbers were stored: the widest of all parts that
        hold a row of it.
        """
        return {name: self._precision(system) for name, system in self.system_rows.items()}

    def _precision(self, system: SystemRows) -> dict[str, Precision]:
        """Role -> the type in which the numbers of one system were stored."""
        starts = np.cumsum([0, *(block.rows for block in self.table.blocks)])
        rows_per_block = np.diff(np.searchsorted(system.rows, starts))
        blocks = [
            block for block, rows in zip(self.table.blocks, rows_per_block, strict=True) if rows
        ]
        precision = {}
        for column in self.layout.columns:
            if column.system == system.number and column.field.is_number:
                precision[column.role] = rules.widest_type(
                    rules.precision_of(block.part, block.fields[column.name_in_table].column)
                    for block in blocks
                )
        return precision

    def predictions_of(self, role: str) -> dict[str, Any]:
        """System -> its values of a role, of the systems that have it."""
        return {system: roles[role] for system, roles in self.predictions.items() if role in roles}

    def without(self, role: str) -> Self:
        """The same rows, without the predictions of a role."""
        predictions = {}
        for system, columns in self.predictions.items():
            predictions[system] = {name: columns[name] for name in columns if name != role}
        return replace(self, layout=self.layout.without(role), predictions=predictions)

    def locate(self, row: int, system: str | None = None) -> tuple[InputPart, int]:
        """The part of a row and its number there, from 1, for a system or the first one."""
        rows = self.system_rows[system] if system else self._first
        return self.table.locate(int(rows.paired_rows[row]))

    def place(self, row: int, system: str | None = None) -> str:
        """The file and row for an error, for a system or the first one."""
        part, number = self.locate(row, system)
        return part.place(number)


def read(
    parts: Sequence[InputPart],
    layouts: Sequence[ColumnLayout],
    systems: Sequence[str] = (),
    unit: str | None = None,
    optional: Sequence[str] = (),
) -> Aligned:
    """Read all files and tables, and keep the rows whose id all systems have.

    layouts: the columns of each part. systems: those that the user asks for; empty for all. unit:
    the column of clusters; None without one. optional: attributes, such as segments, that are left
    out, not refused, if two systems disagree on a row's value. Raises InputError, naming file,
    column, row and value, for invalid values, ids that do not pair rows one to one, shared values
    that differ between systems, and rows without a unit.
    """
    rows = table.read(parts, [layout.fields for layout in layouts])
    layout = layouts[0]  # all parts have the same roles
    id = None
    if "id" in layout.fields:
        id = Ids(table.one_array(rows.chunks("id")))
    system_rows = _rows_of_systems(rows, layout, systems, id)
    columns = _columns_of_table(rows, layout)
    if id is not None and not layout.systems:  # the systems of a wide table share each row
        paired = list(system_rows.values())
        layout = _without_disagreements(layout, columns, paired, optional)
        refuse_disagreement(rows, layout, columns, paired, id)
    aligned = _aligned(rows, layout, system_rows, columns)
    if unit is not None:
        # an empty cell has become the text EMPTY_ATTRIBUTE; all rows without a unit would form one
        # cluster
        empty = np.flatnonzero(aligned.shared_values[f"attribute {unit}"].texts == EMPTY_ATTRIBUTE)
        if empty.size:
            raise empty_unit_error(aligned.place(int(empty[0])), unit, empty.size)
    return aligned


def _without_disagreements(
    layout: ColumnLayout,
    columns: Mapping[str, Coded | Floats],
    systems: Sequence[SystemRows],
    optional: Sequence[str],
) -> ColumnLayout:
    """The layout without the attributes of which two systems have different values.

    columns: as in `refuse_disagreement`. optional: the attributes that may be left out.
    """
    for name in optional:
        role = f"attribute {name}"
        if _first_difference(columns[role], systems) is not None:
            layout = layout.without(role)
    return layout


def _aligned(
    rows: CheckedTable,
    layout: ColumnLayout,
    system_rows: Mapping[str, SystemRows],
    columns: Mapping[str, Coded | Floats],
) -> Aligned:
    """The rows that all systems have, with the values that systems share, such as the label, and
    the predictions of each system.

    rows: all rows as they were read. layout: which columns were read for which role. system_rows:
    system -> its rows. columns: name of a column in `layout.fields` -> its values, of all rows.
    """
    # rows with one id agree in the shared columns, or are refused: those of any system will do
    rows_of_any_system = next(iter(system_rows.values())).paired_rows
    shared_values = {
        role: _values_of(columns[role], rows_of_any_system) for role in layout.shared_fields
    }
    predictions: dict[str, dict[str, Any]] = {}
    for name, system in system_rows.items():
        predictions[name] = {}
        for role, column_per_system in layout.predictions.items():
            column_of_system = column_per_system[system.number]
            values = columns[column_of_system.name_in_table]
            predictions[name][role] = _values_of(values, system.paired_rows)
    return Aligned(rows, layout, system_rows, shared_values, predictions, rows.sources)


SAMPLED_PARTS = 8  # whose cells may say which columns have which role


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """The parts of a table before they are read, with the parameters about their columns.

    roles: those that the report declares. columns: role -> the column that the user names for it.
    systems: those that the user asks for; empty for all. attributes: the columns of segments,
    groups, slices and unit. groups: those of groups. optional: those that are left out if systems
    do not agree on them. metric_columns: numeric columns that metrics use ->
    the parameter that names each, for errors.
    """

    parts: Sequence[InputPart]
    roles: Sequence[Role]
    columns: Mapping[str, str] = field(default_factory=dict)
    systems: Sequence[str] = ()
    attributes: Sequence[str] = ()
    metric_columns: Mapping[str, str] = field(default_factory=dict)
    unit: str | None = None
    groups: Sequence[str] = field(default=(), kw_only=True)
    optional: Sequence[str] = field(default=(), kw_only=True)

    @classmethod
    def from_data(cls, data: object, **chosen: Any) -> Self:
        """The parts from a file, folder, glob pattern, frame or list of these."""
        return cls(sources.parts(data), **chosen)

    @cached_property
    def role_mappings(self) -> dict[InputPart, RoleMapping]:
        """File or table -> the column of each role, according to the names of its columns.

        A column that the user names as a segment, group or unit, or that a metric needs, has a role
        only if the parameter `columns` says so, not by its name. Raises ParameterError if `columns`
        has an unknown role.
        """
        roles = [role.name for role in self.roles]
        if self.columns:
            column_roles.check_roles(self.columns, roles)
        # column with another use -> the parameter that names it
        parameter_of_column = dict.fromkeys(self.attributes, ATTRIBUTE)
        parameter_of_column |= dict.fromkeys(self.groups, GROUP)
        parameter_of_column |= self.metric_columns
        mappings = {}
        for part in self.parts:
            mappings[part] = column_roles.match(
                part.columns,
                roles,
                chosen=self.columns,
                where=part.name,
                other_uses=parameter_of_column.keys(),
                required_columns=parameter_of_column,
            )
        return mappings

    def fits_in_memory(self, reading: ReadingLimits) -> bool:
        """True if the rows fit into memory, by an upper bound on their number."""
        return sum(part.most_rows for part in self.parts) <= reading.rows

    @property
    def names_suffice(self) -> bool:
        """True if no value need be looked at to find the columns: their names say which hold the
        predictions and the truth, or a column that the user names is missing, which is an error.
        """
        part = self.parts[0]
        mapping = self.role_mappings[part]
        # the first role of which each system has a column is that of the predictions
        predicted = next(role.name for role in self.roles if role.per_system)
        has_predictions = predicted in mapping.columns
        if not has_predictions:  # it may be a wide table, which has a column for each system
            wide_columns = columns_of_systems(part.columns, predicted, self.systems, part.name)
            has_predictions = bool(wide_columns)
        # such as the label, which all systems share
        truth = {role.name for role in self.roles if role.required and not role.per_system}
        has_truth = truth <= mapping.columns.keys()
        return bool(mapping.missing_columns) or (has_predictions and has_truth)

    @cached_property
    def proposal(self) -> Proposal | None:
        """The column of each role as the values in a file's first rows suggest it: those of the
        first file whose values suggest one for every role that the report needs. None if there is
        no such file, or if the names of the columns suffice.
        """
        if self.names_suffice:
            return None
        for part in self.parts[:SAMPLED_PARTS]:
            proposal = self.propose_columns(self.sample_of(part))
            if proposal.is_complete:
                return proposal
        return None

    @cached_property
    def sample(self) -> SampledTable:
        """The first rows of the first part."""
        return self.sample_of(self.parts[0])

    def sample_of(self, part: InputPart) -> SampledTable:
        """The first rows of a part."""
        uses = [*self.attributes, *self.metric_columns]
        return SampledTable.from_part(part, self.columns, self.systems, uses)

    def propose_columns(self, table: SampledTable) -> Proposal:
        """The proposal of the report."""
        return rating(table)

    @cached_property
    def layouts(self) -> list[ColumnLayout]:
        """The columns of each file that are read: those that the values of the cells suggest
        (`proposal`) if the names of the columns do not suffice, else those that the names say.

        Raises InputError for columns that are missing or ambiguous, for files that differ in their
        columns, and for a table with a column that counts how often each row occurs.
        """
        proposal = self.proposal
        if proposal is None:
            layouts = [self.layout(part) for part in self.parts]
        else:
            layouts = [self.proposed_layout(part, proposal) for part in self.parts]
        if len(layouts) > 1:
            refuse_other_columns(self.parts, layouts)
        self._refuse_counted_rows(layouts[0])
        return layouts

    def _refuse_counted_rows(self, layout: ColumnLayout) -> None:
        """Raise InputError for a table that holds each distinct row once, beside a column that says
        how often it occurs: to ignore the counts would give wrong results.

        Such a column is the only unused one, has a usual name of a count, and whole numbers of at
        least 0. layout: the columns that are read.
        """
        part = self.parts[0]
        columns_in_use = [column.field.column for column in layout.columns]
        unused = [name for name in part.columns if name not in columns_in_use]
        if len(unused) != 1 or snake_case(unused[0]) not in usual("bookkeeping")["row_counts"]:
            return
        roles = {column.role for column in layout.columns}
        # with weights or ids, a row is an observation, and not a kind of row
        if roles & {"weight", *ROW_NAMES}:
            return
        samples = {column.name: column for column in SampledTable.from_part(part, {}).columns}
        counts = samples[unused[0]]
        are_counts = counts.is_whole and counts.finite.min() >= 0
        if are_counts and are_distinct(samples[name] for name in columns_in_use):
            raise column_roles.refused(part.name, "counted_rows", column=counts.name)

    def proposed_layout(self, part: InputPart, proposal: Proposal) -> ColumnLayout:
        """The columns of a part, as proposed by the cells of the first part. Raises InputError for
        a part that lacks one of them.
        """
        declared = {role.name: role for role in self.roles}
        predictions = []
        for i, columns_of_system in enumerate(proposal.predictions.values()):
            for role, column in columns_of_system.items():
                if role in declared:
                    predictions.append(declared[role].column(column, i))
                else:
                    predictions.append(RoleColumn(role, Field(column, self.rules_of(role)), i))
        columns_of_systems = [column.field.column for column in predictions]
        shared = {
            role: name for role, name in proposal.columns.items() if name not in columns_of_systems
        }
        lacking = set(shared.values()).union(columns_of_systems) - set(part.columns)
        if lacking:
            raise column_roles.differing_columns_error(
                part.name, self.parts[0].name, sorted(lacking)
            )
        systems = tuple(name for name in proposal.predictions if name is not None)
        columns = shared_columns(self.roles, shared, self.attributes, self.metric_columns)
        return ColumnLayout(tuple(columns + predictions), systems, found_by_content=True)

    def rules_of(self, role: str) -> Rules:
        """The rules for the cells of a column whose role the report does not declare, such as the
        probabilities of one class.
        """
        return NUMBER

    def layout(self, part: InputPart) -> ColumnLayout:
        """The columns of a part by role."""
        return self.layout_per_system(part, self.roles)

    def layout_per_system(self, part: InputPart, roles: Sequence[Role]) -> ColumnLayout:
        """The columns of a table in which each system has one prediction per row: a long table has
        one column of predictions, a wide one has a column per system, called score_<system> or
        named by the user.

        roles: those that the report may read; the first one that is `per_system` is that of the
        predictions. Raises InputError for all columns that are missing or ambiguous.
        """
        predicted = next(role for role in roles if role.per_system)
        is_long = not self.role_mappings[part].missing_roles([predicted.name])
        if is_long:
            return self._long_layout(part, roles, predicted)
        wide_columns = columns_of_systems(part.columns, predicted.name, self.systems, part.name)
        if wide_columns:
            return self._wide_layout(part, roles, predicted, wide_columns)
        return self._long_layout(part, roles, predicted)  # raises the error for missing columns

    def _long_layout(self, part: InputPart, roles: Sequence[Role], predicted: Role) -> ColumnLayout:
        """The columns of a table with one column of predictions. predicted: the role of it."""
        required = [role.name for role in roles if role.required]
        names = [role.name for role in roles]
        columns = self.role_mappings[part].resolve(required, names, predicted.name)
        self._refuse_long_and_wide(part, predicted.name, columns)
        chosen = shared_columns(roles, columns, self.attributes, self.metric_columns)
        for role in roles:
            if role.per_system and role.name in columns:
                chosen.append(role.column(columns[role.name], 0))
        return ColumnLayout(tuple(chosen))

    def _wide_layout(
        self,
        part: InputPart,
        roles: Sequence[Role],
        predicted: Role,
        wide_columns: Mapping[str, str],
    ) -> ColumnLayout:
        """The columns that are read of a table with one column of predictions per system: those
        that systems share, such as the label, then those of each system.

        roles: those that the report may read. predicted: that of the predictions, such as score.
        wide_columns: system -> its column of predictions.
        """
        required = [role.name for role in roles if role.required and role is not predicted]
        column_of_role = self.role_mappings[part].resolve(required, [role.name for role in roles])
        # a column of systems would say that rows differ in their system
        column_of_role.pop("system", None)
        columns = shared_columns(roles, column_of_role, self.attributes, self.metric_columns)
        for number, name in enumerate(wide_columns.values()):
            columns.append(predicted.column(name, system=number))
        for role in roles:
            if role is predicted or not role.per_system:
                continue
            # a further role, such as the decision, is read if every system has a column of it
            names = [f"{role.name}_{system}" for system in wide_columns]
            if set(names) <= set(part.columns):
                for number, name in enumerate(names):
                    columns.append(role.column(name, system=number))
        return ColumnLayout(tuple(columns), systems=tuple(wide_columns))

    def _refuse_long_and_wide(self, part: InputPart, role: str, columns: Mapping[str, str]) -> None:
        """Raise InputError for a table that is long and wide at once: one column has the role, and
        others have it for one system each, such as score_a beside score.

        columns: role -> column.
        """
        if role in self.columns:  # the user says which column has it
            return
        columns_in_use = set(columns.values()).union(self.attributes, self.metric_columns)
        system_columns = [
            name for name in names_with_system(part.columns, role) if name not in columns_in_use
        ]
        if system_columns:
            raise column_roles.refused(
                part.name,
                "two_ways",
                role=role,
                column=columns[role],
                others=column_roles.listed(map(repr, system_columns)),
                first=written({role: columns[role]}),
            )

    def rows(self) -> Aligned:
        """All rows, as `read` pairs them. Raises InputError with file, column, row and value."""
        return read(self.parts, self.layouts, self.systems, self.unit, self.optional)

    def slice_columns(self, slices: Sequence[str]) -> tuple[str, ...]:
        """The columns that are searched for weak slices: those that are named, or all without a
        role, segments and groups among them, for `AUTO_SLICES`.
        """
        part = self.parts[0]
        if tuple(slices) != AUTO_SLICES:
            for name in slices:
                column_roles.require_column(part.columns, name, part.name, "slices")
            return tuple(dict.fromkeys(slices))
        unused = self.layouts[0].unused_columns(part)
        return tuple(name for name in (*unused, *self.attributes) if name != self.unit)

    def with_slices(self, columns: Sequence[str], slices: Sequence[str]) -> Self:
        """The table with the columns of slices. slices: the parameter; of `AUTO_SLICES`, a column
        on which systems do not agree is left out.
        """
        named = dict.fromkeys(self.attributes)
        optional = [name for name in columns if name not in named] if slices == AUTO_SLICES else []
        return replace(self, attributes=list(named | dict.fromkeys(columns)), optional=optional)


def shared_columns(
    roles: Sequence[Role],
    columns: Mapping[str, str],
    attributes: Iterable[str],
    metric_columns: Iterable[str] = (),
) -> list[RoleColumn]:
    """The columns of which all systems have the same values: those of shared roles, such as the
    label, then the texts of segments and unit, then the numbers that metrics of the user need.

    roles: those that the report may read. columns: role -> column, of the roles that have one.
    attributes: the columns of segments and unit. metric_columns: those that metrics need.
    """
    shared_roles = [role for role in roles if role.name in columns and not role.per_system]
    shared = [role.column(columns[role.name]) for role in shared_roles]
    for name in attributes:
        shared.append(RoleColumn(f"attribute {name}", Field(name, NAME_OR_EMPTY)))
    for name in metric_columns:
        shared.append(RoleColumn(f"metric_column {name}", Field(name, NUMBER)))
    return shared


def refuse_other_columns(parts: Sequence[InputPart], layouts: Sequence[ColumnLayout]) -> None:
    """Raise InputError for parts that do not have the same columns, or name other systems in their
    columns.
    """
    for part, layout in zip(parts[1:], layouts[1:], strict=True):
        if set(layout.systems) != set(layouts[0].systems):
            raise InputError(
                f"{parts[0].name} and {part.name} must name the same systems in their columns"
            )
    table.refuse_missing_columns(parts, [layout.fields for layout in layouts])


DATE = re.compile(r"[-_ .]*(19|20)\d\d([-_]?\d\d){1,2}(?!\d)")  # in the name of a file

# Pairing the rows of systems ----------------------------------------------------------------------


def _rows_of_systems(
    rows: CheckedTable, layout: ColumnLayout, requested: Sequence[str], id: Ids | None
) -> dict[str, SystemRows]:
    """System -> the numbers of all of its rows, and of those whose id all systems have, in the
    order of the ids; of each requested system.

    In a wide table each row has a column per system, and so belongs to all systems. A long table
    has a row per system and id; without ids it can have one system only, whose rows stay in order.
    requested: empty for all systems. id: the id of each row; None without a column of ids.
    """
    if layout.systems:  # a wide table; only requested systems are in its layout
        all_rows = np.arange(len(rows))
        ordered_rows = all_rows if id is None else _rows_by_id(rows, id)
        return {
            name: SystemRows(i, all_rows, ordered_rows) for i, name in enumerate(layout.systems)
        }
    names, code = _systems(rows, layout)  # code: the index in `names` of each row's system
    chosen = requested_systems(names, requested, layout, rows.blocks[0].part)
    rows_by_system = {name: np.flatnonzero(code == names.index(name)) for name in chosen}
    paired_rows = list(rows_by_system.values())  # one array per chosen system
    if id is not None:
        paired_rows = _paired_by_id(rows, layout, id, rows_by_system)
    system_rows = {}
    for name, paired in zip(chosen, paired_rows, strict=True):
        # number 0: the predictions of all systems stand in the same, first column
        system_rows[name] = SystemRows(number=0, rows=rows_by_system[name], paired_rows=paired)
    return system_rows


def _rows_by_id(rows: CheckedTable, id: Ids) -> Ints:
    """The row numbers of a wide table in the order of the ids. Raises InputError for an id that two
    rows have.
    """
    # a table with one row per id is one whose rows are all of one system: pairing them with no
    # other system sorts them by id, and finds an id that occurs twice
    only_system = np.zeros(len(rows), np.int64)
    pairing = pair_rows(id.rank, only_system, systems=1)
    if pairing.repeated_row is not None:
        raise repeated_id_error(rows.place(pairing.repeated_row), id.name(pairing.repeated_row))
    return pairing.rows[:, 0]


def _paired_by_id(
    rows: CheckedTable, layout: ColumnLayout, id: Ids, systems: Mapping[str, Ints]
) -> list[Ints]:
    """For each system its rows of the ids that all systems have, ordered by id, then by fold.

    systems: the rows of each. Raises InputError if systems share an id and hold it in different
    folds.
    """
    key = id.rank
    folds = [rows.coded(role) for role in layout.unique_within]
    for fold in folds:  # one number per id and fold, renumbered from 0 on so that it stays small
        key = np.unique(key * len(fold.names) + fold.code, return_inverse=True)[1]
    rows_by_system = np.concatenate(list(systems.values()))
    rows_per_system = [len(rows_of_system) for rows_of_system in systems.values()]
    system = np.repeat(np.arange(len(systems)), rows_per_system)
    pairing = pair_rows(key[rows_by_system], system, len(systems))
    if pairing.repeated_row is not None:
        row = int(rows_by_system[pairing.repeated_row])
        name = list(systems)[system[pairing.repeated_row]]
        raise repeated_id_error(rows.place(row), id.name(row), name)
    pairs = list(rows_by_system[pairing.rows].T)
    if folds:
        _refuse_other_folds(rows, id, folds, systems, pairs)
    if not len(pairs[0]):
        raise no_common_ids_error(list(systems))
    return pairs


def _refuse_other_folds(
    rows: CheckedTable,
    id: Ids,
    folds: Sequence[Coded],
    systems: Mapping[str, Ints],
    pairs: Sequence[Ints],
) -> None:
    """Raise InputError for an id that two systems have in different folds. systems: the rows of
    each. pairs: for each system those that are paired.
    """
    for name, paired_rows in zip(systems, pairs, strict=True):
        unpaired = np.setdiff1d(systems[name], paired_rows)
        for other_name, other_rows in systems.items():
            # the other system has the id, but not in the same fold
            elsewhere = unpaired[np.isin(id.rank[unpaired], id.rank[other_rows])]
            if other_name != name and elsewhere.size:
                row = int(elsewhere[0])
                raise column_roles.refused(
                    rows.place(row),
                    "other_folds",
                    id=id.name(row),
                    folds=", ".join(repr(str(fold.texts[row])) for fold in folds),
                    system=name,
                    other=other_name,
                )


def _columns_of_table(rows: CheckedTable, layout: ColumnLayout) -> dict[str, Coded | Floats]:
    """Name of a column in `layout.fields` -> its values in all rows: doubles, or texts as codes, in
    which the text "(none)" stands for an empty cell, so that empty cells form a group too.

    Columns of ids and systems are left out: they say which rows belong together, and have been
    used.
    """
    columns = dict[str, Coded | Floats]()
    for name, column in layout.fields.items():
        if column.is_number:
            columns[name] = rows.numbers(name)
        elif name not in ROW_NAMES:
            columns[name] = rows.coded(name, column.normalise, empty_text=EMPTY_ATTRIBUTE)
    return columns


def _values_of(column: Coded | Floats, rows: Ints) -> Coded | Floats:
    """The values of a column in some rows, in the order of `rows`. rows: row numbers, each once."""
    # all rows, ascending: the values need not be copied
    is_whole_column = len(rows) == len(column) and bool(np.all(rows[1:] > rows[:-1]))
    if is_whole_column:
        return column
    if isinstance(column, Coded):
        return column.take(rows)
    return column[rows]


def _systems(rows: CheckedTable, layout: ColumnLayout) -> tuple[list[str], Ints]:
    """The systems' names in order, and the number of each row's system: by the column of systems,
    else by the parts that hold the rows.
    """
    if "system" in layout.fields:
        column = rows.coded("system")
        return list(column.names), column.code
    system_of_part = system_names([block.part for block in rows.blocks], layout)
    names, number = np.unique(np.array(system_of_part, dtype=object), return_inverse=True)
    code = np.repeat(number, [block.rows for block in rows.blocks])
    return [str(name) for name in names], code


def system_names(parts: Sequence[InputPart], layout: ColumnLayout) -> list[str]:
    """The system of each part of a table without a column of systems: of a single part that of its
    columns, of several the name of the file, without a date if that tells them apart.

    Files without ids whose names differ in their date alone hold rows of one system.
    """
    if len(parts) == 1:
        return [layout.only_system]
    stems = [stem(part) for part in parts]
    undated = [DATE.sub("", stem) for stem in stems]
    are_distinct_undated = len(set(undated)) == len(set(stems))
    are_one_system = "id" not in layout.fields and all(undated)
    if are_distinct_undated or are_one_system:
        return [name or stem for name, stem in zip(undated, stems, strict=True)]
    return stems


def stem(part: InputPart) -> str:
    """The name of a part without its suffix."""
    return part.name if part.unnamed else formats.table(part.path).name.split(".")[0]


def requested_systems(
    names: Sequence[str], requested: Sequence[str], layout: ColumnLayout, part: InputPart
) -> list[str]:
    """The requested systems, all if none is requested. Raises ParameterError if one does not exist,
    InputError for several systems without ids to pair their rows.
    """
    systems = column_roles.requested_systems(names, requested)
    if "system" in layout.fields and not requested:
        column = layout.fields["system"].column
        column_roles.refuse_names(names, f"{part.name}: {column}", "systems")
    if "id" not in layout.fields and len(systems) > 1:
        columns = ", ".join(map(repr, part.columns))
        raise column_roles.refused(part.name, "no_id", systems=len(systems), columns=columns)
    return systems


def empty_unit_error(place: str, unit: str, rows: int) -> InputError:
    """The error for rows without a unit, which would otherwise count as one unit."""
    noun = "rows" if rows > 1 else "row"
    where = f"{rows:,} {noun}"
    return InputError(
        f"{place}: {unit} must not be empty where it is the unit, got nothing ({where})"
    )


# Other columns ------------------------------------------------------------------------------------


MOST = 8  # columns


def others_of_rows(rows: Aligned, wanted: Sequence[int]) -> list[dict[str, str]]:
    """The first unused columns of some rows of the first system: for each row name -> cell, without
    empty cells.

    wanted: the rows, by their places in `rows`. Raises InputError if the file can no longer be
    read.
    """
    locations = [rows.locate(row) for row in wanted]
    numbers_by_part = defaultdict[InputPart, list[int]](list)
    for part, number in locations:
        numbers_by_part[part].append(number)
    names = rows.unused_columns[:MOST]
    cells = {part: _cells(part, names, numbers) for part, numbers in numbers_by_part.items()}
    return [cells[part].get(number, {}) for part, number in locations]


def _cells(
    part: InputPart, names: Sequence[str], numbers: Sequence[int]
) -> dict[int, dict[str, str]]:
    """Number of a row -> name of a column -> cell, without empty cells.

    names: the columns; those that the part lacks are left out. numbers: of the rows, from 1.
    """
    columns = [name for name in names if name in part.columns]
    if not columns:
        return {}
    selected = part.select({f"other {name}": name for name in columns}, {})
    quoted = ", ".join(duck.DUCKDB.quote(f"other {name}") for name in columns)
    condition = f"n IN ({', '.join(map(str, numbers))})"
    cells: dict[int, dict[str, str]] = {}
    for row in selected.where(condition, quoted, len(numbers)):
        texts = {name: row[f"other {name}"] for name in columns}
        cells[row["n"]] = {name: str(text) for name, text in texts.items() if text is not None}
    return cells

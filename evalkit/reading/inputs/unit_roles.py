"""The role of each column in a table of values per unit: unit id, systems, values, metric.

What the user says decides first, then the usual names, then the cells.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from string import ascii_lowercase as LETTERS
from typing import TYPE_CHECKING

import numpy as np

from evalkit.arrays import Floats, InputError, ratio
from evalkit.names import usual
from evalkit.parameters.kinds import written
from evalkit.reading.inputs.unit_columns import (
    CELLS,
    RUNNING_NUMBER,
    UnitColumn,
    UnitTable,
    bookkeeping_among,
    measure_of,
    tracked,
)
from evalkit.reading.matching.column_names import (
    NAMES,
    NAMES_BY_USE,
    PREDICTION_WORDS,
    is_bookkeeping,
    snake_case,
    uses_of,
)
from evalkit.reading.matching.commands import command_or_call
from evalkit.reading.matching.proposal import Choice, Proposal, ReadingWay, reading_ways
from evalkit.reading.matching.samples import (
    ACTUALS,
    ANSWERS,
    ColumnSample,
    SampledTable,
    distinct_name_parts,
    samples_of,
)
from evalkit.reading.tables import columns as column_roles, formats
from evalkit.reading.tables.columns import refused, sentence
from evalkit.reading.tables.parts import InputPart
from evalkit.reading.tables.rules import row_suffix

if TYPE_CHECKING:
    import pyarrow as pa

ROW = "row"  # what the unit is called if no column names it
# the meanings of columns of text
ID = "id"
CLUSTER = "cluster"
SYSTEM = "system"
METRIC = "metric"


@dataclass(frozen=True, eq=False)
class FreeColumns:
    """The columns of a table without a role so far, in their order."""

    table: UnitTable
    columns: tuple[UnitColumn, ...]

    @classmethod
    def from_table(cls, table: UnitTable) -> "FreeColumns":
        """All columns. Raises InputError if a part has others than the first."""
        table.refuse_unlike()
        return cls(table, tuple(table.columns))

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def columns_of_kind(self, kind: str) -> list[UnitColumn]:
        """The columns that hold numbers, text, or nothing ("empty")."""
        return [column for column in self.columns if column.kind == kind]

    def columns_used_as(self, use: str) -> list[UnitColumn]:
        """The columns whose names suggest this use."""
        return [column for column in self.columns if use in column.suggested_uses]

    @property
    def repeats(self) -> list[UnitColumn]:
        """The columns that count repetitions, or number splits."""
        return [column for column in self.columns if column.repeats]

    def without(self, roles: Collection[UnitColumn | None]) -> "FreeColumns":
        """The columns except these, which have a role now; None is no column."""
        remaining = tuple(column for column in self.columns if column not in roles)
        return replace(self, columns=remaining)

    def named(self, name: str) -> UnitColumn:
        """The column of that name."""
        return self.columns[self.names.index(name)]

    def usual(self, use: str) -> list[UnitColumn]:
        """The columns whose names suggest this use, the clearest first."""
        columns: list[UnitColumn] = []
        for name in NAMES_BY_USE[use]:
            columns += [column for column in self.columns if column.key == name]
        return columns

    def lacking(self, role: str) -> InputError:
        """The error for a role without a column."""
        return column_roles.unresolved([role], self.table.names, self.table.name)

    def single_candidate(self, role: str, candidates: Sequence[UnitColumn]) -> UnitColumn | None:
        """The candidate for a role, None without one. Raises InputError if there are several."""
        if len(candidates) > 1:
            names = column_roles.listed([repr(column.name) for column in candidates])
            first = written({role: candidates[0].name})
            raise refused(self.table.name, f"which_{role}", columns=names, first=first)
        return candidates[0] if candidates else None

    def system(self) -> UnitColumn | None:
        """The column that names the systems; None if there is none.

        A numeric column `run` counts repetitions, unless the table also has a column `value` and no
        other system. Raises InputError if several columns are possible.
        """
        usual = self.usual("system")
        named = [column for column in usual if column.key != "run" or column.kind != "numbers"]
        if not named and any(column.key == "value" for column in self.columns):
            named = usual
        exact = [column for column in named if column.name == "system"]
        return self.single_candidate("system", exact or named)

    def metric(self) -> UnitColumn | None:
        """The column that names the metrics, also by words such as solved; None without one."""
        usual = self.usual("metric")[:1]
        return usual[0] if usual and not usual[0].holds_only_numbers else None

    def value(self) -> UnitColumn:
        """The column of the values of a long table.

        A usual name decides, then a single numeric column that is no id, repetition, rank or
        position. Raises InputError with the candidates if none or several remain.
        """
        usual = [column for column in self.usual("value") if column.kind == "numbers"]
        exact = [column for column in usual[:1] if column.name == "value"]
        numbers = [
            column
            for column in self.columns_of_kind("numbers")
            if not column.is_named_as_bookkeeping
        ]
        value = self.single_candidate("value", exact or usual or numbers)
        if value is None:
            raise refused(self.table.name, "no_value", columns=", ".join(map(repr, self.names)))
        return value

    @property
    def systems(self) -> list[UnitColumn]:
        """The columns of a wide table that may be systems."""
        aside = {"truth", "aside"}
        numbers = self.columns_of_kind("numbers")
        return [
            column
            for column in numbers
            if not column.is_named_as_bookkeeping and not column.suggested_uses & aside
        ]

    def counters(self, cluster: UnitColumn) -> list[UnitColumn]:
        """The columns that number the rows of each cluster."""
        numbers = self.columns_of_kind("numbers")
        return [column for column in numbers if self.table.numbers_rows(column, cluster)]

    @property
    def totals(self) -> dict[str, str]:
        """The uses "successes" and "trials" -> a column of numbers with a usual name; empty without
        both.
        """
        successes = [column for column in self.usual("successes") if column.kind == "numbers"]
        trials = [column for column in self.usual("trials") if column.kind == "numbers"]
        if not successes or not trials:
            return {}
        return {"successes": successes[0].name, "trials": trials[0].name}

    def units(self) -> list[UnitColumn]:
        """The columns that identify the units of a long table: one, or fold and repetition; empty
        if there is none.

        A usual name decides, then an id, then a single text column, then a single repetition.
        Raises InputError with the candidates if several text columns remain.
        """
        if named := self._usual_unit() or self.columns_used_as("id")[:1]:
            return named
        texts = [
            column for column in self.columns_of_kind("text") if not column.is_named_as_bookkeeping
        ]
        unit = self.single_candidate("unit", texts or self.repeats)
        return [unit] if unit else []

    def units_within(
        self, cluster: UnitColumn | None, beside: Sequence[UnitColumn | None]
    ) -> list[UnitColumn]:
        """The column that identifies the units of each cluster of a long table, by its cells; empty
        if there is none, if a name says which column identifies units, or if clusters are units.

        Within a cluster each of its values comes once for every combination of `beside` (system and
        metric) and repetition, or at least for more than half of them. Of several such columns it
        is the one with the fewest units.
        """
        if cluster is None or self._usual_unit() or self.columns_used_as("id"):
            return []
        table = self.table
        repeated = [column for column in (*beside, *self.repeats) if column]
        if table.distinct([cluster, *repeated]) == table.rows:  # clusters are units
            return []
        combinations = table.distinct(repeated)
        units = dict[UnitColumn, int]()
        for column in self.columns:
            if column.repeats or column.kind == "empty" or "value" in column.suggested_uses:
                continue
            number = table.distinct([cluster, column])
            is_unique = table.distinct([cluster, column, *repeated]) == table.rows
            covers_half = number * combinations < 2 * table.rows
            if is_unique and covers_half:
                units[column] = number
        return sorted(units, key=units.__getitem__)[:1]

    def units_of_rows(self) -> list[UnitColumn]:
        """The columns that identify the units of a wide table; empty if each row is a unit.

        A usual name decides, then an id, then a text column with distinct cells, or the only text
        beside repetitions, then the number of a split.
        """
        if usual := self._usual_unit():
            return usual
        tool_names = ("unnamed", "level", "column")  # given to a column without a name
        for column in self.columns_used_as("id"):
            if column.kind != "empty" and not column.key.startswith(tool_names):
                return [column]
        texts = self.columns_of_kind("text")
        for column in texts:
            if column.distinct:
                return [column]
        if len(texts) == 1 and self.repeats:
            return texts
        return [column for column in self.columns_used_as("split") if column.distinct][:1]

    def _usual_unit(self) -> list[UnitColumn]:
        """The column with the usual name of a unit; before a column of folds also that of their
        repetition, as fold 1 of another repetition is another fold. Empty without one.
        """
        unit = self.usual("unit")[:1]
        if not unit or "fold" not in unit[0].suggested_uses:
            return unit
        repeats = [column for column in self.usual("repeat") if column not in unit]
        return [*repeats[:1], *unit]


@dataclass(frozen=True, eq=False)
class UnitRoles:
    """The columns of a table by role, and the columns without a role.

    ids: the columns that identify units, empty if each row is one. cluster: the column of clusters;
    None if units are independent. values: for a wide table one column per system; for a long one a
    single column, whose rows name their `system` and perhaps `metric`. free_columns: the columns
    without a role. chosen: role -> column, as the user names them.
    """

    ids: Sequence[UnitColumn]
    cluster: UnitColumn | None
    values: Sequence[UnitColumn]
    free_columns: FreeColumns
    chosen: Mapping[str, str]
    system: UnitColumn | None = None
    metric: UnitColumn | None = None

    @classmethod
    def of_long(
        cls, columns: FreeColumns, chosen: Mapping[str, str], unit: str | None
    ) -> "UnitRoles":
        """The roles of a long table. unit: the column of clusters that the user names.

        Raises InputError if a column for a role is missing or several are possible.
        """
        by_role = {role: columns.named(name) for role, name in chosen.items()}
        system = by_role.get("system") or columns.system()
        if system is None:
            raise columns.lacking("system")
        metric = by_role.get("metric") or columns.metric()
        cluster = columns.named(unit) if unit else None
        free = columns.without([system, cluster, metric, *by_role.values()])
        if "value" not in by_role:
            refuse_leaderboard(system, free)
        ids: Sequence[UnitColumn] = []
        if "unit" in by_role:
            ids = [by_role["unit"]]
        else:
            ids = free.units_within(cluster, [system, metric])
        value = by_role.get("value") or value_of_long(free.without(ids))
        free = free.without([value])
        roles = cls(ids or free.units(), cluster, [value], free, chosen, system, metric)
        return roles.clustered().checked()

    @classmethod
    def of_wide(
        cls,
        columns: FreeColumns,
        chosen: Mapping[str, str],
        unit: str | None,
        systems: Sequence[str],
    ) -> "UnitRoles":
        """The roles of a wide table: each numeric column that may be a system is one, or those that
        `systems` names. unit: the column of clusters that the user names.
        """
        chosen_systems = [columns.named(name) for name in dict.fromkeys(systems)]
        cluster = columns.named(unit) if unit else None
        free = columns.without([cluster, *chosen_systems])
        if not chosen_systems:
            refuse_pairs(columns)
        ids = [columns.named(chosen["unit"])] if "unit" in chosen else free.units_of_rows()
        if cluster and not ids:
            ids = [cluster] if free.repeats else free.counters(cluster)[:1]
        free = free.without(ids)
        values = chosen_systems or free.systems
        if not values:
            part = columns.table.parts[0]
            refuse_predictions(part, reading_ways(part))
            raise refused(columns.table.name, "no_system", columns=", ".join(columns.names))
        roles = cls(ids, cluster, values, free, chosen).checked()
        if not chosen_systems:
            refuse_other_tables(roles, columns, free)
        return roles

    def clustered(self) -> "UnitRoles":
        """The roles of a long table, with the clusters as the units if nothing but repetitions
        tells their rows apart.

        Raises InputError if no column identifies units.
        """
        # true without ids too
        only_repeats = all(
            column.repeats and "unit" not in self.ids[0].suggested_uses for column in self.ids
        )
        if self.cluster and only_repeats:
            return replace(self, ids=[self.cluster])
        if not self.ids:
            raise self.free_columns.lacking("unit")
        return self

    def checked(self) -> "UnitRoles":
        """The roles without a column in two of them. Raises InputError for a row of totals."""
        refuse_totals(self.ids)
        free_columns = self.free_columns.without([*self.ids, *self.values])
        cluster = None if self.cluster in self.ids else self.cluster
        return replace(self, free_columns=free_columns, cluster=cluster)

    @property
    def table(self) -> UnitTable:
        """The table of the columns."""
        return self.free_columns.table

    @property
    def stated(self) -> bool:
        """True if the user names the unit."""
        return "unit" in self.chosen

    @property
    def guess(self) -> str:
        """The column of values of a long table if only its cells suggest it; else ""."""
        value = self.values[0]
        is_named = "value" in self.chosen or "value" in value.suggested_uses
        return "" if self.system is None or is_named else value.name

    @property
    def texts(self) -> dict[str, Sequence[UnitColumn]]:
        """Meaning -> the text columns that identify the unit, the cluster, the system and the
        metric of a value, of those that the table has.
        """
        texts: dict[str, Sequence[UnitColumn]] = {}
        if self.ids:
            texts[ID] = self.ids
        if self.cluster:
            texts[CLUSTER] = [self.cluster]
        if self.system:
            texts[SYSTEM] = [self.system]
        if self.metric:
            texts[METRIC] = [self.metric]
        return texts

    @property
    def task(self) -> list[UnitColumn]:
        """The column that names the task of a unit, if there is one."""
        return self.free_columns.columns_used_as("task")[:1]

    @property
    def groups(self) -> list[UnitColumn]:
        """The further columns that may name clusters of units."""
        if self.system and not self.table.logged:
            return self.task
        return [
            column
            for column in self.free_columns.columns
            if column.kind == "text" or "id" in column.suggested_uses
        ]

    @property
    def groups_read(self) -> list[UnitColumn]:
        """The columns of `groups` whose texts are read: for large tables those of tasks alone. Logs
        are held in memory at any size.
        """
        in_memory = self.table.engine.is_for_memory or self.table.logged
        return self.groups if in_memory else self.task

    @property
    def keys(self) -> list[UnitColumn]:
        """The columns that distinguish the rows of different units."""
        if self.cluster is None:
            return list(self.ids)
        return [*self.ids, self.cluster]

    @property
    def cell(self) -> list[UnitColumn]:
        """The columns that distinguish the rows of different values."""
        return list(chain.from_iterable(self.texts.values()))

    @cached_property
    def cells(self) -> int:
        """The number of rows that differ in the columns of `cell`; all do if each row is a
        unit.
        """
        return self.table.distinct(self.cell) if self.ids else self.table.rows

    @cached_property
    def metrics(self) -> Sequence[str]:
        """The names of the metrics that the rows name, or of the column of values."""
        return self.table.texts(self.metric) if self.metric else [self.values[0].name]

    @cached_property
    def systems(self) -> Sequence[str]:
        """The names of the systems: in the rows, or of the columns of values."""
        if self.system:
            return self.table.texts(self.system)
        return [column.name for column in self.values]

    @property
    def name(self) -> str:
        """The noun for what a value of the input describes."""
        return self.ids[-1].name if self.ids else self.varying_noun

    @property
    def varying_noun(self) -> str:
        """The noun for what varies independently: the cluster, else the unit."""
        if self.cluster:
            return self.cluster.name
        return self.ids[-1].name if self.ids else ROW

    @property
    def printed(self) -> dict[str, str]:
        """Role -> columns, as the page lists them."""
        columns = {}
        if self.ids:
            columns["unit"] = " and ".join(column.name for column in self.ids)
        if self.cluster:
            role = "cluster" if self.ids else "unit"
            columns[role] = self.cluster.name
        values = ", ".join(column.name for column in self.values)
        if self.system is None:
            return {**columns, "systems": values}
        columns |= {"system": self.system.name, "value": values}
        if self.metric:
            columns["metric"] = self.metric.name
        return columns


# Tables that could be meant in two ways, refused --------------------------------------------------


SHOWN = 5  # columns that a message lists
GRADES = {"grade", "relevance", "rel"}  # judged items, not relevance as a metric of answers
VERSIONS = set(usual("systems")["versions"]).union(usual("arms")["control"])
_UNIT_OF_MEASUREMENT = re.compile(
    rf"([ _.]*[(\[].*[)\]]|[ _.]({'|'.join(usual('measurement')['units'])}))+$"
)
TOLERANCE = 1e-3  # of a mean that was rounded to a few digits
_NAME_OF_SIDE = re.compile(
    rf"({'|'.join(NAMES_BY_USE['system'])})_?(a|b|1|2|left|right|first|second)"
)


def refuse_other_units(roles: UnitRoles) -> None:
    """Raise InputError if columns with few texts tell apart all rows of the same unit, and no
    column counts draws.

    Question 3 of one data set is not the same question as question 3 of the next, and not a draw of
    it.
    """
    table = roles.table
    groups = [column for column in roles.free_columns.columns if column.groups]
    if roles.free_columns.repeats or not groups or roles.cells == table.rows:
        return
    values_per_unit = len(roles.metrics) * len(roles.systems) if roles.system else 1
    with_few_texts = [
        column for column in groups if 2 * table.distinct([column]) * values_per_unit <= table.rows
    ]
    distinguishing = [
        column for column in with_few_texts if table.distinct([*roles.cell, column]) > roles.cells
    ]
    if not distinguishing or table.distinct(roles.cell + distinguishing) < table.rows:
        return
    first = distinguishing[0].name
    raise refused(
        table.name,
        "other_units",
        unit=roles.name,
        columns=" and ".join(repr(column.name) for column in distinguishing),
        first=first,
        draws=written({"unit": roles.name}),
        metric=written({"metric": first}),
    )


def refuse_totals(units: Sequence[UnitColumn]) -> None:
    """Raise InputError for a row whose unit is named like a statistic of the others: Total,
    Durchschnitt, std, 25%.
    """
    for column in units:
        if cell := column.first(column_roles.SUMMARY):
            raise refused(
                cell.part.name,
                "totals",
                column=column.name,
                cell=cell.text,
                at=row_suffix(cell.row),
            )


def refuse_leaderboard(system: UnitColumn, free: FreeColumns) -> None:
    """Raise InputError if each row is another system, with one value or with totals."""
    if not system.distinct:
        return
    refuse_counts(free, system)
    if free.table.rows > 2:
        raise refused(free.table.name, "leaderboard", column=system.name)


def refuse_other_tables(roles: UnitRoles, columns: FreeColumns, free: FreeColumns) -> None:
    """Raise InputError for a wide table whose columns are no systems, or, unless the user names the
    unit, whose rows are no units.

    columns: all columns. free: all but those of units.
    """
    part = columns.table.parts[0]
    possible = reading_ways(part)
    refuse_predictions(part, possible)
    refuse_answers(part, [column.name for column in roles.values])
    refuse_users(roles, possible)
    if free.totals:
        labels = [column for column in columns.columns_of_kind("text") if column.distinct]
        if labels:
            refuse_counts(free, labels[0])
    if not roles.stated:
        _refuse_ids_of_no_units(roles, part)
    refuse_bookkeeping(roles, free.columns_of_kind("numbers"))
    refuse_draws_as_systems(roles)
    refuse_words_of_systems(roles)
    if roles.stated:
        return
    for column in columns.columns_used_as("training"):
        if column.distinct:
            raise refused(part.name, "steps", column=column.name)
    if roles.cluster is None:
        refuse_features(roles, possible)


def refuse_words_of_systems(roles: UnitRoles) -> None:
    """Raise InputError for a column of two words, such as yes and no, whose name is of one family
    with those of the systems: it would vanish.
    """
    names = [column.name for column in roles.values]
    for column in roles.free_columns.columns_of_kind("text"):
        is_alike = are_of_one_family([*names, column.name])
        if is_alike and roles.table.distinct([column]) == 2:
            column.refuse_text()


def _refuse_ids_of_no_units(roles: UnitRoles, part: InputPart) -> None:
    """Raise InputError for rows that are metrics, terms of a model, roles or systems, by the name
    of their column or by their texts.
    """
    for column in roles.ids:
        if "metric" in column.suggested_uses:
            raise refused(part.name, "metrics", column=column.name)
        if column.key in NAMES["terms"]:
            raise refused(part.name, "terms", column=column.name)
        refuse_transposed(column, part)
        if len(roles.values) == 1 and column.key.startswith(tuple(NAMES["makers"])):
            raise refused(part.name, "leaderboard", column=column.name)


def refuse_transposed(column: UnitColumn, part: InputPart) -> None:
    """Raise InputError for a table whose rows, not columns, are called actual and forecast or the
    like. column: that of the units.
    """
    names = {snake_case(text) for text in part.head.get(column.name, ()) if text is not None}
    answers = sorted(names & (ANSWERS | ACTUALS))
    if answers and any(PREDICTION_WORDS.intersection(name.split("_")) for name in names):
        raise refused(part.name, "transposed", column=column.name, answer=answers[0])


_DRAWS = "|".join(usual("folds")["parts"])
DRAW_OF_SYSTEM = re.compile(rf"(.*[^\W_])[\W_]+({_DRAWS})[\W_]*\d+")


def refuse_draws_as_systems(roles: UnitRoles) -> None:
    """Raise UnclearSystems for columns of repeated draws of several systems, such as a_seed1,
    a_seed2, b_seed1 and b_seed2.
    """
    names = [column.name for column in roles.values]
    matches = [DRAW_OF_SYSTEM.fullmatch(name.lower()) for name in names]
    systems = [match[1] for match in matches if match]
    are_draws = len(systems) == len(names)
    if are_draws and 1 < len(set(systems)) < len(systems):
        listed = column_roles.listed(map(repr, names), SHOWN)
        part = roles.table.parts[0]
        way = _invocation_of_systems(part, names)
        raise UnclearSystems(f"{part.name}: {sentence('draws', columns=listed, way=way)}", names)


def _invocation_of_systems(part: InputPart, systems: Sequence[str]) -> str:
    """The command of the significance report that names these columns as systems, or the call."""
    return command_or_call(part, ReadingWay(Proposal("significance"), Choice(systems=systems), ""))


class UnclearSystems(InputError):
    """Columns of numbers that may be anything, such as features.

    systems: those that the user could mean as systems, empty if none are.
    """

    def __init__(self, problem: str, systems: Sequence[str]) -> None:
        super().__init__(problem)
        self.systems = systems


def refuse_bookkeeping(roles: UnitRoles, numeric: Sequence[UnitColumn]) -> None:
    """Raise UnclearSystems for columns that are clearly not systems; with the others as the systems
    if there are several.

    numeric: all columns of numbers, also those that describe the units or are computed from others.
    """
    bookkeeping = bookkeeping_among(roles.values, numeric)
    if bookkeeping is None:
        return
    part = roles.table.parts[0]
    numbered = [column for column in numeric if column.name in bookkeeping.columns]
    if (
        bookkeeping.kind == RUNNING_NUMBER
        and "training" in numbered[0].suggested_uses
        and not roles.stated
    ):
        raise refused(part.name, "steps", column=numbered[0].name)
    possible_systems = [column for column in roles.values if column.name not in bookkeeping.columns]
    possible = (
        [column.name for column in possible_systems] if may_be_systems(possible_systems) else []
    )
    way = _invocation_of_systems(part, possible) if possible else "systems='a,b'"
    listed = column_roles.listed(bookkeeping.columns, SHOWN)
    problem = sentence("bookkeeping", kind=bookkeeping.kind, columns=listed, way=way)
    raise UnclearSystems(f"{part.name}: {problem}", possible)


def may_be_systems(columns: Sequence[UnitColumn]) -> bool:
    """True for several columns of one family, or of similar values unless a name says that a column
    is something else, such as a parameter of a search, a quantile, or one model beside features.
    """
    names = [column.name for column in columns]
    if len(names) < 2 or tracked(names):
        return False
    if are_of_one_family(names):
        return True
    tells_apart = any(ColumnSample(name, ()).is_model or is_bookkeeping(name) for name in names)
    return are_alike(columns) and not tells_apart


def refuse_features(roles: UnitRoles, possible: Sequence[ReadingWay]) -> None:
    """Raise UnclearSystems unless columns of numbers are values of systems by their names, or by
    their cells in a table whose rows are units by another column.

    possible: the ways to read the table.
    """
    names = [column.name for column in roles.values]
    part = roles.table.parts[0]
    models = [name for name in names if ColumnSample(name, ()).is_model]
    stem = "" if part.unnamed else _table_name(part).partition(".")[0]
    may_be_predictions = bool(models) or len(names) == 1
    answers = [
        column
        for column in roles.free_columns.columns_used_as("truth")
        if column.holds_only_numbers
    ]
    is_answered = may_be_predictions and bool(answers)
    if not is_answered and (are_of_one_family(names) or measure_of(stem)):
        return
    alike = are_alike(roles.values)
    if alike and not is_answered:
        if models and not possible:  # the others are models of the user's own names
            return
        if any(column.distinct for column in roles.ids) or roles.free_columns.repeats:
            if models:
                _refuse_forecasts_of_counts(part, possible)
            return  # the rows are units
    systems = names if may_be_systems(roles.values) else []
    if models and (is_answered or not alike or possible):
        systems = models
    if len(systems) < 2:  # which cannot be compared
        systems = []
    way = f": {_invocation_of_systems(part, systems)}" if systems else ""
    listed = column_roles.listed(map(repr, names), SHOWN)
    problem = sentence("features", columns=listed, way=way)
    raise UnclearSystems(f"{part.name}: {problem}", systems)


def _refuse_forecasts_of_counts(part: InputPart, possible: Sequence[ReadingWay]) -> None:
    """Raise InputError for fractions of models beside whole numbers that they could forecast, with
    the report that reads them: values of one metric would all be whole, or none.

    possible: the ways to read the part.
    """
    columns = {column.name: column for column in samples_of(part)}
    for way in possible:
        if way.proposal.report != "rating":
            continue
        actual = columns[way.proposal.answer]
        forecasts = [columns[name] for name in way.proposal.predicted_columns]
        are_fractions = all(column.is_model and column.is_fraction for column in forecasts)
        if are_fractions and actual.is_whole and len(actual.labels) > 2:
            raise _answers_refused(part, way)


def are_of_one_family(names: Sequence[str]) -> bool:
    """True if names have a word in common, such as acc_a and acc_b, if all are those of models or
    versions, if all have a metric, or if they are the letters from a on.

    >>> are_of_one_family(["rf", "logit"]), are_of_one_family(["age", "income"])
    (True, False)
    >>> are_of_one_family(["bill_length_mm", "flipper_mm"]), are_of_one_family(["A", "B"])
    (False, True)
    """
    columns = [ColumnSample(name, ()) for name in names]
    if all(column.is_model or column.words <= VERSIONS for column in columns):
        return True
    if all(map(measure_of, names)):
        return True
    if [name.lower() for name in names] == list(LETTERS[: len(names)]):
        return True
    plain = [_UNIT_OF_MEASUREMENT.sub("", name.lower()) for name in names]
    return distinct_name_parts(plain) != plain


def are_alike(columns: Sequence[UnitColumn]) -> bool:
    """True if the ranges of columns of numbers have a value in common, or all lie within 0 and
    1.
    """
    heads = [column.head() for column in columns]
    numbers = [head[np.isfinite(head)] for head in heads if np.isfinite(head).any()]
    if not numbers:  # marks such as PASS, which are refused where they are read
        return True
    low = [values.min() for values in numbers]
    high = [values.max() for values in numbers]
    are_shares = min(low) >= 0 and max(high) <= 1
    return bool(are_shares or max(low) <= min(high))


def value_of_long(free: FreeColumns) -> UnitColumn:
    """The column of the values of a long table. Raises InputError if there are none or several, and
    for an answer and its predictions, with the report that reads them.
    """
    part = free.table.parts[0]
    try:
        value = free.value()
    except InputError:
        refuse_predictions(part, reading_ways(part), is_long=True)
        raise
    if "value" not in value.suggested_uses:
        refuse_predictions(part, reading_ways(part), is_long=True)
        if answers := [
            column.name for column in free.columns_used_as("truth") if column.kind == "text"
        ]:
            raise refused(part.name, "long_answers", answer=answers[0], value=value.name)
    return value


def refuse_predictions(
    part: InputPart, possible: Sequence[ReadingWay], *, is_long: bool = False
) -> None:
    """Raise InputError for predictions beside what they predict, with the report that reads them.

    possible: the ways to read the part. is_long: True if one column would hold the values of all
    systems.
    """
    for way in possible:
        proposal = way.proposal
        answer = proposal.answer or proposal.columns.get("grade", "")
        is_judged = proposal.report == "ranking" and snake_case(answer) in ANSWERS | GRADES
        holds_predictions = is_judged or proposal.report in ("classification", "rating")
        if way.needs_choice or not holds_predictions or "system" in uses_of(answer):
            continue
        raise _answers_refused(part, way, is_long=is_long)


def _answers_refused(part: InputPart, way: ReadingWay, *, is_long: bool = False) -> InputError:
    """The error for predictions beside what they predict, which the way reads."""
    proposal = way.proposal
    names = proposal.predicted_columns
    values = f"systems={written(names)!r}"
    if is_long:
        values = f"columns='value={names[0]}'"
    return refused(
        part.name,
        "answers",
        answer=proposal.answer or proposal.columns.get("grade", ""),
        predictions=column_roles.listed(map(repr, names), 5),
        way=command_or_call(part, way),
        values=values,
    )


def refuse_answers(part: InputPart, values: Sequence[str]) -> None:
    """Raise InputError for predictions beside what they predict: an answer is no value of a system,
    and its predictions are no values per unit. Also for a confusion matrix, whose rows are called
    as its columns.

    values: the columns of values.
    """
    table = SampledTable.from_part(part, {})
    described = [column for column in table.columns if "aside" not in uses_of(column.name)]
    if any(set(values) == set(column.texts) for column in described):
        raise refused(part.name, "matrix", columns=", ".join(values))
    for column in table.texts:
        if column in described and are_named_after(values, column.labels):
            raise refused(
                part.name, "predictions", column=column.name, systems=written(list(values))
            )
    columns = {column.name: column for column in table.columns}
    # beside shares only, which may be probabilities, other columns may be the answer too
    are_shares = all(name in columns and columns[name].is_share for name in values)
    suspects = columns if are_shares else [name for name in values if name in columns]
    wrong = [name for name in suspects if columns[name].is_of_predictions]
    classes = [column for column in table.texts if len(column.labels) > 1 and not column.says_truth]
    for first, second in combinations(classes, 2):
        # one predicts the other, unless it is a copy
        if first.labels == second.labels and first.cells != second.cells:
            wrong.append(first.name)
    if wrong:
        raise refused(part.name, "predictions", column=wrong[0], systems=written(list(values)))


def are_named_after(names: Sequence[str], labels: Collection[str]) -> bool:
    """True if each of several labels is in one of as many names and in no other, as in those of
    columns of class probabilities.

    >>> are_named_after(["% bee", "% ant"], {"ant", "bee"}), are_named_after(["a", "b"], {"x", "y"})
    (True, False)
    """
    if not 1 < len(labels) == len(names):
        return False
    names_of_labels = set[str]()
    for label in labels:
        matching = [name for name in names if label.lower() in name.lower()]
        if len(matching) != 1:
            return False
        names_of_labels.update(matching)
    return len(names_of_labels) == len(names)


def refuse_users(roles: UnitRoles, possible: Sequence[ReadingWay]) -> None:
    """Raise InputError for users of an A/B test, if the arm would be a system or what users did
    would be that of one system, and for interleaved sessions, with the command of the report that
    reads them.

    possible: the ways to read the table.
    """
    part = roles.table.parts[0]
    way = next((way for way in possible if way.proposal.report == "interleaving"), None)
    if way is None or way.needs_choice:
        return
    if "team" in way.proposal.columns:
        team = way.proposal.columns["team"]
        raise refused(part.name, "sessions", team=team, way=command_or_call(part, way))
    arm = way.proposal.columns["arm"]
    values = [column.name for column in roles.values]
    if arm in values or len(values) == 1:
        raise refused(
            part.name, "users", arm=arm, way=command_or_call(part, way), systems=written(values)
        )


def refuse_files(roles: UnitRoles, largest: int) -> None:
    """Raise InputError if files have the same units, which could be draws or values of systems,
    unless a column counts draws.

    largest: the largest number of rows of a unit.
    """
    files = dict.fromkeys(map(_table_name, roles.table.parts))
    if 1 < largest <= len(files) and not roles.free_columns.repeats:
        listed = column_roles.listed(files, 3)
        draws = written({"unit": roles.name})
        raise InputError(sentence("same_units", files=listed, unit=roles.name, draws=draws))


def _table_name(part: InputPart) -> str:
    """The name of the file of a part without its folders and the suffix of packing."""
    return part.name if part.unnamed else formats.table(part.path).name


def refuse_counts(free: FreeColumns, label: UnitColumn) -> None:
    """Raise InputError for columns whose names mean totals per row, such as conversions of
    users.
    """
    if totals := free.totals:
        pairs = written({"system": label.name, **totals})
        raise refused(free.table.name, "counts", label=label.name, pairs=pairs, **totals)


def refuse_summaries(roles: UnitRoles, ids: "pa.Array", columns: Sequence[Floats]) -> None:
    """Raise InputError for a unit called `all` or `macro` with the means of the others.

    ids: of the units. columns: the values of each system, one per unit.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(ids) < 3:
        return
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(ids))
    is_summary = pc.is_in(plain, value_set=pa.array(CELLS["summaries"], plain.type))
    for unit in np.flatnonzero(is_summary):
        columns_of_rest = [np.delete(column, unit) for column in columns]
        means = [ratio(np.nansum(column), np.sum(~np.isnan(column))) for column in columns_of_rest]
        values = [column[unit] for column in columns]
        if np.allclose(values, means, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            name = ids[int(unit)].as_py()
            raise refused(roles.table.name, "means", unit=roles.name, name=name)


def refuse_pairs(columns: FreeColumns) -> None:
    """Raise InputError for a table whose rows each name two systems that they compare."""
    texts = columns.columns_of_kind("text")
    sides = [column.name for column in texts if _NAME_OF_SIDE.fullmatch(column.key)]
    if len(sides) > 1:
        raise refused(columns.table.name, "pairs", first=sides[0], second=sides[1])

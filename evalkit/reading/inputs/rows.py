"""Tables and TREC files of runs, judgements and queries as checked columns, with the place of every
row.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ParameterError
from evalkit.machine.compressed_files import PACKED
from evalkit.names import usual
from evalkit.parameters.kinds import written
from evalkit.parameters.reports import AS_GIVEN, AUTO, attributes
from evalkit.reading.matching.column_names import columns_of_systems, snake_case
from evalkit.reading.matching.proposal import Proposal, judgements, ranking
from evalkit.reading.matching.samples import FEW, SampledTable, samples_of
from evalkit.reading.tables import (
    columns as column_roles,
    documents,
    formats,
    rules,
    sources,
    table,
    trec,
)
from evalkit.reading.tables.columns import RoleMapping, refused
from evalkit.reading.tables.ids import OnlySystem
from evalkit.reading.tables.parts import InputPart, Source
from evalkit.reading.tables.rules import CheckedColumn, Field, Precision, Role

if TYPE_CHECKING:
    import pyarrow as pa

ROLES = (
    Role.declared("system"),
    Role.declared("query", required=True),
    Role.declared("item", required=True),
    Role.declared("score", per_system=True),
    Role.declared("rank"),
    Role.declared("grade", required=True),
)
RULES = {role.name: role.rules for role in ROLES}
ATTRIBUTE = "segments or unit"  # the parameters that name attributes
SURELY_QUERIES = frozenset(("query", "query_id", "qid"))  # names of columns
LISTED = ("query", "item")  # what a row of a list is about
ORDER = ("score", "rank")  # one of these orders a list, the first that is there
RISING = 0.9  # of the steps from rank to rank, from which on scores are distances
DISTANCES = frozenset(usual("distances")["words"])
RANK_NAMES = frozenset(column_roles.SYNONYMS["rank"]) | frozenset(
    column_roles.facts("roles")["rank"]["usual"].split()
)
NO_SCORE: Mapping[str | None, str] = {None: ""}
ALL_RELEVANT = "1 in every row"  # the column of grades of judgements that have none


# the kinds of a `ListPart`
RUN = "run"
JUDGED = "judged"
QUERY_TABLE = "query table"
ATTRIBUTE_ROLE = "attribute "  # begins the role of a column with one value per query


class ListPart(NamedTuple):
    """A part of ranked lists and its columns by role.

    kind: RUN, JUDGED or QUERY_TABLE. scores: system -> the role of its scores, in a wide table; in
    another part None -> the only such role. system_name: the system of a run that does not name
    its systems.
    """

    kind: str
    part: InputPart
    fields: dict[str, Field]
    scores: Mapping[str | None, str]
    system_name: str = ""

    @property
    def printed_columns(self) -> dict[str, str]:
        """Role -> column as the page prints it. None is printed of a TREC run, which has no columns
        to choose from; of other TREC text the number of each field.
        """
        if self.part.trec_layout is trec.RUN:
            return {}
        if self.part.trec_layout:
            return {name: f"field {i}" for i, name in enumerate(self.part.columns, start=1)}
        # roles of several words, such as "score a" and "attribute country", are printed elsewhere
        columns = {role: field.column for role, field in self.fields.items() if " " not in role}
        if None not in self.scores:  # a wide table: all its columns of scores have one role here
            columns["score"] = ", ".join(self.fields[role].column for role in self.scores.values())
        if "score" in self.fields and "rank" in self.part.columns:
            columns["not used"] = "rank"
        return columns


class RunColumns(NamedTuple):
    """The columns of a run by role, and in a wide table the column of scores of each system."""

    by_role: dict[str, str]
    scores: dict[str, str]


class RowsOfPart(NamedTuple):
    """A part, and how many rows of it were read."""

    part: InputPart
    rows: int


@dataclass(eq=False)
class ListRows:
    """The rows of runs, of judgements, or of tables of queries, one block after another.

    A block has the rows of a part; of a wide table those of one system. Each list has one element
    per block: Arrow text, or an array of doubles; None for a column that the block lacks. system:
    the column of systems, or an `OnlySystem`. score: the negated rank if rows have no score.
    rank_is_position: True for each row whose rank is its place in the list. attributes: name of a
    column -> its texts. columns: role -> column, as the page prints it.
    """

    system: list["pa.Array | OnlySystem"] = field(default_factory=list)
    query: list["pa.Array"] = field(default_factory=list)
    item: list[Any] = field(default_factory=list)
    score: list[Any] = field(default_factory=list)
    rank_is_position: list[Bools] = field(default_factory=list)
    grade: list[Any] = field(default_factory=list)
    attributes: list[dict[str, "pa.Array"]] = field(default_factory=list)
    rows_of_parts: list[RowsOfPart] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)

    def add(
        self, list_part: ListPart, block: table.CheckedPart, *, ranks_are_positions: bool
    ) -> None:
        """Append the rows of a part, once for each system of a wide table.

        list_part: the part with the roles of its columns. block: the same part with its values.
        ranks_are_positions: as in `ListOptions`.
        """
        columns: Mapping[str, Any] = block.columns
        rows = block.rows
        self.sources.append(block.part.fingerprint(rows))
        self.columns.update(list_part.printed_columns)
        attributes = _attributes(columns)
        systems = naming_column(list_part.part, columns.get("system"))
        for system, role in list_part.scores.items():
            score = columns.get(role)
            is_rank = role == "rank"
            if is_rank:  # the lowest rank is the best one
                score = -columns[role]
            name = list_part.system_name if system is None else system  # None: not a wide table
            system_of_row = OnlySystem(name, rows) if systems is None else systems
            self.system.append(system_of_row)
            self.query.append(columns["query"])
            self.item.append(columns.get("item"))
            self.score.append(score)
            self.rank_is_position.append(np.broadcast_to(is_rank and ranks_are_positions, rows))
            self.grade.append(columns.get("grade"))
            self.attributes.append(attributes)
            self.rows_of_parts.append(RowsOfPart(list_part.part, rows))

    @property
    def first_name(self) -> str:
        """The name of the first file or table, for errors."""
        return self.rows_of_parts[0].part.name

    def place(self, row: int) -> str:
        """The file and the row there, from 1, of a row, for errors. row: its number in all
        blocks.
        """
        part, number = table.locate(self.rows_of_parts, row)
        return part.place(number)


def _attributes(columns: Mapping[str, CheckedColumn]) -> dict[str, "pa.Array"]:
    """Name -> the column, of the columns with one value per query. columns: by role."""
    return {
        role.removeprefix(ATTRIBUTE_ROLE): column
        for role, column in columns.items()
        if role.startswith(ATTRIBUTE_ROLE)
    }


@dataclass(frozen=True, eq=False)
class ListOptions:
    """How ranked lists are read: parameters of the report with the same names; every shard gets
    them too.

    columns: role -> column. systems: the requested ones, all if none is named. segments, slices,
    unit: columns with one value per query, from the table of queries if there is one; every row
    must have a unit. ranks: for lists without scores, "as given" or "renumber". leave_out: "query"
    if the item with the id of the query is left out of its list and its judgements. catalogue_ids:
    the ids of the items in the catalogue, if the user gives one (`items=TABLE`).
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    systems: Sequence[str] = ()
    segments: Sequence[str] = ()
    slices: Sequence[str] = ()
    unit: str | None = None
    ranks: str = AS_GIVEN
    leave_out: str | None = None
    catalogue_ids: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Raise ParameterError for an unknown role."""
        column_roles.check_roles(self.columns, RULES)

    @classmethod
    def from_parameters(cls, p: object, **instead: Any) -> "ListOptions":
        """The options from the parameters of a report with the same names. instead: option -> a
        value in place of the parameter's.
        """
        options = {}
        for option in fields(cls):
            if hasattr(p, option.name):
                options[option.name] = getattr(p, option.name)
        return cls(**options | instead)

    @property
    def attributes(self) -> list[str]:
        """The columns that segments, slices and unit name, without duplicates."""
        return attributes((*self.segments, *self.slices), self.unit)

    @property
    def attribute_fields(self) -> dict[str, Field]:
        """The columns with one value per query, by role.

        Rows without a unit are invalid, as they would form one unit.
        """
        fields = {}
        for name in self.attributes:
            content = rules.NAME if name == self.unit else rules.NAME_OR_EMPTY
            fields[f"{ATTRIBUTE_ROLE}{name}"] = Field(name, content)
        return fields

    @property
    def ranks_are_positions(self) -> bool:
        """True if the rank of a row is its place in the list; False if rows are numbered anew, as
        the user wants it or because an item is left out of each list.
        """
        return self.ranks == AS_GIVEN and not self.leave_out


@dataclass(frozen=True, eq=False)
class RankingInput:
    """A ranking input before it is read: the parts of the runs, the judgements and the table of
    queries, if given.
    """

    run: Sequence[InputPart]
    judged: Sequence[InputPart] | None = None
    queries: Sequence[InputPart] | None = None
    options: ListOptions = ListOptions()

    @classmethod
    def from_data(
        cls, preds: object, qrels: object = None, queries: object = None, **chosen: Any
    ) -> "RankingInput":
        """The input from files, folders, glob patterns, frames or lists of these. chosen: fields of
        `ListOptions`.
        """
        return cls(
            sources.parts(preds),
            sources.optional_parts(qrels),
            sources.optional_parts(queries),
            ListOptions(**chosen),
        )

    @property
    def has_grades(self) -> bool:
        """True if the runs hold their judgements, in a column of grades."""
        return self.judged is None

    @property
    def attributes_of_runs(self) -> Sequence[str]:
        """The columns of segments and unit that the runs hold: none if there is a table of queries,
        which then holds them.
        """
        return self.options.attributes if self.queries is None else ()

    def with_slices(self, slices: Sequence[str]) -> "RankingInput":
        """The input with the columns that are searched for weak slices: those that are named, or
        all of the table of queries for `AUTO`. Raises ParameterError for `AUTO` without one.
        """
        names = tuple(dict.fromkeys(slices))
        if names == AUTO:
            if self.queries is None:
                raise ParameterError(
                    "slices: auto searches the columns of queries; give that table, or name columns"
                )
            part = self._with_options(()).queries_part
            columns_in_use = (part.fields["query"].column, self.options.unit)
            names = tuple(name for name in part.part.columns if name not in columns_in_use)
        return self._with_options(names)

    def _with_options(self, slices: Sequence[str]) -> "RankingInput":
        """The input with these columns as slices."""
        return replace(self, options=replace(self.options, slices=slices))

    @property
    def queries_part(self) -> "ListPart":
        """The first part of the table of queries."""
        assert self.queries is not None
        return self._query_table_part(self.queries[0])

    # Which columns to read

    @cached_property
    def list_parts(self) -> list[ListPart]:
        """All parts with their columns by role: the runs, then the judgements, then the tables of
        queries. Raises one InputError for all roles of a part without a column.
        """
        names = names_of_systems(self.run)
        parts = [self._run_part(part, name) for part, name in zip(self.run, names, strict=True)]
        parts += self._judgement_parts()
        parts += map(self._query_table_part, self.queries or ())
        return parts

    @property
    def rank_checks(self) -> dict[str, trec.RankCheck]:
        """Run -> its first lists whose scores contradict their ranks, of TREC runs with such
        lists.
        """
        runs = [part for part in self.run if part.trec_layout is trec.RUN]
        checks = {part.name: trec.check_ranks(part.path) for part in runs}
        return {name: check for name, check in checks.items() if check.contradicting}

    @property
    def all_relevant(self) -> bool:
        """True if judgements have no grades, so that each of them is a relevant item."""
        return any(
            list_part.fields["grade"].column == ALL_RELEVANT
            for list_part in self.list_parts
            if "grade" in list_part.fields
        )

    @property
    def grade_roles(self) -> list[str]:
        """The role of the grades, if the runs hold them; else none."""
        return ["grade"] if self.has_grades else []

    @property
    def grade_precision(self) -> Precision:
        """The widest type in which a part stores its grades."""
        return rules.widest(
            rules.precision_of(list_part.part, list_part.fields["grade"].column)
            for list_part in self.list_parts
            if "grade" in list_part.fields
        )

    def _run_part(self, part: InputPart, name: str) -> ListPart:
        """A run with its columns by role; with those of segments and unit if there is no table of
        queries to hold them. Raises InputError for a part of judgements.

        name: what the system of the run is called if no column says it.
        """
        if part.trec_layout is trec.QRELS:
            raise refused(part.name, "no_run")
        columns, score_columns = self._columns_of_run(part)
        _refuse_attributes(part, columns, self.attributes_of_runs)
        roles = list(LISTED)
        scores: dict[str | None, str] = {}  # as in `ListPart`
        if score_columns:
            for system in score_columns:
                scores[system] = f"score {system}"
        else:  # a long table
            order = "score" if "score" in columns else "rank"
            roles += ["system", order]
            scores[None] = order
            # the only system of a table in memory is called after its column
            if part.unnamed and len(self.run) == 1:
                name = columns[order]
        roles += self.grade_roles
        fields = {role: Field(columns[role], RULES[role]) for role in roles if role in columns}
        for system, column in score_columns.items():
            fields[f"score {system}"] = Field(column, RULES["score"])
        if self.queries is None:
            fields |= self.options.attribute_fields
        return ListPart(RUN, part, fields, scores, name)

    def _columns_of_run(self, part: InputPart) -> "RunColumns":
        """The columns of a run by their names, or by their cells if names do not say it.

        Raises InputError for roles without a column, for a second column that could be the query or
        the grade, and for distances in place of scores.
        """
        mapping = self._mapping(part)
        proposal = self._proposal(part, mapping)
        if proposal is None:
            scores = _score_columns(part, mapping.columns, self.options.systems)
            needed = [] if scores else [ORDER]
            by_role = self._resolve(part, mapping, needed)
        else:
            # system -> role -> column; the key None has the columns of a long table
            predictions = proposal.predictions
            scores = {system: columns["score"] for system, columns in predictions.items() if system}
            by_role = {**proposal.columns, **predictions.get(None, {})}
        self._refuse_two_roles(part, by_role)
        refuse_distances(part, by_role)
        return RunColumns(by_role, scores)

    def _refuse_two_roles(self, part: InputPart, columns: Mapping[str, str]) -> None:
        """Raise InputError if an unused column could be the query or the grade as well as the
        column that has the role, and would give other lists or grades. columns: role -> column.
        """
        if part.trec_layout:  # TREC text has no further columns
            return
        uses = set(columns.values()).union(self.options.columns.values(), self.options.attributes)
        unused = [name for name in part.columns if name not in uses]
        for role in ("query", "grade"):
            # a column that the user names has the role, whatever else could have it
            if role not in columns or role in self.options.columns:
                continue
            for name in unused:
                is_rival = name in column_roles.SYNONYMS[role]
                if role == "query" and not is_rival:
                    is_rival = is_id_of_query(part, columns[role], name)
                if is_rival:
                    self._refuse_other_lists(part, role, columns[role], name)

    def _refuse_other_lists(self, part: InputPart, role: str, first: str, second: str) -> None:
        """Raise InputError if a second column of a role tells rows apart that are equal in the
        first one, and does not only number the rows. first, second: the two columns.
        """
        pairs = set(zip(part.head[first], part.head[second], strict=True))
        tells_rows_apart = len(pairs) > len(set(part.head[first]))
        numbers_rows = len(pairs) == len(part.head[first])
        if tells_rows_apart and not numbers_rows:
            raise refused(
                part.name,
                "two_roles",
                role=role,
                name=first,
                other=second,
                first=written({role: second}),
                second=written({role: first}),
            )

    def _proposal(self, part: InputPart, mapping: RoleMapping) -> Proposal | None:
        """How a run is read by the cells of its columns; None if the names alone say it, or if the
        cells leave a role without a column or with several. mapping: the columns by their names.
        """
        # TREC text needs no names; a column that the user names and that is missing is an error
        if part.trec_layout or mapping.missing_columns:
            return None
        roles = mapping.columns.keys()
        is_ordered = not roles.isdisjoint(ORDER)
        if not is_ordered:  # a wide table has a column of scores for each system
            is_ordered = bool(_score_columns(part, mapping.columns, self.options.systems))
        if is_ordered and set(LISTED).union(self.grade_roles) <= roles:
            return None
        table = SampledTable.from_part(
            part, self.options.columns, self.options.systems, self.attributes_of_runs
        )
        proposal = ranking(table, graded=self.has_grades)
        return proposal if proposal.is_complete else None

    def _mapping(self, part: InputPart) -> RoleMapping:
        """The columns of a run by role, according to their names. A column may be the query and
        also the unit or a segment; any other column of an attribute has no role.
        """
        roles = [role for role in RULES if self.has_grades or role != "grade"]
        chosen = self._chosen_columns(part, roles)
        attributes = dict.fromkeys(self.attributes_of_runs, ATTRIBUTE)
        # a column called query is the query, also if it is the unit
        other_uses = [name for name in attributes if name not in SURELY_QUERIES]
        free = [name for name in part.columns if name not in other_uses]
        if not column_roles.columns_called("query", free):
            # no column is left to be the query: it may be one of the attributes, such as user_id if
            # users are both the queries and the units
            queries = column_roles.SYNONYMS["query"]
            other_uses = [name for name in other_uses if name not in queries]
        return column_roles.match(part.columns, RULES, chosen, part.name, other_uses, attributes)

    def _resolve(
        self, part: InputPart, mapping: RoleMapping, order: Sequence[tuple[str, ...]]
    ) -> dict[str, str]:
        """Role -> column of a run. Raises InputError for roles without a column.

        mapping: the columns by their names. order: the roles of which one must have a column, as it
        orders the lists of a long table; empty for a wide table, whose columns of scores do so.
        """
        needed: list[str | tuple[str, ...]] = [*LISTED, *order, *self.grade_roles]
        lacks_grade = mapping.missing_roles(needed) == [("grade",)]
        is_used = bool(column_roles.columns_called("grade", mapping.other_uses))
        if lacks_grade and not mapping.ambiguous_columns and not is_used:
            names = ", ".join(map(repr, part.columns))
            hint = column_roles.no_header(part.columns, "grade") or metrics_hint(part)
            raise refused(part.name, "no_grade", columns=names, hint=hint)
        try:
            return mapping.resolve(needed, per_system_role="score")
        except column_roles.MissingColumn:
            # a list in a cell is a likelier cause than a missing column
            if of_lists := columns_of_lists(part):
                listed = column_roles.listed(map(repr, of_lists))
                raise refused(part.name, "lists_in_cells", columns=listed) from None
            raise

    def _judgement_parts(self) -> list[ListPart]:
        """The parts of judgements. Raises InputError if some of them have grades and some have
        none.
        """
        list_parts = [self._judgements_part(part) for part in self.judged or ()]
        # `_judgements_part` gives a part without grades a column of that name
        graded = [
            list_part
            for list_part in list_parts
            if list_part.fields["grade"].column != ALL_RELEVANT
        ]
        ungraded = [list_part for list_part in list_parts if list_part not in graded]
        if graded and ungraded:
            raise refused(ungraded[0].part.name, "some_grades", other=graded[0].part.name)
        return list_parts

    def _judgements_part(self, part: InputPart) -> ListPart:
        """A part of judgements with its columns by role. Without a column that could be the grade
        each row gets the grade 1. Raises InputError for roles without a column.
        """
        if part.trec_layout and part.trec_layout is not trec.QRELS:
            raise refused(part.name, "no_judgements")
        roles = (*LISTED, "grade")
        chosen = self._chosen_columns(part, roles)
        for role in LISTED:  # the user may have named the columns of the runs
            if chosen.get(role) not in part.columns:
                chosen.pop(role, None)
        mapping = column_roles.match(part.columns, roles, chosen, part.name)
        if mapping.missing_roles(roles) == [("grade",)] and is_of_whole_scores(part):
            mapping = column_roles.match(
                part.columns, roles, {**chosen, "grade": "score"}, part.name
            )
        columns: Mapping[str, str] = mapping.columns
        if mapping.missing_roles(roles) and not mapping.missing_columns:
            columns = judged_columns(part, chosen) or columns
        if set(LISTED) == set(columns):
            part = with_all_relevant(part)
            columns = {**columns, "grade": ALL_RELEVANT}
        elif not set(roles) <= set(columns):
            columns = mapping.resolve(roles)
        self._refuse_two_roles(part, columns)
        fields = {role: Field(columns[role], RULES[role]) for role in roles}
        return ListPart(JUDGED, part, fields, NO_SCORE)

    def _query_table_part(self, part: InputPart) -> ListPart:
        """A part of the table of queries, with the columns of the query, the segments and the
        unit.
        """
        chosen = self._chosen_columns(part, ["query"])
        if chosen.get("query") not in part.columns:  # the user may have named the runs' column
            chosen = {}
        attributes = dict.fromkeys(self.options.attributes, ATTRIBUTE)
        mapping = column_roles.match(
            part.columns, ["query"], chosen, part.name, attributes, attributes
        )
        fields = {"query": Field(mapping.resolve(["query"])["query"])}
        return ListPart(QUERY_TABLE, part, fields | self.options.attribute_fields, NO_SCORE)

    def _chosen_columns(self, part: InputPart, roles: Sequence[str]) -> dict[str, str]:
        """Role -> column of these roles, as the user names them; none of a TREC file, whose columns
        have no names.
        """
        chosen = self.options.columns
        if part.trec_layout:
            return {}
        return {role: chosen[role] for role in roles if role in chosen}

    def rows(self, kind: str) -> ListRows:
        """The rows of all runs, of all judgements, or of all tables of queries. kind: RUN, JUDGED
        or QUERY_TABLE.
        """
        rows = ListRows()
        for list_part in self.list_parts:
            if list_part.kind == kind:
                block = table.read_part(list_part.part, list_part.fields)
                rows.add(list_part, block, ranks_are_positions=self.options.ranks_are_positions)
        return rows


def is_id_of_query(part: InputPart, query: str, column: str) -> bool:
    """True if a column has a usual name of a query, and each of its values goes with one query, as
    search_id does beside the text of a query.
    """
    if snake_case(column) not in column_roles.facts("roles")["query"]["usual"].split():
        return False
    pairs = set(zip(part.head[query], part.head[column], strict=True))
    return len(pairs) == len(set(part.head[column]))


def _refuse_attributes(
    part: InputPart, columns: Mapping[str, str], attributes: Sequence[str]
) -> None:
    """Raise ParameterError for a segment or unit that has one value per row, not per query: the
    column of the system, item, score, rank or grade.

    columns: role -> column of the run. attributes: the columns of segments and unit.
    """
    for role in ("system", "item", "score", "rank", "grade"):
        # other names of a system, such as model, may be those of segments
        usual: Sequence[str] = ("system",) if role == "system" else column_roles.SYNONYMS[role]
        # a role without a column may have lost it to the segment, and is known by its usual names
        names = {columns[role]} if role in columns else set(usual).intersection(part.columns)
        for name in names.intersection(attributes):
            why = f"{name!r} is the {role} column of {part.name}, with one value per row"
            raise ParameterError(f"{ATTRIBUTE}: {why}")


def columns_of_lists(part: InputPart) -> list[str]:
    """The columns that hold a list or a dict in each of their first cells."""
    if part.trec_layout:
        return []
    is_list = re.compile(r"\[.*\]|\{.*\}", re.DOTALL).fullmatch
    texts = {column.name: column.texts for column in samples_of(part)}
    return [name for name, cells in texts.items() if cells and all(map(is_list, cells))]


def metrics_hint(part: InputPart) -> str:
    """The addition to an error that says how {query: {metric: value}} is read, as pytrec_eval gives
    it; "" unless each query has the same items, as it would have the same metrics.
    """
    cells = part.head
    if not set(documents.COLUMNS) <= set(cells):
        return ""
    combinations = len(set(cells["query"])) * len(set(cells["item"]))
    if combinations != len(set(zip(cells["query"], cells["item"], strict=True))):
        return ""
    roles = dict(zip(("unit", "metric", "value"), documents.COLUMNS, strict=True))
    way = f"give a file per system to report significance, with columns={written(roles)!r}"
    return f"; if these are metrics by query, {way}"


def judged_columns(part: InputPart, chosen: Mapping[str, str]) -> Mapping[str, str]:
    """Role -> column of judgements, by usual names and cells; without a grade if no column could
    hold one. Empty if another role has no column. Raises InputError if only cells say which column
    is the grade.
    """
    table = SampledTable.from_part(part, chosen)
    proposal = judgements(table)
    if "query" not in proposal.columns or "item" not in proposal.columns:
        return {}
    possible = list(proposal.unclear.get("grade", ()))
    if "grade" in proposal.columns:
        possible.append(proposal.columns["grade"])
    named = {column.name for column in table.named("grade")}
    if unnamed := [name for name in possible if name not in named]:
        names = column_roles.listed(map(repr, unnamed))
        way = written({"grade": unnamed[0]})
        raise refused(part.name, "no_held_out", columns=names, way=way)
    return proposal.columns if proposal.is_complete else {}


def with_all_relevant(part: InputPart) -> InputPart:
    """The part with the grade 1 in each row, as if it lay in a folder that names the grade."""
    columns = (*part.columns, ALL_RELEVANT)
    return replace(part, columns=columns, folder_values={**part.folder_values, ALL_RELEVANT: "1"})


def is_of_whole_scores(part: InputPart) -> bool:
    """True if a column score holds whole numbers, as it does in judgements of BEIR and ranx."""
    scores = SampledTable.from_part(part, {}).exact("score")
    return bool(scores) and scores[0].is_whole


def refuse_distances(part: InputPart, columns: Mapping[str, str]) -> None:
    """Raise InputError for a score that is called a distance, or that rises with the rank, as only
    a score that is lower for better items does.

    columns: role -> column; a table without a column of scores is not refused.
    """
    score = columns.get("score", "")
    if DISTANCES.intersection(snake_case(score).split("_")):
        raise refused(part.name, "distances", score=score, fault="it is called a distance")
    names = map(snake_case, part.columns)
    if part.trec_layout or score not in part.columns or RANK_NAMES.isdisjoint(names):
        return  # without ranks beside the scores nothing can rise with them
    sampled = SampledTable.from_part(part, {})
    ranks = [column.numbers for column in sampled.named("rank")]
    samples = {column.name: column for column in sampled.columns}
    scores = samples[score].numbers
    if scores is None or len(ranks) != 1 or ranks[0] is None:  # not one column of numbers each
        return
    lists = [samples[columns[role]].cells for role in ("system", "query") if role in columns]
    number_of_list = np.unique(list(map(str, zip(*lists, strict=True))), return_inverse=True)[1]
    if _rises_with_rank(scores, ranks[0], number_of_list):
        raise refused(part.name, "distances", score=score, fault="it rises from rank to rank")


def _rises_with_rank(scores: Floats, ranks: Floats, number_of_list: Ints) -> bool:
    """True if scores rise at nearly all steps from one rank of a list to the next, as distances do;
    False for a few steps, which may rise by chance.
    """
    order = np.lexsort((ranks, number_of_list))
    is_step = np.diff(number_of_list[order]) == 0  # to a row of the same list
    steps = np.diff(scores[order])[is_step]
    return len(steps) > FEW and bool(np.mean(steps > 0) >= RISING)


def _score_columns(
    part: InputPart, roles: Mapping[str, str], systems: Sequence[str]
) -> dict[str, str]:
    """System -> its column of scores, in a wide table; empty for a long one, and for TREC text.

    roles: role -> column, of the roles that names of columns say. systems: those that the user
    names; empty for all. Raises InputError for a table that is long and wide at once.
    """
    if part.trec_layout:
        return {}
    _refuse_two_forms(part, roles, systems)
    are_columns = bool(systems) and set(systems) <= set(part.columns)
    # A column called score makes the table long, unless the user names columns as systems; with
    # a column of systems it is long in any case
    if "score" in roles and ("system" in roles or not are_columns):
        return {}
    return columns_of_systems(part.columns, "score", systems, part.name)


def _refuse_two_forms(part: InputPart, roles: Mapping[str, str], systems: Sequence[str]) -> None:
    """Raise InputError for a table that is long and wide at once: with a column of scores, or of
    systems, and a column of scores for each system beside it.
    """
    scores = [name for name in part.columns if name.startswith("score_") and name != "score_"]
    if scores and "score" in roles and not systems:
        raise refused(part.name, "score_and_systems", score=roles["score"], system=scores[0])
    if scores and "system" in roles:
        raise refused(part.name, "system_twice", system=roles["system"], scores=scores[0])


def naming_column(part: InputPart, column: "pa.Array | None") -> "pa.Array | None":
    """The column of systems, or None if it does not tell systems apart: the last field of a TREC
    run, its tag, is often the same in all files, and so counts only if it has several values.
    """
    is_tag = part.trec_layout is not None and "system" not in part.folder_values
    if is_tag and column is not None and len(column.unique()) < 2:
        return None
    return column


def names_of_systems(parts: Sequence[InputPart]) -> list[str]:
    """What the system of each part is called if its rows do not say it: the name of the file
    without suffix, after as many of its folders as make all names differ.
    """
    paths = []
    stems = []
    for part in parts:
        if part.unnamed:
            paths.append(Path())
            stems.append("system")
        else:
            path = formats.table(part.path)
            paths.append(path)
            stems.append(_stem(path.name))
    folders = [path.parts[:-1] for path in paths]
    deepest = max(map(len, folders), default=0)
    for depth in range(deepest + 1):
        names = []
        for folders_of_file, stem in zip(folders, stems, strict=True):
            innermost = folders_of_file[len(folders_of_file) - depth :]
            names.append("/".join([*innermost, stem]))
        if len(set(names)) == len(set(paths)):
            return names
    return stems


def _stem(name: str) -> str:
    """The name of a file without the suffixes of formats, of packing and of runs."""
    suffixes = {*formats.FORMATS, *PACKED, ".run", ".trec", ".txt", ".res", ".results"}
    while (suffix := "." + name.rsplit(".", 1)[-1]) in suffixes and len(suffix) < len(name):
        name = name.removesuffix(suffix)
    return name

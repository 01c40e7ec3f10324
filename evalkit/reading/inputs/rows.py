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
from evalkit.machine.compressed_files import COMPRESSED_SUFFIXES
from evalkit.names import usual
from evalkit.parameters.kinds import written
from evalkit.parameters.reports import AS_GIVEN, AUTO_SLICES, attributes
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
QUERY_AND_ITEM = ("query", "item")  # the roles that every row of a list has
SCORE_OR_RANK = ("score", "rank")  # the roles that order a list; of both the score does
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

    kind: RUN, JUDGED or QUERY_TABLE. fields: role -> column and rules. scores: in a wide table
    system -> the role of its scores, such as "score a"; else None -> the only role of scores,
    "score" or "rank". system_name: the system of a run that does not name
    its systems.
    """

    kind: str
    part: InputPart
    fields: dict[str, Field]
    scores: Mapping[str | None, str]
    system_name: str = ""

    @property
    def printed_columns(self) -> dict[str, str]:
        """Role -> the column that was read for it, as the report prints it; the fields of TREC text
        have no names, and are printed by their numbers. Empty for a TREC run, whose fields are
        always the same.
        """
        if self.part.trec_layout is trec.RUN:
            return {}
        if self.part.trec_layout:
            return {name: f"field {i}" for i, name in enumerate(self.part.columns, start=1)}
        # roles of two words, such as "attribute country", are printed elsewhere
        columns = {role: field.column for role, field in self.fields.items() if " " not in role}
        is_wide = None not in self.scores  # a column of scores for each system
        if is_wide:
            score_columns = [self.fields[role].column for role in self.scores.values()]
            columns["score"] = ", ".join(score_columns)
        if "score" in self.fields and "rank" in self.part.columns:
            columns["not used"] = "rank"  # scores order the lists
        return columns


class RunColumns(NamedTuple):
    """The columns of a run by role, and in a wide table the column of scores of each system."""

    column_by_role: dict[str, str]
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
        self, list_part: ListPart, checked: table.CheckedPart, *, ranks_are_positions: bool
    ) -> None:
        """Append the rows of a file or table: once for each system if it has a column of scores per
        system, else once.

        list_part: the columns by role. checked: their values. ranks_are_positions: False if the
        rows of a list without scores are to be numbered anew.
        """
        values: Mapping[str, Any] = checked.columns  # role -> the values of its column
        rows = checked.rows
        # name, number of rows and state of the file, as the report states them
        self.sources.append(checked.part.fingerprint(rows))
        self.columns.update(list_part.printed_columns)
        attributes = _attributes(values)
        system_column = naming_column(list_part.part, values.get("system"))
        for system, role in list_part.scores.items():
            score = values.get(role)  # None for judgements and tables of queries
            is_rank = role == "rank"
            if is_rank:  # negated, so that higher is better as for scores
                score = -values[role]
            system_of_rows = system_column
            if system_column is None:
                name = list_part.system_name if system is None else system
                system_of_rows = OnlySystem(name, rows)
            states_position = is_rank and ranks_are_positions
            self.system.append(system_of_rows)
            self.query.append(values["query"])
            self.item.append(values.get("item"))
            self.score.append(score)
            self.rank_is_position.append(np.broadcast_to(states_position, rows))
            self.grade.append(values.get("grade"))
            self.attributes.append(attributes)
            self.rows_of_parts.append(RowsOfPart(list_part.part, rows))

    @property
    def first_input_name(self) -> str:
        """The name of the first file or table, for errors."""
        return self.rows_of_parts[0].part.name

    def place(self, row: int) -> str:
        """The file and the row there, from 1, of a row, for errors. row: its number in all
        blocks.
        """
        part, number = table.locate(self.rows_of_parts, row)
        return part.place(number)


def _attributes(columns: Mapping[str, CheckedColumn]) -> dict[str, "pa.Array"]:
    """Name -> values, of the columns of segments, slices and unit, which describe queries.

    columns: role -> values; such a column has its name, behind a prefix, as the role.
    """
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
        """The options, each from the parameter of a report that has its name; an option without
        such a parameter keeps its default.

        p: the parameters. instead: option -> a value that is used in place of the parameter's.
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
        """Role -> column and its rules, of the columns of segments, slices and unit: texts, which
        may be empty but for the unit, as all rows without one would count as the same unit.
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
    judgement_parts: Sequence[InputPart] | None = None
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
        return self.judgement_parts is None

    @property
    def attributes_of_runs(self) -> Sequence[str]:
        """The columns of segments and unit that the runs hold: none if there is a table of queries,
        which then holds them.
        """
        return self.options.attributes if self.queries is None else ()

    def with_slices(self, slices: Sequence[str]) -> "RankingInput":
        """The input with the columns that are searched for weak slices: those that are named, or
        all of the table of queries for `AUTO_SLICES`. Raises ParameterError for `AUTO_SLICES`
        without one.
        """
        names = tuple(dict.fromkeys(slices))
        if names == AUTO_SLICES:
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
        """All files and tables of the input, each with its columns by role: the runs, then the
        judgements, then the tables of queries. Raises InputError for a file in which a role has no
        column.
        """
        names = names_of_systems(self.run)  # for runs without a column of systems
        parts = [self._run_part(part, name) for part, name in zip(self.run, names, strict=True)]
        parts += self._judgement_parts()
        parts += map(self._query_table_part, self.queries or ())
        return parts

    @property
    def rank_checks(self) -> dict[str, trec.RankCheck]:
        """Name of a TREC run -> its lists whose ranks order the items in another way than their
        scores do, of the runs with such lists. As in trec_eval the scores decide; the report warns
        of such lists.
        """
        trec_runs = [part for part in self.run if part.trec_layout is trec.RUN]
        checks = {part.name: trec.check_ranks(part.path) for part in trec_runs}
        return {name: check for name, check in checks.items() if check.contradicting}

    @property
    def all_relevant(self) -> bool:
        """True if judgements have no grades, so that each of them is a relevant item. Their column
        of grades then has the name `ALL_RELEVANT`.
        """
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
        return rules.widest_type(
            rules.precision_of(list_part.part, list_part.fields["grade"].column)
            for list_part in self.list_parts
            if "grade" in list_part.fields
        )

    def _run_part(self, part: InputPart, name: str) -> ListPart:
        """The columns of a run by role: query, item, score or rank, system, and grade if there are
        no judgements; segments and unit if there is no table of queries.

        name: that of the run's system if no column says it. Raises InputError for a TREC file of
        judgements.
        """
        if part.trec_layout is trec.QRELS:
            raise refused(part.name, "no_run")
        run_columns = self._columns_of_run(part)
        columns = run_columns.column_by_role
        _refuse_attributes(part, columns, self.attributes_of_runs)
        roles = list(QUERY_AND_ITEM)
        # system -> the role of its scores; None: the column of systems or the file names the system
        score_roles: dict[str | None, str] = {}
        is_wide = bool(run_columns.scores)  # a column of scores per system
        if is_wide:
            for system in run_columns.scores:
                score_roles[system] = f"score {system}"
        else:
            score_or_rank = "score" if "score" in columns else "rank"
            roles += ["system", score_or_rank]
            score_roles[None] = score_or_rank
            if part.unnamed and len(self.run) == 1:  # a single frame has no file to name its system
                name = columns[score_or_rank]
        roles += self.grade_roles
        fields = {role: Field(columns[role], RULES[role]) for role in roles if role in columns}
        for system, column in run_columns.scores.items():
            fields[f"score {system}"] = Field(column, RULES["score"])
        if self.queries is None:
            fields |= self.options.attribute_fields
        return ListPart(RUN, part, fields, score_roles, name)

    def _columns_of_run(self, part: InputPart) -> "RunColumns":
        """The columns of a run by role: as their names say it, or, if these do not say all, as the
        values in the first rows suggest it (a proposal).

        Raises InputError for roles without a column, for a second column that could be the query or
        the grade, and for distances in place of scores.
        """
        mapping_by_names = self._mapping(part)
        proposal = self._proposal(part, mapping_by_names)
        if proposal is None:
            score_columns = _score_columns(part, mapping_by_names.columns, self.options.systems)
            # in a wide table the columns of scores, one per system, order the lists
            order: list[tuple[str, ...]] = [] if score_columns else [SCORE_OR_RANK]
            by_role = self._resolve(part, mapping_by_names, order)
        else:
            # system -> role -> column; a table without a column per system has them under None
            predictions = proposal.predictions
            score_columns = {
                system: columns["score"] for system, columns in predictions.items() if system
            }
            by_role = {**proposal.columns, **predictions.get(None, {})}
        self._refuse_two_roles(part, by_role)
        refuse_distances(part, by_role)
        return RunColumns(by_role, score_columns)

    def _refuse_two_roles(self, part: InputPart, columns: Mapping[str, str]) -> None:
        """Raise InputError if an unused column could as well be the query or the grade, and would
        give other lists or grades: the user must say which of the two is meant.

        part: the file or table. columns: role -> the column that was found for it.
        """
        if part.trec_layout:  # each field of TREC text has a fixed meaning
            return
        used = set(columns.values()).union(self.options.columns.values(), self.options.attributes)
        unused = [name for name in part.columns if name not in used]
        for role in ("query", "grade"):
            is_chosen_by_user = role in self.options.columns
            if role not in columns or is_chosen_by_user:
                continue
            for name in unused:
                could_have_role = name in column_roles.SYNONYMS[role]
                if role == "query" and not could_have_role:
                    could_have_role = is_id_of_query(part, columns[role], name)
                if could_have_role:
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
        """The column of each role of a run as the values in its first rows suggest it. None if the
        names of the columns suffice, or if the values leave a role without a column or with
        several. mapping: the columns of the roles by their names.
        """
        if part.trec_layout:  # each field of TREC text has a fixed meaning
            return None
        if mapping.missing_columns:  # the user names a column that does not exist: refused later
            return None
        roles = mapping.columns.keys()
        has_order = not roles.isdisjoint(SCORE_OR_RANK)
        if not has_order:  # a wide table has a column of scores for each system
            has_order = bool(_score_columns(part, mapping.columns, self.options.systems))
        if has_order and set(QUERY_AND_ITEM).union(self.grade_roles) <= roles:
            return None
        first_rows = SampledTable.from_part(
            part, self.options.columns, self.options.systems, self.attributes_of_runs
        )
        proposal = ranking(first_rows, graded=self.has_grades)
        return proposal if proposal.is_complete else None

    def _mapping(self, part: InputPart) -> RoleMapping:
        """The columns of a run by role, according to their names.

        A column that the user names as a segment or unit has no role, with one exception: it may be
        the query too, if it is called so, or if no other column could be the query.
        """
        roles = [role for role in RULES if self.has_grades or role != "grade"]
        chosen = self._chosen_columns(part, roles)
        segments_and_unit = self.attributes_of_runs
        without_role = [name for name in segments_and_unit if name not in SURELY_QUERIES]
        other_columns = [name for name in part.columns if name not in without_role]
        if not column_roles.columns_called("query", other_columns):
            # such as user_id, if users are both the queries and the units
            usual_names = column_roles.SYNONYMS["query"]
            without_role = [name for name in without_role if name not in usual_names]
        return column_roles.match(
            part.columns,
            RULES,
            chosen,
            part.name,
            other_uses=without_role,
            required_columns=dict.fromkeys(segments_and_unit, ATTRIBUTE),
        )

    def _resolve(
        self, part: InputPart, mapping: RoleMapping, order: Sequence[tuple[str, ...]]
    ) -> dict[str, str]:
        """Role -> column of a run. Raises InputError if a role that it needs has no column; the
        error names the likeliest cause.

        mapping: the columns by their names. order: [("score", "rank")], as one of these roles must
        order the lists; empty for a wide table, in which each system has a column of scores.
        """
        needed: list[str | tuple[str, ...]] = [*QUERY_AND_ITEM, *order, *self.grade_roles]
        lacks_only_grade = mapping.missing_roles(needed) == [("grade",)]
        # a column of grades that the user names as a segment is refused as such by `resolve`
        is_segment = bool(column_roles.columns_called("grade", mapping.other_uses))
        if lacks_only_grade and not mapping.ambiguous_columns and not is_segment:
            # judgements are more likely forgotten than in a column with another name
            names = ", ".join(map(repr, part.columns))
            hint = column_roles.no_header(part.columns, "grade") or metrics_hint(part)
            raise refused(part.name, "no_grade", columns=names, hint=hint)
        try:
            return mapping.resolve(needed, per_system_role="score")
        except column_roles.MissingColumn:
            # a row with a whole list in a cell is a likelier cause than a missing column
            list_columns = columns_of_lists(part)
            if not list_columns:
                raise
            listed = column_roles.listed(map(repr, list_columns))
            raise refused(part.name, "lists_in_cells", columns=listed) from None

    def _judgement_parts(self) -> list[ListPart]:
        """The files of judgements with their columns by role; none if the runs hold the grades.

        Raises InputError if only some files have grades: in the others each row is a relevant item,
        which has no place among the grades.
        """
        list_parts = [self._judgements_part(part) for part in self.judgement_parts or ()]
        # `_judgements_part` adds a column of this name to a file without grades
        graded = [part for part in list_parts if part.fields["grade"].column != ALL_RELEVANT]
        ungraded = [part for part in list_parts if part.fields["grade"].column == ALL_RELEVANT]
        if graded and ungraded:
            raise refused(ungraded[0].part.name, "some_grades", other=graded[0].part.name)
        return list_parts

    def _judgements_part(self, part: InputPart) -> ListPart:
        """A part of judgements with its columns by role. Without a column that could be the grade
        each row gets the grade 1. Raises InputError for roles without a column.
        """
        if part.trec_layout and part.trec_layout is not trec.QRELS:
            raise refused(part.name, "no_judgements")
        roles = (*QUERY_AND_ITEM, "grade")
        chosen = self._chosen_columns(part, roles)
        for role in QUERY_AND_ITEM:  # the user may have named the columns of the runs
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
        if set(QUERY_AND_ITEM) == set(columns):
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
        """Role -> the column that the user names for it, of some roles; none of a TREC file, whose
        columns have no names.
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
                checked = table.read_part(list_part.part, list_part.fields)
                rows.add(list_part, checked, ranks_are_positions=self.options.ranks_are_positions)
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
    """Raise ParameterError if the user names the column of the system, item, score, rank or grade
    as a segment or unit: these differ from row to row, and a segment has one value per query.

    columns: role -> column of the run. attributes: the columns of segments and unit.
    """
    for role in ("system", "item", "score", "rank", "grade"):
        if role in columns:
            names = {columns[role]}
        elif role == "system":
            names = {"system"}  # its other usual names, such as model, are names of segments too
        else:
            # a column that is named as a segment is not matched to a role; its name tells the role
            names = set(column_roles.SYNONYMS[role])
        for name in names.intersection(part.columns, attributes):
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
    possible = list(proposal.ambiguous_roles.get("grade", ()))
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
    """Raise InputError for scores that are distances, of which lower ones are better: they are
    called so, or the first rows have ranks beside them, with which they rise.

    columns: role -> column; a table without a column of scores is not refused.
    """
    score_name = columns.get("score", "")
    if DISTANCES.intersection(snake_case(score_name).split("_")):
        raise refused(part.name, "distances", score=score_name, fault="it is called a distance")
    if part.trec_layout or score_name not in part.columns:
        return
    if RANK_NAMES.isdisjoint(map(snake_case, part.columns)):  # no column of ranks
        return
    first_rows = SampledTable.from_part(part, {})
    samples = {column.name: column for column in first_rows.columns}
    scores = samples[score_name].numbers  # None if a cell is no number
    rank_columns = first_rows.named("rank")
    if scores is None or len(rank_columns) != 1 or rank_columns[0].numbers is None:
        return
    # a list is all rows with the same system and query
    cells = [samples[columns[role]].cells for role in ("system", "query") if role in columns]
    names_of_lists = list(map(str, zip(*cells, strict=True)))
    number_of_list = np.unique(names_of_lists, return_inverse=True)[1]
    if _rises_with_rank(scores, rank_columns[0].numbers, number_of_list):
        raise refused(part.name, "distances", score=score_name, fault="it rises from rank to rank")


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
    """System -> its column of scores, in a wide table; empty for a long table, which has one column
    of scores, and for TREC text.

    roles: role -> column, as names of columns say it. systems: those that the user asks for, which
    may be whole names of columns; empty for all. Raises InputError for a table that is long and
    wide at once.
    """
    if part.trec_layout:
        return {}
    _refuse_two_forms(part, roles, systems)
    user_names_columns = bool(systems) and set(systems) <= set(part.columns)
    if "score" in roles and "system" in roles:  # long: the column of systems tells rows apart
        return {}
    # a single column of scores, unless the user says that systems are columns, such as bm25
    if "score" in roles and not user_names_columns:
        return {}
    return columns_of_systems(part.columns, "score", systems, part.name)


def _refuse_two_forms(part: InputPart, roles: Mapping[str, str], systems: Sequence[str]) -> None:
    """Raise InputError for a table that is wide, with a column score_<system> for each system, and
    long as well: with a column of scores too, unless the user says which columns are `systems`, or
    with a column of systems.

    roles: role -> column. systems: those that the user asks for; empty for all.
    """
    wide_columns = [name for name in part.columns if name.startswith("score_") and name != "score_"]
    if not wide_columns:
        return
    if "score" in roles and not systems:
        raise refused(part.name, "score_and_systems", score=roles["score"], system=wide_columns[0])
    if "system" in roles:
        raise refused(part.name, "system_twice", system=roles["system"], scores=wide_columns[0])


def naming_column(part: InputPart, column: "pa.Array | None") -> "pa.Array | None":
    """The column of systems, or None if it does not tell systems apart.

    The last field of a TREC run, its tag, is often the same in all files: if a file has a single
    tag, the system is called after the file, unless a folder such as system=bm25 names it. column:
    the values of the column of systems; None without one.
    """
    if column is None:
        return None
    is_tag = part.trec_layout is not None and "system" not in part.folder_values
    if is_tag and len(column.unique()) < 2:
        return None
    return column


def names_of_systems(parts: Sequence[InputPart]) -> list[str]:
    """The name of each file's system if its rows do not say it: that of the file without suffix,
    such as bm25, and before it as many of the innermost folders as make all names differ, such as
    2024/bm25 and 2025/bm25. A frame without a name is called system.
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
    most_folders = max(map(len, folders), default=0)
    for n_folders in range(most_folders + 1):
        names = []
        for folders_of_file, stem in zip(folders, stems, strict=True):
            innermost = folders_of_file[len(folders_of_file) - n_folders :]
            names.append("/".join([*innermost, stem]))
        if len(set(names)) == len(set(paths)):  # a file that is given twice has one name
            return names
    return stems  # two files differ in their suffix alone: no folder tells them apart


def _stem(name: str) -> str:
    """The name of a file without the suffixes of formats, of packing and of runs."""
    suffixes = {*formats.FORMATS, *COMPRESSED_SUFFIXES, ".run", ".trec", ".txt", ".res", ".results"}
    while (suffix := "." + name.rsplit(".", 1)[-1]) in suffixes and len(suffix) < len(name):
        name = name.removesuffix(suffix)
    return name

"""The use of each column of a table of values per unit: a system, the value, the unit's id, a draw,
or none of these.

Names decide first (a column `seed` is no system), then the cells: a column that mostly holds
numbers is one of numbers, and a cell of text in it is an error and never a reason to drop the
column.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from evalkit.arrays import Floats, Record
from evalkit.reading.engines import backends, base
from evalkit.reading.matching.column_names import METRICS, NAMES, comparable_name, is_like, uses_of
from evalkit.reading.matching.samples import ColumnSample
from evalkit.reading.tables import duck, logs, rules
from evalkit.reading.tables.columns import refused
from evalkit.reading.tables.parts import InputPart, Selection, Source
from evalkit.reading.tables.rules import row_suffix

if TYPE_CHECKING:
    import pyarrow as pa

CELLS: Mapping[str, Sequence[str]] = NAMES["cells"]
SAMPLE = 10_000  # rows whose values say what a column is
RUNNING_NUMBER = "a running number"
ENOUGH = 8  # values that are not equally spaced by chance
TRUTH = {"true": 1.0, "false": 0.0}
SHOWN = 3  # wrong cells that a message lists
# VALUE_PATTERN: texts that are meant as values: numbers with signs, units, notes and ranges, and
# verdicts
_DIGIT = "[0-9٠-٩۰-۹०-९０-９]"
_ONE = rf"[-+−]?({_DIGIT}({_DIGIT}|[ '])*([.,٫٬]{_DIGIT}*)*|[.,]{_DIGIT}+)(e[-+]?{_DIGIT}+)?"
# of np.float64(0.5), (0.5), \textbf{0.5}, **0.5**, <b>0.5</b>
_SIGNS = r"(([a-z]+[.])?[a-z]+\d*[(]|[(\[]|\\[a-z]+[{]|<[a-z]+>)? *[<>~≈=$€£*_]*"
_IMAGINARY = rf" *[-+] *{_ONE} *[ij]"  # of 0.5+0j
_UNIT = r"(%|ms|s|sec|min|€|[$]|£|k|m|mn|bn|mio|tsd)"
VALUE_PATTERN = (
    rf"^({_SIGNS} *{_ONE} *(/ *{_ONE} *|{_IMAGINARY})?{_UNIT}? *([)\]}}]|</[a-z]+>)?"
    rf" *([*_†‡§↑↓$]+|(±|[+]/?-) *{_ONE} *%?|[(\[][^()]*[)\]])* *"
    rf"|{'|'.join(CELLS['verdicts'])})$"
)
_REPEATS = frozenset(("draw", "split"))
_NO_VALUE = _REPEATS | {"id", "place", "time_or_weight", "unit"}


# What a name measures -----------------------------------------------------------------------------


def measure_of(name: str) -> str:
    """The longest usual metric at the start or the end of a name; "" if it has none.

    >>> [measure_of(name) for name in ("test_ndcg@10", "bm25_log_loss", "acc_norm", "bm25")]
    ['ndcg', 'log_loss', 'acc', '']
    """
    words = re.split("[_./:]+", re.sub(r"@.*", "", comparable_name(name)))
    for length in range(len(words), 0, -1):
        for end in (words[:length], words[-length:]):
            measure = "_".join(end)
            if len(measure) > 1 and measure in METRICS:
                return measure
    return ""


# What is plainly no system ------------------------------------------------------------------------


def measures(names: Sequence[str]) -> list[str]:
    """The names of metrics, if all of them are no systems: there are several, or one says no more.

    >>> measures(["val_loss", "b"]), measures(["a_loss", "b_loss"]), measures(["a_map", "a_mrr"])
    (['val_loss'], [], ['a_map', 'a_mrr'])
    >>> measures(["feedback.correctness", "latency"]), measures(["Toxicity.score", "QA.score"])
    (['feedback.correctness', 'latency'], ['Toxicity.score', 'QA.score'])
    """
    metric_of = {name: metric for name in names if (metric := measure_of(name))}
    stage = r"^(train|test|val|valid|validation|eval|feedback|scores|metrics|outputs?)[_.]|@.*"
    # names that say nothing but a metric, such as val_loss; a_loss names a system too
    only_metric = [
        name for name in metric_of if re.sub(stage, "", comparable_name(name)) == metric_of[name]
    ]
    has_several = len(set(metric_of.values())) > 1
    if has_several or (only_metric and len(names) > 1):
        return list(metric_of)
    return []


def tracked(names: Sequence[str]) -> list[str]:
    """The columns of an experiment tracker or a parameter search, by their names.

    A pattern that all names follow tells nothing: old_time and new_time may be systems. Nor does
    one among names of models: lr is a logistic regression beside rf.

    >>> tracked(["Step", "a", "a__MIN"]), tracked(["old_time", "new_time"]), tracked(["lr", "rf"])
    (['Step', 'a__MIN'], [], [])
    """
    if len(names) > 1 and all(ColumnSample(name, ()).is_model for name in names):
        return []
    patterns = [*NAMES["tracked"], *NAMES["parameters"]]
    telling = []
    for pattern in patterns:
        if not all(is_like(name, [pattern]) for name in names):
            telling.append(pattern)
    return [name for name in names if is_like(name, telling)]


def statistics(names: Sequence[str], numeric: Sequence[str]) -> list[str]:
    """The columns among `names` that aggregate others, such as mean and count; empty if only one of
    `numeric_columns`, all columns of numbers, does so: it may be a constant prediction.

    >>> statistics(["bm25", "mean"], ["bm25", "mean", "count"])
    ['mean']
    >>> statistics(["mean", "poisson"], ["mean", "poisson"])
    []
    """
    if sum(is_like(name, NAMES["statistics"]) for name in numeric) < 2:
        return []
    return [name for name in names if is_like(name, NAMES["statistics"])]


def counted(values: Floats) -> str:
    """What whole numbers are that are no values: "dates" such as 20240131, or "a running number",
    with steps of one length; else "".

    >>> counted(np.arange(20240101.0, 20240110.0)), counted(np.arange(0.0, 100.0, 10.0))
    ('dates', 'a running number')
    >>> counted(np.ones(9))
    ''
    """
    numbers = np.sort(values[np.isfinite(values)])
    if len(numbers) < ENOUGH or (numbers != np.rint(numbers)).any():
        return ""
    year = numbers // 10_000
    month = numbers // 100 % 100
    day = numbers % 100
    is_year = (year >= 1900) & (year <= 2100)
    is_month = (month >= 1) & (month <= 12)
    is_day = (day >= 1) & (day <= 31)
    if (is_year & is_month & is_day).all():
        return "dates"
    steps = np.diff(numbers)
    return RUNNING_NUMBER if steps[0] and (steps == steps[0]).all() else ""


# Columns and their cells --------------------------------------------------------------------------


class FoundCell(NamedTuple):
    """A cell of a part. row: from 1, or `NO_ROW_NUMBER`."""

    part: InputPart
    row: int
    text: str


@dataclass(frozen=True, eq=False)
class UnitColumn:
    """One column of all parts: what its name means, and how many of its cells contain what.

    present: cells that are not empty. exact: those that are numbers. looks: those that are meant as
    numbers, such as 80 %. marks: those that say that a value is missing. long: texts that are too
    long for a page.
    """

    name: str
    table: "UnitTable"
    present: int
    exact: int
    looks: int
    marks: int
    long: int

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        """The name as it is compared: lower case, words joined by underscores."""
        return comparable_name(self.name)

    @cached_property
    def suggested_uses(self) -> frozenset[str]:
        """All uses that its name suggests."""
        return uses_of(self.name)

    @property
    def holds_only_numbers(self) -> bool:
        """True if every cell that is not empty is a number."""
        return self.exact == self.present > 0

    @property
    def kind(self) -> Literal["numbers", "text", "empty"]:
        """The type of the cells. Numbers with a few text cells, which are errors, count as
        numbers.
        """
        if not self.present:
            return "empty"
        are_meant = self.looks and 2 * self.looks + self.marks >= self.present
        return "numbers" if self.holds_only_numbers or are_meant else "text"

    @cached_property
    def distinct(self) -> bool:
        """True if all cells differ."""
        return self.table.distinct([self]) == self.table.rows

    @property
    def repeats(self) -> bool:
        """True if its name says that it counts repetitions, or numbers folds or other splits."""
        return bool(self.suggested_uses & _REPEATS)

    @property
    def is_named_as_bookkeeping(self) -> bool:
        """True if its name says that it is an id, a repetition, a rank, a position, a time or a
        weight.
        """
        return bool(self.suggested_uses & _NO_VALUE)

    @property
    def groups(self) -> bool:
        """True if its values may be groups within which units are numbered: text, or ids of
        something else.
        """
        if self.kind == "empty" or self.repeats:
            return False
        return bool(self.suggested_uses & {"id", "unit"}) or (
            self.kind == "text" and not self.is_named_as_bookkeeping
        )

    def head(self) -> Floats:
        """The numbers in its first rows."""
        return np.asarray(self.table.sample[f"number {self.name}"])

    def first(self, pattern: str) -> FoundCell | None:
        """The first cell that matches the pattern, in lower case and stripped."""
        matches = self.table.engine.dialect.matches(self.table.plain(self.name), pattern)
        return next(iter(self.table.first(matches, self, 1)), None)

    def refuse_text(self) -> None:
        """Raise InputError if cells are neither empty nor numbers, with the first of them and the
        number of others.
        """
        if self.exact == self.present or self.kind == "empty":
            return
        text = self.table.text(self.name)
        number = self.table.number(self.name)
        wrong = self.table.first(f"{text} IS NOT NULL AND {number} IS NULL", self, SHOWN)
        cells = ", ".join(f"{cell.text!r}{row_suffix(cell.row)}" for cell in wrong)
        if unlisted := self.present - self.exact - len(wrong):
            cells += f" and {unlisted:,} more"
        raise refused(wrong[0].part.name, "no_numbers", column=self.name, cells=cells)

    def refuse_long(self) -> None:
        """Raise InputError if a text is longer than a page can repeat."""
        if self.long:
            cell = self.table.first(self.table.too_long(self.name), self, 1)[0]
            raise rules.SHORT.error(cell.part.name, self.name, cell.text, cell.row)


@dataclass(frozen=True, eq=False)
class UnitTable:
    """All parts of a table in an engine, which is queried once for the contents of the columns."""

    parts: Sequence[InputPart]
    engine: base.Engine

    @classmethod
    def from_parts(
        cls, parts: Sequence[InputPart], engine: base.Engine | None = None
    ) -> "UnitTable":
        """The parts in an engine; None: they fit into memory."""
        return cls(parts, engine or backends.InMemoryDuckDB.opened())

    @property
    def name(self) -> str:
        """The table as errors name it."""
        return self.parts[0].name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.parts[0].columns

    @property
    def logged(self) -> bool:
        """True for evaluation logs."""
        return isinstance(self.parts[0], logs.EvaluationLog)

    def sources(self) -> tuple[Source, ...]:
        """The parts with their rows. Raises InputError if a file has changed since reading
        began.
        """
        rows = zip(self.parts, self.counts, strict=True)
        return tuple(part.fingerprint(count) for part, count in rows)

    def refuse_unlike(self) -> None:
        """Raise InputError if a part has other columns than the first."""
        for part in self.parts:
            if set(part.columns) != set(self.names):
                columns = ", ".join(self.names)
                raise refused(part.name, "other_columns", first=self.name, columns=columns)

    # The SQL of a column's cells

    def text(self, name: str) -> str:
        """The SQL of the cells of a column as texts."""
        return self.engine.dialect.quote(f"text {name}")

    def number(self, name: str) -> str:
        """The SQL of the cells of a column as numbers."""
        return self.engine.dialect.quote(f"number {name}")

    def plain(self, name: str) -> str:
        """The SQL of a text in the form in which numbers are recognised in it."""
        return f"lower(trim({self.text(name)}))"

    def too_long(self, name: str) -> str:
        """The SQL condition of a text that is longer than a page can repeat."""
        return f"{self.engine.dialect.bytes(f'text {name}')} > {rules.LONGEST}"

    def _parsed(self, name: str) -> str:
        """The SQL of the number that a text says, 1 and 0 for true and false; NULL if it says
        none.
        """
        dialect = self.engine.dialect
        plain = self.plain(name)
        cases = [f"WHEN {dialect.matches(plain, duck.NUMBER)} THEN TRY_CAST({plain} AS DOUBLE)"]
        for word, value in TRUTH.items():
            cases.append(f"WHEN {plain} = {dialect.literal(word)} THEN CAST({value} AS DOUBLE)")
        return f"CASE {' '.join(cases)} END"

    def _counts(self, selection: Selection, name: str) -> dict[str, str]:
        """Field of `UnitColumn` -> the SQL that counts it."""
        if f"number {name}" in selection.numbers:
            count = f"count({self.number(name)})"
            return {"present": count, "exact": count, "looks": count, "marks": "0", "long": "0"}
        dialect = self.engine.dialect
        plain = self.plain(name)
        is_number = dialect.finite(f"number {name}")  # spares most cells the patterns
        truth = ", ".join(map(dialect.literal, TRUTH))
        marks = ", ".join(map(dialect.literal, CELLS["missing"]))
        looks = f"{dialect.matches(plain, VALUE_PATTERN)} OR {plain} IN ({truth})"
        is_mark = f"{plain} IN ({marks})"
        return {
            "present": f"count({self.text(name)})",
            "exact": f"count({self.number(name)})",
            "looks": f"count(*) FILTER (WHERE CASE WHEN {is_number} THEN true ELSE {looks} END)",
            "marks": f"count(*) FILTER (WHERE CASE WHEN {is_number} THEN false ELSE {is_mark} END)",
            "long": f"count(*) FILTER (WHERE {self.too_long(name)})",
        }

    # What the engine answers

    @cached_property
    def selections(self) -> Sequence[Selection]:
        """For each part a selection with `text <column>` and `number <column>`."""
        return [self._selection(part, f"frame{i}") for i, part in enumerate(self.parts)]

    def _selection(self, part: InputPart, frame: str) -> Selection:
        """All columns of a part as texts and as numbers; those of texts are parsed by `_parsed`.

        frame: the name of the part in the engine.
        """
        dialect = self.engine.dialect
        texts = {f"text {name}": name for name in self.names}
        numbers = {
            f"number {name}": name
            for name, kind in part.select(texts, {}, dialect).types.items()
            if dialect.holds_numbers(kind) and not dialect.is_text(kind)
        }
        selection = part.select(texts, numbers, dialect, frame)
        parsed = [
            f"{self._parsed(name)} AS {self.number(name)}"
            for name in self.names
            if name not in numbers.values()
        ]
        query = f"SELECT {', '.join(['*', *parsed])} FROM ({selection.query}) AS t"
        return self.engine.cached(replace(selection, query=query), frame)

    @cached_property
    def _profiles(self) -> list[Record]:
        """For each part the number of its rows, `n`, and what `UnitColumn` counts of its columns,
        such as `exact0` of the first one. Raises InputError for a part without a row.
        """
        profiles = []
        for selection in self.selections:
            counts = []
            for i, name in enumerate(self.names):
                for counted, count in self._counts(selection, name).items():
                    counts.append(f"{count} AS {counted}{i}")
            profiles += base.profile(self.engine, selection, counts)
        return profiles

    @cached_property
    def counts(self) -> Sequence[int]:
        """The number of rows of each part."""
        return [profile["n"] for profile in self._profiles]

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return sum(self.counts)

    @cached_property
    def columns(self) -> Sequence[UnitColumn]:
        """All columns, in order.

        Raises InputError if a part has no row, or a text is longer than a page can repeat.
        """
        columns = []
        for i, name in enumerate(self.names):
            sums = {}
            for counted in ("present", "exact", "looks", "marks", "long"):
                sums[counted] = sum(profile[f"{counted}{i}"] for profile in self._profiles)
            column = UnitColumn(name, self, **sums)
            column.refuse_long()
            columns.append(column)
        return columns

    def first(self, condition: str, column: UnitColumn, limit: int) -> list[FoundCell]:
        """The cells of a column in the first rows that meet a condition, at most `limit`, all of
        one part.
        """
        cells = f"{self.text(column.name)} AS value"
        for selection in self.selections:
            if rows := self.engine.where(selection, condition, cells, limit):
                part = selection.part
                return [FoundCell(part, row["n"], str(row["value"])) for row in rows]
        return []

    @cached_property
    def sample(self) -> "pa.Table":
        """The numbers of some first rows, for all columns by one query."""
        query = self._query(map(self.number, self.names))
        return self.engine.table(query.outer_query("*", f"LIMIT {SAMPLE}"))

    def distinct(self, columns: Sequence[UnitColumn]) -> int:
        """The number of rows that differ in these columns as texts; an empty cell counts as a
        text.
        """
        empty = self.engine.dialect.literal("")
        query = self._query(
            f"COALESCE({self.text(column.name)}, {empty}) AS t{i}"
            for i, column in enumerate(columns)
        )
        count = self.engine.table(query.outer_query("DISTINCT *").outer_query("count(*) AS n"))
        return int(count["n"][0].as_py())

    def numbers_rows(self, column: UnitColumn, cluster: UnitColumn) -> bool:
        """True if a column of numbers counts the rows of each cluster, from 0 or from 1, and a
        cluster has several rows.
        """
        cells = [f"{self.text(cluster.name)} AS cluster", f"{self.number(column.name)} AS x"]
        has_no_gap = "count(DISTINCT x) = count(*) AND max(x) - min(x) + 1 = count(*)"
        # of each cluster its first number, NULL if it is not counted
        first = f"CASE WHEN {has_no_gap} THEN min(x) END AS first, count(*) AS n"
        clusters = self._query(cells).outer_query(first, "GROUP BY cluster")
        summary = clusters.outer_query(
            "min(first) AS low, max(first) AS high, count(first) AS counted, "
            "count(*) AS clusters, max(n) AS most"
        )
        row = self.engine.table(summary).to_pylist()[0]
        same_start = row["low"] == row["high"] and row["low"] in (0, 1)
        return same_start and row["counted"] == row["clusters"] and row["most"] > 1

    def texts(self, column: UnitColumn) -> tuple[str, ...]:
        """The distinct texts of a column, in order."""
        query = self._query([f"{self.text(column.name)} AS value"])
        return tuple(
            sorted(self.engine.table(query.outer_query("DISTINCT value"))["value"].to_pylist())
        )

    def check(
        self, ids: Sequence[UnitColumn], numbers: Sequence[UnitColumn], rule: rules.Rules
    ) -> None:
        """Raise InputError for the first id that is no text or whole number, or the first number
        that breaks a rule.
        """
        for column in numbers:
            column.refuse_text()
        number_columns = {column.name: column.name for column in numbers}
        for part in self.parts:
            for column in ids:
                part.check(part.select({"id": column.name}, {}, self.engine.dialect))
            part.check(part.select({}, number_columns, self.engine.dialect))
        fields = {f"number {column.name}": rules.Field(column.name, rule) for column in numbers}
        fields |= {f"text {column.name}": rules.Field(column.name) for column in ids}
        for selection in self.selections:
            base.checked(self.engine, selection, fields)

    def query(
        self,
        texts: Mapping[str, Sequence[UnitColumn]],
        numbers: Mapping[str, UnitColumn],
        shard: str | None,
    ) -> base.Query:
        """A query of all rows.

        texts: name in the result -> columns of texts, of which several are joined with a blank.
        numbers: name in the result -> a column of numbers. shard: the name by which the result may
        be split into shards; None for no shards.
        """
        separator = f", {self.engine.dialect.literal(' ')}, "
        cells = [f"{self.number(column.name)} AS {name}" for name, column in numbers.items()]
        for name, columns in texts.items():
            text = separator.join(self.text(column.name) for column in columns)
            if len(columns) > 1:
                text = f"concat({text})"
            cells.append(f"{text} AS {name}")
        return replace(self._query(cells), group_column=shard, rows=self.rows)

    def _query(self, cells: Iterable[str]) -> base.Query:
        """The query of these cells, as SQL, of all rows."""
        return base.Query.from_selections(
            self.selections, [", ".join(cells)] * len(self.selections)
        )


class Bookkeeping(NamedTuple):
    """Columns that are clearly not systems, and what they hold instead: the kind."""

    kind: str
    columns: Sequence[str]


def bookkeeping_among(
    columns: Sequence[UnitColumn], numeric: Sequence[UnitColumn]
) -> Bookkeeping | None:
    """The columns that are clearly not systems, by their names or because of what they count; None
    if all may be systems.

    numeric: all columns of numbers, also those that describe the units or are computed from others.
    """
    names = [column.name for column in columns]
    kinds = {
        "metrics": measures(names),
        "columns of a tracker": tracked(names),
        "statistics of others": statistics(names, [column.name for column in numeric]),
    }
    for kind, no_systems in kinds.items():
        if no_systems:
            return Bookkeeping(kind, no_systems)
    for column in columns:
        if kind := counted(column.head()):
            return Bookkeeping(kind, [column.name])
    return None

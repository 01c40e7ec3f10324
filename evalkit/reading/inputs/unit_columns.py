"""The use of each column of a table of values per unit: a system, the value, the unit's id, a draw,
or none of these.

Names decide first (a column `seed` is no system), then the cells: a column that mostly holds
numbers is one of numbers, and a cell of text in it is an error and never a reason to drop the
column.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from typing import Any, Literal

import numpy as np

from evalkit.arrays import Floats
from evalkit.catalogue import lookup
from evalkit.names import usual
from evalkit.reading.engines import backends, base
from evalkit.reading.tables import columns as roles_of, duck, rules
from evalkit.reading.tables.columns import refused
from evalkit.reading.tables.parts import Part, Selection, at

NAMES = roles_of.facts("unit_names")
USES: Mapping[str, Sequence[str]] = NAMES[
    "uses"
]  # the usual names for each use of a column, the least ambiguous first
_NO_SYSTEMS: Mapping[str, Sequence[str]] = NAMES["no_systems"]
SETS: Mapping[str, str] = {name: of for of, names in NAMES["folds"].items() for name in names}
TASKS: Sequence[str] = NAMES["tasks"]
TOTALS = _NO_SYSTEMS["successes"], _NO_SYSTEMS["trials"]  # counts, as tables of totals call them
SAMPLE = 10_000  # rows whose values say what a column is
ENOUGH = 8  # values that are not equally spaced by chance
MISSING = (
    "n/a",
    "na",
    "#n/a",
    "nan",
    "null",
    "none",
    "-",
    "--",
    "–",
    ".",
    "?",
    "missing",
    "inf",
    "-inf",
)
TRUTH = {"true": 1.0, "false": 0.0}
SHOWN = 3  # wrong cells that a message lists
_DIGIT = "[0-9٠-٩۰-۹०-९０-９]"
_ONE = rf"[-+−]?({_DIGIT}({_DIGIT}|[ '])*([.,٫٬]{_DIGIT}*)*|[.,]{_DIGIT}+)(e[-+]?{_DIGIT}+)?"
LOOKS = (
    rf"^[<>~≈=$€£*]* *{_ONE} *(%|ms|s|sec|min|€|[$]|£)? *([*†‡§↑↓]+|(±|[+]/?-) *{_ONE} "
    rf"*%?|[(\[][^()]*[)\]])* *$"
)
_ID = re.compile(
    r"(.*_)?(id|ids|no|nr|number|idx|index)|qid|uid|docno|unnamed: ?\d+|level_\d+|column \d+"
)


_NO_VALUE = {"draw", "place", "time_or_weight", "unit"}


def key(name: str) -> str:
    """A name in the form in which names are compared.

    >>> key(" Question ID"), key("questionId")
    ('question_id', 'question_id')
    """
    apart = re.sub(r"(?<=[a-z])(?=I[dD]$)", "_", name.strip()).lower()
    return apart if apart.startswith(("unnamed", "column")) else re.sub(r"[ _-]+", "_", apart)


def identifies(name: str) -> bool:
    """True if a name is that of an id or a consecutive number.

    >>> identifies("question_id"), identifies("Unnamed: 0"), identifies("grid")
    (True, True, False)
    """
    return bool(_ID.fullmatch(key(name)))


_METRICS = {*lookup.ALIASES, *_NO_SYSTEMS["metrics"]}


def measure_of(name: str) -> str:
    """The longest usual metric at the start or the end of a name; "" if it has none.

    >>> (
    ...     measure_of("test_ndcg@10"),
    ...     measure_of("bm25_log_loss"),
    ...     measure_of("acc_norm"),
    ...     measure_of("bm25"),
    ... )
    ('ndcg', 'log_loss', 'acc', '')
    """
    words = re.sub(r"@.*", "", key(name)).split("_")
    ends = ("_".join(part) for n in range(len(words), 0, -1) for part in (words[:n], words[-n:]))
    return next((part for part in ends if _is_metric(part)), "")


def without_stage(name: str) -> str:
    """A name without the stage of training before it and the cut-off after it."""
    return re.sub(r"^(train|test|val|valid|validation|eval)_|@.*", "", key(name))


def _is_metric(name: str) -> bool:
    return len(name) > 1 and (
        name in _METRICS or any(name in table for table in lookup.TABLES.values())
    )


def _is(name: str, patterns: Sequence[str]) -> bool:
    plain = name.strip().lower()
    return any(
        fnmatch(form, pattern)
        for form in (plain, re.sub(r"[ _./-]+", "_", plain))
        for pattern in patterns
    )


def aside(name: str) -> bool:
    """True if a name says that a column describes the unit or is computed from the others.

    >>> aside("Num_Rel"), aside("zip code"), aside("p"), aside("bm25")
    (True, True, True, False)
    """
    return _is(name, _NO_SYSTEMS["aside"])


def tracked(names: Sequence[str]) -> list[str]:
    """The columns of an experiment tracker or a parameter search; empty if all names follow one
    pattern.

    Such a pattern is, for example, old_time and new_time.

    >>> tracked(["Step", "a", "a__MIN"]), tracked(["old_time", "new_time"])
    (['Step', 'a__MIN'], [])
    """
    several = [
        pattern
        for pattern in _NO_SYSTEMS["tracked"]
        if not all(_is(name, [pattern]) for name in names)
    ]
    return [name for name in names if _is(name, several)]


def statistics(names: Sequence[str], every: Sequence[str]) -> list[str]:
    """The columns that aggregate others, if there are several; one alone may be a constant
    prediction.

    every: all numeric ones.

    >>> (
    ...     statistics(["bm25", "mean"], ["bm25", "mean", "count"]),
    ...     statistics(["mean", "poisson"], ["mean", "poisson"]),
    ... )
    (['mean'], [])
    """
    several = sum(_is(name, _NO_SYSTEMS["statistics"]) for name in every) > 1
    return [name for name in names if several and _is(name, _NO_SYSTEMS["statistics"])]


def counted(values: Floats) -> str:
    """What whole numbers are that are no values: "dates" as 20240131, "a running number"; else "".

    >>> (
    ...     counted(np.arange(20240101.0, 20240110.0)),
    ...     counted(np.arange(0.0, 100.0, 10.0)),
    ...     counted(np.ones(9)),
    ... )
    ('dates', 'a running number', '')
    """
    numbers = np.sort(values[np.isfinite(values)])
    if len(numbers) < ENOUGH or (numbers != np.rint(numbers)).any():
        return ""
    year, month, day = numbers // 10_000, numbers // 100 % 100, numbers % 100
    if (
        (year >= 1900) & (year <= 2100) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    ).all():
        return "dates"
    steps = np.diff(numbers)
    return "a running number" if steps[0] and (steps == steps[0]).all() else ""


# Columns and their cells --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Column:
    """One column of all parts: what its name means, and what its cells contain.

    present: cells that are not empty. exact: numbers. looks: cells that are meant as numbers.
    marks: of missing values.
    """

    name: str
    of: "Cells"
    present: int
    exact: int
    looks: int
    marks: int

    @property
    def key(self) -> str:
        """The name as it is compared: lower case, words joined by underscores."""
        return key(self.name)

    @cached_property
    def uses(self) -> frozenset[str]:
        """All uses that its name suggests."""
        return frozenset(use for use, names in USES.items() if self.key in names)

    @property
    def clean(self) -> bool:
        """True if every cell that is not empty is a number."""
        return self.exact == self.present > 0

    @property
    def kind(self) -> Literal["numbers", "text", "empty"]:
        """The type of the cells. Numbers with a few text cells, which are errors, count as
        numbers.
        """
        if not self.present:
            return "empty"
        return (
            "numbers"
            if self.clean or (self.looks and 2 * self.looks + self.marks >= self.present)
            else "text"
        )

    @cached_property
    def distinct(self) -> bool:
        """True if all cells differ."""
        return self.of.distinct([self]) == self.of.rows

    @property
    def identifies(self) -> bool:
        """True if its name is that of an id or a consecutive number."""
        return identifies(self.name)

    @property
    def aside(self) -> bool:
        """True if its name says that it describes the unit or is computed from other columns."""
        return aside(self.name)

    @property
    def draws(self) -> bool:
        """True if its name says that it counts repetitions."""
        return "draw" in self.uses or self.splits

    @property
    def splits(self) -> bool:
        """True if its name says that it numbers folds or other splits."""
        return self.key in usual("folds")["columns"]

    @property
    def no_value(self) -> bool:
        """True if its name says that it is an id, a repetition, a rank, a position, a time or a
        weight.
        """
        return bool(self.uses & _NO_VALUE) or self.draws or self.identifies

    @property
    def groups(self) -> bool:
        """True if its values may be groups within which units are numbered: text, or ids of
        something else.
        """
        named = "unit" in self.uses or self.identifies
        return (
            self.kind != "empty"
            and not self.draws
            and (named or (self.kind == "text" and not self.no_value))
        )

    def head(self) -> Floats:
        """The numbers in its first rows."""
        return self.of.sample[f"number {self.name}"].to_numpy()

    def first(self, pattern: str) -> tuple[Part, int, str] | None:
        """Part, row and cell of the first cell that matches the pattern, in lower case and
        stripped.
        """
        condition = self.of.engine.dialect.matches(self.of.plain(self.name), pattern)
        return next(self.of.first(condition, f"text {self.name}", 1), None)

    def refuse_text(self) -> None:
        """Raise InputError if cells are neither empty nor numbers, with some of the first file and
        how many others.
        """
        if self.exact == self.present or self.kind == "empty":
            return
        quote = self.of.engine.dialect.quote
        condition = (
            f"{quote(f'text {self.name}')} IS NOT NULL AND {quote(f'number {self.name}')} IS NULL"
        )
        wrong = list(self.of.first(condition, f"text {self.name}", SHOWN))
        part, several = wrong[0][0], self.present - self.exact
        same = [
            f"{cell!r}{f' (row {row:,})' if row else ''}"
            for other, row, cell in wrong
            if other is part
        ]
        more = f" and {several - len(same):,} more" if several > len(same) else ""
        raise refused(part.name, "no_numbers", column=self.name, cells=f"{', '.join(same)}{more}")


@dataclass(frozen=True, eq=False)
class Cells:
    """All parts of a table in an engine, which is queried once for the contents of the columns."""

    parts: Sequence[Part]
    engine: base.Engine

    @classmethod
    def of(cls, parts: Sequence[Part], engine: base.Engine | None = None) -> "Cells":
        """The parts in an engine; None: they fit into memory."""
        return cls(parts, engine or backends.AtHand.opened())

    def refuse_unlike(self) -> None:
        """Raise InputError if a part has other columns than the first."""
        for part in self.parts:
            if set(part.columns) != set(self._names):
                raise refused(
                    part.name,
                    "other_columns",
                    first=self.parts[0].name,
                    columns=", ".join(self._names),
                )

    @property
    def _names(self) -> tuple[str, ...]:
        return self.parts[0].columns

    @cached_property
    def selections(self) -> Sequence[Selection]:
        """For each part a selection with `text <column>` and `number <column>`."""
        dialect, chosen = self.engine.dialect, []
        for i, part in enumerate(self.parts):
            text = {f"text {name}": name for name in self._names}
            kinds = part.select(text, {}, dialect).types
            numeric = [
                name
                for name, of in kinds.items()
                if dialect.holds_numbers(of) and not dialect.is_text(of)
            ]
            others = [name for name in self._names if name not in numeric]
            said = [f"{self._said(name)} AS {dialect.quote(f'number {name}')}" for name in others]
            own = part.select(
                text, {f"number {name}": name for name in numeric}, dialect, f"frame{i}"
            )
            own = replace(own, query=f"SELECT {', '.join(['*', *said])} FROM ({own.query}) AS t")
            chosen.append(self.engine.kept(own, f"frame{i}"))
        return chosen

    def plain(self, name: str) -> str:
        """The SQL of a text in the form in which numbers are recognised in it."""
        return f"lower(trim({self.engine.dialect.quote(f'text {name}')}))"

    def _said(self, name: str) -> str:
        """The number that a text says, true and false as 1 and 0; nothing if it says none."""
        plain = self.plain(name)
        cells = [
            f"WHEN {self.engine.dialect.matches(plain, duck.NUMBER)} THEN TRY_CAST({plain} AS "
            f"DOUBLE)"
        ]
        for word, value in TRUTH.items():
            cells.append(
                f"WHEN {plain} = {self.engine.dialect.literal(word)} THEN CAST({value} AS DOUBLE)"
            )
        return f"CASE {' '.join(cells)} END"

    @cached_property
    def _profiles(self) -> list[dict[str, int]]:
        """Of each part its rows, and of each column what `Column` counts; InputError where it has
        no row.
        """
        profiles = []
        for selection in self.selections:
            counts = [
                cell
                for i, name in enumerate(self._names)
                for cell in self._counts(selection, i, name)
            ]
            profiles += base.profile(self.engine, selection, counts)
        return profiles

    def _counts(self, selection: Selection, i: int, name: str) -> list[str]:
        """The SQL of what `Column` counts, and of texts that are longer than a page can repeat."""
        dialect, plain = self.engine.dialect, self.plain(name)
        text, number = dialect.quote(f"text {name}"), dialect.quote(f"number {name}")
        if f"number {name}" in selection.numbers:
            numbers = [f"count({number}) AS {of}{i}" for of in ("present", "exact", "looks")]
            return [*numbers, f"0 AS marks{i}", f"0 AS long{i}"]
        truth, marks = (", ".join(map(dialect.literal, words)) for words in (TRUTH, MISSING))
        sure = dialect.finite(f"number {name}")  # spares the patterns most cells
        looks = (
            f"CASE WHEN {sure} THEN true ELSE {dialect.matches(plain, LOOKS)} OR {plain} IN "
            f"({truth}) END"
        )
        return [
            f"count({text}) AS present{i}",
            f"count({number}) AS exact{i}",
            f"count(*) FILTER (WHERE {looks}) AS looks{i}",
            f"count(*) FILTER (WHERE CASE WHEN {sure} THEN false ELSE {plain} IN ({marks}) END) AS "
            f"marks{i}",
            f"count(*) FILTER (WHERE {dialect.bytes(f'text {name}')} > {duck.LONGEST}) AS long{i}",
        ]

    @cached_property
    def counts(self) -> Sequence[int]:
        """The number of rows of each part."""
        return [row["n"] for row in self._profiles]

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return sum(self.counts)

    @cached_property
    def columns(self) -> Sequence[Column]:
        """All columns, in order.

        Raises InputError if a part has no row, or a text is longer than a page can repeat.
        """
        columns = []
        for i, name in enumerate(self._names):
            if any(row[f"long{i}"] for row in self._profiles):
                long = f"{self.engine.dialect.bytes(f'text {name}')} > {duck.LONGEST}"
                part, row, text = next(self.first(long, f"text {name}", 1))
                raise duck.too_long(f"{part.name}: {name}", text, at(row))
            sums = (
                sum(row[f"{of}{i}"] for row in self._profiles)
                for of in ("present", "exact", "looks", "marks")
            )
            columns.append(Column(name, self, *sums))
        return columns

    def first(self, condition: str, role: str, most: int) -> Iterator[tuple[Part, int, str]]:
        """Part, row (0 if rows have no number) and value of the first rows that meet a
        condition.
        """
        cells, left = f"{self.engine.dialect.quote(role)} AS value", most
        for selection in self.selections:
            for row in self.engine.where(selection, condition, cells, left) if left else ():
                left -= 1
                yield selection.part, row["n"], str(row["value"])

    @cached_property
    def sample(self) -> Any:
        """The numbers of some first rows, for all columns by one query."""
        cells = [self.engine.dialect.quote(f"number {name}") for name in self._names]
        return self.engine.table(self._query(cells).around("*", f"LIMIT {SAMPLE}"))

    def distinct(self, columns: Sequence[Column]) -> int:
        """The number of rows that differ in these columns as texts; an empty cell counts as a
        text.
        """
        dialect = self.engine.dialect
        texts = [
            f"COALESCE({dialect.quote(f'text {column.name}')}, {dialect.literal('')})"
            for column in columns
        ]
        cells = [f"{text} AS t{i}" for i, text in enumerate(texts)]
        return int(
            self.engine.table(self._query(cells).around("DISTINCT *").around("count(*) AS n"))["n"][
                0
            ].as_py()
        )

    def numbers_rows(self, column: Column, cluster: Column) -> bool:
        """True if a column of numbers counts the rows of each cluster, from 0 or from 1."""
        quote = self.engine.dialect.quote
        cells = f"{quote(f'text {cluster.name}')} AS t, {quote(f'number {column.name}')} AS x"
        no_gap = "count(DISTINCT x) = count(*) AND max(x) - min(x) + 1 = count(*)"
        first = f"CASE WHEN {no_gap} THEN min(x) END AS first, count(*) AS n"
        ends = "min(first) AS low, max(first) AS high, count(first) AS counted"
        clusters = self._query([cells]).around(first, "GROUP BY t")
        found = self.engine.table(clusters.around(f"{ends}, count(*) AS clusters, max(n) AS most"))
        row = found.to_pylist()[0]
        same_start = row["low"] == row["high"] and row["low"] in (0, 1)
        return same_start and row["counted"] == row["clusters"] and row["most"] > 1

    def names(self, column: Column) -> tuple[str, ...]:
        """The distinct texts of a column, in order."""
        cells = [f"{self.engine.dialect.quote(f'text {column.name}')} AS value"]
        texts = self.engine.table(self._query(cells).around("DISTINCT value"))
        return tuple(sorted(texts["value"].to_pylist()))

    def check(
        self, texts: Sequence[Column], numbers: Sequence[Column], rule: rules.Rules = rules.VALUES
    ) -> None:
        """Raise InputError for the first cell of a column that breaks a rule; texts are ids. rule:
        of the numbers.
        """
        for column in numbers:
            column.refuse_text()
        for part in self.parts:
            for column in texts:
                part.check(part.select({"id": column.name}, {}, self.engine.dialect))
        fields = {f"number {column.name}": rules.Field(column.name, rule) for column in numbers}
        fields |= {f"text {column.name}": rules.Field(column.name) for column in texts}
        for selection in self.selections:
            base.checked(self.engine, selection, fields)

    def query(
        self, texts: Mapping[str, Sequence[Column]], numbers: Mapping[str, Column], by: str | None
    ) -> base.Query:
        """A query of all rows with these columns; several texts are joined into one."""
        quote, space, cells = self.engine.dialect.quote, self.engine.dialect.literal(" "), []
        for name, columns in texts.items():
            each = f", {space}, ".join(quote(f"text {column.name}") for column in columns)
            cells.append(f"concat({each}) AS {name}" if len(columns) > 1 else f"{each} AS {name}")
        cells += [f"{quote(f'number {column.name}')} AS {name}" for name, column in numbers.items()]
        return replace(self._query(cells), by=by, rows=self.rows)

    def _query(self, cells: Sequence[str]) -> base.Query:
        """These cells of all rows."""
        return base.Query.over(self.selections, [", ".join(cells)] * len(self.selections))


def refuse_bookkeeping(columns: Sequence[Column], every: Sequence[Column], where: str) -> None:
    """Raise InputError for columns that are clearly not systems, by their names or because of what
    they count.

    every: all columns, including those that describe the units or are computed from others.
    """
    names_of = [column.name for column in columns]
    measured = {name: measure for name in names_of if (measure := measure_of(name))}
    whole = len(columns) > 1 and any(
        without_stage(name) == measure for name, measure in measured.items()
    )
    kinds = [
        ("metrics", [*measured] if whole or len({*measured.values()}) > 1 else []),
        ("columns of a tracker", tracked(names_of)),
        ("statistics of others", statistics(names_of, [column.name for column in every])),
        *((kind, [column.name]) for column in columns if (kind := counted(column.head()))),
    ]
    for kind, names in kinds:
        if names:
            raise refused(where, "bookkeeping", kind=kind, columns=roles_of.listed(names, 5))

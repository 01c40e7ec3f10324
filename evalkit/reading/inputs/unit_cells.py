"""The cells of a table of unit values, at hand or in an engine: what its columns hold, and the rows as values of units.

A table at hand is one block; an engine gives blocks of whole units. `shaped` makes units of either.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError
from evalkit.reading.engines.base import Engine, Query, checked
from evalkit.reading.inputs import unit_columns
from evalkit.reading.inputs.unit_columns import LOOKS, MISSING, SHOWN, TRUTH, Column, Kind
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import duck, rules
from evalkit.reading.tables.duck import NUMBER
from evalkit.reading.tables.parts import Part, Selection, at, explained
from evalkit.reading.tables.rules import Field
from evalkit.reading.tables.table import located


@dataclass(frozen=True, eq=False)
class Cells(ABC):
    """All parts of a table."""

    parts: Sequence[Part]

    def refuse_unlike(self) -> None:
        """Raises InputError where a part has other columns than the first."""
        names = self.parts[0].columns
        for part in self.parts:
            if set(part.columns) != set(names):
                raise InputError(f"{part.name}: must have the columns of {self.parts[0].name}, {', '.join(names)}")

    @property
    @abstractmethod
    def columns(self) -> Sequence[Column]:
        """Every column, in order; raises InputError where a part has no row."""

    @property
    @abstractmethod
    def counts(self) -> Sequence[int]:
        """The rows of each part."""

    @abstractmethod
    def distinct(self, columns: Sequence[Column]) -> int:
        """How many rows differ in these columns as texts; an empty cell is one."""

    @abstractmethod
    def names(self, column: Column) -> tuple[str, ...]:
        """The distinct texts of a column, in order."""

    @abstractmethod
    def check(self, texts: Sequence[Column], numbers: Sequence[Column]) -> None:
        """Raises InputError for the first cell of a column that breaks a rule."""

    @abstractmethod
    def total(
        self,
        texts: Mapping[str, Sequence[Column]],
        numbers: Mapping[str, Column],
        by: str | None,
        of: Callable[..., Any],
    ) -> Any:
        """The sum of what `of` makes of each block, an Arrow table with these columns; by: whole in a block."""

    @property
    def rows(self) -> int:
        """All rows."""
        return sum(self.counts)


# At hand --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Held(Cells):
    """The cells as Arrow texts."""

    @cached_property
    def columns(self) -> Sequence["HeldColumn"]:
        names = self.parts[0].columns
        tables = [part.load({f"text {name}": name for name in names}, {}) for part in self.parts]
        columns = [HeldColumn(name, self, tuple(table[f"text {name}"] for table in tables)) for name in names]
        for part, array in zip(self.parts, columns[0].arrays, strict=True):
            if not len(array):
                raise part.no_rows()
        return columns

    @cached_property
    def numbers(self) -> Sequence[Mapping[str, Any]]:
        """The Arrow numbers of every column that holds nothing else, by name; of each part, which is asked once."""
        wanted = {column.name: column.name for column in self.columns if column.clean or column.kind == "empty"}
        return [part.load({}, wanted) for part in self.parts]

    @cached_property
    def counts(self) -> Sequence[int]:
        return [len(array) for array in self.columns[0].arrays]

    def distinct(self, columns: Sequence[Any]) -> int:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = {str(i): pc.fill_null(column.whole, "") for i, column in enumerate(columns)}
        return len(pa.table(texts).group_by(list(texts)).aggregate([]))

    def names(self, column: Any) -> tuple[str, ...]:
        return tuple(sorted(column.whole.unique().to_pylist()))

    def check(self, texts: Sequence[Any], numbers: Sequence[Any]) -> None:
        for column in numbers:
            _ = column.numbers
        for column in texts:
            column.refuse_texts()

    def total(
        self, texts: Mapping[str, Sequence[Any]], numbers: Mapping[str, Any], by: str | None, of: Callable[..., Any]
    ) -> Any:
        import pyarrow as pa

        columns = {name: pa.array(column.numbers) for name, column in numbers.items()}
        return of(pa.table(self.texts(texts) | columns))

    def texts(self, texts: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
        """These columns, or several as one, as Arrow texts."""
        whole = {name: [column.whole for column in columns] for name, columns in texts.items()}
        return {name: joined(of, " ") if len(of) > 1 else of[0] for name, of in whole.items()}


def joined(columns: Sequence[Any], by: str) -> Any:
    """Arrow texts, row by row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*columns, pa.scalar(by, pa.large_string()))


@dataclass(frozen=True, eq=False)
class HeldColumn(Column):
    """A column as Arrow text, one array a part."""

    arrays: tuple[Any, ...]

    @cached_property
    def whole(self) -> Any:
        """The cells of all parts, as a chunked array."""
        import pyarrow as pa

        return pa.chunked_array([array.cast(pa.large_string()) for array in self.arrays])

    @cached_property
    def cells(self) -> np.ndarray:
        """Its text, None where a cell is empty."""
        return np.concatenate([np.array(array.to_pylist(), dtype=object) for array in self.arrays])

    @cached_property
    def clean(self) -> bool:
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            return sum(pc.count(pc.cast(array, pa.float64())).as_py() for array in self.arrays) > 0
        except pa.ArrowInvalid:
            return False

    @cached_property
    def kind(self) -> Kind:
        if self.clean:
            return "numbers"
        present = [str(cell).strip() for cell in self.cells if cell is not None]
        numbers = sum(unit_columns.looks_like_number(cell) for cell in present)
        marks = sum(cell.lower() in MISSING for cell in present)
        return unit_columns.kind_of(len(present), numbers, marks, clean=False)

    def first(self, pattern: str) -> tuple[Part, int, str] | None:
        import pyarrow.compute as pc

        for part, array in zip(self.parts, self.arrays, strict=True):
            plain = pc.utf8_trim_whitespace(array)
            if (row := pc.index(pc.match_substring_regex(plain, pattern, ignore_case=True), True).as_py()) >= 0:
                return *located([(part, len(array))], row), array[row].as_py()
        return None

    def sample(self) -> Floats:
        return self.numbers[: roles_of.SAMPLE] if self.clean else np.zeros(0)

    def refuse_texts(self) -> None:
        """Raises InputError where an id is empty, or neither text nor a whole number."""
        for part in self.parts:
            part.load({"id": self.name}, {})
        empty = np.flatnonzero(self.whole.is_null().to_numpy())
        if empty.size:
            part, row = self._locate(int(empty[0]))
            raise rules.PRESENT.error(part, self.name, None, row)

    @cached_property
    def numbers(self) -> Floats:
        """The cells as their type holds them, or as their text says; raises InputError with the wrong ones."""
        if self.clean or self.kind == "empty":
            arrays = [numbers[self.name] for numbers in self.of.numbers]
        else:
            arrays = self._from_text()
        field = Field(self.name, rules.VALUES)
        return np.concatenate([field.checked(array, part) for part, array in zip(self.parts, arrays, strict=True)])

    def _from_text(self) -> list[Any]:
        """The numbers that the text says, one Arrow array a part; true and false are 1 and 0."""
        import pyarrow as pa

        numbers = [np.nan if cell is None else _number(str(cell)) for cell in self.cells]
        wrong = [i for i, number in enumerate(numbers) if number is None]
        if wrong:
            first = [(*self._locate(i), str(self.cells[i])) for i in wrong[:SHOWN]]
            raise unit_columns.no_numbers(self.name, first, len(wrong))
        ends = np.cumsum([len(array) for array in self.arrays])[:-1]
        return [pa.array(values, from_pandas=True) for values in np.split(np.array(numbers, float), ends)]

    def _locate(self, row: int) -> tuple[Part, int]:
        return located(zip(self.parts, map(len, self.arrays), strict=True), row)


def _number(cell: str) -> float | None:
    text = cell.strip().lower()
    try:
        return TRUTH[text] if text in TRUTH else float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


# In an engine ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Asked(Cells):
    """The cells in an engine, which is asked what they are, once for all."""

    engine: Engine

    @cached_property
    def typed(self) -> frozenset[str]:
        """The columns whose type is of numbers, in every part."""
        text, dialect, typed = {f"text {name}": name for name in self._names}, self.engine.dialect, set(self._names)
        for part in self.parts:
            kinds = part.select(text, {}, dialect).types
            typed &= {name for name, kind in kinds.items() if dialect.holds_numbers(kind) and not dialect.is_text(kind)}
        return frozenset(typed)

    @cached_property
    def selections(self) -> Sequence[Selection]:
        """Of every part `text <column>` and `number <column>`."""
        text, dialect = {f"text {name}": name for name in self._names}, self.engine.dialect
        numbers = {f"number {name}": name for name in self._names if name in self.typed}
        cells = [f"{self._said(n)} AS {dialect.quote(f'number {n}')}" for n in self._names if n not in self.typed]
        chosen = [part.select(text, numbers, dialect, f"frame{i}") for i, part in enumerate(self.parts)]
        return [replace(of, query=f"SELECT {', '.join(['*', *cells])} FROM ({of.query}) AS t") for of in chosen]

    @property
    def _names(self) -> tuple[str, ...]:
        return self.parts[0].columns

    def plain(self, name: str) -> str:
        """The SQL of a text as numbers are looked for in it."""
        return f"lower(trim({self.engine.dialect.quote(f'text {name}')}))"

    def _said(self, name: str) -> str:
        """The number that a text says, true and false as 1 and 0; nothing where it says none."""
        plain, cells = self.plain(name), []
        for word, value in TRUTH.items():
            cells.append(f"WHEN {plain} = {self.engine.dialect.literal(word)} THEN CAST({value} AS DOUBLE)")
        cells.append(f"WHEN {self.engine.dialect.matches(plain, NUMBER)} THEN TRY_CAST({plain} AS DOUBLE)")
        return f"CASE {' '.join(cells)} END"

    @cached_property
    def _profiles(self) -> list[dict[str, int]]:
        profiles = [self._profile(selection) for selection in self.selections]
        for selection, row in zip(self.selections, profiles, strict=True):
            if not row["n"]:
                raise selection.part.no_rows()
            self._refuse_long(selection, row)
        return profiles

    @cached_property
    def counts(self) -> Sequence[int]:
        return [row["n"] for row in self._profiles]

    @cached_property
    def columns(self) -> Sequence["AskedColumn"]:
        """Raises InputError, too, where a text is longer than a page can repeat."""
        every = []
        for i, name in enumerate(self._names):
            sums = [
                sum(row.get(f"{of}{i}", 0) for row in self._profiles) for of in ("present", "exact", "looks", "marks")
            ]
            every.append(AskedColumn(name, self, *sums))
        return every

    def _profile(self, selection: Selection) -> dict[str, int]:
        """Rows, and of each column the cells that are not empty, are numbers, look like some, mark missing values."""
        dialect, cells = self.engine.dialect, ["count(*) AS n"]
        for i, name in enumerate(self._names):
            text, number = dialect.quote(f"text {name}"), dialect.quote(f"number {name}")
            if name in self.typed:
                cells += [f"count({number}) AS present{i}", f"count({number}) AS exact{i}"]
                continue
            plain = self.plain(name)
            truth, marks = (", ".join(map(dialect.literal, words)) for words in (TRUTH, MISSING))
            looks = f"{dialect.matches(plain, LOOKS)} OR {plain} IN ({truth})"
            cells += [f"count({text}) AS present{i}", f"count({number}) AS exact{i}"]
            cells += [f"count(*) FILTER (WHERE {looks}) AS looks{i}"]
            cells += [f"count(*) FILTER (WHERE {plain} IN ({marks})) AS marks{i}"]
            cells += [f"count(*) FILTER (WHERE {dialect.bytes(f'text {name}')} > {duck.LONGEST}) AS long{i}"]
        with explained(selection):
            return self.engine.table(Query.of(selection, ", ".join(cells))).to_pylist()[0]

    def _refuse_long(self, selection: Selection, row: Mapping[str, int]) -> None:
        for i, name in enumerate(self._names):
            if row.get(f"long{i}"):
                role = f"text {name}"
                condition = f"{self.engine.dialect.bytes(role)} > {duck.LONGEST}"
                first = next(self.first(selection, condition, role, 1))
                raise duck.too_long(f"{selection.part.name}: {name}", first[1], at(first[0]))

    def first(self, selection: Selection, condition: str, role: str, most: int) -> Iterator[tuple[int, Any]]:
        """Row, 0 where rows have no number, and value of the first rows of a part where a condition holds."""
        cells = f"{self.engine.dialect.quote(role)} AS value"
        for row in self.engine.where(selection, condition, cells, most):
            yield row["n"], row["value"]

    def _query(self, cells: Sequence[str]) -> Query:
        """These cells of all rows."""
        return Query.over(self.selections, [", ".join(cells)] * len(self.selections))

    @cached_property
    def sample(self) -> Any:
        """The numbers of some first rows, of all columns by one query."""
        cells = [self.engine.dialect.quote(f"number {name}") for name in self._names]
        return self.engine.table(self._query(cells).around("*", f"LIMIT {roles_of.SAMPLE}"))

    def distinct(self, columns: Sequence[Column]) -> int:
        dialect = self.engine.dialect
        texts = [f"COALESCE({dialect.quote(f'text {column.name}')}, {dialect.literal('')})" for column in columns]
        cells = [f"{text} AS t{i}" for i, text in enumerate(texts)]
        return int(self.engine.table(self._query(cells).around("DISTINCT *").around("count(*) AS n"))["n"][0].as_py())

    def names(self, column: Column) -> tuple[str, ...]:
        cells = [f"{self.engine.dialect.quote(f'text {column.name}')} AS value"]
        texts = self.engine.table(self._query(cells).around("DISTINCT value"))
        return tuple(sorted(texts["value"].to_pylist()))

    def check(self, texts: Sequence[Any], numbers: Sequence[Any]) -> None:
        for column in texts:
            for part in self.parts:
                part.select({"id": column.name}, {}, self.engine.dialect)
        for column in numbers:
            column.refuse_text()
        fields = {f"text {column.name}": Field(column.name) for column in texts}
        fields |= {f"number {column.name}": Field(column.name, rules.VALUES) for column in numbers}
        for selection in self.selections:
            checked(self.engine, selection, fields)

    def total(
        self,
        texts: Mapping[str, Sequence[Column]],
        numbers: Mapping[str, Column],
        by: str | None,
        of: Callable[..., Any],
    ) -> Any:
        quote, space, cells = self.engine.dialect.quote, self.engine.dialect.literal(" "), []
        for name, columns in texts.items():
            each = f", {space}, ".join(quote(f"text {column.name}") for column in columns)
            cells.append(f"concat({each}) AS {name}" if len(columns) > 1 else f"{each} AS {name}")
        cells += [f"{quote(f'number {column.name}')} AS {name}" for name, column in numbers.items()]
        return self.engine.total(replace(self._query(cells), by=by, rows=self.rows), of)


@dataclass(frozen=True, eq=False)
class AskedColumn(Column):
    """A column in an engine. present: cells that are not empty. exact: numbers. looks: meant as such. marks: of missing
    values.
    """

    present: int
    exact: int
    looks: int
    marks: int

    @property
    def clean(self) -> bool:
        return self.exact == self.present > 0

    @property
    def kind(self) -> Kind:
        return unit_columns.kind_of(self.present, self.looks, self.marks, clean=self.clean)

    def first(self, pattern: str) -> tuple[Part, int, str] | None:
        asked, role = self.of, f"text {self.name}"
        condition = asked.engine.dialect.matches(asked.plain(self.name), pattern)
        for selection in asked.selections:
            for row, cell in asked.first(selection, condition, role, 1):
                return selection.part, row, str(cell)
        return None

    def sample(self) -> Floats:
        return self.of.sample[f"number {self.name}"].to_numpy()

    def refuse_text(self) -> None:
        """Raises InputError where cells are neither empty nor numbers."""
        if self.exact == self.present or self.kind == "empty":
            return
        asked, role, wrong = self.of, f"text {self.name}", list[tuple[Part, int, str]]()
        quote = asked.engine.dialect.quote
        condition = f"{quote(role)} IS NOT NULL AND {quote(f'number {self.name}')} IS NULL"
        for selection in asked.selections:
            if most := SHOWN - len(wrong):
                rows = asked.first(selection, condition, role, most)
                wrong += [(selection.part, row, str(cell)) for row, cell in rows]
        raise unit_columns.no_numbers(self.name, wrong, self.present - self.exact)

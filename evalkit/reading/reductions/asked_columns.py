"""The columns of a table of values that an engine holds: what their cells are is asked of the engine, once for all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from evalkit.arrays import Floats, InputError
from evalkit.reading.engines.base import Engine
from evalkit.reading.inputs import unit_columns, unit_roles
from evalkit.reading.inputs.unit_columns import LOOKS, MISSING, SHOWN, TRUTH, Column, Kind
from evalkit.reading.inputs.unit_roles import Columns
from evalkit.reading.tables import bookkeeping, duck
from evalkit.reading.tables.dialects import NUMBER
from evalkit.reading.tables.parts import Part, Selection, at, explained


@dataclass(frozen=True, eq=False)
class Asked:
    """All parts of a table in an engine. selections: of every part, with `text <column>` and `number <column>`.

    typed: the columns whose type is of numbers, in every part.
    """

    engine: Engine
    parts: Sequence[Part]
    selections: Sequence[Selection]
    typed: frozenset[str]

    @classmethod
    def of(cls, engine: Engine, parts: Sequence[Part]) -> "Asked":
        """The table; raises InputError where a part has other columns than the first."""
        unit_roles.refuse_unlike(parts)
        names, dialect = parts[0].columns, engine.dialect
        text = {f"text {name}": name for name in names}
        typed = set(names)
        for part in parts:
            kinds = part.select(text, {}, dialect).types
            typed &= {name for name, kind in kinds.items() if dialect.holds_numbers(kind) and not dialect.is_text(kind)}
        numbers = {f"number {name}": name for name in names if name in typed}
        selections = [part.select(text, numbers, dialect, f"frame{i}") for i, part in enumerate(parts)]
        asked = cls(engine, parts, selections, frozenset(typed))
        return replace(asked, selections=[asked._with_numbers(selection) for selection in selections])

    def _with_numbers(self, chosen: Selection) -> Selection:
        """The selection with the numbers that texts say, true and false as 1 and 0, nothing where one says none."""
        quote = self.engine.dialect.quote
        cells = [f"{self._said(name)} AS {quote(f'number {name}')}" for name in self._texts]
        return (
            replace(chosen, query=f"SELECT {', '.join(['*', *cells])} FROM ({chosen.query}) AS t") if cells else chosen
        )

    @property
    def _texts(self) -> list[str]:
        return [name for name in self.parts[0].columns if name not in self.typed]

    def _plain(self, name: str) -> str:
        return f"lower(trim({self.engine.dialect.quote(f'text {name}')}))"

    def _said(self, name: str) -> str:
        """The number that a text says."""
        plain, cells = self._plain(name), []
        for word, value in TRUTH.items():
            cells.append(f"WHEN {plain} = {self.engine.dialect.literal(word)} THEN CAST({value} AS DOUBLE)")
        cells.append(f"WHEN {self.engine.dialect.matches(plain, NUMBER)} THEN TRY_CAST({plain} AS DOUBLE)")
        return f"CASE {' '.join(cells)} END"

    def held(self, parts: Sequence[Part]) -> "Columns[AskedColumn]":
        """Every column, whichever of the parts are meant: all have the same ones."""
        return self.columns

    @cached_property
    def columns(self) -> "Columns[AskedColumn]":
        """Every column; raises InputError where a part has no row, or a text is longer than a page can repeat."""
        rows = [self._profile(selection) for selection in self.selections]
        for selection, row in zip(self.selections, rows, strict=True):
            if not row["n"]:
                raise selection.part.no_rows()
            self._refuse_long(selection, row)
        every = []
        for i, name in enumerate(self.parts[0].columns):
            sums = [sum(row.get(f"{of}{i}", 0) for row in rows) for of in ("present", "exact", "looks", "marks")]
            every.append(AskedColumn(name, self.parts, self, *sums))
        return Columns(self.parts, [row["n"] for row in rows], tuple(every))

    def _profile(self, selection: Selection) -> dict[str, int]:
        """Rows, and of each column the cells that are not empty, are numbers, look like some, mark missing values."""
        dialect, cells = self.engine.dialect, ["count(*) AS n"]
        for i, name in enumerate(self.parts[0].columns):
            text, number = dialect.quote(f"text {name}"), dialect.quote(f"number {name}")
            if name in self.typed:
                cells += [f"count({number}) AS present{i}", f"count({number}) AS exact{i}"]
                continue
            plain = self._plain(name)
            truth, marks = (", ".join(map(dialect.literal, words)) for words in (TRUTH, MISSING))
            looks = f"{dialect.matches(plain, LOOKS)} OR {plain} IN ({truth})"
            cells += [f"count({text}) AS present{i}", f"count({number}) AS exact{i}"]
            cells += [f"count(*) FILTER (WHERE {looks}) AS looks{i}"]
            cells += [f"count(*) FILTER (WHERE {plain} IN ({marks})) AS marks{i}"]
            cells += [f"count(*) FILTER (WHERE {dialect.bytes(f'text {name}')} > {duck.LONGEST}) AS long{i}"]
        with explained(selection):
            query = f"SELECT {', '.join(cells)} FROM ({selection.query}) AS s"
            return self.engine.table(query, selection.part.name, **selection.frames).to_pylist()[0]

    def _refuse_long(self, selection: Selection, row: Mapping[str, int]) -> None:
        for i, name in enumerate(self.parts[0].columns):
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

    @property
    def frames(self) -> Mapping[str, Any]:
        """What queries read beside files."""
        return {name: frame for selection in self.selections for name, frame in selection.frames.items()}

    @property
    def name(self) -> str:
        """The input in an error."""
        return ", ".join(dict.fromkeys(part.name for part in self.parts[:3]))

    def rows(self, cells: Sequence[str]) -> str:
        """The SQL of these cells of all rows."""
        selects = (f"SELECT {', '.join(cells)} FROM ({of.query}) AS p{i}" for i, of in enumerate(self.selections))
        return " UNION ALL ".join(selects)

    @cached_property
    def sample(self) -> Any:
        """The numbers of some first rows, of all columns by one query."""
        cells = self.rows([self.engine.dialect.quote(f"number {name}") for name in self.parts[0].columns])
        return self.table(f"SELECT * FROM ({cells}) AS c LIMIT {bookkeeping.SAMPLE}")

    def table(self, query: str) -> Any:
        """The answer of the engine."""
        return self.engine.table(query, self.name, **self.frames)


@dataclass(frozen=True, eq=False)
class AskedColumn(Column):
    """A column in an engine. present: cells that are not empty. exact: numbers. looks: meant as such. marks: of missing
    values.
    """

    asked: Asked
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

    @cached_property
    def distinct(self) -> bool:
        text = self.asked.engine.dialect.quote(f"text {self.name}")
        cells = self.asked.rows([f"{text} AS value"])
        query = f"SELECT value FROM ({cells}) AS c GROUP BY value HAVING count(*) > 1 LIMIT 1"
        return not len(self.asked.table(query))

    def first(self, pattern: str) -> tuple[Part, int, str] | None:
        role = f"text {self.name}"
        condition = self.asked.engine.dialect.matches(self.asked._plain(self.name), pattern)
        for selection in self.asked.selections:
            for row, cell in self.asked.first(selection, condition, role, 1):
                return selection.part, row, str(cell)
        return None

    def sample(self) -> Floats:
        return self.asked.sample[f"number {self.name}"].to_numpy()

    def refuse_ids(self) -> None:
        """Raises InputError where its type is not one of ids."""
        for part in self.parts:
            part.select({"id": self.name}, {}, self.asked.engine.dialect)

    def refuse_text(self) -> None:
        """Raises InputError where cells are neither empty nor numbers."""
        if self.exact < self.present and self.kind != "empty":
            raise self._no_numbers()

    def _no_numbers(self) -> InputError:
        quote, role, wrong = self.asked.engine.dialect.quote, f"text {self.name}", list[tuple[Part, int, str]]()
        condition = f"{quote(role)} IS NOT NULL AND {quote(f'number {self.name}')} IS NULL"
        for selection in self.asked.selections:
            most = SHOWN - len(wrong)
            if most:
                rows = self.asked.first(selection, condition, role, most)
                wrong += [(selection.part, row, str(cell)) for row, cell in rows]
        return unit_columns.no_numbers(self.name, wrong, self.present - self.exact)

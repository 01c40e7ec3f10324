"""Tables of out-of-fold predictions that are reduced shard by shard: what an engine is asked before, every refusal.

The rows of one fold of one draw of the folds are a cell: the cells tell all that folds are, whatever rows they hold.
The errors are those of tables in memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from evalkit.arrays import Floats, InputError, Ints
from evalkit.reading.engines.base import Engine
from evalkit.reading.inputs import aligned, examples, fold_errors
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.reductions import fold_ids, forecasts, tabled
from evalkit.reading.reductions.fold_ids import CELL, DRAW, GROUP, ID, MOMENT, quoted
from evalkit.reading.reductions.shards import Plan
from evalkit.reading.reductions.tabled import Piece, Tabled
from evalkit.reading.tables import precision
from evalkit.reading.tables.parts import Part
from evalkit.reading.tables.precision import Precision
from evalkit.reading.tables.rules import SHORT, Field

LABEL, SCORE = "number label", "own None\nscore"
LABELS = 10_000  # distinct classes that are looked at: two are right
CELLS = 256  # folds of all draws that are measured side by side


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows by fold and draw. text: of each cell in the query; fold, repeat: its names; rows: of one system.

    labels: distinct labels where they are few, else none; of_label: rows by cell and label.
    """

    text: tuple[str, ...]
    fold: np.ndarray
    repeat: np.ndarray | None
    rows: Ints
    labels: Floats
    of_label: Ints

    def take(self, kept: Ints) -> "Cells":
        """Some of the cells, in this order."""
        return replace(
            self,
            text=tuple(self.text[i] for i in kept),
            fold=self.fold[kept],
            repeat=None if self.repeat is None else self.repeat[kept],
            rows=self.rows[kept],
            of_label=self.of_label[kept],
        )


@dataclass(frozen=True, eq=False)
class LargeFolds(Tabled):
    """A table of out-of-fold predictions that an engine holds.

    classes: the names of two classes, none of a number. cells: its folds. alone: rows without a match in another
    system. actual: about the mean label. ends: the lowest and the highest score of each system; centres: about their
    means. least, most: the lowest and the highest label. precision: what the scores of each system were stored in.
    """

    classes: tuple[str, ...]
    cells: Cells
    alone: int
    actual: float
    least: float
    most: float
    ends: Mapping[str, tuple[float, float]]
    centres: Mapping[str, float]
    precision: Mapping[str, Precision]

    @property
    def layout(self) -> Layout:
        """The columns of the first part."""
        return self.pieces[0].layout

    def has(self, role: str) -> bool:
        """Whether there is a column of this role."""
        return role in self.layout.shared or (role == "id" and self.layout.id is not None)

    @property
    def naming(self) -> str | None:
        """The column of the ids, which may have a row in each fold, or that of the rows' numbers."""
        return ID if self.has("id") else super().naming

    @property
    def one_system(self) -> str:
        """The condition of the rows of one system, each of which stands once."""
        return f"system = {self.engine.dialect.literal(self.systems[0])}" if self.plan.paired else "true"

    def of(self, cells: Sequence[str]) -> "LargeFolds":
        """The rows of some cells alone."""
        among = ", ".join(map(self.engine.dialect.literal, cells))
        kept = np.array([i for i, text in enumerate(self.cells.text) if text in cells], np.int64)
        rows = self.cells.take(kept)
        query = f"SELECT * FROM ({self.query}) AS o WHERE {CELL} IN ({among})"
        return replace(self, query=query, cells=rows, rows=int(rows.rows.sum()) * self.copies)

    @property
    def copies(self) -> int:
        """The rows that stand for one row of all systems."""
        return len(self.systems) if self.plan.paired else 1


def read(engine: Engine, parts: Sequence[Part], *, columns: Mapping[str, str], kind: str | None) -> LargeFolds:
    """The table checked as `examples.predictions` checks it; raises what it raises."""
    layouts = aligned.layouts(parts, partial(examples.layout_of, chosen=columns))
    pieces = tabled.pieces_of(engine, parts, [_short(layout) for layout in layouts])
    distinct = f"approx_count_distinct({engine.dialect.quote(LABEL)}) AS labels"
    profiles = [forecasts.profile(engine, piece, [distinct]) for piece in pieces]
    every = [row for rows in profiles for row in rows]
    names, layout = sorted({row["system"] for row in every}), pieces[0].layout
    systems = tuple(names[i] for i in aligned.kept_systems(names, (), layout, pieces[0].part))
    paired = layout.id is not None and len(systems) > 1
    own = {name: [row for row in every if row["system"] == name] for name in systems}
    table = LargeFolds(
        engine=engine,
        pieces=pieces,
        query=_query(engine, pieces, systems),
        plan=Plan(systems, paired, (), None),
        counts=[sum(row["n"] for row in rows) for rows in profiles],
        rows=sum(row["n"] for row in every),
        slices={},
        classes=(),
        cells=Cells((), np.empty(0), None, np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)),
        alone=0,
        actual=forecasts.centre(every, LABEL),
        least=min(row[f"min {LABEL}"] for row in every),
        most=max(row[f"max {LABEL}"] for row in every),
        ends={name: (_least(rows), max(row[f"max {SCORE}"] for row in rows) + 0.0) for name, rows in own.items()},
        centres={name: forecasts.centre(rows, SCORE) for name, rows in own.items()},
        precision={name: _precision(pieces, profiles, name) for name in systems},
    )
    table = fold_ids.once(table) if layout.id is not None or "repeat" in layout.shared else table
    if "id" in layout.shared and "repeat" not in layout.shared:
        fold_ids.refuse_unnamed_repeat(table)
    table = ended(table) if table.alone else table
    table = replace(table, cells=_cells(table))
    labels = _labels(table) if _few(table, profiles) else None
    return _with_units(_labelled(table, kind, labels))


def ended(t: LargeFolds) -> LargeFolds:
    """The table with the ends of its own rows, of which not all were read."""
    cells = ", ".join(f"{end}({column}) AS {end}_{column}" for end in ("min", "max") for column in ("label", "score0"))
    rows = t.ask(f"system, {cells}", "GROUP BY system").to_pylist()
    ends = {row["system"]: (row["min_score0"] + 0.0, row["max_score0"] + 0.0) for row in rows}
    least, most = min(row["min_label"] for row in rows), max(row["max_label"] for row in rows)
    return replace(t, ends={name: ends[name] for name in t.systems}, least=least, most=most)


def _least(rows: Sequence[forecasts.Row]) -> float:
    return float(min(row[f"min {SCORE}"] for row in rows)) + 0.0


def _short(layout: Layout) -> Layout:
    """Texts that a page repeats must not be long."""

    def short(field: Field) -> Field:
        return field if field.is_number else replace(field, rules=(*field.rules, SHORT))

    return replace(layout, shared={role: short(field) for role, field in layout.shared.items()})


def _precision(pieces: Sequence[Piece], profiles: Sequence[Sequence[forecasts.Row]], name: str) -> Precision:
    """The precision of a system's scores: the widest of the parts that hold some."""
    held = [piece for piece, rows in zip(pieces, profiles, strict=True) if any(row["system"] == name for row in rows)]
    return precision.widest(precision.of(piece.part, piece.layout.own[None]["score"].column) for piece in held)


def _query(engine: Engine, pieces: Sequence[Piece], systems: Sequence[str]) -> str:
    """The SQL of all rows: label, score0, system, cell, and id, draw, unit and moment where there are such columns.

    Where systems are paired, id is that of the row: an id may have a row in each fold.
    """
    quote, layout = engine.dialect.quote, pieces[0].layout
    draw = [quote("text repeat")] if "repeat" in layout.shared else []
    cell = _joined([quote("text fold"), *draw])
    cells = [f"{quote(LABEL)} + 0.0 AS label", f"{quote(SCORE)} AS score0", f"{cell} AS {CELL}"]
    cells += [f"{text} AS {DRAW}" for text in draw]
    cells += [f"{quoted(engine, layout, 'id')} AS {ID}"] if "id" in layout.shared or layout.id else []
    cells += [f"{_joined([cell, quote('id')])} AS row_id"] if layout.id else []
    for role, short in (("group", GROUP), ("time", MOMENT)):
        cells += [f"{quote(f'text {role}')} AS {short}"] if role in layout.shared else []
    without = [replace(piece, layout=replace(piece.layout, id=None)) for piece in pieces]
    return tabled.union(engine, without, systems, cells, (), None)


def _joined(texts: Sequence[str]) -> str:
    """The SQL of texts as one text, from which each can be told."""
    *before, last = texts
    sized = [f"length({text}), ':', {text}" for text in before]
    return f"concat({', '.join([*sized, last])})"


# The label ------------------------------------------------------------------------------------------------------------


def _few(t: LargeFolds, profiles: Sequence[Sequence[forecasts.Row]]) -> bool:
    """Whether the labels may be classes; only where parts have some each, and many together, is the table asked."""
    most = [max(row["labels"] for row in rows) for rows in profiles]
    if len(most) > 1 and max(most) <= LABELS < sum(most):
        return bool(t.ask("approx_count_distinct(label) AS n", f"WHERE {t.one_system}")["n"][0].as_py() <= LABELS)
    return max(most) <= LABELS


def _labels(t: LargeFolds) -> tuple[Floats, Ints]:
    """The distinct labels in order, and the rows of each cell by label."""
    table = t.ask(f"{CELL}, label, count(*) AS n", f"WHERE {t.one_system} GROUP BY {CELL}, label")
    labels, place = np.unique(table["label"].to_numpy(), return_inverse=True)
    at = {cell: i for i, cell in enumerate(t.cells.text)}
    of_label = np.zeros((len(at), len(labels)), np.int64)
    of_label[[at[cell] for cell in table[CELL].to_pylist()], place] = table["n"].to_numpy()
    return labels, of_label


def _labelled(t: LargeFolds, kind: str | None, labels: tuple[Floats, Ints] | None) -> LargeFolds:
    """The table with its classes; raises InputError for one class, or for several.

    labels: None where they are too many for classes; few of them are counted in each fold.
    """
    if labels is not None and len(labels[0]) <= examples.FEW_VALUES:
        t = replace(t, cells=replace(t.cells, labels=labels[0], of_label=labels[1]))
    if labels is None and kind == examples.CLASSES:
        raise InputError(f"{t.name}: {t.layout.shared['label'].column} must hold two classes, got more than {LABELS:,}")
    if labels is None or examples.is_number(labels[0], kind):
        if t.least == t.most:
            raise fold_errors.one_value(t.least)
        plan = replace(t.plan, truth="actual")
        return replace(t, query=f"SELECT *, label AS actual FROM ({t.query}) AS l", plan=plan)
    distinct, rows = labels[0], labels[1].sum(axis=0)
    names = tuple(f"{value:g}" for value in distinct)
    if len(names) < 2:
        raise fold_errors.one_class(names[0])
    if len(names) > 2:
        raise _several_classes(t, distinct, rows)
    query = f"SELECT *, label = {_number(distinct[1])} AS hit FROM ({t.query}) AS l"
    return replace(t, query=query, classes=names)


def _number(value: float) -> str:
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def _several_classes(t: LargeFolds, distinct: Floats, rows: Ints) -> InputError:
    rare = fold_errors.rarest(rows)
    value, column = distinct[rare], t.layout.shared["label"].column
    condition = f"{t.engine.dialect.quote(LABEL)} = {_number(value)}"
    if t.plan.paired:
        first = t.ask(ID, f"WHERE {t.one_system} AND label = {_number(value)} ORDER BY {ID} LIMIT 1")[ID][0].as_py()
        condition += f" AND {quoted(t.engine, t.layout, 'id')} = {t.engine.dialect.literal(first)}"
    for piece in t.pieces:
        if t.plan.paired:
            condition += f" AND {tabled.system_of(t.engine, piece)} = {t.engine.dialect.literal(t.systems[0])}"
        for row in t.engine.where(piece.chosen, condition, "1 AS value", 1):
            return fold_errors.several_classes(piece.part.name, column, f"{value:g}", len(distinct), row["n"])
    return tabled.changed(t.name)


# The folds ------------------------------------------------------------------------------------------------------------


def _cells(t: LargeFolds) -> Cells:
    """The folds; raises InputError where they are too many."""
    draw = f"min({DRAW})" if t.has("repeat") else "''"
    named = f"{CELL}, {draw} AS draw_of, count(*) AS n"
    every = t.ask(named, f"WHERE {t.one_system} GROUP BY {CELL} ORDER BY 1 LIMIT {CELLS + 1}")
    if len(every) > CELLS:
        column = t.layout.shared["fold"].column
        raise InputError(
            f"{t.name}: {column} must name at most {CELLS} folds in a table of more than "
            f"{t.engine.reading.rows:,} rows, got more"
        )
    text = tuple(every[CELL].to_pylist())
    repeat = np.array(every["draw_of"].to_pylist(), dtype=object) if t.has("repeat") else None
    fold = np.array([_fold_of(cell, drawn=repeat is not None) for cell in text], dtype=object)
    return Cells(text, fold, repeat, every["n"].to_numpy(), np.empty(0), np.empty((len(text), 0), np.int64))


def _fold_of(cell: str, *, drawn: bool) -> str:
    """The fold of a cell, which stands before its draw with its length."""
    if not drawn:
        return cell
    size, _, rest = cell.partition(":")
    return rest[: int(size)]


def _with_units(t: LargeFolds) -> LargeFolds:
    """The table whose rows vary by group, or by id where ids are repeated, with its units where they are few."""
    draws = 1 if t.cells.repeat is None else len(set(t.cells.repeat.tolist()))
    column = GROUP if t.has("group") else ID if draws > 1 else None
    plan = replace(t.plan, segments=())
    if column is None:
        return replace(t, plan=plan)
    t = replace(t, query=f"SELECT *, {column} AS unit FROM ({t.query}) AS u")
    most = t.engine.reading.units
    units = sorted(t.ask("unit", f"GROUP BY unit LIMIT {most + 1}")["unit"].to_pylist())
    apart = len(units) * len(t.cells.text) <= most  # the sums of each unit in each fold stand side by side
    return replace(t, plan=replace(plan, unit=True, units=tuple(units) if apart else None))

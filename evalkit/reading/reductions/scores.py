"""The first query on a table of labels and predictions, before it is read in blocks.

For each part, one query counts the rows by system, and by label if there is one, and takes the
minimum and maximum of each column of numbers. Tables have two classes, several classes, or several
labels per row.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from evalkit.arrays import InputError
from evalkit.limits import USUAL_LIMITS, ReadingLimits
from evalkit.metrics import grid
from evalkit.reading.engines import backends
from evalkit.reading.engines.base import Engine, Query, checked, profile
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.outcomes import OutcomeTable
from evalkit.reading.reductions import blocks
from evalkit.reading.tables import rules

# most pairs of a system and a label that are counted: of two classes and labels, of several classes
LABELS = 10_000
GROUPS = 2**20
LABEL = "label"
WEIGHT = "weight"
# the rows of one system and label: their number "n", "min ROLE" and "max ROLE" of each number, and
# "parted", how many weights are no whole numbers
Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Predictions:
    """A table of labels and predictions in an engine, and the counts of each part.

    profiles: for each part its rows by system and label. names: the classes in order, or the
    labels; of two classes the positive one is last, and "" stands for one that never occurs.
    """

    table: blocks.Blocks
    profiles: Sequence[Sequence[Row]]
    names: tuple[str, ...] = ()

    @classmethod
    def from_table(
        cls, engine: Engine, predicted: OutcomeTable, segments: Sequence[str], unit: str | None
    ) -> "Predictions":
        """The table, by one query per part. Raises InputError for invalid values."""
        max_groups = GROUPS if predicted.kind == "multi-class" else LABELS
        pieces = blocks.pieces_of(engine, predicted.parts, predicted.layouts)
        profiles = [_profile(engine, piece, max_groups) for piece in pieces]
        if predicted.positive is not None:
            outcomes.check_positive(predicted.kind)
        sizes = []  # of each part the number of rows by system
        for rows in profiles:
            size = Counter[str]()
            for row in rows:
                size[row["system"]] += row["n"]
            sizes.append(size)
        table = blocks.blocks_of(engine, pieces, predicted.systems, segments, unit, sizes=sizes)
        table = table.grouped(segments, unit)
        weight = table.schema.shared_role_fields.get("weight")
        groups = chain.from_iterable(profiles)
        if weight and max(group[f"max {WEIGHT}"] for group in groups) <= 0:
            raise outcomes.zero_weights_error(pieces[0].part.name, weight.column)
        return cls(table, profiles)

    @property
    def where(self) -> str:
        """The first part, for errors."""
        return self.table.selected_parts[0].part.name

    @cached_property
    def requested(self) -> list[tuple[blocks.TablePart, Row]]:
        """The counts of the requested systems, each with its part."""
        counts = []
        for piece, rows in zip(self.table.selected_parts, self.profiles, strict=True):
            for row in rows:
                if self.table.has_system_columns or row["system"] in self.table.systems:
                    counts.append((piece, row))
        return counts

    def ends(self, system: str, role: str) -> tuple[float, float]:
        """The lowest and the highest number of a role of a system."""
        rows = [
            row
            for _, row in self.requested
            if self.table.has_system_columns or row["system"] == system
        ]
        key = self._key(system, role)
        return min(row[f"min {key}"] for row in rows), max(row[f"max {key}"] for row in rows)

    def _key(self, system: str, role: str) -> str:
        """The name in queries of the column of a system's role."""
        number = self.table.systems.index(system) if self.table.has_system_columns else 0
        return self.table.schema.predictions[role][number].name_in_table

    @property
    def scored(self) -> bool:
        """True if systems have scores, not only a predicted class."""
        return "predicted" not in self.table.schema.used_roles

    @cached_property
    def outside(self) -> str:
        """The first score outside 0..1, as text; "" if there is none."""
        if not self.scored:
            return ""
        schema = self.table.schema
        for role in schema.used_roles:
            for system in schema.systems:
                low, high = self.ends(system, role)
                if low < 0 or high > 1:
                    column = ""
                    if len(schema.used_roles) > 1:  # of several classes
                        column = schema.predictions[role][0].field.column
                    return self._first_outside(system, role, column)
        return ""

    def _first_outside(self, system: str, role: str, column: str) -> str:
        """The first score of a role outside 0..1, as text. column: as in `outcomes.outside`."""
        score = self.table.engine.dialect.quote(self._key(system, role))
        is_outside = f"({score} < 0 OR {score} > 1)"
        system_of_rows = None if self.table.has_system_columns else system
        row = self.table.where(is_outside, score, 1, system_of_rows)[0]
        return outcomes.outside(system, row.value, row.place, column)

    def precision(self, system: str) -> list[rules.Precision]:
        """The float type of each role of a system that is used: the widest of the parts that have
        some.
        """
        pieces = []
        for piece, rows in zip(self.table.selected_parts, self.profiles, strict=True):
            if self.table.has_system_columns or any(row["system"] == system for row in rows):
                pieces.append(piece)
        precisions = []
        for role in self.table.schema.used_roles:
            key = self._key(system, role)
            precisions.append(
                rules.widest_type(
                    rules.precision_of(piece.part, piece.layout.fields[key].column)
                    for piece in pieces
                )
            )
        return precisions

    @cached_property
    def scale(self) -> float | None:
        """The unit in which weights are counted; None without weights."""
        if "weight" not in self.table.schema.shared_role_fields:
            return None
        rows = list(chain.from_iterable(self.profiles))
        largest = max(row[f"max {WEIGHT}"] for row in rows)
        number = sum(row["n"] for row in rows)
        return grid.scale_of(largest, number, integers=not any(row["parted"] for row in rows))

    @property
    def squares(self) -> float:
        """The unit in which squared weights are counted, so that their sums are whole numbers."""
        if self.scale is None:
            return 1.0
        largest = max(row[f"max {WEIGHT}"] for _, row in self.requested)
        number = sum(row["n"] for _, row in self.requested)
        are_whole = self.scale == 1 and number * largest**2 < 2**62
        return grid.scale_of(largest**2, number, integers=are_whole)

    def only(self, kept: Sequence[int]) -> "Predictions":
        """The table with some of the classes. kept: their numbers; others have no row that
        counts.
        """
        t = self.table
        names = tuple(self.names[i] for i in kept)
        if len(names) < 2:
            raise outcomes.one_class_error(
                t.selected_parts[0].part.name, t.columns["label"], names[0]
            )
        new_number = np.zeros(len(self.names), np.int64)
        new_number[list(kept)] = np.arange(len(kept))
        coded = {
            role: replace(classes, number_of_value=new_number[classes.number_of_value])
            for role, classes in t.schema.coded.items()
        }
        return replace(self, table=replace(t, schema=replace(t.schema, coded=coded)), names=names)


def _profile(engine: Engine, piece: blocks.TablePart, max_groups: int) -> Sequence[Row]:
    """The rows of a part by system, and by label if there is one. Raises InputError for a wrong
    value.

    max_groups: pairs of a system and a label that are counted.
    """
    fields = piece.layout.fields
    quote = engine.dialect.quote
    system = piece.system_in(engine)
    label = quote(LABEL) if LABEL in fields else ""
    cells = [f"{system} AS system"]
    for role, field in fields.items():
        if field.is_number:
            cells.append(f"min({quote(role)}) AS {quote(f'min {role}')}")
            cells.append(f"max({quote(role)}) AS {quote(f'max {role}')}")
    # a stored table states the ends of its numbers, in DuckDB, but not how its rows are grouped
    is_stored = piece.part.known_rows is not None and engine.dialect.row_number is not None
    if is_stored and "system" not in fields and WEIGHT not in fields:
        rows = _stated(engine, piece, cells)
        if rows:
            return rows
    if label:
        cells.append(f"{label} AS label")
    if WEIGHT in fields:
        cells.append(f"count(*) FILTER (WHERE {quote(WEIGHT)} % 1 <> 0) AS parted")
    groups = [label] if label else []
    if "system" in fields:
        groups.append(system)
    grouping = f"LIMIT {max_groups}"
    if groups:
        grouping = f"GROUP BY {', '.join(groups)} {grouping}"
    return checked(engine, piece.chosen, fields, cells, grouping)


def _stated(engine: Engine, piece: blocks.TablePart, cells: Sequence[str]) -> Sequence[Row]:
    """The rows of `_profile` for at most two labels, the first of them with the number of all rows,
    and the others with 0; empty if it takes `_profile` to count them, or to name a wrong value.

    DuckDB takes the ends of numbers from what a Parquet file states of them. Other values that
    break a rule are found block by block.
    """
    all_rows = profile(engine, piece.chosen, cells)[0]
    ends = [end for name, end in all_rows.items() if name != "system"]
    if any(end is None or not np.isfinite(end) for end in ends):
        return []
    if LABEL not in piece.layout.fields:
        return [all_rows]
    texts = _neighbouring_labels(engine, piece)
    if not texts:
        label = engine.dialect.quote(LABEL)
        distinct = Query.from_selection(piece.chosen, f"DISTINCT {label} AS label", "LIMIT 3")
        texts = engine.table(distinct)["label"].to_pylist()
    if None in texts or len(texts) > 2:
        return []
    first, *others = [dict(all_rows, label=text) for text in texts]
    return [first, *(dict(row, n=0) for row in others)]


def _neighbouring_labels(engine: Engine, piece: blocks.TablePart) -> list[str]:
    """The labels as texts if they are stored as whole numbers that differ by at most 1, such as 0
    and 1: the smallest and the largest are all there are, and a Parquet file states both. Empty for
    other labels, and if one is missing.
    """
    column = piece.layout.fields[LABEL].column
    chosen = piece.chosen
    if not engine.dialect.holds_whole_numbers(chosen.types.get(column, "")):
        return []
    label = engine.dialect.quote(column)
    cells = f"count(*) AS n, count({label}) AS present, min({label}) AS low, max({label}) AS high"
    query = Query(f"SELECT {cells} FROM {chosen.source}", piece.part.name, chosen.frames)
    (ends,) = engine.table(query).to_pylist()
    if ends["present"] < ends["n"] or ends["high"] - ends["low"] > 1:
        return []
    return [str(number) for number in sorted({ends["low"], ends["high"]})]


def read(
    engine: Engine, predicted: OutcomeTable, segments: Sequence[str] = (), unit: str | None = None
) -> Predictions:
    """The table. Raises InputError for invalid labels, classes, systems, groups or units."""
    return KINDS[predicted.kind](
        Predictions.from_table(engine, predicted, segments, unit), predicted
    )


# Two classes --------------------------------------------------------------------------------------


def _of_two(predictions: Predictions, predicted: OutcomeTable) -> Predictions:
    """The table with the label as a number, 1 for the positive one: the role "hit"."""
    t = predictions.table
    if len(t.systems) == 2:
        predicted.refuse_both_classes(predicted.first_scores())
    for name in t.systems:
        low, high = predictions.ends(name, "score")
        # scores that never fall below 0.5 may be the confidence in a predicted class
        if low >= 0.5 and high <= 1:
            outcomes.refuse_column_of_predicted_classes(t.unused_columns, name, predictions.where)
    labels = _labels(predictions)
    pair = outcomes.two_labels(labels, predicted.positive_label, predictions.where)
    label = t.schema.shared_role_fields["label"]
    texts = {row["label"] for _, row in predictions.requested}
    # a label may be written in several ways, such as 1 and 1.0
    positive = [text for text in sorted(texts) if label.normalise(text) == pair.positive]
    is_hit = "false"
    if positive:
        is_hit = f"label IN ({', '.join(map(t.engine.dialect.literal, positive))})"
    shared = {"hit": rules.Field(label.column, rules.NUMBER)}
    shared |= {
        role: field for role, field in t.schema.shared_role_fields.items() if role != "label"
    }
    query = t.query.outer_query(f"*, CAST(CASE WHEN {is_hit} THEN 1 ELSE 0 END AS TINYINT) AS hit")
    t = replace(t, query=query, schema=replace(t.schema, shared_role_fields=shared))
    return replace(predictions, table=t, names=(pair.negative, pair.positive))


def _labels(predictions: Predictions) -> outcomes.LabelTexts:
    """The labels of the requested systems."""
    field = predictions.table.schema.shared_role_fields["label"]
    rows = Counter[str]()
    for _, row in predictions.requested:
        rows[field.normalise(row["label"])] += row["n"]
    texts = sorted({row["label"] for _, row in predictions.requested})
    return _label_texts(predictions.table, "label", texts, rows)


def _label_texts(
    t: blocks.Blocks, role: str, texts: Sequence[str], rows: Mapping[str, int]
) -> outcomes.LabelTexts:
    """The distinct texts of a role. texts: as they are written. rows: the number of rows of each,
    in the form in which texts are compared.
    """
    field = _field(t, role)
    name = role
    if role not in t.schema.shared_role_fields:
        name = t.schema.predictions[role][0].name_in_table
    column = t.engine.dialect.quote(name)

    def first_cell(wanted: Sequence[str]) -> outcomes.LabelCell:
        """The first cell with one of these texts, which are in the form in which they are
        compared.
        """
        literals = [
            t.engine.dialect.literal(text) for text in texts if field.normalise(text) in wanted
        ]
        row = t.where(f"{column} IN ({', '.join(literals)})", column, 1)[0]
        return outcomes.LabelCell(row.place, field.normalise(row.value))

    return outcomes.LabelTexts(field.column, dict(sorted(rows.items())), first_cell)


# Several classes ----------------------------------------------------------------------------------


SCORE = 64  # bytes that a score needs while its block is reduced
BESIDE = 4  # labels, the places of rows and their bins need as much memory as so many scores
MOST = 4_096  # distinct texts of a column of classes


def of_width(reading: ReadingLimits, columns: int) -> ReadingLimits:
    """The limits on rows in memory, for a table with this many numeric columns.

    The smallest shard of a wide table has fewer rows, the largest one of a narrow table more: the
    fewer shards, the less there is to merge.
    """
    width = (columns + BESIDE) * SCORE / USUAL_LIMITS.reading.row  # of a row, 1 for the usual one
    shrinkage = max(1.0, width)
    return replace(
        reading,
        row=int(reading.row * width),
        shard=int(reading.shard / shrinkage),
        worker=int(reading.worker / shrinkage),
    )


def _of_classes(predictions: Predictions, predicted: OutcomeTable) -> Predictions:
    """The table with labels, and predicted classes, as numbers of classes."""
    t = predictions.table
    texts = {"label": sorted({row["label"] for _, row in predictions.requested})}
    decisions = outcomes.LabelTexts("", {}, lambda _: outcomes.LabelCell("", ""))  # none
    if "predicted" in t.schema.predictions:
        texts["predicted"] = list(t.texts("predicted"))
    _refuse_many(t, texts)
    if "predicted" in texts:
        normalise = _field(t, "predicted").normalise
        rows = dict.fromkeys(map(normalise, texts["predicted"]), 1)  # how many is not needed
        decisions = _label_texts(t, "predicted", texts["predicted"], rows)
    roles = [role for role in t.schema.predictions if role != "predicted"]
    role_of_class = outcomes.score_roles(roles, t.name)
    names = outcomes.classes_of(_labels(predictions), decisions, role_of_class, predictions.where)
    for role, texts_of_role in texts.items():
        normalise = _field(t, role).normalise
        t = t.coded(role, {text: names.index(normalise(text)) for text in texts_of_role})
    used_roles: tuple[str, ...] = ("predicted",)
    if role_of_class:
        used_roles = tuple(role_of_class[name] for name in names)
    schema = replace(t.schema, used_roles=used_roles)
    return replace(predictions, table=replace(t, schema=schema), names=names)


def _refuse_many(t: blocks.Blocks, texts: Mapping[str, Sequence[str]]) -> None:
    """Raise InputError for more classes than are counted in blocks. texts: role -> its distinct
    texts.
    """
    for role, texts_of_role in texts.items():
        if len(texts_of_role) > MOST:
            column = _field(t, role).column
            raise InputError(
                f"{t.name}: {column} has more than {MOST:,} classes; that needs rows in memory"
            )


def _field(t: blocks.Blocks, role: str) -> rules.Field:
    """The column of the labels, or of the predicted classes."""
    return (
        t.schema.shared_role_fields[role]
        if role in t.schema.shared_role_fields
        else t.schema.predictions[role][0].field
    )


# Several labels, and any of them ------------------------------------------------------------------


def _of_labels(predictions: Predictions, predicted: OutcomeTable) -> Predictions:
    """The table with the names of the labels, each of which has a role "p NAME"."""
    roles = predictions.table.schema.used_roles
    return replace(predictions, names=tuple(role[2:] for role in roles))


KINDS: Mapping[str, Callable[[Predictions, OutcomeTable], Predictions]] = {
    "binary": _of_two,
    "multi-class": _of_classes,
    "multi-label": _of_labels,
}


@contextmanager
def opened(
    predicted: OutcomeTable, budget: backends.Budget, segments: Sequence[str], unit: str | None
) -> Iterator[Predictions | None]:
    """The table in an engine if it has more rows than are kept in memory; None otherwise."""
    numbers = sum(field.is_number for field in predicted.layouts[0].fields.values())
    reading = of_width(budget.reading, numbers)
    with backends.needed(predicted.parts, replace(budget, reading=reading)) as engine:
        if engine is None:
            yield None
        else:
            yield read(engine, predicted, list(dict.fromkeys(segments)), unit)

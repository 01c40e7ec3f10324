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
from typing import Any

import numpy as np

from evalkit.arrays import InputError
from evalkit.limits import USUAL, Reading
from evalkit.metrics import grid
from evalkit.reading.engines import backends
from evalkit.reading.engines.base import Engine, Query, checked, profile
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.outcomes import OutcomeTable
from evalkit.reading.reductions import blocks
from evalkit.reading.tables import rules
from evalkit.reading.tables.parts import Selection

# of a system and a label that are looked at: of two classes and labels, of several
LABELS, GROUPS = (
    10_000,
    2**20,
)
LABEL, WEIGHT = "label", "weight"
Row = Mapping[str, Any]  # rows of one system and label, and what is told of them


@dataclass(frozen=True, eq=False)
class Predictions:
    """A table of labels and predictions in an engine, and the counts of each part.

    names: the classes in order; of two classes the positive one is last, and "" stands for one that
    never occurs; or the labels.
    """

    table: blocks.Blocks
    profiles: Sequence[Sequence[Row]]
    names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, engine: Engine, predicted: OutcomeTable, segments: Sequence[str], unit: str | None
    ) -> "Predictions":
        """The table, by one query per part. Raises InputError for invalid values."""
        most = GROUPS if predicted.kind == "multi-class" else LABELS
        pieces = blocks.pieces_of(engine, predicted.parts, predicted.layouts)
        profiles = [_profile(engine, piece, most) for piece in pieces]
        if predicted.positive is not None:
            outcomes.check_positive(predicted.kind)
        sizes = [Counter[str]() for _ in profiles]
        for size, row in (
            (size, row) for size, rows in zip(sizes, profiles, strict=True) for row in rows
        ):
            size[row["system"]] += row["n"]
        table = blocks.blocks_of(
            engine, pieces, predicted.systems, segments, unit, sizes=sizes
        ).grouped(segments, unit)
        weight = table.schema.shared.get("weight")
        if weight and max(row[f"max {WEIGHT}"] for rows in profiles for row in rows) <= 0:
            raise outcomes.no_weight(pieces[0].part.name, weight.column)
        return cls(table, profiles)

    @property
    def where(self) -> str:
        """The first part, for errors."""
        return self.table.pieces[0].part.name

    @cached_property
    def requested(self) -> list[tuple[blocks.TablePart, Row]]:
        """The counts of the requested systems, each with its part."""
        each = (
            (piece, row)
            for piece, rows in zip(self.table.pieces, self.profiles, strict=True)
            for row in rows
        )
        return [
            (piece, row)
            for piece, row in each
            if self.table.wide or row["system"] in self.table.systems
        ]

    def ends(self, system: str, role: str) -> tuple[float, float]:
        """The lowest and the highest number of a role of a system."""
        own = [row for _, row in self.requested if self.table.wide or row["system"] == system]
        key = self._key(system, role)
        return min(row[f"min {key}"] for row in own), max(row[f"max {key}"] for row in own)

    def _key(self, system: str, role: str) -> str:
        number = self.table.systems.index(system) if self.table.wide else 0
        return self.table.schema.own[role][number].name_in_table

    @property
    def scored(self) -> bool:
        """True if systems have scores, not only a predicted class."""
        return "predicted" not in self.table.schema.said

    @cached_property
    def outside(self) -> str:
        """The first score outside 0..1, as text; "" if there is none."""
        t, said = self.table, self.table.schema.said if self.scored else ()
        for role, name in ((role, name) for role in said for name in t.systems):
            low, high = self.ends(name, role)
            if low < 0 or high > 1:
                at = t.engine.dialect.quote(self._key(name, role))
                _, place, value = t.where(
                    f"({at} < 0 OR {at} > 1)", at, 1, None if t.wide else name
                )[0]
                return outcomes.outside(
                    name, value, place, t.schema.own[role][0].field.column if len(said) > 1 else ""
                )
        return ""

    def precision(self, system: str) -> list[rules.Precision]:
        """The float type of each role of a system that is used: the widest of the parts that have
        some.
        """
        each = zip(self.table.pieces, self.profiles, strict=True)
        held = [
            piece
            for piece, rows in each
            if self.table.wide or any(row["system"] == system for row in rows)
        ]
        keys = [self._key(system, role) for role in self.table.schema.said]
        return [
            rules.widest(
                rules.precision_of(piece.part, piece.layout.fields[key].column) for piece in held
            )
            for key in keys
        ]

    @cached_property
    def scale(self) -> float | None:
        """The unit in which weights are counted; None without weights."""
        if "weight" not in self.table.schema.shared:
            return None
        every = [row for rows in self.profiles for row in rows]
        most, n = max(row[f"max {WEIGHT}"] for row in every), sum(row["n"] for row in every)
        return grid.scale_of(most, n, integers=not any(row["parted"] for row in every))

    @property
    def squares(self) -> float:
        """The unit in which squared weights are counted, so that their sums are whole numbers."""
        if self.scale is None:
            return 1.0
        most, n = (
            max(row[f"max {WEIGHT}"] for _, row in self.requested),
            sum(row["n"] for _, row in self.requested),
        )
        return grid.scale_of(most**2, n, integers=self.scale == 1 and n * most**2 < 2**62)

    def only(self, kept: Sequence[int]) -> "Predictions":
        """The table with only these classes, the only ones that occur in rows that count."""
        t, names = self.table, tuple(self.names[i] for i in kept)
        if len(names) < 2:
            raise outcomes.one_class(t.pieces[0].part.name, t.columns["label"], names[0])
        number = np.zeros(len(self.names), np.int64)
        number[list(kept)] = np.arange(len(kept))
        coded = {role: replace(of, of=number[of.of]) for role, of in t.schema.coded.items()}
        return replace(self, table=replace(t, schema=replace(t.schema, coded=coded)), names=names)


def _profile(engine: Engine, piece: blocks.TablePart, most: int) -> Sequence[Row]:
    """Rows by system, and by label where there is one, with the ends of each number; InputError for
    a wrong value.

    most: of systems and labels that are looked at.
    """
    fields, quote, system = piece.layout.fields, engine.dialect.quote, piece.system_in(engine)
    numbers = [role for role, field in fields.items() if field.is_number]
    ends = [
        f"{of}({quote(role)}) AS {quote(f'{of} {role}')}"
        for role in numbers
        for of in ("min", "max")
    ]
    parted = (
        [f"count(*) FILTER (WHERE {quote(WEIGHT)} % 1 <> 0) AS parted"] if WEIGHT in fields else []
    )
    label = [quote(LABEL)] if LABEL in fields else []
    cells = [f"{system} AS system", *(f"{at} AS label" for at in label), *ends, *parted]
    by = [*label, *([system] if "system" in fields else [])]
    stored = piece.part.known_rows is not None and engine.dialect.row_number is not None
    if stored and by == label and not parted:
        rows = _stated(engine, piece.chosen, [f"{system} AS system", *ends], label)
        if rows:
            return rows
    grouping = f"{'GROUP BY ' if by else ''}{', '.join(by)} LIMIT {most}"
    return checked(engine, piece.chosen, fields, cells, grouping)


def _stated(
    engine: Engine, chosen: Selection, cells: Sequence[str], label: Sequence[str]
) -> Sequence[Row]:
    """The rows of `_profile` for at most two labels, the first with the number of all rows.

    DuckDB takes the ends of numbers from what a Parquet file states of them. Values that break a
    rule are found block by block; there is no row if it would take `_profile` to name the first.
    """
    whole = profile(engine, chosen, cells)[0]
    ends = [end for name, end in whole.items() if name != "system"]
    if any(end is None or not np.isfinite(end) for end in ends):
        return []
    if not label:
        return [whole]
    distinct = Query.of(chosen, f"DISTINCT {label[0]} AS label", "LIMIT 3")
    texts = engine.table(distinct)["label"].to_pylist()
    if None in texts or len(texts) > 2:
        return []
    return [whole | {"label": text, "n": 0 if i else whole["n"]} for i, text in enumerate(texts)]


def read(
    engine: Engine, predicted: OutcomeTable, segments: Sequence[str] = (), unit: str | None = None
) -> Predictions:
    """The table. Raises InputError for invalid labels, classes, systems, groups or units."""
    return KINDS[predicted.kind](Predictions.of(engine, predicted, segments, unit), predicted)


# Two classes --------------------------------------------------------------------------------------


def _of_two(found: Predictions, predicted: OutcomeTable) -> Predictions:
    predicted.refuse_scores_of_both_classes()
    t, label = found.table, found.table.schema.shared["label"]
    ends = {name: found.ends(name, "score") for name in t.systems}
    for name, (low, high) in ends.items():
        if low >= 0.5 and high <= 1:
            outcomes.refuse_column_of_predicted_classes(t.others, name, found.where)
    labels = _labels(found)
    positive, negative = outcomes.two_labels(labels, predicted.positive_label, found.where)
    hits = sorted(
        {row["label"] for _, row in found.requested if label.normalise(row["label"]) == positive}
    )
    hit = f"label IN ({', '.join(map(t.engine.dialect.literal, hits))})" if hits else "false"
    shared = {"hit": rules.Field(label.column, rules.NUMBER)}
    shared |= {role: field for role, field in t.schema.shared.items() if role != "label"}
    query = t.query.around(f"*, CAST(CASE WHEN {hit} THEN 1 ELSE 0 END AS TINYINT) AS hit")
    t = replace(t, query=query, schema=replace(t.schema, shared=shared))
    return replace(found, table=t, names=(negative, positive))


def _labels(found: Predictions) -> outcomes.LabelTexts:
    """The labels of the requested systems."""
    field = found.table.schema.shared["label"]
    rows = Counter[str]()
    for _, row in found.requested:
        rows[field.normalise(row["label"])] += row["n"]
    texts = sorted({row["label"] for _, row in found.requested})
    return _label_texts(found.table, "label", texts, rows)


def _label_texts(
    t: blocks.Blocks, role: str, texts: Sequence[str], rows: Mapping[str, int]
) -> outcomes.LabelTexts:
    """The texts of a role as they are written, and the rows of each as it is compared."""
    field = _field(t, role)
    at = t.engine.dialect.quote(
        role if role in t.schema.shared else t.schema.own[role][0].name_in_table
    )

    def first_cell(wanted: Sequence[str]) -> outcomes.LabelCell:
        literals = [
            t.engine.dialect.literal(text) for text in texts if field.normalise(text) in wanted
        ]
        _, place, text = t.where(f"{at} IN ({', '.join(literals)})", at, 1)[0]
        return outcomes.LabelCell(place, field.normalise(text))

    return outcomes.LabelTexts(field.column, dict(sorted(rows.items())), first_cell)


# Several classes ----------------------------------------------------------------------------------


SCORE = 64  # bytes that a score needs while its block is reduced
BESIDE = 4  # as much as so many scores is needed by labels, the places of rows and their bins
MOST = 4_096  # distinct texts of a column of classes


def of_width(reading: Reading, columns: int) -> Reading:
    """The limits on rows in memory, for a table with this many numeric columns.

    The smallest shard of a wide table has fewer rows, the largest one of a narrow table more: the
    fewer shards, the less there is to merge.
    """
    times = (columns + BESIDE) * SCORE / USUAL.reading.row
    fewer = max(1.0, times)
    shard, worker = int(reading.shard / fewer), int(reading.worker / fewer)
    return replace(reading, row=int(reading.row * times), shard=shard, worker=worker)


def _of_classes(found: Predictions, predicted: OutcomeTable) -> Predictions:
    t = found.table
    texts = {"label": sorted({row["label"] for _, row in found.requested})}
    answers = outcomes.LabelTexts("", {}, lambda _: outcomes.LabelCell("", ""))
    if "predicted" in t.schema.own:
        texts["predicted"] = list(t.texts("predicted"))
    _refuse_many(t, texts)
    if "predicted" in texts:
        plain = _field(t, "predicted").normalise
        rows = dict.fromkeys(map(plain, texts["predicted"]), 1)
        answers = _label_texts(t, "predicted", texts["predicted"], rows)
    roles = outcomes.score_roles([role for role in t.schema.own if role != "predicted"], t.name)
    names = outcomes.classes_of(_labels(found), answers, roles, found.where)
    for role, several in texts.items():
        t = t.coded(role, {text: names.index(_field(t, role).normalise(text)) for text in several})
    said = tuple(roles[name] for name in names) if roles else ("predicted",)
    return replace(found, table=replace(t, schema=replace(t.schema, said=said)), names=names)


def _refuse_many(t: blocks.Blocks, texts: Mapping[str, Sequence[str]]) -> None:
    """Raise InputError for more classes than are counted in blocks."""
    for role, several in texts.items():
        if len(several) > MOST:
            column = _field(t, role).column
            raise InputError(
                f"{t.name}: {column} has more than {MOST:,} classes; that needs rows in memory"
            )


def _field(t: blocks.Blocks, role: str) -> rules.Field:
    """The column of the labels, or of the predicted classes."""
    return t.schema.shared[role] if role in t.schema.shared else t.schema.own[role][0].field


# Several labels, and any of them ------------------------------------------------------------------


KINDS: Mapping[str, Callable[[Predictions, OutcomeTable], Predictions]] = {
    "binary": _of_two,
    "multi-class": _of_classes,
    "multi-label": lambda found, _: replace(
        found, names=tuple(role[2:] for role in found.table.schema.said)
    ),
}


@contextmanager
def opened(
    predicted: OutcomeTable, budget: backends.Budget, segments: Sequence[str], unit: str | None
) -> Iterator[Predictions | None]:
    """The table in an engine if it has more rows than are kept in memory; None otherwise."""
    numbers = sum(field.is_number for field in predicted.layouts[0].fields.values())
    reading = of_width(budget.reading, numbers)
    with backends.needed(predicted.parts, replace(budget, reading=reading)) as engine:
        yield read(engine, predicted, list(dict.fromkeys(segments)), unit) if engine else None

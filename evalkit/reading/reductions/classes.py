"""Tables of several classes that are reduced shard by shard: what an engine is asked, and every check before that.

One query for each part tells whether every score keeps the rules, and one for all which classes and groups there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import InputError
from evalkit.limits import Reading
from evalkit.metrics import grid
from evalkit.reading.engines.base import Budget, Engine
from evalkit.reading.inputs import aligned, outcomes
from evalkit.reading.inputs.aligned import Layout, own_key
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.reductions import distinct, forecasts, tabled
from evalkit.reading.reductions.distinct import DistinctTexts
from evalkit.reading.reductions.shards import Plan, Segment
from evalkit.reading.reductions.tabled import Piece, Tabled
from evalkit.reading.tables.rules import Field

Row = Mapping[str, Any]  # of a profile
SCORE = 64  # bytes that a score needs while its shard is reduced
MOST = 4_096  # distinct texts of a column of classes


@dataclass(frozen=True, eq=False)
class Large(Tabled):
    """A table of several classes that an engine holds.

    classes: in order. squares: what the squares of weights are counted in, 1 without weights. outside: the first score
    that is no probability, in words; "" where there is none.
    """

    classes: tuple[str, ...]
    squares: float
    outside: str

    @property
    def scored(self) -> bool:
        """Whether there are scores for the classes."""
        return self.plan.each > 0


@contextmanager
def opened(predicted: Predicted, budget: Budget, segments: Sequence[str], unit: str | None) -> Iterator[Large | None]:
    """The table in an engine where it has several classes and more rows than are kept; None where it is to be kept."""
    if predicted.few(budget.reading.rows) or predicted.kind != "multi-class":
        yield None
        return
    columns = sum(field.is_number for field in predicted.layouts[0].fields.values())
    with tabled.engine_for(predicted.parts, replace(budget, reading=wide(budget.reading, columns))) as engine:
        yield read(engine, predicted, list(dict.fromkeys(segments)), unit) if engine else None


def wide(reading: Reading, columns: int) -> Reading:
    """The rows that are held at once, of so many columns of numbers."""
    times = max(1.0, columns * SCORE / reading.row)
    return replace(
        reading,
        row=int(reading.row * times),
        shard=int(reading.shard / times),
        worker=int(reading.worker / times),
    )


def read(engine: Engine, predicted: Predicted, segments: Sequence[str] = (), unit: str | None = None) -> Large:
    """The table checked as `Predicted.read` checks it; raises what it raises."""
    pieces = tabled.pieces_of(engine, predicted.parts, predicted.layouts)
    profiles = [forecasts.profile(engine, piece) for piece in pieces]
    outcomes.check_positive(predicted.positive, predicted.kind)
    layout = pieces[0].layout
    systems, kept = wanted(predicted, pieces[0], profiles)
    known = _Known.of(engine, pieces, systems, segments, unit)
    classes = known.classes()
    own = known.scores(classes)
    plan = known.plan(systems, classes, forecasts.scale_of(pieces, profiles))
    table = Large(
        engine=engine,
        pieces=pieces,
        query=tabled.union(engine, pieces, systems, known.cells(own), segments, unit),
        plan=plan,
        counts=[sum(row["n"] for row in rows) for rows in profiles],
        rows=sum(row["n"] for row in kept),
        slices={},
        classes=classes,
        squares=squares_of(kept, plan.scale),
        outside="",
    )
    table = replace(table, outside=_outside(table, kept, own))
    if layout.id and not plan.paired:
        tabled.refuse_id_twice(table)
    return tabled.grouped(table, segments, unit, known.texts)


def wanted(predicted: Predicted, first: Piece, profiles: Sequence[Sequence[Row]]) -> tuple[tuple[str, ...], list[Row]]:
    """The systems that are wanted, in order, and what is known of their rows; raises ParameterError for another."""
    every = [row for rows in profiles for row in rows]
    names = sorted({row["system"] for row in every})
    systems = tuple(names[i] for i in aligned.kept_systems(names, predicted.systems, first.layout, first.part))
    return systems, [row for row in every if row["system"] in systems]


def only(t: Large, kept: Sequence[int]) -> Large:
    """The table of some of the classes, of which alone there are rows that count."""
    number = np.zeros(len(t.classes), np.int64)
    number[list(kept)] = np.arange(len(kept))
    columns = {name: getattr(t.plan, name) for name in ("classes", "said")}
    named: Any = {name: None if of is None else replace(of, of=number[of.of]) for name, of in columns.items()}
    classes = tuple(t.classes[i] for i in kept)
    if len(classes) < 2:
        raise outcomes.one_class(t.pieces[0].part.name, t.columns["label"], classes[0])
    return replace(t, classes=classes, plan=replace(t.plan, **named))


def squares_of(rows: Sequence[Row], scale: float | None) -> float:
    """Of what size squared weights are counted, so that their sums are whole numbers."""
    if scale is None:
        return 1.0
    most, n = max(row[f"max {forecasts.WEIGHT}"] for row in rows), sum(row["n"] for row in rows)
    return grid.scale_of(most**2, n, whole=scale == 1 and n * most**2 < 2**62)


@dataclass(frozen=True, eq=False)
class _Known:
    """The distinct texts of the columns of labels, of predicted classes, and of those that group rows."""

    engine: Engine
    pieces: Sequence[Piece]
    layout: Layout
    texts: Mapping[str, DistinctTexts]

    @classmethod
    def of(
        cls,
        engine: Engine,
        pieces: Sequence[Piece],
        systems: Sequence[str],
        segments: Sequence[str],
        unit: str | None,
    ) -> "_Known":
        """The texts of the systems wanted; raises InputError for a column of classes that has too many."""
        layout, quote = pieces[0].layout, engine.dialect.quote
        columns = {"label": layout.shared["label"].column}
        columns |= {"predicted": layout.own[None]["predicted"].column} if "predicted" in layout.own[None] else {}
        cells = [f"{quote(f'text {name}')} AS {name}" for name in columns]
        query = tabled.union(engine, pieces, systems, cells, segments, unit)
        most = dict.fromkeys(columns, MOST) | tabled.most_texts(engine, segments, unit)
        where = tabled.named(pieces)
        known = distinct.texts(engine, query, where, most, tabled.frames_of(pieces))
        for name, column in columns.items():
            if len(known[name].values) > MOST:
                raise InputError(f"{where}: {column} has more than {MOST:,} classes; that needs rows in memory")
        return cls(engine, pieces, layout, known)

    @property
    def label(self) -> list[str]:
        """The labels as they are written."""
        return self.texts["label"].values.tolist()

    @property
    def said(self) -> list[str] | None:
        """The predicted classes as they are written; None where there is no such column."""
        return self.texts["predicted"].values.tolist() if "predicted" in self.texts else None

    @property
    def _roles(self) -> dict[str, str]:
        """The columns of scores, by class."""
        fields = self.layout.own[None]
        return {outcomes.canonical(role[2:]): role for role, field in fields.items() if field.is_number}

    def classes(self) -> tuple[str, ...]:
        """All classes in order; raises InputError for a label, or a predicted class, that is none."""
        field, roles = self.layout.shared["label"], self._roles
        labels = {field.plain(text) for text in self.label}
        said = [self._plain(text) for text in self.said or ()]
        where = f"{self.pieces[0].part.name}: {self.layout.own[None]['predicted'].column if said else ''}"
        classes = outcomes.classes_of([*roles], labels, said, where)
        if others := [text for text in self.label if field.plain(text) not in classes]:
            place, text = self._first("text label", others)
            raise outcomes.no_column(place, field.column, field.plain(text), [*roles.values()])
        if len(classes) < 2:
            raise outcomes.one_class(self.pieces[0].part.name, field.column, classes[0])
        if others := [text for text in self.said or () if self._plain(text) not in classes]:
            place, text = self._first("text predicted", others)
            raise outcomes.no_class(place, self.layout.own[None]["predicted"].column, self._plain(text))
        return classes

    def _plain(self, text: str) -> str:
        return self.layout.own[None]["predicted"].plain(text)

    def _first(self, role: str, texts: Sequence[str]) -> tuple[str, str]:
        """Place and text of the first row that holds one of these."""
        at, literal = self.engine.dialect.quote(role), self.engine.dialect.literal
        condition = f"{at} IN ({', '.join(map(literal, texts))})"
        places = (
            (piece.part.place(row["n"]), row["value"])
            for piece in self.pieces
            for row in self.engine.where(piece.chosen, condition, f"{at} AS value", 1)
        )
        return next(places)

    def scores(self, classes: Sequence[str]) -> list[str]:
        """The roles of the columns of scores, in the order of the classes; none where there are none."""
        fields, roles = self.layout.own[None], self._roles
        return [own_key(None, roles[name], fields[roles[name]]) for name in classes] if roles else []

    def cells(self, own: Sequence[str]) -> list[str]:
        """The cells of what is and of what is said. own: the roles of the columns of scores."""
        named = {"text label": "label"} | ({} if self.said is None else {"text predicted": "predicted"})
        named |= {role: f"score{i}" for i, role in enumerate(own)}
        return [f"{self.engine.dialect.quote(role)} AS {short}" for role, short in named.items()]

    def plan(self, systems: tuple[str, ...], classes: tuple[str, ...], scale: float | None) -> Plan:
        """What a shard's columns mean, without segments and units."""
        said = None if self.said is None else _coded(self.layout.own[None]["predicted"], self.said, classes)
        label = _coded(self.layout.shared["label"], self.label, classes)
        each = len(self.scores(classes))
        return Plan(systems, len(systems) > 1, (), scale, truth="label", classes=label, each=each, said=said)


def _coded(field: Field, texts: Sequence[str], classes: tuple[str, ...]) -> Segment:
    """The texts of a column, and the number of each one's class."""
    numbers = [classes.index(field.plain(text)) for text in texts]
    return Segment(tuple(texts), np.array(numbers, dtype=np.int64))


def _outside(t: Large, rows: Sequence[Row], own: Sequence[str]) -> str:
    """The first score that is no probability, in words."""
    for role in own:
        wrong = [row["system"] for row in rows if row[f"min {role}"] < 0 or row[f"max {role}"] > 1]
        if wrong:
            name = next(name for name in t.systems if name in wrong)
            at = t.engine.dialect.quote(role)
            _, place, value = tabled.where(t, f"({at} < 0 OR {at} > 1)", at, 1, name)[0]
            return outcomes.outside(value, name, t.pieces[0].layout.fields[role].column, place)
    return ""

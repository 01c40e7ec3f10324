"""Tables of several classes that are read block by block: what an engine is asked before that.

One query for each part counts its rows by system and label, with the ends of each column of scores.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from evalkit.arrays import InputError
from evalkit.limits import Reading
from evalkit.metrics import grid
from evalkit.reading.engines.base import Budget, Engine
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.reductions import blocks, scores
from evalkit.reading.reductions.blocks import Blocks
from evalkit.reading.reductions.scores import WEIGHT, Row
from evalkit.reading.tables.rules import Field

SCORE = 64  # bytes that a score needs while its block is reduced
MOST = 4_096  # distinct texts of a column of classes
GROUPS = 2**20  # of a system and a label that are looked at


@dataclass(frozen=True, eq=False)
class Classes:
    """A table of several classes that an engine holds. names: the classes, in order.

    scored: whether each class has a score. outside: the first score that is no probability, in words, "" where there is
    none. scale, squares: what weights and their squares are counted in, None and 1 without weights.
    """

    table: Blocks
    names: tuple[str, ...]
    scored: bool
    outside: str
    scale: float | None
    squares: float

    def only(self, kept: Sequence[int]) -> "Classes":
        """The table of some of the classes, of which alone there are rows that count."""
        t, names = self.table, tuple(self.names[i] for i in kept)
        if len(names) < 2:
            raise outcomes.one_class(t.pieces[0].part.name, t.columns["label"], names[0])
        number = np.zeros(len(self.names), np.int64)
        number[list(kept)] = np.arange(len(kept))
        coded = {role: replace(of, of=number[of.of]) for role, of in t.schema.coded.items()}
        return replace(self, table=replace(t, schema=replace(t.schema, coded=coded)), names=names)


@contextmanager
def opened(predicted: Predicted, budget: Budget, segments: Sequence[str], unit: str | None) -> Iterator[Classes | None]:
    """The table in an engine where it has several classes and more rows than are kept; None where it is to be kept."""
    if predicted.few(budget.reading.rows) or predicted.kind != "multi-class":
        yield None
        return
    columns = sum(field.is_number for field in predicted.layouts[0].fields.values())
    with blocks.engine_for(predicted.parts, replace(budget, reading=wide(budget.reading, columns))) as engine:
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


def read(engine: Engine, predicted: Predicted, segments: Sequence[str] = (), unit: str | None = None) -> Classes:
    """The table; raises InputError where its labels, classes, systems, groups or units cannot be meant."""
    pieces = blocks.pieces_of(engine, predicted.parts, predicted.layouts)
    profiles = [scores.profile(engine, piece, GROUPS) for piece in pieces]
    outcomes.check_positive(predicted.positive, predicted.kind)
    t = scores.laid(engine, pieces, profiles, predicted.systems, segments, unit)
    wanted = [row for rows in profiles for row in rows if row["system"] in t.systems]
    texts = {"label": sorted({row["label"] for row in wanted})}
    texts |= {"predicted": list(t.texts("predicted"))} if "predicted" in t.schema.own else {}
    roles = {outcomes.canonical(role[2:]): role for role in t.schema.own if role != "predicted"}
    names = _classes(t, texts, roles)
    for role, every in texts.items():
        t = t.coded(role, {text: names.index(_field(t, role).plain(text)) for text in every})
    said = [roles[name] for name in names] if roles else ["predicted"]
    scale = scores.scale_of(pieces, profiles)
    return Classes(
        table=replace(t, schema=replace(t.schema, said=tuple(said))),
        names=names,
        scored=bool(roles),
        outside=_outside(t, wanted, said) if roles else "",
        scale=scale,
        squares=squares_of(wanted, scale),
    )


def _field(t: Blocks, role: str) -> Field:
    """The column of the labels, or of the predicted classes."""
    return t.schema.shared[role] if role in t.schema.shared else t.schema.own[role][0]


def _classes(t: Blocks, texts: Mapping[str, Sequence[str]], roles: Mapping[str, str]) -> tuple[str, ...]:
    """All classes in order; raises InputError for a label, or a predicted class, that is none."""
    for role, every in texts.items():
        if len(every) > MOST:
            column = _field(t, role).column
            raise InputError(f"{t.name}: {column} has more than {MOST:,} classes; that needs rows in memory")
    part, label = t.pieces[0].part, _field(t, "label")
    labels, said = ({_field(t, role).plain(text) for text in texts.get(role, ())} for role in ("label", "predicted"))
    where = f"{part.name}: {_field(t, 'predicted').column if said else ''}"
    names = outcomes.classes_of([*roles], labels, said, where)
    if found := _other(t, "label", texts["label"], names):
        raise outcomes.no_column(found[0], label.column, label.plain(found[1]), [*roles.values()])
    if len(names) < 2:
        raise outcomes.one_class(part.name, label.column, names[0])
    if found := _other(t, "predicted", texts.get("predicted", ()), names):
        raise outcomes.no_class(found[0], _field(t, "predicted").column, _field(t, "predicted").plain(found[1]))
    return names


def _other(t: Blocks, role: str, texts: Sequence[str], names: Sequence[str]) -> tuple[str, str] | None:
    """Place and text of the first row with a text that is none of the classes."""
    if not (others := [text for text in texts if _field(t, role).plain(text) not in names]):
        return None
    at = t.engine.dialect.quote(f"text {role}")
    condition = f"{at} IN ({', '.join(map(t.engine.dialect.literal, others))})"
    _, place, text = t.where(condition, at, 1)[0]
    return place, text


def squares_of(rows: Sequence[Row], scale: float | None) -> float:
    """Of what size squared weights are counted, so that their sums are whole numbers."""
    if scale is None:
        return 1.0
    most, n = max(row[f"max {WEIGHT}"] for row in rows), sum(row["n"] for row in rows)
    return grid.scale_of(most**2, n, whole=scale == 1 and n * most**2 < 2**62)


def _outside(t: Blocks, rows: Sequence[Row], said: Sequence[str]) -> str:
    """The first score that is no probability, in words."""
    for role in said:
        key = f"own None\n{role}"
        wrong = {row["system"] for row in rows if row[f"min {key}"] < 0 or row[f"max {key}"] > 1}
        if wrong:
            name, at = next(name for name in t.systems if name in wrong), t.engine.dialect.quote(key)
            _, place, value = t.where(f"({at} < 0 OR {at} > 1)", at, 1, name)[0]
            return outcomes.outside(value, name, t.schema.own[role][0].column, place)
    return ""

"""Tables of several labels a row that are read block by block: what an engine is asked before that.

One query for each part counts its rows by system, with the ends of each column of scores.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from evalkit.reading.engines.base import Budget, Engine
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.reductions import blocks, classes, scores
from evalkit.reading.reductions.blocks import Blocks, Piece
from evalkit.reading.reductions.scores import Row
from evalkit.reading.tables import rules
from evalkit.reading.tables.rules import Precision


@dataclass(frozen=True, eq=False)
class Labels:
    """A table of several labels that an engine holds. names: the labels, in the order of the columns.

    sure: whether every score lies in 0..1. scale, squares: what weights and their squares are counted in, None and 1
    without weights. precision: what the scores of each label were stored in, by system.
    """

    table: Blocks
    names: tuple[str, ...]
    sure: bool
    scale: float | None
    squares: float
    precision: Mapping[str, list[Precision]]


@contextmanager
def opened(predicted: Predicted, budget: Budget, segments: Sequence[str], unit: str | None) -> Iterator[Labels | None]:
    """The table in an engine where it has several labels and more rows than are kept; None where it is to be kept."""
    if predicted.few(budget.reading.rows) or predicted.kind != "multi-label":
        yield None
        return
    columns = sum(field.is_number for field in predicted.layouts[0].fields.values())
    with blocks.engine_for(predicted.parts, replace(budget, reading=classes.wide(budget.reading, columns))) as engine:
        yield read(engine, predicted, list(dict.fromkeys(segments)), unit) if engine else None


def read(engine: Engine, predicted: Predicted, segments: Sequence[str] = (), unit: str | None = None) -> Labels:
    """The table; raises InputError where its systems, groups or units cannot be meant."""
    pieces = blocks.pieces_of(engine, predicted.parts, predicted.layouts)
    profiles = [scores.profile(engine, piece) for piece in pieces]
    outcomes.check_positive(predicted.positive, predicted.kind)
    t = scores.laid(engine, pieces, profiles, predicted.systems, segments, unit)
    wanted = [row for rows in profiles for row in rows if row["system"] in t.systems]
    scale = scores.scale_of(pieces, profiles)
    return Labels(
        table=t,
        names=tuple(role.removeprefix("p ") for role in t.schema.said),
        sure=all(
            row[f"min own None\n{of}"] >= 0 and row[f"max own None\n{of}"] <= 1
            for row in wanted
            for of in t.schema.said
        ),
        scale=scale,
        squares=classes.squares_of(wanted, scale),
        precision={name: _stored(name, t.schema.said, pieces, profiles) for name in t.systems},
    )


def _stored(
    system: str, said: Sequence[str], pieces: Sequence[Piece], profiles: Sequence[Sequence[Row]]
) -> list[Precision]:
    """The precision of a system's scores of each label: the widest of the parts that hold some."""
    there = [p for p, rows in zip(pieces, profiles, strict=True) if any(row["system"] == system for row in rows)]
    columns = ((p.part, p.layout.own[None]) for p in there)
    every = [[rules.of(part, own[role].column) for role in said] for part, own in columns]
    return [rules.widest(several) for several in zip(*every, strict=True)]

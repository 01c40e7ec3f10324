"""Tables of several labels a row that are reduced shard by shard: what an engine is asked, and every check before that.

One query for each part tells whether every label is 0 or 1 and every score a number.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from evalkit.reading.engines.base import Budget, Engine
from evalkit.reading.inputs import aligned, outcomes
from evalkit.reading.inputs.aligned import own_key
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.reductions import classes, forecasts, scores, tabled
from evalkit.reading.reductions.shards import Plan
from evalkit.reading.reductions.tabled import Piece, Tabled
from evalkit.reading.tables import rules
from evalkit.reading.tables.rules import Precision


@dataclass(frozen=True, eq=False)
class Large(Tabled):
    """A table of several labels that an engine holds.

    labels: in the order of the columns. squares: what the squares of weights are counted in, 1 without weights. sure:
    whether every score lies in 0..1. precision: what the scores of each label were stored in, by system.
    """

    labels: tuple[str, ...]
    squares: float
    sure: bool
    precision: Mapping[str, list[Precision]]


@contextmanager
def opened(predicted: Predicted, budget: Budget, segments: Sequence[str], unit: str | None) -> Iterator[Large | None]:
    """The table in an engine where it has several labels and more rows than are kept; None where it is to be kept."""
    if predicted.few(budget.reading.rows) or predicted.kind != "multi-label":
        yield None
        return
    columns = sum(field.is_number for field in predicted.layouts[0].fields.values())
    reading = classes.wide(budget.reading, columns)
    with tabled.engine_for(predicted.parts, replace(budget, reading=reading)) as engine:
        yield read(engine, predicted, list(dict.fromkeys(segments)), unit) if engine else None


def read(engine: Engine, predicted: Predicted, segments: Sequence[str] = (), unit: str | None = None) -> Large:
    """The table checked as `Predicted.read` checks it; raises what it raises."""
    pieces = tabled.pieces_of(engine, predicted.parts, predicted.layouts)
    profiles = [forecasts.profile(engine, piece) for piece in pieces]
    outcomes.check_positive(predicted.positive, predicted.kind)
    layout = pieces[0].layout
    every = [row for rows in profiles for row in rows]
    names = sorted({row["system"] for row in every})
    systems = tuple(names[i] for i in aligned.kept_systems(names, predicted.systems, layout, pieces[0].part))
    kept = [row for row in every if row["system"] in systems]
    labels = tuple(role.removeprefix("true ") for role in layout.shared if role.startswith("true "))
    fields = layout.own[None]
    own = [own_key(None, f"p {name}", fields[f"p {name}"]) for name in labels]
    scale = scores.scale_of(pieces, profiles)
    q = engine.dialect.quote
    cells = [f"{q(f'number true {name}')} AS label{i}" for i, name in enumerate(labels)]
    cells += [f"{q(role)} AS score{i}" for i, role in enumerate(own)]
    table = Large(
        engine=engine,
        pieces=pieces,
        query=tabled.union(engine, pieces, systems, cells, segments, unit),
        plan=Plan(systems, len(systems) > 1, (), scale, truth="label0", each=len(labels), labels=labels),
        counts=[sum(row["n"] for row in rows) for rows in profiles],
        rows=sum(row["n"] for row in kept),
        slices={},
        labels=labels,
        squares=classes.squares_of(kept, scale),
        sure=all(row[f"min {role}"] >= 0 and row[f"max {role}"] <= 1 for row in kept for role in own),
        precision={name: _stored(name, labels, pieces, profiles) for name in systems},
    )
    if layout.id and not table.plan.paired:
        tabled.refuse_id_twice(table)
    return tabled.grouped(table, segments, unit)


def _stored(
    system: str, labels: Sequence[str], pieces: Sequence[Piece], profiles: Sequence[Sequence[Mapping[str, object]]]
) -> list[Precision]:
    """The precision of a system's scores of each label: the widest of the parts that hold some."""
    there = [p for p, rows in zip(pieces, profiles, strict=True) if any(row["system"] == system for row in rows)]
    return [rules.widest(rules.of(p.part, p.layout.own[None][f"p {name}"].column) for p in there)
            for name in labels]  # fmt: skip

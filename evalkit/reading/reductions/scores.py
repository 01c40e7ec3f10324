"""Tables of labels and scores that are read block by block: what an engine is asked before that.

One query for each part counts its rows by system and label, with the ends of each column of numbers.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.metrics import grid
from evalkit.reading.engines.base import Budget, Engine
from evalkit.reading.inputs import aligned, outcomes
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.reductions import blocks
from evalkit.reading.reductions.blocks import Blocks, Piece
from evalkit.reading.tables import rules
from evalkit.reading.tables.parts import explained
from evalkit.reading.tables.rules import MOST_WEIGHT, Field, Precision, checks

LABELS = 10_000  # distinct labels that are looked at: two are right
LABEL, WEIGHT = "text label", "number weight"
Row = Mapping[str, Any]  # rows of one system and label, and what is told of them


@dataclass(frozen=True, eq=False)
class Scores:
    """A table of two classes that an engine holds. outside: says of a score that is no probability which it is.

    scale: what weights are counted in, None without weights. precision: what each system's scores were stored in.
    """

    table: Blocks
    positive: str
    negative: str
    outside: str
    scale: float | None
    precision: Mapping[str, Precision]


@contextmanager
def opened(predicted: Predicted, budget: Budget, segments: Sequence[str], unit: str | None) -> Iterator[Scores | None]:
    """The table in an engine where it is binary and has more rows than are kept; None where it is to be kept."""
    if predicted.few(budget.reading.rows) or predicted.kind != "binary":
        yield None
        return
    with blocks.engine_for(predicted.parts, budget) as engine:
        yield read(engine, predicted, list(dict.fromkeys(segments)), unit) if engine else None


def read(engine: Engine, predicted: Predicted, segments: Sequence[str] = (), unit: str | None = None) -> Scores:
    """The table; raises InputError where its labels, systems, groups or units cannot be meant."""
    pieces = blocks.pieces_of(engine, predicted.parts, predicted.layouts)
    profiles = [profile(engine, piece) for piece in pieces]
    t = laid(engine, pieces, profiles, predicted.systems, segments, unit)
    wanted = [[row for row in rows if t.wide or row["system"] in t.systems] for rows in profiles]
    others = aligned.unread(pieces[0].part, predicted.layouts[0])
    outcomes.refuse_confidence(_sure(t, wanted), others, pieces[0].part.name)
    label = t.schema.shared["label"]
    positive, negative = _labels(engine, pieces, wanted, predicted.positive)
    hits = sorted({row["label"] for rows in wanted for row in rows if label.plain(row["label"]) == positive})
    hit = f"label IN ({', '.join(map(engine.dialect.literal, hits))})" if hits else "false"
    shared = {"hit": Field(label.column, rules.NUMBER)}
    shared |= {role: field for role, field in t.schema.shared.items() if role != "label"}
    query = f"SELECT *, CASE WHEN {hit} THEN 1e0 ELSE 0e0 END AS hit FROM ({t.query}) AS t"
    return Scores(
        table=replace(t, query=query, schema=replace(t.schema, shared=shared)),
        positive=positive,
        negative=negative,
        outside=_outside(t, wanted),
        scale=scale_of(pieces, profiles),
        precision={name: _precision(pieces, profiles, name) for name in t.systems},
    )


def profile(engine: Engine, piece: Piece, most: int = LABELS) -> list[Row]:
    """Rows by system, and by label where there is one, with the ends of each number; InputError for a wrong value.

    most: of systems and labels that are looked at.
    """
    fields, quote, system = piece.layout.fields, engine.dialect.quote, piece.system_in(engine)
    cells = []
    for role in dict.fromkeys(check.role for check in checks(fields, engine.dialect)):
        at = quote(role)
        cells.append(f"count({at}) AS {quote(f'some {role}')}")
        cells += [f"{of}({at}) AS {quote(f'{of} {role}')}" for of in ("min", "max") if fields[role].is_number]
    cells += [f"count(*) FILTER (WHERE {quote(WEIGHT)} % 1 <> 0) AS parted"] if WEIGHT in fields else []
    label = [quote(LABEL)] if LABEL in fields else []
    by = [*label, *([system] if piece.layout.system else [])]
    cells = [f"{system} AS system", *(f"{at} AS label" for at in label), "count(*) AS n", *cells]
    group = f" GROUP BY {', '.join(by)}" if by else ""
    with explained(piece.chosen):
        limited = f"SELECT {', '.join(cells)} FROM ({piece.chosen.query}) AS s{group} LIMIT {most}"
        rows = engine.table(limited, piece.part.name, **piece.chosen.frames).to_pylist()
    rows = [row for row in rows if row["n"]]
    if not rows:
        raise piece.part.no_rows()
    if not all(_sound(row) for row in rows):
        blocks.refuse_first(engine, piece)
    return list(rows)


def laid(
    engine: Engine,
    pieces: Sequence[Piece],
    profiles: Sequence[Sequence[Row]],
    systems: Sequence[str],
    segments: Sequence[str],
    unit: str | None,
) -> Blocks:
    """The table of parts of which the profiles are known."""
    sizes = [Counter[str]() for _ in profiles]
    for size, row in ((size, row) for size, rows in zip(sizes, profiles, strict=True) for row in rows):
        size[row["system"]] += row["n"]
    return blocks.laid(engine, pieces, sizes, systems, segments, unit)


def _sound(row: Row) -> bool:
    """Whether every value is there, every number finite, and every weight within its bounds."""
    ends = {name: value for name, value in row.items() if name.startswith(("min ", "max "))}
    return (
        all(value == row["n"] for name, value in row.items() if name.startswith("some "))
        and all(value is not None and np.isfinite(value) for value in ends.values())
        and 0 <= ends.get(f"min {WEIGHT}", 0.0) <= ends.get(f"max {WEIGHT}", 0.0) <= MOST_WEIGHT
    )


def _labels(
    engine: Engine, pieces: Sequence[Piece], wanted: Sequence[Sequence[Row]], positive: str | None
) -> tuple[str, str]:
    """The positive and the negative label."""
    field, total = pieces[0].layout.shared["label"], Counter[str]()
    for row in (row for rows in wanted for row in rows):
        total[field.plain(row["label"])] += row["n"]
    names = sorted(total)
    if len(names) > 2:
        rare = outcomes.rarest({name: total[name] for name in names})
        each = ((piece, row["label"]) for piece, rows in zip(pieces, wanted, strict=True) for row in rows)
        piece, label = next((piece, label) for piece, label in each if field.plain(label) == rare)
        same = f"{engine.dialect.quote(LABEL)} = {engine.dialect.literal(label)}"
        number, _ = engine.first(piece.chosen, same, "text label")
        raise outcomes.too_many_labels(piece.part.place(number), field.column, names)
    return outcomes.two_labels(names, positive, pieces[0].part.name, field.column)


def scale_of(pieces: Sequence[Piece], profiles: Sequence[Sequence[Row]]) -> float | None:
    """Of what size weights are counted; None where there are none."""
    weight, every = pieces[0].layout.shared.get("weight"), [row for rows in profiles for row in rows]
    if weight is None:
        return None
    most = max(row[f"max {WEIGHT}"] for row in every)
    if most <= 0:
        raise outcomes.no_weight(pieces[0].part.name, weight.column)
    return grid.scale_of(most, sum(row["n"] for row in every), whole=not any(row["parted"] for row in every))


def _precision(pieces: Sequence[Piece], profiles: Sequence[Sequence[Row]], name: str) -> Precision:
    """The precision of a system's scores: the widest of the parts that hold some."""
    stored = []
    for piece, rows in zip(pieces, profiles, strict=True):
        own = piece.layout.own
        if name in own or any(row["system"] == name for row in rows):
            stored.append(rules.of(piece.part, own[name if name in own else None]["score"].column))
    return rules.widest(stored)


def _ends(t: Blocks, wanted: Sequence[Sequence[Row]]) -> Iterator[tuple[str, str, list[Row]]]:
    """Each system, the role of its score, and the rows of the profile that have its ends."""
    for name in t.systems:
        own = [row for rows in wanted for row in rows if t.wide or row["system"] == name]
        yield name, f"own {name if t.wide else None}\nscore", own


def _sure(t: Blocks, wanted: Sequence[Sequence[Row]]) -> list[str]:
    """The systems whose scores are 0.5 to 1."""
    return [
        name
        for name, role, own in _ends(t, wanted)
        if all(row[f"min {role}"] >= 0.5 and row[f"max {role}"] <= 1 for row in own)
    ]


def _outside(t: Blocks, wanted: Sequence[Sequence[Row]]) -> str:
    """What and where the first score is that is no probability; "" where there is none."""
    for name, role, own in _ends(t, wanted):
        if any(row[f"min {role}"] < 0 or row[f"max {role}"] > 1 for row in own):
            at = t.engine.dialect.quote(role)
            _, place, value = t.where(f"({at} < 0 OR {at} > 1)", at, 1, None if t.wide else name)[0]
            return f"got the score {value:g} of {name} ({place})"
    return ""

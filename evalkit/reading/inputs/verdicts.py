"""Pairwise verdicts, A, B or tie in each row, as tables of values per unit: the share of a win that
each of the two systems has in a row.

A win is 1 and a tie 0.5 for both, so that the mean is the win rate with ties as half wins.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evalkit.arrays import InputError
from evalkit.findings import kinds
from evalkit.limits import USUAL
from evalkit.parameters.reports import SignificanceParameters
from evalkit.reading.matching.verdict_columns import (
    FIRST,
    PLAIN,
    SECOND,
    TIES,
    Layout,
    layout_of,
    plain,
)
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables.parts import ByRole, Frames, InputPart, Source
from evalkit.reading.tables.rules import row_suffix

METRIC = "win_rate"
MOST_NAMED = 3  # models that a message lists


@dataclass(frozen=True, eq=False, kw_only=True)
class WinShares(InputPart):
    """A table of verdicts with a column for each of the two systems in their place.

    original: the part that was read, with its columns of verdicts. ties: the rows without a winner.
    """

    table: Any
    original: InputPart
    layout_of_verdicts: Layout
    systems: tuple[str, str]
    ties: int

    @property
    def known_rows(self) -> int:
        return len(self.table)

    def fingerprint(self, rows: int) -> Source:
        return self.original.fingerprint(rows)

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        return frame, {frame: self.table}


def with_win_shares(
    parts: Sequence[InputPart], p: SignificanceParameters
) -> tuple[Sequence[InputPart], SignificanceParameters]:
    """The parts and parameters of the values per unit that verdicts are; others as they are.

    Raises InputError for a verdict that is neither a side, a model nor a tie, and for more than two
    models.
    """
    if p.systems or p.columns.keys() - {"unit"} or len(parts[0].columns) < 2:
        return parts, p
    if parts[0].rows > USUAL.reading.rows or (layout := layout_of(parts[0])) is None:
        return parts, p
    shares = [_win_shares(part, layout) for part in parts]
    names = list(dict.fromkeys(name for part in shares for name in part.systems))
    metrics = p.metrics or (METRIC,)
    return shares, replace(p, systems=tuple(names), metrics=metrics)


def _win_shares(part: InputPart, layout: Layout) -> WinShares:
    """The part with the columns of its systems."""
    import pyarrow as pa

    read: ByRole = {f"column {name}": name for name in part.columns}
    loaded = part.load(read, {})
    cells = {name: loaded[f"column {name}"] for name in part.columns}
    verdicts = [text or "" for text in cells[layout.verdict].to_pylist()]
    models = [cells[name].to_pylist() for name in layout.models]
    systems = _systems(part, layout, verdicts, models)
    wins = np.full(len(verdicts), 0.5)
    for row, text in enumerate(verdicts):
        verdict = plain(text)
        sides = [side[row] for side in models] or [*systems]
        if not verdict:
            wins[row] = np.nan
        if not verdict or verdict in TIES:
            continue
        if text in sides:
            winner = text
        elif verdict in FIRST | SECOND:
            winner = sides[0 if verdict in FIRST else 1]
        else:
            raise _refused(part, layout, systems, text, row + 1)
        wins[row] = float(winner == systems[0])
    others = [name for name in part.columns if name not in (layout.verdict, *layout.models)]
    kept = {name: cells[name] for name in others}
    table = pa.table({**kept, systems[0]: wins, systems[1]: 1 - wins})
    return WinShares(
        name=part.name,
        path=Path(part.name) if part.unnamed else part.path,
        columns=tuple(table.column_names),
        table=table,
        original=part,
        layout_of_verdicts=layout,
        systems=systems,
        ties=sum(plain(text) in TIES for text in verdicts),
    )


def _systems(
    part: InputPart, layout: Layout, verdicts: Sequence[str], models: Sequence[Sequence[str | None]]
) -> tuple[str, str]:
    """The names of the two systems: those of the models, else those that verdicts name, else A and
    B. Raises InputError if there are not two models.
    """
    if models:
        names = sorted({name for side in models for name in side if name})
        if len(names) != 2:
            raise roles_of.refused(
                part.name,
                "verdicts_of_models",
                first=layout.models[0],
                second=layout.models[1],
                count=len(names),
                names=roles_of.listed(names, MOST_NAMED),
            )
        return names[0], names[1]
    winners = sorted({text for text in verdicts if text and plain(text) not in TIES})
    if {plain(text) for text in winners} <= FIRST | SECOND:
        sides = {plain(text) in FIRST: text for text in winners}
        return _side(sides.get(True), "A"), _side(sides.get(False), "B")
    if len(winners) != 2:
        raise _refused(part, layout, winners[:2], winners[-1], verdicts.index(winners[-1]) + 1)
    return winners[0], winners[1]


def _side(text: str | None, name: str) -> str:
    """The name of a side: model_a as it is written, and A for a, [[A]] and the like."""
    return name if text is None or plain(text) in PLAIN else text


def _refused(
    part: InputPart, layout: Layout, systems: Sequence[str], text: str, row: int
) -> InputError:
    """The error for a cell that is no verdict."""
    return roles_of.refused(
        part.name,
        "no_verdict",
        column=layout.verdict,
        systems=roles_of.listed(map(repr, systems)),
        cell=text,
        at=row_suffix(row),
    )


def columns_of(parts: Sequence[InputPart]) -> dict[str, str]:
    """The columns of verdicts as the page lists them."""
    layouts = [part.layout_of_verdicts for part in parts if isinstance(part, WinShares)]
    return {"verdicts": ", ".join([layouts[0].verdict, *layouts[0].models])} if layouts else {}


def findings(parts: Sequence[InputPart]) -> Iterator[kinds.Finding]:
    """How verdicts were counted."""
    shares = [part for part in parts if isinstance(part, WinShares)]
    if shares:
        ties = sum(part.ties for part in shares)
        rows = sum(part.known_rows for part in shares)
        yield kinds.VERDICTS.note(rows, rows=rows, ties=ties, share=ties / max(rows, 1))

"""Pairwise verdicts, A, B or tie in each row, as tables of values per unit: the share of a win that
each of the two systems has in a row.

A win is 1 and a tie 0.5 for both, so that the mean is the win rate with ties as half wins.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evalkit.arrays import InputError
from evalkit.findings import kinds
from evalkit.limits import USUAL_LIMITS
from evalkit.parameters.reports import SignificanceParameters
from evalkit.reading.matching.samples import SampledTable
from evalkit.reading.matching.verdict_columns import (
    FIRST,
    PLAIN,
    SECOND,
    TIES,
    VerdictLayout,
    layout_of,
    model_columns,
    plain,
    verdicts_beside,
)
from evalkit.reading.tables import columns as column_roles
from evalkit.reading.tables.frames import canonical_label
from evalkit.reading.tables.parts import ByRole, Frames, InputPart, Source
from evalkit.reading.tables.rules import row_suffix

if TYPE_CHECKING:
    import pyarrow as pa

METRIC = "win_rate"
MOST_NAMED = 3  # models that a message lists


@dataclass(frozen=True, eq=False, kw_only=True)
class WinShares(InputPart):
    """A table of verdicts as values per unit: a column of wins for each of the two systems in place
    of the columns of verdicts.

    table: the Arrow table. original_part: the part that was read. ties: the number of rows without
    a winner.
    """

    table: "pa.Table"
    original_part: InputPart
    layout_of_verdicts: VerdictLayout
    systems: tuple[str, str]
    ties: int

    @property
    def known_rows(self) -> int:
        """The number of rows."""
        return len(self.table)

    def fingerprint(self, rows: int) -> Source:
        """The file that was read, as the page names it."""
        return self.original_part.fingerprint(rows)

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        """The table in memory, under the name `frame`."""
        return frame, {frame: self.table}


def with_win_shares(
    parts: Sequence[InputPart], p: SignificanceParameters
) -> tuple[Sequence[InputPart], SignificanceParameters]:
    """The parts of a table of verdicts as values per unit, and the parameters with its two systems
    and its metric; parts and parameters of other tables as they are.

    Raises InputError for a verdict that is neither a side, a model nor a tie, and for more than two
    models.
    """
    first = parts[0]
    user_names_columns = p.systems or p.columns.keys() - {"unit"}
    if user_names_columns or len(first.columns) < 2 or first.rows > USUAL_LIMITS.reading.rows:
        return parts, p
    layout = layout_of(first)
    if layout is None:
        _refuse_several_verdicts(first)
        return parts, p
    shares = [_win_shares(part, layout) for part in parts]
    systems = tuple(dict.fromkeys(chain.from_iterable(part.systems for part in shares)))
    metrics = p.metrics or (METRIC,)
    return shares, replace(p, systems=systems, metrics=metrics)


def _refuse_several_verdicts(part: InputPart) -> None:
    """Raise InputError for several columns of verdicts between the models of a row, such as those
    of two games in which the sides are exchanged.
    """
    if part.trec_layout is not None or part.cluster_session is not None:
        return
    models = model_columns(part)
    if not models:
        return
    verdicts = verdicts_beside(SampledTable.from_part(part, {}), models)
    if len(verdicts) > 1:
        listed = column_roles.listed(map(repr, verdicts))
        raise column_roles.refused(part.name, "several_verdicts", columns=listed)


def _win_shares(part: InputPart, layout: VerdictLayout) -> WinShares:
    """The part with a column of wins for each system. Raises InputError for a cell that is no
    verdict.
    """
    import pyarrow as pa

    roles: ByRole = {f"column {name}": name for name in part.columns}
    loaded = part.load(roles, {})
    cells = {name: loaded[f"column {name}"] for name in part.columns}
    if layout.has_flags:
        flags = [cells[name].to_pylist() for name in layout.verdicts]
        verdicts = _verdicts_of_flags(part, layout, flags)
    else:
        verdicts = [text or "" for text in cells[layout.verdicts[0]].to_pylist()]
    models = [cells[name].to_pylist() for name in layout.models]
    systems = _systems(part, layout, verdicts, models)
    wins = np.full(len(verdicts), 0.5)  # of the first system
    for row, text in enumerate(verdicts):
        verdict = plain(text)
        # which model is first may change from row to row
        sides = [names[row] for names in models] or list(systems)
        if not verdict:
            wins[row] = np.nan
            continue
        if verdict in TIES:
            continue
        if text in sides:
            winner = text
        elif verdict in FIRST:
            winner = sides[0]
        elif verdict in SECOND:
            winner = sides[1]
        else:
            raise _refused(part, layout, systems, text, row + 1)
        wins[row] = float(winner == systems[0])
    of_verdicts = (*layout.verdicts, *layout.models)
    columns_beside = {name: cells[name] for name in part.columns if name not in of_verdicts}
    table = pa.table({**columns_beside, systems[0]: wins, systems[1]: 1 - wins})
    path = Path(part.name) if part.unnamed else part.path
    return WinShares(
        name=part.name,
        path=path,
        columns=tuple(table.column_names),
        table=table,
        original_part=part,
        layout_of_verdicts=layout,
        systems=systems,
        ties=sum(plain(text) in TIES for text in verdicts),
    )


def _verdicts_of_flags(
    part: InputPart, layout: VerdictLayout, flags: Sequence[Sequence[str | None]]
) -> list[str]:
    """The verdict of each row from columns of 0 and 1: a, b or tie. Raises InputError for a row
    that has not one 1.

    flags: the cells of these columns.
    """
    verdicts = []
    for row, cells in enumerate(zip(*flags, strict=True), start=1):
        won = [canonical_label(cell or "") in ("1", "true") for cell in cells]
        if won.count(True) != 1:
            columns = column_roles.listed(map(repr, layout.verdicts))
            problem = column_roles.sentence("no_winner", columns=columns, cells=list(cells))
            raise InputError(f"{part.name}, row {row}: {problem}")
        verdicts.append(("a", "b", "tie")[won.index(True)])
    return verdicts


def _systems(
    part: InputPart,
    layout: VerdictLayout,
    verdicts: Sequence[str],
    models: Sequence[Sequence[str | None]],
) -> tuple[str, str]:
    """The names of the two systems: those of the models, else those that verdicts name, else A and
    B. Raises InputError if there are not two models.

    models: the cells of the columns that name the models.
    """
    if models:
        names = sorted(name for name in set(chain.from_iterable(models)) if name)
        if len(names) != 2:
            raise column_roles.refused(
                part.name,
                "verdicts_of_models",
                first=layout.models[0],
                second=layout.models[1],
                count=len(names),
                names=column_roles.listed(names, MOST_NAMED),
            )
        return names[0], names[1]
    winners = sorted({text for text in verdicts if text and plain(text) not in TIES})
    if {plain(text) for text in winners} <= FIRST | SECOND:
        first = [text for text in winners if plain(text) in FIRST]
        second = [text for text in winners if plain(text) in SECOND]
        return _name_of_side(first, "A"), _name_of_side(second, "B")
    if len(winners) != 2:
        row = verdicts.index(winners[-1]) + 1
        raise _refused(part, layout, winners[:2], winners[-1], row)
    return winners[0], winners[1]


def _name_of_side(texts: Sequence[str], letter: str) -> str:
    """The name of a side: model_a as verdicts write it, but the letter for a, [[A]] and the like.

    texts: the ways to write it, of which the last one counts; empty if the side never wins.
    """
    if not texts or plain(texts[-1]) in PLAIN:
        return letter
    return texts[-1]


def _refused(
    part: InputPart, layout: VerdictLayout, systems: Sequence[str], text: str, row: int
) -> InputError:
    """The error for a cell that is no verdict. systems: the names that it could have. row: its
    number, from 1.
    """
    return column_roles.refused(
        part.name,
        "no_verdict",
        column=layout.verdicts[0],
        systems=column_roles.listed(map(repr, systems)),
        cell=text,
        at=row_suffix(row),
    )


def columns_of(parts: Sequence[InputPart]) -> dict[str, str]:
    """The role "verdicts" -> its columns, as the page lists them; empty for other tables."""
    layouts = [part.layout_of_verdicts for part in parts if isinstance(part, WinShares)]
    if not layouts:
        return {}
    return {"verdicts": ", ".join([*layouts[0].verdicts, *layouts[0].models])}


def findings(parts: Sequence[InputPart]) -> Iterator[kinds.Finding]:
    """How verdicts were counted; nothing for other tables."""
    shares = [part for part in parts if isinstance(part, WinShares)]
    if shares:
        ties = sum(part.ties for part in shares)
        rows = sum(part.known_rows for part in shares)
        yield kinds.VERDICTS.note(rows, rows=rows, ties=ties, share=ties / max(rows, 1))

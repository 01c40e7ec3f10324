"""The table of decisions at the threshold used, which the page's script computes again for any other threshold."""

import json
from collections.abc import Sequence
from typing import Any

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, escape, with_interval
from evalkit.numbers import decimals, number
from evalkit.statistics.intervals import Estimate
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.moving_threshold import SYSTEMS, estimates, moving, quantiles, steps, used

CELLS = ("tp", "fp", "fn", "tn")
METRICS = {
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "predicted": "predicted positive",
    "cost": "mean cost",
}


def moved(study: BinaryStudy) -> Html:
    """Counts, and metrics of counts, of every system at its threshold; on the page at any other one."""
    if not study.both_classes:
        return Html("")
    systems = study.order[:SYSTEMS]
    decided = {name: c for name, c in zip(systems, used(study, systems), strict=True) if c is not None}
    level = study.settings.level if study.plain else None
    cells = {name: estimates(c, study.costs, level) for name, c in decided.items()}
    columns = [_column([of[metric] for of in cells.values()]) for metric in METRICS]
    rows = [
        [
            Cell(escape(name)),
            number(float(c.threshold)),
            *(_count(float(getattr(c, cell))) for cell in CELLS),
            *(column[i] for column in columns),
        ]
        for i, (name, c) in enumerate(decided.items())
    ]
    heads = ["system", "threshold", *(cell.upper() for cell in CELLS), *METRICS.values()]
    piece = tables.table(f"What a threshold decides{_intervals(study)}", heads, rows, _note(study, len(systems)))
    return Html(f"<div data-sweep=\"{escape(_data(study))}\">{piece.html}</div>", piece.text, piece.tables)


def _column(of_systems: Sequence[Estimate]) -> list[str]:
    places = decimals(*([getattr(e, side) for e in of_systems] for side in ("value", "low", "high")))
    return [with_interval(e.value, e.low, e.high, places=places) for e in of_systems]


def _count(weight: float) -> str:
    return number(weight, 0 if weight.is_integer() else 2)


def _intervals(study: BinaryStudy) -> str:
    return f", with {study.settings.level:.0%} intervals" if study.plain else ""


def _note(study: BinaryStudy, systems: int) -> str:
    first = f" The first {systems} of {len(study.order)} systems." if systems < len(study.order) else ""
    none = "" if study.plain else " No intervals, as rows are clustered or weighted."
    return (
        f"At the threshold used ({study.rule.text}). Costs: {study.costs}. Intervals hold for a threshold that was not "
        f"chosen on these rows.{none}{first}"
    )


def _data(study: BinaryStudy) -> str:
    """What the script of the page computes from: the counts at each threshold as steps."""
    moves = moving(study)
    total = float(next(iter(moves.tables.values())).total)
    z, t = quantiles(study.settings.level, total)
    systems = [
        {"name": name, "positives": c.positives, "negatives": c.negatives, "tp": steps(c.tp), "fp": steps(c.fp)}
        for name, c in moves.tables.items()
    ]
    data: dict[str, Any] = {"z": z, "q": t if study.plain else 0, "costs": [study.costs.fp, study.costs.fn]}
    at = [None, *moves.threshold[1:].tolist()]
    return json.dumps(data | {"at": at, "systems": systems}, separators=(",", ":"), ensure_ascii=False)

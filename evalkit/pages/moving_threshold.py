"""The table of decisions at the threshold used, which the page's script computes again for any other threshold."""

import json
from collections.abc import Sequence, Set
from typing import Any

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, escape, with_interval
from evalkit.numbers import decimals, number
from evalkit.statistics.intervals import Estimate
from evalkit.studies.binary import LEAST_COST, BinaryStudy
from evalkit.studies.moving_threshold import SYSTEMS, Moving, estimates, moving, quantiles, steps, used

NONE = "none"  # no number, so that neither are the limits
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
    moves = moving(study)
    level = study.settings.level if study.plain else None
    cells = {name: estimates(c, study.costs, level) for name, c in decided.items()}
    places = [_places([of[metric] for of in cells.values()]) for metric in METRICS]
    cheapest = study.choices[study.choices["rule"] == LEAST_COST].set_index("system")["threshold"]
    rows: list[list[Cell | str]] = [
        [
            Cell(escape(name)),
            moves.named(float(c.threshold)),
            *(_count(float(getattr(c, cell))) for cell in CELLS),
            *(_cell(cells[name][metric], same) for metric, same in zip(METRICS, places, strict=True)),
            moves.named(cheapest[name]),
        ]
        for name, c in decided.items()
    ]
    heads = ["system", "threshold", *(cell.upper() for cell in CELLS), *METRICS.values(), "least cost at"]
    piece = tables.table(f"What a threshold decides{_intervals(study)}", heads, rows, _note(study, len(systems)))
    controls = _controls(study, len(moves.threshold), {moves.named(float(c.threshold)) for c in decided.values()})
    whole = f'<div data-sweep="{escape(_data(study, moves, places))}">{controls}{piece.html}</div>'
    return Html(whole, piece.text, piece.tables)


def _controls(study: BinaryStudy, thresholds: int, used: Set[str]) -> str:
    """The slider and the costs, which only the script of the page shows. used: by each system; one is the slider's."""
    costs = (("False positive costs", study.costs.fp), ("false negative costs", study.costs.fn))
    fields = "".join(
        f'<label>{text} <input type="number" min="0" step="any" value="{cost:g}"></label>' for text, cost in costs
    )
    at = "".join(used) if len(used) == 1 else ""
    slider = f'<input type="range" min="0" max="{thresholds - 1}">'
    return f'<div class="tools sweep" hidden><label>Threshold {slider}</label><output>{at}</output>{fields}</div>'


def _places(of_systems: Sequence[Estimate]) -> int:
    return decimals(*([getattr(e, side) for e in of_systems] for side in ("value", "low", "high")))


def _cell(e: Estimate, places: int) -> str:
    return with_interval(e.value, e.low, e.high, places=places)


def _whole(study: BinaryStudy) -> list[int]:
    """The decimals of the four counts."""
    return [2 if study.facts.weighted else 0] * len(CELLS)


def _count(weight: float) -> str:
    return number(weight, 0 if weight.is_integer() else 2)


def _intervals(study: BinaryStudy) -> str:
    return f", with {study.settings.level:.0%} intervals" if study.plain else ""


def _note(study: BinaryStudy, systems: int) -> str:
    first = f" The first {systems} of {len(study.order)} systems." if systems < len(study.order) else ""
    none = "" if study.plain else " No intervals, as rows are clustered or weighted."
    return (
        f"The table opens at the threshold used ({study.rule.text}) and the costs {study.costs}. Intervals are for a "
        f"threshold that was not chosen on these rows.{none}{first}"
    )


def _data(study: BinaryStudy, moves: Moving, places: Sequence[int]) -> str:
    """What the script of the page computes from: the counts at each threshold as steps."""
    total = float(next(iter(moves.tables.values())).total)
    z, t = quantiles(study.settings.level, total)
    systems = [
        {"name": name, "positives": c.positives, "negatives": c.negatives, "tp": steps(c.tp), "fp": steps(c.fp)}
        for name, c in moves.tables.items()
    ]
    data: dict[str, Any] = dict(zip("zq", (z, t) if study.plain else (NONE, NONE), strict=True))
    named = " ".join(map(moves.named, moves.threshold))
    return json.dumps(
        data | {"named": named, "places": [*_whole(study), *places], "systems": systems},
        separators=(",", ":"),
        ensure_ascii=False,
    )

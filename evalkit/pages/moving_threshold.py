"""The table of decisions at the threshold used, which the page's script computes again for any other threshold."""

import json
from collections.abc import Sequence, Set
from typing import Any

from evalkit import numbers
from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, escape, number_cell, with_interval
from evalkit.numbers import decimals, number
from evalkit.studies.binary import LEAST_COST, BinaryStudy
from evalkit.studies.moving_threshold import METRICS as TARGETS
from evalkit.studies.moving_threshold import Moving, Plain, Varied, intervals, moving, used

CELLS = ("tp", "fp", "fn", "tn")
METRICS = {
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "predicted_rate": "predicted positive",
    "cost": "mean cost",
}


def moved(study: BinaryStudy) -> Html:
    """Counts, and metrics of counts, of every system at its threshold; on the page at any other one."""
    if not study.both_classes:
        return Html("")
    moves = moving(study)
    decided = {name: c for name, c in zip(moves.tables, used(study, moves.tables), strict=True) if c is not None}
    limits = intervals(study, moves)
    cells = {name: limits.estimates(name, c, study.costs) for name, c in decided.items()}
    places = [_places([of[metric] for of in cells.values()]) for metric in METRICS]
    cheapest = study.choices[study.choices["rule"] == LEAST_COST].set_index("system")[["threshold", "cost"]]
    rows: list[list[Cell | str]] = [
        [
            Cell(name),
            Cell(moves.named(float(c.threshold)), numbers=(float(c.threshold),)),
            *(_count(float(getattr(c, cell))) for cell in CELLS),
            *(_cell(cells[name][metric], same) for metric, same in zip(METRICS, places, strict=True)),
            f"{moves.named(best)} ({number(cost, places[-1])})",
        ]
        for (name, c), (best, cost) in zip(decided.items(), cheapest.loc[list(decided)].to_numpy(), strict=True)
    ]
    heads = ["system", "threshold", *(cell.upper() for cell in CELLS), *METRICS.values(), "least cost at (cost)"]
    caption = f"What a threshold decides{f', with {limits.level:.0%} intervals' if limits.level else ''}"
    piece = tables.table(caption, heads, rows, _note(study, limits, len(moves.tables)))
    controls = _controls(study, moves.last, {moves.named(float(c.threshold)) for c in decided.values()})
    data = escape(_data(moves, limits, _whole(study), places))
    whole = f'<div id="{numbers.SLIDER}" data-sweep="{data}">{controls}{piece.html}</div>'
    return Html(whole, piece.text, piece.tables)


def _controls(study: BinaryStudy, last: int, used: Set[str]) -> str:
    """The slider, the costs and the target, which only the script shows. used: by each system; one is the slider's."""
    costs = (("false positive costs", study.costs.fp), ("false negative costs", study.costs.fn))
    number = '<input type="number" min="0" step="any"'
    fields = "".join(f'<label>{text} {number} value="{cost:g}"></label>' for text, cost in costs)
    metrics = "".join(f"<option>{METRICS[metric]}</option>" for metric in TARGETS)
    target = f'<label>Least cost with <select>{metrics}</select></label><label>of at least {number} max="1"></label>'
    at = "".join(used) if len(used) == 1 else ""
    slider = f'<input type="range" min="0" max="{last}">'
    return (
        f'<div class="tools sweep" hidden><label>Threshold {slider}</label><output>{at}</output>{fields}{target}</div>'
    )


def _places(of_systems: Sequence[Any]) -> int:
    return decimals(*([getattr(e, side) for e in of_systems] for side in ("value", "low", "high")))


def _cell(e: Any, places: int) -> Cell:
    return with_interval(e.value, e.low, e.high, places=places)


def _whole(study: BinaryStudy) -> list[int]:
    """The decimals of the four counts."""
    return [2 if study.facts.weighted else 0 for _ in CELLS]


def _count(weight: float) -> Cell:
    return number_cell(weight, 0 if weight.is_integer() else 2)


def _note(study: BinaryStudy, limits: Plain | Varied, systems: int) -> str:
    first = f" The first {systems} of {len(study.order)} systems." if systems < len(study.order) else ""
    none = (
        ""
        if limits.level
        else " No intervals: sums over rows that are clustered or weighted tell those of one threshold."
    )
    return (
        f"The table opens at the threshold used ({study.rule.text}). {study.costs.said} Intervals are for a threshold "
        f"that was not chosen on these rows.{none}{first}"
    )


def _data(moves: Moving, limits: Plain | Varied, counts: Sequence[int], places: Sequence[int]) -> str:
    """What the script of the page computes from: the counts at each threshold, and what their intervals need.

    counts, places: the decimals of the counts and of the metrics.
    """
    columns = {
        name: {"tp": _column(c.tp), "fp": _column(c.fp)} | limits.of_system(name, places)
        for name, c in moves.tables.items()
    }
    systems = [  # thresholds rise to the right
        {"P": c.positives, "N": c.negatives} | {key: column[::-1] for key, column in columns[name].items()}
        for name, c in moves.tables.items()
    ]
    named = " ".join(map(moves.named, moves.threshold[::-1]))
    return json.dumps(
        {"named": named, "places": [*counts, *places], "systems": systems} | limits.quantiles(),
        separators=(",", ":"),
        ensure_ascii=False,
    )


def _column(column: Any) -> list[float]:
    """The numbers of a column, whole ones as such."""
    return [int(value) if float(value).is_integer() else float(f"{value:.9g}") for value in column.tolist()]

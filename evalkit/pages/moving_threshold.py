"""The table of decisions at the threshold used, which the page's script computes again for any other threshold."""

import json
import math
from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, escape, with_interval
from evalkit.numbers import decimals, number
from evalkit.studies.binary import LEAST_COST, BinaryStudy
from evalkit.studies.moving_threshold import METRICS as TARGETS
from evalkit.studies.moving_threshold import Moving, Plain, Varied, intervals, moving, quantiles, used

NONE = "none"  # no number, so that neither are the limits
UNDEFINED = -1  # the limits of what has no value
FINE = 1e6  # whole numbers in place of shares of the largest variance
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
            Cell(escape(name)),
            moves.named(float(c.threshold)),
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
    whole = f'<div data-sweep="{escape(_data(study, moves, limits, places))}">{controls}{piece.html}</div>'
    return Html(whole, piece.text, piece.tables)


def _controls(study: BinaryStudy, last: int, used: Set[str]) -> str:
    """The slider, the costs and the target, which only the script shows. used: by each system; one is the slider's."""
    costs = (("False positive costs", study.costs.fp), ("false negative costs", study.costs.fn))
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


def _cell(e: Any, places: int) -> str:
    return with_interval(e.value, e.low, e.high, places=places)


def _whole(study: BinaryStudy) -> list[int]:
    """The decimals of the four counts."""
    return [2 if study.facts.weighted else 0 for _ in CELLS]


def _count(weight: float) -> str:
    return number(weight, 0 if weight.is_integer() else 2)


def _note(study: BinaryStudy, limits: Plain | Varied, systems: int) -> str:
    first = f" The first {systems} of {len(study.order)} systems." if systems < len(study.order) else ""
    none = (
        ""
        if limits.level
        else " No intervals: sums over rows that are clustered or weighted tell those of one threshold."
    )
    return (
        f"The table opens at the threshold used ({study.rule.text}) and the costs {study.costs}. Intervals are for a "
        f"threshold that was not chosen on these rows.{none}{first}"
    )


def _data(study: BinaryStudy, moves: Moving, limits: Plain | Varied, places: Sequence[int]) -> str:
    """What the script of the page computes from: the counts at each threshold, and what their intervals need."""
    systems = [
        {"positives": c.positives, "negatives": c.negatives, "tp": _column(c.tp), "fp": _column(c.fp)}
        for c in moves.tables.values()
    ]
    more = _varied(systems, limits, places) if isinstance(limits, Varied) else _plain(study)
    named = " ".join(map(moves.named, moves.threshold))
    return json.dumps(
        {"named": named, "places": [*_whole(study), *places], "systems": systems} | more,
        separators=(",", ":"),
        ensure_ascii=False,
    )


def _plain(study: BinaryStudy) -> dict[str, Any]:
    """The quantile that closed intervals take."""
    return {"z": quantiles(study.settings.level, np.inf)[0] if study.plain else NONE}


def _varied(systems: list[dict[str, Any]], limits: Varied, places: Sequence[int]) -> dict[str, Any]:
    """The limits at each threshold, as they are shown; the spread of costs, whose unit `q` takes in."""
    largest = max(float(np.abs(cut.spread).max()) for cut in limits.cuts.values()) or 1.0
    for system, cut, own in zip(systems, limits.cuts.values(), limits.limits.values(), strict=True):
        system["spread"] = np.rint(cut.spread * FINE / largest).astype(int).tolist()
        system["limits"] = [[_limits(e, places[m]) for m, e in enumerate(of_place)] for of_place in own]
    z, t = quantiles(limits.level, limits.units)
    return {"z": z, "q": t * (largest / FINE) ** 0.5, "units": limits.units}


def _limits(e: Any, places: int) -> list[float]:
    """The limits, rounded as they are shown."""
    return [UNDEFINED if math.isnan(limit) else float(f"{limit:.{places}f}") for limit in (e.low, e.high)]


def _column(column: Any) -> list[float]:
    """The numbers of a column, whole ones as such."""
    return [int(value) if float(value).is_integer() else float(f"{value:.9g}") for value in column.tolist()]

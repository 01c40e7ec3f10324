"""The thresholds of two classes: metrics and costs along them, the one that moves, net benefit."""

import json
import math
from collections.abc import Sequence, Set
from typing import Any

import pandas as pd

from evalkit.drawing import curve_plots, figures, tables
from evalkit.drawing.cells import Cell, escape, number_cell, with_interval
from evalkit.drawing.curve_plots import FROM_ABOVE, Panel
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.plots import IntervalRow
from evalkit.drawing.tables import of_rows
from evalkit.numbers import SLIDER, counted, decimals, listed, number
from evalkit.pages import page, pieces, texts
from evalkit.studies import binary_diagnostics, decision_curves
from evalkit.studies.binary import LEAST_COST, BinaryStudy
from evalkit.studies.threshold_slider import (
    METRICS as TARGETS,
    ClosedFormIntervals,
    OwnIntervals,
    SliderCounts,
    counts_in_use,
    intervals,
    slider_counts,
)

THRESHOLD = "threshold probability"
both_classes = pieces.where(lambda study: study.both_classes)


LOW = f" Values below −{-decision_curves.LOWEST:g} times the base rate are not drawn."


NO_BANDS = "Without intervals, as the rows are not in memory."


CELLS = ("tp", "fp", "fn", "tn")


METRICS = {
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "predicted_rate": "predicted positive",
    "cost": "mean cost",
}


@both_classes
def threshold_plot(study: BinaryStudy) -> figures.Figure | Html:
    """The leader's precision, recall and F1 along the threshold, and the mean cost of every
    system.
    """
    sweep = study.sweep[study.sweep["system"] == study.leader]
    sweep = sweep[sweep["threshold"].abs() < float("inf")]
    lines = [
        sweep.assign(system=metric, x=sweep["threshold"], y=sweep[metric])
        for metric in ("precision", "recall", "f1")
    ]
    threshold = study.thresholds[study.leader]
    mark = None
    if math.isfinite(threshold):
        mark = ((threshold, threshold), (0.0, 1.0))
    y = f"metric of {study.leader}"
    title = f"{study.leader} by threshold"
    panel = Panel(pd.concat(lines), "threshold", y, title, reference=mark, steps=FROM_ABOVE)
    rows = counted(study.table(study.leader).total, "row")
    caption = texts.sentence(
        "threshold.threshold_plot", leader=study.leader, rows=rows, used=number(threshold)
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1)


@both_classes
def cost_plot(study: BinaryStudy) -> figures.Figure | Html:
    """The mean cost of a row along the share of rows predicted positive."""
    frame = page.rows_of_figure(
        study, study.sweep.assign(x=study.sweep["predicted"], y=study.sweep["cost"])
    )
    points = page.rows_of_figure(study, binary_diagnostics.used_costs(study))
    panel = Panel(frame, "share of rows predicted positive", "mean cost per row", points=points)
    best = study.choices[study.choices["rule"] == LEAST_COST].itertuples()
    costs = (f"{row.system} {number(row.cost)} {_where(row.threshold)}" for row in best)
    lowest = listed(costs, page.CURVES, "; ")
    caption = texts.sentence(
        "threshold.cost_plot", costs=study.costs, lowest=lowest, few=page.omission(study)
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1)


def _where(threshold: float) -> str:
    """At which threshold a cost is lowest, in words."""
    if threshold == float("inf"):
        return "with no row predicted positive"
    return f"at threshold {number(threshold)}"


@both_classes
def thresholds(study: BinaryStudy) -> Html:
    """What other ways to choose the threshold would give: of the leader, then of the
    others.
    """
    note = texts.sentence("threshold.thresholds_note", costs=study.costs.sentence)
    is_leader = study.choices["system"] == study.leader
    leader = study.choices[is_leader].assign(name=study.choices["rule"])
    first = _choices(leader, f"Ways to choose the threshold of {study.leader}", note)
    other_systems = study.choices[~is_leader].assign(
        name=study.choices["system"] + ": " + study.choices["rule"]
    )
    others_table = _choices(other_systems, "Ways to choose the threshold of the others", "")
    return folded("Ways to choose the threshold", stack([first, others_table]))


def _choices(frame: pd.DataFrame, caption: str, note: str) -> Html:
    columns = (
        "chosen by=name | threshold # | predicted positive=predicted # | precision # | recall # | "
        "f1 # | "
    )
    return of_rows(caption, frame, f"{columns}mean cost=cost #", note)


@pieces.where(lambda study: study.probabilities and study.both_classes)
def decision_curve(study: BinaryStudy) -> figures.Figure | Html:
    """Net benefit of the systems, of predicting all rows positive and of predicting none."""
    frame = decision_curves.decision_curves(
        {name: study.table(name) for name in page.systems_of_figure(study)}
    )
    benefits_at_costs = decision_curves.at_costs(study)
    values = listed(
        (f"{row.system} {number(row.value)}" for row in benefits_at_costs.itertuples()),
        page.CURVES + 1,
    )
    chance = number(benefits_at_costs["threshold"].iloc[0], 2)
    caption = texts.sentence(
        "threshold.decision_curve",
        costs=study.costs,
        values=values,
        low=LOW if frame["y"].isna().any() else "",
        rows=len(study.account),
        chance=chance,
        few=page.omission(study),
    )
    panel = Panel(frame, THRESHOLD, "net benefit per row", reference=((0, 1), (0, 0)))
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1, height=3.3)


def decision_difference(study: BinaryStudy) -> figures.Figure | Html:
    """Differences in net benefit of the pairs of the first screen, with intervals."""
    if not (study.probabilities and study.both_classes) or not len(
        frame := decision_curves.first_differences(study)
    ):
        return Html("")
    frame = frame.assign(system=frame["first"] + " − " + frame["second"], y=frame["value"])
    banded = bool(frame["low"].notna().any())
    bands = (
        f"Bands: pointwise {study.settings.level:.0%} intervals from the paired rows. "
        f"{_excluding_zero(frame)}"
    )
    caption = (
        f"Differences in net benefit by threshold probability. {bands if banded else NO_BANDS}"
    )
    panel = Panel(
        frame,
        THRESHOLD,
        "difference per row",
        "",
        frame if banded else None,
        None,
        ((0, 1), (0, 0)),
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1, height=3.3)


def _excluding_zero(frame: pd.DataFrame) -> str:
    """How many thresholds each pair's interval excludes 0 at."""
    counts = decision_curves.thresholds_with_difference(frame).itertuples()
    words = (
        f"{row.first} − {row.second} above at {row.above} and below at {row.below} of {row.all}"
        for row in counts
    )
    return f"Thresholds whose interval excludes 0: {listed(words, joint='; ')}."


@both_classes
def moving_threshold_table(study: BinaryStudy) -> Html:
    """Counts, and metrics of counts, of every system at its threshold; on the page at any other
    one.
    """
    slider = slider_counts(study)
    in_use = dict(zip(slider.tables, counts_in_use(study, slider.tables), strict=True))
    decided = {name: counts for name, counts in in_use.items() if counts is not None}
    limits = intervals(study, slider)
    estimates = {
        name: limits.estimates(name, counts, study.costs) for name, counts in decided.items()
    }
    places = [
        _places([of_system[metric] for of_system in estimates.values()]) for metric in METRICS
    ]
    cheapest = study.choices[study.choices["rule"] == LEAST_COST].set_index("system")
    rows = []
    for name, counts in decided.items():
        threshold = float(counts.threshold)
        cells: list[Cell | str] = [
            Cell(name),
            Cell(slider.named(threshold), numbers=(threshold,)),
        ]
        cells += [_count_cell(float(getattr(counts, cell))) for cell in CELLS]
        for metric, metric_places in zip(METRICS, places, strict=True):
            cells.append(_estimate_cell(estimates[name][metric], metric_places))
        best = cheapest.loc[name]
        cells.append(f"{slider.named(best['threshold'])} ({number(best['cost'], places[-1])})")
        rows.append(cells)
    heads = [
        "system",
        "threshold",
        *(cell.upper() for cell in CELLS),
        *METRICS.values(),
        "least cost at (cost)",
    ]
    caption = "What a threshold decides"
    if limits.level:
        caption += f", with {limits.level:.0%} intervals"
    piece = tables.table(caption, heads, rows, _slider_note(study, limits, len(slider.tables)))
    names_in_use = {slider.named(float(counts.threshold)) for counts in decided.values()}
    controls = _controls(study, slider.last, names_in_use)
    count_places = [2 if study.weighted else 0 for _ in CELLS]
    data = escape(_data(slider, limits, count_places, places))
    whole = f'<div id="{SLIDER}" data-sweep="{data}">{controls}{piece.html}</div>'
    return Html(whole, piece.text, piece.tables, (piece,))


def _places(estimates: Sequence[IntervalRow]) -> int:
    """The decimals with which estimates of one metric are printed."""
    values = [e.value for e in estimates]
    lows = [e.low for e in estimates]
    highs = [e.high for e in estimates]
    return decimals(values, lows, highs)


def _controls(study: BinaryStudy, last: int, thresholds_in_use: Set[str]) -> str:
    """The slider, the costs and the target, which only the script shows.

    last: the last place of the slider. thresholds_in_use: of the systems, in words; if all have
    the same one, the slider begins there.
    """
    costs = (("false positive costs", study.costs.fp), ("false negative costs", study.costs.fn))
    number = '<input type="number" min="0" step="any"'
    fields = "".join(f'<label>{text} {number} value="{cost:g}"></label>' for text, cost in costs)
    metrics = "".join(f"<option>{METRICS[metric]}</option>" for metric in TARGETS)
    target = (
        f"<label>Least cost with <select>{metrics}</select></label><label>of at least {number} "
        f'max="1"></label>'
    )
    threshold_text = "".join(thresholds_in_use) if len(thresholds_in_use) == 1 else ""
    slider = f'<input type="range" min="0" max="{last}">'
    threshold = f"<label>Threshold {slider}</label><output>{threshold_text}</output>"
    moves = "<span>also moves the marks on the curves</span>"
    return f'<div class="tools sweep" hidden>{threshold}{moves}{fields}{target}</div>'


def _estimate_cell(estimate: IntervalRow, places: int) -> Cell:
    """The cell of an estimate with its interval."""
    return with_interval(estimate.value, estimate.low, estimate.high, places=places)


def _count_cell(weight: float) -> Cell:
    """The cell of a number of rows, or of their weight, which may have decimals."""
    places = 0 if weight.is_integer() else 2
    return number_cell(weight, places)


def _slider_note(
    study: BinaryStudy, limits: ClosedFormIntervals | OwnIntervals, systems: int
) -> str:
    """The note of the table of the slider. systems: how many it holds."""
    first = ""
    if systems < len(study.order):
        first = f" The first {systems} of {len(study.order)} systems."
    none = "" if limits.level else texts.sentence("threshold.no_intervals")
    return texts.sentence("threshold.moving_note", study, none=none, first=first)


def _data(
    slider: SliderCounts,
    limits: ClosedFormIntervals | OwnIntervals,
    count_places: Sequence[int],
    metric_places: Sequence[int],
) -> str:
    """What the script of the page computes from, as JSON: the counts at each threshold, and what
    their intervals need. Thresholds rise, from left to right.

    count_places, metric_places: the decimals of the counts and of the metrics.
    """
    systems = []
    for name, table in slider.tables.items():
        columns = {"tp": _column(table.tp), "fp": _column(table.fp)}
        columns |= limits.of_system(name, metric_places)
        rising = {key: column[::-1] for key, column in columns.items()}
        systems.append({"P": table.positives, "N": table.negatives} | rising)
    data: dict[str, Any] = {
        "named": " ".join(map(slider.named, slider.threshold[::-1])),
        "places": [*count_places, *metric_places],
        "systems": systems,
    }
    data |= limits.quantiles()
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _column(column: Any) -> list[float]:
    """The numbers of a column, whole ones as such."""
    return [
        int(value) if float(value).is_integer() else float(f"{value:.9g}")
        for value in column.tolist()
    ]

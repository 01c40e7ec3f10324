"""The thresholds of two classes: metrics and costs along them, the one that moves, net benefit."""

import json
import math
from collections.abc import Sequence, Set

import pandas as pd

from evalkit.arrays import Floats
from evalkit.drawing import curve_plots, figures, tables
from evalkit.drawing.cells import Cell, Head, escape, number_cell, with_interval
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

both_classes = pieces.where(lambda study: study.both_classes)  # else the piece stays empty

THRESHOLD = "threshold probability"
LOW = f" Values below −{-decision_curves.LOWEST:g} times the base rate are not drawn."
NO_BANDS = "Without intervals, as the rows are not in memory."
CELLS = ("tp", "fp", "fn", "tn")
METRICS = {  # along the slider: the heads of their columns
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "predicted_rate": "predicted positive",
    "cost": "mean cost",
}


@both_classes
def threshold_plot(study: BinaryStudy) -> figures.Figure | Html:
    """The leader's precision, recall and F1 along the threshold."""
    sweep = study.sweep[study.sweep["system"] == study.leader]
    sweep = sweep[sweep["threshold"].abs() < float("inf")]
    lines = []  # one per metric, which the panel takes for systems
    for metric in ("precision", "recall", "f1"):
        lines.append(sweep.assign(system=metric, x=sweep["threshold"], y=sweep[metric]))
    threshold = study.thresholds[study.leader]
    threshold_in_use = None
    if math.isfinite(threshold):
        threshold_in_use = ((threshold, threshold), (0.0, 1.0))  # x, y: upright
    panel = Panel(
        pd.concat(lines),
        "threshold",
        f"metric of {study.leader}",
        f"{study.leader} by threshold",
        reference=threshold_in_use,
        steps=FROM_ABOVE,
    )
    rows = counted(study.table(study.leader).total, "row")
    caption = texts.sentence(
        "threshold.threshold_plot", leader=study.leader, rows=rows, used=number(threshold)
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1)


@both_classes
def cost_plot(study: BinaryStudy) -> figures.Figure | Html:
    """The mean cost of a row along the share of rows predicted positive, a line per system."""
    sweep = study.sweep.assign(x=study.sweep["predicted"], y=study.sweep["cost"])
    frame = page.rows_of_figure(study, sweep)
    points = page.rows_of_figure(study, binary_diagnostics.used_costs(study))
    panel = Panel(frame, "share of rows predicted positive", "mean cost per row", points=points)
    lowest_costs = []
    for row in study.choices[study.choices["rule"] == LEAST_COST].itertuples():
        lowest_costs.append(f"{row.system} {number(row.cost)} {_where(row.threshold)}")
    caption = texts.sentence(
        "threshold.cost_plot",
        costs=study.costs,
        lowest=listed(lowest_costs, page.CURVES, "; "),
        few=page.omission(study),
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1)


def _where(threshold: float) -> str:
    """At which threshold a cost is lowest, in words."""
    if threshold == float("inf"):
        return "with no row predicted positive"
    return f"at threshold {number(threshold)}"


@both_classes
def thresholds(study: BinaryStudy) -> Html:
    """What other ways to choose the threshold would give, folded: of the leader, then of the other
    systems.
    """
    note = texts.sentence("threshold.thresholds_note", costs=study.costs.sentence)
    choices = study.choices
    is_leader = choices["system"] == study.leader
    of_leader = choices[is_leader].assign(name=choices["rule"])
    of_others = choices[~is_leader].assign(name=choices["system"] + ": " + choices["rule"])
    leader_table = _choices(of_leader, f"Ways to choose the threshold of {study.leader}", note)
    others_table = _choices(of_others, "Ways to choose the threshold of the others", "")
    return folded("Ways to choose the threshold", stack([leader_table, others_table]))


def _choices(choices: pd.DataFrame, caption: str, note: str) -> Html:
    """A row per way to choose the threshold. choices: of `study.choices`, with their `name`."""
    columns = (
        "chosen by=name | threshold # | predicted positive=predicted # | precision # | recall # | "
        "f1 # | mean cost=cost #"
    )
    return of_rows(caption, choices, columns, note)


@pieces.where(lambda study: study.probabilities and study.both_classes)
def decision_curve(study: BinaryStudy) -> figures.Figure | Html:
    """Net benefit of the systems, of predicting all rows positive and of predicting none."""
    counts = {name: study.table(name) for name in page.systems_of_figure(study)}
    frame = decision_curves.decision_curves(counts)
    benefits_at_costs = decision_curves.at_costs(study)
    values = [f"{row.system} {number(row.value)}" for row in benefits_at_costs.itertuples()]
    low = ""
    if frame["y"].isna().any():
        low = LOW
    caption = texts.sentence(
        "threshold.decision_curve",
        costs=study.costs,
        values=listed(values, page.CURVES + 1),
        low=low,
        rows=len(study.account),
        chance=number(benefits_at_costs["threshold"].iloc[0], 2),
        few=page.omission(study),
    )
    panel = Panel(frame, THRESHOLD, "net benefit per row", reference=((0, 1), (0, 0)))
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1, height=3.3)


@pieces.where(lambda study: study.probabilities and study.both_classes)
def decision_difference(study: BinaryStudy) -> figures.Figure | Html:
    """Differences in net benefit of the pairs of the first screen, with intervals if the rows are
    in memory; empty without such a pair.
    """
    frame = decision_curves.first_differences(study)
    if not len(frame):
        return Html("")
    frame = frame.assign(system=frame["first"] + " − " + frame["second"], y=frame["value"])
    bands = None
    bands_in_words = NO_BANDS
    if frame["low"].notna().any():
        bands = frame
        intervals_text = f"pointwise {study.settings.level:.0%} intervals from the paired rows"
        bands_in_words = f"Bands: {intervals_text}. {_excluding_zero(frame)}"
    caption = f"Differences in net benefit by threshold probability. {bands_in_words}"
    panel = Panel(frame, THRESHOLD, "difference per row", bands=bands, reference=((0, 1), (0, 0)))
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1, height=3.3)


def _excluding_zero(differences: pd.DataFrame) -> str:
    """At how many of the thresholds each pair's interval lies above 0, and below, in a sentence."""
    pairs = []
    for row in decision_curves.thresholds_with_difference(differences).itertuples():
        counts = f"above at {row.above} and below at {row.below} of {row.all}"
        pairs.append(f"{row.first} − {row.second} {counts}")
    return f"Thresholds whose interval excludes 0: {listed(pairs, joint='; ')}."


@both_classes
def moving_threshold_table(study: BinaryStudy) -> Html:
    """Counts, and metrics of counts, of every system at its threshold; on the page a slider moves
    the threshold, and a script writes the same table at any other one.
    """
    slider = slider_counts(study)
    in_use = dict(zip(slider.tables, counts_in_use(study, slider.tables), strict=True))
    counts_by_system = {name: counts for name, counts in in_use.items() if counts is not None}
    limits = intervals(study, slider)
    estimates = {}
    for name, counts in counts_by_system.items():
        estimates[name] = limits.estimates(name, counts, study.costs)
    places = {}  # by metric: the decimals of all systems
    for metric in METRICS:
        places[metric] = _places([of_system[metric] for of_system in estimates.values()])
    cheapest = study.choices[study.choices["rule"] == LEAST_COST].set_index("system")
    rows = []
    for name, counts in counts_by_system.items():
        threshold = float(counts.threshold)
        cells: list[Cell | str] = [
            Cell(name),
            Cell(slider.named(threshold), numbers=(threshold,)),
        ]
        cells += [_count_cell(float(getattr(counts, cell))) for cell in CELLS]
        for metric in METRICS:
            cells.append(_estimate_cell(estimates[name][metric], places[metric]))
        least_cost = number(cheapest.loc[name, "cost"], places["cost"])
        cells.append(f"{slider.named(cheapest.loc[name, 'threshold'])} ({least_cost})")
        rows.append(cells)
    heads: list[Head] = ["system", "threshold"]
    heads += [cell.upper() for cell in CELLS]
    heads += METRICS.values()
    heads.append("least cost at (cost)")
    caption = "What a threshold decides"
    if limits.level:
        caption += f", with {limits.level:.0%} intervals"
    table = tables.table(caption, heads, rows, _slider_note(study, limits, len(slider.tables)))
    thresholds_in_use = {slider.named(float(c.threshold)) for c in counts_by_system.values()}
    controls = _controls(study, slider.last, thresholds_in_use)
    count_places = 2 if study.weighted else 0
    decimals_of_columns = [*(count_places for _ in CELLS), *places.values()]
    data = escape(_data(slider, limits, decimals_of_columns))
    html = f'<div id="{SLIDER}" data-sweep="{data}">{controls}{table.html}</div>'
    return Html(html, table.text, table.tables, replaced_by=(table,))


def _places(estimates: Sequence[IntervalRow]) -> int:
    """The decimals with which estimates of one metric are printed."""
    values = [estimate.value for estimate in estimates]
    lows = [estimate.low for estimate in estimates]
    highs = [estimate.high for estimate in estimates]
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
    common_threshold = ""
    if len(thresholds_in_use) == 1:
        (common_threshold,) = thresholds_in_use
    slider = f'<input type="range" min="0" max="{last}">'
    threshold = f"<label>Threshold {slider}</label><output>{common_threshold}</output>"
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
    """The note below the table of the slider. systems: how many it holds."""
    first = ""
    if systems < len(study.order):
        first = f" The first {systems} of {len(study.order)} systems."
    no_intervals = ""
    if not limits.level:
        no_intervals = texts.sentence("threshold.no_intervals")
    return texts.sentence("threshold.moving_note", study, none=no_intervals, first=first)


def _data(
    slider: SliderCounts, limits: ClosedFormIntervals | OwnIntervals, places: Sequence[int]
) -> str:
    """What the script of the page computes from, as JSON: the counts at each threshold, and what
    their intervals need. Thresholds rise, from left to right.

    places: the decimals of the counts, then of the metrics.
    """
    metric_places = places[len(CELLS) :]
    systems = []
    for name, table in slider.tables.items():
        columns = {"tp": _column(table.tp), "fp": _column(table.fp)}
        columns |= limits.of_system(name, metric_places)
        rising = {key: column[::-1] for key, column in columns.items()}
        systems.append({"P": table.positives, "N": table.negatives} | rising)
    data: dict[str, object] = {
        "named": " ".join(map(slider.named, slider.threshold[::-1])),
        "places": places,
        "systems": systems,
    }
    data |= limits.quantiles()
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _column(column: Floats) -> list[float]:
    """The numbers of a column of counts or weights for JSON: whole ones as such, others with nine
    digits.
    """
    numbers: list[float] = []
    for value in column.tolist():
        if float(value).is_integer():
            numbers.append(int(value))
        else:
            numbers.append(float(f"{value:.9g}"))
    return numbers

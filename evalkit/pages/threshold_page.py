"""The thresholds of two classes: metrics and costs along them, the one that moves, net benefit."""

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from evalkit.arrays import Floats
from evalkit.drawing import curve_plots, figures, tables
from evalkit.drawing.cells import Cell, Head, escape, interval_cell, number_cell
from evalkit.drawing.columns import Column, text, value
from evalkit.drawing.curve_plots import STEPS_FROM_RIGHT, Panel
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.plots import IntervalRow
from evalkit.drawing.tables import of_rows
from evalkit.numbers import SLIDER, count_with_noun, decimals, listed, number
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

if TYPE_CHECKING:
    from evalkit.metrics.counts import Counts

both_classes = pieces.where(lambda study: study.both_classes)  # else the piece stays empty

THRESHOLD = "threshold probability"
LINE_AT_0 = ((0, 1), (0, 0))  # its x and y, from end to end; x is a probability
NOT_DRAWN = f" Values below −{-decision_curves.LOWEST:g} times the base rate are not drawn."
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
    """The leader's precision, recall and F1 against the threshold, a line for each; a dotted
    upright line at the threshold in use.
    """
    sweep = study.sweep  # a row for each system and threshold: the threshold and its metrics
    # at an infinite threshold no row, or every row, is predicted positive; it cannot be drawn
    is_drawn = (sweep["system"] == study.leader) & (sweep["threshold"].abs() < math.inf)
    leader_sweep = sweep[is_drawn]
    lines = []
    for metric in ("precision", "recall", "f1"):
        # a panel draws a line per "system": here the metrics take the place of systems
        lines.append(
            leader_sweep.assign(system=metric, x=leader_sweep["threshold"], y=leader_sweep[metric])
        )
    threshold = study.thresholds[study.leader]
    line_at_threshold = None
    if math.isfinite(threshold):
        line_at_threshold = ((threshold, threshold), (0.0, 1.0))  # its x and y, from end to end
    panel = Panel(
        pd.concat(lines),
        xlabel="threshold",
        ylabel=f"metric of {study.leader}",
        title=f"{study.leader} by threshold",
        reference=line_at_threshold,
        steps=STEPS_FROM_RIGHT,
    )
    rows = count_with_noun(study.table(study.leader).total, "row")
    caption = texts.sentence(
        "threshold.threshold_plot", leader=study.leader, rows=rows, used=number(threshold)
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1)


@both_classes
def cost_plot(study: BinaryStudy) -> figures.Figure | Html:
    """The mean cost of a row against the share of rows predicted positive as the threshold moves, a
    line for each system that the figure has room for, with a mark at the threshold in use. The
    caption names the lowest cost of each system.
    """
    sweep = study.sweep.assign(x=study.sweep["predicted"], y=study.sweep["cost"])
    at_threshold_in_use = binary_diagnostics.used_costs(study)
    panel = Panel(
        page.rows_of_figure(study, sweep),
        xlabel="share of rows predicted positive",
        ylabel="mean cost per row",
        points=page.rows_of_figure(study, at_threshold_in_use),
    )
    lowest_costs = []
    for row in study.choices[study.choices["rule"] == LEAST_COST].itertuples():
        lowest_costs.append(f"{row.system} {number(row.cost)} {_threshold_in_words(row.threshold)}")
    caption = texts.sentence(
        "threshold.cost_plot",
        costs=study.costs,
        lowest=listed(lowest_costs, page.CURVES, "; "),
        few=page.omission_sentence(study),
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1)


def _threshold_in_words(threshold: float) -> str:
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
    """A table with a row for each way to choose the threshold: the threshold, and the metrics at
    it. choices: rows of `study.choices`, with a column `name` for the head of each row.
    """
    columns: dict[str, Column] = {
        "chosen by": text("name"),
        "threshold": value("threshold"),
        "predicted positive": value("predicted"),
        "precision": value("precision"),
        "recall": value("recall"),
        "f1": value("f1"),
        "mean cost": value("cost"),
    }
    return of_rows(caption, choices, columns, note)


@pieces.where(lambda study: study.probabilities and study.both_classes)
def decision_curve(study: BinaryStudy) -> figures.Figure | Html:
    """Decision curves: the net benefit of the systems, and of predicting all rows positive, against
    the threshold probability; a dotted line at 0, the net benefit of predicting none positive.
    """
    tables = {name: study.table(name) for name in page.systems_of_figure(study)}
    curves = decision_curves.decision_curves(tables)  # system, x, y
    benefits_at_costs = decision_curves.at_costs(study)
    benefits = [f"{row.system} {number(row.value)}" for row in benefits_at_costs.itertuples()]
    # the costs imply the same threshold probability for all systems
    threshold_of_costs = benefits_at_costs["threshold"].iloc[0]
    note_on_gaps = ""
    if curves["y"].isna().any():  # lines break where net benefit is too low to be drawn
        note_on_gaps = NOT_DRAWN
    caption = texts.sentence(
        "threshold.decision_curve",
        costs=study.costs,
        values=listed(benefits, page.CURVES + 1),  # one more: predicting all positive
        low=note_on_gaps,
        rows=len(study.account),
        chance=number(threshold_of_costs, 2),
        few=page.omission_sentence(study),
    )
    panel = Panel(curves, THRESHOLD, "net benefit per row", reference=LINE_AT_0)
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1, height=3.3)


@pieces.where(lambda study: study.probabilities and study.both_classes)
def decision_difference(study: BinaryStudy) -> figures.Figure | Html:
    """The difference in net benefit, first − second, against the threshold probability, a line for
    each of the first pairs that the verdict compares. With bands, pointwise intervals, if the rows
    are in memory, which they need. Empty if no pair is compared.
    """
    differences = decision_curves.first_differences(study)
    if differences.empty:
        return Html("")
    # a panel draws a line, and its band, per "system": here the pairs take the place of systems
    pairs = differences["first"] + " − " + differences["second"]
    differences = differences.assign(system=pairs, y=differences["value"])
    bands = None
    bands_in_words = "Without intervals, as the rows are not in memory."
    if differences["low"].notna().any():
        bands = differences
        intervals_text = f"pointwise {study.settings.level:.0%} intervals from the paired rows"
        bands_in_words = f"Bands: {intervals_text}. {_thresholds_that_differ(differences)}"
    caption = f"Differences in net benefit by threshold probability. {bands_in_words}"
    panel = Panel(differences, THRESHOLD, "difference per row", bands=bands, reference=LINE_AT_0)
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1, height=3.3)


def _thresholds_that_differ(differences: pd.DataFrame) -> str:
    """At how many of the thresholds each pair's interval lies above 0, and below, in a sentence."""
    pairs = []
    for row in decision_curves.thresholds_with_difference(differences).itertuples():
        counts = f"above at {row.above} and below at {row.below} of {row.all}"
        pairs.append(f"{row.first} − {row.second} {counts}")
    return f"Thresholds whose interval excludes 0: {listed(pairs, joint='; ')}."


@both_classes
def moving_threshold_table(study: BinaryStudy) -> Html:
    """A table with the counts and the metrics of each system at the threshold that it uses. On the
    page a slider moves the threshold: a script then writes the same table at another one, from data
    in an attribute. Where no script runs, the table stands alone.
    """
    slider = slider_counts(study)
    interval_method = intervals(study, slider)
    counts_by_system = counts_in_use(study, slider.tables)
    estimates_by_system = {}
    for name, counts in counts_by_system.items():
        estimates_by_system[name] = interval_method.estimates(name, counts, study.costs)
    decimals_by_metric = {}  # the same for all systems
    for metric in METRICS:
        estimates = [by_metric[metric] for by_metric in estimates_by_system.values()]
        decimals_by_metric[metric] = _common_decimals(estimates)
    least_costs = study.choices[study.choices["rule"] == LEAST_COST].set_index("system")
    rows = []
    for name, counts in counts_by_system.items():
        threshold = float(counts.threshold)
        cells: list[Cell | str] = [
            Cell(name),
            Cell(slider.named(threshold), numbers=(threshold,)),
        ]
        cells += [_count_cell(float(getattr(counts, cell))) for cell in CELLS]
        for metric, places in decimals_by_metric.items():
            cells.append(_estimate_cell(estimates_by_system[name][metric], places))
        cheapest_threshold = slider.named(least_costs.loc[name, "threshold"])
        least_cost = number(least_costs.loc[name, "cost"], decimals_by_metric["cost"])
        cells.append(f"{cheapest_threshold} ({least_cost})")
        rows.append(cells)
    heads: list[Head] = ["system", "threshold"]
    heads += [cell.upper() for cell in CELLS]
    heads += METRICS.values()
    heads.append("least cost at (cost)")
    caption = "What a threshold decides"
    if interval_method.level:
        caption += f", with {interval_method.level:.0%} intervals"
    note = _slider_note(study, interval_method, len(slider.tables))
    table = tables.table(caption, heads, rows, note)
    controls = _controls(study, slider, list(counts_by_system.values()))
    count_decimals = 2 if study.weighted else 0
    decimals_of_columns = [count_decimals for _ in CELLS]
    decimals_of_columns += decimals_by_metric.values()
    data = escape(_data(slider, interval_method, decimals_of_columns))
    html = f'<div id="{SLIDER}" data-sweep="{data}">{controls}{table.html}</div>'
    return Html(html, table.text, table.tables, replaced_by=(table,))


def _common_decimals(estimates: Sequence[IntervalRow]) -> int:
    """The decimals with which the estimates of one metric are printed, as many as their intervals
    deserve.
    """
    values = [estimate.value for estimate in estimates]
    lows = [estimate.low for estimate in estimates]
    highs = [estimate.high for estimate in estimates]
    return decimals(values, lows, highs)


def _controls(study: BinaryStudy, slider: SliderCounts, in_use: Sequence["Counts"]) -> str:
    """The HTML of what the reader sets: the threshold, the costs of the errors, and a metric that
    has to be reached at the least cost. It is hidden until the page's script, without which nothing
    moves, shows it. in_use: the counts of each system at the threshold in use.
    """
    number_box = '<input type="number" min="0" step="any"'
    costs = (
        f'<label>false positive costs {number_box} value="{study.costs.fp:g}"></label>'
        f'<label>false negative costs {number_box} value="{study.costs.fn:g}"></label>'
    )
    metrics = "".join(f"<option>{METRICS[metric]}</option>" for metric in TARGETS)
    target = (
        f"<label>Least cost with <select>{metrics}</select></label><label>of at least {number_box} "
        f'max="1"></label>'
    )
    thresholds_in_use = {slider.named(float(counts.threshold)) for counts in in_use}
    first_threshold = ""  # in words; none if the systems begin at different thresholds
    if len(thresholds_in_use) == 1:
        (first_threshold,) = thresholds_in_use
    range_box = f'<input type="range" min="0" max="{slider.last}">'  # the index of a threshold
    threshold = f"<label>Threshold {range_box}</label><output>{first_threshold}</output>"
    moves = "<span>also moves the marks on the curves</span>"
    return f'<div class="tools sweep" hidden>{threshold}{moves}{costs}{target}</div>'


def _estimate_cell(estimate: IntervalRow, places: int) -> Cell:
    """The cell of an estimate with its interval."""
    return interval_cell(estimate.value, estimate.low, estimate.high, places=places)


def _count_cell(weight: float) -> Cell:
    """The cell of a number of rows, or of their weight, which may have decimals."""
    places = 0 if weight.is_integer() else 2
    return number_cell(weight, places)


def _slider_note(
    study: BinaryStudy, interval_method: ClosedFormIntervals | OwnIntervals, systems: int
) -> str:
    """The note below the table of the slider. systems: how many it holds."""
    first = ""
    if systems < len(study.order):
        first = f" The first {systems} of {len(study.order)} systems."
    no_intervals = ""
    if not interval_method.level:
        no_intervals = texts.sentence("threshold.no_intervals")
    return texts.sentence("threshold.moving_note", study, none=no_intervals, first=first)


def _data(
    slider: SliderCounts,
    interval_method: ClosedFormIntervals | OwnIntervals,
    places: Sequence[int],
) -> str:
    """The JSON from which the page's script computes the table at any threshold: the thresholds in
    words, and of each system the true and the false positives at each, the numbers of positives and
    negatives, and what the intervals need.

    places: the decimals of the columns of the table: of the counts, then of the metrics.
    """
    metric_places = places[len(CELLS) :]
    systems = []
    for name, table in slider.tables.items():
        columns = {"tp": _json_numbers(table.tp), "fp": _json_numbers(table.fp)}
        columns |= interval_method.of_system(name, metric_places)
        # the slider moves to higher thresholds, and the counts have the highest first
        ascending = {key: column[::-1] for key, column in columns.items()}
        systems.append({"P": table.positives, "N": table.negatives} | ascending)
    thresholds_ascending = slider.threshold[::-1]
    data: dict[str, object] = {
        "named": " ".join(map(slider.named, thresholds_ascending)),
        "places": places,
        "systems": systems,
    }
    data |= interval_method.quantiles()
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _json_numbers(column: Floats) -> list[float]:
    """The numbers of a column of counts or weights for JSON: whole ones as such, others with nine
    digits.
    """
    numbers: list[float] = []
    for count in column.tolist():
        if float(count).is_integer():
            numbers.append(int(count))
        else:
            numbers.append(float(f"{count:.9g}"))
    return numbers

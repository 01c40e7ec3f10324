"""Estimators fitted on other splits: repeated folds, the bootstrap, leaving one out, the learning curve."""

from dataclasses import replace
from typing import Any

from evalkit.drawing import curve_plots, figures, plots, tables
from evalkit.drawing.figures import Figure
from evalkit.drawing.tables import Cell, Html, number_cell, of_rows, with_interval
from evalkit.numbers import counted, number, signed
from evalkit.pages import page
from evalkit.studies import validation
from evalkit.studies.out_of_fold import Validation
from evalkit.studies.resplits import Unfitted


def why_not(part: Unfitted) -> str:
    """A way of splitting and why it was not fitted in full."""
    return f"{part.way}: {part.reason or f'{part.made:,} of {part.wanted:,} fits completed in the time allowed'}"


def other_splits(study: Validation) -> Html:
    """How far the estimates of each way of splitting lie apart."""
    if study.other is None:
        return Html("")
    columns = "split=way | fits n | estimates n | mean # | standard deviation=sd # | lowest # | highest #"
    caption = f"{study.primary.label} of {study.subject}, the same {len(study.examples):,} rows split in other ways"
    summary = of_rows(caption, study.other.summary, columns, _lesson(study))
    return tables.stack([summary, *_bootstrap(study), *_ignoring(study)])


def _lesson(study: Validation) -> str:
    text = page.said("resplits._lesson_text")
    single, ratios = study.other.spread_ratios if study.other else ("", {})
    times = " and ".join(f"{ratio:.1f} times as much as {name}" for name, ratio in ratios.items())
    return f"{f'{single} varies {times}. ' if times else ''}{text} {_one_out(study)}".strip()


def _one_out(study: Validation) -> str:
    """Why leaving one out can be wrong on every row."""
    value = study.reversed_by_one_out
    if value is None:
        return ""
    return (
        f"Leaving one out gives {number(value)}: without a row its own class is the rarer one among the others, so a "
        "model that relies on the class shares always predicts the other class. This is an artefact of the split."
    )


def _bootstrap(study: Validation) -> list[Html]:
    assert study.other is not None
    b = study.other.bootstrap
    if b is None:
        return []
    items = {
        "apparent": "on the rows that the model was fitted to",
        "out_of_bag": "out of bag (trained on 63% of the rows: pessimistic)",
        "error_632": ".632",
        "error_632_plus": ".632+",
        "no_information": "with features that carry no information",
    }
    rows: list[list[Cell | str]] = [[text, number_cell(b.accuracy(name))] for name, text in items.items()]
    return [tables.table("Accuracy by the bootstrap, all rows", ["estimate", "accuracy"], rows)]


def _ignoring(study: Validation) -> list[Html]:
    """The split that fits the columns beside one that ignores them."""
    assert study.other is not None
    if study.other.ignoring is None:
        return []
    what = "time" if "time" in study.known else "group"
    split = "the folds given" if "fold" in study.known else f"split by {what}"
    honest, blind = (
        study.estimate(study.primary, study.subject),
        study.interval(study.primary, study.other.ignoring),
    )
    rows: list[list[Cell | str]] = [
        [split, with_interval(honest.value, honest.low, honest.high)],
        [
            Cell(f"rows at random, {what} ignored", tag="s"),
            replace(with_interval(blind.value, blind.low, blind.high), tag="s"),
        ],
        ["difference", number_cell(validation.optimism(blind, honest), show=signed)],
    ]
    note = f"The difference is the optimism of a split that ignores the {what}."
    return [tables.table(f"{study.primary.label} of {study.subject}", ["split", study.primary.label], rows, note)]


def strip(study: Validation) -> Figure | Html:
    """Every estimate that each way of splitting gave, on one axis."""
    if study.other is None:
        return Html("")
    frame, label = study.other.points, study.primary.label
    if not len(frame):
        return tables.paragraph("No other split was fitted: " + "; ".join(map(why_not, study.other.unfitted)))
    listed = "; ".join(
        f"{row['way']} {number(row['lowest'])} to {number(row['highest'])}"
        for row in study.other.summary.to_dict("records")
    )
    caption = page.said("resplits.strip", label=label, subject=study.subject)
    size = figures.WIDTH, figures.tall(frame["way"].nunique(), head=1.0, each=0.5)
    xlabel = f"{label} (n = {counted(len(study.examples), 'row')})"
    return figures.picture(
        curve_plots.draw_strip, frame, alt=f"{caption} {listed}.", caption=caption, size=size, xlabel=xlabel
    )


def learning_curve(study: Validation) -> Figure | Html:
    """The primary metric by the number of training rows, on the test rows and on the training rows."""
    if study.other is None or study.other.curve["rows"].nunique() < 2:
        return Html("")
    frame, label = study.other.curve, study.primary.label
    ends = "; ".join(
        f"{name} {number(part['value'].iloc[0])} at {part['rows'].iloc[0]:,} rows, "
        f"{number(part['value'].iloc[-1])} at {part['rows'].iloc[-1]:,}"
        for name, part in frame.groupby("system", sort=False)
    )
    caption = f"{label} of {study.subject} by the number of training rows; band: from the lowest to the highest fold."
    labels: dict[str, Any] = {"x": "rows", "y": "value", "log": True}
    labels |= {"xlabel": "training rows (log scale)", "ylabel": f"{label} (n = {len(study.tests)} folds)"}
    return figures.picture(
        plots.curves, frame, alt=f"{caption} {ends}.", caption=caption, size=(figures.WIDTH, 2.6), **labels
    )

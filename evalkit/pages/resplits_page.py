"""What other splits of the same rows, and other selections of columns, would have said: parts of the page."""

from dataclasses import replace
from typing import Any

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, number_cell, of_rows, p_cell, with_interval
from evalkit.numbers import counted, number, of_frame, plural, signed
from evalkit.pages import pieces
from evalkit.pages.validation_findings import why_not
from evalkit.studies.out_of_fold import INSIDE, OUTSIDE, Validation

pieces.listed(__name__)


def selection(study: Validation) -> Html:
    """The columns as selected, beside as many selected anew on all rows and inside each fold; empty without any."""
    if not len(study.selection):
        return Html("")
    kept, of = study.selected
    words = {
        OUTSIDE: "selected by the F statistic on all rows, before the split",
        INSIDE: "selected by the F statistic on the training rows of each fold",
    }
    wrong = study.selection["verdict"].iloc[:2].eq("better").all()
    rows: list[list[Cell | str]] = []
    same = of_frame(study.selection, "value")
    for row in study.selection.to_dict("records"):
        crossed = "s" if wrong and row["columns"] != INSIDE else ""
        value = replace(with_interval(row["value"], row["low"], row["high"], places=same), tag=crossed)
        more: list[Cell | str] = ["", ""]
        if row["columns"] != INSIDE:
            more = [with_interval(row["difference"], row["difference_low"], row["difference_high"], signed)]
            more += [p_cell(row["adjusted"])]
        rows.append([words.get(row["columns"], "as given"), value, *more])
    first = study.selection.iloc[0]
    note = (
        "F: association of a single column with the target. The two selections by F differ only in the rows that they "
        "use: the advantage of the first will not hold on new rows. If all columns are noise, the last has no skill or "
        "slightly less. "
        f"{first['n']:,} {plural(study.unit_name, first['n'])}; p by {first['test']}, adjusted by Holm over 2."
    )
    columns = [f"{kept} of {of:,} columns", study.primary.label, "minus the last", "adjusted p"]
    return tables.table(
        f"{study.primary.label} of {study.subject} by where the columns were selected", columns, rows, note
    )


def other_splits(study: Validation) -> Html:
    """How far the estimates of each way of splitting lie apart."""
    if study.other is None:
        return Html("")
    columns = "split=way | fits n | estimates n | mean # | standard deviation=sd # | lowest # | highest #"
    caption = f"{study.primary.label} of {study.subject}, the same {len(study.examples):,} rows split in other ways"
    summary = of_rows(caption, study.other.summary, columns, _lesson(study))
    return tables.stack([summary, *_bootstrap(study), *_ignoring(study)])


def _lesson(study: Validation) -> str:
    text = (
        "The spread is due to the split alone; the sampling error of the rows comes on top (see the intervals above)."
    )
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
    rows: list[list[Cell | str]] = [[text, number_cell(1 - getattr(b, name))] for name, text in items.items()]
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
        ["difference", number_cell(blind.value - honest.value, show=signed)],
    ]
    note = f"The difference is the optimism of a split that ignores the {what}."
    return [tables.table(f"{study.primary.label} of {study.subject}", ["split", study.primary.label], rows, note)]


# Pictures


def strip(study: Validation) -> Picture | Html:
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
    caption = (
        f"{label} of {study.subject} by each way of splitting. A point: the test rows of one holdout or bootstrap "
        "sample, all rows over the folds of one draw, or the mean of such draws if the name says so. Bar: their mean."
    )
    size = plots.WIDTH, plots.tall(frame["way"].nunique(), head=1.0, each=0.5)
    xlabel = f"{label} (n = {counted(len(study.examples), 'row')})"
    return plots.picture(
        curve_plots.draw_strip, frame, alt=f"{caption} {listed}.", caption=caption, size=size, xlabel=xlabel
    )


def learning_curve(study: Validation) -> Picture | Html:
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
    return plots.picture(
        plots.curves, frame, alt=f"{caption} {ends}.", caption=caption, size=(plots.WIDTH, 2.6), **labels
    )

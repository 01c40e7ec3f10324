"""The pictures of the validation page, each from the study's frames."""

from typing import Any

import pandas as pd

from evalkit.drawing import fold_plots, plots, tables
from evalkit.drawing.plots import COLOURS, GREY, Picture
from evalkit.drawing.tables import Html, number
from evalkit.pages import pieces
from evalkit.pages.validation_findings import why_not
from evalkit.studies.validation_diagnostics import fold_ends, fold_map_axis, stretches
from evalkit.studies.validity import Validation
from evalkit.studies.words import counted

pieces.listed(__name__)

ALONG = {"time": "time", "group": "groups, in the order of the folds that test them", "row": "rows of the table"}
NO_FITS = "Predictions alone cannot be split again: with features and an estimator this page also draws"


# Where the folds lie


def fold_map(s: Validation) -> Picture:
    """Which rows train and test in each fold, along time, groups or the rows of the table."""
    along, frame = ALONG[fold_map_axis(s)], stretches(s)
    mixed = "; both: test and training rows between each other" if "both" in set(frame["kind"]) else ""
    n, folds = len(s.examples), counted(len(s.tests), "fold")
    caption = f"Where each fold trains and tests, along the {along}{mixed}. {folds}, {counted(n, 'row')}."
    labels: dict[str, Any] = {"xlabel": f"{along} (n = {counted(n, 'row')})", "dated": s.examples.dated}
    size = plots.tall(len(s.tests), head=1.3, each=0.2)
    return plots.picture(fold_plots.draw_map, frame, alt=caption, caption=caption, size=size, **labels)


# Fold by fold


def folds(s: Validation) -> Picture:
    """The primary metric of every system on each fold; of the subject also on the training rows."""
    frame, label = s.by_fold, s.primary.label
    sides = " Hollow: on the fold's own training rows." if "on_train" in frame else ""
    low, high = fold_ends(s)
    if s.holdout:
        caption = f"{label} on the test rows.{sides} {s.subject} {number(low)}."
    else:
        ends = f"{s.subject} from {number(low)} to {number(high)}"
        caption = f"{label} on each fold's test rows.{sides} {ends} over {counted(len(s.tests), 'fold')}."
    names: dict[str, Any] = {"label": label, "subject": s.subject}
    names["xlabel"] = f"fold (n = {counted(s.rows.size, 'row')} tested)"
    return plots.picture(fold_plots.draw_folds, frame, alt=caption, caption=caption, size=(7.6, 3.0), **names)


# Other splits


def strip(s: Validation) -> Picture | Html:
    """Every estimate that each way of splitting gave, on one axis."""
    if s.other is None:
        return tables.paragraph(f"{NO_FITS} what other splits of the same rows would have said, and a learning curve.")
    frame, label = s.other.points, s.primary.label
    if not len(frame):
        return tables.paragraph("No other split was fitted: " + "; ".join(map(why_not, s.other.unfitted)))
    told = "; ".join(
        f"{row['way']} {number(row['lowest'])} to {number(row['highest'])}"
        for row in s.other.summary.to_dict("records")
    )
    caption = (
        f"{label} of {s.subject} by each way of splitting. A point: one holdout's or bootstrap sample's test rows, or "
        "all rows over the folds of one draw, or the mean of such draws where the name says so. The bar: their mean."
    )
    size = plots.tall(frame["way"].nunique(), head=1.0, each=0.5)
    xlabel = f"{label} (n = {counted(len(s.examples), 'row')})"
    return plots.picture(
        fold_plots.draw_strip, frame, alt=f"{caption} {told}.", caption=caption, size=size, xlabel=xlabel
    )


def learning_curve(s: Validation) -> Picture | Html:
    """The primary metric by the number of training rows, on the test rows and on the training rows."""
    if s.other is None or s.other.curve["rows"].nunique() < 2:
        return Html("")
    frame, label = s.other.curve, s.primary.label
    ends = "; ".join(
        f"{name} {number(part['value'].iloc[0])} at {part['rows'].iloc[0]:,} rows, "
        f"{number(part['value'].iloc[-1])} at {part['rows'].iloc[-1]:,}"
        for name, part in frame.groupby("system", sort=False)
    )
    caption = f"{label} of {s.subject} by the number of training rows; band: from the lowest to the highest fold."
    labels: dict[str, Any] = {"x": "rows", "y": "value", "log": True}
    labels |= {"xlabel": "training rows (log scale)", "ylabel": f"{label} (n = {len(s.tests)} folds)"}
    return plots.picture(plots.curves, frame, alt=f"{caption} {ends}.", caption=caption, size=(7.6, 2.8), **labels)


def intervals(s: Validation) -> Picture:
    """The honest intervals and the naive ones, which are grey, on one axis."""
    frame = pd.DataFrame({"name": s.intervals["what"]} | {c: s.intervals[c] for c in ("value", "low", "high")})
    frame["colour"] = [COLOURS[0] if honest else GREY for honest in s.intervals["honest"]]
    caption = f"{s.primary.label} of {s.subject} with {s.settings.level:.0%} intervals; grey: of what is no sample."
    label = f"{s.primary.label} (n = {counted(s.rows.size, 'row')})"
    size = plots.tall(len(frame))
    return plots.picture(plots.intervals, frame, alt=caption, caption=caption, size=size, label=label, zero=False)

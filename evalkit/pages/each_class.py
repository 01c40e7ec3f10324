"""What the pages of several classes and of several labels show alike: class by class, or label by label."""

from collections.abc import Mapping

import pandas as pd

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.curve_plots import Panel
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, escape, with_interval
from evalkit.pages import page
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.multilabel import MultiLabelStudy
from evalkit.studies.row_study import DRAWN
from evalkit.studies.words import counted

Either = ClassesStudy | MultiLabelStudy


def title(s: Either, what: str, rows: str) -> Html:
    """The title and what was asked; what: that which the systems predict."""
    metric = f"by {s.primary.label}, on {rows}?"
    if len(s.order) == 1:
        asked = f"How well does {s.leader} predict {what}, {metric}"
    elif s.settings.baseline:
        asked = f"Does any system predict {what} better than {s.settings.baseline}, {metric}"
    else:
        asked = f"Which of {len(s.order)} systems predicts {what} best, {metric}"
    return tables.heading("Classification report", asked)


def curves(s: Either, each: str, many: int, bands: Mapping[str, pd.DataFrame | None]) -> Picture | Html:
    """The leader's ROC and precision-recall curves of each of so many classes; bands: by kind, where there are."""
    if not s.drawn:
        return tables.paragraph("No curves: each of them is true of every row, or of none.")
    few = f", the {DRAWN} most frequent" if len(s.drawn) == DRAWN < many else ""
    limits = f" Bands: pointwise {s.settings.level:.0%} limits." if bands.get("roc") is not None else ""
    caption = f"{s.leader}: {each}{few}, {counted(len(s.data.rows), 'row')}.{limits}"
    n, diagonal = len(s.data.rows), ((0, 1), (0, 1))
    x, y = "false positive rate", f"recall (n = {counted(n, 'row')})"
    roc = Panel(s.curve("roc"), x, y, "ROC", bands.get("roc"), reference=diagonal)
    pr = Panel(s.curve("pr"), "recall", "precision", "Precision and recall", bands.get("pr"))
    return plots.picture(curve_plots.panels, [roc, pr], alt=caption, caption=caption, size=(9.0, 3.9), panels=(1, 2))


def definitions(s: Either, more: list[tuple[str, str]]) -> Html:
    """Exactly the metrics shown and more, then the intervals and the tests."""
    methods = [("intervals", s.intervals_are), ("tests", s.tests_are)]
    return tables.definitions([*page.metric_definitions(s), *more, *methods])


def one_by_one(
    s: Either, frame: pd.DataFrame, caption: str, counted: Mapping[str, str], metrics: Mapping[str, str]
) -> Html:
    """The leader's classes, and folded those of the others. counted, metrics: column of the frame -> its head."""
    own = frame["system"] == s.leader
    first = _table(s, frame[own], f"{caption}: {s.leader}", counted, metrics)
    if own.all():
        return first
    rest = _table(s, frame[~own], f"{caption}: the other systems", counted, metrics)
    return tables.stack([first, tables.folded("The other systems", rest)])


def _table(
    s: Either, frame: pd.DataFrame, caption: str, counted: Mapping[str, str], metrics: Mapping[str, str]
) -> Html:
    """One row a class; the second column of the frame names it."""
    kind = frame.columns[1]
    rows = [
        [
            Cell(escape(row[kind] if row["system"] == s.leader else f"{row['system']}: {row[kind]}")),
            *(Cell(f"{row[name]:,}") for name in counted),
            *(Cell(with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"])) for name in metrics),
        ]
        for row in frame.to_dict("records")
    ]
    heads = [kind, *counted.values(), *metrics.values()]
    return tables.table(f"{caption}, with {s.settings.level:.0%} intervals", heads, rows)

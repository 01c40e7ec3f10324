"""What the pages of several classes and of several labels show alike: class by class, or label by label."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.curve_plots import STEPS, Panel
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Column, Html, count, each, limits, of_rows
from evalkit.numbers import counted
from evalkit.pages import first_screen, page
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.labels import LabelsStudy
from evalkit.studies.row_study import DRAWN

Either = ClassesStudy | LabelsStudy


def title(study: Either, what: str, rows: str) -> Html:
    """The title and what was asked; what: that which the systems predict."""
    return first_screen.title(
        "Classification report",
        study,
        rows,
        alone=f"How well does {study.leader} predict {what}",
        against=f"Does any system predict {what} better than {study.settings.baseline}",
        best=f"Which of {len(study.order)} systems predicts {what} best",
    )


def curves(study: Either, each: str, many: int, bands: Mapping[str, pd.DataFrame | None]) -> Picture | Html:
    """The leader's ROC and precision-recall curves of each of so many classes; bands: by kind, where there are."""
    if not study.drawn:
        return Html("")
    few = f", the {DRAWN} most frequent" if len(study.drawn) == DRAWN < many else ""
    limits = f" Bands: pointwise {study.settings.level:.0%} limits." if bands.get("roc") is not None else ""
    caption = f"{study.leader}: {each}{few}, {counted(study.account.used, 'row')}.{limits}"
    n, diagonal = study.account.used, ((0, 1), (0, 1))
    x, y = "false positive rate", f"recall (n = {counted(n, 'row')})"
    roc = Panel(study.curve("roc"), x, y, "ROC", bands.get("roc"), reference=diagonal)
    pr = Panel(study.curve("pr"), "recall", "precision", "Precision and recall", bands.get("pr"), steps=STEPS)
    return plots.row(curve_plots.panels, [roc, pr], caption=caption, height=3.6, panels=2)


def definitions(study: Either, more: list[tuple[str, str]]) -> Html:
    """Exactly the metrics shown and more, then the intervals and the tests."""
    intervals = ("intervals", study.intervals_are)
    return tables.definitions([*page.metric_definitions(study), *more, intervals, *page.test_definitions(study)])


def one_by_one(
    study: Either, frame: pd.DataFrame, caption: str, counted: Mapping[str, str], metrics: Mapping[str, str]
) -> Html:
    """The leader's classes, and folded those of the others. counted, metrics: column of the frame -> its head."""
    own = frame["system"] == study.leader
    first = _table(study, frame[own], f"{caption}: {study.leader}", counted, metrics)
    if own.all():
        return first
    rest = _table(study, frame[~own], f"{caption}: the other systems", counted, metrics)
    return tables.stack([first, tables.folded("The other systems", rest)])


def _table(
    study: Either, frame: pd.DataFrame, caption: str, counted: Mapping[str, str], metrics: Mapping[str, str]
) -> Html:
    """One row a class; the second column of the frame names it."""
    kind = frame.columns[1]

    @each
    def name(row: Mapping[str, Any]) -> str:
        return str(row[kind] if row["system"] == study.leader else f"{row['system']}: {row[kind]}")

    columns: dict[str, Column] = {kind: name} | {head: count(column) for column, head in counted.items()}
    columns |= {head: limits(column, f"{column}_low", f"{column}_high") for column, head in metrics.items()}
    return of_rows(f"{caption}, with {study.settings.level:.0%} intervals", frame, columns)

"""The words, tables and pictures of the folds on the validation page: intervals, fold by fold, other systems."""

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.plots import COLOURS, GREY, Picture
from evalkit.drawing.tables import Cell, Html, minus, number_cell, p_cell, with_interval
from evalkit.numbers import counted, number, of_frame, p_value, plural, signed
from evalkit.pages import page, pieces
from evalkit.studies.out_of_fold import FEW_POOLED, Validation

pieces.listed(__name__)

BINS = 120  # of the map of the folds
INTERVALS, PAIRED = "table-intervals", "table-other-systems"  # where they stand, for links of the first screen
ALONG = {"time": "time", "group": "groups, in the order of the folds that test them", "row": "rows of the table"}


# Numbers


def intervals(study: Validation) -> Html:
    """The subject's primary metric: honest intervals, and naive ones crossed out."""
    rows: list[list[Cell]] = []
    same = of_frame(study.intervals, "value")
    for row in study.intervals.to_dict("records"):
        value = with_interval(row["value"], row["low"], row["high"], places=same)
        n = f"{row['n']:,} {plural(row['unit'], row['n'])}"
        cells = [Cell(row["what"]), value, Cell(n), Cell(row["method"])]
        rows.append(cells if row["honest"] else [replace(cell, kind="muted", tag="s") for cell in cells])
    note = (
        "Crossed out: assumes independent observations where there are none. Folds share training rows, rows of a "
        "group are correlated, if folds differ significantly, the rows are not one homogeneous sample, and below "
        f"{FEW_POOLED:,} rows scores depend too much on the folds' models. In a simulation with 200 rows, the t "
        "interval over 10 × 10 folds contained the true value in 43% of cases instead of 95%."
    )
    caption = f"{study.primary.label} of {study.subject} with {study.settings.level:.0%} interval"
    return tables.table(
        caption, ["estimate", study.primary.label, "n", "method of the interval"], rows, note, INTERVALS
    )


def by_fold(study: Validation) -> Html:
    """Every metric of the subject on every fold, pooled, and as the mean of the folds."""
    frame = study.by_fold[study.by_fold["system"] == study.subject]
    labels = [chosen.label for chosen in study.settings.metrics]
    gap = study.gap
    head = [
        "fold",
        "training",
        "test",
        "share of class 1" if len(study.examples.classes) == 2 else "mean label",
        *labels,
    ]
    head += [f"{study.primary.label} in training", "better by"] if gap is not None else []
    same = {label: page.places(study, label) for label in labels}
    rows = [_fold(row, same, None if gap is None else gap[i]) for i, row in enumerate(frame.to_dict("records"))]
    pooled = [
        number_cell(study.estimate(chosen, study.subject).value, same[chosen.label])
        for chosen in study.settings.metrics
    ]
    rest: list[Cell | str] = ["", ""] if gap is not None else []
    tested = number_cell(study.rows.size, 0)
    if study.holdout:
        return tables.table(
            f"{study.subject}, the one test set", head, rows, "One holdout: there are no folds to pool."
        )
    strong = [replace(cell, tag="strong") for cell in (Cell("pooled"), *pooled)]
    rows.append([strong[0], "", tested, "", *strong[1:], *rest])
    mean = study.mean_of_folds
    means = [number_cell(mean[label], same[label]) for label in labels]
    if gap is not None:
        places = same[study.primary.label]
        rest = [number_cell(mean["on_train"], places), number_cell(float(np.mean(gap)), places, signed)]
    rows.append(["mean of folds", "", "", "", *means, *rest])
    apart = [label for label, whole, mean in zip(labels, pooled, means, strict=True) if whole.text != mean.text]
    return tables.table(f"{study.subject}, fold by fold", head, rows, f"{_unlike(study)}{_apart(study, apart)}")


def _fold(row: dict[str, Any], places: dict[str, int], gap: float | None) -> list[Cell | str]:
    train = number_cell(row["train"], 0) if row["train"] else "?"
    cells: list[Cell | str] = [str(row["fold"]), train, number_cell(row["test"], 0)]
    cells += [number_cell(row["label"], 3), *(number_cell(row[label], same) for label, same in places.items())]
    primary = next(iter(places.values()))
    return cells + ([] if gap is None else [number_cell(row["on_train"], primary), number_cell(gap, primary, signed)])


def _unlike(study: Validation) -> str:
    u = study.unlike
    if math.isnan(u["p"]):
        return "Too few folds to test whether they differ."
    differ = "differ significantly" if u["p"] < 0.05 else "do not differ significantly"
    test = f"Cochran's Q = {u['q']:.1f}, {u['freedom']} expected, p {p_value(u['p'])}"
    return f"The folds {differ} in {study.primary.label}: {test}."


def _apart(study: Validation, printed: Collection[str]) -> str:
    """The metrics whose pooled value is not the mean of the folds, among those that print two values."""
    pools = [chosen.label for chosen in study.settings.metrics if not chosen.metric.kind.of_rows]
    apart = [label for label in pools if label in printed]
    return f" The pooled value of {', '.join(apart)} is not the mean of the folds." if apart else ""


def paired(study: Validation) -> Html:
    """The subject against every other system on the same folds and rows."""
    if not len(study.paired):
        return tables.paragraph("The metric is undefined on every fold, so there are no paired differences.")
    pooled: list[list[Cell | str]] = []
    folded: list[list[Cell | str]] = []
    decides = folded if study.few_pooled else pooled
    whole, by_fold = of_frame(study.paired, "pooled", "pooled_low", "pooled_high"), of_frame(study.paired, "by_fold")
    for row in study.paired.to_dict("records"):
        name = minus(row["first"], row["second"])
        limits = with_interval(row["pooled"], row["pooled_low"], row["pooled_high"], signed, whole)
        pooled.append([name, limits, p_cell(row["p_pooled"])])
        limits = with_interval(row["by_fold"], row["low"], row["high"], signed, by_fold)
        folded.append([name, limits, replace(p_cell(row["p_naive"]), tag="s"), p_cell(row["p"])])
        decides[-1] += [p_cell(row["adjusted"]), Cell(row["verdict"], kind="text")]
    label, level = study.primary.label, f"{study.settings.level:.0%} interval"
    c = study.compare(study.primary, (study.subject, study.paired["second"].iloc[0]))
    n = f"{c.difference.n:,} {plural(c.unit, c.difference.n)}"
    above = f"Differences in {label}, {level}, {n} {'of the test set' if study.holdout else 'pooled out of fold'}"
    adjusted = f", adjusted by Holm over {len(study.paired)}" if len(study.paired) > 1 else ""
    few = f" Fewer than {FEW_POOLED:,} rows: the test by fold below decides. The pooled one takes the folds' models as "
    note = f"p by {c.method}{few + 'fixed.' if study.few_pooled else adjusted + '.'}"
    below = f"The same by fold, {level}, {len(study.tests)} folds"
    wrong = (
        f"p by Nadeau and Bengio's corrected t{adjusted if study.few_pooled else ', not adjusted'}. Crossed out: "
        "the plain t-test ignores that folds share rows; over 10 × 10 folds it declares two equal learners different "
        "in half of all cases."
    )
    last = ["adjusted p", "verdict"]
    columns, of_folds = ["first − second", "difference", "p"], ["first − second", "mean difference", "naive p", "p"]
    if decides is pooled:
        columns += last
    else:
        of_folds += last
    pooled_table = tables.table(above, columns, pooled, note, PAIRED)
    if study.holdout:
        return pooled_table
    return tables.stack([pooled_table, tables.table(below, of_folds, folded, wrong)])


def estimates(study: Validation) -> Html:
    """Every system, every metric, out-of-fold rows pooled."""
    rows = "Test rows of the holdout" if study.holdout else "Out-of-fold rows pooled"
    caption = f"{rows}, {counted(study.rows.size, 'row')}, with {study.settings.level:.0%} interval"
    return page.estimates(
        study, caption, f"{study.baseline}: uses no features, only the class shares or the median of the training rows."
    )


# Pictures


def fold_map(study: Validation) -> Picture:
    """Which rows train and test in each fold, along time, groups or the rows of the table."""
    along, frame = ALONG[study.axis], study.stretches(BINS)
    both = "; both: of neighbouring rows some are tested and some train, none does both"
    mixed = both if "both" in set(frame["kind"]) else ""
    n, folds = len(study.examples), counted(len(study.tests), "fold")
    caption = f"Where each fold trains and tests, along the {along}{mixed}. {folds}, {counted(n, 'row')}."
    labels: dict[str, Any] = {"xlabel": f"{along} (n = {counted(n, 'row')})", "dated": study.examples.dated}
    size = plots.WIDTH, plots.tall(len(study.tests), head=1.3, each=0.2)
    return plots.picture(curve_plots.draw_map, frame, caption=caption, size=size, **labels)


def folds(study: Validation) -> Picture:
    """The primary metric of every system on each fold; of the subject also on the training rows."""
    frame, label = study.by_fold, study.primary.label
    sides = " Hollow: the value on the fold's own training rows." if "on_train" in frame else ""
    values = study.fold_values(study.subject)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if study.holdout:
        caption = f"{label} on the test rows.{sides} {study.subject} {number(low)}."
    else:
        ends = f"{study.subject} from {number(low)} to {number(high)}"
        caption = f"{label} on each fold's test rows.{sides} {ends} over {counted(len(study.tests), 'fold')}."
    names: dict[str, Any] = {"label": label, "subject": study.subject}
    names["xlabel"] = f"fold (n = {counted(study.rows.size, 'row')} tested)"
    return plots.picture(curve_plots.draw_folds, frame, caption=caption, size=(plots.WIDTH, 2.8), **names)


def interval_plot(study: Validation) -> Picture:
    """The honest intervals and the naive ones, which are grey, on one axis."""
    frame = pd.DataFrame({"name": study.intervals["what"]} | {c: study.intervals[c] for c in ("value", "low", "high")})
    frame["colour"] = [COLOURS[0] if honest else GREY for honest in study.intervals["honest"]]
    caption = (
        f"{study.primary.label} of {study.subject} with {study.settings.level:.0%} intervals; grey: falsely assumes "
        "independent observations."
    )
    label = f"{study.primary.label} (n = {counted(study.rows.size, 'row')})"
    size = plots.WIDTH, plots.tall(len(frame))
    return plots.picture(plots.intervals, frame, caption=caption, size=size, label=label, zero=False)

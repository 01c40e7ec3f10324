"""Gaps between groups, as every page of predictions shows them: the largest gap of each metric, and
the groups of the leader.
"""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from evalkit.arrays import Record
from evalkit.drawing import tables
from evalkit.drawing.cells import Cell, Head, interval_cell, metric_head
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.numbers import count_with_noun, decimals, listed, percent, signed_number
from evalkit.pages import page, pieces, shared_findings, texts
from evalkit.studies.groups import CANNOT_TELL, DIFFERENT, EQUIVALENT, FEW_CASES
from evalkit.studies.study import Study

NAMES = {  # that people say, by those in code
    "base_rate": "Base rate",
    "predicted_rate": "Selection rate",
    "recall": "TPR",
    "false_positive_rate": "FPR",
    "precision": "PPV",
    "calibration_in_the_large": "Calibration",
    "roc_auc": "ROC AUC",
}
MAX_COLUMNS = 8  # metrics of the table of groups; the JSON has all


@pieces.where(lambda study: study.settings.groups.columns)
def group_gaps(study: Study) -> Html:
    """The section on groups, such as age groups, for each of their columns: a sentence on the
    significant gaps, the table of the largest gap of each metric, the leader's metrics by group,
    and, folded, those of the other systems.
    """
    parts = []
    for column in study.settings.groups.columns:
        parts.append(_gaps_in_words(study, column))
        for conflict in shared_findings.differing_base_rates(study, column):
            parts.append(muted_paragraph(conflict.message))
        parts.append(_largest_gaps(study, column))
        parts.append(_metrics_by_group(study, column, study.leader))
        for system in study.order:
            if system != study.leader:
                summary = f"{column}: the groups of {system}"
                parts.append(folded(summary, _metrics_by_group(study, column, system)))
    return stack(parts)


def _head(metric: str) -> Cell:
    """The head of a metric, by the name that people say."""
    return metric_head(NAMES.get(metric, metric), metric)


def _gaps_in_words(study: Study, column: str) -> Html:
    """A paragraph on the leader: the metrics whose largest gap between groups of the column is
    significant, with the gap, and those shown to differ by no more than the margin.
    """
    gaps = study.largest_gaps(column)  # a row per metric and system, with a verdict
    rows = gaps[gaps["system"] == study.leader]
    significant = rows[rows["verdict"] == DIFFERENT].to_dict("records")
    statement = f"{study.leader}: no metric is shown to differ between groups of {column}."
    if significant:
        in_words = "; ".join(map(_gap_in_words, significant))
        statement = f"{study.leader}, groups of {column} that differ: {in_words}."
    equivalent = rows.loc[rows["verdict"] == EQUIVALENT, "metric"].tolist()
    if equivalent:
        margin = f"±{study.settings.groups.margin:g}"
        statement += f" Shown to lie within {margin} of each other: {listed(equivalent)}."
    return muted_paragraph(statement)


def _gap_in_words(row: Record) -> str:
    """A gap with its two groups: "recall by 0.12 [0.03, 0.21] (old above young)". row: of
    `study.largest_gaps`.
    """
    gap = interval_cell(row["gap"], row["low"], row["high"]).full_text
    return f"{row['metric']} by {gap} ({row['highest']} above {row['lowest']})"


def _largest_gaps(study: Study, column: str) -> Html:
    """The table of the largest gap between two groups of the column, a row per metric, a column per
    system. The two groups are those with the highest and the lowest value.
    """
    # as a figure has, the best systems only
    frame = page.rows_of_figure(study, study.largest_gaps(column))
    rows = []
    for metric, gaps in frame.groupby("metric", sort=False):
        places = decimals(gaps["gap"], gaps["low"], gaps["high"])
        cells = [_head(str(metric))]
        for row in gaps.to_dict("records"):
            cells.append(_largest_gap(row, places))
        rows.append(cells)
    caption = (
        f"Largest gap between groups of {column}, {percent(study.settings.level)} intervals that "
        f"allow for having picked both groups"
    )
    margin = f"{study.settings.groups.margin:g}"
    note = texts.sentence("groups.largest_note", margin=margin) + page.omission_sentence(study)
    heads = ["metric", *page.systems_of_figure(study)]
    return tables.table(caption, heads, rows, note)


def _largest_gap(row: Record, places: int) -> Cell:
    """The largest gap of a system in a metric; below it between which groups, and the verdict."""
    cell = interval_cell(row["gap"], row["low"], row["high"], places=places)
    below = [row["verdict"]]
    if row["gap"] > 0:
        below.insert(0, f"{row['highest']} above {row['lowest']}")
    return replace(cell, below=tuple(below))


def _metrics_by_group(study: Study, column: str, system: str) -> Html:
    """The table of a system's metrics in the groups of a column: a row per group, a column per
    metric, and below each value the gap to the reference group.
    """
    gaps = study.gaps(column)  # a row per system, metric and group
    gaps = gaps[gaps["system"] == system]
    metrics = list(dict.fromkeys(gaps["metric"]))[:MAX_COLUMNS]
    groups = gaps[gaps["metric"] == metrics[0]]
    heads: list[Head] = [column, "n"]
    columns = [
        [Cell(str(group)) for group in groups["group"]],
        [Cell(f"{n:,}", numbers=(n,)) for n in groups["n"]],
    ]
    for metric in metrics:
        of_metric = gaps[gaps["metric"] == metric]
        heads.append(_head(metric))
        columns.append(list(_group_cells(of_metric)))
    reference = gaps["reference"].iloc[0]
    caption = f"{system} in the groups of {column}; below each value the gap to {reference}"
    note = texts.sentence("groups.note", level=percent(study.settings.level))
    rows = list(zip(*columns, strict=True))
    return tables.table(caption, heads, rows, note)


def _group_cells(rows: pd.DataFrame) -> Iterator[Cell]:
    """Yield for each group the cell of a metric's value; below it the gap to the reference group,
    the verdict unless it is "cannot tell", and the number of cases if these are few.

    rows: of `study.gaps`, of one metric and system, one per group.
    """
    places = decimals(rows["value"], rows["low"], rows["high"])
    gap_places = decimals(rows["gap"], rows["gap_low"], rows["gap_high"])
    for row in rows.to_dict("records"):
        cell = interval_cell(row["value"], row["low"], row["high"], places=places)
        if row["group"] == row["reference"]:
            yield replace(cell, below=("reference",))
            continue
        gap = interval_cell(row["gap"], row["gap_low"], row["gap_high"], signed_number, gap_places)
        below = [gap.full_text]
        if row["verdict"] != CANNOT_TELL:
            below.append(row["verdict"])
        if row["cases"] < FEW_CASES:
            below.append(count_with_noun(row["cases"], "case"))
        yield replace(cell, below=tuple(below))

"""Gaps between groups, as every page of predictions shows them: the largest gap of each metric, and
the groups of the leader.
"""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from evalkit.arrays import Record
from evalkit.drawing import tables
from evalkit.drawing.cells import Cell, metric_head, with_interval
from evalkit.drawing.paragraphs import paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.numbers import counted, decimals, listed, percent, signed
from evalkit.pages import page, pieces, shared_findings, texts
from evalkit.studies.groups import CANNOT_TELL, DIFFERENT, EQUIVALENT, FEW_CASES
from evalkit.studies.study import Study

NAMES = {
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
    """For each column of groups what was found, the largest gaps, and the leader's groups."""
    parts = []
    for column in study.settings.groups.columns:
        conflicts = [finding.message for finding in shared_findings.base_rates(study, column)]
        parts += [_summary(study, column), *map(paragraph, conflicts)]
        parts += [_largest(study, column)]
        parts += [_groups(study, column, study.leader)]
        for system in study.order:
            if system != study.leader:
                others = _groups(study, column, system)
                parts.append(folded(f"{column}: the groups of {system}", others))
    return stack(parts)


def _head(metric: str) -> Cell:
    """The head of a metric, by the name that people say."""
    return metric_head(NAMES.get(metric, metric), metric)


def _summary(study: Study, column: str) -> Html:
    """In which metrics the leader's groups differ, and in which they are equivalent."""
    frame = study.largest_gaps(column)
    rows = frame[frame["system"] == study.leader]
    different = [
        _gap_in_words(row) for row in rows[rows["verdict"] == DIFFERENT].to_dict("records")
    ]
    sentences = []
    if different:
        sentences.append(f"{study.leader}, groups of {column} that differ: {'; '.join(different)}.")
    else:
        sentences.append(
            f"{study.leader}: no metric is shown to differ between groups of {column}."
        )
    if equivalent := rows.loc[rows["verdict"] == EQUIVALENT, "metric"].tolist():
        margin = f"{study.settings.groups.margin:g}"
        sentences.append(f"Shown to lie within ±{margin} of each other: {listed(equivalent)}.")
    return paragraph(" ".join(sentences))


def _gap_in_words(row: Record) -> str:
    """A gap with its groups, as a sentence names it."""
    places = decimals([row["gap"]], [row["low"]], [row["high"]])
    gap = with_interval(row["gap"], row["low"], row["high"], places=places).full_text
    return f"{row['metric']} by {gap} ({row['highest']} above {row['lowest']})"


def _largest(study: Study, column: str) -> Html:
    """The largest gap of each metric and system."""
    frame = page.rows_of_figure(study, study.largest_gaps(column))
    systems = page.systems_of_figure(study)
    rows = []
    for metric, part in frame.groupby("metric", sort=False):
        places = decimals(part["gap"], part["low"], part["high"])
        rows.append([_head(str(metric)), *_largest_cells(part, places)])
    caption = (
        f"Largest gap between groups of {column}, {percent(study.settings.level)} intervals that "
        f"allow for having picked both groups"
    )
    note = texts.sentence("groups.largest_note", margin=f"{study.settings.groups.margin:g}")
    return tables.table(caption, ["metric", *systems], rows, f"{note}{page.omission(study)}")


def _largest_cells(gaps: pd.DataFrame, places: int) -> Iterator[Cell]:
    """The largest gap of each system: from which group to which, and the verdict."""
    for row in gaps.to_dict("records"):
        cell = with_interval(row["gap"], row["low"], row["high"], places=places)
        pair: tuple[str, ...] = ()
        if row["gap"] > 0:
            pair = (f"{row['highest']} above {row['lowest']}",)
        yield replace(cell, below=(*pair, row["verdict"]))


def _groups(study: Study, column: str, system: str) -> Html:
    """The metrics of a system in each group, and the gap of each to the reference group."""
    frame = study.gaps(column)
    frame = frame[frame["system"] == system]
    metrics = list(dict.fromkeys(frame["metric"]))[:MAX_COLUMNS]
    columns = []
    for metric in metrics:
        columns.append(list(_group_cells(frame[frame["metric"] == metric])))
    first = frame[frame["metric"] == metrics[0]]
    heads = [Cell(str(group)) for group in first["group"]]
    counts = [Cell(f"{n:,}", numbers=(n,)) for n in first["n"]]
    caption = f"{system} in the groups of {column}; below each value the gap to {_reference(frame)}"
    note = texts.sentence("groups.note", level=percent(study.settings.level))
    rows = list(zip(heads, counts, *columns, strict=True))
    return tables.table(caption, [column, "n", *map(_head, metrics)], rows, note)


def _reference(frame: pd.DataFrame) -> str:
    return str(frame["reference"].iloc[0])


def _group_cells(rows: pd.DataFrame) -> Iterator[Cell]:
    """The value in each group, and below it the gap to the reference."""
    places = decimals(rows["value"], rows["low"], rows["high"])
    gap_places = decimals(rows["gap"], rows["gap_low"], rows["gap_high"])
    for row in rows.to_dict("records"):
        cell = with_interval(row["value"], row["low"], row["high"], places=places)
        if row["group"] == row["reference"]:
            yield replace(cell, below=("reference",))
            continue
        gap = with_interval(row["gap"], row["gap_low"], row["gap_high"], signed, gap_places)
        verdict = row["verdict"].replace(CANNOT_TELL, "")
        few = ""
        if row["cases"] < FEW_CASES:
            few = counted(row["cases"], "case")
        yield replace(cell, below=tuple(filter(None, (gap.full_text, verdict, few))))

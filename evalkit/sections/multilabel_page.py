"""The words, tables and pictures of the multi-label page, each from the study's frames."""

from dataclasses import replace
from typing import Any

import numpy as np

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.curve_plots import Panel
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, Results, escape, number, with_interval
from evalkit.sections import page
from evalkit.sections.binary_page import rows_read
from evalkit.statistics import inference
from evalkit.studies.multilabel import DRAWN, SWEPT, MultiLabelStudy
from evalkit.studies.words import plural


def title(s: MultiLabelStudy) -> Html:
    """The title and what was asked."""
    rows = f"{len(s.data.rows):,} rows with {len(s.data.labels)} labels"
    if len(s.order) == 1:
        asked = f"How well does {s.leader} predict the labels, by {s.primary.label}, on {rows}?"
    elif s.settings.baseline:
        asked = (
            f"Does any system predict the labels better than {s.settings.baseline}, by {s.primary.label}, on {rows}?"
        )
    else:
        asked = f"Which of {len(s.order)} systems predicts the labels best, by {s.primary.label}, on {rows}?"
    return tables.heading("Classification report", asked)


def notes(s: MultiLabelStudy) -> Html:
    """What to know of the data before the numbers."""
    found = rows_read(s.data.rows)
    share, per_row = s.data.actual.mean(axis=0), s.data.actual.sum(axis=1)
    listed = ", ".join(f"{name} {one:.1%}" for name, one in zip(s.data.labels[:12], share, strict=False))
    text = f"Labels that are true: {listed}{', …' if len(share) > 12 else ''}; {per_row.mean():.2f} a row, "
    found.append((f"{text}{np.mean(per_row == 0):.1%} of the rows have none.", False))
    never = [name for name, one in zip(s.data.labels, share, strict=True) if one in (0.0, 1.0)]
    if never:
        found.append((f"Labels that are never or always true, whose AUC is undefined: {', '.join(never)}.", True))
    text = f"Threshold: {s.threshold:g} for every label. Predicting none: Hamming loss {number(share.mean())}."
    found.append((text, False))
    return tables.notes(found)


def estimates(s: MultiLabelStudy) -> Html:
    """Every metric, and below what predicting the labels' shares would give."""
    caption = f"Metrics with {s.settings.level:.0%} intervals, n = {len(s.data.rows):,}"
    one = s.labelled[s.leader]
    constant = replace(one, score=np.tile(s.data.actual.mean(axis=0), (len(one.actual), 1)))
    cells = [Cell(number(inference.value(m.values(constant))), "muted") for m in s.settings.metrics]
    note = "(labels' shares): every row scored by how often each label is true."
    return page.estimates(s, caption, note, more=[[Cell("(labels' shares)", "muted"), *cells]])


def curve_plot(s: MultiLabelStudy) -> Picture:
    """The leader's ROC and precision-recall curves of each label."""
    n = len(s.data.rows)
    roc = Panel(s.curve("roc"), "false positive rate", f"recall (n = {n:,} rows)", "ROC", None, None, ((0, 1), (0, 1)))
    pr = Panel(s.curve("pr"), "recall", "precision", "Precision and recall")
    few = f", the {DRAWN} most frequent" if len(s.data.labels) > DRAWN else ""
    caption = f"{s.leader}: each label by its own score{few}, {n:,} rows."
    return plots.picture(curve_plots.panels, [roc, pr], alt=caption, caption=caption, size=(9.0, 3.9), panels=(1, 2))


def crossings(s: MultiLabelStudy) -> Html:
    """AUC and average precision label by label."""
    return _by_label(
        s, "Label by label, whatever the threshold", {"auc": "AUC", "average_precision": "average_precision"}
    )


def sweep_plot(s: MultiLabelStudy) -> Picture:
    """The leader's micro and macro metrics along the threshold."""
    frame = s.sweep
    best = frame[frame["system"] == "micro_f1"].sort_values("y").iloc[-1]
    mark = ((s.threshold, s.threshold), (0.0, 1.0))
    one = Panel(frame, "threshold for every label", f"metric of {s.leader}", bands=frame, reference=mark)
    caption = (
        f"{s.leader}: {', '.join(SWEPT)} along one threshold for all labels (n = {len(s.data.rows):,} rows). Best "
        f"micro F1 {number(best['y'])} at {number(best['x'])}. Dotted: the threshold used."
    )
    return plots.picture(curve_plots.panels, [one], alt=caption, caption=caption, size=(7.6, 3.2), panels=(1, 1))


def calibrated(s: MultiLabelStudy) -> Html:
    """Mean score against share true, label by label."""
    score = s.data.score[s.leader]
    rows = []
    for j, name in enumerate(s.data.labels):
        e = s.mean(score[:, j] - s.data.actual[:, j], s.data.weight)
        means = [Cell(number(float(one))) for one in (score[:, j].mean(), s.data.actual[:, j].mean())]
        rows.append([Cell(escape(name)), *means, Cell(with_interval(e.value, e.low, e.high, tables.signed))])
    caption = f"Scores of {s.leader} taken as probabilities"
    return tables.table(caption, ["label", "mean score", "share true", "mean score − share true"], rows)


def gains(s: MultiLabelStudy) -> Html:
    """How often the label with the highest score is true."""
    rows = [
        [Cell(escape(row["system"])), Cell(with_interval(row["value"], row["low"], row["high"]))]
        for row in s.tops.to_dict("records")
    ]
    return tables.table("Rows whose highest-scored label is true", ["system", "share"], rows)


def confusion(s: MultiLabelStudy) -> Html:
    """Precision, recall and F1 of every label, and its four counts."""
    return _by_label(s, "Label by label at the threshold", {"precision": "precision", "recall": "recall", "f1": "F1"})


def _by_label(s: MultiLabelStudy, caption: str, metrics: dict[str, str]) -> Html:
    own = s.by_label["system"] == s.leader
    first = _label_table(s, s.by_label[own].to_dict("records"), f"{caption}: {s.leader}", metrics)
    if own.all():
        return first
    rest = _label_table(s, s.by_label[~own].to_dict("records"), f"{caption}: the other systems", metrics)
    return tables.stack([first, tables.folded("The other systems", rest)])


def _label_table(s: MultiLabelStudy, found: list[dict], caption: str, metrics: dict[str, str]) -> Html:
    decided = "f1" in metrics
    rows = [
        [
            Cell(escape(row["label"] if row["system"] == s.leader else f"{row['system']}: {row['label']}")),
            Cell(f"{row['n']:,}"),
            *(Cell(f"{row[k]:,}") for k in ("tp", "fp", "fn", "tn") if decided),
            *(Cell(with_interval(row[m], row[f"{m}_low"], row[f"{m}_high"])) for m in metrics),
        ]
        for row in found
    ]
    heads = ["label", "true", *(["TP", "FP", "FN", "TN"] if decided else []), *metrics.values()]
    return tables.table(f"{caption}, with {s.settings.level:.0%} intervals", heads, rows)


def definitions(s: MultiLabelStudy) -> Html:
    """Exactly the metrics shown, then the intervals and the tests."""
    unit = plural(s.unit_name, 2)
    how = (
        "shares of rows: Wilson; means of a row's value: t; ratios of sums and averages over labels: the delta method, "
        f"from how much each row moves the metric; over {unit}"
    )
    test = (
        "on the same rows, two-sided: McNemar mid-p for exact_match, sign flips for means of a row's value, the delta "
        "method for the rest; Holm over the pairs of one metric"
    )
    decided = f"a label is predicted where its score ≥ {s.threshold:g}"
    return tables.definitions(
        [*page.metric_definitions(s), ("predicted", decided), ("intervals", how), ("tests", test)]
    )


def origin(s: MultiLabelStudy) -> Html:
    """Inputs, parameters, versions, the command."""
    return page.origin(s, s.data.rows.sources, "classification")


def results(s: MultiLabelStudy) -> Results:
    """Every number of the page, unrounded."""
    rows = s.data.rows
    more: dict[str, Any] = {
        "kind": "multi-label",
        "columns": dict(rows.columns),
        "population": {"rows": len(rows), "read": rows.read, "alone": rows.alone},
        "labels": list(s.data.labels),
        "threshold": s.threshold,
        "by_label": s.by_label.to_dict("records"),
        "sweep": s.sweep.to_dict("records"),
        "tops": s.tops.to_dict("records"),
    }
    return page.results(s, "classification", rows.sources, more)

"""The words, tables and pictures of the multi-label page, each from the study's frames."""

from dataclasses import replace
from typing import Any

import numpy as np

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.curve_plots import Panel
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, Results, escape, number, with_interval
from evalkit.pages import each_class, page, stored
from evalkit.pages.binary_page import rows_read
from evalkit.reading.tables.precision import Precision
from evalkit.statistics import inference
from evalkit.studies.multilabel import SWEPT, MultiLabelStudy
from evalkit.studies.words import counted


def title(s: MultiLabelStudy) -> Html:
    """The title and what was asked."""
    rows = f"{counted(len(s.data.rows), 'row')} with {counted(len(s.data.labels), 'label')}"
    return each_class.title(s, "the labels", rows)


def notes(s: MultiLabelStudy) -> Html:
    """What to know of the data before the numbers."""
    found = rows_read(s.data.rows)
    share, per_row, w = s.shares, s.data.actual.sum(axis=1), s.data.weight
    listed = ", ".join(f"{name} {one:.1%}" for name, one in zip(s.data.labels[:12], share, strict=False))
    mean, none = np.average(per_row, weights=w), np.average(per_row == 0, weights=w)
    text = f"Labels that are true: {listed}{', …' if len(share) > 12 else ''}; {mean:.2f} a row, "
    found.append((f"{text}{none:.1%} of the rows have none.", False))
    found += each_class.weighted(s)
    never = [name for name, one in zip(s.data.labels, share, strict=True) if one in (0.0, 1.0)]
    if never:
        found.append((f"Labels that are never or always true, whose AUC is undefined: {', '.join(never)}.", True))
    text = f"Threshold: {s.threshold:.12g} for every label. Predicting none: Hamming loss {number(share.mean())}."
    ends = {name: (float(score.min()), float(score.max())) for name, score in s.data.score.items()}
    found += [(text, False), *stored.rounded(s.threshold, _precision(s))]
    found += stored.beyond(dict.fromkeys(ends, s.threshold), ends)
    if not s.probabilities:
        found.append(("Scores outside 0 to 1 are no probabilities: calibration is left out.", True))
    return tables.notes(found)


def _precision(s: MultiLabelStudy) -> dict[str, Precision]:
    """The precision of each system's scores; of each of its labels where these differ."""
    named: dict[str, Precision] = {}
    for name, some in s.precision.items():
        labels = [f"{name}: {label}" for label in s.data.labels] if len(set(some)) > 1 else [name]
        named |= dict(zip(labels, some, strict=False))
    return named


def estimates(s: MultiLabelStudy) -> Html:
    """Every metric, and below what predicting the labels' shares would give."""
    caption = f"Metrics with {s.settings.level:.0%} intervals, {page.sample(s, len(s.data.rows))}"
    if not s.probabilities:
        return page.estimates(s, caption)
    one = s.labelled[s.leader]
    constant = replace(one, score=np.tile(s.shares, (len(one.actual), 1)))
    cells = [Cell(number(inference.value(m.values(constant))), "muted") for m in s.settings.metrics]
    note = "(labels' shares): every row scored by how often each label is true."
    return page.estimates(s, caption, note, more=[[Cell("(labels' shares)", "muted"), *cells]])


def curve_plot(s: MultiLabelStudy) -> Picture | Html:
    """The leader's ROC and precision-recall curves of each label."""
    return each_class.curves(s, "each label by its own score", len(s.data.labels), {})


def crossings(s: MultiLabelStudy) -> Html:
    """AUC and average precision label by label."""
    areas = {"auc": "AUC", "average_precision": "average_precision"}
    return each_class.one_by_one(s, s.by_label, "Label by label, whatever the threshold", {"n": "true"}, areas)


def sweep_plot(s: MultiLabelStudy) -> Picture:
    """The leader's micro and macro metrics along the threshold."""
    frame = s.sweep
    at, best = s.best
    mark = ((s.threshold, s.threshold), (0.0, 1.0))
    one = Panel(frame, "threshold for every label", f"metric of {s.leader}", bands=frame, reference=mark)
    rows = counted(len(s.data.rows), "row")
    caption = (
        f"{s.leader}: {', '.join(SWEPT)} along one threshold for all labels (n = {rows}). Best "
        f"micro F1 over all thresholds: {number(best)} at {number(at)}. Dotted: the threshold used."
    )
    return plots.picture(curve_plots.panels, [one], alt=caption, caption=caption, size=(7.6, 3.2), panels=(1, 1))


def calibrated(s: MultiLabelStudy) -> Html:
    """Mean score against share true, label by label."""
    if not s.probabilities:
        return tables.paragraph("No probabilities, no calibration.")
    score = s.data.score[s.leader]
    mean = np.average(score, axis=0, weights=s.data.weight)
    rows = []
    for j, name in enumerate(s.data.labels):
        e = s.mean(score[:, j] - s.data.actual[:, j], s.data.weight)
        means = [Cell(number(float(one))) for one in (mean[j], s.shares[j])]
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
    counted = {"n": "true", "tp": "TP", "fp": "FP", "fn": "FN", "tn": "TN"}
    decided = {"precision": "precision", "recall": "recall", "f1": "F1"}
    return each_class.one_by_one(s, s.by_label, "Label by label at the threshold", counted, decided)


def definitions(s: MultiLabelStudy) -> Html:
    """Exactly the metrics shown, then the intervals and the tests."""
    decided = f"a label is predicted where its score ≥ {s.threshold:.12g}, {stored.compared(_precision(s))}"
    return each_class.definitions(s, "exact_match", [("predicted", decided)])


def origin(s: MultiLabelStudy) -> Html:
    """Inputs, parameters, versions, the command."""
    return page.origin(s, s.data.rows.sources, "classification")


def results(s: MultiLabelStudy) -> Results:
    """Every number of the page, unrounded."""
    rows = s.data.rows
    more: dict[str, Any] = {
        "kind": "multi-label",
        **page.population(rows),
        "labels": list(s.data.labels),
        "threshold": s.threshold,
        "precision": {name: stored_in.name for name, stored_in in _precision(s).items()},
        "by_label": s.by_label.to_dict("records"),
        "sweep": s.sweep.to_dict("records"),
        "tops": s.tops.to_dict("records"),
    }
    return page.results(s, "classification", rows.sources, more)

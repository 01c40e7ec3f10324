"""The words, tables and pictures of the multi-label page, each from the study's frames."""

from typing import Any

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.curve_plots import Panel
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, Results, escape, number, with_interval
from evalkit.pages import class_findings, each_class, page, shared_findings
from evalkit.studies import class_diagnostics
from evalkit.studies.multilabel import SWEPT, MultiLabelStudy
from evalkit.studies.words import counted


def title(s: MultiLabelStudy) -> Html:
    """The title and what was asked."""
    rows = f"{counted(len(s.data.rows), 'row')} with {counted(len(s.data.labels), 'label')}"
    return each_class.title(s, "the labels", rows)


def findings(s: MultiLabelStudy) -> Html:
    """What to know of the data before the numbers."""
    return tables.findings(class_findings.of_labels(s))


def estimates(s: MultiLabelStudy) -> Html:
    """Every metric, and below what predicting the labels' shares would give."""
    caption = f"Metrics with {s.settings.level:.0%} intervals, {page.sample(s, len(s.data.rows))}"
    if not s.probabilities:
        return page.estimates(s, caption)
    cells = [Cell(number(class_diagnostics.label_shares(s, m)), "muted") for m in s.settings.metrics]
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
    rows = [
        [
            Cell(escape(mean.label)),
            Cell(number(mean.score)),
            Cell(number(mean.share)),
            Cell(with_interval(mean.difference.value, mean.difference.low, mean.difference.high, tables.signed)),
        ]
        for mean in class_diagnostics.mean_scores(s)
    ]
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
    compared = shared_findings.compared(class_diagnostics.stored(s))
    decided = f"a label is predicted where its score ≥ {s.threshold:.12g}, {compared}"
    return each_class.definitions(s, [("predicted", decided)])


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
        "precision": {name: stored_in.name for name, stored_in in class_diagnostics.stored(s).items()},
        "by_label": s.by_label.to_dict("records"),
        "sweep": s.sweep.to_dict("records"),
        "tops": s.tops.to_dict("records"),
    }
    return page.results(s, "classification", rows.sources, class_findings.of_labels(s), more)

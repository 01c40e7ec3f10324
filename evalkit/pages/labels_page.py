"""The words, tables and figures of the classification page on several labels a row."""

from typing import Any

from evalkit.drawing import curve_plots, figures, tables
from evalkit.drawing.curve_plots import Panel
from evalkit.drawing.figures import Figure
from evalkit.drawing.tables import Html, Results, limits, of_rows, text, value
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.numbers import counted, listed, number, percent, signed
from evalkit.pages import classes_page, page, shared_findings
from evalkit.pages.shared_findings import (
    beaten,
    binned,
    contrary,
    few_clusters,
    few_rows,
    idle,
    picked,
    rounded,
    rows_read,
    skewed,
    slices,
    weights,
)
from evalkit.studies import classification_diagnostics, row_study
from evalkit.studies import classification_diagnostics as diagnostics
from evalkit.studies.labels import SWEPT, LabelsStudy

page.offered(__name__)


score_plot, ks_plot = classes_page.score_plot, classes_page.ks_plot
class_calibration_plot = classes_page.class_calibration_plot
decision_curve = classes_page.decision_curve

UNKNOWN = "The comparison with the labels' shares as scores is left out: it needs fewer labels, or all rows in memory."


def title(study: LabelsStudy) -> Html:
    """The title and what was asked."""
    rows = f"{counted(len(study.account), 'row')} with {counted(len(study.labels), 'label')}"
    return classes_page.asked(study, "the labels", rows)


def findings(study: LabelsStudy) -> Html:
    """What to know of the data before the numbers."""
    return tables.findings(every_finding(study))


def estimates(study: LabelsStudy) -> Html:
    """Every metric, and below what predicting the labels' shares would give."""
    caption = f"Metrics with {study.settings.level:.0%} intervals, {page.sample(study, len(study.account))}"
    if not study.probabilities:
        return page.estimates(study, caption)
    if not study.together:
        return page.estimates(study, caption, UNKNOWN)
    row = page.reference(study, "(labels' shares)", study.constant, study.settings.metrics)
    note = "(labels' shares): every row has each label's share of true rows as its score."
    return page.estimates(study, caption, note, more=[row])


def curve_plot(study: LabelsStudy) -> Figure | Html:
    """The leader's ROC and precision-recall curves of each label."""
    return classes_page.curves_of_each(study, "each label by its own score", len(study.labels), {})


def curves(study: LabelsStudy) -> Html:
    """AUC and average precision label by label."""
    areas = {"auc": "AUC", "average_precision": "average_precision"}
    return classes_page.class_by_class(
        study, study.by_label, "Label by label, whatever the threshold", {"n": "true"}, areas
    )


def threshold_plot(study: LabelsStudy) -> Figure:
    """The leader's micro and macro metrics along the threshold."""
    frame = study.sweep
    at, best = study.best
    mark = ((study.threshold, study.threshold), (0.0, 1.0))
    name = f"metric of {study.leader}"
    panel = Panel(frame, "threshold for every label", name, bands=frame, reference=mark, steps=curve_plots.STEPS)
    rows = counted(len(study.account), "row")
    caption = f"{study.leader}: {', '.join(SWEPT)} along one threshold for all labels (n = {rows}). Best micro F1 over "
    caption += f"all thresholds: {number(best)} at {number(at)}. Bands: {percent(study.settings.level)} intervals. "
    caption += "Dotted: the threshold used."
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1)


def calibration(study: LabelsStudy) -> Html:
    """Mean score against share true, label by label."""
    if not study.probabilities:
        return Html("")
    columns = {
        "label": text("label"),
        "mean score": value("score"),
        "share true": value("share"),
        "mean score − share true": limits("difference", show=signed),
    }
    caption = f"Calibration of {study.leader} by label"
    return of_rows(caption, study.mean_scores, columns)


def top(study: LabelsStudy) -> Html:
    """How often the label with the highest score is true."""
    columns = {"system": text("system"), "share": limits("value")}
    return of_rows("Rows whose highest-scored label is true", study.tops, columns)


def confusion(study: LabelsStudy) -> Html:
    """Precision, recall and F1 of every label, and its four counts."""
    counted = {"n": "true", "tp": "TP", "fp": "FP", "fn": "FN", "tn": "TN"}
    decided = {"precision": "precision", "recall": "recall", "f1": "F1"}
    return classes_page.class_by_class(study, study.by_label, "Label by label at the threshold", counted, decided)


def definitions(study: LabelsStudy) -> Html:
    """Exactly the metrics shown, then the intervals and the tests."""
    compared = shared_findings.compared(classification_diagnostics.stored(study))
    decided = f"a label is predicted if its score is at least {study.threshold:.12g}, {compared}"
    return classes_page.defined(study, [("predicted", decided)])


origin = page.origin


def results(study: LabelsStudy) -> Results:
    """Every number of the page, unrounded."""
    rows = study.account
    more: dict[str, Any] = {
        "kind": "multi-label",
        **page.population(rows),
        "labels": list(study.labels),
        "threshold": study.threshold,
        "precision": {name: stored_in.name for name, stored_in in classification_diagnostics.stored(study).items()},
        "by_label": study.by_label.to_dict("records"),
        **page.recorded(study),
        **classes_page.recorded(study),
        "sweep": study.sweep.to_dict("records"),
        "tops": study.tops.to_dict("records"),
    }
    return page.results(study, every_finding(study), more)


def every_finding(study: LabelsStudy) -> list[Finding]:
    """Every finding of a multi-label report."""
    data = [*rows_read(study.account), *_labels(study), *weights(study.weighted), *_constant(study)]
    few = [*few_rows(diagnostics.rows_by_label(study), "Labels that are true", listed), *few_clusters(study)]
    return [
        *data,
        *_threshold(study),
        *_scores(study),
        *beaten(study),
        *binned(study, "label"),
        *_added_up(study),
        *few,
        *picked(study),
        *contrary(study),
        *skewed(study),
        *slices(study),
    ]


def _labels(study: LabelsStudy) -> list[Finding]:
    labels = diagnostics.labels(study)
    shares = listed(f"{name} {share:.1%}" for name, share in labels.shares.items())
    text = f"Labels that are true: {shares}; {labels.per_row:.2f} per row, {labels.none:.1%} of the rows have none."
    return [kinds.CLASS_SHARES.note(text, len(labels.shares))]


def _constant(study: LabelsStudy) -> list[Finding]:
    constant = [name for name, share in diagnostics.labels(study).shares.items() if share in (0.0, 1.0)]
    text = f"Labels that are never or always true, whose AUC is undefined: {listed(constant)}."
    return [kinds.CONSTANT_LABELS.warning(text, len(constant))] if constant else []


def _threshold(study: LabelsStudy) -> list[Finding]:
    loss, limits = diagnostics.labels(study).hamming_of_none, study.ends
    text = f"Threshold: {study.threshold:.12g} for every label. Predicting no label has Hamming loss {number(loss)}."
    beyond = idle(dict.fromkeys(limits, study.threshold), limits)
    return [kinds.THRESHOLD.note(text), *rounded(study.threshold, diagnostics.stored(study)), *beyond]


def _scores(study: LabelsStudy) -> list[Finding]:
    text = "Scores outside 0 to 1 are not probabilities: calibration is left out."
    return [] if study.probabilities else [kinds.NO_PROBABILITIES.warning(text)]


def _added_up(study: LabelsStudy) -> list[Finding]:
    varied = "" if study.plain else " Tests of averages over labels take Kish's degrees of freedom."
    text = f"Above {study.settings.limits.reading.rows:,} rows, single rows are not kept: ratios of sums over all "
    text += f"labels, such as micro F1, have the delta method in place of the jackknife.{varied}"
    return [] if row_study.at_hand(study) else [kinds.ROWS_ADDED_UP.note(text)]

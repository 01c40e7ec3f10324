"""The words, tables and figures of the classification page on several labels a row."""

from collections.abc import Iterator
from typing import Any

from evalkit.drawing import curve_plots, figures
from evalkit.drawing.curve_plots import Panel
from evalkit.drawing.pieces import Html
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.numbers import counted, filled, listed, number, percent
from evalkit.pages import (
    as_json,
    classes_page,
    explorer,
    first_screen,
    pieces,
    shared_findings,
    texts,
)
from evalkit.pages.shared_findings import (
    binned,
    constant_better,
    few_rows,
    idle,
    of_sample,
    rounded,
    rows_read,
    weights,
)
from evalkit.report import Results
from evalkit.studies import labels
from evalkit.studies.labels import SWEPT, LabelsStudy

probabilities = pieces.where(lambda study: study.probabilities)


score_plot, ks_plot = classes_page.score_plot, classes_page.ks_plot
class_calibration_plot = classes_page.class_calibration_plot
decision_curve = classes_page.decision_curve


def title(study: LabelsStudy) -> Html:
    """The title and what was asked."""
    rows = f"{counted(len(study.account), 'row')} with {counted(len(study.names), 'label')}"
    return first_screen.title("several", study, rows, "the labels")


def curve_plot(study: LabelsStudy) -> figures.Figure | Html:
    """The leader's ROC and precision-recall curves of each label."""
    return classes_page.curves_of_each(study, study.leader, study.by_label)


def other_curves(study: LabelsStudy) -> Html:
    """The same curves of the next systems, folded."""
    return classes_page.curves_of_others(study, study.by_label)


def curves(study: LabelsStudy) -> Html:
    """AUC and average precision label by label."""
    caption = "Label by label, whatever the threshold"
    return classes_page.class_by_class(
        study, study.by_label, caption, {"n": "true"}, classes_page.AREAS
    )


def threshold_plot(study: LabelsStudy) -> figures.Figure:
    """The leader's micro and macro metrics along the threshold."""
    frame = study.sweep
    at, best = study.best
    mark = ((study.threshold, study.threshold), (0.0, 1.0))
    name = f"metric of {study.leader}"
    panel = Panel(
        frame,
        "threshold for every label",
        name,
        bands=frame,
        reference=mark,
        steps=curve_plots.STEPS,
    )
    rows = counted(len(study.account), "row")
    caption = texts.sentence(
        "labels.threshold_plot",
        at=number(at),
        level=percent(study.settings.level),
        leader=study.leader,
        swept=", ".join(SWEPT),
        rows=rows,
        best=number(best),
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1)


@probabilities
def calibration(study: LabelsStudy) -> Html:
    """Mean score against share true, label by label."""
    columns = (
        "label | mean score=score # | share true=share # | mean score − share true=difference ±[]"
    )
    caption = f"Calibration of {study.leader} by label"
    return of_rows(caption, study.mean_scores, columns)


def top(study: LabelsStudy) -> Html:
    """How often the label with the highest score is true."""
    return of_rows("Rows whose highest-scored label is true", study.tops, "system | share=value []")


def confusion(study: LabelsStudy) -> Html:
    """Precision, recall and F1 of every label, and its four counts."""
    counted = {"n": "true", "tp": "TP", "fp": "FP", "fn": "FN", "tn": "TN"}
    caption = "Label by label at the threshold"
    return classes_page.class_by_class(
        study, study.by_label, caption, counted, classes_page.DECIDED
    )


def definitions(study: LabelsStudy) -> Html:
    """Exactly the metrics shown, then the intervals and the tests."""
    compared = shared_findings.compared(labels.stored(study))
    decided = filled(
        "a label is predicted if its score is at least {threshold:.12g}, {compared}",
        {"threshold": study.threshold, "compared": compared},
    )
    return classes_page.defined(study, [("predicted", decided)])


def results(study: LabelsStudy) -> Results:
    """Every number of the page, unrounded."""
    fields: dict[str, Any] = {
        "kind": "multi-label",
        **as_json.population(study.account),
        "labels": list(study.names),
        "threshold": study.threshold,
        "precision": {name: stored_in.name for name, stored_in in labels.stored(study).items()},
        **as_json.records(by_label=study.by_label, sweep=study.sweep, tops=study.tops),
        **explorer.recorded(study),
        **classes_page.recorded(study),
    }
    return as_json.results(study, every_finding(study), fields)


def every_finding(study: LabelsStudy) -> list[kinds.Finding]:
    """Every finding of a multi-label report."""
    few_findings = [
        *few_rows(study.rows_by_name, "Labels that are true", listed),
        *shared_findings.few_clusters(study),
    ]
    scores = [*_scores(study), *constant_better(study), *binned(study, "label"), *_added_up(study)]
    return [*rows_read(study.account), *_labels(study), *scores, *few_findings, *of_sample(study)]


def _labels(study: LabelsStudy) -> Iterator[kinds.Finding]:
    shares = dict(zip(study.names, study.shares.tolist(), strict=True))
    mean, none = study.measured.per_row
    of_each = listed(f"{name} {share:.1%}" for name, share in shares.items())
    yield kinds.CLASS_SHARES.note(len(shares), "labels", per_row=mean, none=none, shares=of_each)
    yield from weights(study)
    if constant := [name for name, share in shares.items() if share in (0.0, 1.0)]:
        yield kinds.CONSTANT_LABELS.warning(len(constant), labels=listed(constant))


def _scores(study: LabelsStudy) -> Iterator[kinds.Finding]:
    loss = study.loss_of_none
    limits = {n: study.measured.score_range(n) for n in study.systems}
    yield kinds.THRESHOLD.note(None, "labels", threshold=study.threshold, loss=number(loss))
    yield from rounded(study.threshold, labels.stored(study))
    yield from idle(dict.fromkeys(limits, study.threshold), limits)
    if not study.probabilities:
        yield kinds.NO_PROBABILITIES.warning(None, "several", out="calibration is")
    labels_of = range(len(study.names))
    yield from shared_findings.decisions_as_scores(
        {name: [study.measured.table(name, c) for c in labels_of] for name in study.order}
    )


def _added_up(study: LabelsStudy) -> Iterator[kinds.Finding]:
    if not study.measured.in_memory:
        varied = (
            "" if study.plain else " Tests of averages over labels take Kish's degrees of freedom."
        )
        yield kinds.ROWS_ADDED_UP.note(most=study.settings.limits.reading.rows, varied=varied)

"""The words, tables and figures of the classification page on several labels a row."""

from collections.abc import Iterator

from evalkit.drawing import curve_plots, figures
from evalkit.drawing.curve_plots import Panel
from evalkit.drawing.pieces import Html
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.numbers import count_with_noun, fill_sentence, listed, number, percent
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
    better_constant_prediction,
    binned_scores,
    few_rows,
    idle_thresholds,
    of_sample,
    rounded_thresholds,
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
    """The title and what was asked: which system predicts the labels best."""
    rows = count_with_noun(len(study.account), "row")
    labels = count_with_noun(len(study.names), "label")
    return first_screen.title("several", study, f"{rows} with {labels}", "the labels")


def curve_plot(study: LabelsStudy) -> figures.Figure | Html:
    """The leader's ROC and precision-recall curves of each label."""
    return classes_page.curves_of_each(study, study.leader, study.by_label)


def other_curves(study: LabelsStudy) -> Html:
    """The same curves of the next systems, folded."""
    return classes_page.curves_of_others(study, study.by_label)


def curves(study: LabelsStudy) -> Html:
    """AUC and average precision label by label: the leader's, and folded those of the other
    systems.
    """
    caption = "Label by label, whatever the threshold"
    counts = {"n": "true"}  # the number of rows in which the label is true
    return classes_page.class_by_class(study, study.by_label, caption, counts, classes_page.AREAS)


def threshold_plot(study: LabelsStudy) -> figures.Figure:
    """The figure of the leader's micro and macro metrics against the threshold, the same for every
    label, with confidence bands and a vertical line at the threshold of the report.
    """
    vertical_line = ((study.threshold, study.threshold), (0.0, 1.0))  # its ends in x and in y
    # of each metric the value and the limits at each threshold: both the curves and their bands
    metrics_by_threshold = study.sweep
    panel = Panel(
        metrics_by_threshold,
        "threshold for every label",
        f"metric of {study.leader}",
        bands=metrics_by_threshold,
        reference=vertical_line,
        steps=curve_plots.STEPS,
    )
    caption = texts.sentence(
        "labels.threshold_plot",
        at=number(study.best.threshold),
        level=percent(study.settings.level),
        leader=study.leader,
        swept=", ".join(SWEPT),
        rows=count_with_noun(len(study.account), "row"),
        best=number(study.best.micro_f1),
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1)


@probabilities
def calibration(study: LabelsStudy) -> Html:
    """The leader's mean score of each label beside the share of rows in which the label is true."""
    columns = (
        "label | mean score=score # | share true=share # | mean score − share true=difference ±[]"
    )
    caption = f"Calibration of {study.leader} by label"
    return of_rows(caption, study.mean_scores, columns)


def top(study: LabelsStudy) -> Html:
    """In which share of rows the label with the highest score is true, a row per system."""
    return of_rows("Rows whose highest-scored label is true", study.tops, "system | share=value []")


def confusion(study: LabelsStudy) -> Html:
    """Precision, recall and F1 of every label at the threshold, and its four counts: the leader's,
    and folded those of the other systems.
    """
    counts = {"n": "true", "tp": "TP", "fp": "FP", "fn": "FN", "tn": "TN"}
    caption = "Label by label at the threshold"
    return classes_page.class_by_class(
        study, study.by_label, caption, counts, classes_page.DECISION_METRICS
    )


def definitions(study: LabelsStudy) -> Html:
    """The list of definitions: each metric of the page, when a label counts as predicted, the
    intervals, and the tests.
    """
    # such as "compared in float32, as the scores are stored": there the threshold is rounded too
    precision = shared_findings.precision_of_comparison(labels.stored(study))
    predicted = fill_sentence(
        "a label is predicted if its score is at least {threshold:.12g}, {precision}",
        {"threshold": study.threshold, "precision": precision},
    )
    return classes_page.defined(study, further_items=[("predicted", predicted)])


def results(study: LabelsStudy) -> Results:
    """The results of the page for the JSON: those of every report, and the fields that only a
    multi-label report has. Numbers are unrounded.
    """
    fields: dict[str, object] = {
        "kind": "multi-label",
        **as_json.population_fields(study.account),
        "labels": list(study.names),
        "threshold": study.threshold,
        "precision": {name: stored_in.name for name, stored_in in labels.stored(study).items()},
        **as_json.frames_as_records(by_label=study.by_label, sweep=study.sweep, tops=study.tops),
        **explorer.listed_rows(study),
        **classes_page.recorded(study),
    }
    return as_json.results(study, every_finding(study), fields)


def every_finding(study: LabelsStudy) -> Iterator[kinds.Finding]:
    """Every finding of a multi-label report: on the input, on the labels and their scores, and on
    the sample.
    """
    yield from rows_read(study.account)
    yield from _label_shares(study)
    yield from _scores(study)
    yield from better_constant_prediction(study)
    yield from binned_scores(study, "label")
    yield from _rows_added_up(study)
    yield from few_rows(study.rows_by_name, "Labels that are true", listed)
    yield from shared_findings.few_clusters(study)
    yield from of_sample(study)


def _label_shares(study: LabelsStudy) -> Iterator[kinds.Finding]:
    """Findings on how frequent labels are: a note on the share of rows in which each is true, one
    if rows have weights, and a warning on labels that are true in all rows or in none, for which
    some metrics are undefined.
    """
    shares = dict(zip(study.names, study.shares.tolist(), strict=True))
    per_row = study.measured.per_row  # the number of true labels in a row
    yield kinds.CLASS_SHARES.note(
        len(shares),
        "labels",
        per_row=per_row.mean,
        none=per_row.share_of_none,
        shares=listed(f"{name} {share:.1%}" for name, share in shares.items()),
    )
    yield from weights(study)
    constant = [name for name, share in shares.items() if share in (0.0, 1.0)]
    if constant:
        yield kinds.CONSTANT_LABELS.warning(len(constant), labels=listed(constant))


def _scores(study: LabelsStudy) -> Iterator[kinds.Finding]:
    """Findings on scores and their threshold: which threshold decides; that the precision of the
    scores rounds it; that it makes the same decision for all rows; that scores are not
    probabilities; that scores are decisions, 0 or 1.
    """
    loss = number(study.loss_of_none)  # the Hamming loss if no label is ever predicted
    yield kinds.THRESHOLD.note(None, "labels", threshold=study.threshold, loss=loss)
    yield from rounded_thresholds(study.threshold, labels.stored(study))
    # of each system the lowest and the highest score
    score_ranges = {name: study.measured.score_range(name) for name in study.systems}
    thresholds = dict.fromkeys(study.systems, study.threshold)
    yield from idle_thresholds(thresholds, score_ranges)
    if not study.probabilities:
        yield kinds.NO_PROBABILITIES.warning(None, "several", out="calibration is")
    yield from classes_page.binary_scores(study)


def _rows_added_up(study: LabelsStudy) -> Iterator[kinds.Finding]:
    """A note that there were too many rows to hold in memory, so that metrics and tests are
    computed from sums over rows. Nothing if the rows are in memory.
    """
    if study.measured.in_memory:
        return
    varied = ""
    has_plain_rows = study.plain  # each is a unit of its own, and none has a weight
    if not has_plain_rows:
        varied = " Tests of averages over labels take Kish's degrees of freedom."
    yield kinds.ROWS_ADDED_UP.note(most=study.settings.limits.reading.rows, varied=varied)

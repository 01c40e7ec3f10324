"""The pieces of the classification page, each as the kind of table has it: two classes, several, or
labels.
"""

from collections.abc import Callable, Sequence
from typing import Any

from evalkit.catalogue.metric import MetricAtK
from evalkit.drawing import curve_plots, figures
from evalkit.drawing.pieces import Html
from evalkit.pages import (
    binary_page,
    classes_page,
    first_screen,
    groups_page,
    labels_page,
    page,
    pieces,
    threshold_page,
)
from evalkit.pages.explorer import explorer
from evalkit.pages.slices_page import weak_slice_plot, weak_slices
from evalkit.studies import binary, classes, labels, row_study
from evalkit.studies.study import Study

pieces.offered(__name__)

ALONE = {"width": 4.9, "height": 3.9}  # inches of one panel of curves
KINDS: dict[type, tuple[Any, ...]] = {
    binary.BinaryStudy: (binary_page, threshold_page, groups_page, page),
    classes.ClassesStudy: (classes_page, groups_page, page),
    labels.LabelsStudy: (labels_page, groups_page, page),
}


def _piece(name: str) -> Callable[[Study], Any]:
    """The piece of this name on the page of the study's kind, or of every page; nothing where it
    has none.
    """
    of = {
        kind: next((getattr(m, name) for m in modules if hasattr(m, name)), None)
        for kind, modules in KINDS.items()
    }
    made = next(piece for piece in of.values() if piece is not None)

    def piece(study: Study) -> Any:
        return (of[type(study)] or pieces.nothing)(study)

    piece.__name__, piece.__doc__ = name, made.__doc__
    piece.__annotations__["return"] = made.__annotations__["return"]
    return piece


title, findings, every_finding = map(_piece, ("title", "findings", "every_finding"))
score_plot, ks_plot, curve_plot, curves = map(
    _piece, ("score_plot", "ks_plot", "curve_plot", "curves")
)
other_curves = _piece("other_curves")
base_rate_plot, base_rate = map(_piece, ("base_rate_plot", "base_rate"))
threshold_plot, cost_plot, thresholds = map(_piece, ("threshold_plot", "cost_plot", "thresholds"))
moving_threshold_table = _piece("moving_threshold_table")
calibration_plot, calibration = map(_piece, ("calibration_plot", "calibration"))
group_gaps = _piece("group_gaps")
class_calibration_plot = _piece("class_calibration_plot")
decision_curve, decision_difference = map(_piece, ("decision_curve", "decision_difference"))
top_plot, top, confusion_plot, confusion = map(
    _piece, ("top_plot", "top", "confusion_plot", "confusion")
)
definitions, origin, results = map(_piece, ("definitions", "origin", "results"))


CONSTANT = "(a constant): every row has the same score, and is predicted as the larger class."
LARGEST = "(always the largest class): its probabilities are the shares of the classes."
SHARES = "(labels' shares): every row has each label's share of true rows as its score."
UNKNOWN = (
    "The comparison with the labels' shares as scores is left out: it needs fewer labels, or all "
    "rows in memory."
)


def estimates(study: row_study.RowStudy) -> Html:
    """The metrics above what needs no model; of two classes those of decisions come last."""
    metrics: Sequence[MetricAtK] = study.settings.metrics
    caption = (
        f"Metrics with {study.settings.level:.0%} intervals, "
        f"{page.sample(study, len(study.account))}"
    )
    constant, note = _constant(study)
    if isinstance(study, binary.BinaryStudy):
        metrics = sorted(metrics, key=lambda chosen: chosen.uses_decisions)
        by = "by" if study.decision_column else "at"
        if metrics[-1].uses_decisions:
            caption += f"; those of decisions {by} {study.decided_by}"
    below = [page.reference(study, constant, study.constant, metrics)] if constant else []
    return page.estimates(study, caption, note, metrics=metrics, references=below)


def _constant(study: Any) -> tuple[str, str]:
    """The prediction without a model that stands below the metrics, "" for none, and a note."""
    if isinstance(study, binary.BinaryStudy):
        note = CONSTANT if any(c.uses_decisions for c in study.settings.metrics) else ""
        return CONSTANT.split(":")[0], note
    note = SHARES if isinstance(study, labels.LabelsStudy) else LARGEST
    if isinstance(study, labels.LabelsStudy) and not (
        study.probabilities and study.measured.label_sets_known
    ):
        return "", UNKNOWN if study.probabilities else ""
    return note.split(":")[0], note if study.probabilities else ""


def roc(study: Study) -> figures.Figure | Html:
    """The ROC curves alone, with bands and operating points."""
    return _panel(curve_plot(study), 0)


def precision_recall(study: Study) -> figures.Figure | Html:
    """The precision-recall curves alone, with bands and operating points."""
    return _panel(curve_plot(study), 1)


def _panel(curves: figures.Figure | Html, number: int) -> figures.Figure | Html:
    """One of the panels of a figure; what says that there is no figure stays."""
    if isinstance(curves, Html):
        return curves
    panel = curves.data[0][number]
    says = "; ".join(f"{name}{area}" for name, area in panel.keys.items())
    return figures.picture(
        curve_plots.panels, [panel], caption=panel.caption, says=says, panels=(1, 1), **ALONE
    )


SUMMARY = (first_screen.verdict, estimates, page.comparisons)
PIECES = (
    *(
        title,
        first_screen.verdict,
        findings,
        estimates,
        page.differences,
        page.comparisons,
        score_plot,
        ks_plot,
    ),
    *(
        curve_plot,
        other_curves,
        moving_threshold_table,
        curves,
        base_rate_plot,
        base_rate,
        threshold_plot,
        cost_plot,
        thresholds,
    ),
    *(
        calibration_plot,
        calibration,
        class_calibration_plot,
        decision_curve,
        decision_difference,
        top_plot,
        top,
    ),
    *(confusion_plot, confusion, explorer, page.segment_plot, page.segments, group_gaps),
    *(weak_slice_plot, weak_slices),
    *(definitions, origin),
    *(roc, precision_recall),
)

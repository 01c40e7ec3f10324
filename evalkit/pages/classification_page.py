"""The pieces of the classification page, each as the kind of table has it: two classes, several, or labels."""

from collections.abc import Callable
from typing import Any

from evalkit.drawing import curve_plots, figures
from evalkit.drawing.figures import Figure
from evalkit.drawing.tables import Html
from evalkit.pages import binary_page, classes_page, first_screen, labels_page, page, threshold_page
from evalkit.pages.explorer import explorer
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.labels import LabelsStudy
from evalkit.studies.study import Study

page.offered(__name__)

ALONE = (4.9, 3.9)  # inches of one panel of curves
KINDS: dict[type, tuple[Any, ...]] = {
    BinaryStudy: (binary_page, threshold_page, page),
    ClassesStudy: (classes_page, page),
    LabelsStudy: (labels_page, page),
}


def _piece(name: str) -> Callable[[Study], Any]:
    """The piece of this name on the page of the study's kind, or of every page; nothing where it has none."""
    of = {kind: next((getattr(m, name) for m in modules if hasattr(m, name)), None) for kind, modules in KINDS.items()}
    made = next(piece for piece in of.values() if piece is not None)

    def piece(study: Study) -> Any:
        return (of[type(study)] or page.nothing)(study)

    piece.__name__, piece.__doc__ = name, made.__doc__
    piece.__annotations__["return"] = made.__annotations__["return"]
    return piece


title, findings, estimates = map(_piece, ("title", "findings", "estimates"))
score_plot, ks_plot, curve_plot, curves = map(_piece, ("score_plot", "ks_plot", "curve_plot", "curves"))
base_rate_plot, base_rate = map(_piece, ("base_rate_plot", "base_rate"))
threshold_plot, cost_plot, thresholds = map(_piece, ("threshold_plot", "cost_plot", "thresholds"))
moving_threshold_table = _piece("moving_threshold_table")
calibration_plot, calibration = map(_piece, ("calibration_plot", "calibration"))
class_calibration_plot = _piece("class_calibration_plot")
decision_curve, decision_difference = map(_piece, ("decision_curve", "decision_difference"))
top_plot, top, confusion_plot, confusion = map(_piece, ("top_plot", "top", "confusion_plot", "confusion"))
definitions, origin, results = map(_piece, ("definitions", "origin", "results"))


def roc(study: Study) -> Figure | Html:
    """The ROC curves alone, with bands and operating points."""
    return _panel(curve_plot(study), 0)


def precision_recall(study: Study) -> Figure | Html:
    """The precision-recall curves alone, with bands and operating points."""
    return _panel(curve_plot(study), 1)


def _panel(curves: Figure | Html, number: int) -> Figure | Html:
    """One of the panels of a figure; what says that there is no figure stays."""
    if isinstance(curves, Html):
        return curves
    panel, texts = curves.data[0][number], {"caption": curves.caption, "alt": curves.alt}
    return figures.picture(curve_plots.panels, [panel], **texts, size=ALONE, panels=(1, 1))


SUMMARY = (first_screen.verdict, estimates, page.comparisons)
PIECES = (
    *(title, first_screen.verdict, findings, estimates, page.differences, page.comparisons, score_plot, ks_plot),
    *(curve_plot, curves, base_rate_plot, base_rate, threshold_plot, cost_plot, thresholds, moving_threshold_table),
    *(calibration_plot, calibration, class_calibration_plot, decision_curve, decision_difference, top_plot, top),
    *(
        confusion_plot,
        confusion,
        explorer,
        page.segment_plot,
        page.segments,
        definitions,
        origin,
        roc,
        precision_recall,
    ),
)

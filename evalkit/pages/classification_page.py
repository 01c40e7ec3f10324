"""The pieces of the classification page, each as the kind of table has it: binary, multi-class, multi-label.

A kind shows nothing in the places that `ABSENT` lists for it; any other name that its modules lack is an error.
"""

import inspect
from collections.abc import Callable
from typing import Any

from evalkit.drawing import curve_plots, plots
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html
from evalkit.pages import (
    binary_page,
    binary_plots,
    class_pictures,
    classes_page,
    explorers,
    moving_threshold,
    multilabel_page,
    net_benefits,
    pieces,
    probabilities,
    score_spreads,
)
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.labels import LabelsStudy
from evalkit.studies.study import Study

pieces.listed(__name__)

ALONE = (4.9, 3.9)  # inches of one panel of curves
KINDS: dict[type, tuple[Any, ...]] = {
    BinaryStudy: (binary_page, binary_plots, probabilities, net_benefits, score_spreads, moving_threshold, explorers),
    ClassesStudy: (classes_page, class_pictures, explorers),
    LabelsStudy: (multilabel_page, class_pictures, explorers),
}
OF_TWO = ("base_rate_plot", "base_rate", "cost_plot", "gain_plot", "moved", "decision_difference_plot")
ABSENT: dict[type, tuple[str, ...]] = {
    BinaryStudy: ("class_calibration_plot",),
    ClassesStudy: (*OF_TWO, "sweep_plot"),
    LabelsStudy: (*OF_TWO, "choices", "calibration_plot", "confusion_plot"),
}


def _piece(name: str, doc: str) -> Callable[[Study], Any]:
    """The piece of this name from the modules of the study's kind; nothing where the kind has no such piece."""

    def piece(study: Study) -> Any:
        kind = type(study)
        if name in ABSENT[kind]:
            return Html("")
        module = next((module for module in KINDS[kind] if hasattr(module, name)), KINDS[kind][0])
        return getattr(module, name)(study)

    piece.__doc__ = doc
    modules = (module for kind in KINDS.values() for module in kind)
    made = next(getattr(module, name) for module in modules if hasattr(module, name))
    piece.__annotations__["return"] = inspect.signature(made).return_annotation
    return piece


title = _piece("title", "The title and what was asked.")
findings = _piece("findings", "What to know of the data first.")
estimates = _piece("estimates", "Every metric of every system with its interval.")
score_plot = _piece("score_plot", "The scores of each class.")
ks_plot = _piece("ks_plot", "The distribution functions of the scores of each class, with their largest distance.")
curve_plot = _piece("curve_plot", "The curves of scores under a moving threshold.")
curves = _piece("crossings", "What the curves say: containment and crossings, or the areas class by class.")
base_rate_plot = _piece("base_rate_plot", "Curves at another base rate.")
base_rate = _piece("base_rate", "Metrics at another base rate.")
threshold_plot = _piece("sweep_plot", "Metrics along the threshold, or along the target.")
cost_plot = _piece("cost_plot", "Cost along the share predicted positive.")
thresholds = _piece("choices", "What ways to choose a threshold would give.")
moving_threshold_table = _piece("moved", "What any other threshold would decide.")
calibration_plot = _piece("calibration_plot", "Probabilities against what happened.")
class_calibration_plot = _piece("class_calibration_plot", "Probabilities against what happened, class by class.")
calibration = _piece("calibrated", "The calibration of the probabilities.")
decision_curve = _piece("decision_curve_plot", "Net benefit along the threshold probability.")
decision_difference = _piece("decision_difference_plot", "Differences in net benefit.")
top_plot = _piece("gain_plot", "What stands among the highest scores.")
top = _piece("gains", "Lift, or how often the class is among the highest scores.")
confusion_plot = _piece("confusion_plot", "The confusion table as a picture.")
confusion = _piece("confusion", "Which decisions were right and wrong.")
explorer = _piece("row_by_row", "The rows that are missed by most, with what every system says of them.")
definitions = _piece("definitions", "Exactly the metrics shown, the intervals, the tests.")
origin = _piece("origin", "Inputs, parameters, versions, the command.")
results = _piece("results", "Every number of the page, unrounded.")


def roc(study: Study) -> Picture | Html:
    """The ROC curves alone, with bands and operating points."""
    return _panel(curve_plot(study), 0)


def precision_recall(study: Study) -> Picture | Html:
    """The precision-recall curves alone, with bands and operating points."""
    return _panel(curve_plot(study), 1)


def _panel(curves: Picture | Html, number: int) -> Picture | Html:
    """One of the panels of a figure; what says that there is no figure stays."""
    if isinstance(curves, Html):
        return curves
    panel = curves.drawing.data[0][number]
    caption, alt = curves.caption, curves.alt
    return plots.picture(curve_plots.panels, [panel], caption=caption, alt=alt, size=ALONE, panels=(1, 1))

"""The pieces of the classification page, each as the kind of table has it: binary, multi-class, multi-label.

A kind shows nothing in the places that `ABSENT` lists for it; any other name that its modules lack is an error.
"""

from typing import Any

from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html, Results
from evalkit.pages import binary_page, binary_plots, classes_page, multilabel_page, pieces
from evalkit.studies.binary_rows import RowsStudy
from evalkit.studies.binary_sums import SumsStudy
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.multilabel import MultiLabelStudy
from evalkit.studies.study import Study

pieces.listed(__name__)

Piece = Html | Picture
KINDS: dict[type, tuple[Any, ...]] = {
    RowsStudy: (binary_page, binary_plots),
    SumsStudy: (binary_page, binary_plots),
    ClassesStudy: (classes_page,),
    MultiLabelStudy: (multilabel_page,),
}
OF_TWO = ("base_rate_plot", "base_rate", "cost_plot", "gain_plot")
ABSENT: dict[type, tuple[str, ...]] = {
    RowsStudy: ("confusion_plot",),
    SumsStudy: ("confusion_plot",),
    ClassesStudy: (*OF_TWO, "sweep_plot"),
    MultiLabelStudy: (*OF_TWO, "choices", "calibration_plot", "confusion_plot"),
}


def _piece(study: Study, name: str) -> Any:
    """The piece of this name from the modules of the study's kind; nothing where the kind has no such piece."""
    if name in ABSENT[type(study)]:
        return Html("")
    module = next((module for module in KINDS[type(study)] if hasattr(module, name)), KINDS[type(study)][0])
    return getattr(module, name)(study)


def title(study: Study) -> Html:
    """The title and what was asked."""
    return _piece(study, "title")


def findings(study: Study) -> Html:
    """What to know of the data first."""
    return _piece(study, "findings")


def estimates(study: Study) -> Html:
    """Every metric of every system with its interval."""
    return _piece(study, "estimates")


def curve_plot(study: Study) -> Piece:
    """The curves of scores under a moving threshold."""
    return _piece(study, "curve_plot")


def curves(study: Study) -> Html:
    """What the curves say in words: containment and crossings, or the areas class by class."""
    return _piece(study, "crossings")


def base_rate_plot(study: Study) -> Piece:
    """Curves at another base rate."""
    return _piece(study, "base_rate_plot")


def base_rate(study: Study) -> Html:
    """Metrics at another base rate."""
    return _piece(study, "base_rate")


def threshold_plot(study: Study) -> Piece:
    """Metrics along the threshold, or along the target."""
    return _piece(study, "sweep_plot")


def cost_plot(study: Study) -> Piece:
    """Cost along the share predicted positive."""
    return _piece(study, "cost_plot")


def thresholds(study: Study) -> Html:
    """What ways to choose a threshold would give."""
    return _piece(study, "choices")


def calibration_plot(study: Study) -> Piece:
    """Probabilities against what happened."""
    return _piece(study, "calibration_plot")


def calibration(study: Study) -> Html:
    """The loss of the probabilities taken apart."""
    return _piece(study, "calibrated")


def top_plot(study: Study) -> Piece:
    """What stands among the highest scores."""
    return _piece(study, "gain_plot")


def top(study: Study) -> Html:
    """Lift, or how often the class is among the highest scores."""
    return _piece(study, "gains")


def confusion_plot(study: Study) -> Piece:
    """The confusion table as a picture."""
    return _piece(study, "confusion_plot")


def confusion(study: Study) -> Html:
    """Which decisions were right and wrong."""
    return _piece(study, "confusion")


def definitions(study: Study) -> Html:
    """Exactly the metrics shown, the intervals, the tests."""
    return _piece(study, "definitions")


def origin(study: Study) -> Html:
    """Inputs, parameters, versions, the command."""
    return _piece(study, "origin")


def results(study: Study) -> Results:
    """Every number of the page, unrounded."""
    return _piece(study, "results")

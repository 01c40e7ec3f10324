"""The pieces of the classification page, each as the kind of table has it: binary, multi-class, multi-label.

A kind shows nothing in the places that `ABSENT` lists for it; any other name that its modules lack is an error.
"""

from typing import Any

from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html, Results
from evalkit.pages import binary_page, binary_plots, classes_page, multilabel_page, pieces
from evalkit.studies.binary_studies import RowsStudy, SumsStudy
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


def _piece(s: Study, name: str) -> Any:
    """The piece of this name from the modules of the study's kind; nothing where the kind has no such piece."""
    if name in ABSENT[type(s)]:
        return Html("")
    module = next((module for module in KINDS[type(s)] if hasattr(module, name)), KINDS[type(s)][0])
    return getattr(module, name)(s)


def title(s: Study) -> Html:
    """The title and what was asked."""
    return _piece(s, "title")


def findings(s: Study) -> Html:
    """What to know of the data first."""
    return _piece(s, "findings")


def estimates(s: Study) -> Html:
    """Every metric of every system with its interval."""
    return _piece(s, "estimates")


def curve_plot(s: Study) -> Piece:
    """The curves of scores under a moving threshold."""
    return _piece(s, "curve_plot")


def curves(s: Study) -> Html:
    """What the curves say in words: containment and crossings, or the areas class by class."""
    return _piece(s, "crossings")


def base_rate_plot(s: Study) -> Piece:
    """Curves at another base rate."""
    return _piece(s, "base_rate_plot")


def base_rate(s: Study) -> Html:
    """Metrics at another base rate."""
    return _piece(s, "base_rate")


def threshold_plot(s: Study) -> Piece:
    """Metrics along the threshold, or along the target."""
    return _piece(s, "sweep_plot")


def cost_plot(s: Study) -> Piece:
    """Cost along the share predicted positive."""
    return _piece(s, "cost_plot")


def thresholds(s: Study) -> Html:
    """What ways to choose a threshold would give."""
    return _piece(s, "choices")


def calibration_plot(s: Study) -> Piece:
    """Probabilities against what happened."""
    return _piece(s, "calibration_plot")


def calibration(s: Study) -> Html:
    """The loss of the probabilities taken apart."""
    return _piece(s, "calibrated")


def top_plot(s: Study) -> Piece:
    """What stands among the highest scores."""
    return _piece(s, "gain_plot")


def top(s: Study) -> Html:
    """Lift, or how often the class is among the highest scores."""
    return _piece(s, "gains")


def confusion_plot(s: Study) -> Piece:
    """The confusion table as a picture."""
    return _piece(s, "confusion_plot")


def confusion(s: Study) -> Html:
    """Which decisions were right and wrong."""
    return _piece(s, "confusion")


def definitions(s: Study) -> Html:
    """Exactly the metrics shown, the intervals, the tests."""
    return _piece(s, "definitions")


def origin(s: Study) -> Html:
    """Inputs, parameters, versions, the command."""
    return _piece(s, "origin")


def results(s: Study) -> Results:
    """Every number of the page, unrounded."""
    return _piece(s, "results")

"""The pieces of the classification page, each as the kind of table has it: two classes, several, or
labels.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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
from evalkit.studies import binary, classes, labels
from evalkit.studies.study import Study

pieces.offer_pieces(__name__)

ALONE = {"width": 4.9, "height": 3.9}  # inches of one panel of curves
PAGES = {  # by the kind of table: the modules that make its pieces, the first that has one wins
    binary.BinaryStudy: (binary_page, threshold_page, groups_page, page),
    classes.ClassesStudy: (classes_page, groups_page, page),
    labels.LabelsStudy: (labels_page, groups_page, page),
}
Piece = Callable[[Any], Any]  # from a study, whose kind the piece knows, to a part of the page


def _piece(name: str) -> Piece:
    """A function that makes the part of the page called `name` for a study of any kind of table, by
    the function of this name in the first module of the kind that has one. The part is empty for a
    kind of which no module has it.
    """
    make_by_class: dict[type, Piece] = {}  # by the class of the study, which is its kind of table
    for study_class, modules in PAGES.items():
        for module in modules:
            if hasattr(module, name):
                make_by_class.setdefault(study_class, getattr(module, name))  # the first module's

    def piece(study: Study) -> object:
        make = make_by_class.get(type(study), pieces.empty_piece)  # which makes an empty part
        return make(study)

    # for the documentation, and for whether the part is a figure: as one of the kinds has it
    example = next(iter(make_by_class.values()))
    piece.__name__ = name
    piece.__doc__ = example.__doc__
    piece.__annotations__["return"] = example.__annotations__["return"]
    return piece


title = _piece("title")
findings = _piece("findings")
every_finding = _piece("every_finding")
score_plot = _piece("score_plot")
ks_plot = _piece("ks_plot")
curve_plot = _piece("curve_plot")
curves = _piece("curves")
other_curves = _piece("other_curves")
base_rate_plot = _piece("base_rate_plot")
base_rate = _piece("base_rate")
threshold_plot = _piece("threshold_plot")
cost_plot = _piece("cost_plot")
thresholds = _piece("thresholds")
moving_threshold_table = _piece("moving_threshold_table")
calibration_plot = _piece("calibration_plot")
calibration = _piece("calibration")
group_gaps = _piece("group_gaps")
class_calibration_plot = _piece("class_calibration_plot")
decision_curve = _piece("decision_curve")
decision_difference = _piece("decision_difference")
top_plot = _piece("top_plot")
top = _piece("top")
confusion_plot = _piece("confusion_plot")
confusion = _piece("confusion")
definitions = _piece("definitions")
origin = _piece("origin")
results = _piece("results")


class ConstantRow(NamedTuple):
    """The row of a prediction without a model below the metrics, and what the table says of it.

    name: the head of the row, "" if there is none. note: "" for nothing.
    """

    name: str
    note: str

    def without_note(self) -> "ConstantRow":
        """The row alone."""
        return self._replace(note="")


CONSTANT = ConstantRow(
    "(a constant)",
    "(a constant): every row has the same score, and is predicted as the larger class.",
)
LARGEST = ConstantRow(
    "(always the largest class)",
    "(always the largest class): its probabilities are the shares of the classes.",
)
SHARES = ConstantRow(
    "(labels' shares)",
    "(labels' shares): every row has each label's share of true rows as its score.",
)
NO_SHARES = ConstantRow(
    "",
    "The comparison with the labels' shares as scores is left out: it needs fewer labels, or all "
    "rows in memory.",
)
Classified = binary.BinaryStudy | classes.ProblemStudy


def estimates(study: Classified) -> Html:
    """The metrics of each system, and below them those of a prediction that needs no model. Of two
    classes the metrics that depend on decisions come last.
    """
    metrics: Sequence[MetricAtK] = study.settings.metrics
    caption = (
        f"Metrics with {study.settings.level:.0%} intervals, "
        f"{page.sample(study, len(study.account))}"
    )
    constant = _constant(study)  # the row below the systems, and its note
    if isinstance(study, binary.BinaryStudy):
        metrics = sorted(metrics, key=lambda chosen: chosen.uses_decisions)  # True is last
        if metrics[-1].uses_decisions:
            # by a column of the input, or at a threshold
            preposition = "by" if study.decision_column else "at"
            caption += f"; those of decisions {preposition} {study.decided_by}"
    references = []
    if constant.name:  # else the table has no such row
        references.append(page.reference_row(study, constant.name, study.constant, metrics))
    return page.estimates(study, caption, constant.note, metrics=metrics, references=references)


def _constant(study: Classified) -> ConstantRow:
    """The row of a prediction without a model that stands below the metrics of this kind of table,
    with the note that explains it. Two or several classes need the note only for some metrics.
    """
    if isinstance(study, binary.BinaryStudy):
        # the note says which class a constant predicts, on which only decisions depend
        has_decisions = any(chosen.uses_decisions for chosen in study.settings.metrics)
        return CONSTANT if has_decisions else CONSTANT.without_note()
    if not isinstance(study, labels.LabelsStudy):  # several classes
        # the note says which probabilities the row has
        return LARGEST if study.probabilities else LARGEST.without_note()
    if not study.probabilities:  # the labels' shares are probabilities, the systems' scores are not
        return ConstantRow("", "")
    return SHARES if study.measured.label_sets_known else NO_SHARES


def roc(study: Study) -> figures.Figure | Html:
    """The ROC curves alone, with bands and operating points."""
    return _panel(curve_plot(study), 0)


def precision_recall(study: Study) -> figures.Figure | Html:
    """The precision-recall curves alone, with bands and operating points."""
    return _panel(curve_plot(study), 1)


def _panel(curves: figures.Figure | Html, number: int) -> figures.Figure | Html:
    """One of the panels of `curve_plot` as a figure; words in place of the figure stay as they are.

    number: 0 for ROC, 1 for precision and recall.
    """
    if isinstance(curves, Html):
        return curves
    # the figure holds the arguments from which it is drawn; the first of them is all its panels
    panels = curves.data[0]
    panel = panels[number]
    # the legend has a text for each system, ": AUC 0.93"
    says = "; ".join(f"{name}{area}" for name, area in panel.legend_texts.items())
    return figures.figure_drawn_by(
        curve_plots.panels, [panel], caption=panel.caption, says=says, panels=(1, 1), **ALONE
    )


SUMMARY = (first_screen.verdict, estimates, page.comparisons)
PIECES = (
    title,
    first_screen.verdict,
    findings,
    estimates,
    page.differences,
    page.comparisons,
    score_plot,
    ks_plot,
    curve_plot,
    other_curves,
    moving_threshold_table,
    curves,
    base_rate_plot,
    base_rate,
    threshold_plot,
    cost_plot,
    thresholds,
    calibration_plot,
    calibration,
    class_calibration_plot,
    decision_curve,
    decision_difference,
    top_plot,
    top,
    confusion_plot,
    confusion,
    explorer,
    page.segment_plot,
    page.segments,
    group_gaps,
    weak_slice_plot,
    weak_slices,
    definitions,
    origin,
    roc,
    precision_recall,
)

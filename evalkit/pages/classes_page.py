"""The words, tables and figures of the classification page on several classes; those of labels one
by one too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from evalkit.arrays import Record
from evalkit.drawing import curve_plots, figures, paragraphs
from evalkit.drawing.cells import Cell, number_cell
from evalkit.drawing.columns import (
    Column,
    Rows,
    column_by_row,
    count,
    limits,
    prefixed_interval_column,
    text,
    value,
)
from evalkit.drawing.curve_plots import DIAGONAL, STEPS, Panel
from evalkit.drawing.figures import Figure
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import by_system, of_rows
from evalkit.findings import kinds
from evalkit.numbers import count_with_noun, decimals, listed, number, plural, signed_percent
from evalkit.pages import as_json, explorer, first_screen, page, pieces, texts, threshold_page
from evalkit.pages.binary_page import DRAWN, WITHOUT_INTERVAL, perfect_calibration_line, reliability
from evalkit.pages.shared_findings import (
    better_constant_prediction,
    binned_scores,
    counts,
    counts_above_zero,
    decisions_as_scores,
    few_clusters,
    few_rows,
    of_sample,
    rows_read,
    weights,
)
from evalkit.report import Results
from evalkit.studies import classes, decision_curves, diagnostics, score_curves
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.labels import LabelsStudy
from evalkit.studies.reliability import TENTHS

if TYPE_CHECKING:
    from evalkit.metrics.counts import Counts

# a piece that stays empty unless the study has the counts of classes, probabilities, scores
with_class_tables = pieces.where(lambda study: study.class_tables)
probabilities = pieces.where(lambda study: study.probabilities)
scored = pieces.where(lambda study: study.scored)


ClassesOrLabelsStudy = ClassesStudy | LabelsStudy
Heads = Mapping[str, str]  # of a table, by the column of a frame
COUNTED = {"n": "rows", "predicted": "predicted"}
AREAS = {"auc": "AUC", "average_precision": "average_precision"}
DECISION_METRICS = {"precision": "precision", "recall": "recall", "f1": "F1"}


def title(study: ClassesStudy) -> Html:
    """The title and what was asked."""
    rows = count_with_noun(len(study.account), "row")
    classes = count_with_noun(len(study.names), "class")
    label = study.account.columns["label"]
    return first_screen.title("several", study, f"{rows} of {classes}", label)


@scored
def curve_plot(study: ClassesStudy) -> Figure | Html:
    """The leader's ROC and precision-recall curves of each class against the rest."""
    bands = {kind: study.bands(kind) for kind in ("roc", "pr")}
    return curves_of_each(study, study.leader, study.by_class, bands)


@scored
def other_curves(study: ClassesStudy) -> Html:
    """The same curves of the next systems, folded."""
    return curves_of_others(study, study.by_class)


@scored
def curves(study: ClassesStudy) -> Html:
    """AUC and average precision of each class against the rest: the leader's, and folded those of
    the other systems.
    """
    return class_by_class(study, study.by_class, "Each class against the rest", COUNTED, AREAS)


def thresholds(study: ClassesStudy) -> Html:
    """How many rows could be decided without review: those that are predicted into classes whose
    precision reaches the target.
    """
    columns: dict[str, Column] = {
        "system": text("system"),
        "coverage": limits("coverage"),
        "accuracy among them": prefixed_interval_column("right"),
        "classes": column_by_row(_classes_at_target),
    }
    caption = f"Coverage at precision ≥ {study.target:g}: rows predicted into classes that reach it"
    note = texts.sentence("classes.thresholds_note")
    return of_rows(caption, study.covered, columns, note)


def _classes_at_target(row: Record) -> Cell:
    """The classes of a system that reach the target. row: of `study.covered`."""
    names = row["classes"] or "none"
    return Cell(listed(names.split(", ")), kind="text")


@probabilities
def calibration_plot(study: ClassesStudy) -> Figure | Html:
    """Share of right predictions against the score of the predicted class."""
    corner_lines = {}  # by system, the lines in the corner of its diagram
    for row in study.calibration.head(DRAWN).to_dict("records"):
        accuracy = f"accuracy {number(row['right'])}"
        mean_probability = f"mean {number(row['confidence'])}"
        corner_lines[row["system"]] = [accuracy, mean_probability]
    how = "The probability is that of the predicted class. Above the dotted line: underconfident."
    return reliability(study, "share of right predictions", how, corner_lines)


@probabilities
def calibration(study: ClassesStudy) -> Html:
    """Confidence against accuracy, and the top-label ECE."""
    columns: dict[str, Column] = {
        "system": text("system"),
        "mean probability of the predicted class": value("confidence"),
        "accuracy": prefixed_interval_column("right"),
        "top-label ECE, 10 equal bins": _ece_cells,
    }
    caption = "Calibration of the probability of the predicted class (confidence)"
    return of_rows(caption, study.calibration, columns, WITHOUT_INTERVAL)


def _ece_cells(rows: Rows) -> list[Cell]:
    """The top-label ECE of each system over 10 equal bins, and below it the mean ECE of perfectly
    calibrated probabilities, which is above 0 by chance, with p.

    rows: of `study.calibration`, one for each system.
    """
    places = decimals(row["ece_10"] for row in rows)
    cells = []
    for row in rows:
        expected_line = perfect_calibration_line(row["ece_10_expected"], row["ece_10_p"], places)
        cells.append(replace(number_cell(row["ece_10"], places), below=expected_line))
    return cells


@scored
def top(study: ClassesStudy) -> Html:
    """In which share of rows the actual class is among the k highest scores, a row per system."""
    caption = "Actual class among the k highest scores"
    note = "Rows tied at the cut-off count by their share."
    return by_system(caption, study.tops, "k", limits("value"), note, "top {}".format)


def confusion_plot(study: ClassesStudy) -> Figure:
    """The confusion tables of as many systems as have room; of many classes the rarest share one
    row and one column.
    """
    drawn = {}  # by system, its table with the rarest of many classes taken together
    for name in study.order:
        confusion_table = study.measured.confusion(name).table
        drawn[name] = classes.drawn_together(confusion_table, study.names)
    # Classes are rare by their actual rows, which all systems share: the same classes are drawn
    # together in every table, and the names of one are those of all.
    class_names = drawn[study.leader].names
    systems = study.order[: figures.panels_in_row(len(class_names), CELL)]
    caption = _confusion_caption(study, systems, class_names)
    if len(systems) > 1:
        return figures.row(
            curve_plots.draw_confusion_matrices,
            {name: drawn[name].table for name in systems},
            caption=caption,
            height=figures.figure_height(len(class_names), head=1.3, each=0.42),
            panels=len(systems),
            classes=class_names,
            xlabel="predicted",
            ylabel="actual",
        )
    return figures.figure_drawn_by(
        curve_plots.draw_confusion_matrix,
        drawn[study.leader].table,
        caption=caption,
        width=figures.figure_height(len(class_names), head=SQUARE["width"], each=CELL),
        height=figures.figure_height(len(class_names), head=SQUARE["height"], each=CELL),
        classes=class_names,
        xlabel="predicted",
        ylabel="actual",
    )


def _confusion_caption(
    study: ClassesStudy, systems: Sequence[str], class_names: Sequence[str]
) -> str:
    """The caption of the confusion tables, with the leader's most frequent mistake.

    systems: those that are drawn. class_names: of the rows and columns that are drawn; if not all
    classes are, the last one stands for the others.
    """
    what = "weight of the rows" if study.weighted else "rows"
    caption = texts.sentence(
        "classes.confusion_plot", systems=listed(systems), what=what, rows=len(study.account)
    )
    mistake = classes.worst_mistake(study)
    if mistake:
        in_words = f"{mistake.actual} predicted as {mistake.predicted}, {mistake.weight:,.0f}"
        if not study.weighted:
            in_words += " rows"
        caption += f" Most frequent mistake of {study.leader}: {in_words}."
    if len(class_names) < len(study.names):
        most_frequent = class_names[:-1]  # the last one stands for the others
        drawn = f"the {len(most_frequent)} most frequent of {len(study.names):,} classes"
        caption += f" Drawn: {drawn}, and the others together; the JSON holds all classes."
    return caption


def confusion(study: ClassesStudy) -> Html:
    """The most frequent mistakes, and precision, recall and F1 of every class."""
    by_class = class_by_class(study, study.by_class, "Class by class", COUNTED, DECISION_METRICS)
    return stack([_confused(study), by_class])


@pieces.where(lambda study: len(study.confused))
def _confused(study: ClassesStudy) -> Html:
    """Which classes the leader most often predicts instead of which."""
    size = "weight" if study.weighted else "rows"
    columns: dict[str, Column] = {
        "actual": text("actual"),
        "predicted": text("predicted"),
        size: count("n"),
        "share of the actual class": limits("share"),
        "share of all errors": value("of_errors"),
    }
    return of_rows(f"Most confused pairs of classes: {study.leader}", study.confused, columns)


def definitions(study: ClassesStudy) -> Html:
    """Definitions of the metrics on the page, then of the intervals and tests."""
    bins = f"{TENTHS} equal bins [a, b) of the probability of the predicted class"
    ece = f"mean |mean probability − share right| of {bins}"
    return defined(study, [("top-label ECE", ece)])


def results(study: ClassesStudy) -> Results:
    """Every number of the page, unrounded."""
    fields: dict[str, object] = {
        "kind": "multi-class",
        **as_json.population_fields(study.account),
        "classes": list(study.names),
        "confusion": {
            name: study.measured.confusion(name).table.tolist() for name in study.systems
        },
        **as_json.frames_as_records(
            by_class=study.by_class, coverage=study.covered, confused=study.confused
        ),
        **explorer.listed_rows(study),
        **recorded(study),
    }
    if study.scored:
        fields |= as_json.frames_as_records(tops=study.tops)
    if study.probabilities:
        fields |= as_json.frames_as_records(calibration=study.calibration)
        fields["isotonic"] = study.isotonic.points_for_json()
    return as_json.results(study, every_finding(study), fields)


def every_finding(study: ClassesStudy) -> Iterator[kinds.Finding]:
    """Every finding of a multi-class report, those on the input first, those on the sample last."""
    yield from rows_read(study.account)
    yield from _classes(study)
    yield from better_constant_prediction(study)
    yield from _decisions(study)
    yield from _probabilities(study)
    yield from _incomplete(study)
    yield from binned_scores(study, "class")
    yield from few_rows(study.rows_by_name, "Classes", listed)
    yield from few_clusters(study)
    yield from of_sample(study)


def _classes(study: ClassesStudy) -> Iterator[kinds.Finding]:
    """How many rows each class has, whether they have weights, classes without rows, and metrics
    that depend on an order of the classes, where this is that of the alphabet.
    """
    rows_by_class = study.rows_by_name
    majority = float(study.shares.max())  # always predicting the largest class is right so often
    severity = kinds.WARNING if majority > diagnostics.DOMINANT else kinds.NOTE
    yield kinds.CLASS_SHARES.finding_with_severity(
        severity, len(rows_by_class), "several", rows=counts(rows_by_class), majority=majority
    )
    yield from weights(study)
    absent = [name for name, n in rows_by_class.items() if n == 0]
    if absent:
        yield kinds.ABSENT_CLASSES.warning(len(absent), classes=listed(absent))
    metrics = classes.ordered_alphabetically(study)
    if metrics:
        finding = kinds.CLASS_ORDER.warning(
            len(rows_by_class), metrics=listed(metrics), order=listed(study.names)
        )
        yield finding.for_metrics(metrics, study.primary_metric.label)


def _decisions(study: ClassesStudy) -> Iterator[kinds.Finding]:
    """Classes that a system never predicts, and rows whose predicted class, from a column, does not
    have the highest score.
    """
    for name, class_names in classes.never_predicted(study).items():
        yield kinds.NEVER_PREDICTED.warning(
            len(class_names), system=name, classes=listed(class_names)
        )
    rows = classes.not_highest(study)
    if rows:
        yield kinds.NOT_HIGHEST.note(max(rows.values()), counts=counts(rows))


def _probabilities(study: ClassesStudy) -> Iterator[kinds.Finding]:
    """Scores that are no probabilities, or only decisions; rows whose probabilities are all 0; and
    rows whose probabilities do not sum to 1, with the change of log loss that scaling them makes.
    """
    if study.scored and not study.probabilities:
        yield kinds.NO_PROBABILITIES.warning(
            None, "several", out="log loss, Brier and calibration are"
        )
    if study.scored:
        yield from binary_scores(study)
    sums_by_system = classes.row_sums(study)  # empty without probabilities
    rows_of_zeros = counts_above_zero(
        {name: sums.rows_of_zeros for name, sums in sums_by_system.items()}
    )
    if rows_of_zeros:
        yield kinds.UNNORMALISED.warning(
            max(rows_of_zeros.values()), "zero", rows=counts(rows_of_zeros)
        )
    ranges = []  # of the sums, in words, for each system with sums other than 1
    loss_changes = []  # of the same systems
    for name, sums in sums_by_system.items():
        if sums.rows_not_one:
            rows = count_with_noun(sums.rows_not_one, "row")
            ranges.append(f"{name} {sums.low:.3g} to {sums.high:.3g} ({rows} not 1)")
            loss_changes.append(f"{name} {signed_percent(sums.loss_change)}")
    if ranges:
        most_rows = max(sums.rows_not_one for sums in sums_by_system.values())
        yield kinds.UNNORMALISED.warning(
            most_rows, "sums", sums=listed(ranges), moved=listed(loss_changes)
        )


def binary_scores(study: ClassesOrLabelsStudy) -> Iterator[kinds.Finding]:
    """The systems whose scores are 0 and 1 only in every class or label, if there are any."""
    tables_by_system = {}
    for name in study.order:
        tables_by_system[name] = [study.measured.table(name, c) for c in range(len(study.names))]
    yield from decisions_as_scores(tables_by_system)


def _incomplete(study: ClassesStudy) -> Iterator[kinds.Finding]:
    """The slices that lack a class, if there are any."""
    slices = classes.incomplete_slices(study)
    if slices:
        yield kinds.INCOMPLETE_SLICES.warning(len(slices), slices=listed(slices))


UNFOLDED = 4  # squares that a page shows at once
OTHERS = 2  # systems beside the leader whose curves are folded below its own
NO_BANDS: Mapping[str, None] = {}
HEIGHT = 2.5  # inches of a square
CELL = 0.42  # inches of a cell of a confusion table
SQUARE = {"width": 2.8, "height": 1.8}  # inches beside the cells of a confusion table


@with_class_tables
def score_plot(study: ClassesOrLabelsStudy) -> Figure | Html:
    """The histogram of the scores of each class: of its rows, and of the others."""
    groups = _groups_of_rows(study)
    bins = f"{classes.HISTOGRAM_BINS} equal bins of the score"
    shares = f"{groups}, the share of each in {bins}"
    caption = f"{_leader_and_classes(study)}: {shares}. {_ks_in_words(study)}"
    figure = figures.row(
        curve_plots.draw_score_histograms,
        _score_histograms(study),
        caption=caption,
        height=HEIGHT,
        panels=len(study.class_tables),
        xlabel=f"score of the {study.noun}",
        ylabel="share of rows",
        sides=study.sides,
    )
    return _folded_if_many(study, figure, "Scores")


def _score_histograms(study: ClassesOrLabelsStudy) -> pd.DataFrame:
    """The histogram of the leader's scores of each class, which the frame calls system."""
    edges = score_curves.edges(
        study.class_tables, probabilities=study.probabilities, bins=classes.HISTOGRAM_BINS
    )
    return score_curves.histogram(study.class_tables, edges)


@with_class_tables
def ks_plot(study: ClassesOrLabelsStudy) -> Figure | Html:
    """The distribution functions of the scores of each class, with their largest distance."""
    distributions = []  # a frame for each class: both functions at the points that are drawn
    for name, table in study.class_tables.items():
        distributions.append(score_curves.distribution(name, table, classes.SQUARE.curve))
    caption = texts.sentence(
        "classes.ks_plot", of_each=_leader_and_classes(study), pair=_groups_of_rows(study)
    )
    figure = figures.row(
        curve_plots.distributions,
        pd.concat(distributions),
        score_curves.ks_distances(study.class_tables),
        caption=caption,
        says=_ks_in_words(study),
        height=HEIGHT,
        panels=len(study.class_tables),
        xlabel=f"score of the {study.noun}",
        ylabel="share at or below",
        sides=study.sides,
    )
    return figure.folded(f"Distribution functions of the scores (KS), {study.noun} by {study.noun}")


@pieces.where(lambda study: study.probabilities and study.class_tables)
def class_calibration_plot(study: ClassesOrLabelsStudy) -> Figure | Html:
    """The reliability diagram of each class against the rest."""
    reliability_by_class = study.class_reliability
    grey = ""  # clustered or weighted rows have no bands
    if reliability_by_class.bands is not None:
        share_in_band = f"{study.settings.level:.0%} of such curves"
        grey = f"Grey: at each probability, {share_in_band} if the probabilities are right. "
    caption = texts.sentence(
        "classes.class_calibration_plot", of_each=_leader_and_classes(study), grey=grey
    )
    figure = page.reliability_diagrams(
        curve_plots.reliability,
        reliability_by_class,
        _corner_lines(study.class_tables),
        caption,
        height=2.9,
        panels=len(study.class_tables),
        ylabel=f"share of the {study.noun}",
    )
    return _folded_if_many(study, figure, "Reliability diagrams")


@pieces.where(lambda study: study.probabilities and study.class_tables)
def decision_curve(study: ClassesOrLabelsStudy) -> Figure | Html:
    """The net benefit of acting on each class by its probability."""
    panels = []
    for name, table in study.class_tables.items():
        panels.append(_net_benefit_panel(study.leader, name, table))
    caption = texts.sentence("classes.decision_curve", of_each=_leader_and_classes(study))
    figure = figures.row(
        curve_plots.panels, panels, caption=caption, height=HEIGHT, panels=len(panels)
    )
    return figure.folded(f"Net benefit, {study.noun} by {study.noun}")


def _net_benefit_panel(leader: str, name: str, table: "Counts") -> Panel:
    """The panel of one class: the leader's net benefit, and a line at 0, that of acting on no row.

    name: of the class. table: of the class against the rest.
    """
    return Panel(
        lines=decision_curves.decision_curves({leader: table}, classes.SQUARE.curve),
        xlabel=threshold_page.THRESHOLD,
        ylabel="net benefit per row",
        title=name,
        reference=((0, 1), (0, 0)),
    )


def _corner_lines(class_tables: Mapping[str, "Counts"]) -> dict[str, list[str]]:
    """The lines in the corner of each class's reliability diagram: miscalibration and
    discrimination, with the same decimals for all classes, and slope.
    """
    summaries = classes.calibration_summaries(class_tables)
    sizes = []
    for summary in summaries.values():
        sizes += [summary.decomposition.miscalibration, summary.decomposition.discrimination]
    places = decimals(sizes)
    corners = {}
    for name, summary in summaries.items():
        corners[name] = [
            f"MCB {number(summary.decomposition.miscalibration, places)}",
            f"DSC {number(summary.decomposition.discrimination, places)}",
            f"slope {number(summary.slope, 2)}",
        ]
    return corners


def _leader_and_classes(study: ClassesOrLabelsStudy) -> str:
    """The beginning of a caption: the leader, and which of its classes are drawn: all, or of many
    classes those that a rule chooses, such as "most rows".
    """
    leader = f"{study.leader} ({count_with_noun(study.account.used, 'row')})"
    undrawn_names = [name for name in study.names if name not in study.class_tables]
    if not undrawn_names:
        return f"{leader}, each {study.noun}"
    of_all = f"{len(study.class_tables)} of {len(study.names)} {plural(study.noun, 2)}"
    drawn = f"the {of_all} with the {study.square_choice.words}"
    return f"{leader}, {drawn} (not drawn: {listed(undrawn_names, 6)})"


def _groups_of_rows(study: ClassesOrLabelsStudy) -> str:
    """What the rows of a class and the other rows are called."""
    first, second = study.sides
    return f"{first} and {second}"


def _ks_in_words(study: ClassesOrLabelsStudy) -> str:
    """The largest distance between the distribution functions of each class's scores, in words."""
    rows = score_curves.ks_distances(study.class_tables)
    places = decimals(rows["value"])
    distances = [f"{row.system} {number(row.value, places)}" for row in rows.itertuples()]
    return f"KS: {listed(distances)}."


def _folded_if_many(study: ClassesOrLabelsStudy, figure: Figure, summary: str) -> Figure:
    """The figure, folded if it has many squares."""
    has_many = len(study.class_tables) > UNFOLDED
    return figure.folded(f"{summary}, {study.noun} by {study.noun}") if has_many else figure


def recorded(study: ClassesOrLabelsStudy) -> dict[str, object]:
    """What the figures with a square for each class draw, for the JSON; empty without such figures.
    The columns `system` hold the class, as the figures draw a class where others draw a system.
    """
    if not study.class_tables:
        return {}
    numbers: dict[str, object] = {
        "scores": {
            "histogram": _score_histograms(study).to_dict("list"),
            "distances": score_curves.ks_distances(study.class_tables).to_dict("records"),
        }
    }
    if study.probabilities:
        numbers["isotonic"] = study.class_reliability.points_for_json()
        numbers["net_benefit"] = _net_benefits(study).to_dict("list")
    return {"one_by_one": numbers}


def _net_benefits(study: ClassesOrLabelsStudy) -> pd.DataFrame:
    """The leader's net benefit of acting on each class, whose name is in the column `system`; not
    that of acting on all rows, which depends on no model.
    """
    benefits = []
    for name, table in study.class_tables.items():
        frame = decision_curves.benefits({name: table}, decision_curves.PROBABILITIES)
        benefits.append(frame[frame["system"] != decision_curves.ALL])
    return pd.concat(benefits)


def curves_of_each(
    study: ClassesOrLabelsStudy,
    system: str,
    areas: pd.DataFrame,
    bands: Mapping[str, pd.DataFrame | None] = NO_BANDS,
) -> Figure | Html:
    """A system's ROC and precision-recall curves, one for each class or label.

    areas: those below the curves, a row for each class and system, as in `study.by_class`; its
    second column names the class. bands: the pointwise limits by the kind of curve, "roc" and "pr";
    a kind without bands is left out or None.
    """
    if not study.curve_tables:
        return Html("")
    rows = count_with_noun(study.account.used, "row")
    # of many curves only some have a colour and a name; the others are grey
    faint = set(study.curve_tables).difference(study.coloured_classes)
    caption = f"{system}: one {study.noun} per curve ({_groups_of_rows(study)}), {rows}."
    if faint:
        caption += _colours_in_words(study)
    if bands.get("roc") is not None:
        caption += f" Bands: pointwise {study.settings.level:.0%} limits."
    areas_by_class = areas[areas["system"] == system].set_index(areas.columns[1])
    # the legend names the coloured curves
    coloured_areas = areas_by_class.loc[study.coloured_classes]
    roc = Panel(
        lines=study.curve("roc", system),
        xlabel="false positive rate",
        ylabel=f"recall (n = {rows})",
        title="ROC",
        bands=bands.get("roc"),
        reference=DIAGONAL,
        legend_texts=_legend_texts(coloured_areas, "auc", "AUC"),
        caption=f"ROC curves of {caption}",
        faint_systems=faint,
    )
    pr = Panel(
        lines=study.curve("pr", system),
        xlabel="recall",
        ylabel="precision",
        title="Precision and recall",
        bands=bands.get("pr"),
        steps=STEPS,
        legend_texts=_legend_texts(coloured_areas, "average_precision", "AP"),
        caption=f"Precision-recall curves of {caption}",
        faint_systems=faint,
    )
    caption = f"{caption} AP: average precision."
    return figures.row(curve_plots.panels, [roc, pr], caption=caption, height=3.6, panels=2)


def _colours_in_words(study: ClassesOrLabelsStudy) -> str:
    """In a sentence, with a space before it, which classes have curves in colour: those that the
    leader separates worst. The others are grey; of very many only the next ones have a curve.
    """
    grey = "the others"
    if len(study.curve_tables) == classes.MAX_CURVES:  # no more curves fit into the figure
        grey = f"the next {study.uncoloured}"
    of_all = f"{len(study.coloured_classes)} of {len(study.names):,} {plural(study.noun, 2)}"
    rule = classes.WORST.words  # "lowest average precision"
    return f" In colour: the {of_all} with the {rule} of {study.leader}; grey: {grey}."


def _legend_texts(areas: pd.DataFrame, column: str, short: str) -> dict[str, str]:
    """What a legend says behind each class, ": AUC 0.93": the area below its curve.

    areas: by class. column: that of the area. short: the name of the area.
    """
    places = decimals(areas[column], areas[f"{column}_low"], areas[f"{column}_high"])
    return {name: f": {short} {number(area, places)}" for name, area in areas[column].items()}


def curves_of_others(study: ClassesOrLabelsStudy, areas: pd.DataFrame) -> Html:
    """The curves of the next systems on the first screen, of each class or label, folded."""
    names = study.order[1 : 1 + OTHERS]
    figures_of_others = [curves_of_each(study, name, areas) for name in names]
    return folded(f"The same curves of {listed(names)}", stack(figures_of_others))


def defined(study: ClassesOrLabelsStudy, further_items: list[tuple[str, str]]) -> Html:
    """Exactly the metrics shown and further items, then the intervals and the tests.

    further_items: names and meanings.
    """
    items = page.metric_definitions(study) + further_items
    items.append(("intervals", study.interval_methods_text))
    items += page.test_definitions(study)
    return paragraphs.definitions(items)


def class_by_class(
    study: ClassesOrLabelsStudy, frame: pd.DataFrame, caption: str, counts: Heads, metrics: Heads
) -> Html:
    """Two tables with a row per class: the leader's, and folded those of the other systems.

    frame: a row for each class and system; its second column names the class. counts, metrics: its
    columns that are printed, metrics with the limits in NAME_low and NAME_high.
    """
    is_leader = frame["system"] == study.leader
    leader_caption = f"{caption}: {study.leader}"
    others_caption = f"{caption}: the other systems"
    leader_table = _class_table(study, frame[is_leader], leader_caption, counts, metrics)
    others_table = _class_table(study, frame[~is_leader], others_caption, counts, metrics)
    return stack([leader_table, folded("The other systems", others_table)])


def _class_table(
    study: ClassesOrLabelsStudy, frame: pd.DataFrame, caption: str, counts: Heads, metrics: Heads
) -> Html:
    """A table with a row for each row of the frame, a class of a system. Its head is the class,
    with the system unless that is the leader, whose table needs no names of systems.

    frame: its second column names the class. counts, metrics: the heads of the table by the columns
    of the frame that are printed; a metric also has the limits METRIC_low and METRIC_high.
    """
    class_column = frame.columns[1]  # "class" or "label"

    def row_head(row: Record) -> str:
        """The class of a row, behind its system if that is not the leader."""
        if row["system"] == study.leader:
            return str(row[class_column])
        return f"{row['system']}: {row[class_column]}"

    columns: dict[str, Column] = {class_column: column_by_row(row_head)}
    for column, head in counts.items():
        columns[head] = count(column)
    for column, head in metrics.items():
        columns[head] = prefixed_interval_column(column)
    return of_rows(f"{caption}, with {study.settings.level:.0%} intervals", frame, columns)

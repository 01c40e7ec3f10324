"""The words, tables and figures of the classification page on several classes; those of labels one
by one too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from evalkit.arrays import Record
from evalkit.drawing import curve_plots, figures, paragraphs
from evalkit.drawing.cells import Cell
from evalkit.drawing.columns import Column, Rows, by_row, count, limits, named, value
from evalkit.drawing.curve_plots import DIAGONAL, STEPS, Panel
from evalkit.drawing.figures import Figure
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import by_system, of_rows
from evalkit.findings import kinds
from evalkit.numbers import counted, decimals, listed, number, plural, signed_percent
from evalkit.pages import as_json, explorer, first_screen, page, pieces, texts, threshold_page
from evalkit.pages.binary_page import DRAWN, NO_LIMITS, if_perfect, reliability
from evalkit.pages.shared_findings import (
    binned_scores,
    constant_better,
    counts,
    decisions_as_scores,
    few_clusters,
    few_rows,
    nonzero,
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


Either = ClassesStudy | LabelsStudy
Heads = Mapping[str, str]  # of a table, by the column of a frame
COUNTED = {"n": "rows", "predicted": "predicted"}
AREAS = {"auc": "AUC", "average_precision": "average_precision"}
DECIDED = {"precision": "precision", "recall": "recall", "f1": "F1"}


def title(study: ClassesStudy) -> Html:
    """The title and what was asked."""
    rows = f"{counted(len(study.account), 'row')} of {counted(len(study.names), 'class')}"
    return first_screen.title("several", study, rows, study.account.columns["label"])


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
    columns = named("system | coverage [] | accuracy among them=right [_]")
    columns["classes"] = by_row(_classes_at_target)
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
    words = {}
    for row in study.calibration.head(DRAWN).to_dict("records"):
        accuracy = f"accuracy {number(row['right'])}"
        words[row["system"]] = [accuracy, f"mean {number(row['confidence'])}"]
    how = "The probability is that of the predicted class. Above the dotted line: underconfident."
    return reliability(study, "share of right predictions", how, words)


@probabilities
def calibration(study: ClassesStudy) -> Html:
    """Confidence against accuracy, and the top-label ECE."""
    columns = named(
        "system | mean probability of the predicted class=confidence # | accuracy=right [_]"
    )
    columns["top-label ECE, 10 equal bins"] = _ece
    caption = "Calibration of the probability of the predicted class (confidence)"
    return of_rows(caption, study.calibration, columns, NO_LIMITS)


def _ece(rows: Rows) -> list[Cell]:
    """The top-label ECE of each system, and below it what perfect calibration would show. rows: of
    `study.calibration`.
    """
    places = decimals(row["ece_10"] for row in rows)
    cells = []
    for cell, row in zip(value("ece_10")(rows), rows, strict=True):
        below = if_perfect(row["ece_10_expected"], row["ece_10_p"], places)
        cells.append(replace(cell, below=below))
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
    matrices = {}
    for name in study.order:
        confusion_table = study.measured.confusion(name).table
        matrices[name] = classes.drawn_together(confusion_table, study.names)
    # Classes are rare by their actual rows, which all systems share: the same classes are drawn
    # together in every table, and the names of one are those of all.
    class_names = matrices[study.leader].names
    names = study.order[: figures.panels_in_row(len(class_names), CELL)]
    caption = _confusion_caption(study, names, class_names)
    if len(names) > 1:
        return figures.row(
            curve_plots.matrices,
            {name: matrices[name].table for name in names},
            caption=caption,
            height=figures.tall(len(class_names), head=1.3, each=0.42),
            panels=len(names),
            classes=class_names,
            xlabel="predicted",
            ylabel="actual",
        )
    return figures.picture(
        curve_plots.matrix,
        matrices[study.leader].table,
        caption=caption,
        width=figures.tall(len(class_names), head=SQUARE["width"], each=CELL),
        height=figures.tall(len(class_names), head=SQUARE["height"], each=CELL),
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
    by_class = class_by_class(study, study.by_class, "Class by class", COUNTED, DECIDED)
    return stack([_confused(study), by_class])


@pieces.where(lambda study: len(study.confused))
def _confused(study: ClassesStudy) -> Html:
    """Which classes the leader most often predicts instead of which."""
    what = "weight" if study.weighted else "rows"
    columns = (
        f"actual | predicted | {what}=n n | share of the actual class=share [] | share of all "
        f"errors=of_errors #"
    )
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
        **as_json.population(study.account),
        "classes": list(study.names),
        "confusion": {
            name: study.measured.confusion(name).table.tolist() for name in study.systems
        },
        **as_json.records(by_class=study.by_class, coverage=study.covered, confused=study.confused),
        **explorer.recorded(study),
        **recorded(study),
    }
    if study.scored:
        fields |= as_json.records(tops=study.tops)
    if study.probabilities:
        fields |= as_json.records(calibration=study.calibration)
        fields["isotonic"] = study.isotonic.recorded()
    return as_json.results(study, every_finding(study), fields)


def every_finding(study: ClassesStudy) -> Iterator[kinds.Finding]:
    """Every finding of a multi-class report, those on the input first, those on the sample last."""
    yield from rows_read(study.account)
    yield from _classes(study)
    yield from constant_better(study)
    yield from _decisions(study)
    yield from _probabilities(study)
    yield from _incomplete(study)
    yield from binned_scores(study, "class")
    yield from few_rows(study.rows_by_name, "Classes", listed)
    yield from few_clusters(study)
    yield from of_sample(study)


def _classes(study: ClassesStudy) -> Iterator[kinds.Finding]:
    """How many rows each class has, whether they have weights, classes without rows, and metrics
    that depend on an order of the classes that is that of the alphabet.
    """
    rows = study.rows_by_name
    majority = float(study.shares.max())
    severity = kinds.WARNING if majority > diagnostics.DOMINANT else kinds.NOTE
    yield kinds.CLASS_SHARES.rated(
        severity, len(rows), "several", rows=counts(rows), majority=majority
    )
    yield from weights(study)
    absent = [name for name, n in rows.items() if n == 0]
    if absent:
        yield kinds.ABSENT_CLASSES.warning(len(absent), classes=listed(absent))
    metrics = classes.ordered_alphabetically(study)
    if metrics:
        finding = kinds.CLASS_ORDER.warning(
            len(rows), metrics=listed(metrics), order=listed(study.names)
        )
        yield finding.for_metrics(metrics, study.primary.label)


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
    """Scores that are no probabilities or decisions, rows whose scores are all 0, and rows whose
    probabilities do not sum to 1, with what that changes of log loss.
    """
    if study.scored and not study.probabilities:
        yield kinds.NO_PROBABILITIES.warning(
            None, "several", out="log loss, Brier and calibration are"
        )
    if study.scored:
        yield from binary_scores(study)
    sums_by_system = classes.row_sums(study)
    rows_of_zeros = nonzero({name: sums.rows_of_zeros for name, sums in sums_by_system.items()})
    if rows_of_zeros:
        yield kinds.UNNORMALISED.warning(
            max(rows_of_zeros.values()), "zero", rows=counts(rows_of_zeros)
        )
    ranges = []
    loss_changes = []
    for name, sums in sums_by_system.items():
        if sums.rows_not_one:
            rows = counted(sums.rows_not_one, "row")
            ranges.append(f"{name} {sums.low:.3g} to {sums.high:.3g} ({rows} not 1)")
            loss_changes.append(f"{name} {signed_percent(sums.loss_change)}")
    if ranges:
        most_rows = max(sums.rows_not_one for sums in sums_by_system.values())
        yield kinds.UNNORMALISED.warning(
            most_rows, "sums", sums=listed(ranges), moved=listed(loss_changes)
        )


def binary_scores(study: Either) -> Iterator[kinds.Finding]:
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
def score_plot(study: Either) -> Figure | Html:
    """The histogram of the scores of each class: of its rows, and of the others."""
    frame = _histogram(study)
    distances = _distances(study)
    bins = f"{classes.HISTOGRAM_BINS} equal bins of the score"
    caption = f"{_of_each(study)}: {_pair(study)}, the share of each in {bins}. {distances}"
    figure = figures.row(
        curve_plots.histograms,
        frame,
        caption=caption,
        height=HEIGHT,
        panels=len(study.class_tables),
        xlabel=f"score of the {study.noun}",
        ylabel="share of rows",
        sides=study.sides,
    )
    return _folded(study, figure, "Scores")


def _histogram(study: Either) -> pd.DataFrame:
    """The histogram of the leader's scores of each class, which the frame calls system."""
    edges = score_curves.edges(
        study.class_tables, probabilities=study.probabilities, bins=classes.HISTOGRAM_BINS
    )
    return score_curves.histogram(study.class_tables, edges)


@with_class_tables
def ks_plot(study: Either) -> Figure | Html:
    """The distribution functions of the scores of each class, with their largest distance."""
    functions = []
    for name, table in study.class_tables.items():
        functions.append(score_curves.distribution(name, table, classes.SQUARE.curve))
    caption = texts.sentence("classes.ks_plot", of_each=_of_each(study), pair=_pair(study))
    figure = figures.row(
        curve_plots.distributions,
        pd.concat(functions),
        score_curves.distances(study.class_tables),
        caption=caption,
        says=_distances(study),
        height=HEIGHT,
        panels=len(study.class_tables),
        xlabel=f"score of the {study.noun}",
        ylabel="share at or below",
        sides=study.sides,
    )
    return figure.folded(f"Distribution functions of the scores (KS), {study.noun} by {study.noun}")


@pieces.where(lambda study: study.probabilities and study.class_tables)
def class_calibration_plot(study: Either) -> Figure | Html:
    """The reliability diagram of each class against the rest."""
    reliability_of_each = study.class_reliability
    words = _corners(study.class_tables)
    grey = ""
    if reliability_of_each.bands is not None:
        share_in_band = f"{study.settings.level:.0%} of such curves"
        grey = f"Grey: at each probability, {share_in_band} if the probabilities are right. "
    caption = texts.sentence("classes.class_calibration_plot", of_each=_of_each(study), grey=grey)
    figure = page.diagrams(
        curve_plots.reliability,
        reliability_of_each,
        words,
        caption,
        height=2.9,
        panels=len(study.class_tables),
        ylabel=f"share of the {study.noun}",
    )
    return _folded(study, figure, "Reliability diagrams")


@pieces.where(lambda study: study.probabilities and study.class_tables)
def decision_curve(study: Either) -> Figure | Html:
    """The net benefit of acting on each class by its probability."""
    panels = [_benefit(study.leader, name, table) for name, table in study.class_tables.items()]
    caption = texts.sentence("classes.decision_curve", of_each=_of_each(study))
    figure = figures.row(
        curve_plots.panels, panels, caption=caption, height=HEIGHT, panels=len(panels)
    )
    return figure.folded(f"Net benefit, {study.noun} by {study.noun}")


def _benefit(leader: str, name: str, table: "Counts") -> Panel:
    """The panel of one class: the leader's net benefit, and a line at 0, that of acting on no row.

    name: of the class. table: of the class against the rest.
    """
    frame = decision_curves.decision_curves({leader: table}, classes.SQUARE.curve)
    return Panel(
        frame, threshold_page.THRESHOLD, "net benefit per row", name, reference=((0, 1), (0, 0))
    )


def _corners(class_tables: Mapping[str, "Counts"]) -> dict[str, list[str]]:
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


def _of_each(study: Either) -> str:
    """The begin of a caption: the leader, and which of its classes are drawn."""
    leader = f"{study.leader} ({counted(study.account.used, 'row')})"
    undrawn_names = [name for name in study.names if name not in study.class_tables]
    if not undrawn_names:
        return f"{leader}, each {study.noun}"
    n_drawn = f"the {len(study.class_tables)} of {len(study.names)} {plural(study.noun, 2)}"
    choice = f"{n_drawn} with the {study.square_choice.words}"
    return f"{leader}, {choice} (not drawn: {listed(undrawn_names, 6)})"


def _pair(study: Either) -> str:
    """What the rows of a class and the other rows are called."""
    first, second = study.sides
    return f"{first} and {second}"


def _distances(study: Either) -> str:
    """The largest distance between the distribution functions of each class's scores, in words."""
    rows = score_curves.distances(study.class_tables)
    places = decimals(rows["value"])
    distances = [f"{row.system} {number(row.value, places)}" for row in rows.itertuples()]
    return f"KS: {listed(distances)}."


def _folded(study: Either, figure: Figure, summary: str) -> Figure:
    """The figure, folded if it has many squares."""
    has_many = len(study.class_tables) > UNFOLDED
    return figure.folded(f"{summary}, {study.noun} by {study.noun}") if has_many else figure


def recorded(study: Either) -> dict[str, object]:
    """For the JSON what the pictures of single classes draw; frames call a class system."""
    if not study.class_tables:
        return {}
    numbers: dict[str, object] = {
        "scores": {
            "histogram": _histogram(study).to_dict("list"),
            "distances": score_curves.distances(study.class_tables).to_dict("records"),
        }
    }
    if study.probabilities:
        numbers["isotonic"] = study.class_reliability.recorded()
        benefits = []
        for name, table in study.class_tables.items():
            frame = decision_curves.benefits({name: table}, decision_curves.PROBABILITIES)
            benefits.append(frame[frame["system"] != decision_curves.ALL])
        numbers["net_benefit"] = pd.concat(benefits).to_dict("list")
    return {"one_by_one": numbers}


def curves_of_each(
    study: Either,
    system: str,
    areas: pd.DataFrame,
    bands: Mapping[str, pd.DataFrame | None] = NO_BANDS,
) -> Figure | Html:
    """A system's ROC and precision-recall curves, one for each class or label.

    areas: those below the curves, a row for each class and system, as in `study.by_class`; its
    second column names the class. bands: by the kind of curve, roc and pr; None for a kind without.
    """
    if not study.curve_tables:
        return Html("")
    rows = counted(study.account.used, "row")
    faint = set(study.curve_tables).difference(study.coloured)
    caption = f"{system}: one {study.noun} per curve ({_pair(study)}), {rows}."
    if faint:
        caption += _coloured(study)
    if bands.get("roc") is not None:
        caption += f" Bands: pointwise {study.settings.level:.0%} limits."
    areas_by_class = areas[areas["system"] == system].set_index(areas.columns[1])
    coloured_areas = areas_by_class.loc[study.coloured]
    roc = Panel(
        study.curve("roc", system),
        "false positive rate",
        f"recall (n = {rows})",
        "ROC",
        bands.get("roc"),
        reference=DIAGONAL,
        keys=_keys(coloured_areas, "auc", "AUC"),
        caption=f"ROC curves of {caption}",
        faint=faint,
    )
    pr = Panel(
        study.curve("pr", system),
        "recall",
        "precision",
        "Precision and recall",
        bands.get("pr"),
        steps=STEPS,
        keys=_keys(coloured_areas, "average_precision", "AP"),
        caption=f"Precision-recall curves of {caption}",
        faint=faint,
    )
    caption = f"{caption} AP: average precision."
    return figures.row(curve_plots.panels, [roc, pr], caption=caption, height=3.6, panels=2)


def _coloured(study: Either) -> str:
    """Which curves have colours, and which are grey, in a sentence with a space before it."""
    grey = "the others"
    if len(study.curve_tables) == classes.MAX_CURVES:
        grey = f"the next {study.uncoloured}"
    n_coloured = f"the {len(study.coloured)} of {len(study.names):,} {plural(study.noun, 2)}"
    coloured = f"{n_coloured} with the {classes.WORST.words} of {study.leader}"
    return f" In colour: {coloured}; grey: {grey}."


def _keys(areas: pd.DataFrame, column: str, short: str) -> dict[str, str]:
    """What a legend says behind each class, ": AUC 0.93": the area below its curve.

    areas: by class. column: that of the area. short: the name of the area.
    """
    places = decimals(areas[column], areas[f"{column}_low"], areas[f"{column}_high"])
    return {name: f": {short} {number(area, places)}" for name, area in areas[column].items()}


def curves_of_others(study: Either, areas: pd.DataFrame) -> Html:
    """The curves of the next systems on the first screen, of each class or label, folded."""
    names = study.order[1 : 1 + OTHERS]
    figures_of_others = [curves_of_each(study, name, areas) for name in names]
    return folded(f"The same curves of {listed(names)}", stack(figures_of_others))


def defined(study: Either, further_items: list[tuple[str, str]]) -> Html:
    """Exactly the metrics shown and further items, then the intervals and the tests.

    further_items: names and meanings.
    """
    items = page.metric_definitions(study) + further_items
    items.append(("intervals", study.intervals_are))
    items += page.test_definitions(study)
    return paragraphs.definitions(items)


def class_by_class(
    study: Either, frame: pd.DataFrame, caption: str, counts: Heads, metrics: Heads
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
    study: Either, frame: pd.DataFrame, caption: str, counts: Heads, metrics: Heads
) -> Html:
    """A row for each row of the frame; its head has the system too unless that is the leader. The
    arguments are those of `class_by_class`.
    """
    class_column = frame.columns[1]

    @by_row
    def name(row: Record) -> str:
        """The head of a row: the class, behind its system if that is not the leader."""
        if row["system"] == study.leader:
            return str(row[class_column])
        return f"{row['system']}: {row[class_column]}"

    columns: dict[str, Column] = {class_column: name}
    for column, head in counts.items():
        columns[head] = count(column)
    for column, head in metrics.items():
        columns[head] = limits(column, f"{column}_low", f"{column}_high")
    return of_rows(f"{caption}, with {study.settings.level:.0%} intervals", frame, columns)

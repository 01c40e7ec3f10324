"""The words, tables and figures of the classification page on several classes; those of labels one
by one too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from evalkit.arrays import Record
from evalkit.drawing import curve_plots, figures, paragraphs
from evalkit.drawing.cells import Cell
from evalkit.drawing.columns import Column, Rows, count, each, limits, named, value
from evalkit.drawing.curve_plots import DIAGONAL, STEPS, Panel
from evalkit.drawing.figures import Figure
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import by_system, of_rows
from evalkit.findings import kinds
from evalkit.numbers import counted, decimals, listed, number, plural, signed_percent
from evalkit.pages import as_json, explorer, first_screen, page, pieces, texts, threshold_page
from evalkit.pages.binary_page import DRAWN, NO_LIMITS, if_perfect, reliability
from evalkit.pages.shared_findings import (
    binned,
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

with_class_tables = pieces.where(lambda study: study.class_tables)
probabilities = pieces.where(lambda study: study.probabilities)
scored = pieces.where(lambda study: study.scored)


Heads = Mapping[str, str]  # by the column of a frame
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
    """AUC and average precision of each class against the rest."""
    return class_by_class(study, study.by_class, "Each class against the rest", COUNTED, AREAS)


def thresholds(study: ClassesStudy) -> Html:
    """How much could be decided without review at a precision target."""
    columns = named("system | coverage [] | accuracy among them=right [_]")
    columns["classes"] = each(
        lambda row: Cell(listed((row["classes"] or "none").split(", ")), kind="text")
    )
    caption = f"Coverage at precision ≥ {study.target:g}: rows predicted into classes that reach it"
    note = texts.sentence("classes.thresholds_note")
    return of_rows(caption, study.covered, columns, note)


@probabilities
def calibration_plot(study: ClassesStudy) -> Figure | Html:
    """Share of right predictions against the score of the predicted class."""
    rows = study.calibration.to_dict("records")[:DRAWN]
    words = {
        row["system"]: [f"accuracy {number(row['right'])}", f"mean {number(row['confidence'])}"]
        for row in rows
    }
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
    places = decimals(row["ece_10"] for row in rows)
    cells = zip(value("ece_10")(rows), rows, strict=True)
    return [
        replace(cell, below=if_perfect(row["ece_10_expected"], row["ece_10_p"], places))
        for cell, row in cells
    ]


@scored
def top(study: ClassesStudy) -> Html:
    """How often the actual class is among the k highest scores."""
    caption, note = (
        "Actual class among the k highest scores",
        "Rows tied at the cut-off count by their share.",
    )
    return by_system(caption, study.tops, "k", limits("value"), note, "top {}".format)


def confusion_plot(study: ClassesStudy) -> Figure:
    """The confusion tables of as many systems as have room; of many classes the rarest share one
    row and one column.
    """
    tables_by_system = {}
    classes_drawn = study.names
    for name in study.order:
        tables_by_system[name], classes_drawn = classes.drawn_together(
            study.measured.confusion(name).table, study.names
        )
    names = study.order[: figures.panels_in_row(len(classes_drawn), CELL)]
    mistake = classes.worst_mistake(study)
    what = "weight of the rows" if study.weighted else "rows"
    caption = texts.sentence(
        "classes.confusion_plot", systems=listed(names), what=what, rows=len(study.account)
    )
    if mistake:
        text = "{} predicted as {}, {:,.0f}".format(*mistake)
        if not study.weighted:
            text += " rows"
        caption += f" Most frequent mistake of {study.leader}: {text}."
    if len(classes_drawn) < len(study.names):
        most_frequent = classes_drawn[:-1]  # the last one stands for the others
        which = f"the {len(most_frequent)} most frequent of {len(study.names):,} classes"
        caption += f" Drawn: {which}, and the others together; the JSON holds all classes."
    labels: dict[str, Any] = {"classes": classes_drawn, "xlabel": "predicted", "ylabel": "actual"}
    if names[1:]:
        labels |= {
            "panels": len(names),
            "height": figures.tall(len(classes_drawn), head=1.3, each=0.42),
        }
        return figures.row(
            curve_plots.matrices,
            {name: tables_by_system[name] for name in names},
            caption=caption,
            **labels,
        )
    labels |= {
        side: figures.tall(len(classes_drawn), head=head, each=CELL)
        for side, head in SQUARE.items()
    }
    return figures.picture(
        curve_plots.matrix, tables_by_system[study.leader], caption=caption, **labels
    )


def confusion(study: ClassesStudy) -> Html:
    """Precision, recall and F1 of every class, and the most frequent mistakes."""
    return stack(
        [
            _confused(study),
            class_by_class(study, study.by_class, "Class by class", COUNTED, DECIDED),
        ]
    )


@pieces.where(lambda study: len(study.confused))
def _confused(study: ClassesStudy) -> Html:
    """Which classes are most often predicted instead of which."""
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
    fields: dict[str, Any] = {
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
        fields |= as_json.records(calibration=study.calibration) | {
            "isotonic": study.isotonic.recorded()
        }
    return as_json.results(study, every_finding(study), fields)


def every_finding(study: ClassesStudy) -> list[kinds.Finding]:
    """Every finding of a multi-class report."""
    few_findings = [*few_rows(study.rows_by_name, "Classes", listed), *few_clusters(study)]
    scores = [
        *constant_better(study),
        *_decisions(study),
        *_probabilities(study),
        *_incomplete(study),
        *binned(study, "class"),
    ]
    return [*rows_read(study.account), *_classes(study), *scores, *few_findings, *of_sample(study)]


def _classes(study: ClassesStudy) -> Iterator[kinds.Finding]:
    rows = study.rows_by_name
    majority = float(study.shares.max())
    severity = kinds.WARNING if majority > diagnostics.DOMINANT else kinds.NOTE
    yield kinds.CLASS_SHARES.rated(
        severity, len(rows), "several", rows=counts(rows), majority=majority
    )
    yield from weights(study)
    if absent := [name for name, n in rows.items() if n == 0]:
        yield kinds.ABSENT_CLASSES.warning(len(absent), classes=listed(absent))
    if metrics := classes.ordered_alphabetically(study):
        finding = kinds.CLASS_ORDER.warning(
            len(rows), metrics=listed(metrics), order=listed(study.names)
        )
        yield finding.about(metrics, study.primary.label)


def _decisions(study: ClassesStudy) -> Iterator[kinds.Finding]:
    for name, lacking in classes.never_predicted(study).items():
        yield kinds.NEVER_PREDICTED.warning(len(lacking), system=name, classes=listed(lacking))
    if lower := classes.not_highest(study):
        yield kinds.NOT_HIGHEST.note(max(lower.values()), counts=counts(lower))


def _probabilities(study: ClassesStudy) -> Iterator[kinds.Finding]:
    if study.scored and not study.probabilities:
        yield kinds.NO_PROBABILITIES.warning(
            None, "several", out="log loss, Brier and calibration are"
        )
    if study.scored:
        classes_of = range(len(study.names))
        yield from decisions_as_scores(
            {name: [study.measured.table(name, c) for c in classes_of] for name in study.order}
        )
    sums_by_system = classes.row_sums(study)
    if zero_rows := nonzero({name: row.rows_of_zeros for name, row in sums_by_system.items()}):
        yield kinds.UNNORMALISED.warning(max(zero_rows.values()), "zero", rows=counts(zero_rows))
    if off_1 := {name: row for name, row in sums_by_system.items() if row.rows_not_one}:
        sums = listed(
            f"{name} {row.low:.3g} to {row.high:.3g} ({counted(row.rows_not_one, 'row')} not 1)"
            for name, row in off_1.items()
        )
        loss_changes = listed(
            f"{name} {signed_percent(row.loss_change)}" for name, row in off_1.items()
        )
        rows = max(row.rows_not_one for row in off_1.values())
        yield kinds.UNNORMALISED.warning(rows, "sums", sums=sums, moved=loss_changes)


def _incomplete(study: ClassesStudy) -> Iterator[kinds.Finding]:
    if lacking := classes.incomplete_slices(study):
        yield kinds.INCOMPLETE_SLICES.warning(len(lacking), slices=listed(lacking))


Either = ClassesStudy | LabelsStudy
UNFOLDED = 4  # squares that a page shows at once
OTHERS = 2  # systems beside the leader whose curves are folded below its own
NO_BANDS: Mapping[str, None] = {}
HEIGHT = 2.5  # inches of a square
CELL = 0.42  # inches of a cell of a confusion table
SQUARE = {"width": 2.8, "height": 1.8}  # inches beside the cells of a confusion table


@with_class_tables
def score_plot(study: Either) -> Figure | Html:
    """The histogram of the scores of each class: of its rows, and of the others."""
    edges = score_curves.edges(
        study.class_tables, probabilities=study.probabilities, bins=classes.HISTOGRAM_BINS
    )
    frame = score_curves.histogram(study.class_tables, edges)
    distances = _distances(study)
    bins = f"{classes.HISTOGRAM_BINS} equal bins of the score"
    caption = f"{_of_each(study)}: {_pair(study)}, the share of each in {bins}. {distances}"
    figure = figures.row(
        curve_plots.histograms,
        frame,
        caption=caption,
        **_size(study),
        xlabel=f"score of the {study.noun}",
        ylabel="share of rows",
        sides=study.sides,
    )
    return _folded(study, figure, "Scores")


@with_class_tables
def ks_plot(study: Either) -> Figure | Html:
    """The distribution functions of the scores of each class, with their largest distance."""
    tables = study.class_tables
    frame = pd.concat(
        [score_curves.distribution(name, c, classes.SQUARE.curve) for name, c in tables.items()]
    )
    caption = texts.sentence("classes.ks_plot", of_each=_of_each(study), pair=_pair(study))
    labels: dict[str, Any] = {"xlabel": f"score of the {study.noun}", "ylabel": "share at or below"}
    data = (frame, score_curves.distances(tables))
    further_options = _size(study) | labels | {"sides": study.sides}
    figure = figures.row(
        curve_plots.distributions, *data, caption=caption, says=_distances(study), **further_options
    )
    return figure.folded(f"Distribution functions of the scores (KS), {study.noun} by {study.noun}")


@pieces.where(lambda study: study.probabilities and study.class_tables)
def class_calibration_plot(study: Either) -> Figure | Html:
    """The reliability diagram of each class against the rest."""
    reliability_of_each = study.class_reliability
    words = _corners(study.class_tables)
    grey = (
        f"Grey: at each probability, {study.settings.level:.0%} of such curves if the "
        f"probabilities are right. "
    )
    grey = "" if reliability_of_each.bands is None else grey
    caption = texts.sentence("classes.class_calibration_plot", of_each=_of_each(study), grey=grey)
    options = _size(study) | {"ylabel": f"share of the {study.noun}", "height": 2.9}
    figure = page.diagrams(curve_plots.reliability, reliability_of_each, words, caption, **options)
    return _folded(study, figure, "Reliability diagrams")


@pieces.where(lambda study: study.probabilities and study.class_tables)
def decision_curve(study: Either) -> Figure | Html:
    """The net benefit of acting on each class by its probability."""
    panels = [_benefit(study.leader, name, c) for name, c in study.class_tables.items()]
    caption = texts.sentence("classes.decision_curve", of_each=_of_each(study))
    figure = figures.row(curve_plots.panels, panels, caption=caption, **_size(study))
    return figure.folded(f"Net benefit, {study.noun} by {study.noun}")


def _benefit(leader: str, name: str, c: Any) -> Panel:
    frame = decision_curves.decision_curves({leader: c}, classes.SQUARE.curve)
    return Panel(
        frame, threshold_page.THRESHOLD, "net benefit per row", name, reference=((0, 1), (0, 0))
    )


def _corners(tables: Any) -> dict[str, list[str]]:
    parts = classes.calibration_summaries(tables)
    places = decimals(
        [size for d, _ in parts.values() for size in (d.miscalibration, d.discrimination)]
    )
    words = {}
    for name, (d, slope) in parts.items():
        sizes = f"MCB {number(d.miscalibration, places)}", f"DSC {number(d.discrimination, places)}"
        words[name] = [*sizes, f"slope {number(slope, 2)}"]
    return words


def _of_each(study: Either) -> str:
    """Whose classes are drawn, and which of them are not."""
    drawn_names = list(study.class_tables)
    undrawn_names = [name for name in study.names if name not in study.class_tables]
    rows = f"{study.leader} ({counted(study.account.used, 'row')})"
    if not undrawn_names:
        return f"{rows}, each {study.noun}"
    drawn_classes = (
        f"the {len(drawn_names)} of {len(study.names)} {plural(study.noun, 2)} with the "
        f"{study.square_choice.words}"
    )
    return f"{rows}, {drawn_classes} (not drawn: {listed(undrawn_names, 6)})"


def _pair(study: Either) -> str:
    first, second = study.sides
    return f"{first} and {second}"


def _distances(study: Either) -> str:
    rows = score_curves.distances(study.class_tables)
    places = decimals(rows["value"])
    return (
        f"KS: {listed(f'{row.system} {number(row.value, places)}' for row in rows.itertuples())}."
    )


def _size(study: Either) -> dict[str, Any]:
    return {"panels": len(study.class_tables), "height": HEIGHT}


def _folded(study: Either, figure: Figure, summary: str) -> Figure:
    """The figure, folded if it has many squares."""
    has_many = len(study.class_tables) > UNFOLDED
    return figure.folded(f"{summary}, {study.noun} by {study.noun}") if has_many else figure


def recorded(study: Either) -> dict[str, Any]:
    """What these pictures draw, by class as `system`."""
    tables = study.class_tables
    if not tables:
        return {}
    edges = score_curves.edges(
        tables, probabilities=study.probabilities, bins=classes.HISTOGRAM_BINS
    )
    numbers: dict[str, Any] = {
        "scores": {
            "histogram": score_curves.histogram(tables, edges).to_dict("list"),
            "distances": score_curves.distances(tables).to_dict("records"),
        }
    }
    if study.probabilities:
        numbers["isotonic"] = study.class_reliability.recorded()
        benefit = [
            decision_curves.benefits({name: c}, decision_curves.PROBABILITIES)
            for name, c in tables.items()
        ]
        named = [frame[frame["system"] != decision_curves.ALL] for frame in benefit]
        numbers["net_benefit"] = pd.concat(named).to_dict("list")
    return {"one_by_one": numbers}


def curves_of_each(
    study: Either,
    system: str,
    areas: pd.DataFrame,
    bands: Mapping[str, pd.DataFrame | None] = NO_BANDS,
) -> Figure | Html:
    """A system's ROC and precision-recall curves of each class or label; areas: below each, by
    system. bands: by kind, where there are.
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
    areas = areas[areas["system"] == system].set_index(areas.columns[1]).loc[study.coloured]
    roc = Panel(
        study.curve("roc", system),
        "false positive rate",
        f"recall (n = {rows})",
        "ROC",
        bands.get("roc"),
        reference=DIAGONAL,
        keys=_keys(areas, "auc", "AUC"),
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
        keys=_keys(areas, "average_precision", "AP"),
        caption=f"Precision-recall curves of {caption}",
        faint=faint,
    )
    caption = f"{caption} AP: average precision."
    return figures.row(curve_plots.panels, [roc, pr], caption=caption, height=3.6, panels=2)


def _coloured(study: Either) -> str:
    """Which curves have colours, and which are grey."""
    coloured_count = f"{len(study.coloured)} of {len(study.names):,} {plural(study.noun, 2)}"
    grey = "the others"
    if len(study.curve_tables) == classes.MAX_CURVES:
        grey = f"the next {study.uncoloured}"
    which = f"the {coloured_count} with the {classes.WORST.words} of {study.leader}"
    return f" In colour: {which}; grey: {grey}."


def _keys(areas: pd.DataFrame, column: str, short: str) -> dict[str, str]:
    """What a legend says of each class: the area below its curve."""
    places = decimals(*(areas[f"{column}{end}"] for end in ("", "_low", "_high")))
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
    intervals = ("intervals", study.intervals_are)
    return paragraphs.definitions(
        [*page.metric_definitions(study), *further_items, intervals, *page.test_definitions(study)]
    )


def class_by_class(
    study: Either, frame: pd.DataFrame, caption: str, counted: Heads, metrics: Heads
) -> Html:
    """The leader's classes, and folded those of the others."""
    is_leader = frame["system"] == study.leader
    first = _one_by_one(study, frame[is_leader], f"{caption}: {study.leader}", counted, metrics)
    others_table = _one_by_one(
        study, frame[~is_leader], f"{caption}: the other systems", counted, metrics
    )
    return stack([first, folded("The other systems", others_table)])


def _one_by_one(
    study: Either, frame: pd.DataFrame, caption: str, counted: Heads, metrics: Heads
) -> Html:
    """One row per class; the second column of the frame names it."""
    kind = frame.columns[1]

    @each
    def name(row: Record) -> str:
        return str(row[kind] if row["system"] == study.leader else f"{row['system']}: {row[kind]}")

    columns: dict[str, Column] = {kind: name} | {
        head: count(column) for column, head in counted.items()
    }
    columns |= {
        head: limits(column, f"{column}_low", f"{column}_high") for column, head in metrics.items()
    }
    return of_rows(f"{caption}, with {study.settings.level:.0%} intervals", frame, columns)

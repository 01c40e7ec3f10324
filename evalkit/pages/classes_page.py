"""The words, tables and pictures of the multi-class page, each from the study's frames."""

from dataclasses import replace
from typing import Any

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, Results, by_system, count, each, limits, of_rows, text, value
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding
from evalkit.numbers import counted, decimals, listed, number
from evalkit.pages import class_pictures, each_class, explorers, page, record
from evalkit.pages.if_perfect import NO_LIMITS, if_perfect
from evalkit.pages.probabilities import DRAWN, reliability
from evalkit.pages.shared_findings import (
    beaten,
    binned,
    contrary,
    counts,
    few_clusters,
    few_rows,
    picked,
    rows_read,
    skewed,
    slices,
    weights,
)
from evalkit.studies import classification_diagnostics as diagnostics
from evalkit.studies.binary import BINS
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.classification_diagnostics import DOMINANT, drawn_together, worst_mistake

COUNTED = {"n": "rows", "predicted": "predicted"}


def title(study: ClassesStudy) -> Html:
    """The title and what was asked."""
    rows = f"{counted(len(study.account), 'row')} of {counted(len(study.classes), 'class')}"
    return each_class.title(study, study.account.columns["label"], rows)


def findings(study: ClassesStudy) -> Html:
    """What to know of the data before the numbers."""
    return tables.findings(every_finding(study))


def estimates(study: ClassesStudy) -> Html:
    """Every metric, and below what always predicting the largest class would give."""
    caption = f"Metrics with {study.settings.level:.0%} intervals, {page.sample(study, len(study.account))}"
    row = page.reference(study, "(always the largest class)", study.constant, study.settings.metrics)
    note = "(always the largest class): its probabilities are the shares of the classes." if study.probabilities else ""
    return page.estimates(study, caption, note, more=[row])


def curve_plot(study: ClassesStudy) -> Picture | Html:
    """The leader's ROC and precision-recall curves of each class against the rest."""
    if not study.scored:
        return Html("")
    bands = {kind: study.bands(kind) for kind in ("roc", "pr")}
    return each_class.curves(study, "each class against the rest", len(study.classes), bands)


def crossings(study: ClassesStudy) -> Html:
    """AUC and average precision of each class against the rest."""
    if not study.scored:
        return Html("")
    areas = {"auc": "AUC", "average_precision": "average_precision"}
    return each_class.one_by_one(study, study.by_class, "Each class against the rest", COUNTED, areas)


def choices(study: ClassesStudy) -> Html:
    """How much could be decided without review at a precision target."""
    columns = {
        "system": text("system"),
        "coverage": limits("coverage"),
        "accuracy among them": limits("right", "right_low", "right_high"),
        "classes": each(lambda row: Cell(listed((row["classes"] or "none").split(", ")), kind="text")),
    }
    caption = f"Coverage at precision ≥ {study.target:g}: rows predicted into classes that reach it"
    note = (
        "Coverage is the work saved if those predictions are not reviewed. The classes were chosen on these rows, "
        "and the intervals do not account for that choice. precision_target sets the target."
    )
    return of_rows(caption, study.covered, columns, note)


def calibration_plot(study: ClassesStudy) -> Picture | Html:
    """Share of right predictions against the score of the predicted class."""
    if not study.probabilities:
        return Html("")
    rows = study.calibration.to_dict("records")[:DRAWN]
    words = {row["system"]: [f"accuracy {number(row['right'])}", f"mean {number(row['confidence'])}"] for row in rows}
    how = "The probability is that of the predicted class. Above the dotted line: underconfident."
    return reliability(study, "share of right predictions", how, words, len(study.account))


def calibrated(study: ClassesStudy) -> Html:
    """Confidence against accuracy, and the top-label ECE."""
    if not study.probabilities:
        return Html("")
    columns = {
        "system": text("system"),
        "mean probability of the predicted class": value("confidence"),
        "accuracy": limits("right", "right_low", "right_high"),
        "top-label ECE, 10 equal bins": _ece,
    }
    caption = "Calibration of the probability of the predicted class (confidence)"
    return of_rows(caption, study.calibration, columns, NO_LIMITS)


def _ece(rows: tables.Rows) -> list[Cell]:
    places = decimals(row["ece_10"] for row in rows)
    cells = zip(value("ece_10")(rows), rows, strict=True)
    return [replace(cell, below=if_perfect(row["ece_10_expected"], row["ece_10_p"], places)) for cell, row in cells]


def gains(study: ClassesStudy) -> Html:
    """How often the actual class is among the k highest scores."""
    if not study.scored:
        return Html("")
    caption, note = "Actual class among the k highest scores", "Rows tied at the cut-off count by their share."
    return by_system(caption, study.tops, "k", limits("value"), note, "top {}".format)


def confusion_plot(study: ClassesStudy) -> Picture:
    """The leader's confusion table; of many classes the rarest share one row and one column."""
    table = study.confusion(study.leader).table
    classes, mistake = study.classes, worst_mistake(study)
    what = "weight of the rows" if study.weighted else "rows"
    caption = (
        f"{study.leader}: {what} by actual and predicted class (n = {len(study.account):,}), shaded by share of the "
        "actual class."
    )
    if mistake:
        text = "{} predicted as {}, {:,.0f}".format(*mistake)
        caption += f" Most frequent mistake: {text}{'' if study.weighted else ' rows'}."
    table, classes = drawn_together(table, classes)
    if len(classes) < len(study.classes):
        few = f"the {len(classes[:-1])} most frequent of {len(study.classes):,} classes, and the others together"
        caption += f" Drawn: {few}; the JSON holds all classes."
    size = plots.tall(len(classes), head=2.8, each=0.42), plots.tall(len(classes), head=1.8, each=0.42)
    labels: dict[str, Any] = {"classes": classes, "xlabel": "predicted", "ylabel": "actual"}
    return plots.picture(
        curve_plots.matrix,
        table,
        caption=caption,
        size=size,
        **labels,
    )


def confusion(study: ClassesStudy) -> Html:
    """Precision, recall and F1 of every class, and the most frequent mistakes."""
    decided = {"precision": "precision", "recall": "recall", "f1": "F1"}
    by_class = each_class.one_by_one(study, study.by_class, "Class by class", COUNTED, decided)
    return tables.stack([_confused(study), by_class])


def _confused(study: ClassesStudy) -> Html:
    """Which classes are most often predicted instead of which."""
    if not len(study.confused):
        return Html("")
    columns = {
        "actual": text("actual"),
        "predicted": text("predicted"),
        "weight" if study.weighted else "rows": count("n"),
        "share of the actual class": limits("share"),
        "share of all errors": value("of_errors"),
    }
    return of_rows(f"Most confused pairs of classes: {study.leader}", study.confused, columns)


def definitions(study: ClassesStudy) -> Html:
    """Exactly the metrics shown, then the intervals and the tests."""
    ece = f"mean |mean probability − share right| of {BINS} equal bins [a, b) of the probability of the predicted class"
    return each_class.definitions(study, [("top-label ECE", ece)])


def origin(study: ClassesStudy) -> Html:
    """Inputs, parameters, versions, the command."""
    return record.origin(study, "classification")


def results(study: ClassesStudy) -> Results:
    """Every number of the page, unrounded."""
    rows = study.account
    more: dict[str, Any] = {
        "kind": "multi-class",
        **record.population(rows),
        "classes": list(study.classes),
        "confusion": {name: study.confusion(name).table.tolist() for name in study.systems},
        "by_class": study.by_class.to_dict("records"),
        "coverage": study.covered.to_dict("records"),
        "confused": study.confused.to_dict("records"),
        **explorers.recorded(study),
        **class_pictures.recorded(study),
    }
    if study.scored:
        more["tops"] = study.tops.to_dict("records")
    if study.probabilities:
        more["calibration"] = study.calibration.to_dict("records")
        more["isotonic"] = study.isotonic.recorded()
    return record.results(study, "classification", every_finding(study), more)


# Findings


def every_finding(study: ClassesStudy) -> list[Finding]:
    """Every finding of a multi-class report."""
    data = [*rows_read(study.account), *_classes(study), *weights(study.weighted), *_absent(study)]
    return [
        *data,
        *beaten(study),
        *_never(study),
        *_not_highest(study),
        *_probabilities(study),
        *_incomplete(study),
        *binned(study, "class"),
        *few_rows(diagnostics.rows_by_class(study), "Classes", listed),
        *few_clusters(study),
        *picked(study),
        *contrary(study),
        *skewed(study),
        *slices(study),
    ]


def _classes(study: ClassesStudy) -> list[Finding]:
    rows, majority = diagnostics.rows_by_class(study), float(study.shares.max())
    text = f"Rows by class: {counts(rows)}. Always predicting the largest is right for {majority:.1%}."
    return [kinds.CLASS_SHARES.rated(WARNING if majority > DOMINANT else NOTE, text, len(rows))]


def _absent(study: ClassesStudy) -> list[Finding]:
    absent = [name for name, n in diagnostics.rows_by_class(study).items() if n == 0]
    text = f"Classes without a row, whose recall and AUC are undefined: {listed(absent)}."
    return [kinds.ABSENT_CLASSES.warning(text, len(absent))] if absent else []


def _never(study: ClassesStudy) -> list[Finding]:
    return [
        kinds.NEVER_PREDICTED.warning(
            f"{name} never predicts {listed(lacking)}: their precision is undefined.", len(lacking)
        )
        for name, lacking in diagnostics.never_predicted(study).items()
    ]


def _not_highest(study: ClassesStudy) -> list[Finding]:
    lower = diagnostics.not_highest(study)
    text = f"Rows whose predicted class does not have the highest score: {counts(lower)}."
    return [kinds.NOT_HIGHEST.note(text, max(lower.values()))] if lower else []


def _probabilities(study: ClassesStudy) -> list[Finding]:
    if not study.scored:
        return []
    if not study.probabilities:
        text = "Scores outside 0 to 1 are not probabilities: log loss, Brier and calibration are left out."
        return [kinds.NO_PROBABILITIES.warning(text)]
    far = diagnostics.unnormalised(study)
    sums = listed(f"{name} by {value:.2g}" for name, value in far.items())
    text = f"Probabilities that do not add up to 1: {sums}; log loss scales each row."
    return [kinds.UNNORMALISED.warning(text, len(far))] if far else []


def _incomplete(study: ClassesStudy) -> list[Finding]:
    lacking = diagnostics.incomplete_slices(study)
    text = (
        f"Slices that lack a class: {listed(lacking)}; averages over classes cover fewer classes or are "
        f"undefined there."
    )
    return [kinds.INCOMPLETE_SLICES.warning(text, len(lacking))] if lacking else []

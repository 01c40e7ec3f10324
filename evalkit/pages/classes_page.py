"""The words, tables and pictures of the multi-class page, each from the study's frames."""

from typing import Any

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, Results, escape, number, with_interval
from evalkit.pages import class_findings, each_class, page
from evalkit.pages.binary_plots import bin_limits, reliability
from evalkit.studies.class_diagnostics import drawn_together, largest_class, worst_mistake
from evalkit.studies.classes import BINS, ClassesStudy
from evalkit.studies.words import counted

COUNTED = {"n": "rows", "predicted": "predicted"}
NO_SCORES = "Only predicted classes, no scores: no curves and no probabilities."


def title(s: ClassesStudy) -> Html:
    """The title and what was asked."""
    rows = f"{counted(len(s.data.rows), 'row')} of {counted(len(s.data.classes), 'class')}"
    return each_class.title(s, s.data.rows.columns["label"], rows)


def findings(s: ClassesStudy) -> Html:
    """What to know of the data before the numbers."""
    return tables.findings(class_findings.of_classes(s))


def estimates(s: ClassesStudy) -> Html:
    """Every metric, and below what always predicting the largest class would give."""
    caption = f"Metrics with {s.settings.level:.0%} intervals, {page.sample(s, len(s.data.rows))}"
    row = [
        Cell("(always the largest class)", "muted"),
        *(Cell(number(largest_class(s, m)), "muted") for m in s.settings.metrics),
    ]
    note = "(always the largest class): as probabilities, the shares of the classes." if s.probabilities else ""
    return page.estimates(s, caption, note, more=[row])


def curve_plot(s: ClassesStudy) -> Picture | Html:
    """The leader's ROC and precision-recall curves of each class against the rest."""
    if not s.scored:
        return tables.paragraph(NO_SCORES)
    bands = {kind: s.bands(kind) for kind in ("roc", "pr")}
    return each_class.curves(s, "each class against the rest", len(s.data.classes), bands)


def crossings(s: ClassesStudy) -> Html:
    """AUC and average precision of each class against the rest."""
    if not s.scored:
        return Html("")
    areas = {"auc": "AUC", "average_precision": "average_precision"}
    return each_class.one_by_one(s, s.by_class, "Each class against the rest", COUNTED, areas)


def choices(s: ClassesStudy) -> Html:
    """How much could be decided without review at a precision target."""
    rows = [
        [
            Cell(escape(row["system"])),
            Cell(with_interval(row["coverage"], row["low"], row["high"])),
            Cell(with_interval(row["right"], row["right_low"], row["right_high"])),
            Cell(escape(row["classes"] or "none"), "text"),
        ]
        for row in s.covered.to_dict("records")
    ]
    caption = f"Coverage at precision ≥ {s.target:g}: rows predicted into classes that reach it"
    note = (
        "Coverage is the work saved if those predictions go without review. The classes were chosen on these rows, "
        "and the intervals take them as given; set precision_target to another target."
    )
    return tables.table(caption, ["system", "coverage", "right among them", "classes"], rows, note)


def calibration_plot(s: ClassesStudy) -> Picture | Html:
    """Share of right predictions against the score of the predicted class."""
    if not s.probabilities:
        return Html("")
    n = len(s.data.rows)
    limits = bin_limits(s.settings.level if s.plain else None)
    caption = (
        f"Share of right predictions in bins of about equally many rows by the probability of the predicted class, "
        f"{limits} ({counted(n, 'row')}). Above the dotted line: too modest."
    )
    return reliability(s, caption, f"share right (n = {n:,})")


def calibrated(s: ClassesStudy) -> Html:
    """Confidence against accuracy, and the top-label ECE."""
    if not s.probabilities:
        return tables.paragraph("No probabilities, no calibration.")
    rows = [
        [
            Cell(escape(row["system"])),
            Cell(number(row["confidence"])),
            Cell(with_interval(row["right"], row["right_low"], row["right_high"])),
            Cell(with_interval(row["ece_10"], row["ece_10_low"], row["ece_10_high"])),
        ]
        for row in s.calibration.to_dict("records")
    ]
    columns = ["system", "mean probability of the predicted class", "accuracy", "top-label ECE, 10 equal bins"]
    return tables.table("Probability of the predicted class taken at its word", columns, rows)


def gains(s: ClassesStudy) -> Html:
    """How often the actual class is among the k highest scores."""
    if not s.scored:
        return tables.paragraph("No scores: no second choices.")
    ks = list(dict.fromkeys(s.tops["k"]))
    rows = []
    for name in s.order:
        part = s.tops[s.tops["system"] == name].to_dict("records")
        rows.append([Cell(escape(name)), *(Cell(with_interval(r["value"], r["low"], r["high"])) for r in part)])
    note = "A tie at the border counts by its share."
    return tables.table("Actual class among the k highest scores", ["system", *(f"top {k}" for k in ks)], rows, note)


def confusion_plot(s: ClassesStudy) -> Picture:
    """The leader's confusion table; of many classes the rarest share one row and one column."""
    table = s.sample.rows[s.leader].confusion.table
    classes, mistake = s.data.classes, worst_mistake(s)
    what = "rows" if s.data.weight is None else "weight of the rows"
    caption = (
        f"{s.leader}: {what} by actual and predicted class (n = {len(s.data.rows):,}), shaded by share of the actual "
        "class."
    )
    if mistake:
        text = f"{mistake.actual} taken for {mistake.predicted}, {mistake.rows:,.0f}"
        caption += f" Most frequent mistake: {text}{' rows' if s.data.weight is None else ''}."
    table, classes = drawn_together(table, classes)
    if len(classes) < len(s.data.classes):
        few = f"the {len(classes[:-1])} most frequent of {len(s.data.classes):,} classes, and the others together"
        caption += f" Drawn: {few}; the JSON holds all classes."
    _, side = plots.tall(len(classes), head=2.2, each=0.42)
    labels: dict[str, Any] = {"classes": classes, "xlabel": "predicted", "ylabel": "actual"}
    return plots.picture(
        curve_plots.matrix,
        table,
        alt=caption,
        caption=caption,
        size=plots.wide(1, edge=side, each=1.6, height=side),
        **labels,
    )


def confusion(s: ClassesStudy) -> Html:
    """Precision, recall and F1 of every class."""
    decided = {"precision": "precision", "recall": "recall", "f1": "F1"}
    return each_class.one_by_one(s, s.by_class, "Class by class", COUNTED, decided)


def definitions(s: ClassesStudy) -> Html:
    """Exactly the metrics shown, then the intervals and the tests."""
    ece = f"mean |mean probability − share right| of {BINS} equal bins [a, b) of the probability of the predicted class"
    return each_class.definitions(s, [("top-label ECE", ece)])


def origin(s: ClassesStudy) -> Html:
    """Inputs, parameters, versions, the command."""
    return page.origin(s, s.data.rows.sources, "classification")


def results(s: ClassesStudy) -> Results:
    """Every number of the page, unrounded."""
    rows = s.data.rows
    more: dict[str, Any] = {
        "kind": "multi-class",
        **page.population(rows),
        "classes": list(s.data.classes),
        "confusion": {name: one.confusion.table.tolist() for name, one in s.sample.rows.items()},
        "by_class": s.by_class.to_dict("records"),
        "coverage": s.covered.to_dict("records"),
    }
    if s.scored:
        more["tops"] = s.tops.to_dict("records")
    if s.probabilities:
        more["calibration"] = s.calibration.to_dict("records")
    return page.results(s, "classification", rows.sources, class_findings.of_classes(s), more)

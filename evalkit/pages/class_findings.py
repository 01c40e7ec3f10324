"""What to know of several classes, and of several labels, before the numbers, in words."""

from collections.abc import Iterable

from evalkit.drawing.tables import number
from evalkit.findings import inputs, predictions
from evalkit.findings.finding import NOTE, WARNING, Finding
from evalkit.pages.shared_findings import counts, idle, rounded, rows_read, slices, weights
from evalkit.studies import class_diagnostics as diagnostics
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.diagnostics import ends
from evalkit.studies.multilabel import MultiLabelStudy

LISTED = 12  # classes or labels that a line names


def of_classes(s: ClassesStudy) -> list[Finding]:
    """Every finding of a multi-class report."""
    data = [*rows_read(s.data.rows), *_classes(s), *weights(s.data.weight is not None), *_absent(s)]
    return [*data, *_never(s), *_not_highest(s), *_probabilities(s), *_incomplete(s), *slices(s)]


def _first(texts: Iterable[str]) -> str:
    several = list(texts)
    return ", ".join([*several[:LISTED], *(["…"] if len(several) > LISTED else [])])


def _classes(s: ClassesStudy) -> list[Finding]:
    classes = diagnostics.classes(s)
    listed = _first(f"{name} {n:,}" for name, n in classes.rows.items())
    text = f"Rows by class: {listed}. Always predicting the largest is right for {classes.majority:.1%}."
    severity = WARNING if classes.dominated else NOTE
    return [inputs.CLASS_SHARES.rated(severity, text, len(classes.rows))]


def _absent(s: ClassesStudy) -> list[Finding]:
    absent = diagnostics.classes(s).absent
    text = f"Classes without a row, whose recall and AUC are undefined: {', '.join(absent)}."
    return [inputs.ABSENT_CLASSES.warning(text, len(absent))] if absent else []


def _never(s: ClassesStudy) -> list[Finding]:
    return [
        predictions.NEVER_PREDICTED.warning(
            f"{name} never predicts {', '.join(lacking)}: their precision is undefined.", len(lacking)
        )
        for name, lacking in diagnostics.never_predicted(s).items()
    ]


def _not_highest(s: ClassesStudy) -> list[Finding]:
    lower = diagnostics.not_highest(s)
    text = f"Rows whose predicted class has not the highest score: {counts(lower)}."
    return [predictions.NOT_HIGHEST.note(text, max(lower.values()))] if lower else []


def _probabilities(s: ClassesStudy) -> list[Finding]:
    if not s.scored:
        return []
    if not s.probabilities:
        text = "Scores outside 0 to 1 are no probabilities: log loss, Brier and calibration are left out."
        return [predictions.NO_PROBABILITIES.warning(text)]
    far = diagnostics.unnormalised(s)
    listed = ", ".join(f"{name} by {value:.2g}" for name, value in far.items())
    text = f"Probabilities that do not add up to 1: {listed}; log loss scales each row."
    return [predictions.UNNORMALISED.warning(text, len(far))] if far else []


def _incomplete(s: ClassesStudy) -> list[Finding]:
    lacking = diagnostics.incomplete_slices(s)
    text = f"Slices that lack a class: {', '.join(lacking)}; averages over classes are over fewer there, or undefined."
    return [inputs.INCOMPLETE_SLICES.warning(text, len(lacking))] if lacking else []


# Several labels


def of_labels(s: MultiLabelStudy) -> list[Finding]:
    """Every finding of a multi-label report."""
    data = [*rows_read(s.data.rows), *_labels(s), *weights(s.data.weight is not None), *_constant(s)]
    return [*data, *_threshold(s), *_scores(s), *slices(s)]


def _labels(s: MultiLabelStudy) -> list[Finding]:
    labels = diagnostics.labels(s)
    listed = _first(f"{name} {share:.1%}" for name, share in labels.shares.items())
    text = f"Labels that are true: {listed}; {labels.per_row:.2f} per row, {labels.none:.1%} of the rows have none."
    return [inputs.CLASS_SHARES.note(text, len(labels.shares))]


def _constant(s: MultiLabelStudy) -> list[Finding]:
    constant = diagnostics.labels(s).constant
    text = f"Labels that are never or always true, whose AUC is undefined: {', '.join(constant)}."
    return [inputs.CONSTANT_LABELS.warning(text, len(constant))] if constant else []


def _threshold(s: MultiLabelStudy) -> list[Finding]:
    loss, limits = diagnostics.labels(s).hamming_of_none, ends(s.data.score)
    text = f"Threshold: {s.threshold:.12g} for every label. Predicting none: Hamming loss {number(loss)}."
    beyond = idle(dict.fromkeys(limits, s.threshold), limits)
    return [predictions.THRESHOLD.note(text), *rounded(s.threshold, diagnostics.stored(s)), *beyond]


def _scores(s: MultiLabelStudy) -> list[Finding]:
    text = "Scores outside 0 to 1 are no probabilities: calibration is left out."
    return [] if s.probabilities else [predictions.NO_PROBABILITIES.warning(text)]

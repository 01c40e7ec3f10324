"""What to know of the rows, the split and the fits of a validation before the numbers, in words."""

import numpy as np

from evalkit.arrays import codes
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding, Kind, measured
from evalkit.numbers import counted, listed
from evalkit.pages.shared_findings import class_named, columns_read, idle, picked, rounded, skewed, used
from evalkit.reading.inputs.folds import LeftOut
from evalkit.reading.tables import rules
from evalkit.studies.diagnostics import ends
from evalkit.studies.out_of_fold import Validation
from evalkit.studies.resplits import Unfitted

REASONS: dict[Kind, str] = {
    kinds.UNMATCHED_ROWS: "{n:,} rows whose id is missing from another system",
    kinds.UNUSED_COLUMNS: "the columns {names}, named by ignore",
    kinds.SAMPLED_ROWS: "{n:,} of {of:,} rows: the others were drawn at random (most_rows)",
    kinds.SET_ASIDE: "{n:,} rows of the fold {names}: a validation set, neither training nor test rows",
}


def of(study: Validation) -> list[Finding]:
    """Every finding of a validation report: those of the audit first."""
    return [*study.findings, *unchecked(study), *of_data(study)]


def of_data(study: Validation) -> list[Finding]:
    """What to know of the data and of the fits, beside what the audit found."""
    data = [_rows(study), *(_left_out(part) for part in study.examples.left_out), _label(study), *_threshold(study)]
    return [
        *data,
        *_features(study),
        *_models(study),
        *_repeats(study),
        *_untested(study),
        *_pooled(study),
        *_fits(study),
        *picked(study, [name for name in study.systems if name != study.baseline]),
        *skewed(study),
    ]


def _rows(study: Validation) -> Finding:
    e = study.examples
    text = f"{used(e.read, len(e), len(e.score))}. Columns: {columns_read(e.columns)}."
    return kinds.ROWS_READ.note(text, e.read)


def _left_out(unused: LeftOut) -> Finding:
    names = listed(map(repr, unused.names) if unused.kind is kinds.UNUSED_COLUMNS else unused.names)
    reason = REASONS[unused.kind].format(n=unused.count, names=names, of=unused.of)
    return unused.kind.warning(f"Left out: {reason}.", unused.count)


def _label(study: Validation) -> Finding:
    e, n = study.examples, len(study.examples)
    if not e.classes:
        label = e.label
        text = f"The label is a number from {label.min():g} to {label.max():g}, mean {label.mean():.4g}."
        return kinds.TARGET_VALUES.note(text, n)
    counts = np.bincount(e.label.astype(np.int64)).tolist()
    shares = listed(f"{name}: {of_class:,}" for name, of_class in zip(e.classes, counts, strict=True))
    positive = class_named(e.classes[1], e.columns["label"]) if len(e.classes) == 2 else ""
    return kinds.CLASS_SHARES.note(f"Classes: {shares}.{f' Class 1 is {positive}.' if positive else ''}", n)


def _threshold(study: Validation) -> list[Finding]:
    """How scores that are not doubles are compared with the threshold, and whether it decides all rows alike."""
    if study.threshold is None:
        return []
    stored, scores_of = study.examples.precision, ends(study.examples.score)
    beyond = idle({name: rules.rounded(study.threshold, stored[name]) for name in scores_of}, scores_of)
    others = {name: own for name, own in scores_of.items() if own[0] < 0 or own[1] > 1}
    if others and "threshold" not in study.given:
        scores = listed(f"{name} {low:.6g} to {high:.6g}" for name, (low, high) in others.items())
        text = f"The usual threshold {study.threshold:g} is applied to scores that are not probabilities: {scores}."
        beyond.append(kinds.USUAL_THRESHOLD.warning(text, len(others)))
    return rounded(study.threshold, stored) + beyond


def _features(study: Validation) -> list[Finding]:
    table = study.examples.features
    if table is None:
        return []
    texts, count = list(table.select_dtypes(exclude="number")), table.shape[1]
    types = f"of them text: {listed(texts)}" if texts else "all numbers"
    findings = [kinds.FEATURES.note(f"{count} features, {types}.", count)]
    constant = [str(name) for name in table if table[name].nunique(dropna=False) < 2]
    line, n = f"Constant or without any value: {listed(constant)}.", len(constant)
    return findings + ([kinds.CONSTANT_FEATURES.warning(line, n)] if n else [])


def _models(study: Validation) -> list[Finding]:
    return [kinds.MODELS.note(f"{text}.") for text in study.described]


def _repeats(study: Validation) -> list[Finding]:
    e = study.examples
    if e.repeats < 2:
        return []
    times = np.ones(1, np.int64) if e.id is None else np.bincount(codes(e.id)[0])
    least, most = int(times.min()), int(times.max())
    each = f"{least}" if least == most else f"{least} to {most}"
    once = "" if study.settings.unit != "id" else " Each id counts once, with the mean of its repeats."
    text = f"The folds were drawn {e.repeats} times: the {len(e):,} rows have {study.distinct:,} ids"
    return [kinds.REPEATED_FOLDS.note(f"{text}, each of them in {each} rows.{once}", e.repeats)]


def _untested(study: Validation) -> list[Finding]:
    n = len(study.examples) - study.rows.size
    text = f"Used for training only, tested by no fold: {counted(n, 'row')}."
    return [kinds.UNTESTED_ROWS.note(text, n)] if n else []


def _pooled(study: Validation) -> list[Finding]:
    """That few rows are pooled out of fold, with what was simulated."""
    text = f"{counted(study.distinct, study.row_name)} pooled from {len(study.tests)} folds. {measured.POOLED}"
    return [kinds.FEW_POOLED.note(text, study.distinct)] if study.pooled_of_folds else []


def unchecked(study: Validation) -> list[Finding]:
    """The checks that could not be run, which the verdict weighs for itself."""
    n = len([check for check in study.checks if check.lacks])
    text = f"Could not be checked: {'; '.join(study.missing_checks)}."
    return [kinds.UNCHECKED.note(text, n)] if n else []


def _fits(study: Validation) -> list[Finding]:
    if study.other is None:
        return []
    unfitted = [kinds.NOT_FITTED.warning(f"Not fitted: {why_not(part)}.", 1) for part in study.other.unfitted]
    warned = {f"The estimator warned in {n:,} fits: {text}": n for text, n in study.other.warned.items()}
    return unfitted + [kinds.ESTIMATOR_WARNED.warning(text, n) for text, n in warned.items()]


def why_not(part: Unfitted) -> str:
    """A way of splitting and why it was not fitted in full."""
    return f"{part.way}: {part.reason or f'{part.made:,} of {part.wanted:,} fits completed in the time allowed'}"

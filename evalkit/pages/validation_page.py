"""The words and tables that only the validation page has, each from the study's frames."""

from typing import Any

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, Results, joined
from evalkit.findings.kinds import SEVERE, WARNING, Finding
from evalkit.numbers import counted, estimate, number, p_value, plural, signed
from evalkit.pages import first_screen, folds_page, page, pieces, record, validation_findings
from evalkit.pages.first_screen import link
from evalkit.studies.out_of_fold import Validation
from evalkit.studies.resplits import ONE_OUT, OUT_OF_BAG

pieces.listed(__name__)

EXAMPLES = 3
TRUST = "how far to trust this evaluation: "
LEAKS = "table-leakage"  # where the findings of the audit stand
DEFINITIONS = [
    ("out of fold", "predicted by a model that was fitted without the row's fold"),
    (
        "pooled",
        "the metric of all out-of-fold rows together; accuracy with Wilson's interval, AUC with DeLong's, means "
        "with t corrected for skewness; with a group column, whole groups are the units. A pooled AUC also compares "
        "scores of different folds: a score that is constant within each fold then has an AUC below ½",
    ),
    (
        "Nadeau–Bengio",
        "t over J fold values whose variance is multiplied by 1/J + test/training rows, because the folds share "
        "rows; doi:10.1023/A:1024068626366",
    ),
    ("McNemar", "asymptotic test on the rows that only one of two systems classifies correctly, with Tango's interval"),
    (
        "Cochran's Q",
        "Σ (fold − mean)² / variance; about the number of folds − 1 if the folds are homogeneous. p by χ², or by "
        "Welch's F if the variance is estimated within each fold",
    ),
    (
        "verdict",
        "fail: a severe finding; cannot tell: a warning, or groups, time or copied rows could not be checked; "
        "pass: neither. The gate 'no severe finding' fails only on fail, even if checks could not be run; "
        "'trusted' requires pass",
    ),
]
OF_HOLDOUT = [
    (
        "training gap",
        "of a holdout: the metric on its training rows minus that on its test rows. The interval combines those of "
        "the two values (MOVER), doi:10.1002/sim.3095. A large gap shows overfitting, not a leak",
    ),
]
OF_RESPLITS = [
    (
        "r × k-fold",
        "repeated cross-validation: the mean over r draws of the folds. Its standard deviation is that of one draw "
        "divided by √r",
    ),
    (
        OUT_OF_BAG,
        ".632 = 0.368 · training + 0.632 · out of bag; .632+ gives out of bag more weight the more the model overfits",
    ),
    (
        ONE_OUT,
        "each row is tested by a model fitted to all others. Its own class is then slightly rarer in training: a model "
        "that predicts the majority class has accuracy 0 if the classes have equal size",
    ),
]


def title(study: Validation) -> Html:
    """The title and what was asked."""
    asked = f"Can the evaluation of {study.subject} be trusted, on {_extent(study)}?"
    return first_screen.heading("Validation report", asked, study)


def _extent(study: Validation) -> str:
    n, folds = len(study.examples), len(study.tests)
    if study.holdout:
        return f"{counted(study.rows.size, 'test row')} of one holdout"
    repeats = study.examples.repeats
    if repeats > 1:
        return f"{study.distinct:,} ids, {repeats} repeats of {folds / repeats:g} folds"
    return f"{counted(n, 'row')} in {counted(folds, 'fold')}"


# The verdict


def verdict(study: Validation) -> Html:
    """The gate where one is set; whether to trust, and why; what the estimate is then worth."""
    gate = (
        [tables.verdict("pass" if study.gate["passed"] else "fail", Cell(f"gate: {study.gate['rule']}"))]
        if study.gate
        else []
    )
    lines = [_estimate(study), *_training_gap(study), *_baseline(study), Cell(f"Split: {study.folds.rule}.")]
    unchecked = validation_findings.unchecked(study)
    lines += [joined(f"{finding.message} ", Cell("", markup=tables.code(finding))) for finding in unchecked]
    findings = (" (", link("evidence", LEAKS), ")") if study.findings else ()
    main = joined(f"{TRUST if study.word == 'cannot tell' else ''}{_reason(study)}", *findings)
    card = tables.verdict(study.word, main, *lines)
    return tables.stack([*gate, tables.answer(_answer(study)), first_screen.gloss(study), card])


def _answer(study: Validation) -> str:
    """In one sentence whether the evaluation is sound, as far as could be checked."""
    run, every = len([check for check in study.checks if not check.lacks]), len(study.checks)
    extent = f"the {run} checks that could be run, of {every}"
    warned = [finding for finding in study.findings if finding.matters]
    if study.word == "fail":
        return f"Do not rely on this evaluation: {_problems(warned)} found in {extent}."
    if warned:
        return (
            f"Do not rely on this evaluation before the warnings are explained: {_problems(warned)} found in {extent}."
        )
    if study.word == "pass":
        return f"No problem was found in {extent}; the most important checks are among them."
    return f"No problem was found, but only {run} of {every} checks could be run, and important ones are missing."


def _problems(findings: list[Finding]) -> str:
    return f"{counted(len(findings), 'problem')} {'was' if len(findings) == 1 else 'were'}"


def _reason(study: Validation) -> str:
    severe = [finding for finding in study.findings if finding.severity == SEVERE]
    warned = [finding for finding in study.findings if finding.severity == WARNING]
    if study.word == "fail":
        return f"this evaluation cannot be trusted, because {severe[0].message}{_more(severe)}"
    if warned:
        return f"a warning must be explained first: {warned[0].message}{_more(warned)}; {_checked(study)}"
    unseen = study.unseen
    missing = f"; important checks are missing: {', '.join(unseen)}" if unseen else ""
    return f"no problem found; {_checked(study)}{missing}"


def _checked(study: Validation) -> str:
    run = [check for check in study.checks if not check.lacks]
    return f"{len(run)} of {len(study.checks)} checks could be run"


def _more(findings: list[Finding]) -> str:
    return f" (and {len(findings[1:])} more below)" if len(findings) > 1 else ""


def _estimate(study: Validation) -> Cell:
    first = study.answer
    value = estimate(first["value"], first["low"], first["high"])
    unit = f"{first['n']:,} {plural(first['unit'], first['n'])}"
    named = f" of {study.subject}"
    if not study.fitted and len(study.systems) > 2:
        named += f" (the best of {len(study.systems[1:])}, selected on these rows)"
    how = f"{named}: {value}, {unit}, {first['what']} ({first['method']}); "
    unsound = "Not to be relied on: " if study.word == "fail" else ""
    return joined(unsound, page.metric_link(study.primary), how, link("evidence", folds_page.INTERVALS), ".")


def _training_gap(study: Validation) -> list[Cell]:
    gap = study.training_gap
    if gap is None:
        return []
    train = study.folds.sizes[0][0]
    text = f"Training gap ({study.primary.label} on {train:,} training rows minus that on {study.rows.size:,} test "
    return [Cell(f"{text}rows): {estimate(gap.value, gap.low, gap.high, signed)} ({gap.method}).")]


def _baseline(study: Validation) -> list[Cell]:
    rows = study.paired[study.paired["second"] == study.baseline] if len(study.paired) else study.paired
    if not len(rows):
        return []
    row = rows.iloc[0]
    e = study.estimate(study.primary, study.baseline)
    value, low, high = ("by_fold", "low", "high") if study.few_pooled else ("pooled", "pooled_low", "pooled_high")
    difference = estimate(row[value], row[low], row[high], signed)
    text = f" {first_screen.BETWEEN[row['verdict']]} {study.baseline}, which uses no features and reaches "
    text += f"{number(e.value)}: {difference}, adjusted p {p_value(row['adjusted'])} ({row['method']}); "
    return [joined(Cell(row["verdict"], tag="strong"), text, link("evidence", folds_page.PAIRED), ".")]


# The data and what leaks


def findings(study: Validation) -> Html:
    """What to know of the data and of the fits before the numbers."""
    return tables.findings(validation_findings.of_data(study))


def leakage(study: Validation) -> Html:
    """Everything that the audit found, severe findings first, with example rows."""
    if not study.findings:
        return tables.paragraph("No problem was found by the checks that could be run.")
    rows = [_finding(study, finding) for finding in study.findings]
    note = "severe: the estimate is wrong; warning: it may be wrong; note: for information. At most 3 examples each."
    columns = ["severity", "code", "check", "rows", "finding", "examples"]
    return tables.table(f"Findings of the audit ({len(rows)})", columns, rows, note, LEAKS)


def _finding(study: Validation, finding: Finding) -> list[Cell | str]:
    named = study.examples_of(finding, EXAMPLES)
    severity = Cell(finding.severity, tag="strong" if finding.severity == SEVERE else "")
    texts = [finding.kind.code, finding.name, f"{finding.count:,} of {finding.of:,}", finding.message, ", ".join(named)]
    return [severity, *(Cell(text, kind="" if i == 2 else "text") for i, text in enumerate(texts))]


# The end


def definitions(study: Validation) -> Html:
    """The metrics shown, then the words of this page."""
    holdout = OF_HOLDOUT if study.training_gap is not None else []
    resplits = OF_RESPLITS if study.other is not None or study.examples.repeats > 1 else []
    return tables.definitions([*page.metric_definitions(study), *DEFINITIONS, *holdout, *resplits])


def origin(study: Validation) -> Html:
    """Inputs, parameters, versions, the command."""
    return record.origin(study, "validation")


def results(study: Validation) -> Results:
    """Every number of the page, unrounded."""
    more: dict[str, Any] = {
        "columns": dict(study.examples.columns),
        "verdict": {
            "word": study.word,
            "because": _reason(study),
            "not_checked": study.missing_checks,
            "checks": {"run": [c.name for c in study.checks if not c.lacks], "all": [c.name for c in study.checks]},
        },
        "split": {
            "rule": study.folds.rule,
            "folds": len(study.tests),
            "rows": len(study.examples),
            "tested": study.rows.size,
            "repeats": study.examples.repeats,
            "distinct": study.distinct,
        },
        "training_gap": None if study.training_gap is None else vars(study.training_gap),
        "subject": study.subject,
        "selection": study.selection.to_dict("records"),
        "intervals": study.intervals.to_dict("records"),
        "folds": study.by_fold.to_dict("records"),
        "heterogeneity": study.unlike,
        "paired": study.paired.to_dict("records"),
        "other_splits": None,
    }
    if study.other is not None:
        more["other_splits"] = {
            "ways": study.other.summary.to_dict("records"),
            "estimates": study.other.points.to_dict("records"),
            "learning_curve": study.other.curve.to_dict("records"),
            "bootstrap": vars(study.other.bootstrap) if study.other.bootstrap else None,
            "warned": study.other.warned,
        }
    return record.results(study, "validation", validation_findings.of(study), more)

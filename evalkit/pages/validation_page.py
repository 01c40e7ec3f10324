"""The words, tables and figures of the validation page, each from the study's frames."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from evalkit.arrays import Record
from evalkit.drawing import curve_plots, figures, paragraphs, plots, shown, strips, tables
from evalkit.drawing.cells import Cell, Head, as_cell, interval_cell, join, number_cell
from evalkit.drawing.columns import (
    Column,
    Rows,
    column_by_row,
    count,
    limits,
    p_column,
    pair,
    text,
    value,
    words,
)
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import SEVERE, WARNING, Finding
from evalkit.numbers import (
    Show,
    count_with_noun,
    estimate,
    listed,
    number,
    p_value,
    percent,
    plural,
    signed_number,
)
from evalkit.pages import as_json, first_screen, page, pieces, texts
from evalkit.pages.shared_findings import (
    class_in_words,
    columns_in_words,
    decisions_as_scores,
    idle_thresholds,
    leader_picked,
    rounded_thresholds,
    rows_used,
    rows_without_value,
    skewed_differences,
)
from evalkit.reading.tables import rules
from evalkit.report import Results
from evalkit.studies import split_claims
from evalkit.studies.diagnostics import OPPOSITE_VERDICT, ends
from evalkit.studies.out_of_fold import (
    FEW_POOLED_ROWS,
    LEARNER_CLAIM,
    MODELS,
    ONE_OUT,
    SELECTED_IN_FOLDS,
    SELECTED_ON_ALL_ROWS,
    Validation,
)
from evalkit.studies.resplits import OUT_OF_BAG, Resplits, Unfitted

pieces.offer_pieces(__name__)


CellOfRow = Callable[[Record], Cell]  # makes a cell of a table from a row of a frame
EXAMPLES = 3  # rows that a finding of the audit names
LEAKS = "table-leakage"  # where the findings of the audit stand


def title(study: Validation) -> Html:
    """The title and what was asked."""
    question = f"Can the evaluation of {study.evaluated_system} be trusted, on {_extent(study)}?"
    return first_screen.heading("Validation report", question, study)


def _extent(study: Validation) -> str:
    """How many rows or ids the evaluation is over, and how they are split, in words.

    If the folds were drawn several times, an id can have a row in every draw, so that ids are
    counted in place of rows.
    """
    folds = len(study.tests)  # of all repeats together
    repeats = study.examples.repeats
    if study.holdout:
        return f"{count_with_noun(study.rows.size, 'test row')} of one holdout"
    if repeats > 1:
        if folds == repeats:  # one test set in each repeat
            return f"{count_with_noun(study.distinct, 'test id')} of {repeats} holdouts"
        split = f"{folds} folds in {repeats} repeats"  # of unlike numbers of folds
        if study.folds_per_repeat is not None:
            split = f"{repeats} repeats of {study.folds_per_repeat} folds"
        return f"{study.distinct:,} ids, {split}"
    if study.examples.has_resampled_folds:
        ids = count_with_noun(study.distinct, "id")
        return f"{ids} in {count_with_noun(folds, 'fold')} drawn anew"
    rows = count_with_noun(len(study.examples), "row")
    return f"{rows} in {count_with_noun(folds, 'fold')}"


def verdict(study: Validation) -> Html:
    """The first screen: the gate if one is set; in a sentence, whether the evaluation is sound; the
    value of each system; then the verdict with its first reason, followed by the estimate and what
    limits it.
    """
    lines = [_subject_estimate(study)]
    lines += _training_gap(study)
    lines += _against_baseline(study)
    lines += _claims(study)
    lines.append(Cell(f"Split: {study.folds.rule}."))
    for finding in unrun_checks(study):
        lines.append(join(f"{finding.message} ", Cell("", markup=shown.code(finding))))
    if _deciding_findings(study):
        first_line = _with_evidence(study, _problem(study))
    elif study.unchecked_leaks:
        first_line = _with_evidence(study, texts.sentence("validation.unseen"))
    else:  # nothing speaks against the subject's estimate: it takes the first line itself
        first_line = lines.pop(0)
    parts = first_screen.gate(study)
    parts.append(paragraphs.answer(_answer(study)))
    parts.append(_strip(study))
    parts.append(paragraphs.verdict(study.word, first_line, *lines))
    parts.append(first_screen.gloss(study))
    return stack(parts)


def _with_evidence(study: Validation, text: str) -> Cell:
    """The text with a link to the findings of the audit, if there are any."""
    if not study.audit_findings:
        return join(text)
    return join(text, " (", first_screen.linked("evidence", LEAKS), ")")


def _answer(study: Validation) -> str:
    """In one sentence whether the evaluation is sound, as far as could be checked: problems first;
    without problems, whether the checks for the usual leaks (groups, time, copies) could be run.
    """
    run = len(study.checks_run)
    all_checks = len(study.checks)
    checks = f"the {run} checks that could be run, of {all_checks}"
    problems = len([finding for finding in study.audit_findings if finding.matters])
    if problems:
        when = "" if study.word == "fail" else " before the warnings are explained"
        verb = "was" if problems == 1 else "were"
        problems_found = f"{count_with_noun(problems, 'problem')} {verb} found in {checks}"
        return f"Do not rely on this evaluation{when}: {problems_found}."
    if study.word == "pass":
        return f"No problem was found in {checks}; the most important checks are among them."
    return (
        f"No problem was found, but only {run} of {all_checks} checks could be run; important ones "
        f"are missing: {listed(study.unchecked_leaks)}."
    )


def _strip(study: Validation) -> Html:
    """A chart with a row for each system: its primary metric with the interval on which its verdict
    rests, and its verdict against the subject.
    """
    places = page.places(study, study.primary_metric.label)
    subject = study.evaluated_system
    # `paired` compares the subject with each other system ("worse": the subject is worse); the
    # chart says of the other system how it compares with the subject, which is the reverse
    verdicts = {}
    for row in study.paired.to_dict("records"):
        verdicts[row["second"]] = OPPOSITE_VERDICT.get(row["verdict"], row["verdict"])
    rows = []
    for name in study.order:
        deciding = study.answer  # of the subject, whose interval may come from fits on other splits
        if name != subject:
            deciding = vars(study.deciding_estimate(study.primary_metric, name))
        value = deciding["value"]
        low = deciding["low"]
        high = deciding["high"]
        word = verdicts.get(name, "")  # the subject has none
        verdict_cell = Cell(word, tag="strong") if word else Cell("")
        result = strips.Result(
            name=Cell(name),
            points=[(name, (value, low, high))],
            cells=[interval_cell(value, low, high, places=places), verdict_cell],
            tone=word,
        )
        rows.append(result)
    level = percent(study.settings.level)
    caption = f"{study.primary_metric.label} with its {level} interval; {_interval_methods(study)}"
    heads: list[Head] = [
        "system",
        page.metric_head(study.primary_metric),
        f"against {subject}",
    ]
    return strips.strip(caption, heads, rows)


def _interval_methods(study: Validation) -> str:
    """How the intervals on which the verdicts rest were calculated, in words: each method with its
    systems, the subject's method first.
    """
    others = [name for name in study.order if name != study.evaluated_system]
    systems_by_method: dict[str, list[str]] = {}
    for name in [study.evaluated_system, *others]:
        method = study.interval_method(name)
        systems_by_method.setdefault(method, []).append(name)
    return "; ".join(f"{listed(names)}: {method}" for method, names in systems_by_method.items())


def _deciding_findings(study: Validation) -> list[Finding]:
    """The findings that decide the verdict: the severe ones if the verdict is fail, else the
    warnings; empty if there are none.
    """
    severity = SEVERE if study.word == "fail" else WARNING
    return [finding for finding in study.audit_findings if finding.severity == severity]


def _problem(study: Validation) -> str:
    """What speaks against the evaluation: the first finding that decides the verdict and the number
    of the others; without such findings, the important checks that could not be run; "" if there
    are neither.
    """
    deciding = _deciding_findings(study)
    if deciding:
        first, *further = deciding
        further_note = f" (and {len(further)} more below)" if further else ""
        return f"{first.message}{further_note}"
    if study.unchecked_leaks:  # the names of these checks
        return f"important checks are missing: {', '.join(study.unchecked_leaks)}"
    return ""


def _reason(study: Validation) -> str:
    """Why the verdict is what it is, for the JSON: a severe finding makes it fail; a warning or a
    missing check leaves it open; otherwise the number of checks stands behind it.
    """
    problem = _problem(study)  # in words; "" if there is none
    if study.word == "fail":
        return f"this evaluation cannot be trusted, because {problem}"
    checked = f"{len(study.checks_run)} of {len(study.checks)} checks could be run"
    if _deciding_findings(study):  # the verdict is not fail, so these are warnings
        return f"a warning must be explained first: {problem}; {checked}"
    if problem:  # not a finding, but the important checks that could not be run
        return f"no problem found; {checked}; {problem}"
    return f"no problem found; {checked}"


def _subject_estimate(study: Validation) -> Cell:
    """In a sentence, the subject's primary metric with the interval on which the verdict rests, the
    number of its units, and its method; with a link to the table of all intervals.
    """
    answer = study.answer  # that interval, as a row: value, low, high, n, unit, what, method
    value = estimate(answer["value"], answer["low"], answer["high"])
    units = f"{answer['n']:,} {plural(answer['unit'], answer['n'])}"
    subject = f" of {study.evaluated_system}"
    # of several systems whose predictions were read, the subject is the one with the best value;
    # being chosen on these rows makes its value look better than it is
    if not study.fits_estimators and len(study.systems) > 2:
        selected_from = study.systems[1:]  # without the baseline
        subject = f"{subject} (the best of {len(selected_from)}, selected on these rows)"
    how = f"{subject}: {value}, {units}, {answer['what']} ({answer['method']}); "
    unsound = "Not to be relied on: " if study.word == "fail" else ""
    return join(
        unsound,
        page.metric_link(study.primary_metric),
        how,
        first_screen.linked("evidence", INTERVALS),
        ".",
    )


def _claims(study: Validation) -> list[Cell]:
    """What may be claimed, a sentence in each cell: of the fitted models (MODELS), and of models of
    the same kind fitted to other rows (LEARNER_CLAIM), which is the wider claim. Last stands the
    value of the best of several systems without the gain of being chosen as the best.
    """
    lines = []
    if study.holdout:  # its one model says nothing about models fitted to other rows
        lines.append(texts.sentence("validation.one_split"))
    else:
        lines += _two_claims(study)
    # one row, or none if the subject was not chosen among several systems
    for row in split_claims.winner(study).to_dict("records"):
        lines.append(_winner(study, row))
    return [Cell(line) for line in lines]


def _two_claims(study: Validation) -> list[str]:
    """In a sentence, the subject's value as each claim has it and which claim the verdicts are
    about; in a second one, the systems against which the claims have different verdicts, if there
    are any. Empty if fewer than two folds define the metric: then the learner has no value.
    """
    # the rows of a claim repeat its value for each system that the subject is compared with
    claims = split_claims.claims(study).drop_duplicates("claim").to_dict("records")
    values = {row["claim"]: estimate(row["value"], row["low"], row["high"]) for row in claims}
    if LEARNER_CLAIM not in values:
        return []
    why = texts.sentence("validation.many_decide")
    if study.pools_few_rows:
        why = texts.sentence("validation.few_decide", few_pooled=FEW_POOLED_ROWS)
    sentence = texts.sentence(
        "validation.claims",
        metric=study.primary_metric.label,
        models=values[MODELS],
        learner=values[LEARNER_CLAIM],
        why=why,
    )
    systems = []
    for name, verdicts in split_claims.differing_verdicts(study).items():
        as_models = f"{verdicts[MODELS]} as these models"
        systems.append(f"{name} ({as_models}, {verdicts[LEARNER_CLAIM]} as learners)")
    if not systems:
        return [sentence]
    return [sentence, texts.sentence("validation.claims_differ", pairs=listed(systems))]


def _winner(study: Validation, row: Record) -> str:
    """In a sentence, how much worse the primary metric is if the best system is chosen on other
    folds than those that measure it: the gain of being chosen on the same rows.

    row: of `split_claims.winner`, which says what its columns are.
    """
    # the system is chosen again without each fold or part, and is another one `changed` times
    parts = "parts of the test rows" if study.holdout else "folds"
    choice = {"of": row["of"], "parts": parts, "changed": row["changed"], "folds": row["folds"]}
    if row["value"] == row["apparent"]:  # the gain is 0
        return texts.sentence("validation.no_gain", **choice)
    value = estimate(row["value"], row["low"], row["high"])
    selection = number(abs(row["selection"]), page.places(study, study.primary_metric.label))
    return texts.sentence(
        "validation.winner",
        **choice,
        metric=study.primary_metric.label,
        selection=selection,
        value=value,
    )


def _training_gap(study: Validation) -> list[Cell]:
    """The subject's primary metric on the training rows of a holdout minus on its test rows; empty
    for folds, and if the training rows have no predictions.
    """
    gap = study.training_gap
    if gap is None:
        return []
    training_sizes, _ = study.folds.sizes
    train = training_sizes[0]  # a holdout is a single fold
    test = study.rows.size
    what = (
        f"{study.primary_metric.label} on {train:,} training rows minus that on {test:,} test rows"
    )
    difference = estimate(gap.value, gap.low, gap.high, signed_number)
    return [Cell(f"Training gap ({what}): {difference} ({gap.method}).")]


def _against_baseline(study: Validation) -> list[Cell]:
    """In a sentence such as "better than mean, …", the verdict on the subject against the baseline,
    which uses no features, with the difference; empty if no fold defines the metric of both.
    """
    pairs = [row for row in study.paired.to_dict("records") if row["second"] == study.baseline]
    if not pairs:
        return []
    row = pairs[0]  # the subject minus the baseline
    if study.pools_few_rows:  # with so few rows the folds decide
        difference = estimate(row["by_fold"], row["low"], row["high"], signed_number)
    else:
        difference = estimate(row["pooled"], row["pooled_low"], row["pooled_high"], signed_number)
    baseline_value = study.deciding_estimate(study.primary_metric, study.baseline).value
    verdict_cell = Cell(row["verdict"], tag="strong")
    # better "than", equivalent "to"
    preposition = first_screen.VERDICT_PREPOSITIONS[row["verdict"]]
    comparison = (
        f" {preposition} {study.baseline}, which uses no features and reaches "
        f"{number(baseline_value)}: {difference}, adjusted p {p_value(row['adjusted'])} "
        f"({row['method']}); "
    )
    return [join(verdict_cell, comparison, first_screen.linked("evidence", PAIRED), ".")]


def findings(study: Validation) -> Html:
    """What to know of the data and of the fits before the numbers."""
    return shown.findings(findings_of_data(study))


def leakage(study: Validation) -> Html:
    """Everything that the audit found, severe findings first, with example rows."""
    if not study.audit_findings:
        return muted_paragraph("No problem was found by the checks that could be run.")
    rows = [_audit_cells(study, finding) for finding in study.audit_findings]
    note = (
        "severe: the estimate is wrong; warning: it may be wrong; note: for information. At most 3 "
        "examples each."
    )
    columns = ["severity", "code", "check", "rows", "finding", "examples"]
    return tables.table(f"Findings of the audit ({len(rows)})", columns, rows, note, LEAKS)


def _audit_cells(study: Validation, finding: Finding) -> list[Cell]:
    """The cells of a finding in the table of the audit; a severe one stands out."""
    severity = Cell(finding.severity)
    if finding.severity == SEVERE:
        severity = replace(severity, tag="strong")
    examples = study.examples_of(finding, EXAMPLES)
    return [
        severity,
        Cell(finding.kind.code, kind="text"),
        Cell(finding.name, kind="text"),
        Cell(f"{finding.count:,} of {finding.of:,}"),
        Cell(finding.message, kind="text"),
        Cell(", ".join(examples), kind="text"),
    ]


def definitions(study: Validation) -> Html:
    """The metrics shown, then the terms of this page; those of the training gap and of other ways
    of splitting only if the page uses them.
    """
    # pairs of a term and its meaning
    items = page.metric_definitions(study) + texts.meanings("validation")
    if study.training_gap is not None:
        items += texts.meanings("holdout")
    # folds that were drawn several times are among the other ways of splitting
    if study.other_splits is not None or study.examples.has_repeated_ids:
        items += texts.meanings("resplits", out_of_bag=OUT_OF_BAG, one_out=ONE_OUT)
    return paragraphs.definitions(items)


origin = page.origin


def results(study: Validation) -> Results:
    """Every number of the page, unrounded."""
    fields: dict[str, object] = {
        "columns": dict(study.examples.columns),
        "verdict": {
            "word": study.word,
            "because": _reason(study),
            "not_checked": study.missing_checks,
            "checks": {
                "run": [check.kind.name for check in study.checks_run],
                "all": [check.kind.name for check in study.checks],
            },
        },
        "answer": [_answer(study)],
        "split": {
            "rule": study.folds.rule,
            "folds": len(study.tests),
            "rows": len(study.examples),
            "tested": study.rows.size,
            "repeats": study.examples.repeats,
            "distinct": study.distinct,
            "decided_by_fold": study.pools_few_rows,
        },
        "training_gap": None,
        "subject": study.evaluated_system,
        **as_json.frames_as_records(
            selection=study.selection,
            intervals=study.intervals,
            folds=study.by_fold,
            paired=study.paired,
            split_claims=split_claims.claims(study),
            winner=split_claims.winner(study),
        ),
        "heterogeneity": study.heterogeneity,
        "other_splits": None,
    }
    if study.training_gap is not None:
        fields["training_gap"] = vars(study.training_gap)
    if study.other_splits is not None:
        fields["other_splits"] = _resplits_as_json(study.other_splits)
    return as_json.results(study, every_finding(study), fields)


def _resplits_as_json(resplits: Resplits) -> dict[str, object]:
    """What other ways of splitting gave, unrounded."""
    bootstrap = vars(resplits.bootstrap) if resplits.bootstrap else None
    frames = as_json.frames_as_records(
        ways=resplits.summary, estimates=resplits.points, learning_curve=resplits.curve
    )
    return frames | {"bootstrap": bootstrap, "warned": resplits.warned}


def every_finding(study: Validation) -> Iterator[Finding]:
    """Every finding of a validation report: those of the audit first."""
    yield from study.audit_findings
    yield from unrun_checks(study)
    yield from findings_of_data(study)


def findings_of_data(study: Validation) -> Iterator[Finding]:
    """What to know of the data and of the fits, beside what the audit found."""
    yield from _rows(study)
    yield from _threshold_findings(study)
    yield from _features(study)
    yield from _folds(study)
    yield from _fits(study)
    yield from rows_without_value(study.rows_without_value, study.rows.size)
    yield from leader_picked(study, [name for name in study.systems if name != study.baseline])
    # of few rows the folds decide, not a mean over rows that may be skewed
    if not study.pools_few_rows:
        yield from skewed_differences(study)


def _rows(study: Validation) -> Iterator[Finding]:
    """What was read, what was left out, and the actual values: the range of numbers, or the share
    of each class.
    """
    examples = study.examples
    n = len(examples)
    n_systems = len(examples.score)
    yield kinds.ROWS_READ.note(
        examples.read,
        "rows",
        used=rows_used(examples.read, n, n_systems),
        columns=columns_in_words(examples.columns),
    )
    for exclusion in examples.exclusions:  # rows, columns or folds that were read but not used
        names: Iterable[str] = exclusion.names
        if exclusion.kind is kinds.UNUSED_COLUMNS:
            names = map(repr, names)
        yield exclusion.kind.warning(
            exclusion.count, "out", n=exclusion.count, names=listed(names), of=exclusion.total
        )
    if not examples.classes:  # the actual values are numbers
        low, high, mean = study.label_range
        yield kinds.TARGET_VALUES.note(n, "label", low=low, high=high, mean=mean)
        return
    sizes = []
    for name, size in zip(examples.classes, study.class_counts, strict=True):
        sizes.append(f"{name}: {size:,}")
    class_note = ""
    if len(examples.classes) == 2:
        class_note = (
            f" Class 1 is {class_in_words(examples.classes[1], examples.columns['label'])}."
        )
    yield kinds.CLASS_SHARES.note(n, "read", shares=listed(sizes), two=class_note)


def _threshold_findings(study: Validation) -> Iterator[Finding]:
    """What may be wrong with the threshold: it is rounded to the precision of scores that are
    stored with less than that of doubles; it decides all rows of a system alike; the scores of a
    system are decisions, 0 and 1 only; scores lie outside 0..1, while the user set no threshold,
    so that it is 0.5. No findings for actual values that are numbers, and for estimators, which
    make their own decisions.
    """
    if study.threshold is None:
        return
    precisions = study.examples.precision  # of the stored scores, such as float32, by system
    score_ends = ends(study.examples.score)  # the lowest and the highest score of each system
    thresholds = {}
    for name in score_ends:
        thresholds[name] = rules.rounded(study.threshold, precisions[name])
    yield from rounded_thresholds(study.threshold, precisions)
    yield from idle_thresholds(thresholds, score_ends)
    yield from decisions_as_scores({name: [study.pooled[name].counts] for name in score_ends})
    outside_0_1 = []
    for name, (lowest, highest) in score_ends.items():
        if lowest < 0 or highest > 1:
            outside_0_1.append(f"{name} {number(lowest)} to {number(highest)}")
    if outside_0_1 and "threshold" not in study.p.given_values:
        yield kinds.USUAL_THRESHOLD.warning(
            len(outside_0_1), threshold=study.threshold, scores=listed(outside_0_1)
        )


def _features(study: Validation) -> Iterator[Finding]:
    """The columns that models were fitted on, those with one value only, and the steps of each
    model; nothing for predictions.
    """
    table = study.examples.features
    if table is not None:
        text_columns = list(table.select_dtypes(exclude="number"))
        types = f"of them text: {listed(text_columns)}" if text_columns else "all numbers"
        n_columns = table.shape[1]
        yield kinds.FEATURES.note(n_columns, features=n_columns, types=types)
        constant = [str(name) for name in table if table[name].nunique(dropna=False) < 2]
        if constant:
            yield kinds.CONSTANT_FEATURES.warning(len(constant), columns=listed(constant))
    for steps in study.described:  # a text for each fitted model
        yield kinds.MODELS.note(steps=steps)


def _folds(study: Validation) -> Iterator[Finding]:
    """Folds that were drawn several times, rows that no fold tests, and few pooled rows: how far
    tests on so few rows err, as simulated.
    """
    if study.examples.has_repeated_ids:
        yield _repeated_folds(study)
    if study.untested:
        yield kinds.UNTESTED_ROWS.note(study.untested, rows=count_with_noun(study.untested, "row"))
    if study.pooled_of_folds:
        rows = count_with_noun(study.distinct, study.row_name)
        # the errors of tests were simulated for metrics of classes alone
        form = "classes" if study.examples.classes else "forecasts"
        yield kinds.FEW_POOLED.note(study.distinct, form, rows=rows, folds=len(study.tests))


def _repeated_folds(study: Validation) -> Finding:
    """That the folds were drawn several times, so that an id has several rows: how often, and how
    many rows the ids have.
    """
    examples = study.examples
    n_folds = len(study.tests)  # of all repeats together
    wording = "repeats"
    draws = examples.repeats
    if examples.has_resampled_folds:  # each fold is a draw of its own, without repeats
        wording = "redrawn"
        draws = n_folds
    if examples.repeats == n_folds:  # one test set in each repeat
        wording = "holdouts"
    fewest, most = study.times_of_ids
    rows_per_id = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    once = ""
    if study.settings.unit == "id":
        once = " Each id counts once, with the mean of its repeats."
    return kinds.REPEATED_FOLDS.note(
        draws,
        wording,
        each=rows_per_id,
        once=once,
        times=draws,
        rows=len(examples),
        ids=study.distinct,
    )


def unrun_checks(study: Validation) -> Iterator[Finding]:
    """A note of the checks that could not be run, if there are any. It is no warning, because the
    verdict takes the important ones into account by itself.
    """
    n = len([check for check in study.checks if check.lacks])
    if n:
        yield kinds.UNCHECKED.note(n, checks="; ".join(study.missing_checks))


def _fits(study: Validation) -> Iterator[Finding]:
    """Ways of splitting that were not fitted, for lack of time or for a reason, and what the
    estimator warned of.
    """
    if study.other_splits is None:
        return
    unfitted = study.other_splits.unfitted  # a way of splitting without a reason ran out of time
    out_of_time = [_why_not(way) for way in unfitted if not way.reason]
    impossible = [_why_not(way) for way in unfitted if way.reason]
    if out_of_time:
        yield kinds.NOT_FITTED.note(len(out_of_time), why="; ".join(out_of_time))
    if impossible:
        yield kinds.UNFIT_SPLITS.note(len(impossible), why="; ".join(impossible))
    for message, n in study.other_splits.warned.items():
        yield kinds.ESTIMATOR_WARNED.warning(n, n=n, text=message)


BINS = 120  # of the map of the folds
INTERVALS = "table-intervals"  # where the tables stand, for links of the first screen
PAIRED = "table-other-systems"
# the columns that only the deciding one of the two tables of pairs has
VERDICT_COLUMNS: dict[str, Column] = {
    "adjusted p": p_column("adjusted"),
    "verdict": words("verdict"),
}
ALONG = {
    "time": "time",
    "group": "groups, in the order of the folds that test them",
    "row": "rows of the table",
}


def intervals(study: Validation) -> Html:
    """The subject's primary metric with an interval by each method; crossed out where the interval
    is naive, which means too narrow for its level.
    """
    label = study.primary_metric.label
    note = texts.sentence("validation.intervals_note", few_pooled=FEW_POOLED_ROWS)
    columns: dict[str, Column] = {
        "estimate": text("what"),
        "claim": text("claim"),
        label: limits("value"),
        "n": _number_of_units,
        "method": words("method"),
    }

    def is_naive(row: Record) -> bool:
        """True for an interval that is too narrow for its level."""
        return not _is_valid(study, row)

    # every cell of a naive interval is crossed out, and grey
    crossed_out = {
        head: _crossed_out(column, is_naive, "muted") for head, column in columns.items()
    }
    caption = f"{label} of {study.evaluated_system} with {study.settings.level:.0%} interval"
    return of_rows(caption, study.intervals, crossed_out, note, INTERVALS)


def _is_valid(study: Validation, row: Record) -> bool:
    """True for an interval that is valid for its claim, although another one may decide. row: of
    `study.intervals`.

    The interval over pooled rows is valid for the fitted models, even of so few rows that the
    folds decide, unless the folds differ.
    """
    of_models = row["what"] == study.measured_on and not study.folds_differ
    return bool(row["honest"]) or of_models


@column_by_row
def _number_of_units(row: Record) -> str:
    """How many units an estimate is of."""
    return f"{row['n']:,}\u00a0{plural(row['unit'], row['n'])}"


def _crossed_out(column: Column, where: Callable[[Record], bool], kind: str = "") -> Column:
    """A column whose cells are crossed out in the rows for which `where` is true.

    column: makes the cells of a column from all rows of a frame. kind: further classes of HTML of
    the cells that are crossed out.
    """

    def cells(rows: Rows) -> list[Cell]:
        """The cells of `column` for these rows; those that `where` selects have the tag <s>."""
        new_cells = []
        for cell, row in zip(map(as_cell, column(rows)), rows, strict=True):
            if where(row):
                cell = replace(cell, tag="s", kind=f"{cell.kind} {kind}".strip())
            new_cells.append(cell)
        return new_cells

    return cells


def _all_rows(row: Record) -> bool:
    """True, so that every row is selected."""
    return True


def by_fold(study: Validation) -> Html:
    """The table of the subject by fold: a row for each fold, and below the folds the metrics of the
    pooled rows and the means of the folds. Columns: the sizes of the fold and its mean label; every
    metric; where models were fitted, also the primary metric on the training rows.
    """
    folds = study.by_fold[study.by_fold["system"] == study.evaluated_system]
    primary = study.primary_metric.label
    mean_label = "share of class 1" if len(study.examples.classes) == 2 else "mean label"
    places = {chosen.label: page.places(study, chosen.label) for chosen in study.settings.metrics}
    # by the head of a column, the function that makes its cell from the row of a fold
    size_columns: dict[str, CellOfRow] = {
        "fold": lambda row: Cell(str(row["fold"])),
        "training": _training_rows_cell,
        "test": _cell_of_number("test", 0),
        mean_label: _cell_of_number("label", 3),
    }
    value_columns: dict[str, CellOfRow] = {}
    for metric in places:
        value_columns[metric] = _cell_of_number(metric, places[metric])
    if study.gap is not None:  # models were fitted
        folds = folds.assign(gap=study.gap)
        value_columns[f"{primary} in training"] = _cell_of_number("on_train", places[primary])
        value_columns["better by"] = _cell_of_number("gap", places[primary], signed_number)
    columns = size_columns | value_columns
    heads = list(columns)
    rows = []
    for fold in folds.to_dict("records"):
        rows.append([cell_of_row(fold) for cell_of_row in columns.values()])
    if study.holdout:
        note = "One holdout: there are no folds to pool."
        return tables.table(f"{study.evaluated_system}, the one test set", heads, rows, note)
    pooled = _pooled_cells(study, places)
    means = {"fold": Cell("mean of folds")}
    for head, cell_of_row in value_columns.items():
        means[head] = cell_of_row(study.mean_of_folds)
    for cells_by_head in (pooled, means):
        rows.append([cells_by_head.get(head, Cell("")) for head in heads])
    differing = [metric for metric in places if pooled[metric].text != means[metric].text]
    note = f"{_heterogeneity(study)}{_pooled_differs_from_mean(study, differing)}"
    return tables.table(f"{study.evaluated_system}, fold by fold", heads, rows, note)


def _pooled_cells(study: Validation, places: Mapping[str, int]) -> dict[str, Cell]:
    """The cells of the row of `by_fold` for the rows of all folds together, by the heads of their
    columns. places: the decimals of each metric.
    """
    cells = {
        "fold": Cell("pooled", tag="strong"),
        "test": number_cell(study.rows.size, 0),
    }
    for chosen in study.settings.metrics:
        value = study.estimate(chosen, study.evaluated_system).value
        cell = number_cell(value, places[chosen.label])
        cells[chosen.label] = replace(cell, tag="strong")
    return cells


def _training_rows_cell(row: Record) -> Cell:
    """The number of training rows of a fold; ? if it is unknown."""
    return number_cell(row["train"], 0) if row["train"] else Cell("?")


def _cell_of_number(name: str, places: int, show: Show = number) -> CellOfRow:
    """The function that makes, from a row, the cell of its number in the column `name`, with
    `places` decimals.
    """
    return lambda row: number_cell(row[name], places, show)


def _heterogeneity(study: Validation) -> str:
    """In a sentence, whether the folds differ by more than chance: Cochran's test, whose Q has the
    mean of its degrees of freedom if all folds have the same true value.
    """
    test = study.heterogeneity
    if math.isnan(test["p"]):
        return "Too few folds to test whether they differ."
    differ = "differ significantly" if test["p"] < 0.05 else "do not differ significantly"
    result = f"Cochran's Q = {test['q']:.1f}, {test['freedom']} expected, p {p_value(test['p'])}"
    return f"The folds {differ} in {study.primary_metric.label}: {result}."


def _pooled_differs_from_mean(study: Validation, differing: Collection[str]) -> str:
    """A sentence with the metrics whose pooled value is another quantity than the mean of the
    folds; "" if there are none. differing: the labels of the metrics of which the page prints
    different values for the two.

    Metrics that are a mean over rows need no such sentence: their pooled value is the mean of the
    folds weighted by size.
    """
    names = [
        chosen.label
        for chosen in study.settings.metrics
        if chosen.label in differing and not chosen.metric.kind.mean_over_rows
    ]
    if not names:
        return ""
    return f" The pooled value of {', '.join(names)} is not the mean of the folds."


def paired(study: Validation) -> Html:
    """Two tables of the subject against each other system: differences on the pooled rows, which
    are about the fitted models; and mean differences by fold, which are about the learner. A
    holdout has the first table only.

    One of the tables decides, that by fold if few rows are pooled: it has the adjusted p and the
    verdict.
    """
    if not len(study.paired):
        return muted_paragraph(
            "The metric is undefined on every fold, so there are no paired differences."
        )
    adjusted = f", adjusted by Holm over {len(study.paired)}" if len(study.paired) > 1 else ""
    # only the comparison with the baseline is one-sided, that with further systems is not
    one_sided_note = ""
    if study.settings.alternative.one_sided and len(study.paired) > 1:
        one_sided_note = texts.sentence("validation.one_sided_note", study)
    pooled_table = _paired_on_pooled_rows(study, adjusted, one_sided_note)
    if study.holdout:
        return pooled_table
    return stack([pooled_table, _paired_by_fold(study, adjusted, one_sided_note)])


def _paired_on_pooled_rows(study: Validation, adjusted: str, one_sided_note: str) -> Html:
    """The subject against each other system on the pooled rows, with the verdict unless the test by
    fold decides. adjusted: how p is adjusted, in words, "" for a single pair.
    """
    columns: dict[str, Column] = {
        "first − second": pair,
        "difference": limits("pooled", "pooled_low", "pooled_high", signed_number),
    }
    if study.pools_few_rows:
        note = (
            f"Fewer than {FEW_POOLED_ROWS:,} rows: the test by fold below decides. Here the folds' "
            f"models are taken as fixed."
        )
    else:
        columns |= {"p": p_column("p_pooled")} | VERDICT_COLUMNS
        note = f"p by {_paired_methods(study)}{adjusted}."
    # the caption has the number of units of the first pair
    first_pair = (study.evaluated_system, study.paired["second"].iloc[0])
    comparison = study.compare_pooled(study.primary_metric, first_pair)
    n = comparison.difference.n
    rows = "of the test set" if study.holdout else "pooled out of fold"
    sample = f"{n:,} {plural(comparison.unit, n)} {rows}"
    level = f"{study.settings.level:.0%} interval"
    caption = (
        f"{MODELS.capitalize()}: differences in {study.primary_metric.label}, {level}, {sample}"
    )
    return of_rows(caption, study.paired, columns, f"{note}{one_sided_note}", PAIRED)


def _paired_by_fold(study: Validation, adjusted: str, one_sided_note: str) -> Html:
    """The subject against each other system by the mean difference over folds, with the verdict if
    this test decides. adjusted: how p is adjusted, in words, "" for a single pair.
    """
    columns: dict[str, Column] = {
        "first − second": pair,
        "mean difference": limits("by_fold", show=signed_number),
        "naive p": _crossed_out(p_column("p_naive"), _all_rows),
        "p": p_column("p"),
    }
    if study.pools_few_rows:
        columns |= VERDICT_COLUMNS
    else:
        adjusted = ", not adjusted"
    level = f"{study.settings.level:.0%} interval"
    caption = f"{LEARNER_CLAIM.capitalize()}: the same by fold, {level}, {len(study.tests)} folds"
    note = texts.sentence("validation.wrong_note", adjusted=adjusted)
    return of_rows(caption, study.paired, columns, f"{note}{one_sided_note}")


def _paired_methods(study: Validation) -> str:
    """How the subject was tested against the other systems, in words; if not in one way against
    all, each way with the systems that it was tested against.
    """
    if study.paired["method"].nunique() == 1:
        return page.test_methods_in_words(study.paired)
    systems = study.paired.groupby("method", sort=False)["second"].agg(listed)
    return "; by ".join(f"{method} against {names}" for method, names in systems.items())


def estimates(study: Validation) -> Html:
    """Every system, every metric, out-of-fold rows pooled."""
    rows = "Test rows of the holdout" if study.holdout else "Out-of-fold rows pooled"
    n_rows = count_with_noun(study.rows.size, "row")
    caption = f"{rows}, {n_rows}, with {study.settings.level:.0%} interval"
    note = texts.sentence("validation.estimates_note", study)
    if study.pools_few_rows:
        note += texts.sentence("validation.few_pooled_note", few_pooled=FEW_POOLED_ROWS)
    return page.estimates(study, caption, note)


def fold_map(study: Validation) -> figures.Figure:
    """Which rows train and test in each fold, along time, groups or the rows of the table; of
    repeated folds those of the first repeat.
    """
    axis = ALONG[study.axis]
    # each row is a fold and a part of the axis whose rows train, test, or do both in the fold
    stretches = study.stretches(BINS)
    rows = count_with_noun(len(study.rows_of_first_repeat), "row")
    both = ""
    if "both" in set(stretches["kind"]):
        both = (
            "; both: some of these rows are in the training set, others in the test set, and no "
            "row is in both"
        )
    fold_count = stretches["fold"].nunique()
    repeat = ""
    if study.examples.repeats > 1:
        repeat = f" of the first of {study.examples.repeats} repeats"
    folds = f"{count_with_noun(fold_count, 'fold')}{repeat}"
    caption = f"Where each fold trains and tests, along the {axis}{both}. {folds}, {rows}."
    height = figures.figure_height(fold_count, head=1.3, each=0.2)
    return figures.figure_drawn_by(
        curve_plots.draw_map,
        stretches,
        caption=caption,
        height=height,
        xlabel=f"{axis} (n = {rows})",
        dated=study.examples.dated,
    )


def folds(study: Validation) -> figures.Figure:
    """The primary metric of every system on each fold; of the subject also on the training rows."""
    label = study.primary_metric.label
    frame = study.by_fold[study.by_fold["system"].isin(study.order)]
    hollow = ""  # what the hollow dots are, which only fitted models have
    if "on_train" in frame:
        hollow = " Hollow: the value on the fold's own training rows."
    lowest, highest = study.fold_range(study.evaluated_system)
    if study.holdout:  # its one fold has the lowest and the highest value
        caption = f"{label} on the test rows.{hollow} {study.evaluated_system} {number(lowest)}."
    else:
        value_range = f"{study.evaluated_system} from {number(lowest)} to {number(highest)}"
        caption = (
            f"{label} on each fold's test rows.{hollow} {value_range} over "
            f"{count_with_noun(len(study.tests), 'fold')}."
        )
    return figures.figure_drawn_by(
        curve_plots.draw_folds,
        frame,
        caption=caption,
        height=2.8,
        label=label,
        subject=study.evaluated_system,
        xlabel=f"fold (n = {count_with_noun(study.rows.size, 'row')} tested)",
    )


def interval_plot(study: Validation) -> figures.Figure:
    """The intervals of the subject's primary metric by each method, on one axis; those that are
    naive, too narrow for their level, are grey.
    """
    frame = study.intervals[["what", "value", "low", "high"]].rename(columns={"what": "name"})
    colours = []
    for row in study.intervals.to_dict("records"):
        is_valid = _is_valid(study, row)
        colour = plots.COLOURS[0] if is_valid else plots.GREY
        colours.append(colour)
    frame["colour"] = colours  # of each interval
    label = f"{study.primary_metric.label} (n = {count_with_noun(study.rows.size, 'row')})"
    height = figures.figure_height(len(frame))
    caption = texts.sentence("validation.interval_plot", study)
    return figures.figure_drawn_by(
        plots.intervals, frame, caption=caption, height=height, label=label, zero=False
    )


# in words, how columns were selected: by the F statistic, on these rows; else by the user
SELECTIONS = {
    SELECTED_ON_ALL_ROWS: "selected by the F statistic on all rows, before the split",
    SELECTED_IN_FOLDS: "selected by the F statistic on the training rows of each fold",
}


@pieces.where(lambda study: len(study.selection))
def selection(study: Validation) -> Html:
    """The subject's primary metric with the columns that the user selected, and with as many
    columns selected on all rows and inside each fold: how much a selection outside the folds
    raises the metric. Empty if no columns were selected.
    """
    n_selected, n_columns = study.selection_sizes
    # the last row is the selection inside each fold, which sees no test row; the rows before it,
    # the user's selection and one on all rows, are compared with it
    is_inside = study.selection["columns"] == SELECTED_IN_FOLDS
    verdicts = study.selection.loc[~is_inside, "verdict"]
    has_leak = bool((verdicts == "better").all())

    def is_raised(row: Record) -> bool:
        """True for a value that a selection outside the folds has raised."""
        return has_leak and row["columns"] != SELECTED_IN_FOLDS

    difference = limits("difference", "difference_low", "difference_high", signed_number)
    columns: dict[str, Column] = {
        f"{n_selected} of {n_columns:,} columns": column_by_row(_selection_in_words),
        study.primary_metric.label: _crossed_out(limits("value"), is_raised),
        "minus the last": _empty_in_last_row(difference),
        "adjusted p": _empty_in_last_row(p_column("adjusted")),
    }
    first_row = study.selection.iloc[0]
    n = first_row["n"]
    test = first_row["test"]  # the name of the test of both comparisons
    note = texts.sentence(
        "validation.selection_note", n=n, unit=plural(study.unit_name, n), test=test
    )
    metric = study.primary_metric.label
    caption = f"{metric} of {study.evaluated_system} by where the columns were selected"
    return of_rows(caption, study.selection, columns, note)


def _selection_in_words(row: Record) -> str:
    """How the columns of a row were selected; those of the user's selection were given."""
    return SELECTIONS.get(row["columns"], "as given")


def _empty_in_last_row(column: Column) -> Column:
    """The column with an empty cell in the last row, with which the other rows are compared."""

    def cells(rows: Rows) -> list[Cell | str]:
        return [*column(rows[:-1]), ""]

    return cells


# Other splits -------------------------------------------------------------------------------------


def _why_not(way: Unfitted) -> str:
    """A way of splitting and why it was not fitted in full."""
    fits = f"{way.made:,} of {way.wanted:,} fits completed in the time allowed"
    return f"{way.way}: {way.reason or fits}"


def other_splits(study: Validation) -> Html:
    """How far the estimates of each way of splitting lie apart."""
    if study.other_splits is None:
        return Html("")
    columns: dict[str, Column] = {
        "split": text("way"),
        "fits": count("fits"),
        "estimates": count("estimates"),
        "mean": value("mean"),
        "standard deviation": value("sd"),
        "lowest": value("lowest"),
        "highest": value("highest"),
    }
    metric_of_system = f"{study.primary_metric.label} of {study.evaluated_system}"
    caption = f"{metric_of_system}, the same {len(study.examples):,} rows split in other ways"
    resplits = study.other_splits
    summary = of_rows(caption, resplits.summary, columns, _spread_note(study, resplits))
    return stack([summary, _bootstrap(resplits), _optimism(study, resplits)])


def _spread_note(study: Validation, resplits: Resplits) -> str:
    """The note on the ways of splitting: how much more a single holdout varies than k folds; that
    this is the spread of the split alone; and the share that leave-one-out predicts correctly, if
    an artefact has pushed it far below the baseline's.
    """
    sentences = []
    holdout, ratio_by_way = resplits.spread_ratios  # standard deviations, holdout / k folds
    ratios = [f"{ratio:.1f} times as much as {way}" for way, ratio in ratio_by_way.items()]
    if ratios:
        sentences.append(f"{holdout} varies {' and '.join(ratios)}.")
    sentences.append(texts.sentence("resplits.spread"))
    share = study.value_reversed_by_one_out
    if share is not None:  # else there is no artefact, or leave-one-out was not computed
        sentences.append(texts.sentence("resplits.one_out", value=number(share)))
    return " ".join(sentences)


def _bootstrap(resplits: Resplits) -> Html:
    """The accuracy on all rows by each estimate of the bootstrap; empty where it was not run."""
    bootstrap = resplits.bootstrap
    if bootstrap is None:
        return Html("")
    rows: list[list[Cell | str]] = []
    for name, meaning in texts.meanings("bootstrap"):
        rows.append([meaning, number_cell(bootstrap.accuracy(name))])
    return tables.table("Accuracy by the bootstrap, all rows", ["estimate", "accuracy"], rows)


def _optimism(study: Validation, resplits: Resplits) -> Html:
    """The subject's primary metric by the split of the report, which respects time or groups, and
    by a random split of the rows, which ignores them and looks too good: their difference is its
    optimism. Empty if no random split was fitted.
    """
    random_split_rows = resplits.ignoring  # the rows that its folds test
    if random_split_rows is None:
        return Html("")
    what = "time" if "time" in study.known_columns else "group"
    split = "the folds given" if "fold" in study.known_columns else f"split by {what}"
    respecting = study.estimate(study.primary_metric, study.evaluated_system)
    at_random = study.interval(study.primary_metric, random_split_rows)
    random_cell = interval_cell(at_random.value, at_random.low, at_random.high)
    rows: list[list[Cell | str]] = [
        [split, interval_cell(respecting.value, respecting.low, respecting.high)],
        # crossed out: this value is not to be relied on
        [Cell(f"rows at random, {what} ignored", tag="s"), replace(random_cell, tag="s")],
        ["difference", number_cell(study.optimism(at_random), show=signed_number)],
    ]
    note = f"The difference is the optimism of a split that ignores the {what}."
    return tables.table(
        f"{study.primary_metric.label} of {study.evaluated_system}",
        ["split", study.primary_metric.label],
        rows,
        note,
    )


def strip(study: Validation) -> figures.Figure | Html:
    """Every estimate that each way of splitting gave, on one axis."""
    if study.other_splits is None:
        return Html("")
    frame = study.other_splits.points
    if not len(frame):
        reasons = "; ".join(map(_why_not, study.other_splits.unfitted))
        return muted_paragraph(f"No other split was fitted: {reasons}")
    ranges = []
    for row in study.other_splits.summary.to_dict("records"):
        ranges.append(f"{row['way']} {number(row['lowest'])} to {number(row['highest'])}")
    return figures.figure_drawn_by(
        curve_plots.draw_strip,
        frame,
        caption=texts.sentence("resplits.strip", study),
        says=f"{'; '.join(ranges)}.",
        height=figures.figure_height(frame["way"].nunique(), head=1.0, each=0.5),
        xlabel=f"{study.primary_metric.label} (n = {count_with_noun(len(study.examples), 'row')})",
    )


def learning_curve(study: Validation) -> figures.Figure | Html:
    """The primary metric by the number of training rows, on the test rows and on the training
    rows.
    """
    if study.other_splits is None or study.other_splits.curve["rows"].nunique() < 2:
        return Html("")
    frame = study.other_splits.curve
    label = study.primary_metric.label
    lines = []
    for name, line in frame.groupby("system", sort=False):
        first = line.iloc[0]
        last = line.iloc[-1]
        start = f"{number(first['value'])} at {first['rows']:,} rows"
        lines.append(f"{name} {start}, {number(last['value'])} at {last['rows']:,}")
    caption = (
        f"{label} of {study.evaluated_system} by the number of training rows; "
        f"band: from the lowest to the highest fold."
    )
    return figures.figure_drawn_by(
        plots.curves,
        frame,
        caption=caption,
        says=f"{'; '.join(lines)}.",
        x="rows",
        y="value",
        log=True,
        height=2.6,
        xlabel="training rows (log scale)",
        ylabel=f"{label} (n = {len(study.tests)} folds)",
    )


SUMMARY = (verdict, leakage, estimates)
PIECES = (
    title,
    verdict,
    leakage,
    selection,
    findings,
    fold_map,
    interval_plot,
    intervals,
    folds,
    by_fold,
    estimates,
    paired,
    strip,
    other_splits,
    learning_curve,
    definitions,
    origin,
)

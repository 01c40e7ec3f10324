"""The words, tables and figures of the validation page, each from the study's frames."""

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from evalkit.arrays import Record
from evalkit.drawing import curve_plots, figures, plots, shown, strips, tables
from evalkit.drawing.tables import (
    Cell,
    Column,
    Html,
    each,
    join,
    limits,
    named,
    number_cell,
    of_rows,
    with_interval,
)
from evalkit.findings import kinds
from evalkit.findings.kinds import SEVERE, WARNING, Finding
from evalkit.numbers import (
    Show,
    counted,
    estimate,
    listed,
    number,
    p_value,
    percent,
    plural,
    signed,
)
from evalkit.pages import as_json, first_screen, page, pieces, texts
from evalkit.pages.shared_findings import (
    class_named,
    columns_read,
    decisions_as_scores,
    idle,
    picked,
    rounded,
    rows_used,
    rows_without_value,
    skewed,
)
from evalkit.reading.tables import rules
from evalkit.report import Results
from evalkit.studies import split_claims
from evalkit.studies.diagnostics import TURNED, ends
from evalkit.studies.out_of_fold import (
    FEW_POOLED,
    INSIDE,
    LEARNER,
    MODELS,
    ONE_OUT,
    OUTSIDE,
    Validation,
)
from evalkit.studies.resplits import OUT_OF_BAG, Resplits, Unfitted

pieces.offered(__name__)


EXAMPLES = 3
LEAKS = "table-leakage"  # where the findings of the audit stand


def title(study: Validation) -> Html:
    """The title and what was asked."""
    question = f"Can the evaluation of {study.subject} be trusted, on {_extent(study)}?"
    return first_screen.heading("Validation report", question, study)


def _extent(study: Validation) -> str:
    """How many rows or ids the evaluation is over, and how they are split."""
    folds = len(study.tests)
    repeats = study.examples.repeats
    if study.holdout:
        return f"{counted(study.rows.size, 'test row')} of one holdout"
    if repeats > 1 and folds == repeats:
        return f"{counted(study.distinct, 'test id')} of {repeats} holdouts"
    if repeats > 1 and study.folds_per_repeat:
        split = f"{repeats} repeats of {study.folds_per_repeat} folds"
        return f"{study.distinct:,} ids, {split}"
    if repeats > 1:
        return f"{study.distinct:,} ids, {folds} folds in {repeats} repeats"
    if study.examples.has_resampled_folds:
        return f"{counted(study.distinct, 'id')} in {counted(folds, 'fold')} drawn anew"
    return f"{counted(len(study.examples), 'row')} in {counted(folds, 'fold')}"


def verdict(study: Validation) -> Html:
    """The gate where one is set; whether to trust, and why; what the estimate is then worth."""
    lines = [
        _estimate(study),
        *_training_gap(study),
        *_baseline(study),
        *_claims(study),
        Cell(f"Split: {study.folds.rule}."),
    ]
    lines += [
        join(f"{finding.message} ", Cell("", markup=shown.code(finding)))
        for finding in unchecked(study)
    ]
    findings = (" (", first_screen.link("evidence", LEAKS), ")") if study.audited else ()
    if _worst(study):
        main = join(_problem(study), *findings)
    elif study.unchecked_leaks:
        main = join(texts.sentence("validation.unseen"), *findings)
    else:
        main = lines.pop(0)
    parts = [tables.answer(_answer(study)), _strip(study), tables.verdict(study.word, main, *lines)]
    return tables.stack([*first_screen.gate(study), *parts, first_screen.gloss(study)])


def _answer(study: Validation) -> str:
    """In one sentence whether the evaluation is sound, as far as could be checked."""
    run = len(study.checks_run)
    all_checks = len(study.checks)
    checks = f"the {run} checks that could be run, of {all_checks}"
    problems = len([finding for finding in study.audited if finding.matters])
    if problems:
        when = "" if study.word == "fail" else " before the warnings are explained"
        verb = "was" if problems == 1 else "were"
        problems_found = f"{counted(problems, 'problem')} {verb} found in {checks}"
        return f"Do not rely on this evaluation{when}: {problems_found}."
    if study.word == "pass":
        return f"No problem was found in {checks}; the most important checks are among them."
    return (
        f"No problem was found, but only {run} of {all_checks} checks could be run; important ones "
        f"are missing: {listed(study.unchecked_leaks)}."
    )


def _strip(study: Validation) -> Html:
    """A row for each system with the interval that decides, the subject's as it is answered, and
    the verdicts.
    """
    places = page.places(study, study.primary.label)
    subject = study.subject
    # the verdict of a pair is on the subject, its first; that of a row is on the other system
    verdicts = {
        row["second"]: TURNED.get(row["verdict"], row["verdict"])
        for row in study.paired.to_dict("records")
    }
    rows = []
    for name in study.order:
        if name == subject:
            estimate_ = study.answer
        else:
            estimate_ = vars(study.deciding_estimate(study.primary, name))
        point = (estimate_["value"], estimate_["low"], estimate_["high"])
        verdict_ = verdicts.get(name, "")
        cells: list[Cell | str] = [with_interval(*point, places=places), ""]
        if verdict_:
            cells[1] = Cell(verdict_, tag="strong")
        rows.append(strips.Result(Cell(name), [(name, point)], cells, verdict_))
    subject_first = [subject, *(name for name in study.order if name != subject)]
    by_way: dict[str, list[str]] = {}  # how an interval was found -> the systems
    for name in subject_first:
        by_way.setdefault(study.decides(name), []).append(name)
    ways = "; ".join(f"{listed(names)}: {way}" for way, names in by_way.items())
    caption = f"{study.primary.label} with its {percent(study.settings.level)} interval; {ways}"
    return strips.strip(
        caption, ["system", page.metric_head(study.primary), f"against {subject}"], rows
    )


def _worst(study: Validation) -> list[Finding]:
    """The findings that decide the verdict."""
    severity = SEVERE if study.word == "fail" else WARNING
    return [finding for finding in study.audited if finding.severity == severity]


def _problem(study: Validation) -> str:
    """The first finding that decides the verdict, else the important checks that are missing; "" if
    there are neither.
    """
    if worst := _worst(study):
        further_note = f" (and {len(worst[1:])} more below)" if worst[1:] else ""
        return f"{worst[0].message}{further_note}"
    if study.unchecked_leaks:
        return f"important checks are missing: {', '.join(study.unchecked_leaks)}"
    return ""


def _reason(study: Validation) -> str:
    """Why the verdict is what it is, for the JSON."""
    problem = _problem(study)
    if study.word == "fail":
        return f"this evaluation cannot be trusted, because {problem}"
    checked = f"{len(study.checks_run)} of {len(study.checks)} checks could be run"
    if _worst(study):
        return f"a warning must be explained first: {problem}; {checked}"
    if problem:
        return f"no problem found; {checked}; {problem}"
    return f"no problem found; {checked}"


def _estimate(study: Validation) -> Cell:
    """The subject's value with the interval that decides, and what it is over."""
    answer = study.answer
    value = estimate(answer["value"], answer["low"], answer["high"])
    units = f"{answer['n']:,} {plural(answer['unit'], answer['n'])}"
    subject = f" of {study.subject}"
    if not study.fitted and len(study.systems) > 2:
        selected_from = study.systems[1:]  # without the baseline
        subject = f"{subject} (the best of {len(selected_from)}, selected on these rows)"
    how = f"{subject}: {value}, {units}, {answer['what']} ({answer['method']}); "
    unsound = "Not to be relied on: " if study.word == "fail" else ""
    return join(
        unsound, page.metric_link(study.primary), how, first_screen.link("evidence", INTERVALS), "."
    )


def _claims(study: Validation) -> list[Cell]:
    """What is claimed of the fitted models and of the learner, which of both the verdict is about,
    and what the choice of the best system adds.
    """
    lines = []
    claimed = split_claims.claims(study).drop_duplicates("claim").to_dict("records")
    if study.holdout:
        lines.append(texts.sentence("validation.one_split"))
    elif len(claimed) > 1:
        values = {row["claim"]: estimate(row["value"], row["low"], row["high"]) for row in claimed}
        why = texts.sentence("validation.many_decide")
        if study.few_pooled:
            why = texts.sentence("validation.few_decide", few_pooled=FEW_POOLED)
        facts = {
            "metric": study.primary.label,
            "models": values[MODELS],
            "learner": values[LEARNER],
            "why": why,
        }
        lines.append(texts.sentence("validation.claims", **facts))
        if differ := split_claims.otherwise(study):
            pairs = (
                f"{name} ({words[MODELS]} as these models, {words[LEARNER]} as learners)"
                for name, words in differ.items()
            )
            lines.append(texts.sentence("validation.claims_differ", pairs=listed(pairs)))
    lines += [_winner(study, row) for row in split_claims.winner(study).to_dict("records")]
    return [Cell(line) for line in lines]


def _winner(study: Validation, row: Record) -> str:
    """What became of the value of the best system when it was chosen on other folds."""
    parts = "parts of the test rows" if study.holdout else "folds"
    choice = {"of": row["of"], "parts": parts, "changed": row["changed"], "folds": row["folds"]}
    if row["value"] == row["apparent"]:
        return texts.sentence("validation.no_gain", **choice)
    value = estimate(row["value"], row["low"], row["high"])
    selection = number(abs(row["selection"]), page.places(study, study.primary.label))
    return texts.sentence(
        "validation.winner",
        **choice,
        metric=study.primary.label,
        selection=selection,
        value=value,
    )


def _training_gap(study: Validation) -> list[Cell]:
    """How much better the metric is on the training rows; empty where these have no predictions."""
    gap = study.training_gap
    if gap is None:
        return []
    train = study.folds.sizes[0][0]
    what = (
        f"{study.primary.label} on {train:,} training rows minus that on {study.rows.size:,} test "
        f"rows"
    )
    difference = estimate(gap.value, gap.low, gap.high, signed)
    return [Cell(f"Training gap ({what}): {difference} ({gap.method}).")]


def _baseline(study: Validation) -> list[Cell]:
    """The subject against the baseline without features; empty if these are not compared."""
    pairs = [row for row in study.paired.to_dict("records") if row["second"] == study.baseline]
    if not pairs:
        return []
    row = pairs[0]
    if study.few_pooled:
        difference = estimate(row["by_fold"], row["low"], row["high"], signed)
    else:
        difference = estimate(row["pooled"], row["pooled_low"], row["pooled_high"], signed)
    reached = study.deciding_estimate(study.primary, study.baseline).value
    text = (
        f" {first_screen.BETWEEN[row['verdict']]} {study.baseline}, which uses no features and "
        f"reaches {number(reached)}: {difference}, adjusted p {p_value(row['adjusted'])} "
        f"({row['method']}); "
    )
    verdict_ = Cell(row["verdict"], tag="strong")
    return [join(verdict_, text, first_screen.link("evidence", PAIRED), ".")]


def findings(study: Validation) -> Html:
    """What to know of the data and of the fits before the numbers."""
    return shown.findings(of_data(study))


def leakage(study: Validation) -> Html:
    """Everything that the audit found, severe findings first, with example rows."""
    if not study.audited:
        return tables.paragraph("No problem was found by the checks that could be run.")
    rows = [_finding(study, finding) for finding in study.audited]
    note = (
        "severe: the estimate is wrong; warning: it may be wrong; note: for information. At most 3 "
        "examples each."
    )
    columns = ["severity", "code", "check", "rows", "finding", "examples"]
    return tables.table(f"Findings of the audit ({len(rows)})", columns, rows, note, LEAKS)


def _finding(study: Validation, finding: Finding) -> list[Cell | str]:
    named = study.examples_of(finding, EXAMPLES)
    severity = Cell(finding.severity, tag="strong" if finding.severity == SEVERE else "")
    words = [
        finding.kind.code,
        finding.name,
        f"{finding.count:,} of {finding.of:,}",
        finding.message,
        ", ".join(named),
    ]
    return [severity, *(Cell(text, kind="" if i == 2 else "text") for i, text in enumerate(words))]


def definitions(study: Validation) -> Html:
    """The metrics shown, then the words of this page."""
    items = [*page.metric_definitions(study), *texts.meanings("validation")]
    items += texts.meanings("holdout") if study.training_gap is not None else []
    again = study.other_splits is not None or study.examples.ids_again
    items += texts.meanings("resplits", out_of_bag=OUT_OF_BAG, one_out=ONE_OUT) if again else []
    return tables.definitions(items)


origin = page.origin


def results(study: Validation) -> Results:
    """Every number of the page, unrounded."""
    fields: dict[str, Any] = {
        "columns": dict(study.examples.columns),
        "verdict": {
            "word": study.word,
            "because": _reason(study),
            "not_checked": study.missing_checks,
            "checks": {
                "run": [c.kind.name for c in study.checks_run],
                "all": [c.kind.name for c in study.checks],
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
            "decided_by_fold": study.few_pooled,
        },
        "training_gap": None if study.training_gap is None else vars(study.training_gap),
        "subject": study.subject,
        **as_json.records(
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
    if (resplits := study.other_splits) is not None:
        frames = as_json.records(
            ways=resplits.summary, estimates=resplits.points, learning_curve=resplits.curve
        )
        bootstrap = vars(resplits.bootstrap) if resplits.bootstrap else None
        fields["other_splits"] = frames | {"bootstrap": bootstrap, "warned": resplits.warned}
    return as_json.results(study, every_finding(study), fields)


def every_finding(study: Validation) -> list[Finding]:
    """Every finding of a validation report: those of the audit first."""
    return [*study.audited, *unchecked(study), *of_data(study)]


def of_data(study: Validation) -> list[Finding]:
    """What to know of the data and of the fits, beside what the audit found."""
    data = [*_rows(study), *_threshold(study), *_features(study), *_folds(study), *_fits(study)]
    data += rows_without_value(study.rows_without_value, study.rows.size)
    chosen = picked(study, [name for name in study.systems if name != study.baseline])
    return [*data, *chosen, *([] if study.few_pooled else skewed(study))]


def _rows(study: Validation) -> Iterator[Finding]:
    e = study.examples
    n = len(study.examples)
    yield kinds.ROWS_READ.note(
        e.read, "rows", used=rows_used(e.read, n, len(e.score)), columns=columns_read(e.columns)
    )
    for exclusion in e.exclusions:
        names = listed(
            map(repr, exclusion.names)
            if exclusion.kind is kinds.UNUSED_COLUMNS
            else exclusion.names
        )
        yield exclusion.kind.warning(
            exclusion.count, "out", n=exclusion.count, names=names, of=exclusion.total
        )
    if not e.classes:
        low, high, mean = study.label_range
        yield kinds.TARGET_VALUES.note(n, "label", low=low, high=high, mean=mean)
        return
    shares = listed(
        f"{name}: {of_class:,}"
        for name, of_class in zip(e.classes, study.class_counts, strict=True)
    )
    class_note = ""
    if len(e.classes) == 2:
        class_note = f" Class 1 is {class_named(e.classes[1], e.columns['label'])}."
    yield kinds.CLASS_SHARES.note(n, "read", shares=shares, two=class_note)


def _threshold(study: Validation) -> Iterator[Finding]:
    """How scores that are not doubles are compared with the threshold, and whether it decides all
    rows alike.
    """
    if study.threshold is None:
        return
    stored = study.examples.precision
    scores_of = ends(study.examples.score)
    yield from rounded(study.threshold, stored)
    yield from idle(
        {name: rules.rounded(study.threshold, stored[name]) for name in scores_of}, scores_of
    )
    outside_0_1 = {
        name: ends_of_scores
        for name, ends_of_scores in scores_of.items()
        if ends_of_scores[0] < 0 or ends_of_scores[1] > 1
    }
    yield from decisions_as_scores({name: [study.pooled[name].counts] for name in scores_of})
    if outside_0_1 and "threshold" not in study.p.given:
        scores = listed(
            f"{name} {number(low)} to {number(high)}" for name, (low, high) in outside_0_1.items()
        )
        yield kinds.USUAL_THRESHOLD.warning(
            len(outside_0_1), threshold=study.threshold, scores=scores
        )


def _features(study: Validation) -> Iterator[Finding]:
    if (table := study.examples.features) is not None:
        words = list(table.select_dtypes(exclude="number"))
        count = table.shape[1]
        types = f"of them text: {listed(words)}" if words else "all numbers"
        yield kinds.FEATURES.note(count, features=count, types=types)
        if constant := [str(name) for name in table if table[name].nunique(dropna=False) < 2]:
            yield kinds.CONSTANT_FEATURES.warning(len(constant), columns=listed(constant))
    yield from (kinds.MODELS.note(steps=text) for text in study.described)


def _folds(study: Validation) -> Iterator[Finding]:
    """Folds drawn several times, rows that no fold tests, and few rows pooled, with what was
    simulated.
    """
    e = study.examples
    if e.ids_again:
        fewest, largest_count = study.times_of_ids
        repeats_text = f"{fewest}" if fewest == largest_count else f"{fewest} to {largest_count}"
        once = ""
        if study.settings.unit == "id":
            once = " Each id counts once, with the mean of its repeats."
        form, times = "repeats", e.repeats
        if e.has_resampled_folds:
            form = "redrawn"
            times = len(study.tests)
        if e.repeats == len(study.tests):
            form = "holdouts"
        yield kinds.REPEATED_FOLDS.note(
            times, form, each=repeats_text, once=once, times=times, rows=len(e), ids=study.distinct
        )
    if n := study.untested:
        yield kinds.UNTESTED_ROWS.note(n, rows=counted(n, "row"))
    if study.pooled_of_folds:
        rows = counted(study.distinct, study.row_name)
        form = "classes" if study.examples.classes else "forecasts"
        yield kinds.FEW_POOLED.note(study.distinct, form, rows=rows, folds=len(study.tests))


def unchecked(study: Validation) -> list[Finding]:
    """The checks that could not be run, which the verdict weighs for itself."""
    n = len([check for check in study.checks if check.lacks])
    if not n:
        return []
    return [kinds.UNCHECKED.note(n, checks="; ".join(study.missing_checks))]


def _fits(study: Validation) -> Iterator[Finding]:
    """Ways of splitting that were not fitted, for lack of time or for a reason, and what the
    estimator warned of.
    """
    if study.other_splits is None:
        return
    unfitted = study.other_splits.unfitted
    out_of_time = [_why_not(way) for way in unfitted if not way.reason]
    impossible = [_why_not(way) for way in unfitted if way.reason]
    if out_of_time:
        yield kinds.NOT_FITTED.note(len(out_of_time), why="; ".join(out_of_time))
    if impossible:
        yield kinds.UNFIT_SPLITS.note(len(impossible), why="; ".join(impossible))
    for text, n in study.other_splits.warned.items():
        yield kinds.ESTIMATOR_WARNED.warning(n, n=n, text=text)


BINS = 120  # of the map of the folds
INTERVALS = "table-intervals"  # where the tables stand, for links of the first screen
PAIRED = "table-other-systems"
ALONG = {
    "time": "time",
    "group": "groups, in the order of the folds that test them",
    "row": "rows of the table",
}


def intervals(study: Validation) -> Html:
    """The subject's primary metric: honest intervals, and naive ones crossed out."""
    label = study.primary.label
    note = texts.sentence("validation.intervals_note", few_pooled=FEW_POOLED)
    columns = named("estimate=what | claim") | {label: limits("value")}
    columns |= named("n of | method w", of=lambda _: _units_of)
    crossed = {
        head: _struck(column, lambda row: not _is_valid(study, row), "muted")
        for head, column in columns.items()
    }
    caption = f"{label} of {study.subject} with {study.settings.level:.0%} interval"
    return of_rows(caption, study.intervals, crossed, note, INTERVALS)


def _is_valid(study: Validation, row: Record) -> bool:
    """True for an interval that is valid for its claim, although another one may decide."""
    of_models = row["what"] == study.measured_on and not study.folds_differ
    return bool(row["honest"]) or of_models


@each
def _units_of(row: Record) -> str:
    """How many units an estimate is of."""
    return f"{row['n']:,}\u00a0{plural(row['unit'], row['n'])}"


def _struck(column: Column, where: Callable[[Record], object] = bool, kind: str = "") -> Column:
    """A column whose cells are crossed out in some rows, in all where none are named."""

    def struck(cell: Cell) -> Cell:
        return replace(cell, tag="s", kind=f"{cell.kind} {kind}".strip())

    def cells(rows: tables.Rows) -> list[Cell | str]:
        cells_and_rows = zip(map(tables.cell, column(rows)), rows, strict=True)
        return [struck(cell) if where(row) else cell for cell, row in cells_and_rows]

    return cells


def by_fold(study: Validation) -> Html:
    """Every metric of the subject on every fold, pooled, and as the mean of the folds."""
    frame = study.by_fold[study.by_fold["system"] == study.subject]
    gap = study.gap
    primary = study.primary.label
    label = "share of class 1" if len(study.examples.classes) == 2 else "mean label"
    places_by_metric = {
        chosen.label: page.places(study, chosen.label) for chosen in study.settings.metrics
    }
    columns: dict[str, Callable[[Record], Cell]] = {
        "fold": lambda row: Cell(str(row["fold"])),
        "training": lambda row: number_cell(row["train"], 0) if row["train"] else Cell("?"),
        "test": _number("test", 0),
        label: _number("label", 3),
        **{name: _number(name, places) for name, places in places_by_metric.items()},
    }
    if gap is not None:
        frame = frame.assign(gap=gap)
        columns[f"{primary} in training"] = _number("on_train", places_by_metric[primary])
        columns["better by"] = _number("gap", places_by_metric[primary], signed)
    rows = [[make(row) for make in columns.values()] for row in frame.to_dict("records")]
    if study.holdout:
        note = "One holdout: there are no folds to pool."
        return tables.table(f"{study.subject}, the one test set", list(columns), rows, note)
    pooled_values = {
        c.label: study.estimate(c, study.subject).value for c in study.settings.metrics
    }
    pooled = {name: replace(columns[name](pooled_values), tag="strong") for name in pooled_values}
    means = {name: columns[name](study.mean_of_folds) for name in [*columns][4:]}
    pooled |= {"fold": Cell("pooled", tag="strong"), "test": number_cell(study.rows.size, 0)}
    means |= {"fold": Cell("mean of folds")}
    rows += [[row.get(name, Cell("")) for name in columns] for row in (pooled, means)]
    differing = [name for name in pooled_values if pooled[name].text != means[name].text]
    note = f"{_heterogeneity(study)}{_pooled_is_no_mean(study, differing)}"
    return tables.table(f"{study.subject}, fold by fold", list(columns), rows, note)


def _number(name: str, places: int, show: Show = number) -> Callable[[Record], Cell]:
    return lambda row: number_cell(row[name], places, show)


def _heterogeneity(study: Validation) -> str:
    """Whether the folds differ by more than chance, in a sentence."""
    test = study.heterogeneity
    if math.isnan(test["p"]):
        return "Too few folds to test whether they differ."
    differ = "differ significantly" if test["p"] < 0.05 else "do not differ significantly"
    result = f"Cochran's Q = {test['q']:.1f}, {test['freedom']} expected, p {p_value(test['p'])}"
    return f"The folds {differ} in {study.primary.label}: {result}."


def _pooled_is_no_mean(study: Validation, differing: Collection[str]) -> str:
    """The metrics whose pooled value is not the mean of the folds, among those of which the two are
    printed differently; a mean over rows differs by the sizes of the folds alone.
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
    """The subject against every other system on the same folds and rows."""
    if not len(study.paired):
        return tables.paragraph(
            "The metric is undefined on every fold, so there are no paired differences."
        )
    pooled = {
        "first − second": tables.pair,
        "difference": limits("pooled", "pooled_low", "pooled_high", signed),
    }
    folded = {
        "first − second": tables.pair,
        "mean difference": limits("by_fold", show=signed),
        "naive p": _struck(tables.p_column("p_naive")),
        "p": tables.p_column("p"),
    }
    if study.few_pooled:
        folded |= named("adjusted p=adjusted p | verdict w")
    else:
        pooled |= named("p=p_pooled p | adjusted p=adjusted p | verdict w")
    label = study.primary.label
    level = f"{study.settings.level:.0%} interval"
    c = study.compare_pooled(study.primary, (study.subject, study.paired["second"].iloc[0]))
    tested_by = page.methods(study.paired)
    if study.paired["method"].nunique() > 1:
        seconds = study.paired.groupby("method", sort=False)["second"].agg(listed)
        method_texts = (f"{method} against {names}" for method, names in seconds.items())
        tested_by = "; by ".join(method_texts)
    n = f"{c.difference.n:,} {plural(c.unit, c.difference.n)}"
    above = (
        f"{MODELS.capitalize()}: differences in {label}, {level}, {n} "
        f"{'of the test set' if study.holdout else 'pooled out of fold'}"
    )
    adjusted = f", adjusted by Holm over {len(study.paired)}" if len(study.paired) > 1 else ""
    few_note = (
        f"Fewer than {FEW_POOLED:,} rows: the test by fold below decides. Here the folds' models "
        f"are taken as fixed."
    )
    note = few_note if study.few_pooled else f"p by {tested_by}{adjusted}."
    below = f"{LEARNER.capitalize()}: the same by fold, {level}, {len(study.tests)} folds"
    wrong = texts.sentence(
        "validation.wrong_note", adjusted=adjusted if study.few_pooled else ", not adjusted"
    )
    if study.settings.alternative.one_sided and len(study.paired) > 1:
        one_sided = texts.sentence("validation.one_sided_note", study)
        note += one_sided
        wrong += one_sided
    above_all = of_rows(above, study.paired, pooled, note, PAIRED)
    if study.holdout:
        return above_all
    return tables.stack([above_all, of_rows(below, study.paired, folded, wrong)])


def estimates(study: Validation) -> Html:
    """Every system, every metric, out-of-fold rows pooled."""
    rows = "Test rows of the holdout" if study.holdout else "Out-of-fold rows pooled"
    caption = f"{rows}, {counted(study.rows.size, 'row')}, with {study.settings.level:.0%} interval"
    note = texts.sentence("validation.estimates_note", study)
    if study.few_pooled:
        note += texts.sentence("validation.few_pooled_note", few_pooled=FEW_POOLED)
    return page.estimates(study, caption, note)


def fold_map(study: Validation) -> figures.Figure:
    """Which rows train and test in each fold, along time, groups or the rows of the table; of
    repeated folds those of the first repeat.
    """
    along = ALONG[study.axis]
    frame = study.stretches(BINS)
    rows = counted(len(study.rows_of_first_repeat), "row")
    both_note = (
        "; both: some of these rows are in the training set, others in the test set, and no row is "
        "in both"
    )
    mixed = both_note if "both" in set(frame["kind"]) else ""
    fold_count = frame["fold"].nunique()
    repeat = ""
    if study.examples.repeats > 1:
        repeat = f" of the first of {study.examples.repeats} repeats"
    folds = f"{counted(fold_count, 'fold')}{repeat}"
    caption = f"Where each fold trains and tests, along the {along}{mixed}. {folds}, {rows}."
    height = figures.tall(fold_count, head=1.3, each=0.2)
    return figures.picture(
        curve_plots.draw_map,
        frame,
        caption=caption,
        height=height,
        xlabel=f"{along} (n = {rows})",
        dated=study.examples.dated,
    )


def folds(study: Validation) -> figures.Figure:
    """The primary metric of every system on each fold; of the subject also on the training rows."""
    label = study.primary.label
    frame = study.by_fold[study.by_fold["system"].isin(study.order)]
    sides = " Hollow: the value on the fold's own training rows." if "on_train" in frame else ""
    low, high = study.fold_range(study.subject)
    if study.holdout:
        caption = f"{label} on the test rows.{sides} {study.subject} {number(low)}."
    else:
        ends = f"{study.subject} from {number(low)} to {number(high)}"
        caption = (
            f"{label} on each fold's test rows.{sides} {ends} over "
            f"{counted(len(study.tests), 'fold')}."
        )
    names: dict[str, Any] = {"label": label, "subject": study.subject}
    names["xlabel"] = f"fold (n = {counted(study.rows.size, 'row')} tested)"
    return figures.picture(curve_plots.draw_folds, frame, caption=caption, height=2.8, **names)


def interval_plot(study: Validation) -> figures.Figure:
    """The honest intervals and the naive ones, which are grey, on one axis."""
    frame = pd.DataFrame(
        {"name": study.intervals["what"]}
        | {c: study.intervals[c] for c in ("value", "low", "high")}
    )
    frame["colour"] = [
        plots.COLOURS[0] if _is_valid(study, row) else plots.GREY
        for row in study.intervals.to_dict("records")
    ]
    label = f"{study.primary.label} (n = {counted(study.rows.size, 'row')})"
    height = figures.tall(len(frame))
    caption = texts.sentence("validation.interval_plot", study)
    return figures.picture(
        plots.intervals, frame, caption=caption, height=height, label=label, zero=False
    )


@pieces.where(lambda study: len(study.selection))
def selection(study: Validation) -> Html:
    """The columns as selected, beside as many selected anew on all rows and inside each fold; empty
    without any.
    """
    selected_count, column_count = study.selection_sizes
    words = {
        OUTSIDE: "selected by the F statistic on all rows, before the split",
        INSIDE: "selected by the F statistic on the training rows of each fold",
    }
    wrong = study.selection["verdict"].iloc[:2].eq("better").all()
    difference_limits = limits("difference", "difference_low", "difference_high", signed)
    columns: dict[str, Column] = {
        f"{selected_count} of {column_count:,} columns": each(
            lambda row: words.get(row["columns"], "as given")
        ),
        study.primary.label: _struck(
            limits("value"), lambda row: wrong and row["columns"] != INSIDE
        ),
        "minus the last": lambda rows: [*difference_limits(rows[:-1]), ""],
        "adjusted p": lambda rows: [*tables.p_column("adjusted")(rows[:-1]), ""],
    }
    n, test = study.selection[["n", "test"]].iloc[0]
    note = texts.sentence(
        "validation.selection_note", n=n, unit=plural(study.unit_name, n), test=test
    )
    caption = f"{study.primary.label} of {study.subject} by where the columns were selected"
    return of_rows(caption, study.selection, columns, note)


# Other splits -------------------------------------------------------------------------------------


def _why_not(way: Unfitted) -> str:
    """A way of splitting and why it was not fitted in full."""
    return (
        f"{way.way}: "
        f"{way.reason or f'{way.made:,} of {way.wanted:,} fits completed in the time allowed'}"
    )


def other_splits(study: Validation) -> Html:
    """How far the estimates of each way of splitting lie apart."""
    if study.other_splits is None:
        return Html("")
    columns = (
        "split=way | fits n | estimates n | mean # | standard deviation=sd # | lowest # | highest #"
    )
    caption = (
        f"{study.primary.label} of {study.subject}, the same {len(study.examples):,} rows split in "
        f"other ways"
    )
    summary = of_rows(caption, study.other_splits.summary, columns, _lesson(study))
    return tables.stack(
        [summary, _bootstrap(study.other_splits), _ignoring(study, study.other_splits)]
    )


def _lesson(study: Validation) -> str:
    text = texts.sentence("resplits._lesson_text")
    single, ratios = study.other_splits.spread_ratios if study.other_splits else ("", {})
    times = " and ".join(f"{ratio:.1f} times as much as {name}" for name, ratio in ratios.items())
    value = study.reversed_by_one_out  # leaving one out can be wrong on every row
    one_out = "" if value is None else texts.sentence("resplits.one_out", value=number(value))
    return f"{f'{single} varies {times}. ' if times else ''}{text} {one_out}".strip()


def _bootstrap(resplits: Resplits) -> Html:
    if (b := resplits.bootstrap) is None:
        return Html("")
    rows: list[list[Cell | str]] = [
        [text, number_cell(b.accuracy(name))] for name, text in texts.meanings("bootstrap")
    ]
    return tables.table("Accuracy by the bootstrap, all rows", ["estimate", "accuracy"], rows)


def _ignoring(study: Validation, resplits: Resplits) -> Html:
    """The split that fits the columns beside one that ignores them."""
    if resplits.ignoring is None:
        return Html("")
    what = "time" if "time" in study.known_columns else "group"
    split = "the folds given" if "fold" in study.known_columns else f"split by {what}"
    honest = study.estimate(study.primary, study.subject)
    blind = study.interval(study.primary, resplits.ignoring)
    cells = [with_interval(e.value, e.low, e.high) for e in (honest, blind)]
    rows: list[list[Cell | str]] = [
        [split, cells[0]],
        [Cell(f"rows at random, {what} ignored", tag="s"), replace(cells[1], tag="s")],
        ["difference", number_cell(study.optimism(blind), show=signed)],
    ]
    note = f"The difference is the optimism of a split that ignores the {what}."
    return tables.table(
        f"{study.primary.label} of {study.subject}", ["split", study.primary.label], rows, note
    )


def strip(study: Validation) -> figures.Figure | Html:
    """Every estimate that each way of splitting gave, on one axis."""
    if study.other_splits is None:
        return Html("")
    frame, label = study.other_splits.points, study.primary.label
    if not len(frame):
        return tables.paragraph(
            "No other split was fitted: " + "; ".join(map(_why_not, study.other_splits.unfitted))
        )
    rows = study.other_splits.summary.to_dict("records")
    says = "; ".join(
        f"{row['way']} {number(row['lowest'])} to {number(row['highest'])}" for row in rows
    )
    options: dict[str, Any] = {"height": figures.tall(frame["way"].nunique(), head=1.0, each=0.5)}
    options["xlabel"] = f"{label} (n = {counted(len(study.examples), 'row')})"
    caption = texts.sentence("resplits.strip", study)
    return figures.picture(
        curve_plots.draw_strip, frame, caption=caption, says=f"{says}.", **options
    )


def learning_curve(study: Validation) -> figures.Figure | Html:
    """The primary metric by the number of training rows, on the test rows and on the training
    rows.
    """
    if study.other_splits is None or study.other_splits.curve["rows"].nunique() < 2:
        return Html("")
    frame, label = study.other_splits.curve, study.primary.label
    ends = "; ".join(
        f"{name} {number(line['value'].iloc[0])} at {line['rows'].iloc[0]:,} rows, "
        f"{number(line['value'].iloc[-1])} at {line['rows'].iloc[-1]:,}"
        for name, line in frame.groupby("system", sort=False)
    )
    caption = (
        f"{label} of {study.subject} by the number of training rows; band: from the lowest to the "
        f"highest fold."
    )
    return figures.picture(
        plots.curves,
        frame,
        caption=caption,
        says=f"{ends}.",
        x="rows",
        y="value",
        log=True,
        height=2.6,
        xlabel="training rows (log scale)",
        ylabel=f"{label} (n = {len(study.tests)} folds)",
    )


SUMMARY = (verdict, leakage, estimates)
PIECES = (
    *(
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
    ),
    *(estimates, paired, strip, other_splits, learning_curve, definitions, origin),
)

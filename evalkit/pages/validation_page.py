"""The words and tables that only the validation page has, each from the study's frames."""

from typing import Any

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, Results, escape, interval, number, p_value, signed, with_interval
from evalkit.findings.finding import SEVERE, WARNING, Finding
from evalkit.pages import page, pieces, validation_findings
from evalkit.studies import checks
from evalkit.studies import validation_diagnostics as diagnostics
from evalkit.studies.resplits import ONE_OUT, OUT_OF_BAG
from evalkit.studies.validity import NAIVE, Validation
from evalkit.studies.words import counted, plural

pieces.listed(__name__)

EXAMPLES = 3


def title(s: Validation) -> Html:
    """The title and what was asked."""
    return tables.heading("Validation report", f"Can the evaluation of {s.subject} be trusted, on {_extent(s)}?")


def _extent(s: Validation) -> str:
    n, folds = len(s.examples), len(s.tests)
    if s.holdout:
        return f"{counted(s.rows.size, 'test row')} of one holdout"
    repeats = s.examples.repeats
    if repeats > 1:
        return f"{s.distinct:,} ids, {repeats} repeats of {diagnostics.folds_of_a_repeat(s):g} folds"
    return f"{counted(n, 'row')} in {counted(folds, 'fold')}"


# The verdict


def verdict(s: Validation) -> Html:
    """The gate where one is set; whether to trust, and why; what the estimate is then worth."""
    gate = [tables.verdict("pass" if s.gate["passed"] else "fail", f"gate: {escape(s.gate['rule'])}")] if s.gate else []
    lines = [_estimate(s), *_training_gap(s), *_baseline(s), escape(f"Split: {s.folds.rule}.")]
    lines += [escape(f"{finding.message} [{finding.kind.code}]") for finding in validation_findings.unchecked(s)]
    return tables.stack([*gate, tables.verdict(s.word, escape(_reason(s)), *lines)])


def _reason(s: Validation) -> str:
    severe = [one for one in s.findings if one.severity == SEVERE]
    warned = [one for one in s.findings if one.severity == WARNING]
    if s.word == "fail":
        return f"this evaluation cannot be trusted, because {severe[0].message}{_more(severe)}"
    if warned:
        return f"a warning must be explained first: {warned[0].message}{_more(warned)}; {_checked(s)}"
    unseen = checks.usual(s.checks)
    return f"no problem found; {_checked(s)}" + (f"; not checked: {', '.join(unseen)}" if unseen else "")


def _checked(s: Validation) -> str:
    run = [check for check in s.checks if not check.lacks]
    return f"{len(run)} of {len(s.checks)} checks could be run"


def _more(found: list[Finding]) -> str:
    return f" (and {len(found[1:])} more below)" if len(found) > 1 else ""


def _estimate(s: Validation) -> str:
    honest = s.intervals[s.intervals["honest"]]
    first = (honest if len(honest) else s.intervals).iloc[0]
    value = f"{number(first['value'])} {interval(first['low'], first['high'])}"
    unit = f"{first['n']:,} {plural(first['unit'], first['n'])}"
    named = f"{'If it could, ' if s.word == 'fail' else ''}{escape(s.primary.label)} of {escape(s.subject)}"
    if not s.fits and len(s.systems) > 2:
        named += f" (the best of {len(s.systems[1:])}, picked on these rows)"
    found = f"{named}: {value}, {unit}, {escape(first['what'])} ({escape(first['method'])})"
    naive = s.intervals[s.intervals["what"] == NAIVE]
    if not len(naive):
        return f"{found}."
    row = naive.iloc[0]
    return f"{found}; not <s>{interval(row['low'], row['high'])}</s>, a t over {row['n']} folds that share their rows."


def _training_gap(s: Validation) -> list[str]:
    gap = s.training_gap
    if gap is None:
        return []
    train = s.folds.pairs[0][0].size
    return [
        f"Training gap ({escape(s.primary.label)} on {train:,} training rows minus that on {s.rows.size:,} test rows): "
        f"{signed(gap.value)} {interval(gap.low, gap.high, signed)} ({gap.method})."
    ]


def _baseline(s: Validation) -> list[str]:
    rows = s.paired[s.paired["second"] == s.baseline] if len(s.paired) else s.paired
    if not len(rows):
        return []
    row = rows.iloc[0]
    e = s.estimate(s.primary, s.baseline)
    difference = f"{signed(row['pooled'])} {interval(row['pooled_low'], row['pooled_high'], signed)}"
    between = {"better": "than", "worse": "than", "equivalent": "to", "cannot tell": "from"}[row["verdict"]]
    return [
        f"<strong>{row['verdict']}</strong> {between} {escape(s.baseline)}, which looks at no feature and has "
        f"{number(e.value)}: {difference}, adjusted p {p_value(row['adjusted'])} ({escape(row['method'])})."
    ]


# The data and what leaks


def findings(s: Validation) -> Html:
    """What to know of the data and of the fits before the numbers."""
    return tables.findings(validation_findings.of_data(s))


def leakage(s: Validation) -> Html:
    """Everything that the audit found, severe findings first, with example rows."""
    if not s.findings:
        return tables.paragraph("Nothing was found.")
    rows = [_finding(s, one) for one in s.findings]
    note = "severe: the estimate is wrong; warning: it may be, look; note: good to know. At most 3 examples each."
    columns = ["severity", "code", "check", "rows", "what was found", "for example"]
    return tables.table(f"What the audit of the split found ({len(rows)})", columns, rows, note)


def _finding(s: Validation, one: Finding) -> list[Cell | str]:
    e = s.examples
    named = [f"row {row + 1}" if e.id is None else str(e.id[row]) for row in one.rows[:EXAMPLES]]
    severity = f"<strong>{one.severity}</strong>" if one.severity == SEVERE else one.severity
    rows = f"{one.count:,} of {one.of:,}"
    return [
        severity,
        Cell(one.kind.code, "text"),
        Cell(escape(one.name), "text"),
        rows,
        Cell(escape(one.message), "text"),
        Cell(escape(", ".join(named)), "text"),
    ]


# What the estimate is worth


def intervals(s: Validation) -> Html:
    """The subject's primary metric: honest intervals, and naive ones crossed out."""
    rows: list[list[Cell | str]] = []
    for row in s.intervals.to_dict("records"):
        text = with_interval(row["value"], row["low"], row["high"])
        n = f"{row['n']:,} {plural(row['unit'], row['n'])}"
        cells = [escape(row["what"]), text, n, escape(row["method"])]
        rows.append(
            [Cell(cell if row["honest"] else f"<s>{cell}</s>", "" if row["honest"] else "muted") for cell in cells]
        )
    note = (
        "Crossed out: takes for a sample what is none. Folds share training rows, rows of a group resemble each other, "
        "and where folds differ by more than chance the rows are of several kinds. Simulated with 200 rows, t over "
        "10 × 10 folds held the truth 43 times in 100 instead of 95."
    )
    caption = f"{s.primary.label} of {s.subject} with {s.settings.level:.0%} interval"
    return tables.table(caption, ["estimate", s.primary.label, "n", "interval"], rows, note)


def by_fold(s: Validation) -> Html:
    """Every metric of the subject on every fold, pooled, and as the mean of the folds."""
    frame = s.by_fold[s.by_fold["system"] == s.subject]
    labels = [chosen.label for chosen in s.settings.metrics]
    gap = s.gap
    head = ["fold", "training", "test", "share of class 1" if len(s.examples.classes) == 2 else "mean label", *labels]
    head += [f"{s.primary.label} in training", "better by"] if gap is not None else []
    rows = [_fold(row, labels, None if gap is None else gap[i]) for i, row in enumerate(frame.to_dict("records"))]
    pooled = [s.estimate(chosen, s.subject).value for chosen in s.settings.metrics]
    rest: list[Cell | str] = ["", ""] if gap is not None else []
    tested = f"{s.rows.size:,}"
    if s.holdout:
        return tables.table(f"{s.subject}, the one test set", head, rows, "One holdout: there are no folds to pool.")
    rows.append(
        ["<strong>pooled</strong>", "", tested, "", *(f"<strong>{number(one)}</strong>" for one in pooled), *rest]
    )
    mean = diagnostics.mean_of_folds(s)
    means = [number(mean[label]) for label in labels]
    if gap is not None:
        rest = [number(mean["on_train"]), signed(diagnostics.mean_gap(s))]
    rows.append(["mean of folds", "", "", "", *means, *rest])
    return tables.table(f"{s.subject}, fold by fold", head, rows, _unlike(s))


def _fold(row: dict[str, Any], labels: list[str], gap: float | None) -> list[Cell | str]:
    cells: list[Cell | str] = [escape(row["fold"]), f"{row['train']:,}" if row["train"] else "?", f"{row['test']:,}"]
    cells += [number(row["label"]), *(number(row[label]) for label in labels)]
    return cells + ([] if gap is None else [number(row["on_train"]), signed(gap)])


def _unlike(s: Validation) -> str:
    u = s.unlike
    if not diagnostics.comparable_folds(s):
        return "Too few folds to ask whether they differ."
    differ = "differ by more than chance" if u["p"] < 0.05 else "differ no more than chance makes them"
    found = f"Cochran's Q = {u['q']:.1f}, {u['freedom']} expected, p {p_value(u['p'])}"
    text = f"The folds {differ} in {s.primary.label}: {found}."
    pools = [chosen.label for chosen in s.settings.metrics if not chosen.metric.kind.of_rows]
    return text + (f" {', '.join(pools)} pooled is not the mean of the folds." if pools else "")


# Other systems


def paired(s: Validation) -> Html:
    """The subject against every other system on the same folds and rows."""
    if not len(s.paired):
        return tables.paragraph("The metric is undefined on every fold: nothing to pair.")
    pooled: list[list[Cell | str]] = []
    folded: list[list[Cell | str]] = []
    for row in s.paired.to_dict("records"):
        name = f"{escape(row['first'])} − {escape(row['second'])}"
        limits = with_interval(row["pooled"], row["pooled_low"], row["pooled_high"], signed)
        pooled.append([name, limits, p_value(row["p_pooled"]), p_value(row["adjusted"]), Cell(row["verdict"], "text")])
        limits = with_interval(row["by_fold"], row["low"], row["high"], signed)
        folded.append([name, limits, p_value(row["p"]), f"<s>{p_value(row['p_naive'])}</s>"])
    first, label, level = s.paired.iloc[0], s.primary.label, f"{s.settings.level:.0%} interval"
    n = f"{first['n']:,} {plural(first['unit'], first['n'])}"
    above = f"Differences in {label}, {level}, {n} {'of the test set' if s.holdout else 'pooled out of fold'}"
    note = f"p by {first['method']}{f', adjusted by Holm over {len(s.paired)}' if len(s.paired) > 1 else ''}."
    below = f"The same by fold, {level}, {len(s.tests)} folds"
    wrong = (
        "p by Nadeau and Bengio's corrected t. Crossed out: folds share rows, and the plain t-test over 10 × 10 of "
        "them calls two equal learners different in half of all cases."
    )
    columns = ["first − second", "difference", "p", "adjusted p", "verdict"]
    one = tables.table(above, columns, pooled, note)
    if s.holdout:
        return one
    return tables.stack(
        [one, tables.table(below, ["first − second", "mean difference", "p", "naive p"], folded, wrong)]
    )


def estimates(s: Validation) -> Html:
    """Every system, every metric, out-of-fold rows pooled."""
    rows = "Test rows of the holdout" if s.holdout else "Out-of-fold rows pooled"
    caption = f"{rows}, {counted(s.rows.size, 'row')}, with {s.settings.level:.0%} interval"
    return page.estimates(s, caption, f"{s.baseline}: no feature, the training rows' classes or median alone.")


# The end


def definitions(s: Validation) -> Html:
    """The metrics shown, then the words of this page."""
    items, averaged = page.metric_definitions(s), s.settings.limits.averaged
    items += [
        ("out of fold", "predicted by a model that was fitted without the row's fold"),
        (
            "pooled",
            "the metric of all out-of-fold rows together; accuracy with Wilson's interval, AUC with DeLong's, means "
            "with t; where there is a group column, whole groups vary (delta method). A pooled AUC also compares "
            "scores of different folds: a constant score per fold then falls below ½",
        ),
        (
            "training gap",
            "of a holdout: the metric on its training rows minus on its test rows. The interval joins those of the two "
            "values (MOVER), doi:10.1002/sim.3095. A large gap shows overfitting, not a leak",
        ),
        (
            "Nadeau–Bengio",
            "t over J fold values whose variance is multiplied by 1/J + test/training rows, because the folds share "
            "rows; doi:10.1023/A:1024068626366",
        ),
        ("McNemar", "exact test, mid-p, of the rows that only one of two systems classifies rightly"),
        (
            "Cochran's Q",
            "Σ (fold − mean)² / variance; about the number of folds − 1 where the folds are of one kind. p by χ², or "
            "by Welch's F where each fold tells its own variance",
        ),
        (
            f"{averaged} × k-fold",
            "the folds drawn anew so often, and the mean taken: repeated cross-validation. Its standard deviation is "
            f"that of one draw / √{averaged}",
        ),
        (
            OUT_OF_BAG,
            ".632 = 0.368 · training + 0.632 · out of bag; .632+ leans to out of bag by the rate of overfitting",
        ),
        (
            ONE_OUT,
            "each row tested by a model of all others. Its own class is then the rarer one: a model that says the "
            "majority has accuracy 0 on classes of equal size",
        ),
        (
            "verdict",
            "fail: a severe finding; cannot tell: a warning, or groups, time or copied rows could not be checked; "
            "pass: neither. The gate 'no severe finding' fails only on fail, whatever could not be checked; "
            "'trusted' requires pass",
        ),
    ]
    return tables.definitions(items)


def origin(s: Validation) -> Html:
    """Inputs, parameters, versions, the command."""
    return page.origin(s, s.examples.sources, "validation")


def results(s: Validation) -> Results:
    """Every number of the page, unrounded."""
    more: dict[str, Any] = {
        "columns": dict(s.examples.columns),
        "verdict": {
            "word": s.word,
            "because": _reason(s),
            "not_checked": s.missing_checks,
            "checks": {"run": [c.name for c in s.checks if not c.lacks], "all": [c.name for c in s.checks]},
        },
        "split": {
            "rule": s.folds.rule,
            "folds": len(s.tests),
            "rows": len(s.examples),
            "tested": s.rows.size,
            "repeats": s.examples.repeats,
            "distinct": s.distinct,
        },
        "training_gap": None if s.training_gap is None else vars(s.training_gap),
        "subject": s.subject,
        "selection": s.selection.to_dict("records"),
        "intervals": s.intervals.to_dict("records"),
        "folds": s.by_fold.to_dict("records"),
        "heterogeneity": s.unlike,
        "paired": s.paired.to_dict("records"),
        "other_splits": None,
    }
    if s.other is not None:
        more["other_splits"] = {
            "ways": s.other.summary.to_dict("records"),
            "estimates": s.other.points.to_dict("records"),
            "learning_curve": s.other.curve.to_dict("records"),
            "bootstrap": vars(s.other.bootstrap) if s.other.bootstrap else None,
            "warned": s.other.warned,
        }
    return page.results(s, "validation", s.examples.sources, validation_findings.of(s), more)

"""What to know before believing the numbers: size, clusters, ties, skew, tests that disagree, looks; in words."""

from collections.abc import Sequence

from evalkit.drawing.tables import interval, number, p_value, signed
from evalkit.findings import inputs, methods
from evalkit.findings.finding import Finding
from evalkit.pages.ranking_findings import gaps, unshared
from evalkit.pages.shared_findings import columns_read, counts, few_units, unmatched
from evalkit.studies import significance_diagnostics as diagnostics
from evalkit.studies.diagnostics import FEW, alpha
from evalkit.studies.significance import Significance
from evalkit.studies.trials import Shares
from evalkit.studies.words import counted, plural

RANKED = {"wilcoxon": "Wilcoxon", "sign": "the sign test"}
LISTED = 8  # systems and metrics that a line names
PAIRS = 3  # pairs that a line names


def of(s: Significance | Shares) -> list[Finding]:
    """Every finding of a significance report."""
    if isinstance(s, Shares):
        return [*_trials(s), *_score_test(s), *_two_methods(s), _independent()]
    data = [*_data(s), *_undefined(s), *_folds(s)]
    if not len(s.headline):
        return data
    units = [*_clusters(s), *_few(s), *_equal(s), *_skew(s)]
    return [*data, *units, *_tail(s), *_tests(s), *_metrics(s), *_looked(s)]


# Shares of trials


def _trials(s: Shares) -> list[Finding]:
    n, small = diagnostics.trials(s), diagnostics.small_systems(s)
    findings = [inputs.ROWS_READ.note(f"{counted(n, 'trial')}. Columns: {columns_read(s.data.columns)}.", n)]
    text = f"Fewer than {FEW} trials: {', '.join(small)}."
    return findings + ([inputs.FEW_UNITS.warning(text, len(small))] if small else [])


def _score_test(s: Shares) -> list[Finding]:
    pairs = s.beyond_exact if s.alternative == "two-sided" else []
    exact = "Fisher's test" if s.null is None else "the exact binomial test"
    text = f"Above {diagnostics.EXACT:,} trials the score test replaces {exact}, from which it differs"
    return [methods.SCORE_TEST.note(f"{text} by less than 0.1 %: {', '.join(pairs)}.", len(pairs))] if pairs else []


def _two_methods(s: Shares) -> list[Finding]:
    rows = diagnostics.two_answers(s).to_dict("records")
    listed = [
        f"{r['first']} − {r['second']} (p {p_value(r['p'])}, {interval(r['low'], r['high'], signed)})" for r in rows
    ]
    text = f"Test and interval are of two methods and disagree on {', '.join(listed[:PAIRS])}."
    return [methods.TEST_AND_INTERVAL.warning(text, len(listed))] if listed else []


def _independent() -> Finding:
    text = "Each trial must be independent of the others: where one user makes several, give per-user values instead."
    return inputs.INDEPENDENT_TRIALS.note(f"{text} The number of trials must have been fixed in advance.")


# Paired values


def _data(s: Significance) -> list[Finding]:
    columns, rows, units = columns_read(s.data.columns), len(s.data.unit), diagnostics.units(s)
    many = counted(units, s.unit_name)
    many = many if rows == units else f"{counted(rows, 'row')} of {many}, which are the units"
    text = f"{many}, {counted(len(s.systems), 'system')}, {counted(len(s.settings.metrics), 'metric')}."
    read = inputs.ROWS_READ.note(f"{text}{f' Columns: {columns}.' if columns else ''}", rows)
    lists = [*unshared(s.accounts), *gaps(s.accounts)]
    return [read, *s.data.findings, *unmatched(s.alone), *lists, *_known(s)]


def _known(s: Significance) -> list[Finding]:
    """An earlier report, whose values and whose differences may be means over different things."""
    if not s.data.known:
        return []
    text = "An earlier report: its differences are tested anew, its systems' values are as it says."
    findings, means = [inputs.EARLIER_REPORT.note(text)], diagnostics.other_means(s)
    if means:
        text = f"The mean of these differences is {number(means.of_differences, 4)}, the values differ by "
        text += f"{number(means.between_values, 4)}: those are over rows, ratios of sums, or over units that only "
        findings.append(inputs.OTHER_MEANS.warning(f"{text}one of them has."))
    return findings


def _undefined(s: Significance) -> list[Finding]:
    several = diagnostics.undefined(s)
    rest = list(several)[LISTED:]
    listed = counts({name: n for name, n in several.items() if name not in rest})
    text = f"Without a value, left out of the mean and of every pair with them: {listed}"
    more = f" and {len(rest)} more" if rest else ""
    return [inputs.UNDEFINED_VALUES.warning(f"{text}{more}.", max(several.values()))] if several else []


def _folds(s: Significance) -> list[Finding]:
    if s.test_to_train:
        text = "Folds share training rows: Nadeau and Bengio's corrected t, no sign flips."
        return [methods.CORRECTED_FOLDS.note(text)]
    text = f"Units are called {s.unit_name!r}. Folds that share training rows are no sample."
    return [methods.FOLDS_AS_UNITS.warning(text)] if diagnostics.called_folds(s) else []


def _clusters(s: Significance) -> list[Finding]:
    return [
        inputs.POSSIBLE_CLUSTERS.warning(
            f"{c.column} repeats ({c.values:,} values): with whole {c.column} as units the standard error of "
            f"{' − '.join(s.opponents)} is {c.wider:.1f} times as large.",
            c.values,
        )
        for c in diagnostics.clusters(s)
    ]


def _few(s: Significance) -> list[Finding]:
    least = diagnostics.least_p(s)
    floor = "" if least is None else f" No exact p below {p_value(least)} is possible."
    return few_units(s, diagnostics.least_units(s), floor)


def _equal(s: Significance) -> list[Finding]:
    equal = diagnostics.equal_units(s)
    pairs, same = equal.pairs, equal.same_size
    if not len(pairs):
        return []
    rows = pairs.head(PAIRS).to_dict("records")
    listed = [f"{r['first']} and {r['second']} on {r['ties']:,}{'' if same else _of(r)}" for r in rows]
    units = f"{_of(rows[0]) if same else ''} {plural(s.unit_name, 2)}"
    more = f" ({len(pairs)} such pairs)" if len(pairs) > PAIRS else ""
    text = f"Equal on {s.primary.label}: {', '.join(listed)}{units}{more}. The others decide; equal ones change no "
    return [methods.EQUAL_UNITS.note(f"{text}sign-flip p.", len(pairs))]


def _of(row: dict) -> str:
    return f" of {row['of']:,}"


def _skew(s: Significance) -> list[Finding]:
    skew = diagnostics.skew(s)
    if skew is None:
        return []
    text = (
        f"Skewed differences of {' − '.join(skew.pair)} (skewness {skew.skewness:+.1f}): the normal approximation "
        f"needs about {counted(skew.wanted, s.unit_name)}, there are {skew.units:,}; a 5 % test may reject 8 % or more."
    )
    return [methods.SKEWED.warning(text, skew.units)]


def _tail(s: Significance) -> list[Finding]:
    n = diagnostics.sampled_tails(s)
    text = f"{n:,} of {len(s.comparisons):,} p-values are too small for plain random draws and were estimated by "
    text += "importance sampling, with a relative error of a few percent."
    return [methods.SMALL_P.note(text, n)] if n else []


def _tests(s: Significance) -> list[Finding]:
    tests = diagnostics.agreement(s)
    if tests is None:
        return []
    threshold = f"{alpha(s):g}"
    how = "the one comparison" if tests.compared == 1 else f"all {tests.compared} comparisons"
    findings: list[Finding] = []
    if len(tests.apart):
        listed = _both(tests.apart.head(PAIRS).to_dict("records"))
        text = f"Sign flips and t fall on two sides of {threshold}: {listed}."
        findings.append(methods.TESTS_DISAGREE.warning(text, len(tests.apart)))
    elif tests.compared:
        text = f"Sign flips and t agree on {how} at {threshold}, before Holm's correction."
        findings.append(methods.TESTS_AGREE.note(text, tests.compared))
    if tests.otherwise:
        listed = ", ".join(f"{RANKED[name]} on {n}" for name, n in tests.otherwise.items())
        text = f"Tests that are not of a mean would answer otherwise: {listed} of {tests.every}."
        findings.append(methods.OTHER_TESTS.note(text, max(tests.otherwise.values())))
    return findings


def _both(rows: Sequence[dict]) -> str:
    return "; ".join(
        f"{r['first']} − {r['second']} {r['metric']} (p {p_value(r['p'])}, t {p_value(r['t'])})" for r in rows
    )


def _metrics(s: Significance) -> list[Finding]:
    leaders = diagnostics.other_leaders(s)
    listed = ", ".join(f"{leader.system} by {leader.label} ({number(leader.value)})" for leader in leaders)
    text = f"{s.order[0]} leads by {s.primary.label}, but {listed}."
    return [methods.METRICS_DISAGREE.warning(text, len(leaders))] if leaders else []


def _looked(s: Significance) -> list[Finding]:
    if s.looks == 1:
        return []
    each, cost = f"{alpha(s):.2g}", f"{diagnostics.false_positives(s):.1%}"
    text = f"You looked {s.looks} times: at {each} each, chance alone finds something in {cost} of the cases."
    corrected = f"Here every p and interval is corrected; each look counts as at {diagnostics.look_alpha(s):.2g}."
    return [methods.LOOKS.warning(f"{text} {corrected}", s.looks)]

"""What to know before believing the numbers: size, clusters, ties, skew, disagreeing tests, interim analyses."""

from collections.abc import Sequence

from evalkit.findings import kinds
from evalkit.findings.kinds import Finding
from evalkit.numbers import counted, number, p_value, plural
from evalkit.pages import shares_page
from evalkit.pages.pieces import also
from evalkit.pages.shared_findings import (
    assumed,
    columns_read,
    contrary,
    counts,
    few_units,
    gaps,
    picked,
    skewed,
    unmatched,
    unshared,
)
from evalkit.statistics import multiplicity
from evalkit.statistics.flip_tail import TAIL
from evalkit.studies import paired
from evalkit.studies.diagnostics import alpha
from evalkit.studies.paired import FOLDS, Agreement, Significance
from evalkit.studies.significance import Shares

RANKED = {"wilcoxon": "Wilcoxon", "sign": "the sign test"}
PAIRS = 3  # pairs that a line names


@also(Shares, shares_page.findings)
def of(study: Significance) -> list[Finding]:
    """Every finding of a significance report."""
    data = [*_data(study), *_scales(study), *_undefined(study), *_folds(study)]
    if not len(study.headline):
        return data
    units = [*_clusters(study), *_few(study), *_equal(study), *picked(study), *skewed(study)]
    return [*data, *_many(study), *units, *_tail(study), *_tests(study), *contrary(study), *_looked(study)]


def _data(study: Significance) -> list[Finding]:
    columns, rows, units = columns_read(study.data.columns), len(study.data), study.units
    many = counted(units, study.unit_name)
    many = many if rows == units else f"{counted(rows, 'row')} of {many}, which are the units"
    text = f"{many}, {counted(len(study.systems), 'system')}, {counted(len(study.settings.metrics), 'metric')}."
    read = kinds.ROWS_READ.note(f"{text}{f' Columns: {columns}.' if columns else ''}", rows)
    lists = [*unshared(study.accounts), *gaps(study.accounts)]
    direction = assumed(study, f"set lower_is_better={study.primary.label!r}")
    return [read, *direction, *study.data.findings, *unmatched(study.alone), *lists, *_known(study)]


def _many(study: Significance) -> list[Finding]:
    """What takes the place of methods that visit every unit many times."""
    if not study.many:
        return []
    most = f"{study.settings.limits.reading.listed:,} {plural(study.unit_name, 2)}"
    text = (
        f"Of more than {most} differences are tested by t, and max-T and the distribution under the null are draws "
        "from the normal distribution that sign flips have; the bootstrap test is left out, and single differences "
        "are not listed."
    )
    return [kinds.VERY_MANY_UNITS.note(text, study.units)]


def _known(study: Significance) -> list[Finding]:
    """An earlier report, whose values and whose differences may be means over different things."""
    if not study.data.known:
        return []
    text = "The input is an earlier report: its differences are tested again, its systems' values are used unchanged."
    findings, means = [kinds.EARLIER_REPORT.note(text)], paired.other_means(study)
    if means:
        text = f"The mean of these differences is {number(means[0], 4)}, but the systems' values differ by "
        text += f"{number(means[1], 4)}: the values are over rows, are ratios of sums, or include units that only one "
        findings.append(kinds.OTHER_MEANS.warning(f"{text}system has."))
    return findings


def _scales(study: Significance) -> list[Finding]:
    return [
        kinds.OTHER_SCALES.warning(
            f"On {metric}, {large} has about {number(times, 2)} times the values of {small}: have both one unit?"
        )
        for metric, large, small, times in paired.other_scales(study)
    ]


def _undefined(study: Significance) -> list[Finding]:
    several = paired.undefined(study)
    text = f"Units without a value are left out of the system's mean and of its comparisons: {counts(several)}."
    return [kinds.UNDEFINED_VALUES.warning(text, max(several.values()))] if several else []


def _folds(study: Significance) -> list[Finding]:
    if study.test_to_train:
        text = "Folds share training rows: Nadeau and Bengio's corrected t-test replaces sign flips."
        return [kinds.CORRECTED_FOLDS.note(text)]
    text = f"Units are called {study.unit_name!r}. Folds that share training rows are not independent."
    return [kinds.FOLDS_AS_UNITS.warning(text)] if study.unit_name.lower() in FOLDS else []


def _clusters(study: Significance) -> list[Finding]:
    return [
        kinds.POSSIBLE_CLUSTERS.warning(
            f"{column} repeats ({values:,} values): clustered by {column}, the standard error of "
            f"{' − '.join(study.opponents)} is {wider:.1f} times as large.",
            values,
        )
        for column, values, wider in study.clusters()
    ]


def _few(study: Significance) -> list[Finding]:
    least = int(study.comparisons["n"].min())
    floor = f" No exact p below {p_value(2.0 ** (1 - least))} is possible." if study.flips else ""
    return few_units(study, least, floor)


def _equal(study: Significance) -> list[Finding]:
    pairs, same = paired.equal_units(study)
    if not len(pairs):
        return []
    rows = pairs.head(PAIRS).to_dict("records")
    listed = [f"{r['first']} and {r['second']} on {r['ties']:,}{'' if same else _of(r)}" for r in rows]
    units = f"{_of(rows[0]) if same else ''} {plural(study.unit_name, 2)}"
    more = f" ({len(pairs)} such pairs)" if len(pairs) > PAIRS else ""
    text = f"Equal on {study.primary.label}: {', '.join(listed)}{units}{more}."
    rest = "The test rests on the others; ties do not change the sign-flip p."
    return [kinds.EQUAL_UNITS.note(f"{text} {rest}", len(pairs))]


def _of(row: dict) -> str:
    return f" of {row['of']:,}"


def _tail(study: Significance) -> list[Finding]:
    n = int(study.comparisons["method"].str.contains(TAIL, regex=False).sum())
    text = (
        f"{n:,} of {len(study.comparisons):,} p-values are too small for plain Monte Carlo draws and were estimated by "
    )
    text += "importance sampling, with a relative error of a few percent."
    return [kinds.SMALL_P.note(text, n)] if n else []


def _tests(study: Significance) -> list[Finding]:
    tests = paired.agreement(study)
    if tests is None:
        return []
    return [*_beside_t(study, tests), *_ranked(tests)]


def _beside_t(study: Significance, tests: Agreement) -> list[Finding]:
    """Whether sign flips and t agree."""
    threshold = f"{alpha(study):g}"
    how = {1: "the one comparison", 2: "both comparisons"}.get(tests.compared, f"all {tests.compared} comparisons")
    if len(tests.apart):
        listed = _both(tests.apart.head(PAIRS).to_dict("records"))
        text = f"The sign-flip test and the t-test fall on different sides of {threshold}: {listed}."
        return [kinds.TESTS_DISAGREE.warning(text, len(tests.apart))]
    text = f"The sign-flip test and the t-test agree on {how} at {threshold}, before Holm's correction."
    return [kinds.TESTS_AGREE.note(text, tests.compared)] if tests.compared else []


def _ranked(tests: Agreement) -> list[Finding]:
    """Tests of ranks that answer differently."""
    if not tests.otherwise:
        return []
    listed = ", ".join(f"{RANKED[name]} on {n}" for name, n in tests.otherwise.items())
    text = f"Tests whose hypothesis is not about the mean reach another conclusion: {listed} of {tests.every}."
    return [kinds.OTHER_TESTS.note(text, max(tests.otherwise.values()))]


def _both(rows: Sequence[dict]) -> str:
    return "; ".join(
        f"{r['first']} − {r['second']} {r['metric']} (p {p_value(r['p'])}, t {p_value(r['t'])})" for r in rows
    )


def _looked(study: Significance) -> list[Finding]:
    if study.looks == 1:
        return []
    rate = multiplicity.false_positive_rate(study.looks, level=study.settings.level)
    each, cost = f"{alpha(study):.2g}", f"{rate:.1%}"
    cases = f"{cost} of experiments without a difference would be significant."
    text = f"{study.looks} analyses of growing data: at {each} each, {cases}"
    corrected = f"Here every p and interval is corrected: each analysis has level {1 - study.test_level:.2g}."
    return [kinds.LOOKS.warning(f"{text} {corrected}", study.looks)]

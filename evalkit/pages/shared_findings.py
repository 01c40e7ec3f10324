"""Findings that several reports share, in words: rows, units, weights, slices, thresholds and
stored scores.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import pandas as pd

from evalkit.arrays import Record
from evalkit.catalogue.metric import MetricAtK
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding, measured
from evalkit.numbers import (
    count_with_noun,
    decimals,
    enumerated,
    listed,
    number,
    plural,
    share,
    shortened_name,
    signed_number,
)
from evalkit.pages import page
from evalkit.parameters.kinds import written
from evalkit.reading.inputs.lists import ListAccount
from evalkit.reading.tables import rules
from evalkit.studies import classes, diagnostics
from evalkit.studies.groups import DIFFERENT, FEW_CASES
from evalkit.studies.ranking import by_system, hardly_judged, total
from evalkit.studies.row_study import ReadingAccount, RowStudy
from evalkit.studies.study import Study

MOST_SLICES = 4  # weak slices that a finding names
SHOWN = 6  # metrics that a finding names for a small group
MOST_UNREAD = 10  # columns that a finding lists


def columns_in_words(columns: Mapping[str, str]) -> str:
    """The column of each role, in words."""
    return ", ".join(f"{role} = {name}" for role, name in columns.items())


def metrics_without_direction(study: Study) -> Iterator[Finding]:
    """A warning that names the metrics for which it is not known whether higher or lower values are
    better: verdicts by them can only say "higher" or "lower". Nothing with a single system, as no
    systems are compared.
    """
    if len(study.systems) == 1:
        return
    metrics = [
        chosen.label for chosen in study.metrics_with_direction if chosen.metric.direction == 0
    ]
    if metrics:
        n = len(metrics)
        verb = "does" if n == 1 else "do"
        subject = f"{plural('name', n)} {listed(metrics)} {verb}"
        finding = kinds.NO_DIRECTION.warning(n, names=subject, low=written(metrics))
        yield finding.for_metrics(metrics, study.primary_metric.label)


def one_row_per_unit(study: Study, units: int, what: str) -> Iterator[Finding]:
    """That one row of each of many units is held, and of how many it can be. what: the units in
    words, such as "sessions".
    """
    limits = study.settings.limits
    if units > limits.reading.rows:
        yield kinds.HELD.note(units=units, what=what, most=limits.held)


def counts(by_name: Mapping[str, int]) -> str:
    """Names with their counts, in words."""
    return listed(f"{name} {n:,}" for name, n in by_name.items())


def counts_above_zero(by_name: Mapping[str, int]) -> dict[str, int]:
    """The names with a count above 0."""
    return {name: n for name, n in by_name.items() if n}


def rows_read(rows: ReadingAccount) -> Iterator[Finding]:
    """Notes on the input: how many rows were read and how many are used, which column has which
    role, the rows that not all systems have, and the columns that nothing uses.

    rows: the account of a table that was read, whose length is the number of rows used.
    """
    text = rows_used(rows.read, len(rows), len(rows.systems))
    if rows.quantile_rows:  # a file with a row per quantile, joined to one row per forecast
        in_file = count_with_noun(rows.quantile_rows, "row")
        text = f"{in_file}, joined by forecast: {text}"
    columns = columns_in_words(rows.columns)
    yield kinds.ROWS_READ.note(rows.read, "rows", used=text, columns=columns)
    yield from rows_without_match(rows.alone)
    yield from unused_columns(rows)
    columns_without_use = rows.columns_without_role
    if "fold" in columns_without_use:
        yield kinds.FOLDS_UNREAD.note()


def unused_columns(rows: ReadingAccount) -> Iterator[Finding]:
    """The columns without a use, where the cells of columns say what they are used for."""
    if rows.found_by_content and rows.columns_without_role:
        names = listed(map(repr, rows.columns_without_role[:MOST_UNREAD]))
        yield kinds.UNUSED_COLUMNS.note(
            len(rows.columns_without_role), "read", what="Not used", names=names
        )


def rows_used(read: int, rows: int, systems: int) -> str:
    """How many rows were read, and how many of them each system has, as "100 rows read, 98 used".

    read, rows: the number of rows read, and the number used of each system.
    """
    text = f"{count_with_noun(read, 'row')} read"
    if systems < 2:
        return f"{text}, {rows:,} used"
    if rows == read:
        return f"{text}, each with predictions of {systems} systems"
    return f"{text}, {rows:,} of each system"


def binned_scores(study: classes.ProblemStudy, noun: str) -> Iterator[Finding]:
    """A note on the largest error that binning can cause in ROC AUC and in average precision of a
    class or label. Nothing if scores are exact: only very many scores are counted in bins.

    noun: "class" or "label".
    """
    if any(study.measured.bin_errors):
        auc_error, precision_error = study.measured.bin_errors
        yield kinds.BINNED_SCORES.note(
            len(study.systems),
            "several",
            part=noun,
            area=power(auc_error),
            precision=power(precision_error),
        )


def class_in_words(label: str, column: str) -> str:
    """A class in words: a number says only how it is coded."""
    if label.lstrip("-").isdecimal():
        return f"the class coded {label} in {column}"
    return f"{column} = {label}"


def rows_without_match(alone: int) -> Iterator[Finding]:
    """Rows that were left out as another system lacks their id."""
    if alone:
        yield kinds.UNMATCHED_ROWS.warning(alone, "rows", rows=count_with_noun(alone, "row"))


def weights(study: RowStudy) -> Iterator[Finding]:
    """That rows carry weights, and by which column, if they do."""
    if study.weighted:
        yield kinds.WEIGHTS.note(column=study.account.columns["weight"])


def few_units(study: Study, n: int, remark: str = "") -> Iterator[Finding]:
    """A warning if there are few units, on which intervals and tests depend strongly on
    assumptions. n units have 2^n patterns of signs, so an exact sign-flip test has a smallest
    possible p, which the warning gives.

    remark: a further sentence, with a space before it.
    """
    if n >= diagnostics.FEW:
        return
    units = f"{n} {plural(study.unit_name, n)}"
    if len(study.headline) and study.headline["method"].str.startswith("sign flip").any():
        least_p = diagnostics.least_p(study, n)
        remark = f" No exact p below {least_p:#.2g} is possible.{remark}"
    yield kinds.FEW_UNITS.warning(n, "units", units=units, more=remark)


def few_clusters(study: Study) -> Iterator[Finding]:
    """That rows lie in few units, if so."""
    if study.settings.unit:
        yield from few_units(study, diagnostics.most_units(study))


def few_rows(
    rows: Mapping[str, int], noun: str, listed: Callable[[Iterable[str]], str]
) -> Iterator[Finding]:
    """A warning that names the classes or labels with few rows, but at least one: simulations
    showed that their intervals then miss the true value too often.

    rows: the number of rows by class or label. noun: the first word of the sentence, "Classes" or
    "Labels that are true". listed: joins the names to a list in words.
    """
    small = diagnostics.few_rows(rows)
    if small:
        sizes = listed(f"{name} {n:,}" for name, n in small.items())
        yield kinds.SMALL_CLASS.warning(
            len(small), "several", of=noun, few=diagnostics.FEW_ROWS, named=sizes
        )


def leader_picked(study: Study, candidates: Collection[str] | None = None) -> Iterator[Finding]:
    """A note that the leader was picked as the best of three systems or more on the same data that
    its interval is computed from. Its value is then too good on average, and the interval contains
    the true value less often than its level says; the note says how often if all are equally good.

    candidates: the systems that it was picked from; None for all of the study.
    """
    if candidates is None:
        candidates = study.systems
    n = len(candidates)
    if n < 3:
        return
    noun = plural(study.compared_noun, 2)
    if study.settings.baseline:  # the baseline was not to be picked
        n = len(study.pairs)
        noun = "candidates"
    coverage = diagnostics.covered(study, n)
    yield kinds.PICKED.note(
        n,
        several=n,
        leader=shortened_name(study.leader),
        what=noun,
        best=diagnostics.words(study).best,
        covered=coverage,
    )


# how the primary metric, whose name fills the braces, compares two systems, by its verdict
PRIMARY_IN_WORDS = {
    "better": "it is better by {}",
    "equivalent": "they are equivalent by {}",
    "cannot tell": "{} does not tell them apart",
}
MOST_PAIRS = 3  # pairs that a line names


def disagreeing_metrics(study: Study) -> Iterator[Finding]:
    """A warning that metrics disagree, if they do: the pairs of the headline whose first system is
    significantly worse by another metric, but not by the primary one.

    A sentence per system and verdict of the primary metric: "a is significantly worse than b by
    recall (0.03), while it is better by AUC".
    """
    # a row per pair and metric by which it is worse
    contradictions = diagnostics.contradicting_comparisons(study)
    sentences = []
    same_sentence = contradictions.groupby(["first", "deciding"], sort=False)
    for (first, primary_verdict), rows in same_sentence:
        by_primary = PRIMARY_IN_WORDS[str(primary_verdict)].format(study.primary_metric.label)
        worse = f"{shortened_name(str(first))} is significantly worse {_than_which(rows)}"
        sentences.append(f"{worse}, while {by_primary}")
    n = len(contradictions[["first", "second"]].drop_duplicates())
    if n:
        yield kinds.METRICS_DISAGREE.warning(n, sentences=listed(sentences, MOST_PAIRS, "; "))


def _than_which(rows: pd.DataFrame) -> str:
    """The systems than which one system is worse, with the metrics and the size of the differences,
    as "than b by recall (0.03) and than c by MRR (0.1)".

    rows: comparisons (`study.comparisons`) with the same `first` system.
    """
    texts = []
    for second, comparisons in rows.groupby("second", sort=False):
        metrics = []
        for row in comparisons.to_dict("records"):
            metrics.append(f"{row['metric']} ({_amount(row)})")
        texts.append(f"than {shortened_name(str(second))} by {enumerated(metrics)}")
    return listed(texts, MOST_PAIRS, " and ")


def _amount(row: Record) -> str:
    """How much higher or lower the first system of a comparison is, with the digits that the
    interval of the difference deserves.
    """
    places = decimals([row["difference"]], [row["low"]], [row["high"]])
    direction = "higher" if row["difference"] > 0 else "lower"
    return f"{number(abs(row['difference']), places)} {direction}"


def better_constant_prediction(study: Study, reported: Collection[str] = ()) -> Iterator[Finding]:
    """A warning that names the metrics by which a constant prediction, the same for every row,
    beats systems, with its value and theirs. Nothing if it beats none.

    Values that look the same when printed count as equal, so that the warning does not contradict
    the table. reported: the metrics of which another finding already says it.
    """
    metrics = []
    for label, beaten in diagnostics.beaten(study).items():
        places = page.places(study, label)
        constant = number(beaten.constant, places)
        worse = []
        for name, value in beaten.systems.items():
            if number(value, places) != constant:
                worse.append(f"{shortened_name(name)} {number(value, places)}")
        if worse and label not in reported:
            metrics.append(f"{label} ({constant}; {listed(worse)})")
    if metrics:
        yield kinds.CONSTANT_BETTER.warning(len(metrics), metrics=listed(metrics))


def skewed_differences(study: Study) -> Iterator[Finding]:
    """A warning if the differences of a pair are so skewed that a sign-flip test, which assumes
    symmetric differences, may reject too often for this number of units; with the rate of false
    rejections that simulations measured. It is about the pair that is furthest from enough units.
    """
    skew = diagnostics.skew(study)
    if skew is None:
        return
    rejection_rate = measured.FAR_SKEWED if skew.has_too_few_units else measured.SKEWED
    finding = kinds.SKEWED.warning(
        skew.units,
        units=skew.units,
        wanted=skew.wanted,
        pair=" − ".join(skew.pair),
        metric=skew.metric,
        skewness=signed_number(skew.skewness, 1),
        noun=plural(study.unit_name, skew.units),
        rejected=rejection_rate,
    )
    # a pair or metric that the answer does not use: the warning does not stand beside the answer
    yield replace(finding, lacks_deciding_metric=not diagnostics.in_headline(study, skew))


def slices(study: Study) -> Iterator[Finding]:
    """Warnings on slices: those with few units; those with so few that no difference can be
    significant; those whose units all have the same value, so that their interval has no width.
    """
    units = plural(study.unit_name, 2)
    small = diagnostics.small_slices(study)
    if small:
        slice_count = len(study.by_segment[["segment", "slice"]].drop_duplicates())
        which = listed(small)
        if len(small) == slice_count > 1:
            which = f"all {slice_count}"
        yield kinds.SMALL_SLICES.warning(len(small), few=diagnostics.FEW, units=units, which=which)
    hopeless = diagnostics.untestable_slices(study)
    if hopeless:
        yield kinds.UNTESTABLE_SLICES.warning(len(hopeless), units=units, slices=listed(hopeless))
    flat = diagnostics.flat_slices(study)
    if flat:
        yield kinds.FLAT_SLICES.warning(len(flat), units=units, slices=listed(flat))


def groups(study: Study) -> Iterator[Finding]:
    """Groups that are too small, values that are one group, and what cannot hold at once."""
    for column in study.settings.groups.columns:
        yield from _small_groups(study, column)
        yield from differing_base_rates(study, column)


def _small_groups(study: Study, column: str) -> Iterator[Finding]:
    """The groups of a column with few cases, if there are any, with their cases by metric."""
    frame = study.gaps(column)
    small = frame[frame["cases"] < FEW_CASES]
    groups = []
    for group, rows in small.groupby("group", sort=False):
        fewest = rows.groupby("metric", sort=False)["cases"].min()
        cases = [f"{metric} {n:,}" for metric, n in fewest.items()]
        groups.append(f"{group} ({listed(cases[:SHOWN])})")
    if groups:
        yield kinds.SMALL_GROUPS.warning(
            len(groups), few=FEW_CASES, column=column, groups=listed(groups)
        )


def differing_base_rates(study: Study, column: str) -> Iterator[Finding]:
    """A note if base rates, the shares of positive rows, differ significantly between the groups of
    a column. Scores that are calibrated in each group then cannot have the same error rates in all
    groups (the impossibility theorem of fairness).
    """
    largest_gaps = _base_rates_of_leader(study, study.largest_gaps(column))
    significant = largest_gaps[largest_gaps["verdict"] == DIFFERENT]
    groups = _base_rates_of_leader(study, study.gaps(column))
    rate_of_group = dict(zip(groups["group"], groups["value"], strict=True))
    for gap in significant.to_dict("records"):
        yield kinds.BASE_RATES_DIFFER.note(
            None,
            column=column,
            highest=gap["highest"],
            lowest=gap["lowest"],
            high=share(rate_of_group[gap["highest"]]),
            low=share(rate_of_group[gap["lowest"]]),
        )


def _base_rates_of_leader(study: Study, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the metric base_rate and the leader; the base rate does not depend on
    predictions, so one system is enough. frame: with columns `metric` and `system`.
    """
    return frame[(frame["metric"] == "base_rate") & (frame["system"] == study.leader)]


def weak_slices(study: Study) -> Iterator[Finding]:
    """A warning for the leader, and one for the headline's pair of systems, if in some slices its
    value, or its difference, is significantly worse than on the other rows.
    Nothing if the report has no slices.
    """
    if not study.settings.slices:
        return
    for system, rows in study.weak_slices().groupby("system", sort=False):  # or pair of systems
        slices = []
        for row in rows.to_dict("records"):
            slices.append(f"{row['slice']} ({signed_number(row['difference'])})")
        metric = rows["metric"].iloc[0]
        yield kinds.WEAK_SLICES.warning(
            len(rows), metric=metric, system=system, slices=listed(slices, MOST_SLICES)
        )


def of_sample(study: Study) -> Iterator[Finding]:
    """What every report says of a sample last: a leader that was picked, metrics that disagree,
    skew, slices, groups, weak slices.
    """
    yield from leader_picked(study)
    yield from disagreeing_metrics(study)
    yield from skewed_differences(study)
    yield from slices(study)
    yield from groups(study)
    yield from weak_slices(study)


# Thresholds


def precision_of_comparison(stored: Mapping[str, rules.Precision]) -> str:
    """The floating-point precision in which scores are compared with the threshold, in words: the
    precision in which each system's scores are stored, as float32. The threshold is rounded to it,
    so that a score that was written as the threshold is at least the threshold.

    stored: the precision by system.
    """
    systems_by_precision = diagnostics.by_precision(stored)
    if len(systems_by_precision) == 1:
        (precision,) = systems_by_precision
        return f"compared in {rules.WORDS[precision]}, as the scores are stored"
    texts = []
    for precision, names in systems_by_precision.items():
        texts.append(f"{listed(names)} in {rules.WORDS[precision]}")
    return f"compared as the scores are stored: {'; '.join(texts)}"


def rounded_thresholds(
    threshold: float, stored: Mapping[str, rules.Precision]
) -> Iterator[Finding]:
    """A note for each precision whose nearest number is not the threshold itself: scores stored in
    it, as float32, are compared with the rounded threshold.

    stored: the precision in which the scores of each system are stored.
    """
    for rounding in diagnostics.rounded(threshold, stored):
        whose = "The scores"
        if not rounding.everywhere:  # only some systems have scores of this precision
            whose = f"The scores of {listed(rounding.systems)}"
        yield kinds.ROUNDED_THRESHOLD.note(
            len(rounding.systems),
            whose=whose,
            stored=rules.WORDS[rounding.score_precision],
            threshold=threshold,
            value=rounding.value,
        )


def decisions_as_scores(tables: Mapping[str, diagnostics.Tables]) -> Iterator[Finding]:
    """A warning that names the systems whose scores are all 0 or 1: they are decisions, for which
    metrics of ranking and calibration say little. Nothing if there are none.

    tables: by system, for each class, the table of its distinct scores with their counts.
    """
    systems = []
    for name, tables_of_classes in tables.items():
        if diagnostics.only_decided(tables_of_classes):
            systems.append(name)
    if systems:
        yield kinds.DECISIONS_AS_SCORES.warning(len(systems), systems=listed(systems))


def idle_thresholds(
    thresholds: Mapping[str, float], ends: Mapping[str, diagnostics.Ends]
) -> Iterator[Finding]:
    """A warning for each system whose threshold makes the same decision for every row: above its
    highest score all are negative; at or below its lowest, all are positive. First the systems of
    the one kind, then those of the other.

    thresholds: by system. ends: its lowest and highest score, by system.
    """
    for name, (_, highest) in ends.items():
        threshold = thresholds[name]
        if threshold > highest:
            yield kinds.IDLE_THRESHOLD.warning(
                1, "above", threshold=threshold, system=name, end=highest
            )
    for name, (lowest, _) in ends.items():
        threshold = thresholds[name]
        if threshold <= lowest:  # a score equal to the threshold is a positive decision
            yield kinds.IDLE_THRESHOLD.warning(
                1, "below", threshold=threshold, system=name, end=lowest
            )


def power(value: float) -> str:
    """A bound as pages print it: one digit, not rounded below it.

    >>> power(0.123), power(1e-05), power(0.96)
    ('2e-1', '1e-5', '1e+00')
    """
    text = f"{value:.0e}"
    if float(text) < value:
        digit, exponent = text.split("e")
        text = f"{float(f'{int(digit) + 1}e{exponent}'):.0e}"
    return text.replace("e-0", "e-")


def moves(bound: float) -> str:
    """By how much bins change a number at most, in words."""
    return f"moves by less than {power(bound)}" if bound else "is exact"


# Ranked lists


def unshared_queries(accounts: Mapping[str, ListAccount]) -> Iterator[Finding]:
    """Findings on queries that only one side has: judged queries that a system does not answer
    (`missing`), and queries of a system without judgements, which are ignored (`extra`).

    accounts: how each system's lists were used, by system.
    """
    yield from missing(by_system(accounts, "missing"), total(accounts, "missing"))
    extra_by_system = by_system(accounts, "extra")
    if extra_by_system:
        # the files may not belong together if hardly any row is of a judged query
        severity = WARNING if hardly_judged(accounts) else NOTE
        yield kinds.QUERIES_WITHOUT_JUDGEMENTS.finding_with_severity(
            severity, total(accounts, "extra"), counts=counts(extra_by_system)
        )


def missing(queries: Mapping[str, int], count: int) -> Iterator[Finding]:
    """That runs lack judged queries, if they do. queries: how many, by run. count: of all runs."""
    if count:
        yield kinds.MISSING_QUERIES.warning(count, counts=counts(counts_above_zero(queries)))


def rank_gaps(accounts: Mapping[str, ListAccount]) -> Iterator[Finding]:
    """A warning that names the systems with ranked lists that do not start at rank 1, or lack a
    rank further down, with the number of such lists. A missing rank counts as an irrelevant item.
    """
    systems = []
    for name, account in accounts.items():
        has_incomplete_lists = account.late or account.gaps
        if has_incomplete_lists:
            systems.append(f"{name}: {_incomplete_lists(account)}")
    if systems:
        yield kinds.RANK_GAPS.warning(len(systems), lists=listed(systems, joint="; "))


def _incomplete_lists(account: ListAccount) -> str:
    """How many lists of a system start above rank 1, and how many have gaps, in words: "1 list
    starts above rank 1, 2 lists have gaps".
    """
    texts = []
    if account.late:
        verb = "starts" if account.late == 1 else "start"
        texts.append(f"{count_with_noun(account.late, 'list')} {verb} above rank 1")
    if account.gaps:
        verb = "has" if account.gaps == 1 else "have"
        texts.append(f"{count_with_noun(account.gaps, 'list')} {verb} gaps")
    return ", ".join(texts)


def rows_without_value(rows: Mapping[MetricAtK, Mapping[str, int]], n: int) -> Iterator[Finding]:
    """The number of rows for which each metric is undefined, which its mean leaves out: a note if
    all systems have as many, else a warning, as their means are then over different rows.

    rows: by metric, the number of such rows by system. n: the number of all rows.
    """
    for chosen, row_counts in rows.items():
        most_rows = max(row_counts.values())
        is_same_number = min(row_counts.values()) == most_rows
        facts = {"metric": chosen.label, "n": n, "formula": chosen.metric.formula}
        if is_same_number:
            rows_of_each = count_with_noun(most_rows, "row")
            yield kinds.UNDEFINED_VALUES.note(most_rows, "rows", rows=rows_of_each, **facts)
        else:
            systems = counts(row_counts)
            yield kinds.UNDEFINED_VALUES.warning(most_rows, "rows_apart", counts=systems, **facts)

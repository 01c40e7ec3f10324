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
    counted,
    decimals,
    enumerated,
    listed,
    number,
    plural,
    share,
    shortened,
    signed,
)
from evalkit.pages import page
from evalkit.parameters.kinds import written
from evalkit.reading.inputs.lists import ListAccount
from evalkit.reading.tables import rules
from evalkit.studies import classes, diagnostics
from evalkit.studies.groups import DIFFERENT, FEW_CASES
from evalkit.studies.ranking import by_system, hardly_judged, total
from evalkit.studies.row_study import Account, RowStudy
from evalkit.studies.study import Study

MOST_SLICES = 4  # weak slices that a finding names
SHOWN = 6  # metrics that a finding names for a small group
MOST_UNREAD = 10  # columns that a finding lists


def columns_read(columns: Mapping[str, str]) -> str:
    """The column of each role, in words."""
    return ", ".join(f"{role} = {name}" for role, name in columns.items())


def undirected(study: Study) -> Iterator[Finding]:
    """The metrics of which nothing says whether more is better, where systems are compared by
    them.
    """
    if len(study.systems) == 1:
        return
    metrics = [chosen.label for chosen in study.directed if chosen.metric.direction == 0]
    if metrics:
        n = len(metrics)
        verb = "does" if n == 1 else "do"
        subject = f"{plural('name', n)} {listed(metrics)} {verb}"
        finding = kinds.NO_DIRECTION.warning(n, names=subject, low=written(metrics))
        yield finding.for_metrics(metrics, study.primary.label)


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


def nonzero(by_name: Mapping[str, int]) -> dict[str, int]:
    """The names with a count above 0."""
    return {name: n for name, n in by_name.items() if n}


def rows_read(rows: Account) -> Iterator[Finding]:
    """How many rows were read and used, the columns, and the rows that another system lacks."""
    text = rows_used(rows.read, len(rows), len(rows.systems))
    if rows.quantile_rows:
        joined = counted(rows.quantile_rows, "row")
        text = f"{joined}, joined by forecast: {text}"
    columns = columns_read(rows.columns)
    yield kinds.ROWS_READ.note(rows.read, "rows", used=text, columns=columns)
    yield from unmatched(rows.alone)
    yield from unread(rows)
    if "fold" in rows.others:
        yield kinds.FOLDS_UNREAD.note()


def unread(rows: Account) -> Iterator[Finding]:
    """The columns without a use, where the cells of columns say what they are used for."""
    if rows.by_content and rows.others:
        names = listed(map(repr, rows.others[:MOST_UNREAD]))
        yield kinds.UNUSED_COLUMNS.note(len(rows.others), "read", what="Not used", names=names)


def rows_used(read: int, rows: int, systems: int) -> str:
    """How many rows were read, and how many of them each system has, in words."""
    text = f"{counted(read, 'row')} read"
    if systems < 2:
        return f"{text}, {rows:,} used"
    if rows == read:
        return f"{text}, each with predictions of {systems} systems"
    return f"{text}, {rows:,} of each system"


def binned(study: classes.ProblemStudy, noun: str) -> Iterator[Finding]:
    """By how much the bins can move the areas of a class or label, where its scores are counted in
    bins. noun: class or label.
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


def class_named(label: str, column: str) -> str:
    """A class in words: a number says only how it is coded."""
    if label.lstrip("-").isdecimal():
        return f"the class coded {label} in {column}"
    return f"{column} = {label}"


def unmatched(alone: int) -> Iterator[Finding]:
    """Rows that were left out as another system lacks their id."""
    if alone:
        yield kinds.UNMATCHED_ROWS.warning(alone, "rows", rows=counted(alone, "row"))


def weights(study: RowStudy) -> Iterator[Finding]:
    """That rows carry weights, and by which column, if they do."""
    if study.weighted:
        yield kinds.WEIGHTS.note(column=study.account.columns["weight"])


def few_units(study: Study, n: int, remark: str = "") -> Iterator[Finding]:
    """That there are few units, if so, and the smallest p that their sign flips can have. remark:
    a further sentence, with a space before it.
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
    """The classes or labels that few rows have, but more than none, with what was simulated.

    rows: by class or label. noun: begins the sentence, such as "Classes". listed: makes a list in
    words.
    """
    small = diagnostics.few_rows(rows)
    if small:
        sizes = listed(f"{name} {n:,}" for name, n in small.items())
        yield kinds.SMALL_CLASS.warning(
            len(small), "several", of=noun, few=diagnostics.FEW_ROWS, named=sizes
        )


def picked(study: Study, candidates: Collection[str] | None = None) -> Iterator[Finding]:
    """That the leader is the best of several on these data, with what that does to its interval.

    candidates: the systems that it was picked of, where these are not all.
    """
    if candidates is None:
        candidates = study.systems
    n = len(candidates)
    if n < 3:
        return
    noun = plural(study.compares, 2)
    if study.settings.baseline:
        n = len(study.pairs)
        noun = "candidates"
    yield kinds.PICKED.note(
        n,
        several=n,
        leader=shortened(study.leader),
        what=noun,
        best=diagnostics.words(study).best,
        covered=diagnostics.covered(study, n),
    )


DECIDING = {
    "better": "it is better by {}",
    "equivalent": "they are equivalent by {}",
    "cannot tell": "{} does not tell them apart",
}
MOST_PAIRS = 3  # pairs that a line names


def contrary(study: Study) -> Iterator[Finding]:
    """Pairs of the first screen whose first system is significantly worse by another metric, not by
    the primary one.
    """
    pairs = diagnostics.contrary(study)
    sentences = []
    for (first, deciding), rows in pairs.groupby(["first", "deciding"], sort=False):
        by_deciding = DECIDING[str(deciding)].format(study.primary.label)
        worse = f"{shortened(str(first))} is significantly worse {_than_which(rows)}"
        sentences.append(f"{worse}, while {by_deciding}")
    n = len(pairs[["first", "second"]].drop_duplicates())
    if n:
        yield kinds.METRICS_DISAGREE.warning(n, sentences=listed(sentences, MOST_PAIRS, "; "))


def _than_which(rows: pd.DataFrame) -> str:
    """Than which systems the first is worse, and by which metrics. rows: of the comparisons."""
    texts = []
    for second, comparisons in rows.groupby("second", sort=False):
        metrics = []
        for row in comparisons.to_dict("records"):
            metrics.append(f"{row['metric']} ({_amount(row)})")
        texts.append(f"than {shortened(str(second))} by {enumerated(metrics)}")
    return listed(texts, MOST_PAIRS, " and ")


def _amount(row: Record) -> str:
    """How much higher or lower the first system of a comparison is, with the digits that the
    interval of the difference deserves.
    """
    places = decimals([row["difference"]], [row["low"]], [row["high"]])
    direction = "higher" if row["difference"] > 0 else "lower"
    return f"{number(abs(row['difference']), places)} {direction}"


def constant_better(study: Study, reported: Collection[str] = ()) -> Iterator[Finding]:
    """That a prediction equal for every row is better than systems by some metrics, as printed, if
    so.

    reported: metrics of which another finding says so.
    """
    metrics = []
    for label, (value_of_constant, values) in diagnostics.beaten(study).items():
        places = page.places(study, label)
        constant = number(value_of_constant, places)
        worse = []
        for name, value in values.items():
            if number(value, places) != constant:
                worse.append(f"{shortened(name)} {number(value, places)}")
        if worse and label not in reported:
            metrics.append(f"{label} ({constant}; {listed(worse)})")
    if metrics:
        yield kinds.CONSTANT_BETTER.warning(len(metrics), metrics=listed(metrics))


def skewed(study: Study) -> Iterator[Finding]:
    """That differences are too skewed for sign flips to keep their level, if so, with the levels of
    simulations.
    """
    skew = diagnostics.skew(study)
    if skew is None:
        return
    rejected = measured.FAR_SKEWED if skew.far else measured.SKEWED
    finding = kinds.SKEWED.warning(
        skew.units,
        units=skew.units,
        wanted=skew.wanted,
        pair=" − ".join(skew.pair),
        metric=skew.metric,
        skewness=signed(skew.skewness, 1),
        noun=plural(study.unit_name, skew.units),
        rejected=rejected,
    )
    yield replace(finding, aside=not diagnostics.in_headline(study, skew))


def slices(study: Study) -> Iterator[Finding]:
    """Slices of few units, of so few that nothing can be shown, and of equal units, whose interval
    has no width.
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
        yield from base_rates(study, column)


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


def base_rates(study: Study, column: str) -> Iterator[Finding]:
    """That base rates differ, so that calibration and equal error rates cannot both hold."""
    frame = study.largest_gaps(column)
    rates = frame[(frame["metric"] == "base_rate") & (frame["system"] == study.leader)]
    for row in rates[rates["verdict"] == DIFFERENT].to_dict("records"):
        groups = study.gaps(column).query("metric == 'base_rate' and system == @study.leader")
        rate = dict(zip(groups["group"], groups["value"], strict=True))
        yield kinds.BASE_RATES_DIFFER.note(
            None,
            column=column,
            highest=row["highest"],
            lowest=row["lowest"],
            high=share(rate[row["highest"]]),
            low=share(rate[row["lowest"]]),
        )


def weak_slices(study: Study) -> Iterator[Finding]:
    """Slices in which the leader is worse, or the difference of the first pair is another one."""
    if not study.settings.slices:
        return
    for system, rows in study.weak_slices().groupby("system", sort=False):
        slices = []
        for row in rows.to_dict("records"):
            slices.append(f"{row['slice']} ({signed(row['difference'])})")
        metric = rows["metric"].iloc[0]
        yield kinds.WEAK_SLICES.warning(
            len(rows), metric=metric, system=system, slices=listed(slices, MOST_SLICES)
        )


def of_sample(study: Study) -> Iterator[Finding]:
    """What every report says of a sample last: a leader that was picked, metrics that disagree,
    skew, slices, groups, weak slices.
    """
    for findings in (picked, contrary, skewed, slices, groups, weak_slices):
        yield from findings(study)


# Thresholds


def compared(stored: Mapping[str, rules.Precision]) -> str:
    """The precision in which scores and threshold are compared: that of the scores, by system if it
    differs.
    """
    systems = diagnostics.by_precision(stored)
    if len(systems) == 1:
        (precision,) = systems
        return f"compared in {rules.WORDS[precision]}, as the scores are stored"
    texts = [f"{listed(names)} in {rules.WORDS[precision]}" for precision, names in systems.items()]
    return f"compared as the scores are stored: {'; '.join(texts)}"


def rounded_threshold(threshold: float, stored: Mapping[str, rules.Precision]) -> Iterator[Finding]:
    """A note for each precision that changes the value of the threshold."""
    for rounding in diagnostics.rounded(threshold, stored):
        whose = "The scores"
        if not rounding.everywhere:
            whose = f"The scores of {listed(rounding.systems)}"
        yield kinds.ROUNDED_THRESHOLD.note(
            len(rounding.systems),
            whose=whose,
            stored=rules.WORDS[rounding.stored],
            threshold=threshold,
            value=rounding.value,
        )


def decisions_as_scores(tables: Mapping[str, diagnostics.Tables]) -> Iterator[Finding]:
    """A warning for the systems whose scores are 0 and 1 only, if there are any.

    tables: by system those of its scores, one for each class.
    """
    systems = []
    for name, class_tables in tables.items():
        if diagnostics.only_decided(class_tables):
            systems.append(name)
    if systems:
        yield kinds.DECISIONS_AS_SCORES.warning(len(systems), systems=listed(systems))


def one_decision_for_all(
    thresholds: Mapping[str, float], ends: Mapping[str, diagnostics.Ends]
) -> Iterator[Finding]:
    """A warning for each system whose rows are all decided alike.

    thresholds, ends: by system; its threshold, and its lowest and highest score.
    """
    for name, (_, highest) in ends.items():
        threshold = thresholds[name]
        if threshold > highest:
            yield kinds.IDLE_THRESHOLD.warning(
                1, "above", threshold=threshold, system=name, end=highest
            )
    for name, (lowest, _) in ends.items():
        threshold = thresholds[name]
        if threshold <= lowest:
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


def unshared(accounts: Mapping[str, ListAccount]) -> Iterator[Finding]:
    """Queries that a run or the judgements lack, and what became of them."""
    yield from missing(by_system(accounts, "missing"), total(accounts, "missing"))
    extra = by_system(accounts, "extra")
    if extra:
        severity = WARNING if hardly_judged(accounts) else NOTE
        yield kinds.QUERIES_WITHOUT_JUDGEMENTS.rated(
            severity, total(accounts, "extra"), counts=counts(extra)
        )


def missing(queries: Mapping[str, int], count: int) -> Iterator[Finding]:
    """That runs lack judged queries, if they do. queries: how many, by run. count: of all runs."""
    if count:
        yield kinds.MISSING_QUERIES.warning(count, counts=counts(nonzero(queries)))


def gaps(accounts: Mapping[str, ListAccount]) -> Iterator[Finding]:
    """A warning that names the systems with lists that start above rank 1 or have gaps."""
    lists = []
    for name, account in accounts.items():
        if account.late or account.gaps:
            lists.append(f"{name}: {_gaps(account)}")
    if lists:
        yield kinds.RANK_GAPS.warning(len(lists), lists=listed(lists, joint="; "))


def _gaps(account: ListAccount) -> str:
    """How many lists start above rank 1, and how many have gaps, in words."""
    texts = []
    if account.late:
        verb = "starts" if account.late == 1 else "start"
        texts.append(f"{counted(account.late, 'list')} {verb} above rank 1")
    if account.gaps:
        verb = "has" if account.gaps == 1 else "have"
        texts.append(f"{counted(account.gaps, 'list')} {verb} gaps")
    return ", ".join(texts)


def rows_without_value(rows: Mapping[MetricAtK, Mapping[str, int]], n: int) -> Iterator[Finding]:
    """The rows that metrics leave out of their means; a warning where systems do not share them.

    rows: of each metric by system. n: all rows.
    """
    for chosen, row_counts in rows.items():
        most_rows = max(row_counts.values())
        are_shared = min(row_counts.values()) == most_rows
        facts = {"metric": chosen.label, "n": n, "formula": chosen.metric.formula}
        if are_shared:
            rows_of_each = counted(most_rows, "row")
            yield kinds.UNDEFINED_VALUES.note(most_rows, "rows", rows=rows_of_each, **facts)
        else:
            systems = counts(row_counts)
            yield kinds.UNDEFINED_VALUES.warning(most_rows, "rows_apart", counts=systems, **facts)

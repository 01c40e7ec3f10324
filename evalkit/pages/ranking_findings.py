"""What to know of the lists, judgements and ties of a ranking before the numbers, in words."""

from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding
from evalkit.numbers import counted, interval, listed
from evalkit.pages.shared_findings import (
    columns_read,
    contrary,
    counts,
    few_units,
    gaps,
    picked,
    skewed,
    slices,
    unshared,
)
from evalkit.parameters.reports import RENUMBER
from evalkit.studies import diagnostics, ranking
from evalkit.studies.diagnostics import VISIBLE
from evalkit.studies.ranking import Ranking, total


def every_finding(study: Ranking) -> list[Finding]:
    """Every finding of a ranking report."""
    lists = [*_short(study), *gaps(study.runs.accounts), *_renumbered(study), *_ties(study)]
    data = [*_rows(study), *unshared(study.runs.accounts), *_undefined(study), *_without(study), *_judgements(study)]
    few = few_units(study, diagnostics.most_units(study))
    return [*data, *lists, *few, *picked(study), *contrary(study), *skewed(study), *slices(study)]


def _rows(study: Ranking) -> list[Finding]:
    read, used, refused = (total(study.runs.accounts, name) for name in ("rows", "used", "unjudged_query"))
    rest = f", {refused:,} in queries without judgements left out" if refused else ""
    columns = columns_read(study.runs.columns)
    layout = f"Columns: {columns}" if columns else "TREC run files"
    return [kinds.ROWS_READ.note(f"{read:,} ranked rows read, {used:,} used{rest}. {layout}.", read)]


def _undefined(study: Ranking) -> list[Finding]:
    """Queries without a value: one line where the systems agree, a warning where they do not share their queries."""
    findings = []
    for label, by_name, shared in ranking.undefined(study):
        most = max(by_name.values())
        if shared:
            text = f"{label} is undefined on {counted(most, 'query')}, left out of its mean."
            findings.append(kinds.UNDEFINED_VALUES.note(text, most))
        else:
            text = f"{label} is undefined on different queries for each system: {counts(by_name)}; "
            text += "means are over different queries, paired differences over shared ones."
            findings.append(kinds.UNDEFINED_VALUES.warning(text, most))
    return findings


def _without(study: Ranking) -> list[Finding]:
    """Queries that have no value in a segment column."""
    without = ranking.without_segment(study)
    text = f"Queries without a value, shown as their own slice: {counts(without)}."
    return [kinds.NO_SEGMENT_VALUE.warning(text, max(without.values()))] if without else []


def _judgements(study: Ranking) -> list[Finding]:
    findings, (k, shares, uneven) = [], ranking.unjudged(study)
    if study.runs.pooled_ideal:
        text = "No judgement file: the ideal order and R include only items that some system returned."
        findings.append(kinds.NO_JUDGEMENT_FILE.warning(text))
    if study.runs.negative:
        text = f"{study.runs.negative:,} judgements below 0 count as not judged, as in trec_eval."
        findings.append(kinds.NEGATIVE_GRADES.note(text, study.runs.negative))
    if any(shares.values()):
        text = f"Unjudged items in the first {k}, counted as not relevant: "
        text += f"{listed(f'{name} {value:.0%}' for name, value in shares.items())}."
        findings.append(kinds.UNJUDGED_ITEMS.rated(WARNING if uneven else NOTE, text))
    return findings


def _short(study: Ranking) -> list[Finding]:
    """A note that no list reaches the cut-off of a metric."""
    last, labels = ranking.beyond(study)
    text = (
        f"The longest list ends at rank {last:,}. So {listed(labels)} {'looks' if len(labels) == 1 else 'look'} at "
        "whole lists, and the ranks after it count as empty."
    )
    return [kinds.SHORT_LISTS.note(text)] if labels else []


def _renumbered(study: Ranking) -> list[Finding]:
    """A note that ranks were renumbered, if there were any."""
    text = "Ranks were renumbered 1, 2, 3, … within each list, which closes gaps."
    return [kinds.RENUMBERED.note(text)] if study.ranks == RENUMBER and "rank" in study.runs.columns else []


def _ties(study: Ranking) -> list[Finding]:
    tied, label = ranking.by_system(study.runs.accounts, "tied"), study.primary.label
    if not tied:
        return []
    ties, matters = ranking.ties(study)
    ranges = listed(
        (
            f"{label} of {row['system']} lies in {interval(row['worst_ties'], row['best_ties'])}"
            for row in ties.to_dict("records")
        ),
        joint="; ",
    )
    little = f" Their order changes {label} by less than {VISIBLE:g}."
    moved = f" Depending on their order, {ranges}." if ranges else little
    text = f"Rows with the same {'rank' if 'rank' in study.runs.columns else 'score'} as the previous: {counts(tied)}."
    severity = WARNING if matters else NOTE
    return [kinds.TIES.rated(severity, text + moved, total(study.runs.accounts, "tied"))]

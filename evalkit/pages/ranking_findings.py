"""What to know of ranked lists and judgements before the numbers, in words."""

from collections.abc import Mapping

from evalkit.drawing.tables import number
from evalkit.findings import inputs, predictions
from evalkit.findings.finding import NOTE, WARNING, Finding
from evalkit.pages.shared_findings import columns_read, counts, few_units, slices
from evalkit.parameters.reports import RENUMBER
from evalkit.reading.inputs.runs import Account
from evalkit.studies import diagnostics, ranking_diagnostics
from evalkit.studies.diagnostics import VISIBLE
from evalkit.studies.ranking import Ranking
from evalkit.studies.ranking_diagnostics import by_system, total
from evalkit.studies.words import counted


def of(s: Ranking) -> list[Finding]:
    """Every finding of a ranking report."""
    lists = [*gaps(s.runs.accounts), *_renumbered(s), *_ties(s)]
    data = [*_rows(s), *unshared(s.runs.accounts), *_undefined(s), *_without(s), *_judgements(s)]
    return [*data, *lists, *few_units(s, diagnostics.most_units(s)), *slices(s)]


def _rows(s: Ranking) -> list[Finding]:
    read, used, refused = (total(s.runs.accounts, name) for name in ("rows", "used", "unjudged_query"))
    rest = f", {refused:,} in queries without judgements left out" if refused else ""
    columns = columns_read(s.runs.columns)
    layout = f"Columns: {columns}" if columns else "TREC run files"
    return [inputs.ROWS_READ.note(f"{read:,} ranked rows read, {used:,} used{rest}. {layout}.", read)]


def unshared(accounts: Mapping[str, Account]) -> list[Finding]:
    """Queries that a run or the judgements lack, and what became of them."""
    missing, extra, findings = by_system(accounts, "missing"), by_system(accounts, "extra"), []
    if missing:
        text = f"Judged queries missing from a run count as 0: {counts(missing)}."
        findings.append(inputs.MISSING_QUERIES.warning(text, total(accounts, "missing")))
    if extra:
        text = f"Queries without judgements are left out: {counts(extra)}."
        findings.append(inputs.QUERIES_WITHOUT_JUDGEMENTS.note(text, total(accounts, "extra")))
    return findings


def _undefined(s: Ranking) -> list[Finding]:
    """Queries without a value: one line where the systems agree, a warning where they do not share their queries."""
    findings = []
    for metric in ranking_diagnostics.undefined(s):
        most = max(metric.by_system.values())
        if metric.shared:
            text = f"{metric.label} is undefined on {counted(most, 'query')}, left out of its mean."
            findings.append(inputs.UNDEFINED_VALUES.note(text, most))
        else:
            text = f"{metric.label} is undefined on different queries for each system: {counts(metric.by_system)}; "
            text += "means are not over the same queries, paired differences are."
            findings.append(inputs.UNDEFINED_VALUES.warning(text, most))
    return findings


def _without(s: Ranking) -> list[Finding]:
    """Queries that have no value in a segment column."""
    without = ranking_diagnostics.without_segment(s)
    text = f"Queries without a value, shown as their own slice: {counts(without)}."
    return [inputs.NO_SEGMENT_VALUE.warning(text, max(without.values()))] if without else []


def _judgements(s: Ranking) -> list[Finding]:
    findings, unjudged = [], ranking_diagnostics.unjudged(s)
    if s.runs.pooled_ideal:
        text = "No judgement file: the ideal order and R know only the items that some system returned."
        findings.append(inputs.NO_JUDGEMENT_FILE.warning(text))
    if s.runs.negative:
        text = f"{s.runs.negative:,} judgements below 0 count as not judged, as in trec_eval."
        findings.append(inputs.NEGATIVE_GRADES.note(text, s.runs.negative))
    if any(unjudged.shares.values()):
        listed = ", ".join(f"{name} {value:.0%}" for name, value in unjudged.shares.items())
        text = f"Returned but not judged, counted as not relevant, in the first {unjudged.k}: {listed}."
        findings.append(inputs.UNJUDGED_ITEMS.rated(WARNING if unjudged.uneven else NOTE, text))
    return findings


def gaps(accounts: Mapping[str, Account]) -> list[Finding]:
    """A warning that names the systems with lists that start above rank 1 or have gaps."""
    several = {name: _gaps(account) for name, account in accounts.items() if account.late or account.gaps}
    listed = "; ".join(f"{name}: {text}" for name, text in several.items())
    text = f"Ranks are taken as they are. {listed}. A missing rank counts as an item that is not relevant."
    return [predictions.RANK_GAPS.warning(text, len(several))] if several else []


def _gaps(account: Account) -> str:
    late = f"{counted(account.late, 'list')} {'starts' if account.late == 1 else 'start'} above rank 1"
    gaps = f"{counted(account.gaps, 'list')} {'has' if account.gaps == 1 else 'have'} gaps"
    return ", ".join(text for text, n in ((late, account.late), (gaps, account.gaps)) if n)


def _renumbered(s: Ranking) -> list[Finding]:
    """A note that ranks were renumbered, if there were any."""
    text = "Ranks were renumbered 1, 2, 3, … within each list, which closes gaps."
    return [predictions.RENUMBERED.note(text)] if s.ranks == RENUMBER and "rank" in s.runs.columns else []


def _ties(s: Ranking) -> list[Finding]:
    ties, label = ranking_diagnostics.ties(s), s.primary.label
    if not ties.rows:
        return []
    ranges = "; ".join(
        f"{row['system']} {label} lies between {number(row['worst_ties'])} and {number(row['best_ties'])}"
        for row in ties.moved.to_dict("records")
    )
    moved = f" By their order {ranges}." if ranges else f" Their order moves {label} by less than {VISIBLE:g}."
    text = f"Rows tied in {'rank' if 'rank' in s.runs.columns else 'score'} with the row before: {counts(ties.rows)}."
    severity = WARNING if ties.matters else NOTE
    return [predictions.TIES.rated(severity, text + moved, total(s.runs.accounts, "tied"))]

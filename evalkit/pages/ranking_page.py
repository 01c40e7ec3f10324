"""The words and tables that only the ranking page has, each from the study's frames."""

from collections.abc import Mapping

import pandas as pd

from evalkit.drawing import tables
from evalkit.drawing.tables import VISIBLE, Cell, Html, Results, escape, number, percent, signed
from evalkit.pages import page
from evalkit.parameters.reports import RENUMBER
from evalkit.reading.inputs.runs import NONE, Account
from evalkit.studies.ranking import Ranking
from evalkit.studies.words import counted, plural


def title(s: Ranking) -> Html:
    """The title and what was asked."""
    n, systems = len(s.runs.query), len(s.runs.systems)
    if systems == 1:
        asked = f"How well does {s.leader} rank, by {s.primary.label}, on {counted(n, 'judged query')}?"
    elif s.settings.baseline:
        asked = (
            f"Is any system better than {s.settings.baseline}, by {s.primary.label}, on {counted(n, 'judged query')}?"
        )
    else:
        asked = f"Which of {systems} systems ranks best, by {s.primary.label}, on {counted(n, 'judged query')}?"
    return tables.heading("Ranking report", asked)


def notes(s: Ranking) -> Html:
    """What to know of the data before the numbers; a warning where it could change the answer."""
    return tables.notes([*_rows(s), *_population(s), *_judgements(s), *_order(s), *_size(s)])


def _rows(s: Ranking) -> list[tuple[str, bool]]:
    accounts = s.runs.accounts.values()
    read, used = sum(one.rows for one in accounts), sum(one.used for one in accounts)
    refused = sum(one.unjudged_query for one in accounts)
    rest = f", {refused:,} in queries without judgements left out" if refused else ""
    columns = ", ".join(f"{role} = {name}" for role, name in s.runs.columns.items())
    layout = f"Columns: {columns}" if columns else "TREC run files"
    return [(f"{read:,} ranked rows read, {used:,} used{rest}. {layout}.", False)]


def _population(s: Ranking) -> list[tuple[str, bool]]:
    return [*unshared(s.runs.accounts), *_undefined(s), *_without(s)]


def unshared(accounts: Mapping[str, Account]) -> list[tuple[str, bool]]:
    """Queries that a run or the judgements lack, and what became of them."""
    found = []
    missing = {name: one.missing for name, one in accounts.items() if one.missing}
    extra = {name: one.extra for name, one in accounts.items() if one.extra}
    if missing:
        found.append((f"Judged queries missing from a run count as 0: {_counts(missing)}.", True))
    if extra:
        found.append((f"Queries without judgements are left out: {_counts(extra)}.", False))
    return found


def _undefined(s: Ranking) -> list[tuple[str, bool]]:
    """Queries without a value: one line where the systems agree, a warning where they do not share their queries."""
    found = []
    for label, rows in s.estimates[s.estimates["undefined"] > 0].groupby("metric", sort=False):
        every = s.estimates[s.estimates["metric"] == label]
        if every["undefined"].nunique() == 1:
            n = int(rows["undefined"].iloc[0])
            found.append(
                (f"{label} is undefined on {counted(n, 'query')}, left out of its mean (see the definitions).", False)
            )
        else:
            listed = _counts(dict(zip(rows["system"], rows["undefined"], strict=True)))
            text = (
                f"{label} is undefined on different queries for each system: {listed}; means are not over the same ones"
            )
            found.append((f"{text}, paired differences are.", True))
    return found


def _without(s: Ranking) -> list[tuple[str, bool]]:
    """Queries that have no value in a segment column."""
    without = {name: int((s.runs.attributes[name] == NONE).sum()) for name in s.settings.segments}
    listed = _counts({name: n for name, n in without.items() if n})
    return [(f"Queries without a value, shown as their own slice: {listed}.", True)] if listed else []


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in found.items())


def _judgements(s: Ranking) -> list[tuple[str, bool]]:
    found = []
    if s.runs.pooled_ideal:
        text = "No judgement file: the ideal order and R know only the items that some system returned"
        found.append((f"{text}; recall and NDCG are relative to that pool.", True))
    if s.runs.negative:
        found.append((f"{s.runs.negative:,} judgements below 0 count as not judged, as in trec_eval.", False))
    k, share = s.unjudged(s.order[0])[0], {name: s.unjudged(name)[1] for name in s.order}
    if max(share.values()) > 0:
        listed = ", ".join(f"{name} {value:.0%}" for name, value in share.items())
        spread = max(share.values()) - min(share.values())
        found.append((f"Returned but not judged, counted as not relevant, in the first {k}: {listed}.", spread > 0.05))
    return found


def _order(s: Ranking) -> list[tuple[str, bool]]:
    return [*given_ranks(s.runs.accounts), *_renumbered(s), *_ties(s)]


def given_ranks(accounts: Mapping[str, Account]) -> list[tuple[str, bool]]:
    """A warning that names the systems with lists that start above rank 1 or have gaps."""
    systems = [f"{name}: {_gaps(account)}" for name, account in accounts.items() if account.late or account.gaps]
    if not systems:
        return []
    text = f"Ranks are taken as they are. {'; '.join(systems)}. A missing rank counts as an item that is not relevant"
    return [(f"{text}; set ranks=renumber to number each list 1, 2, 3, ….", True)]


def _gaps(account: Account) -> str:
    late = f"{counted(account.late, 'list')} {'starts' if account.late == 1 else 'start'} above rank 1"
    gaps = f"{counted(account.gaps, 'list')} {'has' if account.gaps == 1 else 'have'} gaps"
    return ", ".join(text for text, n in ((late, account.late), (gaps, account.gaps)) if n)


def _renumbered(s: Ranking) -> list[tuple[str, bool]]:
    """A note that ranks were renumbered, if there were any."""
    text = "Ranks were renumbered 1, 2, 3, … within each list, which closes gaps."
    return [(text, False)] if s.ranks == RENUMBER and "rank" in s.runs.columns else []


def _ties(s: Ranking) -> list[tuple[str, bool]]:
    tied = {name: one.tied for name, one in s.runs.accounts.items() if one.tied}
    if not tied:
        return []
    rows = s.estimates[s.estimates["metric"] == s.primary.label]
    wide = rows[rows["best_ties"] - rows["worst_ties"] > VISIBLE]
    ranges = "; ".join(
        f"{row['system']} {s.primary.label} lies between {number(row['worst_ties'])} and {number(row['best_ties'])}"
        for _, row in wide.iterrows()
    )
    matters = bool(len(wide) and (wide["best_ties"] - wide["worst_ties"] > (wide["high"] - wide["low"]) / 2).any())
    moved = (
        f" By their order {ranges}." if ranges else f" Their order moves {s.primary.label} by less than {VISIBLE:g}."
    )
    ordered = "rank" if "rank" in s.runs.columns else "score"
    return [(f"Rows tied in {ordered} with the row before: {_counts(tied)}.{moved}", matters)]


def _size(s: Ranking) -> list[tuple[str, bool]]:
    n = int(s.estimates["n"].max())
    return (
        [(f"Only {n} {plural(s.unit_name, n)}: intervals and tests of so few lean on their spread.", True)]
        if n < 20
        else []
    )


def estimates(s: Ranking) -> Html:
    """Metrics in columns, systems in rows, best first; a range where ties could move the number."""
    n = s.estimates["n"].max()
    unit = f"over queries, clustered by {s.settings.unit}" if s.settings.unit else f"over {counted(n, 'query')}"
    caption = f"Mean {unit} with its {percent(s.settings.level)} interval"
    return page.estimates(s, caption, "Ties: from the worst to the best order of equal scores.")


def extremes(s: Ranking) -> Html:
    """The queries that the leader wins and loses by most."""
    if not len(s.headline):
        found: list[list[Cell | str]] = [
            [escape(row["query"]), number(row["value"])] for row in s.extremes().to_dict("records")
        ]
        return tables.table(f"Queries with the lowest {s.primary.label}, {s.leader}", ["query", s.leader], found)
    first, second = s.opponents
    rows: list[list[Cell | str]] = [
        [Cell(escape(row["query"])), number(row["first"]), number(row["second"]), signed(row["difference"])]
        for row in s.extremes().to_dict("records")
    ]
    caption = f"Queries with the largest differences in {s.primary.label}, {first} against {second}"
    return tables.table(caption, ["query", first, second, "difference"], rows)


def definitions(s: Ranking) -> Html:
    """Exactly the metrics shown, then the order, the population, the intervals and the test."""
    items = page.metric_definitions(s)
    relevant = f"a grade of at least {s.relevance_level:g}; items without a judgement are not relevant"
    order = "score descending in double precision, equal scores by item id descending in UTF-8 bytes (trec_eval's rule)"
    if "rank" in s.runs.columns:
        order = "the ranks of the input; equal ranks by item id descending in UTF-8 bytes, at successive ranks; "
        order += "gaps are closed" if s.ranks == RENUMBER else "a missing rank counts as an item that is not relevant"
    population = (
        "queries with a judgement; one missing from a run counts 0, one where the metric is undefined is left out of "
        "its mean, one in a run only is left out"
    )
    test = (
        "two-sided sign-flip (Fisher randomisation) test of paired differences, whose inversion gives the interval; "
        "ratios of sums by the delta method; Holm over the pairs"
    )
    detectable = "the smallest true difference that a paired t-test of as many units shows with 80 % power"
    items += [("relevant", relevant), ("order of ranks", order), ("population", population)]
    return tables.definitions([*items, ("test", test), ("difference that would show", detectable)])


def origin(s: Ranking) -> Html:
    """Inputs, parameters, versions, the command."""
    return page.origin(s, s.runs.sources, "ranking")


def results(s: Ranking) -> Results:
    """Every number of the page, unrounded."""
    differences = s.differences() if len(s.headline) else pd.Series(dtype=float)
    accounts = [{"system": name} | vars(one) for name, one in s.runs.accounts.items()]
    population = {"queries": len(s.runs.query), "pooled_ideal": s.runs.pooled_ideal, "accounts": accounts}
    more = {
        "columns": dict(s.runs.columns),
        "population": population,
        "curves": s.curves.to_dict("records"),
        "precision_recall": s.precision_recall.to_dict("records"),
        "differences": {"queries": list(differences.index), "values": list(differences)},
    }
    return page.results(s, "ranking", s.runs.sources, more)

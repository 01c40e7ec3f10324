"""The words, tables and figures of the ranking page, each from the study's frames."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain

import pandas as pd

from evalkit.arrays import Floats, Ints
from evalkit.drawing import figures, paragraphs, plots, tables
from evalkit.drawing.cells import Cell, escape, number_cell
from evalkit.drawing.columns import (
    Column,
    Rows,
    limits,
    p_column,
    pair as pair_column,
    text,
    value,
    words,
)
from evalkit.drawing.figures import Figure
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding
from evalkit.numbers import (
    count_with_noun,
    decimals,
    interval,
    listed,
    number,
    percent,
    signed_number,
)
from evalkit.pages import as_json, first_screen, page, pieces, texts
from evalkit.pages.explorer import (
    DIFFERENCE,
    FIRST,
    MAX_OFFERED_SYSTEMS,
    SECOND,
    ComparedPairColumns,
    UnitListing,
    listing,
)
from evalkit.pages.shared_findings import (
    columns_in_words,
    counts,
    few_units,
    of_sample,
    rank_gaps,
    unshared_queries,
)
from evalkit.pages.slices_page import weak_slice_plot, weak_slices
from evalkit.parameters.reports import RENUMBER
from evalkit.reading.inputs.lists import DEEPEST, SHALLOWEST, Catalogue
from evalkit.report import Results
from evalkit.studies import beyond_relevance, diagnostics, ranking
from evalkit.studies.diagnostics import VISIBLE, rank_tiers
from evalkit.studies.ranking import PERSISTENCE, Ranking, total

pieces.offer_pieces(__name__)


# share of the lists that reach a recall level that is drawn: beyond it those that end before pull
# the mean to 0
HALF = 0.5
MAX_QUERIES = 500  # queries that a page lists
MAX_VALUES = 700  # of all metrics of these queries: for many queries of fewer metrics
WITH_ITEMS = 50  # queries whose lists of items stand on the page, the first ones
TOP = 10  # items of such a list


def title(study: Ranking) -> Html:
    """The title and what was asked."""
    return first_screen.title(
        "ranking", study, count_with_noun(len(study.runs.query), "judged query")
    )


def estimates(study: Ranking) -> Html:
    """Metrics in columns, systems in rows, best first. Below an estimate that the order of tied
    items visibly changes stands its range over all orders.
    """
    sample = f"over {count_with_noun(diagnostics.most_units(study), 'query')}"
    if study.settings.unit:
        sample = f"over queries, clustered by {study.settings.unit}"
    caption = f"Mean {sample} with its {percent(study.settings.level)} interval"
    note = ""  # on the ranges that `page.estimates` puts below such estimates
    if any(map(diagnostics.depends_on_tied_order, study.estimates.to_dict("records"))):
        note = "Ties: the range from the worst to the best order of tied items."
    # the highest mean of a metric that any lists could have: on a query with fewer relevant items
    # than k no list has a precision@k of 1, with more no list has a recall@k of 1
    ceilings_below_1 = []
    for label, ceiling in study.highest_possible_values.items():
        if ceiling.value < 1:
            ceilings_below_1.append(f"{label} {ceiling.value:.4g}")
    if ceilings_below_1:
        caption = f"{caption}; highest possible: {listed(ceilings_below_1)}"
    return page.estimates(study, caption, note)


def extremes(study: Ranking) -> Html:
    """The queries that the leader wins and loses by most against its opponent; the leader's worst
    queries if there is no such pair.
    """
    columns: dict[str, Column] = {"query": text("query")}
    if not len(study.headline):  # no pair: one system, or a metric without a better direction
        worst = "highest" if study.primary_metric.metric.best == "low" else "lowest"
        caption = f"Queries with the {worst} {study.primary_metric.label}, {study.leader}"
        columns[study.leader] = value("value")
        return of_rows(caption, study.extremes(), columns)
    first, second = study.headline_systems  # the leader and the system that it is compared with
    columns |= {
        first: value("first"),
        second: value("second"),
        "difference": value("difference", signed_number),
    }
    metric = study.primary_metric.label
    caption = f"Queries with the largest differences in {metric}, {first} against {second}"
    return of_rows(caption, study.extremes(), columns)


def explorer(study: Ranking) -> Html:
    """A list of the queries with the values of the two compared systems, or of the only one; the
    first queries open to the lists of items side by side. Of more than `MAX_QUERIES` queries it has
    those on which the two systems differ most, or the worst of the only one.
    """
    queries = study.most_different(MAX_QUERIES)
    numbers = queries["number"].to_numpy()  # of the queries in the order of the study
    n_all = len(study.runs.query)
    # the primary metric first; further metrics as far as the page has room for their values
    explored_metrics = study.explored(len(queries), MAX_VALUES)
    primary, *further_metrics = [chosen.label for chosen in explored_metrics]
    pair = None
    columns: dict[str, list[Cell]] = {}
    if len(study.compared_systems) > 1:
        pair = _pair_columns(study, queries)
    else:
        columns = _metric_columns(study, numbers, primary)
    further_columns = _likeness_columns(study, numbers)
    for label in further_metrics:
        further_columns |= _metric_columns(study, numbers, label)
    attributes = {}
    for name in study.settings.attributes:
        attributes[name] = study.attributes[name][numbers]
    lists = [_first_items(study, number) for number in numbers[:WITH_ITEMS].tolist()]
    n_with_lists = len([html for html in lists if html])
    which = f"The {len(queries)} queries that differ most"
    if len(queries) == n_all:
        which = f"All {count_with_noun(n_all, 'query')}"
    explored = UnitListing(
        which,
        systems=" and ".join(study.compared_systems),
        unit="query",
        names=list(queries["query"]),
        attributes=attributes,
        columns=columns,
        opened=lists,
        note=" ".join(_notes(study, len(queries), n_with_lists)),
        pair=pair,
        further_columns=further_columns,
    )
    return listing(explored)


def _notes(study: Ranking, n_listed: int, n_with_lists: int) -> Iterator[str]:
    """The sentences below the queries of the explorer. n_listed: how many queries it lists.
    n_with_lists: how many of them, the first ones, open to the lists of items.
    """
    if n_listed < len(study.runs.query):
        yield "The JSON has the differences of all queries."
    if n_with_lists:
        items = f"the first {TOP} items and their grades (–: not judged)"
        yield f"The first {n_with_lists} queries open to {items}."
    if len(study.likeness):  # two systems are compared, and their items are in memory
        overlap = number(study.mean_likeness.overlap, 2)
        rank_biased_overlap = number(study.mean_likeness.rbo, 2)
        yield f"Mean overlap@{study.depth} {overlap}, mean RBO {rank_biased_overlap}."


def _likeness_columns(study: Ranking, numbers: Ints) -> dict[str, list[Cell]]:
    """How alike the lists of the two compared systems are, a cell for each query, by the head of
    the column; no columns if there is one system or the items are not in memory.

    numbers: of the queries, in the order of their rows.
    """
    if not len(study.likeness):
        return {}
    rows = study.likeness.iloc[numbers]
    return {
        f"overlap@{study.depth}": [number_cell(value, 2) for value in rows["overlap"]],
        "RBO": [number_cell(value, 2) for value in rows["rbo"]],
    }


def _metric_columns(study: Ranking, numbers: Ints, label: str) -> dict[str, list[Cell]]:
    """The values of the metric `label`, a column for each compared system and a cell for each
    query, by the head of the column; all with the same decimals.

    numbers: of the queries, in the order of their rows.
    """
    values = {name: _values(study, label, name)[numbers] for name in study.compared_systems}
    places = decimals(chain.from_iterable(values.values()))
    columns = {}
    for name, values_of_system in values.items():
        columns[f"{label} {name}"] = [number_cell(value, places) for value in values_of_system]
    return columns


def _values(study: Ranking, label: str, system: str) -> Floats:
    """The values of a metric of a system, one per query in the order of the study."""
    return study.per_query[label, system].per_unit


def _systems_to_choose(study: Ranking) -> Sequence[str]:
    """The systems of which the reader of the page chooses two: the two compared ones, which it
    shows at first, then the best of the others; the only one if no two are compared.
    """
    if len(study.compared_systems) == 1:
        return study.compared_systems
    return list(dict.fromkeys([*study.compared_systems, *study.order]))[:MAX_OFFERED_SYSTEMS]


def _pair_columns(study: Ranking, queries: pd.DataFrame) -> ComparedPairColumns:
    """The columns of the primary metric: the values of the two compared systems, and their
    difference; also the values of every system that the reader can choose in place of the two.

    queries: a row for each query, with its number and the difference of the two systems.
    """
    label = study.primary_metric.label
    values = {}
    for name in _systems_to_choose(study):
        values[name] = _values(study, label, name)[queries["number"]]
    # the decimals are those of the two systems that are shown at first
    places = decimals(chain.from_iterable(values[name] for name in study.compared_systems))
    # what each column holds, by its head, in which {0} and {1} become the names of the two systems
    heads = {f"{label} {{0}}": FIRST, f"{label} {{1}}": SECOND, "difference": DIFFERENCE}
    return ComparedPairColumns(values, queries["difference"], heads, places)


def _first_items(study: Ranking, query: int) -> str:
    """The first items of each system's list for a query side by side, as HTML; empty if the items
    are not in memory. query: its number.

    The page has the lists of all systems that the reader can choose; those of systems other than
    the two compared are hidden until they are chosen.
    """
    # by system, pairs of an item and its grade
    lists = {system: study.top(system, query, TOP) for system in _systems_to_choose(study)}
    if not any(lists.values()):
        return ""
    html = ""
    for system, items in lists.items():
        hidden = "" if system in study.compared_systems else " hidden"
        entries = "".join(f"<li>{escape(item)} ({_grade(grade)})" for item, grade in items)
        html += f"<section{hidden}>{escape(system)}<ol>{entries}</ol></section>"
    return html


def _grade(grade: float) -> str:
    """A grade as a list shows it; a dash without a judgement."""
    return "–" if math.isnan(grade) else f"{grade:g}"


def definitions(study: Ranking) -> Html:
    """Exactly the metrics shown, then the order, the population, the intervals and the test."""
    # how the items of a list are ordered, in words
    rank_gaps = "a missing rank counts as an item that is not relevant"
    if study.p.ranks == RENUMBER:
        rank_gaps = "gaps are closed"
    meaning_by_order = dict(texts.meanings("ranking_order", gaps=rank_gaps))
    ordered_by = "ranks" if "rank" in study.runs.columns else "scores"
    order = meaning_by_order[ordered_by]
    items = page.metric_definitions(study)  # pairs of a term and its meaning
    items += texts.meanings("ranking", level=study.relevance_level, order=order)
    if len(study.likeness):  # the explorer shows overlap and RBO
        items += texts.meanings(
            "likeness", depth=study.depth, persistence=PERSISTENCE, deepest=DEEPEST
        )
    tests = page.test_definitions(study)
    if tests:
        items += tests
        items += texts.meanings("compared")
    return paragraphs.definitions(items)


findings, origin = page.findings, page.origin


def results(study: Ranking) -> Results:
    """Every number of the page, unrounded."""
    differences = study.differences() if len(study.headline) else pd.Series(dtype=float)
    accounts = [
        {"system": name} | account.record for name, account in study.runs.list_accounts.items()
    ]
    population = {
        "queries": len(study.runs.query),
        "pooled_ideal": study.runs.pooled_ideal,
        "accounts": accounts,
    }
    fields = {
        "columns": dict(study.runs.columns),
        "population": population,
        **as_json.frames_as_records(
            curves=study.curves,
            precision_recall=study.precision_recall,
            tiers=rank_tiers(study),
            unjudged=beyond_relevance.bounds(study),
            diversity=beyond_relevance.measures(study),
            diversity_differences=beyond_relevance.differences(study),
        ),
        "differences": {"queries": list(differences.index), "values": list(differences)},
        "values": {
            "query": list(study.runs.query),
            "systems": study.values()[list(study.compared_systems)].to_dict("list"),
        },
        "likeness": study.likeness.to_dict("list"),
    }
    return as_json.results(study, every_finding(study), fields)


def queries(study: Ranking) -> Figure | Html:
    """The difference of the two compared systems in the primary metric on each query, sorted; the
    values of the leader if there is no such pair.
    """
    if not len(study.headline):  # no pair: one system, or a metric without a better direction
        return _values_of_leader(study)
    pair = study.headline.iloc[0]
    differences = study.differences()  # first − second on each query, sorted
    n_above, n_equal, n_below = diagnostics.sign_counts(differences)
    better_colour = page.VERDICT_COLOURS["better"]
    worse_colour = page.VERDICT_COLOURS["worse"]
    # a difference above 0 is then a loss of the first system
    if study.primary_metric.metric.best == "low":
        n_better = n_below
        n_worse = n_above
        colours = (worse_colour.code, better_colour.code)  # of bars above 0, below 0
    else:
        n_better = n_above
        n_worse = n_below
        colours = (better_colour.code, worse_colour.code)
    caption = texts.sentence(
        "ranking.queries",
        pair=f"{pair['first']} − {pair['second']}",
        label=study.primary_metric.label,
        better=count_with_noun(n_better, "query"),
        green=better_colour.name,
        equal=n_equal,
        worse=n_worse,
        orange=worse_colour.name,
    )
    return figures.figure_drawn_by(
        plots.bars,
        differences.to_numpy(),
        caption=caption,
        height=2.6,
        xlabel=f"queries, sorted (n = {len(differences):,})",
        ylabel=f"difference in {study.primary_metric.label}",
        colours=colours,
    )


def _values_of_leader(study: Ranking) -> Figure:
    """The primary metric of each query of one system, sorted."""
    values = study.values()[study.leader].dropna().to_numpy()
    _, n_zero, _ = diagnostics.sign_counts(values)
    zeros = f"{n_zero:,} of {count_with_noun(len(values), 'query')} score 0"
    caption = f"{study.primary_metric.label} of each query, sorted. {zeros}; dashed: the mean."
    return figures.figure_drawn_by(
        plots.bars,
        values,
        caption=caption,
        height=2.6,
        xlabel=f"queries, sorted (n = {len(values):,})",
        ylabel=study.primary_metric.label,
    )


def curves(study: Ranking) -> Figure:
    """The primary metric against its cut-off; NDCG in its place if it takes no cut-off."""
    name = study.curves.iloc[0]["metric"]  # all rows have the same
    return _curves(
        study,
        study.curves,
        f"{name}@k against k",
        x="k",
        xlabel="cut-off k (log scale)",
        ylabel=f"mean {name}@k",
        log=True,
    )


def precision_recall(study: Ranking) -> Figure:
    """Interpolated precision at eleven recall levels, as far as at least half of a system's lists
    reach.
    """
    precision = "interpolated precision"
    levels = study.precision_recall  # a row for each system and recall level
    # few lists of a poor system reach any level: each line has at least the point at 0
    is_drawn = (levels["reached"] >= HALF) | (levels["recall"] == 0)
    subject = f"{precision} at 11 recall levels"
    if not is_drawn.all():
        subject = f"{subject}, up to the last that at least half of a system's lists reach,"
    drawn = levels[is_drawn]
    return _curves(study, drawn, subject, x="recall", xlabel="recall", ylabel=precision)


def _curves(
    study: Ranking,
    frame: pd.DataFrame,
    subject: str,
    *,
    x: str,
    xlabel: str,
    ylabel: str,
    log: bool = False,
) -> Figure:
    """A figure of means over queries along x, a line with a band for each system; in words each
    line's first and last point.

    frame: system, value, low, high, n (of queries), and the column that `x` names. subject: what is
    drawn, for the caption. log: True for a logarithmic x axis.
    """
    n = max(frame["n"])  # of all systems, also of those that are not drawn
    frame = page.rows_of_figure(study, frame)  # of the systems that a figure has room for
    caption = (
        f"Mean {subject} with {percent(study.settings.level)} bands, "
        f"{count_with_noun(n, 'query')}.{page.omission_sentence(study)}"
    )
    ends = []
    for name, line in frame.groupby("system", sort=False):
        first = line.iloc[0]
        last = line.iloc[-1]
        start = f"{number(first['value'])} at {first[x]:g}"
        end = f"{number(last['value'])} at {last[x]:g}"
        ends.append(f"{name} from {start} to {end}")
    return figures.figure_drawn_by(
        plots.curves,
        frame,
        caption=caption,
        says=f"{'; '.join(ends)}.",
        x=x,
        y="value",
        xlabel=xlabel,
        ylabel=f"{ylabel} (n = {n:,})",
        log=log,
    )


def every_finding(study: Ranking) -> Iterator[Finding]:
    """Every finding of a ranking report, those on the input first, those on the sample last."""
    yield _rows(study)
    yield from unshared_queries(study.runs.list_accounts)
    yield from _undefined_values(study)
    yield from _own_documents(study)
    yield from _judgements(study)
    yield from _ceilings(study)
    yield from _short(study)
    yield from _against_ranks(study)
    yield from rank_gaps(study.runs.list_accounts)
    yield from _renumbered(study)
    yield from _tie_findings(study)
    yield from few_units(study, diagnostics.most_units(study))
    yield from of_sample(study)


def _against_ranks(study: Ranking) -> Iterator[Finding]:
    """TREC runs with lists whose scores contradict their ranks, a higher score standing at a later
    rank. Only the first lists of a run were checked: if the two columns disagree, they do at once.
    """
    runs = []
    for name, check in study.runs.rank_checks.items():
        lists = f"{check.contradicting:,} of the first {count_with_noun(check.lists, 'list')}"
        runs.append(f"{name} in {lists}")
    if runs:
        yield kinds.SCORES_AGAINST_RANKS.warning(len(runs), runs=listed(runs))


def _rows(study: Ranking) -> Finding:
    """How many rows were read, used and left out, all systems together, and which columns of the
    input have which meaning.
    """
    rows = total(study.runs.list_accounts, "rows")
    unjudged = total(study.runs.list_accounts, "unjudged_query")
    left_out = f", {unjudged:,} in queries without judgements left out" if unjudged else ""
    columns = columns_in_words(study.runs.columns)
    layout = f"Columns: {columns}" if columns else "TREC run files"  # which name no columns
    return kinds.ROWS_READ.note(
        rows,
        "ranked",
        read=rows,
        used=total(study.runs.list_accounts, "used"),
        rest=left_out,
        layout=layout,
    )


def _undefined_values(study: Ranking) -> Iterator[Finding]:
    """How many queries have no value of a metric, and how many have none in a segment column. It is
    a warning for a metric if the systems differ in this number: then their means are over different
    queries.
    """
    for undefined in ranking.undefined(study):
        n = max(undefined.queries.values())
        if undefined.is_shared:
            yield kinds.UNDEFINED_VALUES.note(
                n, "shared", metric=undefined.label, queries=count_with_noun(n, "query")
            )
        else:
            yield kinds.UNDEFINED_VALUES.warning(
                n, "apart", metric=undefined.label, counts=counts(undefined.queries)
            )
    queries_by_column = ranking.without_segment(study)
    if queries_by_column:
        n = max(queries_by_column.values())
        yield kinds.NO_SEGMENT_VALUE.warning(n, counts=counts(queries_by_column))


def _judgements(study: Ranking) -> Iterator[Finding]:
    """What the judgements lack: a file of their own, irrelevant items, or the items of some
    systems. Also grades below 0, judged items that the lists spell otherwise, and judged items that
    are not in the table of items.
    """
    runs = study.runs
    if runs.pooled_ideal:
        yield kinds.NO_JUDGEMENT_FILE.warning()
    if runs.all_relevant:
        yield kinds.ALL_RELEVANT.note(runs.judgements, n=runs.judgements)
    if runs.negative:  # the number of such judgements
        yield kinds.NEGATIVE_GRADES.note(runs.negative, n=runs.negative)
    yield from _unjudged_items(study)
    lists = ranking.respelled(study)  # by system, those with a judged item under another spelling
    if lists:
        queries = f"{len(runs.query):,}"
        yield kinds.RESPELLED_ITEMS.warning(
            max(lists.values()), counts=counts(lists), queries=queries
        )
    unlisted = runs.unlisted  # judged items that the table of items lacks
    if unlisted:
        yield kinds.UNLISTED_ITEMS.warning(unlisted, n=unlisted, judgements=runs.judgements)


def _unjudged_items(study: Ranking) -> Iterator[Finding]:
    """The share of each system's first k items without a judgement; nothing if all are judged. A
    warning if the shares are so large or so unlike that they can change the order of the systems.
    """
    unjudged_shares = ranking.unjudged(study)
    if not any(unjudged_shares.shares.values()):
        return
    k = unjudged_shares.k
    shares = listed(f"{name} {share:.0%}" for name, share in unjudged_shares.shares.items())
    if study.interactions:  # people chose the relevant items: all others have no judgement
        yield kinds.OTHER_ITEMS.note(k=k, shares=shares, noun=study.unit_name)
    else:
        severity = WARNING if unjudged_shares.may_mislead else NOTE
        yield kinds.UNJUDGED_ITEMS.finding_with_severity(severity, k=k, shares=shares)


def _own_documents(study: Ranking) -> Iterator[Finding]:
    """Lists that return the query itself as an item, as happens if queries are documents of the
    collection, and the primary metric with and without this item.
    """
    if study.p.leave_out:  # the user has asked to leave these items out
        yield kinds.OWN_DOCUMENT.note(None, "left_out")
        return
    lists = ranking.with_own_document(study)  # the number of such lists, by system
    if not lists:
        return
    most_lists = max(lists.values())
    facts = {"counts": counts(lists), "queries": f"{len(study.runs.query):,}"}
    values_without = ranking.without_own_document(study)
    if not values_without:  # then undefined on all queries: the query may be what is searched for
        yield kinds.OWN_DOCUMENT.note(most_lists, "sought", **facts)
        return
    values = []
    for name in lists:
        value_with = number(study.estimate(study.primary_metric, name).value)
        values.append(f"{name} {value_with} (without: {number(values_without[name])})")
    yield kinds.OWN_DOCUMENT.warning(
        most_lists, "kept", metric=study.primary_metric.label, values=listed(values), **facts
    )


def _ceilings(study: Ranking) -> Iterator[Finding]:
    """The metrics of which no list can reach 1, if there are any."""
    highest = ranking.out_of_reach(study)
    if highest:
        values = listed(f"{label} at most {value:.4g}" for label, value in highest.items())
        yield kinds.OUT_OF_REACH.note(len(highest), values=values)


def _short(study: Ranking) -> Iterator[Finding]:
    """The metrics whose cut-off no list reaches, if there are any."""
    last, labels = ranking.beyond(study)
    if labels:
        verb = "looks" if len(labels) == 1 else "look"
        yield kinds.SHORT_LISTS.note(last=last, metrics=f"{listed(labels)} {verb}")


def _renumbered(study: Ranking) -> Iterator[Finding]:
    """That ranks were renumbered, if the parameters ask for it and there are ranks."""
    if study.p.ranks == RENUMBER and "rank" in study.runs.columns:
        yield kinds.RENUMBERED.note()


def _tie_findings(study: Ranking) -> Iterator[Finding]:
    """How many items of each system are tied, and between which values of the primary metric their
    order decides; a warning if it changes a value by more than half of its interval's width.
    Nothing without ties.
    """
    tied_items = ranking.by_system(study.runs.list_accounts, "tied")
    if not tied_items:
        return
    label = study.primary_metric.label
    estimates = ranking.ties(study)  # those that the order of tied items visibly changes
    ranges = []
    for row in estimates.rows.itertuples():
        worst_to_best = interval(row.worst_ties, row.best_ties)
        ranges.append(f"{label} of {row.system} lies in {worst_to_best}")
    change = f" Their order changes {label} by less than {VISIBLE:g}."
    if ranges:
        change = f" Depending on their order, {listed(ranges, joint='; ')}."
    order = "rank" if "rank" in study.runs.columns else "score"
    severity = WARNING if estimates.matters else NOTE
    yield kinds.TIES.finding_with_severity(
        severity,
        total(study.runs.list_accounts, "tied"),
        order=order,
        counts=counts(tied_items),
        moved=change,
    )


def diversity(study: Ranking) -> Html:
    """Each measure beyond relevance, such as diversity, of each system with its interval, and the
    differences of the pairs; empty without a table of items.
    """
    if study.catalogue is None:
        return Html("")
    if study.runs.retrieved_items is None:
        text = (
            f"Not computed: there are too many lists to keep the first {SHALLOWEST} items of each."
        )
        return muted_paragraph(text)
    measures = beyond_relevance.measures(study)  # a row for each measure and system
    caption = (
        f"The first {study.depth} items of each list, with {percent(study.settings.level)} "
        f"intervals"
    )
    note = _catalogue_note(study.catalogue, measures)
    table = tables.by_system(caption, measures, "metric", limits("value"), note)
    meanings = dict(texts.meanings("diversity"))
    sentences = []
    for name in measures["metric"].unique():
        capitalised = f"{name[0].upper()}{name[1:]}"
        sentences.append(f"{capitalised}: {meanings[name]}.")
    columns: dict[str, Column] = {
        "first − second": pair_column,
        "metric": words("metric"),
        "difference": limits("difference", show=signed_number),
        "p": p_column("p"),
        "adjusted p": p_column("adjusted"),
    }
    differences = tables.of_rows(
        f"Differences among the first {study.depth} items, p by Holm over the pairs of one metric",
        beyond_relevance.differences(study),
        columns,
    )
    return stack([table, muted_paragraph(" ".join(sentences)), differences])


def _catalogue_note(catalogue: Catalogue, frame: pd.DataFrame) -> str:
    """In a note, how many items the table of items has, and how many items of a system each measure
    leaves out at most, because the table lacks what the measure needs. frame: of
    `beyond_relevance.measures`.
    """
    left_out = frame.groupby("metric", sort=False)["left_out"].max()
    left_out_text = listed(f"{name} up to {n:,}" for name, n in left_out.items() if n)
    size = f"{count_with_noun(len(catalogue), 'item')} in the table."
    if not left_out_text:
        return size
    return f"{size} Shown items left out for lack of an entry, per system: {left_out_text}."


PLACES = 3  # decimals of a limit at most


def unjudged(study: Ranking) -> Html:
    """The lowest and the highest value that each metric could have if the unjudged items were
    judged, a row for each system; empty if no bounds are known.
    """
    bounds = beyond_relevance.bounds(study)  # a row for each metric and system
    if bounds.empty:
        return Html("")
    # the number of unjudged items of a system is the same for every metric that has bounds
    by_system = bounds.groupby("system", sort=False)  # in the order of the frame
    rows = by_system["unjudged"].max().reset_index()
    columns: dict[str, Column] = {
        "system": text("system"),
        f"unjudged in the first {study.depth}": text("unjudged", lambda n: f"{n:,.0f}"),
    }
    for label, bounds_of_metric in bounds.groupby("metric", sort=False):
        bounds_by_system = bounds_of_metric.set_index("system")
        rows[f"{label} low"] = rows["system"].map(bounds_by_system["low"])
        rows[f"{label} high"] = rows["system"].map(bounds_by_system["high"])
        columns[str(label)] = _range(f"{label} low", f"{label} high")
    note = texts.sentence("ranking.unjudged_note", depth=study.depth)
    table = of_rows("From the lowest to the highest value", rows, columns, note)
    return folded("What the unjudged items could change", table)


def _range(low: str, high: str) -> Column:
    """A column of ranges, all with the same decimals. low, high: the names of the columns with the
    ends of the ranges.
    """

    def cells(rows: Rows) -> list[str]:
        """The ranges of all rows: "0.31 to 0.38"."""
        lowest = [row[low] for row in rows]
        highest = [row[high] for row in rows]
        # as many decimals as a value deserves whose interval is the range
        places = min(decimals(lowest, lowest, highest), PLACES)
        return [f"{number(row[low], places)} to {number(row[high], places)}" for row in rows]

    return cells


SUMMARY = (first_screen.verdict, estimates, page.comparisons)
PIECES = (
    title,
    first_screen.verdict,
    findings,
    estimates,
    unjudged,
    page.differences,
    page.comparisons,
    page.tiers,
    queries,
    extremes,
    explorer,
    curves,
    precision_recall,
    diversity,
    page.segment_plot,
    page.segments,
    weak_slice_plot,
    weak_slices,
    definitions,
    origin,
)

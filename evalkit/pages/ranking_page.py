"""The words, tables and figures of the ranking page, each from the study's frames."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from evalkit.drawing import figures, plots, tables
from evalkit.drawing.figures import Figure
from evalkit.drawing.tables import (
    Cell,
    Column,
    Html,
    Rows,
    escape,
    number_cell,
    of_rows,
    paragraph,
    stack,
    text,
    value,
)
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding
from evalkit.numbers import counted, decimals, interval, listed, number, percent, signed
from evalkit.pages import as_json, first_screen, page, pieces, texts
from evalkit.pages.explorer import CHOICE, Explored, Pair, listing
from evalkit.pages.shared_findings import columns_read, counts, few_units, gaps, of_sample, unshared
from evalkit.pages.slices_page import weak_slice_plot, weak_slices
from evalkit.parameters.reports import RENUMBER
from evalkit.reading.inputs.lists import DEEPEST, SHALLOWEST, Stock
from evalkit.report import Results
from evalkit.studies import beyond_relevance, diagnostics, ranking
from evalkit.studies.diagnostics import VISIBLE, rank_tiers
from evalkit.studies.ranking import PERSISTENCE, Ranking, total

pieces.offered(__name__)


# of the lists reach a recall level that is drawn: beyond it those that end before pull the mean to
# 0
HALF = 0.5
MOVED = 500  # queries that a page lists
NUMBERS = 700  # of all metrics of these queries, at least of one; of more queries fewer metrics
OPENED = 50  # queries whose lists stand on the page, with so many items each
TOP = 10


def title(study: Ranking) -> Html:
    """The title and what was asked."""
    return first_screen.title("ranking", study, counted(len(study.runs.query), "judged query"))


def estimates(study: Ranking) -> Html:
    """Metrics in columns, systems in rows, best first; a range where ties could move the number."""
    n = diagnostics.most_units(study)
    unit = (
        f"over queries, clustered by {study.settings.unit}"
        if study.settings.unit
        else f"over {counted(n, 'query')}"
    )
    caption = f"Mean {unit} with its {percent(study.settings.level)} interval"
    tied = any(map(diagnostics.moved_by_ties, study.estimates.to_dict("records")))
    note = "Ties: the range from the worst to the best order of tied items." if tied else ""
    highest = {label: values.value for label, values in study.ceilings.items()}
    limited = [f"{label} {value:.4g}" for label, value in highest.items() if value < 1]
    if limited:
        caption = f"{caption}; highest possible: {listed(limited)}"
    return page.estimates(study, caption, note)


def extremes(study: Ranking) -> Html:
    """The queries that the leader wins and loses by most."""
    query = {"query": text("query")}
    if not len(study.headline):
        end = "highest" if study.primary.metric.best == "low" else "lowest"
        caption = f"Queries with the {end} {study.primary.label}, {study.leader}"
        return of_rows(caption, study.extremes(), query | {study.leader: value("value")})
    first, second = study.opponents
    columns = query | {
        first: value("first"),
        second: value("second"),
        "difference": value("difference", signed),
    }
    caption = (
        f"Queries with the largest differences in {study.primary.label}, {first} against {second}"
    )
    return of_rows(caption, study.extremes(), columns)


def explorer(study: Ranking) -> Html:
    """Every query with the values of the two systems, and their lists side by side; of many the
    most moved.
    """
    frame = study.moved(MOVED)
    every = len(study.runs.query)
    decisive, *others = [chosen.label for chosen in study.explored(len(frame), NUMBERS)]
    pair = _pair(study, frame) if len(study.shown) > 1 else None
    columns = {} if pair else _values_of(study, frame, decisive)
    more: dict[str, Any] = _likeness(study, frame)
    for label in others:
        more |= _values_of(study, frame, label)
    beside = {name: study.attributes[name][frame["number"]] for name in study.settings.attributes}
    opened = [_opened(study, number) for number in frame["number"][:OPENED].tolist()]
    which = (
        f"All {counted(every, 'query')}"
        if len(frame) == every
        else f"The {len(frame)} queries that differ most"
    )
    note = " ".join(_explained(study, len(frame), every, len(list(filter(None, opened)))))
    of = " and ".join(study.shown)
    return listing(
        Explored(
            which, of, "query", list(frame["query"]), beside, columns, opened, note, pair, more
        )
    )


def _explained(study: Ranking, queries: int, every: int, opened: int) -> Iterator[str]:
    """What stands below the queries."""
    if queries < every:
        yield "The JSON has the differences of all queries."
    if opened:
        yield (
            f"The first {opened} queries open to the first {TOP} items and their grades (–: not "
            f"judged)."
        )
    if len(study.likeness):
        shared, biased = (number(mean, 2) for mean in study.mean_likeness)
        yield f"Mean overlap@{study.depth} {shared}, mean RBO {biased}."


def _likeness(study: Ranking, frame: pd.DataFrame) -> dict[str, list[Cell]]:
    """The columns of how alike the two lists of each query are; none if the items are not at
    hand.
    """
    if not len(study.likeness):
        return {}
    rows = study.likeness.iloc[frame["number"]]
    heads = {"overlap": f"overlap@{study.depth}", "rbo": "RBO"}
    return {head: [number_cell(value, 2) for value in rows[name]] for name, head in heads.items()}


def _values_of(study: Ranking, frame: pd.DataFrame, label: str) -> dict[str, list[Cell]]:
    """The columns of one metric: each system."""
    values = {name: study.per_query[label, name].per_unit[frame["number"]] for name in study.shown}
    places = decimals(value for column in values.values() for value in column)
    return {
        f"{label} {name}": [number_cell(value, places) for value in column]
        for name, column in values.items()
    }


def _choice(study: Ranking) -> Sequence[str]:
    """The systems of which the reader chooses two: those that are shown, then the best."""
    return list(dict.fromkeys([*study.shown, *study.order]))[
        : CHOICE if len(study.shown) > 1 else 1
    ]


def _pair(study: Ranking, frame: pd.DataFrame) -> Pair:
    """The metric that decides, of two systems, and their difference."""
    label = study.primary.label
    values = {
        name: study.per_query[label, name].per_unit[frame["number"]] for name in _choice(study)
    }
    places = decimals(value for name in study.shown for value in values[name])
    return Pair(
        values,
        frame["difference"],
        {f"{label} {{0}}": 0, f"{label} {{1}}": 1, "difference": 2},
        places,
    )


def _opened(study: Ranking, query: int) -> str:
    """The first items of each list side by side, as HTML; empty if the items are not at hand.

    Of the systems that can be chosen those that are not shown are hidden.
    """
    lists = [(system, study.top(system, query, TOP)) for system in _choice(study)]
    parts = [
        _list(system, items, "" if system in study.shown else " hidden") for system, items in lists
    ]
    return "".join(parts) if any(items for _, items in lists) else ""


def _list(system: str, items: Sequence[tuple[str, float]], hidden: str) -> str:
    """A system's list of items with their grades; a dash for one without a judgement."""
    rows = "".join(
        f"<li>{escape(item)} ({'–' if math.isnan(grade) else f'{grade:g}'})"
        for item, grade in items
    )
    return f"<section{hidden}>{escape(system)}<ol>{rows}</ol></section>"


def definitions(study: Ranking) -> Html:
    """Exactly the metrics shown, then the order, the population, the intervals and the test."""
    given = "rank" in study.runs.columns
    closed = study.p.ranks == RENUMBER
    gaps = "gaps are closed" if closed else "a missing rank counts as an item that is not relevant"
    order = dict(texts.meanings("ranking_order", gaps=gaps))["ranks" if given else "scores"]
    items = [
        *page.metric_definitions(study),
        *texts.meanings("ranking", level=study.relevance_level, order=order),
    ]
    if len(study.likeness):
        items += texts.meanings(
            "likeness", depth=study.depth, persistence=PERSISTENCE, deepest=DEEPEST
        )
    compared = (
        [*tests, *texts.meanings("compared")] if (tests := page.test_definitions(study)) else []
    )
    return tables.definitions([*items, *compared])


findings, origin = page.findings, page.origin


def results(study: Ranking) -> Results:
    """Every number of the page, unrounded."""
    differences = study.differences() if len(study.headline) else pd.Series(dtype=float)
    accounts = [{"system": name} | account.record for name, account in study.runs.accounts.items()]
    population = {
        "queries": len(study.runs.query),
        "pooled_ideal": study.runs.pooled_ideal,
        "accounts": accounts,
    }
    more = {
        "columns": dict(study.runs.columns),
        "population": population,
        **as_json.records(
            curves=study.curves, precision_recall=study.precision_recall, tiers=rank_tiers(study)
        ),
        **as_json.records(
            unjudged=beyond_relevance.bounds(study), diversity=beyond_relevance.measures(study)
        ),
        **as_json.records(diversity_differences=beyond_relevance.differences(study)),
        "differences": {"queries": list(differences.index), "values": list(differences)},
        "values": {
            "query": list(study.runs.query),
            "systems": study.values()[list(study.shown)].to_dict("list"),
        },
        "likeness": study.likeness.to_dict("list"),
    }
    return as_json.results(study, every_finding(study), more)


def queries(study: Ranking) -> Figure | Html:
    """The primary difference of each query, sorted."""
    if not len(study.headline):
        return _values(study)
    row = study.headline.iloc[0]
    values = study.differences()
    pair = f"{row['first']} − {row['second']}"
    low = study.primary.metric.best == "low"
    better, equal, worse = diagnostics.sides(-values if low else values)
    (green, gained), (orange, lost) = (page.COLOURED[verdict] for verdict in ("better", "worse"))
    caption = texts.sentence(
        "ranking.queries",
        pair=pair,
        label=study.primary.label,
        better=counted(better, "query"),
        green=green,
        equal=equal,
        worse=worse,
        orange=orange,
    )
    return figures.picture(
        plots.bars,
        values.to_numpy(),
        caption=caption,
        height=2.6,
        xlabel=f"queries, sorted (n = {len(values):,})",
        ylabel=f"difference in {study.primary.label}",
        colours=(lost, gained) if low else (gained, lost),
    )


def _values(study: Ranking) -> Figure:
    """The primary metric of each query of one system, sorted."""
    values = study.values()[study.leader].dropna().to_numpy()
    score = f"{diagnostics.sides(values)[1]:,} of {counted(len(values), 'query')} score 0"
    caption = f"{study.primary.label} of each query, sorted. {score}; dashed: the mean."
    return figures.picture(
        plots.bars,
        values,
        caption=caption,
        height=2.6,
        xlabel=f"queries, sorted (n = {len(values):,})",
        ylabel=study.primary.label,
    )


def curves(study: Ranking) -> Figure:
    """The primary metric against its cut-off."""
    name = study.curves.iloc[0]["metric"]
    return _curves(
        study,
        study.curves,
        f"{name}@k against k",
        "k",
        "cut-off k (log scale)",
        f"mean {name}@k",
        log=True,
    )


def precision_recall(study: Ranking) -> Figure:
    """Interpolated precision at eleven recall levels, as far as at least half of a system's lists
    reach.
    """
    what, frame = "interpolated precision", study.precision_recall
    near = frame[(frame["reached"] >= HALF) | (frame["recall"] == 0)]
    end = (
        ", up to the last that at least half of a system's lists reach,"
        if len(near) < len(frame)
        else ""
    )
    return _curves(study, near, f"{what} at 11 recall levels{end}", "recall", "recall", what)


def _curves(
    study: Ranking, frame: pd.DataFrame, what: str, x: str, xlabel: str, ylabel: str, **options: Any
) -> Figure:
    """Means over queries along x, in words also each line's first and last point."""
    frame, n = page.rows_of_figure(study, frame), max(frame["n"])
    caption = (
        f"Mean {what} with {percent(study.settings.level)} bands, "
        f"{counted(n, 'query')}.{page.omission(study)}"
    )
    ends = [
        f"{name} from {number(ys.iloc[0])} at {xs.iloc[0]:g} to {number(ys.iloc[-1])} at "
        f"{xs.iloc[-1]:g}"
        for name, xs, ys in (
            (name, line[x], line["value"]) for name, line in frame.groupby("system", sort=False)
        )
    ]
    options |= {"x": x, "y": "value", "xlabel": xlabel, "ylabel": f"{ylabel} (n = {n:,})"}
    return figures.picture(
        plots.curves, frame, caption=caption, says=f"{'; '.join(ends)}.", **options
    )


def every_finding(study: Ranking) -> list[Finding]:
    """Every finding of a ranking report."""
    lists = [
        *_short(study),
        *_against_ranks(study),
        *gaps(study.runs.accounts),
        *_renumbered(study),
        *_ties(study),
    ]
    data = [
        _rows(study),
        *unshared(study.runs.accounts),
        *_undefined(study),
        *_own_documents(study),
        *_judgements(study),
        *_ceilings(study),
        *lists,
    ]
    return [*data, *few_units(study, diagnostics.most_units(study)), *of_sample(study)]


def _against_ranks(study: Ranking) -> Iterator[Finding]:
    """TREC runs whose scores contradict their ranks."""
    if checks := study.runs.rank_checks:
        runs = listed(
            f"{name} in {check.contradicting:,} of the first {counted(check.lists, 'list')}"
            for name, check in checks.items()
        )
        yield kinds.SCORES_AGAINST_RANKS.warning(len(checks), runs=runs)


def _rows(study: Ranking) -> Finding:
    read, used, refused = (
        total(study.runs.accounts, name) for name in ("rows", "used", "unjudged_query")
    )
    rest = f", {refused:,} in queries without judgements left out" if refused else ""
    columns = columns_read(study.runs.columns)
    layout = f"Columns: {columns}" if columns else "TREC run files"
    return kinds.ROWS_READ.note(read, "ranked", read=read, used=used, rest=rest, layout=layout)


def _undefined(study: Ranking) -> Iterator[Finding]:
    """Queries without a value of a metric, a warning where systems do not share them, or of a
    segment column.
    """
    for label, by_name, shared in ranking.undefined(study):
        most = max(by_name.values())
        if shared:
            yield kinds.UNDEFINED_VALUES.note(
                most, "shared", metric=label, queries=counted(most, "query")
            )
        else:
            yield kinds.UNDEFINED_VALUES.warning(
                most, "apart", metric=label, counts=counts(by_name)
            )
    if without := ranking.without_segment(study):
        yield kinds.NO_SEGMENT_VALUE.warning(max(without.values()), counts=counts(without))


def _judgements(study: Ranking) -> Iterator[Finding]:
    k, shares, uneven = ranking.unjudged(study)
    if study.runs.pooled_ideal:
        yield kinds.NO_JUDGEMENT_FILE.warning()
    if study.runs.all_relevant:
        yield kinds.ALL_RELEVANT.note(study.runs.judgements, n=study.runs.judgements)
    if study.runs.negative:
        yield kinds.NEGATIVE_GRADES.note(study.runs.negative, n=study.runs.negative)
    named = listed(f"{name} {value:.0%}" for name, value in shares.items())
    if any(shares.values()) and study.interactions:
        yield kinds.OTHER_ITEMS.note(k=k, shares=named, noun=study.unit_name)
    elif any(shares.values()):
        yield kinds.UNJUDGED_ITEMS.rated(WARNING if uneven else NOTE, k=k, shares=named)
    if lists := ranking.respelled(study):
        queries = f"{len(study.runs.query):,}"
        yield kinds.RESPELLED_ITEMS.warning(
            max(lists.values()), counts=counts(lists), queries=queries
        )
    if unlisted := study.runs.unlisted:
        yield kinds.UNLISTED_ITEMS.warning(unlisted, n=unlisted, judgements=study.runs.judgements)


def _own_documents(study: Ranking) -> Iterator[Finding]:
    """Lists that return the query itself, with the metric that decides with it and without it."""
    if study.p.leave_out:
        yield kinds.OWN_DOCUMENT.note(None, "left_out")
    elif lists := ranking.with_own_document(study):
        facts = {"counts": counts(lists), "queries": f"{len(study.runs.query):,}"}
        without = ranking.without_own_document(study)
        if not without:
            yield kinds.OWN_DOCUMENT.note(max(lists.values()), "sought", **facts)
            return
        values = listed(
            f"{name} {number(study.estimate(study.primary, name).value)} (without: "
            f"{number(without[name])})"
            for name in lists
        )
        yield kinds.OWN_DOCUMENT.warning(
            max(lists.values()), "kept", metric=study.primary.label, values=values, **facts
        )


def _ceilings(study: Ranking) -> Iterator[Finding]:
    if highest := ranking.out_of_reach(study):
        values = listed(f"{label} at most {value:.4g}" for label, value in highest.items())
        yield kinds.OUT_OF_REACH.note(len(highest), values=values)


def _short(study: Ranking) -> Iterator[Finding]:
    """That no list reaches the cut-off of a metric."""
    last, labels = ranking.beyond(study)
    if labels:
        look = f"{listed(labels)} {'looks' if len(labels) == 1 else 'look'}"
        yield kinds.SHORT_LISTS.note(last=last, metrics=look)


def _renumbered(study: Ranking) -> Iterator[Finding]:
    if study.p.ranks == RENUMBER and "rank" in study.runs.columns:
        yield kinds.RENUMBERED.note()


def _ties(study: Ranking) -> Iterator[Finding]:
    tied = ranking.by_system(study.runs.accounts, "tied")
    label = study.primary.label
    if not tied:
        return
    rows, matters = ranking.ties(study)
    ends = [
        f"{label} of {row.system} lies in {interval(row.worst_ties, row.best_ties)}"
        for row in rows.itertuples()
    ]
    little = f" Their order changes {label} by less than {VISIBLE:g}."
    moved = f" Depending on their order, {listed(ends, joint='; ')}." if ends else little
    order = "rank" if "rank" in study.runs.columns else "score"
    rows_tied = total(study.runs.accounts, "tied")
    yield kinds.TIES.rated(
        WARNING if matters else NOTE, rows_tied, order=order, counts=counts(tied), moved=moved
    )


def diversity(study: Ranking) -> Html:
    """Each measure of each system with its interval."""
    if study.catalogue is None:
        return Html("")
    if study.runs.retrieved is None:
        text = (
            f"Not computed: there are too many lists to keep the first {SHALLOWEST} items of each."
        )
        return paragraph(text)
    frame = beyond_relevance.measures(study)
    caption = (
        f"The first {study.depth} items of each list, with {percent(study.settings.level)} "
        f"intervals"
    )
    names = dict.fromkeys(frame["metric"])
    meaning = dict(texts.meanings("diversity"))
    table = tables.by_system(
        caption, frame, "metric", tables.limits("value"), _unknown_items(study.catalogue, frame)
    )
    said = paragraph(" ".join(f"{name[0].upper()}{name[1:]}: {meaning[name]}." for name in names))
    tested = beyond_relevance.differences(study)
    columns = {"first − second": tables.pair} | tables.named(
        "metric w | difference ±[] | p p | adjusted p=adjusted p"
    )
    caption = (
        f"Differences among the first {study.depth} items, p by Holm over the pairs of one metric"
    )
    return stack([table, said, tables.of_rows(caption, tested, columns)])


def _unknown_items(catalogue: Stock, frame: pd.DataFrame) -> str:
    """How many items the table has, and how many are left out of each measure."""
    most = frame.groupby("metric", sort=False)["left_out"].max()
    some = listed(f"{name} up to {n:,}" for name, n in most.items() if n)
    size = f"{counted(len(catalogue), 'item')} in the table."
    if some:
        return f"{size} Shown items left out for lack of an entry, per system: {some}."
    return size


PLACES = 3  # decimals of a limit at most


def unjudged(study: Ranking) -> Html:
    """The lowest and the highest value of each metric, whatever the unjudged items of each system
    are.
    """
    if not len(frame := beyond_relevance.bounds(study)):
        return Html("")
    labels = dict.fromkeys(frame["metric"])
    wide = frame.pivot(index="system", columns="metric").loc[list(dict.fromkeys(frame["system"]))]
    counts = wide["unjudged"].max(axis=1).astype(int).map("{:,}".format)
    rows = pd.DataFrame({"system": wide.index, "unjudged": counts.to_numpy()})
    columns: dict[str, Column] = {
        "system": text("system"),
        f"unjudged in the first {study.depth}": text("unjudged"),
    }
    for label in labels:
        rows[f"{label} low"], rows[f"{label} high"] = (
            wide["low", label].to_numpy(),
            wide["high", label].to_numpy(),
        )
        columns[label] = _range(f"{label} low", f"{label} high")
    note = texts.sentence("ranking.unjudged_note", depth=study.depth)
    table = of_rows("From the lowest to the highest value", rows, columns, note)
    return tables.folded("What the unjudged items could change", table)


def _range(low: str, high: str) -> Column:
    """A column of ranges, all with the same decimals."""

    def cells(rows: Rows) -> list[str]:
        places = min(decimals(*([row[key] for row in rows] for key in (low, low, high))), PLACES)
        return [f"{number(row[low], places)} to {number(row[high], places)}" for row in rows]

    return cells


SUMMARY = (first_screen.verdict, estimates, page.comparisons)
PIECES = (
    *(
        title,
        first_screen.verdict,
        findings,
        estimates,
        unjudged,
        page.differences,
        page.comparisons,
        page.tiers,
    ),
    *(
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
    ),
    *(definitions, origin),
)

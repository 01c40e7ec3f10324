"""The words and tables that only the ranking page has, each from the study's frames."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from evalkit.drawing import plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, Results, escape, number_cell, of_rows, text, value
from evalkit.numbers import counted, decimals, number, percent, signed
from evalkit.pages import explorers, first_screen, page, pieces, record
from evalkit.pages.explorers import Explored
from evalkit.pages.ranking_findings import every_finding
from evalkit.parameters.reports import RENUMBER
from evalkit.reading.inputs.lists import DEEPEST
from evalkit.studies import beyond_relevance, diagnostics
from evalkit.studies.diagnostics import rank_tiers
from evalkit.studies.ranking import PERSISTENCE, Ranking

pieces.listed(__name__)

HALF = 0.5  # of the lists reach a recall level that is drawn: beyond it those that end before pull the mean to 0
MOVED = 500  # queries that a page lists
NUMBERS = 700  # of all metrics of these queries, at least of one; of more queries fewer metrics
OPENED = 50  # queries whose lists stand on the page, with so many items each
TOP = 10
OVERLAP = "items that both lists have among their first k / the items of the longer list, at most k"
RBO = (
    f"rank-biased overlap with p = {PERSISTENCE}: the mean share of common items at each depth, weighted towards the "
    "top and extrapolated beyond the ends of the lists, which may differ in length (Webber, Moffat and Zobel 2010, "
    f"equation 32); of at most {DEEPEST} rows of each list, tied items in the order of ranks"
)


def title(study: Ranking) -> Html:
    """The title and what was asked."""
    return first_screen.title(
        "Ranking report",
        study,
        counted(len(study.runs.query), "judged query"),
        alone=f"How well does {study.leader} rank",
        against=f"Is any system better than {study.settings.baseline}",
        best=f"Which of {len(study.order)} systems ranks best",
    )


def findings(study: Ranking) -> Html:
    """What to know of the data before the numbers."""
    return tables.findings(every_finding(study))


def estimates(study: Ranking) -> Html:
    """Metrics in columns, systems in rows, best first; a range where ties could move the number."""
    n = diagnostics.most_units(study)
    unit = f"over queries, clustered by {study.settings.unit}" if study.settings.unit else f"over {counted(n, 'query')}"
    caption = f"Mean {unit} with its {percent(study.settings.level)} interval"
    tied = any(map(diagnostics.moved_by_ties, study.estimates.to_dict("records")))
    return page.estimates(
        study, caption, "Ties: the range from the worst to the best order of tied items." if tied else ""
    )


def extremes(study: Ranking) -> Html:
    """The queries that the leader wins and loses by most."""
    query = {"query": text("query")}
    if not len(study.headline):
        end = "highest" if study.primary.metric.best == "low" else "lowest"
        caption = f"Queries with the {end} {study.primary.label}, {study.leader}"
        return of_rows(caption, study.extremes(), query | {study.leader: value("value")})
    first, second = study.opponents
    columns = query | {first: value("first"), second: value("second"), "difference": value("difference", signed)}
    caption = f"Queries with the largest differences in {study.primary.label}, {first} against {second}"
    return of_rows(caption, study.extremes(), columns)


def explorer(study: Ranking) -> Html:
    """Every query with the values of the two systems, and their lists side by side; of many the most moved."""
    frame, every = study.moved(MOVED), len(study.runs.query)
    decisive, *others = [_cells(study, frame, chosen.label) for chosen in study.explored(len(frame), NUMBERS)]
    columns: dict[str, Any] = decisive | _likeness(study, frame)
    for cells in others:
        columns |= cells
    beside = {name: study.attributes[name][frame["number"]] for name in study.settings.attributes}
    opened = [_opened(study, number) for number in frame["number"][:OPENED].tolist()]
    which = f"All {counted(every, 'query')}" if len(frame) == every else f"The {len(frame)} queries that differ most"
    note = " ".join(_explained(study, len(frame), every, len(list(filter(None, opened)))))
    of = " and ".join(study.shown)
    return explorers.explorer(Explored(which, of, "query", list(frame["query"]), beside, columns, opened, note))


def _explained(study: Ranking, queries: int, every: int, opened: int) -> Iterator[str]:
    """What stands below the queries."""
    if queries < every:
        yield "The JSON has the differences of all queries."
    if opened:
        yield f"The first {opened} queries open to the first {TOP} items and their grades (–: not judged)."
    if len(study.likeness):
        shared, biased = (number(mean, 2) for mean in study.mean_likeness)
        yield f"Mean overlap@{study.depth} {shared}, mean RBO {biased}."


def _likeness(study: Ranking, frame: pd.DataFrame) -> dict[str, list[Cell]]:
    """The columns of how alike the two lists of each query are; none if the items are not at hand."""
    if not len(study.likeness):
        return {}
    rows = study.likeness.iloc[frame["number"]]
    heads = {"overlap": f"overlap@{study.depth}", "rbo": "RBO"}
    return {head: [number_cell(value, 2) for value in rows[name]] for name, head in heads.items()}


def _cells(study: Ranking, frame: pd.DataFrame, label: str) -> dict[str, list[Cell]]:
    """The columns of one metric: each system, and for the metric that decides their difference."""
    values = {name: study.per_query[label, name].per_unit[frame["number"]] for name in study.shown}
    places = decimals(value for column in values.values() for value in column)
    columns = {f"{label} {name}": [number_cell(value, places) for value in column] for name, column in values.items()}
    if label == study.primary.label and len(values) > 1:
        columns["difference"] = [number_cell(value, places, signed) for value in frame["difference"]]
    return columns


def _opened(study: Ranking, query: int) -> str:
    """The first items of each list side by side, as HTML; empty if the items are not at hand."""
    lists = [(system, study.top(system, query, TOP)) for system in study.shown]
    return "".join(_list(system, items) for system, items in lists) if any(items for _, items in lists) else ""


def _list(system: str, items: Sequence[tuple[str, float]]) -> str:
    """A system's list of items with their grades; a dash for one without a judgement."""
    rows = "".join(f"<li>{escape(item)} ({'–' if math.isnan(grade) else f'{grade:g}'})" for item, grade in items)
    return f"<section>{escape(system)}<ol>{rows}</ol></section>"


def definitions(study: Ranking) -> Html:
    """Exactly the metrics shown, then the order, the population, the intervals and the test."""
    items = page.metric_definitions(study)
    relevant = f"a grade of at least {study.relevance_level:g}; items without a judgement are not relevant"
    order = "score descending in double precision, equal scores by item id descending in UTF-8 bytes (trec_eval's rule)"
    if "rank" in study.runs.columns:
        order = "the ranks of the input; equal ranks by item id descending in UTF-8 bytes, at successive ranks; "
        order += (
            "gaps are closed" if study.ranks == RENUMBER else "a missing rank counts as an item that is not relevant"
        )
    population = (
        "queries with a judgement; one that a run lacks counts 0, one on which the metric is undefined is left out of "
        "its mean, one that has no judgements is left out"
    )
    detectable = (
        "the smallest true difference that a t-test detects with 80% power on as many units, after Holm's first step"
    )
    items += [("relevant", relevant), ("order of ranks", order), ("population", population)]
    if len(study.likeness):
        items += [(f"overlap@{study.depth}", OVERLAP), ("RBO", RBO)]
    compared = [*tests, ("detectable difference", detectable)] if (tests := page.test_definitions(study)) else []
    return tables.definitions([*items, *compared])


def origin(study: Ranking) -> Html:
    """Inputs, parameters, versions, the command."""
    return record.origin(study, "ranking")


def results(study: Ranking) -> Results:
    """Every number of the page, unrounded."""
    differences = study.differences() if len(study.headline) else pd.Series(dtype=float)
    accounts = [{"system": name} | vars(account) for name, account in study.runs.accounts.items()]
    population = {"queries": len(study.runs.query), "pooled_ideal": study.runs.pooled_ideal, "accounts": accounts}
    more = {
        "columns": dict(study.runs.columns),
        "population": population,
        "curves": study.curves.to_dict("records"),
        "precision_recall": study.precision_recall.to_dict("records"),
        "tiers": rank_tiers(study).to_dict("records"),
        "differences": {"queries": list(differences.index), "values": list(differences)},
        "values": {"query": list(study.runs.query), "systems": study.values()[list(study.shown)].to_dict("list")},
        "likeness": study.likeness.to_dict("list"),
        "unjudged": beyond_relevance.bounds(study).to_dict("records"),
        "diversity": beyond_relevance.measures(study).to_dict("records"),
    }
    return record.results(study, "ranking", every_finding(study), more)


# Pictures


def queries(study: Ranking) -> Picture | Html:
    """The primary difference of each query, sorted."""
    if not len(study.headline):
        return _values(study)
    row, values = study.headline.iloc[0], study.differences()
    pair = f"{row['first']} − {row['second']}"
    low = study.primary.metric.best == "low"
    better, equal, worse = diagnostics.sides(-values if low else values)
    (green, gained), (orange, lost) = (page.COLOURED[verdict] for verdict in ("better", "worse"))
    caption = (
        f"{pair}: difference in {study.primary.label} of each query, sorted. {counted(better, 'query')} better "
        f"({green}), {equal:,} equal, {worse:,} worse ({orange}); dashed: the mean over queries."
    )
    labels: dict[str, Any] = {
        "xlabel": f"queries, sorted (n = {len(values):,})",
        "ylabel": f"difference in {study.primary.label}",
        "colours": (lost, gained) if low else (gained, lost),
    }
    return plots.picture(plots.bars, values.to_numpy(), caption=caption, size=(plots.WIDTH, 2.6), **labels)


def _values(study: Ranking) -> Picture:
    """The primary metric of each query of one system, sorted."""
    values = study.values()[study.leader].dropna().to_numpy()
    score = f"{diagnostics.sides(values)[1]:,} of {counted(len(values), 'query')} score 0"
    caption = f"{study.primary.label} of each query, sorted. {score}; dashed: the mean."
    labels: dict[str, Any] = {"xlabel": f"queries, sorted (n = {len(values):,})", "ylabel": study.primary.label}
    return plots.picture(plots.bars, values, caption=caption, size=(plots.WIDTH, 2.6), **labels)


def curves(study: Ranking) -> Picture:
    """The primary metric against its cut-off."""
    name = study.curves.iloc[0]["metric"]
    return _curves(study, study.curves, f"{name}@k against k", "k", "cut-off k (log scale)", f"mean {name}@k", log=True)


def precision_recall(study: Ranking) -> Picture:
    """Interpolated precision at eleven recall levels, as far as at least half of a system's lists reach."""
    what, frame = "interpolated precision", study.precision_recall
    near = frame[(frame["reached"] >= HALF) | (frame["recall"] == 0)]
    end = ", up to the last that at least half of a system's lists reach," if len(near) < len(frame) else ""
    return _curves(study, near, f"{what} at 11 recall levels{end}", "recall", "recall", what)


def _curves(
    study: Ranking, frame: pd.DataFrame, what: str, x: str, xlabel: str, ylabel: str, **options: Any
) -> Picture:
    """Means over queries along x, in words also each line's first and last point."""
    frame, n = page.drawn(study, frame), max(frame["n"])
    caption = f"Mean {what} with {percent(study.settings.level)} bands, {counted(n, 'query')}.{page.few(study)}"
    ends = [
        f"{name} from {number(ys.iloc[0])} at {xs.iloc[0]:g} to {number(ys.iloc[-1])} at {xs.iloc[-1]:g}"
        for name, xs, ys in ((name, line[x], line["value"]) for name, line in frame.groupby("system", sort=False))
    ]
    alt = f"{caption} {'; '.join(ends)}."
    options |= {"x": x, "y": "value", "xlabel": xlabel, "ylabel": f"{ylabel} (n = {n:,})"}
    return plots.picture(plots.curves, frame, caption=caption, alt=alt, **options)

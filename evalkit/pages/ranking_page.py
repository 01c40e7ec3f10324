"""The words and tables that only the ranking page has, each from the study's frames."""

import pandas as pd

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, Results, escape, number, percent, signed
from evalkit.pages import page, pieces, ranking_findings
from evalkit.parameters.reports import RENUMBER
from evalkit.studies import diagnostics
from evalkit.studies.ranking import Ranking
from evalkit.studies.words import counted

pieces.listed(__name__)


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


def findings(s: Ranking) -> Html:
    """What to know of the data before the numbers."""
    return tables.findings(ranking_findings.of(s))


def estimates(s: Ranking) -> Html:
    """Metrics in columns, systems in rows, best first; a range where ties could move the number."""
    n = diagnostics.most_units(s)
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
    detectable = "the smallest true difference that a paired t-test of as many units shows with 80 % power"
    items += [("relevant", relevant), ("order of ranks", order), ("population", population)]
    return tables.definitions([*items, ("tests", s.tests_are), ("difference that would show", detectable)])


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
    return page.results(s, "ranking", s.runs.sources, ranking_findings.of(s), more)

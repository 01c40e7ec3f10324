"""The words and tables of the ranking page, each from the study's frames."""

import numpy as np
import pandas as pd

from evalkit import tables
from evalkit.studies import provenance
from evalkit.studies.ranking import Ranking
from evalkit.studies.words import plural
from evalkit.tables import Cell, Html, Results, escape, interval, number, p_value, signed, with_interval

SHOWN = 12  # more systems than a first screen holds
TIES = 5e-4  # a range of ties that a table with three digits shows


def title(s: Ranking) -> Html:
    """The title and what was asked."""
    n, systems = len(s.runs.query), len(s.runs.systems)
    if systems == 1:
        asked = f"How well does {s.leader} rank, by {s.primary.label}, on {n:,} judged queries?"
    elif s.settings.baseline:
        asked = f"Is any system better than {s.settings.baseline}, by {s.primary.label}, on {n:,} judged queries?"
    else:
        asked = f"Which of {systems} systems ranks best, by {s.primary.label}, on {n:,} judged queries?"
    return tables.heading("Ranking report", asked)


def verdict(s: Ranking) -> Html:
    """The gate where one is set, then the leader against each other system, then how that was tested."""
    pieces = [_gate(s)] if s.settings.gate else []
    if not len(s.headline):
        return tables.stack([*pieces, _alone(s)])
    pieces += [_comparison(s, row) for row in s.headline.head(SHOWN).to_dict("records")]
    return tables.stack([*pieces, tables.paragraph(_how(s))])


def gate(s: Ranking) -> dict[str, object] | None:
    """The rule that was set and whether it holds for every candidate, None where none is set."""
    if not s.settings.gate:
        return None
    words = set(s.headline["verdict"])
    passed = {
        "better": words == {"better"},
        "not worse": "worse" not in words,
        "better or equivalent": words <= {"better", "equivalent"},
    }[s.settings.gate]
    return {
        "rule": f"{s.primary.label}: every system {s.settings.gate} against {s.settings.baseline}",
        "passed": passed,
    }


def _gate(s: Ranking) -> Html:
    found = gate(s) or {}
    return tables.verdict("pass" if found["passed"] else "fail", f"gate: {escape(found['rule'])}")


def _value(s: Ranking, system: str) -> str:
    rows = s.estimates[(s.estimates["metric"] == s.primary.label) & (s.estimates["system"] == system)]
    row = rows.iloc[0]
    return f"{number(row['value'])} {interval(row['low'], row['high'])}"


def _alone(s: Ranking) -> Html:
    rows = s.estimates[s.estimates["metric"] == s.primary.label]
    lines = [f"{escape(name)}: {escape(s.primary.label)} {_value(s, name)}" for name in rows["system"]]
    how = f"{s.settings.level:.0%} interval ({rows.iloc[0]['method']}) over {rows.iloc[0]['n']:,} queries; "
    reason = "one system, nothing to compare" if len(s.order) == 1 else f"{s.primary.label} has no better direction"
    return tables.verdict("result", "; ".join(lines), escape(how + reason) + ".")


def _comparison(s: Ranking, row: dict) -> Html:
    first, second = escape(row["first"]), escape(row["second"])
    between = {"better": "than", "worse": "than", "equivalent": "to", "cannot tell": "from"}[row["verdict"]]
    difference = f"{signed(row['difference'])} {interval(row['low'], row['high'], signed)}"
    main = f"{first} {between} {second}: {escape(row['metric'])} {difference}"
    small = (
        f"{first} {_value(s, row['first'])}, {second} {_value(s, row['second'])}; p {p_value(row['p'])}, "
        f"adjusted {p_value(row['adjusted'])}; {row['n']:,} {escape(plural(row['unit'], row['n']))}"
    )
    if row["verdict"] == "cannot tell":
        small += f"; a true difference of {number(row['detectable'])} would show with 80 % power"
    return tables.verdict(row["verdict"], main, small)


def _how(s: Ranking) -> str:
    pairs, level = len(s.pairs), s.settings.level
    row = s.headline.iloc[0]
    many = f"Family: {pairs} comparison{'s' if pairs > 1 else ''} on {s.primary.label}, Holm-adjusted. "
    best = f"{s.leader} has the highest mean of {len(s.order)}; testing all pairs allows for having picked it. "
    margin = f" Equivalent: within ±{s.settings.margin:g}." if s.settings.margin else ""
    return (
        f"{many}{'' if s.settings.baseline else best}Paired differences, two-sided; {row['method']}. Better or worse: "
        f"adjusted p below {1 - level:.2g}. The {level:.0%} interval is of one comparison alone.{margin}"
    )


def notes(s: Ranking) -> Html:
    """What to know of the data before the numbers; a warning where it could change the answer."""
    return tables.notes([*_rows(s), *_population(s), *_judgements(s), *_ties(s), *_size(s)])


def _rows(s: Ranking) -> list[tuple[str, bool]]:
    accounts = s.runs.accounts.values()
    read, used = sum(one.rows for one in accounts), sum(one.used for one in accounts)
    refused = sum(one.unjudged_query for one in accounts)
    rest = f", {refused:,} in queries without judgements left out" if refused else ""
    columns = ", ".join(f"{role} = {name}" for role, name in s.runs.columns.items())
    layout = f"Columns: {columns}" if columns else "TREC run files"
    return [(f"{read:,} ranked rows read, {used:,} used{rest}. {layout}.", False)]


def _population(s: Ranking) -> list[tuple[str, bool]]:
    found = []
    missing = {name: one.missing for name, one in s.runs.accounts.items() if one.missing}
    extra = {name: one.extra for name, one in s.runs.accounts.items() if one.extra}
    if missing:
        found.append((f"Judged queries missing from a run count as 0: {_counts(missing)}.", True))
    if extra:
        found.append((f"Queries without judgements are left out: {_counts(extra)}.", False))
    first = s.estimates[s.estimates["system"] == s.order[0]]
    undefined = {row["metric"]: row["undefined"] for _, row in first.iterrows() if row["undefined"]}
    if undefined:
        found.append((f"Undefined and left out (see the definitions): {_counts(undefined)} queries.", False))
    return found


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in found.items())


def _judgements(s: Ranking) -> list[tuple[str, bool]]:
    found = []
    if s.runs.pooled_ideal:
        text = "No judgement file: the ideal order and R know only the items that some system returned"
        found.append((f"{text}; recall and NDCG are relative to that pool.", True))
    if s.runs.negative:
        found.append((f"{s.runs.negative:,} judgements below 0 count as not judged, as in trec_eval.", False))
    k = s.primary.k or 10
    share = {name: _unjudged(s, name, k) for name in s.order}
    if max(share.values()) > 0:
        listed = ", ".join(f"{name} {value:.0%}" for name, value in share.items())
        spread = max(share.values()) - min(share.values())
        found.append((f"Returned but not judged, counted as not relevant, in the first {k}: {listed}.", spread > 0.05))
    return found


def _unjudged(s: Ranking, name: str, k: int) -> float:
    some = s.runs.rankings[name].retrieved
    top = some.rank <= k
    return float(np.isnan(some.grade[top]).mean()) if top.any() else 0.0


def _ties(s: Ranking) -> list[tuple[str, bool]]:
    tied = {name: one.tied for name, one in s.runs.accounts.items() if one.tied}
    if not tied:
        return []
    rows = s.estimates[s.estimates["metric"] == s.primary.label]
    wide = rows[rows["best_ties"] - rows["worst_ties"] > TIES]
    ranges = "; ".join(
        f"{row['system']} {s.primary.label} lies between {number(row['worst_ties'])} and {number(row['best_ties'])}"
        for _, row in wide.iterrows()
    )
    matters = bool(len(wide) and (wide["best_ties"] - wide["worst_ties"] > (wide["high"] - wide["low"]) / 2).any())
    moved = f" By their order {ranges}." if ranges else f" Their order moves {s.primary.label} by less than {TIES:g}."
    return [(f"Rows with the score of the row before: {_counts(tied)}.{moved}", matters)]


def _size(s: Ranking) -> list[tuple[str, bool]]:
    n = int(s.estimates["n"].max())
    return (
        [(f"Only {n} {plural(s.unit_name, n)}: intervals and tests of so few lean on their spread.", True)]
        if n < 20
        else []
    )


def estimates(s: Ranking) -> Html:
    """Metrics in columns, systems in rows, best first; the best mean bold; a range where ties could move the number."""
    labels = list(dict.fromkeys(s.estimates["metric"]))
    rows = [[Cell(escape(name)), *(_estimate_cell(s, label, name) for label in labels)] for name in s.order]
    first = s.estimates.iloc[0]
    unit = f"clustered by {s.settings.unit}" if s.settings.unit else f"over {first['n']:,} queries"
    methods = ", ".join(dict.fromkeys(s.estimates["method"]))
    caption = f"Mean {unit} with its {s.settings.level:.0%} interval ({methods})"
    return tables.table(
        caption, ["system", *labels], rows, "Bold: the highest mean. Ties: worst to best order of equal scores."
    )


def _estimate_cell(s: Ranking, label: str, name: str) -> Cell:
    rows = s.estimates[s.estimates["metric"] == label]
    row = rows[rows["system"] == name].iloc[0]
    text = with_interval(row["value"], row["low"], row["high"])
    if row["best_ties"] - row["worst_ties"] > TIES:
        text += f'<br><span class="muted">ties {number(row["worst_ties"])} to {number(row["best_ties"])}</span>'
    return Cell(text, "lead" if row["value"] == rows["value"].max() else "")


def comparisons(s: Ranking) -> Html:
    """Every pair on every metric: difference, interval, p, verdict."""
    if not len(s.comparisons):
        return tables.paragraph("One system: nothing to compare.")
    level, n, how = s.settings.level, s.comparisons.iloc[0]["n"], s.comparisons.iloc[0]["method"]
    deciding = s.comparisons["metric"] == s.primary.label
    caption = f"Paired differences in {{}} with {level:.0%} interval, {n:,} {plural(s.unit_name, n)}"
    note = f"p by {how}; adjusted by Holm over the pairs of one metric. Win, tie and loss count queries."
    first = _comparison_table(s.comparisons[deciding], caption.format(s.primary.label), note)
    rest = s.comparisons[~deciding]
    if not len(rest):
        return first
    return tables.stack(
        [first, tables.folded("The other metrics", _comparison_table(rest, caption.format("the other metrics"), ""))]
    )


def _comparison_table(frame: pd.DataFrame, caption: str, note: str) -> Html:
    columns = ["first − second", "metric", "difference", "p", "adjusted p", "t-test p", "win / tie / loss", "verdict"]
    return tables.table(caption, columns, [_comparison_row(row) for row in frame.to_dict("records")], note)


def _comparison_row(row: dict) -> list[Cell]:
    pair = f"{escape(row['first'])} − {escape(row['second'])}"
    difference = with_interval(row["difference"], row["low"], row["high"], signed)
    counts = f"{row['wins']:,} / {row['ties']:,} / {row['losses']:,}"
    tests = [Cell(p_value(row[name])) for name in ("p", "adjusted", "p_t")]
    words = (Cell(escape(row["metric"]), "text"), Cell(row["verdict"], "text"))
    return [Cell(pair), words[0], Cell(difference), *tests, Cell(counts), words[1]]


def extremes(s: Ranking) -> Html:
    """The queries that the leader wins and loses by most."""
    if not len(s.headline):
        return tables.paragraph("One system: no differences.")
    first, second = s.headline.iloc[0][["first", "second"]]
    rows: list[list[Cell | str]] = [
        [Cell(escape(row["query"])), number(row["first"]), number(row["second"]), signed(row["difference"])]
        for row in s.extremes().to_dict("records")
    ]
    caption = f"Queries with the largest differences in {s.primary.label}, {first} against {second}"
    return tables.table(caption, ["query", first, second, "difference"], rows)


def segments(s: Ranking) -> Html:
    """The primary metric by slice, and the first headline comparison in each."""
    if not len(s.by_segment):
        return tables.paragraph("No segment column was named; set segments to a column with one value a query.")
    tested = "difference" in s.by_segment
    pair = " − ".join(s.headline.iloc[0][["first", "second"]]) if tested else ""
    columns = ["slice", "n", *s.order, *([pair, "adjusted p"] if tested else [])]
    rows = [_slice_row(part, tested=tested) for _, part in s.by_segment.groupby(["segment", "slice"], sort=False)]
    slices = len(rows)
    note = (
        f"p by sign flips, Holm-adjusted over the {slices} slices; the intervals are of one slice alone."
        if tested
        else ""
    )
    return tables.table(f"{s.primary.label} by segment with {s.settings.level:.0%} interval", columns, rows, note)


def _slice_row(part: pd.DataFrame, *, tested: bool) -> list[Cell]:
    first = part.iloc[0]
    cells = [Cell(escape(f"{first['segment']} {first['slice']}")), Cell(f"{part['n'].max():,}")]
    cells += [Cell(with_interval(row["value"], row["low"], row["high"])) for _, row in part.iterrows()]
    if tested:
        limits = with_interval(first["difference"], first["difference_low"], first["difference_high"], signed)
        cells += [Cell(limits), Cell(p_value(first["adjusted"]))]
    return cells


def definitions(s: Ranking) -> Html:
    """Exactly the metrics shown, then the order, the population, the intervals and the test."""
    shown = {chosen.metric.name: chosen.metric for chosen in s.settings.metrics}
    items = [
        (
            name,
            f"{metric.formula}. Undefined where {metric.undefined}. Equals: {metric.equals}."
            + (f" {metric.reference}." if metric.reference else ""),
        )
        for name, metric in shown.items()
    ]
    relevant = f"a grade of at least {s.settings.relevance_level:g}; items without a judgement are not relevant"
    order = "score descending in double precision, equal scores by item id descending in UTF-8 bytes (trec_eval's rule)"
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
    return tables.provenance(provenance.table(s.runs.sources, s.given, "ranking", s.settings.seed))


def results(s: Ranking) -> Results:
    """Every number of the page, unrounded, as `evalkit/schema.json` describes it."""
    differences = s.differences() if len(s.headline) else pd.Series(dtype=float)
    accounts = [{"system": name} | vars(one) for name, one in s.runs.accounts.items()]
    return Results(
        {
            "schema": "evalkit/1",
            "report": "ranking",
            "parameters": provenance.printable(s.given),
            "inputs": provenance.inputs(s.runs.sources),
            "columns": dict(s.runs.columns),
            "versions": provenance.versions(),
            "population": {"queries": len(s.runs.query), "pooled_ideal": s.runs.pooled_ideal, "accounts": accounts},
            "primary": s.primary.label,
            "order": s.order,
            "gate": gate(s),
            "headline": s.headline.to_dict("records"),
            "estimates": s.estimates.to_dict("records"),
            "comparisons": s.comparisons.to_dict("records"),
            "curves": s.curves.to_dict("records"),
            "precision_recall": s.precision_recall.to_dict("records"),
            "segments": s.by_segment.to_dict("records"),
            "differences": {"queries": list(differences.index), "values": list(differences)},
        }
    )

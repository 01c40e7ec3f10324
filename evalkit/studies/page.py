"""What every study's page shows in the same way: verdict, estimates, comparisons, slices, results."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evalkit import plots, tables
from evalkit.catalogue import Metric
from evalkit.plots import Picture
from evalkit.sources import Source
from evalkit.studies import provenance
from evalkit.studies.study import Study
from evalkit.studies.words import plural
from evalkit.tables import Cell, Html, Results, escape, interval, number, p_value, signed, with_interval

SHOWN = 12  # more comparisons than a first screen holds
DRAWN = 30  # more than a figure holds
NOTHING = "One system: nothing to compare."


def verdict(s: Study) -> Html:
    """The gate where one is set, then the leader against each other system, then how that was tested."""
    pieces = [_gate(s.gate)] if s.gate else []
    if not len(s.headline):
        return tables.stack([*pieces, _alone(s)])
    pieces += [_comparison(s, row) for row in s.headline.head(SHOWN).to_dict("records")]
    return tables.stack([*pieces, tables.paragraph(_how(s))])


def _gate(found: Mapping[str, Any]) -> Html:
    return tables.verdict("pass" if found["passed"] else "fail", f"gate: {escape(found['rule'])}")


def _value(s: Study, system: str) -> str:
    rows = s.estimates[(s.estimates["metric"] == s.primary.label) & (s.estimates["system"] == system)]
    row = rows.iloc[0]
    return f"{number(row['value'])} {interval(row['low'], row['high'])}"


def _alone(s: Study) -> Html:
    rows = s.estimates[s.estimates["metric"] == s.primary.label]
    lines = [f"{escape(name)}: {escape(s.primary.label)} {_value(s, name)}" for name in rows["system"]]
    n = rows.iloc[0]["n"]
    how = f"{s.settings.level:.0%} interval ({rows.iloc[0]['method']}) over {n:,} {plural(s.unit_name, n)}; "
    reason = "one system, nothing to compare" if len(s.order) == 1 else f"{s.primary.label} has no better direction"
    return tables.verdict("result", "; ".join(lines), escape(how + reason) + ".")


def _comparison(s: Study, row: dict[str, Any]) -> Html:
    first, second = escape(row["first"]), escape(row["second"])
    between = {"better": "than", "worse": "than", "equivalent": "to", "cannot tell": "from"}[row["verdict"]]
    difference = f"{signed(row['difference'])} {interval(row['low'], row['high'], signed)}"
    main = f"{first} {between} {second}: {escape(row['metric'])} {difference}"
    small = (
        f"{first} {_value(s, row['first'])}, {second} {_value(s, row['second'])}; p {p_value(row['p'])}, "
        f"adjusted {p_value(row['adjusted'])}; {row['n']:,} {escape(plural(row['unit'], row['n']))}"
    )
    if row["verdict"] == "cannot tell" and row.get("detectable", float("nan")) > 0:
        small += f"; a true difference of {number(row['detectable'])} would show with 80 % power"
    return tables.verdict(row["verdict"], main, small)


def _how(s: Study) -> str:
    pairs, level = len(s.pairs), s.settings.level
    row = s.headline.iloc[0]
    many = f"Family: {pairs} comparison{'s' if pairs > 1 else ''} on {s.primary.label}, Holm-adjusted. "
    top = "highest" if s.primary.metric.best == "high" else "lowest"
    best = f"{s.leader} has the {top} value of {len(s.order)}; testing all pairs allows for having picked it. "
    margin = f" Equivalent: within ±{s.settings.margin:g}." if s.settings.margin else ""
    return (
        f"{many}{'' if s.settings.baseline else best}Paired differences, two-sided; {row['method']}. Better or worse: "
        f"adjusted p below {1 - level:.2g}. The {level:.0%} interval is of one comparison alone.{margin}"
    )


def estimates(s: Study, caption: str, note: str = "") -> Html:
    """Systems in rows, best first, metrics in columns; the best value bold."""
    labels = list(dict.fromkeys(s.estimates["metric"]))
    rows = [[Cell(escape(name)), *(_estimate(s, label, name) for label in labels)] for name in s.order]
    heads = [f"{chosen.label}\u00a0{_ARROWS[chosen.metric.best]}".strip() for chosen in s.settings.metrics]
    methods = ", ".join(dict.fromkeys(s.estimates["method"]))
    below = f"Bold: the best value; ↑ more is better, ↓ less is. Intervals: {methods}. {note}".strip()
    return tables.table(caption, ["system", *heads], rows, below)


_ARROWS = {"high": "↑", "low": "↓", "neither": ""}


def _estimate(s: Study, label: str, name: str) -> Cell:
    rows = s.estimates[s.estimates["metric"] == label]
    row = rows[rows["system"] == name].iloc[0]
    text = with_interval(row["value"], row["low"], row["high"])
    if row.get("best_ties", 0.0) - row.get("worst_ties", 0.0) > tables.VISIBLE:
        text += f'<br><span class="muted">ties {number(row["worst_ties"])} to {number(row["best_ties"])}</span>'
    metric = next(chosen.metric for chosen in s.settings.metrics if chosen.label == label)
    best = {"high": rows["value"].max(), "low": rows["value"].min()}.get(metric.best)
    return Cell(text, "lead" if len(rows) > 1 and row["value"] == best else "")


def comparisons(s: Study) -> Html:
    """Every pair: first on the metric that decides, then folded on the others."""
    if not len(s.comparisons):
        return tables.paragraph(NOTHING)
    level, n, how = s.settings.level, s.comparisons.iloc[0]["n"], s.comparisons.iloc[0]["method"]
    deciding = s.comparisons["metric"] == s.primary.label
    caption = f"Paired differences in {{}} with {level:.0%} interval, {n:,} {plural(s.unit_name, n)}"
    note = f"p by {how}; adjusted by Holm over the pairs of one metric."
    first = _comparison_table(s.comparisons[deciding], caption.format(s.primary.label), note)
    if deciding.all():
        return first
    rest = _comparison_table(s.comparisons[~deciding], caption.format("the other metrics"), "")
    return tables.stack([first, tables.folded("The other metrics", rest)])


_EXTRAS = {"p_t": "t-test p", "wins": "win / tie / loss"}


def _comparison_table(frame: pd.DataFrame, caption: str, note: str) -> Html:
    many = frame["metric"].nunique() > 1
    extra = [name for column, name in _EXTRAS.items() if column in frame]
    columns = ["first − second", *(["metric"] if many else []), "difference", "p", "adjusted p", *extra, "verdict"]
    return tables.table(caption, columns, [_comparison_row(row, many=many) for row in frame.to_dict("records")], note)


def _comparison_row(row: dict[str, Any], *, many: bool) -> list[Cell]:
    cells = [Cell(f"{escape(row['first'])} − {escape(row['second'])}")]
    cells += [Cell(escape(row["metric"]), "text")] if many else []
    cells.append(Cell(with_interval(row["difference"], row["low"], row["high"], signed)))
    cells += [Cell(p_value(row[name])) for name in ("p", "adjusted", "p_t") if name in row]
    if "wins" in row:
        cells.append(Cell(f"{row['wins']:,} / {row['ties']:,} / {row['losses']:,}"))
    return [*cells, Cell(row["verdict"], "text")]


def differences(s: Study) -> Picture | Html:
    """The primary differences of all pairs with their intervals, around 0."""
    if not len(s.headline):
        return tables.paragraph(NOTHING)
    found = s.comparisons[s.comparisons["metric"] == s.primary.label].head(DRAWN)
    frame = pd.DataFrame({"name": found["first"] + " − " + found["second"], "value": found["difference"]})
    frame["low"], frame["high"] = found["low"], found["high"]
    frame["colour"] = [plots.COLOURS[0] if word in ("better", "worse") else plots.GREY for word in found["verdict"]]
    n = found.iloc[0]["n"]
    label = f"difference in {s.primary.label} (n = {n:,} {plural(s.unit_name, n)})"
    told = "; ".join(_told(*row) for row in zip(*(frame[c] for c in ("name", "value", "low", "high")), strict=True))
    caption = f"Paired differences in {s.primary.label}, {s.settings.level:.0%} intervals; grey: not shown to differ."
    size = (7.6, 0.9 + 0.3 * len(frame))
    drawn: dict[str, Any] = {"label": label, "zero": True}
    return plots.picture(plots.intervals, frame, alt=f"{caption} {told}", caption=caption, size=size, **drawn)


def _told(name: str, value: float, low: float, high: float) -> str:
    return f"{name}: {signed(value)} {interval(low, high, signed)}"


def segments(s: Study) -> Html:
    """The primary metric by slice, and the headline pair's difference in each."""
    if not len(s.by_segment):
        return Html("")
    tested = "difference" in s.by_segment
    columns = ["slice", "n", *s.order, *([" − ".join(s.opponents), "adjusted p"] if tested else [])]
    parts = [part for _, part in s.by_segment.groupby(["segment", "slice"], sort=False)]
    note = f"p Holm-adjusted over the {len(parts)} slices; the intervals are of one slice alone." if tested else ""
    small = [f"{part.iloc[0]['segment']} {part.iloc[0]['slice']}" for part in parts if part["n"].max() < tables.FEW]
    if small:
        note += f" Fewer than {tables.FEW} {plural(s.unit_name, 2)}: {', '.join(small)}: read with care."
    rows = [_slice_row(part, tested=tested) for part in parts]
    return tables.table(f"{s.primary.label} by segment with {s.settings.level:.0%} interval", columns, rows, note)


def _slice_row(part: pd.DataFrame, *, tested: bool) -> list[Cell]:
    first = part.iloc[0]
    cells = [Cell(escape(f"{first['segment']} {first['slice']}")), Cell(f"{part['n'].max():,}")]
    cells += [Cell(with_interval(row["value"], row["low"], row["high"])) for _, row in part.iterrows()]
    if tested:
        limits = with_interval(first["difference"], first["difference_low"], first["difference_high"], signed)
        cells += [Cell(limits), Cell(p_value(first["adjusted"]))]
    return cells


def segment_plot(s: Study) -> Picture | Html:
    """Small multiples of the slices, same axes."""
    if not len(s.by_segment):
        return tables.paragraph("No segment column was named; set segments to the columns to slice by.")
    frame = s.by_segment.assign(slice=s.by_segment["segment"] + " " + s.by_segment["slice"])
    across = min(4, frame["slice"].nunique())
    down = -(-frame["slice"].nunique() // across)
    caption = f"{s.primary.label} by segment, {s.settings.level:.0%} intervals; same axes, n in each title."
    size, panels = (7.6, 0.5 + down * (0.55 + 0.17 * len(s.order))), (down, across)
    label = s.primary.label
    return plots.picture(plots.multiples, frame, alt=caption, caption=caption, size=size, panels=panels, label=label)


def metric_definitions(s: Study) -> list[tuple[str, str]]:
    """Exactly the metrics shown, from the catalogue."""
    return [(metric.name, _definition(metric)) for metric in dict.fromkeys(c.metric for c in s.settings.metrics)]


def _definition(metric: Metric) -> str:
    reference = f" {metric.reference}." if metric.reference else ""
    return f"{metric.formula}. Undefined where {metric.undefined}. Equals: {metric.equals}.{reference}"


def origin(s: Study, sources: tuple[Source, ...], notebook: str) -> Html:
    """The command that makes the page again, the inputs, the parameters, the versions."""
    return tables.provenance(provenance.table(sources, s.given, notebook, s.settings.seed))


def results(s: Study, notebook: str, sources: tuple[Source, ...], more: Mapping[str, Any]) -> Results:
    """Every number of the page, unrounded, as `evalkit/schema.json` describes it."""
    shared = {
        "schema": "evalkit/1",
        "report": notebook,
        "parameters": provenance.printable(s.given),
        "inputs": provenance.inputs(sources),
        "versions": provenance.versions(),
        "gate": s.gate,
        "primary": s.primary.label,
        "order": s.order,
        "headline": s.headline.to_dict("records"),
        "estimates": s.estimates.to_dict("records"),
        "comparisons": s.comparisons.to_dict("records"),
        "segments": s.by_segment.to_dict("records"),
    }
    return Results(shared | dict(more))

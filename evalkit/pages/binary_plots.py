"""The pictures of the binary page, and what is said of its curves, base rates and thresholds beside them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.curve_plots import FROM_ABOVE, STEPS, Panel
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, escape, joined, of_rows, text, value, with_interval
from evalkit.numbers import counted, listed, number
from evalkit.pages import page
from evalkit.studies.binary import LEAST_COST, BinaryStudy
from evalkit.studies.classification_diagnostics import (
    areas,
    at_other_rate,
    break_even,
    classes,
    operating_points,
    used_costs,
)

LINES = 6  # pairs of curves of which a line each is said
FEW = 3  # crossings of two curves that a reader may want one by one
MOST = 0.995  # share of an axis over which a curve lies above all but everywhere


def curve_plot(study: BinaryStudy) -> Picture | Html:
    """ROC and precision-recall curves with pointwise bands and the operating points."""
    if not study.both_classes:
        return Html("")
    c, base = study.table(study.order[0]), classes(study).base_rate
    n = f"{counted(c.positives, 'positive')}, {counted(c.negatives, 'negative')}"
    points = {kind: page.drawn(study, operating_points(study, kind)) for kind in ("roc", "pr")}
    bands = {kind: study.bands(kind, study.order[: page.CURVES]) for kind in ("roc", "pr")}
    roc = Panel(
        page.drawn(study, study.curve("roc")),
        f"false positive rate ({counted(c.negatives, 'negative')})",
        f"recall ({counted(c.positives, 'positive')})",
        "ROC",
        bands["roc"],
        points["roc"],
        ((0, 1), (0, 1)),
    )
    pr = Panel(
        page.drawn(study, study.curve("pr")),
        "recall",
        "precision",
        "Precision and recall",
        bands["pr"],
        points["pr"],
        ((0, 1), (base, base)),
        STEPS,
        page.drawn(study, break_even(study)),
    )
    limits = f"Bands: pointwise {study.settings.level:.0%} limits, valid at each point but not for the whole curve. "
    pointwise = "" if roc.bands is None else limits
    caption = (
        f"ROC and precision-recall curves, {n}. {pointwise}Marks: the threshold used ({study.rule.text}). Open "
        f"circles: the break-even point, where precision equals recall. Dotted: no skill.{page.few(study)}"
    )
    values = listed(
        f"{name}: AUC {number(auc)}, average precision {number(precision)}"
        for name, (auc, precision) in areas(study).items()
    )
    alt = f"{caption} {values}."
    return plots.row(curve_plots.panels, [roc, pr], alt=alt, caption=caption, height=3.6, panels=2)


def _amount(weight: float) -> str:
    return number(weight, 0 if float(weight).is_integer() else 1)


def _of(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The rows of one system."""
    return frame[frame["system"] == name]


def base_rate_plot(study: BinaryStudy) -> Picture | Html:
    """The leader's curves in the data and at another base rate: ROC stays, precision moves."""
    if not study.both_classes:
        return Html("")
    name, rate = study.leader, study.other_rate
    here = classes(study).base_rate
    titles = f"base rate {here:.3g} (the data)", f"base rate {rate:.3g}"

    def both(kind: str) -> pd.DataFrame:
        data, moved = study.curve(kind), at_other_rate(study, kind)
        return pd.concat([_of(data, name).assign(system=titles[0]), _of(moved, name).assign(system=titles[1])])

    roc = Panel(both("roc"), "false positive rate", "recall", f"ROC of {name}", reference=((0, 1), (0, 1)))
    pr = Panel(both("pr"), "recall", "precision", f"Precision and recall of {name}", steps=STEPS)
    ap = list(_of(study.elsewhere, name)["value"][:2])
    caption = (
        f"{name} if {rate:.3g} of the rows were positive instead of {here:.3g}, with unchanged scores within each "
        f"class: the ROC "
        f"curve stays the same (the lines coincide), average precision changes from {number(ap[0])} to {number(ap[1])}."
    )
    curves = plots.row(curve_plots.panels, [roc, pr], caption=caption, height=3.4, panels=2)
    return curves.folded("Curves at another base rate")


def sweep_plot(study: BinaryStudy) -> Picture | Html:
    """The leader's precision, recall and F1 along the threshold, and the mean cost of every system."""
    if not study.both_classes:
        return Html("")
    own = _of(study.sweep, study.leader)
    own = own[own["threshold"].abs() < float("inf")]
    lines = [own.assign(system=metric, x=own["threshold"], y=own[metric]) for metric in ("precision", "recall", "f1")]
    used = study.thresholds[study.leader]
    mark = ((used, used), (0, 1)) if used == used and abs(used) != float("inf") else None
    left = Panel(
        pd.concat(lines),
        "threshold",
        f"metric of {study.leader}",
        f"{study.leader} by threshold",
        reference=mark,
        steps=FROM_ABOVE,
    )
    caption = (
        f"{study.leader}: precision, recall and F1 of predicting positive at or above each threshold "
        f"(n = {counted(study.table(study.leader).total, 'row')}). Dotted: the threshold used, {number(used)}."
    )
    return plots.row(curve_plots.panels, [left], caption=caption, panels=1)


def cost_plot(study: BinaryStudy) -> Picture | Html:
    """The mean cost of a row along the share of rows predicted positive."""
    if not study.both_classes:
        return Html("")
    frame = page.drawn(study, study.sweep.assign(x=study.sweep["predicted"], y=study.sweep["cost"]))
    points = page.drawn(study, used_costs(study))
    panel = Panel(frame, "share of rows predicted positive", "mean cost per row", points=points)
    best = study.choices[study.choices["rule"] == LEAST_COST]
    lowest = listed(
        (f"{row.system} {number(row.cost)} {_where(row.threshold)}" for row in best.itertuples()), page.CURVES, "; "
    )
    caption = (
        f"Mean cost per row ({study.costs}) against the share predicted positive. Lowest: {lowest}. Marks: the "
        f"threshold used.{page.few(study)}"
    )
    return plots.row(curve_plots.panels, [panel], caption=caption, panels=1)


def _where(threshold: float) -> str:
    return "with no row predicted positive" if threshold == float("inf") else f"at threshold {number(threshold)}"


def gain_plot(study: BinaryStudy) -> Picture | Html:
    """Share of the positives found against the share of rows looked at."""
    if not study.both_classes:
        return Html("")
    c = study.table(study.leader)
    panel = Panel(
        page.drawn(study, study.curve("gain")),
        f"share of rows, highest scores first (n = {_amount(c.total)})",
        "share of positives found (recall)",
        reference=((0, 1), (0, 1)),
    )
    top = study.gains[study.gains["depth"] == 0.1]
    shares = listed((f"{row.system} {row.recall:.0%}" for row in top.itertuples()), page.CURVES)
    caption = (
        f"Cumulative gain. The 10% of rows with the highest scores contain this share of the positives: {shares}. "
        f"Dotted: no skill.{page.few(study)}"
    )
    return plots.row(curve_plots.panels, [panel], caption=caption, panels=1)


# What stands beside the pictures


def crossings(study: BinaryStudy) -> Html:
    """Whether one curve contains the other, or where they cross."""
    if not study.both_classes or len(study.order) < 2:
        return Html("")
    lines = []
    for kind, name, axis in (("roc", "ROC", "false positive rate"), ("pr", "precision-recall", "recall")):
        rows = study.crossings[study.crossings["curve"] == kind].to_dict("records")
        often = [row for row in rows if len(row["crossings"]) > FEW and row["above"] <= MOST]
        single = [row for row in rows if row not in often]
        lines += [_crossing(name, axis, row) for row in single[:LINES]]
        lines += [f"{len(single[LINES:]):,} more pairs of {name} curves are in the JSON."] if single[LINES:] else []
        lines += [_often(name, axis, often)] if often else []
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return Html(f'<ul class="notes">{items}</ul>', "\n".join(lines))


def _crossing(name: str, axis: str, row: Mapping[str, Any]) -> str:
    at, first, second = row["crossings"], row["first"], row["second"]
    if not at:
        return f"{first}'s {name} curve contains {second}'s."
    if row["above"] > MOST:
        crossed = f"they cross {counted(len(at), 'time')} at the ends"
        return f"{first}'s {name} curve lies above {second}'s almost everywhere; {crossed}."
    where = f"at {axis} {', '.join(f'{x:.3f}' for x in at)}"
    share = f"{first}'s lies above over {row['above']:.0%} of the axis"
    return f"{first}'s and {second}'s {name} curves cross {where}; {share}."


def _often(name: str, axis: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Pairs of curves that cross again and again, in one line."""
    shares = listed(f"{row['first']} above {row['second']} {row['above']:.0%}" for row in rows)
    return f"These {name} curves cross often; share of the {axis} axis over which the first lies above: {shares}."


def base_rate(study: BinaryStudy) -> Html:
    """Precision, F1 and average precision in the data and at another base rate."""
    if not study.both_classes:
        return Html("")
    rows = []
    for name in study.order:
        part = study.elsewhere[study.elsewhere["system"] == name].to_dict("records")
        cells = [
            joined(f"{number(here['value'])} → ", with_interval(there["value"], there["low"], there["high"]))
            for here, there in zip(part[::2], part[1::2], strict=True)
        ]
        rows.append([Cell(name), *cells])
    rate = study.elsewhere["base_rate"]
    caption = f"From base rate {rate.iloc[0]:.3g} (the data) to {rate.iloc[1]:.3g}"
    note = (
        "Recall, specificity and AUC do not depend on the base rate. Set prevalence to the base rate expected in "
        "production."
    )
    if study.elsewhere.query("metric == 'average_precision'")["low"].isna().any():
        note += " No interval of average precision: at this rate it depends on the few highest-scoring negatives."
    table = tables.table(caption, ["system", "average_precision", "precision", "f1"], rows, note)
    return tables.folded("Metrics at another base rate", table)


def choices(study: BinaryStudy) -> Html:
    """What other ways to choose the threshold would give: of the leader, and folded of the others."""
    if not study.both_classes:
        return Html("")
    note = (
        f"{study.costs.said} The thresholds were chosen on the rows that they are evaluated on: expect worse "
        f"results on new rows."
    )
    own = study.choices["system"] == study.leader
    leader = study.choices[own].assign(name=study.choices["rule"])
    first = _choices(leader, f"Ways to choose the threshold of {study.leader}", note)
    if own.all():
        return first
    others = study.choices[~own].assign(name=study.choices["system"] + ": " + study.choices["rule"])
    rest = _choices(others, "Ways to choose the threshold of the others", "")
    return tables.stack([first, tables.folded("The other systems", rest)])


def _choices(frame: pd.DataFrame, caption: str, note: str) -> Html:
    columns = {
        "chosen by": text("name"),
        "threshold": value("threshold"),
        "predicted positive": value("predicted"),
        "precision": value("precision"),
        "recall": value("recall"),
        "f1": value("f1"),
        "mean cost": value("cost"),
    }
    return of_rows(caption, frame, columns, note)

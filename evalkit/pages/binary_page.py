"""The words and tables of the binary page, each from the study's frames."""

from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, Results, escape, number, with_interval
from evalkit.pages import binary_findings, page, shared_findings
from evalkit.pages.binary_plots import DRAWN
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.binary_diagnostics import classes, constant, larger_class
from evalkit.studies.words import counted


def title(s: BinaryStudy) -> Html:
    """The title and what was asked."""
    what = f"{s.facts.account.columns['label']} = {s.facts.positive}"
    rows = f"{counted(s.facts.rows, 'row')}, {binary_findings.share(classes(s).base_rate)} positive"
    if len(s.order) == 1:
        asked = f"How well does {s.leader} tell {what} from the rest, by {s.primary.label}, on {rows}?"
    elif s.settings.baseline:
        asked = f"Does any system tell {what} better than {s.settings.baseline}, by {s.primary.label}, on {rows}?"
    else:
        asked = f"Which of {len(s.order)} systems tells {what} best from the rest, by {s.primary.label}, on {rows}?"
    return tables.heading("Classification report", asked)


def findings(s: BinaryStudy) -> Html:
    """What to know of the data before the numbers."""
    return tables.findings(binary_findings.of(s))


# Numbers ----------------------------------------------------------------------------------------------------------


def estimates(s: BinaryStudy) -> Html:
    """The metrics without a threshold, then those at it, each above what knowing nothing gives."""
    n, level = page.sample(s, s.facts.rows), f"{s.settings.level:.0%}"
    pieces = []
    if s.order_metrics:
        caption = f"Whole order of the scores, whatever the threshold, with {level} intervals, {n}"
        row = [
            Cell("(knows nothing)", "muted"),
            *(Cell(number(constant(s, m)), "muted") for m in s.order_metrics),
        ]
        pieces.append(page.estimates(s, caption, metrics=s.order_metrics, more=[row]))
    if s.decision_metrics:
        caption = f"At the threshold ({s.rule.text}), with {level} intervals, {n}"
        major = [Cell("(always the larger class)", "muted")]
        major += [Cell(number(larger_class(s, m)), "muted") for m in s.decision_metrics]
        pieces.append(page.estimates(s, caption, metrics=s.decision_metrics, more=[major]))
    return tables.stack(pieces)


def crossings(s: BinaryStudy) -> Html:
    """Whether one curve contains the other, or where they cross."""
    if not s.both_classes or len(s.order) < 2:
        return Html("")
    lines = []
    for kind, axis in (("roc", "false positive rate"), ("pr", "recall")):
        name = "ROC" if kind == "roc" else "precision-recall"
        for row in s.crossings(kind).to_dict("records"):
            lines.append(_crossing(name, axis, row))
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return Html(f'<ul class="notes">{items}</ul>', "\n".join(lines))


def _crossing(name: str, axis: str, row: dict) -> str:
    at, first, second = row["crossings"], row["first"], row["second"]
    if not at:
        return f"{first}'s {name} curve contains {second}'s."
    if row["above"] > 0.995:
        crossed = f"they cross {counted(len(at), 'time')} at the ends"
        return f"{first}'s {name} curve lies above {second}'s all but everywhere; {crossed}."
    where = f"at {axis} {', '.join(f'{x:.3f}' for x in at)}"
    if len(at) > 3:
        where = f"{len(at)} times, at {axis} {at[0]:.3f} to {at[-1]:.3f}"
    share = f"{first}'s lies above over {row['above']:.0%} of the axis"
    return f"{first}'s and {second}'s {name} curves cross {where}; {share}."


def base_rate(s: BinaryStudy) -> Html:
    """Precision, F1 and average precision in the data and at another base rate."""
    if not s.both_classes:
        return Html("")
    rows = []
    for name in s.order:
        part = s.elsewhere[s.elsewhere["system"] == name].to_dict("records")
        cells = [
            Cell(f"{number(here['value'])} → {with_interval(there['value'], there['low'], there['high'])}")
            for here, there in zip(part[::2], part[1::2], strict=True)
        ]
        rows.append([Cell(escape(name)), *cells])
    rate = s.elsewhere["base_rate"]
    caption = f"From base rate {rate.iloc[0]:.3g}, the data's, to {rate.iloc[1]:.3g}"
    note = "Recall, specificity and AUC do not depend on the base rate. Set prevalence to the rate of the place of use."
    return tables.table(caption, ["system", "average_precision", "precision", "f1"], rows, note)


def choices(s: BinaryStudy) -> Html:
    """What other ways to choose the threshold would give: of the leader, and folded of the others."""
    if not s.both_classes:
        return Html("")
    note = f"Costs: {s.costs}. Thresholds chosen on the rows they are judged by: expect less on new rows."
    own = s.choices["system"] == s.leader
    first = _choices(s.choices[own].to_dict("records"), f"Ways to choose the threshold of {s.leader}", note)
    if own.all():
        return first
    rest = _choices(s.choices[~own].to_dict("records"), "Ways to choose the threshold of the others", "")
    return tables.stack([first, tables.folded("The other systems", rest)])


def _choices(found: list[dict], caption: str, note: str) -> Html:
    names = {"threshold": "threshold", "predicted": "predicted positive", "precision": "precision", "recall": "recall"}
    names |= {"f1": "f1", "cost": "mean cost"}
    rows = [
        [Cell(escape(f"{row['system']}: {row['rule']}")), *(Cell(number(row[name])) for name in names)] for row in found
    ]
    return tables.table(caption, ["chosen by", *names.values()], rows, note)


def calibrated(s: BinaryStudy) -> Html:
    """The Brier score taken apart, ECE, and the mean error."""
    if not s.probabilities:
        return Html("")
    names = list(dict.fromkeys(s.calibration["part"]))
    rows = []
    for name in s.order:
        part = s.calibration[s.calibration["system"] == name].to_dict("records")
        rows.append([Cell(escape(name)), *(Cell(with_interval(r["value"], r["low"], r["high"])) for r in part)])
    note = (
        "Brier = miscalibration − discrimination + uncertainty (CORP, isotonic, no bins). Recalibration would mend the "
        "miscalibration; only a better order adds discrimination. bias: mean probability − base rate."
    )
    if len(s.order) > DRAWN:
        note += f" The figure shows the first {DRAWN}."
    return tables.table("Probabilities taken at their word", ["system", *names], rows, note)


def gains(s: BinaryStudy) -> Html:
    """Lift and recall among the highest scores."""
    if not s.both_classes:
        return Html("")
    depths = list(dict.fromkeys(s.gains["depth"]))
    rows = []
    for name in s.order:
        part = s.gains[s.gains["system"] == name].to_dict("records")
        lifts = [with_interval(row["value"], row["low"], row["high"], _two) for row in part]
        cells = [Cell(f"{lift}, finds {row['recall']:.0%}") for lift, row in zip(lifts, part, strict=True)]
        rows.append([Cell(escape(name)), *cells])
    note = "Lift: precision / base rate. A tie at the border counts by its share."
    return tables.table("Lift among the highest scores", ["system", *(f"top {d:.0%}" for d in depths)], rows, note)


def _two(value: float) -> str:
    return number(value, 2)


def confusion(s: BinaryStudy) -> Html:
    """The four counts of every system."""
    heads = ["system", "threshold", "TP", "FP", "FN", "TN"]
    rows: list[list[Cell | str]] = [
        [
            Cell(escape(row["system"])),
            Cell(number(row["threshold"])),
            *(Cell(_count(row[k])) for k in ("tp", "fp", "fn", "tn")),
        ]
        for row in s.decisions.to_dict("records")
    ]
    negative = s.facts.negative or "the rest"
    note = f"Positive: {s.facts.positive}; negative: {negative}. FP: negative, but predicted positive."
    return tables.table(f"Decisions at the threshold ({s.rule.text})", heads, rows, note)


def _count(weight: float) -> str:
    return number(weight, 0 if float(weight).is_integer() else 2)


# Small print ------------------------------------------------------------------------------------------------------


def definitions(s: BinaryStudy) -> Html:
    """Exactly the metrics shown, then the threshold, the intervals and the tests."""
    items = page.metric_definitions(s)
    compared = shared_findings.compared(s.facts.precision)
    items += [("positive", f"the label {s.facts.positive}; predicted where score ≥ threshold, {compared}")]
    items += [("intervals", s.intervals_are), ("tests", s.tests_are), ("bands", s.bands_are)]
    return tables.definitions(items)


def origin(s: BinaryStudy) -> Html:
    """Inputs, parameters, versions, the command."""
    return page.origin(s, s.facts.account.sources, "classification")


def results(s: BinaryStudy) -> Results:
    """Every number of the page, unrounded."""
    rows = s.facts.account
    population = {"rows": len(rows), "read": rows.read, "alone": rows.alone, "positives": s.facts.positives}
    more = {
        "kind": "binary",
        "columns": dict(rows.columns),
        "population": population,
        "positive": s.facts.positive,
        "threshold_rule": s.rule.text,
        "precision": {name: stored_in.name for name, stored_in in s.facts.precision.items()},
        "decisions": s.decisions.to_dict("records"),
        "thresholds": s.choices.to_dict("records") if s.both_classes else [],
    }
    if s.facts.binned:
        names = ("roc_auc_change", "average_precision_low", "average_precision_high")
        told = s.facts.binned.items()
        more["binning"] = [{"system": name} | dict(zip(names, one, strict=True)) for name, one in told]
    if s.both_classes:
        more |= {
            "curves": {kind: s.curve(kind).to_dict("list") for kind in ("roc", "pr")},
            "crossings": [row for kind in ("roc", "pr") for row in s.crossings(kind).to_dict("records")],
            "base_rates": s.elsewhere.to_dict("records"),
            "gains": s.gains.to_dict("records"),
        }
    if s.probabilities:
        more |= {"calibration": s.calibration.to_dict("records"), "reliability": s.reliability.to_dict("records")}
    return page.results(s, "classification", rows.sources, binary_findings.of(s), more)

"""The words, tables and figures of the classification page on two classes, each from the study's
frames.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from evalkit.arrays import Record
from evalkit.catalogue.metric import Metric
from evalkit.catalogue.tables import AVERAGE_PRECISION, ROC_AUC
from evalkit.drawing import curve_plots, figures, plots, tables
from evalkit.drawing.curve_plots import DIAGONAL, STEPS, Panel
from evalkit.drawing.figures import Figure
from evalkit.drawing.tables import (
    Cell,
    Html,
    by_system,
    count,
    escape,
    limits,
    of_rows,
    text,
    value,
    with_interval,
)
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding, measured
from evalkit.measured.readings import Binned
from evalkit.numbers import counted, decimals, estimate, listed, number, p_value
from evalkit.pages import (
    as_json,
    explorer,
    first_screen,
    page,
    pieces,
    shared_findings,
    texts,
    threshold_page,
)
from evalkit.pages.shared_findings import (
    constant_better,
    counts,
    idle,
    nonzero,
    of_sample,
    power,
    rounded,
    rows_read,
    weights,
)
from evalkit.report import Results
from evalkit.studies import binary_diagnostics, decision_curves, diagnostics, score_curves
from evalkit.studies.binary import FITTED, BinaryStudy
from evalkit.studies.binary_diagnostics import Miscalibration
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.diagnostics import alpha

NO_LIMITS = (
    "Estimates of miscalibration, discrimination and ECE are biased upwards, so they have no valid "
    "interval. "
    "If perfect: the mean of the metric if labels are drawn from the scores; p: how often it is "
    "then at least as large."
)


def if_perfect(expected: float, p: float, places: int) -> tuple[str, ...]:
    """What the metric would be on average if every score were right, with so many decimals, and the
    p of that.

    Empty where it is unknown.
    """
    if math.isnan(expected):
        return ()
    return (f"if perfect {number(expected, places)},\np {p_value(p)}",)


COUNTS_OF_MATRIX = "The counts of the matrix in a table"


probabilities = pieces.where(lambda study: study.probabilities)


def title(study: BinaryStudy) -> Html:
    """The title and what was asked."""
    rows = f"{counted(len(study.account), 'row')}, {share(study.base_rate)} positive"
    return first_screen.title(
        "two", study, rows, f"{study.account.columns['label']} = {study.positive}"
    )


@threshold_page.both_classes
def top(study: BinaryStudy) -> Html:
    """Lift and recall among the highest scores."""

    def lift(rows: tables.Rows) -> list[Cell]:
        cells = zip(limits("value")(rows), rows, strict=True)
        return [replace(cell, below=(f"finds {row['recall']:.0%}",)) for cell, row in cells]

    note = texts.sentence("binary.top_note")
    caption = "Lift among the highest scores"
    table = by_system(caption, study.gains, "depth", lift, note, "top {:.0%}".format)
    return tables.folded("Lift and recall of the highest 1% to 50%", table)


def confusion(study: BinaryStudy) -> Html:
    """The four counts of every system."""
    counts = {name.upper(): count(name, _weight) for name in ("tp", "fp", "fn", "tn")}
    negative = study.negative or "the rest"
    note = (
        f"Positive: {study.positive}; negative: {negative}. FP: negative, but predicted positive."
    )
    if not study.decision_column:
        caption = f"Decisions at the threshold ({study.rule.text})"
        columns = {"system": text("system"), "threshold": value("threshold")}
        by_threshold = of_rows(caption, study.decisions, columns | counts, note)
        return tables.folded(COUNTS_OF_MATRIX, by_threshold)
    caption = f"Decisions of the model ({study.decision_column})"
    by_model = of_rows(caption, study.decisions, {"system": text("system")} | counts, note)
    counts_of_model = tables.folded(COUNTS_OF_MATRIX, by_model)
    both_columns = {
        "system": text("system"),
        "metric": text("metric"),
        f"decisions in {study.decision_column}": value("own"),
        f"score ≥ {study.rule.text}": value("at_threshold"),
    }
    comparison_caption = "The model's own decisions beside those of the threshold"
    return tables.stack(
        [counts_of_model, of_rows(comparison_caption, study.both_decisions, both_columns)]
    )


def _weight(weight: float, places: int = 2) -> str:
    return number(weight, 0 if float(weight).is_integer() else places)


def definitions(study: BinaryStudy) -> Html:
    """Exactly the metrics shown, then the threshold, the intervals and the tests."""
    items = page.metric_definitions(study)
    compared = shared_findings.compared(study.precision)
    predicted = f"predicted if score ≥ threshold, {compared}"
    if study.decision_column:
        predicted = f"predicted where the column {study.decision_column} says so"
    items += [
        ("positive", f"the label {study.positive}; {predicted}"),
        ("intervals", study.intervals_are),
        *page.test_definitions(study),
        ("bands", study.bands_are),
    ]
    return tables.definitions(items)


def results(study: BinaryStudy) -> Results:
    """Every number of the page, unrounded."""
    rows = as_json.population(study.account)
    fields = {
        "kind": "binary",
        **rows,
        "population": rows["population"] | {"positives": study.positives},
        "positive": study.positive,
        "threshold_rule": study.rule.text,
        "precision": {name: stored_in.name for name, stored_in in study.precision.items()},
        **as_json.records(decisions=study.decisions),
        "thresholds": [],
        **explorer.recorded(study),
    }
    if study.binned:
        fields["binning"] = [_binning(name, table) for name, table in study.binned.items()]
    if study.both_classes:
        counts_by_system = study.counts_by_system
        fields |= {
            "curves": {kind: study.recorded(kind).to_dict("list") for kind in ("roc", "pr")},
            **as_json.records(
                crossings=study.crossings, base_rates=study.elsewhere, gains=study.gains
            ),
            **as_json.records(thresholds=study.choices),
            "scores_by_class": {
                "histogram": score_curves.histogram(
                    counts_by_system,
                    score_curves.edges(counts_by_system, probabilities=study.probabilities),
                ).to_dict("list"),
                "distances": score_curves.distances(counts_by_system).to_dict("records"),
            },
        }
    if study.probabilities:
        fields |= {
            **as_json.records(calibration=study.calibration, reliability=study.reliability),
            "isotonic": study.isotonic.recorded(),
            **_net_benefit(study),
        }
    return as_json.results(study, every_finding(study), fields)


def _binning(system: str, table: Binned) -> dict[str, Any]:
    """By how much counting in bins can move the areas of a system."""
    lowest, highest = table.average_precision_range
    return {
        "system": system,
        "roc_auc_change": table.auc_error,
        "average_precision_low": lowest,
        "average_precision_high": highest,
    }


def _net_benefit(study: BinaryStudy) -> dict[str, Any]:
    if not study.both_classes:
        return {}
    curve = decision_curves.benefits(study.counts_by_system, decision_curves.PROBABILITIES).to_dict(
        "list"
    )
    differences = decision_curves.first_differences(study).to_dict("list")
    at_costs = decision_curves.at_costs(study).to_dict("records")
    return {"net_benefit": {"curve": curve, "at_costs": at_costs, "differences": differences}}


def every_finding(study: BinaryStudy) -> list[Finding]:
    """Every finding of a binary report."""
    score_findings = [
        *_scores(study),
        *constant_better(study, reported=(ROC_AUC.name,)),
        *_probabilities(study),
        *_ties(study),
    ]
    data_findings = [*rows_read(study.account), *_classes(study), *weights(study), *score_findings]
    return [
        *data_findings,
        *_threshold(study),
        *_one_class(study),
        *shared_findings.few_clusters(study),
        *of_sample(study),
    ]


def share(value: float) -> str:
    """A share of rows as a percentage, below a thousandth as a number."""
    return f"{value:.1%}" if value >= 0.001 else f"{value:.2g}"


def _classes(study: BinaryStudy) -> Iterator[Finding]:
    """The two classes, and whether AUC over all rows is another than within units."""
    severity = WARNING if study.majority > diagnostics.DOMINANT else NOTE
    yield kinds.CLASS_SHARES.rated(
        severity,
        study.positives,
        "two",
        share=share(study.base_rate),
        named=shared_findings.class_named(study.positive, study.account.columns["label"]),
        majority=study.majority,
    )
    if not study.smaller:
        yield kinds.ONE_CLASS.warning()
    elif binary_diagnostics.rarely_positive(study):
        rows = counted(study.positives, "row")
        rate = share(study.base_rate)
        yield kinds.SMALL_CLASS.warning(study.positives, "rare", rows=rows, share=rate)
    elif study.smaller < binary_diagnostics.FEW_OF_CLASS:
        yield kinds.SMALL_CLASS.warning(study.smaller, "two", rows=counted(study.smaller, "row"))
    comparison = binary_diagnostics.within_units(study)
    if comparison is not None and comparison.p_value < alpha(study):
        d = comparison.difference
        yield kinds.WITHIN_UNITS.note(
            d.n,
            leader=study.leader,
            unit=study.unit_name,
            pooled=number(binary_diagnostics.areas(study)[study.leader][0]),
            inside=number(binary_diagnostics.area_within_units(study)),
            difference=estimate(d.value, d.low, d.high),
        )


def _scores(study: BinaryStudy) -> Iterator[Finding]:
    """Curves without bands, decisions given as scores, and scores that rank the classes in
    reverse.
    """
    if not study.banded:
        yield kinds.BANDS.note(None, "curves", bands=study.bands_are)
    tables = {name: [c] for name, c in study.counts_by_system.items()}
    yield from shared_findings.decisions_as_scores(tables)
    auc = {name: area for name, (area, _) in binary_diagnostics.areas(study).items()}
    reversed_ = [f"{name} {number(area)}" for name, area in auc.items() if area < 0.5]
    if reversed_:
        yield kinds.REVERSED_SCORE.warning(len(reversed_), values=listed(reversed_))


def _probabilities(study: BinaryStudy) -> Iterator[Finding]:
    """Scores that are no probabilities, probabilities of 0 and 1, and rows that dominate the log
    loss as a score hardly allowed for their label.
    """
    outside = study.outside
    if not study.probabilities:
        yield kinds.NO_PROBABILITIES.warning(
            max(outside.values()), "two", counts=counts(nonzero(outside))
        )
        return
    yield from _certain_rows(study)
    if shares := binary_diagnostics.unforeseen(study):
        shares_text = listed(
            f"{name} {share_of_loss:.0%}" for name, share_of_loss in shares.items()
        )
        yield kinds.FEW_ROWS_DOMINATE.warning(
            None, "log_loss", hardly=binary_diagnostics.UNLIKELY, shares=shares_text
        )


def _certain_rows(study: BinaryStudy) -> Iterator[Finding]:
    """How many probabilities are 0 or 1, and how many of these are wrong."""
    clipped = binary_diagnostics.clipped(study)
    if not clipped:
        return
    wrong = nonzero({name: study.wrong[name] for name in clipped})
    severity, wrong_text = NOTE, ", none of them wrong"
    if wrong:
        severity = WARNING
        wrong_text = f". Of these, wrong ones cost 36 nats each: {counts(wrong)}"
    allowed = measured.CERTAIN_LEFT_OUT
    if study.plain and study.data:
        allowed = measured.CERTAIN_INCLUDED
    yield kinds.CERTAIN.rated(
        severity, max(clipped.values()), counts=counts(clipped), more=wrong_text, allowed=allowed
    )


def _change(label: str, bound: float) -> str:
    """By how much bins can change a metric. bound: NaN if it has none."""
    if math.isnan(bound):
        return f"{label} by an amount that nothing bounds"
    return f"{label} by less than {power(bound)}"


def _ties(study: BinaryStudy) -> Iterator[Finding]:
    """Distinct scores, by how much bins can move the areas, and rows whose label and scores another
    row has too.
    """
    amounts = listed(_distinct(study, name) for name in study.order)
    yield kinds.DISTINCT_SCORES.note(amounts=amounts, rows=counted(len(study.account), "row"))
    if systems := binary_diagnostics.binned(study):
        changed = []
        for name, bounds in systems.items():
            if bounds:
                changes = listed(_change(label, bound) for label, bound in bounds.items())
                changed.append(f" Binning changes {name}'s {changes}.")
        yield kinds.BINNED_SCORES.note(
            len(systems), "two", most=binary_diagnostics.MAX_DISTINCT, moved="".join(changed)
        )
    n, most_distinct, are_many = binary_diagnostics.repeated(study)
    if n:
        why = "they may be duplicates"
        if most_distinct:
            why = f"ties are likely, for no system has more than {most_distinct:,} distinct scores"
        yield kinds.REPEATED_ROWS.rated(WARNING if are_many else NOTE, n, n=n, why=why)


def _distinct(study: BinaryStudy, name: str) -> str:
    """A system with its number of distinct scores, which are counted up to a bound."""
    n = binary_diagnostics.distinct_scores(study, name)
    return f"{name} more than {binary_diagnostics.MAX_DISTINCT:,}" if n is None else f"{name} {n:,}"


def _own_decisions(study: BinaryStudy) -> Iterator[Finding]:
    """Whose decisions the metrics are, and how many rows the threshold decides otherwise."""
    if not study.decision_column:
        return
    differing = nonzero(study.differing)
    of_leader = study.both_decisions.query("system == @study.leader").itertuples()
    values = [f"{row.metric} {number(row.own)} ({number(row.at_threshold)})" for row in of_leader]
    yield kinds.OWN_DECISIONS.rated(
        WARNING if differing else NOTE,
        max(differing.values(), default=0),
        "used",
        column=study.decision_column,
        rule=study.rule.text,
        rows=counts(differing) or "none",
        of=f"{len(study.account):,}",
        leader=study.leader,
        values=listed(values),
    )


def _reversed_decisions(study: BinaryStudy) -> Iterator[Finding]:
    """The systems whose decisions contradict their scores."""
    if systems := study.reversed_decisions:
        yield kinds.REVERSED_DECISIONS.warning(
            len(systems), column=study.decision_column, systems=listed(systems)
        )


def _unused_decisions(study: BinaryStudy) -> Iterator[Finding]:
    """The columns that are named as decisions and were not used, and why."""
    if not study.unused_decisions:
        return
    n = len(study.unused_decisions)
    facts = {"columns": listed(study.unused_decisions), "rule": study.rule.text}
    if study.blocks is not None:
        yield kinds.OWN_DECISIONS.warning(n, "blocks", **facts)
    elif study.p.threshold is not None:
        yield kinds.OWN_DECISIONS.warning(n, "threshold", **facts)
    else:
        yield kinds.OWN_DECISIONS.warning(n, "unread", **facts)


def _threshold(study: BinaryStudy) -> Iterator[Finding]:
    yield from _own_decisions(study)
    yield from _reversed_decisions(study)
    yield from _unused_decisions(study)
    if study.decision_column:
        return
    if study.rule.fixed is None:
        values = listed(f"{name} {number(t)}" for name, t in study.thresholds.items())
        yield kinds.CHOSEN_THRESHOLD.note(
            len(study.account),
            rule=study.rule.text,
            values=values,
            allowed=measured.CHOICE_INCLUDED,
        )
    else:
        yield kinds.THRESHOLD.note(None, "two", rule=study.rule.text)
        yield from rounded(study.rule.fixed, study.precision)
        decided = [chosen.label for chosen in study.settings.metrics if chosen.uses_decisions]
        for finding in idle(study.thresholds, binary_diagnostics.score_ends(study)):
            yield finding.about(decided, study.primary.label)
    unreachable = [name for name, threshold in study.thresholds.items() if math.isnan(threshold)]
    if unreachable:
        yield kinds.UNREACHABLE_THRESHOLD.warning(
            len(unreachable), rule=study.rule.text, systems=listed(unreachable)
        )


def _one_class(study: BinaryStudy) -> Iterator[Finding]:
    """The slices in which all rows have one class."""
    slices = [
        f"{segment_slice.column} {segment_slice.label}"
        for segment_slice in study.slices
        if study.has_one_class(segment_slice)
    ]
    if slices:
        yield kinds.ONE_CLASS_SLICES.warning(len(slices), slices=listed(slices))


LINES = 6  # pairs of curves that have a line each
CROSSINGS = 3  # crossings of two curves that a reader may want one by one
ALL_BUT = 0.995  # share of an axis over which a curve lies above all but everywhere


@threshold_page.both_classes
def curve_plot(study: BinaryStudy) -> Figure | Html:
    """ROC and precision-recall curves with pointwise bands and the operating points."""
    c = study.table(study.order[0])
    positives = counted(c.positives, "positive")
    negatives = counted(c.negatives, "negative")
    lines = {kind: page.rows_of_figure(study, study.curve(kind)) for kind in ("roc", "pr")}
    points = {
        kind: page.rows_of_figure(study, binary_diagnostics.operating_points(study, kind).dropna())
        for kind in lines
    }
    bands = {kind: study.bands(kind, page.systems_of_figure(study)) for kind in lines}
    pointwise = ""
    if bands["roc"] is not None:
        pointwise = (
            f"Bands: pointwise {study.settings.level:.0%} limits, valid at each point but not for "
            f"the whole curve. "
        )
    rest = texts.sentence(
        "binary.curve_plot",
        study,
        n=f"{positives}, {negatives}",
        pointwise=pointwise,
        few=page.omission(study),
    )
    caption = f"{rest} {texts.sentence('binary.break_even')}"
    roc = Panel(
        lines["roc"],
        f"false positive rate ({negatives})",
        f"recall ({positives})",
        "ROC",
        bands=bands["roc"],
        points=points["roc"],
        reference=DIAGONAL,
        keys=_areas(study, ROC_AUC, "AUC"),
        caption=f"ROC curves, {rest}",
    )
    pr = Panel(
        lines["pr"],
        "recall",
        "precision",
        "Precision and recall",
        bands=bands["pr"],
        points=points["pr"],
        reference=((0, 1), (study.base_rate, study.base_rate)),
        steps=STEPS,
        circles=page.rows_of_figure(study, binary_diagnostics.break_even(study).dropna()),
        keys=_areas(study, AVERAGE_PRECISION, "AP"),
        caption=f"Precision-recall curves, {caption}",
    )
    values = listed(
        f"{name}: AUC {number(auc)}, average precision {number(average_precision)}"
        for name, (auc, average_precision) in binary_diagnostics.areas(study).items()
    )
    return figures.row(
        curve_plots.panels,
        [roc, pr],
        caption=f"ROC and precision-recall curves, {caption}",
        says=f"{values}.",
        height=3.6,
        panels=2,
    )


def _areas(study: BinaryStudy, metric: Metric, short: str) -> dict[str, str]:
    """The area under each system's curve with its interval, where it is among the metrics."""
    rows = study.estimates[study.estimates["metric"] == metric.name]
    words = plots.estimate_texts(rows)
    return {name: f": {short} {text}" for name, text in zip(rows["system"], words, strict=True)}


@threshold_page.both_classes
def base_rate_plot(study: BinaryStudy) -> Figure | Html:
    """The leader's curves in the data and at another base rate: ROC stays, precision moves."""
    leader = study.leader

    def at_both_rates(kind: str) -> pd.DataFrame:
        """The leader's curve, with the base rate as the name of its line."""
        in_data = study.curve(kind)
        in_data = in_data[in_data["system"] == leader]
        elsewhere = binary_diagnostics.at_other_rate(study, kind)
        elsewhere = elsewhere[elsewhere["system"] == leader]
        return pd.concat(
            [
                in_data.assign(system=f"base rate {study.base_rate:.3g} (the data)"),
                elsewhere.assign(system=f"base rate {study.other_rate:.3g}"),
            ]
        )

    roc = Panel(
        at_both_rates("roc"),
        "false positive rate",
        "recall",
        f"ROC of {leader}",
        reference=DIAGONAL,
    )
    pr = Panel(
        at_both_rates("pr"), "recall", "precision", f"Precision and recall of {leader}", steps=STEPS
    )
    # the first metric of the leader, in the data and then at the other base rate
    before, after = study.elsewhere.query("system == @leader")["value"].iloc[:2]
    caption = texts.sentence(
        "binary.base_rate_plot", study, before=number(before), after=number(after)
    )
    curves = figures.row(curve_plots.panels, [roc, pr], caption=caption, height=3.4, panels=2)
    return curves.folded("Curves at another base rate")


@threshold_page.both_classes
def top_plot(study: BinaryStudy) -> Figure | Html:
    """Share of the positives found against the share of rows looked at."""
    x = f"share of rows, highest scores first (n = {_weight(study.table(study.leader).total, 1)})"
    y = "share of positives found (recall)"
    panel = Panel(page.rows_of_figure(study, study.curve("gain")), x, y, reference=DIAGONAL)
    top = study.gains[study.gains["depth"] == 0.1]
    shares = listed((f"{row.system} {row.recall:.0%}" for row in top.itertuples()), page.CURVES)
    caption = texts.sentence("binary.top_plot", shares=shares, few=page.omission(study))
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1)


@pieces.where(lambda study: study.both_classes and len(study.order) >= 2)
def curves(study: BinaryStudy) -> Html:
    """Whether one curve contains the other, or where they cross."""
    lines = [
        *_crossings(study, "roc", "ROC", "false positive rate"),
        *_crossings(study, "pr", "precision-recall", "recall"),
    ]
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    listing = Html(f'<ul class="notes">{items}</ul>', "\n".join(lines))
    return tables.folded("Where the curves cross", listing)


def _crossings(study: BinaryStudy, kind: str, name: str, axis: str) -> list[str]:
    """A line for each of the first pairs of curves of a kind, and one for those that cross often.

    name, axis: of these curves and of what lies on their horizontal axis, in words.
    """
    cross_rarely: list[Record] = []
    cross_often: list[Record] = []
    for row in study.crossings[study.crossings["curve"] == kind].to_dict("records"):
        crosses_often = len(row["crossings"]) > CROSSINGS and row["above"] <= ALL_BUT
        (cross_often if crosses_often else cross_rarely).append(row)
    lines = [_crossing(name, axis, row) for row in cross_rarely[:LINES]]
    if further := cross_rarely[LINES:]:
        lines.append(f"{len(further):,} more pairs of {name} curves are in the JSON.")
    if cross_often:
        lines.append(_often(name, axis, cross_often))
    return lines


def _crossing(name: str, axis: str, row: Record) -> str:
    """Where two curves cross, in words. name, axis: as in `_crossings`."""
    crossings = row["crossings"]
    first = row["first"]
    second = row["second"]
    if not crossings:
        return f"{first}'s {name} curve contains {second}'s."
    if row["above"] > ALL_BUT:
        crossed = f"they cross {counted(len(crossings), 'time')} at the ends"
        return f"{first}'s {name} curve lies above {second}'s almost everywhere; {crossed}."
    where = f"at {axis} {', '.join(f'{x:.3f}' for x in crossings)}"
    share = f"{first}'s lies above over {row['above']:.0%} of the axis"
    return f"{first}'s and {second}'s {name} curves cross {where}; {share}."


def _often(name: str, axis: str, rows: Sequence[Record]) -> str:
    """Pairs of curves that cross again and again, in one line."""
    shares = listed(f"{row['first']} above {row['second']} {row['above']:.0%}" for row in rows)
    return (
        f"These {name} curves cross often; share of the {axis} axis over which the first lies "
        f"above: {shares}."
    )


@threshold_page.both_classes
def base_rate(study: BinaryStudy) -> Html:
    """Precision, F1 and average precision in the data and at another base rate."""
    rows = []
    for name in study.order:
        part = study.elsewhere[study.elsewhere["system"] == name].to_dict("records")
        cells = [
            tables.join(
                f"{number(here['value'])} → ",
                with_interval(there["value"], there["low"], there["high"]),
            )
            for here, there in zip(part[::2], part[1::2], strict=True)
        ]
        rows.append([Cell(name), *cells])
    rate = study.elsewhere["base_rate"]
    caption = f"From base rate {rate.iloc[0]:.3g} (the data) to {rate.iloc[1]:.3g}"
    note = texts.sentence("binary.base_rate_note")
    if study.elsewhere.query("metric == 'average_precision'")["low"].isna().any():
        note += (
            " No interval of average precision: at this rate it depends on the few highest-scoring "
            "negatives."
        )
    table = tables.table(caption, ["system", "average_precision", "precision", "f1"], rows, note)
    return tables.folded("Metrics at another base rate", table)


PARTS = {
    "brier": "Brier score",
    "ece_10": "ECE, 10 bins",
    "ece_10_debiased": "ECE, debiased",
}
DRAWN = 4  # systems with a square of their own
CORNER = {"miscalibration": "MCB", "discrimination": "DSC", "uncertainty": "UNC", "slope": "slope"}


@probabilities
def calibration_plot(study: BinaryStudy) -> Figure | Html:
    """The reliability diagram of each system, with what the calibration table says of it."""
    words: dict[str, list[str]] = {name: [] for name in study.order[:DRAWN]}
    for part, rows in study.calibration.groupby("part", sort=False):
        if part not in CORNER:
            continue
        # with as many decimals as in the calibration table, which has all systems
        places = decimals(rows["value"], rows["low"], rows["high"])
        for row in rows[rows["system"].isin(list(words))].itertuples():
            words[row.system].append(f"{CORNER[part]} {number(row.value, places)}")
    how = texts.sentence("binary.calibration_plot_how")
    return reliability(study, "share of positives", how, words)


def reliability(
    study: BinaryStudy | ClassesStudy, what: str, how: str, words: Mapping[str, list[str]]
) -> Figure:
    """The isotonic curves of systems, one square each. what: the share; words: of each system, in
    its corner.
    """
    level = study.settings.level
    drawn = study.isotonic.only(list(words))
    band = "No bands, as rows are clustered or weighted."
    if drawn.bands is not None:
        band = (
            f"Grey: at each probability, {level:.0%} of such curves if the probabilities are right."
        )
    caption = texts.sentence("binary.reliability", rows=len(study.account), how=how, band=band)
    return page.diagrams(
        curve_plots.reliability, drawn, words, caption, ylabel=what, height=3.4, panels=len(words)
    )


@probabilities
def calibration(study: BinaryStudy) -> Html:
    """The Brier score taken apart, ECE, and the mean error; then slope and intercept."""
    note = texts.sentence("binary.calibration_note") + NO_LIMITS
    if len(study.order) > DRAWN:
        note += f" The figure shows the first {DRAWN}."
    fitted = study.calibration["part"].isin(FITTED)
    parts = by_system("Calibration", study.calibration[~fitted], "part", _part, note, _part_head)
    return tables.stack(
        [*_miscalibrated(study), parts, _logistic(study, study.calibration[fitted])]
    )


MISCALIBRATED = {
    Miscalibration.OVERCONFIDENT: (
        "Over-confident, with probabilities too close to 0 and 1 (slope below 1)"
    ),
    Miscalibration.UNDERCONFIDENT: (
        "Under-confident, with probabilities too far from 0 and 1 (slope above 1)"
    ),
    Miscalibration.TOO_LOW: "Too low on the whole (intercept above 0)",
    Miscalibration.TOO_HIGH: "Too high on the whole (intercept below 0)",
}


def _miscalibrated(study: BinaryStudy) -> list[Html]:
    """A sentence for each way in which probabilities are wrong, and one for the systems of which
    none is shown; empty where slope and intercept have no intervals.
    """
    wrong, right = binary_diagnostics.calibration_verdicts(study)
    sentences = [
        f"{text}: {listed(wrong[way])}." for way, text in MISCALIBRATED.items() if way in wrong
    ]
    if right:
        sentences.append(f"Neither slope nor intercept shows miscalibration: {listed(right)}.")
    if not sentences:
        return []
    return [tables.paragraph(" ".join(sentences))]


def _logistic(study: BinaryStudy, rows: pd.DataFrame) -> Html:
    """Slope and intercept of each system's logistic recalibration, folded."""
    caption = f"Logistic recalibration, with {study.settings.level:.0%} intervals"
    note = texts.sentence("binary._logistic_note")
    if certain := [name for name in study.order if study.wrong.get(name)]:
        note += (
            f" Of {listed(certain)} some rows are certain and wrong: the slope depends on how such "
            f"are clipped."
        )
    table = by_system(caption, rows, "part", limits("value"), note)
    return tables.folded("Logistic recalibration: slope and intercept", table)


def _part_head(part: str) -> Cell:
    """The head of a part of the calibration, by the name that people say."""
    return tables.metric_head(PARTS.get(part, part), part)


def _part(rows: tables.Rows) -> list[Cell]:
    """The values with their limits, or beside what perfect calibration would show."""
    places = decimals(*([row[end] for row in rows] for end in ("value", "low", "high")))
    cells = zip(limits("value")(rows), rows, strict=True)
    return [
        replace(cell, below=if_perfect(row["expected"], row["p"], places)) for cell, row in cells
    ]


@threshold_page.both_classes
def score_plot(study: BinaryStudy) -> Figure | Html:
    """The histogram of the scores of each class, one square a system."""
    names = study.order[:DRAWN]
    c = study.table(study.order[0])
    tables = study.counts_by_system
    frame = score_curves.histogram(
        {name: tables[name] for name in names},
        score_curves.edges(tables, probabilities=study.probabilities),
    )
    caption = texts.sentence(
        "binary.score_plot",
        bins=score_curves.BINS,
        positives=counted(c.positives, "positive"),
        negatives=counted(c.negatives, "negative"),
    )
    return figures.row(
        curve_plots.histograms,
        frame,
        caption=caption,
        says=_distances(study),
        xlabel="score",
        ylabel="share of the class",
        panels=len(names),
        height=2.6,
    )


@threshold_page.both_classes
def ks_plot(study: BinaryStudy) -> Figure | Html:
    """The distribution function of the leader's scores of each class, with the largest distance
    marked.
    """
    name = study.leader
    frame = score_curves.distribution(name, study.table(name))
    widest = score_curves.distances(study.counts_by_system)
    caption = texts.sentence("binary.ks_plot", study, distances=_distances(study))
    figure = figures.row(
        curve_plots.distributions,
        frame,
        widest,
        caption=caption,
        xlabel="score",
        ylabel="share at or below",
        panels=1,
    )
    return figure.folded("Distribution functions of the scores (KS)")


def confusion_plot(study: BinaryStudy) -> Figure | Html:
    """The confusion table of each system at its threshold, with shares of the actual class."""
    decided = study.decisions.dropna(subset=["tp"])
    matrices = {
        row.system: [[row.tp, row.fn], [row.fp, row.tn]] for row in decided.head(DRAWN).itertuples()
    }
    if not matrices:
        return Html("")
    what = "weight of the rows" if study.weighted else "rows"
    of = "of" if study.decision_column else "at"
    caption = texts.sentence("binary.confusion_plot", study, what=what, of=of)
    words = [_counts_in_words(name, matrix) for name, matrix in matrices.items()]
    return figures.row(
        curve_plots.matrices,
        matrices,
        caption=caption,
        says=f"{'; '.join(words)}.",
        panels=len(matrices),
        classes=[study.positive, study.negative or "the rest"],
        xlabel="predicted",
        ylabel="actual",
        height=2.5,
    )


def _counts_in_words(name: str, matrix: list[list[float]]) -> str:
    (tp, fn), (fp, tn) = matrix
    return (
        f"{name}: {tp:,g} true positives, {fn:,g} false negatives, {fp:,g} false positives, "
        f"{tn:,g} true negatives"
    )


def _distances(study: BinaryStudy) -> str:
    """The largest distance between the score distributions of the classes, of each system drawn."""
    rows = score_curves.distances(study.counts_by_system).head(DRAWN)
    places = decimals(rows["value"])
    words = (
        f"{row.system} {number(row.value, places)} just below {number(row.x)}"
        for row in rows.itertuples()
    )
    return f"KS: {listed(words)}."

"""The words, tables and figures of the classification page on two classes, each from the study's
frames.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from evalkit.arrays import Record
from evalkit.catalogue.metric import Metric
from evalkit.catalogue.tables import AVERAGE_PRECISION, ROC_AUC
from evalkit.drawing import curve_plots, figures, paragraphs, plots, tables
from evalkit.drawing.cells import Cell, escape, join, metric_head, with_interval
from evalkit.drawing.columns import Rows, count, limits, text, value
from evalkit.drawing.curve_plots import DIAGONAL, STEPS, Panel
from evalkit.drawing.figures import Figure
from evalkit.drawing.paragraphs import paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import by_system, of_rows
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
    idle_thresholds,
    nonzero,
    of_sample,
    power,
    rounded_thresholds,
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
    """The line below a measure of calibration in a table; none where `expected` is NaN, as unknown.

    expected: the mean of the measure if labels were drawn from the scores. p: how often it would
    then be at least as large as it is. places: the decimals of the table.
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
    """Lift, and below it recall, among the highest scores, folded."""

    def lift(rows: Rows) -> list[Cell]:
        """The lift with its limits, and which share of the positives so many rows find."""
        cells = []
        for cell, row in zip(limits("value")(rows), rows, strict=True):
            cells.append(replace(cell, below=(f"finds {row['recall']:.0%}",)))
        return cells

    note = texts.sentence("binary.top_note")
    caption = "Lift among the highest scores"
    table = by_system(caption, study.gains, "depth", lift, note, "top {:.0%}".format)
    return folded("Lift and recall of the highest 1% to 50%", table)


def confusion(study: BinaryStudy) -> Html:
    """The four counts of every system, folded; below them, where the model's own decisions are
    read, the metrics of these beside those of the threshold.
    """
    counts = {name.upper(): count(name, _weight) for name in ("tp", "fp", "fn", "tn")}
    negative = study.negative or "the rest"
    note = (
        f"Positive: {study.positive}; negative: {negative}. FP: negative, but predicted positive."
    )
    if not study.decision_column:
        caption = f"Decisions at the threshold ({study.rule.text})"
        columns = {"system": text("system"), "threshold": value("threshold")}
        by_threshold = of_rows(caption, study.decisions, columns | counts, note)
        return folded(COUNTS_OF_MATRIX, by_threshold)
    caption = f"Decisions of the model ({study.decision_column})"
    by_model = of_rows(caption, study.decisions, {"system": text("system")} | counts, note)
    counts_of_model = folded(COUNTS_OF_MATRIX, by_model)
    both_columns = {
        "system": text("system"),
        "metric": text("metric"),
        f"decisions in {study.decision_column}": value("own"),
        f"score ≥ {study.rule.text}": value("at_threshold"),
    }
    comparison_caption = "The model's own decisions beside those of the threshold"
    return stack([counts_of_model, of_rows(comparison_caption, study.both_decisions, both_columns)])


def _weight(weight: float, places: int = 2) -> str:
    """A number of rows, or their weight, which may have decimals."""
    if float(weight).is_integer():
        places = 0
    return number(weight, places)


def definitions(study: BinaryStudy) -> Html:
    """Exactly the metrics shown, then the threshold, the intervals and the tests."""
    items = page.metric_definitions(study)
    compared = shared_findings.precision_of_comparison(study.precision)
    predicted = f"predicted if score ≥ threshold, {compared}"
    if study.decision_column:
        predicted = f"predicted where the column {study.decision_column} says so"
    items.append(("positive", f"the label {study.positive}; {predicted}"))
    items.append(("intervals", study.intervals_are))
    items += page.test_definitions(study)
    items.append(("bands", study.bands_are))
    return paragraphs.definitions(items)


def results(study: BinaryStudy) -> Results:
    """Every number of the page, unrounded."""
    rows = as_json.population(study.account)
    rows["population"]["positives"] = study.positives
    fields: dict[str, object] = {
        "kind": "binary",
        **rows,
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
        fields |= _curves_as_json(study)
    if study.probabilities:
        fields |= as_json.records(calibration=study.calibration, reliability=study.reliability)
        fields["isotonic"] = study.isotonic.recorded()
    if study.probabilities and study.both_classes:
        fields["net_benefit"] = _net_benefit(study)
    return as_json.results(study, every_finding(study), fields)


def _curves_as_json(study: BinaryStudy) -> dict[str, object]:
    """The fields of a table with both classes: the curves, where they cross, the metrics at another
    base rate and among the highest scores, the thresholds of each rule, the scores by class.
    """
    counts = study.counts_by_system
    edges = score_curves.edges(counts, probabilities=study.probabilities)
    return {
        "curves": {kind: study.recorded(kind).to_dict("list") for kind in ("roc", "pr")},
        **as_json.records(
            crossings=study.crossings,
            base_rates=study.elsewhere,
            gains=study.gains,
            thresholds=study.choices,
        ),
        "scores_by_class": {
            "histogram": score_curves.histogram(counts, edges).to_dict("list"),
            "distances": score_curves.distances(counts).to_dict("records"),
        },
    }


def _binning(system: str, table: Binned) -> dict[str, object]:
    """By how much counting in bins can move the areas of a system."""
    lowest, highest = table.average_precision_range
    return {
        "system": system,
        "roc_auc_change": table.auc_error,
        "average_precision_low": lowest,
        "average_precision_high": highest,
    }


def _net_benefit(study: BinaryStudy) -> dict[str, object]:
    """The net benefit along the threshold probability, at the one that the costs imply, and the
    differences of the pairs of the first screen.
    """
    curve = decision_curves.benefits(study.counts_by_system, decision_curves.PROBABILITIES)
    return {
        "curve": curve.to_dict("list"),
        "at_costs": decision_curves.at_costs(study).to_dict("records"),
        "differences": decision_curves.first_differences(study).to_dict("list"),
    }


def every_finding(study: BinaryStudy) -> Iterator[Finding]:
    """Every finding of a binary report, those on the input first, those on the sample last."""
    yield from rows_read(study.account)
    yield from _classes(study)
    yield from weights(study)
    yield from _scores(study)
    yield from constant_better(study, reported=(ROC_AUC.name,))
    yield from _probabilities(study)
    yield from _ties(study)
    yield from _threshold(study)
    yield from _one_class(study)
    yield from shared_findings.few_clusters(study)
    yield from of_sample(study)


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
    yield from _auc_within_units(study)


def _auc_within_units(study: BinaryStudy) -> Iterator[Finding]:
    """That the leader's AUC over all rows is another than the one within units, if so."""
    comparison = binary_diagnostics.within_units(study)
    if comparison is not None and comparison.p_value < alpha(study):
        difference = comparison.difference
        yield kinds.WITHIN_UNITS.note(
            difference.n,
            leader=study.leader,
            unit=study.unit_name,
            pooled=number(binary_diagnostics.areas(study)[study.leader].auc),
            inside=number(binary_diagnostics.area_within_units(study)),
            difference=estimate(difference.value, difference.low, difference.high),
        )


def _scores(study: BinaryStudy) -> Iterator[Finding]:
    """Curves without bands, decisions given as scores, and scores that rank the classes in
    reverse.
    """
    if not study.banded:
        yield kinds.BANDS.note(None, "curves", bands=study.bands_are)
    tables_by_system = {name: [table] for name, table in study.counts_by_system.items()}
    yield from shared_findings.decisions_as_scores(tables_by_system)
    reversed_scores = []
    for name, areas in binary_diagnostics.areas(study).items():
        if areas.auc < 0.5:
            reversed_scores.append(f"{name} {number(areas.auc)}")
    if reversed_scores:
        yield kinds.REVERSED_SCORE.warning(len(reversed_scores), values=listed(reversed_scores))


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
    shares_of_loss = binary_diagnostics.unforeseen(study)
    if shares_of_loss:
        shares = listed(f"{name} {share:.0%}" for name, share in shares_of_loss.items())
        yield kinds.FEW_ROWS_DOMINATE.warning(
            None, "log_loss", hardly=binary_diagnostics.UNLIKELY, shares=shares
        )


def _certain_rows(study: BinaryStudy) -> Iterator[Finding]:
    """How many probabilities are 0 or 1, and how many of these are wrong."""
    clipped = binary_diagnostics.clipped(study)
    if not clipped:
        return
    wrong = nonzero({name: study.wrong[name] for name in clipped})
    severity = NOTE
    wrong_text = ", none of them wrong"
    if wrong:
        severity = WARNING
        wrong_text = f". Of these, wrong ones cost 36 nats each: {counts(wrong)}"
    allowed = measured.CERTAIN_LEFT_OUT
    if study.plain and study.data:
        allowed = measured.CERTAIN_INCLUDED
    yield kinds.CERTAIN.rated(
        severity, max(clipped.values()), counts=counts(clipped), more=wrong_text, allowed=allowed
    )


def _ties(study: BinaryStudy) -> Iterator[Finding]:
    """How many distinct scores each system has, by how much bins can move the metrics, and how many
    rows have the label and the scores of another row.
    """
    amounts = listed(_distinct_scores(study, name) for name in study.order)
    yield kinds.DISTINCT_SCORES.note(amounts=amounts, rows=counted(len(study.account), "row"))
    bounds_by_system = binary_diagnostics.binned(study)
    if bounds_by_system:
        changes = [_changes(name, bounds) for name, bounds in bounds_by_system.items()]
        yield kinds.BINNED_SCORES.note(
            len(bounds_by_system),
            "two",
            most=binary_diagnostics.MAX_DISTINCT,
            moved="".join(changes),
        )
    repeated = binary_diagnostics.repeated(study)
    if repeated.rows:
        why = "they may be duplicates"
        if repeated.distinct:
            most_scores = f"more than {repeated.distinct:,} distinct scores"
            why = f"ties are likely, for no system has {most_scores}"
        severity = WARNING if repeated.may_be_duplicates else NOTE
        yield kinds.REPEATED_ROWS.rated(severity, repeated.rows, n=repeated.rows, why=why)


def _distinct_scores(study: BinaryStudy, name: str) -> str:
    """A system with its number of distinct scores, which are counted up to a bound."""
    n = binary_diagnostics.distinct_scores(study, name)
    if n is None:
        return f"{name} more than {binary_diagnostics.MAX_DISTINCT:,}"
    return f"{name} {n:,}"


def _changes(name: str, bounds: Mapping[str, float]) -> str:
    """By how much bins can change the metrics of a system, in a sentence with a space before it; ""
    without bounds.

    bounds: by metric, NaN for one that nothing bounds.
    """
    if not bounds:
        return ""
    changes = []
    for label, bound in bounds.items():
        size = "an amount that nothing bounds" if math.isnan(bound) else f"less than {power(bound)}"
        changes.append(f"{label} by {size}")
    return f" Binning changes {name}'s {listed(changes)}."


def _own_decisions(study: BinaryStudy) -> Iterator[Finding]:
    """That the metrics are of the model's own decisions, if so, and how many rows the threshold
    decides otherwise.
    """
    if not study.decision_column:
        return
    differing = nonzero(study.differing)
    severity = WARNING if differing else NOTE
    of_leader = study.both_decisions.query("system == @study.leader").itertuples()
    values = [f"{row.metric} {number(row.own)} ({number(row.at_threshold)})" for row in of_leader]
    yield kinds.OWN_DECISIONS.rated(
        severity,
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
    """The systems whose decisions contradict their scores, if there are any."""
    systems = study.reversed_decisions
    if systems:
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
    """What decides: a column of decisions, or a threshold, fixed or chosen on these rows, and where
    it cannot decide.
    """
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
        yield from rounded_thresholds(study.rule.fixed, study.precision)
        decided = [chosen.label for chosen in study.settings.metrics if chosen.uses_decisions]
        for finding in idle_thresholds(study.thresholds, binary_diagnostics.score_ends(study)):
            yield finding.for_metrics(decided, study.primary.label)
    unreachable = [name for name, threshold in study.thresholds.items() if math.isnan(threshold)]
    if unreachable:
        yield kinds.UNREACHABLE_THRESHOLD.warning(
            len(unreachable), rule=study.rule.text, systems=listed(unreachable)
        )


def _one_class(study: BinaryStudy) -> Iterator[Finding]:
    """The slices in which all rows have one class."""
    slices = []
    for segment_slice in study.slices:
        if study.has_one_class(segment_slice):
            slices.append(f"{segment_slice.column} {segment_slice.label}")
    if slices:
        yield kinds.ONE_CLASS_SLICES.warning(len(slices), slices=listed(slices))


LINES = 6  # pairs of curves that have a line each
CROSSINGS = 3  # crossings of two curves that a reader may want one by one
ALL_BUT = 0.995  # share of an axis over which a curve lies above all but everywhere


@threshold_page.both_classes
def curve_plot(study: BinaryStudy) -> Figure | Html:
    """ROC and precision-recall curves with pointwise bands and the operating points."""
    table = study.table(study.leader)  # all systems are of the same rows
    positives = counted(table.positives, "positive")
    negatives = counted(table.negatives, "negative")
    lines = {}
    points = {}
    bands = {}
    for kind in ("roc", "pr"):
        operating_points = binary_diagnostics.operating_points(study, kind).dropna()
        lines[kind] = page.rows_of_figure(study, study.curve(kind))
        points[kind] = page.rows_of_figure(study, operating_points)
        bands[kind] = study.bands(kind, page.systems_of_figure(study))
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
    values = []
    for name, areas in binary_diagnostics.areas(study).items():
        average_precision = number(areas.average_precision)
        values.append(f"{name}: AUC {number(areas.auc)}, average precision {average_precision}")
    return figures.row(
        curve_plots.panels,
        [roc, pr],
        caption=f"ROC and precision-recall curves, {caption}",
        says=f"{listed(values)}.",
        height=3.6,
        panels=2,
    )


def _areas(study: BinaryStudy, metric: Metric, short: str) -> dict[str, str]:
    """What the legend says behind each system, ": AUC 0.79 [0.75, 0.82]"; empty if the area is not
    among the metrics. short: the name of the area.
    """
    rows = study.estimates[study.estimates["metric"] == metric.name]
    areas = plots.estimate_texts(rows)
    return {name: f": {short} {area}" for name, area in zip(rows["system"], areas, strict=True)}


@threshold_page.both_classes
def base_rate_plot(study: BinaryStudy) -> Figure | Html:
    """The leader's curves in the data and at another base rate: ROC stays, precision moves."""
    roc = Panel(
        _at_both_rates(study, "roc"),
        "false positive rate",
        "recall",
        f"ROC of {study.leader}",
        reference=DIAGONAL,
    )
    pr = Panel(
        _at_both_rates(study, "pr"),
        "recall",
        "precision",
        f"Precision and recall of {study.leader}",
        steps=STEPS,
    )
    # the first metric of the leader, in the data and then at the other base rate
    before, after = study.elsewhere.query("system == @study.leader")["value"].iloc[:2]
    caption = texts.sentence(
        "binary.base_rate_plot", study, before=number(before), after=number(after)
    )
    curves = figures.row(curve_plots.panels, [roc, pr], caption=caption, height=3.4, panels=2)
    return curves.folded("Curves at another base rate")


def _at_both_rates(study: BinaryStudy, kind: str) -> pd.DataFrame:
    """The leader's curve in the data and at the other base rate, which are the names of its lines.

    kind: roc or pr.
    """
    in_data = study.curve(kind)
    in_data = in_data[in_data["system"] == study.leader]
    at_other_rate = binary_diagnostics.at_other_rate(study, kind)
    at_other_rate = at_other_rate[at_other_rate["system"] == study.leader]
    lines = [
        in_data.assign(system=f"base rate {study.base_rate:.3g} (the data)"),
        at_other_rate.assign(system=f"base rate {study.other_rate:.3g}"),
    ]
    return pd.concat(lines)


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
    lines = _crossings(study, "roc", "ROC", "false positive rate")
    lines += _crossings(study, "pr", "precision-recall", "recall")
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    listing = Html(f'<ul class="notes">{items}</ul>', "\n".join(lines))
    return folded("Where the curves cross", listing)


def _crossings(study: BinaryStudy, kind: str, name: str, axis: str) -> list[str]:
    """A line for each of the first pairs of curves of a kind, and one for those that cross often.

    name, axis: of these curves and of what lies on their horizontal axis, in words.
    """
    cross_rarely: list[Record] = []
    cross_often: list[Record] = []
    for row in study.crossings[study.crossings["curve"] == kind].to_dict("records"):
        if len(row["crossings"]) > CROSSINGS and row["above"] <= ALL_BUT:
            cross_often.append(row)
        else:
            cross_rarely.append(row)
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
    """Average precision, precision and F1 of each system in the data and at another base rate."""
    rows = []
    for name in study.order:
        values = study.elsewhere[study.elsewhere["system"] == name]
        cells = [Cell(name)]
        for _, values_of_metric in values.groupby("metric", sort=False):
            in_data, at_other_rate = values_of_metric.to_dict("records")
            estimate_there = with_interval(
                at_other_rate["value"], at_other_rate["low"], at_other_rate["high"]
            )
            cells.append(join(f"{number(in_data['value'])} → ", estimate_there))
        rows.append(cells)
    rate = study.elsewhere["base_rate"]
    caption = f"From base rate {rate.iloc[0]:.3g} (the data) to {rate.iloc[1]:.3g}"
    note = texts.sentence("binary.base_rate_note")
    if study.elsewhere.query("metric == 'average_precision'")["low"].isna().any():
        note += (
            " No interval of average precision: at this rate it depends on the few highest-scoring "
            "negatives."
        )
    table = tables.table(caption, ["system", "average_precision", "precision", "f1"], rows, note)
    return folded("Metrics at another base rate", table)


MEASURES = {  # of calibration: the names that people say, by those in the frame
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
    for measure, rows in study.calibration.groupby("part", sort=False):
        if measure not in CORNER:
            continue
        # with as many decimals as in the calibration table, which has all systems
        places = decimals(rows["value"], rows["low"], rows["high"])
        for row in rows[rows["system"].isin(list(words))].itertuples():
            words[row.system].append(f"{CORNER[measure]} {number(row.value, places)}")
    how = texts.sentence("binary.calibration_plot_how")
    return reliability(study, "share of positives", how, words)


def reliability(
    study: BinaryStudy | ClassesStudy, what: str, how: str, words: Mapping[str, list[str]]
) -> Figure:
    """The isotonic curves of systems, one square each.

    what: the share on the vertical axis. how: sentences of the caption on how to read it. words: of
    each system that is drawn, the lines in its corner.
    """
    curves = study.isotonic.only(list(words))
    band = "No bands, as rows are clustered or weighted."
    if curves.bands is not None:
        share_in_band = f"{study.settings.level:.0%} of such curves"
        band = f"Grey: at each probability, {share_in_band} if the probabilities are right."
    caption = texts.sentence("binary.reliability", rows=len(study.account), how=how, band=band)
    return page.diagrams(
        curve_plots.reliability, curves, words, caption, ylabel=what, height=3.4, panels=len(words)
    )


@probabilities
def calibration(study: BinaryStudy) -> Html:
    """Which probabilities are wrong in which way; the Brier score taken apart, ECE, and the mean
    error of each system; folded the slope and the intercept.
    """
    note = texts.sentence("binary.calibration_note") + NO_LIMITS
    if len(study.order) > DRAWN:
        note += f" The figure shows the first {DRAWN}."
    is_fitted = study.calibration["part"].isin(FITTED)
    measures = study.calibration[~is_fitted]
    table = by_system("Calibration", measures, "part", _measure_cells, note, _measure_head)
    recalibration = _logistic(study, study.calibration[is_fitted])
    return stack([_miscalibrated(study), table, recalibration])


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


def _miscalibrated(study: BinaryStudy) -> Html:
    """A sentence for each way in which probabilities are wrong, and one for the systems of which
    none is shown; empty where slope and intercept have no intervals.
    """
    verdicts = binary_diagnostics.calibration_verdicts(study)
    sentences = []
    for form, meaning in MISCALIBRATED.items():
        if form in verdicts.miscalibrated:
            sentences.append(f"{meaning}: {listed(verdicts.miscalibrated[form])}.")
    if verdicts.calibrated:
        systems = listed(verdicts.calibrated)
        sentences.append(f"Neither slope nor intercept shows miscalibration: {systems}.")
    if not sentences:
        return Html("")
    return paragraph(" ".join(sentences))


def _logistic(study: BinaryStudy, rows: pd.DataFrame) -> Html:
    """Slope and intercept of each system's logistic recalibration, folded."""
    caption = f"Logistic recalibration, with {study.settings.level:.0%} intervals"
    note = texts.sentence("binary._logistic_note")
    certain = [name for name in study.order if study.wrong.get(name)]
    if certain:
        note += (
            f" Of {listed(certain)} some rows are certain and wrong: the slope depends on how such "
            f"are clipped."
        )
    table = by_system(caption, rows, "part", limits("value"), note)
    return folded("Logistic recalibration: slope and intercept", table)


def _measure_head(measure: str) -> Cell:
    """The head of a measure of calibration, by the name that people say."""
    return metric_head(MEASURES.get(measure, measure), measure)


def _measure_cells(rows: Rows) -> list[Cell]:
    """The values of a measure with their limits, and below those without a valid interval what
    perfect calibration would show. rows: of `study.calibration`, one per system.
    """
    values = [row["value"] for row in rows]
    lows = [row["low"] for row in rows]
    highs = [row["high"] for row in rows]
    places = decimals(values, lows, highs)
    cells = []
    for cell, row in zip(limits("value")(rows), rows, strict=True):
        cells.append(replace(cell, below=if_perfect(row["expected"], row["p"], places)))
    return cells


@threshold_page.both_classes
def score_plot(study: BinaryStudy) -> Figure | Html:
    """The histogram of the scores of each class, one square a system."""
    names = study.order[:DRAWN]
    table = study.table(study.leader)  # all systems are of the same rows
    edges = score_curves.edges(study.counts_by_system, probabilities=study.probabilities)
    frame = score_curves.histogram({name: study.table(name) for name in names}, edges)
    caption = texts.sentence(
        "binary.score_plot",
        bins=score_curves.BINS,
        positives=counted(table.positives, "positive"),
        negatives=counted(table.negatives, "negative"),
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
    """The confusion table of each system at its threshold, with shares of the actual class; empty
    where no system has a threshold.
    """
    decisions = study.decisions.dropna(subset=["tp"])
    matrices = {}  # rows: actual, columns: predicted, the positive class first
    for row in decisions.head(DRAWN).itertuples():
        matrices[row.system] = [[row.tp, row.fn], [row.fp, row.tn]]
    if not matrices:
        return Html("")
    what = "weight of the rows" if study.weighted else "rows"
    preposition = "of" if study.decision_column else "at"
    caption = texts.sentence("binary.confusion_plot", study, what=what, of=preposition)
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
    """The four counts of a system in words. matrix: as `confusion_plot` has it."""
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

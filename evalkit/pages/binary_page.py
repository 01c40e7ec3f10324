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
from evalkit.drawing.cells import Cell, escape, interval_cell, join, metric_head
from evalkit.drawing.columns import Rows, count, limits, text, value
from evalkit.drawing.curve_plots import DIAGONAL, STEPS, Panel
from evalkit.drawing.figures import Figure
from evalkit.drawing.paragraphs import muted_paragraph
from evalkit.drawing.pieces import Html, folded, stack
from evalkit.drawing.tables import by_system, of_rows
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding, measured
from evalkit.measured.readings import Binned
from evalkit.numbers import count_with_noun, decimals, estimate, listed, number, p_value
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
    better_constant_prediction,
    counts,
    counts_above_zero,
    idle_thresholds,
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

WITHOUT_INTERVAL = (
    "Estimates of miscalibration, discrimination and ECE are biased upwards, so they have no valid "
    "interval. "
    "If perfect: the mean of the metric if labels are drawn from the scores; p: how often it is "
    "then at least as large."
)


def perfect_calibration_line(expected: float, p: float, places: int) -> tuple[str, ...]:
    """The line below a measure of calibration in a table; none where `expected` is NaN, as unknown.

    expected: the mean of the measure if labels were drawn from the scores. p: how often it would
    then be at least as large as it is. places: the decimals of the table.
    """
    if math.isnan(expected):
        return ()
    return (f"if perfect {number(expected, places)},\np {p_value(p)}",)


FOLDED_COUNTS = "The counts of the matrix in a table"  # the heading of a fold


probabilities = pieces.where(lambda study: study.probabilities)


def title(study: BinaryStudy) -> Html:
    """The title and what was asked."""
    rows = f"{count_with_noun(len(study.account), 'row')}, {share(study.base_rate)} positive"
    return first_screen.title(
        "two", study, rows, f"{study.account.columns['label']} = {study.positive}"
    )


@threshold_page.both_classes
def top(study: BinaryStudy) -> Html:
    """A fold with a table of the lift of each system among its highest scores, and below each lift
    the recall: a row for each system, a column for each share of the rows.
    """
    table = by_system(
        "Lift among the highest scores",
        study.gains,
        along="depth",  # the share of the rows
        column=_lift_cells,
        note=texts.sentence("binary.top_note"),
        head="top {:.0%}".format,
    )
    return folded("Lift and recall of the highest 1% to 50%", table)


def _lift_cells(rows: Rows) -> list[Cell]:
    """For each system the lift with its interval, and below it the recall: the share of the
    positives that the rows with the highest scores find. rows: of `study.gains`, one per system.
    """
    lift_cells = limits("value")(rows)
    cells = []
    for lift_cell, row in zip(lift_cells, rows, strict=True):
        cells.append(replace(lift_cell, below=(f"finds {row['recall']:.0%}",)))
    return cells


def confusion(study: BinaryStudy) -> Html:
    """A fold with the four counts of the confusion matrix of every system. If the input has a
    column of the models' own decisions, the counts are of these, and a second table compares the
    metrics of these decisions with those at the threshold.
    """
    counts = {name.upper(): count(name, _row_count) for name in ("tp", "fp", "fn", "tn")}
    negative = study.negative or "the rest"
    note = (
        f"Positive: {study.positive}; negative: {negative}. FP: negative, but predicted positive."
    )
    if not study.decision_column:
        caption = f"Decisions at the threshold ({study.rule.text})"
        columns = {"system": text("system"), "threshold": value("threshold")}
        by_threshold = of_rows(caption, study.decisions, columns | counts, note)
        return folded(FOLDED_COUNTS, by_threshold)
    caption = f"Decisions of the model ({study.decision_column})"
    by_model = of_rows(caption, study.decisions, {"system": text("system")} | counts, note)
    counts_of_model = folded(FOLDED_COUNTS, by_model)
    compared_columns = {  # by the head of each; `both_decisions` has a row per system and metric
        "system": text("system"),
        "metric": text("metric"),
        f"decisions in {study.decision_column}": value("own"),
        f"score ≥ {study.rule.text}": value("at_threshold"),
    }
    comparison = of_rows(
        "The model's own decisions beside those of the threshold",
        study.both_decisions,
        compared_columns,
    )
    return stack([counts_of_model, comparison])


def _row_count(weight: float, places: int = 2) -> str:
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
    items.append(("intervals", study.interval_methods_text))
    items += page.test_definitions(study)
    items.append(("bands", study.band_methods_text))
    return paragraphs.definitions(items)


def results(study: BinaryStudy) -> Results:
    """Every number of the page, unrounded, for the JSON. Curves need both classes, and calibration
    needs scores that are probabilities; otherwise their fields are missing.
    """
    rows = as_json.population_fields(study.account)
    rows["population"]["positives"] = study.positives
    fields: dict[str, object] = {
        "kind": "binary",
        **rows,  # the columns of the table and the number of its rows
        "positive": study.positive,
        "threshold_rule": study.rule.text,
        # of the floats that the scores of each system are stored in, such as SINGLE
        "precision": {name: precision.name for name, precision in study.precision.items()},
        **as_json.frames_as_records(decisions=study.decisions),
        "thresholds": [],  # with both classes `_curves_as_json` has them
        **explorer.listed_rows(study),
    }
    if study.binned:
        fields["binning"] = [_area_bounds(name, table) for name, table in study.binned.items()]
    if study.both_classes:
        fields |= _curves_as_json(study)
    if study.probabilities:
        fields |= as_json.frames_as_records(
            calibration=study.calibration, reliability=study.reliability
        )
        fields["isotonic"] = study.isotonic.points_for_json()
    if study.probabilities and study.both_classes:
        fields["net_benefit"] = _net_benefit(study)
    return as_json.results(study, every_finding(study), fields)


def _curves_as_json(study: BinaryStudy) -> dict[str, object]:
    """The fields of the JSON that need both classes: the curves, where they cross, the metrics at
    another base rate and among the highest scores, the threshold that each rule would choose, and
    the scores of each class. Frames become lists of rows, or lists by column if they are long.
    """
    counts = study.counts_by_system
    edges = score_curves.edges(counts, probabilities=study.probabilities)  # of the bins of scores
    curves = {kind: study.curve_points(kind).to_dict("list") for kind in ("roc", "pr")}
    return {
        "curves": curves,
        **as_json.frames_as_records(
            crossings=study.crossings,
            base_rates=study.metrics_by_base_rate,
            gains=study.gains,
            thresholds=study.choices,
        ),
        "scores_by_class": {
            "histogram": score_curves.histogram(counts, edges).to_dict("list"),
            "distances": score_curves.ks_distances(counts).to_dict("records"),
        },
    }


def _area_bounds(system: str, table: Binned) -> dict[str, object]:
    """What is known of the areas under the curves of a system whose scores were counted in bins,
    so that scores of one bin are taken as tied: by how much its ROC AUC may be off at most, and
    between which limits its average precision lies.
    """
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
    # an AUC below that of a constant, 0.5, is reported by `_scores`
    yield from better_constant_prediction(study, reported=(ROC_AUC.name,))
    yield from _probabilities(study)
    yield from _tie_findings(study)
    yield from _threshold_findings(study)
    yield from _one_class(study)
    yield from shared_findings.few_clusters(study)
    yield from of_sample(study)


def share(value: float) -> str:
    """A share of rows as a percentage, below a thousandth as a number."""
    return f"{value:.1%}" if value >= 0.001 else f"{value:.2g}"


def _classes(study: BinaryStudy) -> Iterator[Finding]:
    """The share of the positive class, a warning if a class dominates or has few or no rows, and a
    note if AUC over all rows differs from AUC within units.
    """
    severity = WARNING if study.majority > diagnostics.DOMINANT else NOTE
    yield kinds.CLASS_SHARES.finding_with_severity(
        severity,
        study.positives,
        "two",
        share=share(study.base_rate),
        named=shared_findings.class_in_words(study.positive, study.account.columns["label"]),
        majority=study.majority,
    )
    smaller_class = study.smaller_class  # its number of rows
    if not smaller_class:
        yield kinds.ONE_CLASS.warning()
    elif binary_diagnostics.rarely_positive(study):  # too rarely for average precision's interval
        rows = count_with_noun(study.positives, "row")
        rate = share(study.base_rate)
        yield kinds.SMALL_CLASS.warning(study.positives, "rare", rows=rows, share=rate)
    elif smaller_class < binary_diagnostics.FEW_OF_CLASS:
        rows = count_with_noun(smaller_class, "row")
        yield kinds.SMALL_CLASS.warning(smaller_class, "two", rows=rows)
    yield from _auc_within_units(study)


def _auc_within_units(study: BinaryStudy) -> Iterator[Finding]:
    """A note if the leader's AUC over all rows differs significantly from its AUC within units
    (GAUC), which compares only scores of the same unit: the first may then come from differences
    between units. Nothing without units.
    """
    comparison = binary_diagnostics.within_units(study)
    if comparison is None or comparison.p_value >= alpha(study):
        return
    difference = comparison.difference
    auc_over_all = binary_diagnostics.areas(study)[study.leader].auc
    yield kinds.WITHIN_UNITS.note(
        difference.n,
        leader=study.leader,
        unit=study.unit_name,
        pooled=number(auc_over_all),
        inside=number(binary_diagnostics.area_within_units(study)),
        difference=estimate(difference.value, difference.low, difference.high),
    )


def _scores(study: BinaryStudy) -> Iterator[Finding]:
    """A note if curves have no confidence bands; warnings for systems whose scores are only 0 and
    1, as decisions are, and for systems that rank the classes in reverse, with an AUC below 0.5.
    """
    if not study.has_bands:
        yield kinds.BANDS.note(None, "curves", bands=study.band_methods_text)
    # a list, as with several classes a system has a table for each
    tables_by_system = {name: [table] for name, table in study.counts_by_system.items()}
    yield from shared_findings.decisions_as_scores(tables_by_system)
    reversed_scores = []
    for name, areas in binary_diagnostics.areas(study).items():
        if areas.auc < 0.5:
            reversed_scores.append(f"{name} {number(areas.auc)}")
    if reversed_scores:
        yield kinds.REVERSED_SCORE.warning(len(reversed_scores), values=listed(reversed_scores))


def _probabilities(study: BinaryStudy) -> Iterator[Finding]:
    """A warning if scores outside 0..1 are no probabilities; otherwise findings on probabilities of
    0 and 1, and a warning for systems whose log loss comes for a large part from rows to whose
    label they gave a probability near 0.
    """
    if not study.probabilities:
        # by system, the rows with a score outside 0..1
        rows_outside = counts_above_zero(study.outside)
        most_rows = max(rows_outside.values())
        yield kinds.NO_PROBABILITIES.warning(most_rows, "two", counts=counts(rows_outside))
        return
    yield from _certain_rows(study)
    shares_of_loss = binary_diagnostics.unlikely_loss_shares(study)
    if shares_of_loss:
        shares = listed(f"{name} {share:.0%}" for name, share in shares_of_loss.items())
        yield kinds.FEW_ROWS_DOMINATE.warning(
            None, "log_loss", hardly=binary_diagnostics.UNLIKELY, shares=shares
        )


def _certain_rows(study: BinaryStudy) -> Iterator[Finding]:
    """How many probabilities of each system are exactly 0 or 1, which log loss clips, and a warning
    if some of these are wrong. A sentence says whether intervals of log loss allow for more wrong
    ones than in these rows. Nothing if no probability is clipped or log loss is not asked for.
    """
    certain_rows = binary_diagnostics.clipped_rows(study)  # by system
    if not certain_rows:
        return
    wrong_rows = counts_above_zero({name: study.wrong[name] for name in certain_rows})
    severity = NOTE
    wrong_text = ", none of them wrong"
    if wrong_rows:
        severity = WARNING
        # log loss clips at the precision of a double, 2.2e-16, whose logarithm is −36
        wrong_text = f". Of these, wrong ones cost 36 nats each: {counts(wrong_rows)}"
    allowed = measured.CERTAIN_LEFT_OUT
    if study.plain and study.data:  # independent, unweighted rows in memory
        allowed = measured.CERTAIN_INCLUDED
    yield kinds.CERTAIN.finding_with_severity(
        severity,
        max(certain_rows.values()),
        counts=counts(certain_rows),
        more=wrong_text,
        allowed=allowed,
    )


def _tie_findings(study: BinaryStudy) -> Iterator[Finding]:
    """How many distinct scores each system has; by how much metrics may change at most because
    scores were counted in bins; and how many rows have the label and the scores of another row:
    duplicates, or ties if every system has few distinct scores.
    """
    amounts = listed(_distinct_scores(study, name) for name in study.order)
    yield kinds.DISTINCT_SCORES.note(
        amounts=amounts, rows=count_with_noun(len(study.account), "row")
    )
    # by system with scores in bins, the largest change of each metric
    largest_changes = binary_diagnostics.binned(study)
    if largest_changes:
        changes = []
        for name, bounds in largest_changes.items():
            changes.append(_changes_in_words(name, bounds))
        yield kinds.BINNED_SCORES.note(
            len(largest_changes),
            "two",
            most=binary_diagnostics.MAX_DISTINCT,
            moved="".join(changes),
        )
    repeated = binary_diagnostics.repeated(study)
    if repeated.rows:  # 0 also if they are too few to mention
        why = "they may be duplicates"
        if repeated.distinct:  # so few that ties are likely, else 0
            most_scores = f"more than {repeated.distinct:,} distinct scores"
            why = f"ties are likely, for no system has {most_scores}"
        severity = WARNING if repeated.may_be_duplicates else NOTE
        yield kinds.REPEATED_ROWS.finding_with_severity(
            severity, repeated.rows, n=repeated.rows, why=why
        )


def _distinct_scores(study: BinaryStudy, name: str) -> str:
    """A system with its number of distinct scores, which are counted up to a bound."""
    n = binary_diagnostics.distinct_scores(study, name)
    if n is None:
        return f"{name} more than {binary_diagnostics.MAX_DISTINCT:,}"
    return f"{name} {n:,}"


def _changes_in_words(name: str, bounds: Mapping[str, float]) -> str:
    """By how much counting scores in bins can change the metrics of a system at most, in a sentence
    with a space before it; "" without metrics.

    bounds: by metric the largest change; NaN if no bound is known.
    """
    if not bounds:
        return ""
    changes = []
    for label, bound in bounds.items():
        size = "an amount that nothing bounds" if math.isnan(bound) else f"less than {power(bound)}"
        changes.append(f"{label} by {size}")
    return f" Binning changes {name}'s {listed(changes)}."


def _own_decisions(study: BinaryStudy) -> Iterator[Finding]:
    """If a column of the models' own decisions is used for the metrics of decisions: how many rows
    of each system the threshold would decide otherwise, a warning if any, and the leader's metrics
    by its own decisions, with those at the threshold in brackets.
    """
    if not study.decision_column:
        return
    differing_rows = counts_above_zero(study.differing)  # by system
    severity = WARNING if differing_rows else NOTE
    metrics_of_leader = study.both_decisions[study.both_decisions["system"] == study.leader]
    values = []
    for row in metrics_of_leader.itertuples():
        values.append(f"{row.metric} {number(row.own)} ({number(row.at_threshold)})")
    yield kinds.OWN_DECISIONS.finding_with_severity(
        severity,
        max(differing_rows.values(), default=0),
        "used",
        column=study.decision_column,
        rule=study.rule.text,
        rows=counts(differing_rows) or "none",
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
    """A warning for the columns whose names say that they are decisions, but which were not used,
    with the reason; metrics of decisions are then those at the threshold.
    """
    if not study.unused_decisions:
        return
    n = len(study.unused_decisions)
    facts = {"columns": listed(study.unused_decisions), "rule": study.rule.text}
    if study.blocks is not None:  # blocks are always decided by a threshold
        yield kinds.OWN_DECISIONS.warning(n, "blocks", **facts)
    elif study.p.threshold is not None:  # the user set one
        yield kinds.OWN_DECISIONS.warning(n, "threshold", **facts)
    else:  # a system has no column that holds one of the two labels in every row
        yield kinds.OWN_DECISIONS.warning(n, "unread", **facts)


def _threshold_findings(study: BinaryStudy) -> Iterator[Finding]:
    """What decides each row: a column of decisions, or a threshold, fixed by the user or chosen on
    these rows by a rule. Of a threshold also whether rounding changes it, for which systems it
    decides all rows alike, and for which ones no threshold satisfies the rule.
    """
    yield from _own_decisions(study)
    yield from _reversed_decisions(study)
    yield from _unused_decisions(study)
    if study.decision_column:
        return
    if study.rule.fixed_threshold is None:  # a rule chose one for each system
        values = [f"{name} {number(threshold)}" for name, threshold in study.thresholds.items()]
        yield kinds.CHOSEN_THRESHOLD.note(
            len(study.account),
            rule=study.rule.text,
            values=listed(values),
            allowed=measured.CHOICE_INCLUDED,  # that intervals allow for the choice
        )
    else:
        yield kinds.THRESHOLD.note(None, "two", rule=study.rule.text)
        yield from rounded_thresholds(study.rule.fixed_threshold, study.precision)
        metrics_of_decisions = []
        for chosen in study.settings.metrics:
            if chosen.uses_decisions:
                metrics_of_decisions.append(chosen.label)
        lowest_and_highest = binary_diagnostics.score_ends(study)
        for finding in idle_thresholds(study.thresholds, lowest_and_highest):
            yield finding.for_metrics(metrics_of_decisions, study.primary_metric.label)
    # NaN: no threshold satisfies the rule
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


MOST_PAIRS = 6  # pairs of curves that have a line each
MOST_CROSSINGS = 3  # crossings of two curves that a reader may want one by one
NEARLY_ALL = 0.995  # share of an axis over which a curve lies above almost everywhere


@threshold_page.both_classes
def curve_plot(study: BinaryStudy) -> Figure | Html:
    """ROC and precision-recall curves side by side, of as many systems as a figure has room for:
    with pointwise confidence bands, if there are any, the point of each system's threshold, and on
    the second the point where precision equals recall (break-even).
    """
    table = study.table(study.leader)  # its counts of classes are those of every system
    positives = count_with_noun(table.positives, "positive")
    negatives = count_with_noun(table.negatives, "negative")
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
        few=page.omission_sentence(study),  # that systems are left out, if so
    )
    caption = f"{rest} {texts.sentence('binary.break_even')}"
    break_even = binary_diagnostics.break_even(study).dropna()
    roc = Panel(
        lines["roc"],
        f"false positive rate ({negatives})",
        f"recall ({positives})",
        "ROC",
        bands=bands["roc"],
        points=points["roc"],
        reference=DIAGONAL,
        legend_texts=_legend_texts(study, ROC_AUC, "AUC"),
        caption=f"ROC curves, {rest}",
    )
    pr = Panel(
        lines["pr"],
        "recall",
        "precision",
        "Precision and recall",
        bands=bands["pr"],
        points=points["pr"],
        # without skill precision is the base rate, whatever the recall
        reference=((0, 1), (study.base_rate, study.base_rate)),
        steps=STEPS,
        circles=page.rows_of_figure(study, break_even),
        legend_texts=_legend_texts(study, AVERAGE_PRECISION, "AP"),
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


def _legend_texts(study: BinaryStudy, metric: Metric, short: str) -> dict[str, str]:
    """What the legend says behind each system, ": AUC 0.79 [0.75, 0.82]"; empty if the area is not
    among the metrics. short: the name of the area.
    """
    rows = study.estimates[study.estimates["metric"] == metric.name]
    areas = plots.estimate_texts(rows)
    return {name: f": {short} {area}" for name, area in zip(rows["system"], areas, strict=True)}


@threshold_page.both_classes
def base_rate_plot(study: BinaryStudy) -> Figure | Html:
    """The leader's ROC and precision-recall curve in the data and at another base rate. ROC is the
    same at both, because recall and the false positive rate are each of one class; precision
    depends on the mix of the classes.
    """
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
    is_leader = study.metrics_by_base_rate["system"] == study.leader
    is_average_precision = study.metrics_by_base_rate["metric"] == AVERAGE_PRECISION.name
    in_data, at_other_rate = study.metrics_by_base_rate["value"][is_leader & is_average_precision]
    caption = texts.sentence(
        "binary.base_rate_plot", study, before=number(in_data), after=number(at_other_rate)
    )
    curves = figures.row(curve_plots.panels, [roc, pr], caption=caption, height=3.4, panels=2)
    return curves.folded("Curves at another base rate")


def _at_both_rates(study: BinaryStudy, kind: str) -> pd.DataFrame:
    """The leader's curve in the data and at the other base rate, which are the names of its lines.

    kind: roc or pr.
    """
    in_data = study.curve(kind)
    in_data = in_data[in_data["system"] == study.leader]
    at_other_rate = binary_diagnostics.curves_at_other_rate(study, kind)
    at_other_rate = at_other_rate[at_other_rate["system"] == study.leader]
    lines = [
        in_data.assign(system=f"base rate {study.base_rate:.3g} (the data)"),
        at_other_rate.assign(system=f"base rate {study.other_base_rate:.3g}"),
    ]
    return pd.concat(lines)


@threshold_page.both_classes
def top_plot(study: BinaryStudy) -> Figure | Html:
    """The gain curves of as many systems as a figure has room for: the share of the positives among
    the rows with the highest scores, by the share of these rows. The caption says it for 10%.
    """
    total = study.table(study.leader).total  # of rows or weights, the same for every system
    n = _row_count(total, 1)
    panel = Panel(
        page.rows_of_figure(study, study.curve("gain")),
        f"share of rows, highest scores first (n = {n})",
        "share of positives found (recall)",
        reference=DIAGONAL,
    )
    top = study.gains[study.gains["depth"] == 0.1]
    shares = [f"{row.system} {row.recall:.0%}" for row in top.itertuples()]
    caption = texts.sentence(
        "binary.top_plot",
        shares=listed(shares, page.CURVES),
        few=page.omission_sentence(study),  # that systems are left out, if so
    )
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
    """Where the curves of pairs of systems cross, in lines of text: one for each of the first pairs
    that cross a few times, one for all pairs that cross often.

    kind: roc or pr. name, axis: of these curves, and of their horizontal axis, in words.
    """
    cross_rarely: list[Record] = []
    cross_often: list[Record] = []
    for row in study.crossings[study.crossings["curve"] == kind].to_dict("records"):
        # above: the share of the axis over which the first curve is the higher one
        if len(row["crossings"]) > MOST_CROSSINGS and row["above"] <= NEARLY_ALL:
            cross_often.append(row)
        else:
            cross_rarely.append(row)
    lines = [_crossing_in_words(name, axis, row) for row in cross_rarely[:MOST_PAIRS]]
    n_further = len(cross_rarely[MOST_PAIRS:])
    if n_further:
        lines.append(f"{n_further:,} more pairs of {name} curves are in the JSON.")
    if cross_often:
        lines.append(_often(name, axis, cross_often))
    return lines


def _crossing_in_words(name: str, axis: str, row: Record) -> str:
    """Where the curves of two systems cross, in words. name, axis: as in `_crossings`.

    row: of `study.crossings`: first (the system with the larger area), second, crossings (the x
    where the curves cross), above (the share of the axis over which the first curve is higher).
    """
    crossings = row["crossings"]
    first = row["first"]
    second = row["second"]
    if not crossings:
        return f"{first}'s {name} curve contains {second}'s."
    if row["above"] > NEARLY_ALL:  # where they cross matters little
        crossed = f"they cross {count_with_noun(len(crossings), 'time')} at the ends"
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
        values = study.metrics_by_base_rate[study.metrics_by_base_rate["system"] == name]
        cells = [Cell(name)]
        for _, values_of_metric in values.groupby("metric", sort=False):
            in_data, at_other_rate = values_of_metric.to_dict("records")
            estimate_there = interval_cell(
                at_other_rate["value"], at_other_rate["low"], at_other_rate["high"]
            )
            cells.append(join(f"{number(in_data['value'])} → ", estimate_there))
        rows.append(cells)
    rate = study.metrics_by_base_rate["base_rate"]
    caption = f"From base rate {rate.iloc[0]:.3g} (the data) to {rate.iloc[1]:.3g}"
    note = texts.sentence("binary.base_rate_note")
    if study.metrics_by_base_rate.query("metric == 'average_precision'")["low"].isna().any():
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
CORNER_MEASURES = {  # in the corner of a reliability diagram: short names of parts of calibration
    "miscalibration": "MCB",
    "discrimination": "DSC",
    "uncertainty": "UNC",
    "slope": "slope",
}


@probabilities
def calibration_plot(study: BinaryStudy) -> Figure | Html:
    """The reliability diagrams of the first systems, each with its measures of calibration, such as
    the slope, in a corner.
    """
    words: dict[str, list[str]] = {name: [] for name in study.order[:DRAWN]}
    # `study.calibration` has a row for each system and measure; its column `part` names the measure
    for measure, rows in study.calibration.groupby("part", sort=False):
        if measure not in CORNER_MEASURES:
            continue
        short_name = CORNER_MEASURES[str(measure)]
        # with as many decimals as in the calibration table, which has all systems
        places = decimals(rows["value"], rows["low"], rows["high"])
        for row in rows[rows["system"].isin(list(words))].itertuples():
            words[row.system].append(f"{short_name} {number(row.value, places)}")
    how = texts.sentence("binary.calibration_plot_how")
    return reliability(study, "share of positives", how, words)


def reliability(
    study: BinaryStudy | ClassesStudy, what: str, how: str, words: Mapping[str, list[str]]
) -> Figure:
    """Reliability diagrams without bins side by side, one for each system of `words`: the share of
    positives as an isotonic function of the probability.

    what: the share on the vertical axis. how: sentences of the caption on how to read it. words: by
    system, the lines of text in the corner of its diagram.
    """
    curves = study.isotonic.of_systems(list(words))
    band = "No bands, as rows are clustered or weighted."
    if curves.bands is not None:
        share_in_band = f"{study.settings.level:.0%} of such curves"
        band = f"Grey: at each probability, {share_in_band} if the probabilities are right."
    caption = texts.sentence("binary.reliability", rows=len(study.account), how=how, band=band)
    return page.reliability_diagrams(
        curve_plots.reliability, curves, words, caption, ylabel=what, height=3.4, panels=len(words)
    )


@probabilities
def calibration(study: BinaryStudy) -> Html:
    """The systems that are miscalibrated, in sentences; a table with the parts of the Brier score,
    ECE and the mean error of each system; and a fold with the slope and the intercept of logistic
    recalibration.
    """
    note = texts.sentence("binary.calibration_note") + WITHOUT_INTERVAL
    if len(study.order) > DRAWN:
        note += f" The figure shows the first {DRAWN}."
    # a row for each system and measure, which the column `part` names
    is_fitted = study.calibration["part"].isin(FITTED)  # slope and intercept
    table = by_system(
        "Calibration",
        study.calibration[~is_fitted],
        along="part",
        column=_measure_cells,
        note=note,
        head=_measure_head,
    )
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
    """A sentence for each form of miscalibration, with the systems that have it, and one for the
    systems that have none, by the intervals of slope and intercept; empty without these intervals.
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
    return muted_paragraph(" ".join(sentences))


def _logistic(study: BinaryStudy, rows: pd.DataFrame) -> Html:
    """A fold with the slope and the intercept of each system's logistic recalibration, the
    regression of the label on the logit of its probability, with intervals.

    rows: of `study.calibration`, those of the slope and the intercept.
    """
    caption = f"Logistic recalibration, with {study.settings.level:.0%} intervals"
    note = texts.sentence("binary._logistic_note")
    # wrong: by system, the rows with a probability of 0 or 1 and the other label; its logit is
    # infinite unless it is clipped
    certain_and_wrong = [name for name in study.order if study.wrong.get(name)]
    if certain_and_wrong:
        note += (
            f" Of {listed(certain_and_wrong)} some rows are certain and wrong: the slope depends "
            f"on how such are clipped."
        )
    table = by_system(caption, rows, along="part", column=limits("value"), note=note)
    return folded("Logistic recalibration: slope and intercept", table)


def _measure_head(measure: str) -> Cell:
    """The head of a measure of calibration, by the name that people say."""
    return metric_head(MEASURES.get(measure, measure), measure)


def _measure_cells(rows: Rows) -> list[Cell]:
    """The cells of one measure of calibration, one per system: its value with its interval. ECE and
    miscalibration, which have no valid interval, have below them their mean and p-value if the
    probabilities were right.

    rows: of `study.calibration`, one per system; low, high, expected and p are NaN if unknown.
    """
    values = [row["value"] for row in rows]
    lows = [row["low"] for row in rows]
    highs = [row["high"] for row in rows]
    places = decimals(values, lows, highs)
    cells_with_interval = limits("value")(rows)
    cells = []
    for cell, row in zip(cells_with_interval, rows, strict=True):
        under_calibration = perfect_calibration_line(row["expected"], row["p"], places)
        cells.append(replace(cell, below=under_calibration))
    return cells


@threshold_page.both_classes
def score_plot(study: BinaryStudy) -> Figure | Html:
    """The histogram of the scores of each class, one panel for each of the first systems. Its text
    for readers who do not see it has the largest distance of the two distributions (KS).
    """
    names = study.order[:DRAWN]
    table = study.table(study.leader)  # all systems are of the same rows
    # the same bins for all systems, also for those that are not drawn
    edges = score_curves.edges(study.counts_by_system, probabilities=study.probabilities)
    frame = score_curves.histogram({name: study.table(name) for name in names}, edges)
    caption = texts.sentence(
        "binary.score_plot",
        bins=score_curves.BINS,
        positives=count_with_noun(table.positives, "positive"),
        negatives=count_with_noun(table.negatives, "negative"),
    )
    return figures.row(
        curve_plots.draw_score_histograms,
        frame,
        caption=caption,
        says=_distances_in_words(study),
        xlabel="score",
        ylabel="share of the class",
        panels=len(names),
        height=2.6,
    )


@threshold_page.both_classes
def ks_plot(study: BinaryStudy) -> Figure | Html:
    """A fold with the distribution function of the leader's scores in each class, and the largest
    distance between the two (Kolmogorov-Smirnov) marked.
    """
    name = study.leader
    frame = score_curves.distribution(name, study.table(name))
    widest = score_curves.ks_distances(study.counts_by_system)
    caption = texts.sentence("binary.ks_plot", study, distances=_distances_in_words(study))
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
        curve_plots.draw_confusion_matrices,
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


def _distances_in_words(study: BinaryStudy) -> str:
    """The largest distance between the score distributions of the classes, of each system drawn."""
    rows = score_curves.ks_distances(study.counts_by_system).head(DRAWN)
    places = decimals(rows["value"])
    words = (
        f"{row.system} {number(row.value, places)} just below {number(row.x)}"
        for row in rows.itertuples()
    )
    return f"KS: {listed(words)}."

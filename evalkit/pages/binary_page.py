"""The words and tables of the binary page, each from the study's frames."""

from dataclasses import replace
from typing import Any

from evalkit.catalogue.row_metrics import ROC_AUC
from evalkit.drawing import tables
from evalkit.drawing.tables import Cell, Html, Results, by_system, count, limits, of_rows, text, value
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, WARNING, Finding, measured
from evalkit.numbers import counted, estimate, listed, number
from evalkit.pages import explorers, first_screen, page, record, shared_findings
from evalkit.pages.shared_findings import (
    beaten,
    class_named,
    contrary,
    counts,
    few_clusters,
    idle,
    nonzero,
    picked,
    power,
    rounded,
    rows_read,
    skewed,
    slices,
    weights,
)
from evalkit.studies import classification_diagnostics as diagnostics
from evalkit.studies import decision_curve, score_spread
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.classification_diagnostics import classes
from evalkit.studies.diagnostics import alpha


def title(study: BinaryStudy) -> Html:
    """The title and what was asked."""
    what = f"{study.facts.account.columns['label']} = {study.facts.positive}"
    return first_screen.title(
        "Classification report",
        study,
        f"{counted(study.facts.rows, 'row')}, {share(classes(study).base_rate)} positive",
        alone=f"How well does {study.leader} separate {what} from the rest",
        against=f"Does any system separate {what} from the rest better than {study.settings.baseline}",
        best=f"Which of {len(study.order)} systems best separates {what} from the rest",
    )


def findings(study: BinaryStudy) -> Html:
    """What to know of the data before the numbers."""
    return tables.findings(every_finding(study))


# Numbers ----------------------------------------------------------------------------------------------------------


def estimates(study: BinaryStudy) -> Html:
    """The metrics without a threshold, then those at it, each above what needs no model."""
    n, level = page.sample(study, study.facts.rows), f"{study.settings.level:.0%}"
    pieces = []
    if study.order_metrics:
        caption = f"Metrics that need no threshold, with {level} intervals, {n}"
        row = page.reference(study, "(a constant score)", study.constant, study.order_metrics)
        pieces.append(page.estimates(study, caption, metrics=study.order_metrics, more=[row]))
    if study.decision_metrics:
        caption = f"Metrics at the threshold ({study.rule.text}), with {level} intervals, {n}"
        major = page.reference(study, "(always the larger class)", study.constant, study.decision_metrics)
        pieces.append(page.estimates(study, caption, metrics=study.decision_metrics, more=[major]))
    return tables.stack(pieces)


def gains(study: BinaryStudy) -> Html:
    """Lift and recall among the highest scores."""
    if not study.both_classes:
        return Html("")

    def lift(rows: tables.Rows) -> list[Cell]:
        cells = zip(limits("value")(rows), rows, strict=True)
        return [replace(cell, below=(f"finds {row['recall']:.0%}",)) for cell, row in cells]

    note = (
        "Lift: precision / base rate. Finds: the share of all positives. Rows tied at the cut-off count by their share."
    )
    return by_system("Lift among the highest scores", study.gains, "depth", lift, note, "top {:.0%}".format)


def confusion(study: BinaryStudy) -> Html:
    """The four counts of every system."""
    counts = {name.upper(): count(name, _count) for name in ("tp", "fp", "fn", "tn")}
    negative = study.facts.negative or "the rest"
    note = f"Positive: {study.facts.positive}; negative: {negative}. FP: negative, but predicted positive."
    caption = f"Decisions at the threshold ({study.rule.text})"
    return of_rows(caption, study.decisions, {"system": text("system"), "threshold": value("threshold")} | counts, note)


def _count(weight: float) -> str:
    return number(weight, 0 if float(weight).is_integer() else 2)


# Small print ------------------------------------------------------------------------------------------------------


def definitions(study: BinaryStudy) -> Html:
    """Exactly the metrics shown, then the threshold, the intervals and the tests."""
    items = page.metric_definitions(study)
    compared = shared_findings.compared(study.facts.precision)
    items += [("positive", f"the label {study.facts.positive}; predicted if score ≥ threshold, {compared}")]
    items += [("intervals", study.intervals_are), *page.test_definitions(study), ("bands", study.bands_are)]
    return tables.definitions(items)


def origin(study: BinaryStudy) -> Html:
    """Inputs, parameters, versions, the command."""
    return record.origin(study, "classification")


def results(study: BinaryStudy) -> Results:
    """Every number of the page, unrounded."""
    rows = study.facts.account
    population = {"rows": len(rows), "read": rows.read, "alone": rows.alone, "positives": study.facts.positives}
    more = {
        "kind": "binary",
        "columns": dict(rows.columns),
        "population": population,
        "positive": study.facts.positive,
        "threshold_rule": study.rule.text,
        "precision": {name: stored_in.name for name, stored_in in study.facts.precision.items()},
        "decisions": study.decisions.to_dict("records"),
        "thresholds": study.choices.to_dict("records") if study.both_classes else [],
        **explorers.recorded(study),
    }
    if study.binned:
        names = ("roc_auc_change", "average_precision_low", "average_precision_high")
        bounds_by_system = study.binned.items()
        more["binning"] = [
            {"system": name} | dict(zip(names, bounds, strict=True)) for name, bounds in bounds_by_system
        ]
    if study.both_classes:
        of_systems = study.counts_by_system
        more |= {
            "curves": {kind: study.recorded(kind).to_dict("list") for kind in ("roc", "pr")},
            "crossings": study.crossings.to_dict("records"),
            "base_rates": study.elsewhere.to_dict("records"),
            "gains": study.gains.to_dict("records"),
            "scores_by_class": {
                "histogram": score_spread.histogram(of_systems, score_spread.edges(study, of_systems)).to_dict("list"),
                "distances": score_spread.distances(of_systems).to_dict("records"),
            },
        }
    if study.probabilities:
        more |= {
            "calibration": study.calibration.to_dict("records"),
            "reliability": study.reliability.to_dict("records"),
            "isotonic": study.isotonic.recorded(),
            **_net_benefit(study),
        }
    return record.results(study, "classification", every_finding(study), more)


def _net_benefit(study: BinaryStudy) -> dict[str, Any]:
    if not study.both_classes:
        return {}
    curve = decision_curve.benefits(study.counts_by_system, decision_curve.COARSE).to_dict("list")
    differences = decision_curve.apart(study).to_dict("list")
    at_costs = decision_curve.at_costs(study).to_dict("records")
    return {"net_benefit": {"curve": curve, "at_costs": at_costs, "differences": differences}}


# Findings


def every_finding(study: BinaryStudy) -> list[Finding]:
    """Every finding of a binary report."""
    rows = [*rows_read(study.facts.account), *_classes(study), *_within(study), *weights(study.facts.weighted)]
    scores = [
        *_reversed(study),
        *beaten(study, told=(ROC_AUC.name,)),
        *_probabilities(study),
        *_distinct(study),
        *_binned(study),
        *_repeated(study),
    ]
    sample = [
        *_one_class(study),
        *few_clusters(study),
        *picked(study),
        *contrary(study),
        *skewed(study),
        *slices(study),
    ]
    return [*rows, *_bands(study), *scores, *_threshold(study), *sample]


def share(value: float) -> str:
    """A share of rows as a percentage, below a thousandth as a number."""
    return f"{value:.1%}" if value >= 0.001 else f"{value:.2g}"


def _within(study: BinaryStudy) -> list[Finding]:
    """That AUC over all rows is another than within units, if it is."""
    c = diagnostics.within_units(study)
    if c is None or not c.p_value < alpha(study):
        return []
    (pooled, inside), d = diagnostics.pooled_and_within(study, c), c.difference
    text = (
        f"AUC of {study.leader}: {number(pooled)} over all rows, {number(inside)} within each "
        f"{study.unit_name} (gauc), difference {estimate(d.value, d.low, d.high)}."
    )
    return [kinds.WITHIN_UNITS.note(text, d.n)]


def _classes(study: BinaryStudy) -> list[Finding]:
    of_two, column = diagnostics.classes(study), study.facts.account.columns["label"]
    text = (
        f"Base rate: {share(of_two.base_rate)} of the rows are positive, {class_named(study.facts.positive, column)}. "
        f"Always predicting the larger class is right for {of_two.majority:.1%}."
    )
    findings = [
        kinds.CLASS_SHARES.rated(
            WARNING if of_two.majority > diagnostics.DOMINANT else NOTE, text, study.facts.positives
        )
    ]
    if not of_two.smaller:
        text = "The rows have only one class: metrics that compare classes (AUC, average precision) are undefined."
        findings.append(kinds.ONE_CLASS.warning(text))
    elif of_two.smaller < diagnostics.SOME:
        rows = counted(of_two.smaller, "row")
        text = f"Only {rows} of the smaller class: intervals are wide, and that of AUC is Newcombe's. {measured.TWINS}"
        findings.append(kinds.SMALL_CLASS.warning(text, of_two.smaller))
    return findings


def _bands(study: BinaryStudy) -> list[Finding]:
    return [] if study.banded else [kinds.BANDS.note(f"Bands of curves: {study.bands_are}.")]


def _reversed(study: BinaryStudy) -> list[Finding]:
    areas = diagnostics.reversed_scores(study)
    values = listed(f"{name} {number(area)}" for name, area in areas.items())
    text = f"AUC is below 0.5, so the score may be reversed: {values}."
    return [kinds.REVERSED_SCORE.warning(text, len(areas))] if areas else []


def _probabilities(study: BinaryStudy) -> list[Finding]:
    if not study.probabilities:
        text = f"Scores outside 0 to 1 are not probabilities: {counts(nonzero(study.facts.outside))} rows."
        left_out = " Left out: log loss, Brier, calibration."
        return [kinds.NO_PROBABILITIES.warning(text + left_out, max(study.facts.outside.values()))]
    clipped = diagnostics.clipped(study)
    wrong = nonzero({name: study.facts.wrong[name] for name in clipped})
    more = f". Of these, wrong ones cost 36 nats each: {counts(wrong)}" if wrong else ", none of them wrong"
    told = measured.CERTAIN_INCLUDED if diagnostics.certain_included(study) else measured.CERTAIN_LEFT_OUT
    text = f"Probabilities of exactly 0 or 1, which log loss clips: {counts(clipped)}{more}. {told}"
    severity = WARNING if wrong else NOTE
    certain = [kinds.CERTAIN.rated(severity, text, max(clipped.values()))] if clipped else []
    return certain + _unforeseen(study)


def _unforeseen(study: BinaryStudy) -> list[Finding]:
    """Rows that happened against all odds, by which log loss is driven."""
    shares = diagnostics.unforeseen(study)
    held = listed(f"{name} {part:.0%}" for name, part in shares.items())
    text = (
        f"Share of the log loss in rows whose class had a probability below {diagnostics.HARDLY:.1%}: {held}. "
        f"{measured.FAR_SCORES}"
    )
    return [kinds.FEW_ROWS_DOMINATE.warning(text)] if shares else []


def _distinct(study: BinaryStudy) -> list[Finding]:
    distinct = listed(f"{name} {_amount(diagnostics.distinct_scores(study, name))}" for name in study.order)
    return [kinds.DISTINCT_SCORES.note(f"Distinct scores: {distinct} of {counted(study.facts.rows, 'row')}.")]


def _amount(distinct: int | None) -> str:
    return f"more than {diagnostics.MOST:,}" if distinct is None else f"{distinct:,}"


def _binned(study: BinaryStudy) -> list[Finding]:
    """By how much the bins can move the areas, where scores are binned."""
    systems = diagnostics.binned(study)
    areas = [
        f"{row['system']}: AUC {number(row['auc'])}, binning changes it by less than {power(row['auc_change'])}, "
        f"average precision {number(row['average_precision'])} by less than {power(row['average_precision_change'])}"
        for row in systems
    ]
    text = f"More than {diagnostics.MOST:,} distinct scores are counted in bins; metrics at the threshold stay exact."
    return [kinds.BINNED_SCORES.note(f"{text} {listed(areas, joint='; ')}.", len(systems))] if systems else []


def _repeated(study: BinaryStudy) -> list[Finding]:
    """Rows whose label and scores another row has too: ties, or rows that came twice."""
    n, few, many = diagnostics.repeated(study)
    why = f"ties are likely, for no system has more than {few:,} distinct scores" if few else "they may be duplicates"
    text = f"{n:,} rows have the same label and the same scores as another row: {why}."
    return [kinds.REPEATED_ROWS.rated(WARNING if many else NOTE, text, n)] if n else []


def _threshold(study: BinaryStudy) -> list[Finding]:
    values = listed(f"{name} {number(t)}" for name, t in study.thresholds.items())
    unreachable, text = diagnostics.unreachable(study), f"Threshold: {study.rule.text}"
    if study.rule.fixed is None:
        included = measured.CHOICE_INCLUDED if study.rechosen else measured.CHOICE_LEFT_OUT
        chosen = f"{text}, chosen on these rows, so metrics at it are optimistic: {values}. {included}"
        findings = [kinds.CHOSEN_THRESHOLD.note(chosen, study.facts.rows)]
    else:
        findings = [kinds.THRESHOLD.note(f"{text}."), *rounded(study.rule.fixed, study.facts.precision)]
        findings += idle(study.thresholds, diagnostics.score_ends(study))
    if unreachable:
        text = f"No threshold reaches {study.rule.text} for {listed(unreachable)}: its metrics are undefined."
        findings.append(kinds.UNREACHABLE_THRESHOLD.warning(text, len(unreachable)))
    return findings


def _one_class(study: BinaryStudy) -> list[Finding]:
    several = [f"{part.column} {part.label}" for part in study.slices if study.one_class(part)]
    text = f"Slices with one class, where AUC is undefined: {listed(several)}."
    return [kinds.ONE_CLASS_SLICES.warning(text, len(several))] if several else []

"""What to know of labels, scores and threshold of a binary report before the numbers, in words."""

from evalkit.drawing.tables import number
from evalkit.findings import inputs, methods, predictions
from evalkit.findings.finding import NOTE, WARNING, Finding
from evalkit.pages.shared_findings import counts, idle, nonzero, rounded, rows_read, slices, weights
from evalkit.studies import binary_diagnostics as diagnostics
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.words import counted


def of(s: BinaryStudy) -> list[Finding]:
    """Every finding of a binary report."""
    classes = [*rows_read(s.facts.account), *_classes(s), *weights(s.facts.weighted), *_bands(s)]
    scores = [*_reversed(s), *_probabilities(s), *_distinct(s), *_binned(s), *_repeated(s)]
    return [*classes, *scores, *_threshold(s), *_one_class(s), *slices(s)]


def share(value: float) -> str:
    """A share of rows as a percentage, below a thousandth as a number."""
    return f"{value:.1%}" if value >= 0.001 else f"{value:.2g}"


def _classes(s: BinaryStudy) -> list[Finding]:
    classes = diagnostics.classes(s)
    text = (
        f"Base rate: {share(classes.base_rate)} of the rows are positive ({s.facts.positive}). Always predicting the "
        f"larger class is right for {classes.majority:.1%}."
    )
    findings = [inputs.CLASS_SHARES.rated(WARNING if classes.dominated else NOTE, text, s.facts.positives)]
    if not classes.smaller:
        text = "Only one class is there: whatever compares classes (AUC, average precision) is undefined."
        findings.append(inputs.ONE_CLASS.warning(text))
    elif classes.few:
        rows = counted(classes.smaller, "row")
        text = f"Only {rows} of the smaller class: intervals are wide, and AUC's is Newcombe's."
        findings.append(inputs.SMALL_CLASS.warning(text, classes.smaller))
    return findings


def _bands(s: BinaryStudy) -> list[Finding]:
    return [] if s.banded else [methods.BANDS.note(f"Bands of curves: {s.bands_are}.")]


def _reversed(s: BinaryStudy) -> list[Finding]:
    areas = diagnostics.reversed_scores(s)
    values = ", ".join(f"{name} {number(area)}" for name, area in areas.items())
    text = f"AUC below 0.5, the score may be reversed: {values}."
    return [predictions.REVERSED_SCORE.warning(text, len(areas))] if areas else []


def _probabilities(s: BinaryStudy) -> list[Finding]:
    if not s.probabilities:
        text = f"Scores outside 0 to 1, so no probabilities: {counts(nonzero(s.facts.outside))} rows."
        left_out = " Left out: log loss, Brier, calibration."
        return [predictions.NO_PROBABILITIES.warning(text + left_out, max(s.facts.outside.values()))]
    if "log_loss" not in [chosen.label for chosen in s.settings.metrics]:
        return []
    clipped = diagnostics.clipped(s)
    wrong = nonzero({name: s.facts.wrong[name] for name in clipped})
    more = f"; certain and wrong, 36 nats each: {counts(wrong)}" if wrong else ", none of them wrong"
    text = f"Probabilities of exactly 0 or 1, which log loss clips: {counts(clipped)}{more}."
    severity = WARNING if wrong else NOTE
    return [predictions.CERTAIN.rated(severity, text, max(clipped.values()))] if clipped else []


def _distinct(s: BinaryStudy) -> list[Finding]:
    listed = ", ".join(f"{name} {_amount(diagnostics.distinct_scores(s, name))}" for name in s.order)
    return [predictions.DISTINCT_SCORES.note(f"Distinct scores: {listed} of {counted(s.facts.rows, 'row')}.")]


def _amount(distinct: int | None) -> str:
    return f"more than {diagnostics.MOST:,}" if distinct is None else f"{distinct:,}"


def _binned(s: BinaryStudy) -> list[Finding]:
    """By how much the bins can move the areas, where scores are binned."""
    systems = diagnostics.binned(s)
    listed = "; ".join(
        f"{name}: AUC {number(b.auc)}, binning changes it by less than {_power(b.auc_change)}, average precision "
        f"{number(b.average_precision)} by less than {_power(b.average_precision_change)}"
        for name, b in systems.items()
    )
    text = f"More than {diagnostics.MOST:,} distinct scores are counted in bins; what a threshold decides stays exact."
    return [predictions.BINNED_SCORES.note(f"{text} {listed}.", len(systems))] if systems else []


def _power(value: float) -> str:
    return f"{value:.0e}".replace("e-0", "e-")


def _repeated(s: BinaryStudy) -> list[Finding]:
    """Rows whose label and scores another row has too: ties, or rows that came twice."""
    n, many = diagnostics.repeated(s)
    text = f"{n:,} rows have the label and every score of another row: duplicates, if the scores are fine."
    return [inputs.REPEATED_ROWS.rated(WARNING if many else NOTE, text, n)] if n else []


def _threshold(s: BinaryStudy) -> list[Finding]:
    listed = ", ".join(f"{name} {number(t)}" for name, t in s.thresholds.items())
    unreachable, text = diagnostics.unreachable(s), f"Threshold: {s.rule.text}"
    if s.rule.fixed is None:
        chosen = f"{text}, chosen on these very rows, so optimistic: {listed}."
        findings = [predictions.CHOSEN_THRESHOLD.note(chosen, s.facts.rows)]
    else:
        findings = [predictions.THRESHOLD.note(f"{text}."), *rounded(s.rule.fixed, s.facts.precision)]
        findings += idle(s.thresholds, diagnostics.score_ends(s))
    if unreachable:
        text = f"No threshold reaches {s.rule.text} for {', '.join(unreachable)}: its metrics are undefined."
        findings.append(predictions.UNREACHABLE_THRESHOLD.warning(text, len(unreachable)))
    return findings


def _one_class(s: BinaryStudy) -> list[Finding]:
    several = [f"{part.column} {part.label}" for part in s.slices if s.one_class(part)]
    text = f"Slices with one class, where AUC is undefined: {', '.join(several)}."
    return [inputs.ONE_CLASS_SLICES.warning(text, len(several))] if several else []

"""What to know of actual values and forecasts before the numbers, in words."""

from evalkit.drawing.tables import number
from evalkit.findings import inputs, predictions
from evalkit.findings.finding import Finding
from evalkit.pages.shared_findings import rows_read, slices, weights
from evalkit.studies import rating_diagnostics as diagnostics
from evalkit.studies.rating import Rating
from evalkit.studies.words import counted


def of(s: Rating) -> list[Finding]:
    """Every finding of a rating report."""
    data = [*rows_read(s.data.rows), *_actual(s), *_units(s)]
    return [*data, *_constant(s), *_heavy(s), *weights(s.data.weight is not None), *slices(s)]


def _actual(s: Rating) -> list[Finding]:
    a = diagnostics.actual(s)
    text = (
        f"Actual values: mean {number(a.mean)}, standard deviation {number(a.deviation)}, "
        f"from {a.low:g} to {a.high:g}, {a.zeros:.0%} are 0."
    )
    constant = inputs.CONSTANT_TARGET.warning("All actual values are equal: R² is undefined.")
    return [inputs.TARGET_VALUES.note(text, len(s.data.rows)), *([constant] if a.constant else [])]


def _units(s: Rating) -> list[Finding]:
    n = diagnostics.units(s)
    text = f"Rows of one {s.unit_name} are not independent: {counted(n, s.unit_name)} are the units."
    return [inputs.CLUSTERED.note(text, n)] if s.settings.unit else []


def _constant(s: Rating) -> list[Finding]:
    constant = diagnostics.constant_forecasts(s)
    text = f"One and the same forecast for every row: {', '.join(constant)}."
    return [predictions.CONSTANT_FORECAST.warning(text, len(constant))] if constant else []


def _heavy(s: Rating) -> list[Finding]:
    text = f"1 % of the rows account for {s.heavy:.0%} of {s.leader}'s squared error: RMSE is driven by a few rows."
    return [predictions.FEW_ROWS_DOMINATE.warning(text)] if diagnostics.dominated(s) else []

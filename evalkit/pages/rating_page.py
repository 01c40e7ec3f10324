"""The words, tables and pictures of the rating page, each from the study's frames."""

from typing import Any

import pandas as pd

from evalkit.drawing import curve_plots, forecast_plots, plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html, Results, of_rows, text, value
from evalkit.findings import kinds
from evalkit.findings.kinds import Finding, measured
from evalkit.numbers import counted, listed, number, plural, signed
from evalkit.pages import explorers, first_screen, page, pieces, record
from evalkit.pages.shared_findings import beaten, contrary, few_units, picked, power, rows_read, skewed, slices, weights
from evalkit.studies import diagnostics, mean_reliability
from evalkit.studies.rating import HEAVY, Rating

pieces.listed(__name__)

SURE = 0.05  # by how much a half-width may be off


def title(study: Rating) -> Html:
    """The title and what was asked."""
    return first_screen.title(
        "Rating report",
        study,
        counted(len(study.account), "row"),
        alone=f"How accurate are the forecasts of {study.leader}",
        against=f"Does any system forecast better than {study.settings.baseline}",
        best=f"Which of {len(study.order)} systems forecasts best",
    )


def verdict(study: Rating) -> Html:
    """The answer, and below it that a constant forecast is better than all systems, if so."""
    return tables.stack([first_screen.verdict(study), *map(_alone, _constant_wins(study))])


def _alone(finding: Finding) -> Html:
    return tables.findings([finding])


def findings(study: Rating) -> Html:
    """What to know of the data before the numbers, but for what stands below the verdict."""
    above = _constant_wins(study)
    return tables.findings([finding for finding in every_finding(study) if finding not in above])


def estimates(study: Rating) -> Html:
    """Every metric, and below what forecasting the mean would give."""
    caption = f"Errors with {study.settings.level:.0%} intervals, {page.sample(study, len(study.account))}"
    constant = {"(mean of actual)": study.constant, "(median of actual)": study.constant_median}
    rows = [page.reference(study, name, of, study.settings.metrics) for name, of in constant.items()]
    note = (
        "(mean of actual), (median of actual): constant forecasts, the mean and the median actual value of these rows."
    )
    return page.estimates(study, caption, note, more=rows)


def error_plot(study: Rating) -> Picture:
    """The leader's error against its forecast."""
    name, n = study.leader, len(study.account)
    tenths = study.tenths[study.tenths["system"] == name]
    caption = (
        f"{name}: error (forecast − actual) against the forecast, the central 99% of {counted(n, 'row')} each way, in "
        f"cells coloured by their number; and the mean error by decile of the forecast with "
        f"{study.settings.level:.0%} intervals."
    )
    labels: dict[str, Any] = {"xlabel": "forecast", "ylabel": f"forecast − actual (n = {n:,})"}
    drawn, size = study.error_cells, (plots.WIDTH, 3.2)
    return plots.picture(forecast_plots.error_cells, drawn, tenths, caption=caption, size=size, **labels)


def bias_plot(study: Rating) -> Picture:
    """Mean forecast − mean actual by tenths of the forecast."""
    frame = study.tenths.rename(columns={"bias": "value"})
    across = plots.grid(len(study.order), across=4)[1]
    frame = frame[frame["system"].isin(study.order[:across])]
    caption = (
        f"Bias by decile of each system's forecast, lowest first, with {study.settings.level:.0%} intervals "
        f"({counted(len(study.account), 'row')}). Above 0: forecasts too high."
    )
    return plots.row(
        curve_plots.tenths,
        frame,
        caption=caption,
        panels=across,
        ylabel="bias (forecast − actual)",
    )


def tenths(study: Rating) -> Html:
    """The leader by tenths of its forecast."""
    columns = "decile=tenth i | n n | mean forecast=forecast # | mean actual=actual # | bias ±[]"
    caption = f"{study.leader} by decile of its forecast, with {study.settings.level:.0%} intervals"
    return of_rows(caption, study.tenths[study.tenths["system"] == study.leader], columns)


def spread(study: Rating) -> Html:
    """Quantiles of the errors."""
    columns = {name: text(name) if name == "system" else value(name, signed) for name in study.spread.columns}
    note = "Error: forecast − actual. Half of the errors lie between the 25% and the 75% column."
    return of_rows("Quantiles of the error", study.spread, columns, note)


def extremes(study: Rating) -> Html:
    """The rows that the leader misses by most."""
    columns = "row=id | actual # | forecast # | error ±"
    return of_rows(f"Rows with the largest errors of {study.leader}", study.extremes(), columns)


def definitions(study: Rating) -> Html:
    """Exactly the metrics shown, then the intervals and the tests."""
    units = plural(study.unit_name, 2)
    win = f"{units} on which the absolute error of the first system is smaller, equal, larger"
    compared = [*tests, (f"{units} won / tied / lost", win)] if (tests := page.test_definitions(study)) else []
    return tables.definitions([*page.metric_definitions(study), ("intervals", study.intervals_are), *compared])


def origin(study: Rating) -> Html:
    """Inputs, parameters, versions, the command."""
    return record.origin(study, "rating")


def results(study: Rating) -> Results:
    """Every number of the page, unrounded."""
    rows = study.account
    frames = {"tenths": study.tenths, "errors": study.spread, "extremes": study.extremes()}
    more: dict[str, Any] = record.population(rows) | {name: frame.to_dict("records") for name, frame in frames.items()}
    return record.results(
        study, "rating", every_finding(study), more | {"forecasts": _forecasts(study)} | explorers.recorded(study)
    )


def _forecasts(study: Rating) -> dict[str, Any]:
    """What the pictures of forecasts draw."""
    drawn = mean_reliability.drawn(study.means)
    return {
        "actual": _cells(study.cells(study.order)),
        "leader": _cells(study.error_cells),
        "errors": study.histogram(study.order).to_dict("list"),
        "isotonic": drawn.recorded(),
        "parts": study.parts.to_dict("records"),
    }


def _cells(frame: pd.DataFrame) -> dict[str, Any]:
    """The size of all cells, and the columns of each."""
    size = ["width", "height"]
    return {side: frame[side].iloc[0] for side in size} | frame.drop(columns=size).to_dict("list")


# Findings


def every_finding(study: Rating) -> list[Finding]:
    """Every finding of a rating report."""
    data = [*rows_read(study.account), *_actual(study), *_units(study)]
    told = (study.primary.label,) if _constant_wins(study) else ()
    return [
        *data,
        *_constant(study),
        *_constant_wins(study),
        *beaten(study, study.constant_median, told=told),
        *_whole(study),
        *_heavy(study),
        *_binned(study),
        *_bands(study),
        *_drawn(study),
        *weights(study.weighted),
        *_few(study),
        *picked(study),
        *contrary(study),
        *skewed(study),
        *slices(study),
    ]


def _actual(study: Rating) -> list[Finding]:
    a = study.actual
    text = (
        f"Actual values: mean {number(a.mean)}, standard deviation {number(a.deviation)}, "
        f"from {a.low:g} to {a.high:g}, {a.zeros:.0%} are 0."
    )
    constant = kinds.CONSTANT_TARGET.warning("All actual values are equal: R² is undefined.")
    return [kinds.TARGET_VALUES.note(text, len(study.account)), *([constant] if a.low == a.high else [])]


def _units(study: Rating) -> list[Finding]:
    n = study.units
    text = f"Rows of one {study.unit_name} are not independent: {counted(n, study.unit_name)} are the units."
    return [kinds.CLUSTERED.note(text, n)] if study.settings.unit else []


def _constant(study: Rating) -> list[Finding]:
    constant = [name for name, forecast in study.forecasts.items() if forecast.low == forecast.high]
    text = f"The same forecast for every row: {listed(constant)}."
    return [kinds.CONSTANT_FORECAST.warning(text, len(constant))] if constant else []


def _constant_wins(study: Rating) -> list[Finding]:
    if study.constant_wins is None:
        return []
    name, best = study.constant_wins
    text = (
        f"Forecasting the {name} of the actual values for every row has a better {study.primary.label} than "
        f"every system: {number(best)}."
    )
    return [kinds.CONSTANT_WINS.warning(text)]


def _binned(study: Rating) -> list[Finding]:
    text = (
        f"The errors have more than {study.settings.limits.bins:,} distinct values and are counted in bins: the median "
        f"absolute error and the quantiles of the error move by less than {power(study.bound)}; all means are exact."
    )
    return [kinds.BINNED_ERRORS.note(text, len(study.systems))] if study.bound else []


def _bands(study: Rating) -> list[Finding]:
    text = (
        f"Bands of the reliability diagrams: none; above {study.settings.limits.reading.rows:,} rows the rows of each "
        f"{study.unit_name} are not kept, from which they are drawn."
    )
    return [] if study.banded else [kinds.BANDS.note(text)]


def _drawn(study: Rating) -> list[Finding]:
    drawn, n = len(study.kept.sample.rows), len(study.account)
    of = ["the cells of pictures", *(["half-widths by decile"] if study.settings.unit else [])]
    of += ["half-widths of medians"] if study.medians else []
    known = f"; these half-widths are known to {max(study.unsure, 0.001):.1%}" if len(of) > 1 else ""
    text = f"From {drawn:,} of {n:,} rows, drawn by a hash, come {listed(of)}{known}. All else comes from all rows."
    make = kinds.DRAWN.warning if study.unsure > SURE else kinds.DRAWN.note
    return [] if study.data or (study.kept.sample.stands_for == 1).all() else [make(text, drawn)]


def _few(study: Rating) -> list[Finding]:
    floor = f" {measured.MEDIAN}" if {*study.medians} & {*study.directed} else ""
    n = diagnostics.most_units(study) if study.settings.unit else study.units
    return few_units(study, n, floor)


def _whole(study: Rating) -> list[Finding]:
    named = listed(chosen.label for chosen in study.medians if chosen in study.directed)
    text = (
        f"All errors are whole numbers, and so is nearly every {named}, whose error is hardly known. {measured.WHOLE}"
    )
    return [kinds.FALLS_SHORT.warning(text)] if named and study.errors[study.leader].whole else []


def _heavy(study: Rating) -> list[Finding]:
    text = (
        f"1% of the rows account for {study.heavy:.0%} of {study.leader}'s squared error: RMSE is driven by a "
        f"few rows. {measured.HEAVY}"
    )
    return [kinds.FEW_ROWS_DOMINATE.warning(text)] if study.heavy > HEAVY else []

"""The pictures of forecasts: actual against forecast, the errors, and whether forecasts are right on average."""

from typing import Any

from evalkit.drawing import forecast_plots, plots
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Html, of_rows, text, value
from evalkit.numbers import counted, decimals, number, signed
from evalkit.pages import pieces
from evalkit.pages.probabilities import DRAWN
from evalkit.studies import mean_reliability
from evalkit.studies.rating import BIAS, BINS, CELLS, Rating, bin_widths

pieces.listed(__name__)

CORNER = {"miscalibration": "MCB", "discrimination": "DSC", "uncertainty": "UNC"}


def actual_plot(study: Rating) -> Picture:
    """Actual values against forecasts, in cells shaded by their rows."""
    names = study.order[:DRAWN]
    frame = study.cells(names)
    what = "weight" if study.weighted else "number of rows"
    caption = (
        f"Actual value against forecast ({counted(len(study.account), 'row')}), in {CELLS} × "
        f"{CELLS} cells, coloured by their {what} (logarithmic, up to "
        f"{number(frame['rows'].max(), 0)} in a cell). Dotted: forecast = actual. "
        f"{_axes('each axis holds the central 99% of its values')}{_few(study)}"
    )
    labels: dict[str, Any] = {"xlabel": "forecast", "ylabel": "actual"}
    return plots.row(forecast_plots.cells, frame, caption=caption, panels=len(names), height=3.2, **labels)


def error_histogram_plot(study: Rating) -> Picture:
    """How the errors of each system are spread."""
    names = study.order[:DRAWN]
    means = {name: study.estimate(BIAS, name).value for name in names}
    frame = study.histogram(names)
    places = decimals(bin_widths(frame))
    values = "; ".join(f"{name} {signed(mean, places)}" for name, mean in means.items())
    caption = (
        f"Errors (forecast − actual) of {counted(len(study.account), 'row')}: share of the rows in "
        f"{BINS} equal bins. Dashed: the mean error. {_axes('the axis holds the central 99%')}"
        f"{_few(study)}"
    )
    labels: dict[str, Any] = {"xlabel": "error (forecast − actual)", "ylabel": "share of rows"}
    alt = f"{caption} Mean errors: {values}."
    return plots.row(
        forecast_plots.errors, frame, means, caption=caption, alt=alt, panels=len(names), height=2.6, **labels
    )


def reliability_plot(study: Rating) -> Picture:
    """The mean of the actual values along the forecast of each system, with the band of forecasts that are right."""
    names = study.order[:DRAWN]
    drawn = mean_reliability.drawn({name: study.means[name] for name in names})
    rows = study.parts.set_index("system").loc[names]
    words: dict[str, list[str]] = {name: [] for name in names}
    for column, short in CORNER.items():
        places = decimals(rows[column])
        for name in names:
            words[name].append(f"{short} {number(rows.loc[name, column], places)}")
    of_units = f"Errors of one {study.unit_name} vary together. " if study.settings.unit else ""
    of_such = f"{study.settings.level:.0%} of such curves if the forecasts are right (wild bootstrap)"
    band = f"Grey: at each forecast, {of_such}. {of_units}" if drawn.bands is not None else ""
    caption = (
        f"Reliability diagram of the mean without bins (CORP, isotonic regression, n = {len(study.account):,}). On "
        f"the dotted line forecasts are right on average; above it they are too low, below it too high. {band}"
        f"Below: histogram of the forecasts. MCB, DSC, UNC: see below. "
        f"{_axes('the axis holds the central 99% of the forecasts')}{_few(study)}"
    )
    values = "; ".join(f"{name}: {', '.join(lines)}" for name, lines in words.items())
    alt = f"{caption} {values}."
    data = (drawn.curve, drawn.bands, drawn.spread)
    return plots.row(forecast_plots.means, *data, caption=caption, alt=alt, panels=len(names), height=3.4, words=words)


def decomposition(study: Rating) -> Html:
    """The squared error of every system taken apart."""
    columns = {
        "system": text("system"),
        "MSE": value("mse"),
        "miscalibration (MCB)": value("miscalibration"),
        "discrimination (DSC)": value("discrimination"),
        "uncertainty (UNC)": value("uncertainty"),
        "(DSC − MCB) / UNC": value("skill"),
    }
    note = (
        "MSE = MCB − DSC + UNC (CORP, isotonic, no bins). Recalibration would remove MCB; only a forecast that orders "
        "rows better adds DSC; UNC, the variance of the actual values, is the same for all systems. The last column is "
        "R² against the mean of the actual values. On the rows it is fitted to, isotonic regression makes MCB and DSC "
        "somewhat too large."
    )
    return of_rows("The squared error taken apart", study.parts, columns, note)


def _axes(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}; what lies beyond is not drawn."


def _few(study: Rating) -> str:
    return f" The first {DRAWN} of {len(study.order)} systems." if len(study.order) > DRAWN else ""

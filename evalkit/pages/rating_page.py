"""The words, tables and pictures of the rating page, each from the study's frames."""

from typing import Any

import pandas as pd

from evalkit.drawing import curve_plots, plots, tables
from evalkit.drawing.plots import Picture
from evalkit.drawing.tables import Cell, Html, Results, escape, number, signed
from evalkit.pages import page, pieces, rating_findings
from evalkit.studies import rating_diagnostics
from evalkit.studies.rating import Rating
from evalkit.studies.words import counted

pieces.listed(__name__)


def title(s: Rating) -> Html:
    """The title and what was asked."""
    rows = counted(len(s.data.rows), "row")
    if len(s.order) == 1:
        asked = f"How near do the forecasts of {s.leader} come, by {s.primary.label}, on {rows}?"
    elif s.settings.baseline:
        asked = f"Does any system forecast better than {s.settings.baseline}, by {s.primary.label}, on {rows}?"
    else:
        asked = f"Which of {len(s.order)} systems forecasts best, by {s.primary.label}, on {rows}?"
    return tables.heading("Rating report", asked)


def findings(s: Rating) -> Html:
    """What to know of the data before the numbers."""
    return tables.findings(rating_findings.of(s))


def estimates(s: Rating) -> Html:
    """Every metric, and below what forecasting the mean would give."""
    caption = f"Errors with {s.settings.level:.0%} intervals, {page.sample(s, len(s.data.rows))}"
    row = [Cell("(mean of actual)", "muted"), *(Cell(number(s.constant(m)), "muted") for m in s.settings.metrics)]
    return page.estimates(s, caption, "(mean of actual): the mean of these very rows.", more=[row])


def error_plot(s: Rating) -> Picture:
    """The leader's error against its forecast."""
    name, drawn, n = s.leader, rating_diagnostics.cloud(s), len(s.data.rows)
    tenths = s.tenths[s.tenths["system"] == name]
    caption = (
        f"{name}: residual (actual − forecast) against the forecast, {len(drawn.error):,} of {counted(n, 'row')} "
        f"drawn, and the mean residual by tenths of the forecast with {s.settings.level:.0%} intervals."
    )
    labels: dict[str, Any] = {"xlabel": "forecast", "ylabel": f"actual − forecast (n = {n:,})"}
    return plots.picture(
        curve_plots.residuals,
        drawn.forecast,
        drawn.error,
        tenths,
        alt=caption,
        caption=caption,
        size=(7.6, 3.6),
        **labels,
    )


def bias_plot(s: Rating) -> Picture:
    """Mean forecast − mean actual by tenths of the forecast."""
    frame = s.tenths.rename(columns={"bias": "value"})
    across = plots.grid(len(s.order), across=4)[1]
    frame = frame[frame["system"].isin(s.order[:across])]
    caption = (
        f"Bias by tenths of each system's forecast, lowest first, with {s.settings.level:.0%} intervals "
        f"({counted(len(s.data.rows), 'row')}). Above 0: forecasts too high."
    )
    size = plots.wide(across, edge=2.2, each=2.4, height=3.0)
    return plots.picture(
        curve_plots.tenths,
        frame,
        alt=caption,
        caption=caption,
        size=size,
        panels=(1, across),
        ylabel="bias (forecast − actual)",
    )


def tenths(s: Rating) -> Html:
    """The leader by tenths of its forecast."""
    part = s.tenths[s.tenths["system"] == s.leader]
    rows = [
        [
            Cell(f"{row['tenth']}"),
            Cell(f"{row['n']:,}"),
            Cell(number(row["forecast"])),
            Cell(number(row["actual"])),
            Cell(tables.with_interval(row["bias"], row["low"], row["high"], signed)),
        ]
        for row in part.to_dict("records")
    ]
    caption = f"{s.leader} by tenths of its forecast, with {s.settings.level:.0%} intervals"
    return tables.table(caption, ["tenth", "n", "mean forecast", "mean actual", "bias"], rows)


def spread(s: Rating) -> Html:
    """Quantiles of the errors."""
    names = [column for column in s.spread.columns if column != "system"]
    rows = [
        [Cell(escape(row["system"])), *(Cell(signed(row[name])) for name in names)]
        for row in s.spread.to_dict("records")
    ]
    note = "Of forecast − actual: half of the errors lie between the 25% and the 75% column."
    return tables.table("Quantiles of the error", ["system", *names], rows, note)


def extremes(s: Rating) -> Html:
    """The rows that the leader misses by most."""
    rows = [
        [Cell(escape(row["id"])), *(Cell(number(row[k])) for k in ("actual", "forecast")), Cell(signed(row["error"]))]
        for row in s.extremes().to_dict("records")
    ]
    return tables.table(f"Rows that {s.leader} misses by most", ["row", "actual", "forecast", "error"], rows)


def definitions(s: Rating) -> Html:
    """Exactly the metrics shown, then the intervals and the tests."""
    win = "rows on which the first system's forecast is nearer, as near, farther"
    items = [
        *page.metric_definitions(s),
        ("intervals", s.intervals_are),
        ("tests", s.tests_are),
        ("win / tie / loss", win),
    ]
    return tables.definitions(items)


def origin(s: Rating) -> Html:
    """Inputs, parameters, versions, the command."""
    return page.origin(s, s.data.rows.sources, "rating")


def results(s: Rating) -> Results:
    """Every number of the page, unrounded."""
    rows = s.data.rows
    frames = {"tenths": s.tenths, "errors": s.spread, "extremes": s.extremes()}
    more = page.population(rows) | {k: _records(frame) for k, frame in frames.items()}
    return page.results(s, "rating", rows.sources, rating_findings.of(s), more)


def _records(frame: pd.DataFrame) -> list[dict]:
    return frame.to_dict("records")

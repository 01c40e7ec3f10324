"""The words, tables and figures of the rating page, each from the study's frames."""

from collections.abc import Iterator, Sequence

import pandas as pd

from evalkit.drawing import curve_plots, figures, paragraphs
from evalkit.drawing.columns import Column, text, value
from evalkit.drawing.pieces import Html
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.numbers import counted, decimals, listed, number, percent, plural, share, signed
from evalkit.pages import as_json, first_screen, page, pieces, shared_findings, texts
from evalkit.pages.binary_page import DRAWN
from evalkit.pages.explorer import explorer, recorded
from evalkit.pages.slices_page import weak_slice_plot, weak_slices
from evalkit.parameters.kinds import MEAN_OF_ACTUAL
from evalkit.reading.inputs.time_columns import Unordered
from evalkit.report import Results
from evalkit.studies import diagnostics, reliability
from evalkit.studies.rating import BIAS, BINS, CELLS, EQUAL, HEAVY, MISSED, Rating, bin_widths

pieces.offered(__name__)


SURE = 0.05  # by how much a half-width may be off
EXPECTED_SHARE = ((0.0, 1.0), (1.0, 1.0))  # the line y = 1, from x = 0 to x = 1


def title(study: Rating) -> Html:
    """The title and what was asked."""
    return first_screen.title("rating", study, counted(len(study.account), "row"))


def estimates(study: Rating) -> Html:
    """Every metric, and below what forecasting the mean would give."""
    caption = (
        f"Errors with {study.settings.level:.0%} intervals, "
        f"{page.sample(study, len(study.account))}"
    )
    metrics = study.settings.metrics
    rows = [
        page.reference(study, "(mean of actual)", study.constant, metrics),
        page.reference(study, "(median of actual)", study.constant_median, metrics),
    ]
    note = texts.sentence("rating.estimates_note")
    if study.rows_without_reference is not None:
        name = f"({study.p.reference})"
        rows.append(page.reference(study, name, study.reference_value, metrics))
        note += " " + texts.sentence("rating.reference_note", name=name)
    return page.estimates(study, caption, note, references=rows)


def error_plot(study: Rating) -> figures.Figure:
    """The leader's error against its forecast."""
    name = study.leader
    n = len(study.account)
    tenths = study.tenths[study.tenths["system"] == name]
    caption = texts.sentence(
        "rating.error_plot", name=name, rows=counted(n, "row"), level=study.settings.level
    )
    return figures.picture(
        curve_plots.error_cells,
        study.error_cells,
        tenths,
        caption=caption,
        height=3.2,
        name=name,
        xlabel="forecast",
        ylabel=f"forecast − actual (n = {n:,})",
    )


def bias_plot(study: Rating) -> figures.Figure:
    """Mean forecast − mean actual by tenths of the forecast."""
    frame = study.tenths.rename(columns={"bias": "value"})
    across = figures.grid(len(study.order), across=4)[1]
    frame = frame[frame["system"].isin(study.order[:across])]
    caption = texts.sentence(
        "rating.bias_plot", level=study.settings.level, rows=counted(len(study.account), "row")
    )
    return figures.row(
        curve_plots.tenths, frame, caption=caption, panels=across, ylabel="bias (forecast − actual)"
    )


def tenths(study: Rating) -> Html:
    """The leader by tenths of its forecast."""
    columns = "decile=tenth i | n n | mean forecast=forecast # | mean actual=actual # | bias ±[]"
    caption = f"{study.leader} by decile of its forecast, with {study.settings.level:.0%} intervals"
    return of_rows(caption, study.tenths[study.tenths["system"] == study.leader], columns)


def spread(study: Rating) -> Html:
    """Quantiles of the errors."""
    columns: dict[str, Column] = {}
    for name in study.spread.columns:
        columns[name] = text(name) if name == "system" else value(name, signed)
    note = "Error: forecast − actual. Half of the errors lie between the 25% and the 75% column."
    return of_rows("Quantiles of the error", study.spread, columns, note)


def extremes(study: Rating) -> Html:
    """The rows that the leader misses by most."""
    columns = "row=id | actual # | forecast # | error ±"
    return of_rows(f"Rows with the largest errors of {study.leader}", study.extremes(), columns)


def definitions(study: Rating) -> Html:
    """Exactly the metrics shown, then the intervals and the tests."""
    items = page.metric_definitions(study)
    items.append(("intervals", study.intervals_are))
    tests = page.test_definitions(study)
    if tests:
        units = plural(study.unit_name, 2)
        wins = (
            f"{units} with a value where the first system's absolute error is smaller, equal, "
            f"larger"
        )
        items += tests
        items.append((f"{units} won / tied / lost", wins))
    return paragraphs.definitions(items)


findings, origin = page.findings, page.origin


def results(study: Rating) -> Results:
    """Every number of the page, unrounded."""
    fields: dict[str, object] = {**as_json.population(study.account)}
    fields |= as_json.records(tenths=study.tenths, errors=study.spread, extremes=study.extremes())
    fields |= {"forecasts": _forecasts(study)} | recorded(study)
    if study.stated.intervals:
        fields["intervals"] = as_json.records(coverage=study.coverages, transform=study.transform)
    return as_json.results(study, every_finding(study), fields)


def _forecasts(study: Rating) -> dict[str, object]:
    """What the pictures of forecasts draw: how many rows are drawn, and how many rows of the table
    each stands for; two-dimensional histograms of the forecast and the actual value (actual, all
    systems), and of the leader's forecast and its error (leader); the histogram of errors; the
    curves of the mean actual value by forecast (isotonic), and with them the decomposition of the
    squared error (parts), a row for each system.
    """
    isotonic = reliability.drawn_means(study.means)
    return {
        "drawn": {"rows": study.rows_drawn, "stands_for": study.rows_each_stands_for},
        "actual": _cells(study.cells(study.order)),
        "leader": _cells(study.error_cells),
        "errors": study.histogram(study.order).to_dict("list"),
        "isotonic": isotonic.recorded(),
        "parts": study.parts.to_dict("records"),
    }


def _cells(frame: pd.DataFrame) -> dict[str, object]:
    """The cells of a picture for the JSON: the width and the height, which all share, and the other
    columns as lists.
    """
    fields: dict[str, object] = {
        "width": frame["width"].iloc[0],
        "height": frame["height"].iloc[0],
    }
    fields |= frame.drop(columns=["width", "height"]).to_dict("list")
    return fields


def every_finding(study: Rating) -> Iterator[kinds.Finding]:
    """Every finding of a rating report, those on the input first, those on the sample last."""
    yield from shared_findings.rows_read(study.account)
    yield from _target(study)
    yield from shared_findings.rows_without_value(study.rows_without_value, len(study.account))
    yield from _constant_is_better(study)
    yield from _distributions(study)
    yield from _in_time(study)
    yield from _reference(study)
    yield from _errors(study)
    yield from _sampled(study)
    yield from shared_findings.weights(study)
    units = study.unit_count
    if study.settings.unit:
        units = diagnostics.most_units(study)
    compares_medians = not set(study.medians).isdisjoint(study.directed)
    on_medians = f" {kinds.measured.MEDIAN}" if compares_medians else ""
    yield from shared_findings.few_units(study, units, on_medians)
    yield from shared_findings.of_sample(study)


def _target(study: Rating) -> Iterator[kinds.Finding]:
    """How the actual values are spread, whether they vary, and which forecasts do not."""
    actual = study.actual
    yield kinds.TARGET_VALUES.note(
        len(study.account),
        "forecasts",
        mean=number(actual.mean),
        deviation=number(actual.deviation),
        low=actual.low,
        high=actual.high,
        zeros=share(actual.zeros),
    )
    if actual.low == actual.high:
        yield kinds.CONSTANT_TARGET.warning()
    if study.settings.unit:
        n = study.unit_count
        yield kinds.CLUSTERED.note(n, unit=study.unit_name, units=counted(n, study.unit_name))
    constant = [name for name, values in study.forecasts.items() if values.low == values.high]
    if constant:
        yield kinds.CONSTANT_FORECAST.warning(len(constant), systems=listed(constant))


def _constant_is_better(study: Rating) -> Iterator[kinds.Finding]:
    """That a constant forecast is better than all systems by the metric that decides, then than
    systems by other metrics, as far as it is.
    """
    reported = set[str]()
    if study.constant_wins is not None:
        name, best = study.constant_wins
        label = study.primary.label
        yield kinds.CONSTANT_WINS.warning(name=name, metric=label, best=number(best))
        reported = {label}
    yield from shared_findings.constant_better(study, reported)


def _errors(study: Rating) -> Iterator[kinds.Finding]:
    """Where a forecast of the median falls short, few rows dominate, or errors were counted in
    bins.
    """
    medians = [chosen.label for chosen in study.medians if chosen in study.directed]
    if medians and study.errors[study.leader].integers:
        finding = kinds.FALLS_SHORT.warning(metrics=listed(medians))
        yield finding.for_metrics(medians, study.primary.label)
    if study.heavy > HEAVY:
        yield kinds.FEW_ROWS_DOMINATE.warning(
            None, "squared", share=study.heavy, leader=study.leader
        )
    if study.scored_by_few:
        metrics = [chosen.label for chosen in study.scored_by_few]
        finding = kinds.FEW_ROWS_DOMINATE.note(
            len(metrics),
            "misses",
            units=plural(study.unit_name, 2),
            most=MISSED,
            metrics=listed(metrics),
        )
        yield finding.for_metrics(metrics, study.primary.label)
    if study.equal_units is not None and study.equal_units < EQUAL:
        yield kinds.FEW_ROWS_DOMINATE.note(
            study.equal_units,
            "unequal",
            units=plural(study.unit_name, 2),
            metrics=listed(chosen.label for chosen in study.squared),
            equal=study.equal_units,
        )
    if study.quantile_bound:
        bins = study.settings.limits.bins
        bound = shared_findings.power(study.quantile_bound)
        yield kinds.BINNED_ERRORS.note(len(study.systems), most=bins, bound=bound)


def _sampled(study: Rating) -> Iterator[kinds.Finding]:
    """What a table that is not held lacks, and what comes from a sample of its rows."""
    if not study.banded:
        most_rows = study.settings.limits.reading.rows
        yield kinds.BANDS.note(None, "reliability", most=most_rows, unit=study.unit_name)
    if study.data or study.table_summary.sample.stands_for == 1:
        return
    half_widths = []
    if study.settings.unit:
        half_widths.append("half-widths by decile")
    if study.medians:
        half_widths.append("half-widths of medians")
    precision = ""
    if half_widths:
        uncertainty = max(study.uncertainty_of_widths, 0.001)
        precision = f"; these half-widths are known to {uncertainty:.1%}"
    severity = kinds.WARNING if study.uncertainty_of_widths > SURE else kinds.NOTE
    yield kinds.DRAWN.rated(
        severity,
        study.rows_drawn,
        drawn=study.rows_drawn,
        n=len(study.account),
        of=listed(["the cells of pictures", *half_widths]),
        known=precision,
    )


def _wrong_coverages(study: Rating) -> Iterator[kinds.Finding]:
    """Whose intervals hold fewer actual values than their level says, and whose more."""
    wrong_coverages = study.wrong_coverages
    is_narrow = wrong_coverages["value"] < wrong_coverages["nominal"]
    narrow = _coverages(wrong_coverages[is_narrow])
    if narrow:
        yield kinds.INTERVAL_COVERAGE.warning(len(narrow), "narrow", coverage=listed(narrow))
    wide = _coverages(wrong_coverages[~is_narrow])
    if wide:
        yield kinds.INTERVAL_COVERAGE.note(len(wide), "wide", coverage=listed(wide))


def _coverages(frame: pd.DataFrame) -> list[str]:
    """How many actual values the intervals of a system hold, for each row of `wrong_coverages`."""
    texts = []
    for row in frame.itertuples():
        limits = f"[{row.low:.0%}, {row.high:.0%}]"
        level = percent(row.nominal)
        texts.append(f"{row.system} {row.value:.0%} {limits} instead of {level}")
    return texts


def _distributions(study: Rating) -> Iterator[kinds.Finding]:
    """How the intervals of the systems fail, and which columns of quantiles were not read."""
    if study.stated.intervals:
        yield from _wrong_coverages(study)
    if study.crossings:
        rows = []
        for name, (n_rows, worst_row) in study.crossings.items():
            rows.append(f"{n_rows:,} of {name}, most in row {worst_row}")
        yield kinds.CROSSING_QUANTILES.warning(len(rows), rows=listed(rows))
    if study.assumed_columns:
        columns = listed(map(repr, study.assumed_columns))
        yield kinds.ASSUMED_LEVEL.note(len(study.assumed_columns), columns=columns)
    if study.numbered_systems:
        yield kinds.UNREAD_DISTRIBUTION.note(
            len(study.numbered_systems),
            "numbered",
            first=repr(study.numbered_systems[0]),
            last=repr(study.numbered_systems[-1]),
        )
    unlike = study.unlike_distributions
    if unlike:
        stated = [f"{name}: {distribution}" for name, distribution in unlike.items()]
        ways = listed(stated, joint="; ")
        yield kinds.UNREAD_DISTRIBUTION.warning(len(unlike), "unlike", ways=ways)
    elif study.unread_columns:
        columns = listed(map(repr, study.unread_columns))
        yield kinds.UNREAD_DISTRIBUTION.note(len(study.unread_columns), "unclear", columns=columns)


def _in_time(study: Rating) -> Iterator[kinds.Finding]:
    """How intervals and tests take rows with a time, and where they may be wrong; nothing where
    the parameter `unit` says what varies.
    """
    timing = study.timing
    if timing is None or study.p.unit:
        return
    order = timing.order
    column = timing.columns.time
    if isinstance(order, Unordered):
        severity = kinds.NOTE if order.form in ("irregular", "single") else kinds.WARNING
        yield kinds.TIMES_WITHOUT_ORDER.rated(severity, order.rows, order.form, column=order.column)
        return
    if study.settings.unit:
        series = counted(order.series_count, "series")
        yield kinds.TIME_ORDER.note(order.series_count, "series", column=column, series=series)
        return
    added = ""
    if order.series_count > 1:
        added = f"; the rows of {order.series_count} series are added up by time"
    times = counted(order.times, "time")
    facts = {"column": column, "times": times, "added": added}
    if order.lags:
        steps = counted(order.lags, "step")
        yield kinds.TIME_ORDER.note(order.times, "used", **facts, steps=steps)
    else:
        yield kinds.TIME_ORDER.note(order.times, "one_step", **facts)
    horizon = order.longest_horizon
    if order.has_few_times and order.times > horizon:
        yield kinds.TIME_ORDER.warning(order.times, "few", times=times, steps=horizon)
    elif order.has_few_times:
        yield kinds.TIME_ORDER.warning(order.times, "too_few", count=order.times, steps=horizon)
    yield from _autocorrelated(study)
    if study.tapered:
        yield kinds.TIME_ORDER.note(len(study.tapered), "tapered", metrics=listed(study.tapered))


def _autocorrelated(study: Rating) -> Iterator[kinds.Finding]:
    """That errors depend on earlier ones than intervals and tests assume, if they do."""
    correlation = study.autocorrelation
    if correlation is not None and correlation.value > correlation.limit:
        yield kinds.TIME_ORDER.warning(
            None,
            "autocorrelated",
            lag=correlation.lag,
            value=number(correlation.value, 2),
            metric=study.primary.label,
        )


def _reference(study: Rating) -> Iterator[kinds.Finding]:
    """What skill and scaled errors are measured against."""
    if study.p.reference is None:
        return
    without = study.rows_without_reference
    if without is not None:
        rows = f"{counted(without, 'row')} of {len(study.account):,}"
        severity = kinds.NOTE if without < len(study.account) else kinds.WARNING
        yield kinds.REFERENCE.rated(
            severity, without, "forecast", reference=study.p.reference, rows=rows
        )
    timing = study.timing
    is_naive = study.p.reference != MEAN_OF_ACTUAL
    if is_naive and timing is not None and timing.ordered and not timing.ordered.is_even:
        yield kinds.REFERENCE.warning(None, "uneven", column=timing.columns.time)
    rescaled = set(study.computed_scales)
    scaled = []
    for chosen in study.settings.metrics:
        if not rescaled.isdisjoint(chosen.metric.columns):
            scaled.append(chosen.label)
    if scaled:
        metrics = listed(scaled)
        finding = kinds.REFERENCE.warning(
            None, "scale", metrics=metrics, reference=study.p.reference
        )
        yield finding.for_metrics(scaled, study.primary.label)


@pieces.where(lambda study: study.by_horizon is not None)
def horizon_plot(study: Rating) -> figures.Figure | Html:
    """The metric that decides by horizon."""
    systems = study.order[:DRAWN]
    frame = study.by_horizon
    assert frame is not None
    frame = frame[frame["system"].isin(systems)].rename(columns={"value": "y"})
    metric = study.primary.label
    panel = curve_plots.Panel(frame, "steps ahead", metric, bands=frame)
    caption = texts.sentence(
        "rating.horizon_plot", metric=metric, level=study.settings.level, first=_first(study)
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1, height=2.8)


has_intervals = pieces.where(lambda study: bool(study.stated.intervals))


@has_intervals
def coverage_plot(study: Rating) -> figures.Figure | Html:
    """The coverage of the intervals of each system, by their level."""
    frame = study.coverages[study.coverages["system"].isin(study.order[:DRAWN])]
    rows = counted(len(study.account), "row")
    caption = texts.sentence(
        "rating.coverage_plot", level=study.settings.level, rows=rows, first=_first(study)
    )
    coverages = []
    for row in frame.itertuples():
        coverages.append(f"{row.system} {row.value:.0%} of {percent(row.nominal)}")
    says = f"{listed(coverages, 6)}."
    return figures.picture(curve_plots.coverage, frame, caption=caption, says=says, height=3.2)


@has_intervals
def transform_plot(study: Rating) -> figures.Figure | Html:
    """How the actual values lie between neighbouring quantiles of each system."""
    systems = study.order[:DRAWN]
    frame = study.transform.rename(columns={"high": "x", "density": "y"})
    panels = []
    for name in systems:
        densities = frame[frame["system"] == name]
        lines = pd.concat([densities[:1].assign(x=0.0), densities])  # the first step begins at 0
        panels.append(
            curve_plots.Panel(
                lines.assign(system=systems[0]),  # all panels in the colour of the first system
                "quantile",
                "times the expected share",
                name,
                reference=EXPECTED_SHARE,
                steps=curve_plots.STEPS,
            )
        )
    caption = texts.sentence(
        "rating.transform_plot", rows=counted(len(study.account), "row"), first=_first(study)
    )
    return figures.row(curve_plots.panels, panels, caption=caption, panels=len(systems), height=2.6)


@has_intervals
def fan_plot(study: Rating) -> figures.Figure | Html:
    """The intervals of some rows of the leader, with their actual values."""
    intervals, points = study.examples
    levels = [percent(level) for level in intervals["nominal"].unique()]
    what = f"central intervals of {listed(levels)}"
    if len(levels) > 1:
        what = f"{what} (the darker, the narrower)"
    rows = counted(len(study.account), "row")
    facts = {"name": study.leader, "intervals": what}
    if study.timing is None or study.timing.ordered is None:
        caption = texts.sentence("rating.fan_plot", drawn=len(points), rows=rows, **facts)
        xlabel = "row"
    else:
        times = counted(len(points), "time")
        series = f" of {study.example_series}" if study.example_series else ""
        steps = counted(int(study.timing.ordered.horizons[0]), "step")
        caption = texts.sentence(
            "rating.fan_plot_in_time", times=times, series=series, steps=steps, **facts
        )
        xlabel = "time"
    return figures.picture(
        curve_plots.fan,
        intervals,
        points,
        caption=caption,
        height=2.8,
        xlabel=xlabel,
        names=study.example_times,
    )


CORNER = {"miscalibration": "MCB", "discrimination": "DSC", "uncertainty": "UNC"}


def actual_plot(study: Rating) -> figures.Figure:
    """The leader's forecasts and the actual values, in cells shaded by their rows."""
    return _actual(study, [study.leader])


def other_actual_plot(study: Rating) -> figures.Figure | Html:
    """The same of the other systems, folded."""
    names = study.order[1:DRAWN]
    if not names:
        return Html("")
    return _actual(study, names).folded(f"Actual value against forecast: {listed(names)}")


def _actual(study: Rating, names: Sequence[str]) -> figures.Figure:
    """Forecasts and actual values of these systems, a panel each."""
    frame = study.cells(names)
    what = "weight" if study.weighted else "number of rows"
    caption = texts.sentence(
        "rating.actual_plot",
        names=listed(names),
        what=what,
        rows=counted(len(study.account), "row"),
        cells=CELLS,
        most=number(frame["rows"].max(), 0),
    )
    return figures.row(
        curve_plots.cells,
        frame,
        caption=caption,
        panels=len(names),
        height=3.2,
        xlabel="forecast",
        ylabel="actual",
    )


def error_histogram_plot(study: Rating) -> figures.Figure:
    """How the errors of each system are spread."""
    names = study.order[:DRAWN]
    means = {name: study.estimate(BIAS, name).value for name in names}
    frame = study.histogram(names)
    places = decimals(bin_widths(frame))
    values = "; ".join(f"{name} {signed(mean, places)}" for name, mean in means.items())
    rows = counted(len(study.account), "row")
    caption = texts.sentence(
        "rating.error_histogram_plot", rows=rows, bins=BINS, first=_first(study)
    )
    return figures.row(
        curve_plots.errors,
        frame,
        means,
        caption=caption,
        xlabel="error (forecast − actual)",
        ylabel="share of rows",
        says=f"Mean errors: {values}.",
        panels=len(names),
        height=2.6,
    )


def reliability_plot(study: Rating) -> figures.Figure:
    """The mean of the actual values along the forecast of each system, with the band of forecasts
    that are right.
    """
    names = study.order[:DRAWN]
    curves = reliability.drawn_means({name: study.means[name] for name in names})
    rows = study.parts.set_index("system").loc[names]
    words: dict[str, list[str]] = {name: [] for name in names}
    for column, short in CORNER.items():
        places = decimals(rows[column])
        for name in names:
            words[name].append(f"{short} {number(rows.loc[name, column], places)}")
    band = ""
    if curves.bands is not None:
        band = (
            f"Grey: at each forecast, {study.settings.level:.0%} of such curves if the forecasts "
            f"are right (wild bootstrap). "
        )
        if study.settings.unit:
            band += f"Errors of one {study.unit_name} vary together. "
    caption = texts.sentence(
        "rating.reliability_plot", rows=len(study.account), band=band, first=_first(study)
    )
    return page.diagrams(curve_plots.means, curves, words, caption, panels=len(names), height=3.4)


def decomposition(study: Rating) -> Html:
    """The squared error of every system taken apart."""
    columns = (
        "system | MSE=mse # | miscalibration (MCB)=miscalibration # | discrimination "
        "(DSC)=discrimination # | uncertainty (UNC)=uncertainty # | R²=skill #"
    )
    note = texts.sentence("rating.decomposition_note")
    return of_rows("The squared error taken apart", study.parts, columns, note)


def _first(study: Rating) -> str:
    """The sentence that only the first systems are drawn; "" if all are."""
    if len(study.order) <= DRAWN:
        return ""
    return f" The first {DRAWN} of {len(study.order)} systems."


SUMMARY = (first_screen.verdict, estimates, page.comparisons)
PIECES = (
    title,
    first_screen.verdict,
    findings,
    estimates,
    page.differences,
    page.comparisons,
    actual_plot,
    error_plot,
    coverage_plot,
    transform_plot,
    fan_plot,
    error_histogram_plot,
    other_actual_plot,
    spread,
    extremes,
    explorer,
    reliability_plot,
    decomposition,
    bias_plot,
    tenths,
    horizon_plot,
    page.segment_plot,
    page.segments,
    weak_slice_plot,
    weak_slices,
    definitions,
    origin,
)

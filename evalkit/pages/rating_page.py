"""The words, tables and figures of the rating page, each from the study's frames."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from evalkit.drawing import curve_plots, figures, paragraphs
from evalkit.drawing.columns import Column, text, value
from evalkit.drawing.pieces import Html
from evalkit.drawing.tables import of_rows
from evalkit.findings import kinds
from evalkit.numbers import (
    count_with_noun,
    decimals,
    listed,
    number,
    percent,
    plural,
    share,
    signed_number,
)
from evalkit.pages import as_json, first_screen, page, pieces, shared_findings, texts
from evalkit.pages.binary_page import DRAWN
from evalkit.pages.explorer import explorer, listed_rows
from evalkit.pages.slices_page import weak_slice_plot, weak_slices
from evalkit.parameters.kinds import MEAN_OF_ACTUAL
from evalkit.reading.inputs.time_columns import NoTimeOrder
from evalkit.report import Results
from evalkit.studies import diagnostics, reliability
from evalkit.studies.rating import BIAS, BINS, CELLS, EQUAL, HEAVY, MISSED, Rating, bin_widths

if TYPE_CHECKING:
    from evalkit.metrics.time_order import TimeOrder

pieces.offer_pieces(__name__)


MOST_UNCERTAIN = 0.05  # by how much the half-width of an interval may be off without a warning
MOST_NAMED = 6  # coverages in the words that stand for a figure
EXPECTED_SHARE = ((0.0, 1.0), (1.0, 1.0))  # the line y = 1, from x = 0 to x = 1


def title(study: Rating) -> Html:
    """The title and what was asked."""
    return first_screen.title("rating", study, count_with_noun(len(study.account), "row"))


def estimates(study: Rating) -> Html:
    """The table of every metric of each system with its interval; below the systems, in rows for
    comparison, the metrics of forecasting a constant for every row, its best in hindsight (the mean
    or the median of the actual values), and those of the reference forecast, if one is used.
    """
    caption = (
        f"Errors with {study.settings.level:.0%} intervals, "
        f"{page.sample(study, len(study.account))}"
    )
    metrics = study.settings.metrics
    reference_rows = [
        page.reference_row(study, "(mean of actual)", study.constant, metrics),
        page.reference_row(study, "(median of actual)", study.constant_median, metrics),
    ]
    note = texts.sentence("rating.estimates_note")
    if study.rows_without_reference is not None:  # None: no reference is named or used
        name = f"({study.p.reference})"
        reference_rows.append(page.reference_row(study, name, study.reference_value, metrics))
        note += " " + texts.sentence("rating.reference_note", name=name)
    return page.estimates(study, caption, note, references=reference_rows)


def error_plot(study: Rating) -> figures.Figure:
    """The leader's error against its forecast: the rows as shaded cells, and over them the mean
    error in each tenth of the forecasts with its interval.
    """
    name = study.leader
    n = len(study.account)
    tenths = study.tenths[study.tenths["system"] == name]
    caption = texts.sentence(
        "rating.error_plot", name=name, rows=count_with_noun(n, "row"), level=study.settings.level
    )
    return figures.figure_drawn_by(
        curve_plots.draw_error_cells,
        study.error_cells,
        tenths,
        caption=caption,
        height=3.2,
        name=name,
        xlabel="forecast",
        ylabel=f"forecast − actual (n = {n:,})",
    )


def bias_plot(study: Rating) -> figures.Figure:
    """The mean forecast − the mean actual value in each tenth of the rows by their forecast, with
    intervals: a panel for each of the first systems, as many as one row of panels holds.
    """
    _, columns = figures.grid(len(study.order), across=4)  # the rows and columns of all panels
    biases = study.tenths.rename(columns={"bias": "value"})
    biases = biases[biases["system"].isin(study.order[:columns])]
    caption = texts.sentence(
        "rating.bias_plot",
        level=study.settings.level,
        rows=count_with_noun(len(study.account), "row"),
    )
    return figures.row(
        curve_plots.tenths,
        biases,
        caption=caption,
        panels=columns,
        ylabel="bias (forecast − actual)",
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
        columns[name] = text(name) if name == "system" else value(name, signed_number)
    note = "Error: forecast − actual. Half of the errors lie between the 25% and the 75% column."
    return of_rows("Quantiles of the error", study.spread, columns, note)


def extremes(study: Rating) -> Html:
    """The rows that the leader misses by most."""
    columns = "row=id | actual # | forecast # | error ±"
    return of_rows(f"Rows with the largest errors of {study.leader}", study.extremes(), columns)


def definitions(study: Rating) -> Html:
    """Exactly the metrics shown, then the intervals and the tests."""
    items = page.metric_definitions(study)
    items.append(("intervals", study.interval_methods_text))
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
    """Every number of the page, unrounded, for the JSON. `intervals` is missing if no forecast
    states a prediction interval.
    """
    # the columns and the number of rows
    fields: dict[str, object] = {**as_json.population_fields(study.account)}
    # errors: their quantiles; extremes: the rows with the largest errors
    fields |= as_json.frames_as_records(
        tenths=study.tenths, errors=study.spread, extremes=study.extremes()
    )
    fields["forecasts"] = _forecast_figures(study)
    fields |= listed_rows(study)
    if study.stated.intervals:
        fields["intervals"] = as_json.frames_as_records(
            coverage=study.coverages, transform=study.pit_histogram
        )
    return as_json.results(study, every_finding(study), fields)


def _forecast_figures(study: Rating) -> dict[str, object]:
    """The numbers behind the figures of forecasts, for the JSON: how many rows are in the sample
    that is drawn; histograms of forecasts, actual values and errors; isotonic curves of the mean
    actual value by forecast, and the decomposition of the squared error that they give.
    """
    isotonic = reliability.drawn_means(study.means)
    return {
        # stands_for: how many rows of the table each row of the sample represents on average
        "drawn": {"rows": study.rows_drawn, "stands_for": study.rows_each_stands_for},
        # two-dimensional: forecast and actual value of each system, forecast and error of the best
        "actual": _histogram_fields(study.cells(study.order)),
        "leader": _histogram_fields(study.error_cells),
        "errors": study.histogram(study.order).to_dict("list"),
        "isotonic": isotonic.points_for_json(),
        "parts": study.parts.to_dict("records"),
    }


def _histogram_fields(frame: pd.DataFrame) -> dict[str, object]:
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
    yield from _few_units(study)
    yield from shared_findings.of_sample(study)


def _few_units(study: Rating) -> Iterator[kinds.Finding]:
    """A warning if there are few independent units (rows, or the units that were named); if systems
    are compared by a median, with a sentence on how its tests err on few units in simulations.
    """
    units = study.unit_count
    if study.settings.unit:
        units = diagnostics.most_units(study)  # the largest number of any estimate
    compares_medians = not set(study.median_metrics).isdisjoint(study.metrics_with_direction)
    remark = f" {kinds.measured.MEDIAN}" if compares_medians else ""
    yield from shared_findings.few_units(study, units, remark)


def _target(study: Rating) -> Iterator[kinds.Finding]:
    """A note on the distribution of the actual values, a warning if all are equal, a note if rows
    are clustered in units, and a warning for systems that forecast the same value for every row.
    """
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
        yield kinds.CLUSTERED.note(
            n, unit=study.unit_name, units=count_with_noun(n, study.unit_name)
        )
    constant = [name for name, values in study.forecasts.items() if values.low == values.high]
    if constant:
        yield kinds.CONSTANT_FORECAST.warning(len(constant), systems=listed(constant))


def _constant_is_better(study: Rating) -> Iterator[kinds.Finding]:
    """A warning if a constant forecast (the mean or the median of the actual values) beats all
    systems by the metric that decides, and one for other metrics by which it beats some system.
    """
    reported = set[str]()  # metrics that the first warning is about: the second leaves them out
    winner = study.constant_wins  # None if no constant beats all systems
    if winner is not None:
        label = study.primary_metric.label
        best = number(winner.value)
        yield kinds.CONSTANT_WINS.warning(name=winner.name, metric=label, best=best)
        reported = {label}
    yield from shared_findings.better_constant_prediction(study, reported)


def _errors(study: Rating) -> Iterator[kinds.Finding]:
    """Findings on the distribution of errors: medians of whole numbers, whose intervals are too
    short; metrics that are made up by few rows or units; errors that were counted in bins, which
    makes quantiles inexact.
    """
    medians = [
        chosen.label for chosen in study.median_metrics if chosen in study.metrics_with_direction
    ]
    if medians and study.errors[study.leader].integers:
        finding = kinds.FALLS_SHORT.warning(metrics=listed(medians))
        yield finding.for_metrics(medians, study.primary_metric.label)
    largest = study.share_of_largest_errors  # of 1% of the rows in the leader's squared error
    if largest > HEAVY:
        yield kinds.FEW_ROWS_DOMINATE.warning(None, "squared", share=largest, leader=study.leader)
    if study.scored_by_few:  # such as the loss of an extreme quantile, which few rows exceed
        metrics = [chosen.label for chosen in study.scored_by_few]
        finding = kinds.FEW_ROWS_DOMINATE.note(
            len(metrics),
            "misses",
            units=plural(study.unit_name, 2),
            most=MISSED,
            metrics=listed(metrics),
        )
        yield finding.for_metrics(metrics, study.primary_metric.label)
    # units of unequal weight tell as much about the mean squared error as this many equal ones
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
    """Findings on a table that is not in memory as a whole: that reliability diagrams have no
    bands, and which numbers come from a sample of its rows, with their precision; a warning if
    half-widths of intervals from the sample may be off by too much.
    """
    if not study.has_bands:
        most_rows = study.settings.limits.reading.rows
        yield kinds.BANDS.note(None, "reliability", most=most_rows, unit=study.unit_name)
    if study.data or study.table_summary.sample.stands_for == 1:  # the sample has every row
        return
    half_widths = []  # of intervals that need rows, not sums: they come from the sample
    if study.settings.unit:
        half_widths.append("half-widths by decile")
    if study.median_metrics:
        half_widths.append("half-widths of medians")
    precision = ""
    uncertainty = study.uncertainty_of_widths  # relative, such as 0.02
    if half_widths:
        precision = f"; these half-widths are known to {max(uncertainty, 0.001):.1%}"
    severity = kinds.WARNING if uncertainty > MOST_UNCERTAIN else kinds.NOTE
    yield kinds.DRAWN.finding_with_severity(
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
    """Findings on the distributions that forecasts state by quantiles, bounds or draws: intervals
    with the wrong coverage, quantiles that cross, bounds whose level was assumed, and columns that
    look like such a distribution but were not read as one.
    """
    if study.stated.intervals:
        yield from _wrong_coverages(study)
    rows = []  # with a lower quantile above a higher one
    for name, crossed in study.crossings.items():
        rows.append(f"{crossed.rows:,} of {name}, most in row {crossed.worst}")
    if rows:
        yield kinds.CROSSING_QUANTILES.warning(len(rows), rows=listed(rows))
    bounds = study.assumed_columns  # whose names state no level
    if bounds:
        yield kinds.ASSUMED_LEVEL.note(len(bounds), columns=listed(map(repr, bounds)))
    numbered = study.numbered_systems  # such as A_1, A_2, …: may be draws of one system A
    if numbered:
        yield kinds.UNREAD_DISTRIBUTION.note(
            len(numbered), "numbered", first=repr(numbered[0]), last=repr(numbered[-1])
        )
    # by system, if each states its distribution in another way, so that none was read
    unlike = study.unlike_distributions
    unread = study.unread_columns
    if unlike:
        stated = [f"{name}: {distribution}" for name, distribution in unlike.items()]
        ways = listed(stated, joint="; ")
        yield kinds.UNREAD_DISTRIBUTION.warning(len(unlike), "unlike", ways=ways)
    elif unread:
        columns = listed(map(repr, unread))
        yield kinds.UNREAD_DISTRIBUTION.note(len(unread), "unclear", columns=columns)


def _in_time(study: Rating) -> Iterator[kinds.Finding]:
    """How intervals and tests treat rows that have a time: as rows in no order, as series that are
    the units, or as one time series, see `_time_series`. Nothing without times, or if the user
    names the independent units.
    """
    timing = study.timing
    if timing is None or study.p.unit:
        return
    order = timing.order
    if isinstance(order, NoTimeOrder):  # sentence_name: why rows could not be put in order
        severity = kinds.NOTE if order.sentence_name in ("irregular", "single") else kinds.WARNING
        yield kinds.TIMES_WITHOUT_ORDER.finding_with_severity(
            severity, order.rows, order.sentence_name, column=order.column
        )
    elif study.settings.unit:  # there are enough series to be the units
        n = order.series_count
        series = count_with_noun(n, "series")
        yield kinds.TIME_ORDER.note(n, "series", column=timing.columns.time, series=series)
    else:
        yield from _time_series(study, timing.columns.time, order)


def _time_series(study: Rating, column: str, order: "TimeOrder") -> Iterator[kinds.Finding]:
    """Findings on intervals and tests that take rows as one time series, in which errors of
    forecasts several steps ahead depend on those of earlier times: how many steps back they allow
    for (lags), and where they may be wrong. column: of the times.
    """
    added = ""
    if order.series_count > 1:
        added = f"; the rows of {order.series_count} series are added up by time"
    times = count_with_noun(order.times, "time")
    facts = {"column": column, "times": times, "added": added}
    if order.lags:
        steps = count_with_noun(order.lags, "step")
        yield kinds.TIME_ORDER.note(order.times, "used", **facts, steps=steps)
    else:  # forecasts one step ahead
        yield kinds.TIME_ORDER.note(order.times, "one_step", **facts)
    horizon = order.longest_horizon
    if order.has_few_times and order.times > horizon:
        yield kinds.TIME_ORDER.warning(order.times, "few", times=times, steps=horizon)
    elif order.has_few_times:  # too few for any interval
        yield kinds.TIME_ORDER.warning(order.times, "too_few", count=order.times, steps=horizon)
    yield from _autocorrelated(study)
    # metrics whose variance was not positive until autocovariances got smaller weights
    tapered = study.tapered
    if tapered:
        yield kinds.TIME_ORDER.note(len(tapered), "tapered", metrics=listed(tapered))


def _autocorrelated(study: Rating) -> Iterator[kinds.Finding]:
    """That errors depend on earlier ones than intervals and tests assume, if they do."""
    correlation = study.autocorrelation
    if correlation is not None and correlation.value > correlation.limit:
        yield kinds.TIME_ORDER.warning(
            None,
            "autocorrelated",
            lag=correlation.lag,
            value=number(correlation.value, 2),
            metric=study.primary_metric.label,
        )


def _reference(study: Rating) -> Iterator[kinds.Finding]:
    """Findings on the reference forecast that the user names (naive, seasonal, or the mean of the
    actual values): the rows that have none and so count in no skill, times that lie on no even
    grid, and scaled errors whose scale is computed from these rows, not from training rows.
    """
    reference = study.p.reference
    if reference is None:
        return
    n_without = study.rows_without_reference  # None if no metric uses the forecast
    if n_without is not None:
        n = len(study.account)
        rows = f"{count_with_noun(n_without, 'row')} of {n:,}"
        severity = kinds.NOTE if n_without < n else kinds.WARNING
        yield kinds.REFERENCE.finding_with_severity(
            severity, n_without, "forecast", reference=reference, rows=rows
        )
    timing = study.timing
    is_naive = reference != MEAN_OF_ACTUAL
    if is_naive and timing is not None and timing.ordered and not timing.ordered.is_even:
        yield kinds.REFERENCE.warning(None, "uneven", column=timing.columns.time)
    computed_scales = set(study.computed_scales)  # columns that the table lacks
    scaled_metrics = []
    for chosen in study.settings.metrics:
        if not computed_scales.isdisjoint(chosen.metric.columns):
            scaled_metrics.append(chosen.label)
    if scaled_metrics:
        metrics = listed(scaled_metrics)
        finding = kinds.REFERENCE.warning(None, "scale", metrics=metrics, reference=reference)
        yield finding.for_metrics(scaled_metrics, study.primary_metric.label)


@pieces.where(lambda study: study.by_horizon is not None)
def horizon_plot(study: Rating) -> figures.Figure | Html:
    """The primary metric of the first systems by horizon, the number of steps that a forecast looks
    ahead, as a line for each with a band of confidence limits.
    """
    systems = study.order[:DRAWN]
    frame = study.by_horizon  # system, x (the horizon), value, low, high
    assert frame is not None  # otherwise the decorator leaves the figure out
    frame = frame[frame["system"].isin(systems)].rename(columns={"value": "y"})
    metric = study.primary_metric.label
    panel = curve_plots.Panel(frame, "steps ahead", metric, bands=frame)
    caption = texts.sentence(
        "rating.horizon_plot", metric=metric, level=study.settings.level, first=_omission(study)
    )
    return figures.row(curve_plots.panels, [panel], caption=caption, panels=1, height=2.8)


has_intervals = pieces.where(lambda study: bool(study.stated.intervals))


@has_intervals
def coverage_plot(study: Rating) -> figures.Figure | Html:
    """The coverage of the central prediction intervals of the first systems, the share of actual
    values in them, by their nominal level, with confidence limits.
    """
    frame = study.coverages[study.coverages["system"].isin(study.order[:DRAWN])]
    rows = count_with_noun(len(study.account), "row")
    caption = texts.sentence(
        "rating.coverage_plot", level=study.settings.level, rows=rows, first=_omission(study)
    )
    coverages = []
    for row in frame.itertuples():
        coverages.append(f"{row.system} {row.value:.0%} of {percent(row.nominal)}")
    says = f"{listed(coverages, MOST_NAMED)}."
    return figures.figure_drawn_by(
        curve_plots.coverage, frame, caption=caption, says=says, height=3.2
    )


@has_intervals
def transform_plot(study: Rating) -> figures.Figure | Html:
    """The histogram of the probability integral transform of each of the first systems, as steps:
    how often actual values lie between two neighbouring quantiles, divided by the share that the
    quantiles promise, which gives 1 for calibrated quantiles.
    """
    systems = study.order[:DRAWN]
    # each step ends at x, the upper quantile of its bin
    steps = study.pit_histogram.rename(columns={"high": "x", "density": "y"})
    panels = []
    for name in systems:
        densities = steps[steps["system"] == name]
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
        "rating.transform_plot",
        rows=count_with_noun(len(study.account), "row"),
        first=_omission(study),
    )
    return figures.row(curve_plots.panels, panels, caption=caption, panels=len(systems), height=2.6)


@has_intervals
def fan_plot(study: Rating) -> figures.Figure | Html:
    """The central prediction intervals, forecasts and actual values of the leader on a few rows:
    the last ones of a series, if rows are in time order, otherwise rows across the table.
    """
    examples = study.examples  # a few rows of the leader
    intervals = examples.intervals  # a line for each row and level, the widest level first
    points = examples.points
    levels = [percent(level) for level in intervals["nominal"].unique()]
    what = f"central intervals of {listed(levels)}"
    if len(levels) > 1:
        what = f"{what} (the darker, the narrower)"
    facts = {"name": study.leader, "intervals": what}
    if study.timing is None or study.timing.ordered is None:
        rows = count_with_noun(len(study.account), "row")
        caption = texts.sentence("rating.fan_plot", drawn=len(points), rows=rows, **facts)
        xlabel = "row"
    else:
        times = count_with_noun(len(points), "time")
        # "" if the table has a single series
        series = f" of {study.example_series}" if study.example_series else ""
        shortest_horizon = int(study.timing.ordered.horizons[0])
        steps = count_with_noun(shortest_horizon, "step")
        caption = texts.sentence(
            "rating.fan_plot_in_time", times=times, series=series, steps=steps, **facts
        )
        xlabel = "time"
    return figures.figure_drawn_by(
        curve_plots.fan,
        intervals,
        points,
        caption=caption,
        height=2.8,
        xlabel=xlabel,
        names=study.example_times,
    )


# parts of the squared error in the corner of a reliability diagram, by their short names
CORNER_PARTS = {"miscalibration": "MCB", "discrimination": "DSC", "uncertainty": "UNC"}


def actual_plot(study: Rating) -> figures.Figure:
    """The leader's forecasts and the actual values, in cells shaded by their rows."""
    return _panels_of_actual(study, [study.leader])


def other_actual_plot(study: Rating) -> figures.Figure | Html:
    """The same of the other systems, folded."""
    names = study.order[1:DRAWN]
    if not names:
        return Html("")
    figure = _panels_of_actual(study, names)
    return figure.folded(f"Actual value against forecast: {listed(names)}")


def _panels_of_actual(study: Rating, names: Sequence[str]) -> figures.Figure:
    """Actual values against forecasts, a panel for each of these systems: a two-dimensional
    histogram whose cells are shaded by their number of rows, or by the weight of these.
    """
    frame = study.cells(names)
    what = "weight" if study.weighted else "number of rows"
    caption = texts.sentence(
        "rating.actual_plot",
        names=listed(names),
        what=what,
        rows=count_with_noun(len(study.account), "row"),
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
    """The histogram of the errors of each of the first systems, with their mean. Means have as many
    decimals as the widths of the bins, which say how exactly a figure can be read.
    """
    names = study.order[:DRAWN]
    means = {name: study.estimate(BIAS, name).value for name in names}
    histogram = study.histogram(names)  # system, low, high (the edges of a bin), share
    places = decimals(bin_widths(histogram))
    values = "; ".join(f"{name} {signed_number(mean, places)}" for name, mean in means.items())
    rows = count_with_noun(len(study.account), "row")
    caption = texts.sentence(
        "rating.error_histogram_plot", rows=rows, bins=BINS, first=_omission(study)
    )
    return figures.row(
        curve_plots.errors,
        histogram,
        means,
        caption=caption,
        xlabel="error (forecast − actual)",
        ylabel="share of rows",
        says=f"Mean errors: {values}.",
        panels=len(names),
        height=2.6,
    )


def reliability_plot(study: Rating) -> figures.Figure:
    """The mean of the actual values as an isotonic function of the forecast, for each of the first
    systems: in its corner the parts of its squared error, and if rows allow it a band in which
    such curves lie if the forecasts are right.
    """
    names = study.order[:DRAWN]
    curves = reliability.drawn_means({name: study.means[name] for name in names})
    parts = study.parts.set_index("system").loc[names]  # of the squared error, a row per system
    words: dict[str, list[str]] = {name: [] for name in names}
    for part, short_name in CORNER_PARTS.items():
        places = decimals(parts[part])
        for name in names:
            words[name].append(f"{short_name} {number(parts.loc[name, part], places)}")
    band = ""
    if curves.bands is not None:
        band = (
            f"Grey: at each forecast, {study.settings.level:.0%} of such curves if the forecasts "
            f"are right (wild bootstrap). "
        )
        if study.settings.unit:
            band += f"Errors of one {study.unit_name} vary together. "
    caption = texts.sentence(
        "rating.reliability_plot", rows=len(study.account), band=band, first=_omission(study)
    )
    return page.reliability_diagrams(
        curve_plots.means, curves, words, caption, panels=len(names), height=3.4
    )


def decomposition(study: Rating) -> Html:
    """The mean squared error of every system as miscalibration − discrimination + uncertainty, and
    R²: a table with a row for each system.
    """
    columns = {
        "system": text("system"),
        "MSE": value("mse"),
        "miscalibration (MCB)": value("miscalibration"),
        "discrimination (DSC)": value("discrimination"),
        "uncertainty (UNC)": value("uncertainty"),
        "R²": value("skill"),
    }
    note = texts.sentence("rating.decomposition_note")
    return of_rows("The squared error taken apart", study.parts, columns, note)


def _omission(study: Rating) -> str:
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

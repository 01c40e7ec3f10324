"""Forecasts of series: rows in time order, skill against references, and scores of intervals."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from samples import ORACLES

from evalkit.arrays import ParameterError
from evalkit.drawing import curve_plots
from evalkit.findings import kinds
from evalkit.limits import Limits, ReadingLimits
from evalkit.pages import rating_page
from evalkit.parameters.reports import RatingParameters
from evalkit.statistics.methods import DIEBOLD_MARIANO, TAPERED
from evalkit.statistics.spread import Spread
from evalkit.statistics.statistic import Layout
from evalkit.studies import rating

PEER_RESULTS = json.loads((ORACLES / "series.json").read_text(encoding="utf-8"))
MACRO_FORECASTS = pd.read_csv(ORACLES / "macro_forecasts.csv")
METRIC_OF_LOSS = {"squared": "mse", "absolute": "mae"}

ABOUT_TIMES = (kinds.TIME_ORDER, kinds.TIMES_WITHOUT_ORDER)


def daily_series(n=40, seed=0, **columns_added):
    """A random walk y of n days ds, and the forecasts a and b of two systems, whose errors are
    independent and normal with a standard deviation of 1.
    """
    rng = np.random.default_rng(seed)
    y = 20 + np.cumsum(rng.normal(0, 1, n))
    forecasts = {name: y + rng.normal(0, 1, n) for name in ("a", "b")}
    ds = pd.date_range("2026-01-01", periods=n)
    return pd.DataFrame({"ds": ds, "y": y} | forecasts | columns_added)


def study_of_a_and_b(table, **parameters):
    """The study of the forecasts a and b of y."""
    return rating.read(table, columns={"actual": "y"}, systems="a,b", **parameters)


def findings_on_times(study, beginning=""):
    """The findings about the order in time whose messages begin so."""
    return [
        finding
        for finding in rating_page.every_finding(study)
        if finding.kind in ABOUT_TIMES and finding.message.startswith(beginning)
    ]


def first_comparison(study):
    """The comparison of the forecasts a and b by the first metric."""
    return study.comparisons.iloc[0]


# Diebold and Mariano ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", PEER_RESULTS["tests"], ids=lambda case: "-".join(map(str, case.values()))
)
def test_statistic_equals_that_of_dieboldmariano(case):
    """A case is a row of the stored results of the Python package dieboldmariano: the names of the
    series and of a pair of systems, the horizon, the loss, and the statistic of the package. The
    statistic of this kit, the mean difference of the losses over its standard error, must equal it.
    """
    in_series = MACRO_FORECASTS["series"] == case["series"]
    rows = MACRO_FORECASTS[in_series & (MACRO_FORECASTS["horizon"] == case["horizon"])]
    power = 2 if case["loss"] == "squared" else 1
    losses = [np.abs(rows["observed"] - rows[name]) ** power for name in case["pair"]]
    difference = (losses[0] - losses[1]).to_numpy()
    mean = difference.mean()
    # Errors of forecasts h steps ahead depend on those up to h − 1 steps before.
    lags = case["horizon"] - 1
    spread = Spread.from_series((difference - mean) / len(rows), lags)
    assert mean / spread.error == pytest.approx(case["statistic"], abs=1e-10)


@pytest.mark.parametrize("loss", METRIC_OF_LOSS)
@pytest.mark.parametrize("horizon", [1, 4])
@pytest.mark.parametrize("series", ["inflation", "unemployment"])
def test_p_of_a_report_equals_that_of_dieboldmariano(series, horizon, loss):
    """PEER_RESULTS holds the p of each pair of three systems by the Python package dieboldmariano.
    The report is made from the same forecasts, by the metric that is the mean of the loss. It must
    have the same p though its rows are shuffled, as it sorts them by time.
    """
    in_series = MACRO_FORECASTS["series"] == series
    rows = MACRO_FORECASTS[in_series & (MACRO_FORECASTS["horizon"] == horizon)]
    in_random_order = rows.sample(frac=1, random_state=1)
    study = rating.read(in_random_order, systems="naive,mean4,ar4", metrics=METRIC_OF_LOSS[loss])
    p_by_pair = {
        frozenset({row["first"], row["second"]}): row["p"]
        for row in study.comparisons.to_dict("records")
    }
    asked = {"series": series, "horizon": horizon, "loss": loss}
    cases = [case for case in PEER_RESULTS["tests"] if asked.items() <= case.items()]
    assert len(cases) == len(p_by_pair) == 3  # pairs of three systems
    for case in cases:
        assert p_by_pair[frozenset(case["pair"])] == pytest.approx(case["p"], abs=1e-10)


def test_a_variance_that_is_not_positive_is_tapered():
    """The series 1, −1, 1, −1 has the sum of squares 4 and the sum of products −3 at lag 1. Counted
    in full, twice, it makes the variance 4 − 2 × 3 negative; with Bartlett's weight of 1/2 for
    lag 1 it is 4 − 3 = 1. Harvey's correction for a small sample multiplies it by n² / (m (m − 1)),
    where n is 4 and m is n − 1 lag = 3.
    """
    spread = Spread.from_series(np.array([1.0, -1.0, 1.0, -1.0]), lags=1)
    assert spread.has_bartlett_weights
    assert spread.error == pytest.approx(np.sqrt(1 * 4 * 4 / (3 * 2)))


def test_a_report_says_which_metric_has_a_tapered_variance():
    """Two steps ahead the autocovariance at lag 1 counts twice. The errors of a are about 0 and 2
    in turn, those of b are 1, so that the differences of the absolute errors are about −1 and 1 in
    turn: a variance of 1 and an autocovariance of −1 make 1 + 2 · (−1), which is not positive. The
    autocovariance must then get a smaller weight, Bartlett's (be tapered), and a finding say so.
    """
    up_and_down = np.tile([0.0, 2.0], 20)
    table = daily_series(horizon=2)
    small_error = 0.01 * (table["a"] - table["y"])
    table["a"] = table["y"] + up_and_down + small_error
    table["b"] = table["y"] + 1
    study = study_of_a_and_b(table, metrics="mae")
    assert first_comparison(study)["method"] == TAPERED
    (finding,) = findings_on_times(study, "The variance from unweighted autocovariances")
    assert "is not positive for mae" in finding.message


def test_too_few_times_for_the_horizon_have_no_p():
    """Forecasts 12 steps ahead are compared on 10 days. Their errors depend on the 11 before, more
    than there are, so that no variance can be estimated.
    """
    study = study_of_a_and_b(daily_series(10, horizon=12), metrics="mae")
    assert np.isnan(first_comparison(study)["p"])
    assert first_comparison(study)["verdict"] == "cannot tell"
    assert np.isnan(first_comparison(study)[["low", "high"]].to_numpy(float)).all()
    (finding,) = findings_on_times(study, "There is no interval or p")
    assert "need more than 12 times, the rows have 10" in finding.message


def test_equal_forecasts_have_a_p_of_1():
    table = daily_series(horizon=1)
    comparison = first_comparison(study_of_a_and_b(table.assign(b=table["a"])))
    assert comparison["p"] == 1


def test_the_variance_0_of_equal_forecasts_is_not_tapered():
    table = daily_series(horizon=3)
    assert not study_of_a_and_b(table.assign(b=table["a"]), metrics="mae").tapered


def test_a_constant_difference_other_than_0_has_no_p_as_its_variance_is_0():
    table = daily_series(horizon=1)
    errors_of_1_and_2 = table.assign(a=table["y"] + 1, b=table["y"] + 2)
    comparison = first_comparison(study_of_a_and_b(errors_of_1_and_2, metrics="mae"))
    assert comparison["difference"] == pytest.approx(1 - 2)
    assert np.isnan(comparison["p"])


def test_order_of_rows_does_not_matter():
    """The autocovariances need rows in time order; the report sorts shuffled rows by time."""
    table = daily_series(horizon=3)  # 3 steps ahead: with two autocovariances
    shuffled = table.sample(frac=1, random_state=1)
    numbers = ["difference", "low", "high", "p"]
    expected = first_comparison(study_of_a_and_b(table))[numbers].to_numpy(float)
    found = first_comparison(study_of_a_and_b(shuffled))[numbers].to_numpy(float)
    assert found == pytest.approx(expected, rel=1e-12)


def test_each_horizon_has_its_own_lags():
    """The variance of the differences between forecasts h steps ahead has h − 1 autocovariances. In
    a table of the horizons 1 and 4 each horizon is a slice, "1" or "4", with a p of a against b; it
    must be the p that a table of this horizon alone gives.
    """
    table = pd.concat([daily_series(horizon=1, seed=1), daily_series(horizon=4, seed=1)])
    study = study_of_a_and_b(table, metrics="mae")
    by_horizon_and_system = study.by_segment.set_index(["slice", "system"])
    for horizon in (1, 4):
        alone = study_of_a_and_b(daily_series(horizon=horizon, seed=1), metrics="mae")
        p_of_a_against_b = by_horizon_and_system.loc[(str(horizon), "a"), "p"]
        assert p_of_a_against_b == pytest.approx(first_comparison(alone)["p"], rel=1e-12)


def test_autocorrelated_errors_are_a_warning():
    """Forecasts one step ahead should have independent errors. Those of the first table are
    independent from day to day; in the second the forecast a has one and the same error for ten
    days each.
    """
    table = daily_series(200)
    one_error_per_ten_days = np.repeat(np.random.default_rng(0).normal(0, 1, 20), 10)
    autocorrelated = table.assign(a=table["y"] + one_error_per_ten_days)
    beginning = "Errors are autocorrelated"
    (finding,) = findings_on_times(study_of_a_and_b(autocorrelated, metrics="mae"), beginning)
    assert finding.severity == kinds.WARNING
    assert not findings_on_times(study_of_a_and_b(table, metrics="mae"), beginning)


# Which rows are in time order


def test_times_that_rows_share_are_a_warning():
    table = daily_series()
    study = study_of_a_and_b(table.assign(ds=table["ds"].dt.floor("2D")))
    assert study.measured.layout is Layout.PLAIN
    (finding,) = findings_on_times(study, "Rows")
    assert finding.severity == kinds.WARNING


def test_dates_that_do_not_begin_with_the_year_are_a_warning():
    table = daily_series()
    study = study_of_a_and_b(table.assign(ds=table["ds"].dt.strftime("%d/%m/%Y")))
    assert study.measured.layout is Layout.PLAIN
    (finding,) = findings_on_times(study, "Not")
    assert finding.severity == kinds.WARNING


def test_many_series_are_units():
    """Comparisons count units. From 10 series on, each series is a unit: the n of 12 series of 15
    days is 12, and not the number of days or rows. A finding says of how many series the rows are.
    """
    table = pd.concat([daily_series(15, seed=i, unique_id=f"s{i}") for i in range(12)])
    study = study_of_a_and_b(table)
    assert study.settings.unit == "unique_id"
    assert first_comparison(study)["n"] == 12
    (finding,) = findings_on_times(study, "Rows are in the order of ds")
    assert "12 series" in finding.message


def test_few_series_are_added_up_by_time():
    """Three series, fewer than 10, are too few to be units. The losses of their rows are added up
    for each of the 40 days, which are then compared by the test of Diebold and Mariano: n is 40. A
    finding says of how many series the rows are.
    """
    table = pd.concat([daily_series(seed=i, unique_id=f"s{i}") for i in range(3)])
    study = study_of_a_and_b(table, metrics="mae")
    assert first_comparison(study)["n"] == 40
    assert first_comparison(study)["method"] == DIEBOLD_MARIANO
    (finding,) = findings_on_times(study, "Rows are in the order of ds")
    assert "3 series" in finding.message


def test_a_unit_that_is_named_stays():
    table = pd.concat([daily_series(12, seed=i, unique_id=f"s{i}") for i in range(12)])
    study = study_of_a_and_b(table, unit="ds")
    assert study.settings.unit == "ds"
    assert not findings_on_times(study)


def forecasts_from_origins(steps, origins=20):
    """From each of so many successive days, its cutoff, forecasts of the days 1, 2, … later."""
    table = daily_series(origins + steps)
    parts = []
    for i in range(origins):
        day_before = table["ds"][i] - pd.Timedelta(days=1)
        parts.append(table[i : i + steps].assign(cutoff=day_before))
    return pd.concat(parts, ignore_index=True)


def test_horizons_are_counted_from_the_cutoff():
    study = study_of_a_and_b(forecasts_from_origins(steps=4, origins=36), metrics="mae")
    assert study.settings.segments == ("horizon",)
    assert [horizon.label for horizon in study.slices] == ["1", "2", "3", "4"]
    assert study.timing.order.steps_ahead.tolist() == [1, 2, 3, 4] * 36
    assert study.by_horizon["x"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]  # of the systems a and b


def test_each_of_many_horizons_has_its_loss_and_the_page_draws_it():
    """On each of 20 days the next 14 are forecast. The table of slices has four classes of the 14
    horizons; the frame by horizon, which the page draws, has each one. The value of a at the
    horizon 3 must be the mean absolute error of its 20 forecasts three days ahead.
    """
    rows = forecasts_from_origins(steps=14, origins=20)
    study = study_of_a_and_b(rows, metrics="mae", reference="mean")
    assert [horizons.label for horizons in study.slices] == [
        "[1, 4]",
        "(4, 7]",
        "(7, 11]",
        "(11, 14]",
    ]
    by_horizon = study.by_horizon
    assert by_horizon["x"].unique().tolist() == [*range(1, 15)]
    steps = np.tile(np.arange(1, 15), 20)
    expected = (rows["y"] - rows["a"]).abs()[steps == 3].mean()
    value = by_horizon.set_index(["x", "system"]).loc[(3, "a"), "value"]
    assert value == pytest.approx(expected)
    assert "svg" in str(rating_page.horizon_plot(study).html)


def test_horizons_are_whole_numbers_at_the_axis():
    """A curve over the horizons 1 and 2 must have ticks at 1, 2 and other whole numbers alone; by
    itself matplotlib would put ticks at fractions between 1 and 2.
    """
    study = study_of_a_and_b(forecasts_from_origins(steps=2), metrics="mae")
    lines = study.by_horizon.rename(columns={"value": "y"})
    _, axes = plt.subplots(squeeze=False)
    curve_plots.panels([curve_plots.Panel(lines, "", "")], axes)
    ticks = axes.flat[0].get_xticks()
    plt.close("all")
    assert {1, 2} <= {*ticks}
    assert ticks.tolist() == np.round(ticks).tolist()


@pytest.mark.parametrize("name", ["day", "week", "month"])
def test_a_part_of_the_calendar_is_the_time_of_each_series_and_system(name):
    """A table has the columns unique_id (of two series), y, model, forecast, and a column called
    day, week or month (`name`) that counts from 0 to 39. Each number occurs once for each series
    and system, so that the column must be taken for the time.
    """
    series = [
        daily_series(40, seed=i, unique_id=f"s{i}").assign(**{name: range(40)}) for i in range(2)
    ]
    table = pd.concat(series, ignore_index=True).drop(columns="ds")
    row_per_system = table.assign(id=table.index).melt(
        id_vars=["id", "unique_id", name, "y"],
        value_vars=["a", "b"],
        var_name="model",
        value_name="forecast",
    )
    study = rating.read(row_per_system, columns={"actual": "y"})
    assert study.timing.columns.time == name
    assert study.unit_name == "time"


def test_a_part_of_the_calendar_that_rows_of_a_series_share_is_no_time():
    each_day_twice = daily_series(40).drop(columns="ds").assign(day=[*range(20)] * 2)
    assert study_of_a_and_b(each_day_twice).timing is None


def with_interval(table, level, half_width):
    """The table with columns of the central interval of the forecast a at a level in per cent."""
    limits = {f"a-lo-{level}": table["a"] - half_width, f"a-hi-{level}": table["a"] + half_width}
    return table.assign(**limits)


def test_the_fan_plot_names_its_times():
    """The last 30 of 40 days from 1 January on begin with 11 January."""
    table = with_interval(daily_series(40).drop(columns="b"), level=80, half_width=1)
    study = rating.read(table, columns={"actual": "y"})
    assert study.example_times[0] == "2026-01-11"
    assert "2026-01-11" in str(rating_page.fan_plot(study).html)


def test_the_fan_plot_says_how_the_bars_of_several_levels_differ():
    """A forecast comes with its central interval of 80 %, then also with that of 90 %, which is
    wider. Only then the caption explains the shades.
    """
    one_level = with_interval(daily_series().drop(columns="b"), level=80, half_width=1)
    study = rating.read(one_level, columns={"actual": "y"})
    caption = "central intervals of 80%, point forecast"
    assert caption in str(rating_page.fan_plot(study).html)
    two_levels = with_interval(one_level, level=90, half_width=2)
    study = rating.read(two_levels, columns={"actual": "y"})
    assert "of 90%, 80% (the darker, the narrower)" in str(rating_page.fan_plot(study).html)


def test_times_are_counted_where_rows_share_them():
    table = pd.concat([daily_series(seed=i, unique_id=f"s{i}") for i in range(3)])
    assert study_of_a_and_b(table).unit_name == "time"
    assert study_of_a_and_b(daily_series()).unit_name == "row"
    many = pd.concat([daily_series(12, seed=i, unique_id=f"s{i}") for i in range(12)])
    assert study_of_a_and_b(many).unit_name == "series"


def test_rows_without_ids_are_named_by_series_and_time():
    table = pd.concat([daily_series(seed=i, unique_id=f"s{i}") for i in range(3)])
    sixth_row_of_s1 = 40 + 5
    table.iloc[sixth_row_of_s1, table.columns.get_indexer(["a", "b"])] += 100
    assert study_of_a_and_b(table, metrics="mae").extremes()["id"].iloc[0] == "s1 2026-01-06"


def quantile_forecasts(table):
    """The forecasts a as quantiles of 10, 50 and 90 %, a distance of 1 apart, without b."""
    quantiles = {"q0.1": table["a"] - 1, "q0.5": table["a"], "q0.9": table["a"] + 1}
    return table.assign(**quantiles).drop(columns=["a", "b"])


def test_examples_are_the_last_times_of_the_first_series():
    """The fan plot shows 30 forecasts at most. The table has 40 days of each of the series s0, s1
    and s2, in random order: the plot must show the last 30 days of s0.
    """
    table = pd.concat([daily_series(seed=i, unique_id=f"s{i}") for i in range(3)])
    in_random_order = quantile_forecasts(table).sample(frac=1, random_state=1)
    study = rating.read(in_random_order, columns={"actual": "y"})
    assert study.example_series == "s0"
    last_actual_values_of_s0 = daily_series(seed=0)["y"][-30:]
    assert study.examples.points["actual"].tolist() == last_actual_values_of_s0.tolist()
    assert "1 step ahead, at the last 30 times of s0" in str(rating_page.fan_plot(study).caption)


# Rows with dates that are not in time order


def rows_with_random_dates(n=100, seed=3, **columns_added):
    """Rows with distinct dates at random, as of customers who signed up."""
    possible = pd.date_range("2020-01-01", periods=1000)
    date = np.random.default_rng(seed).permutation(possible)[:n]
    return daily_series(n, seed).drop(columns="ds").assign(date=date, **columns_added)


def finding_on_rows_without_order(study):
    """The message of the only finding about time, after a check that rows have no time order."""
    assert study.measured.layout is Layout.PLAIN
    (finding,) = findings_on_times(study)
    return finding.message


def interval_and_p(study):
    """Interval and p of the comparison of a and b."""
    return first_comparison(study)[["low", "high", "p"]].to_numpy(float).tolist()


@pytest.mark.parametrize(
    ("table", "starts"),
    [
        (rows_with_random_dates(), "The values of date are not evenly spaced"),
        (
            rows_with_random_dates(lead_time=np.tile([1, 5, 14, 2], 25)),
            "The values of date are not evenly",
        ),
        (rows_with_random_dates(cutoff="2019-12-31"), "The values of date are not evenly spaced"),
        (
            daily_series().rename(columns={"ds": "date"}).assign(date="2026-01-01"),
            "All rows have the same",
        ),
        (
            daily_series(unique_id=range(40)).assign(ds=[1, 2] * 20),
            "Rows of one series and horizon share",
        ),
        (daily_series(horizon="h=3"), "Not every value of horizon is a whole number"),
        (daily_series(horizon=1.5), "Not every value of horizon is a whole number"),
        (
            daily_series(horizon=[np.nan] + [2.0] * 39),
            "Not every value of horizon is a whole number",
        ),
        (daily_series(cutoff="first"), "Not every value of cutoff is a number or a date"),
        (
            daily_series().assign(cutoff="2026-02-01"),
            "Some values of cutoff are later than the times",
        ),
    ],
)
def test_rows_in_no_evident_order_are_independent_and_the_page_says_so(table, starts):
    study = study_of_a_and_b(table)
    assert finding_on_rows_without_order(study).startswith(starts)
    assert interval_and_p(study) == interval_and_p(study_of_a_and_b(table[["y", "a", "b"]]))


@pytest.mark.parametrize("freq", ["D", "B", "MS", "ME", "QS", "YS", "h"])
def test_regular_times_are_an_order(freq):
    table = daily_series().assign(ds=pd.date_range("2020-01-31", periods=40, freq=freq))
    assert study_of_a_and_b(table.drop(index=[5, 6, 20])).measured.layout is Layout.SERIES


def test_irregular_times_are_an_order_if_a_naive_reference_is_asked_for():
    """Dates at random may be those of independent rows, such as customers who signed up. Whoever
    asks for the naive forecast, the value before, says that the rows are a series in time order
    (Layout.SERIES); the mean as a reference does not say so, and rows stay independent
    (Layout.PLAIN).
    """
    with_value_before = study_of_a_and_b(rows_with_random_dates(), reference="naive")
    with_mean = study_of_a_and_b(rows_with_random_dates(), reference="mean")
    assert with_value_before.measured.layout is Layout.SERIES
    assert with_mean.measured.layout is Layout.PLAIN


def rows_of_each_system(table):
    """The table with a row per system a and b, of the same ids, and its forecasts."""
    table = table.assign(id=range(len(table)))
    shared = table.drop(columns=["a", "b"])
    return [shared.assign(model=system, forecast=table[system]) for system in ("a", "b")]


def test_systems_with_unlike_times_of_a_row_have_no_order():
    of_a, of_b = rows_of_each_system(daily_series(40))
    of_b.loc[39, "ds"] = pd.Timestamp("2027-01-01")
    study = rating.read(pd.concat([of_a, of_b]), columns={"actual": "y"}, metrics="mae")
    sentence = finding_on_rows_without_order(study)
    assert "Systems differ in ds on the same row" in sentence


def test_systems_with_unlike_cutoffs_of_a_row_have_no_order():
    of_a, of_b = rows_of_each_system(daily_series().assign(cutoff="2025-12-31"))
    of_b["cutoff"] = "2025-12-30"
    study = rating.read(pd.concat([of_a, of_b]), columns={"actual": "y"}, metrics="mae")
    sentence = finding_on_rows_without_order(study)
    assert "Systems differ in ds, cutoff on the same row" in sentence


def test_a_table_in_blocks_says_that_its_order_is_not_used():
    """The table of 40 days, in the column ds, has more than the 20 rows that may be held in memory.
    It is read in blocks of 20 rows, which are not sorted by time.
    """
    blocks_of_20_rows = Limits(reading=ReadingLimits(rows=20, shard=20, largest=20))
    parameters = RatingParameters.from_raw(
        {"preds": daily_series(), "columns": {"actual": "y"}, "systems": "a,b"}
    )
    study = rating.study_of(parameters, blocks_of_20_rows)
    assert "not put in the order of ds" in finding_on_rows_without_order(study)


def test_horizons_that_begin_at_0_are_one_step_more():
    """Some tools number the horizons 0, 1, 2 in place of 1, 2, 3. The naive reference is the value
    as many steps before as the horizon says, and the test depends on the steps too, so that the
    skill has the same interval and p only if the horizon 0 is read as one step ahead.
    """
    from_1 = pd.concat([daily_series(horizon=h, seed=h) for h in (1, 2, 3)])
    from_0 = from_1.assign(horizon=from_1["horizon"] - 1)
    parameters = {"reference": "naive", "metrics": "mae_skill"}
    study_from_0 = study_of_a_and_b(from_0, **parameters)
    study_from_1 = study_of_a_and_b(from_1, **parameters)
    assert interval_and_p(study_from_0) == interval_and_p(study_from_1)


# Gaps, copies and weights of 0


def test_copies_of_a_row_are_counted_and_named():
    """Copies of two of the 40 days (ds) stand in rows 41 and 42. Rows that share a time have no
    order: the report says so, and refuses a naive reference, which needs the value before.
    """
    table = pd.concat([daily_series(), daily_series()[5:7]])
    message = finding_on_rows_without_order(study_of_a_and_b(table))
    assert "share values of ds (2 rows, the first in row 41)" in message
    with pytest.raises(ParameterError, match="some share values of ds"):
        study_of_a_and_b(table, reference="naive")


@pytest.mark.parametrize("horizon", [1, 4])
def test_rows_of_weight_0_count_as_if_they_were_missing(horizon):
    """Every fourth of 40 days has the weight 0, the other 30 the weight 1. The study has the
    numbers of the one of these 30 days.
    """
    weight = np.where(np.arange(40) % 4 == 0, 0.0, 1.0)
    table = daily_series(40, horizon=horizon)
    parameters = {"metrics": "mae,mae_skill", "reference": "mean"}
    weighted = study_of_a_and_b(table.assign(weight=weight), **parameters)
    without = study_of_a_and_b(table[weight > 0], **parameters)
    assert weighted.timing.order.times == 30
    for of_comparison in ("difference", "low", "high", "p", "n"):
        expected = without.comparisons[of_comparison].tolist()
        assert weighted.comparisons[of_comparison].tolist() == pytest.approx(expected)
    for of_estimate in ("value", "low", "high"):
        expected = without.estimates[of_estimate].tolist()
        assert weighted.estimates[of_estimate].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    "times",
    [
        pd.date_range("2026-01-01", periods=42),
        pd.date_range("2026-01-01", periods=42, freq="B"),
        pd.date_range("2026-01-01", periods=42, freq="h"),
        pd.date_range("2020-01-31", periods=42, freq="ME"),
        pd.date_range("2020-01-15", periods=42, freq="MS") + pd.Timedelta(days=14),
        pd.date_range("2020-01-01", periods=42, freq="QS"),
        pd.date_range("1980-01-01", periods=42, freq="YS"),
        pd.date_range("2026-01-01", periods=42).strftime("%Y%m%d").astype(int),
        pd.date_range("2020-01-01", periods=42, freq="MS").strftime("%Y%m").astype(int),
        3 + 10 * np.arange(42),
    ],
    ids=[
        "days",
        "working days",
        "hours",
        "ends of months",
        "15th of months",
        "quarters",
        "years",
        "days as numbers",
        "months as numbers",
        "steps of ten",
    ],
)
def test_a_season_counts_times_that_the_table_lacks(times):
    """The column ds has 42 evenly spaced `times`, such as days or months, of which five are then
    dropped. The values y repeat every 7 times. The seasonal reference is the value 7 times before,
    a count that must include the dropped times: then it equals the row's own value wherever that
    time is in the table.
    """
    seasonal = np.arange(42) % 7 + 1.0
    table = pd.DataFrame({"ds": times, "y": seasonal, "a": seasonal + 1, "b": seasonal - 1})
    missing = [5, 9, 17, 18, 30]
    table = table.drop(index=missing)
    order = study_of_a_and_b(table, reference="seasonal:7").timing.order
    assert order.is_even
    actual = table["y"].to_numpy()
    before = order.values_before(actual, 7)
    # The 6 rows left of the first 7 have no value before; nor has the row 7 times after each
    # missing time.
    assert np.isnan(before).sum() == 6 + len(missing)
    assert (before[~np.isnan(before)] == actual[~np.isnan(before)]).all()


def test_the_last_known_value_is_that_before_a_gap_of_the_series():
    """The series u has the values 1, 3, 2, 6, 4 at the periods 1 to 5; the series v has the same
    but lacks the third. The value before its fourth period is then that of its second, 3.
    """
    u = SERIES.assign(series="u")
    v = SERIES.assign(series="v").drop(index=2)
    order = study_of_a_and_b(pd.concat([u, v]), reference="naive").timing.order
    before = order.values_before(np.append(u["y"], v["y"]))
    assert before == pytest.approx([np.nan, 1, 3, 2, 6, np.nan, 1, 3, 6], nan_ok=True)


def test_a_gap_counts_in_the_steps_from_the_cutoff():
    """Forecasts made on 5 January (the cutoff) are of the days from 7 January on, without the 11th
    and 12th: of 2, 3, 4, 5, and then 8 and 9 days ahead.
    """
    table = daily_series()[6:].assign(cutoff="2026-01-05").drop(index=[10, 11])
    assert study_of_a_and_b(table).timing.order.steps_ahead[:6].tolist() == [2, 3, 4, 5, 8, 9]


def test_a_season_of_unevenly_spaced_times_is_so_many_rows_and_the_page_says_so():
    """The times are 1 apart at first and 1.3 apart later, so that the steps between them cannot be
    counted. The reference of a season of 7 is then the value seven rows before.
    """
    table = daily_series(40)
    table["ds"] = np.cumsum([1.0] * 20 + [1.3] * 20)  # 1, 2, …, 20, 21.3, 22.6, …
    study = study_of_a_and_b(table, reference="seasonal:7")
    assert study.rows_without_reference == 7  # no row lies seven before each of the first 7
    messages = "\n".join(finding.message for finding in rating_page.every_finding(study))
    assert "lie on no even grid, so the naive forecast counts rows" in messages


# Skill --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [range(7, 47), np.random.default_rng(0).integers(1000, 9999, 40)],
    ids=["ids in sequence", "random ids"],
)
def test_ids_called_reference_are_no_reference_forecast(ids):
    """A column "reference" usually has forecasts to beat. Here it has 40 ids, which count up from 7
    or are far above the values y: skill against them is refused, and other metrics ignore the
    column. Skill against the naive forecast is computed; only the first row has no value before.
    """
    table = daily_series(reference=ids)
    with pytest.raises(ParameterError, match="need forecasts in the column 'reference'"):
        study_of_a_and_b(table, metrics="mae_skill")
    assert study_of_a_and_b(table, metrics="mae").estimates["value"].notna().all()
    against_naive = study_of_a_and_b(table, metrics="mae_skill", reference="naive")
    assert against_naive.rows_without_reference == 1


SERIES = pd.DataFrame(
    {
        "period": [1, 2, 3, 4, 5],
        "y": [1.0, 3.0, 2.0, 6.0, 4.0],
        "a": [1.0, 2.0, 2.0, 5.0, 4.0],
        "b": [9.0, 3.0, 2.0, 6.0, 4.0],
    }
)


def values_of_a(study):
    """The values of system a by metric."""
    rows = study.estimates[study.estimates["system"] == "a"]
    return dict(zip(rows["metric"], rows["value"], strict=True))


def test_skill_against_the_last_value_by_hand():
    """The values y are 1, 3, 2, 6, 4. The naive forecast is the value before, with the absolute
    errors −, 2, 1, 4, 2: their sum is 9, that of their squares 25. The forecasts a are 1, 2, 2, 5,
    4, with the absolute errors 0, 1, 0, 1, 0: both sums are 2. Skill compares the four rows with a
    naive forecast; MASE and RMSSE divide the mean error of a on all five rows by the mean of the
    four naive errors.
    """
    study = study_of_a_and_b(
        SERIES, reference="naive", metrics="mae_skill,mse_skill,relative_mae,mase,rmsse"
    )
    assert values_of_a(study) == pytest.approx(
        {
            "mae_skill": 1 - 2 / 9,
            "mse_skill": 1 - 2 / 25,
            "relative_mae": 2 / 9,
            "mase": 2 / 5 / (9 / 4),
            "rmsse": np.sqrt(2 / 5 / (25 / 4)),
        }
    )
    assert study.rows_without_reference == 1  # the first


def test_skill_against_the_season_before_by_hand():
    """The values y are 1, 3, 2, 6, 4. The reference is the value two before, with the absolute
    errors −, −, 1, 3, 2, whose sum is 6. The forecasts a have the absolute errors 0, 1, 0, 1, 0:
    their sum is 1 on the last three rows, and 2 on all five, which MASE takes.
    """
    study = study_of_a_and_b(SERIES, reference="seasonal:2", metrics="mae_skill,mase")
    assert values_of_a(study) == pytest.approx({"mae_skill": 1 - 1 / 6, "mase": 2 / 5 / (6 / 3)})


def test_skill_against_the_mean_is_r2():
    study = study_of_a_and_b(SERIES, reference="mean", metrics="mse_skill,r2")
    assert values_of_a(study)["mse_skill"] == pytest.approx(values_of_a(study)["r2"])


def test_several_steps_ahead_the_last_known_value_is_older():
    """The values y are 1, 3, 2, 6, 4. Two steps ahead the naive forecast is the value two before,
    with absolute errors 1, 3, 2 on the last three rows, whose sum is 6. There the forecasts a are
    2, 5, 4, with absolute errors 0, 1, 0.
    """
    study = study_of_a_and_b(SERIES.assign(horizon=2), reference="naive", metrics="mae_skill")
    assert values_of_a(study)["mae_skill"] == pytest.approx(1 - 1 / 6)


def test_each_series_has_its_own_last_value():
    """Of two series of five rows each, the first row of either has no value before."""
    table = pd.concat([SERIES.assign(series="u"), SERIES.assign(series="v", y=SERIES["y"] * 10)])
    study = study_of_a_and_b(table, reference="naive", metrics="mae_skill")
    assert study.rows_without_reference == 2


def test_scales_from_training_are_used_where_the_file_has_them():
    """MASE divides the mean absolute error, here 2 / 5, by that of the naive forecast on the
    training data, which the table has in its column naive_mae. RMSSE needs another scale, which the
    table lacks: it is computed from the rows, and a finding says so.
    """
    study = study_of_a_and_b(SERIES.assign(naive_mae=0.5), reference="naive", metrics="mase,rmsse")
    assert values_of_a(study)["mase"] == pytest.approx(2 / 5 / 0.5)
    found = [f for f in rating_page.every_finding(study) if "scale" in f.message]
    assert [f.message.split(" is ")[0] for f in found] == ["The scale of rmsse"]


def test_skill_of_quantiles_is_against_the_absolute_error_of_the_naive_forecast():
    """The metric wis is the weighted interval score of quantiles, which for a point forecast is its
    absolute error. The skill is therefore 1 − wis / (mean absolute error of the naive forecast).
    The first row has no value before and counts in neither.
    """
    table = quantile_forecasts(daily_series(12))
    study = rating.read(table, columns={"actual": "y"}, reference="naive")
    skill = study.estimates.set_index("metric").loc["wis_skill", "value"]
    without_first_row = rating.read(table[1:], columns={"actual": "y"}, metrics="wis")
    (wis,) = without_first_row.estimates["value"]
    naive_mae = table["y"].diff().abs()[1:].mean()
    assert skill == pytest.approx(1 - wis / naive_mae)


@pytest.mark.parametrize(
    ("table", "asked", "says"),
    [
        (SERIES, {"metrics": "mae_skill"}, "mae_skill needs a column reference, or reference="),
        (SERIES, {"metrics": "mase"}, "mase needs a column naive_mae"),
        (SERIES, {"metrics": "mase", "reference": "mean"}, "mase needs a column naive_mae"),
        (SERIES.drop(columns="period"), {"reference": "naive"}, "needs a column of several times"),
        (SERIES, {"reference": "drift"}, "reference must be naive"),
        (SERIES, {"reference": "seasonal:1"}, "reference must be naive"),
    ],
)
def test_what_skill_needs_is_said(table, asked, says):
    with pytest.raises(ParameterError, match=says):
        study_of_a_and_b(table, **asked)


# Scores of intervals ------------------------------------------------------------------------------


def test_scores_of_intervals_equal_those_of_mapie_and_scikit_learn():
    rows = pd.DataFrame(PEER_RESULTS["intervals"]["rows"])
    expected = PEER_RESULTS["intervals"]["scores"]
    study = rating.read(rows, metrics=list(expected))
    found = dict(zip(study.estimates["metric"], study.estimates["value"], strict=True))
    assert found == pytest.approx(expected, abs=1e-10)


def test_a_table_of_one_row_is_refused_with_its_one_reference_value():
    one_row = pd.DataFrame({"actual": [1.0], "forecast": [2.0], "reference": [900.0]})
    with pytest.raises(ParameterError, match="which holds 900; rename it"):
        rating.read(one_row, metrics="mae_skill")

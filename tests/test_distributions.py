"""Forecasts with quantiles, intervals, draws and moments: read by their names, scored, and counted
in blocks as in memory.
"""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.findings.kinds import NOTE, WARNING
from evalkit.limits import Limits, ReadingLimits
from evalkit.pages import rating_page
from evalkit.parameters.reports import RatingParameters
from evalkit.reading.matching import distribution_columns
from evalkit.studies import distributions, inspection, rating

RNG = np.random.default_rng(5)
N = 120
ACTUAL = RNG.gamma(5, 2, N)
FORECAST = ACTUAL + RNG.normal(0, 1, N)
DATES = pd.date_range("2026-01-01", periods=N).astype(str)


def bound_columns(low: str, high: str, half: float = 1.0, around=FORECAST) -> dict:
    """Two columns with these names: `half` below and `half` above the forecast."""
    return {low: around - half, high: around + half}


def study_of(columns, **parameters):
    return ek.rating(pd.DataFrame(columns), **parameters)


# by the kind of columns: the columns beside the actual value, and the levels of the intervals that
# are read from them, in percent
COLUMNS_AND_INTERVALS = {
    "quantiles": ({"q0.05": FORECAST - 2, "q0.5": FORECAST, "q0.95": FORECAST + 2}, [90]),
    "in words": ({"forecast": FORECAST} | bound_columns("quantile_0.1", "quantile_0.9", 2.0), [80]),
    "percentiles": ({"p10": FORECAST - 2, "p50": FORECAST, "p90": FORECAST + 2}, [80]),
    "of forecasts": ({"forecast": FORECAST} | bound_columns("forecast_p10", "forecast_p90"), [80]),
    "levels alone": ({"mean": FORECAST, "0.5": FORECAST} | bound_columns("0.25", "0.75"), [50]),
    "bounds": ({"forecast": FORECAST} | bound_columns("low_90", "high_90"), [90]),
    "Nixtla": ({"AutoETS": FORECAST} | bound_columns("AutoETS-lo-97.5", "AutoETS-hi-97.5"), [97.5]),
    "Prophet": (
        {"ds": DATES, "yhat": FORECAST, "trend": FORECAST}
        | bound_columns("yhat_lower", "yhat_upper")
        | bound_columns("trend_lower", "trend_upper"),
        [80],
    ),
    "draws": ({f"sample_{i}": FORECAST + i for i in range(4)}, [10, 20, 30, 40, 50, 60]),
    "moments": ({"mean": FORECAST, "sd": np.ones(N)}, [*distributions.DRAWN_LEVELS]),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS_AND_INTERVALS)
def test_distributions_are_read_by_their_names_and_none_is_a_system(name):
    columns, intervals = COLUMNS_AND_INTERVALS[name]
    study = study_of({"actual": ACTUAL} | columns)
    assert len(study.systems) == 1
    assert study.stated.intervals == intervals


@pytest.mark.parametrize(
    "columns",
    [
        {"forecast_A": FORECAST, "forecast_B": FORECAST + 1},
        {"A": FORECAST, "B": FORECAST + 1},
        {"A_q0.5": FORECAST, "B_q0.5": FORECAST + 1},
    ],
    ids=["by prefix", "whole names", "medians"],
)
def test_each_system_of_a_wide_table_has_its_own(columns):
    """Intervals of 80% are 1 below to 1 above the forecast for A, a width of 2, and 2 below to 2
    above for B, a width of 4. Their columns are named in two ways, by quantile and by interval.
    """
    beside = bound_columns("A_q0.1", "A_q0.9") | bound_columns("B-lo-80", "B-hi-80", 2.0)
    study = study_of({"actual": ACTUAL} | columns | beside, metrics="interval_width@80")
    assert study.estimates.set_index("system")["value"].to_dict() == pytest.approx({"A": 2, "B": 4})


def test_quantiles_of_a_long_table_are_paired_by_id():
    """A long table has a row for each system and id, here shuffled. An interval of 80% reaches from
    1 below to 1 above the median for A, a width of 2, and from 2 below to 2 above for B, a width of
    4.
    """
    both = {"id": np.arange(N), "actual": ACTUAL, "q0.5": FORECAST}
    of_a = pd.DataFrame({"model": "A"} | both | bound_columns("q0.1", "q0.9", half=1.0))
    of_b = pd.DataFrame({"model": "B"} | both | bound_columns("q0.1", "q0.9", half=2.0))
    table = pd.concat([of_a, of_b]).sample(frac=1, random_state=1)
    study = ek.rating(table, metrics="interval_width@80")
    assert study.estimates.set_index("system")["value"].to_dict() == pytest.approx({"A": 2, "B": 4})


def test_levels_that_a_system_lacks_are_read_of_none():
    """Both systems have the quantiles at 10% and 90%, an interval of 80%. Only A has those at 25%
    and 75%, which are left unread.
    """
    beside = (
        bound_columns("A_q0.1", "A_q0.9")
        | bound_columns("A_q0.25", "A_q0.75")
        | bound_columns("B_q0.1", "B_q0.9")
    )
    study = study_of({"actual": ACTUAL, "forecast_A": FORECAST, "forecast_B": FORECAST} | beside)
    assert study.stated.intervals == [80]
    unread = distribution_columns.unread(study.account.columns_without_role, study.systems)
    assert unread == ["A_q0.25", "A_q0.75"]


def test_bounds_without_a_level_are_read_once_the_user_states_it():
    columns = {"actual": ACTUAL, "forecast": FORECAST} | bound_columns("lower", "upper")
    assert study_of(columns).stated.intervals == []
    assert study_of(columns, interval_level=0.95).stated.intervals == [95]


def test_bounds_alone_are_refused_with_the_way():
    """The two bounds of an interval are no point forecast, nor is another column of numbers,
    `heat`. The message says what to add.
    """
    with pytest.raises(InputError, match=r"add the median, such as q0\.5"):
        study_of({"actual": ACTUAL} | bound_columns("low_90", "high_90"))
    features = {"heat": RNG.normal(0, 1, N)}
    with pytest.raises(InputError, match=r"add the median, such as q0\.5"):
        study_of({"actual": ACTUAL} | features | bound_columns("low_90", "high_90"))


def test_a_negative_deviation_is_refused_with_its_row(tmp_path):
    """Columns are recognised by their first 2,000 rows. The negative value stands after these, at
    position 2500, which is row 2501 when counted from 1.
    """
    deviation = np.ones(3000)
    deviation[2500] = -1.0
    level = RNG.gamma(5, 2, 3000)
    table = pd.DataFrame({"actual": level, "forecast": level + 1, "sd": deviation})
    table.to_csv(tmp_path / "f.csv", index=False)
    with pytest.raises(InputError, match=r"sd must be 0 or more, got -1 \(row 2501\)"):
        ek.rating(tmp_path / "f.csv")


def test_a_metric_of_a_missing_level_names_those_that_are_there():
    """A table with the quantiles at 10%, 50% and 90% is asked for an interval of 90%, which starts
    at 5%, and for crps, which needs draws; a table without quantiles is asked for wis, the weighted
    interval score, which needs them. Each message says what is needed.
    """
    columns = {"actual": ACTUAL, "p10": FORECAST - 1, "p50": FORECAST, "p90": FORECAST + 1}
    with pytest.raises(
        ParameterError, match=r"coverage@90 needs the 5% quantile, the table has 10%"
    ):
        study_of(columns, metrics="coverage@90")
    with pytest.raises(ParameterError, match="wis needs columns of quantiles"):
        study_of({"actual": ACTUAL, "forecast": FORECAST}, metrics="wis")
    with pytest.raises(ParameterError, match="crps needs columns of draws"):
        study_of(columns, metrics="crps")


def test_pinball_is_of_the_column_of_its_quantile():
    columns = {"actual": ACTUAL, "p10": FORECAST - 1, "p50": FORECAST, "p90": FORECAST + 1}
    value = study_of(columns, metrics="pinball@10").estimates["value"].item()
    miss = ACTUAL - FORECAST + 1
    assert value == pytest.approx(np.maximum(0.1 * miss, -0.9 * miss).mean(), abs=1e-12)


def test_the_first_metric_is_that_of_the_whole_distribution():
    """If no metric is named, the first one is the weighted interval score (wis) for quantiles with
    the median, crps for draws or for a mean and deviation, and the interval score for a point
    forecast with one interval of 80%, as Prophet gives it.
    """
    first = {}
    for kind, (columns, _intervals) in COLUMNS_AND_INTERVALS.items():
        first[kind] = study_of({"actual": ACTUAL} | columns).primary_metric.label
    assert first["percentiles"] == "wis"
    assert first["draws"] == first["moments"] == "crps"
    assert first["Prophet"] == "interval_score@80"


def test_crossing_quantiles_are_counted_with_the_worst_row():
    """The 90% quantile lies below the median in the rows with ids 3 and 70, by 1 and by 5.
    `crossings` has the number of rows and the id of the worst one.
    """
    high = FORECAST + 1
    high[[3, 70]] = FORECAST[[3, 70]] - [1, 5]
    study = study_of({"id": np.arange(N), "actual": ACTUAL, "p50": FORECAST, "p90": high})
    assert study.crossings == {"p50": (2, "70")}


def test_the_transform_of_right_quantiles_is_flat_and_its_shares_sum_to_1():
    """The probability integral transform says between which quantiles each actual value lies. The
    nine true quantiles at 10% to 90% make ten bins, so that each has a tenth of the 4,000 rows, a
    density of 1. The standard error of a share of 0.1 is √(0.1 · 0.9 / 4000) = 0.0047, 4.7% of the
    share, so that 0.15 is three of them. The intervals of the coverages hold the nominal levels.
    """
    levels = np.arange(1, 10) / 10
    actual = np.random.default_rng(2).normal(0, 1, 4000)
    quantiles = {f"q{q:.1f}": np.full(4000, stats.norm.ppf(q)) for q in levels}
    study = study_of({"actual": actual} | quantiles)
    transform = study.pit_histogram
    assert len(transform) == 10
    assert transform["share"].sum() == pytest.approx(1, abs=1e-12)
    assert transform["density"].to_numpy() == pytest.approx(1, abs=0.15)
    coverages = study.coverages
    assert (coverages["low"] < coverages["nominal"]).all()
    assert (coverages["nominal"] < coverages["high"]).all()


def test_a_column_of_horizons_is_the_segment_unless_the_user_names_others():
    """Forecasts with three quantiles are 1, 2 or 3 steps ahead, in the column horizon. Results are
    then also given by horizon, without being asked for. If the user names another column for this,
    region, they are given by region alone.
    """
    quantiles = {"p10": FORECAST - 2, "p50": FORECAST, "p90": FORECAST + 2}
    columns = {"actual": ACTUAL, "horizon": np.arange(N) % 3 + 1} | quantiles
    assert study_of(columns).settings.segments == ("horizon",)
    columns["region"] = np.where(np.arange(N) % 2, "a", "b")
    assert study_of(columns, segments="region").settings.segments == ("region",)


IN_BLOCKS_OF_50_ROWS = Limits(reading=ReadingLimits(rows=50, shard=50, largest=50))


@pytest.mark.parametrize("kind", ["percentiles", "Prophet", "moments"])
def test_blocks_give_the_numbers_of_memory(kind, tmp_path):
    """A table of 120 rows with a distribution, which is quantiles, the interval of Prophet, or a
    mean and deviation, is read at once and in blocks of 50 rows. In blocks the rows are not kept
    (`data` is None), and all numbers are the same.
    """
    columns, _ = COLUMNS_AND_INTERVALS[kind]
    table = pd.DataFrame({"id": np.arange(N), "actual": ACTUAL} | columns)
    table.to_parquet(tmp_path / "f.parquet")
    parameters = RatingParameters.from_raw({"preds": str(tmp_path / "f.parquet")})
    in_memory = rating.study_of(parameters)
    in_blocks = rating.study_of(parameters, IN_BLOCKS_OF_50_ROWS)
    assert in_blocks.data is None  # no rows are kept
    expected_values = in_memory.estimates["value"].to_numpy()
    assert in_blocks.estimates["value"].to_numpy() == pytest.approx(expected_values, abs=1e-12)
    numbers = ["system", "nominal", "value"]
    pd.testing.assert_frame_equal(in_blocks.coverages[numbers], in_memory.coverages[numbers])
    assert in_blocks.crossings == in_memory.crossings


def test_draws_alone_need_memory(tmp_path):
    table = pd.DataFrame({"id": np.arange(N), "actual": ACTUAL} | COLUMNS_AND_INTERVALS["draws"][0])
    table.to_parquet(tmp_path / "f.parquet")
    given = RatingParameters.from_raw({"preds": str(tmp_path / "f.parquet")})
    with pytest.raises(InputError, match="add their median as a column"):
        rating.study_of(given, IN_BLOCKS_OF_50_ROWS)


def message_by_code(study) -> dict[str, str]:
    return {finding.kind.code: finding.message for finding in rating_page.every_finding(study)}


def findings_of_width(factor: float) -> list:
    """The findings about the coverage of intervals of 90%, as many times as wide as they should be:
    the actual values are standard normal.
    """
    actual = np.random.default_rng(8).normal(0, 1, 500)
    quantile = stats.norm.ppf(0.95)
    low, high = np.full(500, -factor * quantile), np.full(500, factor * quantile)
    columns = {"actual": actual, "a": actual / 2, "a_q0.05": low, "a_q0.95": high}
    study = study_of(columns, metrics="mae")
    return [found for found in rating_page.every_finding(study) if found.kind.code == "EK351"]


def test_intervals_of_the_right_width_are_no_finding():
    assert findings_of_width(1) == []


def test_too_narrow_intervals_are_a_warning_with_the_interval_of_their_coverage():
    (narrow,) = findings_of_width(0.5)
    assert narrow.severity == WARNING
    pattern = r"Intervals too narrow. .*: a \d\d% \[\d\d%, \d\d%\] instead of 90%\."
    assert re.fullmatch(pattern, narrow.message)


def test_too_wide_intervals_are_a_note():
    (wide,) = findings_of_width(2)
    assert wide.severity == NOTE


def test_the_level_that_is_assumed_for_prophet_is_a_finding_unless_the_user_states_it():
    """Prophet writes the forecast as yhat with the bounds yhat_lower and yhat_upper, and its trend,
    a part of the forecast, with bounds that are not read. The names state no level of the interval,
    and Prophet's default of 80% is assumed. The finding EK353 says so. If the user states the level
    as 0.9, nothing is assumed, and there is no such finding.
    """
    dated = {"ds": DATES, "actual": ACTUAL, "yhat": FORECAST, "trend": FORECAST}
    bounds_of_both = bound_columns("yhat_lower", "yhat_upper") | bound_columns(
        "trend_lower", "trend_upper"
    )
    columns = dated | bounds_of_both
    assumed = message_by_code(study_of(columns))["EK353"]
    assert "'yhat_lower', 'yhat_upper' state no level" in assumed
    assert "EK353" not in message_by_code(study_of(columns, interval_level=0.9))


def test_bounds_without_a_level_are_a_finding_as_they_are_not_read():
    columns = {"actual": ACTUAL, "forecast": FORECAST} | bound_columns("lower", "upper")
    assert "'lower', 'upper'" in message_by_code(study_of(columns))["EK354"]


def test_crossing_quantiles_are_a_warning():
    """The 90% quantile lies 1 above the median in all rows but the one with id 70, where it lies 4
    below. The finding counts one row where p50 and the next quantile cross, and names the worst
    row.
    """
    high = FORECAST + 1
    high[70] -= 5
    said = message_by_code(
        study_of({"id": np.arange(N), "actual": ACTUAL, "p50": FORECAST, "p90": high})
    )
    assert said["EK352"] == "Rows whose quantiles cross: 1 of p50, most in row 70."


def test_the_page_draws_intervals_where_there_are_any():
    """Three figures of the page show intervals, here from the 10% to the 90% quantile. A figure has
    a caption if it is drawn, and is an empty text if not: so for a forecast without quantiles. The
    results of the page have the coverage of the interval of 80%.
    """
    tenth_median_and_ninetieth = {"p10": FORECAST - 2, "p50": FORECAST, "p90": FORECAST + 2}
    study = study_of({"actual": ACTUAL} | tenth_median_and_ninetieth)
    without_quantiles = study_of({"actual": ACTUAL, "forecast": FORECAST})
    for figure in (rating_page.coverage_plot, rating_page.transform_plot, rating_page.fan_plot):
        assert figure(study).caption
        assert figure(without_quantiles).html == ""
    coverages = rating_page.results(study).results["intervals"]["coverage"]
    assert [row["nominal"] for row in coverages] == [0.8]  # from p10 to p90


def test_a_long_table_of_two_systems_is_read_in_blocks_too(tmp_path):
    """A long table with a row for each of 120 ids and each of the systems A and B, whose intervals
    differ in width, is read at once and in blocks of 50 rows. Comparisons of the systems are the
    same, and the fan plot, which shows the intervals of some rows, is drawn from blocks too.
    """
    both = {"id": np.arange(N), "actual": ACTUAL}
    of_a = {"model": "A", "q0.5": FORECAST + 0.1} | both | bound_columns("q0.1", "q0.9", half=1.0)
    of_b = {"model": "B", "q0.5": FORECAST} | both | bound_columns("q0.1", "q0.9", half=2.0)
    table = pd.concat([pd.DataFrame(of_a), pd.DataFrame(of_b)])
    table.to_parquet(tmp_path / "f.parquet")
    parameters = RatingParameters.from_raw({"preds": str(tmp_path / "f.parquet")})
    in_memory = rating.study_of(parameters)
    in_blocks = rating.study_of(parameters, IN_BLOCKS_OF_50_ROWS)
    assert in_blocks.data is None  # no rows are kept
    columns = ["metric", "first", "second", "difference"]
    pd.testing.assert_frame_equal(
        in_blocks.comparisons[columns], in_memory.comparisons[columns], rtol=1e-12
    )
    assert len(in_blocks.examples.points) == 30  # the fan plot shows 30 rows, in memory too
    assert rating_page.fan_plot(in_blocks).caption.startswith("A: central intervals of 80%")


def test_the_steps_of_a_horizon_are_slices_in_their_order():
    """A column called step, with the whole numbers 1 to 12 over 120 rows, is taken for a horizon
    without being asked for, and each step is a slice. A study of the first slice has the weighted
    interval score (wis) as its first metric, as all rows have, because its rows have quantiles.
    """
    quantiles = {"p10": FORECAST - 2, "p50": FORECAST, "p90": FORECAST + 2}
    step = np.arange(N) % 12 + 1
    study = study_of({"actual": ACTUAL, "step": step} | quantiles)
    assert study.settings.segments == ("step",)
    assert [part.label for part in study.slices] == [str(number) for number in range(1, 13)]
    assert study.by_segment["value"].notna().all()
    parameters_of_report = study.p
    study_of_first_slice = study.sliced(study.slices[0], parameters_of_report)
    assert study_of_first_slice.primary_metric.label == "wis"


def test_a_deviation_that_is_a_feature_of_several_systems_is_no_finding():
    """A column std names no system, so that it may be the deviation of a feature, beside forecasts
    of two systems. No intervals are made from it, and there is no finding EK354, on columns that
    look like distributions but are not read.
    """
    columns = {
        "actual": ACTUAL,
        "forecast_a": FORECAST,
        "forecast_b": FORECAST + 1,
        "std": np.ones(N),
    }
    study = study_of(columns)
    assert study.stated.intervals == []
    assert "EK354" not in message_by_code(study)


def test_scores_that_few_rows_make_up_are_named():
    columns = {"actual": ACTUAL} | bound_columns("q0.05", "q0.95") | {"q0.5": FORECAST}
    said = message_by_code(study_of(columns, metrics="interval_score@90,wis,pinball@50"))
    assert "in the direction of interval_score@90, and" in said["EK331"]
    assert "EK331" not in message_by_code(study_of(columns, metrics="wis,pinball@50"))


def test_inspect_and_the_check_of_headers_read_quantiles_too(tmp_path):
    """`check_headers` refuses a table by its columns alone, and `inspect` tells how they would be
    read. The point forecast is the median. With the quantiles at 10% and 90% alone there is none,
    so that the table is refused.
    """
    table = pd.DataFrame(
        {"actual": ACTUAL, "p10": FORECAST - 1, "p50": FORECAST, "p90": FORECAST + 1}
    )
    table.to_csv(tmp_path / "all.csv", index=False)
    table.drop(columns="p50").to_csv(tmp_path / "bounds.csv", index=False)
    with_median = RatingParameters.from_raw({"preds": str(tmp_path / "all.csv")})
    inspection.check_headers(with_median)  # raises nothing
    assert inspection.inspect(with_median).columns["quantile"] == "p10, p50, p90"
    without_median = RatingParameters.from_raw({"preds": str(tmp_path / "bounds.csv")})
    with pytest.raises(InputError, match="need a point forecast"):
        inspection.check_headers(without_median)


ROWS = 300
NOISE = np.random.default_rng(5)
CENTRE = NOISE.normal(0, 3, ROWS)
ACTUAL_AROUND_CENTRE = CENTRE + NOISE.normal(0, 1, ROWS)
AROUND_ONE_FORECAST = pd.DataFrame(
    {"actual": ACTUAL_AROUND_CENTRE, "a": CENTRE, "b": CENTRE}
    | {f"{name}_p10": CENTRE - width for name, width in (("a", 1.3), ("b", 8))}
    | {f"{name}_p90": CENTRE + width for name, width in (("a", 1.3), ("b", 8))}
)


def test_intervals_around_one_forecast_differ():
    """Systems a and b have the same forecast, whose error is standard normal. Their intervals of
    80% are ± 1.3 for a, about right, and ± 8 for b, far too wide. So a is better by the interval
    score, where lower is better, and the mean absolute error (mae) does not differ.
    """
    study = ek.rating(AROUND_ONE_FORECAST, metrics="interval_score@80,mae")
    compared = study.comparisons.set_index("metric")
    values = study.estimates.set_index(["metric", "system"])["value"]
    score = "interval_score@80"
    expected = values[score, "a"] - values[score, "b"]
    assert compared.loc[score, "difference"] == pytest.approx(expected)
    assert compared.loc[score, "verdict"] == "better"
    assert compared.loc["mae", "difference"] == 0


def test_units_are_not_counted_by_errors_under_a_score_of_intervals():
    study = ek.rating(AROUND_ONE_FORECAST, metrics="interval_score@80,mae")
    wins = study.comparisons.set_index("metric")["wins"]
    assert np.isnan(wins["interval_score@80"])
    assert wins["mae"] == 0


@pytest.mark.parametrize("draws", [9, 19, 50])
def test_intervals_of_right_draws_hold_their_share(draws):
    """A forecast is 9, 19 or 50 random draws from the distribution of the actual value. The actual
    value is like one more draw, so that an interval of 80% holds it in 80% of 4,000 rows, within
    four standard errors. The standard deviation of a row is √(0.8 · 0.2) = 0.4.
    """
    rng = np.random.default_rng(draws)
    centre = rng.normal(0, 3, 4000)
    members = {f"sample_{i}": centre + rng.normal(0, 1, 4000) for i in range(draws)}
    table = pd.DataFrame({"actual": centre + rng.normal(0, 1, 4000), "forecast": centre} | members)
    study = ek.rating(table, metrics="crps,coverage@80")
    row = study.estimates.set_index("metric").loc["coverage@80"]
    standard_error = 0.4 / np.sqrt(4000)
    assert abs(row["value"] - 0.8) < 4 * standard_error
    assert "EK351" not in set(study.findings["code"])  # intervals too narrow or too wide


def test_an_interval_beyond_a_few_draws_is_refused():
    members = {f"sample_{i}": CENTRE + NOISE.normal(0, 1, ROWS) for i in range(9)}
    table = pd.DataFrame({"actual": ACTUAL_AROUND_CENTRE, "forecast": CENTRE} | members)
    with pytest.raises(ParameterError, match=r"coverage@90 needs the 5% quantile"):
        ek.rating(table, metrics="coverage@90")


def test_exact_intervals_of_counts_are_not_called_too_wide():
    counts = np.random.default_rng(6).poisson(3, 800)
    table = pd.DataFrame({"actual": counts, "forecast": 3.0, "p25": 2.0, "p50": 3.0, "p75": 4.0})
    assert "EK351" not in set(ek.rating(table).findings["code"])


# What names do not state clearly is not read ------------------------------------------------------

OTHER_FORECAST = ACTUAL + np.random.default_rng(6).normal(0, 1.5, N)
TWO_SYSTEMS = {"actual": ACTUAL, "A": FORECAST, "B": OTHER_FORECAST}
ONE_SYSTEM = {"actual": ACTUAL, "forecast": FORECAST}
AFAR = np.random.default_rng(7).normal(50, 5, N)


@pytest.fixture(params=["frame", "CSV"])
def read_from_frame_or_csv(request, tmp_path):
    """A function that reads columns into a study: once from a frame, once from a CSV file."""

    def read(table, **parameters):
        table = pd.DataFrame(table)
        if request.param == "frame":
            return ek.rating(table, **parameters)
        table.to_csv(tmp_path / "f.csv", index=False)
        return ek.rating(tmp_path / "f.csv", **parameters)

    return read


def unread_columns(study) -> str:
    """The columns of the finding on unread columns; empty without it."""
    return message_by_code(study).get("EK354", "").rpartition(": ")[2].rstrip(".")


@pytest.mark.parametrize(
    ("columns", "unread"),
    [
        (bound_columns("A_p10", "A_p90"), "'A_p10', 'A_p90'"),
        ({"A_sd": np.ones(N)}, "'A_sd'"),
        (bound_columns("lower_A", "upper_A"), "'lower_A', 'upper_A'"),
        (bound_columns("2.5%_A", "97.5%_A"), "'2.5%_A', '97.5%_A'"),
        (bound_columns("A_0.05", "A_0.95"), "'A_0.05', 'A_0.95'"),
        (bound_columns("p10_A", "p90_A"), "'p10_A', 'p90_A'"),
        ({"heat": AFAR * 10, "heat_std": np.ones(N)}, ""),
        ({"heat": AFAR * 10} | bound_columns("heat_p10", "heat_p90"), ""),
    ],
    ids=[
        "quantiles",
        "deviation",
        "bounds",
        "percentage first",
        "shares",
        "level first",
        "of a feature",
        "quantiles of a feature",
    ],
)
def test_columns_of_one_owner_do_not_decide_who_is_a_system(
    read_from_frame_or_csv, columns, unread
):
    result = read_from_frame_or_csv(TWO_SYSTEMS | columns)
    assert [*result.systems] == ["A", "B"]
    assert result.stated.roles == []
    assert unread_columns(result) == unread


def test_medians_beside_a_column_that_fits_as_well_are_refused():
    medians = {"A_p50": FORECAST} | bound_columns("A_p10", "A_p90")
    with pytest.raises(InputError, match="'A_p50' and 'B' could be the predictions"):
        study_of({"actual": ACTUAL, "B": OTHER_FORECAST} | medians)
    chosen = study_of({"actual": ACTUAL, "B": OTHER_FORECAST} | medians, systems="A_p50,B")
    assert [*chosen.systems] == ["A_p50", "B"]


LEVELS_FIRST = {
    "quantiles": bound_columns("p10_A", "p90_A")
    | bound_columns("p10_B", "p90_B", around=OTHER_FORECAST),
    "bounds": bound_columns("lo-80-A", "hi-80-A")
    | bound_columns("lo-80-B", "hi-80-B", around=OTHER_FORECAST),
}


@pytest.mark.parametrize("name", LEVELS_FIRST)
def test_a_level_may_stand_before_its_owner(read_from_frame_or_csv, name):
    result = read_from_frame_or_csv(TWO_SYSTEMS | LEVELS_FIRST[name])
    assert [*result.systems] == ["A", "B"]
    assert result.stated.intervals == [80]


def test_the_owner_may_stand_before_the_level(read_from_frame_or_csv):
    bounds_of_a = bound_columns("A 80% lower", "A 80% upper")
    bounds_of_b = bound_columns("B 80% lower", "B 80% upper", half=2.0, around=OTHER_FORECAST)
    result = read_from_frame_or_csv(TWO_SYSTEMS | bounds_of_a | bounds_of_b)
    assert [*result.systems] == ["A", "B"]
    assert result.stated.intervals == [80]


SIX_NUMBERED_COLUMNS = {
    f"A_{i}": FORECAST + np.random.default_rng(i).normal(0, 1, N) for i in range(6)
}


def with_centre_as_column_a(draws, centre) -> dict:
    """The columns A_0 to A_5 and their mean or median as A."""
    return {"A": centre([*draws.values()], axis=0)} | draws


@pytest.mark.parametrize("centre", [np.mean, np.median])
def test_numbered_columns_around_their_centre_are_draws(read_from_frame_or_csv, centre):
    result = read_from_frame_or_csv(
        {"actual": ACTUAL} | with_centre_as_column_a(SIX_NUMBERED_COLUMNS, centre)
    )
    assert [*result.systems] == ["A"]
    assert len(result.stated.roles) == 6  # columns of the distribution: six draws


@pytest.mark.parametrize("centre", [np.mean, np.median])
def test_numbered_columns_of_two_systems_are_draws(read_from_frame_or_csv, centre):
    """System A has the numbered columns forecast_A_0 to forecast_A_5 and the column forecast_A,
    which is their mean or median; system B has the same, 0.1 higher. Numbered columns around their
    centre are draws of one distribution, not systems.
    """
    columns_of_a = with_centre_as_column_a(SIX_NUMBERED_COLUMNS, centre)
    of_a = {f"forecast_{name}": values for name, values in columns_of_a.items()}
    of_b = {name.replace("A", "B"): values + 0.1 for name, values in of_a.items()}
    result = read_from_frame_or_csv({"actual": ACTUAL} | of_a | of_b)
    assert [*result.systems] == ["A", "B"]
    assert len(result.stated.roles) == 6  # six draws of each system


def test_other_numbered_columns_are_systems_and_the_page_says_so(read_from_frame_or_csv):
    """The six columns A_0 to A_5 are forecasts without a column A that would be their centre, so
    that they may be systems or draws of one. They are read as six systems, and the finding EK354
    says so. There is no finding for four such columns, which are too few to look like draws.
    """
    result = read_from_frame_or_csv({"actual": ACTUAL} | SIX_NUMBERED_COLUMNS)
    assert len(result.systems) == 6
    assert "'A_0' to 'A_5' are compared as one system each" in message_by_code(result)["EK354"]
    assert "EK354" not in message_by_code(
        read_from_frame_or_csv({"actual": ACTUAL} | dict([*SIX_NUMBERED_COLUMNS.items()][:4]))
    )


def test_draws_beside_quantiles_of_another_system_are_named(read_from_frame_or_csv):
    """System A has six draws, in the columns A_sample_0 to A_sample_5, and B two quantiles.
    Distributions are read only if all systems have the same kind of them. So none is read, and the
    finding EK354 names what each system has.
    """
    drawn = {name.replace("_", "_sample_"): values for name, values in SIX_NUMBERED_COLUMNS.items()}
    result = read_from_frame_or_csv(
        TWO_SYSTEMS | drawn | bound_columns("B_q0.1", "B_q0.9", around=OTHER_FORECAST)
    )
    assert result.stated.roles == []
    assert "(A: 6 draws; B: quantiles of 10%, 90%)" in message_by_code(result)["EK354"]


def test_medians_with_the_level_first_are_the_systems(read_from_frame_or_csv):
    medians = {"actual": ACTUAL, "p50_A": FORECAST, "p50_B": OTHER_FORECAST}
    result = read_from_frame_or_csv(medians | LEVELS_FIRST["quantiles"])
    assert [*result.systems] == ["A", "B"]
    assert result.stated.shown_percents == [10, 50, 90]


LEVELS = {
    "R": ({"fit": FORECAST} | bound_columns("2.5%", "97.5%"), [2.5, 97.5]),
    "R with names checked": ({"fit": FORECAST} | bound_columns("X2.5.", "X97.5."), [2.5, 97.5]),
    "ordinal": (ONE_SYSTEM | bound_columns("p10th", "p90th"), [10, 90]),
    "share behind its owner": ({"A": FORECAST} | bound_columns("A-0.05", "A-0.95"), [5, 95]),
    "NeuralProphet": ({"yhat1": FORECAST} | bound_columns("yhat1 5.0%", "yhat1 95.0%"), [5, 95]),
    "one digit": (ONE_SYSTEM | {"p50": FORECAST} | bound_columns("p5", "p95"), [5, 50, 95]),
    "of bounds": (ONE_SYSTEM | bound_columns("lower_5", "upper_95"), [5, 95]),
    "three digits": (ONE_SYSTEM | {"q50": FORECAST} | bound_columns("q025", "q975"),
                     [2.5, 50, 97.5]),
    "below 1 beside above": (ONE_SYSTEM | {"p50": FORECAST} | bound_columns("p0.5", "p99.5"),
                             [0.5, 50, 99.5]),
    "underscore": (ONE_SYSTEM | {"p50": FORECAST} | bound_columns("p2_5", "p97_5"),
                   [2.5, 50, 97.5]),
    "shares with underscores": (ONE_SYSTEM | bound_columns("q0_05", "q0_95"), [5, 95]),
    "many digits": (ONE_SYSTEM | bound_columns("q0.1586553", "q0.8413447"), [15.8655, 84.1345]),
    "level before the word": (ONE_SYSTEM | bound_columns("95% lower", "95% upper"), [2.5, 97.5]),
    "level before words": (ONE_SYSTEM | bound_columns("95% CI lower", "95% CI upper"), [2.5, 97.5]),
    "level alone before it": (ONE_SYSTEM | bound_columns("80_lower", "80_upper"), [10, 90]),
    "per cent in letters": (ONE_SYSTEM | bound_columns("lower_80_pct", "upper_80_pct"), [10, 90]),
    "of an interval": (ONE_SYSTEM | bound_columns("lo-68.26894", "hi-68.26894"),
                       [15.86555, 84.13445]),
}  # fmt: skip


@pytest.mark.parametrize("name", LEVELS)
def test_levels_are_read_as_they_are_meant(read_from_frame_or_csv, name):
    columns, percents = LEVELS[name]
    result = read_from_frame_or_csv({"actual": ACTUAL} | columns)
    assert len(result.systems) == 1
    assert result.stated.shown_percents == percents
    assert unread_columns(result) == ""


@pytest.mark.parametrize(
    "names",
    [
        # one digit, one below 1 beside higher ones, or an underscore: a level only beside the other
        # end of the interval, as 95 for 5
        ("p5", "p50", "p90"),
        ("q05", "q5", "q50"),
        ("p0.1", "p50", "p90"),
        # three digits: tenths of a percentage only with a leading 0 and the other end, as 975
        ("q025", "q050", "q500"),
        ("q250", "q500", "q750"),
        ("p10_5", "p50_5", "p90_5"),
        ("q10", "q11", "q12"),
    ],
)
def test_unclear_levels_are_unread_and_no_systems(read_from_frame_or_csv, names):
    """Three columns have `names` whose numbers may be levels of quantiles or something else: p5
    beside p90 may be the fifth column of some kind, and beside p95 it would be the 5% quantile.
    Such columns are read neither as quantiles nor as systems. With a column of forecasts they are
    left unread; without one, the table is refused.
    """
    quantiles = dict(zip(names, (FORECAST - 1, FORECAST, FORECAST + 1), strict=True))
    result = read_from_frame_or_csv(ONE_SYSTEM | quantiles)
    assert [*result.systems] == ["forecast"]
    assert result.stated.roles == []
    assert unread_columns(result) == ", ".join(map(repr, names))
    with pytest.raises(InputError, match="no column for the forecast"):
        read_from_frame_or_csv({"actual": ACTUAL} | quantiles)


def test_a_column_quantile_of_groups_is_no_level(read_from_frame_or_csv):
    assert [*read_from_frame_or_csv(ONE_SYSTEM | {"quantile": np.arange(N) % 10 + 1}).systems] == [
        "forecast"
    ]


def test_bounds_that_name_their_forecast_come_before_others(read_from_frame_or_csv):
    """The bounds yhat_lower and yhat_upper bear the name of the forecast, yhat. The columns low and
    high do not, and may be something else, such as the prices of a stock on that day. Of the two
    pairs, only the first is read as the interval of 90%, the level that the user states.
    """
    dated = {"ds": DATES, "y": ACTUAL, "yhat": FORECAST}
    others = bound_columns("low", "high", half=5.0)
    result = read_from_frame_or_csv(
        dated | others | bound_columns("yhat_lower", "yhat_upper"), interval_level=0.9
    )
    assert result.account.columns["quantile"] == "yhat_lower, yhat_upper"


def test_quantiles_that_name_their_forecast_come_before_others(read_from_frame_or_csv):
    named = bound_columns("forecast_p10", "forecast_p90")
    result = read_from_frame_or_csv(ONE_SYSTEM | bound_columns("p10", "p90", half=5.0) | named)
    assert result.account.columns["quantile"] == "forecast_p10, forecast_p90"
    assert unread_columns(result) == "'p10', 'p90'"


def test_two_columns_with_one_role_are_refused_if_they_differ(read_from_frame_or_csv):
    """Bounds lie 1 below and 1 above the forecast. A second column for the same lower bound, with
    another name, lies 2 below. Neither can be preferred, for quantiles or for bounds that state no
    level.
    """
    quantiles = ONE_SYSTEM | {"p50": FORECAST} | bound_columns("p10", "p90")
    with pytest.raises(InputError, match=r"'p10', 'q0\.1' differ"):
        read_from_frame_or_csv(quantiles | {"q0.1": FORECAST - 2})
    limits = ONE_SYSTEM | bound_columns("lower", "upper")
    with pytest.raises(InputError, match="'lower', 'lo' differ"):
        read_from_frame_or_csv(limits | {"lo": FORECAST - 2}, interval_level=0.9)


def test_two_equal_columns_with_one_role_are_read_as_one(read_from_frame_or_csv):
    quantiles = ONE_SYSTEM | {"p50": FORECAST} | bound_columns("p10", "p90")
    assert read_from_frame_or_csv(quantiles | {"median": FORECAST}).stated.shown_percents == [
        10,
        50,
        90,
    ]


NOISE = np.random.default_rng(9)
UNFIT = {
    "moments": {"mean": AFAR, "std": np.full(N, 5.0)},
    "draws": {f"sample_{i}": NOISE.normal(0, 1, N) for i in range(3)},
    "draws of the same size": {f"sample_{i}": NOISE.permutation(FORECAST) for i in range(3)},
    "survey": {f"q{i}": NOISE.integers(1, 6, N) for i in range(1, 13)},
    "quantiles": {"q10": AFAR, "q90": AFAR + 2},
    "standardised": {"std": NOISE.normal(0, 1, N)},
}


@pytest.mark.parametrize("name", UNFIT)
def test_columns_that_do_not_fit_the_forecasts_are_unread(read_from_frame_or_csv, name):
    result = read_from_frame_or_csv(ONE_SYSTEM | UNFIT[name])
    assert [*result.systems] == ["forecast"]
    assert result.stated.roles == []
    assert unread_columns(result) == ", ".join(map(repr, UNFIT[name]))


def test_a_negative_deviation_in_the_first_rows_is_refused_too(read_from_frame_or_csv):
    """Columns are recognised by the cells of their first rows. A column sd with a negative value
    there, in row 4, must be refused as a deviation, not ignored as another column; so for one
    system and for each of the systems A and B.
    """
    deviation = np.ones(N)
    deviation[3] = -1.0  # row 4
    with pytest.raises(InputError, match=r"sd must be 0 or more, got -1 \(row 4\)"):
        read_from_frame_or_csv(ONE_SYSTEM | {"sd": deviation})
    with pytest.raises(InputError, match=r"A_sd must be 0 or more, got -1 \(row 4\)"):
        read_from_frame_or_csv(TWO_SYSTEMS | {"A_sd": deviation, "B_sd": np.ones(N)})


@pytest.mark.parametrize(
    ("lower_level", "upper_level"), [(25, 75), (10, 75)], ids=["none shared", "one shared"]
)
def test_systems_that_share_fewer_than_two_levels_have_no_distributions(
    read_from_frame_or_csv, lower_level, upper_level
):
    """System A has the quantiles at 10% and 90%, system B at a lower and an upper level of which at
    most one is 10% or 90%. Distributions are compared only at levels that both systems have, and
    one level is no interval. So no distribution is read, and the finding EK354 names the levels of
    each system.
    """
    of_a = bound_columns("A_p10", "A_p90")
    of_b = bound_columns(f"B_p{lower_level}", f"B_p{upper_level}", around=OTHER_FORECAST)
    result = read_from_frame_or_csv(TWO_SYSTEMS | of_a | of_b)
    assert result.stated.roles == []
    levels = f"(A: quantiles of 10%, 90%; B: quantiles of {lower_level}%, {upper_level}%)"
    assert levels in message_by_code(result)["EK354"]


def test_a_mean_that_only_one_of_two_systems_has_is_unread(read_from_frame_or_csv):
    deviations = {"A_sd": np.ones(N), "B_sd": np.ones(N)}
    result = read_from_frame_or_csv(TWO_SYSTEMS | deviations | {"A_mean": FORECAST})
    assert unread_columns(result) == "'A_mean'"


@pytest.mark.parametrize(
    ("horizon", "parameters"),
    [
        (np.arange(N), {}),
        (np.arange(N) // 2, {}),
        (AFAR, {}),
        (np.arange(N), {"columns": "id=horizon"}),
        (np.arange(N) % 3, {"unit": "horizon"}),
    ],
    ids=["running number", "many", "no whole numbers", "id", "unit"],
)
def test_a_horizon_with_many_values_or_another_use_is_no_segment(
    read_from_frame_or_csv, horizon, parameters
):
    columns = {"actual": ACTUAL, "horizon": horizon} | COLUMNS_AND_INTERVALS["percentiles"][0]
    assert read_from_frame_or_csv(columns, **parameters).settings.segments == ()

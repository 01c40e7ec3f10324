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
from evalkit.limits import Limits, Reading
from evalkit.pages import rating_page
from evalkit.parameters.reports import RatingParameters
from evalkit.statistics.methods import DIEBOLD_MARIANO, TAPERED
from evalkit.statistics.spread import Spread
from evalkit.statistics.statistic import Layout
from evalkit.studies import rating

PEERS = json.loads((ORACLES / "series.json").read_text(encoding="utf-8"))
MACRO = pd.read_csv(ORACLES / "macro_forecasts.csv")
METRICS = {"squared": "mse", "absolute": "mae"}

ABOUT_TIMES = (kinds.TIME_ORDER, kinds.TIMES_WITHOUT_ORDER)


def days(n=40, seed=0, **more):
    """A series of days with two systems."""
    rng = np.random.default_rng(seed)
    y = 20 + np.cumsum(rng.normal(0, 1, n))
    columns = {name: y + rng.normal(0, 1, n) for name in ("a", "b")}
    ds = pd.date_range("2026-01-01", periods=n)
    return pd.DataFrame({"ds": ds, "y": y} | columns | more)


def read(table, **parameters):
    """The study of systems a and b."""
    return rating.read(table, columns={"actual": "y"}, systems="a,b", **parameters)


def forms(study):
    """The sentences about the order in time, by the beginnings that tell them apart."""
    found = [f for f in rating_page.every_finding(study) if f.kind in ABOUT_TIMES]
    return {f.message.split()[0]: f for f in found}


def first(study):
    """The first comparison."""
    return study.comparisons.iloc[0]


# Diebold and Mariano ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", PEERS["tests"], ids=lambda case: "-".join(map(str, case.values())))
def test_statistic_equals_that_of_dieboldmariano(case):
    rows = MACRO[(MACRO["series"] == case["series"]) & (MACRO["horizon"] == case["horizon"])]
    power = 2 if case["loss"] == "squared" else 1
    losses = [np.abs(rows["observed"] - rows[name]) ** power for name in case["pair"]]
    difference = (losses[0] - losses[1]).to_numpy()
    mean = difference.mean()
    spread = Spread.from_series((difference - mean) / len(rows), case["horizon"] - 1)
    assert mean / spread.error == pytest.approx(case["statistic"], abs=1e-10)


@pytest.mark.parametrize("loss", METRICS)
@pytest.mark.parametrize("horizon", [1, 4])
@pytest.mark.parametrize("series", ["inflation", "unemployment"])
def test_p_of_a_report_equals_that_of_dieboldmariano(series, horizon, loss):
    rows = MACRO[(MACRO["series"] == series) & (MACRO["horizon"] == horizon)]
    study = rating.read(
        rows.sample(frac=1, random_state=1), systems="naive,mean4,ar4", metrics=METRICS[loss]
    )
    p = {frozenset(row[["first", "second"]]): row["p"] for _, row in study.comparisons.iterrows()}
    key = {"series": series, "horizon": horizon, "loss": loss}
    peers = [case for case in PEERS["tests"] if key.items() <= case.items()]
    assert len(peers) == len(p) == 3
    for case in peers:
        assert p[frozenset(case["pair"])] == pytest.approx(case["p"], abs=1e-10)


def test_a_variance_that_is_not_positive_is_tapered():
    # products at lag 1 are all negative: 4 − 2 × 3 < 0, with the weight 1/2 it is 4 − 3
    spread = Spread.from_series(np.array([1.0, -1.0, 1.0, -1.0]), lags=1)
    assert spread.tapered
    assert spread.error == pytest.approx(np.sqrt(1 * 4 * 4 / (3 * 2)))


def test_a_report_says_where_it_is():
    up_and_down = np.tile([0.0, 2.0], 20)
    table = days(horizon=2)
    table["a"] = table["y"] + up_and_down + 0.01 * (table["a"] - table["y"])
    table["b"] = table["y"] + 1
    study = read(table, metrics="mae")
    assert first(study)["method"] == TAPERED
    assert "mae" in forms(study)["The"].message


def test_too_few_times_for_the_horizon_have_no_p():
    study = read(days(10, horizon=12), metrics="mae")
    assert np.isnan(first(study)["p"])
    assert first(study)["verdict"] == "cannot tell"
    assert np.isnan(first(study)[["low", "high"]].to_numpy(float)).all()
    assert "need more than 12 times, the rows have 10" in forms(study)["There"].message


def test_equal_forecasts_do_not_differ_and_constant_errors_cannot_tell():
    table = days(horizon=1)
    assert first(read(table.assign(b=table["a"])))["p"] == 1
    assert not read(table.assign(b=table["a"], horizon=3), metrics="mae").tapered
    constant = read(table.assign(a=table["y"] + 1, b=table["y"] + 2), metrics="mae")
    assert first(constant)["difference"] == pytest.approx(-1)
    assert np.isnan(first(constant)["p"])


def test_order_of_rows_does_not_matter():
    table = days(horizon=3)
    shuffled = table.sample(frac=1, random_state=1)
    sides = ["difference", "low", "high", "p"]
    expected = first(read(table))[sides].to_numpy(float)
    assert first(read(shuffled))[sides].to_numpy(float) == pytest.approx(expected, rel=1e-12)


def test_each_horizon_has_its_own_lags():
    table = pd.concat([days(horizon=1, seed=1), days(horizon=4, seed=1)])
    study = read(table, metrics="mae")
    slices = study.by_segment.set_index(["slice", "system"])
    for horizon in (1, 4):
        alone = read(days(horizon=horizon, seed=1), metrics="mae")
        assert slices.loc[(str(horizon), "a"), "p"] == pytest.approx(first(alone)["p"], rel=1e-12)


def test_autocorrelated_errors_are_a_warning():
    errors = np.repeat(np.random.default_rng(0).normal(0, 1, 20), 10)
    table = days(200)
    found = forms(read(table.assign(a=table["y"] + errors), metrics="mae"))
    assert found["Errors"].severity == kinds.WARNING
    assert "Errors" not in forms(read(table, metrics="mae"))


# Which rows are in time order


def test_times_that_rows_share_are_a_warning():
    table = days()
    study = read(table.assign(ds=table["ds"].dt.floor("2D")))
    assert study.measured.layout is Layout.PLAIN
    assert forms(study)["Rows"].severity == kinds.WARNING


def test_so_are_dates_that_do_not_begin_with_the_year():
    table = days()
    study = read(table.assign(ds=table["ds"].dt.strftime("%d/%m/%Y")))
    assert study.measured.layout is Layout.PLAIN
    assert forms(study)["Not"].severity == kinds.WARNING


def test_many_series_are_units():
    table = pd.concat([days(12, seed=i, unique_id=f"s{i}") for i in range(12)])
    study = read(table)
    assert study.settings.unit == "unique_id"
    assert first(study)["n"] == 12
    assert "12 series" in forms(study)["Rows"].message


def test_few_series_are_added_up_by_time():
    table = pd.concat([days(seed=i, unique_id=f"s{i}") for i in range(3)])
    study = read(table, metrics="mae")
    assert first(study)["n"] == 40
    assert first(study)["method"] == DIEBOLD_MARIANO
    assert "3 series" in forms(study)["Rows"].message


def test_a_unit_that_is_named_stays():
    table = pd.concat([days(12, seed=i, unique_id=f"s{i}") for i in range(12)])
    study = read(table, unit="ds")
    assert study.settings.unit == "ds"
    assert not forms(study)


def test_horizons_are_counted_from_the_cutoff():
    windows = [
        days()[i : i + 4].assign(cutoff=days()["ds"][i] - pd.Timedelta(days=1)) for i in range(36)
    ]
    study = read(pd.concat(windows, ignore_index=True), metrics="mae")
    assert study.settings.segments == ("horizon",)
    assert [part.label for part in study.slices] == ["1", "2", "3", "4"]
    assert study.timing.order.steps_ahead.tolist() == [1, 2, 3, 4] * 36
    assert study.by_horizon["x"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]


def windows(steps, count=20):
    """Forecasts from some origins, as many steps ahead."""
    table = days(count + steps)
    origins = [table["ds"][i] - pd.Timedelta(days=1) for i in range(count)]
    parts = [table[i : i + steps].assign(cutoff=origin) for i, origin in enumerate(origins)]
    return pd.concat(parts, ignore_index=True)


def test_each_of_many_horizons_has_its_loss_and_the_page_draws_it():
    study = read(windows(14), metrics="mae", reference="mean")
    assert [part.label for part in study.slices] != [str(i) for i in range(1, 15)]  # classes
    frame = study.by_horizon
    assert frame["x"].unique().tolist() == [*range(1, 15)]
    rows = windows(14)
    steps = np.tile(np.arange(1, 15), 20)
    third = (rows["y"] - rows["a"]).abs()[steps == 3].mean()
    value = frame[(frame["x"] == 3) & (frame["system"] == "a")]["value"].item()
    assert value == pytest.approx(third)
    assert "svg" in str(rating_page.horizon_plot(study).html)


def test_horizons_are_whole_numbers_at_the_axis():
    frame = read(windows(2), metrics="mae").by_horizon.rename(columns={"value": "y"})
    _, axes = plt.subplots(squeeze=False)
    curve_plots.panels([curve_plots.Panel(frame, "", "")], axes)
    ticks = axes.flat[0].get_xticks()
    plt.close("all")
    assert {1, 2} <= {*ticks} == {*np.round(ticks)}


@pytest.mark.parametrize("name", ["day", "week", "month"])
def test_a_part_of_the_calendar_is_the_time_of_each_series_and_system(name):
    series = [days(seed=i, unique_id=f"s{i}").drop(columns="ds") for i in range(2)]
    table = pd.concat([one.assign(**{name: range(40)}) for one in series], ignore_index=True)
    long = table.assign(id=table.index).melt(["id", "unique_id", name, "y"], ["a", "b"])
    long = long.rename(columns={"variable": "model", "value": "forecast"})
    study = rating.read(long, columns={"actual": "y"})
    assert study.timing.columns.time == name
    assert study.unit_name == "time"


def test_a_part_of_the_calendar_that_rows_of_a_series_share_is_no_time():
    assert read(days().drop(columns="ds").assign(day=[*range(20)] * 2)).timing is None


def test_the_fan_is_named_by_times_and_says_how_bars_differ_if_they_do():
    table = days().assign(**{"a-lo-80": lambda t: t["a"] - 1, "a-hi-80": lambda t: t["a"] + 1})
    one = rating.read(table.drop(columns="b"), columns={"actual": "y"})
    page = str(rating_page.fan_plot(one).html)
    assert one.example_times[0] == "2026-01-11"
    assert "2026-01-11" in page
    assert "central intervals of 80%, point forecast" in page
    more = table.assign(**{"a-lo-90": table["a"] - 2, "a-hi-90": table["a"] + 2})
    two = rating.read(more.drop(columns="b"), columns={"actual": "y"})
    assert "of 90%, 80% (the darker, the narrower)" in str(rating_page.fan_plot(two).html)


def test_times_are_counted_where_rows_share_them():
    table = pd.concat([days(seed=i, unique_id=f"s{i}") for i in range(3)])
    assert read(table).unit_name == "time"
    assert read(days()).unit_name == "row"
    many = pd.concat([days(12, seed=i, unique_id=f"s{i}") for i in range(12)])
    assert read(many).unit_name == "series"


def test_rows_without_ids_are_named_by_series_and_time():
    table = pd.concat([days(seed=i, unique_id=f"s{i}") for i in range(3)])
    table.iloc[45, table.columns.get_indexer(["a", "b"])] += 100
    assert read(table, metrics="mae").extremes()["id"].iloc[0] == "s1 2026-01-06"


def test_examples_are_the_last_times_of_the_first_series():
    table = pd.concat([days(seed=i, unique_id=f"s{i}") for i in range(3)])
    for level, shift in ((0.1, -1), (0.5, 0), (0.9, 1)):
        table[f"q{level}"] = table["a"] + shift
    table = table.drop(columns=["a", "b"]).sample(frac=1, random_state=1)
    study = rating.read(table, columns={"actual": "y"})
    assert study.example_series == "s0"
    assert study.examples.points["actual"].tolist() == days(seed=0)["y"][-30:].tolist()
    assert "1 step ahead, at the last 30 times of s0" in str(rating_page.fan_plot(study).caption)


# Rows with dates that are not in time order


def in_no_order(n=100, seed=3, **more):
    """Independent rows with dates at random, as of customers who signed up."""
    possible = pd.date_range("2020-01-01", periods=1000)
    date = np.random.default_rng(seed).permutation(possible)[:n]
    return days(n, seed).drop(columns="ds").assign(date=date, **more)


def says(study):
    """The sentence about the order in time of rows that have none."""
    assert study.measured.layout is Layout.PLAIN
    found = [f for f in rating_page.every_finding(study) if f.kind in ABOUT_TIMES]
    assert len(found) == 1
    return found[0].message


def results(study):
    """Interval and p of the first comparison."""
    return first(study)[["low", "high", "p"]].to_numpy(float).tolist()


@pytest.mark.parametrize(
    ("table", "starts"),
    [
        (in_no_order(), "The values of date are not evenly spaced"),
        (in_no_order(lead_time=np.tile([1, 5, 14, 2], 25)), "The values of date are not evenly"),
        (in_no_order(cutoff="2019-12-31"), "The values of date are not evenly spaced"),
        (days().rename(columns={"ds": "date"}).assign(date="2026-01-01"), "All rows have the same"),
        (days(unique_id=range(40)).assign(ds=[1, 2] * 20), "Rows of one series and horizon share"),
        (days(horizon="h=3"), "Not every value of horizon is a whole number"),
        (days(horizon=1.5), "Not every value of horizon is a whole number"),
        (days(horizon=[np.nan] + [2.0] * 39), "Not every value of horizon is a whole number"),
        (days(cutoff="first"), "Not every value of cutoff is a number or a date"),
        (days().assign(cutoff="2026-02-01"), "Some values of cutoff are later than the times"),
    ],
)
def test_rows_in_no_evident_order_are_independent_and_the_page_says_so(table, starts):
    study = read(table)
    assert says(study).startswith(starts)
    assert results(study) == results(read(table[["y", "a", "b"]]))


@pytest.mark.parametrize("freq", ["D", "B", "MS", "ME", "QS", "YS", "h"])
def test_regular_times_are_an_order(freq):
    table = days().assign(ds=pd.date_range("2020-01-31", periods=40, freq=freq))
    assert read(table.drop(index=[5, 6, 20])).measured.layout is Layout.SERIES


def test_irregular_times_are_an_order_if_a_naive_reference_is_asked_for():
    assert read(in_no_order(), reference="naive").measured.layout is Layout.SERIES
    assert read(in_no_order(), reference="mean").measured.layout is Layout.PLAIN


@pytest.mark.parametrize(("column", "named"), [("ds", "ds"), ("cutoff", "ds, cutoff")])
def test_systems_that_differ_in_times_are_said(column, named):
    wide = days().assign(id=range(40))
    if column == "cutoff":
        wide["cutoff"] = "2025-12-31"
    parts = [wide[["id", *wide.columns[:2]]].assign(model=m, forecast=wide[m]) for m in ("a", "b")]
    for part in parts:
        part[column] = wide[column].astype(str)
    parts[1][column] = parts[1][column].str.replace("2025-12-31", "2025-12-30")
    parts[1].loc[39, "ds"] = parts[1].loc[39, "ds"] if column == "cutoff" else "2027-01-01"
    table = pd.concat(parts, ignore_index=True)
    study = rating.read(table, columns={"actual": "y"}, metrics="mae")
    assert f"Systems differ in {named} on the same row" in says(study)


def test_a_table_in_blocks_says_that_its_order_is_not_used():
    study = rating.study_of(
        RatingParameters.from_raw({"preds": days(), "columns": {"actual": "y"}, "systems": "a,b"}),
        Limits(reading=Reading(rows=20, shard=20, largest=20)),
    )
    assert "not put in the order of ds" in says(study)


def test_horizons_that_begin_at_0_are_one_step_more():
    from_1 = pd.concat([days(horizon=h, seed=h) for h in (1, 2, 3)])
    from_0 = from_1.assign(horizon=from_1["horizon"] - 1)
    asked = {"reference": "naive", "metrics": "mae_skill"}
    assert results(read(from_0, **asked)) == results(read(from_1, **asked))


# Gaps, copies and weights of 0


def test_copies_of_a_row_are_counted_and_named():
    table = pd.concat([days(), days()[5:7]])
    assert "share values of ds (2 rows, the first in row 41)" in says(read(table))
    with pytest.raises(ParameterError, match="some share values of ds"):
        read(table, reference="naive")


@pytest.mark.parametrize("horizon", [1, 4])
def test_rows_of_weight_0_are_no_times_of_a_series(horizon):
    weight = np.where(np.arange(40) % 4 == 0, 0.0, 1.0)
    weighted = read(days(horizon=horizon, weight=weight), metrics="mae,mae_skill", reference="mean")
    alone = read(days(horizon=horizon)[weight > 0], metrics="mae,mae_skill", reference="mean")
    sides = ["difference", "low", "high", "p", "n"]
    for frame in ("comparisons", "estimates"):
        columns = sides if frame == "comparisons" else ["value", "low", "high"]
        expected = getattr(alone, frame)[columns].to_numpy(float)
        assert getattr(weighted, frame)[columns].to_numpy(float) == pytest.approx(expected)
    assert weighted.timing.order.times == 30


MISSING = [5, 9, 17, 18, 30]
SEASON = np.arange(42) % 7 + 1.0


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
        "working",
        "hours",
        "ends",
        "15th",
        "quarters",
        "years",
        "numbers",
        "months",
        "steps",
    ],
)
def test_a_season_counts_times_that_the_table_lacks(times):
    table = pd.DataFrame({"ds": times, "y": SEASON, "a": SEASON + 1, "b": SEASON - 1})
    order = read(table.drop(index=MISSING), reference="seasonal:7").timing.order
    assert order.is_even
    before = order.values_before(table["y"].drop(index=MISSING).to_numpy(), 7)
    actual = table["y"].drop(index=MISSING).to_numpy()
    assert np.isnan(before).sum() == 7 - 1 + len(MISSING)
    assert (before[~np.isnan(before)] == actual[~np.isnan(before)]).all()


def test_the_last_known_value_is_that_before_a_gap_of_the_series():
    u = SERIES.assign(series="u")
    v = SERIES.assign(series="v").drop(index=2)
    order = read(pd.concat([u, v]), reference="naive").timing.order
    before = order.values_before(np.append(u["y"], v["y"]))
    assert before == pytest.approx([np.nan, 1, 3, 2, 6, np.nan, 1, 3, 6], nan_ok=True)


def test_a_gap_counts_in_the_steps_from_the_cutoff():
    table = days()[6:].assign(cutoff="2026-01-05").drop(index=[10, 11])
    assert read(table).timing.order.steps_ahead[:6].tolist() == [2, 3, 4, 5, 8, 9]


def test_times_on_no_grid_count_as_rows_and_the_page_says_so():
    table = days()
    table["ds"] = np.cumsum([1.0] * 20 + [1.3] * 20)
    study = read(table, reference="seasonal:7")
    assert study.rows_without_reference == 7
    messages = [f.message for f in rating_page.every_finding(study)]
    assert any(
        "lie on no even grid, so the naive forecast counts rows" in text for text in messages
    )


# Skill --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [range(7, 47), np.random.default_rng(0).integers(1000, 9999, 40)])
def test_ids_called_reference_are_no_reference_forecast(ids):
    table = days(reference=ids)
    with pytest.raises(ParameterError, match="need forecasts in the column 'reference'"):
        read(table, metrics="mae_skill")
    assert read(table, metrics="mae").estimates["value"].notna().all()
    assert read(table, metrics="mae_skill", reference="naive").rows_without_reference == 1


SERIES = pd.DataFrame(
    {
        "period": [1, 2, 3, 4, 5],
        "y": [1.0, 3.0, 2.0, 6.0, 4.0],
        "a": [1.0, 2.0, 2.0, 5.0, 4.0],
        "b": [9.0, 3.0, 2.0, 6.0, 4.0],
    }
)


def values(study):
    """The values of system a by metric."""
    rows = study.estimates[study.estimates["system"] == "a"]
    return dict(zip(rows["metric"], rows["value"], strict=True))


def test_skill_against_the_last_value_by_hand():
    # naive errors 2, 1, 4, 2; those of a on the same rows 1, 0, 1, 0
    study = read(SERIES, reference="naive", metrics="mae_skill,mse_skill,relative_mae,mase,rmsse")
    assert values(study) == pytest.approx(
        {
            "mae_skill": 1 - 2 / 9,
            "mse_skill": 1 - 2 / 25,
            "relative_mae": 2 / 9,
            "mase": 2 / 5 / (9 / 4),
            "rmsse": np.sqrt(2 / 5 / (25 / 4)),
        }
    )
    assert study.rows_without_reference == 1


def test_skill_against_the_season_before_by_hand():
    # seasonal errors 1, 3, 2 of the last three rows; those of a 0, 1, 0
    study = read(SERIES, reference="seasonal:2", metrics="mae_skill,mase")
    assert values(study) == pytest.approx({"mae_skill": 1 - 1 / 6, "mase": 2 / 5 / (6 / 3)})


def test_skill_against_the_mean_is_r2():
    study = read(SERIES, reference="mean", metrics="mse_skill,r2")
    assert values(study)["mse_skill"] == pytest.approx(values(study)["r2"])


def test_several_steps_ahead_the_last_known_value_is_older():
    study = read(SERIES.assign(horizon=2), reference="naive", metrics="mae_skill")
    assert values(study)["mae_skill"] == pytest.approx(1 - 1 / 6)


def test_each_series_has_its_own_last_value():
    table = pd.concat([SERIES.assign(series="u"), SERIES.assign(series="v", y=SERIES["y"] * 10)])
    study = read(table, reference="naive", metrics="mae_skill")
    assert study.rows_without_reference == 2


def test_scales_from_training_are_used_where_the_file_has_them():
    study = read(SERIES.assign(naive_mae=0.5), reference="naive", metrics="mase,rmsse")
    assert values(study)["mase"] == pytest.approx(2 / 5 / 0.5)
    found = [f for f in rating_page.every_finding(study) if "scale" in f.message]
    assert [f.message.split(" is ")[0] for f in found] == ["The scale of rmsse"]


def test_skill_of_quantiles_is_against_the_absolute_error():
    table = days(12)
    for level, shift in ((0.1, -1), (0.5, 0), (0.9, 1)):
        table[f"q{level}"] = table["a"] + shift
    study = rating.read(table.drop(columns=["a", "b"]), columns={"actual": "y"}, reference="naive")
    every = study.estimates.set_index("metric")["value"]
    assert "wis_skill" in every
    later = rating.read(table.drop(columns=["a", "b"])[1:], columns={"actual": "y"}, metrics="wis")
    naive = table["y"].diff().abs()[1:].mean()
    wis = later.estimates["value"][0]
    assert every["wis_skill"] == pytest.approx(1 - wis / naive)


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
        read(table, **asked)


# Scores of intervals ------------------------------------------------------------------------------


def test_scores_of_intervals_equal_those_of_mapie_and_scikit_learn():
    rows = pd.DataFrame(PEERS["intervals"]["rows"])
    expected = PEERS["intervals"]["scores"]
    study = rating.read(rows, metrics=list(expected))
    found = dict(zip(study.estimates["metric"], study.estimates["value"], strict=True))
    assert found == pytest.approx(expected, abs=1e-10)

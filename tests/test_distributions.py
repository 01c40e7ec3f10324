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
from evalkit.limits import Limits, Reading
from evalkit.pages import rating_page
from evalkit.parameters.reports import RatingParameters
from evalkit.reading.matching import distribution_columns
from evalkit.studies import distributions, inspection, rating

RNG = np.random.default_rng(5)
N = 120
ACTUAL = RNG.gamma(5, 2, N)
NEAR = ACTUAL + RNG.normal(0, 1, N)
DATES = pd.date_range("2026-01-01", periods=N).astype(str)


def bounds(low: str, high: str, half: float = 1.0, around=NEAR) -> dict:
    return {low: around - half, high: around + half}


def study_of(columns, **parameters):
    return ek.rating(pd.DataFrame(columns), **parameters)


READ = {
    "quantiles": ({"q0.05": NEAR - 2, "q0.5": NEAR, "q0.95": NEAR + 2}, [90]),
    "in words": ({"quantile_0.1": NEAR - 2, "forecast": NEAR, "quantile_0.9": NEAR + 2}, [80]),
    "percentiles": ({"p10": NEAR - 2, "p50": NEAR, "p90": NEAR + 2}, [80]),
    "of forecasts": ({"forecast": NEAR} | bounds("forecast_p10", "forecast_p90"), [80]),
    "levels alone": ({"mean": NEAR, "0.25": NEAR - 1, "0.5": NEAR, "0.75": NEAR + 1}, [50]),
    "bounds": ({"forecast": NEAR} | bounds("low_90", "high_90"), [90]),
    "Nixtla": ({"AutoETS": NEAR} | bounds("AutoETS-lo-97.5", "AutoETS-hi-97.5"), [97.5]),
    "Prophet": (
        {"ds": DATES, "yhat": NEAR, "trend": NEAR}
        | bounds("yhat_lower", "yhat_upper")
        | bounds("trend_lower", "trend_upper"),
        [80],
    ),
    "draws": ({f"sample_{i}": NEAR + i for i in range(4)}, [10, 20, 30, 40, 50, 60]),
    "moments": ({"mean": NEAR, "sd": np.ones(N)}, [*distributions.DRAWN_LEVELS]),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_distributions_are_read_by_their_names_and_none_is_a_system(name):
    columns, intervals = READ[name]
    study = study_of({"actual": ACTUAL} | columns)
    assert len(study.systems) == 1
    assert study.stated.intervals == intervals


@pytest.mark.parametrize(
    "columns",
    [
        {"forecast_A": NEAR, "forecast_B": NEAR + 1},
        {"A": NEAR, "B": NEAR + 1},
        {"A_q0.5": NEAR, "B_q0.5": NEAR + 1},
    ],
    ids=["by prefix", "whole names", "medians"],
)
def test_each_system_of_a_wide_table_has_its_own(columns):
    beside = bounds("A_q0.1", "A_q0.9") | bounds("B-lo-80", "B-hi-80", 2.0)
    study = study_of({"actual": ACTUAL} | columns | beside, metrics="interval_width@80")
    assert study.estimates.set_index("system")["value"].to_dict() == pytest.approx({"A": 2, "B": 4})


def test_a_long_table_pairs_them_by_id():
    parts = [
        {"id": np.arange(N), "model": name, "actual": ACTUAL, "q0.5": NEAR}
        | bounds("q0.1", "q0.9", half)
        for name, half in (("A", 1.0), ("B", 2.0))
    ]
    table = pd.concat([pd.DataFrame(part) for part in parts]).sample(frac=1, random_state=1)
    study = ek.rating(table, metrics="interval_width@80")
    assert study.estimates.set_index("system")["value"].to_dict() == pytest.approx({"A": 2, "B": 4})


def test_levels_that_a_system_lacks_are_read_of_none():
    beside = bounds("A_q0.1", "A_q0.9") | bounds("A_q0.25", "A_q0.75") | bounds("B_q0.1", "B_q0.9")
    study = study_of({"actual": ACTUAL, "forecast_A": NEAR, "forecast_B": NEAR} | beside)
    assert study.stated.intervals == [80]
    unread = distribution_columns.unread(study.account.others, study.systems)
    assert unread == ["A_q0.25", "A_q0.75"]


def test_bounds_without_a_level_are_read_once_the_user_states_it():
    columns = {"actual": ACTUAL, "forecast": NEAR} | bounds("lower", "upper")
    assert study_of(columns).stated.intervals == []
    assert study_of(columns, interval_level=0.95).stated.intervals == [95]


def test_bounds_alone_are_refused_with_the_way():
    with pytest.raises(InputError, match=r"add the median, such as q0\.5"):
        study_of({"actual": ACTUAL} | bounds("low_90", "high_90"))
    features = {"heat": RNG.normal(0, 1, N)}
    with pytest.raises(InputError, match=r"add the median, such as q0\.5"):
        study_of({"actual": ACTUAL} | features | bounds("low_90", "high_90"))


def test_a_negative_deviation_is_refused_with_its_row(tmp_path):
    deviation = np.ones(3000)
    deviation[2500] = -1.0
    level = RNG.gamma(5, 2, 3000)
    table = pd.DataFrame({"actual": level, "forecast": level + 1, "sd": deviation})
    table.to_csv(tmp_path / "f.csv", index=False)
    with pytest.raises(InputError, match=r"sd must be 0 or more, got -1 \(row 2501\)"):
        ek.rating(tmp_path / "f.csv")


def test_a_metric_of_a_missing_level_names_those_that_are_there():
    columns = {"actual": ACTUAL, "p10": NEAR - 1, "p50": NEAR, "p90": NEAR + 1}
    with pytest.raises(
        ParameterError, match=r"coverage@90 needs the 5% quantile, the table has 10%"
    ):
        study_of(columns, metrics="coverage@90")
    with pytest.raises(ParameterError, match="wis needs columns of quantiles"):
        study_of({"actual": ACTUAL, "forecast": NEAR}, metrics="wis")
    with pytest.raises(ParameterError, match="crps needs columns of draws"):
        study_of(columns, metrics="crps")


def test_pinball_is_of_the_column_of_its_quantile():
    columns = {"actual": ACTUAL, "p10": NEAR - 1, "p50": NEAR, "p90": NEAR + 1}
    value = study_of(columns, metrics="pinball@10").estimates["value"].item()
    miss = ACTUAL - NEAR + 1
    assert value == pytest.approx(np.maximum(0.1 * miss, -0.9 * miss).mean(), abs=1e-12)


def test_the_first_metric_is_that_of_the_whole_distribution():
    first = {name: study_of({"actual": ACTUAL} | READ[name][0]).primary.label for name in READ}
    assert first["percentiles"] == "wis"
    assert first["draws"] == first["moments"] == "crps"
    assert first["Prophet"] == "interval_score@80"


def test_crossing_quantiles_are_counted_with_the_worst_row():
    high = NEAR + 1
    high[[3, 70]] = NEAR[[3, 70]] - [1, 5]
    study = study_of({"id": np.arange(N), "actual": ACTUAL, "p50": NEAR, "p90": high})
    assert study.crossings == {"p50": (2, "70")}


def test_the_transform_of_right_quantiles_is_flat_and_its_shares_sum_to_1():
    levels = np.arange(1, 10) / 10
    normal = np.random.default_rng(2).normal(0, 1, 4000)
    quantiles = {f"q{q:.1f}": np.full(4000, stats.norm.ppf(q)) for q in levels}
    study = study_of({"actual": normal} | quantiles)
    transform = study.transform
    assert len(transform) == 10
    assert transform["share"].sum() == pytest.approx(1, abs=1e-12)
    assert transform["density"].to_numpy() == pytest.approx(1, abs=0.15)
    assert ((study.coverages["low"] < study.coverages["nominal"])
            & (study.coverages["nominal"] < study.coverages["high"])).all()  # fmt: skip


def test_a_column_of_horizons_is_the_segment_unless_the_user_names_others():
    columns = READ["percentiles"][0] | {"actual": ACTUAL, "horizon": np.arange(N) % 3 + 1}
    assert study_of(columns).settings.segments == ("horizon",)
    columns["region"] = np.where(np.arange(N) % 2, "a", "b")
    assert study_of(columns, segments="region").settings.segments == ("region",)


SMALL = Limits(reading=Reading(rows=50, shard=50, largest=50))


@pytest.mark.parametrize("name", ["percentiles", "Prophet", "moments"])
def test_blocks_give_the_numbers_of_memory(name, tmp_path):
    table = pd.DataFrame({"id": np.arange(N), "actual": ACTUAL} | READ[name][0])
    table.to_parquet(tmp_path / "f.parquet")
    given = RatingParameters.from_raw({"preds": str(tmp_path / "f.parquet")})
    held = rating.study_of(given)
    in_blocks = rating.study_of(given, SMALL)
    assert in_blocks.data is None
    assert in_blocks.estimates["value"].to_numpy() == pytest.approx(
        held.estimates["value"].to_numpy(), abs=1e-12
    )
    pd.testing.assert_frame_equal(
        in_blocks.coverages[["system", "nominal", "value"]],
        held.coverages[["system", "nominal", "value"]],
    )
    assert in_blocks.crossings == held.crossings


def test_draws_alone_need_memory(tmp_path):
    table = pd.DataFrame({"id": np.arange(N), "actual": ACTUAL} | READ["draws"][0])
    table.to_parquet(tmp_path / "f.parquet")
    given = RatingParameters.from_raw({"preds": str(tmp_path / "f.parquet")})
    with pytest.raises(InputError, match="add their median as a column"):
        rating.study_of(given, SMALL)


def sentences(study) -> dict[str, str]:
    return {finding.kind.code: finding.message for finding in rating_page.every_finding(study)}


def test_narrow_and_wide_intervals_are_findings_with_interval():
    level = np.random.default_rng(8).normal(0, 1, 500)
    half = stats.norm.ppf(0.95)
    parts = {
        "narrow": {"a_q0.05": -0.5 * half, "a_q0.95": 0.5 * half},
        "right": {"a_q0.05": -half, "a_q0.95": half},
        "wide": {"a_q0.05": -2 * half, "a_q0.95": 2 * half},
    }
    said = {}
    for name, columns in parts.items():
        beside = {column: np.full(500, value) for column, value in columns.items()}
        study = study_of({"actual": level, "a": level / 2} | beside, metrics="mae")
        said[name] = [f for f in rating_page.every_finding(study) if f.kind.code == "EK351"]
    assert said["right"] == []
    (narrow,), (wide,) = said["narrow"], said["wide"]
    assert (narrow.severity, wide.severity) == (WARNING, NOTE)
    pattern = r"Intervals too narrow. .*: a \d\d% \[\d\d%, \d\d%\] instead of 90%\."
    assert re.fullmatch(pattern, narrow.message)


def test_what_was_assumed_and_not_read_is_said():
    columns = {"actual": ACTUAL} | READ["Prophet"][0]
    said = sentences(study_of(columns))
    assert "'yhat_lower', 'yhat_upper' state no level" in said["EK353"]
    assert "EK353" not in sentences(study_of(columns, interval_level=0.9))
    columns = {"actual": ACTUAL, "forecast": NEAR} | bounds("lower", "upper")
    assert "'lower', 'upper'" in sentences(study_of(columns))["EK354"]


def test_crossing_quantiles_are_a_warning():
    high = NEAR + 1
    high[70] -= 5
    said = sentences(study_of({"id": np.arange(N), "actual": ACTUAL, "p50": NEAR, "p90": high}))
    assert said["EK352"] == "Rows whose quantiles cross: 1 of p50, most in row 70."


def test_the_page_draws_intervals_where_there_are_any():
    study = study_of({"actual": ACTUAL} | READ["percentiles"][0])
    for piece in (rating_page.coverage_plot, rating_page.transform_plot, rating_page.fan_plot):
        assert piece(study).caption
    without = study_of({"actual": ACTUAL, "forecast": NEAR})
    assert rating_page.coverage_plot(without).html == ""
    recorded = rating_page.results(study).results["intervals"]["coverage"]
    assert [row["nominal"] for row in recorded] == [0.8]


def test_a_long_table_of_two_systems_is_read_in_blocks_too(tmp_path):
    parts = [
        {"id": np.arange(N), "model": name, "actual": ACTUAL, "q0.5": NEAR + shift}
        | bounds("q0.1", "q0.9", half)
        for name, half, shift in (("A", 1.0, 0.1), ("B", 2.0, 0.0))
    ]
    pd.concat([pd.DataFrame(part) for part in parts]).to_parquet(tmp_path / "f.parquet")
    given = RatingParameters.from_raw({"preds": str(tmp_path / "f.parquet")})
    held = rating.study_of(given)
    in_blocks = rating.study_of(given, SMALL)
    assert in_blocks.data is None
    columns = ["metric", "first", "second", "difference"]
    pd.testing.assert_frame_equal(
        in_blocks.comparisons[columns], held.comparisons[columns], rtol=1e-12
    )
    assert len(in_blocks.examples.points) == 30
    assert rating_page.fan_plot(in_blocks).caption.startswith("A: central intervals of 80%")


def test_horizons_are_slices_in_their_order():
    horizon = np.arange(N) % 12 + 1
    study = study_of(READ["percentiles"][0] | {"actual": ACTUAL, "step": horizon})
    assert study.by_segment["value"].notna().all()
    assert study.settings.segments == ("step",)
    sliced = study.sliced(study.slices[0], study.p)
    assert sliced.primary.label == "wis"


def test_a_deviation_that_is_a_feature_of_several_systems_is_no_finding():
    columns = {"actual": ACTUAL, "forecast_a": NEAR, "forecast_b": NEAR + 1, "std": np.ones(N)}
    study = study_of(columns)
    assert study.stated.intervals == []
    assert "EK354" not in sentences(study)


def test_scores_that_few_rows_make_up_are_named():
    columns = {"actual": ACTUAL} | bounds("q0.05", "q0.95") | {"q0.5": NEAR}
    said = sentences(study_of(columns, metrics="interval_score@90,wis,pinball@50"))
    assert "in the direction of interval_score@90, and" in said["EK331"]
    assert "EK331" not in sentences(study_of(columns, metrics="wis,pinball@50"))


def test_inspect_and_the_check_of_headers_read_them_too(tmp_path):
    table = pd.DataFrame({"actual": ACTUAL, "p10": NEAR - 1, "p50": NEAR, "p90": NEAR + 1})
    table.to_csv(tmp_path / "all.csv", index=False)
    table.drop(columns="p50").to_csv(tmp_path / "bounds.csv", index=False)
    given = RatingParameters.from_raw({"preds": str(tmp_path / "all.csv")})
    inspection.check_headers(given)
    assert inspection.inspect(given).columns["quantile"] == "p10, p50, p90"
    alone = RatingParameters.from_raw({"preds": str(tmp_path / "bounds.csv")})
    with pytest.raises(InputError, match="need a point forecast"):
        inspection.check_headers(alone)


ROWS = 300
NOISE = np.random.default_rng(5)
CENTRE = NOISE.normal(0, 3, ROWS)
OF_CENTRE = CENTRE + NOISE.normal(0, 1, ROWS)
AROUND_ONE_FORECAST = pd.DataFrame(
    {"actual": OF_CENTRE, "a": CENTRE, "b": CENTRE}
    | {f"{name}_p10": CENTRE - width for name, width in (("a", 1.3), ("b", 8))}
    | {f"{name}_p90": CENTRE + width for name, width in (("a", 1.3), ("b", 8))}
)


def test_intervals_around_one_forecast_differ():
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
    rng = np.random.default_rng(draws)
    centre = rng.normal(0, 3, 4000)
    members = {f"sample_{i}": centre + rng.normal(0, 1, 4000) for i in range(draws)}
    table = pd.DataFrame({"actual": centre + rng.normal(0, 1, 4000), "forecast": centre} | members)
    study = ek.rating(table, metrics="crps,coverage@80")
    row = study.estimates.set_index("metric").loc["coverage@80"]
    assert abs(row["value"] - 0.8) < 4 * 0.4 / np.sqrt(4000)
    assert "EK351" not in set(study.findings["code"])


def test_an_interval_beyond_a_few_draws_is_refused():
    members = {f"sample_{i}": CENTRE + NOISE.normal(0, 1, ROWS) for i in range(9)}
    table = pd.DataFrame({"actual": OF_CENTRE, "forecast": CENTRE} | members)
    with pytest.raises(ParameterError, match=r"coverage@90 needs the 5% quantile"):
        ek.rating(table, metrics="coverage@90")


def test_exact_intervals_of_counts_are_not_called_too_wide():
    counts = np.random.default_rng(6).poisson(3, 800)
    table = pd.DataFrame({"actual": counts, "forecast": 3.0, "p25": 2.0, "p50": 3.0, "p75": 4.0})
    assert "EK351" not in set(ek.rating(table).findings["code"])


# What names do not state clearly is not read ------------------------------------------------------

OTHER = ACTUAL + np.random.default_rng(6).normal(0, 1.5, N)
SYSTEMS = {"actual": ACTUAL, "A": NEAR, "B": OTHER}
ONE = {"actual": ACTUAL, "forecast": NEAR}
AFAR = np.random.default_rng(7).normal(50, 5, N)


@pytest.fixture(params=["frame", "CSV"])
def study(request, tmp_path):
    """The study of columns as a frame, and as a CSV file."""

    def read(table, **parameters):
        table = pd.DataFrame(table)
        if request.param == "frame":
            return ek.rating(table, **parameters)
        table.to_csv(tmp_path / "f.csv", index=False)
        return ek.rating(tmp_path / "f.csv", **parameters)

    return read


def is_unread(study) -> str:
    """The columns of the finding on unread columns; empty without it."""
    return sentences(study).get("EK354", "").rpartition(": ")[2].rstrip(".")


@pytest.mark.parametrize(
    ("columns", "unread"),
    [
        (bounds("A_p10", "A_p90"), "'A_p10', 'A_p90'"),
        ({"A_sd": np.ones(N)}, "'A_sd'"),
        (bounds("lower_A", "upper_A"), "'lower_A', 'upper_A'"),
        (bounds("2.5%_A", "97.5%_A"), "'2.5%_A', '97.5%_A'"),
        (bounds("A_0.05", "A_0.95"), "'A_0.05', 'A_0.95'"),
        (bounds("p10_A", "p90_A"), "'p10_A', 'p90_A'"),
        ({"heat": AFAR * 10, "heat_std": np.ones(N)}, ""),
        ({"heat": AFAR * 10} | bounds("heat_p10", "heat_p90"), ""),
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
def test_columns_of_one_owner_do_not_decide_who_is_a_system(study, columns, unread):
    result = study(SYSTEMS | columns)
    assert [*result.systems] == ["A", "B"]
    assert result.stated.roles == []
    assert is_unread(result) == unread


def test_medians_beside_a_column_that_fits_as_well_are_refused():
    medians = {"A_p50": NEAR} | bounds("A_p10", "A_p90")
    with pytest.raises(InputError, match="'A_p50' and 'B' could be the predictions"):
        study_of({"actual": ACTUAL, "B": OTHER} | medians)
    chosen = study_of({"actual": ACTUAL, "B": OTHER} | medians, systems="A_p50,B")
    assert [*chosen.systems] == ["A_p50", "B"]


LEVELS_FIRST = {
    "quantiles": bounds("p10_A", "p90_A") | bounds("p10_B", "p90_B", around=OTHER),
    "bounds": bounds("lo-80-A", "hi-80-A") | bounds("lo-80-B", "hi-80-B", around=OTHER),
}


@pytest.mark.parametrize("name", LEVELS_FIRST)
def test_a_level_may_stand_before_its_owner(study, name):
    result = study(SYSTEMS | LEVELS_FIRST[name])
    assert [*result.systems] == ["A", "B"]
    assert result.stated.intervals == [80]


def test_the_owner_may_stand_before_the_level(study):
    result = study(
        SYSTEMS
        | bounds("A 80% lower", "A 80% upper")
        | bounds("B 80% lower", "B 80% upper", 2, OTHER)
    )
    assert [*result.systems] == ["A", "B"]
    assert result.stated.intervals == [80]


DRAWN = {f"A_{i}": NEAR + np.random.default_rng(i).normal(0, 1, N) for i in range(6)}


@pytest.mark.parametrize("centre", [np.mean, np.median])
def test_numbered_columns_around_their_centre_are_draws(study, centre):
    columns = {"A": centre([*DRAWN.values()], axis=0)} | DRAWN
    result = study({"actual": ACTUAL} | columns)
    assert [*result.systems] == ["A"]
    assert len(result.stated.roles) == 6
    prefixed = {f"forecast_{name}": values for name, values in columns.items()}
    others = {name.replace("A", "B"): values + 0.1 for name, values in prefixed.items()}
    result = study({"actual": ACTUAL} | prefixed | others)
    assert [*result.systems] == ["A", "B"]
    assert len(result.stated.roles) == 6


def test_other_numbered_columns_are_systems_and_the_page_says_so(study):
    result = study({"actual": ACTUAL} | DRAWN)
    assert len(result.systems) == 6
    assert "'A_0' to 'A_5' are compared as one system each" in sentences(result)["EK354"]
    assert "EK354" not in sentences(study({"actual": ACTUAL} | dict([*DRAWN.items()][:4])))


def test_draws_beside_quantiles_of_another_system_are_named(study):
    drawn = {name.replace("_", "_sample_"): values for name, values in DRAWN.items()}
    result = study(SYSTEMS | drawn | bounds("B_q0.1", "B_q0.9", around=OTHER))
    assert result.stated.roles == []
    assert "(A: 6 draws; B: quantiles of 10%, 90%)" in sentences(result)["EK354"]


def test_medians_with_the_level_first_are_the_systems(study):
    medians = {"actual": ACTUAL, "p50_A": NEAR, "p50_B": OTHER}
    result = study(medians | LEVELS_FIRST["quantiles"])
    assert [*result.systems] == ["A", "B"]
    assert result.stated.percents == [10, 50, 90]


LEVELS = {
    "R": ({"fit": NEAR} | bounds("2.5%", "97.5%"), [2.5, 97.5]),
    "R with names checked": ({"fit": NEAR} | bounds("X2.5.", "X97.5."), [2.5, 97.5]),
    "ordinal": (ONE | bounds("p10th", "p90th"), [10, 90]),
    "share behind its owner": ({"A": NEAR} | bounds("A-0.05", "A-0.95"), [5, 95]),
    "NeuralProphet": ({"yhat1": NEAR} | bounds("yhat1 5.0%", "yhat1 95.0%"), [5, 95]),
    "one digit": (ONE | {"p50": NEAR} | bounds("p5", "p95"), [5, 50, 95]),
    "of bounds": (ONE | bounds("lower_5", "upper_95"), [5, 95]),
    "three digits": (ONE | {"q50": NEAR} | bounds("q025", "q975"), [2.5, 50, 97.5]),
    "below 1 beside above": (ONE | {"p50": NEAR} | bounds("p0.5", "p99.5"), [0.5, 50, 99.5]),
    "underscore": (ONE | {"p50": NEAR} | bounds("p2_5", "p97_5"), [2.5, 50, 97.5]),
    "shares with underscores": (ONE | bounds("q0_05", "q0_95"), [5, 95]),
    "many digits": (ONE | bounds("q0.1586553", "q0.8413447"), [15.8655, 84.1345]),
    "level before the word": (ONE | bounds("95% lower", "95% upper"), [2.5, 97.5]),
    "level before words": (ONE | bounds("95% CI lower", "95% CI upper"), [2.5, 97.5]),
    "level alone before it": (ONE | bounds("80_lower", "80_upper"), [10, 90]),
    "per cent in letters": (ONE | bounds("lower_80_pct", "upper_80_pct"), [10, 90]),
    "of an interval": (ONE | bounds("lo-68.26894", "hi-68.26894"), [15.86555, 84.13445]),
}  # fmt: skip


@pytest.mark.parametrize("name", LEVELS)
def test_levels_are_read_as_they_are_meant(study, name):
    columns, percents = LEVELS[name]
    result = study({"actual": ACTUAL} | columns)
    assert len(result.systems) == 1
    assert result.stated.percents == percents
    assert is_unread(result) == ""


@pytest.mark.parametrize(
    "names",
    [
        ("p5", "p50", "p90"),
        ("q05", "q5", "q50"),
        ("p0.1", "p50", "p90"),
        ("q025", "q050", "q500"),
        ("q250", "q500", "q750"),
        ("p10_5", "p50_5", "p90_5"),
        ("q10", "q11", "q12"),
    ],
)
def test_unclear_levels_are_unread_and_no_systems(study, names):
    quantiles = dict(zip(names, (NEAR - 1, NEAR, NEAR + 1), strict=True))
    result = study(ONE | quantiles)
    assert [*result.systems] == ["forecast"]
    assert result.stated.roles == []
    assert is_unread(result) == ", ".join(map(repr, names))
    with pytest.raises(InputError, match="no column for the forecast"):
        study({"actual": ACTUAL} | quantiles)


def test_a_column_quantile_of_groups_is_no_level(study):
    assert [*study(ONE | {"quantile": np.arange(N) % 10 + 1}).systems] == ["forecast"]


def test_columns_that_name_their_owner_come_first(study):
    dated = {"ds": DATES, "y": ACTUAL, "yhat": NEAR}
    stock = bounds("low", "high", 5.0)
    result = study(dated | stock | bounds("yhat_lower", "yhat_upper"), interval_level=0.9)
    assert result.account.columns["quantile"] == "yhat_lower, yhat_upper"
    result = study(ONE | bounds("p10", "p90", 5.0) | bounds("forecast_p10", "forecast_p90"))
    assert result.account.columns["quantile"] == "forecast_p10, forecast_p90"
    assert is_unread(result) == "'p10', 'p90'"


def test_two_columns_with_one_role_are_refused_unless_they_are_copies(study):
    columns = ONE | {"p50": NEAR} | bounds("p10", "p90")
    with pytest.raises(InputError, match=r"'p10', 'q0\.1' differ"):
        study(columns | {"q0.1": NEAR - 2})
    with pytest.raises(InputError, match="'lower', 'lo' differ"):
        study(ONE | bounds("lower", "upper") | {"lo": NEAR - 2}, interval_level=0.9)
    assert study(columns | {"median": NEAR}).stated.percents == [10, 50, 90]


NOISE = np.random.default_rng(9)
UNFIT = {
    "moments": {"mean": AFAR, "std": np.full(N, 5.0)},
    "draws": {f"sample_{i}": NOISE.normal(0, 1, N) for i in range(3)},
    "draws of the same size": {f"sample_{i}": NOISE.permutation(NEAR) for i in range(3)},
    "survey": {f"q{i}": NOISE.integers(1, 6, N) for i in range(1, 13)},
    "quantiles": {"q10": AFAR, "q90": AFAR + 2},
    "standardised": {"std": NOISE.normal(0, 1, N)},
}


@pytest.mark.parametrize("name", UNFIT)
def test_columns_that_do_not_fit_the_forecasts_are_unread(study, name):
    result = study(ONE | UNFIT[name])
    assert [*result.systems] == ["forecast"]
    assert result.stated.roles == []
    assert is_unread(result) == ", ".join(map(repr, UNFIT[name]))


def test_a_negative_deviation_in_the_first_rows_is_refused_too(study):
    deviation = np.ones(N)
    deviation[3] = -1.0
    with pytest.raises(InputError, match=r"sd must be 0 or more, got -1 \(row 4\)"):
        study(ONE | {"sd": deviation})
    with pytest.raises(InputError, match=r"A_sd must be 0 or more, got -1 \(row 4\)"):
        study(SYSTEMS | {"A_sd": deviation, "B_sd": np.ones(N)})


def test_systems_with_fewer_than_two_shared_columns_have_no_distributions(study):
    none = study(SYSTEMS | bounds("A_p10", "A_p90") | bounds("B_p25", "B_p75", around=OTHER))
    one = study(SYSTEMS | bounds("A_p10", "A_p90") | bounds("B_p10", "B_p75", around=OTHER))
    assert none.stated.roles == one.stated.roles == []
    assert "(A: quantiles of 10%, 90%; B: quantiles of 25%, 75%)" in sentences(none)["EK354"]
    assert "(A: quantiles of 10%, 90%; B: quantiles of 10%, 75%)" in sentences(one)["EK354"]
    sd = {"A_mean": NEAR, "A_sd": np.ones(N), "B_sd": np.ones(N)}
    assert is_unread(study(SYSTEMS | sd)) == "'A_mean'"


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
def test_a_horizon_with_many_values_or_another_use_is_no_segment(study, horizon, parameters):
    columns = {"actual": ACTUAL, "horizon": horizon} | READ["percentiles"][0]
    assert study(columns, **parameters).settings.segments == ()

"""Tables with a row per quantile are read as their forecasts."""

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.pages import rating_page
from evalkit.parameters.reports import RatingParameters
from evalkit.reading.matching.commands import command_or_call
from evalkit.reading.matching.proposal import reading_ways
from evalkit.reading.tables import sources
from evalkit.studies import inspection, rating

RNG = np.random.default_rng(3)
N = 40  # forecasts of each system
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
DATES = pd.date_range("2026-01-01", periods=N).strftime("%Y-%m-%d")
METRICS = "wis,coverage@90,mae"


def forecasts(systems=("A", "B")) -> pd.DataFrame:
    """A row per forecast of each system, with its quantiles."""
    actual = RNG.normal(10, 3, N).round(3)
    frames = []
    for system in systems:
        centre = actual + RNG.normal(0, 1, N)
        quantiles = {f"q{level}": (centre + 4 * level - 2).round(3) for level in LEVELS}
        frames.append(pd.DataFrame({"model": system, "date": DATES, "actual": actual} | quantiles))
    return pd.concat(frames, ignore_index=True)


WIDE = forecasts()


def in_rows(wide: pd.DataFrame, level="quantile", value="value", factor=1.0) -> pd.DataFrame:
    """The same with a row per quantile, all rows of one quantile first."""
    columns = [name for name in wide if name.startswith("q0")]
    others = [name for name in wide if name not in columns]
    long = wide.melt(others, columns, var_name=level, value_name=value)
    return long.assign(**{level: (factor * long[level].str[1:].astype(float)).round(3)})


def estimates(table, **parameters) -> pd.DataFrame:
    """The metrics of each system with their limits."""
    found = ek.rating(table, metrics=METRICS, **parameters).estimates
    return found[["system", "metric", "value", "low", "high", "n"]]


EXPECTED = estimates(WIDE.assign(id=WIDE["date"]))
LONG = in_rows(WIDE)
FORMS = {
    "melted": LONG,
    "forecast by forecast": LONG.sort_values(["date", "model", "quantile"]),
    "shuffled": LONG.sample(frac=1, random_state=1),
    "percentages": in_rows(WIDE, "quantile_level", "predicted", 100),
    "a hub": in_rows(WIDE, "output_type_id").assign(output_type="quantile"),
    "numbered rows": LONG.assign(id=np.arange(len(LONG))),
    "with the score of each row": LONG.assign(loss=RNG.normal(0, 1, len(LONG))),
    "other names": in_rows(WIDE, "tau", "prediction").rename(columns={"actual": "observed"}),
    "a hub's oracle": in_rows(WIDE, "output_type_id").rename(columns={"actual": "oracle_value"}),
}


TEXTS = {"percent": "{:.0%}", "letter p": "p{:.0f}", "letter q": "q{}", "percentile": "{:.0f}"}


@pytest.mark.parametrize("form", TEXTS)
def test_levels_are_read_from_texts(form):
    factor = 100 if form in ("letter p", "percentile") else 1
    name = "percentile" if form == "percentile" else "quantile"
    texts = (factor * LONG["quantile"]).map(TEXTS[form].format)
    table = LONG.assign(quantile=texts).rename(columns={"quantile": name})
    pd.testing.assert_frame_equal(estimates(table), EXPECTED)


def test_a_missing_actual_value_is_refused_with_its_row():
    gap = LONG.assign(actual=LONG["actual"].where(LONG["date"] != DATES[4]))
    with pytest.raises(InputError, match=r"actual must be a finite number, got nothing \(row 5\)"):
        ek.rating(gap)


@pytest.mark.parametrize("form", FORMS)
def test_a_row_per_quantile_gives_the_numbers_of_a_row_per_forecast(form):
    pd.testing.assert_frame_equal(estimates(FORMS[form]), EXPECTED)


def test_rows_without_a_name_of_the_forecast_are_paired_in_their_order():
    one = WIDE[WIDE["model"] == "A"].drop(columns=["date", "model"])
    pd.testing.assert_frame_equal(estimates(in_rows(one)), estimates(one))
    both = in_rows(WIDE)[["quantile", "value", "actual", "model"]]
    numbered = WIDE.assign(id=[*range(N), *range(N)]).drop(columns="date")
    pd.testing.assert_frame_equal(estimates(both), estimates(numbered))


def test_shuffled_rows_without_a_name_of_the_forecast_are_refused():
    shuffled = LONG[["quantile", "value", "actual", "model"]].sample(frac=1, random_state=1)
    with pytest.raises(InputError, match="actual must have one value in all rows of a forecast"):
        ek.rating(shuffled)


def test_the_user_names_the_column_of_quantiles():
    table = in_rows(WIDE, value="q_hat").assign(value=1.0)
    named = estimates(table, columns={"forecast": "q_hat"})
    pd.testing.assert_frame_equal(named, EXPECTED)


def with_points(kind: str) -> pd.DataFrame:
    """Hub rows, of which some state a point forecast above the median."""
    quantiles = in_rows(WIDE, "output_type_id").assign(output_type="quantile")
    points = quantiles[quantiles["output_type_id"] == 0.5]
    points = points.assign(output_type=kind, output_type_id=np.nan, value=points["value"] + 1)
    return pd.concat([quantiles, points])


@pytest.mark.parametrize("kind", ["point", "mean"])
def test_rows_of_point_forecasts_are_the_forecasts(kind):
    moved = estimates(with_points(kind)).set_index("metric")
    wide = WIDE.assign(id=WIDE["date"], forecast=WIDE["q0.5"] + 1)
    expected = estimates(wide).set_index("metric")
    pd.testing.assert_frame_equal(moved, expected)


def test_rows_without_a_level_are_point_forecasts():
    points = with_points("point").drop(columns="output_type")
    pd.testing.assert_frame_equal(estimates(points), estimates(with_points("point")))


def test_rows_that_state_no_quantile_are_refused():
    with pytest.raises(InputError, match=r"output_type must say .*got 'pmf'"):
        ek.rating(with_points("pmf"))


def test_a_forecast_without_a_quantile_of_others_is_refused():
    lacking = LONG[(LONG["quantile"] != 0.25) | (LONG["model"] == "A")]
    with pytest.raises(InputError, match=r"row 41: .*40 of 80 forecasts lack q0.25"):
        ek.rating(lacking)


def test_a_value_that_is_no_number_is_refused_with_its_row():
    with pytest.raises(InputError, match=r"value must be a number, got 'n/a' \(row 3\)"):
        ek.rating(LONG.astype({"value": object}).assign(value=_marked(LONG["value"])))


def _marked(values: pd.Series) -> list:
    return [*values[:2].astype(str), "n/a", *values[3:].astype(str)]


def test_a_table_without_a_usual_name_of_the_quantiles_is_refused_with_the_way():
    with pytest.raises(InputError, match="rename the column of the quantiles"):
        ek.rating(in_rows(WIDE, value="zz"))


def test_all_rows_say_which_quantiles_there_are():
    many = pd.concat([forecasts(["A"]).assign(region=str(i)) for i in range(60)])
    assert "quantile 0.95" in _study(in_rows(many)).stated.roles


def _study(table) -> rating.Rating:
    return rating.study_of(RatingParameters.from_raw({"preds": table}))


@pytest.fixture
def path_of_long(tmp_path):
    """A file with a row per quantile, of 40 forecasts of each of the systems A and B."""
    path = tmp_path / "long.csv"
    LONG.to_csv(path, index=False)
    return path


def test_the_size_of_a_file_of_quantiles_is_the_number_of_forecasts(path_of_long):
    found = inspection.inspect(RatingParameters.from_raw({"preds": [str(path_of_long)]}))
    assert found.size == f"{N} rows"
    assert [*found.systems] == ["A", "B"]


def test_a_file_of_quantiles_is_named_with_the_forecasts_of_both_systems(path_of_long):
    source = _study(str(path_of_long)).data.rows.sources[0]
    assert (source.path, source.rows) == (path_of_long, 2 * N)


def test_the_command_proposed_for_a_file_of_quantiles_is_the_rating_report(path_of_long):
    (part,) = sources.parts(str(path_of_long))
    first_proposal = reading_ways(part)[0]
    assert command_or_call(part, first_proposal).startswith("evalkit report rating")


def test_the_page_says_of_how_many_rows_the_forecasts_are():
    said = [found.message for found in rating_page.every_finding(_study(LONG))]
    assert any(text.startswith("400 rows, joined by forecast: 80 rows read, 40") for text in said)


def draws_in_rows() -> pd.DataFrame:
    """A row per draw of each system."""
    forecasts = WIDE[["model", "date", "actual"]]
    frames = [
        forecasts.assign(draw=i, value=WIDE["q0.5"] + RNG.normal(0, 1, 2 * N)) for i in range(10)
    ]
    return pd.concat(frames, ignore_index=True)


DRAWS = draws_in_rows()


@pytest.mark.parametrize("name", ["draw", "sample_id", "member"])
def test_a_row_per_draw_gives_the_numbers_of_a_row_per_forecast(name):
    wide = DRAWS.pivot(index=["model", "date", "actual"], columns="draw", values="value")
    wide = wide.rename(columns="draw_{}".format).reset_index().assign(id=lambda t: t["date"])
    found = _study(DRAWS.rename(columns={"draw": name})).estimates
    pd.testing.assert_frame_equal(found, _study(wide).estimates)


def test_draws_of_a_hub_are_read():
    hub = DRAWS.rename(columns={"draw": "output_type_id"}).assign(output_type="sample")
    pd.testing.assert_frame_equal(_study(hub).estimates, _study(DRAWS).estimates)


def test_numbers_of_samples_whose_rows_differ_are_no_draws():
    table = pd.DataFrame({"sample": np.arange(N) % 5, "id": np.arange(N)})
    table = table.assign(actual=WIDE["actual"][:N], forecast=WIDE["q0.5"][:N])
    assert len(_study(table).account) == N


def test_a_row_per_interval_gives_the_numbers_of_a_row_per_forecast():
    """WIDE has a row per model and date, with columns q0.05, q0.25, q0.5, q0.75 and q0.95 of
    quantiles. The other table has a row per interval, at 50 % and at 90 %, whose bounds are these
    quantiles, with the median (q0.5) as forecast. Metrics of both tables are the same.
    """
    points = WIDE[["model", "date", "actual"]].assign(forecast=WIDE["q0.5"])
    frames = [
        points.assign(level=level, lower=WIDE[f"q{low}"], upper=WIDE[f"q{high}"])
        for level, low, high in ((50, 0.25, 0.75), (90, 0.05, 0.95))
    ]
    wide = WIDE.assign(id=WIDE["date"], forecast=WIDE["q0.5"]).drop(columns="q0.5")
    pd.testing.assert_frame_equal(estimates(pd.concat(frames)), estimates(wide))


def bounds() -> pd.DataFrame:
    """Forecasts of one system with bounds whose names state no level."""
    of_one = WIDE[WIDE["model"] == "A"]
    columns = {"q0.05": "lower", "q0.5": "forecast", "q0.95": "upper"}
    return of_one.rename(columns=columns)[["date", "actual", *columns.values()]]


def test_a_column_states_the_level_of_bounds_without_one():
    study = _study(bounds().assign(confidence_level=0.9))
    assert study.stated.intervals == [90]
    assert study.account.quantile_rows == 0


def test_a_level_of_a_game_is_none_of_intervals():
    assert _study(bounds().assign(level=[1, 2] * (N // 2))).stated.roles == []

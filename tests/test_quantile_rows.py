"""Tables with a row per quantile are read as their forecasts."""

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.parameters.reports import RatingParameters
from evalkit.reading.matching.commands import invocation
from evalkit.reading.matching.proposal import ways
from evalkit.reading.tables import sources
from evalkit.studies import inspection, rating

RNG = np.random.default_rng(3)
N = 40
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


def test_files_are_read_inspected_and_named_with_their_rows(tmp_path):
    path = tmp_path / "long.csv"
    LONG.to_csv(path, index=False)
    found = inspection.inspect(RatingParameters.from_raw({"preds": [str(path)]}))
    assert found.size == f"{N} rows"
    assert [*found.systems] == ["A", "B"]
    source = _study(str(path)).data.rows.sources[0]
    assert (source.path, source.rows) == (path, 2 * N)
    part = sources.parts(str(path))[0]
    assert invocation(part, ways(part)[0]).startswith("evalkit report rating")

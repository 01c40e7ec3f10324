"""The rating report, and what findings are measured by: slices, thresholds, skewed differences."""

import numpy as np
import pandas as pd
import pytest
from samples import forecasts

from evalkit.drawing import figures
from evalkit.findings import kinds
from evalkit.limits import Limits, Reading
from evalkit.pages import (
    binary_page,
    first_screen,
    page,
    rating_page,
    shared_findings,
    significance_page,
)
from evalkit.parameters.reports import RatingParameters
from evalkit.reading.tables.rules import DOUBLE, SINGLE
from evalkit.studies import classification, diagnostics, rating, significance


def test_the_nearer_forecast_is_better():
    study = rating.read(forecasts(), metrics="mae,rmse,r2")
    assert study.order == ["near", "far"]
    assert (study.comparisons["verdict"] == "better").all()
    row = study.comparisons.iloc[0]
    assert row["wins"] + row["ties"] + row["losses"] == 60


def zeros_of_users():
    """Forecasts of 60 actual values of ten users, of which those of the first two are 0."""
    table = forecasts()
    table.loc[:11, "actual"] = 0.0
    table["user"] = np.arange(60) // 6
    return table


def in_blocks(table, **parameters):
    """The study of a table that is read in blocks."""
    limits = Limits(reading=Reading(rows=20, shard=20, largest=20))
    return rating.study_of(RatingParameters.from_raw({"preds": table, **parameters}), limits)


@pytest.mark.parametrize("read", [rating.read, in_blocks])
@pytest.mark.parametrize(("unit", "counted"), [(None, 48), ("user", 8)])
def test_wins_of_a_metric_are_of_the_rows_that_it_does_not_leave_out(read, unit, counted):
    rows = read(zeros_of_users(), metrics="mae,mape", unit=unit).comparisons.set_index("metric")
    assert rows.loc["mape", ["wins", "ties", "losses"]].sum() == counted


def test_wins_of_a_metric_that_leaves_rows_out_are_by_the_absolute_error():
    table = zeros_of_users()
    row = rating.read(table, metrics="mape").comparisons.iloc[0]
    rows = table[12:]
    near, far = ((rows[f"forecast_{name}"] - rows["actual"]).abs() for name in ("near", "far"))
    assert row["wins"] == (near < far).sum()


def test_a_metric_without_any_value_has_no_lowest():
    study = rating.read(forecasts().assign(actual=0.0), metrics="mape,mae")
    text = first_screen.verdict(study).text
    assert text.startswith("MAPE has no value for any system.")
    assert "lowest" not in text


def test_a_metric_without_a_better_direction_decides_nothing():
    study = rating.read(metrics="bias,mae")
    shown = page.comparisons(study)
    assert "bias has no better direction, so systems are not compared on it." in shown.html
    caption = "Paired differences in the other metrics with 95% interval, n = 700 persons</caption>"
    assert caption in shown.html
    assert "nan" not in shown.html
    assert "p by sign flip" in shown.html
    assert (
        "One system"
        not in shown.html
        + page.differences(study).html
        + page.comparisons(rating.read(metrics="bias")).html
    )


def test_tests_of_slices_are_adjusted_by_holm():
    data = forecasts(60).assign(third=np.arange(60) % 3)
    tests = rating.read(data, metrics="mae", segments="third").by_segment.drop_duplicates("slice")
    falling = tests.sort_values("p")
    by_hand = np.minimum(np.maximum.accumulate(falling["p"].to_numpy() * [3, 2, 1]), 1)
    assert falling["adjusted"].tolist() == pytest.approx(by_hand.tolist(), rel=1e-12)
    assert falling["adjusted"].iloc[0] > falling["p"].iloc[0]


def test_whole_weights_repeat_rows():
    data = forecasts(40)
    weight = np.random.default_rng(3).integers(1, 4, 40)
    weighted = rating.read(data.assign(weight=weight))
    repeated = rating.read(data.loc[np.repeat(data.index, weight)].drop(columns="id"))
    assert weighted.estimates["value"].tolist() == pytest.approx(
        repeated.estimates["value"].tolist()
    )
    assert weighted.constant_median(weighted.primary) == pytest.approx(
        repeated.constant_median(repeated.primary)
    )


def test_a_constant_that_is_better_than_every_system_is_the_answer_and_a_finding():
    study = rating.read(
        forecasts(actual=np.arange(60) % 9, forecast_near=0.0, forecast_far=0.0), metrics="mae"
    )
    assert study.constant_median(study.primary) == np.abs(np.arange(60) % 9 - 4).mean()
    assert "EK332" in rating_page.findings(study).html
    assert "No system beats a constant prediction" in first_screen.verdict(study).text


@pytest.mark.parametrize(
    "limits", [Limits(), Limits(reading=Reading(rows=100, shard=100, largest=100))]
)
@pytest.mark.parametrize("seed", range(6))
def test_exactly_linear_forecasts_correlate_by_no_more_than_1(seed, limits):
    y = np.random.default_rng(seed).normal(50, 9, 200)
    table = pd.DataFrame({"actual": y, "forecast_a": y + 1, "forecast_b": 2 * y + 3})
    study = rating.study_of(
        RatingParameters.from_raw({"preds": table, "metrics": "r2_correlation"}), limits
    )
    assert study.estimates["value"].le(1).all()
    assert study.estimates["high"].between(1 - 1e-9, 1).all()


def test_a_tenth_without_weight_is_left_out():
    table = pd.DataFrame({"actual": [0.0, 1.0], "forecast": [1.0, 2.0], "weight": [0.0, 1.0]})
    assert len(rating.study_of(RatingParameters.from_raw({"preds": table})).tenths) == 1


COUNTRY = np.where(np.arange(60) < 5, "few", "many")


def test_slices_below_twenty_units_are_small():
    study = rating.read(forecasts(country=COUNTRY), segments="country")
    assert diagnostics.small_slices(study) == ["country few"]
    assert diagnostics.most_units(study) == 60


def test_slices_that_cannot_show_a_difference_are_named():
    """Five units have 32 sign vectors: no p below 0.05 is possible."""
    study = rating.read(forecasts(country=COUNTRY), segments="country")
    assert diagnostics.untestable_slices(study) == ["country few"]
    assert diagnostics.untestable_slices(rating.read(forecasts(country=COUNTRY))) == []


def test_what_would_show_is_larger_among_several_comparisons():
    rng = np.random.default_rng(3)
    columns = {f"forecast_{name}": rng.normal(0, 1, 60) for name in "abc"}
    three = pd.DataFrame({"id": range(60), "actual": 0.0} | columns)
    several, alone = (
        rating.read(table, metrics="mae", baseline="a")
        for table in (three, three.drop(columns="forecast_c"))
    )
    would_show = [study.would_show(study.primary, ("b", "a")) for study in (several, alone)]
    assert several.family_level == pytest.approx(1 - 0.05 / 2)
    assert would_show[0] > 1.05 * would_show[1]


def test_thresholds_at_the_ends_of_the_scores():
    ends = diagnostics.ends({"a": np.array([0.1, 0.9]), "b": np.array([0.4, 0.5])})
    assert ends == {"a": (0.1, 0.9), "b": (0.4, 0.5)}
    at = {"a": 0.9, "b": 0.4}
    (below,) = shared_findings.idle(at, ends)
    assert "at or below every score of b" in below.message
    (above,) = shared_findings.idle({"a": 0.91, "b": 0.5}, ends)
    assert "above every score of a" in above.message


def test_a_threshold_is_rounded_where_scores_are_single():
    (changed,) = diagnostics.rounded(0.7, {"a": SINGLE, "b": DOUBLE})
    assert (changed.systems, changed.everywhere) == (("a",), False)
    assert changed.value == np.float32(0.7)
    assert diagnostics.rounded(0.5, {"a": SINGLE}) == []


def test_ties_move_an_estimate_that_has_a_range():
    assert diagnostics.moved_by_ties({"worst_ties": 0.5, "best_ties": 0.6})
    assert not diagnostics.moved_by_ties({"worst_ties": 0.5, "best_ties": 0.5 + 4e-4})
    assert not diagnostics.moved_by_ties({})


def test_the_best_value_follows_the_direction_of_the_metric():
    study = rating.read(forecasts(country=COUNTRY), metrics="mae,r2,bias")
    values = study.estimates.set_index(["metric", "system"])["value"]
    assert diagnostics.best_value(study, "mae") == values["mae"].min()
    assert diagnostics.best_value(study, "r2") == values["r2"].max()
    assert np.isnan(diagnostics.best_value(study, "bias"))


N = 60


def rare(n=N):
    """Differences most of which are small losses, few of them large gains."""
    return np.where(np.arange(n) % 20 == 0, 5.0, -0.2) + np.linspace(0, 0.01, n)


def by_rating():
    actual = np.linspace(0, 9, N)
    table = {
        "id": np.arange(N).astype(str),
        "actual": actual,
        "forecast_a": actual + 6 - rare(),
        "forecast_b": actual + 6,
    }
    return rating.read(pd.DataFrame(table), metrics="mae,rmse"), rating_page.every_finding


def by_values():
    return significance.read(
        pd.DataFrame({"unit": np.arange(N).astype(str), "a": 6 + rare(), "b": 6.0})
    ), significance_page.every_finding


def by_loss():
    b = np.linspace(0.3, 0.7, N)
    table = {"id": np.arange(N).astype(str), "y_true": np.arange(N) % 2, "score_a": b, "score_b": b}
    table["score_a"] = np.where(np.arange(N) == 0, 0.999, b + 0.01 * (np.arange(N) % 2))
    return classification.read(pd.DataFrame(table), metrics="log_loss"), binary_page.every_finding


@pytest.mark.parametrize("read", [by_rating, by_values, by_loss])
def test_skewed_differences_are_told_on_every_page_that_flips_signs(read):
    study, findings = read()
    skew = diagnostics.skew(study)
    assert skew.units == N < skew.wanted
    (text,) = [finding.message for finding in findings(study) if finding.kind.code == "EK402"]
    assert "a 5% test rejected" in text
    assert skew.metric in text


def test_symmetric_differences_and_other_tests_are_not_told():
    units = np.arange(N).astype(str)
    even = significance.read(pd.DataFrame({"unit": units, "a": np.linspace(0, 2, N), "b": 1.0}))
    assert diagnostics.skew(even) is None
    label = np.arange(N) % 2
    table = pd.DataFrame(
        {"id": units, "y_true": label, "score_a": label * 0.3 + 0.3, "score_b": 0.5 + 0.001 * label}
    )
    assert diagnostics.skew(classification.read(table, metrics="roc_auc,accuracy")) is None


# Rows that a metric leaves out --------------------------------------------------------------------


def with_zeros(n=60):
    """Forecasts of two systems; some actual values, scales and forecasts are 0."""
    rng = np.random.default_rng(8)
    actual = rng.integers(0, 4, n) * 1.0
    base = {"id": np.arange(n).astype(str), "actual": actual, "naive_mae": (np.arange(n) > 4) * 1.0}
    sides = [
        pd.DataFrame(base | {"system": name, "forecast": (actual + rng.integers(0, 2, n)) * by})
        for name, by in (("a", 1.0), ("b", (np.arange(n) % 7 > 0) * 1.0))
    ]
    return pd.concat(sides, ignore_index=True)


def said_of_rows(study):
    return [
        finding.message
        for finding in rating_page.every_finding(study)
        if finding.kind is kinds.UNDEFINED_VALUES
    ]


def test_a_finding_says_how_many_rows_the_percentage_error_leaves_out():
    table = with_zeros()
    zeros = int((table["actual"] == 0).sum() / 2)
    (message,) = said_of_rows(rating.read(table, metrics="mae,mape"))
    assert message.startswith(f"mape is undefined on {zeros} rows of 60, which it leaves out.")
    assert "whose actual value is not 0" in message


def test_so_it_does_of_the_scaled_error():
    (message,) = said_of_rows(rating.read(with_zeros(), metrics="mase"))
    assert message.startswith("mase is undefined on 5 rows of 60")


def test_rows_that_systems_leave_out_for_their_own_forecasts_are_a_warning():
    table = with_zeros()
    study = rating.read(table, metrics="poisson_deviance")
    counts = (table["forecast"] <= 0).groupby(table["system"]).sum()
    (finding,) = [f for f in rating_page.every_finding(study) if f.kind is kinds.UNDEFINED_VALUES]
    assert f"a {counts['a']}, b {counts['b']} of 60" in finding.message
    assert finding.severity == kinds.WARNING


@pytest.mark.parametrize("metric", ["smape", "wape", "mae", "rmse", "bias", "r2"])
def test_metrics_that_count_every_row_say_nothing(metric):
    assert said_of_rows(rating.read(with_zeros(), metrics=metric)) == []


def test_blocks_leave_out_as_many_rows():
    p = RatingParameters.from_raw({"preds": with_zeros(), "metrics": "mape,mase"})
    blocks = rating.study_of(p, Limits(reading=Reading(rows=20, shard=20, largest=50)))
    assert blocks.blocks is not None
    assert blocks.rows_without_value == rating.study_of(p).rows_without_value


def test_weights_change_no_number_of_rows():
    table = with_zeros().assign(weight=2.5)
    assert said_of_rows(rating.read(table, metrics="mape")) == said_of_rows(
        rating.read(with_zeros(), metrics="mape")
    )


def test_skew_of_a_pair_that_the_headline_does_not_name_is_aside():
    rng = np.random.default_rng(1)
    base = rng.normal(5, 1, N)
    table = {"question": np.arange(N).astype(str), "best": base + rng.normal(2, 0.2, N)}
    table |= {"base": base, "odd": base - np.where(np.arange(N) == 0, 50.0, 0.0)}
    table = pd.DataFrame(table | {"even": base - 0.01})
    study = significance.read(table, lower_is_better="none")
    skew = diagnostics.skew(study)
    assert diagnostics.in_headline(study, skew)
    assert study.leader in skew.pair


# ---- the page ------------------------------------------------------------------------------------


def test_the_leader_has_its_actual_values_and_errors_side_by_side_and_others_are_folded():
    study = rating.read(forecasts())
    for figure in (rating_page.actual_plot(study), rating_page.error_plot(study)):
        assert figure.caption.startswith(f"{study.leader}: ")
        assert (figure.cut, figure.inches[0]) == (False, figures.WIDTH)  # two fit side by side
    others = rating_page.other_actual_plot(study)
    assert others.data[0]["system"].unique().tolist() == study.order[1:]
    assert others.summary == f"Actual value against forecast: {', '.join(study.order[1:])}"
    assert not rating_page.other_actual_plot(rating.read(forecasts(), systems="near")).html

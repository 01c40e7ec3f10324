"""The rating report, and what findings are measured by: slices, thresholds, skewed differences."""

import numpy as np
import pandas as pd
import pytest
from samples import forecasts

from evalkit.drawing import figures
from evalkit.findings import kinds
from evalkit.limits import Limits, ReadingLimits
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


def test_each_row_is_won_tied_or_lost():
    comparisons = rating.read(forecasts(), metrics="mae,rmse,r2").comparisons
    assert (comparisons[["wins", "ties", "losses"]].sum(axis=1) == 60).all()


def forecasts_of_two_zero_users():
    """Forecasts of 60 actual values of ten users, of which those of the first two are 0."""
    table = forecasts()
    table.loc[:11, "actual"] = 0.0
    table["user"] = np.arange(60) // 6
    return table


def read_in_blocks(table, **parameters):
    """The study of a table that is read in blocks."""
    limits = Limits(reading=ReadingLimits(rows=20, shard=20, largest=20))
    return rating.study_of(RatingParameters.from_raw({"preds": table, **parameters}), limits)


@pytest.mark.parametrize("read", [rating.read, read_in_blocks])
@pytest.mark.parametrize(("unit", "units"), [(None, 48), ("user", 8)])
def test_only_units_with_a_percentage_error_are_won_tied_or_lost(read, unit, units):
    """It is undefined where the actual value is 0."""
    comparisons = read(forecasts_of_two_zero_users(), metrics="mae,mape", unit=unit).comparisons
    of_mape = comparisons.query("metric == 'mape'")
    assert of_mape[["wins", "ties", "losses"]].sum(axis=1).tolist() == [units]


def test_the_smaller_percentage_error_is_the_smaller_absolute_error():
    """The systems near and far forecast 60 rows. Their percentage errors of a row have the same
    denominator, the actual value, so that the first system, near, wins a row exactly if its
    absolute error is smaller. The twelve rows whose actual value is 0 have no percentage error and
    no winner.
    """
    table = forecasts_of_two_zero_users()
    comparisons = rating.read(table, metrics="mape").comparisons
    rows = table.query("actual != 0")
    near = (rows["forecast_near"] - rows["actual"]).abs()
    far = (rows["forecast_far"] - rows["actual"]).abs()
    assert comparisons["wins"].tolist() == [(near < far).sum()]


def test_a_metric_without_any_value_has_no_lowest():
    study = rating.read(forecasts().assign(actual=0.0), metrics="mape,mae")
    text = first_screen.verdict(study).text
    assert text.startswith("MAPE has no value for any system.")
    assert "lowest" not in text


def test_systems_are_not_compared_on_a_metric_without_a_better_direction():
    """Without a table, the study reads the bundled forecasts of 700 persons. A lower bias is
    neither better nor worse, so that only MAE has comparisons: the table of the page says so, and
    that MAE is tested by sign flips. The bias has no cell in it, not even a "nan".
    """
    study_of_sample = rating.read(metrics="bias,mae")
    html = page.comparisons(study_of_sample).html
    assert "bias has no better direction, so systems are not compared on it." in html
    caption = "Paired differences in the other metrics with 95% interval, n = 700 persons</caption>"
    assert caption in html
    assert "p by sign flip" in html
    assert "nan" not in html


@pytest.mark.parametrize(
    "piece, metrics",
    [(page.comparisons, "bias,mae"), (page.differences, "bias,mae"), (page.comparisons, "bias")],
)
def test_two_systems_that_are_not_compared_are_not_said_to_be_one(piece, metrics):
    assert "One system" not in piece(rating.read(metrics=metrics)).html


def test_tests_of_slices_are_adjusted_by_holm():
    """Two systems are compared on 60 rows, and by segments="third" on each of three slices of them,
    with a p-value each. Holm's correction of three p-values is 3 × the smallest, 2 × the next, the
    largest; none below the one before, and none above 1.
    """
    data = forecasts(60).assign(third=np.arange(60) % 3)
    rows_of_systems = rating.read(data, metrics="mae", segments="third").by_segment
    tests = rows_of_systems.drop_duplicates("slice")  # the rows of a slice have the same test
    rising = tests.sort_values("p")
    expected = np.minimum(np.maximum.accumulate(rising["p"] * [3, 2, 1]), 1)
    assert rising["adjusted"].tolist() == pytest.approx(expected.tolist(), rel=1e-12)
    assert rising["adjusted"].min() > rising["p"].min()


def test_whole_weights_repeat_rows():
    """A table of 40 forecasts has weights of 1 to 3; in another one each row occurs as often as its
    weight says. Both have the same metrics, and the same `constant_median`: the first metric's
    value if the median of the actual values were forecast for every row.
    """
    data = forecasts(40)
    weight = np.random.default_rng(3).integers(1, 4, 40)
    weighted = rating.read(data.assign(weight=weight))
    repeated = rating.read(data.loc[np.repeat(data.index, weight)].drop(columns="id"))
    values = repeated.estimates["value"].tolist()
    assert weighted.estimates["value"].tolist() == pytest.approx(values)
    constant = repeated.constant_median(repeated.primary_metric)
    assert weighted.constant_median(weighted.primary_metric) == pytest.approx(constant)


def test_a_constant_that_is_better_than_every_system_is_the_answer_and_a_finding():
    """The actual values of 60 rows are 0 to 8, with the median 4; both systems, near and far,
    forecast 0. A constant forecast of 4 has a lower MAE than both, so that the page has the finding
    about it (EK332), and its verdict names no better system.
    """
    actual = np.arange(60) % 9
    study = rating.read(
        forecasts(actual=actual, forecast_near=0.0, forecast_far=0.0), metrics="mae"
    )
    assert study.constant_median(study.primary_metric) == np.abs(actual - 4).mean()
    assert "EK332" in rating_page.findings(study).html
    assert "No system beats a constant prediction" in first_screen.verdict(study).text


@pytest.mark.parametrize("read", [rating.read, read_in_blocks])
@pytest.mark.parametrize("seed", range(6))
def test_exactly_linear_forecasts_correlate_by_no_more_than_1(seed, read):
    y = np.random.default_rng(seed).normal(50, 9, 200)
    table = pd.DataFrame({"actual": y, "forecast_a": y + 1, "forecast_b": 2 * y + 3})
    estimates = read(table, metrics="r2_correlation").estimates
    assert estimates["value"].le(1).all()
    assert estimates["high"].between(1 - 1e-9, 1).all()  # rounding


def test_a_tenth_without_weight_is_left_out():
    table = pd.DataFrame({"actual": [0.0, 1.0], "forecast": [1.0, 2.0], "weight": [0.0, 1.0]})
    assert len(rating.read(table).tenths) == 1


FIVE_OF_SIXTY = np.where(np.arange(60) < 5, "few", "many")


def test_slices_below_twenty_units_are_small():
    study = rating.read(forecasts(country=FIVE_OF_SIXTY), segments="country")
    assert diagnostics.small_slices(study) == ["country few"]
    assert diagnostics.most_units(study) == 60


def test_slices_that_cannot_show_a_difference_are_named():
    """Five units have 2⁵ = 32 sign vectors: no p is below 2 / 32."""
    study = rating.read(forecasts(country=FIVE_OF_SIXTY), segments="country")
    assert diagnostics.untestable_slices(study) == ["country few"]


def test_without_segments_no_slice_is_untestable():
    assert diagnostics.untestable_slices(rating.read(forecasts())) == []


def test_what_would_show_is_larger_among_several_comparisons():
    """`would_show` is the smallest true difference that a test detects with a power of 80 %. With
    two comparisons, of b and of c with the baseline a, each is tested at 0.05 / 2; with b alone, at
    0.05. The forecasts are noise; the ratio is the same for other seeds.
    """
    rng = np.random.default_rng(3)
    columns = {f"forecast_{name}": rng.normal(0, 1, 60) for name in "abc"}
    table = pd.DataFrame({"id": range(60), "actual": 0.0} | columns)
    two_comparisons = rating.read(table, metrics="mae", baseline="a")
    one_comparison = rating.read(table, metrics="mae", baseline="a", systems="a,b")
    assert two_comparisons.family_level == pytest.approx(1 - 0.05 / 2)
    among_two = two_comparisons.would_show(two_comparisons.primary_metric, ("b", "a"))
    alone = one_comparison.would_show(one_comparison.primary_metric, ("b", "a"))
    # by normal quantiles (z(0.9875) + z(0.8)) / (z(0.975) + z(0.8)) = 3.08 / 2.80 = 1.10 times
    assert among_two > 1.05 * alone


RANGES = {"a": np.array([0.1, 0.9]), "b": np.array([0.4, 0.5])}


def test_the_ends_of_the_scores_are_their_least_and_largest():
    assert diagnostics.ends(RANGES) == {"a": (0.1, 0.9), "b": (0.4, 0.5)}


@pytest.mark.parametrize(
    "thresholds, says",
    [
        ({"a": 0.9, "b": 0.4}, "at or below every score of b"),
        ({"a": 0.91, "b": 0.5}, "above every score of a"),
    ],
)
def test_a_threshold_that_decides_all_rows_alike_is_named(thresholds, says):
    """The least score itself is predicted positive, and so is the largest."""
    (finding,) = shared_findings.idle_thresholds(thresholds, diagnostics.ends(RANGES))
    assert says in finding.message


def test_a_threshold_is_rounded_where_scores_are_single():
    (rounded,) = diagnostics.rounded(0.7, {"a": SINGLE, "b": DOUBLE})
    assert (rounded.systems, rounded.everywhere) == (("a",), False)
    assert rounded.value == np.float32(0.7)


def test_a_threshold_that_single_precision_holds_is_not_rounded():
    assert diagnostics.rounded(0.5, {"a": SINGLE}) == []


@pytest.mark.parametrize(
    "row, moves",
    [
        ({"worst_ties": 0.5, "best_ties": 0.6}, True),
        ({"worst_ties": 0.5, "best_ties": 0.5 + 4e-4}, False),
        ({}, False),
    ],
    ids=["a range", "the third decimal stays", "no range"],
)
def test_ties_move_an_estimate_whose_range_shows(row, moves):
    assert diagnostics.depends_on_tied_order(row) == moves


@pytest.mark.parametrize("metric, best", [("mae", min), ("r2", max)])
def test_the_best_value_follows_the_direction_of_the_metric(metric, best):
    """A study has several metrics, with values of two systems each. Lower errors are better, and a
    higher R²: the best value is that of the named metric alone, also if it is not the first one.
    """
    study = rating.read(forecasts(), metrics="mae,r2,bias")
    values = study.estimates.query("metric == @metric")["value"]
    assert diagnostics.best_value(study, metric) == best(values)


def test_a_metric_without_a_better_direction_has_no_best_value():
    study = rating.read(forecasts(), metrics="mae,r2,bias")
    assert np.isnan(diagnostics.best_value(study, "bias"))


ROWS = 60
IDS = np.arange(ROWS).astype(str)


def skewed_differences():
    """Differences most of which are small losses, few of them large gains."""
    return np.where(np.arange(ROWS) % 20 == 0, 5.0, -0.2) + np.linspace(0, 0.01, ROWS)


def skewed_forecasts():
    """A study of forecasts whose errors differ so, with the function of its page's findings."""
    actual = np.linspace(0, 9, ROWS)
    b = actual + 6
    a = b - skewed_differences()
    table = pd.DataFrame({"id": IDS, "actual": actual, "forecast_a": a, "forecast_b": b})
    return rating.read(table, metrics="mae,rmse"), rating_page.every_finding


def skewed_values():
    table = pd.DataFrame({"unit": IDS, "a": 6 + skewed_differences(), "b": 6.0})
    return significance.read(table), significance_page.every_finding


def skewed_losses():
    b = np.linspace(0.3, 0.7, ROWS)
    label = np.arange(ROWS) % 2
    a = b + 0.01 * label
    a[0] = 0.999  # of a row whose label is 0
    table = pd.DataFrame({"id": IDS, "y_true": label, "score_a": a, "score_b": b})
    return classification.read(table, metrics="log_loss"), binary_page.every_finding


@pytest.mark.parametrize(
    "make_study_and_findings", [skewed_forecasts, skewed_values, skewed_losses]
)
def test_skewed_differences_are_a_finding_on_every_page_that_flips_signs(make_study_and_findings):
    """A study compares two systems on 60 units, by forecasts, values or log losses; it is made
    together with the function that gives the findings of its page. Most differences are small, a
    few are large and of the other sign. With such a skew, the normal approximation wants more units
    than there are (`skew.wanted`), and the page of the study warns with the finding EK402.
    """
    study, every_finding = make_study_and_findings()
    skew = diagnostics.skew(study)
    assert skew.units == 60 < skew.wanted
    (text,) = [finding.message for finding in every_finding(study) if finding.kind.code == "EK402"]
    assert "a 5% test rejected" in text
    assert skew.metric in text


def test_symmetric_differences_have_no_skew():
    even = pd.DataFrame({"unit": IDS, "a": np.linspace(0, 2, ROWS), "b": 1.0})
    assert diagnostics.skew(significance.read(even)) is None


def test_differences_that_are_not_tested_by_sign_flips_have_no_skew():
    label = np.arange(ROWS) % 2
    scores = {"score_a": label * 0.3 + 0.3, "score_b": 0.5 + 0.001 * label}
    table = pd.DataFrame({"id": IDS, "y_true": label} | scores)
    assert diagnostics.skew(classification.read(table, metrics="roc_auc,accuracy")) is None


# Rows that a metric leaves out --------------------------------------------------------------------


def forecasts_with_undefined_errors():
    """Forecasts of 60 rows by the systems a and b. Some actual values, five scales (naive_mae) and
    some forecasts are 0; b also forecasts 0 in every seventh row.
    """
    rng = np.random.default_rng(8)
    actual = rng.integers(0, 4, ROWS) * 1.0
    shared = {"id": IDS, "actual": actual, "naive_mae": (np.arange(ROWS) > 4) * 1.0}
    a = actual + rng.integers(0, 2, ROWS)
    b = (actual + rng.integers(0, 2, ROWS)) * (np.arange(ROWS) % 7 > 0)
    systems = [
        pd.DataFrame(shared | {"system": name, "forecast": forecast})
        for name, forecast in (("a", a), ("b", b))
    ]
    return pd.concat(systems, ignore_index=True)


def findings_of_undefined_rows(table, metrics):
    study = rating.read(table, metrics=metrics)
    every_finding = rating_page.every_finding(study)
    return [finding for finding in every_finding if finding.kind is kinds.UNDEFINED_VALUES]


def test_a_finding_says_how_many_rows_the_percentage_error_leaves_out():
    """Two systems forecast the same 60 rows, in some of which the actual value is 0. There the
    percentage error (mape) is undefined for both, and its finding says in how many rows; the
    absolute error (mae) is defined everywhere and has no finding.
    """
    table = forecasts_with_undefined_errors()
    zeros = (table.drop_duplicates("id")["actual"] == 0).sum()
    (finding,) = findings_of_undefined_rows(table, "mae,mape")
    says = f"mape is undefined on {zeros} rows of 60, which it leaves out."
    assert finding.message.startswith(says)
    assert "whose actual value is not 0" in finding.message


def test_a_finding_says_how_many_rows_the_scaled_error_leaves_out():
    (finding,) = findings_of_undefined_rows(forecasts_with_undefined_errors(), "mase")
    assert finding.message.startswith("mase is undefined on 5 rows of 60")


def test_rows_that_systems_leave_out_for_their_own_forecasts_are_a_warning():
    table = forecasts_with_undefined_errors()
    zeros = table.query("forecast <= 0")["system"].value_counts()
    (finding,) = findings_of_undefined_rows(table, "poisson_deviance")
    assert f"a {zeros['a']}, b {zeros['b']} of 60" in finding.message
    assert finding.severity == kinds.WARNING


@pytest.mark.parametrize("metric", ["smape", "wape", "mae", "rmse", "bias", "r2"])
def test_metrics_that_are_defined_on_every_row_have_no_such_finding(metric):
    assert findings_of_undefined_rows(forecasts_with_undefined_errors(), metric) == []


def test_a_table_read_in_blocks_leaves_out_as_many_rows_as_in_memory():
    """The percentage error (mape) is undefined where the actual value is 0, the scaled error (mase)
    where its scale is 0. Read in blocks of 20 rows, each metric must leave out as many rows as when
    the whole table is read at once.
    """
    table = forecasts_with_undefined_errors()
    in_memory = rating.read(table, metrics="mape,mase")
    in_blocks = read_in_blocks(table, metrics="mape,mase")
    assert in_blocks.blocks is not None
    assert in_blocks.rows_without_value == in_memory.rows_without_value


def test_weights_change_no_number_of_rows():
    (weighted,) = findings_of_undefined_rows(
        forecasts_with_undefined_errors().assign(weight=2.5), "mape"
    )
    (plain,) = findings_of_undefined_rows(forecasts_with_undefined_errors(), "mape")
    assert weighted.message == plain.message


def test_the_skew_that_is_reported_is_that_of_a_pair_of_the_leader():
    """Four systems have values on 60 questions. System odd has those of base, but 50 less on one
    question. So its differences from base, and from even, are one number on all other questions and
    a little more skewed (skewness 7.551) than those from new (7.543). Yet new leads: the skew that
    is reported is that of a pair with the leader, as the comparisons at the top of the page are.
    """
    rng = np.random.default_rng(1)
    base = rng.normal(5, 1, 60)
    new = base + rng.normal(2, 0.2, 60)
    odd = base - np.where(np.arange(60) == 0, 50.0, 0.0)
    even = base - 0.01
    table = pd.DataFrame({"question": IDS, "new": new, "base": base, "odd": odd, "even": even})
    study = significance.read(table, lower_is_better="none")
    assert study.leader == "new"
    skew = diagnostics.skew(study)
    assert set(skew.pair) == {"new", "odd"}
    assert diagnostics.in_headline(study, skew)  # the comparisons at the top of the page


# ---- the page ------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [rating_page.actual_plot, rating_page.error_plot])
def test_the_actual_values_and_errors_of_the_leader_fit_side_by_side(draw):
    study = rating.read(forecasts())
    figure = draw(study)
    assert figure.caption.startswith(f"{study.leader}: ")
    width, _ = figure.inches
    assert (figure.cut, width) == (False, figures.WIDTH)


def test_the_actual_values_of_the_other_systems_are_folded():
    others = rating_page.other_actual_plot(rating.read(forecasts()))
    (panel,) = others.data
    assert set(panel["system"]) == {"far"}
    assert others.summary == "Actual value against forecast: far"


def test_one_system_has_no_figure_of_others():
    assert not rating_page.other_actual_plot(rating.read(forecasts(), systems="near")).html

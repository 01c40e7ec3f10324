"""Gaps between groups: the values of fairlearn, their limits, odd groups, and rules about gaps."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import studentized_range, ttest_ind

import evalkit as ek
from evalkit import __main__ as command
from evalkit.limits import Limits, ReadingLimits
from evalkit.pages import classification_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.reading.tables.table import slices
from evalkit.statistics.area_gaps import AreaScale, GroupAreas
from evalkit.statistics.closed_forms import auc_newcombe, hanley_mcneil_factor
from evalkit.statistics.groups import (
    GroupEstimates,
    GroupShares,
    MeanOfGroup,
    difference_of_means,
    level_of_comparison,
    level_of_each,
)
from evalkit.statistics.intervals import Estimate, hall, mean_t, normal_quantile, t_quantile
from evalkit.statistics.largest_gap import NormalGroups, largest_gap
from evalkit.statistics.proportions import miettinen_nurminen, ratio_score
from evalkit.studies import classification

ROOT = Path(__file__).parents[1]
# of the German credit predictions at a threshold of 0.5: by_group from MetricFrame(...).by_group,
# difference and ratio from its .difference() and .ratio(), and the two named fairness metrics
FAIRLEARN = json.loads((ROOT / "tests/oracles/fairlearn.json").read_text(encoding="utf-8"))
METRIC_OF_FAIRLEARN = {
    "selection_rate": "predicted_rate",
    "tpr": "recall",
    "fpr": "false_positive_rate",
    "precision": "precision",
    "accuracy": "accuracy",
    "roc_auc": "roc_auc",
}
SYSTEMS_AND_COLUMNS = [
    (system, column) for system in FAIRLEARN["models"] for column in ("sex", "age_band")
]


def credit() -> pd.DataFrame:
    """The applicants, with their sex alone in a column."""
    frame = pd.read_csv(ROOT / "data/german_credit/predictions.csv")
    return frame.assign(sex=frame["personal_status_and_sex"].str.split(" :").str[0])


@cache
def credit_study() -> Any:
    """The study of the applicants by sex and age."""
    return ek.classification(credit(), groups="sex,age_band", metrics="roc_auc,accuracy")


def table_of_400_rows(**columns: Any) -> pd.DataFrame:
    """400 rows of one system, half of them positive, with these further columns."""
    rng = np.random.default_rng(3)
    y_true = np.tile([0, 1], 200)
    y_score = np.clip(0.3 * y_true + rng.uniform(0, 0.7, 400), 0, 1)
    return pd.DataFrame({"y_true": y_true, "y_score": y_score} | columns)


def gaps_of(groups: Any, **parameters: Any) -> pd.DataFrame:
    """The gaps of a column `group` with these values."""
    study = ek.classification(table_of_400_rows(group=groups), groups="group", **parameters)
    return study.gaps("group")


def row_of(frame: pd.DataFrame, metric: str, group: str) -> pd.Series:
    """The row of a metric in a group, as a series: its value, its gap from the reference group, and
    limits.
    """
    (row,) = frame[(frame["metric"] == metric) & (frame["group"] == group)].to_dict("records")
    return pd.Series(row)


@pytest.mark.parametrize(("system", "column"), SYSTEMS_AND_COLUMNS)
def test_the_values_of_groups_equal_fairlearn(system: str, column: str) -> None:
    """For the bundled German credit data, the package fairlearn has computed each metric of each
    system in the groups of a column, sex or age band; its values are stored in FAIRLEARN. `gaps`
    has a row per system, metric and group, whose `value` must be fairlearn's.
    """
    frame = credit_study().gaps(column)
    frame = frame[frame["system"] == system]
    for group, values in FAIRLEARN["models"][system][column]["by_group"].items():
        for fairlearns_name, metric in METRIC_OF_FAIRLEARN.items():
            value = row_of(frame, metric, group)["value"]
            assert value == pytest.approx(values[fairlearns_name], abs=1e-12)


@pytest.mark.parametrize(("system", "column"), SYSTEMS_AND_COLUMNS)
def test_the_largest_gaps_and_ratios_equal_fairlearn(system: str, column: str) -> None:
    """For the bundled German credit data, the package fairlearn has computed the largest difference
    and the smallest ratio of each metric between the groups of a column, sex or age band. They are
    stored in FAIRLEARN, and must be those of the row of each metric.
    """
    rows = largest_gap_by_metric(system, column)
    expected = FAIRLEARN["models"][system][column]
    for fairlearns_name, metric in METRIC_OF_FAIRLEARN.items():
        difference = expected["difference"][fairlearns_name]
        ratio = expected["ratio"][fairlearns_name]
        assert rows.loc[metric, "gap"] == pytest.approx(difference, abs=1e-12)
        assert rows.loc[metric, "ratio"] == pytest.approx(ratio, abs=1e-12)


@pytest.mark.parametrize(("system", "column"), SYSTEMS_AND_COLUMNS)
def test_fairlearns_parity_and_odds_are_gaps_of_rates(system: str, column: str) -> None:
    """The package fairlearn has two metrics of fairness, whose values for the bundled German credit
    data are stored in FAIRLEARN. By its definitions, the demographic parity difference is the
    largest gap between groups in the predicted rate, and the equalized odds difference is the
    larger one of the largest gaps in recall and in the false positive rate.
    """
    gap = largest_gap_by_metric(system, column)["gap"]
    expected = FAIRLEARN["models"][system][column]
    parity = expected["demographic_parity_difference"]
    assert gap["predicted_rate"] == pytest.approx(parity, abs=1e-12)
    larger_gap = gap[["recall", "false_positive_rate"]].max()
    assert larger_gap == pytest.approx(expected["equalized_odds_difference"], abs=1e-12)


def largest_gap_by_metric(system: str, column: str) -> pd.DataFrame:
    """The largest gap between groups of a column for each metric, which is the index."""
    rows = credit_study().largest_gaps(column)
    return rows[rows["system"] == system].set_index("metric")


@pytest.mark.parametrize("system", FAIRLEARN["models"])
def test_limits_between_two_groups_are_those_of_miettinen_and_nurminen(system: str) -> None:
    """In the bundled German credit data the group male is the reference, so that the gap of the
    group female is female minus male. The expected differences and limits are stored in FAIRLEARN
    beside fairlearn's values, by metric: the limits are Miettinen and Nurminen's for two
    proportions, found by bisection of the likelihood.
    """
    frame = credit_study().gaps("sex")
    frame = frame[frame["system"] == system]
    by_metric = FAIRLEARN["models"][system]["sex"]["gaps"]["female | male"]
    for fairlearns_name, pair in by_metric.items():
        row = row_of(frame, METRIC_OF_FAIRLEARN[fairlearns_name], "female")
        assert row["gap"] == pytest.approx(pair["diff"], abs=1e-12)
        assert [row["gap_low"], row["gap_high"]] == pytest.approx(pair["limits"], abs=1e-9)


def test_published_limits_of_miettinen_and_nurminen() -> None:
    """Of 56/70 − 48/80 and 5/56 − 0/29: Newcombe 1998, tables II (a) and (d), to four decimals."""
    limits = miettinen_nurminen([56, 5], [70, 56], [48, 0], [80, 29], level=0.95)
    assert limits.low.tolist() == pytest.approx([0.0528, -0.0326], abs=5e-5)
    assert limits.high.tolist() == pytest.approx([0.3382, 0.1933], abs=5e-5)


def test_limits_do_not_collapse_where_no_row_is_a_hit() -> None:
    limits = miettinen_nurminen([0], [30], [0], [30], level=0.95)
    assert limits.low[0] < -0.1
    assert limits.high[0] > 0.1


CLASS_METRICS = "mcc,kappa,macro_f1,weighted_f1,balanced_accuracy"


def test_a_group_without_an_error_is_not_known_exactly() -> None:
    """The metrics of three classes, such as macro F1 (CLASS_METRICS), are estimated in two groups.
    All 20 rows of group b are predicted right, so that each metric of b is 1 without any spread. 20
    right rows do not show that the next ones will be: the interval of b must still have a width, as
    that of the other group has.
    """
    rng = np.random.default_rng(1)
    actual = rng.choice([*"xyz"], 200)
    group = np.repeat(["a", "b"], [180, 20])
    is_guessed = (rng.random(200) < 0.3) & (group == "a")
    predicted = np.where(is_guessed, "x", actual)
    frame = pd.DataFrame({"y_true": actual, "y_pred": predicted, "group": group})
    gaps = ek.classification(frame, groups="group", metrics=CLASS_METRICS).gaps("group")
    assert (gaps.query("group == 'b'")["value"] == 1).all()
    # Wilson's interval of 20 right rows of 20 is [0.84, 1]; an interval by the spread has no width
    assert (gaps["high"] - gaps["low"] > 0.1).all()


@pytest.mark.parametrize(("factor", "excludes_0"), [(0.97, False), (1.03, True)])
def test_equal_groups_are_told_apart_as_by_tukey_and_kramer(factor, excludes_0) -> None:
    """Five groups, each with a standard error of 1, are shown to differ once their largest gap is
    above the 95 % quantile of the studentised range of five. The distribution is drawn: the gap at
    which that happens is within 3 % of the quantile.
    """
    quantile = studentized_range.ppf(0.95, 5, np.inf)
    groups = normal_groups(factor * quantile * np.array([0.0, 0.1, 0.2, 0.3, 1.0]))
    assert np.isfinite(groups.limit_distances(0.95).below) == excludes_0


def normal_groups(value: Any) -> NormalGroups:
    """Groups with these values, each with an independent standard error of 1."""
    count = len(value)
    rng = np.random.default_rng(1)
    return NormalGroups.from_errors(np.asarray(value), np.ones(count), np.eye(count), rng)


def test_the_closest_values_with_a_smaller_gap_lie_within_two_bounds() -> None:
    """Four groups have the values 0, 1, 9 and 10, each with a standard error of 1. Of all values
    whose largest gap is 6, the closest by squared distance move the low ones up to 2, the high ones
    down to 8.
    """
    groups = normal_groups([0.0, 1.0, 9.0, 10.0])
    assert groups.closest_values(6.0).tolist() == pytest.approx([2, 2, 8, 8])


def test_values_within_one_error_of_the_highest_are_taken_as_tied() -> None:
    """Each group has a standard error of 1. The closest values with a smaller gap have both ends
    moved inwards; a value less than one error from an end is moved to it.
    """
    groups = normal_groups([0.0, 4.0, 9.3, 12.0])
    # a gap of 10 moves the ends to 1 and 11, from which 9.3 is 1.7 errors away
    assert groups.closest_values(10.0).tolist() == pytest.approx([1, 4, 9.3, 11])
    # a gap of 8 moves them to 2 and 10, from which 9.3 is 0.7 errors away
    assert groups.closest_values(8.0).tolist() == pytest.approx([2, 4, 10, 10])


def test_the_closest_values_with_a_larger_gap_move_two_groups_apart() -> None:
    """The gap of the values 0, 4 and 10 is 10. For a gap of 12 the lowest and the highest move by
    1.
    """
    groups = normal_groups([0.0, 4.0, 10.0])
    assert groups.closest_values(12.0).tolist() == pytest.approx([-1, 4, 11])


def test_limits_of_the_largest_gap_of_groups_apart_hold_it_in_about_95_percent() -> None:
    """The true values of the four groups are 0, 3, 5 and 8, each observed with an independent
    standard error of 1 (`GroupEstimates` takes a function that estimates a group, and the
    correlation of the errors). So the true largest gap is 8, and the groups with it are never in
    doubt. In 200 samples, a coverage of 0.95 has a standard error of √(0.95 · 0.05 / 200) = 0.015;
    0.03 are two of them.
    """
    rng = np.random.default_rng(2)
    true_gap = 8
    covered = 0
    for _ in range(200):
        values = rng.normal((0, 3, 5, 8), 1)
        groups = GroupEstimates(
            lambda group, level, values=values: normal_estimate(values[group], level), np.eye(4)
        )
        gap = largest_gap(groups, 0.95, rng=np.random.default_rng(1))
        assert gap is not None
        covered += gap.estimate.low <= true_gap <= gap.estimate.high
    assert covered / 200 == pytest.approx(0.95, abs=0.03)


def normal_estimate(value: float, level: float) -> Estimate:
    """An estimate with normal limits and a standard error of 1."""
    z = normal_quantile(level)
    return Estimate(value, value - z, value + z, level, 100, "")


def test_two_groups_have_the_limits_of_their_pair() -> None:
    """The shares 48/70 and 28/80 are clearly apart. With only two groups, the largest gap is the
    difference of the higher and the lower one, with the same interval.
    """
    higher, lower = 0, 1
    shares = GroupShares(hits=np.array([48.0, 28.0]), rows=np.array([70.0, 80.0]))
    gap = largest_gap(shares, 0.95, rng=np.random.default_rng(1))
    differences = shares.differences(0.95)  # low[i, j] and high[i, j] are of group i - group j
    assert gap is not None
    assert gap.estimate.low == pytest.approx(differences.low[higher, lower])
    assert gap.estimate.high == pytest.approx(differences.high[higher, lower])


def test_the_limits_of_a_group_beside_itself_do_not_count() -> None:
    """Both groups have a share of a half, so that either may be the higher one: the upper limit of
    the gap is that of the difference of the two groups. The smaller group minus itself would have
    wider limits; it is no pair of groups and must not be taken.
    """
    smaller, larger = 0, 1
    shares = GroupShares(hits=np.array([500.0, 505.0]), rows=np.array([1000.0, 1010.0]))
    gap = largest_gap(shares, 0.95, rng=np.random.default_rng(1))
    high = shares.differences(0.95).high  # high[i, j] is of group i - group j
    assert gap is not None
    expected = max(high[smaller, larger], high[larger, smaller])
    assert gap.estimate.high == pytest.approx(expected)
    assert gap.estimate.high < high[smaller, smaller]


def test_gaps_to_a_reference_hold_together() -> None:
    """Of three groups, two are compared with the first: each comparison has a higher level, and so
    wider limits than one alone.
    """
    shares = GroupShares(np.array([10.0, 20.0, 30.0]), np.full(3, 50.0))
    alone = shares.differences(0.95)
    together = shares.differences(level_of_each(0.95, 2))
    assert (together.low[1:, 0] < alone.low[1:, 0]).all()


@pytest.mark.parametrize(
    ("compared", "quantile"), [(1, 1.96), (2, 2.21), (3, 2.35), (4, 2.44), (5, 2.51), (9, 2.69)]
)
def test_the_level_of_comparisons_with_a_reference_is_that_of_dunnett(
    compared: int, quantile: float
) -> None:
    """Dunnett's table (1964) of two-sided limits at 95 % with infinite degrees of freedom, for
    groups with the same standard error.
    """
    level = level_of_comparison(np.ones(1 + compared), reference=0, level=0.95)
    assert normal_quantile(level) == pytest.approx(quantile, abs=0.006)


def test_comparisons_with_an_exact_reference_are_independent() -> None:
    """A reference without an error of its own adds none to the differences, so that the level of
    each is Šidák's.
    """
    level = level_of_comparison(np.array([1e-6, 1, 2, 3]), reference=0, level=0.95)
    assert level == pytest.approx(level_of_each(0.95, 3), abs=1e-6)


def test_comparisons_of_exact_groups_are_one() -> None:
    """Groups without an error of their own all have the difference of the reference, with the
    opposite sign: one interval holds if all hold.
    """
    level = level_of_comparison(np.array([1, 0.01, 0.01, 0.01]), reference=0, level=0.95)
    assert level == pytest.approx(0.95, abs=1e-3)


def test_equal_shares_have_the_error_of_their_common_share() -> None:
    """Of 10 and 20 rows 3 and 15 are hits: the common share is 18/30."""
    shares = GroupShares(hits=np.array([3.0, 15.0]), rows=np.array([10.0, 20.0]))
    common_variance = 18 / 30 * 12 / 30
    expected = np.sqrt(common_variance / np.array([10, 20]))
    assert shares.errors_if_equal == pytest.approx(expected)


@pytest.mark.parametrize("positives", [9, 10])
def test_gaps_of_brier_scores_have_an_allowance_for_few_cases_alone(positives: int) -> None:
    """Each of two groups has so many positive rows of 30. With ten or more the limits of the gap
    are Welch's but for the skewness, which nearly cancels; with nine they are combined from those
    of the two Brier scores, which are wider.
    """
    random = np.random.default_rng(4)
    label = np.tile(np.arange(30) < positives, 2).astype(int)
    score = np.clip(0.2 + 0.5 * label + random.uniform(-0.2, 0.3, 60), 0, 1)
    frame = pd.DataFrame({"y_true": label, "y_score": score, "g": np.repeat(["a", "b"], 30)})
    study = ek.classification(frame, metrics="brier", groups="g", reference="g=a")
    gaps = study.gaps("g").query("metric == 'brier'").set_index("group")
    losses = ((frame["y_score"] - frame["y_true"]) ** 2).groupby(frame["g"])
    in_a, in_b = (values.to_numpy() for _, values in losses)
    welch = ttest_ind(in_b, in_a, equal_var=False).confidence_interval(0.95)
    width = gaps.loc["b", "gap_high"] - gaps.loc["b", "gap_low"]
    ratio_of_widths = width / (welch.high - welch.low)
    if positives < 10:
        assert ratio_of_widths > 1.1
    else:
        assert ratio_of_widths == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("score_of_label", [(0.0, 1.0), (0.5, 0.5), (0.2, 0.8)])
def test_equal_losses_do_not_show_that_groups_are_equal(
    score_of_label: tuple[float, float],
) -> None:
    """All losses of the two groups are equal, as each class has one score and both are as far off.
    The gap of the Brier scores is 0, and its limits leave room for losses that did not occur.
    """
    label = np.tile([0, 1], 40)
    score = np.array(score_of_label)[label]
    frame = pd.DataFrame({"y_true": label, "y_score": score, "g": np.repeat(["a", "b"], 40)})
    study = ek.classification(frame, metrics="brier", groups="g", reference="g=a")
    gap = study.gaps("g").query("metric == 'brier'").set_index("group").loc["b"]
    assert gap["gap"] == 0
    assert gap["gap_low"] < -0.01
    assert gap["gap_high"] > 0.01


def test_the_ratio_to_a_share_of_nothing_is_undefined() -> None:
    """The reference has no positive rows, and so no recall."""
    ratio_of_shares = ratio_score(40, 50, 0, 0)
    assert np.isnan([ratio_of_shares.value, ratio_of_shares.low, ratio_of_shares.high]).all()


def test_the_difference_of_skewed_means_is_corrected_like_one_mean() -> None:
    """A mean over 40 rows less a known value has the limits of `hall` around the difference."""
    mean = MeanOfGroup(value=1.0, error=0.1, skewness=2.0, n=40)
    known = MeanOfGroup(value=0.7, error=0.0, skewness=0.0, n=40)
    difference = difference_of_means(mean, known, level=0.95)
    alone = hall(0.3, 0.1, 2.0, n=40, level=0.95)
    assert difference.low == pytest.approx(alone.low)
    assert difference.high == pytest.approx(alone.high)


def test_the_skewness_of_equal_groups_cancels() -> None:
    """Two groups with the same error, skewness and rows have Welch's symmetric limits."""
    group = MeanOfGroup(value=1.0, error=0.1, skewness=2.0, n=40)
    difference = difference_of_means(group, group, level=0.95)
    assert difference.high == pytest.approx(t_quantile(0.95, 78) * np.hypot(0.1, 0.1))
    assert difference.low == pytest.approx(-difference.high)


def test_the_interval_of_the_largest_gap_of_equal_groups_begins_at_0() -> None:
    """Each of four groups has 15 hits in 30 rows. The difference of one pair has a standard error
    of √(2 · 0.25 / 30) = 0.13 and so an upper limit of 0.25; that of the gap cannot be far below.
    """
    equal = GroupShares(hits=np.full(4, 15.0), rows=np.full(4, 30.0))
    gap = largest_gap(equal, 0.95, rng=np.random.default_rng(1))
    assert gap is not None
    assert gap.estimate.value == gap.estimate.low == 0
    assert gap.estimate.high > 0.2


def test_the_largest_gap_is_undefined_with_one_defined_group() -> None:
    shares = GroupShares(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    assert largest_gap(shares, 0.95, rng=np.random.default_rng(1)) is None


def test_an_unknown_limit_of_a_group_leaves_the_largest_gap_without_one() -> None:
    """`GroupEstimates` takes a function that estimates a group, and the correlation of the errors
    of groups. Two of three groups have a mean of three values with the limits of a t interval. The
    third has the highest value, 9, and unknown limits, so that nothing bounds how large the gap may
    be.
    """
    without_limits = Estimate(9.0, np.nan, np.nan, 0.95, 1, "")
    by_group = [mean_t([1.0, 2.0, 3.0]), mean_t([2.0, 2.0, 4.0]), without_limits]
    uncorrelated = np.eye(3)
    groups = GroupEstimates(lambda group, level: by_group[group], uncorrelated)
    gap = largest_gap(groups, 0.95, rng=np.random.default_rng(1))
    assert gap is not None
    assert np.isnan(gap.estimate.high)


def test_the_ratio_of_estimates_is_fiellers_for_normal_limits() -> None:
    """The values of two groups with uncorrelated errors are 4 and 2, each with limits at ± 0.5.
    Fieller's limits r of the ratio 4 / 2 are the two solutions of (4 − 2 r)² = 0.5² (1 + r²), one
    on either side of 2.
    """

    def estimate(group: int, level: float) -> Estimate:
        value = [4.0, 2.0][group]
        return Estimate(value, low=value - 0.5, high=value + 0.5, level=level, n=50, method="")

    first, second = 0, 1
    uncorrelated = np.eye(2)
    ratio = GroupEstimates(estimate, uncorrelated).ratio(first, second, 0.95)
    assert ratio.low < 2 < ratio.high
    for limit in (ratio.low, ratio.high):
        assert (4 - 2 * limit) ** 2 == pytest.approx(0.5**2 * (1 + limit**2))


def test_units_in_several_groups_make_their_errors_correlated() -> None:
    """A user has a row by phone and one by desk; they are both right or both wrong. So both devices
    have the same accuracy in every sample of users, and the interval of the gap has no width. With
    independent errors of the devices it would be about 0.2 wide.
    """
    user = np.repeat(np.arange(200), 2)
    label = user % 2
    is_right_user = np.random.default_rng(1).integers(0, 2, 200) == 1
    is_right = is_right_user[user]
    frame = pd.DataFrame({"user": user, "device": np.tile(["phone", "desk"], 200)})
    frame = frame.assign(y_true=label, y_score=np.where(is_right, label, 1 - label).astype(float))
    shared = ek.classification(frame, groups="device", unit="user", metrics="accuracy")
    row = row_of(shared.gaps("device"), "accuracy", "phone")
    assert row["gap_high"] - row["gap_low"] < 0.01


def test_base_rates_that_differ_are_said() -> None:
    every_finding = classification_page.every_finding(credit_study())
    (finding,) = [finding for finding in every_finding if finding.kind.code == "EK228"]
    assert finding.message.startswith("The base rate of age_band is 42% i")


@pytest.mark.parametrize(
    "options, verdict", [({}, "equivalent"), ({"gap_margin": 0.001}, "cannot tell")]
)
def test_a_gap_of_equal_groups_is_equivalent_within_a_wide_margin(options, verdict) -> None:
    """Half of the 4,000 rows of either group are positive: the base rates differ by 0 ± 0.02, which
    is within the margin of 0.05 by default and not within one of 0.001.
    """
    frame = table_of_400_rows(group=np.tile(["a", "a", "b", "b"], 100))
    many = pd.concat([frame] * 20, ignore_index=True)
    study = ek.classification(many, groups="group", metrics="roc_auc", **options)
    assert row_of(study.gaps("group"), "base_rate", "b")["verdict"] == verdict


# Odd groups


def test_a_group_of_one_row_stays_and_is_named() -> None:
    study = ek.classification(table_of_400_rows(group=["only", *["rest"] * 399]), groups="group")
    assert set(study.gaps("group")["group"]) == {"only", "rest"}
    (finding,) = [f for f in classification_page.every_finding(study) if f.kind.code == "EK227"]
    assert "only (" in finding.message


def test_a_group_with_one_class_has_no_recall_and_no_gap() -> None:
    """Rows at even places have the label 0. The group takes every eighth row, and so has no
    positive row.
    """
    labels_of_two_rows = [0, 1]
    frame = pd.DataFrame({"y_true": labels_of_two_rows * 200, "y_score": np.linspace(0, 1, 400)})
    frame["group"] = np.where(np.arange(400) % 8 == 0, "negative", "rest")
    gaps = ek.classification(frame, groups="group").gaps("group")
    row = row_of(gaps, "recall", "negative")
    assert np.isnan(row["value"])
    assert np.isnan(row["gap"])
    assert row["cases"] == 0
    assert row["verdict"] == "cannot tell"


def test_an_empty_value_is_a_group() -> None:
    """A text of length 0 and a missing value both count as empty: "(none)"."""
    assert "(none)" in set(gaps_of(["", None, "x", "y"] * 100)["group"])


def test_numbers_are_grouped_by_quartile() -> None:
    assert gaps_of(np.arange(400))["group"].nunique() == 4


def test_many_texts_keep_the_rest_in_one_group() -> None:
    """Of 200 texts, each in two rows, 11 have a group of their own."""
    groups = set(gaps_of([f"g{i % 200}" for i in range(400)])["group"])
    assert "(189 other values)" in groups


def test_a_single_group_has_no_gap() -> None:
    study = ek.classification(table_of_400_rows(group="all"), groups="group")
    assert set(study.largest_gaps("group")["verdict"]) == {"cannot tell"}
    assert "no metric is shown to differ" in classification_page.group_gaps(study).text


def test_names_are_escaped_on_the_page() -> None:
    """A column has a name with a tag, and two groups: the name of one has a tag, that of the other
    a control character. In the HTML of the table of gaps neither may stand as it is.
    """
    names_of_groups = ["x <i>", "y\x1b[31m"]
    table = table_of_400_rows(**{"a <b> c": names_of_groups * 200})
    study = ek.classification(table, groups="a <b> c")
    html = classification_page.group_gaps(study).html
    assert "<i>" not in html
    assert "\x1b" not in html  # HTML allows no control characters


def test_a_reference_that_is_not_there_is_refused() -> None:
    with pytest.raises(ek.ParameterError, match="has no group 'mael'"):
        ek.classification(credit(), groups="sex", reference={"sex": "mael"}).gaps("sex")


def test_a_reference_of_another_column_is_refused() -> None:
    with pytest.raises(ek.ParameterError, match="reference: 'housing' is not among groups"):
        ek.classification(credit(), groups="sex", reference={"housing": "own"})


def test_a_slice_without_the_reference_takes_its_largest_group() -> None:
    frame = table_of_400_rows(group=np.tile(["a", "b", "b", "a"], 100))
    study = ek.classification(frame, groups="group", segments="group", reference={"group": "a"})
    assert set(study.segment("group=b").gaps("group")["reference"]) == {"b"}


def test_a_column_that_was_not_read_is_refused() -> None:
    with pytest.raises(ek.ParameterError, match="there are no groups 'housing'"):
        credit_study().gaps("housing")


def test_the_label_can_be_a_group() -> None:
    frame = table_of_400_rows().assign(actual=lambda f: f["y_true"])
    rows = ek.classification(frame, groups="actual", columns={"label": "y_true"}).gaps("actual")
    assert row_of(rows, "base_rate", "1")["value"] == 1


def test_a_segment_is_a_group_too() -> None:
    study = ek.classification(credit(), segments="housing", metrics="roc_auc")
    assert study.gaps("housing")["group"].nunique() == 3


def test_groups_in_arrays() -> None:
    frame = table_of_400_rows(group=np.tile(["a", "a", "b", "b"], 100))
    groups: Any = {"group": frame["group"]}
    study = ek.classification(y_true=frame["y_true"], y_score=frame["y_score"], groups=groups)
    of_table = ek.classification(frame, groups="group")
    assert study.gaps("group")["gap"].equals(of_table.gaps("group")["gap"])


def test_forecasts_have_gaps_of_their_segments() -> None:
    """Errors are 1 in shop x, and 2 or 4 in shop y: a gap of 2."""
    actual = np.arange(40.0)
    frame = pd.DataFrame({"actual": actual, "shop": np.tile(["x", "y"], 20)})
    frame["forecast"] = actual + np.tile([1, 2, 1, 4], 10)
    rows = ek.rating(frame, segments="shop", metrics="mae").gaps("shop")
    assert row_of(rows, "mae", "y")["gap"] == pytest.approx(2.0)


def test_a_table_that_is_read_by_blocks_is_refused() -> None:
    """Up to 100 rows are held in memory, and larger tables are read in blocks; this one has 400.
    Gaps between groups need all rows at once.
    """
    p = ClassificationParameters.from_raw(
        {"preds": table_of_400_rows(group="a"), "groups": "group"}
    )
    limits = Limits(reading=ReadingLimits(rows=100, shard=100, largest=100))
    with pytest.raises(ek.ParameterError, match="groups: need all rows in memory, at most 100"):
        classification.study_of(p, limits)


# Rules


@pytest.mark.parametrize(
    ("rule", "failed"),
    [
        ("gap recall.high <= 0.3 between sex", []),
        ("gap recall.high <= 0.2 between sex of forest", ["forest"]),
        ("gap recall.value <= 0.1 between sex", ["forest"]),
    ],
)
def test_a_rule_bounds_the_largest_gap(rule: str, failed: list[str]) -> None:
    study = ek.classification(credit(), groups="sex,age_band", metrics="roc_auc", gate=rule)
    assert study.gate.failed == failed


def test_a_rule_shares_its_level_with_the_others(tmp_path: Path) -> None:
    """A policy file has two rules, which are checked at a joint level of 95 %, so that each has a
    level above 95 %. The limit that decides about the rule of the gap (rule_high) therefore lies
    farther out than that of the 95 % interval of the gap (high).
    """
    rules = tmp_path / "rules.toml"
    text = '[[rule]]\nthat = "gap recall.high <= 0.3 between sex of forest"\n'
    rules.write_text(text + '[[rule]]\nthat = "roc_auc.low >= 0.5 of forest"\n')
    study = ek.classification(credit(), groups="sex", metrics="roc_auc", gate=str(rules))
    (rule_of_the_gap,) = study.gate.statements.query("segment == 'sex'").to_dict("records")
    assert rule_of_the_gap["rule_high"] > rule_of_the_gap["high"]


def test_a_rule_about_groups_that_are_not_there_is_refused() -> None:
    with pytest.raises(ek.ParameterError, match="there are no groups 'housing'"):
        ek.classification(credit(), groups="sex", gate="gap recall.high <= 0.1 between housing")


@pytest.mark.usefixtures("undrawn")
def test_a_rule_about_gaps_of_a_stored_report_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command "report" stores the results of a study in credit.json, with metrics but without
    the 400 rows. A rule about the gap between sexes needs the rows, so that the command "check"
    with such a rule ends with status 2 and names the column.
    """
    table_of_400_rows(sex=np.tile(["a", "a", "b", "b"], 100)).to_csv(
        tmp_path / "rows.csv", index=False
    )
    asked = ["-p", "preds", str(tmp_path / "rows.csv"), "-p", "groups", "sex", "--name", "credit"]
    assert command.main(["report", "classification", "-o", str(tmp_path), *asked]) == 0
    rule = "gap recall.high <= 0.1 between sex"
    assert command.main(["check", str(tmp_path / "credit.json"), rule]) == 2
    assert "groups of 'sex' cannot be computed from a stored" in capsys.readouterr().err


# Refusals


@pytest.mark.parametrize("parameters", [{}, {"segments": "group"}])
def test_an_unknown_column_of_groups_is_refused_as_one_of_groups(parameters: Any) -> None:
    with pytest.raises(ek.ParameterError, match="groups: data frame has no column 'grop'"):
        ek.classification(table_of_400_rows(group="a"), groups="grop", **parameters)


def test_scores_as_groups_are_refused_as_groups() -> None:
    with pytest.raises(ek.ParameterError, match="groups: 'y_score' is the score of data frame"):
        ek.classification(table_of_400_rows(), groups="y_score")


def test_a_margin_in_points_is_refused() -> None:
    with pytest.raises(ek.ParameterError, match="gap_margin must be a number between 0 and 1"):
        ek.classification(table_of_400_rows(group="a"), groups="group", gap_margin=5)


# What tables say


def test_of_equal_groups_none_stands_above_another() -> None:
    """Labels 0 and 1 alternate, so that in both groups half of the rows are positive and the gap of
    the base rate is 0. A row of the table names the groups of a gap as "b above a"; without a gap
    it must not name a group above itself.
    """
    study = ek.classification(
        table_of_400_rows(group=np.tile(["a", "a", "b", "b"], 100)), groups="group"
    )
    base_rate = study.largest_gaps("group").set_index("metric").loc["base_rate"]
    assert base_rate["gap"] == 0
    assert "a above a" not in classification_page.group_gaps(study).text


def test_decisions_are_neither_calibrated_nor_ranked_in_groups() -> None:
    """Decisions 0 and 1 (y_pred) without scores have a recall in each group, but no probabilities
    that could be calibrated and no order whose ROC AUC could be computed.
    """
    frame = table_of_400_rows()
    decided = (frame["y_score"] > 0.5).astype(int)
    groups: Any = {"group": np.tile(["a", "a", "b", "b"], 100)}
    study = ek.classification(y_true=frame["y_true"], y_pred=decided, groups=groups)
    metrics = set(study.gaps("group")["metric"])
    assert "recall" in metrics
    assert not metrics & {"calibration_in_the_large", "roc_auc"}


@pytest.mark.parametrize("seed", range(4))
def test_groups_that_share_a_single_unit_are_not_shown_to_differ(seed: int) -> None:
    """All 400 rows are of one user, who is one unit. One unit shows no spread from which a standard
    error could be estimated. The KS statistic lies between 0 and 1, and its gap between the groups
    a and b within ± 1: nothing is known of the gap, so that its limits must stay beyond ± 0.5. Four
    seeds vary the noise of the scores.
    """
    frame = table_of_400_rows(user=1, group=np.tile(["a", "b", "b", "a"], 100))
    noise = np.random.default_rng(seed).uniform(0, 0.7, 400)
    study = ek.classification(
        frame.assign(y_score=0.3 * frame["y_true"] + noise),
        groups="group",
        unit="user",
        metrics="ks",
    )
    row = row_of(study.gaps("group"), "ks", "b")
    assert row["gap_low"] < -0.5
    assert row["gap_high"] > 0.5


# Areas under the ROC curve of small groups --------------------------------------------------------


def groups_of_areas(areas: list[float], rows_of_a_class: int, slope: float = 1.0) -> GroupAreas:
    """Groups with these areas under the ROC curve and as many positive as negative rows."""
    classes = [rows_of_a_class] * len(areas)

    def estimate(group: int, level: float) -> Estimate:
        """The area of a group with Newcombe's interval."""
        return auc_newcombe(areas[group], rows_of_a_class, rows_of_a_class, level=level)

    no_correlation = np.eye(len(areas))
    return GroupAreas(estimate, no_correlation, areas, classes, classes, slope)


def test_areas_of_an_area_scale_have_a_standard_error_of_one():
    scale = AreaScale(positives=20, negatives=30)
    step = 1e-4
    slope = (scale.from_area(0.8 + step) - scale.from_area(0.8 - step)) / (2 * step)
    variance = 0.8 * 0.2 * hanley_mcneil_factor(0.8, 20, 30)
    assert slope * np.sqrt(variance) == pytest.approx(1, rel=1e-3)  # of the steps of the integral


def test_limits_of_small_groups_are_narrower_than_by_mover():
    """Two groups with areas under the ROC curve of 0.98 and 0.8 have 15 rows of each class. MOVER,
    the general method for a difference of two estimates, gives wider limits than that for areas.
    """
    groups = groups_of_areas([0.98, 0.8], rows_of_a_class=15)
    by_mover = GroupEstimates.differences(groups, 0.95)
    limits = groups.differences(0.95)
    assert by_mover.low[0, 1] < limits.low[0, 1] < limits.high[0, 1] < by_mover.high[0, 1]


def test_groups_with_fifty_rows_of_each_class_have_limits_by_mover():
    groups = groups_of_areas([0.98, 0.8], rows_of_a_class=50)
    np.testing.assert_array_equal(
        groups.differences(0.95).low, GroupEstimates.differences(groups, 0.95).low
    )


def test_limits_of_two_groups_change_sign_with_their_order():
    limits = groups_of_areas([0.9, 0.7], rows_of_a_class=12).differences(0.9)
    assert limits.high[0, 1] == pytest.approx(-limits.low[1, 0], abs=1e-12)


def test_a_group_of_one_class_has_no_limits():
    groups = groups_of_areas([0.9, np.nan], rows_of_a_class=12)
    groups.negatives[1] = 0
    assert np.isnan(groups.differences(0.95).low[0, 1])


def test_gaps_of_gini_are_twice_those_of_the_area():
    group = np.tile(np.repeat(["a", "b", "c", "d", "e"], 2), 40)  # 80 rows each, 40 of a class
    limits = gaps_of(group, metrics="roc_auc,gini").set_index("metric")[["gap_low", "gap_high"]]
    np.testing.assert_allclose(limits.loc["gini"], 2 * limits.loc["roc_auc"], rtol=1e-12)


# Labels of groups ---------------------------------------------------------------------------------


def test_quartiles_of_measured_numbers_have_short_bounds():
    income = np.round(np.random.default_rng(0).lognormal(7, 0.5, 400), 6)
    labels = [part.label for part in slices("income", income.astype(str))]
    assert max(map(len, labels)) <= len("(1000.22, 1000.55]")


def test_short_bounds_are_true_of_the_numbers_of_their_quartile():
    income = np.random.default_rng(0).normal(0, 1, 300)
    for part in slices("income", income.astype(str)):
        low, high = map(float, part.label[1:-1].split(","))
        assert low <= income[part.member].min()
        assert income[part.member].max() <= high


def test_the_reference_is_no_group_of_rare_values():
    towns = np.concatenate([np.repeat("Basel", 20), [f"town {i}" for i in range(380)]])
    assert set(gaps_of(towns, metrics="roc_auc")["reference"]) == {"Basel"}


def test_an_empty_cell_leaves_the_quartiles_of_a_column_and_has_a_group_of_its_own():
    ages = np.random.default_rng(0).normal(50, 10, 200).astype(str)
    ages[3] = "(none)"
    labels = [part.label for part in slices("age", ages)]
    assert labels[-1] == "(none)"
    assert len(labels) == 5  # four quartiles


def test_ids_beyond_15_digits_have_quartiles_of_different_labels():
    ids = 10**15 + np.arange(200)
    labels = [part.label for part in slices("id", ids.astype(str))]
    assert len(set(labels)) == 4


def test_numbers_up_to_the_largest_double_have_quartiles():
    numbers = np.linspace(-1, 1, 200) * 1.7e308
    assert len(slices("x", numbers.astype(str))) == 4


def test_months_with_an_underscore_are_texts():
    months = [f"2020_{month:02}" for month in range(1, 14)]
    assert slices("month", months * 5)[0].label == "2020_01"


def test_a_gap_of_a_hundred_errors_has_a_lower_limit_near_by():
    groups = GroupShares(hits=np.array([0.0, 20_000, 0]), rows=np.array([20_000.0, 20_000, 30]))
    gap = largest_gap(groups, 0.95, rng=np.random.default_rng(1))
    two = GroupShares(hits=np.array([0.0, 20_000]), rows=np.array([20_000.0, 20_000]))
    alone = largest_gap(two, 0.95, rng=np.random.default_rng(1))
    assert gap.estimate.low == pytest.approx(alone.estimate.low, abs=3e-4)


def test_a_gap_of_more_errors_than_doubles_can_tell_has_limits():
    groups = GroupShares(hits=np.array([0.0, 400_000, 5]), rows=np.array([4e5, 4e5, 30.0]))
    gap = largest_gap(groups, 0.95, rng=np.random.default_rng(1))
    assert 0.999 < gap.estimate.low < 1

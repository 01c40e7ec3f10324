"""Weak slices: sums by hand, invariants, clusters, refusals, a planted slice, pages and rules."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.limits import Limits, ReadingLimits
from evalkit.pages import as_json, classification_page
from evalkit.parameters.reports import ClassificationParameters, RatingParameters
from evalkit.statistics import weak_slices
from evalkit.statistics.weak_slices import Attribute, Condition, FoundSlice, Response
from evalkit.studies import classification, rating, weak_slices as searches

ROOT = Path(__file__).parents[1]


def response_of(values: Any, unit: Any = None, *, two_sided: bool = False) -> Response:
    """The unweighted values of a metric per row, whose mean is compared between slices."""
    column = np.asarray(values, float)
    return Response.from_values(column, np.ones(len(column)), unit, two_sided=two_sided)


def attribute_with_labels(code: Any, labels: int) -> Attribute:
    """A column to slice by: its labels are 0, 1, …, and `code` has the label of each row."""
    return Attribute("a", [str(i) for i in range(labels)], np.asarray(code))


def search_at_5_percent(
    responses: list[Response], attributes: list[Attribute], **options: Any
) -> Any:
    """The search for slices, conditions on one or two attributes, whose mean differs at 5 %."""
    rng = np.random.default_rng(1)
    return weak_slices.search(responses, attributes, level=0.95, rng=rng, **options)


def planted_rows(n: int = 6000) -> pd.DataFrame:
    """Decisions that are wrong for 20 % of the rows, and for 45 % of shop b in the north."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "shop": rng.choice([*"abcd"], n),
            "region": rng.choice(["north", "south", "west"], n),
            "size": rng.normal(0, 1, n).round(4),
            "day": rng.integers(1, 6, n),
            "y_true": rng.integers(0, 2, n),
        }
    )
    planted = (frame["shop"] == "b") & (frame["region"] == "north")
    for name, effect in (("old", 0.0), ("new", 0.25)):
        wrong = rng.random(n) < 0.2 + effect * planted
        frame[f"score_{name}"] = np.where(wrong, 1 - frame["y_true"], frame["y_true"])
    return frame


# slice -> rows and mean squared error of the logistic model: the first four of sliceline 0.3.0 with
# alpha 0.95 and at least 50 rows, over sex, age_band, housing, foreign_worker and amount
SLICELINE = {
    "amount=high": (334, 0.199487265714),
    "age_band=<=25 and foreign_worker=yes": (187, 0.220032599669),
    "foreign_worker=yes and amount=high": (327, 0.199162432487),
    "age_band=<=25": (190, 0.218220918837),
}


def loans() -> pd.DataFrame:
    """The loans with sex, the amount in thirds and the squared error of the logistic model."""
    frame = pd.read_csv(ROOT / "data/german_credit/predictions.csv")
    frame = frame[frame["model"] == "logistic"].reset_index(drop=True)
    amount = pd.cut(
        frame["credit_amount"], [0, 1554, 3368, np.inf], right=False, labels=["low", "mid", "high"]
    )
    sex = frame["personal_status_and_sex"].str.split(" :").str[0]
    loss = (frame["y_score"] - frame["y_true"]) ** 2
    return frame.assign(sex=sex, amount=amount.astype(str), loss=loss)


def test_the_weak_slices_of_the_loans_are_those_that_sliceline_ranks_first() -> None:
    """Three slices of the loans are significantly weak. Each is among the four that the public
    package sliceline ranks first, whose rows and mean losses are in SLICELINE, and has the same
    rows and mean loss.
    """
    frame = loans()
    attributes = []
    for name in ("sex", "age_band", "housing", "foreign_worker", "amount"):
        code, labels = pd.factorize(frame[name], sort=True)
        attributes.append(Attribute(name, labels.tolist(), code))
    search = search_at_5_percent([response_of(frame["loss"])], attributes, min_rows=50)
    assert len(search.finds) == 3
    for find in search.finds:
        conditions = []
        for condition in find.conditions:
            attribute = attributes[condition.attribute]
            conditions.append(f"{attribute.name}={attribute.labels[condition.label]}")
        rows, mean_loss = SLICELINE[" and ".join(conditions)]
        in_slice = weak_slices.member(attributes, find.conditions)
        assert in_slice.sum() == rows
        assert frame["loss"][in_slice].mean() == pytest.approx(mean_loss, abs=1e-12)


@cache
def planted_study() -> Any:
    """The study of the planted rows."""
    return ek.classification(planted_rows(), metrics="accuracy", slices="auto", baseline="old")


def test_sums_of_a_slice_by_hand() -> None:
    """The values are ±0.5 around their mean. Cell 1, the slice, has three above it and one below,
    so that its total is +1; cell 0 has −1. Each of 8 rows adds (0.5 · 0.5)² to the variance of a
    total, its distance times the share of the other cell: 0.5 in all.
    """
    response = response_of([1, 0, 0, 1, 0, 1, 0, 1])
    sums = response.sums_by_cell(np.array([1, 1, 0, 0, 0, 1, 0, 1]), 2)
    assert sums.total.tolist() == pytest.approx([-1, 1])
    assert sums.share.tolist() == [0.5, 0.5]
    assert sums.deviation.tolist() == pytest.approx([np.sqrt(0.5)] * 2)
    assert sums.standardised.tolist() == pytest.approx([-np.sqrt(2), np.sqrt(2)])


def test_a_slice_without_errors_has_the_variance_of_all_rows() -> None:
    """Cell 1, the slice, has 40 of 100 rows and no error; all ten errors are in cell 0. The
    variance of all rows is 0.1 · 0.9 = 0.09; squares of the rows' own distances from the mean of
    0.1 would give the slice a smaller one, as its rows are all alike.
    """
    is_error = np.arange(100) < 10
    in_slice = np.arange(100) >= 60
    sums = response_of(is_error).sums_by_cell(in_slice.astype(int), 2)
    variance = 0.09 * 100 * 0.4 * 0.6  # σ² · rows · share of the slice · share of the other
    by_own_squares = 40 * 0.1**2 * 0.6**2 + (10 * 0.9**2 + 50 * 0.1**2) * 0.4**2
    assert by_own_squares < variance
    assert sums.deviation[1] == pytest.approx(np.sqrt(variance))


def test_sums_of_clusters_by_hand() -> None:
    """The four units add up to 4, −4, 2 and −2, and the first and the third are in the slice: 6 in
    all. Half of the rows are in the slice, so that each unit adds the square of half its sum, (4 /
    2)² or (2 / 2)², to the variance under random signs of the units. The deviation is at least its
    root, and larger where a model of the rows within units says so.
    """
    unit = np.repeat(np.arange(4), 2)
    response = response_of([3, 1, -1, -3, 2, 0, 0, -2], unit)
    sums = response.sums_by_cell(np.repeat([1, 0, 1, 0], 2), 2)
    assert sums.total[1] == 6
    assert sums.deviation[1] >= np.sqrt(4 + 4 + 1 + 1)


def test_repeating_each_row_within_its_unit_changes_no_evidence() -> None:
    """Each of 200 units, in one of three slices, has one row, and then three equal rows, which tell
    no more than one. The standardised total of each slice is the same.
    """
    rng = np.random.default_rng(2)
    value = rng.normal(0, 1, 200)
    slice_number = rng.integers(0, 3, 200)
    once = response_of(value).sums_by_cell(slice_number, 3)
    unit = np.repeat(np.arange(200), 3)
    thrice = response_of(value[unit], unit).sums_by_cell(slice_number[unit], 3)
    assert thrice.standardised == pytest.approx(once.standardised)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_metric_changes_no_find(scale: float) -> None:
    """Values are higher in slice 2. Multiplied by a millionth or a million, they have the same
    find.
    """
    rng = np.random.default_rng(3)
    code = rng.integers(0, 4, 1000)
    values = scale * (rng.normal(0, 1, 1000) + 0.8 * (code == 2))
    finds = search_at_5_percent([response_of(values)], [attribute_with_labels(code, 4)]).finds
    assert [find.conditions for find in finds] == [(Condition(attribute=0, label=2),)]


def test_the_mean_of_all_rows_changes_no_find() -> None:
    """The search reports as finds the slices whose mean is significantly above that of all rows:
    those whose z-value exceeds a critical value. Here values are higher in slice 2. If 5 is added
    to each value, the mean of all rows rises by 5 as well, so that the critical value and the
    adjusted p of each find stay the same.
    """
    rng = np.random.default_rng(3)
    code = rng.integers(0, 4, 1000)
    values = rng.normal(0, 1, 1000) + 0.8 * (code == 2)
    first = search_at_5_percent([response_of(values)], [attribute_with_labels(code, 4)])
    second = search_at_5_percent([response_of(values + 5)], [attribute_with_labels(code, 4)])
    assert first.critical_evidence == pytest.approx(second.critical_evidence)
    p_of_second = [find.adjusted_p for find in second.finds]
    assert [find.adjusted_p for find in first.finds] == pytest.approx(p_of_second)


@pytest.mark.parametrize(
    "min_rows, candidates", [(30.25, []), (20, [(Condition(0, 0),), (Condition(0, 1),)])]
)
def test_candidates_are_large_enough_and_so_is_the_rest(min_rows, candidates) -> None:
    """Labels 0, 1 and 2 have 3,000, 20 and 5 rows. If a slice and the rest need 20 rows each,
    labels 0 (the rest has 25) and 1 are candidates; if they need 30.25, 1 % of the rows, none is.
    """
    code = np.repeat([0, 1, 2], [3000, 20, 5])
    (table,) = weak_slices.cross_tables(
        [attribute_with_labels(code, 3)], np.arange(3025), 2, min_rows
    )
    assert table.conditions == candidates


def test_a_slice_of_few_units_is_no_candidate() -> None:
    """The 500 rows with label 0 are of ten units, those with label 1 of 500 units. A slice needs 20
    units, however many rows it has.
    """
    code = np.repeat([0, 1], [500, 500])
    unit = np.r_[np.arange(500) % 10, np.arange(10, 510)]
    (table,) = weak_slices.cross_tables([attribute_with_labels(code, 2)], unit, 1, 10)
    assert table.conditions == [(Condition(attribute=0, label=1),)]


def test_flips_of_whole_units_do_not_take_clusters_for_rows() -> None:
    """A search compares the means of slices with those after random flips of signs: of single rows,
    or of whole units. 100 units have 10 rows each, which are alike; each unit lies in one of four
    slices, which do not differ. If the rows are taken for 1,000 independent ones, more than half of
    40 searches find a slice nevertheless. By unit each search does so with a probability of 5 %;
    that more than 6 of 40 do has a probability of 0.3 % (binomial).
    """
    rng = np.random.default_rng(5)
    searches_with_finds = {"rows": 0, "units": 0}
    for _ in range(40):
        unit = np.repeat(np.arange(100), 10)
        code = rng.integers(0, 4, 100)[unit]
        values = rng.normal(0, 1, 100)[unit] + rng.normal(0, 0.3, 1000)
        for name, number in (("rows", None), ("units", unit)):
            search = search_at_5_percent(
                [response_of(values, number)], [attribute_with_labels(code, 4)]
            )
            searches_with_finds[name] += bool(search.finds)
    assert searches_with_finds["rows"] > 20
    assert searches_with_finds["units"] <= 6


def test_a_search_of_several_responses_is_adjusted_for_all_of_them() -> None:
    """A response is the values of one system. Those of the first system do not depend on the slice,
    those of the second are higher in slice 1. A find, which is a slice that the search reports,
    needs more evidence (`critical`) if both are searched than if the second is searched alone.
    """
    rng = np.random.default_rng(6)
    code = rng.integers(0, 5, 2000)
    unaffected = response_of(rng.normal(0, 1, 2000))
    affected = response_of(rng.normal(0, 1, 2000) + 0.6 * (code == 1))
    attributes = [attribute_with_labels(code, 5)]
    search_of_one = search_at_5_percent([affected], attributes)
    search_of_both = search_at_5_percent([unaffected, affected], attributes)
    index_of_affected = 1  # in the list of both responses
    assert {find.response for find in search_of_both.finds} == {index_of_affected}
    assert (
        search_of_both.critical_evidence > search_of_one.critical_evidence
    )  # the evidence that a find needs


def test_finds_that_one_explains_are_merged_into_it() -> None:
    """A find is a slice that the search reports as its mean is significantly higher. Of three
    attributes, columns with the labels 0 to 2, only rows with label 1 of the first have higher
    values. The search also finds pairs of this condition with conditions on the other attributes;
    `merge` leaves one find, which counts the others as `merged`.
    """
    rng = np.random.default_rng(7)
    n = 8000
    attributes = [attribute_with_labels(rng.integers(0, 3, n), 3) for _ in range(3)]
    values = rng.normal(0, 1, n) + 0.5 * (attributes[0].code == 1)
    response = response_of(values)
    search = search_at_5_percent([response], attributes)
    assert len(search.finds) > 3
    (find,) = weak_slices.merge(search, [response], attributes)
    assert find.conditions == (Condition(attribute=0, label=1),)
    assert find.merged == len(search.finds) - 1


def test_two_effects_stay_two_finds() -> None:
    """A find is a slice that the search reports as its mean is significantly higher. Of three
    attributes, columns with the labels 0 to 3, values are higher for label 1 of the first and for
    label 3 of the third. `merge` drops finds that another one explains, such as combinations of
    these two conditions with others. It leaves both, as neither explains the other.
    """
    rng = np.random.default_rng(8)
    n = 8000
    attributes = [attribute_with_labels(rng.integers(0, 4, n), 4) for _ in range(3)]
    values = rng.normal(0, 1, n)
    values += 0.5 * (attributes[0].code == 1) + 0.5 * (attributes[2].code == 3)
    response = response_of(values)
    finds = weak_slices.merge(search_at_5_percent([response], attributes), [response], attributes)
    label_1_of_the_first = Condition(attribute=0, label=1)
    label_3_of_the_third = Condition(attribute=2, label=3)
    assert {find.conditions for find in finds} == {(label_1_of_the_first,), (label_3_of_the_third,)}


TWO_CONDITIONS = (Condition(attribute=0, label=1), Condition(attribute=1, label=2))
THREE_CONDITIONS = (*TWO_CONDITIONS, Condition(attribute=3, label=0))
FIND_OF_TWO_CONDITIONS = FoundSlice(
    response=0, conditions=TWO_CONDITIONS, evidence=9.0, adjusted_p=0.001
)


def refined_find(weak_conditions: Any) -> FoundSlice:
    """The find of two conditions, after a third one was looked for in 20,000 rows with four
    attributes. The values are higher where the weak conditions are met.
    """
    rng = np.random.default_rng(9)
    attributes = [attribute_with_labels(rng.integers(0, 3, 20000), 3) for _ in range(4)]
    is_weak = weak_slices.member(attributes, weak_conditions)
    response = response_of(rng.normal(0, 1, 20000) + is_weak)
    find = FIND_OF_TWO_CONDITIONS
    return weak_slices.refine(find, response, attributes, level=0.95, rng=rng)


def test_a_third_condition_narrows_a_find_if_only_its_rows_are_weak() -> None:
    assert refined_find(weak_conditions=THREE_CONDITIONS).conditions == THREE_CONDITIONS


def test_no_third_condition_narrows_a_find_all_of_whose_rows_are_weak() -> None:
    assert refined_find(weak_conditions=TWO_CONDITIONS) == FIND_OF_TWO_CONDITIONS


def test_detectable_effects_are_found_with_a_power_of_80_percent() -> None:
    """The evidence for a slice is the z-value of its mean; a search finds the slice if that is
    above a critical value, here 4. `detectable` is the difference from the rest at which a slice,
    here of 200 of 4,000 rows, is found with a probability of 80 %. The share of finds in 300
    samples has a standard error of √(0.8 · 0.2 / 300) = 2.3 points; the tolerance of 8 points is
    3.5 of these.
    """
    rng = np.random.default_rng(10)
    in_slice = np.arange(4000) < 200
    without_effect = response_of(rng.normal(0, 1, 4000))
    effect = weak_slices.detectable(without_effect, critical=4.0, share=200 / 4000)
    samples = [response_of(rng.normal(0, 1, 4000) + effect * in_slice) for _ in range(300)]
    is_found = [sample.evidence_of(in_slice) > 4 for sample in samples]
    assert np.mean(is_found) == pytest.approx(0.8, abs=0.08)


def test_no_effect_on_twenty_rows_is_detectable() -> None:
    response = response_of(np.random.default_rng(10).normal(0, 1, 4000))
    assert np.isnan(weak_slices.detectable(response, 4.0, 20 / 4000))


def test_a_planted_slice_is_found_in_the_system_and_in_the_difference() -> None:
    """The study compares two systems on 6,000 rows with several columns, such as shop and region.
    The system new is wrong for 45 % of shop b in the north and for 20 % elsewhere; old is wrong for
    20 % everywhere. So the accuracy of new, and the difference of the accuracies new − old, are
    0.25 lower in this slice than in the rest, and each interval must cover −0.25. A slice of a
    system is "worse"; that of a difference between systems is only "lower".
    """
    slices = planted_study().weak_slices()
    assert slices[["slice", "system", "verdict"]].to_numpy().tolist() == [
        ["shop=b and region=north", "new", "worse"],
        ["shop=b and region=north", "new − old", "lower"],
    ]
    assert (slices["adjusted"] < 0.01).all()  # p, adjusted for all slices that were searched
    assert ((slices["low"] < -0.25) & (slices["high"] > -0.25)).all()


def test_effects_are_estimated_on_the_rows_that_were_not_searched() -> None:
    """A part of the rows (`finding`) is searched for slices, and the other rows are used to
    estimate how weak a slice is, as the searched rows would make it look weaker than it is. The
    planted rows have one weak slice, shop b in the north, in the system new.
    """
    was_searched = searches.of_study(planted_study()).is_for_finding
    rows = planted_rows()[~was_searched]
    is_right = rows["score_new"] == rows["y_true"]
    in_slice = (rows["shop"] == "b") & (rows["region"] == "north")
    slice_of_new = planted_study().weak_slices().set_index("system").loc["new"]
    assert slice_of_new["n"] == in_slice.sum()
    assert slice_of_new["value"] == pytest.approx(is_right[in_slice].mean())
    assert slice_of_new["rest"] == pytest.approx(is_right[~in_slice].mean())
    difference = slice_of_new["value"] - slice_of_new["rest"]
    assert slice_of_new["difference"] == pytest.approx(difference)


def test_whole_units_find_or_estimate() -> None:
    """Three of five units find slices."""
    frame = planted_rows(2000).assign(user=np.repeat(np.arange(400), 5))
    study = ek.classification(frame, metrics="accuracy", slices="shop", unit="user")
    finding = searches.of_study(study).is_for_finding.reshape(400, 5)
    assert (finding.all(axis=1) == finding.any(axis=1)).all()
    assert finding.mean() == pytest.approx(0.6)


def test_auto_takes_every_column_without_a_role() -> None:
    assert planted_study().settings.slices == ("shop", "region", "size", "day")


def test_named_columns_are_searched_alone() -> None:
    study = ek.classification(planted_rows(500), metrics="accuracy", slices="shop,day")
    assert study.settings.slices == ("shop", "day")


def test_auto_leaves_out_columns_on_which_systems_do_not_agree() -> None:
    """slices="auto" searches for weak slices in all columns that describe a row. Two models, a and
    b, score the same 200 rows. The shop of a row is the same for both, the seconds that they took
    are not and cannot describe the row: shop alone is searched. Scores are random, so that no shop
    is a weak slice.
    """
    rng = np.random.default_rng(1)
    shared = pd.DataFrame({"id": range(200), "y_true": rng.integers(0, 2, 200)})
    shared["shop"] = rng.choice([*"xy"], 200)
    rows = pd.concat(
        [
            shared.assign(model=model, y_score=rng.random(200), seconds=rng.random(200))
            for model in "ab"
        ]
    )
    study = ek.classification(rows, metrics="brier", slices="auto")
    assert list(study.attributes) == ["shop"]
    assert len(study.weak_slices()) == 0


def test_the_first_metric_that_is_a_mean_is_searched() -> None:
    frame = planted_rows(500)
    study = ek.classification(frame, metrics="mcc,accuracy", slices="shop")
    assert set(study.detectable_slices()["metric"]) == {"accuracy"}


@pytest.mark.parametrize("metrics", ["mcc", "precision", "f1"])
def test_metrics_that_are_no_means_of_rows_are_refused(metrics: str) -> None:
    study = ek.classification(planted_rows(500), metrics=metrics, slices="shop")
    with pytest.raises(ParameterError, match=f"mean of rows or units.*got {metrics}"):
        study.weak_slices()


def test_without_columns_nothing_is_searched() -> None:
    study = ek.classification(planted_rows(500), metrics="accuracy")
    with pytest.raises(ParameterError, match='slices="auto"'):
        study.weak_slices()


def test_unknown_columns_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match=r"slices.*shp"):
        ek.classification(planted_rows(500), metrics="accuracy", slices="shp")


BLOCKS = Limits(reading=ReadingLimits(rows=100, shard=100, largest=100))
NOT_IN_MEMORY = "slices: need all rows in memory"


def test_scores_that_are_not_in_memory_are_refused() -> None:
    p = ClassificationParameters.from_raw({"preds": planted_rows(500), "slices": "shop"})
    with pytest.raises(ParameterError, match=NOT_IN_MEMORY):
        classification.study_of(p, BLOCKS)


def test_forecasts_that_are_not_in_memory_are_refused() -> None:
    frame = planted_rows(500)
    forecasts = {"actual": frame["y_true"], "forecast": frame["size"], "shop": frame["shop"]}
    p = RatingParameters.from_raw({"preds": pd.DataFrame(forecasts), "slices": "shop"})
    with pytest.raises(ParameterError, match=NOT_IN_MEMORY):
        rating.study_of(p, BLOCKS)


def series_rows() -> pd.DataFrame:
    """Forecasts of one day after another."""
    rng = np.random.default_rng(13)
    actual = rng.normal(10, 1, 200)
    frame = pd.DataFrame({"date": pd.date_range("2026-01-01", periods=200).astype(str)})
    frame["actual"] = actual
    frame["forecast"] = actual + rng.normal(0, 1, 200)
    frame["shop"] = rng.choice([*"abc"], 200)
    return frame


def test_forecasts_of_a_series_are_refused_when_they_are_read() -> None:
    with pytest.raises(ParameterError, match="slices: forecasts of a time series"):
        ek.rating(series_rows(), metrics="mae", slices="shop")


def test_forecasts_of_a_series_with_units_are_searched() -> None:
    study = ek.rating(series_rows(), metrics="mae", slices="shop", unit="shop")
    assert len(study.weak_slices()) == 0


def test_losses_that_are_worse_if_high_are_weak_above_the_rest() -> None:
    """Forecast errors in shop c are twice as large as elsewhere. A high MAE is bad, so that the
    difference of the shop from the rest, above 0, is "worse".
    """
    rng = np.random.default_rng(11)
    shop = rng.choice([*"abcd"], 3000)
    actual = rng.normal(0, 1, 3000)
    forecast = actual + rng.normal(0, 1, 3000) * np.where(shop == "c", 2.0, 1.0)
    frame = pd.DataFrame({"actual": actual, "forecast": forecast, "shop": shop})
    (row,) = ek.rating(frame, metrics="mae", slices="auto").weak_slices().to_dict("records")
    assert row["slice"] == "shop=c"
    assert row["low"] > 0
    assert row["verdict"] == "worse"


def test_queries_have_weak_slices_by_their_table() -> None:
    """Each list has a good and a bad item; the good one is first in 80 % of queries, but in 30 % of
    the kind b. The kind stands in a table of queries alone, and is searched too.
    """
    rng = np.random.default_rng(12)
    kind = rng.choice([*"abc"], 600)
    queries = pd.DataFrame({"query": [f"q{i}" for i in range(600)], "kind": kind})
    is_found = rng.random(600) < np.where(kind == "b", 0.3, 0.8)
    lists = queries[["query"]]
    first = lists.assign(item=np.where(is_found, "good", "bad"), score=2)
    second = lists.assign(item=np.where(is_found, "bad", "good"), score=1)
    grades = lists.assign(item="good", grade=1)
    rows = pd.concat([first, second])
    study = ek.ranking(rows, grades, queries=queries, metrics="mrr", slices="auto")
    assert study.weak_slices()["slice"].tolist() == ["kind=b"]


def test_the_page_shows_what_was_found() -> None:
    text = classification_page.weak_slices(planted_study()).text
    assert "shop=b and region=north" in text
    assert "No weak slice" not in text
    assert classification_page.weak_slice_plot(planted_study()).html


def test_the_results_have_what_was_found() -> None:
    answers = as_json.answers(planted_study())
    assert [row["slice"] for row in answers["weak_slices"]] == ["shop=b and region=north"] * 2


def test_each_weak_slice_is_a_finding() -> None:
    every_finding = classification_page.every_finding(planted_study())
    assert [finding.kind.code for finding in every_finding].count("EK229") == 2


def test_the_page_shows_all_weak_slices_of_a_system() -> None:
    """10 % of the decisions are wrong, 30 points more in shop b, and 30 more in the north. Both
    slices are weak, and the page shows both of them, not the weaker one alone.
    """
    frame = planted_rows(3000)[["shop", "region", "y_true"]]
    share_wrong = 0.1 + 0.3 * (frame["shop"] == "b") + 0.3 * (frame["region"] == "north")
    is_wrong = np.random.default_rng(3).random(len(frame)) < share_wrong
    frame["y_score"] = np.where(is_wrong, 1 - frame["y_true"], frame["y_true"])
    study = ek.classification(frame, metrics="accuracy", slices="shop,region")
    assert {"shop=b", "region=north"} <= {*study.weak_slices()["slice"]}
    text = classification_page.weak_slices(study).text
    assert "shop=b" in text
    assert "region=north" in text


@cache
def study_without_finds() -> Any:
    frame = planted_rows(2000)[["shop", "y_true", "score_old"]]
    return ek.classification(frame, metrics="accuracy", slices="shop")


def test_a_page_without_finds_says_what_would_have_been_found() -> None:
    text = classification_page.weak_slices(study_without_finds()).text
    assert text.startswith("No weak slice was found. 4 slices")
    assert "With 80% power" in text


def test_a_study_without_finds_keeps_the_rule() -> None:
    ek.check(study_without_finds(), "no weak slice")


def test_a_weak_slice_breaks_the_rule() -> None:
    with pytest.raises(AssertionError, match="no weak slice: fail"):
        ek.check(planted_study(), "no weak slice")


def test_a_rule_about_weak_slices_needs_a_search() -> None:
    study = ek.classification(planted_rows(500), metrics="accuracy")
    with pytest.raises(ParameterError, match="the report searched no slices"):
        ek.check(study, "no weak slice")


def test_an_effect_that_the_metric_cannot_have_is_not_detectable() -> None:
    """The accuracy is about 0.2. A country has a fifth of the 300 rows: without any right decision
    it is 0.2 / (1 − 0.2) = 0.25 below the rest, which is the largest possible effect, and too small
    to be detectable in so few rows.
    """
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 300)
    is_right = rng.random(300) < 0.2
    decisions = {
        "label": label,
        "predicted": np.where(is_right, label, 1 - label),
        "country": rng.choice([*"abcde"], 300),
    }
    study = ek.classification(pd.DataFrame(decisions), metrics="accuracy", slices="country")
    searched_metric = searches.of_study(study).searched_metrics[0]
    largest = is_right.mean() / (1 - 0.2)  # all right decisions are in the rest, 80 % of the rows
    assert searched_metric.largest_effect(share=0.2) == pytest.approx(largest)
    assert np.isnan(study.detectable_slices()["effect"]).all()


def test_no_effect_is_detectable_where_all_rows_are_right() -> None:
    decisions = {"label": [0, 1] * 100, "predicted": [0, 1] * 100, "country": [*"ab"] * 100}
    study = ek.classification(pd.DataFrame(decisions), metrics="accuracy", slices="country")
    assert np.isnan(study.detectable_slices()["effect"]).all()

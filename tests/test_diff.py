"""The diff of two reports: an exact account, mirrored by exchanging the reports, with the tests of
the reports.
"""

import json
import shutil
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import online_samples
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import evalkit as ek
from evalkit import __main__ as command
from evalkit.arrays import InputError, ParameterError
from evalkit.pages import diff_page
from evalkit.studies import units
from evalkit.studies.unit_files import StoredSlice

ROOT = Path(__file__).resolve().parents[1]
TERMS = ["changed", "left", "came"]


def saved(study, path):
    path.parent.mkdir(exist_ok=True)
    study.write_units(path)
    return path


def table_of_applicants(seed, n=60, population=90):
    """Labels and the scores of the systems m and z of n of 90 applicants, so that two seeds have
    most applicants in common; with a user, a weight and a plan a, b or c, the slice.
    """
    rng = np.random.default_rng(seed)
    id = rng.choice(population, n, replace=False)
    label = (np.random.default_rng(0).random(population) < 0.4).astype(int)[id]
    score = np.clip(0.25 * label + 0.7 * rng.random(n), 0, 1).round(2)
    further_columns = {
        "user": id // 2,
        "weight": rng.integers(1, 4, n).astype(float),
        "plan": np.array(["a", "b", "c"])[id % 3],
    }
    return pd.DataFrame(
        {"id": id, "label": label, "score_m": score, "score_z": rng.random(n)} | further_columns
    )


def table_of_lists(seed, queries=20, population=30):
    """Lists of eight items for 20 of 30 queries, with random scores and grades."""
    rng = np.random.default_rng(seed)
    names = rng.choice(population, queries, replace=False)
    table = pd.DataFrame(
        [(f"q{name}", f"d{i}", rng.random()) for name in names for i in range(8)],
        columns=["query", "item", "score"],
    )
    return table.assign(grade=rng.integers(0, 3, len(table)), plan=table["query"])


def diff_of(folder, old, new, **given):
    """The diff of two studies, whose units are stored in the folder."""
    return ek.diff(
        saved(old, folder / "old.units.parquet"), saved(new, folder / "new.units.parquet"), **given
    )


BINARY_METRICS = "brier,precision,roc_auc,average_precision,f1,accuracy"
# by design, functions from a seed to a study; two seeds have some units in common
STUDY_OF_DESIGN = {
    "rows": lambda seed: ek.classification(
        table_of_applicants(seed).drop(columns="weight"), segments="plan", metrics=BINARY_METRICS
    ),
    "weights": lambda seed: ek.classification(
        table_of_applicants(seed), segments="plan", metrics=BINARY_METRICS
    ),
    "users": lambda seed: ek.classification(
        table_of_applicants(seed),
        unit="user",
        segments="plan",
        metrics=f"precision,gauc,{BINARY_METRICS}",
    ),
    "lists": lambda seed: ek.ranking(table_of_lists(seed), metrics="ndcg@5,average_precision,mrr"),
}


def example_study(design, seed):
    """The study of a random sample: two seeds have many units in common, but not all."""
    return STUDY_OF_DESIGN[design](seed)


MIRRORED = {
    "changed": "changed",
    "left": "came",
    "came": "left",
    "low": "high",
    "high": "low",
}
ROUNDING = {"rtol": 0, "atol": 1e-12}


def check_terms(study):
    """The terms add up to the change from old to new."""
    account = study.account
    assert np.allclose(account[TERMS].sum(axis=1), account["change"], **ROUNDING)
    assert np.allclose(account["change"], account["new"] - account["old"], **ROUNDING)


def check_slices(study):
    """Mix and within of all slices add up to the change of the metric that decides."""
    slices = study.segments
    if not len(slices) or slices["mix"].isna().any():
        return
    total = (slices["mix"] + slices["within"]).groupby(slices["system"]).sum()
    of_primary = study.account[study.account["metric"] == study.primary_metric.label]
    change = of_primary.set_index("system")["change"]
    assert np.allclose(total, change[total.index], **ROUNDING)


def check_mirrored(study, exchanged):
    """Exchanging the reports exchanges the signs of the terms and the two populations. What is
    undefined in one order is so in the other.
    """
    for column, other_column in MIRRORED.items():
        opposite = -exchanged.account[other_column]
        assert np.allclose(study.account[column], opposite, **ROUNDING, equal_nan=True), column
    p_values = (study.comparisons["p"], exchanged.comparisons["p"])
    assert np.allclose(*p_values, **ROUNDING, equal_nan=True)


@pytest.mark.parametrize("design", STUDY_OF_DESIGN)
# 6 ordered pairs of 3 reports; at night 272 of 17
@pytest.mark.parametrize("reports", [3, pytest.param(17, marks=pytest.mark.slow)])
def test_the_terms_add_up_to_the_change_and_change_sign_with_the_order(design, reports, tmp_path):
    """Each of several reports has some units in common with each other one and some of its own. The
    change from one to another has three terms: what common units changed, what units of the old
    report alone contribute, and what those of the new report alone do. For each pair of reports,
    `check_terms` fails unless the terms add up to the change, `check_slices` unless the terms of
    the slices do, and `check_mirrored` unless exchanging the two reports changes all signs and
    leaves p.
    """
    paths = [
        saved(example_study(design, seed), tmp_path / f"{seed}.units.parquet")
        for seed in range(reports)
    ]
    diffs = {(old, new): ek.diff(old, new) for old, new in permutations(paths, 2)}
    for (old, new), diff in diffs.items():
        assert diff.account["common"].min() > 0
        assert diff.account["only_new"].max() > 0
        check_terms(diff)
        check_slices(diff)
        check_mirrored(diff, exchanged=diffs[new, old])


def test_each_value_is_that_of_the_report(tmp_path):
    """The account of a diff has the old and the new value of each metric and system."""
    old, new = (example_study("users", seed=seed) for seed in (1, 2))
    account = diff_of(tmp_path, old, new).account.set_index(["metric", "system"])
    for side, study in (("old", old), ("new", new)):
        value = study.estimates.set_index(["metric", "system"])["value"]
        assert account[side].to_dict() == pytest.approx(value[account.index].to_dict(), abs=1e-12)


SHARES = "accuracy,recall,specificity,precision,npv"
NUMBERS = ["difference", "low", "high", "p"]


class BothWays(NamedTuple):
    """The diff of two reports, and one report of both systems."""

    diff: Any
    report: Any


def on_the_same_rows(folder, *columns, metrics, **given):
    """System m replaces z on the same 80 rows."""
    table = table_of_applicants(3, n=80)[["id", "label", "score_m", "score_z", *columns]]
    old = table.drop(columns="score_m").rename(columns={"score_z": "score_m"})
    new = table.drop(columns="score_z")
    studies = [ek.classification(side, metrics=metrics, **given) for side in (old, new)]
    report = ek.classification(table, metrics=metrics, baseline="z", **given)
    return BothWays(diff_of(folder, *studies), report)


def check_comparisons_are_equal(both, metric):
    """The diff has the difference, limits, p and test of one report that compares both systems."""
    of_diff, of_report = (study.comparisons.set_index("metric").loc[metric] for study in both)
    assert np.allclose(of_diff[NUMBERS].astype(float), of_report[NUMBERS].astype(float), **ROUNDING)
    assert of_diff["method"] == of_report["method"]


DESIGNS = {
    "rows": ((), {}),
    "users": (("user",), {"unit": "user"}),
    "weights": (("weight",), {}),
    "threshold": ((), {"threshold": 0.3}),
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(
    "metric",
    ["accuracy", "recall", "specificity", "precision", "negative_predictive_value", "brier"],
)
def test_a_share_or_mean_of_two_reports_on_the_same_rows_has_the_test_of_one(
    design, metric, tmp_path
):
    """System m replaces z on the same 80 rows, which are the units, or have users, weights or a
    threshold of 0.3, depending on the design. The diff of a report on each must have the test of
    one report that compares both systems.
    """
    columns, given = DESIGNS[design]
    check_comparisons_are_equal(
        on_the_same_rows(tmp_path, *columns, metrics=metric, **given), metric
    )


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "f1", "log_loss"])
def test_any_other_metric_of_the_same_rows_has_the_test_of_one_report(metric, tmp_path):
    check_comparisons_are_equal(on_the_same_rows(tmp_path, metrics=f"{metric},accuracy"), metric)


@pytest.mark.parametrize("metric", ["accuracy", "precision", "brier"])
def test_the_values_of_the_same_rows_have_the_intervals_of_one_report(metric, tmp_path):
    both = on_the_same_rows(tmp_path, metrics=metric)
    of_diff, of_report = (
        study.estimates.sort_values("value")[["value", "low", "high"]] for study in both
    )
    assert np.allclose(of_diff, of_report, **ROUNDING)


def test_the_log_loss_of_a_probability_of_1_has_the_test_of_one_report(tmp_path):
    """Two reports are on the same 50 rows, one with old and one with new scores. Their diff must
    have the difference, limits, p and test of one report that has old and new as two systems;
    `check_comparisons_are_equal` compares these. One new score is 1, a certain prediction, where
    the log loss is a special case: both ways must treat it alike.
    """
    old = pd.DataFrame({"id": range(50), "label": [0, 1] * 25, "score": [0.2, 0.7] * 25})
    new = old.copy()
    new.loc[3, "score"] = 1.0
    diff = diff_of(
        tmp_path,
        ek.classification(old, metrics="log_loss"),
        ek.classification(new, metrics="log_loss"),
    )
    both_systems = pd.concat([new.assign(system="new"), old.assign(system="old")])
    report = ek.classification(both_systems, metrics="log_loss", baseline="old")
    check_comparisons_are_equal(BothWays(diff, report), "log_loss")


def three_answers_per_question(model, seed):
    """Three answers of a model to each of 30 questions."""
    rng = np.random.default_rng(seed)
    names = {"question": np.repeat(np.arange(30), 3).astype(str), "trial": np.tile([1, 2, 3], 30)}
    return pd.DataFrame(names | {"system": model, "value": (rng.random(90) < 0.6) * 1})


def test_the_mean_of_repeated_answers_has_the_test_of_one_report(tmp_path):
    old = three_answers_per_question("old", 1)
    new = three_answers_per_question("new", 2)
    studies = [ek.significance(side.assign(system="m")) for side in (old, new)]
    report = ek.significance(pd.concat([new, old]), baseline="old")
    check_comparisons_are_equal(BothWays(diff_of(tmp_path, *studies), report), "value")


def without_decisions(path):
    """Empty the column of decisions in a file of units; the path again."""
    table = pq.read_table(path)
    place = table.schema.get_field_index("predicted")
    empty = pa.nulls(len(table), pa.float64())
    pq.write_table(table.set_column(place, table.schema.field(place), empty), path)
    return path


def test_accuracy_of_files_without_decisions_is_compared_by_sign_flips_of_rows(tmp_path):
    """McNemar's test needs the decision on each row. Files of earlier versions hold only whether
    each row was predicted right, so that accuracy is compared by flipping the signs of the rows'
    differences.
    """
    old, new = (
        without_decisions(
            saved(example_study("rows", seed=seed), tmp_path / f"{seed}.units.parquet")
        )
        for seed in (1, 2)
    )
    method = ek.diff(old, new).comparisons.set_index("metric")["method"]
    assert method["accuracy"].str.startswith("sign flip").all()


# Where a change comes from, by hand --------------------------------------------------------------


def report_of_hits(**hits):
    """A report of the accuracy of each plan, which is given as hits and rows."""
    rows = [
        {"plan": plan, "score": 0.9 if row < right else 0.1}
        for plan, (right, size) in hits.items()
        for row in range(size)
    ]
    table = pd.DataFrame(rows).assign(label=1, id=range(len(rows)))
    return ek.classification(table, metrics="accuracy", segments="plan")


def terms(study):
    """Mix and within of each slice."""
    return study.segments.set_index("slice")[["mix", "within"]].T.to_dict("list")


def test_mix_is_at_the_mean_distance_of_a_slice_from_the_whole(tmp_path):
    """The whole rises from .6 to .7, at the mean .65; slice a from .8 to .75 and from a share of .5
    to one of .8; slice b from .4 to .5 and from .5 to .2.
    """
    old = report_of_hits(a=(4, 5), b=(2, 5))
    new = report_of_hits(a=(6, 8), b=(1, 2))
    found = terms(diff_of(tmp_path, old, new))
    assert found["a"] == pytest.approx([0.3 * (0.775 - 0.65), 0.65 * -0.05])
    assert found["b"] == pytest.approx([-0.3 * (0.45 - 0.65), 0.35 * 0.1])


def test_a_slice_that_only_one_report_has_changes_the_mix_alone(tmp_path):
    """The whole rises from .6 to .9, at the mean .75; c has half of the new rows, all right, b had
    half of the old ones, of which .4 were right.
    """
    old = report_of_hits(a=(4, 5), b=(2, 5))
    new = report_of_hits(a=(4, 5), c=(5, 5))
    found = terms(diff_of(tmp_path, old, new))
    assert found["c"] == pytest.approx([0.5 * (1 - 0.75), 0])
    assert found["b"] == pytest.approx([-0.5 * (0.4 - 0.75), 0])


def test_one_new_system_is_not_compared_with_one_of_several_old_ones(tmp_path):
    """The old report has the systems m and z, the new one only k. It is unclear which of the two k
    replaces.
    """
    table = table_of_applicants(1).drop(columns="weight")
    renamed = table.rename(columns={"score_m": "score_k"}).drop(columns="score_z")
    studies = [ek.classification(side, metrics="brier") for side in (table, renamed)]
    with pytest.raises(InputError, match="must share a metric and a system"):
        diff_of(tmp_path, *studies)


def study_of_first_hits(*ranks):
    """The study of the reciprocal ranks of the queries q0, q1, …: of lists of five items, of which
    only that at the given rank is relevant; none for a rank of 0.
    """
    rows = [
        {"query": f"q{query}", "item": f"d{place}", "score": -place, "grade": int(place == rank)}
        for query, rank in enumerate(ranks)
        for place in range(1, 6)
    ]
    return ek.ranking(pd.DataFrame(rows), metrics="mrr")


def test_a_mean_stays_a_mean_beside_units_where_it_is_undefined(tmp_path):
    """The lists have the relevant item at the given ranks, or none for 0. The reciprocal rank of q3
    falls from 1 to 1/4 and that of q0 from 1 to 1/2; q2 has no value, so that three are in common.
    """
    study = diff_of(tmp_path, study_of_first_hits(1, 2, 0, 1), study_of_first_hits(2, 2, 0, 4))
    assert study.moved.set_index("unit")["difference"].to_dict() == {"q3": -0.75, "q0": -0.5}
    assert study.account["common"].tolist() == [3]
    assert study.comparisons["method"].tolist() == ["sign flip, exact enumeration"]


def test_changes_that_cancel_are_tested(tmp_path):
    """The reciprocal rank of q0 falls from 1 to 1/2 and that of q1 rises from 1/2 to 1: the mean
    does not change, and p is 1.
    """
    study = diff_of(tmp_path, study_of_first_hits(1, 2, 1, 1), study_of_first_hits(2, 1, 1, 1))
    assert study.comparisons[["difference", "p"]].to_numpy().tolist() == [[0, 1]]


def test_a_row_is_relabelled_if_one_of_its_labels_changed(tmp_path):
    """Each of 30 rows has the labels a, b and c. In the new report label a of the first three rows
    is another. The finding EK806 says how many rows have other labels: it must count these three.
    """
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.random((30, 3)), columns=["p_a", "p_b", "p_c"]).assign(id=range(30))
    for name in "abc":
        table[f"y_{name}"] = rng.integers(0, 2, 30)
    relabelled = table.copy()
    relabelled.loc[:2, "y_a"] = 1 - table.loc[:2, "y_a"]
    studies = [ek.classification(rows, metrics="roc_auc_macro") for rows in (table, relabelled)]
    message = messages_by_code(diff_of(tmp_path, *studies))["EK806"]
    assert message.startswith("3 rows")


def test_rows_of_other_weights_are_not_the_same_rows(tmp_path):
    """Rows with the same ids and scores have other weights in the new report. With equal weights,
    the two AUCs would be compared by the delta method; it needs the same rows in both reports,
    which the influence of units does not.
    """
    table = table_of_applicants(1)
    heavier = table.assign(weight=table["weight"] + 1)
    studies = [ek.classification(side, metrics="roc_auc") for side in (table, heavier)]
    assert {*diff_of(tmp_path, *studies).comparisons["method"]} == {"influence of units, t"}


def test_independent_reports_are_compared_by_t_with_the_freedom_of_both(tmp_path):
    """Two samples of ten rows, with the same scores but other ids, have 2 · (10 − 1) = 18 degrees
    of freedom. Their difference is 0, so that its upper limit is t · √(2 · variance of an AUC). The
    influence of a row on the AUC is the share of pairs that it wins, less the AUC, over the 5 rows
    of its class; 10 / 9 is n / (n − 1).
    """
    positive = np.array([0.9, 0.8, 0.7, 0.35, 0.3])
    negative = np.array([0.6, 0.4, 0.2, 0.15, 0.1])
    old = pd.DataFrame({"label": [1] * 5 + [0] * 5, "score": [*positive, *negative]})
    old["id"] = np.arange(10)
    new = old.assign(id=np.arange(100, 110))
    studies = [ek.classification(rows, metrics="roc_auc") for rows in (old, new)]
    wins = positive[:, None] > negative  # of each positive against each negative
    influence = (np.r_[wins.mean(axis=1), wins.mean(axis=0)] - wins.mean()) / 5
    variance_of_auc = (influence**2).sum() * 10 / 9
    (high,) = diff_of(tmp_path, *studies).comparisons["high"]
    assert high == pytest.approx(stats.t.ppf(0.975, 18) * np.sqrt(2 * variance_of_auc))


def test_an_earlier_report_is_not_the_old_one(tmp_path):
    """An old and a new report are compared; an earlier report, from before the old one, only adds a
    point to the course of the metric over time. Each is on three lists, with the relevant item at
    the given ranks. The value of the old report must be its mean reciprocal rank, (1 + 1/2 + 1) / 3
    for the ranks 1, 2 and 1, and not that of the earlier report, 1/5.
    """
    earlier = saved(study_of_first_hits(5, 5, 5), tmp_path / "earlier.units.parquet")
    study = diff_of(
        tmp_path, study_of_first_hits(1, 2, 1), study_of_first_hits(2, 2, 2), earlier=str(earlier)
    )
    assert study.account["old"].tolist() == pytest.approx([2.5 / 3])
    assert study.old.path == tmp_path / "old.units.parquet"


def test_the_unit_that_moved_most_is_first_whether_it_rose_or_fell(tmp_path):
    """The reciprocal ranks of q0, q1 and q2 move by 1/5 − 1 = −4/5, by 1 − 1/2 = +1/2 and by
    1/4 − 1/5 = +1/20.
    """
    study = diff_of(tmp_path, study_of_first_hits(1, 2, 5), study_of_first_hits(5, 1, 4))
    assert study.moved["unit"].tolist() == ["q0", "q1", "q2"]


# The bundled sample, against numpy, pandas and scipy ----------------------------------------------


@pytest.fixture(scope="module")
def two_days():
    """The diff of the bundled reports."""
    return ek.diff()


def test_two_days_have_930_applicants_in_common(two_days):
    counts = two_days.account.set_index("metric").loc["brier", ["common", "only_old", "only_new"]]
    assert counts.tolist() == [930, 30, 40]
    assert not two_days.are_equal


@pytest.mark.parametrize(
    ("metric", "changed"),
    [
        ("brier", -0.000100335286616),
        ("accuracy", 0.00860215053763),
        ("roc_auc", -0.00357872366197),
    ],
)
def test_the_change_on_common_applicants_is_that_of_their_predictions(two_days, metric, changed):
    """The expected changes were computed with numpy, pandas and scipy from the predictions of both
    days on the applicants in common.
    """
    account = two_days.account.set_index("metric")
    assert account.loc[metric, "changed"] == pytest.approx(changed, abs=1e-12)


def test_the_accuracy_of_two_days_is_tested_by_mcnemar(two_days):
    """The decision on 146 applicants changed; 8 more of them are right on the new day."""
    p = two_days.comparisons.set_index("metric")["p"]
    assert p["accuracy"] == pytest.approx(2 * stats.norm.sf(8 / 146**0.5), abs=1e-12)


def test_the_auc_of_two_days_is_tested_as_by_delong(two_days):
    """The expected p is that of DeLong's test, which takes a normal distribution. The diff takes t
    with 929 degrees of freedom, so that p may differ in the fourth decimal.
    """
    p = two_days.comparisons.set_index("metric")["p"]
    assert p["roc_auc"] == pytest.approx(0.775569749144, abs=2e-4)


def test_the_slice_with_the_smallest_p_is_first(two_days):
    first = two_days.segments.iloc[0]
    assert (first["slice"], first["common"]) == ("rent", 164)
    assert first["difference"] == pytest.approx(0.0455, abs=5e-5)  # as printed
    assert two_days.segments["p"].is_monotonic_increasing


def test_the_applicants_that_moved_most_are_first(two_days):
    assert two_days.moved["difference"].abs().is_monotonic_decreasing


def test_a_diff_lists_its_frames(two_days):
    assert {"account", "segments"} <= {*dir(two_days)}


# What the files prove -----------------------------------------------------------------------------


def messages_by_code(study):
    """The messages of the findings by code."""
    return {finding.kind.code: finding.message for finding in diff_page.every_finding(study)}


def test_identical_reports_do_not_differ(tmp_path):
    """A report on ranked lists is compared with itself. The change of each metric is 0, and so are
    its TERMS: what common queries changed, and what left and came with other queries.
    """
    path = saved(example_study("lists", seed=1), tmp_path / "one" / "ranking.units.parquet")
    diff = ek.diff(path, path)
    assert diff.are_equal
    assert (diff.account[["change", *TERMS]] == 0).all(axis=None)
    assert len(diff.moved) == 0  # no query changed its value
    assert "No difference: both reports have the same queries" in str(diff)


def test_nothing_of_identical_reports_is_tested(tmp_path):
    path = saved(example_study("lists", seed=1), tmp_path / "one" / "ranking.units.parquet")
    assert ek.diff(path, path).family == "0 comparisons on ndcg@5, Holm-adjusted"


def test_a_study_in_place_of_a_report_is_refused_with_the_way():
    study = example_study("rows", seed=1)
    with pytest.raises(ParameterError, match=r"must be a path: .* got BinaryStudy; study\.save"):
        ek.diff(study, study)


def test_a_list_that_was_turned_round_is_listed_with_the_items_that_entered_and_left(tmp_path):
    """Of the 20 queries one list is turned round, so that the last three of its eight items are in
    the top 3 in place of the first three. Its relevant items, with scores above 0.5, were on top.
    """
    table = table_of_lists(1)
    query = table["query"].iloc[0]
    is_edited = table["query"] == query
    table.loc[is_edited, "grade"] = (table["score"] > 0.5).astype(int)
    turned_round = table.assign(score=table["score"].mask(is_edited, -table["score"]))
    items_from_the_top = table[is_edited].sort_values("score", ascending=False)["item"].tolist()
    items_from_the_end = items_from_the_top[::-1]
    old, new = (ek.ranking(rows, metrics="ndcg@3") for rows in (table, turned_round))
    diff = diff_of(tmp_path, old, new)
    assert diff.moved[["unit", "entered", "left"]].to_dict("records") == [
        {
            "unit": query,
            "entered": ", ".join(items_from_the_end[:3]),
            "left": ", ".join(items_from_the_top[:3]),
        }
    ]


def test_a_finding_names_inputs_that_differ(tmp_path):
    """The old report is on 20 lists of 8 items, 160 rows, the new one on the same items with other
    scores. The finding EK803 says what was not the same when the two were made: their inputs.
    """
    table = table_of_lists(1)
    old, new = (
        ek.ranking(rows, metrics="ndcg@3") for rows in (table, table.assign(score=-table["score"]))
    )
    message = messages_by_code(diff_of(tmp_path, old, new))["EK803"]
    assert "inputs: preds (data frame, 160 rows → data frame, 160 rows)." in message


def copy_with_head(path, name, **about):
    """A copy of a file of units, beside it, that says other things of itself."""
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"evalkit"]) | about
    copy = path.with_name(f"{name}.units.parquet")
    pq.write_table(table.replace_schema_metadata({"evalkit": json.dumps(head)}), copy)
    return copy


@pytest.fixture
def report_with_hashed_input(tmp_path):
    """The file of units of a report on 60 applicants, whose input is known by its hash."""
    path = saved(example_study("rows", seed=1), tmp_path / "a.units.parquet")
    inputs = [{"name": "a.csv", "rows": 60, "sha256": "0"}]
    return copy_with_head(path, "known", inputs=inputs)


@pytest.mark.parametrize(
    ("about", "code", "says"),
    [
        ({}, "EK804", "Nothing differs"),
        ({"versions": {"numpy": "9"}}, "EK804", "Nothing but the versions differs"),
        ({"parameters": {"threshold": 0.7}}, "EK803", "parameters: "),
        ({"inputs": []}, "EK805", ""),
    ],
    ids=["nothing", "versions", "parameters", "unknown inputs"],
)
def test_a_finding_says_what_differs_between_the_reports(
    report_with_hashed_input, about, code, says
):
    other = copy_with_head(report_with_hashed_input, "other", **about)
    assert says in messages_by_code(ek.diff(report_with_hashed_input, other))[code]


@pytest.fixture
def two_labellings(tmp_path):
    """The files of units of two reports on the same scores; the first five of the 60 labels
    differ.
    """
    table = table_of_applicants(1).drop(columns="weight")
    relabelled = table.copy()
    relabelled.loc[:4, "label"] = 1 - table.loc[:4, "label"]
    old, new = (
        ek.classification(labelled, metrics=BINARY_METRICS) for labelled in (table, relabelled)
    )
    return saved(old, tmp_path / "old.units.parquet"), saved(new, tmp_path / "new.units.parquet")


@pytest.mark.parametrize("parameters", [{}, {"metrics": "brier"}, {"metrics": "accuracy"}])
def test_rows_with_another_label_are_counted(two_labellings, parameters):
    message = messages_by_code(ek.diff(*two_labellings, **parameters))["EK806"]
    assert message.startswith("5 rows")


def test_auc_on_other_labels_is_compared_by_influence_and_not_by_delong(two_labellings):
    """DeLong's test needs rows with the same labels in both reports."""
    method = ek.diff(*two_labellings).comparisons.set_index("metric")["method"]
    assert {*method["roc_auc"]} == {"influence of units, t"}


def test_metrics_that_only_one_report_has_are_named(report_with_hashed_input, tmp_path):
    study = ek.classification(table_of_applicants(2), metrics="brier", systems="m")
    fewer = saved(study, tmp_path / "f.units.parquet")
    assert "roc_auc" in messages_by_code(ek.diff(report_with_hashed_input, fewer))["EK807"]


def test_rows_with_another_label_are_counted_if_the_last_metric_is_of_ones_own(tmp_path):
    """The first five of 60 labels differ between the two reports, on AUC and the user's own metric
    `right`. For `right` a report stores its value for each row; for roc_auc it stores the labels.
    The finding EK806, on rows with other labels, must be taken from roc_auc and count five.
    """

    @ek.mean(best="high")
    def right(label, score):
        return (score > 0.5) == label

    table = table_of_applicants(1).drop(columns="weight")
    relabelled = table.copy()
    relabelled.loc[:4, "label"] = 1 - table.loc[:4, "label"]
    old, new = (
        ek.classification(labelled, metrics=["roc_auc", right]) for labelled in (table, relabelled)
    )
    assert messages_by_code(diff_of(tmp_path, old, new))["EK806"].startswith("5 rows")


@pytest.fixture(scope="module")
def reports_where_z_became_worse(tmp_path_factory):
    """The paths of two reports on the systems m and z. Between them z became worse in plans b and
    c; m did not change.
    """
    table = table_of_applicants(1).drop(columns="weight")
    opposite = 1 - 0.9 * table["label"]
    worse = table.assign(score_z=table["score_z"].where(table["plan"] == "a", opposite))
    folder = tmp_path_factory.mktemp("worse")
    asked = {"segments": "plan", "metrics": "roc_auc,brier"}
    old = saved(ek.classification(table, **asked), folder / "old" / "a.units.parquet")
    new = saved(ek.classification(worse, **asked), folder / "new" / "a.units.parquet")
    return old, new


def test_a_system_that_did_not_change_is_not_tested(reports_where_z_became_worse):
    """The scores of system m are the same in both reports, so that z is the only comparison and its
    p is not adjusted.
    """
    diff = ek.diff(*reports_where_z_became_worse)
    comparisons = diff.comparisons.set_index("first")
    assert comparisons.loc["new m", ["p", "adjusted"]].isna().all(axis=None)
    assert (comparisons.loc["new z", "p"] == comparisons.loc["new z", "adjusted"]).all()
    assert diff.family == "1 comparison on roc_auc, Holm-adjusted"


def test_a_system_that_did_not_change_has_no_difference(reports_where_z_became_worse):
    """Both reports are on the systems m and z. The scores of m are the same in both; z became worse
    in the new one.
    """
    diff = ek.diff(*reports_where_z_became_worse)
    verdict = diff.account.set_index(["metric", "system"])["verdict"]
    assert verdict.to_dict() == {
        ("roc_auc", "m"): "no difference",
        ("roc_auc", "z"): "worse",
        ("brier", "m"): "no difference",
        ("brier", "z"): "worse",
    }


def test_the_headline_begins_with_the_system_that_changed(reports_where_z_became_worse):
    diff = ek.diff(*reports_where_z_became_worse)
    assert diff.headline["first"].tolist() == ["new z", "new m"]


def test_the_slice_that_changed_most_has_the_largest_of_the_significant_changes(
    reports_where_z_became_worse,
):
    study = ek.diff(*reports_where_z_became_worse)
    most = study.most_changed
    assert most["system"] == "z"
    assert most["slice"] in {"b", "c"}
    assert most["difference"] == study.segments.query("adjusted < 0.05")["difference"].min()


def test_the_page_and_the_command_say_which_slice_changed_most(
    reports_where_z_became_worse, tmp_path, capsys
):
    study = ek.diff(*reports_where_z_became_worse)
    sentence = f"ROC AUC of z changed most in plan {study.most_changed['slice']}: −"
    assert sentence in str(study)
    assert command.main(["diff", *map(str, reports_where_z_became_worse), "-o", str(tmp_path)]) == 0
    assert sentence in capsys.readouterr().out


def test_rows_that_moved_have_their_old_score_and_their_effect(
    reports_where_z_became_worse,
):
    text = ek.diff(*reports_where_z_became_worse).tables.moved.text
    assert "old score" in text
    assert "effect on roc_auc" in text


def test_no_slice_of_identical_reports_changed_most(reports_where_z_became_worse):
    old, _ = reports_where_z_became_worse
    assert ek.diff(old, old).most_changed is None


def studies_of_halves(table, **given):
    """The studies of the first 40 rows and of the others."""
    return [ek.classification(half, **given) for half in (table[:40], table[40:])]


def test_the_page_shows_the_interval_of_independent_samples_beside_the_change(tmp_path):
    """The old report is on the first 40 of 80 applicants, the new one on the others. They have no
    unit in common, so that the change has an interval and what common units changed has none.
    """
    table = table_of_applicants(1, n=80)[["id", "label", "score_m"]]
    diff = diff_of(tmp_path, *studies_of_halves(table, metrics="brier"))
    (account,) = diff_page.account(diff).tables
    (row_of_brier,) = account.rows
    limits_by_column = {
        column.text: cell.limits for column, cell in zip(account.columns, row_of_brier, strict=True)
    }
    assert limits_by_column["change"]
    assert not limits_by_column["= common units changed"]


def test_common_units_leave_the_change_without_an_interval(two_days):
    account = two_days.account
    assert account[["change_low", "change_high"]].isna().all(axis=None)
    assert account[["low", "high"]].notna().all(axis=None)


def test_a_slice_shows_the_values_whose_difference_it_shows(two_days):
    slices = two_days.segments
    assert np.allclose(slices["new"] - slices["old"], slices["difference"], **ROUNDING)


def test_a_slice_also_has_the_values_on_all_units_of_each_report(two_days):
    matched = next(iter(two_days.deciding.values()))
    for row in two_days.segments.to_dict("records"):
        stored = StoredSlice(two_days.new.segments[row["segment"]], row["slice"])
        in_slice = matched.in_slice(stored)
        assert (row["old_all"], row["new_all"]) == (in_slice.old.value, in_slice.new.value)


def test_a_slice_without_common_units_has_the_values_on_all(tmp_path):
    table = table_of_applicants(1, n=80).drop(columns="weight")
    slices = diff_of(tmp_path, *studies_of_halves(table, metrics="brier", segments="plan")).segments
    assert slices["difference"].isna().all()
    assert np.array_equal(slices[["old", "new"]], slices[["old_all", "new_all"]])


def test_a_diff_says_where_its_units_are():
    with pytest.raises(InputError, match=r"no units of its own; read those of its reports, '.*old"):
        _ = ek.diff().units


def test_units_that_were_left_out_are_said_to_be():
    with pytest.raises(InputError, match="left out by units=False"):
        _ = ek.rating(units=False).units


@pytest.fixture(scope="module")
def diff_without_common_rows(tmp_path_factory):
    """The diff of the reports on two halves of a table."""
    table = table_of_applicants(1, n=80).drop(columns="weight")
    return diff_of(
        tmp_path_factory.mktemp("halves"), *studies_of_halves(table, metrics=BINARY_METRICS)
    )


def test_without_common_units_samples_are_independent(diff_without_common_rows):
    assert "EK802" in messages_by_code(diff_without_common_rows)
    text = diff_without_common_rows.tables.comparisons.text
    assert "Differences of independent samples in" in text
    assert diff_without_common_rows.account[TERMS].isna().all(axis=None)
    assert diff_without_common_rows.comparisons["p"].notna().all()


def test_the_change_of_independent_samples_has_the_interval_of_its_test(diff_without_common_rows):
    """The comparison called "new m" is that of the system m."""
    tests = diff_without_common_rows.comparisons.set_index(["metric", "first"])[["low", "high"]]
    account = diff_without_common_rows.account
    changes = account.assign(first="new " + account["system"]).set_index(["metric", "first"])
    limits = changes.loc[tests.index, ["change_low", "change_high"]]
    assert limits.to_numpy().tolist() == tests.to_numpy().tolist()


def test_without_common_units_what_they_changed_has_no_interval(diff_without_common_rows):
    assert diff_without_common_rows.account[["low", "high"]].isna().all(axis=None)


def test_reports_without_ids_are_independent(tmp_path):
    table = table_of_applicants(1, n=80).drop(columns=["weight", "id"])
    study = diff_of(tmp_path, *studies_of_halves(table, metrics="brier"))
    assert "no ids" in messages_by_code(study)["EK802"]


def test_shares_of_two_reports_are_independent(tmp_path):
    """For each of two web pages, a report has the numbers of successes and trials. Page a had 40
    successes in 100 trials in the old report and 60 in 100 in the new one: better, as the
    difference of 0.2 is 2.8 standard errors of √(2 · 0.5² / 100) = 0.07. Totals do not say which
    trials the two have in common, so that all 100 old trials count as in the old report alone.
    """
    old, new = (
        pd.DataFrame({"page": ["a", "b"], "successes": [successes, 40], "trials": [100, 90]})
        for successes in (40, 60)
    )
    account = diff_of(tmp_path, ek.significance(old), ek.significance(new)).account
    page_a = account.set_index("system").loc["a"]
    assert page_a["change"] == pytest.approx(0.6 - 0.4)
    assert page_a["only_old"] == 100
    assert page_a["verdict"] == "better"


def test_a_diff_of_users_has_no_table_of_devices(tmp_path):
    """The units of an interleaving experiment are users. A user may use several devices, so that
    the segment "device" does not divide users into slices. The two reports differ because the new
    log lacks the first two sessions, four rows.
    """
    log = online_samples.log()
    old, new = (ek.interleaving(rows, segments="device", baseline="a") for rows in (log, log[4:]))
    diff = diff_of(tmp_path, old, new)
    assert [*diff.old.segments] == ["device"]
    assert len(diff.segments) == 0
    assert diff_page.segments(diff).html == ""


def test_a_series_has_every_report(tmp_path):
    """The series of a diff is the first metric over time: a row, with an interval, for the earlier,
    the old and the new report, each of which has one system.
    """
    earlier = saved(example_study("lists", seed=0), tmp_path / "earlier.units.parquet")
    study = diff_of(
        tmp_path,
        example_study("lists", seed=1),
        example_study("lists", seed=2),
        earlier=str(earlier),
    )
    assert len(study.series) == 3
    assert (study.series["low"] < study.series["high"]).all()


def test_two_reports_are_no_series(tmp_path):
    assert not len(
        diff_of(tmp_path, example_study("lists", seed=1), example_study("lists", seed=2)).series
    )


# What is refused ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def odd_files(tmp_path_factory):
    """A folder of two reports, and of files that are none."""
    folder = tmp_path_factory.mktemp("odd")
    saved(example_study("lists", seed=1), folder / "a.units.parquet")
    saved(example_study("rows", seed=1), folder / "b.units.parquet")
    pd.DataFrame({"unit": ["1"]}).to_parquet(folder / "table.units.parquet")
    (folder / "text.units.parquet").write_text("no Parquet")
    (folder / "alone.json").write_text('{"report": "rating"}')
    (folder / "other.json").write_text("{}")
    (folder / "table.csv").write_text("id,label,score\n1,1,0.9\n")
    (folder / "two").mkdir()
    for name in ("a", "b"):
        shutil.copy(folder / f"{name}.units.parquet", folder / "two")
    return folder


@pytest.mark.parametrize(
    ("new", "says"),
    [
        ("b.units.parquet", "must be of one report, got classification and ranking"),
        ("table.units.parquet", "must be the units of a report"),
        ("text.json", "cannot be read as Parquet"),
        ("none.json", "none.json: no such file or folder"),
        ("alone.json", "units=yes, in Python also study.save"),
        ("other.json", "other.json: must be a report"),
        ("table.csv", "table.csv: must be a report"),
        ("two", "must hold one report, got a.units.parquet, b.units.parquet"),
    ],
)
def test_what_is_no_report_of_the_same_kind_is_refused(odd_files, new, says):
    with pytest.raises(InputError, match=says):
        ek.diff(odd_files / "a.units.parquet", odd_files / new)


def test_one_report_has_no_diff(odd_files):
    with pytest.raises(ParameterError, match="both must be given, got only old"):
        ek.diff(odd_files / "a.units.parquet")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"metrics": "ndcg@3"}, r"both reports have must be one of ndcg@5.*got 'ndcg@3'"),
        ({"gate": "better or equivalent"}, "needs a margin"),
    ],
)
def test_parameters_that_the_reports_do_not_allow_are_refused(odd_files, given, says):
    path = odd_files / "a.units.parquet"
    with pytest.raises(ParameterError, match=says):
        ek.diff(path, path, **given)


# The command --------------------------------------------------------------------------------------


@pytest.fixture
def folder_with_old_and_new(tmp_path, monkeypatch):
    """The working directory. Its folders old and new have a ranking report on the same 20 queries:
    a perfect ranking in old, the reverse in new. New also has the report alone.
    """
    monkeypatch.chdir(tmp_path)
    table = table_of_lists(1)
    good = ek.ranking(table.assign(score=table["grade"]), metrics="ndcg@5")
    bad = ek.ranking(table.assign(score=-table["grade"]), metrics="ndcg@5")
    saved(good, tmp_path / "old" / "ranking.units.parquet")
    saved(bad, tmp_path / "new" / "ranking.units.parquet")
    saved(example_study("rows", seed=1), tmp_path / "new" / "alone.units.parquet")
    return tmp_path


@pytest.mark.usefixtures("folder_with_old_and_new")
def test_the_reports_of_two_folders_are_paired_by_name(capsys):
    assert command.main(["diff", "old", "new", "-o", "out"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("out/diff-ranking.html\n\n")
    assert "20 / 0 / 0" in printed.out  # common queries / only old / only new
    assert "only in one of the folders: alone" in printed.err


def test_a_diff_of_two_folders_is_gated(folder_with_old_and_new, capsys):
    """The folder old has a report on a perfect ranking of 20 queries, new one on the reverse
    ranking by the same system, "score". So nDCG@5 of "new score", the system in the new report,
    fell: the gate "not worse" must fail, name this system, and end the command with status 3.
    """
    assert command.main(["diff", "old", "new", "-p", "gate", "not worse", "-o", "out"]) == 3
    failed = (
        "gate failed: ndcg@5: every system not worse against the old report: not met by new score"
    )
    assert failed in capsys.readouterr().err
    results = json.loads((folder_with_old_and_new / "out" / "diff-ranking.json").read_text())
    assert results["gate"]["failed"] == ["new score"]


@pytest.mark.usefixtures("folder_with_old_and_new")
def test_the_diff_of_a_folder_with_itself_passes_its_gate(capsys):
    gate = ["-p", "gate", "not worse"]
    assert command.main(["diff", "old", "old", *gate, "-o", "out", "--name", "same"]) == 0
    assert "no difference: the same units with the same values" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["old"], ["old", "out"], ["old/ranking.json", "new/alone.html"]]
)
@pytest.mark.usefixtures("folder_with_old_and_new")
def test_folders_and_files_that_are_no_two_reports_end_with_status_2(arguments):
    assert command.main(["diff", *arguments]) == 2


def test_the_command_says_that_rows_without_ids_are_not_paired(tmp_path, monkeypatch, capsys):
    """The two reports are on tables of a label and a score alone. Without ids nobody can say which
    rows they have in common.
    """
    monkeypatch.chdir(tmp_path)
    for day, seed in (("old", 1), ("new", 2)):
        table = table_of_applicants(seed)[["label", "score_m"]].rename(columns={"score_m": "score"})
        study = ek.classification(table, metrics="brier")
        saved(study, tmp_path / day / "classification.units.parquet")
    assert command.main(["diff", "old", "new", "-o", "out"]) == 0
    assert "compared as independent samples" in capsys.readouterr().out


def test_a_report_that_only_the_old_folder_has_is_named(tmp_path, monkeypatch, capsys):
    """The command compares the reports of two folders, by their names. Both folders have the report
    "ranking". The report "gone" is in the folder old alone: the command succeeds and names it.
    """
    monkeypatch.chdir(tmp_path)
    report = study_of_first_hits(1, 2)
    saved(report, tmp_path / "old" / "ranking.units.parquet")
    saved(report, tmp_path / "new" / "ranking.units.parquet")
    saved(report, tmp_path / "old" / "gone.units.parquet")
    assert command.main(["diff", "old", "new", "-o", "out"]) == 0
    assert "only in one of the folders: gone" in capsys.readouterr().err


def test_an_earlier_folder_may_lack_a_report(tmp_path, monkeypatch):
    """Of three folders of reports, the last two are compared report by report; the first only adds
    a point to the series of a report that it has. It has no report "second", which is no error.
    """
    monkeypatch.chdir(tmp_path)
    report = study_of_first_hits(1, 2)
    saved(report, tmp_path / "earlier" / "first.units.parquet")
    for day in ("old", "new"):
        saved(report, tmp_path / day / "first.units.parquet")
        saved(report, tmp_path / day / "second.units.parquet")
    assert command.main(["diff", "earlier", "old", "new", "-o", "out"]) == 0
    written = {path.name for path in (tmp_path / "out").glob("*.html")}
    assert written == {"diff-first.html", "diff-second.html"}


def test_the_head_of_a_file_says_what_made_it(tmp_path):
    """A file of units has a head in its Parquet metadata: the parameters of the report, the version
    that made it and the direction and range of each metric. The parameter "memory" is left out,
    because it changes no number.
    """
    study = ek.classification(table_of_applicants(1), metrics="brier", memory="300MB")
    path = saved(study, tmp_path / "a.units.parquet")
    head = json.loads(pq.read_schema(path).metadata[b"evalkit"])
    assert head["schema"] == units.FORM  # the version of the format
    only_table = ""  # the name of the file's only table of units
    assert head["named"] == {only_table: True}  # its rows have ids
    assert head["parameters"] == {"preds": "<DataFrame of 60>", "metrics": "brier"}
    assert head["versions"]["evalkit"] == ek.__version__
    (brier,) = head["metrics"]
    assert (brier["best"], brier["low"], brier["high"]) == ("low", 0.0, 1.0)

"""The diff of two reports: an exact account, mirrored by exchanging the reports, with the tests of
the reports.
"""

import json
from itertools import permutations
from pathlib import Path

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


def rows(seed, n=60, of=90):
    """Labels and scores of some of so many applicants, in any order, with a user, a weight and a
    slice.
    """
    rng = np.random.default_rng(seed)
    id = rng.choice(of, n, replace=False)
    label = (np.random.default_rng(0).random(of) < 0.4).astype(int)[id]
    score = np.clip(0.25 * label + 0.7 * rng.random(n), 0, 1).round(2)
    more = {
        "user": id // 2,
        "weight": rng.integers(1, 4, n).astype(float),
        "plan": np.array(["a", "b", "c"])[id % 3],
    }
    return pd.DataFrame(
        {"id": id, "label": label, "score_m": score, "score_z": rng.random(n)} | more
    )


def lists(seed, queries=20, of=30):
    rng = np.random.default_rng(seed)
    names = rng.choice(of, queries, replace=False)
    table = pd.DataFrame([(f"q{q}", f"d{i}", rng.random()) for q in names for i in range(8)])
    return table.set_axis(["query", "item", "score"], axis=1).assign(
        grade=rng.integers(0, 3, len(table)), plan=table[0]
    )


MEANS = "brier,precision,roc_auc,average_precision,f1,accuracy"
KINDS = {
    "rows": lambda seed: ek.classification(
        rows(seed).drop(columns="weight"), segments="plan", metrics=MEANS
    ),
    "weights": lambda seed: ek.classification(rows(seed), segments="plan", metrics=MEANS),
    "users": lambda seed: ek.classification(
        rows(seed), unit="user", segments="plan", metrics=f"precision,gauc,{MEANS}"
    ),
    "lists": lambda seed: ek.ranking(lists(seed), metrics="ndcg@5,average_precision,mrr"),
}


def check_account(study, mirrored):
    """The terms add up; exchanging the reports exchanges their signs and the two populations."""
    account, other = study.account, mirrored.account
    assert np.allclose(account[TERMS].sum(axis=1), account["change"], rtol=0, atol=1e-12)
    assert np.allclose(account["change"], account["new"] - account["old"], rtol=0, atol=1e-12)
    for a, b in (
        ("changed", "changed"),
        ("left", "came"),
        ("came", "left"),
        ("low", "high"),
        ("high", "low"),
    ):
        assert np.allclose(account[a], -other[b], rtol=0, atol=1e-12, equal_nan=True), a
    assert np.allclose(
        study.comparisons["p"], mirrored.comparisons["p"], rtol=0, atol=1e-12, equal_nan=True
    )
    if len(slices := study.segments) and slices["mix"].notna().all():
        added = slices.assign(both=slices["mix"] + slices["within"]).groupby("system")["both"].sum()
        change = account[account["metric"] == study.primary.label].set_index("system")["change"]
        assert np.allclose(added, change[added.index], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
# of 17 reports 4 × 272 pairs
@pytest.mark.parametrize("several", [3, pytest.param(17, marks=pytest.mark.slow)])
def test_the_terms_add_up_and_mirror(kind, several, tmp_path):
    paths = [
        saved(KINDS[kind](seed), tmp_path / f"{seed}.units.parquet") for seed in range(several)
    ]
    studies = {pair: ek.diff(*pair) for pair in permutations(paths, 2)}
    for (a, b), study in studies.items():
        assert (
            0
            < study.account["common"].min()
            < (study.account["common"] + study.account["only_new"]).max()
        )
        check_account(study, studies[b, a])


def test_each_value_is_that_of_the_report(tmp_path):
    old, new = (KINDS["users"](seed) for seed in (1, 2))
    account = ek.diff(
        saved(old, tmp_path / "a.units.parquet"), saved(new, tmp_path / "b.units.parquet")
    ).account
    for row in account.to_dict("records"):
        for side, study in (("old", old), ("new", new)):
            chosen = next(
                metric for metric in study.settings.metrics if metric.label == row["metric"]
            )
            assert row[side] == pytest.approx(
                study.estimate(chosen, row["system"]).value, abs=1e-12
            )


SHARES = "accuracy,recall,specificity,precision,npv"
NUMBERS = ["difference", "low", "high", "p"]


def on_the_same_rows(folder, *columns, metrics, **given):
    """The comparisons of the diff of two reports, and those of one report on both systems."""
    table = rows(3, n=80)[["id", "label", "score_m", "score_z", *columns]]
    paths = []
    for name, kept in (("old", "score_z"), ("new", "score_m")):
        one = table[["id", "label", *columns]].assign(score_m=table[kept])
        study = ek.classification(one, metrics=metrics, **given)
        paths.append(saved(study, folder / f"{name}.units.parquet"))
    diff = ek.diff(*paths)
    one = ek.classification(table, metrics=metrics, baseline="z", **given)
    return diff, one


def check_same(diff, one, metric):
    """p and limits of the difference are those of one report."""
    sides = [study.comparisons.set_index("metric").loc[metric] for study in (diff, one)]
    ours, theirs = (side[NUMBERS].to_numpy(float) for side in sides)
    assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
    assert sides[0]["method"] == sides[1]["method"]


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
    columns, given = DESIGNS[design]
    diff, one = on_the_same_rows(tmp_path, *columns, metrics=metric, **given)
    check_same(diff, one, metric)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "f1", "log_loss"])
def test_any_other_metric_of_the_same_rows_has_the_test_of_one_report(metric, tmp_path):
    check_same(*on_the_same_rows(tmp_path, metrics=f"{metric},accuracy"), metric)


@pytest.mark.parametrize("metric", ["accuracy", "precision", "brier"])
def test_the_values_of_the_same_rows_have_the_intervals_of_one_report(metric, tmp_path):
    diff, one = on_the_same_rows(tmp_path, metrics=metric)
    limits = [
        study.estimates.sort_values("value")[["value", "low", "high"]].to_numpy(float)
        for study in (diff, one)
    ]
    assert np.allclose(*limits, rtol=0, atol=1e-12)


def test_the_loss_of_predictions_that_are_certain_has_the_test_of_one_report(tmp_path):
    table = pd.DataFrame({"id": range(50), "label": [0, 1] * 25, "score": [0.2, 0.7] * 25})
    certain = table.assign(score=table["score"].where(table["id"] != 3, 1.0))
    paths = [
        saved(ek.classification(side, metrics="log_loss"), tmp_path / f"{name}.units.parquet")
        for name, side in (("old", table), ("new", certain))
    ]
    both = pd.concat([certain.assign(system="new"), table.assign(system="old")])
    one = ek.classification(both, metrics="log_loss", baseline="old")
    check_same(ek.diff(*paths), one, "log_loss")


def of_draws(model, seed):
    """Three answers of a model to each of 30 questions."""
    rng = np.random.default_rng(seed)
    names = {"question": np.repeat(np.arange(30), 3).astype(str), "trial": np.tile([1, 2, 3], 30)}
    return pd.DataFrame(names | {"system": model, "value": (rng.random(90) < 0.6) * 1})


def test_the_mean_of_repeated_answers_has_the_test_of_one_report(tmp_path):
    old = of_draws("old", 1)
    new = of_draws("new", 2)
    paths = [
        saved(ek.significance(side.assign(system="m")), tmp_path / f"{name}.units.parquet")
        for name, side in (("old", old), ("new", new))
    ]
    one = ek.significance(pd.concat([new, old]), baseline="old")
    check_same(ek.diff(*paths), one, "value")


def test_a_file_without_decisions_is_compared_by_the_terms_of_a_share(tmp_path):
    """As the files of earlier versions are."""
    old, new = (
        changed(
            saved(KINDS["rows"](seed), tmp_path / f"{seed}.units.parquet"), tmp_path / f"{name}"
        )
        for seed, name in ((1, "old.units.parquet"), (2, "new.units.parquet"))
    )
    for path in (old, new):
        table = pq.read_table(path)
        place = table.schema.get_field_index("predicted")
        empty = pa.nulls(len(table), pa.float64())
        pq.write_table(table.set_column(place, table.schema.field(place), empty), path)
    method = ek.diff(old, new).comparisons.set_index("metric")["method"]
    assert method["accuracy"].str.startswith("sign flip").all()


# Where a change comes from, by hand --------------------------------------------------------------


def report_of_hits(path, **hits):
    """A report of the accuracy of each plan, which is given as hits and rows."""
    rows = [
        {"plan": plan, "score": 0.9 if row < right else 0.1}
        for plan, (right, size) in hits.items()
        for row in range(size)
    ]
    table = pd.DataFrame(rows).assign(label=1, id=range(len(rows)))
    return saved(ek.classification(table, metrics="accuracy", segments="plan"), path)


def terms(study):
    """Mix and within of each slice."""
    return study.segments.set_index("slice")[["mix", "within"]].T.to_dict("list")


def test_mix_is_at_the_mean_distance_of_a_slice_from_the_whole(tmp_path):
    """The whole rises from .6 to .7, at the mean .65; slice a from .8 to .75 and from a share of .5
    to one of .8; slice b from .4 to .5 and from .5 to .2.
    """
    old = report_of_hits(tmp_path / "old.units.parquet", a=(4, 5), b=(2, 5))
    new = report_of_hits(tmp_path / "new.units.parquet", a=(6, 8), b=(1, 2))
    found = terms(ek.diff(old, new))
    assert found["a"] == pytest.approx([0.3 * (0.775 - 0.65), 0.65 * -0.05])
    assert found["b"] == pytest.approx([-0.3 * (0.45 - 0.65), 0.35 * 0.1])


def test_a_slice_that_only_one_report_has_changes_the_mix_alone(tmp_path):
    """The whole rises from .6 to .9, at the mean .75; c has half of the new rows, all right, b had
    half of the old ones, of which .4 were right.
    """
    old = report_of_hits(tmp_path / "old.units.parquet", a=(4, 5), b=(2, 5))
    new = report_of_hits(tmp_path / "new.units.parquet", a=(4, 5), c=(5, 5))
    found = terms(ek.diff(old, new))
    assert found["c"] == pytest.approx([0.5 * (1 - 0.75), 0])
    assert found["b"] == pytest.approx([-0.5 * (0.4 - 0.75), 0])


def test_one_new_system_is_not_compared_with_one_of_several_old_ones(tmp_path):
    table = rows(1).drop(columns="weight")
    several = saved(ek.classification(table, metrics="brier"), tmp_path / "old.units.parquet")
    renamed = table.rename(columns={"score_m": "score_k"}).drop(columns="score_z")
    other = saved(ek.classification(renamed, metrics="brier"), tmp_path / "new.units.parquet")
    with pytest.raises(InputError, match="must share a metric and a system"):
        ek.diff(several, other)


def first_hits(*ranks):
    """Lists of five items, whose only relevant one has this rank; 0 for a query without one."""
    rows = [
        {"query": f"q{query}", "item": f"d{at}", "score": -at, "grade": int(at == rank)}
        for query, rank in enumerate(ranks)
        for at in range(1, 6)
    ]
    return ek.ranking(pd.DataFrame(rows), metrics="mrr")


def test_a_mean_stays_a_mean_beside_units_where_it_is_undefined(tmp_path):
    old = saved(first_hits(1, 2, 0, 1), tmp_path / "old.units.parquet")
    new = saved(first_hits(2, 2, 0, 4), tmp_path / "new.units.parquet")
    study = ek.diff(old, new)
    assert study.moved.set_index("unit")["difference"].to_dict() == {"q3": -0.75, "q0": -0.5}
    assert study.account["common"].tolist() == [3]
    assert study.comparisons["method"].tolist() == ["sign flip, exact enumeration"]


def test_changes_that_cancel_are_tested(tmp_path):
    old = saved(first_hits(1, 2, 1, 1), tmp_path / "old.units.parquet")
    new = saved(first_hits(2, 1, 1, 1), tmp_path / "new.units.parquet")
    (row,) = ek.diff(old, new).comparisons.to_dict("records")
    assert (row["difference"], row["p"]) == (0, 1)


def test_a_row_is_relabelled_where_one_of_its_labels_changed(tmp_path):
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.random((30, 3)), columns=["p_a", "p_b", "p_c"]).assign(id=range(30))
    for name in "abc":
        table[f"y_{name}"] = rng.integers(0, 2, 30)
    relabelled = table.assign(y_a=table["y_a"].where(table["id"] > 2, 1 - table["y_a"]))
    paths = [
        saved(ek.classification(side, metrics="roc_auc_macro"), tmp_path / f"{day}.units.parquet")
        for day, side in (("old", table), ("new", relabelled))
    ]
    assert codes(ek.diff(*paths))["EK806"].startswith("3 rows")


def test_rows_of_other_weights_are_not_the_same_rows(tmp_path):
    table = rows(1)
    paths = [
        saved(ek.classification(side, metrics="roc_auc"), tmp_path / f"{day}.units.parquet")
        for day, side in (("old", table), ("new", table.assign(weight=table["weight"] + 1)))
    ]
    assert {*ek.diff(*paths).comparisons["method"]} == {"influence of units, t"}


def test_independent_reports_are_compared_by_t_with_the_freedom_of_both(tmp_path):
    """Ten rows each, with the same scores: twice nine degrees of freedom."""
    positive = np.array([0.9, 0.8, 0.7, 0.35, 0.3])
    negative = np.array([0.6, 0.4, 0.2, 0.15, 0.1])
    table = pd.DataFrame({"label": [1] * 5 + [0] * 5, "score": np.r_[positive, negative]})
    paths = [
        saved(
            ek.classification(table.assign(id=np.arange(10) + first), metrics="roc_auc"),
            tmp_path / f"{first}.units.parquet",
        )
        for first in (0, 100)
    ]
    wins = positive[:, None] > negative
    influence = np.r_[wins.mean(axis=1), wins.mean(axis=0)] - wins.mean()
    square = ((influence / 5) ** 2).sum() * 10 / 9
    (row,) = ek.diff(*paths).comparisons.to_dict("records")
    assert row["high"] == pytest.approx(stats.t.ppf(0.975, 18) * np.sqrt(2 * square))


def test_an_earlier_report_is_not_the_old_one(tmp_path):
    earlier, old, new = (
        saved(first_hits(*ranks), tmp_path / f"{day}.units.parquet")
        for day, ranks in enumerate(([5, 5, 5], [1, 2, 1], [2, 2, 2]))
    )
    study = ek.diff(old, new, earlier=str(earlier))
    assert study.account["old"].tolist() == pytest.approx([2.5 / 3])
    assert study.old.path == old


def test_the_unit_that_moved_most_is_first_whether_it_rose_or_fell(tmp_path):
    old = saved(first_hits(1, 2, 5), tmp_path / "old.units.parquet")
    new = saved(first_hits(5, 1, 4), tmp_path / "new.units.parquet")
    assert ek.diff(old, new).moved["unit"].tolist() == ["q0", "q1", "q2"]


# The bundled sample, against numpy, pandas and scipy ----------------------------------------------


def test_two_days():
    study = ek.diff()
    rows = {row["metric"]: row for row in study.account.to_dict("records")}
    assert (rows["brier"]["common"], rows["brier"]["only_old"], rows["brier"]["only_new"]) == (
        930,
        30,
        40,
    )
    expected = {
        "brier": -0.000100335286616,
        "accuracy": 0.00860215053763,
        "roc_auc": -0.00357872366197,
    }
    for metric, value in expected.items():
        assert rows[metric]["changed"] == pytest.approx(value, abs=1e-12)
    p = study.comparisons.set_index("metric")["p"]
    # McNemar's test: of 146 applicants that are judged otherwise, 8 more are right
    assert p["accuracy"] == pytest.approx(2 * stats.norm.sf(8 / 146**0.5), abs=1e-12)
    assert p["roc_auc"] == pytest.approx(0.775569749144, abs=2e-4)  # DeLong, here by t
    rent = study.segments.set_index("slice").loc["rent"]
    assert rent["common"] == 164
    assert rent["difference"] == pytest.approx(0.0455, abs=5e-5)
    assert study.segments["slice"][0] == "rent"
    assert study.segments["p"].is_monotonic_increasing
    assert {"account", "segments"} <= {*dir(study)}
    assert study.moved["difference"].abs().is_monotonic_decreasing
    assert not study.are_equal


# What the files prove -----------------------------------------------------------------------------


def codes(study):
    return {finding.kind.code: finding.message for finding in diff_page.every_finding(study)}


def test_identical_reports(tmp_path, capsys):
    path = saved(KINDS["lists"](1), tmp_path / "one" / "ranking.units.parquet")
    study = ek.diff(path, path)
    assert study.are_equal
    assert (study.account[["change", *TERMS]] == 0).all(axis=None)
    assert study.family == "0 comparisons on ndcg@5, Holm-adjusted"
    assert not len(study.moved)
    assert "No difference: both reports have the same queries" in str(study)


def test_a_study_in_place_of_a_report_is_refused_with_the_way():
    study = KINDS["rows"](1)
    with pytest.raises(ParameterError, match=r"must be a path: .* got BinaryStudy; study\.save"):
        ek.diff(study, study)


def test_an_edited_list_is_named_first(tmp_path):
    table = lists(1)
    query = table["query"].iloc[0]
    table.loc[table["query"] == query, "grade"] = (table["score"] > 0.5).astype(int)
    edited = table.copy()
    edited.loc[edited["query"] == query, "score"] *= -1
    order = table[table["query"] == query].sort_values("score")["item"].tolist()
    first = order[:3]
    last = order[:-4:-1]
    asked = {"metrics": "ndcg@3"}
    paths = [
        saved(ek.ranking(part, **asked), tmp_path / f"{i}.units.parquet")
        for i, part in enumerate((table, edited))
    ]
    study = ek.diff(*paths)
    assert study.moved["unit"].tolist() == [query]
    assert study.moved[["entered", "left"]].to_numpy().tolist() == [
        [", ".join(first), ", ".join(last)]
    ]
    assert "inputs: preds (data frame, 160 rows → data frame, 160 rows)." in codes(study)["EK803"]


def changed(path, to, **about):
    """A copy of a file that says other things of itself."""
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"evalkit"]) | about
    pq.write_table(table.replace_schema_metadata({"evalkit": json.dumps(head)}), to)
    return to


def test_what_differs_is_told(tmp_path):
    path = saved(KINDS["rows"](1), tmp_path / "a.units.parquet")
    input = [{"name": "a.csv", "rows": 60, "sha256": "0"}]
    path = changed(path, tmp_path / "known.units.parquet", inputs=input)
    assert "Nothing differs" in codes(ek.diff(path, path))["EK804"]
    newer = changed(path, tmp_path / "b.units.parquet", versions={"numpy": "9"})
    assert "Nothing but the versions differs" in codes(ek.diff(path, newer))["EK804"]
    other = changed(path, tmp_path / "c.units.parquet", parameters={"threshold": 0.7})
    assert "parameters: " in codes(ek.diff(path, other))["EK803"]
    silent = changed(path, tmp_path / "d.units.parquet", inputs=[])
    assert "EK805" in codes(ek.diff(path, silent))
    flipped = rows(1).drop(columns="weight")
    flipped.loc[:4, "label"] = 1 - flipped.loc[:4, "label"]
    labels = saved(ek.classification(flipped, metrics=MEANS), tmp_path / "e.units.parquet")
    study = ek.diff(path, labels)
    for each in (
        study,
        ek.diff(path, labels, metrics="brier"),
        ek.diff(path, labels, metrics="accuracy"),
    ):
        assert codes(each)["EK806"].startswith("5 rows")
    assert {*study.comparisons.set_index("metric").loc["roc_auc", "method"]} == {
        "influence of units, t"
    }
    fewer = saved(
        ek.classification(rows(2), metrics="brier", systems="m"), tmp_path / "f.units.parquet"
    )
    assert "roc_auc" in codes(ek.diff(path, fewer))["EK807"]


def test_changed_labels_are_told_whatever_metric_comes_last(tmp_path):
    @ek.mean(best="high")
    def right(label, score):
        return (score > 0.5) == label

    table = rows(1).drop(columns="weight")
    relabelled = table.assign(label=table["label"].where(table.index > 4, 1 - table["label"]))
    paths = [
        saved(ek.classification(side, metrics=["roc_auc", right]), tmp_path / f"{day}.parquet")
        for day, side in (("old.units", table), ("new.units", relabelled))
    ]
    assert codes(ek.diff(*paths))["EK806"].startswith("5 rows")


def test_one_system_that_changed_is_named_and_tested_alone(tmp_path, capsys):
    table = rows(1).drop(columns="weight")
    worse = table.assign(
        score_z=lambda t: t["score_z"].where(t["plan"] == "a", 1 - 0.9 * t["label"])
    )
    paths = [
        saved(
            ek.classification(part, segments="plan", metrics="roc_auc,brier"),
            tmp_path / day / "a.units.parquet",
        )
        for day, part in (("old", table), ("new", worse))
    ]
    study = ek.diff(*paths)
    assert (
        study.comparisons.set_index(["metric", "first"])
        .loc[("roc_auc", "new m"), ["p", "adjusted"]]
        .isna()
        .all()
    )
    alone = study.comparisons[study.comparisons["first"] == "new z"]
    assert (alone["p"] == alone["adjusted"]).all()
    assert study.headline["first"].tolist() == ["new z", "new m"]
    assert study.family == "1 comparison on roc_auc, Holm-adjusted"
    assert study.account["verdict"].tolist() == ["no difference", "worse"] * 2
    row = study.most_changed
    assert (row["system"], row["slice"] in "bc") == ("z", True)
    assert row["difference"] == study.segments.query("adjusted < 0.05")["difference"].min()
    said = f"ROC AUC of z changed most in plan {row['slice']}: −"
    assert said in str(study)
    assert "old score" in study.tables.moved.text
    assert "effect on roc_auc" in study.tables.moved.text
    assert command.main(["diff", *map(str, paths), "-o", str(tmp_path)]) == 0
    assert said in capsys.readouterr().out
    assert ek.diff(paths[0], paths[0]).most_changed is None


def check_interval_of_change(study):
    """Of independent samples the change has the interval, not what common units changed."""
    account, expected = study.account, study.comparisons
    assert account[["low", "high"]].isna().all(axis=None)
    for row in expected.to_dict("records"):
        own = account[
            (account["metric"] == row["metric"]) & (row["first"] == "new " + account["system"])
        ]
        assert own[["change_low", "change_high"]].to_numpy().tolist() == [[row["low"], row["high"]]]


def test_the_page_shows_the_interval_of_independent_samples_beside_the_change(tmp_path):
    table = rows(1, n=80)[["id", "label", "score_m"]]
    paths = [
        saved(ek.classification(half, metrics="brier"), tmp_path / f"{name}.units.parquet")
        for name, half in (("old", table[:40]), ("new", table[40:]))
    ]
    cells = diff_page.account(ek.diff(*paths)).tables[0].rows[0]
    assert [bool(cell.limits) for cell in cells[4:6]] == [True, False]


def test_common_units_leave_the_change_without_an_interval():
    account = ek.diff().account
    assert account[["change_low", "change_high"]].isna().all(axis=None)
    assert account[["low", "high"]].notna().all(axis=None)


def test_a_slice_shows_the_values_whose_difference_it_shows():
    frame = ek.diff().segments
    assert np.allclose(frame["new"] - frame["old"], frame["difference"], rtol=0, atol=1e-12)


def test_a_slice_also_has_the_values_on_all_units_of_each_report():
    study = ek.diff()
    matched = next(iter(study.deciding.values()))
    for row in study.segments.to_dict("records"):
        part = StoredSlice(study.new.segments[row["segment"]], row["slice"])
        in_slice = matched.in_slice(part)
        assert (row["old_all"], row["new_all"]) == (in_slice.old.value, in_slice.new.value)


def test_a_slice_without_common_units_has_the_values_on_all(tmp_path):
    table = rows(1, n=80).drop(columns="weight")
    paths = [
        saved(
            ek.classification(half, metrics="brier", segments="plan"),
            tmp_path / f"{name}.units.parquet",
        )
        for name, half in (("old", table[:40]), ("new", table[40:]))
    ]
    frame = ek.diff(*paths).segments
    assert frame["difference"].isna().all()
    assert np.array_equal(frame[["old", "new"]], frame[["old_all", "new_all"]])


def test_a_diff_says_where_its_units_are():
    with pytest.raises(InputError, match=r"no units of its own; read those of its reports, '.*old"):
        _ = ek.diff().units


def test_units_that_were_left_out_are_said_to_be():
    with pytest.raises(InputError, match="left out by units=False"):
        _ = ek.rating(units=False).units


def test_without_common_units_samples_are_independent(tmp_path):
    table = rows(1, n=80, of=90).drop(columns="weight")
    halves = [table[:40], table[40:]]
    paths = [
        saved(ek.classification(half, metrics=MEANS), tmp_path / f"{i}.units.parquet")
        for i, half in enumerate(halves)
    ]
    study = ek.diff(*paths)
    assert "EK802" in codes(study)
    assert "Differences of independent samples in" in study.tables.comparisons.text
    assert study.account[TERMS].isna().all(axis=None)
    assert study.comparisons["p"].notna().all()
    check_interval_of_change(study)
    numbered = [
        saved(ek.classification(h.drop(columns="id"), metrics="brier"), p)
        for h, p in zip(halves, paths, strict=True)
    ]
    assert "no ids" in codes(ek.diff(*numbered))["EK802"]
    shares = [{"page": ["a", "b"], "successes": [n, 40], "trials": [100, 90]} for n in (40, 60)]
    paths = [saved(ek.significance(pd.DataFrame(t)), p) for t, p in zip(shares, paths, strict=True)]
    row = ek.diff(*paths).account.iloc[0]
    assert (row["change"], row["only_old"], row["verdict"]) == (pytest.approx(0.2), 100, "better")


def test_units_without_slices_have_no_table_of_them(tmp_path):
    log = online_samples.log()
    made = [ek.interleaving(part, segments="device", baseline="a") for part in (log, log[4:])]
    study = ek.diff(*(saved(one, tmp_path / f"{i}.units.parquet") for i, one in enumerate(made)))
    assert [*study.old.segments] == ["device"]
    assert not len(study.segments)  # the units are users, who have several devices
    assert diff_page.segments(study).html == ""


def test_a_series_has_every_report(tmp_path):
    paths = [saved(KINDS["lists"](seed), tmp_path / f"{seed}.units.parquet") for seed in range(3)]
    study = ek.diff(paths[1], paths[2], earlier=str(paths[0]))
    assert len(study.series) == 3
    assert (study.series["low"] < study.series["high"]).all()
    assert not len(ek.diff(paths[1], paths[2]).series)


# What is refused ----------------------------------------------------------------------------------


def test_refusals(tmp_path):
    path = saved(KINDS["lists"](1), tmp_path / "a.units.parquet")
    other = saved(KINDS["rows"](1), tmp_path / "b.units.parquet")
    table = tmp_path / "table.units.parquet"
    pd.DataFrame({"unit": ["1"]}).to_parquet(table)
    (tmp_path / "text.units.parquet").write_text("no Parquet")
    (tmp_path / "alone.json").write_text('{"report": "rating"}')
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "table.csv").write_text("id,label,score\n1,1,0.9\n")
    for given, says in (
        ((path, other), "must be of one report, got classification and ranking"),
        ((path, table), "must be the units of a report"),
        ((path, tmp_path / "text.json"), "cannot be read as Parquet"),
        ((path, tmp_path / "none.json"), "none.json: no such file or folder"),
        ((path, tmp_path / "alone.json"), "units=yes, in Python also study.save"),
        ((path, tmp_path / "other.json"), "other.json: must be a report"),
        ((path, tmp_path / "table.csv"), "table.csv: must be a report"),
        ((path, tmp_path), "must hold one report, got a.units.parquet, b.units.parquet"),
    ):
        with pytest.raises(InputError, match=says):
            ek.diff(*given)
    with pytest.raises(ParameterError, match="both must be given, got only old"):
        ek.diff(path)
    with pytest.raises(
        ParameterError, match=r"both reports have must be one of ndcg@5.*got 'ndcg@3'"
    ):
        ek.diff(path, path, metrics="ndcg@3")
    with pytest.raises(ParameterError, match="needs a margin"):
        ek.diff(path, path, gate="better or equivalent")


# The command --------------------------------------------------------------------------------------


def test_folders_are_paired_by_name_and_gated(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    worse = lists(1).assign(score=lambda t: -t["grade"])
    better = lists(1).assign(score=lambda t: t["grade"])
    for day, table in (("old", better), ("new", worse)):
        saved(ek.ranking(table, metrics="ndcg@5"), tmp_path / day / "ranking.units.parquet")
    saved(KINDS["rows"](1), tmp_path / "new" / "alone.units.parquet")
    assert command.main(["diff", "old", "new", "-p", "gate", "not worse", "-o", "out"]) == 3
    said = capsys.readouterr()
    assert said.out.startswith("out/diff-ranking.html\n\n")
    assert "only in one of the folders: alone" in said.err
    assert (
        "gate failed: ndcg@5: every system not worse against the old report: not met by new score"
        in said.err
    )
    assert "20 / 0 / 0" in said.out
    results = json.loads((tmp_path / "out" / "diff-ranking.json").read_text())
    assert results["gate"]["failed"] == ["new score"]
    assert (
        command.main(
            ["diff", "old", "old", "-p", "gate", "not worse", "-o", "out", "--name", "same"]
        )
        == 0
    )
    assert "no difference: the same units with the same values" in capsys.readouterr().out
    assert command.main(["diff", "old"]) == 2
    assert command.main(["diff", "old", "out"]) == 2
    assert command.main(["diff", "old/ranking.json", "new/alone.html"]) == 2


def test_the_command_says_that_no_units_are_paired(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for day, seed in (("old", 1), ("new", 2)):
        table = rows(seed)[["label", "score_m"]].rename(columns={"score_m": "score"})
        study = ek.classification(table, metrics="brier")
        saved(study, tmp_path / day / "classification.units.parquet")
    assert command.main(["diff", "old", "new", "-o", "out"]) == 0
    assert "compared as independent samples" in capsys.readouterr().out


def test_a_report_that_only_the_old_folder_has_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for day in ("old", "new"):
        saved(first_hits(1, 2), tmp_path / day / "ranking.units.parquet")
    saved(first_hits(1, 2), tmp_path / "old" / "gone.units.parquet")
    assert command.main(["diff", "old", "new", "-o", "out"]) == 0
    assert "only in one of the folders: gone" in capsys.readouterr().err


def test_an_earlier_folder_may_lack_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for day in ("earlier", "old", "new"):
        saved(first_hits(1, 2), tmp_path / day / "first.units.parquet")
    for day in ("old", "new"):
        saved(first_hits(1, 2), tmp_path / day / "second.units.parquet")
    assert command.main(["diff", "earlier", "old", "new", "-o", "out"]) == 0
    written = {path.name for path in (tmp_path / "out").glob("*.html")}
    assert written == {"diff-first.html", "diff-second.html"}


def test_the_head_of_a_file_says_what_made_it(tmp_path):
    study = ek.classification(rows(1), metrics="brier", memory="300MB")
    head = json.loads(
        pq.read_schema(saved(study, tmp_path / "a.units.parquet")).metadata[b"evalkit"]
    )
    assert head["schema"] == units.FORM
    assert head["named"] == {"": True}
    assert head["parameters"] == {"preds": "<DataFrame of 60>", "metrics": "brier"}
    assert head["versions"]["evalkit"] == ek.__version__
    assert head["metrics"][0] | {"best": "low", "low": 0.0, "high": 1.0} == head["metrics"][0]

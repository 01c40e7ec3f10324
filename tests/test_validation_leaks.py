"""Planted leaks, and none; holdouts, repeated folds, ids in two folds: as the validation study
finds them.
"""

import json

import jsonschema
import numpy as np
import pandas as pd
import pytest
from samples import examples
from validation_tables import (
    CANCER,
    CREDIT,
    FAST,
    ROOT,
    applicants,
    cancer,
    labelled,
    noise,
    severe,
    visits,
)

from evalkit.arrays import InputError
from evalkit.numbers import of_frame
from evalkit.pages import validation_page
from evalkit.statistics.intervals import mover, wilson
from evalkit.studies import validation

# Planted leaks, and none


def test_copied_rows_fail():
    study = labelled(
        pd.concat([cancer(), cancer().iloc[:60]]).drop(columns="id"), target="diagnosis"
    )
    assert study.word == "fail"
    assert severe(study)["duplicate rows"].count >= 90
    assert "Do not rely on this evaluation" in validation_page.verdict(study).text


@pytest.mark.parametrize("levels, times", [(2, 2), (4, 3), (np.inf, 2)])
def test_a_table_copied_whole_fails_however_coarse_its_columns(levels, times):
    rng = np.random.default_rng(11)
    values = rng.normal(size=(300, 4)) if levels == np.inf else rng.integers(0, levels, (300, 4))
    frame = pd.DataFrame(values).rename(columns=str).assign(label=rng.integers(0, 2, 300))
    study = labelled(pd.concat([frame] * times, ignore_index=True))
    assert study.word == "fail"
    assert f"every row occurs {times} times" in severe(study)["duplicate rows"].message
    clean = {one.name: one.severity for one in labelled(frame).audited}
    assert set(clean.values()) <= {"note"}


def test_copies_that_their_group_keeps_together_are_no_leak():
    rng = np.random.default_rng(14)
    frame = (
        pd.DataFrame(rng.integers(0, 3, (300, 3)))
        .rename(columns=str)
        .assign(label=rng.integers(0, 2, 300))
    )
    frame = frame.assign(group=np.arange(300))
    assert not severe(labelled(pd.concat([frame, frame], ignore_index=True)))


def test_copies_among_coarse_rows_cannot_be_told_from_coincidence():
    rng = np.random.default_rng(12)
    frame = (
        pd.DataFrame(rng.integers(0, 3, (600, 4)))
        .rename(columns=str)
        .assign(label=rng.integers(0, 2, 600))
    )
    study = labelled(pd.concat([frame, frame.iloc[:60]], ignore_index=True))
    assert not severe(study)
    found = {one.name: one for one in study.audited}
    assert "copies of a few rows could not be detected" in found["coarse rows"].message
    assert found["conflicting labels"].severity == "note"


def test_unlike_labels_of_equal_measurements_are_a_warning():
    frame = noise(300, seed=13)
    again = frame.iloc[:40].assign(label=1 - frame["label"].iloc[:40])
    study = labelled(pd.concat([frame, again], ignore_index=True))
    assert {one.name: one.severity for one in study.audited}["conflicting labels"] == "warning"


def test_the_target_as_a_feature_fails():
    frame = cancer()
    study = labelled(
        frame.assign(code=np.where(frame["diagnosis"] == "benign", "B", "M")), target="diagnosis"
    )
    assert "code alone predicts the label" in severe(study)["single feature"].message


def test_a_user_in_two_folds_fails():
    frame = pd.read_csv(CREDIT).query("model == 'forest'").drop(columns="model")
    whole = validation.read(frame.assign(group=frame["fold"].astype(str) + frame["age_band"]))
    assert not severe(whole)
    study = validation.read(frame.assign(group=np.arange(1000) // 10))
    assert severe(study)["group on both sides"].count > 900


def test_rows_without_ids_are_named_by_their_numbers_in_the_file():
    groups = [f"g{i % 40}" if i in (45, 50, 85, 90) else f"own {i}" for i in range(120)]
    frame = pd.DataFrame(
        {"label": np.arange(120) % 2, "score": np.linspace(0, 1, 120), "group": groups}
    )
    study = validation.read(frame.assign(fold=np.repeat(["valid", "train", "test"], 40)))
    (finding,) = (finding for finding in study.audited if finding.name == "group on both sides")
    assert study.examples_of(finding, 3) == ["row 86", "row 91"]


def test_an_id_in_two_folds_fails():
    frame = pd.read_csv(CREDIT).query("model == 'forest'").drop(columns="model")
    copied = frame.iloc[:7].assign(fold=(frame["fold"].iloc[:7] + 1) % 5)
    study = validation.read(pd.concat([frame, copied]))
    assert severe(study)["id on both sides"].count == 14
    assert "gc0000" in validation_page.leakage(study).html


def test_training_on_the_future_fails_and_blocks_of_time_do_not():
    frame = pd.DataFrame(
        {
            "label": np.arange(100) % 2,
            "score": np.linspace(0.2, 0.8, 100) * (np.arange(100) % 7) / 7,
        }
    )
    day = pd.date_range("2026-01-01", periods=100).strftime("%Y-%m-%d")
    study = validation.read(frame.assign(fold=np.arange(100) % 5, time=day))
    assert severe(study)["time travel"].count > 50
    study = validation.read(frame.assign(fold=np.arange(100) // 20, time=day))
    assert not severe(study)
    assert "blocks of time" in study.folds.rule
    assert study.by_fold["train"].head(5).tolist() == [0, 20, 40, 60, 80]


def test_a_score_that_is_the_label_and_scores_on_other_scales():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "label": np.arange(400) % 2,
            "fold": rng.permutation(np.arange(400) % 4),
            "id": np.arange(400),
        }
    )
    assert "score is the label" in severe(validation.read(frame.assign(score=frame["label"])))
    score = rng.uniform(0, 0.2, 400) + 0.1 * frame["label"] + 0.15 * frame["fold"]
    study = validation.read(frame.assign(score=score))
    assert study.word == "cannot tell"
    assert "score scale" in [one.name for one in study.audited]


def leaves(jitter, rows=1000):
    """Scores of a small tree: four values, each a little different in each fold; in rows."""
    rng = np.random.default_rng(8)
    fold = np.arange(rows) % 5
    leaf = rng.integers(4, size=rows)
    label = rng.random(rows) < np.array([0.05, 0.3, 0.7, 0.95])[leaf]
    score = np.array([0.05, 0.3, 0.7, 0.95])[leaf] + jitter * (fold - 2)
    return pd.DataFrame({"id": np.arange(rows), "label": label * 1, "score": score, "fold": fold})


def checks_of(frame):
    return [one.name for one in validation.read(frame).audited]


@pytest.mark.parametrize("rows", [300, 1000, 20_000])
def test_leaves_that_differ_little_by_fold_are_on_one_scale(rows):
    assert "score scale" not in checks_of(leaves(0.002, rows))


@pytest.mark.parametrize("rows", [300, 1000])
def test_leaves_that_are_shifted_by_fold_are_on_other_scales(rows):
    assert "score scale" in checks_of(leaves(0.15, rows))


def test_a_fold_whose_scores_have_another_factor_is_on_another_scale():
    frame = leaves(0.01).assign(score=lambda f: f["score"] * np.where(f["fold"] == 1, 1000, 1))
    assert "score scale" in checks_of(frame)


def test_another_system_on_other_scales_is_a_note_where_the_mean_of_folds_decides():
    good = leaves(0.0, 500)
    random = np.random.default_rng(3).random(500)
    poor = good.assign(score=random + 0.5 * good["fold"], model="poor")
    study = validation.read(pd.concat([good.assign(model="good"), poor]))
    found = {one.name: one for one in study.audited}
    assert found["score scale"].message.startswith("poor: ")
    assert found["score scale"].severity == "note"
    assert study.subject == "good"


def test_one_bad_fold_is_heterogeneous():
    rng = np.random.default_rng(3)
    fold = np.arange(500) % 5
    label = rng.integers(2, size=500)
    right = np.where(fold == 4, 0.4, 0.8)
    score = np.where(rng.uniform(size=500) < right, label, 1 - label) * 0.6 + 0.2
    study = validation.read(
        pd.DataFrame({"label": label, "score": score, "fold": fold, "id": np.arange(500)})
    )
    assert study.heterogeneity["p"] < 1e-6
    assert not study.intervals.iloc[0]["honest"]
    assert "mean of folds, Nadeau–Bengio" in validation_page.verdict(study).html
    assert "heterogeneous folds" in [one.name for one in study.audited]
    from scipy.stats import chi2_contingency

    table = pd.crosstab(fold, (score > 0.5) == label).to_numpy()
    # The pooled variance is over n − 1 rows, chi-square's over n.
    assert study.heterogeneity["q"] == pytest.approx(
        chi2_contingency(table, correction=False).statistic * 499 / 500
    )


def test_only_a_fold_column_can_prove_nothing():
    rng = np.random.default_rng(4)
    label = np.arange(200) % 2
    frame = pd.DataFrame(
        {
            "label": label,
            "score": 0.3 * label + rng.uniform(0, 0.7, 200),
            "fold": np.arange(200) // 40,
        }
    )
    study = validation.read(frame)
    assert study.word == "cannot tell"
    assert "no id" in validation_page.verdict(study).html


@pytest.mark.parametrize("seed", range(3))
def test_noise_raises_nothing_severe(seed):
    study = labelled(noise(200, seed=seed))
    assert not severe(study)
    assert study.paired.iloc[0]["verdict"] in ("cannot tell", "worse")


# A selection outside the folds


def planted(
    *, seed: int, rows: int = 100, columns: int = 1000, kept: int = 10
) -> tuple[pd.DataFrame, list[str]]:
    """Noise with labels of two equal classes, and the columns whose class means lie furthest apart
    on all rows.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    y = np.arange(rows) % 2
    apart = np.abs(x[y == 1].mean(axis=0) - x[y == 0].mean(axis=0))
    frame = pd.DataFrame(x, columns=[f"g{i}" for i in range(columns)]).assign(label=y)
    return frame, [f"g{i}" for i in np.argsort(apart)[-kept:]]


def test_a_selection_outside_the_folds_fails_and_the_page_shows_both():
    frame, kept = planted(seed=4)
    study = labelled(frame, selected=kept)
    assert study.word == "fail"
    found = severe(study)["selection outside"]
    assert "10 of 1,000 columns were selected outside the folds" in found.message
    assert "Do not rely on this evaluation" in validation_page.verdict(study).text
    outside, again, inside = study.selection["value"]
    assert min(outside, again) > 0.65
    assert inside == pytest.approx(0.5, abs=0.15)  # three standard errors of 100 rows
    shown = validation_page.selection(study)
    places = of_frame(study.selection, "value")
    assert f"<s>{outside:.{places}f}" in shown.html
    assert f"{inside:.{places}f} [" in shown.text
    assert "not set" not in validation_page.verdict(study).text


def test_the_selection_inside_a_fold_sees_its_training_rows_alone():
    from sklearn.feature_selection import SelectKBest
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame, kept = planted(seed=4, columns=60)
    study = labelled(frame, selected=kept)
    model = make_pipeline(StandardScaler(), SelectKBest(k=10), LogisticRegression(max_iter=1000))
    said = cross_val_predict(model, frame.drop(columns="label"), frame["label"], cv=study.folds)
    assert study.selection["value"].iloc[-1] == pytest.approx((said == frame["label"]).mean())


def test_columns_named_without_a_look_at_the_label_are_no_leak():
    frame, _ = planted(seed=4)
    study = labelled(frame, selected=[f"g{i}" for i in range(10)])
    assert not severe(study)
    assert [one.severity for one in study.audited if one.name == "selection outside"] == ["note"]


@pytest.mark.parametrize(
    "asked",
    [
        {"features": CANCER, "target": "diagnosis", "selected": "worst_*"},
        {"features": applicants(), "selected": "housing,credit_amount", "metrics": "roc_auc"},
        {
            "features": visits(1500),
            "target": "mdvis",
            "columns": {"group": "person"},
            "selected": "disea,physlm",
        },
    ],
)
def test_a_selection_on_clean_data_is_no_severe_finding(asked):
    study = validation.read(**asked, **FAST)
    assert not severe(study)
    assert len(validation_page.selection(study).html) > 100


# Every bundled set


BUNDLED = examples("bundled")
NO_TARGET = {
    "digits_retrieval/queries.csv"
}  # queries and what they show: nothing to predict it from
OF_UNITS = {
    f"two_days/{day}/classification.units.parquet" for day in ("old", "new")
}  # what reports were computed from


def test_every_bundled_table_is_looked_at():
    data = ROOT / "data"
    tables = {
        str(path.relative_to(data))
        for path in data.rglob("*")
        if path.suffix in (".csv", ".parquet")
    }
    assert tables == set(BUNDLED) | NO_TARGET | OF_UNITS


def looked_at(name, **more):
    """The study of a bundled table."""
    asked = {key: value for key, value in BUNDLED[name].items() if key != "frame"}
    features = visits(20190) if "frame" in BUNDLED[name] else f"data/{name}"
    return validation.read(features=features, **asked | FAST | more)


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_set_raises_no_severe_finding(name):
    study = looked_at(name)
    assert not severe(study)
    if "ignore" in BUNDLED[name]:
        assert "named by ignore" in validation_page.findings(study).text


@pytest.mark.parametrize(
    "name, column",
    [("digit_traits/predictions.csv", "digit"), ("interleaving/sessions.parquet", "hours")],
)
def test_a_column_that_tells_the_target_is_found_until_it_is_ignored(name, column):
    ignored = ",".join(one for one in BUNDLED[name]["ignore"].split(",") if one != column)
    study = looked_at(name, ignore=ignored)
    assert f"{column} alone predicts the label" in severe(study)["single feature"].message


def scored(n: int = 200, *, seed: int = 0) -> pd.DataFrame:
    """Rows of an id, a label and a score that knows something of it."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) % 2)
    score = np.clip(0.5 + 0.2 * (label - 0.5) + rng.normal(0, 0.25, n), 0, 1)
    return pd.DataFrame({"id": [f"r{i:04}" for i in range(n)], "label": label, "score": score})


def held_out(train: str = "train", test: str = "test") -> pd.DataFrame:
    """Of 200 rows 120 train, whose scores are all but the label, and 80 test."""
    frame = scored().assign(fold=np.where(np.arange(200) < 120, train, test))
    fitted = frame["fold"] == train
    return frame.assign(score=np.where(fitted, 0.1 + 0.8 * frame["label"], frame["score"]))


def repeated(repeats: int = 5, k: int = 4) -> pd.DataFrame:
    """The same 200 ids in each repeat, with folds drawn anew and nearly the same scores."""
    parts = []
    rng = np.random.default_rng(3)
    for i in range(repeats):
        one = scored().assign(repeat=i, fold=rng.permutation(np.arange(200) % k))
        parts.append(one.assign(score=np.clip(one["score"] + rng.normal(0, 0.01, 200), 0, 1)))
    return pd.concat(parts, ignore_index=True)


def by_what(study) -> pd.DataFrame:
    return study.intervals.set_index("what")


def whole_page(study) -> str:
    """The texts and pictures of the page, and results that keep to the schema."""
    schema = json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))
    published = validation_page.results(study)._repr_mimebundle_()["application/vnd.evalkit+json"]
    jsonschema.validate(published, schema)
    json.dumps(published, allow_nan=False)
    for draw in (validation_page.fold_map, validation_page.folds, validation_page.interval_plot):
        assert draw(study).svg
    of_page = [
        getattr(validation_page, name)
        for name in ("title", "verdict", "findings", "leakage", "definitions")
    ]
    of_folds = [
        validation_page.intervals,
        validation_page.by_fold,
        validation_page.paired,
        validation_page.estimates,
    ]
    return "\n".join(part(study).html for part in [*of_page, *of_folds])


# A holdout


@pytest.mark.parametrize(
    "train, test",
    [
        ("train", "test"),
        ("training", "testing"),
        ("Train", "Holdout"),
        ("train", "held-out"),
        ("train", "valid"),
    ],
)
def test_a_holdout_is_one_test_set_with_its_training_gap(train, test):
    frame = held_out(train, test)
    study = validation.read(frame)
    tests = frame[frame["fold"] == test]
    right = int(((tests["score"] >= 0.5) == tests["label"]).sum())
    row = by_what(study).loc["on the test rows"]
    assert (row["n"], row["value"]) == (80, right / 80)
    assert "pooled out of fold" not in by_what(study).index
    gap = study.training_gap
    assert gap == mover(wilson(120, 120), wilson(right, 80))
    assert gap.value == pytest.approx(1 - right / 80)
    assert gap.low > 0
    text = whole_page(study)
    assert "80 test rows of one holdout" in text
    assert "on 120 training rows minus that on 80 test rows" in text
    assert "ooled out of fold" not in text.split("<dl")[0]
    assert study.paired.iloc[0]["verdict"] == "better"  # than the majority, on the test rows


def test_the_majority_of_a_holdout_is_that_of_its_training_rows():
    frame = held_out()
    frame["label"] = np.where(
        np.arange(200) < 120, np.arange(200) % 3 > 0, np.arange(200) % 3 == 0
    ).astype(int)
    study = validation.read(frame)
    tests = frame[frame["fold"] == "test"]
    assert study.estimate(study.primary, "majority").value == tests["label"].mean()


def test_the_validation_rows_beside_a_test_set_are_left_out_and_counted():
    frame = held_out()
    three = pd.concat(
        [frame, scored(50, seed=9).assign(id=[f"v{i}" for i in range(50)], fold="dev")]
    )
    study = validation.read(three)
    assert study.training_gap == validation.read(frame).training_gap
    assert "50 rows of the fold dev: a validation set" in validation_page.findings(study).text


@pytest.mark.parametrize(
    "train, test",
    [
        ("tr", "te"),
        ("in-sample", "out-of-sample"),
        ("train", "OOT"),
        ("seen", "unseen"),
        ("fit", "oos"),
    ],
)
def test_a_holdout_by_other_names_is_one_test_set(train, test):
    frame = held_out()
    named = frame.assign(fold=frame["fold"].map({"train": train, "test": test}))
    study = validation.read(named)
    usual = validation.read(frame)
    assert study.holdout
    assert study.training_gap == usual.training_gap


@pytest.mark.parametrize("name", ["seed", "iteration", "Random State", "draw"])
def test_folds_drawn_several_times_under_another_name_are_refused_by_name(name):
    frame = repeated()
    assert validation.read(frame).examples.repeats > 1
    with pytest.raises(InputError, match=f"columns='repeat={name}'"):
        validation.read(frame.rename(columns={"repeat": name}))
    assert (
        validation.read(
            frame.rename(columns={"repeat": name}), columns={"repeat": name}
        ).examples.repeats
        > 1
    )
    leak = scored().assign(
        id=[f"i{max(i, 1)}" for i in range(200)], fold=np.arange(200) % 4, **{name: 0}
    )
    assert "id on both sides" in severe(validation.read(leak))


def test_a_holdout_of_dated_rows_and_of_groups():
    frame = held_out().assign(time=np.arange(200), group=np.arange(200) // 4)
    study = validation.read(frame)
    assert not severe(study)
    assert by_what(study).loc["on the test rows", ["n", "unit"]].tolist() == [20, "group"]
    assert study.training_gap.n == 50
    late = validation.read(frame.assign(time=frame["time"].to_numpy()[::-1]))
    assert severe(late)["time travel"].count == 80


def test_an_id_on_both_sides_of_a_holdout_is_the_severe_finding():
    frame = held_out()
    frame.loc[199, "id"] = frame.loc[0, "id"]
    assert severe(validation.read(frame))["id on both sides"].count == 1


def test_a_holdout_beside_features_is_fitted_once():
    frame = noise(200).assign(fold=np.where(np.arange(200) < 120, "train", "test"))
    study = validation.read(features=frame, **FAST)
    assert [test.size for _, test in study.folds.pairs] == [80]
    assert study.training_gap.n == 200
    assert "80 test rows of one holdout" in whole_page(study)


# Repeats


@pytest.mark.parametrize("name", ["repeat", "repetition", "rep"])
def test_repeated_folds_count_each_id_once(name):
    frame = repeated()
    study = validation.read(frame.rename(columns={"repeat": name}))
    assert not severe(study)
    pooled = by_what(study).loc["pooled out of fold, ids with all their repeats"]
    assert (pooled["n"], pooled["unit"]) == (200, "id")
    right = (frame["score"] >= 0.5) == frame["label"]
    assert pooled["value"] == pytest.approx(right.groupby(frame["id"]).mean().mean())
    naive = by_what(study).loc["pooled, as if each repeat of an id were another row"]
    assert not naive["honest"]
    # √5 = 2.2 for copies
    assert pooled["high"] - pooled["low"] > 1.8 * (naive["high"] - naive["low"])
    assert len(study.tests) == 20
    assert study.paired.iloc[0][["n", "unit"]].tolist() == [20, "fold"]
    text = whole_page(study)
    assert "200 ids, 5 repeats of 4 folds" in text
    assert "drawn 5 times: the 1,000 rows have 200 ids, each of them in 5 rows" in text


def test_repeated_folds_of_two_systems_are_paired_by_id_and_repeat():
    one = repeated()
    both = pd.concat([one.assign(system="a"), one.assign(system="b", score=1 - one["score"])])
    study = validation.read(both)
    assert study.compare_pooled(study.primary, ("a", "b")).difference.n == 200
    assert not severe(study)


def test_one_repeat_is_no_repeat():
    study = validation.read(repeated(1))
    assert by_what(study).loc["pooled out of fold", ["n", "method"]].tolist() == [200, "Wilson"]


def test_an_id_in_two_folds_of_one_repeat_is_the_severe_finding():
    frame = repeated()
    copy = frame.iloc[[0]].assign(fold=(frame["fold"].iloc[0] + 1) % 4)
    assert severe(validation.read(pd.concat([frame, copy])))["id on both sides"].count == 2


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda d: d.drop(columns="id"),
            "the column 'repeat' numbers repeats of rows, so an id column must",
        ),
        (
            lambda d: d.assign(label=np.where(d.index == 200, 1 - d["label"], d["label"])),
            "row 201: label must have one value",
        ),
        (
            lambda d: d.assign(fold=np.where(d["repeat"] == 2, 0, d["fold"])),
            "in each repeat, got only '0' in repeat",
        ),
        (
            lambda d: pd.concat([d, d.iloc[[7]]]),
            "id 'r0007' must occur once per repeat and fold, got it again",
        ),
    ],
)
def test_repeats_that_cannot_be_meant_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        validation.read(change(repeated()))


def test_rows_that_come_twice_are_refused_without_a_column_of_repeats_too():
    frame = scored().assign(fold=np.arange(200) % 4)
    with pytest.raises(
        InputError, match=r"row 201: id '.*' must occur once per fold, got it again; .*'group=id'"
    ):
        validation.read(pd.concat([frame, frame]))
    assert len(validation.read(pd.concat([frame, frame]), columns="group=id").examples) == 400


def test_features_that_are_repeated_are_refused_by_name():
    frame = noise(60).assign(id=np.arange(60), fold=np.arange(60) % 3)
    both = pd.concat([frame.assign(repeat=0), frame.assign(repeat=1)])
    with pytest.raises(
        InputError, match="must hold each row once, got the column 'repeat' beside id and fold"
    ):
        validation.read(features=both, **FAST)


# An id in two folds


def test_an_id_in_two_folds_is_the_severe_finding_with_a_system_column_too():
    frame = scored().assign(fold=np.arange(200) % 4)
    frame = pd.concat([frame, frame.iloc[:7].assign(fold=(np.arange(7) + 1) % 4)])
    both = pd.concat([frame.assign(system="a"), frame.assign(system="b", score=1 - frame["score"])])
    study = validation.read(both)
    assert study.word == "fail"
    assert severe(study)["id on both sides"].count == 14
    assert len(study.examples) == 207


def test_systems_with_other_folds_are_refused():
    frame = scored().assign(fold=np.arange(200) % 4)
    moved = frame.assign(system="b", fold=np.where(np.arange(200) == 5, 0, frame["fold"]))
    with pytest.raises(
        InputError, match="id 'r0005' must be in the same folds in every system, got fold '1'"
    ):
        validation.read(pd.concat([frame.assign(system="a"), moved]))

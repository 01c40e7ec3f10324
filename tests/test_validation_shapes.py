"""The shapes of folds that people have: a holdout, repeated folds, an id in two folds."""

import json

import jsonschema
import numpy as np
import pandas as pd
import pytest
from validation_tables import FAST, ROOT, noise, severe

from evalkit.arrays import InputError
from evalkit.pages import validation_page
from evalkit.statistics.intervals import mover, wilson
from evalkit.studies import validation


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
    parts, rng = [], np.random.default_rng(3)
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
    of_page = [getattr(validation_page, name) for name in ("title", "verdict", "findings", "leakage", "definitions")]
    of_folds = [validation_page.intervals, validation_page.by_fold, validation_page.paired, validation_page.estimates]
    return "\n".join(part(study).html for part in [*of_page, *of_folds])


# A holdout


@pytest.mark.parametrize(
    "train, test",
    [("train", "test"), ("training", "testing"), ("Train", "Holdout"), ("train", "held-out"), ("train", "valid")],
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
    frame["label"] = np.where(np.arange(200) < 120, np.arange(200) % 3 > 0, np.arange(200) % 3 == 0).astype(int)
    study = validation.read(frame)
    tests = frame[frame["fold"] == "test"]
    assert study.estimate(study.primary, "majority").value == tests["label"].mean()


def test_the_validation_rows_beside_a_test_set_are_left_out_and_counted():
    frame = held_out()
    three = pd.concat([frame, scored(50, seed=9).assign(id=[f"v{i}" for i in range(50)], fold="dev")])
    study = validation.read(three)
    assert study.training_gap == validation.read(frame).training_gap
    assert "50 rows of the fold dev: a validation set" in validation_page.findings(study).text


@pytest.mark.parametrize(
    "train, test", [("tr", "te"), ("in-sample", "out-of-sample"), ("train", "OOT"), ("seen", "unseen"), ("fit", "oos")]
)
def test_a_holdout_by_other_names_is_one_test_set(train, test):
    frame = held_out()
    named = frame.assign(fold=frame["fold"].map({"train": train, "test": test}))
    study, usual = validation.read(named), validation.read(frame)
    assert study.holdout
    assert study.training_gap == usual.training_gap


@pytest.mark.parametrize("name", ["seed", "iteration", "Random State", "draw"])
def test_folds_drawn_several_times_under_another_name_are_refused_by_name(name):
    frame = repeated()
    assert validation.read(frame).examples.repeats > 1
    with pytest.raises(InputError, match=f"columns='repeat={name}'"):
        validation.read(frame.rename(columns={"repeat": name}))
    assert validation.read(frame.rename(columns={"repeat": name}), columns={"repeat": name}).examples.repeats > 1
    leak = scored().assign(id=[f"i{max(i, 1)}" for i in range(200)], fold=np.arange(200) % 4, **{name: 0})
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
    assert pooled["high"] - pooled["low"] > 1.8 * (naive["high"] - naive["low"])  # √5 = 2.2 for copies
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
        (lambda d: d.drop(columns="id"), "the column 'repeat' numbers repeats of rows, so an id column must"),
        (
            lambda d: d.assign(label=np.where(d.index == 200, 1 - d["label"], d["label"])),
            "row 201: label must have one value",
        ),
        (lambda d: d.assign(fold=np.where(d["fold"] > 1, "train", "test")), "got the holdout 'test' and 'train'"),
        (lambda d: d.assign(fold=np.where(d["repeat"] == 2, 0, d["fold"])), "in each repeat, got only '0' in repeat"),
        (lambda d: pd.concat([d, d.iloc[[7]]]), "id 'r0007' must occur once per repeat and fold, got it again"),
    ],
)
def test_repeats_that_cannot_be_meant_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        validation.read(change(repeated()))


def test_features_that_are_repeated_are_refused_by_name():
    frame = noise(60).assign(id=np.arange(60), fold=np.arange(60) % 3)
    both = pd.concat([frame.assign(repeat=0), frame.assign(repeat=1)])
    with pytest.raises(InputError, match="must hold each row once, got the column 'repeat' beside id and fold"):
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
    with pytest.raises(InputError, match="id 'r0005' must be in the same folds in every system, got fold '1'"):
        validation.read(pd.concat([frame.assign(system="a"), moved]))

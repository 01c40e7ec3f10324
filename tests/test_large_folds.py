"""Out-of-fold predictions that are read shard by shard: the same page as from memory, and the same refusals."""

from dataclasses import replace

import large_folds
import numpy as np
import pandas as pd
import pytest
from large_folds import NUMBER, SHAPES, SMALL, TWO, held, summed

from evalkit.arrays import InputError, ParameterError
from evalkit.limits import Limits, Reading
from evalkit.pages import folds_page, validation_findings, validation_page
from evalkit.reading.reductions import folds
from evalkit.studies.validity_rows import RowsStudy
from evalkit.studies.validity_sums import SumsStudy

KINDS = {"scores": (large_folds.scored, TWO), "forecasts": (large_folds.forecast, NUMBER)}
CASES = [(kind, shape) for kind in KINDS for shape in SHAPES]
BY_JACKKNIFE = "influence sums, two passes"  # in place of the jackknife, as the page says


def both(kind, shape, **more):
    table, metrics = KINDS[kind]
    data = SHAPES[shape](table())
    return held(data, metrics=metrics, **more), summed(data, metrics=metrics, **more)


def numbers(frame, columns):
    return frame[list(columns)].to_numpy(float)


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def studies(request):
    return both(*request.param)


def test_each_place_of_rows_has_its_study(studies):
    assert isinstance(studies[0], RowsStudy)
    assert isinstance(studies[1], SumsStudy)


def test_folds_and_facts_are_those_of_memory(studies):
    memory, sums = studies
    assert vars(sums.split) | {"names": None} == vars(memory.split) | {"names": None}
    assert list(sums.split.names) == memory.split.names
    same = ("columns", "read", "rows", "classes", "left_out", "repeats", "dated", "precision", "ends", "known")
    assert {name: getattr(sums.facts, name) for name in same} == {name: getattr(memory.facts, name) for name in same}
    assert sums.facts.label.classes == memory.facts.label.classes
    assert sums.facts.label.mean == pytest.approx(memory.facts.label.mean, rel=1e-12)
    if memory.facts.repeats > 1:
        assert sums.facts.per_id == memory.facts.per_id


def test_values_of_folds_are_those_of_memory(studies):
    memory, sums = studies
    assert sums.systems == memory.systems
    counts = numbers(memory.by_fold, ("train", "test", "label"))
    np.testing.assert_allclose(numbers(sums.by_fold, ("train", "test", "label")), counts, rtol=1e-12)
    named = [chosen.label for chosen in memory.settings.metrics] + ["on_train"] * ("on_train" in memory.by_fold)
    np.testing.assert_allclose(numbers(sums.by_fold, named), numbers(memory.by_fold, named), rtol=1e-12, atol=1e-12)
    exact = [label for label in named if label in ("accuracy", "f1", "mcc", "precision", "roc_auc")]
    assert (sums.by_fold[exact].fillna(-1) == memory.by_fold[exact].fillna(-1)).all(axis=None)


def test_pooled_values_have_the_intervals_of_memory(studies):
    memory, sums = studies
    m, s = memory.estimates, sums.estimates
    assert s["system"].tolist() == m["system"].tolist()
    np.testing.assert_allclose(numbers(s, ("value", "n")), numbers(m, ("value", "n")), rtol=1e-12, atol=1e-12)
    like = (m["method"] == s["method"]).to_numpy()
    np.testing.assert_allclose(
        numbers(s, ("low", "high"))[like], numbers(m, ("low", "high"))[like], rtol=1e-12, atol=1e-12
    )
    assert set(s["method"][~like]) <= {BY_JACKKNIFE}
    np.testing.assert_allclose(
        numbers(s, ("low", "high"))[~like], numbers(m, ("low", "high"))[~like], rtol=0.05, atol=0.05
    )
    assert like.sum() > len(like) // 4 or sums.settings.unit


def test_paired_differences_and_intervals_are_those_of_memory(studies):
    memory, sums = studies
    by_fold = ("folds", "by_fold", "low", "high", "p", "p_naive", "pooled", "n")
    m, s = memory.paired, sums.paired
    assert s[["first", "second", "verdict"]].equals(m[["first", "second", "verdict"]])
    np.testing.assert_allclose(numbers(s, by_fold), numbers(m, by_fold), rtol=1e-9, atol=1e-11)
    limits = ("pooled_low", "pooled_high")
    np.testing.assert_allclose(numbers(s, limits), numbers(m, limits), rtol=0.02, atol=0.01)
    assert sums.intervals["what"].tolist() == memory.intervals["what"].tolist()
    assert sums.intervals["honest"].tolist() == memory.intervals["honest"].tolist()
    values = ("value", "n")
    np.testing.assert_allclose(numbers(sums.intervals, values), numbers(memory.intervals, values), rtol=1e-12)


def test_folds_differ_as_in_memory(studies):
    memory, sums = studies
    np.testing.assert_allclose(list(sums.unlike.values()), list(memory.unlike.values()), rtol=1e-9)
    if memory.training_gap is not None:
        assert sums.training_gap.value == pytest.approx(memory.training_gap.value, rel=1e-12)
        assert sums.training_gap.low == pytest.approx(memory.training_gap.low, abs=0.01)


def test_what_leaks_is_found_as_in_memory(studies):
    memory, sums = studies

    def told(study):
        return {(one.kind, one.severity, one.message, one.count, one.of) for one in study.findings}

    assert told(sums) == told(memory)
    assert sums.word == memory.word
    assert sums.checks == memory.checks


def test_the_map_is_that_of_memory(studies):
    memory, sums = studies
    if not sums.axis:
        assert memory.axis == "row"
        assert "1,048,576" in folds_page.fold_map(sums).html
        return
    assert sums.axis == memory.axis
    pd.testing.assert_frame_equal(sums.stretches(120), memory.stretches(120))


def test_the_page_says_the_same_of_the_data(studies):
    memory, sums = studies
    of_data = [[one.message for one in validation_findings.of_data(study)] for study in studies]
    assert of_data[0] == of_data[1]
    for piece in (validation_page.title, validation_page.leakage, folds_page.by_fold, validation_page.definitions):
        assert len(piece(sums).html) > 50
    assert folds_page.by_fold(sums).html == folds_page.by_fold(memory).html


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", ["plain", "crossing"])
def test_no_number_depends_on_the_shards(kind, shape):
    table, metrics = KINDS[kind]
    data = SHAPES[shape](table())
    few = summed(data, metrics=metrics)
    whole = summed(data, Limits(reading=replace(SMALL.reading, shard=10**6)), metrics=metrics)
    sorted_units = summed(data, Limits(reading=replace(SMALL.reading, units=1)), metrics=metrics)
    for other in (whole, sorted_units):
        columns = ("value", "low", "high", "n")
        np.testing.assert_allclose(numbers(other.estimates, columns), numbers(few.estimates, columns), rtol=1e-10)
        np.testing.assert_allclose(list(other.unlike.values()), list(few.unlike.values()), rtol=1e-9)


def test_the_median_of_the_other_folds_is_exact_where_values_share_bins():
    rng = np.random.default_rng(3)
    actual = rng.normal(5, 1, 40_000)
    data = pd.DataFrame({"label": actual, "score": actual + 0.1, "fold": np.arange(40_000) % 4})
    study = summed(data, Limits(reading=replace(SMALL.reading, shard=10_000), bins=4096), metrics="mae")
    other = held(data, metrics="mae")
    np.testing.assert_array_equal(
        study.by_fold.query("system == 'median'")["mae"].round(12),
        other.by_fold.query("system == 'median'")["mae"].round(12),
    )


def test_many_distinct_scores_are_binned_and_the_page_says_how_far_that_moves_areas():
    rng = np.random.default_rng(4)
    label = (rng.random(50_000) < 0.4).astype(int)
    data = pd.DataFrame({"label": label, "score": rng.random(50_000) * 0.5 + label * 0.3, "fold": label[::-1] * 0})
    data["fold"] = np.arange(50_000) % 5
    study = summed(data, Limits(reading=replace(SMALL.reading, shard=5_000), bins=8192, slice_bins=2048))
    memory = held(data)
    (text,) = [one.message for one in validation_findings.of_data(study) if one.kind.name == "binned scores"]
    assert "AUC" in text
    for name, (whole, of_fold) in study.binned.items():
        assert 0 < whole <= of_fold <= 1e-3
        assert name == "system"
        off = study.by_fold.query("system == @name")["roc_auc"] - memory.by_fold.query("system == @name")["roc_auc"]
        assert off.abs().max() <= of_fold
    decided = ("accuracy", "log_loss", "brier")
    np.testing.assert_allclose(numbers(study.by_fold, decided), numbers(memory.by_fold, decided), rtol=1e-12)


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda t: pd.concat([t, t[:1]]), "must appear once"),
        (lambda t: t.assign(label=np.where(t.index == 3, 1 - t["label"], t["label"])), "must have one value for id"),
        (lambda t: t.assign(fold=np.where(t.index == 3, (t["fold"] + 1) % 5, t["fold"])), "must be in the same folds"),
        (lambda t: t.assign(id=t["id"] + t["system"]), "must share ids"),
        (lambda t: t.assign(fold="one"), "fold must have 2 or more values"),
        (lambda t: t.assign(label=1), "must have 2 or more classes"),
        (lambda t: t.assign(label=t.groupby("system").cumcount() % 3), "must hold two classes"),
        (lambda t: t.assign(fold=np.where(t["fold"] == 0, "true", "false")), "name training and test rows"),
    ],
)
def test_refusals_are_those_of_memory(change, says):
    data = change(large_folds.plain(large_folds.scored())).reset_index(drop=True)
    messages = []
    for read in (held, summed):
        with pytest.raises(InputError) as refused:
            read(data)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]
    if says not in messages[0]:
        assert "train and test" in messages[0]


def test_draws_that_do_not_agree_are_refused_as_in_memory():
    data = large_folds.repeated(large_folds.scored()).reset_index(drop=True)
    changed = data.assign(label=np.where(data.index == 7, 1 - data["label"], data["label"]))
    twice = pd.concat([data, data[:1]], ignore_index=True)
    unnamed = data.rename(columns={"repeat": "iteration"})
    for bad in (changed, twice, unnamed):
        messages = []
        for read in (held, summed):
            with pytest.raises(InputError) as refused:
                read(bad)
            messages.append(str(refused.value))
        assert messages[0] == messages[1]


def test_too_many_folds_are_refused_by_name():
    data = large_folds.alone(large_folds.scored()).assign(fold=lambda t: np.arange(len(t)) // 4)
    with pytest.raises(InputError, match="fold must name at most 256 folds"):
        summed(data)


def test_a_parameter_of_reading_needs_predictions():
    with pytest.raises(ParameterError, match="memory: needs preds"):
        summed(None, features=large_folds.scored(), memory="1GB")


def test_the_table_of_the_usual_limits_is_held():
    assert Reading().rows > len(large_folds.scored())
    assert isinstance(held(large_folds.scored()), RowsStudy)


def _fold_of_one_class(table):
    return table.assign(label=np.where(table["fold"] == 1, 0, table["label"]))


@pytest.mark.parametrize(
    "kind, change, more",
    [
        ("scores", _fold_of_one_class, {"metrics": "roc_auc,log_loss"}),
        ("scores", lambda t: t.assign(label=t["label"] + 1), {"metrics": "f1,ks"}),
        ("scores", lambda t: t.assign(score=t["score"] * 3 - 1), {"metrics": "gini,precision"}),
        ("scores", lambda t: t.assign(score=t["label"] * 1.0), {"metrics": "accuracy"}),
        ("scores", lambda t: t.assign(score=t["score"] * np.where(t["fold"] == 2, 0.2, 1)), {"metrics": "roc_auc"}),
        ("forecasts", lambda t: t.assign(label=np.clip(t["label"].round(), 0, 8)), {"task": "number"}),
        ("forecasts", lambda t: t, {"metrics": "rmse"}),
    ],
)
def test_folds_and_findings_of_odd_tables_are_those_of_memory(kind, change, more):
    data = change(large_folds.plain(KINDS[kind][0]()))
    memory, sums = held(data, **more), summed(data, **more)
    columns = memory.by_fold.select_dtypes("number").columns
    np.testing.assert_allclose(sums.by_fold[columns], memory.by_fold[columns], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(list(sums.unlike.values()), list(memory.unlike.values()), rtol=1e-9)
    assert [one.message for one in sums.findings] == [one.message for one in memory.findings]


def test_labels_that_are_few_in_each_file_may_be_many_together(tmp_path, monkeypatch):
    """The distinct labels of two files are counted together, before they are fetched by fold."""
    table = large_folds.plain(large_folds.forecast()).query("system == 'near'")
    for name, part in (("low", table["label"] < 3), ("high", table["label"] >= 3)):
        table[part].to_parquet(tmp_path / f"{name}.parquet", index=False)
    distinct = [table["label"][part].nunique() for part in (table["label"] < 3, table["label"] >= 3)]
    monkeypatch.setattr(folds, "LABELS", max(distinct) + 5)
    assert sum(distinct) > folds.LABELS + 20  # beyond the error of an approximate count
    monkeypatch.setattr(folds, "_labels", lambda t: pytest.fail("all labels were fetched"))
    assert isinstance(summed(str(tmp_path), metrics=NUMBER), SumsStudy)

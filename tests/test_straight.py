"""Parquet files of labels and scores that Arrow reads without a query: as by the engine, with the same errors."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from large_tables import classified

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.reading.reductions import large
from evalkit.studies.binary_studies import SumsStudy

METRICS = "roc_auc,average_precision,ks,f1,log_loss,brier,recall"


def frame(rows=4000):
    rng = np.random.default_rng(1)
    label = (rng.random(rows) < 0.3).astype(np.int8)
    scores = {f"score_{name}": 1 / (1 + np.exp(-rng.normal(0, s, rows) - label)) for name, s in (("a", 1), ("b", 2))}
    heavy = rng.integers(1, 4, rows)
    return pd.DataFrame({"id": np.arange(rows), "label": label, **scores, "heavy": heavy, "exact": rng.random(rows)})


SMALL = Limits(reading=Reading(rows=100, straight=1500, batch=700))  # every table is large, and a shard has few rows


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def written(data, name="t.parquet"):
    pq.write_table(data if isinstance(data, pa.Table) else pa.Table.from_pandas(data), name, row_group_size=900)
    return name


def read(monkeypatch, path, limits=SMALL, *, by_engine=False, **given):
    """The study, and whether the file was read straight."""
    if by_engine:
        monkeypatch.setattr(large, "straight", lambda piece, limits: None)
    made = []
    inner = large.read
    monkeypatch.setattr(large, "read", lambda *a, **k: made.append(inner(*a, **k)) or made[-1])
    study = classified(path, limits, metrics=METRICS, **given)
    assert isinstance(study, SumsStudy)
    return study, made[0].straight is not None


CASES = {
    "two systems": (lambda f: f, {}),
    "one system": (lambda f: f, {"systems": "a"}),
    "ids": (lambda f: f, {"columns": "{id: id}"}),
    "whole weights": (lambda f: f, {"columns": "{weight: heavy}"}),
    "real weights": (lambda f: f, {"columns": "{weight: exact}"}),
    "truth": (lambda f: f.assign(label=f.label == 1), {}),
    "other labels": (lambda f: f.assign(label=f.label * 5 + 2), {"positive": "7"}),
    "single precision": (lambda f: f.assign(score_a=f.score_a.astype(np.float32)), {}),
    "a known threshold": (lambda f: f, {"threshold": 0.4}),
    "certain": (lambda f: f.assign(score_a=f.score_a.round(1)), {}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("most", [1500, 10**6], ids=["in shards", "kept"])
def test_the_numbers_are_those_of_the_engine(folder, monkeypatch, case, most):
    change, given = CASES[case]
    limits = Limits(reading=replace(SMALL.reading, straight=most))
    path = written(change(frame()))
    ours, direct = read(monkeypatch, path, limits, **given)
    theirs, other = read(monkeypatch, path, limits, by_engine=True, **given)
    assert (direct, other) == (True, False)
    same = {"rtol": 1e-12, "atol": 1e-15}
    pd.testing.assert_frame_equal(ours.estimates, theirs.estimates, **same)
    pd.testing.assert_frame_equal(ours.comparisons, theirs.comparisons, rtol=1e-9, atol=1e-12)
    assert (ours.facts.outside, ours.wrong) == (theirs.facts.outside, theirs.wrong)
    for system in ours.systems:
        assert np.array_equal(ours.table(system).threshold, theirs.table(system).threshold)
        assert np.array_equal(ours.table(system).tp, theirs.table(system).tp)


def test_scores_that_are_no_probabilities(folder, monkeypatch):
    data = frame().assign(score_a=lambda f: np.log(f.score_a / (1 - f.score_a)))[["label", "score_a"]]
    given = {"metrics": "roc_auc,ks", "threshold": 0.0}
    found = [classified(written(data), SMALL, **given)]
    monkeypatch.setattr(large, "straight", lambda piece, limits: None)
    found.append(classified(written(data), SMALL, **given))
    assert found[0].facts.outside == found[1].facts.outside
    assert found[0].facts.outside["a"] > 0
    pd.testing.assert_frame_equal(found[0].estimates, found[1].estimates, rtol=1e-12)


def with_value(name, value):
    data = frame()
    data[name] = data[name].astype(object)
    data.loc[2345, name] = value
    kind = pa.float64() if name.startswith("score") else pa.int64()
    return pa.Table.from_pandas(data.drop(columns=[name])).append_column(name, pa.array(data[name].tolist(), kind))


WRONG = [
    (with_value("score_a", float("nan")), r"t.parquet: score_a must be a finite number, got nan \(row 2346\)"),
    (with_value("score_a", float("inf")), r"t.parquet: score_a must be a finite number, got inf \(row 2346\)"),
    (with_value("score_b", None), r"t.parquet: score_b must be a finite number, got nothing \(row 2346\)"),
    (with_value("label", None), r"t.parquet: label must not be empty, got nothing \(row 2346\)"),
    (with_value("label", 3), r"t.parquet, row 2346: .*label"),
    (pa.Table.from_pandas(frame().iloc[:0]), r"t.parquet: the file has a header and no rows"),
]


@pytest.mark.parametrize(("table", "message"), WRONG)
def test_what_cannot_be_meant_is_refused_as_by_the_engine(folder, table, message):
    with pytest.raises(InputError, match=message):
        classified(written(table), SMALL)


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (lambda f: f.assign(label=f.label.map({0: "no", 1: "yes"})), {"positive": "yes"}),
        (lambda f: f.assign(country="de"), {"segments": "country"}),
        (lambda f: f.assign(user_id=f.id % 50), {"unit": "user_id"}),
    ],
)
def test_other_tables_go_to_the_engine(folder, monkeypatch, change, given):
    _, direct = read(monkeypatch, written(change(frame())), **given)
    assert not direct


def test_a_file_that_breaks_off_is_refused(folder):
    path = written(frame())
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:4] + bytes(3000) + whole[3004:])
    with pytest.raises(InputError, match=r"t.parquet: must be a complete Parquet file"):
        classified(path, SMALL)

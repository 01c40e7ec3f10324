"""The file of the units: every number of a report follows from it alone, and it is the same on the
same input.
"""

import hashlib
import json
from pathlib import Path

import engine_samples
import made_once
import numpy as np
import online_samples
import pandas as pd
import pyarrow.parquet as pq
import pytest
from frozen import cases
from test_engines_agree import in_memory
from test_validation_leaks import rows_of_repeated_folds
from units_again import check, equal, written
from validation_tables import noise

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.catalogue import tables
from evalkit.limits import Limits, Reading
from evalkit.machine import kernels
from evalkit.parameters.reports import RankingParameters
from evalkit.studies import (
    classification,
    interleaving,
    ranking,
    rating,
    units,
    validation,
)

ROOT = Path(__file__).resolve().parents[1]
DOCS = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
METRICS = cases.METRICS
DATA = ROOT / "data"
TWO = f"{METRICS['binary']},{METRICS['decision']}"
RUNS = {
    "preds": f"{DATA}/digits_retrieval/runs",
    "qrels": f"{DATA}/digits_retrieval/qrels.txt",
    "queries": f"{DATA}/digits_retrieval/queries.csv",
}
CREDIT = f"{DATA}/german_credit/predictions.csv"
WEIGHTED = {"unit": "user_id", "columns": "{weight: exact}"}


def binary(**more):
    return classification.read(engine_samples.binary(400), segments="country,age", **more)


STUDIES = {  # beside the cases of test_frozen.py, which looks at their files too
    "two classes, weights and users": lambda: binary(metrics=f"gauc,{TWO}", **WEIGHTED),
    "repeated folds": lambda: validation.read(rows_of_repeated_folds(2), metrics="roc_auc,brier,f1"),
    "estimators of classes": lambda: validation.read(
        features=noise(90).assign(label=[*"abc"] * 30),
        k=3,
        seconds=1e-9,
        metrics="accuracy,log_loss,macro_f1,roc_auc_ovr",
    ),
}
each = pytest.mark.parametrize("name", STUDIES)


# Every number again -------------------------------------------------------------------------------


@each
def test_every_value_follows_from_the_file_alone(name, tmp_path):
    study = STUDIES[name]()
    check(study, written(tmp_path / "one.units.parquet", **{"": study}))


def test_the_values_of_each_fold_follow_from_the_file_alone(tmp_path):
    study = validation.read(CREDIT, metrics="roc_auc,brier,f1")
    again = written(tmp_path / "folds.units.parquet", **{"": study})
    for row in study.by_fold.to_dict("records"):
        for metric in ("roc_auc", "brier", "f1"):
            equal(again.value(metric, row["system"], "", "fold", row["fold"]), row[metric])


def test_lists_read_shard_by_shard_have_the_same_file(tmp_path):
    asked = RUNS | {"metrics": "ndcg@10,map,mrr", "segments": "digit", "units": "yes"}
    limits = Limits(reading=Reading(lists=0, shard=20, row=10**6))
    for name, of in (("whole", Limits()), ("shards", limits)):
        study = ranking.study_of(
            RankingParameters.from_raw(asked | {"memory": "250MB", "threads": 2}), of
        )
        assert (not study.runs.rankings) == (name == "shards")
        check(study, written(tmp_path / name, **{"": study}))
    whole, shards = (pq.read_table(tmp_path / name).to_pandas() for name in ("whole", "shards"))
    terms = whole[whole["items"].isna()].reset_index(drop=True)  # of shards no items are kept
    assert len(whole) > len(terms)
    pd.testing.assert_frame_equal(terms, shards, rtol=0, atol=1e-15)


def test_two_reports_are_paired_by_unit(tmp_path):
    frame = engine_samples.binary(400)
    both = [
        written(
            tmp_path / f"{i}.parquet", **{"": classification.read(part, metrics="brier,roc_auc")}
        ).rows
        for i, part in enumerate((frame, frame.sample(frac=1, random_state=2)))
    ]
    key = ["system", "metric", "unit"]
    paired = both[0].merge(both[1], on=key, validate="one_to_one")
    assert len(paired) == len(both[0]) == 2 * 2 * 400
    for column in ("numerator", "score", "actual"):
        assert np.array_equal(paired[f"{column}_x"], paired[f"{column}_y"], equal_nan=True)


# What a file is -----------------------------------------------------------------------------------


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@each
def test_the_same_input_has_the_same_bytes(name, tmp_path):
    for path in ("first", "second"):
        units.write(tmp_path / path, "made", {"": STUDIES[name]()})
    assert digest(tmp_path / "first") == digest(tmp_path / "second")
    assert str(ROOT).encode() not in (tmp_path / "first").read_bytes()


def test_threads_change_no_byte(tmp_path):
    limits = Limits(reading=Reading(lists=0, shard=20, row=10**6))
    for threads in (1, 2):
        asked = RankingParameters.from_raw(
            RUNS | {"metrics": "ndcg@10", "memory": "250MB", "threads": threads}
        )
        units.write(tmp_path / str(threads), "made", {"": ranking.study_of(asked, limits)})
    assert digest(tmp_path / "1") == digest(tmp_path / "2")


def test_the_types_are_those_that_the_docs_list(tmp_path):
    study = binary(metrics="brier,roc_auc")
    units.write(tmp_path / "one", "made", {"": study})
    schema = pq.read_schema(tmp_path / "one")
    types = {
        "text": "string",
        "text, dictionary": "dictionary<values=string, indices=int32, ordered=0>",
    }
    wanted = [(column.name, types.get(column.type, "double")) for column in units.COLUMNS]
    wanted += [(f"segment_{name}", types[units.SEGMENTS.type]) for name in ("country", "age")]
    assert [(field.name, str(field.type)) for field in schema] == wanted
    assert all(field.metadata[b"holds"] for field in schema)


def test_a_file_of_many_rows_is_written_in_pieces(tmp_path, monkeypatch):
    study = in_memory("several labels, plain")[0]
    whole = written(tmp_path / "whole", **{"": study})
    monkeypatch.setattr(units, "PIECE", 100)
    monkeypatch.setattr(units.gathered, "__defaults__", (100,))
    again = written(tmp_path / "pieces", **{"": study})
    groups = pq.ParquetFile(tmp_path / "pieces").metadata
    assert groups.num_row_groups > 5
    assert max(groups.row_group(i).num_rows for i in range(groups.num_row_groups)) < 300
    order = ["system", "metric", "unit", "class"]
    sides = [
        side.rows.sort_values(order, kind="stable", ignore_index=True) for side in (again, whole)
    ]
    pd.testing.assert_frame_equal(*sides)


def test_a_metric_that_ranks_within_units_has_no_terms_of_its_own():
    assert not tables.GAUC.kind.has_terms


# Whether it is written ----------------------------------------------------------------------------


def test_no_file_where_it_is_not_wanted(tmp_path):
    units.write(tmp_path / "none", "made", {"": binary(units="no")})
    assert not (tmp_path / "none").exists()


def test_of_very_many_units_only_where_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(units, "MOST", 799)
    assert binary().units_wanted() is None
    assert binary(systems="good").units_wanted().size == 400
    assert binary(units="yes").units_wanted().size == 400
    assert binary(units=True).units_wanted().size == 400


def test_a_wrong_word_is_refused():
    with pytest.raises(ParameterError, match="units must be one of yes, no, got 'maybe'"):
        binary(units="maybe")


def _log_and_users():
    return interleaving.read(online_samples.log(), online_samples.users(), metrics="orders")


@pytest.mark.parametrize("read", [rating.read, _log_and_users])
def test_a_study_saves_its_units(read, tmp_path, monkeypatch):
    study = read()
    path = tmp_path / "new" / "mine.units.parquet"
    study.save(path)
    monkeypatch.setenv(kernels.UNITS, str(tmp_path / "of the page"))
    tables = study.study_by_input if isinstance(study, interleaving.Online) else {"": study}
    units.write_if_asked(study.report, tables)
    assert path.read_bytes() == (tmp_path / "of the page").read_bytes()
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_study_without_units_saves_none(tmp_path):
    with pytest.raises(ParameterError, match="path: this study has no units to write"):
        binary(units="no").save(tmp_path / "mine.units.parquet")
    assert not list(tmp_path.iterdir())


# By the command -----------------------------------------------------------------------------------


def test_alone_it_has_the_bytes_of_a_batch_and_a_stale_file_is_taken_away(sample_reports, tmp_path):
    """In processes of their own: where `processors.remedy` applies, numpy's last bits depend on how
    the process started.
    """
    names = [f"validation.{ending}" for ending in ("html", "ipynb", "json", "units.parquet")]
    made_once.report("validation", "-o", str(tmp_path))
    for name in names:
        assert digest(tmp_path / name) == digest(sample_reports / name), name
    made_once.report("validation", "-p", "units", "no", "-o", str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == names[:3]


# The docs -----------------------------------------------------------------------------------------


def test_the_docs_list_the_columns():
    table = [f"| `{c.name}` | {c.type} | {c.holds} |\n" for c in (*units.COLUMNS, units.SEGMENTS)]
    assert "".join(table) in DOCS


def test_the_examples_of_the_docs_compute_the_metrics_again(sample_reports, monkeypatch):
    monkeypatch.chdir(sample_reports.parent)
    variables = {"pd": pd, "ek": ek}
    section = DOCS.split("## Units\n")[1].split("\n## ")[0]
    for source in section.split("```python\n")[1:]:
        exec(source.split("```")[0], variables)
    for name, metric, values in (
        ("rating", "mae", variables["mae"]),
        ("classification", "roc_auc", variables["auc"]),
    ):
        estimates = json.loads((sample_reports / f"{name}.json").read_text("utf-8"))["estimates"]
        wanted = {row["system"]: row["value"] for row in estimates if row["metric"] == metric}
        assert dict(values) == pytest.approx(wanted, rel=1e-12)

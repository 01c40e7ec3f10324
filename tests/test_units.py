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
from command_runs import evalkit
from frozen import cases
from test_engines_agree import in_memory
from test_validation_leaks import rows_of_repeated_folds
from units_again import (
    assert_equal_or_both_undefined,
    assert_metrics_follow_from_units,
    write_and_read_units,
    write_units,
)
from validation_tables import noise

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.catalogue import tables
from evalkit.limits import Limits, ReadingLimits
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
DIGITS_RETRIEVAL = {
    "preds": f"{DATA}/digits_retrieval/runs",
    "qrels": f"{DATA}/digits_retrieval/qrels.txt",
    "queries": f"{DATA}/digits_retrieval/queries.csv",
}
CREDIT = f"{DATA}/german_credit/predictions.csv"
WEIGHTED = {"unit": "user_id", "columns": "{weight: exact}"}


def study_of_two_systems(**more):
    """The study of the systems good and weak on 400 rows of two classes."""
    return classification.read(engine_samples.binary(400), segments="country,age", **more)


STUDIES = {  # beside the cases of test_frozen.py, which looks at their files too
    "two classes, weights and users": lambda: study_of_two_systems(
        metrics=f"gauc,{TWO}", **WEIGHTED
    ),
    "repeated folds": lambda: validation.read(
        rows_of_repeated_folds(2), metrics="roc_auc,brier,f1"
    ),
    "estimators of classes": lambda: validation.read(
        features=noise(90).assign(label=[*"abc"] * 30),
        k=3,
        seconds=1e-9,
        metrics="accuracy,log_loss,macro_f1,roc_auc_ovr",
    ),
}
each_study = pytest.mark.parametrize("name", STUDIES)


# Every number again -------------------------------------------------------------------------------


@each_study
def test_every_value_follows_from_the_file_alone(name, tmp_path):
    """The units of a study are written to a file. Every metric of the study is computed again from
    this file.
    """
    study = STUDIES[name]()
    units_of_file = write_and_read_units(study, tmp_path / "one.units.parquet")
    assert_metrics_follow_from_units(study, units_of_file)


def test_the_values_of_each_fold_follow_from_the_file_alone(tmp_path):
    """A validation study of the bundled credit predictions has a row per system and fold, with the
    metrics of this fold (`by_fold`). A report also writes a file of units, with the values of each
    row from which its metrics are computed. The metrics of a fold, computed again from the rows of
    this fold in the file, must be those of the study.
    """
    study = validation.read(CREDIT, metrics="roc_auc,brier,f1")
    units_of_file = write_and_read_units(study, tmp_path / "folds.units.parquet")
    for row in study.by_fold.to_dict("records"):
        for metric in ("roc_auc", "brier", "f1"):
            again = units_of_file.value(metric, row["system"], segment="fold", label=row["fold"])
            assert_equal_or_both_undefined(again, row[metric])


# no lists are held in memory; a shard has at least 20 rows
IN_SMALL_SHARDS = Limits(reading=ReadingLimits(lists=0, shard=20, row=10**6))


def test_lists_read_shard_by_shard_have_the_same_file(tmp_path):
    """Ranked lists of the bundled data are held in memory, or read in small shards of whole queries
    (IN_SMALL_SHARDS). A report also writes a file of units, with the values of each query from
    which its metrics are computed. Both files are the same except for the rows of items, which only
    lists in memory have. The metrics of the report follow from each file alone.
    """
    parameters = RankingParameters.from_raw(
        DIGITS_RETRIEVAL
        | {"metrics": "ndcg@10,map,mrr", "segments": "digit", "units": "yes"}
        | {"memory": "250MB", "threads": 2}
    )
    in_memory = ranking.study_of(parameters, Limits())
    assert in_memory.runs.rankings  # the lists
    units_of_file = write_and_read_units(in_memory, tmp_path / "in memory")
    assert_metrics_follow_from_units(in_memory, units_of_file)
    in_shards = ranking.study_of(parameters, IN_SMALL_SHARDS)
    assert not in_shards.runs.rankings
    units_of_file = write_and_read_units(in_shards, tmp_path / "in shards")
    assert_metrics_follow_from_units(in_shards, units_of_file)
    rows_in_memory = pq.read_table(tmp_path / "in memory").to_pandas()
    rows_in_shards = pq.read_table(tmp_path / "in shards").to_pandas()
    without_items = rows_in_memory[rows_in_memory["items"].isna()].reset_index(drop=True)
    assert len(rows_in_memory) > len(without_items)
    pd.testing.assert_frame_equal(without_items, rows_in_shards, rtol=0, atol=1e-15)


def test_two_reports_are_paired_by_unit(tmp_path):
    """Two reports of the same 400 rows and two systems each write a file of units, which has for
    each row its loss (`numerator`) for the Brier score, and its score and label (`actual`) for the
    AUC. The second report has the rows in another order. Joined by system, metric and unit, each
    row of one file finds its row of the other, with the same values.
    """
    frame = engine_samples.binary(400)  # with scores of two systems
    shuffled = frame.sample(frac=1, random_state=2)
    rows_by_name = {}
    for name, table in (("first", frame), ("second", shuffled)):
        study = classification.read(table, metrics="brier,roc_auc")
        rows_by_name[name] = write_and_read_units(study, tmp_path / name).rows
    first, second = rows_by_name["first"], rows_by_name["second"]
    paired = first.merge(
        second,
        on=["system", "metric", "unit"],
        suffixes=("_first", "_second"),
        validate="one_to_one",
    )
    # for each of two systems 400 rows with terms of the Brier score and 400 with scores for the AUC
    assert len(paired) == len(first) == 2 * (400 + 400)
    for column in ("numerator", "score", "actual"):
        of_first, of_second = paired[f"{column}_first"], paired[f"{column}_second"]
        assert np.array_equal(of_first, of_second, equal_nan=True)


# What a file is -----------------------------------------------------------------------------------


def sha256_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@each_study
def test_the_same_input_has_the_same_bytes(name, tmp_path):
    """A study is made twice of the same input. Its two files of units are the same, and do not name
    the folder of the project.
    """
    for path in ("first", "second"):
        write_units(STUDIES[name](), tmp_path / path)
    assert sha256_of(tmp_path / "first") == sha256_of(tmp_path / "second")
    assert str(ROOT).encode() not in (tmp_path / "first").read_bytes()


def test_threads_change_no_byte(tmp_path):
    """Ranked lists are read in several shards by one thread or two, which might finish the shards
    in another order. The file of units is the same.
    """
    for threads in (1, 2):
        parameters = RankingParameters.from_raw(
            DIGITS_RETRIEVAL | {"metrics": "ndcg@10", "memory": "250MB", "threads": threads}
        )
        study = ranking.study_of(parameters, IN_SMALL_SHARDS)
        write_units(study, tmp_path / f"by {threads}")
    assert sha256_of(tmp_path / "by 1") == sha256_of(tmp_path / "by 2")


def test_the_types_are_those_that_the_docs_list(tmp_path):
    """The columns of the file are those of `units.COLUMNS`, which docs/python.md lists, and one for
    each of the segments country and age. Each has the Arrow type that its type in the docs stands
    for.
    """
    study = study_of_two_systems(metrics="brier,roc_auc")
    write_units(study, tmp_path / "one")
    schema = pq.read_schema(tmp_path / "one")
    arrow_types = {
        "number": "double",
        "text": "string",
        "text, dictionary": "dictionary<values=string, indices=int32, ordered=0>",
    }
    documented = {column.name: column.type for column in units.COLUMNS}
    documented |= {f"segment_{name}": units.SEGMENTS.type for name in ("country", "age")}
    expected = [(name, arrow_types[type_in_docs]) for name, type_in_docs in documented.items()]
    assert [(field.name, str(field.type)) for field in schema] == expected
    assert all(field.metadata[b"holds"] for field in schema)  # each column is described


def test_a_file_of_many_rows_is_written_in_pieces(tmp_path, monkeypatch):
    """The file of units, i.e. of the values of each row from which a report's metrics are computed,
    is made and written in pieces of 131,072 rows, here of about 100. The file in pieces holds the
    same rows as the one that is written at once.
    """
    study, _ = in_memory("several labels, plain")  # of the case with this name, and its results
    at_once = write_and_read_units(study, tmp_path / "at once").rows
    monkeypatch.setattr(units, "PIECE", 100)  # rows that are made at once
    monkeypatch.setattr(units.gathered, "__defaults__", (100,))  # rows that are written at once
    in_pieces = write_and_read_units(study, tmp_path / "in pieces").rows
    file = pq.ParquetFile(tmp_path / "in pieces").metadata
    rows_of_pieces = [file.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert len(rows_of_pieces) > 5
    assert max(rows_of_pieces) < 300  # more than 100, as the rows of a unit stay together
    order = ["system", "metric", "unit", "class"]
    pd.testing.assert_frame_equal(
        in_pieces.sort_values(order, kind="stable", ignore_index=True),
        at_once.sort_values(order, kind="stable", ignore_index=True),
    )


def test_a_metric_that_ranks_within_units_has_no_terms_of_its_own():
    assert not tables.GAUC.kind.has_terms


# Whether it is written ----------------------------------------------------------------------------


def test_no_file_where_it_is_not_wanted(tmp_path):
    write_units(study_of_two_systems(units="no"), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_of_very_many_units_only_where_asked_for(tmp_path, monkeypatch):
    """Units times systems are 800 for two systems and 400 for one. With a limit of 799, the file of
    two systems is written only if `units` asks for it.
    """
    monkeypatch.setattr(units, "MOST", 799)
    assert study_of_two_systems().units_wanted() is None
    assert study_of_two_systems(systems="good").units_wanted().size == 400
    assert study_of_two_systems(units="yes").units_wanted().size == 400
    assert study_of_two_systems(units=True).units_wanted().size == 400


def test_a_wrong_word_is_refused():
    with pytest.raises(ParameterError, match="units must be one of yes, no, got 'maybe'"):
        study_of_two_systems(units="maybe")


def check_that_save_writes_what_the_report_does(study, study_by_table, folder, monkeypatch):
    saved = folder / "new" / "mine.units.parquet"
    study.save(saved)
    of_the_report = folder / "of the report"
    monkeypatch.setenv(kernels.UNITS, str(of_the_report))  # where a report writes its units
    units.write_if_asked(study.report, study_by_table)
    assert saved.read_bytes() == of_the_report.read_bytes()
    assert list(saved.parent.iterdir()) == [saved]  # nothing beside it


def test_a_study_saves_the_units_of_its_report(tmp_path, monkeypatch):
    study = rating.read()
    check_that_save_writes_what_the_report_does(study, {"": study}, tmp_path, monkeypatch)


def test_a_study_of_two_tables_saves_the_units_of_its_report(tmp_path, monkeypatch):
    study = interleaving.read(online_samples.log(), online_samples.users(), metrics="orders")
    study_by_table = study.study_by_input
    check_that_save_writes_what_the_report_does(study, study_by_table, tmp_path, monkeypatch)


def test_a_study_without_units_saves_none(tmp_path):
    with pytest.raises(ParameterError, match="path: this study has no units to write"):
        study_of_two_systems(units="no").save(tmp_path / "mine.units.parquet")
    assert not list(tmp_path.iterdir())


# By the command -----------------------------------------------------------------------------------


def test_a_report_made_alone_has_the_bytes_of_one_among_others(sample_reports, tmp_path):
    """sample_reports were made one after the other. In processes of their own: where
    `processors.fast_sort_variables` applies, numpy's last bits depend on how the process started.
    """
    made_once.report("validation", "-o", str(tmp_path))
    for ending in ("html", "ipynb", "json", "units.parquet"):
        name = f"validation.{ending}"
        assert sha256_of(tmp_path / name) == sha256_of(sample_reports / name), name


@pytest.mark.usefixtures("undrawn")
def test_a_report_without_units_takes_the_file_of_an_earlier_one_away(tmp_path):
    (tmp_path / "validation.units.parquet").write_bytes(b"of an earlier report")
    evalkit("report", "validation", "-p", "units", "no", folder=tmp_path)
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"validation.html", "validation.ipynb", "validation.json"}


# The docs -----------------------------------------------------------------------------------------


def test_the_docs_list_the_columns():
    table = [f"| `{c.name}` | {c.type} | {c.holds} |\n" for c in (*units.COLUMNS, units.SEGMENTS)]
    assert "".join(table) in DOCS


def test_the_examples_of_the_docs_compute_the_metrics_again(sample_reports, monkeypatch):
    """The examples of the section "Units" read the files of units of the sample reports, and leave
    the MAE and the AUC of each system in variables. These are the values of the reports.
    """
    monkeypatch.chdir(sample_reports.parent)
    variables = {"pd": pd, "ek": ek}
    section = DOCS.split("## Units\n")[1].split("\n## ")[0]
    for source in section.split("```python\n")[1:]:
        exec(source.split("```")[0], variables)
    for report, metric, value_by_system in (
        ("rating", "mae", variables["mae"]),
        ("classification", "roc_auc", variables["auc"]),
    ):
        estimates = json.loads((sample_reports / f"{report}.json").read_text("utf-8"))["estimates"]
        expected = {row["system"]: row["value"] for row in estimates if row["metric"] == metric}
        assert dict(value_by_system) == pytest.approx(expected, rel=1e-12)

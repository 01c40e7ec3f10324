"""Four executors' worth of partitions give the same: to the last bit the values of units, sums up
to rounding. At night: the four processes of Java take as long as all other tests on Spark, of which
test_spark.py merges what several partitions give.
"""

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import four_executors
import local
import numpy as np
import pandas as pd
import pytest
from engine_samples import binary, long
from four_executors import EXECUTORS, PARTITIONS, TWO
from test_engines_agree import same_rows
from test_sharded import ASKS, assert_same, ranked_lists

from evalkit.reading.inputs import runs
from evalkit.studies import classification, units

pytestmark = pytest.mark.slow
TESTS = Path(__file__).resolve().parents[1]


def write(rows, folder):
    """The rows in files, those of one query or id in several of them."""
    folder.mkdir()
    for i in range(PARTITIONS):
        rows[i::PARTITIONS].to_parquet(folder / f"part{i:02}.parquet", index=False)


@pytest.fixture(scope="module")
def ranked():
    return ranked_lists(60_000).sample(frac=1, random_state=1, ignore_index=True)


@pytest.fixture(scope="module")
def scores():
    return long(binary(20_000, seed=7, units=8_000)).reset_index(drop=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, ranked, scores):
    """The tables, and what four executors found of them."""
    folder = tmp_path_factory.mktemp("executors")
    write(ranked, folder / "ranked")
    write(scores, folder / "scores")
    path = os.pathsep.join(map(str, (TESTS.parent, TESTS, TESTS / "spark")))
    own = local.environment(folder) | {"PYTHONPATH": path}
    command = [sys.executable, "-W", "ignore", four_executors.__file__, str(folder)]
    done = subprocess.run(
        command, env=os.environ | own, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def found(folder):
    """What four executors found of the tables, by name."""
    return pickle.loads((folder / "found").read_bytes())


def test_each_of_four_executors_has_done_tasks(found):
    assert len(found["tasks"]) == EXECUTORS
    assert min(found["tasks"]) > 0


def test_the_tables_are_read_in_as_many_partitions_as_they_have_files(found):
    assert min(found["read in"].values()) >= PARTITIONS


def test_most_queries_and_ids_have_rows_in_several_partitions(ranked, scores):
    """Row i is written into file i modulo `PARTITIONS`, which becomes a partition. Half of the
    queries, and half of the ids, have rows in two partitions or more: no partition has all rows
    that belong together.
    """
    for rows, name in ((ranked, "query"), (scores, "id")):
        partition = pd.Series(rows.index % PARTITIONS)
        partitions_by_name = partition.groupby(rows[name].to_numpy()).nunique()
        assert partitions_by_name.median() > 1


def test_four_executors_worth_of_partitions_give_ranked_lists_the_same_bits(found, ranked):
    here = runs.read(ranked, segments=["language"])
    values = {(system, ASKS[i]): sums for (system, i), sums in found["ranked"].values.items()}
    assert_same(here, replace(found["ranked"], sources=here.sources, values=values))


def test_four_executors_give_two_systems_scores_the_numbers_of_one_process(
    found, folder, scores, tmp_path
):
    """`scores` is a table of 20,000 ids and two systems. Its study by two metrics, ROC AUC and
    Brier score, was computed on four executors, whose results are `found` and the file
    units.parquet in `folder`, and is computed here in memory with the same settings, TWO. The file
    has a row per id and system for the score, and one for the loss of the Brier score, 80,000 in
    all. They must be those of a file written here, to the last bit; that they are more than 60,000
    shows that the files are not nearly empty. Sums agree but for rounding, as Spark adds up in any
    order.
    """
    expected = classification.read(scores, **TWO)
    units.write(tmp_path / "units.parquet", "classification", {"": expected})
    equal_rows = same_rows(tmp_path / "units.parquet", folder / "units.parquet")
    assert len(equal_rows) > 60_000
    np.testing.assert_allclose(found["estimates"]["value"], expected.estimates["value"], rtol=1e-12)
    np.testing.assert_allclose(
        found["comparisons"]["difference"], expected.comparisons["difference"], rtol=1e-12
    )
    pd.testing.assert_series_equal(found["by_segment"]["n"], expected.by_segment["n"])
    for system in expected.systems:
        true_positives = expected.table(system).tp  # at each threshold
        np.testing.assert_allclose(found["tp"][system], true_positives, rtol=1e-12)

"""Four executors' worth of partitions give the same: to the last bit the values of units, sums up
to rounding.
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
from test_sharded import ASKS, assert_same, table

from evalkit.reading.inputs import runs
from evalkit.studies import classification, units

TESTS = Path(__file__).resolve().parents[1]


def write(rows, folder):
    """The rows in files, those of one query or id in several of them."""
    folder.mkdir()
    for i in range(PARTITIONS):
        rows[i::PARTITIONS].to_parquet(folder / f"part{i:02}.parquet", index=False)


@pytest.fixture(scope="module")
def ranked():
    return table(60_000).sample(frac=1, random_state=1, ignore_index=True)


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
    return pickle.loads((folder / "found").read_bytes())


def test_each_of_four_executors_has_done_tasks_and_a_query_lies_in_several_partitions(
    found, ranked, scores
):
    assert len(found["tasks"]) == EXECUTORS
    assert min(found["tasks"]) > 0
    assert min(found["read in"].values()) >= PARTITIONS
    for rows, name in ((ranked, "query"), (scores, "id")):
        assert (rows.index % PARTITIONS).to_series().groupby(
            rows[name].to_numpy()
        ).nunique().median() > 1


def test_four_executors_worth_of_partitions_give_ranked_lists_the_same_bits(found, ranked):
    here = runs.read(ranked, segments=["language"])
    values = {(system, ASKS[i]): sums for (system, i), sums in found["ranked"].values.items()}
    assert_same(here, replace(found["ranked"], sources=here.sources, values=values))


def test_four_executors_worth_of_partitions_give_two_systems_scores_the_same_numbers(
    found, folder, scores, tmp_path
):
    here = classification.read(scores, **TWO)
    units.write(tmp_path / "units.parquet", "classification", {"": here})
    assert len(same_rows(tmp_path / "units.parquet", folder / "units.parquet")) > 60_000
    np.testing.assert_allclose(found["estimates"]["value"], here.estimates["value"], rtol=1e-12)
    np.testing.assert_allclose(
        found["comparisons"]["difference"], here.comparisons["difference"], rtol=1e-12
    )
    pd.testing.assert_series_equal(found["by_segment"]["n"], here.by_segment["n"])
    for system in here.systems:
        np.testing.assert_allclose(found["tp"][system], here.table(system).tp, rtol=1e-12)

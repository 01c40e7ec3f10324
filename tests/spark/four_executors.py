"""Measures two tables on four Spark executors, each a process of its own, and writes what it found.

    PYTHONPATH=.:tests:tests/spark python tests/spark/four_executors.py FOLDER

FOLDER has the tables, `ranked` and `scores`, as folders of Parquet files. A process has one master
for as long as it lives, so this one is a process of its own.
"""

import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import local
from engine_samples import classified
from test_sharded import ASKS
from test_spark_classification import SMALL
from test_spark_ranking import read_from_spark

from evalkit.studies import units

EXECUTORS, MEGABYTES = 4, 512
PARTITIONS = 4 * EXECUTORS
TWO = {"columns": "{id: id, weight: exact}", "metrics": "roc_auc,brier", "segments": "country"}
OPTIONS = {
    "spark.executor.extraJavaOptions": local.JVM,
    "spark.executor.memory": f"{MEGABYTES}m",
    "spark.sql.files.minPartitionNum": str(PARTITIONS),
}


def main(folder: Path) -> None:
    """Write `found` into the folder: of each table what was measured, and the tasks of each
    executor.
    """
    session = local.started(folder, f"local-cluster[{EXECUTORS},1,{MEGABYTES}]", **OPTIONS)
    with local.partitions(session, PARTITIONS):
        found = measured(folder)
    found |= {"tasks": tasks(session), "read in": read_in(session, folder)}
    session.stop()
    (folder / "found").write_bytes(pickle.dumps(found))


def measured(folder: Path) -> dict[str, Any]:
    """Lists, with values by the number of what was asked; the numbers of two systems, and the file
    of their units.
    """
    ranked = read_from_spark(f"spark:parquet.`{folder / 'ranked'}`", segments=["language"])
    numbered = {
        (system, i): ranked.measure(system, ask)
        for system in ranked.systems
        for i, ask in enumerate(ASKS)
    }
    study = classified(f"spark:parquet.`{folder / 'scores'}`", SMALL, **TWO)
    units.write(folder / "units.parquet", "classification", {"": study})
    found = {
        "ranked": replace(ranked, values=numbered),
        "estimates": study.estimates,
        "comparisons": study.comparisons,
    }
    return found | {
        "by_segment": study.by_segment,
        "tp": {system: study.table(system).tp for system in study.systems},
    }


def tasks(session: Any) -> list[int]:
    """How many tasks each executor has done."""
    status = session.sparkContext._jsc.sc().statusStore()
    each = [
        status.executorSummary(str(number)) for number in range(EXECUTORS)
    ]  # the driver has no number
    return [executor.completedTasks() for executor in each]


def read_in(session: Any, folder: Path) -> dict[str, int]:
    """In how many partitions Spark reads each table."""
    return {
        name: session.read.parquet(str(folder / name)).rdd.getNumPartitions()
        for name in ("ranked", "scores")
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))

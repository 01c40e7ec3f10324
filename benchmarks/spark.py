"""10M ranked rows and 10M scores of two systems by Spark on two local threads against DuckDB on the
same file.

Each in a process of its own, in turn; the session is started, and a small table read, before the
clock runs. Nothing is claimed where pyspark is not installed.

Where the CPU time goes, of 10M scores of two systems: more than half of it into the JVM, which
takes half a microsecond a row to hand three numbers to the workers, twice, and half as much again
before its code is compiled. Tried, and not kept: whole numbers of results in the narrowest types,
which zstd makes no smaller than the wide ones; rows packed by the workers and persisted on disk for
the second reading, which would save 2 of 34 CPU seconds and fill the cluster's disks until the
report is done; sending the bins of the first reading to the workers, 62 MB, not the 140 MB of
columns that follow from them, as each worker then takes 0.8 s to compute them again; ranked rows
packed by the workers into cells of a bucket each, so that Spark neither moves nor sorts single
rows, which saves only a tenth of the wall time.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from results import STUDIES, Claim
from scale import CHUNK, lists

COVERS = STUDIES
ROOT = Path(__file__).resolve().parents[1]
ROWS, ROUNDS, THREADS = 10_000_000, 3, 2
ENGINES = ("duckdb", "spark")


def two_systems(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Labels, and scores of two systems."""
    rng = np.random.default_rng(5)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        label = (rng.random(n) < 0.3).astype(np.int8)
        score = {
            f"score_{name}": 1 / (1 + np.exp(-(rng.standard_normal(n) + label))) for name in "ab"
        }
        yield {"label": label} | score


KINDS = {
    "ranking": (lists, "ndcg@10,map,mrr,precision@10,recall@100", 1.7),
    "classification": (two_systems, "roc_auc,average_precision,log_loss,f1", 2),
}


def write(report: str, rows: int, folder: Path) -> None:
    """A folder of Parquet files, as Spark has them."""
    for number, columns in enumerate(KINDS[report][0](rows)):
        pq.write_table(pa.table(columns), folder / f"part-{number}.parquet")


def session(folder: str) -> Any:
    """Spark on local threads."""
    sys.path.insert(0, str(ROOT / "tests" / "spark"))
    os.environ["JAVA_HOME"] = import_module("java").home(Path(folder) / "java") or ""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    quiet: Any = {
        "spark.log.level": "OFF",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    return SparkSession.builder.master(f"local[{THREADS}]").config(map=quiet).getOrCreate()


def one(report: str, engine: str, large: str, small: str) -> None:
    """Reads the small folder, and then the large one by the clock."""
    read: Any = import_module(f"evalkit.studies.{report}").read
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder) if engine == "spark" else None

        def values(path: str) -> list[float]:
            rows = spark.read.parquet(path) if spark else f"{path}/*.parquet"
            return read(rows, metrics=KINDS[report][1], threads=THREADS).estimates["value"].tolist()

        values(small)
        start = time.perf_counter()
        found = values(large)
        print(json.dumps({"wall": time.perf_counter() - start, "values": found}))


def run(report: str, engine: str, large: Path, small: Path) -> dict[str, Any]:
    """One engine in a fresh process."""
    command = [
        sys.executable,
        str(Path(__file__).resolve()),
        report,
        engine,
        str(large),
        str(small),
    ]
    return json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )


def compare(report: str, most: float) -> Claim:
    """Medians of runs in turn."""
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder, "large")
        small = Path(folder, "small")
        for path, rows in ((large, ROWS), (small, ROWS // 100)):
            path.mkdir()
            write(report, rows, path)
        rounds = [
            {engine: run(report, engine, large, small) for engine in ENGINES} for _ in range(ROUNDS)
        ]
    np.testing.assert_allclose(
        rounds[0]["spark"]["values"], rounds[0]["duckdb"]["values"], rtol=1e-12
    )
    wall = {
        engine: statistics.median(found[engine]["wall"] for found in rounds) for engine in ENGINES
    }
    print(
        f"{report:<16}{wall['duckdb']:>10.1f}{wall['spark']:>10.1f}"
        f"{wall['spark'] / wall['duckdb']:>8.2f}",
        flush=True,
    )
    ratio = wall["spark"] / wall["duckdb"]
    title = f"Spark / DuckDB, wall time, {THREADS} threads, {report}, {ROWS / 1e6:g}M rows"
    return Claim(title, ratio, f"<= {most}")


def main() -> list[Claim]:
    """Both reports."""
    if find_spec("pyspark") is None:
        print("pyspark is not installed: make test-spark installs it")
        return []
    print(f"{ROWS / 1e6:g}M rows, wall s  DuckDB     Spark   ratio")
    return [compare(report, most) for report, (_, _, most) in KINDS.items()]


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()

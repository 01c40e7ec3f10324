"""A Spark session that evalkit starts itself: its workers on this machine run the Python of this
process, whatever `python3` is.
"""

import json
import os
import subprocess
import sys

import local
import pyarrow as pa
import pyarrow.parquet as pq

PRINT_PYTHON_OF_WORKERS = """
import json, sys
import pyarrow as pa
from evalkit.reading.tables import spark_tables

def python_of_worker(batches):
    import sys
    rows = sum(len(batch) for batch in batches)
    yield pa.record_batch({"python": [sys.executable], "rows": [rows]})

frame = spark_tables.part_of(sys.argv[1]).frame
found = frame.mapInArrow(python_of_worker, "python string, rows bigint").toArrow()
print(json.dumps(found.to_pylist()))
"""


def environment_with_broken_python3(folder):
    """The variables of this process and those that Spark needs, but none that names the Python of
    the workers; `python3` in the path is a program with which no worker can start.
    """
    broken = folder / "bin" / "python3"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    broken.chmod(0o755)
    variables = dict(os.environ) | local.environment(folder)
    variables["PATH"] = f"{broken.parent}:{os.environ['PATH']}"
    return {name: value for name, value in variables.items() if not name.startswith("PYSPARK_")}


def test_the_workers_of_a_session_run_the_python_of_the_process_that_starts_it(tmp_path):
    """Spark starts its workers as `python3` of the path, if nothing else is said, and this program
    is broken here. evalkit starts the session, and must name its own Python. A process reads a
    table of three rows by Spark; the worker that reads them returns the path of its Python and the
    number of rows.
    """
    (tmp_path / "rows").mkdir()
    pq.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "rows" / "part.parquet")
    table = f"spark:parquet.`{tmp_path / 'rows'}`"
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRINT_PYTHON_OF_WORKERS, table],
        env=environment_with_broken_python3(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == [{"python": sys.executable, "rows": 3}]

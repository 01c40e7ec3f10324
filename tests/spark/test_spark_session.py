"""A session that evalkit starts itself: its workers on this machine run this Python, whatever
`python3` is.
"""

import json
import os
import subprocess
import sys

import local
import pyarrow as pa
import pyarrow.parquet as pq

CODE = """
import json, sys
import pyarrow as pa
from evalkit.reading.tables import spark_tables

def told(batches):
    import sys
    rows = sum(len(batch) for batch in batches)
    yield pa.record_batch({"python": [sys.executable], "rows": [rows]})

frame = spark_tables.part_of(sys.argv[1]).frame
print(json.dumps(frame.mapInArrow(told, "python string, rows bigint").toArrow().to_pylist()))
"""


def test_its_workers_run_this_python(tmp_path):
    needed = local.environment(tmp_path)
    del needed["PYSPARK_PYTHON"]
    (tmp_path / "rows").mkdir()
    pq.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "rows" / "part.parquet")
    another = tmp_path / "bin" / "python3"  # the first of its name, and no worker can start with it
    another.parent.mkdir()
    another.write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    another.chmod(0o755)
    own = needed | {"PATH": f"{another.parent}:{os.environ['PATH']}"}
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")
    } | own
    command = [sys.executable, "-W", "ignore", "-c", CODE, f"spark:parquet.`{tmp_path / 'rows'}`"]
    done = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [{"python": sys.executable, "rows": 3}]

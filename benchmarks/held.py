"""Tables of 1.5M rows held in memory, against the same tables read in blocks: CPU and peak memory,
each in a process of its own.

Ten classes, CPU seconds held: 15.6 with each score sought among those of its class, 9.5 with scores
sought in their order, which stays in the cache, 6.7 without seeking where rows have no weights;
blocks took 3.8 to 5.3. On a busier machine 5.8, and 4.3 with the influence on AUC computed by runs
of thresholds and each class's scores copied to one array before they are counted; blocks took 3.8.
What is left is one count of each class for the value and one for the limits: all tables at once
would take 560 MB more. Tried, without a gain beyond the noise: columns of scores put together some
thousand rows at a time; positives counted without weights of 1.

python benchmarks/held.py [rows]
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from results import STUDIES, Claim
from scale import write

COVERS = STUDIES
ROWS = 1_500_000
KINDS = ("classification", "ten classes", "ten labels", "rating")


def one(kind: str, path: str, rows: str) -> None:
    """What a report takes that holds tables of up to so many rows."""
    from contenders import peak_megabytes

    from evalkit.limits import Limits, ReadingLimits
    from evalkit.parameters.reports import ClassificationParameters, RatingParameters
    from evalkit.studies import classification, rating

    # of the bundled samples: what a notebook has imported by then
    _ = classification.read().estimates, rating.read().estimates
    limits = Limits(reading=ReadingLimits(rows=int(rows)))
    start = time.process_time()
    if kind == "rating":
        frame = rating.study_of(RatingParameters.from_raw({"preds": path}), limits).estimates
    else:
        frame = classification.study_of(
            ClassificationParameters.from_raw({"preds": path}), limits
        ).estimates
    spent = time.process_time() - start
    print(json.dumps({"cpu": spent, "peak": peak_megabytes(), "value": frame["value"].iloc[0]}))


def run(kind: str, path: Path, rows: int) -> dict[str, float]:
    """One report in a fresh process."""
    command = [sys.executable, str(Path(__file__).resolve()), kind, str(path), str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(rows: int = ROWS) -> list[Claim]:
    """Each kind, held and in blocks."""
    claims = []
    print(f"{'kind':<16}{'read':>10}{'CPU s':>9}{'peak MB':>9}")
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            write(kind, rows, path)
            held = run(kind, path, rows)
            blocks = run(kind, path, rows // 2)
        for name, found in (("held", held), ("in blocks", blocks)):
            print(f"{kind:<16}{name:>10}{found['cpu']:>9.1f}{found['peak']:>9.0f}", flush=True)
        ratio = held["cpu"] / blocks["cpu"]
        claims.append(Claim(f"held / in blocks, {kind}, {rows / 1e6:g}M rows", ratio, "<= 1.2"))
    return claims


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 3 else main(*map(int, sys.argv[1:]))

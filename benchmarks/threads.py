"""10M scores and 10M ranked rows by one thread and by two: wall time, and whether the numbers are the same.

Each in a process of its own, in turn, three times; imports and the first time are not timed.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from results import Claim
from scale import write

ROWS, ROUNDS = 10_000_000, 3
METRICS = {"classification": "roc_auc,average_precision,ks,f1", "ranking": "ndcg@10,map,mrr,precision@10,recall@100"}


def values(report: str, threads: int) -> Callable[[str], list[float]]:
    """What reads a file by so many threads: path in, values and limits out."""
    from importlib import import_module

    read: Any = import_module(f"evalkit.studies.{report}").read
    _ = read().estimates  # of the bundled sample: what a notebook has imported by then

    def work(path: str) -> list[float]:
        frame = read(path, metrics=METRICS[report], threads=threads).estimates
        return frame[["value", "low", "high"]].to_numpy().ravel().tolist()

    return work


def run(report: str, path: str, threads: int) -> dict[str, Any]:
    """One run in a fresh process."""
    command = [sys.executable, str(Path(__file__).resolve()), report, path, str(threads)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def compare(report: str) -> Claim:
    """Medians of runs in turn."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.parquet")
        write(report, ROWS, Path(path))
        rounds = [{threads: run(report, path, threads) for threads in (1, 2)} for _ in range(ROUNDS)]
    assert rounds[0][1]["values"] == rounds[0][2]["values"], "another number of threads has other numbers"
    wall = {n: statistics.median(x for one in rounds for x in one[n]["wall"]) for n in (1, 2)}
    cpu = {n: statistics.median(x for one in rounds for x in one[n]["cpu"]) for n in (1, 2)}
    print(f"{report:<16}{wall[1]:>10.2f}{wall[2]:>10.2f}{cpu[1]:>10.2f}{cpu[2]:>10.2f}")
    title = f"two threads / one, wall time, {report}, {ROWS / 1e6:g}M rows"
    return Claim(title, wall[2] / wall[1], "<= 0.6")


def main() -> list[Claim]:
    """Both reports."""
    print(f"{ROWS / 1e6:g}M rows       wall s: 1         2   CPU s: 1         2")
    return [compare(report) for report in METRICS]


def one(report: str, path: str, threads: str) -> None:
    """Times one run."""
    from contenders import timed

    found, spent = timed(values(report, int(threads)), path)
    print(json.dumps(spent | {"values": found}))


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()

"""Two threads against one, wall time: a file of 10M scores to four metrics with intervals, and 10M
ranked rows.

Each run is in a process of its own, one and two threads in turn, three times. The values must be
equal to the last bit.

Of 10M scores the calling thread alone works for about 0.06 s of 0.45 s of CPU (0.14 s while it
found and gathered the bins): np.partition before the two sorts, sums of the bins, the best F1. By
Amdahl's law that is 0.58 to 0.63 of the time of one thread. The draws of KS come from one stream,
so they stay in one thread, beside which the other makes the intervals of the other metrics.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from results import STUDIES, Claim
from scale import write
from scores import METRICS

COVERS = STUDIES
ROWS, ROUNDS = 10_000_000, 3
BOUND = "<= 0.6"
KINDS = {
    "classification": "scores, file to four metrics with intervals",
    "ranking": "ranked rows, file to five metrics",
}


def one(kind: str, path: str, threads: str) -> None:
    """Times one report with so many threads."""
    from contenders import peak_megabytes, timed

    from evalkit.studies import classification, ranking
    from evalkit.studies.study import Study

    # of the samples: what a notebook has imported by then
    _ = (
        classification.read().estimates,
        ranking.read().estimates,
    )
    readers: dict[str, Callable[[Path], Study]] = {
        "classification": lambda path: classification.read(
            path, metrics=METRICS, threshold="best_f1", threads=int(threads)
        ),
        "ranking": lambda path: ranking.read(path, threads=int(threads)),
    }
    read = readers[kind]
    values, spent = timed(
        lambda path: [value.hex() for value in read(path).estimates["value"]], path
    )
    print(json.dumps(spent | {"peak_mb": peak_megabytes(), "values": values}))


def run(kind: str, path: Path, threads: int) -> dict:
    """One report in a fresh process."""
    command = [sys.executable, str(Path(__file__).resolve()), kind, str(path), str(threads)]
    return json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )


def compare(kind: str) -> Claim:
    """Medians of rounds in turn."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(kind, ROWS, path)
        rounds = [{threads: run(kind, path, threads) for threads in (1, 2)} for _ in range(ROUNDS)]
    assert all(
        spent["values"] == rounds[0][1]["values"] for both in rounds for spent in both.values()
    )
    wall = {}
    for threads in (1, 2):
        middle = {
            key: statistics.median(x for both in rounds for x in both[threads][key])
            for key in ("wall", "cpu")
        }
        peak = max(both[threads]["peak_mb"] for both in rounds)
        print(
            f"{kind:<16}{threads:>8}{middle['wall']:>9.2f}{middle['cpu']:>9.2f}{peak:>9.0f}",
            flush=True,
        )
        wall[threads] = middle["wall"]
    return Claim(
        f"two threads / one, wall, {ROWS / 1e6:g}M {KINDS[kind]}", wall[2] / wall[1], BOUND
    )


def main() -> list[Claim]:
    """Both kinds."""
    print(f"{'kind':<16}{'threads':>8}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}")
    return [compare(kind) for kind in KINDS]


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()

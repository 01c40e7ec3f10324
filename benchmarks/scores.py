"""1M and 10M labels and scores in a file to AUC, AP, KS and F1, against scikit-learn, and reading
and sorting.

Each tool runs in a process of its own, in turn, three times; imports and the first time are not
timed, as `contenders.timed` says. evalkit's four come with their intervals, once at a fixed
threshold and once at that of the best F1, which intervals choose again in each resample;
scikit-learn's three calls, roc_auc_score, average_precision_score and roc_curve, have none.

Tried, without a gain beyond the noise: batches of 2**17 to 2**20 rows instead of 2**16; glibc's
MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_, which leave a third of the page faults and about
the same CPU; Arrow's buffered reading and its pre_buffer. Memory maps save a little, but a file
that is cut meanwhile would end the process. To halve the work for two threads, a stable merge of
two sorted runs and masks of the codes at their median take longer than np.partition. DuckDB's
batches of 2**16 rows instead of a shard's: 0.65 of 0.66 s.

Of 0.66 s for 10M rows, reading and one sort are 0.26, joining the codes of all shards is 0.03, bins
are 0.07, draws for the limits of KS 0.03. Labels compared as numbers would save 0.03. DuckDB reads
in 0.18 s what Arrow reads in 0.07: the difference is most of what commit 742c7c2 took less.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from results import STUDIES, Claim
from scale import write

COVERS = STUDIES
ROUNDS = 3
FIXED, CHOSEN = "0.5", "best_f1"
METRICS = "roc_auc,average_precision,ks,f1"


def evalkit(threshold: str) -> Callable[[str], list[float]]:
    """evalkit, input checks on."""
    from evalkit.studies import classification

    # of the bundled sample: what a notebook has imported by then
    _ = classification.read().estimates

    def work(path: str) -> list[float]:
        study = classification.read(path, metrics=METRICS, threshold=threshold)
        return study.estimates["value"].tolist()

    return work


def _columns(path: str) -> tuple[np.ndarray, np.ndarray]:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["label", "score"])
    return table["label"].to_numpy(), table["score"].to_numpy()


def scikit_learn() -> Callable[[str], list[float]]:
    """Reading by Arrow and three calls."""
    from sklearn import metrics

    def work(path: str) -> list[float]:
        label, score = _columns(path)
        rates = metrics.roc_curve(label, score)
        found = metrics.roc_auc_score(label, score), metrics.average_precision_score(label, score)
        return [*map(float, found), float(np.max(rates[1] - rates[0]))]

    return work


def read_and_sort() -> Callable[[str], list[float]]:
    """Reading by Arrow and one plain sort of the scores: less cannot be done."""
    import pyarrow.parquet  # noqa: F401

    def work(path: str) -> list[float]:
        np.sort(_columns(path)[1])
        return []

    return work


OURS = {"fixed threshold": FIXED, "chosen threshold": CHOSEN}
TOOLS: dict[str, Callable[[], Callable[[str], list[float]]]] = {
    name: partial(evalkit, threshold) for name, threshold in OURS.items()
}
TOOLS |= {"scikit_learn": scikit_learn, "read_and_sort": read_and_sort}


@dataclass(frozen=True)
class Bound:
    """What a ratio of two tools on so many rows must be."""

    rows: int
    above: str
    below: str
    limit: str


BOUNDS = (
    Bound(1_000_000, "scikit_learn", "fixed threshold", ">= 3.5"),
    Bound(1_000_000, "scikit_learn", "chosen threshold", ">= 2"),
    Bound(10_000_000, "scikit_learn", "fixed threshold", ">= 20"),
    Bound(10_000_000, "scikit_learn", "chosen threshold", ">= 10"),
    Bound(10_000_000, "fixed threshold", "read_and_sort", "<= 3"),
)


def run(tool: str, path: str) -> dict:
    """One tool in a fresh process."""
    command = [sys.executable, str(Path(__file__).resolve()), tool, path]
    return json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )


def compare(rows: int) -> list[Claim]:
    """All tools on so many rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        write("classification", rows, path)
        rounds = [{tool: run(tool, str(path)) for tool in TOOLS} for _ in range(ROUNDS)]
    for tool in OURS:
        np.testing.assert_allclose(
            rounds[0][tool]["values"][:3], rounds[0]["scikit_learn"]["values"], atol=1e-6
        )
    print(f"{rows / 1e6:g}M labels and scores in a Parquet file; AUC, AP and KS agree\n")
    print(f"{'tool':<20}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}")
    cpu = {}
    for tool in TOOLS:
        cpu[tool], wall = (
            statistics.median(x for one in rounds for x in one[tool][key])
            for key in ("cpu", "wall")
        )
        peak = max(one[tool]["peak_mb"] for one in rounds)
        print(f"{tool:<20}{cpu[tool]:>8.2f}{wall:>8.2f}{peak:>9.0f}")
    title = f"{rows / 1e6:g}M scores, file to four metrics with intervals"
    return [
        Claim(f"{one.above} / {one.below}, {title}", cpu[one.above] / cpu[one.below], one.limit)
        for one in BOUNDS
        if one.rows == rows
    ]


def main(sizes: tuple[int, ...] = (1_000_000, 10_000_000)) -> list[Claim]:
    """Both sizes."""
    return [claim for rows in sizes for claim in compare(rows)]


def one(tool: str, path: str) -> None:
    """Times one tool."""
    from contenders import peak_megabytes, timed

    values, spent = timed(TOOLS[tool](), path)
    print(json.dumps(spent | {"peak_mb": peak_megabytes(), "values": values}))


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()

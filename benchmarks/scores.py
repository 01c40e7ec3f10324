"""1M and 10M labels and scores in a file to AUC, AP, KS and best F1, against scikit-learn, and
reading and sorting.

Each tool runs in a process of its own, in turn, three times; imports and the first time are not
timed, as `contenders.timed` says. evalkit's four come with their intervals; scikit-learn's three
calls, roc_auc_score, average_precision_score and roc_curve, have none.

What the CPU time of 10M scores goes to, minima on a busy Zen 4, of 0.43 s: reading 0.09, the sort
0.12, codes 0.03, bins 0.06, intervals 0.08, of which the draws of KS are 0.033. Pages of fresh
memory are 0.05 of it at least, and several times as much where the host of a virtual machine had
taken them back. Tried, without a gain beyond the noise: batches of 2**17 to 2**20 rows instead of
2**16; glibc's MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_, which leave a third of the page
faults and about the same CPU; Arrow's buffered reading and its pre_buffer. Memory maps save about
0.01 s, but a file that is cut meanwhile would end the process. To halve the work for two threads, a
stable merge of two sorted runs (0.06 s) and masks of the codes at their median (0.11 s) take longer
than np.partition (0.01 s). At 1M scores the draws of KS alone, two classes in 256 cells and 1,000
resamples, take 0.033 s, and 15 times scikit-learn's speed would be 0.04 s in all: that bound needs
fewer or other draws, hence other limits of KS.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from results import Claim
from scale import write

ROUNDS = 3
BOUNDS = {
    1_000_000: (">= 15", None),
    10_000_000: (">= 25", "<= 2"),
}  # against scikit-learn, against reading and a sort
METRICS = "roc_auc,average_precision,ks,f1"


def evalkit() -> Callable[[str], list[float]]:
    """evalkit, input checks on."""
    from evalkit.studies import classification

    # of the bundled sample: what a notebook has imported by then
    _ = classification.read().estimates

    def work(path: str) -> list[float]:
        study = classification.read(path, metrics=METRICS, threshold="best_f1")
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


TOOLS = {one.__name__: one for one in (evalkit, scikit_learn, read_and_sort)}


def run(tool: str, path: str) -> dict:
    """One tool in a fresh process."""
    command = [sys.executable, str(Path(__file__).resolve()), tool, path]
    return json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )


def compare(rows: int, peer: str, least: str | None) -> list[Claim]:
    """All three on so many rows. peer, least: the bounds against scikit-learn, and against reading
    and sorting.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        write("classification", rows, path)
        rounds = [{tool: run(tool, str(path)) for tool in TOOLS} for _ in range(ROUNDS)]
    np.testing.assert_allclose(
        rounds[0]["evalkit"]["values"][:3], rounds[0]["scikit_learn"]["values"], atol=1e-6
    )
    middle = {
        tool: {
            key: statistics.median(x for one in rounds for x in one[tool][key])
            for key in ("cpu", "wall")
        }
        | {"peak_mb": max(one[tool]["peak_mb"] for one in rounds)}
        for tool in TOOLS
    }
    print(f"{rows / 1e6:g}M labels and scores in a Parquet file; AUC, AP and KS agree\n")
    print(f"{'tool':<16}{'CPU s':>8}{'wall s':>8}{'peak MB':>9}")
    for tool, one in middle.items():
        print(f"{tool:<16}{one['cpu']:>8.2f}{one['wall']:>8.2f}{one['peak_mb']:>9.0f}")
    own, title = (
        middle["evalkit"]["cpu"],
        f"{rows / 1e6:g}M scores, file to four metrics with intervals",
    )
    times, over = middle["scikit_learn"]["cpu"] / own, own / middle["read_and_sort"]["cpu"]
    claims = [
        Claim(f"scikit-learn's three calls without intervals / evalkit, {title}", times, peer)
    ]
    return claims + (
        [Claim(f"evalkit / reading and np.sort, {title}", over, least)] if least else []
    )


def main() -> list[Claim]:
    """Both sizes."""
    return [claim for rows, bounds in BOUNDS.items() for claim in compare(rows, *bounds)]


def one(tool: str, path: str) -> None:
    """Times one tool."""
    from contenders import peak_megabytes, timed

    values, spent = timed(TOOLS[tool](), path)
    print(json.dumps(spent | {"peak_mb": peak_megabytes(), "values": values}))


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()

"""Files of 1M, 10M and 100M rows to a study, reading within 1 GB: wall, CPU and peak memory, and
how they grow.

Of users of an A/B test 100k, 1M and 10M, of out-of-fold predictions 80k, 800k and 8M; users and
logs of sessions are all read as large tables are.

Peak of 1M rows of forecasts, which are held: 506 MB; 486 with temporary columns let go, 403 with
rows counted by forecast when a figure asks, no less with errors compared some thousand rows at a
time. Later 433 MB; 413 without nbconvert, 396 with rows counted by error when a figure asks, 388
with shares of weights not kept. DuckDB and its first query are 57 of them, the query for first rows
33 and the table with its copy 60; commit 742c7c2, which read the file by Arrow, took 314. Then 388,
and 340 with the connection to DuckDB and Arrow's unused memory released once the rows are read, for
the same CPU; with Arrow's alone 13 less after reading, with glibc's besides 12. Fourth powers in
place and one sort for both quantiles beside the median changed the peak by less than 3, but the CPU
from 2.7 to 2.15 s.

Values of three systems, 10M units: 15.6 s of CPU, 3.3 with labels among shares recognised without
sorting (12 s), markers of missing values sought among the numbers that can be one (0.4 s), and
differences set to 0 in place (0.3 s; the peak fell from 1,125 to 950 MB). Commit 3f0dfb26, which
looked for neither, took 2.7 s and 1,030 MB in the same run.

Ten classes, 10M rows: 1,206 to 1,285 MB, 953 to 996 of commit 3f0dfb26, which put the scores of
each block into bins at once. Tried on 5M rows, one round each on a busy machine, where that commit
took 978 MB and 18.1 s of CPU, and the code before 1,292 and 18.7 (the load grew, so that of the CPU
little is known):

- Scores that wait for their bins let go before the second reading: 1,174 MB and 20.8 s, kept.
- Besides, a quarter of the scores wait: 1,106 MB, the first reading alone 818 and not 1,159, but
  23.1 s, as bins are merged more often. Without the former 1,214 MB and 20.2 s. Not changed.
- Besides both, places of rows written into the array that is returned, and not copied there: 1,206
  MB, no gain beyond the noise. Not changed.

python benchmarks/scale.py [rows ...]. Each size runs in a process of its own. The files are made in
the temporary folder, 2.6 GB of ranked lists, 2.5 GB of forecasts and 1.2 to 1.5 GB of others at
100M rows, 0.8 GB of ten classes or labels and 0.25 GB of values at 10M, and removed.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from results import STUDIES, Claim

COVERS = (*STUDIES, "evalkit/offline/*.py", "evalkit/online/*.py")
HERE = Path(__file__).resolve().parent
SIZES = (1_000_000, 10_000_000, 100_000_000)
MEMORY = "1GB"
CHUNK = 2_000_000


def lists(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Ranked lists of about 100 rows with text ids in no order, one row in twenty relevant."""
    rng = np.random.default_rng(1)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        query = rng.integers(0, rows // 100, n)
        item = rng.integers(0, 2**40, n)
        yield {
            "query": np.char.add("q", query.astype(str)),
            "item": np.char.add("d", item.astype(str)),
            "score": rng.normal(size=n).round(5),
            "grade": (rng.random(n) < 0.05) * rng.integers(1, 4, n).astype(float),
        }


def scores(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Labels, three in ten 1, scores that hardly repeat, and a segment of four values."""
    rng = np.random.default_rng(2)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        label = (rng.random(n) < 0.3).astype(np.int8)
        score = 1 / (1 + np.exp(-(rng.standard_normal(n) + label)))
        yield {
            "label": label,
            "score": score,
            "device": np.array(["a", "b", "c", "d"])[rng.integers(0, 4, n)],
        }


def forecasts(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Actual values and the forecasts of two systems, none of which repeat, and a segment of four
    values.
    """
    rng = np.random.default_rng(3)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        actual = rng.gamma(2, 2, n)
        said = {
            f"forecast_{name}": actual + rng.normal(0, far, n)
            for name, far in (("near", 0.5), ("far", 2.0))
        }
        yield {
            "actual": actual,
            "device": np.array(["a", "b", "c", "d"])[rng.integers(0, 4, n)],
        } | said


def ten_classes(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """One of ten classes and a probability for each, none of which repeat, and a segment of four
    values.
    """
    rng = np.random.default_rng(4)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        label = rng.integers(0, 10, n)
        score = rng.standard_normal((n, 10))
        score[np.arange(n), label] += 1.5
        np.exp(score, out=score)
        score /= score.sum(axis=1, keepdims=True)
        segment = np.array(["a", "b", "c", "d"])[rng.integers(0, 4, n)]
        yield {"label": label, "device": segment} | {f"p_{c}": score[:, c] for c in range(10)}


def ten_labels(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Ten labels, which one in twenty to two in five rows have, and a probability for each, none of
    which repeat.
    """
    rng = np.random.default_rng(5)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        label = rng.random((n, 10)) < np.linspace(0.05, 0.4, 10)
        score = 1 / (1 + np.exp(2 - 2.5 * label - rng.normal(0, 1.2, (n, 10))))
        columns = {f"y_{c}": label[:, c].astype(np.int8) for c in range(10)}
        yield columns | {f"p_{c}": score[:, c] for c in range(10)}


def users(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Users in two arms with text ids, amounts that hardly repeat, a column from before, a segment
    of four values.
    """
    rng = np.random.default_rng(4)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        before = rng.poisson(2, n)
        orders = rng.poisson(1 + before / 2)
        yield {
            "user": np.char.add("u", np.arange(start, start + n).astype(str)),
            "arm": np.array(["a", "b"])[rng.integers(0, 2, n)],
            "orders": orders,
            "spent": orders * rng.gamma(2, 5, n),
            "before": before,
            "device": np.array(["a", "b", "c", "d"])[rng.integers(0, 4, n)],
        }


def sessions(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Ten items a session in no order, teams in turns, about four sessions a user, and a segment of
    four values.
    """
    rng = np.random.default_rng(5)
    users = rows // 40
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        order = rng.permutation(n)
        session = order // 10
        position = order % 10 + 1
        first, user, device = (
            rng.integers(0, most, -(-n // 10))[session] for most in (2, users, 4)
        )
        team = (position + first) % 2
        yield {
            "session": np.char.add("s", (start // 10 + session).astype(str)),
            "user": np.char.add("u", user.astype(str)),
            "position": position,
            "team": np.array(["a", "b"])[team],
            "click": (rng.random(n) < 0.25 * (1 + 0.05 * team) / np.sqrt(position)).astype(np.int8),
            "item": np.char.add("i", rng.integers(0, 20_000, n).astype(str)),
            "device": np.array(["a", "b", "c", "d"])[device],
        }


def values(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """A value of each of three systems a row, which stands for one unit."""
    rng = np.random.default_rng(6)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        shared = rng.normal(size=n)
        yield {
            name: shared + rng.normal(more, 1, n)
            for name, more in (("old", 0), ("new", 0.01), ("other", 0.01))
        }


def folds(rows: int) -> Iterator[dict[str, np.ndarray]]:
    """Labels and scores as `scores`, each tested in one of five folds."""
    rng = np.random.default_rng(7)
    for part in scores(rows):
        yield {
            "label": part["label"],
            "score": part["score"],
            "fold": rng.integers(1, 6, len(part["label"])),
        }


def rows_read(report: str, **given: str) -> Callable[[str], Any]:
    """What reads a file of predictions: path in, estimates out."""
    return lambda path: (
        import_module(f"evalkit.studies.{report}").read(path, memory=MEMORY, **given).estimates
    )


def users_read(path: str) -> Any:
    """The estimates of a table of users, of which more than 50,000 are read as large tables are."""
    from evalkit.limits import Limits, ReadingLimits
    from evalkit.parameters.reports import InterleavingParameters
    from evalkit.studies import interleaving

    given = {
        "metrics": "spent,spent/orders",
        "before": "before",
        "strata": "device",
        "segments": "device",
    }
    p = InterleavingParameters.from_raw({"users": path, "memory": MEMORY, "world": "none", **given})
    study = interleaving.study_of(p, Limits(reading=ReadingLimits(rows=50_000))).users
    assert study is not None
    assert len(study.adjustments) == 5
    return study.estimates


def sessions_read(path: str) -> Any:
    """The estimates of a log of sessions, of which more than 50,000 rows are read as large logs
    are.
    """
    from evalkit.limits import Limits, ReadingLimits
    from evalkit.parameters.reports import InterleavingParameters
    from evalkit.studies import interleaving

    p = InterleavingParameters.from_raw(
        {"log": path, "memory": MEMORY, "world": "none", "segments": "device"}
    )
    study = interleaving.study_of(p, Limits(reading=ReadingLimits(rows=50_000))).log
    assert study is not None
    assert len(study.by_position) == 20
    return study.estimates


@dataclass(frozen=True)
class Kind:
    """A kind of rows, what reads a file of them, and what share of each size is measured."""

    rows: Callable[[int], Iterator[dict[str, np.ndarray]]]
    read: Callable[[str], Any]
    share: float = 1.0


KINDS = {
    "ranking": Kind(lists, rows_read("ranking")),
    "classification": Kind(scores, rows_read("classification", segments="device")),
    "ten classes": Kind(ten_classes, rows_read("classification", segments="device"), share=0.1),
    "ten labels": Kind(ten_labels, rows_read("classification"), share=0.1),
    "rating": Kind(forecasts, rows_read("rating", segments="device")),
    "values": Kind(values, rows_read("significance", systems="old,new,other"), share=0.1),
    "folds": Kind(folds, rows_read("validation"), share=0.08),
    "users": Kind(users, users_read, share=0.1),
    "sessions": Kind(sessions, sessions_read),
}


def write(kind: str, rows: int, path: Path) -> None:
    """A Parquet file of so many rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for columns in KINDS[kind].rows(rows):
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer:
        writer.close()


def work(kind: str, path: str) -> None:
    """Reads the file and makes what the page shows first; prints what that took."""
    from contenders import peak_megabytes

    wall = time.perf_counter()
    cpu = time.process_time()
    frame = KINDS[kind].read(path)
    spent = {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "peak": peak_megabytes(),
    }
    print(json.dumps(spent | {"first": float(frame["value"].iloc[0])}))


def run(kind: str, rows: int) -> dict[str, float]:
    """One size in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(kind, rows, path)
        command = [sys.executable, str(Path(__file__).resolve()), kind, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(done.stdout.splitlines()[-1])


def draw(found: dict[tuple[str, int], dict[str, float]], path: Path) -> None:
    """Wall and peak memory against rows, both axes logarithmic."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "evalkit"
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    both = figure.subplots(1, 2)
    for ax, (key, label) in zip(
        both, (("wall", "seconds (wall)"), ("peak", "peak memory, MB")), strict=True
    ):
        for kind in KINDS:
            points = sorted((rows, one[key]) for (name, rows), one in found.items() if name == kind)
            ax.plot(*zip(*points, strict=True), marker="o", label=kind)
        ax.set(xscale="log", yscale="log", xlabel="rows", ylabel=label)
        ax.grid(alpha=0.3)
    figure.legend(*both[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.suptitle(f"File to estimates with intervals, memory={MEMORY!r}", fontsize=10)
    figure.savefig(path, metadata={"Date": None})


def main(sizes: tuple[int, ...] = SIZES) -> list[Claim]:
    """Every kind at every size."""
    print(f"{'kind':<16}{'rows':>13}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}{'CPU µs a row':>14}")
    found = {}
    of_kind = {kind: [int(rows * of.share) for rows in sizes] for kind, of in KINDS.items()}
    for kind, several in of_kind.items():
        for rows in several:
            one = found[kind, rows] = run(kind, rows)
            spent = (
                f"{one['wall']:>9.1f}{one['cpu']:>9.1f}{one['peak']:>9.0f}"
                f"{1e6 * one['cpu'] / rows:>14.2f}"
            )
            print(f"{kind:<16}{rows:>13,}{spent}", flush=True)
    claims = []
    if sizes == SIZES:
        draw(found, HERE / "growth.svg")
        held = found["rating", SIZES[0]]["peak"]
        claims.append(Claim("rating, 1M rows in memory: peak memory in MB", held, "<= 350"))
    for kind, several in of_kind.items():
        last = several[-1]
        large = found[kind, last]
        claims.append(
            Claim(
                f"{kind}, {last / 1e6:g}M rows in {MEMORY}: peak memory in GB",
                large["peak"] / 1e3,
                "<= 1.5",
            )
        )
        for before in several[:-1]:
            growth = large["wall"] / found[kind, before]["wall"] / (last / before)
            claims.append(
                Claim(
                    f"{kind}: time a row at {last / 1e6:g}M over {before / 1e6:g}M rows",
                    growth,
                    "<= 1.3",
                )
            )
    return claims


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in KINDS:
        work(*sys.argv[1:])
    else:
        main(tuple(map(int, sys.argv[1:])) or SIZES)

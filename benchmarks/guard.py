"""Sees at night what became slower: small workloads, each a ratio of CPU seconds to a peer of the
same run.

    python benchmarks/guard.py [WORKLOAD ...]   # against guard.toml; more than 20% worse fails
    python benchmarks/guard.py --write          # stores today's ratios in guard.toml
    python benchmarks/guard.py --planted        # whether three planted slow-downs are seen

Work and peer take turns, and the least time of each counts, so that other work on the machine
disturbs little. What looks worse is measured again, up to four times, before it fails. A ratio
depends on the processor: guard.toml names the one that it was stored on.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from unittest import mock

import duckdb
import many_systems
import numpy as np
import pandas as pd
import pyarrow as pa
import ranking as ranked
import scale
from classification import simulate
from contenders import CONTENDERS
from matplotlib.figure import Figure
from results import processor, revision
from scipy import stats
from sklearn import metrics

import evalkit as ek
from evalkit.catalogue import lookup
from evalkit.limits import USUAL_LIMITS, Limits, ReadingLimits
from evalkit.machine import processors
from evalkit.metrics import counts
from evalkit.metrics.rows import Rows
from evalkit.parameters.reports import (
    ClassificationParameters,
    InterleavingParameters,
    RatingParameters,
    SignificanceParameters,
)
from evalkit.reading.inputs import runs
from evalkit.statistics import inference, signflip
from evalkit.statistics.methods import Options
from evalkit.statistics.spread import Interval
from evalkit.statistics.statistic import RowStatistic
from evalkit.studies import classification, interleaving, rating, significance

STORED = Path(__file__).with_suffix(".toml")
WORSE = 1.2
TURNS, SECONDS = 4, 2.0  # of one measurement: at least so many turns, and so much CPU
AGAIN = 4  # measurements more of what looks worse
HEAD = "# Written by `make bench-guard WRITE=1`: CPU seconds of evalkit over those of the peer.\n"
FOUR = "roc_auc,average_precision,ks,f1"
IN_BLOCKS = Limits(reading=ReadingLimits(rows=10_000, shard=100_000, largest=100_000))
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
Work = Callable[[], object]


@dataclass(frozen=True)
class Workload:
    """Work of evalkit, and what a peer does of it or what it cannot do without."""

    ours: Work
    peer: Work


# The workloads: each is made in a folder for its files --------------------------------------------


def written(kind: str, rows: int, folder: Path) -> str:
    """A Parquet file of so many rows of a kind of `scale`."""
    path = folder / "rows.parquet"
    scale.write(kind, rows, path)
    return str(path)


def classified(path: str, limits: Limits = USUAL_LIMITS, **given: str) -> Work:
    """The estimates of a classification report."""
    p = ClassificationParameters.from_raw({"preds": path, "threads": 1} | given)
    return lambda: classification.study_of(p, limits).estimates


def three_calls(path: str) -> Work:
    """Reading, and scikit-learn's three calls without intervals."""

    def work() -> None:
        frame = pd.read_parquet(path)
        for call in (
            metrics.roc_auc_score,
            metrics.average_precision_score,
            metrics.roc_curve,
        ):
            call(frame["label"], frame["score"])

    return work


def counted(folder: Path) -> Workload:
    """Counts of scores, and their AUC; the peer: ranks and their sum by numpy."""
    label, score = simulate(300_000)

    def peer() -> None:
        order = np.argsort(score)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        rank[label == 1].sum()

    return Workload(lambda: counts.auc(counts.count(score, label)), peer)


def two_classes(folder: Path, limits: Limits = USUAL_LIMITS, threshold: str = "0.5") -> Workload:
    """Four metrics with intervals."""
    path = written("classification", 300_000, folder)
    return Workload(classified(path, limits, metrics=FOUR, threshold=threshold), three_calls(path))


def several_classes(folder: Path) -> Workload:
    """Ten classes, all usual metrics with intervals."""
    path = written("ten classes", 30_000, folder)

    def peer() -> None:
        frame = pd.read_parquet(path)
        probabilities = frame.filter(like="p_").to_numpy()
        metrics.roc_auc_score(frame["label"], probabilities, multi_class="ovr")
        metrics.classification_report(frame["label"], probabilities.argmax(axis=1))

    return Workload(classified(path), peer)


def several_labels(folder: Path) -> Workload:
    """Ten labels, all usual metrics with intervals."""
    path = written("ten labels", 30_000, folder)

    def peer() -> None:
        frame = pd.read_parquet(path)
        labels = frame.filter(like="y_").to_numpy()
        scores = frame.filter(like="p_").to_numpy()
        metrics.roc_auc_score(labels, scores)
        metrics.average_precision_score(labels, scores)

    return Workload(classified(path), peer)


def forecasts(folder: Path) -> Workload:
    """Two systems' forecasts, all usual metrics with intervals."""
    path = written("rating", 100_000, folder)
    p = RatingParameters.from_raw({"preds": path, "threads": 1})

    def peer() -> None:
        frame = pd.read_parquet(path)
        errors = frame.filter(like="forecast_").sub(frame["actual"], axis=0).abs()
        errors.groupby(frame["device"]).describe()

    return Workload(lambda: rating.study_of(p).estimates, peer)


def ranked_lists(folder: Path) -> Workload:
    """Five metrics of shuffled lists, against DuckDB by hand."""
    run, qrels = ranked.write_files(folder, 3_000, 100, shuffled=True)
    duckdb.execute("set threads = 1")
    ours = CONTENDERS["evalkit"]()
    peer = CONTENDERS["duckdb_by_hand"]()
    return Workload(lambda: ours(run, qrels), lambda: peer(run, qrels))


def sign_flips(folder: Path) -> Workload:
    """All pairs of 12 systems, with limits; the peer: 3,000 draws of one pair."""
    values = many_systems.valued(12, 50)
    p = SignificanceParameters.from_raw({"preds": values, "threads": 1})
    d = np.random.default_rng(1).normal(0.02, 1, 1_000)
    flipped = partial(
        stats.permutation_test,
        (d,),
        np.mean,
        permutation_type="samples",
        n_resamples=3_000,
        batch=500,
        rng=1,
    )
    return Workload(lambda: significance.study_of(p).comparisons, flipped)


def each_user(folder: Path) -> Workload:
    """The AUC of each of 10,000 users; the peer: by ranks of pandas."""
    label, score = simulate(200_000)
    user = np.random.default_rng(8).integers(0, 10_000, label.size)
    frame = pd.DataFrame({"label": label, "score": score, "user": user})

    def peer() -> None:
        rank = frame.groupby("user")["score"].rank()
        (rank * frame["label"]).groupby(frame["user"]).sum()

    return Workload(lambda: counts.auc_by_group(label, score, user), peer)


def average_precision(folder: Path) -> Workload:
    """The interval of average precision; the peer: the value alone."""
    label, score = simulate(200_000)
    chosen = lookup.find_metric("average_precision", "counts")

    def ours() -> object:
        rows = RowStatistic(chosen, Rows(label, score))
        return inference.estimate(rows, Options(0.95, np.random.default_rng(9)))

    return Workload(ours, lambda: metrics.average_precision_score(label, score))


def comma_separated(folder: Path) -> Workload:
    """A CSV file to one metric; the peer: DuckDB reads it."""
    path = folder / "rows.csv"
    pd.read_parquet(written("classification", 200_000, folder)).to_csv(path, index=False)

    def peer() -> None:
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute(f"from read_csv('{path}')").df()

    return Workload(classified(str(path), metrics="accuracy", threshold="0.5"), peer)


def users(folder: Path) -> Workload:
    """An A/B test with a column from before the test; the peer: sums by arm and stratum."""
    path = written("users", 100_000, folder)
    given = {"metrics": "spent,spent/orders", "before": "before", "strata": "device"}
    p = InterleavingParameters.from_raw({"users": path, "world": "none", "threads": 1} | given)

    def ours() -> object:
        study = interleaving.study_of(p).users
        assert study is not None
        return study.estimates

    def peer() -> None:
        groups = pd.read_parquet(path).groupby(["device", "arm"])
        groups[["spent", "orders", "before"]].agg(["mean", "var", "count"])

    return Workload(ours, peer)


def page(folder: Path) -> Workload:
    """The page of the bundled out-of-fold predictions; the peer: six plain figures as SVG."""

    def peer() -> None:
        for number in range(6):
            figure = Figure(layout="constrained")
            for ax in figure.subplots(1, 2):
                ax.plot(np.arange(50), np.arange(50) % 7, label="line")
                ax.legend()
            figure.savefig(folder / f"{number}.svg")

    return Workload(lambda: ek.validation().save(str(folder / "page.html")), peer)


WORKLOADS: Mapping[str, Callable[[Path], Workload]] = {
    "counts": counted,
    "two classes": two_classes,
    "two classes in blocks": partial(two_classes, limits=IN_BLOCKS),
    "threshold chosen again": partial(two_classes, threshold="best_f1"),
    "several classes": several_classes,
    "several labels": several_labels,
    "forecasts": forecasts,
    "ranked lists": ranked_lists,
    "sign flips": sign_flips,
    "AUC by user": each_user,
    "interval of AP": average_precision,
    "CSV": comma_separated,
    "A/B test": users,
    "page": page,
}


# Measuring ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    """The least CPU seconds that either took so far."""

    ours: float = np.inf
    peer: float = np.inf

    @property
    def ratio(self) -> float:
        """Ours over the peer's: what is compared."""
        return self.ours / self.peer

    def with_turns(self, workload: Workload) -> "Spent":
        """The least of these and of the next turns of a measurement."""
        spent, used, turns = self, 0.0, 0
        while turns < TURNS or used < SECONDS:
            ours = cpu(workload.ours)
            peer = cpu(workload.peer)
            spent = Spent(min(spent.ours, ours), min(spent.peer, peer))
            used += ours + peer
            turns += 1
        return spent


def cpu(work: Work) -> float:
    """CPU seconds of this process; garbage is collected before."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


@dataclass(frozen=True)
class Ratio:
    """A stored ratio, the state of the code it was measured at, and where."""

    ratio: float
    commit: str
    date: str
    processor: str

    def line(self, name: str) -> str:
        """As guard.toml has it."""
        cells = (f"{key} = {json.dumps(value)}" for key, value in asdict(self).items())
        return f'"{name}" = {{ {", ".join(cells)} }}\n'


def load() -> dict[str, Ratio]:
    """The stored ratios."""
    tables = tomllib.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    return {name: Ratio(**cells) for name, cells in tables.items()}


def warmed(names: Sequence[str]) -> Iterator[tuple[str, Workload]]:
    """The named workloads, each warm: both were done once."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            workload = WORKLOADS[name](Path(folder))
            workload.ours()
            workload.peer()
            gc.freeze()  # what is there by now need not be looked at before each turn
            yield name, workload
            gc.unfreeze()


def write(names: Sequence[str]) -> None:
    """Store the ratios of these workloads."""
    stored = load()
    where = {"commit": revision(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    for name, workload in warmed(names):
        spent = Spent()
        for _ in range(1 + AGAIN):
            spent = spent.with_turns(workload)
        stored[name] = Ratio(float(f"{spent.ratio:.3g}"), **where, processor=processor())
        print(f"{name:<24}{stored[name].ratio:>9.3g}", flush=True)
    lines = [stored[name].line(name) for name in WORKLOADS if name in stored]
    STORED.write_text(HEAD + "".join(lines), encoding="utf-8")


def slower(names: Sequence[str]) -> list[str]:
    """The workloads that are more than 20% worse than stored, each as a sentence."""
    stored = load()
    found = []
    print(f"{'workload':<24}{'stored':>9}{'now':>9}{'ours, s':>9}{'peer, s':>9}", flush=True)
    for name, workload in warmed(names):
        if name not in stored:
            found.append(f"{name}: no ratio is stored; make bench-guard WRITE=1")
            continue
        before = stored[name]
        spent = Spent().with_turns(workload)
        for _ in range(AGAIN):
            if spent.ratio > WORSE * before.ratio:
                spent = spent.with_turns(workload)
        times = f"{spent.ours:>9.3f}{spent.peer:>9.3f}"
        print(f"{name:<24}{before.ratio:>9.3g}{spent.ratio:>9.3g}{times}", flush=True)
        if spent.ratio > WORSE * before.ratio:
            found.append(
                f"{name}: {spent.ratio:.3g} times the peer, stored {before.ratio:.3g} "
                f"({before.commit}, {before.date}, {before.processor})"
            )
    return found


# Planted slow-downs -------------------------------------------------------------------------------


def second_sort() -> AbstractContextManager[object]:
    """Scores are sorted once more when they are counted."""
    plain = counts._count_rows

    def twice(score: np.ndarray, label: np.ndarray) -> counts.Counts:
        np.argsort(score, kind="stable")
        return plain(score, label)

    return mock.patch.object(counts, "_count_rows", twice)


def merge_by_rows() -> AbstractContextManager[object]:
    """Judged rows are found by a merge of the texts of all rows."""
    plain = runs.despite_collisions

    def merged(
        builder: runs.RankingBuilder, use: Callable[[runs.RankingBuilder], runs.Result]
    ) -> runs.Result:
        pairs = [
            pd.DataFrame({"query": texts(rows.query), "item": texts(rows.item)})
            for rows in (builder.run_rows, builder.judgement_rows)
        ]
        pairs[0].merge(pairs[1])
        return plain(builder, use)

    return mock.patch.object(runs, "despite_collisions", merged)


def texts(blocks: list[pa.Array]) -> pd.Series:
    """A column of a table that was read in blocks."""
    return pa.chunked_array(blocks).to_pandas()


def partition_a_pair() -> AbstractContextManager[object]:
    """The drawn ends of each pair are partitioned once more, at several places."""
    plain = signflip.Ranges.limits

    def again(ends: signflip.Ranges, *levels: float) -> dict[float, Interval]:
        places = (ends.draws // 40, ends.draws // 20)
        np.partition(ends.low, places)
        np.partition(ends.high, places)
        return plain(ends, *levels)

    return mock.patch.object(signflip.Ranges, "limits", again)


PLANTED: Mapping[str, Callable[[], AbstractContextManager[object]]] = {
    "counts": second_sort,
    "ranked lists": merge_by_rows,
    "sign flips": partition_a_pair,
}


def unseen() -> list[str]:
    """The planted slow-downs that do not make their workload fail, and workloads that fail without
    them.
    """
    found = []
    for name, plant in PLANTED.items():
        for planting in (nullcontext, plant):
            print(f"\n{planting.__name__}", flush=True)
            with planting():
                fails = bool(slower([name]))
            if fails != (planting is plant):
                found.append(f"{name} {'fails' if fails else 'passes'} with {planting.__name__}")
    return found


def main() -> None:
    """Measures; exits with 1 if a workload is worse."""
    parser = argparse.ArgumentParser(description="Compare small workloads with stored ratios.")
    parser.add_argument("--write", action="store_true", help="store the ratios of today")
    parser.add_argument("--planted", action="store_true", help="try planted slow-downs")
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    given = parser.parse_args()
    names = given.names or list(WORKLOADS)
    if unknown := set(names) - set(WORKLOADS):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there is {', '.join(WORKLOADS)}")
    if given.write:
        write(names)
        return
    if found := unseen() if given.planted else slower(names):
        sys.exit("\n".join(["", *found]))


if __name__ == "__main__":
    # numpy reads the environment when it is imported
    more = processors.fast_sort_variables(os.environ) | ONE_THREAD
    if os.environ | more != os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | more)
    main()

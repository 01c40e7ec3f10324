"""Classification: time in multiples of np.sort of the same scores, and against scikit-learn, in one
run.

The memory of the full set at 1M rows is that of its table and its curve, three columns each, and
one run of thresholds: 6.05 times the scores. Runs of 4,096 and 1,024 thresholds leave 6.03 and 6.01
and take 8 and 70 % longer; with the curve last it is 6.001. The six columns alone, with the first
point of the curve, are above 6: only a curve that shares the table's thresholds would be below.
Tried: rates written into the curve's columns without a copy, 6.06; a table with room for the
curve's first threshold before its own, so that the curve takes the same array, 6.00, and with both
5.13. Not changed, as a curve would depend on how the array of another object was made. Counts of 32
bits: 5.13, but the number of rows and the products of counts would be bounded.

python benchmarks/classification.py [rows ...]
"""

import sys
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
from results import STATISTICS, Claim, seconds

from evalkit.catalogue import lookup
from evalkit.metrics.counts import Counts, auc, auc_by_group, average_precision, count, ks
from evalkit.metrics.curves import best_f, roc_curve
from evalkit.metrics.influence import auc_variance
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import RowStatistic

COVERS = STATISTICS
USERS, USERS_TIMED = 50_000, 500
# what three calls of scikit-learn take, as a multiple of the full set: nine tenths of what was had
TIMES = {1_000_000: ">= 10.44", 10_000_000: ">= 17.1"}


def full_set(c: Counts) -> list:
    """Curve, areas with their variance, KS and the best F1, each by its own function."""
    return [metric(c) for metric in (roc_curve, auc, auc_variance, average_precision, ks, best_f)]


def extra_memory(work: Callable[[], object]) -> int:
    """The most bytes that `work` held at once."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def simulate(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """0/1 labels, three in ten of them 1, and logistic scores."""
    rng = np.random.default_rng(7)
    label = (rng.random(rows) < 0.3).astype(np.int8)
    return label, 1 / (1 + np.exp(-(rng.standard_normal(rows) + label)))


def binary(rows: int) -> list[tuple[str, float, str]]:
    """What is measured, its figure and the most or the least it may be."""
    from sklearn import metrics

    label, score = simulate(rows)
    unit = seconds(partial(np.sort, score))
    build = seconds(lambda: count(score, label))
    with_auc = seconds(lambda: auc(count(score, label)))
    full = seconds(lambda: full_set(count(score, label)))
    functions = (metrics.roc_auc_score, metrics.average_precision_score, metrics.roc_curve)
    peer = [seconds(partial(function, label, score), runs=1) for function in functions]
    memory = extra_memory(lambda: full_set(count(score, label))) / score.nbytes
    return [
        ("Counts from rows / np.sort", build / unit, "<= 4"),
        ("full set / np.sort", full / unit, "<= 16"),
        ("roc_auc_score / Counts and AUC", peer[0] / with_auc, ">= 6"),
        ("three of scikit-learn / full set", sum(peer) / full, TIMES.get(rows, ">= 10")),
        ("memory of the full set / score array", memory, "<= 6"),
    ]


def grouped(rows: int) -> list[tuple[str, float, str]]:
    """AUC of every user against a loop over scikit-learn, timed on some users and scaled to all."""
    from sklearn.metrics import roc_auc_score

    label, score = simulate(rows)
    user = np.random.default_rng(8).integers(0, USERS, rows)
    ours = auc_by_group(label, score, user)
    by_user = seconds(lambda: auc_by_group(label, score, user))
    parts = [
        np.flatnonzero(user == ours.group[i])
        for i in range(USERS_TIMED)
        if not np.isnan(ours.auc[i])
    ]
    peer = seconds(lambda: [roc_auc_score(label[part], score[part]) for part in parts], runs=1)
    return [("roc_auc_score by user / auc_by_group", peer * USERS / len(parts) / by_user, ">= 800")]


def resampled(rows: int) -> list[tuple[str, float, str]]:
    """The interval of average precision against 1,000 rounds of a bootstrap with scikit-learn, from
    one round.
    """
    from sklearn.metrics import average_precision_score

    label, score = simulate(rows)
    rng = np.random.default_rng(9)
    chosen = lookup.find_metric("average_precision", "counts")
    ours = seconds(
        lambda: inference.estimate(RowStatistic(chosen, Rows(label, score)), Options(0.95, rng)),
        runs=1,
    )

    def one_round() -> float:
        drawn = rng.integers(0, rows, rows)
        return average_precision_score(label[drawn], score[drawn])

    return [
        (
            "1,000 rounds of scikit-learn / interval of AP",
            1_000 * seconds(one_round) / ours,
            ">= 3640",
        )
    ]


def main(sizes: tuple[int, ...] = (1_000_000, 10_000_000)) -> list[Claim]:
    """Print the table, one line a figure."""
    claims = []
    print(f"{'rows':>12}  {'ratio':<46} {'figure':>8}  target")
    for rows in sizes:
        for name, figure, target in binary(rows) + (
            grouped(rows) + resampled(rows) if rows <= 1_000_000 else []
        ):
            print(f"{rows:>12,}  {name:<46} {figure:>8.1f}  {target}")
            claims.append(Claim(f"{name}, {rows / 1e6:g}M rows", figure, target))
    return claims


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or (1_000_000, 10_000_000))

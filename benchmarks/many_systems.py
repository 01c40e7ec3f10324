"""Many systems and many metrics: CPU and JSON of whole reports, as `evalkit report` makes them.

A campaign of 126 runs has 39,375 comparisons of 50 queries each. The other report has every metric
of two classes that needs no further column for four systems, in eleven slices of 6,366 rows. Two
hundred models of 10,000 rows are 19,900 pairs, whose differences alone are 1.6 GB: the significance
report of one value per unit has a bound for its memory.

Tried on sign flips of 50 queries without a gain beyond the noise: chunks of 2**13, 2**15 and 2**16
draws (0.73, 0.61 and 0.71 ms a pair, 0.65 with 2**14), comparisons that write numbers where draws
are weighted (0.60 against 0.59 ms), and ends that are picked before they are partitioned (0.12
against 0.15 ms of 2.3).

The page of 20 systems on 1,136 questions in 18 tasks took 8.5 s of CPU, and takes 7.2: 1.3 s are
imports, 1.8 s eight figures (1.2 as SVG, 0.6 as pictures for the notebook), 1.1 s the sign flips of
190 pairs, and constrained layout is a third of drawing an SVG. Beside commit 3f0dfb26 it takes
0.54, 0.62 and 0.64 in three rounds on a busy machine. Not tried, as last digits would change: one
product for the bootstrap sums of all pairs (4 of 24 ms a pair with 10,000 units), and cubes as
products (0.6 -> 0.01 ms). Tried on this page:

- PNG packed by level 8 of zlib and not 9: 0.35 -> 0.12 s for eight pictures and 2 % more bytes,
  kept. Levels 7 and 6: 0.06 and 0.05 s, 10 and 12 % more bytes.
- One array for the flipped units of all draws: 4.2 -> 2.9 ms for each of a hundred small p-values,
  but 7.43 against 7.42 s for the page.
- Integer powers by products for the studentised range: 0.86 against 0.28 ms. Of its 2.1 ms a pair
  the normal distribution is 1.4.

The significance of models with 10,000 units takes 1.03 of the CPU of commit 742c7c2 (60 models).
Tried on the 28 pairs of 8 models, draws cached as for further pairs, 0.70 s, two rounds in turn on
a busy machine that differ by 0.05 to 0.2 s; every number stays the same. Nothing gained more than
the noise, and nothing was changed:

- Half or twice the draws at once (`signflip.SUMS_AT_ONCE`): 0.73 and 0.71 s.
- Half or twice the drawn sums compared at once (`max_t.COMPARED_AT_ONCE`): 0.67 and 0.73 s.
- Half or a quarter of the differences made at once (`max_t.DIFFERENCES_AT_ONCE`): 0.69 and 0.76 s.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from results import REPORTS, Claim
from usage import Usage, usage

from evalkit.catalogue import lookup

COVERS = REPORTS
BIN = Path(sys.executable).parent
METRICS, QUERIES, ITEMS, KEPT = "ndcg@10,map,mrr,precision@10,recall@100", 50, 200, 30
SYSTEMS, ROWS, MANY = 126, 6_366, 33
MODELS, UNITS = 200, 10_000


def runs(systems: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first rows of each list of systems of different skill, and all judgements."""
    rng = np.random.default_rng(7)
    grade = (rng.random((QUERIES, ITEMS)) < 0.15) * rng.integers(1, 4, (QUERIES, ITEMS))
    query, item = np.indices(grade.shape).reshape(2, -1)
    qrels = pd.DataFrame({"query": query, "item": item, "grade": grade.ravel()})
    frames = []
    for number, skill in enumerate(rng.uniform(0.1, 0.9, systems)):
        scores = skill * grade + rng.normal(size=grade.shape)
        frame = qrels[["query", "item"]].assign(system=f"run{number:03}", score=scores.ravel())
        frames.append(frame[np.argsort(np.argsort(-scores, axis=1), axis=1).ravel() < KEPT])
    return pd.concat(frames), qrels


def scored() -> pd.DataFrame:
    """Labels, the scores of four systems, and two columns with eleven values in all."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=ROWS)
    frame = pd.DataFrame({"label": (rng.random(ROWS) < 1 / (1 + np.exp(1 - x))).astype(int)})
    for name, skill in zip("abcd", (1.0, 0.8, 0.5, 1.2), strict=True):
        frame[f"score_{name}"] = 1 / (1 + np.exp(1 - skill * x - rng.normal(0, 0.5, ROWS)))
    return frame.assign(
        six=rng.integers(0, 6, ROWS).astype(str), five=rng.integers(0, 5, ROWS).astype(str)
    )


def valued(models: int, units: int) -> pd.DataFrame:
    """One value a unit and model, of units of different difficulty and models of different
    skill.
    """
    rng = np.random.default_rng(9)
    values = (
        rng.uniform(0, 0.6, models) + rng.normal(size=(units, 1)) + rng.normal(size=(units, models))
    )
    names = [f"model{number:03}" for number in range(models)]
    return pd.DataFrame(1 / (1 + np.exp(-values)), columns=names).assign(unit=np.arange(units))


def metrics() -> str:
    """The first metrics of two classes; those that must be cut, at one tenth."""
    table = lookup.TABLES["counts"]
    names = [
        f"{name}@0.1" if metric.cut == "must" else name
        for name, metric in table.items()
        if not metric.columns
    ]
    return ",".join(names[:MANY])


def made(report: str, tables: Mapping[str, pd.DataFrame], **given: str) -> tuple[Usage, int]:
    """What a whole report takes, and the bytes of its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        for name, table in tables.items():
            table.to_parquet(Path(folder, f"{name}.parquet"))
            given[name] = f"{name}.parquet"
        named = [part for name, text in given.items() for part in ("-p", name, text)]
        used = usage([str(BIN / "evalkit"), "report", report, "-o", "out", *named], folder)
        return used, os.path.getsize(Path(folder, "out", f"{report}.json"))


def main() -> list[Claim]:
    """The three reports."""
    values, large = made("significance", {"preds": valued(MODELS, UNITS)})
    pairs = MODELS * (MODELS - 1) // 2
    peak = values.gigabytes
    print(
        f"{MODELS} models, {UNITS:,} units, {pairs:,} pairs: {values.cpu:.1f} s CPU, {peak:.2f} "
        f"GB, {large:,} bytes"
    )
    preds, qrels = runs(SYSTEMS)
    campaign, size = made("ranking", {"preds": preds, "qrels": qrels}, metrics=METRICS)
    cpu = campaign.cpu
    pairs = 5 * SYSTEMS * (SYSTEMS - 1) // 2
    print(
        f"{SYSTEMS} runs, {QUERIES} queries, five metrics, {pairs:,} comparisons: {cpu:.1f} s CPU, "
        f"{size:,} bytes"
    )
    many, _ = made("classification", {"preds": scored()}, metrics=metrics(), segments="six,five")
    print(f"{MANY} metrics, 4 systems, 11 slices, {ROWS:,} rows: {many.cpu:.1f} s CPU")
    return [
        Claim(f"report of {SYSTEMS} runs, all pairs, five metrics: CPU seconds", cpu, "<= 60"),
        Claim(f"report of {SYSTEMS} runs: MB of JSON", size / 1e6, "<= 3"),
        Claim(f"report of {MANY} metrics, 4 systems, 11 slices: CPU seconds", many.cpu, "<= 15"),
        Claim(
            f"report of {MODELS} models, {UNITS:,} units, all pairs: GB of memory", peak, "<= 1.5"
        ),
    ]


if __name__ == "__main__":
    main()

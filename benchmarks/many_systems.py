"""Many systems: CPU and JSON of all pairs of ranked lists on five metrics, a comparison.

A campaign of 126 runs has 39,375 comparisons of 50 queries each; `main(126)` makes them all.
"""

import time

import numpy as np
import pandas as pd
from results import Claim

from evalkit import report
from evalkit.drawing import tables
from evalkit.pages import record
from evalkit.studies import ranking

METRICS, QUERIES, ITEMS, KEPT = "ndcg@10,map,mrr,precision@10,recall@100", 50, 200, 30


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


def main(systems: int = 30) -> list[Claim]:
    """Prints what one comparison of two systems costs, and what it takes in the JSON."""
    preds, qrels = runs(systems)
    start = time.process_time()
    study = ranking.read(preds, qrels, metrics=METRICS)
    pairs = len(study.comparisons)
    spent = time.process_time() - start
    size = len(report.ENCODE(tables.plain(record.columns(study.comparisons))))
    print(f"{systems} systems, {QUERIES} queries, five metrics, {pairs:,} comparisons: {spent:.1f} s CPU")
    print(f"  a comparison: {1000 * spent / pairs:.2f} ms, {size / pairs:.0f} bytes of JSON")
    return []


if __name__ == "__main__":
    main()

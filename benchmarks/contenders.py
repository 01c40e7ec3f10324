"""One tool, one process: `python contenders.py TOOL RUN QRELS` prints seconds, peak memory and five
means as JSON.

Every tool reads the same two Parquet files and gives ndcg@10, map, mrr, recall@100 and
precision@10, averaged over the judged queries. Imports are not timed, nor is the first time; ranx
runs once on toys before, so that its compiled code is in place. evalkit checks its input
(duplicates, finite scores, ids) and keeps every query's values; the DuckDB query does not.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

MEASURES = ("ndcg@10", "map", "mrr", "recall@100", "precision@10")
TIMES = 2
Means = list[float]
Made = TypeVar("Made")


def evalkit() -> Callable[[str, str], Means]:
    """evalkit, input checks on."""
    import duckdb  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401

    from evalkit.catalogue import lookup
    from evalkit.reading.inputs import runs

    def work(run: str, qrels: str) -> Means:
        data = runs.read(run, qrels)
        r = data.rankings[data.systems[0]]
        return [lookup.find_metric(name, "rankings").sums(r).value for name in MEASURES]

    return work


def duckdb_by_hand() -> Callable[[str, str], Means]:
    """One SQL query for the five means."""
    import duckdb

    query = """
    with judged as (select * from '{qrels}'),
    ranked as (select query, item, row_number() over (partition by query order by score desc, item desc) as rank
               from '{run}'),
    hit as (select query, rank, grade, row_number() over (partition by query order by rank) as nth
            from ranked join judged using (query, item) where grade >= 1),
    got as (select query, sum(grade / log2(rank + 1)) filter (rank <= 10) as dcg, sum(nth / rank) as precisions,
                   min(rank) as first, count(*) filter (rank <= 100) as in_100, count(*) filter (rank <= 10) as in_10
            from hit group by query),
    best as (select query, grade, row_number() over (partition by query order by grade desc) as rank from judged),
    ideal as (select query, sum(grade / log2(rank + 1)) filter (rank <= 10) as dcg, count(*) filter (grade >= 1) as r
              from best group by query)
    select avg(coalesce(got.dcg, 0) / ideal.dcg), avg(coalesce(precisions, 0) / r), avg(coalesce(1 / first, 0)),
           avg(coalesce(in_100, 0) / r), avg(coalesce(in_10, 0) / 10)
    from ideal left join got using (query) where r > 0
    """

    def work(run: str, qrels: str) -> Means:
        return list(duckdb.execute(query.format(run=run, qrels=qrels)).fetchall()[0])

    return work


def pandas_merges() -> Callable[[str, str], Means]:
    """A merge and a groupby for each metric, as recommenders does."""
    import numpy as np
    import pandas as pd
    import pyarrow.dataset  # noqa: F401  what read_parquet imports

    def hits(run: pd.DataFrame, judged: pd.DataFrame, k: int | None) -> pd.DataFrame:
        ranked = run.sort_values(["query", "score", "item"], ascending=[True, False, False])
        ranked = ranked.assign(rank=ranked.groupby("query").cumcount() + 1)
        top = ranked if k is None else ranked[ranked["rank"] <= k]
        return top.merge(judged[judged["grade"] >= 1], on=["query", "item"])

    def work(run_file: str, qrels_file: str) -> Means:
        run = pd.read_parquet(run_file)
        judged = pd.read_parquet(qrels_file)
        r = judged[judged["grade"] >= 1].groupby("query").size()

        def mean(values: pd.Series) -> float:
            return float(values.reindex(r.index, fill_value=0).mean())

        best = judged.sort_values("grade", ascending=False)
        best = best.assign(rank=best.groupby("query").cumcount() + 1)
        best = best[best["rank"] <= 10]
        ideal = (best["grade"] / np.log2(best["rank"] + 1)).groupby(best["query"]).sum()
        h = hits(run, judged, 10)
        dcg = (h["grade"] / np.log2(h["rank"] + 1)).groupby(h["query"]).sum()
        out = [mean((dcg / ideal).fillna(0))]
        h = hits(run, judged, None)
        precision = (h.groupby("query").cumcount() + 1) / h["rank"]
        out.append(mean(precision.groupby(h["query"]).sum() / r))
        out.append(mean(1 / hits(run, judged, None).groupby("query")["rank"].min()))
        out.append(mean(hits(run, judged, 100).groupby("query").size() / r))
        return [*out, mean(hits(run, judged, 10).groupby("query").size() / 10)]

    return work


def _dicts(run_file: str, qrels_file: str) -> tuple[dict, dict]:
    """Both files as the dictionaries of dictionaries that pytrec_eval takes."""
    import pyarrow.parquet as pq

    def nested(file: str, value: str) -> dict:
        table = pq.read_table(file)
        out: dict = {}
        for query, item, one in zip(
            *(table[name].to_pylist() for name in ("query", "item", value)), strict=True
        ):
            out.setdefault(query, {})[item] = one
        return out

    return nested(run_file, "score"), nested(qrels_file, "grade")


def _relevant(judged: dict) -> list[str]:
    return [query for query, grades in judged.items() if max(grades.values()) >= 1]


def pytrec_eval() -> Callable[[str, str], Means]:
    """pytrec_eval-terrier on dictionaries."""
    import pyarrow.dataset  # noqa: F401  what read_table imports
    import pytrec_eval as tool

    def work(run_file: str, qrels_file: str) -> Means:
        run, judged = _dicts(run_file, qrels_file)
        names = ("ndcg_cut_10", "map", "recip_rank", "recall_100", "P_10")
        asked = {"ndcg_cut.10", "map", "recip_rank", "recall.100", "P.10"}
        found = tool.RelevanceEvaluator(judged, asked).evaluate(run)
        queries = _relevant(judged)
        return [
            sum(found.get(q, {}).get(name, 0.0) for q in queries) / len(queries) for name in names
        ]

    return work


def ir_measures() -> Callable[[str, str], Means]:
    """ir_measures on dictionaries, the faster of its two ways in."""
    import ir_measures as tool
    import pyarrow.dataset  # noqa: F401  what read_table imports

    def work(run_file: str, qrels_file: str) -> Means:
        run, judged = _dicts(run_file, qrels_file)
        queries = set(_relevant(judged))
        judged = {query: grades for query, grades in judged.items() if query in queries}
        measures = [tool.nDCG @ 10, tool.AP, tool.RR, tool.R @ 100, tool.P @ 10]
        found = tool.calc_aggregate(measures, judged, run)
        return [float(found[measure]) for measure in measures]

    return work


def ranx() -> Callable[[str, str], Means]:
    """ranx on dictionaries (its own Parquet reader fails on pandas 3), compiled before the clock
    starts.
    """
    import pyarrow.dataset  # noqa: F401  what read_table imports
    import ranx as tool

    def evaluate(run: dict, judged: dict) -> Means:
        judged = {
            query: {item: int(g) for item, g in grades.items()} for query, grades in judged.items()
        }
        run = {query: run.get(query, {}) for query in judged}
        measures = ["ndcg@10", "map", "mrr", "recall@100", "precision@10"]
        found = tool.evaluate(tool.Qrels(judged), tool.Run(run), measures, make_comparable=True)
        return [float(found[name]) for name in measures]

    toys = {f"q{i}": {f"doc{j:06d}": 1.0 + j for j in range(3)} for i in range(3)}
    evaluate(toys, toys)

    def work(run_file: str, qrels_file: str) -> Means:
        run, judged = _dicts(run_file, qrels_file)
        queries = set(_relevant(judged))
        return evaluate(
            run, {query: grades for query, grades in judged.items() if query in queries}
        )

    return work


CONTENDERS = {
    one.__name__: one
    for one in (evalkit, duckdb_by_hand, pandas_merges, pytrec_eval, ir_measures, ranx)
}


def timed(work: Callable[..., Made], *files: str) -> tuple[Made, dict[str, list[float]]]:
    """What the work gives, and the CPU and wall seconds of each of `TIMES` times after a first that
    does not count.

    The first one pays for pages that the host of a virtual machine had taken back, which varies
    more than the tools.
    """
    made = work(*files)
    spent: dict[str, list[float]] = {"cpu": [], "wall": []}
    for _ in range(TIMES):
        wall = time.perf_counter()
        cpu = time.process_time()
        made = work(*files)
        spent["cpu"].append(time.process_time() - cpu)
        spent["wall"].append(time.perf_counter() - wall)
    return made, spent


def peak_megabytes() -> float:
    """The most memory that this process held; not getrusage's figure, which begins with the
    parent's.
    """
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def main(tool: str, run: str, qrels: str) -> None:
    """Times one tool on one pair of files."""
    means, spent = timed(CONTENDERS[tool](), run, qrels)
    print(json.dumps({"tool": tool, **spent, "peak_mb": peak_megabytes(), "means": means}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Ranked lists as people have them."""

import gzip

import numpy as np
import pandas as pd
from shapes.shape import Refused, Right, Shape, csv

QUERIES, DEPTH = 8, 6


def _base() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    rows = []
    for system, skill in (("bm25", 0.4), ("dense", 1.2)):
        for query in range(QUERIES):
            grades = np.random.default_rng(query).permutation([1, 1, 0, 0, 0, 0])
            score = skill * grades + rng.normal(size=DEPTH)
            rows += [(system, f"q{query}", f"d{i}", round(score[i], 6), grades[i]) for i in range(DEPTH)]
    return pd.DataFrame(rows, columns=["system", "query", "item", "score", "grade"])


BASE = _base()


def average_precision(frame: pd.DataFrame) -> dict[str, float]:
    """MAP of each system by its definition; what is relevant to a query is what any row of it says."""
    relevant = frame[frame["grade"] > 0].groupby("query")["item"].nunique()

    def of_list(rows: pd.DataFrame) -> float:
        place = rows["rank"] if "rank" in rows else rows["score"].rank(ascending=False)
        hits = np.sort(place[rows["grade"] > 0])
        return float((np.arange(1, len(hits) + 1) / hits).sum() / relevant[rows["query"].iloc[0]])

    lists = {key: of_list(rows) for key, rows in frame.groupby(["system", "query"])}
    return pd.Series(lists).groupby(level=0).mean().to_dict()


RIGHT = Right({"bm25", "dense"}, "query", QUERIES, average_precision(BASE))
ONE = BASE[BASE["system"] == "dense"]
WIDE = BASE.pivot(index=["query", "item", "grade"], columns="system", values="score").reset_index()
PLAIN = WIDE.rename_axis(columns=None)
SCORED = PLAIN.rename(columns={"bm25": "score_bm25", "dense": "score_dense"})
RANKED = BASE.assign(rank=BASE.groupby(["system", "query"])["score"].rank(ascending=False).astype(int))
QRELS = ONE[["query", "item", "grade"]]


def run(system: str, sep: str = " ", item: str = "") -> str:
    """A TREC run of one system."""
    rows = RANKED[RANKED["system"] == system]
    return "".join(
        sep.join([r.query, "Q0", item + r.item, str(r.rank), str(r.score), system]) + "\n" for r in rows.itertuples()
    )


def passages(system: str) -> str:
    """A run as MS MARCO has it: query, passage, rank."""
    rows = RANKED[RANKED["system"] == system].sort_values(["query", "rank"])
    return "".join(f"{r.query[1:]}\t{r.item[1:]}\t{r.rank}\n" for r in rows.itertuples())


JUDGED = "".join(f"{r.query} 0 {r.item} {r.grade}\n" for r in QRELS.itertuples())
PASSAGE_QRELS = "".join(f"{r.query[1:]}\t0\t{r.item[1:]}\t{r.grade}\n" for r in QRELS.itertuples() if r.grade)
TREC = {"bm25.run": run("bm25"), "dense.run": run("dense")}
METRIC = {"metrics": "map"}


def one(name: str, file: str, content, expected, **parameters) -> Shape:
    """A shape of one file."""
    return Shape(name, {file: content}, {"preds": f"@{file}", **METRIC, **parameters}, expected)


def runs(name: str, files: dict, expected, qrels: tuple[str, object] = ("qrels.txt", JUDGED), **parameters) -> Shape:
    """A folder of runs with judgements."""
    inside = {f"runs/{file}": content for file, content in files.items()}
    return Shape(
        name,
        {**inside, qrels[0]: qrels[1]},
        {"preds": "@runs", "qrels": f"@{qrels[0]}", **METRIC, **parameters},
        expected,
    )


GAPS = RANKED[RANKED["rank"] != 1].drop(columns="score")
USERS = BASE.assign(user=BASE["query"].map(lambda query: f"u{int(query[1:]) // 2}"))

SHAPES = [
    one("long", "a.csv", BASE, RIGHT),
    one("long with further numbers", "a.csv", BASE.assign(price=9.5, clicks=3, year=2024), RIGHT),
    one(
        "long with other usual names",
        "a.csv",
        BASE.set_axis(["model", "query_id", "doc_id", "y_score", "relevance"], axis=1),
        RIGHT,
    ),
    one(
        "long with names of its own",
        "a.csv",
        BASE.set_axis(["variant", "topic", "sku", "points", "gain"], axis=1),
        Right({"bm25", "dense"}, "topic", QUERIES, RIGHT.value),
        columns="system=variant,query=topic,item=sku,score=points,grade=gain",
    ),
    one(
        "long with names of its own, not told",
        "a.csv",
        BASE.set_axis(["v", "topic", "sku", "points", "gain"], axis=1),
        Refused(r"query.*column|column.*query"),
    ),
    one("ranks and no scores", "a.csv", RANKED.drop(columns="score"), RIGHT),
    one("ranks beside scores", "a.csv", RANKED.assign(rank=1), RIGHT),
    one("ranks that start at 2", "a.csv", GAPS, Right({"bm25", "dense"}, "query", QUERIES, average_precision(GAPS))),
    one("wide", "a.csv", SCORED, RIGHT),
    one("wide, systems named", "a.csv", PLAIN, RIGHT, systems="bm25,dense"),
    one("wide, systems not named", "a.csv", PLAIN, Refused("score")),
    one("one system without a name", "a.csv", ONE.drop(columns="system"), Right({"a"}, "query", QUERIES)),
    one("json lines", "a.jsonl", BASE, RIGHT),
    one("parquet", "a.parquet", BASE, RIGHT),
    one("compressed", "a.csv.gz", gzip.compress(csv(BASE).encode()), RIGHT),
    one(
        "repeated runs in one table",
        "a.csv",
        pd.concat([BASE.assign(seed=1), BASE.assign(seed=2)]),
        Refused("must appear once"),
    ),
    one("no judgements", "a.csv", BASE.drop(columns="grade"), Refused("grade|qrels")),
    one("a header alone", "a.csv", "system,query,item,score,grade\n", Refused(r"no rows|empty|no row")),
    one(
        "users as units",
        "a.csv",
        USERS,
        Right({"bm25", "dense"}, "user", QUERIES // 2),
        unit="user",
    ),
    one(
        "numbers as system names",
        "a.csv",
        BASE.replace({"system": {"bm25": 1, "dense": 2}}),
        Right({"1", "2"}, "query", QUERIES),
    ),
    Shape(
        "judgements in a table of their own",
        {"a.csv": BASE.drop(columns="grade"), "qrels.csv": QRELS},
        {"preds": "@a.csv", "qrels": "@qrels.csv", **METRIC},
        RIGHT,
    ),
    runs("runs", TREC, RIGHT),
    runs("runs with tabs", {f"{name}.run": run(name, "\t") for name in ("bm25", "dense")}, RIGHT),
    runs("runs named csv", {f"{name}.csv": run(name) for name in ("bm25", "dense")}, RIGHT),
    runs(
        "runs named tsv",
        {f"{name}.tsv": run(name, "\t") for name in ("bm25", "dense")},
        RIGHT,
        ("qrels.tsv", JUDGED.replace(" ", "\t")),
    ),
    runs(
        "runs of MS MARCO",
        {f"{name}.tsv": passages(name) for name in ("bm25", "dense")},
        RIGHT,
        ("qrels.dev.tsv", PASSAGE_QRELS),
    ),
    runs(
        "runs with a blank in an item",
        {"bm25.run": run("bm25", item="new "), "dense.run": TREC["dense.run"]},
        Refused(r"bm25\.run.*first line .q0 Q0 new d0"),
    ),
    runs("runs beside what an engine leaves", {**TREC, "_SUCCESS": "", ".hidden": "x", "_committed_12": "{}"}, RIGHT),
    Shape(
        "a folder of partitions",
        {f"t/system={name}/part-0.parquet": rows.drop(columns="system") for name, rows in BASE.groupby("system")},
        {"preds": "@t", **METRIC},
        RIGHT,
    ),
]

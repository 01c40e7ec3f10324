"""Tables as tools and people write them, each with what an expert colleague would want of it.

A case is the text of one or more files and what is asked; `wants` is either `Page`, which says what must be on it, or
`Refused`, some words of the one line that says why. A case that wants a page may be refused in one line too; it may
never be read as something else. The list was written before any of it was run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Content = str | bytes | Callable[[Path], None]


@dataclass(frozen=True)
class Page:
    """systems: all of them, in any order. n: the units behind the first number. must: a refusal will not do."""

    systems: tuple[str, ...] = ()
    n: int | None = None
    must: bool = False


@dataclass(frozen=True)
class Refused:
    """words: one of them stands in the message."""

    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """files: by name, the first is what the report reads. given: further parameters."""

    name: str
    report: str
    files: Mapping[str, Content]
    wants: Page | Refused
    given: Mapping[str, Any] = field(default_factory=dict)


N = 40
RNG = np.random.default_rng(5)
A = RNG.uniform(0.2, 0.9, N).round(3)
B = (A + RNG.normal(0.03, 0.05, N)).clip(0, 1).round(3)
LABEL = RNG.permutation(np.arange(N) % 2)
SCORE = (0.3 + 0.4 * LABEL + RNG.uniform(-0.25, 0.25, N)).round(3)
OTHER = (0.4 + 0.2 * LABEL + RNG.uniform(-0.35, 0.35, N)).round(3)
ACTUAL = RNG.gamma(3, 20, N).round(1)
FORECAST = (ACTUAL + RNG.normal(0, 8, N)).round(1)
WORSE = (ACTUAL + RNG.normal(3, 14, N)).round(1)


def csv(columns: Mapping[str, Any], sep: str = ",", decimal: str = ".", **options: Any) -> str:
    """A table as text."""
    return pd.DataFrame(dict(columns)).to_csv(index=options.pop("index", False), sep=sep, decimal=decimal, **options)


def lines(*rows: str) -> str:
    """Lines of a file."""
    return "\n".join(rows) + "\n"


def parquet(columns: Mapping[str, Any]) -> Callable[[Path], None]:
    """A table as a Parquet file."""
    return lambda path: pd.DataFrame(dict(columns)).to_parquet(path)


def query(i: int) -> str:
    """The name of a query."""
    return f"q{i:02d}"


QUERIES = [query(i) for i in range(N)]
IDS = [f"r{i:03d}" for i in range(N)]
WIDE = {"query": QUERIES, "bm25": A, "dense": B}
MARKED = [f"{value:.3f}{'**' if i % 3 else ''}" for i, value in enumerate(B)]
SUMMARY = {"": ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]}
DESCRIBED = SUMMARY | {
    "bm25": [40, 0.5, 0.1, 0.2, 0.4, 0.5, 0.6, 0.9],
    "dense": [40, 0.6, 0.1, 0.2, 0.4, 0.5, 0.6, 0.9],
}


def with_row(name: str, of: Callable[[Any], float], columns: Mapping[str, Any] = WIDE) -> str:
    """A wide table with a last row that sums it up."""
    frame = pd.DataFrame(dict(columns))
    frame.loc[len(frame)] = [name, *(round(float(of(frame[c])), 3) for c in frame.columns[1:])]
    return frame.to_csv(index=False)


def of(report: str, name: str, content: Content, wants: Page | Refused, file: str = "preds.csv", **given: Any) -> Case:
    """A case of one file."""
    return Case(name, report, {file: content}, wants, given)


BOTH = Page(("bm25", "dense"), N)
SURE = Page(("bm25", "dense"), N, must=True)

SIGNIFICANCE = (
    of("significance", "values by query", csv(WIDE), SURE),
    of("significance", "pandas with its index", csv(WIDE, index=True), BOTH),
    of("significance", "R with row names", csv({"": range(1, N + 1), "bm25": A, "dense": B}), BOTH),
    of("significance", "German Excel", csv({"Anfrage": QUERIES, "bm25": A, "dense": B}, ";", ","), BOTH),
    of("significance", "German Excel with an average", with_row("Durchschnitt", np.mean), Refused(("Durchschnitt",))),
    of("significance", "pivot table with a total", with_row("Total", np.sum), Refused(("Total",))),
    of("significance", "pivot table with a grand total", with_row("Grand Total", np.sum), Refused(("Grand Total",))),
    of("significance", "a last row of means", with_row("mean", np.mean), Refused(("mean",))),
    of("significance", "trec_eval's all as a query", with_row("all", np.mean), Refused(("all",))),
    of("significance", "describe()", csv(DESCRIBED), Refused(("count", "summary"))),
    of("significance", "stars of significance", csv(WIDE | {"dense": MARKED}), Refused(("dense",))),
    of("significance", "plus minus", csv(WIDE | {"dense": [f"{b}±0.02" for b in B]}), Refused(("dense",))),
    of("significance", "errors in brackets", csv(WIDE | {"dense": [f"{b} (0.02)" for b in B]}), Refused(("dense",))),
    of(
        "significance",
        "per cent",
        csv({"query": QUERIES} | {c: [f"{100 * v:.1f}%" for v in V] for c, V in (("bm25", A), ("dense", B))}),
        BOTH,
    ),
    of("significance", "NULL of SQL", csv(WIDE | {"dense": ["NULL", *B[1:]]}), Page(("bm25", "dense"), N - 1)),
    of("significance", "difference and p beside", csv(WIDE | {"diff": B - A, "p": A}), Page(("bm25", "dense"), N)),
    of(
        "significance",
        "length and zip code beside",
        csv({"query": QUERIES, "length": range(9, 49), "zip_code": range(10115, 10155), "bm25": A, "dense": B}),
        BOTH,
    ),
    of(
        "significance",
        "num_rel beside",
        csv({"query": QUERIES, "num_rel": RNG.integers(1, 9, N), "bm25": A, "dense": B}),
        BOTH,
    ),
    of(
        "significance",
        "dates as numbers",
        csv({"date": range(20240101, 20240101 + 30), "bm25": A[:30], "dense": B[:30]}),
        Page(("bm25", "dense"), 30),
    ),
    of(
        "significance",
        "subject and question",
        csv({"subject": np.arange(N) // 10, "question_id": np.arange(N) % 10, "bm25": A, "dense": B}),
        BOTH,
    ),
    of(
        "significance",
        "W&B curves",
        csv({"Step": range(N)} | {f"{r} - acc{e}": V for r, V in (("a", A), ("b", B)) for e in ("", "__MIN", "__MAX")}),
        Refused(("__MIN", "Step", "systems")),
    ),
    of(
        "significance",
        "MLflow runs",
        csv(
            {
                "run_id": IDS,
                "experiment_id": 1,
                "status": "FINISHED",
                "metrics.acc": A,
                "metrics.f1": B,
                "params.lr": 0.1,
            }
        ),
        Refused(("params.lr", "systems")),
    ),
    of(
        "significance",
        "HF Trainer",
        csv({"epoch": range(N), "step": range(0, 400, 10), "loss": A, "learning_rate": 1e-5, "eval_loss": B}),
        Refused(("learning_rate", "step", "epoch", "systems")),
    ),
    of(
        "significance",
        "Optuna",
        csv(
            {
                "number": range(N),
                "value": A,
                "duration": B,
                "params_x": A,
                "params_depth": range(N),
                "state": "COMPLETE",
            }
        ),
        Refused(("params_x", "params_depth", "systems")),
    ),
    of(
        "significance",
        "cv_results_",
        csv(
            {
                "mean_fit_time": A,
                "param_C": range(N),
                "split0_test_score": A,
                "split1_test_score": B,
                "mean_test_score": A,
                "std_test_score": B,
                "rank_test_score": range(1, N + 1),
            }
        ),
        Refused(("mean_fit_time", "param_C", "rank_test_score", "systems")),
    ),
    of(
        "significance",
        "cross_validate",
        csv({"fit_time": A[:10], "score_time": B[:10], "test_accuracy": A[:10], "test_f1": B[:10]}, index=True),
        Refused(("fit_time", "score_time", "systems")),
    ),
    of(
        "significance",
        "scores by fold",
        csv({"fold": range(10), "logistic": A[:10], "forest": B[:10]}),
        Page(("logistic", "forest"), 10),
    ),
    of(
        "significance",
        "AutoGluon leaderboard",
        csv({"model": IDS, "score_val": A, "pred_time_val": B, "fit_time": A, "stack_level": 1}),
        Refused(),
    ),
    of(
        "significance",
        "psql",
        lines(
            " query | bm25 | dense ",
            "-------+------+-------",
            *(f" {q} | {a} | {b} " for q, a, b in zip(QUERIES, A, B, strict=True)),
            "(40 rows)",
        ),
        Refused(),
    ),
    of(
        "significance",
        "long with metrics",
        csv(
            {
                "query": QUERIES * 4,
                "model": (["bm25"] * N + ["dense"] * N) * 2,
                "metric": ["ndcg"] * 2 * N + ["map"] * 2 * N,
                "value": [*A, *B, *B, *A],
            }
        ),
        SURE,
    ),
    of(
        "significance",
        "lm-eval table",
        csv({"task": IDS, "version": 1, "n-shot": 0, "metric": "acc", "value": A, "stderr": B}),
        Page(("value",), N),
    ),
    of(
        "significance",
        "log losses by name",
        csv({"query": QUERIES, "log_loss_a": A, "log_loss_b": B}),
        Page(("log_loss_a", "log_loss_b"), N),
    ),
    of("significance", "results as JSON of one number", '{"NDCG@10": 0.5, "MAP": 0.4}', Refused(), "preds.json"),
    Case(
        "trec_eval -q",
        "significance",
        {
            name: "".join(f"map\t{q}\t{v:.4f}\n" for q, v in zip(QUERIES, V, strict=True))
            + f"map\tall\t{V.mean():.4f}\n"
            for name, V in (("bm25.txt", A), ("dense.txt", B))
        },
        SURE,
    ),
)

SCORED = {"id": IDS, "label": LABEL, "score": SCORE}
ONE = Page((), N)
RIGHT = Page((), N, must=True)

CLASSIFICATION = (
    of("classification", "label and score", csv(SCORED), RIGHT),
    of(
        "classification",
        "two models, wide",
        csv({"id": IDS, "label": LABEL, "score_a": SCORE, "score_b": OTHER}),
        Page(("a", "b"), N, must=True),
    ),
    of("classification", "a byte order mark", b"\xef\xbb\xbf" + csv(SCORED).encode(), RIGHT),
    of("classification", "Excel's Unicode text", csv(SCORED, "\t").encode("utf-16"), ONE),
    of("classification", "Windows line ends", csv(SCORED).replace("\n", "\r\n"), RIGHT),
    of("classification", "semicolons and decimal commas", csv(SCORED, ";", ","), ONE),
    of("classification", "TRUE and FALSE of R", csv(SCORED | {"label": np.where(LABEL == 1, "TRUE", "FALSE")}), RIGHT),
    of("classification", "True and False of Python", csv(SCORED | {"label": LABEL == 1}), RIGHT),
    of("classification", "labels as 1.0", csv(SCORED | {"label": LABEL.astype(float)}), RIGHT),
    of(
        "classification",
        "yes and no",
        csv(SCORED | {"label": np.where(LABEL == 1, "yes", "no")}),
        Refused(("positive",)),
    ),
    of("classification", "codes 1 and 2 of SPSS", csv(SCORED | {"label": LABEL + 1}), Refused(("positive",))),
    of("classification", "code 9 for missing", csv(SCORED | {"label": [9, *LABEL[1:]]}), Refused(("label",))),
    of("classification", "scores in per cent", csv(SCORED | {"score": 100 * SCORE}), RIGHT),
    of("classification", "margins of XGBoost", csv(SCORED | {"score": (SCORE - 0.5) * 6}), RIGHT),
    of("classification", "Kaggle submission", csv({"id": IDS, "target": SCORE}), Refused()),
    of(
        "classification",
        "sentiment pipeline",
        csv({"text": IDS, "label": np.where(SCORE > 0.5, "POSITIVE", "NEGATIVE"), "score": 0.5 + abs(SCORE - 0.5)}),
        Refused(("positive",)),
    ),
    of("classification", "scikit-learn classes", csv({"y_true": LABEL, "y_pred": SCORE > 0.5, "y_proba": SCORE}), ONE),
    of("classification", "LightGBM", csv({"label": LABEL, "pred": SCORE}), Refused(("score",))),
    of(
        "classification",
        "MLflow evaluation",
        csv({"inputs": IDS, "target": LABEL, "predictions": (SCORE > 0.5).astype(int)}),
        Refused(("score", "predictions")),
    ),
    of(
        "classification",
        "Spark ML",
        csv({"label": LABEL, "prediction": SCORE > 0.5, "probability": [f"[{1 - s:.3f},{s}]" for s in SCORE]}),
        Refused(("score", "labels")),
    ),
    of(
        "classification",
        "CatBoost",
        csv({"SampleId": range(N), "Probability": SCORE, "Label": LABEL}, "\t"),
        Refused(),
        "preds.tsv",
    ),
    of(
        "classification",
        "AutoGluon leaderboard",
        csv({"model": IDS, "score_val": A, "fit_time": B}),
        Refused(("label",)),
    ),
    of(
        "classification",
        "Label Studio",
        csv({"id": range(N), "annotator": 1, "sentiment": "pos", "lead_time": A}),
        Refused(("label",)),
    ),
    of(
        "classification",
        "three classes",
        csv({"label": ["cat", "dog", "eel", "cat"] * 10, "p_cat": A / 3, "p_dog": B / 3, "p_eel": 1 - A / 3 - B / 3}),
        RIGHT,
    ),
    of("classification", "null of BigQuery", csv(SCORED | {"score": ["null", *SCORE[1:]]}), Refused(("score",))),
    of(
        "classification",
        "ids that Excel rounded",
        csv(SCORED | {"id": ["1.23E+12"] * N, "model": "a"}),
        Refused(("1.23E+12",)),
    ),
    of(
        "classification",
        "an id twice",
        csv({"id": [IDS[1], *IDS[1:]], "model": "a", "label": LABEL, "score": SCORE}),
        Refused((IDS[1],)),
    ),
    of(
        "classification",
        "dictionary columns",
        parquet(SCORED | {"label": pd.Categorical(LABEL)}),
        RIGHT,
        "preds.parquet",
    ),
    of(
        "classification",
        "W&B table",
        '{"columns": ["label", "score"], "data": [[1, 0.5], [0, 0.4]]}',
        Refused(),
        "preds.json",
    ),
    of(
        "classification",
        "SQL dump",
        lines("INSERT INTO preds VALUES", "(1,0,0.5),", "(2,1,0.6);"),
        Refused(),
        "preds.sql",
    ),
    of("classification", "Excel workbook", b"PK\x03\x04" + bytes(60), Refused(), "preds.xlsx"),
    of("classification", "a workbook called .csv", b"PK\x03\x04" + bytes(60), Refused()),
    of("classification", "SPSS file", b"$FL2@(#) SPSS DATA FILE", Refused(), "preds.sav"),
    of("classification", "pickle", b"\x80\x04\x95", Refused(), "preds.pkl"),
    of("classification", "a web page called .csv", "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", Refused()),
    Case("Spark's folder of CSV", "classification", {"out/_SUCCESS": "", "out/part-00000-a.csv": csv(SCORED)}, RIGHT),
    Case(
        "Delta Lake",
        "classification",
        {"out/_delta_log/00000000000000000000.json": "{}\n", "out/part-00000.parquet": parquet(SCORED)},
        Refused(("_delta_log", "Delta")),
    ),
    Case(
        "Iceberg",
        "classification",
        {"out/metadata/v1.metadata.json": "{}", "out/data/a.parquet": parquet(SCORED)},
        Refused(("Iceberg",)),
    ),
    Case(
        "Hudi",
        "classification",
        {"out/.hoodie/hoodie.properties": "a=b\n", "out/a.parquet": parquet(SCORED)},
        Refused(("Hudi", "hoodie")),
    ),
)

DOCS = [(q, f"d{i}", 10 - i, int((q_at + i) % 4 == 0)) for q_at, q in enumerate(QUERIES[:12]) for i in range(8)]
RUN = "".join(f"{q} Q0 {d} {9 - s + 1} {s} tag\n" for q, d, s, _ in DOCS)
QRELS = "".join(f"{q} 0 {d} {g}\n" for q, d, _, g in DOCS)
LISTS = {"query": [d[0] for d in DOCS], "item": [d[1] for d in DOCS], "score": [d[2] for d in DOCS]}
GRADED = LISTS | {"grade": [d[3] for d in DOCS]}
TWELVE, TOP = Page((), 12), Page((), 12, must=True)


def judged(name: str, run: str, qrels: str, wants: Page | Refused, file: str = "run.txt") -> Case:
    """A run with judgements."""
    return Case(name, "ranking", {file: run, "qrels.txt": qrels}, wants)


RANKING = (
    judged("TREC", RUN, QRELS, TOP),
    judged(
        "MS MARCO",
        "".join(f"{i // 8}\t{d[1][1:]}\t{i % 8 + 1}\n" for i, d in enumerate(DOCS)),
        "".join(f"{i // 8}\t0\t{d[1][1:]}\t{d[3]}\n" for i, d in enumerate(DOCS)),
        TWELVE,
    ),
    judged(
        "BEIR judgements",
        RUN,
        "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{g}\n" for q, d, _, g in DOCS),
        TWELVE,
    ),
    judged("ids in another case", RUN.replace(" d", " D"), QRELS, Refused(("judge", "item"))),
    judged("ids with an ending", RUN.replace(" Q0 d", " Q0 img/d"), QRELS, Refused(("judge", "item"))),
    judged("queries of another set", RUN.replace("q", "t"), QRELS, Refused(("quer",))),
    judged("LETOR", "2 qid:1 1:0.3 2:0.5\n0 qid:1 1:0.1 2:0.2\n", QRELS, Refused()),
    of("ranking", "ranked rows with grades", csv(GRADED), TOP),
    of(
        "ranking",
        "recommender log",
        csv(
            {"user_id": GRADED["query"], "item_id": GRADED["item"], "score": GRADED["score"], "label": GRADED["grade"]}
        ),
        TWELVE,
    ),
    of(
        "ranking",
        "MovieLens",
        csv(
            {
                "userId": GRADED["query"],
                "movieId": GRADED["item"],
                "rating": GRADED["grade"],
                "prediction": GRADED["score"],
            }
        ),
        Refused(),
    ),
    of("ranking", "ESCI letters", csv(LISTS | {"grade": ["E", "S", "C", "I"] * 24}), Refused(("grade",))),
    of("ranking", "lists in cells", csv({"user_id": QUERIES, "items": ["d1 d2 d3"] * N}), Refused()),
    of(
        "ranking",
        "ranks from 0",
        csv(
            {
                "query": LISTS["query"],
                "item": LISTS["item"],
                "rank": [i % 8 for i in range(96)],
                "grade": GRADED["grade"],
            }
        ),
        Refused(("rank",)),
    ),
    of(
        "ranking",
        "two systems with plain names",
        csv(
            {
                "query": LISTS["query"],
                "item": LISTS["item"],
                "grade": GRADED["grade"],
                "bm25": GRADED["score"],
                "dense": RNG.uniform(size=96),
            }
        ),
        Refused(("systems",)),
    ),
    of("ranking", "commas in queries", csv(GRADED | {"query": [f"shoes, {q}" for q in GRADED["query"]]}), TOP),
    of("ranking", "rank_eval of Elasticsearch", '{"metric_score": 0.5, "details": {}}', Refused(), "preds.json"),
)

NUMBERS = {"actual": ACTUAL, "forecast": FORECAST}
RATING = (
    of("rating", "actual and forecast", csv(NUMBERS), RIGHT),
    of(
        "rating",
        "two models, wide",
        csv({"actual": ACTUAL, "forecast_a": FORECAST, "forecast_b": WORSE}),
        Page(("a", "b"), N, must=True),
    ),
    of(
        "rating",
        "forecast_id beside",
        csv({"forecast_id": range(N), "actual": ACTUAL, "forecast_a": FORECAST, "forecast_b": WORSE}),
        Page(("a", "b"), N),
    ),
    of("rating", "scikit-learn", csv({"y_true": ACTUAL, "y_pred": FORECAST}), ONE),
    of(
        "rating",
        "Prophet",
        csv(
            {"ds": "2024-01-01", "y": ACTUAL, "yhat": FORECAST, "yhat_lower": FORECAST - 9, "yhat_upper": FORECAST + 9}
        ),
        Refused(("actual", "forecast")),
    ),
    of("rating", "Prophet, named", csv({"y": ACTUAL, "yhat": FORECAST}), RIGHT, columns="actual=y,forecast=yhat"),
    of(
        "rating",
        "Nixtla",
        csv({"unique_id": "a", "ds": range(N), "y": ACTUAL, "AutoARIMA": FORECAST, "Naive": WORSE}),
        Refused(),
    ),
    of(
        "rating",
        "GluonTS",
        csv({"item_id": IDS, "actual": ACTUAL, "0.1": FORECAST - 9, "0.5": FORECAST, "0.9": FORECAST + 9}),
        Refused(),
    ),
    of(
        "rating",
        "thousands with dots",
        csv({"actual": ["1.234", "986", *["17,5"] * 38], "forecast": ["1.200", "990", *["16,5"] * 38]}, ";"),
        Refused(),
    ),
    of(
        "rating",
        "thousands with dots, decimal commas elsewhere",
        csv({"actual": ["1.234", *range(901, 940)], "forecast": ["1.200", *range(900, 939)], "price": "1,5"}, ";"),
        Refused(("1.234",)),
    ),
    of(
        "rating",
        "three decimals and lists beside",
        csv({"actual": ACTUAL + 0.125, "forecast": FORECAST, "tags": "1,5,7"}, ";"),
        RIGHT,
    ),
    of(
        "rating",
        "thousands with commas",
        csv({"actual": ["1,234", *["986"] * 39], "forecast": ["1,200", *["990"] * 39]}),
        Refused(("1,234",)),
    ),
    of("rating", "dollars", csv({"actual": [f"${a}" for a in ACTUAL], "forecast": FORECAST}), Refused(("actual",))),
    of(
        "rating",
        "durations",
        parquet({"actual": pd.to_timedelta(ACTUAL, "s"), "forecast": pd.to_timedelta(FORECAST, "s")}),
        Refused(("actual",)),
        "preds.parquet",
    ),
    of(
        "rating",
        "dates",
        parquet({"actual": pd.Timestamp("2024-01-01") + pd.to_timedelta(range(N), "D"), "forecast": FORECAST}),
        Refused(("actual",)),
        "preds.parquet",
    ),
)

FOLDED = SCORED | {"fold": np.arange(N) % 4}
VALIDATION = (
    of("validation", "out-of-fold predictions", csv(FOLDED), RIGHT),
    of("validation", "one fold", csv(FOLDED | {"fold": 1}), Refused(("fold",))),
    of("validation", "no fold", csv(SCORED), Refused(("fold",))),
    of("validation", "Keras history", csv({"epoch": range(N), "loss": A, "val_loss": B}), Refused(("label", "fold"))),
    of("validation", "a holdout", csv(SCORED | {"fold": np.where(np.arange(N) % 4, "train", "test")}), Page((), 10)),
)

USERS = {"user": IDS, "arm": np.where(LABEL == 1, "new", "old"), "orders": RNG.poisson(2, N)}
LOG = {
    "session": np.repeat(IDS[:20], 2),
    "position": [1, 2] * 20,
    "team": ["new", "old"] * 20,
    "click": RNG.integers(0, 2, N),
}


def online(name: str, parameter: str, content: Content, wants: Page | Refused, **given: Any) -> Case:
    """A case of the interleaving report."""
    return Case(name, "interleaving", {"preds.csv": content}, wants, given | {"as": parameter})


INTERLEAVING = (
    online("sessions", "log", csv(LOG), Page(("new", "old"), must=True)),
    online("positions from 0", "log", csv(LOG | {"position": [0, 1] * 20}), Refused(("position",))),
    online("users as a log", "log", csv(USERS), Refused(("users",))),
    online("users", "users", csv(USERS), Page(("new", "old"), must=True), metrics="orders"),
    online(
        "totals by arm",
        "users",
        csv({"arm": ["new", "old"], "users": [1000, 1010], "conversions": [50, 40]}),
        Refused(),
        metrics="conversions",
    ),
    online(
        "Optimizely",
        "users",
        csv({"variation": ["A", "B"], "visitors": [1000, 1010], "conversions": [50, 40]}),
        Refused(),
        metrics="conversions",
    ),
    online(
        "Google Analytics",
        "users",
        "# ----------------\n# Report\n# ----------------\n" + csv(USERS),
        Refused(),
        metrics="orders",
    ),
    online(
        "Amplitude",
        "users",
        csv({"user_id": IDS, "variant": USERS["arm"], "converted": LABEL}),
        Page(("new", "old"), must=True),
        metrics="converted",
    ),
    online(
        "a user twice",
        "users",
        csv(USERS | {"user": [IDS[1], *IDS[1:]], "arm": ["new"] * 20 + ["old"] * 20}),
        Refused((IDS[1],)),
        metrics="orders",
    ),
    online(
        "revenue in dollars",
        "users",
        csv(USERS | {"revenue": [f"$1,{i:03d}.50" for i in range(N)]}),
        Refused(("revenue",)),
        metrics="revenue",
    ),
    online("no users", "users", csv({"user": [], "arm": [], "orders": []}), Refused(), metrics="orders"),
)

CASES = (*SIGNIFICANCE, *CLASSIFICATION, *RANKING, *RATING, *VALIDATION, *INTERLEAVING)

# Wanted and not done: a leaderboard's rows are systems with one score each; it is read as 40 units of one system
NOT_YET = (
    of(
        "significance",
        "Kaggle leaderboard",
        csv({"TeamId": range(N), "TeamName": IDS, "SubmissionDate": "2024-01-01", "Score": A}),
        Refused(),
    ),
)

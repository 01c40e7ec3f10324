"""Values per unit as people have them."""

import numpy as np
import pandas as pd
from shapes.shape import Refused, Right, Shape, with_cell

UNITS = 30


def _base() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    return pd.DataFrame(
        {
            "query": [f"q{i:02}" for i in range(UNITS)],
            "a": rng.uniform(size=UNITS).round(4),
            "b": (rng.uniform(size=UNITS) + 0.3).round(4),
        }
    )


WIDE = _base()
VALUE = {name: float(WIDE[name].mean()) for name in ("a", "b")}
RIGHT = Right({"a", "b"}, "query", UNITS, VALUE)
ROWS = Right({"a", "b"}, "row", UNITS, VALUE)
LONG = WIDE.melt("query", ["a", "b"], var_name="system", value_name="value")
OWN = LONG.rename(columns={"query": "question_id", "system": "model", "value": "correct"})
QUESTIONS = Right({"a", "b"}, "question", UNITS, VALUE)


def _draws() -> pd.DataFrame:
    """Three answers to each question by each model, of which the mean counts."""
    rng = np.random.default_rng(8)
    rows = [
        (f"q{q:02}", "math" if q % 2 else "law", model, k, int(rng.uniform() < share))
        for q in range(UNITS)
        for model, share in (("a", 0.4), ("b", 0.6))
        for k in range(3 if q else 2)
    ]
    return pd.DataFrame(rows, columns=["question_id", "category", "model", "sample", "correct"])


DRAWS = _draws()
MEANS = DRAWS.groupby(["model", "question_id"])["correct"].mean().groupby(level=0).mean().to_dict()
DRAWN = Right({"a", "b"}, "question", UNITS, MEANS)
WIDE_DRAWS = DRAWS.pivot(index=["question_id", "category", "sample"], columns="model", values="correct")
COMPLETE = WIDE_DRAWS.dropna().reset_index().rename_axis(columns=None)
COMPLETE_MEANS = COMPLETE.groupby("question_id")[["a", "b"]].mean().mean().to_dict()


def per_query(system: str) -> str:
    """What trec_eval -q prints."""
    lines = [f"map                   \t{r.query}\t{getattr(r, system):.4f}" for r in WIDE.itertuples()]
    return "\n".join(
        [*lines, f"runid                 \tall\t{system}", f"map                   \tall\t{VALUE[system]:.4f}\n"]
    )


def one(name: str, file: str, content, expected, **parameters) -> Shape:
    """A shape of one file."""
    return Shape(name, {file: content}, {"preds": f"@{file}", **parameters}, expected)


SHAPES = [
    one("wide", "a.csv", WIDE, RIGHT),
    one("wide without units", "a.csv", WIDE[["a", "b"]], ROWS),
    one("wide with numbers as ids", "a.csv", WIDE.assign(id=range(UNITS)).drop(columns="query"), ROWS),
    one("wide with a seed and a fold", "a.csv", WIDE.assign(seed=1, fold=2), RIGHT),
    one("wide with a rank and a position", "a.csv", WIDE.assign(rank=range(UNITS), position=1), RIGHT),
    one("wide with an id of another thing", "a.csv", WIDE.assign(session_id=range(100, 100 + UNITS)), RIGHT),
    one("wide with further numbers, systems named", "a.csv", WIDE.assign(length=31), RIGHT, systems="a,b"),
    one(
        "a system called fold, named",
        "a.csv",
        WIDE.rename(columns={"b": "fold"}),
        Right({"a", "fold"}, "query", UNITS),
        systems="a,fold",
    ),
    one("wide with a text column", "a.csv", WIDE.assign(language="en"), RIGHT),
    one(
        "text in a value, without units",
        "a.csv",
        with_cell(WIDE[["a", "b"]], "b", 4, "n/a"),
        Refused(r"a\.csv: b .*'n/a'.*(row 4|line 5)"),
    ),
    one("one system", "a.csv", WIDE[["query", "a"]], Right({"a"}, "query", UNITS, {"a": VALUE["a"]})),
    one("no numbers", "a.csv", WIDE[["query"]].assign(note="x"), Refused("number")),
    one("long", "a.csv", LONG, RIGHT),
    one("long with a model and another value", "a.csv", OWN, QUESTIONS),
    one("long, the value named", "a.csv", OWN.assign(seconds=3.5), QUESTIONS, columns="value=correct"),
    one(
        "long with two numbers",
        "a.csv",
        OWN.assign(seconds=3.5).rename(columns={"correct": "points"}),
        Refused("points.*seconds|seconds.*points"),
    ),
    one("long without a number", "a.csv", OWN.assign(correct="yes"), Refused("value|number")),
    one("draws of a model", "a.csv", DRAWS, DRAWN),
    one("draws of a model without their number", "a.csv", DRAWS.drop(columns="sample"), DRAWN),
    one("draws beside each other", "a.csv", COMPLETE, Right({"a", "b"}, "question", UNITS, COMPLETE_MEANS)),
    one(
        "several metrics",
        "a.csv",
        pd.concat([LONG.assign(metric="gain"), LONG.assign(metric="loss")]),
        RIGHT,
        metrics="gain",
    ),
    one(
        "folds as units",
        "a.csv",
        WIDE.assign(fold=range(UNITS)).drop(columns="query"),
        Right({"a", "b"}, "fold", UNITS, VALUE),
    ),
    Shape(
        "what trec_eval -q prints",
        {"t/a.txt": per_query("a"), "t/b.txt": per_query("b")},
        {"preds": "@t", "metrics": "map"},
        Right({"a", "b"}, "query", UNITS, VALUE),
    ),
    Shape(
        "what trec_eval -q prints of one system",
        {"a.txt": per_query("a")},
        {"preds": "@a.txt", "metrics": "map"},
        Right({"a"}, "query", UNITS, {"a": VALUE["a"]}),
    ),
    Shape(
        "partitions by model",
        {f"t/model={name}/part-0.parquet": rows.drop(columns="model") for name, rows in OWN.groupby("model")},
        {"preds": "@t"},
        QUESTIONS,
    ),
]

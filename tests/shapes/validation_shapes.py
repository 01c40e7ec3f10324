"""Out-of-fold predictions, and features with a target, as people have them."""

import numpy as np
import pandas as pd
from shapes.shape import Refused, Right, Shape

ROWS = 120


def _base() -> pd.DataFrame:
    rng = np.random.default_rng(9)
    label = rng.permutation([0, 1] * (ROWS // 2))
    return pd.DataFrame(
        {
            "id": [f"r{i:03}" for i in range(ROWS)],
            "label": label,
            "score": (1 / (1 + np.exp(-2 * label - rng.normal(size=ROWS)))).round(6),
            "fold": rng.permutation(np.arange(ROWS) % 5),
        }
    )


BASE = _base()


def accuracy(frame: pd.DataFrame) -> float:
    """The share of rows decided rightly at 0.5."""
    return float(((frame["score"] >= 0.5) == (frame["label"] == 1)).mean())


VALUE = {"system": accuracy(BASE)}
RIGHT = Right({"system", "majority"}, "row", ROWS, VALUE)
HOLDOUT = BASE.assign(fold=np.where(BASE["fold"] == 0, "test", "train"))
TEST = HOLDOUT[HOLDOUT["fold"] == "test"]
REPEATED = pd.concat(
    [BASE.assign(repeat=1), BASE.assign(repeat=2, fold=np.random.default_rng(1).permutation(BASE["fold"]))]
)
OTHER = BASE.assign(score=BASE["score"].to_numpy()[::-1])
LONG = pd.concat([BASE.assign(system="tree"), OTHER.assign(system="net")])
TWO = Right({"tree", "net", "majority"}, "row", ROWS, {"tree": accuracy(BASE), "net": accuracy(OTHER)})
DATED = BASE.assign(time=pd.date_range("2024-01-01", periods=ROWS).astype(str))
GROUPED = BASE.assign(group=[f"g{i // 2}" for i in range(ROWS)])
FEATURES = pd.DataFrame(
    {"x1": BASE["score"] + 0.1, "x2": np.random.default_rng(2).normal(size=ROWS).round(3), "target": BASE["label"]}
)
FAST = {"k": 3, "seconds": 2, "metrics": "accuracy"}


def one(name: str, file: str, content, expected, **parameters) -> Shape:
    """A table of out-of-fold predictions."""
    return Shape(name, {file: content}, {"preds": f"@{file}", "metrics": "accuracy", **parameters}, expected)


def table(name: str, content, expected, **parameters) -> Shape:
    """A table of features."""
    return Shape(name, {"a.csv": content}, {"features": "@a.csv", **FAST, **parameters}, expected)


FITTED = Right({"LogisticRegression", "majority"}, "row", ROWS)

SHAPES = [
    one("predictions", "a.csv", BASE, RIGHT),
    one("predictions with further numbers", "a.csv", BASE.assign(age=33, price=2.5), RIGHT),
    one("predictions without ids", "a.csv", BASE.drop(columns="id"), RIGHT),
    one("usual names", "a.csv", BASE.rename(columns={"label": "y_true", "score": "y_score"}), RIGHT),
    one(
        "names of its own",
        "a.csv",
        BASE.set_axis(["key", "bad", "p", "part"], axis=1),
        RIGHT,
        columns="id=key,label=bad,score=p,fold=part",
    ),
    one("names of its own, not told", "a.csv", BASE.set_axis(["key", "bad", "p", "part"], axis=1), Refused("label")),
    one("two systems", "a.csv", LONG, TWO),
    one("two systems without ids", "a.csv", LONG.drop(columns="id"), Refused("id")),
    one("a holdout", "a.csv", HOLDOUT, Right({"system", "majority"}, "row", len(TEST), {"system": accuracy(TEST)})),
    one(
        "a holdout called Train and Test",
        "a.csv",
        HOLDOUT.assign(fold=HOLDOUT["fold"].str.title()),
        Right({"system", "majority"}, "row", len(TEST), {"system": accuracy(TEST)}),
    ),
    one("repeated k-fold", "a.csv", REPEATED, Right({"system", "majority"}, "id", ROWS, {"system": accuracy(BASE)})),
    one(
        "an id in two folds",
        "a.csv",
        pd.concat([BASE, BASE.iloc[[0]].assign(fold=lambda f: (f["fold"] + 1) % 5)]),
        Right({"system", "majority"}, "row", ROWS + 1),
    ),
    one("groups", "a.csv", GROUPED, Right({"system", "majority"}, "group", ROWS // 2, VALUE)),
    one("dates", "a.csv", DATED, RIGHT),
    one("one fold", "a.csv", BASE.assign(fold=1), Refused("fold")),
    one("no folds", "a.csv", BASE.drop(columns="fold"), Refused("fold")),
    one("no labels", "a.csv", BASE.drop(columns="label"), Refused("label")),
    one(
        "forecasts",
        "a.csv",
        BASE.assign(label=BASE["score"] * 7 + 1.5),
        Right({"system", "median"}, "row", ROWS),
        metrics="mae",
    ),
    table("features", FEATURES, FITTED),
    table("features, the target named", FEATURES.rename(columns={"target": "bad"}), FITTED, target="bad"),
    table("features without a target", FEATURES.drop(columns="target"), Refused("target")),
    table("features with text", FEATURES.assign(city=["ulm", "bonn"] * (ROWS // 2)), FITTED),
    table("features with an id", FEATURES.assign(id=range(ROWS)), FITTED),
]

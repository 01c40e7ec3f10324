"""Labels and predictions as people have them."""

import numpy as np
import pandas as pd
from shapes.shape import Refused, Right, Shape, with_cell

ROWS = 60
CLASSES = ("cat", "dog", "emu")


def _base() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    label = rng.permutation([0, 1] * (ROWS // 2))
    return pd.DataFrame(
        {
            "id": [f"r{i:02}" for i in range(ROWS)],
            "label": label,
            "tree": (1 / (1 + np.exp(-label - rng.normal(size=ROWS)))).round(6),
            "net": (1 / (1 + np.exp(-2 * label - rng.normal(size=ROWS)))).round(6),
            "user": [f"u{i // 3}" for i in range(ROWS)],
        }
    )


def accuracy(frame: pd.DataFrame) -> dict[str, float]:
    """The share of rows decided rightly at 0.5."""
    return {name: float(((frame[name] >= 0.5) == (frame["label"] == 1)).mean()) for name in ("tree", "net")}


PLAIN = _base()
VALUE = accuracy(PLAIN)
RIGHT = Right({"tree", "net"}, "row", ROWS, VALUE)
WIDE = PLAIN.rename(columns={"tree": "score_tree", "net": "score_net"})
LONG = PLAIN.melt(["id", "label", "user"], ["tree", "net"], var_name="system", value_name="score")
ONE = PLAIN[["label", "net"]].rename(columns={"net": "score"})
WORDS = WIDE.assign(label=WIDE["label"].map({0: "good", 1: "bad"}))
UNNAMED = Right({"system"}, "row", ROWS, {"system": VALUE["net"]})


def _classes() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    actual = rng.integers(0, 3, ROWS)
    shares = np.exp(np.eye(3)[actual] + rng.normal(size=(ROWS, 3)))
    shares /= shares.sum(1, keepdims=True)
    columns = {f"p_{name}": shares[:, i] for i, name in enumerate(CLASSES)}
    return pd.DataFrame({"label": [CLASSES[i] for i in actual], **columns})


MANY = _classes()
GUESS = MANY[[f"p_{name}" for name in CLASSES]].idxmax(axis=1).str.removeprefix("p_")
SEVERAL = Right({"system"}, "row", ROWS, {"system": float((MANY["label"] == GUESS).mean())})
DECIDED = MANY[["label"]].assign(predicted=GUESS)


def _labels() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    found = {}
    for name in CLASSES:
        found[f"y_{name}"] = rng.permutation([0, 1] * (ROWS // 2))
        found[f"p_{name}"] = rng.uniform(size=ROWS)
    return pd.DataFrame(found)


TAGS = _labels()


def one(name: str, file: str, content, expected, **parameters) -> Shape:
    """A shape of one file."""
    return Shape(name, {file: content}, {"preds": f"@{file}", "metrics": "accuracy", **parameters}, expected)


def tags(name: str, content, expected, **parameters) -> Shape:
    """A table of several labels a row."""
    return one(name, "a.csv", content, expected, **{"metrics": "hamming_loss", **parameters})


SHAPES = [
    one("wide", "a.csv", WIDE, RIGHT, threshold=0.5),
    one("wide with further numbers", "a.csv", WIDE.assign(age=33, fold=1, rank=2), RIGHT, threshold=0.5),
    one("wide, systems named", "a.csv", PLAIN, RIGHT, threshold=0.5, systems="tree,net"),
    one("wide, systems not named", "a.csv", PLAIN, Refused("score")),
    one("long", "a.csv", LONG, RIGHT, threshold=0.5),
    one(
        "long with usual names",
        "a.csv",
        LONG.set_axis(["id", "target", "user", "model", "y_score"], axis=1),
        RIGHT,
        threshold=0.5,
    ),
    one("one system", "a.csv", ONE, UNNAMED, threshold=0.5),
    one(
        "names of its own",
        "a.csv",
        ONE.set_axis(["bad", "p"], axis=1),
        UNNAMED,
        threshold=0.5,
        columns="label=bad,score=p",
    ),
    one("names of its own, not told", "a.csv", ONE.set_axis(["bad", "p"], axis=1), Refused("label")),
    one("labels in words, the positive named", "a.csv", WORDS, RIGHT, threshold=0.5, positive="bad"),
    one("labels in words", "a.csv", WORDS, Refused("positive")),
    one("three labels and a score", "a.csv", with_cell(WIDE, "label", 4, 2), Refused("label")),
    one("one label only", "a.csv", WIDE.assign(label=1), Right({"tree", "net"}, "row", ROWS), threshold=0.5),
    one("no labels", "a.csv", WIDE.drop(columns="label"), Refused("label")),
    one("users as units", "a.csv", WIDE, Right({"tree", "net"}, "user", ROWS // 3, VALUE), threshold=0.5, unit="user"),
    one("several classes", "a.csv", MANY, SEVERAL),
    one("several classes, one without probabilities", "a.csv", MANY.drop(columns="p_emu"), Refused("p_emu|emu")),
    one("classes predicted", "a.csv", DECIDED, SEVERAL),
    one("classes predicted, other names", "a.csv", DECIDED.set_axis(["y_true", "y_pred"], axis=1), SEVERAL),
    tags("several labels a row", TAGS, Right({"system"}, "row", ROWS)),
    tags("a label without probabilities", TAGS.drop(columns="p_emu"), Refused("p_emu|emu")),
    tags("probabilities without a label", TAGS.drop(columns="y_emu"), Refused("y_emu|emu")),
]

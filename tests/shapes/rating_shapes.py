"""Forecasts as people have them."""

import numpy as np
import pandas as pd
from shapes.shape import Refused, Right, Shape

ROWS = 40


def _base() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    actual = rng.gamma(2, 5, ROWS).round(3)
    return pd.DataFrame(
        {
            "id": [f"r{i:02}" for i in range(ROWS)],
            "actual": actual,
            "mean": (actual + rng.normal(size=ROWS)).round(3),
            "tree": (actual + 2 * rng.normal(size=ROWS)).round(3),
            "person": [f"p{i // 4}" for i in range(ROWS)],
        }
    )


PLAIN = _base()
ERRORS = {name: float((PLAIN[name] - PLAIN["actual"]).abs().mean()) for name in ("mean", "tree")}
RIGHT = Right({"mean", "tree"}, "row", ROWS, ERRORS)
WIDE = PLAIN.rename(columns={"mean": "forecast_mean", "tree": "forecast_tree"})
LONG = PLAIN.melt(["id", "actual", "person"], ["mean", "tree"], var_name="system", value_name="forecast")
ONE = PLAIN[["actual", "mean"]].rename(columns={"mean": "forecast"})


def one(name: str, file: str, content, expected, **parameters) -> Shape:
    """A shape of one file."""
    return Shape(name, {file: content}, {"preds": f"@{file}", "metrics": "mae", **parameters}, expected)


UNNAMED = Right({"system"}, "row", ROWS, {"system": ERRORS["mean"]})
DRAWS = pd.concat([LONG.assign(seed=1), LONG.assign(seed=2)])

SHAPES = [
    one("wide", "a.csv", WIDE, RIGHT),
    one("wide with further numbers", "a.csv", WIDE.assign(year=2024, price=3.5), RIGHT),
    one("wide without ids", "a.csv", WIDE.drop(columns="id"), RIGHT),
    one("wide, systems named", "a.csv", PLAIN, RIGHT, systems="mean,tree"),
    one("wide, systems not named", "a.csv", PLAIN, Refused("forecast")),
    one("long", "a.csv", LONG, RIGHT),
    one(
        "long with usual names",
        "a.csv",
        LONG.rename(columns={"system": "model", "actual": "y_true", "forecast": "y_pred"}),
        RIGHT,
    ),
    one("long with further numbers", "a.csv", LONG.assign(year=2024, rank=1), RIGHT),
    one("long without ids", "a.csv", LONG.drop(columns="id"), Refused("id")),
    one("repeated runs", "a.csv", DRAWS, Refused("must appear once")),
    one("one system", "a.csv", ONE, UNNAMED),
    one("one system, target and prediction", "a.csv", ONE.set_axis(["target", "prediction"], axis=1), UNNAMED),
    one(
        "names of its own",
        "a.csv",
        ONE.set_axis(["sales", "p50"], axis=1),
        UNNAMED,
        columns="actual=sales,forecast=p50",
    ),
    one("names of its own, not told", "a.csv", ONE.set_axis(["sales", "p50"], axis=1), Refused("actual")),
    one("no actual values", "a.csv", WIDE.drop(columns="actual"), Refused("actual")),
    one("no forecasts", "a.csv", WIDE[["id", "actual"]], Refused("forecast")),
    one("persons as units", "a.csv", WIDE, Right({"mean", "tree"}, "person", ROWS // 4, ERRORS), unit="person"),
    one("a unit that is not there", "a.csv", WIDE, Refused("customer"), unit="customer"),
    one("a header alone", "a.csv", "id,actual,forecast\n", Refused("no row|empty")),
    one("weights", "a.csv", WIDE.assign(weight=2.0), RIGHT),
    Shape(
        "a folder of partitions",
        {f"t/system={name}/part-0.parquet": rows.drop(columns="system") for name, rows in LONG.groupby("system")},
        {"preds": "@t", "metrics": "mae"},
        RIGHT,
    ),
]

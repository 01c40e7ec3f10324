"""Forecasts as people have them."""

import gzip

import numpy as np
import pandas as pd
from shapes.shape import Refused, Right, Shape, csv, reversed_columns, shuffled, with_cell

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


SINGLE = Right({"a"}, "row", ROWS, {"a": ERRORS["mean"]})
UNNAMED = Right({"system"}, "row", ROWS, {"system": ERRORS["mean"]})
DRAWS = pd.concat([LONG.assign(seed=1), LONG.assign(seed=2)])

SHAPES = [
    one("wide", "a.csv", WIDE, RIGHT),
    one("wide, rows in another order", "a.csv", shuffled(WIDE), RIGHT),
    one("wide, columns in another order", "a.csv", reversed_columns(WIDE), RIGHT),
    one("wide with further numbers", "a.csv", WIDE.assign(year=2024, price=3.5), RIGHT),
    one("wide without ids", "a.csv", WIDE.drop(columns="id"), RIGHT),
    one("wide, systems named", "a.csv", PLAIN, RIGHT, systems="mean,tree"),
    one("wide, systems not named", "a.csv", PLAIN, Refused("forecast")),
    one("long", "a.csv", LONG, RIGHT),
    one("long, rows in another order", "a.csv", shuffled(LONG), RIGHT),
    one(
        "long with usual names",
        "a.csv",
        LONG.rename(columns={"system": "model", "actual": "y_true", "forecast": "y_pred"}),
        RIGHT,
    ),
    one("long with further numbers", "a.csv", LONG.assign(year=2024, rank=1), RIGHT),
    one("long without ids", "a.csv", LONG.drop(columns="id"), Refused("id")),
    one("an id twice in a system", "a.csv", pd.concat([LONG, LONG.iloc[[0]]]), Refused("must appear once")),
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
    one(
        "text in a forecast",
        "a.csv",
        with_cell(WIDE, "forecast_tree", 7, "n/a"),
        Refused(r"a\.csv: forecast_tree .*'n/a'.*(row 7|line 8)"),
    ),
    one(
        "a dash for an actual value",
        "a.csv",
        with_cell(WIDE, "actual", 3, "-"),
        Refused(r"a\.csv: actual .*'-'.*(row 3|line 4)"),
    ),
    one(
        "an empty forecast", "a.csv", with_cell(WIDE, "forecast_mean", 3, ""), Refused(r"a\.csv: forecast_mean .*row 3")
    ),
    one("decimal commas", "a.csv", csv(WIDE, sep=";", decimal=","), Refused("actual|forecast")),
    one("semicolons", "a.csv", csv(WIDE, sep=";"), RIGHT),
    one("an infinite forecast", "a.csv", with_cell(WIDE, "forecast_mean", 9, "inf"), Refused(r"forecast_mean .*row 9")),
    one("no header", "a.csv", csv(ONE, header=False), Refused("header")),
    one(
        "no header, columns by position",
        "a.csv",
        csv(ONE, header=False),
        UNNAMED,
        header="none",
        columns="actual=1,forecast=2",
    ),
    one("json lines", "a.jsonl", WIDE, RIGHT),
    one("parquet", "a.parquet", WIDE, RIGHT),
    one("tabs", "a.tsv", WIDE, RIGHT),
    one("compressed", "a.csv.gz", gzip.compress(csv(WIDE).encode()), RIGHT),
    one(
        "byte order mark and Windows lines", "a.csv", b"\xef\xbb\xbf" + csv(WIDE).replace("\n", "\r\n").encode(), RIGHT
    ),
    one("persons as units", "a.csv", WIDE, Right({"mean", "tree"}, "person", ROWS // 4, ERRORS), unit="person"),
    one("a unit that is not there", "a.csv", WIDE, Refused("customer"), unit="customer"),
    one("a header alone", "a.csv", "id,actual,forecast\n", Refused("no row|empty")),
    one("weights", "a.csv", WIDE.assign(weight=2.0), RIGHT),
    one(
        "a negative weight",
        "a.csv",
        WIDE.assign(weight=[-1.0] + [1.0] * (ROWS - 1)),
        Refused(r"weight must be 0 or more, got -1 .row 1"),
    ),
    Shape(
        "a folder of partitions",
        {f"t/system={name}/part-0.parquet": rows.drop(columns="system") for name, rows in LONG.groupby("system")},
        {"preds": "@t", "metrics": "mae"},
        RIGHT,
    ),
    Shape(
        "the second file has text in a cell",
        {"t/one.csv": WIDE, "t/two.csv": with_cell(WIDE.assign(id=WIDE["id"] + "x"), "actual", 4, "NULL")},
        {"preds": "@t", "metrics": "mae"},
        Refused(r"two\.csv: actual .*'NULL'.*(row 4|line 5)"),
    ),
]

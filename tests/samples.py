"""Real predictions with the values that public tools computed from them."""

import gzip
import json
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import settings

ANY_TIME = settings(deadline=None)  # a loaded machine is no error

ORACLES = Path(__file__).parent / "oracles"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"  # sets that must not be committed


@cache
def predictions(name: str) -> pd.DataFrame:
    return pd.read_parquet(ORACLES / f"{name}.parquet")


@cache
def expected(name: str) -> dict:
    return json.loads((ORACLES / f"{name}.json").read_text())


COMPARED = ("digits_retrieval", "trec_covid_demo", "lgb_lambdarank")


def compared(name: str) -> tuple[dict, dict]:
    """The values of each system, by query and measure, and the comparisons that public tools computed from them.

    Those of digits_retrieval are committed; sets that may not be are skipped where they are not beside the checkout.
    """
    committed = ORACLES / f"{name}.json.gz"
    if committed.exists():
        content = json.loads(gzip.decompress(committed.read_bytes()))
        return content["values"], content
    folder = SHARED / name / "expected"
    if not folder.exists():
        pytest.skip(f"{name} must not be committed, and is not beside the checkout")
    runs = {p.name.removesuffix(".l1.json.gz"): p for p in sorted(folder.glob("*.l1.json.gz"))}
    values = {r: json.loads(gzip.decompress(p.read_bytes()))["reference"]["per_query"] for r, p in runs.items()}
    return values, json.loads((folder / "compare.json").read_text())


@cache
def games() -> tuple[pd.DataFrame, dict]:
    """28,366 games and their expected values, where the folder of large sets stands beside the checkout."""
    folder = SHARED / "fivethirtyeight_games"
    if not folder.exists():
        pytest.skip("fivethirtyeight_games must not be committed, and is not beside the checkout")
    tools = {tool: json.loads((folder / "expected" / f"{tool}.json").read_text()) for tool in ("sklearn", "pROC")}
    return pd.read_parquet(folder / "predictions.parquet"), tools


def slices(frame: pd.DataFrame, tool: dict):
    """Every expected row of one model overall and in each segment: (where, rows, expected)."""
    for model, values in tool["overall"].items():
        yield f"{model}", frame[frame.model == model], values
    for column, levels in tool["segments"].items():
        for level, models in levels.items():
            rows = frame[frame[column].astype(str) == level]
            for model, values in models.items():
                yield f"{column}={level} {model}", rows[rows.model == model], values


def auc_covariance(label, moved):
    """DeLong's covariance matrix of AUC from how much each row moves it, one row of numbers a model."""
    sides = [moved[:, label == side] for side in (0, 1)]
    return sum(side @ side.T * side.shape[1] / (side.shape[1] - 1) for side in sides)

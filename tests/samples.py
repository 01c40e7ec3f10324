"""Real predictions with the values that public tools computed from them."""

import gzip
import json
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from evalkit.reading.inputs import aligned, outcomes
from evalkit.statistics import inference
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import RowStatistic

ANY_TIME = settings(deadline=None)  # a loaded machine is no error

ORACLES = Path(__file__).parent / "oracles"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"  # sets that must not be committed


@cache
def predictions(name: str) -> pd.DataFrame:
    return pd.read_parquet(ORACLES / f"{name}.parquet")


@cache
def expected(name: str) -> dict:
    return json.loads((ORACLES / f"{name}.json").read_text())


def examples(name: str) -> dict:
    """Cases that stand as data."""
    return tomllib.loads(
        (Path(__file__).parent / "examples" / f"{name}.toml").read_text(encoding="utf-8")
    )


def printed(text: str):
    """Equal to a printed number to half of its last digit."""
    return pytest.approx(float(text), abs=0.51 * 0.1 ** len(text.partition(".")[2]), nan_ok=True)


COMPARED = ("digits_retrieval", "trec_covid_demo", "lgb_lambdarank")


def compared(name: str) -> tuple[dict, dict]:
    """The values of each system, by query and measure, and the comparisons that public tools
    computed from them.

    Those of digits_retrieval are committed; sets that may not be are skipped where they are not
    beside the checkout.
    """
    committed = ORACLES / f"{name}.json.gz"
    if committed.exists():
        content = json.loads(gzip.decompress(committed.read_bytes()))
        return content["values"], content
    folder = SHARED / name / "expected"
    if not folder.exists():
        pytest.skip(f"{name} must not be committed, and is not beside the checkout")
    runs = {p.name.removesuffix(".l1.json.gz"): p for p in sorted(folder.glob("*.l1.json.gz"))}
    values = {
        r: json.loads(gzip.decompress(p.read_bytes()))["reference"]["per_query"]
        for r, p in runs.items()
    }
    return values, json.loads((folder / "compare.json").read_text())


def rng(seed: int = 0, *more: int) -> np.random.Generator:
    return np.random.default_rng([seed, *more])


def scores(rows=200, **more) -> pd.DataFrame:
    """Probabilities of two systems on the same rows, long."""
    draw = rng(1)
    label = (draw.random(rows) < 0.4).astype(int)
    score = {
        name: 1 / (1 + np.exp(-(label + draw.normal(0, s, rows))))
        for name, s in (("good", 0.7), ("weak", 2.0))
    }
    parts = [
        {"id": np.arange(rows), "system": name, "label": label, "score": one}
        for name, one in score.items()
    ]
    frame = pd.concat([pd.DataFrame(part) for part in parts])
    return frame.assign(**more)


def forecasts(rows=60, **more) -> pd.DataFrame:
    """Actual values with a forecast that is near and one that is far."""
    draw = rng(1)
    actual = draw.gamma(2, 2, rows)
    near = actual + draw.normal(0, 0.5, rows)
    far = actual + draw.normal(0.5, 2, rows)
    frame = pd.DataFrame(
        {"id": np.arange(rows), "actual": actual, "forecast_near": near, "forecast_far": far}
    )
    return frame.assign(**more)


def read_forecasts(data, **chosen) -> outcomes.Outcomes:
    """The forecasts of a file, folder, glob pattern, frame or list of these."""
    given = aligned.PredictionTable.from_data(data, roles=outcomes.FORECASTS, **chosen)
    return outcomes.forecasts_of(given.rows())


def limits(estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


def excludes_0(comparison) -> bool:
    """Whether the interval of the difference excludes 0."""
    return not comparison.difference.low <= 0 <= comparison.difference.high


def options() -> Options:
    return Options(0.95, rng(1))


def estimate(chosen, rows):
    """The interval of a metric of rows."""
    return inference.estimate(RowStatistic(chosen, rows), options())


def compare(chosen, first, second):
    """The test of a metric on the same rows of two systems."""
    return inference.compare(RowStatistic(chosen, first), RowStatistic(chosen, second), options())

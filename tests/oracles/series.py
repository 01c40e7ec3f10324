"""Write series.json: Diebold–Mariano tests by dieboldmariano, coverage, width and interval score by
MAPIE, and the pinball loss by scikit-learn.

    python -m venv /some/folder
    /some/folder/bin/pip install dieboldmariano==1.1.0 mapie==1.6.0
    /some/folder/bin/python tests/oracles/series.py

The file names the versions. macro_forecasts.csv holds US unemployment and inflation by quarter, of
statsmodels' `datasets.macrodata` (public domain), with forecasts from the past alone: the last
value, the mean of the last four, and an autoregression. tests/test_series.py compares.
"""

import json
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

TOOLS = ("dieboldmariano", "mapie", "scikit-learn", "numpy")
HERE = Path(__file__).parent
LOSSES = {"squared": lambda u, v: (u - v) ** 2, "absolute": lambda u, v: abs(u - v)}
PERCENTS = (50, 90)


def tests():
    """The statistic and the p-value of each pair of forecasts of each series and horizon."""
    from dieboldmariano import dm_test

    table = pd.read_csv(HERE / "macro_forecasts.csv")
    for (series, horizon), rows in table.groupby(["series", "horizon"]):
        for pair in combinations(("naive", "mean4", "ar4"), 2):
            for loss, function in LOSSES.items():
                columns = [rows[name].tolist() for name in ("observed", *pair)]
                statistic, p = dm_test(
                    *columns, loss=function, h=int(horizon), harvey_correction=True
                )
                key = {"series": series, "horizon": int(horizon), "pair": pair, "loss": loss}
                yield key | {"statistic": float(statistic), "p": float(p)}


def intervals():
    """Rows with intervals, and their scores."""
    from mapie.metrics.regression import (
        regression_coverage_score,
        regression_mean_width_score,
        regression_mwi_score,
    )
    from sklearn.metrics import mean_pinball_loss

    rng = np.random.default_rng(20261130)
    actual = rng.normal(0, 2, 80)
    middle = actual + rng.normal(0, 1, 80)
    rows = {"actual": actual.tolist()}
    scores = {}
    for percent, reach in zip(PERCENTS, (0.6, 1.5), strict=True):
        low = middle - reach * rng.uniform(0.5, 1.5, 80)
        high = middle + reach * rng.uniform(0.5, 1.5, 80)
        both = np.column_stack([low, high])[:, :, None]
        below = (100 - percent) // 2
        for q, column in ((below, low), (100 - below, high)):
            rows[f"q{q / 100:g}"] = column.tolist()
            scores[f"pinball@{q}"] = mean_pinball_loss(actual, column, alpha=q / 100)
        scores[f"coverage@{percent}"] = regression_coverage_score(actual, both)[0]
        scores[f"interval_width@{percent}"] = regression_mean_width_score(both)[0]
        scores[f"interval_score@{percent}"] = regression_mwi_score(actual, both, percent / 100)
    rows["q0.5"] = middle.tolist()
    return {"rows": rows, "scores": {name: float(score) for name, score in scores.items()}}


if __name__ == "__main__":
    content = {
        "versions": {tool: version(tool) for tool in TOOLS},
        "tests": list(tests()),
        "intervals": intervals(),
    }
    (HERE / "series.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

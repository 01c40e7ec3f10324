"""Tables of forecasts that the tests of large input share."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from evalkit.limits import Limits, Reading
from evalkit.parameters import Rating
from evalkit.studies import rating

METRICS = "mae,rmse,mse,bias,median_absolute_error,r2,r2_correlation,wape,smape,mape,mase,pinball@90"
CASES = {
    "plain": {},
    "weights": {"columns": "{weight: heavy}"},
    "real weights": {"columns": "{weight: exact}"},
    "units": {"unit": "user_id"},
    "units and weights": {"unit": "user_id", "columns": "{weight: heavy}"},
}
SHARDS = Reading(rows=100, shard=500, row=10**9)  # every table is large, and a shard has few rows


@cache
def frame(rows=1000, seed=1, units=150):
    """Two systems on the same rows, wide, with ties, weights, groups and users."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, units, rows)
    actual = np.round(rng.gamma(2, 2, rows) + rng.normal(0, 0.5, units)[user], 1)
    forecasts = {
        f"forecast_{name}": np.round(actual + rng.normal(0.1 * spread, spread, rows), 1)
        for name, spread in (("near", 0.5), ("far", 2.0))
    }
    return pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(rows)],
            "actual": actual,
            "user_id": [f"u{one}" for one in user],
            "country": rng.choice(["de", "fr", "it"], rows),
            "age": rng.integers(18, 80, rows),
            "heavy": rng.integers(0, 4, rows),
            "exact": rng.random(rows) + 0.1,
            "naive_mae": np.round(rng.random(rows), 1),
        }
        | forecasts
    )


def long(wide):
    """The same as one row a system and id, shuffled."""
    parts = [
        wide.drop(columns=["forecast_near", "forecast_far"]).assign(system=name, forecast=wide[f"forecast_{name}"])
        for name in ("near", "far")
    ]
    return pd.concat(parts).sample(frac=1, random_state=3)


def summed(data, limits=Limits(flipped=1, reading=SHARDS), **more):  # noqa: B008 - frozen
    """The study of a table that is read in blocks."""
    return rating.study_of(Rating.of({"preds": data, **more}), limits)


def held(data, **more):
    """The study in memory with the methods of many units: delta of the jackknife, t in place of sign flips."""
    study = rating.read(data, **more)
    return replace(study, settings=replace(study.settings, limits=Limits(flipped=1)))

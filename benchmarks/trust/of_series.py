"""Worlds of forecasts of series: rows in time order, series as units, and skill against references.

The errors of a forecast h steps ahead depend on those up to h − 1 steps before; those of a poor
model depend on all before (AR).
"""

from functools import partial

import numpy as np
import pandas as pd
from scipy.signal import lfilter
from world import Draw, Generator, Inputs, World

SHARED = 0.5  # of the variance of an error, which both systems have
POINTS = {"metrics": "mae,rmse,bias,mae_skill,mse_skill", "reference": "naive"}
SCALED = {"metrics": "mae,mase,rmsse,mae_skill,mse_skill", "reference": "naive"}
OF_MEAN = {"metrics": "mae_skill,mse_skill", "reference": "mean"}


def moving(rng: Generator, n: int, horizon: int, slope: float = 0.0) -> np.ndarray:
    """Errors of variance 1: of an AR(1) process, or sums of as many neighbours as the horizon."""
    if slope:
        errors = np.sqrt(1 - slope**2) * rng.normal(0, 1, n)
        errors[0] = rng.normal()
        return np.asarray(lfilter([1.0], [1.0, -slope], errors))
    drawn = rng.normal(0, 1, n + horizon - 1)
    return np.convolve(drawn, np.full(horizon, horizon**-0.5), "valid")


def walk(rng: Generator, n: int) -> np.ndarray:
    """A stationary series."""
    return 3 * moving(rng, n, 1, slope=0.8)


def _systems(rng: Generator, n: int, horizon: int, slope: float) -> dict[str, np.ndarray]:
    """The errors of two systems that are equally good."""
    shared = np.sqrt(SHARED) * moving(rng, n, horizon, slope)
    own = np.sqrt(1 - SHARED)
    return {name: shared + own * moving(rng, n, horizon, slope) for name in ("a", "b")}


def in_order(rng: Generator, n: int, horizon: int = 1, slope: float = 0.0) -> Inputs:
    """One series."""
    actual = walk(rng, n)
    errors = _systems(rng, n, horizon, slope)
    columns = {f"forecast_{name}": actual + error for name, error in errors.items()}
    rows = {"period": np.arange(n), "horizon": horizon, "actual": actual}
    return {"preds": pd.DataFrame(rows | columns)}


def ahead(rng: Generator, n: int, slope: float) -> Inputs:
    """AR(1) errors that are said to be four steps ahead."""
    inputs = in_order(rng, n, slope=slope)
    return {"preds": inputs["preds"].assign(horizon=4)}


def by_series(rng: Generator, n: int, steps: int = 12) -> Inputs:
    """n series of unlike size, with the same times."""
    frames = []
    for i, scale in enumerate(rng.lognormal(0, 0.5, n)):
        frame = in_order(rng, steps, slope=0.5)["preds"].drop(columns="horizon")
        numbers = ["actual", "forecast_a", "forecast_b"]
        frame[numbers] = scale * frame[numbers]
        frames.append(frame.assign(unique_id=f"s{i}"))
    return {"preds": pd.concat(frames, ignore_index=True)}


def plain(rng: Generator, n: int) -> Inputs:
    """Rows without times, with skewed actual values."""
    actual = rng.gamma(2.0, 1.0, n)
    columns = {f"forecast_{name}": actual + rng.normal(0, 1, n) for name in ("a", "b")}
    return {"preds": pd.DataFrame({"actual": actual} | columns)}


def _world(name: str, n: int, draw: Draw, metrics: dict[str, str], many: int = 20_000) -> World:
    return World(f"series: {name}", "rating", n, draw, metrics, many=many)


SERIES = (
    *(_world("one step ahead", n, in_order, POINTS) for n in (40, 100)),
    *(_world("four steps ahead", n, partial(in_order, horizon=4), POINTS) for n in (100, 400)),
    _world("AR(1) of 0.3, one step ahead", 100, partial(in_order, slope=0.3), POINTS),
    *(
        _world("AR(1) of 0.5, one step ahead", n, partial(in_order, slope=0.5), POINTS)
        for n in (100, 400)
    ),
    *(
        _world("AR(1) of 0.5, four steps ahead", n, partial(ahead, slope=0.5), POINTS)
        for n in (100, 400)
    ),
    *(_world("by series", n, by_series, SCALED, many=2_000) for n in (20, 60)),
    _world("against the mean", 100, plain, OF_MEAN),
)

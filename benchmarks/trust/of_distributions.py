"""Worlds of forecasts with quantiles, draws and moments: coverage, WIS, CRPS and their
differences.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from of_rows import Errors, normal, student
from scipy import stats
from world import Draw, Generator, Inputs, World, ids, sizes

LEVELS = (0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975)
MEMBERS = 20
OF_QUANTILES = {
    "metrics": "wis,overprediction,underprediction,dispersion,coverage@50,coverage@90,coverage@95,"
    "quantile_coverage@5,interval_score@90,interval_width@90,pinball@95"
}
OF_DRAWS = {"metrics": "crps,fair_crps,coverage@50,coverage@90,interval_width@90"}
OF_MOMENTS = {"metrics": "crps,coverage@50,coverage@90,coverage@95,interval_score@95"}
BY_PLACE = {"unit": "place"}
Stated = Callable[[Generator, np.ndarray, np.ndarray], dict[str, np.ndarray]]


def quantiles(rng: Generator, mean: np.ndarray, deviation: np.ndarray) -> dict[str, np.ndarray]:
    """The normal quantiles around a mean, by their names."""
    return {f"q{level}": mean + deviation * stats.norm.ppf(level) for level in LEVELS}


def ensemble(rng: Generator, mean: np.ndarray, deviation: np.ndarray) -> dict[str, np.ndarray]:
    """Draws from the normal distributions, and their median."""
    drawn = mean + deviation * rng.normal(0, 1, (MEMBERS, len(mean)))
    columns = {f"member_{i}": row for i, row in enumerate(drawn)}
    return columns | {"median": np.median(drawn, axis=0)}


def moments(rng: Generator, mean: np.ndarray, deviation: np.ndarray) -> dict[str, np.ndarray]:
    """The mean and the standard deviation."""
    return {"mean": mean, "sd": deviation}


def _columns(
    rng: Generator, stated: Stated, level: np.ndarray, spread: np.ndarray, width: float
) -> dict[str, np.ndarray]:
    """The columns of two systems, each off the level by an error of its own. width: times the right
    standard deviation.
    """
    columns = dict[str, np.ndarray]()
    for name in ("a", "b"):
        mean = level + 0.3 * spread * rng.normal(0, 1, len(level))
        own = width * np.sqrt(1.09) * spread * np.exp(rng.normal(0, 0.1, len(level)))
        columns |= {f"{name}_{column}": v for column, v in stated(rng, mean, own).items()}
    return columns


def forecasts(
    rng: Generator, n: int, stated: Stated, errors: Errors = normal, width: float = 1.0
) -> Inputs:
    """Rows of unlike spread."""
    level = rng.normal(0, 1.5, n)
    spread = rng.lognormal(0, 0.5, n)
    actual = level + spread * errors(rng, n)
    columns = _columns(rng, stated, level, spread, width)
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual} | columns)}


def by_place(rng: Generator, n: int, stated: Stated, spread: float = 0.5) -> Inputs:
    """The rows of a place miss in the same direction; n places, few with many rows."""
    place = np.repeat(np.arange(n), sizes(rng, n, spread))
    m = len(place)
    level = rng.normal(0, 1.5, m)
    scale = rng.lognormal(0, 0.4, n)[place]
    shared = np.sqrt(0.5) * rng.normal(0, 1, n)[place]
    actual = level + scale * (shared + np.sqrt(0.5) * rng.normal(0, 1, m))
    columns = _columns(rng, stated, level, scale, 1.0)
    rows = {"id": ids(m), "place": place.astype(str), "actual": actual}
    return {"preds": pd.DataFrame(rows | columns)}


def _world(name: str, n: int, draw: Draw, metrics: dict[str, str], **more: int) -> World:
    return World(f"distributions: {name}", "rating", n, draw, metrics, **more)


RIGHT = partial(forecasts, stated=quantiles)
PLACES = partial(by_place, stated=quantiles)
DISTRIBUTIONS = (
    *(_world("quantiles", n, RIGHT, OF_QUANTILES) for n in (40, 100, 400)),
    _world("too narrow", 200, partial(RIGHT, width=0.68), OF_QUANTILES),
    _world("long tails", 200, partial(RIGHT, errors=student), OF_QUANTILES, many=200_000),
    *(_world("by place", n, PLACES, OF_QUANTILES | BY_PLACE, many=4_000) for n in (25, 60)),
    _world("draws", 100, partial(forecasts, stated=ensemble), OF_DRAWS),
    _world("moments", 100, partial(forecasts, stated=moments), OF_MOMENTS),
)

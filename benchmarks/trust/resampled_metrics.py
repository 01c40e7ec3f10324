"""How often the percentile bootstrap of functions of scikit-learn contains the true value:
`python benchmarks/trust/resampled_metrics.py`.

One world for each of six functions, of which R² and the largest error are known to be hard; what
it prints stands in docs/own_metrics.md.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from sklearn import metrics as sklearn, set_config

from evalkit.catalogue import lookup
from evalkit.limits import USUAL_LIMITS
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import RowStatistic

SEED = 20261130
SAMPLES = 200  # simulated data sets of each world
RESAMPLES = 200  # bootstrap samples of each of them
SHIFT = 1.0  # by which the scores of positives are higher, in standard deviations
SIGNAL = 1.0  # variance of what a forecast knows; that of the noise is 1


@dataclass(frozen=True)
class World:
    """A function, the table of the catalogue that it joins, data of n rows, and its true value."""

    function: Callable[..., float]
    structure: str
    draw: Callable[[np.random.Generator, int], Rows]
    truth: float


def classes(rng: np.random.Generator, n: int) -> Rows:
    """Half of the rows are positive; scores are normal, at the threshold halfway."""
    label = rng.integers(0, 2, n)
    return Rows(label, rng.normal(SHIFT * label), SHIFT / 2)


def forecasts(rng: np.random.Generator, n: int) -> Rows:
    """Normal values, of which the forecast knows a part."""
    forecast = rng.normal(0, np.sqrt(SIGNAL), n)
    return Rows(forecast + rng.normal(size=n), forecast)


def bounded_errors(rng: np.random.Generator, n: int) -> Rows:
    """Errors are uniform up to 1."""
    forecast = rng.normal(size=n)
    return Rows(forecast + rng.uniform(-1, 1, n), forecast)


NORMAL = NormalDist()
WORLDS = (
    World(sklearn.accuracy_score, "counts", classes, NORMAL.cdf(SHIFT / 2)),
    World(sklearn.roc_auc_score, "counts", classes, NORMAL.cdf(SHIFT / np.sqrt(2))),
    World(sklearn.mean_absolute_error, "forecasts", forecasts, float(np.sqrt(2 / np.pi))),
    World(sklearn.median_absolute_error, "forecasts", forecasts, NORMAL.inv_cdf(0.75)),
    World(sklearn.r2_score, "forecasts", forecasts, SIGNAL / (SIGNAL + 1)),
    World(sklearn.max_error, "forecasts", bounded_errors, 1.0),
)


def coverage(world: World, n: int) -> str:
    """The share of the intervals at 95% that contain the true value, and of the data sets that
    have one.
    """
    chosen = lookup.find_metric(world.function, world.structure)
    limits = replace(USUAL_LIMITS, resamples=RESAMPLES)
    intervals = []
    for seed in range(SAMPLES):
        rows = world.draw(np.random.default_rng((SEED, n, seed)), n)
        options = Options(0.95, np.random.default_rng(seed), limits=limits, seed=seed)
        intervals.append(inference.estimate(RowStatistic(chosen, rows), options))
    having = [e for e in intervals if np.isfinite(e.low)]
    hits = [e.low <= world.truth <= e.high for e in having]
    covered = f"{np.mean(hits):.1%}" if hits else "-"
    return f"{world.function.__name__}, {n} rows: {covered} of {len(having)} of {SAMPLES}"


if __name__ == "__main__":
    set_config(skip_parameter_validation=True)  # which takes longer than the functions
    for size in map(int, sys.argv[1:] or ("50",)):
        for each in WORLDS:
            print(coverage(each, size), flush=True)

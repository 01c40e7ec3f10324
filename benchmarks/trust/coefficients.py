"""How often intervals of calibration slope and intercept hold the truth: `python
benchmarks/trust/coefficients.py`.

Labels follow a logistic model of the logit of the score, so that the true slope is known, and the
true intercept with the slope fixed at 1 is that of a large sample. Prints a line for each world and
size: coverage of 95% intervals over 1,000 samples, and the samples in which a coefficient is
undefined.
"""

import sys
from collections.abc import Callable

import numpy as np

from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.catalogue.tables import INTERCEPT, SLOPE
from evalkit.limits import USUAL_LIMITS
from evalkit.metrics.calibration import expit
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference
from evalkit.statistics.inference import Options
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.statistic import RowStatistic

SAMPLES = 1_000
LARGE = 2_000_000
SIZES = (100, 500, 2_000)
WORLDS = {"calibrated": (0.0, 1.0), "overconfident": (0.0, 0.6), "too low, rare": (0.7, 1.2)}
CENTRE = {
    "calibrated": 0.0,
    "overconfident": 0.0,
    "too low, rare": -3.0,
}  # of the logit of the score
PER_UNIT = 5


def rows(world: str, n: int, rng: np.random.Generator) -> Rows:
    """Independent rows of a world."""
    a, b = WORLDS[world]
    logit = rng.normal(CENTRE[world], 1.2, n)
    return Rows((rng.random(n) < expit(a + b * logit)).astype(np.int64), expit(logit))


def units(world: str, n: int, rng: np.random.Generator) -> Rows:
    """The same in units of five rows whose scores and whose labels vary together."""
    a, b = WORLDS[world]
    unit = np.arange(n) // PER_UNIT
    logit = rng.normal(CENTRE[world], 1.0, n // PER_UNIT)[unit] + rng.normal(0, 0.66, n)
    same = np.where(
        rng.random(n // PER_UNIT)[unit] < 0.4, rng.random(n // PER_UNIT)[unit], rng.random(n)
    )
    return Rows((same < expit(a + b * logit)).astype(np.int64), expit(logit), unit=unit)


def estimate(metric: Metric, sample: Rows) -> Estimate:
    """The coefficient with its interval, as a report has it."""
    unit = "row" if sample.unit is None else "unit"
    return inference.estimate(
        RowStatistic(MetricAtK(metric), sample),
        Options(0.95, np.random.default_rng(0), unit, USUAL_LIMITS),
    )


def covered(world: str, n: int, draw: Callable[[str, int, np.random.Generator], Rows]) -> str:
    """One line: coverage of both intervals."""
    rng = np.random.default_rng(n)
    truth = {metric: estimate(metric, rows(world, LARGE, rng)).value for metric in (INTERCEPT,)}
    truth[SLOPE] = WORLDS[world][1]
    inside: dict[Metric, list[float]] = {SLOPE: [], INTERCEPT: []}
    for _ in range(SAMPLES):
        sample = draw(world, n, rng)
        for metric, results in inside.items():
            e = estimate(metric, sample)
            results.append(
                float(e.low <= truth[metric] <= e.high) if np.isfinite(e.low) else np.nan
            )
    words = (
        f"{metric.name} {np.nanmean(r):.3f} ({np.isnan(r).sum()} undefined)"
        for metric, r in inside.items()
    )
    return f"{world}, {draw.__name__}, n = {n:,}: {', '.join(words)}"


if __name__ == "__main__":
    for draw in (rows, units):
        for world in WORLDS:
            for n in SIZES:
                print(covered(world, n, draw), file=sys.stdout, flush=True)

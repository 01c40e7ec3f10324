"""A cell of a simulation: what it draws, and the bounds of what it measures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from evalkit.statistics.intervals import Estimate

COVERAGE = (0.93, 0.97)
LEVEL = (0.0, 0.06)


@dataclass(frozen=True)
class Cell:
    """A simulated population with a size, of which `sample` draws one sample and returns its
    measures.

    bounds: measure -> the lowest and the highest mean that its claim allows. runs: samples.
    """

    name: str
    sample: Callable[[np.random.Generator], dict[str, float]]
    bounds: Mapping[str, tuple[float, float]]
    runs: int = 1_000


def contains(estimate: Estimate, truth: float) -> float:
    """1 if the interval contains the truth, else 0; NaN without limits."""
    if not (np.isfinite(estimate.low) and np.isfinite(estimate.high)):
        return np.nan
    return float(estimate.low <= truth <= estimate.high)


def rejects(p: float) -> float:
    """1 if p is below 5%, else 0; NaN without p."""
    return float(p < 0.05) if np.isfinite(p) else np.nan

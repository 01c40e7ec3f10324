"""A world: what the data are like, and how many units a sample has.

A world draws the input of a report. Its systems are exchangeable: whatever the metric, they are
equally good, so every difference is 0 and a test at 5% should reject in 5% of the samples. A world
of power is the exception.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evalkit.limits import USUAL_LIMITS, Limits

Generator = np.random.Generator
Inputs = Mapping[str, Any]
Draw = Callable[[Generator, int], Inputs]


@dataclass(frozen=True)
class World:
    """One kind of data for one report.

    draw: (rng, n) -> the report's inputs for n units. n: units of a sample. parameters: of the
    report. frames: what is read of its study, of `numbers_of.VALUES` and `numbers_of.TESTS`. many,
    large: units of each of the large samples from which the true values are taken, and how many
    samples. own: the true values are those of samples of this very size. limits: of the study,
    small for tables that are as good as large. of: the report of both days of a diff. round: of the
    worlds by which no method was chosen; each round was written down before it was drawn, and drawn
    when methods were fixed. 0 for all others.
    """

    name: str
    report: str
    n: int
    draw: Draw
    parameters: Mapping[str, Any] = field(default_factory=dict)
    frames: tuple[str, ...] = ("values", "differences")
    many: int = 20_000
    large: int = 6
    own: bool = False
    limits: Limits = USUAL_LIMITS
    of: str = ""
    round: int = 0

    @property
    def kind(self) -> str:
        """What worlds share that differ in nothing but the size of a sample, or that have true
        values of their own.
        """
        return f"{self.report} {self.name}" + (f" {self.n}" if self.own else "")


def fresh_world(
    report: str,
    number: int,
    name: str,
    n: int,
    draw: Draw,
    parameters: Mapping[str, Any] | None = None,
    many: int = 20_000,
) -> World:
    """A world of the round with this number, by which no method was chosen."""
    return World(f"fresh: {name}", report, n, draw, parameters or {}, many=many, round=number)


def ids(n: int) -> np.ndarray:
    """The numbers of rows as text."""
    return np.arange(n).astype(str)


def logistic(x: np.ndarray) -> np.ndarray:
    """The share that log odds stand for."""
    return 1 / (1 + np.exp(-x))


def sizes(rng: Generator, n: int, spread: float) -> np.ndarray:
    """Rows of each unit: few have many."""
    return 1 + rng.poisson(rng.lognormal(1.5, spread, n))

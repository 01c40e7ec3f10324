"""What came of the simulation: cells, each one interval, one test or one planned difference in one
world.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from declared import DECLARED, Declared
from scipy.special import ndtr, ndtri
from world import World

LEAST, MOST = 0.93, 0.97  # of samples whose interval holds the truth
LEAST_SIZE, MOST_SIZE = 0.04, 0.06  # of samples in which a test at 5% rejects what is true
ERRORS = 2  # standard errors of the simulation that a cell may lie outside


@dataclass(frozen=True)
class Kind:
    """What a cell counts. held: in a table; bounds: beyond which it errs too often; wide: beyond
    which too rarely.
    """

    name: str
    held: str
    verb: str
    title: str
    nominal: float
    bounds: tuple[float, float]
    wide: tuple[float, float]

    def no_worse(self, share: float, exception: Declared) -> bool:
        """Whether a share is within what an exception says of such cells."""
        return (
            exception.most >= share >= exception.least
            if self is POWER
            else self._no_worse(share, exception)
        )

    def _no_worse(self, share: float, exception: Declared) -> bool:
        return share <= exception.most if self is TEST else share >= exception.least


NEVER, ALWAYS = -1.0, 2.0
INTERVAL = Kind(
    "interval",
    "95% intervals",
    "covers",
    "Intervals: coverage in percent",
    0.95,
    (LEAST, ALWAYS),
    (NEVER, MOST),
)
TEST = Kind(
    "test",
    "5% tests",
    "rejects",
    "Tests: rejected in percent",
    0.05,
    (NEVER, MOST_SIZE),
    (LEAST_SIZE, ALWAYS),
)
POWER = Kind(
    "power",
    "80% power",
    "shows",
    "Planned differences: shown in percent",
    0.8,
    (0.75, 0.85),
    (NEVER, ALWAYS),
)
KINDS = (INTERVAL, TEST, POWER)


@dataclass(frozen=True)
class Cell:
    """One interval, one test or one planned difference in one world.

    share: of samples that hold the truth, that reject, or that show the difference.
    """

    world: World
    number: str
    kind: Kind
    share: float
    runs: int
    below: float = np.nan
    above: float = np.nan
    width: float = np.nan
    exceptions: Sequence[Declared] = DECLARED

    @property
    def error(self) -> float:
        """The standard error of the share, at its nominal value."""
        return float(np.sqrt(self.kind.nominal * (1 - self.kind.nominal) / self.runs))

    @property
    def outside(self) -> bool:
        """Whether it errs more often than it says, by more than the simulation's own error."""
        low, high = self.kind.bounds
        return self.share + ERRORS * self.error < low or self.share - ERRORS * self.error > high

    @property
    def conservative(self) -> bool:
        """Whether it errs less often than it says."""
        low, high = self.kind.wide
        return self.share + ERRORS * self.error < low or self.share - ERRORS * self.error > high

    @property
    def declared(self) -> Declared | None:
        """The exception that covers it: named so, and no worse than it says."""
        for exception in self.exceptions:
            if exception.names(self.where, self.number) and self.kind.no_worse(
                self.share, exception
            ):
                return exception
        return None

    @property
    def where(self) -> str:
        """Its world."""
        return f"{self.world.report}, {self.world.name}, n = {self.world.n:,}"

    @property
    def state(self) -> str:
        """Inside, conservative, declared or outside."""
        if self.outside:
            return "declared" if self.declared else "outside"
        return "conservative" if self.conservative else "inside"


def cells(worlds: Mapping[str, World], tallies: Mapping[str, Mapping[str, Any]]) -> list[Cell]:
    """Every interval, every test and every planned difference of every world."""
    return [
        cell
        for name, world in worlds.items()
        for key, t in tallies[name].items()
        for cell in _cells(world, key, t)
    ]


def _cells(world: World, key: str, t: Any) -> Iterator[Cell]:
    if t.shows:
        yield Cell(world, key, POWER, _at_planned(t), t.tests)
        return
    if t.runs:
        below = t.below / t.runs
        above = t.above / t.runs
        yield Cell(world, key, INTERVAL, 1 - below - above, t.runs, below, above, t.width / t.runs)
    if t.tests:
        yield Cell(world, key, TEST, t.rejected / t.tests, t.tests)


def _at_planned(t: Any) -> float:
    """The power at the difference that "would show", from that at the world's own, which is close
    to it.
    """
    z = ndtri(0.975)
    seen = ndtri(np.clip(t.rejected / t.tests, 1e-6, 1 - 1e-6))
    return float(ndtr((seen + z) * t.shows / t.differences - z))


def summary(every: list[Cell], seconds: float) -> str:
    """The cells out of bounds, and how many there are of each kind."""
    lines = [_line(cell) for cell in every if cell.outside]
    for kind in KINDS:
        states = Counter(cell.state for cell in every if cell.kind is kind)
        counted = ", ".join(f"{states[state]} {state}" for state in STATES)
        lines.append(f"{states.total()} cells of kind {kind.name}: {counted}")
    return "\n".join([*lines, f"{seconds / 60:.1f} minutes"])


STATES = ("inside", "conservative", "declared", "outside")


def _line(cell: Cell) -> str:
    sides = f" (below {cell.below:.3f}, above {cell.above:.3f})" if cell.kind is INTERVAL else ""
    state = ", declared" if cell.declared else ""
    return (
        f"{cell.where}: {cell.number} {cell.kind.verb} {cell.share:.3f}{sides} of "
        f"{cell.runs:,}{state}"
    )

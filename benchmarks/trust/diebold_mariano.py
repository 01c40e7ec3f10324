"""The level of Diebold and Mariano's test in time order, as reports compute it: how often it finds
two equally good forecasts different at 5%.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from of_series import SHARED, moving
from scipy import stats

from evalkit.statistics.spread import Spread

SEED = 20261122
SAMPLES = 10_000
TIMES = (20, 40, 100, 400)
LEAST, MOST = 4.0, 6.0  # percent
Draw = Callable[[np.random.Generator, int], np.ndarray]
WORLDS: tuple[tuple[str, int, Draw], ...] = (
    ("independent errors", 1, partial(moving, horizon=1)),
    ("errors that depend on the 3 before", 4, partial(moving, horizon=4)),
    ("AR(1) of 0.3", 1, partial(moving, horizon=1, slope=0.3)),
    ("AR(1) of 0.5", 1, partial(moving, horizon=1, slope=0.5)),
    ("AR(1) of 0.5", 4, partial(moving, horizon=1, slope=0.5)),
    ("AR(1) of 0.8", 1, partial(moving, horizon=1, slope=0.8)),
)


class Level(NamedTuple):
    """How often the test rejects, in percent, by the number of times. steps_ahead: the horizon that
    the test allows for.
    """

    errors: str
    steps_ahead: int
    by_times: dict[int, float]

    @property
    def holds_from(self) -> int | None:
        """The number of times from which on 4 to 6% are rejected; None if none of them does."""
        holds = None
        for times, percent in sorted(self.by_times.items(), reverse=True):
            if not LEAST <= percent <= MOST:
                break
            holds = times
        return holds


def rejected(draw: Draw, times: int, steps_ahead: int, samples: int) -> float:
    """The percentage of samples in which the absolute errors of two systems, which share half of
    their variance, differ significantly.
    """
    rng = np.random.default_rng([SEED, times, steps_ahead])
    count = 0
    for _ in range(samples):
        shared = np.sqrt(SHARED) * draw(rng, times)
        first, second = (shared + np.sqrt(1 - SHARED) * draw(rng, times) for _ in range(2))
        difference = np.abs(first) - np.abs(second)
        mean = difference.mean()
        error = Spread.from_series((difference - mean) / times, steps_ahead - 1).error
        count += 2 * stats.t.sf(abs(mean / error), times - 1) < 0.05
    return 100 * count / samples


def levels(samples: int = SAMPLES) -> Iterator[Level]:
    """The level in each world."""
    for errors, steps_ahead, draw in WORLDS:
        by_times = {n: rejected(draw, n, steps_ahead, samples) for n in TIMES}
        yield Level(errors, steps_ahead, by_times)


def table(samples: int = SAMPLES) -> str:
    """The levels in Markdown."""
    head = f"| errors | steps ahead | {' | '.join(f'n = {n}' for n in TIMES)} | 4 to 6% |"
    rows = [head, "|---" * (len(TIMES) + 3) + "|"]
    for level in levels(samples):
        percents = " | ".join(f"{level.by_times[n]:.1f}" for n in TIMES)
        holds = f"from n = {level.holds_from}" if level.holds_from else "at no n"
        rows.append(f"| {level.errors} | {level.steps_ahead} | {percents} | {holds} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())

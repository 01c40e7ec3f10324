"""What the ranking page asks of the rankings: one value a query each, as values that can be compared and sent."""

from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Floats
from evalkit.definitions.metric import Chosen
from evalkit.metrics import rankings
from evalkit.metrics.rankings import Pooled, Rankings
from evalkit.statistics.perunit import Values


@dataclass(frozen=True)
class Metric:
    """A metric of the catalogue; level: the lowest grade that counts as relevant."""

    chosen: Chosen
    level: float

    def __call__(self, r: Rankings) -> Values:
        """The metric of every query."""
        return self.chosen.values(r, self.level)


@dataclass(frozen=True)
class WorstTies(Metric):
    """The metric with the worst order of items whose scores are equal."""

    def __call__(self, r: Rankings) -> Values:
        """The metric of every query."""
        return self.chosen.values(rankings.worst_ties(r) if r.retrieved.tied.any() else r, self.level)


@dataclass(frozen=True)
class BestTies(Metric):
    """The metric with the best order of items whose scores are equal."""

    def __call__(self, r: Rankings) -> Values:
        """The metric of every query."""
        return self.chosen.values(rankings.best_ties(r) if r.retrieved.tied.any() else r, self.level)


@dataclass(frozen=True)
class InterpolatedPrecision:
    """The best precision at or beyond a recall."""

    recall: float
    level: float

    def __call__(self, r: Rankings) -> Floats:
        """The precision of every query."""
        return rankings.interpolated_precision(r, self.recall, self.level)


@dataclass(frozen=True)
class Unjudged:
    """Rows without a judgement among the first k, of how many."""

    k: int

    def __call__(self, r: Rankings) -> Pooled:
        """Both numbers of every query."""
        some = r.retrieved
        top = some.rank <= self.k
        return Pooled(some.total(top & np.isnan(some.grade)), some.total(top))


@dataclass(frozen=True)
class Depth:
    """The last rank returned."""

    def __call__(self, r: Rankings) -> Floats:
        """The last rank of every list, 0 of an empty one."""
        return r.retrieved.depth.astype(float)

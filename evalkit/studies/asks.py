"""What the ranking page asks of the rankings: one value a query each, as values that can be compared and sent."""

from dataclasses import dataclass

import numpy as np

from evalkit.catalogue.metric import Chosen
from evalkit.metrics import rankings
from evalkit.metrics.rankings import Rankings
from evalkit.metrics.sums import Sums


@dataclass(frozen=True)
class Metric:
    """A metric of the catalogue; level: the lowest grade that counts as relevant."""

    chosen: Chosen
    level: float

    def __call__(self, r: Rankings) -> Sums:
        """The metric of every query."""
        return self.chosen.sums(r, self.level)


@dataclass(frozen=True)
class WorstTies(Metric):
    """The metric with the worst order of items whose scores are equal."""

    def __call__(self, r: Rankings) -> Sums:
        """The metric of every query."""
        return self.chosen.sums(rankings.worst_ties(r) if r.retrieved.tied.any() else r, self.level)


@dataclass(frozen=True)
class BestTies(Metric):
    """The metric with the best order of items whose scores are equal."""

    def __call__(self, r: Rankings) -> Sums:
        """The metric of every query."""
        return self.chosen.sums(rankings.best_ties(r) if r.retrieved.tied.any() else r, self.level)


@dataclass(frozen=True)
class InterpolatedPrecision:
    """The best precision at or beyond a recall."""

    recall: float
    level: float

    def __call__(self, r: Rankings) -> Sums:
        """The precision of every query."""
        return Sums(rankings.interpolated_precision(r, self.recall, self.level))


@dataclass(frozen=True)
class Unjudged:
    """Rows without a judgement among the first k, of how many."""

    k: int

    def __call__(self, r: Rankings) -> Sums:
        """Both numbers of every query."""
        some = r.retrieved
        top = some.rank <= self.k
        return Sums(some.total(top & np.isnan(some.grade)), some.total(top))


@dataclass(frozen=True)
class Depth:
    """The last rank returned."""

    def __call__(self, r: Rankings) -> Sums:
        """The last rank of every list, 0 of an empty one."""
        return Sums(r.retrieved.depth.astype(float))

"""A row of the table of metrics, and the row that a name such as `ndcg@10` chooses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evalkit.arrays import Floats


@dataclass(frozen=True, eq=False)
class Effects:
    """A value and how much each row moves it: the derivative by the row's weight, times the weight; the sum is 0."""

    value: float
    rows: Floats


@dataclass(frozen=True)
class Metric:
    """One row of the table.

    compute: (structure, k, level) -> one value a unit, `Pooled`, or one number; level is the relevance level of
    rankings, the threshold of counts. cut: "may", "must" or "never" carry @k; most: the greatest k.
    best: "high", "low" or "neither". equals: the public tool's name for the same number. tie_range: the best grade
    first among equal scores gives the metric's highest value.
    """

    name: str
    structure: str
    compute: Callable[..., Any]
    formula: str
    undefined: str
    equals: str
    cut: str = "may"
    low: float = 0.0
    high: float = 1.0
    best: str = "high"
    reference: str = ""
    tie_range: bool = True
    most: int = 2**31 - 1


@dataclass(frozen=True)
class Chosen:
    """A metric at its cut-off, as `ndcg@10` names it; `label` is what is printed."""

    metric: Metric
    k: int | None = None

    @property
    def label(self) -> str:
        """The name that is printed and that finds this metric again."""
        return self.metric.name if self.k is None else f"{self.metric.name}@{self.k}"

    def values(self, structure: Any, level: float = 1) -> Any:
        """The metric of the structure: one value a unit of rankings, one number of counts and confusions."""
        return self.metric.compute(structure, self.k, level)

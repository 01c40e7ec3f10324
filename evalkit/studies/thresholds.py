"""Where a score becomes a decision: a number, or a rule that chooses the threshold on the rows themselves."""

from collections.abc import Callable
from dataclasses import dataclass

from evalkit.metrics import curves
from evalkit.metrics.counts import Counts
from evalkit.parameters.kinds import BestF1, Costs, Reach, ReachPrecision, ReachRecall, Threshold
from evalkit.reading.tables import rules
from evalkit.reading.tables.rules import Precision


@dataclass(frozen=True)
class Rule:
    """How the threshold is chosen.

    fixed: the same number for every system, not chosen by the rows; else None. costs: those that it makes least.
    """

    text: str
    choose: Callable[[Counts], float]
    fixed: float | None = None
    costs: Costs | None = None

    def at(self, c: Counts, to: Precision) -> float:
        """The threshold for a table of scores that were stored in this precision."""
        return rules.rounded(self.choose(c), to)


def rule(threshold: Threshold) -> Rule:
    """Return the rule that a value of the parameter `threshold` stands for.

    >>> rule(ReachRecall(0.9)).text
    'recall ≥ 0.9'
    """
    match threshold:
        case BestF1():
            return Rule("best F1", curves.best_f)
        case Costs():
            return cheapest(threshold)
        case ReachPrecision():
            return _reaching(threshold, curves.for_precision)
        case ReachRecall():
            return _reaching(threshold, curves.for_recall)
    return fixed(threshold)


def fixed(number: float) -> Rule:
    """The same threshold for every system."""
    return Rule(f"{number:.12g}", lambda c: number, number)


def cheapest(costs: Costs) -> Rule:
    """The threshold of least cost."""
    return Rule(f"least cost ({costs})", lambda c: curves.cheapest(c, costs.fp, costs.fn), costs=costs)


def _reaching(reach: Reach, choose: Callable[[Counts, float], float]) -> Rule:
    return Rule(f"{reach.metric} ≥ {reach.target:g}", lambda c: choose(c, reach.target))

"""Where a score becomes a decision: a number, or a rule that chooses the threshold on the rows themselves."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evalkit.arrays import ParameterError
from evalkit.metrics import curves
from evalkit.metrics.counts import Counts
from evalkit.reading import parameters, precision
from evalkit.reading.precision import Precision

FORMS = "a number, best_f1, cost:fp=1,fn=5, precision>=0.9 or recall>=0.9"


@dataclass(frozen=True)
class Costs:
    """What a false positive and a false negative cost."""

    fp: float = 1.0
    fn: float = 1.0

    def __str__(self) -> str:
        return f"false positive {self.fp:g}, false negative {self.fn:g}"


@dataclass(frozen=True)
class Rule:
    """How the threshold is chosen. fixed: the same number for every system, not chosen by the rows; else None."""

    text: str
    choose: Callable[[Counts], float]
    fixed: float | None = None

    def at(self, c: Counts, to: Precision) -> float:
        """The threshold for a table of scores that were stored in this precision."""
        return precision.rounded(self.choose(c), to)


def costs(name: str, value: Any) -> Costs | None:
    """Costs from "fp=1,fn=5" or a mapping, None where none are given.

    >>> costs("costs", "fp=1,fn=5")
    Costs(fp=1.0, fn=5.0)
    """
    given = parameters.mapping(name, value)
    if not given:
        return None
    if set(given) != {"fp", "fn"}:
        raise ParameterError(f"{name} must name fp and fn, such as fp=1,fn=5, got {value!r}")
    amounts = {key: parameters.number(f"{name}: {key}", one, above=0, below=1e100) for key, one in given.items()}
    return Costs(float(amounts["fp"] or 0), float(amounts["fn"] or 0))


def rule(value: Any) -> tuple[Rule, Costs | None] | None:
    """The rule that a value of the parameter `threshold` stands for, with the costs it names; None where none is given.

    >>> rule("recall>=0.9")[0].text, rule("cost:fp=1,fn=5")[1]
    ('recall ≥ 0.9', Costs(fp=1.0, fn=5.0))
    """
    text = parameters.text("threshold", value)
    if text is None:
        return None
    if parameters.NUMBER.fullmatch(text.strip()):
        return fixed(parameters.number("threshold", text) or 0.0), None
    if text.strip() == "best_f1":
        return Rule("best F1", curves.best_f), None
    if text.strip().startswith("cost:"):
        given = costs("threshold", text.strip()[5:])
        if given:
            return cheapest(given), given
    found = re.fullmatch(r"\s*(precision|recall)\s*>=\s*(0?\.\d+|1|1\.0)\s*", text)
    if not found:
        raise ParameterError(f"threshold must be {FORMS}, got {value!r}")
    return _target(found[1], float(found[2])), None


def fixed(number: float) -> Rule:
    """The same threshold for every system."""
    return Rule(f"{number:.12g}", lambda c: number, number)


def cheapest(given: Costs) -> Rule:
    """The threshold of least cost."""
    return Rule(f"least cost ({given})", lambda c: curves.cheapest(c, given.fp, given.fn))


def _target(metric: str, target: float) -> Rule:
    choose = curves.for_precision if metric == "precision" else curves.for_recall
    return Rule(f"{metric} ≥ {target:g}", lambda c: choose(c, target))

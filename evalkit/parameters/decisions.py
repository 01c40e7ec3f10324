"""Decision rules for scores: the values of the parameters `threshold` and `costs`."""

import re
from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from evalkit.arrays import ParameterError
from evalkit.parameters import readers

FORMS = "a number, best_f1, cost:fp=1,fn=5, precision>=0.9 or recall>=0.9"
LARGEST = 1e100  # exclusive upper bound of a cost


@dataclass(frozen=True)
class Costs:
    """The costs of a false positive and of a false negative."""

    fp: float = 1.0
    fn: float = 1.0

    def __str__(self) -> str:
        return f"false positive {self.fp:g}, false negative {self.fn:g}"

    @property
    def said(self) -> str:
        """The costs as a sentence."""
        return f"Costs: {self}."


class EqualCosts(Costs):
    """The costs where none are set: one for each error."""

    @property
    def said(self) -> str:
        """That both errors cost the same, and how to change it."""
        return "No costs were set, so a false positive and a false negative cost the same; set costs to your own."


@dataclass(frozen=True)
class Reach(ABC):
    """The threshold at which a metric reaches a target."""

    target: float
    metric: ClassVar[str]

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the rule that a text states, None if it states another."""
        stated = re.fullmatch(rf"{cls.metric}\s*>=\s*(0?\.\d+|1|1\.0)", text)
        return cls(float(stated[1])) if stated else None


class ReachPrecision(Reach):
    """The threshold at which precision reaches a target."""

    metric = "precision"


class ReachRecall(Reach):
    """The threshold at which recall reaches a target."""

    metric = "recall"


@dataclass(frozen=True)
class BestF1:
    """The threshold of the highest F1."""


Threshold = float | BestF1 | Costs | ReachPrecision | ReachRecall  # Costs: the threshold of least cost


def costs(name: str, value: Any) -> Costs | None:
    """Return the costs from "fp=1,fn=5" or a mapping, None if none are given.

    >>> costs("costs", "fp=1,fn=5")
    Costs(fp=1.0, fn=5.0)
    """
    pairs = readers.mapping(name, value)
    if not pairs:
        return None
    if set(pairs) != {"fp", "fn"}:
        raise ParameterError(f"{name} must name fp and fn, such as fp=1,fn=5, got {value!r}")
    amounts = {key: readers.number(f"{name}: {key}", pair, above=0, below=LARGEST) for key, pair in pairs.items()}
    return Costs(float(amounts["fp"] or 0), float(amounts["fn"] or 0))


def threshold(name: str, value: Any) -> Threshold | None:
    """Return a threshold or the rule that chooses it, None if none is given.

    >>> threshold("threshold", "recall>=0.9"), threshold("threshold", "cost:fp=1,fn=5"), threshold("threshold", 0.3)
    (ReachRecall(target=0.9), Costs(fp=1.0, fn=5.0), 0.3)
    """
    stated = readers.text(name, value)
    if stated is None:
        return None
    text = stated.strip()
    if readers.NUMBER.fullmatch(text):
        return readers.number(name, text)
    if text == "best_f1":
        return BestF1()
    if text.startswith("cost:") and (pair := costs(name, text[5:])):
        return pair
    if reach := ReachPrecision.read(text) or ReachRecall.read(text):
        return reach
    raise ParameterError(f"{name} must be {FORMS}, got {value!r}")

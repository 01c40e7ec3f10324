"""The cells that leave their bounds, each with its reason and the sentence by which the page tells it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Declared:
    """An exception. world, number: text that the names hold; least: coverage, most: rejections that are expected."""

    world: str
    number: str
    reason: str
    told: str
    least: float = 0.93
    most: float = 0.06


DECLARED: tuple[Declared, ...] = ()

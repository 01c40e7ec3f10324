"""Limits: the sizes at which a method gives way to another, and how often is resampled."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a study may spend, and from where on it uses other methods.

    flipped: units up to which signs are flipped; of more, t is as good, and quicker. enough: rows of either class from
    which the delta method gives the limits of a bootstrap of counts. resamples: of an interval. bands: of a curve.
    """

    flipped: int = 20_000
    enough: int = 10_000
    resamples: int = 1_000
    bands: int = 400


USUAL = Limits()

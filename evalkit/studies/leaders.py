"""Which system is best: the order of systems by a metric, and the one of which the first screen speaks."""

from collections.abc import Mapping, Sequence

import numpy as np

from evalkit.catalogue.metric import Chosen


def ranked(values: Mapping[str, float], by: Chosen) -> list[str]:
    """The systems by their values of a metric, best first; equal ones (to 12 digits) by name, undefined ones last."""
    value = {name: float(f"{number:.12g}") for name, number in values.items()}
    sign = -1 if by.metric.best == "high" else 1
    return sorted(value, key=lambda name: (np.isnan(value[name]), sign * value[name], name))


def leading(order: Sequence[str], baseline: str | None) -> str:
    """The best system, with a baseline the best of the others."""
    return next(name for name in order if name != baseline or len(order) == 1)

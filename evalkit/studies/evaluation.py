"""Evaluations with repeated draws, tasks and logs: what varies, and what the logs themselves say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.metrics.draws import Draws
from evalkit.numbers import unit_noun
from evalkit.statistics.spread import Spread, by_unit
from evalkit.studies.paired import Significance
from evalkit.studies.study import Row, framed
from evalkit.system import cached


def question(study: Significance) -> str:
    """What has a value of its own, as a noun: the unit, or what lies in it where that is a cluster."""
    return unit_noun(study.data.columns.get("unit", study.unit_name).rpartition(" ")[2], "unit")


# Draws ----------------------------------------------------------------------------------------------------------------


def drawn(study: Significance) -> str:
    """The metric whose draws the input holds: the primary one, or the one that it is computed from; "" if none has."""
    metric = study.primary.label
    metric = metric if (metric, study.systems[0]) in study.data.draws else study.data.source
    several = any(of.several for (name, _), of in study.data.draws.items() if name == metric)
    return metric if several else ""


def noise(draws: Draws) -> tuple[float, Floats]:
    """The variance of a draw around its unit's mean, pooled over units, and the variance of each unit's mean by it."""
    freedom = np.maximum(draws.count - 1, 0)
    pooled = float(ratio(np.nansum(freedom * np.nan_to_num(draws.variance)), freedom.sum()))
    return pooled, ratio(pooled, draws.count)


@cached
@framed
def variation(study: Significance) -> Iterator[Row]:
    """How each system varies between units and within, and the headline's difference; what more of both would buy.

    `error` is the standard error of the mean; then that of twice as many units (or clusters), of twice as many draws of
    each, and of endless draws.
    """
    if not (metric := drawn(study)):
        return
    every = {name: study.data.draws[metric, name] for name in study.order}
    for name, of in every.items():
        yield {"what": name} | _variation(study, of.mean, [of])
    if len(study.headline):
        first, second = (every[name] for name in study.opponents)
        yield {"what": " − ".join(study.opponents)} | _variation(study, first.mean - second.mean, [first, second])


def _variation(study: Significance, values: Floats, draws: list[Draws]) -> dict[str, Any]:
    """The row of values of units; what they vary by within a unit is that of the draws of all of these."""
    keep = np.flatnonzero(~np.isnan(values))
    sides = [noise(of) for of in draws]
    by_draws = float(sum(of_mean[keep].mean() for _, of_mean in sides))
    moved = (values[keep] - values[keep].mean()) / max(len(keep), 1)
    square = Spread.of(by_unit(moved, None if study.unit is None else study.unit[keep])).error ** 2
    rest = by_draws / len(keep)
    return {
        "units": len(keep),
        "draws": float(np.mean([ratio(keep.size, (1 / of.count[keep]).sum()) for of in draws])),
        "between": float(np.sqrt(max(values[keep].var(ddof=1) - by_draws, 0.0))) if len(keep) > 1 else np.nan,
        "within": float(np.sqrt(sum(pooled for pooled, _ in sides))),
        "error": float(np.sqrt(square)),
        "twice_units": float(np.sqrt(square / 2)),
        "twice_draws": float(np.sqrt(max(square - rest / 2, 0.0))),
        "endless_draws": float(np.sqrt(max(square - rest, 0.0))),
    }

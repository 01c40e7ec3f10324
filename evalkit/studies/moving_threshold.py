"""What any threshold would decide: the counts of every system at some of its thresholds, and the metrics of counts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.metrics import calibration, counts, curves
from evalkit.metrics.counts import Counts
from evalkit.parameters.decisions import Costs
from evalkit.statistics import closed_forms
from evalkit.statistics.intervals import Estimate, normal_quantile, wilson
from evalkit.statistics.means import mean_of_counts
from evalkit.studies.binary import BinaryStudy

MOST = 240  # thresholds of all systems together, beside those of least cost
SYSTEMS = 8  # more than a reader compares while a slider moves


@dataclass(frozen=True, eq=False)
class Moving:
    """The counts of systems at the same thresholds, the first of which predicts nothing positive.

    threshold: falling; each is the shortest number that decides as the score below which it lies.
    """

    threshold: Floats
    tables: Mapping[str, Counts]

    def named(self, threshold: float) -> str:
        """The shortest number that decides like a threshold that was chosen on these scores."""
        at = self.threshold[np.flatnonzero(self.threshold <= threshold)[:1]]
        return (
            "–" if not at.size else "∞" if np.isinf(at[0]) else repr(float(at[0])).removesuffix(".0").replace("-", "−")
        )


def quantiles(level: float, n: float) -> tuple[float, float]:
    """The quantiles of the normal distribution, and of t on n − 1 degrees of freedom, that closed intervals take."""
    from scipy.special import stdtrit

    return normal_quantile(level), float(stdtrit(n - 1, (1 + level) / 2))


def moving(study: BinaryStudy) -> Moving:
    """The first systems of a study at some hundred thresholds.

    Among them are those that were chosen, and all that are cheapest for any costs of the two errors.
    """
    tables = {name: study.table(name) for name in study.order[:SYSTEMS]}
    marked = [*study.thresholds.values(), *study.choices["threshold"]]
    chosen = [_thresholds(c, MOST // len(tables)) for c in tables.values()]
    every = np.unique(np.concatenate([*chosen, marked]))
    scores = np.unique(np.concatenate([c.threshold for c in tables.values()]))
    threshold = np.append(np.inf, _shortened(every[np.isfinite(every)], scores)[::-1])
    return Moving(threshold, {name: counts.at(c, threshold) for name, c in tables.items()})


def _thresholds(c: Counts, most: int) -> Floats:
    return np.concatenate([c.threshold[corners(c)], curves.thin(c, most).threshold])


def corners(c: Counts) -> Ints:
    """The places of the thresholds that some pair of costs makes the cheapest: the corners of the ROC curve's hull.

    >>> from evalkit.metrics.counts import count
    >>> corners(count([5, 4, 3, 2, 1], [1, 0, 1, 1, 0]))
    array([0, 3, 4])
    """
    return np.flatnonzero(np.append(np.diff(calibration.recalibrate(c).threshold) != 0, True))


def _shortened(thresholds: Floats, scores: Floats) -> Floats:
    """The shortest numbers above the next lower score, which decide alike."""
    below = np.append(-np.inf, scores)[np.searchsorted(scores, thresholds)]
    return np.array([shortest(low, high) for low, high in zip(below, thresholds, strict=True)])


def shortest(low: float, high: float) -> float:
    """The number of fewest digits above `low` and at most `high`.

    >>> shortest(0.7311, 0.73549), shortest(-2.0, -1.25), shortest(0.2, 0.2000001), shortest(-0.5, 0.0)
    (0.735, -1.3, 0.2000001, 0.0)
    """
    if high == 0:
        return 0.0
    top = math.floor(math.log10(abs(high)))
    for places in range(-top, 17 - top):
        number = float(f"{math.floor(high * 10.0**places) / 10.0**places:.{max(places, 0)}f}")
        if low < number <= high:
            return number
    return high


def estimates(c: Counts, costs: Costs, level: float | None) -> dict[str, Estimate]:
    """What is read off the counts at one threshold, with closed intervals of rows that count alike, or without (None).

    The mean cost is a mean of three values: 0, and what each error costs.
    """
    tp, fp, fn, tn = (float(cell) for cell in (c.tp, c.fp, c.fn, c.tn))
    at = level or 0.95
    of = {
        "precision": wilson(tp, tp + fp, level=at),
        "recall": wilson(tp, tp + fn, level=at),
        "f1": closed_forms.overlap(tp, fn, fp, weight=1.0, times=2.0, level=at),
        "predicted": wilson(tp + fp, float(c.total), level=at),
        "cost": mean_of_counts([0, costs.fp, costs.fn], [tp + tn, fp, fn], level=at),
    }
    return of if level else {name: replace(e, low=np.nan, high=np.nan) for name, e in of.items()}


def used(study: BinaryStudy, systems: Iterable[str]) -> list[Counts | None]:
    """The counts of systems at the threshold that each uses; None where there is none."""
    chosen = [(study.table(name), study.thresholds[name]) for name in systems]
    return [None if math.isnan(threshold) else counts.at(c, threshold) for c, threshold in chosen]


def steps(column: Sequence[float] | Floats) -> list[float]:
    """The first number of a column, and by how much each other is above the one before; whole numbers as such."""
    each = np.diff(np.asarray(column, float), prepend=0.0)
    return [int(step) if float(step).is_integer() else float(f"{step:.9g}") for step in each.tolist()]

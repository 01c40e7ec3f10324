"""What any threshold would decide: the counts of every system at some of its thresholds, and the metrics of counts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.catalogue import lookup
from evalkit.metrics import calibration, counts, curves
from evalkit.metrics.counts import Counts
from evalkit.parameters.kinds import Costs
from evalkit.statistics import closed_forms
from evalkit.statistics.intervals import Estimate, mean_of_counts, normal_quantile, wilson
from evalkit.statistics.statistic import HeldRows
from evalkit.statistics.thresholds import MovingCut, mean_cost
from evalkit.studies.binary import BinaryStudy

MOST = 240  # thresholds of all systems together, beside those of least cost
VARIED = 240  # of them times the systems, where each has intervals of its own
SYSTEMS, FEW = 8, 4  # more than a reader compares while a slider moves; of these where each has intervals of its own


@dataclass(frozen=True, eq=False)
class Moving:
    """The counts of systems at the same thresholds, the first of which predicts nothing positive.

    threshold: falling; each is the shortest number that decides as the score below which it lies.
    """

    threshold: Floats
    tables: Mapping[str, Counts]

    @property
    def last(self) -> int:
        """The place of the lowest threshold."""
        return len(self.threshold) - 1

    def named(self, threshold: float) -> str:
        """The shortest number that decides like a threshold that was chosen on these scores."""
        at = self.threshold[self.place(threshold) :][:1]
        return (
            "–" if not at.size else "∞" if np.isinf(at[0]) else repr(float(at[0])).removesuffix(".0").replace("-", "−")
        )

    def place(self, threshold: float) -> int:
        """The place of the threshold that decides like one that was chosen on these scores."""
        return int(np.sum(~(self.threshold <= threshold)))


def systems(study: BinaryStudy) -> list[str]:
    """The first systems of a study, whose decisions the slider moves."""
    return study.order[: SYSTEMS if study.plain else FEW]


def moving(study: BinaryStudy) -> Moving:
    """The first systems of a study at some hundred thresholds.

    Among them are those that were chosen, and all that are cheapest for any costs of the two errors.
    """
    tables = {name: study.table(name) for name in systems(study)}
    most = MOST if study.plain else VARIED // len(tables)
    marked = [*study.thresholds.values(), *study.choices["threshold"]]
    chosen = [_thresholds(c, most // len(tables)) for c in tables.values()]
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
    >>> shortest(0.0, 3e-310)
    3e-310
    """
    if high == 0:
        return 0.0
    top = math.floor(math.log10(abs(high)))
    for places in range(-top, min(17 - top, 309)):  # 10.0**309 is infinite: numbers so small keep all their digits
        number = float(f"{math.floor(high * 10.0**places) / 10.0**places:.{max(places, 0)}f}")
        if low < number <= high:
            return number
    return high


METRICS = ("precision", "recall", "f1", "predicted_rate")
NONE = "none"  # no number, so that neither are the limits
UNDEFINED = -1  # the limits of what has no value
FINE = 1e6  # whole numbers in place of shares of the largest variance


@dataclass(frozen=True, eq=False)
class Plain:
    """Closed intervals, of rows that are independent and unweighted, or none (level: None)."""

    level: float | None

    def estimates(self, name: str, c: Counts, costs: Costs) -> dict[str, Estimate]:
        """What is read off the counts at one threshold; the mean cost is a mean of 0 and what each error costs."""
        tp, fp, fn, tn = (float(cell) for cell in (c.tp, c.fp, c.fn, c.tn))
        at = self.level or 0.95
        of = {
            "precision": wilson(tp, tp + fp, level=at),
            "recall": wilson(tp, tp + fn, level=at),
            "f1": closed_forms.overlap(tp, fn, fp, weight=1.0, times=2.0, level=at),
            "predicted_rate": wilson(tp + fp, float(c.total), level=at),
            "cost": mean_of_counts([0, costs.fp, costs.fn], [tp + tn, fp, fn], level=at),
        }
        return of if self.level else {name: replace(e, low=np.nan, high=np.nan) for name, e in of.items()}

    def quantiles(self) -> dict[str, float | str]:
        """What intervals at any threshold are computed from: the quantile z of the normal distribution, or none."""
        return {"z": normal_quantile(self.level) if self.level else NONE}

    def of_system(self, name: str, places: Sequence[int]) -> dict[str, list[Any]]:
        """What a system adds to that: nothing."""
        return {}


@dataclass(frozen=True, eq=False)
class Varied:
    """The intervals of rows in units, or with weights: those of the study's own methods at each of the thresholds.

    limits: of each system, for each threshold those of each of `METRICS`.
    """

    moves: Moving
    cuts: Mapping[str, MovingCut]
    limits: Mapping[str, Sequence[Sequence[Estimate]]]
    level: float

    @property
    def units(self) -> float:
        """Kish's number of units, the same for all systems."""
        return next(iter(self.cuts.values())).units

    def estimates(self, name: str, c: Counts, costs: Costs) -> dict[str, Estimate]:
        """What is read off the counts of a system at one of the thresholds."""
        place = self.moves.place(float(c.threshold))
        mean, top = float(curves.cost(c, costs.fp, costs.fn)), max(costs.fp, costs.fn)
        variance = float(self.cuts[name].spread[place] @ [costs.fp**2, costs.fp * costs.fn, costs.fn**2])
        cost = mean_cost(mean, top, variance, self.units, self.level)
        return dict(zip(METRICS, self.limits[name][place], strict=True)) | {"cost": cost}

    def quantiles(self) -> dict[str, float | str]:
        """The quantiles of the normal distribution and, times the unit of each `spread`, of t; the number of units."""
        from scipy.special import stdtrit

        t = float(stdtrit(self.units - 1, (1 + self.level) / 2))
        return {"z": normal_quantile(self.level), "q": t * (self._largest / FINE) ** 0.5, "units": self.units}

    def of_system(self, name: str, places: Sequence[int]) -> dict[str, list[Any]]:
        """By threshold the limits of each of `METRICS`, rounded to so many decimals, and the spread of costs."""
        return {
            "spread": np.rint(self.cuts[name].spread * FINE / self._largest).astype(int).tolist(),
            "limits": [[_limits(e, n) for e, n in zip(at, places, strict=False)] for at in self.limits[name]],
        }

    @property
    def _largest(self) -> float:
        return max(float(np.abs(cut.spread).max()) for cut in self.cuts.values()) or 1.0


def _limits(e: Estimate, places: int) -> list[float]:
    return [UNDEFINED if math.isnan(limit) else float(f"{limit:.{places}f}") for limit in (e.low, e.high)]


def intervals(study: BinaryStudy, moves: Moving) -> Plain | Varied:
    """The intervals of the decisions of a study; none of sums over rows that vary by unit or weight."""
    if study.plain or not isinstance(study.sample, HeldRows):
        return Plain(study.settings.level if study.plain else None)
    options, chosen = study.inference_options(1), [lookup.find(name, "counts") for name in METRICS]
    cuts = {name: MovingCut.of(study.sample.rows[name], c) for name, c in moves.tables.items()}
    limits = {
        name: [[cut.estimate(metric, place, options) for metric in chosen] for place in range(moves.last + 1)]
        for name, cut in cuts.items()
    }
    return Varied(moves, cuts, limits, study.settings.level)


def used(study: BinaryStudy, systems: Iterable[str]) -> list[Counts | None]:
    """The counts of systems at the threshold that each uses; None where there is none."""
    chosen = [(study.table(name), study.thresholds[name]) for name in systems]
    return [None if math.isnan(threshold) else counts.at(c, threshold) for c, threshold in chosen]

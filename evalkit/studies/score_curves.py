"""Curves over all thresholds: ROC, precision-recall, gain and decision curves, and histograms of
the scores.

Also the counts and intervals at each threshold of the page's slider.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalkit.arrays import ROUNDING, Floats, Ints, ratio
from evalkit.catalogue import lookup
from evalkit.measured.rows import RowsInMemory
from evalkit.metrics import calibration, counts, curves, influence
from evalkit.metrics.counts import Counts
from evalkit.metrics.curves import (
    Curve,
    NetBenefitCurve,
    decision_curve,
    net_benefit,
    odds,
    treat_all,
)
from evalkit.metrics.rows import Rows
from evalkit.parameters.kinds import Costs
from evalkit.statistics import bootstrap, closed_forms, inference
from evalkit.statistics.class_cells import MovingDecisions, cell_statistic, units_of
from evalkit.statistics.intervals import Estimate, mean, normal_quantile, wilson
from evalkit.statistics.spread import kish
from evalkit.studies.study import Row, SystemPair, framed
from evalkit.system import cached, progress

if TYPE_CHECKING:
    from evalkit.studies.binary import BinaryStudy
    from evalkit.studies.classes import EachStudy

CURVES: dict[str, Callable[[Counts], Curve]] = {
    "roc": curves.roc_curve,
    "pr": curves.precision_steps,
    "gain": curves.gain_curve,
}
CROSSED: dict[
    str, tuple[Callable[[Counts], Curve], Callable[[Counts], float]]
] = {  # with the area below
    "roc": (curves.roc_curve, counts.auc),
    "pr": (curves.precision_recall_curve, counts.average_precision),
}
RECORDED = 40  # cells of a side for the points that the JSON holds
FINE = np.linspace(0, 1, 1001)  # where it is seen which of two curves lies above
GRID = np.linspace(0, 1, 41)  # where bands are known


def points(name: str, curve: Curve, cells: int = curves.CELLS) -> pd.DataFrame:
    """The points of a curve that its figure needs: x, y, threshold, and the name as `system`; see
    `curves.drawn`.
    """
    keep = curves.drawn(curve.x, curve.y, cells)
    columns = {"x": curve.x[keep], "y": curve.y[keep], "threshold": curve.threshold[keep]}
    return pd.DataFrame({"system": name} | columns)


def curve(tables: Mapping[str, Counts], kind: str, cells: int = curves.CELLS) -> pd.DataFrame:
    """The points of one kind of curve for every table, by system or class. cells: the resolution of
    `curves.drawn`.
    """
    return pd.concat(
        [points(name, CURVES[kind](c), cells) for name, c in tables.items()], ignore_index=True
    )


def crossings(tables: Mapping[str, Counts], pairs: Sequence[SystemPair]) -> pd.DataFrame:
    """For each pair the x at which its curves of a kind cross: curve, first, second, crossings,
    above.

    first: the system with the larger area; above: the share of x at which its curve lies above the
    other.
    """
    rows = list[dict[str, Any]]()
    with progress("curves crossed", len(CROSSED) * len(pairs), "curves") as draw:
        for kind, (points_of, area_of) in CROSSED.items():
            lines = {name: points_of(c) for name, c in tables.items()}
            areas = {name: area_of(c) for name, c in tables.items()}
            for pair in pairs:
                draw(len(rows))
                rows.append({"curve": kind} | _crossing(pair, lines, areas))
    return pd.DataFrame(rows, columns=["curve", "first", "second", "crossings", "above"])


def _crossing(
    pair: SystemPair, lines: Mapping[str, Curve], areas: Mapping[str, float]
) -> dict[str, Any]:
    first, second = sorted(pair, key=lambda name: areas[name], reverse=True)
    high = lines[first]
    low = lines[second]
    share = float(np.mean(np.interp(FINE, high.x, high.y) > np.interp(FINE, low.x, low.y)))
    at = curves.crossings(*(lines[name] for name in pair))
    return {"first": first, "second": second, "crossings": at.tolist(), "above": share}


def band(name: str, resampled: Sequence[Counts], kind: str, *, level: float) -> pd.DataFrame:
    """Pointwise limits of a kind of curve from the tables of resamples: x, low, high, and the name
    as `system`.
    """
    low, high = bootstrap.band(resampled, READ[kind], level=level)
    return pd.DataFrame({"system": name, "x": GRID, "low": low, "high": high})


def _recall(c: Counts) -> Floats:
    """Recall at the false positive rates of the grid, points joined by straight lines."""
    roc = curves.roc_curve(c)
    last = np.append(np.diff(roc.x) > 0, True)
    return np.interp(GRID, roc.x[last], roc.y[last])


def _precision(c: Counts) -> Floats:
    """Precision at the recalls of the grid: at the first threshold that reaches it."""
    pr = curves.precision_steps(c)
    return pr.y[np.minimum(np.searchsorted(pr.x, GRID), len(pr.x) - 1)]


READ: dict[str, Callable[[Counts], Floats]] = {"roc": _recall, "pr": _precision}


# How scores are spread ----------------------------------------------------------------------------

BINS = 30


def histogram(tables: Mapping[str, Counts], edges: Floats) -> pd.DataFrame:
    """The share of each class in bins of the score: system, low, high, positive, negative.

    Bins are closed on the left, the last on both sides.
    """
    return pd.concat([_binned(name, c, edges) for name, c in tables.items()], ignore_index=True)


def edges(study: BinaryStudy | EachStudy, tables: Mapping[str, Counts], bins: int = BINS) -> Floats:
    """Edges of equal bins that hold all scores; of probabilities they go from 0 to 1."""
    if study.probabilities:
        return np.arange(bins + 1) / bins
    ends = np.array([c.threshold[[-1, 0]] for c in tables.values()])
    low = ends[:, 0].min()
    high = ends[:, 1].max()
    return np.linspace(low, high if high > low else low + max(1.0, abs(low) * ROUNDING), bins + 1)


def _binned(name: str, c: Counts, edges: Floats) -> pd.DataFrame:
    bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, c.threshold, side="right") - 1, 0, bins - 1)
    positive, negative = (
        np.bincount(place, rows, bins) / rows.sum() for rows in (c.positive, c.negative)
    )
    sides = {"positive": positive, "negative": negative}
    return pd.DataFrame({"system": name, "low": edges[:-1], "high": edges[1:]} | sides)


def distribution(name: str, c: Counts, cells: int = curves.CELLS) -> pd.DataFrame:
    """The share of each class at or below a score, at the points that a picture needs.

    Columns: system, x, positive, negative. cells: see `curves.drawn`.
    """
    above = np.array([np.append(0, c.tp[:-1]), np.append(0, c.fp[:-1])]) / [
        [c.positives],
        [c.negatives],
    ]
    frame = pd.DataFrame(
        {"system": name, "x": c.threshold, "positive": 1 - above[0], "negative": 1 - above[1]}
    )[::-1]
    keep = [
        curves.drawn(frame["x"].to_numpy(), frame[side].to_numpy(), cells)
        for side in ("positive", "negative")
    ]
    return frame[keep[0] | keep[1]]


@framed
def distances(tables: Mapping[str, Counts]) -> Iterator[Row]:
    """The largest distance of the two distribution functions (KS): system, x, share of each class
    below x, value.
    """
    for name, c in tables.items():
        place, _ = influence.widest_gap(c)
        sides = [
            1 - float(ratio(c.tp[place], c.positives)),
            1 - float(ratio(c.fp[place], c.negatives)),
        ]
        shares = {"positive": sides[0], "negative": sides[1], "value": abs(sides[0] - sides[1])}
        yield {"system": name, "x": float(c.threshold[place])} | shares


# Decision curves ----------------------------------------------------------------------------------

ALL = "predict all positive"
# of the picture: t / (1 − t) bends
CHANCES = np.union1d(np.arange(1, 200) / 200, 1 - np.geomspace(0.005, 0.1, 40))
COARSE = np.arange(1, 50) / 50  # those of differences and of the JSON
SIDE = 600  # cells of a side of the picture
LOWEST = -0.25  # net benefit down to which is drawn, as a multiple of the base rate
PAIRS = 3  # differences that one picture holds


def benefits(tables: Mapping[str, Counts], chance: Floats) -> pd.DataFrame:
    """Net benefit of every table and of predicting all rows positive at these probabilities:
    system, x, y.
    """
    lines = {name: net_benefit(c, chance) for name, c in tables.items()}
    lines[ALL] = treat_all(next(iter(tables.values())), chance)
    frames = [pd.DataFrame({"system": name, "x": chance, "y": y}) for name, y in lines.items()]
    return pd.concat(frames, ignore_index=True)


def decision_curves(tables: Mapping[str, Counts], cells: int = SIDE) -> pd.DataFrame:
    """The points of the lines of these tables, and of predicting all rows positive, that a picture
    needs: system, x, y.

    Down to a little below 0: a line breaks where it is lower. cells: see `curves.drawn`.
    """
    first = next(iter(tables.values()))
    lines = {name: decision_curve(c, CHANCES) for name, c in tables.items()}
    lines[ALL] = NetBenefitCurve(CHANCES, treat_all(first, CHANCES))
    lowest = LOWEST * counts.base_rate(first)
    return pd.concat(
        [_seen(x, y, lowest, cells).assign(system=name) for name, (x, y) in lines.items()]
    )


def _seen(x: Floats, y: Floats, lowest: float, cells: int) -> pd.DataFrame:
    """The points of a line that a picture needs, down to a height; NaN if the line breaks."""
    # where the line comes from the other side of that height
    turn = np.flatnonzero(np.diff(y < lowest)) + 1
    share = (lowest - y[turn - 1]) / (y[turn] - y[turn - 1])
    x = np.insert(x, turn, x[turn - 1] + share * (x[turn] - x[turn - 1]))
    y = np.insert(y, turn, lowest)
    low = y < lowest
    keep = ~(low & np.append(False, low[:-1]))
    x = x[keep]
    y = np.where(low, np.nan, y)[keep]
    thin = curves.drawn(x, y, cells)
    return pd.DataFrame({"x": x[thin], "y": y[thin]})


def at_costs(study: BinaryStudy) -> pd.DataFrame:
    """Net benefit of each line at the threshold probability that the costs imply: system,
    threshold, value.
    """
    chance = study.costs.fp / (study.costs.fp + study.costs.fn)
    return benefits(study.counts_by_system, np.array([chance])).rename(
        columns={"x": "threshold", "y": "value"}
    )


@cached
def apart(study: BinaryStudy) -> pd.DataFrame:
    """Differences in net benefit of the first pairs of the first screen: first, second, x, value,
    low, high.

    Limits are NaN if the rows are not in memory.
    """
    pairs = (
        list(study.headline[["first", "second"]].itertuples(index=False))[:PAIRS]
        if len(study.headline)
        else []
    )
    columns = ["first", "second", "x", "value", "low", "high"]
    lines = [({"first": a, "second": b, "x": COARSE}, _of_pair(study, a, b)) for a, b in pairs]
    frames = [pd.DataFrame(place | vars(d)) for place, d in lines]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def excluding(differences: pd.DataFrame) -> pd.DataFrame:
    """For each pair, in order: at how many thresholds the interval lies above 0, below 0, and of
    how many.
    """
    sides = differences.assign(above=differences["low"] > 0, below=differences["high"] < 0, of=True)
    return (
        sides.groupby(["first", "second"], sort=False)[["above", "below", "of"]].sum().reset_index()
    )


def _of_pair(study: BinaryStudy, first: str, second: str) -> Differences:
    match study.measured:
        case RowsInMemory(rows):
            return differences(rows[first], rows[second], COARSE, level=study.settings.level)
    value = net_benefit(study.table(first), COARSE) - net_benefit(study.table(second), COARSE)
    return Differences(value, np.full_like(value, np.nan), np.full_like(value, np.nan))


ONE_ROW = 1.0  # on which the two systems differ, added to each class


@dataclass(frozen=True, eq=False)
class Differences:
    """The difference first − second at each threshold, with pointwise limits."""

    value: Floats
    low: Floats
    high: Floats


def differences(first: Rows, second: Rows, chance: Floats, *, level: float) -> Differences:
    """Net benefit of the first minus that of the second at each probability, with t limits from the
    paired rows.

    Clustered by unit if rows have units, weighted if they have weights. In each class one more row
    on which the decisions differ is added to the variance, so that a few such rows do not give
    intervals without width (after Agresti and Min 2005, doi:10.1002/sim.1781).

    >>> rows = [
    ...     Rows(np.array([1, 0, 1, 0]), np.array(s))
    ...     for s in ([0.9, 0.2, 0.8, 0.1], [0.9, 0.6, 0.2, 0.1])
    ... ]
    >>> d = differences(*rows, np.array([0.5]), level=0.95)
    >>> float(d.value[0]), bool(d.low[0] < 0 < d.high[0])
    (0.5, True)
    """
    from scipy.special import stdtrit

    weight = first.weights
    of, size = units_of(first)
    total = weight.sum()
    freedom = max(kish(size) - 1, 1.0)
    value = np.empty(len(chance))
    error = np.empty(len(chance))
    for i, (t, cost) in enumerate(zip(chance, odds(chance), strict=True)):
        decided = (first.scores >= t).astype(np.int8) - (second.scores >= t)
        apart = np.flatnonzero(decided)
        moved = weight[apart] * decided[apart] * np.where(first.actual[apart] == 1, 1.0, -cost)
        sums = np.bincount(of[apart], moved, len(size))
        value[i] = moved.sum() / total
        added = ONE_ROW * (1 + cost**2) * (total / len(weight)) ** 2
        error[i] = (
            np.sqrt((np.sum((sums - value[i] * size) ** 2) + added) * (freedom + 1) / freedom)
            / total
        )
    half = stdtrit(freedom, (1 + level) / 2) * error
    return Differences(value, value - half, value + half)


# A moving threshold -------------------------------------------------------------------------------

MOST = 240  # thresholds of all systems together, beside those of least cost
VARIED = 240  # of them times the systems, where each has intervals of its own
# more than a reader compares while a slider moves; of these where each has intervals of its own
SYSTEMS, FEW = (
    8,
    4,
)


@dataclass(frozen=True, eq=False)
class Moving:
    """The counts of all systems at the thresholds of the slider; at the first, no row is predicted
    positive.

    threshold: descending; each is the shortest decimal number that gives the same decisions as the
    score above it.
    """

    threshold: Floats
    tables: Mapping[str, Counts]

    @property
    def last(self) -> int:
        """The index of the lowest threshold."""
        return len(self.threshold) - 1

    def named(self, threshold: float) -> str:
        """The shortest number that gives the same decisions as a threshold chosen on these
        scores.
        """
        at = self.threshold[self.place(threshold) :][:1]
        return (
            "–"
            if not at.size
            else "∞"
            if np.isinf(at[0])
            else repr(float(at[0])).removesuffix(".0").replace("-", "−")
        )

    def place(self, threshold: float) -> int:
        """The index of the threshold that gives the same decisions as one chosen on these
        scores.
        """
        return int(np.sum(~(self.threshold <= threshold)))


def systems(study: BinaryStudy) -> list[str]:
    """The first systems of a study, whose decisions the slider moves."""
    return study.order[: SYSTEMS if study.plain else FEW]


def moving(study: BinaryStudy) -> Moving:
    """The first systems of a study at about a hundred thresholds.

    Among them are those in use, and all that are cheapest for any costs of the two errors.
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
    """The indices of the thresholds that are cheapest for some pair of costs: the corners of the
    ROC curve's hull.

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
    """The number with the fewest digits above `low` and at most `high`.

    >>> (
    ...     shortest(0.7311, 0.73549),
    ...     shortest(-2.0, -1.25),
    ...     shortest(0.2, 0.2000001),
    ...     shortest(-0.5, 0.0),
    ... )
    (0.735, -1.3, 0.2000001, 0.0)
    >>> shortest(0.0, 3e-310)
    3e-310
    """
    if high == 0:
        return 0.0
    top = math.floor(math.log10(abs(high)))
    for places in range(
        -top, min(17 - top, 309)
    ):  # 10.0**309 is infinite: numbers so small keep all their digits
        number = float(f"{math.floor(high * 10.0**places) / 10.0**places:.{max(places, 0)}f}")
        if low < number <= high:
            return number
    return high


METRICS = ("precision", "recall", "f1", "predicted_rate")
NONE = "none"  # no number, so that neither are the limits
UNDEFINED = -1  # the limits of what has no value
WHOLE = 1e6  # whole numbers in place of shares of the largest variance


@dataclass(frozen=True, eq=False)
class Plain:
    """Closed-form intervals for independent, unweighted rows, or no intervals (level: None)."""

    level: float | None

    def estimates(self, name: str, c: Counts, costs: Costs) -> dict[str, Estimate]:
        """The metrics of the counts at one threshold; the mean cost is a mean of 0 and the costs of
        the two errors.
        """
        tp, fp, fn, tn = (float(cell) for cell in (c.tp, c.fp, c.fn, c.tn))
        at = self.level or 0.95
        of = {
            "precision": wilson(tp, tp + fp, level=at),
            "recall": wilson(tp, tp + fn, level=at),
            "f1": closed_forms.overlap(tp, fn, fp, weight=1.0, times=2.0, level=at),
            "predicted_rate": wilson(tp + fp, float(c.total), level=at),
            "cost": mean([0, costs.fp, costs.fn], [tp + tn, fp, fn], level=at),
        }
        if self.level:
            return of
        return {name: replace(e, low=np.nan, high=np.nan) for name, e in of.items()}

    def quantiles(self) -> dict[str, float | str]:
        """The quantile z of the normal distribution, from which intervals at any threshold are
        computed, or none.
        """
        return {"z": normal_quantile(self.level) if self.level else NONE}

    def of_system(self, name: str, places: Sequence[int]) -> dict[str, list[Any]]:
        """What a system adds to the quantiles: nothing."""
        return {}


@dataclass(frozen=True, eq=False)
class Varied:
    """Intervals for clustered or weighted rows, by the study's own methods at each threshold.

    limits: system -> for each threshold the estimate of each of `METRICS`.
    """

    moves: Moving
    cuts: Mapping[str, MovingDecisions]
    limits: Mapping[str, Sequence[Sequence[Estimate]]]
    level: float

    @property
    def units(self) -> float:
        """Kish's number of units, the same for all systems."""
        return next(iter(self.cuts.values())).units

    def estimates(self, name: str, c: Counts, costs: Costs) -> dict[str, Estimate]:
        """The metrics of a system's counts at one of the thresholds."""
        place = self.moves.place(float(c.threshold))
        variance = float(
            self.cuts[name].error_variance[place] @ [costs.fp**2, costs.fp * costs.fn, costs.fn**2]
        )
        most = max(costs.fp, costs.fn)
        cost = closed_forms.ranged_t(
            float(curves.cost(c, costs.fp, costs.fn)),
            variance**0.5,
            freedom=self.units - 1,
            n=int(self.units),
            level=self.level,
            ends=(0, most),
        )
        return dict(zip(METRICS, self.limits[name][place], strict=True)) | {"cost": cost}

    def quantiles(self) -> dict[str, float | str]:
        """The quantiles of the normal distribution and, times the unit of each `spread`, of t; the
        number of units.
        """
        from scipy.special import stdtrit

        t = float(stdtrit(self.units - 1, (1 + self.level) / 2))
        return {
            "z": normal_quantile(self.level),
            "q": t * (self._largest / WHOLE) ** 0.5,
            "units": self.units,
        }

    def of_system(self, name: str, places: Sequence[int]) -> dict[str, list[Any]]:
        """By threshold the limits of each of `METRICS`, rounded to a number of decimals, and the
        spread of costs.
        """
        spread = (
            np.rint(self.cuts[name].error_variance * WHOLE / self._largest).astype(int).tolist()
        )
        limits = [
            [_limits(e, n) for e, n in zip(at, places, strict=False)] for at in self.limits[name]
        ]
        return {"spread": spread, "limits": limits}

    @property
    def _largest(self) -> float:
        return max(float(np.abs(cut.error_variance).max()) for cut in self.cuts.values()) or 1.0


def _limits(e: Estimate, places: int) -> list[float]:
    return [
        UNDEFINED if math.isnan(limit) else float(f"{limit:.{places}f}")
        for limit in (e.low, e.high)
    ]


def intervals(study: BinaryStudy, moves: Moving) -> Plain | Varied:
    """The intervals of the decisions of a study; none of sums over rows that vary by unit or
    weight.
    """
    if study.plain or not isinstance(study.measured, RowsInMemory):
        return Plain(study.settings.level if study.plain else None)
    options = study.inference_options(1)
    chosen = [lookup.find_metric(name, "counts") for name in METRICS]
    cuts = {
        name: MovingDecisions.of_rows(study.measured.rows[name], c)
        for name, c in moves.tables.items()
    }
    limits = {
        name: [
            [inference.estimate(cell_statistic(metric, at, 0), options) for metric in chosen]
            for at in cut.by_threshold
        ]
        for name, cut in cuts.items()
    }
    return Varied(moves, cuts, limits, study.settings.level)


def used(study: BinaryStudy, systems: Iterable[str]) -> list[Counts | None]:
    """The counts of systems at the threshold that each uses; None without a threshold."""
    chosen = [(study.table(name), study.thresholds[name]) for name in systems]
    return [None if math.isnan(threshold) else counts.at(c, threshold) for c, threshold in chosen]

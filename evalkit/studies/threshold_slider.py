"""The slider of the page that moves the threshold: the counts of each system at its thresholds, and
what their intervals need.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import MetricAtK
from evalkit.measured.rows import RowsInMemory
from evalkit.metrics import calibration, counts, curves
from evalkit.metrics.counts import Counts
from evalkit.parameters.kinds import Costs
from evalkit.statistics import closed_forms, inference
from evalkit.statistics.class_cells import DecisionsByThreshold, SliceCells, cell_statistic
from evalkit.statistics.intervals import Estimate, mean, normal_quantile, wilson
from evalkit.statistics.methods import Options, RandomStream

if TYPE_CHECKING:
    from evalkit.studies.binary import BinaryStudy

MOST_THRESHOLDS = 240  # of all systems together, beside those of least cost
# thresholds times systems, where each of them has intervals of its own in the page
MOST_OWN_INTERVALS = 240
MOST_SYSTEMS = 8  # more than a reader compares while a slider moves
MOST_SYSTEMS_OWN_INTERVALS = 4  # of those that have intervals of their own at each threshold


@dataclass(frozen=True, eq=False)
class SliderCounts:
    """The counts of systems at the thresholds between which the reader of a page moves a slider.

    threshold: from ∞, at which no row is predicted positive, descending. Each is already shortened:
    the decimal number with the fewest digits that gives the same decisions as the lowest score that
    is not below it. tables: by system, with one entry per threshold.
    """

    threshold: Floats
    tables: Mapping[str, Counts]

    @property
    def last(self) -> int:
        """The index of the lowest threshold."""
        return len(self.threshold) - 1

    def named(self, threshold: float) -> str:
        """A threshold chosen on these scores, as text: the shortest number that gives the same
        decisions, ∞ if no row is predicted positive, – if the threshold is NaN.
        """
        index = self.place(threshold)
        if index == len(self.threshold):  # there is none, as for NaN
            return "–"
        shortened = float(self.threshold[index])
        if math.isinf(shortened):
            return "∞"
        # as people write it: 2 in place of 2.0, and with a minus sign, not a hyphen
        return repr(shortened).removesuffix(".0").replace("-", "−")

    def place(self, threshold: float) -> int:
        """The index of the threshold that gives the same decisions as one chosen on these
        scores: the highest that is not above it. The number of thresholds if there is none, as for
        NaN.
        """
        # Thresholds descend: those above it come first. NaN counts all of them, as no threshold is
        # at most NaN.
        return int(np.sum(~(self.threshold <= threshold)))


def systems(study: BinaryStudy) -> list[str]:
    """The best systems of a study, whose decisions the slider moves."""
    max_systems = MOST_SYSTEMS if study.plain else MOST_SYSTEMS_OWN_INTERVALS
    return study.order[:max_systems]


def slider_counts(study: BinaryStudy) -> SliderCounts:
    """The counts of the systems of the slider at its thresholds, about a hundred.

    Among the thresholds are those in use, those that a rule would choose (`study.choices`), and all
    that are cheapest for some costs of the two errors. The others are spread over the scores of
    each system, about equally many for each. Every system is counted at all thresholds.
    """
    tables = {name: study.table(name) for name in systems(study)}  # the counts at every score
    max_thresholds = MOST_THRESHOLDS
    if not study.plain:
        # clustered or weighted rows: the page holds an interval for each threshold and system
        max_thresholds = MOST_OWN_INTERVALS // len(tables)
    max_per_system = max_thresholds // len(tables)
    candidates = [_cheapest_and_others(table, max_per_system) for table in tables.values()]
    candidates.append(np.array(list(study.thresholds.values())))
    candidates.append(study.choices["threshold"].to_numpy())
    ascending = np.unique(np.concatenate(candidates))
    # without the NaN of a system that has no threshold; ∞ is added below
    ascending = ascending[np.isfinite(ascending)]
    scores = np.unique(np.concatenate([table.threshold for table in tables.values()]))
    shortened = _shortened(ascending, scores)
    descending = np.append(np.inf, shortened[::-1])
    counts_at_thresholds = {name: counts.at(table, descending) for name, table in tables.items()}
    return SliderCounts(descending, counts_at_thresholds)


def _cheapest_and_others(table: Counts, max_others: int) -> Floats:
    """The thresholds of a system that are cheapest for some costs, and about `max_others` others,
    in no order and some twice. table: the counts of the system by score.
    """
    cheapest = table.threshold[corners(table)]
    others = curves.thin(table, max_others).threshold
    return np.concatenate([cheapest, others])


def corners(table: Counts) -> Ints:
    """The indices of the thresholds that are cheapest for some pair of costs: the corners of the
    ROC curve's hull.

    >>> from evalkit.metrics.counts import count
    >>> corners(count([5, 4, 3, 2, 1], [1, 0, 1, 1, 0]))
    array([0, 3, 4])
    """
    # along an edge of the hull the recalibrated score, its slope, is the same
    slope = calibration.recalibrate(table).threshold
    ends_edge = np.append(np.diff(slope) != 0, True)
    return np.flatnonzero(ends_edge)


def _shortened(thresholds: Floats, scores: Floats) -> Floats:
    """For each threshold the shortest decimal number that gives the same decisions: one above the
    next lower score. thresholds, scores: ascending.
    """
    next_lower = np.append(-np.inf, scores)[np.searchsorted(scores, thresholds)]
    return np.array([shortest(low, high) for low, high in zip(next_lower, thresholds, strict=True)])


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
    # `high` is rounded down to one digit, then to two …, until the result lies above `low`
    exponent = math.floor(math.log10(abs(high)))  # the first digit stands for 10**exponent
    places_of_first_digit = -exponent  # decimal places; negative ones are tens, hundreds …
    # 17 digits tell all doubles apart, and 10.0**309 would be infinite
    end_of_places = min(17 - exponent, 309)
    for places in range(places_of_first_digit, end_of_places):
        rounded_down = math.floor(high * 10.0**places) / 10.0**places
        # the division may err in the last bit; printed and read again the number is exact
        number = float(f"{rounded_down:.{max(places, 0)}f}")
        if low < number <= high:
            return number
    return high  # no shorter number lies in between


METRICS = ("precision", "recall", "f1", "predicted_rate")
NO_QUANTILE = "none"  # in place of the number z: the page computes no intervals
UNDEFINED_LIMIT = -1  # the limits of what has no value
SPREAD_UNITS = 1e6  # variances are whole numbers of so many parts of the largest


SystemIntervals = dict[str, list[Any]]  # fields of the page's JSON, by name


@dataclass(frozen=True, eq=False)
class ClosedFormIntervals:
    """Closed-form intervals for independent, unweighted rows, or no intervals (level: None)."""

    level: float | None

    def estimates(self, name: str, table: Counts, costs: Costs) -> dict[str, Estimate]:
        """Name -> estimate of each of `METRICS`, and of the mean cost, at one threshold. Limits are
        NaN if `level` is None.

        name: of the system, not used here; `OwnIntervals` needs it. table: the counts of the system
        at this threshold. costs: of a false positive and a false negative.
        """
        tp, fp, fn, tn = (float(cell) for cell in (table.tp, table.fp, table.fn, table.tn))
        level = 0.95 if self.level is None else self.level  # any: without one, limits are dropped
        cost_values = [0, costs.fp, costs.fn]  # of a correct decision, and of the two errors
        rows_of_cost = [tp + tn, fp, fn]
        estimates = {
            "precision": wilson(tp, tp + fp, level=level),
            "recall": wilson(tp, tp + fn, level=level),
            # F1 = 2 TP / (2 TP + FN + FP): `times` is the factor of TP, `weight` that of FN
            "f1": closed_forms.overlap(tp, fn, fp, weight=1.0, times=2.0, level=level),
            "predicted_rate": wilson(tp + fp, float(table.total), level=level),
            "cost": mean(cost_values, rows_of_cost, level=level),
        }
        if self.level is not None:
            return estimates
        return {metric: replace(e, low=np.nan, high=np.nan) for metric, e in estimates.items()}

    def quantiles(self) -> dict[str, float | str]:
        """The quantile z of the normal distribution, from which the page computes intervals at any
        threshold, or none.
        """
        if not self.level:
            return {"z": NO_QUANTILE}
        return {"z": normal_quantile(self.level)}

    def of_system(self, name: str, places: Sequence[int]) -> SystemIntervals:
        """What the page needs of a system beside the quantiles: nothing. name, places: not used
        here; `OwnIntervals` needs them.
        """
        return {}


@dataclass(frozen=True, eq=False)
class OwnIntervals:
    """Intervals for clustered or weighted rows, by the study's own methods at each threshold.

    decisions: by system. estimates_by_system: for each threshold the estimate of each of `METRICS`.
    """

    slider: SliderCounts
    decisions: Mapping[str, DecisionsByThreshold]
    estimates_by_system: Mapping[str, Sequence[Sequence[Estimate]]]
    level: float

    @property
    def units(self) -> float:
        """Kish's number of units, the same for all systems."""
        return next(iter(self.decisions.values())).units

    def estimates(self, name: str, table: Counts, costs: Costs) -> dict[str, Estimate]:
        """Name -> estimate of each of `METRICS`, and of the mean cost, at one threshold.

        name: of the system. table: its counts at this threshold, which must be one of the slider.
        costs: of a false positive and a false negative.
        """
        index = self.slider.place(float(table.threshold))  # of the threshold
        # The mean cost is a FP / n + b FN / n with the costs a and b, so that its variance is
        # a² var(FP / n) + 2 a b cov(FP / n, FN / n) + b² var(FN / n). For each threshold,
        # `error_variance` has the three factors of a², a b and b².
        products_of_costs = [costs.fp**2, costs.fp * costs.fn, costs.fn**2]
        variance = float(self.decisions[name].error_variance[index] @ products_of_costs)
        # limits by t, on the logit scale of the range of the cost of a row
        cost = closed_forms.t_within_range(
            value=float(curves.cost(table, costs.fp, costs.fn)),
            error=variance**0.5,
            freedom=self.units - 1,
            n=int(self.units),
            level=self.level,
            ends=(0, max(costs.fp, costs.fn)),
        )
        estimates = dict(zip(METRICS, self.estimates_by_system[name][index], strict=True))
        return estimates | {"cost": cost}

    def quantiles(self) -> dict[str, float | str]:
        """The numbers from which the page computes the intervals of costs, by their names in its
        JSON: z, the quantile of the normal distribution; q, a factor from the root of a variance of
        `spread` to the half-width of its t interval; units, the number of units.
        """
        from scipy.special import stdtrit

        t_quantile = float(stdtrit(self.units - 1, (1 + self.level) / 2))
        # `spread` of `of_system` counts variances in this unit
        variance_unit = self._largest_variance / SPREAD_UNITS
        return {
            "z": normal_quantile(self.level),
            "q": t_quantile * variance_unit**0.5,
            "units": self.units,
        }

    def of_system(self, name: str, places: Sequence[int]) -> SystemIntervals:
        """The intervals of a system for the page's JSON; both fields have one entry per threshold.

        limits: the low and the high limit of each of `METRICS`. spread: three variances (factors
        of the products of costs), from which the page computes the variance of the mean cost for
        any costs. places: the number of decimals of each metric, and of the cost.
        """
        # as whole numbers, which are short to write: `SPREAD_UNITS` is the largest of all systems
        share_of_largest = self.decisions[name].error_variance / self._largest_variance
        spread = np.rint(share_of_largest * SPREAD_UNITS).astype(int).tolist()
        places_of_metrics = places[: len(METRICS)]  # the page computes the limits of the cost
        limits = []
        for estimates in self.estimates_by_system[name]:
            limits_at_threshold = []
            for estimate, decimals in zip(estimates, places_of_metrics, strict=True):
                limits_at_threshold.append(_limits(estimate, decimals))
            limits.append(limits_at_threshold)
        return {"spread": spread, "limits": limits}

    @property
    def _largest_variance(self) -> float:
        """The largest variance, in absolute value, of the products of costs; 1 if all are 0."""
        largest = 0.0
        for decisions in self.decisions.values():
            largest = max(largest, float(np.abs(decisions.error_variance).max()))
        return largest or 1.0


def _limits(estimate: Estimate, places: int) -> list[float]:
    """The low and the high limit of an estimate, rounded to `places` decimals; `UNDEFINED_LIMIT`
    for NaN.
    """
    limits: list[float] = []
    for limit in (estimate.low, estimate.high):
        if math.isnan(limit):
            limits.append(UNDEFINED_LIMIT)
        else:
            limits.append(float(f"{limit:.{places}f}"))
    return limits


def intervals(study: BinaryStudy, slider: SliderCounts) -> ClosedFormIntervals | OwnIntervals:
    """The intervals of the slider's metrics: in closed form for independent, unweighted rows; by
    the study's own methods at each threshold for clustered or weighted rows in memory; none for
    such rows that are not in memory, as these methods need the rows.
    """
    if study.plain:  # independent, unweighted rows
        return ClosedFormIntervals(study.settings.level)
    if not isinstance(study.measured, RowsInMemory):
        return ClosedFormIntervals(level=None)  # without intervals
    metrics = [lookup.find_metric(name, "counts") for name in METRICS]
    options = study.inference_options(RandomStream.ESTIMATES)
    decisions_by_system = {}
    estimates_by_system = {}
    for name, table in slider.tables.items():
        decisions = DecisionsByThreshold.from_rows(study.measured.rows[name], table)
        decisions_by_system[name] = decisions
        estimates_by_system[name] = [
            _estimates_of_cells(metrics, cells, options) for cells in decisions.by_threshold
        ]
    return OwnIntervals(slider, decisions_by_system, estimates_by_system, study.settings.level)


def _estimates_of_cells(
    metrics: Sequence[MetricAtK], cells: SliceCells, options: Options
) -> list[Estimate]:
    """The estimate of each metric at one threshold. cells: the true and false negatives and
    positives of a single system at this threshold, with what their variances need.
    """
    estimates = []
    for metric in metrics:
        statistic = cell_statistic(metric, cells, system=0)  # 0: the only system in the cells
        estimates.append(inference.estimate(statistic, options))
    return estimates


def counts_in_use(study: BinaryStudy, systems: Iterable[str]) -> dict[str, Counts]:
    """The counts of each system at the threshold that it uses; without the systems that have no
    threshold (NaN).
    """
    in_use = {}
    for name in systems:
        threshold = study.thresholds[name]
        if not math.isnan(threshold):
            in_use[name] = counts.at(study.table(name), threshold)
    return in_use

"""Scores on labelled rows: every binary metric with its interval, and two models on the same rows compared.

Shares of rows (accuracy, recall, precision) have Wilson's interval and McNemar's test, means of a loss t and sign
flips, AUC DeLong's variance; every other metric a bootstrap of counts, but average precision and what a threshold
decides are compared by the influence of each row. Where rows cluster by unit or carry weights, the influence of each
row is added up by unit instead: the unit, or the weighted row, is then what varies.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.definitions.metric import Chosen
from evalkit.definitions.outcome_metrics import DECISIONS
from evalkit.metrics import losses
from evalkit.metrics.counts import Counts, auc, count
from evalkit.metrics.influence import (
    auc_covariance,
    auc_influence,
    auc_variance,
    average_precision_influence,
    ks_influence,
    place,
    placements,
)
from evalkit.metrics.rankings import Pooled
from evalkit.statistics import count_bootstrap, inference, proportions, significance
from evalkit.statistics.auc_intervals import auc_interval, auc_logit
from evalkit.statistics.count_bootstrap import paired
from evalkit.statistics.inference import Effects
from evalkit.statistics.intervals import Estimate, wilson
from evalkit.statistics.perunit import within
from evalkit.statistics.significance import Comparison

PAIRED = "paired bootstrap of counts"
Share = Callable[[Bools, Bools], tuple[Bools, Bools]]


def _every(label: Bools) -> Bools:
    return np.ones(len(label), dtype=bool)


# Shares of rows: (label, predicted) -> which rows count, and which of them are hits.
SHARES: dict[str, Share] = {
    "accuracy": lambda y, d: (_every(y), y == d),
    "error_rate": lambda y, d: (_every(y), y != d),
    "predicted_rate": lambda y, d: (_every(y), d),
    "recall": lambda y, d: (y, d),
    "false_negative_rate": lambda y, d: (y, ~d),
    "specificity": lambda y, d: (~y, ~d),
    "false_positive_rate": lambda y, d: (~y, d),
    "precision": lambda y, d: (d, y),
    "negative_predictive_value": lambda y, d: (~d, ~y),
}
OWN_ROWS = ("precision", "negative_predictive_value")  # shares of rows that each model picks for itself
INFLUENCE = {"roc_auc": auc_influence, "average_precision": average_precision_influence, "ks": ks_influence}
LOSSES: dict[str, Callable[[Ints, Floats], Floats]] = {
    "brier": losses.brier,
    "log_loss": losses.log,
    "calibration_in_the_large": lambda y, p: p - y,
}


@dataclass(frozen=True, eq=False)
class Scored:
    """One model's scores of labelled rows and its threshold; weight and unit of each row, None where all are alike."""

    label: Ints
    score: Floats
    threshold: float
    weight: Floats | None = None
    unit: np.ndarray | None = None

    def take(self, member: Bools | slice) -> "Scored":
        """The rows that are members."""
        weight, unit = (None if one is None else one[member] for one in (self.weight, self.unit))
        return replace(self, label=self.label[member], score=self.score[member], weight=weight, unit=unit)

    @cached_property
    def counts(self) -> Counts:
        """The table of the score."""
        if self.weight is None:
            return count(self.score, self.label)
        return count(self.score, self.weight * self.label, self.weight * (1 - self.label))

    @cached_property
    def place(self) -> Ints:
        """Where in the table each row stands."""
        return place(self.counts, self.score)

    @cached_property
    def decided(self) -> Counts:
        """The table of what the threshold decides."""
        return count_bootstrap.decision(self.counts, self.threshold)

    @property
    def predicted(self) -> Bools:
        """score >= threshold."""
        return self.score >= self.threshold

    @property
    def plain(self) -> bool:
        """Whether rows are the units and count alike."""
        return self.weight is None and self.unit is None

    @property
    def units(self) -> np.ndarray:
        """What varies: the unit of each row, or the row itself."""
        return np.arange(len(self.label)) if self.unit is None else self.unit

    def value(self, chosen: Chosen) -> float:
        """The metric at the threshold, or of the whole order."""
        return float(chosen.values(self.counts, self.threshold))


# One model ------------------------------------------------------------------------------------------------------


def estimate(chosen: Chosen, s: Scored, *, level: float, rng: np.random.Generator) -> Estimate:
    """The metric with its interval."""
    name, value = chosen.metric.name, s.value(chosen)
    limits = {"low": chosen.metric.low, "high": chosen.metric.high}
    if np.isnan(value):
        return Estimate(value, np.nan, np.nan, level, int(s.counts.total), "undefined")
    if name == "roc_auc":
        return _area(s, level)
    if name in LOSSES:
        return inference.estimate(_losses(name, s), s.unit, level=level, **limits)
    if not s.plain:
        found = _share(name, s) if name in SHARES else effects(chosen, s)
        return replace(inference.estimate(found, s.unit, level=level, **limits), value=value)
    if name in SHARES:
        member, hit = SHARES[name](s.label == 1, s.predicted)
        return wilson(int((member & hit).sum()), int(member.sum()), level=level)
    table, metric = (s.decided, _decided(chosen)) if name in DECISIONS else (s.counts, _metric(chosen))
    return within(count_bootstrap.interval(table, metric, rng=rng, level=level), **limits)


def _area(s: Scored, level: float) -> Estimate:
    c = s.counts
    if s.plain:
        return auc_interval(auc(c), float(np.sqrt(auc_variance(c))), c.positives, c.negatives, level=level)
    moved = inference.by_unit(auc_influence(c, s.label, s.score) * _weights(s), s.unit)
    n = moved.size
    error = float(np.sqrt(ratio(np.sum(moved**2) * n, n - 1)))  # one unit carries no variance
    found = auc_logit(auc(c), error, n=n, level=level)
    return replace(found, method="logit DeLong by unit")


def _metric(chosen: Chosen) -> Callable[[Counts], float]:
    return lambda c: float(chosen.values(c))


def _decided(chosen: Chosen) -> Callable[[Counts], float]:
    """The metric of a table of decisions, whose scores are 1 and 0."""
    return lambda c: float(chosen.values(c, 1.0))


def _weights(s: Scored) -> Floats:
    return np.ones(len(s.label)) if s.weight is None else s.weight


def _losses(name: str, s: Scored) -> Floats | Pooled:
    loss = LOSSES[name](s.label, s.score)
    return loss if s.weight is None else Pooled(loss * s.weight, s.weight)


def _share(name: str, s: Scored) -> Pooled:
    member, hit = SHARES[name](s.label == 1, s.predicted)
    w = _weights(s)
    return Pooled(w * (member & hit), w * member)


def effects(chosen: Chosen, s: Scored) -> Effects:
    """How much each row moves the metric: in closed form where there is one, else by differences."""
    name, c, w = chosen.metric.name, s.counts, _weights(s)
    if name in INFLUENCE:
        return Effects(s.value(chosen), w * INFLUENCE[name](c, s.label, s.score))
    if name in SHARES:
        share, value = _share(name, s), s.value(chosen)
        return Effects(value, (share.numerator - value * share.denominator) / share.denominator.sum())
    if name in DECISIONS:
        table, metric, cell = s.decided, _decided(chosen), np.where(s.predicted, 0, 1)
    else:
        cells = count_bootstrap.cells(c)
        table, metric, cell = count_bootstrap.pool(c, cells), _metric(chosen), cells[s.place]
    positive, negative = count_bootstrap.derivatives(table, metric)
    return Effects(s.value(chosen), w * np.where(s.label == 1, positive[cell], negative[cell]))


# Two models on the same rows ---------------------------------------------------------------------------------------


def compare(chosen: Chosen, a: Scored, b: Scored, *, level: float, rng: np.random.Generator, unit: str) -> Comparison:
    """a − b on the same rows; NaN from no rows where the metric is undefined for one of them."""
    name = chosen.metric.name
    if np.isnan(a.value(chosen) - b.value(chosen)):
        return inference.undefined(level, unit)
    if name == "roc_auc" and a.plain:
        return _areas(a, b, level, unit)
    if name in LOSSES:
        return inference.compare(_losses(name, a), _losses(name, b), a.unit, level=level, rng=rng, name=unit)
    if not a.plain:
        first, second = (_share(name, s) if name in SHARES else effects(chosen, s) for s in (a, b))
        return inference.compare(first, second, a.unit, level=level, rng=rng, name=unit)
    if name in SHARES and name not in OWN_ROWS:
        return _mcnemar(name, a, b, level, unit)
    if name in DECISIONS or name == "average_precision":
        return _influence(chosen, a, b, level, unit)
    return _bootstrap(chosen, a, b, level, rng, unit)


def _areas(a: Scored, b: Scored, level: float, unit: str) -> Comparison:
    """DeLong's test of two correlated areas."""
    sides = np.array([placements(s.counts, s.label, s.score) for s in (a, b)])
    cov = auc_covariance(a.label, sides)
    error = float(np.sqrt(max(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1], 0.0)))
    value = auc(a.counts) - auc(b.counts)
    return significance.error_z(value, error, n=len(a.label), level=level, unit=unit, method="DeLong")


def _mcnemar(name: str, a: Scored, b: Scored, level: float, unit: str) -> Comparison:
    """The rows on which only one of the two is a hit."""
    member, first = SHARES[name](a.label == 1, a.predicted)
    _, second = SHARES[name](b.label == 1, b.predicted)
    only = int((member & first & ~second).sum()), int((member & second & ~first).sum())
    return proportions.mcnemar(*only, int(member.sum()), level=level, unit=unit)


def _influence(chosen: Chosen, a: Scored, b: Scored, level: float, unit: str) -> Comparison:
    """How much each row moves the difference; a bootstrap with normal limits rejects more often than it says."""
    first, second = effects(chosen, a), effects(chosen, b)
    rows = np.array([np.sum(a.label == 1), np.sum(a.label == 0)])
    variance = np.bincount(1 - a.label, (first.rows - second.rows) ** 2, 2) * ratio(rows, rows - 1)
    return significance.welch_t(
        first.value - second.value, variance, rows, level=level, unit=unit, method=significance.WELCH
    )


def _bootstrap(chosen: Chosen, a: Scored, b: Scored, level: float, rng: np.random.Generator, unit: str) -> Comparison:
    """The difference against its spread in resamples of the same rows, by the normal distribution.

    Not BCa: for a difference its corrections are noise.
    """
    value = a.value(chosen) - b.value(chosen)
    drawn = paired(a.label, [(s.counts, s.place) for s in (a, b)], _metric(chosen), rng=rng)
    apart = (drawn[0] - drawn[1])[~np.isnan(drawn).any(axis=0)]
    error = float(apart.std()) if apart.size else np.nan
    return significance.error_z(value, error, n=len(a.label), level=level, unit=unit, method=PAIRED)

"""Metrics of scored rows from sums over them: the rows are read twice, shard by shard.

The first reading makes the table of each model. From it follows how much each row moves each metric: a number for each
bin and class of the table, or a loss of the row's own score. The second adds these numbers up: their sums, and the sums
of their products, by row or by unit, are all that intervals and paired tests need.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.definitions.metric import Chosen
from evalkit.definitions.outcome_metrics import DECISIONS, PROBABILITIES
from evalkit.metrics import grid
from evalkit.metrics.counts import Counts, auc, steps
from evalkit.metrics.grid import Grid
from evalkit.metrics.influence import auc_bins, auc_variance, average_precision_bins, ks_bins
from evalkit.statistics import count_bootstrap, inference, proportions
from evalkit.statistics.auc_intervals import auc_interval, auc_logit
from evalkit.statistics.intervals import Estimate, t_interval, wilson
from evalkit.statistics.perunit import within
from evalkit.statistics.scored import LOSSES, OWN_ROWS, SHARES
from evalkit.statistics.significance import Comparison, error_t, error_z, welch_t

METHOD = "influence sums, two passes"
DELTA = "delta method from counts"
ENOUGH = 10_000  # rows of either class from which that gives the limits of a bootstrap of counts: the tests compare
CELLS = (np.array([True, True, False, False]), np.array([True, False, True, False]))  # label and decision
BINS = {"roc_auc": auc_bins, "average_precision": average_precision_bins, "ks": ks_bins}  # what a row adds
APART = ("roc_auc", "average_precision")  # their tests take the variance of each class by itself
POSITIVE = ("positive", "\nhit", "+")  # ends of the names of columns that only positive rows have
Form = Mapping[str, float]  # a number for each row: these multiples of its columns, added up


@dataclass(frozen=True, eq=False)
class Table:
    """What the first reading knows of one model: its bins, what a weight of 1 in them stands for, its threshold."""

    name: str
    bins: Grid
    scale: float
    threshold: float

    @cached_property
    def counts(self) -> Counts:
        """The table of the score."""
        return grid.counts(self.bins, self.scale)

    @cached_property
    def chances(self) -> Counts:
        """The same with the middle of each bin as its score: for metrics that take scores as probabilities."""
        c = self.counts
        return Counts(grid.middles(self.bins), c.tp, c.fp, c.positives, c.negatives)

    @cached_property
    def decided(self) -> Counts:
        """The table of what the threshold decides."""
        return count_bootstrap.decision(self.counts, self.threshold)

    def of(self, chosen: Chosen) -> Counts:
        """The table that a metric is read from."""
        return self.chances if chosen.metric.name in PROBABILITIES else self.counts

    def value(self, chosen: Chosen) -> float:
        """The metric; of losses nearly, where scores share bins."""
        return float(chosen.values(self.of(chosen), self.threshold))

    @property
    def rows(self) -> float:
        """The weight of all rows."""
        return float(self.counts.total)


# The columns of numbers that a row has -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Column:
    """A number for each row: by class and bin, or what `weight` times the row's own loss is above `offset`."""

    bins: Floats
    loss: str = ""
    offset: float = 0.0
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of one model: its decisions, and those of each metric. low: the codes of its bins, rising."""

    name: str
    low: Ints
    threshold: float
    of: Mapping[str, Column]

    @property
    def names(self) -> list[str]:
        """What stands in the columns, in order."""
        return [f"{self.name}\n{one}" for one in ("hit", "alarm", *self.of)]

    def rows(self, label: Bools, score: Floats, weight: Floats) -> Floats:
        """The columns of rows, one below the other."""
        found = np.empty((2 + len(self.of), len(label)))
        decided = np.where(score >= self.threshold, weight, 0.0)
        found[0], found[1] = decided * label, decided * ~label
        place = _place(self.low, score) if any(not one.loss for one in self.of.values()) else None
        for i, one in enumerate(self.of.values(), start=2):
            if one.loss:
                found[i] = (LOSSES[one.loss](label.astype(np.int64), score) - one.offset) * one.weight
            else:
                found[i] = one.bins.ravel()[place + np.where(label, 0, one.bins.shape[1])]
            found[i] *= weight
        return found


def _place(low: Ints, score: Floats) -> Ints:
    """The bin of each score: sorted first, the search runs through the bins instead of jumping."""
    code = grid.codes(score)
    order = np.argsort(code)
    place = np.empty(len(code), np.int64)
    place[order] = np.searchsorted(low, code[order], side="right") - 1
    return np.maximum(place, 0)  # below the lowest bin stand only rows without weight


def columns(t: Table, metrics: Sequence[Chosen]) -> Columns:
    """The columns that these metrics need; what a threshold decides is always there."""
    found: dict[str, Column] = {}
    for chosen in metrics:
        if chosen.metric.name not in DECISIONS:
            found |= _columns(t, chosen)
    return Columns(t.name, grid.codes(t.counts.threshold[::-1]), t.threshold, found)


def _columns(t: Table, chosen: Chosen) -> dict[str, Column]:
    metric, c = chosen.metric.name, t.of(chosen)
    if metric in LOSSES:
        return {chosen.label: Column(np.empty(0), metric, _mean(t, metric), float(ratio(1.0, t.rows)))}
    bins = _rising(_bins(c, chosen))
    if metric not in APART:
        return {chosen.label: Column(bins)}
    nothing = np.zeros(len(c.threshold))
    return {
        f"{chosen.label}+": Column(np.array([bins[0], nothing])),
        f"{chosen.label}-": Column(np.array([nothing, bins[1]])),
    }


def _bins(c: Counts, chosen: Chosen) -> Floats:
    """What a positive (first row) and a negative (second) at each threshold adds to a metric of the whole order."""
    if chosen.metric.name in BINS:
        return BINS[chosen.metric.name](c)
    cells = count_bootstrap.cells(c)
    of = count_bootstrap.derivatives(count_bootstrap.pool(c, cells), lambda c: float(chosen.values(c)))
    return np.array(of)[:, cells]


def table_error(t: Table, chosen: Chosen) -> float:
    """The standard error of a metric whose rows count alike, from what a row of each bin and class moves it by."""
    if chosen.metric.name in DECISIONS:
        c, of = t.decided, count_bootstrap.derivatives(t.decided, lambda c: float(chosen.values(c, 1.0)))
        bins = np.array(of)
    else:
        c, bins = t.of(chosen), _bins(t.of(chosen), chosen)
    squares, stop = 0.0, 0
    for s in steps(c):
        start, stop = stop, stop + len(s.p)
        squares += np.dot(s.p, bins[0, start:stop] ** 2) + np.dot(s.n, bins[1, start:stop] ** 2)
    return float(np.sqrt(ratio(squares * c.total, c.total - 1)))


def _rising(bins: Floats) -> Floats:
    """The bins of a table, highest first, the other way round."""
    return np.ascontiguousarray(bins[:, ::-1])


def _mean(t: Table, name: str) -> float:
    """The mean of a loss over the middles of the bins."""
    c = t.chances
    of = [LOSSES[name](np.full(len(c.threshold), label), c.threshold) for label in (1, 0)]
    return float(ratio(np.dot(c.positive, of[0]) + np.dot(c.negative, of[1]), c.total))


# Their sums ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Moments:
    """The number of units, the sums of the columns and of the products of units' sums.

    Besides the models' columns there are rows (1), positive and negative (the row's weight, in its class).
    """

    names: Sequence[str]
    n: int
    sums: Floats
    gram: Floats

    def total(self, form: Form) -> float:
        """The sum of a form over all rows."""
        return float(sum(times * self.sums[self.names.index(name)] for name, times in form.items()))

    def error(self, form: Form, centre: float = 0.0) -> float:
        """The standard error of the sum: √(Σ (x − centre / n)² n / (n − 1)) over the units' sums x."""
        at, times = [self.names.index(name) for name in form], np.array(list(form.values()))
        gram = self.gram[np.ix_(at, at)]
        squares = float(times @ gram @ times) - centre**2 / max(self.n, 1)
        if squares <= 1e-14 * float(np.abs(times) @ np.abs(gram) @ np.abs(times)):
            squares = 0.0  # what rounding leaves of two equal models
        return float(np.sqrt(ratio(squares * self.n, self.n - 1)))


@dataclass(frozen=True, eq=False)
class Sample:
    """All models on the same rows. plain: rows are the units and count alike. clustered: units were named."""

    tables: Mapping[str, Table]
    moments: Moments | None
    plain: bool
    clustered: bool
    unit: str

    def effects(self, chosen: Chosen, name: str) -> Form:
        """How much each row of a model moves the metric, as multiples of its columns."""
        metric, t = chosen.metric.name, self.tables[name]
        if metric not in DECISIONS:
            signs = ("+", "-") if metric in APART else ("",)
            return {f"{name}\n{chosen.label}{sign}": 1.0 for sign in signs}
        if metric in SHARES:
            member, hit = SHARES[metric](*CELLS)
            size = float(np.array([t.decided.positive, t.decided.negative]).ravel() @ member)
            pp, pn, np_, nn = ratio(member * (hit - t.value(chosen)), size)
        else:
            (pp, pn), (np_, nn) = count_bootstrap.derivatives(t.decided, lambda c: float(chosen.values(c, 1.0)))
        return {"positive": pn, f"{name}\nhit": pp - pn, "negative": nn, f"{name}\nalarm": np_ - nn}

    def value(self, chosen: Chosen, name: str) -> float:
        """The metric; losses from the rows' own scores."""
        if chosen.metric.name in LOSSES and self.moments:
            return _mean(self.tables[name], chosen.metric.name) + self.moments.total(self.effects(chosen, name))
        return self.tables[name].value(chosen)

    def _error(self, form: Form, *, centred: bool) -> float:
        assert self.moments is not None
        return self.moments.error(form, self.moments.total(form) if centred else 0.0)

    # One model

    def estimate(self, chosen: Chosen, name: str, *, level: float, rng: np.random.Generator) -> Estimate:
        """The metric with its interval."""
        t, metric, value = self.tables[name], chosen.metric.name, self.value(chosen, name)
        limits = {"low": chosen.metric.low, "high": chosen.metric.high}
        if np.isnan(value):
            return Estimate(value, np.nan, np.nan, level, int(t.rows), "undefined")
        if metric in LOSSES:
            return within(self._t(chosen, name, value, level, "t" if self.plain else METHOD), **limits)
        if not self.plain:
            if metric == "roc_auc":
                return self._area(chosen, name, level)
            return within(self._t(chosen, name, value, level, METHOD), **limits)
        if metric == "roc_auc":
            error = float(np.sqrt(auc_variance(t.counts)))
            return auc_interval(auc(t.counts), error, t.counts.positives, t.counts.negatives, level=level)
        if metric in SHARES:
            member, hit = SHARES[metric](*CELLS)
            rows = np.array([t.decided.positive, t.decided.negative]).ravel()
            return wilson(int(rows @ (member & hit)), int(rows @ member), level=level)
        if min(t.counts.positives, t.counts.negatives) >= ENOUGH:
            error = table_error(t, chosen)
            return within(t_interval(value, error, n=int(t.rows), level=level, method=DELTA), **limits)
        if metric in DECISIONS:
            found = count_bootstrap.interval(t.decided, lambda c: float(chosen.values(c, 1.0)), rng=rng, level=level)
        else:
            found = count_bootstrap.interval(t.of(chosen), lambda c: float(chosen.values(c)), rng=rng, level=level)
        return within(found, **limits)

    def _t(self, chosen: Chosen, name: str, value: float, level: float, method: str) -> Estimate:
        assert self.moments is not None
        error = self._error(self.effects(chosen, name), centred=chosen.metric.name in LOSSES)
        return t_interval(value, error, n=self.moments.n, level=level, method=method)

    def _area(self, chosen: Chosen, name: str, level: float) -> Estimate:
        assert self.moments is not None
        error = self._error(self.effects(chosen, name), centred=False)
        found = auc_logit(auc(self.tables[name].counts), error, n=self.moments.n, level=level)
        return Estimate(found.value, found.low, found.high, level, found.n, "logit DeLong by unit, two passes")

    # Two models on the same rows

    def compare(self, chosen: Chosen, pair: tuple[str, str], *, level: float) -> Comparison:
        """first − second on the same rows; NaN from no rows where the metric is undefined for one of them."""
        metric, values = chosen.metric.name, [self.value(chosen, name) for name in pair]
        value = values[0] - values[1]
        if np.isnan(value) or self.moments is None:
            return inference.undefined(level, self.unit)
        n = self.moments.n
        if metric in SHARES and metric not in OWN_ROWS and self.plain:
            return self._mcnemar(metric, pair, level)
        form = _minus(*(self.effects(chosen, name) for name in pair))
        if self.plain and (metric in APART or metric in DECISIONS):
            variance, rows = self._by_class(form, pair[0])
            if metric != "roc_auc":
                return welch_t(value, variance, rows, level=level, unit=self.unit)
            error = float(np.sqrt(variance.sum()))
            return error_z(value, error, n=n, level=level, unit=self.unit, method="DeLong")
        error = self._error(form, centred=metric in LOSSES)
        method = "paired t" if metric in LOSSES and self.plain else METHOD
        return error_t(value, error, n=n, level=level, unit=self.unit, method=method)

    def _by_class(self, form: Form, name: str) -> tuple[Floats, Ints]:
        """The variance that the rows of each class add to a sum, on one degree of freedom less than they are; how many.

        AUC: about the mean of the class, as DeLong has it; other metrics: about 0, the mean of all rows.
        """
        assert self.moments is not None
        c, n = self.tables[name].counts, self.moments.n
        rows = np.array([c.positives, c.negatives])
        parts = [{key: times for key, times in form.items() if key.endswith(POSITIVE) is one} for one in (True, False)]
        found = [self.moments.error(part) ** 2 * (n - 1) / n for part in parts]
        return np.array(found) * ratio(rows, rows - 1), rows.astype(np.int64)

    def _mcnemar(self, metric: str, pair: tuple[str, str], level: float) -> Comparison:
        """The rows on which only one of the two is a hit, from the rows that one or both predict positive."""
        assert self.moments is not None
        m, (member, hit) = self.moments, SHARES[metric](*CELLS)
        only, rows = [0, 0], 0
        for part, name in enumerate(("hit", "alarm")):
            if not member[2 * part]:
                continue
            a, b = (m.names.index(f"{one}\n{name}") for one in pair)
            apart = [round(m.gram[a, a] - m.gram[a, b]), round(m.gram[b, b] - m.gram[a, b])]
            only = [x + y for x, y in zip(only, apart if hit[2 * part] else apart[::-1], strict=True)]
            rows += round(m.sums[m.names.index(("positive", "negative")[part])])
        return proportions.mcnemar(only[0], only[1], rows, level=level, unit=self.unit)


def _minus(first: Form, second: Form) -> Form:
    return {key: first.get(key, 0.0) - second.get(key, 0.0) for key in {**first, **second}}

"""Metrics of rows that were added up: sums of how much rows move them, and of the products of these, by row or by unit.

They are all that intervals and paired tests need.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ParameterError, ratio
from evalkit.catalogue.kinds import Loss, RatioOfRows
from evalkit.catalogue.metric import Chosen
from evalkit.catalogue.row_metrics import AVERAGE_PRECISION
from evalkit.catalogue.score_kinds import Curve
from evalkit.limits import Limits
from evalkit.metrics import calibration, grid, influence, kept
from evalkit.metrics.block import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.grid import Grid
from evalkit.metrics.kept import Bundle, Distinct, Parted, Tally, Total, Values
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics.spread import Spread, standardised
from evalkit.statistics.statistic import Layout, OfUnits, Statistic

POSITIVE = ("positive", "\nhit", "+")  # ends of the names of columns that only positive rows have
Form = Mapping[str, float]  # a number for each row: these multiples of its columns, added up


@dataclass(frozen=True, eq=False)
class Moments:
    """The number of units, the sums of the columns, of the products of units' sums and of their cubes.

    Besides the systems' columns there are rows (1), positive and negative (the row's weight, in its class).
    """

    names: Sequence[str]
    n: int
    sums: Floats
    gram: Floats
    cubes: Floats

    @staticmethod
    def of(names: Sequence[str], m: kept.Moments) -> Moments:
        """Of what blocks have added up around the means."""
        squares = np.diag(m.second)
        gram, cubes = m.second + np.outer(m.totals, m.mean), m.third + m.mean * (3 * squares + m.totals * m.mean)
        return Moments(names, m.n, m.totals, gram, cubes)

    def total(self, form: Form) -> float:
        """The sum of a form over all rows."""
        return float(sum(times * self.sums[self.names.index(name)] for name, times in form.items()))

    def product(self, first: str, second: str) -> float:
        """The sum of the products of two columns."""
        return float(self.gram[self.names.index(first), self.names.index(second)])

    def kish(self, form: Form) -> float:
        """(Σ x)² / Σ x² of the units' sums x."""
        at, times = [self.names.index(name) for name in form], np.array(list(form.values()))
        return float(ratio(self.total(form) ** 2, times @ self.gram[np.ix_(at, at)] @ times))

    def square(self, form: Form, centre: float = 0.0) -> float:
        """Σ (x − centre / n)² over the units' sums x; 0 if only rounding is left, as of two equal systems."""
        at, times = [self.names.index(name) for name in form], np.array(list(form.values()))
        gram = self.gram[np.ix_(at, at)]
        squares = float(times @ gram @ times) - centre**2 / max(self.n, 1)
        return squares if squares > 1e-14 * float(np.abs(times) @ np.abs(gram) @ np.abs(times)) else 0.0

    def error(self, form: Form) -> float:
        """The standard error of the sum."""
        return Spread(self.n, self.square(form), self.n).error

    def skewness(self, name: str) -> float:
        """The skewness of one column over the units, 0 where it does not vary."""
        at = self.names.index(name)
        mean, square, cube = self.sums[at] / self.n, self.gram[at, at] / self.n, self.cubes[at] / self.n
        spread = square - mean**2
        return float((cube - 3 * mean * square + 2 * mean**3) / spread**1.5) if spread > 1e-14 * square else 0.0


@dataclass(frozen=True, eq=False)
class SummedRows:
    """Of each group of rows, all rows first, the tables of all systems and the moments of their columns.

    moments: none of a group whose tables tell everything. layout: whether rows count alike. within: metrics that rank
    the rows of each unit among themselves; values: of these and each system two columns of all units, by group.
    """

    tables: Mapping[int, Mapping[str, BinnedScore]]
    moments: Mapping[int, Moments]
    layout: Layout
    within: Sequence[Chosen] = ()
    values: Mapping[int, Values] = field(default_factory=dict)

    @property
    def groups(self) -> Collection[int]:
        """Their numbers, 0 of all rows."""
        return self.tables.keys()

    def measure(self, chosen: Chosen, system: str, member: int | slice) -> OfSums | OfUnits:
        """The metric of a system in a group; a slice is all rows."""
        group = 0 if isinstance(member, slice) else member
        if chosen not in self.within:
            return OfSums(chosen, self, system, group)
        systems = [*self.tables[0]]
        at = 2 * (self.within.index(chosen) * len(systems) + systems.index(system))
        return OfUnits(chosen, Sums(*self.values[group].units[at : at + 2]), design=Layout.CLUSTERED)


@dataclass(frozen=True, eq=False)
class OfSums(Statistic):
    """A metric of a system whose rows were added up."""

    sample: SummedRows
    system: str
    group: int

    how: ClassVar[str] = "influence sums, two passes"
    passes: ClassVar[str] = ", two passes"

    @property
    def layout(self) -> Layout:
        """Whether rows count alike."""
        return self.sample.layout

    @property
    def tables(self) -> BinnedScore:
        """The tables of the score."""
        return self.sample.tables[self.group][self.system]

    @property
    def moments(self) -> Moments:
        """The sums over rows."""
        return self.sample.moments[self.group]

    @property
    def summed(self) -> bool:
        """Whether there was a second reading of these rows."""
        return self.group in self.sample.moments

    @property
    def kind(self) -> Any:
        """The kind of the metric."""
        return self.chosen.metric.kind

    @cached_property
    def value(self) -> float:
        """The metric; losses from the rows' own scores, which the table knows only nearly."""
        base, t = self.chosen.base.metric.kind, self.tables
        value = self.kind.at(t.counts if base.decided else t.chances, t.threshold)
        return value + self.moments.total(self.form) if self.kind.centred and self.summed else value

    @cached_property
    def form(self) -> Form:
        """How much each row moves the metric, as multiples of the columns."""
        if not self.kind.decided:
            signs = ("+", "-") if self.kind.apart else ("",)
            return {f"{self.system}\n{self.chosen.label}{sign}": 1.0 for sign in signs}
        (pp, pn), (np_, nn) = self.kind.bins(self.tables.cut)
        return {"positive": pn, f"{self.system}\nhit": pp - pn, "negative": nn, f"{self.system}\nalarm": np_ - nn}

    @property
    def n(self) -> int:
        """Units, or rows."""
        return self.moments.n if self.summed else int(self.tables.rows)

    @property
    def spread(self) -> Spread:
        """How much units move it."""
        return self._spread(self.form, self._power)

    def spread_from(self, other: OfSums) -> Spread:
        """How much units move the difference."""
        return self._spread(minus(self.form, other.form), partial(self._power_from, other))

    def _spread(self, form: Form, power: Callable[[int], float]) -> Spread:
        square = self.moments.square(form, self.moments.total(form) if self.kind.centred else 0.0)
        return Spread(self.n, square, self.freedom + 1, power)

    def _power(self, power: int) -> float:
        """Cubes of the loss of a row; fourth powers were not added up."""
        if power == 4:
            return np.nan
        (name,) = self.form
        return self.moments.skewness(name) / float(np.sqrt(self.n))

    def _power_from(self, other: OfSums, power: int) -> float:
        """Of what a threshold decides, from the rows by what both decide."""
        sides = [side.kind.bins(side.tables.cut) for side in (self, other)]
        moved = (sides[0][:, :, None] - sides[1][:, None, :]).ravel()
        return float(standardised(moved, power, self._decided(other).ravel()))

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: Kish's number of units, as of rows at hand, less 1."""
        if self.layout is not Layout.SUMMED_VARIED:
            return self.n - 1.0
        return min(self.moments.kish(self._weight(*group)) for group in self.kind.group_cells()) - 1

    def _weight(self, tp: float, fn: float, fp: float, tn: float) -> Form:
        """The weight of rows in some of the four cells."""
        own = (f"{self.system}\nhit", f"{self.system}\nalarm")
        return {"positive": float(fn), own[0]: float(tp) - fn, "negative": float(tn), own[1]: float(fp) - tn}

    def apart(self, other: OfSums) -> tuple[Floats, Ints]:
        """The variance of the difference that the rows of each class add, on one degree of freedom less; how many."""
        c, n, form = self.tables.counts, self.moments.n, minus(self.form, other.form)
        rows = np.array([c.positives, c.negatives])
        sides = [{name: times for name, times in form.items() if name.endswith(POSITIVE) == side} for side in (1, 0)]
        variance = [self.moments.error(side) ** 2 * (n - 1) / n for side in sides]
        return np.array(variance) * ratio(rows, rows - 1), rows.astype(np.int64)

    def hits(self) -> tuple[int, int]:
        """Hits, and the rows that count."""
        hits, members = self.kind.of_table(self.tables.cut)
        return int(hits), int(members)

    def only(self, other: OfSums) -> tuple[int, int, int]:
        """Rows on which this alone is a hit, on which the other alone is, and the rows that count.

        From the rows that one or both predict positive.
        """
        m, (member, hit), only, rows = self.moments, self.kind.cells(), [0, 0], 0
        for part, name in enumerate(("hit", "alarm")):
            if not member[2 * part]:
                continue
            a, b = (m.names.index(f"{side.system}\n{name}") for side in (self, other))
            apart = [round(m.gram[a, a] - m.gram[a, b]), round(m.gram[b, b] - m.gram[a, b])]
            only = [x + y for x, y in zip(only, apart if hit[2 * part] else apart[::-1], strict=True)]
            rows += round(m.sums[m.names.index(("positive", "negative")[part])])
        return only[0], only[1], rows

    def shared(self, other: OfSums) -> Ints:
        """The rows that count for both: hits of this one or not (rows), of the other or not (columns)."""
        (member, hit), counted = self.kind.cells(), np.zeros((2, 2))
        for part, rows in enumerate(self._decided(other)):
            cells = slice(2 * part, 2 * part + 2)  # predicted positive, and not
            sides = np.array([member[cells] & hit[cells], member[cells] & ~hit[cells]], dtype=float)
            counted += sides @ rows @ sides.T
        return counted.round().astype(np.int64)

    def _decided(self, other: OfSums) -> Floats:
        """Positive rows and negative ones by what this one decides and what the other does, predicted ones first."""
        m, counted = self.moments, []
        for whole, name in (("positive", "hit"), ("negative", "alarm")):
            a, b = (m.names.index(f"{side.system}\n{name}") for side in (self, other))
            first, second, both = m.gram[a, a], m.gram[b, b], m.gram[a, b]
            neither = m.sums[m.names.index(whole)] - first - second + both
            counted.append([[both, first - both], [second - both, neither]])
        return np.array(counted)


def minus(first: Form, second: Form) -> Form:
    """How much each row moves a difference."""
    return {name: first.get(name, 0.0) - second.get(name, 0.0) for name in {**first, **second}}


# What is kept of blocks -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scored(Bundle):
    """What the first reading keeps of rows of two classes: of each group and system, by their numbers, its scores.

    facts: rows and positive rows; then of each system the rows whose score is no probability, and those that are
    certain of the other class.
    """

    facts: Total
    tallies: dict[tuple[int, int], Tally]
    values: dict[int, Values]
    ids: Distinct


@dataclass(frozen=True, eq=False)
class ByScore:
    """Rows of each class by score, of every group and system. scale: what weights are counted in, None without weights.

    cuts: of each system a threshold that is known beforehand: what is at or above it is counted exactly. ids: that are
    looked through for one that comes twice. within: metrics that rank the rows of each unit among themselves; the first
    metric alone is asked of slices, if it is one.
    """

    scale: float | None
    cuts: Sequence[float] | None
    limits: Limits
    ids: int = 0
    within: Sequence[Chosen] = ()
    sliced: bool = False

    def __call__(self, block: Block) -> Scored:
        """What is kept of a block."""
        every, tallies, values = block.truth == 1, {}, {}
        for group, part in block.groups():
            hit, most = part.truth == 1, self.limits.slice_bins if group else self.limits.bins
            weight = None if self.scale is None else grid.whole(part.weights, self.scale)
            for i, said in enumerate(part.said):
                cut = None if self.cuts is None else self.cuts[i]
                tallies[group, i] = Tally(most, (grid.reduce(said, hit, weight, most=most, cut=cut),))
            if self.within and (self.sliced or not group):
                values[group] = Values.of(part, self._values)
        odd = [_outside(said, every) for said in block.said]
        facts = Total(np.append([len(block), every.sum()], odd).astype(np.int64))
        return Scored(facts, tallies, values, Distinct.of(np.empty(0) if block.id is None else block.id, self.ids))

    def _values(self, block: Block) -> Floats:
        """What each row adds to the value of its unit and to how much that counts."""
        every = [chosen.sums(block.rows(i)) for chosen in self.within for i in range(len(block.said))]
        return np.array([side for sums in every for side in (sums.numerator, sums.size)])


def _outside(score: Floats, hit: Bools) -> tuple[int, int]:
    """Scores that are no probabilities, and those that are certain of the other class."""
    low, high = calibration.EPSILON, 1 - calibration.EPSILON
    if low <= score.min() and score.max() <= high:
        return 0, 0
    certain = np.where(hit, score < low, score > high)
    return int(np.count_nonzero((score < 0) | (score > 1))), int(np.count_nonzero(certain))


@dataclass(frozen=True, eq=False)
class Moved(Bundle):
    """What the second reading keeps of each group."""

    moments: dict[int, kept.Moments | Parted]


@dataclass(frozen=True, eq=False)
class ByColumns:
    """Moments of how much rows move the metrics, of every group. models: of each group the columns of each system."""

    scale: float | None
    models: Mapping[int, Sequence[Columns]]

    def __call__(self, block: Block) -> Moved:
        """What is kept of a block."""
        of = (Parted if block.parted else kept.Moments).of
        groups = ((group, part) for group, part in block.groups() if group in self.models)
        return Moved({group: of(self._placed(part, group), partial(self._columns, group), 0) for group, part in groups})

    def _placed(self, block: Block, group: int) -> Block:
        """The block with the bin of each score, found of all rows at once: sorted, they run through the bins."""
        models = enumerate(zip(self.models[group], block.said, strict=True))
        placed: dict[str, Any] = {f"{i}": places(of.low, said) for i, (of, said) in models if of.placed}
        return replace(block, beside=placed)

    def _columns(self, group: int, block: Block) -> Floats:
        weight: np.ndarray = block.weights
        if self.scale is not None:
            weight = grid.whole(weight, self.scale) * self.scale
        hit, placed = block.truth == 1, dict[str, Any](block.beside)
        shared = np.array([np.ones(len(block)), weight * hit, weight * ~hit])
        models = enumerate(zip(self.models[group], block.said, strict=True))
        own = [of.rows(hit, said, weight, placed.get(f"{i}")) for i, (of, said) in models]
        return np.concatenate([shared, *own])

    def moments(self, moved: Moved) -> dict[int, Moments]:
        """What came of it, by group."""
        shared = ("rows", "positive", "negative")
        names = {
            group: [*shared, *(name for of in models for name in of.names)] for group, models in self.models.items()
        }
        return {group: Moments.of(names[group], m.moments) for group, m in moved.moments.items()}


# Scores in bins -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BinnedScore:
    """What the first reading knows of one system: its bins, what a weight of 1 in them stands for, its threshold.

    known: the table of the score, where it has been made already.
    """

    name: str
    bins: Grid
    scale: float
    threshold: float
    known: Counts | None = None

    @cached_property
    def counts(self) -> Counts:
        """The table of the score."""
        return grid.counts(self.bins, self.scale) if self.known is None else self.known

    @cached_property
    def chances(self) -> Counts:
        """The same with the middle of each bin as its score: for metrics that take scores as probabilities."""
        c = self.counts
        return Counts(grid.middles(self.bins), c.tp, c.fp, c.positives, c.negatives)

    @cached_property
    def cut(self) -> Counts:
        """The table of what the threshold decides."""
        return influence.decision(self.counts, self.threshold)

    @cached_property
    def shared(self) -> Bools:
        """Whether each threshold stands for several distinct scores."""
        return grid.spread(self.bins)

    @property
    def moved(self) -> tuple[float, float, float]:
        """The most that shared bins move AUC, and the limits of average precision."""
        return grid.auc_width(self.counts, self.shared), *grid.average_precision_limits(self.counts, self.shared)

    def changed(self, chosen: Chosen) -> float:
        """The most that shared bins move a metric of the whole table; NaN where nothing bounds it."""
        kind = chosen.base.metric.kind
        if not isinstance(kind, Curve) or not kind.rises:
            return np.nan
        value, tables = chosen.at(self.chances), [replace(self, bins=bins, known=None) for bins in grid.ends(self.bins)]
        ends = [chosen.at(t.chances) for t in tables]
        if chosen.base.metric is AVERAGE_PRECISION:
            ends = [*self.moved[1:]]
        return max(abs(end - value) for end in ends)

    @property
    def rows(self) -> float:
        """The weight of all rows."""
        return float(self.counts.total)


# The columns of numbers that a row has ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BinColumn:
    """A number for each row by its class and bin: those of positive rows, lowest bin first, then those of negative.

    ends: of the names of its columns: one, or one of positive rows and one of negative.
    """

    bins: Floats
    ends: tuple[str, ...]

    def of(self, rows: Rows, place: Ints) -> Sequence[Floats]:
        """The numbers of rows that stand in these bins, 0 in the column of the other class."""
        moved = self.bins.take(place)
        return [moved] if len(self.ends) == 1 else [moved * rows.actual, moved * (1 - rows.actual)]


@dataclass(frozen=True, eq=False)
class RowColumn:
    """What the row's own numbers add beyond the `value` of the table, times `weight`."""

    kind: Loss | RatioOfRows
    value: float
    weight: float
    ends: ClassVar[tuple[str, ...]] = ("",)

    def of(self, rows: Rows, place: Ints) -> Sequence[Floats]:
        """The numbers of rows."""
        return [self.kind.above(rows, self.value) * self.weight]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of one system: its decisions, and those of each metric. low: the codes of its bins, rising."""

    name: str
    low: Ints
    threshold: float
    of: Mapping[str, BinColumn | RowColumn]

    @property
    def names(self) -> list[str]:
        """What stands in the columns, in order."""
        own = (f"{column}{end}" for column, numbers in self.of.items() for end in numbers.ends)
        return [f"{self.name}\n{column}" for column in ("hit", "alarm", *own)]

    @property
    def placed(self) -> bool:
        """Whether the bins of rows are asked for."""
        return any(isinstance(numbers, BinColumn) for numbers in self.of.values())

    def rows(self, label: Bools, score: Floats, weight: Floats, place: Ints | None = None) -> Floats:
        """The columns of rows, one below the other. place: the bin of each, where it is known."""
        columns = np.empty((len(self.names), len(label)))
        decided = np.where(score >= self.threshold, weight, 0.0)
        columns[0], columns[1] = decided * label, decided * ~label
        rows = Rows(label.astype(np.int64), score, self.threshold)
        place = places(self.low, score) if place is None and self.placed else place
        place = np.empty(0, np.int64) if place is None else place + np.where(label, 0, len(self.low))
        own = (column for numbers in self.of.values() for column in numbers.of(rows, place))
        for i, column in enumerate(own, start=2):
            np.multiply(column, weight, out=columns[i])
        return columns


def places(low: Ints, score: Floats) -> Ints:
    """The bin of each score: sorted first, the search runs through the bins instead of jumping."""
    code = grid.codes(score)
    order = np.argsort(code)
    place = np.empty(len(code), np.int64)
    place[order] = np.searchsorted(low, code[order], side="right") - 1
    return np.maximum(place, 0)  # below the lowest bin stand only rows without weight


def columns(t: BinnedScore, metrics: Sequence[Chosen]) -> Columns:
    """The columns that these metrics need; what a threshold decides is always there."""
    of: dict[str, BinColumn | RowColumn] = {}
    for chosen in dict.fromkeys(chosen.base for chosen in metrics):
        of |= _columns(t, chosen)
    return Columns(t.name, grid.codes(t.counts.threshold[::-1]), t.threshold, of)


def _columns(t: BinnedScore, chosen: Chosen) -> dict[str, BinColumn | RowColumn]:
    kind: Any = chosen.metric.kind
    if kind.decided:
        return {}
    if kind.centred:
        value, size = kind.of_table(t.chances, t.threshold)
        if np.isnan(size):
            raise ParameterError(f"metrics: {chosen.label} leaves rows out, which needs all rows in memory")
        return {chosen.label: RowColumn(kind, value, float(ratio(1.0, size)))}
    bins = np.ascontiguousarray(kind.bins(t.chances)[:, ::-1])
    return {chosen.label: BinColumn(bins, ("+", "-") if kind.apart else ("",))}

"""Sample: what a study measures on; rows at hand (`HeldRows`), or sums over rows that were read twice (`SummedRows`).

Of sums, the first reading makes the table of each system. From it follows how much each row moves each metric: a number
for each bin and class of the table, or a loss of the row's own score. The second adds these numbers up: their sums, and
the sums of their products, by row or by unit, are all that intervals and paired tests need.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ParameterError, ratio
from evalkit.catalogue.kinds import Loss, RatioOfRows
from evalkit.catalogue.metric import Chosen
from evalkit.metrics import cells, grid
from evalkit.metrics.counts import Counts
from evalkit.metrics.grid import Grid
from evalkit.metrics.rows import Rows
from evalkit.statistics import intervals
from evalkit.statistics.statistic import Layout, OfRows, Statistic, of_rows

POSITIVE = ("positive", "\nhit", "+")  # ends of the names of columns that only positive rows have
KEPT = 2**24  # rows of all systems whose statistics of one metric stay in memory
Form = Mapping[str, float]  # a number for each row: these multiples of its columns, added up


class Sample(Protocol):
    """All systems on the same rows."""

    @property
    def layout(self) -> Layout:
        """How the rows lie."""

    def measure(self, chosen: Chosen, system: str, member: Any) -> Statistic:
        """Return the metric of a system on the rows that are members."""


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows at hand, by system. ids: what pairs them, where it is asked for."""

    rows: Mapping[str, Rows]
    ids: Callable[[], np.ndarray]

    @property
    def layout(self) -> Layout:
        """Whether rows are independent and unweighted."""
        rows = next(iter(self.rows.values()))
        return of_rows(rows.unit, rows.weight)

    def measure(self, chosen: Chosen, system: str, member: Bools | slice) -> OfRows:
        """The metric of a system; a slice is all rows."""
        every = isinstance(member, slice)
        return self._of_all(chosen, system) if every else OfRows(chosen, self.rows[system].take(member))

    def _of_all(self, chosen: Chosen, system: str) -> OfRows:
        """The same object until another metric is measured: what it computes of a system serves all pairs."""
        kept = self._kept
        if any(of != chosen for of, _ in list(kept)[:1]):
            kept.clear()
        statistic = kept.get((chosen, system), OfRows(chosen, self.rows[system]))
        if (len(kept) + 1) * len(statistic.rows) <= KEPT:
            kept[chosen, system] = statistic
        return statistic

    @cached_property
    def _kept(self) -> dict[tuple[Chosen, str], OfRows]:
        return {}


# What the first reading knows -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """What the first reading knows of one system: its bins, what a weight of 1 in them stands for, its threshold."""

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
    def cut(self) -> Counts:
        """The table of what the threshold decides."""
        return cells.decision(self.counts, self.threshold)

    @property
    def rows(self) -> float:
        """The weight of all rows."""
        return float(self.counts.total)


# The columns of numbers that a row has ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BinColumn:
    """A number for each row by its class and bin: those of positive rows, lowest bin first, then those of negative."""

    bins: Floats

    def of(self, rows: Rows, place: Ints) -> Floats:
        """The numbers of rows that stand in these bins."""
        return self.bins.take(place)


@dataclass(frozen=True, eq=False)
class RowColumn:
    """What the row's own numbers add beyond the `value` of the table, times `weight`."""

    kind: Loss | RatioOfRows
    value: float
    weight: float

    def of(self, rows: Rows, place: Ints) -> Floats:
        """The numbers of rows."""
        return self.kind.above(rows, self.value) * self.weight


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
        return [f"{self.name}\n{column}" for column in ("hit", "alarm", *self.of)]

    def rows(self, label: Bools, score: Floats, weight: Floats) -> Floats:
        """The columns of rows, one below the other."""
        columns = np.empty((2 + len(self.of), len(label)))
        decided = np.where(score >= self.threshold, weight, 0.0)
        columns[0], columns[1] = decided * label, decided * ~label
        rows = Rows(label.astype(np.int64), score, self.threshold)
        place = places(self.low, score) + np.where(label, 0, len(self.low)) if self.of else np.empty(0, np.int64)
        for i, column in enumerate(self.of.values(), start=2):
            columns[i] = column.of(rows, place) * weight
        return columns


def places(low: Ints, score: Floats) -> Ints:
    """The bin of each score: sorted first, the search runs through the bins instead of jumping."""
    code = grid.codes(score)
    order = np.argsort(code)
    place = np.empty(len(code), np.int64)
    place[order] = np.searchsorted(low, code[order], side="right") - 1
    return np.maximum(place, 0)  # below the lowest bin stand only rows without weight


def columns(t: Table, metrics: Sequence[Chosen]) -> Columns:
    """The columns that these metrics need; what a threshold decides is always there."""
    of: dict[str, BinColumn | RowColumn] = {}
    for chosen in dict.fromkeys(chosen.base for chosen in metrics):
        of |= _columns(t, chosen)
    return Columns(t.name, grid.codes(t.counts.threshold[::-1]), t.threshold, of)


def _columns(t: Table, chosen: Chosen) -> dict[str, BinColumn | RowColumn]:
    kind: Any = chosen.metric.kind
    if kind.decided:
        return {}
    if kind.centred:
        value, size = kind.of_table(t.chances, t.threshold)
        if np.isnan(size):
            raise ParameterError(f"metrics: {chosen.label} leaves rows out, which needs all rows in memory")
        return {chosen.label: RowColumn(kind, value, float(ratio(1.0, size)))}
    bins = np.ascontiguousarray(kind.bins(t.chances)[:, ::-1])
    if not kind.apart:
        return {chosen.label: BinColumn(bins)}
    nothing = np.zeros(bins.shape[1])
    sides = {"+": np.array([bins[0], nothing]), "-": np.array([nothing, bins[1]])}
    return {f"{chosen.label}{sign}": BinColumn(side) for sign, side in sides.items()}


# Their sums -------------------------------------------------------------------------------------------------------


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

    def error(self, form: Form, centre: float = 0.0) -> float:
        """The standard error of the sum: √(Σ (x − centre / n)² n / (n − 1)) over the units' sums x."""
        at, times = [self.names.index(name) for name in form], np.array(list(form.values()))
        gram = self.gram[np.ix_(at, at)]
        squares = float(times @ gram @ times) - centre**2 / max(self.n, 1)
        if squares <= 1e-14 * float(np.abs(times) @ np.abs(gram) @ np.abs(times)):
            squares = 0.0  # what rounding leaves of two equal systems
        return float(np.sqrt(ratio(squares * self.n, self.n - 1)))

    def skewness(self, name: str) -> float:
        """The skewness of one column over the units, 0 where it does not vary."""
        at = self.names.index(name)
        mean, square, cube = self.sums[at] / self.n, self.gram[at, at] / self.n, self.cubes[at] / self.n
        spread = square - mean**2
        return float((cube - 3 * mean * square + 2 * mean**3) / spread**1.5) if spread > 1e-14 * square else 0.0


@dataclass(frozen=True, eq=False)
class SummedRows:
    """Of each group of rows, all rows first, the tables of all systems and the moments of their columns.

    moments: none of a group whose tables tell everything. layout: whether rows count alike.
    """

    tables: Sequence[Mapping[str, Table]]
    moments: Mapping[int, Moments]
    layout: Layout

    def measure(self, chosen: Chosen, system: str, member: int | slice) -> "OfSums":
        """The metric of a system in a group; a slice is all rows."""
        return OfSums(chosen, self, system, 0 if isinstance(member, slice) else member)


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
    def tables(self) -> Table:
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

    def error(self) -> float:
        """The standard error, to first order."""
        return self._error(self.form)

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: Kish's number of units, as of rows at hand, less 1."""
        if self.layout is not Layout.SUMMED_VARIED:
            return self.n - 1.0
        return min(self.moments.kish(self._weight(*group)) for group in self.kind.group_cells()) - 1

    def skewness(self) -> float:
        """The skewness of the loss of a row."""
        (name,) = self.form
        return self.moments.skewness(name)

    def difference_error(self, other: "OfSums") -> float:
        """The standard error of the difference on the same rows."""
        return self._error(minus(self.form, other.form))

    def _error(self, form: Form) -> float:
        n, freedom = self.moments.n, self.freedom
        unlike = ratio(freedom + 1, freedom) * ratio(n - 1, n)  # Kish's number in place of n
        return self.moments.error(form, self.moments.total(form) if self.kind.centred else 0.0) * float(np.sqrt(unlike))

    def _weight(self, tp: float, fn: float, fp: float, tn: float) -> Form:
        """The weight of rows in some of the four cells."""
        own = (f"{self.system}\nhit", f"{self.system}\nalarm")
        return {"positive": float(fn), own[0]: float(tp) - fn, "negative": float(tn), own[1]: float(fp) - tn}

    def apart(self, other: "OfSums") -> tuple[Floats, Ints]:
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

    def only(self, other: "OfSums") -> tuple[int, int, int]:
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

    def shared(self, other: "OfSums") -> Ints:
        """The rows that count for both: hits of this one or not (rows), of the other or not (columns)."""
        (member, hit), counted = self.kind.cells(), np.zeros((2, 2))
        for part, rows in enumerate(self._decided(other)):
            cells = slice(2 * part, 2 * part + 2)  # predicted positive, and not
            sides = np.array([member[cells] & hit[cells], member[cells] & ~hit[cells]], dtype=float)
            counted += sides @ rows @ sides.T
        return counted.round().astype(np.int64)

    def freedom_left(self, other: "OfSums") -> float:
        """The degrees of freedom that the kurtosis of what moves the difference leaves, of what a threshold decides."""
        sides = [side.kind.bins(side.tables.cut) for side in (self, other)]
        moved = (sides[0][:, :, None] - sides[1][:, None, :]).ravel()
        return intervals.freedom_left(moved, self.n - 1.0, self._decided(other).ravel())

    def _decided(self, other: "OfSums") -> Floats:
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

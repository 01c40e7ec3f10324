"""`Metric`, a row of the table of metrics, and `Chosen`, a metric at a cut-off, such as
`ndcg@10`.
"""

import pkgutil
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, ratio
from evalkit.catalogue.kinds import Effects, Kind
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows, Sums

UNKNOWN = "unknown"  # which values are better
MANY_PARTS = 10  # classes or labels of a mean


@dataclass(frozen=True)
class Metric:
    """A row of the table of metrics.

    kind: computes it and gives inference what it needs. cut: "may", "must" or "never" carry @k;
    most: the greatest k. best: "high", "low", "neither", or "unknown" if nothing says it.
    equals: the public tool's name for the same number, empty without one. tie_range: the best
    grade first among equal scores gives the metric's highest value. needs: "", "scores",
    "probabilities" or "scores of units". columns: further columns of the input that it is
    computed from. plain: what it measures in plain words, with {k} or {top} for the cut-off;
    empty if the formula says it. title: the name that people say. aliases: other names of it, with
    an @ at the end those that it has with a cut-off; an alias of several metrics is ambiguous.
    unit: of measurement: "1" for a pure number, "actual" for that
    of the actual values, "nats", a column; empty if it is not known. kind_at: the kind at the
    number above 0 behind the @, such as 0.5, of a metric that has one instead of a cut-off.
    roughness: how far the width of an interval may be from that of resamples, as a share of it.
    """

    name: str
    structure: str
    kind: Any  # a Kind, of which each asks for what it has
    formula: str
    undefined: str = ""
    equals: str = ""
    cut: str = "never"
    low: float = 0.0
    high: float = 1.0
    best: str = "high"
    reference: str = ""
    tie_range: bool = True
    most: int = 2**31 - 1
    needs: str = ""
    columns: tuple[str, ...] = ()
    plain: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    unit: str = "1"
    kind_at: Callable[[float], Kind] | None = None
    roughness: float = 0.2

    def __hash__(self) -> int:
        """That of its name: one results' key is made of it for each pair of systems."""
        return hash(self.name)

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value of the metric."""
        return self.low, self.high

    @property
    def sign(self) -> int:
        """1, or −1 if lower values are better: the order in which systems stand."""
        return 1 if self.best in ("high", UNKNOWN) else -1

    @property
    def direction(self) -> int:
        """1 if higher values are better, −1 if lower ones are, 0 if it is not known."""
        return 0 if self.best == UNKNOWN else self.sign

    @property
    def before_cut(self) -> str:
        """The part of the name before k: ndcg@, pass^."""
        return self.name if self.name.endswith("^") else f"{self.name}@"

    @property
    def decided(self) -> bool:
        """True if a threshold decides the metric."""
        return self.kind.decided

    @property
    def tabled(self) -> bool:
        """True if the metric can be computed from the table of a score, without the rows."""
        return self.kind.summed and not self.columns


@cache
def _at_number(metric: Metric, number: float) -> Metric:
    """The metric at a number; the same object each time, as kinds are compared by their
    functions.
    """
    assert metric.kind_at is not None
    return replace(metric, kind=metric.kind_at(number))


# in a Spark worker no file
TEXTS = tomllib.loads((pkgutil.get_data(__package__, "metrics.toml") or b"").decode())


def described(name: str, structure: str, kind: Kind) -> Metric:
    """The row of a metric, from metrics.toml and its kind."""
    row = TEXTS[structure][name]
    lists = {
        "columns": tuple(row.get("columns", ())),
        "aliases": tuple(row.get("aliases", "").split()),
    }
    return Metric(name.removesuffix("@"), structure, kind, **row | lists)


def rows_of(structure: str, kinds: Mapping[str, Kind | Metric]) -> dict[str, Metric]:
    """The rows of a table, by name."""
    return {
        name: kind if isinstance(kind, Metric) else described(name, structure, kind)
        for name, kind in kinds.items()
    }


def numbered(name: str, structure: str, kind_at: Callable[[float], Kind]) -> Metric:
    """The row of a metric with a number after its @, which is 1 by default."""
    return replace(described(name, structure, kind_at(1)), kind_at=kind_at)


@dataclass(frozen=True)
class Chosen:
    """A metric at its cut-off or number, as `ndcg@10` and `fbeta@0.5` name it; `label` is what is
    printed.
    """

    metric: Metric
    k: Any = None

    def __post_init__(self) -> None:
        if self.k is not None and self.metric.kind_at is not None:
            object.__setattr__(self, "metric", _at_number(self.metric, self.k))

    @property
    def label(self) -> str:
        """The name that is printed, and by which this metric is found."""
        return self.metric.name if self.k is None else f"{self.metric.before_cut}{self.k}"

    @property
    def plain(self) -> str:
        """The description in plain words."""
        top = (
            "all items"
            if self.k is None
            else "the first item"
            if self.k == 1
            else f"the first {self.k} items"
        )
        return (
            self.metric.plain.replace("{top}", top).replace("{k}", str(self.k))
            or self.metric.formula
        )

    @property
    def decided(self) -> bool:
        """True if a threshold decides the metric."""
        return self.base.metric.decided

    @property
    def leave_one_out(self) -> "Chosen":
        """The metric for many parts with few positives each; see `Combined.scarce`."""
        return replace(self, metric=replace(self.metric, kind=self.metric.kind.leave_one_out))

    @property
    def base(self) -> "Chosen":
        """The metric itself, or the one that it transforms."""
        original = self.metric.kind.original
        return self if original is None else Chosen(original, self.k)

    def sums(self, structure: Any, level: float = 1) -> Sums:
        """One value per unit of rankings and other structures of units, or the terms of a ratio."""
        return self.metric.kind.sums(structure, self.k, level)

    def value(self, rows: Rows) -> float:
        """The metric of rows."""
        return self.metric.kind.value(rows, self.k)

    def effects(self, rows: Rows) -> Effects:
        """The metric of rows and the influence of each row."""
        return self.metric.kind.effects(rows, self.k)

    def at(self, c: Counts, threshold: float = 0.5) -> float:
        """The metric of a table of labels 0 and 1; for a metric of decisions, at the threshold."""
        return self.metric.kind.at(c, threshold)


@dataclass(frozen=True, eq=False)
class Part:
    """One class or label: its share in the mean, its rows, and their places among all rows (None:
    it has all rows).
    """

    share: float
    rows: Rows
    places: np.ndarray | None = None

    def spread(self, moved: Floats, n: int) -> Floats:
        """The influence values of all n rows: those of the part's rows (`moved`), 0 for the other
        rows.
        """
        if self.places is None:
            return moved
        every = np.zeros(n)
        every[self.places] = moved
        return every


@dataclass(frozen=True)
class Combined(Kind):
    """The mean over classes or labels of the metric `of`. parts: splits the rows into classes.

    classed: each row has one class. whole: each part has all rows.
    """

    of: Metric
    parts: Callable[[Rows], Iterable[Part]]
    classed: bool = False
    whole: bool = True

    def scarce(self, positives: Floats) -> bool:
        """True if there are many parts that have fewer positives each than twice their number.

        The skewness and the bias of a part fall with its positives; in a mean the skewness vanishes
        with the number of parts, and the bias stays while the interval narrows.
        """
        parts = len(positives)
        few = 2 * parts**2 > positives.sum()
        return self.whole and self.of.kind.leave_one_out is not None and parts >= MANY_PARTS and few

    @property
    def leave_one_out(self) -> "Combined":
        """The same mean, of parts with few positives each."""
        return replace(self, of=replace(self.of, kind=self.of.kind.leave_one_out))

    @property
    def decided(self) -> bool:  # type: ignore[override]
        """True if it depends on the decisions alone."""
        return self.of.kind.decided

    @property
    def summed(self) -> bool:  # type: ignore[override]
        """True if it can be computed from sums over rows."""
        return self.whole and self.of.kind.summed

    def strata(self, rows: Rows) -> Any:
        """The rows of each class, if each row has one class."""
        return rows.actual if self.classed else None

    def weighed(self, rows: Rows) -> Iterable[Part]:
        """The parts with their shares in the mean."""
        return self.parts(rows)

    def by_share(self, rows: Rows, k: int | None, value: float) -> Floats | None:
        """The influence of each row on the mean through the shares; None if the shares are
        fixed.
        """
        return None

    @property
    def picks(self) -> bool:  # type: ignore[override]
        """True if two systems differ in the rows that count for the metric of the parts."""
        return self.of.kind.picks

    def value(self, rows: Rows, k: int | None) -> float:
        """The mean; undefined if there is no part, or if a part is undefined."""
        values = [(part.share, self.of.kind.value(part.rows, k)) for part in self.weighed(rows)]
        return float(sum(share * value for share, value in values)) if values else float("nan")

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row, which is the sum of its influences on the
        parts.
        """
        value = float("nan")
        moved = np.zeros(len(rows))
        for number, part in enumerate(self.weighed(rows)):
            e = self.of.kind.effects(part.rows, k)
            value = part.share * e.value + (value if number else 0.0)
            moved += part.share * part.spread(e.rows, len(rows))
        shares = self.by_share(rows, k, value)
        return Effects(value, moved if shares is None else moved + shares)

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference first − second: the sum of its influences on
        the parts.
        """
        parts = list(self.weighed(first))
        others = list(self.weighed(second))
        if [part.rows.actual.tobytes() for part in parts] != [
            part.rows.actual.tobytes() for part in others
        ]:
            return self._through_parts(parts, len(first), k) - self._through_parts(
                others, len(first), k
            )
        moved = np.zeros(len(first))
        for a, b in zip(parts, others, strict=True):
            moved += a.share * a.spread(self.of.kind.apart_by(a.rows, b.rows, k), len(first))
        return moved

    def _through_parts(self, parts: Iterable[Part], n: int, k: int | None) -> Floats:
        """The influence of each row on the parts of one system: some classes only one of two
        systems predicts.
        """
        every = (
            part.share * part.spread(self.of.kind.effects(part.rows, k).rows, n) for part in parts
        )
        return sum(every, np.zeros(n))


def _positive(rows: Rows) -> Bools:
    return rows.actual == 1


@dataclass(frozen=True)
class Weighted(Combined):
    """The mean in which the share of each part is the weight of its `counted` rows, by default the
    positives.
    """

    counted: Callable[[Rows], Bools] = _positive
    summed: ClassVar[bool] = False  # type: ignore[misc]  # the shares of the parts vary with the rows

    def _weight(self, part: Part) -> Floats:
        return part.rows.weights * self.counted(part.rows)

    def weighed(self, rows: Rows) -> Iterable[Part]:
        """The parts with a weight above 0, with their shares."""
        sizes = [float(self._weight(part).sum()) for part in self.parts(rows)]
        pairs = zip(self.parts(rows), sizes, strict=True)
        return (replace(part, share=size / sum(sizes)) for part, size in pairs if size > 0)

    def by_share(self, rows: Rows, k: int | None, value: float) -> Floats:
        """The influence through the shares: a row's weight times how far its part is above the
        mean.
        """
        moved = np.zeros(len(rows))
        total = 0.0
        for part in self.weighed(rows):
            weight = self._weight(part)
            moved += part.spread(weight * (self.of.kind.value(part.rows, k) - value), len(rows))
            total += float(weight.sum())
        return ratio(moved, total)

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference first − second, through the parts and through
        the shares.
        """
        sides = [self.by_share(rows, k, self.value(rows, k)) for rows in (first, second)]
        return super().apart_by(first, second, k) + sides[0] - sides[1]


@dataclass(frozen=True)
class Harmonic(Kind):
    """The harmonic mean of two metrics; it is undefined if both are 0."""

    pair: tuple[Metric, Metric]

    @property
    def decided(self) -> bool:  # type: ignore[override]
        """True if it depends on the decisions alone."""
        return all(of.kind.decided for of in self.pair)

    @property
    def summed(self) -> bool:  # type: ignore[override]
        """True if it can be computed from sums over rows."""
        return all(of.kind.summed for of in self.pair)

    def strata(self, rows: Rows) -> Any:
        """The strata of the first of the two metrics, which both share."""
        return self.pair[0].kind.strata(rows)

    @property
    def picks(self) -> bool:  # type: ignore[override]
        """True if two systems differ in the rows that count for either metric."""
        return any(of.kind.picks for of in self.pair)

    def of(self, first: float, second: float) -> float:
        """The harmonic mean of two values."""
        return float(ratio(2 * first * second, first + second))

    def value(self, rows: Rows, k: int | None) -> float:
        """The harmonic mean of the two metrics."""
        first, second = (of.kind.value(rows, k) for of in self.pair)
        return self.of(first, second)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row (delta method)."""
        a, b = (of.kind.effects(rows, k) for of in self.pair)
        moved = 2 * (b.value**2 * a.rows + a.value**2 * b.rows)
        return Effects(self.of(a.value, b.value), ratio(moved, (a.value + b.value) ** 2))

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference first − second, with the gradient at the mean
        of both systems.
        """
        a, b = (np.mean([of.kind.value(rows, k) for rows in (first, second)]) for of in self.pair)
        moved = [of.kind.apart_by(first, second, k) for of in self.pair]
        return ratio(2 * (b**2 * moved[0] + a**2 * moved[1]), (a + b) ** 2)

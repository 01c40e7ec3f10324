"""`Metric`, a row of the table of metrics, `MetricAtK`, a metric at a cut-off, such as `ndcg@10`,
and the kinds that are made of other metrics.
"""

import pkgutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, quotient, ratio
from evalkit.catalogue.kinds import MetricKind, RatioOfSums, TableKind, ValueAndInfluence
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows, Sums

UNKNOWN = "unknown"  # the direction of a metric: nothing says which values are better
# Titles that begin with one of these keep their capital letter within a sentence.
PEOPLE = ("Brier", "Cohen's", "Gini", "Hamming", "Jaccard", "Matthews", "Poisson", "Youden's")
NAMES_OF_PEOPLE = frozenset([*PEOPLE, "Kolmogorov-Smirnov"])
MANY_PARTS = 10  # classes or labels from which a mean has many parts, see `MeanOverClasses.scarce`


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
    missing: the value of a query with relevant items that is missing from the run, None if it is
    undefined. roughness: the share by which the width of an interval may differ from that of
    resamples, which is more where the metric has steps or a long tail. orders_classes: True if the
    value depends on the order of the classes.
    """

    name: str
    structure: str
    kind: MetricKind
    formula: str
    undefined: str = ""
    equals: str = ""
    cut: str = "never"
    low: float = 0.0
    high: float = 1.0
    best: str = "high"
    reference: str = ""
    tie_range: bool = True
    most: float = 2**31 - 1
    needs: str = ""
    columns: tuple[str, ...] = ()
    plain: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    unit: str = "1"
    kind_at: Callable[[float], MetricKind] | None = None
    missing: float | None = 0.0
    roughness: float = 0.2
    orders_classes: bool = False

    def __hash__(self) -> int:
        """The hash of its name alone, which is quick: results are stored by metric for each pair of
        systems.
        """
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
    def takes_any_number(self) -> bool:
        """True if the number behind the @ is no cut-off but such as the β of fbeta@0.5."""
        return self.kind_at is not None

    @property
    def before_cut(self) -> str:
        """The part of the name before k: ndcg@, pass^, recall@fpr."""
        has_sign = "@" in self.name or self.name.endswith("^")
        return self.name if has_sign else f"{self.name}@"

    @property
    def uses_decisions(self) -> bool:
        """True if only the decisions at a threshold matter."""
        return self.kind.uses_decisions

    @property
    def needs_table_only(self) -> bool:
        """True if the metric can be computed from the table of a score, without the rows."""
        return self.kind.summed and not self.columns


@cache
def _at_number(metric: Metric, number: float) -> Metric:
    """The metric with its kind at the number behind the @. Cached, because kinds hold functions and
    are equal only if these are the same objects.
    """
    assert metric.kind_at is not None
    return replace(metric, kind=metric.kind_at(number))


# read by pkgutil, because a Spark worker has the package as an archive, without files
_TOML = pkgutil.get_data(__package__, "metrics.toml") or b""
TEXTS = tomllib.loads(_TOML.decode())


def metric_from_toml(name: str, structure: str, kind: MetricKind) -> Metric:
    """The metric of this name and kind, with the texts of its entry in metrics.toml.

    structure: the section of the file, such as "rankings". name: of the entry there; a metric that
    needs a cut-off has an @ at its end.
    """
    fields = dict(TEXTS[structure][name])  # the fields of `Metric` after its kind, by name
    fields["columns"] = tuple(fields.get("columns", ()))
    fields["aliases"] = tuple(fields.get("aliases", "").split())
    # The field `missing` is the value of a query that is missing from the run. TOML has no None:
    # there the word stands for a metric that is undefined for such a query.
    if fields.get("missing") == "undefined":
        fields["missing"] = None
    return Metric(name.removesuffix("@"), structure, kind, **fields)


def metric_table(structure: str, kinds: Mapping[str, MetricKind | Metric]) -> dict[str, Metric]:
    """The metrics of a structure, such as "rankings", by name. kinds: by name the complete metric,
    or only its kind, to which the texts of metrics.toml are added.
    """
    metrics = {}
    for name, kind in kinds.items():
        if isinstance(kind, Metric):
            metrics[name] = kind
        else:
            metrics[name] = metric_from_toml(name, structure, kind)
    return metrics


def numbered(name: str, structure: str, kind_at: Callable[[float], MetricKind]) -> Metric:
    """The metric of this name with a number after its @, such as fbeta@0.5. kind_at: number -> the
    kind; the metric itself, whose name has no number yet, gets the kind at 1.
    """
    metric = metric_from_toml(name, structure, kind_at(1))
    return replace(metric, kind_at=kind_at)


@dataclass(frozen=True)
class MetricAtK:
    """A metric with the cut-off or number k behind the @ of its name, such as `ndcg@10` and
    `fbeta@0.5`; k is None for a metric without one. `label` is what is printed.
    """

    metric: Metric
    k: Any = None

    def __post_init__(self) -> None:
        if self.k is not None and self.metric.kind_at is not None:
            object.__setattr__(self, "metric", _at_number(self.metric, self.k))

    def __repr__(self) -> str:
        return f"<metric {self.label}: {self.metric.formula}>"

    @property
    def label(self) -> str:
        """The name that is printed, and by which this metric is found."""
        return self.metric.name if self.k is None else f"{self.metric.before_cut}{self.k}"

    @property
    def title(self) -> str:
        """The name that people say, with its cut-off, such as nDCG@10. In its place the `label` if
        there is no such name, if the name lists variants, or if it has several words and a cut-off
        would follow them.
        """
        title, _, _ = self.metric.title.partition(" (")  # what stands in parentheses explains it
        names_variants = "," in title or "@" in title
        if not title or names_variants:
            return self.label
        if self.k is None:
            return title
        has_several_words = " " in title
        return self.label if has_several_words else f"{title}@{self.k}"

    @property
    def spoken(self) -> str:
        """The title within a sentence.

        >>> from evalkit.catalogue.lookup import find_metric
        >>> [find_metric(name, "counts").spoken for name in ("roc_auc", "brier", "accuracy")]
        ['ROC AUC', 'Brier score', 'accuracy']
        """
        title = self.title
        first_word = title.split()[0]
        is_ordinary = title[1:2].islower() and first_word not in NAMES_OF_PEOPLE
        return f"{title[0].lower()}{title[1:]}" if is_ordinary else title

    @property
    def plain(self) -> str:
        """The description in plain words, in which the cut-off takes the place of {top} and {k};
        the formula of a metric that has none.
        """
        if self.k is None:
            top = "all items"
        elif self.k == 1:
            top = "the first item"
        else:
            top = f"the first {self.k} items"
        plain = self.metric.plain.replace("{top}", top).replace("{k}", str(self.k))
        return plain or self.metric.formula

    @property
    def uses_decisions(self) -> bool:
        """True if only the decisions at a threshold matter."""
        return self.base.metric.uses_decisions

    @property
    def leave_one_out(self) -> "MetricAtK":
        """The metric with the form of its kind for few positives, see `MeanOverClasses.scarce`."""
        kind = self.metric.kind.leave_one_out
        assert kind is not None
        return replace(self, metric=replace(self.metric, kind=kind))

    @property
    def base(self) -> "MetricAtK":
        """The metric that this one is a function of, such as MSE of RMSE; others are their own."""
        kind = self.metric.kind
        return MetricAtK(kind.metric, self.k) if isinstance(kind, TransformedMetric) else self

    def sums(self, structure: Any, level: float = 1) -> Sums:
        """The numerator and the denominator of each unit (row, query, user) of a structure. level:
        the lowest relevant grade, for ranked lists.
        """
        kind = self.metric.kind
        assert isinstance(kind, RatioOfSums)
        return kind.sums(structure, self.k, level)

    def value(self, rows: Rows) -> float:
        """The metric of rows."""
        return self.metric.kind.value(rows, self.k)

    def effects(self, rows: Rows) -> ValueAndInfluence:
        """The metric of rows and the influence of each row."""
        return self.metric.kind.effects(rows, self.k)

    def value_at(self, c: Counts, threshold: float = 0.5) -> float:
        """The metric of a table of labels 0 and 1; for a metric of decisions, at the threshold."""
        kind = self.metric.kind
        assert isinstance(kind, TableKind)
        return kind.value_at(c, threshold)


# Kinds of other metrics ---------------------------------------------------------------------------


@dataclass(frozen=True)
class TransformedMetric(TableKind):
    """A monotone function of another metric, such as the root of the MSE: it has that metric's
    test. slope: the derivative of the function.
    """

    metric: Metric
    function: Callable[[float], float]
    slope: Callable[[float], float]

    def value(self, rows: Rows, k: int | None) -> float:
        """The function of the other metric's value."""
        return self.function(self.metric.kind.value(rows, k))

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The function of the other metric's value, and its influences times the derivative of the
        function there (chain rule).
        """
        effects = self.metric.kind.effects(rows, k)
        slope = self.slope(effects.value)
        return ValueAndInfluence(self.function(effects.value), slope * effects.influence)

    def value_at(self, c: Counts, threshold: float) -> float:
        """The function of the other metric's value."""
        kind = self.metric.kind
        assert isinstance(kind, TableKind)
        return self.function(kind.value_at(c, threshold))


@dataclass(frozen=True, eq=False)
class Part:
    """One class or label of a mean over classes or labels. share: its share in the mean. rows: its
    rows, with actual value 1 for the class or label, else 0. places: the indices of these rows
    among all rows; None if they are all rows.
    """

    share: float
    rows: Rows
    places: np.ndarray | None = None

    def among_all(self, influence: Floats, n: int) -> Floats:
        """The influence of the part's rows as an array over all n rows, 0 for the other rows."""
        if self.places is None:
            return influence
        all_rows = np.zeros(n)
        all_rows[self.places] = influence
        return all_rows


class PartPair(NamedTuple):
    """The same part of two systems."""

    first: Part
    second: Part


@dataclass(frozen=True)
class MeanOverClasses(MetricKind):
    """The mean of a metric over classes or labels, such as macro F1. split: rows -> the parts that
    it is a mean over.

    classed: True if each row has one class. parts_have_all_rows: True if each part has all rows,
    False if a part has the rows of some classes only.
    """

    metric: Metric
    split: Callable[[Rows], Iterable[Part]]
    classed: bool = False
    parts_have_all_rows: bool = True

    def scarce(self, positives: Floats) -> bool:
        """True if the parts (classes or labels) are many and have few positives, so that the bias
        of each matters: then `leave_one_out` is the form to use, if there is one.

        positives: their number in each part. A metric of few positives is skewed and biased. In a
        mean of many parts the skewness averages out; the bias stays, and the interval is narrow.
        """
        parts = len(positives)
        has_few_positives = bool(positives.sum() < 2 * parts**2)  # below 2 · parts in a part
        has_form = self.parts_have_all_rows and self.metric.kind.leave_one_out is not None
        return has_form and parts >= MANY_PARTS and has_few_positives

    @property
    def leave_one_out(self) -> "MeanOverClasses":
        """The same mean with the form of its metric for few positives."""
        kind = self.metric.kind.leave_one_out
        assert kind is not None
        return replace(self, metric=replace(self.metric, kind=kind))

    @property
    def uses_decisions(self) -> bool:
        """True if it depends on the decisions alone."""
        return self.metric.kind.uses_decisions

    @property
    def summed(self) -> bool:
        """True if it can be computed from sums over rows."""
        return self.parts_have_all_rows and self.metric.kind.summed

    @property
    def selects_rows(self) -> bool:
        """True if two systems differ in the rows that count for the metric of the parts."""
        return self.metric.kind.selects_rows

    def strata(self, rows: Rows) -> np.ndarray | None:
        """The class of each row, if each row has one class."""
        return rows.actual if self.classed else None

    def parts(self, rows: Rows) -> Iterable[Part]:
        """The parts with their shares in the mean."""
        return self.split(rows)

    def influence_through_shares(self, rows: Rows, k: int | None, value: float) -> Floats | None:
        """How each row changes the mean by changing the shares of the parts, for a kind whose
        shares depend on the rows: here None, as the shares are fixed. value: the mean.
        """
        return None

    def value(self, rows: Rows, k: int | None) -> float:
        """The mean; undefined if there is no part, or if a part is undefined."""
        values = [part.share * self.metric.kind.value(part.rows, k) for part in self.parts(rows)]
        if not values:
            return float("nan")
        return float(sum(values))

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The mean over the parts (classes or labels), Σ share · metric of the part, and the
        influence of each row: Σ share · influence on the metric of the part, and what the row adds
        by changing the shares, if these depend on the rows.
        """
        values = []
        influence = np.zeros(len(rows))
        for part in self.parts(rows):
            effects = self.metric.kind.effects(part.rows, k)
            values.append(part.share * effects.value)
            influence += part.share * part.among_all(effects.influence, len(rows))
        value = sum(values) if values else float("nan")
        # None if the shares are fixed
        through_shares = self.influence_through_shares(rows, k, value)
        if through_shares is not None:
            influence = influence + through_shares
        return ValueAndInfluence(value, influence)

    def influence_on_difference(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference of two systems, first − second, in a mean
        over parts (classes or labels): Σ share · influence on the difference in the part. The kind
        of the metric has that influence. For a metric such as precision it is no difference of two
        influences: it is scaled under the null hypothesis of equal values, see `OwnShare`.

        If the systems have different parts, which cannot be compared one by one, the result is the
        difference of the influences on the two means. k: the cut-off of the metric.
        """
        pairs = self._pairs(first, second)
        if pairs is None:
            return self._influence_on_parts(first, k) - self._influence_on_parts(second, k)
        influence = np.zeros(len(first))
        # the two parts of a pair are the same rows of one class, with either system's predictions
        for part, part_of_second in pairs:
            on_part = self.metric.kind.influence_on_difference(part.rows, part_of_second.rows, k)
            # The shares are taken as fixed: those of the first system serve for both. For rows that
            # are not in the part the influence is 0.
            influence += part.share * part.among_all(on_part, len(first))
        return influence

    def _pairs(self, first: Rows, second: Rows) -> list[PartPair] | None:
        """The parts of the two systems, class by class; None if the systems have different parts,
        because some classes are predicted by one of the two alone.
        """
        first_parts = list(self.parts(first))
        second_parts = list(self.parts(second))
        # Both systems have the same rows, so that the actual values of a part, 1 for its class,
        # tell which class it is. They are all 0 for a class that is predicted but never actual;
        # which of such classes form a pair does not matter, as their metrics are constant without
        # positives, so that no row has any influence on them.
        first_classes = [part.rows.actual.tobytes() for part in first_parts]
        second_classes = [part.rows.actual.tobytes() for part in second_parts]
        if first_classes != second_classes:
            return None
        return [PartPair(*parts) for parts in zip(first_parts, second_parts, strict=True)]

    def _influence_on_parts(self, rows: Rows, k: int | None) -> Floats:
        """The influence of each row on the mean of one system, the shares of the parts taken as
        fixed.
        """
        influence = np.zeros(len(rows))
        for part in self.parts(rows):
            on_part = self.metric.kind.effects(part.rows, k).influence
            influence += part.share * part.among_all(on_part, len(rows))
        return influence


def _is_positive(rows: Rows) -> Bools:
    return np.asarray(rows.actual == 1)


@dataclass(frozen=True)
class Weighted(MeanOverClasses):
    """The mean in which the share of a part is in proportion to the weight of some of its rows, by
    default the positives. counted: the rows of a part -> a mask of these.
    """

    counted: Callable[[Rows], Bools] = _is_positive
    summed: ClassVar[bool] = False  # the shares of the parts vary with the rows

    def _counted_weights(self, part: Part) -> Floats:
        """The weight of each row of a part that counts for its share, 0 for the others."""
        return part.rows.weights * self.counted(part.rows)

    def parts(self, rows: Rows) -> Iterator[Part]:
        """The parts with a weight above 0, with their shares."""
        weights = [float(self._counted_weights(part).sum()) for part in self.split(rows)]
        total = sum(weights)
        # split again: the rows of all parts would need much memory at once
        for part, weight in zip(self.split(rows), weights, strict=True):
            if weight > 0:
                yield replace(part, share=weight / total)

    def influence_through_shares(self, rows: Rows, k: int | None, value: float) -> Floats:
        """The influence of each row on the mean through the shares of the parts. A row that is
        counted in a part (see `counted`), such as a positive of a class, raises the share of this
        part, and so adds weight · (metric of the part − mean) / Σ weights of the counted rows.

        k: the cut-off of the metric. value: the mean.
        """
        influence = np.zeros(len(rows))
        total = 0.0
        for part in self.parts(rows):
            weights = self._counted_weights(part)
            above_mean = self.metric.kind.value(part.rows, k) - value  # of the part's metric
            influence += part.among_all(weights * above_mean, len(rows))
            total += float(weights.sum())
        return ratio(influence, total)

    def influence_on_difference(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference first − second, through the parts and through
        the shares.
        """
        through_parts = super().influence_on_difference(first, second, k)
        of_first = self.influence_through_shares(first, k, self.value(first, k))
        of_second = self.influence_through_shares(second, k, self.value(second, k))
        return through_parts + of_first - of_second


class MetricPair(NamedTuple):
    """Two metrics that are combined."""

    first: Metric
    second: Metric


@dataclass(frozen=True)
class Harmonic(MetricKind):
    """The harmonic mean of two metrics; it is undefined if both are 0."""

    pair: MetricPair

    @property
    def uses_decisions(self) -> bool:
        """True if it depends on the decisions alone."""
        return all(metric.kind.uses_decisions for metric in self.pair)

    @property
    def summed(self) -> bool:
        """True if sums over rows suffice to compute it."""
        return all(metric.kind.summed for metric in self.pair)

    @property
    def selects_rows(self) -> bool:
        """True if each system selects the rows that either metric is a mean over."""
        return any(metric.kind.selects_rows for metric in self.pair)

    def strata(self, rows: Rows) -> np.ndarray | None:
        """The strata of the first of the two metrics, which both share."""
        return self.pair.first.kind.strata(rows)

    def mean(self, first: float, second: float) -> float:
        """2 a b / (a + b), the harmonic mean of two values."""
        return quotient(2 * first * second, first + second)

    def value(self, rows: Rows, k: int | None) -> float:
        """The harmonic mean of the two metrics."""
        return self.mean(self.pair.first.kind.value(rows, k), self.pair.second.kind.value(rows, k))

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The value, and the influence of each row by the delta method: the derivatives of 2 a b /
        (a + b), 2 b² / (a + b)² by a and 2 a² / (a + b)² by b, times its influences on a and b.
        """
        a = self.pair.first.kind.effects(rows, k)
        b = self.pair.second.kind.effects(rows, k)
        influence = _harmonic_influence(a.value, b.value, a.influence, b.influence)
        return ValueAndInfluence(self.mean(a.value, b.value), influence)

    def influence_on_difference(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference of two systems, first − second, in the
        harmonic mean 2 a b / (a + b) of two metrics: its derivatives 2 b² / (a + b)² and 2 a² / (a
        + b)² times the influence on the difference in a and in b. k: the cut-off of the metrics.
        """
        # The derivatives are those in the middle of the two systems: first order is then closer to
        # the difference than with those at one system, and the systems can be exchanged.
        kind_a = self.pair.first.kind
        kind_b = self.pair.second.kind
        a = float(np.mean([kind_a.value(first, k), kind_a.value(second, k)]))
        b = float(np.mean([kind_b.value(first, k), kind_b.value(second, k)]))
        on_a = kind_a.influence_on_difference(first, second, k)
        on_b = kind_b.influence_on_difference(first, second, k)
        return _harmonic_influence(a, b, on_a, on_b)


def _harmonic_influence(a: float, b: float, on_a: Floats, on_b: Floats) -> Floats:
    """The influence of each row on the harmonic mean 2 a b / (a + b) by the delta method, from its
    influences on a and on b: 2 (b² on_a + a² on_b) / (a + b)².
    """
    numerator = 2 * (b**2 * on_a + a**2 * on_b)
    return ratio(numerator, (a + b) ** 2)

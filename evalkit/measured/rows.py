"""The metrics of all systems on the same rows, from rows in memory or from sums over blocks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, ParameterError
from evalkit.caching import cached
from evalkit.catalogue.kinds import Centre, Loss, TermsKind
from evalkit.catalogue.metric import MetricAtK
from evalkit.catalogue.score_kinds import FunctionOfMeans, Median, MedianEstimate
from evalkit.limits import Limits
from evalkit.metrics.blocks import ALL_ROWS_GROUP, Block
from evalkit.metrics.moments import Moments, UnitSums, summed
from evalkit.metrics.rows import Rows
from evalkit.metrics.samples import Sample
from evalkit.metrics.summaries import Bundle
from evalkit.metrics.tallies import ValueCounts
from evalkit.statistics.statistic import Layout, RowStatistic, Statistic, layout_of_rows
from evalkit.statistics.summed import MomentStatistic, SampledMedian, TermProducts, has_units

OTHER_ROWS_LEFT_OUT = (
    "leaves rows out that differ by system, which needs all rows in memory; choose the systems one "
    "by one"
)
ALL_ROWS = slice(None)
MAX_STORED_ROWS = 2**24  # rows of all systems whose statistics of one metric stay in memory


def group_number(member: int | slice) -> int:
    """The number of the group of rows that `member` stands for. For all rows studies pass a Python
    slice such as `ALL_ROWS`; for a slice of a table that is not in memory they pass its number.
    """
    return ALL_ROWS_GROUP if isinstance(member, slice) else member


@dataclass(frozen=True, eq=False)
class RowsInMemory:
    """The metrics of all systems from rows in memory. rows: of each system, the same rows with its
    predictions. ids: returns the ids by which rows are paired.
    """

    rows: Mapping[str, Rows]
    ids: Callable[[], np.ndarray]

    in_memory: ClassVar[bool] = True

    @property
    def _first_rows(self) -> Rows:
        """The rows of the first system, for what all systems share."""
        return next(iter(self.rows.values()))

    @property
    def layout(self) -> Layout:
        """The layout of the sample: whether rows have units, and weights."""
        return layout_of_rows(self._first_rows)

    def measure(self, metric_at_k: MetricAtK, system: str, member: Bools | slice) -> RowStatistic:
        """The metric of a system on some rows. member: a mask, or a Python slice for all rows.

        The statistics of all rows are stored until another metric is measured, because each pair of
        systems needs them again. At most `MAX_STORED_ROWS` rows are stored.
        """
        if not isinstance(member, slice):
            selected = self.rows[system].take(member)
            return RowStatistic(metric_at_k, selected)
        self._forget_other_metrics(metric_at_k)
        stored = self._stored_statistics
        key = StatisticKey(metric_at_k, system)
        statistic = stored.get(key) or RowStatistic(metric_at_k, self.rows[system])
        if (len(stored) + 1) * len(statistic.rows) <= MAX_STORED_ROWS:
            stored[key] = statistic
        return statistic

    def _forget_other_metrics(self, metric_at_k: MetricAtK) -> None:
        """Drop the stored statistics if they are of another metric."""
        any_key = next(iter(self._stored_statistics), None)  # all keys have the same metric
        if any_key is not None and any_key.metric != metric_at_k:
            self._stored_statistics.clear()

    @cached_property
    def _stored_statistics(self) -> "dict[StatisticKey, RowStatistic]":
        """The stored statistics of all rows, of one metric at a time."""
        return {}


class StatisticKey(NamedTuple):
    """A metric and the name of a system."""

    metric: MetricAtK
    system: str


class TermsKey(NamedTuple):
    """A metric and a system, by their numbers in `TermAdder.metrics` and `TermAdder.centres`."""

    metric: int
    system: int


class ProductsKey(NamedTuple):
    """The numbers of a group of rows, a metric and a system."""

    group: int
    metric: int
    system: int


class ErrorsKey(NamedTuple):
    """The numbers of a group of rows and a system."""

    group: int
    system: int


@dataclass(frozen=True, eq=False)
class TermSums(Bundle):
    """The sums over rows from which metrics of forecasts follow. Groups of rows (all rows, then
    slices), systems and metrics are numbered.

    moments: of the columns of `TermAdder.moments`, by group. products: moments of the products of
    each two terms of a metric, from which the fourth powers of the units' influence follow. errors:
    the numbers of rows by forecast − actual.
    """

    moments: dict[int, Moments | UnitSums]
    products: dict[ProductsKey, Moments]
    errors: dict[ErrorsKey, ValueCounts]


@dataclass(frozen=True, eq=False)
class ForecastSummary(Bundle):
    """What is kept of a table of forecasts: the sums of its terms, and a sample of its rows."""

    terms: TermSums
    sample: Sample


@dataclass(frozen=True, eq=False)
class TermAdder:
    """Adds up the terms of metrics, numbers per row such as the squared error, over a block of
    rows: on all rows those of all metrics, on slices those of the first. Groups of rows (all
    rows, then slices), metrics and systems are numbered.

    centres: for each system, numbers near its actual values and forecasts. offsets: for each metric
    and system one number for each of its terms, which is subtracted from the term before products
    of terms are added up. It lies near the term, such as at its mean over some rows, so that the
    products keep more digits. Metrics that are not computed from terms have no offsets. max_units:
    the largest number of units whose sums are kept one by one. extra_columns: block -> columns that
    are added up beside the terms, such as influence values; `extra_width` is their number.
    rows_of_system: (block, system) -> rows, if predictions are more than one number per row; None:
    as `Block.rows` has them. counts_errors: True if all rows are counted by forecast error.
    """

    metrics: tuple[MetricAtK, ...]
    centres: Sequence[Centre]
    offsets: Mapping[TermsKey, Floats]
    max_units: int
    extra_columns: Callable[[Block], Floats] | None = None
    extra_width: int = 0
    rows_of_system: Callable[[Block, int], Rows] | None = None
    counts_errors: bool = True

    @staticmethod
    def from_heads(
        metrics: Sequence[MetricAtK],
        heads: Sequence[Block],
        max_units: int,
        extra_columns: Callable[[Block], Floats] | None = None,
        extra_width: int = 0,
    ) -> "TermAdder":
        """The adder of the terms of metrics of forecasts, with centres and offsets from some first
        rows of the table. Centres are the means of actual values and forecasts; offsets are those
        of `_offsets_of_terms`. Sums of products keep more digits if numbers near the values are
        subtracted first.

        heads: for each system a block of first rows; it has the predictions of all systems, or of
        this system alone. max_units, extra_columns, extra_width: the fields of the class.
        """
        actual = np.concatenate([head.truth for head in heads])
        indices_in_head = []  # of each system's predictions among those of its head
        centres = []
        for i, head in enumerate(heads):
            index = i if len(head.predictions) > 1 else 0
            indices_in_head.append(index)
            # a system without rows has no forecasts; they would lie near the actual values
            forecasts = head.predictions[index] if len(head) else actual
            centre = Centre(float(actual.mean()), float(forecasts.mean()))
            centres.append(centre)
        # without offsets at first: they are computed from the rows that `adder.rows` returns
        adder = TermAdder(
            tuple(metrics),
            centres,
            offsets={},
            max_units=max_units,
            extra_columns=extra_columns,
            extra_width=extra_width,
        )
        offsets = {}
        for m, metric_at_k in enumerate(metrics):
            kind = metric_at_k.metric.kind
            if not isinstance(kind, TermsKind):  # it is not computed from terms
                continue
            for i, head in enumerate(heads):
                rows = adder.rows(head, indices_in_head[i])
                terms = kind.terms(rows, metric_at_k.k, centres[i])
                offsets[TermsKey(m, i)] = _offsets_of_terms(kind, terms)
        return replace(adder, offsets=offsets)

    @staticmethod
    def uncentred_term_adder(
        metrics: Sequence[MetricAtK],
        systems: int,
        max_units: int,
        rows_of_system: Callable[[Block, int], Rows] | None = None,
    ) -> "TermAdder":
        """The adder for losses and ratios, whose terms need no centres. systems: their number."""
        keys = np.ndindex(len(metrics), systems)
        # a loss and a ratio have two terms: numerator and denominator
        offsets: dict[TermsKey, Floats] = {TermsKey(m, i): np.zeros(2) for m, i in keys}
        centres = [Centre(0.0, 0.0)] * systems
        return TermAdder(tuple(metrics), centres, offsets, max_units, rows_of_system=rows_of_system)

    @property
    def slice_metric_is_median(self) -> bool:
        """True if the metric of the slices, the first one, is a median."""
        return bool(self.metrics) and isinstance(self.metrics[0].metric.kind, Median)

    def offsets_of_means(self, key: TermsKey) -> Floats:
        """The offsets of the means of a function of means, one per mean: all `offsets` but the
        first, which is that of the constant term 1.
        """
        return self.offsets[key][1:]

    def rows(self, block: Block, system: int) -> Rows:
        """The actual values and the predictions of a system, without weights and units, as these
        come in when the terms are added up.
        """
        if self.rows_of_system is not None:
            return self.rows_of_system(block, system)
        return replace(block.rows(system), weight=None, unit=None)

    def moments(self, block: Block, group: int) -> Moments | UnitSums:
        """The moments, over units or rows, of these columns of a block, from which the value and
        the standard error of each metric follow: the weight; the `extra_columns` and the terms
        of each system and metric, each times the weight. group: the number of the group of rows
        that the block has, all rows or a slice, which decides which metrics are added up.
        """
        return summed(block, partial(self._columns, group=group), self.max_units)

    def moments_of_products(self, block: Block, group: int) -> dict[ProductsKey, Moments]:
        """The moments of the products of each two terms of a metric (the numbers per row whose sums
        give the metric), by metric and system.

        They serve metrics whose confidence limits use the fourth powers of the units' influence;
        other metrics have none. The influence is a linear combination of the terms, and so its
        square is one of their products. The moments of the products give the sum of its fourth
        powers. The `offsets` are subtracted from the terms first, which keeps digits.

        The dict is empty if the rows of a unit may be in several blocks, as a product needs the
        whole sum of a unit. group: the number of the group of rows that the block has, all rows or
        a slice.
        """
        if block.units_split:
            return {}
        moments = {}
        systems = range(len(block.predictions))
        for metric in self._metrics_in(group):
            if self.metrics[metric].metric.kind.limits_use_fourth_powers:
                for system in systems:
                    terms = partial(self._centred_terms, key=TermsKey(metric, system))
                    key = ProductsKey(group, metric, system)
                    # squared: of the products of each two terms; max_units=0: only their sums are
                    # needed, so that no single unit is kept
                    moments[key] = Moments.from_block(block, terms, max_units=0, squared=True)
        return moments

    def sums(self, block: Block, limits: Limits) -> TermSums:
        """The sums of a block of rows, for all rows and for each slice: the moments of the terms
        and of their products, and the number of rows by forecast error, in bins. Slices have the
        errors only if their metric is a median, which is computed from them.

        limits: of the number of bins, for all rows and for slices.
        """
        moments = dict[int, Moments | UnitSums]()
        products = dict[ProductsKey, Moments]()
        errors = dict[ErrorsKey, ValueCounts]()
        for group, rows in block.groups():
            moments[group] = self.moments(rows, group)
            products |= self.moments_of_products(rows, group)
            if group == ALL_ROWS_GROUP:
                if self.counts_errors:  # the page shows them whatever the metrics are
                    errors |= error_counts(rows, group, limits.bins)
            elif self.slice_metric_is_median:
                errors |= error_counts(rows, group, limits.slice_bins)
        return TermSums(moments, products, errors)

    def term_columns(self, group: int, key: TermsKey) -> slice:
        """Which columns of `moments` are the terms of a metric and system. First come the weight
        and the extra columns, then system by system the terms of each metric that is measured in
        the group.
        """
        start = 1 + self.extra_width  # after the weight and the extra columns
        for system in range(len(self.centres)):  # one centre per system
            for metric in self._metrics_in(group):
                key_at_start = TermsKey(metric, system)
                # one offset per term; a metric that is not computed from terms has no columns
                stop = start + len(self.offsets.get(key_at_start, ()))
                if key_at_start == key:
                    return slice(start, stop)
                start = stop
        raise ValueError(f"no terms of metric {key.metric} and system {key.system}")

    def _metrics_in(self, group: int) -> range:
        """The numbers of the metrics that are measured in a group: the first alone in slices."""
        all_metrics = range(len(self.metrics))
        return all_metrics if group == ALL_ROWS_GROUP else all_metrics[:1]

    def _columns(self, block: Block, group: int) -> Floats:
        """The columns of `moments` for each row of a block, shape (columns, rows): the weight;
        then, each times the weight, the `extra_columns` and, system by system, the terms of
        each metric that is measured in the group.
        """
        weights = block.weights
        columns = [weights]
        if self.extra_columns is not None:
            columns += [weights * column for column in self.extra_columns(block)]
        for system in range(len(block.predictions)):
            rows = self.rows(block, system)
            for metric in self._metrics_in(group):
                key = TermsKey(metric, system)
                if key in self.offsets:  # the metric is computed from terms
                    columns += [weights * term for term in self._terms(rows, key)]
        return np.array(columns)

    def _terms(self, rows: Rows, key: TermsKey) -> Sequence[Floats]:
        """The terms of a metric and system on these rows of the system, unweighted."""
        metric_at_k = self.metrics[key.metric]
        kind = metric_at_k.metric.kind
        assert isinstance(kind, TermsKind)
        return kind.terms(rows, metric_at_k.k, self.centres[key.system])

    def _centred_terms(self, block: Block, key: TermsKey) -> Floats:
        """The terms of a metric and system less their `offsets`, times the weights of the rows;
        shape (terms, rows).
        """
        terms = np.array(self._terms(self.rows(block, key.system), key))
        offsets = self.offsets[key][:, None]  # one row per term
        return (terms - offsets) * block.weights


def _offsets_of_terms(kind: TermsKind, terms: Sequence[Floats]) -> Floats:
    """The offset of each term of a metric, see `TermAdder`; shape (terms,). For a function
    of means, whose terms are multiplied with each other, it is the mean of the term, but 0 for the
    first term, the constant 1. For any other kind, and without rows, all offsets are 0.

    terms: each with a number for each of the first rows of the table.
    """
    offsets = np.zeros(len(terms))
    if isinstance(kind, FunctionOfMeans) and len(terms[0]):
        _constant, *columns = terms
        offsets[1:] = [np.mean(column) for column in columns]
    return offsets


def error_counts(rows: Block, group: int, max_bins: int) -> dict[ErrorsKey, ValueCounts]:
    """For each system the number of rows by forecast − actual, in at most `max_bins` bins; if rows
    are weighted, also the sums of their weights and of their squared weights. group: the number of
    the group that the rows are.
    """
    weight_columns = []
    if rows.weight is not None:
        # a median is computed from the weights by error; its standard error needs Σ weight²
        weight_columns = [rows.weight, rows.weight**2]
    counts = {}
    for system, forecast in enumerate(rows.predictions):
        error = forecast - rows.truth
        counts[ErrorsKey(group, system)] = ValueCounts.from_values(error, weight_columns, max_bins)
    return counts


@dataclass(frozen=True, eq=False)
class SummedForecasts:
    """The metrics of forecasts whose table was read in blocks, from its sums. term_adder: which
    sums these are. layout: whether rows have units, and weights.
    """

    systems: tuple[str, ...]
    term_adder: TermAdder
    summary: ForecastSummary
    layout: Layout

    @property
    def groups(self) -> Collection[int]:
        """The numbers of the groups of rows: `ALL_ROWS_GROUP` and those of slices."""
        return self.summary.terms.moments.keys()

    def weight_of_group(self, group: int) -> float:
        """The total weight of the rows of a group."""
        moments = self.summary.terms.moments[group].moments
        mean_of_units = moments.mean[0]  # the first column is the weight
        return float(mean_of_units * moments.n)

    @property
    def in_memory(self) -> bool:
        """True if every unit is in memory."""
        return has_units(self.summary.terms.moments[ALL_ROWS_GROUP].moments)

    def measure(self, metric_at_k: MetricAtK, system: str, member: int | slice) -> Statistic:
        """The metric of a system in a group of rows. member: the number of the group, or a Python
        slice for all rows, as for rows in memory.
        """
        group = group_number(member)
        i = self.systems.index(system)
        if isinstance(metric_at_k.base.metric.kind, Median):
            return self._median(metric_at_k, group, i)
        return self._function_of_sums(metric_at_k, group, i)

    def _median(self, metric_at_k: MetricAtK, group: int, i: int) -> SampledMedian:
        """A median of the absolute errors of system i in a group of rows. Its value follows from
        the counts of all rows by error. Its standard error comes from a sample of the rows, as the
        influence of a row depends on the median, which is known only when the table has been read.
        """
        moments = self.summary.terms.moments[group].moments
        n = moments.n
        effective_units = float(n)  # by Kish
        if self.layout is not Layout.PLAIN:
            effective_units = moments.kish(column=0)  # column 0 is the weight
        return SampledMedian(
            metric_at_k,
            median=self.median_estimate(metric_at_k, group, i),
            sample=self.summary.sample,
            system=i,
            member=self._sampled_rows_in(group),
            layout=self.layout,
            n=n,
            freedom=effective_units - 1,
        )

    def _function_of_sums(self, metric_at_k: MetricAtK, group: int, i: int) -> MomentStatistic:
        """A metric of system i in a group of rows that is a function of the sums of its terms, such
        as the mean squared error. If the confidence limits of the metric use the kurtosis of the
        units' influence, the statistic also has the moments of the products of each two terms, from
        which the kurtosis follows.
        """
        key = TermsKey(self.term_adder.metrics.index(metric_at_k.base), system=i)
        products_key = ProductsKey(group, key.metric, key.system)
        # `moments_of_products` has none of a metric whose limits need no kurtosis, and none at all
        # if the rows of a unit may be in several blocks
        products = None
        if products_key in self.summary.terms.products:
            # the products are of terms less their offsets: the statistic has to know the offsets
            offsets = self.term_adder.offsets_of_means(key)
            products = TermProducts(self.summary.terms.products[products_key], offsets)
        return MomentStatistic(
            metric_at_k,
            moments=self.summary.terms.moments[group].moments,
            term_columns=self.term_adder.term_columns(group, key),
            layout=self.layout,
            products=products,
        )

    @cached
    def median_estimate(self, metric_at_k: MetricAtK, group: int, i: int) -> MedianEstimate:
        """The median of the absolute errors of system i in a group of rows, with what the influence
        of a row on it needs.
        """
        kind = metric_at_k.base.metric.kind
        assert isinstance(kind, Median)
        errors = self.summary.terms.errors[ErrorsKey(group, i)]
        # columns by error: the number of rows and, if rows are weighted, the sums of their weights
        # and of their squared weights, see `_error_counts`
        rows, *weight_columns = errors.merged.sums
        weighted = len(weight_columns) > 0
        squared_weights = rows  # of unweighted rows each weight is 1, and so is its square
        if weighted:
            _weights, squared_weights = weight_columns
        absolute_errors = errors.distribution(weighted=weighted).sizes()
        # Σ weight² tells how many rows of equal weight the rows are worth
        sum_of_squares = float(squared_weights.sum())
        return kind.estimate(absolute_errors, sum_of_squares, weighted=weighted)

    def _sampled_rows_in(self, group: int) -> Bools | slice:
        """The rows of the sample that belong to a group: a mask, or a slice for all."""
        if group == ALL_ROWS_GROUP:
            return slice(None)
        # one array for each way to cut the rows into slices: a row is in at most one of each
        slices = self.summary.sample.rows.slices
        in_group = [slice_of_row == group for slice_of_row in slices]
        return np.asarray(np.any(in_group, axis=0))

    def refuse_losses_on_unlike_rows(self) -> None:
        """Raise ParameterError for a loss that is undefined on other rows for one system than for
        another. Two systems are compared on the rows on which both have a loss, and sums over the
        rows of each system do not tell the common rows. Rows are taken as the same if their weights
        add up to the same.
        """
        for metric_at_k in self.term_adder.metrics:
            if isinstance(metric_at_k.metric.kind, Loss):
                distinct_weights = set[float]()
                for i in range(len(self.systems)):
                    loss = self._function_of_sums(metric_at_k, ALL_ROWS_GROUP, i)
                    distinct_weights.add(weight_of_counted_rows(loss))
                if len(distinct_weights) > 1:
                    raise ParameterError(f"metrics: {metric_at_k.label} {OTHER_ROWS_LEFT_OUT}")


def weight_of_counted_rows(loss: MomentStatistic) -> float:
    """The weight of the rows on which a loss is defined: the sum of the second of its two terms,
    the denominator.
    """
    return float(loss.totals[1])


def refuse_unsummed(metrics: Sequence[MetricAtK], rows: int) -> None:
    """Raise ParameterError for a metric that cannot be computed from sums and counted errors."""
    for metric_at_k in metrics:
        if not isinstance(metric_at_k.base.metric.kind, TermsKind | Median):
            raise ParameterError(
                f"metrics: {metric_at_k.label} needs all rows in memory, got {rows:,} rows"
            )

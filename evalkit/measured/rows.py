"""The metrics of all systems on the same rows, from rows in memory or from sums over blocks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, ParameterError
from evalkit.catalogue.kinds import Centre, Loss, RatioOfRows, TermsKind
from evalkit.catalogue.metric import Chosen
from evalkit.catalogue.score_kinds import FunctionOfMeans, Median, MedianEstimate
from evalkit.limits import Limits
from evalkit.metrics.blocks import Block
from evalkit.metrics.moments import Moments, UnitSums, summed
from evalkit.metrics.rows import Rows
from evalkit.metrics.samples import Sample
from evalkit.metrics.summaries import Bundle
from evalkit.metrics.tallies import ValueCounts
from evalkit.statistics.statistic import Layout, RowStatistic, Statistic, layout_of_rows
from evalkit.statistics.summed import MomentStatistic, SampledMedian, Squares, has_units
from evalkit.system import cached

UNLIKE = (
    "leaves rows out that differ by system, which needs all rows in memory; choose the systems one "
    "by one"
)
MAX_STORED_ROWS = 2**24  # rows of all systems whose statistics of one metric stay in memory


@dataclass(frozen=True, eq=False)
class RowsInMemory:
    """All systems on the same rows in memory. ids: the ids by which rows are paired, if they are
    needed.
    """

    rows: Mapping[str, Rows]
    ids: Callable[[], np.ndarray]

    in_memory: ClassVar[bool] = True

    @property
    def layout(self) -> Layout:
        """The layout of the sample."""
        return layout_of_rows(next(iter(self.rows.values())))

    def measure(self, chosen: Chosen, system: str, member: Bools | slice) -> RowStatistic:
        """The metric of a system; a slice is all rows."""
        if not isinstance(member, slice):
            return RowStatistic(chosen, self.rows[system].take(member))
        # Statistics of all rows are kept, because each pair of systems needs them again. They are
        # dropped once another metric is measured.
        self._forget_other_metrics(chosen)
        stored = self._stored_statistics
        key = StatisticKey(chosen, system)
        statistic = stored.get(key) or RowStatistic(chosen, self.rows[system])
        if (len(stored) + 1) * len(statistic.rows) <= MAX_STORED_ROWS:
            stored[key] = statistic
        return statistic

    def _forget_other_metrics(self, chosen: Chosen) -> None:
        """Drop the stored statistics if they are of another metric."""
        any_key = next(iter(self._stored_statistics), None)  # all keys have the same metric
        if any_key is not None and any_key.metric != chosen:
            self._stored_statistics.clear()

    @cached_property
    def _stored_statistics(self) -> "dict[StatisticKey, RowStatistic]":
        """The statistics of all rows, of one metric at a time."""
        return {}


class StatisticKey(NamedTuple):
    """A metric and the name of a system."""

    metric: Chosen
    system: str


class TermsKey(NamedTuple):
    """The numbers of a metric and of a system, in the order of `Terms`."""

    metric: int
    system: int


class SquaresKey(NamedTuple):
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
    """The sums over blocks from which metrics of forecasts follow. Groups (slices; 0 is all rows),
    systems and metrics are numbered.

    moments: of the columns of `Terms`, by group. squares: moments of products of terms. errors: the
    rows by error, with its sign.
    """

    moments: dict[int, Moments | UnitSums]
    squares: dict[SquaresKey, Moments]
    errors: dict[ErrorsKey, ValueCounts]


@dataclass(frozen=True, eq=False)
class ForecastSummary(Bundle):
    """The summary of a table of forecasts: the sums of its terms, and a sample of its rows."""

    terms: TermSums
    sample: Sample


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of metrics that are added up over a block: for all rows those of all metrics, for
    slices those of the first.

    centres: for each system, numbers near its actual values and forecasts. near: a number near each
    term of a metric and system; metrics that are not computed from terms are missing. Products are
    added up of the terms less the numbers near them, which keeps digits. max_units: the largest
    number of units whose terms are kept one by one. further: a function to further columns,
    `further_width` of them, which are added up by weight and unit like the terms. rows_of: the
    actual values and the predictions of a system, if they are more than one number or come with
    further columns.
    """

    metrics: tuple[Chosen, ...]
    centres: Sequence[Centre]
    near: Mapping[TermsKey, Floats]
    max_units: int
    further: Callable[[Block], Floats] | None = None
    further_width: int = 0
    rows_of: Callable[[Block, int], Rows] | None = None

    @staticmethod
    def from_heads(
        metrics: Sequence[Chosen],
        heads: Sequence[Block],
        max_units: int,
        further: Callable[[Block], Floats] | None = None,
        further_width: int = 0,
    ) -> "Terms":
        """The terms of these metrics. heads: some first rows of each system, from which the centres
        are computed; they have the predictions of all systems, or of their own system alone.
        """
        actual = np.concatenate([head.truth for head in heads])
        # the number of each system among the predictions of its own head
        places = [i if len(head.predictions) > 1 else 0 for i, head in enumerate(heads)]
        centres = []
        for head, place in zip(heads, places, strict=True):
            forecasts = head.predictions[place] if len(head) else actual
            centres.append(Centre(float(actual.mean()), float(forecasts.mean())))
        terms = Terms(
            tuple(metrics),
            centres,
            near={},
            max_units=max_units,
            further=further,
            further_width=further_width,
        )
        near = {}
        for m, chosen in enumerate(metrics):
            kind = chosen.metric.kind
            if not isinstance(kind, TermsKind):
                continue
            for i, head in enumerate(heads):
                columns = kind.terms(terms.rows(head, places[i]), chosen.k, centres[i])
                near_terms = np.zeros(len(columns))  # sums and their ratios stay as they are
                if isinstance(kind, FunctionOfMeans) and len(head):
                    _, *numbers = columns  # the first term of each row is the constant 1
                    near_terms[1:] = [np.mean(column) for column in numbers]
                near[TermsKey(m, i)] = near_terms
        return replace(terms, near=near)

    @staticmethod
    def uncentred(
        metrics: Sequence[Chosen],
        systems: int,
        max_units: int,
        rows_of: Callable[[Block, int], Rows] | None = None,
    ) -> "Terms":
        """The terms of losses and ratios, without centres."""
        keys = np.ndindex(len(metrics), systems)
        # a loss and a ratio have two terms: numerator and denominator
        near: dict[TermsKey, Floats] = {TermsKey(m, i): np.zeros(2) for m, i in keys}
        centres = [Centre(0.0, 0.0)] * systems
        return Terms(tuple(metrics), centres, near, max_units, rows_of=rows_of)

    @property
    def slice_metric_is_median(self) -> bool:
        """True if the metric of the slices is a median."""
        return bool(self.metrics) and isinstance(self.metrics[0].metric.kind, Median)

    def near_means(self, key: TermsKey) -> Floats:
        """The numbers near the means of a function of means: all of `near` but the first, which
        belongs to the constant 1.
        """
        return self.near[key][1:]

    def rows(self, block: Block, system: int) -> Rows:
        """The actual values and a system's predictions."""
        if self.rows_of:
            return self.rows_of(block, system)
        return replace(block.rows(system), weight=None, unit=None)

    def moments(self, block: Block, group: int) -> Moments | UnitSums:
        """The moments of the weight, the further columns, and the terms of each system and metric,
        all by weight.
        """
        return summed(block, partial(self._columns, group=group), self.max_units)

    def squares(self, block: Block, group: int) -> dict[SquaresKey, Moments]:
        """The moments of the products of two terms, for metrics whose limits use fourth powers;
        empty if units are split over blocks.
        """
        if block.units_split:
            return {}
        moments = {}
        for m in self._metrics_in(group):
            if isinstance(self.metrics[m].metric.kind, FunctionOfMeans | RatioOfRows):
                for i in range(len(block.predictions)):
                    columns = partial(self._centred_terms, key=TermsKey(m, i))
                    key = SquaresKey(group, m, i)
                    moments[key] = Moments.from_block(block, columns, max_units=0, squared=True)
        return moments

    def sums(self, block: Block, limits: Limits) -> TermSums:
        """The sums of a block, for all rows and for each slice."""
        moments = dict[int, Moments | UnitSums]()
        squares = dict[SquaresKey, Moments]()
        errors = dict[ErrorsKey, ValueCounts]()
        for group, rows in block.groups():
            moments[group] = self.moments(rows, group)
            squares |= self.squares(rows, group)
            all_rows = group == 0
            if not (all_rows or self.slice_metric_is_median):
                continue
            max_bins = limits.bins if all_rows else limits.slice_bins
            # a median uses the weight by error, and the squared weights for its precision
            weights = [] if rows.weight is None else [rows.weight, rows.weight**2]
            for i, forecast in enumerate(rows.predictions):
                error = forecast - rows.truth
                errors[ErrorsKey(group, i)] = ValueCounts.from_values(error, weights, max_bins)
        return TermSums(moments, squares, errors)

    def place(self, group: int, m: int, i: int) -> slice:
        """The position of a metric's terms for a system among the columns of `moments`."""
        metrics = self._metrics_in(group)
        keys = [
            TermsKey(metric, system) for system in range(len(self.centres)) for metric in metrics
        ]
        term_counts = [len(self.near.get(key, ())) for key in keys]
        position = keys.index(TermsKey(m, i))
        before = 1 + self.further_width  # the weight and the further columns
        start = before + sum(term_counts[:position])
        return slice(start, start + term_counts[position])

    def _metrics_in(self, group: int) -> range:
        """The numbers of the metrics that are measured in a group: the first alone in slices."""
        return range(len(self.metrics[:1] if group else self.metrics))

    def _columns(self, block: Block, group: int) -> Floats:
        """The columns of `moments`, one row per column."""
        weights = block.weights
        columns = [weights]
        if self.further is not None:
            columns += [weights * column for column in self.further(block)]
        for i in range(len(block.predictions)):
            rows = self.rows(block, i)
            for m in self._metrics_in(group):
                key = TermsKey(m, i)
                if key in self.near:  # it is computed from terms
                    columns += [weights * term for term in self._terms(rows, key)]
        return np.array(columns)

    def _terms(self, rows: Rows, key: TermsKey) -> Sequence[Floats]:
        """The terms of a metric on the rows of a system, unweighted."""
        chosen = self.metrics[key.metric]
        kind = chosen.metric.kind
        assert isinstance(kind, TermsKind)
        return kind.terms(rows, chosen.k, self.centres[key.system])

    def _centred_terms(self, block: Block, key: TermsKey) -> Floats:
        """The terms of a metric and a system less the numbers near them, which keeps digits; by
        weight, one row per term.
        """
        terms = np.array(self._terms(self.rows(block, key.system), key))
        return np.asarray((terms - self.near[key][:, None]) * block.weights)


@dataclass(frozen=True, eq=False)
class SummedForecasts:
    """The metrics of a study whose table was read in blocks, from its summary. layout: of the
    sample.
    """

    systems: tuple[str, ...]
    terms: Terms
    summary: ForecastSummary
    layout: Layout

    @property
    def groups(self) -> Collection[int]:
        """The numbers of the groups of rows; 0 stands for all rows."""
        return self.summary.terms.moments.keys()

    @property
    def in_memory(self) -> bool:
        """True if every unit is in memory."""
        return has_units(self.summary.terms.moments[0].moments)

    def measure(self, chosen: Chosen, system: str, member: int | slice) -> Statistic:
        """The metric of a system in a group; a slice is all rows."""
        group = 0 if isinstance(member, slice) else member
        i = self.systems.index(system)
        if isinstance(chosen.base.metric.kind, Median):
            return self._median(chosen, group, i)
        return self._function_of_sums(chosen, group, i)

    def _median(self, chosen: Chosen, group: int, i: int) -> SampledMedian:
        """A median of a system in a group."""
        moments = self.summary.terms.moments[group].moments
        n = moments.n
        kish = float(n)
        if self.layout is not Layout.PLAIN:
            kish = moments.kish(0)  # of the first column, the weight
        return SampledMedian(
            chosen,
            self.middle(chosen, group, i),
            self.summary.sample,
            i,
            self._sampled_rows_in(group),
            self.layout,
            n,
            kish - 1,
        )

    def _function_of_sums(self, chosen: Chosen, group: int, i: int) -> MomentStatistic:
        """A metric of a system in a group that is computed from sums of terms."""
        m = self.terms.metrics.index(chosen.base)
        moments = self.summary.terms.moments[group].moments
        key = SquaresKey(group, m, i)
        squares = None
        if key in self.summary.terms.squares:
            near = self.terms.near_means(TermsKey(m, i))
            squares = Squares(self.summary.terms.squares[key], near)
        return MomentStatistic(chosen, moments, self.terms.place(group, m, i), self.layout, squares)

    @cached
    def middle(self, chosen: Chosen, group: int, i: int) -> MedianEstimate:
        """The median of the absolute errors."""
        kind = chosen.base.metric.kind
        assert isinstance(kind, Median)
        errors = self.summary.terms.errors[ErrorsKey(group, i)]
        # by error: the number of rows, and if rows are weighted, the sums of `Terms.sums`
        rows, *weight_sums = errors.merged.sums
        weighted = bool(weight_sums)
        squared_weights = rows  # of unweighted rows each weight is 1, and so is its square
        if weighted:
            _, squared_weights = weight_sums
        sizes = errors.distribution(weighted=weighted).sizes()
        return kind.estimate(sizes, float(squared_weights.sum()), weighted=weighted)

    def _sampled_rows_in(self, group: int) -> Bools | slice:
        """The rows of the sample that belong to a group."""
        if not group:
            return slice(None)
        slices = self.summary.sample.rows.slices
        return np.asarray(np.any([column == group for column in slices], axis=0))

    def refuse_unlike(self) -> None:
        """Raise ParameterError for a loss that leaves out other rows for each system: pairing needs
        the rows.
        """
        for chosen in self.terms.metrics:
            if isinstance(chosen.metric.kind, Loss):
                systems = range(len(self.systems))
                weights = {
                    weight_of_counted_rows(self._function_of_sums(chosen, 0, i)) for i in systems
                }
                if len(weights) > 1:
                    raise ParameterError(f"metrics: {chosen.label} {UNLIKE}")


def weight_of_counted_rows(loss: MomentStatistic) -> float:
    """The weight of the rows that count for a loss: the sum of the second of its two terms."""
    return float(loss.totals[1])


def refuse_unsummed(metrics: Sequence[Chosen], rows: int) -> None:
    """Raise ParameterError for a metric that cannot be computed from sums and counted errors."""
    for chosen in metrics:
        if not isinstance(chosen.base.metric.kind, TermsKind | Median):
            raise ParameterError(
                f"metrics: {chosen.label} needs all rows in memory, got {rows:,} rows"
            )

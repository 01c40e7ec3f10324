"""Gaps of metrics between the groups of a column: each group against a reference, the largest gap,
and what cannot hold at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import numpy as np

from evalkit.arrays import ROUNDING, Floats, ParameterError, codes, ratio
from evalkit.catalogue.kinds import Loss, Share
from evalkit.catalogue.metric import MetricAtK, TransformedMetric
from evalkit.catalogue.score_kinds import Area
from evalkit.parameters.kinds import did_you_mean
from evalkit.reading.tables.table import Slice, slices
from evalkit.statistics import groups, inference
from evalkit.statistics.area_gaps import GroupAreas
from evalkit.statistics.groups import (
    GroupEstimates,
    GroupMeans,
    GroupShares,
    GroupValues,
    MeanOfGroup,
)
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.largest_gap import LargestGap, largest_gap
from evalkit.statistics.methods import RandomStream
from evalkit.statistics.significance import equivalence_level
from evalkit.statistics.spread import Interval
from evalkit.statistics.statistic import Layout, RowStatistic, ScoreStatistic, Statistic

if TYPE_CHECKING:
    from evalkit.studies.study import Row, Study

FEW_CASES = 10  # of a group; with fewer, a rate says next to nothing
HIGHER = "higher"
LOWER = "lower"
EQUIVALENT = "equivalent"
CANNOT_TELL = "cannot tell"
DIFFERENT = "different"


@dataclass(frozen=True, eq=False)
class GroupedMetric:
    """A metric of one system in each group of a column.

    group_slices: the groups, which are known by their number in this sequence. reference: the
    number of the group with which the others are compared. margin: gaps within plus or minus this
    value are equivalent; None for no verdict of equivalence.
    """

    study: Study
    chosen: MetricAtK
    system: str
    group_slices: Sequence[Slice]
    reference: int
    margin: float | None

    @cached_property
    def statistics(self) -> list[Statistic]:
        """The metric in each group."""
        return [
            self.study.measure(self.chosen, self.system, group.member)
            for group in self.group_slices
        ]

    def estimate(self, group: int, level: float) -> Estimate:
        """The metric in a group with the interval that it has there alone."""
        options = replace(self.study.inference_options(RandomStream.ESTIMATES), level=level)
        return inference.estimate(self.statistics[group], options)

    @cached_property
    def cases(self) -> list[int]:
        """The number of cases in each group: rows, or units, in the smallest class of rows that the
        metric depends on, such as the positive ones.
        """
        return [_cases(statistic) for statistic in self.statistics]

    @cached_property
    def values(self) -> GroupValues:
        """The values of the groups in the form from which gaps and their limits are computed: from
        counts if the metric is a share or an area under the ROC curve, as there are limits for
        these that also hold in small groups; else from the interval of each group.
        """
        # the functions give None for a metric of another kind
        shares = [share for share in map(_share_counts, self.statistics) if share is not None]
        if len(shares) == len(self.statistics):
            hits = np.array([share.hits for share in shares], float)
            rows = np.array([share.n for share in shares], float)
            return GroupShares(hits, rows)
        areas = [area for area in map(_area, self.statistics) if area is not None]
        if len(areas) < len(self.statistics):
            means = self._means
            if any(mean is not None for mean in means):
                return GroupMeans(self.estimate, self._correlation, means)
            # `estimate`: (group, level) -> the metric in the group, with its interval
            return GroupEstimates(self.estimate, self._correlation)
        return GroupAreas(
            self.estimate,
            self._correlation,
            areas=[area.value for area in areas],
            positives=[area.positives for area in areas],
            negatives=[area.negatives for area in areas],
            slope=areas[0].slope,  # of the metric as a linear function of the area, in all groups
        )

    @property
    def _means(self) -> list[MeanOfGroup | None]:
        """The mean in each group whose metric is one of bounded losses, and which shows how these
        vary: it has `FEW_CASES` rows of each actual value, such as of positives and negatives, and
        its losses are not all equal. None for another group.
        """
        means: list[MeanOfGroup | None] = []
        for group, statistic in enumerate(self.statistics):
            mean = None
            if _is_mean_of_bounded_losses(statistic) and self._rarest_actual[group] >= FEW_CASES:
                spread = statistic.spread
                if spread.error > ROUNDING * (statistic.metric.high - statistic.metric.low):
                    mean = MeanOfGroup(
                        statistic.value, spread.error, spread.skewness, int(spread.n)
                    )
            means.append(mean)
        return means

    @cached_property
    def _rarest_actual(self) -> list[int]:
        """How many rows of each group have the actual value that is rarest there, of those that
        occur in any group: the positives or the negatives, for example. Asked only of metrics that
        are computed from rows in every group.
        """
        actual_by_group = [s.rows.actual for s in self.statistics if isinstance(s, RowStatistic)]
        values = np.unique(np.concatenate(actual_by_group))
        rarest = []
        for actual in actual_by_group:
            rows_by_value = np.bincount(np.searchsorted(values, actual), minlength=len(values))
            rarest.append(int(rows_by_value.min()))
        return rarest

    @property
    def _correlation(self) -> Floats:
        """The correlation of the sampling errors of each two groups, (groups, groups), which comes
        from the units with rows in both groups.

        A correlation above 0 narrows the limits of a gap. To be on the safe side it is taken for 0
        with fewer than `FEW_CASES` common units; one below 0 is kept. The identity if each row is a
        unit, or if a group's metric is not computed from rows.
        """
        n_groups = len(self.group_slices)
        independent: Floats = np.eye(n_groups)
        unit = self.study.unit  # of each row; None if each row is a unit
        statistics = [s for s in self.statistics if isinstance(s, RowStatistic)]
        if unit is None or len(statistics) < n_groups:
            return independent
        unit_number, unit_names = codes(unit)
        # The influence of a unit on a group's metric, how far it moves it to first order, so that
        # sums of products over units are covariances. 0 for a unit without rows in the group, and
        # for a group without a value.
        influence = np.zeros((len(unit_names), n_groups))
        presence = np.zeros((len(unit_names), n_groups))  # 1 if a unit has rows in a group
        for group, statistic in enumerate(statistics):
            if not np.isnan(statistic.value):
                units = unit_number[self.group_slices[group].member]
                influence[:, group] = np.bincount(units, statistic.row_influence, len(unit_names))
                presence[units, group] = 1
        covariance = influence.T @ influence  # of the groups' values, (groups, groups)
        error = np.sqrt(np.diag(covariance))  # the standard error of each group's value
        correlation = np.nan_to_num(ratio(covariance, np.outer(error, error)))
        shared_units = presence.T @ presence
        may_be_chance = shared_units < FEW_CASES
        correlation[may_be_chance] = np.minimum(correlation[may_be_chance], 0)
        np.fill_diagonal(correlation, 1.0)
        return correlation

    @cached_property
    def largest(self) -> LargestGap | None:
        """The largest gap; None if fewer than two groups have a value."""
        level = self.study.settings.level
        return largest_gap(self.values, level, rng=self.study.rng(14))

    def rows(self) -> Iterator[Row]:
        """A row for each group: column, metric, system, group, n, cases, its value with limits,
        reference, its gap and its ratio to the reference with limits, verdict. In the row of the
        reference gap and ratio are NaN, and the verdict is "".

        The limits of gaps and ratios are simultaneous over all groups: they all hold together at
        the level of the study. The limits of a value hold for this group alone, and a verdict of
        equivalence for this gap alone.
        """
        level = self.study.settings.level
        values = self.values.values
        # all limits hold together at `level` if each of them is at this higher level
        level_of_each = self._level_of_each()
        # tables with the limits of each group minus each other group, (groups, groups)
        simultaneous = self.values.differences(level_of_each)
        at_equivalence_level = self.values.differences(equivalence_level(level))
        for group, group_slice in enumerate(self.group_slices):
            alone = self.estimate(group, level)
            row: Row = {
                "column": group_slice.column,
                "metric": self.chosen.label,
                "system": self.system,
                "group": group_slice.label,
                "n": self.statistics[group].n,
                "cases": self.cases[group],
                "value": values[group],
                "low": alone.low,
                "high": alone.high,
                "reference": self.group_slices[self.reference].label,
            }
            if group == self.reference:
                unknown = ("gap", "gap_low", "gap_high", "ratio", "ratio_low", "ratio_high")
                yield row | dict.fromkeys(unknown, np.nan) | {"verdict": ""}
                continue
            pair = (group, self.reference)  # this group minus the reference
            limits = Interval(float(simultaneous.low[pair]), float(simultaneous.high[pair]))
            equivalence = Interval(at_equivalence_level.low[pair], at_equivalence_level.high[pair])
            ratio_to_reference = self.values.ratio(group, self.reference, level_of_each)
            yield row | {
                "gap": float(values[group] - values[self.reference]),
                "gap_low": limits.low,
                "gap_high": limits.high,
                "ratio": ratio_to_reference.value,
                "ratio_low": ratio_to_reference.low,
                "ratio_high": ratio_to_reference.high,
                "verdict": _verdict(limits, equivalence, self.margin),
            }

    def _level_of_each(self) -> float:
        """The level of each gap to the reference, such that all hold together at the study's."""
        level = self.study.settings.level
        is_defined = ~np.isnan(self.values.values)
        are_independent = np.array_equal(self.values.correlation, np.eye(len(self.group_slices)))
        if not are_independent or not is_defined[self.reference]:
            n_compared = int(np.count_nonzero(is_defined)) - 1  # without the reference
            return groups.level_of_each(level, n_compared)
        reference = int(np.count_nonzero(is_defined[: self.reference]))  # among the defined ones
        return groups.level_of_comparison(self.values.errors[is_defined], reference, level)

    def largest_row(self) -> Row:
        """The row of the largest gap: column, metric, system, highest, lowest, gap, low, high,
        ratio, groups, verdict.

        highest, lowest: the groups with the highest and the lowest value. gap: the difference of
        these values, with the limits low and high. ratio: of the lowest to the highest value; NaN
        if the metric can be negative. groups: how many have a value. If fewer than two have one,
        gap, limits and ratio are NaN and `groups` is 0.
        """
        row: Row = {
            "column": self.group_slices[0].column,
            "metric": self.chosen.label,
            "system": self.system,
        }
        gap = self.largest
        if gap is None:  # fewer than two groups have a value
            unknown = ("gap", "low", "high", "ratio")
            row |= {"highest": "", "lowest": ""} | dict.fromkeys(unknown, np.nan)
            return row | {"groups": 0, "verdict": CANNOT_TELL}
        estimate = gap.estimate
        limits = Interval(estimate.low, estimate.high)
        equivalence = Interval(gap.equivalence.low, gap.equivalence.high)
        verdict = _verdict(limits, equivalence, self.margin)
        if verdict == HIGHER:  # a largest gap is never negative: "higher" would say nothing
            verdict = DIFFERENT
        lowest_to_highest = np.nan
        if self.chosen.metric.low >= 0:
            lowest_to_highest = gap.ratio
        return row | {
            "highest": self.group_slices[gap.highest].label,
            "lowest": self.group_slices[gap.lowest].label,
            "gap": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "ratio": lowest_to_highest,
            "groups": estimate.n,
            "verdict": verdict,
        }


def _cases(statistic: Statistic) -> int:
    """The number of cases that decide a metric: of rows those of the smallest class."""
    if isinstance(statistic, RowStatistic) and statistic.n:
        return int(np.nan_to_num(statistic.untransformed_statistic().fewest_units))  # NaN: no case
    return statistic.n


def _is_mean_of_bounded_losses(statistic: Statistic) -> TypeGuard[RowStatistic]:
    """True for a mean over unweighted, independent rows of a loss that has a highest and a lowest
    value, such as the Brier score.
    """
    return (
        isinstance(statistic, RowStatistic)
        and isinstance(statistic.kind, Loss)
        and statistic.layout is Layout.PLAIN
        and bool(np.isfinite(statistic.metric.high - statistic.metric.low))
    )


class _ShareCounts(NamedTuple):
    """The hits of a share, and the rows that count."""

    hits: int
    n: int


def _share_counts(statistic: Statistic) -> _ShareCounts | None:
    """The numerator and denominator of a metric that is a share of rows, such as accuracy, or 1 − a
    share, such as the error rate. None for any other metric, and for clustered or weighted rows:
    intervals for shares take the hits as binomial.
    """
    if not isinstance(statistic, RowStatistic) or statistic.layout is not Layout.PLAIN:
        return None
    # accuracy for the error rate; else the metric itself
    original = statistic.untransformed_statistic()
    if not isinstance(original.kind, Share):
        return None
    counts = original.hits()  # the rows in the numerator, and n, those in the denominator
    kind = statistic.kind
    if not isinstance(kind, TransformedMetric):
        return _ShareCounts(counts.hits, counts.n)
    # of the catalogue's functions of another metric, only 1 − x turns 0 to 1 and 1 to 0
    is_complement = kind.function(0.0) == 1 and kind.function(1.0) == 0
    if not is_complement:
        return None
    return _ShareCounts(counts.n - counts.hits, counts.n)


class _Area(NamedTuple):
    """An area under the ROC curve, its rows by class, and the slope of the metric, which is a
    linear function of the area.
    """

    value: float
    positives: int
    negatives: int
    slope: float


def _area(statistic: Statistic) -> _Area | None:
    """The area under the ROC curve behind a metric: the metric itself, or what it is a linear
    function of. Gini = 2 · area − 1, for example, has the slope 2. None for any other metric, and
    for clustered or weighted rows.
    """
    if not isinstance(statistic, ScoreStatistic) or statistic.layout is not Layout.PLAIN:
        return None
    original = statistic.untransformed_statistic()  # the area for Gini; else the metric itself
    if not isinstance(original.kind, Area):
        return None
    slope = 1.0
    if isinstance(statistic.kind, TransformedMetric):
        slope = statistic.kind.slope(original.value)  # the derivative, here a constant
    table = original.tables.counts  # rows by class and score
    return _Area(original.value, int(table.positives), int(table.negatives), slope)


def _verdict(limits: Interval, equivalence: Interval, margin: float | None) -> str:
    """Equivalent if a gap is shown to lie within the margin; else higher or lower if it is shown to
    differ from 0.

    limits: of the gap, which hold for all groups together. equivalence: its limits at 1 − 2α (two
    one-sided tests).
    """
    if margin is not None and -margin < equivalence.low and equivalence.high < margin:
        return EQUIVALENT
    if limits.low > 0:
        return HIGHER
    return LOWER if limits.high < 0 else CANNOT_TELL


def parts_of(study: Study, column: str) -> list[Slice]:
    """The groups of a column. Raises ParameterError if the column was not read, or if the table is
    read in blocks, so that its rows are not in memory.
    """
    if column not in study.attributes:  # the columns of values of rows that are in memory
        columns = list(study.settings.groups.columns) + list(study.settings.segments)
        if column in columns:
            raise ParameterError(f"groups: {column!r} needs all rows in memory")
        names = ", ".join(columns) or "none"
        raise ParameterError(
            f"there are no groups {column!r}{did_you_mean(column, columns)}; columns named in "
            f"groups or segments: {names}"
        )
    return slices(column, study.attributes[column])


def not_stored(column: str) -> ParameterError:
    """Return the error for groups of a stored report, whose file of units lacks them."""
    return ParameterError(
        f"gaps between groups of {column!r} cannot be computed from a stored report; set the rule "
        f"as gate of the report itself"
    )


def reference_of(study: Study, column: str, group_slices: Sequence[Slice]) -> int:
    """The number of the group with which the others are compared: the one that the parameter
    `reference` names, else the largest group of one value.

    The study of a slice may lack the named group: then, too, it is the largest. Raises
    ParameterError if the whole table lacks the named group.
    """
    reference = study.settings.groups.references.get(column)
    labels = [group.label for group in group_slices]
    is_left_out = bool(study.p.segment) and reference not in labels
    if reference is None or is_left_out:
        # a remainder, which joins several rare values, is no reference
        units = [0 if group.is_remainder else int(np.sum(group.member)) for group in group_slices]
        return int(np.argmax(units))
    if reference not in labels:
        near = did_you_mean(reference, labels)
        raise ParameterError(
            f"reference: {column!r} has no group {reference!r}{near}; it has {', '.join(labels)}"
        )
    return labels.index(reference)


def grouped(study: Study, column: str, metrics: Sequence[MetricAtK]) -> list[GroupedMetric]:
    """The metrics of each system in the groups of a column. Raises ParameterError for an unknown
    column or reference.
    """
    group_slices = study.group_parts(column)
    reference = reference_of(study, column, group_slices)
    grouped_metrics = []
    for chosen in metrics:
        margin = _margin(chosen, study.settings.groups.margin)
        for system in study.order:
            grouped_metrics.append(
                GroupedMetric(study, chosen, system, group_slices, reference, margin)
            )
    return grouped_metrics


def _margin(chosen: MetricAtK, margin: float | None) -> float | None:
    """The margin, if the metric has no unit and is bounded; else None."""
    bounded = np.isfinite(chosen.metric.high - chosen.metric.low)
    return margin if bounded and chosen.metric.unit == "1" else None

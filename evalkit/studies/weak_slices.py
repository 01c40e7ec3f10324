"""The weak slices of a study: where its leader is worse than elsewhere, and where the difference of
the headline pair is not that of the other rows.

They are found on some of the units, and their effects are estimated on the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evalkit.arrays import Bools, InputError, ParameterError
from evalkit.caching import cached
from evalkit.catalogue.kinds import RatioOfSums
from evalkit.catalogue.metric import MetricAtK
from evalkit.reading.tables.table import Slice, slices
from evalkit.statistics import inference
from evalkit.statistics.groups import GroupEstimates
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.statistic import TermStatistic
from evalkit.statistics.weak_slices import (
    SHARES,
    Attribute,
    Conditions,
    FoundSlice,
    Response,
    Search,
    detectable,
    member,
    merge,
    refine,
    search,
)
from evalkit.studies.groups import HIGHER, LOWER, GroupedMetric

if TYPE_CHECKING:
    from evalkit.studies.study import Row, Study

FINDING_SHARE = 0.6  # of the units: to find takes more of them than to estimate
# the numbers of the sequences of random numbers, see `Study.rng`
UNIT_ORDER = 11
SEARCH_DRAWS = 12
REFINING_DRAWS = 13
MOST_COLUMNS = 40  # whose pairs are searched
WORSE = "worse"
COLUMNS = (
    "metric",
    "system",
    "slice",
    "conditions",
    "share",
    "n",
    "value",
    "rest",
    "difference",
    "low",
    "high",
    "adjusted",
    "merged",
    "verdict",
)


@dataclass(frozen=True, eq=False)
class SearchedMetric:
    """What is searched for slices: a metric of a system, or its difference between two."""

    study: Study
    chosen: MetricAtK
    systems: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name that frames have of it: the system, or "first − second"."""
        return " − ".join(self.systems)

    @property
    def is_directed(self) -> bool:
        """True if only slices that are worse are searched."""
        return len(self.systems) == 1 and self.chosen.metric.best in ("high", "low")

    @cached_property
    def response(self) -> Response:
        """What is compared between slices: for each row the metric of the system, or of the first
        of two systems less that of the second; NaN for a row without a value. The metric is
        Σ numerator / Σ size over rows, so that a row has a numerator as its value, and a size.

        If only slices that are worse are searched (`is_directed`), the sign is changed where high
        values are better, so that a higher value is always worse.
        """
        statistics = [self.study.measure(self.chosen, name) for name in self.systems]
        # `_metric` chose a metric with terms for each row, so that this only tells the type
        terms = [s for s in statistics if isinstance(s, TermStatistic)]
        first = terms[0]
        sums = first.sums
        if len(terms) > 1:
            sums = first.term_differences(terms[1])
        # `metric.sign` is 1 where high values are better, −1 where low values are
        sign = -self.chosen.metric.sign if self.is_directed else 1
        value = sign * np.where(sums.defined, sums.numerator, np.nan)
        return Response.from_values(value, sums.size, first.unit, two_sided=not self.is_directed)

    def largest_effect(self, share: float) -> float:
        """The largest effect that the range of the metric allows, infinite without a range. The
        effect d is the mean of a slice less the mean of the rest. share: of all rows that the slice
        has, below 1.

        With the mean m of all rows, an effect d makes the mean of the slice m + (1 − share) d,
        which cannot lie outside the range.
        """
        values = [self.study.measure(self.chosen, name).value for name in self.systems]
        lowest, highest = self.chosen.metric.ends
        if len(values) > 1:  # of differences, which lie between lowest − highest and its negative
            width = highest - lowest
            distance = width + abs(values[0] - values[1])
        elif not self.is_directed:
            distance = max(highest - values[0], values[0] - lowest)
        elif self.chosen.metric.best == "low":  # a worse slice has a higher mean
            distance = highest - values[0]
        else:
            distance = values[0] - lowest
        return distance / (1 - share)

    def verdict(self, response: Response, mask: Bools) -> str:
        """Whether a slice is worse, or higher or lower, than the rest. response: of the rows on
        which it was found. mask: of these rows, True in the slice.
        """
        if self.is_directed:
            return WORSE
        return HIGHER if response.centred[mask].sum() > 0 else LOWER

    def effect(self, mask: Bools, rest_mask: Bools) -> Row:
        """The value in a slice and in the rest, and their difference with its interval: the columns
        n (units of the slice), value, rest, difference, low, high.

        mask: True for the rows of the slice. rest_mask: True for the rows that it is compared with.
        Rows in neither do not count, such as the rows on which the slice was found.
        """
        level = self.study.settings.level
        if len(self.systems) == 1:
            slice_and_rest = [Slice("", "slice", mask), Slice("", "rest", rest_mask)]
            (system,) = self.systems
            # reference=1: the rest; margin=None: no verdict of equivalence is needed
            grouped = GroupedMetric(
                self.study, self.chosen, system, slice_and_rest, reference=1, margin=None
            )
            groups = grouped.values
            n = grouped.statistics[0].n
        else:
            # Slice (group 0) and rest (group 1) each have an estimate of the difference of the two
            # systems. Their errors are taken as uncorrelated.
            estimates = [self._difference(mask), self._difference(rest_mask)]

            def estimate_of(group: int, _level: float) -> Estimate:
                """The estimate of a group, at the level of the study: `differences` below is asked
                for this level, and `values` uses no limits.
                """
                return estimates[group]

            groups = GroupEstimates(estimate_of, correlation=np.eye(2))
            n = estimates[0].n
        value, rest = groups.values.tolist()
        # limits of group i less group j at [i, j]
        limits = groups.differences(level)
        row: Row = {"n": n, "value": value, "rest": rest, "difference": value - rest}
        return row | {"low": float(limits.low[0, 1]), "high": float(limits.high[0, 1])}

    def _difference(self, mask: Bools) -> Estimate:
        """The difference of the pair on the rows of a mask; NaN where it is not defined."""
        first, second = self.systems
        with suppress(InputError):
            return self.study.two_sided.compare(self.chosen, (first, second), mask).difference
        return inference.undefined(self.study.settings.level, self.study.unit_name).difference


@dataclass(frozen=True, eq=False)
class WeakSlices:
    """The search of a study.

    searched_metrics: the metric of the leader, then of the headline pair. attributes: the columns
    that are searched, on all rows. is_for_finding: a mask of the rows on which slices are searched
    and found; effects are estimated on the others.
    """

    study: Study
    searched_metrics: Sequence[SearchedMetric]
    attributes: Sequence[Attribute]
    is_for_finding: Bools

    @cached_property
    def _responses_for_search(self) -> list[Response]:
        """The responses of the rows on which slices are searched."""
        return [searched.response.take(self.is_for_finding) for searched in self.searched_metrics]

    @cached_property
    def _attributes_for_search(self) -> list[Attribute]:
        """The attributes of the rows on which slices are searched."""
        return [attribute.take(self.is_for_finding) for attribute in self.attributes]

    @cached_property
    def search(self) -> Search:
        """The slices of one or two conditions that differ significantly from the rest, adjusted for
        all that were tested. Finds that another one explains are not merged with it yet.
        """
        return search(
            self._responses_for_search,
            self._attributes_for_search,
            level=self.study.test_level,
            rng=self.study.rng(SEARCH_DRAWS),
        )

    def rows(self) -> Iterator[Row]:
        """A row for each find, with its effect on the rows that were not searched."""
        for find in merge(self.search, self._responses_for_search, self._attributes_for_search):
            yield self._row(find)

    def _row(self, find: FoundSlice) -> Row:
        """The row of a find, a slice that was found, with the columns `COLUMNS`.

        The conditions, their adjusted p and the verdict come from the rows on which slices are
        found. The effect comes from the other rows, because on the former it would be too large:
        slices were picked for their effect there. The share is that of all rows.
        """
        searched = self.searched_metrics[find.response]  # `find.response` is its number
        response = self._responses_for_search[find.response]
        # the find itself, or with a third condition if it has two and the third is significant
        refined = refine(
            find,
            response,
            self._attributes_for_search,
            level=self.study.test_level,
            rng=self.study.rng(REFINING_DRAWS),
        )
        is_in_slice = member(self.attributes, refined.conditions)
        is_estimating = ~self.is_for_finding
        row: Row = {"metric": searched.chosen.label, "system": searched.name}
        row |= {"slice": self._label(refined.conditions), "conditions": len(refined.conditions)}
        row |= {"share": float(is_in_slice.mean())}
        row |= searched.effect(is_in_slice & is_estimating, ~is_in_slice & is_estimating)
        # merged: how many other finds this one explains
        row |= {"adjusted": refined.adjusted_p, "merged": refined.merged}
        return row | {"verdict": searched.verdict(response, is_in_slice[self.is_for_finding])}

    def _label(self, conditions: Conditions) -> str:
        """The conditions as text."""
        texts = []
        for number, label in conditions:
            attribute = self.attributes[number]
            texts.append(f"{attribute.name}={attribute.labels[label]}")
        return " and ".join(texts)

    def detectable_rows(self) -> Iterator[Row]:
        """The effect with which a slice is found with 80% power, for each searched metric and for
        slices that have a share of the rows of `SHARES`; NaN if the range of the metric allows no
        effect that is large enough. candidates: the number of slices that were tested.
        """
        for searched, response in zip(
            self.searched_metrics, self._responses_for_search, strict=True
        ):
            for share in SHARES:
                row: Row = {"metric": searched.chosen.label, "system": searched.name}
                row |= {"candidates": self.search.candidates, "share": share}
                # the evidence that a find needs, adjusted for all slices tested
                effect = detectable(response, self.search.critical_evidence, share)
                if effect > searched.largest_effect(share):
                    effect = float("nan")
                yield row | {"effect": effect}


@cached
def of_study(study: Study) -> WeakSlices:
    """The search of a study: of its leader, and of its headline pair if there is one.

    Raises ParameterError if no column was named, or no metric is a mean of rows or units.
    """
    if not study.settings.slices:
        raise ParameterError(
            'slices: no column was named; set slices="auto", or the columns to search'
        )
    chosen = _metric(study)
    searched = [SearchedMetric(study, chosen, (study.leader,))]
    if len(study.systems) > 1 and chosen.metric.best != "neither":
        searched.append(SearchedMetric(study, chosen, _pair(study)))
    # Slices are found on some units, drawn at random, and their effects are estimated on the
    # others. Whole units are drawn, so that no unit has rows among both.
    unit = searched[0].response.unit  # the number of each row's unit, from 0
    units = int(unit.max(initial=-1)) + 1  # 0 without rows
    order = study.rng(UNIT_ORDER).permutation(units)
    is_finding_unit = order < FINDING_SHARE * units
    return WeakSlices(study, searched, _attributes(study), is_for_finding=is_finding_unit[unit])


def _pair(study: Study) -> tuple[str, str]:
    """The leader, and the baseline or else the second best system."""
    if study.settings.baseline:
        return study.leader, study.settings.baseline
    return study.order[0], study.order[1]


def _metric(study: Study) -> MetricAtK:
    """The first metric of the study that is a mean over rows or units, so that each row has a value
    of its own. Raises ParameterError if there is none.
    """
    for chosen in study.settings.metrics:
        kind = chosen.metric.kind
        is_mean = isinstance(kind, RatioOfSums) and kind.has_terms
        # precision and its like are means over rows that differ between two systems
        if is_mean and not kind.selects_rows:
            return chosen
    labels = ", ".join(chosen.label for chosen in study.settings.metrics)
    raise ParameterError(
        f"slices: need a metric that is a mean of rows or units, such as accuracy, brier or mae; "
        f"got {labels}"
    )


def _attributes(study: Study) -> list[Attribute]:
    """The columns that are searched, each with its labels and the number of each row's label.
    Raises ParameterError for more than `MOST_COLUMNS`.
    """
    # only columns of which the study has the text of each row
    names = [name for name in study.settings.slices if name in study.attributes]
    if len(names) > MOST_COLUMNS:
        raise ParameterError(
            f"slices: at most {MOST_COLUMNS} columns can be searched, got {len(names)}; name "
            f"those that matter"
        )
    return [_attribute(name, study.attributes[name]) for name in names]


def _attribute(name: str, values: Sequence[str]) -> Attribute:
    """A column as the numbers of its groups. The rare texts that share a group are left out: they
    have nothing in common. values: the text of each row.
    """
    groups = [group for group in slices(name, values) if not group.is_remainder]
    code = np.full(len(values), len(groups), np.int64)  # this number: in none of them
    for number, group in enumerate(groups):
        code[group.member] = number
    return Attribute(name, [group.label for group in groups], code)

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
    Find,
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
        """The value of each row, the numerator of the metric, or its difference between the two
        systems; NaN for a row without a value.

        If only slices that are worse are searched (`is_directed`), the sign is changed where high
        values are better, so that a higher value is always worse.
        """
        statistics = [self.study.measure(self.chosen, name) for name in self.systems]
        terms = [s for s in statistics if isinstance(s, TermStatistic)]
        first = terms[0]
        sums = first.sums
        if len(terms) > 1:
            sums = first.term_differences(terms[1])
        sign = -self.chosen.metric.sign if self.is_directed else 1
        value = sign * np.where(sums.defined, sums.numerator, np.nan)
        return Response.from_values(value, sums.size, first.unit, two_sided=not self.is_directed)

    def largest_effect(self, share: float) -> float:
        """The largest effect, mean of a slice less mean of the rest, that the range of the metric
        allows; infinite without a range. share: of the rows that the slice has.

        With the mean m of all rows, an effect d makes the mean of the slice m + (1 − share) d.
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
            # reference: the number of the rest; margin: no verdict is asked for
            grouped = GroupedMetric(
                self.study, self.chosen, system, slice_and_rest, reference=1, margin=None
            )
            values = grouped.values
            n = grouped.statistics[0].n
        else:
            # Both estimates are made once, at the level of the study. Their errors are taken as
            # independent.
            estimates = [self._difference(mask), self._difference(rest_mask)]
            correlation = np.eye(2)
            values = GroupEstimates(lambda group, _: estimates[group], correlation)
            n = estimates[0].n
        value, rest = values.values.tolist()
        limits = values.differences(level)
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

    searched: the metric of the leader, then of the headline pair. finding: a mask of the rows on
    which slices are found; effects are estimated on the others.
    """

    study: Study
    searched: Sequence[SearchedMetric]
    attributes: Sequence[Attribute]
    finding: Bools

    @cached_property
    def _responses(self) -> list[Response]:
        """The responses of the rows that find slices."""
        return [searched.response.take(self.finding) for searched in self.searched]

    @cached_property
    def _attributes(self) -> list[Attribute]:
        """The attributes of the rows that find slices."""
        return [attribute.take(self.finding) for attribute in self.attributes]

    @cached_property
    def search(self) -> Search:
        """All finds, before they are merged."""
        level = self.study.test_level
        return search(self._responses, self._attributes, level=level, rng=self.study.rng(12))

    def rows(self) -> Iterator[Row]:
        """A row for each find, with its effect on the rows that were not searched."""
        for find in merge(self.search, self._responses, self._attributes):
            yield self._row(find)

    def _row(self, find: Find) -> Row:
        """The row of a find, with the columns `COLUMNS`: its conditions after they are refined, and
        its effect. share: the share of all rows that lie in the slice.

        The conditions, their adjusted p and the verdict are from the rows that find slices; the
        effect is from the other rows, so that it is not too large for having been found.
        """
        searched = self.searched[find.response]
        response = self._responses[find.response]
        level = self.study.test_level
        refined = refine(find, response, self._attributes, level=level, rng=self.study.rng(13))
        mask = member(self.attributes, refined.conditions)
        row: Row = {"metric": searched.chosen.label, "system": searched.name}
        row |= {"slice": self._label(refined.conditions), "conditions": len(refined.conditions)}
        row |= {"share": float(mask.mean())}
        row |= searched.effect(mask & ~self.finding, ~mask & ~self.finding)
        row |= {"adjusted": refined.adjusted_p, "merged": refined.merged}
        return row | {"verdict": searched.verdict(response, mask[self.finding])}

    def _label(self, conditions: Conditions) -> str:
        """The conditions as text."""
        texts = []
        for number, label in conditions:
            attribute = self.attributes[number]
            texts.append(f"{attribute.name}={attribute.labels[label]}")
        return " and ".join(texts)

    def detectable_rows(self) -> Iterator[Row]:
        """The effect that would be found in slices of some sizes, for each searched metric; NaN if
        none that the metric can have is large enough.
        """
        for searched, response in zip(self.searched, self._responses, strict=True):
            for share in SHARES:
                row: Row = {"metric": searched.chosen.label, "system": searched.name}
                row |= {"candidates": self.search.candidates, "share": share}
                effect = detectable(response, self.search.critical, share)
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
    unit = searched[0].response.unit
    units = int(unit.max(initial=-1)) + 1
    order = study.rng(11).permutation(units)
    is_finding_unit = order < FINDING_SHARE * units
    return WeakSlices(study, searched, _attributes(study), finding=is_finding_unit[unit])


def _pair(study: Study) -> tuple[str, str]:
    """The leader, and the baseline or else the second best system."""
    if study.settings.baseline:
        return study.leader, study.settings.baseline
    return study.order[0], study.order[1]


def _metric(study: Study) -> MetricAtK:
    """The first metric of the study that is a mean of rows or units."""
    for chosen in study.settings.metrics:
        kind = chosen.metric.kind
        is_mean = isinstance(kind, RatioOfSums) and kind.has_terms
        if is_mean and not kind.selects_rows:
            return chosen
    labels = ", ".join(chosen.label for chosen in study.settings.metrics)
    raise ParameterError(
        f"slices: need a metric that is a mean of rows or units, such as accuracy, brier or mae; "
        f"got {labels}"
    )


def _attributes(study: Study) -> list[Attribute]:
    """The columns that are searched, as the numbers of their groups. Raises ParameterError for too
    many.
    """
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

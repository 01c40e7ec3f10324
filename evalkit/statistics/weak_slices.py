"""Weak slices: where the mean of a metric, or of a difference, is not that of the other rows.

Candidates are all slices of one and of two conditions. Their sums of a response (value less the
mean of all rows) are compared with those under joint sign flips of whole units, and p is adjusted
over all candidates and responses by max-T (step-down). Rademacher signs of the residuals are a wild
bootstrap of the score: units may be clusters with rows in several slices, and slices may differ in
variance.
Draws are made as by `signflip.joint_draws`, except that units beyond `POINTS` wrap around: units
with the same place share a column of the Hadamard matrix, each with a random sign of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, codes, ratio
from evalkit.statistics import signflip
from evalkit.statistics.intervals import one_sided_normal_quantile

MIN_SHARE = 0.01  # of the rows, in a slice and in the rest
MIN_UNITS = 20  # in a slice; in the rest so many rows
POINTS = 1024  # most points of the Hadamard transform
DRAWS = 2048
RANKED = 1000  # most candidates that may be finds: all draws of each of them are in memory
# most finds of a response that are merged, the most extreme ones; others are dropped, as each merge
# tests all that are left again
MERGED = 100
EXPLAINED = 1.96  # less evidence is no sign of a further effect
POWER = 0.8
SHARES = (0.01, 0.05, 0.2)  # sizes of slices for which the detectable effect is stated


@dataclass(frozen=True, eq=False)
class Attribute:
    """A column by which rows are sliced: its labels, and the number of each row's label.

    The number after the last label stands for rows that no slice of this column has.
    """

    name: str
    labels: Sequence[str]
    code: Ints

    def take(self, rows: Bools) -> Attribute:
        """The attribute of some rows."""
        return replace(self, code=self.code[rows])


class Condition(NamedTuple):
    """That an attribute has a label, both by number."""

    attribute: int
    label: int


Conditions = tuple[Condition, ...]


def member(attributes: Sequence[Attribute], conditions: Conditions) -> Bools:
    """A mask: the rows that meet all conditions."""
    mask: Bools = np.ones(len(attributes[0].code), dtype=bool)
    for attribute, label in conditions:
        mask &= attributes[attribute].code == label
    return mask


@dataclass(frozen=True, eq=False)
class Response:
    """The values of rows whose mean is compared between slices: (rows,) each.

    centred: the numerator of the row less mean · size, so that all add up to 0. size: its
    denominator, 0 for a row without a value. unit: the number of its unit. two_sided: True if
    slices below the rest are searched as well as those above.
    """

    centred: Floats
    size: Floats
    unit: Ints
    two_sided: bool

    @classmethod
    def from_values(
        cls, value: Floats, size: Floats, unit: np.ndarray | None, *, two_sided: bool
    ) -> Response:
        """The response of a ratio of sums, from its numerator (`value`, NaN for a row without one)
        and its denominator (`size`) on each row. unit: the key of each row's unit; None if each row
        is one. two_sided: as in the class.

        >>> value = np.array([1.0, 2.0, 6.0])  # with a mean of 3
        >>> Response.from_values(value, size=np.ones(3), unit=None, two_sided=True).centred
        array([-2., -1.,  3.])
        """
        has_value = ~np.isnan(value)
        size = np.where(has_value, size, 0.0)
        unit_number = np.arange(len(value))
        if unit is not None:
            unit_number, _ = codes(unit)
        # the numerators as they are, from which the mean is then taken away
        not_centred = cls(np.where(has_value, value, 0.0), size, unit_number, two_sided)
        all_rows = np.ones(len(value), dtype=bool)
        return not_centred._around_mean(all_rows)

    def take(self, rows: Bools) -> Response:
        """The response of the rows of a mask, less the mean of these rows."""
        unit_number, _ = codes(self.unit[rows])
        response = replace(self, centred=self.centred[rows], size=self.size[rows], unit=unit_number)
        all_rows = np.ones(len(unit_number), dtype=bool)
        return response._around_mean(all_rows)

    def without_effect(self, mask: Bools) -> Response:
        """What is left if the rows of a mask, and the others, have the same mean."""
        return self._around_mean(mask)._around_mean(~mask)

    def _around_mean(self, mask: Bools) -> Response:
        """The same with the mean of the rows of a mask subtracted from them."""
        mean = ratio(self.centred[mask].sum(), self.size[mask].sum())
        mean_or_0 = float(np.nan_to_num(mean))
        shift = mean_or_0 * self.size * mask
        return replace(self, centred=self.centred - shift)

    @property
    def is_clustered(self) -> bool:
        """True if units have several rows."""
        return count_units(self.unit) < len(self.unit)

    def evidence(self, standardised: Floats) -> Floats:
        """The evidence for slices, from their standardised sums, which are z-values: the z-value,
        or its absolute value if two-sided.
        """
        return np.abs(standardised) if self.two_sided else standardised

    def evidence_of(self, mask: Bools) -> float:
        """The evidence for the slice of the rows of a mask."""
        cell = mask.astype(np.int64)  # 1 for the slice, 0 for the rest
        sums = self.sums_by_cell(cell, 2)
        _, evidence_of_slice = self.evidence(sums.standardised)
        return float(evidence_of_slice)

    @cached_property
    def correlation(self) -> float:
        """The correlation ρ of the centred values of two rows of a unit, from 0 to 1, in a model in
        which a centred value has the standard deviation σ · size, so that two rows of a unit have
        the covariance ρ σ² size size'.
        """
        if not self.is_clustered:
            return 0.0
        unit_value = np.bincount(self.unit, self.centred)
        unit_size = np.bincount(self.unit, self.size)
        # Σ over pairs of rows of a unit, as the square of a sum less the sum of squares
        value_products = np.sum(unit_value**2) - np.sum(self.centred**2)
        size_products = np.sum(unit_size**2) - np.sum(self.size**2)
        correlation = ratio(value_products, self.variance_of_size_1 * size_products)
        return float(np.clip(np.nan_to_num(correlation), 0.0, 1.0))

    @cached_property
    def spread(self) -> float:
        """The variance of the sum of the centred values in a slice, divided by share · (1 − share)
        of the slice, under the model of `correlation`, if all rows of a unit are in the same slice.
        """
        unit_size = np.bincount(self.unit, self.size)
        of_rows = (1 - self.correlation) * np.sum(self.size**2)
        of_units = self.correlation * np.sum(unit_size**2)
        return float(self.variance_of_size_1 * (of_rows + of_units))

    @cached_property
    def variance_of_size_1(self) -> Floats:
        """σ², the variance of the centred value of a row of size 1; NaN if no row has a value."""
        return ratio(np.sum(self.centred**2), np.sum(self.size**2))

    def sums_by_cell(self, cell: Ints, count: int) -> CellSums:
        """The sum of the centred values in each cell of rows, with its standard deviation under the
        null hypothesis that the mean is the same in the cell and in the other rows.

        The deviation is the one under random signs of whole units, but at least the one of the
        model of `correlation`: a centred value has the standard deviation σ · size, and two values
        of a unit have the correlation ρ. cell: the number of each row's cell. count: the number of
        cells.
        """
        share = ratio(np.bincount(cell, self.size, count), self.size.sum())
        variance = _variance_under_signs(self.centred, cell, share, self.unit)
        # Without the model, a cell whose rows are all alike would have little variance, or none.
        # The model's variance is σ² ((1 − ρ) A + ρ B). A and B are the variances of the sum of
        # sizes: A if each row has a random sign of its own, B if the rows of a unit share one.
        row_number = np.arange(len(cell))
        with_independent_rows = _variance_under_signs(self.size, cell, share, row_number)
        model_variance: Floats = (1 - self.correlation) * with_independent_rows
        if self.correlation:
            with_equal_rows = _variance_under_signs(self.size, cell, share, self.unit)
            model_variance = model_variance + self.correlation * with_equal_rows
        model_variance *= float(np.nan_to_num(self.variance_of_size_1))
        deviation = np.sqrt(np.maximum(variance, model_variance))
        total = np.bincount(cell, self.centred, count).astype(np.float64, copy=False)
        return CellSums(total, share, deviation)


def _variance_under_signs(column: Floats, cell: Ints, share: Floats, unit: Ints) -> Floats:
    """For each cell the variance of (sum of a column over the rows of the cell − share of the cell
    · sum over all rows), if the values of each unit have one random sign in common; (cells,).

    It is Σ over units (a − share · b)², where a is the unit's sum over its rows in the cell, and b
    its sum over all its rows. column, cell, unit: of each row the value, and the numbers of its
    cell and of its unit, (rows,) each. share: of each cell, (cells,).
    """
    unit_total: Floats = np.bincount(unit, column).astype(np.float64, copy=False)  # b
    # one element per pair of a unit and a cell in which it has rows
    if len(unit_total) == len(unit):  # each row is a unit, and so a pair
        cell_of_pair = cell
        sum_in_cell = column
        total_of_pair = column
    else:
        units = len(unit_total)
        pair_key, pair_of_row = np.unique(cell * units + unit, return_inverse=True)
        cell_of_pair = pair_key // units
        sum_in_cell = np.bincount(pair_of_row, column).astype(np.float64, copy=False)  # a
        total_of_pair = unit_total[pair_key % units]
    # Σ a² − 2 share Σ a b + share² Σ b². In the first two sums a is 0 for units without rows in the
    # cell; the last one is over all units.
    a_squares = np.bincount(cell_of_pair, sum_in_cell**2, len(share))
    products = np.bincount(cell_of_pair, sum_in_cell * total_of_pair, len(share))
    b_squares = np.sum(unit_total**2)
    return np.asarray(a_squares - 2 * share * products + share**2 * b_squares)


def count_units(unit: Ints) -> int:
    """The number of units, from the number of each row's unit, which are counted from 0."""
    return int(unit.max(initial=-1)) + 1


class CellSums(NamedTuple):
    """The sum of centred values (value less mean · size) in each cell, the cell's share of the size
    of all rows, and the standard deviation of the sum under sign flips; (cells,) each.
    """

    total: Floats
    share: Floats
    deviation: Floats

    def take(self, cells: Ints) -> CellSums:
        """The sums of the cells with these numbers."""
        return CellSums(self.total[cells], self.share[cells], self.deviation[cells])

    @property
    def standardised(self) -> Floats:
        """The sums over their standard deviations; 0 where that is 0."""
        return np.nan_to_num(ratio(self.total, self.deviation))


# Candidates ---------------------------------------------------------------------------------------


class CrossTable(NamedTuple):
    """The cross table of one or two attributes, whose cells are slices.

    cell: for each row the number of its cell. size: the number of cells. candidates: the numbers of
    the cells that are tested, as they are large enough. conditions: that define each of these.
    """

    cell: Ints
    size: int
    candidates: Ints
    conditions: list[Conditions]


def cross_tables(
    attributes: Sequence[Attribute], unit: Ints, depth: int, min_rows: float
) -> Iterator[CrossTable]:
    """Yield the table of each attribute, whose cells are its labels. At depth 2, yield then the
    table of each two attributes, whose cells are the pairs of their labels.

    Rows without a label have the number after the last label. It makes cells too, but they are no
    candidates.

    unit: the number of each row's unit. min_rows: the fewest rows of a slice, and of the rest.
    """
    units = count_units(unit)
    for i, attribute in enumerate(attributes):
        labels = len(attribute.labels)
        large = _large_cells(attribute.code, labels + 1, unit, units, min_rows)
        candidates = large[large < labels]
        yield CrossTable(
            attribute.code,
            size=labels + 1,
            candidates=candidates,
            conditions=[(Condition(i, label),) for label in candidates.tolist()],
        )
    if depth == 1:
        return
    for i, j in combinations(range(len(attributes)), 2):
        labels = len(attributes[i].labels)
        other_labels = len(attributes[j].labels)
        # cells are numbered line by line: a line per label of attribute i
        width = other_labels + 1
        count = (labels + 1) * width
        cell = attributes[i].code * width + attributes[j].code
        large = _large_cells(cell, count, unit, units, min_rows)
        first_label = large // width
        second_label = large % width
        has_labels = (first_label < labels) & (second_label < other_labels)
        pairs = zip(first_label[has_labels], second_label[has_labels], strict=True)
        conditions: list[Conditions] = [
            (Condition(i, int(first)), Condition(j, int(second))) for first, second in pairs
        ]
        yield CrossTable(cell, count, large[has_labels], conditions)


def _large_cells(cell: Ints, count: int, unit: Ints, units: int, min_rows: float) -> Ints:
    """The numbers, ascending, of the cells that are large enough to be candidates: with at least
    `min_rows` rows, of at least `MIN_UNITS` units. Outside the cell there must be at least
    `min_rows` rows, and at least `MIN_UNITS` rows; the units outside are not counted.

    cell, unit: the numbers of each row's cell and unit. count, units: how many cells and units
    there are.
    """
    rows = np.bincount(cell, minlength=count)
    # MIN_UNITS units have at least so many rows, so that fewer rows are excluded at once
    fewest_rows = max(min_rows, MIN_UNITS)
    rows_outside = len(cell) - rows
    is_large = (rows >= fewest_rows) & (rows_outside >= fewest_rows)
    candidates = np.flatnonzero(is_large)
    if units == len(cell):  # each row is a unit
        return candidates
    pair_key = np.unique(cell * units + unit)  # of each pair of a cell and a unit
    cell_of_pair = pair_key // units
    units_in_cell = np.bincount(cell_of_pair, minlength=count)
    return candidates[units_in_cell[candidates] >= MIN_UNITS]


# Search -------------------------------------------------------------------------------------------


class FoundSlice(NamedTuple):
    """A slice in which the mean of a response differs from that of the other rows.

    response: its number. conditions: of the slice. evidence: the sum of the response in the slice
    over its standard deviation. adjusted_p: the p-value, adjusted for all slices and responses that
    were searched. merged: how many other finds this one explains.
    """

    response: int
    conditions: Conditions
    evidence: float
    adjusted_p: float
    merged: int = 0


@dataclass(frozen=True, eq=False)
class Search:
    """What a search has found, the most extreme first.

    candidates: how many slices were tested. critical_evidence: the evidence that a find needs in
    the first step.
    """

    finds: list[FoundSlice]
    candidates: int
    critical_evidence: float


def search(
    responses: Sequence[Response],
    attributes: Sequence[Attribute],
    *,
    level: float,
    rng: np.random.Generator,
    depth: int = 2,
    min_rows: float | None = None,
) -> Search:
    """Find the slices in which the mean of a response differs from that of the other rows, adjusted
    for all candidates and responses.

    responses: of the same rows and units. level: a find has an adjusted p of at most 1 − level.
    depth: the largest number of conditions, 1 or 2. min_rows: the fewest rows of a slice, and of
    the rest; None for `MIN_SHARE` of all rows. rng: draws the signs. Without a candidate there is
    no find, and `critical_evidence` is NaN.

    >>> rng = np.random.default_rng(1)
    >>> shop = np.arange(2000) % 5
    >>> values = rng.normal(0, 1, 2000) + (shop == 3)
    >>> response = Response.from_values(values, np.ones(2000), unit=None, two_sided=False)
    >>> attribute = Attribute("shop", ["a", "b", "c", "d", "e"], shop)
    >>> [find.conditions for find in search([response], [attribute], level=0.95, rng=rng).finds]
    [(Condition(attribute=0, label=3),)]
    """
    unit = responses[0].unit
    if min_rows is None:
        min_rows = MIN_SHARE * len(unit)
    every_table = cross_tables(attributes, unit, depth, min_rows)
    tables = [table for table in every_table if len(table.candidates)]
    if not tables:
        return Search(finds=[], candidates=0, critical_evidence=np.nan)
    conditions: list[Conditions] = []
    for table in tables:
        conditions += table.conditions
    candidates = [CandidateSums.from_tables(response, tables) for response in responses]
    observed = np.array([sums.evidence for sums in candidates])  # (responses, candidates)
    # Step-down max-T compares each pair of a response and a candidate with the maximum over itself
    # and all less extreme pairs: it needs the pairs in this order. A pair is known by its index in
    # `observed.ravel()`.
    most_extreme_first = np.argsort(-observed.ravel(), kind="stable")
    rank = np.empty(most_extreme_first.size, np.int64)  # of each pair, 0 for the most extreme
    rank[most_extreme_first] = np.arange(most_extreme_first.size)
    # only a pair that is significant without the adjustment can be significant with it
    is_possible = observed > one_sided_normal_quantile(level)
    possible = min(int(np.sum(is_possible)), RANKED)
    null_evidence = _drawn_evidence(candidates, tables, rank.reshape(observed.shape), possible, rng)
    possible_pairs = most_extreme_first[:possible]
    adjusted_p = null_evidence.adjusted_p(observed.ravel()[possible_pairs])
    finds = []
    for place in np.flatnonzero(adjusted_p <= 1 - level).tolist():
        # a line of `observed` per response, a column per candidate
        response, candidate = divmod(int(possible_pairs[place]), len(conditions))
        find = FoundSlice(
            response,
            conditions[candidate],
            evidence=float(observed[response, candidate]),
            adjusted_p=float(adjusted_p[place]),
        )
        finds.append(find)
    return Search(
        finds, candidates=len(conditions), critical_evidence=null_evidence.critical_evidence(level)
    )


class CandidateSums(NamedTuple):
    """The sums of a response in the candidates of each cross table."""

    response: Response
    by_table: list[CellSums]

    @classmethod
    def from_tables(cls, response: Response, tables: Sequence[CrossTable]) -> CandidateSums:
        """The sums of a response in the candidates of these tables."""
        by_table = []
        for table in tables:
            sums = response.sums_by_cell(table.cell, table.size)
            by_table.append(sums.take(table.candidates))
        return cls(response, by_table)

    @property
    def evidence(self) -> Floats:
        """The evidence for each candidate, one table after another."""
        standardised = np.concatenate([sums.standardised for sums in self.by_table])
        return self.response.evidence(standardised)


class DrawnEvidence(NamedTuple):
    """The evidence of candidates under sign flips, where a candidate is a pair of a slice and a
    response.

    ranked: of each of the candidates that may be finds, the most extreme first, (ranked, draws).
    largest_unranked: the largest of all others in each draw, (draws,).
    """

    ranked: Floats
    largest_unranked: Floats

    def adjusted_p(self, observed: Floats) -> Floats:
        """The p-values of the ranked candidates, adjusted for all candidates by step-down max-T,
        (ranked,). p is the share of draws in which the largest evidence, of this candidate and of
        all less extreme ones, is at least its evidence in the data.

        observed: the evidence of the ranked candidates in the data, the most extreme first.
        """
        least_extreme_first = np.vstack([self.ranked, self.largest_unranked])[::-1]
        largest_so_far = np.maximum.accumulate(least_extreme_first, axis=0)
        # the most extreme first again, without the unranked ones: (ranked, draws)
        largest = largest_so_far[::-1][:-1]
        # a draw that is equal counts
        bound = observed - signflip.SUM_TIE_TOLERANCE * np.abs(observed)
        extreme_draws = np.sum(largest >= bound[:, None], axis=1)
        draws = largest.shape[1]
        # the data count as a draw; p is at least that of each more extreme candidate
        adjusted_p: Floats = np.maximum.accumulate((1 + extreme_draws) / (1 + draws))
        return adjusted_p

    def critical_evidence(self, level: float) -> float:
        """The quantile, at this level, of the largest evidence of all candidates."""
        largest = np.vstack([self.ranked, self.largest_unranked]).max(axis=0)
        return float(np.quantile(largest, level))


def _drawn_evidence(
    candidates: Sequence[CandidateSums],
    tables: Sequence[CrossTable],
    rank: Ints,
    possible: int,
    rng: np.random.Generator,
) -> DrawnEvidence:
    """The evidence of all candidates under joint sign flips of whole units.

    candidates: the sums of each response. tables: the cross tables with the candidates. rank: the
    place of each candidate, 0 for the most extreme one, (responses, candidates). possible: how many
    of the most extreme candidates may be finds; of the others only the largest evidence is kept.
    rng: draws the signs.

    Draws are made in blocks. In each block every unit has a random sign, and the column (unit mod
    points) of the Hadamard matrix. Draw j of the block gives the unit the product of this random
    sign and the element of the column in line j. So the values of the units with the same column,
    times their random signs, are added up, and the transform multiplies these sums by the matrix.
    """
    unit = candidates[0].response.unit
    units = count_units(unit)
    power_of_two = 1 << max(units - 1, 1).bit_length()
    points = min(power_of_two, POINTS)  # draws of one transform
    blocks = -(-DRAWS // points)  # rounded up
    draws = blocks * points
    signs = rng.choice([-1.0, 1.0], (blocks, units))[:, unit]  # (blocks, rows)
    # the column of each row's unit in each block, (blocks, rows); numbered through all blocks, so
    # that there are as many columns as draws
    first_column = np.arange(blocks)[:, None] * points  # of each block
    column = first_column + unit % points
    ranked = np.zeros((possible, draws))
    largest_unranked = np.full(draws, -np.inf)
    for (response, by_table), response_rank in zip(candidates, rank, strict=True):
        signed_values = (signs * response.centred).ravel()  # of each row in each block
        totals = np.bincount(column.ravel(), signed_values, draws)  # of each column, all rows
        start = 0  # the first candidate of the table
        for table, sums in zip(tables, by_table, strict=True):
            # the totals of the rows in each cell, (cells, columns)
            cell_and_column = (table.cell * draws + column).ravel()
            by_cell = np.bincount(cell_and_column, signed_values, table.size * draws)
            by_cell = by_cell.reshape(table.size, draws)
            # the sum of each candidate less its share of the sum of all rows, (candidates, columns)
            contrasts = by_cell[table.candidates] - sums.share[:, None] * totals
            flipped_sums = signflip.walsh_hadamard(contrasts.reshape(-1, blocks, points))
            standardised = ratio(flipped_sums.reshape(-1, draws), sums.deviation[:, None])
            evidence = response.evidence(np.nan_to_num(standardised))  # (candidates, draws)
            ranks = response_rank[start : start + len(evidence)]
            start += len(evidence)
            is_ranked = ranks < possible
            ranked[ranks[is_ranked]] = evidence[is_ranked]
            largest = evidence[~is_ranked].max(axis=0, initial=-np.inf)
            np.maximum(largest_unranked, largest, out=largest_unranked)
    return DrawnEvidence(ranked, largest_unranked)


# What is made of finds ----------------------------------------------------------------------------


def merge(
    search: Search, responses: Sequence[Response], attributes: Sequence[Attribute]
) -> list[FoundSlice]:
    """The finds without the ones that another find explains, the most extreme of each response
    first; at most `MERGED` finds of a response are looked at.

    The effect of a find is taken away by giving its rows and all other rows the same mean. A find
    explains a second one if the second is no longer significant without the effect of the first.
    The most extreme find and all that it explains make a group, of which one find stays
    (`_widest_explanation`). Its effect is taken away, and the next group is made of what is left.

    search, responses, attributes: the result of `search`, and what was searched.
    """
    merged = []
    for response_number, response in enumerate(responses):
        response_finds = [find for find in search.finds if find.response == response_number]
        finds = response_finds[:MERGED]
        masks = {find.conditions: member(attributes, find.conditions) for find in finds}
        remaining = response  # the response without the effects of the finds merged so far
        while finds:
            most_extreme = finds[0]
            without_extreme = remaining.without_effect(masks[most_extreme.conditions])
            explained = [most_extreme]
            for find in finds[1:]:
                if without_extreme.evidence_of(masks[find.conditions]) < search.critical_evidence:
                    explained.append(find)
            widest = _widest_explanation(explained, masks, remaining)
            other_finds = len(explained) - 1
            merged.append(widest._replace(merged=other_finds))
            remaining = remaining.without_effect(masks[widest.conditions])
            unexplained = [find for find in finds if find not in explained]
            # the finds of the next groups: those still significant without the effect of `widest`
            finds = []
            for find in unexplained:
                if remaining.evidence_of(masks[find.conditions]) >= search.critical_evidence:
                    finds.append(find)
    return merged


def _widest_explanation(
    finds: Sequence[FoundSlice], masks: Mapping[Conditions, Bools], response: Response
) -> FoundSlice:
    """The find that stays of a group: of the finds without whose effect the most extreme find has
    evidence below `EXPLAINED`, the one with the most rows. It is the most extreme find itself if no
    find with more rows is such an explanation.

    finds: the most extreme first. masks: the rows of each find, by its conditions.
    """
    most_extreme = finds[0]
    sizes = {find.conditions: int(masks[find.conditions].sum()) for find in finds}
    for find in sorted(finds, key=lambda find: -sizes[find.conditions]):  # most rows first
        if find is most_extreme:  # all others have no more rows
            break
        without_find = response.without_effect(masks[find.conditions])
        if without_find.evidence_of(masks[most_extreme.conditions]) < EXPLAINED:
            return find
    return most_extreme


def refine(
    find: FoundSlice,
    response: Response,
    attributes: Sequence[Attribute],
    *,
    level: float,
    rng: np.random.Generator,
) -> FoundSlice:
    """Add a third condition to a find of two conditions; the find unchanged if it has not two, or
    if no third condition is significant.

    A third condition is tested within the slice: its rows that meet the condition must deviate
    more, in the direction of the slice, than its other rows (one-sided max-T over all third
    conditions, at `level`). The adjusted p is then the larger one of both searches. response,
    attributes: of all rows. rng: draws the signs.
    """
    if len(find.conditions) != 2:
        return find
    in_slice = member(attributes, find.conditions)
    # 1 if the slice lies above the other rows, −1 below: a search for rows above then finds those
    # that deviate more
    direction = np.sign(response.centred[in_slice].sum())
    inside = response.take(in_slice)  # centred anew, around the mean of the slice
    inside = replace(inside, centred=direction * inside.centred, two_sided=False)
    narrowed = search(
        [inside],
        [attribute.take(in_slice) for attribute in attributes],
        level=level,
        rng=rng,
        depth=1,
        min_rows=MIN_SHARE * len(in_slice),  # of all rows, not of those of the slice
    )
    if not narrowed.finds:
        return find
    most_extreme = narrowed.finds[0]
    conditions = tuple(sorted((*find.conditions, *most_extreme.conditions)))
    adjusted_p = max(find.adjusted_p, most_extreme.adjusted_p)
    return find._replace(conditions=conditions, adjusted_p=adjusted_p)


def detectable(response: Response, critical: float, share: float) -> float:
    """The effect, mean of the slice less mean of the rest, at which a slice is found with 80 %
    power if its variance is that of all rows. NaN if no effect is large enough, as the slice has
    too few units, and if the values do not vary.

    response: of all rows. critical: the evidence that a find needs. share: of the size of all rows
    that the slice has.

    The sum of the slice's centred values must be k standard deviations on average, where k is the
    critical evidence plus the normal quantile of the power. The squared effect d² adds to the
    variance σ² of a row. With the share q and the size S of all rows, d solves
    (d q (1 − q) S)² = k² · q (1 − q) · spread · (1 + d² (1 − q) / σ²).
    """
    if response.variance_of_size_1 == 0:
        return float("nan")
    k = critical + one_sided_normal_quantile(POWER)
    squared_distance = k**2 * response.spread
    total_size = response.size.sum()
    divisor = total_size**2 * share - squared_distance / response.variance_of_size_1
    if not divisor > 0:
        return float("nan")
    squared_effect = squared_distance / (divisor * (1 - share))
    return float(np.sqrt(squared_effect))

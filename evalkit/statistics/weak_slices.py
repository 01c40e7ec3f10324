"""Weak slices: where the mean of a metric, or of a difference, is not that of the other rows.

Candidates are all slices of one and of two conditions. Their sums of excess (value less the mean of
all rows) are compared with those under joint sign flips of whole units, and p is adjusted over all
candidates and subjects by max-T (step-down). Rademacher signs of the residuals are a wild bootstrap
of the score: units may be clusters with rows in several slices, and slices may differ in variance.
Draws are made as by `signflip.joint_draws`, except that units beyond `MAX_POINTS` wrap around:
units with the same place share a column of the Hadamard matrix, each with a random sign of its own.
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
from evalkit.statistics.intervals import normal_quantile

MIN_SHARE = 0.01  # of the rows, in a slice and in the rest
MIN_UNITS = 20  # in a slice and in the rest
MAX_POINTS = 1024  # most points of the Hadamard transform
DRAWS = 2048
MAX_FINDS = 1000  # most candidates that may be finds
MAX_MERGED = 100  # most extreme finds that are merged
NO_EVIDENCE = 1.96  # a standardised excess below it is no sign of a further effect
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


def matching_rows(attributes: Sequence[Attribute], conditions: Conditions) -> Bools:
    """A mask: the rows that meet all conditions."""
    mask: Bools = np.ones(len(attributes[0].code), dtype=bool)
    for attribute, label in conditions:
        mask &= attributes[attribute].code == label
    return mask


@dataclass(frozen=True, eq=False)
class Excess:
    """What each row adds to the excess of its slice: (rows,) each.

    values: the row's numerator less mean · size, so that all add up to 0. size: its denominator, 0
    for a row without a value. unit: the number of its unit. two_sided: True if slices below the
    rest are looked for as well as those above.
    """

    values: Floats
    size: Floats
    unit: Ints
    two_sided: bool

    @classmethod
    def from_values(
        cls, value: Floats, size: Floats, unit: np.ndarray | None, *, two_sided: bool
    ) -> Excess:
        """The excess of rows over the mean of all, Σ value / Σ size.

        value: of each row, NaN for a row without one. size: what it counts, the denominator of a
        ratio of sums. unit: the key of each row's unit, None if each row is one.

        >>> Excess.from_values(np.array([1.0, 2.0, 6.0]), np.ones(3), None, two_sided=True).values
        array([-2., -1.,  3.])
        """
        known = ~np.isnan(value)
        size = np.where(known, size, 0.0)
        unit_number = np.arange(len(value))
        if unit is not None:
            unit_number, _ = codes(unit)
        excess = cls(np.where(known, value, 0.0), size, unit_number, two_sided)
        all_rows = np.ones(len(value), dtype=bool)
        return excess._around_mean(all_rows)

    def take(self, rows: Bools) -> Excess:
        """The excess of some rows over their own mean."""
        unit_number, _ = codes(self.unit[rows])
        taken = replace(self, values=self.values[rows], size=self.size[rows], unit=unit_number)
        all_rows = np.ones(len(unit_number), dtype=bool)
        return taken._around_mean(all_rows)

    def without_effect(self, mask: Bools) -> Excess:
        """The excess without the effect of a slice: the rows of the mask, and all others, are each
        taken around their own mean.
        """
        return self._around_mean(mask)._around_mean(~mask)

    def _around_mean(self, mask: Bools) -> Excess:
        """The excess with that of the rows of a mask around their own mean, that of the others
        unchanged.
        """
        mean = float(np.nan_to_num(ratio(self.values[mask].sum(), self.size[mask].sum())))
        return replace(self, values=self.values - mean * self.size * mask)

    @property
    def is_clustered(self) -> bool:
        """True if units have several rows."""
        units = int(self.unit.max(initial=-1)) + 1
        return units < len(self.unit)

    def evidence(self, standardised: Floats) -> Floats:
        """The evidence for slices from their standardised sums: the sum or, if two-sided, its
        absolute value.
        """
        return np.abs(standardised) if self.two_sided else standardised

    def evidence_of(self, mask: Bools) -> float:
        """The evidence for the slice of the rows of a mask."""
        sums = self.sums_by_cell(mask.astype(np.int64), cells=2)
        _, of_slice = self.evidence(sums.standardised)
        return float(of_slice)

    @cached_property
    def correlation(self) -> float:
        """The correlation of the excess of two rows of a unit, at least 0: the sum of the products
        of two different rows of a unit, over what it would be if they were equal.
        """
        if not self.is_clustered:
            return 0.0
        squares = np.sum(self.values**2)
        size_squares = np.sum(self.size**2)
        # (Σ x)² of a unit is Σ x² and the products of its rows
        products = np.sum(np.bincount(self.unit, self.values) ** 2) - squares
        size_products = np.sum(np.bincount(self.unit, self.size) ** 2) - size_squares
        variance = ratio(squares, size_squares)
        return float(np.clip(np.nan_to_num(ratio(products, variance * size_products)), 0.0, 1.0))

    @cached_property
    def spread(self) -> float:
        """The variance of a slice's Σ excess under sign flips, divided by share · (1 − share) of
        the slice, if a unit is in it with all rows or with none.
        """
        row_squares = np.sum(self.size**2)
        unit_squares = np.sum(np.bincount(self.unit, self.size) ** 2)
        correlation = self.correlation
        variance = ratio(np.sum(self.values**2), row_squares)
        return float(variance * ((1 - correlation) * row_squares + correlation * unit_squares))

    def sums_by_cell(self, cell: Ints, cells: int) -> CellSums:
        """For each cell of rows the sum of their excess, and its standard deviation under sign
        flips of whole units: (cells,) each. cell: the number of each row's cell, below `cells`.

        Σ excess of all rows is 0, but not its flipped sum, of which each cell has its share. So a
        unit adds to the variance of a cell the square of Σ excess · (in the cell − share of the
        cell) over its rows. A cell of equal rows would have no variance: it has at least the one
        that it would have if the squared excess and the correlation of its rows were those of all.
        """
        share = ratio(np.bincount(cell, self.size, cells), self.size.sum())
        variance = self._flip_variance(self.values, cell, share, self.unit)
        each_row = np.arange(len(cell))  # as its own unit
        pooled: Floats = self._flip_variance(self.size, cell, share, each_row)
        pooled = (1 - self.correlation) * pooled
        if self.correlation:
            of_units = self._flip_variance(self.size, cell, share, self.unit)
            pooled = pooled + self.correlation * of_units
        pooled *= float(np.nan_to_num(ratio(np.sum(self.values**2), np.sum(self.size**2))))
        scale = np.sqrt(np.maximum(variance, pooled))
        total = np.bincount(cell, self.values, cells).astype(np.float64)
        return CellSums(total, share, scale)

    @staticmethod
    def _flip_variance(column: Floats, cell: Ints, share: Floats, unit: Ints) -> Floats:
        """For each cell, Σ over units of the square of Σ column · (in the cell − share of the cell)
        over the rows of the unit: (cells,).

        With the sum c of a unit's rows in the cell and t of all its rows, the square is
        (c − share t)² = c² − 2 share c t + share² t². Only units with rows in the cell have a c.
        """
        cells = len(share)
        unit_total: Floats = np.bincount(unit, column).astype(np.float64)
        units = len(unit_total)
        if units == len(unit):  # each row is a unit: in its cell c is t
            cell_of_pair = cell
            in_cell = column
            in_unit = column
        else:  # an element for each pair of a cell and a unit with rows in it
            pair, pair_of_row = np.unique(cell * units + unit, return_inverse=True)
            cell_of_pair = pair // units
            in_cell = np.bincount(pair_of_row, column).astype(np.float64)
            in_unit = unit_total[pair % units]
        squares = np.bincount(cell_of_pair, in_cell**2, cells)
        products = np.bincount(cell_of_pair, in_cell * in_unit, cells)
        return np.asarray(squares - 2 * share * products + share**2 * np.sum(unit_total**2))


class CellSums(NamedTuple):
    """The sum of excess in each cell, the cell's share of the size of all rows, and the standard
    deviation of the sum under sign flips: (cells,) each.
    """

    total: Floats
    share: Floats
    scale: Floats

    def take(self, cells: Ints) -> CellSums:
        """The sums of some cells."""
        return CellSums(self.total[cells], self.share[cells], self.scale[cells])

    @property
    def standardised(self) -> Floats:
        """The sums over their standard deviations; 0 where that is 0."""
        return np.nan_to_num(ratio(self.total, self.scale))


# Candidates ---------------------------------------------------------------------------------------


class CandidateCells(NamedTuple):
    """The rows by the labels of one or two attributes, and the candidates among these cells.

    cell: for each row the number of its cell. size: the number of cells. candidates: the numbers of
    the cells that are large enough and have labels. conditions: of each candidate.
    """

    cell: Ints
    size: int
    candidates: Ints
    conditions: list[Conditions]


def candidate_cells(
    attributes: Sequence[Attribute], unit: Ints, depth: int, min_rows: float
) -> Iterator[CandidateCells]:
    """Yield the candidates of each attribute, then, if `depth` is 2, of each two attributes.

    unit: the number of each row's unit. min_rows: the fewest rows in a slice and in the rest.
    """
    for i, attribute in enumerate(attributes):
        labels = len(attribute.labels)  # also the code of rows without a label
        large = _large_cells(attribute.code, labels + 1, unit, min_rows)
        candidates = large[large < labels]
        conditions: list[Conditions] = [(Condition(i, label),) for label in candidates.tolist()]
        yield CandidateCells(attribute.code, labels + 1, candidates, conditions)
    if depth == 1:
        return
    for i, j in combinations(range(len(attributes)), 2):
        labels_i = len(attributes[i].labels)
        labels_j = len(attributes[j].labels)
        width = labels_j + 1
        cells = (labels_i + 1) * width
        cell = attributes[i].code * width + attributes[j].code
        large = _large_cells(cell, cells, unit, min_rows)
        label_i = large // width
        label_j = large % width
        has_labels = (label_i < labels_i) & (label_j < labels_j)
        label_pairs = zip(label_i[has_labels].tolist(), label_j[has_labels].tolist(), strict=True)
        conditions = [(Condition(i, a), Condition(j, b)) for a, b in label_pairs]
        yield CandidateCells(cell, cells, large[has_labels], conditions)


def _large_cells(cell: Ints, cells: int, unit: Ints, min_rows: float) -> Ints:
    """The numbers of the cells with at least `min_rows` and `MIN_UNITS` rows, in the cell and in
    the rest, and with rows of at least `MIN_UNITS` units in the cell.
    """
    rows = np.bincount(cell, minlength=cells)
    fewest = max(min_rows, MIN_UNITS)
    large = np.flatnonzero((rows >= fewest) & (len(cell) - rows >= fewest))
    units = int(unit.max(initial=-1)) + 1
    if units == len(cell):  # each row is a unit
        return large
    # the cell of each pair of a cell and a unit with rows in it
    cell_of_pair = np.unique(cell * units + unit) // units
    units_of_cell = np.bincount(cell_of_pair, minlength=cells)
    return large[units_of_cell[large] >= MIN_UNITS]


# Search -------------------------------------------------------------------------------------------


class Find(NamedTuple):
    """A slice that differs from the rest.

    subject: the number of what was searched. standardised: the evidence, Σ excess over its standard
    deviation. adjusted: its p-value. merged: how many other finds it explains.
    """

    subject: int
    conditions: Conditions
    standardised: float
    adjusted: float
    merged: int = 0


@dataclass(frozen=True, eq=False)
class Search:
    """What a search has found, the most extreme first.

    candidates: how many slices were tested. critical: the standardised excess that a find needs in
    the first step.
    """

    finds: list[Find]
    candidates: int
    critical: float


def search(
    subjects: Sequence[Excess],
    attributes: Sequence[Attribute],
    *,
    level: float,
    rng: np.random.Generator,
    depth: int = 2,
    min_rows: float | None = None,
) -> Search:
    """Find the slices whose mean differs from that of the other rows, adjusted for all candidates
    and subjects.

    subjects: what is searched, on the same rows and units. level: a slice is a find if its adjusted
    p is at most 1 − level. depth: the largest number of conditions, 1 or 2. min_rows: in a slice
    and in the rest; None for `MIN_SHARE` of the rows.

    >>> rng = np.random.default_rng(1)
    >>> shop = np.arange(2000) % 5
    >>> values = rng.normal(0, 1, 2000) + (shop == 3)
    >>> excess = Excess.from_values(values, np.ones(2000), None, two_sided=False)
    >>> attribute = Attribute("shop", ["a", "b", "c", "d", "e"], shop)
    >>> [find.conditions for find in search([excess], [attribute], level=0.95, rng=rng).finds]
    [(Condition(attribute=0, label=3),)]
    """
    unit = subjects[0].unit
    if min_rows is None:
        min_rows = MIN_SHARE * len(unit)
    cells = [c for c in candidate_cells(attributes, unit, depth, min_rows) if len(c.candidates)]
    if not cells:
        return Search(finds=[], candidates=0, critical=np.nan)
    sums = [_candidate_sums(excess, cells) for excess in subjects]
    observed = np.array(  # subjects × candidates
        [
            excess.evidence(np.concatenate([s.standardised for s in subject_sums]))
            for excess, subject_sums in zip(subjects, sums, strict=True)
        ]
    )
    order = np.argsort(-observed.ravel(), kind="stable")  # the most extreme first
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    # an adjusted p is at least the p of the slice alone: the others cannot be finds
    significant_alone = observed > normal_quantile(2 * level - 1)
    ranked = min(int(np.sum(significant_alone)), MAX_FINDS)
    drawn = _drawn(subjects, cells, sums, rank.reshape(observed.shape), ranked, rng)
    adjusted = drawn.adjusted(observed.ravel()[order[:ranked]])
    conditions = [conditions for c in cells for conditions in c.conditions]
    finds = []
    for place in np.flatnonzero(adjusted <= 1 - level).tolist():
        subject, candidate = divmod(int(order[place]), len(conditions))
        find = Find(
            subject,
            conditions[candidate],
            standardised=float(observed[subject, candidate]),
            adjusted=float(adjusted[place]),
        )
        finds.append(find)
    return Search(finds, candidates=len(conditions), critical=drawn.critical(level))


def _candidate_sums(excess: Excess, cells: Sequence[CandidateCells]) -> list[CellSums]:
    """The sums of the candidates of one or two attributes, for each element of `cells`."""
    return [excess.sums_by_cell(c.cell, c.size).take(c.candidates) for c in cells]


class _Drawn(NamedTuple):
    """The evidence under sign flips: of the most extreme candidates, (candidates, draws), in their
    order; and the largest of all others, (draws,).
    """

    ranked: Floats
    others: Floats

    def adjusted(self, observed: Floats) -> Floats:
        """The adjusted p of the most extreme candidates, from their evidence in the data:
        (candidates,), in their order.
        """
        # step-down: the largest of each candidate and of those that are less extreme
        evidence = np.vstack([self.ranked, self.others])
        largest = np.maximum.accumulate(evidence[::-1], axis=0)[::-1][:-1]  # without the others'
        draws = largest.shape[1]
        bound = observed - signflip.TIE * np.abs(observed)  # equal but for rounding counts
        extreme_draws = np.sum(largest >= bound[:, None], axis=1)
        # the data count as a draw; p is at least that of each more extreme candidate
        adjusted: Floats = np.maximum.accumulate((1 + extreme_draws) / (1 + draws))
        return adjusted

    def critical(self, level: float) -> float:
        """The quantile at `level` of the largest evidence of a draw."""
        largest = np.vstack([self.ranked, self.others]).max(axis=0)
        return float(np.quantile(largest, level))


class SignDraws(NamedTuple):
    """Joint sign flips of whole units, in blocks of draws, for a Walsh–Hadamard transform.

    signs: of each row in each block, (blocks, rows); the rows of a unit have one. column: the
    number of each row's column among those of the Hadamard matrices of all blocks, (blocks, rows).
    points: the columns of one block, and its draws.
    """

    signs: Floats
    column: Ints
    points: int

    @classmethod
    def of_units(cls, unit: Ints, rng: np.random.Generator) -> SignDraws:
        """At least `DRAWS` draws. unit: the number of each row's unit. If there are more units than
        `MAX_POINTS`, several share a column, each with a sign of its own.
        """
        units = int(unit.max()) + 1
        points = min(1 << max(units - 1, 1).bit_length(), MAX_POINTS)  # a power of two
        blocks = -(-DRAWS // points)  # rounded up
        signs = rng.choice([-1.0, 1.0], (blocks, units))[:, unit]
        column = np.arange(blocks)[:, None] * points + unit % points
        return cls(signs, column, points)

    @property
    def draws(self) -> int:
        """The number of draws of all blocks."""
        return len(self.signs) * self.points

    def column_sums(self, signed: Floats, cell: Ints, cells: int) -> Floats:
        """The sums of the rows of each cell by column of the matrices: (cells, draws). signed:
        signs · values, (blocks, rows).
        """
        key = (cell * self.draws + self.column).ravel()
        sums = np.bincount(key, signed.ravel(), cells * self.draws)
        return sums.reshape(cells, self.draws).astype(np.float64)

    def flipped_sums(self, column_sums: Floats) -> Floats:
        """The sums under each draw, from those by column: (cells, draws) in and out."""
        by_block = column_sums.reshape(-1, len(self.signs), self.points)
        return signflip.walsh_hadamard(by_block).reshape(-1, self.draws)


def _drawn(
    subjects: Sequence[Excess],
    cells: Sequence[CandidateCells],
    sums: Sequence[Sequence[CellSums]],
    rank: Ints,
    ranked: int,
    rng: np.random.Generator,
) -> _Drawn:
    """The evidence of all candidates under joint sign flips.

    sums: for each subject those of the candidates of each element of `cells`. rank: 0 for the most
    extreme, (subjects, candidates). ranked: the number of candidates whose evidence is kept one by
    one.
    """
    flips = SignDraws.of_units(subjects[0].unit, rng)
    ranked_evidence = np.zeros((ranked, flips.draws))
    largest_other = np.full(flips.draws, -np.inf)
    for excess, subject_sums, subject_rank in zip(subjects, sums, rank, strict=True):
        signed = flips.signs * excess.values
        one_cell = np.zeros(len(excess.unit), np.int64)
        all_rows = flips.column_sums(signed, one_cell, 1)
        start = 0  # of the candidates of `c` among those of the subject
        for c, candidates in zip(cells, subject_sums, strict=True):
            by_column = flips.column_sums(signed, c.cell, c.size)[c.candidates]
            # a cell has its share of the flipped sum of all rows, see `Excess.sums_by_cell`
            total = flips.flipped_sums(by_column - candidates.share[:, None] * all_rows)
            standardised = np.nan_to_num(ratio(total, candidates.scale[:, None]))
            evidence = excess.evidence(standardised)
            ranks = subject_rank[start : start + len(evidence)]
            start += len(evidence)
            is_ranked = ranks < ranked
            ranked_evidence[ranks[is_ranked]] = evidence[is_ranked]
            largest = evidence[~is_ranked].max(axis=0, initial=-np.inf)
            np.maximum(largest_other, largest, out=largest_other)
    return _Drawn(ranked_evidence, largest_other)


# What is made of finds ----------------------------------------------------------------------------


def merge(
    search: Search, subjects: Sequence[Excess], attributes: Sequence[Attribute]
) -> list[Find]:
    """The finds without those that another one explains, the most extreme of each subject first.

    A find explains another if that is no find any more once the effect of the first is taken away:
    its rows, and all other rows, then have the same mean. Of finds that the most extreme one
    explains, and itself, the widest stays that leaves no sign of an effect in the most extreme one.
    """
    merged = []
    for number, excess in enumerate(subjects):
        finds = [find for find in search.finds if find.subject == number][:MAX_MERGED]
        masks = {find.conditions: matching_rows(attributes, find.conditions) for find in finds}
        while finds:
            explained = _explained_by_first(finds, masks, excess, search.critical)
            widest = _widest_explaining_first(explained, masks, excess)
            others_explained = len(explained) - 1
            merged.append(widest._replace(merged=others_explained))
            excess = excess.without_effect(masks[widest.conditions])
            # what is still a find without the effect of the widest
            finds = [
                find
                for find in finds
                if find not in explained
                and excess.evidence_of(masks[find.conditions]) >= search.critical
            ]
    return merged


def _explained_by_first(
    finds: Sequence[Find], masks: Mapping[Conditions, Bools], excess: Excess, critical: float
) -> list[Find]:
    """The first find, and those that are no finds any more without its effect. masks: the rows of
    each find. critical: the evidence that a find needs.
    """
    first, *others = finds
    without_first = excess.without_effect(masks[first.conditions])
    explained = [
        find for find in others if without_first.evidence_of(masks[find.conditions]) < critical
    ]
    return [first, *explained]


def _widest_explaining_first(
    finds: Sequence[Find], masks: Mapping[Conditions, Bools], excess: Excess
) -> Find:
    """The find with the most rows of those that explain the first one, and of that itself. A find
    explains it if the evidence for the first is below NO_EVIDENCE once the effect of the find is
    taken away. masks: the rows of each find.
    """
    first = finds[0]
    first_mask = masks[first.conditions]
    widest_first = sorted(finds, key=lambda find: -int(masks[find.conditions].sum()))
    for find in widest_first:
        without_find = excess.without_effect(masks[find.conditions])
        if find is first or without_find.evidence_of(first_mask) < NO_EVIDENCE:
            return find
    return first


def refine(
    find: Find,
    excess: Excess,
    attributes: Sequence[Attribute],
    *,
    level: float,
    rng: np.random.Generator,
) -> Find:
    """A find of two conditions, narrowed by a third where the rest of the slice is shown to be
    nearer to the other rows: max-T over all third conditions, within the slice.
    """
    if len(find.conditions) != 2:
        return find
    rows = matching_rows(attributes, find.conditions)
    # within the slice, more in the direction of its effect is searched
    sign = np.sign(excess.values[rows].sum())
    inside = excess.take(rows)
    inside = replace(inside, values=sign * inside.values, two_sided=False)
    attributes_inside = [attribute.take(rows) for attribute in attributes]
    min_rows = MIN_SHARE * len(rows)
    narrower = search(
        [inside], attributes_inside, level=level, rng=rng, depth=1, min_rows=min_rows
    ).finds
    if not narrower:
        return find
    narrowest = narrower[0]  # the most extreme
    return find._replace(
        conditions=(*find.conditions, *narrowest.conditions),
        adjusted=max(find.adjusted, narrowest.adjusted),
    )


def detectable(excess: Excess, critical: float, share: float) -> float:
    """The effect, slice less rest, at which a slice with this share of the rows is found with 80 %
    power if its variance is that of all rows; NaN if no effect is large enough, as the slice has
    too few units.

    critical: the standardised excess that a find needs. Σ excess of a slice with the effect e has
    the mean e n share (1 − share), with the size n of all rows. That must be k standard deviations,
    k the critical value plus the normal quantile of the power, where the effect adds (1 − share) e²
    to the variance of a row.
    """
    # the quantile of the power: `normal_quantile` is two-sided
    k = critical + normal_quantile(2 * POWER - 1)
    variance = np.sum(excess.values**2) / np.sum(excess.size**2)
    spread = excess.spread
    # solved for e²: (e n share (1 − share))² = k² spread share (1 − share) (1 + (1 − share) e² /
    # variance)
    divisor = excess.size.sum() ** 2 * share - k**2 * spread / variance
    if not divisor > 0:
        return float("nan")
    return float(np.sqrt(k**2 * spread / (divisor * (1 - share))))

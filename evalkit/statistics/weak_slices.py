"""Weak slices: where the mean of a metric, or of a difference, is not that of the other rows.

Candidates are all slices of one and of two conditions. Their sums of excess (value less the mean of
all rows) are compared with those under joint sign flips of whole units, and p is adjusted over all
candidates and subjects by max-T (step-down). Rademacher signs of the residuals are a wild bootstrap
of the score: units may be clusters with rows in several slices, and slices may differ in variance.
Draws are made as by `signflip.joint_draws`, except that units beyond `POINTS` wrap around: units
with the same place share a column of the Hadamard matrix, each with a random sign of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
POINTS = 1024  # most points of the Hadamard transform
DRAWS = 2048
RANKED = 1000  # most candidates that may be finds
MERGED = 100  # most extreme finds that are merged
EXPLAINED = 1.96  # a standardised excess below it is no sign of a further effect
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
class Excess:
    """What each row adds to the excess of its slice: (rows,) each.

    excess: the row's numerator less mean · size, so that all add up to 0. size: its denominator, 0
    for a row without a value. unit: the number of its unit. two_sided: True if slices below the
    rest are looked for as well as those above.
    """

    excess: Floats
    size: Floats
    unit: Ints
    two_sided: bool

    @classmethod
    def from_values(
        cls, value: Floats, size: Floats, unit: np.ndarray | None, *, two_sided: bool
    ) -> Excess:
        """The excess of values, as numerators of a ratio of sums; NaN for a row without a value.

        >>> Excess.from_values(np.array([1.0, 2.0, 6.0]), np.ones(3), None, two_sided=True).excess
        array([-2., -1.,  3.])
        """
        known = ~np.isnan(value)
        size = np.where(known, size, 0.0)
        number = np.arange(len(value)) if unit is None else codes(unit)[0]
        excess = cls(np.where(known, value, 0.0), size, number, two_sided)
        return excess._around_mean(np.ones(len(value), dtype=bool))

    def take(self, rows: Bools) -> Excess:
        """The excess of some rows over their own mean."""
        number = codes(self.unit[rows])[0]
        part = replace(self, excess=self.excess[rows], size=self.size[rows], unit=number)
        return part._around_mean(np.ones(len(number), dtype=bool))

    def without_effect(self, mask: Bools) -> Excess:
        """What is left if the rows of a mask, and the others, have the same mean."""
        return self._around_mean(mask)._around_mean(~mask)

    def _around_mean(self, mask: Bools) -> Excess:
        """The same with the mean of the rows of a mask subtracted from them."""
        mean = float(np.nan_to_num(ratio(self.excess[mask].sum(), self.size[mask].sum())))
        return replace(self, excess=self.excess - mean * self.size * mask)

    @property
    def is_clustered(self) -> bool:
        """True if units have several rows."""
        return int(self.unit.max(initial=-1)) + 1 < len(self.unit)

    def evidence(self, standardised: Floats) -> Floats:
        """The evidence for a slice: its standardised sum, or the size of it if two-sided."""
        return np.abs(standardised) if self.two_sided else standardised

    def evidence_of(self, mask: Bools) -> float:
        """The evidence for the slice of the rows of a mask."""
        return float(self.evidence(self.of_cells(mask.astype(np.int64), 2).standardised)[1])

    @cached_property
    def correlation(self) -> float:
        """The correlation of the excess of two rows of a unit, at least 0."""
        if not self.is_clustered:
            return 0.0
        squares = np.sum(self.excess**2)
        between = np.sum(np.bincount(self.unit, self.excess) ** 2) - squares
        products = np.sum(np.bincount(self.unit, self.size) ** 2) - np.sum(self.size**2)
        variance = ratio(squares, np.sum(self.size**2))
        return float(np.clip(np.nan_to_num(ratio(between, variance * products)), 0.0, 1.0))

    @cached_property
    def spread(self) -> float:
        """The variance of Σ excess for each squared unit of share · (1 − share), if attributes are
        those of units.
        """
        rows = np.sum(self.size**2)
        units = np.sum(np.bincount(self.unit, self.size) ** 2)
        correlation = self.correlation
        squares = ratio(np.sum(self.excess**2), rows)
        return float(squares * ((1 - correlation) * rows + correlation * units))

    def of_cells(self, cell: Ints, cells: int) -> CellSums:
        """The sums of each cell of rows against the other rows. cell: its number for each row."""
        share = ratio(np.bincount(cell, self.size, cells), self.size.sum())
        variance = self._squares(self.excess, cell, share, self.unit)
        # A cell without an error has no variance of its own; it has at least that of all rows.
        row_number = np.arange(len(cell))
        pooled: Floats = (1 - self.correlation) * self._squares(self.size, cell, share, row_number)
        if self.correlation:
            pooled = pooled + self.correlation * self._squares(self.size, cell, share, self.unit)
        pooled *= float(np.nan_to_num(ratio(np.sum(self.excess**2), np.sum(self.size**2))))
        scale = np.sqrt(np.maximum(variance, pooled))
        total = np.bincount(cell, self.excess, cells).astype(np.float64)
        return CellSums(total, share, scale)

    @staticmethod
    def _squares(column: Floats, cell: Ints, share: Floats, unit: Ints) -> Floats:
        """Σ over units of the squared sum of column · (in the cell − share of the cell)."""
        total: Floats = np.bincount(unit, column).astype(np.float64)
        if len(total) == len(unit):  # each row is a unit
            key_cell = cell
            own = column
            of_unit = column
        else:
            key, number = np.unique(cell * len(total) + unit, return_inverse=True)
            key_cell = key // len(total)
            own = np.bincount(number, column).astype(np.float64)
            of_unit = total[key % len(total)]
        size = len(share)
        squares = np.bincount(key_cell, own**2, size)
        products = np.bincount(key_cell, own * of_unit, size)
        return np.asarray(squares - 2 * share * products + share**2 * np.sum(total**2))


class CellSums(NamedTuple):
    """The sum of excess in each cell, its share of the size of all rows, and the standard deviation
    of the sum under sign flips.
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


class Cells(NamedTuple):
    """The candidates of one or two attributes.

    cell: for each row the number of its cell. size: the number of cells. candidates: the cells
    that are large enough. conditions: of each of these.
    """

    cell: Ints
    size: int
    candidates: Ints
    conditions: list[Conditions]


def cells_of(
    attributes: Sequence[Attribute], unit: Ints, depth: int, min_rows: float
) -> Iterator[Cells]:
    """Yield the candidates of each attribute, then, at depth 2, of each two."""
    units = int(unit.max(initial=-1)) + 1
    for i, attribute in enumerate(attributes):
        labels = len(attribute.labels)
        large = _large(attribute.code, labels + 1, unit, units, min_rows)
        candidates = large[large < labels]
        yield Cells(
            attribute.code,
            labels + 1,
            candidates,
            [(Condition(i, j),) for j in candidates.tolist()],
        )
    if depth == 1:
        return
    for i, j in combinations(range(len(attributes)), 2):
        width = len(attributes[j].labels) + 1
        count = (len(attributes[i].labels) + 1) * width
        cell = attributes[i].code * width + attributes[j].code
        large = _large(cell, count, unit, units, min_rows)
        first = large // width
        second = large % width
        named = (first < len(attributes[i].labels)) & (second < len(attributes[j].labels))
        pairs = zip(first[named].tolist(), second[named].tolist(), strict=True)
        conditions: list[Conditions] = [(Condition(i, a), Condition(j, b)) for a, b in pairs]
        yield Cells(cell, count, large[named], conditions)


def _large(cell: Ints, count: int, unit: Ints, units: int, min_rows: float) -> Ints:
    """The cells with enough rows and units in them and in the rest."""
    rows = np.bincount(cell, minlength=count)
    is_large = (rows >= min_rows) & (len(cell) - rows >= min_rows)
    candidates = np.flatnonzero(is_large & (rows >= MIN_UNITS) & (len(cell) - rows >= MIN_UNITS))
    if units == len(cell):
        return candidates
    pairs = np.unique(cell * units + unit) // units
    return candidates[np.bincount(pairs, minlength=count)[candidates] >= MIN_UNITS]


# Search -------------------------------------------------------------------------------------------


class Find(NamedTuple):
    """A slice that differs from the rest.

    subject: the number of what was searched. standardised: the excess over its standard deviation.
    merged: how many other finds it explains.
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

    subjects: on the same rows and units. depth: the largest number of conditions, 1 or 2. min_rows:
    in a slice and in the rest; None for `MIN_SHARE` of the rows.

    >>> rng = np.random.default_rng(1)
    >>> shop = np.arange(2000) % 5
    >>> values = rng.normal(0, 1, 2000) + (shop == 3)
    >>> excess = Excess.from_values(values, np.ones(2000), None, two_sided=False)
    >>> attribute = Attribute("shop", ["a", "b", "c", "d", "e"], shop)
    >>> [find.conditions for find in search([excess], [attribute], level=0.95, rng=rng).finds]
    [(Condition(attribute=0, label=3),)]
    """
    unit = subjects[0].unit
    least = MIN_SHARE * len(unit) if min_rows is None else min_rows
    cells = [c for c in cells_of(attributes, unit, depth, least) if len(c.candidates)]
    if not cells:
        return Search([], 0, np.nan)
    conditions = [each for c in cells for each in c.conditions]
    sums = [
        [excess.of_cells(c.cell, c.size).take(c.candidates) for c in cells] for excess in subjects
    ]
    observed = np.array(
        [
            excess.evidence(np.concatenate([s.standardised for s in own]))
            for excess, own in zip(subjects, sums, strict=True)
        ]
    )
    order = np.argsort(-observed.ravel(), kind="stable")
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    # a find is significant for itself alone
    possible = min(int(np.sum(observed > normal_quantile(2 * level - 1))), RANKED)
    drawn = _drawn(subjects, cells, sums, rank.reshape(observed.shape), possible, rng)
    adjusted = drawn.adjusted(observed.ravel()[order[:possible]])
    finds = []
    for place in np.flatnonzero(adjusted <= 1 - level).tolist():
        subject, candidate = divmod(int(order[place]), len(conditions))
        evidence = float(observed[subject, candidate])
        find = Find(subject, conditions[candidate], evidence, float(adjusted[place]))
        finds.append(find)
    return Search(finds, len(conditions), drawn.critical(level))


class _Drawn(NamedTuple):
    """The evidence under sign flips: of the most extreme candidates, (candidates, draws), in their
    order; and the largest of all others, (draws,).
    """

    ranked: Floats
    others: Floats

    def adjusted(self, observed: Floats) -> Floats:
        """The adjusted p of the most extreme candidates, from their evidence in the data."""
        # step-down: the largest of each candidate and of those that are less extreme
        evidence = np.vstack([self.ranked, self.others])
        largest = np.maximum.accumulate(evidence[::-1], axis=0)[::-1][:-1]
        bound = observed - signflip.TIE * np.abs(observed)
        extreme = np.sum(largest >= bound[:, None], axis=1)
        adjusted: Floats = np.maximum.accumulate((1 + extreme) / (1 + largest.shape[1]))
        return adjusted

    def critical(self, level: float) -> float:
        """The quantile of the largest evidence."""
        return float(np.quantile(np.vstack([self.ranked, self.others]).max(axis=0), level))


def _drawn(
    subjects: Sequence[Excess],
    cells: Sequence[Cells],
    sums: Sequence[Sequence[CellSums]],
    rank: Ints,
    possible: int,
    rng: np.random.Generator,
) -> _Drawn:
    """The evidence of all candidates under joint sign flips.

    sums: of the candidates of each subject and cells. rank: (subjects, candidates).
    possible: how many of the most extreme may be finds.
    """
    unit = subjects[0].unit
    units = int(unit.max()) + 1
    points = min(1 << max(units - 1, 1).bit_length(), POINTS)
    blocks = -(-DRAWS // points)
    draws = blocks * points
    signs = rng.choice([-1.0, 1.0], (blocks, units))[:, unit]
    place = np.arange(blocks)[:, None] * points + unit % points  # of each row in each block
    ranked = np.zeros((possible, draws))
    others = np.full(draws, -np.inf)
    for excess, own_sums, own_rank in zip(subjects, sums, rank, strict=True):
        flipped = (signs * excess.excess).ravel()
        of_all = np.bincount(place.ravel(), flipped, draws)
        start = 0
        for c, candidates in zip(cells, own_sums, strict=True):
            key = (c.cell * draws + place).ravel()
            columns = np.bincount(key, flipped, c.size * draws).reshape(c.size, draws)
            centred = columns[c.candidates] - candidates.share[:, None] * of_all
            flips = signflip.walsh_hadamard(centred.reshape(-1, blocks, points))
            total = flips.reshape(-1, draws)
            scaled = np.nan_to_num(ratio(total, candidates.scale[:, None]))
            evidence = excess.evidence(scaled)
            ranks = own_rank[start : start + len(evidence)]
            start += len(evidence)
            is_ranked = ranks < len(ranked)
            ranked[ranks[is_ranked]] = evidence[is_ranked]
            np.maximum(others, evidence[~is_ranked].max(axis=0, initial=-np.inf), out=others)
    return _Drawn(ranked, others)


# What is made of finds ----------------------------------------------------------------------------


def merge(
    search: Search, subjects: Sequence[Excess], attributes: Sequence[Attribute]
) -> list[Find]:
    """The finds without those that another one explains, the most extreme of each subject first.

    A find explains another if that is no find any more once the rows of the first, and the others,
    have the same mean each. Of those that are explained together the widest stays that leaves no
    sign of an effect in the most extreme one.
    """
    kept = []
    for number, excess in enumerate(subjects):
        finds = [find for find in search.finds if find.subject == number][:MERGED]
        masks = {find.conditions: member(attributes, find.conditions) for find in finds}
        while finds:
            first = masks[finds[0].conditions]
            without_first = excess.without_effect(first)
            explained = [
                find
                for find in finds
                if find is finds[0]
                or without_first.evidence_of(masks[find.conditions]) < search.critical
            ]
            explained.sort(key=lambda find: -int(masks[find.conditions].sum()))
            widest = next(
                find
                for find in explained
                if find is finds[0]
                or excess.without_effect(masks[find.conditions]).evidence_of(first) < EXPLAINED
            )
            kept.append(widest._replace(merged=len(explained) - 1))
            excess = excess.without_effect(masks[widest.conditions])
            finds = [
                find
                for find in finds
                if find not in explained
                and excess.evidence_of(masks[find.conditions]) >= search.critical
            ]
    return kept


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
    rows = member(attributes, find.conditions)
    sign = np.sign(excess.excess[rows].sum())
    inside = excess.take(rows)
    inside = replace(inside, excess=sign * inside.excess, two_sided=False)
    within = [attribute.take(rows) for attribute in attributes]
    least = MIN_SHARE * len(rows)
    narrower = search([inside], within, level=level, rng=rng, depth=1, min_rows=least).finds
    if not narrower:
        return find
    conditions = (*find.conditions, *narrower[0].conditions)
    adjusted = max(find.adjusted, narrower[0].adjusted)
    return find._replace(conditions=conditions, adjusted=adjusted)


def detectable(excess: Excess, critical: float, share: float) -> float:
    """The effect, slice less rest, at which a slice with this share of the rows is found with 80 %
    power if its variance is that of all rows; NaN if no effect is large enough, as the slice has
    too few units.

    Solves E(sum) = k · standard deviation, k the critical value plus the normal quantile of the
    power, where the squared effect adds to the variance.
    """
    k = critical + normal_quantile(2 * POWER - 1)
    variance = np.sum(excess.excess**2) / np.sum(excess.size**2)
    spread = excess.spread
    divisor = excess.size.sum() ** 2 * share - k**2 * spread / variance
    if not divisor > 0:
        return float("nan")
    return float(np.sqrt(k**2 * spread / (divisor * (1 - share))))

"""One class against the rest, or one label: the leader's tables of the classes that an expert looks at first."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from typing import Any, ClassVar

import pandas as pd

from evalkit.arrays import Bools, Floats, Ints
from evalkit.metrics import calibration, recalibration
from evalkit.metrics.block import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.reading.reductions.blocks import Blocks
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.table import Slice, of_groups
from evalkit.statistics import inference
from evalkit.statistics.intervals import Estimate
from evalkit.studies import curve_points, reliability
from evalkit.studies.reliability import Fine, Reliability
from evalkit.studies.row_study import DRAWN, Account, RowStudy, units_of
from evalkit.studies.units import Units

MOST = 6  # classes that have a square each
SMALL = Fine(curve=500, band=60, pooled=512)  # in such a square
BINS = 20


@dataclass(frozen=True)
class Choice:
    """By what the classes of a figure are chosen, in words, and the number of each table: the largest are drawn."""

    words: str
    of: Callable[[Counts], float]


CALIBRATION = Choice("largest miscalibration", calibration.miscalibration)
SIZE = Choice("most rows", lambda c: float(c.positives))


def kept(names: Sequence[str], every: Iterable[Counts], by: Choice) -> dict[str, Counts]:
    """The tables of at most half a dozen classes, in their order; a class that all rows or none have is left out."""
    ranked = ((by.of(c), -i, c) for i, c in enumerate(every) if 0 < c.positives < c.total)
    largest = nlargest(MOST, ranked, key=lambda row: row[:2])
    return {names[-i]: c for _, i, c in sorted(largest, key=lambda row: -row[1])}


def parts(tables: Mapping[str, Counts]) -> dict[str, tuple[calibration.Decomposition, float]]:
    """The Brier score of each table taken apart, and its calibration slope."""
    return {name: (calibration.decompose(c), recalibration.slope(c)) for name, c in tables.items()}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EachStudy(RowStudy):
    """A study of several classes or labels, each of which may have scores of its own.

    noun: what each is called. sides: what its rows and the others are called. measured: what metrics are measured on.
    data: the rows where they are at hand; blocks: what was read where they are not.
    """

    report: ClassVar[str] = "classification"
    listed_under: ClassVar[str] = "Row by row"
    noun: ClassVar[str]
    sides: ClassVar[tuple[str, str]]

    measured: Any
    account: Account
    data: Any = None
    blocks: Blocks | None = None

    @property
    def sample(self) -> Any:
        """All systems on the same rows."""
        return self.measured

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """All classes or labels."""

    @property
    @abstractmethod
    def probabilities(self) -> bool:
        """Whether every system's scores lie in 0..1."""

    @abstractmethod
    def rows_of(self, block: Block, system: int) -> Rows:
        """The rows of a block as a system, by its number in the table, speaks of them."""

    def units_held(self) -> Units:
        """The rows; those that are not at hand are read again as they are taken."""
        if self.blocks is None:
            return super().units_held()
        return units_of(self, self.blocks, len(self.account), said=self._said_in)

    def _said_in(self, block: Block, system: int) -> Rows:
        return replace(self.rows_of(block, system), weight=block.weight)

    @cached_property
    def slices(self) -> list[Slice]:
        """The groups of rows that share a value of a segment column."""
        if self.blocks is None:
            return super().slices
        return [part for part in of_groups(self.blocks.slices) if part.member in self.measured.groups]

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return bool(self.measured.weighted)

    @property
    @abstractmethod
    def sizes(self) -> Ints:
        """The rows of each class, or those on which each label is true."""

    @property
    def bounds(self) -> Floats:
        """By how much counting scores in bins changes an AUC and an average precision at most."""
        bounds: Floats = self.measured.bounds
        return bounds

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.account.sources

    # Tables of scores

    @cached_property
    def drawn(self) -> list[tuple[str, Counts]]:
        """The leader's table of each class or label that has a curve, the eight of most rows, in their order."""
        size, weight = self.sizes, self.measured.weights
        several = [c for c in range(len(self.names)) if 0 < size[c] < len(self.account)]
        largest = sorted(sorted(several, key=lambda c: -weight[c])[:DRAWN])
        return [(self.names[c], self.measured.table(self.leader, c)) for c in largest]

    @cached_property
    def one_by_one(self) -> dict[str, Counts]:
        """The leader's table of each against the rest, of at most half a dozen."""
        every = (self.measured.table(self.leader, c) for c in range(len(self.names)))
        return kept(self.names, every, self.chosen_by)

    def curve(self, kind: str) -> pd.DataFrame:
        """The leader's curve of each against the rest: x, y and the class or label as `system`."""
        return curve_points.curve(dict(self.drawn), kind)

    @property
    def chosen_by(self) -> Choice:
        """By what they are chosen."""
        return CALIBRATION if self.probabilities else SIZE

    @cached_property
    def each_reliability(self) -> Reliability:
        """Their reliability without bins."""
        draws, level = self.settings.limits.bands, self.settings.level if self.plain else None
        return reliability.reliability(self.one_by_one, lambda: self.rng(7), draws=draws, level=level, fine=SMALL)

    def estimated(self, of: Any) -> Estimate:
        """A number of the page that is no metric of the table, with its limits."""
        return inference.estimate(of, self.inference_options(1))


Of = Callable[[Rows], Bools]  # which of the rows


def among(member: Of, hit: Of) -> Callable[[Rows], Rows]:
    """Hits among some of the rows."""
    return lambda rows: Rows(member(rows), decision=hit(rows), weight=rows.weight, unit=rows.unit)

"""One class against the rest, or one label: the leader's tables of the classes that an expert looks at first."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from typing import ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.metric import Chosen
from evalkit.metrics import calibration, recalibration
from evalkit.metrics.counts import Counts
from evalkit.reading.tables.parts import Source
from evalkit.studies import curve_points, reliability, row_study
from evalkit.studies.account import Account
from evalkit.studies.reliability import Fine, Reliability
from evalkit.studies.row_study import RowStudy

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


def tables(names: Sequence[str], actual: Bools, score: Floats, weight: Floats | None, by: Choice) -> dict[str, Counts]:
    """The tables of at most half a dozen classes, in their order; a class that all rows or none have is left out.

    actual, score: one column a class.
    """
    return kept(names, (row_study.table(hit, own, weight) for hit, own in zip(actual.T, score.T, strict=True)), by)


def kept(names: Sequence[str], every: Iterable[Counts], by: Choice) -> dict[str, Counts]:
    """The same of the table of each class."""
    ranked = ((by.of(c), -i, c) for i, c in enumerate(every) if 0 < c.positives < c.total)
    largest = nlargest(MOST, ranked, key=lambda row: row[:2])
    return {names[-i]: c for _, i, c in sorted(largest, key=lambda row: -row[1])}


def parts(tables: Mapping[str, Counts]) -> dict[str, tuple[calibration.Decomposition, float]]:
    """The Brier score of each table taken apart, and its calibration slope."""
    return {name: (calibration.decompose(c), recalibration.slope(c)) for name, c in tables.items()}


@dataclass(frozen=True, eq=False, repr=False)
class EachStudy(RowStudy):
    """A study of several classes or labels, each of which may have scores of its own.

    noun: what each is called. sides: what its rows and the others are called.
    """

    report: ClassVar[str] = "classification"
    listed_under: ClassVar[str] = "Row by row"
    noun: ClassVar[str]
    sides: ClassVar[tuple[str, str]]

    @property
    @abstractmethod
    def account(self) -> Account:
        """What was read."""

    @property
    @abstractmethod
    def probabilities(self) -> bool:
        """Whether every system's scores lie in 0..1."""

    @property
    @abstractmethod
    def one_by_one(self) -> dict[str, Counts]:
        """The leader's table of each class against the rest, of at most half a dozen."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """All classes or labels."""

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """Whether rows carry weights."""

    @property
    @abstractmethod
    def sizes(self) -> Ints:
        """The rows of each class, or those on which each label is true."""

    @property
    @abstractmethod
    def drawn(self) -> list[tuple[str, Counts]]:
        """The leader's table of each class or label that has a curve, the most frequent eight."""

    @abstractmethod
    def constant(self, chosen: Chosen) -> float:
        """The metric of a prediction that is the same for every row: the largest class, the shares of all."""

    @property
    def bounds(self) -> Floats:
        """By how much counting scores in bins changes an AUC and an average precision at most."""
        return np.zeros(2)

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.account.sources

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

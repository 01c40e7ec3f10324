"""The rows of a study that its systems miss by most, or that two of them miss most unlike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import singledispatch
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.metrics import counts
from evalkit.reading.inputs import aligned as other_columns
from evalkit.reading.inputs import outcomes
from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.inputs.outcomes import Binary, MultiClass, MultiLabel, Ratings
from evalkit.statistics.statistic import HeldRows
from evalkit.studies.row_study import RowStudy


class By(Enum):
    """What a miss is."""

    PROBABILITY = auto()
    RANK = auto()
    CLASS = auto()
    DECISION = auto()
    LABELS = auto()
    ERROR = auto()


@dataclass(frozen=True, eq=False)
class Misses:
    """What rows are, what each system says of them, and how far off that is, at least 0.

    truth: text, or numbers. by: what `off` is.
    """

    truth: np.ndarray
    truth_is: str
    says: Mapping[str, np.ndarray]
    off: Mapping[str, Floats]
    by: By


@singledispatch
def misses(data: Any) -> Misses:
    """How far off every system is on each row of some data. Raises TypeError for data without a rule of their own."""
    raise TypeError(f"rows of {type(data).__name__} have no misses")


@misses.register
def _(data: Binary) -> Misses:
    sure = all(map(outcomes.are_probabilities, data.score.values()))
    near = data.score if sure else {name: _rank(score) for name, score in data.score.items()}
    names = np.array([data.negative or f"not {data.positive}", data.positive], dtype=object)
    off = {name: np.abs(data.label - own) for name, own in near.items()}
    by = By.PROBABILITY if sure else By.RANK
    return Misses(names[data.label], "label", data.score, off, by)


def _rank(score: Floats) -> Floats:
    """The share of rows that score lower, those of equal score by half."""
    table = counts.count(score, np.zeros(len(score), dtype=np.int64))
    place = np.searchsorted(-table.threshold, -score)
    return 1 - (table.fp[place] - table.negative[place] / 2) / len(score)


@misses.register
def _(data: MultiClass) -> Misses:
    classes, every = np.array(data.classes, dtype=object), np.arange(len(data.actual))
    says = {name: classes[own] for name, own in data.predicted.items()}
    if data.score and all(map(outcomes.are_probabilities, data.score.values())):
        off = {name: 1 - own[every, data.actual] for name, own in data.score.items()}
        return Misses(classes[data.actual], "class", says, off, By.CLASS)
    off = {name: (own != data.actual).astype(float) for name, own in data.predicted.items()}
    return Misses(classes[data.actual], "class", says, off, By.DECISION)


@misses.register
def _(data: MultiLabel) -> Misses:
    names = np.array(data.labels, dtype=object)
    truth = np.array([", ".join(names[own]) or "–" for own in data.actual], dtype=object)
    near = {name: np.column_stack([_rank(column) for column in own.T]) for name, own in data.score.items()}
    if all(map(outcomes.are_probabilities, data.score.values())):
        near = dict(data.score)
    off = {name: np.abs(data.actual - own).mean(axis=1) for name, own in near.items()}
    worst = {name: names[np.abs(data.actual - own).argmax(axis=1)] for name, own in near.items()}
    says = {name: np.where(off[name] > 0, worst[name], "–") for name in worst}
    return Misses(truth, "labels", says, off, By.LABELS)


@misses.register
def _(data: Ratings) -> Misses:
    off = {name: np.abs(own - data.actual) for name, own in data.forecast.items()}
    return Misses(data.actual, "actual", data.forecast, off, By.ERROR)


@dataclass(frozen=True, eq=False)
class Missed:
    """Some rows of a study, the most missed first; see `missed`."""

    study: RowStudy
    aligned: Aligned
    misses: Misses
    rows: Ints

    @property
    def pair(self) -> Sequence[str]:
        """The leader, and whom it is compared with."""
        return compared(self.study)

    @property
    def apart(self) -> Floats:
        """How much more the first of the pair misses each of the rows."""
        first, last = (self.misses.off[name][self.rows] for name in (self.pair[0], self.pair[-1]))
        return first - last

    def opened(self, most: int) -> list[dict[str, str]]:
        """The other columns of the input, of the first rows."""
        return other_columns.others_of_rows(self.aligned, self.rows[:most].tolist())


def at_hand(study: RowStudy) -> bool:
    """True if the rows of a study are in memory."""
    return isinstance(study.sample, HeldRows)


def compared(study: RowStudy) -> Sequence[str]:
    """The leader of a study, and whom it is compared with."""
    if not len(study.headline):
        return [study.leader]
    return [study.leader, *(name for name in study.opponents if name != study.leader)]


def missed(study: Any, most: int) -> Missed:
    """The rows that the leader misses by most, of all and of each segment, and most unlike its opponent.

    Of each as many, the most missed first; all rows where there are no more than `most`, else none that nobody misses.
    """
    m, pair = misses(study.data), compared(study)
    first, last = m.off[pair[0]], m.off[pair[-1]]
    places = [_place(first), *([_place(np.abs(first - last))] if len(pair) > 1 else [])]
    for part in study.slices:
        place = np.full(len(first), len(first))
        place[part.member] = _place(first[part.member]) * len(study.slices)
        places.append(place)
    rows = np.argsort(np.min(places, axis=0), kind="stable")[:most]
    if len(rows) < len(first):
        rows = rows[(first[rows] > 0) | (last[rows] > 0)]
    return Missed(study, study.data.rows, m, rows[np.argsort(-first[rows], kind="stable")])


def fitting(study: RowStudy, most: int, room: int, size: Callable[[Missed], int]) -> Missed:
    """`missed`, of fewer rows where they would take more than so much room."""
    m = missed(study, most)
    fewer = room * len(m.rows) // max(size(m), 1)
    return missed(study, fewer) if fewer < len(m.rows) else m


def _place(values: Floats) -> Ints:
    """The place of each value, from the largest on."""
    place = np.empty(len(values), dtype=np.int64)
    place[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return place

"""The folds of a split, as a page tells of them: the rows behind them, the map, the numbers set beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints, codes
from evalkit.offline.optimism import Bootstrap
from evalkit.reading.inputs.folds import CLASSES, NUMBER, LeftOut
from evalkit.reading.tables import rules
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.rules import Precision
from evalkit.statistics.intervals import Estimate
from evalkit.studies.resplits import ONE_OUT

if TYPE_CHECKING:
    from evalkit.studies.diagnostics import Ends
    from evalkit.studies.out_of_fold import Validation

Side = tuple[str, Ints, Ints]  # the name of a fold, its test rows and its training rows


@dataclass(frozen=True)
class Label:
    """Rows of every class; of a number its lowest, highest and mean value."""

    classes: Mapping[str, int]
    low: float
    high: float
    mean: float


@dataclass(frozen=True, eq=False)
class Facts:
    """What the page says of the rows. columns: role -> column. read, rows: rows read, and those of each system.

    known: which of id, group, time, fold, features and candidates (columns to select from) there are. classes: of the
    label, none of a number. left_out: rows and columns that were read and not used. repeats: how often the folds were
    drawn. per_id: the least and the most rows of an id. ends: the lowest and the highest score of each system.
    """

    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    read: int
    rows: int
    known: frozenset[str]
    classes: tuple[str, ...]
    label: Label
    left_out: tuple[LeftOut, ...]
    repeats: int
    dated: bool
    precision: Mapping[str, Precision]
    ends: Mapping[str, Ends]
    per_id: tuple[int, int] = (1, 1)

    def __len__(self) -> int:
        return self.rows

    @property
    def kind(self) -> str:
        """Whether the label is a class or a number."""
        return CLASSES if self.classes else NUMBER


@dataclass(frozen=True)
class Features:
    """The columns that estimators are fitted on: how many, those of text, those without two values."""

    count: int
    text: Sequence[str]
    constant: Sequence[str]


@dataclass(frozen=True)
class Split:
    """The folds. names: of their test sides. train, test: the rows of both sides of each, none where none is known.

    sides: the mean rows of training and of test sides over the folds that have both. tested: rows that a fold tests.
    distinct: the same, each id counted once however often the folds were drawn.
    """

    rule: str
    names: Sequence[str]
    train: Sequence[int]
    test: Sequence[int]
    sides: tuple[float, float]
    tested: int
    distinct: int


# The map: where along time, groups or rows each fold tests and where it trains --------------------------------------


@dataclass(frozen=True, eq=False)
class Bins:
    """What falls into each bin: rows, and the lowest and the highest place."""

    count: Ints
    low: Floats
    high: Floats


def of_places(part: Ints, place: Floats, bins: int) -> Bins:
    """The bins of rows. part: of each its bin."""
    low, high = np.full(bins, np.inf), np.full(bins, -np.inf)
    np.minimum.at(low, part, place)
    np.maximum.at(high, part, place)
    return Bins(np.bincount(part, minlength=bins), low, high)


def places(rows: int, time: Floats | None, group: np.ndarray | None, tests: Sequence[Ints]) -> Floats:
    """The place of each row: its time, the place of its group in the order of the folds that test it, or its number."""
    if time is not None:
        return time
    if group is None:
        return np.arange(rows, dtype=float)
    first = np.full(rows, len(tests))
    for i, test in reversed(list(enumerate(tests))):
        first[test] = i
    code, names = codes(group)
    tested = np.full(names.size, len(tests))
    np.minimum.at(tested, code, first)
    rank = np.empty(names.size)
    rank[np.lexsort((np.arange(names.size), tested))] = np.arange(names.size)
    return rank[code]


def stretches(place: Floats, sides: Iterable[Side], most: int, *, axis: str) -> pd.DataFrame:
    """Neighbouring bins of one kind, at most so many and no more than places, by fold: fold, kind, start, width."""
    last = place.max() + (0 if axis == "time" else 1)
    edges = np.linspace(place.min(), last, min(most, np.unique(place).size) + 1)
    bins = len(edges) - 1
    part = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, bins - 1)
    exact = place if axis != "row" else part.astype(float)  # rows of a table have no order to keep
    drawn = []
    for name, *rows in sides:
        kind = _kinds(*(of_places(part[side], exact[side], bins) for side in rows))
        cuts = np.flatnonzero(np.append(True, kind[1:] != kind[:-1]))
        ends = np.append(cuts[1:], bins)
        drawn += [(name, kind[a], edges[a], edges[b] - edges[a]) for a, b in zip(cuts, ends, strict=True) if kind[a]]
    return pd.DataFrame(drawn, columns=["fold", "kind", "start", "width"])


def _kinds(test: Bins, train: Bins) -> np.ndarray:
    """What each bin holds; both only where test and training rows lie between each other, else what it has more of."""
    mixed = (train.high >= test.low) & (test.high >= train.low)  # else the bin is only too wide to part them
    tests, trains = test.count > 0, train.count > 0
    more = np.where(test.count >= train.count, "test", "training")
    return np.where(tests & trains, np.where(mixed, "both", more), np.select([tests, trains], ["test", "training"], ""))


# What findings are measured by, and the numbers that tables set beside each other -----------------------------------


def cuts(study: Validation, threshold: float) -> dict[str, float]:
    """The threshold of each system in the precision of its scores."""
    return {name: rules.rounded(threshold, study.facts.precision[name]) for name in study.facts.ends}


def untested(study: Validation) -> int:
    """The rows that no fold tests."""
    return len(study.facts) - study.split.tested


# Other splits


def spread_ratios(study: Validation) -> tuple[str, dict[str, float]]:
    """A single holdout, and how many times as much it varies as each k-fold; an empty name where there is none."""
    if study.other is None:
        return "", {}
    spread = study.other.summary.set_index("way")["sd"]
    varying = [name for name in spread.index if spread[name] > 0]
    single = next((name for name in varying if name.startswith("one holdout")), "")
    return single, {name: float(spread[single] / spread[name]) for name in varying if single and "-fold" in name}


def reversed_by_one_out(study: Validation) -> float | None:
    """The accuracy when one row is left out, if it is far below that of the larger class."""
    if study.other is None or not _counts_right_rows(study):
        return None
    by_way = study.other.summary.set_index("way")["mean"]
    value = float(by_way.get(ONE_OUT, np.nan))
    return value if value <= study.estimate(study.primary, study.baseline).value / 2 else None


def _counts_right_rows(s: Validation) -> bool:
    """True if the first metric is the share of all rows that are right."""
    statistic: Any = s.measure(s.primary, s.baseline)
    kind = s.primary.metric.kind
    shares = kind.of_rows and kind.decided and s.primary.metric.best == "high"
    return shares and statistic.hits()[1] == s.split.tested


def accuracies(b: Bootstrap) -> dict[str, float]:
    """The accuracy of each estimate of the bootstrap, by the name of its error."""
    return {name: 1 - error for name, error in vars(b).items()}


def promised(honest: Estimate, blind: Estimate) -> float:
    """What a split that ignores the group or the time promises beyond what holds."""
    return blind.value - honest.value


# The folds


def folds_of_a_repeat(study: Validation) -> float:
    """The folds of each draw."""
    return len(study.split.names) / study.facts.repeats


def comparable_folds(study: Validation) -> bool:
    """True if there are folds enough to ask whether they differ."""
    return not np.isnan(study.unlike["p"])


def mean_of_folds(study: Validation) -> dict[str, float]:
    """The mean over the folds of each metric of the subject, and on_train where models were fitted."""
    own = study.by_fold[study.by_fold["system"] == study.subject]
    return {str(name): float(own[name].mean()) for name in own.select_dtypes("number")}


def mean_gap(study: Validation) -> float:
    """The mean over the folds of what the training rows promise beyond the test rows."""
    return float(np.mean(study.gap)) if study.gap is not None else np.nan


def fold_ends(study: Validation) -> tuple[float, float]:
    """The lowest and the highest value of the subject over the folds."""
    values = study.fold_values(study.subject)
    return float(np.nanmin(values)), float(np.nanmax(values))

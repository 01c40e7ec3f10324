"""The folds of a table that an engine holds: which cells test and train, what leaks between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints
from evalkit.findings import inputs
from evalkit.findings import splits as kinds
from evalkit.findings.finding import SEVERE, WARNING, Finding, Kind, Severity
from evalkit.metrics.bins import Bins, edges_of, together
from evalkit.offline import fold_column, leakage
from evalkit.offline.fold_column import FoldColumn
from evalkit.offline.splits import Folds
from evalkit.reading.inputs.examples import LeftOut
from evalkit.reading.reductions import fold_ids, fold_times, folds
from evalkit.reading.reductions.fold_ids import GROUP, ID
from evalkit.reading.reductions.fold_times import Times
from evalkit.reading.reductions.folds import LargeFolds
from evalkit.studies import fold_map
from evalkit.studies.validity_facts import Split

MAPPED = 120  # bins of the map of the folds


@dataclass(frozen=True, eq=False)
class Laid:
    """The rows that train or test, the folds as pairs of cells, and the times of the cells.

    column: as the column says them; folds: the same, or blocks that follow one another in time.
    """

    t: LargeFolds
    column: FoldColumn
    folds: Folds
    times: Times | None
    left_out: tuple[LeftOut, ...]

    @property
    def tests(self) -> list[int]:
        """The cell that each fold tests."""
        return [int(test[0]) for _, test in self.column.folds.pairs]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the folds."""
        return self.column.names

    @property
    def draws(self) -> Ints:
        """The draw of the folds that each cell belongs to."""
        repeat = self.t.cells.repeat
        none = np.zeros(len(self.t.cells.text), np.int64)
        return none if repeat is None else np.unique(repeat, return_inverse=True)[1]

    def rows(self, cells: Ints | Sequence[int]) -> int:
        """The rows of some cells."""
        return int(self.t.cells.rows[np.asarray(cells, np.int64)].sum())

    def at(self, cells: Ints | Sequence[int]) -> LargeFolds:
        """The rows of some cells, by themselves."""
        return self.t.of([self.t.cells.text[i] for i in cells])

    @cached_property
    def training(self) -> list[Ints]:
        """The cells that each of `tests` is trained on; none where it is the first of blocks in time."""
        by_test = {int(test[0]): train for train, test in self.folds.pairs}
        return [by_test.get(cell, np.empty(0, np.int64)) for cell in self.tests]

    @property
    def forward(self) -> bool:
        """True if each fold is trained on those before it alone."""
        return self.column.holdout or self.folds is not self.column.folds

    @cached_property
    def place(self) -> Ints:
        """The place of each cell among those that train and test: where folds go forward, the earliest first."""
        place = np.zeros(len(self.t.cells.text), np.int64)
        first, *_ = self.folds.pairs
        order = [*first[0], *(test[0] for _, test in self.folds.pairs)] if self.forward else np.arange(len(place))
        place[np.array(order, np.int64)] = np.arange(len(place))
        return place

    @cached_property
    def audited(self) -> int:
        """The rows that the folds test; of blocks in time those after the first."""
        return self.rows([int(test[0]) for _, test in self.folds.pairs])

    def split(self) -> Split:
        """The folds, counted."""
        sides = [(self.rows(train), self.rows(test)) for train, test in self.folds.pairs]
        tested = self.rows(self.tests)
        return Split(
            rule=self.folds.rule,
            names=self.names,
            train=[self.rows(train) for train in self.training],
            test=[self.rows([cell]) for cell in self.tests],
            sides=(float(np.mean([size for size, _ in sides])), float(np.mean([size for _, size in sides]))),
            tested=tested,
            distinct=tested if self.column.repeats == 1 else fold_ids.times_of_ids(self.t)[0],
        )


def laid(t: LargeFolds) -> Laid:
    """The folds of a table; raises InputError where they are none."""
    column, left_out = fold_column.read(t.cells.fold, t.cells.repeat), list[LeftOut]()
    if t.alone:
        left_out.append(LeftOut(inputs.UNMATCHED_ROWS, t.alone))
    if column.set_aside.size:
        names = tuple(sorted({str(name) for name in t.cells.fold[column.set_aside]}))
        left_out.append(LeftOut(inputs.SET_ASIDE, int(t.cells.rows[column.set_aside].sum()), names))
        kept = np.setdiff1d(np.arange(len(t.cells.text)), column.set_aside)
        t = folds.ended(t.of([t.cells.text[i] for i in kept]))
        column = fold_column.read(t.cells.fold, t.cells.repeat)
    times = fold_times.read(t) if t.has("time") else None
    dealt = None if times is None or column.holdout or column.repeats > 1 else _consecutive(column.folds, times)
    return Laid(t, column, dealt or column.folds, times, tuple(left_out))


def _consecutive(folds: Folds, times: Times) -> Folds | None:
    """Folds that follow one another in time, each trained on the earlier ones; None where they do not."""
    tests = sorted((test for _, test in folds.pairs), key=lambda test: float(times.low[test].min()))
    ends = [times.high[test].max() for test in tests]
    if any(times.low[test].min() <= end for test, end in zip(tests[1:], ends, strict=False)):
        return None
    pairs = tuple((np.sort(np.concatenate(tests[:i])), tests[i]) for i in range(1, len(tests)))
    return Folds(folds.rows, pairs, fold_column.CONSECUTIVE)


# What leaks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Audit:
    """What was found, and examples by the kind of the finding. axis, map: of the folds; no axis where there is none."""

    findings: list[Finding] = field(default_factory=list)
    named: dict[Kind, list[str]] = field(default_factory=dict)
    axis: str = ""
    map: pd.DataFrame = field(default_factory=pd.DataFrame)

    def add(
        self, kind: Kind, severity: Severity, text: str, counts: tuple[int, int], named: Sequence[str] = ()
    ) -> None:
        """One finding on so many rows of so many, if there are any."""
        if counts[0]:
            self.findings.append(Finding(kind, severity, text, *counts))
            self.named[kind] = list(named)


def audit(laid_out: Laid) -> Audit:
    """Every check that needs no features, severe findings or not, and the map of the folds."""
    t, found = laid_out.t, Audit()
    for role, column in (("id", ID), ("group", GROUP)):
        if t.has(role):
            draws = laid_out.draws.tolist()
            rows, keys = fold_ids.crossing(t, column, laid_out.place.tolist(), draws, forward=laid_out.forward)
            text = leakage.CROSSED.format(role)
            named = [key if role == "id" else f"{role} {key}" for key in keys]
            found.add(leakage.CROSSINGS[role], SEVERE, text, (rows, laid_out.audited), named)
    axis, stretches = "", pd.DataFrame()
    if laid_out.times is not None:
        bins, late = _in_time(laid_out, laid_out.times)
        found.add(kinds.TIME_TRAVEL, SEVERE, leakage.LATE, (late, laid_out.audited))
        axis, stretches = "time", bins
    elif t.has("group"):
        axis, stretches = "group", _along_groups(laid_out)
    _of_sides(laid_out, found)
    return Audit(found.findings, found.named, axis, stretches)


def _of_sides(laid_out: Laid, found: Audit) -> None:
    """Sizes and shares of classes of the test sides."""
    cells, tests = laid_out.t.cells, [int(test[0]) for _, test in laid_out.folds.pairs]
    size, every = cells.rows[tests], int(cells.rows.sum())
    if leakage.uneven(size):
        small = cells.fold[tests[int(size.argmin())]]
        found.add(kinds.FOLD_SIZES, WARNING, leakage.unequal(size), (int(size.min()), every), [f"fold {small}"])
    if len(cells.labels):
        odd = leakage.odd_shares(cells.of_label[tests], cells.of_label.sum(axis=0) / every)
        named = [f"fold {cells.fold[tests[i]]}" for i in np.flatnonzero(odd)]
        found.add(kinds.BASE_RATE, WARNING, leakage.unlike_shares(odd), (int(size[odd].sum()), every), named)


def _in_time(laid_out: Laid, times: Times) -> tuple[pd.DataFrame, int]:
    """The map of the folds along time, and the test rows that are no newer than a training row of their fold."""
    after = np.full(len(times.low), -np.inf)
    for train, test in laid_out.folds.pairs:
        after[test] = times.high[train].max()
    edges = edges_of(times.low.min(), times.high.max(), MAPPED, fold_times.distinct(laid_out.t, times, MAPPED))
    bins, late = fold_times.placed(laid_out.t, times, edges, after)
    return _map(laid_out, dict(enumerate(bins)), edges), int(late.sum())


def _along_groups(laid_out: Laid) -> pd.DataFrame:
    """The map of the folds along their groups."""
    tests = laid_out.tests
    order = np.full(len(laid_out.t.cells.text), len(tests))
    order[tests] = np.arange(len(tests))
    groups, rows = fold_ids.ranked(laid_out.t, order.tolist(), MAPPED)
    edges = edges_of(0, groups, MAPPED, groups)
    size = len(edges) - 1
    sides = {i: Bins(np.zeros(size, np.int64), np.full(size, np.inf), np.full(size, -np.inf)) for i in set(order)}
    for row in rows:
        side, at = sides[row["o"]], row["bin"]
        side.count[at], side.low[at], side.high[at] = int(row["n"]), row["low"], row["high"]
    return _map(laid_out, {cell: sides[order[cell]] for cell in range(len(order))}, edges)


def _map(laid_out: Laid, bins: Mapping[int, Bins], edges: Floats) -> pd.DataFrame:
    """The stretches of the map from the bins of the cells."""
    size = len(edges) - 1
    sides = [
        (name, bins[cell], together([bins[int(i)] for i in train], size))
        for name, cell, train in zip(laid_out.names, laid_out.tests, laid_out.training, strict=True)
    ]
    return fold_map.drawn(sides, edges)

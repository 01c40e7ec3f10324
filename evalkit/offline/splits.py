"""Folds: scikit-learn's splitters by one interface, splits that it lacks, and those that a table's
columns call for.

Every function returns `Folds`: pairs of row numbers, usable as `cv=` wherever scikit-learn takes
one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import (
    Bools,
    Floats,
    InputError,
    Ints,
    ParameterError,
    codes,
    finite,
    same_length,
)
from evalkit.limits import USUAL, Limits
from evalkit.reading.inputs.folds import DEVELOPMENT, TEST, TRAINING, YES_NO, Examples, set_of
from evalkit.reading.tables.table import Coded, Slice


@dataclass(frozen=True, eq=False)
class Parted:
    """Pairs of row numbers in parts. Each pair is made when it is needed, since all of them hold k
    times the rows.

    part: the part of each row. train, test: for each pair (one row each) the parts of its training
    rows, and the part that it tests.
    """

    part: Ints
    train: Bools
    test: Ints

    def __len__(self) -> int:
        return len(self.test)

    def __getitem__(self, number: int) -> tuple[Ints, Ints]:
        return np.flatnonzero(self.train[number][self.part]), np.flatnonzero(
            self.part == self.test[number]
        )

    def __iter__(self) -> Iterator[tuple[Ints, Ints]]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True, eq=False)
class ResampledFolds:
    """Pairs of row numbers of folds that were each drawn anew from the same ids.

    fold, id: of each row. A fold was trained on the ids that it does not test: a row of each.
    """

    fold: Ints
    id: Ints

    @cached_property
    def first(self) -> Ints:
        """The first row of each id."""
        return np.unique(self.id, return_index=True)[1]

    def __len__(self) -> int:
        return int(self.fold.max()) + 1

    def __getitem__(self, number: int) -> tuple[Ints, Ints]:
        test = np.flatnonzero(self.fold == number)
        return self.first[~np.isin(self.id[self.first], self.id[test])], test

    def __iter__(self) -> Iterator[tuple[Ints, Ints]]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True)
class Folds:
    """Pairs of row numbers (train, test) over `rows` rows, and a description of the rule that made
    them.

    names: of the test sets, if they have names.
    """

    rows: int
    pairs: Sequence[tuple[Ints, Ints]] | Parted | ResampledFolds
    rule: str
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.rule}, {self.rows:,} rows>"

    @property
    def labels(self) -> Sequence[str]:
        """The names, else numbers from 1."""
        return self.names or [str(i + 1) for i in range(len(self.pairs))]

    @property
    def holdout(self) -> bool:
        """True if there is one test set, with training rows that are never tested."""
        return len(self.pairs) == 1

    @cached_property
    def tests(self) -> list[Ints]:
        """The test rows of each pair."""
        if not isinstance(self.pairs, Parted):
            return [test for _, test in self.pairs]
        order = np.argsort(self.pairs.part.astype(np.int32), kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(self.pairs.part)))
        return [parts[part] for part in self.pairs.test]

    @cached_property
    def tested(self) -> Ints:
        """The rows that a fold tests, in ascending order."""
        return np.sort(np.concatenate(self.tests))

    def slices(self) -> list[Slice]:
        """Each fold as a slice of the rows that a fold tests."""
        every = len(self.tested) == self.rows
        members = (
            self.tests if every else [np.searchsorted(self.tested, test) for test in self.tests]
        )
        return [
            Slice("fold", name, member) for name, member in zip(self.labels, members, strict=True)
        ]

    def in_time(self, time: Floats) -> Folds:
        """The folds of a column that follow one another in time, each trained on the earlier ones.

        The first, which has no training rows, is left out. Folds that overlap in time stay as they
        are.
        """
        assert isinstance(self.pairs, Parted)
        first, last = (np.array([of(time[test]) for test in self.tests]) for of in (np.min, np.max))
        order = np.argsort(first, kind="stable")
        if (first[order[1:]] <= last[order[:-1]]).any():
            return self
        earlier = last[:, None] < first
        return Folds(
            self.rows, Parted(self.pairs.part, earlier.T[order[1:]], order[1:]), CONSECUTIVE
        )

    @cached_property
    def sizes(self) -> tuple[Ints, Ints]:
        """The numbers of training and test rows of each pair."""
        if not isinstance(self.pairs, Parted):
            train, test = zip(*((train.size, test.size) for train, test in self.pairs), strict=True)
            return np.array(train), np.array(test)
        rows = np.bincount(self.pairs.part, minlength=self.pairs.train.shape[1])
        return self.pairs.train @ rows, rows[self.pairs.test]

    def split(
        self, x: object = None, y: object = None, groups: object = None
    ) -> Iterator[tuple[Ints, Ints]]:
        """The pairs, in order; the arguments are those of scikit-learn and are ignored."""
        return iter(self.pairs)

    def get_n_splits(self, x: object = None, y: object = None, groups: object = None) -> int:
        """The number of pairs."""
        return len(self.pairs)


def _folds(rows: int, pairs: list[tuple[NDArray, NDArray]], rule: str) -> Folds:
    """Return `Folds`; raise InputError for the first fold with an empty side."""
    for number, (train, test) in enumerate(pairs):
        for side, name in ((train, "training"), (test, "test")):
            if not side.size:
                raise InputError(
                    f"folds must have rows on both sides, got no {name} row in fold {number} "
                    f"({rule})"
                )
    return Folds(
        rows, tuple((train.astype(np.int64), test.astype(np.int64)) for train, test in pairs), rule
    )


# scikit-learn's splitters


def holdout(
    rows: int, *, seed: int, share: float = 0.3, repeats: int = 1, label: ArrayLike | None = None
) -> Folds:
    """`repeats` random splits with this share of test rows (ShuffleSplit).

    label: classes by which the splits are stratified (StratifiedShuffleSplit).
    """
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    classes = _classes(label, 2)
    smaller = round(min(share, 1 - share) * rows)
    if smaller < classes:
        raise ParameterError(
            f"share must leave a row for each of {classes} classes on both sides, got {smaller} "
            f"rows"
        )
    of = StratifiedShuffleSplit if classes else ShuffleSplit
    rule = f"{repeats} {'stratified ' if classes else ''}holdouts of {share:.0%}"
    return _sklearn(of(repeats, test_size=share, random_state=seed), rows, rule, label)


def k_fold(
    rows: int, *, seed: int, k: int = 10, repeats: int = 1, label: ArrayLike | None = None
) -> Folds:
    """k folds of rows, drawn `repeats` times (RepeatedKFold).

    label: classes by which the folds are stratified (RepeatedStratifiedKFold). Raises
    ParameterError if k exceeds the number of rows, or of those of the smallest class.

    >>> [test.size for _, test in k_fold(10, seed=0, k=5, label=[0, 1] * 5).pairs]
    [2, 2, 2, 2, 2]
    """
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    classes = _classes(label, k)
    if not 2 <= k <= rows:
        raise ParameterError(f"k must be 2 to the number of rows, {rows}, got {k}")
    of = RepeatedStratifiedKFold if classes else RepeatedKFold
    rule = (
        f"{'stratified ' if classes else ''}{k}-fold{f', {repeats} times' if repeats > 1 else ''}"
    )
    return _sklearn(of(n_splits=k, n_repeats=repeats, random_state=seed), rows, rule, label)


def group_k_fold(
    group: ArrayLike, *, seed: int, k: int = 5, label: ArrayLike | None = None
) -> Folds:
    """k folds of whole groups (GroupKFold, shuffled). If groups are users or items, every test row
    is a cold start.

    label: classes by which the folds are stratified as far as the groups allow
    (StratifiedGroupKFold).
    """
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    groups = _groups(group, k)
    classes = _classes(label, k)
    of = StratifiedGroupKFold if classes else GroupKFold
    rule = f"{'stratified ' if classes else ''}{k}-fold of groups"
    return _sklearn(of(k, shuffle=True, random_state=seed), groups.size, rule, label, groups)


def group_holdout(group: ArrayLike, *, seed: int, share: float = 0.3, repeats: int = 1) -> Folds:
    """`repeats` random splits with about this share of whole groups as the test set
    (GroupShuffleSplit).
    """
    from sklearn.model_selection import GroupShuffleSplit

    groups = _groups(group, 2)
    splitter = GroupShuffleSplit(repeats, test_size=share, random_state=seed)
    return _sklearn(
        splitter, groups.size, f"{repeats} holdouts of {share:.0%} of the groups", None, groups
    )


def leave_out(rows: int) -> Folds:
    """Each row alone as the test set (LeaveOneOut).

    >>> leave_out(4).get_n_splits()
    4
    """
    from sklearn.model_selection import LeaveOneOut

    return _sklearn(LeaveOneOut(), rows, "leave 1 out")


def by_column(fold: ArrayLike) -> Folds:
    """One fold per value of a fold column: its rows are the test set, all others the training set
    (PredefinedSplit).

    >>> by_column(["a", "b", "a"]).pairs[0]
    (array([1]), array([0, 2]))
    """
    number, names = codes(fold)
    return _by_part(number, names.tolist())


def _by_part(part: Ints, names: Sequence[Any]) -> Folds:
    if len(names) < 2:
        raise InputError(f"fold must have 2 or more values, got {[*names]}")
    pairs = Parted(part, ~np.eye(len(names), dtype=np.bool_), np.arange(len(names)))
    return Folds(part.size, pairs, "given by the fold column")


def _sklearn(
    splitter: Any, rows: int, rule: str, label: ArrayLike | None = None, groups: Ints | None = None
) -> Folds:
    y = np.zeros(rows) if label is None else np.asarray(label)
    return _folds(rows, list(splitter.split(np.zeros(rows), y, groups)), rule)


def _classes(label: ArrayLike | None, least: int) -> int:
    """The number of classes, none without a label; raises if there is one alone, or one has too few
    rows.
    """
    if label is None:
        return 0
    names, count = np.unique(np.asarray(label), return_counts=True)
    if least < 2:
        raise ParameterError(f"k must be at least 2, got {least}")
    if names.size < 2:
        raise InputError(f"label must have 2 or more classes, got {names.tolist()}")
    if count.min() < least:
        rare = names[count.argmin()]
        raise ParameterError(
            f"every class must have at least {least} rows (k), got {count.min()} of class {rare}"
        )
    return names.size


def _groups(group: ArrayLike, k: int) -> Ints:
    number, names = codes(group)
    if not 2 <= k <= names.size:
        raise ParameterError(f"k must be 2 to the number of groups, {names.size}, got {k}")
    return number


# By time


def forward(
    time: ArrayLike,
    *,
    k: int = 5,
    gap: float = 0.0,
    window: float = np.inf,
    group: ArrayLike | None = None,
) -> Folds:
    """k test blocks of consecutive times; training rows are older than the block by more than
    `gap`.

    Rows of equal time stay together. gap: in the unit of `time`, at least the horizon of the label.
    window: the largest age of a training row. group: groups of the test block are removed from the
    training rows.
    """
    when = finite("time", time)
    number = None
    pairs = []
    if group is not None:
        number, _ = codes(group)
        same_length(time=when, group=number)
    for start, end in _blocks(when, k + 1)[1:]:
        tested = (when >= start) & (when <= end)
        age = start - when
        trains = (age > gap) & (age <= window)
        if number is not None:
            trains &= ~np.isin(number, number[tested])
        pairs.append((np.flatnonzero(trains), np.flatnonzero(tested)))
    return _folds(when.size, pairs, f"{k} blocks forward in time, gap {gap:g}")


def global_temporal(time: ArrayLike, *, share: float = 0.2, gap: float = 0.0) -> Folds:
    """One split in time: about the newest `share` of the rows are tested; training rows are older
    by more than `gap`.

    For recommenders, it is the only split in which no model is trained on other users' future.

    >>> global_temporal([4, 1, 2, 3], share=0.25).pairs
    ((array([1, 2, 3]), array([0])),)
    """
    when = finite("time", time)
    if not 0 < share < 1:
        raise ParameterError(f"share must lie between 0 and 1, got {share}")
    start = np.quantile(when, 1 - share, method="higher")
    pair = (np.flatnonzero(start - when > gap), np.flatnonzero(when >= start))
    return _folds(when.size, [pair], f"the newest {share:.0%} by time, gap {gap:g}")


def _blocks(when: Floats, k: int) -> list[tuple[float, float]]:
    """First and last time of k blocks with about the same number of rows; equal times are in the
    same block.
    """
    moments = np.unique(when)
    if not 2 <= k <= moments.size:
        raise ParameterError(
            f"time must have at least as many distinct values as blocks, {k}, got {moments.size}"
        )
    older = np.searchsorted(np.sort(when), moments)
    wanted = np.searchsorted(older, np.arange(k) * when.size / k) - np.arange(k)
    # at least one moment per block
    first = np.minimum(np.maximum.accumulate(wanted), moments.size - k) + np.arange(k)
    return list(zip(moments[first], np.append(moments[first[1:] - 1], moments[-1]), strict=True))


# The bootstrap


def out_of_bag(rows: int, *, rng: np.random.Generator, repeats: int = 100) -> Folds:
    """`repeats` bootstrap samples as training sets; the rows not drawn, about 36.8%, are the test
    set.
    """
    if rows < 2:
        raise ParameterError(f"rows must be at least 2, got {rows}")
    pairs: list[tuple[NDArray, NDArray]] = []
    while len(pairs) < repeats:
        train = rng.integers(rows, size=rows)
        test = np.flatnonzero(np.bincount(train, minlength=rows) == 0)
        if test.size:  # a sample with every row leaves none to test: draw again
            pairs.append((train, test))
    return _folds(rows, pairs, f"{repeats} bootstrap samples, tested out of bag")


CONSECUTIVE = "the fold column: blocks of time, each treated as trained on the earlier ones"
HOLDOUT_RULE = "one holdout, as the fold column says"


def read(fold: Coded, repeat: Coded | None = None) -> Folds:
    """Return the folds of a column of names. repeat: the number of the repeat that each row belongs
    to.

    A column of training and test (holdout) rows is one holdout; with `train`, `valid` and `test`,
    the validation rows are in neither set. Raises InputError if the names do not identify exactly
    one test set.

    >>> folds = read(Coded(("test", "train", "valid"), np.array([1, 0, 1, 2])))
    >>> folds.names, folds.pairs
    (('test',), ((array([0, 2]), array([1])),))
    """
    if repeat is not None and len(repeat.names) > 1:
        return _repeated(fold, repeat)
    sets = {name: set_of(name) for name in fold.names}
    if len(sets) > 1 and {*sets.values()} == {YES_NO}:
        raise InputError(
            f"fold must name folds, or training and test rows as train and test, got "
            f"{_listed([*sets])}"
        )
    if len(sets) > 1 and {TRAINING, TEST} & {*sets.values()}:
        return _holdout(fold, sets)
    return replace(_by_part(fold.code, fold.names), names=fold.names)


def resampled_folds(fold: Coded, id: Ints) -> Folds:
    """The folds of a column, each drawn anew from the same ids, whose number each row has."""
    rule = f"{len(fold.names)} folds of the fold column, each drawn anew from the same ids"
    return Folds(len(fold), ResampledFolds(fold.code, id), rule, fold.names)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(map(repr, names[:-1])), repr(names[-1]))))


def _holdout(fold: Coded, sets: Mapping[str, str]) -> Folds:
    """The one split of training and test rows. sets: what each name of the column says."""
    training, tests, development = (
        [name for name in sets if sets[name] == of] for of in (TRAINING, TEST, DEVELOPMENT)
    )
    if len(training) + len(tests) + len(development) < len(sets):
        either = "either folds or the training and test rows of one holdout"
        raise InputError(f"fold must name {either}, got {_listed([*sets])}")
    if len(training) != 1:
        raise InputError(
            f"fold must name one set of training rows beside the test set, got {_listed([*sets])}"
        )
    measured = tests or development
    if len(measured) != 1:
        way = "report each test set separately, with the training rows"
        raise InputError(f"fold must name one test set, got {_listed(measured)}; {way}")
    train, test = (
        np.flatnonzero(fold.code == fold.names.index(name)) for name in (training[0], measured[0])
    )
    return Folds(len(fold), ((train, test),), HOLDOUT_RULE, tuple(measured))


def _repeated(fold: Coded, repeat: Coded) -> Folds:
    """The folds of each repeat, which are trained on the others of the same repeat."""
    cells, part = np.unique(repeat.code * len(fold.names) + fold.code, return_inverse=True)
    draw, own = np.divmod(cells, len(fold.names))
    names = [[fold.names[k] for k in own[draw == i]] for i in range(len(repeat.names))]
    if all({TRAINING, TEST} <= {set_of(name) for name in drawn} for drawn in names):
        return _repeated_holdouts(fold, repeat)
    for name, drawn in zip(repeat.names, names, strict=True):
        _refuse_no_folds(drawn, name)
    train = (draw[:, None] == draw) & ~np.eye(cells.size, dtype=np.bool_)
    labels = tuple(f"{repeat.names[i]}/{fold.names[k]}" for i, k in zip(draw, own, strict=True))
    rule = f"given by the fold column, drawn anew in each of {len(repeat.names)} repeats"
    return Folds(len(fold), Parted(part, train, np.arange(cells.size)), rule, labels)


def _repeated_holdouts(fold: Coded, repeat: Coded) -> Folds:
    """A holdout in each repeat, whose training rows the column names."""
    pairs = []
    for number in range(len(repeat.names)):
        rows = np.flatnonzero(repeat.code == number)
        sides = fold.take(rows)
        (train, test), *_ = _holdout(sides, {name: set_of(name) for name in sides.names}).pairs
        pairs.append((rows[train], rows[test]))
    rule = f"{len(pairs)} holdouts, whose training and test rows the fold column names"
    return Folds(len(fold), tuple(pairs), rule, repeat.names)


def _refuse_no_folds(names: Sequence[str], draw: str) -> None:
    """Raise InputError unless the names of one repeat are those of folds of all its rows."""
    if len(names) < 2:
        raise InputError(
            f"fold must have 2 or more values in each repeat, got only {names[0]!r} in repeat "
            f"{draw!r}"
        )
    if read(Coded(tuple(names), np.arange(len(names)))).holdout:
        got = f"got the holdout {_listed(names)} in repeat {draw!r}"
        raise InputError(
            f"fold must name folds where there is a repeat column, {got}; report one repeat alone"
        )


# Ways to split a table: the folds that its columns call for, and others to compare them with ------

LEAST_LEFT_OUT = 200  # rows up to which leaving each one out is affordable
OUT_OF_BAG, ONE_OUT = "bootstrap, out of bag", "leave one out"
ONE_HOLDOUT = "one holdout of 30%"


@dataclass(frozen=True, eq=False)
class Way:
    """One way of splitting. together: pairs whose test rows give one value.

    averaged: values whose mean is one estimate.
    """

    name: str
    folds: Folds
    together: int = 1
    averaged: int = 1


@dataclass(frozen=True)
class Unfitted:
    """A way of splitting that was not fitted in full: fits made, fits wanted, or why there are
    none.
    """

    way: str
    made: int = 0
    wanted: int = 0
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Setting:
    """What every way of splitting needs, and the folds of each."""

    examples: Examples
    k: int
    gap: float
    seed: int
    limits: Limits = USUAL

    @property
    def ignores(self) -> str | None:
        """The column that a split by rows would ignore."""
        return (
            "time"
            if self.examples.time is not None
            else "group"
            if self.examples.group is not None
            else None
        )

    @property
    def blind(self) -> str:
        """The way of splitting that ignores it."""
        return f"{self.k}-fold of rows, ignores the {self.ignores}"

    @cached_property
    def folds(self) -> Folds:
        """The folds that suit the columns; `rule` says which and why."""
        e = self.examples
        if e.fold is not None:
            return read(e.fold)
        if e.time is not None:
            folds = forward(e.time, k=self.k, gap=self.gap, group=e.group_number)
            why = "rows are dated, so the past predicts the future"
        elif e.group is not None:
            folds = self.by_group(self.seed)
            why = "rows of a group are correlated"
        else:
            folds = self.by_row(self.seed)
            why = "no group, time or fold column was named"
        return replace(folds, rule=f"{folds.rule}: {why}")

    @property
    def strata(self) -> np.ndarray | None:
        """The classes by which folds are stratified; None for a number."""
        return self.examples.names if self.examples.classes else None

    def by_row(self, seed: int, repeats: int = 1) -> Folds:
        """k folds of rows, stratified by class."""
        return k_fold(len(self.examples), seed=seed, k=self.k, repeats=repeats, label=self.strata)

    def by_group(self, seed: int) -> Folds:
        """k folds of whole groups, with classes as balanced as the groups allow."""
        assert self.examples.group is not None
        return group_k_fold(self.examples.group.code, seed=seed, k=self.k, label=self.strata)

    def ways(self) -> tuple[list[Way], list[Unfitted]]:
        """The ways that suit the columns, and those left out, with the reason."""
        chosen = []
        missing = []
        for name, (make, *sizes) in self._makers().items():
            try:
                chosen.append(Way(name, make(), *sizes))
            except InputError as error:  # the folds chosen may be possible where others are not
                missing.append(Unfitted(name, reason=str(error)))
        return chosen, missing

    def _makers(self) -> dict[str, tuple[Any, ...]]:
        """By the name of each way, in the order of the page, what makes its folds, then `together`
        and `averaged`.
        """
        e = self.examples
        k = self.k
        seed = self.seed
        limits = self.limits
        folds = f"{self.k}-fold"
        chosen = (lambda: self.folds, len(self.folds.pairs))
        time = e.time
        group = e.group_number
        own: dict[str, tuple[Any, ...]] = {} if e.fold is None else {"the folds given": chosen}
        blind = {self.blind: (lambda: self.by_row(seed), k)}
        if time is not None:
            moment = {
                "one split at a moment": (lambda: global_temporal(time, share=0.3, gap=self.gap),)
            }
            return moment | (own or {"blocks forward in time": chosen}) | blind
        if group is not None:
            whole = (lambda: group_holdout(group, seed=seed, repeats=limits.holdouts),)
            return (
                own
                | {
                    "one holdout of 30% of groups": whole,
                    f"{folds} of groups": (self._group_folds, k),
                }
                | blind
            )
        several = limits.repeats * limits.averaged
        return own | {
            ONE_HOLDOUT: (
                lambda: holdout(len(e), seed=seed, repeats=limits.holdouts, label=self.strata),
            ),
            folds: (lambda: self.by_row(seed, limits.repeats), k),
            f"mean of {limits.averaged} × {folds}": (
                lambda: self.by_row(seed + 1, several),
                k,
                limits.averaged,
            ),
            OUT_OF_BAG: (self._samples,),
            ONE_OUT: (self._one_out, len(e)),
        }

    def _one_out(self) -> Folds:
        if (rows := len(self.examples)) > LEAST_LEFT_OUT:
            raise InputError(f"{rows:,} fits; they are only made for up to {LEAST_LEFT_OUT} rows")
        return leave_out(rows)

    def _group_folds(self) -> Folds:
        drawn = [self.by_group(self.seed + i) for i in range(self.limits.repeats)]
        return Folds(
            len(self.examples),
            tuple(pair for folds in drawn for pair in folds.pairs),
            drawn[0].rule,
        )

    def _samples(self) -> Folds:
        drawn = out_of_bag(
            len(self.examples),
            rng=np.random.default_rng([self.seed, 3]),
            repeats=self.limits.samples,
        )
        return replace(drawn, pairs=tuple(pair for pair in drawn.pairs if self.varied(pair[0])))

    def varied(self, rows: Ints) -> bool:
        """True if the rows suffice for learning: more than one class, if the label is a class."""
        return not self.examples.classes or np.unique(self.examples.label[rows]).size > 1

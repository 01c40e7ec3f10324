"""Folds: scikit-learn's splitters by one interface, splits that it lacks, and those that a table's
columns call for.

Every function returns `Folds`: pairs of row numbers, usable as `cv=` wherever scikit-learn takes
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple, Protocol

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
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.reading.inputs.folds import DEVELOPMENT, TEST, TRAINING, YES_NO, Examples, set_of
from evalkit.reading.tables.table import Coded, Slice


@dataclass(frozen=True, eq=False)
class Parted:
    """The pairs of folds whose rows are divided into parts, each of which one pair tests.

    A pair of row numbers is made when it is needed: all of them hold k times the rows. part: the
    part of each row, from 0. train: shape (pairs, parts), True for the parts that a pair trains on.
    test: the part that each pair tests.
    """

    part: Ints
    train: Bools
    test: Ints

    def __len__(self) -> int:
        return len(self.test)

    def __getitem__(self, number: int) -> tuple[Ints, Ints]:
        is_training = self.train[number][self.part]
        is_test = self.part == self.test[number]
        return np.flatnonzero(is_training), np.flatnonzero(is_test)

    def __iter__(self) -> Iterator[tuple[Ints, Ints]]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True, eq=False)
class ResampledFolds:
    """The pairs of folds that were each drawn anew from the same ids.

    An id has a row in every fold that tests it. A pair trains on the ids that its fold does not
    test, with one row of each. fold: the fold that tests each row, from 0. id: a number for the id
    of each row.
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
        is_tested = np.isin(self.id[self.first], self.id[test])
        return self.first[~is_tested], test

    def __iter__(self) -> Iterator[tuple[Ints, Ints]]:
        return map(self.__getitem__, range(len(self)))


class FoldSizes(NamedTuple):
    """The numbers of training and of test rows of each fold."""

    train: Ints
    test: Ints


@dataclass(frozen=True)
class Folds:
    """The pairs (training rows, test rows) of a split of a table, as row numbers from 0.

    rows: of the table. rule: how the pairs were made, in words. names: of the test sets, if they
    have names.
    """

    rows: int
    pairs: Sequence[tuple[Ints, Ints]] | Parted | ResampledFolds
    rule: str
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.rule}, {self.rows:,} rows>"

    @property
    def labels(self) -> Sequence[str]:
        """The names of the test sets, else numbers from 1."""
        return self.names or [str(i + 1) for i in range(len(self.pairs))]

    @property
    def holdout(self) -> bool:
        """True if there is one test set, with training rows that are never tested."""
        return len(self.pairs) == 1

    @cached_property
    def tests(self) -> list[Ints]:
        """The test rows of each pair, as row numbers, ascending."""
        if not isinstance(self.pairs, Parted):
            return [test for _, test in self.pairs]
        # The rows are divided into parts, of which each pair tests one. One sort brings the rows of
        # each part together; a search for each part would read all rows k times. int32 is sorted
        # in less time than int64.
        part_of_row = self.pairs.part
        rows_by_part = np.argsort(part_of_row.astype(np.int32), kind="stable")
        ends = np.cumsum(np.bincount(part_of_row))
        rows_of_parts = np.split(rows_by_part, ends)  # an empty array after the last part
        return [rows_of_parts[tested_part] for tested_part in self.pairs.test]

    @cached_property
    def tested(self) -> Ints:
        """The rows that a fold tests, in ascending order; several times if several folds do."""
        return np.sort(np.concatenate(self.tests))

    def slices(self) -> list[Slice]:
        """The test rows of each fold as a slice. Rows are numbered among those that some fold
        tests, as a study holds no others.
        """
        tests_all_rows = len(self.tested) == self.rows
        slices = []
        for name, test in zip(self.labels, self.tests, strict=True):
            numbers = test
            if not tests_all_rows:
                numbers = np.searchsorted(self.tested, test)  # their places among the tested rows
            slices.append(Slice("fold", name, numbers))
        return slices

    def in_time(self, time: Floats) -> Folds:
        """The folds of a fold column as blocks of time, each trained on all earlier blocks, not on
        all other ones. The first block has no training rows and is not tested.

        Folds that overlap in time are no such blocks, and are returned unchanged. time: of each row
        of the table.
        """
        assert isinstance(self.pairs, Parted)  # a fold column divides the rows into parts: blocks
        first_time = np.array([np.min(time[test]) for test in self.tests])  # of each block
        last_time = np.array([np.max(time[test]) for test in self.tests])
        in_order = np.argsort(first_time, kind="stable")
        starts = first_time[in_order[1:]]
        ends_of_previous = last_time[in_order[:-1]]
        if (starts <= ends_of_previous).any():
            return self
        # [i, j]: block j ends before block i begins, so that the model of i may be trained on it
        is_earlier = last_time[None, :] < first_time[:, None]
        tested_blocks = in_order[1:]
        pairs = Parted(self.pairs.part, train=is_earlier[tested_blocks], test=tested_blocks)
        return Folds(self.rows, pairs, CONSECUTIVE)

    @cached_property
    def sizes(self) -> FoldSizes:
        """The numbers of training and test rows of each pair."""
        if isinstance(self.pairs, Parted):  # counted by part, without making the pairs
            is_trained_on = self.pairs.train  # shape (pairs, parts)
            _, parts = is_trained_on.shape
            rows_of_part = np.bincount(self.pairs.part, minlength=parts)
            return FoldSizes(
                train=is_trained_on @ rows_of_part,  # the sum over the parts that a pair trains on
                test=rows_of_part[self.pairs.test],
            )
        train_sizes = []
        test_sizes = []
        for train, test in self.pairs:
            train_sizes.append(train.size)
            test_sizes.append(test.size)
        return FoldSizes(np.array(train_sizes), np.array(test_sizes))

    def split(
        self, x: object = None, y: object = None, groups: object = None
    ) -> Iterator[tuple[Ints, Ints]]:
        """The pairs, in order; the arguments are those of scikit-learn and are ignored."""
        return iter(self.pairs)

    def get_n_splits(self, x: object = None, y: object = None, groups: object = None) -> int:
        """The number of pairs."""
        return len(self.pairs)


RowNumbers = NDArray[np.integer]


def _folds(rows: int, pairs: Sequence[tuple[RowNumbers, RowNumbers]], rule: str) -> Folds:
    """The folds of a table with these pairs of training and test rows. rows: of the table. Raises
    InputError for the first pair without training or test rows.
    """
    for number, (train, test) in enumerate(pairs):
        missing = ""
        if not test.size:
            missing = "test"
        if not train.size:
            missing = "training"
        if missing:
            raise InputError(
                f"folds must have rows on both sides, got no {missing} row in fold {number} "
                f"({rule})"
            )
    as_integers = tuple((train.astype(np.int64), test.astype(np.int64)) for train, test in pairs)
    return Folds(rows, as_integers, rule)


# scikit-learn's splitters


class Splitter(Protocol):
    """A splitter of scikit-learn: yields the training and the test rows of each fold."""

    def split(
        self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None
    ) -> Iterator[tuple[RowNumbers, RowNumbers]]: ...


def holdout(
    rows: int, *, seed: int, share: float = 0.3, repeats: int = 1, label: ArrayLike | None = None
) -> Folds:
    """`repeats` random splits with this share of test rows (ShuffleSplit).

    label: classes by which the splits are stratified (StratifiedShuffleSplit).
    """
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    classes = _class_count(label, 2)  # each class needs 2 rows, one to train on and one to test
    smaller_share = min(share, 1 - share)
    smaller_side = round(smaller_share * rows)
    if smaller_side < classes:
        raise ParameterError(
            f"share must leave a row for each of {classes} classes on both sides, got "
            f"{smaller_side} rows"
        )
    splitter_type = ShuffleSplit
    rule = f"holdouts of {share:.0%}"
    if classes:
        splitter_type = StratifiedShuffleSplit
        rule = f"stratified {rule}"
    splitter = splitter_type(repeats, test_size=share, random_state=seed)
    return _folds_by(splitter, rows, f"{repeats} {rule}", label)


def k_fold(
    rows: int, *, seed: int, k: int = 10, repeats: int = 1, label: ArrayLike | None = None
) -> Folds:
    """k folds of rows, drawn `repeats` times (RepeatedKFold).

    label: classes by which the folds are stratified (RepeatedStratifiedKFold). Raises
    ParameterError if k exceeds the number of rows, or of the rows of the smallest class.

    >>> [test.size for _, test in k_fold(10, seed=0, k=5, label=[0, 1] * 5).pairs]
    [2, 2, 2, 2, 2]
    """
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    classes = _class_count(label, k)
    if not 2 <= k <= rows:
        raise ParameterError(f"k must be 2 to the number of rows, {rows}, got {k}")
    splitter_type = RepeatedKFold
    rule = f"{k}-fold"
    if classes:
        splitter_type = RepeatedStratifiedKFold
        rule = f"stratified {rule}"
    if repeats > 1:
        rule += f", {repeats} times"
    splitter = splitter_type(n_splits=k, n_repeats=repeats, random_state=seed)
    return _folds_by(splitter, rows, rule, label)


def group_k_fold(
    group: ArrayLike, *, seed: int, k: int = 5, label: ArrayLike | None = None
) -> Folds:
    """k folds of whole groups (GroupKFold, shuffled). If groups are users or items, every test row
    is a cold start.

    group: of each row. label: classes by which the folds are stratified as far as the groups allow
    (StratifiedGroupKFold).
    """
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    groups = _group_numbers(group, k)
    classes = _class_count(label, k)
    splitter_type = GroupKFold
    rule = f"{k}-fold of groups"
    if classes:
        splitter_type = StratifiedGroupKFold
        rule = f"stratified {rule}"
    splitter = splitter_type(k, shuffle=True, random_state=seed)
    return _folds_by(splitter, groups.size, rule, label, groups)


def group_holdout(group: ArrayLike, *, seed: int, share: float = 0.3, repeats: int = 1) -> Folds:
    """`repeats` random splits with about this share of whole groups as the test set
    (GroupShuffleSplit).
    """
    from sklearn.model_selection import GroupShuffleSplit

    groups = _group_numbers(group, 2)
    splitter = GroupShuffleSplit(repeats, test_size=share, random_state=seed)
    rule = f"{repeats} holdouts of {share:.0%} of the groups"
    return _folds_by(splitter, groups.size, rule, label=None, groups=groups)


def leave_out(rows: int) -> Folds:
    """Each row alone as the test set (LeaveOneOut).

    >>> leave_out(4).get_n_splits()
    4
    """
    from sklearn.model_selection import LeaveOneOut

    return _folds_by(LeaveOneOut(), rows, "leave 1 out")


def by_column(fold: ArrayLike) -> Folds:
    """One fold per value of a fold column: its rows are the test set, all others the training set
    (PredefinedSplit).

    >>> by_column(["a", "b", "a"]).pairs[0]
    (array([1]), array([0, 2]))
    """
    fold_of_row, names = codes(fold)
    return _by_fold(fold_of_row, names.tolist())


def _by_fold(fold_of_row: Ints, names: Sequence[object]) -> Folds:
    """Folds that are each trained on all others. fold_of_row: an index into `names`, the values of
    the fold column. Raises InputError for a single fold.
    """
    if len(names) < 2:
        raise InputError(f"fold must have 2 or more values, got {list(names)}")
    all_but_the_tested = ~np.eye(len(names), dtype=np.bool_)
    pairs = Parted(fold_of_row, all_but_the_tested, np.arange(len(names)))
    return Folds(fold_of_row.size, pairs, "given by the fold column")


def _folds_by(
    splitter: Splitter,
    rows: int,
    rule: str,
    label: ArrayLike | None = None,
    groups: Ints | None = None,
) -> Folds:
    """The folds that a splitter of scikit-learn makes of a number of rows. rule: the splitter in
    words. label, groups: of each row, for splitters that need them.
    """
    x = np.zeros(rows)  # splitters only take its length
    y = x if label is None else np.asarray(label)
    return _folds(rows, list(splitter.split(x, y, groups)), rule)


def _class_count(label: ArrayLike | None, k: int) -> int:
    """The number of classes by which k folds are stratified; 0 without a label, for folds that are
    not stratified. Raises InputError for one class alone, and ParameterError for k below 2, or for
    a class with fewer than k rows, as each fold has a row of each class.
    """
    if label is None:
        return 0
    names, count = np.unique(np.asarray(label), return_counts=True)
    if k < 2:
        raise ParameterError(f"k must be at least 2, got {k}")
    if names.size < 2:
        raise InputError(f"label must have 2 or more classes, got {names.tolist()}")
    if count.min() < k:
        rarest = names[count.argmin()]
        raise ParameterError(
            f"every class must have at least {k} rows (k), got {count.min()} of class {rarest}"
        )
    return names.size


def _group_numbers(group: ArrayLike, k: int) -> Ints:
    """A number for the group of each row. Raises ParameterError unless there are k groups or
    more.
    """
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
    time = finite("time", time)
    group_number = None
    if group is not None:
        group_number, _ = codes(group)
        same_length(time=time, group=group_number)
    pairs = []
    for block in _blocks(time, k + 1)[1:]:  # nothing is older than the first
        is_test = (time >= block.first) & (time <= block.last)
        age = block.first - time
        is_training = (age > gap) & (age <= window)
        if group_number is not None:
            is_training &= ~np.isin(group_number, group_number[is_test])
        pairs.append((np.flatnonzero(is_training), np.flatnonzero(is_test)))
    return _folds(time.size, pairs, f"{k} blocks forward in time, gap {gap:g}")


def global_temporal(time: ArrayLike, *, share: float = 0.2, gap: float = 0.0) -> Folds:
    """One split in time: about the newest `share` of the rows are tested; training rows are older
    by more than `gap`.

    For recommenders, it is the only split in which no model is trained on other users' future.

    >>> global_temporal([4, 1, 2, 3], share=0.25).pairs
    ((array([1, 2, 3]), array([0])),)
    """
    time = finite("time", time)
    if not 0 < share < 1:
        raise ParameterError(f"share must lie between 0 and 1, got {share}")
    start = np.quantile(time, 1 - share, method="higher")  # a time of the table
    train = np.flatnonzero(start - time > gap)
    test = np.flatnonzero(time >= start)
    return _folds(time.size, [(train, test)], f"the newest {share:.0%} by time, gap {gap:g}")


class TimeBlock(NamedTuple):
    """A block of consecutive times: its first and its last."""

    first: float
    last: float


def _blocks(time: Floats, k: int) -> list[TimeBlock]:
    """k blocks of consecutive times with about the same number of rows; rows of equal time are in
    the same block. time: of each row.

    >>> _blocks(np.array([1.0, 1, 1, 2, 3, 4]), 2)
    [TimeBlock(first=1.0, last=1.0), TimeBlock(first=2.0, last=4.0)]
    """
    moments = np.unique(time)
    if not 2 <= k <= moments.size:
        raise ParameterError(
            f"time must have at least as many distinct values as blocks, {k}, got {moments.size}"
        )
    number = np.arange(k)  # of the block
    older_rows = np.searchsorted(np.sort(time), moments)  # how many are older than each moment
    # The index of the moment at which each block starts: the first one with at least
    # number · rows / k older rows.
    start = np.searchsorted(older_rows, number * time.size / k)
    # Many rows of one time may give several blocks the same start. Each block needs a moment of its
    # own: block i can start at moment i at the earliest, and later by a shift, which must not fall
    # from block to block, or two would start together. A shift of moments − k leaves just one
    # moment for each block that follows.
    shift = np.maximum.accumulate(start - number)
    start = number + np.minimum(shift, moments.size - k)
    first_times = moments[start]
    last_times = np.append(moments[start[1:] - 1], moments[-1])  # each ends before the next starts
    return [
        TimeBlock(first, last)
        for first, last in zip(first_times.tolist(), last_times.tolist(), strict=True)
    ]


# The bootstrap


def out_of_bag(rows: int, *, rng: np.random.Generator, repeats: int = 100) -> Folds:
    """`repeats` bootstrap samples as training sets; the rows that a sample did not draw, about
    36.8%, are its test set.
    """
    if rows < 2:
        raise ParameterError(f"rows must be at least 2, got {rows}")
    pairs = list[tuple[RowNumbers, RowNumbers]]()
    while len(pairs) < repeats:
        train = rng.integers(rows, size=rows)
        test = np.flatnonzero(np.bincount(train, minlength=rows) == 0)
        if test.size:  # a sample with every row leaves none to test: draw again
            pairs.append((train, test))
    return _folds(rows, pairs, f"{repeats} bootstrap samples, tested out of bag")


CONSECUTIVE = "the fold column: blocks of time, each treated as trained on the earlier ones"
HOLDOUT_RULE = "one holdout, as the fold column says"


def read(fold: Coded, repeat: Coded | None = None) -> Folds:
    """Return the folds of a column of names, each fold trained on all others. fold: the name of
    each row's fold. repeat: the repeat that each row belongs to; None if there is one repeat.

    Names such as train and test, or train and holdout, mean one holdout; with `train`, `valid` and
    `test`, the validation rows are in neither set. Raises InputError if such names do not identify
    exactly one test set, and for a flag (yes and no), which does not say which rows were tested.

    >>> folds = read(Coded(("test", "train", "valid"), np.array([1, 0, 1, 2])))
    >>> folds.names, folds.pairs
    (('test',), ((array([0, 2]), array([1])),))
    """
    if repeat is not None and len(repeat.names) > 1:
        return _repeated(fold, repeat)
    # what each name in the column means, such as TEST; "" for the name of a fold
    set_by_name = {name: set_of(name) for name in fold.names}
    meanings = set(set_by_name.values())
    if len(fold.names) > 1:  # a single name is refused below, whatever it means
        if meanings == {YES_NO}:
            raise InputError(
                f"fold must name folds, or training and test rows as train and test, got "
                f"{_quoted_list(fold.names)}"
            )
        if TRAINING in meanings or TEST in meanings:
            return _holdout(fold, set_by_name)
    return replace(_by_fold(fold.code, fold.names), names=fold.names)


def resampled_folds(fold: Coded, id: Ints) -> Folds:
    """The folds of a column, each drawn anew from the same ids. id: a number for the id of each
    row.
    """
    rule = f"{len(fold.names)} folds of the fold column, each drawn anew from the same ids"
    return Folds(len(fold), ResampledFolds(fold.code, id), rule, fold.names)


def _quoted_list(names: Sequence[str]) -> str:
    """The names in quotes, the last one after "and".

    >>> _quoted_list(["a", "b", "c"]), _quoted_list(["a"])
    ("'a', 'b' and 'c'", "'a'")
    """
    quoted = [repr(name) for name in names]
    if len(quoted) == 1:
        return quoted[0]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _holdout(fold: Coded, sets: Mapping[str, str]) -> Folds:
    """The one split of a column of training and test rows; development rows are tested if there are
    no test rows. sets: name in the column -> the set that it means.
    """
    training = [name for name, meaning in sets.items() if meaning == TRAINING]
    tests = [name for name, meaning in sets.items() if meaning == TEST]
    development = [name for name, meaning in sets.items() if meaning == DEVELOPMENT]
    if len(training) + len(tests) + len(development) < len(sets):
        rule = "must name either folds or the training and test rows of one holdout"
        raise InputError(f"fold {rule}, got {_quoted_list(fold.names)}")
    if len(training) != 1:
        raise InputError(
            f"fold must name one set of training rows beside the test set, got "
            f"{_quoted_list(fold.names)}"
        )
    tested = tests or development
    if len(tested) != 1:
        way = "report each test set separately, with the training rows"
        raise InputError(f"fold must name one test set, got {_quoted_list(tested)}; {way}")
    train = np.flatnonzero(fold.code == fold.names.index(training[0]))
    test = np.flatnonzero(fold.code == fold.names.index(tested[0]))
    return Folds(len(fold), ((train, test),), HOLDOUT_RULE, tuple(tested))


def _repeated(fold: Coded, repeat: Coded) -> Folds:
    """The folds of all repeats; each fold is trained on the other folds of its repeat. If the fold
    column names training rows, each repeat is a holdout instead.

    fold, repeat: of each row, the fold that tests it and the repeat; a row tested in several
    repeats stands in the table once for each.
    """
    if TRAINING in map(set_of, fold.names):
        return _repeated_holdouts(fold, repeat)
    # the rows of one fold of one repeat are a part; the pairs (repeat, fold) that occur, in order,
    # number the parts
    pair_of_row = repeat.code * len(fold.names) + fold.code
    distinct_pairs, part_of_row = np.unique(pair_of_row, return_inverse=True)
    repeat_of_part, fold_of_part = np.divmod(distinct_pairs, len(fold.names))
    for number, name in enumerate(repeat.names):
        folds_of_repeat = fold_of_part[repeat_of_part == number]
        _check_folds_of_repeat([fold.names[i] for i in folds_of_repeat], name)
    labels = []
    for repeat_number, fold_number in zip(repeat_of_part, fold_of_part, strict=True):
        labels.append(f"{repeat.names[repeat_number]}/{fold.names[fold_number]}")
    # a part is tested by the model that was trained on the other parts of its repeat
    parts = len(distinct_pairs)
    is_same_repeat = repeat_of_part[:, None] == repeat_of_part  # (parts, parts)
    is_other_part = ~np.eye(parts, dtype=np.bool_)
    pairs = Parted(part_of_row, train=is_same_repeat & is_other_part, test=np.arange(parts))
    rule = f"given by the fold column, drawn anew in each of {len(repeat.names)} repeats"
    return Folds(len(fold), pairs, rule, tuple(labels))


def _repeated_holdouts(fold: Coded, repeat: Coded) -> Folds:
    """A holdout in each repeat, whose training rows the fold column names."""
    pairs = []
    for number, repeat_name in enumerate(repeat.names):
        rows_of_repeat = np.flatnonzero(repeat.code == number)
        column = fold.take(rows_of_repeat)  # its names are those that occur in the repeat
        if len(column.names) < 2:
            raise InputError(
                f"fold must name training and test rows in each repeat, got only "
                f"{column.names[0]!r} in repeat {repeat_name!r}"
            )
        set_by_name = {name: set_of(name) for name in column.names}  # training, test …
        [(train, test)] = _holdout(column, set_by_name).pairs  # numbered within the repeat
        pairs.append((rows_of_repeat[train], rows_of_repeat[test]))
    rule = f"{len(pairs)} holdouts, whose training and test rows the fold column names"
    return Folds(len(fold), tuple(pairs), rule, repeat.names)


def _check_folds_of_repeat(names: Sequence[str], repeat: str) -> None:
    """Raise InputError unless the names in a fold column are those of two or more folds. names: the
    different names in one repeat. repeat: its name, for the error.
    """
    if len(names) < 2:
        raise InputError(
            f"fold must have 2 or more values in each repeat, got only {names[0]!r} in repeat "
            f"{repeat!r}"
        )
    one_row_each = Coded(tuple(names), np.arange(len(names)))
    read(one_row_each)  # raises for names of a flag, and for a test set without training rows


# Ways to split a table: the folds that its columns call for, and others to compare them with ------

MOST_LEFT_OUT = 200  # rows up to which leaving each one out is affordable
OUT_OF_BAG = "bootstrap, out of bag"
ONE_OUT = "leave one out"
ONE_HOLDOUT = "one holdout of 30%"


@dataclass(frozen=True, eq=False)
class SplitMethod:
    """A way of splitting a table, by name, and its folds.

    folds_per_value: how many folds are tested as one set of rows, for one value of the metric.
    values_per_estimate: of how many values the mean is one estimate.
    """

    name: str
    folds: Folds
    folds_per_value: int = 1
    values_per_estimate: int = 1


class WayPlan(NamedTuple):
    """A `SplitMethod` whose folds `make` makes when they are needed, as they may be impossible."""

    name: str
    make: Callable[[], Folds]
    folds_per_value: int = 1
    values_per_estimate: int = 1


@dataclass(frozen=True)
class Unfitted:
    """A way of splitting that was not fitted in full: how many fits were made of how many wanted,
    or the reason why there are none. way: its name.
    """

    way: str
    made: int = 0
    wanted: int = 0
    reason: str = ""


class SplitWays(NamedTuple):
    """The ways of splitting a table that can be made, and those that cannot, with the reason."""

    possible: list[SplitMethod]
    impossible: list[Unfitted]


@dataclass(frozen=True, eq=False)
class Setting:
    """The table to split, and how: k folds, in time with a gap. Its ways of splitting are the folds
    that suit its columns, and others to compare these with.

    limits: how many holdouts, bootstrap samples and repeats of the k folds are drawn.
    """

    examples: Examples
    k: int
    gap: float
    seed: int
    limits: Limits = USUAL_LIMITS

    @property
    def ignores(self) -> str | None:
        """The column that a split by rows would ignore: time, else group."""
        if self.examples.time is not None:
            return "time"
        if self.examples.group is not None:
            return "group"
        return None

    @property
    def blind(self) -> str:
        """The name of the way of splitting that ignores the column `ignores`."""
        return f"{self.k}-fold of rows, ignores the {self.ignores}"

    @cached_property
    def folds(self) -> Folds:
        """The folds that suit the columns; `rule` says which and why."""
        examples = self.examples
        if examples.fold is not None:
            return read(examples.fold)
        if examples.time is not None:
            folds = forward(examples.time, k=self.k, gap=self.gap, group=examples.group_number)
            why = "rows are dated, so the past predicts the future"
        elif examples.group is not None:
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
        """k folds of rows, stratified by class, drawn `repeats` times."""
        return k_fold(len(self.examples), seed=seed, k=self.k, repeats=repeats, label=self.strata)

    def by_group(self, seed: int) -> Folds:
        """k folds of whole groups, with classes as balanced as the groups allow."""
        assert self.examples.group is not None
        return group_k_fold(self.examples.group.code, seed=seed, k=self.k, label=self.strata)

    def ways(self) -> SplitWays:
        """The ways of splitting that suit the columns of the table, in the order of the page: those
        whose folds could be made, and those that this table does not allow, with the reason.
        """
        possible = []
        impossible = []
        for plan in self._plans():
            try:
                folds = plan.make()
            except InputError as error:  # one way may be impossible where others are possible
                impossible.append(Unfitted(plan.name, reason=str(error)))
            else:
                way = SplitMethod(plan.name, folds, plan.folds_per_value, plan.values_per_estimate)
                possible.append(way)
        return SplitWays(possible, impossible)

    def _plans(self) -> list[WayPlan]:
        """The ways that suit the columns, in the order of the page.

        If rows depend on each other by time or group, a split by rows is among them. It is the
        mistake that the other ways are compared with, as it ignores the dependence.
        """
        examples = self.examples
        name = "blocks forward in time" if examples.fold is None else "the folds given"
        # `folds_per_value`: the test rows of all folds together give one value of the metric
        suiting = WayPlan(name, lambda: self.folds, folds_per_value=len(self.folds.pairs))
        k_folds_of_rows = partial(self.by_row, self.seed)
        ignoring = WayPlan(self.blind, k_folds_of_rows, folds_per_value=self.k)
        if examples.time is not None:
            newest_rows = partial(global_temporal, examples.time, share=0.3, gap=self.gap)
            return [WayPlan("one split at a moment", newest_rows), suiting, ignoring]
        plans = []
        if examples.fold is not None:  # else the folds that suit are among the plans below
            plans.append(suiting)
        if examples.group_number is None:  # rows are independent
            return plans + self._plans_by_row()
        plans += self._plans_by_group(examples.group_number)
        plans.append(ignoring)
        return plans

    def _plans_by_group(self, group: Ints) -> list[WayPlan]:
        """The ways of splitting whole groups. group: of each row."""
        holdouts = partial(group_holdout, group, seed=self.seed, repeats=self.limits.holdouts)
        return [
            WayPlan("one holdout of 30% of groups", holdouts),
            WayPlan(f"{self.k}-fold of groups", self._group_folds, folds_per_value=self.k),
        ]

    def _plans_by_row(self) -> list[WayPlan]:
        """The ways of splitting rows that are independent. All but leaving one out are random: each
        is drawn repeatedly, so that the page can show how much its estimates vary.

        `folds_per_value`, if not 1: the test rows of so many folds together give one value of the
        metric.
        """
        rows = len(self.examples)
        limits = self.limits
        draws = limits.repeats  # of the k folds
        holdouts = partial(
            holdout, rows, seed=self.seed, repeats=limits.holdouts, label=self.strata
        )
        k_folds = partial(self.by_row, self.seed, draws)
        # an estimate is the mean of so many values; another seed gives other draws than `k_folds`
        averaged = limits.averaged
        averaged_k_folds = partial(self.by_row, self.seed + 1, draws * averaged)
        return [
            WayPlan(ONE_HOLDOUT, holdouts),
            WayPlan(f"{self.k}-fold", k_folds, folds_per_value=self.k),
            WayPlan(
                f"mean of {averaged} × {self.k}-fold",
                averaged_k_folds,
                folds_per_value=self.k,
                values_per_estimate=averaged,
            ),
            WayPlan(OUT_OF_BAG, self._bootstrap_samples),
            WayPlan(ONE_OUT, self._one_out, folds_per_value=rows),
        ]

    def _one_out(self) -> Folds:
        """Each row alone as the test set. Raises InputError if there are too many rows."""
        rows = len(self.examples)
        if rows > MOST_LEFT_OUT:
            raise InputError(f"{rows:,} fits; they are only made for up to {MOST_LEFT_OUT} rows")
        return leave_out(rows)

    def _group_folds(self) -> Folds:
        """k folds of whole groups, drawn as often as the limits say."""
        repeats = [self.by_group(self.seed + i) for i in range(self.limits.repeats)]
        pairs = tuple(chain.from_iterable(folds.pairs for folds in repeats))
        return Folds(len(self.examples), pairs, repeats[0].rule)

    def _bootstrap_samples(self) -> Folds:
        """Bootstrap samples, tested out of bag, without those of one class alone, on which no
        classifier can be trained.
        """
        rng = np.random.default_rng([self.seed, 3])  # 3: other numbers than other users of the seed
        samples = out_of_bag(len(self.examples), rng=rng, repeats=self.limits.samples)
        usable = tuple((train, test) for train, test in samples.pairs if self.can_learn_from(train))
        return replace(samples, pairs=usable)

    def can_learn_from(self, rows: Ints) -> bool:
        """True if the rows have more than one class, or the label is a number."""
        return not self.examples.classes or np.unique(self.examples.label[rows]).size > 1

"""Folds from a column: k folds, one holdout with its training rows, or repeated k folds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import InputError, Ints, codes
from evalkit.offline import splits
from evalkit.offline.splits import Folds, Parted

CONSECUTIVE = "the fold column: blocks of time, each treated as trained on the earlier ones"

TRAINING = frozenset(("train", "training", "trn", "tr", "trainset", "fit", "learn", "insample", "seen"))
TEST = frozenset(("test", "testing", "tst", "te", "testset", "holdout", "heldout"))
TEST |= frozenset(("outofsample", "oos", "outoftime", "oot", "unseen"))
YES_NO = frozenset(("true", "false", "yes", "no"))
DEVELOPMENT = frozenset(("valid", "validation", "val", "dev", "development", "eval", "evaluation"))
HOLDOUT_RULE = "one holdout, as the fold column says"


@dataclass(frozen=True, eq=False)
class FoldColumn:
    """Folds and the names of their test sides. set_aside: rows of a validation set, neither trained on nor tested."""

    folds: Folds
    names: tuple[str, ...]
    set_aside: Ints
    repeats: int = 1

    @property
    def holdout(self) -> bool:
        """True if there is one test set, with training rows that are never tested."""
        return len(self.names) == 1


def read(fold: ArrayLike, repeat: ArrayLike | None = None) -> FoldColumn:
    """Return the folds of a column of names. repeat: the repeat of the folds that each row belongs to.

    A column of training and test (holdout) rows is one holdout; with `train`, `valid` and `test` the validation rows
    are set aside. Raises InputError if the names do not identify exactly one test set.

    >>> column = read(["train", "test", "train", "valid"])
    >>> column.names, column.folds.pairs, column.set_aside
    (('test',), ((array([0, 2]), array([1])),), array([3]))
    """
    number, names = codes(fold)
    if repeat is not None and len((draws := codes(repeat))[1]) > 1:
        return _repeated(number, names.astype(str), *draws)
    distinct = [str(name) for name in names]
    if len(distinct) > 1 and all(_word(name) in YES_NO for name in distinct):
        raise InputError(f"fold must name folds, or training and test rows as train and test, got {_listed(distinct)}")
    if len(distinct) > 1 and any(_word(name) in TRAINING | TEST for name in distinct):
        return _holdout(number, distinct)
    return FoldColumn(splits.by_column(number if len(distinct) > 1 else fold), tuple(distinct), np.empty(0, np.int64))


def _word(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _named(distinct: Sequence[str], words: frozenset[str]) -> list[str]:
    return [name for name in distinct if _word(name) in words]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(map(repr, names[:-1])), repr(names[-1]))))


def _holdout(number: Ints, distinct: Sequence[str]) -> FoldColumn:
    training, tests, aside = (_named(distinct, words) for words in (TRAINING, TEST, DEVELOPMENT))
    if len(training) + len(tests) + len(aside) < len(distinct):
        raise InputError(
            f"fold must name either folds or the training and test rows of one holdout, got {_listed(distinct)}"
        )
    if len(training) != 1:
        raise InputError(f"fold must name one set of training rows beside the test set, got {_listed(distinct)}")
    measured = tests or aside
    if len(measured) != 1:
        raise InputError(
            f"fold must name one test set, got {_listed(measured)}; "
            "report each test set separately, with the training rows"
        )
    train, test = (np.flatnonzero(number == distinct.index(name)) for name in (training[0], measured[0]))
    among = np.isin(np.arange(len(distinct)), [distinct.index(name) for name in aside])
    set_aside = np.flatnonzero(among[number]) if tests else np.empty(0, np.int64)
    return FoldColumn(Folds(number.size, ((train, test),), HOLDOUT_RULE), tuple(measured), set_aside)


def _repeated(fold: Ints, folds: np.ndarray, draw: Ints, draws: np.ndarray) -> FoldColumn:
    """The folds of each repeat, which are trained on the others of the same repeat."""
    part, cells = codes(draw * folds.size + fold)
    of = cells // folds.size
    for i, name in enumerate(draws):
        _refuse_no_folds(folds[cells[of == i] % folds.size], str(name))
    train = (of[:, None] == of) & ~np.eye(cells.size, dtype=np.bool_)
    pairs = Parted(part.astype(np.int32), train, np.arange(cells.size))
    labels = tuple(f"{draws[cell // folds.size]}/{folds[cell % folds.size]}" for cell in cells)
    rule = f"given by the fold column, drawn anew in each of {draws.size} repeats"
    return FoldColumn(Folds(fold.size, pairs, rule), labels, np.empty(0, np.int64), int(draws.size))


def _refuse_no_folds(names: np.ndarray, draw: str) -> None:
    """Raise InputError unless the names of one repeat are those of folds of all its rows."""
    distinct = names.tolist()
    if len(distinct) < 2:
        raise InputError(f"fold must have 2 or more values in each repeat, got only {distinct[0]!r} in repeat {draw!r}")
    if read(names).holdout:
        raise InputError(
            f"fold must name folds where there is a repeat column, got the holdout {_listed(distinct)} in repeat "
            f"{draw!r}; report one repeat alone"
        )

"""Equal rows: copies on both sides of a split, rows that coarse columns make equal, and labels that contradict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, Ints, codes, ratio
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, SEVERE, WARNING, Finding
from evalkit.offline.giveaways import auc, finding, is_class, levels, row_key
from evalkit.offline.splits import Folds

if TYPE_CHECKING:
    import pandas as pd

RARE = 5  # a row with at most this number of equal rows, itself included, is rare
TRIED = 12  # pairs of columns whose near misses are counted
LEAST = 20  # distinct rows from which it is not a coincidence that each occurs a multiple of some number of times
BLIND = 0.1  # share of rows with an equal row by coincidence, from which copies of a tenth of them may go undetected


def test_rows(folds: Folds) -> Ints:
    """The rows that at least one fold tests."""
    return np.unique(np.concatenate([test for _, test in folds.pairs]))


test_rows.__test__ = False  # type: ignore[attr-defined]


def shared(folds: Folds, key: Ints) -> Ints:
    """Test rows whose key also occurs among the training rows of the same fold."""
    return np.concatenate([test[np.isin(key[test], key[train])] for train, test in folds.pairs])


def duplicates(folds: Folds, features: pd.DataFrame, label: ArrayLike | None = None) -> Finding | None:
    """Test rows with the same features as a training row; severe if coarse columns explain less than half of them.

    Rows of coarse columns repeat by coincidence, rows of measurements do not. The expected number assumes independent
    columns; it is raised to the share that near misses explain, because rows of dependent columns repeat more often.
    Also severe, however coarse the columns, if every row with its `label` occurs a multiple of times: the whole table
    was copied. If the columns are too coarse to detect fewer copies, the finding is a note of the kind `COARSE`.
    """
    columns = [levels(features[name]) for name in features]
    rows, tested = np.unique(shared(folds, row_key(columns))), test_rows(folds)
    times = 1 if label is None else _copied(row_key([*columns, codes(label)[0]]), _sides(folds))
    if times > 1:
        text = f"test rows repeat the features of a training row: every row occurs {times} times or a multiple of that"
        return finding(kinds.DUPLICATES, SEVERE, rows, tested.size, text)
    expected, natural = _expected(columns, tested, float(np.mean([train.size for train, _ in folds.pairs])), rows.size)
    excess = rows.size - expected
    if excess <= 3 * np.sqrt(expected) + 1 and expected >= BLIND * tested.size:
        text = (
            f"test rows repeat the features of a training row, and {expected:.0f} would do so by coincidence, "
            f"because the "
            "columns are coarse: copies of a few rows could not be detected"
        )
        return finding(kinds.COARSE, NOTE, rows, tested.size, text)
    clear = excess > 3 * np.sqrt(expected) + 1
    copied = natural < 0.5 and excess >= 0.01 * tested.size
    severity = NOTE if not clear else SEVERE if copied else WARNING
    text = f"test rows repeat the features of a training row; {expected:.0f} would do so by coincidence"
    return finding(kinds.DUPLICATES, severity, rows, tested.size, text)


class _Chance(NamedTuple):
    """Number of rows expected to have an equal row by coincidence, and the share of equal pairs explained by it."""

    expected: float
    natural: float


def _expected(columns: Sequence[Ints], rows: Ints, others: float, equal: int) -> _Chance:
    """Expected number of `rows` that equal one of `others` other rows by coincidence; equal: the observed number."""
    p_equal: Floats = np.prod([np.bincount(column)[column] / column.size for column in columns], axis=0)
    expected = float((1 - np.exp(-others * p_equal[rows])).sum())
    natural = _natural(columns) if equal > expected else 1.0
    return _Chance(max(expected, equal * natural), natural)


def _sides(folds: Folds) -> Ints:
    """The fold that tests each row, from 1; 0 if none does."""
    side = np.zeros(folds.rows, np.int64)
    for i, (_, test) in enumerate(folds.pairs, 1):
        side[test] = i
    return side


def _copied(key: Ints, side: Ints) -> int:
    """Number of times that every row occurs, with copies on several sides; 1 if there are none or too few rows differ.

    Copies that stay together, such as those of a group, also occur a multiple of times on each side.

    >>> row, apart = np.repeat(np.arange(30), 2), np.arange(60) % 2
    >>> _copied(row, apart), _copied(row, row % 2), _copied(np.arange(30), np.arange(30) % 2)
    (2, 1, 1)
    """
    count = np.bincount(key)
    together = np.unique(key * (side.max() + 1) + side, return_counts=True)[1]
    times = int(np.gcd.reduce(count))
    return times if count.size >= LEAST and np.gcd.reduce(together) % times else 1


def _natural(columns: Sequence[Ints]) -> float:
    """Share of the pairs of equal rows that near misses explain, at most 1.

    If two columns agree independently in pairs that agree in all others, equal pairs / pairs that differ in the first
    = pairs that differ in the second / pairs that differ in both. The pair of columns that explains most counts. Only
    rare rows are used: common rows have more equal rows by coincidence than copies could add.
    """
    key = row_key(columns)
    rare = np.bincount(key)[key] <= RARE
    columns = [column[rare] for column in columns]
    explained = [0.0]
    for i in range(min(len(columns), TRIED) if len(columns) > 1 and rare.any() else 0):
        a, b = columns[i - 1], columns[i]
        rest = row_key([column for column in columns if column is not a and column is not b] or [a * 0])
        both, only_a, only_b, any_ = (_equal_pairs(row_key([rest, *more])) for more in ([a, b], [a], [b], []))
        missed = (only_a - both) * float(only_b - both)
        explained.append(float(np.nan_to_num(ratio(missed, (any_ - only_a - only_b + both) * float(both)))))
    return min(1.0, max(explained))


def _equal_pairs(key: Ints) -> int:
    """Number of pairs of rows with the same key."""
    count = np.bincount(key)
    return int((count * (count - 1)).sum()) // 2


def conflicts(features: pd.DataFrame, label: ArrayLike) -> Finding | None:
    """Rows with equal features and different labels: the accuracy and AUC that no model of these columns can exceed.

    The limits hold for these rows, even for a model that has memorised them. A warning from a tenth of the rows on,
    unless the columns are so coarse that as many rows are equal by coincidence: then labels are expected to differ.
    """
    if not is_class(label):
        return None
    number, names = codes(label)
    columns = [levels(features[name]) for name in features]
    key = row_key(columns)
    pair, count = np.unique(key * names.size + number, return_counts=True)
    commonest = np.zeros(key.max() + 1, dtype=np.int64)
    np.maximum.at(commonest, pair // names.size, count)
    rows = np.flatnonzero(np.bincount(pair // names.size)[key] > 1)
    most = commonest.sum() / key.size
    text = f"rows with equal features have different labels: accuracy on these rows is at most {most:.3f}"
    if names.size == 2:
        share = np.bincount(key, number) / np.bincount(key)
        text += f", AUC at most {auc(share[key], number == 1):.3f}"
    equal = int((np.bincount(key)[key] > 1).sum())
    by_chance = _expected(columns, np.arange(key.size), key.size, equal).expected
    few = rows.size < 0.1 * key.size
    coarse = not few and by_chance >= 0.5 * equal
    text += "; the columns are so coarse that many rows are equal by coincidence" if coarse else ""
    return finding(kinds.CONFLICTING_LABELS, NOTE if few or coarse else WARNING, rows, key.size, text)

"""Leakage of the label through single columns: features that are too good, ids, and scores that copy the label.

Every check takes columns aligned with the rows and returns a `Finding` or None. Row numbers count from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import Bools, Floats, Ints, codes, finite, numbers, ratio
from evalkit.findings import kinds
from evalkit.findings.kinds import SEVERE, WARNING, Finding, Kind, Severity
from evalkit.metrics import counts
from evalkit.metrics.counts import Counts

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = 5
MANY = 20  # a numeric label with more values than this is not a class; of more classes the most common are checked
BY_CHANCE = 1000  # a severe finding must occur less than once in this number of tables with uninformative columns


def finding(kind: Kind, severity: Severity, rows: NDArray, of: int, message: str) -> Finding | None:
    """Return a finding on these rows out of `of`, None without rows."""
    rows = np.unique(rows)
    examples = tuple(int(row) for row in rows[:EXAMPLES])
    return Finding(kind, severity, message, rows.size, of, examples) if rows.size else None


def single_features(features: pd.DataFrame, label: ArrayLike, *, rng: np.random.Generator) -> Iterable[Finding | None]:
    """Columns that alone separate the classes (mean one-vs-rest AUC): severe from 0.995, a warning from 0.95.

    Both directions are checked, and missingness too; text is coded by the label mean of the other half of rows. With
    more than 20 classes, only the 20 most common. For labels of more than 20 numbers, |rank correlation| replaces the
    AUC. Never severe if so few rows can be separated as well by chance.
    """
    target, half = np.asarray(label), rng.permutation(len(features)) % 2
    number, _ = codes(target)
    common = np.argsort(-np.bincount(number), kind="stable")[:MANY]
    measure = "AUC" if is_class(label) else "rank correlation"
    worst = SEVERE if _beyond_chance(number, features.shape[1], measure) else WARNING
    for name in features:
        column = features[name]
        if is_class(label):
            value = float(np.mean([_separates(column, number == c, half) for c in common]))
        else:
            amount = finite("label", target)
            known = numeric(column) if _is_number(column) else _coded(column, amount, half)
            value = abs(_rank_correlation(known, amount))
        if value >= 0.95:
            text = f"{name} alone predicts the label with {measure} {value:.3f}"
            severity = worst if value >= 0.995 else WARNING
            yield Finding(kinds.SINGLE_FEATURE, severity, text, target.size, target.size)


def is_class(label: ArrayLike) -> bool:
    """True if a label holds classes: text, or at most 20 distinct numbers."""
    values = np.asarray(label)
    return values.dtype.kind not in "fiub" or np.unique(values).size <= MANY


def _beyond_chance(number: Ints, columns: int, measure: str) -> bool:
    """True if one of this number of uninformative columns is almost never in the order of the label."""
    rarest = int(np.bincount(number).min()) if measure == "AUC" else number.size // 2
    return 2 * columns * BY_CHANCE < comb(number.size, rarest)


def _separates(column: pd.Series, positive: Bools, half: Ints) -> float:
    missing = column.isna().to_numpy()
    values = [auc(missing.astype(np.float64), positive)]
    if _is_number(column):
        values.append(auc(numeric(column), positive))
    both = [max(value, 1 - value) for value in values]
    by_value = not _is_number(column) or column.nunique(dropna=False) <= MANY
    return max([*both, auc(_coded(column, positive, half), positive)] if by_value else both)


def _coded(column: pd.Series, label: NDArray, half: Ints) -> Floats:
    """Mean label of each value among the rows of the other half; the overall mean if there are none."""
    value = levels(column)
    size = value.max() + 1
    share = [
        ratio(np.bincount(value[side], label[side], size), np.bincount(value[side], minlength=size))
        for side in (half == 0, half == 1)
    ]
    return np.nan_to_num(np.stack(share)[1 - half, value], nan=float(label.mean()))


def numeric(column: pd.Series) -> Floats:
    """The numbers, or for text the code of each value; missing values are below all others."""
    if _is_number(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.where(np.isnan(values), np.nanmin(values, initial=0.0) - 1, values)
    return levels(column).astype(np.float64)


def levels(column: pd.Series) -> Ints:
    """Code of each row's value in sorted order; missing is a value too."""
    from pandas import factorize

    return factorize(column, sort=True, use_na_sentinel=False)[0].astype(np.int64)


def _is_number(column: pd.Series) -> bool:
    from pandas.api.types import is_numeric_dtype

    return is_numeric_dtype(column)


def ranks(values: ArrayLike) -> Floats:
    """Ranks from 1; ties have their mean rank."""
    _, place, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def auc(score: ArrayLike, positive: Bools) -> float:
    """AUC by ranks, a tie counting one half; NaN if one class is absent."""
    m = int(positive.sum())
    return float(ratio(ranks(score)[positive].sum() - m * (m + 1) / 2, m * (positive.size - m)))


def _rank_correlation(x: Floats, y: Floats) -> float:
    a, b = (rank - rank.mean() for rank in (ranks(x), ranks(y)))
    return float(np.nan_to_num(ratio(a @ b, np.sqrt((a @ a) * (b @ b)))))


def id_like(features: pd.DataFrame) -> Iterable[Finding | None]:
    """Columns of whole numbers or text that are almost unique: a model can memorise the rows by them."""
    for name in features:
        column = features[name]
        values = numeric(column)
        whole = bool((values == np.round(values)).all())
        if whole and len(features) >= 50 and column.nunique() >= 0.99 * len(features):
            grows = "; it increases from row to row" if (np.diff(values) > 0).all() else ""
            text = f"{name} is different on almost every row{grows}"
            yield Finding(kinds.ID_LIKE, WARNING, text, int(column.nunique()), len(features))


def score_is_label(score: ArrayLike, label: ArrayLike) -> Finding | None:
    """A score that separates two classes without error: severe if it has only two values, else a warning."""
    number, names = codes(label)
    value = numbers("score", score)
    known = np.isfinite(value)
    return gives_away(counts.count(value[known], number[known])) if names.size == 2 else None


def gives_away(c: Counts) -> Finding | None:
    """`score_is_label`, of the table of the score."""
    mixed = (c.positive > 0) & (c.negative > 0)
    if mixed.any() or counts.auc(c) not in (0.0, 1.0):
        return None
    same, rows = len(c.threshold) == 2, int(c.total)
    text = "score is a copy of the label" if same else "score separates the classes without a single error"
    return Finding(kinds.SCORE_IS_LABEL, SEVERE if same else WARNING, text, rows, rows)


def row_key(columns: Sequence[Ints]) -> Ints:
    """A number for each distinct row, exact: columns are added one at a time and renumbered."""
    key = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        key = np.unique(key * (column.max() + 1) + column, return_inverse=True)[1]
    return key

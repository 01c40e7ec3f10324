"""Audit of a split: leakage between training and test rows, and columns that leak the label.

Every check takes the folds and columns aligned with their rows, and returns a `Finding` or None.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, Ints, codes, finite, ratio, same_length
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, SEVERE, WARNING, Finding, Severity, ordered
from evalkit.offline.copies import conflicts as conflicts
from evalkit.offline.copies import duplicates as duplicates
from evalkit.offline.copies import shared, test_rows
from evalkit.offline.giveaways import (
    auc,
    finding,
    id_like,
    is_class,
    levels,
    numeric,
    ranks,
    score_is_label,
    single_features,
)
from evalkit.offline.splits import Folds

if TYPE_CHECKING:
    import pandas as pd

SAMPLE = 2000  # most rows whose neighbours are searched, and most rows of a side for the drift
CROSSED = "test rows share their {} with training rows of the same fold"
LATE = "test rows are no newer than the newest training row of their fold"
CROSSINGS = {"id": kinds.ID_BOTH, "group": kinds.GROUP_BOTH}


def audit(
    folds: Folds,
    *,
    rng: np.random.Generator,
    features: pd.DataFrame | None = None,
    label: ArrayLike | None = None,
    score: ArrayLike | None = None,
    group: ArrayLike | None = None,
    time: ArrayLike | None = None,
    ids: ArrayLike | None = None,
) -> tuple[Finding, ...]:
    """Run every check that the columns at hand allow; return the findings, severe ones first.

    Raises InputError for columns of different lengths.
    """
    columns = {"features": features, "label": label, "score": score, "group": group, "time": time, "id": ids}
    same_length(rows=range(folds.rows), **{name: column for name, column in columns.items() if column is not None})  # type: ignore[arg-type]
    findings = [retested(folds)]
    findings += [crossing(folds, key, name) for name, key in (("id", ids), ("group", group)) if key is not None]
    if time is not None:
        findings.append(time_travel(folds, time))
    if features is not None:
        findings += _of_features(folds, features, label, rng)
    if label is not None:
        findings += [sizes(folds), base_rate(folds, label)]
    if label is not None and features is not None:
        findings += [*single_features(features, label, rng=rng), conflicts(features, label)]
    if score is not None:
        findings.append(score_scale(folds, score))
    if score is not None and label is not None:
        findings.append(score_is_label(score, label))
    return ordered(finding for finding in findings if finding)


def _of_features(
    folds: Folds, features: pd.DataFrame, label: ArrayLike | None, rng: np.random.Generator
) -> Iterable[Finding | None]:
    """The checks that need no more than features and folds."""
    yield duplicates(folds, features, label)
    yield near_duplicates(folds, features, rng=rng)
    yield drift(folds, features, rng=rng)
    yield from unseen_categories(folds, features)
    yield from id_like(features)


# Across the sides


def crossing(folds: Folds, key: ArrayLike, name: str) -> Finding | None:
    """Test rows whose group (user, id) is also among the training rows: severe.

    >>> from evalkit.offline.splits import by_column
    >>> crossing(by_column([0, 0, 1]), ["u", "v", "u"], "group").count
    2
    """
    number, _ = codes(key)
    return finding(CROSSINGS[name], SEVERE, shared(folds, number), test_rows(folds).size, CROSSED.format(name))


def time_travel(folds: Folds, time: ArrayLike) -> Finding | None:
    """Test rows that are no newer than the newest training row of their fold: severe, the model knows the future."""
    when = finite("time", time)
    rows = np.concatenate([test[when[test] <= when[train].max()] for train, test in folds.pairs])
    return finding(kinds.TIME_TRAVEL, SEVERE, rows, test_rows(folds).size, LATE)


def near_duplicates(folds: Folds, features: pd.DataFrame, *, rng: np.random.Generator) -> Finding | None:
    """Test rows that are much nearer to a training row, without equalling it, than rows usually are to others.

    Much nearer: less than a hundredth of the median distance to the nearest row, with numeric columns standardised.
    At most 2,000 rows are checked. None if the median is 0, because equal rows are then the rule.
    """
    from sklearn.neighbors import NearestNeighbors

    table = features.select_dtypes("number").to_numpy(dtype=np.float64, na_value=np.nan)
    if not table.shape[1] or table.shape[0] < 10:
        return None
    table = _standard(table)
    picked = np.sort(rng.permutation(table.shape[0])[:SAMPLE])
    distance, neighbour = NearestNeighbors(n_neighbors=2).fit(table).kneighbors(table[picked])
    close = (distance[:, 1] > 0) & (distance[:, 1] < 0.01 * np.median(distance[:, 1]))
    pair = np.full(table.shape[0], -1)
    pair[picked[close]] = neighbour[close, 1]
    rows = np.concatenate([test[(pair[test] >= 0) & np.isin(pair[test], train)] for train, test in folds.pairs])
    by_chance = picked.size * 0.01 ** min(table.shape[1], 2)
    severity = SEVERE if np.unique(rows).size > max(0.01 * picked.size, 5 * by_chance) else WARNING
    return finding(kinds.NEAR_DUPLICATES, severity, rows, picked.size, "test rows are almost equal to a training row")


def _standard(table: Floats) -> Floats:
    """Columns with mean 0 and standard deviation 1; missing values and constant columns are 0."""
    known = np.isfinite(table)
    mean = ratio(np.where(known, table, 0).sum(axis=0), known.sum(axis=0))
    centred = np.where(known, table - mean, 0.0)
    return np.nan_to_num(ratio(centred, centred.std(axis=0)))


def unseen_categories(folds: Folds, features: pd.DataFrame) -> Iterable[Finding | None]:
    """Test rows with a text value that no training row of the fold has: one note per column."""
    for name in features.select_dtypes(exclude="number"):
        value = levels(features[name])
        known = shared(folds, value)
        text = f"test rows hold a value of {name} that does not occur in training"
        yield finding(kinds.UNSEEN_CATEGORY, NOTE, np.setdiff1d(test_rows(folds), known), value.size, text)


def drift(folds: Folds, features: pd.DataFrame, *, rng: np.random.Generator) -> Finding | None:
    """Out-of-bag AUC of a random forest that separates test rows from training rows of the last fold.

    Drift, not leakage: a warning from 0.75, a note from 0.65; `count` is the number of test rows.
    """
    from sklearn.ensemble import RandomForestClassifier

    train, test = folds.pairs[-1]
    train = np.unique(train)
    rows = np.concatenate([rng.permutation(train)[:SAMPLE], rng.permutation(test)[:SAMPLE]])
    side = np.isin(rows, test)
    if min(side.sum(), (~side).sum()) < 20:
        return None
    table = np.column_stack([numeric(features[name]) for name in features])[rows]
    seed = int(rng.integers(2**31))
    # No class weights: scikit-learn draws bootstrap rows by them, and rare rows would never be out of bag.
    forest = RandomForestClassifier(100, min_samples_leaf=5, oob_score=True, random_state=seed)
    value = auc(forest.fit(table, side).oob_decision_function_[:, 1], side)
    severity = WARNING if value >= 0.75 else NOTE
    text = f"a classifier distinguishes training from test rows of the last fold with AUC {value:.2f}"
    return finding(kinds.DRIFT, severity, test, folds.rows, text) if value >= 0.65 else None


# The folds themselves


def retested(folds: Folds) -> Finding | None:
    """Rows that several folds test: normal for repeated splits, wrong for a table of out-of-fold predictions."""
    times = np.bincount(np.concatenate([test for _, test in folds.pairs]), minlength=folds.rows)
    return finding(kinds.TESTED_AGAIN, NOTE, np.flatnonzero(times > 1), folds.rows, "rows are tested in several folds")


def sizes(folds: Folds) -> Finding | None:
    """Test sides of unequal size, the largest over 1.5 times the smallest: a warning, a mean over folds misleads."""
    size = np.array([test.size for _, test in folds.pairs])
    small = folds.pairs[int(size.argmin())][1]
    return finding(kinds.FOLD_SIZES, WARNING, small, folds.rows, unequal(size)) if uneven(size) else None


def uneven(size: Ints) -> bool:
    """True if the largest test side has over 1.5 times the rows of the smallest."""
    return bool(size.max() > 1.5 * size.min())


def unequal(size: Ints) -> str:
    """What is said of such sizes."""
    return f"test sets have {size.min()} to {size.max()} rows: pool the rows instead of averaging the folds"


def base_rate(folds: Folds, label: ArrayLike) -> Finding | None:
    """Test sides with only one class (AUC is undefined), or a class share 4 standard errors from the overall one."""
    if not is_class(label):
        return None
    number, names = codes(label)
    share = np.bincount(number) / number.size
    tests = [test for _, test in folds.pairs]
    odd = odd_shares(np.array([np.bincount(number[test], minlength=names.size) for test in tests]), share)
    rows = [test for test, is_odd in zip(tests, odd, strict=True) if is_odd]
    return finding(kinds.BASE_RATE, WARNING, np.concatenate([tests[0][:0], *rows]), number.size, unlike_shares(odd))


def odd_shares(rows: Ints, share: Floats) -> Bools:
    """Test sides with one class alone, or with shares far from those of all rows. rows: of each side by class."""
    size = rows.sum(axis=1, keepdims=True)
    far = np.abs(rows / size - share) > 4 * np.sqrt(share * (1 - share) / size)
    return ((rows > 0).sum(axis=1) < 2) | far.any(axis=1)


def unlike_shares(odd: Bools) -> str:
    """What is said of such test sides."""
    count = int(odd.sum())
    return f"{count} of {len(odd)} test sets hold only one class, or the share of a class is not that of all rows"


def score_scale(folds: Folds, score: ArrayLike) -> Finding | None:
    """Scores on different scales in different folds (Kruskal–Wallis H far above its mean): do not pool their AUC."""
    if len(folds.pairs) < 2:
        return None
    value = finite("score", score)
    test = np.concatenate([test for _, test in folds.pairs])
    fold = np.repeat(np.arange(len(folds.pairs)), [test.size for _, test in folds.pairs])
    rank = ranks(value[test])
    size, total = np.bincount(fold), np.bincount(fold, rank)
    text = unlike_scales(size, total / size, float(rank.var(ddof=1)))
    return finding(kinds.SCORE_SCALE, WARNING, test, folds.rows, text) if text else None


def unlike_scales(size: Ints, rank: Floats, variance: float) -> str:
    """What is said of scores on other scales in other folds; nothing where they are alike.

    size, rank: the rows and the mean rank of each fold. variance: of the ranks of all rows.
    """
    k, mean = len(size), (int(size.sum()) + 1) / 2
    h = float(ratio((size * (rank - mean) ** 2).sum(), variance))
    if h <= k - 1 + 6 * np.sqrt(2 * (k - 1)):
        return ""
    return f"scores differ in level between folds (H = {h:.0f}, {k - 1} expected): compare within folds, do not pool"


# What the estimates show


def selected_outside(
    rows: Ints, metric: str, columns: tuple[int, int], values: tuple[float, float], severity: Severity
) -> Finding:
    """Columns selected before the split: how many of how many, the metric as it is and with them selected inside."""
    (kept, of), (given, inside) = columns, values
    text = f"{kept} of {of:,} columns were selected outside the folds: {metric} {given:.3f}, and {inside:.3f} with "
    return Finding(kinds.SELECTED_OUTSIDE, severity, f"{text}{kept} selected inside each fold", rows.size, rows.size)


def unlike_folds(rows: Ints, metric: str, q: float, expected: float) -> Finding:
    """Folds that differ by more than chance, by Cochran's Q."""
    text = f"{metric} varies between folds by more than sampling variation explains: Q = {q:.0f}, {expected} expected"
    return Finding(kinds.UNLIKE_FOLDS, WARNING, text, rows.size, rows.size)


def few_tested(rows: Ints, counted: str) -> Finding:
    """Few rows tested; counted: how many, with their noun."""
    return Finding(kinds.FEW_TESTED, WARNING, f"only {counted} were tested", rows.size, rows.size)

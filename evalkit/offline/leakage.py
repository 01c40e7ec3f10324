"""Audit of a split: leakage between training and test rows, copies of rows, and columns that leak
the label.

Every check takes the folds and columns aligned with their rows, and returns a `Finding` or None.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import Bools, Floats, Ints, codes, finite, ratio
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, SEVERE, WARNING, Finding, Kind, Severity, ordered
from evalkit.metrics import counts
from evalkit.offline.splits import Folds

EXAMPLES = 5
# a numeric label with more values than this is not a class; of more classes the most common are
# checked
MANY = 20
# a severe finding must occur less than once in this number of tables with uninformative columns
BY_CHANCE = 1000


def finding(
    kind: Kind, severity: Severity, rows: NDArray, of: int, form: str = "", **facts: Any
) -> Finding | None:
    """Return a finding on these rows out of `of`, None without rows; form and facts: as in
    `Kind.rated`.
    """
    rows = np.unique(rows)
    examples = tuple(int(row) for row in rows[:EXAMPLES])
    if rows.size:
        return replace(kind.rated(severity, rows.size, form, **facts), of=of, rows=examples)
    return None


def single_features(
    features: pd.DataFrame, label: ArrayLike, *, rng: np.random.Generator
) -> Iterable[Finding | None]:
    """Columns that alone separate the classes (mean one-vs-rest AUC): severe from 0.995, a warning
    from 0.95.

    Both directions are checked, and missingness too; text is coded by the label mean in the other
    half of the rows. With more than 20 classes only the 20 most common are used. If labels have
    more than 20 distinct numbers, |rank correlation| replaces the AUC. It is never severe if so few
    rows could be separated by chance.
    """
    target = np.asarray(label)
    half = rng.permutation(len(features)) % 2
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
            severity = worst if value >= 0.995 else WARNING
            found = kinds.SINGLE_FEATURE.rated(
                severity, target.size, name=name, measure=measure, value=value
            )
            yield replace(found, of=target.size)


def is_class(label: ArrayLike) -> bool:
    """True if a label holds classes: text, or at most 20 distinct numbers."""
    values = np.asarray(label)
    return values.dtype.kind not in "fiub" or np.unique(values).size <= MANY


def _beyond_chance(number: Ints, columns: int, measure: str) -> bool:
    """True if one of this number of uninformative columns is almost never in the order of the
    label.
    """
    rarest = int(np.bincount(number).min()) if measure == "AUC" else number.size // 2
    return 2 * columns * BY_CHANCE < comb(number.size, rarest)


def _separates(column: pd.Series, positive: Bools, half: Ints) -> float:
    values = [auc(column.isna().to_numpy(np.float64), positive)]
    if _is_number(column):
        values.append(auc(numeric(column), positive))
    both = [max(value, 1 - value) for value in values]
    by_value = not _is_number(column) or column.nunique(dropna=False) <= MANY
    return max([*both, auc(_coded(column, positive, half), positive)] if by_value else both)


def _coded(column: pd.Series, label: NDArray, half: Ints) -> Floats:
    """Mean label of each value among the rows of the other half; the overall mean if there are
    none.
    """
    value = levels(column)
    size = value.max() + 1
    sides = [(value[side], label[side]) for side in (half == 0, half == 1)]
    share = [
        ratio(np.bincount(some, own, size), np.bincount(some, minlength=size))
        for some, own in sides
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
    return pd.factorize(column, sort=True, use_na_sentinel=False)[0].astype(np.int64)


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column)


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
    """Columns of whole numbers or text that are almost unique: a model can memorise the rows by
    them.
    """
    for name in features:
        column = features[name]
        values = numeric(column)
        whole = bool((values == np.round(values)).all())
        if whole and len(features) >= 50 and column.nunique() >= 0.99 * len(features):
            form = "growing" if (np.diff(values) > 0).all() else ""
            yield replace(
                kinds.ID_LIKE.warning(int(column.nunique()), form, name=name), of=len(features)
            )


def gives_away(c: counts.Counts) -> Finding | None:
    """A score that separates two classes without error: severe if it has only two values, else a
    warning.
    """
    mixed = (c.positive > 0) & (c.negative > 0)
    if mixed.any() or counts.auc(c) not in (0.0, 1.0):
        return None
    severity, form = (SEVERE, "copy") if len(c.threshold) == 2 else (WARNING, "")
    return replace(kinds.SCORE_IS_LABEL.rated(severity, int(c.total), form), of=int(c.total))


def row_key(columns: Sequence[Ints]) -> Ints:
    """A number for each distinct row, exact: columns are added one at a time and renumbered."""
    key = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        key = np.unique(key * (column.max() + 1) + column, return_inverse=True)[1]
    return key


RARE = 5  # a row with at most this number of equal rows, itself included, is rare
TRIED = 12  # pairs of columns whose near misses are counted
# distinct rows from which it is not a coincidence that each occurs a multiple of some number of
# times
LEAST = 20
# share of rows with an equal row by coincidence, from which copies of a tenth of them may go
# undetected
BLIND = 0.1


def shared(folds: Folds, key: Ints) -> Ints:
    """Test rows whose key also occurs among the training rows of the same fold."""
    return np.concatenate([test[np.isin(key[test], key[train])] for train, test in folds.pairs])


def duplicates(
    folds: Folds, features: pd.DataFrame, label: ArrayLike | None = None
) -> Finding | None:
    """Test rows with the same features as a training row; severe if coarse columns explain less
    than half of them.

    Rows of coarse columns repeat by coincidence, rows of measurements do not. The expected number
    assumes independent columns; it is raised to the share that near misses explain, because rows of
    dependent columns repeat more often. Also severe, however coarse the columns, if every row with
    its `label` occurs a multiple of times: the whole table was copied. If the columns are too
    coarse to detect fewer copies, the finding is a note of the kind `COARSE`.
    """
    columns = [levels(features[name]) for name in features]
    rows = np.unique(shared(folds, row_key(columns)))
    tested = np.unique(folds.tested)
    times = 1 if label is None else _copied(row_key([*columns, codes(label)[0]]), _sides(folds))
    if times > 1:
        return finding(kinds.DUPLICATES, SEVERE, rows, tested.size, "copied", times=times)
    expected, natural = _expected(columns, tested, float(folds.sizes[0].mean()), rows.size)
    excess = rows.size - expected
    clear = excess > 3 * np.sqrt(expected) + 1
    if not clear and expected >= BLIND * tested.size:
        return finding(kinds.COARSE, NOTE, rows, tested.size, expected=expected)
    copied = natural < 0.5 and excess >= 0.01 * tested.size
    severity = NOTE if not clear else SEVERE if copied else WARNING
    return finding(kinds.DUPLICATES, severity, rows, tested.size, expected=expected)


def _expected(
    columns: Sequence[Ints], rows: Ints, others: float, equal: int
) -> tuple[float, float]:
    """Expected number of `rows` that equal one of `others` other rows by coincidence; equal: the
    observed number.

    Also the share of the equal pairs that coincidence explains.
    """
    p_equal: Floats = np.prod(
        [np.bincount(column)[column] / column.size for column in columns], axis=0
    )
    expected = float((1 - np.exp(-others * p_equal[rows])).sum())
    natural = _natural(columns) if equal > expected else 1.0
    return max(expected, equal * natural), natural


def _sides(folds: Folds) -> Ints:
    """The fold that tests each row, from 1; 0 if none does."""
    side = np.zeros(folds.rows, np.int64)
    for i, test in enumerate(folds.tests, 1):
        side[test] = i
    return side


def _copied(key: Ints, side: Ints) -> int:
    """Number of times that every row occurs, with copies on several sides; 1 if there are none or
    too few rows differ.

    Copies that stay together, such as those of a group, also occur a multiple of times on each
    side.

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

    If two columns agree independently in pairs that agree in all others, equal pairs / pairs that
    differ in the first = pairs that differ in the second / pairs that differ in both. The pair of
    columns that explains most counts. Only rare rows are used: common rows have more equal rows by
    coincidence than copies could add.
    """
    key = row_key(columns)
    rare = np.bincount(key)[key] <= RARE
    columns = [column[rare] for column in columns]
    explained = [0.0]
    for i in range(min(len(columns), TRIED) if len(columns) > 1 and rare.any() else 0):
        a = columns[i - 1]
        b = columns[i]
        rest = row_key(
            [column for column in columns if column is not a and column is not b] or [a * 0]
        )
        both, only_a, only_b, any_ = (
            _equal_pairs(row_key([rest, *more])) for more in ([a, b], [a], [b], [])
        )
        missed = (only_a - both) * float(only_b - both)
        explained.append(
            float(np.nan_to_num(ratio(missed, (any_ - only_a - only_b + both) * float(both))))
        )
    return min(1.0, max(explained))


def _equal_pairs(key: Ints) -> int:
    """Number of pairs of rows with the same key."""
    count = np.bincount(key)
    return int((count * (count - 1)).sum()) // 2


def conflicts(features: pd.DataFrame, label: ArrayLike) -> Finding | None:
    """Rows with equal features and different labels, and the largest accuracy and AUC possible with
    these columns.

    The limits hold for these rows, even for a model that has memorised them. It is a warning from a
    tenth of the rows on, unless the columns are so coarse that as many rows are equal by
    coincidence: then labels are expected to differ.
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
    text = f"{most:.3f}"
    if names.size == 2:
        share = np.bincount(key, number) / np.bincount(key)
        text += f", AUC at most {auc(share[key], number == 1):.3f}"
    equal = int((np.bincount(key)[key] > 1).sum())
    by_chance, _ = _expected(columns, np.arange(key.size), key.size, equal)
    few = rows.size < 0.1 * key.size
    coarse = not few and by_chance >= 0.5 * equal
    text += "; the columns are so coarse that many rows are equal by coincidence" if coarse else ""
    return finding(
        kinds.CONFLICTING_LABELS, NOTE if few or coarse else WARNING, rows, key.size, most=text
    )


SAMPLE = 2000  # most rows whose neighbours are searched, and most rows of a side for the drift
TAILS = (1, 99)  # percentiles of scores; a value beyond them counts as one at them
CROSSINGS = {"id": kinds.ID_BOTH, "group": kinds.GROUP_BOTH}


def audit(
    folds: Folds,
    *,
    rng: np.random.Generator,
    features: pd.DataFrame | None = None,
    label: ArrayLike | None = None,
    group: ArrayLike | None = None,
    time: ArrayLike | None = None,
    ids: ArrayLike | None = None,
) -> tuple[Finding, ...]:
    """Run every check that the columns in memory allow; return the findings, severe ones first."""
    findings = [retested(folds)]
    findings += [
        crossing(folds, key, name)
        for name, key in (("id", ids), ("group", group))
        if key is not None
    ]
    if time is not None:
        findings.append(time_travel(folds, time))
    if features is not None:
        findings += [
            duplicates(folds, features, label),
            near_duplicates(folds, features, rng=rng),
            drift(folds, features, rng=rng),
            *unseen_categories(folds, features),
            *id_like(features),
        ]
    if label is not None:
        findings += [sizes(folds), base_rate(folds, label)]
    if label is not None and features is not None:
        findings += [*single_features(features, label, rng=rng), conflicts(features, label)]
    return ordered(finding for finding in findings if finding)


# Across the sides


def crossing(folds: Folds, key: ArrayLike, name: str) -> Finding | None:
    """Test rows whose group (user, id) is also among the training rows: severe.

    >>> from evalkit.offline.splits import by_column
    >>> crossing(by_column([0, 0, 1]), ["u", "v", "u"], "group").count
    2
    """
    return finding(
        CROSSINGS[name], SEVERE, shared(folds, np.asarray(key)), np.unique(folds.tested).size
    )


def time_travel(folds: Folds, time: ArrayLike) -> Finding | None:
    """Test rows not newer than the newest training row of their fold: severe, as the model has seen
    the future.
    """
    when = np.asarray(time)
    rows = np.concatenate([test[when[test] <= when[train].max()] for train, test in folds.pairs])
    return finding(kinds.TIME_TRAVEL, SEVERE, rows, np.unique(folds.tested).size)


def near_duplicates(
    folds: Folds, features: pd.DataFrame, *, rng: np.random.Generator
) -> Finding | None:
    """Test rows much closer to a training row, without equalling it, than rows usually are to their
    nearest row.

    Much closer: less than a hundredth of the median distance to the nearest row, with numeric
    columns standardised. At most 2,000 rows are checked. None if the median is 0, because equal
    rows are then common.
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
    rows = np.concatenate(
        [test[(pair[test] >= 0) & np.isin(pair[test], train)] for train, test in folds.pairs]
    )
    by_chance = picked.size * 0.01 ** min(table.shape[1], 2)
    severity = SEVERE if np.unique(rows).size > max(0.01 * picked.size, 5 * by_chance) else WARNING
    return finding(kinds.NEAR_DUPLICATES, severity, rows, picked.size)


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
        unseen = np.setdiff1d(folds.tested, shared(folds, value))
        yield finding(kinds.UNSEEN_CATEGORY, NOTE, unseen, value.size, name=name)


def drift(folds: Folds, features: pd.DataFrame, *, rng: np.random.Generator) -> Finding | None:
    """Out-of-bag AUC of a random forest that separates test rows from training rows of the last
    fold.

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
    # No class weights: scikit-learn draws bootstrap rows by them, and rare rows would never be out
    # of bag.
    forest = RandomForestClassifier(
        100, min_samples_leaf=5, oob_score=True, random_state=int(rng.integers(2**31))
    )
    value = auc(forest.fit(table, side).oob_decision_function_[:, 1], side)
    severity = WARNING if value >= 0.75 else NOTE
    return finding(kinds.DRIFT, severity, test, folds.rows, auc=value) if value >= 0.65 else None


# The folds themselves


def retested(folds: Folds) -> Finding | None:
    """Rows that several folds test: normal for repeated splits, wrong for a table of out-of-fold
    predictions.
    """
    return finding(
        kinds.TESTED_AGAIN, NOTE, np.flatnonzero(np.bincount(folds.tested) > 1), folds.rows
    )


def sizes(folds: Folds) -> Finding | None:
    """Test sets of unequal size, the largest over 1.5 times the smallest: a warning, as a mean over
    folds misleads.
    """
    size = folds.sizes[1]
    if size.max() <= 1.5 * size.min():
        return None
    least = folds.tests[int(size.argmin())]
    return finding(kinds.FOLD_SIZES, WARNING, least, folds.rows, least=size.min(), most=size.max())


def base_rate(folds: Folds, label: ArrayLike) -> Finding | None:
    """Test sets with only one class (AUC is undefined), or a class share 4 standard errors from the
    overall one.
    """
    if not is_class(label):
        return None
    number, names = codes(label)
    share = np.bincount(number) / number.size
    rows = np.array([np.bincount(number[test], minlength=names.size) for test in folds.tests])
    size = rows.sum(axis=1, keepdims=True)
    far = np.abs(rows / size - share) > 4 * np.sqrt(share * (1 - share) / size)
    odd = ((rows > 0).sum(axis=1) < 2) | far.any(axis=1)
    if not odd.any():
        return None
    tested = np.concatenate([folds.tests[i] for i in np.flatnonzero(odd)])
    return finding(kinds.BASE_RATE, WARNING, tested, number.size, odd=odd.sum(), sets=len(odd))


def between(values: Floats, fold: Ints) -> float:
    """The squared distances of the folds' means from the mean of all, in variances of a value.

    Of ranks it is the H of Kruskal and Wallis; its mean is the number of folds less one.

    >>> between(np.array([1.0, 2, 3, 4]), np.array([0, 1, 1, 0]))
    0.0
    """
    size = np.bincount(fold)
    total = np.bincount(fold, values)
    apart = size * (total / size - values.mean()) ** 2
    return float(ratio(apart.sum(), float(values.var(ddof=1))))


def score_scale(tests: Sequence[Ints], score: Floats) -> Finding | None:
    """Scores on different scales in different folds: do not pool their AUC. Kruskal–Wallis H of the
    ranks is far above its mean, and so is H of the values.

    Ranks alone mislead: the leaves of a small tree have nearly the same value in each fold, and the
    smallest difference orders all of their rows by fold. Values alone are misled by a few far ones.
    """
    if (k := len(tests)) < 2:
        return None
    test = np.concatenate(tests)
    fold = np.repeat(np.arange(k), [*map(len, tests)])
    h = between(ranks(score[test]), fold)
    low, high = np.percentile(score[test], TAILS)
    of_values = between(np.clip(score[test], low, high), fold)
    far = k - 1 + 6 * np.sqrt(2 * (k - 1))
    if not (h > far and of_values > far):
        return None
    return finding(kinds.SCORE_SCALE, WARNING, test, score.size, h=h, expected=k - 1)

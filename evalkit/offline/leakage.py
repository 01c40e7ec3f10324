"""Audit of a split: leakage between training and test rows, copies of rows, and columns that leak
the label.

Every check takes the folds and columns aligned with their rows, and returns a `Finding` or None.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import comb
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, Ints, codes, finite, ratio
from evalkit.findings import kinds
from evalkit.findings.kinds import NOTE, SEVERE, WARNING, Finding, FindingKind, Severity, ordered
from evalkit.metrics import counts
from evalkit.offline.splits import Folds

EXAMPLES = 5  # rows that a finding names
# a numeric label with more values than this is not a class; of more classes the most common are
# checked
MANY = 20
# a severe finding must occur less than once in this number of tables with uninformative columns
BY_CHANCE = 1000


def finding(
    kind: FindingKind, severity: Severity, rows: Ints, checked: int, form: str = "", **facts: Any
) -> Finding | None:
    """A finding on these rows, None without rows.

    rows: numbers, which may repeat. checked: how many rows were checked. form, facts: of the
    sentence, as in `FindingKind.finding_with_severity`.
    """
    rows = np.unique(rows)
    if not rows.size:
        return None
    examples = tuple(int(row) for row in rows[:EXAMPLES])
    return replace(
        kind.finding_with_severity(severity, rows.size, form, **facts), of=checked, rows=examples
    )


def single_features(
    features: pd.DataFrame, label: ArrayLike, *, rng: np.random.Generator
) -> Iterable[Finding | None]:
    """Yield columns that alone predict the label too well: severe from 0.995, a warning from 0.95.

    For classes the measure is the AUC of one class against the rest, averaged over the 20 most
    common classes; for labels of more than 20 distinct numbers it is the absolute rank correlation.
    High and low values may predict a class, and so may missing values. A text is replaced by the
    mean label of its rows in the other half of the table. A finding is at most a warning if there
    are so few rows that an uninformative column could have this order by chance. rng: draws the
    halves.
    """
    target = np.asarray(label)
    half = rng.permutation(len(features)) % 2  # 0 or 1 for each row
    class_index, _ = codes(target)
    measure = "AUC" if holds_classes(label) else "rank correlation"
    highest_severity = WARNING
    if _is_beyond_chance(class_index, features.shape[1], measure):
        highest_severity = SEVERE
    for name in features:
        if holds_classes(label):
            value = _mean_separation(features[name], class_index, half)
        else:
            value = _strength_of_correlation(features[name], finite("label", target), half)
        if value >= 0.95:
            severity = highest_severity if value >= 0.995 else WARNING
            # a column as a whole is found: its rows are all rows of the table
            leak = kinds.SINGLE_FEATURE.finding_with_severity(
                severity, target.size, name=name, measure=measure, value=value
            )
            yield replace(leak, of=target.size)


def _mean_separation(column: pd.Series, class_index: Ints, half: Ints) -> float:
    """The mean over the most common classes, at most `MANY`, of how well the column alone separates
    each from the other rows, as `_separation`. class_index: the class of each row.
    """
    common_classes = np.argsort(-np.bincount(class_index), kind="stable")[:MANY]
    aucs = [_separation(column, class_index == c, half) for c in common_classes]
    return float(np.mean(aucs))


def _strength_of_correlation(column: pd.Series, label: Floats, half: Ints) -> float:
    """The absolute rank correlation of the column with a numeric label. half: as in
    `_label_means`, by which the values of a text column become numbers.
    """
    predictor = numeric(column) if _is_number(column) else _label_means(column, label, half)
    return abs(_rank_correlation(predictor, label))


def holds_classes(label: ArrayLike) -> bool:
    """True if a label holds classes: text, or at most 20 distinct numbers."""
    values = np.asarray(label)
    return values.dtype.kind not in "fiub" or np.unique(values).size <= MANY


def _is_beyond_chance(class_index: Ints, columns: int, measure: str) -> bool:
    """True if it is almost impossible that one of so many uninformative columns has the order of
    the label. class_index: of each row. columns: their number. measure: "AUC" or "rank
    correlation", by which `single_features` judges columns.
    """
    rows = class_index.size
    smaller_side = rows // 2  # a correlation is treated as an AUC of two halves
    if measure == "AUC":
        smaller_side = int(np.bincount(class_index).min())
    # A random order puts the rows of one class first, or last, with probability 2 / comb(rows,
    # smaller_side): the expected number of such columns must be below 1 / BY_CHANCE.
    return 2 * columns * BY_CHANCE < comb(rows, smaller_side)


def _separation(column: pd.Series, positive: Bools, half: Ints) -> float:
    """How well a column separates the rows of one class from the others, from 0.5 to 1: the largest
    AUC of three scores made of it. These are whether it is missing; its numbers; and, if it is text
    or has at most `MANY` distinct values, which may be codes, the share of the class among the rows
    of the other half with the same value.

    positive: True for the rows of the class. half: 0 or 1 for each row, as in `_label_means`.
    """
    is_number = _is_number(column)
    aucs = [auc(column.isna().to_numpy(np.float64), positive)]
    if is_number:
        aucs.append(auc(numeric(column), positive))
    separations = [max(value, 1 - value) for value in aucs]  # low values may predict the class
    if not is_number or column.nunique(dropna=False) <= MANY:
        # in this direction only: a high share of the class predicts the class
        separations.append(auc(_label_means(column, positive, half), positive))
    return max(separations)


def _label_means(column: pd.Series, label: Floats | Bools, half: Ints) -> Floats:
    """A number for each row by which its value in the column predicts the label: the mean label of
    the rows of the other half with the same value, or of all rows if there are none. half: 0 or 1
    for each row.

    Because of the halves, the label of a row does not enter its own prediction.
    """
    value = levels(column)  # the number of each row's value among the distinct ones
    distinct = value.max() + 1
    means = []  # the mean label of each value, in half 0 and in half 1
    for number in (0, 1):
        is_in_half = half == number
        total = np.bincount(value[is_in_half], label[is_in_half], distinct)
        count = np.bincount(value[is_in_half], minlength=distinct)
        means.append(ratio(total, count))
    other_half = 1 - half
    means_of_other_half = np.stack(means)[other_half, value]
    return np.asarray(np.nan_to_num(means_of_other_half, nan=float(label.mean())))


def numeric(column: pd.Series) -> Floats:
    """The numbers of a column, with missing values below all others; of text the codes of
    `levels`.
    """
    if not _is_number(column):
        return levels(column).astype(np.float64)
    values: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    below_all = np.nanmin(values, initial=0.0) - 1
    return np.asarray(np.where(np.isnan(values), below_all, values))


def levels(column: pd.Series) -> Ints:
    """The index of each row's value among the sorted distinct values; missing is a value too, the
    last.
    """
    code, _ = pd.factorize(column, sort=True, use_na_sentinel=False)
    return np.asarray(code, dtype=np.int64)


def _is_number(column: pd.Series) -> bool:
    """True if the column holds numbers, False for text."""
    return bool(pd.api.types.is_numeric_dtype(column))


def ranks(values: ArrayLike) -> Floats:
    """Ranks from 1; ties have their mean rank.

    >>> ranks([30, 10, 30])
    array([2.5, 1. , 2.5])
    """
    _, place, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last_rank = np.cumsum(count)  # of each distinct value; its first rank is last_rank - count + 1
    mean_rank = last_rank - (count - 1) / 2
    return mean_rank[place]


def auc(score: ArrayLike, positive: Bools) -> float:
    """The area under the ROC curve, a tie counting one half; NaN if one class is absent.

    By the Mann-Whitney statistic: the sum of the ranks of the positives, less its smallest value.
    """
    positives = int(positive.sum())
    rank_sum = ranks(score)[positive].sum()
    u = rank_sum - positives * (positives + 1) / 2
    return float(ratio(u, positives * (positive.size - positives)))


def _rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's rank correlation; 0 if x or y does not vary."""
    rank_x = ranks(x)
    rank_y = ranks(y)
    a = rank_x - rank_x.mean()
    b = rank_y - rank_y.mean()
    spread = np.sqrt((a @ a) * (b @ b))
    return float(np.nan_to_num(ratio(a @ b, spread)))


def id_like(features: pd.DataFrame) -> Iterable[Finding | None]:
    """Yield a warning for each column of whole numbers or text that is almost unique (99 %): a
    model can memorise the rows by it. Tables of fewer than 50 rows have none.

    The warning has the form "growing" if the values grow from row to row.
    """
    for name in features:
        column = features[name]
        values = numeric(column)  # for a text, its place among the sorted distinct texts
        is_whole = bool((values == np.round(values)).all())
        distinct = int(column.nunique())
        if is_whole and len(features) >= 50 and distinct >= 0.99 * len(features):
            is_growing = (np.diff(values) > 0).all()  # as row numbers do
            form = "growing" if is_growing else ""
            yield replace(kinds.ID_LIKE.warning(distinct, form, name=name), of=len(features))


def gives_away(c: counts.Counts) -> Finding | None:
    """A finding if a score separates two classes without error, whether higher scores mean the
    positive class (AUC 1) or the negative one (AUC 0): severe if it has only two values, so that it
    is a copy of the label, else a warning. c: the counts of positives and negatives by score.
    """
    has_both_classes = (c.positive > 0) & (c.negative > 0)  # at each distinct score
    if has_both_classes.any() or counts.auc(c) not in (0.0, 1.0):
        return None
    rows = int(c.total)
    if len(c.threshold) == 2:  # distinct scores
        # "copy" is the form of its sentence
        separation = kinds.SCORE_IS_LABEL.finding_with_severity(SEVERE, rows, "copy")
    else:
        separation = kinds.SCORE_IS_LABEL.finding_with_severity(WARNING, rows)
    return replace(separation, of=rows)  # it is about all rows that were checked


def row_key(columns: Sequence[Ints]) -> Ints:
    """A number for each row, equal for rows that are equal in all columns of codes.

    >>> row_key([np.array([0, 1, 0]), np.array([2, 2, 2])])
    array([0, 1, 0])
    """
    key = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        cell = key * (column.max() + 1) + column
        # numbered anew from 0, so that a product of many columns does not overflow
        key = np.unique(cell, return_inverse=True)[1]
    return key


RARE = 5  # a row with at most this number of equal rows, itself included, is rare
TRIED = 12  # pairs of columns whose near misses are counted
# distinct rows from which it is not a coincidence that each occurs a multiple of some number of
# times
LEAST = 20
# share of rows with an equal row by coincidence, from which copies of a tenth of them may go
# undetected
BLIND = 0.1


def rows_in_training(folds: Folds, key: Ints) -> Ints:
    """The test rows whose key also occurs among the training rows of the same fold. key: of each
    row.
    """
    rows = []  # of each fold
    for train, test in folds.pairs:
        is_in_training = np.isin(key[test], key[train])
        rows.append(test[is_in_training])
    return np.concatenate(rows)


def duplicates(
    folds: Folds, features: pd.DataFrame, label: ArrayLike | None = None
) -> Finding | None:
    """Test rows with the same features as a training row: copies, or equal by coincidence, which is
    common if features have few distinct values (coarse columns).

    The number expected by coincidence comes from `_coincidence`. The finding is
    - severe if the whole table was copied into itself, see `_times_copied`, however coarse the
      columns are,
    - severe or a warning if clearly more rows are equal than expected; severe if coincidence
      explains less than half of them and at least 1% of the test rows are in excess,
    - a note of the kind `COARSE` if at least the share `BLIND` of the test rows is expected to have
      an equal row, among which copies could not be noticed,
    - a note otherwise.

    label: of each row, without which copies of the table are not looked for.
    """
    columns = [levels(features[name]) for name in features]
    rows = np.unique(rows_in_training(folds, row_key(columns)))
    tested = np.unique(folds.tested)
    if label is not None:
        class_index, _ = codes(label)
        labelled_row = row_key([*columns, class_index])
        times = _times_copied(labelled_row, _testing_fold(folds))
        if times > 1:
            return finding(kinds.DUPLICATES, SEVERE, rows, tested.size, "copied", times=times)
    training_rows = float(folds.sizes.train.mean())
    chance = _coincidence(columns, tested, n_other=training_rows, n_equal=rows.size)
    excess = rows.size - chance.expected
    # more than three standard deviations of a Poisson number, and more than one row
    is_clear = excess > 3 * np.sqrt(chance.expected) + 1
    if not is_clear and chance.expected >= BLIND * tested.size:
        return finding(kinds.COARSE, NOTE, rows, tested.size, expected=chance.expected)
    severity = NOTE
    if is_clear:
        is_copied = chance.explained < 0.5 and excess >= 0.01 * tested.size
        severity = SEVERE if is_copied else WARNING
    return finding(kinds.DUPLICATES, severity, rows, tested.size, expected=chance.expected)


class Coincidence(NamedTuple):
    """How many rows are equal to another one by coincidence.

    expected: the number of such rows. explained: the share of the pairs of equal rows that is
    coincidence.
    """

    expected: float
    explained: float


def _coincidence(
    columns: Sequence[Ints], rows: Ints, *, n_other: float, n_equal: int
) -> Coincidence:
    """How many of some rows, such as test rows, are expected to equal one of other rows, such as
    the training rows, by coincidence; and the share of the pairs of equal rows that this explains.

    columns: the values of the whole table as codes, one array per column. rows: the numbers of the
    rows in question. n_other: how many other rows each can equal, on average over the folds.
    n_equal: how many of `rows` do equal one.
    """
    # for each row the probability that another one equals it in all columns, if these are
    # independent: the product of the shares of rows with its values
    shares = [np.bincount(column)[column] / column.size for column in columns]
    p_equal: Floats = np.prod(shares, axis=0)
    # None of the other rows is equal with probability (1 − p)^n, about exp(−n p).
    p_none_equal = np.exp(-n_other * p_equal[rows])
    expected_if_independent = float((1 - p_none_equal).sum())
    if n_equal <= expected_if_independent:
        return Coincidence(expected_if_independent, explained=1.0)
    # more are equal than independent columns explain: by dependence of the columns, or as copies
    explained = _explained_share(columns)
    expected = max(expected_if_independent, n_equal * explained)
    return Coincidence(expected, explained)


def _testing_fold(folds: Folds) -> Ints:
    """The fold that tests each row, from 1; 0 if none does."""
    fold = np.zeros(folds.rows, np.int64)
    for number, test in enumerate(folds.tests, start=1):
        fold[test] = number
    return fold


def _times_copied(key: Ints, fold: Ints) -> int:
    """How many times a whole table was copied into itself, so that each distinct row occurs this
    number of times or a multiple of it: the greatest common divisor of the counts of the rows.

    1 if it was not copied, and also if copies do no harm, because all copies of a row are in one
    fold, or if fewer than `LEAST` rows are distinct, whose counts may have a divisor by chance.
    key: of each row, equal for equal rows. fold: the number of the fold that tests each row.

    >>> row = np.repeat(np.arange(30), 2)
    >>> _times_copied(row, np.arange(60) % 2)  # the copies are in different folds
    2
    >>> _times_copied(row, row % 2)
    1
    """
    count = np.bincount(key)  # of each distinct row
    if count.size < LEAST:
        return 1
    times = int(np.gcd.reduce(count))
    row_in_fold = key * (fold.max() + 1) + fold  # a number for each distinct row and fold
    _, count_in_fold = np.unique(row_in_fold, return_counts=True)
    # if the copies of a row are always in one fold, the counts in folds have the divisor, too
    is_together = np.gcd.reduce(count_in_fold) % times == 0
    return 1 if is_together else times


def _explained_share(columns: Sequence[Ints]) -> float:
    """The share of the pairs of equal rows that are equal by coincidence, 0 to 1, estimated from
    pairs that are nearly equal: those that agree in all columns except perhaps two, a and b. The
    largest share over up to `TRIED` pairs of neighbouring columns a and b is taken.

    columns: the values of the table as codes, one array per column.
    """
    key = row_key(columns)
    # of common rows, more are equal by coincidence than copies could add
    is_rare = np.bincount(key)[key] <= RARE
    if len(columns) < 2 or not is_rare.any():
        return 0.0
    columns = [column[is_rare] for column in columns]
    shares = [0.0]
    for i in range(min(len(columns), TRIED)):
        a = columns[i - 1]  # for the first column b this is the last one
        b = columns[i]
        all_but_two = [column for column in columns if column is not a and column is not b]
        rest = row_key(all_but_two or [np.zeros_like(a)])
        # the numbers of pairs of rows that agree in the rest, by whether they agree in a and in b
        agree = _equal_pairs(rest)
        agree_a = _equal_pairs(row_key([rest, a]))
        agree_b = _equal_pairs(row_key([rest, b]))
        agree_both = _equal_pairs(row_key([rest, a, b]))
        differ_only_b = agree_a - agree_both
        differ_only_a = agree_b - agree_both
        differ_both = agree - agree_a - agree_b + agree_both
        # If a and b agree independently of each other, the product of the two diagonal cells of
        # this table of four equals that of the other two (odds ratio 1). So the number that agree
        # in both by coincidence is differ_only_a · differ_only_b / differ_both.
        share = ratio(differ_only_b * float(differ_only_a), differ_both * float(agree_both))
        shares.append(float(np.nan_to_num(share)))  # 0 if the denominator is 0
    return min(1.0, max(shares))


def _equal_pairs(key: Ints) -> int:
    """Number of pairs of rows with the same key."""
    count = np.bincount(key)
    ordered_pairs = count * (count - 1)
    return int(ordered_pairs.sum()) // 2


def conflicts(features: pd.DataFrame, label: ArrayLike) -> Finding | None:
    """Rows with equal features but different labels, which no model can all predict: the finding
    states the largest accuracy, and for two classes the largest AUC, of any model on this table.

    It is a warning if at least a tenth of the rows conflict, else a note. It is also a note if
    coincidence explains at least half of the equal rows: columns are then too coarse to tell rows
    apart, and labels are expected to differ. None if no labels conflict, and for a label that is a
    number.
    """
    if not holds_classes(label):
        return None
    class_index, classes = codes(label)
    columns = [levels(features[name]) for name in features]
    key = row_key(columns)
    rows_of_key = np.bincount(key)
    # the pairs of a key and a class that occur, and how many rows have each
    pair, count = np.unique(key * classes.size + class_index, return_counts=True)
    key_of_pair = pair // classes.size
    has_conflict = np.bincount(key_of_pair) > 1  # by key: rows of several classes
    rows = np.flatnonzero(has_conflict[key])

    # the best decision for equal rows is their most common class; the best score, the share of
    # class 1
    most_common = np.zeros(key.max() + 1, dtype=np.int64)  # by key: rows of its most common class
    np.maximum.at(most_common, key_of_pair, count)
    largest_accuracy = most_common.sum() / key.size
    text = f"{largest_accuracy:.3f}"
    if classes.size == 2:
        share = np.bincount(key, class_index) / rows_of_key
        text += f", AUC at most {auc(share[key], class_index == 1):.3f}"

    severity = NOTE
    if rows.size >= 0.1 * key.size:
        equal_rows = int((rows_of_key[key] > 1).sum())
        all_rows = np.arange(key.size)
        chance = _coincidence(columns, all_rows, n_other=key.size, n_equal=equal_rows)
        expected_equal_rows = chance.expected
        if expected_equal_rows >= 0.5 * equal_rows:
            text += "; the columns are so coarse that many rows are equal by coincidence"
        else:
            severity = WARNING
    return finding(kinds.CONFLICTING_LABELS, severity, rows, key.size, most=text)


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
    """The findings of every check for which there are columns, severe ones first.

    Each column has one value per row of the table. features: what models predict from. label: what
    they predict. group: such as the user of a row. ids: what a row is about, such as a document. In
    no fold may a group or an id have both training and test rows. time: larger for newer rows. rng:
    draws the rows of checks that look at some rows only.
    """
    findings = [retested(folds)]
    if ids is not None:
        findings.append(crossing(folds, ids, "id"))
    if group is not None:
        findings.append(crossing(folds, group, "group"))
    if time is not None:
        findings.append(time_travel(folds, time))
    if features is not None:
        findings.append(duplicates(folds, features, label))
        findings.append(near_duplicates(folds, features, rng=rng))
        findings.append(drift(folds, features, rng=rng))
        findings += unseen_categories(folds, features)
        findings += id_like(features)
    if label is not None:
        findings += [sizes(folds), base_rate(folds, label)]
    if label is not None and features is not None:
        findings += single_features(features, label, rng=rng)
        findings.append(conflicts(features, label))
    return ordered(finding for finding in findings if finding)


# Across the sides


def crossing(folds: Folds, key: ArrayLike, name: str) -> Finding | None:
    """Test rows whose group or id is also among the training rows: severe. name: "group" or "id".

    >>> from evalkit.offline.splits import by_column
    >>> crossing(by_column([0, 0, 1]), ["u", "v", "u"], "group").count
    2
    """
    rows = rows_in_training(folds, np.asarray(key))
    return finding(CROSSINGS[name], SEVERE, rows, np.unique(folds.tested).size)


def time_travel(folds: Folds, time: ArrayLike) -> Finding | None:
    """Test rows that are as old as the newest training row of their fold, or older: severe, as the
    model has seen the future of these rows. time: of each row, larger for newer rows.
    """
    when = np.asarray(time)
    rows = []  # of each fold
    for train, test in folds.pairs:
        is_not_newer = when[test] <= when[train].max()
        rows.append(test[is_not_newer])
    n_tested = np.unique(folds.tested).size
    return finding(kinds.TIME_TRAVEL, SEVERE, np.concatenate(rows), n_tested)


def near_duplicates(
    folds: Folds, features: pd.DataFrame, *, rng: np.random.Generator
) -> Finding | None:
    """Test rows that are nearly equal to a training row: their nearest row is in training, at less
    than a hundredth of the median distance of rows to their nearest row, but not equal.

    Distances are of the numeric columns, standardised. At most `SAMPLE` rows, drawn by `rng`, are
    checked. None if the median is 0, because equal rows are then common, and for a table of fewer
    than 10 rows or without numbers.
    """
    from sklearn.neighbors import NearestNeighbors

    table = features.select_dtypes("number").to_numpy(dtype=np.float64, na_value=np.nan)
    rows, columns = table.shape
    if not columns or rows < 10:
        return None
    table = _standardised(table)
    sample = np.sort(rng.permutation(rows)[:SAMPLE])
    # the first neighbour of a row is the row itself
    distances, neighbours = NearestNeighbors(n_neighbors=2).fit(table).kneighbors(table[sample])
    distance = distances[:, 1]
    is_close = (distance > 0) & (distance < 0.01 * np.median(distance))
    close_row = np.full(rows, -1)  # for each row the row that it is close to, or -1
    close_row[sample[is_close]] = neighbours[is_close, 1]
    close_to_training = []  # the test rows of each fold that are close to a training row
    for train, test in folds.pairs:
        is_near_training = np.isin(close_row[test], train)  # False for −1, which is no row
        close_to_training.append(test[is_near_training])
    close_rows = np.concatenate(close_to_training)
    # In d dimensions a ball of a hundredth of the radius has 0.01^d of the volume, and so by chance
    # of the rows. As columns are dependent, d is at most 2.
    by_chance = sample.size * 0.01 ** min(columns, 2)
    is_severe = np.unique(close_rows).size > max(0.01 * sample.size, 5 * by_chance)
    severity = SEVERE if is_severe else WARNING
    return finding(kinds.NEAR_DUPLICATES, severity, close_rows, sample.size)


def _standardised(table: Floats) -> Floats:
    """Columns with mean 0 and standard deviation 1; missing values and constant columns are 0."""
    is_known = np.isfinite(table)
    mean = ratio(np.where(is_known, table, 0).sum(axis=0), is_known.sum(axis=0))
    centred = np.where(is_known, table - mean, 0.0)
    return np.nan_to_num(ratio(centred, centred.std(axis=0)))


def unseen_categories(folds: Folds, features: pd.DataFrame) -> Iterable[Finding | None]:
    """Test rows with a text value that no training row of the fold has: one note per column."""
    for name in features.select_dtypes(exclude="number"):
        value = levels(features[name])
        unseen = np.setdiff1d(folds.tested, rows_in_training(folds, value))
        yield finding(kinds.UNSEEN_CATEGORY, NOTE, unseen, value.size, name=name)


def drift(folds: Folds, features: pd.DataFrame, *, rng: np.random.Generator) -> Finding | None:
    """A finding if the features of test rows differ from those of training rows in the last fold,
    which is the newest one if folds go forward in time: a warning if a random forest tells them
    apart with an out-of-bag AUC of at least 0.75, a note from 0.65. This is drift, not leakage.

    At most `SAMPLE` test rows and as many training rows, drawn by `rng`, are used; None for fewer
    than 20 of either.
    """
    from sklearn.ensemble import RandomForestClassifier

    train, test = folds.pairs[-1]
    train = np.unique(train)
    rows = np.concatenate([rng.permutation(train)[:SAMPLE], rng.permutation(test)[:SAMPLE]])
    is_test = np.isin(rows, test)
    if min(is_test.sum(), (~is_test).sum()) < 20:
        return None
    columns = [numeric(features[name]) for name in features]
    table = np.column_stack(columns)[rows]
    # No class weights: scikit-learn draws bootstrap rows by them, so that rows of a rare class
    # would be in nearly every sample, and would have no out-of-bag prediction.
    forest = RandomForestClassifier(
        100, min_samples_leaf=5, oob_score=True, random_state=int(rng.integers(2**31))
    )
    p_test = forest.fit(table, is_test).oob_decision_function_[:, 1]
    value = auc(p_test, is_test)
    if value >= 0.65:
        severity = WARNING if value >= 0.75 else NOTE
        return finding(kinds.DRIFT, severity, test, folds.rows, auc=value)
    return None  # no drift, or too little to note


# The folds themselves


def retested(folds: Folds) -> Finding | None:
    """Rows that several folds test: normal for repeated splits, wrong for a table of out-of-fold
    predictions.
    """
    rows = np.flatnonzero(np.bincount(folds.tested) > 1)
    return finding(kinds.TESTED_AGAIN, NOTE, rows, folds.rows)


def sizes(folds: Folds) -> Finding | None:
    """Test sets of unequal size, the largest over 1.5 times the smallest: a warning, as a mean over
    folds misleads.
    """
    size = folds.sizes.test
    smallest = size.min()
    largest = size.max()
    if largest <= 1.5 * smallest:
        return None
    rows = folds.tests[int(size.argmin())]
    return finding(kinds.FOLD_SIZES, WARNING, rows, folds.rows, least=smallest, most=largest)


def base_rate(folds: Folds, label: ArrayLike) -> Finding | None:
    """A warning of test sets with only one class, for which AUC is undefined, or with a class whose
    share is more than 4 standard errors from its share of all rows. None for a label that is a
    number.
    """
    if not holds_classes(label):
        return None
    class_index, classes = codes(label)
    share = np.bincount(class_index) / class_index.size
    # rows of each class in each test set, shape (test sets, classes)
    count = np.array(
        [np.bincount(class_index[test], minlength=classes.size) for test in folds.tests]
    )
    size = count.sum(axis=1, keepdims=True)
    error = np.sqrt(share * (1 - share) / size)
    is_far = np.abs(count / size - share) > 4 * error
    has_one_class = (count > 0).sum(axis=1) < 2
    is_odd = has_one_class | is_far.any(axis=1)
    if not is_odd.any():
        return None
    rows = np.concatenate([folds.tests[i] for i in np.flatnonzero(is_odd)])
    return finding(
        kinds.BASE_RATE, WARNING, rows, class_index.size, odd=is_odd.sum(), sets=len(is_odd)
    )


def variance_between_folds(values: Floats, fold: Ints) -> float:
    """The squared distances of the folds' means from the mean of all, added up over rows, in
    variances of a value.

    Of ranks it is the H of Kruskal and Wallis; its mean is the number of folds less one, if folds
    do not differ. fold: of each value, from 0.

    >>> variance_between_folds(np.array([1.0, 2, 3, 4]), np.array([0, 1, 1, 0]))
    0.0
    """
    size = np.bincount(fold)
    mean = np.bincount(fold, values) / size
    squares = size * (mean - values.mean()) ** 2
    return float(ratio(squares.sum(), float(values.var(ddof=1))))


def score_scale(tests: Sequence[Ints], score: Floats) -> Finding | None:
    """A warning of scores on different scales in different folds, whose pooled AUC misleads.

    Two variances between folds must be far larger than expected: that of the ranks of scores, which
    is the H of Kruskal and Wallis, and that of the scores themselves, cut off at the percentiles
    `TAILS` against outliers. Ranks are not enough: a small tree gives many rows the same score,
    and if this differs slightly between folds, ranks order all of these rows by fold.

    tests: the test rows of each fold, as places in `score`.
    """
    folds = len(tests)
    if folds < 2:
        return None
    rows = np.concatenate(tests)
    fold = np.repeat(np.arange(folds), [len(test) for test in tests])
    h_of_ranks = variance_between_folds(ranks(score[rows]), fold)
    low, high = np.percentile(score[rows], TAILS)
    h_of_values = variance_between_folds(np.clip(score[rows], low, high), fold)
    # If folds do not differ, H is nearly chi-square, with the mean folds − 1 and twice this as its
    # variance. Far is six standard deviations above the mean.
    expected = folds - 1
    far = expected + 6 * np.sqrt(2 * expected)
    if not (h_of_ranks > far and h_of_values > far):  # NaN, of equal scores, is not far
        return None
    return finding(kinds.SCORE_SCALE, WARNING, rows, score.size, h=h_of_ranks, expected=expected)

"""Learners that are trained on folds: out-of-fold predictions, holdouts, repeated folds, groups,
fold by fold.

The two learn from other columns that tell as much, so they are equally good.
"""

import numpy as np
import pandas as pd
from world import Draw, Generator, Inputs, ids, logistic

COLUMNS = 3  # that each learner sees


def _rows(
    rng: Generator, n: int, base: float, group: np.ndarray | None = None, columns: int = COLUMNS
) -> tuple[np.ndarray, np.ndarray]:
    """Columns of both learners and the label; rows of a group resemble each other."""
    x = rng.normal(0, 1, (n, 2 * columns))
    if group is not None:
        x = np.sqrt(0.5) * (x + rng.normal(0, 1, (group.max() + 1, 2 * columns))[group])
    merit = 0.7 * np.sqrt(COLUMNS / columns) * x.sum(axis=1) + 1.5 * np.log(base / (1 - base))
    return x, (rng.random(n) < logistic(merit)).astype(int)


def _scores(
    x: np.ndarray, label: np.ndarray, train: np.ndarray, test: np.ndarray
) -> list[np.ndarray]:
    """Both learners' chances of the test rows: least squares of the training rows."""
    scores = []
    for side in np.hsplit(x, 2):
        design = np.column_stack([np.ones(len(side)), side])
        weights = np.linalg.lstsq(design[train], label[train], rcond=None)[0]
        scores.append(np.clip(design[test] @ weights, 0.01, 0.99))
    return scores


def _tables(scores: np.ndarray, columns: dict[str, np.ndarray]) -> Inputs:
    """One table below the other."""
    tables = [
        pd.DataFrame(columns | {"model": name, "y_score": own})
        for name, own in zip("ab", scores, strict=True)
    ]
    return {"preds": pd.concat(tables, ignore_index=True)}


def folds(k: int, base: float = 0.3, columns: int = COLUMNS) -> Draw:
    """Out-of-fold predictions of k folds drawn at random. columns: that each learner sees."""

    def draw(rng: Generator, n: int) -> Inputs:
        return _out_of_fold(*_rows(rng, n, base, columns=columns), rng.permutation(n) % k)

    return draw


def grouped(k: int, rows: int = 4, base: float = 0.3) -> Draw:
    """The same of n rows in groups, whole groups to a fold."""

    def draw(rng: Generator, n: int) -> Inputs:
        group = np.arange(n) // rows
        fold = (rng.permutation(group.max() + 1) % k)[group]
        table = _out_of_fold(*_rows(rng, n, base, group), fold)["preds"]
        return {"preds": table.assign(group=np.tile(group.astype(str), 2))}

    return draw


def _out_of_fold(x: np.ndarray, label: np.ndarray, fold: np.ndarray) -> Inputs:
    scores = np.zeros((2, len(label)))
    for number in np.unique(fold):
        scores[:, fold == number] = _scores(x, label, fold != number, fold == number)
    return _tables(scores, {"id": ids(len(label)), "y_true": label, "fold": fold.astype(str)})


def holdout(rng: Generator, n: int) -> Inputs:
    """n test rows of a random split, and twice as many to train on."""
    x, label = _rows(rng, 3 * n, 0.3)
    test = np.arange(3 * n) < n
    fold = np.where(test, "test", "train")
    scores = np.array(_scores(x, label, ~test, np.ones(3 * n, dtype=bool)))
    return _tables(scores, {"id": ids(3 * n), "y_true": label, "fold": fold})


def repeated(k: int, times: int) -> Draw:
    """k folds, drawn several times."""

    def draw(rng: Generator, n: int) -> Inputs:
        x, label = _rows(rng, n, 0.3)
        tables = []
        for number in range(times):
            table = _out_of_fold(x, label, rng.permutation(n) % k)["preds"]
            tables.append(table.assign(repeat=str(number)))
        return {"preds": pd.concat(tables, ignore_index=True)}

    return draw


def holdouts(times: int, share: float = 0.2) -> Draw:
    """Random holdouts of the same rows, drawn several times, with their training rows."""

    def draw(rng: Generator, n: int) -> Inputs:
        x, label = _rows(rng, n, 0.3)
        tables = []
        for number in range(times):
            test = rng.permutation(n) < share * n
            scores = np.array(_scores(x, label, ~test, np.ones(n, dtype=bool)))
            fold = np.where(test, "test", "train")
            table = _tables(scores, {"id": ids(n), "y_true": label, "fold": fold})["preds"]
            tables.append(table.assign(repeat=str(number)))
        return {"preds": pd.concat(tables, ignore_index=True)}

    return draw


def accuracies(k: int, times: int) -> Draw:
    """The accuracy of both on each fold of each repeat, as a table of values by fold."""

    def draw(rng: Generator, n: int) -> Inputs:
        x, label = _rows(rng, n, 0.5)
        rows = []
        for number in range(times):
            fold = rng.permutation(n) % k
            for each in range(k):
                test = fold == each
                right = [((s >= 0.5) == label[test]).mean() for s in _scores(x, label, ~test, test)]
                rows.append((f"{number} {each}", *right))
        return {"preds": pd.DataFrame(rows, columns=["fold", "a", "b"])}

    return draw

"""What the findings of reports on several classes, several labels and forecasts are measured by; constant baselines."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from evalkit.catalogue.metric import Chosen
from evalkit.reading.tables.precision import Precision
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.multilabel import MultiLabelStudy

TOGETHER = 40  # classes that a picture can show: its size grows with their square
NORMAL = 1e-3  # how far the probabilities of a row may be from adding up to 1


# Several classes


def classes(study: ClassesStudy) -> dict[str, int]:
    """The rows of each class."""
    n = np.bincount(study.data.actual, minlength=len(study.data.classes)).tolist()
    return dict(zip(study.data.classes, n, strict=True))


def never_predicted(study: ClassesStudy) -> dict[str, list[str]]:
    """The classes that occur and that a system never predicts, by system."""
    occurs = np.bincount(study.data.actual, minlength=len(study.data.classes)) > 0
    several = {}
    for name, predicted in study.data.predicted.items():
        said = np.bincount(predicted, minlength=len(study.data.classes)) > 0
        several[name] = [c for c, lacks in zip(study.data.classes, occurs & ~said, strict=True) if lacks]
    return {name: lacking for name, lacking in several.items() if lacking}


def not_highest(study: ClassesStudy) -> dict[str, int]:
    """Rows whose predicted class, which a column says, has not the highest score, by system, without zeros."""
    lower = {
        name: int((scores.max(axis=1) > study.predicted_score(name)).sum()) for name, scores in study.data.score.items()
    }
    return {name: rows for name, rows in lower.items() if rows}


def unnormalised(study: ClassesStudy) -> dict[str, float]:
    """The systems whose probabilities do not add up to 1, and by how much they are off at most."""
    off = {name: float(np.abs(scores.sum(axis=1) - 1).max()) for name, scores in study.data.score.items()}
    return {name: value for name, value in off.items() if value > NORMAL}


def incomplete_slices(study: ClassesStudy) -> list[str]:
    """The slices that lack a class which other rows have."""
    several = np.unique(study.data.actual).size
    return [f"{p.column} {p.label}" for p in study.slices if np.unique(study.data.actual[p.member]).size < several]


def largest_class(study: ClassesStudy, chosen: Chosen) -> float:
    """The metric of the largest class for every row; its probabilities are the shares of the classes."""
    rows = study.sample.rows[study.leader]
    decision = np.full(len(rows), int(study.shares.argmax()))
    score = None if rows.score is None else np.tile(study.shares, (len(rows), 1))
    return chosen.value(replace(rows, decision=decision, score=score))


def worst_mistake(study: ClassesStudy) -> tuple[str, str, float] | None:
    """The most frequent mistake of the leader: the actual class, the predicted one, and the weight of such rows."""
    table = study.sample.rows[study.leader].confusion.table
    wrong = np.where(np.eye(len(table), dtype=bool), -1, table)
    i, j = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return (study.data.classes[i], study.data.classes[j], float(wrong[i, j])) if wrong[i, j] > 0 else None


def drawn_together(table: np.ndarray, classes: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The table of at most `TOGETHER` classes, the rarest summed into one, and the names of the classes."""
    if len(classes) <= TOGETHER:
        return table, classes
    kept = np.sort(np.argsort(-table.sum(axis=1), kind="stable")[: TOGETHER - 1])
    place = np.full(len(classes), TOGETHER - 1)
    place[kept] = np.arange(TOGETHER - 1)
    together = np.zeros((TOGETHER, TOGETHER), dtype=table.dtype)
    np.add.at(together, (place[:, None], place[None, :]), table)
    return together, (*(classes[i] for i in kept), f"({len(classes) - TOGETHER + 1} others)")


# Several labels


@dataclass(frozen=True)
class Labels:
    """The share of rows with each label, the mean number of labels of a row, and the share of rows with none."""

    shares: dict[str, float]
    per_row: float
    none: float
    hamming_of_none: float


def labels(study: MultiLabelStudy) -> Labels:
    """The labels of the rows."""
    per_row, w = study.data.actual.sum(axis=1), study.data.weight
    mean, none = float(np.average(per_row, weights=w)), float(np.average(per_row == 0, weights=w))
    return Labels(
        dict(zip(study.data.labels, study.shares.tolist(), strict=True)), mean, none, float(study.shares.mean())
    )


def stored(study: MultiLabelStudy) -> dict[str, Precision]:
    """The precision of each system's scores; of each of its labels if these differ."""
    named: dict[str, Precision] = {}
    for name, some in study.precision.items():
        several = [f"{name}: {label}" for label in study.data.labels] if len(set(some)) > 1 else [name]
        named |= dict(zip(several, some, strict=False))
    return named


def label_shares(study: MultiLabelStudy, chosen: Chosen) -> float:
    """The metric of scoring every row by how often each label is true."""
    rows = study.sample.rows[study.leader]
    return chosen.value(replace(rows, score=np.tile(study.shares, (len(rows), 1))))


def mean_scores(study: MultiLabelStudy) -> pd.DataFrame:
    """Of each label the leader's mean score, the share of rows that have it, and the difference with its interval."""
    score, rows = study.data.score[study.leader], []
    means = np.average(score, axis=0, weights=study.data.weight)
    for j, label in enumerate(study.data.labels):
        off = study.mean(score[:, j] - study.data.actual[:, j], study.data.weight)
        apart = {"difference": off.value, "low": off.low, "high": off.high}
        rows.append({"label": label, "score": means[j], "share": study.shares[j]} | apart)
    return pd.DataFrame(rows)
